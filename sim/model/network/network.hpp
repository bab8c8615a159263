// The network between clients and services: which instance an attempt goes to, how long messages
// take, which get lost, and what an arriving answer means: its client has it, no client waits for
// it, or another message follows.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/timer_queue.hpp"
#include "model/network/balancer.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"

#include <cstdint>

namespace retrysim::model {

class Attempts;
class Clients;
class Services;

class Network {
 public:
  Network(RunState& state, Agenda& agenda, Clients& clients, Services& services,
          Attempts& attempts);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The services are known.
  void prepare() { balancer_.prepare(); }
  void add_sources();
  /// Offers the first health checks, and when balancers look at their instances.
  void start() {
    health_checks_.start();
    balancer_.start();
  }

  /// The instance that the next attempt of a request would go to, of a group that knows it before
  /// it sends (`Group::host_is_named`): `Balancer::Asked` has the numbers.
  [[gnu::noinline]] InstanceId name_host(const Group& g, const Request& r, ServiceId service,
                                         std::uint32_t number, bool been_somewhere);
  /// The attempt of a client sets out.
  RETRYSIM_IN_LOOP void send(const Group& g, Attempt& a);
  /// The service answers the attempt, as the last step of its event: an answer that takes no time
  /// is delivered at once, and the client's reaction (a retry, say) may reach this service before
  /// the call returns.
  RETRYSIM_IN_LOOP void answer_last(Attempt& a, std::uint16_t answer);
  /// The service answers the attempt in the middle of a step: an answer that takes no time is
  /// delivered when the event is over.
  void answer(Attempt& a, std::uint16_t answer);
  /// The attempt is not under way any more, to the balancer: its client has the answer, or has
  /// stopped waiting.
  void ended(const Attempt& a, AttemptResult result) { balancer_.ended(a, result); }

  /// From the agenda: an answer that took no time. Nearly all of these are refusals.
  RETRYSIM_IN_LOOP void deliver_pending(Attempt& a);

  // The events. `late`: of a message whose time varies.
  void attempt_arrives(bool late);
  void answer_arrives(bool late);
  void health_check_due() { health_checks_.due(); }
  void ejection_due() { balancer_.due(); }

  /// Enters what is known of single instances into the result of the run.
  void close(RunResult& result) { balancer_.close(result); }

  // For limits and books.
  const Balancer& balancer() const { return balancer_; }
  std::uint64_t bytes() const {
    return late_requests_.bytes() + late_answers_.bytes() + requests_.bytes() + answers_.bytes() +
           balancer_.bytes();
  }

 private:
  [[gnu::noinline]] void route(const Group& g, Attempt& a);
  [[gnu::noinline]] void travel_to_service(Attempt& a);
  [[gnu::noinline]] void travel_past_obstacles(Attempt& a);
  [[gnu::always_inline]] inline void arrive_in(Attempt& a, Duration time);
  [[gnu::noinline]] void arrive_now(Attempt& a);
  Duration setup_time(const Attempt& a) const;
  [[gnu::always_inline]] inline Duration drawn(const Attempt& a, Purpose purpose) const;
  [[gnu::always_inline]] inline Duration delay(const Attempt& a, Purpose purpose) const;

  bool sets_out(Attempt& a, std::uint16_t answer);
  [[gnu::noinline]] bool lose_answer(Attempt& a);
  [[gnu::noinline]] bool answer_travels(const Attempt& a);
  [[gnu::always_inline]] inline void schedule_answer(const Attempt& a, Duration delay);
  RETRYSIM_IN_LOOP void deliver(Attempt& a);
  [[gnu::noinline]] void deliver_unawaited(Attempt& a);

  RunState& state_;
  Agenda& agenda_;
  Clients& clients_;
  Services& services_;
  Attempts& attempts_;
  const Distribution& latency_;
  bool delays_differ_;  // a message may overtake another
  bool takes_time_;     // messages are events, not steps
  kernel::MessageLane requests_, answers_;
  kernel::TimerQueue late_requests_, late_answers_;  // of varying delay
  std::uint32_t request_source_ = kNone, answer_source_ = kNone;
  std::uint32_t late_request_source_ = kNone, late_answer_source_ = kNone;
  Balancer balancer_;
  HealthChecks health_checks_;
};

}  // namespace retrysim::model
