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
  FittedArrivals arrivals;  ///< of requests: retries are left out
  /// Without durations, or without an attempt that was served, there are none.
  std::optional<FittedCapacity> capacity;
  std::optional<FittedServiceTime> service_time;
  /// What the scenario has as faults. All else but the arrivals is estimated without them.
  Incidents incidents;
  std::int64_t origin_ns = 0;  ///< of the first request: time 0 of the scenario
  /// In order, of lines outside of incidents; empty if the log has none.
  std::vector<StatusCount> statuses;
  bool has_statuses = false;
  double error_share = 0;  ///< of the lines outside of incidents that have a status
  std::optional<FittedTimeout> gave_up;
  std::optional<GivenServiceTime> given;  ///< what the scenario has instead of the log's
  /// Attempts that may wait: those beyond were turned away at once.
  std::optional<std::size_t> queue_capacity;
  std::optional<FittedRetries> retries;  ///< if the log names requests, or clients and paths
  std::optional<LoadTest> load_test;     ///< the log has the results of one
  std::vector<double> arrival_times_s;   ///< from the first one on, if no process describes them
  std::vector<std::string> notes;        ///< what to be careful about, as sentences
};

/// Throws BadLog if the log has too few lines, or all at the same time. Incidents that are known,
/// because the log is a part of one whose incidents were found, are not looked for again.
Fit fit_log(const Log& log, const Incidents* known = nullptr);

/// The scenario has this one instead of the log's.
void give_service_time(Fit& fit, GivenServiceTime given);

/// Takes the service time back: the backtest contradicts it.
void refuse_service_time(Fit& fit, const std::string& why);

/// What is known from the log and what is not: "known: arrivals, errors; not known: servers".
std::string known_words(const Fit& fit);

/// When requests arrived, in order: retries that the log tells are left out.
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
