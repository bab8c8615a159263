// SPDX-License-Identifier: MIT
#include <retrysim/stop.hpp>
#include <retrysim/verdict.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"

namespace retrysim {
namespace {

void add(std::vector<Verdict>& verdicts, const explain::Rule& rule, const std::string& client,
         explain::Finding found) {
  verdicts.push_back({client, rule.about.id, found.severity.value_or(rule.about.severity),
                      std::move(found.sentence), std::move(found.evidence)});
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
  explain::CaseFacts facts(scenario);
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    const explain::GroupCase group = explain::group_case(facts, runs, c);
    if (group.total.requests > 0) add_group(all, group);
  }
  return all;
}

std::vector<Verdict> twin_verdicts(const Scenario& scenario, std::span<const RunResult> runs,
                                   const Scenario& twin, std::span<const RunResult> twin_runs,
                                   std::string_view part) {
  std::vector<Verdict> all;
  if (runs.empty() || twin_runs.empty()) return all;
  explain::CaseFacts facts(scenario), twin_facts(twin);
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    const explain::GroupCase with = explain::group_case(facts, runs, c);
    const explain::GroupCase without = explain::group_case(twin_facts, twin_runs, c);
    if (with.total.requests == 0 || scenario.clients[c].caller) continue;
    const explain::Finding found = explain::compared(with, without, part);
    all.push_back(
        {scenario.clients[c].name, "twin", Severity::kInfo, found.sentence, found.evidence});
  }
  return all;
}

std::vector<double> verdict_figures(const Scenario& scenario, const RunResult& run) {
  std::vector<double> all;
  explain::CaseFacts facts(scenario);
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    const std::vector<double> figures = explain::figures_of(facts, run, c);
    all.insert(all.end(), figures.begin(), figures.end());
  }
  return all;
}

std::vector<Verdict> verdicts(const Scenario& scenario,
                              std::span<const std::vector<double>> figures_by_run) {
  std::vector<Verdict> all;
  if (figures_by_run.empty()) return all;
  explain::CaseFacts facts(scenario);
  const std::size_t count = explain::figure_count(facts);
  for (const std::vector<double>& figures : figures_by_run) {
    if (figures.size() == count * scenario.clients.size()) continue;
    throw std::invalid_argument("these are not the figures of a replication of the scenario");
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    std::vector<std::span<const double>> own;
    for (const std::vector<double>& figures : figures_by_run) {
      own.push_back(std::span(figures).subspan(c * count, count));
    }
    const explain::GroupCase group = explain::group_case(facts, own, c);
    if (group.total.requests > 0) add_group(all, group);
  }
  return all;
}

}  // namespace retrysim
