// Sequential stopping: replications in stages, until the intervals are narrow enough.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/needs.hpp>
#include <retrysim/summary.hpp>

#include "estimate/proportion.hpp"
#include "execution/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
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
    if (!e) return result;  // does not exist here
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
  /// How far a probability may lie from what was seen, with 95 % confidence. Of what happened
  /// always or never, the share that could have been missed (the rule of three); otherwise the
  /// wider side of Wilson's interval.
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
    std::vector<RunResult> more = run_replications(stage, stage_options);
    for (const RunResult& run : more) stopping.add(run);
    std::move(more.begin(), more.end(), std::back_inserter(experiment.runs));
    experiment.precision = stopping.judge();
    if (experiment.precision->met || until >= limit) return;
  }
}

}  // namespace

int next_replications(int replications, int limit) {
  for (const int point : {10, 15, 20, 30, 45}) {
    if (point > replications) return std::min(point, limit);
  }
  // From 45 on each point is half as many again as the one before.
  std::int64_t point = 45;
  while (point <= replications) point += point / 2;
  return static_cast<int>(std::min<std::int64_t>(point, limit));
}

Experiment run_experiment(Scenario& scenario, const ReplicationOptions& options) {
  return execution::in_time(options, [&](const ReplicationOptions& limited) {
    Experiment experiment;
    if (scenario.warmup_is_auto) {
      experiment.warmup = find_warmup(std::span(&scenario, 1), limited);
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

}  // namespace retrysim
