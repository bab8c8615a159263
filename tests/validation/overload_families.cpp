// Overload that outlives its cause: a FIFO queue whose clients give up after a time and ask again
// at once, while what they gave up is served all the same. The fluid that theory solves is the
// limit of many requests in one timeout T, which is the unit of time in the parameters and a second
// here.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

/// Requests that the server can serve in one timeout.
constexpr double kPerTimeout = 500, kPerTimeoutSmooth = 10'000;

/// Width of a time-series bin, where times are read from one.
constexpr double kBin = 0.01;

/// The disturbance begins when the queue has long been in equilibrium.
constexpr double kStart = 5;

std::string impatient_clients(double per_timeout, double rho, double attempts) {
  return fmt::format(
      "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = {} }}\n"
      "[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
      "attempt_timeout = 1\n"
      "retry = {{ mode = \"custom\", max_attempts = {}, delays = [0] }}\n",
      1 / per_timeout, rho * per_timeout, attempts);
}

std::string outage(double duration) {
  return fmt::format("[fault.outage]\ncapacity = 0\nstart = {}\nduration = {}\n", kStart, duration);
}

std::string surge(double factor, double duration) {
  return fmt::format("[client.web.surge.spike]\nfactor = {}\nstart = {}\nduration = {}\n", factor,
                     kStart, duration);
}

RunResult run_for(const DirectRun& d, const std::string& tables, double warmup, double duration,
                  double interval) {
  const Scenario scenario = load_text(
      fmt::format("name = \"overload\"\nseed = {}\nwarmup = {}\nduration = {}\ninterval = {}\n{}",
                  d.seed, warmup, duration, interval, tables));
  return simulate(scenario, d.replication);
}

/// Whether the system is still down in the last quarter of `after` timeouts.
bool is_down_at_end(const DirectRun& d, const std::string& tables, double disturbed, double after) {
  const double duration = kStart + disturbed + after;
  const RunResult run = run_for(d, tables, duration - after / 4, duration, 1);
  const ClientFlow& window = run.clients[0].window;
  return window.successes < window.requests / 2;
}

