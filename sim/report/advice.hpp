// The output of `retrysim advise`: which of the usual remedies helps most, and at what price.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

struct AdviceReport {
  const Advice& found;
  std::string scenario;            ///< the scenario file, as the user wrote it
  std::vector<std::string> edits;  ///< the user's own edits
};

/// The document on remedies: which one helps most, as far as that can be told, what it costs, and
/// the command that repeats its run; a table of all remedies that were tried, with their edits; and
/// why the others were not tried. advice.csv has a row for the scenario as it stands and for each
/// remedy, the member "advice" of result.json the same rows.
Document advice_document(const AdviceReport& report);

/// advice.csv.
std::vector<TableSource> advice_tables(const Advice& found);

}  // namespace retrysim::report
