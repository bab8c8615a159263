// The JUnit file and the annotations of checks.
//
// SPDX-License-Identifier: MIT
#include "report/run/gate.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;

namespace {

constexpr const char* kFound =
    "amplification 1.4 (95 % CI from 1.25 to 1.55), expected at most 1.5";

Check check(const std::string& name, int line, ExpectationVerdict verdict) {
  const bool open = verdict == ExpectationVerdict::kUncertain;
  return {name, line, verdict, name + ": " + kFound + (open ? ": uncertain" : "")};
}

JudgedScenario three_verdicts() {
  return {"dip",
          "scenarios/dip.toml",
          {check("fine", 12, ExpectationVerdict::kHolds),
           check("open", 0, ExpectationVerdict::kUncertain),
           check("bad", 20, ExpectationVerdict::kFails)}};
}

}  // namespace

TEST_CASE("a JUnit file has a test for each expectation, skipped if it is uncertain") {
  const std::vector<JudgedScenario> scenarios = {three_verdicts(), {"none", "none.toml", {}}};
  const std::string found = kFound;
  CHECK(junit_xml(scenarios, false) ==
        R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="retrysim run" tests="3" failures="1" errors="0" skipped="1">
  <testsuite name="dip" tests="3" failures="1" errors="0" skipped="1">
    <testcase classname="dip" name="fine" file="scenarios/dip.toml" line="12">
      <system-out>fine: )" +
            found +
            R"(</system-out>
    </testcase>
    <testcase classname="dip" name="open" file="scenarios/dip.toml">
      <skipped message="open: )" +
            found + R"(: uncertain"/>
    </testcase>
    <testcase classname="dip" name="bad" file="scenarios/dip.toml" line="20">
      <failure type="fails" message="bad: )" +
            found + R"("/>
    </testcase>
  </testsuite>
  <testsuite name="none" tests="0" failures="0" errors="0" skipped="0">
  </testsuite>
</testsuites>
)");
  const std::string strict = junit_xml(scenarios, true);
  CHECK(strict.starts_with(kJUnitHead));
  CHECK(strict.find(R"(tests="3" failures="2" errors="0" skipped="0")") != std::string::npos);
  CHECK(strict.find(R"(<failure type="uncertain" message="open: )") != std::string::npos);
  CHECK(strict.find("<skipped") == std::string::npos);
}

TEST_CASE("whatever the names are, the JUnit file is XML") {
  JudgedScenario s = three_verdicts();
  s.title = "a<b> & \"c\"";
  s.file = "d\n\x01\xFF.toml";
  const std::string xml = junit_xml({&s, 1}, false);
  CHECK(xml.find(R"(<testsuite name="a&lt;b&gt; &amp; &quot;c&quot;" )") != std::string::npos);
  CHECK(xml.find(R"( file="d\n\x01\xFF.toml" )") != std::string::npos);
}

TEST_CASE("annotations of GitHub name file and line, and are escaped") {
  JudgedScenario s = three_verdicts();
  CHECK(
      github_annotations(s, false) ==
      "::warning file=scenarios/dip.toml,title=dip%3A open::open: amplification 1.4 (95 %25 CI "
      "from 1.25 to 1.55), expected at most 1.5: uncertain\n"
      "::error file=scenarios/dip.toml,line=20,title=dip%3A bad::bad: amplification 1.4 (95 %25 CI "
      "from 1.25 to 1.55), expected at most 1.5\n");
  CHECK(
      github_annotations(s, true).starts_with("::error file=scenarios/dip.toml,title=dip%3A open"));
  s.checks = {check("bad", 7, ExpectationVerdict::kFails)};
  s.title = "x";
  s.file = "100%,a:b\r\n.toml";
  CHECK(github_annotations(s, false).starts_with(
      "::error file=100%25%2Ca%3Ab%0D%0A.toml,line=7,title=x%3A bad::"));
  s.checks = {check("fine", 0, ExpectationVerdict::kHolds)};
  CHECK(github_annotations(s, true).empty());
}
