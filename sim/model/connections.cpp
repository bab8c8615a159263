// SPDX-License-Identifier: MIT
#include "model/connections.hpp"

#include "kernel/memory.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"
#include "model/trace.hpp"

namespace retrysim::model {

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
