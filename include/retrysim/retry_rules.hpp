// How one client retries, as plain data: which answers are errors and of which class, backoff,
// quota and limits. A preset (mode, revision, SDK, API) fills the rules in; single values may then
// be overridden. They are shared by all clients of a group.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim {

// --- Errors --------------------------------------------------------------------------------------

// The answer to an attempt, and how a client classifies it. The class decides whether the attempt
// may be retried, what the retry costs and which backoff base applies.

/// The class of one attempt's result, as the client sees it.
enum class ResponseClass : std::uint8_t {
  kSuccess,
  kThrottling,    ///< the service asks for less load
  kTransient,     ///< a server or connection error that may pass
  kTimeout,       ///< no answer in time: transient, but its retry may cost more quota
  kNotRetryable,  ///< retrying cannot help
};
template <>
inline constexpr std::string_view kWords<ResponseClass> =
    "success|throttling|transient|timeout|not_retryable";
static_assert(words_end_with(ResponseClass::kNotRetryable));

/// How the exchange itself ended; anything but `kNone` means that there is no HTTP response.
enum class TransportError : std::uint8_t {
  kNone,
  kTimeout,     ///< no connection, or no whole response, in time
  kConnection,  ///< connection refused or broken
  // The client itself has not sent the attempt.
  kNoConnection,  ///< none of its connections became free in time
  kBulkheadFull,  ///< too many of its attempts were under way
  kNotPermitted,  ///< its own limit on the send rate refused it
};

/// Whether an error may be retried, as in the Smithy reference's retry interface.
enum class RetrySafety : std::uint8_t {
  kYes,
  kNo,
  kMaybe,  ///< not known: SDKs go by the side at fault, the Smithy example retries
};

/// Whose fault an error is.
enum class Fault : std::uint8_t { kNone, kClient, kServer };

/// The traits that a service's Smithy model gives one of its errors (`retryable`, with
/// `throttling`, and `error`). They override every rule about codes and statuses; only the Smithy
/// example retries a server's error even if that is not safe.
struct ErrorTraits {
  std::optional<RetrySafety> retry_safety = {};
  bool throttling = false;
  bool timeout = false;
  std::optional<Fault> fault = {};  ///< empty: that of the server from status 500 on

  bool operator==(const ErrorTraits&) const = default;
};

/// Adds the trait that one word names: `retryable`, `not-retryable`, `maybe-retryable`,
/// `throttling`, `timeout`, `client-fault`, `server-fault`. False if it is none of them.
bool add_trait(std::string_view word, ErrorTraits& traits);

/// The answer to one attempt: HTTP status with an optional error code, or a transport error.
struct Response {
  int status = 200;
  /// Error code of the service, such as "ThrottlingException"; may be empty.
  std::string code = {};
  TransportError transport = TransportError::kNone;
  /// Server-suggested delay (header x-amz-retry-after, milliseconds), if valid.
  std::optional<Duration> retry_after = {};
  ErrorTraits traits = {};
};

/// Whose table of retryable errors applies. See sim/retry/presets.md for the tables.
enum class Classifier : std::uint8_t {
  kStandard,        ///< the SDK reference page; botocore's standard and adaptive modes
  kBotocoreLegacy,  ///< requires a code together with its status
  kJavaV1,
  kJavaV2,
  kJsV2,
  kJsV3,
  kDotnetLegacy,
  kRuby,
  kSmithy,        ///< the reference design: retry safety, then the side at fault
  kJavaV2Of2026,  ///< the AWS SDK for Java 2.x under revision 2.1
  kCpp,
  kGoV1,
  kGoV2,        ///< the reference page, with additions by clients of single services
  kUrllib3,     ///< 413, 429 and 503 that suggest a delay, and nothing else
  kRustOf2025,  ///< the reference page; a suggested delay counts only with a known code
  kSwift,
  kSmithyPython,  ///< what the model calls retryable, timeouts, and a 408 or 429 without a model
};
template <>
inline constexpr std::string_view kWords<Classifier> =
    "standard|botocore-legacy|java-v1|java-v2|js-v2|js-v3|dotnet-legacy|ruby|smithy|java-v2-2026|"
    "cpp|go-v1|go-v2|urllib3|rust-2025|swift|smithy-python";
static_assert(words_end_with(Classifier::kSmithyPython));

