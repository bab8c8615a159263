// SPDX-License-Identifier: MIT
#include "model/service/services.hpp"

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/stop.hpp"
#include "model/client/clients.hpp"
#include "model/effects/effects.hpp"
#include "model/network/network.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

#include <iterator>
#include <stdexcept>
#include <string>

namespace retrysim::model {

using kernel::armed;
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

void check_concurrency(const ServiceSpec& spec) {
  if (!spec.concurrency.needs_servers() || spec.servers != ServiceSpec::kUnlimited) return;
  throw std::invalid_argument("a limit that asks how busy the servers are needs a number of them");
}

void check_idempotency(const ServiceSpec& spec) {
  if (spec.idempotency.keeps_without_effect() && spec.idempotency.has_write_delay()) {
    throw std::invalid_argument("a token that is stored before the effect is not stored later");
  }
  if (spec.model != ServiceModelKind::kOcc) return;
  // The write of the attempt that is waited for might not find a server.
  if (spec.idempotency.remembers() && spec.idempotency.in_progress == InProgress::kWait) {
    throw std::invalid_argument("at a service with the model occ no attempt waits for another");
  }
}

void record_arrival(const Attempt& a) {
  a.clients->recorder->passage.arrived(a.in_cohort);
  a.at->place.recorder->arrived();
}

}  // namespace

Services::Services(RunState& state, Agenda& agenda, Clients& clients, Network& network,
                   Effects& effects, Attempts& attempts, RunLimits& limits)
    : state_(state),
      agenda_(agenda),
      clients_(clients),
      network_(network),
      effects_(effects),
      attempts_(attempts),
      limits_(limits),
      watch_(state),
      calls_(state),
      faults_(state.scenario, [&](const ErrorAnswer& e) { return state.answers.number(e); }),
      ranks_(state.scenario.services.size()) {
  state.sequence = faults_.size();  // the faults are scheduled first
  std::size_t rank = 0;
  for (const std::size_t i : name_order(state.scenario.services)) ranks_[ServiceId(i)] = rank++;
}

void Services::prepare() {
  const Scenario& scenario = state_.scenario;
  Instances& instances = state_.instances;
  const bool operations = std::ranges::any_of(
      scenario.clients, [](const ClientSpec& c) { return !c.operations.empty(); });
  std::vector<bool> takes_over(scenario.services.size());  // some of its attempts do
  for (const CallSpec& call : scenario.calls) {
    if (!call.callers_operation || call.client >= scenario.clients.size()) continue;
    takes_over[scenario.clients[call.client].service] = true;
  }
  std::optional<OperationNames> names;
  for (const ServiceId i : Ids<ServiceId>(scenario.services.size())) {
    stop_point();  // there may be many services and groups
    const ServiceSpec& spec = scenario.services[i];
    const std::uint16_t conflict = state_.answers.add_service(spec).conflict;
    check_instances(spec);
    check_concurrency(spec);
    check_idempotency(spec);
    instances.begin_service();
    for (std::uint32_t number = 0; number < spec.instances.count; ++number) {
      const RandomKey key = spec.instances.count == 1 ? state_.streams.of_service(i)
                                                      : state_.streams.of_instance(i, number);
      Instance& s = instances.add(Instance(spec, key, conflict, &state_.streams, &state_.attempts,
                                           &state_.sequence, &effects_));
      s.place.recorder = &state_.recorder.service(i);
      if (state_.options.access_log) s.log_answers();
      if (operations) s.in_service.demand.set_operations(i, scenario.clients);
      if (operations && takes_over[i]) s.in_service.demand.take_over(state_.taken_over);
    }
    if (spec.throttle.has_limits()) {
      if (!names) names.emplace(scenario);
      number_limits(i, *names);
    }
    effects_.remember_tokens(i);
  }
  others_observe_ = instances.several();
  if (instances.several()) {
    state_.instance_log.emplace(scenario, instances.size());
    levels_.resize(instances.size());
    sums_.resize(instances.services());
  }
  for (const InstanceId i : instances.ids()) {
    stop_point();
    instances[i].impair(impairment_of(i), state_.now);
    others_observe_ |= instances[i].autoscaler() != nullptr;
  }
  for (const InstanceId i : instances.ids()) levels_changed(instances[i]);
  calls_.link_services();
}

