// Finding the warm-up in pilot replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/experiment.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/steady_state.hpp>

#include "estimate/mser.hpp"
#include "execution/time_limit.hpp"
#include "measure/flow_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace retrysim {
namespace {

constexpr int kMostPilots = 20;

/// The average over replications; where nothing can be averaged, the value before holds on.
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

/// A series of one scenario, for messages with the scenario's name if there are several.
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
    scenario_.replications = std::min(scenario.replications, kMostPilots);
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
  for (const Scenario& scenario : scenarios) {
    Pilot pilot(scenario, options);
    NamedTruncation longest = pilot.longest();
    found.pilot_runs = std::max(found.pilot_runs, pilot.runs());
    shortest = std::min(shortest, scenario.duration);
    if (!found.decided_by.empty() && longest.warmup <= found.warmup) continue;
    found.warmup = longest.warmup;
    found.decided_by = std::move(longest.series);
    if (scenarios.size() > 1) found.decided_by += fmt::format(" in \"{}\"", scenario.name);
  }
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
