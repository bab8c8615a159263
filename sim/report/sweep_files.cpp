// SPDX-License-Identifier: MIT
#include "report/sweep_files.hpp"

#include <retrysim/metrics.hpp>

#include "report/csv_writer.hpp"
#include "report/result_files.hpp"
#include "report/result_tables.hpp"
#include "scenario/values.hpp"
#include "stats/bistability.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;
using PointSource = std::function<SweepPoint(std::size_t)>;

constexpr std::array<std::string_view, 13> kOverview = {
    "offered_load",      "attempt_rate",       "goodput",     "success_rate", "amplification",
    "utilization",       "latency_mean",       "latency_p50", "latency_p99",  "completion_time_s",
    "peak_attempt_rate", "peak_amplification", "recovery_s"};
constexpr std::string_view kRecovery = "recovery_s";

/// A duration with a unit becomes seconds, as everywhere in files; other values stay.
std::string key_cell(const std::string& value) {
  const auto parsed = scenario::parse_duration(value);
  return parsed ? number(parsed->duration.in_seconds()) : value;
}

/// Of all clients together.
std::vector<std::optional<Estimate>> overview_of(const MetricValues& values) {
  static const std::vector<std::size_t> metrics = [] {
    std::vector<std::size_t> indices;
    for (const std::string_view name : kOverview) {
      indices.push_back(static_cast<std::size_t>(find_metric(name) - metric_table().data()));
    }
    return indices;
  }();
  std::vector<std::optional<Estimate>> estimates;
  for (const std::size_t metric : metrics) {
    estimates.push_back(summarize_metric(values, values.clients() - 1, metric));
  }
  return estimates;
}

void write_summary(Sink& sink, const SweepDescription& d, std::size_t count,
                   const PointSource& point) {
  CsvWriter csv(sink);
  write_summary_header(csv);
  for (std::size_t i = 0; i < count; ++i) {
    const SweepPoint p = point(i);
    if (p.outcome != kComplete) continue;
    write_summary_rows(csv, d.base->scenario.name, p.name, summarize(*p.scenario, p.values));
  }
}

void write_replications(Sink& sink, const SweepDescription& d, std::size_t count,
                        const PointSource& point) {
  CsvWriter csv(sink);
  write_replications_header(csv);
  for (std::size_t i = 0; i < count; ++i) {
    const SweepPoint p = point(i);
    write_replications_rows(csv, d.base->scenario.name, p.name, *p.scenario, p.values);
  }
}

class PointsTable {
 public:
  PointsTable(Sink& sink, const SweepDescription& d)
      : csv_(sink), expectations_(!d.base->scenario.expectations.empty()) {
    csv_.text("variant");
    for (const std::string& path : d.paths) csv_.text(path);
    csv_.text("replications").text("outcome");
    for (const std::string_view metric : kOverview) {
      const std::string name(metric);
      csv_.text(name).text(name + "_ci_low").text(name + "_ci_high");
      if (metric == kRecovery) csv_.text(name + "_replications");
    }
    csv_.text("modes");
    if (expectations_) csv_.text("expectations_failed");
    csv_.end_row();
  }

  void add(const SweepPoint& p, SweepOverview& overview) {
    const bool complete = p.outcome == kComplete;
    const auto estimates =
        complete ? overview_of(p.values) : std::vector<std::optional<Estimate>>(kOverview.size());
    csv_.text(p.name);
    for (const std::string& value : p.keys) csv_.text(key_cell(value));
    csv_.integer(p.values.runs()).text(p.outcome);
    for (std::size_t m = 0; m < kOverview.size(); ++m) {
      const std::optional<Estimate>& e = estimates[m];
      csv_.real(e ? std::optional(e->mean) : std::nullopt);
      csv_.real(e ? e->ci_low : std::nullopt).real(e ? e->ci_high : std::nullopt);
      if (kOverview[m] != kRecovery) continue;
      complete ? csv_.integer(e ? e->count : 0) : csv_.empty();
    }
    if (overview.rows.size() < kMostOverviewRows) overview.rows.push_back({p.name, estimates});
    ++overview.points;
    if (!complete) {
      ++overview.points_over_limit;
      csv_.empty();
      if (expectations_) csv_.empty();
      return csv_.end_row();
    }
    const double window_s = (p.scenario->duration - p.scenario->warmup).in_seconds();
    const bool two_modes = stats::goodput_modes(p.values, window_s).has_value();
    csv_.integer(two_modes ? 2 : 1);
    overview.points_with_two_modes += two_modes;
    const std::size_t failed = failed_expectations(p);
    if (expectations_) csv_.integer(failed);
    csv_.end_row();
    overview.points_that_fail += failed > 0;
  }

