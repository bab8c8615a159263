// The fluid, or mean field, of a service and its clients: requests as a stream instead of one by
// one. It is the limit of a scenario when everything is scaled up together, and it answers within
// milliseconds, or seconds for long scenarios, where a system settles, which trigger tips it, and
// how long it takes to recover. It has no randomness, so it cannot say how long a vulnerable
// system lasts without a trigger (markov_chain.hpp can).
//
// Unknowns: the work W(t) waiting at the service, in seconds; the streams a_i(t) of attempts number
// i; the law of one client's retry quota. An attempt that arrives at t waits for as long as the
// service, with its future capacity, needs for W(t). Attempts that are not answered in time, turned
// away, throttled or answered with an error come back as a_(i+1) after the backoff's law.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// Why the fluid does not model the service with index `service`: a sentence that names the keys.
/// Empty: it does.
std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service);

/// Why the fluid has no equilibria for the service (`fluid_equilibria`), although it may model
/// runs. Empty: it has.
std::optional<std::string> why_no_balance(const Scenario& scenario, std::size_t service);

/// The load of a service per capacity: of first attempts, and if each request makes all of its
/// attempts and each of them is served (or infinite). If that is below 1 the service recovers from
/// everything, whatever the rules of queue and clients are: no backlog lasts.
struct WorstLoad {
  double first = 0, worst = 0;
};
/// Empty where the scenario's attempts may cost more than that, or a throttle may refuse some.
std::optional<WorstLoad> worst_load(const Scenario& scenario, std::size_t service);

/// What the fluid leaves out of the service and its clients, a few words each: "the spread of
/// service times".
std::vector<std::string> ignored_by_fluid(const Scenario& scenario, std::size_t service);

struct FluidOptions {
  double steps_per_timeout = 400;  ///< of the shortest attempt timeout; 50 .. 10000
  double series_interval = 0;  ///< width of the bins of `FluidRun::series`, s; 0: the scenario's
};

/// Flows through a service in one bin of time, per second.
struct FluidSample {
  double time = 0;      ///< middle of the bin, s
  double backlog = 0;   ///< work that waits, in seconds at full capacity (at the end of the bin)
  double offered = 0;   ///< new requests
  double attempts = 0;  ///< attempts that clients send
  double goodput = 0;   ///< requests that succeed
  /// Number of requests on their way back (failing, or in backoff) at the end of the bin.
  double retrying = 0;
};

/// How the requests and attempts of one client group ended, as numbers in the window (the duration
/// without its warm-up); with a drain, later attempts and ends are included.
struct FluidGroup {
  std::size_t client = 0;  ///< index into Scenario::clients
  double requests = 0, attempts = 0, successes = 0;
  double timeouts = 0, rejected = 0, throttled = 0, errors = 0;  ///< attempts
  double quota_denied = 0;                                       ///< requests
  double refused = 0;       ///< requests that a client-side throttle or limiter ends
  double goodput = 0;       ///< per second of the window, inside it
  double attempt_rate = 0;  ///< attempts that arrive at the service, in the same unit
  double offered = 0;       ///< new requests, in the same unit
};

struct FluidRun {
  std::vector<FluidSample> series;
  std::vector<FluidGroup> groups;  ///< the groups that call the service, in the scenario's order
  double backlog = 0;              ///< at the end, s
  /// Time from the end of the last disturbance until goodput has recovered for good
  /// (RecoverySpec::share), s; empty if that does not happen within the duration, or there is no
  /// disturbance. Closed loops are due the requests per second that they made before the first one
  /// (without time before: half of what servers without a queue would let them make).
  std::optional<double> recovery;
  bool disturbed = false;  ///< whether there is a fault or a surge
  /// Less than half of the requests succeed in the last quarter of the time after the last
  /// disturbance (of the whole, if there is none), or no request of closed loops.
  bool down_at_end = false;
  std::size_t steps = 0;
};

/// Throws std::domain_error with `why_no_fluid` where that is not empty.
FluidRun run_fluid(const Scenario& scenario, std::size_t service, const FluidOptions& options = {});

// --- Equilibria ----------------------------------------------------------------------------------

enum class FluidPhase { kSafe, kVulnerable, kOverloaded, kDead };
template <>
inline constexpr std::string_view kWords<FluidPhase> = "safe|vulnerable|overloaded|dead";
static_assert(words_end_with(FluidPhase::kDead));

