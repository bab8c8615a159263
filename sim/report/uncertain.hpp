// The output of `run --uncertain` and `compare --uncertain`: in how many draws of the uncertain
// keys the system recovers, which keys decide it, and between which values each figure lies; and
// with which variants it recovers in more draws.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/uncertain.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

/// The sentences of a study: the answer, and its explanation.
std::vector<std::string> uncertain_sentences(const UncertainStudy& study);

/// The document on a study: the sentences; a table of the keys, and how each decides; a table of
/// the figures over the draws beside those with the scenario's own values. uncertain.csv has a row
/// for each draw. Refers to the study.
Document uncertain_document(const UncertainStudy& study);

/// The output of `compare --uncertain`: which variant is good in more draws; a table of the
/// variants; how each differs from the baseline in the metrics. variants.csv has a row for each
/// variant, compare.csv for each difference, uncertain.csv for each variant and draw. Refers to the
/// comparison.
Document uncertain_comparison_document(const UncertainComparison& comparison);

}  // namespace retrysim::report
