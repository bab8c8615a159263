// Formulas of the metrics. Shares of attempts and requests are quotients of cohort counts; rates
// and levels are window counts and time integrals divided by the length of the window.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include "stats/burstiness.hpp"
#include "stats/fairness.hpp"
#include "stats/metrics_merge.hpp"
#include "stats/recovery.hpp"
#include "stats/storms.hpp"

#include <algorithm>

namespace retrysim {
namespace {

using Value = std::optional<double>;
using In = const MetricInput&;

Value ratio(double numerator, double denominator) {
  if (denominator <= 0) return std::nullopt;
  return numerator / denominator;
}

Value ratio(std::uint64_t numerator, std::uint64_t denominator) {
  return ratio(static_cast<double>(numerator), static_cast<double>(denominator));
}

Value count(std::uint64_t n) { return static_cast<double>(n); }

Value per_second(In in, std::uint64_t n) { return ratio(static_cast<double>(n), in.window_s()); }

std::uint64_t outcome(In in, Outcome o) { return in.client.outcomes[static_cast<std::size_t>(o)]; }

Value result_share(In in, AttemptResult r) {
  return ratio(in.client.results[static_cast<std::size_t>(r)], in.client.attempts);
}

std::uint64_t failures(In in) {
  std::uint64_t n = 0;
  for (const Outcome o :
       {Outcome::kMaxAttemptsExceeded, Outcome::kQuotaExceeded, Outcome::kNotRetryable,
        Outcome::kNoSendToken, Outcome::kDeadlineExceeded}) {
    n += outcome(in, o);
  }
  return n;
}

std::uint64_t finished_in_drain(In in) {
  return in.client.requests - outcome(in, Outcome::kUnfinished) - in.client.ended_within;
}

std::uint64_t retries(In in) {
  // A request that never sent its first attempt has no retries either.
  const std::uint64_t first = in.client.by_attempt.empty() ? 0 : in.client.by_attempt[0].sent;
  return in.client.attempts - std::min(first, in.client.attempts);
}

// Moments and quantiles of durations, chosen by the member of ClientResult that holds them.

template <auto Moments>
Value mean_s(In in) {
  const DurationMoments& m = in.client.*Moments;
  if (m.count == 0) return std::nullopt;
  return static_cast<double>(m.sum_ns) / 1e9 / static_cast<double>(m.count);
}

template <auto Moments>
Value sd_s(In in) {
  const DurationMoments& m = in.client.*Moments;
  if (m.count == 0) return std::nullopt;
  return m.standard_deviation_ns() / 1e9;
}

template <auto Quantiles, int kPermille>
Value quantile_s(In in) {
  return quantile_seconds(in.client.*Quantiles, kPermille / 1000.0);
}

/// Mean of a request, over all requests.
template <auto Total>
Value part_of_latency(In in) {
  return ratio(static_cast<double>(in.client.*Total) / 1e9,
               static_cast<double>(in.client.requests));
}

// Services: all of them, or that of a group. Levels add up over services; what does not add up
// exists for a single service only.

template <auto Member>
double sum_over_services(In in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += static_cast<double>(s.window.*Member);
  return sum;
}

template <auto Member>
Value level(In in) {
  return ratio(sum_over_services<Member>(in), in.window_s() * 1e9);
}

/// Share of the nominal capacity of all services; does not exist if one of them is unlimited.
Value share_of_capacity(In in, double busy_ns) {
  double servers = 0;
  for (const ServiceResult& s : in.services) {
    if (s.unlimited) return std::nullopt;
    servers += static_cast<double>(s.nominal_servers);
  }
  return ratio(busy_ns, servers * in.window_s() * 1e9);
}

Value queue_max(In in) {
  std::uint64_t most = 0;
  for (const ServiceResult& s : in.services) most = std::max(most, s.window.queue_max);
  return in.services.empty() ? Value() : count(most);
}

Value in_system_variance(In in) {
  if (in.services.size() != 1) return std::nullopt;
  const Value mean = level<&ServiceFlow::in_system_ns>(in);
  const Value square = level<&ServiceFlow::in_system_squared_ns>(in);
  if (!mean || !square) return std::nullopt;
  return std::max(0.0, *square - *mean * *mean);
}

Value all_busy_share(In in) {
  if (in.services.size() != 1 || in.services[0].unlimited) return std::nullopt;
  return level<&ServiceFlow::all_busy_ns>(in);
}

Value wasted_ns(In in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += s.wasted_full_ns;
  return sum;
}

Value wasted_after_give_up_share(In in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) sum += s.wasted_after_give_up_ns;
  return share_of_capacity(in, sum);
}

/// An attempt on a row under optimistic concurrency control is served twice: read and write.
double passes(const ServiceSpec& service) {
  return service.model == ServiceModelKind::kOcc ? 2 : 1;
}

/// Mean work that arrives, in server time per time and capacity.
Value work_load(In in) {
  if (in.services.empty()) return std::nullopt;
  double work_ns = 0;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group && *in.group != g) continue;
    const ClientSpec& client = in.scenario.clients[g];
    const ServiceSpec& service = in.scenario.services[client.service];
    work_ns += static_cast<double>(in.run.clients[g].window.arrivals) * stats::mean_work(client) *
               passes(service) * service.service_time.mean_seconds() * 1e9;
  }
  return share_of_capacity(in, work_ns);
}

