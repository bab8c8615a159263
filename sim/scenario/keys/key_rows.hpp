// The words in which the rows of the table of keys are written: ranges, kinds of values, and
// `into`, which stores a value in a member of a struct.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/words.hpp>

#include "scenario/keys/keys.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace retrysim::scenario {

inline constexpr Range kAtLeastOne{.min = 1};
inline constexpr Range kPositiveShare{.min = 0, .max = 1, .above_min = true};
// Run lengths go up to thirty years: all sums of such times fit into 64 bits of nanoseconds.
inline constexpr Range kRunLength{.min = 0, .max = kLongestDuration.in_seconds()};
inline constexpr Range kPositiveRunLength{
    .min = 0, .max = kLongestDuration.in_seconds(), .above_min = true};
// Limit for counts: enough for any study, and few enough to have the memory for them.
inline constexpr Range kUpToBillion{.min = 1, .max = 1e9};
inline constexpr Range kUpToMillion{.min = 1, .max = 1e6};

constexpr ValueRules duration(Range range) {
  return {.kind = ValueKind::kDuration, .range = range, .words = {}, .else_word = {}, .unit = "s"};
}
/// A duration that is the time of a request or a part of one.
constexpr ValueRules request_time(Range range) {
  return duration(range).of(Quantity::kRequestTime);
}
constexpr ValueRules rules_of(ValueKind kind, Range range = {}) {
  return {.kind = kind, .range = range, .words = {}, .else_word = {}, .unit = {}};
}
// Largest number accepted: more than any scenario needs, and small enough that products of some
// such numbers stay finite.
inline constexpr double kLargestNumber = 1e12;
constexpr ValueRules number(Range range = {}) {
  if (range.min >= 0) range.max = std::min(range.max, kLargestNumber);
  return rules_of(ValueKind::kNumber, range);
}
/// A factor on something that a fault or surge changes.
inline constexpr Range kFactorRange{.min = 0, .max = 1e6};
constexpr ValueRules factor() { return number(kFactorRange).of(Quantity::kFactor); }
constexpr ValueRules count(Range range) { return rules_of(ValueKind::kCount, range); }
constexpr ValueRules text() { return rules_of(ValueKind::kText); }
constexpr ValueRules names() { return rules_of(ValueKind::kNames); }
constexpr ValueRules file() { return rules_of(ValueKind::kFile); }
constexpr ValueRules amount() { return rules_of(ValueKind::kAmount); }
constexpr ValueRules boolean() { return rules_of(ValueKind::kBoolean); }
constexpr ValueRules distribution() { return rules_of(ValueKind::kDistribution).in("s"); }
constexpr ValueRules count_distribution(Range range) {
  return rules_of(ValueKind::kCountDistribution, range);
}
constexpr ValueRules distributions() { return rules_of(ValueKind::kDistributionList).in("s"); }
/// A key that takes one of `words`; if empty, one of the words of the enumeration that the key is
/// stored in.
constexpr ValueRules word(std::string_view words = {}) {
  ValueRules rules = rules_of(ValueKind::kWord);
  rules.words = words;
  return rules;
}

/// The words of an enumeration up to the one for `last`.
template <HasWords Enum>
constexpr std::string_view words_up_to(Enum last) {
  const std::string_view last_word = name(last);
  const auto end = last_word.data() + last_word.size();
  return kWords<Enum>.substr(0, static_cast<std::size_t>(end - kWords<Enum>.data()));
}

/// Stores a value in a member, according to the member's type. An accepted word such as "none" or
/// "unlimited" means the longest time, the largest count, or the number zero.
template <class T>
void store_in(T& to, const Value& v) {
  if constexpr (std::is_same_v<T, Duration>) {
    to = v.is_else_word ? Duration::max() : v.duration;
  } else if constexpr (std::is_same_v<T, Time>) {
    to = Time::zero() + v.duration;
  } else if constexpr (std::is_same_v<T, bool>) {
    to = v.boolean;
  } else if constexpr (std::is_same_v<T, std::string>) {
    to = v.text;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    to = v.names;
  } else if constexpr (std::is_same_v<T, Distribution>) {
    to = v.distribution;
  } else if constexpr (std::is_same_v<T, std::vector<Distribution>>) {
    to = v.list;
  } else if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(v.word);
  } else if constexpr (std::is_integral_v<T>) {
    to = v.is_else_word ? std::numeric_limits<T>::max() : static_cast<T>(v.count);
  } else if constexpr (std::is_assignable_v<T&, const Value&>) {
    to = v;
  } else {
    to = v.is_else_word ? 0 : v.number;
  }
}

