// What can be imported: one row and one file a family.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>

#include "import/reading.hpp"

#include <span>
#include <string>

namespace retrysim::imports {

/// Adds a policy for each that the documents have.
using FromDocuments = void (*)(const Documents& documents, Reading& reading,
                               ImportedConfiguration& result);
/// The same from a text that is neither YAML nor JSON.
using FromText = void (*)(const std::string& text, Reading& reading, ImportedConfiguration& result);

struct Family {
  ImportKind kind;
  FromDocuments from_documents = nullptr;
  FromText from_text = nullptr;  ///< instead of `from_documents`
};

/// In the order in which they are listed.
std::span<const Family> families();

}  // namespace retrysim::imports
