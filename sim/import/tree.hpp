// A configuration file as a tree of values in which each knows its place: YAML with its aliases and
// merge keys, JSON, JSON with comments. Reading it takes a time in proportion to its length, also
// if aliases stand for more than a file may have.
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
    int line = 0, column = 0;  ///< of the name, from 1
  };
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;     ///< of kText, without quotes
  std::string written;  ///< how the file has it, where that is a placeholder
  std::vector<Member> members;
  int line = 0, column = 0;  ///< from 1; 0: nowhere
  double size = 1;           ///< values in it, itself included, aliases written out
  int depth = 1;             ///< levels, itself included

  /// The member of exactly this name; null if there is none.
  const Value* find(std::string_view name) const;
};

/// The values of one file. Those that aliases name stand in several places.
class Tree {
 public:
  /// The documents of the file, in its order.
  std::vector<const Value*> documents;

  /// A new value, which lives as long as the tree.
  Value& add(Value value = {});
  /// A text.
  Value& add_text(std::string text, int line, int column);

 private:
  std::deque<Value> values_;
};

/// How deep values may be nested, with the aliases in them.
inline constexpr int kMaxDepth = 60;
/// How many values a file may have.
inline constexpr std::size_t kMaxValues = 1'000'000;
/// How many values all aliases together may stand for.
inline constexpr double kMaxAliased = 200'000;

/// Reads YAML or JSON. Merge keys are followed. Throws BadConfiguration with the place: no YAML, a
/// name that comes twice, a second document that nothing has begun, nested too deeply, aliases that
/// stand for too much. `file` names it in messages.
Tree read_yaml(const std::string& file, std::string_view text);

/// JSON with comments, as .NET has it, with blanks in place of the comments, so that nothing moves.
/// Anything else stays as it is.
std::string without_json_comments(std::string_view text);

}  // namespace retrysim::imports
