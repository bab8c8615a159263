// SPDX-License-Identifier: MIT
#include "stats/ratio_estimate.hpp"

#include <retrysim/metrics.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace retrysim::stats {
namespace {

/// A metric and the counts that it is divided by: one metric, or the sum of two.
struct Ratio {
  std::string_view metric, below, also_below = {};
};

constexpr Ratio kRatios[] = {
    {"success_rate", "requests"},
    {"amplification", "requests"},
    {"quota_denied_share", "requests"},
    {"no_send_token_share", "requests"},
    {"deadline_exceeded_share", "requests"},
    {"send_wait_mean", "requests"},
    {"connection_wait_mean", "requests"},
    {"backoff_wait_mean", "requests"},
    {"answer_wait_mean", "requests"},
    {"attempt_success_rate", "attempts"},
    {"retry_share", "attempts"},
    {"rejected_share", "attempts"},
    {"throttled_share", "attempts"},
    {"timeout_share", "attempts"},
    {"error_share", "attempts"},
    {"dropped_share", "attempts"},
    {"abandoned_share", "attempts"},
    {"late_share", "attempts"},
    {"attempts_per_success", "successes"},
    {"cost_per_success", "successes"},
    {"latency_ok_mean", "successes"},
    {"latency_mean", "successes", "failures"},
    {"job_success_rate", "jobs"},
};

std::size_t index_of(std::string_view metric) {
  return static_cast<std::size_t>(find_metric(metric) - metric_table().data());
}

/// The ratio of each metric, by index; null if it is none.
const Ratio* ratio_of(std::size_t metric) {
  static const std::vector<const Ratio*> by_metric = [] {
    std::vector<const Ratio*> table(metric_table().size(), nullptr);
    for (const Ratio& ratio : kRatios) table[index_of(ratio.metric)] = &ratio;
    return table;
  }();
  return by_metric[metric];
}

double below(const MetricValues& values, std::size_t run, std::size_t client, const Ratio& ratio) {
  double sum = values.at(run, client, index_of(ratio.below)).value_or(0);
  if (!ratio.also_below.empty()) {
    sum += values.at(run, client, index_of(ratio.also_below)).value_or(0);
  }
  return sum;
}

}  // namespace

std::optional<Estimate> jackknife_ratio(std::span<const double> numerators,
                                        std::span<const double> denominators) {
  const std::size_t count = numerators.size();
  if (count < 2) return std::nullopt;
  double y = 0, x = 0;
  for (std::size_t i = 0; i < count; ++i) {
    y += numerators[i];
    x += denominators[i];
  }
  const auto n = static_cast<double>(count);
  std::vector<double> pseudo, own;
  for (std::size_t i = 0; i < count; ++i) {
    const double without = (y - numerators[i]) / (x - denominators[i]);
    pseudo.push_back(n * (y / x) - (n - 1) * without);
    own.push_back(numerators[i] / denominators[i]);
  }
  auto result = estimate(pseudo);
  result->min = *std::min_element(own.begin(), own.end());
  result->max = *std::max_element(own.begin(), own.end());
  return result;
}

std::optional<Estimate> estimate_of_small_counts(const MetricValues& values, std::size_t client,
                                                 std::size_t metric) {
  const Ratio* ratio = ratio_of(metric);
  if (ratio == nullptr) return std::nullopt;
  std::vector<double> y, x;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const auto value = values.at(r, client, metric);
    if (!value) continue;
    x.push_back(below(values, r, client, *ratio));
    y.push_back(*value * x.back());
  }
  if (x.size() < kFewestToJackknife) return std::nullopt;
  const auto [fewest, most] = std::minmax_element(x.begin(), x.end());
  if (!(*fewest > 0) || *fewest >= kFewRequests || *fewest == *most) return std::nullopt;
  return jackknife_ratio(y, x);
}

}  // namespace retrysim::stats