/// Which errors pay the quota's timeout price.
enum class TimeoutClass : std::uint8_t {
  kNone,
  kNoAnswer,     ///< no connection or no answer in time
  kConnections,  ///< every transport error: no answer, a refused or a broken connection
  /// Every transport error, RequestTimeout(Exception), InternalError, IDPCommunicationError; also
  /// where the status says throttling.
  kNetworking,
  /// Codes RequestTimeout(Exception); where no known code decides, status 408, 419, 440, 504,
  /// 598 or 599.
  kRequestTimeout,
  kTransient,  ///< every transient error, 5xx among them
  kListed,     ///< as kTransient, without errors known only from their traits
  /// No connection or no answer in time, and status 408 or 504 except with a throttling code; for
  /// classifier `kSmithyPython` also except with traits.
  kStatuses,
};
template <>
inline constexpr std::string_view kWords<TimeoutClass> =
    "none|no-answer|connections|networking|request-timeout|transient|listed|statuses";
static_assert(words_end_with(TimeoutClass::kStatuses));

/// The meaning of a status 429 without a code of the table; for classifier `kCpp` also 509.
enum class Status429 : std::uint8_t { kThrottling, kNotRetryable, kTransient };
template <>
inline constexpr std::string_view kWords<Status429> = "throttling|not-retryable|transient";
static_assert(words_end_with(Status429::kTransient));

/// Some of the errors that an attempt can end with.
struct ErrorPattern {
  enum class Of : std::uint8_t {
    kAny,
    kStatus,      ///< an answer with `status`, and with `code` if that is not empty
    kHundred,     ///< an answer with a status from 100 x `status` on: 5 for 500 to 599
    kCode,        ///< an answer with `code`, whatever its status
    kThrottled,   ///< what the table of the classifier takes for throttling
    kTimeout,     ///< no connection, or no whole answer, in time
    kConnection,  ///< connection refused or broken
    kNoConnection,
    kBulkheadFull,
    kNotPermitted,
  };

  Of of = Of::kAny;
  int status = 0;
  std::string code = {};

  bool operator==(const ErrorPattern&) const = default;
};

/// Reads "any", "503", "5xx", "SlowDown", "503:SlowDown", "throttled", "timeout", "connection",
/// "no-connection", "bulkhead-full" or "not-permitted";
/// "internal" is 500 and "unavailable" 503. Statuses go from 400 to 599. A code is a word of
/// letters, digits and . _ - that begins with a capital letter. The result is empty if the text is
/// none of these.
std::optional<ErrorPattern> parse_error_pattern(std::string_view text);

/// The base of the backoff after some errors.
struct ErrorBase {
  ErrorPattern after;
  Duration base;

  bool operator==(const ErrorBase&) const = default;
};

/// How the errors of one group of clients are classified.
struct ErrorRules {
  Classifier classifier = Classifier::kStandard;
  TimeoutClass timeout_class = TimeoutClass::kNoAnswer;
  Status429 status_429 = Status429::kNotRetryable;
  /// Whether the client can fetch new credentials: only then does classifier `kRuby` retry errors
  /// that report expired ones.
  bool refreshable_credentials = false;
  /// If not empty, these errors are retried and no others. One that is final by the table becomes
  /// a transient error, or throttling if its status is 429.
  std::vector<ErrorPattern> on = {};
  std::vector<ErrorPattern> not_on = {};  ///< these are final, also where `on` has them
  std::vector<ErrorBase> bases = {};      ///< the first that fits replaces the base of the backoff

  static constexpr std::size_t kMaxBases = 127;
};

/// How a client has classified one answer.
struct ErrorInfo {
  ResponseClass response_class = ResponseClass::kSuccess;
  bool timeout = false;  ///< its retry pays the timeout price
  Fault fault = Fault::kNone;
  bool no_retry_after : 1 = false;  ///< a delay that the service suggests with it is ignored
  /// Which of `ErrorRules::bases` is the base of the backoff after it, counted from 1; 0: none.
  std::uint8_t own_base : 7 = 0;
  /// Its class by the table, where `ErrorRules::on` or `not_on` have made it final; otherwise
  /// kSuccess.
  ResponseClass before_lists = ResponseClass::kSuccess;

  bool success() const { return response_class == ResponseClass::kSuccess; }
  bool retryable() const {
    return response_class != ResponseClass::kSuccess &&
           response_class != ResponseClass::kNotRetryable;
  }
  /// What it is to a circuit breaker, which does not care about what is not to be retried.
  ResponseClass to_breaker() const {
    return before_lists == ResponseClass::kSuccess ? response_class : before_lists;
  }
};

/// Whether the pattern has this error, which is of this class by the table of the classifier.
bool matches(const ErrorPattern& pattern, const Response& response, ResponseClass by_table);

/// Classifies by the error's modelled traits first, then its code, then HTTP status; a transport
/// error has none of these. The lists of `rules` come last and have the last word. `api` selects
/// the additions of one service ("default" for none). Only a missing answer, or an error modelled
/// as a timeout, is `kTimeout`; a refused or broken connection is `kTransient`, for classifier
/// `kSmithyPython` final. What the client itself has not sent is `kTransient`. A status of 2xx
/// without an error code is a success.
ErrorInfo classify(const ErrorRules& rules, std::string_view api, const Response& response);

