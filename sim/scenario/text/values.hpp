// Typed values: what a key may hold, and how text becomes a number, a duration or a distribution.
// Defaults and users' values pass through the same functions.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/time.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

enum class ValueKind : std::uint8_t {
  kDuration,  ///< "250ms", or a number of seconds
  kNumber,    ///< a finite number
  kCount,     ///< a whole number
  kBoolean,
  kWord,  ///< one of the words of ValueRules::words
  kText,
  kNames,              ///< a text, or a list of texts
  kFile,               ///< the name of a CSV file
  kDistribution,       ///< a duration, or { distribution = ..., ... }
  kDistributionList,   ///< [ ... ] of distributions, at least one
  kAmount,             ///< a number or a duration, whichever another key takes
  kCountDistribution,  ///< a whole number, or { distribution = ..., ... } of a number
};

/// The range of numbers that a key accepts; durations in seconds.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  ///< `min` itself is excluded
  bool below_max = false;  ///< `max` itself is excluded; only with `above_min`
};
inline constexpr Range kNotNegative{.min = 0};
inline constexpr Range kPositive{.min = 0, .above_min = true};
inline constexpr Range kShare{.min = 0, .max = 1};

/// The range in words, such as "> 0", ">= 1" or "from 0 to 1"; empty if it has no limits.
std::string to_string(const Range& range);

/// What kind of quantity a value is: unusual values, which mostly have the wrong unit, are noted
/// (`likely_slip`).
enum class Quantity : std::uint8_t {
  kOther,
  kFactor,       ///< a factor, where 1 changes nothing; some write 50 for 50 %
  kName,         ///< text that tells tables apart; not empty
  kRequestTime,  ///< the time of a request or a part of one; some write 2000 for 2000 ms
};

/// A value that stands for the SDK's own default.
inline constexpr std::string_view kAsTheSdk = "sdk";

/// The requirements on a value.
struct ValueRules {
  ValueKind kind = ValueKind::kText;
  Range range;
  std::string_view words;           ///< kWord: "fifo|lifo"
  std::string_view else_word;       ///< a word accepted instead, such as "unlimited"; may be empty
  std::string_view unit;            ///< "s", "1/s", "tokens"; empty: none
  std::string_view also_word = {};  ///< a second accepted word; may be empty
  Quantity quantity = Quantity::kOther;

  /// These rules, with `word` as the accepted word.
  constexpr ValueRules or_word(std::string_view word) const {
    ValueRules rules = *this;
    rules.else_word = word;
    return rules;
  }
  /// These rules, with `word` as the second accepted word.
  constexpr ValueRules or_also_word(std::string_view word) const {
    ValueRules rules = *this;
    rules.also_word = word;
    return rules;
  }
  /// These rules, with "sdk" as the second accepted word.
  constexpr ValueRules or_as_the_sdk() const { return or_also_word(kAsTheSdk); }
  /// These rules for a quantity of kind `its_kind`.
  constexpr ValueRules of(Quantity its_kind) const {
    ValueRules rules = *this;
    rules.quantity = its_kind;
    return rules;
  }
  /// These rules for a number in a unit.
  constexpr ValueRules in(std::string_view its_unit) const {
    ValueRules rules = *this;
    rules.unit = its_unit;
    return rules;
  }
};

/// The values that `rules` accept, in words, such as "a number from 0 to 1", for messages and
/// lists.
std::string expected(const ValueRules& rules);

/// A value that has been read. Which member holds it depends on the kind.
struct Value {
  Place place;
  bool is_else_word = false;
  Duration duration;
  double number = 0;  ///< kNumber; kDuration: unrounded seconds; kCount: the count
  std::int64_t count = 0;
  bool boolean = false;  ///< kBoolean; kWord: whether it is the second word
  std::size_t word = 0;  ///< index into ValueRules::words
  std::string text;      ///< kText, kFile, kWord: the text; kNames: the only name
  std::vector<std::string> names;
  Distribution distribution;
  bool is_constant = false;  ///< kCountDistribution: `count` is the value, not `distribution`
  std::vector<Distribution> list;
};

/// Reads `node`, the value of the key `path`; if it breaks the rules, reports what is wrong and
/// returns nothing. `files` reads the files of empirical distributions.
std::optional<Value> read_value(const ValueRules& rules, const std::string& path, const Node& node,
                                CsvFiles& files);

/// The value as a number, or in seconds if it is a duration; empty if it is neither.
std::optional<double> amount_of(const Node& node);

/// A hint at what the user may have meant instead, with the present meaning: "= 2000 is 2000 s; did
/// you mean "2000ms"?". Empty if there is no doubt. `node` has been read by `rules`.
std::string likely_slip(const ValueRules& rules, const Node& node);

/// A question to end a message with, such as "; did you mean 0.5 (50 %)?", if `value` is above 1
/// and at most 100; else empty.
std::string percent_hint(double value);
/// What is wrong with `bound` as a limit of `metric`, which is a share: "success_rate is a share;
/// expected a number from 0 to 1; did you mean 0.99 (99 %)?". Empty if nothing is.
std::string wrong_share(std::string_view metric, double bound);

/// The value as a resolved scenario writes it: files by their file name alone.
std::string render_value(const ValueRules& rules, const Node& node);

/// The words of "a|b|c".
std::vector<std::string_view> split_words(std::string_view words);

/// A duration as text: an exact number of the largest fitting unit, such as "1500ms".
std::string to_text(Duration duration);

/// A length of time as written: rounded to nanoseconds, and in seconds without that rounding.
struct WrittenDuration {
  Duration duration;
  double seconds = 0;
};

/// Reads a duration, such as "250ms", "1.5 s" or "2min" (ns us ms s min h); empty if malformed,
/// negative or above 285 years (9e9 s).
std::optional<WrittenDuration> parse_duration(std::string_view text);

/// One way of writing a distribution.
struct DistributionForm {
  std::string_view name;
  std::string_view parameters;  ///< names of the parameters, such as "mean cv"
  std::string_view meaning;
};

/// All forms; a distribution with two sets of parameters has two.
const std::vector<DistributionForm>& distribution_forms();

/// Names of all parameters of any distribution, and `distribution` itself.
std::vector<std::string_view> distribution_member_names();

/// Whether two values, as TOML, mean the same: "1min", "60s" and 60 do.
bool same_value(std::string_view a, std::string_view b);

/// Whether a parameter of distributions is a length of time.
bool is_duration_parameter(std::string_view name);

/// Reads a distribution; reports mistakes.
std::optional<Distribution> read_distribution(const std::string& path, const Node& node,
                                              CsvFiles& files);

// --- Ranges of --vary ----------------------------------------------------------------------------

// LO:HI:STEP and LO:HI:*N as lists of values.

/// The most values that one range may have.
inline constexpr std::size_t kMaxRangeValues = 1'000'000;

/// The values of a range as TOML texts, or an error and the part of the range that is wrong.
struct RangeResult {
  std::vector<std::string> values;
  std::string error;     ///< empty: none
  std::size_t part = 0;  ///< the wrong part: 0 LO, 1 HI, 2 STEP or *N
};

/// Whether `text` is a number or a duration with a unit, so that "LO:" begins a range.
bool is_range_end(std::string_view text);

/// The values of the range; see parse_variation for its rules. `step` starts with '*' if the range
/// is log-spaced. Numbers have at most 15 decimals and 18 digits.
RangeResult range_values(std::string_view low, std::string_view high, std::string_view step);

}  // namespace retrysim::scenario
