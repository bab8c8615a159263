// The output of `run --uncertain`: in how many draws of the uncertain keys the system recovers,
// which keys decide it, and between which values each figure lies.
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

}  // namespace retrysim::report
