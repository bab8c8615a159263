// Reading and writing single values.
//
// SPDX-License-Identifier: MIT
#include "scenario/values.hpp"

#include "scenario/suggestions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace retrysim::scenario {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 6> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"min", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

// Numbers in messages: the shortest text, without the ".0" that TOML needs.
std::string plain(double value) {
  constexpr double kMostWhole = 1e15;
  if (value == std::trunc(value) && std::abs(value) < kMostWhole) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return render_number(value);
}

// What is accepted beside a number or a duration.
std::string other_words(const ValueRules& rules) {
  std::string result;
  if (!rules.else_word.empty()) result += ", or \"" + std::string(rules.else_word) + "\"";
  if (rules.or_sdk) result += ", or \"" + std::string(kAsTheSdk) + "\"";
  return result;
}

bool in_range(const Range& range, double value) {
  if (value < range.min || value > range.max) return false;
  return !(range.above_min && value == range.min);
}

// About the longest duration that 64 bits of nanoseconds hold: 285 years.
constexpr std::int64_t kLongestSeconds = 9'000'000'000;

std::optional<WrittenDuration> from_seconds(double seconds) {
  if (!(seconds >= 0 && seconds <= static_cast<double>(kLongestSeconds))) return std::nullopt;
  return WrittenDuration{Duration::from_seconds(seconds), seconds};
}

// A number with the unit of a duration, whatever its size and sign.
struct NumberWithUnit {
  std::string_view digits;
  double value = 0;
  std::int64_t unit_ns = 0;

  double seconds() const {
    // Dividing by a power of ten rounds once; multiplying by 1e-3 would round twice.
    return unit_ns >= 1'000'000'000 ? value * static_cast<double>(unit_ns / 1'000'000'000)
                                    : value / static_cast<double>(1'000'000'000 / unit_ns);
  }
};

std::optional<NumberWithUnit> parse_number_with_unit(std::string_view text) {
  const std::size_t end = text.find_last_of("0123456789.");
  if (end == std::string_view::npos) return std::nullopt;
  NumberWithUnit result{text.substr(0, end + 1), 0, 0};
  std::string_view name = text.substr(end + 1);
  if (name.starts_with(' ')) name.remove_prefix(1);  // "2 s", as durations are shown
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == kUnits.end()) return std::nullopt;
  result.unit_ns = unit->nanoseconds;
  const char* const last = result.digits.data() + result.digits.size();
  const auto [rest, code] = std::from_chars(result.digits.data(), last, result.value);
  if (code != std::errc() || rest != last) return std::nullopt;
  return result;
}

// A duration in either way of writing; nothing if `node` is neither.
std::optional<WrittenDuration> duration_of(const Node& node) {
  if (node.is_text()) return parse_duration(node.text);
  if (node.kind == Node::Kind::kInteger) {
    if (node.integer < 0 || node.integer > kLongestSeconds) return std::nullopt;
    return WrittenDuration{Duration::seconds(node.integer), node.real};
  }
  if (node.kind == Node::Kind::kReal) return from_seconds(node.real);
  return std::nullopt;
}

// How a wrong value is shown: as the user wrote it, if that is short.
std::string shown(const Node& node) {
  if (node.is_text()) return in_quotes(node.text);
  constexpr std::size_t kLongest = 60;
  if (node.kind == Node::Kind::kArray) {
    std::string list = render(node);
    if (list.size() <= kLongest) return list;
  }
  if (node.is_table() || node.kind == Node::Kind::kArray || node.kind == Node::Kind::kDate) {
    return std::string(describe(node.kind));
  }
  return render(node);
}

class ValueReader {
 public:
  ValueReader(const ValueRules& rules, const std::string& path, const Node& node, CsvFiles& files)
      : rules_(rules), path_(path), node_(node), files_(files) {}

