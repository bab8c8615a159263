// Applying the rules to every client group.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"
#include "kernel/stop.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace retrysim {

// --- Applying the rules --------------------------------------------------------------------------

namespace {

void add(std::vector<Verdict>& verdicts, const explain::Rule& rule, const std::string& client,
         explain::Finding found) {
  verdicts.push_back({client, rule.about.id, found.severity.value_or(rule.about.severity),
                      found.sentence.text(), std::move(found.evidence), found.sentence.figures()});
}

/// The first lines of graphs, about all groups.
void add_headlines(std::vector<Verdict>& verdicts, std::span<const explain::GroupCase> groups) {
  for (explain::Headline& line : explain::headlines(groups)) {
    explain::Finding& found = line.finding;
    const VerdictRule& about = explain::kHeadlineRule;
    verdicts.push_back({"all", about.id, found.severity.value_or(about.severity),
                        found.sentence.text(), std::move(found.evidence), found.sentence.figures(),
                        std::move(line.culprits)});
  }
}

void add_group(std::vector<Verdict>& verdicts, const explain::GroupCase& group) {
  const std::string& name = group.client.name;
  for (const explain::Rule& rule : explain::answer_rules()) {
    if (auto found = rule.find(group)) {
      add(verdicts, rule, name, *std::move(found));
      verdicts.back().fate = explain::fate_of(group, verdicts.back());
      break;
    }
  }
  if (group.total.requests == 0) return;  // there is nothing to explain
  const bool was_sick = explain::is_sick_before_it(group);
  for (const bool after : {false, true}) {
    for (const auto rules :
         {explain::graph_rules(), explain::overload_rules(), explain::client_rules()}) {
      for (const explain::Rule& rule : rules) {
        if ((was_sick && rule.of_disturbance) != after) continue;
        if (auto found = rule.find(group)) add(verdicts, rule, name, *std::move(found));
      }
    }
  }
}

void add_all(std::vector<Verdict>& verdicts, std::span<const explain::GroupCase> groups,
             const Scenario& scenario, std::span<const stats::SloSummary> slos) {
  add_headlines(verdicts, groups);
  for (const explain::GroupCase& group : groups) {
    stop_point();
    add_group(verdicts, group);
  }
  for (Verdict& v : explain::error_budgets(scenario, slos)) verdicts.push_back(std::move(v));
}

}  // namespace

std::vector<VerdictRule> verdict_rules() {
  std::vector<VerdictRule> all = {explain::kHeadlineRule};
  for (const auto rules : {explain::answer_rules(), explain::graph_rules(),
                           explain::overload_rules(), explain::client_rules()}) {
    for (const explain::Rule& rule : rules) all.push_back(rule.about);
  }
  all.push_back(explain::kErrorBudgetRule);
  return all;
}

std::vector<Verdict> verdicts(const Scenario& scenario, std::span<const RunResult> runs) {
  std::vector<Verdict> all;
  if (runs.empty()) return all;
  explain::CaseFacts facts(scenario);
  std::shared_ptr<const explain::GraphCase> graph;
  if (facts.has_graph) {
    graph = std::make_shared<const explain::GraphCase>(explain::graph_case(scenario, runs));
  }
  std::vector<explain::GroupCase> groups;
  groups.reserve(scenario.clients.size());
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    groups.push_back(explain::group_case(facts, runs, c));
    if (graph) explain::set_graph(groups.back(), graph);
  }
  add_all(all, groups, scenario, stats::summarize_slos(scenario, runs));
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
    if (with.total.requests == 0 || scenario.clients[c].makes_calls()) continue;
    const explain::Finding found = explain::compared(with, without, part);
    all.push_back({scenario.clients[c].name, "twin", Severity::kInfo, found.sentence.text(),
                   found.evidence, found.sentence.figures()});
  }
  return all;
}

std::vector<double> verdict_figures(const Scenario& scenario, const RunResult& run) {
  explain::CaseFacts facts(scenario);
  std::vector<double> all;
  if (facts.has_graph) all = explain::figures_of(explain::graph_case(scenario, {&run, 1}));
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    const std::vector<double> figures = explain::figures_of(facts, run, c);
    all.insert(all.end(), figures.begin(), figures.end());
  }
  const std::vector<double> of_slos = stats::slo_numbers(scenario, run);
  all.insert(all.end(), of_slos.begin(), of_slos.end());
  return all;
}

std::vector<Verdict> verdicts(const Scenario& scenario,
                              std::span<const std::vector<double>> figures_by_run) {
  std::vector<Verdict> all;
  if (figures_by_run.empty()) return all;
  explain::CaseFacts facts(scenario);
  std::vector<std::size_t> begin = {0};  // where each group's begin, and the end
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    begin.push_back(begin.back() + explain::figure_count(facts, c));
  }
  const std::size_t of_groups = begin.back(), of_slos = stats::slo_number_count(scenario);
  std::vector<std::span<const double>> of_graph;  // before the groups' figures
  std::vector<std::span<const double>> slos;      // after the groups' figures
  for (const std::vector<double>& figures : figures_by_run) {
    const std::size_t known = of_groups + of_slos;
    if (figures.size() < known || (!facts.has_graph && figures.size() > known)) {
      throw std::invalid_argument("these are not the figures of a replication of the scenario");
    }
    of_graph.push_back(std::span(figures).first(figures.size() - known));
    slos.push_back(std::span(figures).last(of_slos));
  }
  std::shared_ptr<const explain::GraphCase> graph;
  if (facts.has_graph) {
    graph = std::make_shared<const explain::GraphCase>(explain::graph_case(scenario, of_graph));
  }
  std::vector<explain::GroupCase> groups;
  groups.reserve(scenario.clients.size());
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    std::vector<std::span<const double>> own;
    for (const std::vector<double>& figures : figures_by_run) {
      own.push_back(
          std::span(figures).last(of_groups + of_slos).subspan(begin[c], begin[c + 1] - begin[c]));
    }
    groups.push_back(explain::group_case(facts, own, c));
    if (graph) explain::set_graph(groups.back(), graph);
  }
  add_all(all, groups, scenario, stats::summarize_slos(scenario, slos));
  return all;
}

}  // namespace retrysim
