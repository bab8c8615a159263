// Resolving [expect.NAME].
//
// SPDX-License-Identifier: MIT
#include "scenario/output_keys.hpp"
#include "scenario/suggestions.hpp"
#include "scenario/tables.hpp"

#include <retrysim/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retrysim::scenario {
namespace {

// A number in a message, without the noise of binary fractions.
std::string share_text(double value) { return fmt::format("{:.6g}", value); }

void check_expectation_client(Tables& t, const KeyResolution& keys, const Expectation& spec) {
  if (!keys.has("client") || spec.client == "all") return;
  std::vector<std::string_view> names;  // as written: a group with mistakes exists, too
  if (const Node* clients = t.of_kind("client")) {
    for (const Member& client : clients->members) names.push_back(client.name);
  }
  for (const ClientSpec& client : t.loaded.scenario.clients) {
    if (client.caller) names.push_back(client.name);
  }
  if (std::find(names.begin(), names.end(), spec.client) != names.end()) return;
  names.push_back("all");
  t.problems.add(keys.place_of("client"), keys.path() + ".client = " + in_quotes(spec.client) +
                                              ": there is no such client; " +
                                              suggestion(spec.client, names, "there are"));
}

void check_bounds(Tables& t, const KeyResolution& keys, const Expectation& spec,
                  const Member& member) {
  const bool given =
      member.value.find("at_most") != nullptr || member.value.find("at_least") != nullptr;
  if (!given) {
    t.problems.add(member.place,
                   keys.path() + " has no bound; expected at_most or at_least, or both");
  } else if (spec.at_most && spec.at_least && *spec.at_least > *spec.at_most) {
    t.problems.add(keys.place_of("at_least"),
                   keys.path() + ".at_least = " + share_text(*spec.at_least) +
                       " is above at_most = " + share_text(*spec.at_most) + "; nothing is both");
  }
}

void resolve_expectation(Tables& t, const Member& member, const Node& siblings) {
  Expectation spec;
  spec.name = member.name;
  const Slots slots(&spec);
  KeyResolution keys = t.keys_of("expect.*", "expect." + member.name, member, siblings, slots);
  keys.resolve();
  if (keys.has("metric") && find_metric(spec.metric) == nullptr) {
    t.problems.add(keys.place_of("metric"),
                   keys.path() + ".metric = " + unknown_metric(spec.metric));
  }
  check_expectation_client(t, keys, spec);
  check_bounds(t, keys, spec, member);
  t.loaded.scenario.expectations.push_back(std::move(spec));
}

}  // namespace

void resolve_expectations(Tables& t) {
  t.for_each("expect", [&](const Member& m, const Node& all) { resolve_expectation(t, m, all); });
}

}  // namespace retrysim::scenario
