// A page asks, the engine answers: the same result as that of a folder, mistakes with their places,
// limits in words, and no text that ends the element that it is in.
//
// SPDX-License-Identifier: MIT
#include "browser/engine.hpp"

#include <retrysim/compare.hpp>
#include <retrysim/run.hpp>

#include "report/comparison.hpp"
#include "report/folder/result_folder.hpp"
#include "report/page/page.hpp"
#include "report/run/text.hpp"
#include "scenario_of.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::browser {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOutage = R"(name = "outage"
description = "</script><img src=x>"
duration = "20s"
warmup = "2s"
replications = 2
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "20ms" }
queue.capacity = 60
[fault.down]
service = "api"
start = "6s"
duration = "3s"
capacity = 0
[client.web]
calls = "api"
arrivals = { process = "poisson", total_rate = 40 }
attempt_timeout = "400ms"
retry = { mode = "standard", max_attempts = 3 }
)";

/// With a load that a file gives.
constexpr const char* kTraced = R"(name = "traced"
duration = "20s"
service.api = { servers = 4, service_time = "10ms" }
[client.web]
calls = "api"
arrivals = { process = "trace", file = "load.csv" }
retry = { mode = "none" }
)";

std::string text_answered(Json request) { return answer(request.dump()); }

Json answered(Json request) { return Json::parse(text_answered(std::move(request))); }

Json run_of(const char* toml) { return {{"ask", "run"}, {"toml", toml}}; }

TEST_CASE("The engine's result is that of the folder") {
  const Json answer = answered(run_of(kOutage));

  LoadResult read = load_scenario_text(kOutage, "scenario", ".");
  REQUIRE(read.loaded);
  ReplicationOptions options;
  options.fingerprint = true;
  report::ResultSet results{*read.loaded, "base", run_replications(read.loaded->scenario, options)};
  const report::Evaluation evaluation(results);
  const test::TemporaryFolder temporary;
  report::ResultFolder folder(temporary.path() / "outage",
                              report::identity_of({&*read.loaded}, "run"), false);
  report::run_document(evaluation).write_files(folder);
  const report::PageResult page = report::read_page_result(folder.path(), 1'800'000);

  REQUIRE(answer.at("result") == Json::parse(page.metadata));
  REQUIRE(answer.at("series") == Json::parse(page.series));
  REQUIRE(answer.at("series").at(0).at("c").at("web").size() > 3);
  REQUIRE(answer.at("fingerprint") == fmt::format("{:016x}", combined_fingerprint(results.runs)));
  REQUIRE(answer.at("events") == results.runs[0].events + results.runs[1].events);
}

TEST_CASE("A comparison is that of the folder") {
  const std::vector<std::string> vary = {"client.web.retry.max_attempts=3,1"};
  Json request = run_of(kOutage);
  request["ask"] = "compare";
  request["vary"] = vary;
  const Json answer = answered(request);

  std::vector<NamedScenario> variants;
  for (const Variant& v : grid(parse_variations(vary).variations)) {
    LoadResult read = load_scenario_text(kOutage, "scenario", ".", v.edits);
    variants.push_back({v.name, std::move(read.loaded.value())});
  }
  const test::TemporaryFolder temporary;
  report::ResultFolder folder(
      temporary.path() / "outage",
      report::identity_of({&variants[0].loaded, &variants[1].loaded}, "compare",
                          {"--vary client.web.retry.max_attempts=3,1"}),
      false);
  Comparison comparison = compare(std::move(variants));
  std::vector<report::ResultSet> sets;
  for (ComparedVariant& v : comparison.variants) sets.push_back(report::result_set_of(v));
  const std::vector<report::Evaluation> evaluations(sets.begin(), sets.end());
  report::Document document =
      report::comparison_document({comparison, evaluations, false, vary, false});
  for (const report::Evaluation& e : evaluations) document.scenario_file(e.set.scenario);
  document.write_files(folder);
  const report::PageResult page = report::read_page_result(folder.path(), 1'800'000);

  Json there = Json::parse(page.metadata);
  there["files"] = answer.at("result").at("files");  // there each variant has a file
  REQUIRE(answer.at("result") == there);
  REQUIRE(answer.at("series") == Json::parse(page.series));
  REQUIRE(answer.at("result").at("variants").size() == 2);
}

