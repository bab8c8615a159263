// What the page of `retrysim report` knows of result folders.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace retrysim::report {

/// One result for a page.
struct PageResult {
  std::string title;     ///< name of the scenario
  std::string metadata;  ///< JSON: all but what happened over time
  std::string series;    ///< JSON: see `PageSeriesTable::json`; "[]" if there is none
};

/// Reads the result in `folder`, of any command. Its series take about `most_bytes` at most. Throws
/// DamagedResult if a file is missing, damaged or not as expected.
PageResult read_page_result(const std::filesystem::path& folder, std::size_t most_bytes);

}  // namespace retrysim::report
