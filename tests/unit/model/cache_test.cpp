// A cache by itself, against known laws of hits.
//
// SPDX-License-Identifier: MIT
#include "model/service/cache.hpp"

#include "flow/caches.hpp"

#include <catch2/catch.hpp>

#include <retrysim/random.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "model/run/request.hpp"

namespace retrysim {
namespace {

using flow::hit_share;
using flow::KeyMix;
using model::Cache;

Time cache_time(std::int64_t ms) { return Time::zero() + Duration::milliseconds(ms); }

CacheSpec cache_of(std::uint32_t capacity, CachePolicy policy = CachePolicy::kLru) {
  CacheSpec spec;
  spec.capacity = capacity;
  spec.policy = policy;
  return spec;
}

/// What is not there is stored at once.
bool ask(Cache& cache, std::uint32_t key, Time now) {
  if (cache.find(key, now)) return true;
  cache.store(key, now);
  return false;
}

/// The share of `asked` look-ups at random that hit, after a tenth as many to fill the cache.
double measured(const CacheSpec& spec, const KeySpec& keys, std::uint64_t asked) {
  Cache cache(spec, keys.count);
  const RandomKey random(20261, 1);
  const model::KeyChoice choice(keys);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < asked / 10; ++i) ask(cache, choice.of(random, i), cache_time(0));
  for (std::uint64_t i = 0; i < asked; ++i)
    hits += ask(cache, choice.of(random, asked + i), cache_time(0));
  return static_cast<double>(hits) / static_cast<double>(asked);
}

TEST_CASE("A full cache lets go what was not used for the longest time, or what was stored first") {
  const CachePolicy policy = GENERATE(CachePolicy::kLru, CachePolicy::kFifo);
  Cache cache(cache_of(3, policy), 10);
  for (const std::uint32_t key : {4u, 9u, 0u}) CHECK_FALSE(ask(cache, key, cache_time(0)));
  CHECK(cache.find(4, cache_time(0)));
  cache.store(7, cache_time(0));
  CHECK(cache.size() == 3);
  const bool lru = policy == CachePolicy::kLru;
  CHECK(cache.find(4, cache_time(0)) == lru);
  CHECK(cache.find(9, cache_time(0)) != lru);
  CHECK(cache.find(0, cache_time(0)));
  CHECK(cache.find(7, cache_time(0)));
  cache.clear();
  CHECK(cache.size() == 0);
  for (std::uint32_t key = 0; key < 10; ++key) CHECK_FALSE(cache.find(key, cache_time(0)));
}

TEST_CASE("An entry is good for its ttl, counted from when it was stored last") {
  CacheSpec spec = cache_of(3);
  spec.ttl = Duration::milliseconds(100);
  Cache cache(spec, 3);
  cache.store(1, cache_time(0));
  CHECK(cache.find(1, cache_time(99)));
  CHECK_FALSE(cache.find(1, cache_time(100)));
  CHECK(cache.size() == 0);
  cache.store(1, cache_time(200));
  cache.store(1, cache_time(250));
  CHECK(cache.size() == 1);
  CHECK(cache.find(1, cache_time(349)));
}

// All sets of c keys are equally likely to be there, and so the hits are independent, with
// probability c/N each. Margin: five standard deviations, exceeded by chance once in a million.
TEST_CASE("An lru cache of c of N equally likely keys hits c/N of the time") {
  constexpr std::uint64_t kAsked = 200'000;
  const std::uint32_t c = GENERATE(1u, 25u, 99u);
  KeySpec keys;
  keys.count = 100;
  const double p = c / 100.0;
  const double margin = 5 * std::sqrt(p * (1 - p) / kAsked);
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kFifo}) {
    CHECK(measured(cache_of(c, policy), keys, kAsked) == Approx(p).margin(margin));
    const std::vector<KeyMix> mix = {{keys, 1}};
    CHECK(hit_share(cache_of(c, policy), mix, 1) == Approx(p));
  }
}

