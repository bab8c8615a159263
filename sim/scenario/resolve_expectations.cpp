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
  if (t.is_client(spec.client) || !t.problems.wants(keys.place_of("client"))) return;
  std::vector<std::string_view> names;
  if (const Node* clients = t.of_kind("client")) {
    for (const Member& client : clients->members) names.push_back(client.name);
  }
  for (const ClientSpec& client : t.loaded.scenario.clients) {
    if (client.caller) names.push_back(client.name);
  }
  names.push_back("all");
  t.problems.add(keys.place_of("client"), keys.path() + ".client = " + in_quotes(spec.client) +
                                              ": there is no such client; " +
                                              suggestion(spec.client, names, "there are"));
}

// A share is at most 1: a bound above that is a percentage, or can never decide anything.
void check_share(Tables& t, const KeyResolution& keys, const Expectation& spec) {
  const MetricInfo* metric = find_metric(spec.metric);
  if (metric == nullptr || metric->range != MetricRange::kShare) return;
  for (const auto& [key, bound] :
       {std::pair("at_least", spec.at_least), {"at_most", spec.at_most}}) {
    if (!bound || (*bound >= 0 && *bound <= 1)) continue;
    t.problems.add(keys.place_of(key), keys.path() + "." + key + " = " + share_text(*bound) +
                                           " is wrong: " + spec.metric +
                                           " is a share; expected a number from 0 to 1" +
                                           percent_hint(*bound));
  }
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
  check_share(t, keys, spec);
  check_bounds(t, keys, spec, member);
  t.loaded.scenario.expectations.push_back(std::move(spec));
}

}  // namespace

void resolve_expectations(Tables& t) {
  t.for_each("expect", [&](const Member& m, const Node& all) { resolve_expectation(t, m, all); });
}

}  // namespace retrysim::scenario
