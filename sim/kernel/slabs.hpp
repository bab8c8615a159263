// Memory for the small blocks that a container takes one after the other and gives back all at
// once. Where it takes many megabytes, they come in large pages: its objects are visited in no
// order, and with small pages nearly every visit would miss the processor's address cache.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/large_pages.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace retrysim::kernel {

class Slabs {
 public:
  /// An array of `count` objects as their type initialises them; it stays where it is. A container
  /// always takes as many.
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
  // Beyond this size, memory is taken in portions of this size. What is not used of one costs
  // addresses only.
  static constexpr std::size_t kMany = 4 * kLargePage;
  struct Release {
    std::align_val_t alignment;
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };

  // As long as it is little, memory is taken as it is asked for.
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
  std::byte* next_ = nullptr;  // what is left of the last one
  std::size_t left_ = 0, taken_ = 0;
};

}  // namespace retrysim::kernel
