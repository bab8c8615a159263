// Keyed random draws, and the distributions of durations that are drawn. A draw is a pure function
// of its identity: seed, replication, the name of the client group (or service), entity, attempt,
// purpose and position. Nothing depends on the order in which draws are made, so the same request
// meets the same arrival time, service demand and network delay whatever the retry policy does
// (common random numbers), and results do not depend on threads.
//
// The generator is Philox2x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011), from the Random123 library. Its block is as large as that of Philox4x32-10, at half the
// instructions on a 64-bit processor.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <Random123/philox.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

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

/// What a draw decides. The numbers are part of the generator's counter: never renumber, only
/// append.
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
  // The same purposes for the second message of an attempt that sends two.
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
  kLimitProbe = 80,      ///< when an adaptive limit on concurrency measures the best time anew
  kUncertain = 90,       ///< the value of an uncertain key
  kBranch = 91,          ///< which of several courses of a run goes on again
  // Draws for a fault at random times (`FaultChance`); their entity is the number of the
  // occurrence.
  kFaultGap = 92,     ///< time before it
  kFaultLength = 93,  ///< how long it lasts
  kFaultDepth = 94,   ///< how deep it is
  kFaultJoin = 95,    ///< does it come with the other fault
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

  /// The random numbers of what goes on from here in another way: those of branch 0 are these
  /// themselves, those of any other branch have nothing to do with them.
  RandomKey branch(std::uint64_t number) const;

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
  /// The first of these words.
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
  /// `below(n)` from a word that has already been drawn.
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

// --- Distributions -------------------------------------------------------------------------------

// The algorithms and their elementary functions are our own, so one seed gives the same nanosecond
// with every compiler and on every processor. Parameters are in seconds; samples are rounded to the
// nearest nanosecond.

namespace kernel {

/// One layer of a ziggurat, for a position of 53 random bits. Internal: declared here only so that
/// the fast paths of `unit_exponential` and `unit_normal` can be inlined.
struct ZigguratLayer {
  std::uint64_t inside;  ///< positions below this are certainly under the density
  double width;          ///< right edge of the layer times 2^-53
};
extern const ZigguratLayer kExponentialLayers[256];
extern const ZigguratLayer kNormalLayers[256];

/// `unit_exponential` for a first word that is not inside its layer (2.2 % of them).
double unit_exponential_outside(Draws& draws, std::uint64_t word);

/// `unit_normal` for a first word that is not inside its layer (1.5 % of them).
double unit_normal_outside(Draws& draws, std::uint64_t word);

/// A length with the sign of a normal variate, which is the word's bit above that of the layer.
inline double with_normal_sign(double length, std::uint64_t word) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(length) | (word & 256) << 55);
}

}  // namespace kernel

/// One exponential variate with mean 1 (256-layer ziggurat, Marsaglia and Tsang 2000). Takes one
/// word, in 2.2 % of the cases more.
inline double unit_exponential(Draws& draws) {
  const std::uint64_t word = draws.next();
  const kernel::ZigguratLayer& layer = kernel::kExponentialLayers[word & 255];
  const std::uint64_t position = word >> 11;
  if (position < layer.inside) [[likely]] {
    return static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
  }
  return kernel::unit_exponential_outside(draws, word);
}

/// One standard normal variate (256-layer ziggurat, as above). Takes one word, in 1.5 % of the
/// cases more.
inline double unit_normal(Draws& draws) {
  const std::uint64_t word = draws.next();
  const kernel::ZigguratLayer& layer = kernel::kNormalLayers[word & 255];
  const std::uint64_t position = word >> 11;
  if (position < layer.inside) [[likely]] {
    const double length = static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
    return kernel::with_normal_sign(length, word);
  }
  return kernel::unit_normal_outside(draws, word);
}

/// A distribution of non-negative durations: an immutable value, cheap to copy, safe to share
/// between threads. A sample that does not fit in a Duration is `Duration::max()`, "never".
class Distribution {
 public:
  enum class Kind : std::uint8_t {
    kConstant,
    kExponential,
    kUniform,
    kErlang,
    kHyperexponential,
    kLognormal,
    kNormal,
    kPareto,
    kWeibull,
    kEmpirical,
    kGamma,
  };

  static constexpr double kMaxSeconds = 9.2e9;      ///< longest mean, phase or value: 292 years
  static constexpr double kMaxCv = 1e6;             ///< largest coefficient of variation
  static constexpr int kMaxErlangShape = 1000;      ///< one identity has 2048 words
  static constexpr double kMinWeibullShape = 0.01;  ///< below, Gamma(1 + 1 / shape) overflows soon
  static constexpr double kMinGammaShape = 0.01;    ///< cv 10; below, nearly all samples are 0 ns
  static constexpr double kMaxGammaShape = 1e6;     ///< cv 0.001

  Distribution() = default;  ///< constant zero

