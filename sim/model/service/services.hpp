// What services do: an attempt arrives, is admitted or turned away, waits, is served, and answered;
// or it is taken out before that.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/timer_queue.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"
#include "model/service/calls.hpp"
#include "model/service/instance.hpp"
#include "model/service/outside.hpp"
#include "model/service/servers.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::model {

class Attempts;
class Clients;
class Effects;
class Network;
class RunLimits;

/// Tracks the admitted attempts of services that limit how long an attempt may stay
/// (`ServiceSpec::timeout`) or how many may be there at once: both need to know when one leaves.
class AttemptWatch {
 public:
  explicit AttemptWatch(RunState& state) : state_(state) {}

  void add_sources();

  /// An attempt has been admitted by a service that watches over its attempts.
  [[gnu::noinline]] void enter(Attempt& a);
  /// The attempt is served, or goes in another way.
  RETRYSIM_IN_LOOP void leave(Attempt& a);
  /// The attempt that the service's own timeout ends now: its oldest one.
  Attempt& expired(ServiceId service);
  kernel::EventKey next_timeout(ServiceId service) const;
  std::uint64_t bytes() const { return links_.bytes(); }

 private:
  struct Limit {  // of one service
    kernel::TimerLane<AttemptId> lane;
    std::uint32_t source = kNone;
  };
  [[gnu::noinline]] void end(Attempt& a);
  auto link();

  RunState& state_;
  ByService<Limit> limits_;
  ByAttempt<kernel::LaneLink<AttemptId>> links_;  // of services that limit the time
};

/// All services. An attempt goes through these steps at its instance (`Attempt::at`), each of which
/// calls the next one or leaves it to an event:
///
///   Network -> arrive -> (turned away) or the queue, or a server; another may have to leave the
///                        queue for it, and is then turned away
///   an event: complete -> served -> Network::answer_last; the server takes the next attempt
///
/// What an instance decides is in `Instance`; what follows from it is here.
class Services {
 public:
  Services(RunState& state, Agenda& agenda, Clients& clients, Network& network, Effects& effects,
           Attempts& attempts, RunLimits& limits);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  /// Makes the instances. `Calls` are linked, and levels begin, when all are there.
  void prepare();
  void add_completion_sources();
  /// Events of faults and autoscaling; of the services' own timeouts.
  void add_outside_sources();
  void add_timeout_sources() { watch_.add_sources(); }
  /// Offers the first faults and looks of autoscalers.
  void start();
  /// The run takes another branch now, whose random numbers the streams already have.
  void branch();

  /// An attempt has come to the instance that it goes to.
  RETRYSIM_IN_LOOP void arrive(Attempt& a);
  /// An arrival that is an event of its own, in which nothing else happens.
  void arrive_by_event(Attempt& a);
  /// The client of the attempt has stopped waiting. Servers that this sets free take their next
  /// attempt at `refill_freed`, when all attempts of the request have been given up.
  RETRYSIM_IN_LOOP void abandon(Attempt& a);
  RETRYSIM_IN_LOOP void refill_freed();
  /// An attempt has been given server time for an answer that no client waits for.
  void answer_unused(const Attempt& a);
  /// An attempt that was executed has failed, to its client.
  void execution_failed(const Attempt& a) { a.at->place.recorder->execution_failed(a.finished); }
  /// A call of an attempt here has ended.
  void call_ended(CallId id, bool succeeded);

  // From the agenda.

  /// The calls that an attempt waited for have ended.
  void calls_over(CallId id);
  /// The session that attempts waited for has ended. The first of them may begin one of its own,
  /// for which the others wait.
  void token_free(const Token& token);

  // The events. Nearly every event is a completion or an arrival.

  /// The next completion of the instance is due.
  void complete(Instance& s);
  void service_times_out(ServiceId service);
  kernel::EventKey next_timeout(ServiceId service) const { return watch_.next_timeout(service); }
  void faults_change();
  void scaling_due(ServiceId service);

