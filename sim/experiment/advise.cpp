// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/metrics.hpp>

#include "estimate/paired.hpp"
#include "execution/executor.hpp"
#include "execution/run_bytes.hpp"
#include "execution/units.hpp"
#include "experiment/single_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

namespace retrysim {
namespace {

using stats::Series;

constexpr std::size_t kMeasures = 14;
// Places of the aims among the measures.
constexpr std::size_t kSuccess = 0, kRecovered = 1, kRecoveryTime = 2, kWithin = 3, kLatency = 4;
// Places of the parts of the success.
constexpr std::size_t kDisturbed = 5, kQuiet = 6;

const std::array<AdviceMeasure, kMeasures>& measures() {
  const auto of = [](std::string_view name) { return find_metric(name); };
  const MetricInfo* success = of("success_rate");
  static const std::array<AdviceMeasure, kMeasures> table = {{
      {"success_rate", "success", success, false, true},
      {"recovered", "recovery", of("recovered"), false, true},
      {"recovery_s", "time to recover", of("recovery_s"), false, true},
      {"success_rate_within_duration", "success within the duration",
       of("success_rate_within_duration"), false, true},
      {"latency_ok_mean", "mean latency of successes", of("latency_ok_mean"), false, true},
      {"disturbed_success_rate", "success during the disturbance", of("disturbed_success_rate")},
      {"quiet_success_rate", "success before the disturbance", success, true},
      {"latency_ok_p99", "p99 latency of successes", of("latency_ok_p99")},
      {"connection_wait_mean", "wait for a connection", of("connection_wait_mean")},
      {"amplification", "attempts per request", of("amplification")},
      {"wasted_share", "wasted capacity", of("wasted_share")},
      {"peak_attempt_rate", "peak attempt rate", of("peak_attempt_rate")},
      {"degraded_share", "share of degraded answers", of("degraded_share")},
      {"duplicate_share", "share of duplicates", of("duplicate_share")},
  }};
  return table;
}

/// A latency of successes, and that of all requests, which tells whether a difference is one of the
/// requests that succeed on both sides or only on one.
struct LatencyPair {
  std::size_t measure;
  std::string_view of_all;
};
constexpr LatencyPair kLatencies[] = {{kLatency, "latency_mean"}, {7, "latency_p99"}};

/// Series of values by replication.
struct Values {
  /// The values of every measure, of all client groups together; then the latencies of all
  /// requests.
  std::array<Series, kMeasures + std::size(kLatencies)> of_all;
  /// The success rate of each of `advised_groups`.
  std::vector<Series> of_groups;

