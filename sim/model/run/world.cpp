// SPDX-License-Identifier: MIT
#include "model/run/world.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

namespace retrysim::model {

using kernel::EventKey;

World::World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options)
    : state_(scenario, replication, options) {
  services_.prepare();
  network_.prepare();
  clients_.prepare();
  effects_.prepare();
  add_sources();
  services_.start();
  network_.start();
  clients_.offer_arrivals();
  clients_.start_loops();
}

// The fewer sources, the cheaper each event: only those that can have events.
void World::add_sources() {
  state_.timer_source = state_.add_source(EventKind::kTimer);
  assert(state_.timer_source == kTimerSource);
  services_.add_completion_sources();
  completion_sources_ = static_cast<std::uint32_t>(state_.sources.size()) - 1;
  clients_.add_arrival_sources();
  first_other_source_ = static_cast<std::uint32_t>(state_.sources.size());
  services_.add_outside_sources();
  network_.add_sources();
  // Events of these can be cancelled.
  services_.add_timeout_sources();
  clients_.add_timeout_sources();
}

RunResult World::run() {
  try {
    if (!state_.options.branches.empty()) observe({}, Time::zero());
    run_events();
  } catch (const kernel::TimerMisused& e) {
    books_.violated(e.what());
  }
  clients_.close();
  effects_.close();
  services_.close();
  RunResult result = state_.recorder.finish(state_.now);
  network_.close(result);
  result.events = limits_.events();
  result.fingerprint = state_.options.fingerprint ? state_.fingerprint : 0;
  books_.check(result);
  return result;
}

RETRYSIM_FLATTEN void World::run_events() {
  while (next_event()) {
  }
}

FollowedRun World::follow(const RareEvent& event, Time from) {
  observe(Watch(event, state_), from);
  run_events();
  FollowedRun& run = observation_->run;
  if (!observation_->is_over) run.end = state_.end_of_submissions;
  return std::move(run);
}

// There is something to be settled at the end of each event, and so the loop itself need not ask.
void World::observe(std::optional<Watch> watch, Time from) {
  observation_.emplace(Observation{std::move(watch), from, state_.options.branches, {}});
  agenda_.due = Agenda::kWatched;
  take_branches();
}

void World::take_branches() {
  std::span<const Branch>& branches = observation_->branches;
  for (; !branches.empty() && branches.front().after_event == observation_->run.events;
       branches = branches.subspan(1)) {
    const std::uint64_t number = branches.front().number;
    if (number == 0) continue;
    state_.streams.branch(number);
    clients_.branch();
    services_.branch();
  }
}

// An event is over.
void World::look() {
  FollowedRun& run = observation_->run;
  ++run.events;
  if (observation_->watch) {
    const NearnessScore score = observation_->watch->look();
    const bool counts = state_.now >= observation_->from;
    if (counts && score > observation_->highest) {
      run.records.push_back({score, run.events});
      observation_->highest = score;
    }
    if (score == kHappened) {
      if (counts) run.happened = state_.now;
      run.happened_before = !counts;
      run.end = state_.now;
      observation_->is_over = true;
      state_.end_of_submissions = state_.now;
      return;
    }
  }
  take_branches();
  if (!observation_->watch && observation_->branches.empty()) agenda_.due = 0;
}

bool World::next_event() {
  const kernel::EventQueue::Next next =
      state_.queue.next([this](std::uint32_t source) { return true_head(source); });
  if (next.time >= state_.end_of_submissions && is_over(next.time)) return false;
  if (next.time != state_.now) {
    assert(next.time > state_.now);
    state_.now = next.time;
    limits_.new_instant();
    state_.recorder.advance(next.time);
  }
  limits_.count_event();
  dispatch(next.source);
  if (agenda_.due != 0) settle();
  return true;
}

// Whether the run ends before the event at `next`, which is not before the end of submissions.
bool World::is_over(Time next) const {
  const Scenario& scenario = state_.scenario;
  if (next == Time::max() || !scenario.drain) return true;
  if (observation_ && observation_->is_over) return true;
  const bool idle = state_.requests.live() == 0 && state_.attempts.live() == 0;
  if (idle && !clients_.jobs_are_open()) return true;
  return next > state_.end_of_submissions + scenario.drain_limit;
}

// The next event of a source whose timers may have been cancelled.
RETRYSIM_IN_LOOP EventKey World::true_head(std::uint32_t source) const {
  const EventSource& s = state_.sources[source];
  if (s.kind == EventKind::kTimeout) return clients_.next_timeout(GroupId(s.index));
  switch (s.kind) {
    case EventKind::kVaryingTimeout:
      return clients_.next_varying_timeout();
    case EventKind::kCallersDeadline:
      return clients_.next_callers_deadline();
    case EventKind::kServiceTimeout:
      return services_.next_timeout(ServiceId(s.index));
    case EventKind::kSendTokenDue:
      return clients_.next_send_token(GroupId(s.index));
    case EventKind::kConnectionWaitEnd:
      return clients_.next_end_of_connection_wait();
    default:  // kDeadline
      return clients_.next_deadline(GroupId(s.index));
  }
}

