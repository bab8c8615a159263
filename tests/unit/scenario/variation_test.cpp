// What --vary may say, and the variants that come of it.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>

#include "loading.hpp"

#include <set>
#include <stdexcept>
#include <string_view>

using namespace retrysim;
using Texts = std::vector<std::string>;

namespace {

Variation variation(std::string_view text) {
  const VariationResult result = parse_variation(text);
  if (result.error) FAIL(to_string(*result.error));
  REQUIRE(result.variation.has_value());
  return *result.variation;
}

/// The values of a variation of one key.
Texts values(std::string_view text) {
  Texts result;
  for (const auto& choice : variation(text).choices) {
    REQUIRE(choice.size() == 1);
    result.push_back(choice[0]);
  }
  return result;
}

std::string error(std::string_view text) {
  const VariationResult result = parse_variation(text);
  CHECK_FALSE(result.variation.has_value());
  REQUIRE(result.error.has_value());
  return to_string(*result.error);
}

std::vector<Variant> grid_of(const Texts& texts) {
  const VariationsResult result = parse_variations(texts);
  REQUIRE(result.errors.empty());
  return grid(result.variations);
}

Texts names(const Texts& texts) {
  Texts result;
  for (const Variant& v : grid_of(texts)) result.push_back(v.name);
  return result;
}

}  // namespace

TEST_CASE("a list of values is split at commas outside brackets and quotes") {
  const Variation v = variation("client.*.retry.backoff.jitter=none,full, equal ,decorrelated");
  CHECK(v.paths == Texts{"client.*.retry.backoff.jitter"});
  CHECK(values(v.text) == Texts{"none", "full", "equal", "decorrelated"});
  CHECK(values("a=[1, 2],{ x = 1, y = 2 },\"b,c\",'d,e'") ==
        Texts{"[1, 2]", "{ x = 1, y = 2 }", "\"b,c\"", "'d,e'"});
  CHECK(values("service.api.errors.\"503:Slow=Down\"=0.1,0.2") == Texts{"0.1", "0.2"});
}

