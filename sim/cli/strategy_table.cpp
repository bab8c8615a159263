// SPDX-License-Identifier: MIT
#include "cli/strategy_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace retrysim::cli {
namespace {

constexpr std::array<std::string_view, 11> kColumns = {
    "call",  "attempt", "time_s",        "response",  "class",      "decision",
    "quota", "delay_s", "measured_rate", "fill_rate", "send_wait_s"};
constexpr std::size_t kMeasuredRate = 8;  // its place; the fill rate follows

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// Shortest text that reads back as the same number.
std::string number_text(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string();
}

/// The cells of a row in the order of kColumns; null where there is nothing to say.
std::array<nlohmann::ordered_json, kColumns.size()> cells_of(const Decision& row) {
  using Json = nlohmann::ordered_json;
  const auto optional = [](const auto& value) { return value ? Json(*value) : Json(); };
  const auto duration = [](const std::optional<Duration>& d) {
    return d ? Json(seconds(d->count())) : Json();
  };
  return {row.call,
          row.attempt,
          seconds(row.time.count()),
          row.response.empty() ? Json() : Json(row.response),
          row.response_class.empty() ? Json() : Json(row.response_class),
          Json(name(row.decision)),
          optional(row.quota),
          duration(row.delay),
          optional(row.measured_rate),
          optional(row.fill_rate),
          duration(row.send_wait)};
}

std::string cell_text(const nlohmann::ordered_json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return number_text(cell.get<double>());
  return cell.dump();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

using TextRow = std::array<std::string, kColumns.size()>;

std::string to_csv(const std::vector<TextRow>& rows) {
  std::string text;
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_cell(row[i]);
    }
    text += '\n';
  }
  return text;
}

/// Aligned columns; a column without any content is left out.
std::string to_table(const std::vector<TextRow>& rows) {
  std::array<std::size_t, kColumns.size()> width{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    bool used = false;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      width[i] = std::max(width[i], rows[r][i].size());
      used = used || (r > 0 && !rows[r][i].empty());
    }
    if (!used) width[i] = 0;
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (width[i] == 0) continue;
      line +=
          fmt::format("{}{:{}}", line.empty() ? "" : "  ", row[i].empty() ? "-" : row[i], width[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string decision_table(const std::vector<Decision>& rows, DecisionFormat format) {
  if (format == DecisionFormat::kJson) {
    auto array = nlohmann::ordered_json::array();
    for (const Decision& row : rows) {
      const auto cells = cells_of(row);
      nlohmann::ordered_json object;
      for (std::size_t i = 0; i < cells.size(); ++i) object[std::string(kColumns[i])] = cells[i];
      array.push_back(std::move(object));
    }
    // Bytes that are no UTF-8 can only come from the command line; they are shown as U+FFFD.
    return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  }
  std::vector<TextRow> texts(1);
  std::copy(kColumns.begin(), kColumns.end(), texts[0].begin());
  for (const Decision& row : rows) {
    TextRow& text = texts.emplace_back();
    const auto cells = cells_of(row);
    std::transform(cells.begin(), cells.end(), text.begin(), cell_text);
    if (format == DecisionFormat::kTable) {  // people do not read 17 digits
      const auto rate_text = [](double rate) { return fmt::format("{:.6g}", rate); };
      if (row.measured_rate) text[kMeasuredRate] = rate_text(*row.measured_rate);
      if (row.fill_rate) text[kMeasuredRate + 1] = rate_text(*row.fill_rate);
    }
  }
  return format == DecisionFormat::kCsv ? to_csv(texts) : to_table(texts);
}

}  // namespace retrysim::cli
