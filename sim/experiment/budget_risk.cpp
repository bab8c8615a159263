// Faults at random times: periods are drawn, and what their faults cost is simulated. Quiet
// stretches, which are nearly all of a month, are skipped: see sim/experiment/README.md.
//
// SPDX-License-Identifier: MIT
#include "experiment/budget_risk.hpp"

#include <retrysim/error.hpp>

#include "estimate/intervals.hpp"
#include "execution/units.hpp"
#include "flow/demand.hpp"
#include "kernel/functions.hpp"
#include "measure/analyse/slo.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace retrysim {
namespace {

// --- Which scenarios -----------------------------------------------------------------------------

const char* why_not_alike(const ClientSpec& client) {
  switch (client.arrivals.process) {
    case ArrivalProcess::kTrace:
      return "the requests of a trace";
    case ArrivalProcess::kOnce:
      return "requests at one time only";
    case ArrivalProcess::kOnOff:
      return "bursts";
    default:
      break;
  }
  if (client.arrivals.profile) return "a rate that changes over time";
  return client.arrivals.surges.empty() ? nullptr : "a surge at one time only";
}

std::optional<double> frequency_of(const SloSpec& slo, const std::string& fault) {
  const auto at = std::ranges::find(slo.events_per_year, fault, &SloFrequency::event);
  if (at == slo.events_per_year.end()) return std::nullopt;
  return at->per_year;
}

}  // namespace

Scenario for_drawn_periods(const Scenario& given, const BudgetEvent& event) {
  Scenario scenario = given;
  const SloSpec& slo = given.slos[event.slo];
  for (const ClientSpec& client : given.clients) {
    const char* why = why_not_alike(client);
    if (why == nullptr) continue;
    throw RequestError(
        fmt::format("client.{} has {}: the quiet times of a month can only be skipped where one is "
                    "like another; play one draw of the faults with {} fault_draw=1 instead",
                    client.name, why, RequestError::part("set")));
  }
  if (given.fault_draw > 0) {
    for (const FaultSpec& drawn : draw_faults(given, given.fault_draw, given.duration)) {
      std::erase_if(scenario.faults, [&](const FaultSpec& f) { return f.name == drawn.name; });
    }
    scenario.fault_draw = 0;
  }
  for (FaultSpec& fault : scenario.faults) {
    scenario.random_faults.push_back({std::move(fault), {}});
  }
  scenario.faults.clear();
  if (scenario.random_faults.empty()) {
    throw RequestError(
        fmt::format("there is no fault that could use the budget of slo.{}: give "
                    "one, with per_year or mtbf",
                    slo.name));
  }
  for (RandomFault& f : scenario.random_faults) {
    if (f.chance.recurs()) continue;
    const auto per_year = frequency_of(slo, f.fault.name);
    if (!per_year) {
      throw RequestError(fmt::format(
          "fault.{0} begins at {1} and only then: how often does it in a year? Give it per_year or "
          "mtbf instead of start, or slo.{2} events_per_year = {{ {0} = 12 }}",
          f.fault.name, scenario::to_text(f.fault.start - Time::zero()), slo.name));
    }
    f.chance.per_year = *per_year;
    f.fault.start = Time::zero();
  }
  std::erase_if(scenario.random_faults, [](const RandomFault& f) { return !f.chance.recurs(); });
  scenario.phases.clear();
  scenario.expectations.clear();
  scenario.warmup_is_auto = false;
  scenario.drain = true;
  scenario.slos = {slo};
  return scenario;
}

