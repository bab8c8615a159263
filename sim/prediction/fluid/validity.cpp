// Whether the fluid applies to a service, what it may still say where it does not, and where its
// figures may be off.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include "flow/demand.hpp"
#include "flow/rates.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/run.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

using prediction::kForever;

std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service) {
  if (auto why = prediction::why_not(prediction::Theory::kRun, scenario, service)) return why;
  // A step is no longer than the shortest timeout, and their number is limited.
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  if (system.shortest_timeout * prediction::kMaxFluidSteps < system.duration + system.drain) {
    return fmt::format("attempt_timeout: {} is too short for a fluid that runs for {}",
                       scenario::said_time(system.shortest_timeout),
                       scenario::said_time(system.duration + system.drain));
  }
  return std::nullopt;
}

std::optional<std::string> why_no_balance(const Scenario& scenario, std::size_t service) {
  return prediction::why_not(prediction::Theory::kBalance, scenario, service);
}

std::optional<FluidEquilibria> balance_with_any_retries(const Scenario& scenario,
                                                        std::size_t service) {
  const auto has_own_quota = [](const ClientSpec& c) {
    const QuotaRules& quota = c.retry.quota;
    return quota.enabled && (quota.scope > RetryScope::kGroup || !c.retryer.empty() ||
                             quota.on_empty == QuotaOnEmpty::kWait || quota.partial);
  };
  const bool limited = std::ranges::any_of(scenario.clients, [&](const ClientSpec& c) {
    return share_of_calls(c, service) > 0 &&
           (c.unrepeatable > 0 || !c.retryer.empty() || c.retry.budget.in_use() ||
            c.retry.guard.enabled || has_own_quota(c));
  });
  if (!limited) return std::nullopt;
  Scenario with = scenario;
  for (ClientSpec& c : with.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (has_own_quota(c)) c.retry.quota = {};
    c.unrepeatable = 0;
    c.retryer.clear();
    c.retry.budget = {};
    c.retry.guard = {};
  }
  if (why_no_balance(with, service)) return std::nullopt;
  const FluidPhase most = fluid_equilibria(with, service).phase;
  for (ClientSpec& c : with.clients) {
    if (share_of_calls(c, service) > 0) c.retry.max_attempts = 1;
  }
  if (why_no_balance(with, service)) return std::nullopt;
  FluidEquilibria least = fluid_equilibria(with, service);
  if (least.phase != most) return std::nullopt;
  return least;
}

namespace {

/// Share of the attempts that a full queue turns away: of Poisson arrivals with exponential
/// services, by Erlang's recursion.
double turned_away_by_chance(double load, double servers, double places) {
  double full = 1;
  for (double n = 1; n <= servers + places; ++n) {
    const double work = load * servers * full;
    full = work / (std::min(n, servers) + work);
  }
  return full;
}

/// Why the fluid may be wrong about a queue with little room, because it turns away only attempts
/// beyond the capacity; empty: no doubt.
std::string doubt_of_short_queue(const Scenario& scenario, std::size_t service,
                                 const prediction::FluidSystem& system) {
  constexpr double kMuch = 0.02, kMaxPlaces = 100'000;
  if (system.servers == kForever || system.room == kForever) return "";
  double rate = 0, work = 0;
  for (const prediction::FluidClients& g : system.groups) {
    const double its = flow::mean_request_rate(scenario, scenario.clients[g.client]);
    rate += its, work += its * g.service_time;
  }
  if (rate <= 0 || work <= 0) return "";
  const double load = work / system.servers;
  const double places = std::floor(system.room * system.servers * rate / work);
  if (places > kMaxPlaces || system.servers > kMaxPlaces) return "";
  const double by_chance = turned_away_by_chance(load, system.servers, places);
  const double by_fluid = std::max(0.0, 1 - 1 / load);
  if (by_chance - by_fluid < kMuch) return "";
  return fmt::format(
      "service.{}.queue has room for {:.0f} attempts, which chance fills: {:.0f} % of the first "
      "attempts are turned away, {:.0f} % in the fluid",
      scenario.services[service].name, places, 100 * by_chance, 100 * by_fluid);
}

}  // namespace

namespace {

/// Whether the calls of all services are bounded by the requests of the clients outside, which come
/// regardless of earlier ones, times the attempts allowed on the way.
bool calls_are_bounded(const Scenario& scenario, const flow::Demand& most) {
  const bool open = std::ranges::all_of(scenario.clients, [](const ClientSpec& c) {
    const ArrivalProcess process = c.arrivals.process;
    return (c.makes_calls() || process == ArrivalProcess::kPoisson ||
            process == ArrivalProcess::kConstant) &&
           !c.arrivals.profile && !c.strategy;
  });
  // Caches may be cold, and fallbacks follow failures.
  const bool counted = std::ranges::all_of(scenario.calls, [](const CallSpec& call) {
    return call.cache.hit == 0 && call.cache.capacity == 0 &&
           call.on_failure != CallFailure::kFallback;
  });
  // An overloaded service would call no more often than it finishes attempts, and failures make it
  // finish sooner.
  const bool room =
      std::ranges::all_of(most.services, [](const flow::ServiceDemand& s) { return s.load() < 1; });
  const bool plain = std::ranges::none_of(
      scenario.services, [](const ServiceSpec& s) { return s.model == ServiceModelKind::kOcc; });
  return open && counted && room && plain;
}

}  // namespace

