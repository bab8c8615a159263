// SPDX-License-Identifier: MIT
#include "model/transport.hpp"

#include "model/parts.hpp"
#include "model/state.hpp"

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

/// Draws decide, one after the other, what gets lost of the messages of an attempt: those of the
/// rounds before the present one are passed over.
void skip_rounds(Draws& draws, const Attempt& a) {
  for (int i = 0; i < a.round; ++i) draws.next(), draws.next();
}

}  // namespace

Transport::Transport(RunState& state, Parts& parts)
    : state_(state),
      parts_(parts),
      delays_differ_(delays_differ(state.scenario)),
      takes_time_(delays_differ_ ||
                  state.scenario.network.latency.constant_value() > Duration::zero()) {}

void Transport::add_sources() {
  if (!takes_time_) return;
  if (state_.scenario.network.latency.is_constant()) {
    request_source_ = state_.add_source(EventKind::kAttemptArrives);
    answer_source_ = state_.add_source(EventKind::kResponseArrives, 0, kernel::SourceRole::kAnswer);
  }
  if (delays_differ_) {
    late_answer_source_ =
        state_.add_source(EventKind::kLateResponse, 0, kernel::SourceRole::kAnswer);
  }
}

void Transport::send(ClientGroup& g, Request& r) {
  const AttemptId id(state_.attempts.allocate());
  Attempt& a = state_.attempts[id];
  r.phase = Request::Phase::kInFlight;
  r.phase_since = state_.now;
  a = g.new_attempt;
  if (g.calls_several) [[unlikely]] {
    a.service = g.about.service(state_.streams.of_group(g.index), r.entity);
    a.instance = state_.instances.first(a.service);
  }
  a.sibling = r.attempt;  // none, but for hedging
  r.attempt = id;
  ++r.progress.attempts;
  a.entity = r.entity;
  a.sent = state_.now;
  a.request = r.id;
  a.client = r.client;
  a.number = r.progress.attempts;
  a.in_cohort = r.in_cohort;
  if (r.connecting) a.connecting = true;
  if (r.mutating) [[unlikely]] {
    a.mutating = true;
    parts_.mutations.attempt_sent(r.id, id);
  }
  state_.recorder.sent(g.index, r.in_cohort, a.number, state_.now);
  if (a.sibling.exists()) [[unlikely]]
    parts_.timeouts.disarm(g, r);  // it runs from the latest attempt
  parts_.timeouts.arm(g, r);
  if (g.sends_in_steps) [[unlikely]] {
    if (g.hedges) parts_.hedging.schedule(g, r);
    if (g.balanced) a.instance = parts_.balancer.choose(a);
  }
  Service& s = state_.instances[a.instance];
  if (!takes_time_ && s.impairment().request_loss == 0) [[likely]]
    return parts_.entrance.arrive(id, a, s);
  travel_to_service(id, a);
}

Duration Transport::delay(const Attempt& a, Purpose purpose) const {
  const Distribution& latency = state_.scenario.network.latency;
  const Duration added = state_.instances[a.instance].impairment().latency;
  if (a.round > 0) {
    purpose = purpose == Purpose::kNetwork ? Purpose::kSecondNetwork : Purpose::kSecondResponse;
  }
  return latency.sample(state_.streams.of_group(a.group), {a.entity, a.number, 0, purpose}) + added;
}

