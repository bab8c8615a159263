// SPDX-License-Identifier: MIT
#include "measure/recorder.hpp"

#include "kernel/claim.hpp"
#include "measure/count_width.hpp"
#include "measure/flow_difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace retrysim::stats {
namespace {

constexpr std::uint32_t kMaxClientsForFairness = 1'000'000;

void add_integrals(ServiceFlow& flow, const StationLog::Integrals& integrals, bool has_queue) {
  flow.busy_ns = integrals.busy;
  flow.in_system_ns = integrals.in_system;
  flow.in_system_squared_ns = integrals.in_system_squared;
  flow.all_busy_ns = integrals.all_busy;
  flow.queue_ns = has_queue ? integrals.in_system - integrals.busy : 0;
}

void describe_latency(const BinHistogram& latency, ClientBin& row) {
  row.latency_count = latency.count();
  if (latency.count() == 0) return;
  row.latency_p50_s = latency.quantile(0.50) * 1e-9;
  row.latency_p99_s = latency.quantile(0.99) * 1e-9;
}

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::uint32_t replication)
    : groups_(scenario.clients.size()),
      services_(scenario.services.size()),
      levels_(scenario.services.size()),
      scenario_(scenario),
      phases_(scenario),
      window_start_(Time::zero() + scenario.warmup),
      window_end_(Time::zero() + scenario.duration),
      bin_end_(Time::zero() + scenario.interval),
      interval_(scenario.interval),
      count_width_(count_width(scenario.duration)),
      count_bins_(count_bins(scenario.duration)),
      seed_(scenario.seed),
      replication_(replication) {
  const kernel::Claim claim;
  take_memory(scenario, groups_, services_, all_bins_, claim, claim);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].is_inner = scenario.clients[i].caller.has_value();
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const ServiceSpec& spec = scenario.services[i];
    ServiceResult& r = services_[i].result;
    r.unlimited = spec.servers == ServiceSpec::kUnlimited;
    r.nominal_servers = r.unlimited ? 0 : spec.all_servers();
    levels_[i].has_queue = retrysim::has_queue(spec.discipline);
    levels_[i].working = spec.all_servers();
    levels_[i].log.set_servers(spec.all_servers());
  }
  in_window_ = window_start_ == Time::zero();
  count_bin_end_ = Time::zero() + count_width_;
  if (phases_.next() == Time::zero()) cut_phases(Time::zero());
  choose_boundary();
}

// There will be no fewer bins than those of the duration; the drain may add some.
template <class Take>
void Recorder::take_memory(const Scenario& scenario, std::vector<Group>& groups,
                           std::vector<ServiceTotals>& services, std::vector<ClientBin>& all_bins,
                           Take& of_bins, Take& of_clients) {
  const std::int64_t width = std::max<std::int64_t>(scenario.interval.count(), 1);
  const auto bins = static_cast<std::size_t>(scenario.duration.count() / width + 1);
  const auto drain = static_cast<std::size_t>(
      scenario.drain ? std::min(scenario.drain_limit, kLongestDuration).count() / width + 1 : 0);
  of_bins.room(all_bins, bins, bins + drain);
  // One more than the result has: for what happens in the drain.
  const std::size_t counts = count_bins(scenario.duration) + 1;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ClientResult& result = groups[i].result;
    of_bins.room(result.bins, bins, bins + drain);
    of_bins(result.counts, counts);
    const std::uint32_t count = scenario.clients[i].count;
    if (count > kMaxClientsForFairness) continue;
    of_clients(result.successes_per_client, count);
    of_clients(result.ended_per_client, count);
  }
  for (ServiceTotals& service : services) {
    of_bins.room(service.result.bins, bins, bins + drain);
    of_bins(service.result.queued, counts);
  }
}

Recorder::Memory Recorder::memory(const Scenario& scenario) {
  std::vector<Group> groups(scenario.clients.size());
  std::vector<ServiceTotals> services(scenario.services.size());
  std::vector<ClientBin> all_bins;
  kernel::Tally of_bins, of_clients;
  take_memory(scenario, groups, services, all_bins, of_bins, of_clients);
  return {of_bins.bytes(), of_clients.bytes()};
}

