// The table that a validation run prints.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "agreement.hpp"

namespace retrysim::validation {

/// Column heads and the rule below them; no newline at the end.
std::string table_head();

/// One line a row; no newline at the end. Times are in units of the mean service time.
std::string table_rows(const CaseResult& result);

/// Number of rows and cases, verdicts, and the root mean square of z.
std::string table_foot(const std::vector<CaseResult>& results);

}  // namespace retrysim::validation
