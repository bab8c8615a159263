// Runs of the fluid: width of bins, sums of flows, the moment of recovery, and the runs that ask
// whether a service stays down.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid/run.hpp"

#include <retrysim/prediction.hpp>

#include "kernel/stop.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/system.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace retrysim::prediction {

namespace {

double longest_timeout(const FluidSystem& system) {
  double longest = 0;
  for (const FluidClients& g : system.groups) longest = std::max(longest, g.timeout);
  return longest;
}

double longest_round_trip(const FluidSystem& system) {
  double longest = 0;
  for (const FluidClients& g : system.groups) longest = std::max(longest, g.round_trip);
  double fault = 0;
  for (const FluidStretch& s : system.stretches) fault = std::max(fault, s.latency);
  return longest + fault;
}

}  // namespace

Runner::Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps)
    : system_(system),
      step_(step),
      steps_(steps),
      service_(system, step, steps),
      sent_(system.groups.size()) {
  const double longest = memory();
  const auto bins =
      static_cast<std::size_t>(std::min(static_cast<double>(steps), longest / step) + 4);
  groups_.reserve(system.groups.size());
  for (const FluidClients& g : system.groups) {
    stop_point();
    groups_.emplace_back(g, scenario.clients[g.client],
                         arrival_rates(scenario, g.client, step, steps), bins, step);
  }
}

std::vector<FluidGroup> Runner::groups() const {
  std::vector<FluidGroup> result;
  for (const GroupFlows& g : groups_) result.push_back(g.books());
  return result;
}

double Runner::memory() const {
  if (system_.shortest_timeout == kForever) return kForever;
  return longest_timeout(system_) + system_.most_backoff + longest_round_trip(system_);
}

bool Runner::is_strained() const {
  const std::vector<Shares>& all = service_.shares();
  return std::any_of(all.begin(), all.end(), [](const Shares& s) { return s.strained; });
}

bool Runner::lacks_capacity() const {
  constexpr double kMany = 0.01;
  const std::vector<Shares>& all = service_.shares();
  return std::any_of(all.begin(), all.end(), [](const Shares& s) { return s.lack > kMany; });
}

bool Runner::all_fail() const {
  const std::vector<Shares>& all = service_.shares();
  return std::all_of(all.begin(), all.end(), [](const Shares& s) { return s.success == 0; });
}

FluidSample Runner::advance(std::size_t k) {
  const double now = static_cast<double>(k) * step_;
  const FluidBin bin{.number = k,
                     .step = step_,
                     .has_begun = now >= system_.warmup,
                     .is_over = now >= system_.duration};
  const std::vector<Shares>& shares = service_.shares();
  service_.begin(now);
  FluidSample sample;
  by_loops_ = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const double offered = sample.offered;
    groups_[i].send(bin, shares[i].throttled, sample);
    sent_[i] = groups_[i].sent();
    if (system_.groups[i].closed) by_loops_ += sample.offered - offered;
  }
  service_.serve(sent_);
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].settle(bin, shares[i], sample);
  for (const GroupFlows& g : groups_) sample.retrying += g.retrying();
  sample.backlog = service_.backlog();
  return sample;
}

// --- One run -------------------------------------------------------------------------------------

