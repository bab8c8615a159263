// The counts of one client group in one replication: its requests, their attempts, and what
// services do with these. Events that carry more than a few words have a struct each, filled in by
// name.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "measure/record/levels.hpp"
#include "measure/record/phase_log.hpp"
#include "measure/record/totals.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace retrysim::stats {

/// A request has ended, or is unfinished when the run is over.
struct RequestEnded {
  std::uint32_t client = 0;
  bool in_cohort = false;
  Outcome outcome = Outcome::kUnfinished;
  std::uint32_t attempts = 0;  ///< attempts that the request made
  Time submitted, now;
};

/// A backoff has ended.
struct BackoffEnded {
  bool in_cohort = false;
  std::uint32_t number = 1;  ///< number of the attempt that follows
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
  std::uint32_t checks = 0;  ///< status checks begun
  Time done, now;            ///< `done`: when the job itself ended
};

/// The result of one request with side effects.
struct RequestEffects {
  std::uint32_t effects = 0;                                       ///< executions that succeeded
  std::uint32_t replays = 0, mismatches = 0, expired_replays = 0;  ///< see SideEffectTotals
  std::uint32_t token_races = 0, token_waits = 0;
  std::uint32_t reconciliations = 0, reconciled = 0;
  bool by_another = false;                 ///< the answer is the effect of another request
  bool failed = false, succeeded = false;  ///< the end that its client saw; both false: not ended
};

/// Levels of a client group at one instant: requests that wait for a send token, for a connection
/// and in backoff, attempts in flight, and the tokens in all its retry quotas.
struct GroupLevels {
  std::int64_t limiter_waiting = 0, connection_waiting = 0, in_backoff = 0, in_flight = 0;
  std::int64_t quota = 0;
  std::int64_t open_breakers = 0;

  bool operator==(const GroupLevels&) const = default;
};

/// Counts of the requests and attempts of a client group since the start of the run.
struct RequestTally {
  using Outcomes = std::array<std::uint64_t, kOutcomeCount>;
  /// The part of the tally that count bins have.
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
  /// Outcomes of requests outside the cohort, and of the cohort.
  std::array<Outcomes, 2> outcomes{};
  std::array<std::uint64_t, kAttemptResultCount> failed_attempts{};
};

/// How many requests of each client have ended in the window, and how many of them failed: one word
/// for each client.
class ClientEnds {
 public:
  struct Counts {
    std::uint32_t ended = 0, failed = 0;
  };

  /// One element for each client; empty if clients are not counted separately.
  std::vector<Counts>& counts() { return counts_; }
  void begin_window() { clients_ = static_cast<std::uint32_t>(counts_.size()); }
  void end_window() { clients_ = 0; }

  /// Prefetches the counts of a client one of whose requests may end soon.
  [[gnu::always_inline]] void prefetch(std::uint32_t client) const {
    if (client < clients_) kernel::prefetch(counts_[client]);
  }
  void succeeded(std::uint32_t client) {
    if (client < clients_) ++counts_[client].ended;
  }
  void failed(std::uint32_t client) {
    if (client >= clients_) return;
    ++counts_[client].ended;
    ++counts_[client].failed;
  }

  /// Fills in how many requests of each client succeeded, and how many ended. Both vectors must
  /// have one element for each client.
  void close(std::vector<double>& successes, std::vector<std::uint32_t>& ended) const {
    for (std::size_t c = 0; c < counts_.size(); ++c) {
      ended[c] = counts_[c].ended;
      successes[c] = counts_[c].ended - counts_[c].failed;
    }
  }

 private:
  std::vector<Counts> counts_;
  std::uint32_t clients_ = 0;  ///< clients counted at present: all inside the window, else 0
};

// Each part counts one thing and puts it into the result.

/// Counts of the attempts with one number (first attempts, second attempts, ...).
class alignas(64) AttemptRow {
 public:
  /// An attempt is sent.
  void sent(bool in_cohort, Time now) {
    if (now >= bin_end_) begin_bin(now);
    ++sent_[in_cohort];
  }
  /// An attempt of the cohort has ended.
  void ended(AttemptResult result) { ++results_[static_cast<std::size_t>(result)]; }
  void in_backoff(double ns) {
    in_backoff_ns_ += ns;
    had_backoff_ = true;
  }
  /// Whether there was an attempt, or a backoff before one.
  bool is_used() const { return all_sent() > 0 || had_backoff_; }
  std::uint64_t all_sent() const { return sent_[0] + sent_[1]; }

