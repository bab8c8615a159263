// Reading and resolving a scenario end when they are asked to.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

#include <retrysim/simulation.hpp>

#include <atomic>
#include <fstream>

using namespace retrysim;

TEST_CASE("reading a scenario ends when it is asked to") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "small.toml";
  std::ofstream(file) << kSmall;
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  CHECK(load_scenario_file(file, {}).loaded);
  stop = true;
  CHECK_THROWS_AS(load_scenario_file(file, {}), Interrupted);
}

TEST_CASE("resolving a scenario ends when it is asked to") {
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  CHECK(load_scenario_text(kSmall, "demo.toml", {}, {}).loaded);
  stop = true;
  CHECK_THROWS_AS(load_scenario_text(kSmall, "demo.toml", {}, {}), Interrupted);
}
