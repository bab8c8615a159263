// All that is made of an access log: the fit, and its backtest, for which it is simulated.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>

#include "fit/backtest.hpp"
#include "fit/fit.hpp"
#include "fit/log.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::fit {

struct WholeFit {
  Log log;
  Fit fit;  ///< without a service time that the backtest contradicts
  std::optional<Backtest> backtest;
  std::string why_untested;  ///< why there is no backtest; empty if there is one
};

/// Reads and fits logs. Throws BadLog, and Interrupted if asked to stop.
WholeFit fit_files(const std::vector<std::string>& logs, const LogOptions& options);

/// "Fitted by retrysim 0.2.0 from access.log (1200 lines)."
std::string source_of(const std::vector<std::string>& logs, const Log& log);

/// Loads the scenario in the files of `scenario_files`. Throws BadLog if it does not load.
LoadedScenario load_files(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace retrysim::fit

namespace retrysim {

struct FittedLog::Details {
  fit::WholeFit whole;
  std::string name;
  std::vector<std::string> logs;
};

}  // namespace retrysim