namespace {

// --- Times ---------------------------------------------------------------------------------------

Duration longest_timeout(const Scenario& scenario) {
  double longest_s = 0;
  for (const ClientSpec& client : scenario.clients) {
    if (!client.timeouts.has_attempt) continue;
    longest_s = std::max(longest_s, client.timeouts.attempt.mean_seconds());
  }
  return Duration::from_seconds(longest_s);
}

/// How long a retry quota takes to fill up, if nothing takes tokens.
double refill_s(const ClientSpec& client, double requests_per_s) {
  const QuotaRules& quota = client.retry.quota;
  if (!quota.enabled) return 0;
  double per_s = quota.refill_rate;
  if (requests_per_s > 0) per_s += quota.credit * requests_per_s;
  return per_s > 0 ? quota.capacity / per_s : 0;
}

/// How long after goodput is back the system may still remember: tokens that clients have spent,
/// breakers that are open, caches that are cold.
Duration settling_time(const Scenario& scenario, double requests_per_s) {
  constexpr double kLeast_s = 300, kHolds = 2, kMost_s = 86'400;
  double longest_s = std::max(kLeast_s, kHolds * scenario.recovery.hold.in_seconds());
  double clients = 0;
  for (const ClientSpec& client : scenario.clients) {
    if (!client.makes_calls()) clients += client.count;
  }
  for (const ClientSpec& client : scenario.clients) {
    longest_s = std::max(longest_s, refill_s(client, requests_per_s / std::max(1.0, clients)));
    if (client.breaker.enabled) {
      longest_s = std::max(longest_s, client.breaker.open.in_seconds() * 10);
    }
  }
  for (const CallSpec& call : scenario.calls) {
    const CacheSpec& cache = call.cache;
    if (!cache.keeps_answers()) continue;
    if (cache.ttl < Duration::max()) longest_s = std::max(longest_s, 2 * cache.ttl.in_seconds());
    if (cache.capacity != CacheSpec::kUnlimited && requests_per_s > 0) {
      longest_s = std::max(longest_s, 3 * cache.capacity / requests_per_s);
    }
  }
  return Duration::from_seconds(std::min(longest_s, kMost_s));
}

// --- The search ----------------------------------------------------------------------------------

/// Faults close to each other, and what they use of the budget.
struct Stretch {
  std::size_t draw = 0;
  std::size_t first = 0, last = 0;  ///< its faults, by their places in the draw
  Duration tail = {};               ///< simulated after the last of them
  bool is_done = false;
  // What was found:
  double bad = 0;           ///< from its first fault to the end of what is simulated of it
  double counted_s = 0;     ///< the length of that time
  double disturbed_s = 0;   ///< its faults, and the aftermath of the last one
  Time over = {};           ///< when the last of its disturbances was over
  bool is_lasting = false;  ///< it was not, and was ended at `over`
};

class BudgetSearch {
 public:
  BudgetSearch(const RiskPlan& plan, const RiskPoint& point, const ReplicationOptions& run,
               const RiskProgress& progress)
      : plan_(plan),
        point_(point),
        run_(run),
        progress_(progress),
        base_(*point.undisturbed),
        slo_(base_.slos.front()) {}

