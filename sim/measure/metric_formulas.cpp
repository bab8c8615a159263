// SPDX-License-Identifier: MIT
#include "measure/metric_formulas.hpp"

#include "measure/aftermath.hpp"
#include "measure/metrics_merge.hpp"
#include "measure/recovery.hpp"
#include "measure/storms.hpp"
#include "scenario/derived.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace retrysim::stats::formula {
namespace {

std::optional<double> ratio(double numerator, double denominator) {
  if (denominator <= 0) return std::nullopt;
  return numerator / denominator;
}

}  // namespace

double failures(const MetricInput& in) {
  return outcome<Outcome::kMaxAttemptsExceeded>(in) + outcome<Outcome::kQuotaExceeded>(in) +
         outcome<Outcome::kNotRetryable>(in) + outcome<Outcome::kNoSendToken>(in) +
         outcome<Outcome::kDeadlineExceeded>(in);
}

double finished_in_drain(const MetricInput& in) {
  return requests(in) - outcome<Outcome::kUnfinished>(in) - cohort<&ClientResult::ended_within>(in);
}

double retries(const MetricInput& in) {
  // A request that never sent its first attempt has no retries either.
  const std::uint64_t first = in.client.by_attempt.empty() ? 0 : in.client.by_attempt[0].sent;
  return static_cast<double>(in.client.attempts - std::min(first, in.client.attempts));
}

double price_of_attempts(const MetricInput& in) {
  double sum = 0;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group && *in.group != g) continue;
    const ClientResult& c = in.run.clients[g];
    const ServiceSpec& service = in.scenario.services[in.scenario.clients[g].service];
    sum += service.price * static_cast<double>(c.attempts - c.refused) +
           service.rejection.price * static_cast<double>(c.refused);
  }
  return sum;
}

double jobs_begun(const MetricInput& in) { return static_cast<double>(in.client.jobs.begun); }

double jobs_done(const MetricInput& in) {
  return static_cast<double>(in.client.jobs.ends[static_cast<std::size_t>(JobEnd::kSucceeded)]);
}

double checks(const MetricInput& in) { return static_cast<double>(in.client.jobs.checks); }

double detection_delays_s(const MetricInput& in) {
  return static_cast<double>(in.client.jobs.detection_delay_m.sum_ns) / 1e9;
}

double detections(const MetricInput& in) {
  return static_cast<double>(in.client.jobs.detection_delay_m.count);
}

std::optional<double> jobs_if_any(const MetricInput& in) {
  return in.client.jobs.begun > 0 ? std::optional(jobs_begun(in)) : std::nullopt;
}

double ended_in_bin(const ClientBin& bin) {
  return static_cast<double>(bin.flow.successes + bin.flow.failures);
}

double latency_s_in_bin(const ClientBin& bin) { return bin.latency_sum_ns / 1e9; }

double latencies_in_bin(const ClientBin& bin) { return static_cast<double>(bin.latency_count); }

double rejected_in_phase(const PhaseResult& phase) { return static_cast<double>(phase.rejected); }

bool all_limited(std::span<const ServiceResult> services) {
  return std::none_of(services.begin(), services.end(),
                      [](const ServiceResult& s) { return s.unlimited; });
}

bool single(std::span<const ServiceResult> services) { return services.size() == 1; }

bool single_limited(std::span<const ServiceResult> services) {
  return single(services) && all_limited(services);
}

double wasted_ns(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += s.wasted_full_ns;
  return sum;
}

double wasted_s(const MetricInput& in) { return wasted_ns(in) / 1e9; }

double wasted_after_give_up_ns(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += s.wasted_after_give_up_ns;
  return sum;
}

double bad_executions(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += static_cast<double>(s.unused + s.failed);
  return sum;
}

double work_ns(const MetricInput& in) {
  std::vector<double> terms;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group && *in.group != g) continue;
    const ClientSpec& client = in.scenario.clients[g];
    for (const std::size_t s : called_services(client)) {
      terms.push_back(static_cast<double>(in.run.clients[g].window.arrivals) *
                      share_of_calls(client, s) * scenario::seconds_at(in.scenario, client, s) *
                      1e9);
    }
  }
  return sum_in_any_order(std::move(terms));
}

std::optional<double> queue_max(const MetricInput& in) {
  if (in.services.empty()) return std::nullopt;
  std::uint64_t most = 0;
  for (const ServiceResult& s : in.services) most = std::max(most, s.window.queue_max);
  return static_cast<double>(most);
}

std::optional<double> in_system_variance(const MetricInput& in) {
  const double window_ns = in.window_s() * 1e9;
  const auto mean = ratio(at_services<&ServiceFlow::in_system_ns>(in), window_ns);
  const auto square = ratio(at_services<&ServiceFlow::in_system_squared_ns>(in), window_ns);
  if (!mean || !square) return std::nullopt;
  return std::max(0.0, *square - *mean * *mean);
}

std::optional<double> attempts_variance(const MetricInput& in) {
  const auto mean = ratio(attempts(in), requests(in));
  const auto square = ratio(cohort<&ClientResult::attempts_squared>(in), requests(in));
  if (!mean || !square) return std::nullopt;
  return std::max(0.0, *square - *mean * *mean);
}

std::optional<double> quota_mean(const MetricInput& in) {
  return in.client.has_quota ? std::optional(in.client.quota_mean) : std::nullopt;
}

std::optional<double> peak_rate(const MetricInput& in) {
  return peak_attempt_rate(in.run, in.bins());
}

std::optional<double> peak_to_mean(const MetricInput& in) {
  const auto peak = peak_rate(in);
  if (!peak) return std::nullopt;
  return ratio(*peak, *ratio(in_window<&ClientFlow::arrivals>(in), in.window_s()));
}

std::optional<double> peak_amplification_of(const MetricInput& in) {
  return peak_amplification(in.run, in.bins(), amplification_window(in.scenario, in.group));
}

std::optional<double> arrival_dispersion(const MetricInput& in) {
  return dispersion_index(arrival_counts(in.run, in.bins(), false).counts);
}

std::optional<double> recovery(const MetricInput& in) {
  const auto found = final_recovery(in.scenario, in.run, in.group);
  return found ? found->seconds : std::nullopt;
}

std::optional<double> recovery_censored(const MetricInput& in) {
  const auto found = final_recovery(in.scenario, in.run, in.group);
  return found && !found->seconds ? std::optional<double>(found->not_before_s) : std::nullopt;
}

std::optional<double> recovered(const MetricInput& in) {
  if (triggers(in.scenario).empty()) return std::nullopt;
  return recovery(in) ? 1.0 : 0.0;
}

std::optional<double> disturbed_success_rate(const MetricInput& in) {
  const auto found = disturbed(in.scenario, in.run, in.group);
  if (!found) return std::nullopt;
  return ratio(static_cast<double>(found->requests - found->failed),
               static_cast<double>(found->requests));
}

std::optional<double> metastable(const MetricInput& in) {
  if (!in.run.metastable) return std::nullopt;
  return *in.run.metastable ? 1.0 : 0.0;
}

std::optional<double> completion_time(const MetricInput& in) {
  if (in.run.last_request_end == Time::zero()) return std::nullopt;
  return static_cast<double>(in.run.last_request_end.count()) / 1e9;
}

std::optional<double> nothing(const MetricInput&) { return std::nullopt; }

}  // namespace retrysim::stats::formula
