// The summary that a person reads in a terminal.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/display.hpp"
#include "report/evaluation.hpp"
#include "report/sink.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A value with its interval as "mean ± half-width unit", in the unit that suits its unit column
/// and size: shares in percent, times in ns to s. Two significant digits of the half-width decide
/// the precision; without an interval the value has four significant digits.
std::string format_estimate(const Estimate& estimate, std::string_view unit);

/// The same for a metric: shares in percent.
std::string format_metric(const Estimate& estimate, const MetricInfo& metric);

/// A number without interval, in the unit that suits it.
std::string format_number(double value, std::string_view unit);

/// What limits the result: one replication, too short a run, a drain that the figures rest on. One
/// line each, without "note: ".
std::vector<std::string> result_notes(const Evaluation& evaluation);

/// "slo: success_rate 61.2 % (95 % CI from 60.1 % to 62.3 %), expected at least 99 %"
std::string expectation_text(const ExpectationResult& result);

/// What `run` prints: the scenario and what it asks, the answer in words, expectations; then tables
/// of related metrics, with a column for each client group and one for all together (a single group
/// has one column), as many beside each other as `columns` hold; storms; and notes on what limits
/// the result (one replication, too short a run).
void write_text_table(Sink& sink, const Evaluation& evaluation,
                      std::size_t columns = kNarrowColumns);

}  // namespace retrysim::report
