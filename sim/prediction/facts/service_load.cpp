// Loads of services and times of clients, in closed form.
//
// SPDX-License-Identifier: MIT
#include "prediction/facts/service_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "flow/attempt.hpp"
#include "flow/calls.hpp"
#include "flow/capacity.hpp"
#include "kernel/stop.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/system.hpp"

namespace retrysim::prediction {
namespace {

using flow::most_attempts;

/// Erlang's C formula: probability of having to wait.
double waiting_probability(double servers, double load) {
  double b = 1;
  for (double k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  const double rho = load / servers;
  return b / (1 - rho * (1 - b));
}

/// Mean over the service law of the least of `servers` residual services, in mean services:
/// the integral of P(residual > t)^servers, where P(residual > t) is the integral of the law's
/// survival beyond t. By the trapezoidal rule on a grid that grows with t.
double least_residual(const Distribution& law, double servers) {
  const bool listed = law.kind() == Distribution::Kind::kEmpirical;
  const DelayLaw values = listed ? law_of(law, 200) : DelayLaw{};
  const auto exceeds = [&](double seconds) {
    if (!listed) return survival(law, seconds);
    double share = 0;
    for (const DelayPiece& p : values) {
      share += p.probability * (p.high > p.low
                                    ? std::clamp((p.high - seconds) / (p.high - p.low), 0.0, 1.0)
                                    : (p.low > seconds ? 1.0 : 0.0));
    }
    return share;
  };
  constexpr std::size_t kSteps = 4000;
  constexpr double kFirst = 1e-4, kLast = 1e6;  // mean services
  const double mean = law.mean_seconds();
  const double growth = std::pow(kLast / kFirst, 1.0 / (kSteps - 1));
  std::vector<double> at(kSteps + 1), above(kSteps + 1);
  for (std::size_t i = 1; i <= kSteps; ++i) at[i] = i == 1 ? kFirst : at[i - 1] * growth;
  double beyond = 0, next = exceeds(at[kSteps] * mean);
  for (std::size_t i = kSteps; i-- > 0;) {
    const double here = exceeds(at[i] * mean);
    beyond += (here + next) / 2 * (at[i + 1] - at[i]);
    above[i] = beyond;
    next = here;
  }
  double sum = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    sum += (std::pow(above[i] / beyond, servers) + std::pow(above[i + 1] / beyond, servers)) / 2 *
           (at[i + 1] - at[i]);
  }
  return sum;
}

/// Mean wait of M/G/c by that of M/M/c, `exponential`, both in any unit: Boxma, Cohen and Huffels
/// (1979) interpolate between M/M/c and M/D/c (the latter by Cosmetatos 1976). Exact for one server
/// and for exponential services. Beyond the variance, it uses how soon the first of c services
/// under way ends: a few long services do not keep c servers busy.
double wait_of_any_law(double exponential, double servers, double load, const Distribution& law) {
  if (law.kind() == Distribution::Kind::kExponential) return exponential;
  const double second = 1 + squared_variation(law);  // E[S^2] / E[S]^2
  if (servers < 2) return exponential * second / 2;
  const double free = 1 - load / servers;
  const double constant =
      exponential / 2 * (1 + free * (servers - 1) * (std::sqrt(4 + 5 * servers) - 2) / (16 * load));
  const double weight = (second / least_residual(law, servers) - servers - 1) / (servers - 1);
  return second / 2 * 2 * exponential * constant /
         (2 * weight * constant + (1 - weight) * exponential);
}

/// Whether a service to which Poisson arrivals come is M/M/c, first come first served.
bool is_mmc(const Scenario& scenario, const ServiceLoad& load) {
  const auto same_work = [&](std::size_t client) {
    return scenario.clients[client].operations.empty();
  };
  return load.spec->queue.discipline == Discipline::kFifo &&
         load.spec->service_time.kind() == Distribution::Kind::kExponential &&
         load.calls_time == 0 && std::ranges::all_of(load.clients, same_work);
}

double full_queue(const ServiceSpec& s, const flow::ServiceDemand& first) {
  if (s.queue.capacity == ServiceSpec::kUnlimited || first.capacity == kForever) return kForever;
  return static_cast<double>(s.queue.capacity) * s.instances.count * first.held_time /
         first.capacity;
}

/// The load on a service, before the waits that follow from it are computed.
struct Offered {
  ServiceLoad load;
  double work = 0;  // servers
};

bool varies(const ArrivalSpec& a) {
  return a.profile.has_value() || a.process == ArrivalProcess::kTrace ||
         a.process == ArrivalProcess::kOnce;
}

Offered offered_to(const Scenario& scenario, std::size_t service, const Demands& demands) {
  const ServiceSpec& s = scenario.services[service];
  const flow::ServiceDemand& first = demands.first.services[service];
  Offered offered;
  ServiceLoad& load = offered.load;
  load.spec = &s;
  load.capacity = first.capacity;
  load.varies = s.profile.has_value();
  bool open = false;
  load.clients = demands.callers[service];
  for (const std::size_t i : load.clients) {
    load.varies = load.varies || demands.varies[i];
    load.from_services = load.from_services || scenario.clients[i].makes_calls();
    open = open || demands.open[i];
    load.has_closed = load.has_closed || !demands.open[i];
  }
  load.is_closed = !open && !load.clients.empty();
  if (!s.profile && s.throttle.rate <= 0 && !s.throttle.has_limits()) {
    for (const std::size_t i : load.clients) {
      if (demands.varies[i] || !demands.open[i]) continue;
      const ClientSpec& c = scenario.clients[i];
      load.steady_work += demands.first.groups[i].requests * share_of_calls(c, service) *
                          flow::held_seconds_at(scenario, demands.first, c, service);
    }
  }
  load.rate = first.requests;
  load.service_time = first.held_time;
  load.calls_time = first.calls_time;
  offered.work = first.work;
  load.utilization = first.load();
  load.with_errors = demands.needed.services[service].load();
  load.last_attempt = demands.most.services[service].load();
  load.full_queue = full_queue(s, first);
  return offered;
}

}  // namespace

Demands::Demands(const Scenario& scenario)
    : first(flow::demand_of(scenario, flow::Attempts::kFirst)),
      needed(flow::demand_of(scenario, flow::Attempts::kNeeded)),
      most(flow::demand_of(scenario, flow::Attempts::kMost)),
      callers(scenario.services.size()),
      varies(scenario.clients.size()),
      open(scenario.clients.size()) {
  const flow::CallGraph calls(scenario);
  StopCounter<> stop;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    stop.count();
    const ClientSpec& c = scenario.clients[i];
    for (const ServiceShare& called : service_shares(c)) callers[called.service].push_back(i);
    if (c.makes_calls()) continue;
    varies[i] = prediction::varies(c.arrivals);
    open[i] = c.arrivals.process != ArrivalProcess::kClosed;
  }
  for (const std::size_t s : flow::callers_first(scenario)) {
    const auto any = [&](const std::vector<bool>& of) {
      return std::ranges::any_of(callers[s], [&](std::size_t i) { return of[i]; });
    };
    for (const std::size_t i : calls.groups_of(s)) varies[i] = any(varies), open[i] = any(open);
  }
}

