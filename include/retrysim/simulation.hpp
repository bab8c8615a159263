// One replication: `simulate`, and everything that it measures, before any statistics. A
// replication is a pure function of scenario and replication number: no global state, no clock, no
// files. Any number may run at once in different threads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace retrysim {

// --- Measurements --------------------------------------------------------------------------------

// Counts, sums, histograms and time series. Two counting rules are kept apart: "cohort" follows the
// requests submitted in the window [warmup, duration) to their end; "flow" counts what happens
// inside the window.

/// Histogram of non-negative integers (nanoseconds) with log-linear buckets: values below 2^kBits
/// are exact, larger ones fall into buckets 1/2^kBits of their power of two wide. Integer counts:
/// merging is exact, associative and order-independent.
template <int kBits>
class LogLinearHistogram {
 public:
  static constexpr std::uint64_t kSubBuckets = std::uint64_t{1} << kBits;
  /// Number of buckets that cover all 64-bit values.
  static constexpr std::size_t kBucketCount = std::size_t{65 - kBits} << kBits;
  /// Largest distance of a quantile from the exact one, relative to it. Exact below 2^(kBits + 1).
  static constexpr double kRelativeError = 1.0 / static_cast<double>(kSubBuckets);

  void add(std::uint64_t value) {
    const std::size_t i = index(value);
    if (i - first_ >= counts_.size()) [[unlikely]] {
      cover(i >> kBits, i >> kBits);
    }
    ++counts_[i - first_];
    ++total_;
    if (value < smallest_) [[unlikely]]
      smallest_ = value;
    if (value > largest_) [[unlikely]]
      largest_ = value;
  }

  /// Adds many values, at less than half the cost for each.
  void add(std::span<const std::uint64_t> values);
  /// Adds the same value `times` times.
  void add(std::uint64_t value, std::uint64_t times);

  // For filling several histograms at once: between the extremes so far every bucket has
  // memory, and values from kSubBuckets on, below 2^kPlainBits, are found by a shift.
  static constexpr int kPlainBits = 53;
  /// The values, both included, for which `buckets` may be asked; `low` > `high`: there are none.
  struct PlainRange {
    std::uint64_t low = 1, high = 0;
  };
  PlainRange plain_range() const {
    constexpr std::uint64_t kMost = (std::uint64_t{1} << kPlainBits) - 1;
    return {std::max(smallest_, kSubBuckets), std::min(largest_, kMost)};
  }
  /// The counts; valid until a value outside that range is added. The caller reports to `counted`
  /// how many values it added to them.
  struct Buckets {
    std::uint64_t* counts;
    std::size_t first;
    std::uint64_t& of(std::uint64_t value) const { return counts[plain_index(value) - first]; }
  };
  Buckets buckets() { return {counts_.data(), first_}; }
  void counted(std::uint64_t values) { total_ += values; }

  std::uint64_t count() const { return total_; }
  void merge(const LogLinearHistogram& other);
  void clear();  ///< forgets all values but keeps the memory, for the next time-series bin

  /// The smallest value with at least a share `p` of the values at or below it: the ceil(p n)-th
  /// smallest, where a product that exceeds a whole number only by rounding counts as that number.
  /// A bucket's values are taken as spread evenly over its width, but never outside the smallest
  /// and the largest value. Zero if empty; `p` is clamped to (0, 1], so that 0 gives the first one.
  double quantile(double p) const;

  /// Bounds on that quantile, both included: the edges of its bucket, or the smallest and the
  /// largest value where they are nearer. Zeros if empty.
  struct Bounds {
    double low = 0, high = 0;
  };
  Bounds quantile_bounds(double p) const;

  /// Share of values <= `value`, a bucket's values taken as spread evenly over its integers. Zero
  /// if empty or below the smallest value, one from the largest value on.
  double share_at_or_below(double value) const;

  /// Same counts in the same buckets and the same extremes, regardless of the memory that either
  /// has set aside.
  bool operator==(const LogLinearHistogram& other) const;

  /// The complete state of a histogram, to store or send it.
  struct Parts {
    std::size_t first = 0;              ///< a multiple of 2^kBits
    std::vector<std::uint64_t> counts;  ///< of the buckets from `first` on, in whole 2^kBits
    std::uint64_t smallest = ~std::uint64_t{0}, largest = 0;
  };
  Parts parts() const { return {first_, counts_, smallest_, largest_}; }
  static LogLinearHistogram from_parts(Parts parts);

