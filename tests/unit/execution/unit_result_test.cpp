// Rows of units travel exactly, and bytes that are none are not taken for one.
//
// SPDX-License-Identifier: MIT
#include "execution/run_bytes.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <limits>

namespace retrysim::execution {
namespace {

TEST_CASE("A unit's result comes back bit by bit") {
  UnitResult result;
  result.seed = ~std::uint64_t{0};
  result.events = 12345678901234;
  result.clients = 2;
  result.values.resize(2 * MetricValues::places());
  result.values[0] = -0.0;
  result.values[1] = std::numeric_limits<double>::denorm_min();
  result.values[9] = 0.1;
  result.values.back() = std::numeric_limits<double>::infinity();
  result.phases = 3;
  result.phase_values.resize(3 * 2 * PhaseValues::places());
  result.phase_values[1] = 0.3;
  result.phase_values.back() = 7;
  result.to_judge_s = {0, 85.5};
  const std::string bytes = encode(result);
  const auto back = decode(bytes);
  REQUIRE(back);
  REQUIRE(back->seed == result.seed);
  REQUIRE(back->events == result.events);
  REQUIRE(back->clients == 2);
  REQUIRE(back->values == result.values);
  REQUIRE(back->phases == 3);
  REQUIRE(back->to_judge_s == result.to_judge_s);
  REQUIRE(back->phase_values == result.phase_values);
  REQUIRE(std::bit_cast<std::uint64_t>(*back->values[0]) == std::uint64_t{1} << 63);
}

TEST_CASE("Bytes that are no result of a unit are not taken for one") {
  UnitResult result;
  result.clients = 1;
  result.values.assign(MetricValues::places(), 1.5);
  result.phases = 1;
  result.phase_values.assign(PhaseValues::places(), 1.5);
  const std::string bytes = encode(result);
  REQUIRE(decode(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE(!decode(std::string_view(bytes).substr(0, size)));
  }
  REQUIRE(!decode(bytes + "x"));
  std::string other_table = bytes;
  ++other_table[20];  // the number of metrics
  REQUIRE(!decode(other_table));
  for (const std::size_t byte : {24u, 28u}) {  // the numbers of phases and of their values
    std::string other_phases = bytes;
    other_phases[byte] = '\x7f';
    REQUIRE(!decode(other_phases));
    other_phases[byte + 3] = '\x7f';  // takes no memory for them
    REQUIRE(!decode(other_phases));
  }
}

}  // namespace
}  // namespace retrysim::execution
