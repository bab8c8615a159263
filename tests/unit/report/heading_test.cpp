// What a result of a changed scenario is called.
//
// SPDX-License-Identifier: MIT
#include "report/document/heading.hpp"

#include "report/document/json.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {
namespace {

using Changes = std::vector<ScenarioChange>;

LoadedScenario with(Changes changes, std::string description = "A deploy.") {
  LoadedScenario loaded;
  loaded.scenario.name = "deploy";
  loaded.scenario.description = std::move(description);
  loaded.changes = std::move(changes);
  return loaded;
}

Changes many(std::size_t count) {
  Changes changes;
  for (std::size_t i = 1; i <= count; ++i) {
    changes.push_back({"key" + std::to_string(i), std::to_string(i)});
  }
  return changes;
}

TEST_CASE("An unchanged scenario has its own words") {
  const Heading heading = heading_of(with({}));
  CHECK(heading.title == "deploy");
  CHECK(heading.description == "A deploy.");
  CHECK(heading.text() == "deploy: A deploy.");
  CHECK(heading_of(with({}, "")).text() == "deploy");
}

TEST_CASE("A changed scenario says so before the words of the file, or instead of them") {
  const Heading heading = heading_of(with({{"fault.deploy.duration", "90s"}}));
  CHECK(heading.title == "deploy, with fault.deploy.duration = 90s");
  CHECK(heading.description ==
        "Changed from the file: fault.deploy.duration = 90s. Description of the unchanged file: "
        "A deploy.");
  CHECK(heading.text() == "deploy: " + heading.description);
  CHECK(heading_of(with(many(1), "")).description == "Changed from the file: key1 = 1.");
  // Words that came with the change are about the changed scenario.
  LoadedScenario described = with(many(1));
  described.keys.push_back({"description", "\"A deploy.\"", Origin::kSet, "--set"});
  CHECK(heading_of(described).description == "Changed from the file: key1 = 1. A deploy.");
}

TEST_CASE("Long lists and values are shortened") {
  CHECK(heading_of(with(many(3))).title == "deploy, with key1 = 1, key2 = 2 and key3 = 3");
  CHECK(heading_of(with(many(6))).title == "deploy, with key1 = 1, key2 = 2 and 4 more");
  const std::string description = heading_of(with(many(14), "")).description;
  CHECK(description ==
        "Changed from the file: key1 = 1, key2 = 2, key3 = 3, key4 = 4, key5 = 5, key6 = 6, "
        "key7 = 7, key8 = 8, key9 = 9 and 5 more.");
  CHECK(heading_of(with(many(14))).changes.size() == 14);
  std::string long_value;
  for (int i = 0; i < 1000; ++i) long_value += "ä";
  const Heading heading = heading_of(with({{"a", long_value}}));
  CHECK(heading.title.size() < 120);
  CHECK(heading.title.ends_with("ä…"));
  CHECK(heading.changes.front().value == long_value);
}

TEST_CASE("What a result goes through is no change") {
  const LoadedScenario loaded =
      with({{"client.*.count", "9"}, {"drain", "false"}, {"fault.deploy.duration", "90s"}});
  const std::vector<std::string> varied = {"client.web.count", "fault.*.duration"};
  // Other groups keep the 9.
  CHECK(heading_of(loaded, varied).title == "deploy, with client.*.count = 9 and drain = false");
}

TEST_CASE("Several variants are called by what they have in common") {
  const LoadedScenario one = with({{"drain", "false"}, {"mode", "a"}});
  const LoadedScenario other = with({{"drain", "false"}, {"mode", "b"}});
  const LoadedScenario third = with({{"mode", "b"}});
  CHECK(heading_of({&one, &other}).title == "deploy, with drain = false");
  CHECK(heading_of({&one, &other, &third}).title == "deploy");
  CHECK(heading_of({&one}).title == heading_of(one).title);
}

TEST_CASE("result.json has title, description and all changes") {
  const LoadedScenario loaded = with(many(14));
  const auto json = result_head("run", heading_of(loaded), loaded.scenario, 3);
  CHECK(json.at("scenario") == "deploy");
  CHECK(json.at("title") == "deploy, with key1 = 1, key2 = 2 and 12 more");
  CHECK(json.at("description") == heading_of(loaded).description);
  CHECK(json.at("changes").size() == 14);
  CHECK(json.at("changes").at(13) == nlohmann::ordered_json{{"key", "key14"}, {"value", "14"}});
  CHECK_FALSE(result_head("run", heading_of(with({})), loaded.scenario, 3).contains("changes"));
}

}  // namespace
}  // namespace retrysim::report
