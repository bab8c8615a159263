// The retry strategy of one client: what it remembers, and its decisions before every attempt and
// after it. The functions here are those that the simulation itself runs; `RetryStrategy` wraps
// them for use on their own. Names follow the Smithy reference's retry interface. They are pure:
// time and random draws are passed in.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim {

// --- What a client remembers ---------------------------------------------------------------------

// Between requests a client remembers its retry quota, its send-rate limiter, and the limits beyond
// the SDKs (RetryRules::kLimits). Only the state that a group's rules need is stored.

/// The client-side send-rate limiter of adaptive mode: a token bucket whose fill rate follows a
/// CUBIC curve after each throttling error; inactive until the first one. Sources:
/// botocore/retries/adaptive.py, bucket.py, throttling.py; the AWS SDK reference's pseudo-code.
/// Every call passes the present time, which never goes back. Rates are per second. After a
/// throttling error at rate W_max the fill rate is 0.7 W_max; it is back at W_max after K seconds,
/// K^3 = 0.3 W_max / 0.4, and grows beyond it as 0.4 (t - K)^3 + W_max, never above twice the
/// measured send rate, never below the lowest rate, 0.5 by default. The bucket holds one second's
/// worth, at least one token.
class SendRateLimiter {
 public:
  /// The limiter of a client created at `start`.
  explicit SendRateLimiter(Time start = Time::zero(), const SendRateRules& rules = {});

  /// Takes `tokens` (>= 1) if the bucket has that many now, or if the limiter is not active. A
  /// shortfall that would fill within one nanosecond, the resolution of time, counts as none. More
  /// tokens than the bucket holds are never granted.
  bool try_acquire(Time now, int tokens = 1);

  /// How long until `try_acquire` could succeed at the present fill rate, were the bucket large
  /// enough: zero or, rounded up, whole nanoseconds. Exact as long as no response arrives and no
  /// other attempt acquires.
  Duration wait(Time now, int tokens = 1) const;

  /// Whether the bucket, at its present size, can ever hold this many tokens.
  bool can_hold(int tokens) const { return !enabled_ || tokens <= max_capacity_; }

  /// Takes the tokens at once, even if the level falls below zero, and returns how long to wait for
  /// them at the present fill rate.
  Duration reserve(Time now, int tokens = 1);

  /// Takes note of a response: measures the send rate and sets the new fill rate.
  void on_response(Time now, bool throttling);

  bool enabled() const { return enabled_; }
  double measured_rate() const { return measured_rate_; }  ///< smoothed sends per second
  double fill_rate() const { return fill_rate_; }          ///< tokens per second
  double max_capacity() const { return max_capacity_; }
  double last_max_rate() const { return last_max_rate_; }  ///< rate at the last throttling error
  /// Tokens in the bucket at `now` (>= the last time passed in).
  double capacity(Time now) const;

 private:
  friend struct SendRateLimiterTestAccess;
  void refill(Time now);
  void measure(Time now);
  void set_rate(Time now, double rate);
  void set_last_max_rate(double rate);   // and K with it
  double rate_on_curve(Time now) const;  // the CUBIC curve, in tokens per second

  Time last_refill_ = Time::max();  // max(): never refilled
  Time last_throttle_;
  std::int64_t last_bucket_ = 0;  // in half seconds
  double fill_rate_ = 0;
  double max_capacity_ = 0;
  double current_capacity_ = 0;
  double measured_rate_ = 0;
  double last_max_rate_ = 0;
  double min_rate_ = 0.5;
  double time_window_ = 0;  // K: seconds until the curve is back at last_max_rate_
  std::uint32_t request_count_ = 0;
  bool enabled_ = false;
  bool round_rates_ = false;
};

/// A retry quota (of one client, or of what its `RetryScope` says), in tokens. Its level is always
/// within [0, capacity].
struct RetryQuota {
  std::int32_t available = 0;

  /// Takes `cost` if there is that much; takes nothing otherwise.
  bool acquire(int cost) {
    if (cost > available) return false;
    available -= cost;
    return true;
  }
  /// Gives back `amount`, up to `capacity`.
  void release(int amount, int capacity) {
    available = available > capacity - amount ? capacity : available + amount;
  }
};

