// The services in progress at one service, earliest completion first. A few are a small sorted
// array; many are an indexed heap, until none is left.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/indexed_heap.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

class CompletionSet {
  auto position() {
    return [this](std::uint32_t attempt) -> std::uint32_t& {
      if (attempt >= positions_.size()) [[unlikely]]
        positions_.resize(2 * std::size_t{attempt} + 64, kernel::IndexedHeap::kNotInHeap);
      return positions_[attempt];
    };
  }

 public:
  /// `servers`: how many may be in progress at once.
  explicit CompletionSet(std::int64_t servers) : sorted_(servers <= kMaxSorted) {}

  std::size_t size() const { return sorted_ ? few_ : heap_.size(); }
  kernel::EventKey head() const { return sorted_ ? sorted_ones_[few_].key : heap_.head(); }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return sorted_ ? sorted_ones_[few_].attempt : heap_.front(); }

  /// `key` is the newest there is: the last of those of its instant.
  void insert(std::uint32_t attempt, kernel::EventKey key) {
    if (!sorted_ || few_ == kMaxSorted || key.time == Time::max()) [[unlikely]]
      return insert_elsewhere(attempt, key);
    assert(
        std::all_of(begin(), end(), [&](const One& o) { return o.key.sequence < key.sequence; }));
    One* place = &sorted_ones_[++few_];
    for (; place[-1].key.time <= key.time; --place) *place = place[-1];
    *place = {key, attempt};
  }

  std::uint32_t pop() {
    if (sorted_) return sorted_ones_[few_--].attempt;
    const std::uint32_t attempt = heap_.pop(position());
    sorted_ = heap_.empty();
    return attempt;
  }

  void erase(std::uint32_t attempt) {
    if (!sorted_) {
      heap_.erase(attempt, position());
      return;
    }
    const auto found =
        std::find_if(begin(), end(), [=](const One& o) { return o.attempt == attempt; });
    if (found == end()) kernel::timer_misused("a completion was cancelled that is not due");
    std::copy(found + 1, end(), found);
    --few_;
  }

  /// Takes out everything, in the order of completion.
  std::vector<std::uint32_t> take_all() {
    std::vector<std::uint32_t> attempts;
    while (size() > 0) attempts.push_back(pop());
    return attempts;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 1; i <= few_; ++i) visit(sorted_ones_[i].attempt);
    heap_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  static constexpr std::uint32_t kMaxSorted = 24;
  struct One {
    kernel::EventKey key = kernel::EventKey::never();
    std::uint32_t attempt = ~std::uint32_t{0};
  };
  One* begin() { return &sorted_ones_[1]; }
  One* end() { return begin() + few_; }

  [[gnu::noinline]] void insert_elsewhere(std::uint32_t attempt, kernel::EventKey key) {
    if (!sorted_) return heap_.push(attempt, key, position());
    if (few_ == kMaxSorted) return insert_in_heap(attempt, key);
    // It never ends, and comes after all others: before them in the array.
    std::copy_backward(begin(), end(), end() + 1);
    ++few_;
    *begin() = {key, attempt};
  }

  // A service may have more servers than it began with.
  void insert_in_heap(std::uint32_t attempt, kernel::EventKey key) {
    for (std::uint32_t i = 1; i <= few_; ++i) {
      heap_.push(sorted_ones_[i].attempt, sorted_ones_[i].key, position());
    }
    few_ = 0;
    sorted_ = false;
    heap_.push(attempt, key, position());
  }

  bool sorted_;
  std::uint32_t few_ = 0;
  // From place 1 on, earliest last. Place 0 stays as it is: later than all, and what there is if
  // there is nothing.
  std::array<One, kMaxSorted + 1> sorted_ones_;
  kernel::IndexedHeap heap_;
  // By attempt; apart from the attempts, so that moving one in the heap touches four bytes of it.
  std::vector<std::uint32_t> positions_;
};

}  // namespace retrysim::model
