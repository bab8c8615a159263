// The key of a replication. Seeds and replication numbers that people choose are small and close
// together, so both pass through a strong mixer before they become a Philox key. For a fixed seed
// the key is a bijection of the replication number, and the other way round: two replications of
// one seed never share their random numbers.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>

namespace retrysim {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014, with Stafford's variant 13 of the constants): a bijection in which every
// input bit flips every output bit with a probability close to one half.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The odd integer nearest to 2^64 divided by the golden ratio; keeps 0 from being a fixed point.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

// A hash of the bytes and the length, eight bytes at a time, the same on every machine.
std::uint64_t hash(std::uint64_t h, std::string_view bytes) {
  h = mix(h + bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (const char c : bytes.substr(i, 8)) word = word << 8 | static_cast<unsigned char>(c);
    h = mix(h ^ word) + kGolden;
  }
  return h;
}

}  // namespace

RandomKey::RandomKey(std::uint64_t seed, std::uint64_t replication) {
  set_key(mix(mix(seed + kGolden) ^ (replication * kGolden)));
}

void RandomKey::set_key(std::uint64_t key) {
  for (std::uint64_t& round_key : rounds_) {
    round_key = key;
    key += PHILOX_W64_0;
  }
}

// The key of a named part: for a given name a bijection of the key, for a given key a bijection of
// the hash.
RandomKey RandomKey::named(std::string_view kind, std::string_view name) const {
  RandomKey part = *this;
  part.set_key(mix(rounds_[0] + hash(hash(kGolden, kind), name)));
  return part;
}

// For a given branch a bijection of the key, for a given key a bijection of the branch.
RandomKey RandomKey::branch(std::uint64_t number) const {
  RandomKey other = *this;
  if (number != 0) other.set_key(mix(rounds_[0] ^ mix(number * kGolden)));
  return other;
}

}  // namespace retrysim
