// What the page of a search says first.
//
// SPDX-License-Identifier: MIT
#include "report/page/said.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

Json said_without_tables(Json result) {
  return said_of(result, [](std::string_view) -> const ResultTable* { return nullptr; });
}

TEST_CASE("A map says how many points are in each phase", "[said]") {
  const auto said = [](const std::string& points) {
    const ResultTable table = read_csv("map.csv", "load,phase\n" + points);
    return said_of({{"command", "map"}, {"map", Json::object()}},
                   [&](std::string_view) { return &table; });
  };
  const Json mixed = said("1,safe\n2,safe\n3,dead\n4,vulnerable\n");
  CHECK(mixed.at("headline").at("text") == "Of 4 points, 2 are safe, 1 vulnerable, 1 dead");
  CHECK(mixed.at("headline").at("severity") == "bad");
  CHECK(mixed.at("sentences").size() == 3);
  CHECK(mixed.at("sentences").at(2) ==
        Json({{"severity", "bad"},
              {"text", "1 of 4 points: down without any disturbance"},
              {"who", "dead"}}));
  const Json safe = said("1,safe\n");
  CHECK(safe.at("headline").at("text") == "Of 1 point, 1 is safe");
  CHECK(safe.at("headline").at("severity") == "good");
}

TEST_CASE("A load that goes up and down says where it tips and whether it recovers", "[said]") {
  Json result = {
      {"command", "tip"},
      {"load", {{"path", "client.web.arrivals.total_rate"}, {"unit", "1/s"}, {"values", {1, 5}}}},
      {"tip_load", nullptr},
      {"recover_load", nullptr}};
  const auto first = [&] { return said_without_tables(result).at("sentences").at(0); };
  CHECK(first().at("severity") == "good");
  CHECK(first().at("text") == "Nothing tips up to client.web.arrivals.total_rate = 5 /s.");
  result["tip_load"] = {{"mean", 4.5}, {"ci_low", 4}, {"ci_high", 5}};
  CHECK(first().at("severity") == "bad");
  CHECK(first().at("text") ==
        "Going up, it tips at client.web.arrivals.total_rate = 4.5 /s (4 to 5 /s); coming back, it "
        "never recovers.");
  result["recover_load"] = {{"mean", 2}, {"ci_low", nullptr}, {"ci_high", nullptr}};
  CHECK(first().at("text").get<std::string>().ends_with("coming back, it recovers at 2 /s."));
}

TEST_CASE("The answer comes first, and what explains it is minor", "[said]") {
  const Json advice = said_without_tables(
      {{"command", "advise"},
       {"advice", {{"outcome", "helps"}, {"sentences", {"Best change: a.", "It costs b."}}}}});
  CHECK(advice == Json::parse(R"({"headline":{"severity":"good","text":"Best change: a."},
      "sentences":[{"severity":"good","text":"Best change: a."},
      {"severity":"info","text":"It costs b.","minor":true}]})"));
  const Json curve = said_without_tables({{"command", "tip"},
                                          {"curve",
                                           {{"found", 1},
                                            {"lines", {"mode=none", ""}},
                                            {"sentences", {"mode=none: D50 falls.", "b"}}}},
                                          {"trigger", Json::object()}});
  CHECK(curve.at("sentences").at(0) ==
        Json({{"severity", "info"}, {"text", "D50 falls."}, {"who", "mode=none"}}));
  CHECK(curve.at("sentences").at(1).at("text") == "b");
  CHECK(said_without_tables({{"command", "run"}, {"variants", Json::array()}}).is_null());
}

TEST_CASE("Theory's phase is the answer, and warnings limit it", "[said]") {
  const Json figure = {{"name", "phase"},
                       {"value", "vulnerable"},
                       {"subject", "service.api"},
                       {"meaning", "safe: recovers"}};
  const Json warning = {{"subject", "client.web"},
                        {"keys", "timeout"},
                        {"message", "It is short."},
                        {"remedy", "Make it longer."}};
  const Json said = said_without_tables(
      {{"command", "predict"},
       {"prediction", {{"figures", Json::array({figure})}, {"warnings", Json::array({warning})}}}});
  CHECK(said.at("sentences").at(0) ==
        Json({{"severity", "info"},
              {"text", "vulnerable: would not recover from a large enough disturbance"},
              {"who", "api"}}));
  CHECK(said.at("sentences").at(1).at("text") == "It is short. Make it longer. (timeout)");
}

}  // namespace
}  // namespace retrysim::report