namespace {

/// Cumulative flows at the ends of bins.
struct Sums {
  std::vector<double> offered, good;
  std::vector<double> by_loops = {};  // the part of `offered` from closed loops
};

bool has_loops(const FluidSystem& system) {
  return std::ranges::any_of(system.groups, &FluidClients::closed);
}

/// Requests per second that closed loops are due in the bins `first` to `before`, in which nothing
/// disturbs: the requests that they make then, or half of what they would make at servers without a
/// queue.
double loop_rate(const FluidSystem& system, const Sums& sums, std::size_t first, std::size_t before,
                 double step) {
  if (before > first) {
    return (sums.by_loops[before] - sums.by_loops[first]) /
           (static_cast<double>(before - first) * step);
  }
  double rate = 0;
  for (const FluidClients& g : system.groups) {
    const double round = g.think_mean + g.service_time + g.round_trip;
    if (g.closed && round > 0) rate += g.slots / round / 2;
  }
  return rate;
}

/// Whether fewer than half of the requests succeed in the last quarter.
bool is_down(const FluidSystem& system, const Sums& sums, double step) {
  const auto bin = [&](double t) {
    return std::min(sums.good.size() - 1, static_cast<std::size_t>(std::max(0.0, t) / step));
  };
  const double from = std::min(system.disturbance_end, system.duration);
  const std::size_t last = bin(system.duration), first = bin(system.duration * 0.75 + from * 0.25);
  const double good = sums.good[last] - sums.good[first];
  // A closed loop whose clients are all stuck makes no requests.
  if (has_loops(system) && good <= 0 && last > first) return true;
  return good < 0.5 * (sums.offered[last] - sums.offered[first]);
}

/// The recovery time, s: when the shortfall of successes stops growing for the scenario's hold;
/// empty if it does not. Closed loops ask for little while they wait: they are due what they asked
/// for before.
std::optional<double> recovery_time(const Scenario& scenario, const FluidSystem& system,
                                    const Sums& sums, double step) {
  const auto bin = [&](double t) {
    return std::min(sums.good.size() - 1, static_cast<std::size_t>(std::max(0.0, t) / step));
  };
  const auto between = [](const std::vector<double>& sum, std::size_t a, std::size_t b) {
    return sum[b] - sum[a];
  };
  const std::size_t first = bin(system.warmup), before = bin(system.first_disturbance);
  const std::size_t off = bin(system.disturbance_end), end = bin(system.duration);
  const double due = between(sums.offered, first, before);
  const double normal = before > first && due > 0 ? between(sums.good, first, before) / due : 1;
  // If next to nothing succeeded before, there is no state to recover to.
  constexpr double kSomething = 0.01;
  if (normal < kSomething) return std::nullopt;
  // A collapse after the hold is not a recovery either.
  constexpr double kUp = 0.5;
  if (normal >= kUp && is_down(system, sums, step)) return std::nullopt;
  const double bar = scenario.recovery.share * std::min(1.0, normal);
  const double by_loops = loop_rate(system, sums, first, before, step) * step;
  const auto shortfall = [&](std::size_t k) {
    const double loops = static_cast<double>(k - off) * by_loops - sums.by_loops[k];
    return bar * (sums.offered[k] + loops) - sums.good[k];
  };
  const auto hold = static_cast<std::size_t>(scenario.recovery.hold.in_seconds() / step);
  const double margin = 1e-9 * std::max(1.0, sums.offered.back());
  std::size_t at = off;
  for (std::size_t k = off; k <= end; ++k) {
    if (shortfall(k) > shortfall(at) + margin) at = k;
    if (k >= at + hold) return static_cast<double>(at - off) * step;
  }
  return std::nullopt;
}

/// Detects whether the present state will last for ever.
class Forever {
 public:
  Forever(const Scenario& scenario, const FluidSystem& system, const Runner& runner)
      : runner_(runner), memory_(runner.memory()) {
    from_ = std::max(system.disturbance_end, system.stretches.back().start);
    for (const FluidClients& g : system.groups) {
      const ClientSpec& c = scenario.clients[g.client];
      using Process = ArrivalProcess;
      const Process process = c.arrivals.process;
      const bool constant = !g.closed && !c.arrivals.profile && process != Process::kTrace &&
                            process != Process::kOnce;
      // Clients' limiters, throttles and quotas change state over time, and may change the outcome.
      const bool gate = c.retry.rate_limit.enabled || c.retry.throttle.enabled;
      may_stay_up_ = may_stay_up_ && constant && !gate;
      may_stay_down_ = may_stay_down_ && constant && !gate && !c.retry.quota.enabled;
      attempts_ = std::max(attempts_, static_cast<double>(g.streams));
    }
    if (memory_ == kForever) may_stay_up_ = may_stay_down_ = false;
  }

