// SPDX-License-Identifier: MIT
#include "explain/group_case.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "measure/aftermath.hpp"
#include "measure/recovery.hpp"
#include "prediction/service_load.hpp"
#include "scenario/derived.hpp"

namespace retrysim::explain {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

double seconds(Time t) { return (t - Time::zero()).in_seconds(); }

/// Share of the capacity of `service` that the faults of one moment leave.
double capacity_left(const Scenario& scenario, std::size_t service, Time at) {
  double left = 1;
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service || at < f.start || at >= f.start + f.duration) continue;
    left *= f.unreachable ? 0 : f.capacity * f.speed;
  }
  return left;
}

class CaseBuilder {
 public:
  CaseBuilder(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group)
      : demand_(scenario::demand_of(scenario, scenario::Attempts::kFirst)),
        triggers_(stats::triggers(scenario)),
        c_{scenario, group, scenario.clients[group],
           scenario.services[scenario.clients[group].service]},
        runs_(runs) {
    c_.volumes.resize(scenario.clients.size());
    name_disturbance();
    find_capacity();
  }

  GroupCase build() {
    for (const RunResult& run : runs_) {
      add_counts(run);
      const std::optional<stats::Recovery> found =
          stats::final_recovery(c_.scenario, run, c_.index);
      if (found) add_recovery(run, *found);
      add_stretches(run, found);
      find_retries_above_capacity(run);
      find_dry_quota(run);
    }
    finish(c_.retries_above_capacity);
    finish(c_.quota_dry);
    std::sort(c_.recoveries.late_s.begin(), c_.recoveries.late_s.end());
    if (c_.recoveries.back > 0) c_.recoveries.mean_s /= static_cast<double>(c_.recoveries.back);
    return std::move(c_);
  }

 private:
  static void finish(Occurrence& o) {
    if (o.runs == 0) return;
    o.seconds /= static_cast<double>(o.runs);
    o.ratio /= static_cast<double>(o.runs);
  }

