// Where the fluid settles under constant load (work of all attempts against capacity, as a function
// of the share of attempts that fail for lack of it), how long a trigger must last to tip it, and
// the phase plane.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include "flow/rates.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/run.hpp"
#include "prediction/fluid/system.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace retrysim {

namespace {

using prediction::kForever;

using prediction::Fate;
using prediction::FluidClients;
using prediction::FluidSystem;

/// The binding limit of a service.
struct Bottleneck {
  double capacity =
      kForever;            // work per second, in seconds of one server; or attempts, `by_number`
  bool by_number = false;  // the number of attempts is limited, whatever their work
  double failure_cost = 0;
  Fate fate = Fate::kTurnedAway;
  bool timeouts = false;  // failures are timeouts of waiting: all or none at a time
};

Bottleneck bottleneck_of(const FluidSystem& system) {
  const FluidClients& g = system.groups.front();
  const double trip = g.round_trip;
  Bottleneck b;
  if (system.servers == kForever) {
    if (system.slowdown > 0 && g.timeout != kForever) {
      // In service Q = rate x time, time = s (1 + slowdown Q): the rate at which time = timeout.
      const double room = g.timeout - trip;
      b = {std::max(0.0, 1 - g.service_time / room) / (system.slowdown * g.service_time), true, 1,
           Fate::kLate, true};
    }
  } else {
    b.capacity = system.servers;
    const double patience = g.timeout - trip - g.service_time;
    if (system.room > patience) {
      b.failure_cost = system.zombies ? 1 : 0;
      b.fate = Fate::kLate;
      b.timeouts = true;
    } else {
      b.failure_cost = g.service_time > 0 ? system.turning_away / g.service_time : 0;
    }
  }
  double throttle = system.throttle_rate;
  if (system.throttle_by_client) throttle *= g.clients;
  if (throttle > 0) {
    const double limit = b.by_number ? b.capacity : b.capacity / g.service_time;
    if (throttle < limit) b = {throttle, true, 0, Fate::kThrottled, false};
  }
  return b;
}

/// The fate of a group's attempts if a share of them fails for lack of capacity.
struct Failing {
  double share = 0;       // share of attempts that fail, for whatever reason
  double again = 0;       // share of attempts that fail so that the client may try again
  double cost = 0;        // mean cost of such a retry, in tokens
  double first_rate = 0;  // first attempts per second and retry quota
};

/// Attempts per request.
double attempts_of(const FluidClients& g, const QuotaRules& quota, const Failing& failing,
                   bool with_quota) {
  const double again = std::min(1.0, failing.again * g.retry_probability);
  double retries = (g.attempts == kForever && again >= 1 ? kForever
                    : g.attempts == kForever             ? 1 / (1 - again)
                                             : attempts_per_request(again, g.attempts)) -
                   1;
  if (!with_quota || !quota.enabled || failing.again <= 0) return 1 + retries;
  const bool conditional = quota.failure_cost > 0 || quota.threshold > 0;
  const double earned = (1 - failing.share) * quota.credit;
  if (conditional && quota.refill_rate == 0 &&
      failing.again * (quota.failure_cost + failing.cost) > earned) {
    return 1;  // the bucket is below its threshold
  }
  if (failing.cost > 0) {
    // Tokens earned are tokens spent: credits of first-try successes, and what time brings, pay
    // for failed retries.
    double credit = quota.credit_on == CreditOn::kStart ? quota.credit : earned;
    if (quota.refill_rate > 0) {
      credit += failing.first_rate > 0 ? quota.refill_rate / failing.first_rate : kForever;
    }
    const bool refunds = quota.refund != Refund::kNone;
    retries = std::min(retries, credit / (failing.cost * (refunds ? failing.share : 1)));
  }
  return 1 + retries;
}

class Balance {
 public:
  Balance(const Scenario& scenario, const FluidSystem& system)
      : scenario_(scenario), system_(system), limit_(bottleneck_of(system)) {}

