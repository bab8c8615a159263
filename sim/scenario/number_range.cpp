// Ranges in decimal arithmetic: a number is a whole multiple of a power of ten (and of a unit of
// time), so 0.1:0.9:0.1 has the nine values that a reader expects.
//
// SPDX-License-Identifier: MIT
#include "scenario/number_range.hpp"

#include "scenario/problems.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <sleef.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace retrysim::scenario {
namespace {

constexpr int kMostDecimals = 15;
constexpr std::int64_t kMostDigits = 1'000'000'000'000'000'000;  // 10^18: sums of two do fit

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// digits * 10^-decimals, in `unit`.
struct Decimal {
  std::int64_t digits = 0;
  int decimals = 0;
  bool whole = true;  ///< written without a point and without an exponent
  std::string unit;   ///< "" for a plain number
};

/// The product, if it is a number that we handle.
std::optional<std::int64_t> times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  if (product > kMostDigits || product < -kMostDigits) return std::nullopt;
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

/// What is no number at all is told apart from a number of too many digits.
struct Parsed {
  bool is_number = false;
  std::optional<Decimal> decimal;
};

// [-] digits [. digits] [e [+-] digits] [unit]
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

  // An exponent has a digit, so that the unit of "5e" is not taken for one.
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

  // Without zeros at the end, and without a negative number of decimals.
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
    return decimal_.decimals <= kMostDecimals;
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

/// `value` in units of `unit` and with `decimals` decimals.
std::optional<std::int64_t> scaled(const Decimal& value, int decimals, const std::string& unit) {
  auto digits = times_power_of_ten(value.digits, decimals - value.decimals);
  if (!digits || value.unit.empty()) return digits;
  return times(*digits, nanoseconds_of_unit(value.unit) / nanoseconds_of_unit(unit));
}

/// The smallest unit of time among them; "" if none has one.
std::string smallest_unit(const std::vector<Decimal>& values) {
  std::string unit;
  for (const Decimal& v : values) {
    if (v.unit.empty()) continue;
    if (unit.empty() || nanoseconds_of_unit(v.unit) < nanoseconds_of_unit(unit)) unit = v.unit;
  }
  return unit;
}

/// Reads the numbers of a range; all of them are durations or none is, except for zero.
std::optional<RangeResult> read_numbers(const std::vector<std::string_view>& texts,
                                        std::vector<Decimal>& numbers) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Parsed parsed = DecimalReader(texts[i]).read();
    if (!parsed.is_number) {
      return failure(i, in_quotes(texts[i]) + " is no number; expected LO:HI:STEP or LO:HI:*N");
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
  if (steps >= static_cast<std::int64_t>(kMostRangeValues)) {
    return failure(2, fmt::format("the range has {} values; at most {} are possible", steps + 1,
                                  kMostRangeValues));
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
      count > kMostRangeValues) {
    return failure(2, fmt::format("\"*{}\" is wrong; expected * and the number of values, from 2 "
                                  "to {}",
                                  count_text, kMostRangeValues));
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
  const double from = Sleef_cinz_logd1_u10purec(value[0]);
  const double to = Sleef_cinz_logd1_u10purec(value[1]);
  RangeResult result;
  result.values.emplace_back(low_text);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    const double x = Sleef_cinz_expd1_u10purec(from + share * (to - from));
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
