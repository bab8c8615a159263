// The case of a client group: the measurements and facts that rules look at, gathered from all
// replications.
//
// SPDX-License-Identifier: MIT
#include "explain/group_case.hpp"

#include <retrysim/metrics.hpp>

#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "measure/analyse/storms.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::explain {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

double seconds(Time t) { return (t - Time::zero()).in_seconds(); }

void add_limit(LimitCounts& to, const LimitCounts& l) {
  to.arrivals += l.arrivals;
  to.limited += l.limited;
  to.refused += l.refused;
  to.sum += l.sum;
}

}  // namespace

bool sheds_by_priority(const ServiceSpec& service) {
  return (service.queue.evicts() && service.queue.capacity != ServiceSpec::kUnlimited) ||
         !service.concurrency.partitions.empty();
}

bool leaves_instances_out(const ServiceSpec& service) {
  const InstancesSpec& i = service.instances;
  return i.count > 1 && (i.health_check.enabled() || i.accrual.enabled() ||
                         i.ejection.interval != Duration::max());
}

double at_once_s(const Scenario& scenario) {
  constexpr double kNothing = 1;
  return std::min(scenario.recovery.window.in_seconds(), kNothing);
}

double least_work_above_capacity(const Capacity& capacity, double offered_s) {
  constexpr double kFew = 20;
  return offered_s >= kFew * capacity.server_time_s ? offered_s
                                                    : sure_work_above_capacity(capacity, offered_s);
}

double sure_work_above_capacity(const Capacity& capacity, double offered_s) {
  constexpr double kDeviations = 2;
  const double room = offered_s / capacity.server_time_s;
  // The least n with n - 2 sqrt(n) >= room.
  const double root = kDeviations / 2 + std::sqrt(kDeviations * kDeviations / 4 + room);
  return root * root * capacity.server_time_s;
}

namespace {

class CaseBuilder {
 public:
  CaseBuilder(CaseFacts& facts, std::span<const RunResult> runs, std::size_t group)
      : facts_(facts),
        demand_(facts.demand),
        part_(facts.part_of(group)),
        triggers_(part_.in_window),
        called_(called_services(facts.scenario.clients[group])),
        c_{facts.scenario, group, facts.scenario.clients[group], {}},
        runs_(runs) {
    for (const std::size_t s : called_) c_.services.push_back(&c_.scenario.services[s]);
    for (const stats::Disturbance& t : triggers_) {
      latest_ends_.push_back(latest_ends_.empty() ? t.end : std::max(latest_ends_.back(), t.end));
    }
    name_disturbance();
    c_.disturbed_stretches = facts_.disturbed_stretches(group);
    if (!part_.as_all) {
      for (std::size_t p = 0; p < part_.phases.size(); ++p) {
        c_.phases.emplace_back(part_.phases[p].kind, facts_.phases[p].name);
      }
    }
    find_gaps();
    find_capacity();
    find_shed();
  }

  GroupCase build() {
    for (const RunResult& run : runs_) {
      stop_point();
      work_ = facts_.work_by_bin(run, c_.client.service);
      add_counts(run);
      const std::optional<stats::Recovery> found =
          stats::final_recovery(c_.scenario, run, c_.index);
      if (found && c_.disturbed()) {
        const stats::Course course = stats::course_of(c_.scenario, run, c_.index);
        const stats::Before before = stats::before(c_.scenario, run, course, first_start_);
        add_recovery(run, *found);
        add_gaps(run, course, before);
        add_unanswered(run, course, before);
        add_lost_under_way(run, course, before);
      }
      add_stretches(run, found);
      add_phases(run);
      if (!c_.scenario.drain && found && c_.disturbed()) c_.cut_off += young_;
      add_backlog(run);
      add_growth(run);
      if (!c_.disturbed()) {
        add_cluster(run);
        c_.lasting_storms += facts_.has_lasting_storm(run);
      }
      add_collapse(run);
      find_retries_above_capacity(run);
      find_dry_quota(run, back_s(run, found));
    }
    finish(c_.retries_above_capacity);
    finish(c_.first_above_capacity);
    finish(c_.first_above_scaled);
    finish(c_.quota_dry);
    Recoveries& r = c_.recoveries;
    std::sort(r.late_s.begin(), r.late_s.end());
    if (r.back > 0) r.mean_s /= static_cast<double>(r.back);
    if (r.relapsed > 0) r.relapse_s /= static_cast<double>(r.relapsed);
    return std::move(c_);
  }

 private:
  static void finish(Occurrence& o) {
    if (o.runs == 0) return;
    std::sort(o.times.begin(), o.times.end());
    o.seconds /= static_cast<double>(o.runs);
    o.ratio /= static_cast<double>(o.runs);
  }

  void name_disturbance() {
    if (triggers_.empty()) return;
    const auto is_surge = [](const stats::Disturbance& d) { return d.is_surge; };
    const bool surge = std::ranges::any_of(triggers_, is_surge);
    const bool fault = !std::ranges::all_of(triggers_, is_surge);
    c_.disturbances.kind = !fault ? "surge" : surge ? "disturbance" : "fault";
    Time end;
    std::vector<Time> starts;
    for (const stats::Disturbance& t : triggers_) {
      end = std::max(end, t.end);
      starts.push_back(t.start);
    }
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());  // they are in order
    c_.disturbances.count = starts.size();
    c_.disturbances.first_start_s = seconds(triggers_.front().start);
    c_.disturbances.last_end_s = seconds(end);
  }

  /// Finds the longest gaps between disturbances; disturbances that overlap count as one.
  void find_gaps() {
    constexpr std::size_t kMost = 20;
    constexpr double kTimes = 2;  // times the length of the disturbance
    if (triggers_.empty()) return;
    const std::vector<stats::Disturbance>& all = part_.all;
    first_start_ = all.front().start;
    const double hold_s = c_.scenario.recovery.hold.in_seconds();
    std::string name = all.front().name;
    Time start = first_start_, end = all.front().end;
    for (const stats::Disturbance& d : std::span(all).subspan(1)) {
      if (d.start > end) {
        const double gap_s = (d.start - end).in_seconds();
        if (gap_s >= std::max(hold_s, kTimes * (end - start).in_seconds())) {
          c_.gaps.push_back({name, d.name, seconds(end), seconds(d.start)});
        }
        start = d.start;
      }
      if (d.end > end) name = d.name;
      end = std::max(end, d.end);
    }
    std::ranges::stable_sort(c_.gaps, std::greater<>(),
                             [](const Gap& g) { return g.end_s - g.start_s; });
    if (c_.gaps.size() > kMost) c_.gaps.resize(kMost);
  }

  void find_capacity() {
    Capacity& k = c_.capacity;
    const ServiceSpec& s = c_.service();
    k.service_time_s = kForever;
    for (const std::size_t called : called_) {
      k.service_time_s =
          std::min(k.service_time_s, flow::service_seconds_at(c_.scenario, c_.client, called));
    }
    const flow::ServiceDemand& demand = demand_.services[c_.client.service];
    k.server_time_s = k.service_time_s + (demand.held_time - demand.own_time);
    k.limited = c_.has_one_service() && s.servers != ServiceSpec::kUnlimited &&
                k.server_time_s > 0 && s.model == ServiceModelKind::kQueue;
    const double most = s.autoscaling.target > 0 ? static_cast<double>(s.autoscaling.max) : 0;
    k.servers = k.limited ? std::max(most, static_cast<double>(s.servers) * s.instances.count) : 0;
    for (const DisturbedStretch& d : c_.disturbed_stretches) {
      if (d.left > 0) k.left = std::min(k.left, d.left);
    }
    k.timeout_s =
        c_.client.timeouts.has_attempt ? c_.client.timeouts.attempt.mean_seconds() : kForever;
    k.least_attempt_s = 2 * c_.scenario.network.latency.mean_seconds() + k.service_time_s;
    k.patience_s = k.timeout_s - k.least_attempt_s;
    k.full_queue_s = prediction::full_queue_time(c_.scenario, c_.client.service, demand_);
    if (k.limited) k.need = facts_.need_of(c_.client.service);
  }