  /// Work that attempts bring per capacity, if a share p of them fails for lack of it.
  double load(double p, bool with_quota = true) const {
    double sum = 0;
    for (std::size_t i = 0; i < system_.groups.size(); ++i) {
      const FluidClients& g = system_.groups[i];
      const double attempts = attempts_of(g, quota(i), failing(i, p), with_quota);
      sum += work(i) * attempts * (1 - p + limit_.failure_cost * p);
    }
    return sum;
  }
  /// Load of first attempts, without any failure for lack of capacity.
  double first_load() const {
    double sum = 0;
    for (std::size_t i = 0; i < system_.groups.size(); ++i) sum += work(i);
    return sum;
  }
  const Bottleneck& limit() const { return limit_; }

  /// Share of the requests that succeed, if a share p of the attempts fails for lack of capacity.
  double success(double p) const {
    double sum = 0, requests = 0;
    for (std::size_t i = 0; i < system_.groups.size(); ++i) {
      const Failing f = failing(i, p);
      // At most one attempt of a request succeeds, so successful attempts are counted.
      const double attempts = attempts_of(system_.groups[i], quota(i), f, true);
      const double share = f.share < 1 ? std::min(1.0, attempts * (1 - f.share)) : 0;
      sum += first_rate(i) * share;
      requests += first_rate(i);
    }
    return requests > 0 ? sum / requests : 1;
  }

  /// Requests on their way back, if a share p of the attempts fails for lack of capacity.
  double retrying(double p) const {
    double sum = 0;
    for (std::size_t n = 0; n < system_.groups.size(); ++n) {
      const FluidClients& g = system_.groups[n];
      const ClientSpec& client = scenario_.clients[g.client];
      const double attempts = attempts_of(g, quota(n), failing(n, p), true);
      // Sum over retries: the share that is made, times how long it is under way.
      const double known = limit_.fate == Fate::kLate ? g.timeout : g.round_trip;
      const auto& laws = g.backoff[g.fates[static_cast<std::size_t>(limit_.fate)].throttling];
      double retries = 0, time = 0, share = 1;
      for (std::size_t i = 0; i + 1 < g.streams; ++i) {
        share *= p * g.retry_probability;
        retries += share;
        time += share * (known + prediction::mean_of(laws[i]));
      }
      if (retries > 0) {
        sum += flow::mean_request_rate(scenario_, client) * (attempts - 1) * time / retries;
      }
    }
    return sum;
  }

  /// Waiting work while attempts fail for lack of capacity, s.
  double backlog() const {
    const FluidClients& g = system_.groups.front();
    if (system_.servers == kForever || limit_.fate == Fate::kThrottled) return 0;
    return limit_.timeouts ? std::max(0.0, g.timeout - g.round_trip - g.service_time)
                           : system_.room;
  }

 private:
  const QuotaRules& quota(std::size_t i) const {
    return scenario_.clients[system_.groups[i].client].retry.quota;
  }

  double first_rate(std::size_t i) const {
    return flow::mean_request_rate(scenario_, scenario_.clients[system_.groups[i].client]);
  }

  /// Share of the attempts that reach a server, or the throttle.
  double arriving(std::size_t i) const {
    const prediction::ErrorShares& errors = system_.calm.errors[i];
    const double door = system_.errors_at_door ? errors.error + errors.throttling : 0;
    return (1 - system_.calm.request_loss) * (1 - door);
  }

  Failing failing(std::size_t i, double p) const {
    const FluidClients& g = system_.groups[i];
    const prediction::FluidStretch& calm = system_.calm;
    const prediction::ErrorShares& errors = calm.errors[i];
    Failing f;
    const auto add = [&](double share, Fate fate, double retryable = 1) {
      const prediction::FateRules& rules = g.fates[static_cast<std::size_t>(fate)];
      const double again = share * rules.retryable * retryable;
      f.share += share;
      f.again += again;
      f.cost += again * rules.cost;
    };
    const double none = 1 - errors.error - errors.throttling, arrives = 1 - calm.request_loss;
    const double answered = 1 - calm.response_loss;
    const double unsaturated = system_.errors_at_door ? 1 : 1 - p;
    add(calm.request_loss, Fate::kLate);
    add(arrives * errors.error * unsaturated * answered, Fate::kError, errors.error_retryable);
    add(arrives * errors.throttling * unsaturated * answered, Fate::kThrottlingError);
    const double saturating = system_.errors_at_door ? none : 1;
    // A late attempt has no answer that could be lost.
    const double refused = limit_.fate == Fate::kLate ? 0 : arrives * saturating * p;
    add(arrives * saturating * p - refused * calm.response_loss, limit_.fate);
    add((arrives * (1 - saturating * p) + refused) * calm.response_loss, Fate::kLate);
    if (f.again > 0) f.cost /= f.again;
    const QuotaRules& rules = quota(i);
    f.first_rate = first_rate(i) / (rules.scope == RetryScope::kGroup ? 1 : g.clients);
    return f;
  }