Value badput(In in) {
  double bad = 0;
  for (const ServiceResult& s : in.services) bad += static_cast<double>(s.unused + s.failed);
  return ratio(bad, in.window_s());
}

// Metrics with a rule of their own.

double price_of_attempts(In in) {
  double sum = 0;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (in.group && *in.group != g) continue;
    const ClientResult& c = in.run.clients[g];
    const ServiceSpec& service = in.scenario.services[in.scenario.clients[g].service];
    sum += service.price * static_cast<double>(c.attempts - c.refused) +
           service.rejection_price * static_cast<double>(c.refused);
  }
  return sum;
}

std::uint64_t job_end(In in, JobEnd end) {
  return in.client.jobs.ends[static_cast<std::size_t>(end)];
}

Value detection_delay(In in) {
  const DurationMoments& m = in.client.jobs.detection_delay_m;
  return ratio(static_cast<double>(m.sum_ns) / 1e9, static_cast<double>(m.count));
}

Value peak_to_mean(In in) {
  const Value peak = stats::peak_attempt_rate(in.run, in.bins());
  return peak ? ratio(*peak, *per_second(in, in.client.window.arrivals)) : Value();
}

Value arrival_dispersion(In in) {
  return stats::dispersion_index(stats::arrival_counts(in.run, in.bins(), false).counts);
}

template <auto Member>
Value echo(In in) {
  const auto found = stats::strongest_echo(stats::arrival_counts(in.run, in.bins()));
  return found ? Value((*found).*Member) : Value();
}

template <auto Member>
Value spectrum(In in) {
  const auto found = stats::spectral_peak(stats::arrival_counts(in.run, in.bins()));
  return found ? Value((*found).*Member) : Value();
}

Value attempts_variance(In in) {
  const Value mean = ratio(in.client.attempts, in.client.requests);
  const Value square = ratio(in.client.attempts_squared, in.client.requests);
  if (!mean || !square) return std::nullopt;
  return std::max(0.0, *square - *mean * *mean);
}

Value completion_time(In in) {
  if (in.run.last_request_end == Time::zero()) return std::nullopt;
  return static_cast<double>(in.run.last_request_end.count()) / 1e9;
}

Value peak_attempt_rate(In in) { return stats::peak_attempt_rate(in.run, in.bins()); }

Value peak_amplification(In in) {
  return stats::peak_amplification(in.run, in.bins(),
                                   stats::amplification_window(in.scenario, in.group));
}

Value recovery(In in) {
  const auto found = stats::final_recovery(in.scenario, in.run, in.group);
  return found ? found->seconds : Value();
}

Value recovery_censored(In in) {
  const auto found = stats::final_recovery(in.scenario, in.run, in.group);
  return found && !found->seconds ? Value(found->not_before_s) : Value();
}

Value disturbed_success_rate(In in) {
  const auto found = stats::disturbed(in.scenario, in.run, in.group);
  return found ? ratio(found->requests - found->failed, found->requests) : Value();
}

Value metastable(In in) { return in.run.metastable ? Value(*in.run.metastable ? 1 : 0) : Value(); }

Value recovered(In in) {
  if (stats::triggers(in.scenario).empty()) return std::nullopt;
  return recovery(in) ? 1.0 : 0.0;
}

