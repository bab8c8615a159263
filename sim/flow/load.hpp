// How the load of a service goes up and down with the rates of its requests: what faults depend on
// that come more often the busier a service is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <map>
#include <vector>

namespace retrysim::flow {

/// The work of first attempts as a share of the servers of a service, as time goes on: `demand_of`
/// with the rates of that moment. Profiles and surges count; faults, retries and waiting do not.
/// Closed loops, traces by rows, and bursts count with their mean.
class LoadOverTime {
 public:
  /// `scenario` must outlive the object.
  LoadOverTime(const Scenario& scenario, std::size_t service)
      : scenario_(scenario), service_(service) {}

  double at(Time t);
  /// The load with the highest rate of every group.
  double highest();

 private:
  double with(const std::vector<double>& factors);

  const Scenario& scenario_;
  std::size_t service_;
  std::map<std::vector<double>, double> known_;
};

}  // namespace retrysim::flow
