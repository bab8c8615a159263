// The cuts, the counts between them, and the results of phases made from these.
//
// SPDX-License-Identifier: MIT
#include "measure/record/phase_log.hpp"

#include <retrysim/metrics.hpp>

#include "measure/analyse/recovery.hpp"
#include "measure/analyse/slo.hpp"
#include "measure/record/recorder.hpp"

#include <algorithm>
#include <cassert>
#include <concepts>
#include <numeric>
#include <optional>
#include <utility>

namespace retrysim::stats {

namespace {

/// The difference of two sums; above 2^53 ns it is a few ns off, so tiny growth counts as 0.
double growth(double before, double after) {
  const double d = after - before;
  return d > after * 1e-14 ? d : 0;
}

/// The difference of two flows, field by field: counts, and integrals of levels if `integrals` is
/// true.
template <class Flow>
Flow between(const Flow& before, const Flow& after, bool integrals) {
  const auto grown = [&](auto& d, const auto& from, const auto& to) {
    if constexpr (std::integral<decltype(to - from)>) {
      d = to - from;
    } else if (integrals) {
      d = growth(from, to);
    }
  };
  Flow difference;
  const auto into = [&](auto&... d) {
    const auto between_them = [&](const auto&... from) {
      fields([&](const auto&... to) { (grown(d, from, to), ...); }, after);
    };
    fields(between_them, before);
  };
  fields(into, difference);
  return difference;
}

}  // namespace

ClientFlow counts_between(const ClientFlow& before, const ClientFlow& after) {
  return between(before, after, false);
}

ServiceFlow flow_between(const ServiceFlow& before, const ServiceFlow& after) {
  ServiceFlow d = between(before, after, true);
  d.queue_max = 0;
  return d;
}

namespace {

/// Adds edges of count bins after `from` and before `to`: so many while the distance from `from`
/// doubles.
void add_cuts(Time from, Time to, Duration bin, std::int64_t per_doubling,
              std::vector<Time>& cuts) {
  const std::int64_t width = bin.count();
  const std::int64_t first = (from.count() + width - 1) / width;
  for (std::int64_t bins = 1;; bins += std::max<std::int64_t>(bins / per_doubling, 1)) {
    if (bins > to.count() / width) return;
    const Time cut = Time::zero() + bin * (first + bins);
    if (cut >= to) return;
    cuts.push_back(cut);
  }
}

/// The times at which recoveries may end: after the last disturbance and before the end of the
/// window.
std::vector<Time> recovery_cuts(const Scenario& scenario) {
  constexpr std::int64_t kCutsPerDoubling = 16;
  std::vector<Time> cuts;
  const auto last = end_of_disturbances(scenario, std::nullopt);
  if (!last) return cuts;
  add_cuts(std::max(*last, Time::zero() + scenario.warmup), Time::zero() + scenario.duration,
           count_width(scenario.duration), kCutsPerDoubling, cuts);
  return cuts;
}

/// Likewise after each event of an SLO but the last. There may be many: fewer cuts for each.
void add_cuts_of_events(const Scenario& scenario, std::vector<Time>& cuts) {
  constexpr std::int64_t kCutsPerDoubling = 4;
  const std::vector<SloEvent> events = slo_events(scenario);
  for (std::size_t e = 0; e + 1 < events.size(); ++e) {
    add_cuts(events[e].fault_end, events[e + 1].start, count_width(scenario.duration),
             kCutsPerDoubling, cuts);
  }
}

/// All cuts, from the start of the window to its end.
std::vector<Time> cuts_of(const Scenario& scenario, std::span<const Phase> phases,
                          std::vector<Time> cuts) {
  if (phases.empty() && scenario.slos.empty()) return {};
  if (!scenario.slos.empty()) add_cuts_of_events(scenario, cuts);
  cuts.push_back(Time::zero() + scenario.warmup);
  cuts.push_back(Time::zero() + scenario.duration);
  for (const Phase& phase : phases) {
    cuts.push_back(phase.start);
    cuts.push_back(phase.end);
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

void LateRequests::ended(Time submitted, Outcome outcome, std::uint32_t attempts,
                         Duration latency) {
  const auto made = [&](PhaseRequests& requests) {
    ++requests.outcomes[static_cast<std::size_t>(outcome)];
    requests.attempts += attempts;
    requests.unsent += attempts == 0;
  };
  made(all_);
  // The last cut ends the window: requests made after it belong to no phase, like those made before
  // the first cut.
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), submitted);
  if (after == cuts_.begin() || after == cuts_.end()) return;
  if (stretches_.empty()) stretches_.resize(cuts_.size() - 1);
  const auto stretch = static_cast<std::size_t>(after - cuts_.begin()) - 1;
  made(stretches_[stretch].requests);
  if (outcome == Outcome::kUnfinished) return;
  noted_.push_back({static_cast<std::uint32_t>(stretch), outcome == Outcome::kSuccess,
                    static_cast<std::uint64_t>(latency.count())});
  if (noted_.size() == kMaxNoted) add_noted();
}

void LateRequests::add_noted() {
  const auto place = [](const Noted& n) { return std::pair(n.stretch, n.ok); };
  std::sort(noted_.begin(), noted_.end(),
            [&](const Noted& a, const Noted& b) { return place(a) < place(b); });
  std::vector<std::uint64_t> values;
  for (auto from = noted_.begin(); from != noted_.end();) {
    const auto to =
        std::find_if(from, noted_.end(), [&](const Noted& n) { return place(n) != place(*from); });
    OfStretch& of = stretches_[from->stretch];
    const bool from_ok = from->ok;
    WideNanoseconds& sum_ns = from->ok ? of.ok_ns : of.failed_ns;
    SparseHistogram& histogram = from->ok ? of.ok : of.failed;
    values.clear();
    for (; from != to; ++from) {
      values.push_back(from->latency_ns);
      sum_ns += static_cast<WideNanoseconds>(from->latency_ns);
    }
    if (from_ok && !limits_ns_.empty()) count_slow(values, limits_ns_, of.slow);
    histogram.add(values);
  }
  noted_.clear();
}

std::vector<LateRequests::OfStretch> LateRequests::take() {
  add_noted();
  return std::move(stretches_);
}

PhaseLog::PhaseLog(const Scenario& scenario)
    : phases_(phases_of(scenario)),
      recovery_cuts_(recovery_cuts(scenario)),
      cuts_(cuts_of(scenario, phases_, recovery_cuts_)) {
  if (cuts_.empty()) return;
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
  for (std::size_t i = 0; i < now.made.outcomes.size(); ++i) {
    now.made.outcomes[i] = totals.ended.outcomes[i] - then.ended.outcomes[i];
  }
  now.made.attempts = totals.ended.attempts - then.ended.attempts;
  now.made.unsent = totals.ended.unsent - then.ended.unsent;
  now.flow = counts_between(then.told, totals.told);
  const auto level = [&](std::size_t i) {
    return static_cast<double>(totals.levels_ns[i] - then.levels_ns[i]);
  };
  now.flow.limiter_waiting_ns = level(0);
  now.flow.connection_waiting_ns = level(1);
  now.flow.in_backoff_ns = level(2);
  now.flow.in_flight_ns = level(3);
  now.flow.breaker_open_ns = level(4);
  now.rejected = totals.rejected - then.rejected;
  now.latencies = std::move(latencies);
  then = totals;
}

void PhaseLog::note_service(std::size_t service, const ServiceFlow& totals) {
  running_.services[service] = flow_between(service_totals_[service], totals);
  service_totals_[service] = totals;
}

void PhaseLog::note_late(std::size_t group, std::vector<LateRequests::OfStretch> late) {
  late_.resize(std::max(late_.size(), group + 1));
  late_[group] = std::move(late);
}

void PhaseLog::cut() {
  // The counts before the first cut are not part of any phase.
  if (cut_++ == 0) return;
  stretches_.push_back(std::exchange(running_, {}));
  running_.groups.resize(group_totals_.size());
  running_.services.resize(service_totals_.size());
}

std::size_t PhaseLog::cut_at(Time t) const {
  return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), t) - cuts_.begin());
}

