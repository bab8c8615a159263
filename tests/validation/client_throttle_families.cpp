// Clients that refuse their own attempts: the throttle of Google's SRE book ("Handling overload").
// Each attempt that is made is accepted with probability 1 - p, whatever happened before. Where
// refusals are frequent the probability of the next one is linear in the accepts among the last r
// calls, so that the mean follows exactly; below the critical p no call is refused.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

/// Calls in one unit of time. Answers take none, so that an accept belongs to the latest call.
constexpr double kCalls = 100;

std::string throttled_client(double failure, const Parameters& p) {
  const std::string retry = fmt::format(
      "{{ mode = \"custom\", max_attempts = 1, client_throttle = {{ k = {}, window_calls = {} }} "
      "}}",
      p.text("K"), p.text("window_requests"));
  return fmt::format(
             "[service.api]\nmodel = \"independent\"\nservice_time = 0\n"
             "errors.internal = {}\n",
             failure) +
         client_table(kCalls, retry);
}

double share_refused(const RunResult& run) {
  const ClientResult& c = run.clients[0];
  return static_cast<double>(c.outcomes[static_cast<std::size_t>(Outcome::kNoSendToken)]) /
         static_cast<double>(c.requests);
}

double refused(const Observation& o) { return share_refused(o.run); }

double sent(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return static_cast<double>(c.attempts) / static_cast<double>(c.requests);
}

/// The probability of failure from which most calls are refused, in the long run.
double critical_failure(const DirectRun& d) {
  constexpr double kWindows = 200;  // simulated; judged by the second half
  const double units = kWindows * d.parameters.number("window_requests") / kCalls;
  double low = 0, high = 1;
  for (int halvings = 0; halvings < 9; ++halvings) {
    const double failure = (low + high) / 2;
    const Scenario scenario = load_text(
        fmt::format("name = \"throttle\"\nseed = {}\nwarmup = {}\nduration = {}\ninterval = {}\n{}",
                    d.seed, seconds(units / 2), seconds(units), seconds(units),
                    throttled_client(failure, d.parameters)));
    (share_refused(simulate(scenario, d.replication)) > 0.5 ? high : low) = failure;
  }
  return (low + high) / 2;
}

constexpr Quantity kClientThrottle[] = {
    {"send_fraction", "", sent},
    {"local_reject", "", refused},
    {"p_crit", "", nullptr, critical_failure},
};

/// A call that is accepted brings K (1 - p) others with it within a window: a branching process,
/// whose past is forgotten the later the closer that is to one.
System sre_adaptive_throttle(const Parameters& p) {
  const double offspring = p.number("K") * (1 - p.number("p"));
  const double windows = 1 / std::min(1.0, std::abs(1 - offspring));
  return {throttled_client(p.number("p"), p), kCalls,
          windows * p.number("window_requests") / kCalls};
}

constexpr Family kClientThrottleFamilies[] = {
    {"sre_adaptive_throttle", sre_adaptive_throttle, kClientThrottle}};

}  // namespace

std::span<const Family> client_throttle_families() { return kClientThrottleFamilies; }

}  // namespace retrysim::validation
