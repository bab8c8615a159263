// Phases over the replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/phases.hpp>
#include <retrysim/stop.hpp>

#include "estimate/ratio_estimate.hpp"
#include "measure/phase_metrics.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace retrysim {
namespace {

/// The places, after those of the metrics, of what ratios of counts are divided by; for the others
/// the place that follows.
const std::vector<std::size_t>& phase_divisor_places() {
  static const std::vector<std::size_t> places = [] {
    std::vector<std::size_t> of_metrics;
    std::size_t next = 2 + phase_metrics().size();
    for (const MetricInfo* metric : phase_metrics()) {
      const bool is_ratio =
          metric->kind == MetricKind::kShare || metric->kind == MetricKind::kRatio;
      of_metrics.push_back(is_ratio ? next++ : next);
    }
    of_metrics.push_back(next);
    return of_metrics;
  }();
  return places;
}

/// Whether a metric is divided by the length of the phase.
bool is_per_time(const MetricInfo& metric) {
  return metric.kind == MetricKind::kRate || metric.kind == MetricKind::kLevel ||
         metric.kind == MetricKind::kCapacity;
}

std::optional<Estimate> estimate_phase(const PhaseValues& values, std::size_t client,
                                       std::size_t phase, std::size_t metric) {
  const MetricInfo& info = *phase_metrics()[metric];
  std::vector<double> own, numerators, denominators;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const auto value = values.at(r, client, phase, metric);
    if (!value) continue;
    own.push_back(*value);
    denominators.push_back(values.per(r, client, phase, metric));
    numerators.push_back(*value * denominators.back());
  }
  if (own.empty()) return std::nullopt;
  std::optional<Estimate> result;
  if (is_per_time(info)) {
    const auto [shortest, longest] = std::minmax_element(denominators.begin(), denominators.end());
    if (own.size() >= stats::kFewestToJackknife && *shortest != *longest) {
      result = stats::bounded_jackknife_ratio(numerators, denominators);
    }
  } else {
    result = stats::estimate_of_small_counts(numerators, denominators);
  }
  if (!result) result = estimate(own);
  respect_range(*result, info.range);
  return result;
}

PhaseSummary summarize_phase(const PhaseValues& values, std::size_t client, std::size_t phase) {
  PhaseSummary summary;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    const double start_s = values.start_s(r, client, phase), end_s = values.end_s(r, client, phase);
    summary.start_s += start_s;
    summary.end_s += end_s;
    summary.replications += end_s > start_s;
  }
  summary.start_s /= static_cast<double>(values.runs());
  summary.end_s /= static_cast<double>(values.runs());
  for (std::size_t m = 0; m < phase_metrics().size() && summary.replications > 0; ++m) {
    if (const auto e = estimate_phase(values, client, phase, m)) {
      summary.metrics.push_back({phase_metrics()[m], *e});
    }
  }
  return summary;
}

}  // namespace

std::size_t PhaseValues::places() { return phase_divisor_places().back(); }

double PhaseValues::per(std::size_t run, std::size_t client, std::size_t phase,
                        std::size_t metric) const {
  if (is_per_time(*phase_metrics()[metric])) {
    return end_s(run, client, phase) - start_s(run, client, phase);
  }
  const std::size_t place = phase_divisor_places()[metric];
  if (place == phase_divisor_places()[metric + 1]) return 0;
  return at_place(run, client, phase, place).value_or(0);
}

PhaseValues::PhaseValues(const Scenario& scenario, std::span<const RunResult> runs)
    : runs_(runs.size()),
      clients_(scenario.clients.size() + 1),
      phases_(runs.empty() ? 0 : runs.front().all_phases.size()) {
  values_.reserve(runs_ * clients_ * phases_ * places());
  for (const RunResult& run : runs) {
    for (std::size_t c = 0; c < clients_ && phases_ > 0; ++c) {
      stop_point();
      const bool all = c + 1 == clients_;
      const auto client = all ? std::nullopt : std::optional<std::size_t>(c);
      for (const PhaseResult& phase : all ? run.all_phases : run.clients[c].phases) {
        values_.emplace_back((phase.start - Time::zero()).in_seconds());
        values_.emplace_back((phase.end - Time::zero()).in_seconds());
        const stats::MeasuredPhase measured = stats::measure_phase(scenario, run, client, phase);
        values_.insert(values_.end(), measured.values.begin(), measured.values.end());
        for (std::size_t m = 0; m < measured.per.size(); ++m) {
          if (phase_divisor_places()[m] != phase_divisor_places()[m + 1]) {
            values_.emplace_back(measured.per[m]);
          }
        }
      }
    }
  }
  assert(values_.size() == runs_ * clients_ * phases_ * places());
}

PhaseValues::PhaseValues(std::size_t runs, std::size_t clients, std::size_t phases,
                         std::vector<std::optional<double>> values)
    : runs_(runs), clients_(clients), phases_(phases), values_(std::move(values)) {
  assert(values_.size() == runs_ * clients_ * phases_ * places());
}

const Estimate* PhaseSummary::find(std::string_view metric) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const PhaseEstimate& e) { return e.metric->name == metric; });
  return found == metrics.end() ? nullptr : &found->estimate;
}

std::vector<PhaseSummary> summarize_phases(const Scenario& scenario, const PhaseValues& values) {
  std::vector<PhaseSummary> summaries;
  if (values.phases() == 0 || values.runs() == 0) return summaries;
  const std::vector<Phase> phases = phases_of(scenario);
  assert(phases.size() == values.phases());
  for (std::size_t c = 0; c < values.clients(); ++c) {
    for (std::size_t p = 0; p < phases.size(); ++p) {
      PhaseSummary summary = summarize_phase(values, c, p);
      if (summary.replications == 0) continue;
      summary.client = c < scenario.clients.size() ? scenario.clients[c].name : "all";
      summary.phase = phases[p];
      summaries.push_back(std::move(summary));
    }
  }
  return summaries;
}

const PhaseSummary* find_phase(std::span<const PhaseSummary> phases, std::string_view client,
                               std::string_view name) {
  const auto found = std::find_if(phases.begin(), phases.end(), [&](const PhaseSummary& p) {
    return p.client == client && p.phase.name == name;
  });
  return found == phases.end() ? nullptr : &*found;
}

}  // namespace retrysim