// The first instance keeps the throttle of the whole service.
void Services::number_limits(ServiceId service, const OperationNames& operations) {
  const ThrottleSpec& spec = state_.scenario.services[service].throttle;
  Throttle::Numbers numbers;
  for (const ThrottleLimit& l : spec.operations) numbers.push_back(operations.number(l.name));
  for (const ThrottleLimit& l : spec.keys) {
    numbers.push_back(static_cast<std::uint32_t>(std::stoul(l.name) - 1));
  }
  state_.instances[state_.instances.first(service)].throttle.set_numbers(numbers);
}

void Services::add_completion_sources() {
  for (const InstanceId i : state_.instances.ids()) {
    Instance& s = state_.instances[i];
    s.place.completions = state_.add_source(EventKind::kCompletion, i, kernel::SourceRole::kAnswer);
    state_.sources[s.place.completions].instance = &s;
  }
}

// --- An attempt arrives: random errors, the throttle, the queue.

RETRYSIM_IN_LOOP void Services::arrive(Attempt& a) {
  Instance& s = *a.at;
  const Time now = state_.now;
  a.arrived = now;
  RETRYSIM_TELL(Step::kArrived, now, a);
  if (!a.is(Attempt::kSecondMessage)) record_arrival(a);
  if (a.given_up() && s.spec().abandoned != Abandoned::kServe) {
    // Its client gave up while it was on its way.
    a.clients->recorder->passage.dropped(a.in_cohort);
    return attempts_.release(a);
  }
  if (s.traits().screens_arrivals && is_answered_at_the_door(a)) return;
  Instance::Admission admission = s.admit(a, now);
  if (admission >= Instance::Admission::kFull) {
    if (s.traits().evicts && admission == Instance::Admission::kFull)
      admission = admit_in_place_of_another(a);
    if (admission >= Instance::Admission::kFull) {
      return refuse(
          a, admission == Instance::Admission::kFull ? Refusal::kQueueFull : Refusal::kLimit);
    }
  }
  const bool must_wait = admission == Instance::Admission::kQueued;
  s.place.recorder->admitted();
  a.clients->recorder->passage.admitted(a.in_cohort, must_wait);
  if (s.traits().times_waits && !must_wait) time_wait(a);
  if (s.traits().watches_attempts) watch_.enter(a);
  if (must_wait) return levels_changed(s);  // no server has begun with it
  changed(s);
}

void Services::arrive_by_event(Attempt& a) {
  if (!a.at->traits().takes_no_time || !can_serve_immediately(a)) return arrive(a);
  a.arrived = state_.now;
  RETRYSIM_TELL(Step::kArrived, state_.now, a);
  if (!a.is(Attempt::kSecondMessage)) record_arrival(a);
  a.at->place.recorder->admitted();
  a.clients->recorder->passage.admitted(a.in_cohort, false);
  serve_at_once(a);
}

// Whether the attempt, which arrives in an event of its own, finds nobody at a service that takes
// no time, so that its completion would be the next event.
bool Services::can_serve_immediately(const Attempt& a) const {
  const Instance& s = *a.at;
  return !a.is(~unsigned{Attempt::kSecondMessage}) && !s.traits().screens_arrivals &&
         !s.traits().calls_others && !others_observe_ && s.in_system() == 0 &&
         s.servers().has_room() && state_.queue.earliest() > state_.now;
}

