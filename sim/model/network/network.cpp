// SPDX-License-Identifier: MIT
#include "model/network/network.hpp"

#include "kernel/memory.hpp"
#include "model/run/events.hpp"
#include "model/run/parts.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"

#include <algorithm>
#include <cassert>

namespace retrysim::model {
namespace {

bool delays_differ(const Scenario& scenario) {
  return Connections::take_time(scenario) || !scenario.network.latency.is_constant() ||
         std::ranges::any_of(scenario.faults, [](const FaultSpec& f) {
           return f.latency > Duration::zero() || f.unreachable || f.black_hole;
         });
}

/// Draws decide, one after the other, what gets lost of the messages of an attempt: the
/// second call passes over those of the first.
void skip_first_call(Draws& draws, const Attempt& a) {
  if (a.is(Attempt::kSecondCall)) draws.next(), draws.next();
}

}  // namespace

Transport::Transport(RunState& state, Parts& parts)
    : state_(state),
      parts_(parts),
      latency_(state.scenario.network.latency),
      delays_differ_(delays_differ(state.scenario)),
      takes_time_(delays_differ_ || latency_.constant_value() > Duration::zero()) {}

void Transport::add_sources() {
  if (!takes_time_) return;
  if (latency_.is_constant()) {
    request_source_ = state_.add_source(EventKind::kAttemptArrives);
    answer_source_ = state_.add_source(EventKind::kResponseArrives, 0, kernel::SourceRole::kAnswer);
  }
  if (delays_differ_) {
    late_request_source_ = state_.add_source(EventKind::kLateAttempt);
    late_answer_source_ =
        state_.add_source(EventKind::kLateResponse, 0, kernel::SourceRole::kAnswer);
  }
}

void Transport::send(ClientGroup& g, Request& r) { send_here(g, r); }

RETRYSIM_IN_LOOP void Transport::send_here(ClientGroup& g, Request& r) {
  Attempt& a = state_.attempts.allocate();
  r.phase = Request::Phase::kInFlight;
  r.phase_since = state_.now;
  a.begin_like(g.new_attempt);
  a.number = ++r.progress.attempts;
  a.entity = r.entity;
  a.sent = state_.now;
  a.request = &r;
  a.client = r.client;
  a.in_cohort = r.in_cohort;
  if (g.sends_in_steps) [[unlikely]]
    prepare_in_steps(g, r, a);
  r.attempt = a.id;
  g.recorder->sent(r.in_cohort, a.number, state_.now);
  g.recorder->by_client.expect(r.client);
  parts_.timeouts.arm(g, r);
  if (g.sends_in_steps) [[unlikely]] {
    if (g.hedges) parts_.hedging.schedule(g, r);
    if (g.balanced) a.at = &state_.instances[parts_.balancer.choose(a)];
  }
  RETRYSIM_TELL(Step::kSent, state_.now, a, a.at->place.instance);
  if (!takes_time_ && !a.at->traits().loses_messages) [[likely]]
    return parts_.entrance.arrive_here(a);
  travel_to_service(a);
}

// What only the attempts of some groups need before they are sent.
void Transport::prepare_in_steps(ClientGroup& g, Request& r, Attempt& a) {
  if (g.calls_several) {
    const ServiceId service = g.about.service(*g.key, r.entity);
    a.at = &state_.instances[state_.instances.first(service)];
  }
  if (r.connecting) a.set(Attempt::kConnecting);
  if (r.mutating) {
    a.set(Attempt::kMutating);
    parts_.mutations.attempt_sent(r.id, a.id);
  }
  if (!r.attempt.exists()) return;
  a.sibling = r.attempt;         // the attempt is a hedge
  parts_.timeouts.disarm(g, r);  // it runs from the latest attempt
}

// Without what faults add.
inline Duration Transport::drawn(const Attempt& a, Purpose purpose) const {
  if (a.is(Attempt::kSecondCall)) {
    purpose = purpose == Purpose::kNetwork ? Purpose::kSecondNetwork : Purpose::kSecondResponse;
  }
  return latency_.sample(*a.clients->key, {a.entity, a.number, 0, purpose});
}

inline Duration Transport::delay(const Attempt& a, Purpose purpose) const {
  const Duration added = a.at->impairment().latency;
  const Duration own = drawn(a, purpose);
  return added == Duration::zero() ? own : own + added;
}

void Transport::travel_to_service(Attempt& a) {
  assert(!a.given_up());
  if (a.is(Attempt::kConnecting) || a.at->traits().obstructs_way) [[unlikely]]
    return travel_past_obstacles(a);
  if (!takes_time_) return arrive_in(a, Duration::zero());
  const Duration time = delay(a, Purpose::kNetwork);
  // Two draws at once take hardly longer than one: neither waits for the other.
  a.way_back_ns = drawn(a, Purpose::kResponse).count();
  arrive_in(a, time);
}

// On a new connection, or on a way where messages do not all come through.
void Transport::travel_past_obstacles(Attempt& a) {
  const Service& s = *a.at;
  a.way_back_ns = drawn(a, Purpose::kResponse).count();
  Duration time = takes_time_ ? delay(a, Purpose::kNetwork) : Duration::zero();
  if (a.is(Attempt::kConnecting)) {
    a.clear(Attempt::kConnecting);
    const Duration setup = parts_.connections.setup_time(a);
    const Duration limit = a.clients->spec->timeouts.connect;
    const bool times_out = s.impairment().black_hole && limit != Duration::max();
    if (setup > limit || times_out) {
      a.answer = Answers::kNoAnswer;
      return schedule_answer(a, limit);
    }
    time += setup;
  }
  if (s.impairment().black_hole) {
    a.clients->recorder->passage.lost(a.in_cohort);
    return parts_.delivery.discard(a);
  }
  if (s.impairment().unreachable) {
    a.answer = Answers::kConnectionRefused;
    return schedule_answer(a, time + delay(a, Purpose::kResponse));
  }
  const double loss = s.impairment().request_loss;
  if (loss > 0) {
    Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kLoss});
    skip_first_call(draws, a);
    if (draws.uniform() < loss) {
      a.clients->recorder->passage.lost(a.in_cohort);
      return parts_.delivery.discard(a);
    }
  }
  arrive_in(a, time);
}

