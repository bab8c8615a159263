// The simulated world of one replication: four modules, and the loop that tells them of their
// events, one after the other. The life of a request:
//
//   Clients --send--> Network --arrive--> Services         (asking Effects on the way)
//      ^                |  ^                 |
//      +----answered----+  +-----answer------+
//
// What takes time is an event, what takes none is a call. A call that could lead back to where it
// came from is put on the agenda, for the end of the event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_queue.hpp"
#include "model/client/clients.hpp"
#include "model/effects/effects.hpp"
#include "model/network/network.hpp"
#include "model/run/books.hpp"
#include "model/run/events.hpp"
#include "model/run/state.hpp"
#include "model/run/watch.hpp"
#include "model/service/services.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace retrysim::model {

class World {
 public:
  World(const Scenario& scenario, std::uint32_t replication, const SimulationOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RunResult run();
  FollowedRun follow(const RareEvent& event, Time from);

  /// For tests.
  const RunLimits& limits() const { return limits_; }

 private:
  void add_sources();

  // The one loop of a run. Nearly every event is an arrival or a completion: what they call is
  // compiled into it.
  void run_events();
  [[gnu::always_inline]] inline bool next_event();
  [[gnu::always_inline]] inline void dispatch(std::uint32_t source);
  [[gnu::noinline]] void dispatch_rarer(const EventSource& s);
  [[gnu::noinline]] bool is_over(Time next) const;
  RETRYSIM_IN_LOOP kernel::EventKey true_head(std::uint32_t source) const;

  // What an event has left to be done at its instant.
  [[gnu::noinline]] void settle();
  void deliver_answers();
  [[gnu::noinline]] void settle_others();

  /// What is done after each event of a run that is followed, or that takes branches.
  struct Observation {
    std::optional<Watch> watch;
    Time from;
    std::span<const Branch> branches;  // still to be taken
    FollowedRun run;
    NearnessScore highest = 0;
    bool is_over = false;
  };
  void observe(std::optional<Watch> watch, Time from);
  [[gnu::noinline]] void look();
  void take_branches();

  // The sources of nearly all events have the first numbers: the timers, then the completions of
  // each instance, then the arrivals of the groups.
  static constexpr std::uint32_t kTimerSource = 0;
  std::uint32_t completion_sources_ = 0, first_other_source_ = 0;
  RunState state_;
  Agenda agenda_;
  Effects effects_{state_, agenda_};
  Attempts attempts_{state_, effects_};
  // Each knows the others that it calls.
  Clients clients_{state_, agenda_, network_, services_, effects_, attempts_};
  Network network_{state_, agenda_, clients_, services_, attempts_};
  Services services_{state_, agenda_, clients_, network_, effects_, attempts_, limits_};
  RunLimits limits_{state_, clients_, network_, services_, effects_};
  Books books_{state_, clients_, network_, services_};
  std::optional<Observation> observation_;
};

}  // namespace retrysim::model
