// The next few hundred timers of a queue, in slots by time: setting one costs the same however many
// there are. What is too far away, or where there are many at about one time, is not taken in and
// goes elsewhere (timer_queue.hpp).
//
// Slots are as wide as a power of two, a quarter to a half of the time that passes between two
// timers: then most are empty, and that a timer has one for itself can be predicted. They cover the
// time from the last timer taken on, and are used in turn. A slot holds a sorted list. The width
// follows what has been seen of late; it decides nothing but the speed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include "kernel/event_order.hpp"
#include "kernel/timer_entry.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace retrysim::kernel {

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
        if (passed == kMostPassed) return false;
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

  /// The entry taken last from the whole queue was due at `time`.
  void advance(Time time) { last_ = time; }
  /// So many entries have been taken from the queue since the last call.
  [[gnu::always_inline]] void count(std::uint32_t taken) {
    until_fit_ -= static_cast<std::int32_t>(taken);
    if (until_fit_ <= 0) [[unlikely]]
      fit();
  }

 private:
  static constexpr std::size_t kSlots = 2048, kNodes = 512;
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr int kMostPassed = 8;  // of a slot's entries to find the place of another one
  static constexpr std::int32_t kShortestSample = 32, kLongestSample = 1024;

  struct Node {
    TimerEntry entry;
    std::uint16_t next;
  };
  struct List {
    std::uint16_t first = kNone;
    std::uint16_t last = kNone;  // if there is a first
  };
  struct Slots {
    Slots() {}  // leaves the nodes alone

    std::array<std::uint64_t, kSlots / 64> occupied{};
    std::array<List, kSlots> lists;
    std::array<Node, kNodes> nodes;  // the first `used_` of them
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

  // Puts some more nodes among the free ones. False if all are in use.
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

  // The entry taken last was due at `now`: makes the slots as wide as it has been between two
  // entries since the last time, unless they are nearly so.
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
    std::array<std::uint16_t, kNodes> ids;  // in the order of the entries
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
    if (count > 0 && tick(time_of(ids[count - 1])) - tick(last_) >= kSlots) return;  // none is lost
    width_ = width;
    if (count == 0) return;
    Slots& s = *slots_;
    s.lists.fill({});
    s.occupied.fill(0);
    while (count > 0) {  // each before those that follow it
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
  Time last_;       // the slots begin there
  int width_ = 18;  // of a slot: 2^width_ ns
  std::uint16_t free_ = kNone, used_ = 0;
  std::size_t size_ = 0;
  std::int32_t sample_ = kShortestSample, until_fit_ = kShortestSample;  // entries
  Time sample_began_;
};

}  // namespace retrysim::kernel