  /// The bucket of a value.
  static std::size_t index(std::uint64_t v) {
    if (v < kSubBuckets) return v;
    const int shift = 63 - std::countl_zero(v) - kBits;
    return (static_cast<std::size_t>(shift + 1) << kBits) + ((v >> shift) - kSubBuckets);
  }
  /// Smallest value of a bucket, and number of integers in it; `index` < kBucketCount.
  static std::uint64_t lower_bound(std::size_t index);
  static std::uint64_t width(std::size_t index);

 private:
  struct Rank {
    std::size_t bucket = 0;
    std::uint64_t in_bucket = 0;  // from 1
    std::uint64_t bucket_count = 0;
  };
  static constexpr std::size_t kBlocks = kBucketCount >> kBits;  // of kSubBuckets buckets

  // Values from kSubBuckets on, below 2^53: a double holds them exactly, and the first bits of a
  // double are an exponent and a mantissa, as a bucket's number is.
  static std::size_t plain_index(std::uint64_t v) {
    constexpr std::uint64_t kBefore = std::uint64_t{1023 + kBits - 1} << kBits;
    const auto exact = static_cast<double>(static_cast<std::int64_t>(v));
    return (std::bit_cast<std::uint64_t>(exact) >> (52 - kBits)) - kBefore;
  }
  /// Sets memory aside for the values of these blocks, and of those between.
  void cover(std::size_t first_block, std::size_t last_block);
  /// The counts of a block; null if it has no memory, and so no values.
  const std::uint64_t* counts_of(std::size_t block) const;
  Rank rank_of(double p) const;  // not for an empty histogram
  double inside(double value) const;

  // From the smallest to the largest block in use: latencies of some milliseconds need not pay for
  // the nanoseconds below them.
  std::vector<std::uint64_t> counts_;
  std::size_t first_ = 0;  // bucket of counts_[0]
  std::uint64_t total_ = 0;
  std::uint64_t smallest_ = ~std::uint64_t{0}, largest_ = 0;
};

using Histogram = LogLinearHistogram<8>;     ///< whole-run latencies: 0.4 % buckets
using BinHistogram = LogLinearHistogram<6>;  ///< one time-series bin: 1.6 % buckets

extern template class LogLinearHistogram<8>;
extern template class LogLinearHistogram<6>;

/// Sum of nanoseconds over many requests. 64 bits hold only 292 years, which ten million clients
/// almost reach if each waits a quarter of an hour.
__extension__ using WideNanoseconds = __int128;

/// Square nanoseconds: 128 bits hold the squares of 340 durations of thirty years.
__extension__ using SquareNanoseconds = unsigned __int128;

/// Count, sum and sum of squares of durations that are not negative. The sums are exact, so that
/// equal durations have a standard deviation of zero and the order of adding does not matter.
struct DurationMoments {
  std::uint64_t count = 0;
  std::uint64_t sum_squares_carry = 0;  ///< how often the sum of squares has passed 2^128
  WideNanoseconds sum_ns = 0;
  SquareNanoseconds sum_squares_ns2 = 0;

  void add(Duration d) {
    ++count;
    sum_ns += d.count();
    const auto ns = static_cast<std::uint64_t>(d.count());
    add_squares(static_cast<SquareNanoseconds>(ns) * ns);
  }
  /// `durations` durations at once, with their sums.
  void add(std::uint64_t durations, std::uint64_t sum, SquareNanoseconds squares) {
    count += durations;
    sum_ns += static_cast<WideNanoseconds>(sum);
    add_squares(squares);
  }
  void merge(const DurationMoments& o) {
    count += o.count;
    sum_ns += o.sum_ns;
    add_squares(o.sum_squares_ns2);
    sum_squares_carry += o.sum_squares_carry;
  }
  /// Standard deviation of the durations themselves (of the population, not of an estimate), in
  /// nanoseconds; zero if there are none. Computed without cancellation.
  double standard_deviation_ns() const;

  bool operator==(const DurationMoments&) const = default;

 private:
  void add_squares(SquareNanoseconds squares) {
    sum_squares_ns2 += squares;
    sum_squares_carry += sum_squares_ns2 < squares;
  }
};

/// How one attempt ended for the client that sent it.
enum class AttemptResult : std::uint8_t {
  kSuccess,
  kThrottled,  ///< a throttling error
  kError,      ///< any other error answer, or a refused connection
  kTimeout,    ///< no answer in time
  /// The client stopped waiting for another reason: the request's deadline passed, or another of
  /// its attempts (hedging) decided it.
  kAbandoned,
};
inline constexpr int kAttemptResultCount = 5;

/// Attempts are counted by their number up to this one, which stands for itself and all later ones.
inline constexpr std::uint32_t kMaxAttemptNumber = 1000;

