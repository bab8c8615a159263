// A scenario: plain values that say what to simulate. A simulation is built from a `Scenario`
// alone. `load` makes one from a TOML file; C++ users may fill one in by hand. Times are
// nanoseconds in strong types, rates are per second.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/breaker.hpp>
#include <retrysim/error.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/service_spec.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

struct NetworkSpec {
  Distribution latency;      ///< one way
  Distribution connect;      ///< extra, when an attempt cannot reuse a connection
  double request_loss = 0;   ///< probability that an attempt never reaches the service
  double response_loss = 0;  ///< probability that the work is done but the answer is lost
};

/// A window in which a service, or the network to it, is impaired: [start, start + duration).
/// Overlapping windows: factors multiply, probabilities combine as independent, latencies add.
struct FaultSpec {
  std::string name;
  std::size_t service = 0;  ///< index into Scenario::services
  /// The affected instances, counted from 1: `instances` of them, from number `instance` on.
  std::uint32_t instance = kAllInstances, instances = 1;
  Time start;
  Duration duration;
  double capacity = 1;  ///< factor on the number of working servers
  double speed = 1;     ///< factor on the speed of each server
  std::vector<RandomError> errors;
  ErrorPoint errors_at;
  Duration latency;          ///< added to the network, each way
  double request_loss = 0;   ///< probability that an attempt never reaches the service
  double response_loss = 0;  ///< probability that the work is done but the answer is lost
  bool unreachable = false;  ///< connections refused after one round trip
  /// Nothing comes back: a new connection ends at `TimeoutSpec::connect`, if there is one;
  /// otherwise the attempt is lost.
  bool black_hole = false;
  /// At its start the service restarts: waiting and running attempts are lost, its connections
  /// break, and its caches are empty. It still knows the tokens of side effects.
  bool cold_restart = false;
  /// At its start the attempts in service end with connection errors; waiting attempts stay, and
  /// are served.
  bool crash = false;
  bool drawn = false;  ///< one occurrence of a fault at random: no key has its values

  static constexpr std::uint32_t kAllInstances = std::numeric_limits<std::uint32_t>::max();
  /// Whether it affects the instance with this index (counted from 0).
  bool concerns(std::uint32_t index) const {
    return instance == kAllInstances || (index + 1 >= instance && index + 1 - instance < instances);
  }
};

/// What is left to chance of a fault: when it begins, how often, for how long, how deep it is.
struct FaultChance {
  /// Mean number of beginnings in 365 days, at random times (a Poisson process); 0: it does
  /// not begin so.
  double per_year = 0;
  /// Above 0: `per_year` holds while first attempts alone keep this share of the service's servers
  /// busy; at another load it comes (load / at_load)^load_exponent times as often.
  double at_load = 0;
  double load_exponent = 1;
  /// The time from the end of one occurrence to the start of the next, and before the first; a mean
  /// of 0: it does not begin so.
  Distribution mtbf;
  /// The fault that it comes with; empty: none.
  std::string with = {};
  double probability = 1;  ///< that it comes along with that fault
  Distribution length;     ///< with a mean above 0, instead of `FaultSpec::duration`
  std::optional<double> capacity_to = {};  ///< the factor is uniform between `capacity` and this
  std::optional<double> speed_to = {};     ///< the factor is uniform between `speed` and this

  /// Whether it begins at times that are drawn, or with another fault.
  bool recurs() const { return per_year > 0 || mtbf.mean_seconds() > 0 || !with.empty(); }
  bool is_random() const {
    return recurs() || length.mean_seconds() > 0 || capacity_to || speed_to;
  }
};

/// A fault of which something is left to chance. `fault.start` is the time before which it does not
/// begin or, if it comes with another one, the time from the start of that one to its own.
struct RandomFault {
  FaultSpec fault;
  FaultChance chance;
};

