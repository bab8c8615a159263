// The bytes of a replication over time.
//
// SPDX-License-Identifier: MIT
#include "execution/run_bytes.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace retrysim::execution {
namespace {

stats::RunSeries odd_series() {
  stats::RunSeries series;
  series.width = Duration::milliseconds(1500);
  series.bins = 3;
  series.drained = true;
  series.clients.assign(2, std::vector<double>(3 * stats::kClientSums));
  series.services.assign(1, std::vector<double>(3 * stats::kServiceSums));
  const double values[] = {
      0.0,  1.0, 255.0, 256.0, 4294967295.0, 4294967296.0,
      -1.0, 0.1, -0.0,  1e300, 1e-300,       std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < std::size(values); ++i) series.clients[1][2 * i] = values[i];
  series.services[0].back() = 7.5;
  return series;
}

TEST_CASE("A series comes back bit by bit") {
  const stats::RunSeries series = odd_series();
  std::string bytes;
  put_series(bytes, series);
  std::string_view rest = bytes;
  const auto back = take_series(rest);
  REQUIRE(back);
  REQUIRE(rest.empty());
  REQUIRE(*back == series);
  REQUIRE(std::bit_cast<std::uint64_t>(back->clients[1][16]) == std::uint64_t{1} << 63);
}

TEST_CASE("Bytes that are no series are not taken for one") {
  std::string bytes;
  put_series(bytes, odd_series());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view part = std::string_view(bytes).substr(0, size);
    REQUIRE(!take_series(part));
  }
  // Without bins nothing would end the list of groups.
  std::string endless = bytes;
  endless.replace(8, 12, std::string(8, '\0') + std::string(4, '\x7F'));
  std::string_view of_endless = endless;
  REQUIRE(!take_series(of_endless));
  // A damaged number of bins, or of groups, takes no memory.
  for (const std::size_t at : {8u, 14u, 16u, 18u}) {
    std::string damaged = bytes;
    damaged[at] = '\x7F';
    std::string_view rest = damaged;
    REQUIRE(!take_series(rest));
  }
}

TEST_CASE("A unit's series travels with its metrics") {
  UnitResult unit;
  unit.clients = 1;
  unit.values.resize(MetricValues::places());
  unit.series = odd_series();
  const std::string bytes = encode(unit);
  const auto back = decode(bytes);
  REQUIRE(back);
  REQUIRE(back->series == unit.series);
  REQUIRE(!decode(bytes + "x"));
  unit.series.reset();
  REQUIRE(!decode(encode(unit))->series);
}

}  // namespace
}  // namespace retrysim::execution