/// Cohort counts by attempt number, for attempts.csv.
struct AttemptNumberCounts {
  std::uint64_t sent = 0;
  std::array<std::uint64_t, kAttemptResultCount> results{};
  std::uint64_t peak_sends_100ms = 0;  ///< flow: largest number sent in an aligned 100 ms bin
  double in_backoff_ns = 0;            ///< flow: time integral over the window of requests waiting
                                       ///< to send this attempt

  bool operator==(const AttemptNumberCounts&) const = default;
};

/// What happened in one stretch of time to one client group (flow rule). Levels are time integrals.
struct ClientFlow {
  std::uint64_t requests = 0, attempts = 0, retries = 0, successes = 0, failures = 0;
  std::uint64_t throttled = 0, errors = 0, timeouts = 0, quota_denied = 0;
  std::uint64_t arrivals = 0;  ///< attempts that reached the service
  double limiter_waiting_ns = 0, connection_waiting_ns = 0, in_backoff_ns = 0, in_flight_ns = 0;
  std::uint64_t refused = 0;   ///< calls that a circuit breaker refused: they are no attempts
  double breaker_open_ns = 0;  ///< number of open circuit breakers

  void merge(const ClientFlow& o);

  bool operator==(const ClientFlow&) const = default;
};

/// One row of timeseries.csv.
struct ClientBin {
  ClientFlow flow;
  std::uint64_t latency_count = 0;  ///< requests that ended in the bin; quantiles exist if > 0
  double latency_sum_ns = 0;        ///< the sum of their latencies
  double latency_p50_s = 0, latency_p99_s = 0;

  bool operator==(const ClientBin&) const = default;
};

/// What happened to the requests of one client group in one count bin, a stretch of time whose
/// width depends only on the length of the run (see RunResult::count_width).
struct RequestCounts {
  std::uint32_t requests = 0;         ///< submitted in the bin
  std::uint32_t failed = 0;           ///< those of them that failed, whenever they did
  std::uint32_t successes = 0;        ///< requests that succeeded in the bin, whenever submitted
  std::uint32_t failures = 0;         ///< requests that failed in the bin
  std::uint32_t failed_attempts = 0;  ///< that ended in the bin with an error, or timed out

  void merge(const RequestCounts& o);

  bool operator==(const RequestCounts&) const = default;
};

/// How a job that a client polls for ended.
enum class JobEnd : std::uint8_t {
  kSucceeded,   ///< the client knows that it is done
  kGivenUp,     ///< after the last check that is allowed
  kFailed,      ///< a check failed, not by throttling
  kUnfinished,  ///< still open when the run ended
};
inline constexpr int kJobEndCount = 4;

/// Cohort: jobs begun in the window.
struct JobCounts {
  std::uint64_t begun = 0;
  std::array<std::uint64_t, kJobEndCount> ends{};
  std::uint64_t checks = 0;           ///< of jobs that succeeded
  DurationMoments detection_delay_m;  ///< from done until the client knows

  void merge(const JobCounts& o);

  bool operator==(const JobCounts&) const = default;
};

/// Cohort: how long attempts waited at services that have a `wait_within`. Model "occ" counts each
/// of the two calls of an attempt; so do retries that begin with a read
/// (SideEffectSpec::reconciles).
struct WaitCounts {
  std::uint64_t arrivals = 0;  ///< attempts not dropped because their client had given up before
  std::uint64_t started = 0;   ///< of those, the ones that a server began to serve
  std::uint64_t within = 0;    ///< of those, the ones that waited no longer than `wait_within`

  void merge(const WaitCounts& o);

  bool operator==(const WaitCounts&) const = default;
};

/// Cohort: caches in front of the calls of a group (`CallSpec::cache`).
struct CacheCounts {
  std::uint64_t lookups = 0;  ///< calls to be made that had a cache before them
  std::uint64_t hits = 0;     ///< of those, the ones that were not needed

  void merge(const CacheCounts& o);

  bool operator==(const CacheCounts&) const = default;
};

/// What happened in one stretch of time at one service (flow rule).
struct ServiceFlow {
  std::uint64_t arrivals = 0, admitted = 0, rejected = 0, throttled = 0, errors = 0;
  std::uint64_t completions = 0;  ///< executions finished, useful or not
  std::uint64_t wasted = 0;       ///< of those, the ones whose client had given up
  double queue_ns = 0;            ///< time integrals: waiting attempts,
  double busy_ns = 0;             ///< busy servers,
  double servers_ns = 0;          ///< working servers,
  double extra_servers_ns = 0;    ///< servers beyond the nominal ones that work or finish work,
  double in_system_ns = 0;        ///< waiting and in service,
  double in_system_squared_ns = 0;
  double all_busy_ns = 0;  ///< time in which no working server was free
  std::uint64_t queue_max = 0;