std::string calls_left_out(const Scenario& scenario, std::size_t service) {
  return flow::calls_others(scenario, service) ? "waiting at the services that it calls" : "";
}

bool has_plain_quota(const ClientSpec& client) {
  return client.retry.quota.scope <= RetryScope::kGroup && client.retryer.empty();
}

bool is_called(const Scenario& scenario, std::size_t service) {
  return std::ranges::any_of(scenario.clients,
                             [&](const ClientSpec& c) { return share_of_calls(c, service) > 0; });
}

ServiceLoad load_of_service(const Scenario& scenario, std::size_t service) {
  return load_of_service(scenario, service, Demands(scenario));
}

ServiceLoad load_of_service(const Scenario& scenario, std::size_t service, const Demands& demands) {
  constexpr double kManyServers = 1e6;
  const ServiceSpec& s = scenario.services[service];
  auto [load, work] = offered_to(scenario, service, demands);
  load.wait = load.wait_within = kForever;
  if (load.capacity == kForever && !s.slowdown.enabled()) load.wait = 0;
  if (load.utilization < 1 && load.capacity <= kManyServers && work > 0 &&
      !why_not(Theory::kWaits, scenario, service)) {
    const double c = load.capacity;
    load.wait = wait_of_any_law(waiting_probability(c, work) * load.service_time / (c - work), c,
                                work, s.service_time);
    // The bound of the queue limits the wait.
    if (load.full_queue < 5 * load.wait) load.wait = kForever;
    if (load.wait != kForever && is_mmc(scenario, load) && s.wait_within != Duration::max()) {
      // Spare service rate beyond the arrivals, per second.
      const double leaving = (c - work) / load.service_time;
      load.wait_within =
          1 - waiting_probability(c, work) * std::exp(-leaving * s.wait_within.in_seconds());
    }
  }
  load.granted = flow::granted_rate(scenario, service);
  return load;
}

double servers_that_carry(double work) {
  constexpr double kSlack = 1e-9;
  return std::floor(work * (1 + kSlack)) + 1;
}

