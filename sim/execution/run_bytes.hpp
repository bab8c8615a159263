// A whole replication's results as bytes, for the processes of one job: of the same program, on
// machines that may differ.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <string>
#include <string_view>

namespace retrysim::execution {

std::string encode(const RunResult& run);

/// Throws std::runtime_error if `bytes` are not what `encode` made.
RunResult decode_run(std::string_view bytes);

}  // namespace retrysim::execution
