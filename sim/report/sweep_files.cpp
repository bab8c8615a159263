// SPDX-License-Identifier: MIT
#include "report/sweep_files.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/verdict.hpp>

#include "estimate/bistability.hpp"
#include "report/csv_writer.hpp"
#include "report/json_parts.hpp"
#include "report/mean_series_csv.hpp"
#include "report/metric_json.hpp"
#include "report/result_files.hpp"
#include "report/result_tables.hpp"
#include "scenario/values.hpp"

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

constexpr std::string_view kRecovery = "recovery_s";

/// The column of points.csv: whether all replications came to their end, or the limit that one of
/// them went over.
std::string_view outcome_of(const SweepPoint& point) {
  if (!point.limit) return "complete";
  switch (*point.limit) {
    case LimitKind::kMemory:
      return "over_memory";
    case LimitKind::kInstant:
      return "endless_instant";
    case LimitKind::kEvents:
    case LimitKind::kTime:
      break;
  }
  return "over_events";
}

/// Of all clients together.
std::vector<std::optional<Estimate>> overview_of(const MetricValues& values) {
  std::vector<std::optional<Estimate>> estimates;
  for (const MetricInfo* metric : overview_metrics()) {
    estimates.push_back(summarize_metric(values, values.clients() - 1, index_of(*metric)));
  }
  return estimates;
}

void write_summary(Sink& sink, const SweepPlan& plan, const PointSource& point) {
  CsvWriter csv(sink);
  write_summary_header(csv);
  for (std::size_t i = 0; i < plan.points(); ++i) {
    const SweepPoint p = point(i);
    if (p.limit) continue;
    write_summary_rows(csv, plan.base.scenario.name, p.name, summarize(*p.scenario, p.values));
  }
}

void write_replications(Sink& sink, const SweepPlan& plan, const PointSource& point) {
  CsvWriter csv(sink);
  write_replications_header(csv);
  for (std::size_t i = 0; i < plan.points(); ++i) {
    const SweepPoint p = point(i);
    write_replications_rows(csv, plan.base.scenario.name, p.name, *p.scenario, p.values);
  }
}

/// Whether a point may have phases: of the whole grid, so that all shards have the same files.
bool may_have_phases(const SweepPlan& plan) {
  const Scenario& base = plan.base.scenario;
  const auto is_disturbing = [](const std::string& path) {
    return path.starts_with("fault.") || path.starts_with("phase.") ||
           path.find(".surge.") != std::string::npos;
  };
  return !base.faults.empty() || !base.phases.empty() ||
         std::any_of(base.clients.begin(), base.clients.end(),
                     [](const ClientSpec& c) { return !c.arrivals.surges.empty(); }) ||
         std::any_of(plan.paths.begin(), plan.paths.end(), is_disturbing);
}

void write_phases(Sink& sink, const SweepPlan& plan, const PointSource& point) {
  CsvWriter csv(sink);
  write_phases_header(csv);
  for (std::size_t i = 0; i < plan.points(); ++i) {
    const SweepPoint p = point(i);
    if (p.limit) continue;
    write_phases_rows(csv, plan.base.scenario.name, p.name,
                      summarize_phases(*p.scenario, p.phases));
  }
}

/// What happened over time at the points, if the sweep kept it.
void write_series(ResultFolder& folder, const SweepPlan& plan, const PointSource& point) {
  if (plan.grid_points > kMostPointsWithSeries) return;
  const auto of_each = [&](Sink& sink, auto write_rows) {
    for (std::size_t i = 0; i < plan.points(); ++i) {
      const SweepPoint p = point(i);
      if (p.series) write_rows(sink, *plan.scenario(i), p.name, *p.series);
    }
  };
  folder.write(std::string(kMeanTimeseries), [&](Sink& sink) {
    write_mean_timeseries_header(sink);
    of_each(sink, write_mean_timeseries_rows);
  });
  folder.write(std::string(kMeanService), [&](Sink& sink) {
    write_mean_service_header(sink);
    of_each(sink, write_mean_service_rows);
  });
}

