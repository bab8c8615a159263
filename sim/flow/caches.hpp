// How much caches in front of calls save in the long run: the share of their look-ups that hit.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <span>

namespace retrysim::flow {

/// Some of the look-ups of a cache: of a group with these keys.
struct KeyMix {
  KeySpec keys;
  double share = 1;  ///< of all look-ups, relative to the others
};

/// The share of look-ups that hit in steady state, if they come at random at `rate` per second at
/// each cache, and what is missing is there at once. For a cache that keeps answers (capacity above
/// 0). Of "lru" Che's approximation, of "fifo" that of Fricker, Robert and Roberts (both: A
/// versatile and accurate approximation for LRU cache performance, 2012), with a ttl exact, if
/// there is room for all; if both limit the cache, the smaller share. The probabilities of rare
/// keys are taken together in groups of a hundredth.
double hit_share(const CacheSpec& cache, std::span<const KeyMix> keys, double rate);

}  // namespace retrysim::flow
