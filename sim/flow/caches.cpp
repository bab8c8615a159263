// SPDX-License-Identifier: MIT
#include "flow/caches.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace retrysim::flow {

namespace {

constexpr double kEver = std::numeric_limits<double>::infinity();

/// Keys that are asked for equally often, or nearly.
struct KeyClass {
  double count = 0;
  double each = 0;  // probability of one of them
};

/// Where classes of keys begin, counted from 1; the last is the end.
std::vector<double> class_edges(std::span<const KeyMix> keys) {
  constexpr double kSingle = 256;  // the first keys, each a class of its own
  constexpr double kGrowth = 1.01;
  double most = 1;
  for (const KeyMix& m : keys) most = std::max<double>(most, m.keys.count);
  std::vector<double> edges;
  for (double k = 1; k <= most; k = k < kSingle ? k + 1 : std::ceil(k * kGrowth))
    edges.push_back(k);
  for (const KeyMix& m : keys) edges.push_back(m.keys.count + 1.0);
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// How likely one of the keys from `from` up to `to` is, relative to the others of the group.
double weight(const KeySpec& keys, double from, double to) {
  if (from > keys.count) return 0;
  switch (keys.popularity) {
    case Popularity::kUniform:
      break;
    case Popularity::kZipf:
      return std::pow(std::sqrt(from * (to - 1)), -keys.exponent);
    case Popularity::kHot:
      if (keys.count == 1) break;
      return from == 1 ? keys.hot_share : (1 - keys.hot_share) / (keys.count - 1.0);
  }
  return 1;
}

std::vector<KeyClass> classes_of(std::span<const KeyMix> keys) {
  const std::vector<double> edges = class_edges(keys);
  std::vector<KeyClass> classes(edges.size() - 1);
  double shares = 0;
  for (const KeyMix& m : keys) shares += m.share;
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i].count = edges[i + 1] - edges[i];
  for (const KeyMix& m : keys) {
    double sum = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      sum += classes[i].count * weight(m.keys, edges[i], edges[i + 1]);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) {
      classes[i].each += m.share / shares * weight(m.keys, edges[i], edges[i + 1]) / sum;
    }
  }
  return classes;
}

/// Probability that a key is in the cache, if it is asked for `x` times, on average, while an entry
/// stays: since it was used, or since it was stored.
double in_cache(CachePolicy policy, double x) {
  return policy == CachePolicy::kLru ? -std::expm1(-x) : x == kEver ? 1 : x / (1 + x);
}

template <class Function>
double sum_over(const std::vector<KeyClass>& classes, Function function) {
  double sum = 0;
  for (const KeyClass& c : classes) sum += c.count * function(c.each);
  return sum;
}

/// How many look-ups an entry stays in a full cache.
double characteristic_time(const std::vector<KeyClass>& classes, CachePolicy policy,
                           double capacity) {
  const auto entries = [&](double t) {
    return sum_over(classes, [&](double p) { return in_cache(policy, p * t); });
  };
  const double asked_for = sum_over(classes, [](double p) { return p > 0 ? 1.0 : 0.0; });
  if (capacity >= asked_for) return kEver;
  double low = 0, high = 1;
  while (entries(high) < capacity && high < 1e300) low = high, high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (entries(middle) < capacity ? low : high) = middle;
  }
  return high;
}

}  // namespace

double hit_share(const CacheSpec& cache, std::span<const KeyMix> keys, double rate) {
  const std::vector<KeyClass> classes = classes_of(keys);
  const auto share = [&](CachePolicy policy, double stay) {
    return sum_over(classes, [&](double p) { return p > 0 ? p * in_cache(policy, p * stay) : 0; });
  };
  const double full = share(cache.policy, characteristic_time(classes, cache.policy,
                                                              static_cast<double>(cache.capacity)));
  if (cache.ttl == Duration::max()) return full;
  // An entry that stays for a fixed time since it was stored is what "fifo" approximates.
  return std::min(full, share(CachePolicy::kFifo, rate * cache.ttl.in_seconds()));
}

}  // namespace retrysim::flow