// Serves the attempt without putting its completion into the event queue. Levels are not updated,
// because they would change for zero time.
void Services::serve_at_once(Attempt& a) {
  limits_.count_event();
  ++state_.sequence;  // the completion's
  RETRYSIM_TELL(Step::kWorking, state_.now, a);
  a.pass_within(state_.now);
  RETRYSIM_TELL(Step::kServed, state_.now, a, true);
  state_.note_event(EventKind::kCompletion, a.id);
  const std::uint16_t answer = answer_to(a);
  count_served(a, answer);
  hand_over(a, answer);
}

// True if the attempt meets a random error, or does not pass the service's throttle.
bool Services::is_answered_at_the_door(Attempt& a) {
  const Instance& s = *a.at;
  if (s.traits().times_waits) a.clients->recorder->passage.arrived_to_be_timed(a.in_cohort);
  if (meets_random_error(a)) return true;
  // The throttle is the service's, not an instance's: the first instance keeps it for all.
  if (passes_throttle(a, state_.instances[state_.instances.first(s.place.service)])) return false;
  s.place.recorder->throttled();
  a.clients->recorder->passage.refused(a.in_cohort);
  turn_away(a, state_.answers.of_service(s.place.service).throttled);
  return true;
}

bool Services::meets_random_error(Attempt& a) {
  const Instance& s = *a.at;
  if (s.impairment().errors.empty() || s.spec().model == ServiceModelKind::kIndependent) {
    return false;
  }
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kServiceError});
  // A read before a retry and the request after it meet errors independently of each other.
  if (a.is(Attempt::kSecondMessage) && s.spec().model != ServiceModelKind::kOcc) draws.next();
  const std::optional<std::uint16_t> answer = error_met(s.impairment().errors, draws.uniform());
  if (!answer) return false;
  s.place.recorder->error_answered();
  if (state_.is_throttling(a, *answer)) a.clients->recorder->passage.refused(a.in_cohort);
  network_.answer(a, *answer);
  return true;
}

// `keeper`: the instance that keeps the throttle of the service.
bool Services::passes_throttle(const Attempt& a, Instance& keeper) const {
  const ThrottleSpec& spec = keeper.spec().throttle;
  if (spec.rate <= 0) return true;
  std::uint32_t number = a.client;
  if (spec.scope > ThrottleScope::kClient) {
    number = spec.scope == ThrottleScope::kKey ? state_.key_of(a) : state_.operation_of(a);
  }
  if (!spec.has_limits()) return keeper.throttle.pass(a.group, number, state_.now);
  // Operations or keys may have limits of their own.
  const std::uint32_t own = spec.keys.empty() ? state_.operation_of(a) : state_.key_of(a);
  return keeper.throttle.pass(a.group, number, state_.now, own);
}

// The queue is full, and one that waits there may be less important than the attempt that has
// come: then it leaves, and is refused as if it had been when it came.
Instance::Admission Services::admit_in_place_of_another(Attempt& newcomer) {
  Instance& s = *newcomer.at;
  Attempt* const out = s.make_room_for(newcomer);
  if (out == nullptr) return Instance::Admission::kFull;
  RETRYSIM_TELL(Step::kLeftQueue, state_.now, *out);
  watch_.leave(*out);
  out->clients->recorder->passage.evicted(out->in_cohort);
  refuse(*out, Refusal::kQueueFull);
  return s.admit_instead(newcomer, state_.now);
}

// The queue does not take the attempt, or sheds it.
RETRYSIM_IN_LOOP void Services::refuse(Attempt& a, Refusal refusal) {
  Instance& s = *a.at;
  const bool no_answer = s.spec().rejection.overflow == Overflow::kDrop;
  const std::uint16_t answer = state_.answers.of_service(s.place.service).refused(refusal);
  s.place.recorder->rejected();
  stats::PassageCounts& passage = a.clients->recorder->passage;
  if (!no_answer && !state_.is_throttling(a, answer)) passage.rejected(a.in_cohort);
  passage.refused(a.in_cohort);
  if (!no_answer) return turn_away(a, answer);
  s.count_wait_of_unserved(a, state_.now);
  a.clients->recorder->passage.dropped(a.in_cohort);
  attempts_.discard(a);
}

