// Building a world and running its events. What each event means is in request_life.cpp.
//
// SPDX-License-Identifier: MIT
#include "model/world.hpp"

#include "model/name_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace retrysim::model {

using kernel::EventKey;

namespace {

constexpr std::uint64_t kMaxEventsPerInstant = 10'000'000;
constexpr std::uint64_t kEventsPerClient = 5;
constexpr std::uint64_t kEventsBetweenLooks = 1 << 16;  // at the stop flag and the progress

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

}  // namespace

World::World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options)
    : scenario_(scenario),
      options_(options),
      replication_(replication),
      streams_(scenario, replication),
      groups_by_name_(name_order(scenario.clients)),
      services_by_name_(name_order(scenario.services)),
      service_ranks_(scenario.services.size()),
      recorder_(scenario, replication),
      end_of_submissions_(Time::zero() + scenario.duration) {
  for (std::size_t rank = 0; rank < services_by_name_.size(); ++rank) {
    service_ranks_[services_by_name_[rank]] = rank;
  }
  answers_.emplace_back();  // answer 0: success
  Response refused;
  refused.status = 0;
  refused.transport = TransportError::kConnection;
  refused_answer_ = static_cast<std::uint16_t>(answers_.size());
  answers_.push_back(refused);
  Response no_answer = refused;
  no_answer.transport = TransportError::kTimeout;
  no_answer_ = static_cast<std::uint16_t>(answers_.size());
  answers_.push_back(no_answer);
  faults_.emplace(scenario, [this](const ErrorAnswer& e) { return answer(e); });
  sequence_ = faults_->size();  // the faults are scheduled first
  for (std::size_t i = 0; i < scenario.services.size(); ++i) {
    const ServiceSpec& s = scenario.services[i];
    const bool conflicts = s.model == ServiceModelKind::kOcc;
    services_.emplace_back(
        s, i, conflicts ? answer({503, "TransactionConflictException"}) : std::uint16_t{0},
        &streams_, &attempts_, &sequence_);
    services_.back().impair(faults_->at(i, Time::zero()), Time::zero());
    recorder_.service_levels(i, 0, 0, 0, services_.back().working_servers(), Time::zero());
    services_.back().set_operations(i, scenario.clients);
    ServiceAnswers a;
    const ErrorAnswer unavailable{503, "ServiceUnavailable"}, invalid{400, "ValidationException"},
        throttling{400, "ThrottlingException"}, timeout{504, "GatewayTimeout"};
    a.call_failed = answer(unavailable);
    a.throttled = answer(throttling, s.throttle.retry_after);
    a.overflow_is_throttling = s.overflow == Overflow::kThrottled;
    a.overflow = s.overflow == Overflow::kThrottled ? a.throttled
                 : s.overflow == Overflow::kInvalid ? answer(invalid)
                                                    : answer(unavailable);
    if (s.timeout != Duration::max()) a.timeout = answer(timeout);
    service_answers_.push_back(a);
    if (s.idempotency.remembers()) {
      services_.back().remember_tokens({answer({409, "EntityAlreadyExists"}),
                                        answer({400, "PriorRequestNotComplete"}),
                                        answer({400, "IdempotentParameterMismatch"})});
    }
  }
  link_services();
  groups_.resize(scenario.clients.size());
  for (const std::size_t i : groups_by_name_) add_group(i);
  add_sources();
  for (Service& s : services_) s.keep_books(side_effects_ ? &*side_effects_ : nullptr);
  start_closed_loops();
}

std::uint16_t World::answer(const ErrorAnswer& error, Duration retry_after) {
  Response r;
  r.status = error.status;
  r.code = error.code;
  if (retry_after > Duration::zero()) r.retry_after = retry_after;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const Response& a = answers_[i];
    if (a.status == r.status && a.code == r.code && a.retry_after == r.retry_after) {
      return static_cast<std::uint16_t>(i);
    }
  }
  answers_.push_back(r);
  return static_cast<std::uint16_t>(answers_.size() - 1);
}