void Transport::travel_to_service(AttemptId attempt, Attempt& a) {
  Service& s = state_.instances[a.instance];
  Duration time = takes_time_ ? delay(a, Purpose::kNetwork) : Duration::zero();
  if (a.connecting) {
    a.connecting = false;
    const Duration setup = parts_.connections.setup_time(a);
    const Duration limit = state_.groups[a.group].spec->connect_timeout;
    const bool times_out = s.impairment().black_hole && limit != Duration::max();
    if (setup > limit || times_out) {
      a.answer = Answers::kNoAnswer;
      return schedule_answer(attempt, limit);
    }
    time += setup;
  }
  if (s.impairment().black_hole) {
    state_.recorder.lost(a.group, a.in_cohort);
    return parts_.delivery.discard(attempt, a);
  }
  if (s.impairment().unreachable) {
    a.answer = Answers::kConnectionRefused;
    return schedule_answer(attempt, time + delay(a, Purpose::kResponse));
  }
  const double loss = s.impairment().request_loss;
  if (loss > 0) {
    Draws draws(state_.streams.of_group(a.group), {a.entity, a.number, 0, Purpose::kLoss});
    skip_rounds(draws, a);
    if (draws.uniform() < loss) {
      state_.recorder.lost(a.group, a.in_cohort);
      return parts_.delivery.discard(attempt, a);
    }
  }
  if (time == Duration::zero()) return parts_.entrance.arrive(attempt, a, s);
  const kernel::TimerEntry entry{state_.key_in(time), attempt,
                                 static_cast<std::uint32_t>(EventKind::kAttemptArrives)};
  if (state_.scenario.network.latency.is_constant() && requests_.push_back(entry)) {
    state_.queue.offer(request_source_, requests_.head());
  } else {
    state_.timers.push(entry);
    state_.queue.offer(state_.timer_source, state_.timers.head());
  }
}

void Transport::attempt_arrives() {
  const AttemptId attempt(requests_.pop_front().entity);
  state_.queue.set(request_source_, requests_.head());
  state_.note_event(EventKind::kAttemptArrives, attempt);
  Attempt& a = state_.attempts[attempt];
  parts_.entrance.arrive(attempt, a, state_.instances[a.instance]);
}

bool Transport::send_answer(AttemptId id, Attempt& a, const Service& s, std::uint16_t answer) {
  a.answer = answer;
  a.stage = Attempt::Stage::kOnTheWire;
  if (s.impairment().response_loss > 0 && lose_answer(id, a, s)) [[unlikely]]
    return false;
  return !takes_time_ || !answer_travels(id, a);
}

void Transport::answer_with(AttemptId id, Attempt& a, const Service& s, std::uint16_t answer) {
  if (send_answer(id, a, s, answer)) parts_.settlement.answered(id);
}

// True if the answer is lost on its way.
bool Transport::lose_answer(AttemptId id, Attempt& a, const Service& s) {
  Draws draws(state_.streams.of_group(a.group), {a.entity, a.number, 0, Purpose::kLoss});
  skip_rounds(draws, a);
  draws.next();  // decided the request's own loss
  if (draws.uniform() >= s.impairment().response_loss) return false;
  state_.recorder.lost(a.group, a.in_cohort);
  parts_.serving.answer_unused(a);
  parts_.delivery.discard(id, a);
  return true;
}

// True if the answer takes time to its client.
bool Transport::answer_travels(AttemptId id, const Attempt& a) {
  const Duration time = delay(a, Purpose::kResponse);
  if (time == Duration::zero()) return false;
  schedule_answer(id, time);
  return true;
}

void Transport::schedule_answer(AttemptId attempt, Duration delay) {
  const kernel::TimerEntry entry{state_.key_in(delay), attempt, 0};
  if (state_.scenario.network.latency.is_constant() && answers_.push_back(entry)) {
    state_.queue.offer(answer_source_, answers_.head());
  } else {
    assert(delays_differ_);
    late_answers_.push(entry);
    state_.queue.offer(late_answer_source_, late_answers_.head());
  }
}

void Transport::answer_arrives(bool late) {
  const AttemptId attempt(late ? late_answers_.pop().entity : answers_.pop_front().entity);
  state_.queue.set(late ? late_answer_source_ : answer_source_,
                   late ? late_answers_.head() : answers_.head());
  state_.note_event(EventKind::kResponseArrives, attempt);
  parts_.delivery.deliver(attempt, state_.attempts[attempt]);
}

}  // namespace retrysim::model