  void merge(const ServiceFlow& o);  ///< sums; queue_max: maximum

  bool operator==(const ServiceFlow&) const = default;
};

/// The probabilities of the quantiles in `PhaseLatency`.
inline constexpr std::array<double, 4> kPhaseQuantiles = {0.5, 0.9, 0.99, 0.999};

/// The requests of the cohort that were made in one phase, including those that ended in a later
/// phase or in the drain.
struct PhaseRequests {
  std::array<std::uint64_t, kOutcomeCount> outcomes{};  ///< by Outcome
  std::uint64_t attempts = 0;                           ///< those that they sent
  std::uint64_t unsent = 0;                             ///< of the requests, those that sent none

  std::uint64_t ended_as(Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  std::uint64_t requests() const;
  std::uint64_t successes() const { return ended_as(Outcome::kSuccess); }
  std::uint64_t failures() const {
    return requests() - successes() - ended_as(Outcome::kUnfinished);
  }
  std::uint64_t retries() const { return attempts - (requests() - unsent); }
  void merge(const PhaseRequests& o);

  bool operator==(const PhaseRequests&) const = default;
};

/// Latencies of the requests that ended.
struct PhaseLatency {
  std::uint64_t count = 0;
  double sum_ns = 0;
  /// The quantiles of `kPhaseQuantiles`; zero where there are too few requests (`quantile_exists`).
  std::array<double, kPhaseQuantiles.size()> quantiles_s{};

  bool operator==(const PhaseLatency&) const = default;
};

/// What happened in one phase (metrics.hpp) to one client group, or to all of them together. All
/// zeros, from `start` to the same `end`, if the run did not have the phase.
struct PhaseResult {
  Time start, end;
  PhaseRequests made;
  ClientFlow flow;
  /// Attempts turned away by a full queue, a concurrency limit or because they had waited too long,
  /// with an answer other than a throttling error.
  std::uint64_t rejected = 0;
  PhaseLatency latency, latency_ok;
  /// Metrics of the service that only this group calls, if any; for all together the sum over the
  /// services. Without `queue_max`, which is not a sum.
  ServiceFlow service;

  bool operator==(const PhaseResult&) const = default;
};

// The parts of a client group's result over the whole replication. Cohort: requests submitted in
// the window.

struct RequestTotals {
  std::uint64_t requests = 0;
  std::array<std::uint64_t, kOutcomeCount> outcomes{};  ///< by Outcome; kRetry stays zero
  /// Requests that ended, and that succeeded, within the window; the others ended in the drain.
  std::uint64_t ended_within = 0, successes_within = 0;
  Histogram latency, latency_ok;
  DurationMoments latency_m, latency_ok_m;
  /// Closed loops with one request at a time whose think time starts with the previous request:
  /// time from when a request was due to its end.
  Histogram latency_intended;
  DurationMoments latency_intended_m;
  JobCounts jobs;     ///< that the requests begin or check
  CacheCounts cache;  ///< that saves requests

  bool operator==(const RequestTotals&) const = default;
};

/// The attempts of these requests, as their clients see them.
struct AttemptTotals {
  std::uint64_t attempts = 0;          ///< sends
  std::uint64_t attempts_squared = 0;  ///< sum over requests of attempts^2
  std::array<std::uint64_t, kAttemptResultCount> results{};
  std::uint64_t gave_up = 0;  ///< attempts whose client gave up before it had an answer
  std::uint64_t lost = 0;     ///< attempts whose request or response message was lost
  Histogram attempt_latency;
  DurationMoments attempt_latency_m;
  std::vector<AttemptNumberCounts> by_attempt;  ///< [0] is attempt 1
  std::uint64_t breaker_refusals = 0;           ///< calls that a circuit breaker refused,
  std::uint64_t breaker_first_refusals = 0;     ///< of these the first of their request
  std::uint64_t breaker_openings = 0;           ///< flow: times that a breaker opened in the window
  std::uint64_t breakers = 0;                   ///< how many breakers the group has

  bool operator==(const AttemptTotals&) const = default;
};

/// What services did with these attempts.
struct PassageTotals {
  std::uint64_t arrivals = 0;  ///< attempts that reached the service
  std::uint64_t admitted = 0;  ///< attempts that got a server or a place in the queue
  std::uint64_t waited = 0;    ///< admitted attempts that found no free server
  std::uint64_t executed = 0;  ///< attempts served to the end
  std::uint64_t late = 0;      ///< attempts served to the end after their client had given up
  /// Attempts turned away by a full queue, a concurrency limit or because they had waited too long,
  /// with an answer other than a throttling error.
  std::uint64_t rejected = 0;
  std::uint64_t refused = 0;   ///< attempts that a throttle, a limit or the queue refused, or that
                               ///< were answered with another throttling error; answered or not
  std::uint64_t evicted = 0;   ///< of those, attempts that left a full queue for another one
  std::uint64_t dropped = 0;   ///< attempts discarded without service or answer
  std::uint64_t degraded = 0;  ///< successes although a call of the service had failed
  /// The successes of a group that asks a service some of whose calls may fail without failing the
  /// attempt; of other groups 0.
  std::uint64_t degradable = 0;
  Histogram service_latency, queueing_time;
  DurationMoments service_latency_m, queueing_time_m;
  WaitCounts waits;

