// What the resolution of all kinds of tables has in common.
//
// SPDX-License-Identifier: MIT
#include "scenario/tables.hpp"

#include "scenario/suggestions.hpp"

#include <algorithm>

namespace retrysim::scenario {

const Node* Tables::of_kind(std::string_view kind) const {
  const Member* member = root.find(kind);
  return member != nullptr && member->value.is_table() ? &member->value : nullptr;
}

KeyResolution Tables::keys_of(std::string_view pattern, const std::string& path,
                              const Member& member, const Node& siblings, const Slots& slots) {
  KeyResolution keys(key_scope(pattern), path, member.value, member.place, slots, files, loaded);
  if (incomplete.count(path) > 0) keys.expect_missing_keys();
  explain_new_entity(keys, key_scope(pattern), member, siblings);
  return keys;
}

bool Tables::is_made_by_edit(const Member& member) const {
  return is_edit(files.sources().file(member.place.source));
}

// What an edit made by accident, through a misspelt name, misses its keys.
void Tables::explain_new_entity(KeyResolution& keys, const KeyScope& scope, const Member& member,
                                const Node& siblings) const {
  if (!is_made_by_edit(member)) return;
  std::vector<std::string_view> others;
  for (const Member& other : siblings.members) {
    if (!is_made_by_edit(other)) others.push_back(other.name);
  }
  if (others.empty()) return;
  const bool near = !nearest(member.name, others).empty();
  const std::string hint = "this edit makes a new " + std::string(scope.noun) + "; " +
                           suggestion(member.name, others, "there are");
  for (const KeyInfo& key : scope.keys) {
    if (!key.required) continue;
    keys.set_missing_message(key.name,
                             near ? hint : "expected " + expected(key.rules) + "; " + hint);
  }
}

void Tables::default_service(KeyResolution& keys, std::string_view key) {
  const auto& services = loaded.scenario.services;
  if (services.empty()) {
    keys.set_default(key, render_text(""));  // one mistake, reported once
  } else if (services.size() == 1) {
    keys.set_default(key, render_text(services.front().name));
  } else {
    if (services_text_.empty()) services_text_ = joined_first(service_names());
    keys.set_missing_message(key, "the services are: " + services_text_);
  }
}

std::optional<std::size_t> Tables::find_service(const KeyResolution& keys, std::string_view key,
                                                const std::string& name) {
  if (!keys.has(key) || loaded.scenario.services.empty()) return std::nullopt;
  if (const auto at = index_of_service(name)) return at;
  if (!problems.wants(keys.place_of(key))) return std::nullopt;
  const auto names = service_names();
  problems.add(keys.place_of(key), keys.path() + "." + std::string(key) + " = " + in_quotes(name) +
                                       ": there is no such service; " +
                                       suggestion(name, names, "there are"));
  return std::nullopt;
}

std::optional<std::size_t> Tables::index_of_service(std::string_view name) {
  const std::vector<ServiceSpec>& services = loaded.scenario.services;
  for (std::size_t i = services_by_name_.size(); i < services.size(); ++i) {
    services_by_name_.emplace(services[i].name, i);
  }
  const auto at = services_by_name_.find(name);
  return at == services_by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::string_view> Tables::service_names() const {
  std::vector<std::string_view> names;
  for (const ServiceSpec& service : loaded.scenario.services) names.push_back(service.name);
  return names;
}

bool Tables::is_client(std::string_view name) {
  if (clients_.empty()) {
    for (const ClientSpec& client : loaded.scenario.clients) clients_.insert(client.name);
    if (const Node* written = of_kind("client")) {
      for (const Member& client : written->members) clients_.insert(client.name);
    }
  }
  return clients_.contains(name);
}

void Tables::note_if_late(const std::string& path, Time start, std::string_view effect) {
  const Duration duration = loaded.scenario.duration;
  if (start < Time::zero() + duration) return;
  loaded.notes.push_back(path + " starts at " + to_text(start - Time::zero()) +
                         ", but no request is submitted after the duration of " +
                         to_text(duration) + "; " + std::string(effect));
}

}  // namespace retrysim::scenario