// Turning an attempt away may cost server time.
void Services::turn_away(Attempt& a, std::uint16_t answer) {
  Instance& s = *a.at;
  if (s.spec().rejection.cost == Duration::zero()) {
    s.count_wait_of_unserved(a, state_.now);
    return network_.answer(a, answer);
  }
  a.answer = answer;
  s.turn_away(a, state_.now);
  changed(s);
}

// --- Servers at work.

void Services::complete(Instance& s) {
  if (s.traits().calls_others && begin_calls(s)) return;
  Attempt& a = s.in_service.complete(state_.now);
  state_.note_event(EventKind::kCompletion, a.id);
  watch_.leave(a);
  served(a, answer_to(a));
}

// The answer to the attempt that a server has just finished; counts it if it is an error. If the
// answer asks for the second message of the attempt, it has not been executed yet.
RETRYSIM_IN_LOOP std::uint16_t Services::answer_to(Attempt& a) {
  const std::uint16_t answer = !a.is(Attempt::kExecuted)        ? answer_without_execution(a)
                               : a.at->traits().always_succeeds ? a.answer
                                                                : answer_of(a, a.at->reply(a));
  if (answer != 0 && !a.is(Attempt::kRejection)) count_error(a, answer);
  return answer;
}

std::uint16_t Services::answer_of(Attempt& a, Reply reply) {
  if (reply.goes_on) {
    a.set(Attempt::kGoesOn);
    a.clear(Attempt::kExecuted);
  }
  return reply.answer;
}

// A server has worked on the attempt, or looked at its token, and answers with an error.
void Services::count_error(const Attempt& a, std::uint16_t answer) {
  if (state_.is_throttling(a, answer)) a.clients->recorder->passage.refused(a.in_cohort);
  const bool ran_into_it = a.is(Attempt::kExecuted) && a.at->traits().always_succeeds;
  if (ran_into_it) a.at->place.recorder->error_answered();
}

// The answer to an attempt that was not executed: it is turned away, its token is known, or it is a
// read before a retry.
std::uint16_t Services::answer_without_execution(Attempt& a) {
  Instance& s = *a.at;
  if (!is_read(a) || a.answer != 0) return a.answer;  // a read may meet an error, too
  if (!s.traits().always_succeeds) {
    const Reply reply = s.reply(a);
    if (reply.answer != 0) return answer_of(a, reply);
  }
  a.clear(Attempt::kReplay);
  return answer_of(a, {Answers::kSuccess, !effects_.found_effect(a.id)});
}

// A server has finished with the attempt: counts it, gives the server its next attempt and answers.
// This is the last step of an event or agenda entry, so the answer need not go on the agenda.
void Services::served(Attempt& a, std::uint16_t answer) {
  Instance& s = *a.at;
  count_served(a, answer);
  serve_queue(s);
  changed(s);
  hand_over(a, answer);
}

RETRYSIM_IN_LOOP void Services::count_served(Attempt& a, std::uint16_t answer) {
  if (!a.is(Attempt::kExecuted)) return;
  a.at->place.recorder->executed(a.given_up());
  if (a.in_cohort) a.clients->recorder->executed(a.given_up(), state_.now - a.arrived);
  if (a.is(Attempt::kMutating)) effects_.executed(a, answer == 0);
}

RETRYSIM_IN_LOOP void Services::hand_over(Attempt& a, std::uint16_t answer) {
  if (a.given_up()) return served_in_vain(a, answer);
  network_.answer_last(a, answer);
}

void Services::served_in_vain(Attempt& a, std::uint16_t answer) {
  if (a.at->traits().logs_answers) state_.log_answer(a, answer);
  wasted_work(a);
  answer_unused(a);
  attempts_.release(a);
}

