// SPDX-License-Identifier: MIT
#include "estimate/modes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace retrysim::stats {
namespace {

constexpr std::size_t kFewestValues = 10, kFewestInMode = 2;
constexpr double kGapInDeviations = 4, kGapInMeans = 0.05;

/// Mean and sum of squared deviations of the first n values, for every n.
struct RunningMoments {
  explicit RunningMoments(std::size_t size) {
    means.reserve(size + 1);
    squares.reserve(size + 1);
    means.push_back(0);
    squares.push_back(0);
  }
  void add(double value) {
    const double before = value - means.back();
    const double mean = means.back() + before / static_cast<double>(means.size());
    squares.push_back(squares.back() + before * (value - mean));
    means.push_back(mean);
  }
  std::vector<double> means, squares;
};

}  // namespace

std::optional<Modes> find_modes(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < kFewestValues) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t fewest = std::max(kFewestInMode, (n + 9) / 10);
  std::size_t split = fewest;  // number of values on the low side
  for (std::size_t i = fewest; i + fewest <= n; ++i) {
    if (sorted[i] - sorted[i - 1] > sorted[split] - sorted[split - 1]) split = i;
  }
  RunningMoments low(n), high(n);
  for (std::size_t i = 0; i < split; ++i) low.add(sorted[i]);
  for (std::size_t i = split; i < n; ++i) high.add(sorted[i]);
  Modes modes;
  modes.low_mean = low.means.back();
  modes.high_mean = high.means.back();
  modes.gap = sorted[split] - sorted[split - 1];
  modes.within_sd =
      std::sqrt((low.squares.back() + high.squares.back()) / static_cast<double>(n - 2));
  const double larger = std::max(std::fabs(modes.low_mean), std::fabs(modes.high_mean));
  if (!(modes.gap > kGapInDeviations * modes.within_sd) || !(modes.gap > kGapInMeans * larger)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < n; ++i) {
    (values[i] < sorted[split] ? modes.low : modes.high).push_back(i);
  }
  return modes;
}

Proportion wilson(std::size_t successes, std::size_t trials) {
  constexpr double z = 1.959963984540054;  // of the normal distribution at 0.975
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half =
      z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  // Rounding must not push the ends of 0 and 1 out of the interval.
  return {share, successes == 0 ? 0 : middle - half, successes == trials ? 1 : middle + half};
}

ModeHistory mode_history(std::span<const double> series, double low_mean, double high_mean,
                         std::size_t window) {
  ModeHistory history;
  if (series.empty()) return history;
  window = std::clamp<std::size_t>(window, 1, series.size());
  const double quarter = (high_mean - low_mean) / 4;
  for (std::size_t end = window; end <= series.size(); ++end) {
    double sum = 0;
    for (const double x : series.subspan(end - window, window)) sum += x;
    const double average = sum / static_cast<double>(window);
    if (end == window) {
      history.ends_low = average < (low_mean + high_mean) / 2;
      continue;
    }
    const bool crossed =
        history.ends_low ? average >= high_mean - quarter : average <= low_mean + quarter;
    if (!crossed) continue;
    history.ends_low = !history.ends_low;
    history.switches.push_back({end - 1, history.ends_low});
  }
  return history;
}

}  // namespace retrysim::stats
