// A client group where segments, bins, the window and the run end: from running counts to results.
//
// SPDX-License-Identifier: MIT
#include "measure/record/client_recorder.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace retrysim::stats {

namespace {

template <class Counts, class Word>
auto& count_of(Counts& counts, Word word) {
  return counts[static_cast<std::size_t>(word)];
}

}  // namespace

void ClientRecorder::failed(RequestEnded event) {
  const auto& [client, in_cohort, outcome, attempts, submitted, now] = event;
  const bool is_late = in_cohort && submitted < stretch_start_;
  if (in_cohort) {
    note_attempts(attempts);
    unsent_ += attempts == 0;
  }
  if (outcome == Outcome::kUnfinished) {
    if (is_late) ended_late(event, 0);
    return;
  }
  ++tally_.failures;
  ++result_.counts[span_->count_bin_of(submitted)].failed;
  last_end_ = now;
  by_client.failed(client);
  if (is_late) return ended_late(event, DurationBooks::kBin | DurationBooks::kLatency);
  durations_.add(in_cohort
                     ? DurationBooks::kBin | DurationBooks::kLatency | DurationBooks::kSameStretch
                     : DurationBooks::kBin,
                 now - submitted);
}

void ClientRecorder::ended_late(RequestEnded event, unsigned headings) {
  const Duration latency = event.now - event.submitted;
  late.ended(event.submitted, event.outcome, event.attempts, latency);
  if (headings != 0) durations_.add(headings, latency);
}

void ClientRecorder::ended_after_due(bool in_cohort, Duration since_due) {
  if (!in_cohort) return;
  result_.latency_intended.add(static_cast<std::uint64_t>(since_due.count()));
  result_.latency_intended_m.add(since_due);
}

void ClientRecorder::side_effects(const RequestEffects& e) {
  ClientResult& r = result_;
  ++r.mutating;
  r.effects += e.effects;
  r.duplicated += e.effects >= 2;
  r.ambiguous += e.failed && e.effects > 0;
  const bool for_nothing = e.succeeded && e.effects == 0;
  r.lost_effects += for_nothing && !e.by_another;
  r.swallowed += for_nothing && e.by_another;
  r.replays += e.replays;
  r.mismatches += e.mismatches;
  r.expired_replays += e.expired_replays;
  r.token_races += e.token_races;
  r.token_waits += e.token_waits;
  r.reconciliations += e.reconciliations;
  r.reconciled += e.reconciled;
}

void ClientRecorder::backoff_goes_on(std::uint32_t number, Time since) {
  rows_.of(number).in_backoff(span_->inside_window_ns(since, span_->window_end));
}

void ClientRecorder::begin_window() {
  in_window_ = true;
  by_client.begin_window();
  jobs.begin_window();
  rows_.begin_window();
}

// The requests of the cohort that have ended up to now did so in the window.
void ClientRecorder::end_window() {
  in_window_ = false;
  by_client.end_window();
  jobs.end_window();
  rows_.end_window();
  const RequestTally::Outcomes& cohort = tally_.outcomes[1];
  result_.successes_within = count_of(cohort, Outcome::kSuccess);
  result_.ended_within = ended_in_cohort() - count_of(cohort, Outcome::kUnfinished);
}

void ClientRecorder::fold_segment(Time end) {
  const ClientFlow now = told();
  ClientFlow flow = counts_between(edges_.told_at_segment, now);
  edges_.told_at_segment = now;
  flow.limiter_waiting_ns = send_waits.waiting().fold(end);
  flow.connection_waiting_ns = connection_waits.waiting().fold(end);
  flow.in_backoff_ns = in_backoff_.fold(end);
  flow.in_flight_ns = in_flight_.fold(end);
  flow.breaker_open_ns = breakers.open().fold(end);
  edges_.row.flow.merge(flow);
  if (in_window_) result_.window.merge(flow);
}

BinTotals& ClientRecorder::close_bin() {
  BinTotals& latency = durations_.bin();
  latency.describe(edges_.row);
  result_.bins.push_back(std::exchange(edges_.row, {}));
  return latency;
}

void ClientRecorder::add_counts(std::size_t bin) {
  const RequestTally::Counted now = tally_.counted();
  const RequestTally::Counted& then = edges_.counted_at_bin;
  const auto narrow = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  RequestCounts& counts = result_.counts[bin];
  counts.requests += narrow(now.requests - then.requests);
  counts.successes += narrow(now.successes - then.successes);
  counts.failures += narrow(now.failures - then.failures);
  counts.failed_attempts += narrow(now.failed_attempts - then.failed_attempts);
  edges_.counted_at_bin = now;
  edges_.counted_in_all = now.sum();
}

