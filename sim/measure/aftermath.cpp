// SPDX-License-Identifier: MIT
#include "measure/aftermath.hpp"

#include "measure/storms.hpp"
#include "scenario/derived.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace retrysim::stats {
namespace {

double seconds(Duration d) { return d.in_seconds(); }

/// Requests that group `c` submits in the count bins [first, last). Those of a service that calls
/// another one come one from each request that it gets itself, not one from each attempt: the work
/// of retries is not offered.
double offered_requests(const Scenario& scenario, const RunResult& run, std::size_t c,
                        BinRange bins) {
  double requests = 0;
  if (const std::optional<std::size_t> caller = scenario.clients[c].caller) {
    for (std::size_t g = 0; g < run.clients.size(); ++g) {
      const double share = share_of_calls(scenario.clients[g], *caller);
      if (share > 0) requests += share * offered_requests(scenario, run, g, bins);
    }
    return requests * (1 - scenario::free_error_share(scenario.services[*caller]));
  }
  const std::vector<RequestCounts>& own = run.clients[c].counts;
  for (std::size_t i = bins.first; i < std::min(bins.last, own.size()); ++i) {
    requests += static_cast<double>(own[i].requests);
  }
  return requests;
}

bool has_capacity(const ServiceResult& service) {
  return !service.unlimited && service.nominal_servers > 0;
}

double offered_work_at(const Scenario& scenario, const scenario::Demand& demand,
                       const RunResult& run, std::size_t s, BinRange bins) {
  if (bins.last <= bins.first) return 0;
  double work = 0;
  for (std::size_t c = 0; c < run.clients.size(); ++c) {
    const double share = share_of_calls(scenario.clients[c], s);
    if (share <= 0) continue;
    work += offered_requests(scenario, run, c, bins) * share *
            scenario::held_seconds_at(scenario, demand, scenario.clients[c], s);
  }
  const double time = static_cast<double>(bins.last - bins.first) * seconds(run.count_width);
  return work / (static_cast<double>(run.services[s].nominal_servers) * time);
}

/// Q E[S] / (c (1 - rho)) with the queue at the start of count bin `bin`.
double drain_seconds(const RunResult& run, std::size_t s, std::size_t bin, double held_s,
                     double rho) {
  const ServiceResult& service = run.services[s];
  if (rho >= 1 || bin >= service.queued.size()) return 0;
  return static_cast<double>(service.queued[bin]) * held_s /
         (static_cast<double>(service.nominal_servers) * (1 - rho));
}

/// Successes per attempt that ended in the bins; 1 if none did.
double attempt_success_rate(std::span<const RequestCounts> counts, BinRange bins) {
  std::uint64_t successes = 0, failures = 0;
  for (std::size_t i = bins.first; i < bins.last; ++i) {
    successes += counts[i].successes;
    failures += counts[i].failed_attempts;
  }
  const double ended = static_cast<double>(successes + failures);
  return ended > 0 ? static_cast<double>(successes) / ended : 1;
}

}  // namespace

double offered_work(const Scenario& scenario, const RunResult& run, Time from, Time to) {
  const BinRange bins = count_bins(run, from, to);
  const scenario::Demand demand = scenario::demand_of(scenario, scenario::Attempts::kFirst);
  double most = 0;
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (has_capacity(run.services[s])) {
      most = std::max(most, offered_work_at(scenario, demand, run, s, bins));
    }
  }
  return most;
}

std::string_view name(StormVerdict verdict) {
  switch (verdict) {
    case StormVerdict::kTransient:
      return "transient";
    case StormVerdict::kSustained:
      return "sustained";
    case StormVerdict::kMetastable:
      return "metastable";
    case StormVerdict::kCensored:
      return "censored";
  }
  return "";
}

StormVerdict Aftermath::verdict() const {
  if (recovery.seconds) {
    return *recovery.seconds <= patience_s ? StormVerdict::kTransient : StormVerdict::kSustained;
  }
  return recovery.not_before_s > patience_s ? StormVerdict::kSustained : StormVerdict::kCensored;
}

Aftermath aftermath_of(const Scenario& scenario, const RunResult& run, const Trigger& trigger,
                       Time horizon) {
  Aftermath a;
  a.trigger = trigger;
  a.horizon = horizon;
  const std::vector<Trigger> all = triggers(scenario);
  const Time first = all.empty() ? trigger.start : all.front().start;
  const std::vector<RequestCounts> counts = request_counts(scenario, run, std::nullopt);
  a.before = before(run, counts, first);
  a.attempt_success_rate = attempt_success_rate(counts, a.before.bins);
  a.recovery = recovery_after(scenario, run, counts, trigger.end, horizon, a.before);
  // The next disturbance brings other load.
  const BinRange after = count_bins(run, trigger.end, horizon);
  a.offered_work = offered_work(scenario, run, trigger.end, horizon);
  const scenario::Demand demand = scenario::demand_of(scenario, scenario::Attempts::kFirst);
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (!has_capacity(run.services[s])) continue;
    const double rho = offered_work_at(scenario, demand, run, s, after);
    const double held_s = demand.services[s].held_time;
    a.predicted_drain_s =
        std::max(a.predicted_drain_s, drain_seconds(run, s, after.first, held_s, rho));
  }
  const double window_s = std::max(seconds(amplification_span(scenario, std::nullopt)),
                                   seconds(scenario.duration) / 1000);
  a.patience_s = std::max(
      {20 * window_s, 10 * seconds(trigger.end - trigger.start), 10 * a.predicted_drain_s});
  return a;
}

std::optional<Aftermath> final_aftermath(const Scenario& scenario, const RunResult& run) {
  std::optional<Trigger> last;
  for (const Trigger& t : triggers(scenario)) {
    const bool overlaps = last && t.start <= last->end;
    last = overlaps ? Trigger{last->start, std::max(last->end, t.end)} : t;
  }
  if (!last) return std::nullopt;
  return aftermath_of(scenario, run, *last, run.window_end);
}

std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& twin,
                                    const Aftermath& aftermath) {
  Before before = aftermath.before;
  before.success_rate = std::min(before.success_rate, aftermath.attempt_success_rate);
  return recovery_after(scenario, twin, request_counts(scenario, twin, std::nullopt),
                        aftermath.trigger.end, aftermath.horizon, before)
      .seconds;
}

StormVerdict with_twin(StormVerdict verdict, const Aftermath& aftermath,
                       std::optional<double> twin_recovery_s) {
  const bool by_retries =
      aftermath.offered_work < 1 && twin_recovery_s && *twin_recovery_s <= aftermath.patience_s;
  return verdict == StormVerdict::kSustained && by_retries ? StormVerdict::kMetastable : verdict;
}

}  // namespace retrysim::stats