/// The cut with which the recovery of a group ends; the last one if it does not.
std::size_t PhaseLog::cut_of_recovery(const Scenario& scenario, const RunResult& run,
                                      std::optional<std::size_t> group) const {
  const auto recovery = final_recovery(scenario, run, group);
  if (!recovery || !recovery->seconds) return cuts_.size() - 1;
  // Faults elsewhere, for which this group does not wait, may outlast the window.
  const Time end = std::min(*end_of_disturbances(scenario, std::nullopt), run.window_end);
  // Recoveries end on edges of count bins, but for the rounding of seconds.
  const double rounding_s = run.count_width.in_seconds() / 2;
  const Time moment = *end_of_disturbances(scenario, group) +
                      Duration::from_seconds(*recovery->seconds - rounding_s);
  if (moment <= std::max(end, run.window_start) || recovery_cuts_.empty()) return cut_at(end);
  const auto at = std::lower_bound(recovery_cuts_.begin(), recovery_cuts_.end(), moment);
  // A recovery was confirmed before the end of the window, so there is something after it.
  return cut_at(at == recovery_cuts_.end() ? recovery_cuts_.back() : *at);
}

/// The cut with which the aftermath of an event ends: when the group is back, or with the next one.
std::size_t PhaseLog::cut_of_return(const Scenario& scenario, const RunResult& run,
                                    std::optional<std::size_t> group, const SloEvent& event,
                                    Time next) const {
  const auto back = back_after(scenario, run, group, event.start, event.fault_end, next);
  if (!back) return cut_at(next);
  if (*back <= event.fault_end) return cut_at(event.fault_end);
  // Recoveries end on edges of count bins, but for the rounding of seconds.
  return cut_at(Time::from_nanoseconds(back->count() - run.count_width.count() / 2));
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
      sum.made.merge(part.made);
      sum.flow.merge(part.flow);
      sum.rejected += part.rejected;
      for (const RequestLatencies::Part& latencies : part.latencies.parts) {
        all.push_back(&latencies.histogram);
        all_ns += latencies.sum_ns;
        if (!latencies.ok) continue;
        ok.push_back(&latencies.histogram);
        ok_ns += latencies.sum_ns;
      }
      if (g >= late_.size() || late_[g].empty()) continue;
      const LateRequests::OfStretch& late = late_[g][i];
      sum.made.merge(late.requests);
      all.push_back(&late.ok);
      all.push_back(&late.failed);
      all_ns += late.ok_ns + late.failed_ns;
      ok.push_back(&late.ok);
      ok_ns += late.ok_ns;
    }
    for (const std::size_t s : services) sum.service.merge(stretches_[i].services[s]);
  }
  sum.latency = describe(SparseHistogram::sum(all), all_ns);
  sum.latency_ok = describe(SparseHistogram::sum(ok), ok_ns);
  return sum;
}