void Recorder::backoff_ends(const BackoffEnded& event) {
  const auto& [group, in_cohort, number, since, now] = event;
  Group& g = groups_[group];
  g.in_backoff.fall(now - segment_start_);
  by_number(g, number).counts.in_backoff_ns += inside_window_ns(since, now);
  if (in_cohort) g.result.backoff_time_m.add(now - since);
}

void Recorder::job_ended(const JobEnded& event) {
  const auto& [group, in_cohort, end, checks, done, now] = event;
  if (!in_cohort) return;
  JobCounts& jobs = groups_[group].result.jobs;
  ++jobs.ends[static_cast<std::size_t>(end)];
  if (end != JobEnd::kSucceeded) return;
  jobs.checks += checks;
  jobs.detection_delay_m.add(now - done);
}

void Recorder::quota_starts(std::size_t group, std::uint64_t buckets, std::int64_t level) {
  Group& g = groups_[group];
  g.result.has_quota = true;
  g.quota_buckets = static_cast<double>(buckets);
  g.quota_level = g.quota_buckets * static_cast<double>(level);
}

void Recorder::quota_changed(std::size_t group, std::int64_t change, Time now) {
  Group& g = groups_[group];
  g.quota_area_ns += g.quota_level * inside_window_ns(g.quota_since, now);
  g.quota_since = now;
  g.quota_level += static_cast<double>(change);
}

GroupLevels Recorder::levels_of_group(std::size_t group) const {
  const Group& g = groups_[group];
  return {g.limiter_waiting.now(), g.connection_waiting.now(), g.in_backoff.now(),
          g.in_flight.now(), static_cast<std::int64_t>(g.quota_level)};
}

StationLevels Recorder::levels_of_service(std::size_t service) const {
  const ServiceLevels& s = levels_[service];
  return {s.log.now().busy, s.log.now().in_system, static_cast<std::int64_t>(s.queued), s.working};
}

double Recorder::inside_window_ns(Time from, Time to) const {
  const Time begin = std::max(from, window_start_), end = std::min(to, window_end_);
  return end > begin ? static_cast<double>((end - begin).count()) : 0;
}

void Recorder::add_wasted_work(std::size_t service, Time from, Time to) {
  services_[service].result.wasted_after_give_up_ns += inside_window_ns(from, to);
}

void Recorder::wasting_servers(std::size_t service, double servers, Time now) {
  ServiceLevels& s = levels_[service];
  services_[service].result.wasted_after_give_up_ns +=
      s.in_vain * inside_window_ns(s.in_vain_since, now);
  s.in_vain_since = now;
  s.in_vain = servers;
}

void Recorder::answer_unused(std::size_t service, double server_ns, Time finished, bool executed) {
  if (finished < window_start_ || finished >= window_end_) return;
  services_[service].result.wasted_full_ns += server_ns;
  services_[service].result.unused += executed;
}

void Recorder::choose_boundary() {
  next_boundary_ = std::min({bin_end_, count_bin_end_, phases_.next()});
  if (window_start_ > segment_start_) next_boundary_ = std::min(next_boundary_, window_start_);
  if (window_end_ > segment_start_) next_boundary_ = std::min(next_boundary_, window_end_);
}

void Recorder::cross_boundaries(Time now) {
  if (now >= count_bin_end_) {
    close_count_bins(now);
    choose_boundary();
  }
  while (now >= next_boundary_) {
    const Time boundary = next_boundary_;
    const bool ends_bin = boundary == bin_end_;
    // Count bins cut no segment: sums of levels are the same whatever the width of these bins.
    if (ends_bin || boundary == window_start_ || boundary == window_end_) fold_segment(boundary);
    if (ends_bin) {
      close_bin();
      stop_.count();
    }
    if (boundary == window_start_) in_window_ = true;
    if (boundary == window_end_) close_window();
    if (boundary == phases_.next()) cut_phases(boundary);
    choose_boundary();
  }
}

