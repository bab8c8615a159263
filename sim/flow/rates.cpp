// Rates of requests, from profiles, surges, bursts and polling.
//
// SPDX-License-Identifier: MIT
#include "flow/rates.hpp"

#include "kernel/stop.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

namespace retrysim::flow {

namespace {

double profile_at(const RateProfile& p, double t, bool before) {
  const auto is_past = [&](Time at) { return before ? at.in_seconds() < t : at.in_seconds() <= t; };
  const auto next = static_cast<std::size_t>(
      std::partition_point(p.times.begin(), p.times.end(), is_past) - p.times.begin());
  if (next == 0) return p.rates.front();
  if (!p.linear || next == p.times.size()) return p.rates[next - 1];
  const double from = p.times[next - 1].in_seconds(), to = p.times[next].in_seconds();
  return p.rates[next - 1] + (p.rates[next] - p.rates[next - 1]) * (t - from) / (to - from);
}

/// The mean of profile times surges over a stretch; linear between edges.
double mean_factor(const ArrivalSpec& a, double start, double end, bool with_surges) {
  const bool surges = with_surges && !a.surges.empty();
  if ((!a.profile && !surges) || end <= start) return 1;
  std::vector<double> edges = {start, end};
  const auto add = [&](Time t) {
    if (t.in_seconds() > start && t.in_seconds() < end) edges.push_back(t.in_seconds());
  };
  if (a.profile) std::ranges::for_each(a.profile->times, add);
  if (surges) {
    for (const SurgeSpec& s : a.surges) add(s.start), add(s.start + s.duration);
  }
  std::ranges::sort(edges);
  std::vector<std::size_t> by_start;  // surges
  for (std::size_t i = 0; surges && i < a.surges.size(); ++i) by_start.push_back(i);
  std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return a.surges[i].start; });
  auto next = by_start.begin();
  std::set<std::size_t> begun;  // surges that have begun and not ended
  double sum = 0;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    stop_point();
    const double from = edges[i - 1], to = edges[i], middle = (from + to) / 2;
    double factor = 1;
    if (a.profile) {
      factor = (profile_at(*a.profile, from, false) + profile_at(*a.profile, to, true)) / 2;
    }
    while (next != by_start.end() && a.surges[*next].start.in_seconds() <= middle) {
      begun.insert(*next++);
    }
    std::erase_if(begun, [&](std::size_t s) {
      return (a.surges[s].start + a.surges[s].duration).in_seconds() <= middle;
    });
    for (const std::size_t s : begun) factor *= a.surges[s].factor;
    sum += factor * (to - from);
  }
  return sum / (end - start);
}

/// The number of checks of a polling job, without jitter; the last one finds it done.
double checks_of(const ArrivalSpec& a) {
  constexpr int kMost = 1000;
  const double job_s = a.job_time.mean_seconds();
  double pause_s = a.poll.base.in_seconds(), waited_s = 0, checks = 0;
  while (checks < std::min<double>(kMost, a.poll.max_checks)) {
    waited_s += std::min(pause_s, a.poll.cap.in_seconds());
    pause_s *= a.poll.factor;
    ++checks;
    if (waited_s >= job_s) break;
  }
  return checks;
}

}  // namespace

double mean_job_rate(const Scenario& scenario, const ClientSpec& client, bool surges) {
  const ArrivalSpec& a = client.arrivals;
  const double duration = scenario.duration.in_seconds();
  const double each = duration > 0 ? 1 / duration : 0;
  if (client.makes_calls() || a.process == ArrivalProcess::kClosed) return 0;
  if (a.process == ArrivalProcess::kOnce) return client.count * each;
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    return static_cast<double>(a.rows.size()) * each;
  }
  const double rate = a.process == ArrivalProcess::kTrace ? 1 : a.rate * client.count;
  return rate * mean_factor(a, 0, duration, surges);
}

double rate_factor(const ArrivalSpec& arrivals, Time t) {
  double factor = arrivals.profile ? profile_at(*arrivals.profile, t.in_seconds(), false) : 1;
  for (const SurgeSpec& s : arrivals.surges) {
    if (s.start <= t && t - s.start < s.duration) factor *= s.factor;
  }
  return factor;
}

double most_rate_factor(const ArrivalSpec& arrivals) {
  double factor = arrivals.profile ? std::ranges::max(arrivals.profile->rates) : 1;
  for (const SurgeSpec& s : arrivals.surges) factor *= std::max(1.0, s.factor);
  return factor;
}

double mean_request_rate(const Scenario& scenario, const ClientSpec& client, bool surges) {
  const double jobs = mean_job_rate(scenario, client, surges);
  return client.arrivals.process == ArrivalProcess::kPoll ? jobs * checks_of(client.arrivals)
                                                          : jobs;
}

double due_in_window(const Scenario& scenario, const ClientSpec& client) {
  const ArrivalSpec& a = client.arrivals;
  const Time from = Time::zero() + scenario.warmup, to = Time::zero() + scenario.duration;
  if (client.makes_calls() || a.process == ArrivalProcess::kClosed) return 0;
  if (a.process == ArrivalProcess::kOnce) {
    const double first_s = std::max(a.start, from).in_seconds();
    const double last_s = std::min(a.start + a.spread, to).in_seconds();
    if (a.spread > Duration::zero()) {
      return client.count * std::max(0.0, last_s - first_s) / a.spread.in_seconds();
    }
    return a.start >= from && a.start < to ? client.count : 0;
  }
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    return static_cast<double>(
        std::ranges::count_if(a.rows, [&](Time row) { return row >= from && row < to; }));
  }
  const double rate = a.process == ArrivalProcess::kTrace ? 1 : a.rate * client.count;
  const double window_s = (to - from).in_seconds();
  return rate * mean_factor(a, from.in_seconds(), to.in_seconds(), true) * window_s;
}

}  // namespace retrysim::flow
