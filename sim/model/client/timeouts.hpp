// When clients stop waiting: for the answer to an attempt, and for a request at all.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/fifo_lane.hpp"
#include "kernel/indexed_heap.hpp"
#include "model/client/group.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <cstddef>
#include <cstdint>

namespace retrysim::model {

class Timeouts {
 public:
  Timeouts(RunState& state, ClientGroups& groups) : state_(state), groups_(groups) {}

  void add_sources();

  /// The attempt timeout, if there is one, runs from now.
  [[gnu::always_inline]] void arm(ClientGroup& g, Request& r) {
    if (!g.timers.constant_timeout) return arm_other(g, r);
    const kernel::EventKey key = state_.key_in(g.timers.constant_timeout_length);
    g.timers.timeouts.push_back(&r, key, link_of);
    state_.queue.offer(g.timers.timeout_source, key);
  }
  [[gnu::always_inline]] void disarm(ClientGroup& g, Request& r) {
    if (!g.timers.constant_timeout) return disarm_other(g, r);
    g.timers.timeouts.erase(&r, link_of);
  }
  void arm_deadline(ClientGroup& g, Request& r);
  void disarm_deadline(ClientGroup& g, Request& r);

  /// Whether the request has a deadline at `t` or before.
  bool deadline_is_by(const ClientGroup& g, const Request& r, Time t) const {
    return g.timers.deadline_source != kNone && t >= kernel::armed(deadlines_[r.id].key()).time;
  }
  /// When the client of an attempt under way will stop waiting for it; `Time::max()`: never.
  Time end_of_wait(const Attempt& a) const;

  /// The request whose timer expires now: the first one of the group, or of all that vary.
  RETRYSIM_IN_LOOP Request& expired(ClientGroup& g);
  Request& expired_varying() { return state_.requests[RequestId(varying_.front())]; }
  /// The request of the group whose deadline passes now.
  Request& past_deadline(const ClientGroup& g) {
    return state_.requests[g.timers.deadlines.front()];
  }

  /// Keys of those.
  RETRYSIM_IN_LOOP kernel::EventKey next_timeout(GroupId group) const;
  kernel::EventKey next_varying_timeout() const { return varying_.head(); }
  kernel::EventKey next_deadline(GroupId group) const;

  std::uint64_t bytes() const { return varying_.bytes() + kernel::bytes_of(deadlines_); }

 private:
  static kernel::LaneLink<Request*>& link_of(Request* r) { return r->timeout.in_lane; }
  // Of clients whose timeout varies, or who have none.
  [[gnu::noinline]] void arm_other(ClientGroup& g, Request& r);
  [[gnu::noinline]] void disarm_other(ClientGroup& g, Request& r);
  /// When the timer of `r`, which will be the first one of its group, expires; null: there is none.
  [[gnu::always_inline]] inline kernel::EventKey look_ahead(const Request* r) const;
  auto deadline_link();
  auto position();

  RunState& state_;
  ClientGroups& groups_;
  ByRequest<kernel::LaneLink<RequestId>> deadlines_;  // of groups that have them
  kernel::IndexedHeap varying_;                       // by request
  std::uint32_t varying_source_ = kNone;
};

}  // namespace retrysim::model