void World::dispatch(std::uint32_t source) {
  // Sources are told apart by number, because their kind would first have to be read from memory.
  // The timers, number 0, wrap around to a large number in the first comparison.
  const EventSource& s = state_.sources[source];
  if (source - 1 < completion_sources_) return services_.complete(*s.instance);
  if (source == kTimerSource) return clients_.timer_due();
  if (source < first_other_source_) return clients_.next_arrival(*s.group);
  dispatch_rarer(s);
}

void World::dispatch_rarer(const EventSource& s) {
  switch (s.kind) {
    case EventKind::kTimeout:
      return clients_.attempt_times_out(GroupId(s.index));
    case EventKind::kVaryingTimeout:
      return clients_.attempt_times_out_varying();
    case EventKind::kDeadline:
      return clients_.deadline_passes(GroupId(s.index));
    case EventKind::kCallersDeadline:
      return clients_.callers_deadline_passes();
    case EventKind::kAttemptArrives:
      return network_.attempt_arrives(false);
    case EventKind::kAttemptOutOfOrder:
      return network_.attempt_arrives(true);
    case EventKind::kResponseArrives:
      return network_.answer_arrives(false);
    case EventKind::kResponseOutOfOrder:
      return network_.answer_arrives(true);
    case EventKind::kSendTokenDue:
      return clients_.send_token_due(GroupId(s.index));
    case EventKind::kConnectionWaitEnd:
      return clients_.connection_wait_ends();
    case EventKind::kFault:
      return services_.faults_change();
    case EventKind::kServiceTimeout:
      return services_.service_times_out(ServiceId(s.index));
    case EventKind::kScaling:
      return services_.scaling_due(ServiceId(s.index));
    case EventKind::kHealthCheck:
      return network_.health_check_due();
    case EventKind::kEjection:
      return network_.ejection_due();
    default:
      assert(false);
  }
}

// No step calls another one: it appends it to a list instead. So nothing recurses, and each round
// of an endless chain counts against the limits.
RETRYSIM_FLATTEN void World::settle() {
  for (;;) {
    agenda_.due &= Agenda::kWatched;
    deliver_answers();
    if (agenda_.others_are_due) settle_others();
    if (agenda_.due == 0) return;
    if (agenda_.due == Agenda::kWatched) return look();
  }
}

// An answer may bring about others, which wait until the other lists have been gone through.
void World::deliver_answers() {
  std::vector<Attempt*>& answers = agenda_.answers;
  const std::size_t count = answers.size();
  for (std::size_t i = 0; i < count; ++i) {
    limits_.count_step();
    network_.deliver_pending(*answers[i]);
  }
  if (answers.size() == count) return answers.clear();
  answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count));
}

// Lists grow while they are gone through.
void World::settle_others() {
  agenda_.others_are_due = false;
  for (std::size_t i = 0; i < agenda_.connections.size(); ++i) {
    limits_.count_step();
    clients_.connected(agenda_.connections[i]);
  }
  agenda_.connections.clear();
  for (std::size_t i = 0; i < agenda_.calls.size(); ++i) {
    limits_.count_step();
    services_.calls_over(agenda_.calls[i]);
  }
  agenda_.calls.clear();
  for (std::size_t i = 0; i < agenda_.tokens.size(); ++i) {
    limits_.count_step();
    services_.token_free(Token(agenda_.tokens[i]));
  }
  agenda_.tokens.clear();
}

namespace {

// Scenario files are checked when they are read; this is for those made in C++.
void check_counts(const Scenario& scenario) {
  std::uint64_t instances = 0;
  for (const ServiceSpec& s : scenario.services) instances += s.instances.count;
  if (instances > scenario::kMaxInstances) {
    throw std::invalid_argument("all services together have at most " +
                                std::to_string(scenario::kMaxInstances) + " instances");
  }
  if (scenario.clients.size() > scenario::kMaxGroups) {
    throw std::invalid_argument("a scenario has at most " + std::to_string(scenario::kMaxGroups) +
                                " client groups, with the calls of services");
  }
}

}  // namespace

}  // namespace retrysim::model

namespace retrysim {

namespace {

void check(const Scenario& scenario) {
  if (std::max({scenario.duration, scenario.drain_limit, scenario.interval}) > kLongestDuration) {
    throw std::invalid_argument("duration, drain_limit and interval may be 1e9 s at most");
  }
  if (scenario.warmup_is_auto) {
    throw std::invalid_argument("warmup = \"auto\" has to be resolved first; see run_experiment");
  }
  check_draw(scenario);
  model::check_counts(scenario);
}

}  // namespace

RunResult simulate(const Scenario& scenario, std::uint32_t replication,
                   const SimulationOptions& options) {
  check(scenario);
  const StopScope scope(options.stop);
  return model::World(scenario, replication, options).run();
}

FollowedRun follow(const Scenario& scenario, std::uint32_t replication, const RareEvent& event,
                   Time from, const SimulationOptions& options) {
  check(scenario);
  const StopScope scope(options.stop);
  return model::World(scenario, replication, options).follow(event, from);
}

}  // namespace retrysim
