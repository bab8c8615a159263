// How much caches in front of calls save in the long run: the share of their look-ups that hit.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <span>

namespace retrysim::flow {

/// A part of the look-ups of a cache: those of a group, with its keys.
struct KeyMix {
  KeySpec keys;
  double share = 1;  ///< share of all look-ups, relative to the other parts
};

/// The share of look-ups that hit in steady state, if they come at random at `rate` per second at
/// each cache, and what is missing is there at once. The cache must keep answers (capacity above
/// 0). Che's approximation for "lru", that of Fricker, Robert and Roberts for "fifo" (both: A
/// versatile and accurate approximation for LRU cache performance, 2012); exact for a ttl with room
/// for all keys; if ttl and capacity both limit the cache, the smaller share. The probabilities of
/// rare keys are taken together in groups of a hundredth.
double hit_share(const CacheSpec& cache, std::span<const KeyMix> keys, double rate);

}  // namespace retrysim::flow
