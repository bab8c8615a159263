// Pool of objects with stable addresses and 32-bit names. Slots are reused last-in first-out, so
// the objects in use stay in the cache; nothing is allocated per event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/claim.hpp"
#include "kernel/slabs.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::kernel {

template <class T>
class Pool {
 public:
  T& operator[](std::uint32_t id) { return blocks_[id >> kShift][id & kMask]; }
  const T& operator[](std::uint32_t id) const { return blocks_[id >> kShift][id & kMask]; }

  /// A slot; its object is as its last user left it.
  std::uint32_t allocate() {
    if (!free_.empty()) {
      const std::uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    if ((size_ & kMask) == 0) blocks_.push_back(slabs_.template take<T>(kMask + 1));
    return size_++;
  }
  void release(std::uint32_t id) { free_.push_back(id); }

  std::size_t live() const { return size_ - free_.size(); }
  std::uint32_t slots() const { return size_; }  ///< slots ever used: ids are below this
  std::uint64_t bytes() const {
    return blocks_.size() * (std::uint64_t{kMask} + 1) * sizeof(T) + bytes_of(free_);
  }

 private:
  static constexpr std::uint32_t kShift = 10, kMask = (1u << kShift) - 1;
  Slabs slabs_;
  std::vector<T*> blocks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t size_ = 0;
};

}  // namespace retrysim::kernel
