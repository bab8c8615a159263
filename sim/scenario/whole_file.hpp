// Reading a whole file that may be a pipe, and giving up on it when asked to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace retrysim::scenario {

/// The bytes of a file of at most `most_bytes`; otherwise nothing, and `error` says why not
/// ("cannot be read: ..."). A stop point, also while a pipe has no writer: throws Interrupted.
std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error);

}  // namespace retrysim::scenario
