// The services in progress at one service, earliest completion first. A few are a small sorted
// array; many (or an unlimited number) an indexed heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"
#include "kernel/indexed_heap.hpp"

#include <algorithm>
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

  std::size_t size() const { return sorted_ ? array_.size() : heap_.size(); }
  kernel::EventKey head() const {
    if (!sorted_) return heap_.head();
    return array_.empty() ? kernel::EventKey::never() : array_.back().key;
  }

  /// The attempt that is done first; there must be one.
  std::uint32_t front() const { return sorted_ ? array_.back().attempt : heap_.front(); }

  void insert(std::uint32_t attempt, kernel::EventKey key) {
    if (!sorted_) {
      heap_.push(attempt, key, position());
      return;
    }
    std::size_t i = array_.size();
    array_.push_back({});
    for (; i > 0 && array_[i - 1].key < key; --i) array_[i] = array_[i - 1];
    array_[i] = {key, attempt};
  }

  std::uint32_t pop() {
    if (!sorted_) return heap_.pop(position());
    const std::uint32_t attempt = array_.back().attempt;
    array_.pop_back();
    return attempt;
  }

  void erase(std::uint32_t attempt) {
    if (!sorted_) {
      heap_.erase(attempt, position());
      return;
    }
    const auto entry = std::ranges::find(array_, attempt, &Entry::attempt);
    if (entry == array_.end()) kernel::timer_misused("a completion was cancelled that is not due");
    array_.erase(entry);
  }

  /// Takes out everything, in the order of completion.
  std::vector<std::uint32_t> take_all() {
    std::vector<std::uint32_t> attempts;
    while (size() > 0) attempts.push_back(pop());
    return attempts;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& e : array_) visit(e.attempt);
    heap_.for_each([&](std::uint32_t attempt, kernel::EventKey) { visit(attempt); });
  }

 private:
  static constexpr std::int64_t kMaxSorted = 24;
  struct Entry {
    kernel::EventKey key;
    std::uint32_t attempt = 0;
  };

  bool sorted_;
  std::vector<Entry> array_;  // earliest last
  kernel::IndexedHeap heap_;
  // By attempt; apart from the attempts, so that moving one in the heap touches four bytes of it.
  std::vector<std::uint32_t> positions_;
};

}  // namespace retrysim::model
