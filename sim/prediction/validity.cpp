// Whether the fluid applies, and what may be off where it does.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "prediction/coverage.hpp"
#include "prediction/delay_law.hpp"
#include "prediction/fluid_run.hpp"
#include "prediction/fluid_system.hpp"
#include "prediction/service_load.hpp"

namespace retrysim {
namespace {

using prediction::kForever;

}  // namespace

std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service) {
  if (auto why = prediction::why_not(prediction::Theory::kRun, scenario, service)) return why;
  // A step is no longer than the shortest timeout, and their number is limited.
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  if (system.shortest_timeout * prediction::kMostFluidSteps < system.duration + system.drain) {
    return fmt::format("attempt_timeout: {:.3g} s is too short for a fluid that runs for {:.3g} s",
                       system.shortest_timeout, system.duration + system.drain);
  }
  return std::nullopt;
}

std::optional<std::string> why_no_balance(const Scenario& scenario, std::size_t service) {
  return prediction::why_not(prediction::Theory::kBalance, scenario, service);
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
