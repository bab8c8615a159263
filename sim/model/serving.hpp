// Servers at work: what a free server takes from the queue, and what becomes of an attempt when its
// service ends. The order in the queue and the time it takes are the business of `Service`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/reply.hpp"
#include "model/request.hpp"
#include "model/service.hpp"
#include "model/state.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;

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
  /// so no more; all that do at an instance, in the order in which they began to.
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

}  // namespace retrysim::model
