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
#include <string_view>
#include <vector>

namespace retrysim {

enum class RetryMode : std::uint8_t { kNone, kLegacy, kStandard, kAdaptive, kCustom };

enum class Jitter : std::uint8_t { kNone, kFull, kEqual, kDecorrelated };

/// Backoff before retry i (i = 0 for the first): v = base * factor^(first_exponent + i), limited by
/// `cap`, then spread by the jitter. The class of the latest error picks the base; i counts all
/// retries of the request, whatever their class.
///
/// Jitter, with R uniform on [0, 1): none v; full R v; equal v/2 + R v/2. Decorrelated replaces the
/// formula: min(cap, base + R (3 s - base)) with s the previous delay, `base` before the first.
struct BackoffRules {
  Duration base;           ///< non-throttling errors
  Duration throttle_base;  ///< throttling errors
  double factor = 2;
  Duration cap = Duration::max();  ///< `max()`: uncapped
  Jitter jitter = Jitter::kNone;
  Jitter throttle_jitter = Jitter::kNone;  ///< jitter after a throttling error
  int first_exponent = 0;
  int max_exponent = std::numeric_limits<int>::max();  ///< limit on first_exponent + i
  bool jitter_before_cap = false;  ///< min(cap, jittered v) instead of jittered min(cap, v)
  /// Delays are whole multiples of this; zero: exact. Then v is rounded down to a multiple first,
  /// and random integers are drawn as Java's nextInt does: full from {0, ..., v - 1}, equal
  /// v/2 + {0, ..., v/2} with v/2 rounded down.
  Duration quantum;
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

/// The retry quota: a bucket of tokens that every retry must pay from. Which price applies follows
/// from the class of the error that is retried. All amounts are >= 0, initial <= capacity.
struct QuotaRules {
  bool enabled = false;
  int capacity = 0;
  int initial = 0;
  int cost = 0;  ///< transient errors
  int throttle_cost = 0;
  int timeout_cost = 0;
  int credit = 0;  ///< added by a success on the first attempt
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
  /// Mode "custom": chance that a retry which attempts permit is made. Drawn before the quota is
  /// asked; a refusal counts as `max_attempts_exceeded`, being a random limit on attempts.
  double probability = 1;
  BackoffRules backoff;
  QuotaRules quota;
  bool limit_send_rate = false;  ///< adaptive mode's client-side rate limiter
  OnEmpty on_empty = OnEmpty::kBlock;
  RetryAfter retry_after = RetryAfter::kIgnore;
  /// A long-polling operation whose retry the quota refuses first waits the delay which that retry
  /// would have had, then returns the error: no tight polling loop around an empty quota.
  bool long_poll_wait = false;
};

// The words that scenario files use for these values.
std::string_view name(RetryMode mode);          ///< "none", "legacy", "standard", ...
std::string_view name(Jitter jitter);           ///< "none", "full", "equal", "decorrelated"
std::string_view name(Refund refund);           ///< "last", "cost", "credit", "none"
std::string_view name(QuotaScope scope);        ///< "client", "group"
std::string_view name(OnEmpty on_empty);        ///< "block", "fail"
std::string_view name(RetryAfter retry_after);  ///< "ignore", "minimum", "clamp", ...

}  // namespace retrysim
