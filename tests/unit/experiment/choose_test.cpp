// Choices as calls of the library: what is simulated for whom, and who wins.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/simulation.hpp>

#include "experiment/unseen.hpp"
#include "scenario_of.hpp"
#include "unit/experiment/request_file.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

using Texts = std::vector<std::string>;

/// Policies of a service at 90 % load that loses all capacity for half a second.
std::vector<NamedScenario> policies(const Texts& vary, Texts edits = {}) {
  const test::RequestFile file;
  edits.insert(edits.begin(),
               {"replications=10", "client.web.arrivals.total_rate=90",
                "client.web.attempt_timeout=\"200ms\"", "fault.outage.duration=\"500ms\""});
  VariantsResult loaded = load_variants(file.scenario(), edits, vary);
  REQUIRE(loaded.errors.empty());
  return std::move(loaded.variants);
}

const Texts kAttempts = {"client.web.retry.max_attempts=1,2,4"};

ChooseOptions most(const char* metric) {
  ChooseOptions options;
  options.aim = {find_metric(metric), true, "all"};
  return options;
}

ChooseOptions least(const char* metric) {
  ChooseOptions options = most(metric);
  options.aim.maximize = false;
  return options;
}

}  // namespace

TEST_CASE("The policy with the most goodput is chosen for any number of threads") {
  ChooseOptions options = most("goodput");
  options.indifference = 10;
  PolicyChoice first;
  for (const int jobs : {1, 3}) {
    options.run.jobs = jobs;
    PolicyChoice choice = choose(policies(kAttempts), options);
    REQUIRE(choice.best == std::size_t{0});
    CHECK(choice.outcome == ChoiceOutcome::kChosen);
    CHECK(choice.policies[0].name == "max_attempts=1");
    CHECK(choice.stages.front() == 10);
    CHECK_FALSE(choice.from_first_stage);
    std::size_t replications = 0;
    for (const ChoicePolicy& p : choice.policies) {
      CHECK(p.aim.size() == p.replications);
      CHECK(p.replications == choice.stages[p.stage - 1]);
      replications += p.replications;
    }
    CHECK(choice.replications == replications);
    CHECK(choice.count(SelectionFate::kRacing) == 1);
    CHECK(choice.gone_after(choice.stages.size()) == 2);
    if (jobs == 1)
      first = std::move(choice);
    else
      CHECK(choice.policies[0].aim == first.policies[0].aim);
  }
}

TEST_CASE("A race sees the values that the replications of each policy have") {
  ChooseOptions options = most("success_rate");
  options.indifference = 0.01;
  options.limits = {parse_choice_limit("latency_mean>=0+-0.001")};
  const std::vector<NamedScenario> given = policies(kAttempts);
  const PolicyChoice choice = choose(given, options);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Scenario& scenario = given[i].loaded.scenario;
    for (const std::uint32_t r : {0u, 9u}) {
      const RunResult run = simulate(scenario, r);
      CHECK(choice.policies[i].aim[r] ==
            metric_value(*options.aim.metric, scenario, run, std::nullopt));
      CHECK(choice.policies[i].limited[0][r] ==
            metric_value(*options.limits[0].metric, scenario, run, std::nullopt));
    }
  }
}

TEST_CASE("An observation is the average of a batch, and stages are whole batches") {
  ChooseOptions options = most("goodput");
  options.indifference = 10;
  const PolicyChoice single = choose(policies(kAttempts), options);
  options.batch = 2;
  const PolicyChoice batched = choose(policies(kAttempts), options);
  REQUIRE(batched.policies[1].aim.size() >= 5);
  const std::vector<double>& values = single.policies[1].aim;
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(batched.policies[1].aim[i] == Approx((values[2 * i] + values[2 * i + 1]) / 2));
  }
  for (const std::size_t replications : batched.stages) CHECK(replications % 2 == 0);
  CHECK(batched.policies[1].replications == 2 * batched.policies[1].aim.size());
  CHECK(batched.best == std::size_t{0});
}

