// A service: its servers, its queue, its throttle and limits, its instances, and its answers to
// attempts that it does not serve.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

struct ServiceSpec;

/// An error that a service answers instead of serving an attempt.
struct ErrorAnswer {
  int status = 500;
  std::string code;
  ErrorTraits traits = {};  ///< its traits in the service's Smithy model
};

/// An error that a service itself causes, with the delay that it suggests to the client, if any.
struct ServiceAnswer {
  ErrorAnswer error;
  std::optional<Duration> retry_after = {};
};

/// Answers that replace the usual ones.
struct OwnAnswers {
  std::optional<ServiceAnswer> throttled = {};    ///< the throttle refuses an attempt
  std::optional<ServiceAnswer> overflow = {};     ///< the queue is full
  std::optional<ServiceAnswer> limit = {};        ///< the limit on concurrency is reached
  std::optional<ServiceAnswer> shed = {};         ///< an attempt has waited too long
  std::optional<ServiceAnswer> timeout = {};      ///< `ServiceSpec::timeout` has expired
  std::optional<ServiceAnswer> call_failed = {};  ///< a call to another service has failed
  std::optional<ServiceAnswer> conflict = {};     ///< another write came first (model `kOcc`)
};

/// All effective answers.
struct ServiceAnswers {
  ServiceAnswer throttled, overflow, limit, shed, timeout, call_failed, conflict;
};

/// The answers of a service: its own where it has one, otherwise the usual one. `throttled`: 400
/// ThrottlingException with `ThrottleSpec::retry_after`; `overflow`: what `RejectionSpec::overflow`
/// says; `limit` and `shed`: the answer of the full queue; `timeout`: 504 GatewayTimeout;
/// `call_failed`: 503 ServiceUnavailable; `conflict`: 503 TransactionConflictException.
ServiceAnswers answers_of(const ServiceSpec& service);

/// An answer with the probability that an attempt gets it.
struct RandomError {
  ErrorAnswer answer;
  double probability = 0;
};

/// When an attempt gets its random error; only with `ServiceModelKind::kQueue`.
struct ErrorPoint {
  static constexpr double kOnArrival = -1;

  /// The share of its service time, from 0 to 1, after which the server stops with the error.
  /// `kOnArrival`: it is answered on arrival, and takes no server.
  double share = kOnArrival;

  bool on_arrival() const { return share < 0; }
};

/// How a service works.
enum class ServiceModelKind : std::uint8_t {
  kQueue,  ///< an attempt that a server finishes succeeds
  /// No queue: every attempt is served at once, and then fails with the probabilities of `errors`.
  /// Needs unlimited servers.
  kIndependent,
  /// A row under optimistic concurrency control: an attempt reads it, then writes it unless another
  /// write came in between; a conflict is answered with 503 TransactionConflictException.
  kOcc,
};
template <>
inline constexpr std::string_view kWords<ServiceModelKind> = "queue|independent|occ";
static_assert(words_end_with(ServiceModelKind::kOcc));
template <>
inline constexpr std::string_view kMeaning<ServiceModelKind> =
    "How the service works: a queue in front of servers; independent: every attempt is served "
    "at once and fails with the probabilities of errors; occ: a queue in front of a row that "
    "each attempt reads, and then writes unless another attempt has written in the meantime "
    "(queueing_time and wait_probability count both passes, service_latency only the write).";

/// Which waiting attempt is served next. No discipline interrupts a service.
enum class Discipline : std::uint8_t {
  kFifo,
  kLifo,
  kAdaptiveLifo,  ///< fifo while the queue is short, lifo while it is long (Maurer 2015)
  kRandom,
  kPriority,          ///< the highest ClientSpec::priority; first come first among equals
  kProcessorSharing,  ///< none waits: all are served together and share the servers equally
  kCodel,             ///< fifo that sheds load when attempts wait too long (RFC 8289)
};
template <>
inline constexpr std::string_view kWords<Discipline> =
    "fifo|lifo|adaptive-lifo|random|priority|processor-sharing|codel";
