// SPDX-License-Identifier: MIT
#include "scenario/client_checks.hpp"

#include "scenario/consistency.hpp"

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace retrysim::scenario {

void note_late_herd(Tables& t, const std::string& path, const ArrivalSpec& arrivals) {
  if (arrivals.process != ArrivalProcess::kOnce) return;
  const Time run_end = Time::zero() + t.loaded.scenario.duration;
  if (arrivals.start >= run_end) {
    t.note_if_late(path + ".arrivals", arrivals.start, "this group sends nothing");
  } else if (arrivals.start + arrivals.spread > run_end) {
    t.loaded.notes.push_back(path + ".arrivals: the spread ends at " +
                             to_text(arrivals.start + arrivals.spread - Time::zero()) +
                             "; requests after the duration of " +
                             to_text(t.loaded.scenario.duration) + " are not submitted");
  }
}

void check_quota(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const ThrottleRules& throttle = spec.retry.throttle;
  constexpr double kMostRemembered = 1e8;  // calls, of all clients together: 0.8 GB
  if (throttle.enabled && double{1} * throttle.window_calls * spec.count > kMostRemembered) {
    t.problems.add(keys.place_of("retry.client_throttle.window_calls"),
                   keys.path() + ".retry.client_throttle.window_calls times count is more than " +
                       "a hundred million calls to remember; expected fewer, or a window");
  }
  const QuotaRules& quota = spec.retry.quota;
  if (quota.enabled && quota.on_empty == QuotaOnEmpty::kWait && !(quota.refill_rate > 0)) {
    t.problems.add(keys.place_of("retry.quota.on_empty"),
                   keys.path() +
                       ".retry.quota.on_empty = \"wait\" would wait forever; expected "
                       "a refill_rate above 0");
  }
  if (quota.enabled && quota.threshold > 0 && quota.threshold >= quota.capacity) {
    t.problems.add(keys.place_of("retry.quota.threshold"),
                   keys.path() + ".retry.quota.threshold = " + std::to_string(quota.threshold) +
                       " is never exceeded by a capacity of " + std::to_string(quota.capacity) +
                       "; expected less");
  }
  if (!quota.enabled || quota.initial <= quota.capacity) return;
  t.problems.add(keys.place_of("retry.quota.initial"),
                 keys.path() + ".retry.quota.initial = " + std::to_string(quota.initial) +
                     " is more than the capacity of " + std::to_string(quota.capacity) +
                     "; expected at most that");
}

// A request whose message is lost ends by a timeout or a deadline, or never.
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec) {
  if (!keys.has("attempt_timeout") || !keys.has("deadline")) return;
  if (spec.timeouts.has_attempt || spec.timeouts.deadline != Duration::max()) return;
  const ServiceSpec& service = t.loaded.scenario.services[spec.service];
  const std::string loss = cause_of_lost_messages(t.loaded.scenario, spec);
  if (loss.empty()) {
    if (service.abandoned != Abandoned::kServe) {
      t.loaded.notes.push_back("service." + service.name + ".abandoned has no effect on " +
                               keys.path() +
                               ", which has no attempt_timeout and no deadline and so never "
                               "gives up");
    }
    return;
  }
  t.problems.add(member.place, keys.path() + ": a request that is lost (" + loss +
                                   ") would never end; expected an attempt_timeout or a deadline");
}

void note_idle_priority(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  if (spec.priority == 0) return;
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  for (const std::size_t s : called_services(spec)) {
    if (services[s].queue.discipline == Discipline::kPriority) return;
  }
  t.loaded.notes.push_back(keys.path() + ".priority has no effect: service." +
                           services[spec.service].name + ".queue.discipline is not \"priority\"");
}

void check_prices(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  const ServiceSpec& first = services[spec.service];
  for (const std::size_t s : called_services(spec)) {
    if (services[s].price == first.price && services[s].rejection.price == first.rejection.price) {
      continue;
    }
    t.problems.add(keys.place_of("calls"),
                   keys.path() + " calls " + in_quotes(first.name) + " and " +
                       in_quotes(services[s].name) +
                       ", which have different prices; expected one group for each, or the same "
                       "price and rejection_price");
    return;
  }
}