  /// At the end of the run: work that no client waits for goes on to the end of the window.
  void close();

  /// For limits.
  std::uint64_t bytes();

 private:
  void number_limits(ServiceId service, const OperationNames& operations);

  bool can_serve_immediately(const Attempt& a) const;
  void serve_at_once(Attempt& a);
  [[gnu::noinline]] bool is_answered_at_the_door(Attempt& a);
  bool meets_random_error(Attempt& a);
  bool passes_throttle(const Attempt& a, Instance& keeper) const;
  [[gnu::noinline]] Instance::Admission admit_in_place_of_another(Attempt& newcomer);
  RETRYSIM_IN_LOOP void refuse(Attempt& a, Refusal refusal);
  void turn_away(Attempt& a, std::uint16_t answer);

  void serve_queue(Instance& s);
  [[gnu::noinline]] bool leaves_unserved(Attempt& a);
  bool would_be_late(const Attempt& a) const;
  void drop_from_queue(Attempt& a);
  [[gnu::noinline]] void time_wait(const Attempt& a);
  void served(Attempt& a, std::uint16_t answer);
  RETRYSIM_IN_LOOP std::uint16_t answer_to(Attempt& a);
  static std::uint16_t answer_of(Attempt& a, Reply reply);
  [[gnu::noinline]] std::uint16_t answer_without_execution(Attempt& a);
  [[gnu::noinline]] void count_error(const Attempt& a, std::uint16_t answer);
  RETRYSIM_IN_LOOP void count_served(Attempt& a, std::uint16_t answer);
  RETRYSIM_IN_LOOP void hand_over(Attempt& a, std::uint16_t answer);
  [[gnu::noinline]] void served_in_vain(Attempt& a, std::uint16_t answer);
  void wasted_work(const Attempt& a);

  [[gnu::noinline]] bool begin_calls(Instance& s);
  void make_calls(const Attempt& a, std::span<const Calls::Order> orders);
  [[gnu::noinline]] void cancel_wait(AttemptId attempt);

  // Something has changed at the instance: its next completion, its levels.
  void changed(Instance& s);
  void levels_changed(Instance& s);
  void record_levels(const Instance& s);
  template <class Servers>
  void record_levels(const Instance& s, const Servers& servers);
  [[gnu::noinline]] void observe_levels(Instance& s);
  void sum_levels(const Instance& s);

  // outside.cpp
  Impairment impairment_of(InstanceId instance) const;
  void change_instance(InstanceId instance, const FaultTimeline::Change& change);
  std::vector<AttemptId> break_off(Instance& s, const std::vector<std::uint32_t>& taken);
  void connections_break(const std::vector<AttemptId>& broken_off);

  /// Levels of a service with several instances.
  struct Levels {
    stats::StationLevels levels;
    double wasting_servers = 0;
  };

  RunState& state_;
  Agenda& agenda_;
  Clients& clients_;
  Network& network_;
  Effects& effects_;
  Attempts& attempts_;
  RunLimits& limits_;
  AttemptWatch watch_;
  Calls calls_;
  // What instances take, as last seen; their sum; the one that was looked at last.
  std::vector<std::uint64_t> instance_bytes_;
  std::uint64_t bytes_at_instances_ = 0;
  std::size_t looked_at_ = 0;
  std::vector<Instance*> freed_;  // with servers that have just been set free
  // Whether levels go to others than the recorder of the service: to an autoscaler, or to the log
  // of the instances.
  bool others_observe_ = false;
  IndexedBy<InstanceId, std::vector<Levels>> levels_;  // as last seen
  ByService<stats::StationLevels> sums_;
  FaultTimeline faults_;
  std::uint64_t faults_begun_ = 0;
  std::uint32_t fault_source_ = kNone;
  ByService<std::uint32_t> scaling_sources_;
  ByService<std::size_t> ranks_;  // places among the names
};

}  // namespace retrysim::model
