// What is kept of a replication over time: joining bins loses nothing.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/series.hpp"

#include "unit/model/small_world.hpp"

#include <catch2/catch.hpp>

#include <numeric>

namespace retrysim::stats {
namespace {

Scenario busy_world() {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(30);
  s.interval = Duration::seconds(1);
  s.services[0].servers = 2;
  s.services[0].queue.capacity = 5;
  s.clients[0].count = 4;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 6;
  test::set_timeout(s.clients[0], test::ms(300));
  FaultSpec fault;
  fault.start = Time() + Duration::seconds(8);
  fault.duration = Duration::seconds(4);
  fault.speed = 0.5;
  s.faults.push_back(fault);
  return s;
}

const SeriesColumn& column(std::span<const SeriesColumn> columns, std::string_view name) {
  for (const SeriesColumn& c : columns) {
    if (c.name == name) return c;
  }
  FAIL("no column " << name);
  return columns.front();
}

/// The values of a column of the first group, or of the first service.
std::vector<std::optional<double>> values(const RunSeries& series, std::string_view name,
                                          bool of_service = false) {
  const SeriesColumn& c = column(of_service ? service_columns() : client_columns(), name);
  const std::span<const double> sums = of_service ? series.services[0] : series.clients[0];
  const std::size_t per_bin = of_service ? kServiceSums : kClientSums;
  std::vector<std::optional<double>> result;
  for (std::size_t bin = 0; bin < series.bins; ++bin) {
    result.push_back(c.value(sums.subspan(bin * per_bin, per_bin), series.width.in_seconds()));
  }
  return result;
}

double total(const RunSeries& series, std::string_view name) {
  double sum = 0;
  for (const auto& value : values(series, name)) sum += value.value() * series.width.in_seconds();
  return sum;
}

TEST_CASE("Joined bins have the events of those they were made of") {
  const Scenario s = busy_world();
  const RunResult run = simulate(s, 0);
  const RunSeries fine = run_series(s, run, 1000);
  REQUIRE(fine.width == s.interval);
  REQUIRE(fine.bins == run.all_bins.size());
  const RunSeries coarse = run_series(s, run, 10);
  REQUIRE(coarse.bins <= 10);
  REQUIRE(coarse.width == Duration::seconds(4));
  for (const char* name : {"offered_load", "attempt_rate", "retry_rate", "goodput", "timeouts"}) {
    REQUIRE(total(coarse, name) == Approx(total(fine, name)).epsilon(1e-12));
  }
  REQUIRE(total(fine, "retry_rate") > 0);
  RunSeries widened = fine;
  widen(widened, coarse.width);
  REQUIRE(widened == coarse);
}

TEST_CASE("Joined to any number of bins, none is lost") {
  const Scenario s = busy_world();
  const RunResult run = simulate(s, 0);
  const RunSeries fine = run_series(s, run, 1000);
  for (std::size_t most = 2; most < fine.bins; ++most) {
    INFO("at most " << most << " of " << fine.bins << " bins");
    const RunSeries coarse = run_series(s, run, most);
    CHECK(coarse.bins <= most);
    CHECK(2 * coarse.bins > most);
    for (const char* name : {"offered_load", "attempt_rate", "goodput"}) {
      CHECK(total(coarse, name) == Approx(total(fine, name)));
    }
    RunSeries widened = fine;
    widen(widened, coarse.width);
    CHECK(widened == coarse);
  }
}

TEST_CASE("The series are those of the bins") {
  const Scenario s = busy_world();
  const RunResult run = simulate(s, 0);
  const RunSeries series = run_series(s, run, 1000);
  const auto goodput = values(series, "goodput"), share = values(series, "success_rate");
  const auto p99 = values(series, "latency_p99");
  const auto queue = values(series, "queue_mean", true);
  for (std::size_t i = 0; i < run.clients[0].bins.size(); ++i) {
    const ClientBin& bin = run.clients[0].bins[i];
    REQUIRE(goodput[i] == static_cast<double>(bin.flow.successes));
    REQUIRE(share[i].has_value() == (bin.flow.successes + bin.flow.failures > 0));
    REQUIRE(p99[i].has_value() == (bin.latency_count > 0));
    if (p99[i]) REQUIRE(*p99[i] == Approx(bin.latency_p99_s));
    REQUIRE(*queue[i] == Approx(run.services[0].bins[i].queue_ns / 1e9));
  }
}

TEST_CASE("Capacity follows faults") {
  const Scenario s = busy_world();
  const auto capacity = values(run_series(s, simulate(s, 0), 1000), "capacity", true);
  REQUIRE(*capacity[7] == Approx(20));  // 2 servers of 100 ms
  REQUIRE(*capacity[8] == Approx(10));
  REQUIRE(*capacity[11] == Approx(10));
  REQUIRE(*capacity[12] == Approx(20));
}

TEST_CASE("Without a drain a rest that does not fill a bin is left out") {
  Scenario s = busy_world();
  s.duration = Duration::seconds(29);
  s.drain = false;
  const RunSeries series = run_series(s, simulate(s, 0), 10);
  REQUIRE(series.width == Duration::seconds(4));
  REQUIRE(series.bins == 7);
  // Every bin is full: the load does not seem to drop at the end.
  REQUIRE(*values(series, "offered_load").back() > 12);  // of 24; probability below 1e-12
}

TEST_CASE("What has ended goes on without events, and with its capacity") {
  const Scenario s = busy_world();
  RunSeries series = run_series(s, simulate(s, 0), 1000);
  const std::size_t before = series.bins;
  extend(series, before + 3);
  REQUIRE(series.bins == before + 3);
  REQUIRE(values(series, "attempt_rate").back() == 0);
  REQUIRE(!values(series, "success_rate").back());
  REQUIRE(*values(series, "capacity", true).back() == Approx(20));
}

/// The capacity of five instances of four servers of 80 ms, 250/s, from 8 s to 12 s.
double capacity_with(const std::vector<FaultSpec>& faults) {
  Scenario s = busy_world();
  s.services[0].servers = 4;
  s.services[0].instances.count = 5;
  s.services[0].service_time = Distribution::constant(test::ms(80));
  const FaultSpec when = s.faults[0];
  s.faults = faults;
  for (FaultSpec& f : s.faults) {
    f.start = when.start;
    f.duration = when.duration;
  }
  const RunSeries series = run_series(s, simulate(s, 0), 1000);
  CHECK(values(series, "capacity", true)[7].value() == Approx(250));
  CHECK(values(series, "capacity", true)[12].value() == Approx(250));
  return values(series, "capacity", true)[9].value();
}

FaultSpec of_instance(std::uint32_t instance, double capacity, double speed) {
  FaultSpec f;
  f.instance = instance;
  f.capacity = capacity;
  f.speed = speed;
  return f;
}

TEST_CASE("A fault of one instance leaves the others their capacity") {
  CHECK(capacity_with({of_instance(1, 1, 0.2)}) == Approx(210));
  CHECK(capacity_with({of_instance(1, 0, 1)}) == Approx(200));
  CHECK(capacity_with({of_instance(2, 0.5, 0.5)}) == Approx(212.5));
  // Two of them: of the same instance, of two, and one of them of all.
  CHECK(capacity_with({of_instance(3, 0.5, 1), of_instance(3, 1, 0.5)}) == Approx(212.5));
  CHECK(capacity_with({of_instance(3, 0.5, 1), of_instance(4, 1, 0.5)}) == Approx(200));
  CHECK(capacity_with({of_instance(3, 0, 1), of_instance(FaultSpec::kAllInstances, 1, 0.5)}) ==
        Approx(100));
  FaultSpec three = of_instance(2, 0, 1);
  three.instances = 3;
  CHECK(capacity_with({three}) == Approx(100));
  // Nothing reaches an instance that is a black hole, or that refuses connections.
  FaultSpec hole = of_instance(5, 1, 1);
  hole.black_hole = true;
  CHECK(capacity_with({hole}) == Approx(200));
  hole.black_hole = false;
  hole.unreachable = true;
  CHECK(capacity_with({hole}) == Approx(200));
  // Servers are whole: 0.3 of four is one.
  CHECK(capacity_with({of_instance(1, 0.3, 1)}) == Approx(212.5));
}

TEST_CASE("A fault that begins within a bin has its share of it") {
  Scenario s = busy_world();
  s.services[0].service_time = Distribution::constant(test::ms(50));
  s.faults[0].start = Time() + Duration::milliseconds(8250);
  const RunSeries series = run_series(s, simulate(s, 0), 1000);
  CHECK(values(series, "capacity", true)[7].value() == Approx(40));
  CHECK(values(series, "capacity", true)[8].value() == Approx(40 * 0.25 + 20 * 0.75));
  CHECK(values(series, "capacity", true)[9].value() == Approx(20));
}

}  // namespace
}  // namespace retrysim::stats
