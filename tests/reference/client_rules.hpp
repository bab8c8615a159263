// What a client remembers between requests and how it decides about a retry, written down once more
// and as plainly as possible: the rules of sim/retry/README.md and of the comments in
// include/retrysim/retry_rules.hpp. Nothing of sim/retry is used here but the tables that say which
// error is of which class.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/breaker.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/time.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace retrysim::reference {

/// The bucket of tokens that retries pay from, in billionths of a token.
struct Quota {
  static constexpr std::int64_t kToken = 1'000'000'000;
  std::int64_t level = 0;
  Time refilled_at;
  int last_cost = 0;  ///< of any request

  int whole() const { return static_cast<int>(level / kToken); }
  void give(const QuotaRules& rules, double tokens);
  void refill(const QuotaRules& rules, Time now);
};

/// The limit on the send rate of adaptive mode.
class Limiter {
 public:
  explicit Limiter(const SendRateRules& rules);

  bool take(Time now, int tokens);
  Duration wait(Time now, int tokens) const;
  Duration reserve(Time now, int tokens);
  bool can_ever_hold(int tokens) const { return !enabled_ || tokens <= capacity_; }
  void hear(Time now, bool throttling);
  double fill_rate() const { return fill_rate_; }

 private:
  double level_at(Time now) const;
  void refill(Time now);

  SendRateRules rules_;
  bool enabled_ = false;
  double fill_rate_ = 0, capacity_ = 0, level_ = 0;
  std::optional<Time> refilled_;
  double measured_ = 0;        // sends per second
  std::int64_t interval_ = 0;  // the half second that has been measured last
  int responses_ = 0;          // since then
  Time throttled_;
  double highest_ = 0;  // rate at the last throttling error
  double climb_s_ = 0;  // until the curve is there again
};

/// Two counts over the last tenths of a window, with the present one, or over the last calls.
class Counts {
 public:
  explicit Counts(Duration window, int tenths = 10);
  explicit Counts(int calls) : calls_(static_cast<std::size_t>(calls), Pair{}) {}

  void add_first(Time now);
  void add_second(Time now);
  double first(Time now) { return sum(now).first; }
  double second(Time now) { return sum(now).second; }

 private:
  struct Pair {
    double first = 0, second = 0;
  };
  Pair sum(Time now) const;

  std::int64_t tenth_ns_ = 0, most_tenths_ = 10;
  std::map<std::int64_t, Pair> tenths_;
  std::deque<Pair> calls_;  // the newest last
};

/// A budget for retries (BudgetRules).
struct Budget {
  Counts counts;                     ///< requests, retries
  double requests = 0, retries = 0;  ///< requests that are not in a backoff; that may retry
};
struct Breaker {
  Counts counts;  ///< attempts, failures
  Time open_until;
};
/// A controller that switches retries off (GuardRules): the samples of an attempt's end, by number.
struct Guard {
  struct Sample {
    double attempts = 0, failures = 0;
  };
  std::map<std::int64_t, Sample> samples;
};
/// A circuit breaker that refuses calls: everything that it has counted, one by one.
struct CallBreaker {
  struct Entry {
    Time at;
    bool call = false, failed = false, slow = false;
  };
  std::vector<Entry> entries;  ///< since the counts began anew
  BreakerState state = BreakerState::kClosed;
  int era = 0;
  std::uint32_t in_row = 0, openings = 0;
  Time open_until;
  std::uint32_t permits = 0;
  std::vector<Entry> probes;  ///< that have ended
};
/// Whether a call may go.
bool ask(const BreakerRules& rules, CallBreaker& breaker, Time now);
/// It has ended so; or nobody saw how.
void record(const BreakerRules& rules, CallBreaker& breaker, int era, ResponseClass result,
            Duration length, Time now);
void release(CallBreaker& breaker, int era);

struct ClientThrottle {
  Counts counts;  ///< requests, accepts
};

/// Those that a request uses; null: its client has none.
struct ClientState {
  Quota* quota = nullptr;
  Limiter* limiter = nullptr;
  Budget* budget = nullptr;
  Breaker* breaker = nullptr;
  Guard* guard = nullptr;
  ClientThrottle* throttle = nullptr;

  bool any() const {
    return quota != nullptr || limiter != nullptr || budget != nullptr || breaker != nullptr ||
           guard != nullptr || throttle != nullptr;
  }
};

/// What a request remembers of its retries.
struct Progress {
  int attempts = 0;
  int held_cost = 0;
  Duration previous_delay;
  double jitter_level = 0;
};

struct Decision {
  Outcome outcome = Outcome::kRetry;
  Duration delay = {};
  int send_tokens = 0;
};

/// The class of an answer: that of the table, or what the lists of the group make of it.
ErrorInfo what_it_means(const RetryRules& rules, const Response& response);
/// Whether a list has this answer; without one, whether it has all.
bool is_final_for(const RetryRules& rules, const std::vector<ErrorPattern>& list,
                  const Response* answer);

void request_begins(const RetryRules& rules, const ClientState& state, Time now);
/// A request in a backoff has nothing under way.
void backoff_begins(const ClientState& state);
void backoff_ends(const ClientState& state);
void request_ends(const ClientState& state, bool retried);
bool throttle_permits(const RetryRules& rules, const ClientState& state, Time now, double uniform);
Decision decide(const RetryRules& rules, const ClientState& state, Progress& progress,
                const Failure& failure, Time now, Draws draws);
bool permit_hedge(const RetryRules& rules, const ClientState& state, Progress& progress, Time now);
void request_succeeds(const RetryRules& rules, const ClientState& state, const Progress& progress,
                      Time now);

}  // namespace retrysim::reference
