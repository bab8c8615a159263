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

JudgedScenario judged(const LoadedScenario& loaded, std::vector<ExpectationResult> expectations) {
  return {heading_of(loaded).title, loaded.file.string(), loaded.expectation_lines,
          std::move(expectations)};
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

std::string test_case(const JudgedScenario& scenario, std::size_t i, bool strict) {
  const ExpectationResult& result = scenario.expectations[i];
  std::string xml = fmt::format(R"(    <testcase classname="{}" name="{}")",
                                xml_text(scenario.title), xml_text(result.expectation.name));
  if (!scenario.file.empty()) xml += fmt::format(R"( file="{}")", xml_text(scenario.file));
  if (scenario.lines[i] > 0) xml += fmt::format(R"( line="{}")", scenario.lines[i]);
  xml += ">\n";
  const std::string found = xml_text(expectation_text(result));
  if (is_failure(result, strict)) {
    xml +=
        fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n", name(result.verdict), found);
  } else if (result.holds()) {
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
    for (const ExpectationResult& result : scenario.expectations) {
      const bool failure = is_failure(result, strict);
      ++tests;
      failures += failure;
      skipped += !failure && !result.holds();
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
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      suites += test_case(scenario, i, strict);
    }
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
  for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
    const ExpectationResult& result = scenario.expectations[i];
    if (result.holds()) continue;
    lines += is_failure(result, strict) ? "::error " : "::warning ";
    if (!scenario.file.empty()) lines += fmt::format("file={},", property(scenario.file));
    if (scenario.lines[i] > 0) lines += fmt::format("line={},", scenario.lines[i]);
    lines +=
        fmt::format("title={}::{}\n", property(scenario.title + ": " + result.expectation.name),
                    message_text(expectation_text(result)));
  }
  return lines;
}

}  // namespace retrysim::report
