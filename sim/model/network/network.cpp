// SPDX-License-Identifier: MIT
#include "model/network/network.hpp"

#include "model/client/clients.hpp"
#include "model/effects/effects.hpp"

#include "kernel/memory.hpp"
#include "model/run/events.hpp"
#include "model/run/state.hpp"
#include "model/run/trace.hpp"
#include "model/service/services.hpp"

#include <algorithm>
#include <cassert>

namespace retrysim::model {
namespace {

bool delays_differ(const Scenario& scenario) {
  return connections_take_time(scenario) || !scenario.network.latency.is_constant() ||
         std::ranges::any_of(scenario.faults, [](const FaultSpec& f) {
           return f.latency > Duration::zero() || f.unreachable || f.black_hole;
         });
}

/// Each message of an attempt has two draws, which decide whether it or its answer is lost. The
/// second message skips those of the first.
void skip_first_message(Draws& draws, const Attempt& a) {
  if (a.is(Attempt::kSecondMessage)) draws.next(), draws.next();
}

}  // namespace

Network::Network(RunState& state, Agenda& agenda, Clients& clients, Services& services,
                 Attempts& attempts)
    : state_(state),
      agenda_(agenda),
      clients_(clients),
      services_(services),
      attempts_(attempts),
      latency_(state.scenario.network.latency),
      delays_differ_(delays_differ(state.scenario)),
      takes_time_(delays_differ_ || latency_.constant_value() > Duration::zero()),
      balancer_(state),
      health_checks_(state, balancer_) {}

void Network::add_sources() {
  health_checks_.add_sources();
  balancer_.add_sources();
  if (!takes_time_) return;
  if (latency_.is_constant()) {
    request_source_ = state_.add_source(EventKind::kAttemptArrives);
    answer_source_ = state_.add_source(EventKind::kResponseArrives, 0, kernel::SourceRole::kAnswer);
  }
  if (delays_differ_) {
    late_request_source_ = state_.add_source(EventKind::kAttemptOutOfOrder);
    late_answer_source_ =
        state_.add_source(EventKind::kResponseOutOfOrder, 0, kernel::SourceRole::kAnswer);
  }
}

// --- The way to the service.

RETRYSIM_IN_LOOP void Network::send(const Group& g, Attempt& a) {
  if (g.is_routed) route(g, a);
  RETRYSIM_TELL(Step::kSent, state_.now, a, a.at->place.instance);
  if (!takes_time_ && !a.at->traits().loses_messages) return services_.arrive(a);
  travel_to_service(a);
}

InstanceId Network::name_host(const Group& g, const Request& r, ServiceId service,
                              std::uint32_t number, bool been_somewhere) {
  if (!g.balanced) return state_.instances.first(service);
  return balancer_.name({&g, service, r.client, r.id, r.entity, number, been_somewhere});
}

void Network::route(const Group& g, Attempt& a) {
  if (g.host_is_named) {
    if (g.balanced) balancer_.goes(a);
    return;
  }
  if (g.calls_several) {
    const ServiceId service = g.about.service(*g.subject_key, a.entity);
    a.at = &state_.instances[state_.instances.first(service)];
  }
  if (g.balanced) a.at = &state_.instances[balancer_.choose(a)];
}

// Without what faults add.
inline Duration Network::drawn(const Attempt& a, Purpose purpose) const {
  if (a.is(Attempt::kSecondMessage)) {
    purpose = purpose == Purpose::kNetwork ? Purpose::kSecondNetwork : Purpose::kSecondResponse;
  }
  return latency_.sample(*a.clients->key, {a.entity, a.number, 0, purpose});
}

inline Duration Network::delay(const Attempt& a, Purpose purpose) const {
  const Duration added = a.at->impairment().latency;
  const Duration own = drawn(a, purpose);
  return added == Duration::zero() ? own : own + added;
}

void Network::travel_to_service(Attempt& a) {
  assert(!a.given_up());
  if (a.is(Attempt::kConnecting) || a.at->traits().obstructs_way) return travel_past_obstacles(a);
  if (!takes_time_) return arrive_in(a, Duration::zero());
  const Duration time = delay(a, Purpose::kNetwork);
  // Two draws at once take hardly longer than one: neither waits for the other.
  a.way_back_ns = drawn(a, Purpose::kResponse).count();
  arrive_in(a, time);
}

// On a new connection, or on a way where messages do not all come through.
void Network::travel_past_obstacles(Attempt& a) {
  const Instance& s = *a.at;
  a.way_back_ns = drawn(a, Purpose::kResponse).count();
  Duration time = takes_time_ ? delay(a, Purpose::kNetwork) : Duration::zero();
  if (a.is(Attempt::kConnecting)) {
    a.clear(Attempt::kConnecting);
    const Duration setup = setup_time(a);
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
    return attempts_.discard(a);
  }
  if (s.impairment().unreachable) {
    a.answer = Answers::kConnectionRefused;
    return schedule_answer(a, time + delay(a, Purpose::kResponse));
  }
  const double loss = s.impairment().request_loss;
  if (loss > 0) {
    Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kLoss});
    skip_first_message(draws, a);
    if (draws.uniform() < loss) {
      a.clients->recorder->passage.lost(a.in_cohort);
      return attempts_.discard(a);
    }
  }
  arrive_in(a, time);
}

