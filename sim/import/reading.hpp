// Fields of a configuration file and the record of what has been read of them: each field becomes a
// key, is left out with a reason, or is listed at the end.
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

/// A name without `_` and `-`, in lower case: names are written in three ways, max_attempts,
/// maxAttempts, max-attempts.
std::string plain_name(std::string_view name);

/// `text` without blanks and line breaks at its ends. Folded texts of YAML end with one.
std::string_view plain_text(std::string_view text);

/// The parts between commas, without blanks around them; empty ones are left out.
std::vector<std::string> split_list(std::string_view text);

/// A finite number, all of `text`.
std::optional<double> number_in(std::string_view text);

/// "1m30s", "PT0.5S", "00:01:30", in seconds; a bare number is in units of this many seconds.
std::optional<double> seconds_in(std::string_view text, double bare_unit);

/// Where a field's value stands in the file, from 1; 0: nowhere.
struct Place {
  int line = 0, column = 0;
};

/// What has been read of one file.
struct Reading {
  std::string file;
  std::map<std::string, Place> used;  // by the paths of fields that keys were made of
  std::set<std::string> opened;       // paths of maps that are read field by field
  std::set<std::string> blocks;       // paths of what is about retries
  std::vector<ImportRemark> remarks;  // with a reason of their own
  std::set<const Value*> listed;      // as unused: a value may stand in several documents
  std::size_t matches = 0;            // of policies with what is said of them elsewhere

  explicit Reading(std::string file_name) : file(std::move(file_name)) {}

  /// Each policy with each rule would be a square. Throws BadConfiguration beyond a limit.
  void count_match();
  /// Notes why a field has no counterpart; the first reason counts.
  void leave(const std::string& path, std::string why);
  /// A key is made of the field, which does not say all that it does.
  void leave_in_part(const std::string& path, std::string why);
};

/// A value in the file, which may be absent.
class Field {
 public:
  Field(const Value* value, std::string path, Reading& reading)
      : value_(value), path_(std::move(path)), reading_(&reading) {}

  /// Whether it is there and has a value.
  explicit operator bool() const { return value_ != nullptr && value_->kind != Value::Kind::kNull; }
  const std::string& path() const { return path_; }
  /// Its path, and what its value stands for in the file: "a.max-attempts, ${RETRIES:5}".
  std::string source() const;
  /// "12:5", its place in the file.
  std::string place() const;
  bool is_null() const { return is_kind(Value::Kind::kNull); }
  bool is_map() const { return is_kind(Value::Kind::kMap); }
  bool is_list() const { return is_kind(Value::Kind::kList); }
  bool is_text() const { return is_kind(Value::Kind::kText); }
  /// Its text, or nothing if it has none; does not count as use of it.
  std::string_view plain() const {
    return is_text() ? plain_text(value_->text) : std::string_view();
  }

  /// Itself, which must be a map, or a list, if it is there. Throw BadConfiguration.
  const Field& map() const;
  const Field& list() const;

  /// The member of that name, in whichever way it is written. Throws BadConfiguration if it is
  /// written in two ways.
  Field operator[](std::string_view name) const;
  /// The member of a name that the file's author has chosen: written exactly so.
  Field named(std::string_view name) const;
  /// The field at the end of a path of names: "retries.per_try_timeout".
  Field at(std::string_view dotted_path) const;
  std::vector<std::pair<std::string, Field>> members() const;
  std::vector<Field> items() const;

  // Its value, which is thereby used. Throw BadConfiguration.

  std::string text() const;
  double number(double least = 0, double most = 1e15) const;
  std::int64_t count() const;
  bool flag() const;
  /// Bare numbers are in units of this many seconds.
  Duration duration(double bare_unit = 1) const;
  /// A list, or a text with commas.
  std::vector<std::string> words() const;

  void use() const {
    reading_->used.try_emplace(
        path_, value_ == nullptr ? Place() : Place{.line = value_->line, .column = value_->column});
  }
  bool is_used() const { return reading_->used.contains(path_); }
  /// Whether its value has been listed before, at another place; it is from now on.
  bool is_listed() const;
  /// Notes that it is about retries: what is not read of it is not unrelated.
  const Field& block() const;
  /// The field has no counterpart. An absent field is not listed.
  void leave(std::string why) const;
  /// A key is made of it, which does not say all that it does, or all that it does if it is absent.
  void leave_in_part(std::string why) const;
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  struct Index;

  bool is_kind(Value::Kind kind) const { return value_ != nullptr && value_->kind == kind; }
  std::string below(std::string_view name) const;
  const Index& index() const;

  const Value* value_;
  std::string path_;
  Reading* reading_;
  mutable std::shared_ptr<const Index> by_name_;  // of a map that has been looked into
};

/// The documents of a file; a list of Kubernetes stands for its items.
using Documents = std::vector<Field>;

/// The paths of the fields that are there.
std::string paths(const std::vector<Field>& fields);

/// `visit` sees all maps, outer ones first.
void each_map(const Field& field, const std::function<void(const Field&)>& visit);

/// Adds a remark for what has not been read: whole branches of which nothing has.
void list_unused(const Field& field, Reading& reading);

}  // namespace retrysim::imports
