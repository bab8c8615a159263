// The formulas that the exact values in theory_cases.csv come from. They share nothing with the
// simulator, so that a slip in the file is found without simulating anything.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>

#include "theory_cases.hpp"

namespace retrysim::validation {

/// Exact values by quantity, in units of the mean service time.
using Values = std::map<std::string, double, std::less<>>;

/// All that there is a formula for here (some systems only have numerical solutions).
Values closed_forms(const TheoryCase& theory);

/// The part of them that is about retries.
Values retry_values(const TheoryCase& theory);

/// Erlang's B formula: probability that all of `servers` are busy at an offered load of `load`.
double erlang_b(int servers, double load);

}  // namespace retrysim::validation
