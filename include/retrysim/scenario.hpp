// A scenario: plain values that say what to simulate. A world is built from a `Scenario` and
// nothing else. The loader (scenario_file.hpp) makes one from a TOML file; C++ users may fill one
// in by hand. Times are nanoseconds in strong types, rates are per second.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/distribution.hpp>
#include <retrysim/response.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstdint>
#include <limits>
#include <optional>
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

/// What a service answers instead of serving an attempt.
struct ErrorAnswer {
  int status = 500;
  std::string code;
};

/// An answer with the probability that an attempt gets it.
struct RandomError {
  ErrorAnswer answer;
  double probability = 0;
};

/// How a service works.
enum class ServiceModelKind : std::uint8_t {
  kQueue,  ///< what its servers have worked on has succeeded
  /// No queue: every attempt is served at once, and then fails with the probabilities of `errors`.
  /// Needs unlimited servers.
  kIndependent,
  /// A row under optimistic concurrency control: an attempt reads it, then writes it on condition
  /// that nobody else has meanwhile; a conflict is answered with 503 TransactionConflictException.
  kOcc,
};
template <>
inline constexpr std::string_view kWords<ServiceModelKind> = "queue|independent|occ";
static_assert(words_end_with(ServiceModelKind::kOcc));

/// Which waiting attempt is served next. None of them interrupts a service that has begun.
enum class Discipline : std::uint8_t {
  kFifo,
  kLifo,
  kRandom,
  kPriority,          ///< the highest ClientSpec::priority; first come first among equals
  kProcessorSharing,  ///< none waits: all are served together and share the servers equally
  kCodel,             ///< fifo that sheds load when attempts wait too long (RFC 8289)
};
template <>
inline constexpr std::string_view kWords<Discipline> =
    "fifo|lifo|random|priority|processor-sharing|codel";
static_assert(words_end_with(Discipline::kCodel));

/// When controlled delay sheds load.
struct CodelSpec {
  Duration target = Duration::milliseconds(5);      ///< an acceptable time to wait
  Duration interval = Duration::milliseconds(100);  ///< for how long it may be exceeded
};

/// What an attempt is answered that a full queue or the concurrency limit turns away.
enum class Overflow : std::uint8_t { kUnavailable, kThrottled, kInvalid, kDrop };
template <>
inline constexpr std::string_view kWords<Overflow> = "unavailable|throttled|invalid|drop";
static_assert(words_end_with(Overflow::kDrop));

/// A factor over time: `factors[i]` holds from `times[i]` on, the last one for ever.
struct CapacityProfile {
  std::vector<Time> times;      ///< not decreasing, first at zero
  std::vector<double> factors;  ///< >= 0
};

/// What happens to work whose client gave up.
enum class Abandoned : std::uint8_t {
  kServe,          ///< it is served all the same
  kDropAtDequeue,  ///< it is discarded when its turn comes
  kRemove,         ///< it leaves the queue at once
  kAbort,          ///< it leaves the queue, or its server, at once
};
template <>
inline constexpr std::string_view kWords<Abandoned> = "serve|drop-at-dequeue|remove|abort";
static_assert(words_end_with(Abandoned::kAbort));

enum class ThrottleScope : std::uint8_t { kService, kClient };
template <>
inline constexpr std::string_view kWords<ThrottleScope> = "service|client";
static_assert(words_end_with(ThrottleScope::kClient));

/// Token bucket in front of a service: continuous refill, starts full, one token an attempt.
struct ThrottleSpec {
  double rate = 0;   ///< tokens per second; 0: no throttle
  double burst = 1;  ///< capacity in tokens, >= 1
  ThrottleScope scope = ThrottleScope::kService;
  Duration retry_after;  ///< suggested to throttled clients; zero: no suggestion
};

/// How the limit on attempts at a service is found. The adaptive ways are those of Netflix's
/// concurrency-limits library, with its names in brackets where ours differ.
enum class ConcurrencyControl : std::uint8_t {
  kFixed,
  kGradient2,  ///< from the ratio of long-term and present time at the service (Gradient2Limit)
  kAimd,       ///< adds one, takes a share when something goes wrong (AIMDLimit)
};
template <>
inline constexpr std::string_view kWords<ConcurrencyControl> = "fixed|gradient2|aimd";
static_assert(words_end_with(ConcurrencyControl::kAimd));

