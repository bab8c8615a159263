// The output of `retrysim fit`: what it finds in an access log.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/backtest.hpp"
#include "fit/fit.hpp"
#include "fit/log.hpp"
#include "report/document/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace retrysim::report {

struct FitReport {
  const fit::Fit& fit;
  const std::optional<fit::Backtest>& backtest;
  std::string why_untested;  ///< why there is no backtest, if so
  const fit::Log& log;
  std::string name;                ///< name of the scenario
  std::vector<std::string> files;  ///< files of the log, as given
};

/// The document on a fit: sentences, tables and the files fit.csv, laws.csv, durations.csv, and
/// incidents.csv and backtest.csv if there are any.
Document fit_document(const FitReport& report);

/// The CSV files of the report.
std::vector<TableSource> fit_tables(const FitReport& report);

}  // namespace retrysim::report
