// Statistics across replications, for whole runs and for phases. Sums run in the order of the
// replications.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include "estimate/intervals.hpp"
#include "estimate/tipping.hpp"
#include "kernel/boost_math.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "measure/metrics/phases.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace retrysim {

namespace {

/// Two-pass moments: the mean first, then squared deviations, with the rounding error of the mean
/// taken out of both. Equal values are their own mean.
struct Moments {
  double mean, stddev;
};

Moments moments(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += v;
  const double mean = sum / n;
  double deviations = 0;
  double squares = 0;
  for (const double v : values) {
    deviations += v - mean;
    squares += (v - mean) * (v - mean);
  }
  if (values.size() < 2) return {mean, 0};
  const double variance = (squares - deviations * deviations / n) / (n - 1);
  return {mean + deviations / n, variance > 0 ? std::sqrt(variance) : 0.0};
}

/// The estimate of a probability from values 0 and 1.
std::optional<Estimate> estimate_proportion(std::span<const double> values) {
  auto e = estimate(values);
  if (!e) return e;
  const auto hits = static_cast<std::size_t>(std::count(values.begin(), values.end(), 1.0));
  const stats::ProportionInterval interval = stats::wilson_interval(hits, values.size());
  e->ci_low = interval.low;
  e->ci_high = interval.high;
  return e;
}

/// The median time to recovery, with censored runs. Its min and max are the first and the last
/// recovery that was seen; empty if the median lies beyond.
std::optional<Estimate> estimate_median_recovery(const MetricValues& values, std::size_t client) {
  const auto index = [](std::string_view name) { return index_of(*find_metric(name)); };
  std::vector<stats::Lifetime> lifetimes;
  std::vector<double> seen;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    if (const auto t = values.at(r, client, index("recovery_s"))) {
      lifetimes.push_back({*t, false});
      seen.push_back(*t);
    } else if (const auto c = values.at(r, client, index("recovery_censored_s"))) {
      lifetimes.push_back({*c, true});
    }
  }
  const auto median = stats::median_lifetime(lifetimes);
  if (!median || !median->median) return std::nullopt;
  Estimate e;
  e.count = lifetimes.size();
  e.mean = *median->median;
  e.min = *std::min_element(seen.begin(), seen.end());
  e.max = *std::max_element(seen.begin(), seen.end());
  if (lifetimes.size() < 2) return e;
  e.ci_low = median->low;
  e.ci_high = median->high;
  return e;
}

std::string client_name(const Scenario& scenario, std::size_t client) {
  return client < scenario.clients.size() ? scenario.clients[client].name : "all";
}

/// Why an expected metric has no value in any replication, as far as known. `requests`: the row for
/// the requests of its client; null if there is none.
std::string why_absent(const Scenario& scenario, const Expectation& expectation,
                       const SummaryRow* requests) {
  if (requests != nullptr && requests->estimate.max == 0) {
    return expectation.client == "all" ? "no client group sent a request"
                                       : expectation.client + " sent no request";
  }
  if (expectation.metric == "recovery_s") {
    return stats::triggers(scenario).empty() ? "the scenario has no fault or surge to recover from"
                                             : "no replication recovered within the run";
  }
  if (expectation.metric == "recovery_median_s" && !stats::triggers(scenario).empty()) {
    return "too few replications recovered within the run";
  }
  if (expectation.metric == "metastable_probability") {
    return "it takes twins without retries to find out";
  }
  const MetricInfo* metric = find_metric(expectation.metric);
  for (std::size_t c = 0; metric != nullptr && c < scenario.clients.size(); ++c) {
    if (scenario.clients[c].name != expectation.client) continue;
    if (metric->scope == MetricScope::kAllOnly) return "it exists for client \"all\" only";
    if (metric->scope == MetricScope::kServices && !own_service(scenario, c)) {
      return "other client groups call the same service; client \"all\" has it";
    }
  }
  return "";
}

