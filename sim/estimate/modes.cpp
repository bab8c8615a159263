// Finding the widest gap between values, and describing the modes on its sides.
//
// SPDX-License-Identifier: MIT
#include "estimate/modes.hpp"

#include <retrysim/run.hpp>

#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace retrysim::stats {

namespace {

constexpr std::size_t kMinValues = 10, kMinInMode = 2;
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
  if (n < kMinValues) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t fewest = std::max(kMinInMode, (n + 9) / 10);
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
  constexpr double z = 1.959963984540054;  // 97.5 % quantile of the standard normal distribution
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

// --- Two modes in replications -------------------------------------------------------------------

namespace {

constexpr std::size_t kStretches = 30;

/// Whether the gap between modes of goodput, measured over stretches of `length_s`, is wider than
/// chance explains: more than 3 standard deviations of a Poisson count at the higher mode.
bool exceeds_counting_noise(const Modes& modes, double length_s) {
  return modes.gap * length_s > 3 * std::sqrt(modes.high_mean * length_s);
}

/// Goodput by bin of the window.
std::vector<double> goodput_series(const RunResult& run, BinRange bins) {
  std::vector<double> series;
  for (std::size_t i = bins.first; i < bins.last; ++i) {
    series.push_back(static_cast<double>(run.all_bins[i].flow.successes) /
                     run.interval.in_seconds());
  }
  return series;
}

ModeDescription describe(const MetricValues& values, std::vector<std::size_t> replications) {
  ModeDescription mode;
  mode.share = wilson(replications.size(), values.runs());
  for (const MetricInfo* metric : metrics_of(MetricList::kOfModes)) {
    std::vector<double> present;
    for (const std::size_t r : replications) {
      if (const auto v = values.at(r, values.clients() - 1, index_of(*metric))) {
        present.push_back(*v);
      }
    }
    if (auto e = estimate(present)) {
      respect_range(*e, metric->range);
      mode.means.push_back({metric->name, *e});
    }
  }
  mode.replications = std::move(replications);
  return mode;
}

/// Bins over which the goodput is averaged to see a change of mode: so many that the noise of
/// counting the successes (Poisson) is a quarter of what makes a change, a quarter of the distance
/// between the modes; at most a tenth of the window.
std::size_t bins_to_average(const Bistability& found, double interval_s, std::size_t bins) {
  const double noise = (found.high_goodput - found.low_goodput) / 16;
  const double needed = found.high_goodput / (noise * noise * interval_s);
  const auto most = std::max<std::size_t>(bins / 10, 1);
  return needed < static_cast<double>(most) ? static_cast<std::size_t>(needed) + 1 : most;
}

void add_switches(const RunResult& run, Bistability& found) {
  const BinRange bins = window_bins(run, run.all_bins);
  const std::vector<double> series = goodput_series(run, bins);
  if (series.empty()) return;
  const double interval_s = run.interval.in_seconds();
  const ModeHistory history = mode_history(series, found.low_goodput, found.high_goodput,
                                           bins_to_average(found, interval_s, series.size()));
  for (const Switch& s : history.switches) {
    const auto bins_gone = static_cast<double>(bins.first + s.observation + 1);
    found.switches.push_back({run.replication, bins_gone * interval_s, s.to_low});
  }
  found.ended_low += history.ends_low;
}

std::optional<Bistability> between_runs(std::span<const RunResult> runs,
                                        const MetricValues& values) {
  const double window_s = (runs.front().window_end - runs.front().window_start).in_seconds();
  auto modes = goodput_modes(values, window_s);
  if (!modes) return std::nullopt;
  Bistability found;
  found.low_goodput = modes->low_mean;
  found.high_goodput = modes->high_mean;
  found.low = describe(values, std::move(modes->low));
  found.high = describe(values, std::move(modes->high));
  return found;
}

std::optional<Bistability> within_runs(std::span<const RunResult> runs) {
  Bistability found;
  for (const RunResult& run : runs) {
    stop_point();
    const BinRange bins = window_bins(run, run.all_bins);
    const std::size_t length = (bins.last - bins.first) / kStretches;
    if (length == 0) continue;
    const std::vector<double> series = goodput_series(run, bins);
    std::vector<double> stretches;
    for (std::size_t s = 0; s < kStretches; ++s) {
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) sum += series[s * length + i];
      stretches.push_back(sum / static_cast<double>(length));
    }
    const auto modes = find_modes(stretches);
    const double length_s = static_cast<double>(length) * run.interval.in_seconds();
    if (!modes || !exceeds_counting_noise(*modes, length_s)) continue;
    ++found.runs_with_both;
    found.low_goodput += modes->low_mean;
    found.high_goodput += modes->high_mean;
  }
  if (found.runs_with_both == 0) return std::nullopt;
  found.low_goodput /= static_cast<double>(found.runs_with_both);
  found.high_goodput /= static_cast<double>(found.runs_with_both);
  return found;
}

}  // namespace

std::optional<Modes> goodput_modes(const MetricValues& values, double window_s) {
  std::vector<double> goodput;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const auto v = values.at(r, values.clients() - 1, index_of(*find_metric("goodput")));
    if (!v) return std::nullopt;
    goodput.push_back(*v);
  }
  auto modes = find_modes(goodput);
  if (!modes || !exceeds_counting_noise(*modes, window_s)) return std::nullopt;
  return modes;
}

std::optional<Bistability> find_bistability(const Scenario& scenario,
                                            std::span<const RunResult> runs,
                                            const MetricValues& values) {
  auto found = between_runs(runs, values);
  if (!found && !why_transient(scenario)) found = within_runs(runs);
  if (!found) return std::nullopt;
  for (const RunResult& run : runs) add_switches(run, *found);
  return found;
}

}  // namespace retrysim::stats
