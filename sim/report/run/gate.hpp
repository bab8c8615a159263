// Checks as continuous integration reads them: a JUnit file, and GitHub's annotations of the
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

/// Something that a scenario had to do, and whether it does.
struct Check {
  std::string name;
  int line = 0;  ///< of the scenario file; 0: it has none
  ExpectationVerdict verdict = ExpectationVerdict::kFails;
  std::string text;  ///< what was found, in one line
};

/// The checks of a scenario.
struct JudgedScenario {
  std::string title;  ///< see `Heading`
  std::string file;   ///< the file's name as given by the user
  std::vector<Check> checks;
};
/// The expectations of a scenario, from its `Evaluation`.
JudgedScenario judged(const LoadedScenario& loaded,
                      const std::vector<ExpectationResult>& expectations);

/// Whether a check makes the gate fail: with `strict` also if it is uncertain.
inline bool is_failure(const Check& check, bool strict) {
  return strict ? check.verdict != ExpectationVerdict::kHolds
                : check.verdict == ExpectationVerdict::kFails;
}

/// The beginning of a JUnit file of this program.
inline constexpr std::string_view kJUnitHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"retrysim run\"";

/// A JUnit file: a test suite for each scenario with a test case for each check. An uncertain one
/// is a skipped test, because JUnit has no warnings.
std::string junit_xml(std::span<const JudgedScenario> scenarios, bool strict);

/// GitHub's workflow commands for the checks that do not hold, each on a line of its own:
/// `::error` for a failure, otherwise `::warning`.
std::string github_annotations(const JudgedScenario& scenario, bool strict);

}  // namespace retrysim::report
