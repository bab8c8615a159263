// SPDX-License-Identifier: MIT
#include "measure/phase_log.hpp"

#include <retrysim/metrics.hpp>

#include "measure/count_width.hpp"
#include "measure/flow_difference.hpp"
#include "measure/recovery.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <optional>

namespace retrysim::stats {
namespace {

/// Cuts behind the last disturbance until its distance has doubled.
constexpr std::int64_t kCutsPerDoubling = 8;

/// When the last disturbance is over; nothing if there is none.
std::optional<Time> last_end(const Scenario& scenario) {
  std::optional<Time> last;
  for (const Trigger& trigger : triggers(scenario))
    last = std::max(last.value_or(trigger.end), trigger.end);
  return last;
}

/// Edges of count bins behind `from` and before `to`.
std::vector<Time> recovery_cuts(Time from, Time to, Duration bin) {
  std::vector<Time> cuts;
  const std::int64_t width = bin.count();
  const std::int64_t first = (from.count() + width - 1) / width;
  for (std::int64_t bins = 1;; bins += std::max<std::int64_t>(bins / kCutsPerDoubling, 1)) {
    if (bins > to.count() / width) return cuts;
    const Time cut = Time::zero() + bin * (first + bins);
    if (cut >= to) return cuts;
    cuts.push_back(cut);
  }
}

/// From the start of the window to its end.
std::vector<Time> cuts_of(const Scenario& scenario, std::span<const Phase> phases) {
  if (phases.empty()) return {};
  const Time start = Time::zero() + scenario.warmup, end = Time::zero() + scenario.duration;
  std::vector<Time> cuts = {start, end};
  for (const Phase& phase : phases) {
    cuts.push_back(phase.start);
    cuts.push_back(phase.end);
  }
  if (const auto last = last_end(scenario)) {
    const auto more = recovery_cuts(std::max(*last, start), end, count_width(scenario.duration));
    cuts.insert(cuts.end(), more.begin(), more.end());
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

PhaseLatency describe(const Histogram& histogram, WideNanoseconds sum_ns) {
  PhaseLatency latency;
  latency.count = histogram.count();
  latency.sum_ns = static_cast<double>(sum_ns);
  for (std::size_t i = 0; i < kPhaseQuantiles.size(); ++i) {
    latency.quantiles_s[i] = quantile_seconds(histogram, kPhaseQuantiles[i]).value_or(0);
  }
  return latency;
}

}  // namespace

SparseHistogram::SparseHistogram(const Histogram& histogram) {
  if (histogram.count() == 0) return;
  const Histogram::Parts parts = histogram.parts();
  smallest_ = parts.smallest;
  largest_ = parts.largest;
  for (std::size_t i = 0; i < parts.counts.size(); ++i) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    for (std::uint64_t left = parts.counts[i]; left > 0; left -= std::min(left, kMost)) {
      counts_.emplace_back(static_cast<std::uint32_t>(parts.first + i),
                           static_cast<std::uint32_t>(std::min(left, kMost)));
    }
  }
  counts_.shrink_to_fit();
}

Histogram SparseHistogram::sum(std::span<const SparseHistogram* const> parts) {
  constexpr std::size_t kBlock = Histogram::kSubBuckets;
  std::size_t first = Histogram::kBucketCount, last = 0;
  for (const SparseHistogram* part : parts) {
    if (part->counts_.empty()) continue;
    first = std::min<std::size_t>(first, part->counts_.front().first / kBlock * kBlock);
    last = std::max<std::size_t>(last, (part->counts_.back().first / kBlock + 1) * kBlock);
  }
  if (last == 0) return {};
  Histogram::Parts sum;
  sum.first = first;
  sum.counts.resize(last - first);
  for (const SparseHistogram* part : parts) {
    for (const auto& [bucket, count] : part->counts_) sum.counts[bucket - first] += count;
    sum.smallest = std::min(sum.smallest, part->smallest_);
    sum.largest = std::max(sum.largest, part->largest_);
  }
  return Histogram::from_parts(std::move(sum));
}

PhaseLog::PhaseLog(const Scenario& scenario)
    : phases_(phases_of(scenario)), cuts_(cuts_of(scenario, phases_)) {
  if (phases_.empty()) return;
  running_.groups.resize(scenario.clients.size());
  running_.services.resize(scenario.services.size());
  group_totals_.resize(scenario.clients.size());
  service_totals_.resize(scenario.services.size());
  stretches_.reserve(cuts_.size() - 1);
}

void PhaseLog::note_group(std::size_t group, const GroupTotals& totals,
                          RequestLatencies latencies) {
  GroupTotals& then = group_totals_[group];
  OfGroup& now = running_.groups[group];
  now.flow = counts_between(then.told, totals.told);
  const auto level = [&](std::size_t i) {
    return static_cast<double>(totals.levels_ns[i] - then.levels_ns[i]);
  };
  now.flow.limiter_waiting_ns = level(0);
  now.flow.connection_waiting_ns = level(1);
  now.flow.in_backoff_ns = level(2);
  now.flow.in_flight_ns = level(3);
  now.rejected = totals.rejected - then.rejected;
  now.ok = SparseHistogram(latencies.ok.histogram);
  now.failed = SparseHistogram(latencies.failed.histogram);
  now.ok_ns = latencies.ok.moments.sum_ns;
  now.failed_ns = latencies.failed.moments.sum_ns;
  then = totals;
}

void PhaseLog::note_service(std::size_t service, const ServiceFlow& totals) {
  running_.services[service] = flow_between(service_totals_[service], totals);
  service_totals_[service] = totals;
}

void PhaseLog::cut() {
  // What came before the first one is no part of any phase.
  if (cut_++ > 0) stretches_.push_back(running_);
}

std::size_t PhaseLog::cut_at(Time t) const {
  return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), t) - cuts_.begin());
}

