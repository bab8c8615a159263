// Circles of calls, and messages that get lost.
//
// SPDX-License-Identifier: MIT
#include "scenario/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace retrysim::scenario {
namespace {

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

// A depth-first search with a stack of its own: chains of calls may be long.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario) {
  std::vector<std::vector<std::size_t>> called(scenario.services.size());
  for (const ClientSpec& call : scenario.clients) {
    if (call.caller) called[*call.caller].push_back(call.service);
  }
  enum class State : std::uint8_t { kNew, kOnPath, kDone };
  std::vector<State> states(called.size());
  std::vector<std::size_t> path, next(called.size());  // next: call of each service to be looked at
  for (std::size_t start = 0; start < called.size(); ++start) {
    if (states[start] != State::kNew) continue;
    path.push_back(start);
    while (!path.empty()) {
      const std::size_t at = path.back();
      states[at] = State::kOnPath;
      if (next[at] == called[at].size()) {
        states[at] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::size_t callee = called[at][next[at]++];
      if (states[callee] == State::kOnPath) {
        const auto first = std::find(path.begin(), path.end(), callee);
        std::rotate(first, std::min_element(first, path.end()), path.end());
        return {first, path.end()};
      }
      if (states[callee] == State::kNew) path.push_back(callee);
    }
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
  const std::vector<std::size_t> called = called_services(client);
  for (const FaultSpec& f : scenario.faults) {
    if (!f.black_hole && f.request_loss <= 0 && f.response_loss <= 0) continue;
    if (!std::ranges::binary_search(called, f.service)) continue;
    if (f.black_hole) return "fault." + f.name + " answers nothing";
    return "fault." + f.name + " loses messages";
  }
  for (const std::size_t s : called) {
    const ServiceSpec& service = scenario.services[s];
    if (service.rejection.overflow == Overflow::kDrop && turns_attempts_away(service)) {
      return "service." + service.name + ".overflow = \"drop\"";
    }
  }
  return "";
}

}  // namespace retrysim::scenario
