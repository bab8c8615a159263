// Every first scenario that answers can make is valid, without a note or a warning, runs, and says
// whether it recovers; answers that make no sense are refused with what would.
//
// SPDX-License-Identifier: MIT
#include "scenario/first_scenario.hpp"
#include "execution/executor.hpp"
#include "scenario/text/text.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>

#include "loading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace retrysim;
using namespace retrysim::scenario;

namespace {

const FirstQuestion& question(std::string_view option) {
  return *std::ranges::find(first_questions(), option, &FirstQuestion::option);
}

/// Answers to some of the questions, in the order of the questions; the others as usual.
FirstAnswers answers(std::vector<std::pair<std::string_view, std::string>> given) {
  FirstAnswers a;
  for (const FirstQuestion& q : first_questions()) {
    const auto found = std::ranges::find(given, q.option, [](const auto& g) { return g.first; });
    q.read(a, found == given.end() ? q.usual(a) : found->second);
  }
  return a;
}

std::string refusal(std::string_view option, std::string_view text, FirstAnswers before = {}) {
  try {
    question(option).read(before, text);
  } catch (const BadAnswer& bad) {
    return bad.what();
  }
  return "";
}

LoadedScenario loaded(const FirstAnswers& a) {
  LoadResult result = load_scenario_text(first_scenario(a, "mine"), "mine.toml", ".");
  INFO(errors_of(result));
  REQUIRE(result.loaded);
  return *result.loaded;
}

}  // namespace

TEST_CASE("a first scenario of every client library and fault runs, without a warning") {
  for (const std::string_view client : question("client").choices()) {
    for (const std::string_view fault : question("fault").choices()) {
      INFO(client << " " << fault);
      const FirstAnswers a = answers({{"rate", "20"},
                                      {"service-time", "100ms"},
                                      {"client", std::string(client)},
                                      {"fault", std::string(fault)}});
      LoadedScenario mine = loaded(a);
      CHECK(mine.notes.empty());
      for (const Warning& w : facts_of(mine.scenario).warnings) FAIL_CHECK(w.message);
      const std::string text = first_scenario(a, "mine");
      CHECK(std::ranges::count(text, '\n') < 40);

      mine.scenario.replications = 1;
      const std::vector<RunResult> runs = run_replications(mine.scenario);
      const MetricValues values(mine.scenario, runs);
      const auto judged =
          judge_expectations(mine.scenario, summarize(mine.scenario, values), runs.size());
      REQUIRE(judged.size() == 1);
      // Where nothing goes wrong only hedges do harm: after 100 ms they nearly double the load.
      if (fault == "nothing") CHECK(judged[0].holds() == (client != "hedging"));
      // Without retries nothing keeps the service down.
      if (client == "none") CHECK(judged[0].holds());
    }
  }
  CHECK(question("client").choices().size() > 30);
}

TEST_CASE("a client library stands for its newest release, or for the one that is named") {
  const auto rules = [](std::string client) {
    return loaded(answers({{"rate", "200"}, {"service-time", "50ms"}, {"client", client}}))
        .scenario.clients[0]
        .retry;
  };
  CHECK(rules("botocore@1.34.107").mode == RetryMode::kLegacy);
  CHECK(rules("botocore").mode == RetryMode::kStandard);
  CHECK(rules("botocore").backoff.base == Duration::milliseconds(50));  // revision 2.1
  CHECK(rules("envoy").mode == RetryMode::kCustom);
  CHECK(rules("envoy").budget.kind == BudgetKind::kActive);
  CHECK(rules("none").mode == RetryMode::kNone);
  for (const std::string_view client : question("client").choices()) {
    INFO(client);
    const RetryRules written = rules(std::string(client));
    if (client == "none") continue;
    // The comment has the preset's own source.
    const std::string text = first_scenario(
        answers({{"rate", "200"}, {"service-time", "50ms"}, {"client", std::string(client)}}), "x");
    std::string one_line;
    for (const char c : text) one_line += c == '\n' ? ' ' : c;
    for (std::size_t at = 0; (at = one_line.find(" #   ", at)) != std::string::npos;) {
      one_line.erase(at, 4);
    }
    const bool named = std::ranges::any_of(presets(), [&](const Preset& p) {
      return p.sdk == canonical_sdk(client) &&
             one_line.find("(" + std::string(p.source) + ")") != std::string::npos;
    });
    CHECK(named);
    CHECK(one_line.find("at most " + grouped(written.max_attempts) + " attempts") !=
          std::string::npos);
  }
}