  /// After the bin that ends at `now`: true if it is down for good, false if it is up.
  std::optional<bool> down(double now, double backlog) {
    if (now < from_ || !(may_stay_up_ || may_stay_down_)) return std::nullopt;
    const bool strained = runner_.is_strained(), failing = runner_.all_fail();
    const bool first = !begun_;
    begun_ = true;
    if (first || strained) well_since_ = now, backlog_then_ = backlog;
    if (first || !failing) failing_since_ = now;
    if (may_stay_up_ && !strained && !failing && now - well_since_ > memory_ &&
        backlog <= backlog_then_) {
      return false;
    }
    if (!may_stay_down_ || !failing) return std::nullopt;
    // After so long all attempts come at constant rates.
    const double filled = failing_since_ + attempts_ * memory_;
    if (now < filled) {
      backlog_filled_ = backlog;
      return std::nullopt;
    }
    if (now > filled + memory_ && backlog >= backlog_filled_) return true;
    return std::nullopt;
  }

 private:
  const Runner& runner_;
  double memory_, from_ = 0, attempts_ = 1;
  bool may_stay_up_ = true, may_stay_down_ = true, begun_ = false;
  double well_since_ = 0, failing_since_ = 0;
  double backlog_then_ = 0, backlog_filled_ = 0;
};

}  // namespace

Ending ending_of(const Scenario& scenario, const FluidSystem& system, double step) {
  const auto steps = static_cast<std::size_t>(std::max(1.0, std::ceil(system.duration / step)));
  Runner runner(scenario, system, step, steps);
  Forever forever(scenario, system, runner);
  const double from =
      0.75 * system.duration + 0.25 * std::min(system.disturbance_end, system.duration);
  double offered = 0, good = 0, backlog = 0, backlog_then = -1;
  std::optional<bool> settled;
  runner.run_until([&](std::size_t k, const FluidSample& now) {
    const double end = static_cast<double>(k + 1) * step;
    if (end > from) {
      if (backlog_then < 0) backlog_then = now.backlog;
      offered += now.offered, good += now.goodput;
    }
    backlog = now.backlog;
    settled = forever.down(end, now.backlog);
    return settled.has_value();
  });
  if (settled) return *settled ? Ending::kDown : Ending::kUp;
  const bool stuck = good <= 0 && has_loops(system);
  if (good >= 0.5 * offered && !stuck) return Ending::kUp;
  constexpr double kLess = 1e-6;  // larger than the rounding of steps
  return backlog < backlog_then * (1 - kLess) ? Ending::kRecovering : Ending::kDown;
}

double fluid_step(const FluidSystem& system, double steps_per_timeout) {
  double step = system.duration / 20'000;
  const bool timeout = system.shortest_timeout != kForever;
  if (timeout) step = system.shortest_timeout / steps_per_timeout;
  for (const FluidClients& g : system.groups) {
    // The rate of a closed loop depends on the answer time.
    const double answer = g.round_trip + g.service_time;
    if ((g.closed || !timeout) && answer > 0) step = std::min(step, answer / 4);
  }
  for (std::size_t i = 1; i < system.stretches.size(); ++i) {
    const double length = system.stretches[i].start - system.stretches[i - 1].start;
    if (length > 0) step = std::min(step, std::max(length / 50, step / 20));
  }
  step = std::max(step, (system.duration + system.drain) / kMaxFluidSteps);
  return timeout ? system.shortest_timeout / std::ceil(system.shortest_timeout / step) : step;
}

