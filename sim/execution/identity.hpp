// The question that a result answers, as names and texts, and a hash of it: results with the same
// hash answer the same question.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// The names ("scenario", "--vary") and texts that identify an experiment. Experiments that differ
/// in any of them are unrelated.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// A 64-bit hash of an identity, to compare experiments by.
std::uint64_t id_of(const Identity& identity);

/// A text that stands for the contents of input files: a line each with name, hash and size. A file
/// that cannot be read counts as empty.
std::string describe_files(const std::vector<std::filesystem::path>& files);

}  // namespace retrysim::execution