TEST_CASE("a range in steps is exact in decimals and includes its end") {
  CHECK(values("a=1:5:2") == Texts{"1", "3", "5"});
  CHECK(values("a=1:6:2") == Texts{"1", "3", "5"});
  CHECK(values("a=0.1:0.5:0.1") == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(values("a=0.90:1:0.05") == Texts{"0.9", "0.95", "1"});
  CHECK(values("a=1e-3:3e-3:1e-3") == Texts{"0.001", "0.002", "0.003"});
  CHECK(values("a=1e3:2e3:500") == Texts{"1000", "1500", "2000"});
  CHECK(values("a=5:1:-2") == Texts{"5", "3", "1"});
  CHECK(values("a=-1:1:1") == Texts{"-1", "0", "1"});
  CHECK(values("a=7:7:1") == Texts{"7"});
}

TEST_CASE("a range of durations is written in its smallest unit") {
  CHECK(values("a=10ms:50ms:20ms") == Texts{"10ms", "30ms", "50ms"});
  CHECK(values("a=0.5s:2s:500ms") == Texts{"500ms", "1000ms", "1500ms", "2000ms"});
  CHECK(values("a=1min:2min:30s") == Texts{"60s", "90s", "120s"});
  CHECK(values("a=0:20ms:10ms") == Texts{"0ms", "10ms", "20ms"});
}

TEST_CASE("a log-spaced range has both ends") {
  CHECK(values("a=0.01:1.0:*3") == Texts{"0.01", "0.1", "1.0"});
  CHECK(values("a=10:1000:*5") == Texts{"10", "32", "100", "316", "1000"});
  CHECK(values("a=1.0:10:*3") == Texts{"1.0", "3.16228", "10"});
  CHECK(values("a=1ms:1s:*4") == Texts{"1ms", "10ms", "100ms", "1s"});
  CHECK(values("a=8:2:*3") == Texts{"8", "4", "2"});
}

TEST_CASE("a range may stand in a list and other texts with colons are values") {
  CHECK(values("a=1:3:1,10,20:40:*2") == Texts{"1", "2", "3", "10", "20", "40"});
  CHECK(values("a=x:y:z") == Texts{"x:y:z"});
  CHECK(values("a=\"1:2:3\"") == Texts{"\"1:2:3\""});
}

TEST_CASE("keys that move together take their values from parentheses") {
  const Variation v = variation("a.rate , a.count = (1, 2),(\"x,y\",[3, 4])");
  CHECK(v.paths == Texts{"a.rate", "a.count"});
  CHECK(v.choices == std::vector<Texts>{{"1", "2"}, {"\"x,y\"", "[3, 4]"}});
  CHECK(values("a=(1),(2)") == Texts{"1", "2"});
}

TEST_CASE("what --vary says wrongly is shown with its place") {
  CHECK(error("seed") ==
        "vary: error: \"seed\" varies nothing; expected PATH=V1,V2,... or PATH=LO:HI:STEP, such "
        "as client.web.count=10,20\nseed\n^");
  CHECK(error("seed=1,,2") ==
        "vary: error: a value is missing; values are separated by single commas\nseed=1,,2\n"
        "       ^");
  CHECK(error("a=1,[2") == "vary: error: this \"[\" is not closed\na=1,[2\n    ^");
  CHECK(error("a=1,2)") == "vary: error: \")\" closes nothing\na=1,2)\n     ^");
  CHECK(error("a=\"x") == "vary: error: this quote is not closed\na=\"x\n  ^");
  CHECK(error("a,b=1,2") ==
        "vary: error: \"1\" gives one value for 2 keys; expected 2 values in parentheses\n"
        "a,b=1,2\n    ^");
  CHECK(error("a,b=(1,2,3)") ==
        "vary: error: \"(1,2,3)\" has 3 values for 2 keys\na,b=(1,2,3)\n    ^");
  CHECK(error("a,a=(1,2)") == "vary: error: \"a\" is named twice\na,a=(1,2)\n  ^");
  CHECK(error("j=full,none,full") ==
        "vary: error: \"full\" comes twice; every choice must be different\n"
        "j=full,none,full\n            ^");
  CHECK(error("a b=1") ==
        "vary: error: \"a b\" is not a path; expected names with dots between\na b=1\n^");
  CHECK(error("ä=1,") ==
        "vary: error: a value is missing; values are separated by single commas\nä=1,\n    ^");
}

TEST_CASE("a wrong range is shown with its place") {
  CHECK(error("a=1:2") ==
        "vary: error: \"1:2\" is not a range; expected LO:HI:STEP or LO:HI:*N\na=1:2\n  ^");
  CHECK(error("a=1:9:0") ==
        "vary: error: a step of 0 leads nowhere; expected LO:HI:STEP\na=1:9:0\n      ^");
  CHECK(error("a=1:9:-1") ==
        "vary: error: the step leads away from 9; expected a positive one\na=1:9:-1\n      ^");
  CHECK(error("a=1:x:1") ==
        "vary: error: \"x\" is not a number; expected LO:HI:STEP or LO:HI:*N\na=1:x:1\n    ^");
  CHECK(error("a=1:50ms:10ms") ==
        "vary: error: \"1\" has no unit; expected a duration such as \"1ms\"\na=1:50ms:10ms\n"
        "  ^");
  CHECK(error("a=0:1:*3") == "vary: error: a log-spaced range needs ends above 0\na=0:1:*3\n  ^");
  CHECK(error("a=1:2:*1") ==
        "vary: error: \"*1\" is wrong; expected * and the number of values, from 2 to 1000000\n"
        "a=1:2:*1\n      ^");
  CHECK(error("a=1:4:*9") ==
        "vary: error: the range has no 9 different values: 1 comes twice; write 1.0 for 1 if "
        "they need not be whole\na=1:4:*9\n      ^");
  CHECK(error("a=0:1:1e-15") ==
        "vary: error: the range has 1000000000000001 values; at most 1000000 are possible\n"
        "a=0:1:1e-15\n      ^");
  CHECK(error("a=1:2:1e-99") ==
        "vary: error: \"1e-99\" has too many digits; expected at most 15 decimals and 18 "
        "digits\na=1:2:1e-99\n      ^");
}

TEST_CASE("no text makes --vary fail otherwise than with an error") {
  for (const char* text : {"",
                           "=",
                           ",",
                           "a=",
                           "a= ",
                           "a=1::",
                           "a=1:2:",
                           "a=1:2:*",
                           "a=(",
                           "a=)",
                           "a=()",
                           "a=(,)",
                           "a=1:2:3:4",

                           "a=1:2:*99999999999999999999",
                           "a=1e999:2:1",
                           "a=-9e17:9e17:1e-3",
                           "a=999999999999999999h:1ns:1ns",
                           ".=1",
                           "a.=1",
                           "\"=1,2",
                           "a=(1)(2)"}) {
    INFO(text);
    CHECK(parse_variation(text).error.has_value());
  }
}

TEST_CASE("the last variation of a grid changes fastest") {
  CHECK(names({"client.*.retry.backoff.jitter=full,equal", "client.web.count=1,2"}) ==
        Texts{"jitter=full count=1", "jitter=full count=2", "jitter=equal count=1",
              "jitter=equal count=2"});
  const auto variants = grid_of({"a,b=(1,\"x\"),(2,\"y z\")"});
  CHECK(variants[0].edits == Texts{"a=1", "b=\"x\""});
  CHECK(variants[1].values == Texts{"2", "\"y z\""});
  CHECK(variants[1].name == "a=2 b=\"y z\"");
}

TEST_CASE("without variations the grid is the scenario itself") {
  const auto variants = grid({});
  REQUIRE(variants.size() == 1);
  CHECK(variants[0].name == "base");
  CHECK(variants[0].edits.empty());
}

TEST_CASE("the shortest ends of paths that tell them apart name them") {
  CHECK(short_names(Texts{"client.a.count", "client.b.count", "seed"}) ==
        Texts{"a.count", "b.count", "seed"});
  CHECK(short_names(Texts{"client.*.retry.mode", "client.x.retry.mode"}) ==
        Texts{"*.retry.mode", "x.retry.mode"});
  CHECK(short_names(Texts{"count", "client.web.count"}) == Texts{"count", "web.count"});
}

TEST_CASE("names within a grid differ") {
  const auto variants = grid_of({"a=1:30:1", "b=x,\"y\",'z w'", "c.b={ a = 1 },[1],\"x c.b=y\""});
  std::set<std::string> different;
  for (const Variant& v : variants) different.insert(v.name);
  CHECK(different.size() == 270);
  CHECK(variants.size() == 270);
}

TEST_CASE("a key is varied once") {
  const VariationsResult result = parse_variations(Texts{"a=1,2", "b=1", "b,a=(2,3)"});
  REQUIRE(result.errors.size() == 2);
  CHECK(to_string(result.errors[0]) ==
        "vary: error: \"b\" is varied twice; give all its values at once\nb,a=(2,3)\n^");
}

TEST_CASE("a grid has at most ten million combinations") {
  const Texts texts = {"a=1:1000:1", "b=1:1000:1", "c=1:11:1"};
  const auto variations = parse_variations(texts).variations;
  CHECK_THROWS_AS(grid(variations), GridTooLarge);
}

TEST_CASE("edits of a variant follow those of --set and are named --vary") {
  const LoadResult good =
      load_scenario_text(kSmall, "demo.toml", {}, {"seed=3", "duration=5s"}, {"seed=4"});
  REQUIRE(good.loaded.has_value());
  CHECK(value_of(*good.loaded, "seed") == "4");
  CHECK(to_toml(*good.loaded, true).find("# --vary") != std::string::npos);

  const LoadResult bad = load_scenario_text(kSmall, "demo.toml", {}, {}, {"client.web.cout=4"});
  CHECK(errors_of(bad) ==
        "vary: error: unknown key \"client.web.cout\"; did you mean \"count\"?\n"
        "client.web.cout=4\n^\n");
}

TEST_CASE("tables are named by what tells them apart, and stay whole among the values") {
  const auto names = [](const std::string& text) {
    Texts result;
    for (const Variant& v : grid(parse_variations(Texts{text}).variations)) {
      result.push_back(v.name);
    }
    return result;
  };
  CHECK(names("a.breaker={},{share=0.5,open=\"10s\"}") ==
        Texts{"breaker={}", "breaker={open=10s...}"});
  CHECK(names("breaker={share=0.5,open=\"10s\"},{share=0.5,open=\"2s\"}") ==
        Texts{"breaker={open=10s...}", "breaker={open=2s...}"});
  CHECK(names("b={x=1,y=1},{x=1,y=2},{x=2,y=1}") ==
        Texts{"b={x=1;y=1}", "b={y=2...}", "b={x=2...}"});
  CHECK(names("b={x=1},{x=1,y=2}") == Texts{"b={x=1}", "b={y=2...}"});
  CHECK(names("b={ x = 1 },{x=1}") == Texts{"b={ x = 1 }", "b={x=1}"});
  CHECK(names("b={x=1,y=2},none") == Texts{"b={x=1...}", "b=none"});
  CHECK(grid(parse_variations(Texts{"b={},{x=1,y=2}"}).variations)[1].values[0] == "{x=1,y=2}");
}