/// Where `is_down`, which is false at `low` and true at `high`, changes.
template <class IsDown>
double threshold(double low, double high, int halvings, IsDown is_down) {
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (is_down(middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

/// Long enough for a system at the brink to fall to one side.
constexpr double kDecisive = 40;

/// Each replication stands for several, as their thresholds lie far apart: within 10 % or so.
template <class Threshold>
double mean_threshold(const DirectRun& d, std::uint32_t runs, Threshold threshold_of) {
  double sum = 0;
  for (std::uint32_t i = 0; i < runs; ++i) {
    DirectRun one = d;
    one.replication = d.replication * runs + i;
    sum += threshold_of(one);
  }
  return sum / runs;
}

/// The shortest outage after which a run does not recover.
double tipping_outage(const DirectRun& d) {
  const std::string clients =
      impatient_clients(kPerTimeout, d.parameters.number("rho"), d.parameters.number("n"));
  return mean_threshold(d, 2, [&](const DirectRun& one) {
    return threshold(0.9, 1.7, 7, [&](double duration) {
      return is_down_at_end(one, clients + outage(duration), duration, kDecisive);
    });
  });
}

double tipping_spike(const DirectRun& d) {
  const Parameters& p = d.parameters;
  const std::string clients = impatient_clients(kPerTimeout, p.number("rho"), p.number("n"));
  return mean_threshold(d, 4, [&](const DirectRun& one) {
    return threshold(0.5, 3.7, 8, [&](double duration) {
      return is_down_at_end(one, clients + surge(p.number("f"), duration), duration, kDecisive);
    });
  });
}

/// The highest load at which a system that is down recovers.
double highest_safe_load(const DirectRun& d) {
  constexpr double kLongOutage = 3, kLong = 150;
  const double attempts = d.parameters.number("n");
  return threshold(0.5 / attempts, 1.5 / attempts, 7, [&](double rho) {
    return is_down_at_end(d, impatient_clients(kPerTimeout, rho, attempts) + outage(kLongOutage),
                          kLongOutage, kLong);
  });
}

/// From the beginning of a spike that does not end to the submission of the first request whose
/// attempt is not answered in time.
double first_timeouts(const DirectRun& d) {
  constexpr double kHorizon = 10;
  const Parameters& p = d.parameters;
  const std::string tables =
      impatient_clients(kPerTimeoutSmooth, p.number("rho"), 1) + surge(p.number("f"), kHorizon);
  const RunResult run = run_for(d, tables, 0, kStart + kHorizon, kBin);
  const auto& bins = run.clients[0].bins;
  const auto first = std::find_if(bins.begin(), bins.end(),
                                  [](const ClientBin& bin) { return bin.flow.timeouts > 0; });
  return (static_cast<double>(first - bins.begin()) + 0.5) * kBin - kStart - 1;
}

constexpr Quantity kOutage[] = {
    {"D50_over_T", "", nullptr, tipping_outage},
    {"lower_bound", "", nullptr, tipping_outage},
    {"rho_safe_below", "", nullptr, highest_safe_load},
    {"amplification_collapsed", "amplification"},
};

constexpr Quantity kSpike[] = {
    {"D50_over_T", "", nullptr, tipping_spike},
    {"first_timeouts_at", "", nullptr, first_timeouts},
};

/// After an outage that leaves no doubt.
System collapsed(const Parameters& p) {
  constexpr double kLongOutage = 3;
  System system{impatient_clients(kPerTimeout, p.number("rho"), p.number("n")) +
                outage(kLongOutage)};
  system.requests_per_unit = p.number("rho") * kPerTimeout * kUnitSeconds;
  system.memory_units = 1 / kUnitSeconds;
  system.warmup_units = (kStart + kLongOutage + 0.75 * kDecisive) / kUnitSeconds;
  system.window_units = 0.25 * kDecisive / kUnitSeconds;
  return system;
}

/// The runs are part of the quantities: as long as they are, there is nothing to find out.
System runs_of_their_own(const Parameters&) {
  System system;
  system.window_units = 1;
  return system;
}

// A backlog that shrinks, while everybody who comes gives up and retries.

/// The outage that leaves a backlog of W0 with retries as frequent as they become.
double outage_before_drain(const Parameters& p) {
  return p.number("W0") / (p.number("n") * p.number("rho")) + (p.number("n") - 1) / 2;
}

/// Work in the queue, in timeouts, in each bin after the outage.
std::vector<double> backlog_after_outage(const DirectRun& d) {
  const Parameters& p = d.parameters;
  const double length = outage_before_drain(p);
  const double horizon = 2 + 1.2 * p.number("W0") / (1 - p.number("n") * p.number("rho"));
  const RunResult run = run_for(
      d, impatient_clients(kPerTimeoutSmooth, p.number("rho"), p.number("n")) + outage(length), 0,
      kStart + length + horizon, kBin);
  std::vector<double> backlog;
  const auto& bins = run.services[0].bins;
  const auto first = static_cast<std::size_t>(std::lround((kStart + length) / kBin));
  for (std::size_t i = first; i < bins.size(); ++i) {
    backlog.push_back(bins[i].queue_ns / 1e9 / kBin / kPerTimeoutSmooth);
  }
  return backlog;
}

double time_to_timeout(const DirectRun& d) {
  const std::vector<double> backlog = backlog_after_outage(d);
  const auto below = std::find_if(backlog.begin(), backlog.end(), [](double w) { return w < 1; });
  return static_cast<double>(below - backlog.begin()) * kBin;
}

/// Over the first half of that time.
double slope_above_timeout(const DirectRun& d) {
  const std::vector<double> backlog = backlog_after_outage(d);
  const double half = (d.parameters.number("W0") - 1) / 2;
  const auto below = std::find_if(backlog.begin(), backlog.end(),
                                  [&](double w) { return w < backlog.front() - half; });
  return (*below - backlog.front()) / (static_cast<double>(below - backlog.begin()) * kBin);
}

constexpr Quantity kDrain[] = {
    {"slope_above_T", "", nullptr, slope_above_timeout},
    {"time_to_T_if_stationary_retries", "", nullptr, time_to_timeout},
};

// The same with a retry quota for each client.

System quota_recovery(const Parameters& p) {
  constexpr double kHorizon = 100;
  const double rate = p.number("rho") * p.number("mu"), length = p.number("outage");
  System system{fmt::format(
      "recovery = {{ share = 0.85, hold = 8 }}\n"
      "[service.api]\nservice_time = {{ distribution = \"exponential\", mean = {} }}\n"
      "[client.web]\ncount = {}\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
      "attempt_timeout = {}\n"
      "retry = {{ mode = \"standard\", max_attempts = {}, backoff.base = 0, "
      "quota = {{ capacity = {}, timeout_cost = {} }} }}\n{}",
      1 / p.number("mu"), p.text("N"), rate, p.text("T"), p.text("n"), p.text("quota"),
      p.text("timeout_cost"), outage(length))};
  system.requests_per_unit = rate * kUnitSeconds;
  system.memory_units = 0.1 / kUnitSeconds;
  system.warmup_units = 1 / kUnitSeconds;
  system.window_units = (kStart - 1 + length + kHorizon) / kUnitSeconds;
  return system;
}

double recovery_seconds(const Observation& o) {
  return measure({"recovery", "recovery_s"}, o) * kUnitSeconds;
}

constexpr Quantity kQuotaRecovery[] = {{"recovery_time_after_outage", "", recovery_seconds}};

constexpr Family kOverloadFamilies[] = {
    {"fifo_zombie_outage", collapsed, kOutage},
    {"fifo_zombie_spike", runs_of_their_own, kSpike},
    {"fifo_zombie_drain", runs_of_their_own, kDrain},
    {"fifo_zombie_quota_recovery", quota_recovery, kQuotaRecovery},
};

}  // namespace

std::span<const Family> overload_families() { return kOverloadFamilies; }

}  // namespace retrysim::validation
