// Clients that gave up before they had an answer, and what they tell of the client's timeout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/arrivals.hpp"
#include "fit/log.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::fit {

struct FittedTimeout {
  std::size_t gave_up = 0;   ///< lines of clients that did
  double share = 0;          ///< of all lines
  std::size_t timed = 0;     ///< of them with a duration
  std::size_t together = 0;  ///< of them within 2 % of their median, where most are
  /// That median, and the least and longest of those; nothing: they gave up after times of their
  /// own, as people do.
  std::optional<Estimate> timeout;
  /// Successes hardly ever take nearly as long: those that were given up would not have ended soon,
  /// and are no slow ends of the law of service times.
  bool unlike_others = false;
};

/// Nothing if no client gave up.
std::optional<FittedTimeout> find_timeout(const Log& log);

/// Adds to the durations of successes those that were given up, which are longer than the timeout
/// by what is not known: as much longer as if requests ended at the rate at which those between
/// half the timeout and the timeout did.
void add_given_up(const FittedTimeout& given_up, std::vector<double>& times_s);

/// What they tell, as sentences.
std::string timeout_words(const FittedTimeout& given_up);

}  // namespace retrysim::fit
