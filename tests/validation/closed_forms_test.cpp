// The file of exact values against the formulas they come from.
//
// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <optional>
#include <set>
#include <string>

#include "closed_forms.hpp"
#include "theory_cases.hpp"

namespace retrysim::validation {
namespace {

TEST_CASE("The exact values in the file are those of the formulas", "[harness]") {
  // These have only numerical solutions. A model that is not listed needs a formula for every row.
  const std::set<std::string> without_formula = {};
  for (const TheoryCase& c : read_theory_cases(RETRYSIM_TEST_DATA "/theory_cases.csv")) {
    if (without_formula.contains(c.model)) continue;
    for (const TheoryRow& r : c.rows) {
      INFO(c.id << " " << c.model << " " << r.quantity);
      const std::optional<double> exact = closed_form(c, r.quantity);
      REQUIRE(exact.has_value());
      CHECK(r.exact == Approx(*exact).epsilon(1e-9).margin(0));  // the file has 12 digits
    }
  }
}

}  // namespace
}  // namespace retrysim::validation
