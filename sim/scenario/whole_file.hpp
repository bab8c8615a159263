// Reading a whole file that may be a pipe, and giving up on it when asked to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace retrysim::scenario {

/// While `stop` is true `read_whole_file` throws Interrupted instead of waiting for a pipe that
/// nobody writes to. Null, as at the start: it waits. For the whole process; the flag must live
/// until it is replaced.
void stop_reading_when(const std::atomic<bool>* stop);

/// The bytes of a file of at most `most_bytes`; otherwise nothing, and `error` says why not
/// ("cannot be read: ...").
std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error);

}  // namespace retrysim::scenario
