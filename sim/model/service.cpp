// SPDX-License-Identifier: MIT
#include "model/service.hpp"

#include "model/slowdown.hpp"

#include <cassert>
#include <cmath>
#include <utility>

namespace retrysim::model {

Service::Service(const ServiceSpec& spec, const RandomKey& key, std::uint16_t conflict,
                 const Streams* streams, kernel::Pool<Attempt>* attempts, std::uint64_t* sequence)
    : spec_(&spec),
      streams_(streams),
      attempts_(attempts),
      servers_(make_servers(spec, attempts, sequence)),
      queue_capacity_(static_cast<std::uint64_t>(spec.queue_capacity)),
      working_(spec.servers),
      controls_delay_(spec.discipline == Discipline::kCodel),
      limits_concurrency_(!ConcurrencyLimit(spec.concurrency).is_unlimited()),
      always_succeeds_(spec.model == ServiceModelKind::kQueue),
      watches_attempts_(limits_concurrency_ || spec.timeout != Duration::max()),
      model_(make_service_model(spec, conflict)),
      line_(spec.discipline, attempts, key),
      rejections_(Discipline::kFifo, attempts, key),
      codel_(spec.codel),
      concurrency_(spec.concurrency),
      throttle_(spec.throttle) {
  if (spec.autoscaling.target > 0) autoscaler_.emplace(spec.autoscaling, spec.servers);
}

Service::Servers Service::make_servers(const ServiceSpec& spec, kernel::Pool<Attempt>* attempts,
                                       std::uint64_t* sequence) {
  if (spec.discipline == Discipline::kProcessorSharing) {
    return SharedServers(attempts, sequence, spec.servers);
  }
  return OwnServers(attempts, sequence, spec.servers, spec.autoscaling.max);
}

Service::Admission Service::admit(std::uint32_t id, Attempt& attempt, Time now) {
  if (!limits_concurrency_) return admit_if_queue_has_room(id, attempt, now);
  if (!concurrency_.has_room()) return Admission::kFull;
  const Admission admission = admit_if_queue_has_room(id, attempt, now);
  if (admission != Admission::kFull) concurrency_.enter(id);
  return admission;
}

Service::Admission Service::admit_if_queue_has_room(std::uint32_t id, Attempt& attempt, Time now) {
  if (has_room() && queued() == 0) {
    const auto is_full = [this](const auto& s) { return s.is_full(queue_capacity_); };
    if (of_servers(is_full)) return Admission::kFull;
    start(id, attempt, now);
    return Admission::kStarted;
  }
  if (line_.size() >= queue_capacity_) return Admission::kFull;
  attempt.stage = Attempt::Stage::kQueued;
  line_.push(id);
  return Admission::kQueued;
}

void Service::turn_away(std::uint32_t attempt, Time now) {
  Attempt& a = (*attempts_)[attempt];
  a.rejection = true;
  if (has_room() && queued() == 0) return start(attempt, a, now);
  a.stage = Attempt::Stage::kQueued;
  rejections_.push(attempt);
}

void Service::start(std::uint32_t id, Attempt& a, Time now) {
  a.stage = Attempt::Stage::kInService;
  a.started = now;
  time_spent_.queued += (now - a.arrived).count();
  if (a.mutating && sessions_ != nullptr) [[unlikely]]
    look_at_token(id, now);
  a.work_left_ns = demand_ns(a);
  of_servers([&](auto& s) { s.start(id, a, now); });
}

// What the attempt takes of a server of speed 1.
double Service::demand_ns(const Attempt& a) const {
  if (a.rejection) return static_cast<double>(spec_->reject_cost.count());
  if (a.replay) return static_cast<double>(spec_->idempotency.replay_cost.count());
  const Purpose purpose = a.round == 0 ? Purpose::kServiceTime : Purpose::kSecondServiceTime;
  const RandomKey& key = streams_->of_group(a.group);
  const DrawId id{a.entity, a.number, 0, purpose};
  auto own = static_cast<double>(spec_->service_time.sample(key, id).count());
  if (!operations_.empty()) [[unlikely]]
    own = std::round(own * operations_.work(key, a.entity, a.group));
  if (!spec_->slows_down()) return own;
  const std::int64_t others = of_servers([](const auto& s) { return s.in_service(); });
  return std::round(own * slowdown_factor(*spec_, others));
}

Duration Service::service_time_of(std::uint32_t attempt) const {
  const double demand = demand_ns((*attempts_)[attempt]);
  if (demand == 0) return Duration::zero();
  const double speed = impairment_.speed;
  return speed > 0 ? Duration::from_nanoseconds(demand / speed) : Duration::max();
}

std::uint32_t Service::complete(Time now) {
  const std::uint32_t attempt = of_servers([now](auto& s) { return s.complete(now); });
  Attempt& a = (*attempts_)[attempt];
  a.finished = now;
  time_spent_.in_system += (now - a.arrived).count();
  a.executed = !a.rejection && !a.replay;
  a.stage = Attempt::Stage::kOnTheWire;
  return attempt;
}

std::uint32_t Service::hold(Time now) {
  const std::uint32_t attempt = of_servers([now](auto& s) { return s.hold(now); });
  (*attempts_)[attempt].stage = Attempt::Stage::kCalling;
  return attempt;
}

void Service::release(std::uint32_t attempt, Time now) {
  of_servers([](auto& s) { s.let_go(); });
  Attempt& a = (*attempts_)[attempt];
  a.finished = now;
  time_spent_.in_system += (now - a.arrived).count();
  a.executed = true;
  a.stage = Attempt::Stage::kOnTheWire;
}

std::uint32_t Service::take_from_queue() {
  if (!has_room()) return kNone;
  if (controls_delay_ && line_.empty()) codel_.queue_is_empty();
  if (queued() == 0) return kNone;
  return rejections_.empty() ? line_.pop() : rejections_.pop();
}

void Service::remove_from_queue(std::uint32_t attempt, Time now) {
  const Attempt& a = (*attempts_)[attempt];
  assert(a.stage == Attempt::Stage::kQueued);
  leave_unserved(a, now);
  (a.rejection ? rejections_ : line_).erase(attempt);
}

void Service::abort(std::uint32_t attempt, Time now) {
  close_session(attempt);
  const Attempt& a = (*attempts_)[attempt];
  time_spent_.in_system += (now - a.arrived).count();
  if (a.stage == Attempt::Stage::kCalling) {
    return of_servers([](auto& s) { s.let_go(); });
  }
  assert(a.stage == Attempt::Stage::kInService);
  of_servers([&](auto& s) { s.abort(attempt, now); });
}

std::vector<std::uint32_t> Service::take_all(Time now) {
  std::vector<std::uint32_t> all = of_servers([now](auto& s) { return s.take_all(now); });
  for (const std::uint32_t attempt : all) {
    time_spent_.in_system += (now - (*attempts_)[attempt].arrived).count();
  }
  const std::size_t served = all.size();
  while (!rejections_.empty()) all.push_back(rejections_.pop());
  while (!line_.empty()) all.push_back(line_.pop());
  for (std::size_t i = served; i < all.size(); ++i) leave_unserved((*attempts_)[all[i]], now);
  for (const std::uint32_t attempt : all) close_session(attempt);
  return all;
}

void Service::remember_tokens(TokenAnswers answers, std::shared_ptr<Sessions> sessions) {
  sessions_ = std::move(sessions);
  token_answers_ = answers;
}

// Begins a session for an attempt that is to be executed; decides what another is answered.
void Service::look_at_token(std::uint32_t attempt, Time now) {
  Attempt& a = (*attempts_)[attempt];
  if (a.rejection || a.has_session) return;
  SideEffects::Account& account = books_->of_attempt(attempt);
  if (!account.has_token) return;
  const IdempotencySpec& rules = spec_->idempotency;
  switch (sessions_->find(account.token, account.intent, now)) {
    case Sessions::Found::kNothing:
      if (account.effects.effects > 0) ++account.effects.expired_replays;
      a.has_session = true;
      sessions_->begin(account.token, account.intent);
      return;
    case Sessions::Found::kInProgress:
      if (rules.in_progress == InProgress::kExecute) return;
      a.answer = token_answers_.in_progress;
      break;
    case Sessions::Found::kDone:
      ++account.effects.replays;
      a.answer = rules.replay == IdempotentReplay::kEquivalent ? 0 : token_answers_.already_exists;
      break;
    case Sessions::Found::kOtherIntent:
      ++account.effects.mismatches;
      a.answer = token_answers_.mismatch;
      break;
  }
  a.replay = true;
}

void Service::mutation_executed(std::uint32_t attempt, bool succeeded, Time now) {
  if (sessions_ == nullptr) return;
  const SideEffects::Account& account = books_->of_attempt(attempt);
  if (succeeded && account.has_token) {
    (*attempts_)[attempt].has_session = false;
    sessions_->done(account.token, account.intent, now);
  } else {
    close_session(attempt);
  }
}

void Service::close_session(std::uint32_t attempt) {
  Attempt& a = (*attempts_)[attempt];
  if (!a.has_session) return;
  a.has_session = false;
  sessions_->drop(books_->of_attempt(attempt).token);
}

void Service::forget(bool throttle_too) {
  codel_ = Codel(spec_->codel);
  concurrency_.reset();
  if (throttle_too) throttle_.forget();
}

void Service::impair(Impairment impairment, Time now) {
  impairment_ = std::move(impairment);
  screens_arrivals_ = spec_->throttle.rate > 0 || !impairment_.errors.empty();
  if (spec_->servers == ServiceSpec::kUnlimited) {
    working_ = impairment_.capacity > 0 ? ServiceSpec::kUnlimited : 0;
  } else {
    constexpr double kMost = 1e18;  // still counts as an integer
    const auto servers = static_cast<double>(autoscaler_ ? autoscaler_->servers() : spec_->servers);
    working_ = std::llround(std::min(kMost, servers * impairment_.capacity));
  }
  most_working_ = std::max(most_working_, working_);
  of_servers([&](auto& pool) { pool.set_power(working_, impairment_.speed, now); });
}

}  // namespace retrysim::model