enum class ArrivalProcess : std::uint8_t {
  kPoisson,
  kConstant,
  kOnce,
  kClosed,
  kTrace,
  kOnOff,  ///< Poisson in bursts, nothing between them
  kPoll,   ///< Poisson jobs, each polled until it is done
  /// Calls of a service (`CallSpec`). Only such groups have it, and so there is no word for it.
  kCalls,
};
template <>
inline constexpr std::string_view kWords<ArrivalProcess> =
    "poisson|constant|once|closed|trace|on-off|poll";
static_assert(words_end_with(ArrivalProcess::kPoll));

/// A rate over time: piecewise constant or linear. `rates[i]` holds from `times[i]` on (constant),
/// or is reached at `times[i]` (linear); after the last time the last rate holds.
struct RateProfile {
  std::vector<Time> times;    ///< strictly increasing, first at zero
  std::vector<double> rates;  ///< per second or a factor, >= 0
  bool linear = false;
};

/// A named step on top of an open arrival process: the rate is multiplied by `factor` during
/// [start, start + duration). Overlapping surges multiply.
struct SurgeSpec {
  std::string name;
  Time start;
  Duration duration;
  double factor = 1;
};

/// The pauses of a polling loop: min(cap, base x factor^n) before check n = 0, 1, 2, ...
struct PollSpec {
  Duration base = Duration::milliseconds(100);
  double factor = 2;               ///< >= 1
  Duration cap = Duration::max();  ///< longest pause; `max()`: none
  Jitter jitter = Jitter::kNone;   ///< all but additive
  std::uint32_t max_checks = kUnlimited;

  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
};

/// One kind of request of a client group, if they differ in cost, or in the service they go to.
struct OperationSpec {
  std::string name;
  double share = 1;  ///< of the requests, relative to the other operations
  double work = 1;   ///< factor on the service time
  /// Index of the service that they go to; none: the service of the group.
  std::optional<std::size_t> service = {};
  /// Errors after which they are not retried, whatever the rules of the group say. With
  /// `ErrorPattern::Of::kAny` among them they are not hedged, either.
  std::vector<ErrorPattern> not_retried_on = {};
};

/// How often each of a number of keys (rows, partitions, tables) is requested.
enum class Popularity : std::uint8_t {
  kUniform,
  kZipf,  ///< the k-th key in proportion to k^-exponent
  kHot,   ///< the first key has its own share, the others are equally likely
};
template <>
inline constexpr std::string_view kWords<Popularity> = "uniform|zipf|hot";
static_assert(words_end_with(Popularity::kHot));

/// The keys that the requests of a client group ask for. All attempts of a request have the same
/// key. Key k of one group is key k of all others.
struct KeySpec {
  std::uint32_t count = 1;
  Popularity popularity = Popularity::kUniform;
  double exponent = 1;   ///< zipf; >= 0
  double hot_share = 0;  ///< hot: probability of the first key
};

struct ArrivalSpec {
  ArrivalProcess process = ArrivalProcess::kPoisson;
  /// poisson, constant: requests per second and client; on-off: their mean over bursts and pauses;
  /// poll: jobs.
  double rate = 0;
  bool aligned = false;  ///< constant, on-off: all clients act together (else: random phase)
  Time start;            ///< once: time of the requests
  Duration spread;       ///< once: uniformly spread over this
  std::uint32_t concurrency = 1;  ///< closed: requests in flight per client
  Distribution think_time;        ///< closed
  /// closed: the think time counts from the start of the previous request, not from its end.
  bool think_from_start = false;
  Distribution on, off;   ///< on-off: length of a burst (mean > 0), of a pause
  Distribution job_time;  ///< poll: from the start of a job until it is done
  PollSpec poll;
  /// poisson, constant, on-off, poll: factor on the rate. trace: total rate of the group, per
  /// second.
  std::optional<RateProfile> profile;
  std::vector<Time> rows;     ///< trace with one row per request: their times, not decreasing
  bool even_spacing = false;  ///< trace with rates: evenly spaced instead of Poisson
  std::vector<SurgeSpec> surges;
};

/// Priorities of client groups go from 0 to this.
inline constexpr std::uint8_t kMaxPriority = 63;

