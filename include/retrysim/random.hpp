// Keyed random draws. A draw is a pure function of its identity: seed, replication, the name of the
// client group (or service), entity, attempt, purpose and position. Nothing depends on the order in
// which draws are made, so the same request meets the same arrival time, service demand and network
// delay whatever the retry policy does (common random numbers), and results do not depend on
// threads.
//
// Generator: Philox2x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
// from the Random123 library. Its block is as large as that of Philox4x32-10, at half the
// instructions on a 64-bit processor.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retrysim {

/// A product of 128 bits.
struct WideProduct {
  std::uint64_t high, low;
};

/// The product in arithmetic of 64 bits.
constexpr WideProduct product_of_halves(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const std::uint64_t low = (a & kLow) * (b & kLow);
  const std::uint64_t left = (a >> 32) * (b & kLow), right = (a & kLow) * (b >> 32);
  const std::uint64_t middle = (low >> 32) + (left & kLow) + (right & kLow);
  return {(a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32), a * b};
}

/// The product by whatever is fastest: an instruction of most processors, while WebAssembly would
/// call a function for it.
constexpr WideProduct wide_product(std::uint64_t a, std::uint64_t b) {
#if defined(__wasm__)
  return product_of_halves(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#endif
}

/// What a draw decides. Part of the generator's counter: never renumber, only append.
enum class Purpose : std::uint8_t {
  kArrival = 0,       ///< gap before a request, and which client submits it
  kServiceTime = 1,   ///< service demand of an attempt
  kNetwork = 2,       ///< delay to the service
  kResponse = 3,      ///< delay back to the client
  kLoss = 4,          ///< is the message lost
  kServiceError = 5,  ///< random error answers
  kBackoff = 6,       ///< jitter of the delay before the next attempt
  kTimeout = 7,       ///< attempt timeout, where it is a distribution
  kThinkTime = 8,     ///< closed-loop think time
  kQueuePick = 9,     ///< which attempt a queue of discipline "random" serves next
  // As the purpose above, for the second message of an attempt that sends two.
  kSecondNetwork = 10,
  kSecondResponse = 11,
  kSecondServiceTime = 12,
  kClientThrottle = 13,  ///< is an attempt refused by the client-side throttle
  kConnect = 14,         ///< time to set up a connection
  kSideEffect = 40,      ///< does a request have side effects, and does it reuse a token
  kCall = 41,            ///< names the call that a service makes for an attempt
  kBalancing = 42,       ///< which instance of a service an attempt goes to
  kHealthCheck = 43,     ///< result of a health check
  kSubset = 44,          ///< which instances of a service a client knows
  kPenalty = 45,         ///< jitter of the time for which an instance is left out
  kKey = 50,             ///< which key a request asks for
  kTarget = 51,          ///< which of several services a request goes to
  kBody = 52,            ///< can the body of a request be sent again
  kTokenWrite = 60,      ///< how long after its check an idempotency token is stored
  kLateError = 61,       ///< random errors after a share of the service time
  kCache = 62,           ///< does an attempt need no call, where that is a matter of chance
  kCallChoice = 70,      ///< which calls a service makes for a request
  kCallCount = 71,       ///< how many copies of a call
  kSameWork = 72,        ///< does an attempt take the service time of the first one
};

/// The random numbers of one replication, key = (seed, replication), or of a named part of it.
class RandomKey {
 public:
  RandomKey(std::uint64_t seed, std::uint64_t replication);

  /// The random numbers of the part called `name` among those of its `kind`, for example ("client",
  /// "web"). They do not depend on which other parts exist. Two parts of one replication have
  /// different keys unless a 64-bit hash maps both names to the same value (compare `philox_key`
  /// where a chance of 2^-64 is too much); a part has different keys in any two replications of a
  /// seed.
  RandomKey named(std::string_view kind, std::string_view name) const;

  r123::Philox2x64::key_type philox_key() const { return {{rounds_[0]}}; }

  /// The Philox2x64-10 block of `counter`: the same as `r123::Philox2x64{}(counter, philox_key())`.
  r123::Philox2x64::ctr_type block(r123::Philox2x64::ctr_type counter) const {
    for (const std::uint64_t round_key : rounds_) {
      const WideProduct product = wide_product(PHILOX_M2x64_0, counter[0]);
      counter[0] = product.high ^ round_key ^ counter[1];
      counter[1] = product.low;
    }
    return counter;
  }

 private:
  void set_key(std::uint64_t key);

  // The key of each round, of which the first is the Philox key: a key makes many blocks.
  std::array<std::uint64_t, 10> rounds_;
};

/// Identifies a draw: `entity` is the request (or client) among those that share a key; `attempt`
/// counts from 1 (0 where no attempt is involved). `group` is free for your own numbering of groups
/// under one key, with purposes below 64 only (others reach into its bits); the simulator leaves it
/// zero, and gives each group a key of its own (`RandomKey::named`).
struct DrawId {
  std::uint64_t entity = 0;
  std::uint32_t attempt = 0;
  std::uint16_t group = 0;
  Purpose purpose = Purpose::kArrival;
};

/// The sequence of random words that belongs to one (key, id). Cheap to make: one Philox block (two
/// words) is computed at construction, further ones on demand.
class Draws {
 public:
  Draws(const RandomKey& key, DrawId id)
      : key_(key.philox_key()), counter_(first_counter(id)), block_(key.block(counter_)) {}

  /// The first two of these words, without keeping state: for uses that rarely need a third.
  static r123::Philox2x64::ctr_type first_words(const RandomKey& key, DrawId id) {
    return key.block(first_counter(id));
  }
  /// The first of them.
  static std::uint64_t first_word(const RandomKey& key, DrawId id) {
    return first_words(key, id)[0];
  }

  /// The next 64 random bits.
  std::uint64_t next() {
    if (used_ == 2) {
      ++counter_[1];  // the low 10 bits count blocks; 2048 words are more than any draw needs
      block_ = r123::Philox2x64{}(counter_, key_);
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform on [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform on {0, ..., n - 1}; 0 < n < 2^32 (bias below n / 2^64).
  std::uint32_t below(std::uint32_t n) { return below(next(), n); }
  /// As above, from a word that has already been drawn.
  static std::uint32_t below(std::uint64_t word, std::uint32_t n) {
    return static_cast<std::uint32_t>(wide_product(word, n).high);
  }

 private:
  static r123::Philox2x64::ctr_type first_counter(DrawId id) {
    return {{id.entity, std::uint64_t{id.attempt} << 32 | std::uint64_t{id.group} << 16 |
                            static_cast<std::uint64_t>(id.purpose) << 10}};
  }

  r123::Philox2x64::key_type key_;
  r123::Philox2x64::ctr_type counter_;
  r123::Philox2x64::ctr_type block_;
  std::size_t used_ = 0;
};

}  // namespace retrysim