TEST_CASE("Mistakes in the variants of a comparison have their places") {
  Json request = run_of(kOutage);
  request["ask"] = "compare";
  for (const char* vary :
       {"client.web.retry.max_attempts", "client.web.retry.mode=standard,fast"}) {
    request["vary"] = {vary};
    REQUIRE(answered(request).at("errors").size() == 1);
  }
  request.erase("vary");
  REQUIRE(answered(request).at("failure") == "a comparison needs two variants or more");
}

TEST_CASE("The files of a run are those of the folder") {
  Json request = run_of(kOutage);
  request["ask"] = "files";
  const Json files = answered(request).at("files");
  LoadResult read = load_scenario_text(kOutage, "scenario", ".");
  REQUIRE(read.loaded);
  report::ResultSet results{*read.loaded, "base", run_replications(read.loaded->scenario)};
  const report::Evaluation evaluation(results);
  const test::TemporaryFolder temporary;
  report::ResultFolder folder(temporary.path() / "outage",
                              report::identity_of({&*read.loaded}, "run"), false);
  report::run_document(evaluation).write_files(folder);
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = file.path().filename().string();
    if (name == "result.json") continue;
    INFO(name);
    std::ifstream stream(file.path());
    const std::string there{std::istreambuf_iterator<char>(stream), {}};
    REQUIRE(files.at(name) == there);
  }
  REQUIRE(files.contains("timeseries.csv"));
}

TEST_CASE("Edits of a page are those of --set") {
  Json request = run_of(kOutage);
  request["edits"] = {"replications=1", "fault.down.duration=5s"};
  const Json edited = answered(request);
  REQUIRE(edited.at("result").at("replications") == 1);
  REQUIRE(edited.at("fingerprint") != answered(run_of(kOutage)).at("fingerprint"));
  request["edits"] = {"replications=1", "fault.down.duration=3s"};
  const std::string back = answered(request).at("fingerprint");
  request["edits"] = {"replications=1"};
  REQUIRE(answered(request).at("fingerprint") == back);
}

TEST_CASE("Mistakes have their places") {
  std::string late = kOutage;
  late.replace(late.find("20s"), 3, "soon");
  Json request = run_of(late.c_str());
  const Json errors = answered(request).at("errors");
  REQUIRE(errors.at(0).at("line") == 3);
  REQUIRE(errors.at(0).at("column") == 12);
  REQUIRE(errors.at(0).at("source_line") == "duration = \"soon\"");
  REQUIRE(errors.at(0).at("message").get<std::string>().starts_with("duration = "));
  request = run_of(kOutage);
  request["edits"] = {"client.web.retry.max_attempts=0"};
  REQUIRE(answered(request).at("errors").at(0).at("file") == "--set");
  REQUIRE(answered(run_of("= =")).at("errors").size() == 1);
}

TEST_CASE("CSV inputs come with the request, and from nowhere else") {
  Json request = run_of(kTraced);
  const std::string message = answered(request).at("errors").at(0).at("message");
  REQUIRE(message.find("is not among the files that came with the scenario") != std::string::npos);
  request["files"] = {{"load.csv", "time_s,rate\n0,40\n10,80\n20,80\n"}};
  const Json result = answered(request).at("result");
  REQUIRE(result.at("scenario") == "traced");
  REQUIRE(std::count(result.at("files").begin(), result.at("files").end(), "load.csv") == 1);
  // Outside of a page this is a file that everybody can read.
  for (const char* path : {"/etc/hostname", "../../../../../../etc/hostname"}) {
    request["edits"] = {fmt::format("client.web.arrivals.file={}", path)};
    const std::string refused = answered(request).at("errors").at(0).at("message");
    REQUIRE(refused.find("is not among the files") != std::string::npos);
  }
}

TEST_CASE("What cannot be answered is said in words") {
  Json request = run_of(kOutage);
  request["max_events"] = 100;
  REQUIRE(answered(request).at("failure").get<std::string>().find("events") != std::string::npos);
  request = run_of(kOutage);
  request["edits"] = {"client.web.count=1000000000"};
  REQUIRE(answered(request).contains("failure"));
  REQUIRE(answered({{"ask", "fly"}, {"toml", ""}}).at("failure") ==
          "'fly' is no question; expected one of run, files, compare, describe, offers");
  for (const char* text : {"", "[", "[]", "{}", "{\"ask\": 1, \"toml\": 2}"}) {
    REQUIRE(Json::parse(answer(text)).at("failure") == "the request cannot be understood");
  }
}

