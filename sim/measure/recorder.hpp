// The observer of one replication: the simulation tells it what happens, it counts. It decides
// nothing. Time is cut into segments at the edges of time-series bins and of the window; counters
// of the running segment are folded into the bin's row and, inside the window, into the totals.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/stop.hpp>

#include "measure/duration_books.hpp"
#include "measure/duration_log.hpp"
#include "measure/phase_log.hpp"
#include "measure/recorder_events.hpp"
#include "measure/station_log.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retrysim::stats {

/// Time integral of an integer level over the running segment. 128 bits hold that of any number of
/// requests over thirty years, so that nothing needs to be done while nothing changes.
class Level {
 public:
  void rise(Duration into_segment) {
    ++level_;
    shift_ -= into_segment.count();
  }
  void fall(Duration into_segment) {
    --level_;
    shift_ += into_segment.count();
  }
  /// The integral from the start of the run on, in nanoseconds.
  WideNanoseconds total(Duration into_segment) const {
    return before_ + WideNanoseconds{level_} * into_segment.count() + shift_;
  }
  std::int64_t now() const { return level_; }
  /// The integral over the segment, in nanoseconds; the next one begins.
  double fold(Duration segment) {
    const WideNanoseconds area = WideNanoseconds{level_} * segment.count() + shift_;
    shift_ = 0;
    before_ += area;
    return static_cast<double>(area);
  }

 private:
  std::int64_t level_ = 0;
  WideNanoseconds shift_ = 0;
  WideNanoseconds before_ = 0;  // the integral over earlier segments
};

/// What became of one request with side effects.
struct RequestEffects {
  std::uint32_t effects = 0;                                       ///< executions that succeeded
  std::uint32_t replays = 0, mismatches = 0, expired_replays = 0;  ///< see ClientResult
  std::uint32_t token_races = 0, token_waits = 0;
  std::uint32_t reconciliations = 0, reconciled = 0;
  bool failed = false;  ///< as its client saw it
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

class Recorder {
 public:
  /// The scenario must outlive the recorder.
  Recorder(const Scenario& scenario, std::uint32_t replication);

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

  // A request.
  bool submitted(std::size_t group) {
    ++groups_[group].told.requests;
    return in_window_;
  }
  /// One that a service makes for an attempt belongs to the cohort if the attempt does.
  void called(std::size_t group, bool in_cohort) {
    Group& g = groups_[group];
    ++g.told.requests;
    g.result.requests += in_cohort;
  }
  void ended(const RequestEnded& event) {
    const auto& [group, client, in_cohort, outcome, attempts, submitted, now] = event;
    Group& g = groups_[group];
    const bool ok = outcome == Outcome::kSuccess;
    const Duration latency = now - submitted;
    if (outcome != Outcome::kUnfinished) {
      if (ok) [[likely]] {
        ++g.told.successes;
      } else {
        ++g.told.failures;
        ++g.result.counts[count_bin_of(submitted)].failed;
      }
      g.latency.add(latency);
      last_request_end_ = now;
      if (in_window_ && client < g.result.ended_per_client.size()) {
        // Those that succeeded have ended, too: `finish` adds them.
        if (ok) {
          g.result.successes_per_client[client] += 1;
        } else {
          ++g.result.ended_per_client[client];
        }
      }
    }
    if (!in_cohort) return;
    ClientResult& r = g.result;
    ++r.outcomes[static_cast<std::size_t>(outcome)];
    r.attempts_squared += std::uint64_t{attempts} * attempts;
    if (outcome == Outcome::kUnfinished) return;
    g.durations.add(
        ok ? DurationBooks::kLatency | DurationBooks::kLatencyOk : DurationBooks::kLatency,
        latency);
  }

  /// A request that was due at a time of its own.
  void ended_after_due(std::size_t group, bool in_cohort, Duration since_due) {
    if (!in_cohort) return;
    ClientResult& r = groups_[group].result;
    r.latency_intended.add(static_cast<std::uint64_t>(since_due.count()));
    r.latency_intended_m.add(since_due);
  }

