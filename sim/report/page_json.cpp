// SPDX-License-Identifier: MIT
#include "report/page_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostExact = 9e15;  // whole numbers up to here are exact

double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result + 0.0;  // no negative zero
}

std::string without_markup(std::string text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

void append_compact(std::string& out, double value, int digits) {
  const double number = rounded(value, digits);
  if (std::fabs(number) < kMostExact && number == std::trunc(number)) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(number));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}

Json compact(double value, int digits) {
  if (!std::isfinite(value)) return {};
  const double number = rounded(value, digits);
  if (std::fabs(number) < kMostExact && number == std::trunc(number)) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

std::string json_text(std::string_view text) {
  return without_markup(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string json_for_script(const Json& json) {
  return without_markup(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace retrysim::report
