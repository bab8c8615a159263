// The simulator against exact results of queueing theory; README.md explains the rule.
//
// False alarms. Seeds are fixed, so the outcome is too. With other seeds a row of rule "interval"
// would disagree by chance with probability 5e-6 (|t| > 6.28 at 19 degrees of freedom), any of the
// 464 with probability 2e-3. The root mean square of z leaves [0.7, 1.3] by chance with probability
// 0.01 (66 quick cases) or 0.002 (all 107): when results change on purpose and this bound alone
// breaks, look at other seeds before looking for a defect.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "result_table.hpp"
#include "theory_cases.hpp"

namespace retrysim::validation {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// RETRYSIM_VALIDATION_JOBS; without it, all processors.
int jobs() {
  const std::string text = environment("RETRYSIM_VALIDATION_JOBS");
  if (!text.empty()) return std::max(1, std::atoi(text.c_str()));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// RETRYSIM_VALIDATION_SEED; without it, 0.
std::uint64_t seed() {
  return std::strtoull(environment("RETRYSIM_VALIDATION_SEED").c_str(), nullptr, 10);
}

/// The cases, or those of the model or with the name in RETRYSIM_VALIDATION_ONLY.
std::vector<TheoryCase> chosen_cases() {
  std::vector<TheoryCase> cases = read_theory_cases(RETRYSIM_TEST_DATA "/theory_cases.csv");
  const std::string only = environment("RETRYSIM_VALIDATION_ONLY");
  if (!only.empty()) {
    std::erase_if(cases, [&](const TheoryCase& c) { return c.model != only && c.id != only; });
  }
  return cases;
}

void print_now(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);  // a row is worth reading before the last one is there
}

std::vector<CaseResult> validate_all(const std::vector<TheoryCase>& cases, double most_requests) {
  REQUIRE_FALSE(cases.empty());
  RunLimits limits;
  limits.jobs = jobs();
  limits.seed = seed();
  limits.most_requests = most_requests;
  std::vector<CaseResult> results;
  print_now(table_head());
  for (const TheoryCase& c : cases) {
    results.push_back(validate(c, limits));
    print_now(table_rows(results.back()));
    for (const RowResult& r : results.back().rows) {
      INFO(table_rows({c, results.back().requests, {r}}));
      CHECK(r.verdict == Verdict::kAgrees);
    }
  }
  print_now(table_foot(results));
  // A few cases say nothing about the spread of z.
  constexpr std::size_t kEnoughCases = 20;
  if (results.size() >= kEnoughCases) {
    CHECK(rms_z(results) >= 0.7);  // below: intervals too wide, which hides errors
    CHECK(rms_z(results) <= 1.3);  // above: a bias, or intervals too narrow
  }
  return results;
}

TEST_CASE("The simulator agrees with theory: quick rows", "[quick]") {
  constexpr double kMaxRequests = 4e7;
  for (const CaseResult& c : validate_all(quick_rows(chosen_cases()), kMaxRequests)) {
    for (const RowResult& r : c.rows) {
      INFO(table_rows({c.theory, c.requests, {r}}));
      const bool is_exact = r.row.closeness != Closeness::kWithin;
      if (r.row.is_relative() && is_exact) CHECK(r.would_notice(0.05));
    }
  }
}

TEST_CASE("The simulator agrees with theory: all rows", "[slow]") {
  constexpr double kMaxRequests = 2e9;
  validate_all(chosen_cases(), kMaxRequests);
}

}  // namespace
}  // namespace retrysim::validation