static_assert(words_end_with(Discipline::kCodel));
template <>
inline constexpr std::string_view kMeaning<Discipline> =
    "Which waiting attempt is served next: adaptive-lifo: the first that came, but the last one "
    "while more wait than queue.lifo_above; priority: that of the client group with the highest "
    "priority; processor-sharing: all are served at once; codel: fifo, but attempts that wait "
    "too long are shed.";

/// Whether attempts wait in a queue for a server of their own; otherwise they share the servers.
constexpr bool has_queue(Discipline d) { return d != Discipline::kProcessorSharing; }

/// When controlled delay sheds load.
struct CodelSpec {
  Duration target = Duration::milliseconds(5);      ///< an acceptable time to wait
  Duration interval = Duration::milliseconds(100);  ///< for how long it may be exceeded
};

/// Who is turned away when an attempt comes to a full queue.
enum class WhenFull : std::uint8_t {
  kRefuseNew,  ///< the one that comes
  /// The newest of those that wait with the lowest priority, if that is lower than the priority of
  /// the one that comes; else the one that comes.
  kEvictLowest,
};
template <>
inline constexpr std::string_view kWords<WhenFull> = "refuse-new|evict-lowest";
static_assert(words_end_with(WhenFull::kEvictLowest));

/// How attempts wait for a server, and how many of them may.
struct QueueSpec {
  Discipline discipline = Discipline::kFifo;
  /// The most attempts that may wait, those in service not counted; processor sharing: the most in
  /// service. The largest number (`ServiceSpec::kUnlimited`): no limit.
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();
  WhenFull when_full = WhenFull::kRefuseNew;  ///< not with `Discipline::kProcessorSharing`
  CodelSpec codel = {};                       ///< of `Discipline::kCodel`
  /// `Discipline::kAdaptiveLifo`: while more attempts wait than this, the newest one is next.
  std::int64_t lifo_above = kAsServers;
  /// Before a free server takes an attempt, attempts that have waited for longer are turned away,
  /// the oldest first. `max()`: none.
  Duration max_age = Duration::max();
  /// Drop an attempt when its turn comes if its answer could not arrive in time.
  bool drop_expired = false;

  /// Whether attempts are turned away because they have waited too long.
  bool sheds() const { return discipline == Discipline::kCodel || max_age != Duration::max(); }
  /// Whether an attempt that waits may have to leave for one that comes.
  bool evicts() const { return when_full == WhenFull::kEvictLowest && has_queue(discipline); }

  /// `lifo_above`: as many as the service, or each of its instances, has servers at the start.
  static constexpr std::int64_t kAsServers = std::numeric_limits<std::int64_t>::max();
};

/// The answer to an attempt that is turned away: by a full queue, by the concurrency limit, or
/// because it has waited too long.
enum class Overflow : std::uint8_t { kUnavailable, kThrottled, kInvalid, kDrop };
template <>
inline constexpr std::string_view kWords<Overflow> = "unavailable|throttled|invalid|drop";
static_assert(words_end_with(Overflow::kDrop));

/// What happens when an attempt is turned away, and what that costs.
struct RejectionSpec {
  Overflow overflow = Overflow::kUnavailable;  ///< where `ServiceSpec::answers` has no other answer
  Duration cost = {};  ///< server time, before the answer; a drop costs none
  double price = 1;    ///< in the unit of `ServiceSpec::price`; also of other throttling errors
};

/// A factor over time: `factors[i]` holds from `times[i]` on, the last one to the end.
struct CapacityProfile {
  std::vector<Time> times;      ///< not decreasing, first at zero
  std::vector<double> factors;  ///< >= 0
};

/// What happens to an attempt whose client has given up.
enum class Abandoned : std::uint8_t {
  kServe,          ///< it is served anyway
  kDropAtDequeue,  ///< it is discarded when its turn comes
  kRemove,         ///< it leaves the queue at once
  kAbort,          ///< it leaves the queue, or its server, at once
};
template <>
inline constexpr std::string_view kWords<Abandoned> = "serve|drop-at-dequeue|remove|abort";
static_assert(words_end_with(Abandoned::kAbort));

/// Which attempts share one allowance of a throttle.
enum class ThrottleScope : std::uint8_t {
  kService,    ///< all attempts share one
  kClient,     ///< each client has one
  kOperation,  ///< each operation, by name, has one for all clients; requests without one share one
  kKey,        ///< each key (KeySpec) has one for all clients
};
template <>
inline constexpr std::string_view kWords<ThrottleScope> = "service|client|operation|key";
static_assert(words_end_with(ThrottleScope::kKey));

