// SPDX-License-Identifier: MIT
#include "report/hysteresis.hpp"

#include <retrysim/metrics.hpp>

#include "measure/analyse/recovery.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

/// A step of the ramp in all replications.
class Step {
 public:
  Step(const HysteresisLoop& loop, std::size_t number) : loop_(loop), number_(number) {}

  std::size_t number() const { return number_; }
  double load() const { return loop_.ramp.load(number_); }
  bool is_rising() const { return loop_.ramp.rising(number_); }

  Estimate mean(double StepMeasurement::*member) const {
    std::vector<double> values;
    for (const RampRun& run : loop_.runs) values.push_back(run.steps[number_].*member);
    Estimate of_all = *estimate(values);
    respect_range(of_all, MetricRange::kNotNegative);
    return of_all;
  }

  std::size_t down() const {
    return static_cast<std::size_t>(
        std::count_if(loop_.runs.begin(), loop_.runs.end(),
                      [&](const RampRun& run) { return run.steps[number_].down; }));
  }

  std::string goodput_text() const {
    const Estimate e = mean(&StepMeasurement::goodput);
    return e.ci_low
               ? fmt::format("{} ± {}", format_fixed(e.mean, 1), format_fixed(*e.half_width(), 1))
               : fmt::format("{:.1f}", e.mean);
  }
  std::string down_text() const { return n_of(down(), loop_.runs.size()); }

 private:
  const HysteresisLoop& loop_;
  std::size_t number_;
};

/// A row for each step, in order: means over the replications, with the interval of the goodput.
CellTable steps_table(const Scenario& scenario, const LoadKey& load, const HysteresisLoop& loop) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < loop.ramp.steps(); ++i) steps.emplace_back(loop, i);
  const std::size_t runs = loop.runs.size();
  Columns<Step> t;
  t.csv("scenario", always(scenario.name));
  t.csv("load_key", always(load.path));
  t.csv("step", [](auto& s) { return s.number() + 1; }).unit("1");
  t.csv("branch", [](auto& s) { return s.is_rising() ? "up" : "down"; });
  t.csv("load", [](auto& s) { return s.load(); }).unit(load.unit);
  t.csv("unit", always(load.unit));
  t.csv("offered_load", [](auto& s) { return s.mean(&StepMeasurement::offered_load).mean; });
  t.csv("offered_work", [](auto& s) { return s.mean(&StepMeasurement::offered_work).mean; });
  t.csv("goodput ci_low ci_high", [](auto& s) {
     return ranged(s.mean(&StepMeasurement::goodput));
   }).unit("1/s");
  t.csv("attempt_rate", [](auto& s) { return s.mean(&StepMeasurement::attempt_rate).mean; });
  t.csv("down", [](auto& s) { return s.down(); }).unit("replications");
  t.csv("down_share down_ci_low down_ci_high", [runs](auto& s) {
     return share(s.down(), runs);
   }).unit("1");
  t.csv("replications", always(runs));
  return {t, steps};
}

/// A row for each load: on the way up, and on the way back.
TextTable loads_table(const HysteresisLoop& loop) {
  TextTable table;
  table.indent = 2;
  table.columns = {{"load", Side::kRight, 10},        {"work", Side::kRight, 6},
                   {"goodput, up", Side::kRight, 15}, {"goodput, back", Side::kRight, 15},
                   {"down, up", Side::kRight, 10},    {"down, back", Side::kRight, 10}};
  for (std::size_t i = 0; i < loop.ramp.loads.size(); ++i) {
    const Step up(loop, i), back(loop, loop.ramp.steps() - 1 - i);
    table.rows.push_back(
        {{scenario::said_number(up.load(), 6),
          fmt::format("{:.3f}", up.mean(&StepMeasurement::offered_work).mean), up.goodput_text(),
          back.goodput_text(), up.down_text(), back.down_text()}});
  }
  return table;
}

/// A number of a whole run.
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

/// The estimate of a figure over the replications that have it.
std::optional<Estimate> over_runs(const HysteresisLoop& loop, const StepFigure& figure) {
  std::vector<double> values;
  for (const RampRun& run : loop.runs) {
    if (const std::optional<double> v = figure.value(run)) values.push_back(*v);
  }
  return estimate(values);
}

std::string figure_text(const std::optional<Estimate>& e, std::size_t runs) {
  if (!e) return "never";
  std::string text = scenario::said_number(e->mean, 4);
  if (e->ci_low)
    text += fmt::format(" (95 % interval {} to {})", scenario::said_number(*e->ci_low, 4),
                        scenario::said_number(*e->ci_high, 4));
  if (e->count < runs) text += fmt::format(", in {} of {} replications", e->count, runs);
  return text;
}

Json figure_json(const std::optional<Estimate>& e, std::string_view unit) {
  if (!e) return {};
  return {{"unit", unit},
          {"mean", e->mean},
          {"ci_low", optional_json(e->ci_low)},
          {"ci_high", optional_json(e->ci_high)},
          {"min", e->min},
          {"max", e->max},
          {"replications", e->count}};
}

}  // namespace

Document hysteresis_document(const LoadedScenario& loaded, const LoadKey& load,
                             const HysteresisLoop& loop) {
  const Scenario& scenario = loaded.scenario;
  const std::size_t runs = loop.runs.size();
  const double dwell_s = loop.ramp.dwell.in_seconds();
  Document d;
  const Heading heading = heading_of(loaded, {&load.path, 1});
  d.title(heading, fmt::format("{} from {} up to {} and back, {} of {} s, {}, "
                               "seed {}",
                               load.path, scenario::said_number(loop.ramp.loads.front(), 6),
                               scenario::said_number(loop.ramp.loads.back(), 6),
                               scenario::said_things(loop.ramp.steps(), "step"),
                               scenario::said_number(dwell_s, 6),
                               scenario::said_things(runs, "replication"), scenario.seed));
  d.gap().head("tip --hysteresis", heading, scenario, runs);
  d.member("load", {{"path", load.path},
                    {"unit", load.unit},
                    {"dwell_s", dwell_s},
                    {"values", loop.ramp.loads}});
  for (const StepFigure& figure : kFigures) {
    const std::optional<Estimate> e = over_runs(loop, figure);
    d.lines(fmt::format("{:<38}{}\n", figure.text, figure_text(e, runs)));
    d.member(std::string(figure.name),
             figure_json(e, figure.unit.empty() ? load.unit : figure.unit));
  }
  d.gap().show(loads_table(loop)).notes(loop.notes);
  d.member("notes", loop.notes).scenario_members(loaded);
  return d.tables(hysteresis_tables(scenario, load, loop)).scenario_file(loaded);
}

std::vector<TableSource> hysteresis_tables(const Scenario& scenario, const LoadKey& load,
                                           const HysteresisLoop& loop) {
  return {source_of("hysteresis", steps_table(scenario, load, loop))};
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const Scenario& scenario, const LoadKey& key, const HysteresisLoop& loop) {
  return Tables(report::hysteresis_tables(scenario, key, loop));
}

}  // namespace retrysim
