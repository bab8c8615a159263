// Units: equal for equal scenarios, found in whatever form they are there, and the same bytes
// whether they were there, interrupted or simulated.
//
// SPDX-License-Identifier: MIT
#include "execution/units.hpp"
#include "execution/executor.hpp"

#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include "unit/model/small_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace retrysim::execution {
namespace {

namespace fs = std::filesystem;

/// A world in which chance decides.
Scenario drawn_world(int number = 0) {
  Scenario s = test::small_world();
  s.duration = Duration::seconds(5);
  s.replications = 3;
  s.services[0].servers = 4;
  s.services[0].service_time = Distribution::exponential(0.02);
  s.services[0].queue.capacity = 50;
  s.clients[0].count = 10;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 15 + number;
  test::set_timeout(s.clients[0], test::ms(200));
  return s;
}

Units wanted_of(const Scenario& scenario, Keep keep = Keep::kRow) {
  Units units;
  units.keep = keep;
  units.most_bins = keep == Keep::kSeries ? kMaxBinsOfPoint : 0;
  units.count = static_cast<std::size_t>(scenario.replications);
  units.unit = [](std::size_t i) { return Unit{0, static_cast<std::uint32_t>(i)}; };
  units.scenario = [&scenario](std::size_t) { return borrowed(scenario); };
  return units;
}

std::vector<std::string> results_of(const Units& units, const ReplicationOptions& options) {
  std::vector<std::string> all(units.count);
  get_units(units, options,
            [&](std::size_t i, std::string bytes, bool) { all[i] = std::move(bytes); });
  return all;
}

TEST_CASE("A scenario comes back from its bytes, with all that it does") {
  const fs::path folder = fs::path(RETRYSIM_TEST_DATA) / "../../../scenarios";
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path());
    const LoadResult loaded = load_scenario_file(entry.path());
    REQUIRE(loaded.loaded);
    Scenario scenario = loaded.loaded->scenario;
    const std::string bytes = encode(scenario);
    Scenario back = decode_scenario(bytes);
    REQUIRE(encode(back) == bytes);
    REQUIRE(back.name == scenario.name);
    REQUIRE(identity_of(back) == identity_of(scenario));
    ++count;
    if (scenario.duration > Duration::seconds(100)) continue;
    scenario.warmup_is_auto = back.warmup_is_auto = false;
    SimulationOptions options;
    options.fingerprint = true;
    REQUIRE(simulate(back, 0, options) == simulate(scenario, 0, options));
  }
  CHECK(count > 20);
}

TEST_CASE("What a run does not depend on is no part of a scenario's identity") {
  const Scenario base = drawn_world();
  Scenario s = base;
  s.name = "other";
  s.description = "another one";
  s.replications = 99;
  s.precision.target = 0.1;
  s.expectations.push_back({"e", "goodput", "all", 1.0, {}});
  CHECK(identity_of(s) == identity_of(base));
}

TEST_CASE("Everything else is") {
  const Scenario base = drawn_world();
  const std::vector<std::function<void(Scenario&)>> changes = {
      [](Scenario& s) { s.seed = 2; },
      [](Scenario& s) { s.duration = Duration::seconds(6); },
      [](Scenario& s) { s.warmup = Duration::seconds(1); },
      [](Scenario& s) { s.drain = false; },
      [](Scenario& s) { s.interval = Duration::milliseconds(500); },
      [](Scenario& s) { s.recovery.share = 0.9; },
      [](Scenario& s) {
        s.phases.push_back({"p", Time::zero(), Duration::seconds(1)});
      },
      [](Scenario& s) { s.network.latency = Distribution::constant(test::ms(1)); },
      [](Scenario& s) { s.services[0].name = "other"; },
      [](Scenario& s) { s.services[0].servers = 5; },
      [](Scenario& s) { s.services[0].service_time = Distribution::empirical({0.1}, {1}); },
      [](Scenario& s) { s.services[0].service_time = Distribution::empirical({0.2}, {1}); },
      [](Scenario& s) {
        s.services[0].errors.push_back({{503, "Busy", {}}, 0.1});
      },
      [](Scenario& s) { s.services[0].answers.shed = ServiceAnswer{}; },
      [](Scenario& s) { s.faults.emplace_back(); },
      [](Scenario& s) { s.clients[0].retry.backoff.delays = {Distribution()}; },
      [](Scenario& s) { s.clients[0].retry.quota.failure_cost = 1; },
      [](Scenario& s) { s.clients[0].arrivals.rows = {Time::zero()}; },
      [](Scenario& s) { s.clients[0].retryer = "shared"; },
      [](Scenario& s) { s.calls.push_back({}); },
  };
  std::set<UnitKey> identities = {identity_of(base)};
  for (const auto& change : changes) {
    Scenario s = base;
    change(s);
    CHECK(identities.insert(identity_of(s)).second);
  }
}

