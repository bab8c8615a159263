// The counts of one service in one replication. A service with several instances is recorded as a
// whole, as any other is; `InstanceLog` adds the window totals of each instance.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "measure/record/levels.hpp"
#include "measure/record/totals.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace retrysim::stats {

/// Levels of a service from `now` on: busy servers, attempts at the service, the part of these in
/// the queue, and working servers.
struct LevelsOfService {
  std::int64_t busy = 0;
  std::uint64_t in_system = 0, queued = 0;
  std::int64_t working = 0;
  Time now;
};

/// Levels of a service at one instant: busy servers, attempts there, the part of these in the
/// queue, and working servers.
struct StationLevels {
  std::int64_t busy = 0, in_system = 0, queued = 0, working = 0;

  bool operator==(const StationLevels&) const = default;
};

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
  /// The share of the balancers that know the instance for which it is out of rotation from `now`
  /// on, and the share that ejected it because of its answers.
  void out_of_rotation(std::size_t instance, double out, double ejected, Time now) {
    integrate(all_[instance], now);
    all_[instance].out = out;
    all_[instance].ejected = ejected;
  }
  /// A balancer ejects an instance because of its answers.
  void ejected(std::size_t instance, Time now) {
    all_[instance].result.ejections += in_window(now);
  }

  /// Returns the totals of an instance when the run is over.
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
    raise_maximum(one);  // the levels at the start of the window
  }

  Time window_start_, window_end_;
  std::vector<One> all_;
};

/// The counts and levels of one service, all instances together.
class alignas(64) ServiceRecorder {
 public:
  /// `span` must outlive the recorder.
  ServiceRecorder(const ServiceSpec& spec, const RunSpan& span);
  /// Allocates what is kept for each bin, or only counts its bytes.
  template <class Take>
  void take_memory(std::size_t bins, std::size_t bins_with_drain, Take& of_bins) {
    of_bins.room(result_.bins, bins, bins_with_drain);
    of_bins(result_.queued, span_->count_bins + 1);
  }

  // Events of attempts, which are reported to the client groups that send them, too.
  void arrived() { ++flow_.arrivals; }
  void admitted() { ++flow_.admitted; }
  /// Refused by a full queue, a limit or because of its wait, whatever the answer.
  void rejected() { ++flow_.rejected; }
  void throttled() { ++flow_.throttled; }
  /// An attempt meets an adaptive limit on concurrency; the largest number: no limit at present.
  void met_limit(std::int64_t limit, bool refused) {
    if (!in_window_) return;
    ++result_.limit.arrivals;
    result_.limit.refused += refused;
    if (limit == std::numeric_limits<std::int64_t>::max()) return;
    ++result_.limit.limited;
    result_.limit.sum += static_cast<double>(limit);
  }
  void error_answered() { ++flow_.errors; }
  void executed(bool given_up) {
    ++flow_.completions;
    if (given_up) ++flow_.wasted;
  }
  /// The client learns from the answer to an execution, finished at `finished`, that it failed.
  void execution_failed(Time finished) { result_.failed += span_->in_window(finished); }

  /// Server time [from, to) went to an attempt whose client had given up.
  void add_wasted_work(Time from, Time to);
  /// From `now` on this many servers work for attempts whose clients have given up; used for
  /// services where that number does not change by one at a time.
  void wasting_servers(double servers, Time now);
  /// An answer ready at `finished`, after `server_ns` of server time, for which no client waited.
  /// `executed`: it ended an attempt; otherwise another call was to follow.
  void answer_unused(double server_ns, Time finished, bool executed);

  void levels(const LevelsOfService& now) {
    queued_ = now.queued;
    if (now.queued > queue_max_) queue_max_ = now.queued;
    if (now.working != working_ || now.busy > quiet_busy_) [[unlikely]]
      return note_servers(now.busy, now.in_system, now.working, now.now);
    note(now.busy, now.in_system, now.now);
  }
  /// The current levels according to the recorder, to be compared with the actual ones.
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
    if (queued_ > 0) note_queue(bin, next);
  }
  /// The totals from the start of the run to `now`, except `queue_max`.
  ServiceFlow totals(Time now) const;
  /// Returns the result when the run is over and all edges have been reported.
  ServiceResult finish();

 private:
  [[gnu::noinline]] void note_queue(std::size_t bin, std::size_t next);
  void note(std::int64_t busy, std::uint64_t in_system, Time now) {
    log_.note(now, {busy, static_cast<std::int64_t>(in_system)});
  }
  /// Notes levels with which other servers work, or more are busy than there nominally are. Single
  /// numbers: a struct would be put together in memory each time, for the few times it is used.
  [[gnu::noinline]] void note_servers(std::int64_t busy, std::uint64_t in_system,
                                      std::int64_t working, Time now);
  void set_servers(std::int64_t working, Time now);
  /// Server time since the last integration, ns.
  double servers_ns_until(Time now) const;
  void integrate_servers(Time now);
  /// From `now` on this many servers beyond the nominal number work, or finish their attempts.
  void note_extra(std::int64_t servers, Time now);
  void find_extra(std::int64_t busy, Time now);
  double extra_ns_until(Time now) const;

  ServiceFlow flow_;  // counts of the running segment
  std::uint64_t queued_ = 0, queue_max_ = 0;
  std::int64_t working_ = 0;
  StationLog log_;
  const RunSpan* span_;
  bool in_window_ = false;
  bool has_queue_;  // false for processor sharing
  Time servers_since_;
  double servers_ns_ = 0;
  std::int64_t nominal_, extra_ = 0;
  std::int64_t quiet_busy_ = -1;  // up to this many busy servers are not above nominal
  Time extra_since_;
  double extra_ns_ = 0;
  Time wasted_since_;
  double wasted_servers_ = 0;  // servers that work for clients that have given up
  ServiceFlow row_, before_;   // sums of the running bin; of all earlier segments
  ServiceResult result_;
};

}  // namespace retrysim::stats