/// How long a client waits. `max()`: for ever.
struct TimeoutSpec {
  Distribution attempt = {};  ///< for the answer to an attempt, if `has_attempt`
  bool has_attempt = false;
  Duration connect = Duration::max();   ///< for a new connection (`NetworkSpec::connect`)
  Duration deadline = Duration::max();  ///< for the result of a whole request
  /// For calls of a service: their deadline is what remains of the caller's, the moment at which
  /// the client of the attempt that the call is made for stops waiting. `deadline` is `max()` then.
  bool deadline_of_caller = false;
};

/// Which of the calls that a service makes are sent again, or hedged.
enum class RetryOnlyAt : std::uint8_t {
  kAnywhere,      ///< all, as the rules of the group say
  kEdge,          ///< none: retries are left to the clients outside
  kFirstAttempt,  ///< all but those made for a retry, in whatever layer above that was made
};
template <>
inline constexpr std::string_view kWords<RetryOnlyAt> = "anywhere|edge|first-attempt";
static_assert(words_end_with(RetryOnlyAt::kFirstAttempt));

/// What a client makes an idempotency token from.
enum class TokenSource : std::uint8_t {
  kRequest,  ///< each request has one of its own
  kContent,  ///< from what the request says: two that say the same have the same token
};
template <>
inline constexpr std::string_view kWords<TokenSource> = "request|content";
static_assert(words_end_with(TokenSource::kContent));

/// Which requests change something at the service, and what keeps the change from being made twice.
struct SideEffectSpec {
  double mutating = 0;            ///< probability that a request has side effects
  bool idempotency_token = true;  ///< those requests carry a token, the same in every attempt
  TokenSource token_from = TokenSource::kRequest;
  /// Probability that a request with side effects carries the token of its client's previous one:
  /// by mistake, which the service notices, or because it says the same (`TokenSource::kContent`),
  /// so that the service takes it for a repetition.
  double token_reuse = 0;
  /// Before a retry of a request with side effects, the client asks whether it has taken effect,
  /// by a read of this service time; only if not, the request is sent again. Neither with hedging
  /// nor for services of ServiceModelKind::kOcc.
  bool reconciles = false;
  Distribution reconcile_read = {};
};

/// How many attempts one client has under way at once, whatever connections it has. An attempt has
/// its place from before it gets a connection until it ends, but not in a backoff.
struct BulkheadSpec {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t max_concurrent = kUnlimited;
  Duration longest_wait;  ///< for a place; zero: an attempt without one is refused at once
  std::uint32_t queue = kUnlimited;  ///< attempts that may wait

  bool in_use() const { return max_concurrent != kUnlimited; }
};

/// What happens to an attempt that exceeds the send rate.
enum class SendRateOnEmpty : std::uint8_t {
  kWait,  ///< it waits its turn, for at most `SendRateSpec::longest_wait`
  kFail,
};
template <>
inline constexpr std::string_view kWords<SendRateOnEmpty> = "wait|fail";
static_assert(words_end_with(SendRateOnEmpty::kFail));

/// A client's own limit on how often it sends attempts, first ones and retries: a bucket of `burst`
/// tokens, full at the start, which gets `rate` tokens a second. An attempt that is refused has
/// taken none.
struct SendRateSpec {
  double rate = 0;   ///< per second and client; 0: no limit
  double burst = 1;  ///< >= 1
  SendRateOnEmpty on_empty = SendRateOnEmpty::kWait;
  Duration longest_wait = Duration::max();  ///< one that would wait longer is refused at once

  bool in_use() const { return rate > 0; }
};

