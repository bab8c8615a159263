// How much of a mean latency is made of service times that are too rare to have been seen, or that
// come more or less often by chance: one request in 2,000 that takes 4 s is 2 ms of the mean, and
// in 59 runs of 100 requests there may be none of them, or six. The scenario knows what the runs
// have not shown.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <vector>

namespace retrysim::experiment {

class UnseenTimes {
 public:
  explicit UnseenTimes(const Scenario& scenario);

  /// The part of the mean service times of a request, in seconds, that is made of times of which
  /// fewer than ten are expected in that many replications. Times beyond what clients wait for an
  /// answer count as that. Found from 2^18 draws of each law: what is rarer than one in 100,000 is
  /// not looked for.
  double in_mean(std::size_t replications) const;

  /// The variance of the mean service times of a request in so many replications, in seconds
  /// squared: what chance makes of it.
  double variance_of_mean(std::size_t replications) const;

 private:
  struct Law {
    double draws = 0;                ///< in one replication
    double per_request = 0;          ///< of the clients outside
    double variance = 0;             ///< of one draw
    std::vector<double> above = {};  ///< the sum of the largest 1, 2, ... values by their number
  };
  std::vector<Law> laws_;
};

}  // namespace retrysim::experiment
