// The observer of one replication: the simulation tells it what happens, and it counts; it decides
// nothing. Each client group and each service has a recorder of its own; this one knows when bins,
// window and phases begin and end. Time is cut into segments at the edges of time-series bins and
// of the window. At the end of a segment its counters are added to the bin's row and, inside the
// window, to the totals.
//
// Told in that order: levels and spans of time, a client group, a service, the run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "measure/record/phase_log.hpp"
#include "measure/record/totals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::stats {

// --- Time ----------------------------------------------------------------------------------------

// The window and the bins that every recorder of a run shares, and levels over time (busy servers,
// waiting attempts) with their integrals.

/// The smallest of 1, 2 and 5 times a power of ten, in nanoseconds, of which at most 10,000 make up
/// the run: times in a scenario tend to be multiples of it.
inline Duration count_width(Duration run) {
  constexpr std::int64_t kMostCountBins = 10'000;
  std::int64_t power = 1;
  for (;; power *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      const std::int64_t width = digit * power;
      if ((run.count() - 1) / width < kMostCountBins) return Duration::nanoseconds(width);
    }
  }
}

/// How many of them a run has.
inline std::size_t count_bins(Duration run) {
  const std::int64_t width = count_width(run).count();
  return static_cast<std::size_t>(std::max<std::int64_t>((run.count() - 1) / width + 1, 1));
}

/// Where the window and the bins of a run begin and end.
struct RunSpan {
  explicit RunSpan(const Scenario& scenario)
      : window_start(Time::zero() + scenario.warmup),
        window_end(Time::zero() + scenario.duration),
        interval(scenario.interval),
        count_width(stats::count_width(scenario.duration)),
        count_bins(stats::count_bins(scenario.duration)) {}

  bool in_window(Time t) const { return t >= window_start && t < window_end; }
  /// The part of [from, to) that lies inside the window, in nanoseconds.
  double inside_window_ns(Time from, Time to) const {
    if (window_start <= from && from <= to && to <= window_end) [[likely]]
      return static_cast<double>((to - from).count());
    const Time begin = std::max(from, window_start), end = std::min(to, window_end);
    return end > begin ? static_cast<double>((end - begin).count()) : 0;
  }
  /// Later ones share the last bin, which is not part of the result.
  std::size_t count_bin_of(Time t) const {
    return std::min(static_cast<std::size_t>(t.count() / count_width.count()), count_bins);
  }

  Time window_start, window_end;
  Duration interval;     ///< of the time series
  Duration count_width;  ///< see RunResult::count_width
  std::size_t count_bins;
};

/// A level that rises and falls by one. 128 bits hold the integral over thirty years for any number
/// of requests, so that a change costs two additions, and nothing is done while nothing changes.
class Level {
 public:
  void rise(Time now) {
    ++level_;
    shift_ -= static_cast<std::uint64_t>(now.count());
  }
  void fall(Time now) {
    --level_;
    shift_ += static_cast<std::uint64_t>(now.count());
  }
  std::int64_t now() const { return level_; }
  /// The integral from the start of the run to `t`, in nanoseconds.
  WideNanoseconds total(Time t) const { return WideNanoseconds{level_} * t.count() + shift_; }
  /// The integral since the last call, or since the start of the run, in nanoseconds.
  double fold(Time end) {
    const WideNanoseconds all = total(end);
    const WideNanoseconds area = all - before_;
    before_ = all;
    return static_cast<double>(area);
  }

 private:
  std::int64_t level_ = 0;
  WideNanoseconds shift_ = 0;   // the falls less the rises, each at its time
  WideNanoseconds before_ = 0;  // the integral up to the last fold
};

/// The levels of a service over time: noted as they change and integrated in blocks. Integrals are
/// doubles: sums in the order of the changes, rounded after each.
class StationLog {
 public:
  struct Levels {
    std::int64_t busy = 0;       ///< servers
    std::int64_t in_system = 0;  ///< attempts waiting and in service
  };
  /// Time integrals in nanoseconds: of the levels, of the square of `in_system`, and of whether all
  /// servers are busy.
  struct Integrals {
    double busy = 0, in_system = 0, in_system_squared = 0, all_busy = 0;
  };

  /// Levels from `since` on, which is not before that of the levels noted last.
  void note(Time since, Levels levels) {
    if (last_ == kBlock) [[unlikely]]
      integrate();
    ++last_;
    since_[last_] = since.count();
    busy_[last_] = levels.busy;
    in_system_[last_] = levels.in_system;
  }
  Levels now() const { return {busy_[last_], in_system_[last_]}; }