/// The delay that an x-amz-retry-after header suggests: a whole number of milliseconds, not
/// negative. Anything else counts as no suggestion, as in the SDKs.
std::optional<Duration> parse_retry_after(std::string_view header);

// --- Modes ---------------------------------------------------------------------------------------

enum class RetryMode : std::uint8_t { kNone, kLegacy, kStandard, kAdaptive, kCustom };
template <>
inline constexpr std::string_view kWords<RetryMode> = "none|legacy|standard|adaptive|custom";
static_assert(words_end_with(RetryMode::kCustom));

// --- Backoff -------------------------------------------------------------------------------------

enum class Jitter : std::uint8_t {
  kNone,
  kFull,
  kEqual,
  kDecorrelated,
  kAdditive,
  kProportional,
  kDecorrelatedV2,
  kPlusWidth,
  kPlusMinusWidth,
};
template <>
inline constexpr std::string_view kWords<Jitter> =
    "none|full|equal|decorrelated|additive|proportional|decorrelated-v2|plus-width|"
    "plus-minus-width";
static_assert(words_end_with(Jitter::kPlusMinusWidth));

/// How the backoff grows from retry to retry.
enum class Growth : std::uint8_t { kExponential, kLinear, kFibonacci, kPolynomial };
template <>
inline constexpr std::string_view kWords<Growth> = "exponential|linear|fibonacci|polynomial";
static_assert(words_end_with(Growth::kPolynomial));

/// How a list of delays goes on.
enum class DelaysThen : std::uint8_t {
  kLast,    ///< with the last one, again and again
  kRepeat,  ///< from the first one again
  kGrow,    ///< with the last one, which grows
};
template <>
inline constexpr std::string_view kWords<DelaysThen> = "last|repeat|grow";
static_assert(words_end_with(DelaysThen::kGrow));

/// How a backoff above the cap is limited.
enum class OverCap : std::uint8_t {
  kLimit,   ///< limited to the cap, and spread by the jitter
  kFlat,    ///< exactly the cap, without jitter (aws-sdk-go-v2)
  kRedraw,  ///< uniform on [cap/2, cap) instead (aws-sdk-go v1)
};
template <>
inline constexpr std::string_view kWords<OverCap> = "limit|flat|redraw";
static_assert(words_end_with(OverCap::kRedraw));

/// How a backoff becomes a whole number of quanta.
enum class Rounding : std::uint8_t {
  kDown,               ///< the delay is rounded down (JavaScript)
  kIntegers,           ///< v is rounded down, then random whole quanta below it are drawn (Java)
  kIntegersInclusive,  ///< as kIntegers, v itself included (PHP)
  kMantissa,           ///< the draw on the base is rounded down, then grows (C++)
};
template <>
inline constexpr std::string_view kWords<Rounding> = "down|integers|integers-inclusive|mantissa";
static_assert(words_end_with(Rounding::kMantissa));

/// Backoff before retry i (i = 0 for the first): v = base * g(first_exponent + i), limited by
/// `cap`, then spread by the jitter. The class of the latest error picks the base; i counts all
/// retries of the request, of any class. g by `growth`: exponential factor^n; linear 1 + n (factor
/// - 1); Fibonacci 1, 1, 2, 3, 5, ...; polynomial (n + 1)^power. g is not negative; for n < 0
/// that of the last two growths is 0.
///
/// Jitter, with R uniform on [0, 1): none v; full R v; equal v/2 + R v/2; additive v + R v;
/// proportional v (1 - j + 2 R j) with j = `jitter_share`, which may exceed the cap by the share;
/// plus-width v + R w, plus-minus-width max(0, v - w + 2 R w) with w = `jitter_width`, which may
/// exceed the cap by the width.
/// Decorrelated jitter replaces the formula: min(cap, base + R (3 s - base)), where s is the
/// previous delay, or `base` before the first. So does decorrelated-v2, the jitter of Polly 8:
/// min(cap, base (g(i + R) - g(i - 1 + R')) / 1.4) with g(t) = 2^t tanh(2 sqrt(t)), where R' is the
/// R of the retry before, and g = 0 before the first.
struct BackoffRules {
  static constexpr int kUnlimited = std::numeric_limits<int>::max();

