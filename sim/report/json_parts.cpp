// SPDX-License-Identifier: MIT
#include "report/json_parts.hpp"

#include "scenario/derived.hpp"

#include <utility>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

Json service_json(const Scenario& scenario, const scenario::Demand& demand, std::size_t index) {
  const ServiceSpec& service = scenario.services[index];
  const double capacity = scenario::answerable_rate(scenario, index, scenario::servers_of(service));
  const bool limited = service.servers != ServiceSpec::kUnlimited;
  Json json;
  json["name"] = service.name;
  json["servers"] = limited ? Json(service.servers) : Json();
  if (service.instances.count > 1) json["instances"] = service.instances.count;
  json["mean_service_time_s"] = demand.services[index].own_time;
  json["capacity_per_s"] = limited && capacity < scenario::kNoLimit ? Json(capacity) : Json();
  return json;
}

}  // namespace

Json services_json(const Scenario& scenario) {
  Json json = Json::array();
  const scenario::Demand demand = scenario::demand_of(scenario, scenario::Attempts::kFirst);
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    json.push_back(service_json(scenario, demand, s));
  }
  return json;
}

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
  for (const ResolvedKey& key : scenario.keys) append_member(json, key.path, key.toml);
  return json;
}

void append_member(Json& object, std::string name, Json value) {
  using Members = Json::object_t::Container;
  Members& members = object.get_ref<Json::object_t&>();
  members.emplace_back(std::move(name), std::move(value));
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace retrysim::report
