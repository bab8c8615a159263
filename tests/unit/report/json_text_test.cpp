// JSON that is written from front to back is the same as from a document in memory.
//
// SPDX-License-Identifier: MIT
#include "report/document/json.hpp"

#include <retrysim/error.hpp>

#include "report/folder/manifest.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped_by_library(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

TEST_CASE("JSON text: nested objects and arrays, also empty ones") {
  JsonText text;
  text.begin_object().key("a").begin_array();
  text.begin_object().key("n").integer(18446744073709551615U).key("none").real(std::nullopt);
  text.end_object().text("b").begin_array().end_array().end_array();
  text.key("empty").begin_object().end_object();
  text.key("whole").json({{"x", {1, 2}}, {"y", Json::object()}}).key("list").json(Json::array());
  text.members({{"last", {{"deep", {"two\nlines"}}}}, {"end", true}}).end_object();
  Json json;
  json["a"] = {{{"n", 18446744073709551615U}, {"none", nullptr}}, "b", Json::array()};
  json["empty"] = Json::object();
  json["whole"] = {{"x", {1, 2}}, {"y", Json::object()}};
  json["list"] = Json::array();
  json["last"] = {{"deep", {"two\nlines"}}};
  json["end"] = true;
  CHECK(text.take() == dumped_by_library(json));
}

TEST_CASE("JSON text: strings are escaped and repaired as by the library") {
  for (const std::string value : {"", "plain ~", "\"", "back\\slash", "\ttab\n", "\x01\x1f\x7f",
                                  "é", "broken \xff\xc3", "</script>"}) {
    JsonText text;
    text.begin_object().key(value).text(value).end_object();
    Json json;
    json[value] = value;
    CHECK(text.take() == dumped_by_library(json));
  }
}

TEST_CASE("JSON text: numbers are those of the library") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {0.0,    -0.0, 0.0,     1,       1,         -1,        0.1,
                                1e15,   1e16, 1e-4,    1e-5,    1.5e300,   kInfinity, -kInfinity,
                                5e-324, 2e9,  1.0 / 3, 1.0 / 3, 123456.789};
  std::mt19937_64 bits(7);
  for (int i = 0; i < 20000; ++i) {
    values.push_back(static_cast<double>(bits() % 1000000007) / 997);
    values.push_back(std::bit_cast<double>(bits()));
  }
  JsonText text;
  text.begin_array();
  Json json = Json::array();
  for (const double value : values) {
    text.real(value);
    json.push_back(value);
  }
  text.end_array();
  CHECK(text.take() == dumped_by_library(json));
}

// Each value is a step at which the work may end, so that no size of a result keeps --timeout
// waiting.
TEST_CASE("JSON text: writing and reading end when they are asked to") {
  std::atomic<bool> stop{false};
  const retrysim::StopScope scope(&stop);
  retrysim::test::TemporaryFolder folder;
  const auto write = [] {
    JsonText text;
    text.begin_object();
    for (int i = 0; i < 10'000; ++i) text.key(std::to_string(i)).integer(1);
    text.end_object();
    return text.take();
  };
  std::ofstream(folder.path() / "large.json") << write();
  CHECK(read_json(folder.path() / "large.json").size() == 10'000);
  stop = true;
  CHECK_THROWS_AS(write(), retrysim::Interrupted);
  CHECK_THROWS_AS(read_json(folder.path() / "large.json"), retrysim::Interrupted);
}

TEST_CASE("JSON of results: looking for what is left out ends when it is asked to") {
  std::atomic<bool> stop{false};
  const retrysim::StopScope scope(&stop);
  std::string text = "{\n  \"summary\": [";
  for (int i = 0; i < 50'000; ++i) text += "\n    1,";
  text += "\n    1\n  ],\n  \"last\": 3\n}\n";
  constexpr std::array<std::string_view, 1> kSkip = {"summary"};
  CHECK(json_in("a.json", text, kSkip) == Json({{"last", 3}}));
  stop = true;
  CHECK_THROWS_AS(json_in("a.json", text, kSkip), retrysim::Interrupted);
}

TEST_CASE("JSON of results: what is left out is left out of a sealed text, too") {
  // Texts and names that look like members of the outermost object, but are inside of one.
  Json json;
  json["program"] = "retrysim";
  json["summary"] = {{{"text", "\n  \"keys\": 1"}, {"keys", {{"summary", 1}}}}, {}};
  json["keys"] = {{"summary", 2}, {"phases", Json::array({1, Json::object()})}};
  json["phases"] = Json::array();
  json["last"] = 3;
  const std::string text = sealed(json, ResultIdentity("a"), {});
  retrysim::test::TemporaryFolder folder;
  const auto file = folder.path() / "result.json";
  std::ofstream(file) << text;
  constexpr std::array<std::string_view, 4> kSkip = {"summary", "phases", "absent", "files"};
  Json without = Json::parse(text);
  for (const std::string_view name : kSkip) without.erase(std::string(name));
  CHECK(read_json(file, kSkip).dump() == without.dump());
  CHECK(json_in(file, text, kSkip).dump() == without.dump());

  std::string damaged = text;  // inside of what would be left out
  damaged.replace(damaged.find("\"text\""), 1, "!");
  std::ofstream(file) << damaged;
  CHECK_THROWS_AS(read_json(file, kSkip), DamagedResult);
}

TEST_CASE("JSON of results: members keep their order, and some are left out") {
  retrysim::test::TemporaryFolder folder;
  const auto file = folder.path() / "a.json";
  const std::string text =
      R"({"z": [1, -2, 2.5, null, true], "skip": {"z": [[1], {}]}, "a": {"y": "x", "b": []}})";
  std::ofstream(file) << text;
  CHECK(read_json(file) == Json::parse(text));
  constexpr std::array<std::string_view, 2> kSkip = {"skip", "y"};
  Json without = Json::parse(text);
  without.erase("skip");
  CHECK(read_json(file, kSkip) == without);
  CHECK(read_json(file, kSkip).dump() == without.dump());
  for (const char* damaged : {"", "{", "[1]", "3", "{\"a\": }", "{} {}"}) {
    INFO(damaged);
    std::ofstream(file) << damaged;
    CHECK_THROWS_AS(read_json(file), DamagedResult);
  }
  std::ofstream(file) << "{\"a\": " << std::string(100, '[') << std::string(100, ']') << "}";
  CHECK_THROWS_AS(read_json(file), DamagedResult);
}

}  // namespace
}  // namespace retrysim::report
