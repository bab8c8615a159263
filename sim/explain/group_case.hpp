// What the runs show of one client group: the figures that the rules of verdicts look at.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::explain {

/// Sums over a stretch of time and all replications (flow rule).
struct Stretch {
  double seconds = 0;  ///< of all replications together
  ClientFlow group;
  double latency_s = 0;         ///< of the requests that ended, and
  std::uint64_t latencies = 0;  ///< their number
  ServiceFlow service;          ///< of the group's service
  double first_work_s = 0;      ///< server time that new requests of all groups ask of it,
  double retry_work_s = 0;      ///< and that their retries ask for

  /// Successes among the requests that ended; 1 if none did.
  double success_share() const;
  double mean_latency_s() const;
  /// Attempts without an answer in time, of those that were served in time or not in time.
  double too_late_share() const;
};

/// Faults and surges.
struct Disturbances {
  /// "fault", "surge", or "disturbance" where there are both; empty: neither.
  std::string_view kind = {};
  std::size_t count = 0;
  double first_start_s = 0, last_end_s = 0;
};

/// How the replications fared after the last disturbance.
struct Recoveries {
  std::size_t back = 0;        ///< replications in which the group recovered
  std::size_t gone = 0;        ///< in which it did not, although there was time enough
  std::size_t unknown = 0;     ///< in which the run ended too early to tell
  std::size_t metastable = 0;  ///< of those gone: without retries they would have recovered
  double mean_s = 0;           ///< of those that recovered: the time it took,
  double least_s = 0, most_s = 0;
  std::vector<double> late_s = {};  ///< of those that were not back at once, in order
  double watched_s = 0;  ///< from the end of the last disturbance to the end of the window

  /// One that recovered, so long after the end.
  void add_late(double seconds, const Scenario& scenario) {
    if (seconds > scenario.recovery.window.in_seconds()) late_s.push_back(seconds);
  }
  std::size_t runs() const { return back + gone + unknown; }
  std::size_t at_once() const { return back - late_s.size(); }
};

/// A time in some of the replications: how many have it, and its mean over these.
struct Occurrence {
  std::size_t runs = 0;
  double seconds = 0;
  double ratio = 0;  ///< a size that belongs to it

  bool in_most_of(std::size_t all) const { return 2 * runs > all; }
};

/// Limits of the group's service.
struct Capacity {
  bool limited = false;  ///< it has a number of servers, and its work is known
  double servers = 0;
  double service_time_s = 0;   ///< mean over its attempts
  double left = 1;             ///< smallest share of the capacity that faults leave
  double full_queue_s = 0;     ///< work of a full queue at full capacity; infinite: no bound
  double largest_queue_s = 0;  ///< work of the longest queue that there was, at full capacity
  double patience_s = 0;       ///< the longest wait after which an answer is in time; infinite: any
  double timeout_s = 0;
};

/// Requests and attempts of a group, in all replications.
struct GroupVolume {
  double requests = 0, attempts = 0;
};

struct GroupCase {
  const Scenario& scenario;
  std::size_t index;
  const ClientSpec& client;
  const ServiceSpec& service;

  std::size_t runs = 0;                   ///< replications
  double bin_s = 0;                       ///< width of the bins of the time series
  std::vector<GroupVolume> volumes = {};  ///< of each group of the scenario
  Disturbances disturbances = {};

  ClientResult total = {};  ///< cohort counts of all replications together, without time series
  Stretch all = {};         ///< the window
  Stretch before = {};      ///< until the first disturbance; without one the whole window
  Stretch during = {};      ///< while one is on
  Stretch trouble = {};     ///< from the first one until the group is back, or to the end
  Stretch after = {};       ///< from the end of the last one until the group is back, or to the end
  Recoveries recoveries = {};
  Capacity capacity = {};
  Occurrence retries_above_capacity =
      {};  ///< seconds in which retries alone ask for more; load ratio
  Occurrence quota_dry =
      {};  ///< from the first disturbance until the quota denies a tenth of retries

  bool disturbed() const { return disturbances.count > 0; }
  bool recovers() const { return disturbed() && recoveries.back == recoveries.runs(); }
  /// What the work of a stretch is of the capacity at its best.
  double load(double work_s, double seconds) const;
  double requests() const { return static_cast<double>(total.requests); }
  double share_of_requests(Outcome outcome) const;
  double share_of_attempts(AttemptResult result) const;
  double success_share() const { return share_of_requests(Outcome::kSuccess); }
  double first_attempt_success_share() const;
  double amplification() const;
  /// Of the requests that failed, those that ended so; 0 if none failed.
  double share_of_failures(Outcome outcome) const;
};

GroupCase group_case(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group);

/// What `run` shows of the group, as numbers; as many for every run of the scenario.
std::vector<double> figures_of(const Scenario& scenario, const RunResult& run, std::size_t group);
/// The case of the replications that these are the figures of. Throws std::invalid_argument if
/// there are too many of them or too few.
GroupCase group_case(const Scenario& scenario,
                     std::span<const std::span<const double>> figures_by_run, std::size_t group);
/// How many figures each group of the scenario has.
std::size_t figure_count(const Scenario& scenario);

}  // namespace retrysim::explain
