// The simulated world of one replication. It builds the parts (parts.hpp) and tells them of their
// events, one after the other; what an event means, they know. The life of a request:
//
//   client_requests -> send_gate -> transport -> service_entrance -> serving -> transport
//                          ^                                                       |
//                          |                                                       v
//                          +-------- retry_decisions <-------------- delivery (or: timeouts)
//                                          |
//                                          +----> client_requests
//
// Every arrow that takes time is an event; arrows that take none are steps within one event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_queue.hpp"
#include "model/network/balancer.hpp"
#include "model/run/books.hpp"
#include "model/run/events.hpp"
#include "model/run/parts.hpp"
#include "model/run/state.hpp"

#include <cstdint>

namespace retrysim::model {

class World {
 public:
  World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RunResult run();

 private:
  void add_services();
  void number_limits(ServiceId service);
  void remember_tokens(ServiceId service);
  void add_groups();
  void add_sources();
  void offer_first_events();

  // The one loop of a run. Nearly every event is an arrival or a completion: what they call is
  // compiled into it.
  void run_events();
  [[gnu::always_inline]] inline bool next_event();
  [[gnu::always_inline]] inline void dispatch(std::uint32_t source);
  [[gnu::noinline]] void dispatch_rarer(const EventSource& s);
  [[gnu::noinline]] void timer_due();
  [[gnu::always_inline]] inline void expect(const kernel::TimerEntry& timer) const;
  [[gnu::noinline]] bool is_over(Time next) const;
  RETRYSIM_IN_LOOP kernel::EventKey true_head(std::uint32_t source) const;

  // The sources of nearly all events have the first numbers: the timers, then the completions of
  // each instance, then the arrivals of the groups.
  static constexpr std::uint32_t kTimerSource = 0;
  std::uint32_t completion_sources_ = 0, first_other_source_ = 0;
  RunState state_;
  Parts parts_;
  // No request meets these, and no part calls them.
  HealthChecks health_checks_{state_, parts_};
  Books books_{state_, parts_};
};

}  // namespace retrysim::model
