// What `retrysim fit` finds in an access log.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/fit.hpp"
#include "fit/log.hpp"
#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

struct FitReport {
  const fit::Fit& fit;
  const fit::Log& log;
  std::string name;                ///< of the scenario
  std::vector<std::string> files;  ///< of the log, as given
};

/// Sentences, tables and the files fit.csv, laws.csv and durations.csv.
Document fit_document(const FitReport& report);

}  // namespace retrysim::report
