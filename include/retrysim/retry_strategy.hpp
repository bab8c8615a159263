// The retry strategy of one client: the decisions before every attempt and after it. The functions
// here are those that the simulation itself runs; `RetryStrategy` wraps them for use on their own.
// Names follow the Smithy reference's retry interface. Pure: time and random draws are passed in.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/response.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_state.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace retrysim {

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
  kBreakerOpen,          ///< its circuit breaker refused the call (BreakerRules), and that was all
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
/// send token. Always true without one. `draws`: Purpose::kClientThrottle.
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
  RetryToken() = default;  ///< of no request
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
