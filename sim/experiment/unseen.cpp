// SPDX-License-Identifier: MIT
#include "experiment/unseen.hpp"

#include <retrysim/random.hpp>

#include "flow/capacity.hpp"
#include "flow/demand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

namespace retrysim::experiment {
namespace {

constexpr std::uint32_t kDraws = 1 << 18;
constexpr double kSeen = 10;  // expected times that count as seen: their number is right to a third

/// The longest mean time, s, that a client of the service waits for an answer; infinite: for ever.
double patience_at(const Scenario& scenario, std::size_t service) {
  double most = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    double waits = c.timeouts.has_attempt ? c.timeouts.attempt.mean_seconds() : flow::kNoLimit;
    if (c.timeouts.deadline != Duration::max()) {
      waits = std::min(waits, c.timeouts.deadline.in_seconds());
    }
    most = std::max(most, waits);
  }
  return most;
}

}  // namespace

UnseenTimes::UnseenTimes(const Scenario& scenario) {
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  double requests = 0;  // requests of clients outside, per second
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    if (!scenario.clients[c].makes_calls()) requests += demand.groups[c].requests;
  }
  const double seconds = (scenario.duration - scenario.warmup).in_seconds();
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    const Distribution& law = scenario.services[s].service_time;
    const double served = demand.services[s].served;
    if (law.is_constant() || !(served > 0) || !std::isfinite(served) || !(requests > 0)) continue;
    const double longest = patience_at(scenario, s);
    const RandomKey key(1, 0);
    std::vector<double> values(kDraws);
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      Draws draws(key, {.entity = i, .purpose = Purpose::kServiceTime});
      values[i] = std::min(longest, law.sample(draws).in_seconds());
    }
    double sum = 0, squares = 0;
    for (const double value : values) sum += value, squares += value * value;
    const double mean = sum / kDraws;
    const double variance = std::max(0.0, squares / kDraws - mean * mean);
    std::sort(values.begin(), values.end(), std::greater<>());
    for (std::uint32_t i = 1; i < kDraws; ++i) values[i] += values[i - 1];
    laws_.push_back({served * seconds, served / requests, variance, std::move(values)});
  }
}

double UnseenTimes::in_mean(std::size_t replications) const {
  double sum = 0;
  for (const Law& law : laws_) {
    const double share = std::min(1.0, kSeen / (law.draws * static_cast<double>(replications)));
    const auto values = static_cast<std::size_t>(share * kDraws);
    if (values == 0) continue;
    // Only the part above the least value counts of which fewer than `kSeen` are expected; the rest
    // of the law is in the runs.
    const double least = law.above[values - 1] - (values > 1 ? law.above[values - 2] : 0);
    sum += law.per_request * (law.above[values - 1] - static_cast<double>(values) * least) / kDraws;
  }
  return sum;
}

double UnseenTimes::variance_of_mean(std::size_t replications) const {
  double sum = 0;
  for (const Law& law : laws_) {
    const double draws = law.draws * static_cast<double>(replications);
    if (draws > 0) sum += law.per_request * law.per_request * law.variance / draws;
  }
  return sum;
}

}  // namespace retrysim::experiment
