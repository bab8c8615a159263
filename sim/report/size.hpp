// The output of `retrysim size`: how big a key must be, how sure that is, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/size.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

/// The sentences of a size: the answer, and its explanation.
std::vector<std::string> size_sentences(const SizePlan& plan, const SizeStudy& study);

/// The document on a size: the sentences, and a table of the values that were tried. size.csv has a
/// row for each value. Refers to the plan and the study.
Document size_document(const SizePlan& plan, const SizeStudy& study);

}  // namespace retrysim::report
