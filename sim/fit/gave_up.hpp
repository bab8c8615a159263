// Clients that gave up before they had an answer, and what their durations tell about the client's
// timeout.
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
  std::size_t gave_up = 0;   ///< lines of clients that gave up
  double share = 0;          ///< these as a share of all lines
  std::size_t timed = 0;     ///< those of them with a duration
  std::size_t together = 0;  ///< those within 2 % of their median
  /// The timeout: median, least and longest of those within 2 %. Empty if clients gave up after
  /// individual times, as people do.
  std::optional<Estimate> timeout;
  /// Successes hardly ever take nearly as long as the timeout, so requests that were given up are
  /// not just the slow tail of the service times.
  bool unlike_others = false;
};

/// Finds the clients' timeout in a log; empty if no client gave up.
std::optional<FittedTimeout> find_timeout(const Log& log);

/// Adds durations for requests that were given up to those of successes. Their time beyond the
/// timeout is unknown; it is chosen as if requests ended at the rate observed between half the
/// timeout and the timeout.
void add_given_up(const FittedTimeout& given_up, std::vector<double>& times_s);

/// Sentences about the clients that gave up and their timeout.
std::string timeout_words(const FittedTimeout& given_up);

}  // namespace retrysim::fit