/// The limit of a throttle for one operation, or for the requests for one key.
struct ThrottleLimit {
  std::string name;      ///< of the operation, or the number of the key, from 1
  double rate = 0;       ///< attempts per second; 0: all pass
  double burst = 1;      ///< as in `ThrottleSpec`
  Duration window = {};  ///< as in `ThrottleSpec`
};

/// The throttle of a service: a token bucket (continuous refill, starts full, one token an
/// attempt), or a number of attempts in each of a sequence of fixed windows.
struct ThrottleSpec {
  double rate = 0;   ///< attempts per second; 0: no throttle
  double burst = 1;  ///< capacity of the bucket in tokens, >= 1
  ThrottleScope scope = ThrottleScope::kService;
  Duration retry_after;  ///< suggested to throttled clients; zero: no suggestion
  /// Zero: there is a bucket. Otherwise there are windows of this length, the first of which begins
  /// at time zero; in each, rate x window attempts pass (rounded down; at least one).
  Duration window = {};
  /// Operations, or keys, with limits of their own; `rate`, `burst` and `window` are for all
  /// others. Only one of the two may have members, and only if `rate` is above zero. Within each
  /// limit, `scope` applies.
  std::vector<ThrottleLimit> operations = {}, keys = {};

  bool has_limits() const { return !operations.empty() || !keys.empty(); }
  /// Attempts that pass in one window.
  double window_limit() const {
    constexpr double kRounding = 1e-9;  // 0.1 a second in windows of 10 s is one attempt
    const double limit = std::floor(rate * window.in_seconds() * (1 + kRounding));
    return limit < 1 ? 1 : limit;
  }
};

/// How the limit on attempts at a service is found. Each adaptive way is that of other software,
/// with its names in brackets where ours differ; sources and arithmetic: sim/model/README.md.
enum class ConcurrencyControl : std::uint8_t {
  kFixed,
  // The three of Netflix's concurrency-limits library.
  kGradient2,  ///< from the ratio of long-term and present time at the service (Gradient2Limit)
  kAimd,       ///< adds one, and cuts by a share when something goes wrong (AIMDLimit)
  kVegas,      ///< from the number that seems to queue, by the least time (VegasLimit)
  /// From the ratio of the best time, measured now and then with few attempts, and the present one:
  /// Envoy's adaptive concurrency filter.
  kEnvoy,
  // While the servers are busy: the best throughput times the best time.
  kGoZero,    ///< go-zero's adaptive shedder
  kKratos,    ///< the BBR limiter of kratos
  kSentinel,  ///< Sentinel's system rule
};
template <>
inline constexpr std::string_view kWords<ConcurrencyControl> =
    "fixed|gradient2|aimd|vegas|envoy|go-zero|kratos|sentinel";
static_assert(words_end_with(ConcurrencyControl::kSentinel));

/// What attempts of one priority may use of a limit on concurrency (rule:
/// sim/model/service/admission.hpp).
struct PartitionSpec {
  static constexpr double kNone = -1;

  std::string name;
  std::uint8_t priority = 0;  ///< of its attempts; no two partitions have the same
  /// Places of its own, as a share of the limit (at least one place): its attempts are let in
  /// beyond the limit while fewer of them are there. `kNone`: it has none.
  double share = kNone;
  double refuse_from =
      1;  ///< its attempts are refused from this share of the limit on, used by all
};

