// The delay equations, bin by bin. What an attempt will come to is known when it arrives, because a
// FIFO queue shows it how long it will wait; so each bin hands its attempts on to the bins in which
// their retries arrive, and no equation looks back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/fluid.hpp>
#include <retrysim/stop.hpp>

#include <cstddef>
#include <vector>

#include "prediction/fluid_clients.hpp"
#include "prediction/fluid_service.hpp"
#include "prediction/fluid_system.hpp"

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
  /// The same until `visit` gives true. Throws Interrupted if asked to stop.
  template <class Visit>
  void run_until(Visit visit) {
    StopCounter<64> stop;  // groups may be many
    stop_point();
    for (std::size_t k = 0; k < steps_; ++k) {
      stop.count();
      if (visit(k, advance(k))) return;
    }
  }

  /// In the last bin: whether some attempts failed for lack of capacity, and whether all failed.
  bool is_strained() const;
  bool all_fail() const;
  /// What happened longer ago has no effect on attempts number 2, s.
  double memory() const;

  std::vector<FluidGroup> groups() const;
  double backlog() const { return service_.backlog(); }

 private:
  FluidSample advance(std::size_t k);

  const FluidSystem& system_;
  double step_;
  std::size_t steps_;
  FluidService service_;
  std::vector<GroupFlows> groups_;
  std::vector<double> sent_;  // by group, attempts per second in this bin
};

}  // namespace retrysim::prediction