  /// Each maker checks its arguments and throws std::invalid_argument with a sentence that says
  /// what is wrong ("mean must be positive"); all arguments are finite, means and values at most
  /// `kMaxSeconds`. A mean of 0 is a constant and nothing else.
  static Distribution constant(Duration value);  ///< `value` >= 0; `Duration::max()` allowed
  static Distribution exponential(double mean_s);
  static Distribution uniform(double min_s, double max_s);  ///< on [min, max), 0 <= min < max
  static Distribution erlang(double mean_s, int shape);     ///< sum of `shape` phases
  /// With probability `p` exponential with mean `mean1_s`, otherwise with mean `mean2_s`.
  static Distribution hyperexponential(double p, double mean1_s, double mean2_s);
  /// A hyperexponential distribution of balanced means (p m1 = (1-p) m2) with coefficient of
  /// variation `cv` in [1, kMaxCv].
  static Distribution hyperexponential_cv(double mean_s, double cv);
  static Distribution lognormal(double mean_s, double cv);   ///< cv = sd / mean in [0, kMaxCv]
  static Distribution normal(double mean_s, double sd_s);    ///< |N(mean, sd)|: folded at 0
  static Distribution pareto(double mean_s, double shape);   ///< shape > 1 so that a mean exists
  static Distribution weibull(double mean_s, double shape);  ///< shape >= kMinWeibullShape
  /// A gamma distribution with coefficient of variation 1 / sqrt(shape), kMinGammaShape <= shape <=
  /// kMaxGammaShape.
  static Distribution gamma(double mean_s, double shape);
  /// A gamma distribution with mean shape * scale.
  static Distribution gamma_scaled(double shape, double scale_s);
  /// Draws one of `values_s` with probability proportional to its weight. Both have the same
  /// length, at least one; values >= 0; weights >= 0 and not all 0.
  static Distribution empirical(std::vector<double> values_s, std::vector<double> weights);

  Kind kind() const { return kind_; }
  bool is_constant() const { return kind_ == Kind::kConstant; }
  /// The value of a constant distribution; zero for the others.
  Duration constant_value() const { return constant_; }
  /// Exact mean in seconds, before rounding to nanoseconds. For kNormal it is that of the folded
  /// variable.
  double mean_seconds() const { return mean_s_; }

  /// The parameters of a distribution, for computing with it instead of drawing from it. Lengths
  /// are in seconds. Constant and empirical distributions have none. By kind:
  ///
  /// - exponential: `a` mean
  /// - uniform: `a` least value, `b` width
  /// - erlang: `a` mean of a phase
  /// - hyperexponential: `a` probability, `b` mean of the first phase, `c` of the second
  /// - lognormal: `a` median, `b` standard deviation of the logarithm
  /// - normal: `a` mean, `b` standard deviation, both before folding
  /// - pareto: `a` least value, `b` 1 / shape
  /// - weibull: `a` scale, `b` 1 / shape
  /// - gamma: `a` scale, `b` shape
  struct Parameters {
    double a = 0, b = 0, c = 0;
    int phases = 1;  ///< erlang
  };
  Parameters parameters() const;

  /// All that it is made of, as plain values: two distributions with equal parts draw the same.
  struct Parts {
    Kind kind = Kind::kConstant;
    std::int32_t phases = 0;
    Duration constant;
    double mean_s = 0, a = 0, b = 0, c = 0;
    std::vector<Duration> values;  ///< of an empirical one, with the two columns of its alias table
    std::vector<std::uint64_t> threshold;
    std::vector<std::uint32_t> other;
  };
  Parts parts() const;
  /// The distribution that `parts` describes.
  static Distribution from_parts(Parts parts);

  /// One sample. All kinds but erlang take a handful of words from `draws`, erlang about one per
  /// phase. How many words a gamma variate takes depends on their values.
  Duration sample(Draws& draws) const {
    if (kind_ == Kind::kConstant) return constant_;
    if (kind_ == Kind::kExponential) {
      return Duration::from_nanoseconds(unit_exponential(draws) * a_);
    }
    return sample_other(draws);
  }

  /// One sample from the random words of `id`, none of which is computed for a constant.
  [[gnu::always_inline]] Duration sample(const RandomKey& key, DrawId id) const {
    if (kind_ == Kind::kConstant) return constant_;
    // Nearly all variates of a ziggurat take a single word, so there is no state to keep.
    const bool normal = kind_ == Kind::kNormal;
    if (normal || kind_ == Kind::kExponential) [[likely]] {
      const std::uint64_t word = Draws::first_word(key, id);
      const kernel::ZigguratLayer& layer =
          (normal ? kernel::kNormalLayers : kernel::kExponentialLayers)[word & 255];
      if (const std::uint64_t position = word >> 11; position < layer.inside) [[likely]] {
        const double length =
            static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
        if (!normal) return Duration::from_nanoseconds(length * a_);
        const double ns = a_ + b_ * kernel::with_normal_sign(length, word);
        return Duration::from_nanoseconds(ns < 0 ? -ns : ns);
      }
    }
    return sample_anew(key, id);
  }

 private:
  struct Alias;  // alias table of an empirical distribution

  Distribution(Kind kind, double mean_s) : kind_(kind), mean_s_(mean_s) {}
  Duration sample_other(Draws& draws) const;
  Duration sample_anew(const RandomKey& key, DrawId id) const;

  Kind kind_ = Kind::kConstant;
  std::int32_t phases_ = 0;  // erlang
  Duration constant_;
  double mean_s_ = 0;
  // The parameters the sampler needs, by kind; lengths in nanoseconds.
  //   exponential: a mean             uniform: a min, b width     erlang: a mean of a phase
  //   hyperexponential: a p, b mean of phase 1, c of phase 2      normal: a mean, b sd
  //   lognormal: a median, b sigma    pareto: a smallest value, b 1 / shape
  //   weibull: a scale, b 1 / shape   gamma: a scale, b shape
  double a_ = 0, b_ = 0, c_ = 0;
  std::shared_ptr<const Alias> alias_;
};

}  // namespace retrysim
