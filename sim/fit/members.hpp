// The members that a line of JSON or logfmt has, from one pass over its text: a log has millions of
// lines with dozens of members, of which a handful are read.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fit {

/// A member of a line; the members of a nested object follow the object.
struct Member {
  enum class Kind : std::uint8_t { kText, kNumber, kObject, kArray, kOther };

  /// Name and value as the line has them, without quotes. They live as long as the line, and may
  /// have escapes: see Members::text and Members::name.
  std::string_view raw_name, raw_value;
  std::uint64_t path = 0;  ///< Members::path_of(its name)
  /// Index of the object that contains it; SIZE_MAX: the line's object.
  std::size_t outer = SIZE_MAX;
  Kind kind = Kind::kOther;  ///< kOther: true, false, null
  bool escaped = false;      ///< the value has escapes

  bool is_nested_value() const { return kind == Kind::kObject || kind == Kind::kArray; }
  bool is_of_line() const { return outer == SIZE_MAX; }
};

class Members {
 public:
  enum class Misread : std::uint8_t { kNone, kNoObject, kTooDeep };
  /// The deepest nesting of objects and arrays that is read.
  static constexpr std::size_t kDeepest = 64;

  /// Reads a line that is one JSON object, by the grammar of RFC 8259; but texts may contain bytes
  /// that are not UTF-8, as nginx writes them. If the line is not such an object, there are no
  /// members.
  Misread read_json(std::string_view line);
  /// Reads the pairs of a line of logfmt, whose values are texts without escapes.
  void read_logfmt(std::string_view line);

  /// The members in the order of the line; of several with the same name, the last counts.
  std::span<const Member> all() const { return members_; }
  /// A hash of the names, in whichever order they come.
  std::uint64_t shape() const { return shape_; }

  /// The full name of a member: the names of the objects that contain it, and its own, with dots
  /// between them.
  std::string name(const Member& member) const;
  /// The content of a text without escapes, or a number as it is written; empty for other kinds. It
  /// lives as long as the line, and until the next one is read.
  std::string_view text(const Member& member);

  /// The hash of a full name; `{"a": {"b": 1}}` and `{"a.b": 1}` have the same member "a.b".
  static std::uint64_t path_of(std::string_view name);

 private:
  class Reader;

  std::vector<Member> members_;
  // Texts of values with escapes; the first `used_` are of this line.
  std::deque<std::string> texts_;
  std::size_t used_ = 0;
  std::uint64_t shape_ = 0;
};

}  // namespace retrysim::fit