  /// From the levels noted last on, this many busy servers are all of them.
  void set_servers(std::int64_t servers) {
    integrate();
    servers_ = static_cast<double>(servers);
  }

  /// The integrals up to `end`; those of the next segment begin there.
  Integrals fold(Time end);

 private:
  static constexpr std::size_t kBlock = 64;

  /// Up to the levels noted last, which are then the first.
  void integrate();
  /// The same two at a time, in any order; false if a sum is so large that the order matters.
  bool integrate_whole_numbers();
  void integrate_in_order();

  std::size_t last_ = 0;
  double servers_ = 0;
  Integrals sums_;
  // Up to last_; there is one more, so that two can always be taken.
  alignas(16) std::array<std::int64_t, kBlock + 2> since_{};
  alignas(16) std::array<std::int64_t, kBlock + 2> busy_{}, in_system_{};
};

// --- A client group ------------------------------------------------------------------------------

// The counts of one client group: its requests, their attempts, and what services do with these.
// Events that carry more than a few words have a struct each, filled in by name.

/// A request has ended, or is unfinished when the run is over.
struct RequestEnded {
  std::uint32_t client = 0;
  bool in_cohort = false;
  Outcome outcome = Outcome::kUnfinished;
  std::uint32_t attempts = 0;  ///< that it made
  Time submitted, now;
};

/// A backoff has ended.
struct BackoffEnded {
  bool in_cohort = false;
  std::uint32_t number = 1;  ///< of the attempt that follows
  Time since, now;
};

/// An attempt has ended, as its client sees it.
struct AttemptEnded {
  bool in_cohort = false;
  std::uint32_t number = 1;  ///< 1 for the first attempt of a request
  AttemptResult result = AttemptResult::kSuccess;
  Time sent, now;
};

/// A job that was polled for has ended, or is unfinished when the run is over.
struct JobEnded {
  bool in_cohort = false;
  JobEnd end = JobEnd::kUnfinished;
  std::uint32_t checks = 0;  ///< begun
  Time done, now;            ///< `done`: the job itself
};

/// The result of one request with side effects.
struct RequestEffects {
  std::uint32_t effects = 0;                                       ///< executions that succeeded
  std::uint32_t replays = 0, mismatches = 0, expired_replays = 0;  ///< see SideEffectTotals
  std::uint32_t token_races = 0, token_waits = 0;
  std::uint32_t reconciliations = 0, reconciled = 0;
  bool by_another = false;                 ///< the effect of another request has answered it
  bool failed = false, succeeded = false;  ///< as its client saw it; neither: not ended
};

/// The numbers of busy servers, of attempts at a service and, of those, in the queue, and of
/// working servers from `now` on.
struct LevelsOfService {
  std::int64_t busy = 0;
  std::uint64_t in_system = 0, queued = 0;
  std::int64_t working = 0;
  Time now;
};

/// Levels of a client group at one instant: requests that wait for a send token, for a connection
/// and in backoff, attempts in flight, and the tokens in all its retry quotas.
struct GroupLevels {
  std::int64_t limiter_waiting = 0, connection_waiting = 0, in_backoff = 0, in_flight = 0;
  std::int64_t quota = 0;

  bool operator==(const GroupLevels&) const = default;
};

/// Levels of a service at one instant: busy servers, attempts there and, of those, in the queue,
/// and working servers.
struct StationLevels {
  std::int64_t busy = 0, in_system = 0, queued = 0, working = 0;

  bool operator==(const StationLevels&) const = default;
};

/// Counts of the requests and attempts of a client group since the start of the run.
struct RequestTally {
  using Outcomes = std::array<std::uint64_t, kOutcomeCount>;
  /// The part of it that count bins have.
  struct Counted {
    std::uint64_t requests = 0, successes = 0, failures = 0, failed_attempts = 0;

    std::uint64_t sum() const { return requests + successes + failures + failed_attempts; }
  };

  std::uint64_t successes() const {
    constexpr auto kSuccess = static_cast<std::size_t>(Outcome::kSuccess);
    return outcomes[0][kSuccess] + outcomes[1][kSuccess];
  }
  std::uint64_t attempts_ended_as(AttemptResult result) const {
    return failed_attempts[static_cast<std::size_t>(result)];
  }
  Counted counted() const {
    return {requests, successes(), failures,
            attempts_ended_as(AttemptResult::kThrottled) +
                attempts_ended_as(AttemptResult::kError) +
                attempts_ended_as(AttemptResult::kTimeout)};
  }

