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

/// One client's retry quota. Level always within [0, capacity].
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
  std::uint32_t attempts = 0;   ///< attempts made so far
  std::int32_t held_cost = 0;   ///< quota held for the last retry
  Duration previous_delay;      ///< of the last retry (decorrelated jitter)
};

/// Why an attempt failed, as far as the strategy needs to know.
struct Failure {
  ResponseClass response_class = ResponseClass::kTransient;
  std::optional<Duration> retry_after;
  bool long_poll = false;  ///< long-polling operation: wait even when the quota refuses (2.1)
};

struct RetryDecision {
  Outcome outcome = Outcome::kRetry;
  /// kRetry: the backoff before the next attempt. kQuotaExceeded: time to wait before the error is
  /// returned (long polling), else zero.
  Duration delay;
};

/// Decides what follows a failed attempt: retryable? attempts left? quota? then the delay.
/// `token.attempts` already counts the failed attempt. `quota` is null if the rules have none.
/// `draws` supplies jitter; `fixed_draw` replaces every uniform draw (tests, `--draw`).
RetryDecision refresh_retry_token(const RetryRules& rules, RetryQuota* quota, RetryToken& token,
                                  const Failure& failure, Draws& draws,
                                  std::optional<double> fixed_draw = std::nullopt);

/// Books the success of a request: returns quota as the rules say.
void record_success(const RetryRules& rules, RetryQuota* quota, const RetryToken& token);

/// The delay before the retry after attempt `token.attempts`, without header or quota.
Duration backoff_delay(const BackoffRules& rules, ResponseClass response_class,
                       const RetryToken& token, Draws& draws,
                       std::optional<double> fixed_draw = std::nullopt);

}  // namespace retrysim
