// Pool of objects with stable addresses and 32-bit names. Slots are reused last-in first-out, so
// the objects in use stay in the cache; nothing is allocated per event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/claim.hpp"
#include "kernel/slabs.hpp"

#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

namespace retrysim::kernel {

/// The objects of a pool: in blocks that stay where they are.
template <class T>
class PoolBlocks {
 public:
  T& operator[](std::uint32_t id) { return blocks_[id >> kShift][id & kMask].object; }
  const T& operator[](std::uint32_t id) const { return blocks_[id >> kShift][id & kMask].object; }
  std::uint32_t size() const { return size_; }
  std::uint64_t bytes() const { return blocks_.size() * (std::uint64_t{kMask} + 1) * sizeof(T); }

  /// Makes the object `size()`. It is made when it is used for the first time: a short run uses few
  /// of a block.
  [[gnu::noinline]] T& add() {
    if ((size_ & kMask) == 0) blocks_.push_back(slabs_.template take<Slot>(kMask + 1));
    Slot& slot = blocks_[size_ >> kShift][size_ & kMask];
    ++size_;
    return *::new (&slot.object) T();
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  union Slot {
    Slot() {}
    T object;
  };

  static constexpr std::uint32_t kShift = 10, kMask = (1u << kShift) - 1;
  Slabs slabs_;
  std::vector<Slot*> blocks_;
  std::uint32_t size_ = 0;
};

template <class T>
class Pool {
 public:
  T& operator[](std::uint32_t id) { return objects_[id]; }
  const T& operator[](std::uint32_t id) const { return objects_[id]; }

  /// A slot; its object is as its last user left it.
  std::uint32_t allocate() {
    if (!free_.empty()) {
      const std::uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    objects_.add();
    return objects_.size() - 1;
  }
  void release(std::uint32_t id) { free_.push_back(id); }

  std::size_t live() const { return objects_.size() - free_.size(); }
  std::uint32_t slots() const { return objects_.size(); }  ///< ever used: ids are below this
  std::uint64_t bytes() const { return objects_.bytes() + bytes_of(free_); }

 private:
  PoolBlocks<T> objects_;
  std::vector<std::uint32_t> free_;
};

/// The same for objects that know their place: `T` has a member `id`, which is set once for all,
/// and a member `next_free`, which the pool uses while the object is not in use.
template <class T>
class LinkedPool {
 public:
  T& operator[](std::uint32_t id) { return objects_[id]; }
  const T& operator[](std::uint32_t id) const { return objects_[id]; }

  /// An object as its last user left it, but for `next_free`.
  T& allocate() {
    ++live_;
    if (free_ == nullptr) [[unlikely]]
      return make();
    T& object = *free_;
    free_ = object.next_free;
    return object;
  }
  void release(T& object) {
    --live_;
    object.next_free = free_;
    free_ = &object;
  }

  std::size_t live() const { return live_; }
  std::uint32_t slots() const { return objects_.size(); }  ///< ever used: ids are below this
  std::uint64_t bytes() const { return objects_.bytes(); }

 private:
  T& make() {
    T& object = objects_.add();
    object.id = decltype(object.id)(objects_.size() - 1);
    return object;
  }

  PoolBlocks<T> objects_;
  T* free_ = nullptr;
  std::size_t live_ = 0;
};

}  // namespace retrysim::kernel
