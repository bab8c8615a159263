// SPDX-License-Identifier: MIT
#include "measure/fairness.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <utility>
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
  void merge(const Jain& o) {
    sum_ += o.sum_;
    squares_ += o.squares_;
    n_ += o.n_;
  }
  auto operator<=>(const Jain&) const = default;
  std::optional<double> index() const {
    if (n_ == 0) return std::nullopt;
    return squares_ == 0 ? 1.0 : sum_ * sum_ / (n_ * squares_);
  }

 private:
  double sum_ = 0, squares_ = 0, n_ = 0;
};

// Adding up rounds, so the groups are taken in the order of their sums: that in which they stand in
// the scenario must not matter.
std::optional<double> index_of_all(std::vector<Jain> groups) {
  std::ranges::sort(groups, [](const Jain& a, const Jain& b) { return a < b; });
  Jain all;
  for (const Jain& group : groups) all.merge(group);
  return all.index();
}

bool is_meant(const MetricInput& in, std::size_t group) {
  return in.group ? *in.group == group : !in.scenario.clients[group].caller.has_value();
}

}  // namespace

std::optional<double> jain_index(const MetricInput& in) {
  std::vector<Jain> groups;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const std::vector<double>& goodput = in.run.clients[g].successes_per_client;
    if (goodput.empty()) return std::nullopt;  // not recorded: too many clients
    groups.emplace_back();
    for (const double x : goodput) groups.back().add(x);
  }
  return index_of_all(std::move(groups));
}

std::optional<double> jain_index_of_success(const MetricInput& in) {
  std::vector<Jain> groups;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const ClientResult& c = in.run.clients[g];
    if (c.ended_per_client.empty()) return std::nullopt;
    groups.emplace_back();
    for (std::size_t i = 0; i < c.ended_per_client.size(); ++i) {
      if (c.ended_per_client[i] == 0) continue;
      groups.back().add(c.successes_per_client[i] / c.ended_per_client[i]);
    }
  }
  return index_of_all(std::move(groups));
}

}  // namespace retrysim::stats
