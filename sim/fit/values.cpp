// SPDX-License-Identifier: MIT
#include "fit/values.hpp"

#include "fit/log.hpp"
#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace retrysim::fit {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::optional<std::int64_t> parse_epoch(std::string_view text) {
  // A number belongs to the next unit if it would be beyond the year 5138 in the unit before.
  constexpr double kSeconds = 1e11, kMilliseconds = 1e14, kMicroseconds = 1e17, kLatest = 9e18;
  const std::optional<double> value = parse_number(text);
  if (!value) return std::nullopt;
  const std::int64_t unit_ns = *value < kSeconds        ? kSecond
                               : *value < kMilliseconds ? 1'000'000
                               : *value < kMicroseconds ? 1'000
                                                        : 1;
  if (*value * static_cast<double>(unit_ns) > kLatest) return std::nullopt;
  if (const auto exact = parse_decimal(text, unit_ns)) return exact;
  return std::llround(*value * static_cast<double>(unit_ns));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "10/Oct/2000:13:55:36 -0700", ".123" behind the seconds, without an offset in UTC. Python's
// servers have a blank in front of the hour.
std::optional<std::int64_t> parse_common_log_time(std::string_view text) {
  constexpr std::string_view kShape = "00/Aaa/0000_00:00:00", kOffset = " +0000";
  const auto has_shape = [](std::string_view part, std::string_view shape) {
    if (part.size() < shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const char c = part[i], s = shape[i];
      if (s == '0'               ? !is_digit(c)
          : s == '+'             ? c != '+' && c != '-'
          : s == '_'             ? c != ':' && c != ' '
          : s == 'A' || s == 'a' ? false
                                 : c != s) {
        return false;
      }
    }
    return true;
  };
  const auto number = [](std::string_view digits) {
    int value = 0;
    for (const char c : digits) value = 10 * value + (c - '0');
    return value;
  };
  if (!has_shape(text, kShape)) return std::nullopt;
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t month = kMonths.find(text.substr(3, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const int year = number(text.substr(7, 4));
  const std::chrono::year_month_day date(
      std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
      std::chrono::day(static_cast<unsigned>(number(text.substr(0, 2)))));
  const int hour = number(text.substr(12, 2)), minute = number(text.substr(15, 2)),
            second = number(text.substr(18, 2));
  // 64-bit nanoseconds reach from 1678 to 2261.
  if (!date.ok() || year < 1678 || year > 2261) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
  text.remove_prefix(kShape.size());
  std::int64_t fraction_ns = 0;
  if (text.starts_with('.') || text.starts_with(',')) {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text[0])) return std::nullopt;
    for (std::int64_t unit = kSecond / 10; !text.empty() && is_digit(text[0]); unit /= 10) {
      fraction_ns += (text[0] - '0') * unit;
      text.remove_prefix(1);
    }
  }
  if (!text.empty()) {
    if (text.size() != kOffset.size() || !has_shape(text, kOffset)) return std::nullopt;
    const int offset_minutes = number(text.substr(2, 2)) * 60 + number(text.substr(4, 2));
    seconds += (text[1] == '-' ? 60 : -60) * std::int64_t{offset_minutes};
  }
  return seconds * kSecond + fraction_ns;
}

// "2000/10/10 13:55:36", or with a comma before the fraction: as ISO 8601 has it.
std::optional<std::int64_t> parse_like_iso(std::string_view text) {
  constexpr std::size_t kLongest = 40, kFirst = 4, kSecondDash = 7, kFraction = 19;
  if (text.size() <= kSecondDash || text.size() > kLongest) return std::nullopt;
  if (const auto time = scenario::parse_timestamp(text)) return time;
  std::string iso(text);
  if (iso[kFirst] == '/' && iso[kSecondDash] == '/') iso[kFirst] = iso[kSecondDash] = '-';
  if (iso.size() > kFraction && iso[kFraction] == ',') iso[kFraction] = '.';
  return iso == text ? std::nullopt : scenario::parse_timestamp(iso);
}

}  // namespace

std::optional<std::int64_t> parse_log_time(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::size_t kYear = 4, kDay = 2;
  const bool is_iso = text.size() > kYear && (text[kYear] == '-' || text[kYear] == '/');
  const bool is_common = text.size() > kDay && text[kDay] == '/';
  const std::optional<std::int64_t> time = is_common ? parse_common_log_time(text)
                                           : is_iso  ? parse_like_iso(text)
                                                     : parse_epoch(text);
  // Differences of times after 1970 are within 64-bit range, too.
  return time && *time >= 0 ? time : std::nullopt;
}

