// A cache in front of calls: the answers that one instance of the caller has already, by key.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include <cstdint>
#include <vector>

namespace retrysim::model {

/// Empty at first. Every step is O(1) and allocates nothing: one small entry for each key, stored
/// or not, is there from the beginning.
class Cache {
 public:
  /// For keys from 0 to `keys` - 1. The capacity of `spec` is above 0.
  Cache(const CacheSpec& spec, std::uint32_t keys);

  /// Whether the cache holds a valid answer for the key, which then counts as used. An expired
  /// answer is removed.
  bool find(std::uint32_t key, Time now);
  /// Stores an answer as the newest entry, replacing an earlier one for the key. If the cache is
  /// full, first evicts the entry that the policy chooses, expired or not.
  void store(std::uint32_t key, Time now);
  /// All are gone.
  void clear();

  std::uint32_t size() const { return size_; }
  /// The memory of a cache for this many keys.
  static std::uint64_t bytes(std::uint32_t keys) {
    return sizeof(Cache) + (std::uint64_t{keys} + 1) * sizeof(Entry);
  }

 private:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  struct Entry {
    Time stored;
    std::uint32_t newer = kOut, older = kOut;  // in the order in which entries go; kOut: not stored
  };

  bool holds(std::uint32_t key) const { return entries_[key].older != kOut; }
  void enter(std::uint32_t key);
  void remove(std::uint32_t key);

  std::uint32_t capacity_;
  CachePolicy policy_;
  Duration ttl_;
  std::uint32_t end_;  // the entry behind all keys: the list's end, and its beginning
  std::uint32_t size_ = 0;
  std::vector<Entry> entries_;  // by key
};

}  // namespace retrysim::model
