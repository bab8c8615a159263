// Retry storms: stretches in which amplification and attempt rate stand out from their level before
// the first disturbance.
//
// All series are averages over a trailing window of w = attempt timeout + largest backoff of one
// retry, at least 10 bins: attempts then fall into the same window as the request they belong to.
// The baseline is the medians A0, L0 and the median absolute deviations (MAD) of amplification A(t)
// and attempt rate L(t) over the 20 w before the first trigger (without one: the first 20 w after
// warm-up).
//
//   onset:  first of 3 bins in a row with A >= A0 + max(0.25, 5 MAD_A) and L >= L0 + 5 MAD_L
//   end:    first bin from which A < A0 + half that margin for max(10 w, 30 s), or to the end of
//           the window, if that comes first, for at least 3 bins
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/recovery.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retrysim::stats {

struct Storm {
  double onset_s = 0;
  std::optional<double> end_s;    ///< empty: the storm goes on to the end of the window
  double peak_attempt_rate = 0;   ///< largest in a single bin, per second
  double peak_amplification = 0;  ///< largest A(t)
  double extra_attempts = 0;      ///< integral of (L - A0 * offered load) where positive
  std::optional<double> trigger_end_s;
  std::optional<double> recovery_s;
  StormVerdict verdict = StormVerdict::kCensored;
  std::optional<double> peak_load_ratio;  ///< largest L(t) / L0; empty if L0 is zero
  /// The aftermath of its trigger; without one the onset counts as the end of a disturbance.
  Aftermath aftermath;
  double window_s = 0;                    ///< w
  std::optional<double> twin_recovery_s;  ///< empty: no twin, or it does not recover

  std::optional<double> duration_s() const;
  std::optional<double> predicted_drain_s() const;  ///< exists with a trigger
  /// recovery_s / max(predicted drain, w).
  std::optional<double> recovery_ratio() const;
};

/// The retry storms of one replication, of all client groups together, in the order of onset.
std::vector<Storm> detect_storms(const Scenario& scenario, const RunResult& run);

/// The verdict on a run as a whole.
struct Fate {
  StormVerdict verdict = StormVerdict::kTransient;
  std::optional<Aftermath> aftermath;  ///< the aftermath that is judged; empty: nothing happened
};

/// The verdict on a run. With a fault or surge in the scenario: whether goodput recovers from the
/// last one. Without one, there is no time before to compare with: sustained if in the last quarter
/// of the window fewer than recovery_share of the requests succeed; closed loops make as many as in
/// their best quarter. Its twin then has no retries from the middle of the window on.
Fate fate_of(const Scenario& scenario, const RunResult& run);

/// The window w in bins, for one group or (empty) the largest of all groups. At most a tenth of the
/// scenario's duration where that is more than 10 bins: an uncapped backoff would leave no series.
std::size_t amplification_window(const Scenario& scenario, std::optional<std::size_t> group);

/// Attempt timeout + largest backoff of one retry, of one group or (empty) the largest of all, at
/// most a tenth of the scenario's duration.
Duration amplification_span(const Scenario& scenario, std::optional<std::size_t> group);

/// Largest attempt rate of a bin inside the window, per second.
std::optional<double> peak_attempt_rate(const RunResult& run, std::span<const ClientBin> bins);

/// Largest attempts / requests over `window` successive bins inside the run's window.
std::optional<double> peak_amplification(const RunResult& run, std::span<const ClientBin> bins,
                                         std::size_t window);

}  // namespace retrysim::stats