  // Waiting for a send token, for a connection, and in backoff.
  void send_wait_begins(std::size_t group, Time now) {
    groups_[group].limiter_waiting.rise(now - segment_start_);
  }
  void send_wait_ends(std::size_t group, bool in_cohort, Duration waited, Time now) {
    Group& g = groups_[group];
    g.limiter_waiting.fall(now - segment_start_);
    if (in_cohort) g.result.send_wait_ns += waited.count();
  }
  void connection_wait_begins(std::size_t group, Time now) {
    groups_[group].connection_waiting.rise(now - segment_start_);
  }
  void connection_wait_ends(std::size_t group, bool in_cohort, Duration waited, Time now) {
    Group& g = groups_[group];
    g.connection_waiting.fall(now - segment_start_);
    if (in_cohort) g.result.connection_wait_ns += waited.count();
  }
  void backoff_begins(std::size_t group, Time now) {
    groups_[group].in_backoff.rise(now - segment_start_);
  }
  void backoff_ends(const BackoffEnded& event);

  /// The same for a backoff that has not ended when the run is over: its level stays. `number`: of
  /// the attempt that would have followed.
  void backoff_goes_on(std::size_t group, std::uint32_t number, Time since) {
    by_number(groups_[group], number).counts.in_backoff_ns += inside_window_ns(since, window_end_);
  }

  // An attempt, as its client sees it.
  void sent(std::size_t group, bool in_cohort, std::uint32_t number, Time now) {
    Group& g = groups_[group];
    ++g.told.attempts;
    if (number > 1) ++g.told.retries;
    g.in_flight.rise(now - segment_start_);
    AttemptNumber& by = by_number(g, number);
    by.counts.sent += in_cohort;
    if (in_window_) by.count_send(now);
  }
  void attempt_ended(const AttemptEnded& event) {
    const auto& [group, in_cohort, number, result, sent, now] = event;
    Group& g = groups_[group];
    g.in_flight.fall(now - segment_start_);
    if (result != AttemptResult::kSuccess) {
      g.told.throttled += result == AttemptResult::kThrottled;
      g.told.errors += result == AttemptResult::kError;
      g.told.timeouts += result == AttemptResult::kTimeout;
    }
    if (!in_cohort) return;
    ++by_number(g, number).counts.results[static_cast<std::size_t>(result)];
    g.durations.add(DurationBooks::kAttemptLatency, now - sent);
  }
  void quota_denied(std::size_t group) { ++groups_[group].told.quota_denied; }
  void quota_changed(std::size_t group, std::int64_t change, Time now);
  /// The retry quota of a group as it starts: `buckets` buckets with `level` tokens each.
  void quota_starts(std::size_t group, std::uint64_t buckets, std::int64_t level);
  void lost(std::size_t group, bool in_cohort) { groups_[group].result.lost += in_cohort; }

  // A job that is polled for.
  bool job_begins(std::size_t group) {
    groups_[group].result.jobs.begun += in_window_;
    return in_window_;
  }
  void job_ended(const JobEnded& event);

