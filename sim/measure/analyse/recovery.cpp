// Finding the moment of recovery, judging storms by their twins, and measuring the steps of a load
// ramp.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/recovery.hpp"

#include "flow/calls.hpp"
#include "flow/capacity.hpp"
#include "flow/demand.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/storms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim::stats {

namespace {

std::size_t first_bin_at_or_after(Time t, Duration width) {
  // Some times are the largest possible, so that nothing may be added to them.
  const std::int64_t at = std::max<std::int64_t>(t.count(), 0);
  return static_cast<std::size_t>(at / width.count() + (at % width.count() == 0 ? 0 : 1));
}

std::size_t bins_ended_by(Time t, Duration width) {
  return static_cast<std::size_t>(std::max<std::int64_t>(t.count(), 0) / width.count());
}

/// Standard errors allowed for chance in a single estimate.
constexpr double kDeviations = 3;
/// Standard errors allowed for chance in the largest of many estimates.
constexpr double kDeviationsOfMany = 4.5;

/// Bernstein's bound on how far independent failures carry the shortfall above its lowest point
/// while `requests` requests come: not farther than the result with probability 0.999. Each request
/// fails with probability `p` (and adds `bar`), or succeeds (and takes away 1 - bar).
double chance_of_failures(double p, double bar, double requests) {
  // ln(n / 0.001), rounded up: any of n requests may be the first of the rise.
  const auto n = static_cast<std::uint64_t>(std::max(requests, 1.0));
  const double log_odds = 6.9 + 0.6932 * static_cast<double>(std::bit_width(n));
  const double drift = std::max(1 - p - bar, 0.0);  // downwards, per request
  const double variance = p * (1 - p);
  // The maximum of a random walk of n steps without a notable drift.
  const double aimless = std::sqrt(2 * requests * variance * log_odds) + log_odds / 3;
  if (drift <= 0) return aimless;
  return std::min(aimless, log_odds * (variance + 2 * drift / 3) / (2 * drift));
}

/// Whether each service is reached by the group's attempts or the calls for them; without a group
/// all are.
std::vector<bool> reached_by(const Scenario& scenario, std::optional<std::size_t> group) {
  std::vector<bool> reached(scenario.services.size(), !group);
  if (!group) return reached;
  for (const std::size_t s : called_services(scenario.clients[*group])) reached[s] = true;
  for (bool more = true; more;) {
    more = false;
    for (const CallSpec& call : scenario.calls) {
      if (!reached[call.caller]) continue;
      for (const std::size_t s : called_services(scenario.clients[call.client])) {
        more = more || !reached[s];
        reached[s] = true;
      }
    }
  }
  return reached;
}

/// How many failures come together where a queue is full now and then: while it is, as many more
/// come as the servers take to make room, a geometric number with a mean of 1 / (1 - load), whose
/// counts vary (1 + load) / (1 - load) times as much as independent ones. 1 for a service whose
/// queue is hardly ever full while `requests` come, is always full, or has no bound. Where `many`
/// fail, a share of the requests (0: few do), the queue has a part only in those that it turns
/// away.
double together_at_full_queues(const Scenario& scenario, std::optional<std::size_t> group,
                               double requests, double many) {
  constexpr double kHardlyEver = 0.01;
  const auto is_bounded = [](const ServiceSpec& s) {
    return s.queue.capacity != ServiceSpec::kUnlimited && s.servers != ServiceSpec::kUnlimited;
  };
  if (std::ranges::none_of(scenario.services, is_bounded)) return 1;
  const std::vector<bool> reached = reached_by(scenario, group);
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  double most = 1;
  for (std::size_t s = 0; s < reached.size(); ++s) {
    if (!reached[s] || !is_bounded(scenario.services[s])) continue;
    const double load = demand.services[s].load();
    const double places = static_cast<double>(scenario.services[s].queue.capacity);
    if (load <= 0 || load >= 1 || requests * std::pow(load, places) < kHardlyEver) continue;
    const double turned_away =  // loss probability of M/M/1/K
        std::pow(load, places + 1) * (1 - load) / (1 - std::pow(load, places + 2));
    const double part = many > 0 ? std::min(turned_away / many, 1.0) : 1;
    most = std::max(most, 1 + part * (std::min((1 + load) / (1 - load), places + 1) - 1));
  }
  return most;
}

constexpr double kRareFailures = 0.1;  ///< share of requests above which failures count as many

/// How many failures come together, as observed: the variance of the failures in groups of `width`
/// bins, divided by that of independent failures. 1 for too few failures, or if many requests fail.
double together_before(std::span<const RequestCounts> counts, BinRange bins, std::size_t width) {
  constexpr double kFewest = 10;
  constexpr std::size_t kMinBlocks = 5;
  width = std::max<std::size_t>(width, 1);
  const std::size_t blocks = (bins.last - std::min(bins.first, bins.last)) / width;
  double failures = 0, ended = 0;
  std::vector<std::pair<double, double>> of_blocks(blocks);
  for (std::size_t i = 0; i < blocks * width; ++i) {
    const RequestCounts& c = counts[bins.first + i];
    of_blocks[i / width].first += c.failures;
    of_blocks[i / width].second += static_cast<double>(c.failures) + c.successes;
    failures += c.failures;
    ended += static_cast<double>(c.failures) + c.successes;
  }
  if (failures < kFewest || failures > kRareFailures * ended || blocks < kMinBlocks) return 1;
  const double p = failures / ended;
  double squares = 0;
  for (const auto& [failed, of] : of_blocks) squares += (failed - p * of) * (failed - p * of);
  return std::max(1.0, squares / (ended * p * (1 - p)));
}

/// How far chance carries the successes of closed loops, of which `requests` are due, behind the
/// share `bar`: not farther than the result with probability 0.999, if their times vary like a
/// Poisson process. Exponential bound for a random walk with a drift of 1 - bar.
double chance_of_loops(double bar, double requests) {
  if (requests <= 0) return 0;
  // The fewest requests by which a working loop can be told from one that stands still.
  constexpr double kFewest = 100;
  const double n = std::max(requests, kFewest);
  const double log_odds = 6.9 + std::log(n);
  const double aimless = std::sqrt(2 * n * log_odds);
  return bar < 1 ? std::min(aimless, log_odds / (2 * (1 - bar))) : aimless;
}

/// A running sum, and how far it has risen from its lowest value.
class Rise {
 public:
  explicit Rise(std::size_t first) : from_(first) {}
  void add(double step, std::size_t bin) {
    sum_ += step;
    if (sum_ > lowest_) return;
    lowest_ = sum_;
    from_ = bin + 1;
  }
  double height() const { return sum_ - lowest_; }
  /// First bin after the lowest value.
  std::size_t from() const { return from_; }

