// Predictions from theory, before anything is simulated: formulas, facts in closed form (loads,
// limits, times and budgets of each service and client group, with warnings that name the keys, the
// figure and what would change it), and `predict`, which adds the figures of fluid and Markov
// chain; the fluid by itself; and maps of where a service is safe in a plane of two keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/words.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  bool collapse = false;        ///< p = 1 is an equilibrium: load x n x w >= 1
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

  /// The figure of that name; null if there is none.
  const Figure* find(std::string_view part, std::string_view subject, std::string_view name) const;
};

struct PredictionOptions {
  bool fluid = true, chain = true;
  int orbit = 0;  ///< largest number of requests in the chain's orbit; 0: found
};

/// Takes a valid scenario. Facts cost microseconds, the fluid about a millisecond for ten thousand
/// steps and twenty times that for each trigger, the chain up to a second.
Prediction predict(const Scenario& scenario, const PredictionOptions& options = {});

/// The table prediction: a row for each figure, remark and warning. If the fluid applies to a
/// service, there are also trajectories and equilibria: its `phase_plane`, which takes a few dozen
/// runs of the fluid for each service. `prediction` is that of the scenario.
Tables tables(const Prediction& prediction, const Scenario& scenario);

// --- Fluid ---------------------------------------------------------------------------------------

// The fluid, or mean field, of a service and its clients: requests as a stream instead of one by
// one. It is the limit of a scenario when everything is scaled up together, and it answers within
// milliseconds, or seconds for long scenarios, where a system settles, which trigger tips it, and
// how long it takes to recover. It has no randomness, so it cannot say how long a vulnerable
// system lasts without a trigger (the Markov chain can).
//
// Unknowns: the work W(t) waiting at the service, in seconds; the streams a_i(t) of attempts number
// i; the law of one client's retry quota. An attempt that arrives at t waits for as long as the
// service, with its future capacity, needs for W(t). Attempts that are not answered in time, turned
// away, throttled or answered with an error come back as a_(i+1) after the backoff's law.

/// Why the fluid does not model the service with index `service`: a sentence that names the keys.
/// Empty: it does.
std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service);

/// Why the fluid has no equilibria for the service (`fluid_equilibria`), although it may model
/// runs. Empty: it has.
std::optional<std::string> why_no_balance(const Scenario& scenario, std::size_t service);

/// The load of a service per capacity: `first` is that of first attempts, `worst` the load if each
/// request makes all of its attempts and each of them is served (it may be infinite). If `worst` is
/// below 1 the service recovers from everything, whatever the rules of queue and clients are: no
/// backlog lasts.
struct WorstLoad {
  double first = 0, worst = 0;
};
/// Nothing where the scenario's attempts may cost more than that, or a throttle may refuse some.
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

/// What follows the end of a trigger.
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

/// The trigger is the first fault of the service, or surge of its clients; without one it is an
/// outage. Throws std::domain_error where the fluid does not apply. Costs a few dozen runs of the
/// fluid.
PhasePlane phase_plane(const Scenario& scenario, std::size_t service);

// --- Maps ----------------------------------------------------------------------------------------

// A map shows where in a plane of two keys a service is safe, vulnerable, overloaded or dead
// according to the fluid, and simulates points near the borders to check it.
//
//     PhaseMapResult r = map_phases({.scenario = "zombie.toml", .plane = two_variations});
//     const auto checked = confirm_map(request, *r.map, 12);

enum class MapState : std::uint8_t {
  kSafe,        ///< recovers from everything
  kVulnerable,  ///< another state sustains itself, but the scenario does not lead there
  kTipped,      ///< as kVulnerable, and the scenario's faults and surges leave it down
  kOverloaded,  ///< short of capacity without any trigger, but at least half of the requests
                ///< succeed
  kDead,        ///< down without any trigger: fewer succeed
};
template <>
inline constexpr std::string_view kWords<MapState> = "safe|vulnerable|tipped|overloaded|dead";
static_assert(words_end_with(MapState::kDead));

struct MapPoint {
  std::vector<std::string> values;  ///< of the key across, then of the key up
  std::vector<std::string> edits;   ///< PATH=VALUE texts that make the scenario of the point
  MapState state = MapState::kSafe;
  /// Empty for closed loops, which have no load of their own: their state comes from two or three
  /// runs of the fluid.
  std::optional<FluidEquilibria> balance;
};

