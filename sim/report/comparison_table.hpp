// The comparison that a person reads in a terminal, and compare.csv.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/comparison.hpp"
#include "report/display.hpp"
#include "report/sink.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace retrysim::report {

/// What the comparison says, in sentences; where services call each other, what each layer makes of
/// a request; then for each client a table of metrics: the baseline's mean, and the difference of
/// each variant with its interval, marked where it is significant, as many variants beside each
/// other as `columns` hold; if asked for what common random numbers saved; and notes on what limits
/// the comparison.
void write_comparison_table(Sink& sink, const ComparisonReport& comparison,
                            std::size_t columns = kNarrowColumns);

/// The notes under the table.
std::vector<std::string> comparison_notes(const ComparisonReport& comparison);

/// One row a variant, client and metric. What does not exist is empty.
void write_comparison_csv(Sink& sink, const ComparisonReport& comparison);

/// The rows of compare.csv with the same names, and what was varied, as a JSON object.
std::string comparison_json(const ComparisonReport& comparison);

}  // namespace retrysim::report