struct ConcurrencySpec {
  ConcurrencyControl control = ConcurrencyControl::kFixed;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< fixed; the largest: none
  std::int64_t initial = 20;                                      ///< gradient2, aimd, vegas
  std::int64_t min = 20, max = 200;  ///< bounds of the limit: these and envoy [min_concurrency]
  double smoothing = 0.2;            ///< gradient2, vegas: weight of a new limit
  double headroom = 4;               ///< gradient2: growth while all is well [queueSize]
  double tolerance = 1.5;            ///< gradient2: acceptable ratio of present to long-term time
  double long_window = 600;          ///< gradient2: samples in the long-term average
  double backoff_ratio = 0.9;        ///< aimd: share of the limit that remains
  Duration slow = Duration::seconds(5);  ///< aimd: an attempt that took longer went wrong [timeout]
  /// Priorities that are let in by rules of their own; the shares add up to at most 1.
  std::vector<PartitionSpec> partitions = {};
  /// vegas: up to `alpha` attempts that seem to queue the limit grows, above `beta` it shrinks;
  /// both times the logarithm of the limit to base 10, rounded down.
  std::int64_t alpha = 3, beta = 6;
  /// vegas: the least time is measured anew after at most this many samples for each attempt of the
  /// limit.
  std::int64_t probe_multiplier = 30;
  /// envoy: the share of attempts that are faster than the time that stands for all
  /// [sample_aggregate_percentile].
  double percentile = 0.5;
  /// envoy: the time between changes of the limit [concurrency_update_interval].
  Duration interval = Duration::milliseconds(100);
  Duration min_rtt = Duration::max();  ///< envoy: the best time [fixed_value]; `max()`: measured
  Duration min_rtt_interval = Duration::seconds(60);  ///< envoy: between two of these [interval]
  double min_rtt_jitter = 0.15;        ///< envoy: share by which that time may be longer [jitter]
  std::int64_t min_rtt_requests = 50;  ///< envoy: attempts that are measured [request_count]
  double min_rtt_buffer = 0.25;        ///< envoy: share of the best time that is added [buffer]
  /// envoy: while it measures, the limit is `min`; false: it stays as it was, as with a
  /// min_concurrency_limit of its own.
  bool measure_at_min = true;
  /// go-zero, kratos: the use of the servers from which on attempts are refused; sentinel: the
  /// use above which all are refused.
  double cpu = 0.9;
  double load = 2.5;  ///< sentinel: Linux's load for each server, above which attempts are refused
  Duration window = Duration::seconds(5);  ///< go-zero, kratos, sentinel: what they remember
  std::int64_t buckets = 50;               ///< and the number of its parts

  /// A limit of this control with the defaults of its source.
  static ConcurrencySpec of(ConcurrencyControl control) {
    ConcurrencySpec c;
    c.control = control;
    switch (control) {
      case ConcurrencyControl::kVegas:
        c.min = 1, c.max = 1000, c.smoothing = 1;
        break;
      case ConcurrencyControl::kEnvoy:
        c.min = 3, c.max = 1000;
        break;
      case ConcurrencyControl::kKratos:
        c.cpu = 0.8, c.window = Duration::seconds(10), c.buckets = 100;
        break;
      case ConcurrencyControl::kSentinel:
        c.cpu = 1, c.window = Duration::seconds(1), c.buckets = 2;
        break;
      default:
        break;
    }
    return c;
  }
  bool in_use() const {
    return control != ConcurrencyControl::kFixed ||
           limit != std::numeric_limits<std::int64_t>::max();
  }
  /// Whether it depends on how busy the servers are, whose number must be known.
  bool needs_servers() const { return control >= ConcurrencyControl::kGoZero; }
};

/// Autoscaling: the number of servers follows their utilization (rule:
/// sim/model/service/instance.hpp).
struct AutoscalingSpec {
  double target = 0;       ///< target utilization of the servers; 0: no autoscaling
  double tolerance = 0.1;  ///< acceptable deviation, as a share of the target
  Duration interval = Duration::seconds(60);   ///< between looks; each covers this time
  Duration delay = Duration::seconds(120);     ///< until a new server works
  Duration cooldown = Duration::seconds(300);  ///< from one change to the next
  std::int64_t min = 1, max = 1;               ///< servers
};

/// The answer to an attempt whose token shows that its request has already had its effect.
enum class IdempotentReplay : std::uint8_t {
  kEquivalent,     ///< the answer that the first attempt got, or would have got: success
  kAlreadyExists,  ///< 409 EntityAlreadyExists
  kNone,           ///< tokens are ignored
};
template <>
inline constexpr std::string_view kWords<IdempotentReplay> = "equivalent|already-exists|none";
static_assert(words_end_with(IdempotentReplay::kNone));

