// A server that is shared by all attempts, those too whose clients have given up: after a patience
// of random length a client leaves its attempt behind as a zombie and, with probability alpha,
// sends another at once. Everything is exponential, so the numbers of live attempts and of zombies
// are a Markov chain: an overload that sustains itself, solved exactly.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

std::string shared_server(const Parameters& p, double places) {
  return service_table("1", exponential(1 / p.number("mu")),
                       fmt::format("queue.discipline = \"processor-sharing\"\n"
                                   "queue.capacity = {}\noverflow = \"invalid\"\n",
                                   places));
}

/// Clients for whom a full server is the end, unlike their own impatience.
std::string patience_and_retries(const Parameters& p) {
  return fmt::format(
      "attempt_timeout = {}\nretry = {{ mode = \"custom\", max_attempts = \"unlimited\", "
      "delays = [0], probability = {} }}\n",
      exponential(1 / p.number("theta")), p.text("alpha"));
}

std::string poisson_clients(const Parameters& p) {
  return fmt::format("[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\n{}",
                     per_second(p.number("lam")), patience_and_retries(p));
}

System ps_zombie(const Parameters& p) {
  constexpr double kMemory = 4500;  // between collapse and recovery: P061; the others forget faster
  return {shared_server(p, p.number("K")) + poisson_clients(p), p.number("lam"), kMemory};
}

/// Only live attempts are under way for their clients.
double live(const Observation& o) {
  return o.run.clients[0].window.in_flight_ns / 1e9 / kUnitSeconds / window_units(o.run);
}

double zombies(const Observation& o) { return measure({"L", "in_system_mean"}, o) - live(o); }

double timeout_rate(const Observation& o) {
  return static_cast<double>(o.run.clients[0].window.timeouts) / window_units(o.run);
}

// Times until something happens, each from a run of its own.

constexpr double kZombieBin = 1;

/// Mean over many runs of the time (the middle of the bin) at which `happens` is first true of a
/// bin of the service. A run that is too short is repeated, twice as long.
template <class Happens>
double mean_time_until(const DirectRun& d, const std::string& tables, Happens happens) {
  constexpr double kFirstHorizon = 2000, kRequestsEach = 3300;
  const auto runs = static_cast<std::uint32_t>(std::max(1.0, d.requests / kRequestsEach));
  double sum = 0;
  for (std::uint32_t i = 0; i < runs; ++i) {
    for (double horizon = kFirstHorizon;; horizon *= 2) {
      const Scenario scenario =
          load_text(fmt::format("name = \"zombies\"\nseed = {}\nduration = {}\ninterval = {}\n"
                                "drain = false\n{}",
                                d.seed, seconds(horizon), seconds(kZombieBin), tables));
      const RunResult run = simulate(scenario, d.replication * runs + i);
      const std::vector<ServiceFlow>& bins = run.services[0].bins;
      const auto first = std::find_if(bins.begin(), bins.end(), happens);
      if (first == bins.end()) continue;
      sum += (static_cast<double>(first - bins.begin()) + 0.5) * kZombieBin;
      break;
    }
  }
  return sum / runs;
}

/// An empty server becomes full at the instant at which one with a place less turns the first
/// attempt away.
double time_to_full(const DirectRun& d) {
  const Parameters& p = d.parameters;
  return mean_time_until(d, shared_server(p, p.number("K") - 1) + poisson_clients(p),
                         [](const ServiceFlow& bin) { return bin.rejected > 0; });
}

/// From one live attempt and K - 1 zombies to at most `lo` attempts in all. A bin whose mean is
/// less than one more has seen that; where the number goes back up at once a bin may miss it, but
/// not the next ones. The zombies are left by clients that give up a nanosecond after the start.
double time_to_recovery(const DirectRun& d) {
  const Parameters& p = d.parameters;
  const std::string tables =
      shared_server(p, p.number("K")) + poisson_clients(p) +
      fmt::format("[client.live]\narrivals = {{ process = \"once\" }}\n{}",
                  patience_and_retries(p)) +
      fmt::format(
          "[client.zombies]\ncount = {}\narrivals = {{ process = \"once\" }}\n"
          "attempt_timeout = \"1ns\"\nretry = {{ mode = \"none\" }}\n",
          p.number("K") - 1);
  const double limit = (p.number("lo") + 1) * kZombieBin * kUnitSeconds * 1e9;
  return mean_time_until(
      d, tables, [&](const ServiceFlow& bin) { return bin.in_system_ns < limit * (1 - 1e-9); });
}

constexpr Quantity kZombies[] = {
    {"goodput", "goodput"},
    {"util", "utilization"},
    {"L_live", "", live},
    {"Z_zombie", "", zombies},
    {"P_full", "", first_attempts_failed},
    {"timeout_rate", "", timeout_rate},
    {"hit_full_from_empty", "", nullptr, time_to_full},
    {"recover_from_1_Kminus1_to_le_lo", "", nullptr, time_to_recovery},
};

constexpr Family kZombieFamilies[] = {{"ps_zombie", ps_zombie, kZombies}};

}  // namespace

std::span<const Family> zombie_families() { return kZombieFamilies; }

}  // namespace retrysim::validation
