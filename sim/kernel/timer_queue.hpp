// Timers that are never cancelled: backoffs, think times, messages. With varying delays, near ones
// are in a wheel while they are few, all others in buckets by time, of which the next few are
// sorted; with one constant delay they are in a lane. Timers come out in the order of `EventKey`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::kernel {

/// A timer that belongs to `entity`; only the owner interprets `kind`.
struct TimerEntry {
  EventKey key;
  std::uint32_t entity = 0;
  std::uint32_t kind = 0;
};

/// The next few hundred timers, in slots by time: setting one costs the same for any number of
/// them. Timers that are too far away, or too many at about the same time, are not taken in and go
/// to `RadixBuckets`.
///
/// Slots are as wide as a power of two, a quarter to a half of the time between two timers: then
/// most slots are empty, and a timer predictably has one to itself. They start at the last timer
/// taken and are used in turn. A slot holds a sorted list. The width follows recent timers and
/// affects only the speed.
class TimingWheel {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const { return slots_ ? sizeof(Slots) : 0; }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return head_; }
  /// The earliest entry; there must be one.
  const TimerEntry& front() const {
    return slots_->nodes[slots_->lists[slot_of(head_.time)].first].entry;
  }

  /// Takes an entry in, or returns false. Its time must not lie before the last entry taken from
  /// the queue, and its sequence number must be larger than that of every entry of the same time.
  [[gnu::always_inline]] bool push(const TimerEntry& entry) {
    const Time time = entry.key.time;
    if (tick_of(time) - tick_of(last_) >= kSlots) return false;
    if (free_ == kNone) [[unlikely]] {
      if (!find_room()) return false;
    }
    Slots& s = *slots_;
    const std::size_t slot = slot_of(time);
    List& list = s.lists[slot];
    const std::uint16_t id = free_;
    Node& node = s.nodes[id];
    if (list.first == kNone) {
      free_ = std::exchange(node.next, kNone);
      list = {id, id};
      s.occupied[slot / 64] |= std::uint64_t{1} << slot % 64;
    } else if (s.nodes[list.last].entry.key.time <= time) {
      free_ = std::exchange(node.next, kNone);
      s.nodes[list.last].next = id;
      list.last = id;
    } else {
      std::uint16_t* link = &list.first;
      for (int passed = 0; s.nodes[*link].entry.key.time <= time; ++passed) {
        if (passed == kMaxPassed) return false;
        link = &s.nodes[*link].next;
      }
      free_ = std::exchange(node.next, *link);
      *link = id;
    }
    node.entry = entry;
    ++size_;
    head_ = earlier(head_, entry.key);
    return true;
  }

  /// Takes the earliest entry, which remains valid until something is pushed.
  [[gnu::always_inline]] const TimerEntry& pop() {
    assert(!empty());
    Slots& s = *slots_;
    const std::size_t slot = slot_of(head_.time);
    const std::uint16_t id = s.lists[slot].first;
    Node& node = s.nodes[id];
    s.lists[slot].first = node.next;
    s.occupied[slot / 64] &= ~(std::uint64_t{node.next == kNone} << slot % 64);
    node.next = std::exchange(free_, id);
    head_ = --size_ == 0 ? EventKey::never() : s.nodes[s.lists[first_from(slot)].first].entry.key;
    return node.entry;
  }

  /// Tells that the last entry taken from the whole queue was due at `time`.
  void advance(Time time) { last_ = time; }
  /// Tells that `taken` entries have been taken from the queue since the last call.
  [[gnu::always_inline]] void count(std::uint32_t taken) {
    until_fit_ -= static_cast<std::int32_t>(taken);
    if (until_fit_ <= 0) [[unlikely]]
      fit();
  }

 private:
  static constexpr std::size_t kSlots = 2048, kNodes = 512;
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr int kMaxPassed = 8;  // entries of a slot that are passed to find a place
  static constexpr std::int32_t kShortestSample = 32, kLongestSample = 1024;

  struct Node {
    TimerEntry entry;
    std::uint16_t next;
  };
  struct List {
    std::uint16_t first = kNone;
    std::uint16_t last = kNone;  // valid if there is a first
  };
  struct Slots {
    Slots() {}  // leaves the nodes uninitialized

    std::array<std::uint64_t, kSlots / 64> occupied{};
    std::array<List, kSlots> lists;
    std::array<Node, kNodes> nodes;  // nodes, of which the first `used_` have been used
  };

  std::uint64_t tick_of(Time t) const { return static_cast<std::uint64_t>(t.count()) >> width_; }
  std::size_t slot_of(Time t) const { return tick_of(t) % kSlots; }
  // The first slot with entries from `slot` on, in turn; there must be one.
  std::size_t first_from(std::size_t slot) const {
    const auto& words = slots_->occupied;
    std::size_t word = slot / 64;
    std::uint64_t bits = words[word] & ~std::uint64_t{0} << slot % 64;
    while (bits == 0) {
      word = (word + 1) % words.size();
      bits = words[word];
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }

  // Adds some nodes to the free ones. False if all are in use.
  [[gnu::noinline]] bool find_room() {
    constexpr std::uint16_t kAtOnce = 16;
    if (!slots_) slots_ = std::unique_ptr<Slots>(new Slots);
    if (used_ == kNodes) return false;
    for (std::uint16_t i = 0; i < kAtOnce; ++i) {
      slots_->nodes[used_].next = free_;
      free_ = used_++;
    }
    return true;
  }

  // Fits the width of the slots to the mean time between two entries since the last call, unless it
  // is nearly that.
  [[gnu::noinline]] void fit() {
    const auto between =
        static_cast<std::uint64_t>((last_ - sample_began_).count() / (sample_ - until_fit_));
    sample_ = std::min(2 * sample_, kLongestSample);
    until_fit_ = sample_;
    sample_began_ = last_;
    const std::uint64_t width = std::uint64_t{1} << width_;
    if (width * 5 >= between && width * 8 <= between * 5) return;
    rearrange(std::max(0, static_cast<int>(std::bit_width(between)) - 2));
  }

  void rearrange(int width) {
    std::array<std::uint16_t, kNodes> ids;  // nodes in the order of their entries
    std::size_t count = 0;
    if (!empty()) {
      for (std::size_t slot = slot_of(head_.time); count < size_; slot = (slot + 1) % kSlots) {
        for (std::uint16_t id = slots_->lists[slot].first; id != kNone;) {
          ids[count++] = id;
          id = slots_->nodes[id].next;
        }
      }
    }
    const auto tick = [width](Time t) { return static_cast<std::uint64_t>(t.count()) >> width; };
    const auto time_of = [this](std::uint16_t id) { return slots_->nodes[id].entry.key.time; };
    // No entry is lost.
    if (count > 0 && tick(time_of(ids[count - 1])) - tick(last_) >= kSlots) return;
    width_ = width;
    if (count == 0) return;
    Slots& s = *slots_;
    s.lists.fill({});
    s.occupied.fill(0);
    while (count > 0) {  // each entry is put before those that follow it
      const std::uint16_t id = ids[--count];
      const std::size_t slot = slot_of(time_of(id));
      List& list = s.lists[slot];
      if (list.first == kNone) list.last = id;
      s.nodes[id].next = std::exchange(list.first, id);
      s.occupied[slot / 64] |= std::uint64_t{1} << slot % 64;
    }
  }

  std::unique_ptr<Slots> slots_;  // null as long as unused
  EventKey head_;
  Time last_;       // time at which the slots begin
  int width_ = 18;  // width of a slot: 2^width_ ns
  std::uint16_t free_ = kNone, used_ = 0;
  std::size_t size_ = 0;
  std::int32_t sample_ = kShortestSample, until_fit_ = kShortestSample;  // numbers of entries
  Time sample_began_;
};