struct PhaseMap {
  std::vector<std::string> keys;   ///< across and up, as written
  std::vector<std::string> names;  ///< short names of the keys
  std::size_t columns = 0, rows = 0;
  std::vector<MapPoint> points;  ///< column by column, each from its lowest row up
  std::string service;
  bool has_trigger = false;  ///< whether some point has a fault or surge, so that it may be tipped
  std::vector<std::filesystem::path> inputs = {};  ///< the CSV files that any point reads

  const MapPoint& at(std::size_t column, std::size_t row) const {
    return points[column * rows + row];
  }
};

struct PhaseMapRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};      ///< as `load_scenario_file` takes them
  std::vector<Variation> plane = {};        ///< two, each of one key: across, up
  std::optional<std::string> service = {};  ///< its name; may be missing if there is only one
  // Called for each point, in the calling thread; each may be empty.
  std::function<bool()> stop = {};            ///< once it gives true: ends with `Interrupted`
  std::function<void(double)> progress = {};  ///< takes the share done
};

/// A map, or the mistakes of a point's scenario.
struct PhaseMapResult {
  std::optional<PhaseMap> map;
  std::vector<Diagnostic> errors;

  /// The map; throws an InputError with all mistakes if there are any.
  PhaseMap value() && {
    check(errors);
    return *std::move(map);
  }
};

/// Takes a tenth of a millisecond for each point, and up to a millisecond if the scenario has a
/// trigger. Throws RequestError for an invalid plane, for an unknown service, and where the fluid
/// does not apply.
PhaseMapResult map_phases(const PhaseMapRequest& request);

/// The state of one point, as `map_phases` finds it, with the faults and surges of the service.
MapState map_state(const Scenario& scenario, std::size_t service,
                   const std::optional<FluidEquilibria>& balance);

// --- Confirmation --------------------------------------------------------------------------------

/// The question that a simulation answers.
enum class MapQuestion : std::uint8_t {
  kCalm,      ///< is it down without faults and surges?
  kPushed,    ///< does it stay down after an outage (or, if servers are unlimited, a surge) of many
              ///< timeouts?
  kScenario,  ///< do the scenario's faults and surges leave it down?
};
template <>
inline constexpr std::string_view kWords<MapQuestion> = "calm|pushed|scenario";
static_assert(words_end_with(MapQuestion::kScenario));

enum class MapVerdict : std::uint8_t { kAgree, kDisagree, kOutsideValidity };
template <>
inline constexpr std::string_view kWords<MapVerdict> = "agree|disagree|outside validity";
static_assert(words_end_with(MapVerdict::kOutsideValidity));

struct MapConfirmation {
  std::vector<std::string> values;  ///< of the point
  MapState state = MapState::kSafe;
  MapState beyond = MapState::kSafe;  ///< on the other side of the nearest border
  MapQuestion question = MapQuestion::kCalm;
  bool predicted_down = false;
  double duration = 0;  ///< of each run, s
  /// Replications in which fewer than half of the requests succeed in the last quarter of the time
  /// after the last fault or surge.
  std::size_t down = 0;
  std::size_t replications = 0;
  MapVerdict verdict = MapVerdict::kAgree;
  std::string why;  ///< reasons for `kOutsideValidity`: sentences that name the keys
};

/// The points of a map to confirm, by their number in `PhaseMap::points`, with the state beyond the
/// border: near the borders (a thirtieth of the plane away, or next to them if there is no room),
/// each kind of border in turn, as far as possible from those chosen before. The same map gives the
/// same points. There are fewer than `count` if the map has fewer.
struct MapSite {
  std::size_t point = 0;
  MapState beyond = MapState::kSafe;
};
std::vector<MapSite> sites_to_confirm(const PhaseMap& map, std::size_t count);

/// What to simulate at a point, and for how long; `why` is set where the fluid is in doubt or
/// cannot predict the result.
MapConfirmation plan_confirmation(const Scenario& scenario, std::size_t service, MapState state,
                                  MapState beyond);

/// The scenario that answers the question of a confirmation.
Scenario scenario_of_confirmation(const Scenario& scenario, std::size_t service,
                                  MapQuestion question, double duration);

/// Simulates `count` points, each with the replications of its scenario. A point agrees if more
/// than half of the replications do what the fluid says. Throws what `simulate_all` throws.
std::vector<MapConfirmation> confirm_map(const PhaseMapRequest& request, const PhaseMap& map,
                                         std::size_t count, const ReplicationOptions& options);

/// The tables map (a row for each point), and confirm if there are confirmations.
Tables tables(const PhaseMap& map, const std::vector<MapConfirmation>& confirmed = {});

}  // namespace retrysim