  void find_shed() {
    if (!c_.has_one_service() || !sheds_by_priority(c_.service())) return;
    const auto priority = [&](const ShedGroup& g) { return c_.scenario.clients[g.group].priority; };
    for (std::size_t g = 0; g < c_.scenario.clients.size(); ++g) {
      const ClientSpec& client = c_.scenario.clients[g];
      const bool takes_over = std::ranges::any_of(c_.scenario.calls, [&](const CallSpec& call) {
        return call.client == g && call.callers_priority;
      });
      if (takes_over || !calls_one_service(client)) continue;
      if (client.service == c_.client.service) c_.shed.push_back({g});
    }
    if (c_.shed.empty()) return;
    std::ranges::stable_sort(c_.shed, std::greater<>(), priority);
    if (priority(c_.shed.front()) == priority(c_.shed.back())) c_.shed.clear();
    // At other times than others, a group may be refused more for its time alone.
    const auto changes = [&](const ShedGroup& g) {
      return c_.scenario.clients[g.group].arrivals.profile.has_value();
    };
    if (std::ranges::any_of(c_.shed, changes)) c_.shed.clear();
  }

  void add_counts(const RunResult& run) {
    for (ShedGroup& g : c_.shed) {
      const ClientResult& its = run.clients[g.group];
      g.evicted += static_cast<double>(its.evicted);
      if (!c_.disturbed()) {
        g.attempts += static_cast<double>(its.attempts);
        g.rejected += static_cast<double>(its.rejected);
        continue;
      }
      for (std::size_t p = 0; p < std::min(part_.phases.size(), its.phases.size()); ++p) {
        if (part_.phases[p].kind != PhaseKind::kDuring) continue;
        g.attempts += static_cast<double>(its.phases[p].flow.attempts);
        g.rejected += static_cast<double>(its.phases[p].rejected);
      }
    }
    ++c_.runs;
    c_.bin_s = run.interval.in_seconds();
    if (c_.has_one_service()) {
      const std::size_t service =
          static_cast<std::size_t>(&c_.service() - c_.scenario.services.data());
      add_limit(c_.limit, run.services[service].limit);
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
    t.degraded += r.degraded;
    t.degradable += r.degradable;
    t.token_races += r.token_races;
    t.latency_m.merge(r.latency_m);
    t.send_wait_ns += r.send_wait_ns;
    t.connection_wait_ns += r.connection_wait_ns;
    t.unconnected += r.unconnected;
    t.unpermitted += r.unpermitted;
    t.attempt_total_ns += r.attempt_total_ns;
    t.window.breaker_open_ns += r.window.breaker_open_ns;
    t.breakers += r.breakers;
    t.breaker_openings += r.breaker_openings;
    t.breaker_refusals += r.breaker_refusals;
    t.breaker_first_refusals += r.breaker_first_refusals;
    for (std::size_t i = 0; i < r.outcomes.size(); ++i) t.outcomes[i] += r.outcomes[i];
    for (std::size_t i = 0; i < r.results.size(); ++i) t.results[i] += r.results[i];
    if (r.by_attempt.empty()) return;
    t.by_attempt.resize(1);
    t.by_attempt[0].sent += r.by_attempt[0].sent;
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      t.by_attempt[0].results[i] += r.by_attempt[0].results[i];
    }
  }

  /// Adds, for each gap, whether the group is back before the next disturbance.
  void add_gaps(const RunResult& run, const stats::Course& course, const stats::Before& before) {
    for (Gap& gap : c_.gaps) {
      const Time start = Time::zero() + Duration::from_seconds(gap.start_s);
      const Time end = Time::zero() + Duration::from_seconds(gap.end_s);
      const stats::Recovery found =
          stats::recovery_after(c_.scenario, run, course, start, end, before);
      if (found.seconds || found.seems_back() || found.too_few()) continue;
      ++gap.down;
      const stats::BinRange bins = stats::count_bins(run, start, end);
      for (std::size_t i = bins.first; i < bins.last; ++i) {
        gap.successes += course.counts[i].successes;
      }
      gap.watched_s += run.count_width.in_seconds() * static_cast<double>(bins.last - bins.first);
    }
  }

  /// Requests under way when the window ends. Only requests made within the last ten usual
  /// latencies can be younger than that.
  void add_unanswered(const RunResult& run, const stats::Course& course,
                      const stats::Before& before) {
    constexpr double kTimes = 10;
    const stats::BinRange window = stats::count_bins(run, run.window_start, run.window_end);
    std::vector<double> under_way(window.last + 1);
    for (std::size_t i = 0; i < window.last; ++i) {
      const RequestCounts& c = course.counts[i];
      under_way[i + 1] = under_way[i] + c.requests - c.successes - c.failures;
    }
    double before_sum = 0;
    for (std::size_t i = before.bins.first; i < before.bins.last; ++i) before_sum += under_way[i];
    Unanswered& u = c_.unanswered;
    young_ = 0;
    const double now = under_way[window.last];
    u.all += now;
    if (before.ended == 0 || window.last <= window.first) return;
    // Little's law.
    const double width_s = run.count_width.in_seconds();
    const double usual_s = before_sum * width_s / static_cast<double>(before.ended);
    u.usual_s += usual_s;
    const double young_bins = std::ceil(kTimes * usual_s / width_s) + 1;
    if (young_bins >= static_cast<double>(window.last - window.first)) return;
    double young = 0;
    for (std::size_t i = window.last - static_cast<std::size_t>(young_bins); i < window.last; ++i) {
      young += course.counts[i].requests;
    }
    u.stuck += std::max(0.0, now - young);
    young_ = std::min(now, young);
  }

  /// Adds requests that were made before the first disturbance, had not ended when it began, and do
  /// not succeed afterwards.
  void add_lost_under_way(const RunResult& run, const stats::Course& course,
                          const stats::Before& before) {
    double failed_then = 0;
    for (std::size_t i = before.bins.first; i < before.bins.last; ++i) {
      failed_then += course.counts[i].failures;
    }
    const std::vector<Phase>& phases = facts_.phases;
    const std::vector<PhaseResult>& own = run.clients[c_.index].phases;
    for (std::size_t p = 0; p < std::min(phases.size(), own.size()); ++p) {
      if (part_.phases[p].kind != PhaseKind::kBefore) continue;
      const double not_succeeded = static_cast<double>(own[p].made.requests()) -
                                   static_cast<double>(own[p].made.successes());
      const double lost = std::max(0.0, not_succeeded - failed_then);
      c_.lost_under_way += lost;
    }
  }

  void add_recovery(const RunResult& run, const stats::Recovery& found) {
    Recoveries& r = c_.recoveries;
    if (found.relapse) {
      ++r.relapsed;
      r.relapsed_and_back += found.seconds || found.seems_back();
      r.relapse_s += found.relapse->at_s;
    }
    r.watched_s = seconds(run.window_end) - c_.disturbances.last_end_s;
    if (found.seconds || found.seems_back()) {
      const double took_s = found.seconds.value_or(found.not_before_s);
      r.least_s = r.back == 0 ? took_s : std::min(r.least_s, took_s);
      r.most_s = std::max(r.most_s, took_s);
      r.mean_s += took_s;
      ++r.back;
      r.brief += !found.seconds;
      r.add_late(took_s, c_.scenario);
      return;
    }
    if (found.too_few() || all_is_well_after(run)) {
      ++r.few;
      return;
    }
    const auto aftermath = stats::final_aftermath(c_.scenario, run);
    const bool enough = aftermath && found.not_before_s > aftermath->patience_s;
    ++(enough ? r.gone : r.unknown);
    r.with_quotas += !enough && aftermath && aftermath->waits_for_quotas;
    if (enough && std::ranges::binary_search(run.metastable_groups, c_.index)) ++r.metastable;
  }

  /// Whether every request since the last disturbance succeeds, and soon: then a shortfall is only
  /// a few requests that come together.
  bool all_is_well_after(const RunResult& run) const {
    Requests since;
    const std::vector<PhaseResult>& own = run.clients[c_.index].phases;
    for (std::size_t p = 0; p < std::min(part_.phases.size(), own.size()); ++p) {
      const PhaseKind kind = part_.phases[p].kind;
      if (kind == PhaseKind::kRecovering || kind == PhaseKind::kAfter) add(since, own[p]);
    }
    return since.made > 0 && since.succeeded == since.made &&
           since.mean_latency_s() <= c_.scenario.recovery.window.in_seconds();
  }

