// The formulas that the exact values in theory_cases.csv come from. They share nothing with the
// simulator, so that a slip in the file is found without simulating anything.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "theory_cases.hpp"

namespace retrysim::validation {

/// The exact value of a quantity in units of the mean service time; empty if there is no formula
/// for it here (some systems only have numerical solutions).
std::optional<double> closed_form(const TheoryCase& theory, std::string_view quantity);

}  // namespace retrysim::validation