 private:
  double sum_ = 0, lowest_ = 0;
  std::size_t from_;
};

/// A `Rise` since a moment that moves on; amortized constant time for each step.
class SlidingRise {
 public:
  explicit SlidingRise(std::size_t first) : lows_{{first, 0}} {}
  void add(double step, std::size_t bin) {
    sum_ += step;
    while (!lows_.empty() && lows_.back().sum >= sum_) lows_.pop_back();
    lows_.push_back({bin + 1, sum_});
  }
  /// Ignores everything before this bin, which is at most the one after the last bin added.
  void begin_at(std::size_t bin) {
    while (lows_.front().from < bin) lows_.pop_front();
  }
  double height() const { return sum_ - lows_.front().sum; }
  /// First bin after the lowest value.
  std::size_t from() const { return lows_.front().from; }

 private:
  struct Low {
    std::size_t from;  // first bin after the lowest value
    double sum;
  };
  double sum_ = 0;
  std::deque<Low> lows_;  // ascending: each is the lowest value since the one before it
};

/// How far the shortfall may grow by chance alone, in successes.
struct Allowance {
  double failing = 0;  ///< growth by requests that fail
  /// Upper bound on the growth by failing requests, and by requests that end more slowly than they
  /// arrive.
  double pausing = 0;
  double at_once = 0;  ///< as `pausing`, for a recovery that begins with the end of the disturbance
};

/// Watches the counts from one moment on.
class Watch {
 public:
  Watch(const Scenario& scenario, const RunResult& run, const Course& course, BinRange range,
        const Before& before)
      : counts_(course.counts),
        loops_(course.loops),
        loop_rate_(before.sure_loop_rate),
        range_(range),
        hold_(hold_bins(scenario, run)) {
    const double ended = static_cast<double>(before.ended);
    const double failures = (1 - before.success_rate) * ended;
    const std::size_t window =
        bins_ended_by(Time::zero() + scenario.recovery.window, run.count_width);
    together_ = std::max(
        {together_before(counts_, before.bins, window),
         together_before(counts_, before.bins, 5 * window),
         together_at_full_queues(scenario, course.group,
                                 load(range_) * static_cast<double>(range_.last - range_.first),
                                 failures > kRareFailures * ended ? failures / ended : 0)});
    // Even if no request was seen to fail, a few could fail together.
    const double some = std::min(together_, std::max(1.0, ended / 10));
    const double p = before.ended > 0 ? (failures + some) / (ended + 2 * some) : 0.0;
    const double deviation = before.ended > 0 ? std::sqrt(together_ * p * (1 - p) / ended) : 0.0;
    const double surely = std::max(before.success_rate - kDeviations * deviation, 0.0);
    bar_ = scenario.recovery.share * surely;
    find_allowance(scenario, run, before, std::max(p, (1 - scenario.recovery.share) / 50));
    const double watched_s =
        run.count_width.in_seconds() * static_cast<double>(range.last - range.first);
    const double outage_s =
        std::max(scenario.recovery.hold.in_seconds() / 2, std::min(kCollapse_s, watched_s / 10));
    collapse_ = bar_ * load(range_) * outage_s / run.count_width.in_seconds();
  }

  struct Finding {
    bool held = false;      ///< the recovery lasted for the required hold
    std::size_t start = 0;  ///< bin from which on there is no relapse; the end: there always is one
    std::size_t moment = 0;  ///< bin with which the recovery begins
    double due_since = 0;    ///< successes due from then to the end
    std::size_t end = 0;     ///< bin after the last that was examined
  };

  /// The recovery that begins at `start`, or at the first later bin from which on there is no
  /// relapse. After a relapse the search goes on from the bin after its lowest point: a rise that
  /// was acceptable from an earlier bin is acceptable from a later one.
  Finding from(std::size_t start) const {
    SlidingRise failing(start), behind(start);
    Finding found{.start = start, .end = start};
    double due = 0;
    for (std::size_t i = start; i < range_.last && !found.held; ++i) {
      failing.add(failing_step(i), i);
      behind.add(behind_step(i), i);
      due += bar_ * wanted(i);
      for (;;) {
        const bool fails = failing.height() > allowance_.failing;
        if (!fails && behind.height() <= allowance_.pausing) break;
        const std::size_t next = (fails ? failing : behind).from() + 1;
        failing.begin_at(next);
        behind.begin_at(next);
        for (; found.start < next; ++found.start) due -= bar_ * wanted(found.start);
      }
      found.end = i + 1;
      found.held = i + 1 - found.start >= hold_ && due >= 2 * allowance_.pausing && due > 0;
    }
    if (found.start < range_.last) find_moment(found);
    return found;
  }

  /// The first bin, from `start` on, of a collapse of a system that is back; empty if there is
  /// none.
  std::optional<std::size_t> collapse_from(std::size_t start) const {
    Rise behind(start);
    const double much = std::max(2 * allowance_.pausing, collapse_);
    for (std::size_t i = start; i < range_.last; ++i) {
      behind.add(behind_step(i), i);
      if (behind.height() > much) return behind.from();
    }
    const double at_the_end = std::max(2 * allowance_.pausing, collapse_ / 3);
    return behind.height() > at_the_end ? std::optional(behind.from()) : std::nullopt;
  }

  double due() const {
    return bar_ * load(range_) * static_cast<double>(range_.last - range_.first);
  }
  double due_to_tell() const { return allowance_.pausing; }

