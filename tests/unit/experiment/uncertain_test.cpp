// The law of the draws, what decides among them, and the errors of [uncertain."PATH"].
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/uncertain.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retrysim {
namespace {

UncertainKey key_of(std::string path, double value, double low, double high) {
  UncertainKey key;
  key.path = std::move(path);
  key.value = value;
  key.low = low;
  key.high = high;
  key.least = -1e12;
  key.most = 1e12;
  return key;
}

std::vector<double> many(const UncertainKey& key, std::uint32_t n) {
  std::vector<double> values;
  for (std::uint32_t r = 0; r < n; ++r) values.push_back(draw_uncertain(key, 1, r));
  return values;
}

double share_below(const std::vector<double>& values, double limit) {
  const auto n = std::ranges::count_if(values, [&](double v) { return v < limit; });
  return static_cast<double>(n) / static_cast<double>(values.size());
}

TEST_CASE("half of the draws are below the own value, and 2.5 % beyond either end",
          "[experiment][uncertain]") {
  // Each share is within 4 standard errors: by chance it is not in 1 of 16,000 seeds.
  constexpr std::uint32_t kDraws = 20'000;
  const auto within = [&](double share, double expected) {
    const double error = std::sqrt(expected * (1 - expected) / kDraws);
    return std::abs(share - expected) < 4 * error;
  };
  for (const double low : {0.0, 60.0}) {  // as it is, and by its logarithm
    const std::vector<double> values = many(key_of("a", 100, low, 130), kDraws);
    CHECK(within(share_below(values, 100), 0.5));
    CHECK(within(share_below(values, low), 0.025));
    CHECK(within(1 - share_below(values, 130), 0.025));
  }
  UncertainKey surer = key_of("a", 100, 60, 130);
  surer.certainty = 0.8;
  CHECK(within(share_below(many(surer, kDraws), 60), 0.1));
}

TEST_CASE("a draw depends on seed, path and replication, and not on other keys or their order",
          "[experiment][uncertain]") {
  const UncertainKey a = key_of("service.a.servers", 100, 60, 130);
  const UncertainKey b = key_of("service.b.servers", 100, 60, 130);
  CHECK(draw_uncertain(a, 1, 5) == draw_uncertain(a, 1, 5));
  CHECK(draw_uncertain(a, 1, 5) != draw_uncertain(a, 1, 6));
  CHECK(draw_uncertain(a, 1, 5) != draw_uncertain(a, 2, 5));
  CHECK(draw_uncertain(a, 1, 5) != draw_uncertain(b, 1, 5));
}

TEST_CASE("counts are whole, and what a key cannot take is drawn again",
          "[experiment][uncertain]") {
  UncertainKey servers = key_of("s", 2, 1, 4);
  servers.is_whole = true;
  servers.least = 1;
  std::vector<double> seen;
  for (const double v : many(servers, 500)) {
    CHECK(v == std::floor(v));
    CHECK(v >= 1);
    seen.push_back(v);
  }
  CHECK(std::ranges::count(seen, 1) > 0);
  CHECK(std::ranges::count(seen, 3) > 0);
  UncertainKey share = key_of("p", 0.95, 0, 1);
  share.least = 0;
  share.most = 1;
  for (const double v : many(share, 500)) CHECK((v >= 0 && v <= 1));
  CHECK(edit_of(servers, 3) == "s=3");
  UncertainKey time = key_of("t", 0.02, 0.01, 0.03);
  time.is_duration = true;
  CHECK(edit_of(time, 0.0125) == "t=\"12500us\"");
}

TEST_CASE("the key that decides is found, with the place where it does",
          "[experiment][uncertain]") {
  // The first key decides at 9; the second is noise.
  std::vector<std::vector<double>> draws;
  std::vector<std::optional<bool>> good;
  for (int i = 0; i < 100; ++i) {
    const double servers = 8 + i % 5;
    draws.push_back({servers, static_cast<double>(i * 37 % 101)});
    good.push_back(servers > 9);
  }
  good[0] = std::nullopt;
  const UncertainAnswer a = answer_uncertain(UncertainQuestion::kRecovers, draws, good);
  CHECK(a.judged == 99);
  CHECK(a.hits == 60);
  CHECK(a.low < 0.6);
  CHECK(a.high > 0.61);
  REQUIRE(a.deciding == std::vector<std::size_t>{0});
  const UncertainSplit& split = a.splits[0];
  CHECK(split.below.end == 9);
  CHECK(split.above.end == 10);
  CHECK(split.below.good == 0);
  CHECK(split.above.good == split.above.of);
  CHECK(split.p == Approx(0.001));
  CHECK_FALSE(a.splits[1].decides);
}

TEST_CASE("of keys that decide nothing one is named in at most 5 % of all studies",
          "[experiment][uncertain]") {
  // Binomial(200, 0.05) exceeds 20 with a probability of 0.2 %; the seeds are fixed.
  int named = 0;
  for (std::uint32_t study = 0; study < 200; ++study) {
    std::vector<std::vector<double>> draws;
    std::vector<std::optional<bool>> good;
    for (std::uint32_t i = 0; i < 40; ++i) {
      std::vector<double>& values = draws.emplace_back();
      for (const char* path : {"a", "b", "c"}) {
        values.push_back(draw_uncertain(key_of(path, 100, 60, 130), study, i));
      }
      good.push_back(draw_uncertain(key_of("luck", 100, 60, 130), study, i) > 100);
    }
    named += answer_uncertain(UncertainQuestion::kRecovers, draws, good).deciding.empty() ? 0 : 1;
  }
  CHECK(named <= 20);
}

TEST_CASE("where all draws fare alike nothing decides", "[experiment][uncertain]") {
  const std::vector<std::vector<double>> draws = {{1}, {2}, {3}};
  const UncertainAnswer all =
      answer_uncertain(UncertainQuestion::kRecovers, draws, {true, true, true});
  CHECK(all.hits == 3);
  CHECK(all.deciding.empty());
  CHECK(all.low < 0.5);
  const UncertainAnswer none = answer_uncertain(UncertainQuestion::kRecovers, draws,
                                                {std::nullopt, std::nullopt, std::nullopt});
  CHECK_FALSE(none.share());
}

// --- The tables of a scenario --------------------------------------------------------------------

constexpr const char* kUncertainScenario = R"(name = "s"
duration = "10s"
[service.api]
servers = 10
service_time = { distribution = "gamma", mean = "20ms", shape = 2 }
errors.503 = 0.01
[client.web]
arrivals = { process = "poisson", total_rate = 100 }
retry = { mode = "none" }
)";

LoadResult loaded_with(const std::string& tables, const std::vector<std::string>& edits = {}) {
  return load_scenario_text(kUncertainScenario + tables, "s.toml", ".", edits);
}

std::string interval_mistake(const std::string& tables) {
  const LoadResult result = loaded_with(tables);
  return result.errors.empty() ? "none" : to_string(result.errors.front());
}

TEST_CASE("uncertain keys have their own values, units and ranges", "[experiment][uncertain]") {
  const LoadedScenario s = loaded_with(R"([uncertain."service.api.servers"]
low = 8
high = 12
certainty = 0.99
[uncertain."service.api.service_time.mean"]
low = "18ms"
high = 0.022
[uncertain."service.api.errors.503"]
low = 0
high = 0.02
[uncertain."client.web.arrivals.total_rate"]
low = 90.5
high = 110
)")
                               .value();
  REQUIRE(s.uncertain.size() == 4);
  CHECK(s.uncertain[0].value == 10);
  CHECK(s.uncertain[0].is_whole);
  CHECK(s.uncertain[0].certainty == 0.99);
  CHECK(s.uncertain[1].is_duration);
  CHECK(s.uncertain[1].value == 0.02);
  CHECK(s.uncertain[1].low == 0.018);
  CHECK(s.uncertain[2].most == 1);
  CHECK(s.uncertain[3].value == 100);
  // A resolved scenario has them, and reads back.
  const LoadedScenario again = load_scenario_text(to_toml(s, false), "r.toml", ".").value();
  CHECK(again.uncertain == s.uncertain);
}

TEST_CASE("a key that an edit sets is certain, wherever it lies", "[experiment][uncertain]") {
  const std::string tables = "[uncertain.\"service.api.servers\"]\nlow = 8\nhigh = 12\n";
  CHECK_FALSE(loaded_with(tables).value().uncertain[0].is_set);
  CHECK(loaded_with(tables, {"service.api.servers=30"}).value().uncertain[0].is_set);
  CHECK(loaded_with(tables, {"service.*.servers=30"}).value().uncertain[0].is_set);
  const std::string mean =
      "[uncertain.\"service.api.service_time.mean\"]\nlow = \"18ms\"\nhigh = \"22ms\"\n";
  CHECK(loaded_with(mean, {"service.api.service_time=30ms"}).value().uncertain[0].is_set);
}

TEST_CASE("what is wrong with an interval is said where it stands", "[experiment][uncertain]") {
  const auto of_servers = [](const std::string& keys) {
    return interval_mistake("[uncertain.\"service.api.servers\"]\n" + keys);
  };
  using Catch::Contains;
  CHECK_THAT(of_servers("low = 11\nhigh = 12\n"),
             Contains("s.toml:11:7") && Contains("above the scenario's own value of 10"));
  CHECK_THAT(of_servers("low = 8\nhigh = 9\n"),
             Contains("s.toml:12:8") && Contains("below the scenario's own value of 10"));
  CHECK_THAT(of_servers("low = 12\nhigh = 9\n"), Contains("is below low"));
  CHECK_THAT(of_servers("low = 8\n"), Contains("high is missing"));
  CHECK_THAT(of_servers("low = 8.5\nhigh = 12\n"), Contains("expected a whole number"));
  CHECK_THAT(of_servers("low = \"8ms\"\nhigh = 12\n"), Contains("expected a whole number"));
  CHECK_THAT(of_servers("low = 0\nhigh = 12\n"), Contains("expected a whole number"));
  CHECK_THAT(interval_mistake("[uncertain.\"service.api.server\"]\nlow = 8\nhigh = 12\n"),
             Contains("did you mean \"servers\""));
  CHECK_THAT(interval_mistake("[uncertain.\"service.other.servers\"]\nlow = 8\nhigh = 12\n"),
             Contains("has no value of this key"));
  CHECK_THAT(interval_mistake("[uncertain.\"service.*.servers\"]\nlow = 8\nhigh = 12\n"),
             Contains("names no single key"));
  CHECK_THAT(interval_mistake("[uncertain.\"client.web.retry.mode\"]\nlow = 8\nhigh = 12\n"),
             Contains("no number and no duration"));
  CHECK_THAT(interval_mistake("[uncertain.seed]\nlow = 1\nhigh = 12\n"),
             Contains("nothing of the system"));
  CHECK_THAT(interval_mistake("[uncertain.service.api.servers]\nlow = 8\nhigh = 12\n"),
             Contains("in quotes"));
}

TEST_CASE("a law can be stretched by a factor", "[experiment][uncertain]") {
  const auto mean = [](const std::string& law) {
    return loaded_with("", {"service.api.service_time=" + law})
        .value()
        .scenario.services[0]
        .service_time.mean_seconds();
  };
  const std::string two = "distribution=\"hyperexponential\",p=0.5,mean1=\"10ms\",mean2=\"30ms\"";
  CHECK(mean("{" + two + "}") == Approx(0.02));
  CHECK(mean("{" + two + ",factor=1.5}") == Approx(0.03));
  CHECK_FALSE(loaded_with("", {"service.api.service_time={" + two + ",factor=0}"}).errors.empty());
}

}  // namespace
}  // namespace retrysim
