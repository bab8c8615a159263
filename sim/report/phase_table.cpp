// SPDX-License-Identifier: MIT
#include "report/phase_table.hpp"

#include "report/display.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim::report {
namespace {

constexpr std::size_t kMostGroups = 6;
constexpr std::size_t kMostLines = 12;  // of a group
constexpr std::size_t kMostNameColumns = 12;

using Line = std::array<std::string, 8>;

/// Names are ASCII: a byte is a column.
std::string shortened(const std::string& name) {
  const auto others = std::count(name.begin(), name.end(), '+');
  if (others > 0 && name.size() > kMostNameColumns) {
    return fmt::format("{} at once", others + 1);
  }
  if (name.size() <= kMostNameColumns) return name;
  return name.substr(0, kMostNameColumns - 3) + "...";
}

std::string figure(const PhaseSummary& phase, std::string_view metric, std::string_view unit) {
  const Estimate* estimate = phase.find(metric);
  if (estimate == nullptr) return "-";
  return unit == "%" ? percent(estimate->mean) : format_number(estimate->mean, unit);
}

Line line_of(const PhaseSummary& phase) {
  return {"  " + shortened(phase.phase.name),   format_plain(phase.start_s) + " s",
          format_plain(phase.end_s) + " s",     figure(phase, "success_rate", "%"),
          figure(phase, "goodput", "1/s"),      figure(phase, "amplification", ""),
          figure(phase, "latency_ok_p99", "s"), figure(phase, "failures", "")};
}

void append_group(std::vector<Line>& lines, const Evaluation& e, const std::string& client,
                  const std::string& title) {
  lines.push_back({title});
  std::size_t phases = 0;
  for (const PhaseSummary& phase : e.phases) {
    if (phase.client == client && ++phases <= kMostLines) lines.push_back(line_of(phase));
  }
  if (phases > kMostLines) {
    lines.push_back({fmt::format("  and {} more", phases - kMostLines)});
  }
}

}  // namespace

std::string phase_table(const Evaluation& e) {
  if (e.phases.empty()) return "";
  std::vector<Line> lines = {
      {"Phases", "from", "to", "success", "goodput", "attempts", "p99", "failed"}};
  const std::size_t groups = e.clients() - 1;
  if (groups == 1) {  // the same as all together
    append_group(lines, e, "all", e.client_name(0));
  } else {
    const std::size_t first = groups > kMostGroups ? groups : 0;
    const std::size_t last = groups > kMostGroups ? e.clients() : groups;
    for (std::size_t c = first; c < last; ++c) {
      append_group(lines, e, e.client_name(c), e.client_name(c));
    }
  }
  std::array<std::size_t, std::tuple_size_v<Line>> widths{};
  for (const Line& line : lines) {
    if (line[1].empty()) continue;  // the name of a group, which may stick out
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(line[i]));
    }
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = pad_right(line[0], widths[0]);
    for (std::size_t i = 1; i < line.size(); ++i) row += "  " + pad_left(line[i], widths[i]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  text += "attempts: per request; p99: of successful requests; phases.csv has more\n";
  return text;
}

}  // namespace retrysim::report