void Recorder::cut_phases(Time now) {
  const Duration into_segment = now - segment_start_;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    GroupTotals totals{g.told, g.rejected, {}};
    totals.levels_ns = {g.limiter_waiting.total(into_segment),
                        g.connection_waiting.total(into_segment), g.in_backoff.total(into_segment),
                        g.in_flight.total(into_segment)};
    phases_.note_group(i, totals, g.durations.take_latencies());
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    // The levels stay as they are: what is added up elsewhere must not depend on the phases.
    ServiceLevels levels = levels_[i];
    integrate_servers(levels, now);
    ServiceFlow flow = services_[i].flow;
    add_integrals(flow, levels.log.fold(now), levels.has_queue);
    flow.servers_ns = levels.servers_ns;
    flow.merge(services_[i].before);
    phases_.note_service(i, flow);
  }
  phases_.cut();
}

void Recorder::fold_segment(Time end) {
  const Duration length = end - segment_start_;
  for (Group& g : groups_) {
    ClientFlow flow = counts_between(g.told_at_segment, g.told);
    g.told_at_segment = g.told;
    flow.limiter_waiting_ns = g.limiter_waiting.fold(length);
    flow.connection_waiting_ns = g.connection_waiting.fold(length);
    flow.in_backoff_ns = g.in_backoff.fold(length);
    flow.in_flight_ns = g.in_flight.fold(length);
    g.row.flow.merge(flow);
    if (in_window_) g.result.window.merge(flow);
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    ServiceTotals& s = services_[i];
    ServiceLevels& levels = levels_[i];
    integrate_servers(levels, end);
    add_integrals(s.flow, levels.log.fold(end), levels.has_queue);
    s.flow.servers_ns = std::exchange(levels.servers_ns, 0);
    s.flow.queue_max = std::exchange(levels.queue_max, levels.queued);
    s.row.merge(s.flow);
    if (in_window_) s.result.window.merge(s.flow);
    if (phases_.is_needed()) s.before.merge(s.flow);
    s.flow = ServiceFlow{};
  }
  segment_start_ = end;
}

void Recorder::close_bin() {
  ClientBin all;
  BinHistogram all_latency;
  for (Group& g : groups_) {
    BinTotals& latency = g.latency.totals();
    describe_latency(latency.histogram, g.row);
    g.row.latency_sum_ns = latency.sum_ns;
    if (!g.is_inner) {
      all.flow.merge(g.row.flow);
      all_latency.merge(latency.histogram);
      all.latency_sum_ns += latency.sum_ns;
    }
    g.result.bins.push_back(g.row);
    g.row = ClientBin{};
    latency.clear();
  }
  describe_latency(all_latency, all);
  all_bins_.push_back(all);
  for (ServiceTotals& s : services_) {
    s.result.bins.push_back(s.row);
    s.row = ServiceFlow{};
  }
  bin_end_ = bin_end_ + interval_;
}

// Nothing happens in all but the first of the bins that have ended by `now`.
void Recorder::close_count_bins(Time now) {
  for (Group& g : groups_) {
    const ClientFlow& then = g.told_at_count;
    const auto narrow = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
    g.result.counts[count_bin_].merge(
        {.requests = narrow(g.told.requests - then.requests),
         .successes = narrow(g.told.successes - then.successes),
         .failures = narrow(g.told.failures - then.failures),
         .failed_attempts = narrow(g.told.throttled + g.told.errors + g.told.timeouts -
                                   then.throttled - then.errors - then.timeouts)});
    g.told_at_count = g.told;
  }
  const std::size_t next = count_bin_of(now);
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const std::uint64_t queued = levels_[i].has_queue ? levels_[i].queued : 0;
    std::vector<std::uint32_t>& by_bin = services_[i].result.queued;
    std::fill(by_bin.begin() + static_cast<std::ptrdiff_t>(count_bin_ + 1),
              by_bin.begin() + static_cast<std::ptrdiff_t>(next + 1),
              static_cast<std::uint32_t>(
                  std::min<std::uint64_t>(queued, std::numeric_limits<std::uint32_t>::max())));
  }
  count_bin_ = next;
  const auto bins = static_cast<std::int64_t>(next + 1);
  count_bin_end_ = next < count_bins_ ? Time::zero() + count_width_ * bins : Time::max();
}