void World::add_group(std::size_t index) {
  const ClientSpec& spec = scenario_.clients[index];
  const RetryRules& rules = spec.retry;
  ClientGroup& g = groups_[index];
  g.spec = &spec;
  g.index = static_cast<std::uint16_t>(index);
  g.service = static_cast<std::uint16_t>(spec.service);
  most_at_once_ +=
      std::uint64_t{spec.count} * spec.arrivals.concurrency + spec.arrivals.rows.size();
  for (const Response& a : answers_) g.errors.push_back(classify(rules.errors, rules.api, a));
  g.mutates = spec.mutating > 0;
  if (g.mutates && !side_effects_) side_effects_.emplace(&recorder_);
  const Distribution& connect = scenario_.network.connect;
  const bool connect_takes_time =
      !connect.is_constant() || connect.constant_value() > Duration::zero();
  const kernel::Claim claim;
  g.take_memory(spec, connect_takes_time, claim);
  g.constant_timeout = spec.has_attempt_timeout && spec.attempt_timeout.is_constant();
  g.constant_timeout_length = spec.attempt_timeout.constant_value();
  if (spec.strategy) {
    for (std::uint32_t i = 0; i < spec.count; ++i) g.strategies.push_back(spec.strategy(i));
  } else {
    g.states = RetryStates(rules, spec.count, Time::zero());
  }
  if (!g.states.quotas().empty()) {
    recorder_.quota_starts(index, g.states.quotas().size(), g.states.quotas().front().available);
  }
  connections_take_time_ = connect_takes_time;
  if (options_.retries_until != Time::max()) {
    g.last_rules = rules;
    g.last_rules.max_attempts = 1;
  }
  const bool hedging = !spec.strategy && rules.hedging.enabled;
  g.gated = g.states.limit_send_rate() || g.states.throttle() || !g.connections.empty() || hedging;
  g.counts_requests = !spec.strategy && (rules.budget.kind != BudgetKind::kNone ||
                                         rules.quota.credit_on == CreditOn::kStart);
  g.hedges = rules.hedging.enabled;
  g.books_successes = spec.strategy || !g.states.empty();
  g.begins_in_steps = g.counts_requests || spec.strategy;
  g.ends_in_steps = spec.deadline != Duration::max() || !g.due.empty() || g.counts_requests ||
                    g.hedges || g.mutates;
  g.new_request.group = g.new_attempt.group = g.index;
  g.new_request.open = true;
  g.new_request.send_tokens = g.states.limit_send_rate() ? 1 : 0;
  g.new_attempt.service = g.service;
  g.new_attempt.priority = spec.priority;
  g.closed = !spec.caller && spec.arrivals.process == ArrivalProcess::kClosed;
  if (!g.closed && !spec.caller) {
    g.arrivals.emplace(spec, streams_.of_group(index), &sequence_, end_of_submissions_,
                       options_.max_events);
    if (spec.arrivals.process == ArrivalProcess::kPoll) {
      g.polling.emplace(spec.arrivals, streams_.of_group(index));
    }
  }
}

bool World::messages_take_time() const {
  const Distribution& latency = scenario_.network.latency;
  return connections_take_time_ || !latency.is_constant() ||
         latency.constant_value() > Duration::zero() ||
         std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const FaultSpec& f) {
           return f.latency > Duration::zero() || f.unreachable;
         });
}

// The fewer sources, the cheaper each event: only those that can have events.
void World::add_sources() {
  using kernel::SourceRole;
  auto add = [this](EventKind kind, std::size_t index, SourceRole role = SourceRole::kPlain) {
    sources_.push_back({kind, static_cast<std::uint32_t>(index)});
    return queue_.add(role);
  };
  timer_source_ = add(EventKind::kBackoffEnd, 0);
  first_service_source_ = static_cast<std::uint32_t>(sources_.size());
  for (std::size_t i = 0; i < services_.size(); ++i) {
    add(EventKind::kCompletion, i, SourceRole::kAnswer);
  }
  service_limits_.resize(services_.size());
  for (std::size_t i = 0; i < services_.size(); ++i) {
    if (services_[i].spec().timeout == Duration::max()) continue;
    service_limits_[i].source = add(EventKind::kServiceTimeout, i, SourceRole::kTimeout);
  }
  scaling_sources_.assign(services_.size(), kNone);
  for (std::size_t i = 0; i < services_.size(); ++i) {
    if (services_[i].autoscaler() == nullptr) continue;
    scaling_sources_[i] = add(EventKind::kScaling, i);
    some_scale_ = true;
  }
  if (faults_->size() > 0) fault_source_ = add(EventKind::kFault, 0);
  network_takes_time_ = messages_take_time();
  if (network_takes_time_) {
    request_lane_source_ = add(EventKind::kAttemptArrives, 0);
    response_lane_source_ = add(EventKind::kResponseArrives, 0, SourceRole::kAnswer);
    response_heap_source_ = add(EventKind::kResponseArrives, 0, SourceRole::kAnswer);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    ClientGroup& g = groups_[i];
    if (g.arrivals) g.arrival_source = add(EventKind::kArrival, i);
    if (g.constant_timeout) g.timeout_source = add(EventKind::kTimeout, i, SourceRole::kTimeout);
    if (g.spec->deadline != Duration::max())
      g.deadline_source = add(EventKind::kDeadline, i, SourceRole::kTimeout);
    if (g.states.limit_send_rate())
      g.wake_source = add(EventKind::kSendTokenDue, i, SourceRole::kTimer);
    if (g.spec->has_attempt_timeout && !g.constant_timeout && varying_timeout_source_ == kNone) {
      varying_timeout_source_ = add(EventKind::kTimeout, i, SourceRole::kTimeout);
    }
  }
  for (const std::size_t i : services_by_name_) {
    if (scaling_sources_[i] == kNone) continue;
    service_changed(i);
    queue_.offer(scaling_sources_[i], {services_[i].autoscaler()->next(), sequence_++});
  }
  if (fault_source_ != kNone) queue_.offer(fault_source_, {faults_->next(), faults_begun_});
  for (const ClientGroup& g : groups_) {
    if (g.arrivals && g.arrivals->head().time < end_of_submissions_) {
      queue_.offer(g.arrival_source, g.arrivals->head());
    }
  }
}

