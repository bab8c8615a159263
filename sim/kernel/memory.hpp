// Memory for millions of small objects: prefetching, large pages, arrays whose size is known before
// they are taken, and pools. These save time or memory, and do not change results.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/stop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace retrysim::kernel {

/// Starts to load an object of at most two cache lines that will be written soon and may be far
/// from the cache: with very many clients nearly everything is. Results do not depend on it. A
/// function that only calls this must be inlined, too: GCC treats such a function as one without
/// effects, and drops calls of it.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T& object) {
  constexpr std::size_t kLine = 64;
  __builtin_prefetch(&object, 1);
  // An object that is not aligned may reach into the next line.
  if constexpr (sizeof(T) > kLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(&object) + sizeof(T) - 1, 1);
  }
}

}  // namespace retrysim::kernel

// --- Large pages ---------------------------------------------------------------------------------

// Large arrays that are read at random cost less in large pages: fewer page faults when they are
// filled, and fewer misses of the processor's address cache afterwards.

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retrysim::kernel {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// Asks for large pages for memory that will be used completely. To be called before the memory is
/// touched for the first time.
inline void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  if (bytes < kLargePage) return;
  constexpr std::size_t kPage = 4096;  // advice is for whole pages
  const std::size_t begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const std::size_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// --- Memory that is counted before it is taken ---------------------------------------------------

// One piece of code sizes the large arrays and runs twice: with a `Tally` before anything is taken,
// to find out how much it will be, and with a `Claim` to take it. So the estimate of a run's memory
// cannot drift from what the run takes.

/// Takes the memory of arrays; ends with `Interrupted` if asked to stop meanwhile.
struct Claim {
  /// Gives `array` `length` elements, each of which holds `further_bytes` elsewhere.
  template <class T>
  void operator()(std::vector<T>& array, std::size_t length, const T& value = T(),
                  std::size_t /*further_bytes*/ = 0) const {
    constexpr std::size_t kStep = (std::size_t{4} << 20) / sizeof(T) + 1;
    array.reserve(length);
    use_large_pages(array.data(), array.capacity() * sizeof(T));
    while (array.size() < length) {
      stop_point();
      array.resize(std::min(length, array.size() + kStep), value);
    }
  }
  /// Reserves room for `most` elements, of which `expected` will be used.
  template <class T>
  void room(std::vector<T>& array, std::size_t /*expected*/, std::size_t most) const {
    array.reserve(most);  // only reserves address space
  }
  /// Default-constructs up to a few thousand elements.
  template <class T>
  void few(std::vector<T>& array, std::size_t length) const {
    array.resize(length);
  }
};

/// Counts what `Claim` would take.
class Tally {
 public:
  template <class T>
  void operator()(std::vector<T>& /*array*/, std::size_t length, const T& /*value*/ = T(),
                  std::size_t further_bytes = 0) {
    bytes_ += std::uint64_t{length} * (sizeof(T) + further_bytes);
  }
  template <class T>
  void room(std::vector<T>& /*array*/, std::size_t expected, std::size_t /*most*/) {
    bytes_ += std::uint64_t{expected} * sizeof(T);
  }
  template <class T>
  void few(std::vector<T>& /*array*/, std::size_t length) {
    bytes_ += std::uint64_t{length} * sizeof(T);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Bytes that a vector holds.
template <class T>
std::uint64_t bytes_of(const std::vector<T>& array) {
  return std::uint64_t{array.capacity()} * sizeof(T);
}

/// The most bytes of a vector that may grow at any time: while it grows, old and new elements exist
/// side by side.
template <class T>
std::uint64_t bytes_of_growing(const std::vector<T>& array) {
  return std::max(array.capacity(), 2 * array.size()) * std::uint64_t{sizeof(T)};
}

/// An array that grows in blocks, as far as it is used. Elements are never moved, so that growth
/// needs no further memory for a moment.
template <class T>
class BlockArray {
 public:
  T& operator[](std::size_t i) { return blocks_[i >> kShift][i & kMask]; }
  const T& operator[](std::size_t i) const { return blocks_[i >> kShift][i & kMask]; }
  std::size_t size() const { return blocks_.size() << kShift; }
  std::uint64_t bytes() const { return std::uint64_t{size()} * sizeof(T); }
  /// Makes room for element `i`. New elements are initialized by their type.
  void reach(std::size_t i) {
    if (i >= size()) [[unlikely]]
      add(i);
  }

 private:
  static constexpr std::size_t kShift = 10, kMask = (std::size_t{1} << kShift) - 1;
  [[gnu::noinline]] void add(std::size_t i) {
    while (i >= size()) blocks_.push_back(std::make_unique<T[]>(kMask + 1));
  }

  std::vector<std::unique_ptr<T[]>> blocks_;
};

template <class T>
std::uint64_t bytes_of(const BlockArray<T>& array) {
  return array.bytes();
}

/// Memory for the small blocks that a container takes one by one and gives back all at once. Many
/// megabytes of them come in large pages: the objects are visited in random order, and with small
/// pages nearly every visit would miss the processor's address cache.
class Slabs {
 public:
  /// An array of `count` objects, initialized by their type; its address does not change. A
  /// container always asks for the same `count`.
  template <class T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= kLine);
    const std::size_t bytes = (count * sizeof(T) + kLine - 1) / kLine * kLine;
    if (bytes > left_) add(bytes);
    T* const objects = reinterpret_cast<T*>(next_);
    next_ += bytes;
    left_ -= bytes;
    std::uninitialized_default_construct_n(objects, count);
    return objects;
  }

 private:
  static constexpr std::size_t kLine = 64;
  // Beyond this size, memory is taken in portions of this size. The unused part of a portion costs
  // only addresses.
  static constexpr std::size_t kMany = 4 * kLargePage;
  struct Release {
    std::align_val_t alignment;
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };

  // Takes memory: small amounts as they are asked for, large ones in portions.
  [[gnu::noinline]] void add(std::size_t bytes) {
    const bool is_large = taken_ >= kMany && bytes <= kMany;
    const std::size_t size = is_large ? kMany : bytes;
    const std::align_val_t alignment{is_large ? kLargePage : kLine};
    slabs_.emplace_back(static_cast<std::byte*>(::operator new(size, alignment)),
                        Release{alignment});
    next_ = slabs_.back().get();
    left_ = size;
    taken_ += size;
    if (is_large) use_large_pages(next_, size);
  }

  std::vector<std::unique_ptr<std::byte, Release>> slabs_;
  std::byte* next_ = nullptr;  // the unused part of the last slab
  std::size_t left_ = 0, taken_ = 0;
};

// --- Pools ---------------------------------------------------------------------------------------

// A pool holds objects with stable addresses and 32-bit names. Slots are reused last-in first-out,
// so the objects in use stay in the cache; no event allocates memory.

/// The objects of a pool, in blocks whose addresses do not change.
template <class T>
class PoolBlocks {
 public:
  T& operator[](std::uint32_t id) { return blocks_[id >> kShift][id & kMask].object; }
  const T& operator[](std::uint32_t id) const { return blocks_[id >> kShift][id & kMask].object; }
  std::uint32_t size() const { return size_; }
  std::uint64_t bytes() const { return blocks_.size() * (std::uint64_t{kMask} + 1) * sizeof(T); }

  /// Makes the object `size()`. Objects are made when they are used for the first time: a short run
  /// uses few of a block.
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

  /// Returns a free slot; its object is as its last user left it.
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
  std::uint32_t slots() const { return objects_.size(); }  ///< all ids are below this
  std::uint64_t bytes() const { return objects_.bytes() + bytes_of_growing(free_); }

 private:
  PoolBlocks<T> objects_;
  std::vector<std::uint32_t> free_;
};

/// A pool for objects that know their place: `T` has a member `id`, which never changes, and a
/// member `next_free`, which the pool uses while the object is free.
template <class T>
class LinkedPool {
 public:
  T& operator[](std::uint32_t id) { return objects_[id]; }
  const T& operator[](std::uint32_t id) const { return objects_[id]; }

  /// Returns a free object as its last user left it, but for `next_free`.
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
  std::uint32_t slots() const { return objects_.size(); }  ///< all ids are below this
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