void PhaseLog::add_to(SloEventCounts& counts, std::size_t slo, Range range,
                      std::size_t group) const {
  const auto add = [&](const PhaseRequests& made, const std::vector<std::uint64_t>& slow) {
    counts.requests += made.requests();
    counts.failed += made.requests() - made.successes();
    counts.retries += made.retries();
    if (!slow.empty()) counts.slow += slow[slo];
  };
  for (std::size_t i = range.first; i < range.last; ++i) {
    const OfGroup& part = stretches_[i].groups[group];
    add(part.made, {});
    for (const RequestLatencies::Part& latencies : part.latencies.parts) add({}, latencies.slow);
    if (group >= late_.size() || late_[group].empty()) continue;
    const LateRequests::OfStretch& late = late_[group][i];
    add(late.requests, late.slow);
  }
}

SloCounts PhaseLog::count_slo(const Scenario& scenario, const RunResult& run,
                              std::size_t slo) const {
  const std::vector<SloEvent> events = slo_events(scenario);
  const std::vector<std::size_t> groups = slo_groups(scenario, scenario.slos[slo]);
  const bool disturbed = !disturbances(scenario).empty();
  const Time before_end = disturbed ? events.front().start : run.window_end;
  SloCounts counts;
  SloEventCounts before;
  for (const std::size_t g : groups) add_to(before, slo, {0, cut_at(before_end)}, g);
  counts.requests_before = before.requests;
  counts.before = before_end - run.window_start;
  if (disturbed) {
    counts.since_first.start = before_end;
    counts.since_first.end = run.window_end;
    for (const std::size_t g : groups) {
      add_to(counts.since_first, slo, {cut_at(before_end), cuts_.size() - 1}, g);
    }
  }
  for (std::size_t e = 0; e < events.size(); ++e) {
    const std::size_t first = cut_at(events[e].start);
    const bool is_last = e + 1 == events.size();
    SloEventCounts& event = counts.events.emplace_back();
    event.start = events[e].start;
    for (const std::size_t g : groups) {
      // The recovery of all groups together, or of each group that the SLO names.
      const auto of = scenario.slos[slo].clients.empty() ? std::nullopt : std::optional(g);
      std::size_t last = cuts_.size() - 1;
      if (!is_last) {
        last = cut_of_return(scenario, run, of, events[e], events[e + 1].start);
      } else if (disturbed) {
        const auto recovery = final_recovery(scenario, run, of);
        event.over = event.over && !(recovery && !recovery->seconds);
        last = std::max(cut_at(events[e].fault_end), cut_of_recovery(scenario, run, of));
      }
      event.end = std::max(event.end, cuts_[last]);
      add_to(event, slo, {first, last}, g);
    }
  }
  return counts;
}