  void name_disturbance() {
    if (triggers_.empty()) return;
    bool surge = false;
    for (const ClientSpec& client : c_.scenario.clients) {
      surge = surge || !client.arrivals.surges.empty();
    }
    c_.disturbances.kind = c_.scenario.faults.empty() ? "surge" : surge ? "disturbance" : "fault";
    Time end;
    std::vector<Time> starts;
    for (const stats::Trigger& t : triggers_) {
      end = std::max(end, t.end);
      starts.push_back(t.start);
    }
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());  // they are in order
    c_.disturbances.count = starts.size();
    c_.disturbances.first_start_s = seconds(triggers_.front().start);
    c_.disturbances.last_end_s = seconds(end);
  }

  void find_capacity() {
    Capacity& k = c_.capacity;
    const ServiceSpec& s = c_.service;
    k.service_time_s = scenario::service_seconds_at(c_.scenario, c_.client, c_.client.service);
    k.limited = s.servers != ServiceSpec::kUnlimited && k.service_time_s > 0 &&
                s.model == ServiceModelKind::kQueue;
    k.servers = k.limited ? static_cast<double>(s.servers) * s.instances.count : 0;
    for (const stats::Trigger& t : triggers_) {
      k.left = std::min(k.left, capacity_left(c_.scenario, c_.client.service, t.start));
    }
    k.timeout_s =
        c_.client.timeouts.has_attempt ? c_.client.timeouts.attempt.mean_seconds() : kForever;
    k.patience_s = k.timeout_s - 2 * c_.scenario.network.latency.mean_seconds() - k.service_time_s;
    k.full_queue_s = prediction::full_queue_time(c_.scenario, c_.client.service);
  }

  void add_counts(const RunResult& run) {
    ++c_.runs;
    c_.bin_s = run.interval.in_seconds();
    for (std::size_t g = 0; g < run.clients.size(); ++g) {
      c_.volumes[g].requests += static_cast<double>(run.clients[g].requests);
      c_.volumes[g].attempts += static_cast<double>(run.clients[g].attempts);
    }
    const ClientResult& r = run.clients[c_.index];
    ClientResult& t = c_.total;
    t.requests += r.requests;
    t.successes_within += r.successes_within;
    t.ended_within += r.ended_within;
    t.attempts += r.attempts;
    t.rejected += r.rejected;
    t.late += r.late;
    t.mutating += r.mutating;
    t.duplicated += r.duplicated;
    t.token_races += r.token_races;
    t.latency_m.merge(r.latency_m);
    t.send_wait_ns += r.send_wait_ns;
    t.connection_wait_ns += r.connection_wait_ns;
    for (std::size_t i = 0; i < r.outcomes.size(); ++i) t.outcomes[i] += r.outcomes[i];
    for (std::size_t i = 0; i < r.results.size(); ++i) t.results[i] += r.results[i];
    if (r.by_attempt.empty()) return;
    t.by_attempt.resize(1);
    t.by_attempt[0].sent += r.by_attempt[0].sent;
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      t.by_attempt[0].results[i] += r.by_attempt[0].results[i];
    }
  }

  void add_recovery(const RunResult& run, const stats::Recovery& found) {
    Recoveries& r = c_.recoveries;
    r.watched_s = seconds(run.window_end) - c_.disturbances.last_end_s;
    if (found.seconds) {
      r.least_s = r.back == 0 ? *found.seconds : std::min(r.least_s, *found.seconds);
      r.most_s = std::max(r.most_s, *found.seconds);
      r.mean_s += *found.seconds;
      ++r.back;
      r.add_late(*found.seconds, c_.scenario);
      return;
    }
    const auto aftermath = stats::final_aftermath(c_.scenario, run);
    const bool enough = aftermath && found.not_before_s > aftermath->patience_s;
    ++(enough ? r.gone : r.unknown);
    if (enough && run.metastable.value_or(false)) ++r.metastable;
  }

  /// Whether a fault or surge is on all through the bin, or at its edges at least.
  bool is_disturbed(Time start, Time end) const {
    return std::any_of(triggers_.begin(), triggers_.end(),
                       [&](const stats::Trigger& t) { return start < t.end && t.start < end; });
  }

  void add_bin(Stretch& s, const RunResult& run, std::size_t bin) const {
    const ClientBin& own = run.clients[c_.index].bins[bin];
    s.seconds += run.interval.in_seconds();
    s.group.merge(own.flow);
    s.latency_s += own.latency_sum_ns / 1e9;
    s.latencies += own.latency_count;
    const auto [first, retried] = work_of(run, bin);
    s.first_work_s += first;
    s.retry_work_s += retried;
    const std::vector<ServiceFlow>& service = run.services[c_.client.service].bins;
    if (bin < service.size()) s.service.merge(service[bin]);
  }

  struct Work {
    double first_s = 0, retry_s = 0;
  };
  /// What all groups that call the service ask of it in a bin.
  Work work_of(const RunResult& run, std::size_t bin) const {
    Work work;
    for (std::size_t c = 0; c < run.clients.size(); ++c) {
      const ClientSpec& client = c_.scenario.clients[c];
      const double share = share_of_calls(client, c_.client.service);
      if (share == 0) continue;
      if (bin >= run.clients[c].bins.size()) continue;
      const ClientFlow& flow = run.clients[c].bins[bin].flow;
      const double each =
          share * scenario::held_seconds_at(c_.scenario, demand_, client, c_.client.service);
      work.first_s += each * static_cast<double>(flow.attempts - flow.retries);
      work.retry_s += each * static_cast<double>(flow.retries);
    }
    return work;
  }

  void add_stretches(const RunResult& run, const std::optional<stats::Recovery>& found) {
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const stats::BinRange window = stats::window_bins(run, bins);
    const double back_s = found && found->seconds ? c_.disturbances.last_end_s + *found->seconds
                                                  : seconds(run.window_end);
    for (std::size_t i = window.first; i < window.last; ++i) {
      const Time start = Time::zero() + run.interval * static_cast<std::int64_t>(i);
      const Time end = start + run.interval;
      add_bin(c_.all, run, i);
      if (!c_.disturbed() || seconds(end) <= c_.disturbances.first_start_s) {
        add_bin(c_.before, run, i);
        continue;
      }
      const bool on = is_disturbed(start, end);
      if (on) add_bin(c_.during, run, i);
      if (seconds(start) < back_s) add_bin(c_.trouble, run, i);
      if (!on && seconds(start) >= c_.disturbances.last_end_s && seconds(start) < back_s) {
        add_bin(c_.after, run, i);
      }
    }
    const std::vector<ServiceFlow>& service = run.services[c_.client.service].bins;
    for (std::size_t i = window.first; i < std::min(window.last, service.size()); ++i) {
      const double queue_s = c_.capacity.limited
                                 ? static_cast<double>(service[i].queue_max) *
                                       demand_.services[c_.client.service].held_time /
                                       c_.capacity.servers
                                 : 0;
      c_.capacity.largest_queue_s = std::max(c_.capacity.largest_queue_s, queue_s);
    }
  }

  void find_retries_above_capacity(const RunResult& run) {
    if (!c_.capacity.limited || run.interval <= Duration::zero()) return;
    const stats::BinRange window = stats::window_bins(run, run.clients[c_.index].bins);
    const double offered_s = run.interval.in_seconds() * c_.capacity.servers;
    double above = 0, work = 0;
    for (std::size_t i = window.first; i < window.last; ++i) {
      const double retries = work_of(run, i).retry_s;
      if (retries < offered_s) continue;
      above += 1;
      work += retries;
    }
    if (above == 0) return;
    Occurrence& o = c_.retries_above_capacity;
    ++o.runs;
    o.seconds += above * run.interval.in_seconds();
    o.ratio += work / (above * offered_s);
  }

  void find_dry_quota(const RunResult& run) {
    if (!c_.disturbed() || !c_.client.retry.quota.enabled) return;
    constexpr double kShare = 0.1;
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const stats::BinRange window = stats::window_bins(run, bins);
    for (std::size_t i = window.first; i < window.last; ++i) {
      const double start_s = run.interval.in_seconds() * static_cast<double>(i);
      const ClientFlow& flow = bins[i].flow;
      const auto denied = static_cast<double>(flow.quota_denied);
      if (start_s < c_.disturbances.first_start_s || denied == 0) continue;
      if (denied < kShare * (denied + static_cast<double>(flow.retries))) continue;
      ++c_.quota_dry.runs;
      c_.quota_dry.seconds += start_s + run.interval.in_seconds() - c_.disturbances.first_start_s;
      return;
    }
  }

  scenario::Demand demand_;
  std::vector<stats::Trigger> triggers_;
  GroupCase c_;
  std::span<const RunResult> runs_;
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