  /// When the group is back, or the window ends.
  double back_s(const RunResult& run, const std::optional<stats::Recovery>& found) const {
    if (found && found->seconds) return c_.disturbances.last_end_s + *found->seconds;
    if (found && found->seems_back()) return c_.disturbances.last_end_s + found->not_before_s;
    return seconds(run.window_end);
  }

  static void add(Requests& to, const PhaseResult& phase) {
    to.made += static_cast<double>(phase.made.requests());
    to.succeeded += static_cast<double>(phase.made.successes());
    to.ended += static_cast<double>(phase.latency.count);
    to.latency_s += phase.latency.sum_ns / 1e9;
  }

  void add_phases(const RunResult& run) {
    const std::vector<Phase>& phases = facts_.phases;
    const std::vector<PhaseResult>& own = run.clients[c_.index].phases;
    std::size_t disturbed = 0;
    for (std::size_t p = 0; p < std::min(phases.size(), own.size()); ++p) {
      switch (part_.phases[p].kind) {
        case PhaseKind::kBefore:
          add(c_.made.before, own[p]);
          break;
        case PhaseKind::kDuring: {
          add(c_.made.during, own[p]);
          DisturbedStretch& d = c_.disturbed_stretches[disturbed++];
          d.seconds += (own[p].end - own[p].start).in_seconds();
          d.first_work_s += facts_.first_work_by_phase(run, c_.client.service)[p];
          add_service(d, run, own[p].start, own[p].end);
          break;
        }
        case PhaseKind::kBetween:
          add(c_.made.between, own[p]);
          break;
        case PhaseKind::kRecovering:
          add(c_.made.recovering, own[p]);
          break;
        case PhaseKind::kAfter:
          add(c_.made.after, own[p]);
          break;
        case PhaseKind::kNamed:
          break;
      }
    }
  }

  void add_service(DisturbedStretch& d, const RunResult& run, Time start, Time end) const {
    const auto width = run.interval.count();
    if (width <= 0) return;
    const auto from =
        static_cast<std::size_t>(((start - Time::zero()).count() + width - 1) / width);
    const auto to = static_cast<std::size_t>((end - Time::zero()).count() / width);
    for (const std::size_t called : called_) {
      const std::vector<ServiceFlow>& bins = run.services[called].bins;
      for (std::size_t i = from; i < std::min(to, bins.size()); ++i) d.service.merge(bins[i]);
    }
  }

  /// Adds the requests under way while nothing is wrong.
  void add_backlog(const RunResult& run) {
    const double first_s = seconds(run.window_start);
    const double last_s = c_.disturbed() ? c_.disturbances.first_start_s : seconds(run.window_end);
    const auto& counts = run.clients[c_.index].counts;
    const stats::BinRange range =
        stats::count_bins(run, run.window_start, Time::zero() + Duration::from_seconds(last_s));
    if (last_s <= first_s || range.first >= range.last) return;
    Backlog& b = c_.backlog;
    const std::size_t middle = (range.first + range.last) / 2;
    const double middle_s = (first_s + last_s) / 2, bin_s = run.interval.in_seconds();
    double under_way = 0, first_most = 0, last_most = 0;
    for (std::size_t i = 0; i < range.last; ++i) {
      if (i == range.first) b.start += under_way;
      if (i == middle) b.middle += under_way;
      if (i >= range.first && i <= middle) first_most = std::max(first_most, under_way);
      if (i >= middle) last_most = std::max(last_most, under_way);
      under_way +=
          static_cast<double>(counts[i].requests) - counts[i].successes - counts[i].failures;
      if (i >= middle) b.made += counts[i].requests;
    }
    add_stall(run, range);
    b.end += under_way;
    b.first_most += first_most;
    b.last_most += std::max(last_most, under_way);
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const double quarter_s = (last_s - first_s) / 4;
    for (std::size_t i = 0; i < bins.size() && bin_s > 0; ++i) {
      const double start = bin_s * static_cast<double>(i), end = start + bin_s;
      if (start < first_s || end > last_s) continue;
      const auto ended = static_cast<double>(bins[i].latency_count);
      if (end <= first_s + quarter_s) {
        b.first_latency_s += bins[i].latency_sum_ns / 1e9;
        b.first_ended += ended;
      } else if (start >= last_s - quarter_s) {
        b.last_latency_s += bins[i].latency_sum_ns / 1e9;
        b.last_ended += ended;
      }
      if (start < middle_s) continue;
      const CaseFacts::AskedWork work = work_of(i);
      b.work_s += work.first_s + work.retry_s;
      b.seconds += bin_s;
    }
  }