/// The state of a quota besides its level, if it has credits below one token, a refill over time,
/// or a shared last cost (QuotaRules::accrues()).
struct QuotaAccrual {
  std::int64_t billionths = 0;  ///< of a token, in [0, 10^9): tenths then add up to a whole one
  Time refilled_at;             ///< refill is accounted for up to here; in the future after a wait
  std::int32_t last_cost = 0;   ///< of the last retry that any request paid for

  /// Adds `tokens` >= 0 to a quota; fractions of a token are kept for later. Anything that is not a
  /// finite number adds nothing.
  void add(double tokens, RetryQuota& quota, int capacity);
  /// Adds the refill since the last one.
  void refill(const QuotaRules& rules, RetryQuota& quota, Time now);
};

/// Two counts over a sliding window: the last N slices of time, or the last N calls.
class SlidingCounts {
 public:
  /// Counts over the last `slices` (>= 1) tenths of `window` (> 0), including the present one,
  /// which is not over yet; they leave slice by slice.
  explicit SlidingCounts(Duration window, int slices = 10);
  /// Counts over the last `calls` (>= 1) calls of `add_first`.
  explicit SlidingCounts(int calls);

  void add_first(Time now, std::uint32_t n = 1);
  void add_second(Time now, std::uint32_t n = 1);
  std::uint64_t first(Time now) { return advance(now), first_; }
  std::uint64_t second(Time now) { return advance(now), second_; }

  /// Memory of the slices on the heap, besides the object itself.
  std::size_t bytes() const {
    constexpr std::size_t kOfTheHeap = 2 * sizeof(void*);  // overhead of an allocation
    return slices_.capacity() * sizeof(Slice) + kOfTheHeap;
  }

 private:
  struct Slice {
    std::uint32_t first = 0, second = 0;
  };
  void advance(Time now);
  void step();

  std::vector<Slice> slices_;
  Duration slice_;           // zero: one call each
  std::int64_t newest_ = 0;  // its number since time zero
  std::size_t at_ = 0;       // its place
  std::uint64_t first_ = 0, second_ = 0;
};

/// What a limit may want to know of a retry that is asked for.
struct RetryAsked {
  bool again = false;     ///< the request has been granted one before
  bool given_up = false;  ///< its attempt has timed out: it is not under way any more
};

/// The interface of a limit beyond the SDKs: the events it is notified of, and the decisions it
/// makes. A limit redefines the functions it needs, with the same names and parameters; those
/// defined here do nothing, and permit every retry.
template <class RulesOfLimit>
struct RetryLimit {
  using Rules = RulesOfLimit;

  void request_begins(const Rules&, Time) {}
  /// An attempt ended. `failed`: with a retryable error; an error that is not retryable counts as
  /// an answer of a healthy service.
  void attempt_ended(const Rules&, bool /*failed*/, Time) {}
  /// Whether one more retry is allowed.
  bool permits(const Rules&, RetryAsked, Time) { return true; }
  /// A retry was permitted, and no other rule refused it.
  void retry_granted(const Rules&, bool /*already_retrying*/, Time) {}
  /// The wait before a retry begins, and ends. In between the request has no attempt under way, and
  /// does not end.
  void backoff_begins() {}
  void backoff_ends() {}
  void request_succeeded(const Rules&, Time) {}
  /// The request has ended, whatever its outcome. `retried`: it had been granted a retry.
  void request_ends(bool /*retried*/) {}

  /// Memory on the heap, besides the object itself.
  std::size_t further_bytes() const { return 0; }
};

/// A budget for retries (BudgetRules).
class RetryBudget : public RetryLimit<BudgetRules> {
 public:
  explicit RetryBudget(const BudgetRules& rules);

  void request_begins(const BudgetRules& rules, Time now);
  bool permits(const BudgetRules& rules, RetryAsked asked, Time now);
  void backoff_begins() { --active_requests_; }
  void backoff_ends() { ++active_requests_; }
  void request_succeeded(const BudgetRules& rules, Time now);
  void retry_granted(const BudgetRules& rules, bool already_retrying, Time now);
  void request_ends(bool retried);
  std::size_t further_bytes() const { return counts_.bytes(); }