TEST_CASE("Replication, what is kept and the end of retries are parts of a unit's key") {
  const UnitKey identity = identity_of(drawn_world());
  std::set<UnitKey> keys;
  for (const std::uint32_t replication : {0u, 1u, 300u}) {
    for (const Time until : {Time::max(), Time::zero()}) {
      for (const Keep keep : {Keep::kRow, Keep::kSeries, Keep::kWhole, Keep::kFate}) {
        CHECK(keys.insert(key_of(identity, {0, replication, until}, keep)).second);
      }
    }
  }
  CHECK(keys.insert(key_of(identity, {0, 0}, Keep::kSeries, 7)).second);
  CHECK(key_of(identity, {5, 0}, Keep::kRow) == key_of(identity, {0, 0}, Keep::kRow));
}

TEST_CASE("The second time nothing is simulated, with the same bytes") {
  const Scenario scenario = drawn_world();
  for (const Keep keep : {Keep::kRow, Keep::kSeries, Keep::kFate}) {
    const auto store = make_store();
    ReplicationOptions options;
    const std::vector<std::string> plain = results_of(wanted_of(scenario, keep), options);
    options.store = store.get();
    options.jobs = 2;
    CHECK(results_of(wanted_of(scenario, keep), options) == plain);
    CHECK(store->units_found == 0);
    CHECK(store->units_kept == 3);
    CHECK(results_of(wanted_of(scenario, keep), options) == plain);
    CHECK(store->units_found == 3);
    CHECK(store->units_kept == 3);
  }
}

TEST_CASE("Whole results are the same, and more replications need only the rest") {
  Scenario scenario = drawn_world();
  const auto store = make_store();
  ReplicationOptions options;
  const std::vector<RunResult> plain = run_replications(scenario, options);
  options.store = store.get();
  CHECK(run_replications(scenario, options) == plain);
  CHECK(run_replications(scenario, options) == plain);
  CHECK(store->units_found == 3);
  scenario.replications = 5;
  CHECK(run_replications(scenario, options).size() == 5);
  CHECK(store->units_kept == 5);
}

TEST_CASE("A row comes from what else is kept of the replication") {
  const Scenario scenario = drawn_world();
  ReplicationOptions options;
  const auto rows = results_of(wanted_of(scenario), options);
  const auto series = results_of(wanted_of(scenario, Keep::kSeries), options);
  for (const bool whole : {true, false}) {
    const auto store = make_store();
    options.store = store.get();
    if (whole) {
      run_replications(scenario, options);
      CHECK(results_of(wanted_of(scenario, Keep::kSeries), options) == series);
    } else {
      results_of(wanted_of(scenario, Keep::kSeries), options);
    }
    CHECK(results_of(wanted_of(scenario), options) == rows);
    CHECK(store->units_kept == 3);
  }
}

TEST_CASE("A run over the limit that holds now ends as it would without a store") {
  const Scenario scenario = drawn_world();
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  run_replications(scenario, options);
  results_of(wanted_of(scenario), options);
  get_fates(scenario, options);
  options.max_events = 10;
  CHECK_THROWS_AS(run_replications(scenario, options), LimitExceeded);
  CHECK_THROWS_AS(results_of(wanted_of(scenario), options), LimitExceeded);
  CHECK_THROWS_AS(get_fates(scenario, options), LimitExceeded);
  // All together, though each is within the limit.
  options.max_events = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const RunResult& run : run_replications(scenario, options))
    most = std::max(most, run.events);
  options.max_events = most;
  CHECK_THROWS_WITH(run_replications(scenario, options), Catch::Contains("all replications"));
}

TEST_CASE("A unit over its limit is a result where that is asked for, and is not kept") {
  const Scenario scenario = drawn_world();
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  options.max_events = 10;
  Units units = wanted_of(scenario);
  units.limits_are_results = true;
  units.name = [](std::size_t) { return std::string("rate=5"); };
  for (const std::string& bytes : results_of(units, options)) {
    REQUIRE(is_over_limit(bytes));
    CHECK_THAT(decode(bytes)->message, Catch::StartsWith("rate=5: "));
  }
  CHECK(store->units_kept == 0);
}

