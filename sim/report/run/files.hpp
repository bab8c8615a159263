// The files of results that consist of replications: those of `run` and of `compare`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/document/document.hpp"
#include "report/run/tables.hpp"

namespace retrysim::report {

/// Adds the CSV tables, which are written one after the other, and to result.json `variants`
/// (window, services with their capacity, faults and surges, resolved keys as TOML texts),
/// `verdicts`, `summary` (the rows of summary.csv, null where a cell is empty), `phases` and
/// `expectations`. Needs at least one evaluation, and refers to them.
void add_results(Document& document, Evaluations evaluations);

}  // namespace retrysim::report
