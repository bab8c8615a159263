// From an access log to a scenario that runs: when requests arrive, how long they are served, how
// many servers there are, how many fail, and which stretches were incidents. What the log does not
// tell is said.
//
//     const FittedLog fitted = fit_log({"access.log.gz"});
//     const Run r = run(fitted.scenario);
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

class Tables;

struct FitOptions {
  std::string name = "fitted";  ///< of the scenario: letters, digits, _ and -
  /// "auto": told from the first lines; else the name of a format, or with $ or % its description
  /// (sim/fit/README.md).
  std::string format = "auto";
  /// CSV, W3C and JSON: the column or member for time, duration, status, request, service, client
  /// or path, where its name is not a usual one.
  std::map<std::string, std::string> columns = {};
  std::optional<double> duration_unit_s = {};  ///< above 0; empty: told by format and names
  std::optional<bool> time_is_start =
      {};                         ///< of a request, else its end; empty: told by the format
  std::string service = {};       ///< only its lines; empty: all, if there is only one service
  double allow_bad_lines = 0.01;  ///< share of lines that may be unreadable, 0 to 1
};

struct FittedLog {
  LoadedScenario scenario;
  /// scenario.toml and the CSV files that it names, each with its content.
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> notes;  ///< what to be careful about, as sentences
  std::string why_untested;        ///< why there is no backtest; empty: there is one

  struct Details;  ///< estimates and backtest, for the tables
  std::shared_ptr<const Details> details;
};

/// Reads logs, one after the other ("-" is standard input; packed with gzip or not), and fits a
/// scenario to all of them. A fit of the first half is simulated and compared with the second.
/// Throws an InputError, with the place in its message, if they cannot be read or have too little;
/// and `Interrupted` (see `StopScope`).
FittedLog fit_log(const std::vector<std::filesystem::path>& logs, const FitOptions& options = {});

/// fit (each figure with its interval), laws, durations, incidents if there are any, and backtest
/// if there is one.
Tables tables(const FittedLog& fitted);

}  // namespace retrysim