  Series& operator[](std::size_t m) { return of_all[m]; }
  const Series& operator[](std::size_t m) const { return of_all[m]; }
};

/// The groups that are also judged alone, by number: groups of clients outside, the highest
/// priority first; none if all have the same priority.
std::vector<std::size_t> advised_groups(const Scenario& scenario) {
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    if (!scenario.clients[i].makes_calls()) groups.push_back(i);
  }
  const auto priority = [&](std::size_t i) { return scenario.clients[i].priority; };
  std::ranges::stable_sort(groups, std::greater(), priority);
  if (!groups.empty() && priority(groups.front()) == priority(groups.back())) groups.clear();
  return groups;
}

Values values_of(const Scenario& scenario, std::span<const execution::UnitResult> rows) {
  const MetricValues metrics = execution::combine(rows);
  const std::vector<Phase> phases = phases_of(scenario);
  const auto quiet = std::find_if(phases.begin(), phases.end(),
                                  [](const Phase& p) { return p.kind == PhaseKind::kBefore; });
  const PhaseValues by_phase = execution::combine_phases(rows);
  const stats::ToldRecoveries told = experiment::told_by(rows);
  Values values;
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const AdviceMeasure& measure = measures()[m];
    const auto& of_phases = phase_metrics();
    const auto place = static_cast<std::size_t>(
        std::find_if(of_phases.begin(), of_phases.end(),
                     [&](const MetricInfo* i) { return i->name == measure.metric->name; }) -
        of_phases.begin());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (m == kRecovered) {
        values[m].push_back(told.recovered(metrics, r, metrics.clients() - 1));
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
  for (std::size_t l = 0; l < std::size(kLatencies); ++l) {
    const std::size_t place = index_of(*find_metric(kLatencies[l].of_all));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      values[kMeasures + l].push_back(metrics.at(r, metrics.clients() - 1, place));
    }
  }
  for (const std::size_t group : advised_groups(scenario)) {
    Series& series = values.of_groups.emplace_back();
    const std::size_t place = index_of(*measures()[kSuccess].metric);
    for (std::size_t r = 0; r < rows.size(); ++r) series.push_back(metrics.at(r, group, place));
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

/// Removes the success within the duration unless the drain makes it differ from the success rate.
void leave_out_drain(Values& now, std::vector<Values>& tried) {
  constexpr double kNoteworthy = 0.01;
  const auto differs = [](const Values& v) {
    const auto all = mean_of(v[kSuccess]), within = mean_of(v[kWithin]);
    return all && within && *all - *within > kNoteworthy;
  };
  if (differs(now) || std::any_of(tried.begin(), tried.end(), differs)) return;
  std::fill(now[kWithin].begin(), now[kWithin].end(), std::nullopt);
  for (Values& v : tried) std::fill(v[kWithin].begin(), v[kWithin].end(), std::nullopt);
}

/// The values of all scenarios, in the order of `scenarios`; `duration_to_judge_s` becomes the
/// duration with which all runs would tell whether they recover, 0 if they do.
std::vector<Values> values_of_all(const std::vector<const Scenario*>& scenarios,
                                  const ReplicationOptions& options, double& duration_to_judge_s) {
  std::vector<execution::Unit> wanted;
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    for (int r = 0; r < scenarios[s]->replications; ++r) {
      wanted.push_back({s, static_cast<std::uint32_t>(r)});
    }
  }
  execution::Units units;
  units.count = wanted.size();
  units.unit = [&](std::size_t i) { return wanted[i]; };
  units.scenario = [&](std::size_t s) { return execution::borrowed(*scenarios[s]); };
  const std::vector<execution::UnitResult> rows = execution::get_rows(units, options);
  execution::check_events(rows, options);
  const stats::ToldRecoveries told = experiment::told_by(rows);
  duration_to_judge_s = rows.empty() ? 0 : told.duration_s(rows.front().clients - 1);
  std::vector<Values> values;
  std::span<const execution::UnitResult> rest(rows);
  for (const Scenario* scenario : scenarios) {
    const auto n = static_cast<std::size_t>(scenario->replications);
    values.push_back(values_of(*scenario, rest.first(n)));
    rest = rest.subspan(n);
  }
  return values;
}

/// Whether a significant difference matters. A recovery that is sooner by less than the time over
/// which dips in goodput average out is the same recovery.
bool matters(const AdviceMeasure& measure, const Scenario& scenario, const PairedDifference& d) {
  if (&measure == &measures()[kRecoveryTime]) {
    return std::fabs(d.difference) >= scenario.recovery.window.in_seconds();
  }
  constexpr double kLatencyThatMatters = 0.1;
  if (&measure == &measures()[kLatency]) {
    return d.relative && std::fabs(*d.relative) >= kLatencyThatMatters;
  }
  return !is_negligible(*measure.metric, d);
}

int direction_of(const AdviceMeasure& measure, const Scenario& scenario,
                 const PairedDifference& d) {
  if (!d.significant || !matters(measure, scenario, d)) return 0;
  const bool more_is_better = measure.metric->display.better == MetricBetter::kHigher;
  return (d.difference > 0) == more_is_better ? 1 : -1;
}

/// Adds the effects of all remedies on one measure: one family of comparisons.
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

/// Adds the remedies' effects on the success of each group: one family of comparisons each.
void compare_groups(std::size_t aims, const Values& now, const std::vector<Values>& tried,
                    Advice& advice) {
  const AdviceMeasure& measure = measures()[kSuccess];
  for (std::size_t g = 0; g < advice.groups.size(); ++g) {
    std::vector<Series> series;
    for (const Values& values : tried) series.push_back(values.of_groups[g]);
    const auto differences = stats::metric_differences(*measure.metric, series, now.of_groups[g],
                                                       kFamilyError / static_cast<double>(aims));
    for (std::size_t t = 0; t < advice.trials.size(); ++t) {
      const int direction = direction_of(measure, advice.scenario.scenario, differences[t]);
      advice.trials[t].groups.push_back({differences[t], direction});
    }
  }
}

/// Drops changes in latency that may come from different requests: if more or fewer requests
/// succeed, the successes include, say, requests made during the outage. The latency of successes
/// then counts as changed only if the latency of all requests has changed significantly in the same
/// direction.
void leave_out_other_requests(const Values& now, const std::vector<Values>& tried,
                              std::vector<RemedyTrial>& trials) {
  for (std::size_t l = 0; l < std::size(kLatencies); ++l) {
    std::vector<Series> of_all;
    for (const Values& values : tried) of_all.push_back(values[kMeasures + l]);
    const auto differences = stats::metric_differences(*find_metric(kLatencies[l].of_all), of_all,
                                                       now[kMeasures + l], kFamilyError);
    for (std::size_t t = 0; t < trials.size(); ++t) {
      std::vector<RemedyEffect>& effects = trials[t].effects;
      RemedyEffect& latency = effects[kLatencies[l].measure];
      if (effects[kSuccess].direction == 0 && effects[kWithin].direction == 0) continue;
      const bool agrees = differences[t].significant &&
                          (differences[t].difference < 0) == (latency.difference.difference < 0);
      if (!agrees) latency.direction = 0;
    }
  }
}

/// Whether the success of a group has changed in `direction`, among the groups of the highest
/// priority with any change.
bool changes_first(const RemedyTrial& trial, const std::vector<AdvisedGroup>& groups,
                   int direction) {
  bool found = false;
  for (std::size_t g = 0, first = groups.size(); g < groups.size(); ++g) {
    if (trial.groups[g].direction == 0) continue;
    if (first == groups.size()) first = g;
    if (groups[g].priority != groups[first].priority) break;
    found |= trial.groups[g].direction == direction;
  }
  return found;
}

/// Whether a difference that is not significant may be a large one, as far as its interval tells.
bool may_be_large(const PairedDifference& d) {
  constexpr double kLarge = 0.01;  // of the requests, or of the runs
  return d.interval && !d.significant && !d.identical &&
         std::max(-d.interval->low, d.interval->high) > kLarge;
}

RemedyVerdict judge(const RemedyTrial& trial, const std::vector<AdvisedGroup>& groups) {
  const std::vector<RemedyEffect>& effects = trial.effects;
  const auto any = [&](int direction) {
    return effects[kSuccess].direction == direction || effects[kRecovered].direction == direction ||
           effects[kWithin].direction == direction || changes_first(trial, groups, direction);
  };
  if (any(1)) return any(-1) ? RemedyVerdict::kMixed : RemedyVerdict::kHelps;
  if (any(-1)) return RemedyVerdict::kHarms;
  // A remedy that is faster but loses successes in a part of the run is no help.
  const bool loses = effects[kDisturbed].direction < 0 || effects[kQuiet].direction < 0;
  for (const std::size_t m : {kRecoveryTime, kLatency}) {
    if (effects[m].direction > 0) return loses ? RemedyVerdict::kMixed : RemedyVerdict::kHelps;
    if (effects[m].direction < 0) return RemedyVerdict::kHarms;
  }
  for (const std::size_t m : {kSuccess, kRecovered, kWithin}) {
    if (may_be_large(effects[m].difference)) return RemedyVerdict::kNotClear;
  }
  return RemedyVerdict::kNoDifference;
}

/// The indices of the trials, the best first.
std::vector<std::size_t> ranking(const std::vector<RemedyTrial>& trials) {
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const RemedyTrial &x = trials[a], &y = trials[b];
    if (x.verdict != y.verdict) return x.verdict < y.verdict;
    const auto rank = [](const RemedyTrial& t) {
      const auto mean = [&](std::size_t m) { return t.means[m]; };
      const double success = mean(mean(kWithin) ? kWithin : kSuccess).value_or(0);
      std::vector<double> of_groups;
      for (const RemedyEffect& g : t.groups) {
        of_groups.push_back(-std::round(g.difference.mean * 100));
      }
      return std::tuple(std::move(of_groups), -std::round(success * 1000),
                        -mean(kRecovered).value_or(0), mean(kLatency).value_or(0));
    };
    return rank(x) < rank(y);
  });
  return order;
}

