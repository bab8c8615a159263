// SPDX-License-Identifier: MIT
#include <retrysim/advise.hpp>
#include <retrysim/summary.hpp>

#include "estimate/paired.hpp"
#include "execution/executor.hpp"
#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace retrysim {
namespace {

using stats::Series;

constexpr std::size_t kMeasures = 9;
constexpr std::size_t kSuccess = 0, kRecovered = 1, kRecoveryTime = 2;  // the aims

const std::array<AdviceMeasure, kMeasures>& measures() {
  const auto of = [](std::string_view name) { return find_metric(name); };
  const MetricInfo* success = of("success_rate");
  static const std::array<AdviceMeasure, kMeasures> table = {{
      {"success_rate", "success", success, false, true},
      {"recovered", "recovery", of("recovered"), false, true},
      {"recovery_s", "time to recover", of("recovery_s"), false, true},
      {"disturbed_success_rate", "success during the disturbance", of("disturbed_success_rate")},
      {"quiet_success_rate", "success before the disturbance", success, true},
      {"latency_p99", "p99 latency", of("latency_p99")},
      {"amplification", "attempts per request", of("amplification")},
      {"wasted_share", "wasted capacity", of("wasted_share")},
      {"peak_attempt_rate", "peak attempt rate", of("peak_attempt_rate")},
  }};
  return table;
}

/// The value of every measure by replication, of all client groups together.
using Values = std::array<Series, kMeasures>;

Values values_of(const Scenario& scenario, const std::vector<RunResult>& runs) {
  const MetricValues metrics(scenario, runs);
  const std::vector<Phase> phases = phases_of(scenario);
  const auto quiet = std::find_if(phases.begin(), phases.end(),
                                  [](const Phase& p) { return p.kind == PhaseKind::kBefore; });
  const PhaseValues by_phase(scenario, runs);
  Values values;
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const AdviceMeasure& measure = measures()[m];
    const auto& of_phases = phase_metrics();
    const auto place = static_cast<std::size_t>(
        std::find_if(of_phases.begin(), of_phases.end(),
                     [&](const MetricInfo* i) { return i->name == measure.metric->name; }) -
        of_phases.begin());
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (m == kRecovered && !stats::can_confirm_recovery(scenario)) {
        values[m].push_back(std::nullopt);  // it would be 0, whatever happens
      } else if (!measure.in_quiet) {
        values[m].push_back(metrics.at(r, metrics.clients() - 1, index_of(*measure.metric)));
      } else if (quiet != phases.end()) {
        values[m].push_back(by_phase.at(r, by_phase.clients() - 1,
                                        static_cast<std::size_t>(quiet - phases.begin()), place));
      } else {
        values[m].push_back(std::nullopt);
      }
    }
  }
  return values;
}

bool exists(const Series& series) {
  return std::any_of(series.begin(), series.end(), [](const auto& v) { return v.has_value(); });
}

std::optional<double> mean_of(const Series& series) {
  std::vector<double> values;
  for (const auto& v : series) {
    if (v) values.push_back(*v);
  }
  const auto e = estimate(values);
  return e ? std::optional(e->mean) : std::nullopt;
}

/// Runs the scenarios one after the other and keeps only their values: many variants with all their
/// series would take too much memory.
class Bench {
 public:
  Bench(const ReplicationOptions& options, std::size_t scenarios)
      : options_(options), scenarios_(scenarios) {}

  Values run(const Scenario& scenario) {
    ReplicationOptions one = options_;
    one.first = 0;
    one.max_events = options_.max_events - events_;
    if (options_.progress) {
      one.progress = [this](double share) {
        options_.progress((static_cast<double>(done_) + share) / static_cast<double>(scenarios_));
      };
    }
    const std::vector<RunResult> runs = run_replications(scenario, one);
    for (const RunResult& run : runs) events_ += run.events;
    ++done_;
    return values_of(scenario, runs);
  }

 private:
  const ReplicationOptions& options_;
  std::size_t scenarios_, done_ = 0;
  std::uint64_t events_ = 0;
};

/// Whether a significant difference matters. A recovery that is sooner by less than the time over
/// which dips in goodput average out is the same recovery.
bool matters(const AdviceMeasure& measure, const Scenario& scenario, const PairedDifference& d) {
  if (&measure == &measures()[kRecoveryTime]) {
    return std::fabs(d.difference) >= scenario.recovery.window.in_seconds();
  }
  return !is_negligible(*measure.metric, d);
}

int direction_of(const AdviceMeasure& measure, const Scenario& scenario,
                 const PairedDifference& d) {
  if (!d.significant || !matters(measure, scenario, d)) return 0;
  const bool more_is_better = measure.metric->display.better == MetricBetter::kHigher;
  return (d.difference > 0) == more_is_better ? 1 : -1;
}

