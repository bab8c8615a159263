// Predictions from theory, before anything is simulated: formulas, facts in closed form (loads,
// limits, times and budgets of each service and client group, with warnings that name the keys, the
// figure and what would change it), and `predict`, which adds the figures of fluid and Markov
// chain.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/markov_chain.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace retrysim {

class Tables;

// --- Formulas ------------------------------------------------------------------------------------

/// One delay before a retry, in seconds.
struct BackoffMoments {
  double mean = 0, sd = 0;
  double least = 0, most = 0;  ///< bounds
};

/// The delay before retry number `retry` (from 1), after a throttling error or any other. Exact for
/// every jitter except decorrelated, whose law is computed from the previous one on a grid: its
/// means are right to 1e-5, those of decorrelated-v2 to 1e-3. Rounding to whole quanta is exact in
/// the mean. Without a cap, delays may be infinite.
BackoffMoments backoff_moments(const BackoffRules& rules, bool throttling, int retry);

/// Attempts per request if each fails with probability `failure`, `attempts` at most:
/// (1 - p^n) / (1 - p).
double attempts_per_request(double failure, double attempts);

/// The failure share above which a client with one request at a time drains its retry quota: the
/// root of 1 - p - cost (p^2 + ... + p^n) for a credit of `credit` per first-try success, where a
/// success after retries gives the last cost back. 1 if no share drains it.
double quota_critical_share(double attempts, double cost, double credit = 1);

/// How many retries a quota leaves to a client with one request at a time whose attempts fail
/// independently with probability `failure`, from the stationary law of the bucket. Refund::kLast.
struct QuotaBalance {
  double retries_per_request = 0;
  double success_share = 1;
  double denials_per_request = 0;
  double mean_level = 0;  ///< tokens at the end of a request
};
QuotaBalance quota_balance(double failure, int attempts, int cost, int capacity, int credit = 1);

/// Overload as a balance of work. At load `load` (new requests times their service time, per
/// capacity) let a share p of all attempts fail for lack of capacity, and let such a failure cost
/// `failure_cost` of a service: 1 where abandoned attempts are served anyway, 0 where they are
/// turned away for nothing. A request then needs g(p) = (1 - p^n) (1 + w p / (1 - p)) services, and
/// the system is in equilibrium where load x g(p) = 1.
struct OverloadBalance {
  double load = 0;
  double attempts = 1;
  double failure_cost = 1;

  double work_per_request(double failure) const;  ///< g(p)
};

struct OverloadEquilibria {
  struct Root {
    double failure = 0;   ///< share of attempts that fail
    bool stable = false;  ///< whether small deviations die out: g falls there
  };
  std::vector<Root> saturated;  ///< those with 0 < p < 1, by p
  bool healthy = true;          ///< p = 0 is an equilibrium: load < 1
  bool collapse = false;        ///< p = 1 is one: load x n x w >= 1
  double peak = 1;              ///< largest g
  double failure_at_peak = 0;
  double vulnerable_load = 1;  ///< 1 / peak: below it the system recovers from everything
  double collapse_load = 1;  ///< 1 / (n w): from it on the dead state sustains itself; or infinite
};
/// Throws std::invalid_argument unless load >= 0, attempts >= 1 and 0 <= failure_cost <= 1e6.
OverloadEquilibria equilibria(const OverloadBalance& balance);

/// A loss system whose retries come so late that they arrive as randomly as requests. The failure
/// share p = ErlangB(servers, load (1 + p + ... + p^(n-1))), with `load` in servers.
double late_retry_failure(double load, int servers, double attempts);

/// The send rate of adaptive mode `seconds` after a throttling error at `rate` per second:
/// C (t - K)^3 + w with K = (w (1 - beta) / C)^(1/3), C = 0.4 and beta = 0.7 (botocore).
double cubic_rate(double rate, double seconds);
double cubic_window(double rate);  ///< K, the time to get back to the old rate

// --- Facts of a scenario -------------------------------------------------------------------------

