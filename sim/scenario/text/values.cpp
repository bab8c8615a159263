// Reading and writing single values, distributions, and the ranges of --vary.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/values.hpp"

#include "kernel/functions.hpp"
#include "scenario/text/histograms.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/percentiles.hpp"
#include "scenario/text/problems.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace retrysim::scenario {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 7> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"min", 60'000'000'000},
                                      {"h", 3'600'000'000'000},
                                      {"d", 86'400'000'000'000}}};

// A number in messages, as it may be written in a scenario: without the ".0" that TOML needs, and
// without an exponent where its digits can be read.
std::string plain(double value) {
  constexpr double kMaxWritten = 1e15, kLeastWritten = 1e-9;
  constexpr int kDigits = 15;
  const double size = std::abs(value);
  const bool written = size == 0 || (size >= kLeastWritten && size < kMaxWritten);
  return written ? to_copy(value, kDigits) : render_number(value);
}

// The words that are accepted beside a number or a duration, as the end of a list.
std::string other_words(const ValueRules& rules) {
  std::string result;
  if (!rules.else_word.empty()) result += ", or \"" + std::string(rules.else_word) + "\"";
  if (!rules.also_word.empty()) result += ", or \"" + std::string(rules.also_word) + "\"";
  return result;
}

bool in_range(const Range& range, double value) {
  if (value < range.min || value > range.max) return false;
  return !(range.above_min && value == range.min) && !(range.below_max && value == range.max);
}

// The longest duration, s: about what 64 bits of nanoseconds hold, 285 years.
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
    // Small units divide by a power of ten, which rounds once; multiplying by 1e-3 would round
    // twice.
    return unit_ns >= 1'000'000'000 ? value * static_cast<double>(unit_ns / 1'000'000'000)
                                    : value / static_cast<double>(1'000'000'000 / unit_ns);
  }
};

std::optional<NumberWithUnit> parse_number_with_unit(std::string_view text) {
  const std::size_t end = text.find_last_of("0123456789.");
  if (end == std::string_view::npos) return std::nullopt;
  NumberWithUnit result{text.substr(0, end + 1), 0, 0};
  std::string_view name = text.substr(end + 1);
  if (name.starts_with(' ')) name.remove_prefix(1);  // "2 s": durations are shown with a blank
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == kUnits.end()) return std::nullopt;
  result.unit_ns = unit->nanoseconds;
  const char* const last = result.digits.data() + result.digits.size();
  const auto [rest, code] = std::from_chars(result.digits.data(), last, result.value);
  if (code != std::errc() || rest != last) return std::nullopt;
  return result;
}

// A duration written as text or as a number of seconds; empty if `node` is neither.
std::optional<WrittenDuration> duration_of(const Node& node) {
  if (node.is_text()) return parse_duration(node.text);
  if (node.kind == Node::Kind::kInteger) {
    if (node.integer < 0 || node.integer > kLongestSeconds) return std::nullopt;
    return WrittenDuration{Duration::seconds(node.integer), node.real};
  }
  if (node.kind == Node::Kind::kReal) return from_seconds(node.real);
  return std::nullopt;
}