TEST_CASE("Without an indifference zone the first stage sets it", "[repetitive]") {
  const std::vector<NamedScenario> given = policies(kAttempts);
  const PolicyChoice choice = choose(given, most("goodput"));
  double best = 0;
  for (std::uint32_t r = 0; r < 10; ++r) {
    const RunResult run = simulate(given[0].loaded.scenario, r);
    best += *metric_value(*find_metric("goodput"), given[0].loaded.scenario, run, {}) / 10;
  }
  CHECK(choice.from_first_stage);
  CHECK(choice.procedure == ChoiceProcedure::kNormal);
  // No less than 1 % of the best, to two digits.
  CHECK(choice.indifference >= best / 100 * 0.95);
  CHECK(choice.stages.front() == 10);
  // Nothing to take 1 % of: what equals need in 1,000 replications, three policies.
  const PolicyChoice zero = choose(given, least("throttled_share"));
  CHECK(zero.procedure == ChoiceProcedure::kBounds);
  CHECK(zero.indifference == Approx(1.5 * (std::pow(0.0125, -0.001) - 1)).epsilon(0.02));
  REQUIRE(zero.best);
  CHECK(zero.count(SelectionFate::kSame) == 2);
}

TEST_CASE("A race between equals ends early unless a zone is given") {
  // The quota is never empty: two sizes of it make no difference. The third policy is another one.
  const auto given = [](const char* last) {
    return policies({std::string("client.web.retry.quota.capacity=100000,200000") + last},
                    {"client.web.retry.max_attempts=2", "client.web.retry.quota.cost=1"});
  };
  const PolicyChoice equals = choose(given(",300000"), most("success_rate"));
  CHECK(equals.outcome == ChoiceOutcome::kChosen);
  CHECK(equals.best == std::size_t{0});
  CHECK(equals.ended_early);
  CHECK(equals.all_within == 0.0);
  CHECK(equals.count(SelectionFate::kSame) == 2);
  // 59 runs show what happens in one of twenty.
  CHECK(equals.stages.back() >= 59);
  CHECK(equals.stages.back() < 70);
  ChooseOptions proved = most("success_rate");
  proved.indifference = 0.02;
  const PolicyChoice zone = choose(given(""), proved);
  CHECK_FALSE(zone.ended_early);
  CHECK(zone.stages.back() > 100);
}

// One request in 2,000 takes 4 s, all others 1 ms: 3 ms on average. The other policy takes 2.6 ms.
// A race that decides after 20 runs of 100 requests has seen no slow one with probability 37 %, and
// is then wrong; with 59 runs and the rule for outliers 7 of 60 were. Until ten are expected, after
// 200 runs, nothing is decided: the difference of 0.4 ms is less than their 2 ms.
TEST_CASE("A race by times is not decided before rare slow requests can be seen", "[repetitive]") {
  const test::RequestFile file(R"(
name = "skewed"
duration = "5s"
replications = 20
[service.api]
servers = "unlimited"
service_time = "1ms"
[client.app]
count = 1
arrivals = { process = "poisson", total_rate = 20 }
retry = { mode = "none" }
)");
  constexpr std::uint64_t kRaces = 40;
  int right = 0, wrong = 0, undecided = 0;
  for (std::uint64_t seed = 1; seed <= kRaces; ++seed) {
    std::vector<NamedScenario> given;
    for (const bool rare : {false, true}) {
      LoadResult one = load_scenario_file(
          file.scenario(),
          {"seed=" + std::to_string(seed),
           rare ? std::string("service.api.service_time={distribution=\"hyperexponential\", "
                              "p=0.0005, mean1=\"4s\", mean2=\"1ms\"}")
                : std::string("service.api.service_time=\"2600us\"")});
      for (const Diagnostic& error : one.errors) UNSCOPED_INFO(to_string(error));
      REQUIRE(one.loaded);
      given.push_back({rare ? "rare" : "steady", std::move(*one.loaded)});
    }
    ChooseOptions options = least("latency_mean");
    options.max_replications = 200;
    const PolicyChoice choice = choose(std::move(given), options);
    CHECK(choice.stages.back() >= 59);
    if (!choice.best) {
      ++undecided;
    } else {
      ++(*choice.best == 0 ? right : wrong);
    }
  }
  INFO(right << " right, " << wrong << " wrong, " << undecided << " undecided");
  CHECK(wrong == 0);
}

