// Timers of varying delay that are never cancelled (backoffs, think times, messages with random
// latency), in the structure that suits their number: a few in a sorted array, many in a radix
// heap. Both keep the order of event_order.hpp, so which of them it is changes nothing but the time
// that it takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/claim.hpp"
#include "kernel/radix_heap.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace retrysim::kernel {

class TimerQueue {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return few_ + many_.size(); }
  std::uint64_t bytes() const { return (sorted_ ? sizeof(Sorted) : 0) + many_.bytes(); }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return are_many_ ? many_.head() : head_; }

  /// `entry.key.time` must not lie before the last entry popped, and its sequence number must be
  /// larger than that of every entry of the same time.
  void push(const TimerEntry& entry) {
    if (are_many_) return many_.push(entry);
    if (few_ == room_) [[unlikely]]
      return push_beyond_room(entry);
    insert(entry);
  }

  TimerEntry pop() {
    assert(!empty());
    if (are_many_) return pop_of_many();
    const TimerEntry entry = sorted_->entries[sorted_->slots[--few_]];
    head_ = few_ == 0 ? EventKey::never() : sorted_->entries[sorted_->slots[few_ - 1]].key;
    return entry;
  }

 private:
  // Where the array is full, its entries move to the heap; they come back when far fewer are left,
  // so that a number that goes up and down does not move them again and again.
  static constexpr std::size_t kMostFew = 128, kFewAgain = 48;

  // Entries stay where they are; what is sorted, and so moved about, is small.
  struct Sorted {
    std::array<Time, kMostFew> times;          // earliest last
    std::array<std::uint8_t, kMostFew> slots;  // of the entries of these times; then the free ones
    std::array<TimerEntry, kMostFew> entries;
  };

  void insert(const TimerEntry& entry) {
    Time* const times = sorted_->times.data();
    const Time* place = times;  // of the first entry that is not later
    for (std::size_t left = few_; left > 0;) {
      const std::size_t half = (left + 1) / 2;
      if (place[half - 1] > entry.key.time) place += half;
      left -= half;
    }
    const auto at = static_cast<std::size_t>(place - times);
    std::uint8_t* const slots = sorted_->slots.data();
    const std::uint8_t slot = slots[few_];
    std::copy_backward(times + at, times + few_, times + few_ + 1);
    std::copy_backward(slots + at, slots + few_, slots + few_ + 1);
    times[at] = entry.key.time;
    slots[at] = slot;
    sorted_->entries[slot] = entry;
    ++few_;
    if (entry.key < head_) head_ = entry.key;
  }

  [[gnu::noinline]] void push_beyond_room(const TimerEntry& entry) {
    if (!sorted_) {
      sorted_ = std::make_unique<Sorted>();
      for (std::size_t i = 0; i < kMostFew; ++i) sorted_->slots[i] = static_cast<std::uint8_t>(i);
      room_ = kMostFew;
      return insert(entry);
    }
    while (few_ > 0) many_.push(sorted_->entries[sorted_->slots[--few_]]);
    are_many_ = true;
    many_.push(entry);
  }

  [[gnu::noinline]] TimerEntry pop_of_many() {
    const TimerEntry entry = many_.pop();
    if (many_.size() == kFewAgain) [[unlikely]]
      take_back(entry.key.time);
    return entry;
  }

  // Back to the array. The heap has seen times to come then, and begins anew.
  [[gnu::noinline]] void take_back(Time now) {
    are_many_ = false;
    few_ = kFewAgain;
    head_ = many_.head();
    for (std::size_t i = few_; i > 0; --i) {
      const TimerEntry entry = many_.pop();
      sorted_->entries[sorted_->slots[i - 1]] = entry;
      sorted_->times[i - 1] = entry.key.time;
    }
    many_.restart(now);
  }

  std::unique_ptr<Sorted> sorted_;
  std::size_t few_ = 0, room_ = 0;  // entries that are sorted; for how many there is room
  EventKey head_;                   // of those
  bool are_many_ = false;           // all are in the heap
  RadixHeap many_;
};

}  // namespace retrysim::kernel
