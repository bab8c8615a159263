// The inputs of the table of metrics: sums of counts, and the formulas of metrics with a rule of
// their own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "measure/analyse/burstiness.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats::formula {

/// A count of the cohort: the requests made in the window.
template <auto Member>
double cohort(const MetricInput& in) {
  return static_cast<double>(in.client.*Member);
}

/// Counts of the caches before calls.
template <auto Member>
double cached(const MetricInput& in) {
  return static_cast<double>(in.client.cache.*Member);
}
/// Counts of the waits at services that have a `wait_within`.
template <auto Member>
double waits(const MetricInput& in) {
  return static_cast<double>(in.client.waits.*Member);
}

inline constexpr auto requests = cohort<&ClientResult::requests>;
inline constexpr auto attempts = cohort<&ClientResult::attempts>;
inline constexpr auto mutating = cohort<&ClientResult::mutating>;

/// Requests that ended with outcome `o`, and attempts.
template <Outcome o>
double outcome(const MetricInput& in) {
  return static_cast<double>(in.client.outcomes[static_cast<std::size_t>(o)]);
}
template <AttemptResult r>
double result(const MetricInput& in) {
  return static_cast<double>(in.client.results[static_cast<std::size_t>(r)]);
}

inline constexpr auto successes = outcome<Outcome::kSuccess>;
double failures(const MetricInput& in);
double finished_in_drain(const MetricInput& in);
double retries(const MetricInput& in);
double price_of_attempts(const MetricInput& in);

/// The sum of durations in seconds, and the number of durations.
template <auto Total>
double seconds(const MetricInput& in) {
  return static_cast<double>(in.client.*Total) / 1e9;
}
template <auto Moments>
double total_s(const MetricInput& in) {
  return static_cast<double>((in.client.*Moments).sum_ns) / 1e9;
}
template <auto Moments>
double number(const MetricInput& in) {
  return static_cast<double>((in.client.*Moments).count);
}
template <auto Moments>
std::optional<double> deviation_s(const MetricInput& in) {
  const DurationMoments& m = in.client.*Moments;
  if (m.count == 0) return std::nullopt;
  return m.standard_deviation_ns() / 1e9;
}
template <auto Quantiles, int permille>
std::optional<double> quantile_s(const MetricInput& in) {
  return quantile_seconds(in.client.*Quantiles, permille / 1000.0);
}

// Jobs that clients poll for.
double jobs_begun(const MetricInput& in);
double jobs_done(const MetricInput& in);
double checks(const MetricInput& in);
double detection_delays_s(const MetricInput& in);
double detections(const MetricInput& in);
std::optional<double> jobs_if_any(const MetricInput& in);

// Flows: the same count for the window and for each bin.
template <auto Member>
double in_window(const MetricInput& in) {
  return static_cast<double>(in.client.window.*Member);
}
template <auto Member>
double in_bin(const ClientBin& bin) {
  return static_cast<double>(bin.flow.*Member);
}
template <auto Member>
double at_services(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += static_cast<double>(s.window.*Member);
  return sum;
}
template <auto Member>
double at_service(const ServiceFlow& flow) {
  return static_cast<double>(flow.*Member);
}

// Bins of a client group.
double ended_in_bin(const ClientBin& bin);
double latency_s_in_bin(const ClientBin& bin);
double latencies_in_bin(const ClientBin& bin);

// Phases of a client group.
template <auto Member>
double in_phase(const PhaseResult& phase) {
  return static_cast<double>(phase.flow.*Member);
}
/// About requests made in the phase: a count of PhaseRequests, or a sum of its counts.
template <auto Member>
double made(const PhaseResult& phase) {
  return static_cast<double>(std::invoke(Member, phase.made));
}
template <Outcome outcome>
double made_that_ended(const PhaseResult& phase) {
  return static_cast<double>(phase.made.ended_as(outcome));
}
double rejected_in_phase(const PhaseResult& phase);
template <auto Latency>
double phase_seconds(const PhaseResult& phase) {
  return (phase.*Latency).sum_ns / 1e9;
}
template <auto Latency>
double phase_number(const PhaseResult& phase) {
  return static_cast<double>((phase.*Latency).count);
}
/// A quantile of the latencies in a phase, s; `place`: its index in kPhaseQuantiles.
template <auto Latency, std::size_t place>
std::optional<double> phase_quantile_s(const PhaseResult& phase) {
  const PhaseLatency& latency = phase.*Latency;
  if (!quantile_exists(latency.count, kPhaseQuantiles[place])) return std::nullopt;
  return latency.quantiles_s[place];
}

