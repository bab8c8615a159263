// A configuration file as a tree of values, each with its place: YAML with its aliases and merge
// keys, JSON, JSON with comments. The time to read a file is proportional to its length, even if
// aliases stand for more than a file may have.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

struct Value {
  struct Member {
    std::string name;  ///< empty in a list; "?" if it is no text
    const Value* value = nullptr;
    int line = 0, column = 0;  ///< place of the name, from 1
  };
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;       ///< text of kText, without quotes
  bool is_plain = false;  ///< a text of YAML without quotes
  std::string written;    ///< text in the file, if that is a placeholder
  std::vector<Member> members;
  int line = 0, column = 0;  ///< position in the file, from 1; 0: no position
  double size = 1;           ///< values in it, itself included, with aliases expanded
  int depth = 1;             ///< levels of nesting, itself included

  /// The member of exactly this name; null if there is none.
  const Value* find(std::string_view name) const;
};

/// The values of one file. Values with aliases are in several places.
class Tree {
 public:
  /// The documents of the file, in its order.
  std::vector<const Value*> documents;

  /// Adds a new value, which lives as long as the tree.
  Value& add(Value value = {});
  /// Adds a text.
  Value& add_text(std::string text, int line, int column);

 private:
  std::deque<Value> values_;
};

/// Deepest nesting of values, with the aliases in them.
inline constexpr int kMaxDepth = 60;
/// Most values of a file.
inline constexpr std::size_t kMaxValues = 1'000'000;
/// Most values that all aliases together may stand for.
inline constexpr double kMaxAliased = 200'000;

/// Reads YAML or JSON. Merge keys are followed. Throws BadConfiguration with the place for invalid
/// YAML, repeated names, a second document without a mark, too deep nesting, and aliases that stand
/// for too much. `file` names it in messages.
Tree read_yaml(const std::string& file, std::string_view text);

/// JSON with comments, as in .NET, with blanks in place of the comments, so that nothing moves.
/// Other texts stay as they are.
std::string without_json_comments(std::string_view text);

}  // namespace retrysim::imports
