// SPDX-License-Identifier: MIT
#include "model/service/cache.hpp"

#include <cassert>

namespace retrysim::model {

Cache::Cache(const CacheSpec& spec, std::uint32_t keys)
    : capacity_(spec.capacity),
      policy_(spec.policy),
      ttl_(spec.ttl),
      end_(keys),
      entries_(std::size_t{keys} + 1) {
  assert(capacity_ > 0 && keys > 0);
  entries_[end_].newer = entries_[end_].older = end_;
}

bool Cache::find(std::uint32_t key, Time now) {
  if (!holds(key)) return false;
  if (ttl_ != Duration::max() && now - entries_[key].stored >= ttl_) {
    remove(key);
    return false;
  }
  if (policy_ == CachePolicy::kLru) {
    remove(key);
    enter(key);
  }
  return true;
}

void Cache::store(std::uint32_t key, Time now) {
  if (holds(key)) remove(key);
  if (size_ == capacity_) remove(entries_[end_].newer);
  enter(key);
  entries_[key].stored = now;
}

void Cache::clear() {
  while (size_ > 0) remove(entries_[end_].newer);
}

// As the newest one.
void Cache::enter(std::uint32_t key) {
  const std::uint32_t newest = entries_[end_].older;
  entries_[key].older = newest;
  entries_[key].newer = end_;
  entries_[newest].newer = entries_[end_].older = key;
  ++size_;
}

void Cache::remove(std::uint32_t key) {
  const Entry& e = entries_[key];
  entries_[e.older].newer = e.newer;
  entries_[e.newer].older = e.older;
  entries_[key].older = entries_[key].newer = kOut;
  --size_;
}

}  // namespace retrysim::model