TEST_CASE("An answer has no markup in it") {
  REQUIRE(text_answered(run_of(kOutage)).find('<') == std::string::npos);
  REQUIRE(answered(run_of(kOutage)).at("result").at("description") == "</script><img src=x>");
  REQUIRE(text_answered(run_of("<script>alert(1)</script>")).find('<') == std::string::npos);
}

TEST_CASE("A scenario is described by its keys") {
  const Json keys = answered({{"ask", "describe"}, {"toml", kOutage}}).at("keys");
  const auto key = [&](const char* path) {
    for (const Json& row : keys) {
      if (row.at("path") == path) return row;
    }
    return Json();
  };
  const Json attempts = key("client.web.retry.max_attempts");
  REQUIRE(attempts.at("toml") == "3");
  REQUIRE(attempts.at("kind") == "count");
  REQUIRE(attempts.at("min") == 1);
  REQUIRE(attempts.at("origin") == "scenario");
  REQUIRE_FALSE(attempts.at("meaning").get<std::string>().empty());
  const Json mode = key("client.web.retry.mode");
  const std::vector<std::string> words = mode.at("words");
  REQUIRE(std::count(words.begin(), words.end(), "adaptive") == 1);
  REQUIRE(key("service.api.queue.capacity").at("others").at(0) == "unlimited");
  REQUIRE(key("client.web.mutating").at("max") == 1);
  const std::vector<std::string> sdks = key("client.web.retry.sdk").at("words");
  REQUIRE(std::count(sdks.begin(), sdks.end(), "botocore") == 1);
  REQUIRE(std::count(sdks.begin(), sdks.end(), "java-v2") == 1);
  REQUIRE(key("client.web.retry.quota.capacity").at("origin") == "preset");
}

TEST_CASE("An offer that the scenario cannot have is refused with the reason") {
  const Json request = {{"ask", "offers"},
                        {"toml", kOutage},
                        {"edits", {"client.web.retry.max_attempts=4"}},
                        {"offers",
                         {{"client.web.retry.mode=legacy"},
                          {"service.api.servers=-1"},
                          {"service.api.servers=3", "fault.down.capacity=0.5"},
                          {"client.web.retry.delays=['1s']"},
                          Json::array()}}};
  const Json refusals = answered(request).at("refusals");
  REQUIRE(refusals.size() == 5);
  CHECK(refusals.at(0).is_null());
  CHECK(refusals.at(1).get<std::string>().find("servers") != std::string::npos);
  CHECK(refusals.at(2).is_null());
  CHECK(refusals.at(3).is_string());
  CHECK(refusals.at(4).is_null());
  // Where nothing can be read, every offer is refused.
  CHECK(answered({{"ask", "offers"}, {"toml", "x"}, {"offers", {{"seed=1"}}}})
            .at("refusals")
            .at(0)
            .is_string());
}

TEST_CASE("A changed scenario is called so, also where its text has the change already") {
  Json request = run_of(kOutage);
  const auto title = [&] { return answered(request).at("result").at("title"); };
  CHECK(title() == "outage");
  request["edits"] = {"replications=1", "fault.down.duration=4s"};
  CHECK(title() == "outage, with fault.down.duration = 4s");
  CHECK(text_answered(request).find('<') == std::string::npos);
  request["changes"] = {{{"key", "fault.down.duration"}, {"value", "3s"}},
                        {{"key", "service.api.servers"}, {"value", "</script>"}}};
  CHECK(title() == "outage, with service.api.servers = </script> and fault.down.duration = 4s");
  CHECK(text_answered(request).find('<') == std::string::npos);
  request["ask"] = "compare";
  request["vary"] = {"client.web.retry.max_attempts=2,3"};
  CHECK(title() == "outage, with service.api.servers = </script> and fault.down.duration = 4s");
}

}  // namespace
}  // namespace retrysim::browser