  std::uint64_t requests = 0, retries = 0, failures = 0;
  std::array<Outcomes, 2> outcomes{};  ///< of other requests, and of the cohort
  std::array<std::uint64_t, kAttemptResultCount> failed_attempts{};
};

/// How many requests of each client have ended in the window, and how many of them failed: one word
/// per client while there are events.
class ClientEnds {
 public:
  /// `successes` has an element for each client, zero; none, if clients are not counted apart. The
  /// words are kept there until `close`.
  void begin_window(std::vector<double>& successes) {
    words_ = successes.data();
    clients_ = static_cast<std::uint32_t>(successes.size());
  }
  void end_window() { clients_ = 0; }

  /// A request of this client may end soon: its word may be far from the cache.
  [[gnu::always_inline]] void expect(std::uint32_t client) const {
    if (client < clients_) kernel::prefetch(words_[client]);
  }
  void succeeded(std::uint32_t client) { add(client, kEnded); }
  void failed(std::uint32_t client) { add(client, kEnded + kFailed); }

  /// Turns the words into the numbers of requests of each client that succeeded, and that ended.
  static void close(std::vector<double>& successes, std::vector<std::uint32_t>& ended) {
    for (std::size_t c = 0; c < ended.size(); ++c) {
      const auto word = std::bit_cast<std::uint64_t>(successes[c]);
      ended[c] = static_cast<std::uint32_t>(word);
      successes[c] = ended[c] - static_cast<std::uint32_t>(word >> 32);
    }
  }

 private:
  static constexpr std::uint64_t kEnded = 1, kFailed = std::uint64_t{1} << 32;
  void add(std::uint32_t client, std::uint64_t what) {
    if (client >= clients_) return;
    words_[client] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(words_[client]) + what);
  }

  double* words_ = nullptr;
  std::uint32_t clients_ = 0;
};

// Each part counts one thing and puts it into the result.

/// The attempts of one number.
class alignas(64) AttemptRow {
 public:
  /// One is sent.
  void sent(bool in_cohort, Time now) {
    if (now >= bin_end_) [[unlikely]]
      begin_bin(now);
    ++sent_[in_cohort];
  }
  /// One of the cohort has ended.
  void ended(AttemptResult result) { ++results_[static_cast<std::size_t>(result)]; }
  void in_backoff(double ns) {
    in_backoff_ns_ += ns;
    had_backoff_ = true;
  }
  /// Whether there was an attempt, or a backoff before one.
  bool is_used() const { return all_sent() > 0 || had_backoff_; }
  std::uint64_t all_sent() const { return sent_[0] + sent_[1]; }

  /// Sends in aligned bins of 100 ms are compared from now on, or no more.
  void begin_window() { bin_end_ = Time(); }
  void end_window() {
    if (bin_end_ != Time()) note_peak();
    bin_end_ = Time::max();
  }

  AttemptNumberCounts counts() const { return {sent_[1], results_, peak_, in_backoff_ns_}; }

 private:
  void note_peak() {
    peak_ = std::max(peak_, all_sent() - before_bin_);
    before_bin_ = all_sent();
  }
  void begin_bin(Time now);

  std::array<std::uint64_t, 2> sent_{};  // of others, and of the cohort
  Time bin_end_ = Time::max();           // zero: none has begun in this window
  std::array<std::uint64_t, kAttemptResultCount> results_{};
  std::uint64_t before_bin_ = 0;  // sent before the running bin of 100 ms
  std::uint64_t peak_ = 0;
  double in_backoff_ns_ = 0;
  bool had_backoff_ = false;
};

/// Those of all numbers.
class AttemptRows {
 public:
  AttemptRow& first() { return few_[0]; }
  /// That of attempts of the number `number`. Clients that never give up make any number of
  /// attempts; their counts need not grow without end.
  AttemptRow& of(std::uint32_t number) {
    if (number > kFew) [[unlikely]]
      return of_later(number);
    return few_[number - 1];
  }
  /// First attempts that were sent, of the cohort or not.
  std::uint64_t first_sent() const { return few_[0].all_sent(); }

  void begin_window();
  void end_window();
  /// The counts of every number that occurred.
  std::vector<AttemptNumberCounts> counts() const;

 private:
  static constexpr std::uint32_t kFew = 8;

  [[gnu::noinline]] AttemptRow& of_later(std::uint32_t number) {
    const std::size_t later = std::min(number, kMaxAttemptNumber) - kFew - 1;
    if (later >= later_.size()) [[unlikely]]
      reach(later);
    return later_[later];
  }
  void reach(std::size_t later);

