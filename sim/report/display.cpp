// SPDX-License-Identifier: MIT
#include "report/display.hpp"

#include "scenario/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace retrysim::report {

DisplayUnit display_unit(double value, std::string_view unit) {
  if (unit == "1/s") return {1, " /s"};
  if (unit != "s") return {1, ""};
  const double size = std::fabs(value);
  if (size >= 1 || size == 0) return {1, " s"};
  if (size >= 1e-3) return {1e3, " ms"};
  if (size >= 1e-6) return {1e6, " µs"};
  return {1e9, " ns"};
}

int decimals_for(double value, int digits) {
  if (value == 0) return 0;
  // The small addition keeps 0.1 apart from the 0.0999... that a subtraction makes of it.
  const double size = std::fabs(value) * (1 + 1e-9);
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, 9);
}

std::string format_plain(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, decimals_for(value, digits));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string notes_text(const std::vector<std::string>& notes, std::size_t columns) {
  std::string text = notes.empty() ? "" : "\n";
  for (const std::string& note : notes) text += wrapped(note, {columns, "note: ", "  "});
  return text;
}

std::size_t columns_of(std::string_view text) { return scenario::columns_of(text); }

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

namespace {

/// Where the first word of the text ends; a number and its unit are one.
std::size_t end_of_word(std::string_view text) {
  constexpr std::string_view kUnits[] = {"%",     "s",       "ms",     "µs",    "/s",
                                         "times", "minutes", "points", "hours", "±"};
  std::size_t end = std::min(text.find(' '), text.size());
  while (end < text.size() && end > 0) {
    const char last = text[end - 1];
    const std::string_view rest = text.substr(end + 1);
    std::string_view next = rest.substr(0, rest.find(' '));
    while (!next.empty() && (next.back() == ',' || next.back() == '.' || next.back() == ';' ||
                             next.back() == ')' || next.back() == ':')) {
      next.remove_suffix(1);
    }
    const bool is_number = last >= '0' && last <= '9';
    if (!is_number || std::find(std::begin(kUnits), std::end(kUnits), next) == std::end(kUnits)) {
      break;
    }
    end = std::min(text.find(' ', end + 1), text.size());
  }
  return end;
}

}  // namespace

std::string wrapped(std::string_view text, const Wrapping& wrapping) {
  std::string result, line(wrapping.first);
  bool is_empty = true;  // but for the indent
  while (!text.empty()) {
    const std::size_t end = end_of_word(text);
    const std::string_view word = text.substr(0, end);
    if (!is_empty && columns_of(line) + 1 + columns_of(word) > wrapping.columns) {
      result += line + "\n";
      line = wrapping.others;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + line + "\n";
}

}  // namespace retrysim::report
