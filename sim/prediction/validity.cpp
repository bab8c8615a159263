// What the fluid models and what it leaves out.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "prediction/delay_law.hpp"
#include "prediction/fluid_system.hpp"
#include "prediction/service_load.hpp"

namespace retrysim {
namespace {

using prediction::kForever;

/// Whether a client's budget always has room for its retries, many times over.
bool budget_is_ample(const Scenario& scenario, const ClientSpec& c) {
  constexpr double kAmple = 3;
  const BudgetRules& budget = c.retry.budget;
  if (c.arrivals.process == ArrivalProcess::kClosed || !c.timeouts.has_attempt) return false;
  if (c.retry.max_attempts == RetryRules::kUnlimited) return false;
  const double rate = scenario::mean_request_rate(scenario, c) / c.count;
  const double retries = rate * (static_cast<double>(c.retry.max_attempts) - 1);
  if (budget.kind == BudgetKind::kWindow) return budget.minimum >= kAmple * retries;
  const double backoff = prediction::mean_of(prediction::backoff_law(c.retry.backoff, false, 1));
  return budget.minimum >= kAmple * retries * (c.timeouts.attempt.mean_seconds() + backoff);
}

std::optional<std::string> why_no_fluid_client(const Scenario& scenario, const ClientSpec& c) {
  const std::string path = prediction::path_of(scenario, c);
  if (c.caller) return path + ": calls that a service makes depend on what it is called for";
  if (c.strategy) return path + ": what a strategy of the user's own does is not known";
  if (!calls_one_service(c)) return path + ".calls: requests to several services";
  if (c.unrepeatable > 0) return path + ".unrepeatable: requests that are not retried";
  const bool has_limiter = c.retry.rate_limit.enabled;
  if (!c.retryer.empty() && (c.retry.quota.enabled || has_limiter)) {
    return path + ".retry.retryer: what groups share";
  }
  if (c.retry.quota.enabled && c.retry.quota.scope > RetryScope::kGroup) {
    return path + ".retry.quota.scope: several quotas of one client";
  }
  if (has_limiter && c.retry.rate_limit.scope != RetryScope::kClient) {
    return path + ".retry.rate_limit.scope: limiters that clients share, or have several of";
  }
  if (c.retry.hedging.enabled) return path + ".retry.hedging: attempts beside each other";
  if (c.retry.breaker.enabled) {
    return path + ".retry.breaker: it counts the few attempts of one client, which is chance";
  }
  if (c.retry.budget.kind != BudgetKind::kNone && !budget_is_ample(scenario, c)) {
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
  if (!has_queue(s.queue.discipline)) {
    return path + ".queue.discipline: the time of an attempt among others depends on those to come";
  }
  if (s.queue.discipline != Discipline::kFifo) {
    return path + ".queue.discipline: only fifo lets all attempts of a moment wait equally long";
  }
  if (s.autoscaling.target > 0) return path + ".autoscaling: servers that come and go";
  if (s.instances.count > 1) {
    return path + ".instances: which instance an attempt meets, and what waits there, is chance";
  }
  if (s.slowdown.enabled() && s.slowdown.curve != SlowdownCurve::kLinear) {
    return path + ".slowdown_curve: only a linear slowdown is part of the fluid";
  }
  if (s.concurrency.control != ConcurrencyControl::kFixed) {
    return path + ".concurrency: a limit that is adapted to single answers";
  }
  if (s.timeout != Duration::max()) return path + ".timeout: the service's own limit";
  if (s.throttle.rate > 0) {
    if (s.throttle.has_limits()) {
      return path + ".throttle: limits of single operations or keys";
    }
    if (s.throttle.scope > ThrottleScope::kClient) {
      return path + ".throttle.scope: what is left to single operations or keys";
    }
    if (s.throttle.window > Duration::zero()) {
      return path + ".throttle.window: an allowance that comes back all at once";
    }
  }
  if (s.answers.limit) return path + ".answers.limit: an answer other than that of a full queue";
  if (s.answers.overflow && s.answers.overflow->retry_after) {
    return path + ".answers.overflow: a delay that a full queue suggests";
  }
  bool called = false;
  for (const ClientSpec& c : scenario.clients) {
    if (c.caller == service) {
      return fmt::format("{}: {} waits for the services that it calls",
                         prediction::path_of(scenario, c), path);
    }
    if (share_of_calls(c, service) <= 0) continue;
    called = true;
    if (auto why = why_no_fluid_client(scenario, c)) return why;
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
  leave_out(s.slowdown.per_attempt > 0 && s.servers != ServiceSpec::kUnlimited, "slowdown");
  bool reconciles = false, pool = false, bursts = false, limiter = false, spread = false,
       decorrelated = false;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    reconciles = reconciles || (c.side_effects.reconciles && c.side_effects.mutating > 0);
    pool = pool || c.max_connections != ClientSpec::kUnlimited;
    bursts = bursts || c.arrivals.process == ArrivalProcess::kOnOff;
    limiter = limiter || c.retry.rate_limit.enabled;
    spread = spread || (c.timeouts.has_attempt && !c.timeouts.attempt.is_constant());
    decorrelated = decorrelated || c.retry.backoff.jitter == Jitter::kDecorrelated;
  }
  leave_out(reconciles, "reads before retries");
  leave_out(pool, "limits on connections");
  leave_out(bursts, "bursts of single clients");
  leave_out(spread, "the spread of attempt timeouts");
  leave_out(limiter, "whole send tokens (clients of adaptive mode are forty representatives)");
  leave_out(decorrelated, "that a decorrelated delay depends on the one before");
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
  for (const ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    const std::string path = "client." + c.name;
    const bool own_state = (c.retry.quota.enabled && c.retry.quota.scope == RetryScope::kClient) ||
                           c.retry.throttle.enabled || c.retry.rate_limit.enabled;
    if (own_state && c.count < kClients) {
      doubts.push_back(
          fmt::format("{}.count: {} clients, each with a state of its own, are no crowd "
                      "({:.0f} are needed)",
                      path, c.count, kClients));
    }
    const double slots = static_cast<double>(c.count) * c.arrivals.concurrency;
    if (c.arrivals.process == ArrivalProcess::kClosed && slots < kClients) {
      doubts.push_back(
          fmt::format("{}: {:.0f} requests at a time wait for each other by chance "
                      "({:.0f} are needed)",
                      path, slots, kClients));
    }
    const double rate = scenario::mean_request_rate(scenario, c) / c.count;
    if (c.retry.rate_limit.enabled && rate < kAttemptsPerSecond) {
      doubts.push_back(
          fmt::format("{}: the limiter of adaptive mode measures in half seconds, in "
                      "which a client with {:.3g} requests a second has hardly any: its "
                      "rates are a matter of chance",
                      path, rate));
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
