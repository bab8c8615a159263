// What edits have changed in a scenario file, as headings name it.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/changes.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/scenario_reader.hpp"
#include "unit/scenario/loading.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace retrysim {
namespace {

const std::string kTwoGroups = kSmall + R"([client.app]
arrivals = { process = "poisson", rate = 7 }
retry.mode = "none"
[fault.dip]
start = "2s"
duration = "1min"
capacity = 0.5
)";

/// "path = value" of each change.
std::vector<std::string> changes_of(const Edits& edits, const Edits& variant_edits = {}) {
  const LoadResult read = load_scenario_text(kTwoGroups, "demo.toml", "", edits, variant_edits);
  INFO(errors_of(read));
  REQUIRE(read.loaded);
  std::vector<std::string> texts;
  for (const ScenarioChange& change : read.loaded->changes) {
    texts.push_back(change.path + " = " + change.value);
  }
  return texts;
}

using Changes = std::vector<std::string>;

TEST_CASE("An edit that changes the system is a change, in the order of the edits") {
  CHECK(changes_of({}).empty());
  CHECK(changes_of({"fault.dip.duration=90s", "client.*.retry.mode=standard"}) ==
        Changes{"fault.dip.duration = 90s", "client.*.retry.mode = standard"});
  CHECK(changes_of({"\"fault\".dip.duration = \"90s\" "}) == Changes{"fault.dip.duration = 90s"});
  CHECK(changes_of({"drain=false"}, {"fault.dip.capacity=0.25"}) ==
        Changes{"drain = false", "fault.dip.capacity = 0.25"});
}

TEST_CASE("An edit without effect is no change") {
  // The file says the same, in these words or others.
  CHECK(changes_of({"fault.dip.duration=60s"}).empty());
  CHECK(changes_of({"client.web.arrivals.rate=5.0"}).empty());
  CHECK(changes_of({"client.*.retry.mode=none"}).empty());
  // Of several edits the last one counts.
  CHECK(changes_of({"fault.dip.duration=90s", "fault.dip.duration=60s"}).empty());
  CHECK(changes_of({"fault.dip.duration=90s", "drain=false", "fault.dip.duration=30s"}) ==
        Changes{"drain = false", "fault.dip.duration = 30s"});
  CHECK(changes_of({"fault.dip.duration=90s"}, {"fault.dip.duration=60s"}).empty());
  CHECK(changes_of({"client.*.arrivals.rate=6", "client.web.arrivals.rate=5"}) ==
        Changes{"client.*.arrivals.rate = 6"});
  CHECK(
      changes_of({"fault.dip.capacity=0.1", "fault.dip={start='2s', duration='60s', capacity=0.5}"})
          .empty());
}

TEST_CASE("What says nothing of the system is no change") {
  CHECK(changes_of({"name=other", "description=Another one", "seed=7", "replications=13",
                    "precision=0.1", "max_replications=40",
                    "expect.quick={metric='success_rate', at_least=0.5}",
                    "expect.quick.at_least=0.6", "phase.x={start='1s', end='2s'}"})
            .empty());
  CHECK(scenario::describes_system("duration"));
  CHECK(scenario::describes_system("client.name.retry.mode"));
  CHECK_FALSE(scenario::describes_system("seed"));
  // A result with another seed is another one.
  CHECK(scenario::changes_a_run("seed"));
  CHECK_FALSE(scenario::changes_a_run("expect.quick.at_least"));
  CHECK_FALSE(scenario::changes_a_run("expect"));
  CHECK(scenario::changes_a_run("client.expect.count"));
}

TEST_CASE("A value stays on one line that a terminal may show") {
  CHECK(changes_of({"service.api.service_time={distribution='constant', mean='5ms'}"}) ==
        Changes{"service.api.service_time = {distribution='constant', mean='5ms'}"});
  CHECK(changes_of({"client.web.calls=\"api\""}) == Changes{"client.web.calls = api"});
  const scenario::Node file, edited = [] {
    scenario::Node root, value;
    value.kind = scenario::Node::Kind::kText;
    value.text = "x";
    root.members.push_back({"drain", {}, value});
    return root;
  }();
  CHECK(scenario::changes_between(file, edited, {"drain='\x1b[2J\n\xe2\x80\xae\xff'"})
            .front()
            .value == "'\\x1B[2J\\n\\u202E\\xFF'");
  CHECK(scenario::changes_between(file, edited, {"no edit", "..=1", "drain"}).empty());
}

TEST_CASE("Later changes replace earlier ones of the same path") {
  std::vector<ScenarioChange> changes = {{"a", "1"}, {"b", "2"}};
  scenario::add_changes(changes, {{"a", "3"}, {"c", "4"}});
  CHECK(changes == std::vector<ScenarioChange>{{"b", "2"}, {"a", "3"}, {"c", "4"}});
}

TEST_CASE("Paths may name the same key") {
  CHECK(scenario::may_be_same("client.*.count", "client.web.count"));
  CHECK_FALSE(scenario::may_be_same("client.*.count", "client.web.retry.count"));
  CHECK_FALSE(scenario::may_be_same("client.app.count", "client.web.count"));
}

}  // namespace
}  // namespace retrysim