/// What became of each point and why, in sentences, if the sweep kept what that takes.
void write_verdicts(Sink& sink, const SweepPlan& plan, const PointSource& point) {
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "client", "rule", "severity", "sentence"});
  for (std::size_t i = 0; i < plan.points(); ++i) {
    const SweepPoint p = point(i);
    if (p.verdict_figures.empty()) continue;
    for (const Verdict& v : verdicts(*plan.scenario(i), p.verdict_figures)) {
      csv.text(plan.base.scenario.name).text(p.name).text(v.client).text(v.rule);
      csv.text(name(v.severity)).text(v.sentence).end_row();
    }
  }
}

class PointsTable {
 public:
  PointsTable(Sink& sink, const SweepPlan& plan)
      : csv_(sink), expectations_(!plan.base.scenario.expectations.empty()) {
    csv_.text("variant");
    for (const std::string& path : plan.paths) csv_.text(path);
    csv_.text("replications").text("outcome");
    for (const MetricInfo* metric : overview_metrics()) {
      const std::string name(metric->name);
      csv_.text(name).text(name + "_ci_low").text(name + "_ci_high");
      if (name == kRecovery) csv_.text(name + "_replications");
    }
    csv_.text("modes");
    if (expectations_) csv_.text("expectations_failed");
    csv_.end_row();
  }

  void add(const SweepPoint& p, SweepOverview& overview) {
    const bool complete = !p.limit;
    const auto estimates = complete
                               ? overview_of(p.values)
                               : std::vector<std::optional<Estimate>>(overview_metrics().size());
    csv_.text(p.name);
    for (const std::string& value : p.keys) csv_.text(key_cell(value));
    csv_.integer(p.values.runs()).text(outcome_of(p));
    for (std::size_t m = 0; m < estimates.size(); ++m) {
      const std::optional<Estimate>& e = estimates[m];
      csv_.real(e ? std::optional(e->mean) : std::nullopt);
      csv_.real(e ? e->ci_low : std::nullopt).real(e ? e->ci_high : std::nullopt);
      if (overview_metrics()[m]->name != kRecovery) continue;
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

Json result_json(const SweepPlan& plan, const SweepOverview& overview) {
  const Scenario& scenario = plan.base.scenario;
  Json json = result_head("", scenario, static_cast<std::size_t>(scenario.replications));
  Json& sweep = json["sweep"];
  sweep["id"] = fmt::format("{:016x}", plan.id);
  sweep["vary"] = plan.varying;
  sweep["keys"] = plan.paths;
  sweep["points"] = plan.grid_points;
  sweep["metrics"] = metrics_json(overview_metrics());
  if (plan.shard) sweep["shard"] = {{"index", plan.shard->index}, {"count", plan.shard->count}};
  sweep["points_that_fail"] = overview.points_that_fail;
  sweep["points_over_limit"] = overview.points_over_limit;
  json["services"] = services_json(plan.base.scenario);
  json["keys"] = keys_json(plan.base);
  return json;
}

}  // namespace

std::string key_cell(const std::string& value) {
  const auto parsed = scenario::parse_duration(value);
  return parsed ? number(parsed->duration.in_seconds()) : value;
}

const std::vector<const MetricInfo*>& overview_metrics() {
  static const std::vector<const MetricInfo*> metrics = metrics_of(MetricList::kSwept);
  return metrics;
}

SweepOverview write_sweep_files(ResultFolder& folder, const SweepPlan& plan,
                                const PointSource& point) {
  SweepOverview overview;
  folder.write("summary.csv", [&](Sink& sink) { write_summary(sink, plan, point); });
  folder.write("replications.csv", [&](Sink& sink) { write_replications(sink, plan, point); });
  if (may_have_phases(plan)) {
    folder.write("phases.csv", [&](Sink& sink) { write_phases(sink, plan, point); });
  }
  folder.write("points.csv", [&](Sink& sink) {
    PointsTable table(sink, plan);
    for (std::size_t i = 0; i < plan.points(); ++i) table.add(point(i), overview);
  });
  if (plan.grid_points <= kMostPointsWithSeries) {
    folder.write(std::string(kVerdicts), [&](Sink& sink) { write_verdicts(sink, plan, point); });
  }
  write_series(folder, plan, point);
  write_scenario_files(folder, plan.base);
  folder.write("result.json", [&](Sink& sink) {
    sink.write(sealed(result_json(plan, overview), folder.files()));
  });
  folder.commit();
  return overview;
}

}  // namespace retrysim::report
