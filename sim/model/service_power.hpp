// What a service is able to do at present: what is wrong with it, and how many servers work.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/autoscaler.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace retrysim::model {

/// What is wrong with a service, or the way to it, at present: all active faults together.
struct Impairment {
  double capacity = 1, speed = 1;
  Duration latency;
  double request_loss = 0, response_loss = 0;  ///< the network's own included
  bool unreachable = false, black_hole = false;
  std::vector<std::pair<double, std::uint16_t>> errors;  ///< cumulative probability, answer
};

class ServicePower {
 public:
  explicit ServicePower(const ServiceSpec& spec) : spec_(&spec), working_(spec.servers) {
    if (spec.autoscaling.target > 0) autoscaler_.emplace(spec.autoscaling, spec.servers);
  }

  const Impairment& impairment() const { return impairment_; }
  std::int64_t working_servers() const { return working_; }
  /// The most servers that ever worked at once.
  std::int64_t most_servers() const { return most_working_; }
  /// Null if the number of servers is fixed.
  Autoscaler* autoscaler() { return autoscaler_ ? &*autoscaler_ : nullptr; }

  /// The faults, or the servers that the autoscaler wants, have changed.
  void set(Impairment impairment) {
    impairment_ = std::move(impairment);
    if (spec_->servers == ServiceSpec::kUnlimited) {
      working_ = impairment_.capacity > 0 ? ServiceSpec::kUnlimited : 0;
    } else {
      // Those of all instances together still count as an integer.
      constexpr double kMost = 9e18 / InstancesSpec::kMost;
      const auto servers =
          static_cast<double>(autoscaler_ ? autoscaler_->servers() : spec_->servers);
      working_ = std::llround(std::min(kMost, servers * impairment_.capacity));
    }
    most_working_ = std::max(most_working_, working_);
  }

 private:
  const ServiceSpec* spec_;
  std::int64_t working_, most_working_ = 0;
  Impairment impairment_;
  std::optional<Autoscaler> autoscaler_;
};

}  // namespace retrysim::model
