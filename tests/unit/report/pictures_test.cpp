// SPDX-License-Identifier: MIT
#include "report/pictures/pictures.hpp"

#include "report/pictures/draft.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

std::vector<std::string> tick_texts(const Json& axis) {
  Strings texts;
  for (const Json& tick : axis.at("ticks")) texts.push_back(tick[1]);
  return texts;
}

Json pictures_from(const Json& result, const std::map<std::string, std::string>& tables) {
  std::map<std::string, ResultTable> read;
  for (const auto& [name, text] : tables) read.emplace(name, read_csv(name, text));
  return pictures_of(result, [&](std::string_view name) {
    const auto found = read.find(std::string(name));
    return found == read.end() ? nullptr : &found->second;
  });
}

TEST_CASE("Keys are called by words, with the unit of the numbers beside them", "[pictures]") {
  CHECK(key_words("client.java.arrivals.total_rate", "1/s") == "offered load, requests/s");
  CHECK(key_words("client.web.surge.peak.duration", "s") == "length of the surge, s");
  CHECK(key_words("fault.*.duration") == "length of the fault");
  CHECK(key_words("no.such.key", "1/s") == "no.such.key, 1/s");
  CHECK(key_words("no.such.key", "1") == "no.such.key");
}

TEST_CASE("Rows are found by the texts that they have", "[pictures]") {
  using Numbers = std::vector<std::size_t>;
  const ResultTable table =
      read_csv("t.csv", "client,kind,value\na,x,1\nb,x,2\na,y,3\na,x,4\n,x,5\n");
  const PictureRows rows(&table);
  CHECK(rows.having({{"client", "a"}, {"kind", "x"}}) == Numbers{0, 3});
  CHECK(rows.having({{"client", "b"}, {"kind", "x"}}) == Numbers{1});
  CHECK(rows.having({{"client", "b"}, {"kind", "y"}}).empty());
  CHECK(rows.having({{"client", ""}}) == Numbers{4});
  CHECK(rows.having({{"value", "3"}}) == Numbers{2});
  CHECK(rows.having({{"kind", "x"}, {"client", Json::array({"b", "a"})}}) == Numbers{0, 1, 3});
  CHECK(rows.having(Json::object()) == Numbers{0, 1, 2, 3, 4});
  CHECK(rows.having({{"nowhere", ""}}) == Numbers{0, 1, 2, 3, 4});
  CHECK(rows.having({{"nowhere", "a"}}).empty());
  CHECK(rows.having({{"value", 3}}).empty());
  CHECK(rows.having({{"kind", Json::array({1, "y"})}}) == Numbers{2});
  CHECK(PictureRows().having(Json::object()).empty());
}

TEST_CASE("Numbers in pictures are written as people write them", "[pictures]") {
  CHECK(picture_digits(0) == "0");
  CHECK(picture_digits(1234.56) == "1235");
  CHECK(picture_digits(-12345) == "-12,345");
  CHECK(picture_digits(1234567) == "1,234,567");
  CHECK(picture_digits(0.012345) == "0.0123");
  CHECK(picture_digits(0.00000012345) == "0.000000123");
  CHECK(picture_digits(-3.18e9) == "-3.18 billion");
  CHECK(picture_digits(3.18e14) == "318 trillion");
  CHECK(picture_seconds(0.25) == "250 ms");
  CHECK(picture_quantity(0.99999, "1", true) == "99.999 %");
  CHECK(picture_range(1.25, 1.75, "s") == "1.25 to 1.75 s");
  CHECK(picture_range(0.5, 1.75, "s") == "500 ms to 1.75 s");
}

TEST_CASE("Values that are tables are called by what differs", "[pictures]") {
  CHECK(value_labels({R"({distribution="constant",mean="100ms"})",
                      R"({distribution="exponential",mean="100ms"})"}) ==
        Strings{"constant", "exponential"});
  CHECK(value_labels({R"({ distribution = "lognormal", mean = "1s", cv = 2 })",
                      R"({ distribution = "lognormal", mean = "1s", cv = 4 })"}) ==
        Strings{"cv 2", "cv 4"});
  CHECK(value_labels({"a", "a"}) == Strings{"a", "a (2)"});
  const VariantLabels named =
      variant_labels({R"(service_time={distribution="constant",mean="1s"} mode=none)",
                      R"(service_time={distribution="exponential",mean="1s"} mode=none)"});
  CHECK(named.keys == Strings{"service_time", "mode"});
  CHECK(named.labels == Strings{"constant none", "exponential none"});
}

