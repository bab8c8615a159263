// Reads a configuration as Spring Boot does: YAML or properties, names with dots, placeholders, and
// documents that hold only under a profile.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "import/tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

/// The configuration without a profile, and under each profile of the file, with all documents that
/// then hold joined into one. `names` gets the names of the documents: "", "profile prod".
/// Placeholders with a default, or whose property the file has, are filled in. Throws
/// BadConfiguration.
Tree read_spring(const std::string& file, std::string_view text, std::vector<std::string>& names);

}  // namespace retrysim::imports
