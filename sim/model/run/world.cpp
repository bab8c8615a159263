// SPDX-License-Identifier: MIT
#include "model/run/world.hpp"

#include "kernel/memory.hpp"
#include "model/run/names.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <stdexcept>

namespace retrysim::model {

using kernel::EventKey;

namespace {

// Scenario files are checked when they are read; this is for those made in C++.
void check_instances(const ServiceSpec& spec) {
  if (spec.instances.count == 0 || spec.instances.count > InstancesSpec::kMost) {
    throw std::invalid_argument("a service has between 1 and 1000 instances");
  }
  if (spec.instances.count == 1) return;
  if (spec.autoscaling.target > 0 || spec.model == ServiceModelKind::kOcc) {
    throw std::invalid_argument(
        "a service with several instances has neither autoscaling nor the model occ");
  }
}

void check_idempotency(const ServiceSpec& spec) {
  if (spec.model != ServiceModelKind::kOcc) return;
  // The write of the attempt that is waited for might not find a server.
  if (spec.idempotency.remembers() && spec.idempotency.in_progress == InProgress::kWait) {
    throw std::invalid_argument("at a service with the model occ no attempt waits for another");
  }
}

void check_reconciliation(const Scenario& scenario, const ClientSpec& client) {
  if (!client.side_effects.reconciles) return;
  bool occ = false;
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    occ |= share_of_calls(client, s) > 0 && scenario.services[s].model == ServiceModelKind::kOcc;
  }
  if (client.retry.hedging.enabled || occ) {
    throw std::invalid_argument(
        "clients that ask before they repeat neither hedge nor call a service with the model occ");
  }
}

}  // namespace

World::World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options)
    : state_(scenario, replication, options), parts_(state_) {
  add_services();
  add_groups();
  add_sources();
  offer_first_events();
  parts_.closed_loop.start();
}

void World::add_services() {
  const Scenario& scenario = state_.scenario;
  Answers& answers = state_.answers;
  for (const ServiceId i : Ids<ServiceId>(scenario.services.size())) {
    const ServiceSpec& spec = scenario.services[i];
    const std::uint16_t conflict = answers.add_service(spec).conflict;
    check_instances(spec);
    check_idempotency(spec);
    state_.instances.begin_service();
    for (std::uint32_t number = 0; number < spec.instances.count; ++number) {
      const RandomKey key = spec.instances.count == 1 ? state_.streams.of_service(i)
                                                      : state_.streams.of_instance(i, number);
      Service& s = state_.instances.add(
          Service(spec, key, conflict, &state_.streams, &state_.attempts, &state_.sequence));
      s.place.recorder = &state_.recorder.service(i);
      s.in_service.demand.set_operations(i, scenario.clients);
    }
    if (spec.throttle.has_limits()) number_limits(i);
    if (spec.idempotency.remembers()) remember_tokens(i);
  }
  for (const InstanceId i : state_.instances.ids()) {
    state_.instances[i].impair(parts_.service_events.impairment(i), state_.now);
  }
  parts_.balancer.prepare();
  parts_.serving.begin_levels();
  parts_.call_tree.link_services();
}

// The first instance keeps the throttle of the whole service.
void World::number_limits(ServiceId service) {
  const ThrottleSpec& spec = state_.scenario.services[service].throttle;
  const OperationNames operations(state_.scenario);
  Throttle::Numbers numbers;
  for (const ThrottleLimit& l : spec.operations) numbers.push_back(operations.number(l.name));
  for (const ThrottleLimit& l : spec.keys) {
    numbers.push_back(static_cast<std::uint32_t>(std::stoul(l.name) - 1));
  }
  state_.instances[state_.instances.first(service)].throttle.set_numbers(numbers);
}

