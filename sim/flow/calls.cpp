// Which services requests go to, who calls whom, and what is passed on along calls.
//
// SPDX-License-Identifier: MIT
#include "flow/calls.hpp"

#include "kernel/stop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

// --- Where requests go
// ----------------------------------------------------------------------------

namespace {

/// The share of the requests without a service of their own that go to `service`.
double share_of_plain_calls(const ClientSpec& client, std::size_t service) {
  const auto further = std::ranges::count(client.more_services, service);
  const auto times = static_cast<double>(further + (client.service == service));
  return times / static_cast<double>(1 + client.more_services.size());
}

template <class Weight>
double weighed_calls(const ClientSpec& client, std::size_t service, Weight weight) {
  const double plain = share_of_plain_calls(client, service);
  double sum = 0, shares = 0;
  for (const OperationSpec& o : client.operations) {
    shares += o.share;
    sum += o.share * weight(o) * (o.service ? (*o.service == service ? 1 : 0) : plain);
  }
  return shares > 0 ? sum / shares : plain;
}

}  // namespace

std::vector<ServiceShare> service_shares(const ClientSpec& client) {
  std::vector<ServiceShare> all;
  if (client.operations.empty()) {
    std::vector<std::size_t> calls = client.more_services;
    calls.push_back(client.service);
    std::ranges::sort(calls);
    for (auto next = calls.begin(); next != calls.end();) {
      const auto end = std::upper_bound(next, calls.end(), *next);
      all.push_back({*next, static_cast<double>(end - next) / static_cast<double>(calls.size())});
      next = end;
    }
    return all;
  }
  StopCounter<64> stop;
  for (const std::size_t s : called_services(client)) {
    stop.count();
    if (const double share = share_of_calls(client, s); share > 0) all.push_back({s, share});
  }
  return all;
}

double share_of_calls(const ClientSpec& client, std::size_t service) {
  if (client.operations.empty() && client.more_services.empty()) return client.service == service;
  return weighed_calls(client, service, [](const OperationSpec&) { return 1; });
}

double mean_work(const ClientSpec& client, std::size_t service) {
  return weighed_calls(client, service, [](const OperationSpec& o) { return o.work; });
}

std::vector<std::size_t> called_services(const ClientSpec& client) {
  std::vector<std::size_t> all;
  bool plain = client.operations.empty();
  for (const OperationSpec& o : client.operations) {
    if (o.service && o.share > 0) all.push_back(*o.service);
    plain = plain || (!o.service && o.share > 0);
  }
  if (plain) {
    all.push_back(client.service);
    all.insert(all.end(), client.more_services.begin(), client.more_services.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool calls_one_service(const ClientSpec& client) {
  const auto is_the_one = [&](std::size_t service) { return service == client.service; };
  return std::ranges::all_of(client.more_services, is_the_one) &&
         std::ranges::all_of(client.operations, [&](const OperationSpec& o) {
           return !o.service || is_the_one(*o.service);
         });
}

StateCounts state_counts(const Scenario& scenario) {
  std::set<std::string_view> operations;
  StateCounts counts;
  counts.services = static_cast<std::uint32_t>(scenario.services.size());
  for (const ClientSpec& client : scenario.clients) {
    for (const OperationSpec& o : client.operations) operations.insert(o.name);
    counts.keys = std::max(counts.keys, client.keys.count);
  }
  counts.operations = static_cast<std::uint32_t>(operations.size() + 1);
  return counts;
}

}  // namespace retrysim

namespace retrysim::flow {

bool is_called_by_services_only(const Scenario& scenario, std::size_t service) {
  bool called = false;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (!c.makes_calls()) return false;
    called = true;
  }
  return called;
}

// --- The graph of calls
// ---------------------------------------------------------------------------

CallGraph::CallGraph(const Scenario& scenario)
    : calls_(scenario.services.size()),
      groups_(scenario.services.size()),
      stages_(scenario.services.size()),
      callers_(scenario.clients.size()),
      fallbacks_(scenario.calls.size()) {
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    const std::size_t caller = scenario.calls[i].caller, group = scenario.calls[i].client;
    if (caller >= calls_.size() || group >= callers_.size()) {
      throw std::invalid_argument("a call names a service or a client group that there is not");
    }
    std::optional<std::size_t>& known = callers_[group];
    if (!scenario.clients[group].makes_calls() || (known && known != caller)) {
      throw std::invalid_argument("client " + scenario.clients[group].name +
                                  " does not make the calls of one service, and no others");
    }
    calls_[caller].push_back(i);
    if (!known) groups_[caller].push_back(group);
    known = caller;
  }
  for (std::size_t g = 0; g < callers_.size(); ++g) {
    if (!scenario.clients[g].makes_calls() || callers_[g]) continue;
    throw std::invalid_argument("client " + scenario.clients[g].name + " has no calls to make");
  }
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    find_fallbacks(scenario, s);
    find_stages(scenario, s);
  }
}