  /// Starts, and `end_window` ends, counting sends in aligned bins of 100 ms to find the busiest.
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

  std::array<std::uint64_t, 2> sent_{};  // attempts outside the cohort, and of the cohort
  Time bin_end_ = Time::max();           // zero: no bin has begun in this window
  std::array<std::uint64_t, kAttemptResultCount> results_{};
  std::uint64_t before_bin_ = 0;  // sent before the running bin of 100 ms
  std::uint64_t peak_ = 0;
  double in_backoff_ns_ = 0;
  bool had_backoff_ = false;
};

/// Counts of attempts for every attempt number.
class AttemptRows {
 public:
  AttemptRow& first() { return few_[0]; }
  /// The count of attempts with the number `number`. Clients that never give up make any number of
  /// attempts; their counts need not grow without end.
  AttemptRow& of(std::uint32_t number) {
    if (number > kFew) return of_later(number);
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
    if (later >= later_.size()) reach(later);
    return later_[later];
  }
  void reach(std::size_t later);

  // Counts by attempt number. The first few are in an array, without a branch for each: which comes
  // next cannot be predicted.
  std::array<AttemptRow, kFew> few_;
  std::vector<AttemptRow> later_;
  bool in_window_ = false;
};

/// Counts of what services do with the attempts of one client group.
class PassageCounts {
 public:
  void arrived(bool in_cohort) { ++arrived_[in_cohort]; }
  /// An attempt gets a server at once, or a place in the queue.
  void admitted(bool in_cohort, bool must_wait) {
    if (in_cohort) ++admitted_[must_wait];
  }
  /// An attempt that waited in the queue gets a server.
  void started(bool in_cohort, Duration queueing_time) {
    if (in_cohort) waited_for(queueing_time);
  }
  /// An attempt of the cohort was served to the end.
  void executed(bool given_up) {
    ++executed_;
    if (given_up) ++late_;
  }
  /// An attempt is turned away by a full queue, by a limit or because of its wait, but not with a
  /// throttling error.
  void rejected(bool in_cohort) { ++rejected_[in_cohort]; }
  /// An attempt must leave a full queue for another one; it counts as refused, too.
  void evicted(bool in_cohort) { evicted_ += in_cohort; }
  /// The service will not serve the attempt: told when it decides that, regardless of the answer.
  void refused(bool in_cohort) { refused_ += in_cohort; }
  /// The service will not serve the attempt and sends no answer: nobody waits for one, or the
  /// service answers none that it refuses.
  void dropped(bool in_cohort) { dropped_ += in_cohort; }
  /// The client of an attempt has a success, although a call of the service had failed.
  void degraded(bool in_cohort) { degraded_ += in_cohort; }
  /// At a service with a `wait_within`: an attempt arrives, and a server begins with it.
  void arrived_to_be_timed(bool in_cohort) { timed_.arrivals += in_cohort; }
  void started_timed(bool in_cohort, bool within) {
    timed_.started += in_cohort;
    timed_.within += in_cohort && within;
  }
  void lost(bool in_cohort) { lost_ += in_cohort; }

  // Counts from the start of the run on, in the cohort or not.
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
    r.evicted = evicted_;
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
    if (count_ == noted_.size()) add_noted();
  }
  void add_noted();

  // Counts outside the cohort, and of the cohort.
  std::array<std::uint64_t, 2> arrived_{}, rejected_{};
  // Attempts of the cohort that found a free server, and those that did not.
  std::array<std::uint64_t, 2> admitted_{};
  std::uint64_t executed_ = 0, late_ = 0, refused_ = 0, evicted_ = 0, dropped_ = 0, lost_ = 0;
  std::uint64_t degraded_ = 0;
  WaitCounts timed_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, 32> noted_{};  // pending durations: the first `count_` are in use
  // Queueing times of attempts that waited, without those in `noted_`.
  DurationTotals queueing_time_;
};

/// Waits of requests for a send token, or for a connection.
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

  /// The group starts with `buckets` buckets of `level` tokens each.
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

