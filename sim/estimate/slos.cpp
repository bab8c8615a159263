// SPDX-License-Identifier: MIT
#include "estimate/slos.hpp"

#include <utility>

namespace retrysim::stats {

namespace {

/// Summarizes the figures of the replications that have a budget, at least one.
SloSummary summary_of(std::span<const SloFigures> figures) {
  SloSummary row;
  row.runs = figures.size();
  std::vector<double> used;
  double hurt = 0, with_users = 0;
  for (const SloFigures& f : figures) {
    for (const auto number : kSloNumbers) row.mean.*number += f.*number;
    used.push_back(f.budget_used);
    row.ended += f.over > 0;
    if (!f.users_hurt) continue;
    hurt += *f.users_hurt;
    ++with_users;
  }
  for (const auto number : kSloNumbers) row.mean.*number /= static_cast<double>(figures.size());
  if (with_users > 0) row.mean.users_hurt = hurt / with_users;
  row.used = *estimate(used);
  respect_range(row.used, MetricRange::kNotNegative);
  return row;
}

}  // namespace

std::optional<double> SloSummary::year_used() const {
  if (!per_year) return std::nullopt;
  return year_share(*slo, mean.budget_used, *per_year);
}

std::vector<SloSummary> summarize_slos(const Scenario& scenario,
                                       std::span<const std::span<const double>> numbers_by_run) {
  std::vector<SloSummary> all;
  if (scenario.slos.empty()) return all;
  std::vector<std::vector<std::optional<SloFigures>>> by_run;
  for (const auto numbers : numbers_by_run) by_run.push_back(from_slo_numbers(numbers));
  std::size_t place = 0;
  const std::vector<SloEvent> events = slo_events(scenario);
  for (const SloSpec& slo : scenario.slos) {
    for (const SloEvent& event : events) {
      std::vector<SloFigures> figures;
      for (const auto& of_run : by_run) {
        if (of_run[place]) figures.push_back(*of_run[place]);
      }
      ++place;
      if (figures.empty()) continue;
      SloSummary& row = all.emplace_back(summary_of(figures));
      row.slo = &slo;
      row.event = event;
      row.per_year = per_year(slo, event);
      row.users = users_of(scenario, slo);
    }
  }
  return all;
}

std::vector<SloSummary> summarize_slos(const Scenario& scenario, std::span<const RunResult> runs) {
  std::vector<std::vector<double>> numbers;
  // Results made by hand may lack the counts of SLOs.
  for (const RunResult& run : runs) {
    if (run.slos.size() != scenario.slos.size()) return {};
  }
  for (const RunResult& run : runs) numbers.push_back(slo_numbers(scenario, run));
  const std::vector<std::span<const double>> views(numbers.begin(), numbers.end());
  return summarize_slos(scenario, views);
}

}  // namespace retrysim::stats
