// A circuit breaker that refuses calls, first attempts as well as retries: its rules, and its
// states closed, open and half-open. They are pure: time is passed in. The rules, with the
// libraries that have them: sim/retry/README.md.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim {

/// How the time of a window is cut into slices, in which calls are counted and forgotten together.
enum class BreakerSlices : std::uint8_t {
  kGrid,   ///< at whole multiples of their length; the window ends with the present one
  kCalls,  ///< a slice begins with the first call after the end of the one before (Polly)
  kRing,   ///< as kCalls, but only the next slice makes the oldest one go (cockatiel)
};
template <>
inline constexpr std::string_view kWords<BreakerSlices> = "grid|calls|ring";
static_assert(words_end_with(BreakerSlices::kRing));

/// What the probes of a half-open breaker have to show.
enum class BreakerClose : std::uint8_t {
  kAll,  ///< all of them succeed: the first failure opens it again
  /// When all, or `min_calls`, have ended, fewer have failed or were slow than it takes to open it.
  kShare,
  /// `close_after` probes in a row succeed; the first failure opens it again. `probes` may be
  /// under way at once.
  kConsecutive,
};
template <>
inline constexpr std::string_view kWords<BreakerClose> = "all|share|consecutive";
static_assert(words_end_with(BreakerClose::kConsecutive));

/// Whose calls one breaker sees.
enum class BreakerScope : std::uint8_t {
  kClient,   ///< one for each virtual client
  kGroup,    ///< one for all clients of the group together
  kService,  ///< one for each client and service that it calls
  /// One for each client and instance of these services. The balancer names the instance before the
  /// breaker is asked, and the attempt goes there (kRetryOutside only).
  kHost,
};
template <>
inline constexpr std::string_view kWords<BreakerScope> = "client|group|service|host";
static_assert(words_end_with(BreakerScope::kHost));

/// Which wraps the other: retries or breaker.
enum class BreakerOrder : std::uint8_t {
  kRetryOutside,    ///< each attempt asks the breaker and is recorded
  kBreakerOutside,  ///< a request asks once and is recorded once, with all its attempts
};
template <>
inline constexpr std::string_view kWords<BreakerOrder> = "retry-outside|breaker-outside";
static_assert(words_end_with(BreakerOrder::kBreakerOutside));

/// A set of classes of errors.
class ErrorClasses {
 public:
  constexpr ErrorClasses() = default;
  constexpr ErrorClasses(std::initializer_list<ResponseClass> classes) {
    for (const ResponseClass c : classes) add(c);
  }
  constexpr void add(ResponseClass c) { bits_ |= 1u << static_cast<unsigned>(c); }
  constexpr bool has(ResponseClass c) const { return (bits_ >> static_cast<unsigned>(c) & 1) != 0; }
  /// Whether it has a class that the others lack.
  constexpr bool has_more_than(const ErrorClasses& others) const {
    return (bits_ & ~others.bits_) != 0;
  }
  bool operator==(const ErrorClasses&) const = default;

 private:
  std::uint32_t bits_ = 0;
};

/// The class of errors of this name: throttling, transient, timeout, not-retryable.
std::optional<ResponseClass> error_class(std::string_view word);

/// The rules of one breaker. Whatever of share of failures, share of slow calls and failures in a
/// row is reached first opens it.
struct BreakerRules {
  bool enabled = false;
  BreakerOrder order = BreakerOrder::kRetryOutside;
  BreakerScope scope = BreakerScope::kClient;

  // Closed.
  double failure_share = 0.5;  ///< of the calls in the window; 0: does not open it
  double slow_share = 0;  ///< of these calls, those longer than `slow_call`; 0: does not open it
  Duration slow_call = Duration::max();
  /// A share opens it above its value, not at it; but a share of slow calls of 1 opens it at 1
  /// (Sentinel).
  bool above = false;
  std::uint32_t consecutive = 0;   ///< failures in a row; 0: they do not open it
  std::uint32_t min_calls = 10;    ///< in the window, before a share opens it
  std::uint32_t window_calls = 0;  ///< the window has this many calls; 0: it lasts `window`
  Duration window = Duration::seconds(10);
  std::uint32_t slices = 10;  ///< of `window`, >= 1
  BreakerSlices slicing = BreakerSlices::kGrid;
  /// Whether successes can open it as well, when they complete `min_calls`.
  bool judges_successes = false;
  /// Calls count when they ask, refused ones too, and failures when they end (opossum). Else both
  /// when they end.
  bool counts_asked = false;
  bool keeps_counts = false;  ///< the window goes on when the state changes (opossum); else anew
  bool counts_probe = false;  ///< the probe that closes it is the first call of the new window
  ErrorClasses failures{ResponseClass::kThrottling, ResponseClass::kTransient,
                        ResponseClass::kTimeout};
  ErrorClasses ignored;  ///< neither failures nor successes: the permit comes back

