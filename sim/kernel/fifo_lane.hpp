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

#include "kernel/claim.hpp"
#include "kernel/event_order.hpp"
#include "kernel/radix_buckets.hpp"

#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::kernel {

/// A timer's place in a lane, kept in the object it belongs to.
class LaneLink {
 public:
  /// When the timer expires; empty if it is not armed.
  std::optional<EventKey> key() const {
    return armed() ? std::optional<EventKey>(key_) : std::nullopt;
  }

 private:
  friend class TimerLane;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool armed() const { return key_ != EventKey::never(); }

  EventKey key_ = EventKey::never();  // never(): not armed
  std::uint32_t previous_ = kNone, next_ = kNone;
};

/// `link(id)` gives the LaneLink of object `id`; passed to each call, so the lane stores nothing
/// but its ends.
class TimerLane {
 public:
  bool empty() const { return first_ == LaneLink::kNone; }
  std::uint32_t front() const { return first_; }

  /// Arms the timer of `id`, which must not be armed. `key` must be larger than that of every timer
  /// in the lane.
  template <class LinkOf>
  void push_back(std::uint32_t id, EventKey key, LinkOf link) {
    push_back(id, link(id), key, link);
  }
  /// The same where the link of `id` is at hand.
  template <class LinkOf>
  void push_back(std::uint32_t id, LaneLink& l, EventKey key, LinkOf link) {
    if (l.armed()) [[unlikely]]
      timer_misused("a timer was armed twice");
    assert(empty() || link(last_).key_ < key);
    l.key_ = key;
    l.previous_ = last_;
    l.next_ = LaneLink::kNone;
    if (last_ == LaneLink::kNone) {
      first_ = id;
    } else {
      link(last_).next_ = id;
    }
    last_ = id;
  }

  /// Disarms the timer of `id`, which must be armed.
  template <class LinkOf>
  void erase(std::uint32_t id, LinkOf link) {
    erase(link(id), link);
  }
  template <class LinkOf>
  void erase(LaneLink& l, LinkOf link) {
    if (!l.armed()) [[unlikely]]
      timer_misused("a timer was cancelled that is not armed");
    (l.previous_ == LaneLink::kNone ? first_ : link(l.previous_).next_) = l.next_;
    (l.next_ == LaneLink::kNone ? last_ : link(l.next_).previous_) = l.previous_;
    l.key_ = EventKey::never();
  }

 private:
  std::uint32_t first_ = LaneLink::kNone, last_ = LaneLink::kNone;
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