  void add_growth(const RunResult& run) {
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const double bin_s = run.interval.in_seconds();
    const double first_s = c_.disturbances.first_start_s;
    const double last_s = std::min(c_.disturbances.last_end_s, seconds(run.window_end));
    const double quarter_s = (last_s - first_s) / 4;
    if (!c_.disturbed() || bin_s <= 0) return;
    Growth& g = c_.growth;
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double start = bin_s * static_cast<double>(i), end = start + bin_s;
      if (start < first_s || end > last_s) continue;
      const auto ended = static_cast<double>(bins[i].latency_count);
      if (end <= first_s + quarter_s) {
        g.first_latency_s += bins[i].latency_sum_ns / 1e9;
        g.first_ended += ended;
      } else if (start >= last_s - quarter_s) {
        g.last_latency_s += bins[i].latency_sum_ns / 1e9;
        g.last_ended += ended;
      }
    }
  }

  /// Adds the shortest time that contains nine of ten failures.
  void add_cluster(const RunResult& run) {
    constexpr double kMost = 0.9, kShort = 0.25, kSmallPart = 0.4, kMinFailures = 20;
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const stats::BinRange range = stats::window_bins(run, bins);
    double failures = 0, requests = 0;
    for (std::size_t i = range.first; i < range.last; ++i) {
      failures += static_cast<double>(bins[i].flow.failures);
      requests += static_cast<double>(bins[i].flow.requests);
    }
    if (failures < kMinFailures) return;
    const auto longest =
        static_cast<std::size_t>(kShort * static_cast<double>(range.last - range.first));
    std::size_t from = range.first, best = longest + 1, best_from = 0;
    double failed = 0, made = 0, made_in_best = 0;
    for (std::size_t to = range.first; to < range.last; ++to) {
      failed += static_cast<double>(bins[to].flow.failures);
      made += static_cast<double>(bins[to].flow.requests);
      while (failed - static_cast<double>(bins[from].flow.failures) >= kMost * failures) {
        failed -= static_cast<double>(bins[from].flow.failures);
        made -= static_cast<double>(bins[from].flow.requests);
        ++from;
      }
      if (failed < kMost * failures || to + 1 - from >= best) continue;
      best = to + 1 - from, best_from = from, made_in_best = made;
    }
    if (best > longest || made_in_best > kSmallPart * requests) return;
    const double bin_s = run.interval.in_seconds();
    ++c_.cluster.runs;
    c_.cluster.from_s += bin_s * static_cast<double>(best_from);
    c_.cluster.to_s += bin_s * static_cast<double>(best_from + best);
  }

  /// Adds the time from which on hardly any request succeeds, if most did before.
  void add_collapse(const RunResult& run) {
    constexpr double kHardlyAny = 0.01, kFew = 0.05, kMost = 0.5, kEnough = 20, kLong = 0.25;
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    stats::BinRange range = stats::window_bins(run, bins);
    if (c_.disturbed()) {
      const double calm = c_.disturbances.first_start_s / run.interval.in_seconds();
      range.last =
          std::clamp(static_cast<std::size_t>(std::max(0.0, calm + 1e-9)), range.first, range.last);
    }
    double made = 0, good = 0, made_before = 0, good_before = 0;
    for (std::size_t i = range.first; i < range.last; ++i) {
      made_before += static_cast<double>(bins[i].flow.requests);
      good_before += static_cast<double>(bins[i].flow.successes);
    }
    std::size_t from = range.last;
    double made_then = 0, good_then = 0;  // requests and successes from that bin on
    for (std::size_t i = range.last; i-- > range.first;) {
      made += static_cast<double>(bins[i].flow.requests);
      good += static_cast<double>(bins[i].flow.successes);
      if (good <= kHardlyAny * made) from = i, made_then = made, good_then = good;
    }
    // Bins before a long collapse that are still good are few.
    for (; from < range.last; ++from) {
      const auto requests = static_cast<double>(bins[from].flow.requests);
      const auto successes = static_cast<double>(bins[from].flow.successes);
      if (successes <= kFew * requests) break;
      made_then -= requests, good_then -= successes;
    }
    made_before -= made_then, good_before -= good_then;
    const double length = static_cast<double>(range.last - from);
    if (length < kLong * static_cast<double>(range.last - range.first) || made_then < kEnough ||
        made_before < kEnough || good_before < kMost * made_before) {
      return;
    }
    ++c_.collapse.runs;
    c_.collapse.from_s += run.interval.in_seconds() * static_cast<double>(from);
  }

  /// Adds whether a closed loop succeeds less and less. Within a few rounds of the loop that may be
  /// chance or clients in step, unless half of the clients wait all the time.
  void add_stall(const RunResult& run, stats::BinRange range) {
    constexpr std::size_t kQuarters = 4;
    constexpr double kRounds = 3, kHalf = 0.5, kFew = 20, kFewWaiting = 10;
    const ArrivalSpec& arrivals = c_.client.arrivals;
    const std::size_t length = (range.last - range.first) / kQuarters;
    if (arrivals.process != ArrivalProcess::kClosed || length == 0) return;
    const double clients = static_cast<double>(c_.client.count) * arrivals.concurrency;
    double best = 0, last = 0, under_way = 0, least = clients;
    std::size_t in_quarter = 0;
    for (std::size_t i = 0; i < range.last; ++i) {
      const RequestCounts& counts = run.clients[c_.index].counts[i];
      under_way += static_cast<double>(counts.requests) - counts.successes - counts.failures;
      if (i < range.first) continue;
      if (in_quarter == length) last = 0, least = clients, in_quarter = 0;
      ++in_quarter;
      last += counts.successes;
      least = std::min(least, under_way);
      if (in_quarter == length) best = std::max(best, last);
      if (i + 1 >= range.first + kQuarters * length) break;
    }
    const double length_s = run.count_width.in_seconds() * static_cast<double>(length);
    const bool rounds = length_s >= kRounds * arrivals.think_time.mean_seconds();
    const bool waiting = least >= kHalf * clients;
    if (best < (waiting ? kFewWaiting : kFew) || last >= kHalf * best) return;
    if (!rounds && !waiting) return;
    ++c_.backlog.stalled;
    c_.backlog.best_per_s += best / length_s;
    c_.backlog.last_per_s += last / length_s;
  }

  /// Whether a fault or surge is on all through the bin, or at its edges at least.
  bool is_disturbed(Time start, Time end) const {
    // The latest end among the triggers that start before the end of the bin.
    const auto begun = std::ranges::lower_bound(triggers_, end, {}, &stats::Trigger::start);
    const auto count = static_cast<std::size_t>(begun - triggers_.begin());
    return count > 0 && start < latest_ends_[count - 1];
  }

  void add_bin(Stretch& s, const RunResult& run, std::size_t bin) const {
    const ClientBin& own = run.clients[c_.index].bins[bin];
    s.seconds += run.interval.in_seconds();
    s.group.merge(own.flow);
    const auto [first, retried] = work_of(bin);
    s.first_work_s += first;
    s.retry_work_s += retried;
    for (const std::size_t called : called_) {
      const std::vector<ServiceFlow>& service = run.services[called].bins;
      if (bin < service.size()) s.service.merge(service[bin]);
    }
  }

  /// The work that all groups that call the service ask of it in a bin.
  CaseFacts::AskedWork work_of(std::size_t bin) const {
    return bin < work_.size() ? work_[bin] : CaseFacts::AskedWork();
  }

  void add_stretches(const RunResult& run, const std::optional<stats::Recovery>& found) {
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const stats::BinRange window = stats::window_bins(run, bins);
    const double until_s = back_s(run, found);
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
      if (seconds(start) < until_s) add_bin(c_.trouble, run, i);
      if (!on && seconds(start) >= c_.disturbances.last_end_s && seconds(start) < until_s) {
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

  /// Faults of all services below the group's service: those that it calls, directly or through
  /// others.
  std::vector<const FaultSpec*> faults_below() const {
    std::vector<const FaultSpec*> found;
    if (!flow::calls_others(c_.scenario, c_.client.service)) return found;
    std::vector<bool> below(c_.scenario.services.size(), false);
    const flow::CallGraph graph(c_.scenario);
    for (const std::size_t s : flow::callers_first(c_.scenario)) {
      if (s != c_.client.service && !below[s]) continue;
      for (const std::size_t g : graph.groups_of(s)) {
        for (const std::size_t t : called_services(c_.scenario.clients[g])) below[t] = true;
      }
    }
    for (const FaultSpec& f : c_.scenario.faults) {
      if (below[f.service]) found.push_back(&f);
    }
    return found;
  }

  void find_retries_above_capacity(const RunResult& run) {
    if (!c_.capacity.limited || run.interval <= Duration::zero()) return;
    const stats::BinRange window = stats::window_bins(run, run.clients[c_.index].bins);
    const double offered_s = run.interval.in_seconds() * c_.capacity.servers;
    const double least_s = least_work_above_capacity(c_.capacity, offered_s);
    const double sure_s = sure_work_above_capacity(c_.capacity, offered_s);
    struct Above {
      double bins = 0, work_s = 0;
    } by_retries, by_first;
    const auto add = [](Above& above, double work_s, double least) {
      if (work_s < least) return;
      above.bins += 1;
      above.work_s += work_s;
    };
    // While calls fail at once, or take longer, an attempt holds no server for as long as usual.
    const std::vector<const FaultSpec*> below = faults_below();
    for (std::size_t i = window.first; i < window.last; ++i) {
      const Time start = Time::zero() + run.interval * static_cast<std::int64_t>(i);
      const bool as_usual = std::ranges::none_of(below, [&](const FaultSpec* f) {
        return f->start < start + run.interval && f->start + f->duration > start;
      });
      if (as_usual) add(by_retries, work_of(i).retry_s, least_s);
      const double end_s = run.interval.in_seconds() * static_cast<double>(i + 1);
      const bool calm = !c_.disturbed() || end_s <= c_.disturbances.first_start_s;
      if (calm) add(by_first, work_of(i).first_s, sure_s);
    }
    const auto note = [&](Occurrence& o, const Above& above) {
      if (above.bins == 0) return;
      ++o.runs;
      o.seconds += above.bins * run.interval.in_seconds();
      o.ratio += above.work_s / (above.bins * offered_s);
    };
    note(c_.retries_above_capacity, by_retries);
    note(c_.first_above_capacity, by_first);
    find_first_above_scaled(run, window);
  }

  void find_first_above_scaled(const RunResult& run, stats::BinRange window) {
    if (!c_.disturbed() || c_.service().autoscaling.target <= 0) return;
    const std::vector<ServiceFlow>& bins = run.services[c_.client.service].bins;
    double above = 0, first_s = 0, offered_s = 0;
    for (std::size_t i = window.first; i < std::min(window.last, bins.size()); ++i) {
      const double start_s = run.interval.in_seconds() * static_cast<double>(i);
      const bool is_on = start_s >= c_.disturbances.first_start_s &&
                         start_s + run.interval.in_seconds() <= c_.disturbances.last_end_s;
      const double servers_s = bins[i].servers_ns / 1e9;
      if (!is_on || servers_s <= 0 ||
          work_of(i).first_s < sure_work_above_capacity(c_.capacity, servers_s)) {
        continue;
      }
      above += 1;
      first_s += work_of(i).first_s;
      offered_s += servers_s;
    }
    if (above == 0) return;
    Occurrence& o = c_.first_above_scaled;
    ++o.runs;
    o.seconds += above * run.interval.in_seconds();
    o.ratio += first_s / offered_s;
  }

  /// Finds the first bin in which the quota denies at least a given share of the retries, if it
  /// also denies that share on average from there until `until_s`.
  void find_dry_quota(const RunResult& run, double until_s) {
    if (!c_.disturbed() || !c_.client.retry.quota.enabled) return;
    const std::vector<ClientBin>& bins = run.clients[c_.index].bins;
    const stats::BinRange window = stats::window_bins(run, bins);
    const double bin_s = run.interval.in_seconds();
    const double end_s = std::max(until_s, c_.disturbances.last_end_s);
    std::size_t last = window.last;
    while (last > window.first && bin_s * static_cast<double>(last - 1) >= end_s) --last;
    const auto share = [](double denied, double retries) {
      return denied > 0 ? denied / (denied + retries) : 0;
    };
    struct Dry {
      std::size_t first;
      double denied, share;
    };
    const auto dry_from = [&](double least) {
      std::optional<Dry> dry;
      double denied = 0, retries = 0;
      for (std::size_t i = last; i-- > window.first;) {
        const auto its_denied = static_cast<double>(bins[i].flow.quota_denied);
        const auto its_retries = static_cast<double>(bins[i].flow.retries);
        denied += its_denied;
        retries += its_retries;
        if (share(its_denied, its_retries) < least || share(denied, retries) < least) continue;
        dry = {i, denied, share(denied, retries)};
      }
      return dry;
    };
    const std::optional<Dry> some = dry_from(0.1), most = dry_from(0.5);
    if (!some) return;
    // Without this, a few refusals at the end would stand for all that the quota did.
    const Dry& dry = most && 2 * most->denied >= some->denied ? *most : *some;
    const double at_s = bin_s * static_cast<double>(dry.first);
    Occurrence& o = c_.quota_dry;
    ++o.runs;
    o.seconds += at_s;
    o.ratio += dry.share;
    o.times.push_back(at_s);
  }

  CaseFacts& facts_;
  const flow::Demand& demand_;
  const PartFacts& part_;
  const std::vector<stats::Disturbance>& triggers_;
  double young_ = 0;  // requests under way at the end of the run that is looked at, not stuck
  Time first_start_;  // start of the first disturbance, which may be before the window
  std::span<const CaseFacts::AskedWork> work_;  // in each bin of the run that is looked at
  std::vector<Time> latest_ends_;               // latest end of each trigger and all before it
  std::vector<std::size_t> called_;
  GroupCase c_;
  std::span<const RunResult> runs_;
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// The kind and name that each phase has for a part with the disturbances `own`. The time after the
/// last of these, before other disturbances end, counts as a time in which the part's groups may
/// still be recovering.
std::vector<PartFacts::OwnPhase> own_phases(std::span<const Phase> phases,
                                            std::span<const stats::Disturbance> own) {
  std::vector<PartFacts::OwnPhase> all;
  Time first = Time::max(), last;
  for (const stats::Disturbance& d : own) {
    first = std::min(first, d.start);
    last = std::max(last, d.end);
  }
  for (const Phase& phase : phases) {
    PartFacts::OwnPhase its = {phase.kind, phase.name};
    all.push_back(its);
    if (phase.kind != PhaseKind::kDuring && phase.kind != PhaseKind::kBetween) continue;
    std::string names;
    for (const stats::Disturbance& d : own) {
      if (d.start >= phase.end || d.end <= phase.start) continue;
      if (!names.empty()) names += '+';
      names += d.name;
    }
    all.back().name = names;
    all.back().kind = !names.empty()        ? PhaseKind::kDuring
                      : phase.end <= first  ? PhaseKind::kBefore
                      : phase.start >= last ? PhaseKind::kRecovering
                                            : PhaseKind::kBetween;
  }
  return all;
}

bool has_graph_in(const Scenario& scenario) {
  std::vector<int> callers(scenario.services.size());
  for (const ClientSpec& client : scenario.clients) {
    const std::vector<std::size_t> called = called_services(client);
    if (client.makes_calls() || called.size() > 1 || callers[called.front()]++ > 0) return true;
  }
  return false;
}

}  // namespace

CaseFacts::CaseFacts(const Scenario& of)
    : scenario(of),
      demand(flow::demand_of(of, flow::Attempts::kFirst)),
      phases(phases_of(of)),
      has_graph(has_graph_in(of)),
      callers_(of.services.size()),
      parts_(of) {
  for (std::size_t c = 0; c < of.clients.size(); ++c) {
    stop_point();
    for (const auto& [s, share] : service_shares(of.clients[c])) {
      callers_[s].push_back({c, share * flow::held_seconds_at(of, demand, of.clients[c], s)});
    }
  }
}

bool CaseFacts::has_lasting_storm(const RunResult& run) {
  const auto known = storms_.find(&run);
  if (known != storms_.end()) return known->second;
  const std::vector<stats::Storm> storms = stats::detect_storms(scenario, run);
  const bool lasts = std::ranges::any_of(storms, [](const stats::Storm& storm) {
    return storm.verdict == stats::StormVerdict::kSustained;
  });
  return storms_[&run] = lasts;
}

const PartFacts& CaseFacts::part_of(std::size_t group) {
  const std::size_t part = parts_.of_group(group);
  const auto [at, added] = part_facts_.try_emplace(part);
  PartFacts& facts = at->second;
  if (!added) return facts;
  facts.all = parts_.disturbances_in(part);
  facts.in_window = facts.all;
  std::erase_if(facts.in_window, [&](const stats::Disturbance& d) {
    return d.end <= Time::zero() + scenario.warmup;
  });
  facts.phases = own_phases(phases, facts.all);
  facts.as_all = facts.all.size() == stats::disturbances(scenario).size();
  if (!facts.as_all) return facts;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    facts.phases[p] = {phases[p].kind, phases[p].name};
  }
  return facts;
}