/// The balance of a service under its constant load, faults and surges left out.
struct FluidEquilibria {
  /// safe: only the healthy state sustains itself; vulnerable: another one does as well. Without
  /// any trigger the others are short of capacity, and at least half of the requests succeed where
  /// they settle (overloaded) or fewer (dead).
  FluidPhase phase = FluidPhase::kSafe;
  double load = 0;  ///< work of the first attempts per capacity
  struct State {
    double failure = 0;  ///< share of attempts that fail for lack of capacity
    double load = 0;     ///< the resulting work of all attempts, per capacity
    bool stable = false;
    double backlog = 0;   ///< s; infinite: it grows for ever
    double retrying = 0;  ///< requests on their way back, by Little's law
    double success = 0;   ///< share of the requests that succeed
    std::string name;     ///< "healthy", "tipping point", "overloaded", "dead"
  };
  std::vector<State> states;   ///< by failure
  double vulnerable_load = 1;  ///< below this load, with the same clients, it is safe
  double tipping_load = 1;     ///< from this load on it is overloaded or dead, without any trigger
  double success = 1;          ///< share of the requests that succeed where it settles without one
  double failure_cost = 1;     ///< work of a failed attempt, in services (OverloadBalance)
  bool quota_saves = false;    ///< without the retry quota a dead state would sustain itself
};
/// Where retries are limited by rules that the balance does not know (budgets, shared quotas,
/// bodies that cannot be sent again): the balance without any retries, if the phase is the same
/// with all retries that clients may make; otherwise empty.
std::optional<FluidEquilibria> balance_with_any_retries(const Scenario& scenario,
                                                        std::size_t service);
/// Throws std::domain_error with `why_no_balance` where that is not empty.
FluidEquilibria fluid_equilibria(const Scenario& scenario, std::size_t service);

// --- Tipping points ------------------------------------------------------------------------------

struct FluidTippingPoint {
  std::string trigger;        ///< "fault.outage.duration", "client.web.surge.peak.duration"
  double duration = 0;        ///< shortest one after which the system stays down, s
  bool found = false;         ///< false: it recovers even from `duration`
  bool down_without = false;  ///< it is down with no trigger at all
};
/// For each fault of the service and each surge of its clients: the duration that tips it, all
/// other disturbances left out, to within `tolerance` of it. Durations up to `longest` seconds are
/// tried (0: fifty timeouts, or the trigger's own duration if that is longer). The system has
/// recovered if it is up at the end of eighty timeouts, or four times the trigger's duration,
/// whichever is longer; while its backlog still falls then, it gets up to 64 times as much.
std::vector<FluidTippingPoint> fluid_tipping_points(const Scenario& scenario, std::size_t service,
                                                    double longest = 0, double tolerance = 1e-4);

/// Relative size of chance in the backlog near the edge: 1 / sqrt(services per timeout).
double fluid_uncertainty(const Scenario& scenario, std::size_t service);

/// Why the fluid may be off although it models every feature of the scenario: too few services in a
/// timeout, too few clients, limiters that see too few requests. Sentences that name the keys;
/// empty: its stationary figures should be right to 5 %, recovery times to 15 %.
std::vector<std::string> doubts_of_fluid(const Scenario& scenario, std::size_t service);

// --- The phase plane -----------------------------------------------------------------------------

// How a service and its clients move after a trigger: waiting work against requests that will try
// again, with the states that sustain themselves.

struct PhaseEquilibrium {
  std::string name;  ///< as in FluidEquilibria
  bool stable = false;
  std::optional<double> backlog;  ///< s; empty: it grows for ever
  double retrying = 0;            ///< requests on their way back
};

/// From the end of a trigger on.
struct PhaseTrajectory {
  double trigger = 0;       ///< its duration, s
  bool stays_down = false;  ///< whether the service stays down
  bool separatrix = false;  ///< the trigger is as near to the tipping point as the search came
  std::vector<FluidSample> samples;
};

struct PhasePlane {
  std::string trigger;  ///< "fault.outage.duration", or "outage" where the scenario has none
  std::optional<double> tipping;             ///< duration of the trigger that tips it, s
  double timeout = 0;                        ///< shortest attempt timeout, s; 0: none
  std::vector<PhaseEquilibrium> equilibria;  ///< none for closed loops
  std::vector<PhaseTrajectory> trajectories;
};

/// With the first fault of the service, or surge of its clients, as the trigger; without one an
/// outage. Throws std::domain_error where the fluid does not apply. Costs a few dozen runs of the
/// fluid.
PhasePlane phase_plane(const Scenario& scenario, std::size_t service);

}  // namespace retrysim