FluidRun run_system(const Scenario& scenario, const FluidSystem& system, double step,
                    double series_interval) {
  // What is under way at the end has time to finish, but nothing new comes.
  double finish = 0;
  for (const FluidClients& g : system.groups) {
    const double attempts = std::min<double>(g.attempts, 16);
    finish = std::max(finish, attempts * (std::min(g.timeout, 60.0) + system.most_backoff));
  }
  const double horizon = system.duration + std::min(system.drain, finish);
  const auto steps = static_cast<std::size_t>(std::max(1.0, std::ceil(horizon / step)));
  Runner runner(scenario, system, step, steps);
  FluidRun run;
  run.steps = steps;
  Sums sums;
  sums.offered.reserve(steps + 1);
  sums.good.reserve(steps + 1);
  sums.by_loops.reserve(steps + 1);
  double offered = 0, good = 0, by_loops = 0;
  sums.offered.push_back(0);
  sums.good.push_back(0);
  sums.by_loops.push_back(0);
  const auto per_bin =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(series_interval / step)));
  FluidSample bin;
  runner.run([&](std::size_t k, const FluidSample& now) {
    offered += now.offered * step;
    good += now.goodput * step;
    sums.offered.push_back(offered);
    sums.good.push_back(good);
    by_loops += runner.offered_by_loops() * step;
    sums.by_loops.push_back(by_loops);
    const auto share = 1 / static_cast<double>(per_bin);
    bin.offered += now.offered * share;
    bin.attempts += now.attempts * share;
    bin.goodput += now.goodput * share;
    if ((k + 1) % per_bin != 0) return;
    bin.time = (static_cast<double>(k + 1) - static_cast<double>(per_bin) / 2) * step;
    bin.backlog = now.backlog;
    bin.retrying = now.retrying;
    if (bin.time < system.duration) run.series.push_back(bin);
    bin = {};
  });
  run.groups = runner.groups();
  const double window = system.duration - system.warmup;
  for (FluidGroup& g : run.groups) {
    g.goodput /= window;
    g.attempt_rate /= window;
    g.offered /= window;
  }
  run.backlog = runner.backlog();
  run.disturbed = system.disturbed;
  run.down_at_end = is_down(system, sums, step);
  if (system.disturbed) run.recovery = recovery_time(scenario, system, sums, step);
  return run;
}

}  // namespace retrysim::prediction

namespace retrysim {

FluidRun run_fluid(const Scenario& scenario, std::size_t service, const FluidOptions& options) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  const double steps = std::clamp(options.steps_per_timeout, 50.0, 10'000.0);
  const double interval =
      options.series_interval > 0 ? options.series_interval : scenario.interval.in_seconds();
  return prediction::run_system(scenario, system, prediction::fluid_step(system, steps), interval);
}

}  // namespace retrysim

namespace retrysim::prediction {

// --- Is the service down in the end? -------------------------------------------------------------

namespace {

constexpr double kTimeoutsBefore = 10, kTimeoutsOfPush = 10, kTimeoutsAfter = 80;

/// What times are measured by: the shortest timeout.
double unit_of(const FluidSystem& system) {
  return system.shortest_timeout == kForever ? system.duration / 100 : system.shortest_timeout;
}

bool has_constant_load(const Scenario& scenario, const FluidSystem& system) {
  return std::all_of(system.groups.begin(), system.groups.end(), [&](const FluidClients& g) {
    const ArrivalSpec& a = scenario.clients[g.client].arrivals;
    return !a.profile && a.process != ArrivalProcess::kTrace && a.process != ArrivalProcess::kOnce;
  });
}

constexpr double kStepsPerTimeout = 100;

bool is_down(const Scenario& scenario, std::size_t service) {
  return stays_down(scenario, service, kStepsPerTimeout, kForever);
}

/// Whether the service lacks capacity for most of the last quarter of the run.
bool lacks_capacity(const Scenario& scenario, std::size_t service) {
  const FluidSystem system = fluid_system(scenario, service);
  const double step = fluid_step(system, kStepsPerTimeout);
  const auto steps = static_cast<std::size_t>(std::max(1.0, std::ceil(system.duration / step)));
  Runner runner(scenario, system, step, steps);
  const std::size_t first = steps - steps / 4;
  std::size_t lacking = 0;
  runner.run([&](std::size_t k, const FluidSample&) {
    if (k >= first && runner.lacks_capacity()) ++lacking;
  });
  return 2 * lacking > steps - first;
}

}  // namespace

bool stays_down(Scenario scenario, std::size_t service, double steps_per_timeout,
                double longest_step) {
  constexpr int kLonger = 3;
  constexpr double kFactor = 4;
  for (int i = 0;; ++i) {
    const FluidSystem system = fluid_system(scenario, service);
    const double step = std::min(fluid_step(system, steps_per_timeout), longest_step);
    const Ending ending = ending_of(scenario, system, step);
    if (ending != Ending::kRecovering) return ending == Ending::kDown;
    if (!has_constant_load(scenario, system)) return true;
    if (i == kLonger) return false;
    const double after = system.duration - std::min(system.disturbance_end, system.duration);
    scenario.duration = Duration::from_seconds(system.duration + (kFactor - 1) * after);
  }
}

bool has_disturbance(const Scenario& scenario, std::size_t service) {
  const auto before_end = [&](Time start) { return start < Time::zero() + scenario.duration; };
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service == service && before_end(fault.start)) return true;
  }
  for (const ClientSpec& client : scenario.clients) {
    if (client.service != service) continue;
    for (const SurgeSpec& surge : client.arrivals.surges) {
      if (before_end(surge.start)) return true;
    }
  }
  return false;
}

