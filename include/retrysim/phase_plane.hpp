// How a service and its clients move after a trigger, by the fluid: the work that waits against the
// requests that will try again, with the states that sustain themselves.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/fluid.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retrysim {

struct PhaseEquilibrium {
  std::string name;  ///< as in FluidEquilibria
  bool stable = false;
  std::optional<double> backlog;  ///< s; nothing where it grows for ever
  double retrying = 0;            ///< requests on their way back
};

/// From the end of a trigger on.
struct PhaseTrajectory {
  double trigger = 0;       ///< its duration, s
  bool stays_down = false;  ///< what becomes of it
  bool separatrix = false;  ///< the trigger is as near to the tipping point as the search came
  std::vector<FluidSample> samples;
};

struct PhasePlane {
  std::string trigger;  ///< "fault.outage.duration", or "outage" where the scenario has none
  std::optional<double> tipping;             ///< duration of the trigger that tips it, s
  double timeout = 0;                        ///< shortest attempt timeout, s; 0: none
  std::vector<PhaseEquilibrium> equilibria;  ///< none for closed loops
  std::vector<PhaseTrajectory> trajectories;
};

/// With the first fault of the service, or surge of its clients, as the trigger; without one an
/// outage. Throws std::domain_error where the fluid does not apply. Costs some tens of runs of the
/// fluid.
PhasePlane phase_plane(const Scenario& scenario, std::size_t service);

}  // namespace retrysim
