// How a command shows its result on standard output.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/simulation_options.hpp"
#include "report/sink.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace retrysim::cli {

/// What standard output shows of a result whose files are in place.
struct ShownResult {
  std::filesystem::path folder;
  std::string_view csv_file;  ///< the file that --format csv prints; json prints result.json
  std::function<void(report::Sink&)> table;  ///< for people; empty: nothing is shown to them
};

/// Prints the result as --format asks, or nothing with --quiet; `before` goes in front. Throws
/// OutputError.
void print_result(const SimulationSettings& settings, const ShownResult& result,
                  std::string_view before = {});

}  // namespace retrysim::cli