void World::start_closed_loops() {
  StopCounter<> stop;
  for (const std::size_t i : groups_by_name_) {
    ClientGroup& g = groups_[i];
    if (!g.closed) continue;
    for (std::uint32_t client = 0; client < g.spec->count; ++client) {
      for (std::uint32_t k = 0; k < g.spec->arrivals.concurrency; ++k) {
        think(g, client, Time::zero());
        stop.count();
      }
    }
  }
}

RunResult World::run() {
  try {
    while (next_event()) {
    }
  } catch (const kernel::TimerMisused& e) {
    violated(e.what());
  }
  close_books();
  RunResult result = recorder_.finish(now_);
  result.events = events_;
  result.fingerprint = options_.fingerprint ? fingerprint_ : 0;
  check_conservation(result);
  return result;
}

bool World::next_event() {
  const kernel::EventQueue::Next next =
      queue_.next([this](std::uint32_t source) { return true_head(source); });
  if (next.time >= end_of_submissions_ && is_over(next.time)) [[unlikely]]
    return false;
  if (next.time != now_) {
    assert(next.time > now_);
    now_ = next.time;
    instant_events_ = events_ + steps_;
    recorder_.advance(now_);
  }
  if (++events_ + steps_ >= next_look_) [[unlikely]]
    look_around();
  dispatch(next.source);
  if (unsettled_) [[unlikely]]
    settle();
  return true;
}

// Whether the run ends before the event at `next`, which is not before the end of submissions.
bool World::is_over(Time next) const {
  if (next == Time::max() || !scenario_.drain) return true;
  if (requests_.live() == 0 && attempts_.live() == 0 && !jobs_are_open()) return true;
  return next > end_of_submissions_ + scenario_.drain_limit;
}

// Of a source whose timers may have been cancelled.
EventKey World::true_head(std::uint32_t source) const {
  if (source == varying_timeout_source_) return varying_timeouts_.head();
  if (sources_[source].kind == EventKind::kServiceTimeout) {
    const kernel::TimerLane& lane = service_limits_[sources_[source].index].lane;
    return lane.empty() ? EventKey::never() : armed(attempts_[lane.front()].limit.key());
  }
  const ClientGroup& g = groups_[sources_[source].index];
  if (source == g.wake_source) return g.wakes.head();
  if (source == g.timeout_source) {
    return g.timeouts.empty() ? EventKey::never()
                              : armed(requests_[g.timeouts.front()].timeout.key());
  }
  return g.deadlines.empty() ? EventKey::never()
                             : armed(requests_[g.deadlines.front()].deadline.key());
}

void World::dispatch(std::uint32_t source) {
  const Source s = sources_[source];
  switch (s.kind) {
    case EventKind::kFault:
      return change_faults();
    case EventKind::kArrival:
      return next_arrival(groups_[s.index]);
    case EventKind::kCompletion:
      return complete(s.index);
    case EventKind::kTimeout:
      return timeout_fires(source);
    case EventKind::kDeadline: {
      const std::uint32_t request = groups_[s.index].deadlines.front();
      note_event(EventKind::kDeadline, request);
      return pass_deadline(request);
    }
    case EventKind::kBackoffEnd:
    case EventKind::kThinkEnd:
    case EventKind::kSendWaitEnd:
    case EventKind::kHedgeDue:
    case EventKind::kErrorReturned:
    case EventKind::kCheckDue:
      return timer_due();
    case EventKind::kAttemptArrives:
      return attempt_arrives(source);
    case EventKind::kResponseArrives:
      return response_arrives(source);
    case EventKind::kSendTokenDue:
      return wake(groups_[s.index]);
    case EventKind::kServiceTimeout:
      return pass_limit(s.index);
    case EventKind::kScaling:
      return scale(s.index);
  }
}