/// The cut with which the recovery of a group ends; the last one if it does not.
std::size_t PhaseLog::cut_of_recovery(const Scenario& scenario, const RunResult& run,
                                      std::optional<std::size_t> group) const {
  const std::size_t last = cuts_.size() - 1;
  const auto disturbed_until = last_end(scenario);
  if (!disturbed_until) return last;
  const auto recovery = final_recovery(scenario, run, group);
  if (!recovery->seconds) return last;
  const std::size_t first = cut_at(*disturbed_until);
  // Recoveries end on edges of count bins, but for the rounding of seconds.
  const double rounding_s = run.count_width.in_seconds() / 2;
  const Time moment = *disturbed_until + Duration::from_seconds(*recovery->seconds - rounding_s);
  const std::size_t at = *recovery->seconds > 0 ? std::max(cut_at(moment), first) : first;
  // Confirmed before the end of the window, it ends before that, too.
  return at == last && last > first ? last - 1 : at;
}

PhaseLog::Range PhaseLog::range_of(const Phase& phase, std::size_t recovered) const {
  const std::size_t first = cut_at(phase.start), last = cut_at(phase.end);
  const std::size_t between = std::clamp(recovered, first, last);
  switch (phase.kind) {
    case PhaseKind::kRecovering:
      return {first, between};
    case PhaseKind::kAfter:
      return {between, last};
    default:
      return {first, last};
  }
}

PhaseResult PhaseLog::add_up(Range range, std::span<const std::size_t> groups,
                             std::span<const std::size_t> services) const {
  PhaseResult sum;
  sum.start = cuts_[range.first];
  sum.end = cuts_[range.last];
  std::vector<const SparseHistogram*> ok, all;
  WideNanoseconds ok_ns = 0, all_ns = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    for (const std::size_t g : groups) {
      const OfGroup& part = stretches_[i].groups[g];
      sum.flow.merge(part.flow);
      sum.rejected += part.rejected;
      ok.push_back(&part.ok);
      all.push_back(&part.ok);
      all.push_back(&part.failed);
      ok_ns += part.ok_ns;
      all_ns += part.ok_ns + part.failed_ns;
    }
    for (const std::size_t s : services) sum.service.merge(stretches_[i].services[s]);
  }
  sum.latency = describe(SparseHistogram::sum(all), all_ns);
  sum.latency_ok = describe(SparseHistogram::sum(ok), ok_ns);
  return sum;
}

void PhaseLog::divide(const Scenario& scenario, RunResult& run) const {
  if (phases_.empty()) return;
  assert(stretches_.size() + 1 == cuts_.size());
  const auto add_all = [&](std::vector<PhaseResult>& to, std::optional<std::size_t> group,
                           std::span<const std::size_t> groups,
                           std::span<const std::size_t> services) {
    const std::size_t recovered = cut_of_recovery(scenario, run, group);
    for (const Phase& phase : phases_) {
      to.push_back(add_up(range_of(phase, recovered), groups, services));
    }
  };
  std::vector<std::size_t> users, services(run.services.size());
  std::iota(services.begin(), services.end(), 0);
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (!scenario.clients[g].caller) users.push_back(g);
    const auto own = own_service(scenario, g);
    const std::size_t group[] = {g}, service[] = {own.value_or(0)};
    add_all(run.clients[g].phases, g, group, std::span(service).first(own ? 1 : 0));
  }
  add_all(run.all_phases, std::nullopt, users, services);
}

PhaseLog::Memory PhaseLog::memory(const Scenario& scenario, std::span<const double> requests) {
  const std::vector<Phase> phases = phases_of(scenario);
  Memory memory;
  if (phases.empty()) return memory;
  constexpr double kMostBuckets = 10 * Histogram::kSubBuckets;  // some powers of two
  const auto stretches = static_cast<double>(cuts_of(scenario, phases).size() - 1);
  double bytes = 0;
  for (const double all : requests) {
    // Not all requests of a stretch fall into buckets of their own.
    const double buckets = std::min(all / stretches + 1, kMostBuckets);
    bytes +=
        stretches * (sizeof(OfGroup) + buckets * sizeof(std::pair<std::uint32_t, std::uint32_t>));
  }
  bytes += stretches * static_cast<double>(scenario.services.size()) * sizeof(ServiceFlow);
  memory.log = static_cast<std::uint64_t>(bytes);
  memory.result = (scenario.clients.size() + 1) * phases.size() * sizeof(PhaseResult);
  return memory;
}

}  // namespace retrysim::stats
