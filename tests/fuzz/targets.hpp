// What a fuzzer plays with: bytes as the program meets them, in files that people and other
// programs write and in the values of its options.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fuzz {

/// One way in. `play` gives the bytes to the program, in this process, and aborts if it does
/// anything but what it promises for any input: success, or an error with the exit status of bad
/// input, of a bad command line, of output that cannot be written or of a limit.
struct Target {
  std::string_view name, meaning;
  void (*play)(std::string_view bytes);
  /// Inputs to start from, of which the fuzzer makes others.
  std::vector<std::string> (*seeds)(const std::filesystem::path& project);
};

std::span<const Target> targets();

/// The target of this name; null if there is none.
const Target* find_target(std::string_view name);

}  // namespace retrysim::fuzz