struct ConcurrencySpec {
  ConcurrencyControl control = ConcurrencyControl::kFixed;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< fixed; that is: none
  std::int64_t initial = 20, min = 20, max = 200;                 ///< of the adaptive limits
  double smoothing = 0.2;      ///< gradient2: weight of a new limit
  double headroom = 4;         ///< gradient2: growth while all is well [queueSize]
  double tolerance = 1.5;      ///< gradient2: acceptable ratio of present to long-term time
  double long_window = 600;    ///< gradient2: samples in the long-term average
  double backoff_ratio = 0.9;  ///< aimd: what is left of the limit
  Duration slow = Duration::seconds(5);  ///< aimd: an attempt that took longer went wrong [timeout]
};

/// The number of servers follows their utilization (rule: sim/model/autoscaler.hpp).
struct AutoscalingSpec {
  double target = 0;       ///< utilization of the servers that is aimed at; 0: no autoscaling
  double tolerance = 0.1;  ///< acceptable deviation, as a share of the target
  Duration interval = Duration::seconds(60);   ///< between looks, and what each is about
  Duration delay = Duration::seconds(120);     ///< until a new server works
  Duration cooldown = Duration::seconds(300);  ///< from one change to the next
  std::int64_t min = 1, max = 1;               ///< servers
};

/// What an attempt is answered whose token shows that its request has had its effect.
enum class IdempotentReplay : std::uint8_t {
  kEquivalent,     ///< what the first attempt was answered, or would have been: success
  kAlreadyExists,  ///< 409 EntityAlreadyExists
  kNone,           ///< nothing special: tokens are ignored
};
template <>
inline constexpr std::string_view kWords<IdempotentReplay> = "equivalent|already-exists|none";
static_assert(words_end_with(IdempotentReplay::kNone));

/// What happens to an attempt that is to be served while another one with its token is.
enum class InProgress : std::uint8_t {
  kError,    ///< 400 PriorRequestNotComplete, which every SDK takes for throttling
  kExecute,  ///< it is executed, too, and has an effect of its own
};
template <>
inline constexpr std::string_view kWords<InProgress> = "error|execute";
static_assert(words_end_with(InProgress::kExecute));

/// How a service treats idempotency tokens. It looks at them when a server begins with an attempt.
struct IdempotencySpec {
  Duration window;  ///< how long a token is remembered after the effect; zero: not at all
  IdempotentReplay replay = IdempotentReplay::kEquivalent;
  InProgress in_progress = InProgress::kError;
  Duration replay_cost;  ///< server time of an attempt that a token answers

  bool remembers() const { return window > Duration::zero() && replay != IdempotentReplay::kNone; }
};

struct ServiceSpec {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  std::string name;
  ServiceModelKind model = ServiceModelKind::kQueue;
  std::int64_t servers = 1;  ///< `kUnlimited` allowed
  AutoscalingSpec autoscaling;
  /// Factor on the number of servers; those that go finish what they are doing.
  std::optional<CapacityProfile> profile;
  Distribution service_time;
  /// Factor on a service time is 1 + slowdown x attempts already in service when it begins.
  double slowdown = 0;
  Discipline discipline = Discipline::kFifo;
  CodelSpec codel;
  /// Waiting attempts, those in service not counted; processor sharing: attempts in service.
  std::int64_t queue_capacity = kUnlimited;
  /// Drop an attempt when its turn comes if its answer could not be there in time.
  bool drop_expired = false;
  ConcurrencySpec concurrency;  ///< limit on attempts waiting and in service together
  Overflow overflow = Overflow::kUnavailable;
  Duration reject_cost;  ///< server time that turning an attempt away takes, before its answer
  Abandoned abandoned = Abandoned::kServe;
  ThrottleSpec throttle;
  std::vector<RandomError> errors;  ///< probabilities add up to at most 1
  /// The calls of the client groups whose `caller` this is are made together, not one by one.
  bool parallel_calls = false;
  IdempotencySpec idempotency;
  /// The service's own limit on queue and service of an attempt; `max()`: none. What is not ready
  /// by then is given up and answered with 504 GatewayTimeout.
  Duration timeout = Duration::max();
  double price = 1;            ///< of an attempt, in a unit of the user's own
  double rejection_price = 1;  ///< of one that is turned away or throttled
};

/// A window in which a service, or the way to it, is impaired: [start, start + duration).
/// Overlapping windows: factors multiply, probabilities combine as independent, latencies add.
struct FaultSpec {
  std::string name;
  std::size_t service = 0;  ///< index into Scenario::services
  Time start;
  Duration duration;
  double capacity = 1;  ///< factor on the number of working servers
  double speed = 1;     ///< factor on the speed of each server
  std::vector<RandomError> errors;
  Duration latency;          ///< added to the network, each way
  double request_loss = 0;   ///< probability that an attempt never reaches the service
  double response_loss = 0;  ///< probability that the work is done but the answer is lost
  bool unreachable = false;  ///< connections refused after one round trip
  /// At its start the service forgets everything: what waits and what is in service is lost, and
  /// its connections break.
  bool cold_restart = false;
};