/// What happens to an attempt whose turn comes while another one with its token is in service.
enum class InProgress : std::uint8_t {
  kError,    ///< 400 PriorRequestNotComplete, which every SDK takes for throttling
  kExecute,  ///< it is executed, too, and has an effect of its own
  kWait,     ///< it waits, keeping its server, for the other one; not with ServiceModelKind::kOcc
};
template <>
inline constexpr std::string_view kWords<InProgress> = "error|execute|wait";
static_assert(words_end_with(InProgress::kWait));

/// When a service stores an idempotency token.
enum class TokenStored : std::uint8_t {
  kWithEffect,    ///< together with the effect: without it, no token
  kBeforeEffect,  ///< by itself, before the work begins: it stays though there may be no effect
};
template <>
inline constexpr std::string_view kWords<TokenStored> = "with-effect|before-effect";
static_assert(words_end_with(TokenStored::kBeforeEffect));

/// How a service treats idempotency tokens. Tokens are checked when a server begins with an
/// attempt.
struct IdempotencySpec {
  /// How long a token is remembered after the effect (or after the attempt that had none, if the
  /// token is stored before); zero: not at all.
  Duration window;
  TokenStored stored = TokenStored::kWithEffect;
  IdempotentReplay replay = IdempotentReplay::kEquivalent;
  InProgress in_progress = InProgress::kError;
  Duration replay_cost;  ///< server time of an attempt that a token answers
  /// Time from the check of a token until it is stored. Checks of the same token in between do not
  /// find it. Zero: check and storing are one step. Not with `TokenStored::kBeforeEffect`.
  Distribution write_delay = {};

  /// Whether a token that has been checked can go unseen for a while.
  bool has_write_delay() const { return write_delay.mean_seconds() > 0; }
  bool keeps_without_effect() const { return stored == TokenStored::kBeforeEffect; }
  bool remembers() const { return window > Duration::zero() && replay != IdempotentReplay::kNone; }
};

/// Which instance of a service an attempt goes to. Every attempt chooses anew, retries included.
enum class Balancing : std::uint8_t {
  kRoundRobin,        ///< one after the other
  kRandom,            ///< each is equally likely
  kLeastConnections,  ///< the one with the fewest attempts under way
  kTwoChoices,        ///< of two instances chosen at random, the one with fewer attempts under way
  /// Among two instances chosen at random, the one of lower cost: the moving average of its
  /// latency, which follows peaks at once, times the attempts under way and one (Finagle, Linkerd).
  kPeakEwma,
};
template <>
inline constexpr std::string_view kWords<Balancing> =
    "round-robin|random|least-connections|two-choices|peak-ewma";
static_assert(words_end_with(Balancing::kPeakEwma));

/// Which of the instances that `Balancing` finds equally good an attempt goes to.
enum class Ties : std::uint8_t {
  kRandom,  ///< each is equally likely
  kFirst,   ///< the one with the lowest number
  kTurns,   ///< the one that comes next after the last one chosen
};
template <>
inline constexpr std::string_view kWords<Ties> = "random|first|turns";
static_assert(words_end_with(Ties::kTurns));

/// Who chooses instances, and so what the choice is based on.
enum class BalancerScope : std::uint8_t {
  kShared,  ///< one balancer, which sees the attempts of all clients
  kClient,  ///< each client for itself, by its own attempts
};
template <>
inline constexpr std::string_view kWords<BalancerScope> = "shared|client";
static_assert(words_end_with(BalancerScope::kClient));

/// How a balancer finds unhealthy instances (rule: sim/model/network/balancer.hpp). The defaults,
/// apart from the interval, are those of target groups of AWS's Application Load Balancer.
struct HealthCheckSpec {
  Duration interval = Duration::max();      ///< between checks of one instance; `max()`: none
  Duration timeout = Duration::seconds(5);  ///< a check that takes longer has failed
  std::uint32_t unhealthy_threshold = 2;    ///< failures in a row that take an instance out, >= 1
  std::uint32_t healthy_threshold = 5;      ///< passes in a row that bring it back, >= 1

  bool enabled() const { return interval != Duration::max(); }
};

