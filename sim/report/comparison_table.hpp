// The comparison that a person reads in a terminal, and compare.csv.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/comparison.hpp"
#include "report/sink.hpp"

#include <string>

namespace retrysim::report {

/// For each client a table of metrics: the baseline's mean, and the difference of each variant with
/// its interval, marked where it is significant; what common random numbers saved; notes on what
/// limits the comparison; and at the end what it all says, in sentences.
void write_comparison_table(Sink& sink, const ComparisonReport& comparison);

/// One row a variant, client and metric. What does not exist is empty.
void write_comparison_csv(Sink& sink, const ComparisonReport& comparison);

/// The rows of compare.csv with the same names, and what was varied, as a JSON object.
std::string comparison_json(const ComparisonReport& comparison);

}  // namespace retrysim::report