// Free servers take what waits.
void Services::serve_queue(Instance& s) {
  const Time now = state_.now;
  bool is_first = true;
  while (Attempt* next = s.take_from_queue(now)) {
    Attempt& a = *next;
    if (!is_first) limits_.count_work(1);  // there may be any number
    is_first = false;
    if (s.traits().screens_queue && leaves_unserved(a)) continue;
    s.start(a, now);
    if (a.is(Attempt::kRejection)) continue;
    a.clients->recorder->passage.started(a.in_cohort, now - a.arrived);
    if (s.traits().times_waits) time_wait(a);
  }
}

// Whether the attempt, whose turn has come, is dropped or shed instead of being served.
bool Services::leaves_unserved(Attempt& a) {
  Instance& s = *a.at;
  if (a.given_up() && s.spec().abandoned == Abandoned::kDropAtDequeue) {
    drop_from_queue(a);
    attempts_.release(a);
    return true;
  }
  if (a.is(Attempt::kRejection)) return false;
  if (s.spec().queue.drop_expired && would_be_late(a)) {
    drop_from_queue(a);
    attempts_.discard(a);
    return true;
  }
  if (!s.sheds(a, state_.now)) return false;
  RETRYSIM_TELL(Step::kLeftQueue, state_.now, a);
  watch_.leave(a);
  refuse(a, Refusal::kShed);
  return true;
}

// At a service that counts how many wait for a short time only.
void Services::time_wait(const Attempt& a) {
  const bool within = state_.now - a.arrived <= a.at->spec().wait_within;
  a.clients->recorder->passage.started_timed(a.in_cohort, within);
}

// The attempt's turn has come, but it is not worth serving.
void Services::drop_from_queue(Attempt& a) {
  RETRYSIM_TELL(Step::kLeftQueue, state_.now, a);
  watch_.leave(a);
  a.at->count_wait_of_unserved(a, state_.now);
  a.clients->recorder->passage.dropped(a.in_cohort);
}

// Whether the answer would come after the client has stopped waiting, if service began now.
bool Services::would_be_late(const Attempt& a) const {
  if (a.given_up()) return true;
  const Time end = clients_.end_of_wait(a);
  if (end == Time::max()) return false;
  const Instance& s = *a.at;
  const Distribution& latency = state_.scenario.network.latency;
  const Duration way_back =
      latency.is_constant() ? latency.constant_value() + s.impairment().latency : Duration::zero();
  return state_.now + s.in_service.time_of(a, s.impairment().speed) + way_back > end;
}

// An attempt in service, or just served, whose client has given up.
void Services::wasted_work(const Attempt& a) {
  const Instance& s = *a.at;
  if (s.servers().waste_is_a_level()) return;
  s.place.recorder->add_wasted_work(s.servers().wasted_since(a), state_.now);
}

void Services::answer_unused(const Attempt& a) {
  if (!a.is(Attempt::kExecuted | Attempt::kGoesOn)) return;
  a.at->place.recorder->answer_unused(a.at->servers().server_time_ns(a), a.finished,
                                      a.is(Attempt::kExecuted));
}

// --- The client has stopped waiting.