/// A group of identical clients.
struct ClientSpec {
  std::string name;
  std::size_t service = 0;  ///< index into Scenario::services
  /// Further services: each request goes to one of them or to `service`, all equally likely; all
  /// its attempts go to the same. Not for a group that makes calls.
  std::vector<std::size_t> more_services = {};
  /// The priority of its attempts, at most `kMaxPriority`: who is served first
  /// (`Discipline::kPriority`) and who is turned away (`QueueSpec::when_full`,
  /// `ConcurrencySpec::partitions`) go by it.
  std::uint8_t priority = 0;
  /// The priority of attempts after the first one, retries and hedges; none: `priority`.
  std::optional<std::uint8_t> retry_priority = {};
  std::uint32_t count = 1;  ///< virtual clients, each with its own retry state
  ArrivalSpec arrivals;
  std::vector<OperationSpec> operations;  ///< empty: all requests alike
  KeySpec keys;
  TimeoutSpec timeouts;
  /// Connections of one client, each carrying one attempt at a time; further attempts wait in
  /// order. A connection is kept after any answer but a transient error.
  std::uint32_t max_connections = kUnlimited;
  Duration connection_wait = Duration::max();   ///< the longest wait for a connection; zero: none
  std::uint32_t connection_queue = kUnlimited;  ///< attempts that may wait for one
  BulkheadSpec bulkhead;
  SendRateSpec send_rate;
  SideEffectSpec side_effects;
  bool long_poll = false;  ///< requests are long-polling operations (RetryRules::long_poll)
  /// Probability that the body of a request cannot be sent again: it is neither retried nor hedged.
  double unrepeatable = 0;
  RetryRules retry;
  BreakerRules breaker;                                ///< refuses calls; not shared by `retryer`
  RetryOnlyAt retry_only_at = RetryOnlyAt::kAnywhere;  ///< of a group that makes calls
  /// Groups that name the same retryer share its state, like a process whose clients of several
  /// services use one retryer. Client i of each is then the same client (or, in the scope `group`,
  /// all are one), with the same quota, send-rate limiter, budget, retry breaker, guard and
  /// throttle; their rules must agree, too. Empty: nothing is shared.
  std::string retryer = {};
  /// A strategy of your own, used instead of `retry`, whose error classes still apply; may be
  /// empty. Only from C++.
  StrategyFactory strategy;

  /// Whether this is the SDK client of a service, whose requests are calls (`Scenario::calls`).
  bool makes_calls() const { return arrivals.process == ArrivalProcess::kCalls; }

  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
};

/// Which entry goes when a cache is full.
enum class CachePolicy : std::uint8_t {
  kLru,   ///< the least recently used one
  kFifo,  ///< the one that was stored first
};
template <>
inline constexpr std::string_view kWords<CachePolicy> = "lru|fifo";
static_assert(words_end_with(CachePolicy::kFifo));

/// What saves attempts a call: chance, or answers that an instance of the caller keeps from earlier
/// calls, by the key that the attempt at the caller asks for.
struct CacheSpec {
  double hit = 0;              ///< probability that an attempt needs no call; without `capacity`
  std::uint32_t capacity = 0;  ///< answers kept; 0: none, `kUnlimited`: all
  CachePolicy policy = CachePolicy::kLru;
  Duration ttl = Duration::max();  ///< how long an answer is good, from when it has come

  bool keeps_answers() const { return capacity > 0; }
  bool in_use() const { return hit > 0 || keeps_answers(); }

  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
};

/// What becomes of an attempt one of whose calls has failed.
enum class CallFailure : std::uint8_t {
  kFail,      ///< it fails, too, and no later stage is begun
  kIgnore,    ///< it goes on without the result; its answer is degraded
  kFallback,  ///< another call is made instead; the answer is degraded
};
template <>
inline constexpr std::string_view kWords<CallFailure> = "fail|ignore|fallback";
static_assert(words_end_with(CallFailure::kFallback));

