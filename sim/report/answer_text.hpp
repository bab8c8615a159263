// The answer of a run in words: what became of each client group, and why.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/evaluation.hpp"

#include <cstddef>
#include <string>

namespace retrysim::report {

/// A paragraph for the client groups with the same answer: their names, the answer, and its causes,
/// those that explain the most groups first; a cause that only some of them have names these. What
/// explains every group comes once, at the end. A service's own calls are left out unless they are
/// in trouble. Empty if there are no verdicts.
std::string answer_text(const Evaluation& evaluation, std::size_t columns);

}  // namespace retrysim::report
