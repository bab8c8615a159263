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

/// Sentences on how the size depends on the other keys, and a table of the points. frontier.csv has
/// a row for each point, size.csv for each value that was tried at one. Refers to both.
Document frontier_document(const SizeFrontierPlan& plan, const std::vector<SizeStudy>& studies);

}  // namespace retrysim::report