  bool operator==(const PassageTotals&) const = default;
};

/// Requests with side effects.
struct SideEffectTotals {
  std::uint64_t mutating = 0;         ///< their number
  std::uint64_t effects = 0;          ///< successful executions of them
  std::uint64_t duplicated = 0;       ///< of the requests, those with two effects or more
  std::uint64_t ambiguous = 0;        ///< requests that failed, but had an effect
  std::uint64_t lost_effects = 0;     ///< requests that succeeded without an effect
  std::uint64_t swallowed = 0;        ///< requests that succeeded by the effect of another one
  std::uint64_t replays = 0;          ///< attempts answered because the effect was there already
  std::uint64_t mismatches = 0;       ///< attempts whose token belonged to another request
  std::uint64_t expired_replays = 0;  ///< attempts executed again: their token was forgotten
  std::uint64_t token_races = 0;      ///< attempts executed: their token was not stored yet
  std::uint64_t token_waits = 0;      ///< attempts that waited for another one with their token
  std::uint64_t reconciliations = 0;  ///< reads before a retry that a server has answered
  std::uint64_t reconciled = 0;       ///< of those, the ones that found the effect

  bool operator==(const SideEffectTotals&) const = default;
};

/// The parts of the requests' latencies, and their waiting times.
struct WaitTotals {
  DurationMoments backoff_time_m;          ///< each backoff that was waited for
  WideNanoseconds send_wait_ns = 0;        ///< total waiting for send tokens
  WideNanoseconds connection_wait_ns = 0;  ///< total waiting for pooled connections, bulkheads
  // Attempts that their clients did not send; they are no part of `attempts`.
  std::uint64_t unconnected = 0;         ///< no connection, or no place in the bulkhead, in time
  std::uint64_t unpermitted = 0;         ///< the client's limit on its send rate
  WideNanoseconds backoff_total_ns = 0;  ///< parts of the latencies: backoff,
  WideNanoseconds attempt_total_ns = 0;  ///< attempts under way,
  // latency_m.sum_ns is the sum of these four for ended requests, if no attempts overlap (hedging)
  /// Tokens of a retry quota: time average over the window, mean over the buckets. What
  /// `refill_rate` adds is counted from the next retry or success of the client on.
  double quota_mean = 0;
  bool has_quota = false;

  bool operator==(const WaitTotals&) const = default;
};

/// Series by bin, by phase and by client.
struct ClientSeries {
  ClientFlow window;  ///< flow: the window, as one bin
  std::vector<ClientBin> bins;
  std::vector<RequestCounts> counts;  ///< from the start to the end of the window
  std::vector<PhaseResult> phases;    ///< in the order of `phases_of` the scenario
  // Flow, by client, if there are at most 10^6: requests that succeeded, and all that ended.
  std::vector<double> successes_per_client;
  std::vector<std::uint32_t> ended_per_client;

  bool operator==(const ClientSeries&) const = default;
};

/// A result that has all of its parts' fields.
template <class... Part>
struct ResultOf : Part... {
  bool operator==(const ResultOf&) const = default;
};

/// One client group over the whole replication.
using ClientResult = ResultOf<RequestTotals, AttemptTotals, PassageTotals, SideEffectTotals,
                              WaitTotals, ClientSeries>;

/// What happened in the window at one of several instances behind a balancer (flow rule).
struct InstanceResult {
  std::uint64_t attempts = 0;  ///< that the balancer sent there
  /// Attempts of that instance that ended for their client, by AttemptResult.
  std::array<std::uint64_t, kAttemptResultCount> results{};
  double busy_ns = 0;       ///< time integrals: busy servers,
  double in_system_ns = 0;  ///< attempts waiting and in service,
  double queue_ns = 0;      ///< those of them that wait
  /// Time out of rotation; with balancers of single clients, on average over them.
  double out_ns = 0;
  double ejected_ns = 0;  ///< the part of that time because of its answers
  std::uint64_t queue_max = 0;
  std::uint64_t ejections = 0;  ///< times that some balancer took it out because of its answers

