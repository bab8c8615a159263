// Resolving [client.NAME], and [service.NAME.calls.NAME], where a service is the client of another.
//
// SPDX-License-Identifier: MIT
#include "scenario/arrivals.hpp"
#include "scenario/client_checks.hpp"
#include "scenario/client_defaults.hpp"
#include "scenario/consistency.hpp"
#include "scenario/suggestions.hpp"
#include "scenario/tables.hpp"
#include "scenario/throttle_limits.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace retrysim::scenario {
namespace {

// Attempts name their client group by 16 bits.
constexpr std::size_t kMostClientGroups = 65535;

void resolve_surges(Tables& t, const Member& client, ClientSpec& spec) {
  t.for_each_in(client.value, "surge", [&](const Member& member, const Node& siblings) {
    SurgeSpec surge;
    surge.name = member.name;
    const std::string path = "client." + client.name + ".surge." + member.name;
    t.keys_of("client.*.surge.*", path, member, siblings, Slots(&surge)).resolve();
    t.note_if_late(path, surge.start, "it changes no rate");
    spec.arrivals.surges.push_back(std::move(surge));
  });
}

void resolve_operations(Tables& t, const Member& client, ClientSpec& spec) {
  t.for_each_in(client.value, "operation", [&](const Member& member, const Node& siblings) {
    OperationSpec operation;
    operation.name = member.name;
    const std::string path = "client." + client.name + ".operation." + member.name;
    ServiceName service;
    KeyResolution keys =
        t.keys_of("client.*.operation.*", path, member, siblings, Slots(&operation, &service));
    keys.resolve();
    if (keys.has("calls")) operation.service = t.find_service(keys, "calls", service.name);
    spec.operations.push_back(std::move(operation));
  });
}

// False if one of them does not exist.
bool find_services(Tables& t, const KeyResolution& keys, const std::vector<std::string>& names,
                   ClientSpec& spec) {
  bool found = !names.empty();
  for (const std::string& name : names) {
    const auto index = t.find_service(keys, "calls", name);
    if (!index) {
      found = false;
    } else if (&name == &names.front()) {
      spec.service = *index;
    } else {
      spec.more_services.push_back(*index);
    }
  }
  return found;
}

// A read before a retry is a message of its own, for which two other rules have no place.
void check_reconciliation(Tables& t, const KeyResolution& keys, const ClientSpec& spec) {
  if (!spec.side_effects.reconciles) return;
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  for (std::size_t s = 0; s < services.size(); ++s) {
    if (services[s].model != ServiceModelKind::kOcc || share_of_calls(spec, s) <= 0) continue;
    t.problems.add(keys.place_of("reconcile_read"),
                   keys.path() + ".reconcile_read does not go with service." + services[s].name +
                       ".model = \"occ\", each of whose attempts begins with a read already; "
                       "expected none, or another model");
  }
  if (!spec.retry.hedging.enabled) return;
  t.problems.add(keys.place_of("reconcile_read"),
                 keys.path() +
                     ".reconcile_read does not go with retry.hedging, which does not wait for what "
                     "becomes of the attempt before; expected one of them");
}

void resolve_client(Tables& t, const Member& member, const Node& siblings) {
  ClientSpec spec;
  spec.name = member.name;
  ArrivalInputs arrivals;
  PresetChoice preset;
  ServiceNames services;
  const Slots slots(&spec, &spec.retry, &services, &arrivals, &preset);
  KeyResolution keys = t.keys_of("client.*", "client." + member.name, member, siblings, slots);
  t.default_service(keys, "calls");
  keys.resolve();
  apply_client_defaults(t, keys, spec);
  if (member.name == "all") {
    t.problems.add(member.place,
                   "a client group cannot be called \"all\", which means all groups together");
  }
  resolve_surges(t, member, spec);
  resolve_operations(t, member, spec);
  arrivals.has_on = keys.has("arrivals.on");
  arrivals.rate_is_wrong = keys.is_wrong("arrivals.rate") || keys.is_wrong("arrivals.total_rate") ||
                           keys.is_wrong("arrivals.profile");
  note_late_herd(t, keys.path(), spec.arrivals);
  if (keys.has("arrivals.process") && t.incomplete.count(keys.path()) == 0) {
    Place place = keys.place_of("arrivals");
    if (place == Place{}) place = member.place;
    for (const Withdrawn& w :
         resolve_arrivals(arrivals, keys.path(), place, spec, t.files, t.loaded.notes)) {
      keys.withdraw(w.key, w.reason);
    }
  }
  check_quota(t, keys, spec);
  if (find_services(t, keys, services.names, spec)) {
    check_prices(t, keys, spec);
    check_reconciliation(t, keys, spec);
    check_end_of_lost_requests(t, keys, member, spec);
    note_idle_priority(t, keys, spec);
  }
  t.loaded.scenario.clients.push_back(std::move(spec));
}

// Keys from number `first` on go behind the others of their service, to be written in one table.
void move_to_service(Tables& t, const std::string& prefix, std::size_t first) {
  const auto news = t.loaded.keys.begin() + static_cast<std::ptrdiff_t>(first);
  auto at = news;
  while (at != t.loaded.keys.begin() && !std::prev(at)->path.starts_with(prefix)) --at;
  std::rotate(at, news, t.loaded.keys.end());
}

void resolve_call(Tables& t, const Member& service, std::size_t caller, const Member& member,
                  const Node& siblings) {
  ClientSpec spec;
  spec.name = service.name + "." + member.name;
  spec.caller = caller;
  PresetChoice preset;
  spec.count = t.loaded.scenario.services[caller].instances.count;  // each is a client of its own
  const Slots slots(&spec, &spec.retry, &preset);
  const std::string path = "service." + service.name + ".calls." + member.name;
  KeyResolution keys = t.keys_of("service.*.calls.*", path, member, siblings, slots);
  if (t.incomplete.count("service." + service.name) > 0) keys.expect_missing_keys();
  keys.resolve();
  apply_client_defaults(t, keys, spec);
  check_quota(t, keys, spec);
  const auto names = t.service_names();
  const auto callee = std::find(names.begin(), names.end(), member.name);
  if (callee == names.end()) {
    t.problems.add(member.place, path + ": there is no such service to call; " +
                                     suggestion(member.name, names, "there are"));
    return;
  }
  spec.service = static_cast<std::size_t>(callee - names.begin());
  check_reconciliation(t, keys, spec);
  check_end_of_lost_requests(t, keys, member, spec);
  note_idle_priority(t, keys, spec);
  t.loaded.scenario.clients.push_back(std::move(spec));
}

void resolve_calls(Tables& t, const Member& service) {
  const Member* calls = service.value.find("calls");
  if (calls == nullptr || !calls->value.is_table()) return;
  const auto names = t.service_names();
  const auto caller =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), service.name) - names.begin());
  if (t.loaded.scenario.services[caller].model == ServiceModelKind::kOcc) {
    t.problems.add(calls->place, "service." + service.name +
                                     ".calls does not apply to model = \"occ\"; expected another "
                                     "model, or no calls");
  }
  const std::size_t known = t.loaded.keys.size();
  t.for_each_in(service.value, "calls", [&](const Member& member, const Node& siblings) {
    resolve_call(t, service, caller, member, siblings);
  });
  move_to_service(t, "service." + service.name + ".", known);
}

