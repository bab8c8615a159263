// The retry strategy of one client: what happens before every attempt after the first. These are
// the functions that the simulation itself runs; `RetryStrategy` wraps them for use on their own.
// Names follow the Smithy reference's retry interface. Pure: time and random draws are passed in.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/response.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/send_rate_limiter.hpp>
#include <retrysim/time.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace retrysim {

/// How a request, or one step of it, ends.
enum class Outcome : std::uint8_t {
  kSuccess,
  kRetry,
  kMaxAttemptsExceeded,
  kQuotaExceeded,
  kNotRetryable,
  kNoSendToken,
  kDeadlineExceeded,
  kUnfinished,
};
inline constexpr int kOutcomeCount = 8;

std::string_view name(Outcome outcome);  ///< "success", "retry", "max_attempts_exceeded", ...

/// One client's retry quota, in tokens. Level always within [0, capacity].
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

/// The retry state of one request.
struct RetryToken {
  std::uint32_t attempts = 0;    ///< attempts made so far
  std::int32_t held_cost = 0;    ///< quota held for the last retry
  Duration previous_delay = {};  ///< backoff of the last retry, header left out (decorrelated)
};

/// Why an attempt failed, as far as the strategy needs to know. Never a success.
struct Failure {
  ResponseClass response_class = ResponseClass::kTransient;
  std::optional<Duration> retry_after = {};
  bool long_poll = false;  ///< long-polling operation: wait even when the quota refuses (2.1)
};

struct RetryDecision {
  Outcome outcome = Outcome::kRetry;
  /// kRetry: the backoff before the next attempt. kQuotaExceeded: time to wait before the error is
  /// returned (long polling), else zero.
  Duration delay;
};

/// Decides what follows a failed attempt: retryable? attempts left? the chance of `probability`?
/// quota? then the delay. The quota is paid before the delay starts; what is refused costs nothing.
/// `token.attempts` already counts the failed attempt; on kRetry `token` holds the cost paid.
/// `quota` is left alone, and may be null, if the rules have none (`rules.quota.enabled`).
/// `draws` supplies the chance, where it is below 1, and the jitter. `fixed_draw` in [0, 1]
/// replaces every uniform draw (tests, `--draw`), but not the draws of `BackoffRules::delays`.
RetryDecision refresh_retry_token(const RetryRules& rules, RetryQuota* quota, RetryToken& token,
                                  const Failure& failure, Draws& draws,
                                  std::optional<double> fixed_draw = std::nullopt);

/// Books the success of a request: returns quota as the rules say. Call it once, and never for a
/// request that failed: nothing is given back then.
void record_success(const RetryRules& rules, RetryQuota* quota, const RetryToken& token);

/// The delay before the retry after attempt `token.attempts`, without header or quota.
Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryToken& token, Draws& draws,
                       std::optional<double> fixed_draw = std::nullopt);

/// The token of one request as `RetryStrategy` hands it out.
struct StrategyToken {
  RetryToken state;
  std::uint64_t request = 0;          ///< number of the request at this client, from 0
  Outcome outcome = Outcome::kRetry;  ///< kRetry: one more attempt may be made; else why not
  /// Backoff to sleep before the next attempt; after kQuotaExceeded, before the error is returned.
  Duration delay;
  /// How long the send-rate limiter will then make the next attempt wait, as things stand.
  Duration send_wait;
};

/// One client with its retry quota, its send-rate limiter (adaptive mode) and its random numbers,
/// for use outside the simulation. A request goes through it like this:
///
///     token = acquire_initial_token(now)
///     repeat:
///       sleep token.delay; while ((wait = acquire_send_token(now)) > 0) sleep wait
///       send the attempt
///       success: record_success(token, now); done
///       failure: token = refresh_retry_token(token, failure, now)
///                token.outcome != kRetry: sleep token.delay; return the original error
///
/// Any number of requests may be in progress. Not thread-safe. Times never go back.
class RetryStrategy {
 public:
  /// A client made at `start`. Its quota begins at `rules.quota.initial`. `client` and `group` tell
  /// clients with the same key apart: no two of them draw the same jitter.
  RetryStrategy(RetryRules rules, const RandomKey& key, Time start = Time::zero(),
                std::uint32_t client = 0, std::uint16_t group = 0);

  /// Starts a request. Never refused: the first attempt needs no quota.
  StrategyToken acquire_initial_token(Time now);

  /// Takes a send token for an attempt at `now`: zero if it has it, else how long to wait before
  /// asking again (rules.on_empty == kFail: the request ends with kNoSendToken instead). Always
  /// zero without a limiter.
  Duration acquire_send_token(Time now);

  /// Books that an attempt failed at `now` and decides what follows. The returned token replaces
  /// `token`.
  StrategyToken refresh_retry_token(const StrategyToken& token, const Failure& failure, Time now);

  /// Books that the request succeeded at `now`.
  void record_success(const StrategyToken& token, Time now);

  /// Replaces every uniform draw by `draw` in [0, 1]; nothing gives the random numbers back.
  void fix_draws(std::optional<double> draw) { fixed_draw_ = draw; }

  const RetryRules& rules() const { return rules_; }
  /// Tokens in the retry quota; nothing if the rules have none.
  std::optional<std::int32_t> quota() const;
  /// The send-rate limiter; null if the rules have none.
  const SendRateLimiter* limiter() const { return limiter_ ? &*limiter_ : nullptr; }

 private:
  RetryRules rules_;
  RandomKey key_;
  std::uint64_t client_ = 0;  // in the upper half of a draw's entity, the request in the lower
  std::uint16_t group_ = 0;
  std::uint64_t requests_ = 0;
  RetryQuota quota_;
  std::optional<SendRateLimiter> limiter_;
  std::optional<double> fixed_draw_;
};

}  // namespace retrysim