std::vector<DisturbedStretch> CaseFacts::disturbed_stretches(std::size_t group) {
  const PartFacts& part = part_of(group);
  const std::vector<std::size_t> services = called_services(scenario.clients[group]);
  std::vector<DisturbedStretch> stretches = stretches_of(services.front(), part);
  for (const std::size_t s : std::span(services).subspan(1)) {
    const std::vector<DisturbedStretch>& others = stretches_of(s, part);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      stretches[i].left = std::max(stretches[i].left, others[i].left);
      stretches[i].faults.clear();
    }
  }
  return stretches;
}

const std::vector<DisturbedStretch>& CaseFacts::stretches_of(std::size_t service,
                                                             const PartFacts& part) {
  const auto [at, added] = stretches_.try_emplace(service);
  if (added) at->second = find_stretches(service, part);
  return at->second;
}

std::vector<DisturbedStretch> CaseFacts::find_stretches(std::size_t service,
                                                        const PartFacts& part) const {
  std::vector<DisturbedStretch> found;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const Phase& phase = phases[p];
    if (part.phases[p].kind != PhaseKind::kDuring) continue;
    stop_point();
    found.push_back({part.phases[p].name, seconds(phase.start), seconds(phase.end),
                     mean_capacity_left(scenario, service, phase.start, phase.end)});
    for (const FaultSpec& f : scenario.faults) {
      if (f.service == service && f.start <= phase.start && f.start + f.duration >= phase.end) {
        found.back().faults.push_back(&f);
      }
    }
  }
  return found;
}

std::optional<prediction::SteadyNeed> CaseFacts::need_of(std::size_t service) {
  const auto [at, added] = needs_.try_emplace(service);
  if (!added) return at->second;
  if (!demands_) demands_.emplace(scenario);
  at->second =
      prediction::steady_need(scenario, prediction::load_of_service(scenario, service, *demands_));
  return at->second;
}

CaseFacts::OfRun& CaseFacts::of_run(const RunResult& run, std::size_t service) {
  if (last_service_ != service) of_runs_.clear();
  last_service_ = service;
  return of_runs_[&run];
}

