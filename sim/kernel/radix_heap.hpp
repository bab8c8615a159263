// Monotone radix heap: the store for many timers of varying delay that are never cancelled. (A few
// are cheaper in a sorted array: timer_queue.hpp chooses.)
//
// An entry lies in the bucket of the highest bit in which its time differs from the time of the
// last entry taken out. Opening a bucket moves its entries, in order, to lower ones, so every entry
// moves at most once a bit, and entries of equal time always share a bucket in scheduling order:
// ties are resolved without comparing anything. A million timers on one nanosecond cost no more
// than a million apart. A bucket of only a few entries is not opened: finding the least of them is
// cheaper than moving them all. Buckets are chains of small blocks from one pool, so memory follows
// the number of entries, not the peak of each bucket.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/claim.hpp"
#include "kernel/event_order.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace retrysim::kernel {

/// A timer that belongs to `entity`; `kind` is the owner's business.
struct TimerEntry {
  EventKey key;
  std::uint32_t entity = 0;
  std::uint32_t kind = 0;
};

class RadixHeap {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_of(blocks_); }

  /// `entry.key.time` must not lie before the last entry popped, and its sequence number must be
  /// larger than that of every entry of the same time.
  void push(const TimerEntry& entry) {
    assert(entry.key.time >= last_);
    append(bucket_of(entry.key.time), entry);
    ++size_;
    if (entry.key < head_) head_ = entry.key;
  }

  /// Key of the earliest entry, or `EventKey::never()`. Does not reorder anything: entries earlier
  /// than the head may still be pushed.
  EventKey head() const { return head_; }

  /// Empty as it is, it takes entries from `time` on, which may lie before what has been popped.
  void restart(Time time) {
    assert(empty());
    last_ = time;
  }

  TimerEntry pop() {
    assert(size_ > 0);
    const int index = std::countr_zero(occupied_);
    if (index > 0) {
      Bucket& bucket = buckets_[static_cast<std::size_t>(index)];
      if (bucket.first == bucket.last && bucket.end <= kFew) [[likely]]
        return take_least(index, bucket);
      open(index);
    }
    const TimerEntry entry = take_front(buckets_[0]);
    --size_;
    head_ = find_head();
    return entry;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kBlockSize = 32;
  static constexpr std::uint32_t kFew = 8;  // at most a block
  struct Block {
    std::array<TimerEntry, kBlockSize> entries;
    std::uint32_t next = kNone;
  };
  struct Bucket {
    EventKey least;                             // of its entries; bucket 0 is in order instead
    std::uint32_t first = kNone, last = kNone;  // blocks
    std::uint32_t begin = 0, end = 0;  // first entry in `first`, one past the last in `last`
    std::uint32_t least_at = 0;        // where in its block the entry with the key `least` is
  };

  // Bucket 0 holds the entries at `last_`, bucket b those that differ first in bit b - 1. `last_`
  // is the time at which a bucket was last opened; what has been taken out since was not before it.
  int bucket_of(Time t) const {
    const auto difference =
        static_cast<std::uint64_t>(t.count()) ^ static_cast<std::uint64_t>(last_.count());
    return 64 - std::countl_zero(difference);
  }

  void append(int index, const TimerEntry& entry) {
    Bucket& b = buckets_[static_cast<std::size_t>(index)];
    if (b.first == kNone) {
      b.first = b.last = allocate();
      b.begin = b.end = 0;
      b.least = EventKey::never();
      occupied_ |= std::uint64_t{1} << index;
    } else if (b.end == kBlockSize) {
      const std::uint32_t block = allocate();
      blocks_[b.last].next = block;
      b.last = block;
      b.end = 0;
    }
    if (entry.key < b.least) {
      b.least = entry.key;
      b.least_at = b.end;
    }
    blocks_[b.last].entries[b.end++] = entry;
  }

  // Takes the least entry out of a bucket that is a single block; the others keep their order.
  TimerEntry take_least(int index, Bucket& b) {
    TimerEntry* const entries = blocks_[b.first].entries.data();
    const TimerEntry entry = entries[b.least_at];
    --size_;
    if (--b.end == 0) {
      release(b.first);
      b.first = kNone;
      occupied_ &= ~(std::uint64_t{1} << index);
      head_ = find_head();
      return entry;
    }
    for (std::uint32_t i = b.least_at; i < b.end; ++i) entries[i] = entries[i + 1];
    b.least = entries[0].key;
    b.least_at = 0;
    for (std::uint32_t i = 1; i < b.end; ++i) {
      if (entries[i].key < b.least) {
        b.least = entries[i].key;
        b.least_at = i;
      }
    }
    head_ = b.least;
    return entry;
  }

  TimerEntry take_front(Bucket& b) {
    const TimerEntry entry = blocks_[b.first].entries[b.begin++];
    if (b.first == b.last ? b.begin == b.end : b.begin == kBlockSize) {
      const std::uint32_t block = b.first;
      b.first = b.first == b.last ? kNone : blocks_[block].next;
      b.begin = 0;
      release(block);
      if (b.first == kNone) occupied_ &= ~std::uint64_t{1};
    }
    return entry;
  }

  // Looking at a bucket's entries for the least would be slow where a few short timers alternate
  // with many long ones.
  EventKey find_head() const {
    if (size_ == 0) return EventKey::never();
    const Bucket& b = buckets_[static_cast<std::size_t>(std::countr_zero(occupied_))];
    return &b == &buckets_[0] ? blocks_[b.first].entries[b.begin].key : b.least;
  }

  // The head is in bucket `index`: its time becomes `last_`, its bucket is spread over lower ones.
  void open(int index) {
    Bucket bucket = buckets_[static_cast<std::size_t>(index)];
    buckets_[static_cast<std::size_t>(index)] = Bucket{};
    occupied_ &= ~(std::uint64_t{1} << index);
    last_ = head_.time;
    while (bucket.first != kNone) {
      const std::uint32_t block = bucket.first;
      const std::uint32_t end = block == bucket.last ? bucket.end : kBlockSize;
      for (std::uint32_t i = bucket.begin; i < end; ++i) {
        const TimerEntry entry = blocks_[block].entries[i];  // by value: append may move the pool
        append(bucket_of(entry.key.time), entry);
      }
      bucket.first = block == bucket.last ? kNone : blocks_[block].next;
      bucket.begin = 0;
      release(block);
    }
  }

  std::uint32_t allocate() {
    if (free_ == kNone) {
      blocks_.emplace_back();
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t block = free_;
    free_ = blocks_[block].next;
    blocks_[block].next = kNone;
    return block;
  }
  void release(std::uint32_t block) {
    blocks_[block].next = free_;
    free_ = block;
  }

  std::array<Bucket, 64> buckets_;  // times are below 2^63
  std::uint64_t occupied_ = 0;      // bit b: bucket b is not empty
  std::vector<Block> blocks_;
  std::uint32_t free_ = kNone;
  std::size_t size_ = 0;
  Time last_;
  EventKey head_;
};

}  // namespace retrysim::kernel
