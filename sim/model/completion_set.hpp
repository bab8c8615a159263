// The services in progress at one service, earliest completion first. A few are two small sorted
// arrays, keys and attempts; many are an indexed heap, until none is left.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"
#include "kernel/indexed_heap.hpp"

#include <algorithm>
#include <array>
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
  kernel::EventKey head() const {
    if (!sorted_) return heap_.head();
    return few_ == 0 ? kernel::EventKey::never() : keys_[few_ - 1];
  }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return sorted_ ? attempts_[few_ - 1] : heap_.front(); }

  void insert(std::uint32_t attempt, kernel::EventKey key) {
    if (!sorted_ || few_ == kMaxSorted) [[unlikely]]
      return insert_in_heap(attempt, key);
    std::size_t i = few_++;
    for (; i > 0 && keys_[i - 1] < key; --i) {
      keys_[i] = keys_[i - 1];
      attempts_[i] = attempts_[i - 1];
    }
    keys_[i] = key;
    attempts_[i] = attempt;
  }

  std::uint32_t pop() {
    if (sorted_) return attempts_[--few_];
    const std::uint32_t attempt = heap_.pop(position());
    sorted_ = heap_.empty();
    return attempt;
  }

  void erase(std::uint32_t attempt) {
    if (!sorted_) {
      heap_.erase(attempt, position());
      return;
    }
    const auto end = attempts_.begin() + few_;
    const auto found = std::find(attempts_.begin(), end, attempt);
    if (found == end) kernel::timer_misused("a completion was cancelled that is not due");
    const auto later = keys_.begin() + (found - attempts_.begin());
    std::copy(found + 1, end, found);
    std::copy(later + 1, keys_.begin() + few_, later);
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
    for (std::uint32_t i = 0; i < few_; ++i) visit(attempts_[i]);
    heap_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  static constexpr std::uint32_t kMaxSorted = 24;

  // A service may have more servers than it began with.
  [[gnu::noinline]] void insert_in_heap(std::uint32_t attempt, kernel::EventKey key) {
    for (std::uint32_t i = 0; i < few_; ++i) heap_.push(attempts_[i], keys_[i], position());
    few_ = 0;
    sorted_ = false;
    heap_.push(attempt, key, position());
  }

  bool sorted_;
  std::uint32_t few_ = 0;                          // in the arrays, earliest last
  std::array<kernel::EventKey, kMaxSorted> keys_;  // moved far more often than attempts are read
  std::array<std::uint32_t, kMaxSorted> attempts_{};
  kernel::IndexedHeap heap_;
  // By attempt; apart from the attempts, so that moving one in the heap touches four bytes of it.
  std::vector<std::uint32_t> positions_;
};

}  // namespace retrysim::model