 private:
  static std::size_t failed_expectations(const SweepPoint& p) {
    if (p.scenario->expectations.empty()) return 0;
    const auto results =
        judge_expectations(*p.scenario, summarize(*p.scenario, p.values), p.values.runs());
    return static_cast<std::size_t>(std::count_if(
        results.begin(), results.end(), [](const ExpectationResult& e) { return !e.passed; }));
  }

  CsvWriter csv_;
  bool expectations_;
};

Json result_json(const SweepDescription& d, const SweepOverview& overview) {
  const Scenario& scenario = d.base->scenario;
  Json json;
  json["program"] = "retrysim";
  json["version"] = RETRYSIM_VERSION;
  json["scenario"] = scenario.name;
  json["description"] = scenario.description;
  json["seed"] = scenario.seed;
  json["replications"] = scenario.replications;
  Json& sweep = json["sweep"];
  sweep["id"] = fmt::format("{:016x}", d.id);
  sweep["vary"] = d.variations;
  sweep["keys"] = d.paths;
  sweep["points"] = d.points;
  if (d.shard) sweep["shard"] = {{"index", d.shard->index}, {"count", d.shard->count}};
  sweep["points_that_fail"] = overview.points_that_fail;
  sweep["points_over_limit"] = overview.points_over_limit;
  json["keys"] = Json::object();
  for (const ResolvedKey& key : d.base->keys) json["keys"][key.path] = key.toml;
  return json;
}

}  // namespace

std::span<const std::string_view> overview_metrics() { return kOverview; }

SweepOverview write_sweep_files(ResultFolder& folder, const SweepDescription& description,
                                std::size_t count, const PointSource& point) {
  SweepOverview overview;
  folder.write("summary.csv", [&](Sink& sink) { write_summary(sink, description, count, point); });
  folder.write("replications.csv",
               [&](Sink& sink) { write_replications(sink, description, count, point); });
  folder.write("points.csv", [&](Sink& sink) {
    PointsTable table(sink, description);
    for (std::size_t i = 0; i < count; ++i) table.add(point(i), overview);
  });
  write_scenario_files(folder, *description.base);
  folder.write("result.json", [&](Sink& sink) {
    sink.write(sealed(result_json(description, overview), folder.files()));
  });
  folder.commit();
  return overview;
}

std::string sweep_table(const SweepDescription& d, const SweepOverview& overview) {
  constexpr std::array<std::string_view, 5> kShown = {"goodput", "success_rate", "amplification",
                                                      "latency_mean", "latency_p99"};
  constexpr std::string_view kVariant = "variant";
  const std::string replications =
      d.base->scenario.replications == 1
          ? "1 replication"
          : fmt::format("{} replications", d.base->scenario.replications);
  const std::string points =
      d.shard ? fmt::format("shard {}, {} of {} points", d.shard->text(), overview.points, d.points)
              : fmt::format("{} point{}", d.points, d.points == 1 ? "" : "s");
  std::string text = fmt::format("{}: {}, {} each, seed {}\n", d.base->scenario.name, points,
                                 replications, d.base->scenario.seed);
  text += "Means over replications and all clients\n\n";
  std::size_t width = kVariant.size();
  for (const auto& row : overview.rows) width = std::max(width, row.name.size());
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<{}}", kVariant, width);
  for (const std::string_view metric : kShown) fmt::format_to(out, "  {:>13}", metric);
  text += '\n';
  for (const auto& row : overview.rows) {
    fmt::format_to(out, "{:<{}}", row.name, width);
    for (const std::string_view metric : kShown) {
      const auto at = std::find(kOverview.begin(), kOverview.end(), metric) - kOverview.begin();
      const auto& estimate = row.estimates[static_cast<std::size_t>(at)];
      fmt::format_to(out, "  {:>13}", estimate ? fmt::format("{:.5g}", estimate->mean) : "-");
    }
    text += '\n';
  }
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
