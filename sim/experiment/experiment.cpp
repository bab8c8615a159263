// A whole experiment: the warm-up found in pilot replications, then replications in stages until
// the intervals are narrow enough.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include "estimate/intervals.hpp"
#include "estimate/steady_state.hpp"
#include "execution/executor.hpp"
#include "execution/units.hpp"
#include "measure/analyse/series.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace retrysim {

namespace {

/// Values of one metric of all clients together, as replications come in.
class Watched {
 public:
  explicit Watched(const MetricInfo& metric) : metric_(&metric) {}

  void add(const Scenario& scenario, const RunResult& run) {
    if (const auto v = metric_value(*metric_, scenario, run, std::nullopt)) values_.push_back(*v);
  }
  double mean() const {
    const auto e = estimate(values_);
    return e ? e->mean : 0;
  }
  MetricPrecision judge(double target, double offered_load) const {
    MetricPrecision result{std::string(metric_->name), std::nullopt, true};
    const auto e = estimate(values_);
    if (!e) return result;  // the metric does not exist here
    if (metric_->kind == MetricKind::kProbability) {
      result.reached = unseen();
      result.met = *result.reached <= target;
      return result;
    }
    constexpr double kSizeOfShares = 0.1;
    double size = std::fabs(e->mean);
    if (metric_->display.percentage) size = std::max(size, kSizeOfShares);
    if (metric_->unit == "1/s") size = std::max(size, kSizeOfShares * offered_load);
    const auto half = e->half_width();
    if (half && *half <= 0) {
      result.reached = 0;
    } else if (half && size > 0) {
      result.reached = *half / size;
    }
    result.met = result.reached && *result.reached <= target / (1 + target);
    return result;
  }

 private:
  /// How far a probability may lie from the share that was seen, with 95 % confidence. For an event
  /// that happened always or never, the share that could have been missed (the rule of three);
  /// otherwise the wider side of Wilson's interval.
  double unseen() const {
    const auto n = static_cast<double>(values_.size());
    const auto hits = static_cast<std::size_t>(std::count(values_.begin(), values_.end(), 1.0));
    if (hits == 0 || hits == values_.size()) return 1 - std::pow(0.05, 1 / n);
    const stats::ProportionInterval interval = stats::wilson_interval(hits, values_.size());
    const double seen = static_cast<double>(hits) / n;
    return std::max(seen - interval.low, interval.high - seen);
  }

  const MetricInfo* metric_;
  std::vector<double> values_;
};

class SequentialStopping {
 public:
  explicit SequentialStopping(const Scenario& scenario)
      : scenario_(scenario), offered_load_(*find_metric("offered_load")) {
    for (const std::string& name : scenario.precision.metrics) {
      const MetricInfo* metric = find_metric(name);
      if (metric == nullptr) throw std::invalid_argument("there is no metric " + name);
      watched_.emplace_back(*metric);
    }
  }

  void add(const RunResult& run) {
    offered_load_.add(scenario_, run);
    for (Watched& w : watched_) w.add(scenario_, run);
  }
  PrecisionReport judge() const {
    PrecisionReport report;
    report.target = scenario_.precision.target;
    report.met = true;
    bool any = false;
    for (const Watched& w : watched_) {
      report.metrics.push_back(w.judge(scenario_.precision.target, offered_load_.mean()));
      report.met = report.met && report.metrics.back().met;
      any = any || report.metrics.back().reached;
    }
    report.met = report.met && any;
    return report;
  }

 private:
  const Scenario& scenario_;
  Watched offered_load_;
  std::vector<Watched> watched_;
};

std::uint64_t events_of(const std::vector<RunResult>& runs) {
  std::uint64_t events = 0;
  for (const RunResult& run : runs) events += run.events;
  return events;
}

void run_in_stages(const Scenario& scenario, const ReplicationOptions& options,
                   Experiment& experiment) {
  SequentialStopping stopping(scenario);
  const int limit = std::max(scenario.precision.max_replications, scenario.replications);
  const std::uint64_t kept_of_each = total_bytes(needs_of(scenario).result);
  for (int until = scenario.replications;; until = next_replications(until, limit)) {
    Scenario stage = scenario;
    const auto done = experiment.runs.size();
    stage.replications = until - static_cast<int>(done);
    ReplicationOptions stage_options = options;
    stage_options.first = static_cast<std::uint32_t>(done);
    stage_options.max_events = options.max_events - events_of(experiment.runs);
    stage_options.kept_memory = options.kept_memory + done * kept_of_each;
    if (options.progress) {
      stage_options.progress = [&](double share) {
        options.progress((static_cast<double>(done) + share * stage.replications) / until);
      };
    }
    std::vector<RunResult> more =
        until < limit
            ? execution::before_more([&] { return run_replications(stage, stage_options); })
            : run_replications(stage, stage_options);
    for (const RunResult& run : more) stopping.add(run);
    std::move(more.begin(), more.end(), std::back_inserter(experiment.runs));
    experiment.precision = stopping.judge();
    if (experiment.precision->met || until >= limit) return;
  }
}

}  // namespace

