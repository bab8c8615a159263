// The parts that the result.json files of all commands have in common.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// Program, version, `command` unless it is empty, and of the scenario name, description, seed and
/// the number of `replications`.
nlohmann::ordered_json result_head(std::string_view command, const Scenario& scenario,
                                   std::size_t replications);

/// The resolved keys and their values as TOML texts.
nlohmann::ordered_json keys_json(const LoadedScenario& scenario);

/// Null if there is no value.
nlohmann::ordered_json optional_json(const std::optional<double>& value);

}  // namespace retrysim::report