TEST_CASE("Of a mean latency what is too rare to be seen is known from the law") {
  // 1000 requests in a run; ten of them are one in a hundred.
  const auto unseen = [](const std::string& law, const std::string& timeout, std::size_t runs) {
    return experiment::UnseenTimes(
               test::scenario_of(
                   "name = \"law\"\nduration = 100\n[service.api]\n"
                   "servers = \"unlimited\"\nservice_time = " +
                   law +
                   "\n[client.web]\narrivals = { process = \"constant\", rate = 10 }\n"
                   "attempt_timeout = \"" +
                   timeout + "\"\nretry = { mode = \"none\" }\n"))
        .in_mean(runs);
  };
  const std::string uniform = "{ distribution = \"uniform\", min = 0, max = \"1s\" }";
  // The largest hundredth is 5 ms beyond 0.99 on average.
  CHECK(unseen(uniform, "none", 1) == Approx(0.01 * 0.005).epsilon(0.05));
  CHECK(unseen(uniform, "none", 10) == Approx(0.001 * 0.0005).epsilon(0.2));
  CHECK(unseen(uniform, "500ms", 1) == Approx(0).margin(1e-9));  // half of all wait so long
  CHECK(unseen("\"1s\"", "none", 1) == 0);
  // exp(-x): beyond any value a mean of 1 s.
  CHECK(unseen("{ distribution = \"exponential\", mean = \"1s\" }", "none", 1) ==
        Approx(0.01).epsilon(0.05));
}