/// Compares the estimate with one bound, which must hold as `sign` says.
void judge_bound(ExpectationResult& result, std::string_view sign, double bound) {
  const Estimate& e = *result.estimate;
  const bool above = sign == ">=";
  const auto keeps = [&](double value) { return above ? value >= bound : value <= bound; };
  const double low = e.ci_low.value_or(e.mean);
  const double high = e.ci_high.value_or(e.mean);
  const bool far_keeps = keeps(above ? low : high);
  const bool near_keeps = keeps(above ? high : low);
  const auto verdict = far_keeps    ? ExpectationVerdict::kHolds
                       : near_keeps ? ExpectationVerdict::kUncertain
                                    : ExpectationVerdict::kFails;
  result.verdict = std::max(result.verdict, verdict);
  if (!result.reason.empty()) result.reason += ", ";
  if (verdict == ExpectationVerdict::kUncertain) {
    result.reason += fmt::format("{} lies in the interval from {:.6g} to {:.6g}", bound, low, high);
    return;
  }
  // The end of the interval that decides. Without an interval there is only the value.
  const bool upper = above != far_keeps;
  const std::string_view end = !e.ci_low ? "" : upper ? "upper end " : "lower end ";
  result.reason += fmt::format("{}{:.6g} {} {}", end, upper ? high : low, sign, bound);
}

ExpectationResult judge(const Scenario& scenario, const Expectation& expectation,
                        const SummaryRow* row, const SummaryRow* requests,
                        std::size_t replications) {
  ExpectationResult result;
  result.expectation = expectation;
  if (row == nullptr) {
    const std::string why = why_absent(scenario, expectation, requests);
    result.reason = fmt::format("{} does not exist in this run{}{}", expectation.metric,
                                why.empty() ? "" : ": ", why);
    return result;
  }
  const Estimate& e = row->estimate;
  result.estimate = e;
  if (e.count < replications) {
    result.reason = fmt::format("{} is absent in {} of {} replication{}", expectation.metric,
                                replications - e.count, replications, replications == 1 ? "" : "s");
    return result;
  }
  result.verdict = ExpectationVerdict::kHolds;
  result.judged = true;
  if (expectation.at_most) judge_bound(result, "<=", *expectation.at_most);
  if (expectation.at_least) judge_bound(result, ">=", *expectation.at_least);
  return result;
}

}  // namespace

double student_t_95(std::size_t degrees_of_freedom) {
  // Intervals of a time series ask for the same few quantiles, and each takes some hundred thousand
  // instructions.
  static std::array<std::atomic<double>, 1024> known{};  // 0: not worked out yet
  const bool is_kept = degrees_of_freedom < known.size();
  if (is_kept) {
    const double t_95 = known[degrees_of_freedom].load(std::memory_order_relaxed);
    if (t_95 > 0) return t_95;
  }
  const boost::math::students_t t(static_cast<double>(degrees_of_freedom));
  const double t_95 = std::round(boost::math::quantile(t, 0.975) * 1e10) / 1e10;
  if (is_kept) known[degrees_of_freedom].store(t_95, std::memory_order_relaxed);
  return t_95;
}

std::optional<Estimate> estimate(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const Moments m = moments(values);
  Estimate e;
  e.count = values.size();
  e.mean = m.mean;
  e.min = *std::min_element(values.begin(), values.end());
  e.max = *std::max_element(values.begin(), values.end());
  if (values.size() >= 2) {
    const double half =
        student_t_95(values.size() - 1) * m.stddev / std::sqrt(static_cast<double>(values.size()));
    e.stddev = m.stddev;
    e.ci_low = m.mean - half;
    e.ci_high = m.mean + half;
  }
  return e;
}

void respect_range(Estimate& e, MetricRange range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double low = range == MetricRange::kCorrelation ? -1 : 0;
  const double high = range == MetricRange::kNotNegative ? kInfinity : 1;
  e.mean = std::clamp(e.mean, low, high);
  if (e.ci_low) e.ci_low = std::clamp(*e.ci_low, low, high);
  if (e.ci_high) e.ci_high = std::clamp(*e.ci_high, low, high);
}

namespace {

/// For each metric that is a ratio, the place of its divisor behind the values of all metrics; at
/// the end, the number of places.
const std::vector<std::size_t>& places_of_divisors() {
  static const std::vector<std::size_t> places = [] {
    std::vector<std::size_t> of_metrics;
    std::size_t next = metric_table().size();
    for (const MetricInfo& metric : metric_table()) {
      of_metrics.push_back(metric.per != nullptr ? next++ : next);
    }
    of_metrics.push_back(next);
    return of_metrics;
  }();
  return places;
}

}  // namespace

std::size_t MetricValues::places() { return places_of_divisors().back(); }

double MetricValues::per(std::size_t run, std::size_t client, std::size_t metric) const {
  assert(metric_table()[metric].per != nullptr);
  return at(run, client, places_of_divisors()[metric]).value_or(0);
}

