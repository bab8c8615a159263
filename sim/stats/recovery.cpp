// How long after a disturbance the goodput is back.
//
// SPDX-License-Identifier: MIT
#include "stats/recovery.hpp"

#include <algorithm>
#include <cstdint>

namespace retrysim::stats {
namespace {

/// Number of whole bins that come nearest to `d`, at least one.
std::size_t bins_in(Duration d, Duration interval) {
  const std::int64_t n = (d.count() + interval.count() / 2) / interval.count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 1));
}

std::size_t first_bin_at_or_after(Time t, Duration interval) {
  const std::int64_t n =
      (std::max<std::int64_t>(t.count(), 0) + interval.count() - 1) / interval.count();
  return static_cast<std::size_t>(n);
}

std::size_t bins_ended_by(Time t, Duration interval) {
  return static_cast<std::size_t>(std::max<std::int64_t>(t.count(), 0) / interval.count());
}

}  // namespace

std::vector<Trigger> triggers(const Scenario& scenario) {
  std::vector<Trigger> found;
  const Time run_end = Time::zero() + scenario.duration;
  const auto add = [&](Time start, Duration duration) {
    if (start < run_end && duration > Duration::zero()) found.push_back({start, start + duration});
  };
  for (const FaultSpec& fault : scenario.faults) add(fault.start, fault.duration);
  for (const ClientSpec& client : scenario.clients) {
    for (const SurgeSpec& surge : client.arrivals.surges) add(surge.start, surge.duration);
  }
  std::sort(found.begin(), found.end(), [](const Trigger& a, const Trigger& b) {
    return a.start != b.start ? a.start < b.start : a.end < b.end;
  });
  return found;
}

BinRange window_bins(const RunResult& run, std::span<const ClientBin> bins) {
  if (run.interval <= Duration::zero()) return {};
  BinRange range;
  range.last = std::min(bins_ended_by(run.window_end, run.interval), bins.size());
  range.first = std::min(first_bin_at_or_after(run.window_start, run.interval), range.last);
  return range;
}

double success_rate_before(const RunResult& run, std::span<const ClientBin> bins,
                           Time trigger_start) {
  const BinRange window = window_bins(run, bins);
  const std::size_t last = std::min(window.last, bins_ended_by(trigger_start, run.interval));
  std::uint64_t successes = 0;
  std::uint64_t ended = 0;
  for (std::size_t i = window.first; i < last; ++i) {
    successes += bins[i].flow.successes;
    ended += bins[i].flow.successes + bins[i].flow.failures;
  }
  return ended == 0 ? 1.0 : static_cast<double>(successes) / static_cast<double>(ended);
}

Recovery recovery_after(const Scenario& scenario, const RunResult& run,
                        std::span<const ClientBin> bins, Time trigger_end, Time horizon,
                        double success_rate) {
  if (run.interval <= Duration::zero() || trigger_end >= horizon) return {};
  const std::size_t begin = first_bin_at_or_after(trigger_end, run.interval);
  const std::size_t end =
      std::min(window_bins(run, bins).last, bins_ended_by(horizon, run.interval));
  const std::size_t window = bins_in(scenario.recovery_window, run.interval);
  // The whole stretch [t, t + hold] must be covered by windows that meet the bar.
  const std::size_t hold =
      std::max(first_bin_at_or_after(Time::zero() + scenario.recovery_hold, run.interval), window);
  const auto seconds_after = [&](std::size_t bin) {
    if (bin <= begin) return 0.0;
    const Duration after =
        Duration::nanoseconds(run.interval.count() * static_cast<std::int64_t>(bin));
    return static_cast<double>(after.count() - trigger_end.count()) / 1e9;
  };

  const double bar = scenario.recovery_share * success_rate;
  const std::size_t needed = hold - window + 1;  // windows in a row
  double successes = 0;
  double requests = 0;
  std::size_t good = 0;
  for (std::size_t i = begin; i < end; ++i) {  // the window [i + 1 - window, i + 1)
    successes += static_cast<double>(bins[i].flow.successes);
    requests += static_cast<double>(bins[i].flow.requests);
    if (i >= begin + window) {
      successes -= static_cast<double>(bins[i - window].flow.successes);
      requests -= static_cast<double>(bins[i - window].flow.requests);
    }
    if (i + 1 < begin + window) continue;
    good = successes >= bar * requests ? good + 1 : 0;
    if (good >= needed) return {seconds_after(i + 1 - hold), 0};
  }
  // The windows at the end that meet the bar, and those that the end cuts off, may yet hold.
  const std::size_t open = good + window - 1;
  return {std::nullopt, end > begin + open ? seconds_after(end - open) : 0};
}

std::optional<Recovery> final_recovery(const Scenario& scenario, const RunResult& run,
                                       std::span<const ClientBin> bins) {
  const std::vector<Trigger> all = triggers(scenario);
  if (all.empty()) return std::nullopt;
  Time last_end;
  for (const Trigger& trigger : all) last_end = std::max(last_end, trigger.end);
  return recovery_after(scenario, run, bins, last_end, run.window_end,
                        success_rate_before(run, bins, all.front().start));
}

}  // namespace retrysim::stats