namespace {

/// The share of the attempts sent to the service that ask for a server despite the fault.
double asking_share(const FaultSpec& f, std::uint32_t instances) {
  const double lost = f.unreachable || f.black_hole ? 1 : f.request_loss;
  double errors = 0;
  for (const RandomError& e : f.errors) errors += e.probability;
  const double free = f.errors_at.on_arrival() ? 1 : 1 - f.errors_at.share;
  const double asking = (1 - lost) * (1 - std::min(1.0, errors) * free);
  std::uint32_t concerned = 0;
  for (std::uint32_t i = 0; i < instances; ++i) concerned += f.concerns(i);
  return 1 - (1 - asking) * concerned / instances;
}

/// The share of the attempts that reach the service without an error which passes its throttle.
double passing_share(const ServiceSpec& spec, const ServiceFlow& flow) {
  const auto throttled = static_cast<double>(flow.throttled);
  const double at_throttle = static_cast<double>(flow.arrivals) -
                             (spec.errors_at.on_arrival() ? static_cast<double>(flow.errors) : 0);
  return at_throttle > throttled ? 1 - throttled / at_throttle : throttled > 0 ? 0 : 1;
}

/// The share of the attempts that reach the service and meet no error on arrival, as counted. It
/// tells of faults where instances are left out; few servers may keep attempts away, too, and
/// `least`, what faults let pass where none is left out, bounds it.
double asked_share(const ServiceSpec& spec, const ClientFlow& sent, const ServiceFlow& came,
                   double least) {
  if (!leaves_instances_out(spec)) return least;
  const double reach = sent.attempts > 0
                           ? static_cast<double>(sent.arrivals) / static_cast<double>(sent.attempts)
                           : 1;
  const double errors = spec.errors_at.on_arrival() && came.arrivals > 0
                            ? static_cast<double>(came.errors) / static_cast<double>(came.arrivals)
                            : 0;
  return std::max(least, std::min(1.0, reach) * (1 - std::min(1.0, errors)));
}

}  // namespace

const std::vector<CaseFacts::AskingFrom>& CaseFacts::asking_at(std::size_t service) {
  const auto [at, added] = asking_.try_emplace(service);
  std::vector<AskingFrom>& steps = at->second;
  if (!added) return steps;
  const std::uint32_t instances = scenario.services[service].instances.count;
  struct Change {
    Time start, end;
    double share;
  };
  std::vector<Change> changes;
  std::vector<Time> times = {Time::zero()};
  for (const FaultSpec& f : scenario.faults) {
    if (f.service != service) continue;
    const double share = asking_share(f, instances);
    if (share == 1) continue;
    changes.push_back({f.start, f.start + f.duration, share});
    times.push_back(f.start);
    times.push_back(f.start + f.duration);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (const Time time : times) {
    stop_point();
    double share = 1 - scenario.network.request_loss;
    for (const Change& c : changes) {
      if (c.start <= time && time < c.end) share *= c.share;
    }
    steps.push_back({time, share});
  }
  return steps;
}

double CaseFacts::mean_asking(std::size_t service, Time from, Time to) {
  const std::vector<AskingFrom>& steps = asking_at(service);
  auto next = std::ranges::upper_bound(steps, from, {}, &AskingFrom::time);
  double share = std::prev(next)->share, sum = 0;
  for (Time at = from; at < to;) {
    const Time end = next == steps.end() ? to : std::min(next->time, to);
    sum += share * (end - at).in_seconds();
    at = end;
    if (next != steps.end()) share = next++->share;
  }
  return to > from ? sum / (to - from).in_seconds() : share;
}

std::span<const CaseFacts::AskedWork> CaseFacts::work_by_bin(const RunResult& run,
                                                             std::size_t service) {
  std::optional<std::vector<AskedWork>>& known = of_run(run, service).bins;
  if (known) return *known;
  const ServiceSpec& spec = scenario.services[service];
  const std::vector<ServiceFlow>& flows = run.services[service].bins;
  std::vector<AskedWork> work;
  std::vector<double> least;  // what faults let pass, by bin
  const ServiceFlow none;
  for (const auto& [c, each] : callers_[service]) {
    if (c >= run.clients.size()) continue;
    stop_point();
    const std::vector<ClientBin>& bins = run.clients[c].bins;
    if (work.size() < bins.size()) work.resize(bins.size());
    while (least.size() < bins.size()) {
      const Time start = Time::zero() + run.interval * static_cast<std::int64_t>(least.size());
      least.push_back(mean_asking(service, start, start + run.interval));
    }
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const ClientFlow& flow = bins[i].flow;
      const double its =
          each * asked_share(spec, flow, i < flows.size() ? flows[i] : none, least[i]);
      work[i].first_s += its * static_cast<double>(flow.attempts - flow.retries);
      work[i].retry_s += its * static_cast<double>(flow.retries);
    }
  }
  for (std::size_t i = 0; i < std::min(work.size(), flows.size()); ++i) {
    const double passing = passing_share(spec, flows[i]);
    work[i].first_s *= passing;
    work[i].retry_s *= passing;
  }
  return known.emplace(std::move(work));
}

std::span<const double> CaseFacts::first_work_by_phase(const RunResult& run, std::size_t service) {
  std::optional<std::vector<double>>& known = of_run(run, service).phases;
  if (known) return *known;
  const ServiceSpec& spec = scenario.services[service];
  std::vector<double> work(phases.size());
  for (std::size_t p = 0; p < phases.size(); ++p) {
    stop_point();
    ServiceFlow came;
    const std::vector<ServiceFlow>& flows = run.services[service].bins;
    const auto width = run.interval.count();
    if (width > 0) {
      const auto first = static_cast<std::size_t>((phases[p].start - Time::zero()).count() / width);
      const auto last =
          static_cast<std::size_t>(((phases[p].end - Time::zero()).count() + width - 1) / width);
      for (std::size_t i = first; i < std::min(last, flows.size()); ++i) came.merge(flows[i]);
    }
    const double least = mean_asking(service, phases[p].start, phases[p].end);
    for (const auto& [c, each] : callers_[service]) {
      const ClientFlow& flow = run.clients[c].phases[p].flow;
      work[p] += each * asked_share(spec, flow, came, least) *
                 static_cast<double>(flow.attempts - flow.retries);
    }
    work[p] *= passing_share(spec, came);
  }
  return known.emplace(std::move(work));
}

void Requests::merge(const Requests& o) {
  made += o.made;
  succeeded += o.succeeded;
  ended += o.ended;
  latency_s += o.latency_s;
}

Requests RequestsByPart::since() const {
  Requests both = recovering;
  both.phases = "recovering+after";
  both.merge(after);
  return both;
}

Requests GroupCase::before_it() const {
  constexpr double kGood = 0.99, kSome = 0.2;
  Requests others = made.before;
  others.made -= lost_under_way;
  others.as_counted = lost_under_way == 0;
  const bool some = lost_under_way <= kSome * made.before.made;
  return some && others.success_share() >= kGood ? others : made.before;
}

bool GroupCase::is_told_by_goodput() const {
  const bool endless = client.retry.max_attempts == RetryRules::kUnlimited &&
                       client.timeouts.deadline == Duration::max();
  return client.arrivals.process == ArrivalProcess::kClosed || endless;
}

double GroupCase::goodput(const Stretch& stretch) {
  return ratio(static_cast<double>(stretch.group.successes), stretch.seconds);
}

bool GroupCase::falls_behind() const {
  constexpr double kMinEnded = 100, kDeviations = 5, kSlower = 1.5;
  constexpr double kNoteworthy = 0.02, kLittle = 0.005, kFull = 0.98, kTooMuch = 1;
  const Backlog& b = backlog;
  // Peaks against peaks: a run may end in the middle of a burst that will be served.
  const bool endless = is_told_by_goodput() && client.arrivals.process != ArrivalProcess::kClosed;
  double grown = b.last_most - b.first_most;
  if (endless) grown = std::min(grown, b.end - b.middle);
  if (client.arrivals.process == ArrivalProcess::kOnce || b.made < kMinEnded) return false;
  if (b.middle < b.start || b.end <= b.middle || grown < kLittle * b.made) return false;
  // What cannot fail waits, and the wait has no end.
  const double noteworthy = endless ? kLittle : kNoteworthy;
  // While nothing is wrong, the number under way varies like a Poisson variable.
  if (grown < kDeviations * std::sqrt(2 * (b.middle + static_cast<double>(runs)))) return false;
  const bool calls_others = flow::calls_others(scenario, client.service);
  if (capacity.limited && !calls_others && b.seconds > 0 && !client.retry.rate_limit.enabled) {
    return load(b.work_s, b.seconds) >= (grown < noteworthy * b.made ? kTooMuch : kFull);
  }
  if (grown < noteworthy * b.made) return false;
  // If no request fails, requests that starve have no latency yet.
  return endless ||
         ratio(b.last_latency_s, b.last_ended) > kSlower * ratio(b.first_latency_s, b.first_ended);
}

