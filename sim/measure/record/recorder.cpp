// The run: cut into segments, and the results of all recorders.
//
// SPDX-License-Identifier: MIT
#include "measure/record/recorder.hpp"

#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "measure/record/phase_log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace retrysim::stats {

namespace {

std::vector<ClientRecorder> client_recorders(const Scenario& scenario, const RunSpan& span) {
  std::vector<ClientRecorder> all;
  all.reserve(scenario.clients.size());
  while (all.size() < scenario.clients.size()) all.emplace_back(span);
  return all;
}

std::vector<ServiceRecorder> service_recorders(const Scenario& scenario, const RunSpan& span) {
  std::vector<ServiceRecorder> all;
  all.reserve(scenario.services.size());
  for (const ServiceSpec& spec : scenario.services) all.emplace_back(spec, span);
  return all;
}

/// For each group, whether it uses a service that may succeed although one of its calls failed.
std::vector<bool> groups_that_may_be_degraded(const Scenario& scenario) {
  std::vector<bool> services(scenario.services.size()), groups(scenario.clients.size());
  for (const CallSpec& call : scenario.calls) {
    if (call.on_failure != CallFailure::kFail) services[call.caller] = true;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const ServiceShare& called : service_shares(scenario.clients[g])) {
      if (services[called.service]) groups[g] = true;
    }
  }
  return groups;
}

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::uint32_t replication)
    : scenario_(scenario),
      span_(scenario),
      clients_(client_recorders(scenario, span_)),
      services_(service_recorders(scenario, span_)),
      phases_(scenario),
      bin_end_(Time::zero() + scenario.interval),
      count_bin_end_(Time::zero() + span_.count_width),
      replication_(replication) {
  const kernel::Claim claim;
  take_memory(scenario, clients_, services_, all_bins_, claim, claim);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    users_ += !is_inner(i);
    clients_[i].late.set_cuts(phases_.cuts());
  }
  if (span_.window_start == Time::zero()) begin_window();
  if (phases_.next() == Time::zero()) cut_phases(Time::zero());
  choose_boundary();
}

// A run has at least the bins of its duration; the drain may add some.
template <class Take>
void Recorder::take_memory(const Scenario& scenario, std::vector<ClientRecorder>& clients,
                           std::vector<ServiceRecorder>& services, std::vector<ClientBin>& all_bins,
                           Take& of_bins, Take& of_clients) {
  const std::int64_t width = std::max<std::int64_t>(scenario.interval.count(), 1);
  const auto bins = static_cast<std::size_t>(scenario.duration.count() / width + 1);
  const auto drain = static_cast<std::size_t>(
      scenario.drain ? std::min(scenario.drain_limit, kLongestDuration).count() / width + 1 : 0);
  of_bins.room(all_bins, bins, bins + drain);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].take_memory(scenario.clients[i], bins, bins + drain, of_bins, of_clients);
  }
  for (ServiceRecorder& service : services) service.take_memory(bins, bins + drain, of_bins);
}

Recorder::Memory Recorder::memory(const Scenario& scenario) {
  const RunSpan span(scenario);
  std::vector<ClientRecorder> clients = client_recorders(scenario, span);
  std::vector<ServiceRecorder> services = service_recorders(scenario, span);
  std::vector<ClientBin> all_bins;
  kernel::Tally of_bins, of_clients;
  take_memory(scenario, clients, services, all_bins, of_bins, of_clients);
  return {of_bins.bytes(), of_clients.bytes()};
}

void Recorder::choose_boundary() {
  next_edge_ = std::min(bin_end_, phases_.next());
  for (const Time edge : {span_.window_start, span_.window_end}) {
    if (edge > segment_start_) next_edge_ = std::min(next_edge_, edge);
  }
  next_boundary_ = std::min(next_edge_, count_bin_end_);
}

// The usual case: only a count bin ends, and nothing was counted in it.
void Recorder::cross_boundaries(Time now) {
  if (now >= next_edge_ || has_counts()) return close_bins(now);
  enter_count_bin(now);
  next_boundary_ = std::min(next_edge_, count_bin_end_);
}

void Recorder::close_bins(Time now) {
  if (now >= count_bin_end_) {
    const std::size_t ended = count_bin_;
    enter_count_bin(now);
    // Nothing happens in all but the first of the bins that have ended by `now`.
    for (ClientRecorder& client : clients_) client.close_count_bin(ended);
    for (ServiceRecorder& service : services_) service.close_count_bins(ended, count_bin_);
    next_boundary_ = std::min(next_edge_, count_bin_end_);
  }
  if (now >= next_boundary_) cross_edges(now);
}