// Does its units one by one from the last to the first: the other extreme of what threads may do.
class Backwards : public Executor {
 public:
  explicit Backwards(const std::atomic<bool>* stop = nullptr) : stop_(stop) {}
  bool is_owner() const override { return true; }
  bool is_alone() const override { return true; }
  std::string share(std::string bytes) override { return bytes; }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    const Work work = task.make_work();
    for (std::size_t unit = task.units; unit-- > 0;) {
      if (stop_ != nullptr && *stop_) throw Interrupted();
      task.deliver(unit, work(unit));
    }
  }

 private:
  const std::atomic<bool>* stop_;
};

TEST_CASE("The order in which units are done does not matter") {
  const Scenario scenario = drawn_world();
  Backwards backwards;
  ReplicationOptions options;
  options.executor = &backwards;
  CHECK(results_of(wanted_of(scenario), options) == results_of(wanted_of(scenario), {}));
  CHECK(run_replications(scenario, options) == run_replications(scenario));
}

TEST_CASE("A strategy of the user's own is never taken for known") {
  Scenario scenario = drawn_world();
  scenario.clients[0].strategy = [](std::uint32_t) { return std::unique_ptr<CustomStrategy>(); };
  CHECK(identity_of(scenario) == UnitKey());
}

TEST_CASE("A fingerprint is computed, not looked up") {
  const Scenario scenario = drawn_world();
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  run_replications(scenario, options);
  options.fingerprint = true;
  CHECK(run_replications(scenario, options).front().fingerprint != 0);
  CHECK(store->units_found == 0);
}

TEST_CASE("Interrupted work is there the next time") {
  const Scenario scenario = drawn_world();
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  // Asked to stop by the second unit that is done.
  std::atomic<bool> stop{false};
  Backwards backwards(&stop);
  options.executor = &backwards;
  const Units units = wanted_of(scenario);
  const auto ask = [&] {
    get_units(units, options,
              [&](std::size_t, const std::string&, bool) { stop = store->units_kept == 2; });
  };
  CHECK_THROWS_AS(ask(), Interrupted);
  CHECK(store->units_kept == 2);
  options.executor = nullptr;
  CHECK(results_of(units, options) == results_of(units, {}));
  CHECK(store->units_found == 2);
}

TEST_CASE("Shards leave their parts in the store, and the last one finds them all") {
  Scenario scenario = drawn_world();
  scenario.replications = 7;
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  for (const std::size_t index : {2u, 3u}) {
    options.shard = Shard{index, 3};
    CHECK_THROWS_AS(run_replications(scenario, options), ShardDone);
  }
  CHECK(store->units_kept == 4);
  options.shard = Shard{1, 3};
  CHECK(run_replications(scenario, options) == run_replications(scenario));
  CHECK(store->units_kept == 7);
}

TEST_CASE("A shard needs a store") {
  const Scenario scenario = drawn_world();
  ReplicationOptions options;
  options.shard = Shard{1, 3};
  CHECK_THROWS_AS(run_replications(scenario, options), RequestError);
  const auto store = make_store();
  options.store = store.get();
  options.fingerprint = true;  // which no store has
  CHECK_THROWS_AS(run_replications(scenario, options), RequestError);
}

TEST_CASE("A shard does its part of all questions that do not wait for each other") {
  Scenario scenario = drawn_world();
  scenario.replications = 7;
  Scenario other = scenario;
  other.seed = 99;
  const auto store = make_store();
  ReplicationOptions options;
  options.store = store.get();
  options.shard = Shard{2, 3};
  const auto ask = [&](const Scenario& s) { return [&] { run_replications(s, options); }; };
  SideBySide questions;
  CHECK(!questions.add(ask(scenario)));
  CHECK(!questions.add([&] { before_more(ask(other)); }));
  try {
    questions.finish();
    FAIL("there is work of others");
  } catch (const ShardDone& done) {
    CHECK(done.there == 4);
    CHECK(done.all == 14);
    CHECK(done.has_rounds);
  }
  CHECK(store->units_kept == 4);
  options.shard.reset();
  SideBySide again;
  CHECK(again.add(ask(scenario)));
  CHECK(again.add(ask(other)));
  again.finish();
  CHECK(store->units_kept == 14);
}

TEST_CASE("A shard counts only what a store has really kept") {
  Scenario scenario = drawn_world();
  scenario.replications = 7;
  const auto full = make_store(0);
  ReplicationOptions options;
  options.store = full.get();
  options.shard = Shard{1, 3};
  try {
    run_replications(scenario, options);
    FAIL("there is work of others");
  } catch (const ShardDone& done) {
    CHECK(done.there == 0);
    CHECK(done.all == 7);
  }
}

}  // namespace
}  // namespace retrysim::execution
