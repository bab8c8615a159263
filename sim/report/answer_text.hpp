// The answer of a run in words: what became of each client group, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/evaluation.hpp"

#include <cstddef>
#include <string>

namespace retrysim::report {

/// A paragraph for each client group: the answer, and below it the causes, of which those that are
/// the same for all groups come once, at the end. Services' own calls have none unless they are in
/// trouble. Empty if there are no verdicts.
std::string answer_text(const Evaluation& evaluation, std::size_t columns);

}  // namespace retrysim::report