// Che's approximation by itself: the time t in which c different keys are asked for, by bisection.
double che(const KeySpec& keys, double capacity) {
  std::vector<double> p;
  double sum = 0;
  for (std::uint32_t k = 1; k <= keys.count; ++k) sum += std::pow(k, -keys.exponent);
  for (std::uint32_t k = 1; k <= keys.count; ++k) p.push_back(std::pow(k, -keys.exponent) / sum);
  double low = 0, high = 1e9, hits = 0;
  for (int i = 0; i < 100; ++i) {
    const double t = (low + high) / 2;
    double entries = 0;
    for (const double q : p) entries += 1 - std::exp(-q * t);
    (entries < capacity ? low : high) = t;
  }
  for (const double q : p) hits += q * (1 - std::exp(-q * high));
  return hits;
}

// Of a million look-ups, of which a third or a half hit, the share has a standard deviation of
// about 0.0005 (0.15 %); what is left of the percent is for the approximation. By chance once in
// 10^9.
TEST_CASE("Che's approximation of an lru cache holds within one percent where keys follow Zipf") {
  KeySpec keys;
  keys.count = 10'000;
  keys.popularity = Popularity::kZipf;
  keys.exponent = GENERATE(0.8, 1.0);
  const std::uint32_t c = GENERATE(200u, 1'000u);
  const double expected = che(keys, c);
  CHECK(measured(cache_of(c), keys, 1'000'000) == Approx(expected).epsilon(0.01));
  const std::vector<KeyMix> mix = {{keys, 1}};
  CHECK(hit_share(cache_of(c), mix, 1) == Approx(expected).epsilon(0.001));
}

TEST_CASE("The approximation of fifo caches holds within one percent where keys follow Zipf") {
  KeySpec keys;
  keys.count = 10'000;
  keys.popularity = Popularity::kZipf;
  const std::vector<KeyMix> mix = {{keys, 1}};
  const CacheSpec spec = cache_of(500, CachePolicy::kFifo);
  CHECK(measured(spec, keys, 1'000'000) == Approx(hit_share(spec, mix, 1)).epsilon(0.01));
}

// An entry is followed by as many hits as come in its ttl, a Poisson number of mean a, and then by
// a miss: a/(1+a) of the look-ups hit. The deviation is sqrt(a/(1+a))/(1+a)/sqrt(n), a thousandth
// here; margin: five of them, exceeded by chance once in a million.
TEST_CASE("With a ttl, a key asked for at a Poisson rate l hits l ttl / (1 + l ttl)") {
  const double a = GENERATE(0.5, 2.0, 10.0);
  constexpr int kAsked = 200'000;
  CacheSpec spec = cache_of(~std::uint32_t{0});
  spec.ttl = Duration::seconds(1);
  KeySpec keys;
  keys.count = 20;
  Cache cache(spec, keys.count);
  const RandomKey random(20262, 1);
  Time now = Time::zero();
  int hits = 0;
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    Draws draws(random, {i, 0, 0, Purpose::kKey});
    now = now + Distribution::exponential(1 / (a * keys.count)).sample(draws);
    hits += ask(cache, draws.below(keys.count), now);
  }
  const double expected = a / (1 + a);
  const double margin = 5 * std::sqrt(a / (1 + a)) / (1 + a) / std::sqrt(kAsked);
  CHECK(static_cast<double>(hits) / kAsked == Approx(expected).margin(margin));
  const std::vector<KeyMix> mix = {{keys, 1}};
  CHECK(hit_share(spec, mix, a * keys.count) == Approx(expected));
}

TEST_CASE("The look-ups of several groups come together") {
  KeySpec few, many;
  few.count = 10;
  many.count = 1'000;
  // A tenth of the look-ups is spread over so many keys that the others have the room for
  // themselves.
  const std::vector<KeyMix> mix = {{few, 9}, {many, 1}};
  const double share = hit_share(cache_of(20), mix, 1);
  CHECK(share > 0.9);
  CHECK(share < 0.92);
}

}  // namespace
}  // namespace retrysim
