// Formulas of metrics with a rule of their own: quantiles, fairness, and client groups merged into
// one.
//
// SPDX-License-Identifier: MIT
#include "measure/metrics/formulas.hpp"

#include "flow/demand.hpp"
#include "measure/analyse/recovery.hpp"
#include "measure/analyse/slo.hpp"
#include "measure/analyse/storms.hpp"
#include "measure/record/totals.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>
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
         outcome<Outcome::kDeadlineExceeded>(in) + outcome<Outcome::kBreakerOpen>(in);
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

bool some_listens(std::span<const ServiceResult> services) {
  return std::any_of(services.begin(), services.end(),
                     [](const ServiceResult& s) { return s.listens; });
}

double ejections(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) {
    for (const InstanceResult& i : s.instances) sum += static_cast<double>(i.ejections);
  }
  return sum;
}

double ejected_ns(const MetricInput& in) {
  double sum = 0;
  for (const ServiceResult& s : in.services) {
    for (const InstanceResult& i : s.instances) sum += i.ejected_ns;
  }
  return sum;
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
                      share_of_calls(client, s) * flow::seconds_at(in.scenario, client, s) * 1e9);
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

double requests_with_breaker(const MetricInput& in) {
  return in.client.breakers > 0 ? requests(in) : 0;
}

double breaker_time_ns(const MetricInput& in) {
  return static_cast<double>(in.client.breakers) * in.window_s() * 1e9;
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

namespace {

const MetricInput::LastRecovery& last_recovery(const MetricInput& in) {
  if (!in.last_recovery) {
    const auto found = final_recovery(in.scenario, in.run, in.group);
    in.last_recovery = found ? MetricInput::LastRecovery{true, found->seconds, found->not_before_s}
                             : MetricInput::LastRecovery{};
  }
  return *in.last_recovery;
}

}  // namespace

std::optional<double> recovery(const MetricInput& in) { return last_recovery(in).seconds; }

std::optional<double> recovery_censored(const MetricInput& in) {
  const MetricInput::LastRecovery& last = last_recovery(in);
  return last.disturbed && !last.seconds ? std::optional(last.not_before_s) : std::nullopt;
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

std::optional<double> error_budget_used_by(const MetricInput& in) {
  return error_budget_used(in.scenario, in.run);
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

namespace retrysim::stats {

// --- Fairness ------------------------------------------------------------------------------------

namespace {

/// (sum x)^2 / (n sum x^2); 1 if all are zero.
class Jain {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++n_;
  }
  void merge(const Jain& o) {
    sum_ += o.sum_;
    squares_ += o.squares_;
    n_ += o.n_;
  }
  auto operator<=>(const Jain&) const = default;
  std::optional<double> index() const {
    if (n_ == 0) return std::nullopt;
    return squares_ == 0 ? 1.0 : sum_ * sum_ / (n_ * squares_);
  }

 private:
  double sum_ = 0, squares_ = 0, n_ = 0;
};

// Floating-point sums depend on the order, so the groups are sorted: their order in the scenario
// must not matter.
std::optional<double> index_of_all(std::vector<Jain> groups) {
  std::ranges::sort(groups, [](const Jain& a, const Jain& b) { return a < b; });
  Jain all;
  for (const Jain& group : groups) all.merge(group);
  return all.index();
}

bool is_meant(const MetricInput& in, std::size_t group) {
  return in.group ? *in.group == group : !in.scenario.clients[group].makes_calls();
}

}  // namespace

std::optional<double> jain_index(const MetricInput& in) {
  std::vector<Jain> groups;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const std::vector<double>& goodput = in.run.clients[g].successes_per_client;
    if (goodput.empty()) return std::nullopt;  // not recorded: too many clients
    groups.emplace_back();
    for (const double x : goodput) groups.back().add(x);
  }
  return index_of_all(std::move(groups));
}

std::optional<double> jain_index_of_success(const MetricInput& in) {
  std::vector<Jain> groups;
  for (std::size_t g = 0; g < in.run.clients.size(); ++g) {
    if (!is_meant(in, g)) continue;
    const ClientResult& c = in.run.clients[g];
    if (c.ended_per_client.empty()) return std::nullopt;
    groups.emplace_back();
    for (std::size_t i = 0; i < c.ended_per_client.size(); ++i) {
      if (c.ended_per_client[i] == 0) continue;
      groups.back().add(c.successes_per_client[i] / c.ended_per_client[i]);
    }
  }
  return index_of_all(std::move(groups));
}

// --- All client groups together ------------------------------------------------------------------

namespace {

/// A quota of the scope "client" is one bucket per client, else one for the group.
double buckets(const ClientSpec& client) {
  return client.retry.quota.scope == RetryScope::kGroup ? 1 : client.count;
}

}  // namespace

std::vector<AttemptNumberCounts> merge_by_attempt(const Scenario& scenario, const RunResult& run) {
  std::vector<AttemptNumberCounts> all;
  const bool only_group = run.clients.size() == 1;
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (scenario.clients[g].makes_calls()) continue;
    const ClientResult& group = run.clients[g];
    if (all.size() < group.by_attempt.size()) all.resize(group.by_attempt.size());
    for (std::size_t i = 0; i < group.by_attempt.size(); ++i) {
      add_fields(all[i], group.by_attempt[i]);
      if (!only_group) all[i].peak_sends_100ms = 0;
    }
  }
  return all;
}

ClientResult merge_groups(const Scenario& scenario, const RunResult& run) {
  ClientResult all;
  std::vector<double> quota_levels;
  double bucket_count = 0;
  for (std::size_t g = 0; g < run.clients.size(); ++g) {
    if (scenario.clients[g].makes_calls())
      continue;  // calls between services are not requests of users
    const ClientResult& group = run.clients[g];
    add_fields(all, group);
    if (group.has_quota) {
      const double n = buckets(scenario.clients[g]);
      quota_levels.push_back(n * group.quota_mean);
      bucket_count += n;
    }
  }
  all.by_attempt = merge_by_attempt(scenario, run);
  all.has_quota = bucket_count > 0;
  all.quota_mean = all.has_quota ? sum_in_any_order(quota_levels) / bucket_count : 0;
  return all;
}

double sum_in_any_order(std::vector<double> terms) {
  std::ranges::sort(terms);
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

}  // namespace retrysim::stats