bool GroupCase::has_sent_more_than_ended() const {
  const std::uint64_t sent = total.by_attempt.empty() ? 0 : total.by_attempt.front().sent;
  return sent > total.latency_m.count;
}

double GroupCase::waited() const {
  return static_cast<double>(has_sent_more_than_ended() ? total.by_attempt.front().sent
                                                        : total.latency_m.count);
}

double GroupCase::mean_send_wait_s() const {
  return ratio(static_cast<double>(total.send_wait_ns) / 1e9, waited());
}

double GroupCase::mean_connection_wait_s() const {
  return ratio(static_cast<double>(total.connection_wait_ns) / 1e9, waited());
}

double GroupCase::mean_latency_s() const {
  return ratio(static_cast<double>(total.latency_m.sum_ns) / 1e9,
               static_cast<double>(total.latency_m.count));
}

double GroupCase::mean_wait_s() const {
  double in_queue_s = 0;
  const bool calls_others = flow::calls_others(scenario, client.service);
  if (capacity.limited && !calls_others && has_queue(service().queue.discipline)) {
    // Attempts that are under way when the run ends have taken a time that is not known.
    std::uint64_t ended = 0;
    for (const std::uint64_t n : total.results) ended += n;
    in_queue_s = static_cast<double>(total.attempt_total_ns) / 1e9 -
                 static_cast<double>(ended) * capacity.least_attempt_s;
  }
  return mean_send_wait_s() + mean_connection_wait_s() +
         ratio(std::max(in_queue_s, 0.0), static_cast<double>(total.latency_m.count));
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
  const auto ended = [this](Outcome of) { return total.outcomes[static_cast<std::size_t>(of)]; };
  // Of whole numbers, so that the share of all failures is exactly 1.
  return ratio(static_cast<double>(ended(outcome)),
               static_cast<double>(total.requests - ended(Outcome::kSuccess)));
}

GroupCase group_case(CaseFacts& facts, std::span<const RunResult> runs, std::size_t group) {
  return CaseBuilder(facts, runs, group).build();
}

GroupCase group_case(const Scenario& scenario, std::span<const RunResult> runs, std::size_t group) {
  CaseFacts facts(scenario);
  GroupCase c = group_case(facts, runs, group);
  if (facts.has_graph) {
    set_graph(c, std::make_shared<const GraphCase>(graph_case(scenario, runs)));
  }
  return c;
}

void set_graph(GroupCase& group, std::shared_ptr<const GraphCase> graph) {
  group.volumes.assign(graph->scenario.clients.size(), {});
  // If the trouble lasts to the end of the window, attempts in the drain belong to it. Otherwise
  // only attempts in the time of trouble count.
  const bool ends = std::ranges::any_of(graph->stretches, [](const GraphStretch& s) {
    return s.kind == PhaseKind::kAfter && s.seconds > 0;
  });
  for (const GraphStretch& stretch : graph->stretches) {
    if (!group.disturbed()) {  // all of the run
      for (std::size_t g = 0; g < group.volumes.size(); ++g) {
        group.volumes[g].requests += stretch.made[g].requests;
        group.volumes[g].attempts += stretch.made[g].attempts;
      }
      continue;
    }
    if (stretch.kind == PhaseKind::kBefore || (ends && stretch.kind == PhaseKind::kAfter)) continue;
    for (std::size_t g = 0; g < group.volumes.size(); ++g) {
      const ClientFlow& flow = stretch.groups[g];
      const GroupVolume sent = {static_cast<double>(flow.requests),
                                static_cast<double>(flow.attempts)};
      const GroupVolume& its = ends ? sent : stretch.made[g];
      group.volumes[g].requests += its.requests;
      group.volumes[g].attempts += its.attempts;
    }
  }
  group.graph = std::move(graph);
}

// --- The case as figures -------------------------------------------------------------------------

// The figures of each replication, from which the case can be built again: a sweep keeps them
// instead of whole results.

namespace {

/// Calls `use` with every number in `of` that comes from the runs: what `CaseBuilder` adds up.
template <typename Use>
class FigureWalk {
 public:
  explicit FigureWalk(Use use) : use_(use) {}

  void operator()(FieldsOf<GroupCase> auto& c) {
    visit(c.runs, c.bin_s);
    for (auto& g : c.shed) visit(g.attempts, g.rejected, g.evicted);
    add_counts(c.total);
    for (auto* stretch : {&c.all, &c.before, &c.during, &c.trouble, &c.after})
      add_stretch(*stretch);
    auto& r = c.recoveries;
    visit(r.back, r.brief, r.few, r.gone, r.unknown, r.with_quotas, r.metastable, r.mean_s,
          r.least_s, r.most_s, r.watched_s, r.relapsed, r.relapsed_and_back, r.relapse_s);
    for (auto& g : c.gaps) visit(g.down, g.successes, g.watched_s);
    visit(c.unanswered.all, c.unanswered.stuck, c.unanswered.usual_s, c.lost_under_way, c.cut_off);
    auto& m = c.made;
    for (auto* part : {&m.before, &m.during, &m.between, &m.recovering, &m.after}) {
      visit(part->made, part->succeeded, part->ended, part->latency_s);
    }
    for (auto& d : c.disturbed_stretches) {
      const auto each = [this](auto&... values) { this->visit(values...); };
      visit(d.seconds, d.first_work_s);
      fields(each, d.service);
    }
    auto& b = c.backlog;
    visit(b.start, b.middle, b.end, b.first_most, b.last_most, b.made, b.work_s, b.seconds,
          b.first_latency_s, b.first_ended, b.last_latency_s, b.last_ended, b.stalled, b.best_per_s,
          b.last_per_s);
    auto& g = c.growth;
    visit(g.first_latency_s, g.first_ended, g.last_latency_s, g.last_ended);
    visit(c.cluster.runs, c.cluster.from_s, c.cluster.to_s, c.lasting_storms);
    visit(c.collapse.runs, c.collapse.from_s);
    visit(c.capacity.largest_queue_s);
    visit(c.limit.arrivals, c.limit.limited, c.limit.refused, c.limit.sum);
    for (auto* o :
         {&c.retries_above_capacity, &c.first_above_capacity, &c.first_above_scaled, &c.quota_dry})
      visit(o->runs, o->seconds, o->ratio);
  }

 private:
  void visit(auto&... values) { (visit_one(values), ...); }
  template <typename T>
  void visit_one(T& value) {
    if constexpr (requires { value.begin(); }) {
      for (auto& each : value) visit_one(each);
    } else {
      use_(value);
    }
  }

  void add_counts(FieldsOf<ClientResult> auto& t) {
    visit(t.requests, t.successes_within, t.ended_within, t.attempts, t.rejected, t.late,
          t.mutating, t.duplicated, t.degraded, t.degradable, t.latency_m.count, t.latency_m.sum_ns,
          t.send_wait_ns, t.connection_wait_ns, t.unconnected, t.unpermitted, t.attempt_total_ns,
          t.token_races, t.window.breaker_open_ns, t.breakers, t.breaker_openings,
          t.breaker_refusals, t.breaker_first_refusals, t.outcomes, t.results);
    // Only the counts of first attempts are needed, which may not exist.
    AttemptNumberCounts none;
    auto& first = first_of(t, none);
    visit(first.sent, first.results);
  }
  static AttemptNumberCounts& first_of(ClientResult& t, AttemptNumberCounts&) {
    t.by_attempt.resize(1);
    return t.by_attempt.front();
  }
  static const AttemptNumberCounts& first_of(const ClientResult& t,
                                             const AttemptNumberCounts& none) {
    return t.by_attempt.empty() ? none : t.by_attempt.front();
  }

  void add_stretch(FieldsOf<Stretch> auto& s) {
    const auto each = [this](auto&... values) { this->visit(values...); };
    fields(each, s.group);
    fields(each, s.service);
    visit(s.seconds, s.first_work_s, s.retry_work_s);
  }

