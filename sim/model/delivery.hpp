// How an attempt ends for its client: with an answer, or because the client stops waiting. And how
// it ends at all: an attempt given up may be served all the same.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include "model/client_group.hpp"
#include "model/event_loop.hpp"
#include "model/request.hpp"
#include "model/service.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class Delivery {
 public:
  Delivery(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// The client has its answer, unless it has stopped waiting.
  void deliver(Attempt& a);
  /// The same, compiled into the step that ends nearly every attempt.
  RETRYSIM_IN_LOOP void deliver_here(Attempt& a);
  /// The same, compiled into the step that delivers nearly every refusal.
  RETRYSIM_IN_LOOP void deliver_put_down(Attempt& a);
  /// The client stops waiting for all that is under way; the service may go on with it.
  [[gnu::noinline]] void give_up(ClientGroup& g, Request& r, AttemptResult result);
  /// The same, compiled into the step that most often calls for it.
  RETRYSIM_IN_LOOP void give_up_here(ClientGroup& g, Request& r, AttemptResult result);
  /// The service's side of an attempt has ended, and no answer is on its way.
  void discard(Attempt& a);
  /// The attempt is no more.
  void release(Attempt& a);

 private:
  [[gnu::noinline]] void deliver_unawaited(Attempt& a);
  RETRYSIM_IN_LOOP void deliver_success(ClientGroup& g, Request& r, Attempt& a);
  [[gnu::noinline]] void deliver_failure(ClientGroup& g, Request& r, Attempt& a);
  RETRYSIM_IN_LOOP void deliver_failure_here(ClientGroup& g, Request& r, Attempt& a);
  RETRYSIM_IN_LOOP void end_attempt(ClientGroup& g, Request& r, Attempt& a, ResponseClass answer);
  RETRYSIM_IN_LOOP void release_here(Attempt& a);
  [[gnu::noinline]] void next_call(Attempt& a);
  RETRYSIM_IN_LOOP bool give_up_attempt(ClientGroup& g, Request& r, Attempt& a,
                                        AttemptResult result);
  [[gnu::noinline]] void end_connection(ClientGroup& g, const Request& r, const Attempt& a,
                                        ResponseClass answer);
  void forget(Request& r, const Attempt& a);
  [[gnu::noinline]] void forget_later(const Request& r, const Attempt& a);

  RunState& state_;
  Parts& parts_;
  std::vector<Service*> freed_;  // instances with servers that have just been set free
};

}  // namespace retrysim::model