  // By number. Which of the first few is next cannot be predicted: they are not told apart.
  std::array<AttemptRow, kFew> few_;
  std::vector<AttemptRow> later_;
  bool in_window_ = false;
};

/// What services do with the attempts of one client group.
class PassageCounts {
 public:
  void arrived(bool in_cohort) { ++arrived_[in_cohort]; }
  /// It gets a server at once, or a place in the queue.
  void admitted(bool in_cohort, bool must_wait) {
    if (in_cohort) ++admitted_[must_wait];
  }
  /// Its turn in the queue has come.
  void started(bool in_cohort, Duration queueing_time) {
    if (in_cohort) waited_for(queueing_time);
  }
  /// One of the cohort was served to the end.
  void executed(bool given_up) {
    ++executed_;
    late_ += given_up;
  }
  /// Turned away by a full queue, a limit or because of its wait, with another answer than a
  /// throttling error.
  void rejected(bool in_cohort) { ++rejected_[in_cohort]; }
  /// The service will not serve the attempt: told when it decides that, regardless of the answer.
  void refused(bool in_cohort) { refused_ += in_cohort; }
  void dropped(bool in_cohort) { dropped_ += in_cohort; }
  /// Its client has a success, although a call of its service had failed.
  void degraded(bool in_cohort) { degraded_ += in_cohort; }
  /// At a service that has a `wait_within`: an attempt arrives, a server begins with it.
  void arrived_to_be_timed(bool in_cohort) { timed_.arrivals += in_cohort; }
  void started_timed(bool in_cohort, bool within) {
    timed_.started += in_cohort;
    timed_.within += in_cohort && within;
  }
  void lost(bool in_cohort) { lost_ += in_cohort; }

  // From the start of the run on, in the cohort or not.
  std::uint64_t all_arrived() const { return arrived_[0] + arrived_[1]; }
  std::uint64_t all_rejected() const { return rejected_[0] + rejected_[1]; }

  /// Fills in the counts of the cohort, and its queueing times.
  void close(ClientResult& r) {
    r.arrivals = arrived_[1];
    r.admitted = admitted_[0] + admitted_[1];
    r.waited = admitted_[1];
    r.executed = executed_;
    r.late = late_;
    r.rejected = rejected_[1];
    r.refused = refused_;
    r.dropped = dropped_;
    r.degraded = degraded_;
    r.lost = lost_;
    r.waits = timed_;
    add_noted();
    queueing_time_.add_zeros(admitted_[0]);
    r.queueing_time = std::move(queueing_time_.histogram);
    r.queueing_time_m = queueing_time_.moments;
  }

 private:
  void waited_for(Duration queueing_time) {
    noted_[count_++] = static_cast<std::uint64_t>(queueing_time.count());
    if (count_ == noted_.size()) [[unlikely]]
      add_noted();
  }
  void add_noted();

  // Of others, and of the cohort.
  std::array<std::uint64_t, 2> arrived_{}, rejected_{};
  // Of the cohort: those that found a free server, and those that did not.
  std::array<std::uint64_t, 2> admitted_{};
  std::uint64_t executed_ = 0, late_ = 0, refused_ = 0, dropped_ = 0, lost_ = 0, degraded_ = 0;
  WaitCounts timed_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, 32> noted_{};  // the first count_ of them
  DurationTotals queueing_time_;           // of those that waited, but for `noted_`
};

/// Waiting for a send token, or for a connection.
class WaitRecorder {
 public:
  void begins(Time now) { waiting_.rise(now); }
  void ends(bool in_cohort, Duration waited, Time now) {
    waiting_.fall(now);
    if (in_cohort) cohort_ns_ += waited.count();
  }

  Level& waiting() { return waiting_; }
  const Level& waiting() const { return waiting_; }
  WideNanoseconds cohort_ns() const { return cohort_ns_; }

 private:
  Level waiting_;
  WideNanoseconds cohort_ns_ = 0;
};

/// The retry quotas of a group, all of them together.
class QuotaRecorder {
 public:
  /// `span` must outlive the recorder.
  explicit QuotaRecorder(const RunSpan& span) : span_(&span) {}

  /// `buckets` buckets with `level` tokens each.
  void starts(std::uint64_t buckets, std::int64_t level) {
    exists_ = true;
    buckets_ = static_cast<double>(buckets);
    level_ = buckets_ * static_cast<double>(level);
  }
  void changed(std::int64_t change, Time now);
  /// A retry was refused: by the quota, or another limit.
  void denied() { ++denied_; }