/// The effects of all remedies on one measure: one family of comparisons.
void compare_all(std::size_t m, std::size_t aims, const Values& now,
                 const std::vector<Values>& tried, Advice& advice) {
  const AdviceMeasure& measure = measures()[m];
  std::vector<Series> series;
  for (const Values& values : tried) series.push_back(values[m]);
  const double error = measure.is_aim ? kFamilyError / static_cast<double>(aims) : kFamilyError;
  const auto differences = stats::metric_differences(*measure.metric, series, now[m], error);
  for (std::size_t t = 0; t < advice.trials.size(); ++t) {
    const int direction = direction_of(measure, advice.scenario.scenario, differences[t]);
    advice.trials[t].effects.push_back({differences[t], direction});
  }
}

RemedyVerdict judge(const std::vector<RemedyEffect>& effects) {
  const auto any = [&](int direction) {
    return effects[kSuccess].direction == direction || effects[kRecovered].direction == direction;
  };
  if (any(1)) return any(-1) ? RemedyVerdict::kMixed : RemedyVerdict::kHelps;
  if (any(-1)) return RemedyVerdict::kHarms;
  switch (effects[kRecoveryTime].direction) {
    case 1:
      return RemedyVerdict::kHelps;
    case -1:
      return RemedyVerdict::kHarms;
    default:
      return RemedyVerdict::kNoDifference;
  }
}

/// The places of the trials, the best first.
std::vector<std::size_t> ranking(const std::vector<RemedyTrial>& trials) {
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const RemedyTrial &x = trials[a], &y = trials[b];
    if (x.verdict != y.verdict) return x.verdict < y.verdict;
    return x.effects[kSuccess].difference.mean > y.effects[kSuccess].difference.mean;
  });
  return order;
}

/// Marks those that help as much as the first one, as far as can be told. Which one is the first is
/// known only now, so the tests have to hold for each of the trials in its place.
void find_equals(std::vector<RemedyTrial>& ranked, const std::vector<Series>& success) {
  std::vector<Series> others;
  for (std::size_t t = 1; t < ranked.size() && ranked[t].verdict == RemedyVerdict::kHelps; ++t) {
    others.push_back(success[t]);
  }
  if (others.empty()) return;
  const double error = kFamilyError / static_cast<double>(ranked.size());
  const auto differences =
      stats::metric_differences(*measures()[kSuccess].metric, others, success.front(), error);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const PairedDifference& d = differences[i];
    ranked[i + 1].as_good_as_first =
        !d.significant || is_negligible(*measures()[kSuccess].metric, d);
  }
}

Advice advise_within(LoadedScenario scenario, std::vector<Remedy> remedies,
                     const ReplicationOptions& options) {
  Advice advice{std::move(scenario), std::nullopt, {}, {}, {}};
  for (Remedy& remedy : remedies) {
    if (remedy.state != RemedyState::kTried) {
      advice.not_tried.push_back(std::move(remedy));
    } else {
      advice.trials.push_back({std::move(remedy), {}, {}});
    }
  }
  if (advice.scenario.scenario.warmup_is_auto) {
    advice.warmup = find_warmup(std::span(&advice.scenario.scenario, 1), options);
    take_warmup(advice.scenario, *advice.warmup);
  }
  Bench bench(options, advice.trials.size() + 1);
  const Values now = bench.run(advice.scenario.scenario);
  for (const Series& series : now) advice.means.push_back(mean_of(series));
  std::vector<Values> tried;
  for (RemedyTrial& trial : advice.trials) {
    LoadedScenario& loaded = *trial.remedy.loaded;
    if (loaded.scenario.warmup_is_auto) take_warmup(loaded, *advice.warmup);
    tried.push_back(bench.run(loaded.scenario));
    for (const Series& series : tried.back()) trial.means.push_back(mean_of(series));
  }
  std::size_t aims = 0;
  for (std::size_t m = 0; m < kMeasures; ++m) {
    aims += measures()[m].is_aim && (m == kSuccess || exists(now[m])) ? 1 : 0;
  }
  for (std::size_t m = 0; m < kMeasures; ++m) compare_all(m, aims, now, tried, advice);
  for (RemedyTrial& trial : advice.trials) trial.verdict = judge(trial.effects);
  std::vector<RemedyTrial> ranked;
  std::vector<Series> success;
  for (const std::size_t place : ranking(advice.trials)) {
    ranked.push_back(std::move(advice.trials[place]));
    success.push_back(std::move(tried[place][kSuccess]));
  }
  advice.trials = std::move(ranked);
  find_equals(advice.trials, success);
  return advice;
}

}  // namespace

std::span<const AdviceMeasure> advice_measures() { return measures(); }

std::size_t Advice::helping() const {
  return static_cast<std::size_t>(
      std::count_if(trials.begin(), trials.end(),
                    [](const RemedyTrial& t) { return t.verdict == RemedyVerdict::kHelps; }));
}

Advice advise(LoadedScenario scenario, std::vector<Remedy> remedies,
              const ReplicationOptions& options) {
  return execution::in_time(options, [&](const ReplicationOptions& limited) {
    return advise_within(std::move(scenario), std::move(remedies), limited);
  });
}

}  // namespace retrysim
