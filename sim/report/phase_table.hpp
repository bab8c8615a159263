// The phases of a run in a terminal.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/evaluation.hpp"

#include <string>

namespace retrysim::report {

/// A line for each phase of each client group, at most 80 columns wide: when it is, success rate,
/// goodput, amplification, p99 of successful requests, failed requests. Of many groups only all
/// together. Empty without phases.
std::string phase_table(const Evaluation& evaluation);

}  // namespace retrysim::report