  RiskStudy find() {
    measure_quiet();
    const double hold_s = base_.recovery.hold.in_seconds();
    settle_ = plan_.plain ? Duration::max() : settling_time(base_, drawn_.requests_per_s);
    drawn_.settle = plan_.plain ? Duration() : settle_;
    const double timeouts_s = 10 * longest_timeout(base_).in_seconds();
    warmup_ = std::max(base_.warmup, Duration::from_seconds(std::max(10.0, timeouts_s)));
    before_ = std::max(Duration::from_seconds(std::max(60.0, hold_s)), time_of(kTellingNormal));
    // So long that what is left of a fault after the recovery is counted, too.
    first_tail_ = settling_time(base_, drawn_.requests_per_s);
    most_tail_ = std::max({first_tail_, Duration::seconds(3'600), time_of(kTellingRecovery)});
    if (plan_.repair < most_tail_) most_tail_ = std::max(plan_.repair, Duration::nanoseconds(1));
    first_tail_ = std::min(first_tail_, most_tail_);
    drawn_.followed = most_tail_;
    constexpr std::array<std::size_t, 6> kPeriods = {32, 100, 320, 1'000, 3'200, 10'000};
    for (const std::size_t periods : kPeriods) {
      if (!draw_up_to(periods)) break;
      if (is_precise()) break;
    }
    conclude();
    return std::move(study_);
  }

 private:
  // The requests by which what is normal is known, and by which a system that has recovered can be
  // told from one that has not (`stats::Recovery`).
  static constexpr double kTellingNormal = 200, kTellingRecovery = 500;

  void say(std::string_view stage) const {
    if (progress_) progress_(point_, stage);
  }

  /// The time in which so many requests come of those whose recovery is looked for: of all that the
  /// SLO counts together, or of each group that it names. At most a period, and so long that a
  /// hundred times as many come in all: rare requests beside many are not waited for.
  Duration time_of(double requests) const {
    constexpr double kMost = 100;
    const double all_s = requests / drawn_.requests_per_s;
    double longest_s = all_s;
    if (!slo_.clients.empty()) {
      const flow::Demand demand = flow::demand_of(base_, flow::Attempts::kFirst);
      for (const std::size_t g : stats::slo_groups(base_, slo_)) {
        const double rate = demand.groups[g].requests;
        if (rate > 0) longest_s = std::max(longest_s, std::min(requests / rate, kMost * all_s));
      }
    }
    return std::min(Duration::from_seconds(longest_s), plan_.period);
  }

  /// The rate, and the share of bad requests, of a time without faults. The second is measured for
  /// as long as some seconds of work allow, so that a system that tips over by itself is seen to.
  void measure_quiet() {
    say("quiet time");
    constexpr double kMostEvents = 2e7, kShareOfEffort = 0.1;
    const Duration shortest = std::min(base_.duration, std::max(kHour, base_.warmup * 2));
    QuietTime quiet = simulate_quiet(shortest);
    events_per_s_ = quiet.events / quiet.simulated_s;
    const double most =
        std::min(kMostEvents, kShareOfEffort * static_cast<double>(plan_.effort)) / kQuietRuns;
    const double longest_s = std::min(plan_.period, plan_.repair).in_seconds();
    const double length_s = quiet.events > 0 ? std::min(longest_s, most / events_per_s_) : 0;
    if (length_s > 2 * shortest.in_seconds()) {
      quiet = simulate_quiet(Duration::from_seconds(length_s));
    }
    drawn_.requests_per_s = quiet.requests / quiet.measured_s;
    drawn_.quiet_bad = quiet.requests > 0 ? quiet.bad / quiet.requests : 0;
    drawn_.quiet_s = quiet.measured_s;
    requests_per_window_ = slo_.requests_per_window > 0
                               ? slo_.requests_per_window
                               : drawn_.requests_per_s * slo_.window.in_seconds();
    if (requests_per_window_ > 0) return;
    throw RequestError(
        fmt::format("{}: no request was made that slo.{} counts, in {} without a fault",
                    RequestError::part("event"), slo_.name, scenario::to_text(shortest)));
  }

  static constexpr std::size_t kQuietRuns = 10;
  static constexpr Duration kHour = Duration::seconds(3'600);

  struct QuietTime {
    double requests = 0, bad = 0, events = 0;
    double simulated_s = 0, measured_s = 0;  ///< of all runs, with and without their warm-up
  };

  QuietTime simulate_quiet(Duration duration) {
    Scenario scenario = base_;
    scenario.random_faults.clear();
    scenario.duration = scenario.interval = duration;
    // So that there is a budget, whose size does not matter here.
    scenario.slos.front().requests_per_window = 1;
    execution::Units units;
    units.count = kQuietRuns;
    units.unit = [](std::size_t i) { return execution::Unit{0, static_cast<std::uint32_t>(i)}; };
    units.scenario = [&](std::size_t) { return execution::borrowed(scenario); };
    const auto found =
        execution::before_more([&] { return execution::get_budgets(std::move(units), run_); });
    QuietTime quiet;
    for (const execution::UnitBudgets& unit : found) {
      for (const auto& f : stats::from_slo_numbers(unit.numbers)) {
        if (!f) continue;
        quiet.requests += f->requests;
        quiet.bad += f->bad;
      }
      quiet.events += static_cast<double>(unit.events);
      study_.events += unit.events;
    }
    quiet.simulated_s = kQuietRuns * duration.in_seconds();
    quiet.measured_s = kQuietRuns * (duration - scenario.warmup).in_seconds();
    return quiet;
  }

  /// Draws and simulates periods until there are so many; false if the effort is used up before.
  bool draw_up_to(std::size_t periods) {
    say(scenario::said_things(periods, "period"));
    const std::size_t first = draws_.size();
    for (std::size_t d = first; d < periods; ++d) {
      draws_.push_back(draw_faults(base_, static_cast<std::uint32_t>(d + 1), plan_.period));
      std::vector<Stretch> stretches;
      const std::vector<FaultSpec>& faults = draws_.back();
      Time end;
      for (std::size_t i = 0; i < faults.size(); ++i) {
        const bool is_near = !stretches.empty() && is_within(settle_, end, faults[i].start);
        if (is_near) {
          stretches.back().last = i;
        } else {
          stretches.push_back({.draw = d, .first = i, .last = i, .tail = first_tail_});
          end = Time::zero();
        }
        end = std::max(end, faults[i].start + faults[i].duration);
      }
      stretches_.push_back(std::move(stretches));
    }
    const double planned = planned_events(first);
    const double left = static_cast<double>(plan_.effort) - static_cast<double>(study_.events);
    if (planned > left) {
      draws_.resize(first);
      stretches_.resize(first);
      if (first > 0) return false;
      throw RequestError(fmt::format("{}: {} of {} days take about {} events{}",
                                     RequestError::part("effort"),
                                     scenario::said_things(periods, "period"),
                                     scenario::said_number(plan_.period.in_seconds() / 86'400, 4),
                                     scenario::said_number(planned, 2),
                                     plan_.plain ? " where no quiet stretch is skipped" : ""));
    }
    simulate_pending(first);
    return true;
  }

  /// Whether `start` is less than `time` after `end`.
  static bool is_within(Duration time, Time end, Time start) {
    return time == Duration::max() || start < end || start - end < time;
  }

  double planned_events(std::size_t first) const {
    double seconds = 0;
    for (std::size_t d = first; d < stretches_.size(); ++d) {
      for (const Stretch& s : stretches_[d]) seconds += length_of(s).in_seconds();
    }
    return seconds * events_per_s_;
  }
  Time first_start(const Stretch& s) const { return draws_[s.draw][s.first].start; }
  Time last_end(const Stretch& s) const {
    Time end;
    for (std::size_t i = s.first; i <= s.last; ++i) {
      const FaultSpec& fault = draws_[s.draw][i];
      end = std::max(end, fault.start + fault.duration);
    }
    return end;
  }
  /// The time in which at least one of its faults is there.
  double faults_s(const Stretch& s) const {
    Duration sum;
    Time until = first_start(s);
    for (std::size_t i = s.first; i <= s.last; ++i) {
      const FaultSpec& fault = draws_[s.draw][i];
      const Time end = fault.start + fault.duration;
      if (end > until) sum += end - std::max(until, fault.start);
      until = std::max(until, end);
    }
    return sum.in_seconds();
  }
  Duration length_of(const Stretch& s) const {
    return warmup_ + before_ + (last_end(s) - first_start(s)) + s.tail;
  }

  std::shared_ptr<const Scenario> scenario_of(const Stretch& s) const {
    auto scenario = std::make_shared<Scenario>(base_);
    scenario->random_faults.clear();
    scenario->warmup = warmup_;
    scenario->duration = scenario->interval = length_of(s);
    scenario->slos.front().requests_per_window = requests_per_window_;
    const Duration shift = (first_start(s) - Time::zero()) - warmup_ - before_;
    for (std::size_t i = s.first; i <= s.last; ++i) {
      FaultSpec& fault = scenario->faults.emplace_back(draws_[s.draw][i]);
      fault.start = Time::zero() + (fault.start - Time::zero() - shift);
    }
    return scenario;
  }

  /// Simulates all stretches of the draws from `first` on, longer ones where the system has not
  /// recovered, and again together where one has not settled before the next begins.
  void simulate_pending(std::size_t first) {
    while (true) {
      std::vector<Stretch*> pending;
      for (std::size_t d = first; d < stretches_.size(); ++d) {
        for (Stretch& s : stretches_[d]) {
          if (!s.is_done) pending.push_back(&s);
        }
      }
      if (pending.empty()) return;
      execution::Units units;
      units.count = pending.size();
      units.unit = [&](std::size_t i) {
        // Far enough apart: a draw has at most kMaxDrawnFaults faults.
        constexpr std::uint32_t kEach = kMaxDrawnFaults + 7;
        const Stretch& s = *pending[i];
        return execution::Unit{i, static_cast<std::uint32_t>(s.draw + 1) * kEach +
                                      static_cast<std::uint32_t>(s.first)};
      };
      units.scenario = [&](std::size_t i) { return scenario_of(*pending[i]); };
      const auto found =
          execution::before_more([&] { return execution::get_budgets(std::move(units), run_); });
      for (std::size_t i = 0; i < pending.size(); ++i) {
        drawn_.simulated_s += length_of(*pending[i]).in_seconds();
        study_.events += found[i].events;
        take(*pending[i], found[i]);
      }
      for (std::size_t d = first; d < stretches_.size(); ++d) join_unsettled(stretches_[d]);
    }
  }

  void take(Stretch& s, const execution::UnitBudgets& found) {
    const std::shared_ptr<const Scenario> scenario = scenario_of(s);
    const auto figures = stats::from_slo_numbers(found.numbers);
    s.is_done = true;
    s.is_lasting = false;
    s.bad = static_cast<double>(found.bad_since_first.front());
    s.counted_s = length_of(s).in_seconds() - (warmup_ + before_).in_seconds();
    const stats::SloFigures& last = figures.back().value();
    const Duration shift = (first_start(s) - Time::zero()) - warmup_ - before_;
    s.over = Time::zero() + Duration::from_seconds(last.end_s) + shift;
    s.disturbed_s = faults_s(s) + std::max(0.0, (s.over - last_end(s)).in_seconds());
    if (last.over != 0) return;
    if (s.tail < most_tail_) {
      s.tail = std::min(most_tail_, Duration::nanoseconds(4 * s.tail.count()));
      s.is_done = false;
      return;
    }
    s.is_lasting = true;
    const Time period_end = Time::zero() + plan_.period;
    const Time ended = plan_.repair == Duration::max()
                           ? std::max(period_end, s.over)
                           : std::max(s.over, last_end(s) + plan_.repair);
    const double more_s = (ended - s.over).in_seconds();
    if (last.requests > 0) s.bad += last.bad / last.requests * drawn_.requests_per_s * more_s;
    s.counted_s += more_s;
    s.disturbed_s += more_s;
    s.over = ended;
  }

  /// Joins stretches with the next one that begins before they have settled. What begins in a
  /// lasting collapse makes nothing worse, and is left out.
  void join_unsettled(std::vector<Stretch>& stretches) const {
    for (std::size_t i = 0; i + 1 < stretches.size();) {
      Stretch& s = stretches[i];
      Stretch& next = stretches[i + 1];
      if (s.is_lasting) {
        const std::vector<FaultSpec>& faults = draws_[s.draw];
        const std::size_t begin = next.first;
        while (next.first <= next.last && faults[next.first].start < s.over) ++next.first;
        if (next.first > next.last) {
          stretches.erase(stretches.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          continue;
        }
        if (next.first != begin) next.is_done = false;
        ++i;
        continue;
      }
      // Until it is known when it recovers, what begins meanwhile is left out.
      const Time start = first_start(next);
      const bool is_near =
          s.is_done && (start < last_end(s) + s.tail || is_within(settle_, s.over, start));
      if (!is_near) {
        ++i;
        continue;
      }
      s.last = next.last;
      s.tail = std::max(first_tail_, next.tail);
      s.is_done = false;
      stretches.erase(stretches.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  // --- The answer --------------------------------------------------------------------------------

  DrawnPeriod period_of(std::size_t draw) const {
    DrawnPeriod p;
    double counted_s = 0;
    p.faults = draws_[draw].size();
    for (const Stretch& s : stretches_[draw]) {
      p.bad += s.bad;
      counted_s += s.counted_s;
      p.disturbed_s += s.disturbed_s;
      p.lasting += s.is_lasting;
    }
    const double period_s = plan_.period.in_seconds();
    const double rate = drawn_.requests_per_s;
    p.bad += drawn_.quiet_bad * rate * std::max(0.0, period_s - counted_s);
    p.availability = std::max(0.0, 1 - p.bad / (rate * period_s));
    p.budget_used = p.bad / ((1 - slo_.share) * requests_per_window_);
    p.outage_s = p.bad / rate;
    return p;
  }

  std::size_t hits() const {
    std::size_t hits = 0;
    for (std::size_t d = 0; d < draws_.size(); ++d) {
      hits += period_of(d).budget_used > point_.budget->above;
    }
    return hits;
  }

  bool is_precise() const {
    const std::size_t n = draws_.size(), k = hits();
    if (k == 0) return false;
    const stats::ProportionInterval p = stats::exact_interval(k, n);
    const double mean = static_cast<double>(k) / static_cast<double>(n);
    return (p.high - p.low) / 2 <= plan_.precision * mean;
  }

  void conclude() {
    for (std::size_t d = 0; d < draws_.size(); ++d) {
      drawn_.periods.push_back(period_of(d));
      drawn_.stretches += stretches_[d].size();
    }
    drawn_.above = hits();
    study_.method = RiskMethod::kDrawn;
    study_.horizon = plan_.period;
    study_.repetitions = static_cast<std::uint32_t>(draws_.size());
    const double n = static_cast<double>(draws_.size());
    const double period_s = plan_.period.in_seconds();
    const stats::ProportionInterval p = stats::exact_interval(drawn_.above, draws_.size());
    study_.per_s_below = p.high / period_s;
    double most = 0;
    for (const DrawnPeriod& period : drawn_.periods) most = std::max(most, period.budget_used);
    study_.level = point_.budget->above > 0 ? std::min(1.0, most / point_.budget->above) : 1;
    if (drawn_.above > 0) {
      const double mean = static_cast<double>(drawn_.above) / n;
      study_.probability = {mean, p.low, p.high};
      study_.per_s = {mean / period_s, p.low / period_s, p.high / period_s};
      study_.relative_error = std::sqrt((1 - mean) / (mean * n));
    }
    study_.drawn = std::move(drawn_);
  }

  const RiskPlan& plan_;
  const RiskPoint& point_;
  const ReplicationOptions& run_;
  const RiskProgress& progress_;
  const Scenario& base_;
  const SloSpec& slo_;
  Duration settle_, warmup_, before_, first_tail_, most_tail_;
  double events_per_s_ = 0, requests_per_window_ = 0;
  std::vector<std::vector<FaultSpec>> draws_;
  std::vector<std::vector<Stretch>> stretches_;  // by draw
  DrawnPeriods drawn_;
  RiskStudy study_;
};

}  // namespace

RiskStudy study_drawn_periods(const RiskPlan& plan, const RiskPoint& point,
                              const ReplicationOptions& run, const RiskProgress& progress) {
  return BudgetSearch(plan, point, run, progress).find();
}

// --- Return levels -------------------------------------------------------------------------------

namespace {

/// Orders of the values whose interval holds the quantile of `share` with 95 % probability, counted
/// from 0: those of the binomial distribution with the normal approximation and its continuity
/// correction.
RiskInterval quantile_of(const std::vector<double>& sorted, double share) {
  const double n = static_cast<double>(sorted.size());
  const double spread = stats::kNormal95 * std::sqrt(n * share * (1 - share));
  const auto at = [&](double rank) {
    const double last = n - 1;
    return sorted[static_cast<std::size_t>(std::clamp(rank, 0.0, last))];
  };
  return {at(std::floor(n * share)), at(std::floor(n * share - spread - 0.5)),
          at(std::ceil(n * share + spread + 0.5) - 1)};
}

}  // namespace

std::vector<ReturnLevel> return_levels(const DrawnPeriods& drawn) {
  constexpr std::size_t kFewestWorse = 10;
  constexpr std::array<double, 9> kPeriods = {2, 5, 10, 20, 50, 100, 200, 500, 1'000};
  std::vector<double> used, outages;
  for (const DrawnPeriod& p : drawn.periods) {
    used.push_back(p.budget_used);
    outages.push_back(p.outage_s);
  }
  std::ranges::sort(used);
  std::ranges::sort(outages);
  std::vector<ReturnLevel> levels;
  for (const double periods : kPeriods) {
    if (static_cast<double>(used.size()) / periods < kFewestWorse) break;
    const double share = 1 - 1 / periods;
    levels.push_back({periods, quantile_of(used, share), quantile_of(outages, share)});
  }
  return levels;
}

}  // namespace retrysim
