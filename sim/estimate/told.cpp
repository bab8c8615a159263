// SPDX-License-Identifier: MIT
#include "estimate/told.hpp"

#include "measure/analyse/recovery.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace retrysim::stats {

void ToldRecoveries::add(const Scenario& scenario, const RunResult& run, const MetricValues& values,
                         std::size_t replication) {
  static const std::size_t kCensored = index_of(*find_metric("recovery_censored_s"));
  std::vector<std::optional<double>> not_before_s;
  for (std::size_t c = 0; c < values.clients(); ++c) {
    not_before_s.push_back(values.at(replication, c, kCensored));
  }
  to_judge_s_.push_back(durations_to_judge_s(scenario, run, not_before_s));
}

std::optional<double> ToldRecoveries::recovered(const MetricValues& values, std::size_t replication,
                                                std::size_t client) const {
  static const std::size_t kRecovered = index_of(*find_metric("recovered"));
  if (!tells(replication, client)) return std::nullopt;
  return values.at(replication, client, kRecovered);
}

std::size_t ToldRecoveries::untold(std::size_t client) const {
  std::size_t count = 0;
  for (std::size_t r = 0; r < to_judge_s_.size(); ++r) count += tells(r, client) ? 0 : 1;
  return count;
}

double ToldRecoveries::duration_s(std::size_t client) const {
  double most = 0;
  for (std::size_t r = 0; r < to_judge_s_.size(); ++r) most = std::max(most, needed_s(r, client));
  return most;
}

std::string untold_note(std::size_t untold, std::size_t replications, double duration_s) {
  if (untold == 0) return "";
  return fmt::format(
      "{} of {} replication{} {} too short to tell whether {}; a duration of {} would be long "
      "enough",
      untold, replications, replications == 1 ? "" : "s", untold == 1 ? "is" : "are",
      untold == 1 ? "it recovers" : "they recover", said_duration(duration_s));
}

std::string said_duration(double seconds) {
  constexpr double kHour = 3600;
  // Rounded up to four digits: a duration below the one that is needed would not be long enough.
  const double digits = std::floor(std::log10(std::max(seconds, 1.0)));
  const double digit = std::pow(10.0, std::max(0.0, digits - 3));
  std::string text = fmt::format("{:.0f}", std::ceil(seconds / digit) * digit);
  constexpr std::size_t kUngrouped = 4, kGroup = 3;
  for (std::size_t at = text.size(); text.size() > kUngrouped && at > kGroup;) {
    at -= kGroup;
    text.insert(at, 1, ',');
  }
  text += " s";
  if (seconds < kHour) return text;
  const double hours = seconds / kHour;
  constexpr double kMany = 10;
  return text + fmt::format(" (about {:.{}f} h)", hours, hours < kMany ? 1 : 0);
}

}  // namespace retrysim::stats
