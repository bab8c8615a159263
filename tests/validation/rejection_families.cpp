// A service to which every rejection is work too, and clients who come back after long backoffs: as
// a fluid it has states of overload that feed themselves. A unit of time is a mean service time.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

/// Long enough for thousands of requests to be waiting, as many as a fluid takes; the places in the
/// queue are few beside them, but enough for a server that is busy and seldom idle.
constexpr double kBackoff = 4000, kPlaces = 50;

/// At first every attempt fails with a given probability, without any work, so that as many
/// requests wait to retry as that brings about. Then the service is left alone with them.
constexpr double kFailing = 8 * kBackoff, kAlone = 24 * kBackoff;

/// The last quarter of the time alone, in one replication.
RunResult left_alone(const DirectRun& d, double rho, double failure) {
  const Parameters& p = d.parameters;
  const std::string service =
      fmt::format("queue.capacity = {}\nreject_cost = {}\n", kPlaces, seconds(p.number("w")));
  const std::string retry =
      fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = [{}] }})", p.text("n"),
                  exponential(kBackoff));
  const Scenario scenario = load_text(fmt::format(
      "name = \"rejections\"\nseed = {}\nwarmup = {}\nduration = {}\ninterval = {}\n"
      "drain = false\n{}{}[fault.failing]\nerrors.unavailable = {}\nstart = 0\nduration = {}\n",
      d.seed, seconds(kFailing + 0.75 * kAlone), seconds(kFailing + kAlone), seconds(kBackoff),
      service_table("1", exponential(1), service), client_table(rho, retry), failure,
      seconds(kFailing)));
  return simulate(scenario, d.replication);
}

/// Some attempts still fail. A queue that is no more than busy turns next to nobody away.
bool is_overloaded(const RunResult& run) {
  constexpr double kFew = 0.1;
  const ClientFlow& window = run.clients[0].window;
  return static_cast<double>(window.errors) > kFew * static_cast<double>(window.attempts);
}

template <class IsDown>
double threshold(double low, double high, IsDown is_down) {
  constexpr int kHalvings = 8;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (is_down(middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

/// The share of failures from which they become ever more.
double unstable_failure(const DirectRun& d) {
  constexpr std::uint32_t kRunsOfOne = 6;  // thresholds lie apart by a tenth of their mean
  const double rho = d.parameters.number("rho");
  double sum = 0;
  for (std::uint32_t i = 0; i < kRunsOfOne; ++i) {
    DirectRun one = d;
    one.replication = d.replication * kRunsOfOne + i;
    sum += threshold(0, 1, [&](double p) { return is_overloaded(left_alone(one, rho, p)); });
  }
  return sum / kRunsOfOne;
}

/// The load from which an overload, once there, stays.
double vulnerable_load(const DirectRun& d) {
  return threshold(0, 1, [&](double rho) { return is_overloaded(left_alone(d, rho, 1)); });
}

/// Whether nothing but rejections can be all that is left.
double has_collapse(const DirectRun& d) {
  const RunResult run = left_alone(d, d.parameters.number("rho"), 1);
  const ClientFlow& window = run.clients[0].window;
  return static_cast<double>(window.successes) < 0.01 * static_cast<double>(window.requests) ? 1
                                                                                             : 0;
}

constexpr Quantity kCostly[] = {
    {"p_unstable", "", nullptr, unstable_failure},
    {"rho_vulnerable", "", nullptr, vulnerable_load},
    {"collapse_exists", "", nullptr, has_collapse},
};

System runs_of_rejections(const Parameters&) {
  System system;
  system.window_units = 1;
  return system;
}

constexpr Family kRejectionFamilies[] = {{"fluid_costly_reject", runs_of_rejections, kCostly}};

}  // namespace

std::span<const Family> rejection_families() { return kRejectionFamilies; }

}  // namespace retrysim::validation
