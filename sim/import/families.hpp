// The families of configurations that can be imported: a row and a file for each.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>

#include "import/reading.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace retrysim::imports {

/// Adds a policy for each policy in the documents.
using FromDocuments = void (*)(const Documents& documents, Reading& reading,
                               ImportedConfiguration& result);
/// Adds the policies of a text that is neither YAML nor JSON.
using FromText = void (*)(const std::string& text, Reading& reading, ImportedConfiguration& result);

/// The syntax by which a text is read before it is translated.
enum class Syntax : std::uint8_t {
  kYaml,      ///< YAML or JSON
  kComments,  ///< YAML or JSON, which may have comments
  kSpring,    ///< YAML or properties, with dotted names, placeholders and profiles
};

struct Family {
  ImportKind kind;
  /// The parts that make a policy: without them, a file of this kind says nothing about retries.
  std::string_view needs;
  /// Texts that mark such a file, separated by blanks; empty: the kind cannot be recognized.
  std::string_view marks;
  FromDocuments from_documents = nullptr;
  Syntax syntax = Syntax::kYaml;
  FromText from_text = nullptr;  ///< in place of `from_documents`
};

/// The families in the order in which they are listed.
std::span<const Family> families();

}  // namespace retrysim::imports