Scenario calm_scenario(Scenario scenario, std::size_t service) {
  std::erase_if(scenario.faults, [&](const FaultSpec& f) { return f.service == service; });
  for (ClientSpec& c : scenario.clients) {
    if (c.service == service) c.arrivals.surges.clear();
  }
  return long_scenario(std::move(scenario), service);
}

Scenario with_outage(Scenario scenario, std::size_t service, double duration) {
  const Time start =
      Time::zero() + Duration::from_seconds(kTimeoutsBefore * time_unit(scenario, service));
  if (scenario.services[service].servers != ServiceSpec::kUnlimited) {
    FaultSpec outage;
    outage.name = "outage";
    outage.service = service;
    outage.start = start;
    outage.duration = Duration::from_seconds(duration);
    outage.capacity = 0;
    scenario.faults.push_back(outage);
    return scenario;
  }
  constexpr double kFactor = 10;
  for (ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    SurgeSpec surge;
    surge.name = "push";
    surge.start = start;
    surge.duration = Duration::from_seconds(duration);
    surge.factor = kFactor;
    c.arrivals.surges.push_back(surge);
  }
  return scenario;
}

Scenario pushed_scenario(Scenario scenario, std::size_t service) {
  const double duration = kTimeoutsOfPush * time_unit(scenario, service);
  scenario = with_outage(calm_scenario(std::move(scenario), service), service, duration);
  return long_scenario(std::move(scenario), service);
}

double time_unit(const Scenario& scenario, std::size_t service) {
  return unit_of(fluid_system(scenario, service));
}

Scenario long_scenario(Scenario scenario, std::size_t service) {
  const FluidSystem system = fluid_system(scenario, service);
  if (!has_constant_load(scenario, system)) return scenario;
  const double least = std::max(system.disturbance_end, scenario.warmup.in_seconds()) +
                       kTimeoutsAfter * unit_of(system);
  scenario.duration = std::max(scenario.duration, Duration::from_seconds(least));
  return scenario;
}

FluidPhase phase_by_runs(const Scenario& scenario, std::size_t service) {
  const Scenario calm = calm_scenario(scenario, service);
  if (is_down(calm, service)) return FluidPhase::kDead;
  if (lacks_capacity(calm, service)) return FluidPhase::kOverloaded;
  const bool stays_down = is_down(pushed_scenario(scenario, service), service);
  return stays_down ? FluidPhase::kVulnerable : FluidPhase::kSafe;
}

bool is_down_after_disturbances(const Scenario& scenario, std::size_t service) {
  return is_down(long_scenario(scenario, service), service);
}

}  // namespace retrysim::prediction
