// The part of a mean latency that comes from service times too rare to have been seen, or that vary
// in number by chance: one request in 2,000 that takes 4 s is 2 ms of the mean, and 59 runs of 100
// requests may have none of them, or six. It is found from the scenario, not from the runs.
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

  /// The part of the mean service times of a request, in seconds, that comes from times of which
  /// fewer than ten are expected in `replications`. Times longer than clients wait for an answer
  /// count as that wait. Found from 2^18 draws of each law: times rarer than one in 100,000 are not
  /// looked for.
  double in_mean(std::size_t replications) const;

  /// The variance, by chance, of the mean service times of a request over `replications`, in
  /// seconds squared.
  double variance_of_mean(std::size_t replications) const;

 private:
  struct Law {
    double draws = 0;                ///< draws in one replication
    double per_request = 0;          ///< draws per request of the clients outside
    double variance = 0;             ///< variance of one draw, s^2
    std::vector<double> above = {};  ///< sum of the largest 1, 2, ... values, s
  };
  std::vector<Law> laws_;
};

}  // namespace retrysim::experiment
