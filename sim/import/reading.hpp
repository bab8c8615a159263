// Fields of a configuration file, and a record of the fields that have been read: each field
// becomes a key, is left out with a reason, or is listed at the end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>
#include <retrysim/time.hpp>

#include "import/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::imports {

/// A name without `_` and `-`, in lower case: names are written in three ways: max_attempts,
/// maxAttempts, max-attempts.
std::string plain_name(std::string_view name);

/// `text` without blanks and line breaks at its ends. Folded texts of YAML end with one.
std::string_view plain_text(std::string_view text);

/// The parts of a text between commas, without blanks around them; empty parts are left out.
std::vector<std::string> split_list(std::string_view text);

/// The finite number that `text` is as a whole; empty if it is none.
std::optional<double> number_in(std::string_view text);

/// The seconds in "1m30s", "PT0.5S" or "00:01:30"; a bare number is in units of `bare_unit`
/// seconds. Empty if the text is no duration.
std::optional<double> seconds_in(std::string_view text, double bare_unit);

/// The seconds in a duration as Spring Boot reads it; empty if it reads none.
std::optional<double> spring_seconds_in(std::string_view text);

/// The seconds in a TimeSpan of .NET; empty if the text is none, or a number of days.
std::optional<double> timespan_in(std::string_view text);

/// The place of a field's value in the file, from 1; 0: nowhere.
struct Place {
  int line = 0, column = 0;
};

/// The record of one file.
struct Reading {
  std::string file;
  std::map<std::string, Place> used;  // paths and places of fields that became keys
  std::set<std::string> opened;       // paths of maps that are read field by field
  std::set<std::string> blocks;       // paths of maps about retries
  std::vector<ImportRemark> remarks;  // remarks with their own reasons
  std::set<const Value*> listed;      // values listed as unused; one may be in several documents
  std::size_t matches = 0;            // matches of policies with rules elsewhere in the file

  explicit Reading(std::string file_name) : file(std::move(file_name)) {}

  /// Counts a match of a policy with a rule, whose number could grow with the square of the file.
  /// Throws BadConfiguration beyond a limit.
  void count_match();
  /// Notes why a field has no counterpart; the first reason counts.
  void leave(const std::string& path, std::string why);
  /// Notes what a field does that its key does not say.
  void leave_in_part(const std::string& path, std::string why);
};

/// A value in the file, which may be absent.
class Field {
 public:
  Field(const Value* value, std::string path, Reading& reading)
      : value_(value), path_(std::move(path)), reading_(&reading) {}

  /// Whether the field exists and has a value.
  explicit operator bool() const { return value_ != nullptr && value_->kind != Value::Kind::kNull; }
  const std::string& path() const { return path_; }
  /// The field's path, and its value as written in the file if that is a placeholder:
  /// "a.max-attempts, ${RETRIES:5}".
  std::string source() const;
  /// The field's place in the file: "12:5".
  std::string place() const;
  bool is_null() const { return is_kind(Value::Kind::kNull); }
  bool is_map() const { return is_kind(Value::Kind::kMap); }
  bool is_list() const { return is_kind(Value::Kind::kList); }
  bool is_text() const { return is_kind(Value::Kind::kText); }
  /// The field's text; empty if it has none. This does not count as use of the field.
  std::string_view plain() const {
    return is_text() ? plain_text(value_->text) : std::string_view();
  }

  /// The field itself, which must be a map, or a list, if it exists. Throw BadConfiguration.
  const Field& map() const;
  const Field& list() const;

  /// The member of that name, in any spelling. Throws BadConfiguration if there are two spellings.
  Field operator[](std::string_view name) const;
  /// The member of exactly this name, which the file's author has chosen.
  Field named(std::string_view name) const;
  /// The field at the end of a path of names: "retries.per_try_timeout".
  Field at(std::string_view dotted_path) const;
  std::vector<std::pair<std::string, Field>> members() const;
  std::vector<Field> items() const;

  // The field's value, which counts as used from then on. Throw BadConfiguration.

  std::string text() const;
  double number(double least = 0, double most = 1e15) const;
  std::int64_t count() const;
  bool flag() const;
  /// The value as a duration; bare numbers are in units of `bare_unit` seconds.
  Duration duration(double bare_unit = 1) const;
  /// The value as Spring Boot reads a duration (DurationStyle): a whole number with a unit or
  /// without, which is milliseconds, or one of ISO 8601.
  Duration spring_duration() const;
  /// The value as .NET reads a TimeSpan.
  Duration timespan() const;
  /// The words of a list, or of a text with commas.
  std::vector<std::string> words() const;

  void use() const {
    reading_->used.try_emplace(
        path_, value_ == nullptr ? Place() : Place{.line = value_->line, .column = value_->column});
  }
  bool is_used() const { return reading_->used.contains(path_); }
  /// Whether the field, or a field in it, is used, or one in it has been looked for.
  bool is_used_in_part() const;
  /// Whether the field's value has been listed before, at another place; marks it as listed.
  bool is_listed() const;
  /// Notes that the field is about retries: unread parts of it will be listed.
  const Field& block() const;
  /// Notes that the field has no counterpart, and why. An absent field is not listed.
  void leave(std::string why) const;
  /// Notes what the field does, or does if it is absent, that its key does not say.
  void leave_in_part(std::string why) const;
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  struct Index;

  Duration duration_of(std::optional<double> seconds, const std::string& expected) const;
  bool is_kind(Value::Kind kind) const { return value_ != nullptr && value_->kind == kind; }
  std::string below(std::string_view name) const;
  const Index& index() const;

  const Value* value_;
  std::string path_;
  Reading* reading_;
  // Members by name, of a map that has been searched.
  mutable std::shared_ptr<const Index> by_name_;
};

/// The documents of a file; a list of Kubernetes stands for its items.
using Documents = std::vector<Field>;

/// The paths of those fields that exist.
std::string paths(const std::vector<Field>& fields);

/// Calls `visit` with all maps in a field, outer ones first.
void each_map(const Field& field, const std::function<void(const Field&)>& visit);

/// Adds remarks for unread fields: one for a whole branch if nothing in it has been read.
void list_unused(const Field& field, Reading& reading);

}  // namespace retrysim::imports
