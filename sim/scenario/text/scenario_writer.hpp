// A writer of scenario files: tables, keys with comments, and sentences above them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

class ScenarioWriter {
 public:
  /// Where the comment on a key stands.
  enum class Comments : std::uint8_t {
    kBehind,   ///< behind its value, after two blanks, however long the line becomes
    kInTable,  ///< comments and equals signs of a table stand in one column each
    kAt,       ///< the comment is in column `comments_at`, or after a longer value
  };
  struct Layout {
    std::size_t columns = 100;  ///< with kInTable and kAt, longer lines get their comment above
    Comments comments = Comments::kBehind;
    std::size_t comments_at = 0;
  };

  explicit ScenarioWriter(Layout layout) : layout_(layout) {}

  /// Writes a sentence of any length as a comment, broken at blanks. `first` precedes its first
  /// line, `others` all other lines.
  void comment(std::string_view sentence, std::string_view first = "# ",
               std::string_view others = "# ");
  void blank();
  /// Writes the heading `[path]` with a blank line above. Names in the path must already be quoted
  /// where necessary.
  void table(std::string_view path);
  /// Writes the heading of a table without the blank line.
  void section(std::string_view path);
  /// Writes a line unchanged.
  void line(std::string_view text);
  /// Writes a key; `value` is TOML. An empty comment is left out.
  void key(std::string_view name, std::string_view value, std::string_view comment = "");

  /// The text of the file so far.
  std::string text();

 private:
  struct Line {
    std::string key, value, comment;
  };

  void write_keys();

  Layout layout_;
  std::string text_;
  std::vector<Line> keys_;  // keys of the present block, one below the other
};

}  // namespace retrysim::scenario