void CallGraph::find_fallbacks(const Scenario& scenario, std::size_t service) {
  const auto name_of = [&](std::size_t call) -> const std::string& {
    return scenario.clients[scenario.calls[call].client].name;
  };
  std::map<std::string_view, std::size_t> by_name;
  for (const std::size_t i : calls_[service]) by_name.try_emplace(name_of(i), i);
  for (const std::size_t i : calls_[service]) {
    const CallSpec& call = scenario.calls[i];
    const bool none = call.need == 0 || call.count > CallSpec::kMaxCopies ||
                      (!call.random_count && call.need != CallSpec::kAll && call.need > call.count);
    const bool wrong_share =
        call.one_of.empty() ? !(call.share >= 0 && call.share <= 1) : !(call.share > 0);
    if (none || wrong_share) {
      throw std::invalid_argument("the count, need or share of call " + name_of(i) +
                                  " is out of range");
    }
    if (call.on_failure != CallFailure::kFallback) continue;
    const auto other = by_name.find(call.fallback);
    if (other == by_name.end() || !scenario.calls[other->second].one_of.empty()) {
      throw std::invalid_argument("call " + name_of(i) +
                                  " falls back on a call that is not there, or is an alternative");
    }
    fallbacks_[i] = other->second;
  }
  std::set<std::size_t> ends;  // calls whose chain of fallbacks has an end
  for (const std::size_t i : calls_[service]) {
    std::size_t steps = 0;
    std::vector<std::size_t> chain{i};
    for (auto at = fallbacks_[i]; at && !ends.contains(*at); at = fallbacks_[*at]) {
      chain.push_back(*at);
      if (++steps <= calls_[service].size()) continue;
      throw std::invalid_argument("calls of " + name_of(i) +
                                  " fall back on each other in a circle");
    }
    ends.insert(chain.begin(), chain.end());
  }
}

void CallGraph::find_stages(const Scenario& scenario, std::size_t service) {
  std::set<std::size_t> fallbacks;
  for (const std::size_t i : calls_[service]) {
    if (fallbacks_[i]) fallbacks.insert(*fallbacks_[i]);
  }
  std::map<std::uint32_t, std::vector<std::size_t>> stages;
  std::map<std::string_view, std::uint32_t> of_alternatives;
  std::uint32_t place = 0;
  for (const std::size_t i : calls_[service]) {
    ++place;
    const CallSpec& call = scenario.calls[i];
    if (fallbacks.count(i) > 0) continue;
    const auto known = of_alternatives.find(call.one_of);
    std::uint32_t stage = call.stage;
    if (stage == 0) {
      stage = scenario.services[service].parallel_calls ? 1
              : known != of_alternatives.end()          ? known->second
                                                        : place;
    }
    if (!call.one_of.empty() &&
        of_alternatives.try_emplace(call.one_of, stage).first->second != stage) {
      throw std::invalid_argument("alternatives among the calls of service " +
                                  scenario.services[service].name + " are in different stages");
    }
    stages[stage].push_back(i);
  }
  for (auto& [number, calls] : stages) {
    std::ranges::stable_sort(calls, {}, [&](std::size_t i) -> const std::string& {
      return scenario.clients[scenario.calls[i].client].name;
    });
    stages_[service].push_back(std::move(calls));
  }
}