  Duration base;           ///< non-throttling errors
  Duration throttle_base;  ///< throttling errors
  double factor = 2;
  Duration cap = Duration::max();  ///< `max()`: uncapped
  Jitter jitter = Jitter::kNone;
  Jitter throttle_jitter = Jitter::kNone;  ///< jitter after a throttling error
  double jitter_share = 0.2;               ///< of proportional jitter, in [0, 1]
  Duration jitter_width;                   ///< of jitter of constant width
  Growth growth = Growth::kExponential;
  double power = 2;  ///< of polynomial growth, >= 0
  int first_exponent = 0;
  int max_exponent = kUnlimited;   ///< limit on first_exponent + i
  bool jitter_before_cap = false;  ///< min(cap, jittered v) instead of jittered min(cap, v)
  OverCap over_cap = OverCap::kLimit;
  int immediate_retries = 0;  ///< this many first retries have no delay
  /// Delays are whole multiples of this; zero: exact.
  Duration quantum;
  Rounding rounding = Rounding::kDown;
  /// Decorrelated jitter as in aws-c-io: full jitter before the first retry, then uniform between
  /// base and x = min(cap, 3 s), whichever is larger.
  bool decorrelated_from_full = false;
  /// Mode "custom": the distribution of each retry's delay; replaces the formula when not empty.
  std::vector<Distribution> delays;
  DelaysThen delays_then = DelaysThen::kLast;
  double delays_factor = 2;               ///< kGrow: from retry to retry, > 0
  Duration delays_cap = Duration::max();  ///< kGrow: the longest delay after those of the list
};

// --- Quota ---------------------------------------------------------------------------------------

/// The tokens that a success after at least one retry gives back to the retry quota.
enum class Refund : std::uint8_t {
  kLast,    ///< the cost of the last retry acquired
  kCost,    ///< `cost`, regardless of the last retry's cost
  kCredit,  ///< `credit`, as after a first-try success
  kNone,
  kLastAndCredit,  ///< what kLast gives, and `credit`, which every success earns
  kLastOrCredit,   ///< the larger of what kLast and kCredit give
  kSharedLast,     ///< the cost of the last retry of any request that shares the bucket
};
template <>
inline constexpr std::string_view kWords<Refund> =
    "last|cost|credit|none|last-and-credit|last-or-credit|shared-last";
static_assert(words_end_with(Refund::kSharedLast));

/// The owner of each retry quota or send-rate limiter.
enum class RetryScope : std::uint8_t {
  kClient,
  kGroup,      ///< all clients of the group together
  kService,    ///< each client, for each service that it calls
  kOperation,  ///< each client, for each of its operations
  kKey,        ///< each client, for each key that it asks for
};
template <>
inline constexpr std::string_view kWords<RetryScope> = "client|group|service|operation|key";
static_assert(words_end_with(RetryScope::kKey));

/// When the quota is asked, relative to the limit on attempts.
enum class QuotaOrder : std::uint8_t {
  kAfterAttempts,         ///< only when all other rules permit the retry
  kBeforeAttempts,        ///< the last failure pays too
  kBeforeClassification,  ///< even errors that are not retryable pay
  kRollback,  ///< as kBeforeAttempts, but it gets back at once what it paid if no attempt is left
};
template <>
inline constexpr std::string_view kWords<QuotaOrder> =
    "after-attempts|before-attempts|before-classification|rollback";
static_assert(words_end_with(QuotaOrder::kRollback));

/// What happens to a retry that the quota cannot pay for.
enum class QuotaOnEmpty : std::uint8_t {
  kFail,
  /// It waits, before its backoff, until `refill_rate` has added the tokens. With hedging, where
  /// retries have no backoff, it fails.
  kWait,
};
template <>
inline constexpr std::string_view kWords<QuotaOnEmpty> = "fail|wait";
static_assert(words_end_with(QuotaOnEmpty::kWait));

/// When the credit is added.
enum class CreditOn : std::uint8_t {
  kSuccess,  ///< by a success at the first attempt (after retries: see Refund)
  kStart,    ///< when a request begins, whatever becomes of it
};
template <>
inline constexpr std::string_view kWords<CreditOn> = "success|start";
static_assert(words_end_with(CreditOn::kStart));

/// The retry quota: a bucket of tokens that every retry must pay from. Which price applies follows
/// from the class of the error that is retried. All amounts are >= 0, initial <= capacity.
struct QuotaRules {
  bool enabled = false;
  int capacity = 0;
  int initial = 0;
  int cost = 0;  ///< transient errors
  int throttle_cost = 0;
  int timeout_cost = 0;
  double credit = 0;  ///< added when `credit_on` says; may be a fraction of a token
  CreditOn credit_on = CreditOn::kSuccess;
  Refund refund = Refund::kNone;
  RetryScope scope = RetryScope::kClient;
  QuotaOrder order = QuotaOrder::kAfterAttempts;
  bool partial = false;  ///< takes the remaining tokens; refuses only at zero
  QuotaOnEmpty on_empty = QuotaOnEmpty::kFail;
  double refill_rate = 0;    ///< tokens per second of time
  Duration refill_interval;  ///< time counts in whole multiples of this; zero: exactly
  int failure_cost = 0;      ///< taken by a retryable failure, at most the tokens left (gRPC)
  int threshold = 0;         ///< retries need more tokens than this (gRPC)

