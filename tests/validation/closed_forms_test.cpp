// The file of exact values against the formulas they come from.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "closed_forms.hpp"
#include "theory_cases.hpp"

namespace retrysim::validation {
namespace {

TEST_CASE("The exact values in the file are those of the formulas", "[harness]") {
  // These models, or quantities, have only numerical solutions. All others need a formula.
  const std::set<std::string> without_formula = {
      "retrial_mmcc",          // chains on a lattice in two dimensions
      "retry_mmcK_n",          //   and three,
      "finite_source_retry",   //   and with a finite number of states
      "decorrelated_jitter",   // distributions on a grid
      "adaptive_limiter_ref",  // other programs' results,
      "occ_mc",                //   with standard errors
      "herd",                  // worked out event by event
      "D50_over_T",            // a delay equation
  };
  for (const TheoryCase& c : read_theory_cases(RETRYSIM_TEST_DATA "/theory_cases.csv")) {
    const Values values = closed_forms(c);
    for (const TheoryRow& r : c.rows) {
      if (without_formula.contains(c.model) || without_formula.contains(r.quantity)) continue;
      INFO(c.id << " " << c.model << " " << r.quantity);
      REQUIRE(values.contains(r.quantity));
      CHECK(r.exact ==
            Approx(values.at(r.quantity)).epsilon(1e-9).margin(1e-15));  // the file has 12 digits
    }
  }
}

}  // namespace
}  // namespace retrysim::validation