MetricValues::MetricValues(const Scenario& scenario, std::span<const RunResult> runs)
    : runs_(runs.size()), clients_(scenario.clients.size() + 1), places_(places()) {
  std::vector<std::optional<double>> values;
  values.reserve(runs_ * clients_ * places_);
  const std::span<const MetricInfo> table = metric_table();
  for (const RunResult& run : runs) {
    for (std::size_t c = 0; c < clients_; ++c) {
      stop_point();
      const bool all = c + 1 == clients_;
      const MeasuredMetrics measured =
          measure_metrics(scenario, run, all ? std::nullopt : std::optional<std::size_t>(c));
      values.insert(values.end(), measured.values.begin(), measured.values.end());
      for (std::size_t m = 0; m < table.size(); ++m) {
        if (table[m].per != nullptr) values.emplace_back(measured.per[m]);
      }
    }
  }
  values_ = std::make_shared<const std::vector<std::optional<double>>>(std::move(values));
}

MetricValues::MetricValues(std::size_t runs, std::size_t clients,
                           std::vector<std::optional<double>> values)
    : runs_(runs),
      clients_(clients),
      places_(places()),
      values_(std::make_shared<const std::vector<std::optional<double>>>(std::move(values))) {
  assert(values_->size() == runs_ * clients_ * places_);
}

std::optional<Estimate> summarize_metric(const MetricValues& values, std::size_t client,
                                         std::size_t metric) {
  const MetricSummary summary = metric_table()[metric].summary;
  if (summary == MetricSummary::kMedianRecovery) return estimate_median_recovery(values, client);
  std::vector<double> present;
  present.reserve(values.runs());
  for (std::size_t r = 0; r < values.runs(); ++r) {
    if (const auto v = values.at(r, client, metric)) present.push_back(*v);
  }
  if (present.empty()) return std::nullopt;
  if (summary == MetricSummary::kProportion) return estimate_proportion(present);
  auto result = stats::estimate_of_small_counts(values, client, metric);
  if (!result) result = estimate(present);
  respect_range(*result, metric_table()[metric].range);
  return result;
}

std::vector<SummaryRow> summarize(const Scenario& scenario, const MetricValues& values) {
  std::vector<SummaryRow> rows;
  const std::span<const MetricInfo> table = metric_table();
  for (std::size_t c = 0; c < values.clients(); ++c) {
    stop_point();
    for (std::size_t m = 0; m < table.size(); ++m) {
      if (const auto e = summarize_metric(values, c, m)) {
        rows.push_back({client_name(scenario, c), &table[m], *e});
      }
    }
  }
  return rows;
}

const SummaryRow* find_row(std::span<const SummaryRow> rows, std::string_view client,
                           std::string_view metric) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SummaryRow& row) {
    return row.client == client && row.metric->name == metric;
  });
  return found == rows.end() ? nullptr : &*found;
}

RowsByClient::RowsByClient(std::span<const SummaryRow> rows) {
  while (!rows.empty()) {
    const auto other = std::ranges::find_if(
        rows, [&](const SummaryRow& row) { return row.client != rows.front().client; });
    const auto count = static_cast<std::size_t>(other - rows.begin());
    rows_.emplace(rows.front().client, rows.first(count));
    rows = rows.subspan(count);
  }
}

const SummaryRow* RowsByClient::find(std::string_view client, std::string_view metric) const {
  const auto at = rows_.find(client);
  return at == rows_.end() ? nullptr : find_row(at->second, client, metric);
}

std::vector<ExpectationResult> judge_expectations(const Scenario& scenario,
                                                  std::span<const SummaryRow> rows,
                                                  std::size_t replications) {
  const RowsByClient by_client(rows);
  std::vector<ExpectationResult> results;
  for (const Expectation& expectation : scenario.expectations) {
    stop_point();
    const SummaryRow* row = by_client.find(expectation.client, expectation.metric);
    const SummaryRow* requests = by_client.find(expectation.client, "requests");
    results.push_back(judge(scenario, expectation, row, requests, replications));
  }
  return results;
}

// --- Phases --------------------------------------------------------------------------------------

namespace {

/// For each phase metric that is a ratio of counts, the place of its divisor behind the values of
/// all metrics; for the others the place that follows. At the end, the number of places.
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
    if (own.size() >= stats::kMinToJackknife && *shortest != *longest) {
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