  /// Whether a bucket needs more than its level: fractions of tokens, the time of the last refill,
  /// the last cost.
  bool accrues() const {
    return refill_rate > 0 || credit != static_cast<int>(credit) || refund == Refund::kSharedLast;
  }

  bool operator==(const QuotaRules&) const = default;
};

// --- Send-rate limiter ---------------------------------------------------------------------------

/// What the adaptive send-rate limiter does when it has no token.
enum class OnEmpty : std::uint8_t { kBlock, kFail };
template <>
inline constexpr std::string_view kWords<OnEmpty> = "block|fail";
static_assert(words_end_with(OnEmpty::kFail));

/// When an attempt takes its send token.
enum class SendTokenTiming : std::uint8_t {
  kBeforeSend,     ///< after the backoff
  kBeforeBackoff,  ///< retries wait for it before their backoff
  kWithBackoff,    ///< reserved when the retry is decided; the wait is added to the backoff
  /// It asks for them before the quota. If tokens are missing, none are taken: the wait for them,
  /// limited by the cap, replaces the backoff, and the retry is then sent without. With `kReserve`
  /// they are taken after the quota, even if they are missing.
  kInsteadOfBackoff,
  kFirstAttempt,  ///< retries take none
};
template <>
inline constexpr std::string_view kWords<SendTokenTiming> =
    "before-send|before-backoff|with-backoff|instead-of-backoff|first-attempt";
static_assert(words_end_with(SendTokenTiming::kFirstAttempt));

/// How an attempt waits for a token.
enum class SendTokenWait : std::uint8_t {
  kQueue,    ///< first come, first served, by the fill rate as it changes
  kOnce,     ///< for the time computed when the wait begins; then it is sent, token or not
  kReserve,  ///< as kOnce, but the tokens are taken when the wait begins
  /// For the time computed when the wait begins; an attempt that then finds no token waits again. A
  /// growing rate wakes nobody earlier, and a newcomer may take the token first.
  kRecheck,
};
template <>
inline constexpr std::string_view kWords<SendTokenWait> = "queue|once|reserve|recheck";
static_assert(words_end_with(SendTokenWait::kRecheck));

/// Which responses change the fill rate. A success always does.
enum class LimiterUpdate : std::uint8_t {
  kAll,
  kRetried,            ///< errors that will be retried
  kRetriedThrottling,  ///< throttling errors that will be retried
};
template <>
inline constexpr std::string_view kWords<LimiterUpdate> = "all|retried|retried-throttling";
static_assert(words_end_with(LimiterUpdate::kRetriedThrottling));

/// Adaptive mode's client-side limit on the send rate.
struct SendRateRules {
  bool enabled = false;
  OnEmpty on_empty = OnEmpty::kBlock;
  SendTokenTiming acquire = SendTokenTiming::kBeforeSend;
  SendTokenWait wait = SendTokenWait::kQueue;
  LimiterUpdate update = LimiterUpdate::kAll;
  int retry_cost = 1;         ///< send tokens of a retry after a transient error or a timeout
  int costly_retry_cost = 1;  ///< send tokens of a retry after a throttling error
  double min_rate = 0.5;      ///< lower bound of the fill rate, tokens per second
  double initial_measured_rate = 0;
  /// Fill rate from the start on, tokens per second; 0: the bucket fills from the first response
  /// on.
  double initial_fill_rate = 0;
  bool round_rates = false;  ///< measured and fill rate to eight decimals (JavaScript)
  RetryScope scope = RetryScope::kClient;

  bool operator==(const SendRateRules&) const = default;
};

// --- Limits beyond the SDKs ----------------------------------------------------------------------

// Rules from other sources that refuse retries or attempts. Each is a struct with its name (that of
// its table in a scenario file), the words that name it when it has refused a retry (none if it
// refuses only attempts), and whether it is in use. `RetryRules` lists them; their state is in
// retry_strategy.hpp.

enum class BudgetKind : std::uint8_t {
  kNone,
  /// Retries in the last `window` <= share * requests in it + minimum * window in seconds
  /// (Finagle).
  kWindow,
  /// Retries under way, those in a backoff included, <= max(minimum, share * requests that are not
  /// in a backoff) (Envoy).
  kActive,
  /// Retries under way <= max(minimum, share * attempts in the last `window`) (Envoy with
  /// budget_interval).
  kInterval,
};
template <>
inline constexpr std::string_view kWords<BudgetKind> = "none|window|active|interval";
static_assert(words_end_with(BudgetKind::kInterval));

