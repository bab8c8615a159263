// Means over replications of different lengths and widths.
//
// SPDX-License-Identifier: MIT
#include "estimate/intervals.hpp"

#include <catch2/catch.hpp>

namespace retrysim::stats {
namespace {

/// Requests in each bin of a single group, and nothing else.
RunSeries requests(Duration width, const std::vector<double>& counts) {
  RunSeries series;
  series.width = width;
  series.bins = counts.size();
  series.drained = true;
  std::vector<double> sums(counts.size() * kClientSums, 0.0);
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i * kClientSums] = counts[i];
  series.clients = {sums};
  return series;
}

const std::optional<Estimate>& offered_load(const MeanSeries& mean, std::size_t bin) {
  REQUIRE(client_columns().front().name == "offered_load");
  return mean.clients[0][bin * client_columns().size()];
}

TEST_CASE("A mean has the interval of its replications") {
  const Duration second = Duration::seconds(1);
  const MeanSeries mean = mean_series({requests(second, {10}), requests(second, {14})});
  REQUIRE(mean.bins == 1);
  REQUIRE(offered_load(mean, 0)->mean == 12);
  const double values[] = {10, 14};
  REQUIRE(offered_load(mean, 0)->ci_high == estimate(values)->ci_high);
  REQUIRE(offered_load(mean, 0)->ci_low == 0);  // a load is not negative
}

TEST_CASE("A replication that is over has no events any more") {
  const Duration second = Duration::seconds(1);
  const MeanSeries mean = mean_series({requests(second, {10, 8}), requests(second, {14})});
  REQUIRE(mean.bins == 2);
  REQUIRE(offered_load(mean, 1)->mean == 4);
  REQUIRE(offered_load(mean, 1)->count == 2);
}

TEST_CASE("The widest bins are those of all") {
  const MeanSeries mean = mean_series(
      {requests(Duration::seconds(1), {10, 20, 30}), requests(Duration::seconds(2), {20, 20})});
  REQUIRE(mean.width == Duration::seconds(2));
  REQUIRE(mean.bins == 2);
  REQUIRE(offered_load(mean, 0)->mean == Approx(12.5));
  REQUIRE(offered_load(mean, 1)->mean == Approx(12.5));
}

}  // namespace
}  // namespace retrysim::stats
