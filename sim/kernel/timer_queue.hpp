// Timers of varying delay that are never cancelled (backoffs, think times, messages with random
// latency): the next few in a sorted array, all later ones in buckets by time. A queue of few
// timers is the array alone. Both keep the order of event_order.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/radix_buckets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace retrysim::kernel {

class TimerQueue {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return few() + later_.size(); }
  std::uint64_t bytes() const { return (sorted_ ? sizeof(Sorted) : 0) + later_.bytes(); }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return head_; }

  /// `entry.key.time` must not lie before the last entry popped, and its sequence number must be
  /// larger than that of every entry of the same time. True if it is the earliest entry now.
  [[gnu::always_inline]] bool push(TimerEntry entry) {
    const bool is_head = entry.key < head_;
    if (is_head) head_ = {entry.key.time, entry.key.sequence};
    if (entry.key.time >= limit_) {
      later_.push(entry);
    } else if (few() == room_) [[unlikely]] {
      push_beyond_room(entry.key.time, entry.key.sequence, entry.entity, entry.kind);
    } else {
      insert(entry);
    }
    return is_head;
  }

  /// Takes the earliest entry. `soon` is called for entries that will be among the next, so that
  /// the caller can fetch what they need from memory.
  template <class Soon>
  [[gnu::always_inline]] TimerEntry pop(Soon soon) {
    assert(!empty());
    if (few() == 0) refill(soon);
    const TimerEntry& entry = take_last();
    head_ = few() == 0 ? head_of_later() : sorted_->entries[slot_of(sorted_->order[end_ - 1])].key;
    return entry;
  }
  TimerEntry pop() {
    return pop([](const TimerEntry&) {});
  }

 private:
  // Beyond so many, moving them about costs more than keeping them in buckets.
  static constexpr std::size_t kMostFew = 192;
  static_assert(kMostFew > RadixBuckets::kBlockSize && kMostFew < 256);

  // Entries stay where they are. What is sorted, and so moved about, is a number for each of them:
  // its time, from `base_` on, and in the lowest bits its slot.
  static constexpr int kSlotBits = 8;
  static constexpr std::uint64_t kSlots = (1u << kSlotBits) - 1;
  static constexpr std::int64_t kMostNs = std::int64_t{1} << 55;  // 417 days: they fit
  static constexpr std::size_t kRoom = 2 * kMostFew;
  struct Sorted {
    // Those of [begin_, end_) are in use, the latest first. Those from `end_` on are zero, as the
    // search expects, which may look at 255 numbers from `begin_` on.
    std::array<std::uint64_t, kRoom + 256> order{};
    std::array<std::uint8_t, kMostFew> free;  // slots: all from place `few()` on
    std::array<TimerEntry, kMostFew> entries;
  };

  static std::size_t slot_of(std::uint64_t number) {
    return static_cast<std::size_t>(number & kSlots);
  }
  std::size_t few() const { return end_ - begin_; }
  std::uint64_t time_of(const TimerEntry& entry) const {
    return static_cast<std::uint64_t>((entry.key.time - base_).count()) << kSlotBits;
  }

  /// How many of `count` descending numbers, followed by zeros, are larger than `bound`. Which way
  /// a binary search turns cannot be predicted, so that must not be a branch.
  [[gnu::always_inline]] static std::size_t count_larger(const std::uint64_t* numbers,
                                                         std::size_t count, std::uint64_t bound) {
    const std::uint64_t* place = numbers;
    const auto pass = [&](std::size_t step) {
      place += step & (0 - static_cast<std::size_t>(place[step - 1] > bound));
    };
    switch (std::bit_width(count)) {
      case 8:
        pass(128);
        [[fallthrough]];
      case 7:
        pass(64);
        [[fallthrough]];
      case 6:
        pass(32);
        [[fallthrough]];
      case 5:
        pass(16);
        [[fallthrough]];
      case 4:
        pass(8);
        [[fallthrough]];
      case 3:
        pass(4);
        [[fallthrough]];
      case 2:
        pass(2);
        [[fallthrough]];
      case 1:
        pass(1);
        [[fallthrough]];
      default:
        return static_cast<std::size_t>(place - numbers);
    }
  }

  [[gnu::always_inline]] void insert(const TimerEntry& entry) {
    if (begin_ == 0) [[unlikely]]
      move_back();
    Sorted& s = *sorted_;
    std::uint64_t* const numbers = s.order.data() + begin_;
    const std::size_t count = few();
    const std::uint64_t number = time_of(entry);
    const std::size_t later = count_larger(numbers, count, number | kSlots);
    const std::uint8_t slot = s.free[count];
    s.entries[slot] = entry;
    std::copy(numbers, numbers + later, numbers - 1);
    *(numbers + later - 1) = number | slot;
    --begin_;
  }

  // All that is pushed or popped moves the numbers towards the front of their array.
  [[gnu::noinline]] void move_back() {
    std::uint64_t* const order = sorted_->order.data();
    const std::size_t moved = kRoom - end_;
    std::copy_backward(order + begin_, order + end_, order + kRoom);
    begin_ += moved;
    end_ = kRoom;
  }

  void make_room() {
    sorted_ = std::make_unique<Sorted>();
    for (std::size_t i = 0; i < kMostFew; ++i) sorted_->free[i] = static_cast<std::uint8_t>(i);
    room_ = kMostFew;
    begin_ = end_ = kRoom;
  }

  [[gnu::noinline]] void push_beyond_room(Time time, std::uint64_t sequence, std::uint32_t entity,
                                          std::uint32_t kind) {
    const TimerEntry entry{{time, sequence}, entity, kind};
    if (!sorted_) {
      make_room();
      return insert(entry);
    }
    limit_ = Time::zero();
    while (few() > 0) later_.push(take_last());
    later_.push(entry);
  }

  // Valid until something is inserted.
  [[gnu::always_inline]] const TimerEntry& take_last() {
    Sorted& s = *sorted_;
    const std::size_t slot = slot_of(s.order[--end_]);
    s.order[end_] = 0;
    s.free[few()] = static_cast<std::uint8_t>(slot);
    return s.entries[slot];
  }

  EventKey head_of_later() const { return later_.empty() ? EventKey::never() : later_.head(); }

  // The same for one of a few that come in scheduling order, when nothing else was sorted.
  void add(const TimerEntry& entry) {
    Sorted& s = *sorted_;
    const std::uint8_t slot = s.free[few()];
    s.entries[slot] = entry;
    const std::uint64_t number = time_of(entry);
    std::uint64_t* place = s.order.data() + --begin_;
    for (; place[1] > (number | kSlots); ++place) *place = place[1];  // at the end is a zero
    *place = number | slot;
  }

  // Nothing is sorted.
  template <class Soon>
  [[gnu::noinline]] void refill(Soon soon) {
    if (!sorted_) make_room();
    begin_ = end_ = kRoom;
    base_ = head_.time;
    std::vector<TimerEntry> too_late;  // the numbers of these would be too large
    limit_ = later_.take([&](std::span<const TimerEntry> next) {
      for (const TimerEntry& entry : next) {
        soon(entry);
        if ((entry.key.time - base_).count() >= kMostNs) [[unlikely]] {
          too_late.push_back(entry);
        } else {
          add(entry);
        }
      }
    });
    for (const TimerEntry& entry : too_late) later_.push(entry);
    if (later_.empty()) limit_ = Time::max();
    limit_ = std::min(limit_, base_ + Duration::nanoseconds(kMostNs));
  }

  std::unique_ptr<Sorted> sorted_;
  std::size_t begin_ = 0, end_ = 0;  // in Sorted::order
  std::size_t room_ = 0;             // for so many entries
  EventKey head_;
  Time base_;                                                   // not later than any that is sorted
  Time limit_ = Time::zero() + Duration::nanoseconds(kMostNs);  // what is due before is sorted
  RadixBuckets later_;
};

}  // namespace retrysim::kernel