  std::optional<Value> read() {
    value_.place = node_.place;
    if (node_.is_text() && !rules_.else_word.empty() && node_.text == rules_.else_word) {
      value_.is_else_word = true;
      value_.text = node_.text;
      return std::move(value_);
    }
    if (rules_.or_sdk && node_.is_text() && node_.text == kAsTheSdk) {
      value_.is_else_word = true;  // until the SDK is known
      value_.text = node_.text;
      return std::move(value_);
    }
    if (!read_kind()) return std::nullopt;
    return std::move(value_);
  }

 private:
  bool read_kind() {
    switch (rules_.kind) {
      case ValueKind::kDuration:
        return read_duration();
      case ValueKind::kNumber:
        return read_number();
      case ValueKind::kCount:
        return read_count();
      case ValueKind::kBoolean:
        value_.boolean = node_.boolean;
        return node_.kind == Node::Kind::kBoolean || fail();
      case ValueKind::kWord:
        return read_word();
      case ValueKind::kText:
      case ValueKind::kFile:
        return read_text();
      case ValueKind::kNames:
        return read_names();
      case ValueKind::kDistribution:
        return read_one_distribution();
      case ValueKind::kDistributionList:
        return read_list();
    }
    return false;
  }

  bool fail(const std::string& hint = "") {
    const bool empty = node_.kind == Node::Kind::kArray && node_.members.empty();
    files_.problems().add(node_.place,
                          path_ + " = " + shown(node_) +
                              (empty ? " is empty; expected " : " is wrong; expected ") +
                              expected(rules_) + hint);
    return false;
  }

  // A length of time that is too short or too long is told so; anything else is no duration.
  bool fail_duration() {
    std::optional<double> seconds;
    if (node_.is_text()) {
      if (const auto written = parse_number_with_unit(node_.text)) seconds = written->seconds();
    } else if (node_.kind == Node::Kind::kInteger || node_.kind == Node::Kind::kReal) {
      seconds = node_.real;
    }
    if (!seconds) return fail();
    const double most = std::min(rules_.range.max, static_cast<double>(kLongestSeconds));
    const std::string least =
        rules_.range.above_min ? "1ns" : plain(std::max(rules_.range.min, 0.0)) + "s";
    std::string message = path_ + " = " + shown(node_) + " is out of range; expected a duration " +
                          "from " + least + " to " + plain(most) + "s";
    message += other_words(rules_);
    files_.problems().add(node_.place, std::move(message));
    return false;
  }

  bool read_duration() {
    const auto written = duration_of(node_);
    if (!written || !in_range(rules_.range, written->seconds)) return fail_duration();
    // "0.1ns" is a positive number but no time that a clock of nanoseconds can tell.
    if (rules_.range.above_min && written->duration == Duration::zero()) return fail_duration();
    value_.duration = written->duration;
    value_.number = written->seconds;
    return true;
  }

  bool read_number() {
    if (node_.kind != Node::Kind::kReal && node_.kind != Node::Kind::kInteger) return fail();
    value_.number = node_.real;
    if (std::isfinite(node_.real) && in_range(rules_.range, node_.real)) return true;
    const bool is_share = rules_.range.min >= 0 && rules_.range.max == 1;
    return fail(is_share ? percent_hint(node_.real) : "");
  }

  bool read_count() {
    if (node_.kind != Node::Kind::kInteger) return fail();
    value_.count = node_.integer;
    value_.number = node_.real;
    return in_range(rules_.range, node_.real) || fail();
  }

  // The text of a value that is text, or that was typed as an edit where `2.0` may mean text.
  const std::string* text() const {
    if (node_.is_text()) return &node_.text;
    const bool scalar = !node_.is_table() && node_.kind != Node::Kind::kArray;
    return node_.raw.empty() || !scalar ? nullptr : &node_.raw;
  }

  bool read_word() {
    const std::string* word = text();
    if (word == nullptr) return fail();
    const auto words = split_words(rules_.words);
    const auto at = std::find(words.begin(), words.end(), *word);
    if (at == words.end()) {
      const std::string_view near = nearest(*word, words);
      std::string message =
          path_ + " = " + in_quotes(*word) + " is unknown; expected " + expected(rules_);
      if (!near.empty()) message += "; did you mean \"" + std::string(near) + "\"?";
      files_.problems().add(node_.place, std::move(message));
      return false;
    }
    value_.word = static_cast<std::size_t>(at - words.begin());
    value_.boolean = value_.word == 1;
    value_.text = *word;
    return true;
  }

