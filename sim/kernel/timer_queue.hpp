// Timers of varying delay that are never cancelled (backoffs, think times, messages with random
// latency): the next few in a sorted array, all later ones in buckets by time. A queue of few
// timers is the array alone. Both keep the order of event_order.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/radix_buckets.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace retrysim::kernel {

class TimerQueue {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return few_ + later_.size(); }
  std::uint64_t bytes() const { return (sorted_ ? sizeof(Sorted) : 0) + later_.bytes(); }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return head_; }

  /// `entry.key.time` must not lie before the last entry popped, and its sequence number must be
  /// larger than that of every entry of the same time.
  [[gnu::always_inline]] void push(TimerEntry entry) {
    if (entry.key < head_) head_ = entry.key;
    if (entry.key.time >= limit_) return later_.push(entry);
    if (few_ == room_) [[unlikely]]
      return push_beyond_room(entry);
    insert(entry);
  }

  /// Takes the earliest entry. `soon` is called for entries that will be among the next, so that
  /// the caller can fetch what they need from memory.
  template <class Soon>
  TimerEntry pop(Soon soon) {
    assert(!empty());
    if (few_ == 0) refill(soon);
    const TimerEntry entry = sorted_->entries[sorted_->slots[--few_]];
    head_ = few_ == 0 ? head_of_later() : sorted_->entries[sorted_->slots[few_ - 1]].key;
    return entry;
  }
  TimerEntry pop() {
    return pop([](const TimerEntry&) {});
  }

 private:
  // Beyond so many, moving them about costs more than keeping them in buckets.
  static constexpr std::size_t kMostFew = 192;
  static_assert(kMostFew > RadixBuckets::kBlockSize);

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
  }

  [[gnu::noinline]] void push_beyond_room(TimerEntry entry) {
    if (!sorted_) {
      sorted_ = std::make_unique<Sorted>();
      for (std::size_t i = 0; i < kMostFew; ++i) sorted_->slots[i] = static_cast<std::uint8_t>(i);
      room_ = kMostFew;
      return insert(entry);
    }
    limit_ = Time::zero();
    while (few_ > 0) later_.push(sorted_->entries[sorted_->slots[--few_]]);
    later_.push(entry);
  }

  EventKey head_of_later() const { return later_.empty() ? EventKey::never() : later_.head(); }

  // The array is empty.
  template <class Soon>
  [[gnu::noinline]] void refill(Soon soon) {
    limit_ = later_.take([&](std::span<const TimerEntry> next) {
      for (const TimerEntry& entry : next) soon(entry);
      sort(next);
    });
    if (later_.empty()) limit_ = Time::max();
  }

  void sort(std::span<const TimerEntry> next) {
    Time* const times = sorted_->times.data();
    std::uint8_t* const slots = sorted_->slots.data();
    for (const TimerEntry& entry : next) {
      const std::uint8_t slot = slots[few_];
      std::size_t at = few_;
      for (; at > 0 && times[at - 1] <= entry.key.time; --at) {
        times[at] = times[at - 1];
        slots[at] = slots[at - 1];
      }
      times[at] = entry.key.time;
      slots[at] = slot;
      sorted_->entries[slot] = entry;
      ++few_;
    }
  }

  std::unique_ptr<Sorted> sorted_;
  std::size_t few_ = 0, room_ = 0;  // entries that are sorted; for how many there is room
  EventKey head_;
  Time limit_ = Time::max();  // what is due before is sorted
  RadixBuckets later_;
};

}  // namespace retrysim::kernel