  // An attempt, as the service sees it.
  void arrived(std::size_t group, std::size_t service, bool in_cohort) {
    Group& g = groups_[group];
    ++g.told.arrivals;
    g.result.arrivals += in_cohort;
    ++services_[service].flow.arrivals;
  }
  void admitted(std::size_t group, std::size_t service, bool in_cohort, bool must_wait) {
    Group& g = groups_[group];
    ++services_[service].flow.admitted;
    g.result.admitted += in_cohort;
    g.result.waited += in_cohort && must_wait;
  }
  /// Turned away by a full queue; `counts_elsewhere` if it answers with a throttling error, or not
  /// at all.
  void rejected(std::size_t group, std::size_t service, bool in_cohort, bool counts_elsewhere) {
    ++services_[service].flow.rejected;
    groups_[group].rejected += !counts_elsewhere;
    groups_[group].result.rejected += in_cohort && !counts_elsewhere;
  }
  /// The service will not serve the attempt: told when it decides that, whatever the client hears.
  void refused(std::size_t group, bool in_cohort) { groups_[group].result.refused += in_cohort; }
  /// A request of the cohort with side effects, when nothing more can become of it.
  void side_effects(std::size_t group, const RequestEffects& e) {
    ClientResult& r = groups_[group].result;
    ++r.mutating;
    r.effects += e.effects;
    r.duplicated += e.effects >= 2;
    r.ambiguous += e.failed && e.effects > 0;
    r.replays += e.replays;
    r.mismatches += e.mismatches;
    r.expired_replays += e.expired_replays;
    r.token_races += e.token_races;
    r.token_waits += e.token_waits;
    r.reconciliations += e.reconciliations;
    r.reconciled += e.reconciled;
  }
  /// At a service that has a `wait_within`: an attempt arrives, a server begins with it.
  void arrived_to_be_timed(std::size_t group, bool in_cohort) {
    groups_[group].result.waits.arrivals += in_cohort;
  }
  void started_timed(std::size_t group, bool in_cohort, bool within) {
    WaitCounts& waits = groups_[group].result.waits;
    waits.started += in_cohort;
    waits.within += in_cohort && within;
  }
  void throttled(std::size_t service) { ++services_[service].flow.throttled; }
  void error_answered(std::size_t service) { ++services_[service].flow.errors; }
  void dropped(std::size_t group, bool in_cohort) { groups_[group].result.dropped += in_cohort; }
  void started(std::size_t group, bool in_cohort, Duration queueing_time) {
    if (in_cohort) groups_[group].queueing_time.add(queueing_time);
  }
  void executed(const Executed& event) {
    const auto& [group, service, in_cohort, given_up, arrived, now] = event;
    ServiceTotals& s = services_[service];
    ++s.flow.completions;
    s.flow.wasted += given_up;
    if (!in_cohort) return;
    Group& g = groups_[group];
    ++g.result.executed;
    g.result.late += given_up;
    g.durations.add(DurationBooks::kServiceLatency, now - arrived);
  }
  /// Server time [from, to) went to an attempt whose client had given up.
  void add_wasted_work(std::size_t service, Time from, Time to);
  /// From `now` on so many servers work for attempts whose clients have given up: told of services
  /// where that is not a matter of one server at a time.
  void wasting_servers(std::size_t service, double servers, Time now);
  /// Nobody waited for the answer that a service had at `finished`, after `server_ns` of server
  /// time. `executed`: it ended an attempt; otherwise another call was to follow.
  void answer_unused(std::size_t service, double server_ns, Time finished, bool executed);
  /// The client learns from the answer to an execution, finished at `finished`, that it failed.
  void execution_failed(std::size_t service, Time finished) {
    services_[service].result.failed += finished >= window_start_ && finished < window_end_;
  }

  void service_levels(const LevelsOfService& levels) {
    const auto& [service, busy, in_system, queued, working, now] = levels;
    ServiceLevels& s = levels_[service];
    s.log.note({now, busy, static_cast<std::int64_t>(in_system)});
    s.queued = queued;
    s.queue_max = std::max(s.queue_max, queued);
    if (working != s.working) [[unlikely]] {
      integrate_servers(s, now);
      s.working = working;
      s.log.set_servers(working);
    }
  }

  /// Ends the run, whose last event was at `end`. Requests still open have been told to `ended` as
  /// unfinished.
  RunResult finish(Time end);

  Time last_request_end() const { return last_request_end_; }

  /// What the recorder has been told, to be compared with what is there.
  GroupLevels levels_of_group(std::size_t group) const;
  StationLevels levels_of_service(std::size_t service) const;

