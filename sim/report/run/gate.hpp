// Expectations as continuous integration reads them: a JUnit file, and GitHub's annotations of the
// lines of the scenario. Neither contains times or dates, so that the same results give the same
// bytes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The judged expectations of a scenario, from its `Evaluation`.
struct JudgedScenario {
  std::string title;       ///< see `Heading`
  std::string file;        ///< the file's name as given by the user
  std::vector<int> lines;  ///< lines of the expectations: see `LoadedScenario::expectation_lines`
  std::vector<ExpectationResult> expectations;
};
JudgedScenario judged(const LoadedScenario& loaded, std::vector<ExpectationResult> expectations);

/// Whether an expectation makes the gate fail: with `strict` also if it is uncertain.
inline bool is_failure(const ExpectationResult& result, bool strict) {
  return strict ? !result.holds() : result.fails();
}

/// The beginning of a JUnit file of this program.
inline constexpr std::string_view kJUnitHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"retrysim run\"";

/// A JUnit file: a test suite for each scenario with a test case for each expectation. An uncertain
/// expectation is a skipped test, because JUnit has no warnings.
std::string junit_xml(std::span<const JudgedScenario> scenarios, bool strict);

/// GitHub's workflow commands for the expectations that do not hold, each on a line of its own:
/// `::error` for a failure, otherwise `::warning`.
std::string github_annotations(const JudgedScenario& scenario, bool strict);

}  // namespace retrysim::report