std::optional<SteadyNeed> steady_need(const Scenario& scenario, const ServiceLoad& load) {
  if (load.capacity == kForever || load.varies || load.is_closed) return std::nullopt;
  const AutoscalingSpec& scaling = load.spec->autoscaling;
  const double most = scaling.target > 0 ? std::max(load.capacity, static_cast<double>(scaling.max))
                                         : load.capacity;
  const double work = load.utilization * load.capacity;
  SteadyNeed need = {work / most, servers_that_carry(work)};
  need.regular = squared_variation(load.spec->service_time) == 0 &&
                 std::ranges::all_of(load.clients, [&](std::size_t c) {
                   return scenario.clients[c].arrivals.process == ArrivalProcess::kConstant;
                 });
  return need;
}

double full_queue_time(const Scenario& scenario, std::size_t service) {
  return full_queue_time(scenario, service, flow::demand_of(scenario, flow::Attempts::kFirst));
}

double full_queue_time(const Scenario& scenario, std::size_t service, const flow::Demand& first) {
  const flow::ServiceDemand& demand = first.services[service];
  // Some closed loops have no pause.
  if (!std::isfinite(demand.requests) || !is_called(scenario, service)) return kForever;
  return full_queue(scenario.services[service], demand);
}

namespace {

constexpr double kMaxRetries = 10'000;

}  // namespace

RequestTimes request_times(const ClientSpec& c, double attempt) {
  const double attempts = most_attempts(c), retries = attempts - 1;
  const double deadline =
      c.timeouts.deadline == Duration::max() ? kForever : c.timeouts.deadline.in_seconds();
  RequestTimes t;
  if (c.retry.hedging.enabled) {
    // The next attempt comes after the delay, or at once if one fails; the timeout runs from the
    // latest and ends all that are under way.
    const double gap = std::min(c.retry.hedging.delay.in_seconds(), attempt);
    t.mean = retries * gap + attempt;
    t.backoff = retries * gap;
    t.connected = attempts * attempt + (retries > 0 ? gap * attempts * retries / 2 : 0);
  } else {
    t.mean = t.connected = attempts * attempt;
    // Once the backoff no longer grows, the rest is a product.
    constexpr int kDistinct = 64;
    const BackoffRules& backoff = c.retry.backoff;
    const bool differs = throttling_differs(backoff);
    BackoffLaws late_laws(backoff, false), throttled_laws(backoff, true);
    for (int i = 1; i <= std::min<double>(retries, kDistinct); ++i) {
      const DelayLaw late = late_laws.next();
      const double most_throttled = differs ? most_of(throttled_laws.next()) : 0;
      const double times = i == kDistinct ? std::min(retries, kMaxRetries) - kDistinct + 1 : 1;
      t.backoff += times * std::max(most_of(late), most_throttled);
      t.mean += times * mean_of(late);
    }
  }
  t.longest = std::min(deadline, (c.retry.hedging.enabled ? 1 : attempts) * attempt + t.backoff);
  return t;
}

ClientTimes times_of_client(const Scenario& scenario, std::size_t client) {
  return times_of_client(scenario, client, Demands(scenario));
}

ClientTimes times_of_client(const Scenario& scenario, std::size_t client, const Demands& demands) {
  const ClientSpec& c = scenario.clients[client];
  ClientTimes t;
  t.spec = &c;
  t.timeout = c.timeouts.has_attempt ? c.timeouts.attempt.mean_seconds() : kForever;
  t.attempt = 2 * scenario.network.latency.mean_seconds();
  t.request = 0;
  for (const auto& [s, share] : service_shares(c)) {
    t.attempt +=
        share * (flow::service_seconds_at(scenario, c, s) + demands.first.services[s].calls_time);
    t.request += share * load_of_service(scenario, s, demands).wait;
  }
  t.request += t.attempt;
  t.rate = demands.first.groups[client].requests / c.count;
  const double attempts = most_attempts(c), retries = attempts - 1;
  const RequestTimes times = request_times(c, t.timeout);
  t.worst = times.longest;
  t.all_time_out = times.mean;
  const QuotaRules& quota = c.retry.quota;
  t.buckets = quota.scope == RetryScope::kGroup ? 1 : c.count;
  const double cost = quota.timeout_cost;
  const double bucket_rate = t.rate * c.count / t.buckets;
  if (quota.enabled && has_plain_quota(c) && cost > 0 && retries > 0) {
    t.outage_retries = std::floor(quota.capacity / cost);
    t.drain_rate = cost * bucket_rate * std::min(retries, kMaxRetries) - quota.refill_rate;
    t.time_to_dry = t.drain_rate > 0 ? quota.capacity / t.drain_rate : kForever;
  }
  t.connections = t.rate * t.request;
  t.connections_worst = t.rate * times.connected;
  return t;
}

}  // namespace retrysim::prediction