double Stretch::success_share() const {
  const std::uint64_t ended = group.successes + group.failures;
  return ended == 0 ? 1 : static_cast<double>(group.successes) / static_cast<double>(ended);
}

double Stretch::mean_latency_s() const { return ratio(latency_s, static_cast<double>(latencies)); }

double Stretch::too_late_share() const {
  return ratio(static_cast<double>(group.timeouts),
               static_cast<double>(group.timeouts + group.successes));
}

double GroupCase::load(double work_s, double seconds_of_work) const {
  return capacity.limited ? ratio(work_s, seconds_of_work * capacity.servers) : 0;
}

double GroupCase::share_of_requests(Outcome outcome) const {
  return ratio(static_cast<double>(total.outcomes[static_cast<std::size_t>(outcome)]), requests());
}

double GroupCase::share_of_attempts(AttemptResult result) const {
  return ratio(static_cast<double>(total.results[static_cast<std::size_t>(result)]),
               static_cast<double>(total.attempts));
}

double GroupCase::first_attempt_success_share() const {
  if (total.by_attempt.empty()) return 0;
  const AttemptNumberCounts& first = total.by_attempt.front();
  return ratio(
      static_cast<double>(first.results[static_cast<std::size_t>(AttemptResult::kSuccess)]),
      static_cast<double>(first.sent));
}

double GroupCase::amplification() const {
  return ratio(static_cast<double>(total.attempts), requests());
}

double GroupCase::share_of_failures(Outcome outcome) const {
  return ratio(share_of_requests(outcome), 1 - success_share());
}

GroupCase group_case(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group) {
  return CaseBuilder(scenario, runs, group).build();
}

}  // namespace retrysim::explain