/// The quantity that a budget is a share of.
enum class BudgetOf : std::uint8_t { kRequests, kSuccesses };
template <>
inline constexpr std::string_view kWords<BudgetOf> = "requests|successes";
static_assert(words_end_with(BudgetOf::kSuccesses));

/// A budget for retries as a share of requests. Refusals count as `quota_exceeded`.
struct BudgetRules {
  static constexpr std::string_view kName = "budget", kRefuser = "the retry budget";

  BudgetKind kind = BudgetKind::kNone;
  double share = 0.2;
  double minimum = 0;  ///< retries: per second (kWindow), or at once (kActive, kInterval)
  Duration window = Duration::seconds(10);
  BudgetOf of = BudgetOf::kRequests;  ///< what counts in the window (kWindow)
  /// How many tenths of the window count (kWindow, kInterval), including the present one, which is
  /// not over yet: 10 in Finagle, 11 in tower.
  int slices = 10;

  bool in_use() const { return kind != BudgetKind::kNone; }
  bool operator==(const BudgetRules&) const = default;
};

/// A circuit breaker on retries alone (one that refuses first attempts, too: breaker.hpp): nothing
/// is retried while at least `failure_share` of the attempts in the last `window` failed (of at
/// least `min_attempts`), nor for `open` after it tripped. First attempts continue, so it closes by
/// itself. Refusals count as `quota_exceeded`.
struct RetryBreakerRules {
  static constexpr std::string_view kName = "retry_breaker", kRefuser = "the open retry breaker";

  bool enabled = false;
  double failure_share = 0.5;
  int min_attempts = 10;
  Duration window = Duration::seconds(10);
  Duration open;

  bool in_use() const { return enabled; }
  bool operator==(const RetryBreakerRules&) const = default;
};

/// Whether the guard lets retries pass when the run begins.
enum class GuardStart : std::uint8_t {
  kOn,
  kOff,  ///< not until `GuardRules::samples` successive samples were below the share
};
template <>
inline constexpr std::string_view kWords<GuardStart> = "on|off";
static_assert(words_end_with(GuardStart::kOff));

/// RetryGuard's controller (Tavori et al. 2025, arXiv 2511.23278; source of the rule:
/// sim/retry/README.md), one for each client: it cuts time into samples. Retries are switched off
/// after `samples` successive ones in which more than `failure_share` of the attempts that ended
/// have failed, and on again after as many in which a smaller share did. A sample at exactly that
/// share interrupts both counts; one in which no attempt ended has a share of 0. Refusals count as
/// `quota_exceeded`.
struct GuardRules {
  static constexpr std::string_view kName = "guard", kRefuser = "the retry guard";

  bool enabled = false;
  double failure_share = 0.2;
  Duration sample = Duration::seconds(1);  ///< > 0; samples begin at its multiples
  int samples = 30;                        ///< >= 1
  GuardStart starts = GuardStart::kOn;

  bool in_use() const { return enabled; }
  bool operator==(const GuardRules&) const = default;
};

/// The client-side throttle of Google's SRE book ("Handling overload"): an attempt is refused
/// locally, as `no_send_token`, with probability max(0, (requests - k accepts) / (requests + 1)),
/// counted over the last `window`, or over the last `window_calls` calls if that is not zero.
/// Requests are all attempts, refused ones included; accepts the answers other than throttling,
/// transient errors and timeouts.
struct ThrottleRules {
  static constexpr std::string_view kName = "client_throttle", kRefuser = "";

  bool enabled = false;
  double k = 2;
  Duration window = Duration::seconds(120);
  int window_calls = 0;

  bool in_use() const { return enabled; }
  bool operator==(const ThrottleRules&) const = default;
};

/// Hedging: while no answer has come `delay` after an attempt was sent, the next one is sent beside
/// it, up to `max_attempts` and as the quota permits. The first success ends the request; a
/// retryable failure lets the next attempt go at once, without backoff; any other ends the request.
/// An attempt timeout runs from the latest attempt, and gives up all that are under way.
struct HedgingRules {
  bool enabled = false;
  Duration delay;
};

// --- All rules -----------------------------------------------------------------------------------

/// How a server-suggested delay (ra) changes the backoff (t).
enum class RetryAfter : std::uint8_t {
  kIgnore,
  kMinimum,           ///< max(ra, t)
  kClamp,             ///< ra clamped to [t, t + 5 s]
  kAdd,               ///< t + ra
  kReplace,           ///< min(ra, limit)
  kMinimumCapped,     ///< max(min(ra, limit), t)
  kAddWhenThrottled,  ///< t + ra after a throttling error, else t
};
template <>
inline constexpr std::string_view kWords<RetryAfter> =
    "ignore|minimum|clamp|add|replace|minimum-capped|add-when-throttled";