/// Marks the trials that help as much as the first one, as far as can be told. Which trial is first
/// is known only now, so the tests allow for each of the trials in its place, and for all aims.
void find_equals(std::vector<RemedyTrial>& ranked, const std::vector<Values>& values,
                 const Scenario& scenario) {
  std::size_t others = 0;
  while (others + 1 < ranked.size() && ranked[others + 1].verdict == RemedyVerdict::kHelps) {
    ranked[++others].as_good_as_first = true;
  }
  constexpr std::size_t kTests[] = {kSuccess, kWithin, kLatency};
  const std::size_t groups = values.front().of_groups.size();
  const double error =
      kFamilyError / static_cast<double>((std::size(kTests) + groups) * ranked.size());
  const auto test = [&](std::size_t m, const auto& series_of) {
    std::vector<Series> series;
    for (std::size_t t = 1; t <= others; ++t) series.push_back(series_of(values[t]));
    const AdviceMeasure& measure = measures()[m];
    const auto differences =
        stats::metric_differences(*measure.metric, series, series_of(values.front()), error);
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (direction_of(measure, scenario, differences[i]) < 0) {
        ranked[i + 1].as_good_as_first = false;
      }
    }
  };
  for (const std::size_t m : kTests) {
    if (exists(values.front()[m])) test(m, [&](const Values& v) { return v[m]; });
  }
  for (std::size_t g = 0; g < groups; ++g) {
    test(kSuccess, [&](const Values& v) { return v.of_groups[g]; });
  }
}

