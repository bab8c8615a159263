// What becomes of the system after a disturbance: does it recover, has it had time enough to, and
// are retries what keeps it from it?
//
// A system that has not recovered X = max(10 t_drain, 20 w, 10 times the length of the disturbance)
// after its end counts as not recovering by itself. t_drain is the time that the backlog would take
// to drain with no retries at all, w the attempt timeout and the largest backoff of one retry
// together, as in the rolling window of storms, at least a thousandth of the run. Whether retries
// are to blame shows the twin: the same replication, to the last draw, in which no retry is
// permitted from the end of the disturbance on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "measure/recovery.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace retrysim::stats {

enum class StormVerdict : std::uint8_t {
  kTransient,   ///< goodput recovered in time (without a trigger: the storm ended, and stayed away)
  kSustained,   ///< it did not; there is no twin, or it is not for the retries
  kMetastable,  ///< it did not, although the load was below capacity; without retries it would have
  kCensored,    ///< the run, or the next trigger, left too little time to tell
};
inline constexpr std::size_t kStormVerdictCount = 4;

std::string_view name(StormVerdict verdict);

/// Work that the requests submitted in [from, to) bring, one attempt each, per time and nominal
/// capacity of the service where that is most; zero if all are unlimited.
double offered_work(const Scenario& scenario, const RunResult& run, Time from, Time to);

/// The time after one disturbance.
struct Aftermath {
  Trigger trigger;
  Time horizon;   ///< end of the run, or start of the next disturbance
  Before before;  ///< the first disturbance
  /// Successes per attempt then: what requests of one attempt each can achieve.
  double attempt_success_rate = 1;
  Recovery recovery;
  double predicted_drain_s = 0;  ///< t_drain; zero where no queue is left, or it would not drain
  double patience_s = 0;         ///< X
  /// Work of the requests, one attempt each, that are submitted between the disturbance and the
  /// horizon, per nominal capacity of the service where that is most; zero if all are unlimited.
  double offered_work = 0;

  /// Without a twin: transient, sustained or censored.
  StormVerdict verdict() const;
};

Aftermath aftermath_of(const Scenario& scenario, const RunResult& run, const Trigger& trigger,
                       Time horizon);

/// After the last disturbance of the scenario (several that overlap are one); empty if it has none.
std::optional<Aftermath> final_aftermath(const Scenario& scenario, const RunResult& run);

/// When the twin recovers, by the same rule. As its requests have one attempt each, goodput is
/// compared with what single attempts achieved before the disturbance. The twin has no retries from
/// `aftermath.trigger.end` on.
std::optional<double> twin_recovery(const Scenario& scenario, const RunResult& twin,
                                    const Aftermath& aftermath);

/// `verdict` once the twin is known: metastable if it is sustained, the offered work below
/// capacity, and the twin recovers in time.
StormVerdict with_twin(StormVerdict verdict, const Aftermath& aftermath,
                       std::optional<double> twin_recovery_s);

}  // namespace retrysim::stats
