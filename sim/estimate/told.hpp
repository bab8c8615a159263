// Which replications tell whether they recover. One that has not recovered when it ends, and ends
// too soon to tell, has neither recovered nor not.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::stats {

class ToldRecoveries {
 public:
  /// `to_judge_s`: by replication, as `durations_to_judge_s` has them.
  explicit ToldRecoveries(std::vector<std::vector<double>> to_judge_s)
      : to_judge_s_(std::move(to_judge_s)) {}
  /// `values`: of `runs`, of which each has a `size` and is found by its number.
  template <class Runs>
  ToldRecoveries(const Scenario& scenario, const Runs& runs, const MetricValues& values) {
    for (std::size_t r = 0; r < runs.size(); ++r) add(scenario, runs[r], values, r);
  }

  /// Whether a replication tells if a client group (its number; after the last all together)
  /// recovers. True of what has nothing to recover from.
  bool tells(std::size_t replication, std::size_t client) const {
    return needed_s(replication, client) == 0;
  }
  /// The metric `recovered`; empty if the replication does not tell.
  std::optional<double> recovered(const MetricValues& values, std::size_t replication,
                                  std::size_t client) const;
  /// How many replications do not tell.
  std::size_t untold(std::size_t client) const;
  /// The duration, s, with which all of them would tell; 0 if they do.
  double duration_s(std::size_t client) const;

 private:
  void add(const Scenario& scenario, const RunResult& run, const MetricValues& values,
           std::size_t replication);
  double needed_s(std::size_t replication, std::size_t client) const {
    if (replication >= to_judge_s_.size()) return 0;
    const std::vector<double>& of_clients = to_judge_s_[replication];
    return client < of_clients.size() ? of_clients[client] : 0;
  }

  std::vector<std::vector<double>> to_judge_s_;  // [replication][client]
};

/// "7 of 10 replications are too short to tell whether they recover; a duration of 85 s would be
/// long enough"; empty if `untold` is 0.
std::string untold_note(std::size_t untold, std::size_t replications, double duration_s);
/// A duration in words, rounded up: "700 s", "36500 s (about 10 h)".
std::string said_duration(double seconds);

}  // namespace retrysim::stats
