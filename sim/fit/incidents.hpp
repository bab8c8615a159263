// Incidents of a log: stretches that are not as the rest of it and end again, and the faults that
// would look like them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/capacity.hpp"
#include "fit/log.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::fit {

/// Probability with which a log of independent errors and service times that never change shows any
/// incident at all.
inline constexpr double kFalseAlarm = 0.001;

/// What a fault of a scenario can do that a log shows.
struct Incident {
  Stretch when;           ///< edges are those of bins
  std::size_t lines = 0;  ///< whose requests came in it
  /// Shares of the lines in it, and in all of the log that is no incident.
  double errors = 0, usual_errors = 0;
  /// Median durations of successes; nothing if there are none.
  std::optional<double> median_s, usual_median_s;
  std::vector<StatusCount> statuses;  ///< of its lines, in order

  bool silent = false;  ///< there is no line
  bool slow = false;    ///< service times changed, after waiting for a server is taken out
  /// What explains the service times: a factor on the servers, or on their speed. A capacity of 0:
  /// nothing was answered.
  std::optional<double> capacity, speed;
  bool told_apart = true;  ///< which of both it was
  bool explained = true;   ///< one of both leaves service times as they usually are
  std::size_t servers_left = 0;
  /// Status and probability of the errors that come on top of the usual ones.
  std::vector<std::pair<int, double>> added_errors;
  bool errors_take_server = false;  ///< they took about as long as successes
  bool full_queue = false;          ///< they are those of a full queue
};

struct Incidents {
  std::vector<Incident> found;     ///< in order, none overlaps another
  std::vector<std::string> notes;  ///< changes that are no incidents, as sentences
  double bin_s = 0;                ///< so far may an edge be off

  /// What an estimate of the usual had better leave out: the incidents, and a bin on either side.
  std::vector<Stretch> left_out() const;
};

/// What of a log they are found in.
struct Watched {
  const Log& log;
  std::span<const Visit> visits;       ///< lines that took a server, in order
  const std::vector<bool>& succeeded;  ///< of each visit
  const std::vector<bool>& served;     ///< of each line: it took a server
  /// Lines that took no server were turned away by a full queue: they follow from the load.
  bool full_queue = false;
};

/// Finds intervals of bins, at most 1000 of equal length with 25 lines on average, in which a share
/// is raised: that of errors, and those of service times above the median and above the 90 %
/// quantile. The service time is what is left of a duration when the wait for one of `servers`
/// servers is taken out. Of all intervals the one with the largest likelihood ratio (binomial, of
/// inside against outside, divided by the dispersion of the usual bins) is taken, and the search is
/// repeated on the rest, until the logarithm of the ratio is below that of 3 bins^2 / (2
/// kFalseAlarm). An interval at either end of the log, which does not show how it began or ended,
/// is a note and no incident.
Incidents find_incidents(const Watched& watched, std::size_t servers);

/// What was seen, and which fault it would be, as sentences. Times are from the first request on.
std::string incident_words(const Incident& incident, std::int64_t origin_ns);

/// The keys of that fault, each on a line; `origin_ns` is time 0 of the scenario.
std::string fault_text(const Incident& incident, std::int64_t origin_ns);

}  // namespace retrysim::fit
