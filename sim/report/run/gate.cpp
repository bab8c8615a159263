// SPDX-License-Identifier: MIT
#include "report/run/gate.hpp"

#include "report/document/heading.hpp"
#include "report/run/text.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <utility>

namespace retrysim::report {

JudgedScenario judged(const LoadedScenario& loaded,
                      const std::vector<ExpectationResult>& expectations) {
  JudgedScenario judged{heading_of(loaded).title, loaded.file.string(), {}};
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const ExpectationResult& result = expectations[i];
    judged.checks.push_back({result.expectation.name, loaded.expectation_lines[i], result.verdict,
                             expectation_text(result)});
  }
  return judged;
}

// --- JUnit ---------------------------------------------------------------------------------------

namespace {

/// The text of an element, or of an attribute in double quotes. Characters that XML cannot contain,
/// such as control characters, and bytes that are not UTF-8 are written as escapes, as on a
/// terminal.
std::string xml_text(std::string_view text) {
  std::string xml;
  for (const char c : scenario::printable_line(text)) {
    if (c == '&') {
      xml += "&amp;";
    } else if (c == '<') {
      xml += "&lt;";
    } else if (c == '>') {
      xml += "&gt;";
    } else if (c == '"') {
      xml += "&quot;";
    } else {
      xml += c;
    }
  }
  return xml;
}

std::string test_case(const JudgedScenario& scenario, const Check& check, bool strict) {
  std::string xml = fmt::format(R"(    <testcase classname="{}" name="{}")",
                                xml_text(scenario.title), xml_text(check.name));
  if (!scenario.file.empty()) xml += fmt::format(R"( file="{}")", xml_text(scenario.file));
  if (check.line > 0) xml += fmt::format(R"( line="{}")", check.line);
  xml += ">\n";
  const std::string found = xml_text(check.text);
  if (is_failure(check, strict)) {
    xml += fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n", name(check.verdict), found);
  } else if (check.verdict == ExpectationVerdict::kHolds) {
    xml += fmt::format("      <system-out>{}</system-out>\n", found);
  } else {
    xml += fmt::format("      <skipped message=\"{}\"/>\n", found);
  }
  return xml + "    </testcase>\n";
}

/// The counts that a suite has as attributes.
struct Counts {
  std::size_t tests = 0, failures = 0, skipped = 0;

  void add(const JudgedScenario& scenario, bool strict) {
    for (const Check& check : scenario.checks) {
      const bool failure = is_failure(check, strict);
      ++tests;
      failures += failure;
      skipped += !failure && check.verdict != ExpectationVerdict::kHolds;
    }
  }
  std::string attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}")", tests, failures,
                       skipped);
  }
};

}  // namespace

std::string junit_xml(std::span<const JudgedScenario> scenarios, bool strict) {
  Counts all;
  std::string suites;
  for (const JudgedScenario& scenario : scenarios) {
    Counts own;
    own.add(scenario, strict);
    all.add(scenario, strict);
    suites +=
        fmt::format("  <testsuite name=\"{}\" {}>\n", xml_text(scenario.title), own.attributes());
    for (const Check& check : scenario.checks) suites += test_case(scenario, check, strict);
    suites += "  </testsuite>\n";
  }
  return fmt::format("{} {}>\n{}</testsuites>\n", kJUnitHead, all.attributes(), suites);
}

// --- GitHub --------------------------------------------------------------------------------------

namespace {

// Workflow commands, `::error file=F,line=N,title=T::MESSAGE`, escaped as the toolkit of GitHub
// Actions does it (actions/toolkit, packages/core/src/command.ts).

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) == special.npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string message_text(std::string_view text) { return escaped(text, "%\r\n"); }
std::string property(std::string_view text) { return escaped(text, "%\r\n:,"); }

}  // namespace

std::string github_annotations(const JudgedScenario& scenario, bool strict) {
  std::string lines;
  for (const Check& check : scenario.checks) {
    if (check.verdict == ExpectationVerdict::kHolds) continue;
    lines += is_failure(check, strict) ? "::error " : "::warning ";
    if (!scenario.file.empty()) lines += fmt::format("file={},", property(scenario.file));
    if (check.line > 0) lines += fmt::format("line={},", check.line);
    lines += fmt::format("title={}::{}\n", property(scenario.title + ": " + check.name),
                         message_text(check.text));
  }
  return lines;
}

}  // namespace retrysim::report