// A wrong value for messages: as the user wrote it, if that is short.
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
    if (node_.is_text() && !rules_.also_word.empty() && node_.text == rules_.also_word) {
      value_.is_else_word = true;  // until the word's meaning is looked up
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
      case ValueKind::kAmount: {
        const auto amount = amount_of(node_);
        if (!amount) return fail();
        value_.number = *amount;
        return true;
      }
      case ValueKind::kCountDistribution:
        value_.is_constant = !node_.is_table();
        return value_.is_constant ? read_count() : read_one_distribution();
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

  // Reports a value that is no duration; a length of time that is too short or too long is called
  // so.
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

  // The text of a value: text itself, or an edit as typed, where `2.0` may mean text; null for
  // others.
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
    const bool is_name = rules_.quantity == Quantity::kName && !written->empty();
    if (is_name && !can_be_name(*written)) return fail();
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
    const bool is_file =
        member.name == "file" || member.name == "buckets" || member.name == "before";
    if (is_file && member.value.is_text()) {
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
           (range.below_max   ? " and below "
            : range.above_min ? ", at most "
                              : " to ") +
           plain(range.max);
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
      result = rules.quantity == Quantity::kName
                   ? "a name in quotes, not only blanks and without control characters"
                   : "text in quotes";
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
    case ValueKind::kAmount:
      result = "a number, or a duration such as \"250ms\"";
      break;
    case ValueKind::kCountDistribution:
      result = "a whole number or { distribution = ..., ... }";
      break;
  }
  const Range& range = rules.range;
  std::string limits = to_string(range);
  if (rules.kind == ValueKind::kCount && std::isfinite(range.min) && !std::isfinite(range.max)) {
    // The limit is as far as integers of TOML go.
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

std::optional<double> amount_of(const Node& node) {
  if (node.is_text()) {
    const auto written = duration_of(node);
    return written ? std::optional(written->seconds) : std::nullopt;
  }
  const bool number = node.kind == Node::Kind::kInteger || node.kind == Node::Kind::kReal;
  return number && std::isfinite(node.real) ? std::optional(node.real) : std::nullopt;
}

namespace {

// Times of requests from this on, s, are rarely written as a bare number.
constexpr double kLongRequestSeconds = 100;
// Factors from this on may be percentages.
constexpr double kLargeFactor = 10;

// The first number without a unit that is long for a part of a request: the value itself, an
// element of a list, or a duration among the parameters of a distribution; null if there is none.
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
  const double share = std::round(value * 1e10) / 1e12;  // avoids 0.9990000000000001 for 0.999
  return "; did you mean " + plain(share) + " (" + plain(value) + " %)?";
}

std::string wrong_share(std::string_view metric, double bound) {
  if (bound >= 0 && bound <= 1) return "";
  return std::string(metric) + " is a share; expected a number from 0 to 1" + percent_hint(bound);
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
    case ValueKind::kCountDistribution:
      use_file_names_only(copy);
      return render(copy);
    case ValueKind::kDuration:
    case ValueKind::kNumber:
    case ValueKind::kCount:
    case ValueKind::kBoolean:
    case ValueKind::kAmount:
      break;
  }
  return render(node);
}

std::string to_text(Duration duration) {
  const std::int64_t ns = duration.count();
  for (std::string_view name : {"s", "ms", "us"}) {  // minutes and hours compare badly
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

namespace {

/// The value of a number, or of a duration in seconds; empty for other values.
std::optional<double> quantity_of(std::string_view toml) {
  if (toml.size() >= 2 && toml.front() == '"' && toml.back() == '"') {
    const auto parsed = parse_duration(toml.substr(1, toml.size() - 2));
    return parsed ? std::optional(parsed->duration.in_seconds()) : std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(toml.data(), toml.data() + toml.size(), value);
  return error == std::errc() && end == toml.data() + toml.size() ? std::optional(value)
                                                                  : std::nullopt;
}

}  // namespace

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto x = quantity_of(a), y = quantity_of(b);
  return x && y && *x == *y;
}

// --- Distributions -------------------------------------------------------------------------------

// One table of the forms of distributions serves reading, messages and the list for users.

namespace {

enum class ParameterKind : std::uint8_t { kDuration, kNumber, kFile };

struct Parameter {
  std::string_view name;
  ParameterKind kind;
};

constexpr Parameter kParameters[] = {
    {"mean", ParameterKind::kDuration},  {"min", ParameterKind::kDuration},
    {"max", ParameterKind::kDuration},   {"mean1", ParameterKind::kDuration},
    {"mean2", ParameterKind::kDuration}, {"sd", ParameterKind::kDuration},
    {"cv", ParameterKind::kNumber},      {"p", ParameterKind::kNumber},
    {"shape", ParameterKind::kNumber},   {"scale", ParameterKind::kDuration},
    {"file", ParameterKind::kFile},      {"factor", ParameterKind::kNumber},
};

// The arguments of a distribution, in the order of the form's parameters; durations in seconds.
struct Arguments {
  std::vector<double> numbers;
  WeightedValues table;
};

struct Form {
  DistributionForm about;
  Distribution (*make)(const Arguments& a);
};

// The number of phases of an Erlang distribution, from its shape. Throws std::invalid_argument if
// it is not a whole number in range.
int whole_shape(double shape) {
  constexpr double kMost = Distribution::kMaxErlangShape;
  if (!(shape >= 1 && shape <= kMost) || shape != static_cast<double>(static_cast<int>(shape))) {
    throw std::invalid_argument("shape must be a whole number from 1 to " +
                                std::to_string(Distribution::kMaxErlangShape));
  }
  return static_cast<int>(shape);
}

double positive_factor(double factor) {
  if (!(factor > 0)) throw std::invalid_argument("factor must be positive");
  return factor;
}

constexpr Form kForms[] = {
    {{"constant", "mean", "always the same"},
     [](const Arguments& a) {
       return Distribution::constant(Duration::from_seconds(a.numbers[0]));
     }},
    {{"exponential", "mean", "memoryless"},
     [](const Arguments& a) { return Distribution::exponential(a.numbers[0]); }},
    {{"uniform", "min max", "equally likely between min and max"},
     [](const Arguments& a) { return Distribution::uniform(a.numbers[0], a.numbers[1]); }},
    {{"erlang", "mean shape", "sum of `shape` exponential phases"},
     [](const Arguments& a) {
       return Distribution::erlang(a.numbers[0], whole_shape(a.numbers[1]));
     }},
    {{"gamma", "mean shape", "cv = 1 / sqrt(shape); more variable than exponential for shape < 1"},
     [](const Arguments& a) { return Distribution::gamma(a.numbers[0], a.numbers[1]); }},
    {{"gamma", "shape scale", "the same with mean shape x scale; scale is a duration"},
     [](const Arguments& a) { return Distribution::gamma_scaled(a.numbers[0], a.numbers[1]); }},
    {{"hyperexponential", "mean cv", "two exponential branches with balanced means; cv >= 1"},
     [](const Arguments& a) {
       return Distribution::hyperexponential_cv(a.numbers[0], a.numbers[1]);
     }},
    {{"hyperexponential", "p mean1 mean2", "exponential with mean1 (probability p) or mean2"},
     [](const Arguments& a) {
       return Distribution::hyperexponential(a.numbers[0], a.numbers[1], a.numbers[2]);
     }},
    {{"hyperexponential", "p mean1 mean2 factor", "the same with both means multiplied by factor"},
     [](const Arguments& a) {
       const double factor = positive_factor(a.numbers[3]);
       return Distribution::hyperexponential(a.numbers[0], factor * a.numbers[1],
                                             factor * a.numbers[2]);
     }},
    {{"lognormal", "mean cv", "logarithm normally distributed; cv = standard deviation / mean"},
     [](const Arguments& a) { return Distribution::lognormal(a.numbers[0], a.numbers[1]); }},
    {{"normal", "mean sd", "normal, folded at 0; sd is a duration"},
     [](const Arguments& a) { return Distribution::normal(a.numbers[0], a.numbers[1]); }},
    {{"pareto", "mean shape", "power-law tail; shape > 1"},
     [](const Arguments& a) { return Distribution::pareto(a.numbers[0], a.numbers[1]); }},
    {{"weibull", "mean shape", "heavier tail than exponential for shape < 1, lighter for > 1"},
     [](const Arguments& a) { return Distribution::weibull(a.numbers[0], a.numbers[1]); }},
    {{"empirical", "file", "values of a CSV file (columns value_s,weight) by weight"},
     [](const Arguments& a) { return Distribution::empirical(a.table.values_s, a.table.weights); }},
    {{"empirical", "file factor", "the same with each value multiplied by factor"},
     [](const Arguments& a) {
       std::vector<double> values = a.table.values_s;
       for (double& v : values) v *= positive_factor(a.numbers[0]);
       return Distribution::empirical(std::move(values), a.table.weights);
     }},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class DistributionReader {
 public:
  DistributionReader(const std::string& path, const Node& table, CsvFiles& files)
      : path_(path), table_(table), files_(files), problems_(files.problems()) {}

  std::optional<Distribution> read() {
    if (!choose_form()) return std::nullopt;
    Arguments arguments;
    bool good = true;
    for (const std::string_view name : words_of(form_->about.parameters)) {
      const Member* member = table_.find(name);
      if (member == nullptr) {
        problems_.add(table_.place, path_ + "." + std::string(name) + " is missing; " +
                                        std::string(form_->about.name) + " needs " +
                                        joined(words_of(form_->about.parameters)));
        good = false;
      } else if (!read_parameter(name, member->value, arguments)) {
        good = false;
      }
    }
    if (!good) return std::nullopt;
    try {
      return form_->make(arguments);
    } catch (const std::invalid_argument& e) {
      problems_.add(table_.place, path_ + ": " + std::string(form_->about.name) + ": " + e.what());
      return std::nullopt;
    }
  }

 private:
  // Finds the form that has the given parameters; reports names that no form has.
  bool choose_form() {
    const Member* kind = table_.find("distribution");
    if (kind == nullptr) {
      problems_.add(table_.place, path_ + ".distribution is missing; expected one of " + names());
      return false;
    }
    const std::string name = kind->value.is_text() ? kind->value.text : render(kind->value);
    std::vector<std::string_view> parameters;
    for (const Form& form : kForms) {
      if (form.about.name != name) continue;
      if (form_ == nullptr || (fits(form) && !fits(*form_))) form_ = &form;
      for (const std::string_view p : words_of(form.about.parameters)) parameters.push_back(p);
    }
    if (form_ == nullptr) {
      std::vector<std::string_view> known;
      for (const Form& form : kForms) known.push_back(form.about.name);
      const std::string_view near = nearest(name, known);
      std::string message =
          path_ + ".distribution = " + in_quotes(name) + " is unknown; expected one of " + names();
      if (!near.empty()) message += "; did you mean \"" + std::string(near) + "\"?";
      problems_.add(kind->value.place, std::move(message));
      return false;
    }
    return only_known(parameters);
  }

  bool only_known(const std::vector<std::string_view>& parameters) {
    bool good = true;
    for (const Member& member : table_.members) {
      if (member.name == "distribution") continue;
      if (fits(*form_) ? contains(words_of(form_->about.parameters), member.name)
                       : contains(parameters, member.name)) {
        continue;
      }
      good = false;
      problems_.add(member.place, path_ + ": " + std::string(form_->about.name) +
                                      " has no parameter " + in_quotes(member.name) + "; " +
                                      suggestion(member.name, parameters, "its parameters are"));
    }
    if (good && !fits(*form_)) {
      problems_.add(table_.place, path_ + ": parameters of different forms; " +
                                      std::string(form_->about.name) + " takes " + forms());
      good = false;
    }
    return good;
  }

  // Whether every given member is a parameter of the form.
  bool fits(const Form& form) const {
    const auto parameters = words_of(form.about.parameters);
    return std::all_of(table_.members.begin(), table_.members.end(), [&](const Member& m) {
      return m.name == "distribution" || contains(parameters, m.name);
    });
  }

  bool read_parameter(std::string_view name, const Node& node, Arguments& arguments) {
    const auto* parameter = std::find_if(std::begin(kParameters), std::end(kParameters),
                                         [&](const Parameter& p) { return p.name == name; });
    ValueRules rules;
    switch (parameter->kind) {
      case ParameterKind::kDuration:
        rules.kind = ValueKind::kDuration;
        break;
      case ParameterKind::kNumber:
        rules.kind = ValueKind::kNumber;
        break;
      case ParameterKind::kFile:
        rules.kind = ValueKind::kFile;
        break;
    }
    const std::string path = path_ + "." + std::string(name);
    const auto value = read_value(rules, path, node, files_);
    if (!value) return false;
    if (rules.kind != ValueKind::kFile) {
      arguments.numbers.push_back(value->number);
      return true;
    }
    const CsvFile* file = files_.open(value->text, node.place);
    if (file == nullptr) return false;
    auto table = read_weighted_values(*file, files_);
    if (table) arguments.table = *std::move(table);
    return table.has_value();
  }

  static std::string names() {
    std::vector<std::string_view> result;
    for (const Form& form : kForms) {
      if (!contains(result, form.about.name)) result.push_back(form.about.name);
    }
    return joined(result);
  }

  std::string forms() const {
    std::string result;
    for (const Form& form : kForms) {
      if (form.about.name != form_->about.name) continue;
      result += (result.empty() ? "" : " or ") + joined(words_of(form.about.parameters));
    }
    return result;
  }

  const std::string& path_;
  const Node& table_;
  CsvFiles& files_;
  Problems& problems_;
  const Form* form_ = nullptr;
};

}  // namespace

const std::vector<DistributionForm>& distribution_forms() {
  static const std::vector<DistributionForm> forms = [] {
    std::vector<DistributionForm> result;
    for (const Form& form : kForms) result.push_back(form.about);
    return result;
  }();
  return forms;
}

std::vector<std::string_view> distribution_member_names() {
  std::vector<std::string_view> result{"distribution"};
  for (const Parameter& parameter : kParameters) result.push_back(parameter.name);
  for (const std::string_view name : bucket_member_names()) {
    if (!contains(result, name)) result.push_back(name);
  }
  return result;
}

bool is_duration_parameter(std::string_view name) {
  return std::ranges::any_of(kParameters, [&](const Parameter& p) {
    return p.name == name && p.kind == ParameterKind::kDuration;
  });
}

std::optional<Distribution> read_distribution(const std::string& path, const Node& node,
                                              CsvFiles& files) {
  if (has_buckets(node)) return read_histogram(path, node, files);
  if (has_percentiles(node)) return read_percentiles(path, node, files);
  if (node.is_table()) return DistributionReader(path, node, files).read();
  ValueRules rules;
  rules.kind = ValueKind::kDuration;
  const auto value = read_value(rules, path, node, files);
  if (!value) return std::nullopt;
  return Distribution::constant(value->duration);
}

// --- Ranges of --vary ----------------------------------------------------------------------------

// Ranges are computed in decimal arithmetic: a number is a whole multiple of a power of ten (and of
// a unit of time), so 0.1:0.9:0.1 has the nine values that a reader expects.

namespace {

constexpr int kMaxDecimals = 15;
constexpr std::int64_t kMaxDigits = 1'000'000'000'000'000'000;  // 10^18: sums of two still fit

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number: digits * 10^-decimals, in `unit`.
struct Decimal {
  std::int64_t digits = 0;
  int decimals = 0;
  bool whole = true;  ///< written without a point and without an exponent
  std::string unit;   ///< "" for a plain number
};

/// The product of two numbers; empty if it has more than 18 digits.
std::optional<std::int64_t> times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  if (product > kMaxDigits || product < -kMaxDigits) return std::nullopt;
  return product;
}

std::optional<std::int64_t> times_power_of_ten(std::int64_t value, int power) {
  std::optional<std::int64_t> result = value;
  for (int i = 0; i < power && result && *result != 0; ++i) result = times(*result, 10);
  return result;
}

std::int64_t nanoseconds_of_unit(const std::string& unit) {
  const auto one = parse_duration("1" + unit);
  return one ? one->duration.count() : 0;
}

/// The result of reading a number; tells a text that is no number from a number of too many digits.
struct Parsed {
  bool is_number = false;
  std::optional<Decimal> decimal;
};

// Reads [-] digits [. digits] [e [+-] digits] [unit].
class DecimalReader {
 public:
  explicit DecimalReader(std::string_view text) : rest_(text) {}

  Parsed read() {
    const bool negative = take('-');
    if (!negative) take('+');
    take_digits();
    if (take('.')) {
      decimal_.whole = false;
      const std::size_t before = count_;
      take_digits();
      if (count_ == before) return {};
      decimal_.decimals = static_cast<int>(std::min<std::size_t>(count_ - before, 1000));
    }
    if (count_ == 0) return {};
    if (!take_exponent()) return {};
    decimal_.unit = rest_;
    if (!rest_.empty() && nanoseconds_of_unit(decimal_.unit) == 0) return {};
    if (negative) decimal_.digits = -decimal_.digits;
    return {true, normal() ? std::optional(decimal_) : std::nullopt};
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void take_digits() {
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1), ++count_) {
      const auto next = times(decimal_.digits, 10);
      too_long_ = too_long_ || !next;
      decimal_.digits = next.value_or(0) + (rest_.front() - '0');
    }
  }

  // Takes an exponent, which must have a digit; the "e" of "5e" is not one.
  bool take_exponent() {
    if (!rest_.starts_with('e') && !rest_.starts_with('E')) return true;
    rest_.remove_prefix(1);
    take('+');
    int exponent = 0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), exponent);
    if (code == std::errc::result_out_of_range) too_long_ = true;
    if (end == rest_.data()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    decimal_.whole = false;
    decimal_.decimals -= std::clamp(exponent, -1000, 1000);
    return true;
  }

  // Removes zeros at the end and negative decimals; false if the number has too many digits.
  bool normal() {
    if (too_long_) return false;
    while (decimal_.decimals > 0 && decimal_.digits % 10 == 0) {
      decimal_.digits /= 10;
      --decimal_.decimals;
      if (decimal_.digits == 0) decimal_.decimals = 0;
    }
    if (decimal_.decimals < 0) {
      const auto scaled = times_power_of_ten(decimal_.digits, -decimal_.decimals);
      if (!scaled) return false;
      decimal_.digits = *scaled;
      decimal_.decimals = 0;
    }
    return decimal_.decimals <= kMaxDecimals;
  }

  std::string_view rest_;
  Decimal decimal_;
  std::size_t count_ = 0;
  bool too_long_ = false;
};

std::string range_value_text(std::int64_t digits, int decimals, const std::string& unit) {
  std::string text = std::to_string(std::abs(digits));
  if (decimals > 0) {
    const auto places = static_cast<std::size_t>(decimals);
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    text.insert(text.size() - places, ".");
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return (digits < 0 ? "-" : "") + text + unit;
}

RangeResult failure(std::size_t part, std::string message) {
  RangeResult result;
  result.part = part;
  result.error = std::move(message);
  return result;
}

/// The digits of `value` in `unit` with `decimals` decimals; empty if they are too many.
std::optional<std::int64_t> scaled(const Decimal& value, int decimals, const std::string& unit) {
  auto digits = times_power_of_ten(value.digits, decimals - value.decimals);
  if (!digits || value.unit.empty()) return digits;
  return times(*digits, nanoseconds_of_unit(value.unit) / nanoseconds_of_unit(unit));
}

/// The smallest unit of time among the values; "" if none has a unit.
std::string smallest_unit(const std::vector<Decimal>& values) {
  std::string unit;
  for (const Decimal& v : values) {
    if (v.unit.empty()) continue;
    if (unit.empty() || nanoseconds_of_unit(v.unit) < nanoseconds_of_unit(unit)) unit = v.unit;
  }
  return unit;
}

/// Reads the numbers of a range, which must all be durations or all plain, except for zero; returns
/// what is wrong, if anything.
std::optional<RangeResult> read_numbers(const std::vector<std::string_view>& texts,
                                        std::vector<Decimal>& numbers) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Parsed parsed = DecimalReader(texts[i]).read();
    if (!parsed.is_number) {
      return failure(i, in_quotes(texts[i]) + " is not a number; expected LO:HI:STEP or LO:HI:*N");
    }
    if (!parsed.decimal) {
      return failure(i, in_quotes(texts[i]) +
                            " has too many digits; expected at most 15 decimals and 18 digits");
    }
    numbers.push_back(*parsed.decimal);
  }
  const std::string unit = smallest_unit(numbers);
  for (std::size_t i = 0; i < numbers.size() && !unit.empty(); ++i) {
    if (numbers[i].unit.empty() && numbers[i].digits != 0) {
      return failure(i, in_quotes(texts[i]) + " has no unit; expected a duration such as \"" +
                            std::string(texts[i]) + unit + "\"");
    }
  }
  return std::nullopt;
}

RangeResult linear(const std::vector<std::string_view>& texts) {
  std::vector<Decimal> numbers;
  if (auto failed = read_numbers(texts, numbers)) return *failed;
  const std::string unit = smallest_unit(numbers);
  int decimals = 0;
  for (const Decimal& n : numbers) decimals = std::max(decimals, n.decimals);
  std::int64_t value[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto digits = scaled(numbers[i], decimals, unit);
    if (!digits) return failure(i, "the numbers of the range differ too much in size");
    value[i] = *digits;
  }
  const auto [low, high, step] = value;
  if (step == 0) return failure(2, "a step of 0 leads nowhere; expected LO:HI:STEP");
  if ((high > low && step < 0) || (high < low && step > 0)) {
    return failure(2, "the step leads away from " + std::string(texts[1]) + "; expected " +
                          (step < 0 ? "a positive" : "a negative") + " one");
  }
  const std::int64_t steps = (high - low) / step;
  if (steps >= static_cast<std::int64_t>(kMaxRangeValues)) {
    return failure(2, fmt::format("the range has {} values; at most {} are possible", steps + 1,
                                  kMaxRangeValues));
  }
  RangeResult result;
  for (std::int64_t i = 0; i <= steps; ++i) {
    result.values.push_back(range_value_text(low + i * step, decimals, unit));
  }
  return result;
}

double to_double(const Decimal& number) {
  double power = 1;
  for (int i = 0; i < number.decimals; ++i) power *= 10;  // exact up to 10^22
  return static_cast<double>(number.digits) / power;
}

RangeResult log_spaced(std::string_view low_text, std::string_view high_text,
                       std::string_view count_text) {
  std::size_t count = 0;
  const auto [end, code] =
      std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
  if (code != std::errc() || end != count_text.data() + count_text.size() || count < 2 ||
      count > kMaxRangeValues) {
    return failure(2, fmt::format("\"*{}\" is wrong; expected * and the number of values, from 2 "
                                  "to {}",
                                  count_text, kMaxRangeValues));
  }
  std::vector<Decimal> numbers;
  if (auto failed = read_numbers({low_text, high_text}, numbers)) return *failed;
  for (std::size_t i = 0; i < 2; ++i) {
    if (numbers[i].digits <= 0) {
      return failure(i, "a log-spaced range needs ends above 0");
    }
  }
  const std::string unit = smallest_unit(numbers);
  double value[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    value[i] = to_double(numbers[i]);
    if (unit.empty()) continue;
    value[i] *=
        static_cast<double>(nanoseconds_of_unit(numbers[i].unit) / nanoseconds_of_unit(unit));
  }
  const bool whole = numbers[0].whole && numbers[1].whole && unit.empty();
  const double from = kernel::log(value[0]);
  const double to = kernel::log(value[1]);
  RangeResult result;
  result.values.emplace_back(low_text);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    const double x = kernel::exp(from + share * (to - from));
    result.values.push_back(whole ? fmt::format("{:.0f}", x) : fmt::format("{:.6g}{}", x, unit));
    if (result.values.back() == result.values[result.values.size() - 2]) break;
  }
  result.values.emplace_back(high_text);
  const auto same = std::adjacent_find(result.values.begin(), result.values.end());
  if (same != result.values.end()) {
    return failure(
        2, fmt::format("the range has no {} different values: {} comes twice{}", count, *same,
                       whole ? "; write 1.0 for 1 if they need not be whole" : ""));
  }
  return result;
}

}  // namespace

bool is_range_end(std::string_view text) { return DecimalReader(text).read().is_number; }

RangeResult range_values(std::string_view low, std::string_view high, std::string_view step) {
  if (step.starts_with('*')) return log_spaced(low, high, step.substr(1));
  return linear({low, high, step});
}

}  // namespace retrysim::scenario