TEST_CASE("what the answers mean is in the scenario") {
  const LoadedScenario mine = loaded(answers({{"rate", "6000 /min"},
                                              {"service-time", "0.25 s"},
                                              {"servers", "40"},
                                              {"client", "java-v2"},
                                              {"fault", "slow"}}));
  const Scenario& s = mine.scenario;
  CHECK(s.name == "mine");
  CHECK(s.services[0].servers == 40);
  CHECK(s.services[0].service_time.mean_seconds() == Approx(0.25));
  CHECK(s.clients[0].count == 10);
  CHECK(s.clients[0].timeouts.attempt.mean_seconds() == Approx(30));  // of java-v2
  REQUIRE(s.faults.size() == 1);
  CHECK(s.faults[0].speed == 0.2);
  CHECK(s.faults[0].duration == Duration::seconds(30));

  // In an outage what arrives waits for the servers; a refused connection puts no work on them.
  const auto fault = [](const std::string& word) {
    return loaded(answers({{"rate", "20"}, {"service-time", "100ms"}, {"fault", word}}))
        .scenario.faults[0];
  };
  CHECK(fault("outage").capacity == 0);
  CHECK_FALSE(fault("outage").unreachable);
  CHECK(fault("refused").capacity == 1);
  CHECK(fault("refused").unreachable);

  // 25 are busy; 70 % of 36 are 25.2.
  const FirstAnswers usual = answers({{"rate", "100"}, {"service-time", "250ms"}});
  CHECK(usual.servers == 36);
  CHECK(usual.client == "botocore");
  CHECK(usual.fault == "half-the-servers");
  // Slow requests need a longer run.
  const Scenario slow = loaded(answers({{"rate", "2"}, {"service-time", "4.5s"}})).scenario;
  CHECK(slow.duration == Duration::seconds(1500));
  CHECK(slow.faults[0].start == Time::zero() + Duration::seconds(300));
}

TEST_CASE("an answer that makes no sense is refused with what would") {
  CHECK(refusal("rate", "fast") ==
        "'fast' is no rate; expected requests per second, such as 200 or 12000/min");
  for (const char* bad : {"", "0", "-3", "nan", "inf", "1e400", "200/h", "200 per second", "/s"}) {
    CHECK_THAT(refusal("rate", bad), Catch::Contains("is no rate"));
  }
  CHECK_THAT(refusal("rate", "2e6"), Catch::Contains("more than 1,000,000 requests a second"));
  CHECK(refusal("rate", "0.5/s").empty());
  // A number without a unit may be meant in milliseconds or in seconds.
  for (const char* bad : {"50", "0.05", "0ms", "-1s", "50 parsecs", "2h", ""}) {
    CHECK_THAT(refusal("service-time", bad), Catch::Contains("is no time to serve a request"));
  }
  for (const char* bad : {"0", "2.5", "-1", "many", "99999999999", ""}) {
    CHECK_THAT(refusal("servers", bad), Catch::Contains("is no number of servers"));
  }
  CHECK(refusal("client", "botcore") ==
        "there is no client library 'botcore'; did you mean \"botocore\"?");
  CHECK_THAT(refusal("client", "tenacity"), Catch::Contains("retries at once and for ever"));
  CHECK_THAT(refusal("client", "botocore@x"), Catch::Contains("is not a version"));
  CHECK_THAT(refusal("client", "none@1"), Catch::Contains("has no versions"));
  CHECK_THAT(refusal("client", "envoy@1.30"), Catch::Contains("no versions of \"envoy\""));
  CHECK(refusal("fault", "slwo") ==
        "'slwo' is not among what may go wrong; did you mean \"slow\"?");
}

TEST_CASE(
    "a service that is overloaded before anything goes wrong is refused, asked in any order") {
  const FirstAnswers busy{.rate = 200, .service_time = Duration::milliseconds(50)};
  CHECK(
      refusal("servers", "10", busy) ==
      "200 requests a second of 50ms each keep 10 servers busy, and there are 10: at least 11 are "
      "needed, or the service is overloaded before anything goes wrong");
  CHECK(refusal("servers", "11", busy).empty());
  FirstAnswers known{.service_time = Duration::milliseconds(50), .servers = 4};
  CHECK_THAT(refusal("rate", "100", known), Catch::Contains("there are 4: at least 6 are needed"));
  question("rate").read(known, "79");
  CHECK_THROWS_AS(question("service-time").read(known, "60ms"), BadAnswer);
  CHECK(known.service_time == Duration::milliseconds(50));  // as it was
}