void World::timeout_fires(std::uint32_t source) {
  const std::uint32_t request = source == varying_timeout_source_
                                    ? varying_timeouts_.front()
                                    : groups_[sources_[source].index].timeouts.front();
  note_event(EventKind::kTimeout, request);
  time_out(request);
}

void World::attempt_arrives(std::uint32_t source) {
  const std::uint32_t attempt = requests_on_the_way_.pop_front().entity;
  queue_.set(source, requests_on_the_way_.head());
  note_event(EventKind::kAttemptArrives, attempt);
  arrive(attempt, attempts_[attempt]);
}

void World::response_arrives(std::uint32_t source) {
  const bool lane = source == response_lane_source_;
  const std::uint32_t attempt =
      lane ? responses_on_the_way_.pop_front().entity : late_responses_.pop().entity;
  queue_.set(source, lane ? responses_on_the_way_.head() : late_responses_.head());
  note_event(EventKind::kResponseArrives, attempt);
  deliver(attempt, attempts_[attempt]);
}

void World::change_faults() {
  const FaultTimeline::Change change = faults_->pop();
  const std::size_t service = change.service;
  note_event(EventKind::kFault, service_ranks_[service]);
  if (change.cold_restart) restart(service);
  services_[service].impair(faults_->at(service, now_), now_);
  serve_queue(service);
  service_changed(service);
  queue_.set(fault_source_, {faults_->next(), ++faults_begun_});
}

void World::next_arrival(ClientGroup& g) {
  const Arrival arrival = g.arrivals->pop();
  const EventKey next = g.arrivals->head();
  queue_.set(g.arrival_source, next.time < end_of_submissions_ ? next : EventKey::never());
  note_event(EventKind::kArrival, arrival.entity);
  if (g.polling) [[unlikely]]
    return begin_job(g, arrival.client, arrival.entity);
  submit(g, arrival.client, arrival.entity);
}

void World::timer_due() {
  const kernel::TimerEntry timer = timers_.pop();
  queue_.set(timer_source_, timers_.head());
  const auto kind = static_cast<EventKind>(timer.kind & 0xff);
  ClientGroup& g = groups_[timer.kind >> 8];
  note_event(kind, timer.entity);
  if (kind == EventKind::kAttemptArrives) {
    return arrive(timer.entity, attempts_[timer.entity]);
  }
  if (kind == EventKind::kThinkEnd) {
    return submit(g, timer.entity, client_entity(timer.entity, g.ordinals[timer.entity]++));
  }
  if (kind == EventKind::kCheckDue) return check_due(g, timer.entity);
  if (kind == EventKind::kHedgeDue) return hedge_due(g, timer.entity, timer.key.sequence);
  if (kind == EventKind::kSendWaitEnd) return send_wait_over(g, timer.entity);
  Request& r = requests_[timer.entity];
  recorder_.backoff_ends(g.index, r.in_cohort, r.progress.attempts + 1, r.phase_since, now_);
  if (kind == EventKind::kErrorReturned) return finish(g, timer.entity, Outcome::kQuotaExceeded);
  begin_attempt(g, timer.entity);
}

void World::schedule_timer(EventKind kind, std::uint16_t group, std::uint32_t entity,
                           Duration delay) {
  timers_.push({key_in(delay), entity,
                static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(group) << 8});
  queue_.offer(timer_source_, timers_.head());
}

void World::schedule_response(std::uint32_t attempt, Duration delay) {
  const kernel::TimerEntry entry{key_in(delay), attempt, 0};
  if (scenario_.network.latency.is_constant() && responses_on_the_way_.push_back(entry)) {
    queue_.offer(response_lane_source_, responses_on_the_way_.head());
  } else {
    late_responses_.push(entry);
    queue_.offer(response_heap_source_, late_responses_.head());
  }
}

