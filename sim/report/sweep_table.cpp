// What standard output shows of a sweep.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include "report/display.hpp"
#include "report/sweep_files.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <string_view>

namespace retrysim::report {
namespace {

using Cells = std::vector<std::string>;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// The point's values, one for each key, with the keys as heading; a point whose name is made in
/// another way stays whole.
struct PointNames {
  Cells keys = {"point"};
  std::vector<Cells> values;

  explicit PointNames(const std::vector<SweepOverview::Row>& rows) {
    for (const SweepOverview::Row& row : rows) {
      Cells own_keys, own_values;
      for (const std::string& part : split(row.name, ' ')) {
        const std::size_t sign = std::min(part.find('='), part.size());
        own_keys.push_back(part.substr(0, sign));
        own_values.push_back(part.substr(std::min(sign + 1, part.size())));
      }
      if (values.empty()) keys = own_keys;
      if (own_keys != keys) {
        stay_whole(rows);
        return;
      }
      values.push_back(own_values);
    }
  }

 private:
  void stay_whole(const std::vector<SweepOverview::Row>& rows) {
    keys = {"point"};
    values.clear();
    for (const SweepOverview::Row& row : rows) values.push_back({row.name});
  }
};

std::string figure(const std::optional<Estimate>& estimate, const MetricInfo& metric) {
  if (!estimate) return "-";
  return metric.display.percentage ? percent(estimate->mean)
                                   : format_number(estimate->mean, metric.unit);
}

/// The headings, broken at their underscores, above the lines; the first `left` columns begin at
/// the left.
std::string in_columns(const Cells& headings, const std::vector<Cells>& lines, std::size_t left) {
  std::vector<Cells> words;
  std::vector<std::size_t> widths;
  std::size_t height = 0;
  for (std::size_t c = 0; c < headings.size(); ++c) {
    words.push_back(split(headings[c], '_'));
    height = std::max(height, words.back().size());
    widths.push_back(0);
    for (const std::string& word : words[c]) widths[c] = std::max(widths[c], columns_of(word));
    for (const Cells& line : lines) widths[c] = std::max(widths[c], columns_of(line[c]));
  }
  std::string text;
  const auto append = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < headings.size(); ++c) {
      if (c > 0) line += "  ";
      line += c < left ? pad_right(cell(c), widths[c]) : pad_left(cell(c), widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  for (std::size_t h = 0; h < height; ++h) {
    append([&](std::size_t c) {
      const std::size_t above = height - words[c].size();  // they end on the last line
      return h < above ? std::string() : words[c][h - above];
    });
  }
  for (const Cells& line : lines) append([&](std::size_t c) { return line[c]; });
  return text;
}

}  // namespace

std::string sweep_table(const SweepPlan& plan, const SweepOverview& overview) {
  const std::vector<const MetricInfo*>& columns = overview_metrics();
  const std::vector<const MetricInfo*> shown = metrics_of(MetricList::kSweptTable);
  const std::string replications =
      plan.base.scenario.replications == 1
          ? "1 replication"
          : fmt::format("{} replications", plan.base.scenario.replications);
  const std::string points =
      plan.shard ? fmt::format("shard {}, {} of {} points", plan.shard->text(), overview.points,
                               plan.grid_points)
                 : fmt::format("{} point{}", plan.grid_points, plan.grid_points == 1 ? "" : "s");
  std::string text = fmt::format("{}: {}, {} each, seed {}\n", plan.base.scenario.name, points,
                                 replications, plan.base.scenario.seed);
  text += "Means over replications and all clients\n\n";
  const PointNames points_of(overview.rows);
  Cells headings = points_of.keys;
  for (const MetricInfo* metric : shown) headings.emplace_back(metric->name);
  std::vector<Cells> lines = points_of.values;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const MetricInfo* metric : shown) {
      const auto at = std::find(columns.begin(), columns.end(), metric) - columns.begin();
      lines[i].push_back(figure(overview.rows[i].estimates[static_cast<std::size_t>(at)], *metric));
    }
  }
  text += in_columns(headings, lines, points_of.keys.size());
  auto out = std::back_inserter(text);
  if (overview.points > overview.rows.size()) {
    fmt::format_to(out, "... and {} more in points.csv\n", overview.points - overview.rows.size());
  }
  if (overview.points_with_two_modes > 0) {
    fmt::format_to(out,
                   "\nTwo modes of goodput at {} of {} points (column modes of points.csv): a "
                   "mean over both\ndescribes neither; retrysim run describes each of them\n",
                   overview.points_with_two_modes, overview.points);
  }
  if (overview.points_over_limit > 0) {
    fmt::format_to(out,
                   "\n{} of {} points exceeded a limit and have no results; see column outcome of "
                   "points.csv\n",
                   overview.points_over_limit, overview.points);
  }
  if (overview.points_that_fail > 0) {
    fmt::format_to(out, "\nExpectations fail at {} of {} points; see points.csv\n",
                   overview.points_that_fail, overview.points);
  }
  return text;
}

}  // namespace retrysim::report
