// SPDX-License-Identifier: MIT
#include "model/client/gates.hpp"

#include "kernel/memory.hpp"
#include "model/run/parts.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

#include <cassert>

namespace retrysim::model {

using kernel::EventKey;

void SendGate::prepare() {
  const kernel::Claim claim;
  for (ClientGroup& g : state_.groups) {
    Queues& own = queues_.emplace_back();
    if (!g.states->limit_send_rate() || g.holder != g.index) continue;
    own.take_memory(g.states->limiters(), claim);
    own.source = state_.add_source(EventKind::kSendTokenDue, g.index, kernel::SourceRole::kTimer);
  }
}

std::size_t SendGate::limiter_of(const ClientGroup& g, const Request& r) const {
  return g.limiter_of(r);
}

bool SendGate::pass(ClientGroup& g, Request& r) {
  const bool is_hedge = r.attempt.exists();
  if (g.states->throttle()) {
    Draws draws(*g.key, {r.entity, r.progress.attempts + 1, 0, Purpose::kClientThrottle});
    if (!permit_attempt(g.spec->retry, g.states->of(r.client), state_.now, draws)) {
      if (!is_hedge) parts_.client_requests.finish(g, r, Outcome::kNoSendToken);
      return false;
    }
  }
  if (r.send_tokens > 0 && !take_tokens(g, r)) return false;
  return parts_.connections.take(g, r);
}

bool SendGate::take_tokens(ClientGroup& g, Request& r) {
  const SendRateRules& rules = g.spec->retry.rate_limit;
  const std::size_t number = limiter_of(g, r);
  SendRateLimiter& limiter = g.states->limiter(number);
  // With recheck nobody stands in line.
  const bool first_in_line = !queues_[g.holder].of_limiters[number].first.exists();
  if (first_in_line && limiter.try_acquire(state_.now, r.send_tokens)) {
    r.send_tokens = 0;
    return true;
  }
  if (rules.on_empty == OnEmpty::kFail) {
    parts_.client_requests.finish(g, r, Outcome::kNoSendToken);
  } else if (rules.wait == SendTokenWait::kOnce || rules.wait == SendTokenWait::kRecheck) {
    wait_once(g, r, limiter.wait(state_.now, r.send_tokens));
  } else if (rules.wait == SendTokenWait::kReserve) {
    const Duration time = limiter.reserve(state_.now, r.send_tokens);
    r.send_tokens = 0;
    wait_once(g, r, time);
  } else {
    join_queue(g, r);
  }
  return false;
}

void SendGate::wait_once(ClientGroup& g, Request& r, Duration time) {
  if (parts_.timeouts.deadline_is_by(g, r, state_.now + time)) {
    return parts_.client_requests.finish(g, r, Outcome::kDeadlineExceeded);
  }
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, time.count());
  g.recorder->send_waits.begins(state_.now);
  state_.set_timer(EventKind::kSendWaitEnd, g.index, r.id, time);
}

void SendGate::wait_over(ClientGroup& g, Request& r) {
  g.recorder->send_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
  if (r.send_tokens > 0) {
    SendRateLimiter& limiter = g.states->limiter(limiter_of(g, r));
    if (g.spec->retry.rate_limit.wait != SendTokenWait::kRecheck) {
      limiter.reserve(state_.now, r.send_tokens);
    } else if (!limiter.try_acquire(state_.now, r.send_tokens)) {
      return wait_once(g, r, limiter.wait(state_.now, r.send_tokens));
    }
  }
  go_on(g, r);
}

// The request has waited long enough.
void SendGate::go_on(ClientGroup& g, Request& r) {
  r.send_tokens = 0;
  if (state_.must_not_be_sent(r)) [[unlikely]]
    return parts_.client_requests.finish(g, r, Outcome::kMaxAttemptsExceeded);
  if (r.backoff_follows) {
    r.backoff_follows = false;
    return parts_.retry_decisions.back_off(g, r, r.pending_delay);
  }
  if (parts_.connections.take(g, r)) parts_.transport.send(g, r);
}

void SendGate::join_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = limiter_of(g, r);
  Queue& queue = queues_[g.holder].of_limiters[limiter];
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, -1);
  queue.join(r, state_.requests);
  g.recorder->send_waits.begins(state_.now);
  if (queue.first == r.id) schedule_wake(g, limiter);
}

void SendGate::leave_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = limiter_of(g, r);
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

void SendGate::wake(ClientGroup& g) {
  const Queues& own = queues_[g.index];
  const std::uint32_t limiter = own.wakes.front();
  state_.note_event(EventKind::kSendTokenDue, limiter);
  assert(own.of_limiters[limiter].first.exists());
  Request& r = state_.requests[own.of_limiters[limiter].first];
  if (!g.states->limiter(limiter).try_acquire(state_.now, r.send_tokens)) {
    return schedule_wake(g, limiter);
  }
  ClientGroup& own_group = state_.groups[r.group];
  leave_queue(own_group, r);
  go_on(own_group, r);
}

void Connections::prepare() {
  const kernel::Claim claim;
  for (const ClientGroup& g : state_.groups) {
    pools_.emplace_back().take_memory(state_.scenario, *g.spec, claim);
  }
}

bool Connections::take_time(const Scenario& scenario) {
  const Distribution& connect = scenario.network.connect;
  return !connect.is_constant() || connect.constant_value() > Duration::zero();
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

// Whoever is first in line goes on with the connection, or with a new one in its place, when the
// event under way is done with: an answer may come at once, and return its connection again.
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
  parts_.settlement.connected(r.id);
}

void Connections::got_one(Request& r) {
  ClientGroup& g = state_.groups[r.group];
  if (state_.must_not_be_sent(r)) [[unlikely]] {
    give_back(g, r, !r.connecting);
    return parts_.client_requests.finish(g, r, Outcome::kMaxAttemptsExceeded);
  }
  parts_.transport.send(g, r);
}

void Connections::leave_queue(ClientGroup& g, Request& r) {
  pool_of(g, r).leave(r, state_.requests);
  g.recorder->connection_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
}

Duration Connections::setup_time(const Attempt& a) const {
  const Distribution& connect = state_.scenario.network.connect;
  if (connect.is_constant()) return connect.constant_value();
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kConnect});
  return connect.sample(draws);
}

}  // namespace retrysim::model
