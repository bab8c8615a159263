// Which result may take the place of which, and what result.json says of its files.
//
// SPDX-License-Identifier: MIT
#include "report/folder/manifest.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace retrysim;
using namespace retrysim::report;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

LoadedScenario a_scenario(const std::string& duration = "\"600s\"", const std::string& seed = "1",
                          const std::string& replications = "20") {
  LoadedScenario loaded;
  loaded.scenario.name = "s";
  for (const auto& [path, toml] : {std::pair<std::string, std::string>{"name", "\"s\""},
                                   {"duration", duration},
                                   {"seed", seed},
                                   {"replications", replications},
                                   {"warmup", "\"30s\""},
                                   {"expect.works.at_least", "0.5"}}) {
    loaded.keys.push_back({path, toml, Origin::kScenario, ""});
  }
  return loaded;
}

ResultIdentity run_of(const LoadedScenario& loaded) { return identity_of({&loaded}, "run"); }

}  // namespace

TEST_CASE("a result takes the place of the same one and of one with fewer replications") {
  const ResultIdentity good = run_of(a_scenario());
  CHECK(difference(good, run_of(a_scenario())).empty());
  CHECK(difference(good, run_of(a_scenario("\"600s\"", "1", "50"))).empty());
  LoadedScenario other_goal = a_scenario();
  other_goal.keys.back().toml = "0.9";
  CHECK(difference(good, run_of(other_goal)).empty());
  CHECK(difference(good, run_of(a_scenario("600"))).empty());
  CHECK(difference(good, run_of(a_scenario("\"10min\""))).empty());
  ResultIdentity older = good;
  older.version = "0.0.9";
  older.keys.emplace_back("a_key_of_then", "1");
  CHECK(difference(older, good).empty());
}

TEST_CASE("a changed key, seed or length and fewer replications are differences") {
  const ResultIdentity good = run_of(a_scenario());
  CHECK(difference(good, run_of(a_scenario("10"))) == "duration (there \"600s\", now 10)");
  CHECK(difference(good, run_of(a_scenario("\"600s\"", "2"))) == "seed (there 1, now 2)");
  CHECK(difference(good, run_of(a_scenario("\"600s\"", "1", "2"))) ==
        "replications (there 20, now fewer: 2)");
  LoadedScenario more = a_scenario("10", "2", "3");
  more.keys[4].toml = "\"5s\"";
  more.keys.push_back({"drain", "false", Origin::kScenario, ""});
  CHECK(difference(good, run_of(more)) ==
        "duration (there \"600s\", now 10), seed (there 1, now 2), warmup (there \"30s\", now "
        "\"5s\") and 2 more");
  CHECK(difference(run_of(more), good).ends_with("and 1 more"));
}

TEST_CASE("other values to vary are a difference, and so is another command") {
  const LoadedScenario base = a_scenario();
  const auto sweep = [&](const std::string& vary) {
    return identity_of({&base}, "sweep", {"--vary " + vary});
  };
  CHECK(difference(sweep("a=1,2"), sweep("a=1,2")).empty());
  CHECK(difference(sweep("a=1,2"), sweep("a=1,3")) ==
        "what was asked for (there --vary a=1,2; now --vary a=1,3)");
  CHECK(difference(run_of(base), sweep("a=1,2")) == "the command (there run, now sweep)");
  const LoadedScenario short_one = a_scenario("10");
  CHECK(difference(run_of(base), identity_of({&short_one}, "sweep", {"--vary a=1"})) ==
        "the command (there run, now sweep), duration (there \"600s\", now 10)");
}

TEST_CASE("of several variants the keys count that they share") {
  const LoadedScenario a = a_scenario("10"), b = a_scenario("20");
  const ResultIdentity both = identity_of({&a, &b}, "compare", {"--vary duration=10,20"});
  CHECK(difference(identity_of({&b, &a}, "compare", {"--vary duration=10,20"}), both).empty());
  const LoadedScenario c = a_scenario("10", "2"), d = a_scenario("20", "2");
  CHECK(difference(identity_of({&a, &b}, "compare"), identity_of({&c, &d}, "compare")) ==
        "seed (there 1, now 2)");
}