  /// Work of first attempts, per capacity.
  double work(std::size_t i) const {
    const FluidClients& g = system_.groups[i];
    if (limit_.capacity == kForever || limit_.capacity <= 0) return 0;
    return first_rate(i) * arriving(i) * (limit_.by_number ? 1 : g.service_time) / limit_.capacity;
  }

  const Scenario& scenario_;
  const FluidSystem& system_;
  Bottleneck limit_;
};

constexpr int kGrid = 400;

FluidEquilibria::State state_at(const Balance& balance, double p, double load, bool stable,
                                double backlog, std::string name) {
  return {p, load, stable, backlog, balance.retrying(p), balance.success(p), std::move(name)};
}

/// The points on [0, 1] at which the load crosses 1, from below or from above.
std::vector<FluidEquilibria::State> crossings(const Balance& balance) {
  std::vector<FluidEquilibria::State> states;
  double before = balance.load(0);
  for (int i = 1; i <= kGrid; ++i) {
    const double p = static_cast<double>(i) / kGrid, now = balance.load(p);
    if ((before < 1) != (now < 1)) {
      double low = p - 1.0 / kGrid, high = p;
      for (int j = 0; j < 50; ++j) {
        const double middle = (low + high) / 2;
        ((balance.load(middle) < 1) == (before < 1) ? low : high) = middle;
      }
      // Waiting lets all attempts of a moment fail or none, so that a share between is only ever
      // passed through, unless those that would fail are not served.
      const bool all_or_none = balance.limit().timeouts && balance.limit().failure_cost > 0;
      const bool stable = before >= 1 && !all_or_none;
      states.push_back(state_at(balance, (low + high) / 2, 1, stable, balance.backlog(),
                                stable ? "overloaded" : "tipping point"));
    }
    before = now;
  }
  return states;
}

double largest_load(const Balance& balance, bool with_quota) {
  if (balance.limit().timeouts) {
    return std::max(balance.load(0, with_quota), balance.load(1, with_quota));
  }
  double most = 0;
  for (int i = 0; i <= kGrid; ++i) {
    most = std::max(most, balance.load(static_cast<double>(i) / kGrid, with_quota));
  }
  return most;
}

/// The share of failing attempts of a service that is overloaded even before any attempt fails:
/// more and more fail, until it can serve the rest.
double failure_without_trigger(const Balance& balance) {
  constexpr double kRounding = 1e-9;  // a load that is 1 for every p is never below it
  double before = balance.load(0);
  if (before < 1) return 0;
  for (int i = 1; i <= kGrid; ++i) {
    const double p = static_cast<double>(i) / kGrid, now = balance.load(p);
    if (now < 1 - kRounding) return p - (1 - now) / (before - now) / kGrid;
    before = now;
  }
  return 1;
}

}  // namespace

FluidEquilibria fluid_equilibria(const Scenario& scenario, std::size_t service) {
  if (const auto why = why_no_balance(scenario, service)) throw std::domain_error(*why);
  const FluidSystem system = prediction::fluid_system(scenario, service);
  const Balance balance(scenario, system);
  FluidEquilibria result;
  result.load = balance.first_load();
  result.failure_cost = balance.limit().failure_cost;
  const double healthy = balance.load(0), dead = balance.load(1);
  const double most = largest_load(balance, true);
  result.tipping_load = healthy > 0 ? result.load / healthy : 1;
  result.vulnerable_load = most > 0 ? result.load / most : 1;
  if (healthy < 1) result.states.push_back(state_at(balance, 0, healthy, true, 0, "healthy"));
  for (auto& state : crossings(balance)) result.states.push_back(std::move(state));
  const bool collapse = dead >= 1 && dead > 0;
  if (collapse) {
    result.states.push_back(state_at(balance, 1, dead, true, system.room, "dead"));
  }
  const bool other = collapse || std::any_of(result.states.begin(), result.states.end(),
                                             [](const auto& s) { return s.name == "overloaded"; });
  result.success = balance.success(failure_without_trigger(balance));
  constexpr double kUp = 0.5;  // success rate above which it is up, as for the end of a run
  result.phase = healthy < 1 && other    ? FluidPhase::kVulnerable
                 : healthy < 1           ? FluidPhase::kSafe
                 : result.success >= kUp ? FluidPhase::kOverloaded
                                         : FluidPhase::kDead;
  result.quota_saves = result.phase == FluidPhase::kSafe && largest_load(balance, false) >= 1;
  return result;
}

