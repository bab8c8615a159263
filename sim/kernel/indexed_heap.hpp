// A 4-ary heap whose entries know their position, so that any entry can be cancelled or moved:
// timers of varying delay that are usually cancelled (attempt timeouts drawn from a distribution,
// wake-ups of clients waiting for a send token), and services in progress where there are many.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::kernel {

/// `PositionOf` returns, for an entity, a reference to its position in the heap, which the owner
/// keeps; `kNotInHeap`: it is not in the heap.
class IndexedHeap {
 public:
  static constexpr std::uint32_t kNotInHeap = ~std::uint32_t{0};

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  std::uint64_t bytes() const { return bytes_of_growing(heap_); }
  EventKey head() const { return heap_.empty() ? EventKey::never() : heap_[0].key; }
  std::uint32_t front() const { return heap_[0].entity; }

  /// When the timer of `entity` expires; empty if it is not in the heap.
  template <class PositionOf>
  std::optional<EventKey> key_of(std::uint32_t entity, PositionOf position) const {
    const std::size_t i = position(entity);
    if (!holds(i, entity)) return std::nullopt;
    return heap_[i].key;
  }

  /// Adds the timer of `entity`, which must not be in the heap.
  template <class PositionOf>
  void push(std::uint32_t entity, EventKey key, PositionOf position) {
    if (position(entity) != kNotInHeap) [[unlikely]]
      timer_misused("a timer was armed twice");
    heap_.push_back({key, entity});
    sift_up(heap_.size() - 1, position);
  }

  /// Removes the timer of `entity`, which must be in the heap.
  template <class PositionOf>
  void erase(std::uint32_t entity, PositionOf position) {
    const std::size_t i = position(entity);
    if (!holds(i, entity)) [[unlikely]]
      timer_misused("a timer was cancelled that is not armed");
    position(entity) = kNotInHeap;
    const Node last = heap_.back();
    heap_.pop_back();
    if (i == heap_.size()) return;
    heap_[i] = last;
    if (i > 0 && last.key < heap_[(i - 1) / 4].key) {
      sift_up(i, position);
    } else {
      sift_down(i, position);
    }
  }

  template <class PositionOf>
  std::uint32_t pop(PositionOf position) {
    const std::uint32_t entity = heap_[0].entity;
    erase(entity, position);
    return entity;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Node& n : heap_) visit(n.entity, n.key);
  }

 private:
  struct Node {
    EventKey key;
    std::uint32_t entity;
  };

  bool holds(std::size_t position, std::uint32_t entity) const {
    return position < heap_.size() && heap_[position].entity == entity;
  }

  template <class PositionOf>
  void sift_up(std::size_t i, PositionOf position) {
    const Node node = heap_[i];
    while (i > 0 && node.key < heap_[(i - 1) / 4].key) {
      heap_[i] = heap_[(i - 1) / 4];
      position(heap_[i].entity) = static_cast<std::uint32_t>(i);
      i = (i - 1) / 4;
    }
    heap_[i] = node;
    position(node.entity) = static_cast<std::uint32_t>(i);
  }

  template <class PositionOf>
  void sift_down(std::size_t i, PositionOf position) {
    const Node node = heap_[i];
    for (;;) {
      const std::size_t first = 4 * i + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + 4, heap_.size());
      std::size_t least = first;
      for (std::size_t c = first + 1; c < end; ++c) {
        if (heap_[c].key < heap_[least].key) least = c;
      }
      if (node.key < heap_[least].key) break;
      heap_[i] = heap_[least];
      position(heap_[i].entity) = static_cast<std::uint32_t>(i);
      i = least;
    }
    heap_[i] = node;
    position(node.entity) = static_cast<std::uint32_t>(i);
  }

  std::vector<Node> heap_;
};

}  // namespace retrysim::kernel