/// A monotone radix store for many timers: hands the earliest of them, a few at a time, to
/// `TimerQueue`, which keeps the exact order.
///
/// Times are read as numbers to the base 2^kDigitBits. An entry lies in the bucket of the highest
/// digit in which its time differs from the base time, and of that digit's value. So every bucket
/// covers one span of time, spans do not overlap, and entries of equal time always share a bucket,
/// in scheduling order. A bucket with more entries than the queue wants is opened: they move, in
/// order, to buckets of lower digits. Every entry moves at most once per digit, ties are resolved
/// without comparing anything, and a million timers on one nanosecond cost no more than a million
/// apart. Buckets are chains of small blocks, so memory follows the number of entries, not the peak
/// of each bucket.
class RadixBuckets {
 public:
  static constexpr std::uint32_t kBlockSize = 31;  ///< 12 cache lines, with the header

  bool empty() const { return levels_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const {
    return buckets_.capacity() * sizeof(Bucket) + chunks_ * kChunk * sizeof(Block);
  }

  /// Adds an entry. `entry.key.time` must lie neither before an entry taken out nor before the last
  /// limit, and its sequence number must be larger than that of every entry of the same time.
  void push(const TimerEntry& entry) {
    if (buckets_.empty()) [[unlikely]]
      buckets_.resize(kLevels << kDigitBits);
    append(entry);
    ++size_;
  }

  /// Key of the earliest entry; there must be one.
  EventKey head() const { return buckets_[lowest()].least; }

  /// Takes out the earliest entries, in scheduling order, at most `kBlockSize`; returns the end of
  /// their span, before which no later entry lies. `use` is called with the entries as a span.
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
    // More entries of one nanosecond than a block has: the rest comes later, and further entries of
    // the same time go behind it.
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
    EventKey least;  // least key of its entries
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
    // The members are written one by one: the key has just been written in two halves, and would be
    // late as a whole.
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

  // Moves the entries of the lowest bucket to lower ones; `base_` becomes the time of the first of
  // them.
  void open(std::size_t index) {
    Block* block = buckets_[index].first;
    base_ = buckets_[index].least.time;
    vacate(index);
    StopCounter<1024> stop;
    while (block != nullptr) {
      stop.count();
      Block* const next = block->next;
      if (next != nullptr) prefetch(*next);
      for (std::uint32_t i = 0; i < block->count; ++i) append(block->entries[i]);
      release(block);
      block = next;
    }
  }

  // The end of the span of the bucket in which `base_` lies.
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

  std::vector<Bucket> buckets_;                    // buckets by level and digit; empty until used
  std::uint64_t levels_ = 0;                       // bit l: level l has entries
  std::array<std::uint64_t, kLevels> occupied_{};  // bit d: the bucket of digit d has entries
  Time base_;  // a time not later than any present or future entry
  std::size_t size_ = 0;
  Slabs slabs_;
  std::size_t chunks_ = 0;
  Block* free_ = nullptr;
};

/// All timers of one kind of event: the wheel, the buckets and the sorted next few.
class TimerQueue {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return wheel_.size() + few_ + later_.size(); }
  std::uint64_t bytes() const {
    return wheel_.bytes() + (sorted_ ? sizeof(Sorted) : 0) + later_.bytes();
  }

