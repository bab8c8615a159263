// A request from its submission to its end, as its application sees it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>

#include "model/client_group.hpp"
#include "model/event_loop.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace retrysim::model {

struct Parts;
struct RunState;

class ClientRequests {
 public:
  ClientRequests(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// Adds the sources of the open arrival processes.
  void add_sources();
  /// The next request of an open arrival process, or its next job.
  void next_arrival(ClientGroup& g);
  /// `caller`: the attempt that a service's own client is to call for; none for others.
  void submit(ClientGroup& g, ClientId client, std::uint64_t entity, AttemptId caller = {});
  /// The next attempt is to be made now, if it passes the gates.
  [[gnu::noinline]] void begin_attempt(ClientGroup& g, Request& r);
  /// The same, compiled into the step that ends nearly every backoff.
  RETRYSIM_IN_LOOP void begin_attempt_here(ClientGroup& g, Request& r);
  void finish(ClientGroup& g, Request& r, Outcome outcome);
  /// The same, compiled into the step that ends nearly every request.
  RETRYSIM_IN_LOOP void finish_here(ClientGroup& g, Request& r, Outcome outcome);
  /// Requests that are still open at the end of the run are unfinished.
  void close();

  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t ended() const { return ended_; }

 private:
  [[gnu::noinline]] bool begin_in_steps(ClientGroup& g, Request& r);
  [[gnu::noinline]] void end_in_steps(ClientGroup& g, Request& r, Outcome outcome);

  RunState& state_;
  Parts& parts_;
  std::uint64_t submitted_ = 0, ended_ = 0;
};

}  // namespace retrysim::model
