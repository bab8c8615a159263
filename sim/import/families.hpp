// What can be imported: one row and one file a family.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>

#include "import/reading.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace retrysim::imports {

/// Adds a policy for each that the documents have.
using FromDocuments = void (*)(const Documents& documents, Reading& reading,
                               ImportedConfiguration& result);
/// Reads a text that is neither YAML nor JSON.
using FromText = void (*)(const std::string& text, Reading& reading, ImportedConfiguration& result);

/// How a text is read before it is translated.
enum class Syntax : std::uint8_t {
  kYaml,      ///< YAML or JSON
  kComments,  ///< the same; JSON may have comments
  kSpring,    ///< YAML or properties, with dotted names, placeholders and profiles
};

struct Family {
  ImportKind kind;
  /// What makes a policy: without any of it, a file of this kind says nothing about retries.
  std::string_view needs;
  /// Texts that such a file has somewhere, with blanks between them; empty: it cannot be told.
  std::string_view marks;
  FromDocuments from_documents = nullptr;
  Syntax syntax = Syntax::kYaml;
  FromText from_text = nullptr;  ///< instead of `from_documents`
};

/// In the order in which they are listed.
std::span<const Family> families();

}  // namespace retrysim::imports
