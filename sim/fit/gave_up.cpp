// SPDX-License-Identifier: MIT
#include "fit/gave_up.hpp"

#include "fit/service_time.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace retrysim::fit {
namespace {

constexpr double kSameTimeout = 0.02, kMaxGaveUp = 0.5;
constexpr std::size_t kMinTimed = 5;  // lines with a duration, to tell a timeout from

}  // namespace

std::optional<FittedTimeout> find_timeout(const Log& log) {
  FittedTimeout found;
  std::vector<double> after_s;
  for (const Observation& row : log.rows) {
    if (!row.gave_up) continue;
    ++found.gave_up;
    if (row.has_duration) after_s.push_back(static_cast<double>(row.duration_ns) * 1e-9);
  }
  found.timed = after_s.size();
  if (found.gave_up == 0) return std::nullopt;
  found.share = static_cast<double>(found.gave_up) / static_cast<double>(log.rows.size());
  if (after_s.size() < kMinTimed) return found;
  const double middle = median_of(after_s);
  Estimate timeout{middle, middle, middle};
  for (const double t : after_s) {
    if (std::abs(t - middle) > kSameTimeout * middle) continue;
    ++found.together;
    timeout.low = std::min(timeout.low, t);
    timeout.high = std::max(timeout.high, t);
  }
  if (middle <= 0 ||
      static_cast<double>(found.together) <= kMaxGaveUp * static_cast<double>(after_s.size())) {
    return found;
  }
  found.timeout = timeout;
  constexpr double kNearly = 0.7, kHardlyAny = 0.1;
  std::size_t nearly = 0;
  for (const Observation& row : log.rows) {
    if (row.gave_up || row.failed() || !row.has_duration) continue;
    const double took_s = static_cast<double>(row.duration_ns) * 1e-9;
    nearly += took_s > kNearly * middle && took_s < timeout.high ? 1 : 0;
  }
  found.unlike_others =
      static_cast<double>(nearly) < kHardlyAny * static_cast<double>(found.together);
  return found;
}

void add_given_up(const FittedTimeout& given_up, std::vector<double>& times_s) {
  if (!given_up.timeout || given_up.unlike_others) return;
  const double timeout_s = given_up.timeout->value, from_s = timeout_s / 2;
  double exposed_s = static_cast<double>(given_up.together) * (timeout_s - from_s);
  std::size_t ended = 0;
  for (const double t : times_s) {
    if (t < from_s) continue;
    ended += t < timeout_s ? 1 : 0;
    exposed_s += std::min(t, timeout_s) - from_s;
  }
  if (ended == 0) return;
  const double mean_s = exposed_s / static_cast<double>(ended);
  const auto count = static_cast<double>(given_up.together);
  constexpr double kHalf = 0.5;
  for (double i = kHalf; i < count; ++i) {
    times_s.push_back(timeout_s - mean_s * std::log1p(-i / count));
  }
}

std::string timeout_words(const FittedTimeout& g) {
  const std::string lines = g.gave_up == 1 ? "1 line is of a client that gave up"
                                           : fmt::format("{} lines are of clients that gave up",
                                                         scenario::grouped(g.gave_up));
  if (!g.timeout) {
    return fmt::format("{} ({} %){}: a timeout of the client cannot be told.", lines,
                       scenario::said_number(100 * g.share, 2),
                       g.timed == 0          ? ", and the log does not say after how long"
                       : g.timed < kMinTimed ? ", which is too few"
                                             : ", after times of their own");
  }
  const std::string low = time_words(g.timeout->low), high = time_words(g.timeout->high);
  return fmt::format(
      "{} ({} %), {} of them after {}{}: that is the client's timeout.{}", lines,
      scenario::said_number(100 * g.share, 2),
      g.together == g.gave_up ? "all" : scenario::grouped(g.together), time_words(g.timeout->value),
      low == high ? "" : fmt::format(" ({} to {})", low, high),
      g.unlike_others
          ? " Hardly any answer takes nearly as long: those that were given up are played as "
            "answers that were lost."
          : " The service times of those that were given up are longer: how much is extrapolated.");
}

}  // namespace retrysim::fit