  // The breaker is open for `open`; each time in a row that probes fail, longer by the factor, up
  // to the cap.
  Duration open = Duration::seconds(30);
  double open_factor = 1;
  Duration open_cap = Duration::max();

  // Half-open.
  std::uint32_t probes = 1;  ///< calls that are let through, >= 1
  BreakerClose close_on = BreakerClose::kAll;
  std::uint32_t close_after = 1;  ///< kConsecutive: successes in a row, >= 1
  /// Whether results of calls that began in an earlier state count (Resilience4j, Polly), or not
  /// (gobreaker).
  bool counts_late = true;

  /// Whether a call that it refuses is an error that may be retried (kRetryOutside).
  bool retry_refused = true;

  bool in_use() const { return enabled; }
  bool judges_slow_calls() const { return slow_share > 0 && slow_call < Duration::max(); }
  /// Whether an error can be a failure: some class of `failures` is not ignored. If none is, only
  /// slow calls can open the breaker.
  bool has_failures() const { return failures.has_more_than(ignored); }
  bool operator==(const BreakerRules&) const = default;
};

/// The breaker of a library, with its defaults.
struct BreakerPreset {
  std::string_view name;
  BreakerRules rules;
  std::string_view source;
};
std::span<const BreakerPreset> breaker_presets();
/// The preset of that name; null if there is none.
const BreakerPreset* find_breaker_preset(std::string_view name);

enum class BreakerState : std::uint8_t { kClosed, kOpen, kHalfOpen };
template <>
inline constexpr std::string_view kWords<BreakerState> = "closed|open|half-open";
static_assert(words_end_with(BreakerState::kHalfOpen));

/// Calls, failures and slow calls over a window of calls or of time.
class BreakerCounts {
 public:
  explicit BreakerCounts(const BreakerRules& rules);

  void add_call(Time now) { present(now).calls++, all_.calls++; }
  /// Adds the result of the newest call, or of one in the present slice of time.
  void add_result(bool failed, bool slow, Time now);
  struct Sums {
    std::uint32_t calls = 0, failures = 0, slow = 0;
  };
  /// The sums of the window that ends at `now`, which is not before any time given so far.
  const Sums& sums(Time now);
  void clear();
  /// Memory on the heap, besides the object itself.
  std::size_t bytes() const;

 private:
  struct Slice : Sums {
    Time begin;
  };
  Slice& present(Time now);
  void forget_before(Time now);
  void drop(std::size_t slice);
  Slice& begin_slice(Time begin);

  // A ring, of which `count_` slices up to `at_` are in use. In a window of calls each is a call.
  std::vector<Slice> slices_;
  Duration slice_, window_;  // zero: a window of calls
  BreakerSlices slicing_;
  std::size_t at_ = 0, count_ = 0;
  Sums all_;
};

/// One breaker. Every call passes the present time, which never goes back.
class Breaker {
 public:
  explicit Breaker(const BreakerRules& rules) : counts_(rules) {}

  /// Whether a call may go. A call that may must be told to `record` or `release` once, with
  /// `era()` as it is now.
  bool ask(const BreakerRules& rules, Time now);
  /// A call has ended. `error`: kSuccess, or the class of the error that it ended with, after
  /// `length`.
  void record(const BreakerRules& rules, std::uint32_t era, ResponseClass error, Duration length,
              Time now);
  /// A call has ended without a result for the breaker.
  void release(std::uint32_t era);

  BreakerState state() const { return state_; }
  /// A number that changes with the state.
  std::uint32_t era() const { return era_; }
  /// When an open breaker lets the first probe pass.
  Time open_until() const { return open_until_; }
  std::size_t further_bytes() const { return counts_.bytes(); }

 private:
  void enter(BreakerState state);
  void trip(const BreakerRules& rules, Time now);
  void close(const BreakerRules& rules);
  bool shares_are_reached(const BreakerRules& rules, const BreakerCounts::Sums& of) const;
  void record_probe(const BreakerRules& rules, bool failed, bool slow, Time now);

  BreakerCounts counts_;
  BreakerState state_ = BreakerState::kClosed;
  std::uint32_t era_ = 0;
  std::uint32_t failures_in_row_ = 0;
  std::uint32_t openings_ = 0;  // since it was closed
  Time open_until_;
  // Half-open: permits left; probes that have ended, and how.
  std::uint32_t permits_ = 0;
  BreakerCounts::Sums probes_;
};

}  // namespace retrysim