  std::int64_t level() const { return static_cast<std::int64_t>(level_); }
  std::uint64_t all_denied() const { return denied_; }
  /// Fills in the mean level.
  void close(ClientResult& result);

 private:
  const RunSpan* span_;
  bool exists_ = false;
  double level_ = 0, area_ns_ = 0, buckets_ = 0;
  Time since_;
  std::uint64_t denied_ = 0;
};

/// The jobs that the clients of a group begin and poll for.
class JobRecorder {
 public:
  /// Jobs that begin in the window belong to the cohort.
  void begin_window() { in_window_ = true; }
  void end_window() { in_window_ = false; }

  /// Whether the job belongs to the cohort.
  bool begins() {
    counts_.begun += in_window_;
    return in_window_;
  }
  void ended(const JobEnded& event) {
    const auto& [in_cohort, end, checks, done, now] = event;
    if (!in_cohort) return;
    ++counts_.ends[static_cast<std::size_t>(end)];
    if (end != JobEnd::kSucceeded) return;
    counts_.checks += checks;
    counts_.detection_delay_m.add(now - done);
  }

  const JobCounts& counts() const { return counts_; }

 private:
  JobCounts counts_;
  bool in_window_ = false;
};

// Values that follow from other counts are not counted: they are worked out where a segment, a
// count bin, the window or the run ends.

class alignas(64) ClientRecorder {
 public:
  // The parts of the group that are told directly.
  WaitRecorder send_waits;        ///< for send tokens
  WaitRecorder connection_waits;  ///< for pooled connections
  QuotaRecorder quota;
  PassageCounts passage;  ///< of attempts through the services
  ClientEnds by_client;   ///< requests that have ended
  JobRecorder jobs;       ///< that are polled for

  /// `span` must outlive the recorder.
  explicit ClientRecorder(const RunSpan& span) : quota(span), span_(&span) {}
  /// Takes what is kept bin by bin and client by client, or counts its bytes.
  template <class Take>
  void take_memory(const ClientSpec& client, std::size_t bins, std::size_t bins_with_drain,
                   Take& of_bins, Take& of_clients);

  // A request.
  /// Whether it belongs to the cohort.
  bool submitted() {
    ++tally_.requests;
    return in_window_;
  }
  /// One that a service makes for an attempt belongs to the cohort if the attempt does.
  void called(bool in_cohort) {
    ++tally_.requests;
    cohort_calls_ += in_cohort;
  }
  /// A call is to be made; on a hit of the cache before it, it is not.
  void looked_up(bool in_cohort, bool hit) {
    cache_.lookups += in_cohort;
    cache_.hits += in_cohort && hit;
  }
  [[gnu::always_inline]] void ended(const RequestEnded& event) {
    const auto& [client, in_cohort, outcome, attempts, submitted, now] = event;
    ++tally_.outcomes[in_cohort][static_cast<std::size_t>(outcome)];
    if (outcome != Outcome::kSuccess) [[unlikely]]
      return failed(event);
    last_end_ = now;
    by_client.succeeded(client);
    if (in_cohort) [[likely]] {
      attempts_squared_ += std::uint64_t{attempts} * attempts;
      attempts_of_ended_ += attempts;
      constexpr unsigned kHeadings =
          DurationBooks::kBin | DurationBooks::kLatency | DurationBooks::kLatencyOk;
      if (submitted >= stretch_start_) [[likely]]
        durations_.add(kHeadings | DurationBooks::kSameStretch, now - submitted);
      else
        ended_late(event, kHeadings);
    } else {
      durations_.add(DurationBooks::kBin, now - submitted);
    }
  }
  /// A request that was due at a time of its own.
  void ended_after_due(bool in_cohort, Duration since_due);
  void side_effects(const RequestEffects& effects);

  // An attempt, as its client sees it.
  [[gnu::always_inline]] void sent(bool in_cohort, std::uint32_t number, Time now) {
    in_flight_.rise(now);
    if (number == 1) [[likely]]
      return rows_.first().sent(in_cohort, now);
    ++tally_.retries;
    rows_.of(number).sent(in_cohort, now);
  }
  [[gnu::always_inline]] void attempt_ended(const AttemptEnded& event) {
    const auto& [in_cohort, number, result, sent, now] = event;
    in_flight_.fall(now);
    if (result != AttemptResult::kSuccess)
      ++tally_.failed_attempts[static_cast<std::size_t>(result)];
    if (!in_cohort) return;
    rows_.of(number).ended(result);
    durations_.add(DurationBooks::kAttemptLatency, now - sent);
  }
  /// A service has executed one of the cohort.
  void executed(bool given_up, Duration since_arrival) {
    passage.executed(given_up);
    durations_.add(DurationBooks::kServiceLatency, since_arrival);
  }