// The requests of the cohort that have ended up to now did so in the window.
void Recorder::close_window() {
  in_window_ = false;
  for (Group& g : groups_) {
    ClientResult& r = g.result;
    r.successes_within = r.outcomes[static_cast<std::size_t>(Outcome::kSuccess)];
    r.ended_within = std::accumulate(r.outcomes.begin(), r.outcomes.end(), std::uint64_t{0}) -
                     r.outcomes[static_cast<std::size_t>(Outcome::kUnfinished)];
  }
}

void Recorder::close_durations(Group& g) {
  const auto take = [&](DurationBooks::Heading heading, Histogram& histogram,
                        DurationMoments& moments) {
    DurationTotals totals = g.durations.totals(heading);
    histogram = std::move(totals.histogram);
    moments = totals.moments;
  };
  ClientResult& r = g.result;
  take(DurationBooks::kLatency, r.latency, r.latency_m);
  take(DurationBooks::kLatencyOk, r.latency_ok, r.latency_ok_m);
  take(DurationBooks::kAttemptLatency, r.attempt_latency, r.attempt_latency_m);
  take(DurationBooks::kServiceLatency, r.service_latency, r.service_latency_m);
  DurationTotals& queueing_time = g.queueing_time.totals();
  r.queueing_time = std::move(queueing_time.histogram);
  r.queueing_time_m = queueing_time.moments;
  r.attempt_total_ns = r.attempt_latency_m.sum_ns;
  r.backoff_total_ns = r.backoff_time_m.sum_ns;
}

void Recorder::AttemptNumber::begin_bin(Time now) {
  constexpr std::int64_t kWidth = 100'000'000;
  counts.peak_sends_100ms = std::max(counts.peak_sends_100ms, in_bin);
  in_bin = 0;
  bin_end = Time::from_nanoseconds((now.count() / kWidth + 1) * kWidth);
}

void Recorder::close_attempts(Group& g) {
  ClientResult& r = g.result;
  for (AttemptNumber& number : g.by_number) {
    number.begin_bin(number.bin_end);
    r.by_attempt.push_back(number.counts);
    r.attempts += number.counts.sent;
    for (std::size_t i = 0; i < r.results.size(); ++i) r.results[i] += number.counts.results[i];
  }
  r.gave_up = r.results[static_cast<std::size_t>(AttemptResult::kTimeout)] +
              r.results[static_cast<std::size_t>(AttemptResult::kAbandoned)];
}

RunResult Recorder::finish(Time end) {
  // The last bin is completed: nothing happens in the rest of it.
  const std::int64_t width = interval_.count();
  const std::int64_t bins =
      std::max((window_end_.count() + width - 1) / width, end.count() / width + 1);
  cross_boundaries(Time::from_nanoseconds(bins * width));
  RunResult result;
  result.seed = seed_;
  result.replication = replication_;
  result.window_start = window_start_;
  result.window_end = window_end_;
  result.interval = interval_;
  result.count_width = count_width_;
  result.ended = end;
  result.last_request_end = last_request_end_;
  const double window_ns = static_cast<double>((window_end_ - window_start_).count());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    close_durations(g);
    close_attempts(g);
    if (!g.is_inner) g.result.requests = g.result.window.requests;
    for (std::size_t c = 0; c < g.result.ended_per_client.size(); ++c) {
      g.result.ended_per_client[c] += static_cast<std::uint32_t>(g.result.successes_per_client[c]);
    }
    quota_changed(i, 0, window_end_);
    if (g.result.has_quota) {
      g.result.quota_mean = g.quota_area_ns / (window_ns * g.quota_buckets);
    }
    result.clients.push_back(std::move(g.result));
  }
  // Results of many replications are kept: without the room that vectors take to grow.
  for (ClientResult& client : result.clients) {
    client.bins.shrink_to_fit();
    client.counts.pop_back();
  }
  all_bins_.shrink_to_fit();
  for (ServiceTotals& s : services_) {
    s.result.bins.shrink_to_fit();
    s.result.queued.pop_back();
    result.services.push_back(std::move(s.result));
  }
  result.all_bins = std::move(all_bins_);
  phases_.divide(scenario_, result);
  return result;
}

}  // namespace retrysim::stats