void check_circles(Tables& t) {
  const std::vector<ServiceSpec>& services = t.loaded.scenario.services;
  const std::vector<std::size_t> circle = circle_of_calls(t.loaded.scenario);
  if (circle.empty()) return;
  std::string text;
  for (const std::size_t i : circle) text += services[i].name + " -> ";
  const std::string& first = services[circle.front()].name;
  const std::string& second = services[circle.size() > 1 ? circle[1] : circle.front()].name;
  const Member* calls = t.of_kind("service")->find(first)->value.find("calls");
  t.problems.add(calls->value.find(second)->place,
                 "services call each other in a circle: " + text + first + "; one call must go");
}

}  // namespace

void resolve_clients(Tables& t) {
  const Node* clients = t.of_kind("client");
  if (clients != nullptr && clients->members.size() > kMostClientGroups) {
    t.problems.add(t.root.find("client")->place,
                   std::to_string(clients->members.size()) +
                       " client groups; expected at most 65535 (use count for many alike)");
    return;
  }
  t.for_each("client", [&](const Member& m, const Node& all) { resolve_client(t, m, all); });
  t.for_each("service", [&](const Member& m, const Node&) { resolve_calls(t, m); });
  check_circles(t);
  check_retryers(t);
  check_throttle_limits(t);
  note_idle_keys(t);
}

}  // namespace retrysim::scenario