  // A backoff.
  void backoff_begins(Time now) { in_backoff_.rise(now); }
  [[gnu::always_inline]] void backoff_ends(const BackoffEnded& event) {
    const auto& [in_cohort, number, since, now] = event;
    in_backoff_.fall(now);
    rows_.of(number).in_backoff(span_->inside_window_ns(since, now));
    if (in_cohort) result_.backoff_time_m.add(now - since);
  }
  /// The same for one that has not ended when the run is over: its level stays. `number`: of the
  /// attempt that would have followed.
  void backoff_goes_on(std::uint32_t number, Time since);

  // The edges of the run, in the order of time.
  void begin_window();
  void end_window();
  /// The running segment of the running bin ends.
  void fold_segment(Time end);
  /// The running bin ends. Returns its latencies, which the caller clears.
  BinTotals& close_bin();
  const ClientBin& last_bin() const { return result_.bins.back(); }
  /// Whether something was counted in the running count bin.
  bool has_counts() const { return tally_.counted().sum() != edges_.counted_in_all; }
  void close_count_bin(std::size_t bin) {
    // In the bin of an event there may be none that counts.
    if (has_counts()) [[unlikely]]
      add_counts(bin);
  }
  /// The totals from the start of the run to `now`, and the latencies since the last call.
  GroupTotals totals(Time now) const;
  RequestLatencies take_latencies() { return durations_.take_latencies(); }
  /// The requests that did not end in the stretch of phases in which they were made, and when the
  /// running one began.
  LateRequests late;
  void begin_stretch(Time now) { stretch_start_ = now; }
  /// When the last request ended; zero if none did.
  Time last_end() const { return last_end_; }
  /// The levels it has been told, to be compared with the actual ones.
  GroupLevels levels() const;
  /// The run is over, and all edges have been told. The requests are those that services made.
  ClientResult finish();

 private:
  struct Edges {
    ClientFlow told_at_segment;            // when the running segment began
    RequestTally::Counted counted_at_bin;  // when the running count bin began
    std::uint64_t counted_in_all = 0;      // the sum of these
    ClientBin row;                         // of the running bin
  };

  /// A request has ended, but not with success, or is unfinished.
  void failed(const RequestEnded& event);
  /// One of the cohort that was made before the running stretch began; its latency is booked under
  /// `headings`, if there are any.
  [[gnu::noinline]] void ended_late(const RequestEnded& event, unsigned headings);
  /// From the start of the run on; counts only.
  ClientFlow told() const {
    ClientFlow flow;
    flow.requests = tally_.requests;
    flow.attempts = rows_.first_sent() + tally_.retries;
    flow.retries = tally_.retries;
    flow.successes = tally_.successes();
    flow.failures = tally_.failures;
    flow.throttled = tally_.attempts_ended_as(AttemptResult::kThrottled);
    flow.errors = tally_.attempts_ended_as(AttemptResult::kError);
    flow.timeouts = tally_.attempts_ended_as(AttemptResult::kTimeout);
    flow.quota_denied = quota.all_denied();
    flow.arrivals = passage.all_arrived();
    return flow;
  }
  [[gnu::noinline]] void add_counts(std::size_t bin);
  void close_durations();
  void close_attempts();

  const RunSpan* span_;
  bool in_window_ = false;
  RequestTally tally_;
  CacheCounts cache_;
  std::uint64_t cohort_calls_ = 0, attempts_squared_ = 0;
  std::uint64_t attempts_of_ended_ = 0, unsent_ = 0;  // of the cohort
  Time last_end_, stretch_start_;
  Level in_flight_, in_backoff_;
  AttemptRows rows_;
  DurationBooks durations_;
  Edges edges_;
  ClientResult result_;
};

template <class Take>
void ClientRecorder::take_memory(const ClientSpec& client, std::size_t bins,
                                 std::size_t bins_with_drain, Take& of_bins, Take& of_clients) {
  constexpr std::uint32_t kMaxClientsForFairness = 1'000'000;
  of_bins.room(result_.bins, bins, bins_with_drain);
  // One more than the result has: for what happens in the drain.
  of_bins.few(result_.counts, span_->count_bins + 1);
  if (client.count > kMaxClientsForFairness) return;
  of_clients(result_.successes_per_client, client.count);
  of_clients(result_.ended_per_client, client.count);
}

// --- A service -----------------------------------------------------------------------------------

