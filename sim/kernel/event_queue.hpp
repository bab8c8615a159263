// The pending events of a simulation: which one is next, and whose it is. The events themselves
// stay with their sources (lanes, heaps, arrival streams), each of which has one next event at a
// time; the queue knows the keys of those.
//
// Two things make a timer differ from other events.
//   - It can be cancelled. The queue is not told: the key it has may lie before that of the next
//     event that is really pending, but never after it. When such a source seems to be next, the
//     queue asks for its true head, which costs far less than following every cancellation.
//   - A timeout lets answers go first: an answer that arrives at the very instant at which its
//     timeout expires is in time. This is the one exception to the order of event_order.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"
#include "kernel/tournament.hpp"

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::kernel {

/// What is special about the events of a source.
enum class SourceRole : std::uint8_t {
  kPlain,
  kAnswer,   ///< precedes timeouts of the same instant
  kTimer,    ///< may have been cancelled
  kTimeout,  ///< may have been cancelled, and lets answers go first
};

class EventQueue {
 public:
  /// Adds a source, without events; returns its number, the first one being 0. All sources are
  /// added before anything else is done, those whose events can be cancelled after the others.
  std::uint32_t add(SourceRole role) {
    const auto source = static_cast<std::uint32_t>(roles_.size());
    const bool is_certain = role < SourceRole::kTimer;
    assert(!is_certain || certain_ == source);
    certain_ += is_certain;
    roles_.push_back(role);
    if (role == SourceRole::kAnswer) answers_.push_back(source);
    tournament_ = Tournament(source + 1);
    return source;
  }

  /// The source's next event is at `key`; `EventKey::never()`: it has none.
  void set(std::uint32_t source, EventKey key) { tournament_.update(source, key); }

  /// The source has got an event at `key`, which need not be its next.
  void offer(std::uint32_t source, EventKey key) { tournament_.offer(source, key); }

  /// The time of the next event, or an earlier one if a timer has been cancelled.
  Time earliest() const { return tournament_.earliest(); }

  struct Next {
    std::uint32_t source = 0;
    Time time;  ///< `Time::max()` if no source has an event
  };

  /// The next event. `true_head(source)` gives the key of the next pending event of a source of
  /// role timer or timeout.
  template <class TrueHead>
  Next next(TrueHead&& true_head) {
    for (;;) {
      const auto [source, time] = tournament_.winner();
      if (source < certain_) [[likely]]
        return {source, time};
      const EventKey head = true_head(source);
      if (!tournament_.has_key(source, head)) {
        tournament_.update(source, head);
        continue;
      }
      if (roles_[source] == SourceRole::kTimer) return {source, time};
      return {answer_at(time, source), time};
    }
  }

 private:
  /// The source of the first answer at `time`, or `otherwise`.
  std::uint32_t answer_at(Time time, std::uint32_t otherwise) const {
    if (time == Time::max()) return otherwise;
    std::uint32_t first = otherwise;
    EventKey first_key = EventKey::never();
    for (const std::uint32_t source : answers_) {
      const EventKey key = tournament_.key(source);
      if (key.time == time && key < first_key) {
        first = source;
        first_key = key;
      }
    }
    return first;
  }

  Tournament tournament_{1};
  std::uint32_t certain_ = 0;  // so many sources, the first ones, whose events come in any case
  std::vector<SourceRole> roles_;
  std::vector<std::uint32_t> answers_;
};

}  // namespace retrysim::kernel