void PhaseLog::divide(const Scenario& scenario, RunResult& run) const {
  if (cuts_.empty()) return;
  assert(stretches_.size() + 1 == cuts_.size());
  if (!phases_.empty()) divide_phases(scenario, run);
  for (std::size_t i = 0; i < scenario.slos.size(); ++i) {
    run.slos.push_back(count_slo(scenario, run, i));
  }
}

void PhaseLog::divide_phases(const Scenario& scenario, RunResult& run) const {
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
    if (!scenario.clients[g].makes_calls()) users.push_back(g);
    const auto own = own_service(scenario, g);
    const std::size_t group[] = {g}, service[] = {own.value_or(0)};
    add_all(run.clients[g].phases, g, group, std::span(service).first(own ? 1 : 0));
  }
  add_all(run.all_phases, std::nullopt, users, services);
}

PhaseLog::Memory PhaseLog::memory(const Scenario& scenario, std::span<const double> requests) {
  const std::vector<Phase> phases = phases_of(scenario);
  Memory memory;
  if (phases.empty() && scenario.slos.empty()) return memory;
  constexpr double kMaxBuckets = 10 * Histogram::kSubBuckets;  // buckets of ten powers of two
  const auto stretches =
      static_cast<double>(cuts_of(scenario, phases, recovery_cuts(scenario)).size() - 1);
  double bytes = 0;
  for (const double all : requests) {
    // Requests of a single attempt, of several attempts, and failed requests.
    constexpr std::size_t kParts = 3;
    constexpr std::size_t kFixed =
        sizeof(OfGroup) + kParts * sizeof(RequestLatencies::Part) + sizeof(LateRequests::OfStretch);
    // Many requests of a stretch share a bucket; there is one histogram for requests that end in
    // their stretch, and one for late requests.
    const double buckets = 2 * std::min(all / stretches + 1, kMaxBuckets);
    bytes += stretches * (kFixed + buckets * SparseHistogram::kBytesOfBucket);
    bytes += LateRequests::kMaxNoted * sizeof(std::uint64_t) * 3;
  }
  bytes += stretches * static_cast<double>(scenario.services.size()) * sizeof(ServiceFlow);
  memory.log = static_cast<std::uint64_t>(bytes);
  memory.result = (scenario.clients.size() + 1) * phases.size() * sizeof(PhaseResult);
  return memory;
}

}  // namespace retrysim::stats
