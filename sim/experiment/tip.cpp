// SPDX-License-Identifier: MIT
#include <retrysim/request_error.hpp>
#include <retrysim/tip.hpp>

#include "estimate/tipping.hpp"
#include "execution/time_limit.hpp"
#include "experiment/twins.hpp"
#include "measure/storms.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace retrysim {
namespace {

/// Runs the replications at one value after the other.
class Prober {
 public:
  Prober(const ScenarioAt& scenario_at, const TipOptions& options, const ReplicationOptions& run)
      : scenario_at_(scenario_at), options_(options), run_(run) {}

  std::vector<TippingResponse> respond(double value) {
    const Scenario scenario = scenario_at_(value);
    if (options_.probing) options_.probing(++probes_, value);
    const std::vector<RunResult> runs = run_replications(scenario, run_);
    twins_[value] = experiment::count_twins(scenario, runs, run_);
    std::vector<TippingResponse> responses;
    for (const RunResult& run : runs) responses.push_back(response_of(scenario, run));
    return responses;
  }

  void add_twins(TippingPoint& point) const {
    for (TippingProbe& probe : point.probes) {
      const experiment::TwinCounts& counts = twins_.at(probe.value);
      probe.twin_recovered = counts.recovered;
      probe.metastable = counts.metastable;
    }
  }

  /// The shortest duration that would have let every run be judged; zero if all were.
  double duration_needed() const { return duration_needed_; }

 private:
  TippingResponse response_of(const Scenario& scenario, const RunResult& run) {
    const stats::Fate fate = stats::fate_of(scenario, run);
    if (fate.verdict == stats::StormVerdict::kTransient) return TippingResponse::kRecovers;
    if (fate.verdict == stats::StormVerdict::kSustained) return TippingResponse::kTips;
    const stats::Aftermath& after = *fate.aftermath;
    const double needed =
        after.trigger.end.in_seconds() + after.patience_s + scenario.recovery_hold.in_seconds();
    duration_needed_ = std::max(duration_needed_, needed);
    return TippingResponse::kUnknown;
  }

  const ScenarioAt& scenario_at_;
  const TipOptions& options_;
  const ReplicationOptions& run_;
  int probes_ = 0;
  std::map<double, experiment::TwinCounts> twins_;
  double duration_needed_ = 0;
};

std::vector<std::string> notes_on_search(const TippingPoint& point, double duration_needed) {
  std::vector<std::string> notes;
  const std::size_t n = point.thresholds.size();
  if (n < 20) {
    notes.push_back(fmt::format("{} replication{}: the result is rough; use at least 20", n,
                                n == 1 ? "" : "s"));
  }
  std::size_t unknown = 0;
  for (const TippingProbe& p : point.probes) unknown += p.count(TippingResponse::kUnknown);
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} runs were too short to tell whether they recover; a duration of {:.4g} s "
                    "would be long enough",
                    unknown, std::ceil(duration_needed)));
  }
  return notes;
}

}  // namespace

TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options) {
  if (!(search.tolerance >= 1e-6 && search.tolerance <= 0.5)) {
    throw RequestError("the tolerance of a search for a tipping point is from 1e-6 to 0.5");
  }
  if (!std::isfinite(search.first) || !std::isfinite(search.last) || search.first == search.last) {
    throw RequestError("a search for a tipping point needs two sizes that differ");
  }
  return execution::in_time(options.run, [&](const ReplicationOptions& run) {
    Prober prober(scenario_at, options, run);
    TipResult result;
    result.search = search;
    result.point = stats::bisect(search, [&](double value) { return prober.respond(value); });
    prober.add_twins(result.point);
    result.notes = notes_on_search(result.point, prober.duration_needed());
    return result;
  });
}

}  // namespace retrysim
