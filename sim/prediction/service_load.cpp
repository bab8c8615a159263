// SPDX-License-Identifier: MIT
#include "prediction/service_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim::prediction {
namespace {

double most_attempts(const ClientSpec& client) {
  return client.retry.max_attempts == RetryRules::kUnlimited ? kForever : client.retry.max_attempts;
}

/// Mean time in service of an attempt of the group.
double mean_time_at_services(const Scenario& scenario, const ClientSpec& client) {
  if (calls_one_service(client)) {
    return mean_service_time(scenario.services[client.service], client);
  }
  double time = 0;
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    time += mean_work(client, s) * scenario.services[s].service_time.mean_seconds();
  }
  return time;
}

/// Requests of a group per second while all is well.
double request_rate(const Scenario& scenario, const ClientSpec& client) {
  const ArrivalSpec& a = client.arrivals;
  if (a.process != ArrivalProcess::kClosed) return mean_arrival_rate(scenario, client);
  const double answer =
      2 * scenario.network.latency.mean_seconds() + mean_time_at_services(scenario, client);
  const double think = a.think_time.mean_seconds();
  const double cycle = a.think_from_start ? std::max(think, answer) : think + answer;
  return cycle > 0 ? client.count * static_cast<double>(a.concurrency) / cycle : kForever;
}

/// Erlang's C formula: probability of having to wait.
double waiting_probability(double servers, double load) {
  double b = 1;
  for (double k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  const double rho = load / servers;
  return b / (1 - rho * (1 - b));
}

/// Whether a service to which Poisson arrivals come is M/M/c, first come first served.
bool is_mmc(const Scenario& scenario, const ServiceLoad& load) {
  const auto same_work = [&](std::size_t client) {
    return scenario.clients[client].operations.empty();
  };
  return load.spec->queue.discipline == Discipline::kFifo &&
         load.spec->service_time.kind() == Distribution::Kind::kExponential &&
         std::ranges::all_of(load.clients, same_work);
}

/// What is asked of a service, without what follows from it for the waits there.
struct Offered {
  ServiceLoad load;
  double work = 0;     // servers
  double buckets = 0;  // of a throttle that has one for each client
  bool poisson = true;
};

Offered offered_to(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services[service];
  Offered offered;
  ServiceLoad& load = offered.load;
  load.spec = &s;
  load.capacity =
      s.servers == ServiceSpec::kUnlimited ? kForever : static_cast<double>(s.all_servers());
  double last = 0;
  bool open = false;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    const ClientSpec& c = scenario.clients[i];
    const double share = share_of_calls(c, service);
    if (share <= 0 || c.caller) continue;
    load.clients.push_back(i);
    const ArrivalSpec& a = c.arrivals;
    const double rate = request_rate(scenario, c);
    load.rate += share * rate;
    const double time = calls_one_service(c)
                            ? mean_service_time(s, c)
                            : s.service_time.mean_seconds() * mean_work(c, service);
    offered.work += rate * time;
    last += rate * time * most_attempts(c);
    offered.buckets += c.count;
    load.varies = load.varies || a.profile.has_value() || a.process == ArrivalProcess::kTrace ||
                  a.process == ArrivalProcess::kOnce;
    open = open || a.process != ArrivalProcess::kClosed;
    offered.poisson = offered.poisson && a.process == ArrivalProcess::kPoisson && !a.profile;
  }
  load.is_closed = !open && !load.clients.empty();
  load.service_time = load.rate > 0 ? offered.work / load.rate : s.service_time.mean_seconds();
  load.utilization = offered.work / load.capacity;
  load.last_attempt = load.capacity == kForever ? 0 : last / load.capacity;
  load.full_queue = s.queue.capacity == ServiceSpec::kUnlimited || load.capacity == kForever
                        ? kForever
                        : static_cast<double>(s.queue.capacity) * s.instances.count *
                              load.service_time / load.capacity;
  return offered;
}

}  // namespace

std::string path_of(const Scenario& scenario, const ClientSpec& client) {
  if (!client.caller) return "client." + client.name;
  const std::string& caller = scenario.services[*client.caller].name;
  return "service." + caller + ".calls." + client.name.substr(caller.size() + 1);
}

std::string calls_left_out(const Scenario& scenario, std::size_t service) {
  bool calls = false, called = false;
  for (const ClientSpec& c : scenario.clients) {
    if (!c.caller) continue;
    calls = calls || *c.caller == service;
    called = called || share_of_calls(c, service) > 0;
  }
  std::string text = calls ? "the time that its calls to other services take" : "";
  if (called) text += text.empty() ? "" : "; ", text += "calls from other services";
  return text;
}

