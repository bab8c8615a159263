// How sure a result is, in words and in JSON: the warm-up found, the precision reached, intervals
// from batch means, two modes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/evaluation.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace retrysim::report {

/// "±" of what: the line above the table. Empty if there are no intervals.
std::string interval_line(const Evaluation& evaluation);

/// A table of the means in each mode, if there are two; ends with a line break.
std::string modes_table(const Evaluation& evaluation);

/// What two modes mean for the means, without "note: ". Only if there are two (`bistability`).
std::string modes_note(const Evaluation& evaluation);

/// That so few requests a replication say little about the farthest quantiles; empty for 10,000 or
/// more.
std::string short_runs_note(double requests);

/// For each client group that needs it: how much of its success rate is owed to the drain, which
/// had no new requests. One line each, without "note: "; where the rate within `duration` differs
/// from that to the end of the drain by more than one percentage point.
std::vector<std::string> drain_notes(const Evaluation& evaluation);

/// One line each, without "note: ".
std::vector<std::string> certainty_notes(const Evaluation& evaluation);

/// The members "intervals", "warmup", "precision" and "modes" of a variant.
void add_certainty(nlohmann::ordered_json& variant, const Evaluation& evaluation);

}  // namespace retrysim::report