  /// Key of the earliest entry, or `EventKey::never()`.
  EventKey head() const { return head_; }

  /// Adds an entry. `entry.key.time` must not lie before the last entry popped, and its sequence
  /// number must be larger than that of every entry of the same time. True if it is the earliest
  /// entry now.
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
  // With more entries than this in buckets, the wheel could take in only a few.
  static constexpr std::size_t kFew = 512;

  // Beyond this many entries, moving them about costs more than keeping them in buckets.
  static constexpr std::size_t kMaxSorted = 192;
  static_assert(kMaxSorted > RadixBuckets::kBlockSize && kMaxSorted < 256);

  // The sorted entries. They stay where they are; only times and slots are sorted, and so moved
  // about.
  struct Sorted {
    std::array<Time, kMaxSorted> times;          // earliest last
    std::array<std::uint8_t, kMaxSorted> slots;  // slots of these entries; then the free ones
    std::array<TimerEntry, kMaxSorted> entries;
  };

  void push_far(const TimerEntry& entry) {
    if (entry.key < far_head_) far_head_ = entry.key;
    if (entry.key.time >= limit_) return later_.push(entry);
    if (few_ == kMaxSorted) [[unlikely]] {
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
    const Time* place = times;  // place of the first entry that is not later
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

  // Takes the next entries, which are not sorted, out of the buckets, and sorts them.
  template <class Soon>
  [[gnu::noinline]] void refill(Soon soon) {
    if (!sorted_) {
      sorted_ = std::make_unique<Sorted>();
      for (std::size_t i = 0; i < kMaxSorted; ++i) {
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
  // Members for the timers that are not in the wheel.
  std::unique_ptr<Sorted> sorted_;
  std::size_t few_ = 0;        // number of sorted entries
  Time limit_ = Time::zero();  // entries due before it are sorted
  RadixBuckets later_;
  EventKey far_head_;  // earliest key of the timers that are not in the wheel
  EventKey head_;
};

/// A lane of timers with one constant delay that are never cancelled (messages on the wire, think
/// times). They expire in the order in which they were set: a ring buffer is all the order they
/// need, however many are pending.
class MessageLane {
 public:
  bool empty() const { return begin_ == end_; }
  EventKey head() const { return empty() ? EventKey::never() : ring_[begin_ & mask_].entry.key; }
  std::uint64_t bytes() const {
    // A larger ring is allocated while the present one exists.
    const bool may_grow = 2 * (end_ - begin_) > capacity_;
    return (may_grow ? 2 : 1) * capacity_ * sizeof(TimerEntry);
  }

  /// Adds an entry. False, without any effect, if it would not be the last: the delay has become
  /// shorter.
  bool push_back(const TimerEntry& entry) {
    if (!empty() && entry.key < ring_[(end_ - 1) & mask_].entry.key) return false;
    if (end_ - begin_ == capacity_) grow();
    ring_[end_++ & mask_].entry = entry;
    return true;
  }
  TimerEntry pop_front() {
    assert(!empty());
    return ring_[begin_++ & mask_].entry;
  }

 private:
  void grow() {
    const std::uint64_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    auto larger = std::make_unique_for_overwrite<Place[]>(capacity);
    for (std::uint64_t i = begin_; i != end_; ++i) larger[i & (capacity - 1)] = ring_[i & mask_];
    ring_ = std::move(larger);
    capacity_ = capacity;
    mask_ = capacity - 1;
  }

  union Place {
    Place() {}
    TimerEntry entry;
  };
  std::unique_ptr<Place[]> ring_;  // unused places cost only addresses
  std::uint64_t capacity_ = 0;
  std::uint64_t begin_ = 0, end_ = 0, mask_ = 0;
};

}  // namespace retrysim::kernel
