// What the fluid models and what it leaves out.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_system.hpp"

namespace retrysim {
namespace {

std::optional<std::string> why_no_fluid_client(const ClientSpec& c) {
  const std::string path = "client." + c.name;
  if (c.caller) return path + ".caller: calls that a service makes depend on what it is called for";
  if (c.strategy) return path + ": what a strategy of the user's own does is not known";
  if (c.retry.hedging.enabled) return path + ".retry.hedging: attempts beside each other";
  if (c.retry.breaker.enabled) {
    return path + ".retry.breaker: it counts the few attempts of one client, which is chance";
  }
  if (c.retry.budget.kind != BudgetKind::kNone) {
    return path + ".retry.budget: it counts the few requests of one client, which is chance";
  }
  if (c.retry.quota.enabled && c.retry.quota.on_empty == QuotaOnEmpty::kWait) {
    return path + ".retry.quota.on_empty: retries that wait for tokens";
  }
  if (c.arrivals.process == ArrivalProcess::kPoll) {
    return path + ".arrivals: how often a job is polled depends on when it began";
  }
  if (c.arrivals.process == ArrivalProcess::kOnOff && c.arrivals.aligned) {
    return path + ".arrivals.aligned: bursts of all clients together come at random";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services.at(service);
  const std::string path = "service." + s.name;
  if (s.model == ServiceModelKind::kOcc) {
    return path + ".model: conflicts of optimistic concurrency control are between single attempts";
  }
  switch (s.discipline) {
    case Discipline::kFifo:
      break;
    case Discipline::kProcessorSharing:
      return path + ".discipline: the time of an attempt among others depends on those to come";
    case Discipline::kLifo:
    case Discipline::kRandom:
    case Discipline::kPriority:
    case Discipline::kCodel:
      return path + ".discipline: only fifo lets all attempts of a moment wait equally long";
  }
  if (s.autoscaling.target > 0) return path + ".autoscaling: servers that come and go";
  if (s.concurrency.control != ConcurrencyControl::kFixed) {
    return path + ".concurrency: a limit that is adapted to single answers";
  }
  if (s.timeout != Duration::max()) return path + ".timeout: the service's own limit";
  bool called = false;
  for (const ClientSpec& c : scenario.clients) {
    if (c.caller == service) {
      return fmt::format("client.{}.caller: {} waits for the services that it calls", c.name, path);
    }
    if (c.service != service) continue;
    called = true;
    if (auto why = why_no_fluid_client(c)) return why;
  }
  if (!called) return path + ": nobody calls it";
  return std::nullopt;
}

std::vector<std::string> ignored_by_fluid(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services.at(service);
  std::vector<std::string> ignored = {"chance"};
  const auto leave_out = [&](bool applies, const char* what) {
    if (applies) ignored.emplace_back(what);
  };
  leave_out(!scenario.network.latency.is_constant(), "the spread of network latency");
  leave_out(scenario.network.connect.mean_seconds() > 0, "time to connect");
  leave_out(s.idempotency.remembers(), "answers from idempotency tokens");
  leave_out(s.slowdown > 0 && s.servers != ServiceSpec::kUnlimited, "slowdown");
  bool pool = false, bursts = false, limiter = false, spread = false, decorrelated = false;
  for (const ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    pool = pool || c.max_connections != ClientSpec::kUnlimited;
    bursts = bursts || c.arrivals.process == ArrivalProcess::kOnOff;
    limiter = limiter || c.retry.rate_limit.enabled;
    spread = spread || (c.has_attempt_timeout && !c.attempt_timeout.is_constant());
    decorrelated = decorrelated || c.retry.backoff.jitter == Jitter::kDecorrelated;
  }
  leave_out(pool, "limits on connections");
  leave_out(bursts, "bursts of single clients");
  leave_out(spread, "the spread of attempt timeouts");
  leave_out(limiter, "whole send tokens (clients of adaptive mode are forty representatives)");
  leave_out(decorrelated, "that a decorrelated delay depends on the one before");
  return ignored;
}

double fluid_uncertainty(const Scenario& scenario, std::size_t service) {
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  double least = std::numeric_limits<double>::infinity();
  for (const prediction::FluidClients& g : system.groups) {
    const double services = g.timeout * system.servers / g.service_time;
    if (services > 0) least = std::min(least, services);
  }
  return 1 / std::sqrt(least);
}

}  // namespace retrysim
