// SPDX-License-Identifier: MIT
#include "model/client/gates.hpp"

#include "kernel/memory.hpp"
#include "model/client/clients.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

#include <cassert>

namespace retrysim::model {

using kernel::EventKey;

void SendGate::prepare() {
  const kernel::Claim claim;
  for (ClientGroup& g : groups_) {
    Queues& own = queues_.emplace_back();
    if (!g.states->limit_send_rate() || g.holder != g.index) continue;
    own.take_memory(g.states->limiters(), claim);
    own.source = state_.add_source(EventKind::kSendTokenDue, g.index, kernel::SourceRole::kTimer);
  }
}

GateResult SendGate::pass(ClientGroup& g, Request& r) {
  if (g.states->throttle()) {
    Draws draws(*g.key, {r.entity, r.progress.attempts + 1, 0, Purpose::kClientThrottle});
    if (!permit_attempt(g.spec->retry, g.states->of(r.client), state_.now, draws)) {
      const bool is_hedge = r.attempt.exists();
      return is_hedge ? GateResult::kWaits : GateResult::kNotSent;
    }
  }
  return r.send_tokens > 0 ? take_tokens(g, r) : GateResult::kGoes;
}

GateResult SendGate::take_tokens(ClientGroup& g, Request& r) {
  const SendRateRules& rules = g.spec->retry.rate_limit;
  const std::size_t number = g.limiter_of(r);
  SendRateLimiter& limiter = g.states->limiter(number);
  // With recheck nobody stands in line.
  const bool first_in_line = !queues_[g.holder].of_limiters[number].first.exists();
  if (first_in_line && limiter.try_acquire(state_.now, r.send_tokens)) {
    r.send_tokens = 0;
    return GateResult::kGoes;
  }
  if (r.attempt.exists()) {  // a hedge does not wait
    r.send_tokens = 0;
    return GateResult::kWaits;
  }
  if (rules.on_empty == OnEmpty::kFail) return GateResult::kNotSent;
  if (rules.wait == SendTokenWait::kOnce || rules.wait == SendTokenWait::kRecheck) {
    return wait_once(g, r, limiter.wait(state_.now, r.send_tokens));
  }
  if (rules.wait == SendTokenWait::kReserve) {
    const Duration time = limiter.reserve(state_.now, r.send_tokens);
    r.send_tokens = 0;
    return wait_once(g, r, time);
  }
  join_queue(g, r);
  return GateResult::kWaits;
}

GateResult SendGate::wait_once(ClientGroup& g, Request& r, Duration time) {
  if (timeouts_.deadline_is_by(g, r, state_.now + time)) return GateResult::kTooLate;
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, time.count());
  g.recorder->send_waits.begins(state_.now);
  state_.set_timer(EventKind::kSendWaitEnd, g.index, r.id, time);
  return GateResult::kWaits;
}

GateResult SendGate::wait_over(ClientGroup& g, Request& r) {
  g.recorder->send_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
  if (r.send_tokens == 0) return GateResult::kGoes;
  SendRateLimiter& limiter = g.states->limiter(g.limiter_of(r));
  if (g.spec->retry.rate_limit.wait != SendTokenWait::kRecheck) {
    limiter.reserve(state_.now, r.send_tokens);
  } else if (!limiter.try_acquire(state_.now, r.send_tokens)) {
    return wait_once(g, r, limiter.wait(state_.now, r.send_tokens));
  }
  return GateResult::kGoes;
}

void SendGate::join_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = g.limiter_of(r);
  Queue& queue = queues_[g.holder].of_limiters[limiter];
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, -1);
  queue.join(r, state_.requests);
  g.recorder->send_waits.begins(state_.now);
  if (queue.first == r.id) schedule_wake(g, limiter);
}

void SendGate::leave_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = g.limiter_of(r);
  Queue& queue = queues_[g.holder].of_limiters[limiter];
  const bool was_first = queue.first == r.id;
  queue.leave(r, state_.requests);
  g.recorder->send_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
  if (was_first) schedule_wake(g, limiter);
}

// When the first waiter of a limiter can have its tokens, at the present fill rate.
void SendGate::schedule_wake(ClientGroup& g, std::size_t number) {
  Queues& own = queues_[g.holder];
  const Queue& queue = own.of_limiters[number];
  const auto position = [&own](std::uint32_t n) -> std::uint32_t& {
    return own.of_limiters[n].wake_position;
  };
  const auto entry = static_cast<std::uint32_t>(number);
  if (queue.wake_position != kNone) own.wakes.erase(entry, position);
  if (!queue.first.exists()) return;
  SendRateLimiter& limiter = g.states->limiter(number);
  const int tokens = state_.requests[queue.first].send_tokens;
  if (!limiter.can_hold(tokens)) return;  // until the rate changes
  const EventKey key = state_.key_in(limiter.wait(state_.now, tokens));
  own.wakes.push(entry, key, position);
  state_.queue.offer(own.source, key);
}

Request* SendGate::wake(ClientGroup& g) {
  const Queues& own = queues_[g.index];
  const std::uint32_t limiter = own.wakes.front();
  state_.note_event(EventKind::kSendTokenDue, limiter);
  assert(own.of_limiters[limiter].first.exists());
  Request& r = state_.requests[own.of_limiters[limiter].first];
  if (!g.states->limiter(limiter).try_acquire(state_.now, r.send_tokens)) {
    schedule_wake(g, limiter);
    return nullptr;
  }
  leave_queue(groups_[r.group], r);
  return &r;
}

void Connections::prepare() {
  const kernel::Claim claim;
  for (const ClientGroup& g : groups_) {
    pools_.emplace_back().take_memory(state_.scenario, *g.spec, claim);
  }
}

Connections::Pool& Connections::pool_of(const ClientGroup& g, const Request& r) {
  std::vector<Pool>& pools = pools_[g.index].of_clients;
  if (!g.calls_several) return pools[r.client];
  const ServiceId service = g.about.service(*g.key, r.entity);
  return pools[r.client * state_.scenario.services.size() + service];
}

bool Connections::take(ClientGroup& g, Request& r) {
  if (!g.pools_connections) return true;
  Pool& pool = pool_of(g, r);
  if (pool.idle > 0 || pool.open < g.spec->max_connections) {
    r.connecting = pool.idle == 0;
    if (r.connecting) {
      ++pool.open;
    } else {
      --pool.idle;
    }
    return true;
  }
  if (r.attempt.exists()) return false;
  r.phase = Request::Phase::kWaitingForConnection;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, -2);
  pool.join(r, state_.requests);
  g.recorder->connection_waits.begins(state_.now);
  return false;
}

// Not before the event is over: an answer may come at once, and return its connection again.
void Connections::give_back(ClientGroup& g, const Request& of, bool reusable) {
  Pool& pool = pool_of(g, of);
  if (!pool.first.exists()) {
    if (reusable) {
      ++pool.idle;
    } else {
      --pool.open;
    }
    return;
  }
  Request& r = state_.requests[pool.first];
  leave_queue(g, r);
  r.connecting = !reusable;
  agenda_.connected(r.id);
}

void Connections::leave_queue(ClientGroup& g, Request& r) {
  pool_of(g, r).leave(r, state_.requests);
  g.recorder->connection_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
}

}  // namespace retrysim::model