Advice advise_within(LoadedScenario scenario, std::vector<Remedy> remedies,
                     const ReplicationOptions& options) {
  Advice advice{std::move(scenario), std::nullopt, {}, {}, {}, {}, 0};
  for (Remedy& remedy : remedies) {
    if (remedy.state != RemedyState::kTried) {
      advice.not_tried.push_back(std::move(remedy));
    } else {
      advice.trials.push_back({std::move(remedy), {}, {}, {}});
    }
  }
  if (advice.scenario.scenario.warmup_is_auto) {
    advice.warmup = execution::before_more(
        [&] { return find_warmup(std::span(&advice.scenario.scenario, 1), options); });
    take_warmup(advice.scenario, *advice.warmup);
  }
  std::vector<const Scenario*> scenarios = {&advice.scenario.scenario};
  for (RemedyTrial& trial : advice.trials) {
    LoadedScenario& loaded = *trial.remedy.loaded;
    if (loaded.scenario.warmup_is_auto) take_warmup(loaded, *advice.warmup);
    scenarios.push_back(&loaded.scenario);
  }
  std::vector<Values> tried = values_of_all(scenarios, options, advice.duration_to_judge_s);
  Values now = std::move(tried.front());
  tried.erase(tried.begin());
  leave_out_drain(now, tried);
  for (std::size_t m = 0; m < kMeasures; ++m) advice.means.push_back(mean_of(now[m]));
  for (std::size_t t = 0; t < tried.size(); ++t) {
    for (std::size_t m = 0; m < kMeasures; ++m) {
      advice.trials[t].means.push_back(mean_of(tried[t][m]));
    }
  }
  for (const std::size_t i : advised_groups(advice.scenario.scenario)) {
    const ClientSpec& client = advice.scenario.scenario.clients[i];
    const Series& success = now.of_groups[advice.groups.size()];
    advice.groups.push_back({client.name, client.priority, mean_of(success)});
  }
  std::size_t aims = advice.groups.size();
  for (std::size_t m = 0; m < kMeasures; ++m) {
    aims += measures()[m].is_aim && (m == kSuccess || exists(now[m])) ? 1 : 0;
  }
  for (std::size_t m = 0; m < kMeasures; ++m) compare_all(m, aims, now, tried, advice);
  compare_groups(aims, now, tried, advice);
  leave_out_other_requests(now, tried, advice.trials);
  for (RemedyTrial& trial : advice.trials) trial.verdict = judge(trial, advice.groups);
  std::vector<RemedyTrial> ranked;
  std::vector<Values> values;
  for (const std::size_t place : ranking(advice.trials)) {
    ranked.push_back(std::move(advice.trials[place]));
    values.push_back(std::move(tried[place]));
  }
  advice.trials = std::move(ranked);
  if (!values.empty()) find_equals(advice.trials, values, advice.scenario.scenario);
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