inline void Transport::arrive_in(Attempt& a, Duration time) {
  if (time == Duration::zero()) return parts_.entrance.arrive(a);
  const kernel::EventKey key = state_.key_in(time);
  if (latency_.is_constant() && requests_.push_back({key, a.id, 0})) {
    return state_.queue.offer(request_source_, requests_.head());
  }
  assert(delays_differ_);
  if (late_requests_.push({key, a.id, 0})) state_.queue.set(late_request_source_, key);
}

RETRYSIM_FLATTEN void Transport::attempt_arrives(bool late) {
  const auto soon = [this](const kernel::TimerEntry& timer) {
    kernel::prefetch(state_.attempts[AttemptId(timer.entity)]);
  };
  const AttemptId attempt(late ? late_requests_.pop(soon).entity : requests_.pop_front().entity);
  state_.queue.set(late ? late_request_source_ : request_source_,
                   late ? late_requests_.head() : requests_.head());
  state_.note_event(EventKind::kAttemptArrives, attempt);
  parts_.entrance.arrive_by_event(state_.attempts[attempt]);
}

bool Transport::send_answer(Attempt& a, std::uint16_t answer) {
  a.answer = answer;
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kAnswering, state_.now, a, mark_of(state_.answers[answer]));
  if (a.at->traits().loses_messages && lose_answer(a)) [[unlikely]]
    return false;
  return !takes_time_ || !answer_travels(a);
}

void Transport::answer_with(Attempt& a, std::uint16_t answer) {
  if (send_answer(a, answer)) parts_.settlement.answered(a);
}

// True if the answer is lost on its way.
bool Transport::lose_answer(Attempt& a) {
  if (a.at->impairment().response_loss == 0) return false;
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kLoss});
  skip_first_call(draws, a);
  draws.next();  // decided the request's own loss
  if (draws.uniform() >= a.at->impairment().response_loss) return false;
  a.clients->recorder->passage.lost(a.in_cohort);
  parts_.serving.answer_unused(a);
  parts_.delivery.discard(a);
  return true;
}

// True if the answer takes time to its client.
bool Transport::answer_travels(const Attempt& a) {
  const Duration own =
      a.given_up() ? drawn(a, Purpose::kResponse) : Duration::nanoseconds(a.way_back_ns);
  const Duration time = own + a.at->impairment().latency;
  if (time == Duration::zero()) return false;
  schedule_answer(a, time);
  return true;
}

void Transport::schedule_answer(const Attempt& a, Duration delay) {
  const kernel::EventKey key = state_.key_in(delay);
  if (latency_.is_constant() && answers_.push_back({key, a.id, 0})) {
    return state_.queue.offer(answer_source_, answers_.head());
  }
  assert(delays_differ_);
  if (late_answers_.push({key, a.id, 0})) state_.queue.set(late_answer_source_, key);
}

void Transport::answer_arrives(bool late) {
  const AttemptId attempt(late ? late_answers_.pop().entity : answers_.pop_front().entity);
  state_.queue.set(late ? late_answer_source_ : answer_source_,
                   late ? late_answers_.head() : answers_.head());
  state_.note_event(EventKind::kResponseArrives, attempt);
  parts_.delivery.deliver(state_.attempts[attempt]);
}

}  // namespace retrysim::model