TEST_CASE("A herd does not flatten the axis of a load", "[pictures]") {
  const Json flat = upright_axis({"", "1/s"}, 110, 100);
  CHECK(flat.at("scale") == "linear");
  const Json herd = upright_axis({"", "1/s"}, 20'000, 100);
  CHECK(herd.at("scale") == "stretched");
  CHECK(tick_texts(herd) == Strings{"0", "100", "1000", "10,000"});
  CHECK(tick_texts(upright_axis({"", "1", true}, 1)) ==
        Strings{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"});
}

TEST_CASE("A sweep over tables has their labels on its axis", "[pictures]") {
  const Json result = {{"title", "t"},
                       {"replications", 3},
                       {"sweep",
                        {{"keys", {"service.*.service_time"}},
                         {"metrics", {{"goodput", {{"label", "goodput"}, {"unit", "1/s"}}}}}}}};
  const std::string points =
      "variant,service.*.service_time,goodput,goodput_ci_low,goodput_ci_high\n"
      "a,\"{distribution=\"\"constant\"\",mean=\"\"1s\"\"}\",1,,\n"
      "b,\"{distribution=\"\"exponential\"\",mean=\"\"1s\"\"}\",2,,\n";
  Json pictures = pictures_from(result, {{"points.csv", points}});
  REQUIRE(pictures.size() == 1);
  const Json& panel = pictures[0].at("panels").at(0);
  CHECK(panel.at("title") == "Goodput");
  CHECK(panel.at("x").at("label") == "mean service time");
  CHECK(panel.at("x").at("names")[0][1] == "constant");
  CHECK(panel.at("x").at("names")[1][1] == "exponential");
  // A page has the figures beside the words.
  const ResultTable table = read_csv("points.csv", points);
  add_points(pictures, [&](std::string_view) { return &table; });
  const Json& series = pictures[0].at("panels").at(0).at("series").at(0);
  CHECK(series.at("points") == Json::parse("[[0,1.0,null,null],[1,2.0,null,null]]"));
  CHECK(series.at("names") == Json::parse(R"(["a","b"])"));
}

TEST_CASE("Shares in a comparison stay between none and all, and names do not lie on each other",
          "[pictures]") {
  std::string summary = "variant,client,metric,mean,ci_low,ci_high\n";
  for (const auto& [variant, work] :
       {std::pair("mode=none", 1), std::pair("mode=legacy", 3), std::pair("mode=standard", 3)}) {
    summary +=
        fmt::format("{0},all,success_rate,0,,\n{0},all,amplification,{1},,\n", variant, work);
  }
  const Json result = {
      {"title", "t"},
      {"comparison", {{"metrics", Json::object()}}},
      {"variants",
       {{{"variant", "mode=none"}}, {{"variant", "mode=legacy"}}, {{"variant", "mode=standard"}}}}};
  const std::string compare =
      "variant,client,metric,unit,difference,ci_low,ci_high,relative_difference,"
      "relative_ci_low,relative_ci_high,significant\n"
      "mode=legacy,all,amplification,1,2,1.9,2.1,2,1.9,2.1,yes\n"
      "mode=standard,all,amplification,1,2,1.9,2.1,2,1.9,2.1,yes\n";
  Json pictures = Json::array();
  const ResultTable table = read_csv("compare.csv", compare);
  const ResultTable means = read_csv("summary.csv", summary);
  const PictureTables tables = [&](std::string_view name) {
    return name == "compare.csv" ? &table : name == "summary.csv" ? &means : nullptr;
  };
  add_comparison_picture(pictures, PictureResult(result, tables));
  const Json& work = pictures.at(0).at("panels").back();
  CHECK(work.at("y").at("low") == 0);
  CHECK(work.at("y").at("high") <= 1.03);
  Strings labels;
  for (const Json& series : work.at("series")) labels.push_back(series.at("label"));
  CHECK(labels == Strings{"none", "legacy, standard", ""});
  // The longest number beside a bar has room.
  const Json& x = pictures.at(0).at("panels").at(0).at("x");
  CHECK(x.at("high") >= 210 * 1.25);
}

TEST_CASE("Ticks stand at the values that were gone through where their texts have room",
          "[pictures]") {
  CHECK(tick_texts(swept_axis({"load"}, {500, 600, 700})) == Strings{"500", "600", "700"});
  // In a tenth of the axis there is room for four digits, but not for six.
  std::vector<double> few, large;
  for (int i = 1; i <= 11; ++i) {
    few.push_back(10 * i);
    large.push_back(100'000 + i * 1'000);
  }
  CHECK(tick_texts(swept_axis({"load"}, few)).size() == 11);
  CHECK(tick_texts(swept_axis({"load"}, large)).size() < 11);
}

TEST_CASE("A key that a picture holds at one value says it with its unit", "[pictures]") {
  const Json result = {
      {"title", "t"},
      {"replications", 1},
      {"sweep",
       {{"keys", {"client.web.arrivals.total_rate", "service.api.servers", "fault.down.duration"}},
        {"metrics", {{"goodput", {{"label", "goodput"}, {"unit", "1/s"}}}}}}}};
  std::string points =
      "variant,client.web.arrivals.total_rate,service.api.servers,fault.down.duration,goodput\n";
  for (const int rate : {100, 200, 300}) {
    for (const int servers : {1, 2, 3}) {
      for (const int duration : {10, 20}) {
        points +=
            fmt::format("p{}-{}-{},{},{},{},1\n", rate, servers, duration, rate, servers, duration);
      }
    }
  }
  const Json pictures = pictures_from(result, {{"points.csv", points}});
  const std::string text = pictures.at(0).at("text").back();
  CHECK(text.find("drawn at length of the fault = 10 s") != std::string::npos);
}

TEST_CASE("Windows of the same time are one, and many are counted", "[pictures]") {
  Json windows = Json::array();
  for (int i = 0; i < 5; ++i) {
    windows.push_back(
        {{"kind", "fault"}, {"name", "f" + std::to_string(i)}, {"start_s", 2}, {"end_s", 4}});
  }
  const Json variant = {{"variant", "base"},
                        {"seed", 1},
                        {"replications", 1},
                        {"window_start_s", 0},
                        {"window_end_s", 20},
                        {"services", Json::array()},
                        {"clients", {{{"name", "web"}, {"calls", Json::array()}}}},
                        {"calls", Json::array()},
                        {"disturbances", windows}};
  const Json result = {{"title", "t"}, {"variants", {variant}}};
  std::string series =
      "scenario,variant,client,time_s,width_s,attempt_rate,attempt_rate_ci_low,"
      "attempt_rate_ci_high,success_rate,success_rate_ci_low,success_rate_ci_high\n";
  for (int i = 0; i < 20; ++i) {
    series += "s,base,web," + std::to_string(i) + ",1,5,,,1,,\n";
  }
  const Json pictures = pictures_from(result, {{"mean_timeseries.csv", series}});
  REQUIRE(pictures.size() == 2);  // at a glance, and the overview; there is no latency
  const Json& spans = pictures[1].at("panels").at(0).at("spans");
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].at("legend") == "5 faults, 2 to 4 s");
}

TEST_CASE("Sizes that are only good so far are not drawn as safe ones", "[pictures]") {
  Json result = {{"title", "t"},
                 {"size",
                  {{"path", "service.api.servers"},
                   {"unit", ""},
                   {"outcome", "found"},
                   {"value", 17},
                   {"is_largest", false}}}};
  const Json pictures = pictures_from(result, {{"size.csv",
                                                "value,share,ci_low,ci_high,verdict\n"
                                                "14,0.75,0.5,0.9,unsafe\n"
                                                "17,1,0.96,1,safe\n"
                                                "21,1,0.83,1,likely\n"}});
  REQUIRE(pictures.size() == 1);
  const Json& panel = pictures[0].at("panels").at(0);
  Strings names;
  for (const Json& one : panel.at("series")) {
    names.push_back(one.at("name"));
    CHECK(one.value("hollow", false) == (one.at("name") == "good so far"));
  }
  CHECK(names == Strings{"share of good runs, 95 % intervals", "safe", "good so far", "not safe"});
  CHECK(panel.at("title") == "Good runs by value");  // what is asked is the picture's title
  CHECK(panel.at("marks").at(0).at("name") == "smallest safe value: 17");
  // The safe end of a bracket is not called the smallest, and where all are safe none is marked.
  result["size"]["outcome"] = "bracket";
  const std::string rows =
      "value,share,ci_low,ci_high,verdict\n17,1,0.96,1,safe\n21,1,0.8,1,safe\n";
  const auto marks = [&] {
    return pictures_from(result, {{"size.csv", rows}})[0].at("panels").at(0).at("marks");
  };
  CHECK(marks().at(0).at("name") == "safe from 17");
  result["size"]["outcome"] = "all_safe";
  CHECK(marks().empty());
}

TEST_CASE("A size for each of several words or tables has them on its axis", "[pictures]") {
  const Json result = {{"title", "t"},
                       {"frontier",
                        {{"path", "service.api.servers"},
                         {"unit", ""},
                         {"keys", {"service.api.service_time"}},
                         {"key_units", {""}}}}};
  const std::string rows =
      "service.api.service_time,value,amplification\n"
      "\"{distribution=\"\"exponential\"\",mean=\"\"1s\"\"}\",17,1.1\n"
      "\"{distribution=\"\"constant\"\",mean=\"\"1s\"\"}\",14,1.2\n";
  Json pictures = pictures_from(result, {{"frontier.csv", rows}});
  REQUIRE(pictures.size() == 1);
  CHECK(pictures[0].at("panels").size() == 2);
  const Json& panel = pictures[0].at("panels").at(0);
  CHECK(panel.at("x").at("names")[0][1] == "exponential");  // in the order of the rows
  CHECK(panel.at("x").at("names")[1][1] == "constant");
  const ResultTable table = read_csv("frontier.csv", rows);
  add_points(pictures, [&](std::string_view) { return &table; });
  const Json& series = pictures[0].at("panels").at(0).at("series").at(0);
  CHECK(series.at("points") == Json::parse("[[0,17.0,null,null],[1,14.0,null,null]]"));
  CHECK_FALSE(series.contains("line"));  // there is nothing between two kinds
}

TEST_CASE("Of very many remedies those that change nothing are left out", "[pictures]") {
  Json result = {{"title", "t"},
                 {"advice",
                  {{"outcome", "helps"},
                   {"measures",
                    {{{"name", "success_rate"},
                      {"label", "success rate"},
                      {"unit", "1"},
                      {"percentage", true},
                      {"aim", true}}}},
                   {"rows", Json::array()}}}};
  std::string rows =
      "state,remedy,success_rate_effect,success_rate_difference,success_rate_ci_low,"
      "success_rate_ci_high\n";
  for (int i = 0; i < 60; ++i) {
    const std::string effect = i < 2 ? "better" : i == 59 ? "worse" : "none";
    result["advice"]["rows"].push_back({{"state", "tried"},
                                        {"remedy", fmt::format("r{}", i)},
                                        {"words", fmt::format("Remedy {}: do it", i)},
                                        {"success_rate_effect", effect},
                                        {"success_rate_difference", 0.01},
                                        {"success_rate_ci_low", 0},
                                        {"success_rate_ci_high", 0.02}});
    rows += fmt::format("tried,r{},{},0.01,0,0.02\n", i, effect);
  }
  const ResultTable table = read_csv("advice.csv", rows);
  const auto drawn = [&] {
    Json pictures = pictures_from(result, {{"advice.csv", rows}});
    add_points(pictures, [&](std::string_view) { return &table; });
    return pictures.at(0);
  };
  const Json picture = drawn();
  CHECK(picture.at("text").back() ==
        "3 of 60 remedies: the others make no difference that is sure");
  const Json& panel = picture.at("panels").at(0);
  CHECK(panel.at("y").at("names") ==
        Json::parse(R"([["r0","Remedy 0"],["r1","Remedy 1"],["r59","Remedy 59"]])"));
  REQUIRE(panel.at("series").size() == 2);
  CHECK(panel.at("series")[0].at("points").size() == 2);
  CHECK(panel.at("series")[1].at("points").size() == 1);

  for (Json& row : result["advice"]["rows"]) row["success_rate_effect"] = "none";
  result["advice"]["outcome"] = "nothing";
  CHECK(drawn().at("text").back() == "30 of 60 remedies: none makes a difference that is sure");
  CHECK(drawn().at("panels").at(0).at("y").at("names").size() == 30);
}

TEST_CASE("What has nothing to draw has no pictures", "[pictures]") {
  CHECK(pictures_from({{"title", "t"}}, {}).empty());
  CHECK(pictures_from({{"title", "t"}, {"variants", Json::array()}}, {}).empty());
}

}  // namespace
}  // namespace retrysim::report
