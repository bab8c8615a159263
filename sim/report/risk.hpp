// The output of `retrysim risk`: how often something rare happens by itself, how likely that is
// within some time, and how much it took to find out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/risk.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

/// A length of time as people say it, to two digits: "59 days", "2.3 months", "41 million years".
std::string said_long_time(double seconds);

/// The sentences, and a table of the points. risk.csv has a row for each point. Refers to both.
Document risk_document(const RiskPlan& plan, const std::vector<RiskStudy>& studies);

}  // namespace retrysim::report