enum class ArrivalProcess : std::uint8_t {
  kPoisson,
  kConstant,
  kOnce,
  kClosed,
  kTrace,
  kOnOff,  ///< Poisson in bursts, nothing between them
  kPoll,   ///< Poisson jobs, each asked about until it is done
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

/// One kind of request of a client group, if they differ in cost.
struct OperationSpec {
  std::string name;
  double share = 1;  ///< of the requests, relative to the other operations
  double work = 1;   ///< factor on the service time
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
  /// closed: the think time counts from the start of the request before, not from its end.
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
inline constexpr std::uint8_t kMostPriority = 63;

struct ClientSpec {
  std::string name;
  std::size_t service = 0;    ///< index into Scenario::services
  std::uint8_t priority = 0;  ///< the higher is served first (Discipline::kPriority)
  std::uint32_t count = 1;    ///< virtual clients, each with its own retry state
  /// Index of the service whose SDK client this group is: instead of by `arrivals`, its requests
  /// come from the attempts that the service works on, one for each, after the service time. Calls
  /// of several groups are made in the order of the groups. An attempt one of whose calls fails is
  /// answered with 503 ServiceUnavailable. `count` is 1; services must not call in a circle.
  std::optional<std::size_t> caller;
  ArrivalSpec arrivals;
  std::vector<OperationSpec> operations;  ///< empty: all requests alike
  Distribution attempt_timeout;
  bool has_attempt_timeout = false;
  Duration deadline = Duration::max();  ///< of the whole request; `max()`: none
  /// Connections of one client, each carrying one attempt at a time; further attempts wait in
  /// order. A connection is kept after an answer that is no transient error.
  std::uint32_t max_connections = kUnlimited;
  Duration connect_timeout = Duration::max();  ///< for `NetworkSpec::connect`; `max()`: none
  double mutating = 0;                         ///< probability that a request has side effects
  bool idempotency_token = true;  ///< those requests carry a token, the same in every attempt
  /// Probability that a request with side effects carries the token of its client's previous one.
  double token_reuse = 0;
  bool long_poll = false;  ///< requests are long-polling operations (RetryRules::long_poll)
  RetryRules retry;
  /// A strategy of the user's own, instead of `retry`, whose error classes still apply; may be
  /// empty. Only from C++.
  StrategyFactory strategy;

  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
};

/// Bound on a metric of summary.csv that makes a scenario a test.
struct Expectation {
  std::string name;
  std::string metric;
  std::string client = "all";
  std::optional<double> at_most;   ///< must hold for the upper end of the 95 % interval
  std::optional<double> at_least;  ///< must hold for the lower end
};

/// A stretch of the run that is measured on its own: [start, start + duration). See phases.hpp.
struct PhaseSpec {
  std::string name;
  Time start;
  Duration duration;
};

/// Limit on `duration`, `drain_limit` and `interval` of a scenario: about thirty years.
inline constexpr Duration kLongestDuration = Duration::seconds(1'000'000'000);

struct Scenario {
  std::string name;
  std::string description;
  Duration duration;
  Duration warmup;  ///< left out of the summary, kept in the time series
  /// The warm-up has still to be found (experiment.hpp); such a scenario cannot be simulated.
  bool warmup_is_auto = false;
  bool drain = true;  ///< after `duration`: no new requests, those in flight may finish
  Duration drain_limit = Duration::seconds(300);
  std::uint64_t seed = 1;
  int replications = 20;  ///< with a target precision: the fewest
  double precision = 0;   ///< target relative error of `precision_metrics`; 0: none
  int max_replications = 1000;
  /// Metrics of all clients together that must meet it.
  std::vector<std::string> precision_metrics = {"goodput", "success_rate", "amplification",
                                                "latency_mean"};
  Duration interval = Duration::seconds(1);  ///< width of a time-series bin
  /// Goodput per offered load, times the success rate before the first fault or surge, that counts
  /// as recovered; how long it must stay there; and over what time lapses may average out.
  double recovery_share = 0.95;
  Duration recovery_hold = Duration::seconds(30);
  Duration recovery_window = Duration::seconds(1);
  NetworkSpec network;
  std::vector<ServiceSpec> services;
  std::vector<FaultSpec> faults;
  std::vector<ClientSpec> clients;
  std::vector<PhaseSpec> phases;  ///< besides those that faults and surges make
  std::vector<Expectation> expectations;
};

}  // namespace retrysim