static_assert(words_end_with(RetryAfter::kAddWhenThrottled));

/// What a client does when the service suggests a longer delay than it obeys.
enum class RetryAfterOver : std::uint8_t {
  kLimit,    ///< it waits as long as it obeys
  kBackoff,  ///< it ignores the suggestion
  kFail,     ///< it does not retry
};
template <>
inline constexpr std::string_view kWords<RetryAfterOver> = "limit|backoff|fail";
static_assert(words_end_with(RetryAfterOver::kFail));

/// What a long-polling operation does when the quota refuses its retry. Waiting keeps it from
/// polling in a tight loop while the quota is empty.
enum class LongPoll : std::uint8_t {
  kReturn,    ///< it returns the error at once
  kWait,      ///< it first waits for the delay that the retry would have had
  kWaitBase,  ///< as kWait, but with the base of non-throttling errors for any error
};
template <>
inline constexpr std::string_view kWords<LongPoll> = "return|wait|wait-base";
static_assert(words_end_with(LongPoll::kWaitBase));

struct RetryRules {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  RetryMode mode = RetryMode::kNone;
  ErrorRules errors;
  std::string api = "default";
  std::uint32_t max_attempts = 1;  ///< counts the first attempt; `kUnlimited` allowed
  /// Mode "custom": probability that a retry within the limit on attempts is made. Drawn before the
  /// quota is asked; a refusal counts as `max_attempts_exceeded`, because it is a random limit on
  /// attempts.
  double probability = 1;
  BackoffRules backoff;
  QuotaRules quota;
  SendRateRules rate_limit;
  BudgetRules budget;
  RetryBreakerRules retry_breaker;
  GuardRules guard;
  ThrottleRules throttle;
  HedgingRules hedging;
  /// How often a balancer is asked again for the instance of a retry or hedge while it names one
  /// that an earlier attempt of the request went to; `kUnlimited`: it names a new one if there is
  /// one in rotation.
  std::uint32_t avoid_hosts = 0;
  RetryAfter retry_after = RetryAfter::kIgnore;
  /// The longest suggested delay that is obeyed; `Duration::max()`: any. Zero: the cap of the
  /// backoff where the suggestion replaces the backoff or is a limited minimum, elsewhere any.
  Duration retry_after_max;
  RetryAfterOver retry_after_over = RetryAfterOver::kLimit;
  /// An obeyed suggestion is lengthened by up to this share of it, at random; 0: it is not.
  double retry_after_jitter = 0;
  LongPoll long_poll = LongPoll::kReturn;

  /// The longest suggested delay that is obeyed; `Duration::max()`: any.
  Duration suggestion_limit() const {
    if (retry_after_max > Duration::zero()) return retry_after_max;
    const bool limited =
        retry_after == RetryAfter::kReplace || retry_after == RetryAfter::kMinimumCapped;
    return limited ? backoff.cap : Duration::max();
  }

  /// The limits beyond the SDKs. Code that treats them alike goes through this list.
  static constexpr std::tuple kLimits{&RetryRules::budget, &RetryRules::retry_breaker,
                                      &RetryRules::guard, &RetryRules::throttle};
  /// The rules of one limit, such as BudgetRules.
  template <class Rules>
  const Rules& of_limit() const {
    return this->*std::get<Rules RetryRules::*>(kLimits);
  }
  /// Calls `f` with the rules of each limit, in use or not.
  template <class F>
  void each_limit(F&& f) const {
    std::apply([&](auto... limit) { (f(this->*limit), ...); }, kLimits);
  }
  /// Whether any limit beyond the SDKs is in use.
  bool has_limits() const {
    bool found = false;
    each_limit([&found](const auto& limit) { found = found || limit.in_use(); });
    return found;
  }
  /// Whether a limit other than the quota may refuse retries.
  bool has_refusers() const {
    bool found = false;
    each_limit([&found](const auto& limit) {
      found = found || (limit.in_use() && !limit.kRefuser.empty());
    });
    return found;
  }
  /// Whether clients remember anything between requests.
  bool remembers() const { return quota.enabled || rate_limit.enabled || has_limits(); }
};

/// The first part of the clients' state whose rules differ between the two, by its name in a
/// scenario file; empty if they agree. Clients can share a retryer only if they do.
std::string_view different_state_rules(const RetryRules& a, const RetryRules& b);

// --- Presets -------------------------------------------------------------------------------------

// The retry rules of every combination of mode, revision, SDK and API, with their sources; and
// known defects of SDKs, which can be switched on.