 private:
  SlidingCounts counts_;               // requests or successes, retries
  std::uint64_t active_requests_ = 0;  // those in a backoff are not
  std::uint64_t active_retries_ = 0;   // requests that have been granted one, in a backoff or not
};

/// A circuit breaker on retries (RetryBreakerRules).
class RetryBreaker : public RetryLimit<RetryBreakerRules> {
 public:
  explicit RetryBreaker(const RetryBreakerRules& rules) : counts_(rules.window) {}

  void attempt_ended(const RetryBreakerRules& rules, bool failed, Time now);
  bool permits(const RetryBreakerRules&, RetryAsked, Time now) { return !open(now); }
  bool open(Time now) const { return now < open_until_; }
  std::size_t further_bytes() const { return counts_.bytes(); }

 private:
  SlidingCounts counts_;  // attempts, failures
  Time open_until_;
};

/// RetryGuard's controller (GuardRules).
class RetryGuard : public RetryLimit<GuardRules> {
 public:
  explicit RetryGuard(const GuardRules& rules) : retries_(rules.starts == GuardStart::kOn) {}

  void attempt_ended(const GuardRules& rules, bool failed, Time now);
  bool permits(const GuardRules& rules, RetryAsked asked, Time now);

 private:
  void finish_samples(const GuardRules& rules, Time now);  // those that are over at `now`

  std::int64_t sample_ = 0;                    // number of the present one since time zero
  std::uint64_t attempts_ = 0, failures_ = 0;  // in the present sample
  std::int64_t low_ = 0, high_ = 0;            // successive samples below, above the share
  bool retries_;
};

/// The SRE book's client-side throttle (ThrottleRules).
class ClientThrottle : public RetryLimit<ThrottleRules> {
 public:
  explicit ClientThrottle(const ThrottleRules& rules);

  /// Whether an attempt may be sent; `uniform` is a draw from [0, 1). Either way it counts.
  bool permit(const ThrottleRules& rules, Time now, double uniform);
  void attempt_ended(const ThrottleRules&, bool failed, Time now) {
    if (!failed) counts_.add_second(now);
  }
  std::size_t further_bytes() const { return counts_.bytes(); }

 private:
  SlidingCounts counts_;  // requests, accepts
};

/// `Each<Limit>` for every limit whose rules `RetryRules::kLimits` lists, in that order.
template <template <class> class Each>
using ForRetryLimits =
    std::tuple<Each<RetryBudget>, Each<RetryBreaker>, Each<RetryGuard>, Each<ClientThrottle>>;

/// Whether the rules have to be told when requests begin and end (`begin_request`, `end_request`):
/// a limit has a function for that, or each request earns credit when it begins.
bool counts_requests(const RetryRules& rules);

/// Selects one of a client's states where they are kept apart (RetryScope).
struct StatePlace {
  std::uint32_t service = 0, operation = 0, key = 0;
};
/// How many services, operations and keys there are.
struct StateCounts {
  std::uint32_t services = 1, operations = 1, keys = 1;
};

/// The state of one client: null where the rules need none.
struct RetryState {
  template <class Limit>
  using Pointer = Limit*;

  RetryQuota* quota = nullptr;
  QuotaAccrual* accrual = nullptr;
  SendRateLimiter* limiter = nullptr;
  ForRetryLimits<Pointer> limits = {};

  /// Whether the rules need any of this state.
  bool remembers() const { return quota != nullptr || limiter != nullptr || has_limits(); }
  bool has_limits() const {
    return std::apply([](auto*... limit) { return (... || (limit != nullptr)); }, limits);
  }
  ClientThrottle* throttle() const { return std::get<ClientThrottle*>(limits); }
  /// Calls `f` with each existing limit beyond the SDKs, and its rules.
  template <class F>
  void each_limit(const RetryRules& rules, F&& f) const {
    const auto call = [&]<class Limit>(Limit* limit) {
      if (limit != nullptr) f(*limit, rules.of_limit<typename Limit::Rules>());
    };
    std::apply([&](auto*... limit) { (call(limit), ...); }, limits);
  }
};

