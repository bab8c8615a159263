// A run against one that was kept: planted losses are found, and chance is not taken for a loss.
//
// SPDX-License-Identifier: MIT
#include "report/run/against.hpp"

#include <retrysim/run.hpp>

#include "scenario_of.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;

namespace {

LoadedScenario loaded(const std::string& text) {
  LoadedScenario l;
  l.scenario = test::scenario_of(text);
  return l;
}

/// What a result folder would say of these replications.
KeptRun kept_of(const Evaluation& e) {
  KeptRun kept{.folder = "kept", .version = "", .seed = e.scenario().seed, .values = {}};
  kept.replications = e.values.runs();
  for (std::size_t client = 0; client < e.clients(); ++client) {
    for (const MetricInfo& metric : metric_table()) {
      stats::Series series;
      for (std::size_t run = 0; run < e.values.runs(); ++run) {
        series.push_back(e.values.at(run, client, index_of(metric)));
      }
      kept.values[e.client_name(client)][std::string(metric.name)] = std::move(series);
    }
  }
  return kept;
}

struct Tried {
  ChangeVerdict verdict;
  bool is_identical;
  std::vector<std::string> sentences;
  std::vector<Check> checks;
  std::vector<Change> changes;
};

Tried tried(const std::string& before, const std::string& now) {
  const LoadedScenario first = loaded(before), second = loaded(now);
  const ResultSet kept_set{first, "base", run_replications(first.scenario)};
  const ResultSet now_set{second, "base", run_replications(second.scenario)};
  const Evaluation kept_evaluation(kept_set), evaluation(now_set);
  const KeptRun kept = kept_of(kept_evaluation);
  const Against found = against(kept, evaluation);
  return {found.verdict(), found.is_identical, found.sentences(), checks_of(found), found.changes};
}

/// A system with a load between 0.3 and 0.9, with or without retries.
std::string random_system(std::uint64_t number, std::uint64_t seed, const std::string& errors) {
  std::mt19937_64 random(number);
  const auto per_mille = [&] { return static_cast<double>(random() % 1000) / 1000; };
  const double load = 0.3 + 0.6 * per_mille();
  const int servers = 1 + static_cast<int>(8 * per_mille());
  const char* const retry = per_mille() < 0.5 ? "none" : "standard";
  return fmt::format(R"(
name = "random"
duration = "5s"
seed = {}
replications = 20
[service.api]
servers = {}
service_time = {{ distribution = "exponential", mean = "20ms" }}
{}
[client.web]
count = 50
arrivals = {{ process = "poisson", total_rate = {} }}
attempt_timeout = "1s"
retry = {{ mode = "{}" }}
)",
                     seed, servers, errors, load * 50 * servers, retry);
}

}  // namespace

TEST_CASE("A loss of two points of success is found, on the same random numbers or others") {
  // 100 systems each; of errors that are no use to retry, 2 % of the requests fail.
  const std::string loss = "errors = { invalid = 0.02 }";
  int paired = 0, apart = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    paired +=
        tried(random_system(i, 7, ""), random_system(i, 7, loss)).verdict == ChangeVerdict::kWorse;
    apart +=
        tried(random_system(i, 7, ""), random_system(i, 8, loss)).verdict == ChangeVerdict::kWorse;
  }
  CHECK(paired >= 95);
  CHECK(apart >= 95);
}

TEST_CASE("Chance is taken for a loss in one of 100 comparisons at most") {
  // Other seeds of the same systems: each is said to be worse with a probability of 1 % at most. Of
  // 200, more than 8 would be with a probability of 3e-4.
  int alarms = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    alarms += tried(random_system(i, 7, ""), random_system(i, 1000 + i, "")).verdict ==
              ChangeVerdict::kWorse;
  }
  CHECK(alarms <= 8);
}

TEST_CASE("A run against itself has not changed") {
  const std::string text = random_system(3, 7, "");
  const Tried same = tried(text, text);
  CHECK(same.is_identical);
  CHECK(same.verdict == ChangeVerdict::kSame);
  CHECK(same.sentences.front() ==
        "Nothing has changed against kept: every metric is the same in each of 20 replications.");
  for (const Check& check : same.checks) CHECK(check.verdict == ExpectationVerdict::kHolds);
}

TEST_CASE("No change is called worse or better while its interval contains zero") {
  // Of 100 systems with few errors. Holm's test alone would call some of these losses, or gains.
  int called = 0, beyond_the_interval = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Tried found =
        tried(random_system(i, 7, ""), random_system(i, 8, "errors = { invalid = 0.003 }"));
    std::vector<std::optional<double>> halves;
    for (const Change& c : found.changes) {
      halves.push_back(c.difference.p_value ? std::optional(*c.difference.p_value / 2)
                                            : std::nullopt);
    }
    const auto holm = stats::holm(halves);
    for (std::size_t k = 0; k < found.changes.size(); ++k) {
      const Change& change = found.changes[k];
      const auto& interval = change.difference.interval;
      const bool has_zero = interval && interval->low <= 0 && interval->high >= 0;
      if (holm[k] && *holm[k] <= kFalseAlarm && has_zero) ++beyond_the_interval;
      if (change.verdict == ChangeVerdict::kSame) continue;
      ++called;
      CHECK_FALSE(has_zero);
    }
  }
  CHECK(called > 10);
  CHECK(beyond_the_interval > 0);
}

TEST_CASE("Keys in which the scenarios differ are said, those given first") {
  const auto of = [](const std::string& text) {
    return load_scenario_text(text, "random.toml", ".").value();
  };
  const std::string text = random_system(3, 7, "");
  const LoadedScenario l = of(text);
  const ResultSet set{l, "base", run_replications(l.scenario)};
  const Evaluation e(set);
  KeptRun kept = kept_of(e);
  kept.question = identity_of({&l}, "run");
  kept.version = kept.question.version;
  CHECK(against(kept, e).keys.empty());
  CHECK(against(kept, e).sentences().size() == 1);

  // A value, a key that only the kept one has, and one that only the run has.
  auto& keys = kept.question.keys;
  const auto key = [&](const std::string& path) {
    return std::ranges::find(keys, path, &std::pair<std::string, std::string>::first);
  };
  REQUIRE(key("client.web.attempt_timeout") != keys.end());
  key("client.web.attempt_timeout")->second = "\"2s\"";
  REQUIRE(key("service.api.queue.discipline") != keys.end());
  keys.erase(key("service.api.queue.discipline"));
  keys.emplace_back("service.api.of_another_time", "1");
  keys.emplace_back("fault.outage.start", "\"1s\"");
  keys.emplace_back("expect.fine.metric", "\"goodput\"");
  CHECK(against(kept, e).sentences().back() ==
        "What differs from kept: client.web.attempt_timeout = 1s (there 2s), "
        "service.api.queue.discipline = fifo (there unset), service.api.of_another_time unset "
        "(there 1), fault.outage (only there).");
  CHECK(against(kept, e).keys.size() == 4);
  // A key that one of two versions does not have says nothing of the scenario.
  kept.version = "0.1.0";
  CHECK(against(kept, e).sentences().back() ==
        "What differs from kept: client.web.attempt_timeout = 1s (there 2s), fault.outage (only "
        "there).");
}
