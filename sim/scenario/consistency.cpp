// Circles of calls, and messages that get lost.
//
// SPDX-License-Identifier: MIT
#include "scenario/consistency.hpp"

#include <fmt/format.h>

namespace retrysim::scenario {
namespace {

bool leads_to(const Scenario& scenario, std::size_t target, std::size_t from,
              std::vector<bool>& met, std::vector<std::size_t>& path) {
  for (const ClientSpec& call : scenario.clients) {
    if (call.caller != from) continue;
    if (call.service == target) return true;
    if (met[call.service]) continue;
    met[call.service] = true;
    path.push_back(call.service);
    if (leads_to(scenario, target, call.service, met, path)) return true;
    path.pop_back();
  }
  return false;
}

bool turns_attempts_away(const ServiceSpec& service) {
  if (service.concurrency.control != ConcurrencyControl::kFixed ||
      service.concurrency.limit != ServiceSpec::kUnlimited) {
    return true;
  }
  return service.servers != ServiceSpec::kUnlimited &&
         (service.queue.capacity != ServiceSpec::kUnlimited ||
          service.queue.discipline == Discipline::kCodel);
}

}  // namespace

std::vector<std::size_t> circle_of_calls(const Scenario& scenario) {
  for (std::size_t start = 0; start < scenario.services.size(); ++start) {
    std::vector<bool> met(scenario.services.size(), false);
    std::vector<std::size_t> path{start};
    if (leads_to(scenario, start, start, met, path)) return path;
  }
  return {};
}

std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client) {
  const NetworkSpec& network = scenario.network;
  if (network.request_loss > 0)
    return fmt::format("network.request_loss = {:.6g}", network.request_loss);
  if (network.response_loss > 0) {
    return fmt::format("network.response_loss = {:.6g}", network.response_loss);
  }
  for (const FaultSpec& f : scenario.faults) {
    if (share_of_calls(client, f.service) == 0) continue;
    if (f.black_hole) return "fault." + f.name + " answers nothing";
    if (f.request_loss > 0 || f.response_loss > 0) {
      return "fault." + f.name + " loses messages";
    }
  }
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    const ServiceSpec& service = scenario.services[s];
    if (service.rejection.overflow == Overflow::kDrop && turns_attempts_away(service) &&
        share_of_calls(client, s) > 0) {
      return "service." + service.name + ".overflow = \"drop\"";
    }
  }
  return "";
}

}  // namespace retrysim::scenario