/// The states of all clients of a group.
class RetryStates {
 public:
  RetryStates() = default;
  /// The states of `clients` clients created at `start`.
  RetryStates(const RetryRules& rules, std::size_t clients, Time start,
              const StateCounts& counts = {});
  /// The memory that they take.
  static std::uint64_t bytes(const RetryRules& rules, std::size_t clients,
                             const StateCounts& counts = {});
  /// How many states of one kind `clients` clients have.
  static std::size_t states_of(RetryScope scope, std::size_t clients, const StateCounts& counts);

  /// The state of a client whose states are not kept apart.
  RetryState of(std::size_t client) { return of(client, quota_of(client), limiter_of(client)); }
  RetryState of(std::size_t client, const StatePlace& place) {
    return of(client, at(quota_scope_, client, place), limiter_of(client, place));
  }

  /// Whether a client has several quotas or limiters.
  bool keep_apart() const {
    return quota_scope_ > RetryScope::kGroup || limiter_scope_ > RetryScope::kGroup;
  }
  /// Whether clients remember nothing: all members of `of` are null.
  bool empty() const { return quotas_.empty() && limiters() == 0 && !beyond_; }
  /// Whether the only state is quotas of whole tokens, one for each client or for all: a success
  /// then changes nothing while the quota is full.
  bool only_quotas() const {
    return !quotas_.empty() && accruals_.empty() && limiters() == 0 && !beyond_ && !keep_apart();
  }
  const std::vector<RetryQuota>& quotas() const { return quotas_; }
  /// The number of a client's quota; there are quotas.
  std::size_t quota_of(std::size_t client) const { return quotas_.size() == 1 ? 0 : client; }
  bool limit_send_rate() const { return !limiter_places_.empty(); }
  bool throttle() const { return !std::get<std::vector<ClientThrottle>>(limit_states_).empty(); }
  std::size_t limiters() const { return limiter_places_.size(); }
  SendRateLimiter& limiter(std::size_t number) { return limiters_[place_of_limiter(number)]; }
  /// The place of a limiter among those that have been asked for, in the order in which they were.
  /// It is made when it is asked for: of very many clients, few send anything within one run.
  std::size_t place_of_limiter(std::size_t number) {
    const std::uint32_t place = limiter_places_[number];
    return place != kNotMade ? place : make_limiter(number);
  }
  /// Where the place is kept.
  const std::uint32_t& limiter_place(std::size_t number) const { return limiter_places_[number]; }
  /// The number of a client's limiter.
  std::size_t limiter_of(std::size_t client) const { return limiters() == 1 ? 0 : client; }
  std::size_t limiter_of(std::size_t client, const StatePlace& place) const {
    return at(limiter_scope_, client, place);
  }

 private:
  RetryState of(std::size_t client, std::size_t bucket, std::size_t limiter) {
    RetryState state;
    if (!quotas_.empty()) {
      state.quota = &quotas_[bucket];
      if (!accruals_.empty()) state.accrual = &accruals_[bucket];
    }
    if (limit_send_rate()) state.limiter = &this->limiter(limiter);
    if (beyond_) [[unlikely]] {
      std::apply([&](auto&... all) { state.limits = {(all.empty() ? nullptr : &all[client])...}; },
                 limit_states_);
    }
    return state;
  }

  template <class Take>
  void take_memory(const RetryRules& rules, std::size_t clients, Time start,
                   const StateCounts& counts, Take& take);
  std::size_t at(RetryScope scope, std::size_t client, const StatePlace& place) const;

  RetryScope quota_scope_ = RetryScope::kClient, limiter_scope_ = RetryScope::kClient;
  StateCounts counts_;
  std::vector<RetryQuota> quotas_;
  std::vector<QuotaAccrual> accruals_;
  static constexpr std::uint32_t kNotMade = ~std::uint32_t{0};
  std::size_t make_limiter(std::size_t number);