std::optional<std::int64_t> parse_decimal(std::string_view text, std::int64_t unit_ns) {
  if (text.starts_with('-')) return std::nullopt;
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc()) return std::nullopt;
  if (whole > std::numeric_limits<std::int64_t>::max() / unit_ns - 1) return std::nullopt;
  std::int64_t ns = whole * unit_ns;
  if (point == end) return ns;
  if (*point != '.' || point + 1 == end) return std::nullopt;
  for (const char* p = point + 1; p != end; ++p) {
    if (*p < '0' || *p > '9') return std::nullopt;
    unit_ns /= 10;
    ns += (*p - '0') * unit_ns;
  }
  return ns;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_duration_with_units(std::string_view text) {
  // Longer names stand before their prefixes.
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1},          {"us", 1e3},           {"\xc2\xb5s", 1e3},
      {"\xce\xbcs", 1e3}, {"milliseconds", 1e6}, {"millis", 1e6},
      {"msec", 1e6},      {"ms", 1e6},           {"microseconds", 1e3},
      {"seconds", 1e9},   {"secs", 1e9},         {"sec", 1e9},
      {"s", 1e9},         {"min", 6e10},         {"m", 6e10},
      {"h", 3.6e12}};
  static constexpr std::pair<std::string_view, double> kIsoUnits[] = {
      {"S", 1e9}, {"M", 6e10}, {"H", 3.6e12}};
  const bool iso = text.starts_with("PT");
  if (iso) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  double ns = 0;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::optional<double> value = parse_number(text.substr(0, size));
    if (!value) return std::nullopt;
    text.remove_prefix(size);
    if (text.starts_with(' ')) text.remove_prefix(1);
    double unit = 0;
    const auto take = [&](const auto& units) {
      for (const auto& [name, of_ns] : units) {
        if (!text.starts_with(name)) continue;
        text.remove_prefix(name.size());
        unit = of_ns;
        return;
      }
    };
    if (iso) {
      take(kIsoUnits);
    } else {
      take(kUnits);
    }
    if (unit == 0) return std::nullopt;
    ns += *value * unit;
  }
  if (!(ns <= static_cast<double>(Observation::kLongestNs))) return std::nullopt;
  return std::llround(ns);
}

std::optional<int> status_of_grpc(std::string_view text) {
  struct Code {
    std::string_view name;
    int status;
  };
  // In the order of their numbers.
  static constexpr Code kCodes[] = {{"ok", 200},
                                    {"cancelled", 499},
                                    {"unknown", 500},
                                    {"invalidargument", 400},
                                    {"deadlineexceeded", 504},
                                    {"notfound", 404},
                                    {"alreadyexists", 409},
                                    {"permissiondenied", 403},
                                    {"resourceexhausted", 429},
                                    {"failedprecondition", 400},
                                    {"aborted", 409},
                                    {"outofrange", 400},
                                    {"unimplemented", 501},
                                    {"internal", 500},
                                    {"unavailable", 503},
                                    {"dataloss", 500},
                                    {"unauthenticated", 401}};
  std::string letters, digits;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
    if (c >= '0' && c <= '9') digits += c;
  }
  if (letters.empty()) {
    constexpr std::size_t kMostDigits = 2;
    if (digits != text || digits.empty() || digits.size() > kMostDigits) return std::nullopt;
    const auto number = static_cast<std::size_t>(std::stoi(digits));
    return number < std::size(kCodes) ? std::optional(kCodes[number].status) : std::nullopt;
  }
  std::string_view name = letters;
  for (const std::string_view type : {"grpc", "statuscode", "codes", "code"}) {
    if (name.starts_with(type) && name != type) name.remove_prefix(type.size());
  }
  if (name == "canceled") name = "cancelled";
  for (const Code& code : kCodes) {
    if (code.name == name) return code.status;
  }
  return std::nullopt;
}

std::uint64_t hash_of(std::string_view text) {
  if (text.empty() || text == "-") return 0;
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h == 0 ? 1 : h ^ h >> 29;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return scenario::printable_line(text.size() > kMost ? std::string(text.substr(0, kMost)) + "..."
                                                      : std::string(text));
}

}  // namespace retrysim::fit