void World::remember_tokens(ServiceId service) {
  Answers& answers = state_.answers;
  const TokenDesk::Answers numbers{answers.number({409, "EntityAlreadyExists"}),
                                   answers.number({400, "PriorRequestNotComplete"}),
                                   answers.number({400, "IdempotentParameterMismatch"})};
  const IdempotencySpec& rules = state_.scenario.services[service].idempotency;
  const bool waits = rules.in_progress == InProgress::kWait;
  const auto sessions = std::make_shared<Sessions>(rules.window);
  for (const InstanceId i : state_.instances.of(service)) {
    state_.instances[i].in_service.tokens.open(rules, numbers, sessions,
                                               waits ? &parts_.token_waits : nullptr);
  }
}

void World::add_groups() {
  state_.groups.resize(state_.scenario.clients.size());
  const OperationNames operations(state_.scenario);
  for (const std::size_t at : name_order(state_.scenario.clients)) {
    const GroupId i(at);
    check_reconciliation(state_.scenario, state_.scenario.clients[i]);
    state_.groups[i].set_up(state_, i, operations);
  }
  parts_.closed_loop.prepare();
  parts_.mutations.prepare();
  parts_.connections.prepare();
  parts_.retry_decisions.prepare();
  parts_.limits.prepare();
}

// The fewer sources, the cheaper each event: only those that can have events.
void World::add_sources() {
  state_.timer_source = state_.add_source(EventKind::kTimer);
  assert(state_.timer_source == kTimerSource);
  parts_.serving.add_sources();
  completion_sources_ = static_cast<std::uint32_t>(state_.sources.size()) - 1;
  parts_.client_requests.add_sources();
  first_other_source_ = static_cast<std::uint32_t>(state_.sources.size());
  parts_.service_events.add_sources();
  health_checks_.add_sources();
  parts_.transport.add_sources();
  // Events of these can be cancelled.
  parts_.watch.add_sources();
  parts_.timeouts.add_sources();
  parts_.send_gate.prepare();
}

void World::offer_first_events() {
  parts_.service_events.start();
  health_checks_.start();
  for (const ClientGroup& g : state_.groups) {
    if (g.arrivals && g.arrivals->head().time < state_.end_of_submissions) {
      state_.queue.offer(g.arrival_source, g.arrivals->head());
    }
  }
}

RunResult World::run() {
  try {
    run_events();
  } catch (const kernel::TimerMisused& e) {
    books_.violated(e.what());
  }
  books_.close();
  RunResult result = state_.recorder.finish(state_.now);
  parts_.balancer.close(result);
  result.events = parts_.limits.events();
  result.fingerprint = state_.options.fingerprint ? state_.fingerprint : 0;
  books_.check(result);
  return result;
}

RETRYSIM_FLATTEN void World::run_events() {
  while (next_event()) {
  }
}

bool World::next_event() {
  const kernel::EventQueue::Next next =
      state_.queue.next([this](std::uint32_t source) { return true_head(source); });
  if (next.time >= state_.end_of_submissions && is_over(next.time)) [[unlikely]]
    return false;
  if (next.time != state_.now) {
    assert(next.time > state_.now);
    state_.now = next.time;
    parts_.limits.new_instant();
    state_.recorder.advance(next.time);
  }
  parts_.limits.count_event();
  dispatch(next.source);
  if (parts_.settlement.is_due()) [[unlikely]]
    parts_.settlement.settle();
  return true;
}

// Whether the run ends before the event at `next`, which is not before the end of submissions.
bool World::is_over(Time next) const {
  const Scenario& scenario = state_.scenario;
  if (next == Time::max() || !scenario.drain) return true;
  const bool idle = state_.requests.live() == 0 && state_.attempts.live() == 0;
  if (idle && !parts_.jobs.are_open()) return true;
  return next > state_.end_of_submissions + scenario.drain_limit;
}

