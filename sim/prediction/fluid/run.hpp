// Solving the delay equations bin by bin. When an attempt arrives, a FIFO queue shows how long it
// will wait, so its result is known; each bin adds the retries of its attempts to the later bins in
// which they arrive, and no equation looks back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/stop.hpp"
#include "prediction/fluid/clients.hpp"
#include "prediction/fluid/service.hpp"
#include "prediction/fluid/system.hpp"

#include <cstddef>
#include <vector>

namespace retrysim::prediction {

class Runner {
 public:
  Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps);

  template <class Visit>  // visit(bin, sample)
  void run(Visit visit) {
    run_until([&](std::size_t k, const FluidSample& now) {
      visit(k, now);
      return false;
    });
  }
  /// Runs until `visit` gives true. Throws Interrupted if asked to stop.
  template <class Visit>
  void run_until(Visit visit) {
    for (std::size_t k = 0; k < steps_; ++k) {
      stop_point();  // groups may be many, and attempts of a request
      if (visit(k, advance(k))) return;
    }
  }

  /// State of the last bin: whether some attempts failed for lack of capacity, whether many did,
  /// and whether all failed.
  bool is_strained() const;
  bool lacks_capacity() const;
  bool all_fail() const;
  /// Events longer ago than this have no effect on attempts number 2, s.
  double memory() const;

  std::vector<FluidGroup> groups() const;
  double backlog() const { return service_.backlog(); }
  /// Requests per second of closed loops in the last bin.
  double offered_by_loops() const { return by_loops_; }

 private:
  FluidSample advance(std::size_t k);

  const FluidSystem& system_;
  double step_;
  std::size_t steps_;
  FluidService service_;
  std::vector<GroupFlows> groups_;
  std::vector<double> sent_;  // attempts per second in this bin, by group
  double by_loops_ = 0;
};

// --- One run -------------------------------------------------------------------------------------

/// The approximate number of bins of a run; the fluid is refused if a timeout is shorter than such
/// a bin (`why_no_fluid`).
inline constexpr double kMaxFluidSteps = 2e6;

/// Width of a bin, s: the shortest timeout is a whole number of them.
double fluid_step(const FluidSystem& system, double steps_per_timeout);

FluidRun run_system(const Scenario& scenario, const FluidSystem& system, double step,
                    double series_interval);

/// How a run ends.
enum class Ending {
  kUp,          ///< at least half of the requests succeed in the last quarter of the time after the
                ///< last disturbance
  kDown,        ///< fewer succeed, and the backlog does not fall
  kRecovering,  ///< fewer succeed, but the backlog falls: a longer run may end otherwise
};

/// How a run ends. It stops as soon as the answer is certain: all attempts, or none, have been
/// served for longer than the clients remember.
Ending ending_of(const Scenario& scenario, const FluidSystem& system, double step);

// --- Is the service down in the end? -------------------------------------------------------------

/// Whether the scenario has a fault of the service, or a surge of its clients, before its end.
bool has_disturbance(const Scenario& scenario, std::size_t service);

/// The scenario without the disturbances of the service (`has_disturbance`).
Scenario calm_scenario(Scenario scenario, std::size_t service);

/// The scenario with an outage of many timeouts in place of its disturbances; if servers are
/// unlimited, with a surge.
Scenario pushed_scenario(Scenario scenario, std::size_t service);

/// A calm scenario with a disturbance after ten timeouts: an outage of the service, or a surge if
/// servers are unlimited.
Scenario with_outage(Scenario scenario, std::size_t service, double duration);

/// The unit in which times are measured: the shortest attempt timeout, s.
double time_unit(const Scenario& scenario, std::size_t service);

/// The scenario with a duration of at least 80 timeouts after the last disturbance, unless its load
/// is not constant.
Scenario long_scenario(Scenario scenario, std::size_t service);

/// Whether the service is down for good: a run that ends while the backlog falls is repeated with
/// more time, up to 64 times as much; if the backlog still falls then, the service recovers. (Under
/// a load that is not constant the scenario's own time decides.) Bins are a share of the timeout,
/// and at most `longest_step` seconds wide.
bool stays_down(Scenario scenario, std::size_t service, double steps_per_timeout,
                double longest_step);

/// Whether the scenario's faults and surges leave the service down, with bins of a hundredth of a
/// timeout.
bool is_down_after_disturbances(const Scenario& scenario, std::size_t service);

/// The phase of a service that has no balance, from a run without a disturbance and a run with an
/// outage of many timeouts. The service is overloaded if it is up without a disturbance, but short
/// of capacity for most of the last quarter.
FluidPhase phase_by_runs(const Scenario& scenario, std::size_t service);

}  // namespace retrysim::prediction
