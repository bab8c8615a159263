// What one client group does, as it is counted: its requests, their attempts, and what services do
// with these. What follows from other counts is not counted, but worked out where a segment, a
// count bin, the window or the run ends.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/attempt_rows.hpp"
#include "measure/client_ends.hpp"
#include "measure/duration_books.hpp"
#include "measure/job_recorder.hpp"
#include "measure/level.hpp"
#include "measure/passage_counts.hpp"
#include "measure/phase_log.hpp"
#include "measure/quota_recorder.hpp"
#include "measure/recorder_events.hpp"
#include "measure/request_tally.hpp"
#include "measure/run_span.hpp"
#include "measure/wait_recorder.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace retrysim::stats {

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
  /// What there was from the start of the run to `now`, and the latencies since the last call.
  GroupTotals totals(Time now) const;
  RequestLatencies take_latencies() { return durations_.take_latencies(); }
  /// The requests that did not end in the stretch of phases in which they were made, and when the
  /// running one began.
  LateRequests late;
  void begin_stretch(Time now) { stretch_start_ = now; }
  /// When the last request ended; zero if none did.
  Time last_end() const { return last_end_; }
  /// What it has been told, to be compared with what is there.
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

}  // namespace retrysim::stats
