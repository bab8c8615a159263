// SPDX-License-Identifier: MIT
#include "model/client/breakers.hpp"

#include "model/run/trace.hpp"

#include <algorithm>

namespace retrysim::model {

template <class Take>
void Breakers::take_memory(const Scenario& scenario, const ClientSpec& client,
                           std::vector<Breaker>& breakers, Take& take) {
  if (!client.breaker.in_use()) return;
  std::size_t count = client.breaker.scope == BreakerScope::kGroup ? 1 : client.count;
  if (client.breaker.scope == BreakerScope::kService) count *= scenario.services.size();
  const Breaker fresh(client.breaker);
  take(breakers, count, fresh, fresh.further_bytes());
}

void Breakers::prepare() {
  const kernel::Claim claim;
  by_group_.resize(groups_.size());
  for (const ClientGroup& g : groups_) {
    std::vector<Breaker>& own = by_group_[g.index];
    take_memory(state_.scenario, *g.spec, own, claim);
    if (g.has_breaker()) g.recorder->breakers.starts(own.size());
  }
}

std::uint64_t Breakers::bytes_of(const Scenario& scenario, const ClientSpec& client) {
  std::vector<Breaker> none;
  kernel::Tally tally;
  take_memory(scenario, client, none, tally);
  return tally.bytes();
}

Breaker& Breakers::of(const ClientGroup& g, const Request& r) {
  std::vector<Breaker>& all = by_group_[g.index];
  switch (g.spec->breaker.scope) {
    case BreakerScope::kGroup:
      return all.front();
    case BreakerScope::kService: {
      const ServiceId service =
          g.calls_several ? g.about.service(*g.key, r.entity) : ServiceId(g.spec->service);
      return all[r.client * state_.scenario.services.size() + service];
    }
    case BreakerScope::kClient:
      break;
  }
  return all[r.client];
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

bool Breakers::ask_for_request(ClientGroup& g, const Request& r) {
  const bool goes = ask(g, r);
  held_[r.id].refusals = 0;  // the retry strategy does not hear of it
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

void Breakers::record(ClientGroup& g, const Request& r, std::uint32_t era, ResponseClass result,
                      Duration length) {
  Breaker& breaker = of(g, r);
  const bool was_open = breaker.state() == BreakerState::kOpen;
  breaker.record(g.spec->breaker, era, result, length, state_.now);
  if (!was_open && breaker.state() == BreakerState::kOpen) {
    g.recorder->breaker_opens(state_.now);
  }
}

void Breakers::not_sent(ClientGroup& g, const Request& r, ResponseClass error) {
  Held& held = held_[r.id];
  held.pending = false;
  record(g, r, held.era, error, Duration::zero());
}

void Breakers::ended(ClientGroup& g, const Request& r, const Attempt& a, ResponseClass answer) {
  record(g, r, eras_[a.id], answer, state_.now - a.sent);
}

// A deadline, or another attempt that has decided the request, cuts the call off.
void Breakers::gave_up(ClientGroup& g, const Request& r, const Attempt& a, AttemptResult result) {
  if (result == AttemptResult::kTimeout) {
    return record(g, r, eras_[a.id], ResponseClass::kTimeout, state_.now - a.sent);
  }
  of(g, r).release(eras_[a.id]);
}

void Breakers::end(ClientGroup& g, const Request& r, Outcome outcome) {
  const Held& held = held_[r.id];
  if (!held.pending) return;
  if (g.breaker_of_attempts || outcome == Outcome::kNoSendToken) return release_pending(g, r);
  held_[r.id].pending = false;
  const ResponseClass result = outcome == Outcome::kSuccess            ? ResponseClass::kSuccess
                               : outcome == Outcome::kDeadlineExceeded ? ResponseClass::kTimeout
                                                                       : held.last_failure;
  record(g, r, held.era, result, state_.now - r.submitted);
}

std::uint32_t Breakers::note_failure(const Request& r, const Failure& failure) {
  held_[r.id].last_failure = failure.error.response_class;
  return held_[r.id].refusals;
}

std::int64_t Breakers::open_now(GroupId group) const {
  return std::ranges::count_if(by_group_[group],
                               [](const Breaker& b) { return b.state() == BreakerState::kOpen; });
}

}  // namespace retrysim::model
