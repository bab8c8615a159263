// The output of `retrysim size`: how big a key must be, how sure that is, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/size.hpp>

#include "report/document/document.hpp"

#include <string>
#include <vector>

namespace retrysim::report {

/// The answer, and what explains it.
std::vector<std::string> size_sentences(const SizePlan& plan, const SizeStudy& study);

/// The sentences, and a table of the values that were tried. size.csv has a row for each. Refers to
/// both.
Document size_document(const SizePlan& plan, const SizeStudy& study);

}  // namespace retrysim::report
