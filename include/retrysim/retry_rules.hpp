// The rules of one client's retry behaviour as plain data. A preset (mode, revision, SDK, API)
// fills them in; single values may then be overridden. Shared by all clients of a group.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/distribution.hpp>
#include <retrysim/response.hpp>
#include <retrysim/time.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace retrysim {

enum class RetryMode : std::uint8_t { kNone, kLegacy, kStandard, kAdaptive, kCustom };

enum class Jitter : std::uint8_t { kNone, kFull, kEqual, kDecorrelated };

/// Backoff before retry i (i = 0 for the first): v = base * factor^(first_exponent + i), limited by
/// `cap`, then spread by the jitter.
struct BackoffRules {
  Duration base;           ///< non-throttling errors
  Duration throttle_base;  ///< throttling errors
  double factor = 2;
  Duration cap = Duration::max();  ///< `max()`: uncapped
  Jitter jitter = Jitter::kNone;
  Jitter throttle_jitter = Jitter::kNone;  ///< jitter after a throttling error
  int first_exponent = 0;
  bool jitter_before_cap = false;  ///< min(cap, jittered v) instead of jittered min(cap, v)
  Duration quantum;                ///< delays are whole multiples of this; zero: exact
  /// Mode "custom": the distribution of each retry's delay, the last one repeated; replaces the
  /// formula when not empty.
  std::vector<Distribution> delays;
};

/// What a success after at least one retry gives back to the retry quota.
enum class Refund : std::uint8_t {
  kLast,    ///< the cost of the last retry acquired
  kCost,    ///< `cost`, whatever the last retry cost
  kCredit,  ///< `credit`, as after a first-try success
  kNone,
};

enum class QuotaScope : std::uint8_t { kClient, kGroup };

/// The retry quota: a bucket of tokens that every retry must pay from.
struct QuotaRules {
  bool enabled = false;
  int capacity = 0;
  int initial = 0;
  int cost = 0;           ///< transient errors
  int throttle_cost = 0;
  int timeout_cost = 0;
  int credit = 0;         ///< added by a success on the first attempt
  Refund refund = Refund::kNone;
  QuotaScope scope = QuotaScope::kClient;
};

/// What the adaptive send-rate limiter does when it has no token.
enum class OnEmpty : std::uint8_t { kBlock, kFail };

/// What a server-suggested delay (ra) does to the backoff (t).
enum class RetryAfter : std::uint8_t {
  kIgnore,
  kMinimum,  ///< max(ra, t)
  kClamp,    ///< ra clamped to [t, t + 5 s]
  kAdd,      ///< t + ra
  kReplace,  ///< min(ra, cap)
};

struct RetryRules {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  RetryMode mode = RetryMode::kNone;
  Classifier classifier = Classifier::kStandard;
  std::string api = "default";
  std::uint32_t max_attempts = 1;  ///< counts the first attempt; `kUnlimited` allowed
  double probability = 1;          ///< mode "custom": chance that a permitted retry is made
  BackoffRules backoff;
  QuotaRules quota;
  bool limit_send_rate = false;    ///< adaptive mode's client-side rate limiter
  OnEmpty on_empty = OnEmpty::kBlock;
  RetryAfter retry_after = RetryAfter::kIgnore;
};

}  // namespace retrysim