// --- Tipping points ------------------------------------------------------------------------------

namespace {

using prediction::kForever;

/// The scenario with one disturbance of the service, or none.
struct Probe {
  Scenario scenario;
  Time* start = nullptr;
  Duration* duration = nullptr;
};

void leave_out_disturbances(Scenario& scenario, std::size_t service) {
  std::erase_if(scenario.faults, [&](const FaultSpec& f) { return f.service == service; });
  for (ClientSpec& c : scenario.clients) {
    if (c.service == service) c.arrivals.surges.clear();
  }
}

class Search {
 public:
  Search(const Scenario& scenario, std::size_t service) : service_(service) {
    const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
    unit_ = system.shortest_timeout;
    if (unit_ == kForever) unit_ = system.duration / 100;
  }

  double unit() const { return unit_; }

  /// Whether the service is down long after a disturbance of `seconds`.
  bool tips(Probe& probe, double seconds) const {
    constexpr double kBefore = 10, kAfter = 80;  // timeouts
    Scenario& s = probe.scenario;
    const double start = kBefore * unit_;
    if (probe.start != nullptr) {
      *probe.start = Time::zero() + Duration::from_seconds(start);
      *probe.duration = Duration::from_seconds(seconds);
    }
    s.warmup = Duration::zero();
    s.drain = false;
    s.duration = Duration::from_seconds(start + seconds + std::max(kAfter * unit_, 4 * seconds));
    constexpr double kStepsPerTimeout = 400;
    return prediction::stays_down(s, service_, kStepsPerTimeout, unit_ / kStepsPerTimeout);
  }

  FluidTippingPoint find(Probe probe, std::string name, double longest, double tolerance) const {
    FluidTippingPoint point{.trigger = std::move(name)};
    if (tips(probe, 0)) {
      point.down_without = true;
      return point;
    }
    double low = 0, high = std::min(longest, 4 * unit_);
    while (!tips(probe, high)) {
      low = high;
      if (high >= longest) {
        point.duration = longest;
        return point;
      }
      high = std::min(longest, 3 * high);
    }
    while (high - low > tolerance * high) {
      const double middle = (low + high) / 2;
      (tips(probe, middle) ? high : low) = middle;
    }
    point.duration = (low + high) / 2;
    point.found = true;
    return point;
  }

 private:
  std::size_t service_;
  double unit_ = 1;
};

}  // namespace

std::vector<FluidTippingPoint> fluid_tipping_points(const Scenario& scenario, std::size_t service,
                                                    double longest, double tolerance) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const Search search(scenario, service);
  const auto up_to = [&](Duration own) {
    return longest > 0 ? longest : std::max(50 * search.unit(), own.in_seconds());
  };
  std::vector<FluidTippingPoint> points;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    Probe probe{scenario};
    leave_out_disturbances(probe.scenario, service);
    probe.scenario.faults.push_back(fault);
    probe.start = &probe.scenario.faults.back().start;
    probe.duration = &probe.scenario.faults.back().duration;
    points.push_back(search.find(std::move(probe), fmt::format("fault.{}.duration", fault.name),
                                 up_to(fault.duration), tolerance));
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    if (scenario.clients[c].service != service) continue;
    for (const SurgeSpec& surge : scenario.clients[c].arrivals.surges) {
      Probe probe{scenario};
      leave_out_disturbances(probe.scenario, service);
      auto& surges = probe.scenario.clients[c].arrivals.surges;
      surges.push_back(surge);
      probe.start = &surges.back().start;
      probe.duration = &surges.back().duration;
      points.push_back(search.find(
          std::move(probe),
          fmt::format("client.{}.surge.{}.duration", scenario.clients[c].name, surge.name),
          up_to(surge.duration), tolerance));
    }
  }
  return points;
}