  std::vector<std::uint32_t> limiter_places_;  // by number
  std::vector<SendRateLimiter> limiters_;      // by place
  SendRateLimiter new_limiter_;                // as each begins
  template <class Limit>
  using OfClients = std::vector<Limit>;
  ForRetryLimits<OfClients> limit_states_;
  bool beyond_ = false;
};

// --- Decisions -----------------------------------------------------------------------------------

/// How a request, or one step of it, ends.
enum class Outcome : std::uint8_t {
  kSuccess,
  kRetry,                ///< a step only: another attempt follows
  kMaxAttemptsExceeded,  ///< no attempt is left, or `RetryRules::probability` chose no retry
  kQuotaExceeded,        ///< a retry was refused: by the quota, a budget, a breaker or a guard
  kNotRetryable,         ///< the error, or the body, does not permit a retry
  kNoSendToken,          ///< the client refused to send: its limiter or its throttle
  kDeadlineExceeded,     ///< the request's deadline has passed, or would before the retry
  kUnfinished,           ///< still open when the run ended
  kBreakerOpen,  ///< its circuit breaker refused the call (BreakerRules), and it was not retried
};
inline constexpr int kOutcomeCount = 9;
template <>
inline constexpr std::string_view kWords<Outcome> =
    "success|retry|max_attempts_exceeded|quota_exceeded|not_retryable|no_send_token|"
    "deadline_exceeded|unfinished|breaker_open";
static_assert(words_end_with(Outcome::kBreakerOpen));

/// The retry state of one request.
struct RetryProgress {
  std::uint32_t attempts = 0;  ///< attempts made so far
  std::int32_t held_cost = 0;  ///< quota held for the last retry
  /// Backoff of the last retry, without a delay that the service suggested; for decorrelated
  /// jitter.
  Duration previous_delay = {};
  double jitter_level = 0;  ///< g of the last retry; for decorrelated-v2 jitter
};

/// Why an attempt failed, as far as the strategy needs to know. Never a success.
struct Failure {
  ErrorInfo error = {ResponseClass::kTransient};
  std::optional<Duration> retry_after = {};
  bool long_poll = false;  ///< long-polling operation: may wait even when the quota refuses
  bool repeatable = true;  ///< false: the body cannot be sent again, for any error
  bool given_up = false;   ///< the client no longer waits: an attempt timeout
};

/// What follows a failed attempt.
struct RetryDecision {
  Outcome outcome = Outcome::kRetry;
  /// kRetry: the time before the next attempt may be sent, or before it may ask for its send
  /// tokens. kQuotaExceeded: time to wait before the error is returned (long polling), else zero.
  Duration delay;
  /// kRetry: send tokens that the next attempt must still get, before its backoff or after it as
  /// rules.rate_limit.acquire says; zero: none.
  int send_tokens = 0;
};

/// Records that a request begins: tells the limits, and adds the credit of `CreditOn::kStart`.
void begin_request(const RetryRules& rules, const RetryState& state, Time now);

/// Whether the client-side throttle lets an attempt go; asked once for each attempt, before its
/// send token. Always true without a throttle. `draws`: Purpose::kClientThrottle.
bool permit_attempt(const RetryRules& rules, const RetryState& state, Time now, Draws& draws,
                    const std::optional<double>& fixed_draw = std::nullopt);

/// Decides what follows a failed attempt: retryable, and repeatable? attempts left? the chance of
/// `probability`? limits beyond the SDKs, quota? then the delay. The quota is paid before the
/// delay starts; refused retries cost nothing, unless the rules say otherwise (QuotaOrder,
/// SendTokenTiming). `progress.attempts` already counts the failed attempt; on kRetry `progress`
/// holds the cost paid. The limiter takes note of the response. `draws` supplies the chance, where
/// it is below 1, and the jitter. `fixed_draw` in [0, 1] replaces every uniform draw (tests,
/// `--draw`), but not the draws of `BackoffRules::delays`.
RetryDecision refresh_retry_token(const RetryRules& rules, const RetryState& state,
                                  RetryProgress& progress, const Failure& failure, Time now,
                                  Draws& draws,
                                  const std::optional<double>& fixed_draw = std::nullopt);

