// The findings of `retrysim run` in words: how each client group fared and why, the phases, the
// metrics, and the accuracy of all this (warm-up found, precision reached, intervals, two modes).
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/document/document.hpp"
#include "report/run/evaluation.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The line above the table that explains "±". Empty if there are no intervals.
std::string interval_line(const Evaluation& evaluation);

/// Shows a table of the means in each mode; nothing without two modes.
void show_modes(Document& document, const Evaluation& evaluation);

/// A note, without "note: ", on what two modes mean for the means. There must be two
/// (`bistability`).
std::string modes_note(const Evaluation& evaluation);

/// A note that a replication has too few requests for the farthest quantiles; empty for 10,000 or
/// more.
std::string short_runs_note(double requests);

/// Notes, without "note: ", on how much of a client group's success rate comes from the drain,
/// which had no new requests: for groups whose rate within `duration` differs from that to the end
/// of the drain by more than one percentage point.
std::vector<std::string> drain_notes(const Evaluation& evaluation);

/// Notes on the accuracy of the result, one line each, without "note: ".
std::vector<std::string> certainty_notes(const Evaluation& evaluation);

/// Adds the members "intervals", "warmup", "precision" and "modes" of a variant.
void add_certainty(nlohmann::ordered_json& variant, const Evaluation& evaluation);

/// Adds a paragraph for the client groups with the same answer: their names, the answer, and its
/// causes, those that explain the most groups first; a cause that only some groups have names
/// these. Causes of every group come once, at the end. A service's own calls are left out unless
/// they are in trouble. Nothing if there are no verdicts.
void say_answer(Document& document, const Evaluation& evaluation);

/// Shows a line for each phase of each client group, at most 80 columns wide: its times, success
/// rate, goodput, amplification, p99 of successful requests, failed requests. If there are many
/// groups, only "all" is shown. Nothing without phases.
void show_phases(Document& document, const Evaluation& evaluation);

/// A value with its interval as "mean ± half-width unit", in the unit that suits its unit column
/// and size: shares in percent, times in ns to s. Two significant digits of the half-width decide
/// the precision; without an interval the value has four significant digits. An interval that is
/// not symmetric around its mean, because the range of the metric ends it, is "mean (low..high)
/// unit".
std::string format_estimate(const Estimate& estimate, std::string_view unit);

/// The text of a metric's estimate: shares in percent.
std::string format_metric(const Estimate& estimate, const MetricInfo& metric);

/// A number without interval, in the unit that suits it.
std::string format_number(double value, std::string_view unit);

/// Notes on limitations of the result: one replication, too short a run, figures that rest on the
/// drain. One line each, without "note: ".
std::vector<std::string> result_notes(const Evaluation& evaluation);

/// The text of an expectation: "slo: success_rate 61.2 % (95 % CI from 60.1 % to 62.3 %), expected
/// at least 99 %".
std::string expectation_text(const ExpectationResult& result);

/// The output of `run`: the scenario and its question, the answer in words, expectations; then
/// tables of related metrics, with a column for each client group and one for all together (a
/// single group has one column); storms; and notes on its limitations (one replication, too short a
/// run). Refers to the evaluation.
Document run_document(const Evaluation& evaluation);

}  // namespace retrysim::report
