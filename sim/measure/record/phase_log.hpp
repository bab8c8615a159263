// Counts between the moments at which phases may begin or end.
//
// The start and end of faults, surges and named phases are known beforehand. The moment at which a
// client group has recovered is known only after the run, so the time after the last disturbance is
// cut at edges of count bins, further and further apart; recovery is taken to end at the first cut
// that is not before it, at most a sixteenth of the recovery too late.
//
// Events count in the stretch in which they happen, requests in the stretch in which they are made.
// Most requests also end there; the others (`LateRequests`) are noted one by one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/record/totals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// The difference of the counts; integrals of levels stay zero.
ClientFlow counts_between(const ClientFlow& before, const ClientFlow& after);

/// The difference of counts and integrals; `queue_max`, which is not a sum, stays zero. Growth of
/// an integral within the rounding error of sums counts as 0.
ServiceFlow flow_between(const ServiceFlow& before, const ServiceFlow& after);

struct SloEvent;

/// The requests of the cohort of one client group that end in another stretch than the one they
/// were made in.
class LateRequests {
 public:
  /// Sets the borders of stretches; `cuts` must outlive this object.
  void set_cuts(std::span<const Time> cuts) { cuts_ = cuts; }
  /// Sets the limits, for each of which successful requests that take longer are counted. The
  /// limits must outlive this object.
  void set_limits(std::span<const std::uint64_t> limits_ns) { limits_ns_ = limits_ns; }

  /// A request has ended that was made before the running stretch began.
  void ended(Time submitted, Outcome outcome, std::uint32_t attempts, Duration latency);
  /// The sum over all late requests.
  const PhaseRequests& all() const { return all_; }

  /// The requests made in one stretch.
  struct OfStretch {
    PhaseRequests requests;
    SparseHistogram ok, failed;  ///< latencies
    WideNanoseconds ok_ns = 0, failed_ns = 0;
    /// Slow successful requests, by limit; empty if there are none.
    std::vector<std::uint64_t> slow;
  };
  /// Returns the late requests by stretch; empty if there are no stretches.
  std::vector<OfStretch> take();

  /// How many requests are noted before they are added up.
  static constexpr std::size_t kMaxNoted = 4096;

 private:
  struct Noted {
    std::uint32_t stretch;
    bool ok;
    std::uint64_t latency_ns;
  };
  void add_noted();

  std::span<const Time> cuts_;
  std::span<const std::uint64_t> limits_ns_;
  PhaseRequests all_;
  std::vector<OfStretch> stretches_;
  std::vector<Noted> noted_;
};

/// The totals of a client group since the start of the run.
struct GroupTotals {
  PhaseRequests ended;  ///< requests that ended in the stretch in which they were made
  ClientFlow told;      ///< counts only
  std::uint64_t rejected = 0;
  /// Time integrals of the levels: requests waiting for a send token, for a connection and in
  /// backoff, attempts in flight, open circuit breakers.
  std::array<WideNanoseconds, 5> levels_ns{};
};

class PhaseLog {
 public:
  explicit PhaseLog(const Scenario& scenario);

  /// Bytes that the log may take during the run, and that phases take in the result.
  struct Memory {
    std::uint64_t log = 0, result = 0;
  };
  /// The memory for a scenario; `requests`: expected number of each client group over the run.
  static Memory memory(const Scenario& scenario, std::span<const double> requests);

  /// When the next stretch begins or ends; `Time::max()` if no more follows.
  Time next() const { return cut_ < cuts_.size() ? cuts_[cut_] : Time::max(); }

  // To be called at `next()`: the totals of each group and service since the start of the run, with
  // each group's latencies since the last cut; then the end of the cut.
  void note_group(std::size_t group, const GroupTotals& totals, RequestLatencies latencies);
  void note_service(std::size_t service, const ServiceFlow& totals);
  void cut();

  /// The cuts from the start of the window to its end; empty if there are neither phases nor SLOs.
  std::span<const Time> cuts() const { return cuts_; }
  /// To be called after the window: the requests of a group that ended after their stretch.
  void note_late(std::size_t group, std::vector<LateRequests::OfStretch> late);

  /// Fills in the phases and the SLO counts of a result that is complete otherwise.
  void divide(const Scenario& scenario, RunResult& run) const;

 private:
  // The counts between two cuts.
  struct OfGroup {
    PhaseRequests made;
    ClientFlow flow;
    std::uint64_t rejected = 0;
    RequestLatencies latencies;
  };
  struct Stretch {
    std::vector<OfGroup> groups;
    std::vector<ServiceFlow> services;
  };
  struct Range {
    std::size_t first = 0, last = 0;  // indices of the first and last stretch
  };

  std::size_t cut_at(Time t) const;
  std::size_t cut_of_recovery(const Scenario& scenario, const RunResult& run,
                              std::optional<std::size_t> group) const;
  std::size_t cut_of_return(const Scenario& scenario, const RunResult& run,
                            std::optional<std::size_t> group, const SloEvent& event,
                            Time next) const;
  Range range_of(const Phase& phase, std::size_t recovered) const;
  PhaseResult add_up(Range range, std::span<const std::size_t> groups,
                     std::span<const std::size_t> services) const;
  void divide_phases(const Scenario& scenario, RunResult& run) const;
  /// Adds the requests of a group that were made in the range.
  void add_to(SloEventCounts& counts, std::size_t slo, Range range, std::size_t group) const;
  SloCounts count_slo(const Scenario& scenario, const RunResult& run, std::size_t slo) const;

  std::vector<Phase> phases_;
  std::vector<Time> recovery_cuts_;  // cuts at which a recovery may end
  // Times of all cuts, from the window's start to its end; empty without phases and SLOs.
  std::vector<Time> cuts_;
  std::size_t cut_ = 0;  // index of the next cut
  Stretch running_;
  std::vector<GroupTotals> group_totals_;    // totals at the last cut
  std::vector<ServiceFlow> service_totals_;  // totals at the last cut
  std::vector<Stretch> stretches_;
  std::vector<std::vector<LateRequests::OfStretch>> late_;  // late requests by group
};

}  // namespace retrysim::stats