std::optional<WorstLoad> worst_load(const Scenario& scenario, std::size_t service) {
  if (prediction::why_not(prediction::Theory::kBound, scenario, service)) return std::nullopt;
  const ServiceSpec& spec = scenario.services[service];
  const bool is_called = std::ranges::any_of(scenario.clients, [&](const ClientSpec& c) {
    return c.makes_calls() && share_of_calls(c, service) > 0;
  });
  flow::Demand first_calls, most_calls;
  if (is_called) {
    most_calls = flow::demand_of(scenario, flow::Attempts::kMost);
    if (!calls_are_bounded(scenario, most_calls)) return std::nullopt;
    first_calls = flow::demand_of(scenario, flow::Attempts::kFirst);
  }
  WorstLoad load;
  double attempts_of_all = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    const auto group = static_cast<std::size_t>(&c - scenario.clients.data());
    const double rate =
        c.makes_calls() ? most_calls.groups[group].requests : flow::mean_request_rate(scenario, c);
    if (rate <= 0) continue;
    const double work = flow::service_seconds_at(scenario, c, service);
    const double most = std::max(work, spec.rejection.cost.in_seconds());
    const double attempts = c.retry.max_attempts == RetryRules::kUnlimited
                                ? kForever
                                : static_cast<double>(c.retry.max_attempts);
    load.first += (c.makes_calls() ? first_calls.groups[group].requests : rate) * work;
    if (most > 0) load.worst += rate * attempts * most;
    attempts_of_all += rate * attempts;
    // A throttle that may refuse causes further attempts.
    if (spec.throttle.scope == ThrottleScope::kClient && spec.throttle.rate > 0 &&
        rate * attempts >= spec.throttle.rate * c.count) {
      return std::nullopt;
    }
  }
  if (spec.throttle.rate > 0 && attempts_of_all >= spec.throttle.rate &&
      spec.throttle.scope != ThrottleScope::kClient) {
    return std::nullopt;
  }
  const auto servers = static_cast<double>(std::min(spec.servers, spec.concurrency.limit));
  if (spec.servers == ServiceSpec::kUnlimited) return std::nullopt;
  load.first /= servers;
  load.worst /= servers;
  return load;
}

std::vector<std::string> ignored_by_fluid(const Scenario& scenario, std::size_t service) {
  std::vector<std::string> ignored = {"chance"};
  for (std::string& what : prediction::left_out(prediction::Theory::kRun, scenario, service)) {
    ignored.push_back(std::move(what));
  }
  return ignored;
}

double fluid_uncertainty(const Scenario& scenario, std::size_t service) {
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  double least = kForever;
  for (const prediction::FluidClients& g : system.groups) {
    double rate = system.servers / g.service_time;  // services per second
    if (system.servers == kForever && system.slowdown > 0) {
      const double room = g.timeout - g.round_trip;
      rate = (1 - g.service_time / room) / (system.slowdown * g.service_time);
    }
    if (g.timeout != kForever && rate > 0) least = std::min(least, rate * g.timeout);
  }
  return 1 / std::sqrt(least);
}

std::vector<std::string> doubts_of_fluid(const Scenario& scenario, std::size_t service) {
  constexpr double kServicesPerTimeout = 200, kClients = 50, kAttemptsPerSecond = 20;
  std::vector<std::string> doubts;
  const double uncertainty = fluid_uncertainty(scenario, service);
  if (uncertainty > 1 / std::sqrt(kServicesPerTimeout) * 1.001) {
    doubts.push_back(
        fmt::format("only {:.0f} services in one attempt timeout ({:.0f} are needed): "
                    "chance moves the backlog by {:.0f} %",
                    1 / (uncertainty * uncertainty), kServicesPerTimeout, 100 * uncertainty));
  }
  std::string short_queue =
      doubt_of_short_queue(scenario, service, prediction::fluid_system(scenario, service));
  if (!short_queue.empty()) doubts.push_back(std::move(short_queue));
  for (const ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    const std::string path = "client." + c.name;
    const bool own_state = (c.retry.quota.enabled && c.retry.quota.scope == RetryScope::kClient) ||
                           c.retry.throttle.enabled || c.retry.rate_limit.enabled;
    if (own_state && c.count < kClients) {
      doubts.push_back(
          fmt::format("{}.count: {} clients, each with its own state, are too few ({:.0f} are "
                      "needed)",
                      path, c.count, kClients));
    }
    const double slots = static_cast<double>(c.count) * c.arrivals.concurrency;
    if (c.arrivals.process == ArrivalProcess::kClosed && slots < kClients) {
      doubts.push_back(
          fmt::format("{}: {:.0f} requests at a time wait for each other by chance "
                      "({:.0f} are needed)",
                      path, slots, kClients));
    }
    const double rate = flow::mean_request_rate(scenario, c) / c.count;
    if (c.retry.rate_limit.enabled && rate < kAttemptsPerSecond) {
      doubts.push_back(
          fmt::format("{}: the limiter of adaptive mode measures in half seconds, in "
                      "which a client with {} requests a second has hardly any: its "
                      "rates are a matter of chance",
                      path, scenario::said_count(rate)));
    }
    if (c.retry.throttle.enabled && c.retry.throttle.window_calls == 0) {
      const double calls = rate * c.retry.throttle.window.in_seconds();
      if (calls < kServicesPerTimeout) {
        doubts.push_back(
            fmt::format("{}.retry.throttle.window holds {:.0f} requests of a client, "
                        "too few to tell a share",
                        path, calls));
      }
    }
  }
  return doubts;
}

}  // namespace retrysim
