// What happens between the moments at which phases may begin or end, while a run goes on.
//
// Where faults, surges and named phases begin and end is known beforehand. When a client group has
// recovered is found out after the run, so the time behind the last disturbance is cut at moments
// that are the farther apart the later they are, on edges of count bins: the recovery then is taken
// to end at the first of them that is not before it. That is at most a sixteenth of the recovery
// too late.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/phases.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/duration_books.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// What there was of a client group from the start of the run on.
struct GroupTotals {
  ClientFlow told;  ///< counts only
  std::uint64_t rejected = 0;
  /// Requests waiting for a send token, for a connection and in backoff, attempts in flight.
  std::array<WideNanoseconds, 4> levels_ns{};
};

class PhaseLog {
 public:
  explicit PhaseLog(const Scenario& scenario);

  /// Bytes that the log may take until the run is over, and that phases take in the result.
  struct Memory {
    std::uint64_t log = 0, result = 0;
  };
  /// `requests`: of each client group over the run.
  static Memory memory(const Scenario& scenario, std::span<const double> requests);

  /// When the next stretch begins or ends; `Time::max()` if there is none any more.
  Time next() const { return cut_ < cuts_.size() ? cuts_[cut_] : Time::max(); }

  // At `next()`: what there was of each group and service from the start of the run on, what of
  // each group since the last cut, and finally that this is all.
  void note_group(std::size_t group, const GroupTotals& totals, RequestLatencies latencies);
  void note_service(std::size_t service, const ServiceFlow& totals);
  void cut();

  /// Fills in the phases of a result that is complete but for them.
  void divide(const Scenario& scenario, RunResult& run) const;

 private:
  // Between two cuts.
  struct OfGroup {
    ClientFlow flow;
    std::uint64_t rejected = 0;
    RequestLatencies latencies;
  };
  struct Stretch {
    std::vector<OfGroup> groups;
    std::vector<ServiceFlow> services;
  };
  struct Range {
    std::size_t first = 0, last = 0;  // stretches
  };

  std::size_t cut_at(Time t) const;
  std::size_t cut_of_recovery(const Scenario& scenario, const RunResult& run,
                              std::optional<std::size_t> group) const;
  Range range_of(const Phase& phase, std::size_t recovered) const;
  PhaseResult add_up(Range range, std::span<const std::size_t> groups,
                     std::span<const std::size_t> services) const;

  std::vector<Phase> phases_;
  std::vector<Time> recovery_cuts_;  // those with which a recovery may end
  std::vector<Time> cuts_;           // from the start of the window to its end; none without phases
  std::size_t cut_ = 0;              // the next one
  Stretch running_;
  std::vector<GroupTotals> group_totals_;    // at the last cut
  std::vector<ServiceFlow> service_totals_;  // at the last cut
  std::vector<Stretch> stretches_;
};

}  // namespace retrysim::stats