 private:
  static std::size_t hold_bins(const Scenario& scenario, const RunResult& run) {
    const Duration hold = std::max(scenario.recovery.hold, scenario.recovery.window);
    return first_bin_at_or_after(Time::zero() + hold, run.count_width);
  }

  double failing_step(std::size_t bin) const {
    const RequestCounts& c = counts_[bin];
    return c.failed - (1 - bar_) * c.requests;
  }
  double behind_step(std::size_t bin) const { return bar_ * wanted(bin) - counts_[bin].successes; }

  /// Finds the moment of recovery: when the shortfall is greatest.
  void find_moment(Finding& found) const {
    double behind = 0, most = 0, due = 0, due_at_moment = 0;
    found.moment = found.start;
    for (std::size_t i = found.start; i < found.end; ++i) {
      behind += behind_step(i);
      due += bar_ * wanted(i);
      if (behind <= most) continue;
      most = behind;
      found.moment = i + 1;
      due_at_moment = due;
    }
    if (found.start == range_.first && most <= allowance_.at_once) {
      found.moment = found.start;
      due_at_moment = 0;
    }
    found.due_since = due - due_at_moment;
  }

  /// The requests due in a count bin; from closed loops as many as before the disturbance.
  double wanted(std::size_t bin) const {
    const std::uint32_t requests = counts_[bin].requests;
    return loops_.empty() ? requests : requests - loops_[bin].requests + loop_rate_;
  }

  /// The mean number of requests due per count bin.
  double load(BinRange bins) const {
    double requests = 0;
    for (std::size_t i = bins.first; i < bins.last; ++i) requests += wanted(i);
    return requests / static_cast<double>(bins.last - bins.first);
  }

  /// Mean number of requests under way at the end of the bins.
  double under_way(BinRange bins) const {
    std::int64_t now = 0;
    double sum = 0;
    for (std::size_t i = 0; i < bins.last; ++i) {
      const RequestCounts& c = counts_[i];
      now += std::int64_t{c.requests} - c.successes - c.failures;
      if (i >= bins.first) sum += static_cast<double>(now);
    }
    return sum / static_cast<double>(bins.last - bins.first);
  }

  void find_allowance(const Scenario& scenario, const RunResult& run, const Before& before,
                      double p) {
    const double load_now = load(range_);
    const auto hold = static_cast<double>(hold_);
    const double window = scenario.recovery.window.in_seconds() / run.count_width.in_seconds();
    // How far the same sums rose before the disturbance: a rise that is normal then is not a
    // relapse now.
    Rise failing(before.bins.first), behind(before.bins.first);
    double failing_before = 0, behind_before = 0;
    for (std::size_t i = before.bins.first; i < before.bins.last; ++i) {
      const RequestCounts& c = counts_[i];
      // Counted where they failed: the disturbance to come makes requests fail that came before it.
      failing.add(c.failures - (1 - bar_) * c.requests, i);
      behind.add(bar_ * wanted(i) - c.successes, i);
      failing_before = std::max(failing_before, failing.height());
      behind_before = std::max(behind_before, behind.height());
    }
    const double lapse = (1 - scenario.recovery.share) * bar_ * load_now * window;
    const double by_chance = together_ * chance_of_failures(p, bar_, load_now * hold / together_);
    allowance_.failing = std::max({lapse, by_chance, 2 * failing_before});
    // The number of requests under way keeps changing, by chance and with the load.
    const bool known = before.bins.last > before.bins.first;
    const BinRange normal =
        known ? before.bins
              : BinRange{range_.last - std::min(hold_, range_.last - range_.first), range_.last};
    const double load_then = load(normal);
    const double grown = load_then > 0 ? std::max(load_now / load_then, 1.0) : 1.0;
    const double latency =
        kDeviationsOfMany * (std::sqrt(2 * std::max(under_way(normal), 0.0) * grown) + 1);
    const double in_loops = chance_of_loops(bar_, loops_.empty() ? 0 : loop_rate_ * hold);
    // How far loops stray in so short a time is known from before.
    const double strayed = known ? behind_before : std::max(behind_before, in_loops);
    allowance_.at_once = allowance_.failing + std::max(latency, strayed);
    const double pause = bar_ * load_now * hold / 20;
    allowance_.pausing =
        allowance_.failing + std::max({latency + in_loops, 2 * behind_before, pause});
  }

  /// A time without any success that is a collapse of a system that is back, s.
  static constexpr double kCollapse_s = 15;

  std::span<const RequestCounts> counts_;
  std::span<const Course::OfLoops> loops_;
  double loop_rate_;  ///< requests due per count bin
  BinRange range_;
  std::size_t hold_;
  double bar_ = 0;       ///< successes due per request
  double together_ = 1;  ///< failures that come together
  double collapse_ = 0;  ///< shortfall that is a collapse, in successes
  Allowance allowance_;
};

}  // namespace

namespace {

/// The disturbances for which `is_fault_meant` holds of the fault, or `is_group_meant` of the group
/// with the surge.
template <typename IsFault, typename IsGroup>
std::vector<Disturbance> disturbances_where(const Scenario& scenario, IsFault is_fault_meant,
                                            IsGroup is_group_meant) {
  std::vector<Disturbance> found;
  const Time run_end = Time::zero() + scenario.duration;
  const auto add = [&](const auto& spec, bool is_surge) {
    if (spec.start >= run_end || spec.duration <= Duration::zero()) return;
    found.push_back({{spec.start, spec.start + spec.duration}, spec.name, is_surge});
  };
  for (const FaultSpec& fault : scenario.faults) {
    if (is_fault_meant(fault)) add(fault, false);
  }
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    const std::vector<SurgeSpec>& surges = scenario.clients[g].arrivals.surges;
    if (surges.empty() || !is_group_meant(g)) continue;
    for (const SurgeSpec& surge : surges) add(surge, true);
  }
  std::sort(found.begin(), found.end(), [](const Disturbance& a, const Disturbance& b) {
    return std::tie(a.start, a.end, a.name) < std::tie(b.start, b.end, b.name);
  });
  return found;
}

}  // namespace