// With `serve` and `drop-at-dequeue` a queued attempt stays; `drop-at-dequeue` discards it when its
// turn comes.
RETRYSIM_IN_LOOP void Services::abandon(Attempt& a) {
  Instance& s = *a.at;
  const Abandoned policy = s.spec().abandoned;
  if (a.stage == Attempt::Stage::kNoAnswerWillCome) {
    attempts_.release(a);
  } else if (a.stage == Attempt::Stage::kQueued &&
             (policy == Abandoned::kRemove || policy == Abandoned::kAbort)) {
    watch_.leave(a);
    s.remove_from_queue(a, state_.now);
    a.clients->recorder->passage.dropped(a.in_cohort);
    changed(s);
    attempts_.release(a);
  } else if (a.stage == Attempt::Stage::kInService || a.stage == Attempt::Stage::kHoldingServer) {
    const bool in_service = a.stage == Attempt::Stage::kInService;
    const bool is_a_level = in_service ? s.in_service.given_up(state_.now) : false;
    if (policy == Abandoned::kAbort) {
      if (a.stage == Attempt::Stage::kHoldingServer) cancel_wait(a.id);
      watch_.leave(a);
      s.in_service.abort(a, state_.now);
      a.clients->recorder->passage.dropped(a.in_cohort);
      attempts_.release(a);
      if (freed_.empty() || freed_.back() != &s) freed_.push_back(&s);
    } else if (is_a_level) {
      changed(s);
    }
  }
}

RETRYSIM_IN_LOOP void Services::refill_freed() {
  for (Instance* s : freed_) {
    serve_queue(*s);
    changed(*s);
  }
  freed_.clear();
}

// --- Calls to other services, and waits for attempts with the same token: a server is held.

// The own work on the attempt that completes next is done. False if that ends it: it has failed,
// was not to be executed, or makes no calls.
bool Services::begin_calls(Instance& s) {
  const AttemptId id(s.servers().next_to_complete());
  Attempt& a = state_.attempts[id];
  if (a.is(Attempt::kRejection | Attempt::kReplay)) return false;
  if (a.answer != 0 || (!s.traits().always_succeeds && s.reply(a).answer != 0)) return false;
  if (!calls_.choose_first(a)) return false;
  s.in_service.hold(state_.now);
  state_.note_event(EventKind::kCompletion, id);
  changed(s);
  make_calls(a, calls_.begin(a));
  return true;
}

void Services::make_calls(const Attempt& a, std::span<const Calls::Order> orders) {
  const Draws names = calls_.names_of(a, orders.front());
  const ClientId client(state_.instances.number_of(a.at->place.instance));
  for (const Calls::Order& order : orders) {
    const CallId id = calls_.id_of(a, order);
    Draws name = names;
    for (std::uint32_t i = 0; i < order.copies; ++i) {
      limits_.count_work(2);  // a request, and an attempt that may come to its service at once
      clients_.submit_call(order.group, client, name.next(), id, a.in_cohort);
    }
  }
}

void Services::call_ended(CallId id, bool succeeded) {
  if (calls_.ended(id, succeeded)) agenda_.calls_over(id);
}

void Services::calls_over(CallId id) {
  if (!calls_.is_waiting(id)) return;  // the attempt has been aborted meanwhile
  Attempt& a = state_.attempts[id.attempt];
  const std::span<const Calls::Order> orders = calls_.next(a, id);
  if (!orders.empty()) return make_calls(a, orders);
  Instance& s = *a.at;
  const Calls::Outcome outcome = calls_.end(a.id);
  if (outcome.degraded && !outcome.failed) a.set(Attempt::kDegraded);
  s.in_service.release(a, state_.now);
  watch_.leave(a);
  std::uint16_t answer = Answers::kSuccess;
  if (outcome.failed) {
    s.place.recorder->error_answered();
    answer = state_.answers.of_service(s.place.service).call_failed;
  }
  served(a, answer);
}

void Services::token_free(const Token& token) {
  for (const AttemptId id : effects_.take_waiting(token)) {
    limits_.count_work(1);
    Attempt& a = state_.attempts[id];
    a.at->in_service.wake(a, state_.now);
    changed(*a.at);
  }
}

// An attempt that holds a server without being served does so no more.
void Services::cancel_wait(AttemptId attempt) {
  if (!effects_.cancel_wait(attempt)) calls_.cancel(attempt);
}

