// SPDX-License-Identifier: MIT
#include "model/client/gates.hpp"

#include "kernel/memory.hpp"
#include "model/client/clients.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace retrysim::model {

using kernel::EventKey;

void SendGate::prepare() {
  const kernel::Claim claim;
  for (ClientGroup& g : groups_) {
    Permits& permits = permits_.emplace_back();
    permits.take_memory(*g.spec, claim);
    for (SendPermits& p : permits.of_clients) p.tokens = g.spec->send_rate.burst;
    Queues& own = queues_.emplace_back();
    if (!g.states->limit_send_rate() || g.holder != g.index) continue;
    own.take_memory(g.states->limiters(), claim);
    own.source =
        state_.add_source(EventKind::kSendTokenDue, g.index, kernel::SourceRole::kCancellable);
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

double SendPermits::at(const SendRateSpec& rules, Time now) const {
  return std::min(rules.burst, tokens + (now - since).in_seconds() * rules.rate);
}

// Less than a nanosecond's worth of a token may be missing.
Duration SendPermits::wait(const SendRateSpec& rules, Time now) const {
  const double ns = (1 - at(rules, now)) / rules.rate * 1e9;
  if (ns < 1) return Duration::zero();
  return Duration::from_nanoseconds(std::ceil(ns));
}

void SendPermits::take(const SendRateSpec& rules, Time now) {
  tokens = at(rules, now) - 1;
  since = now;
}

GateResult SendGate::permit(ClientGroup& g, Request& r) {
  const SendRateSpec& rules = g.spec->send_rate;
  if (!rules.in_use()) return GateResult::kGoes;
  if (r.has_permit) {
    r.has_permit = false;
    return GateResult::kGoes;
  }
  SendPermits& own = permits_[g.index].of_clients[r.client];
  const Duration time = own.wait(rules, state_.now);
  if (time > Duration::zero()) {
    if (r.attempt.exists()) return GateResult::kWaits;  // a hedge does not wait
    const bool fails = rules.on_empty == SendRateOnEmpty::kFail || time > rules.longest_wait;
    if (fails) return GateResult::kNotPermitted;
    if (wait_once(g, r, time) == GateResult::kTooLate) return GateResult::kTooLate;
    r.has_permit = true;
  }
  own.take(rules, state_.now);
  return r.has_permit ? GateResult::kWaits : GateResult::kGoes;
}

GateResult SendGate::take_tokens(ClientGroup& g, Request& r) {
  const SendRateRules& rules = g.spec->retry.rate_limit;
  const std::size_t number = g.limiter_of(r);
  SendRateLimiter& limiter = g.states->limiter(number);
  // With recheck nobody stands in line.
  const bool first_in_line = !has_waiters(g, number);
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

SendGate::Queue& SendGate::queue_of(const ClientGroup& g, std::size_t limiter) {
  std::vector<Queue>& queues = queues_[g.holder].of_limiters;
  const std::size_t place = g.states->place_of_limiter(limiter);
  if (place >= queues.size()) queues.resize(place + 1);
  return queues[place];
}

void SendGate::join_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = g.limiter_of(r);
  Queue& queue = queue_of(g, limiter);
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, -1);
  queue.join(r, state_.requests);
  g.recorder->send_waits.begins(state_.now);
  if (queue.first == r.id) schedule_wake(g, limiter);
}

void SendGate::leave_queue(ClientGroup& g, Request& r) {
  const std::size_t limiter = g.limiter_of(r);
  Queue& queue = queue_of(g, limiter);
  const bool was_first = queue.first == r.id;
  queue.leave(r, state_.requests);
  g.recorder->send_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
  if (was_first) schedule_wake(g, limiter);
}

// When the first waiter of a limiter can have its tokens, at the present fill rate.
void SendGate::schedule_wake(ClientGroup& g, std::size_t number) {
  Queues& own = queues_[g.holder];
  const Queue& queue = queue_of(g, number);
  const auto position = [this, &g](std::uint32_t n) -> std::uint32_t& {
    return queue_of(g, n).wake_position;
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
  const std::uint32_t limiter = queues_[g.index].wakes.front();
  state_.note_event(EventKind::kSendTokenDue, limiter);
  assert(has_waiters(g, limiter));
  Request& r = state_.requests[queue_of(g, limiter).first];
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
  const ServiceId service = g.about.service(*g.subject_key, r.entity);
  return pools[r.client * state_.scenario.services.size() + service];
}

void Connections::add_source() {
  const auto ends = [](const ClientSpec& c) {
    const bool pool = c.max_connections != ClientSpec::kUnlimited;
    return (pool && c.connection_wait != Duration::max()) ||
           (c.bulkhead.in_use() && c.bulkhead.longest_wait != Duration::max());
  };
  if (std::ranges::none_of(state_.scenario.clients, ends)) return;
  source_ = state_.add_source(EventKind::kConnectionWaitEnd, 0, kernel::SourceRole::kTimeout);
}

auto Connections::position() {
  return [this](std::uint32_t r) -> std::uint32_t& { return places_[RequestId(r)].position; };
}

GateResult Connections::take(ClientGroup& g, Request& r) {
  if (!g.pools_connections) return GateResult::kGoes;
  if (g.has_bulkhead) {
    const BulkheadSpec& rules = g.spec->bulkhead;
    Pool& bulkhead = pools_[g.index].bulkheads[r.client];
    r.at_bulkhead = bulkhead.open >= rules.max_concurrent;
    if (r.at_bulkhead) return wait(g, r, bulkhead, rules.longest_wait, rules.queue);
    ++bulkhead.open;
  }
  return take_connection(g, r);
}

GateResult Connections::take_connection(ClientGroup& g, Request& r) {
  r.at_bulkhead = false;
  if (!g.counts_connections) return GateResult::kGoes;
  Pool& pool = pool_of(g, r);
  if (pool.idle > 0 || pool.open < g.spec->max_connections) {
    r.connecting = pool.idle == 0;
    if (r.connecting) {
      ++pool.open;
    } else {
      --pool.idle;
    }
    return GateResult::kGoes;
  }
  const bool is_hedge = r.attempt.exists();
  const GateResult result = wait(g, r, pool, g.spec->connection_wait, g.spec->connection_queue);
  if (g.has_bulkhead && (is_hedge || result != GateResult::kWaits)) leave_bulkhead(g, r);
  return result;
}

// In line, but for no longer than `longest`, and if there is a place in it.
GateResult Connections::wait(ClientGroup& g, Request& r, Pool& pool, Duration longest,
                             std::uint32_t queue) {
  if (r.attempt.exists()) return GateResult::kWaits;  // a hedge does not
  if (longest == Duration::zero() || pool.waiting >= queue) {
    return r.at_bulkhead ? GateResult::kBulkheadFull : GateResult::kNoConnection;
  }
  r.phase = Request::Phase::kWaitingForConnection;
  r.phase_since = state_.now;
  RETRYSIM_TELL(Step::kWaiting, state_.now, r, r.at_bulkhead ? -3 : -2);
  pool.join(r, state_.requests);
  ++pool.waiting;
  g.recorder->connection_waits.begins(state_.now);
  if (longest == Duration::max()) return GateResult::kWaits;
  const EventKey end = state_.key_in(longest);
  places_.reach(r.id);
  ends_of_waits_.push(r.id, end, position());
  state_.queue.offer(source_, end);
  return GateResult::kWaits;
}

// Not before the event is over: an answer may come at once, and return its connection again.
void Connections::give_back(ClientGroup& g, const Request& of, bool reusable) {
  if (g.counts_connections) {
    Pool& pool = pool_of(g, of);
    if (pool.first.exists()) {
      Request& r = state_.requests[pool.first];
      leave_queue(g, r);
      r.connecting = !reusable;
      agenda_.connected(r.id);
    } else if (reusable) {
      ++pool.idle;
    } else {
      --pool.open;
    }
  }
  if (g.has_bulkhead) leave_bulkhead(g, of);
}

void Connections::leave_bulkhead(ClientGroup& g, const Request& of) {
  Pool& bulkhead = pools_[g.index].bulkheads[of.client];
  if (!bulkhead.first.exists()) {
    --bulkhead.open;
    return;
  }
  Request& r = state_.requests[bulkhead.first];
  leave_queue(g, r);
  agenda_.connected(r.id);
}

void Connections::give_up_waiting(ClientGroup& g, Request& r) {
  leave_queue(g, r);
  if (g.has_bulkhead && !r.at_bulkhead) leave_bulkhead(g, r);
}

void Connections::leave_queue(ClientGroup& g, Request& r) {
  Pool& pool = r.at_bulkhead ? pools_[g.index].bulkheads[r.client] : pool_of(g, r);
  const Duration longest = r.at_bulkhead ? g.spec->bulkhead.longest_wait : g.spec->connection_wait;
  pool.leave(r, state_.requests);
  --pool.waiting;
  if (longest != Duration::max()) ends_of_waits_.erase(r.id, position());
  g.recorder->connection_waits.ends(r.in_cohort, state_.now - r.phase_since, state_.now);
}

}  // namespace retrysim::model