/// Whether a hedge may be sent beside the attempts under way: attempts left? limits beyond
/// the SDKs, quota (at `cost`)? If so it is paid for.
bool acquire_hedge(const RetryRules& rules, const RetryState& state, RetryProgress& progress,
                   Time now);

/// Records the success of a request: returns quota as the rules say, and tells the limiter. Call it
/// once, and never for a request that failed, which gets nothing back.
void record_success(const RetryRules& rules, const RetryState& state, const RetryProgress& progress,
                    Time now);

/// Record that the wait before a retry begins, and that it is over; and that a request has ended,
/// successfully or not, which it does not during such a wait. `retried`: a retry had been granted
/// to it.
inline void backoff_begins(const RetryRules& rules, const RetryState& state) {
  state.each_limit(rules, [](auto& limit, const auto&) { limit.backoff_begins(); });
}
inline void backoff_ends(const RetryRules& rules, const RetryState& state) {
  state.each_limit(rules, [](auto& limit, const auto&) { limit.backoff_ends(); });
}
inline void end_request(const RetryRules& rules, const RetryState& state, bool retried) {
  state.each_limit(rules, [&](auto& limit, const auto&) { limit.request_ends(retried); });
}

/// The delay before the retry after attempt `progress.attempts`, leaving out any delay that the
/// service suggests and the quota. `level`, if given, is set to the `jitter_level` for the next
/// one.
Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryProgress& progress, Draws& draws,
                       const std::optional<double>& fixed_draw = std::nullopt,
                       double* level = nullptr);

/// A strategy of your own, for `ClientSpec::strategy`: one object for each virtual client, called
/// from one thread. Requests are numbered by the client from 0.
class CustomStrategy {
 public:
  virtual ~CustomStrategy() = default;
  /// Before the first attempt: how long to hold it back. Cannot refuse.
  virtual Duration acquire_initial_token(std::uint64_t /*request*/, Time /*now*/) { return {}; }
  /// After attempt number `attempts` (from 1) of a request failed: kRetry with a delay, or why not
  /// (kMaxAttemptsExceeded, kQuotaExceeded, kNotRetryable, kNoSendToken). Any other outcome, or a
  /// negative delay, ends the simulation with std::invalid_argument; send tokens are ignored.
  virtual RetryDecision refresh_retry_token(std::uint64_t request, std::uint32_t attempts,
                                            const Failure& failure, Time now, Draws& draws) = 0;
  /// The request succeeded with attempt number `attempts`.
  virtual void record_success(std::uint64_t /*request*/, std::uint32_t /*attempts*/, Time /*now*/) {
  }
};

/// Makes the strategy of client `client` (from 0). Called from several threads at once, because
/// replications run in parallel; what it makes must depend on `client` alone.
using StrategyFactory = std::function<std::unique_ptr<CustomStrategy>(std::uint32_t client)>;

/// A token was misused: twice, after its request had ended, or with a strategy that did not issue
/// it.
class TokenMisuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class RetryStrategy;

/// Held by a request while it is under way. It can be moved but not copied, and each use hands it
/// back to the strategy: a used token is spent, and using it again throws `TokenMisuse`.
class RetryToken {
 public:
  RetryToken() = default;  ///< belongs to no request
  RetryToken(RetryToken&& other) noexcept { *this = std::move(other); }
  RetryToken& operator=(RetryToken&& other) noexcept;

  std::uint64_t request() const { return request_; }  ///< its number at this client, from 0
  /// Number of the attempt that the token is for, from 1.
  std::uint32_t attempt() const { return attempt_; }
  /// kRetry: one more attempt may be made; otherwise why not.
  Outcome outcome() const { return outcome_; }
  bool may_send() const { return strategy_ != nullptr && outcome_ == Outcome::kRetry; }
  /// Backoff to sleep before the next attempt; after kQuotaExceeded, before the error is returned.
  Duration delay() const { return delay_; }
  /// How long the send-rate limiter will then make the next attempt wait, as things stand.
  Duration send_wait() const { return send_wait_; }
  /// Quota held for the retry, in tokens.
  std::int32_t held_cost() const { return progress_.held_cost; }