/// The circuit breakers of a group.
class BreakerRecorder {
 public:
  /// The group starts with this many circuit breakers.
  void starts(std::uint64_t breakers) { breakers_ = breakers; }
  /// A breaker refuses a call. `first`: the first refusal for its request.
  void refused(bool in_cohort, bool first) {
    ++all_refused_;
    cohort_refused_ += in_cohort;
    cohort_first_ += in_cohort && first;
  }
  /// A breaker opens; an open breaker lets a probe pass.
  void opens(bool in_window, Time now) {
    openings_ += in_window;
    open_.rise(now);
  }
  void half_opens(Time now) { open_.fall(now); }

  std::uint64_t all_refused() const { return all_refused_; }
  Level& open() { return open_; }
  const Level& open() const { return open_; }
  void close(ClientResult& r) const {
    r.breakers = breakers_;
    r.breaker_openings = openings_;
    r.breaker_refusals = cohort_refused_;
    r.breaker_first_refusals = cohort_first_;
  }

 private:
  std::uint64_t breakers_ = 0, openings_ = 0;
  std::uint64_t all_refused_ = 0, cohort_refused_ = 0, cohort_first_ = 0;
  Level open_;  // number of open breakers
};

/// The jobs that the clients of a group begin and poll for.
class JobRecorder {
 public:
  /// Jobs that begin in the window belong to the cohort.
  void begin_window() { in_window_ = true; }
  void end_window() { in_window_ = false; }

  /// A job begins; returns whether it belongs to the cohort.
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

// Values that follow from other counts are not counted separately: they are computed when a
// segment, a count bin, the window or the run ends.

class alignas(64) ClientRecorder {
 public:
  // Parts of the recorder that the simulation reports to directly.
  WaitRecorder send_waits;        ///< waits for send tokens
  WaitRecorder connection_waits;  ///< waits for pooled connections
  QuotaRecorder quota;
  BreakerRecorder breakers;
  PassageCounts passage;  ///< what services do with the attempts
  ClientEnds by_client;   ///< ended requests of each client
  JobRecorder jobs;       ///< jobs that are polled for

  /// `span` must outlive the recorder.
  explicit ClientRecorder(const RunSpan& span) : quota(span), span_(&span) {
    durations_.set_limits(span.slow_above_ns);
    late.set_limits(span.slow_above_ns);
  }
  /// Allocates what is kept for each bin and client, or only counts its bytes.
  template <class Take>
  void take_memory(const ClientSpec& client, std::size_t bins, std::size_t bins_with_drain,
                   Take& of_bins, Take& of_clients);

  // A request.
  /// A request is submitted; returns whether it belongs to the cohort.
  bool submitted() {
    ++tally_.requests;
    return in_window_;
  }
  /// A service makes a request (a call) for an attempt; it belongs to the cohort if the attempt
  /// does.
  void called(bool in_cohort) {
    ++tally_.requests;
    cohort_calls_ += in_cohort;
  }
  /// A cache is looked up before a call; on a hit the call is not made.
  void looked_up(bool in_cohort, bool hit) {
    cache_.lookups += in_cohort;
    cache_.hits += in_cohort && hit;
  }
  [[gnu::always_inline]] void ended(const RequestEnded& event) {
    const auto& [client, in_cohort, outcome, attempts, submitted, now] = event;
    ++tally_.outcomes[in_cohort][static_cast<std::size_t>(outcome)];
    if (outcome != Outcome::kSuccess) return failed(event);
    last_end_ = now;
    by_client.succeeded(client);
    if (in_cohort) {
      if (attempts != 1) note_attempts(attempts);
      constexpr unsigned kHeadings =
          DurationBooks::kBin | DurationBooks::kLatency | DurationBooks::kLatencyOk;
      if (submitted >= stretch_start_)
        durations_.add(kHeadings | DurationBooks::kSameStretch, now - submitted);
      else
        ended_late(event, kHeadings);
    } else {
      durations_.add(DurationBooks::kBin, now - submitted);
    }
  }
  /// A request with a planned submission time ends, `since_due` after that time.
  void ended_after_due(bool in_cohort, Duration since_due);
  void side_effects(const RequestEffects& effects);

  void breaker_opens(Time now) { breakers.opens(in_window_, now); }

