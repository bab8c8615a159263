// SPDX-License-Identifier: MIT
#include "model/closed_loop.hpp"

#include "model/name_order.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

#include <algorithm>

namespace retrysim::model {

void ClosedLoop::prepare() {
  const kernel::Claim claim;
  for (const ClientGroup& g : state_.groups) clients_.emplace_back().take_memory(*g.spec, claim);
}

void ClosedLoop::start() {
  StopCounter<> stop;
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    const GroupId i(at);
    ClientGroup& g = state_.groups[i];
    if (!g.closed) continue;
    for (const ClientId client : Ids<ClientId>(g.spec->count)) {
      for (std::uint32_t k = 0; k < g.spec->arrivals.concurrency; ++k) {
        think(g, client, Time::zero());
        stop.count();
      }
    }
  }
}

void ClosedLoop::think(ClientGroup& g, ClientId client, Time last_submitted) {
  Clients& own = clients_[g.index];
  const ArrivalSpec& loop = g.spec->arrivals;
  const std::uint32_t number = own.thinks.empty() ? own.ordinals[client] : own.thinks[client]++;
  Duration time =
      loop.think_time.sample(*g.key, {client_entity(client, number), 0, 0, Purpose::kThinkTime});
  if (!own.due.empty()) own.due[client] = last_submitted + time;
  if (loop.think_from_start) {
    time = std::max(Duration::zero(), time - (state_.now - last_submitted));
  }
  if (state_.now + time >= state_.end_of_submissions) return;
  state_.set_timer(EventKind::kThinkEnd, g.index, client, time);
}

void ClosedLoop::think_over(ClientGroup& g, ClientId client) {
  const std::uint32_t ordinal = clients_[g.index].ordinals[client]++;
  parts_.client_requests.submit(g, client, client_entity(client, ordinal));
}

}  // namespace retrysim::model
