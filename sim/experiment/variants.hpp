// Variants of a scenario that are files: another scenario, or keys that are put into it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace retrysim::experiment {

/// As `load_variants`; besides, each of `files`, "NAME=FILE", is a variant, as
/// `load_scenario_file_with` reads it. If there are files, the scenario file itself is called
/// "base", and with values to vary the variants are all combinations of files and values, such as
/// "file=base max_attempts=2". Throws RequestError also if a NAME is not fit for a column (up to 40
/// letters, digits, `_`, `-`, `+` and `.`), is "base", or comes twice.
VariantsResult load_variants_and_files(const std::filesystem::path& file,
                                       const std::vector<std::string>& edits,
                                       const std::vector<std::string>& vary,
                                       const std::string& baseline,
                                       const std::vector<std::string>& files);

}  // namespace retrysim::experiment