// Of a source whose timers may have been cancelled.
RETRYSIM_IN_LOOP EventKey World::true_head(std::uint32_t source) const {
  const EventSource& s = state_.sources[source];
  if (s.kind == EventKind::kTimeout) [[likely]]
    return parts_.timeouts.next_timeout(GroupId(s.index));
  switch (s.kind) {
    case EventKind::kVaryingTimeout:
      return parts_.timeouts.next_varying_timeout();
    case EventKind::kServiceTimeout:
      return parts_.watch.next_timeout(ServiceId(s.index));
    case EventKind::kSendTokenDue:
      return parts_.send_gate.next_wake(GroupId(s.index));
    default:
      return parts_.timeouts.next_deadline(GroupId(s.index));
  }
}

void World::dispatch(std::uint32_t source) {
  // By number: what kind a source is of would have to be read first.
  const EventSource& s = state_.sources[source];
  if (source - 1 < completion_sources_) [[likely]]
    return parts_.serving.complete(*s.instance);
  if (source == kTimerSource) return timer_due();
  if (source < first_other_source_) return parts_.client_requests.next_arrival(*s.group);
  dispatch_rarer(s);
}

void World::dispatch_rarer(const EventSource& s) {
  switch (s.kind) {
    case EventKind::kTimeout:
      return parts_.timeouts.attempt_times_out(state_.groups[GroupId(s.index)]);
    case EventKind::kVaryingTimeout:
      return parts_.timeouts.attempt_times_out_varying();
    case EventKind::kDeadline:
      return parts_.timeouts.deadline_passes(state_.groups[GroupId(s.index)]);
    case EventKind::kAttemptArrives:
      return parts_.transport.attempt_arrives(false);
    case EventKind::kLateAttempt:
      return parts_.transport.attempt_arrives(true);
    case EventKind::kResponseArrives:
      return parts_.transport.answer_arrives(false);
    case EventKind::kLateResponse:
      return parts_.transport.answer_arrives(true);
    case EventKind::kSendTokenDue:
      return parts_.send_gate.wake(state_.groups[GroupId(s.index)]);
    case EventKind::kFault:
      return parts_.service_events.change_faults();
    case EventKind::kServiceTimeout:
      return parts_.watch.time_out(ServiceId(s.index));
    case EventKind::kScaling:
      return parts_.service_events.scale(ServiceId(s.index));
    case EventKind::kHealthCheck:
      return health_checks_.due();
    default:
      assert(false);
  }
}

// With very many clients or requests, what a timer is about is seldom in the cache when it is due.
inline void World::expect(const kernel::TimerEntry& timer) const {
  switch (static_cast<EventKind>(timer.kind & 0xff)) {
    case EventKind::kThinkEnd:
      return parts_.closed_loop.expect(state_.groups[GroupId(timer.kind >> 8)],
                                       ClientId(timer.entity));
    case EventKind::kCheckDue:
      return;
    default:
      return kernel::prefetch(state_.requests[RequestId(timer.entity)]);
  }
}

RETRYSIM_FLATTEN void World::timer_due() {
  const kernel::TimerEntry timer =
      state_.timers.pop([this](const kernel::TimerEntry& soon) { expect(soon); });
  state_.queue.set(state_.timer_source, state_.timers.head());
  const auto kind = static_cast<EventKind>(timer.kind & 0xff);
  ClientGroup& g = state_.groups[GroupId(timer.kind >> 8)];
  state_.note_event(kind, timer.entity);
  switch (kind) {
    case EventKind::kThinkEnd:
      return parts_.closed_loop.think_over(g, ClientId(timer.entity));
    case EventKind::kCheckDue:
      return parts_.jobs.check_due(g, timer.entity);
    case EventKind::kHedgeDue:
      return parts_.hedging.due(g, state_.requests[RequestId(timer.entity)], timer.key.sequence);
    case EventKind::kSendWaitEnd:
      return parts_.send_gate.wait_over(g, state_.requests[RequestId(timer.entity)]);
    default:
      return parts_.retry_decisions.backoff_over(g, state_.requests[RequestId(timer.entity)], kind);
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
    throw std::invalid_argument("warmup = \"auto\" has to be resolved first; see run_experiment");
  }
  const StopScope scope(options.stop);
  return model::World(scenario, replication, options).run();
}

}  // namespace retrysim
