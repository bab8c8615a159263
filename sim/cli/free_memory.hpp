// How much memory this process may still take without harm to others, or to itself.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace retrysim::cli {

/// The least of what the machine has available (MemAvailable), what the control groups of this
/// process leave (versions 1 and 2), and what its limit on the address space does. All there is, if
/// nothing is known. `root` is that of the file system, for tests.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

/// From now on, memory that is given back stays with the process, for the next that is taken. For
/// what takes and gives back megabytes again and again, as predictions do: the system would clear
/// every page anew. Nothing but the time that it takes depends on it.
void keep_freed_memory();

/// A number of bytes: "4GiB", "512 MiB", "1.5G", "2GB", "1000000". K, M, G, T, alone or with "iB",
/// are powers of 1024; with "B" powers of 1000. Nothing if it is none, or 0.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace retrysim::cli
