// SPDX-License-Identifier: MIT
#include "stats/fairness.hpp"

#include <cstddef>
#include <vector>

namespace retrysim::stats {

namespace {

/// (sum x)^2 / (n sum x^2); 1 if all are zero.
class Jain {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++n_;
  }
  std::optional<double> index() const {
    if (n_ == 0) return std::nullopt;
    return squares_ == 0 ? 1.0 : sum_ * sum_ / (n_ * squares_);
  }

 private:
  double sum_ = 0, squares_ = 0, n_ = 0;
};

bool is_meant(const MetricInput& in, std::size_t group) {
  return in.group ? *in.group == group : !in.scenario.clients[group].caller.has_value();
}

}  // namespace

std::optional<double> jain_index(const MetricInput& in) {
  Jain jain;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const std::vector<double>& goodput = in.run.clients[g].successes_per_client;
    if (goodput.empty()) return std::nullopt;  // not recorded: too many clients
    for (const double x : goodput) jain.add(x);
  }
  return jain.index();
}

std::optional<double> jain_index_of_success(const MetricInput& in) {
  Jain jain;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const ClientResult& c = in.run.clients[g];
    if (c.ended_per_client.empty()) return std::nullopt;
    for (std::size_t i = 0; i < c.ended_per_client.size(); ++i) {
      if (c.ended_per_client[i] > 0) jain.add(c.successes_per_client[i] / c.ended_per_client[i]);
    }
  }
  return jain.index();
}

}  // namespace retrysim::stats