/// Outlier detection: which instances a balancer leaves out for a while because of the answers it
/// had from them (rule: sim/model/network/ejection.hpp). Names, units and defaults are those of
/// Envoy's cluster.outlier_detection, apart from `interval`, which switches it on.
struct EjectionSpec {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  Duration interval = Duration::max();  ///< between two looks; `max()`: nothing is ejected
  std::uint32_t consecutive_5xx = 5;    ///< failures in a row that eject; `kNever`: none do
  std::uint32_t consecutive_gateway_failure = kNever;  ///< 502, 503, 504 in a row that eject
  Duration base_ejection_time = Duration::seconds(30);
  Duration max_ejection_time = Duration::seconds(300);
  double max_ejection_percent = 10;         ///< of the balancer's instances, at once
  bool always_eject_one_host = false;       ///< whatever that percentage is
  double success_rate_stdev_factor = 1900;  ///< in thousandths; 0: no such rule
  std::uint32_t success_rate_minimum_hosts = 5, success_rate_request_volume = 100;
  double failure_percentage_threshold = 0;  ///< 0: no such rule (Envoy: 85, not enforced)
  std::uint32_t failure_percentage_minimum_hosts = 5, failure_percentage_request_volume = 50;

  bool enabled() const { return interval != Duration::max(); }
  /// How many of `instances` may be ejected at once.
  std::uint32_t most_of(std::uint32_t instances) const {
    constexpr double kRounding = 1e-9;  // 10 percent of 30 are 3
    const double most = std::floor(max_ejection_percent * instances / 100 + kRounding);
    return most < 1 && always_eject_one_host ? 1 : static_cast<std::uint32_t>(most);
  }
};

/// How long the penalties of failure accrual are. With e = `min_penalty`, doubled by each penalty
/// that follows one without a success in between, and u uniform in [0, 1):
enum class Penalties : std::uint8_t {
  kExponential,    ///< e (1 + jitter_ratio u) (Linkerd)
  kEqualJittered,  ///< the first one e; later ones half of e (1 + u) (Finagle)
};
template <>
inline constexpr std::string_view kWords<Penalties> = "exponential|equal-jittered";
static_assert(words_end_with(Penalties::kEqualJittered));

/// Failure accrual: an instance that failed `max_failures` times in a row is left out for a
/// penalty, and then has to pass a single attempt (rule: sim/model/network/ejection.hpp). Names and
/// defaults are those of Linkerd's consecutive failures, apart from `max_failures`, which switches
/// it on.
struct AccrualSpec {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t max_failures = kNever;  ///< in a row; `kNever`: no accrual (Linkerd: 7)
  Duration min_penalty = Duration::seconds(1), max_penalty = Duration::seconds(60);
  Penalties penalties = Penalties::kExponential;  ///< at most `max_penalty` each
  double jitter_ratio = 0.5;  ///< the most that is added to a penalty, as a share of it

  bool enabled() const { return max_failures != kNever; }
};

/// Hosts behind a balancer, each with servers, a queue and a limit on concurrency of its own.
struct InstancesSpec {
  /// At most `kMost`. More than one allow neither autoscaling nor ServiceModelKind::kOcc.
  std::uint32_t count = 1;
  Balancing balancing = Balancing::kRoundRobin;
  HealthCheckSpec health_check = {};
  Ties ties = Ties::kRandom;               ///< for the kinds of balancing that compare instances
  Duration decay = Duration::seconds(10);  ///< `Balancing::kPeakEwma`: time constant, > 0
  /// `Balancing::kPeakEwma`: the average latency of every instance at the start, from which it
  /// decays (tower, Linkerd); `max()`: it is not known until an attempt has ended (Finagle).
  Duration first_latency = Duration::max();
  BalancerScope balancer = BalancerScope::kShared;
  /// `BalancerScope::kClient`: the number of instances that each client knows, chosen at random
  /// once; a number of at least `count` means all of them.
  std::uint32_t subset = std::numeric_limits<std::uint32_t>::max();
  /// A balancer uses all of its instances if the share in rotation is below this, and in any case
  /// if none is.
  double panic_threshold = 0;
  /// Envoy's overprovisioning factor, at least 1, in whole hundredths: there is no panic while the
  /// share in rotation, times this, is 1 or more. With 1 the threshold alone decides.
  double panic_overprovisioning = 1.4;
  EjectionSpec ejection = {};
  AccrualSpec accrual = {};

