// The way of an attempt through a service: admitted or turned away, served, and answered; or taken
// out before that, by the service's own timeout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_queue.hpp"
#include "kernel/fifo_lane.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"
#include "model/run/state.hpp"
#include "model/service/behaviour.hpp"
#include "model/service/instance.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

/// What an attempt meets when it arrives at a service: random errors, the throttle, the queue. And
/// how it is turned away.
class ServiceEntrance {
 public:
  ServiceEntrance(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  void arrive(Attempt& a);
  /// The same, compiled into the step that sends the attempt.
  RETRYSIM_IN_LOOP void arrive_here(Attempt& a);
  /// The same as all that happens in an event.
  void arrive_by_event(Attempt& a);
  /// The queue does not take the attempt, or sheds it.
  [[gnu::noinline]] void overflow(Attempt& a, Refusal refusal);

 private:
  RETRYSIM_IN_LOOP void overflow_here(Attempt& a, Refusal refusal);
  bool passes_throttle(const Attempt& a, Service& s);
  bool passes_limits(const Attempt& a, Service& s, std::uint32_t number);
  [[gnu::noinline]] bool answered_at_the_door(Attempt& a);
  void turn_away(Attempt& a, std::uint16_t answer);

  RunState& state_;
  Parts& parts_;
};

/// Servers at work: what a free server takes from the queue, and what becomes of an attempt when
/// its service ends. The order in the queue and the time it takes are the business of `Service`.
class Serving {
 public:
  Serving(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  void add_sources();

  /// What the service completes next has completed. Nearly every event is this or an arrival.
  void complete(Service& s);
  /// Whether the attempt, which arrives in an event of its own, finds nobody at a service that
  /// takes no time, so that its completion would be the next event.
  bool finds_nobody(const Attempt& a) const {
    const Service& s = *a.at;
    return !a.is(~unsigned{Attempt::kSecondCall}) && !s.traits().screens_arrivals &&
           !s.traits().calls_others && !others_observe_ && s.in_system() == 0 &&
           s.servers().has_room() && state_.queue.earliest() > state_.now;
  }
  /// That completion, without a way through the queue of events. Levels change for no time.
  void serve_at_once(Attempt& a);
  /// What becomes of an attempt when its server is free again. The last step of its event, or of
  /// the work list it comes from: the answer need not be put down.
  void served(Attempt& a, Reply reply);
  /// Free servers take what waits.
  void serve_queue(Service& s);
  /// Something has changed at the instance: its next completion, its levels.
  void changed(Service& s);
  /// Tells the recorder of the levels of all services as they are at the start.
  void begin_levels();

  /// An attempt in service, or just served, whose client has given up.
  void wasted_work(const Attempt& a);
  /// An attempt has been given server time for an answer that nobody waits for.
  void answer_unused(const Attempt& a);
  /// A server begins with an attempt, at a service that counts how many wait for a short time only.
  [[gnu::noinline]] void time_wait(const Attempt& a);

  /// An attempt that holds a server without being served, for calls or because of its token, does
  /// so no more; all that do at an instance.
  [[gnu::noinline]] void cancel_wait(AttemptId attempt);
  std::vector<AttemptId> waiting_at(const Service& s) const;

 private:
  RETRYSIM_IN_LOOP Reply reply_to(Attempt& a);
  RETRYSIM_IN_LOOP void count_served(Attempt& a, Reply reply);
  RETRYSIM_IN_LOOP void hand_over(Attempt& a, Reply reply);
  [[gnu::noinline]] Reply answer_without_execution(Attempt& a);
  [[gnu::noinline]] bool leaves_unserved(Attempt& a);
  bool would_be_late(const Attempt& a) const;
  void drop_from_queue(Attempt& a);
  [[gnu::noinline]] void served_in_vain(Attempt& a);
  void levels_changed(Service& s);
  void record_levels(const Service& s);
  [[gnu::noinline]] void observe_levels(Service& s);

  RunState& state_;
  Parts& parts_;
  // Others than the recorder have to know of levels: autoscalers, or the balancer.
  bool others_observe_ = false;
};

/// Services that watch over what they have admitted: some limit how long an attempt may stay, some
/// how many may be there, and want to hear of every one that goes.
class AttemptWatch {
 public:
  AttemptWatch(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  void add_sources();

  /// An attempt has been admitted by a service that watches over its attempts.
  [[gnu::noinline]] void enter(Attempt& a);
  /// It is served, or it goes in another way.
  void leave(Attempt& a) {
    if (a.is(Attempt::kWatched)) [[unlikely]]
      end(a);
  }
  /// The service's own timeout ends its oldest attempt.
  void time_out(ServiceId service);
  kernel::EventKey next_timeout(ServiceId service) const;

 private:
  struct Limit {  // of one service
    kernel::TimerLane<AttemptId> lane;
    std::uint32_t source = kNone;
  };
  [[gnu::noinline]] void end(Attempt& a);
  auto link();

  RunState& state_;
  Parts& parts_;
  ByService<Limit> limits_;
  ByAttempt<kernel::LaneLink<AttemptId>> links_;  // of services that limit the time
};

}  // namespace retrysim::model