// The time that opening the attempt's connection takes.
Duration Network::setup_time(const Attempt& a) const {
  const Distribution& connect = state_.scenario.network.connect;
  if (connect.is_constant()) return connect.constant_value();
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kConnect});
  return connect.sample(draws);
}

void Network::arrive_now(Attempt& a) { services_.arrive(a); }

inline void Network::arrive_in(Attempt& a, Duration time) {
  if (time == Duration::zero()) return arrive_now(a);
  const kernel::EventKey key = state_.key_in(time);
  if (latency_.is_constant() && requests_.push_back({key, a.id, 0})) {
    return state_.queue.offer(request_source_, requests_.head());
  }
  assert(delays_differ_);
  if (late_requests_.push({key, a.id, 0})) state_.queue.set(late_request_source_, key);
}

RETRYSIM_FLATTEN void Network::attempt_arrives(bool late) {
  const auto soon = [this](const kernel::TimerEntry& timer) {
    kernel::prefetch(state_.attempts[AttemptId(timer.entity)]);
  };
  const AttemptId attempt(late ? late_requests_.pop(soon).entity : requests_.pop_front().entity);
  state_.queue.set(late ? late_request_source_ : request_source_,
                   late ? late_requests_.head() : requests_.head());
  state_.note_event(EventKind::kAttemptArrives, attempt);
  services_.arrive_by_event(state_.attempts[attempt]);
}

// --- The way back.

// True if the answer takes no time, and is to be delivered at once.
bool Network::sets_out(Attempt& a, std::uint16_t answer) {
  a.answer = answer;
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kAnswering, state_.now, a, mark_of(state_.answers[answer]));
  if (a.at->traits().watches_answers && lose_answer(a)) return false;
  return !takes_time_ || !answer_travels(a);
}

RETRYSIM_IN_LOOP void Network::answer_last(Attempt& a, std::uint16_t answer) {
  if (sets_out(a, answer)) deliver(a);
}

void Network::answer(Attempt& a, std::uint16_t answer) {
  if (sets_out(a, answer)) agenda_.answered(a);
}

// True if the answer is lost on its way; the service has logged it then.
bool Network::lose_answer(Attempt& a) {
  if (a.at->traits().logs_answers) state_.log_answer(a, a.answer);
  if (a.at->impairment().response_loss == 0) return false;
  Draws draws(*a.clients->key, {a.entity, a.number, 0, Purpose::kLoss});
  skip_first_message(draws, a);
  draws.next();  // decided the request's own loss
  if (draws.uniform() >= a.at->impairment().response_loss) return false;
  a.clients->recorder->passage.lost(a.in_cohort);
  services_.answer_unused(a);
  attempts_.discard(a);
  return true;
}

// True if the answer takes time to its client.
bool Network::answer_travels(const Attempt& a) {
  const Duration own =
      a.given_up() ? drawn(a, Purpose::kResponse) : Duration::nanoseconds(a.way_back_ns);
  const Duration time = own + a.at->impairment().latency;
  if (time == Duration::zero()) return false;
  schedule_answer(a, time);
  return true;
}

void Network::schedule_answer(const Attempt& a, Duration delay) {
  const kernel::EventKey key = state_.key_in(delay);
  if (latency_.is_constant() && answers_.push_back({key, a.id, 0})) {
    return state_.queue.offer(answer_source_, answers_.head());
  }
  assert(delays_differ_);
  if (late_answers_.push({key, a.id, 0})) state_.queue.set(late_answer_source_, key);
}

RETRYSIM_FLATTEN void Network::answer_arrives(bool late) {
  const AttemptId attempt(late ? late_answers_.pop().entity : answers_.pop_front().entity);
  state_.queue.set(late ? late_answer_source_ : answer_source_,
                   late ? late_answers_.head() : answers_.head());
  state_.note_event(EventKind::kResponseArrives, attempt);
  deliver(state_.attempts[attempt]);
}

RETRYSIM_IN_LOOP void Network::deliver(Attempt& a) {
  if (a.is(Attempt::kGivenUp | Attempt::kGoesOn)) return deliver_unawaited(a);
  clients_.answered(a);
}

RETRYSIM_IN_LOOP void Network::deliver_pending(Attempt& a) {
  const bool succeeded = a.clients->errors[a.answer].success();
  if (a.is(Attempt::kGivenUp | Attempt::kGoesOn) || succeeded) return deliver(a);
  clients_.answered_with_error(a);
}

// Nobody waits for this answer, or the client has the answer to one message of its attempt, and
// sends the next.
void Network::deliver_unawaited(Attempt& a) {
  if (a.given_up()) {
    RETRYSIM_TELL(Step::kUnused, state_.now, a);
    services_.answer_unused(a);
    return attempts_.release(a);
  }
  a.clear(Attempt::kGoesOn);
  a.set(Attempt::kSecondMessage);
  travel_to_service(a);
}

}  // namespace retrysim::model