/// One row of the table of presets.
struct Preset {
  std::string_view mode;      ///< "none", "legacy", "standard", "adaptive", "custom"
  std::string_view revision;  ///< "2.0", "2.1", "smithy", "smithy-2.1"; empty: the mode has none
  std::string_view sdk;       ///< "botocore", "java-v1"; empty: the mode does not depend on it
  std::string_view api;       ///< "default", or a service with numbers of its own
  RetryRules rules;
  std::string_view source;  ///< where the constants come from
};

/// A release of an SDK that changed its rules, or the oldest whose rules are known.
struct TurningPoint {
  std::string_view sdk;      ///< as its users call it: "botocore", "aws-cli", "smithy-core"
  std::string_view version;  ///< "1.34.107"
  std::string_view change;   ///< in a few words
  std::string_view source;
  // The state from this release on; empty: unchanged.
  std::string_view mode;       ///< mode by default
  std::string_view revision;   ///< revision of the standard rules by default
  std::string_view revisions;  ///< the available ones: "2.0|2.1"
  /// Changes the rules of the preset, or of the next turning point, back to those before this
  /// release. Null: no difference.
  void (*before)(const Preset& preset, RetryRules& rules) = nullptr;
};

/// Every preset that exists. A default row comes before the rows of single APIs.
std::span<const Preset> presets();

/// The turning points of all SDKs, or of one; the oldest release first.
std::span<const TurningPoint> turning_points();
std::span<const TurningPoint> turning_points(std::string_view sdk);

// An SDK may be named with its version: "botocore@1.44.0".

bool has_version(std::string_view sdk);
/// "1.44.0"; empty if there is none.
std::string_view sdk_version(std::string_view sdk);
/// Why the version cannot be used, with the known versions; empty if it can, or there is none. A
/// release newer than all known ones has the newest rules.
std::string version_problem(std::string_view sdk);
/// Whether the first release is older than the second. Both must have a version without a problem.
bool version_is_before(std::string_view sdk, std::string_view other);
/// The default mode and revision of that release; empty without a version.
std::string_view release_mode(std::string_view sdk);
std::string_view release_revision(std::string_view sdk);
/// Whether a revision can be chosen with that release; always true without a version.
bool release_offers(std::string_view sdk, std::string_view revision);
/// The rules of a preset as that release has them.
RetryRules rules_of_release(const Preset& preset, std::string_view sdk);

/// The preset for a combination; an API without numbers of its own uses those of "default" (then
/// the caller sets `rules.api` itself, which picks the additions to the error classes).
/// Empty words mean the defaults: revision "2.0", or that of the SDK's version, SDK "botocore"
/// (mode custom: none), API "default". For the other effects of a version see `rules_of_release`. A
/// mode that has no revisions, or does not depend on the SDK, takes any known one, so that a
/// comparison may vary the mode alone. Null if the combination does not exist.
const Preset* find_preset(std::string_view mode, std::string_view revision, std::string_view sdk,
                          std::string_view api);

/// The name under which an SDK is known here: "botocore" for boto3, cli and aws-cli, "dotnet" for
/// powershell, which are built on them; without its version. Any other name stays as it is.
std::string_view canonical_sdk(std::string_view sdk);

/// The default timeouts of an SDK's client, and its default limit on connections to one host.
struct ClientDefaults {
  std::string_view sdk;
  Duration attempt_timeout;       ///< for the answer, or the next part of it; `max()`: for ever
  Duration connect_timeout;       ///< `max()`: for ever, or as long as the operating system does
  std::uint32_t max_connections;  ///< `RetryRules::kUnlimited`: as many as are needed
  std::string_view source;
  Duration connection_wait = Duration::max();  ///< for a free connection; `max()`: for ever
};
/// The defaults of the SDKs whose source could be read.
std::span<const ClientDefaults> client_defaults();
/// The defaults of an SDK; null if they are not known.
const ClientDefaults* find_client_defaults(std::string_view sdk);

/// Every word that names a service with numbers or error codes of its own, "default" first.
std::span<const std::string_view> known_apis();

/// A defect that an SDK has, or had, as a change to its rules.
struct Defect {
  std::string_view name;     ///< "quota-never-refilled"
  std::string_view meaning;  ///< one sentence
  std::string_view source;   ///< where it was reported
  bool (*applies)(const RetryRules& rules);
  void (*apply)(RetryRules& rules);
};
std::span<const Defect> defects();
/// The defect of that name; null if there is none.
const Defect* find_defect(std::string_view name);

/// The default mode of an SDK, before or after the change of 2026. Empty for names that are not an
/// SDK.
std::optional<std::string_view> default_mode(std::string_view sdk, bool after_2026);

}  // namespace retrysim
