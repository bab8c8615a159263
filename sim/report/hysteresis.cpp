// SPDX-License-Identifier: MIT
#include "report/hysteresis.hpp"

#include "estimate/intervals.hpp"
#include "report/document/csv_writer.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"

#include <retrysim/summary.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

/// Over the replications, a number of one step.
template <auto Member>
Estimate at_step(const HysteresisReport& r, std::size_t step) {
  std::vector<double> values;
  for (const RampRun& run : r.loop.runs) values.push_back(run.steps[step].*Member);
  Estimate of_all = *estimate(values);
  respect_range(of_all, MetricRange::kNotNegative);
  return of_all;
}

std::size_t down_at(const HysteresisReport& r, std::size_t step) {
  return static_cast<std::size_t>(
      std::count_if(r.loop.runs.begin(), r.loop.runs.end(),
                    [&](const RampRun& run) { return run.steps[step].down; }));
}

/// Over the replications that have it, a number of the whole run.
template <class Value>
std::optional<Estimate> over_runs(const HysteresisReport& r, Value value) {
  std::vector<double> values;
  for (const RampRun& run : r.loop.runs) {
    if (const std::optional<double> v = value(run)) values.push_back(*v);
  }
  return estimate(values);
}

struct StepFigure {
  std::string_view name, unit, text;
  std::optional<double> (*value)(const RampRun&);
};

constexpr StepFigure kFigures[] = {
    {"tip_load", "", "tips at a load of", [](const RampRun& run) { return run.tip_load; }},
    {"tip_work", "1", "  offered work per capacity there",
     [](const RampRun& run) { return run.tip_work; }},
    {"recover_load", "", "recovers at a load of",
     [](const RampRun& run) { return run.recover_load; }},
    {"recover_work", "1", "  offered work per capacity there",
     [](const RampRun& run) { return run.recover_work; }},
    {"loop_area", "1/s^2", "loop area of goodput over load",
     [](const RampRun& run) { return std::optional(run.loop_area); }},
    {"loop_share", "1", "  share of the goodput on the way up",
     [](const RampRun& run) { return std::optional(run.loop_share); }},
};

std::string figure_text(const Estimate& e, std::size_t runs) {
  std::string text = fmt::format("{:.4g}", e.mean);
  if (e.ci_low) text += fmt::format(" (95 % interval {:.4g} to {:.4g})", *e.ci_low, *e.ci_high);
  if (e.count < runs) text += fmt::format(", in {} of {} replications", e.count, runs);
  return text;
}

}  // namespace

void write_hysteresis_csv(Sink& sink, const HysteresisReport& r) {
  CsvWriter csv(sink);
  csv.header({"scenario", "load_key", "step", "branch", "load", "unit", "offered_load",
              "offered_work", "goodput", "ci_low", "ci_high", "attempt_rate", "down", "down_share",
              "down_ci_low", "down_ci_high", "replications"});
  for (std::size_t step = 0; step < r.loop.ramp.steps(); ++step) {
    const Estimate goodput = at_step<&StepMeasurement::goodput>(r, step);
    const std::size_t down = down_at(r, step);
    const stats::ProportionInterval interval = stats::wilson_interval(down, r.loop.runs.size());
    csv.text(r.scenario.scenario.name).text(r.load.path).integer(step + 1);
    csv.text(r.loop.ramp.rising(step) ? "up" : "down")
        .real(r.loop.ramp.load(step))
        .text(r.load.unit);
    csv.real(at_step<&StepMeasurement::offered_load>(r, step).mean);
    csv.real(at_step<&StepMeasurement::offered_work>(r, step).mean);
    csv.real(goodput.mean).real(goodput.ci_low).real(goodput.ci_high);
    csv.real(at_step<&StepMeasurement::attempt_rate>(r, step).mean).integer(down);
    csv.real(static_cast<double>(down) / static_cast<double>(r.loop.runs.size()));
    csv.real(interval.low).real(interval.high).integer(r.loop.runs.size()).end_row();
  }
}

void write_hysteresis_json(Sink& sink, const HysteresisReport& r,
                           const std::vector<FileRecord>& files) {
  const Scenario& scenario = r.scenario.scenario;
  Json json = result_head("tip --hysteresis", scenario, r.loop.runs.size());
  json["load"] = {{"path", r.load.path},
                  {"unit", r.load.unit},
                  {"dwell_s", r.loop.ramp.dwell.in_seconds()},
                  {"values", r.loop.ramp.loads}};
  for (const StepFigure& figure : kFigures) {
    Json entry;
    if (const auto e = over_runs(r, figure.value)) {
      entry["unit"] = figure.unit.empty() ? r.load.unit : std::string(figure.unit);
      entry["mean"] = e->mean;
      entry["ci_low"] = optional_json(e->ci_low);
      entry["ci_high"] = optional_json(e->ci_high);
      entry["min"] = e->min;
      entry["max"] = e->max;
      entry["replications"] = e->count;
    }
    json[std::string(figure.name)] = std::move(entry);
  }
  json["notes"] = r.loop.notes;
  add_scenario(json, r.scenario);
  sink.write(sealed(json, files));
}

void write_hysteresis_text(Sink& sink, const HysteresisReport& r, std::size_t columns) {
  const Scenario& scenario = r.scenario.scenario;
  const std::size_t n = r.loop.ramp.loads.size(), runs = r.loop.runs.size();
  std::string out = wrapped(
      fmt::format("{}: {} from {:.6g} up to {:.6g} and back, {} steps of {:.6g} s, {} "
                  "replication{}, seed {}",
                  scenario.name, r.load.path, r.loop.ramp.loads.front(), r.loop.ramp.loads.back(),
                  r.loop.ramp.steps(), r.loop.ramp.dwell.in_seconds(), runs, runs == 1 ? "" : "s",
                  scenario.seed),
      {columns});
  if (!scenario.description.empty()) out += wrapped(scenario.description, {columns, "", ""});
  out += "\n";
  for (const StepFigure& figure : kFigures) {
    const auto e = over_runs(r, figure.value);
    out += fmt::format("{:<38}{}\n", figure.text, e ? figure_text(*e, runs) : "never");
  }
  out += fmt::format("\n  {:>10}  {:>6}  {:>15}  {:>15}  {:>10}  {:>10}\n", "load", "work",
                     "goodput, up", "goodput, back", "down, up", "down, back");
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t back = r.loop.ramp.steps() - 1 - i;
    const auto goodput = [&](std::size_t step) {
      const Estimate e = at_step<&StepMeasurement::goodput>(r, step);
      return e.ci_low ? fmt::format("{:.1f} ± {:.1f}", e.mean, *e.half_width())
                      : fmt::format("{:.1f}", e.mean);
    };
    const auto down = [&](std::size_t step) {
      return fmt::format("{} of {}", down_at(r, step), runs);
    };
    out += fmt::format("  {:>10.6g}  {:>6.3f}  {:>15}  {:>15}  {:>10}  {:>10}\n",
                       r.loop.ramp.loads[i], at_step<&StepMeasurement::offered_work>(r, i).mean,
                       goodput(i), goodput(back), down(i), down(back));
  }
  sink.write(out + notes_text(r.loop.notes, columns));
}

void write_hysteresis_files(ResultFolder& folder, const HysteresisReport& r) {
  folder.write("hysteresis.csv", [&](Sink& sink) { write_hysteresis_csv(sink, r); });
  write_scenario_files(folder, r.scenario);
  folder.write("result.json", [&](Sink& sink) { write_hysteresis_json(sink, r, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report