/// The value of a member as TOML: the reverse of `store_in`.
template <class T>
std::string toml_of(const T& value, std::string_view else_word) {
  if constexpr (std::is_same_v<T, Duration>) {
    return render_text(value == Duration::max() ? std::string(else_word) : to_text(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return render_text(name(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return render_number(value);
  } else if (!else_word.empty() && value == std::numeric_limits<T>::max()) {
    return render_text(else_word);
  } else {
    return std::to_string(value);
  }
}

template <class Struct, class T>
Struct struct_of(T Struct::*);

/// Whether a part of a scenario has any effect.
template <class Part>
bool is_on(const Part& part) {
  if constexpr (requires { part.in_use(); }) {
    return part.in_use();
  } else if constexpr (requires { part.enabled(); }) {
    return part.enabled();
  } else if constexpr (requires { part.enabled; }) {
    return part.enabled;
  } else {
    return true;
  }
}

/// Whether all parts on the way to a value have an effect (`is_on`).
template <auto kFirst, auto... kRest, class Whole>
bool parts_are_on(const Whole& whole) {
  if constexpr (sizeof...(kRest) == 0) {
    return true;  // nothing is left but the value
  } else {
    const auto& part = whole.*kFirst;
    return is_on(part) && parts_are_on<kRest...>(part);
  }
}

/// Whether a value equals that of a struct that nobody has filled in, whose distributions are
/// constant.
template <class T>
bool is_untouched(const T& value, const T& untouched) {
  if constexpr (std::is_same_v<T, Distribution>) {
    return value.is_constant() && value.constant_value() == untouched.constant_value();
  } else if constexpr (std::is_same_v<T, std::vector<Distribution>>) {
    return value.empty();
  } else {
    return value == untouched;
  }
}

/// Whether a struct exists only while a scenario is read.
template <class Struct>
inline constexpr bool kIsInput =
    std::is_same_v<Struct, ArrivalInputs> || std::is_same_v<Struct, PresetChoice> ||
    std::is_same_v<Struct, ServiceName> || std::is_same_v<Struct, ServiceNames> ||
    std::is_same_v<Struct, ErrorTexts>;

/// A struct as it is before any key has been stored in it. One of each kind: with one for each key
/// the program would begin with hundreds of kilobytes of them.
template <class Struct>
const Struct& untouched() {
  static const Struct all_defaults{};
  return all_defaults;
}

/// Access to the member at a path of member pointers, the first of which belongs to a slot's
/// struct: into<&ServiceSpec::queue, &QueueSpec::capacity>. Retry rules can also be read back.
template <auto kFirst, auto... kRest>
inline constexpr Access into = [] {
  using Struct = decltype(struct_of(kFirst));
  using T = std::remove_cvref_t<decltype(((std::declval<Struct&>().*kFirst).*....*kRest))>;
  Access access;
  access.store = [](const Slots& s, const Value& v) {
    store_in(((s.to<Struct>().*kFirst).*....*kRest), v);
  };
  constexpr bool is_list = std::is_same_v<T, std::vector<Distribution>>;
  if constexpr (std::is_same_v<Struct, RetryRules> && !is_list) {
    access.from_rules = [](const RetryRules& r, std::string_view else_word) {
      return toml_of(((r.*kFirst).*....*kRest), else_word);
    };
  }
  if constexpr (std::is_enum_v<T>) access.words = kWords<T>;
  if constexpr (!kIsInput<Struct>) {
    access.in_use = [](const FilledSlots& s) {
      const Struct& now = s.to<Struct>();
      const Struct& before = untouched<Struct>();
      return parts_are_on<kFirst, kRest...>(now) &&
             !is_untouched<T>(((now.*kFirst).*....*kRest), ((before.*kFirst).*....*kRest));
    };
    if constexpr (std::is_enum_v<T>) {
      access.word = [](const FilledSlots& s) {
        return static_cast<std::size_t>(((s.to<Struct>().*kFirst).*....*kRest));
      };
    }
  }
  return access;
}();

/// Access for keys that are stored nowhere, but read by name where they are needed.
inline constexpr Access kNowhere{.store = [](const Slots&, const Value&) {}};

constexpr KeyInfo key(std::string_view name, ValueRules rules, Access access, KeyTraits traits,
                      std::string_view meaning) {
  if (rules.kind == ValueKind::kWord && rules.words.empty()) rules.words = access.words;
  return {traits, name, rules, access, meaning};
}

/// The parts of the table, in the order in which their keys are resolved and listed.
std::span<const KeyInfo> top_keys();
std::span<const KeyInfo> expectation_keys();
std::span<const KeyInfo> phase_keys();
std::span<const KeyInfo> slo_keys();
std::span<const KeyInfo> uncertain_keys();
std::vector<KeyInfo> service_keys();
std::span<const KeyInfo> answer_keys();          ///< keys of answers given instead of service
std::span<const KeyInfo> throttle_limit_keys();  ///< [service.X.throttle.operation.Y], .key.Y
std::span<const KeyInfo> partition_keys();       ///< [service.X.concurrency.partitions.Y]
std::span<const KeyInfo> instance_keys();        ///< keys of a service with several instances
std::span<const KeyInfo> slowdown_keys();        ///< keys of how service times grow with the load
std::vector<KeyInfo> fault_keys();
std::vector<KeyInfo> client_keys();
/// Keys of the client that a service is when it calls another one.
std::vector<KeyInfo> call_keys();
std::span<const KeyInfo> surge_keys();
std::span<const KeyInfo> operation_keys();
std::vector<KeyInfo> retry_keys();  ///< [client.X.retry], a part of the client's keys

/// Joins several parts of the table.
std::vector<KeyInfo> joined_keys(std::initializer_list<std::span<const KeyInfo>> parts);

}  // namespace retrysim::scenario
