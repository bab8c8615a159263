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
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

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
  for (const std::size_t s : called_services(spec)) {
    if (services[s].model != ServiceModelKind::kOcc) continue;
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

// The keys of the calls of a service, among all keys.
struct KeysOfCalls {
  std::string prefix;  // of all keys of the service
  std::size_t first = 0, last = 0;
};

// Puts them behind the other keys of their service, to be written in one table. They are the last
// ones, and the services come in the same order as before.
void move_to_services(Tables& t, const std::vector<KeysOfCalls>& calls) {
  if (calls.empty()) return;
  std::vector<ResolvedKey>& keys = t.loaded.keys;
  std::vector<ResolvedKey> in_order;
  in_order.reserve(keys.size());
  auto next = calls.begin();
  const auto take = [&](std::size_t from, std::size_t to) {
    const auto begin = keys.begin();
    in_order.insert(in_order.end(),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(from)),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(to)));
  };
  const std::size_t others = calls.front().first;
  for (std::size_t i = 0; i < others; ++i) {
    const bool of_caller = next != calls.end() && keys[i].path.starts_with(next->prefix);
    const bool last = of_caller && (i + 1 == others || !keys[i + 1].path.starts_with(next->prefix));
    take(i, i + 1);
    if (!last) continue;
    take(next->first, next->last);
    ++next;
  }
  for (; next != calls.end(); ++next) take(next->first, next->last);
  keys = std::move(in_order);
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
  const auto callee = t.index_of_service(member.name);
  if (!callee) {
    if (!t.problems.wants(member.place)) return;
    t.problems.add(member.place, path + ": there is no such service to call; " +
                                     suggestion(member.name, t.service_names(), "there are"));
    return;
  }
  spec.service = *callee;
  check_reconciliation(t, keys, spec);
  check_end_of_lost_requests(t, keys, member, spec);
  note_idle_priority(t, keys, spec);
  t.loaded.scenario.clients.push_back(std::move(spec));
}

void resolve_calls(Tables& t, const Member& service, std::vector<KeysOfCalls>& moved) {
  const Member* calls = service.value.find("calls");
  if (calls == nullptr || !calls->value.is_table()) return;
  const std::size_t caller = *t.index_of_service(service.name);
  if (t.loaded.scenario.services[caller].model == ServiceModelKind::kOcc) {
    t.problems.add(calls->place, "service." + service.name +
                                     ".calls does not apply to model = \"occ\"; expected another "
                                     "model, or no calls");
  }
  const std::size_t known = t.loaded.keys.size();
  t.for_each_in(service.value, "calls", [&](const Member& member, const Node& siblings) {
    resolve_call(t, service, caller, member, siblings);
  });
  moved.push_back({"service." + service.name + ".", known, t.loaded.keys.size()});
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
  std::vector<KeysOfCalls> moved;
  t.for_each("service", [&](const Member& m, const Node&) { resolve_calls(t, m, moved); });
  move_to_services(t, moved);
  check_circles(t);
  check_retryers(t);
  check_throttle_limits(t);
  note_idle_keys(t);
}

}  // namespace retrysim::scenario
