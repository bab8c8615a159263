// SPDX-License-Identifier: MIT
#include <retrysim/verdict.hpp>

#include <optional>
#include <utility>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"

namespace retrysim {
namespace {

void add(std::vector<Verdict>& verdicts, const explain::Rule& rule, const std::string& client,
         explain::Finding found) {
  verdicts.push_back({client, rule.about.id, rule.about.severity, std::move(found.sentence),
                      std::move(found.evidence)});
}

void add_group(std::vector<Verdict>& verdicts, const explain::GroupCase& group) {
  const std::string& name = group.client.name;
  for (const explain::Rule& rule : explain::answer_rules()) {
    if (auto found = rule.find(group)) {
      add(verdicts, rule, name, *std::move(found));
      break;
    }
  }
  for (const auto rules : {explain::overload_rules(), explain::client_rules()}) {
    for (const explain::Rule& rule : rules) {
      if (auto found = rule.find(group)) add(verdicts, rule, name, *std::move(found));
    }
  }
}

}  // namespace

std::vector<VerdictRule> verdict_rules() {
  std::vector<VerdictRule> all;
  for (const auto rules :
       {explain::answer_rules(), explain::overload_rules(), explain::client_rules()}) {
    for (const explain::Rule& rule : rules) all.push_back(rule.about);
  }
  return all;
}

std::vector<Verdict> verdicts(const Scenario& scenario, std::span<const RunResult> runs) {
  std::vector<Verdict> all;
  if (runs.empty()) return all;
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    const explain::GroupCase group = explain::group_case(scenario, runs, c);
    if (group.total.requests > 0) add_group(all, group);
  }
  return all;
}

}  // namespace retrysim
