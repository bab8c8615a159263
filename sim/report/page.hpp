// The page of `retrysim report`: one HTML file with everything in it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace retrysim::report {

/// How a page begins that this program has written.
inline constexpr const char* kPageHead = "<!doctype html><!-- retrysim report -->\n";

/// The page of the results in `folders`, at least one. Throws DamagedResult.
std::string html_page(std::span<const std::filesystem::path> folders);

}  // namespace retrysim::report
