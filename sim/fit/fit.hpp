// From an access log to a scenario: what is estimated, how sure it is, and the files that say it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/arrivals.hpp"
#include "fit/capacity.hpp"
#include "fit/gave_up.hpp"
#include "fit/incidents.hpp"
#include "fit/log.hpp"
#include "fit/retries.hpp"
#include "fit/service_time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::fit {

/// A service time that the user knows, as a scenario has it: `"30ms"`, or a table.
struct GivenServiceTime {
  std::string text;
  double mean_s = 0;
  std::string by = {};  ///< the option that it was given with
};

struct Fit {
  FittedArrivals arrivals;  ///< arrivals of requests, without retries
  /// Both empty without durations, or without an attempt that was served.
  std::optional<FittedCapacity> capacity;
  std::optional<FittedServiceTime> service_time;
  /// Incidents, which become faults of the scenario. Everything but the arrivals is estimated
  /// without them.
  Incidents incidents;
  std::int64_t origin_ns = 0;  ///< time of the first request: time 0 of the scenario
  /// Lines outside of incidents by status, ascending; empty if the log has no statuses.
  std::vector<StatusCount> statuses;
  bool has_statuses = false;
  /// Lines without a status in a log that has some.
  std::size_t without_status = 0;
  /// Errors as a share of the lines outside of incidents that have a status.
  double error_share = 0;
  std::optional<FittedTimeout> gave_up;
  /// The service time that the scenario has instead of the fitted one.
  std::optional<GivenServiceTime> given;
  /// The most attempts that may wait; more are turned away at once. Empty: no bound is seen.
  std::optional<std::size_t> queue_capacity;
  std::optional<FittedRetries> retries;  ///< if the log names requests, or clients and paths
  std::optional<LoadTest> load_test;     ///< set if the log has the results of a load test
  /// Arrival times from the first on, if no process describes them.
  std::vector<double> arrival_times_s;
  std::vector<std::string> notes;  ///< sentences about what to be careful with

  /// Whether a number of servers explains the durations. If none does, something else makes some of
  /// them longer or shorter than the service, and neither servers nor service time are known.
  bool is_explained() const { return !capacity || !capacity->contradictory; }
};

/// Fits a log. Throws BadLog if it has too few lines, or all at the same time. `known`: incidents
/// found before in a log of which this is a part; null: they are looked for.
Fit fit_log(const Log& log, const Incidents* known = nullptr);

/// Gives the scenario this service time instead of the fitted one.
void give_service_time(Fit& fit, GivenServiceTime given);

/// Removes the service time, which the backtest contradicts.
void refuse_service_time(Fit& fit, const std::string& why);

/// What is known from the log and what is not: "known: arrivals, errors; not known: servers".
std::string known_words(const Fit& fit);

/// The arrival times of requests, ascending, without retries that the log shows.
std::vector<std::int64_t> request_times(const Log& log);

/// The law as a value of a scenario: `{ distribution = "gamma", mean = "20ms", shape = 2 }`.
std::string law_text(const Law& law);

/// The law in words: "lognormal with mean 20 ms and cv 0.8".
std::string law_words(const Law& law);

/// The capacity in words, with what cannot be told.
std::string capacity_words(const FittedCapacity& capacity);

/// How requests arrive, in words.
std::string arrival_words(const FittedArrivals& arrivals);

/// scenario.toml and the CSV files that it names, each with its content. `source` says where the
/// log comes from, in one line.
std::vector<std::pair<std::string, std::string>> scenario_files(const Fit& fit,
                                                                const std::string& name,
                                                                const std::string& source);

}  // namespace retrysim::fit