// What ratios are divided by.
double requests(In in) { return static_cast<double>(in.client.requests); }
double attempts(In in) { return static_cast<double>(in.client.attempts); }
double successes(In in) { return static_cast<double>(outcome(in, Outcome::kSuccess)); }
double admitted(In in) { return static_cast<double>(in.client.admitted); }
double mutating(In in) { return static_cast<double>(in.client.mutating); }
double jobs(In in) { return static_cast<double>(in.client.jobs.begun); }
double jobs_done(In in) { return static_cast<double>(job_end(in, JobEnd::kSucceeded)); }
double detections(In in) { return static_cast<double>(in.client.jobs.detection_delay_m.count); }

template <auto Moments>
double number(In in) {
  return static_cast<double>((in.client.*Moments).count);
}

using C = ClientResult;
using S = ServiceFlow;
using enum MetricScope;
using enum MetricSummary;
using enum MetricRange;

// clang-format off
// One row a metric; the order is that of the result files.
constexpr MetricInfo kTable[] = {
    {"requests", "requests", "Requests submitted in the window", kGroups,
     [](In in) { return count(in.client.requests); }},
    {"attempts", "attempts", "Attempts sent for them", kGroups,
     [](In in) { return count(in.client.attempts); }},
    {"retries", "attempts", "Attempts after the first of a request", kGroups,
     [](In in) { return count(retries(in)); }},
    {"successes", "requests", "Requests that ended with success", kGroups,
     [](In in) { return count(outcome(in, Outcome::kSuccess)); }},
    {"failures", "requests", "Requests that ended without success", kGroups,
     [](In in) { return count(failures(in)); }},
    {"unfinished", "requests", "Requests that had not ended when the run was over", kGroups,
     [](In in) { return count(outcome(in, Outcome::kUnfinished)); }},
    {"success_rate", "1", "Successes per request", kGroups,
     [](In in) { return ratio(outcome(in, Outcome::kSuccess), in.client.requests); },
     kMean, kShare, requests},
    {"success_rate_within_duration", "1", "Requests that ended with success before the end of "
     "`duration`, per request; success_rate counts those of the drain as well", kGroups,
     [](In in) { return ratio(in.client.successes_within, in.client.requests); },
     kMean, kShare, requests},
    {"finished_in_drain", "requests", "Requests that ended after `duration`, in the drain", kGroups,
     [](In in) { return count(finished_in_drain(in)); }},
    {"finished_in_drain_share", "1", "Requests that ended after `duration`, per request", kGroups,
     [](In in) { return ratio(finished_in_drain(in), in.client.requests); },
     kMean, kShare, requests},
    {"attempt_success_rate", "1", "Successful attempts per attempt", kGroups,
     [](In in) { return result_share(in, AttemptResult::kSuccess); }, kMean, kShare, attempts},
    {"amplification", "1", "Attempts per request", kGroups,
     [](In in) { return ratio(in.client.attempts, in.client.requests); },
     kMean, kNotNegative, requests},
    {"attempts_variance", "1", "Variance of the number of attempts of a request", kGroups,
     attempts_variance},
    {"retry_share", "1", "Retries per attempt", kGroups,
     [](In in) { return ratio(retries(in), in.client.attempts); }, kMean, kShare, attempts},
    {"attempts_per_success", "1", "Attempts per successful request", kGroups,
     [](In in) { return ratio(in.client.attempts, outcome(in, Outcome::kSuccess)); },
     kMean, kNotNegative, successes},
    {"cost", "1", "Price of all attempts; of those that the service refuses or answers with a "
     "throttling error, the rejection price", kGroups,
     [](In in) { return Value(price_of_attempts(in)); }},
    {"cost_per_success", "1", "That price per successful request", kGroups,
     [](In in) { return ratio(price_of_attempts(in),
                              static_cast<double>(outcome(in, Outcome::kSuccess))); },
     kMean, kNotNegative, successes},

    {"offered_load", "1/s", "Requests submitted per second", kGroups,
     [](In in) { return per_second(in, in.client.window.requests); }},
    {"send_rate", "1/s", "Attempts that clients send per second", kGroups,
     [](In in) { return per_second(in, in.client.window.attempts); }},
    {"attempt_rate", "1/s", "Attempts that arrive at the service per second", kGroups,
     [](In in) { return per_second(in, in.client.window.arrivals); }},
    {"throughput", "1/s", "Executions that services finish per second, useful or not", kServices,
     [](In in) { return ratio(sum_over_services<&S::completions>(in), in.window_s()); }},
    {"goodput", "1/s", "Requests that end with success per second", kGroups,
     [](In in) { return per_second(in, in.client.window.successes); }},
    {"badput", "1/s", "Executions per second that brought no client a success: nobody waited for "
     "the answer any more, or it was a failure", kServices, badput},
    {"work_load", "1", "Mean service time of all attempts that arrive (model occ: read and write), "
     "rejected ones included, per nominal capacity; may exceed 1", kServices, work_load},
    {"utilization", "1", "Busy share of the nominal servers", kServices,
     [](In in) { return share_of_capacity(in, sum_over_services<&S::busy_ns>(in)); }},

    {"rejected_share", "1", "Attempts turned away by the queue with an error other than "
     "throttling, per attempt", kGroups,
     [](In in) { return ratio(in.client.rejected, in.client.attempts); }, kMean, kShare, attempts},
    {"throttled_share", "1", "Attempts answered with a throttling error, per attempt", kGroups,
     [](In in) { return result_share(in, AttemptResult::kThrottled); }, kMean, kShare, attempts},
    {"timeout_share", "1", "Attempts without an answer in time, per attempt", kGroups,
     [](In in) { return result_share(in, AttemptResult::kTimeout); }, kMean, kShare, attempts},
    {"error_share", "1", "Attempts answered with another error (rejections included) or refused, "
     "per attempt", kGroups,
     [](In in) { return result_share(in, AttemptResult::kError); }, kMean, kShare, attempts},
    {"dropped_share", "1", "Attempts discarded without service or answer, per attempt", kGroups,
     [](In in) { return ratio(in.client.dropped, in.client.attempts); }, kMean, kShare, attempts},
    {"abandoned_share", "1", "Attempts whose client gave up before it had an answer (timeout or "
     "deadline), per attempt", kGroups,
     [](In in) { return ratio(in.client.gave_up, in.client.attempts); }, kMean, kShare, attempts},
    {"late_share", "1", "Attempts served to the end after their client had given up, per attempt",
     kGroups, [](In in) { return ratio(in.client.late, in.client.attempts); },
     kMean, kShare, attempts},

    {"quota_denied_share", "1", "Requests that ended because the retry quota was too small, per "
     "request", kGroups,
     [](In in) { return ratio(outcome(in, Outcome::kQuotaExceeded), in.client.requests); },
     kMean, kShare, requests},
    {"no_send_token_share", "1", "Requests that ended because their client did not let an attempt "
     "be sent (client throttle, or a send token that is not waited for), per request", kGroups,
     [](In in) { return ratio(outcome(in, Outcome::kNoSendToken), in.client.requests); },
     kMean, kShare, requests},
    {"deadline_exceeded_share", "1", "Requests that ended because their deadline passed, or would "
     "have before the next attempt, per request", kGroups,
     [](In in) { return ratio(outcome(in, Outcome::kDeadlineExceeded), in.client.requests); },
     kMean, kShare, requests},
    {"quota_mean", "tokens", "Mean level of a retry quota over time and buckets", kGroups,
     [](In in) { return in.client.has_quota ? Value(in.client.quota_mean) : Value(); }},

    {"queue_mean", "attempts", "Mean number of waiting attempts", kServices, level<&S::queue_ns>},
    {"queue_max", "attempts", "Largest number of waiting attempts (of any one service)", kServices,
     queue_max},
    {"in_system_mean", "attempts", "Mean number of attempts waiting or in service", kServices,
     level<&S::in_system_ns>},
    {"in_system_variance", "1", "Variance over time of that number (a single service)", kServices,
     in_system_variance},
    {"in_backoff_mean", "requests", "Mean number of requests that wait out a backoff", kGroups,
     [](In in) { return ratio(in.client.window.in_backoff_ns, in.window_s() * 1e9); }},
    {"all_busy_share", "1", "Share of time with no free server (a single service)", kServices,
     all_busy_share, kMean, kShare},
    {"wait_probability", "1", "Admitted attempts that found no free server, per admitted attempt",
     kGroups, [](In in) { return ratio(in.client.waited, in.client.admitted); },
     kMean, kShare, admitted},

    {"queueing_time_mean", "s", "Waiting in the queue of an attempt: mean", kGroups,
     mean_s<&C::queueing_time_m>, kMean, kNotNegative, number<&C::queueing_time_m>},
    {"queueing_time_sd", "s", "Waiting in the queue: standard deviation", kGroups,
     sd_s<&C::queueing_time_m>},
    {"queueing_time_p50", "s", "Waiting in the queue: median", kGroups,
     quantile_s<&C::queueing_time, 500>},
    {"queueing_time_p90", "s", "Waiting in the queue: 90 % quantile", kGroups,
     quantile_s<&C::queueing_time, 900>},
    {"queueing_time_p99", "s", "Waiting in the queue: 99 % quantile", kGroups,
     quantile_s<&C::queueing_time, 990>},
    {"queueing_time_p999", "s", "Waiting in the queue: 99.9 % quantile", kGroups,
     quantile_s<&C::queueing_time, 999>},
    {"service_latency_mean", "s", "Queue and service of an attempt: mean", kGroups,
     mean_s<&C::service_latency_m>, kMean, kNotNegative, number<&C::service_latency_m>},
    {"service_latency_sd", "s", "Queue and service: standard deviation", kGroups,
     sd_s<&C::service_latency_m>},
    {"service_latency_p50", "s", "Queue and service: median", kGroups,
     quantile_s<&C::service_latency, 500>},
    {"service_latency_p90", "s", "Queue and service: 90 % quantile", kGroups,
     quantile_s<&C::service_latency, 900>},
    {"service_latency_p99", "s", "Queue and service: 99 % quantile", kGroups,
     quantile_s<&C::service_latency, 990>},
    {"service_latency_p999", "s", "Queue and service: 99.9 % quantile", kGroups,
     quantile_s<&C::service_latency, 999>},
    {"attempt_latency_mean", "s", "Send to result of an attempt, as its client sees it: mean",
     kGroups, mean_s<&C::attempt_latency_m>, kMean, kNotNegative, number<&C::attempt_latency_m>},
    {"attempt_latency_sd", "s", "Send to result of an attempt: standard deviation", kGroups,
     sd_s<&C::attempt_latency_m>},
    {"attempt_latency_p50", "s", "Send to result of an attempt: median", kGroups,
     quantile_s<&C::attempt_latency, 500>},
    {"attempt_latency_p90", "s", "Send to result of an attempt: 90 % quantile", kGroups,
     quantile_s<&C::attempt_latency, 900>},
    {"attempt_latency_p99", "s", "Send to result of an attempt: 99 % quantile", kGroups,
     quantile_s<&C::attempt_latency, 990>},
    {"attempt_latency_p999", "s", "Send to result of an attempt: 99.9 % quantile", kGroups,
     quantile_s<&C::attempt_latency, 999>},
    {"latency_mean", "s", "Submission to end of a request, waiting and backoff included: mean",
     kGroups, mean_s<&C::latency_m>, kMean, kNotNegative, number<&C::latency_m>},
    {"latency_sd", "s", "Submission to end of a request: standard deviation", kGroups,
     sd_s<&C::latency_m>},
    {"latency_p50", "s", "Submission to end of a request: median", kGroups,
     quantile_s<&C::latency, 500>},
    {"latency_p90", "s", "Submission to end of a request: 90 % quantile", kGroups,
     quantile_s<&C::latency, 900>},
    {"latency_p99", "s", "Submission to end of a request: 99 % quantile", kGroups,
     quantile_s<&C::latency, 990>},
    {"latency_p999", "s", "Submission to end of a request: 99.9 % quantile", kGroups,
     quantile_s<&C::latency, 999>},
    {"latency_ok_mean", "s", "Submission to end of successful requests: mean", kGroups,
     mean_s<&C::latency_ok_m>, kMean, kNotNegative, number<&C::latency_ok_m>},
    {"latency_ok_sd", "s", "Submission to end of successful requests: standard deviation", kGroups,
     sd_s<&C::latency_ok_m>},
    {"latency_ok_p50", "s", "Submission to end of successful requests: median", kGroups,
     quantile_s<&C::latency_ok, 500>},
    {"latency_ok_p90", "s", "Submission to end of successful requests: 90 % quantile", kGroups,
     quantile_s<&C::latency_ok, 900>},
    {"latency_ok_p99", "s", "Submission to end of successful requests: 99 % quantile", kGroups,
     quantile_s<&C::latency_ok, 990>},
    {"latency_ok_p999", "s", "Submission to end of successful requests: 99.9 % quantile", kGroups,
     quantile_s<&C::latency_ok, 999>},
    {"latency_intended_mean", "s", "From when a request was due to its end: mean (closed loops "
     "with think_from = start, one request at a time: think time after the start of the one "
     "before)", kGroups, mean_s<&C::latency_intended_m>,
     kMean, kNotNegative, number<&C::latency_intended_m>},
    {"latency_intended_sd", "s", "From when a request was due to its end: standard deviation",
     kGroups, sd_s<&C::latency_intended_m>},
    {"latency_intended_p50", "s", "From when a request was due to its end: median", kGroups,
     quantile_s<&C::latency_intended, 500>},
    {"latency_intended_p90", "s", "From when a request was due to its end: 90 % quantile",
     kGroups, quantile_s<&C::latency_intended, 900>},
    {"latency_intended_p99", "s", "From when a request was due to its end: 99 % quantile",
     kGroups, quantile_s<&C::latency_intended, 990>},
    {"latency_intended_p999", "s", "From when a request was due to its end: 99.9 % quantile",
     kGroups, quantile_s<&C::latency_intended, 999>},
    {"backoff_time_mean", "s", "Length of one backoff: mean", kGroups, mean_s<&C::backoff_time_m>,
     kMean, kNotNegative, number<&C::backoff_time_m>},
    {"backoff_time_sd", "s", "Length of one backoff: standard deviation", kGroups,
     sd_s<&C::backoff_time_m>},
    {"send_wait_mean", "s", "Waiting for send tokens of a request: mean", kGroups,
     part_of_latency<&C::send_wait_ns>, kMean, kNotNegative, requests},
    {"connection_wait_mean", "s", "Waiting for a pooled connection of a request: mean", kGroups,
     part_of_latency<&C::connection_wait_ns>, kMean, kNotNegative, requests},
    {"backoff_wait_mean", "s", "All backoffs of a request: mean", kGroups,
     part_of_latency<&C::backoff_total_ns>, kMean, kNotNegative, requests},
    {"answer_wait_mean", "s", "Waiting for the answers to the attempts of a request: mean; if "
     "every request ended and none was hedged, these four add up to latency_mean", kGroups,
     part_of_latency<&C::attempt_total_ns>, kMean, kNotNegative, requests},

    {"executed", "attempts", "Attempts served to the end", kGroups,
     [](In in) { return count(in.client.executed); }},
    {"executions_per_request", "1", "Attempts served to the end, per request", kGroups,
     [](In in) { return ratio(in.client.executed, in.client.requests); },
     kMean, kNotNegative, requests},
    {"effects_per_request", "1", "Executions that succeeded, per request with side effects",
     kGroups, [](In in) { return ratio(in.client.effects, in.client.mutating); },
     kMean, kNotNegative, mutating},
    {"duplicate_share", "1", "Requests with side effects that took effect more than once, per "
     "such request", kGroups,
     [](In in) { return ratio(in.client.duplicated, in.client.mutating); },
     kMean, kShare, mutating},
    {"ambiguous_share", "1", "Requests with side effects that failed for their client but took "
     "effect, per such request", kGroups,
     [](In in) { return ratio(in.client.ambiguous, in.client.mutating); }, kMean, kShare, mutating},
    {"replays_per_request", "1", "Attempts answered without execution because their token showed "
     "that the effect had happened, per request with side effects", kGroups,
     [](In in) { return ratio(in.client.replays, in.client.mutating); },
     kMean, kNotNegative, mutating},
    {"expired_replays_per_request", "1", "Attempts executed again because the token of an earlier "
     "effect had expired, per request with side effects", kGroups,
     [](In in) { return ratio(in.client.expired_replays, in.client.mutating); },
     kMean, kNotNegative, mutating},
    {"mismatches_per_request", "1", "Attempts refused because their token belonged to another "
     "request, per request with side effects", kGroups,
     [](In in) { return ratio(in.client.mismatches, in.client.mutating); },
     kMean, kNotNegative, mutating},
    {"wasted_share", "1", "Share of capacity spent on answers that were lost or that nobody was "
     "waiting for any more, counting whole service times; failures that reached their client do "
     "not count", kServices,
     [](In in) { return share_of_capacity(in, *wasted_ns(in)); }},
    {"wasted_after_give_up_share", "1", "Share of capacity spent on attempts after their client "
     "had given up", kServices, wasted_after_give_up_share},
    {"wasted_s", "s", "Service time of those answers", kServices,
     [](In in) { return Value(*wasted_ns(in) / 1e9); }},

    {"peak_attempt_rate", "1/s", "Largest attempt rate of a time-series bin in the window",
     kGroups, peak_attempt_rate},
    {"peak_to_mean", "1", "That rate divided by the mean attempt rate", kGroups, peak_to_mean},
    {"dispersion_index", "1", "Variance divided by mean of the number of attempts that arrive in a "
     "time-series bin: 1 for Poisson arrivals, more for bursts; burstiness.csv has wider windows",
     kGroups,
     arrival_dispersion},
    {"autocorrelation", "1", "Largest correlation of the attempts that arrive in a bin with those "
     "some bins earlier, up to a quarter of the window", kGroups,
     echo<&stats::Echo::correlation>, kMean, kCorrelation},
    {"autocorrelation_lag_s", "s", "Lag of that correlation", kGroups, echo<&stats::Echo::lag_s>},
    {"spectral_peak_ratio", "1", "Largest ordinate of the periodogram of the attempts that arrive, "
     "divided by the median ordinate", kGroups, spectrum<&stats::SpectralPeak::ratio>},
    {"spectral_peak_frequency", "1/s", "Frequency of that ordinate", kGroups,
     spectrum<&stats::SpectralPeak::frequency>},
    {"spectral_p_value", "1", "Probability of such a peak without any rhythm (Fisher's test)",
     kGroups, spectrum<&stats::SpectralPeak::p_value>, kMean, kShare},
    {"peak_amplification", "1", "Largest attempts per request over a rolling window of attempt "
     "timeout + longest backoff, at least 10 bins", kGroups, peak_amplification},
    {"recovery_s", "s", "From the end of the last fault or surge until goodput is back for good; "
     "absent if that did not happen during the run", kGroups, recovery},
    {"disturbed_success_rate", "1", "Share of the requests submitted during a fault or surge, a "
     "time that recovery_s leaves out, that did not fail", kGroups, disturbed_success_rate},
    {"recovered", "1", "Whether that happened during the run: 1 or 0", kGroups, recovered,
     kProportion, kShare},
    {"recovery_censored_s", "s", "In a run without recovery: how long after that end goodput was "
     "still not back", kGroups, recovery_censored},
    {"recovery_median_s", "s", "Median of recovery_s over all replications, including those that "
     "did not recover (Kaplan and Meier); summary only", kGroups,
     [](In) { return Value(); }, kMedianRecovery},
    {"metastable_probability", "1", "Probability that retries keep the service down: it does not "
     "recover, but would without them (run --twin, tip); Wilson's interval", kAllOnly,
     metastable, kProportion, kShare},
    {"jobs", "jobs", "Jobs begun in the window that clients poll for", kGroups,
     [](In in) { return in.client.jobs.begun > 0 ? count(in.client.jobs.begun) : Value(); }},
    {"job_success_rate", "1", "Jobs that their client saw done, per job; the others had too many "
     "checks, had a check that failed other than by throttling, or did not end during the run",
     kGroups,
     [](In in) { return ratio(job_end(in, JobEnd::kSucceeded), in.client.jobs.begun); },
     kMean, kShare, jobs},
    {"checks_per_job", "1", "Checks until a job was seen to be done: mean", kGroups,
     [](In in) { return ratio(in.client.jobs.checks, job_end(in, JobEnd::kSucceeded)); },
     kMean, kNotNegative, jobs_done},
    {"detection_delay_mean", "s", "From the end of a job until its client knows of it: mean",
     kGroups,
     detection_delay, kMean, kNotNegative, detections},
    {"jain_index", "1", "Jain's fairness of goodput among clients: 1: all equal, 1/n: one client "
     "has it all", kGroups,
     stats::jain_index, kMean, kShare},
    {"jain_index_success_rate", "1", "Jain's fairness of the success rate among clients whose "
     "requests ended: 1: all equal, 1/n: one client has it all", kGroups,
     stats::jain_index_of_success, kMean, kShare},
    {"completion_time_s", "s", "When the last request ended, from the start of the run", kAllOnly,
     completion_time},
};
// clang-format on

}  // namespace

std::span<const MetricInfo> metric_table() { return kTable; }

}  // namespace retrysim
