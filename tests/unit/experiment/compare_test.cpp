// Comparisons as calls of the library: which variants there are, and what is found between them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>

#include "unit/experiment/request_file.hpp"
#include "unit/experiment/zombie_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace retrysim {
namespace {

std::vector<std::string> names_of(const std::vector<NamedScenario>& variants) {
  std::vector<std::string> names;
  for (const NamedScenario& v : variants) names.push_back(v.name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("The variants of a file are the grid of what varies with the baseline first") {
  const test::RequestFile file;
  const std::vector<std::string> vary = {"client.web.retry.max_attempts=1,2", "seed=1,2"};
  const VariantsResult all = load_variants(file.scenario(), {"replications=2"}, vary);
  CHECK(all.errors.empty());
  CHECK(names_of(all.variants) == Names{"max_attempts=1 seed=1", "max_attempts=1 seed=2",
                                        "max_attempts=2 seed=1", "max_attempts=2 seed=2"});
  CHECK(all.variants[3].loaded.scenario.seed == 2);
  CHECK(all.variants[3].loaded.scenario.clients[0].retry.max_attempts == 2);
  CHECK(all.variants[3].loaded.scenario.replications == 2);
  for (const char* baseline : {"max_attempts=2 seed=1", "2 1"}) {
    const VariantsResult turned = load_variants(file.scenario(), {}, vary, baseline);
    CHECK(names_of(turned.variants) == Names{"max_attempts=2 seed=1", "max_attempts=1 seed=1",
                                             "max_attempts=1 seed=2", "max_attempts=2 seed=2"});
  }
}

TEST_CASE("Requests for variants that cannot be compared are refused") {
  const test::RequestFile file;
  const auto load = [&](const std::string& vary, const std::string& baseline = "") {
    return load_variants(file.scenario(), {}, {vary}, baseline);
  };
  CHECK_THROWS_AS(load("seed=1"), RequestError);
  // What users call a part of the request is up to the program.
  try {
    load("seed=1");
  } catch (const RequestError& e) {
    CHECK_THAT(e.what(), Catch::StartsWith("vary makes only one variant"));
    CHECK_THAT(e.text([](const std::string& part) { return "--" + part; }),
               Catch::StartsWith("--vary makes only one variant"));
  }
  CHECK_THROWS_AS(load("seed=1:1001:1"), RequestError);
  CHECK_THROWS_WITH(load("seed=1,2", "3"), Catch::Contains("there is no variant '3'"));
  CHECK_THROWS_AS(compare({}), RequestError);
}

TEST_CASE("A mistake that all variants share is one error and there are no variants") {
  const test::RequestFile file;
  const VariantsResult shared =
      load_variants(file.scenario(), {"client.web.cuont=1"}, {"seed=1,2,3"});
  CHECK(shared.errors.size() == 1);
  CHECK(shared.variants.empty());
  const VariantsResult own = load_variants(file.scenario(), {}, {"client.web.count=1,0,-1"});
  CHECK(own.errors.size() == 2);
  CHECK(own.variants.empty());
}

TEST_CASE("A comparison has the differences of the replications for any number of threads") {
  const test::RequestFile file;
  const VariantsResult loaded = load_variants(file.scenario(), {"fault.outage.duration=1s"},
                                              {"client.web.retry.max_attempts=1,3"});
  REQUIRE(loaded.variants.size() == 2);
  const MetricInfo* amplification = find_metric("amplification");
  CompareOptions options;
  options.metrics = {amplification, find_metric("success_rate")};
  std::vector<double> differences;
  for (const int jobs : {1, 3}) {
    options.run.jobs = jobs;
    const Comparison c = compare(loaded.variants, options);
    REQUIRE(c.variants.size() == 2);
    CHECK(c.baseline().name == "max_attempts=1");
    CHECK(c.clients == Names{"all"});  // a group that is alone is all of them
    const ComparisonRow* row = c.find(1, "all", *amplification);
    REQUIRE(row != nullptr);
    CHECK(row->difference.pairs == 3);
    CHECK(row->difference.baseline_mean == 1);
    double mean = 0;
    for (const RunResult& run : c.variants[1].runs) {
      mean += test::metric("amplification", c.variants[1].loaded.scenario, run) / 3;
    }
    CHECK(row->difference.mean == Approx(mean));
    CHECK(row->difference.difference == Approx(mean - 1));
    CHECK(mean > 1);  // the outage makes some attempts time out
    CHECK(c.find(0, "all", *amplification) == nullptr);
    differences.push_back(row->difference.difference);
  }
  CHECK(differences[0] == differences[1]);
}

TEST_CASE("Twins make the probability of metastable failures a metric of a comparison") {
  Scenario one_attempt = test::zombie_world(Duration::seconds(3));
  one_attempt.replications = 3;
  Scenario three_attempts = one_attempt;
  one_attempt.clients[0].retry.max_attempts = 1;
  CompareOptions options;
  options.metrics = {find_metric("metastable_probability")};
  const std::vector<NamedScenario> variants = {{"one", {one_attempt, {}, {}, {}}},
                                               {"three", {three_attempts, {}, {}, {}}}};
  // What was asked for does not exist without twins; whether runs recover is always compared.
  const Comparison without = compare(variants, options);
  REQUIRE(without.rows.size() == 1);
  CHECK(without.rows[0].metric == find_metric("recovered"));
  options.twin = true;
  const Comparison c = compare(variants, options);
  REQUIRE(c.rows.size() == 2);
  CHECK(c.rows[0].difference.baseline_mean == 0);
  CHECK(c.rows[0].difference.mean == 1);
  REQUIRE(c.variants[1].storms != nullptr);
  for (const RunResult& run : c.variants[1].runs) CHECK(run.metastable == true);
}

TEST_CASE("Variants that look for their warm-up get the same one") {
  std::string text = test::kSmallScenario;
  const std::size_t fault = text.find("[fault.outage]");
  text.erase(fault, text.find("[client.web]") - fault);
  const test::RequestFile steady(text);
  VariantsResult found =
      load_variants(steady.scenario(), {"duration=40s", "interval=100ms", "warmup=auto"},
                    {"client.web.arrivals.total_rate=40,60"});
  REQUIRE(found.variants.size() == 2);
  const Comparison c = compare(std::move(found.variants));
  const Scenario& a = c.variants[0].loaded.scenario;
  const Scenario& b = c.variants[1].loaded.scenario;
  CHECK_FALSE(a.warmup_is_auto);
  CHECK(a.warmup == b.warmup);
}

TEST_CASE("Limits and a request to stop end a comparison") {
  Scenario s = test::zombie_world(Duration::seconds(3));
  const std::vector<NamedScenario> variants = {{"a", {s, {}, {}, {}}}, {"b", {s, {}, {}, {}}}};
  CompareOptions options;
  options.run.max_events = 1000;
  CHECK_THROWS_AS(compare(variants, options), LimitExceeded);
  options = {};
  options.run.max_memory = 1000;
  CHECK_THROWS_AS(compare(variants, options), LimitExceeded);
  options = {};
  const std::atomic<bool> stop{true};
  options.run.stop_flag = &stop;
  CHECK_THROWS_AS(compare(variants, options), Interrupted);
  // A nanosecond is over before the first event; a stop that was asked for is told from it.
  options.run.timeout = Duration::nanoseconds(1);
  CHECK_THROWS_AS(compare(variants, options), Interrupted);
  options.run.stop_flag = nullptr;
  CHECK_THROWS_AS(compare(variants, options), LimitExceeded);
}

}  // namespace
}  // namespace retrysim