bool is_plain(const CallSpec& call) {
  return call.share >= 1 && call.one_of.empty() && call.operations.empty() && call.count == 1 &&
         !call.random_count && call.on_failure == CallFailure::kFail && !call.cache.in_use();
}

bool calls_others(const Scenario& scenario, std::size_t service) {
  return std::ranges::any_of(scenario.calls,
                             [&](const CallSpec& call) { return call.caller == service; });
}

std::vector<std::size_t> callers_first(const Scenario& scenario) {
  std::vector<std::vector<std::size_t>> callees(scenario.services.size());
  // For each service, the number of its callers that are not in the order yet.
  std::vector<std::size_t> callers(scenario.services.size());
  for (const CallSpec& call : scenario.calls) {
    const std::size_t callee = scenario.clients[call.client].service;
    callees[call.caller].push_back(callee);
    ++callers[callee];
  }
  std::vector<std::size_t> order;
  order.reserve(scenario.services.size());
  for (std::size_t s = 0; s < callers.size(); ++s) {
    if (callers[s] == 0) order.push_back(s);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::size_t s : callees[order[next]]) {
      if (--callers[s] == 0) order.push_back(s);
    }
  }
  return order;
}

// A depth-first search with a stack of its own: chains of calls may be long.
std::vector<std::size_t> circle_of_calls(const Scenario& scenario) {
  std::vector<std::vector<std::size_t>> called(scenario.services.size());
  for (const CallSpec& call : scenario.calls) {
    called[call.caller].push_back(scenario.clients[call.client].service);
  }
  enum class State : std::uint8_t { kNew, kOnPath, kDone };
  std::vector<State> states(called.size());
  std::vector<std::size_t> path, next(called.size());  // next: call of each service to be followed
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

// --- What calls pass on
// ---------------------------------------------------------------------------

std::vector<std::uint32_t> keys_at(const Scenario& scenario) {
  std::vector<std::uint32_t> keys(scenario.services.size(), 1);
  const auto add = [&](std::size_t service, std::uint32_t count) {
    keys[service] = std::max(keys[service], count);
  };
  for (const ClientSpec& c : scenario.clients) {
    for (const std::size_t s : called_services(c)) add(s, c.keys.count);
  }
  std::vector<std::vector<std::size_t>> passing(scenario.services.size());
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    if (scenario.calls[i].callers_key) passing[scenario.calls[i].caller].push_back(i);
  }
  for (const std::size_t s : callers_first(scenario)) {
    for (const std::size_t i : passing[s]) {
      add(scenario.clients[scenario.calls[i].client].service, keys[s]);
    }
  }
  return keys;
}

std::vector<std::set<std::string_view>> operations_at(const Scenario& scenario) {
  std::vector<std::set<std::string_view>> all(scenario.services.size());
  for (const ClientSpec& c : scenario.clients) {
    const std::vector<std::size_t> called = called_services(c);
    for (const OperationSpec& o : c.operations) {
      for (const std::size_t s : called) {
        if (!o.service || *o.service == s) all[s].insert(o.name);
      }
    }
  }
  std::vector<std::vector<std::size_t>> passing(scenario.services.size());
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    if (scenario.calls[i].callers_operation) passing[scenario.calls[i].caller].push_back(i);
  }
  for (const std::size_t s : callers_first(scenario)) {
    for (const std::size_t i : passing[s]) {
      const CallSpec& call = scenario.calls[i];
      std::set<std::string_view>& there = all[scenario.clients[call.client].service];
      for (const std::string_view name : all[s]) {
        const bool made = call.operations.empty() ||
                          std::ranges::find(call.operations, name) != call.operations.end();
        if (made) there.insert(name);
      }
    }
  }
  return all;
}

}  // namespace retrysim::flow
