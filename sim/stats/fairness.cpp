// SPDX-License-Identifier: MIT
#include "stats/fairness.hpp"

#include <cstddef>
#include <vector>

namespace retrysim::stats {

std::optional<double> jain_index(const MetricInput& in) {
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group ? *in.group != g : in.scenario.clients[g].caller.has_value()) continue;
    const std::vector<double>& goodput = in.run.clients[g].successes_per_client;
    if (goodput.empty()) return std::nullopt;  // not recorded: too many clients
    for (const double x : goodput) {
      sum += x;
      squares += x * x;
    }
    n += static_cast<double>(goodput.size());
  }
  if (n == 0) return std::nullopt;
  return squares == 0 ? 1.0 : sum * sum / (n * squares);
}

std::optional<double> jain_index_of_success(const MetricInput& in) {
  double sum = 0;
  double squares = 0;
  double n = 0;  // clients with requests that ended
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group ? *in.group != g : in.scenario.clients[g].caller.has_value()) continue;
    const ClientResult& c = in.run.clients[g];
    if (c.ended_per_client.empty()) return std::nullopt;
    for (std::size_t i = 0; i < c.ended_per_client.size(); ++i) {
      if (c.ended_per_client[i] == 0) continue;
      const double x = c.successes_per_client[i] / c.ended_per_client[i];
      sum += x;
      squares += x * x;
      ++n;
    }
  }
  if (n == 0) return std::nullopt;
  return squares == 0 ? 1.0 : sum * sum / (n * squares);
}

}  // namespace retrysim::stats