 private:
  // The attempts of one number, and how many of them were sent in the running 100 ms.
  struct AttemptNumber {
    AttemptNumberCounts counts;
    Time bin_end;
    std::uint64_t in_bin = 0;

    void count_send(Time now) {
      if (now >= bin_end) [[unlikely]]
        begin_bin(now);
      ++in_bin;
    }
    void begin_bin(Time now);
  };
  // What follows from other counts is not counted, but worked out where a segment, a count bin, the
  // window or the run ends.
  struct Group {
    ClientResult result;
    ClientFlow told;                 // since the start of the run; counts only
    ClientFlow told_at_segment;      // the same when the running segment began
    ClientFlow told_at_count;        // and when the running count bin did
    std::uint64_t rejected = 0;      // since the start of the run, too
    ClientBin row;                   // of the running bin
    DurationLog<BinTotals> latency;  // of the running bin
    DurationBooks durations;         // of the cohort
    DurationLog<DurationTotals> queueing_time;
    Level limiter_waiting, connection_waiting, in_backoff, in_flight;
    bool is_inner = false;  // a service's own client
    std::vector<AttemptNumber> by_number;
    double quota_level = 0, quota_area_ns = 0, quota_buckets = 0;
    Time quota_since;
  };
  struct ServiceTotals {
    ServiceResult result;
    ServiceFlow flow, row;  // of the running segment, of the running bin
    ServiceFlow before;     // earlier segments; only with phases
  };
  // Queue and working servers are integrated where a segment ends or their number changes.
  struct ServiceLevels {
    StationLog log;
    std::uint64_t queued = 0, queue_max = 0;
    std::int64_t working = 0;
    Time servers_since;
    double servers_ns = 0;
    Time in_vain_since;
    double in_vain = 0;     // servers
    bool has_queue = true;  // processor sharing has none
  };

  template <class Take>
  static void take_memory(const Scenario& scenario, std::vector<Group>& groups,
                          std::vector<ServiceTotals>& services, std::vector<ClientBin>& all_bins,
                          Take& of_bins, Take& of_clients);

  // Clients that never give up make any number of attempts; their counts need not grow without end.
  static std::uint32_t row_of(std::uint32_t number) { return std::min(number, kMaxAttemptNumber); }
  AttemptNumber& by_number(Group& g, std::uint32_t attempt_number) {
    const std::uint32_t number = row_of(attempt_number);
    if (number > g.by_number.size()) [[unlikely]]
      g.by_number.resize(number);
    return g.by_number[number - 1];
  }
  /// Later ones share the last bin, which is no part of the result.
  std::size_t count_bin_of(Time t) const {
    return std::min(static_cast<std::size_t>(t.count() / count_width_.count()), count_bins_);
  }
  static void integrate_servers(ServiceLevels& s, Time now) {
    s.servers_ns +=
        static_cast<double>(s.working) * static_cast<double>((now - s.servers_since).count());
    s.servers_since = now;
  }
  /// The part of [from, to) that lies inside the window, in nanoseconds.
  double inside_window_ns(Time from, Time to) const;
  void cross_boundaries(Time now);
  void fold_segment(Time end);
  void close_bin();
  void close_count_bins(Time now);
  void close_window();
  void cut_phases(Time now);
  static void close_durations(Group& g);
  static void close_attempts(Group& g);
  void choose_boundary();

  std::vector<Group> groups_;
  std::vector<ServiceTotals> services_;
  std::vector<ServiceLevels> levels_;
  std::vector<ClientBin> all_bins_;
  const Scenario& scenario_;
  PhaseLog phases_;
  Time window_start_, window_end_, segment_start_, bin_end_, next_boundary_, last_request_end_;
  Time count_bin_end_;
  Duration interval_, count_width_;
  std::size_t count_bin_ = 0, count_bins_;
  std::uint64_t seed_;
  std::uint32_t replication_;
  bool in_window_ = false;
  StopCounter<> stop_;  // any number of bins may end between two events
};

}  // namespace retrysim::stats