// The counts of one service. A service with several instances is recorded as a whole, as any other
// is; `InstanceLog` adds the window totals of each instance.

/// The window totals of each instance of a service.
class InstanceLog {
 public:
  InstanceLog(const Scenario& scenario, std::size_t instances)
      : window_start_(Time::zero() + scenario.warmup),
        window_end_(Time::zero() + scenario.duration),
        all_(instances) {}

  void sent(std::size_t instance, Time now) { all_[instance].result.attempts += in_window(now); }
  void ended(std::size_t instance, AttemptResult result, Time now) {
    all_[instance].result.results[static_cast<std::size_t>(result)] += in_window(now);
  }
  /// The levels of the instance from `now` on.
  void levels(std::size_t instance, const StationLevels& levels, Time now) {
    One& one = all_[instance];
    integrate(one, now);
    one.levels = levels;
    if (in_window(now)) raise_maximum(one);
  }
  /// For which share of the balancers that know it it is out of rotation from `now` on, and for
  /// which because of its answers.
  void out_of_rotation(std::size_t instance, double out, double ejected, Time now) {
    integrate(all_[instance], now);
    all_[instance].out = out;
    all_[instance].ejected = ejected;
  }
  /// A balancer takes it out because of its answers.
  void ejected(std::size_t instance, Time now) {
    all_[instance].result.ejections += in_window(now);
  }

  /// The totals, when the run is over.
  InstanceResult close(std::size_t instance) {
    integrate(all_[instance], window_end_);
    return all_[instance].result;
  }

 private:
  struct One {
    InstanceResult result;
    StationLevels levels;
    Time since;  // the levels have been integrated up to here
    double out = 0, ejected = 0;
  };

  bool in_window(Time now) const { return now >= window_start_ && now < window_end_; }

  static void raise_maximum(One& one) {
    const auto queued = static_cast<std::uint64_t>(one.levels.queued);
    one.result.queue_max = std::max(one.result.queue_max, queued);
  }

  void integrate(One& one, Time now) {
    const Time begin = std::max(one.since, window_start_), end = std::min(now, window_end_);
    one.since = std::max(one.since, now);
    if (end <= begin) return;
    const auto ns = static_cast<double>((end - begin).count());
    one.result.busy_ns += ns * static_cast<double>(one.levels.busy);
    one.result.in_system_ns += ns * static_cast<double>(one.levels.in_system);
    one.result.queue_ns += ns * static_cast<double>(one.levels.queued);
    one.result.out_ns += ns * one.out;
    one.result.ejected_ns += ns * one.ejected;
    raise_maximum(one);  // those that the window begins with
  }

  Time window_start_, window_end_;
  std::vector<One> all_;
};

/// The counts and levels of one service, all instances together.
class alignas(64) ServiceRecorder {
 public:
  /// `span` must outlive the recorder.
  ServiceRecorder(const ServiceSpec& spec, const RunSpan& span);
  /// Takes what is kept bin by bin, or counts its bytes.
  template <class Take>
  void take_memory(std::size_t bins, std::size_t bins_with_drain, Take& of_bins) {
    of_bins.room(result_.bins, bins, bins_with_drain);
    of_bins(result_.queued, span_->count_bins + 1);
  }

  // Attempts; the client groups that send them are told as well.
  void arrived() { ++flow_.arrivals; }
  void admitted() { ++flow_.admitted; }
  void rejected() { ++flow_.rejected; }
  void throttled() { ++flow_.throttled; }
  void error_answered() { ++flow_.errors; }
  void executed(bool given_up) {
    ++flow_.completions;
    flow_.wasted += given_up;
  }
  /// The client learns from the answer to an execution, finished at `finished`, that it failed.
  void execution_failed(Time finished) { result_.failed += span_->in_window(finished); }

  /// Server time [from, to) went to an attempt whose client had given up.
  void add_wasted_work(Time from, Time to);
  /// From `now` on this many servers work for attempts whose clients have given up: told of
  /// services where these do not change by one server at a time.
  void wasting_servers(double servers, Time now);
  /// No client waited for the answer that the service had at `finished`, after `server_ns` of
  /// server time. `executed`: it ended an attempt; otherwise another call was to follow.
  void answer_unused(double server_ns, Time finished, bool executed);

  void levels(const LevelsOfService& now) {
    log_.note(now.now, {now.busy, static_cast<std::int64_t>(now.in_system)});
    queued_ = now.queued;
    if (now.queued > queue_max_) [[unlikely]]
      queue_max_ = now.queued;
    if (now.working != working_) [[unlikely]] {
      set_servers(now.working, now.now);
      quiet_busy_ = -1;
    }
    if (now.busy > quiet_busy_) [[unlikely]]
      find_extra(now.busy, now.now);
  }
  /// The levels it has been told, to be compared with the actual ones.
  StationLevels levels() const;

