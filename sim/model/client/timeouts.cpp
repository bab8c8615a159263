// SPDX-License-Identifier: MIT
#include "model/client/timeouts.hpp"

#include "kernel/memory.hpp"
#include "model/run/state.hpp"

#include <algorithm>
#include <cassert>

namespace retrysim::model {

using kernel::armed;
using kernel::EventKey;
using kernel::SourceRole;

auto Timeouts::deadline_link() {
  return [this](RequestId r) -> kernel::LaneLink<RequestId>& { return deadlines_[r]; };
}

auto Timeouts::position() {
  return [this](std::uint32_t r) -> std::uint32_t& {
    return state_.requests[RequestId(r)].timeout.in_heap;
  };
}

void Timeouts::add_sources() {
  for (ClientGroup& g : groups_) {
    ClientTimers& t = g.timers;
    t.constant_timeout = g.spec->timeouts.has_attempt && g.spec->timeouts.attempt.is_constant();
    t.constant_timeout_length = g.spec->timeouts.attempt.constant_value();
    if (t.constant_timeout) {
      t.timeout_source = state_.add_source(EventKind::kTimeout, g.index, SourceRole::kTimeout);
    } else if (g.spec->timeouts.has_attempt && varying_source_ == kNone) {
      varying_source_ = state_.add_source(EventKind::kVaryingTimeout, 0, SourceRole::kTimeout);
    }
    if (g.spec->timeouts.deadline == Duration::max()) continue;
    t.deadline_source = state_.add_source(EventKind::kDeadline, g.index, SourceRole::kTimeout);
  }
}

void Timeouts::arm_other(ClientGroup& g, Request& r) {
  if (!g.spec->timeouts.has_attempt) return;
  Draws draws(*g.key, {r.entity, r.progress.attempts, 0, Purpose::kTimeout});
  const EventKey key = state_.key_in(g.spec->timeouts.attempt.sample(draws));
  varying_.push(r.id, key, position());
  state_.queue.offer(varying_source_, key);
}

void Timeouts::disarm_other(ClientGroup& g, Request& r) {
  if (g.spec->timeouts.has_attempt) varying_.erase(r.id, position());
}

void Timeouts::arm_deadline(ClientGroup& g, Request& r) {
  const EventKey key = state_.key_in(g.spec->timeouts.deadline);
  deadlines_.reach(r.id);
  g.timers.deadlines.push_back(r.id, key, deadline_link());
  state_.queue.offer(g.timers.deadline_source, key);
}

void Timeouts::disarm_deadline(ClientGroup& g, Request& r) {
  g.timers.deadlines.erase(r.id, deadline_link());
}

Time Timeouts::end_of_wait(const Attempt& a) const {
  const auto& g = static_cast<const ClientGroup&>(*a.clients);
  const Request& r = *a.request;
  Time end = Time::max();
  if (g.timers.constant_timeout) {
    end = armed(r.timeout.in_lane.key()).time;
  } else if (g.spec->timeouts.has_attempt) {
    end = armed(varying_.key_of(r.id, [this](std::uint32_t id) {
            return state_.requests[RequestId(id)].timeout.in_heap;
          })).time;
  }
  if (g.timers.deadline_source != kNone) end = std::min(end, armed(deadlines_[r.id].key()).time);
  return end;
}

RETRYSIM_IN_LOOP Request& Timeouts::expired(ClientGroup& g) {
  Request& r = *g.timers.timeouts.front();
  // The queue is told at once: it would find out next, with an event that is not there any more.
  state_.queue.set(g.timers.timeout_source, look_ahead(r.timeout.in_lane.next()));
  return r;
}

RETRYSIM_IN_LOOP EventKey Timeouts::next_timeout(GroupId group) const {
  return look_ahead(groups_[group].timers.timeouts.front());
}

EventKey Timeouts::look_ahead(const Request* r) const {
  if (r == nullptr) return EventKey::never();
  // They will be looked at when timers expire, after a long time.
  kernel::prefetch(state_.attempts[r->attempt]);
  if (const Request* next = r->timeout.in_lane.next()) kernel::prefetch(*next);
  return armed(r->timeout.in_lane.key());
}

EventKey Timeouts::next_deadline(GroupId group) const {
  const kernel::TimerLane<RequestId>& lane = groups_[group].timers.deadlines;
  return lane.empty() ? EventKey::never() : armed(deadlines_[lane.front()].key());
}

}  // namespace retrysim::model