 private:
  friend class RetryStrategy;

  RetryStrategy* strategy_ = nullptr;  // null: spent, or of no request
  void* scope_ = nullptr;
  RetryProgress progress_;
  std::uint64_t request_ = 0;
  std::uint32_t attempt_ = 0;
  int send_tokens_ = 0;
  Outcome outcome_ = Outcome::kRetry;
  bool in_backoff_ = false;  // until the attempt is asked for, or has ended
  Duration delay_, send_wait_;
};

/// One client with its retry quota, its send-rate limiter (adaptive mode) and its random numbers,
/// for use outside the simulation. A request goes through it like this:
///
///     RetryToken token = strategy.acquire_initial_token(now);
///     while (token.may_send()) {
///       sleep(token.delay());
///       while (token.may_send() && (wait = strategy.acquire_send_token(token, now)) > zero) {
///         sleep(wait);
///       }
///       if (!token.may_send()) break;
///       ... send the attempt ...
///       if (succeeded) return strategy.record_success(std::move(token), now);
///       token = strategy.refresh_retry_token(std::move(token), failure, now);
///     }
///     sleep(token.delay()); return the original error
///
/// Any number of requests may be in progress. Not thread-safe, not to be moved while tokens are
/// out. Times never go back. Misuse of tokens throws `TokenMisuse` and changes nothing.
class RetryStrategy {
 public:
  /// A client made at `start`. Its quota begins at `rules.quota.initial`. `client` and `group`
  /// distinguish clients with the same key, so that no two of them draw the same jitter.
  RetryStrategy(RetryRules rules, const RandomKey& key, Time start = Time::zero(),
                std::uint32_t client = 0, std::uint16_t group = 0);
  RetryStrategy(const RetryStrategy&) = delete;
  RetryStrategy& operator=(const RetryStrategy&) = delete;

  /// Starts a request. Never refused: the first attempt needs no quota. Requests with the same
  /// `scope` share a quota and a limiter (Java's scope, Rust's partition).
  RetryToken acquire_initial_token(Time now, std::string_view scope = {});

  /// Takes the send tokens for the attempt of `token` at `now`: zero if it has them, or needs none,
  /// else how long to wait before asking again; `max()` if only another fill rate can help. If it
  /// returns zero and the token may no longer send, the client-side throttle has refused the
  /// attempt, or rules.rate_limit.on_empty is kFail: the request has ended with kNoSendToken.
  Duration acquire_send_token(RetryToken& token, Time now);

  /// Records that the attempt failed at `now` and decides what follows.
  RetryToken refresh_retry_token(RetryToken token, const Failure& failure, Time now);

  /// Records that the request succeeded at `now`.
  void record_success(RetryToken token, Time now);

  /// Ends a request that the caller gives up: nothing is given back.
  void abandon(RetryToken token);

  /// How this client classifies an answer.
  Failure failure_of(const Response& response) const;

  /// Replaces every uniform draw by `draw` in [0, 1]; std::nullopt restores the random numbers.
  void fix_draws(std::optional<double> draw) { fixed_draw_ = draw; }

  const RetryRules& rules() const { return rules_; }
  /// Tokens in the retry quota; empty if the rules have none.
  std::optional<std::int32_t> quota(std::string_view scope = {});
  /// The send-rate limiter; null if the rules have none.
  const SendRateLimiter* limiter(std::string_view scope = {});

 private:
  RetryStates& states(std::string_view scope);
  RetryState state_of(const RetryToken& token) const;
  void use(const RetryToken& token, const char* what) const;
  Draws draws_for(const RetryToken& token, Purpose purpose) const;
  void leave_backoff(RetryToken& token, const RetryState& state) const;

  RetryRules rules_;
  RandomKey key_;
  Time start_;
  std::uint64_t client_ = 0;  // in the upper half of a draw's entity, the request in the lower
  std::uint16_t group_ = 0;
  std::uint64_t requests_ = 0;
  std::map<std::string, RetryStates, std::less<>> scopes_;
  std::optional<double> fixed_draw_;
};

}  // namespace retrysim