  bool operator==(const InstanceResult&) const = default;
};

/// What attempts that came in the window met at an adaptive limit on concurrency.
struct LimitCounts {
  std::uint64_t arrivals = 0;  ///< attempts that asked to be let in
  std::uint64_t limited = 0;   ///< of these, those for whom there was a limit at all
  std::uint64_t refused = 0;   ///< of these, those that it refused
  double sum = 0;              ///< of the limits that `limited` attempts met

  bool operator==(const LimitCounts&) const = default;
};

struct ServiceResult {
  ServiceFlow window;
  double wasted_after_give_up_ns = 0;  ///< window: server time on attempts already given up
  /// Full server time of the executions (and reads of model "occ") that ended in the window and
  /// whose answer no client was waiting for. At most the busy time of the window.
  double wasted_full_ns = 0;
  /// Executions that ended in the window, with no client waiting for the answer.
  std::uint64_t unused = 0;
  std::uint64_t failed = 0;  ///< executions whose answer, a failure, reached the client in time
  bool unlimited = false;
  std::int64_t nominal_servers = 0;
  std::vector<ServiceFlow> bins;
  std::vector<std::uint32_t> queued;      ///< waiting attempts at the start of each count bin
  std::vector<InstanceResult> instances;  ///< empty if there is only one
  bool listens = false;                   ///< balancers leave instances out because of answers
  LimitCounts limit;                      ///< zeros without an adaptive limit

  /// The server time available in a stretch of time with the flow `f`: that of the nominal servers,
  /// and of those that a profile, a fault or autoscaling adds. Busy servers never take more.
  double capacity_ns(const ServiceFlow& f, double length_ns) const {
    return static_cast<double>(nominal_servers) * length_ns + f.extra_servers_ns;
  }

  bool operator==(const ServiceResult&) const = default;
};

/// The requests of an SLO that were made in one stretch of time, and how they ended.
struct SloEventCounts {
  Time start, end;
  bool over = true;  ///< the groups had recovered at `end`; or nothing disturbed the run
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;   ///< ended without success, or not at all
  std::uint64_t slow = 0;     ///< succeeded, but took longer than `SloSpec::latency`
  std::uint64_t retries = 0;  ///< sent for them

  std::uint64_t bad() const { return failed + slow; }
  bool operator==(const SloEventCounts&) const = default;
};

/// What an SLO counts: the requests of its client groups in the window.
struct SloCounts {
  std::uint64_t requests_before = 0;   ///< made before the first fault or surge; without one, all
  Duration before;                     ///< the length of that time
  std::vector<SloEventCounts> events;  ///< in the order of `stats::slo_events`
  /// From the first fault or surge to the end of the window; empty without one.
  SloEventCounts since_first;

  bool operator==(const SloCounts&) const = default;
};

/// The measurements of one replication.
struct RunResult {
  std::uint64_t seed = 0;
  std::uint32_t replication = 0;
  Time window_start, window_end;  ///< [warmup, duration)
  Duration interval;
  /// Width of the bins of `ClientResult::counts`, at most 10,000 of which make up the run. It does
  /// not depend on `interval`, so conclusions drawn from the counts do not either.
  Duration count_width;
  Time ended;                           ///< time of the last event
  Time last_request_end;                ///< when the last request ended; zero if none did
  std::uint64_t events = 0;             ///< events executed
  std::uint64_t fingerprint = 0;        ///< hash of the event sequence, if asked for
  std::vector<ClientResult> clients;    ///< in the order of Scenario::clients
  std::vector<ServiceResult> services;  ///< in the order of Scenario::services
  std::vector<ClientBin> all_bins;      ///< the client groups together, without services' own
  std::vector<PhaseResult> all_phases;  ///< these by phase; recovery is that of all together
  std::vector<SloCounts> slos;          ///< in the order of Scenario::slos
  /// Whether a storm of the run is metastable; set by the test with twins, empty without that test
  /// or if it could not tell.
  std::optional<bool> metastable;
  /// The client groups, as indices in ascending order, that do not recover from the last
  /// disturbance and would without retries; set by the same test, as far as it was made.
  std::vector<std::uint32_t> metastable_groups;