  bool read_text() {
    const std::string* written = text();
    if (written == nullptr || (rules_.kind == ValueKind::kFile && written->empty())) return fail();
    value_.text = *written;
    return true;
  }

  bool read_names() {
    if (node_.kind != Node::Kind::kArray) {
      if (!read_text()) return false;
      value_.names = {value_.text};
      return true;
    }
    for (const Member& member : node_.members) {
      if (!member.value.is_text()) return fail();
      value_.names.push_back(member.value.text);
    }
    return !node_.members.empty() || fail();
  }

  bool read_one_distribution() {
    if (!node_.is_table() && !duration_of(node_)) return fail_duration();
    auto distribution = read_distribution(path_, node_, files_);
    if (!distribution) return false;
    value_.distribution = *std::move(distribution);
    return true;
  }

  bool read_list() {
    if (node_.kind != Node::Kind::kArray || node_.members.empty()) return fail();
    bool good = true;
    for (std::size_t i = 0; i < node_.members.size(); ++i) {
      const std::string path = path_ + "[" + std::to_string(i) + "]";
      auto distribution = read_distribution(path, node_.members[i].value, files_);
      good = good && distribution.has_value();
      if (distribution) value_.list.push_back(*std::move(distribution));
    }
    return good;
  }

  const ValueRules& rules_;
  const std::string& path_;
  const Node& node_;
  CsvFiles& files_;
  Value value_;
};

void use_file_names_only(Node& node) {
  for (Member& member : node.members) {
    if (member.name == "file" && member.value.is_text()) {
      member.value.text = std::filesystem::path(member.value.text).filename().string();
    }
    use_file_names_only(member.value);
  }
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> result;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('|'), words.size());
    result.push_back(words.substr(0, end));
    words.remove_prefix(std::min(words.size(), end + 1));
  }
  return result;
}

std::string to_string(const Range& range) {
  const bool from = std::isfinite(range.min);
  const bool to = std::isfinite(range.max);
  if (from && to) {
    return (range.above_min ? "above " : "from ") + plain(range.min) +
           (range.above_min ? ", at most " : " to ") + plain(range.max);
  }
  if (from) return (range.above_min ? "> " : ">= ") + plain(range.min);
  return to ? "<= " + plain(range.max) : "";
}

std::string expected(const ValueRules& rules) {
  std::string result;
  switch (rules.kind) {
    case ValueKind::kDuration:
      result = "a duration such as \"250ms\" or a number of seconds";
      break;
    case ValueKind::kNumber:
      result = "a number";
      break;
    case ValueKind::kCount:
      result = "a whole number";
      break;
    case ValueKind::kBoolean:
      result = "true or false";
      break;
    case ValueKind::kWord:
      result = "one of " + joined(split_words(rules.words));
      break;
    case ValueKind::kText:
      result = "text in quotes";
      break;
    case ValueKind::kNames:
      result = "text in quotes, or a list such as [\"a\", \"b\"]";
      break;
    case ValueKind::kFile:
      result = "the name of a CSV file in quotes";
      break;
    case ValueKind::kDistribution:
      result = "a duration such as \"250ms\", a number of seconds or { distribution = ..., ... }";
      break;
    case ValueKind::kDistributionList:
      result = "a list of at least one duration or distribution, such as [\"100ms\", \"1s\"]";
      break;
  }
  const Range& range = rules.range;
  std::string limits = to_string(range);
  if (rules.kind == ValueKind::kCount && std::isfinite(range.min) && !std::isfinite(range.max)) {
    // As far as integers of TOML go.
    limits = "from " + plain(range.min) + " to " +
             std::to_string(std::numeric_limits<std::int64_t>::max());
  }
  if (!limits.empty()) result += " " + limits;
  return result + other_words(rules);
}

