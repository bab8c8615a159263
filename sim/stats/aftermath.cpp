// SPDX-License-Identifier: MIT
#include "stats/aftermath.hpp"

#include "stats/storms.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retrysim::stats {
namespace {

double seconds(Duration d) { return d.in_seconds(); }

/// Requests that group `c` submits in the bins [first, last). Those of a service that calls another
/// one come one from each request that it gets itself, not one from each attempt: the work of
/// retries is not offered.
std::uint64_t offered_requests(const Scenario& scenario, const RunResult& run, std::size_t c,
                               BinRange bins) {
  std::uint64_t requests = 0;
  if (const std::optional<std::size_t> caller = scenario.clients[c].caller) {
    for (std::size_t g = 0; g < run.clients.size(); ++g) {
      if (scenario.clients[g].service != *caller) continue;
      requests += offered_requests(scenario, run, g, bins);
    }
    return requests;
  }
  const std::vector<ClientBin>& own = run.clients[c].bins;
  for (std::size_t i = bins.first; i < std::min(bins.last, own.size()); ++i) {
    requests += own[i].flow.requests;
  }
  return requests;
}

bool has_capacity(const ServiceResult& service) {
  return !service.unlimited && service.nominal_servers > 0;
}

double offered_work_at(const Scenario& scenario, const RunResult& run, std::size_t s,
                       BinRange bins) {
  if (bins.last <= bins.first) return 0;
  double work = 0;
  for (std::size_t c = 0; c < run.clients.size(); ++c) {
    if (scenario.clients[c].service != s) continue;
    work += static_cast<double>(offered_requests(scenario, run, c, bins)) *
            mean_work(scenario.clients[c]);
  }
  const double time = static_cast<double>(bins.last - bins.first) * seconds(run.interval);
  return work * scenario.services[s].service_time.mean_seconds() /
         (static_cast<double>(run.services[s].nominal_servers) * time);
}

/// Q E[S] / (c (1 - rho)) with the mean queue in the bin in which the trigger ends.
double drain_seconds(const Scenario& scenario, const RunResult& run, std::size_t s, std::size_t bin,
                     double rho) {
  const ServiceResult& service = run.services[s];
  if (rho >= 1 || bin >= service.bins.size()) return 0;
  const double queue = service.bins[bin].queue_ns / static_cast<double>(run.interval.count());
  return queue * scenario.services[s].service_time.mean_seconds() /
         (static_cast<double>(service.nominal_servers) * (1 - rho));
}

/// Successes per attempt that ended before `trigger_start`; 1 if none did.
double attempt_success_rate_before(const RunResult& run, Time trigger_start) {
  const BinRange window = window_bins(run, run.all_bins);
  std::uint64_t successes = 0, failures = 0;
  for (std::size_t i = window.first; i < window.last; ++i) {
    if (run.interval * static_cast<std::int64_t>(i + 1) > trigger_start - Time::zero()) break;
    const ClientFlow& flow = run.all_bins[i].flow;
    successes += flow.successes;
    failures += flow.throttled + flow.errors + flow.timeouts;
  }
  const double ended = static_cast<double>(successes + failures);
  return ended > 0 ? static_cast<double>(successes) / ended : 1;
}

}  // namespace

double mean_work(const ClientSpec& client) {
  double work = 0, shares = 0;
  for (const OperationSpec& o : client.operations) {
    work += o.share * o.work;
    shares += o.share;
  }
  return shares > 0 ? work / shares : 1;
}

double offered_work(const Scenario& scenario, const RunResult& run, BinRange bins) {
  double most = 0;
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (has_capacity(run.services[s])) {
      most = std::max(most, offered_work_at(scenario, run, s, bins));
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
                       Time horizon, double window_s) {
  Aftermath a;
  a.trigger = trigger;
  a.horizon = horizon;
  const std::vector<Trigger> all = triggers(scenario);
  const Time first = all.empty() ? trigger.start : all.front().start;
  a.success_rate = success_rate_before(run, run.all_bins, first);
  a.attempt_success_rate = attempt_success_rate_before(run, first);
  a.recovery = recovery_after(scenario, run, run.all_bins, trigger.end, horizon, a.success_rate);
  const auto bin = static_cast<std::size_t>(trigger.end.count() / run.interval.count());
  // The next disturbance brings other load.
  const auto bins_to_horizon = static_cast<std::size_t>(horizon.count() / run.interval.count());
  const BinRange after{bin, std::min(window_bins(run, run.all_bins).last, bins_to_horizon)};
  a.offered_work = offered_work(scenario, run, after);
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (!has_capacity(run.services[s])) continue;
    const double rho = offered_work_at(scenario, run, s, after);
    a.predicted_drain_s = std::max(a.predicted_drain_s, drain_seconds(scenario, run, s, bin, rho));
  }
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
  if (!last || run.interval <= Duration::zero()) return std::nullopt;
  const auto window = static_cast<double>(amplification_window(scenario, std::nullopt));
  return aftermath_of(scenario, run, *last, run.window_end, window * seconds(run.interval));
}

std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& twin,
                                    const Aftermath& aftermath) {
  const double achieved = std::min(aftermath.success_rate, aftermath.attempt_success_rate);
  return recovery_after(scenario, twin, twin.all_bins, aftermath.trigger.end, aftermath.horizon,
                        achieved)
      .seconds;
}

StormVerdict with_twin(StormVerdict verdict, const Aftermath& aftermath,
                       std::optional<double> twin_recovery_s) {
  const bool by_retries =
      aftermath.offered_work < 1 && twin_recovery_s && *twin_recovery_s <= aftermath.patience_s;
  return verdict == StormVerdict::kSustained && by_retries ? StormVerdict::kMetastable : verdict;
}

}  // namespace retrysim::stats
