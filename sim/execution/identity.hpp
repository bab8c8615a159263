// What an experiment is, so that no other one goes on from its journal, joins its shards or shares
// its work.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/executor.hpp>
#include <retrysim/scenario_file.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// Names ("scenario", "--vary") and texts. Two experiments that differ in any of them have nothing
/// to do with each other.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// The identity as bytes: names and texts with their lengths.
std::string encode(const Identity& identity);

/// A 64-bit hash of an identity, to compare experiments by.
std::uint64_t id_of(const Identity& identity);

/// A text that stands for the contents of input files: a line each with name, hash and size. What
/// cannot be read is taken as empty.
std::string describe_files(const std::vector<std::filesystem::path>& files);

/// Makes sure that all processes have read the same: scenario and CSV inputs. Throws what
/// `Executor::agree` throws.
void agree_on(const LoadedScenario& loaded, Executor& executor);

}  // namespace retrysim::execution
