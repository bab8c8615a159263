// Incidents of a log: stretches that differ from the rest and end within the log, and the faults
// that would look like them.
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

/// An incident: effects that a fault of a scenario can have and a log can show.
struct Incident {
  Stretch when;           ///< from the edge of a bin to the edge of another
  std::size_t lines = 0;  ///< lines whose requests came in the incident
  /// Errors as a share of the lines in the incident, and of the lines outside of all incidents.
  double errors = 0, usual_errors = 0;
  /// Median durations of successes, in it and usually; empty without successes.
  std::optional<double> median_s, usual_median_s;
  std::vector<StatusCount> statuses;  ///< statuses of its lines, ascending

  bool silent = false;  ///< no line came
  bool slow = false;    ///< service times changed, after waiting for a server is taken out
  /// What explains the service times: a factor on the number of servers, or on their speed. A
  /// capacity of 0 means that nothing was answered.
  std::optional<double> capacity, speed;
  bool told_apart = true;  ///< whether it is known which of the two it was
  bool explained = true;   ///< one of the two, taken into account, leaves the usual service times
  std::size_t servers_left = 0;
  /// Status and probability of the errors that come on top of the usual ones.
  std::vector<std::pair<int, double>> added_errors;
  bool errors_take_server = false;  ///< the added errors took about as long as successes
  bool full_queue = false;          ///< the added errors are refusals of a full queue
};

struct Incidents {
  std::vector<Incident> found;     ///< in the order of time, without overlaps
  std::vector<std::string> notes;  ///< changes that are no incidents, as sentences
  double bin_s = 0;                ///< width of a bin: an edge may be off by this much

  /// The stretches that estimates of the usual state should leave out: the incidents, and a bin on
  /// either side.
  std::vector<Stretch> left_out() const;
};

/// The parts of a log in which incidents are looked for.
struct Watched {
  const Log& log;
  std::span<const Visit> visits;       ///< lines that took a server, in order
  const std::vector<bool>& succeeded;  ///< whether each visit succeeded
  const std::vector<bool>& served;     ///< whether each line took a server
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
/// becomes a note instead of an incident.
Incidents find_incidents(const Watched& watched, std::size_t servers);

/// Sentences about what was seen, and which fault would look like it. Times are since the first
/// request.
std::string incident_words(const Incident& incident, std::int64_t origin_ns);

/// The keys of the fault for an incident, one on each line; `origin_ns` is time 0 of the scenario.
std::string fault_text(const Incident& incident, std::int64_t origin_ns);

}  // namespace retrysim::fit