/// A call between services: a request to another service for an attempt that a service has worked
/// on, after the service time. The calls of one service are made in stages: those of a stage
/// together, the next stage when all of them are decided. Services must not call each other in a
/// circle. What is chosen or drawn for a request (`share`, `count`) is the same in all its attempts
/// at the caller.
struct CallSpec {
  std::size_t caller = 0;  ///< index into Scenario::services
  /// Index into Scenario::clients: the SDK client that sends the calls, and whose service they go
  /// to. It makes calls (`ArrivalProcess::kCalls`) of this caller only. Its `count` is the number
  /// of the caller's instances, each of which is one client.
  std::size_t client = 0;
  /// Probability that a request makes the call; with `one_of` the weight among the alternatives.
  double share = 1;
  /// The calls of one stage that name the same text are alternatives, of which a request makes
  /// exactly one (of those that its operation permits); empty: the call stands for itself.
  std::string one_of = {};
  /// Only for attempts of requests with one of these operations; empty: for all.
  std::vector<std::string> operations = {};
  /// The callee sees the operation, the key and the priority of the attempt that the call is made
  /// for, instead of the client's own.
  bool callers_operation = false, callers_key = false, callers_priority = false;
  /// Requests that are sent together, up to `kMaxCopies`; 0: the call is not made.
  std::uint32_t count = 1;
  /// Instead of `count`: a number of requests is drawn, as seconds rounded to a whole number.
  std::optional<Distribution> random_count = {};
  /// The call has succeeded as soon as this many of its requests have, and failed when that can no
  /// longer happen; `kAll`: all that are sent.
  std::uint32_t need = kAll;
  CallFailure on_failure = CallFailure::kFail;
  /// kFallback: the name of the client that makes the other call of the same service, which is made
  /// for nothing else, whatever its stage. No circles.
  std::string fallback = {};
  /// Stages come in ascending order. 0: with `ServiceSpec::parallel_calls` the first one, otherwise
  /// the place among the caller's calls, counted from 1 (of alternatives that of the first).
  std::uint32_t stage = 0;
  /// Each instance of the caller has a cache of its own, which is empty at the start and after a
  /// cold restart.
  CacheSpec cache = {};

  static constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kMaxCopies = 1000;
};

/// A service and the share of a group's requests that go there.
struct ServiceShare {
  std::size_t service;
  double share;
};

/// All services with a share above 0, in the order of their numbers.
std::vector<ServiceShare> service_shares(const ClientSpec& client);
/// The share of a group's requests that go to a service.
double share_of_calls(const ClientSpec& client, std::size_t service);
/// The share of a group's work that goes to a service: each request is weighted by the work of its
/// operation (`OperationSpec::work`).
double mean_work(const ClientSpec& client, std::size_t service);
/// Whether all requests of a group go to one service.
bool calls_one_service(const ClientSpec& client);
/// The services that a group's requests go to, in the order of their numbers.
std::vector<std::size_t> called_services(const ClientSpec& client);

/// Bound on a metric of summary.csv that makes a scenario a test.
struct Expectation {
  std::string name;
  std::string metric;
  std::string client = "all";
  std::optional<double> at_most;  ///< judged by the 95 % interval: see metrics.hpp
  std::optional<double> at_least;
};

/// A stretch of the run that is measured on its own: [start, start + duration). See metrics.hpp.
struct PhaseSpec {
  std::string name;
  Time start;
  Duration duration;
};

/// How often a fault or surge of a scenario happens.
struct SloFrequency {
  std::string event;  ///< its name
  double per_year = 0;

  friend bool operator==(const SloFrequency&, const SloFrequency&) = default;
};

/// A service level objective: the share of requests that must be good, over a window. Its error
/// budget, (1 - share) x requests of the window, is what may be bad. It changes nothing in a run.
struct SloSpec {
  std::string name;
  double share = 0.999;                ///< above 0 and below 1
  Duration latency = Duration::max();  ///< longest latency of a good request; `max()`: any
  Duration window = Duration::seconds(std::int64_t{30} * 24 * 3600);
  /// The client groups whose requests count; empty: all, without the calls between services.
  std::vector<std::string> clients = {};
  /// Requests of the window; 0: at the rate before the first fault or surge.
  double requests_per_window = 0;
  std::vector<SloFrequency> events_per_year = {};
};