std::vector<Disturbance> disturbances(const Scenario& scenario) {
  return disturbances_where(
      scenario, [](const FaultSpec&) { return true; }, [](std::size_t) { return true; });
}

ReachParts::ReachParts(const Scenario& scenario)
    : scenario_(scenario),
      services_(scenario.services.size()),
      of_(services_ + scenario.clients.size()) {
  std::iota(of_.begin(), of_.end(), std::size_t{0});
  const auto root = [this](std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  };
  const auto join = [&](std::size_t a, std::size_t b) { of_[root(a)] = root(b); };
  std::map<std::string_view, std::size_t> by_retryer;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    const ClientSpec& client = scenario.clients[g];
    for (const std::size_t s : called_services(client)) join(services_ + g, s);
    if (client.retryer.empty()) continue;
    join(services_ + g, services_ + by_retryer.try_emplace(client.retryer, g).first->second);
  }
  for (const CallSpec& call : scenario.calls) join(services_ + call.client, call.caller);
  for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = root(i);
}

std::vector<Disturbance> ReachParts::disturbances_in(std::size_t part) const {
  return disturbances_where(
      scenario_, [&](const FaultSpec& fault) { return of_service(fault.service) == part; },
      [&](std::size_t group) { return of_group(group) == part; });
}

namespace {

/// The disturbances that may reach the group; all disturbances if none does, or no group is given.
std::vector<Disturbance> disturbances_for(const Scenario& scenario,
                                          std::optional<std::size_t> group) {
  if (group && scenario.services.size() > 1 && !disturbances(scenario).empty()) {
    const ReachParts parts(scenario);
    std::vector<Disturbance> own = parts.disturbances_in(parts.of_group(*group));
    if (!own.empty()) return own;
  }
  return disturbances(scenario);
}

}  // namespace

std::vector<Trigger> triggers(const Scenario& scenario) {
  std::vector<Trigger> all;
  const Time end = Time::zero() + scenario.duration;
  const auto add = [&](Time start, Duration length) {
    if (start < end && length > Duration::zero()) all.push_back({start, start + length});
  };
  for (const FaultSpec& f : scenario.faults) add(f.start, f.duration);
  for (const ClientSpec& client : scenario.clients) {
    for (const SurgeSpec& s : client.arrivals.surges) add(s.start, s.duration);
  }
  std::ranges::sort(all, {}, [](const Trigger& t) { return std::pair(t.start, t.end); });
  return all;
}

BinRange window_bins(const RunResult& run, std::span<const ClientBin> bins) {
  if (run.interval <= Duration::zero()) return {};
  BinRange range;
  range.last = std::min(bins_ended_by(run.window_end, run.interval), bins.size());
  range.first = std::min(first_bin_at_or_after(run.window_start, run.interval), range.last);
  return range;
}

BinRange count_bins(const RunResult& run, Time from, Time to) {
  if (run.count_width <= Duration::zero() || run.clients.empty()) return {};
  BinRange range;
  range.last = std::min(bins_ended_by(std::min(to, run.window_end), run.count_width),
                        run.clients.front().counts.size());
  range.first = std::min(first_bin_at_or_after(from, run.count_width), range.last);
  return range;
}

namespace {

/// The assumed rate of closed loops if none was measured: half of what they would make at servers
/// without any queue.
double unknown_loop_rate(const Scenario& scenario, std::optional<std::size_t> group) {
  const flow::Demand demand =
      flow::demand_of(scenario, flow::Attempts::kFirst, {.loops_wait = true});
  double rate = 0;
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const bool closed = scenario.clients[c].arrivals.process == ArrivalProcess::kClosed;
    if (group ? c != *group : !closed) continue;
    if (std::isfinite(demand.groups[c].requests)) rate += demand.groups[c].requests / 2;
  }
  return rate;
}

}  // namespace