void World::service_changed(std::size_t service) {
  Service& s = services_[service];
  queue_.set(first_service_source_ + static_cast<std::uint32_t>(service), s.next_completion());
  recorder_.service_levels(service, s.busy(), s.in_system(), s.queued(), s.working_servers(), now_);
  if (some_scale_) [[unlikely]] {
    if (Autoscaler* a = s.autoscaler()) a->observe(s.busy(), s.working_servers(), now_);
  }
  if (s.shares_processor()) recorder_.busy_in_vain(service, s.busy_in_vain(), now_);
}

// Now and then: has a limit been passed, does somebody want to know how far we are, or to stop?
void World::look_around() {
  const std::uint64_t done = events_ + steps_;
  if (done > options_.max_events) {
    throw LimitExceeded(fmt::format("more than {} events: replication {} stopped at {} s",
                                    options_.max_events, replication_, now_.in_seconds()),
                        LimitKind::kEvents);
  }
  // A herd may be as large as it likes, and all of it may be served at one instant; what must not
  // go on is the same few requests going round and round.
  if (done - instant_events_ > kMaxEventsPerInstant + kEventsPerClient * most_at_once_) {
    throw LimitExceeded(
        fmt::format("ten million events at {} s of simulated time (replication {}): requests and "
                    "answers go round in a loop that takes no time, or arrive at an impossible "
                    "rate; give the service, the network, the backoff or the think time a positive "
                    "duration, or limit the attempts",
                    now_.in_seconds(), replication_),
        LimitKind::kInstant);
  }
  stop_point();
  check_memory();
  if (options_.progress != nullptr) {
    options_.progress->store(now_.count(), std::memory_order_relaxed);
  }
  next_look_ = std::min(done + kEventsBetweenLooks,
                        options_.max_events + (options_.max_events < ~std::uint64_t{0}));
}

// What an event has left to be done at the same instant. None of these steps takes another of them
// itself, so the lists take the place of a stack, and every turn of an endless chain is counted.
void World::settle() {
  while (!answered_.empty() || !connected_.empty() || !calls_over_.empty()) {
    deliver_answered();
    send_connected();
    go_on_after_calls();
  }
  unsettled_ = false;
}

void World::deliver_answered() {
  answering_.swap(answered_);
  for (const std::uint32_t attempt : answering_) {
    count_step();
    deliver(attempt, attempts_[attempt]);
  }
  answering_.clear();
}

void World::note_event(EventKind kind, std::uint64_t entity) {
  if (!options_.fingerprint) return;
  fingerprint_ = mix(fingerprint_, static_cast<std::uint64_t>(now_.count()));
  fingerprint_ = mix(fingerprint_, static_cast<std::uint64_t>(kind) << 56 ^ entity);
}

// Requests that are still open at the end of the run are unfinished.
void World::close_books() {
  close_jobs();
  open_attempts_.assign(groups_.size(), 0);
  for (std::uint32_t id = 0; id < requests_.slots(); ++id) {
    const Request& r = requests_[id];
    if (!r.open) continue;
    if (r.phase == Request::Phase::kInBackoff) {
      recorder_.backoff_goes_on(r.group, r.progress.attempts + 1, r.phase_since);
    }
    for (std::uint32_t a = r.attempt; a != kNone; a = attempts_[a].sibling) {
      if (r.in_cohort) ++open_attempts_[r.group];
    }
    recorder_.ended(r.group, r.client, r.in_cohort, Outcome::kUnfinished, r.progress.attempts,
                    r.submitted, now_);
    ++ended_;
  }
  if (side_effects_) side_effects_->close();
  for (std::size_t i = 0; i < services_.size(); ++i) {
    recorder_.busy_in_vain(i, 0, now_);
    if (services_[i].shares_processor()) continue;
    const auto work_goes_on = [&](std::uint32_t id) {
      const Attempt& a = attempts_[id];
      if (a.given_up()) {
        recorder_.worked_in_vain(i, std::max(a.started, a.gave_up), end_of_submissions_);
      }
    };
    services_[i].for_each_in_service(work_goes_on);
    for (const std::uint32_t id : calling_at(i)) work_goes_on(id);
  }
}

}  // namespace retrysim::model

namespace retrysim {

RunResult simulate(const Scenario& scenario, std::uint32_t replication,
                   const SimulationOptions& options) {
  if (std::max({scenario.duration, scenario.drain_limit, scenario.interval}) > kLongestDuration) {
    throw std::invalid_argument("duration, drain_limit and interval may be 1e9 s at most");
  }
  if (scenario.warmup_is_auto) {
    throw std::invalid_argument("the warm-up has to be found first; see run_experiment");
  }
  const StopScope scope(options.stop);
  return model::World(scenario, replication, options).run();
}

}  // namespace retrysim
