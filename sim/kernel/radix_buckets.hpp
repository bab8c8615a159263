// A monotone radix store for many timers: hands the earliest of them, a few at a time, to a sorted
// queue (timer_queue.hpp), which keeps the exact order.
//
// Times are read as numbers to the base 2^kDigitBits. An entry lies in the bucket of the highest
// digit in which its time differs from the base time, and of that digit's value. So every bucket
// covers one span of time, spans do not overlap, and entries of equal time always share a bucket,
// in scheduling order. A bucket of more entries than the queue wants is opened: they move, in
// order, to buckets of lower digits. Every entry moves at most once a digit, ties are resolved
// without comparing anything, and a million timers on one nanosecond cost no more than a million
// apart. Buckets are chains of small blocks, so memory follows the number of entries, not the peak
// of each bucket.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"
#include "kernel/prefetch.hpp"
#include "kernel/slabs.hpp"
#include "kernel/timer_entry.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::kernel {

class RadixBuckets {
 public:
  static constexpr std::uint32_t kBlockSize = 31;  ///< with its header, 12 cache lines

  bool empty() const { return levels_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const {
    return buckets_.capacity() * sizeof(Bucket) + chunks_ * kChunk * sizeof(Block);
  }

  /// `entry.key.time` must lie neither before an entry taken out nor before the last limit, and its
  /// sequence number must be larger than that of every entry of the same time.
  void push(const TimerEntry& entry) {
    if (buckets_.empty()) [[unlikely]]
      buckets_.resize(kLevels << kDigitBits);
    append(entry);
    ++size_;
  }

  /// Key of the earliest entry; there must be one.
  EventKey head() const { return buckets_[lowest()].least; }

  /// Takes out the earliest entries, in scheduling order, at most `kBlockSize`; returns where their
  /// span ends: what remains does not lie before. `use` is called with them as a span.
  template <class Use>
  Time take(Use use) {
    assert(!empty());
    std::size_t index = lowest();
    base_ = buckets_[index].least.time;
    while (buckets_[index].first->next != nullptr && index >= kDigits) {
      open(index);
      index = lowest();
    }
    Bucket& bucket = buckets_[index];
    Block* const block = bucket.first;
    use(std::span<const TimerEntry>(block->entries.data(), block->count));
    size_ -= block->count;
    bucket.first = block->next;
    release(block);
    if (bucket.first == nullptr) {
      vacate(index);
      return end_of(index);
    }
    // Entries of one nanosecond, more than a block of them: the rest comes later, and others of the
    // same time go behind it.
    bucket.least = bucket.first->entries[0].key;
    return base_;
  }

 private:
  static constexpr int kDigitBits = 6;
  static constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  static constexpr std::size_t kLevels = (63 + kDigitBits - 1) / kDigitBits;
  static constexpr std::size_t kChunk = 16;  // blocks allocated at once

  struct Block {
    Block* next = nullptr;
    std::uint32_t count = 0;
    std::array<TimerEntry, kBlockSize> entries;
  };
  struct Bucket {
    EventKey least;  // of its entries
    Block* first = nullptr;
    Block* last = nullptr;
  };

  static std::uint64_t bits(Time t) { return static_cast<std::uint64_t>(t.count()); }
  static std::size_t digit_of(Time t, std::size_t level) {
    return (bits(t) >> (level * kDigitBits)) & (kDigits - 1);
  }

  void append(const TimerEntry& entry) {
    const Time time = entry.key.time;
    assert(time >= base_);
    const std::uint64_t difference = (bits(time) ^ bits(base_)) | 1;
    const auto level =
        static_cast<std::size_t>(63 - std::countl_zero(difference)) / std::size_t{kDigitBits};
    const std::size_t digit = digit_of(time, level);
    Bucket& bucket = buckets_[level * kDigits + digit];
    Block* block = bucket.last;
    if (bucket.first == nullptr) {
      block = bucket.first = bucket.last = allocate();
      bucket.least = entry.key;
      levels_ |= std::uint64_t{1} << level;
      occupied_[level] |= std::uint64_t{1} << digit;
    } else {
      if (time < bucket.least.time) bucket.least = entry.key;
      if (block->count == kBlockSize) [[unlikely]]
        block = bucket.last = block->next = allocate();
    }
    // One by one: the key has just been written in two halves, and would be late as a whole.
    TimerEntry& place = block->entries[block->count++];
    place.key.time = time;
    place.key.sequence = entry.key.sequence;
    place.entity = entry.entity;
    place.kind = entry.kind;
  }

  std::size_t lowest() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(levels_));
    return level * kDigits + static_cast<std::size_t>(std::countr_zero(occupied_[level]));
  }

  void vacate(std::size_t index) {
    const std::size_t level = index / kDigits;
    buckets_[index].first = nullptr;
    occupied_[level] &= ~(std::uint64_t{1} << index % kDigits);
    if (occupied_[level] == 0) levels_ &= ~(std::uint64_t{1} << level);
  }

  // The entries of the lowest bucket move to lower ones; `base_` is the time of the first of them.
  void open(std::size_t index) {
    Block* block = buckets_[index].first;
    base_ = buckets_[index].least.time;
    vacate(index);
    while (block != nullptr) {
      Block* const next = block->next;
      if (next != nullptr) prefetch(*next);
      for (std::uint32_t i = 0; i < block->count; ++i) append(block->entries[i]);
      release(block);
      block = next;
    }
  }

  // Where the span of the bucket ends that `base_` lies in.
  Time end_of(std::size_t index) const {
    const std::size_t width = index / kDigits * kDigitBits;
    const std::uint64_t end = ((bits(base_) >> width) + 1) << width;
    return end < bits(Time::max()) ? Time::from_nanoseconds(static_cast<std::int64_t>(end))
                                   : Time::max();
  }

  Block* allocate() {
    if (free_ == nullptr) [[unlikely]]
      add_chunk();
    Block* const block = free_;
    free_ = block->next;
    block->next = nullptr;
    block->count = 0;
    return block;
  }
  void release(Block* block) {
    block->next = free_;
    free_ = block;
  }
  [[gnu::noinline]] void add_chunk() {
    Block* const blocks = slabs_.take<Block>(kChunk);
    ++chunks_;
    for (std::size_t i = kChunk; i > 0; --i) release(blocks + i - 1);
  }

  std::vector<Bucket> buckets_;                    // by level and digit; empty as long as unused
  std::uint64_t levels_ = 0;                       // bit l: level l has entries
  std::array<std::uint64_t, kLevels> occupied_{};  // bit d: the bucket of digit d has entries
  Time base_;                                      // not later than any entry here or to come
  std::size_t size_ = 0;
  Slabs slabs_;
  std::size_t chunks_ = 0;
  Block* free_ = nullptr;
};

}  // namespace retrysim::kernel