  static constexpr std::uint32_t kMost = 1000;

  /// Whether a balancer that knows `known` instances uses all of them while `in_rotation`, at least
  /// one, are in rotation (Envoy's load_balancer_impl.cc).
  bool panics(std::size_t in_rotation, std::size_t known) const {
    const double share = static_cast<double>(in_rotation) / static_cast<double>(known);
    const auto percent = static_cast<std::uint64_t>(panic_overprovisioning * 100 + 0.5);
    return share < panic_threshold && percent * in_rotation / known < 100;
  }
  /// Whether answers decide which instances are in rotation.
  bool listens() const { return ejection.enabled() || accrual.enabled(); }
};

/// How service times grow with n, the number of attempts already in service when one begins.
enum class SlowdownCurve : std::uint8_t {
  kLinear,       ///< the factor is 1 + per_attempt x n
  kPower,        ///< 1 + per_attempt x n^exponent
  kExponential,  ///< e^(per_attempt x n)
  kTable,        ///< given by a table
};
template <>
inline constexpr std::string_view kWords<SlowdownCurve> = "linear|power|exponential|table";
static_assert(words_end_with(SlowdownCurve::kTable));

/// A factor by n: linear between the rows, constant beyond the last one.
struct SlowdownTable {
  std::vector<double> in_service;  ///< n; strictly increasing, first 0
  std::vector<double> factors;     ///< >= 0
};

/// The factor on the time of a service that begins while n others are in service.
struct SlowdownSpec {
  SlowdownCurve curve = SlowdownCurve::kLinear;
  double per_attempt = 0;    ///< >= 0; not used by `kTable`
  double exponent = 2;       ///< > 0; of `kPower`
  SlowdownTable table = {};  ///< of `kTable`

  /// Whether service times depend on the number of attempts in service.
  bool enabled() const { return per_attempt != 0 || curve == SlowdownCurve::kTable; }
};

/// What the draw of a service time belongs to.
enum class ServiceTimePer : std::uint8_t {
  kAttempt,  ///< each attempt has one of its own
  kRequest,  ///< the attempts of a request share one
};
template <>
inline constexpr std::string_view kWords<ServiceTimePer> = "attempt|request";
static_assert(words_end_with(ServiceTimePer::kRequest));

/// A service. The members have the names that the keys of [service.NAME] have in scenario files;
/// keys that belong together are a struct.
struct ServiceSpec {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  std::string name;
  ServiceModelKind model = ServiceModelKind::kQueue;
  std::int64_t servers = 1;  ///< of each instance; `kUnlimited` allowed
  InstancesSpec instances;
  AutoscalingSpec autoscaling;
  /// Factor on the number of servers; servers that are removed finish their attempts first.
  std::optional<CapacityProfile> profile;
  Distribution service_time;
  ServiceTimePer service_time_per = ServiceTimePer::kAttempt;
  /// kRequest: the probability that a later attempt takes the service time of the first one; else
  /// it draws its own. So it is the correlation of the two, whatever the distribution.
  double service_time_repeats = 1;
  SlowdownSpec slowdown;
  QueueSpec queue;
  /// The waiting time up to which an attempt counts as served promptly; `max()`: not counted.
  Duration wait_within = Duration::max();
  ConcurrencySpec concurrency;  ///< limit on attempts waiting and in service together
  RejectionSpec rejection;
  OwnAnswers answers;
  Abandoned abandoned = Abandoned::kServe;
  ThrottleSpec throttle;
  std::vector<RandomError> errors;  ///< probabilities add up to at most 1
  ErrorPoint errors_at;
  /// Its calls to other services (`CallSpec`) that name no stage are made together, not one by one.
  bool parallel_calls = false;
  IdempotencySpec idempotency;
  /// The service's own limit on the time of an attempt in queue and service; `max()`: none.
  /// Attempts not finished by then are given up and answered with 504 GatewayTimeout.
  Duration timeout = Duration::max();
  double price = 1;  ///< of an attempt that is not rejected, in a unit of your own

  /// The servers of all instances together.
  std::int64_t all_servers() const {
    return servers == kUnlimited ? kUnlimited
                                 : servers * static_cast<std::int64_t>(instances.count);
  }
};

}  // namespace retrysim