bool has_plain_quota(const ClientSpec& client) {
  return client.retry.quota.scope <= RetryScope::kGroup && client.retryer.empty();
}

bool is_called(const Scenario& scenario, std::size_t service) {
  return std::any_of(scenario.clients.begin(), scenario.clients.end(), [&](const ClientSpec& c) {
    return !c.caller && share_of_calls(c, service) > 0;
  });
}

ServiceLoad load_of_service(const Scenario& scenario, std::size_t service) {
  constexpr double kManyServers = 1e6;
  const ServiceSpec& s = scenario.services[service];
  auto [load, work, buckets, poisson] = offered_to(scenario, service);
  load.wait = load.wait_within = kForever;
  if (load.capacity == kForever && !s.slowdown.enabled()) load.wait = 0;
  const bool one_after_another = has_queue(s.queue.discipline);
  if (poisson && load.utilization < 1 && load.capacity <= kManyServers && one_after_another &&
      !s.slowdown.enabled() && s.instances.count == 1 && work > 0) {
    const double c = load.capacity;
    load.wait = waiting_probability(c, work) * load.service_time / (c - work) *
                (1 + squared_variation(s.service_time)) / 2;
    if (load.full_queue < 5 * load.wait) load.wait = kForever;  // the bound cuts it short
    if (load.wait != kForever && is_mmc(scenario, load) && s.wait_within != Duration::max()) {
      const double leaving = (c - work) / load.service_time;  // per second, beyond the arrivals
      load.wait_within =
          1 - waiting_probability(c, work) * std::exp(-leaving * s.wait_within.in_seconds());
    }
  }
  // What operations or keys are granted depends on which of them are asked for.
  load.granted =
      s.throttle.rate > 0 && s.throttle.scope <= ThrottleScope::kClient && !s.throttle.has_limits()
          ? s.throttle.rate * (s.throttle.scope == ThrottleScope::kClient ? buckets : 1)
          : kForever;
  return load;
}

double full_queue_time(const Scenario& scenario, std::size_t service) {
  if (!is_called(scenario, service)) return kForever;
  const double time = offered_to(scenario, service).load.full_queue;
  return std::isfinite(time) ? time : kForever;  // no number if clients ask without a pause
}

ClientTimes times_of_client(const Scenario& scenario, std::size_t client) {
  const ClientSpec& c = scenario.clients[client];
  ClientTimes t;
  t.spec = &c;
  t.timeout = c.timeouts.has_attempt ? c.timeouts.attempt.mean_seconds() : kForever;
  t.attempt = 2 * scenario.network.latency.mean_seconds() + mean_time_at_services(scenario, c);
  t.request = t.attempt;
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    const double share = share_of_calls(c, s);
    if (share > 0) t.request += share * load_of_service(scenario, s).wait;
  }
  t.rate = request_rate(scenario, c) / c.count;
  const double attempts = most_attempts(c), retries = attempts - 1;
  const double deadline =
      c.timeouts.deadline == Duration::max() ? kForever : c.timeouts.deadline.in_seconds();
  constexpr double kMost = 10'000;
  double longest = attempts * t.timeout, mean = longest;
  // Where the backoff no longer grows, the rest is a product.
  constexpr int kDistinct = 64;
  const BackoffRules& backoff = c.retry.backoff;
  const bool differs = throttling_differs(backoff);
  BackoffLaws late_laws(backoff, false), throttled_laws(backoff, true);
  for (int i = 1; i <= std::min<double>(retries, kDistinct); ++i) {
    const DelayLaw late = late_laws.next();
    const double most_throttled = differs ? most_of(throttled_laws.next()) : 0;
    const double times = i == kDistinct ? std::min(retries, kMost) - kDistinct + 1 : 1;
    longest += times * std::max(most_of(late), most_throttled);
    mean += times * mean_of(late);
  }
  t.worst = std::min(deadline, longest);
  t.all_time_out = mean;
  const QuotaRules& quota = c.retry.quota;
  t.buckets = quota.scope == RetryScope::kGroup ? 1 : c.count;
  const double cost = quota.timeout_cost;
  const double bucket_rate = t.rate * c.count / t.buckets;
  if (quota.enabled && has_plain_quota(c) && cost > 0 && retries > 0) {
    t.outage_retries = std::floor(quota.capacity / cost);
    t.drain_rate = cost * bucket_rate * std::min(retries, kMost) - quota.refill_rate;
    t.time_to_dry = t.drain_rate > 0 ? quota.capacity / t.drain_rate : kForever;
  }
  t.connections = t.rate * t.request;
  t.connections_worst = t.rate * attempts * t.timeout;
  return t;
}

}  // namespace retrysim::prediction