GroupTotals ClientRecorder::totals(Time now) const {
  const PhaseRequests& others = late.all();
  PhaseRequests ended;
  for (std::size_t i = 0; i < ended.outcomes.size(); ++i) {
    ended.outcomes[i] = tally_.outcomes[1][i] - others.outcomes[i];
  }
  ended.attempts = ended_in_cohort() + more_attempts_ - others.attempts;
  ended.unsent = unsent_ - others.unsent;
  return {ended,
          told(),
          passage.all_rejected(),
          {send_waits.waiting().total(now), connection_waits.waiting().total(now),
           in_backoff_.total(now), in_flight_.total(now), breakers.open().total(now)}};
}

GroupLevels ClientRecorder::levels() const {
  return {send_waits.waiting().now(),
          connection_waits.waiting().now(),
          in_backoff_.now(),
          in_flight_.now(),
          quota.level(),
          breakers.open().now()};
}

void ClientRecorder::close_durations() {
  const auto take = [&](DurationBooks::Heading heading, Histogram& histogram,
                        DurationMoments& moments) {
    DurationTotals totals = durations_.totals(heading);
    histogram = std::move(totals.histogram);
    moments = totals.moments;
  };
  ClientResult& r = result_;
  take(DurationBooks::kLatency, r.latency, r.latency_m);
  take(DurationBooks::kLatencyOk, r.latency_ok, r.latency_ok_m);
  take(DurationBooks::kAttemptLatency, r.attempt_latency, r.attempt_latency_m);
  take(DurationBooks::kServiceLatency, r.service_latency, r.service_latency_m);
  r.attempt_total_ns = r.attempt_latency_m.sum_ns;
  r.backoff_total_ns = r.backoff_time_m.sum_ns;
  r.send_wait_ns = send_waits.cohort_ns();
  r.connection_wait_ns = connection_waits.cohort_ns();
}

void ClientRecorder::close_attempts() {
  ClientResult& r = result_;
  r.by_attempt = rows_.counts();
  r.attempts_squared = ended_in_cohort() + more_squared_;
  for (const AttemptNumberCounts& number : r.by_attempt) {
    r.attempts += number.sent;
    for (std::size_t i = 0; i < r.results.size(); ++i) r.results[i] += number.results[i];
  }
  r.gave_up =
      count_of(r.results, AttemptResult::kTimeout) + count_of(r.results, AttemptResult::kAbandoned);
}

ClientResult ClientRecorder::finish() {
  ClientResult& r = result_;
  r.outcomes = tally_.outcomes[1];
  close_durations();
  close_attempts();
  passage.close(r);
  quota.close(r);
  breakers.close(r);
  r.jobs = jobs.counts();
  r.cache = cache_;
  by_client.close(r.successes_per_client, r.ended_per_client);
  r.requests = cohort_calls_;
  // Results of many replications are kept, so unused capacity of vectors is freed.
  r.bins.shrink_to_fit();
  r.counts.pop_back();
  return std::move(r);
}

// The parts.

void AttemptRow::begin_bin(Time now) {
  constexpr std::int64_t kWidth = 100'000'000;
  if (bin_end_ == Time()) before_bin_ = all_sent();  // the first bin of 100 ms in the window
  note_peak();
  bin_end_ = Time::from_nanoseconds((now.count() / kWidth + 1) * kWidth);
}

void AttemptRows::begin_window() {
  in_window_ = true;
  for (AttemptRow& row : few_) row.begin_window();
  for (AttemptRow& row : later_) row.begin_window();
}

void AttemptRows::end_window() {
  in_window_ = false;
  for (AttemptRow& row : few_) row.end_window();
  for (AttemptRow& row : later_) row.end_window();
}

void AttemptRows::reach(std::size_t later) {
  const std::size_t before = later_.size();
  later_.resize(later + 1);
  if (!in_window_) return;
  for (std::size_t i = before; i < later_.size(); ++i) later_[i].begin_window();
}

std::vector<AttemptNumberCounts> AttemptRows::counts() const {
  std::size_t few = kFew;
  while (later_.empty() && few > 0 && !few_[few - 1].is_used()) --few;
  std::vector<AttemptNumberCounts> all;
  for (std::size_t i = 0; i < few; ++i) all.push_back(few_[i].counts());
  for (const AttemptRow& row : later_) all.push_back(row.counts());
  return all;
}

void PassageCounts::add_noted() {
  add_block({noted_.data(), std::exchange(count_, 0)}, queueing_time_, nullptr);
}

void QuotaRecorder::changed(std::int64_t change, Time now) {
  area_ns_ += level_ * span_->inside_window_ns(since_, now);
  since_ = now;
  level_ += static_cast<double>(change);
}

void QuotaRecorder::close(ClientResult& result) {
  changed(0, span_->window_end);
  result.has_quota = exists_;
  const Duration window = span_->window_end - span_->window_start;
  const auto window_ns = static_cast<double>(window.count());
  if (exists_) result.quota_mean = area_ns_ / (window_ns * buckets_);
}

}  // namespace retrysim::stats