TEST_CASE("Of a mean latency what chance makes is known from the law") {
  // 1000 requests in a run, of times with a variance of 1/12 s^2.
  const auto variance = [](const std::string& law, std::size_t runs) {
    return experiment::UnseenTimes(
               test::scenario_of("name = \"law\"\nduration = 100\n[service.api]\n"
                                 "servers = \"unlimited\"\nservice_time = " +
                                 law +
                                 "\n[client.web]\narrivals = { process = \"constant\", rate = 10 "
                                 "}\nretry = { mode = \"none\" }\n"))
        .variance_of_mean(runs);
  };
  const std::string uniform = "{ distribution = \"uniform\", min = 0, max = \"1s\" }";
  CHECK(variance(uniform, 1) == Approx(1.0 / 12'000).epsilon(0.02));
  CHECK(variance(uniform, 10) == Approx(1.0 / 120'000).epsilon(0.02));
  CHECK(variance("\"1s\"", 1) == 0);
}

TEST_CASE("Shares are chosen by their bounds, unless a normal distribution is asked for") {
  ChooseOptions options = most("success_rate");
  options.indifference = 0.05;
  const PolicyChoice bounds = choose(policies(kAttempts), options);
  CHECK(bounds.procedure == ChoiceProcedure::kBounds);
  CHECK(bounds.equal_allocation == 0);
  options.procedure = ChoiceProcedure::kNormal;
  const PolicyChoice normal = choose(policies(kAttempts), options);
  CHECK(normal.procedure == ChoiceProcedure::kNormal);
  CHECK(normal.best == bounds.best);
  CHECK(normal.replications <= bounds.replications);
  options = most("goodput");
  options.procedure = ChoiceProcedure::kBounds;
  CHECK_THROWS_WITH(choose(policies(kAttempts), options), Catch::Contains("no upper bound"));
}

TEST_CASE("Only policies that keep the limits can be chosen", "[repetitive]") {
  // More attempts save requests from the outage, at a price.
  const auto given = [] {
    return policies({"client.web.retry.max_attempts=1,2,3"},
                    {"client.web.arrivals.total_rate=30", "fault.outage.duration=\"300ms\"",
                     "duration=\"10s\""});
  };
  ChooseOptions options = most("success_rate");
  options.indifference = 0.005;
  const PolicyChoice free = choose(given(), options);
  REQUIRE(free.best);
  CHECK(*free.best > 0);
  options.limits = {parse_choice_limit("amplification<=1.01+-0.005")};
  const PolicyChoice limited = choose(given(), options);
  CHECK(limited.best == std::size_t{0});
  CHECK(limited.policies[0].keeps == std::vector<bool>{true});
  CHECK(limited.count(SelectionFate::kBreaksLimit) == 2);
  // Nobody does with less than one attempt.
  options.limits = {parse_choice_limit("amplification<=0.9+-0.05")};
  const PolicyChoice none = choose(given(), options);
  CHECK(none.outcome == ChoiceOutcome::kNoneKeepsLimits);
  CHECK_FALSE(none.best);
  CHECK(none.nearest == std::size_t{0});
}

TEST_CASE("A race that takes too long is undecided and says what it would take") {
  ChooseOptions options = most("goodput");
  options.indifference = 1e-6;
  options.max_replications = 14;
  // One policy, by two kinds of luck.
  const PolicyChoice choice = choose(policies({"seed=1,2"}), options);
  CHECK(choice.outcome == ChoiceOutcome::kUndecided);
  CHECK(choice.stages == std::vector<std::size_t>{10, 11, 12, 13, 14});
  CHECK(choice.replications_needed.value() > 1000);
  REQUIRE(choice.leader);
  CHECK(choice.margin > 0);
  CHECK(choice.margin < 30);
}

TEST_CASE("A policy without a value in some replication is taken out") {
  // There is no recovery from a fault that lasts until the end.
  ChooseOptions options = least("recovery_s");
  options.indifference = 0.1;
  const PolicyChoice choice = choose(
      policies({"fault.outage.duration=\"100ms\",\"3900ms\""},
               {"client.web.arrivals.total_rate=30", "duration=\"30s\"", "recovery.hold=\"2s\"",
                "recovery.window=\"1s\"", "fault.outage.start=\"27s\""}),
      options);
  CHECK(choice.policies[1].fate == SelectionFate::kDropped);
  CHECK(choice.policies[1].missing == options.aim.metric);
}

TEST_CASE("Policies over a limit end the race and stopping interrupts it") {
  ChooseOptions options = most("goodput");
  options.indifference = 10;
  options.run.max_events = 5;
  CHECK_THROWS_WITH(choose(policies(kAttempts), options), Catch::Contains("max_attempts=1"));
  options.run.max_events = 1000000;
  std::atomic<bool> stop{true};
  options.run.stop_flag = &stop;
  CHECK_THROWS_AS(choose(policies(kAttempts), options), Interrupted);
}

TEST_CASE("Limits are read from text with their tolerances") {
  const ChoiceLimit plain = parse_choice_limit("success_rate>=0.999");
  CHECK(plain.metric == find_metric("success_rate"));
  CHECK(plain.at_least);
  CHECK(plain.bound == 0.999);
  CHECK_FALSE(plain.tolerance);
  CHECK(plain.text() == "success_rate>=0.999");
  const ChoiceLimit full = parse_choice_limit(" latency_p99 <= 0.5 +- 0.01");
  CHECK(full.metric == find_metric("latency_p99"));
  CHECK_FALSE(full.at_least);
  CHECK(full.bound == 0.5);
  CHECK(full.tolerance == 0.01);
  for (const char* wrong :
       {"", "success_rate", "success_rate=1", "success_rate>1", "success_rate>=", "succes_rate>=1",
        "success_rate>=x", "success_rate>=1+-", "success_rate>=1+-0", ">=1", "success_rate>=nan"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_choice_limit(wrong), RequestError);
  }
}

TEST_CASE("A limit that no share can reach, or every share keeps, is refused") {
  CHECK_THROWS_WITH(parse_choice_limit("success_rate>=99"),
                    Catch::EndsWith("'success_rate>=99': success_rate is a share; expected a "
                                    "number from 0 to 1; did you mean 0.99 (99 %)?"));
  CHECK_THROWS_WITH(parse_choice_limit("recovered>=-1", "slo"),
                    Catch::EndsWith("recovered is a share; expected a number from 0 to 1"));
  // Other metrics have values above 1, and a share of exactly 1 can be asked for.
  for (const char* right : {"amplification<=99", "latency_p99<=99", "success_rate>=1"}) {
    CHECK_NOTHROW(parse_choice_limit(right));
  }
}

TEST_CASE("Choices that make no sense are refused before anything runs") {
  const std::vector<NamedScenario> given = policies(kAttempts);
  const auto refused = [&](auto change, const char* why) {
    ChooseOptions options = most("goodput");
    change(options);
    CHECK_THROWS_WITH(choose(given, options), Catch::Contains(why));
    CHECK_THROWS_AS(choose(given, options), RequestError);
  };
  refused([](auto& o) { o.aim.metric = nullptr; }, "the aim of the choice");
  refused([](auto& o) { o.aim.client = "wbe"; }, "did you mean \"web\"");
  refused([](auto& o) { o.indifference = 0; }, "indifference");
  refused([](auto& o) { o.confidence = 0.5; }, "confidence");
  refused([](auto& o) { o.batch = 3; }, "replications 30");
  refused([](auto& o) { o.batch = 10; }, "replications 100");
  refused([](auto& o) { o.limits = {parse_choice_limit("success_rate>=1")}; }, "add a tolerance");
  CHECK_THROWS_AS(choose({given[0]}, most("goodput")), RequestError);
  CHECK_THROWS_WITH(choose(policies({"replications=10,20"}), most("goodput")),
                    Catch::Contains("do not vary replications"));
}

namespace {

/// Everything that result files are made of.
bool same_choice(const PolicyChoice& a, const PolicyChoice& b) {
  if (a.best != b.best || a.stages != b.stages || a.indifference != b.indifference ||
      a.replications != b.replications || a.policies.size() != b.policies.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.policies.size(); ++i) {
    const ChoicePolicy &p = a.policies[i], &q = b.policies[i];
    if (p.aim != q.aim || p.fate != q.fate || p.stage != q.stage || p.by != q.by) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("A race that is stopped goes on from its store and ends in the same way") {
  ChooseOptions options = most("goodput");
  const PolicyChoice whole = choose(policies(kAttempts), options);
  REQUIRE(whole.stages.size() > 1);

  // Stopped at the beginning of every stage.
  const auto store = make_store();
  options.run.store = store.get();
  std::size_t kept = 0;
  for (std::size_t last = 1; last <= whole.stages.size(); ++last) {
    std::atomic<bool> stop{false};
    ChooseOptions stopped = options;
    stopped.run.jobs = last % 2 == 0 ? 1 : 3;
    stopped.run.stop_flag = &stop;
    stopped.stage = [&](std::size_t stage, std::size_t) { stop = stage == last; };
    CHECK_THROWS_AS(choose(policies(kAttempts), stopped), Interrupted);
    CHECK((last == 1 || store->units_kept > kept));
    kept = store->units_kept;
  }
  SECTION("the rest is simulated") {
    CHECK(same_choice(choose(policies(kAttempts), options), whole));
    CHECK(store->units_kept == whole.replications);
    CHECK(same_choice(choose(policies(kAttempts), options), whole));
    CHECK(store->units_kept == whole.replications);
  }
  SECTION("what is kept goes over a limit that was set since") {
    options.run.max_events = 100;
    CHECK_THROWS_AS(choose(policies(kAttempts), options), LimitExceeded);
    CHECK(store->units_kept == kept);
  }
  SECTION("another question about the same policies takes what is there") {
    options.aim.maximize = false;
    store->units_found = 0;
    choose(policies(kAttempts), options);
    CHECK(store->units_found > 0);
  }
}

TEST_CASE("Races that ask another question have another id") {
  const ChooseOptions options = most("goodput");
  const auto id = id_of_choice(policies(kAttempts), options);
  CHECK(id_of_choice(policies(kAttempts), options) == id);
  CHECK(id_of_choice(policies({"client.web.retry.max_attempts=1,2"}), options) != id);
  CHECK(id_of_choice(policies(kAttempts), least("goodput")) != id);
  ChooseOptions other = options;
  other.confidence = 0.9;
  CHECK(id_of_choice(policies(kAttempts), other) != id);
  other = options;
  other.procedure = ChoiceProcedure::kNormal;
  CHECK(id_of_choice(policies(kAttempts), other) != id);
  other = options;
  other.batch = 5;
  CHECK(id_of_choice(policies(kAttempts), other) != id);
}

}  // namespace retrysim