  Use use_;
};

void merge(Stretch& to, const Stretch& s) {
  to.group.merge(s.group);
  to.service.merge(s.service);
  to.seconds += s.seconds;
  to.first_work_s += s.first_work_s;
  to.retry_work_s += s.retry_work_s;
}

void merge(ClientResult& to, const ClientResult& r) {
  to.requests += r.requests;
  to.successes_within += r.successes_within;
  to.ended_within += r.ended_within;
  to.attempts += r.attempts;
  to.rejected += r.rejected;
  to.late += r.late;
  to.mutating += r.mutating;
  to.duplicated += r.duplicated;
  to.degraded += r.degraded;
  to.degradable += r.degradable;
  to.latency_m.count += r.latency_m.count;
  to.latency_m.sum_ns += r.latency_m.sum_ns;
  to.send_wait_ns += r.send_wait_ns;
  to.connection_wait_ns += r.connection_wait_ns;
  to.unconnected += r.unconnected;
  to.unpermitted += r.unpermitted;
  to.attempt_total_ns += r.attempt_total_ns;
  to.token_races += r.token_races;
  to.window.breaker_open_ns += r.window.breaker_open_ns;
  to.breakers += r.breakers;
  to.breaker_openings += r.breaker_openings;
  to.breaker_refusals += r.breaker_refusals;
  to.breaker_first_refusals += r.breaker_first_refusals;
  for (std::size_t i = 0; i < r.outcomes.size(); ++i) to.outcomes[i] += r.outcomes[i];
  to.by_attempt.resize(1);
  to.by_attempt[0].sent += r.by_attempt[0].sent;
  for (std::size_t i = 0; i < r.results.size(); ++i) {
    to.results[i] += r.results[i];
    to.by_attempt[0].results[i] += r.by_attempt[0].results[i];
  }
}

void merge(Recoveries& to, const Recoveries& r) {
  if (r.back > 0) {
    to.least_s = to.back == 0 ? r.least_s : std::min(to.least_s, r.least_s);
    to.most_s = std::max(to.most_s, r.most_s);
    const auto all = static_cast<double>(to.back + r.back);
    to.mean_s += (r.mean_s - to.mean_s) * static_cast<double>(r.back) / all;
  }
  to.late_s.insert(to.late_s.end(), r.late_s.begin(), r.late_s.end());
  to.back += r.back;
  to.brief += r.brief;
  to.few += r.few;
  to.gone += r.gone;
  to.unknown += r.unknown;
  to.with_quotas += r.with_quotas;
  to.metastable += r.metastable;
  to.watched_s = r.watched_s;
  if (r.relapsed > 0) {
    const auto all = static_cast<double>(to.relapsed + r.relapsed);
    to.relapse_s += (r.relapse_s - to.relapse_s) * static_cast<double>(r.relapsed) / all;
  }
  to.relapsed += r.relapsed;
  to.relapsed_and_back += r.relapsed_and_back;
}

void merge(Occurrence& to, const Occurrence& o) {
  if (o.runs == 0) return;
  const double part = static_cast<double>(o.runs) / static_cast<double>(to.runs + o.runs);
  to.runs += o.runs;
  to.seconds += (o.seconds - to.seconds) * part;
  to.ratio += (o.ratio - to.ratio) * part;
  to.times.insert(to.times.end(), o.times.begin(), o.times.end());
}

void merge(Backlog& to, const Backlog& b) {
  to.start += b.start;
  to.middle += b.middle;
  to.end += b.end;
  to.first_most += b.first_most;
  to.last_most += b.last_most;
  to.made += b.made;
  to.work_s += b.work_s;
  to.seconds += b.seconds;
  to.first_latency_s += b.first_latency_s;
  to.first_ended += b.first_ended;
  to.last_latency_s += b.last_latency_s;
  to.last_ended += b.last_ended;
  to.stalled += b.stalled;
  to.best_per_s += b.best_per_s;
  to.last_per_s += b.last_per_s;
}

void merge(GroupCase& to, const GroupCase& c) {
  to.runs += c.runs;
  to.bin_s = c.bin_s;
  for (std::size_t i = 0; i < c.shed.size(); ++i) {
    to.shed[i].attempts += c.shed[i].attempts;
    to.shed[i].rejected += c.shed[i].rejected;
    to.shed[i].evicted += c.shed[i].evicted;
  }
  merge(to.total, c.total);
  merge(to.all, c.all);
  merge(to.before, c.before);
  merge(to.during, c.during);
  merge(to.trouble, c.trouble);
  merge(to.after, c.after);
  merge(to.recoveries, c.recoveries);
  add_limit(to.limit, c.limit);
  for (std::size_t i = 0; i < c.gaps.size(); ++i) {
    to.gaps[i].down += c.gaps[i].down;
    to.gaps[i].successes += c.gaps[i].successes;
    to.gaps[i].watched_s += c.gaps[i].watched_s;
  }
  to.unanswered.all += c.unanswered.all;
  to.unanswered.stuck += c.unanswered.stuck;
  to.unanswered.usual_s += c.unanswered.usual_s;
  to.lost_under_way += c.lost_under_way;
  to.cut_off += c.cut_off;
  to.growth.first_latency_s += c.growth.first_latency_s;
  to.growth.first_ended += c.growth.first_ended;
  to.growth.last_latency_s += c.growth.last_latency_s;
  to.growth.last_ended += c.growth.last_ended;
  to.cluster.runs += c.cluster.runs;
  to.cluster.from_s += c.cluster.from_s;
  to.cluster.to_s += c.cluster.to_s;
  to.lasting_storms += c.lasting_storms;
  to.collapse.runs += c.collapse.runs;
  to.collapse.from_s += c.collapse.from_s;
  to.made.before.merge(c.made.before);
  to.made.during.merge(c.made.during);
  to.made.between.merge(c.made.between);
  to.made.recovering.merge(c.made.recovering);
  to.made.after.merge(c.made.after);
  for (std::size_t i = 0; i < c.disturbed_stretches.size(); ++i) {
    to.disturbed_stretches[i].seconds += c.disturbed_stretches[i].seconds;
    to.disturbed_stretches[i].first_work_s += c.disturbed_stretches[i].first_work_s;
    to.disturbed_stretches[i].service.merge(c.disturbed_stretches[i].service);
  }
  merge(to.backlog, c.backlog);
  to.capacity.largest_queue_s = std::max(to.capacity.largest_queue_s, c.capacity.largest_queue_s);
  merge(to.retries_above_capacity, c.retries_above_capacity);
  merge(to.first_above_capacity, c.first_above_capacity);
  merge(to.first_above_scaled, c.first_above_scaled);
  merge(to.quota_dry, c.quota_dry);
}

std::vector<double> figures_of(const GroupCase& c) {
  std::vector<double> figures;
  const auto add = [&](const auto& value) { figures.push_back(static_cast<double>(value)); };
  FigureWalk walk(add);
  walk(c);
  return figures;
}

}  // namespace

std::vector<double> figures_of(CaseFacts& facts, const RunResult& run, std::size_t group) {
  return figures_of(group_case(facts, std::span(&run, 1), group));
}

std::size_t figure_count(CaseFacts& facts, std::size_t group) {
  return figures_of(group_case(facts, std::span<const RunResult>(), group)).size();
}

GroupCase group_case(CaseFacts& facts, std::span<const std::span<const double>> figures_by_run,
                     std::size_t group) {
  const GroupCase frame = group_case(facts, std::span<const RunResult>(), group);
  GroupCase all = frame;
  for (const std::span<const double> figures : figures_by_run) {
    GroupCase one = frame;
    std::size_t next = 0;
    const auto take = [&]<typename T>(T& value) {
      if (next < figures.size()) value = static_cast<T>(figures[next]);
      ++next;
    };
    FigureWalk walk(take);
    walk(one);
    if (next != figures.size()) {
      throw std::invalid_argument("these are not the figures of a replication of the scenario");
    }
    if (one.recoveries.back > 0) one.recoveries.add_late(one.recoveries.mean_s, facts.scenario);
    for (Occurrence* o : {&one.retries_above_capacity, &one.first_above_capacity,
                          &one.first_above_scaled, &one.quota_dry}) {
      if (o->runs > 0) o->times.push_back(o->seconds);
    }
    merge(all, one);
  }
  std::sort(all.recoveries.late_s.begin(), all.recoveries.late_s.end());
  std::sort(all.quota_dry.times.begin(), all.quota_dry.times.end());
  return all;
}

}  // namespace retrysim::explain
