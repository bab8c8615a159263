// The formulas of facts.hpp.
//
// SPDX-License-Identifier: MIT
#include <retrysim/facts.hpp>
#include <retrysim/markov_chain.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include "prediction/delay_law.hpp"

namespace retrysim {
namespace {

/// Where `rises_above`, false at `low` and true at `high`, changes.
template <class Predicate>
double change(double low, double high, Predicate rises_above) {
  for (int i = 0; i < 100 && low != high; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (rises_above(middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

BackoffMoments backoff_moments(const BackoffRules& rules, bool throttling, int retry) {
  if (retry < 1) throw std::invalid_argument("retries are numbered from 1");
  const prediction::DelayLaw law = prediction::backoff_law(rules, throttling, retry);
  return {prediction::mean_of(law), std::sqrt(prediction::variance_of(law)),
          prediction::least_of(law), prediction::most_of(law)};
}

double attempts_per_request(double failure, double attempts) {
  const double success = 1 - failure;
  if (success <= 0) return attempts;
  return -std::expm1(attempts * std::log1p(-success)) / success;  // also where it is small
}

double quota_critical_share(double attempts, double cost, double credit) {
  if (attempts < 2 || cost <= 0) return 1;
  const auto drains = [&](double p) {
    // p^2 + ... + p^n: the retries but for those that succeed, which are given back.
    return cost * p * (attempts_per_request(p, attempts) - 1) > credit * (1 - p);
  };
  return change(0, 1, drains);
}

QuotaBalance quota_balance(double failure, int attempts, int cost, int capacity, int credit) {
  if (!(failure >= 0 && failure <= 1) || attempts < 1 || cost < 0 || capacity < 0 || credit < 0) {
    throw std::invalid_argument("a share for the failures, and no negative numbers");
  }
  const double p = failure;
  struct Request {  // one that begins at a level
    double retries = 0, denied = 0, success = 0;
  };
  std::vector<Request> requests(static_cast<std::size_t>(capacity) + 1);
  MarkovChain levels(requests.size());
  for (int level = 0; level <= capacity; ++level) {
    Request& request = requests[static_cast<std::size_t>(level)];
    const auto ends_at = [&](int to, double probability) {
      levels.add(static_cast<std::size_t>(level), static_cast<std::size_t>(std::min(capacity, to)),
                 probability);
    };
    ends_at(level + credit, 1 - p);
    request.success = 1 - p;
    double failing = p;
    int tokens = level;
    for (int attempt = 2; attempt <= attempts; ++attempt) {
      if (tokens < cost) {
        request.denied = failing;
        break;
      }
      request.retries += failing;
      request.success += failing * (1 - p);
      ends_at(tokens, failing * (1 - p));  // the last cost comes back
      tokens -= cost;
      failing *= p;
    }
    ends_at(tokens, failing);
  }
  std::vector<double> law(requests.size());
  if (p == 0 || credit == 0) {
    law.back() = 1;  // nothing is taken; or the level only falls, and this is how it begins
  } else if (p == 1) {
    law[static_cast<std::size_t>(cost > 0 ? capacity % cost : capacity)] = 1;
  } else {
    law = levels.stationary();
  }
  QuotaBalance result{.success_share = 0};
  for (std::size_t level = 0; level < law.size(); ++level) {
    result.retries_per_request += law[level] * requests[level].retries;
    result.success_share += law[level] * requests[level].success;
    result.denials_per_request += law[level] * requests[level].denied;
    result.mean_level += law[level] * static_cast<double>(level);
  }
  return result;
}

double OverloadBalance::work_per_request(double p) const {
  return (1 - std::pow(p, attempts)) + failure_cost * p * attempts_per_request(p, attempts);
}

OverloadEquilibria equilibria(const OverloadBalance& balance) {
  if (!(balance.load >= 0) || !(balance.attempts >= 1) || !(balance.failure_cost >= 0) ||
      balance.failure_cost > 1e6 || !std::isfinite(balance.load)) {
    throw std::invalid_argument("load >= 0, attempts >= 1 and 0 <= failure_cost <= 1e6 are needed");
  }
  constexpr int kSteps = 2000;
  const auto g = [&](double p) { return balance.work_per_request(p); };
  OverloadEquilibria result;
  result.healthy = balance.load < 1;
  const double dead = balance.attempts * balance.failure_cost;
  result.collapse = balance.load * dead >= 1;
  result.collapse_load = dead > 0 ? 1 / dead : std::numeric_limits<double>::infinity();
  // The peak: g has one maximum at most in the inside; golden section around the best of a grid.
  int best = 0;
  for (int i = 0; i <= kSteps; ++i) {
    if (g(static_cast<double>(i) / kSteps) > g(static_cast<double>(best) / kSteps)) best = i;
  }
  double low = std::max(0.0, (best - 1.0) / kSteps), high = std::min(1.0, (best + 1.0) / kSteps);
  constexpr double kGolden = 0.6180339887498949;
  while (high - low > 1e-12) {
    const double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
    (g(a) < g(b) ? low : high) = g(a) < g(b) ? a : b;
  }
  const double inside = (low + high) / 2;
  // A peak at the end may be so flat that rounding decides.
  const bool at_end = best == kSteps && g(1) >= g(inside) * (1 - 1e-9);
  result.failure_at_peak = best == 0 && g(0) >= g(inside) ? 0 : at_end ? 1 : inside;
  result.peak = g(result.failure_at_peak);
  result.vulnerable_load = 1 / result.peak;
  if (balance.load == 0) return result;
  // Roots: g rises to its peak and falls from there.
  const double level = 1 / balance.load;
  if (g(0) < level && result.peak > level) {
    result.saturated.push_back(
        {change(0, result.failure_at_peak, [&](double p) { return g(p) > level; }), false});
  }
  if (result.failure_at_peak < 1 && result.peak > level && g(1) < level) {
    result.saturated.push_back(
        {change(result.failure_at_peak, 1, [&](double p) { return g(p) < level; }), true});
  }
  return result;
}

double late_retry_failure(double load, int servers, double attempts) {
  const auto blocked = [&](double offered) {
    double b = 1;
    for (int k = 1; k <= servers; ++k) b = offered * b / (k + offered * b);
    return b;
  };
  return change(0, 1,
                [&](double p) { return blocked(load * attempts_per_request(p, attempts)) < p; });
}

double cubic_window(double rate) { return std::cbrt(rate * (1 - 0.7) / 0.4); }

double cubic_rate(double rate, double seconds) {
  return 0.4 * std::pow(seconds - cubic_window(rate), 3) + rate;
}

}  // namespace retrysim
