// What a service does with an attempt besides serving it: turning it away, dropping it because it
// would be late, giving it up after a time limit. Steps of the life of a request that most
// scenarios do not take; request_life.cpp has the others.
//
// SPDX-License-Identifier: MIT
#include "model/world.hpp"

#include <algorithm>

namespace retrysim::model {

using kernel::EventKey;

// The queue does not take the attempt, or sheds it.
void World::overflow(std::uint32_t attempt) {
  const Attempt& a = attempts_[attempt];
  const ServiceAnswers& answers = service_answers_[a.service];
  const bool no_answer = services_[a.service].spec().overflow == Overflow::kDrop;
  recorder_.rejected(a.group, a.service, a.in_cohort, no_answer || answers.overflow_is_throttling);
  recorder_.refused(a.group, a.in_cohort);
  if (!no_answer) return turn_away(attempt, answers.overflow);
  services_[a.service].turn_out(a, now_);
  recorder_.dropped(a.group, a.in_cohort);
  discard(attempt);
}

// To say no may cost time, too.
void World::turn_away(std::uint32_t attempt, std::uint16_t answer) {
  Attempt& a = attempts_[attempt];
  Service& s = services_[a.service];
  if (s.spec().reject_cost == Duration::zero()) {
    s.turn_out(a, now_);
    return answer_with(attempt, answer);
  }
  a.answer = answer;
  s.turn_away(attempt, now_);
  service_changed(a.service);
}

// Whether a new request has side effects, and which token it carries.
void World::decide_side_effects(ClientGroup& g, std::uint32_t request) {
  Request& r = requests_[request];
  Draws draws(streams_.of_group(g.index), {r.entity, 0, 0, Purpose::kSideEffect});
  r.mutating = draws.uniform() < g.spec->mutating;
  if (!r.mutating) return;
  SideEffects::Account account;
  account.intent = r.entity;
  account.token = {r.entity, g.index};
  account.has_token = g.spec->idempotency_token;
  account.in_cohort = r.in_cohort;
  if (!g.last_tokens.empty()) {
    std::uint64_t& last = g.last_tokens[r.client];
    if (last != kNoToken && draws.uniform() < g.spec->token_reuse) account.token.token = last;
    last = account.token.token;
  }
  side_effects_->begin(request, account);
}

// An attempt with side effects has been served to the end.
void World::mutation_executed(std::uint32_t attempt, bool succeeded) {
  side_effects_->of_attempt(attempt).effects.effects += succeeded;
  services_[attempts_[attempt].service].mutation_executed(attempt, succeeded, now_);
}

// Whether the answer would come after the client has stopped waiting, if service began now.
bool World::would_be_late(std::uint32_t attempt) const {
  const Attempt& a = attempts_[attempt];
  if (a.given_up()) return true;
  const ClientGroup& g = groups_[a.group];
  const Request& r = requests_[a.request];
  Time latest = Time::max();
  if (g.spec->has_attempt_timeout) latest = timeout_of(g, a.request).time;
  if (g.deadline_source != kNone) latest = std::min(latest, armed(r.deadline.key()).time);
  if (latest == Time::max()) return false;
  const Service& s = services_[a.service];
  const Distribution& latency = scenario_.network.latency;
  const Duration way_back =
      latency.is_constant() ? latency.constant_value() + s.impairment().latency : Duration::zero();
  return now_ + s.service_time_of(attempt) + way_back > latest;
}

// Of a request with an attempt under way: as long as there is one, the timer runs.
EventKey World::timeout_of(const ClientGroup& g, std::uint32_t request) const {
  if (g.constant_timeout) return armed(requests_[request].timeout.key());
  return armed(varying_timeouts_.key_of(
      request, [this](std::uint32_t r) { return requests_[r].timeout_position; }));
}

// An attempt in service, or just served, whose client has given up.
void World::worked_in_vain(const Attempt& a) {
  // Where attempts share the servers, a level is kept of them: service_changed.
  if (services_[a.service].shares_processor()) return;
  recorder_.worked_in_vain(a.service, std::max(a.started, a.gave_up), now_);
}

// What an attempt that has been served took of the servers.
double World::server_time_ns(const Attempt& a) const {
  if (services_[a.service].shares_processor()) return a.work_left_ns;
  return static_cast<double>((a.finished - a.started).count());
}

// An attempt has been given server time for an answer that nobody waits for.
void World::answer_unused(const Attempt& a) {
  if (!a.executed && !a.goes_on) return;
  recorder_.answer_unused(a.service, server_time_ns(a), a.finished, a.executed);
}

// An admitted attempt of a service that watches over what it has admitted.
void World::enter_service(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  a.watched = true;
  const Duration timeout = services_[a.service].spec().timeout;
  if (timeout == Duration::max()) return;
  ServiceLimits& limits = service_limits_[a.service];
  const EventKey key = key_in(timeout);
  limits.lane.push_back(attempt, key, limit_link());
  queue_.offer(limits.source, key);
}

// It is served, or it goes in another way.
void World::end_watch(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  a.watched = false;
  ServiceLimits& limits = service_limits_[a.service];
  if (limits.source != kNone) limits.lane.erase(attempt, limit_link());
  services_[a.service].leave(attempt, now_);
}

// The client has the answer to one call of its attempt, and makes the next.
void World::next_call(std::uint32_t attempt) {
  Attempt& a = attempts_[attempt];
  a.goes_on = false;
  ++a.round;
  travel_to_service(attempt);
}

// The process dies and comes back empty: the connections of those that waited for it break.
void World::restart(std::size_t service) {
  Service& s = services_[service];
  std::vector<std::uint32_t> all = s.take_all(now_);
  for (const std::uint32_t id : calling_at(service)) {
    cancel_calls(id);
    s.abort(id, now_);
    all.push_back(id);
  }
  for (const std::uint32_t id : all) {
    const Attempt& a = attempts_[id];
    leave_service(id);
    if (a.given_up()) {
      if (a.stage != Attempt::Stage::kQueued) worked_in_vain(a);
      recorder_.dropped(a.group, a.in_cohort);
      release_attempt(id);
    } else {
      recorder_.error_answered(service);
      answer_with(id, refused_answer_);
    }
  }
  s.forget();
}

void World::scale(std::size_t service) {
  Service& s = services_[service];
  Autoscaler& scaler = *s.autoscaler();
  note_event(EventKind::kScaling, service_ranks_[service]);
  scaler.observe(s.busy(), s.working_servers(), now_);
  scaler.step(now_);
  s.rescale(now_);
  serve_queue(service);
  service_changed(service);
  queue_.set(scaling_sources_[service], {scaler.next(), sequence_++});
}

// The service's own timeout.
void World::pass_limit(std::size_t service) {
  const std::uint32_t id = service_limits_[service].lane.front();
  note_event(EventKind::kServiceTimeout, id);
  leave_service(id);
  Service& s = services_[service];
  const Attempt& a = attempts_[id];
  if (a.stage == Attempt::Stage::kQueued) {
    s.remove_from_queue(id, now_);
  } else {
    if (a.stage == Attempt::Stage::kCalling) cancel_calls(id);
    s.abort(id, now_);
    if (a.given_up()) worked_in_vain(a);
    serve_queue(service);
  }
  service_changed(service);
  if (a.given_up()) {
    recorder_.dropped(a.group, a.in_cohort);
    return release_attempt(id);
  }
  recorder_.error_answered(service);
  answer_with(id, service_answers_[service].timeout);
}

}  // namespace retrysim::model