  bool operator==(const RunResult&) const = default;
};

// The fields of all structs above, each named once. Adding results up, writing and reading their
// bytes, and filling them in for tests all go through these lists.

template <typename T, typename Result>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Result>;

/// Defines `fields(use, of)`: calls `use` with all fields of `of`, in the order of their
/// declaration. The structured binding needs every one of them, so a missing field does not
/// compile.
#define RETRYSIM_FIELDS(Type, ...)                             \
  decltype(auto) fields(auto&& use, FieldsOf<Type> auto& of) { \
    auto& [__VA_ARGS__] = of;                                  \
    return use(__VA_ARGS__);                                   \
  }

RETRYSIM_FIELDS(DurationMoments, count, sum_squares_carry, sum_ns, sum_squares_ns2)

RETRYSIM_FIELDS(AttemptNumberCounts, sent, results, peak_sends_100ms, in_backoff_ns)

RETRYSIM_FIELDS(ClientFlow, requests, attempts, retries, successes, failures, throttled, errors,
                timeouts, quota_denied, arrivals, limiter_waiting_ns, connection_waiting_ns,
                in_backoff_ns, in_flight_ns, refused, breaker_open_ns)

RETRYSIM_FIELDS(ClientBin, flow, latency_count, latency_sum_ns, latency_p50_s, latency_p99_s)

RETRYSIM_FIELDS(RequestCounts, requests, failed, successes, failures, failed_attempts)

RETRYSIM_FIELDS(PhaseLatency, count, sum_ns, quantiles_s)

RETRYSIM_FIELDS(PhaseRequests, outcomes, attempts, unsent)

RETRYSIM_FIELDS(PhaseResult, start, end, made, flow, rejected, latency, latency_ok, service)

RETRYSIM_FIELDS(JobCounts, begun, ends, checks, detection_delay_m)

RETRYSIM_FIELDS(WaitCounts, arrivals, started, within)

RETRYSIM_FIELDS(CacheCounts, lookups, hits)

RETRYSIM_FIELDS(RequestTotals, requests, outcomes, ended_within, successes_within, latency,
                latency_ok, latency_m, latency_ok_m, latency_intended, latency_intended_m, jobs,
                cache)

RETRYSIM_FIELDS(AttemptTotals, attempts, attempts_squared, results, gave_up, lost, attempt_latency,
                attempt_latency_m, by_attempt, breaker_refusals, breaker_first_refusals,
                breaker_openings, breakers)

RETRYSIM_FIELDS(PassageTotals, arrivals, admitted, waited, executed, late, rejected, refused,
                evicted, dropped, degraded, degradable, service_latency, queueing_time,
                service_latency_m, queueing_time_m, waits)

RETRYSIM_FIELDS(SideEffectTotals, mutating, effects, duplicated, ambiguous, lost_effects, swallowed,
                replays, mismatches, expired_replays, token_races, token_waits, reconciliations,
                reconciled)

RETRYSIM_FIELDS(WaitTotals, backoff_time_m, send_wait_ns, connection_wait_ns, unconnected,
                unpermitted, backoff_total_ns, attempt_total_ns, quota_mean, has_quota)

RETRYSIM_FIELDS(ClientSeries, window, bins, counts, phases, successes_per_client, ended_per_client)

RETRYSIM_FIELDS(ServiceFlow, arrivals, admitted, rejected, throttled, errors, completions, wasted,
                queue_ns, busy_ns, servers_ns, extra_servers_ns, in_system_ns, in_system_squared_ns,
                all_busy_ns, queue_max)

RETRYSIM_FIELDS(InstanceResult, attempts, results, busy_ns, in_system_ns, queue_ns, out_ns,
                ejected_ns, queue_max, ejections)

RETRYSIM_FIELDS(LimitCounts, arrivals, limited, refused, sum)

RETRYSIM_FIELDS(ServiceResult, window, wasted_after_give_up_ns, wasted_full_ns, unused, failed,
                unlimited, nominal_servers, bins, queued, instances, listens, limit)

RETRYSIM_FIELDS(SloEventCounts, start, end, over, requests, failed, slow, retries)

RETRYSIM_FIELDS(SloCounts, requests_before, before, events, since_first)

RETRYSIM_FIELDS(RunResult, seed, replication, window_start, window_end, interval, count_width,
                ended, last_request_end, events, fingerprint, clients, services, all_bins,
                all_phases, slos, metastable, metastable_groups)

#undef RETRYSIM_FIELDS

// A result made of parts has these as its fields.
template <class... Part>
decltype(auto) fields(auto&& use, ResultOf<Part...>& of) {
  return use(static_cast<Part&>(of)...);
}
template <class... Part>
decltype(auto) fields(auto&& use, const ResultOf<Part...>& of) {
  return use(static_cast<const Part&>(of)...);
}

// --- Simulating ----------------------------------------------------------------------------------

/// A line of the access log of the simulated services: what a server knows when it answers an
/// attempt, with success or an error, whether or not the client is still waiting. Attempts that
/// leave a service without an answer (dropped from a queue, aborted) have no line.
struct AccessLogEntry {
  Time answered;
  Duration duration;           ///< since the attempt reached the service
  int status = 200;            ///< of the answer
  std::size_t service = 0;     ///< index into `Scenario::services`
  std::uint32_t instance = 0;  ///< of the service, from 0
  std::string_view operation;  ///< empty: none
  std::size_t client = 0;      ///< index into `Scenario::clients`
  std::uint64_t request = 0;   ///< names the request, the same in its retries, within its group
};
/// Called in the order of `AccessLogEntry::answered`.
using AccessLog = std::function<void(const AccessLogEntry&)>;

/// A moment from which on a run goes on in another way: what has happened until then stays, and so
/// does what each request is, but whatever happens next has other random numbers. Where nothing is
/// known of a time that has been drawn (the next arrival of a Poisson process, an exponential
/// service time that is under way), it is drawn anew as well; other times stay. Both have the law
/// that they have to have, given the past.
struct Branch {
  std::uint64_t after_event = 0;  ///< how many events come before it
  std::uint64_t number = 0;       ///< its name; 0: nothing changes

