// FIFO lanes: timers with one constant delay expire in the order in which they were set, so a
// queue is all the order they need, however many are pending.
//
//   TimerLane    intrusive doubly linked list: a timer can be cancelled at once
//                (timeouts, deadlines)
//   MessageLane  ring buffer for timers that are never cancelled
//                (messages on the wire, think times)
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "kernel/timer_queue.hpp"

#include <cassert>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace retrysim::kernel {

/// A timer's place in a lane, kept with the object it belongs to. `Owner` is how the lane knows
/// that object: a pointer, or a number.
template <class Owner>
class LaneLink {
 public:
  /// When the timer expires; empty if it is not armed.
  std::optional<EventKey> key() const {
    return armed() ? std::optional<EventKey>(key_) : std::nullopt;
  }

  /// Whose timer in the lane is the next after this one; `none()`: this is the last.
  Owner next() const { return next_; }
  static constexpr Owner none() {
    if constexpr (std::is_integral_v<Owner>) {
      return std::numeric_limits<Owner>::max();
    } else {
      return Owner();
    }
  }

 private:
  template <class>
  friend class TimerLane;

  bool armed() const { return key_ != EventKey::never(); }

  EventKey key_ = EventKey::never();  // never(): not armed
  Owner previous_ = none(), next_ = none();
};

/// `link(owner)` gives the LaneLink of that owner; passed to each call, so the lane stores nothing
/// but its ends.
template <class Owner>
class TimerLane {
  using Link = LaneLink<Owner>;
  static constexpr Owner none() { return Link::none(); }

 public:
  bool empty() const { return first_ == none(); }
  Owner front() const { return first_; }

  /// Arms the timer of `owner`, which must not be armed. `key` must be larger than that of every
  /// timer in the lane.
  template <class LinkOf>
  [[gnu::always_inline]] void push_back(Owner owner, EventKey key, LinkOf link) {
    Link& l = link(owner);
    if (l.armed()) [[unlikely]]
      timer_misused("a timer was armed twice");
    assert(empty() || link(last_).key_ < key);
    l.key_ = key;
    l.previous_ = last_;
    l.next_ = none();
    if (last_ == none()) {
      first_ = owner;
    } else {
      link(last_).next_ = owner;
    }
    last_ = owner;
  }

  /// Disarms the timer of `owner`, which must be armed.
  template <class LinkOf>
  [[gnu::always_inline]] void erase(Owner owner, LinkOf link) {
    Link& l = link(owner);
    if (!l.armed()) [[unlikely]]
      timer_misused("a timer was cancelled that is not armed");
    (l.previous_ == none() ? first_ : link(l.previous_).next_) = l.next_;
    (l.next_ == none() ? last_ : link(l.next_).previous_) = l.previous_;
    l.key_ = EventKey::never();
  }

 private:
  Owner first_ = none(), last_ = none();
};

class MessageLane {
 public:
  bool empty() const { return begin_ == end_; }
  EventKey head() const { return empty() ? EventKey::never() : ring_[begin_ & mask_].key; }
  std::uint64_t bytes() const { return bytes_of(ring_); }

  /// False, and nothing done, if the entry would not be the last: the delay has become shorter.
  bool push_back(const TimerEntry& entry) {
    if (!empty() && entry.key < ring_[(end_ - 1) & mask_].key) return false;
    if (end_ - begin_ == ring_.size()) grow();
    ring_[end_++ & mask_] = entry;
    return true;
  }
  TimerEntry pop_front() {
    assert(!empty());
    return ring_[begin_++ & mask_];
  }

 private:
  void grow() {
    std::vector<TimerEntry> larger(ring_.empty() ? 64 : ring_.size() * 2);
    const std::uint64_t mask = larger.size() - 1;
    for (std::uint64_t i = begin_; i != end_; ++i) larger[i & mask] = ring_[i & mask_];
    ring_.swap(larger);
    mask_ = mask;
  }

  std::vector<TimerEntry> ring_;
  std::uint64_t begin_ = 0, end_ = 0, mask_ = 0;
};

}  // namespace retrysim::kernel