// The sum is made anew where there are few instances; of very many, a few are looked at each time.
std::uint64_t Services::bytes() {
  constexpr std::size_t kMost = 256;
  const std::size_t all = state_.instances.size();
  instance_bytes_.resize(all);
  for (std::size_t n = std::min(all, kMost); n > 0; --n) {
    looked_at_ = looked_at_ + 1 < all ? looked_at_ + 1 : 0;
    const Instance& s = state_.instances[InstanceId(looked_at_)];
    std::uint64_t& known = instance_bytes_[looked_at_];
    const std::uint64_t bytes = s.servers().bytes() + s.queue().bytes();
    bytes_at_instances_ += bytes - known;
    known = bytes;
  }
  return calls_.bytes() + watch_.bytes() + bytes_at_instances_;
}

// --- The service's own timeout, and its limit on concurrency.

auto AttemptWatch::link() {
  return [this](AttemptId a) -> kernel::LaneLink<AttemptId>& { return links_[a]; };
}

void AttemptWatch::add_sources() {
  limits_.resize(state_.instances.services());
  for (const ServiceId i : Ids<ServiceId>(limits_.size())) {
    if (state_.scenario.services[i].timeout == Duration::max()) continue;
    limits_[i].source =
        state_.add_source(EventKind::kServiceTimeout, i, kernel::SourceRole::kTimeout);
  }
}

void AttemptWatch::enter(Attempt& a) {
  a.set(Attempt::kWatched);
  const Duration timeout = state_.scenario.services[a.at->place.service].timeout;
  if (timeout == Duration::max()) return;
  Limit& limit = limits_[a.at->place.service];
  const EventKey key = state_.key_in(timeout);
  links_.reach(a.id);
  if (limit.lane.push_back(a.id, key, link())) state_.queue.offer(limit.source, key);
}

RETRYSIM_IN_LOOP void AttemptWatch::leave(Attempt& a) {
  if (a.is(Attempt::kWatched)) end(a);
}

void AttemptWatch::end(Attempt& a) {
  a.clear(Attempt::kWatched);
  Limit& limit = limits_[a.at->place.service];
  if (limit.source != kNone) limit.lane.erase(a.id, link());
  a.at->leave(a, state_.now);
}

Attempt& AttemptWatch::expired(ServiceId service) {
  Attempt& a = state_.attempts[limits_[service].lane.front()];
  state_.note_event(EventKind::kServiceTimeout, a.id);
  leave(a);
  return a;
}

EventKey AttemptWatch::next_timeout(ServiceId service) const {
  const kernel::TimerLane<AttemptId>& lane = limits_[service].lane;
  return lane.empty() ? EventKey::never() : armed(links_[lane.front()].key());
}

void Services::service_times_out(ServiceId service) {
  Attempt& a = watch_.expired(service);
  Instance& s = *a.at;
  if (a.stage == Attempt::Stage::kQueued) {
    s.remove_from_queue(a, state_.now);
  } else {
    if (a.stage == Attempt::Stage::kHoldingServer) cancel_wait(a.id);
    s.in_service.abort(a, state_.now);
    if (a.given_up()) wasted_work(a);
    serve_queue(s);
  }
  changed(s);
  if (a.given_up()) {
    a.clients->recorder->passage.dropped(a.in_cohort);
    return attempts_.release(a);
  }
  s.place.recorder->error_answered();
  network_.answer(a, state_.answers.of_service(service).timeout);
}

void Services::branch() {
  Instances& instances = state_.instances;
  for (const InstanceId i : instances.ids()) {
    Instance& s = instances[i];
    const ServiceId service = instances.service_of(i);
    const bool is_alone = s.spec().instances.count == 1;
    s.branch(is_alone ? state_.streams.of_service(service)
                      : state_.streams.of_instance(service, instances.number_of(i)),
             state_.now);
    state_.queue.set(s.place.completions, s.servers().next_completion());
  }
}

// --- Levels.

