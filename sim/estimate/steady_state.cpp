// SPDX-License-Identifier: MIT
#include <retrysim/steady_state.hpp>

namespace retrysim {
namespace {

std::optional<std::string> why_transient(const ClientSpec& client, Time run_end) {
  const std::string path = "client." + client.name + ".";
  const ArrivalSpec& arrivals = client.arrivals;
  if (arrivals.process == ArrivalProcess::kOnce) {
    return path + "arrivals come once, with nothing after them";
  }
  if (arrivals.process == ArrivalProcess::kTrace) return path + "arrivals follow a trace";
  if (arrivals.profile) return path + "arrivals follow a profile over time";
  for (const SurgeSpec& surge : arrivals.surges) {
    if (surge.start < run_end && surge.duration > Duration::zero()) {
      return path + "surge." + surge.name + " is a disturbance";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_transient(const Scenario& scenario) {
  const Time run_end = Time::zero() + scenario.duration;
  for (const FaultSpec& fault : scenario.faults) {
    if (fault.start < run_end && fault.duration > Duration::zero()) {
      return "fault." + fault.name + " is a disturbance";
    }
  }
  for (const ServiceSpec& service : scenario.services) {
    if (service.profile) return "service." + service.name + ".profile changes its capacity";
  }
  for (const ClientSpec& client : scenario.clients) {
    if (auto why = why_transient(client, run_end)) return why;
  }
  return std::nullopt;
}

}  // namespace retrysim
