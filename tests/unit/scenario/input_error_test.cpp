// What programs learn of a mistake: its place, its key, and the name that may have been meant.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

using namespace retrysim;

namespace {

const std::string kPlainScenario =
    "name = \"s\"\n"
    "duration = \"1s\"\n"
    "[service.api]\n"
    "service_time = \"1ms\"\n"
    "[client.web]\n"
    "arrivals.process = \"poisson\"\n"
    "arrivals.total_rate = 1\n"
    "retry = { mode = \"none\" }\n";

/// The mistakes of the scenario with `lines` at its end and with these edits.
std::vector<Diagnostic> told_of(const std::string& lines,
                                const std::vector<std::string>& edits = {}) {
  return load_scenario_text(kPlainScenario + lines, "s.toml", ".", edits).errors;
}

}  // namespace

TEST_CASE("a misspelt key is told with the nearest one", "[input_error]") {
  const auto found = told_of("atempt_timeout = \"1s\"\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].file == "s.toml");
  CHECK(found[0].line == 9);
  CHECK(found[0].key == "client.web.atempt_timeout");
  CHECK(found[0].nearest == "attempt_timeout");
}

TEST_CASE("a bad value is told with its key", "[input_error]") {
  CHECK(told_of("count = -1\n").at(0).key == "client.web.count");
  CHECK(told_of("count = -1\n").at(0).nearest.empty());
  const auto found = told_of(
      "[service.api.queue] # how it waits\n"
      "  discipline = \"fifoo\"  # a = b\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "service.api.queue.discipline");
  CHECK(found[0].nearest == "fifo");
}

TEST_CASE("within a value of several lines the key is that of the first", "[input_error]") {
  const auto found = told_of(
      "weights = [\n"
      "  1,\n"
      "  \"x\",\n"
      "]\n");
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].key == "client.web.weights");
}

TEST_CASE("a mistake in an edit has the path of the edit as its key", "[input_error]") {
  const auto found = told_of("", {"client.web.cuont=3"});
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].key == "client.web.cuont");
  CHECK(found[0].nearest == "count");
}

TEST_CASE("all mistakes of an input are thrown together", "[input_error]") {
  try {
    load_scenario_text(kPlainScenario + "count = -1\nknot = 2\n", "s.toml", ".").value();
    FAIL("it has two mistakes");
  } catch (const InputError& e) {
    REQUIRE(e.diagnostics().size() == 2);
    CHECK(e.file() == "s.toml");
    CHECK(e.line() == 9);
    CHECK(e.key() == "client.web.count");
    CHECK(e.what() == to_string(e.diagnostics().front()));
  }
  CHECK_THROWS_AS(load(std::filesystem::path("no/such/file.toml")), InputError);
  CHECK_THROWS_AS(parse_variations(std::vector<std::string>{"x"}).value(), InputError);
}

TEST_CASE("a message may begin with its place", "[input_error]") {
  const InputError e("my:access.log:12: there is no column \"tme\"; did you mean \"time\"?");
  CHECK(e.file() == "my:access.log");
  CHECK(e.line() == 12);
  CHECK(e.nearest() == "time");
  CHECK(e.message() == "there is no column \"tme\"; did you mean \"time\"?");
  CHECK(std::string(e.what()).starts_with("my:access.log:12: there is"));
  for (const char* plain : {"the log has no lines", "access.log: cannot be read", ": x", "1: x",
                            "at 12:30: x y", "a:b: c"}) {
    CAPTURE(plain);
    CHECK(InputError(plain).what() == std::string(plain));
  }
  CHECK(InputError("a.log: cannot be read").file().empty());
}

TEST_CASE("requests and configurations are inputs, too", "[input_error]") {
  try {
    parse_trigger("nonsense");
    FAIL("it is no trigger");
  } catch (const InputError& e) {
    CHECK(e.key() == "trigger");
    CHECK(e.file().empty());
    CHECK(std::string(e.what()).find("nonsense") != std::string::npos);
    CHECK(std::string(e.what()).find('\x01') == std::string::npos);
  }
  CHECK_THROWS_AS(import_configuration("envoy", "a: [", "x.yaml"), InputError);
}
