// What `retrysim predict` says, as a terminal shows it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>

#include <cstddef>
#include <string>

namespace retrysim::report {

/// The figures by part and subject, what does not apply or is doubtful, and warnings, in lines of
/// so many columns.
std::string prediction_text(const Prediction& prediction, std::size_t columns);

}  // namespace retrysim::report