  // The edges of the run, in the order of time.
  void begin_window() { in_window_ = true; }
  void end_window() { in_window_ = false; }
  /// The running segment of the running bin ends.
  void fold_segment(Time end);
  void close_bin();
  bool somebody_queues() const { return queued_ > 0; }
  /// The count bins from `bin` on, up to `next`, have been left; `next` is the running one.
  void close_count_bins(std::size_t bin, std::size_t next) {
    if (queued_ > 0) [[unlikely]]
      note_queue(bin, next);
  }
  /// The totals from the start of the run to `now`, except `queue_max`.
  ServiceFlow totals(Time now) const;
  /// The run is over, and all edges have been told.
  ServiceResult finish();

 private:
  [[gnu::noinline]] void note_queue(std::size_t bin, std::size_t next);
  void set_servers(std::int64_t working, Time now);
  /// Since they were integrated last.
  double servers_ns_until(Time now) const;
  void integrate_servers(Time now);
  /// From `now` on there are this many servers beyond the nominal ones: that work, or that finish
  /// their attempts.
  void note_extra(std::int64_t servers, Time now);
  void find_extra(std::int64_t busy, Time now);
  double extra_ns_until(Time now) const;

  ServiceFlow flow_;  // of the running segment
  std::uint64_t queued_ = 0, queue_max_ = 0;
  std::int64_t working_ = 0;
  StationLog log_;
  const RunSpan* span_;
  bool in_window_ = false;
  bool has_queue_;  // processor sharing has none
  Time servers_since_;
  double servers_ns_ = 0;
  std::int64_t nominal_, extra_ = 0;
  std::int64_t quiet_busy_ = -1;  // so many may be busy without being more than nominal
  Time extra_since_;
  double extra_ns_ = 0;
  Time in_vain_since_;
  double in_vain_ = 0;        // servers
  ServiceFlow row_, before_;  // of the running bin; of all earlier segments
  ServiceResult result_;
};

// --- The run -------------------------------------------------------------------------------------

class Recorder {
 public:
  /// The scenario must outlive the recorder.
  Recorder(const Scenario& scenario, std::uint32_t replication);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The memory of what is kept bin by bin and client by client: while the run lasts, and then in
  /// its result.
  struct Memory {
    std::uint64_t bins = 0, clients = 0;
  };
  static Memory memory(const Scenario& scenario);

  /// Must be called before anything that happens at `now`.
  void advance(Time now) {
    if (now >= next_boundary_) [[unlikely]]
      cross_boundaries(now);
  }

  /// Those of one group and of one service; they stay where they are.
  ClientRecorder& client(std::size_t group) { return clients_[group]; }
  ServiceRecorder& service(std::size_t service) { return services_[service]; }

  /// Ends the run, whose last event was at `end`. Requests still open have been told to `ended` as
  /// unfinished.
  RunResult finish(Time end);

 private:
  template <class Take>
  static void take_memory(const Scenario& scenario, std::vector<ClientRecorder>& clients,
                          std::vector<ServiceRecorder>& services, std::vector<ClientBin>& all_bins,
                          Take& of_bins, Take& of_clients);

  bool is_inner(std::size_t group) const { return scenario_.clients[group].makes_calls(); }
  void cross_boundaries(Time now);
  [[gnu::noinline]] void close_bins(Time now);
  void cross_edges(Time now);
  void fold_segment(Time end);
  void close_bin();
  bool has_counts() const;
  void enter_count_bin(Time now);
  void begin_window();
  void end_window();
  void cut_phases(Time now);
  void choose_boundary();

  const Scenario& scenario_;
  const RunSpan span_;
  std::vector<ClientRecorder> clients_;
  std::vector<ServiceRecorder> services_;
  std::vector<ClientBin> all_bins_;
  BinTotals all_latency_;  // of the bin that is being closed, if there are several users
  std::size_t users_ = 0;  // groups that are not a service's own
  PhaseLog phases_;
  // The next edge of all, the next that is not that of a count bin, and where these ended last.
  Time next_boundary_, next_edge_, segment_start_, bin_end_, count_bin_end_;
  std::size_t count_bin_ = 0;
  std::uint32_t replication_;
  StopCounter<512> stop_;  // any number of bins may end between two events
};

}  // namespace retrysim::stats