  bool operator==(const Branch&) const = default;
};

struct SimulationOptions {
  bool fingerprint = false;  ///< hash the event sequence
  /// Where the run takes other ways, in the order of events; must outlive the run. Two runs with
  /// the same branches are the same, to the last draw.
  std::span<const Branch> branches = {};
  /// From this moment on, clients send no retries and no hedges: a failure ends its request as
  /// after the last attempt; a request in backoff, or waiting to be sent again, ends when it would
  /// be sent. Attempts under way continue. Everything before that moment is the same as without
  /// this option, down to the last draw.
  Time retries_until = Time::max();
  std::uint64_t max_events = ~std::uint64_t{0};
  /// Bytes that the requests under way may take; `LimitExceeded` beyond. The rest of a run's memory
  /// is known before it begins: see `needs_of` (run.hpp).
  std::uint64_t max_memory = ~std::uint64_t{0};
  /// Called with each answer of a service; may be empty. It affects nothing else.
  AccessLog access_log = {};
  /// Set from outside to end the run early with `Interrupted`; may be null.
  const std::atomic<bool>* stop = nullptr;
  /// Simulated time reached so far in nanoseconds, for a progress display; may be null.
  std::atomic<std::int64_t>* progress = nullptr;
};

/// Simulates replication `replication` (from 0) of a valid scenario. Throws std::invalid_argument
/// if it lasts longer than `kLongestDuration`.
RunResult simulate(const Scenario& scenario, std::uint32_t replication,
                   const SimulationOptions& options = {});

// --- Waiting for something rare ------------------------------------------------------------------

/// Something that a run may come to, and how near to it the run is at each moment.
struct RareEvent {
  enum class Kind : std::uint8_t {
    /// At least `count` attempts are at a service, waiting or in service.
    kInSystem,
    /// Of the requests that have ended within a window, at least ten, less than the share `below`
    /// has succeeded. Looked at fifty times in a window, first when the run has lasted for one.
    kSuccessRate,
  };
  Kind kind = Kind::kInSystem;
  std::size_t service = 0;  ///< kInSystem: index into `Scenario::services`
  std::int64_t count = 1;
  /// kSuccessRate: index into `Scenario::clients`; none: all that are not calls of services.
  std::optional<std::size_t> client = {};
  double below = 0.5;  ///< above 0 and at most 1
  Duration window = Duration::seconds(60);

  bool operator==(const RareEvent&) const = default;
};

/// How near a run is to a rare event: the attempts at the service; or the sum of how far backlogs
/// have come to what clients wait for, in seconds of work, and how far the share of failures has
/// come to what makes the event. A larger number is nearer. It guides the search for paths to the
/// event, and so decides how fast that is, never what it finds.
using NearnessScore = std::uint32_t;
inline constexpr NearnessScore kHappened = ~NearnessScore{0};

/// A moment at which a run is nearer to the event than ever before.
struct NearestSoFar {
  NearnessScore score = 0;        ///< kHappened: the event has happened
  std::uint64_t after_event = 0;  ///< number of the run's event, from 1

  bool operator==(const NearestSoFar&) const = default;
};

/// A run up to the moment of the event, or to its end.
struct FollowedRun {
  std::vector<NearestSoFar> records;  ///< rising; only from `from` on
  std::optional<Time> happened;       ///< when the event happened, at `from` or later
  bool happened_before = false;       ///< before `from`, where the run then ended
  Time end;                           ///< of the event, or of the run
  std::uint64_t events = 0;

  bool operator==(const FollowedRun&) const = default;
};

/// Simulates until the event happens, but does not measure anything. Throws what `simulate` throws.
FollowedRun follow(const Scenario& scenario, std::uint32_t replication, const RareEvent& event,
                   Time from, const SimulationOptions& options = {});

}  // namespace retrysim
