// How Spring Boot reads a configuration: YAML or properties, names with dots, placeholders, and
// documents that hold under a profile only.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "import/tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

/// The configuration without a profile, and that under each profile of the file, with all documents
/// that then hold joined into one. `names` are those of the documents: "", "profile prod".
/// Placeholders with a default, or whose property the file has, are filled in. Throws
/// BadConfiguration.
Tree read_spring(const std::string& file, std::string_view text, std::vector<std::string>& names);

}  // namespace retrysim::imports