Course course_of(const Scenario& scenario, const RunResult& run, std::optional<std::size_t> group) {
  const std::size_t known = std::min(scenario.clients.size(), run.clients.size());
  const auto is_closed = [&](std::size_t c) {
    return c < known && scenario.clients[c].arrivals.process == ArrivalProcess::kClosed;
  };
  bool any = false, all = true;
  for (std::size_t c = 0; c < known; ++c) {
    if (scenario.clients[c].makes_calls()) continue;
    any = any || is_closed(c);
    all = all && is_closed(c);
  }
  Course course;
  course.group = group;
  const auto add = [&](std::size_t c, bool in_loop) {
    const std::vector<RequestCounts>& own = run.clients[c].counts;
    course.counts.resize(std::max(course.counts.size(), own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) course.counts[i].merge(own[i]);
    if (!in_loop) return;
    course.loops.resize(std::max(course.loops.size(), own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      course.loops[i].requests += own[i].requests;
      course.loops[i].ended += own[i].successes + own[i].failures;
    }
  };
  if (group) {
    const bool calls = *group < known && scenario.clients[*group].makes_calls();
    add(*group, is_closed(*group) || (calls && any && all));
  } else {
    for (std::size_t c = 0; c < run.clients.size(); ++c) {
      if (c < known && scenario.clients[c].makes_calls()) continue;
      add(c, is_closed(c));
    }
  }
  if (!course.loops.empty()) course.loops.resize(course.counts.size());
  return course;
}

Before before(const Scenario& scenario, const RunResult& run, const Course& course,
              Time trigger_start) {
  Before before;
  before.bins = count_bins(run, run.window_start, trigger_start);
  std::uint64_t successes = 0, of_loops = 0;
  for (std::size_t i = before.bins.first; i < before.bins.last; ++i) {
    const RequestCounts& c = course.counts[i];
    successes += c.successes;
    before.ended += std::uint64_t{c.successes} + c.failures;
    if (!course.loops.empty()) of_loops += course.loops[i].ended;
  }
  if (before.ended > 0) {
    before.success_rate = static_cast<double>(successes) / static_cast<double>(before.ended);
  }
  if (of_loops > 0) {
    const auto ended = static_cast<double>(of_loops);
    const auto bins = static_cast<double>(before.bins.last - before.bins.first);
    before.loop_rate = ended / bins;
    before.sure_loop_rate = std::max(ended - kDeviations * std::sqrt(ended), 0.0) / bins;
  } else if (!course.loops.empty()) {
    before.loop_rate = unknown_loop_rate(scenario, course.group) * run.count_width.in_seconds();
    before.sure_loop_rate = before.loop_rate;
  }
  return before;
}

Recovery recovery_after(const Scenario& scenario, const RunResult& run, const Course& course,
                        Time trigger_end, Time horizon, const Before& before) {
  const BinRange range = count_bins(run, trigger_end, horizon);
  if (trigger_end >= horizon || range.first >= range.last) return {};
  const auto seconds_after = [&](std::size_t bin) {
    if (bin <= range.first) return 0.0;
    const Duration after = run.count_width * static_cast<std::int64_t>(bin);
    return static_cast<double>(after.count() - trigger_end.count()) / 1e9;
  };
  const Watch watch(scenario, run, course, range, before);
  std::optional<Recovery::Relapse> relapse;
  for (std::size_t start = range.first; start < range.last;) {
    const Watch::Finding found = watch.from(start);
    if (found.start >= range.last) break;
    if (!found.held) {
      return {std::nullopt, seconds_after(found.moment), relapse, found.due_since,
              watch.due(),  watch.due_to_tell()};
    }
    const std::optional<std::size_t> again = watch.collapse_from(found.end);
    if (!again) return {.seconds = seconds_after(found.moment), .relapse = relapse};
    if (!relapse) relapse = {seconds_after(found.moment), seconds_after(*again)};
    start = *again + 1;
  }
  return {std::nullopt, seconds_after(range.last), relapse, 0, watch.due(), watch.due_to_tell()};
}

std::optional<Time> end_of_disturbances(const Scenario& scenario,
                                        std::optional<std::size_t> group) {
  std::optional<Time> last;
  for (const Disturbance& d : disturbances_for(scenario, group)) {
    last = std::max(last.value_or(d.end), d.end);
  }
  return last;
}

std::optional<Recovery> final_recovery(const Scenario& scenario, const RunResult& run,
                                       std::optional<std::size_t> group) {
  const std::vector<Disturbance> all = disturbances_for(scenario, group);
  if (all.empty()) return std::nullopt;
  Time last_end;
  for (const Disturbance& d : all) last_end = std::max(last_end, d.end);
  const Course course = course_of(scenario, run, group);
  return recovery_after(scenario, run, course, last_end, run.window_end,
                        before(scenario, run, course, all.front().start));
}

std::optional<Time> back_after(const Scenario& scenario, const RunResult& run,
                               std::optional<std::size_t> group, Time from, Time to, Time horizon) {
  const std::vector<Disturbance> all = disturbances_for(scenario, group);
  std::optional<Time> last_end;
  for (const Disturbance& d : all) {
    if (d.start < to && d.end > from) last_end = std::max(last_end.value_or(d.end), d.end);
  }
  if (!last_end) return to;
  const Course course = course_of(scenario, run, group);
  const Recovery recovery = recovery_after(scenario, run, course, *last_end, horizon,
                                           before(scenario, run, course, all.front().start));
  if (!recovery.seconds) return std::nullopt;
  return *last_end + Duration::from_seconds(*recovery.seconds);
}

bool can_confirm_recovery(const Scenario& scenario) {
  Time last_end;
  for (const Trigger& trigger : triggers(scenario)) last_end = std::max(last_end, trigger.end);
  return last_end == Time::zero() ||
         last_end + scenario.recovery.hold <= Time::zero() + scenario.duration;
}

std::optional<Disturbed> disturbed(const Scenario& scenario, const RunResult& run,
                                   std::optional<std::size_t> group) {
  const std::vector<Trigger> all = triggers(scenario);
  if (all.empty() || run.count_width <= Duration::zero()) return std::nullopt;
  const std::vector<RequestCounts> counts = course_of(scenario, run, group).counts;
  Disturbed sum;
  std::size_t next = 0;
  for (const Trigger& trigger : all) {
    const std::size_t last =
        std::min(first_bin_at_or_after(trigger.end, run.count_width), counts.size());
    std::size_t i = std::max(next, bins_ended_by(trigger.start, run.count_width));
    for (; i < last; ++i) {
      sum.requests += counts[i].requests;
      sum.failed += counts[i].failed;
    }
    next = std::max(next, last);
  }
  return sum;
}

// --- Storms and twins ----------------------------------------------------------------------------

namespace {

double seconds(Duration d) { return d.in_seconds(); }

/// Requests that the groups submit in the count bins [first, last). The calls of a service follow
/// from the requests that it gets, not from each attempt: the work of retries is not offered load.
class OfferedRequests {
 public:
  OfferedRequests(const Scenario& scenario, const RunResult& run, BinRange bins)
      : scenario_(scenario),
        requests_(run.clients.size()),
        callers_(run.services.size()),
        calls_(scenario),
        per_attempt_(flow::calls_per_attempt(scenario)) {
    StopCounter<> stop;
    for (std::size_t c = 0; c < run.clients.size(); ++c) {
      stop.count();
      for (const auto& [s, share] : service_shares(scenario.clients[c])) {
        callers_[s].push_back({c, share});
      }
      if (scenario.clients[c].makes_calls()) continue;
      requests_[c] = own_requests(run.clients[c].counts, bins);
    }
    for (const std::size_t s : flow::callers_first(scenario)) add_calls(s);
  }

  /// Calls `function(group, requests)` for each group that calls a service, with its requests to
  /// it.
  template <class Function>
  void for_each_caller(std::size_t service, Function function) const {
    for (const auto& [c, share] : callers_[service]) function(c, requests_[c] * share);
  }

 private:
  struct Caller {
    std::size_t group;
    double share;  // share of the group's requests
  };

  static double own_requests(const std::vector<RequestCounts>& counts, BinRange bins) {
    double requests = 0;
    for (std::size_t i = bins.first; i < std::min(bins.last, counts.size()); ++i) {
      requests += static_cast<double>(counts[i].requests);
    }
    return requests;
  }

  void add_calls(std::size_t service) {
    if (calls_.calls_of(service).empty()) return;
    double requests = 0;
    for (const auto& [c, share] : callers_[service]) requests += share * requests_[c];
    requests *= 1 - flow::free_error_share(scenario_.services[service]);
    for (const std::size_t c : calls_.groups_of(service)) requests_[c] = requests * per_attempt_[c];
  }

  const Scenario& scenario_;
  std::vector<double> requests_;              // requests by group
  std::vector<std::vector<Caller>> callers_;  // callers of each service
  flow::CallGraph calls_;
  std::vector<double> per_attempt_;  // calls per attempt, by group
};

bool has_capacity(const ServiceResult& service) {
  return !service.unlimited && service.nominal_servers > 0;
}

double offered_work_at(const Scenario& scenario, const flow::Demand& demand,
                       const OfferedRequests& offered, const RunResult& run, std::size_t s,
                       BinRange bins) {
  if (bins.last <= bins.first) return 0;
  double work = 0;
  offered.for_each_caller(s, [&](std::size_t c, double requests) {
    work += requests * flow::held_seconds_at(scenario, demand, scenario.clients[c], s);
  });
  const double time = static_cast<double>(bins.last - bins.first) * seconds(run.count_width);
  return work / (static_cast<double>(run.services[s].nominal_servers) * time);
}

/// Time to drain, Q E[S] / (c (1 - rho)), with the queue Q at the start of count bin `bin`.
double drain_seconds(const RunResult& run, std::size_t s, std::size_t bin, double held_s,
                     double rho) {
  const ServiceResult& service = run.services[s];
  if (rho >= 1 || bin >= service.queued.size()) return 0;
  return static_cast<double>(service.queued[bin]) * held_s /
         (static_cast<double>(service.nominal_servers) * (1 - rho));
}

/// Successes per attempt that ended in the bins; 1 if none did.
double attempt_success_rate(std::span<const RequestCounts> counts, BinRange bins) {
  std::uint64_t successes = 0, failures = 0;
  for (std::size_t i = bins.first; i < bins.last; ++i) {
    successes += counts[i].successes;
    failures += counts[i].failed_attempts;
  }
  const double ended = static_cast<double>(successes + failures);
  return ended > 0 ? static_cast<double>(successes) / ended : 1;
}

}  // namespace

double offered_work(const Scenario& scenario, const RunResult& run, Time from, Time to) {
  const BinRange bins = count_bins(run, from, to);
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  const OfferedRequests offered(scenario, run, bins);
  double most = 0;
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (has_capacity(run.services[s])) {
      most = std::max(most, offered_work_at(scenario, demand, offered, run, s, bins));
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

namespace {

/// A retry quota that lasts for so many times the patience is not waited for.
constexpr double kFarOff = 10;

/// The patience X if there is no backlog.
double least_patience_s(const Scenario& scenario, const Trigger& trigger) {
  const double window_s = std::max(seconds(amplification_span(scenario, std::nullopt)),
                                   seconds(scenario.duration) / 1000);
  return std::max(20 * window_s, 10 * seconds(trigger.end - trigger.start));
}

/// The share of its group's retries that a quota which is dry refuses.
constexpr double kDry = 0.1;

/// From when on, s after the start of `range`, the retry quota of a group is dry until the range
/// ends; empty if it is not. Seen in bins of the time series: from the end of the first that is
/// dry, or all along if that is the first of the range.
std::optional<double> quota_dry_from_s(const ClientResult& result, const RunResult& run,
                                       BinRange range) {
  constexpr double kFewest = 10;  // refusals
  const auto edge = [&](std::size_t count_bin) {
    return Time::zero() + run.count_width * static_cast<std::int64_t>(count_bin);
  };
  const std::size_t first = first_bin_at_or_after(edge(range.first), run.interval);
  std::size_t i = std::min(bins_ended_by(edge(range.last), run.interval), result.bins.size());
  const auto is_dry = [](double denied, double retries) {
    return denied > 0 && denied >= kDry * (denied + retries);
  };
  std::optional<Time> from;
  double denied = 0, retries = 0;
  while (i-- > first) {
    const auto its_denied = static_cast<double>(result.bins[i].flow.quota_denied);
    const auto its_retries = static_cast<double>(result.bins[i].flow.retries);
    denied += its_denied;
    retries += its_retries;
    if (denied < kFewest || !is_dry(its_denied, its_retries) || !is_dry(denied, retries)) continue;
    const Time its_end = Time::zero() + run.interval * static_cast<std::int64_t>(i + 1);
    from = i == first ? edge(range.first) : its_end;
  }
  if (!from) return {};
  return seconds(*from - edge(range.first));
}

/// The time after `range` until the retry quota of a group runs dry, if it goes on to take as many
/// tokens as in the second half of `range`; empty if it gains more than it loses. Each success is
/// taken to give back all that it can.
std::optional<double> quota_lasts_s(const ClientSpec& client, const ClientResult& result,
                                    const RunResult& run, BinRange range) {
  const QuotaRules& quota = client.retry.quota;
  const double cost = std::max(quota.cost, quota.timeout_cost);
  const std::size_t middle = range.first + (range.last - range.first) / 2;
  double used = 0, late = 0;
  for (std::size_t i = range.first; i < std::min(range.last, result.counts.size()); ++i) {
    const RequestCounts& c = result.counts[i];
    const double retries = std::max(0.0, static_cast<double>(c.failed_attempts) - c.failures);
    const double refunds =
        quota.refund == Refund::kNone ? 0 : std::min<double>(c.successes, retries);
    const double net = (retries - refunds) * cost - c.successes * quota.credit;
    used += net;
    if (i >= middle) late += net;
  }
  const double buckets = quota.scope == RetryScope::kGroup ? 1 : client.count;
  const double late_s = seconds(run.count_width) * static_cast<double>(range.last - middle);
  const double per_s = late / late_s - quota.refill_rate * buckets;
  if (per_s <= 0) return {};
  const double full = quota.capacity * buckets;
  // Some clients still have tokens when most have none.
  return std::max(kDry * full, full - used) / per_s;
}

/// When a state that lasts because the retry quotas pay for it will have ended, s after the start
/// of `range`: once they are dry the system has `patience_s`, as after any disturbance. Zero where
/// no quota is going to be dry soon, or where one is and the state has not lasted for so long.
double ends_with_quotas_s(const Scenario& scenario, const RunResult& run, BinRange range,
                          double lasted_s, double patience_s) {
  if (range.last <= range.first) return 0;
  const double watched_s = seconds(run.count_width) * static_cast<double>(range.last - range.first);
  double ends_s = 0;
  for (std::size_t c = 0; c < run.clients.size(); ++c) {
    const ClientSpec& client = scenario.clients[c];
    if (!client.retry.quota.enabled || client.retry.max_attempts < 2) continue;
    if (const auto dry_s = quota_dry_from_s(run.clients[c], run, range)) {
      if (lasted_s > patience_s) ends_s = std::max(ends_s, *dry_s + patience_s);
    } else if (const auto more_s = quota_lasts_s(client, run.clients[c], run, range);
               more_s && *more_s <= kFarOff * patience_s) {
      ends_s = std::max(ends_s, watched_s + 2 * *more_s);
    }
  }
  return ends_s;
}

/// The last disturbance; disturbances that overlap are one.
std::optional<Trigger> last_disturbance(const Scenario& scenario) {
  std::optional<Trigger> last;
  for (const Trigger& t : triggers(scenario)) {
    const bool overlaps = last && t.start <= last->end;
    last = overlaps ? Trigger{last->start, std::max(last->end, t.end)} : t;
  }
  return last;
}

}  // namespace

Aftermath aftermath_of(const Scenario& scenario, const RunResult& run, const Trigger& trigger,
                       Time horizon) {
  Aftermath a;
  a.trigger = trigger;
  a.horizon = horizon;
  const std::vector<Trigger> all = triggers(scenario);
  const Time first = all.empty() ? trigger.start : all.front().start;
  const Course course = course_of(scenario, run, std::nullopt);
  a.before = before(scenario, run, course, first);
  a.attempt_success_rate = attempt_success_rate(course.counts, a.before.bins);
  a.recovery = recovery_after(scenario, run, course, trigger.end, horizon, a.before);
  // The load is measured only up to the next disturbance, which changes it.
  const BinRange after = count_bins(run, trigger.end, horizon);
  a.offered_work = offered_work(scenario, run, trigger.end, horizon);
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  const OfferedRequests offered(scenario, run, after);
  for (std::size_t s = 0; s < run.services.size(); ++s) {
    if (!has_capacity(run.services[s])) continue;
    const double rho = offered_work_at(scenario, demand, offered, run, s, after);
    const double held_s = demand.services[s].held_time;
    a.predicted_drain_s =
        std::max(a.predicted_drain_s, drain_seconds(run, s, after.first, held_s, rho));
  }
  a.patience_s = std::max(least_patience_s(scenario, trigger), 10 * a.predicted_drain_s);
  if (!a.recovery.seconds) {
    const double ends_s =
        ends_with_quotas_s(scenario, run, after, a.recovery.not_before_s, a.patience_s);
    a.waits_for_quotas = ends_s > a.patience_s;
    a.patience_s = std::max(a.patience_s, ends_s);
  }
  return a;
}

std::optional<Aftermath> final_aftermath(const Scenario& scenario, const RunResult& run) {
  const std::optional<Trigger> last = last_disturbance(scenario);
  if (!last) return std::nullopt;
  return aftermath_of(scenario, run, *last, run.window_end);
}

std::optional<double> least_duration_to_judge_s(const Scenario& scenario) {
  const std::optional<Trigger> last = last_disturbance(scenario);
  if (!last) return std::nullopt;
  return last->end.in_seconds() + least_patience_s(scenario, *last) +
         scenario.recovery.hold.in_seconds();
}

namespace {

/// See `duration_to_judge_s`; `watched_s` is the time in which `recovery` was looked for.
double duration_to_judge_s(const Scenario& scenario, Time trigger_end, double patience_s,
                           const Recovery& recovery, double watched_s) {
  const double hold_s = scenario.recovery.hold.in_seconds();
  // As many successes have to be due as tell a recovery from chance, twice over (`Watch::from`).
  const double to_confirm_s =
      recovery.due > 0 ? 2 * recovery.due_to_tell / recovery.due * watched_s : 0.0;
  return trigger_end.in_seconds() + patience_s + std::max(hold_s, to_confirm_s);
}

}  // namespace

double duration_to_judge_s(const Scenario& scenario, const Aftermath& aftermath) {
  return duration_to_judge_s(scenario, aftermath.trigger.end, aftermath.patience_s,
                             aftermath.recovery,
                             seconds(aftermath.horizon - aftermath.trigger.end));
}

std::vector<double> durations_to_judge_s(const Scenario& scenario, const RunResult& run,
                                         std::span<const std::optional<double>> not_before_s) {
  std::vector<double> durations;
  if (std::ranges::none_of(not_before_s, [](const auto& s) { return s.has_value(); })) return {};
  const std::optional<Aftermath> aftermath = final_aftermath(scenario, run);
  if (!aftermath) return {};
  const bool can_confirm = can_confirm_recovery(scenario);
  bool any = false;
  for (std::size_t c = 0; c < not_before_s.size(); ++c) {
    double& duration = durations.emplace_back(0);
    if (!not_before_s[c] || (can_confirm && *not_before_s[c] > aftermath->patience_s)) continue;
    any = true;
    if (c + 1 == not_before_s.size()) {
      duration = duration_to_judge_s(scenario, *aftermath);
      continue;
    }
    const Time end = end_of_disturbances(scenario, c).value_or(aftermath->trigger.end);
    const Recovery recovery = final_recovery(scenario, run, c).value_or(Recovery());
    duration = duration_to_judge_s(scenario, end, aftermath->patience_s, recovery,
                                   seconds(run.window_end - end));
  }
  if (!any) durations.clear();
  return durations;
}

std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& twin,
                                    const Aftermath& aftermath) {
  Before before = aftermath.before;
  before.success_rate = std::min(before.success_rate, aftermath.attempt_success_rate);
  return recovery_after(scenario, twin, course_of(scenario, twin, std::nullopt),
                        aftermath.trigger.end, aftermath.horizon, before)
      .seconds;
}

std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& run,
                                    const RunResult& twin, const Aftermath& aftermath,
                                    std::size_t group) {
  const Course course = course_of(scenario, run, group);
  const std::vector<Trigger> all = triggers(scenario);
  Before normal =
      before(scenario, run, course, all.empty() ? aftermath.trigger.start : all.front().start);
  normal.success_rate =
      std::min(normal.success_rate, attempt_success_rate(course.counts, normal.bins));
  return recovery_after(scenario, twin, course_of(scenario, twin, group), aftermath.trigger.end,
                        aftermath.horizon, normal)
      .seconds;
}

StormVerdict with_twin(StormVerdict verdict, const Aftermath& aftermath,
                       std::optional<double> twin_recovery_s) {
  const bool by_retries =
      aftermath.offered_work < 1 && twin_recovery_s && *twin_recovery_s <= aftermath.patience_s;
  return verdict == StormVerdict::kSustained && by_retries ? StormVerdict::kMetastable : verdict;
}

// --- Load that rises and falls -------------------------------------------------------------------

namespace {

/// Counts of one client group, or of all, over some bins.
ClientFlow flow_of(std::span<const ClientBin> bins, std::size_t from, std::size_t to) {
  ClientFlow sum;
  for (std::size_t i = from; i < std::min(to, bins.size()); ++i) sum.merge(bins[i].flow);
  return sum;
}

/// Whole bins inside the second half of a step.
BinRange bins_of_step(const LoadRamp& ramp, const RunResult& run, std::size_t step) {
  const std::int64_t width = run.interval.count(), dwell = ramp.dwell.count();
  const auto index = static_cast<std::int64_t>(step);
  return {static_cast<std::size_t>((index * dwell + dwell / 2 + width - 1) / width),
          static_cast<std::size_t>((index + 1) * dwell / width)};
}

/// Requests of closed loops per second at each step.
std::vector<double> loop_rates(const Scenario& scenario, const LoadRamp& ramp,
                               const RunResult& run) {
  std::vector<double> rates(ramp.steps());
  for (std::size_t step = 0; step < rates.size(); ++step) {
    const auto [from, to] = bins_of_step(ramp, run, step);
    if (to <= from) continue;
    std::uint64_t requests = 0;
    for (std::size_t c = 0; c < std::min(scenario.clients.size(), run.clients.size()); ++c) {
      if (scenario.clients[c].arrivals.process != ArrivalProcess::kClosed) continue;
      requests += flow_of(run.clients[c].bins, from, to).requests;
    }
    rates[step] = static_cast<double>(requests) /
                  (static_cast<double>(to - from) * run.interval.in_seconds());
  }
  return rates;
}

StepMeasurement measure_step(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run,
                             std::size_t step) {
  const auto [from, to] = bins_of_step(ramp, run, step);
  StepMeasurement m;
  if (to <= from) return m;
  const double seconds = static_cast<double>(to - from) * run.interval.in_seconds();
  const ClientFlow flow = flow_of(run.all_bins, from, to);
  m.offered_load = static_cast<double>(flow.requests) / seconds;
  m.goodput = static_cast<double>(flow.successes) / seconds;
  m.attempt_rate = static_cast<double>(flow.arrivals) / seconds;
  m.offered_work =
      offered_work(scenario, run, Time::zero() + run.interval * static_cast<std::int64_t>(from),
                   Time::zero() + run.interval * static_cast<std::int64_t>(to));
  return m;
}

void find_tip_and_recovery(const LoadRamp& ramp, RampRun& result) {
  const std::size_t n = ramp.loads.size();
  for (std::size_t i = 0; i < n && !result.tip_load; ++i) {
    if (!result.steps[i].down) continue;
    result.tip_load = ramp.load(i);
    result.tip_work = result.steps[i].offered_work;
  }
  if (!result.tip_load) return;
  for (std::size_t i = ramp.steps(); i-- > n && !result.steps[i].down;) {
    result.recover_load = ramp.load(i);
    result.recover_work = result.steps[i].offered_work;
  }
}

/// Finds the area of the hysteresis loop, by the trapezoidal rule.
void find_loop(const LoadRamp& ramp, RampRun& result) {
  const std::size_t n = ramp.loads.size();
  double up = 0, down = 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double width = ramp.loads[i + 1] - ramp.loads[i];
    const auto& back = result.steps;
    up += width * (back[i].goodput + back[i + 1].goodput) / 2;
    const std::size_t mirror = ramp.steps() - 1 - i;
    down += width * (back[mirror].goodput + back[mirror - 1].goodput) / 2;
  }
  result.loop_area = up - down;
  result.loop_share = up > 0 ? result.loop_area / up : 0;
}

}  // namespace

RampRun measure_ramp(const Scenario& scenario, const LoadRamp& ramp, const RunResult& run) {
  RampRun result;
  for (std::size_t step = 0; step < ramp.steps(); ++step) {
    result.steps.push_back(measure_step(scenario, ramp, run, step));
  }
  if (result.steps.empty()) return result;
  const StepMeasurement& first = result.steps.front();
  const double success_rate = first.offered_load > 0 ? first.goodput / first.offered_load : 1;
  // Closed loops beside the ramp are due at every step the requests that they make at the first.
  const std::vector<double> loops = loop_rates(scenario, ramp, run);
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    StepMeasurement& m = result.steps[i];
    const double missing = std::max(loops.front() - loops[i], 0.0);
    m.down = m.goodput < scenario.recovery.share * success_rate * (m.offered_load + missing);
  }
  find_tip_and_recovery(ramp, result);
  find_loop(ramp, result);
  return result;
}

}  // namespace retrysim::stats
