// Timers of varying delay that are never cancelled (backoffs, think times, messages with random
// latency): in a wheel as long as they are few and near, the others in buckets by time, of which
// the next few are sorted. All keep the order of event_order.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"
#include "kernel/radix_buckets.hpp"
#include "kernel/timer_entry.hpp"
#include "kernel/timing_wheel.hpp"

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
  std::size_t size() const { return wheel_.size() + few_ + later_.size(); }
  std::uint64_t bytes() const {
    return wheel_.bytes() + (sorted_ ? sizeof(Sorted) : 0) + later_.bytes();
  }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return head_; }

  /// `entry.key.time` must not lie before the last entry popped, and its sequence number must be
  /// larger than that of every entry of the same time. True if it is the earliest entry now.
  [[gnu::always_inline]] bool push(TimerEntry entry) {
    const bool is_head = entry.key < head_;
    if (is_head) head_ = entry.key;
    if (later_.size() > kFew || !wheel_.push(entry)) push_far(entry);
    return is_head;
  }

  /// Takes the earliest entry. `soon` is called for entries that will be among the next, so that
  /// the caller can fetch what they need from memory.
  template <class Soon>
  [[gnu::always_inline]] TimerEntry pop(Soon soon) {
    assert(!empty());
    return !wheel_.empty() && wheel_.head() < far_head_ ? pop_near(soon) : pop_far(soon);
  }
  TimerEntry pop() {
    return pop([](const TimerEntry&) {});
  }

 private:
  // With so many in buckets, those that the wheel could take in would be few.
  static constexpr std::size_t kFew = 512;

  // Beyond so many, moving them about costs more than keeping them in buckets.
  static constexpr std::size_t kMostSorted = 192;
  static_assert(kMostSorted > RadixBuckets::kBlockSize && kMostSorted < 256);

  // Entries stay where they are; what is sorted, and so moved about, is small.
  struct Sorted {
    std::array<Time, kMostSorted> times;          // earliest last
    std::array<std::uint8_t, kMostSorted> slots;  // of these entries; then the free ones
    std::array<TimerEntry, kMostSorted> entries;
  };

  void push_far(const TimerEntry& entry) {
    if (entry.key < far_head_) far_head_ = entry.key;
    if (entry.key.time >= limit_) return later_.push(entry);
    if (few_ == kMostSorted) [[unlikely]] {
      limit_ = Time::zero();
      while (few_ > 0) later_.push(sorted_->entries[sorted_->slots[--few_]]);
      return later_.push(entry);
    }
    insert(entry);
  }

  template <class Soon>
  [[gnu::always_inline]] TimerEntry pop_near(Soon soon) {
    const TimerEntry entry = wheel_.pop();
    wheel_.advance(entry.key.time);
    wheel_.count(1);
    if (!wheel_.empty()) soon(wheel_.front());
    head_ = earlier(wheel_.head(), far_head_);
    return entry;
  }

  template <class Soon>
  [[gnu::always_inline]] TimerEntry pop_far(Soon soon) {
    if (few_ == 0) refill(soon);
    const TimerEntry entry = sorted_->entries[sorted_->slots[--few_]];
    if (few_ > 0) {
      far_head_ = sorted_->entries[sorted_->slots[few_ - 1]].key;
    } else {
      far_head_ = later_.empty() ? EventKey::never() : later_.head();
    }
    wheel_.advance(entry.key.time);
    head_ = wheel_.empty() ? far_head_ : std::min(wheel_.head(), far_head_);
    return entry;
  }

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

  // Nothing is sorted.
  template <class Soon>
  [[gnu::noinline]] void refill(Soon soon) {
    if (!sorted_) {
      sorted_ = std::make_unique<Sorted>();
      for (std::size_t i = 0; i < kMostSorted; ++i) {
        sorted_->slots[i] = static_cast<std::uint8_t>(i);
      }
    }
    limit_ = later_.take([&](std::span<const TimerEntry> next) {
      for (const TimerEntry& entry : next) soon(entry);
      sort(next);
      wheel_.count(static_cast<std::uint32_t>(next.size()));
    });
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

  TimingWheel wheel_;
  // Those that are not in the wheel.
  std::unique_ptr<Sorted> sorted_;
  std::size_t few_ = 0;        // entries that are sorted
  Time limit_ = Time::zero();  // what is due before is sorted
  RadixBuckets later_;
  EventKey far_head_;  // the earliest of those
  EventKey head_;
};

}  // namespace retrysim::kernel