std::optional<Value> read_value(const ValueRules& rules, const std::string& path, const Node& node,
                                CsvFiles& files) {
  return ValueReader(rules, path, node, files).read();
}

namespace {

// From here on a bare number of seconds is rare where requests are timed.
constexpr double kLongRequestSeconds = 100;
// From here on a factor may be a percentage.
constexpr double kLargeFactor = 10;

// The first number without a unit that is long for a part of a request: the value itself, one of a
// list, or a parameter of a distribution that is a duration.
const Node* bare_long_time(const Node& node) {
  const bool number = node.kind == Node::Kind::kInteger || node.kind == Node::Kind::kReal;
  if (number) return node.real >= kLongRequestSeconds ? &node : nullptr;
  for (const Member& member : node.members) {
    if (!member.name.empty() && !is_duration_parameter(member.name)) continue;
    if (const Node* found = bare_long_time(member.value)) return found;
  }
  return nullptr;
}

}  // namespace

std::string percent_hint(double value) {
  if (!(value > 1 && value <= 100)) return "";
  return "; did you mean " + plain(value / 100) + " (" + plain(value) + " %)?";
}

std::string likely_slip(const ValueRules& rules, const Node& node) {
  if (rules.quantity == Quantity::kRequestTime) {
    const Node* found = bare_long_time(node);
    if (found == nullptr) return "";
    const std::string number = plain(found->real);
    return " = " + shown(node) + (found == &node ? " is " : " has ") + number +
           " s, since a number without a unit is in seconds; did you mean \"" + number + "ms\"?";
  }
  const bool number = node.kind == Node::Kind::kInteger || node.kind == Node::Kind::kReal;
  if (rules.quantity == Quantity::kFactor && number && node.real >= kLargeFactor) {
    return " = " + shown(node) + " is " + plain(node.real) + " times as much" +
           percent_hint(node.real);
  }
  return "";
}

std::string render_value(const ValueRules& rules, const Node& node) {
  Node copy = node;
  switch (rules.kind) {
    case ValueKind::kFile:
      return render_text(
          std::filesystem::path(node.is_text() ? node.text : node.raw).filename().string());
    case ValueKind::kNames:
      if (node.kind == Node::Kind::kArray) return render(node);
      return render_text(node.is_text() ? node.text : node.raw);
    case ValueKind::kText:
    case ValueKind::kWord:
      return render_text(node.is_text() ? node.text : node.raw);
    case ValueKind::kDistribution:
    case ValueKind::kDistributionList:
      use_file_names_only(copy);
      return render(copy);
    case ValueKind::kDuration:
    case ValueKind::kNumber:
    case ValueKind::kCount:
    case ValueKind::kBoolean:
      break;
  }
  return render(node);
}

std::string to_text(Duration duration) {
  const std::int64_t ns = duration.count();
  for (std::string_view name : {"s", "ms", "us"}) {  // minutes and hours are harder to compare
    const auto unit =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
    if (ns % unit->nanoseconds == 0) {
      return std::to_string(ns / unit->nanoseconds) + std::string(name);
    }
  }
  return std::to_string(ns) + "ns";
}

std::optional<WrittenDuration> parse_duration(std::string_view text) {
  const auto written = parse_number_with_unit(text);
  if (!written) return std::nullopt;
  const auto rounded = from_seconds(written->seconds());
  if (!rounded) return std::nullopt;
  const std::string_view digits = written->digits;
  std::int64_t whole = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  std::int64_t exact_ns = 0;
  if (code == std::errc() && end == digits.data() + digits.size() &&
      !__builtin_mul_overflow(whole, written->unit_ns, &exact_ns)) {
    return WrittenDuration{Duration::nanoseconds(exact_ns), rounded->seconds};
  }
  const double ns = written->value * static_cast<double>(written->unit_ns);
  return WrittenDuration{Duration::from_nanoseconds(ns), rounded->seconds};
}

}  // namespace retrysim::scenario