  // An attempt, as its client sees it.
  [[gnu::always_inline]] void sent(bool in_cohort, std::uint32_t number, Time now) {
    in_flight_.rise(now);
    if (number == 1) return rows_.first().sent(in_cohort, now);
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
  /// A service has executed an attempt of the cohort.
  void executed(bool given_up, Duration since_arrival) {
    passage.executed(given_up);
    durations_.add(DurationBooks::kServiceLatency, since_arrival);
  }

  /// The client has not sent the attempt: its send rate did not permit it, or else it had no
  /// connection, or no place in its bulkhead, in time.
  void not_sent(bool in_cohort, bool permitted) {
    if (!in_cohort) return;
    ++(permitted ? result_.unconnected : result_.unpermitted);
  }

  // A backoff.
  void backoff_begins(Time now) { in_backoff_.rise(now); }
  [[gnu::always_inline]] void backoff_ends(const BackoffEnded& event) {
    const auto& [in_cohort, number, since, now] = event;
    in_backoff_.fall(now);
    rows_.of(number).in_backoff(span_->inside_window_ns(since, now));
    if (in_cohort) result_.backoff_time_m.add(now - since);
  }
  /// Records a backoff that has not ended when the run is over: its level stays. `number`: the
  /// number of the attempt that would have followed.
  void backoff_goes_on(std::uint32_t number, Time since);

  // The edges of the run, in the order of time.
  void begin_window();
  void end_window();
  /// The running segment of the running bin ends.
  void fold_segment(Time end);
  /// The running bin ends. Returns its latencies, which the caller clears.
  BinTotals& close_bin();
  const ClientBin& last_bin() const { return result_.bins.back(); }
  /// Whether anything was counted in the running count bin.
  bool has_counts() const { return tally_.counted().sum() != edges_.counted_in_all; }
  void close_count_bin(std::size_t bin) {
    // An event need not change any count.
    if (has_counts()) add_counts(bin);
  }
  /// The totals from the start of the run to `now`, and the latencies since the last call.
  GroupTotals totals(Time now) const;
  RequestLatencies take_latencies() { return durations_.take_latencies(); }
  /// The requests that did not end in the stretch of phases in which they were made, and the start
  /// of the running stretch.
  LateRequests late;
  void begin_stretch(Time now) { stretch_start_ = now; }
  /// When the last request ended; zero if none did.
  Time last_end() const { return last_end_; }
  /// The current levels according to the recorder, to be compared with the actual ones.
  GroupLevels levels() const;
  /// The counts so far.
  const RequestTally& tally() const { return tally_; }
  /// Returns the result when the run is over and all edges have been reported.
  ClientResult finish();

 private:
  struct Edges {
    ClientFlow told_at_segment;            // counts at the start of the running segment
    RequestTally::Counted counted_at_bin;  // counts at the start of the running count bin
    std::uint64_t counted_in_all = 0;      // sum of `counted_at_bin`
    ClientBin row;                         // row of the running bin
  };

  /// A request has ended without success, or is unfinished.
  [[gnu::noinline]] void failed(RequestEnded event);
  /// A request of the cohort has ended with more attempts than one, or with none.
  void note_attempts(std::uint32_t attempts) {
    more_attempts_ += std::uint64_t{attempts} - 1;
    more_squared_ += std::uint64_t{attempts} * attempts - 1;
  }
  /// Requests of the cohort that have ended, or are unfinished.
  std::uint64_t ended_in_cohort() const {
    const RequestTally::Outcomes& cohort = tally_.outcomes[1];
    return std::accumulate(cohort.begin(), cohort.end(), std::uint64_t{0});
  }
  /// A request of the cohort has ended that was made before the running stretch began; its latency
  /// is booked under `headings`, if there are any.
  [[gnu::noinline]] void ended_late(RequestEnded event, unsigned headings);
  /// The flow from the start of the run on; counts only, no integrals.
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
    flow.refused = breakers.all_refused();
    return flow;
  }
  [[gnu::noinline]] void add_counts(std::size_t bin);
  void close_durations();
  void close_attempts();

  const RunSpan* span_;
  bool in_window_ = false;
  RequestTally tally_;
  CacheCounts cache_;
  std::uint64_t cohort_calls_ = 0;
  // Attempts of ended requests, and their squares, beyond one for each request, which nearly all
  // have; ended requests without an attempt. All of the cohort; the first two may wrap below zero.
  std::uint64_t more_attempts_ = 0, more_squared_ = 0, unsent_ = 0;
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
  // One more bin than the result has, for what happens in the drain.
  of_bins.few(result_.counts, span_->count_bins + 1);
  if (client.count > kMaxClientsForFairness) return;
  of_clients(by_client.counts(), client.count);
  of_clients(result_.successes_per_client, client.count);
  of_clients(result_.ended_per_client, client.count);
}

}  // namespace retrysim::stats
