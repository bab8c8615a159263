// Scenario files are written here: tables, keys with comments, and sentences above them.
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
    kInTable,  ///< the comments of a table, and its equals signs, stand in one column each
    kAt,       ///< in column `comments_at`, or after the value if that is longer
  };
  struct Layout {
    std::size_t columns = 100;  ///< with kInTable and kAt, a comment that ends beyond is above
    Comments comments = Comments::kBehind;
    std::size_t comments_at = 0;
  };

  explicit ScenarioWriter(Layout layout) : layout_(layout) {}

  /// A sentence of any length, broken at blanks. `first` is in front of its first line, `others` in
  /// front of all others.
  void comment(std::string_view sentence, std::string_view first = "# ",
               std::string_view others = "# ");
  void blank();
  /// `[path]`, with a blank line above. Names in it are quoted where they must be.
  void table(std::string_view path);
  /// A table without the blank line.
  void section(std::string_view path);
  /// A line as it is.
  void line(std::string_view text);
  /// `value` is TOML. An empty comment is left out.
  void key(std::string_view name, std::string_view value, std::string_view comment = "");

  /// The file so far.
  std::string text();

 private:
  struct Line {
    std::string key, value, comment;
  };

  void write_keys();

  Layout layout_;
  std::string text_;
  std::vector<Line> keys_;  // of the table, as far as they stand one below the other
};

}  // namespace retrysim::scenario
