// Calls from a CSV file, for `retrysim strategy --calls`: what was answered, how long it took, how
// long the client did nothing between its calls, and what it drew.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/strategy_responses.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace retrysim::cli {

/// A file of calls is missing, unreadable or wrong; the message names file and line.
class BadCallFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The calls of a file, in order; "-" is standard input. Columns `call` and `response`, and as
/// wanted `pause_s`, `takes_s` (both in seconds, empty: 0) and `draw` (in [0, 1]). Neighbouring
/// rows of the same `call` are one call; its pause stands in the first of them. Throws BadCallFile.
std::vector<Call> read_calls(const std::string& path);

}  // namespace retrysim::cli
