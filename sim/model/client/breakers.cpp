// SPDX-License-Identifier: MIT
#include "model/client/breakers.hpp"

#include "model/run/trace.hpp"

#include <algorithm>

namespace retrysim::model {

Breakers::OfGroup Breakers::layout_of(const Scenario& scenario, const ClientSpec& client) {
  OfGroup layout;
  const BreakerScope scope = client.breaker.scope;
  if (scope != BreakerScope::kService && scope != BreakerScope::kHost) return layout;
  layout.begin.resize(scenario.services.size());
  layout.per_client = 0;
  for (const std::size_t service : called_services(client)) {
    layout.begin[ServiceId(service)] = layout.per_client;
    layout.per_client +=
        scope == BreakerScope::kHost ? scenario.services[service].instances.count : 1;
  }
  return layout;
}

template <class Take>
void Breakers::take_memory(const Scenario& scenario, const ClientSpec& client, OfGroup& group,
                           Take& take) {
  if (!client.breaker.in_use()) return;
  group = layout_of(scenario, client);
  const std::size_t clients = client.breaker.scope == BreakerScope::kGroup ? 1 : client.count;
  const Breaker fresh(client.breaker);
  take(group.all, clients * group.per_client, fresh, fresh.further_bytes());
}

void Breakers::prepare() {
  const kernel::Claim claim;
  by_group_.resize(groups_.size());
  for (const ClientGroup& g : groups_) {
    OfGroup& own = by_group_[g.index];
    take_memory(state_.scenario, *g.spec, own, claim);
    if (g.has_breaker()) g.recorder->breakers.starts(own.all.size());
  }
}

std::uint64_t Breakers::bytes_of(const Scenario& scenario, const ClientSpec& client) {
  OfGroup none;
  kernel::Tally tally;
  take_memory(scenario, client, none, tally);
  return tally.bytes();
}

Breaker& Breakers::of(const ClientGroup& g, const Request& r, InstanceId host) {
  OfGroup& own = by_group_[g.index];
  const std::size_t first = std::size_t{r.client} * own.per_client;
  switch (g.spec->breaker.scope) {
    case BreakerScope::kClient:
      break;
    case BreakerScope::kGroup:
      return own.all.front();
    case BreakerScope::kService:
      return own.all[first + own.begin[g.service_of(r)]];
    case BreakerScope::kHost:
      return own.all[first + own.begin[state_.instances.service_of(host)] +
                     state_.instances.number_of(host)];
  }
  return own.all[first];
}

void Breakers::begin(const Request& r) {
  held_.reach(r.id);
  held_[r.id] = {};
}

bool Breakers::ask(ClientGroup& g, const Request& r) {
  Breaker& breaker = of(g, r);
  Held& held = held_[r.id];
  const bool was_open = breaker.state() == BreakerState::kOpen;
  const bool goes = breaker.ask(g.spec->breaker, state_.now);
  if (was_open && breaker.state() != BreakerState::kOpen) {
    g.recorder->breakers.half_opens(state_.now);
  }
  RETRYSIM_TELL(Step::kAsked, state_.now, r, goes, static_cast<int>(breaker.state()));
  held.pending = goes;
  held.era = breaker.era();
  if (!goes) {
    const bool first = r.progress.attempts == 0 && held.refusals == 0;
    g.recorder->breakers.refused(r.in_cohort, first);
    ++held.refusals;
  }
  return goes;
}

void Breakers::sent(const Request& r, const Attempt& a) {
  eras_.reach(a.id);
  eras_[a.id] = held_[r.id].era;
  held_[r.id].pending = false;
}

void Breakers::release_pending(ClientGroup& g, const Request& r) {
  Held& held = held_[r.id];
  if (!held.pending) return;
  held.pending = false;
  of(g, r).release(held.era);
}

void Breakers::record(ClientGroup& g, Breaker& breaker, std::uint32_t era, ResponseClass result,
                      Duration length) {
  const bool was_open = breaker.state() == BreakerState::kOpen;
  breaker.record(g.spec->breaker, era, result, length, state_.now);
  if (!was_open && breaker.state() == BreakerState::kOpen) {
    g.recorder->breaker_opens(state_.now);
  }
}

void Breakers::not_sent(ClientGroup& g, const Request& r, ResponseClass error) {
  Held& held = held_[r.id];
  held.pending = false;
  record(g, of(g, r), held.era, error, Duration::zero());
}

void Breakers::ended(ClientGroup& g, const Request& r, const Attempt& a, ResponseClass answer) {
  record(g, of(g, r, a.at->place.instance), eras_[a.id], answer, state_.now - a.sent);
}

// A deadline, or another attempt that has decided the request, cuts the call off.
void Breakers::gave_up(ClientGroup& g, const Request& r, const Attempt& a, AttemptResult result) {
  Breaker& breaker = of(g, r, a.at->place.instance);
  if (result == AttemptResult::kTimeout) {
    return record(g, breaker, eras_[a.id], ResponseClass::kTimeout, state_.now - a.sent);
  }
  breaker.release(eras_[a.id]);
}

void Breakers::end(ClientGroup& g, const Request& r, Outcome outcome) {
  const Held& held = held_[r.id];
  if (!held.pending) return;
  if (g.breaker_of_attempts || outcome == Outcome::kNoSendToken) return release_pending(g, r);
  held_[r.id].pending = false;
  const ResponseClass result = outcome == Outcome::kSuccess            ? ResponseClass::kSuccess
                               : outcome == Outcome::kDeadlineExceeded ? ResponseClass::kTimeout
                                                                       : held.last_failure;
  record(g, of(g, r), held.era, result, state_.now - r.submitted);
}

std::uint32_t Breakers::note_failure(const Request& r, const Failure& failure) {
  held_[r.id].last_failure = failure.error.to_breaker();
  return held_[r.id].refusals;
}

std::int64_t Breakers::open_now(GroupId group) const {
  return std::ranges::count_if(by_group_[group].all,
                               [](const Breaker& b) { return b.state() == BreakerState::kOpen; });
}

}  // namespace retrysim::model