TEST_CASE("the identity of a result comes back from its result.json") {
  const Json keys = {{"duration", "\"600s\""}, {"warmup", "\"12s\""}};
  Json json = {{"scenario", "s"},
               {"version", RETRYSIM_VERSION},
               {"command", "run"},
               {"variants", {{{"keys", keys}, {"warmup", {{"removed_s", 12}}}}}}};
  ResultIdentity found = identity_of(json, "result.json");
  CHECK(found.command == "run");
  CHECK(found.keys.back().second == "\"auto\"");  // what it was asked to find
  json["variants"][0]["warmup"] = nullptr;
  CHECK(identity_of(json, "result.json").keys.back().second == "\"12s\"");
  CHECK(identity_of(json, "result.json").options.empty());
  json["options"] = {"--vary a=1,2", "--twin"};
  found = identity_of(json, "result.json");
  CHECK(found.options == std::vector<std::string>{"--vary a=1,2", "--twin"});
  // One that says nothing of the question is not known to answer it.
  json.erase("command");
  CHECK(difference(identity_of(json, "result.json"), run_of(a_scenario()))
            .starts_with("the command (there an unknown one, now run)"));
  json["variants"] = 7;
  CHECK_THROWS_AS(identity_of(json, "result.json"), DamagedResult);
}

TEST_CASE("result.json says what was asked for, and so the same command may replace it") {
  const test::TemporaryFolder folder;
  const LoadedScenario base = a_scenario();
  const ResultIdentity sweep = identity_of({&base}, "sweep", {"--vary a=1,2", "--shard 1/2"});
  Json keys;
  for (const auto& [name, value] : sweep.keys) keys[name] = value;
  folder.write("result.json", sealed({{"program", "retrysim"},
                                      {"scenario", "s"},
                                      {"version", RETRYSIM_VERSION},
                                      {"keys", keys}},
                                     sweep, {}));
  const Json json = read_sealed(folder.path());
  CHECK(json["command"] == "sweep");
  CHECK(json["options"] == Json({"--vary a=1,2", "--shard 1/2"}));
  CHECK(difference(identity_of(json, "result.json"), sweep).empty());
  CHECK(difference(identity_of(json, "result.json"), run_of(base)) ==
        "the command (there sweep, now run)");
}

TEST_CASE("input files of other content are a difference") {
  const test::TemporaryFolder folder;
  folder.write("load.csv", "time_s\n1\n");
  LoadedScenario loaded = a_scenario();
  loaded.input_files = {folder.path() / "load.csv"};
  const ResultIdentity before = run_of(loaded);
  CHECK(difference(before, run_of(loaded)).empty());
  folder.write("load.csv", "time_s\n2\n");
  CHECK(difference(before, run_of(loaded)) == "the contents of load.csv");
}

TEST_CASE("CRC-32 is that of zip, also piece by piece") {
  CHECK(crc32("") == 0);
  CHECK(crc32("123456789") == 0xCBF43926);
  CHECK(crc32("6789", crc32("12345")) == 0xCBF43926);
  // By zlib.
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(crc32(all) == 0x29058C73);
  for (std::size_t i = 0; i <= all.size(); i += 37) {
    CHECK(crc32(all.substr(i), crc32(all.substr(0, i))) == 0x29058C73);
  }
}

TEST_CASE("every flipped bit of a result is found") {
  const test::TemporaryFolder folder;
  folder.write("a.csv", "a,b\n1,2\n");
  const std::string sealed_text = sealed({{"program", "retrysim"}, {"scenario", "s"}}, "s",
                                         {{"a.csv", 8, crc32("a,b\n1,2\n")}});
  folder.write("result.json", sealed_text);
  const Json json = read_sealed(folder.path());
  const auto records = file_records(json, folder.path());
  REQUIRE(records.size() == 1);
  CHECK(fault_of(folder.path(), records[0]).empty());
  CHECK(json["files"] == Json({"a.csv", "result.json"}));
  for (std::size_t i = 0; i < sealed_text.size(); ++i) {
    std::string bad = sealed_text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.write("result.json", bad);
    CAPTURE(i);
    CHECK_THROWS_AS(read_sealed(folder.path()), DamagedResult);
  }
  folder.write("a.csv", "a,b\n1,3\n");
  CHECK_THAT(fault_of(folder.path(), records[0]), Catch::StartsWith("is damaged: its CRC-32 is"));
  folder.write("a.csv", "a,b\n");
  CHECK(fault_of(folder.path(), records[0]) == "is damaged: it has 4 bytes instead of 8");
  fs::remove(folder.path() / "a.csv");
  CHECK(fault_of(folder.path(), records[0]) == "is missing");
}

TEST_CASE("JSON that is no result is refused with the file's name") {
  const test::TemporaryFolder folder;
  for (const std::string text : {"", "[]", "{", "7", "{\"program\": []}", "{\"program\": \"x\"}"}) {
    folder.write("result.json", text);
    CHECK_THROWS_WITH(read_sealed(folder.path()), Catch::Contains("result.json"));
  }
  folder.write("result.json", std::string(200'000, '['));
  CHECK_THROWS_AS(read_sealed(folder.path()), DamagedResult);
}