namespace {

// Where the table of a group is written.
Place place_of(const Tables& t, const ClientSpec& spec) {
  const std::size_t dot = spec.name.find('.');
  const Member* at = t.root.find(dot == std::string::npos ? "client" : "service");
  if (at != nullptr) at = at->value.find(spec.name.substr(0, dot));
  if (at != nullptr && dot != std::string::npos) {
    at = at->value.find("calls");
    if (at != nullptr) at = at->value.find(spec.name.substr(dot + 1));
  }
  return at == nullptr ? Place{} : at->place;
}

std::string path_of(const ClientSpec& spec) {
  const std::size_t dot = spec.name.find('.');
  if (dot == std::string::npos) return "client." + spec.name;
  return "service." + spec.name.substr(0, dot) + ".calls." + spec.name.substr(dot + 1);
}

// The first of the rules of shared state that two groups disagree on; empty if none.
std::string_view disagreement(const RetryRules& a, const RetryRules& b) {
  if (a.quota != b.quota) return "quota";
  if (a.rate_limit != b.rate_limit) return "rate_limit";
  if (a.budget != b.budget) return "budget";
  if (a.breaker != b.breaker) return "breaker";
  return a.throttle == b.throttle ? "" : "client_throttle";
}

void check_states(Tables& t, const ClientSpec& spec, const StateCounts& counts) {
  constexpr double kMostStates = 1e8;
  const RetryRules& rules = spec.retry;
  for (const auto& [scope, enabled, name] :
       {std::tuple(rules.quota.scope, rules.quota.enabled, "quota"),
        std::tuple(rules.rate_limit.scope, rules.rate_limit.enabled, "rate_limit")}) {
    if (!enabled || scope <= RetryScope::kGroup) continue;
    const auto states = static_cast<double>(RetryStates::states_of(scope, spec.count, counts));
    if (states <= kMostStates) continue;
    t.problems.add(place_of(t, spec), path_of(spec) + ".retry." + name +
                                          ".scope = " + in_quotes(retrysim::name(scope)) +
                                          " makes more than a hundred million states of " +
                                          "count clients; expected fewer clients or keys");
  }
}

}  // namespace

void check_retryers(Tables& t) {
  const std::vector<ClientSpec>& clients = t.loaded.scenario.clients;
  const StateCounts counts = state_counts(t.loaded.scenario);
  std::map<std::string_view, std::vector<const ClientSpec*>> sharers;
  for (const ClientSpec& c : clients) {
    check_states(t, c, counts);
    if (!c.retryer.empty()) sharers[c.retryer].push_back(&c);
  }
  for (const auto& [retryer, groups] : sharers) {
    const ClientSpec& first = *groups.front();
    if (groups.size() == 1) {
      t.loaded.notes.push_back(path_of(first) + ".retry.retryer = " + in_quotes(retryer) +
                               " has no effect: no other group names it");
    }
    for (const ClientSpec* c : groups) {
      const std::string_view part = disagreement(first.retry, c->retry);
      if (part.empty()) continue;
      t.problems.add(place_of(t, *c), path_of(*c) + " and " + path_of(first) + " share retryer " +
                                          in_quotes(retryer) + ", but not the rules of retry." +
                                          std::string(part) + "; expected the same for both");
    }
  }
}

void note_idle_keys(Tables& t) {
  const Scenario& s = t.loaded.scenario;
  for (const ClientSpec& c : s.clients) {
    bool by_key = (c.retry.quota.enabled && c.retry.quota.scope == RetryScope::kKey) ||
                  (c.retry.rate_limit.enabled && c.retry.rate_limit.scope == RetryScope::kKey);
    for (const std::size_t i : called_services(c)) {
      const ThrottleSpec& throttle = s.services[i].throttle;
      if (throttle.rate <= 0) continue;
      by_key = by_key || throttle.scope == ThrottleScope::kKey || !throttle.keys.empty();
    }
    if (by_key && c.keys.count == 1) {
      t.loaded.notes.push_back(path_of(c) + " has no keys: what is kept apart by key is one for " +
                               "all of its requests");
    } else if (!by_key && c.keys.count > 1) {
      t.loaded.notes.push_back(path_of(c) + ".keys has no effect: no throttle, quota or limiter " +
                               "is kept apart by key");
    }
  }
}

}  // namespace retrysim::scenario
