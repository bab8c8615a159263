// Points: results travel exactly, and come in order with the same bits for any number of threads.
//
// SPDX-License-Identifier: MIT
#include "execution/points.hpp"

#include "execution/run_bytes.hpp"

#include <retrysim/experiment.hpp>

#include "unit/model/small_world.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <limits>

namespace retrysim::execution {
namespace {

Scenario busy_world(int point) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(5);
  s.replications = 1 + point % 3;
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.services[0].queue.capacity = 50;
  s.clients[0].count = 10;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 15 + point;
  test::set_timeout(s.clients[0], test::ms(200));
  return s;
}

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
  const std::string bytes = encode(result);
  const auto back = decode(bytes);
  REQUIRE(back);
  REQUIRE(back->seed == result.seed);
  REQUIRE(back->events == result.events);
  REQUIRE(back->clients == 2);
  REQUIRE(back->values == result.values);
  REQUIRE(back->phases == 3);
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

TEST_CASE("Units are numbered point by point") {
  const PointUnits units({2, 1, 3});
  REQUIRE(units.points() == 3);
  REQUIRE(units.units() == 6);
  const std::size_t points[] = {0, 0, 1, 2, 2, 2};
  for (std::size_t unit = 0; unit < 6; ++unit) REQUIRE(units.point_of(unit) == points[unit]);
  REQUIRE(units.first(2) == 3);
  REQUIRE(units.replications(2) == 3);
}

TEST_CASE("Points give the metrics of their replications, in order, for any number of threads") {
  std::vector<Scenario> scenarios;
  std::vector<std::uint32_t> replications;
  for (int point = 0; point < 12; ++point) {
    scenarios.push_back(busy_world(point));
    replications.push_back(static_cast<std::uint32_t>(scenarios.back().replications));
  }
  const PointUnits units(replications);
  const PointScenarios source = [&](std::size_t point) {
    return std::make_shared<const Scenario>(scenarios[point]);
  };
  for (const int jobs : {1, 3}) {
    std::size_t next = 0;
    run_points(*make_thread_executor(jobs, nullptr), units, source, {},
               [&](std::size_t point, const MetricValues& values) {
                 REQUIRE(point == next++);
                 const auto runs = run_replications(scenarios[point]);
                 const MetricValues expected(scenarios[point], runs);
                 REQUIRE(values.runs() == expected.runs());
                 REQUIRE(values.clients() == expected.clients());
                 for (std::size_t r = 0; r < values.runs(); ++r) {
                   for (std::size_t c = 0; c < values.clients(); ++c) {
                     for (std::size_t m = 0; m < metric_table().size(); ++m) {
                       REQUIRE(values.at(r, c, m) == expected.at(r, c, m));
                     }
                   }
                 }
               });
    REQUIRE(next == 12);
  }
}

// Does its units from the last to the first: the other extreme of what threads may do.
class Backwards : public Executor {
 public:
  bool is_owner() const override { return true; }
  bool is_alone() const override { return true; }
  std::string share(std::string bytes) override { return bytes; }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    const Work work = task.make_work();
    for (std::size_t unit = task.units; unit-- > 0;) task.deliver(unit, work(unit));
  }
};

TEST_CASE("A limit that is hit names the point") {
  const PointUnits units({1, 1, 1});
  PointOptions options;
  options.name = [](std::size_t point) { return "rate=" + std::to_string(point); };
  const PointScenarios source = [&](std::size_t point) {
    return std::make_shared<const Scenario>(busy_world(static_cast<int>(point)));
  };
  const auto run = [&](Executor& executor) {
    run_points(executor, units, source, options, [](std::size_t, const MetricValues&) {});
  };
  options.max_events = 10;
  Backwards backwards;
  REQUIRE_THROWS_AS(run(backwards), LimitExceeded);
  // Whichever unit is done first, the lowest one's limit is what is reported.
  REQUIRE_THROWS_WITH(run(backwards), Catch::StartsWith("rate=0: "));
  REQUIRE_THROWS_WITH(run(*make_thread_executor(2, nullptr)), Catch::StartsWith("rate=0: "));
}

}  // namespace
}  // namespace retrysim::execution