// --- The phase plane -----------------------------------------------------------------------------

namespace {

constexpr double kTimeoutsShown = 30, kSamplesPerTimeout = 20, kPlaneStepsPerTimeout = 400;

/// The scenario with its first trigger alone, or with an outage if it has none.
Scenario with_one_trigger(const Scenario& scenario, std::size_t service) {
  Scenario one = prediction::calm_scenario(scenario, service);
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.service != service) continue;
    one.faults.push_back(fault);
    return one;
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const ClientSpec& client = scenario.clients[c];
    if (client.service != service || client.arrivals.surges.empty()) continue;
    one.clients[c].arrivals.surges.push_back(client.arrivals.surges.front());
    return one;
  }
  return prediction::with_outage(std::move(one), service, 1);
}

/// The scenario with a trigger of another length, ten timeouts after the start.
Scenario with_length(Scenario one, std::size_t service, double unit, double seconds) {
  const Time start = Time::zero() + Duration::from_seconds(10 * unit);
  for (FaultSpec& fault : one.faults) {
    if (fault.service != service) continue;
    fault.start = start;
    fault.duration = Duration::from_seconds(seconds);
  }
  for (ClientSpec& client : one.clients) {
    if (client.service != service) continue;
    for (SurgeSpec& surge : client.arrivals.surges) {
      surge.start = start;
      surge.duration = Duration::from_seconds(seconds);
    }
  }
  one.warmup = Duration::zero();
  one.drain = false;
  one.duration = Duration::from_seconds(10 * unit + seconds + 80 * unit);
  return one;
}

PhaseTrajectory trajectory(const Scenario& one, std::size_t service, double unit, double seconds) {
  const Scenario scenario = with_length(one, service, unit, seconds);
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  const double step =
      std::min(prediction::fluid_step(system, kPlaneStepsPerTimeout), unit / kPlaneStepsPerTimeout);
  FluidRun run = prediction::run_system(scenario, system, step, unit / kSamplesPerTimeout);
  PhaseTrajectory result;
  result.trigger = seconds;
  result.stays_down = run.down_at_end;
  const double from = 10 * unit + seconds;
  for (FluidSample& sample : run.series) {
    if (sample.time < from || sample.time > from + kTimeoutsShown * unit) continue;
    sample.time -= from;
    result.samples.push_back(sample);
  }
  return result;
}

}  // namespace

PhasePlane phase_plane(const Scenario& scenario, std::size_t service) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const Scenario one = with_one_trigger(scenario, service);
  const double unit = prediction::time_unit(scenario, service);
  PhasePlane plane;
  const FluidTippingPoint tipping = fluid_tipping_points(one, service).front();
  plane.trigger = tipping.trigger;
  if (tipping.found) plane.tipping = tipping.duration;
  const double timeout = prediction::fluid_system(scenario, service).shortest_timeout;
  plane.timeout = timeout == prediction::kForever ? 0 : timeout;
  try {
    for (const auto& state : fluid_equilibria(one, service).states) {
      PhaseEquilibrium e{state.name, state.stable, state.backlog, state.retrying};
      if (!std::isfinite(state.backlog)) e.backlog.reset();
      plane.equilibria.push_back(std::move(e));
    }
  } catch (const std::domain_error&) {
    // A closed loop has no balance of its own; its trajectories show where it settles.
  }
  if (plane.tipping) {
    constexpr double kNear = 3e-4;  // larger than the tolerance of the search
    for (const double factor : {0.5, 0.8, 0.95, 1 - kNear, 1 + kNear, 1.05, 1.25, 2.0}) {
      plane.trajectories.push_back(trajectory(one, service, unit, factor * *plane.tipping));
      plane.trajectories.back().separatrix = std::abs(factor - 1) < 2 * kNear;
    }
  } else {
    for (const double timeouts : {0.5, 1.0, 2.0, 4.0, 8.0}) {
      plane.trajectories.push_back(trajectory(one, service, unit, timeouts * unit));
    }
  }
  return plane;
}

}  // namespace retrysim