/// One figure of a service or a client group.
struct Figure {
  std::string part;     ///< "facts", "fluid" or "chain"
  std::string subject;  ///< "service.api", "client.web"
  std::string name;     ///< "utilization"
  double value = 0;
  std::string unit;  ///< "s", "1/s", "1" (shares in 0 .. 1), "requests", "tokens", ...
  std::string meaning;
  std::string ignores;    ///< features of the scenario that the figure leaves out; empty: none
  std::string text = {};  ///< a word instead of the value, which then means nothing
};

/// A warning to read before running anything.
struct Warning {
  std::string subject;  ///< "client.web"
  std::string keys;     ///< "attempt_timeout, service.api.queue.capacity"
  std::string message;  ///< a sentence with the figure
  std::string remedy;   ///< what would change it
};

/// A remark on a part of a prediction: a sentence that names the keys.
struct Remark {
  std::string part;     ///< "facts", "fluid" or "chain"
  std::string subject;  ///< "service.api"
  std::string text;
};

struct Facts {
  std::vector<Figure> figures;
  std::vector<Warning> warnings;
  std::vector<Remark> refusals;  ///< services without figures or warnings, and why
};

/// Takes a valid scenario. Costs microseconds for each client group, and up to a few milliseconds
/// for one with decorrelated jitter and many attempts, whose delays depend on each other.
Facts facts_of(const Scenario& scenario);

// --- Predictions ---------------------------------------------------------------------------------

// All figures of facts, fluid and Markov chain for a scenario. Each figure names the features of
// the scenario that it leaves out; where a part does not apply, a remark says why.
//
//     const Prediction p = predict(*load_scenario_file("dip.toml").loaded);
//     if (const Figure* f = p.find("fluid", "client.web", "goodput")) ... f->value ...

/// A feature of the scenario that some parts of theory do not model.
struct Unmodelled {
  std::string feature;              ///< "a service that calls others"
  std::vector<std::string> places;  ///< "service.front.calls"
  /// The parts that ignore it, and what they ignore: "loads, waits: waiting at the services that it
  /// calls"; and those that give no figure, and why. One of the two may be empty.
  std::string left_out, no_figure;
};

struct Prediction {
  std::vector<Figure> figures;  ///< facts, then fluid, then chain
  std::vector<Warning> warnings;
  std::vector<Remark> refusals;  ///< parts that do not apply to a service, and why
  std::vector<Remark> doubts;    ///< why figures may be off
  /// Every feature in use that is not modelled, in the order of the table of theory.
  std::vector<Unmodelled> unmodelled;

  /// Null if there is none.
  const Figure* find(std::string_view part, std::string_view subject, std::string_view name) const;
};

struct PredictionOptions {
  bool fluid = true, chain = true;
  int orbit = 0;  ///< largest number of requests in the chain's orbit; 0: found
};

/// Takes a valid scenario. Facts cost microseconds, the fluid about a millisecond for ten thousand
/// steps and twenty times that for each trigger, the chain up to a second.
Prediction predict(const Scenario& scenario, const PredictionOptions& options = {});

/// The chain of queue and orbit for a service, or why there is none. An orbit of 0 is still to be
/// found, by `solve_with_orbit`.
using ChainOrReason = std::variant<RetrialQueue, std::string>;
ChainOrReason chain_of(const Scenario& scenario, std::size_t service);

/// Solves the chain with an orbit so large that its edge is occupied for less than 1e-10 of the
/// time, or as large as 40,000 states allow; sets `queue.orbit` to it.
RetrialQueueLaw solve_with_orbit(RetrialQueue& queue);

/// prediction: a row for each figure, remark and warning. If the fluid applies to a service, also
/// trajectories and equilibria: its phase plane (fluid.hpp), a few dozen runs of the fluid for each
/// service. `prediction` is that of the scenario.
Tables tables(const Prediction& prediction, const Scenario& scenario);

}  // namespace retrysim
