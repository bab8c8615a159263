// Which lines of a log are retries: by the names of requests, or by client and path, as far as
// chance allows.
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

struct FittedRetries {
  std::size_t requests = 0, attempts = 0;  ///< counts of lines with a name, or with client and path
  std::size_t most_attempts = 1;           ///< most attempts of one request
  double median_delay_s = 0;  ///< from the end of an attempt to the next one of its request

  bool by_name = true;
  // If lines have no names:
  std::size_t failed = 0;  ///< failed attempts
  /// Failed attempts followed within the window by a line of the same client and path.
  std::size_t followed = 0;
  double window_s = 0;  ///< length of the window
  /// The step of the log's clock, if it is too long to tell who followed within it: the window is
  /// then that many seconds after the step in which the failed attempt ended. 0: it is short.
  double step_s = 0;
  /// Whether retries of all failed attempts would show: so many are not followed by chance.
  bool would_show = true;
  double by_chance = 0;  ///< expected number of followed attempts if there were no retries
  Estimate retries;      ///< estimated number of retries: the excess over chance

  bool any() const { return attempts > requests; }
};

/// Whether each line is the first attempt of its request. With names, a line is a retry if its name
/// came before. Without, the first line of the same client and path that begins after a failed one
/// ended is compared with that after a successful one, which is no retry: as many of each client
/// and path as follow successes within a window are taken for chance. Of 1, 2, 5 times powers of
/// ten from 10 ms to 50 s the window is the shortest by which at least 95 % as many are retries,
/// by the lower end of the interval, as by any. If the log's clock has longer steps than 10 ms,
/// windows are whole steps, and begin with the first one after that in which the line ended. An
/// excess of less than ten lines, or four standard errors, counts as 0. Which of the lines are
/// retries is not known: their share is taken evenly. `retries` is empty if the log tells nothing
/// of them.
std::vector<bool> first_attempts(const Log& log, std::optional<FittedRetries>& retries);

/// Sentences about how many retries there are, and how that is known.
std::string retry_words(const FittedRetries& retries);

}  // namespace retrysim::fit
