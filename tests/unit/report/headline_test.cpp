// What a page says first of a result, in one sentence.
//
// SPDX-License-Identifier: MIT
#include "report/page/said.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

Json verdict(const std::string& client, const std::string& severity, const std::string& sentence,
             const std::string& fate = "") {
  Json json = {{"variant", "base"},
               {"client", client},
               {"rule", "recovers"},
               {"severity", severity},
               {"sentence", sentence}};
  if (!fate.empty()) json["fate"] = fate;
  return json;
}

const Json kNothingSaid = {
    {"first", Json::array()}, {"blocks", Json::array()}, {"common", Json::array()}};

Json headline(const std::vector<Json>& verdicts, const std::vector<std::string>& told,
              const Json& answer = kNothingSaid) {
  std::vector<const Json*> all;
  for (const Json& one : verdicts) all.push_back(&one);
  return headline_of_run(all, told, answer);
}

TEST_CASE("Groups with the same fate are told once, the worst fate first", "[page]") {
  const Json said = headline({verdict("web", "good", "", "back 5.6 s after the fault"),
                              verdict("batch", "bad", "", "never back"),
                              verdict("cron", "good", "", "back 820 ms after the fault"),
                              verdict("app", "good", "", "back 2 minutes after the fault")},
                             {"web", "batch", "cron", "app"});
  CHECK(said ==
        Json{{"severity", "bad"},
             {"fates", Json::array({Json{{"who", "batch"}, {"text", "never back"}},
                                    Json{{"who", "web, cron, app"},
                                         {"text", "back 820 ms to 2 minutes after the fault"}}})}});
}

TEST_CASE("Of many groups with one fate the first few are named", "[page]") {
  std::vector<Json> verdicts;
  std::vector<std::string> told;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    verdicts.push_back(verdict(name, "info", "", "12 % succeed"));
    told.emplace_back(name);
  }
  CHECK(headline(verdicts, told).at("fates").at(0).at("who") == "a, b, c, 3 more");
  CHECK(headline(verdicts, {"a", "b", "c", "d"}).at("fates").at(0).at("who") == "a, b, c, d");
}

TEST_CASE("A single group is answered by its whole sentence, a graph by the line on all",
          "[page]") {
  const Json web = verdict("web", "info", "back 5 s after the fault, with 3 % lost", "back");
  CHECK(headline({web}, {"web"}) ==
        Json{{"severity", "info"}, {"text", "back 5 s after the fault, with 3 % lost"}});
  CHECK(headline({verdict("all", "bad", "db is out of capacity"), web}, {"web"}) ==
        Json{{"severity", "bad"}, {"text", "db is out of capacity"}});
}

TEST_CASE("Results without fates are told by what sentences say before their reasons", "[page]") {
  const Json said = headline({verdict("web", "bad", "does not recover: 3 of 4 runs stay down"),
                              verdict("batch", "bad", "does not recover (2 of 4 runs)")},
                             {"web", "batch"});
  CHECK(said.at("fates").at(0) == Json{{"who", "web, batch"}, {"text", "does not recover"}});
}

TEST_CASE("Without verdicts on the groups that are told apart, what is said first stands",
          "[page]") {
  Json answer = kNothingSaid;
  CHECK(headline({}, {"web"}, answer).is_null());
  answer["blocks"].push_back({{"severity", "good"}, {"sentence", "all is well"}});
  CHECK(headline({}, {"web"}, answer) == Json{{"severity", "good"}, {"text", "all is well"}});
}

TEST_CASE("A unit belongs to its number only as a whole word", "[page]") {
  const Json said = headline({verdict("web", "bad", "", "5 servers of 10 ms"),
                              verdict("batch", "bad", "", "7 servers of 9 ms")},
                             {"web", "batch"});
  CHECK(said.at("fates").at(0).at("text") == "5 to 7 servers of 9 ms to 10 ms");
}

Json compared(const std::vector<Json>& verdicts, const Json& sentences) {
  const Json clients = Json::array({Json::object({{"name", "web"}})});
  return said_of({{"command", "compare"},
                  {"variants", Json::array({Json{{"variant", "a"}, {"clients", clients}}})},
                  {"verdicts", verdicts},
                  {"comparison", Json::object({{"sentences", sentences}})}},
                 [](std::string_view) { return nullptr; });
}

Json of_variant(const std::string& variant, const std::string& fate) {
  Json json = verdict("web", "info", fate + ": why", fate);
  json["variant"] = variant;
  return json;
}

TEST_CASE("A comparison begins with the fates where they differ, else with the difference",
          "[page]") {
  const Json sentences = Json::array({"b costs more (12 %). It waits.",
                                      "b raises the success rate by 3 points (2 to 4). Why not."});
  CHECK(compared({of_variant("a", "back"), of_variant("b", "not back")}, sentences)
            .at("headline")
            .at("fates")
            .at(1) == Json{{"who", "b"}, {"text", "not back"}});
  const Json alike = compared({of_variant("a", "back"), of_variant("b", "back")}, sentences);
  CHECK(alike.at("headline").at("text") == "b raises the success rate by 3 points (2 to 4)");
  CHECK(alike.at("sentences").size() == 2);
  CHECK(compared({of_variant("a", "back"), of_variant("b", "back")}, Json::array())
            .at("headline")
            .at("text") == "No difference between the variants is significant.");
}

}  // namespace
}  // namespace retrysim::report