void Services::changed(Instance& s) {
  s.servers().with([&](const auto& servers) {
    state_.queue.set(s.place.completions, servers.head());
    if (others_observe_) return observe_levels(s);
    record_levels(s, servers);
  });
}

void Services::levels_changed(Instance& s) {
  if (others_observe_) return observe_levels(s);
  record_levels(s);
}

void Services::record_levels(const Instance& s) {
  s.servers().with([&](const auto& servers) { record_levels(s, servers); });
}

template <class Servers>
void Services::record_levels(const Instance& s, const Servers& servers) {
  stats::ServiceRecorder& recorder = *s.place.recorder;
  const std::uint64_t queued = s.queued();
  recorder.levels({.busy = servers.busy(),
                   .in_system = static_cast<std::uint64_t>(servers.attempts()) + queued,
                   .queued = queued,
                   .working = s.power().working_servers(),
                   .now = state_.now});
  if (servers.waste_is_a_level()) recorder.wasting_servers(servers.wasting_servers(), state_.now);
}

void Services::observe_levels(Instance& s) {
  if (state_.instances.several()) {
    sum_levels(s);
  } else {
    record_levels(s);
  }
  if (Autoscaler* a = s.autoscaler()) {
    a->observe(s.servers().busy(), s.power().working_servers(), state_.now);
  }
}

// The levels of a service are the sums of those of its instances.
void Services::sum_levels(const Instance& s) {
  const InstanceId instance = s.place.instance;
  const ServiceId service = s.place.service;
  const stats::StationLevels levels{s.servers().busy(), static_cast<std::int64_t>(s.in_system()),
                                    static_cast<std::int64_t>(s.queued()),
                                    s.power().working_servers()};
  stats::StationLevels& known = levels_[instance].levels;
  stats::StationLevels& sum = sums_[service];
  sum.busy += levels.busy - known.busy;
  sum.in_system += levels.in_system - known.in_system;
  sum.queued += levels.queued - known.queued;
  // "Unlimited" is the largest number there is, and stays that.
  const bool unlimited = s.spec().servers == ServiceSpec::kUnlimited;
  sum.working = unlimited ? levels.working : sum.working + levels.working - known.working;
  known = levels;
  state_.instance_log->levels(instance, levels, state_.now);
  stats::ServiceRecorder& recorder = *s.place.recorder;
  recorder.levels({.busy = sum.busy,
                   .in_system = static_cast<std::uint64_t>(sum.in_system),
                   .queued = static_cast<std::uint64_t>(sum.queued),
                   .working = sum.working,
                   .now = state_.now});
  if (!s.servers().waste_is_a_level()) return;
  levels_[instance].wasting_servers = s.servers().wasting_servers();
  limits_.count_work(state_.instances.of(service).size() / 64);
  double wasting = 0;  // added up anew: differences of doubles would leave a rest
  for (const InstanceId i : state_.instances.of(service)) wasting += levels_[i].wasting_servers;
  recorder.wasting_servers(wasting, state_.now);
}

void Services::close() {
  for (const ServiceId service : Ids<ServiceId>(state_.instances.services())) {
    stats::ServiceRecorder& recorder = state_.recorder.service(service);
    recorder.wasting_servers(0, state_.now);
    for (const InstanceId i : state_.instances.of(service)) {
      const Instance& s = state_.instances[i];
      if (s.servers().waste_is_a_level()) continue;
      limits_.count_work(1);
      std::vector<AttemptId> at_work;
      s.servers().for_each([&](std::uint32_t id) { at_work.emplace_back(id); });
      for (const AttemptId id : state_.holders.at(s.place.instance)) at_work.push_back(id);
      for (const AttemptId id : at_work) {
        if (id % 8 == 0) limits_.count_work(1);
        const Attempt& a = state_.attempts[id];
        if (!a.given_up()) continue;
        recorder.add_wasted_work(s.servers().wasted_since(a), state_.end_of_submissions);
      }
    }
  }
}

}  // namespace retrysim::model
