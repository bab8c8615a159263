// What stands between the decision to make an attempt and its send: the client-side throttle, the
// send token of adaptive mode, a connection of the client's pool; and hedges, which are attempts
// that somebody decided to make without waiting for the one before.
//
// SPDX-License-Identifier: MIT
#include "model/world.hpp"

#include <algorithm>
#include <cassert>

namespace retrysim::model {

using kernel::EventKey;

namespace {

constexpr std::uint64_t kNoHedge = ~std::uint64_t{0};

}  // namespace

// Whether the attempt may be sent now. If not, it waits, or its request has ended, or it was a
// hedge that is not made.
bool World::pass_gates(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  const bool is_hedge = r.attempt != kNone;
  if (g.states.throttle()) {
    Draws draws(streams_.of_group(g.index),
                {r.entity, r.progress.attempts + 1, 0, Purpose::kClientThrottle});
    if (!permit_attempt(g.spec->retry, g.states.of(r.client), now_, draws)) {
      if (!is_hedge) finish(g, request, Outcome::kNoSendToken);
      return false;
    }
  }
  if (r.send_tokens > 0 && !take_send_tokens(g, request)) return false;
  return take_connection(g, request);
}

// --- Send tokens ---------------------------------------------------------------------------------

bool World::take_send_tokens(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  const SendRateRules& rules = g.spec->retry.rate_limit;
  SendRateLimiter& limiter = g.states.limiter(r.client);
  const bool first_in_line = g.send_queues[r.client].first == kNone;
  if (first_in_line && limiter.try_acquire(now_, r.send_tokens)) {
    r.send_tokens = 0;
    return true;
  }
  if (rules.on_empty == OnEmpty::kFail) {
    finish(g, request, Outcome::kNoSendToken);
  } else if (rules.wait == SendTokenWait::kOnce) {
    wait_once(g, request, limiter.wait(now_, r.send_tokens));
  } else if (rules.wait == SendTokenWait::kReserve) {
    const Duration time = limiter.reserve(now_, r.send_tokens);
    r.send_tokens = 0;
    wait_once(g, request, time);
  } else {
    join_send_queue(g, request);
  }
  return false;
}

// Waits for a time that is fixed when the wait begins.
void World::wait_once(ClientGroup& g, std::uint32_t request, Duration time) {
  Request& r = requests_[request];
  if (g.deadline_source != kNone && now_ + time >= armed(r.deadline.key()).time) {
    return finish(g, request, Outcome::kDeadlineExceeded);
  }
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = now_;
  recorder_.send_wait_begins(g.index, now_);
  schedule_timer(EventKind::kSendWaitEnd, g.index, request, time);
}

void World::send_wait_over(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  recorder_.send_wait_ends(g.index, r.in_cohort, now_ - r.phase_since, now_);
  if (r.send_tokens > 0) g.states.limiter(r.client).reserve(now_, r.send_tokens);
  go_on_after_send_wait(g, request);
}

void World::go_on_after_send_wait(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  r.send_tokens = 0;
  if (must_not_be_sent(r)) [[unlikely]]
    return finish(g, request, Outcome::kMaxAttemptsExceeded);
  if (r.backoff_follows) {
    r.backoff_follows = false;
    return back_off(g, request, r.pending_delay);
  }
  if (take_connection(g, request)) send(g, request, requests_[request]);
}

void World::join_send_queue(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  ClientGroup::SendQueue& queue = g.send_queues[r.client];
  r.phase = Request::Phase::kWaitingToSend;
  r.phase_since = now_;
  join(queue, request);
  recorder_.send_wait_begins(g.index, now_);
  if (queue.first == request) schedule_wake(g, r.client);
}

void World::leave_send_queue(ClientGroup& g, std::uint32_t request) {
  const Request& r = requests_[request];
  ClientGroup::SendQueue& queue = g.send_queues[r.client];
  const bool was_first = queue.first == request;
  leave(queue, request);
  recorder_.send_wait_ends(g.index, r.in_cohort, now_ - r.phase_since, now_);
  if (was_first) schedule_wake(g, r.client);
}

// When the first waiter of a client can have its tokens, at the present fill rate.
void World::schedule_wake(ClientGroup& g, std::uint32_t client) {
  ClientGroup::SendQueue& queue = g.send_queues[client];
  auto position = [&g](std::uint32_t c) -> std::uint32_t& {
    return g.send_queues[c].wake_position;
  };
  if (queue.wake_position != kNone) g.wakes.erase(client, position);
  if (queue.first == kNone) return;
  const int tokens = requests_[queue.first].send_tokens;
  if (!g.states.limiter(client).can_hold(tokens)) return;  // until the rate changes
  const EventKey key = key_in(g.states.limiter(client).wait(now_, tokens));
  g.wakes.push(client, key, position);
  queue_.offer(g.wake_source, key);
}

void World::wake(ClientGroup& g) {
  const std::uint32_t client = g.wakes.front();
  note_event(EventKind::kSendTokenDue, client);
  const std::uint32_t request = g.send_queues[client].first;
  assert(request != kNone);
  if (!g.states.limiter(client).try_acquire(now_, requests_[request].send_tokens)) {
    return schedule_wake(g, client);
  }
  leave_send_queue(g, request);
  go_on_after_send_wait(g, request);
}

void World::limiter_changed(ClientGroup& g, std::uint32_t client) {
  if (g.send_queues.empty() || g.send_queues[client].first == kNone) return;
  schedule_wake(g, client);
}

void World::join(ClientGroup::Waiters& w, std::uint32_t request) {
  Request& r = requests_[request];
  r.previous_waiter = w.last;
  r.next_waiter = kNone;
  (w.last == kNone ? w.first : requests_[w.last].next_waiter) = request;
  w.last = request;
}

void World::leave(ClientGroup::Waiters& w, std::uint32_t request) {
  const Request& r = requests_[request];
  (r.previous_waiter == kNone ? w.first : requests_[r.previous_waiter].next_waiter) = r.next_waiter;
  (r.next_waiter == kNone ? w.last : requests_[r.next_waiter].previous_waiter) = r.previous_waiter;
}

// --- Connections ---------------------------------------------------------------------------------

// Takes an idle connection, or opens one; otherwise the request waits in order.
bool World::take_connection(ClientGroup& g, std::uint32_t request) {
  if (g.connections.empty()) return true;
  Request& r = requests_[request];
  ClientGroup::Connections& pool = g.connections[r.client];
  if (pool.idle > 0 || pool.open < g.spec->max_connections) {
    r.connecting = pool.idle == 0;
    if (r.connecting) {
      ++pool.open;
    } else {
      --pool.idle;
    }
    return true;
  }
  if (r.attempt != kNone) return false;  // a hedge does not wait
  r.phase = Request::Phase::kWaitingForConnection;
  r.phase_since = now_;
  join(pool, request);
  recorder_.connection_wait_begins(g.index, now_);
  return false;
}

// The attempt that had the connection has ended; whoever is first in line goes on with it, or with
// a new one in its place, when the event under way is done with: an answer may come at once, and
// return its connection again.
void World::return_connection(ClientGroup& g, std::uint32_t client, bool reusable) {
  ClientGroup::Connections& pool = g.connections[client];
  const std::uint32_t next = pool.first;
  if (next == kNone) {
    if (reusable) {
      ++pool.idle;
    } else {
      --pool.open;
    }
    return;
  }
  leave_connection_queue(g, next);
  requests_[next].connecting = !reusable;
  connected_.push_back(next);
  unsettled_ = true;
}

void World::send_connected() {
  for (std::size_t i = 0; i < connected_.size(); ++i) {
    count_step();
    const std::uint32_t request = connected_[i];
    const Request& r = requests_[request];
    ClientGroup& g = groups_[r.group];
    if (must_not_be_sent(r)) [[unlikely]] {
      return_connection(g, r.client, !r.connecting);
      finish(g, request, Outcome::kMaxAttemptsExceeded);
      continue;
    }
    send(g, request, requests_[request]);
  }
  connected_.clear();
}

void World::leave_connection_queue(ClientGroup& g, std::uint32_t request) {
  const Request& r = requests_[request];
  leave(g.connections[r.client], request);
  recorder_.connection_wait_ends(g.index, r.in_cohort, now_ - r.phase_since, now_);
}

Duration World::connection_setup(const Attempt& a) const {
  const Distribution& connect = scenario_.network.connect;
  if (connect.is_constant()) return connect.constant_value();
  Draws draws(streams_.of_group(a.group), {a.entity, a.number, 0, Purpose::kConnect});
  return connect.sample(draws);
}

// --- Hedging -------------------------------------------------------------------------------------

void World::schedule_hedge(ClientGroup& g, std::uint32_t request) {
  const RetryRules& rules = g.spec->retry;
  if (hedge_sequences_.size() < requests_.slots()) hedge_sequences_.resize(requests_.slots());
  const std::uint32_t attempts = requests_[request].progress.attempts;
  if (attempts >= rules.max_attempts && rules.max_attempts != RetryRules::kUnlimited) {
    hedge_sequences_[request] = kNoHedge;
    return;
  }
  hedge_sequences_[request] = sequence_;
  schedule_timer(EventKind::kHedgeDue, g.index, request, rules.hedging.delay);
}

void World::cancel_hedge(std::uint32_t request) {
  if (request < hedge_sequences_.size()) hedge_sequences_[request] = kNoHedge;
}

void World::hedge_due(ClientGroup& g, std::uint32_t request, std::uint64_t sequence) {
  if (hedge_sequences_[request] != sequence) return;  // its attempt has ended, or its request
  Request& r = requests_[request];
  if (!r.open || r.attempt == kNone || retries_are_over()) return;
  const RetryState state = g.states.of(r.client);
  bool permitted = false;
  watch_quota(g, state, [&] { permitted = acquire_hedge(g.spec->retry, state, r.progress, now_); });
  if (!permitted) return;
  r.retrying = true;
  if (pass_gates(g, request)) send(g, request, requests_[request]);
}

// One of the attempts under way has ended.
void World::forget_attempt(Request& r, std::uint32_t attempt) {
  const std::uint32_t next = attempts_[attempt].sibling;
  if (r.attempt == attempt) {
    r.attempt = next;
    return;
  }
  std::uint32_t before = r.attempt;
  while (attempts_[before].sibling != attempt) before = attempts_[before].sibling;
  attempts_[before].sibling = next;
}

}  // namespace retrysim::model
