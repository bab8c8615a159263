// Applying the rules to every client group, and figures as sentences show them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>
#include <retrysim/verdict.hpp>

#include "explain/group_case.hpp"
#include "explain/rules.hpp"

#include <fmt/format.h>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace retrysim::explain {

namespace {

std::string time_text(double seconds, int digits) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return spoken_count(seconds * 1e6, digits) + " µs";
  if (seconds < 0.0995) return fmt::format("{:.{}g} ms", seconds * 1e3, digits);
  if (seconds < 99.5) return fmt::format("{:.{}g} s", seconds, digits);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = seconds / 60;
  if (minutes < 9.95) return fmt::format("{:.2g} minutes", minutes);
  if (minutes < 119.5) return fmt::format("{:.0f} minutes", minutes);
  return spoken_count(minutes / 60) + " hours";
}

}  // namespace

std::string spoken_time(double seconds) { return time_text(seconds, 3); }

std::string roughly_spoken_time(double seconds) { return time_text(seconds, 2); }

std::string spoken_share(double share) {
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "less than 0.01 %";
  if (percent >= 100) return "100 %";
  if (percent > 99.99) return "more than 99.99 %";
  if (percent > 99) return fmt::format("{:.4g} %", percent);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string spoken_count(double number, int digits) {
  if (number <= 0) return "0";
  const double unit = std::pow(10, std::floor(std::log10(number)) + 1 - digits);
  return unit >= 1 ? fmt::format("{:.0f}", std::round(number / unit) * unit)
                   : fmt::format("{:.{}g}", number, digits);
}

std::string spoken_times(double ratio) {
  if (ratio >= 0.95 && ratio < 1.05) {
    const std::string text = fmt::format("{:.2f} times", ratio);
    return text == "1.00 times" ? "1.0 times" : text;
  }
  return ratio < 9.95 ? fmt::format("{:.2g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

std::string spoken_attempts(double attempts) {
  constexpr int kDigits = 4;
  return fmt::format("{} attempt{}", spoken_count(attempts, kDigits), attempts == 1 ? "" : "s");
}

}  // namespace retrysim::explain

namespace retrysim {

// --- Applying the rules --------------------------------------------------------------------------

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
  for (const auto rules :
       {explain::graph_rules(), explain::overload_rules(), explain::client_rules()}) {
    for (const explain::Rule& rule : rules) {
      if (auto found = rule.find(group)) add(verdicts, rule, name, *std::move(found));
    }
  }
}

}  // namespace

std::vector<VerdictRule> verdict_rules() {
  std::vector<VerdictRule> all;
  for (const auto rules : {explain::answer_rules(), explain::graph_rules(),
                           explain::overload_rules(), explain::client_rules()}) {
    for (const explain::Rule& rule : rules) all.push_back(rule.about);
  }
  return all;
}

std::vector<Verdict> verdicts(const Scenario& scenario, std::span<const RunResult> runs) {
  std::vector<Verdict> all;
  if (runs.empty()) return all;
  explain::CaseFacts facts(scenario);
  std::shared_ptr<const explain::GraphCase> graph;
  if (facts.has_calls) {
    graph = std::make_shared<const explain::GraphCase>(explain::graph_case(scenario, runs));
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    explain::GroupCase group = explain::group_case(facts, runs, c);
    if (graph) explain::set_graph(group, graph);
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
    if (with.total.requests == 0 || scenario.clients[c].makes_calls()) continue;
    const explain::Finding found = explain::compared(with, without, part);
    all.push_back(
        {scenario.clients[c].name, "twin", Severity::kInfo, found.sentence, found.evidence});
  }
  return all;
}

std::vector<double> verdict_figures(const Scenario& scenario, const RunResult& run) {
  explain::CaseFacts facts(scenario);
  std::vector<double> all;
  if (facts.has_calls) all = explain::figures_of(explain::graph_case(scenario, {&run, 1}));
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
  const std::size_t of_groups = count * scenario.clients.size();
  std::vector<std::span<const double>> of_graph;  // in front of those of the groups
  for (const std::vector<double>& figures : figures_by_run) {
    if (figures.size() < of_groups || (!facts.has_calls && figures.size() > of_groups)) {
      throw std::invalid_argument("these are not the figures of a replication of the scenario");
    }
    of_graph.push_back(std::span(figures).first(figures.size() - of_groups));
  }
  std::shared_ptr<const explain::GraphCase> graph;
  if (facts.has_calls) {
    graph = std::make_shared<const explain::GraphCase>(explain::graph_case(scenario, of_graph));
  }
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    stop_point();
    std::vector<std::span<const double>> own;
    for (const std::vector<double>& figures : figures_by_run) {
      own.push_back(std::span(figures).last(of_groups).subspan(c * count, count));
    }
    explain::GroupCase group = explain::group_case(facts, own, c);
    if (graph) explain::set_graph(group, graph);
    if (group.total.requests > 0) add_group(all, group);
  }
  return all;
}

}  // namespace retrysim