std::uint64_t combined_fingerprint(std::span<const RunResult> runs) {
  std::uint64_t h = 0;
  for (const RunResult& r : runs) {
    h = (h ^ r.fingerprint) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

int next_replications(int replications, int limit) {
  for (const int point : {10, 15, 20, 30, 45}) {
    if (point > replications) return std::min(point, limit);
  }
  // From 45 replications on, each point has half as many again as the one before.
  std::int64_t point = 45;
  while (point <= replications) point += point / 2;
  return static_cast<int>(std::min<std::int64_t>(point, limit));
}

Experiment run_experiment(Scenario& scenario, const ReplicationOptions& options) {
  return execution::in_time(options, [&](const ReplicationOptions& limited) {
    Experiment experiment;
    if (scenario.warmup_is_auto) {
      experiment.warmup =
          execution::before_more([&] { return find_warmup(std::span(&scenario, 1), limited); });
      scenario.warmup = experiment.warmup->warmup;
      scenario.warmup_is_auto = false;
    }
    if (scenario.precision.target > 0) {
      run_in_stages(scenario, limited, experiment);
    } else {
      experiment.runs = run_replications(scenario, limited);
    }
    return experiment;
  });
}

Run run(LoadedScenario scenario, const ReplicationOptions& options) {
  Experiment experiment = run_experiment(scenario.scenario, options);
  if (experiment.warmup) take_warmup(scenario, *experiment.warmup);
  return {std::move(scenario), std::move(experiment.runs), std::move(experiment.warmup),
          std::move(experiment.precision)};
}

// --- The warm-up ---------------------------------------------------------------------------------

namespace {

constexpr int kMaxPilots = 20;

/// The average of series over replications; where nothing can be averaged, the value before is
/// repeated.
std::vector<double> average(const std::vector<stats::FlowSeries>& replications) {
  std::vector<double> series;
  double value = 0;
  for (std::size_t i = 0; i < replications.front().numerators.size(); ++i) {
    double above = 0, below = 0;
    for (const stats::FlowSeries& one : replications) {
      above += one.numerators[i];
      below += one.denominators[i];
    }
    if (below > 0) value = above / below;
    series.push_back(value);
  }
  return series;
}

/// The warm-up found in a series of one scenario. The series has the scenario's name if there are
/// several, for messages.
struct NamedTruncation {
  std::string series;
  Duration warmup;
};

class Pilot {
 public:
  Pilot(const Scenario& scenario, const ReplicationOptions& options) : scenario_(scenario) {
    if (const auto why = why_transient(scenario)) {
      throw std::invalid_argument("no warm-up can be found: " + *why);
    }
    scenario_.warmup_is_auto = false;
    scenario_.warmup = Duration::zero();
    scenario_.drain = false;
    scenario_.replications = std::min(scenario.replications, kMaxPilots);
    ReplicationOptions quiet = options;
    quiet.fingerprint = false;
    runs_ = run_replications(scenario_, quiet);
    bins_.last = static_cast<std::size_t>(scenario.duration.count() / scenario.interval.count());
  }

  std::size_t runs() const { return runs_.size(); }

  NamedTruncation longest() {
    for (std::size_t g = 0; g < scenario_.clients.size(); ++g) {
      for (const MetricInfo* metric : metrics_of(MetricList::kWarmup)) {
        look_at(fmt::format("{} of {}", metric->name, scenario_.clients[g].name),
                [&](const RunResult& run) {
                  return *stats::flow_series(*metric, scenario_, run, g, bins_);
                });
      }
    }
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) {
      look_at("in_system_mean of service " + scenario_.services[s].name,
              [&](const RunResult& run) { return stats::in_system_series(run, s, bins_); });
    }
    return longest_;
  }

 private:
  template <typename SeriesOf>
  void look_at(std::string name, SeriesOf series_of) {
    std::vector<stats::FlowSeries> replications;
    for (const RunResult& run : runs_) replications.push_back(series_of(run));
    const stats::Truncation found = stats::mser5(average(replications));
    if (!found.found) {
      throw WarmupNotFound(
          fmt::format("MSER-5 finds no end of the warm-up of \"{}\" in the first half of its {} s: "
                      "{} keeps changing; expected a longer duration, a system that settles, or an "
                      "explicit warmup",
                      scenario_.name, scenario_.duration.in_seconds(), name));
    }
    const Duration warmup = Duration::nanoseconds(scenario_.interval.count() *
                                                  static_cast<std::int64_t>(found.observations));
    if (longest_.series.empty() || warmup > longest_.warmup) longest_ = {std::move(name), warmup};
  }

  Scenario scenario_;
  std::vector<RunResult> runs_;
  stats::BinRange bins_;
  NamedTruncation longest_;
};

FoundWarmup find_warmup_in_pilots(std::span<const Scenario> scenarios,
                                  const ReplicationOptions& options) {
  if (scenarios.empty()) throw std::invalid_argument("no scenario to find a warm-up for");
  FoundWarmup found;
  Duration shortest = Duration::max();
  execution::SideBySide pilots;
  for (const Scenario& scenario : scenarios) {
    std::optional<Pilot> pilot;
    if (!pilots.add([&] { pilot.emplace(scenario, options); })) continue;
    NamedTruncation longest = pilot->longest();
    found.pilot_runs = std::max(found.pilot_runs, pilot->runs());
    shortest = std::min(shortest, scenario.duration);
    if (!found.decided_by.empty() && longest.warmup <= found.warmup) continue;
    found.warmup = longest.warmup;
    found.decided_by = std::move(longest.series);
    if (scenarios.size() > 1) found.decided_by += fmt::format(" in \"{}\"", scenario.name);
  }
  pilots.finish();
  if (found.warmup.count() * 2 >= shortest.count()) {
    throw WarmupNotFound(
        fmt::format("the warm-up of {} s that {} needs is half of the shortest "
                    "duration, or more; expected a longer duration",
                    found.warmup.in_seconds(), found.decided_by));
  }
  found.removed_share =
      static_cast<double>(found.warmup.count()) / static_cast<double>(shortest.count());
  return found;
}

}  // namespace

FoundWarmup find_warmup(std::span<const Scenario> scenarios, const ReplicationOptions& options) {
  return execution::in_time(options, [&](const ReplicationOptions& limited) {
    return find_warmup_in_pilots(scenarios, limited);
  });
}

}  // namespace retrysim
