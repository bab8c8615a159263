// SPDX-License-Identifier: MIT
#include "report/json_parts.hpp"

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json result_head(std::string_view command, const Scenario& scenario, std::size_t replications) {
  Json json;
  json["program"] = "retrysim";
  json["version"] = RETRYSIM_VERSION;
  if (!command.empty()) json["command"] = command;
  json["scenario"] = scenario.name;
  json["description"] = scenario.description;
  json["seed"] = scenario.seed;
  json["replications"] = replications;
  return json;
}

Json keys_json(const LoadedScenario& scenario) {
  Json json = Json::object();
  for (const ResolvedKey& key : scenario.keys) json[key.path] = key.toml;
  return json;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace retrysim::report
