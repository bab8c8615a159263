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

/// What follows from the keys of each service: its servers, mean service time and capacity.
nlohmann::ordered_json services_json(const Scenario& scenario);

/// The resolved keys and their values as TOML texts.
nlohmann::ordered_json keys_json(const LoadedScenario& scenario);

/// Appends a member that the object does not have yet. Looking for it first, as `object[name]`
/// does, takes time that grows with the square of the number of members.
void append_member(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value);

/// Null if there is no value.
nlohmann::ordered_json optional_json(const std::optional<double>& value);

}  // namespace retrysim::report