// Metrics of all services, or of the services of a group. Levels add up over services; other
// figures exist for a single service only.
bool all_limited(std::span<const ServiceResult> services);
bool some_listens(std::span<const ServiceResult> services);
bool single(std::span<const ServiceResult> services);
bool single_limited(std::span<const ServiceResult> services);
double ejections(const MetricInput& in);
double ejected_ns(const MetricInput& in);
double wasted_ns(const MetricInput& in);
double wasted_s(const MetricInput& in);
double wasted_after_give_up_ns(const MetricInput& in);
double bad_executions(const MetricInput& in);
/// Mean work of an arriving attempt, in nanoseconds of server time.
double work_ns(const MetricInput& in);
std::optional<double> queue_max(const MetricInput& in);
std::optional<double> in_system_variance(const MetricInput& in);

// Others.
std::optional<double> attempts_variance(const MetricInput& in);
std::optional<double> quota_mean(const MetricInput& in);

// Metrics of groups with circuit breakers; for other groups they do not exist, or are 0.
double requests_with_breaker(const MetricInput& in);
double breaker_time_ns(const MetricInput& in);  ///< length of the window, summed over the breakers
template <auto count>
std::optional<double> of_breakers(const MetricInput& in) {
  if (in.client.breakers == 0) return std::nullopt;
  return static_cast<double>(in.client.*count);
}
std::optional<double> peak_rate(const MetricInput& in);
std::optional<double> peak_to_mean(const MetricInput& in);
std::optional<double> peak_amplification_of(const MetricInput& in);
std::optional<double> arrival_dispersion(const MetricInput& in);
template <auto Member>
std::optional<double> echo(const MetricInput& in) {
  const auto found = strongest_echo(arrival_counts(in.run, in.bins()));
  return found ? std::optional<double>((*found).*Member) : std::nullopt;
}
template <auto Member>
std::optional<double> spectrum(const MetricInput& in) {
  const auto found = spectral_peak(arrival_counts(in.run, in.bins()));
  return found ? std::optional<double>((*found).*Member) : std::nullopt;
}
std::optional<double> recovery(const MetricInput& in);
std::optional<double> recovery_censored(const MetricInput& in);
std::optional<double> recovered(const MetricInput& in);
std::optional<double> disturbed_success_rate(const MetricInput& in);
std::optional<double> error_budget_used_by(const MetricInput& in);
std::optional<double> metastable(const MetricInput& in);
std::optional<double> completion_time(const MetricInput& in);
/// The formula of metrics that exist only over all replications: empty.
std::optional<double> nothing(const MetricInput& in);

}  // namespace retrysim::stats::formula

namespace retrysim::stats {

// --- Fairness ------------------------------------------------------------------------------------

// Jain's index (sum x)^2 / (n sum x^2): 1 if all clients have the same, 1/n if one has everything.
// It is also 1 if all have nothing.

/// Jain's index of the successes of clients in the window. Empty if they were not recorded by
/// client.
std::optional<double> jain_index(const MetricInput& in);

/// Jain's index of success rates, among clients any of whose requests ended.
std::optional<double> jain_index_of_success(const MetricInput& in);

// --- All client groups together ------------------------------------------------------------------

/// Cohort and window measurements of all groups together. Bins and goodput per client are left
/// empty: RunResult::all_bins has the bins.
ClientResult merge_groups(const Scenario& scenario, const RunResult& run);

/// The counts by attempt number of all groups together. The largest number of sends in 100 ms is
/// not known for several groups together; `peak_sends_100ms` is then zero.
std::vector<AttemptNumberCounts> merge_by_attempt(const Scenario& scenario, const RunResult& run);

/// The sum of terms that come in the order of a scenario's tables: the same to the last bit in any
/// other order.
double sum_in_any_order(std::vector<double> terms);

}  // namespace retrysim::stats
