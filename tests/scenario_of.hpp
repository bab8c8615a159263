// A scenario from its text, for tests that say in the words of a scenario file what they simulate.
// Worlds to be changed field by field begin with unit/model/small_world.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::test {

/// The scenario, with edits as of --set; the test fails with the errors if there is none.
inline Scenario scenario_of(std::string_view text, const std::vector<std::string>& edits = {}) {
  LoadResult result = load_scenario_text(text, "test.toml", ".", edits);
  for (const Diagnostic& d : result.errors) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.loaded.has_value());
  return std::move(result.loaded->scenario);
}

}  // namespace retrysim::test