void Recorder::cross_edges(Time now) {
  while (now >= next_boundary_) {
    const Time boundary = next_boundary_;
    const bool ends_bin = boundary == bin_end_;
    const bool begins_window = boundary == span_.window_start;
    const bool ends_window = boundary == span_.window_end;
    // Count bins cut no segment: sums of levels are the same whatever the width of these bins.
    if (ends_bin || begins_window || ends_window) fold_segment(boundary);
    if (ends_bin) close_bin();
    if (begins_window) begin_window();
    if (ends_window) end_window();
    if (boundary == phases_.next()) cut_phases(boundary);
    choose_boundary();
  }
}

void Recorder::cut_phases(Time now) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    stop_point();
    phases_.note_group(i, clients_[i].totals(now), clients_[i].take_latencies());
    clients_[i].begin_stretch(now);
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    stop_point();
    phases_.note_service(i, services_[i].totals(now));
  }
  phases_.cut();
}

void Recorder::begin_window() {
  for (ClientRecorder& client : clients_) client.begin_window();
  for (ServiceRecorder& service : services_) service.begin_window();
}

void Recorder::end_window() {
  for (ClientRecorder& client : clients_) client.end_window();
  for (ServiceRecorder& service : services_) service.end_window();
}

void Recorder::fold_segment(Time end) {
  for (ClientRecorder& client : clients_) client.fold_segment(end);
  for (ServiceRecorder& service : services_) service.fold_segment(end);
  segment_start_ = end;
}

void Recorder::close_bin() {
  ClientBin all;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    stop_.count();
    BinTotals& latency = clients_[i].close_bin();
    if (users_ == 1 && !is_inner(i)) {
      all = clients_[i].last_bin();
    } else if (!is_inner(i)) {
      all.flow.merge(clients_[i].last_bin().flow);
      all_latency_.merge(latency);
    }
    latency.clear();
  }
  if (users_ > 1) {
    all_latency_.describe(all);
    all_latency_.clear();
  }
  all_bins_.push_back(all);
  for (ServiceRecorder& service : services_) {
    stop_.count();
    service.close_bin();
  }
  bin_end_ = bin_end_ + span_.interval;
}

// Whether anything was counted in the running count bin.
inline bool Recorder::has_counts() const {
  for (const ClientRecorder& client : clients_) {
    if (client.has_counts()) return true;
  }
  for (const ServiceRecorder& service : services_) {
    if (service.somebody_queues()) return true;
  }
  return false;
}

inline void Recorder::enter_count_bin(Time now) {
  // With dense events it is the next bin, and no division is needed.
  const std::int64_t width = span_.count_width.count();
  std::size_t next = count_bin_ + 1;
  std::int64_t end = count_bin_end_.count() + width;
  if (now.count() >= end) {
    next = span_.count_bin_of(now);
    end = static_cast<std::int64_t>(next + 1) * width;
  }
  count_bin_ = next;
  count_bin_end_ = next < span_.count_bins ? Time::from_nanoseconds(end) : Time::max();
}

RunResult Recorder::finish(Time end) {
  // The last bin is completed: nothing happens in the rest of it.
  const std::int64_t width = span_.interval.count();
  const std::int64_t bins =
      std::max((span_.window_end.count() + width - 1) / width, end.count() / width + 1);
  cross_boundaries(Time::from_nanoseconds(bins * width));
  RunResult result;
  result.seed = scenario_.seed;
  result.replication = replication_;
  result.window_start = span_.window_start;
  result.window_end = span_.window_end;
  result.interval = span_.interval;
  result.count_width = span_.count_width;
  result.ended = end;
  const std::vector<bool> may_be_degraded = groups_that_may_be_degraded(scenario_);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    result.last_request_end = std::max(result.last_request_end, clients_[i].last_end());
    phases_.note_late(i, clients_[i].late.take());
    stop_point();
    ClientResult& client = result.clients.emplace_back(clients_[i].finish());
    if (!is_inner(i)) client.requests = client.window.requests;
    if (may_be_degraded[i])
      client.degradable = client.outcomes[static_cast<std::size_t>(Outcome::kSuccess)];
  }
  for (ServiceRecorder& service : services_) result.services.push_back(service.finish());
  all_bins_.shrink_to_fit();
  result.all_bins = std::move(all_bins_);
  phases_.divide(scenario_, result);
  return result;
}

}  // namespace retrysim::stats