/// Limit on `duration`, `drain_limit` and `interval` of a scenario: about thirty years.
inline constexpr Duration kLongestDuration = Duration::seconds(1'000'000'000);

/// The precision at which no more replications are added.
struct PrecisionSpec {
  double target = 0;  ///< relative error of the means; 0: `Scenario::replications`, and no more
  /// Metrics of all clients together that must meet it.
  std::vector<std::string> metrics = {"goodput", "success_rate", "amplification", "latency_mean"};
  int max_replications = 1000;
};

/// When goodput counts as recovered from faults and surges (rule: sim/measure/README.md).
struct RecoverySpec {
  /// Goodput must reach this share of the offered load (of closed loops the load before the
  /// disturbance) times the success rate before the first fault or surge.
  double share = 0.95;
  /// How long it must stay there. A file that does not say so has the longest attempt timeout plus
  /// the longest backoff instead, if that is longer.
  Duration hold = Duration::seconds(30);
  Duration window = Duration::seconds(1);  ///< dips average out over this time
};

struct Scenario {
  std::string name;
  std::string description;
  Duration duration;
  Duration warmup;  ///< left out of the summary, kept in the time series
  /// The warm-up has still to be found (run.hpp); such a scenario cannot be simulated.
  bool warmup_is_auto = false;
  bool drain = true;  ///< after `duration`: no new requests, those in flight may finish
  Duration drain_limit = Duration::seconds(300);
  std::uint64_t seed = 1;
  int replications = 20;  ///< with a target precision: the minimum
  PrecisionSpec precision;
  Duration interval = Duration::seconds(1);  ///< width of a time-series bin
  RecoverySpec recovery;
  NetworkSpec network;
  std::vector<ServiceSpec> services;
  std::vector<FaultSpec> faults;
  /// The faults that are left to chance. `faults` has what a draw of them gives, if `fault_draw` is
  /// set; without a draw such a scenario cannot be simulated.
  std::vector<RandomFault> random_faults;
  std::uint32_t fault_draw = 0;  ///< 0: none
  std::vector<ClientSpec> clients;
  std::vector<CallSpec> calls;    ///< those of one service are made in this order (see `stage`)
  std::vector<PhaseSpec> phases;  ///< besides the phases that faults and surges make
  std::vector<SloSpec> slos;
  std::vector<Expectation> expectations;
};

/// How many states one client has where they are kept apart (RetryScope). Services and names of
/// operations are those of the whole scenario, requests without an operation share one state, and
/// all groups have as many keys as the one with the most.
StateCounts state_counts(const Scenario& scenario);

/// What one draw makes of the faults at random in [0, horizon), in the order of their starts. A
/// draw of a seed depends on nothing but the rules of each fault and of those that it comes with,
/// so a longer horizon has the same faults and more. The fault "outage" becomes "outage-1",
/// "outage-2" and so on. At most kMaxDrawnFaults; throws RequestError where there are more.
std::vector<FaultSpec> draw_faults(const Scenario& scenario, std::uint32_t draw, Duration horizon);
inline constexpr std::size_t kMaxDrawnFaults = 10'000;
/// Throws RequestError if faults are left to chance and no draw of them is played: such a scenario
/// cannot be simulated.
void check_draw(const Scenario& scenario);
/// The scenario with what a draw gives for its duration, instead of the faults at random.
Scenario with_drawn_faults(Scenario scenario, std::uint32_t draw);

/// The capacity that profile and faults leave to a service at one moment, all instances together.
struct CapacityLeft {
  double servers = 1;  ///< working servers per nominal server; without autoscaling
  double speed = 1;    ///< mean over them; servers that cannot be reached have speed 0
  double share() const { return servers * speed; }
};
CapacityLeft capacity_left(const Scenario& scenario, std::size_t service, Time at);
/// The moments at which the capacity left may change, in order.
std::vector<Time> capacity_changes(const Scenario& scenario, std::size_t service);
/// Mean share of the capacity in [from, to).
double mean_capacity_left(const Scenario& scenario, std::size_t service, Time from, Time to);

// --- Scenario files ------------------------------------------------------------------------------

// TOML text, edits, defaults, presets and CSV inputs go in; a complete, validated `Scenario` comes
// out, or every mistake with its place.

/// Where the value of a key comes from.
enum class Origin : std::uint8_t {
  kDefault,
  kPreset,
  kEnvironment,
  kScenario,
  kSet,
  kFound,  ///< the scenario left it to the program
};

/// One key of a resolved scenario.
struct ResolvedKey {
  std::string path;  ///< "client.web.retry.max_attempts"
  std::string toml;  ///< its value as TOML
  Origin origin = Origin::kDefault;
  std::string origin_detail;  ///< "dip.toml:12", "standard 2.0 botocore", "AWS_MAX_ATTEMPTS", ""
};

/// A key whose value is known by an interval only: [uncertain."service.api.servers"]. A run takes
/// the scenario's own value; `study_uncertain` (uncertain.hpp) draws from the interval.
struct UncertainKey {
  std::string path;  ///< "service.api.servers"; "service.api.service_time.mean" within a law
  double value = 0;  ///< the scenario's own, from `low` to `high`; durations in seconds
  double low = 0, high = 0;
  double certainty = 0.95;  ///< probability that the true value is from `low` to `high`
  bool is_duration = false;
  bool is_whole = false;  ///< the key takes whole numbers
  /// The key takes values from `least` to `most`; `above_least`: not `least` itself.
  double least = 0, most = 0;
  bool above_least = false;
  /// An edit has given the key a value: that is certain, and need not be in the interval.
  bool is_set = false;

  friend bool operator==(const UncertainKey&, const UncertainKey&) = default;
};

/// What an edit has changed in the system that a scenario file describes.
struct ScenarioChange {
  std::string path;   ///< "fault.deploy.duration", "client.*.retry.mode"
  std::string value;  ///< as people read it, on one line: 90s, { distribution = "constant", ... }

  friend bool operator==(const ScenarioChange&, const ScenarioChange&) = default;
};

/// A table or key that the scenario calls by a name of an earlier release.
struct OldKeyName {
  std::string before;  ///< as written: "client.web.retry.breaker"
  std::string now;     ///< "client.web.retry.retry_breaker"

  friend bool operator==(const OldKeyName&, const OldKeyName&) = default;
};

struct LoadedScenario {
  Scenario scenario;
  std::vector<ResolvedKey> keys;                   ///< every key that applies, in table order
  std::vector<std::filesystem::path> input_files;  ///< CSV files read, as resolved
  std::vector<std::string> notes;                  ///< for the user: gaps filled in a trace, ...
  /// Where each of `scenario.expectations` stands in the file; 0: an edit has made it.
  std::vector<int> expectation_lines = {};
  std::filesystem::path file = {};  ///< the file it was read from; empty: from text
  /// What the edits have changed, each path once and in the order in which the edits came. Left out
  /// are those that have no effect (the file says the same, or a later edit something else), and
  /// keys that say nothing of the system: see `scenario::describes_system`.
  std::vector<ScenarioChange> changes = {};
  /// The uncertain keys, in the order of the file. They change no run of the scenario itself.
  std::vector<UncertainKey> uncertain = {};
  std::vector<OldKeyName> old_names = {};  ///< each has a note, too
};

/// The notes, each once, in alphabetical order; if there are many, the first ten and the number of
/// the others.
std::vector<std::string> distinct_notes(const LoadedScenario& loaded);

/// Either a scenario, or at least one error (all mistakes of meaning at once, at most 20, by
/// place; a syntax error stops at the first).
struct LoadResult {
  std::optional<LoadedScenario> loaded;
  std::vector<Diagnostic> errors;

  /// The scenario; throws an InputError with all mistakes if there is none.
  LoadedScenario value() &&;
};

/// The scenario in the file `path`, with `edits` as `load_scenario_file` takes them. Throws an
/// InputError with all mistakes.
LoadedScenario load(const std::filesystem::path& path, const std::vector<std::string>& edits = {});

/// Reads the file `path`. `edits` are `PATH=VALUE` texts, applied in order before validation; their
/// mistakes have the place "set". `variant_edits`, those of a `Variant`, follow them; the place of
/// their mistakes is "vary".
LoadResult load_scenario_file(const std::filesystem::path& path,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// Loads a scenario from text. `file` names it in messages; CSV inputs are relative to `directory`.
LoadResult load_scenario_text(std::string_view text, const std::string& file,
                              const std::filesystem::path& directory,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// CSV inputs by the names that scenarios use for them.
using InputTexts = std::map<std::string, std::string, std::less<>>;

/// Loads a scenario without any file: CSV inputs are among `inputs`.
LoadResult load_scenario_with_inputs(std::string_view text, const std::string& file,
                                     const InputTexts& inputs,
                                     const std::vector<std::string>& edits = {});

/// The resolved scenario as a TOML file that reproduces the run exactly. CSV inputs are named
/// without their folder, because in a result folder they stand beside it. `with_origins` adds a
/// comment with the origin to each line, or above it if the line would become longer than
/// `columns`; a value that the program found always has one.
std::string to_toml(const LoadedScenario& loaded, bool with_origins, std::size_t columns = 80);

/// Puts the warm-up that was found for `warmup = "auto"` in its place, so that the resolved
/// scenario reproduces the run without looking for it again. `how` becomes its origin.
void set_found_warmup(LoadedScenario& loaded, Duration warmup, const std::string& how);

// --- Variations ----------------------------------------------------------------------------------

// A variation names keys and the values they take; a variant is the scenario with the edits of one
// combination. `compare` and `sweep` run all combinations.

/// Keys that change together, and the values they take.
struct Variation {
  std::string text;                ///< as given
  std::vector<std::string> paths;  ///< as written; may hold '*'
  /// [choice][path]: TOML texts or bare words. No two choices are the same.
  std::vector<std::vector<std::string>> choices;
};

/// Either a variation, or what is wrong with the text.
struct VariationResult {
  std::optional<Variation> variation;
  std::optional<Diagnostic> error;  ///< its place is "vary", its source line the text
};

/// Parses the text of a variation:
///
///     PATH=V1,V2,...       values, split at commas outside brackets, braces, parentheses, quotes
///     PATH=LO:HI:STEP      LO, LO + STEP, ... up to HI, which is included if a step ends there
///     PATH=LO:HI:*N        N values, equally spaced in their logarithms, from LO to HI
///     A,B=(1,2),(3,4)      keys that move together
///
/// A range may also stand among the values of a list. Its numbers are whole (and stay so), decimal,
/// or durations with units ("10ms:50ms:10ms"); steps are exact in decimal arithmetic, log-spaced
/// values between the ends are rounded to 6 significant digits. Never throws for bad input.
VariationResult parse_variation(std::string_view text);

/// All variations, or at least one error.
struct VariationsResult {
  std::vector<Variation> variations;
  std::vector<Diagnostic> errors;

  /// The variations; throws an InputError with all mistakes if there are any.
  std::vector<Variation> value() && {
    check(errors);
    return std::move(variations);
  }
};

/// Reads several texts; a path that occurs in two of them is an error too.
VariationsResult parse_variations(std::span<const std::string> texts);

/// One combination of values.
struct Variant {
  /// Unique within the grid, short and readable: "jitter=full", "rate=0.8 count=100". Each path is
  /// cut to the shortest end that tells it from the others.
  std::string name;
  std::vector<std::string> edits;  ///< PATH=VALUE texts, to be applied after those of the scenario
  /// One per path of all variations, in order; text without its quotes where that is not ambiguous.
  std::vector<std::string> values;
};

/// A grid has more combinations than a list of them may have.
class GridTooLarge : public InputError {
 public:
  using InputError::InputError;
};

/// All combinations, the last variation changing fastest; without variations the scenario itself,
/// named "base". Throws GridTooLarge above 10 million.
std::vector<Variant> grid(std::span<const Variation> variations);

/// About how many bytes `grid` takes. Throws as `grid` does.
double grid_bytes(std::span<const Variation> variations);

/// The ends of `paths` that name them in variants: "jitter" for "client.*.retry.backoff.jitter".
std::vector<std::string> short_names(std::span<const std::string> paths);

}  // namespace retrysim
