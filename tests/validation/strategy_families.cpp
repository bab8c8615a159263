// One client's backoff and retry quota. What a scenario can express runs as one, against a service
// that fails at random and takes no time; the rest is asked of the functions that the simulation
// runs.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

/// Errors with probability p, answered at once.
std::string failing_service(double p) {
  return service_table(R"("unlimited")", "0", fmt::format("errors.internal = {}\n", p));
}

// The retry quota: standard mode's own rules, with the price and the number of attempts asked for.

RetryRules quota_rules(const Parameters& p) {
  RetryRules rules = find_preset("standard", "2.0", "botocore", "default")->rules;
  rules.max_attempts = static_cast<std::uint32_t>(p.number("n"));
  rules.quota.cost = static_cast<int>(p.number("cost"));
  return rules;
}

/// Requests one by one, a unit of time apart; so the mean over time is the mean over requests.
System serial_client(const Parameters& p, double failure_probability) {
  const std::string retry = fmt::format(
      "{{ mode = \"standard\", max_attempts = {}, backoff.base = 0, quota = {{ capacity = {}, "
      "cost = {} }} }}",
      p.text("n"), p.text("capacity"), p.text("cost"));
  return {failing_service(failure_probability) + closed_client_table(1, seconds(1), retry)};
}

/// Change of the quota by a request whose first `failures` attempts fail, while tokens are plenty.
int change_by(RetryRules rules, std::uint32_t failures) {
  constexpr int kPlenty = 1'000'000;
  rules.quota.capacity = kPlenty;
  rules.quota.initial = kPlenty / 2;
  RetryStrategy strategy(rules, RandomKey(0, 0));
  RetryToken token = strategy.acquire_initial_token(Time::zero());
  for (std::uint32_t i = 0; i < failures; ++i) {
    token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
  }
  if (failures < rules.max_attempts) strategy.record_success(std::move(token), Time::zero());
  return *strategy.quota() - rules.quota.initial;
}

/// Mean change of the quota by a request whose attempts fail with probability p.
double drift(const RetryRules& rules, double p) {
  double mean = 0;
  for (std::uint32_t failures = 0; failures <= rules.max_attempts; ++failures) {
    const double probability = std::pow(p, failures) * (failures < rules.max_attempts ? 1 - p : 1);
    mean += probability * change_by(rules, failures);
  }
  return mean;
}

double drift_of_full_quota(const DirectRun& d) {
  return drift(quota_rules(d.parameters), d.parameters.number("p"));
}

double critical_probability(const DirectRun& d) {
  const RetryRules rules = quota_rules(d.parameters);
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (drift(rules, middle) > 0 ? low : high) = middle;
  }
  return low;
}

/// Requests of a new client up to the first that the quota denies a retry, that one included.
double requests_to_first_denial(const RetryRules& rules, double p, const RandomKey& key,
                                std::uint32_t client) {
  RetryStrategy strategy(rules, key, Time::zero(), client);
  for (std::uint64_t request = 0;; ++request) {
    Draws luck(
        key, {.entity = std::uint64_t{client} << 32 | request, .purpose = Purpose::kServiceError});
    RetryToken token = strategy.acquire_initial_token(Time::zero());
    while (token.may_send()) {
      if (luck.uniform() >= p) {
        strategy.record_success(std::move(token), Time::zero());
      } else {
        token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
      }
    }
    if (token.outcome() == Outcome::kQuotaExceeded) return static_cast<double>(request + 1);
  }
}

/// The mean over clients. Their number is fixed beforehand: to stop when the requests are spent
/// would favour short lives.
double mean_requests_to_first_denial(const DirectRun& d) {
  constexpr double kRequestsPerClient = 1000;
  const RetryRules rules = quota_rules(d.parameters);
  const RandomKey key(d.seed, d.replication);
  const auto clients = static_cast<std::uint32_t>(std::ceil(d.requests / kRequestsPerClient));
  double sum = 0;
  for (std::uint32_t i = 0; i < clients; ++i) {
    sum += requests_to_first_denial(rules, d.parameters.number("p"), key, i);
  }
  return sum / clients;
}

constexpr Quantity kQuotaChain[] = {
    {"retries_per_request", "", retries_per_request},
    {"retry_law_(1-p)/(cost*p)", "", retries_per_request},
    {"amplification", "amplification"},
    {"success_rate", "success_rate"},
    {"denials_per_request", "quota_denied_share"},
    {"mean_quota", "quota_mean"},
    {"drift_full", "", nullptr, drift_of_full_quota},
    {"requests_to_first_denial_from_full", "", nullptr, mean_requests_to_first_denial},
};

constexpr Quantity kQuotaCritical[] = {{"p_crit", "", nullptr, critical_probability}};

/// A random walk between two walls: its relaxation time, from mean and variance of a step.
System quota_chain(const Parameters& parameters) {
  const double p = parameters.number("p"), capacity = parameters.number("capacity");
  const RetryRules rules = quota_rules(parameters);
  const double mean = drift(rules, p);
  double square = 0;
  for (std::uint32_t failures = 0; failures <= rules.max_attempts; ++failures) {
    const double change = change_by(rules, failures);
    square += std::pow(p, failures) * (failures < rules.max_attempts ? 1 - p : 1) * change * change;
  }
  constexpr double kPiSquared = 9.8696;
  const double rate = mean * mean / (2 * square) + square * kPiSquared / (2 * capacity * capacity);
  System system = serial_client(parameters, p);
  system.memory_units = 15 + 1 / rate;
  return system;
}

/// Everything fails for good.
System total_outage(const Parameters& p) {
  System system = serial_client(p, 1);
  system.window_units = 1000;
  return system;
}

double requests_before_first_denial_and_one(const Observation& o) {
  const auto& outcomes = o.run.clients[0].outcomes;
  return static_cast<double>(1 + outcomes[static_cast<std::size_t>(Outcome::kMaxAttemptsExceeded)]);
}

/// Runs a request that fails to its end; its outcome.
Outcome fail_request(RetryStrategy& strategy) {
  RetryToken token = strategy.acquire_initial_token(Time::zero());
  while (token.may_send()) {
    token = strategy.refresh_retry_token(std::move(token), {}, Time::zero());
  }
  return token.outcome();
}

/// A client after an outage that has emptied its quota.
std::unique_ptr<RetryStrategy> client_after_outage(const Parameters& p) {
  auto strategy = std::make_unique<RetryStrategy>(quota_rules(p), RandomKey(0, 0));
  while (fail_request(*strategy) != Outcome::kQuotaExceeded) continue;
  return strategy;
}

double tokens_after_outage(const DirectRun& d) {
  return *client_after_outage(d.parameters)->quota();
}

double successes_until_a_retry_is_granted(const DirectRun& d) {
  for (int successes = 0;; ++successes) {
    const auto client = client_after_outage(d.parameters);
    for (int i = 0; i < successes; ++i) {
      client->record_success(client->acquire_initial_token(Time::zero()), Time::zero());
    }
    RetryToken token = client->acquire_initial_token(Time::zero());
    if (client->refresh_retry_token(std::move(token), {}, Time::zero()).may_send()) {
      return successes;
    }
  }
}

constexpr Quantity kTotalOutage[] = {
    {"total_retries", "retries"},
    {"request_index_of_first_denial", "", requests_before_first_denial_and_one},
    {"tokens_left", "", nullptr, tokens_after_outage},
    {"successes_to_next_retry", "", nullptr, successes_until_a_retry_is_granted},
};

// Backoff.

/// Mean of the delays before attempt `number`, in units.
double mean_delay_before(const Observation& o, std::size_t number) {
  const AttemptNumberCounts& attempt = o.run.clients[0].by_attempt.at(number - 1);
  return attempt.in_backoff_ns / 1e9 / kUnitSeconds / static_cast<double>(attempt.sent);
}

/// Of a request that makes every retry: delays do not depend on how many there will be.
double mean_of_all_delays(const Observation& o) {
  const auto attempts = static_cast<std::size_t>(o.parameters.number("n"));
  double sum = 0;
  for (std::size_t number = 2; number <= attempts; ++number) sum += mean_delay_before(o, number);
  return sum;
}

/// Attempts take no time, so that the latency of a request is what it waited.
constexpr Quantity kBackoffTotal[] = {
    {"E_total", "latency_mean"},
    {"sd_total", "latency_sd"},
    {"E_total_given_all_retries", "", mean_of_all_delays},
};

System backoff_clients(const Parameters& p, double failure_probability, double attempts,
                       const std::string& jitter) {
  constexpr double kRate = 1;
  const std::string retry = fmt::format(
      "{{ mode = \"custom\", max_attempts = {}, backoff = {{ base = {}, cap = {}, {} }} }}",
      attempts, seconds(p.number("base")), seconds(p.number("cap")), jitter);
  // What the last delays of a request may add up to.
  const double longest = std::min(p.number("cap"), p.number("base") * std::pow(2, attempts));
  return {failing_service(failure_probability) + client_table(kRate, retry), kRate,
          1 + attempts * longest};
}

System backoff_total(const Parameters& p) {
  const std::string& kind = p.text("kind");
  const bool before_cap = kind == "full_inner";
  return backoff_clients(
      p, p.number("p"), p.number("n"),
      fmt::format("jitter = \"{}\", jitter_before_cap = {}, first_exponent = {}",
                  before_cap ? "full" : kind, before_cap, p.text("first_exponent")));
}

System decorrelated_jitter(const Parameters& p) {
  return backoff_clients(p, 1, p.number("k") + 1, "jitter = \"decorrelated\"");
}

struct Sample {
  double n = 0, sum = 0, squares = 0, at_cap = 0;

  void add(double value, double cap) {
    ++n;
    sum += value;
    squares += value * value;
    at_cap += value >= cap ? 1 : 0;
  }
  double sd() const { return std::sqrt(std::max(0.0, squares / n - sum * sum / n / n)); }
};

BackoffRules backoff_rules(const Parameters& p, Jitter jitter) {
  BackoffRules rules;
  rules.base = rules.throttle_base = Duration::from_nanoseconds(p.number("base") * 1e9);
  rules.cap = Duration::from_nanoseconds(p.number("cap") * 1e9);
  rules.jitter = rules.throttle_jitter = jitter;
  return rules;
}

/// "mean_full_inner": the moment and the kind of jitter. The delay before one retry of a request
/// that has come so far.
double moment_of_one_delay(const DirectRun& d) {
  const Parameters& p = d.parameters;
  const bool is_mean = d.quantity.starts_with("mean_");
  const std::string_view kind = d.quantity.substr(d.quantity.find('_') + 1);
  BackoffRules rules = backoff_rules(p, kind == "expo"    ? Jitter::kNone
                                        : kind == "equal" ? Jitter::kEqual
                                                          : Jitter::kFull);
  rules.jitter_before_cap = kind == "full_inner";
  rules.first_exponent = static_cast<int>(p.number("first_exponent"));
  RetryProgress token;
  token.attempts = static_cast<std::uint32_t>(p.number("retry"));
  const RandomKey key(d.seed, d.replication);
  Sample sample;
  for (std::uint64_t request = 0; static_cast<double>(request) < d.requests; ++request) {
    Draws draws(key, {request, token.attempts, 0, Purpose::kBackoff});
    const Duration delay = backoff_delay(rules, ResponseClass::kTransient, token, draws);
    sample.add(delay.in_seconds(), p.number("cap"));
  }
  return is_mean ? sample.sum / sample.n : sample.sd();
}

/// The last of k delays of requests that fail for good.
Sample last_delays(const DirectRun& d) {
  const Parameters& p = d.parameters;
  RetryRules rules;
  rules.max_attempts = RetryRules::kUnlimited;
  rules.backoff = backoff_rules(p, Jitter::kDecorrelated);
  const auto last = static_cast<std::uint32_t>(p.number("k"));
  const RandomKey key(d.seed, d.replication);
  Sample sample;
  for (std::uint64_t request = 0; static_cast<double>(request) < d.requests; ++request) {
    RetryProgress token;
    RetryDecision decision;
    for (token.attempts = 1; token.attempts <= last; ++token.attempts) {
      Draws draws(key, {request, token.attempts, 0, Purpose::kBackoff});
      decision = refresh_retry_token(rules, {}, token, {}, Time::zero(), draws);
    }
    sample.add(decision.delay.in_seconds(), p.number("cap"));
  }
  return sample;
}

double sd_of_last_delay(const DirectRun& d) { return last_delays(d).sd(); }

double share_of_last_delay_at_cap(const DirectRun& d) {
  const Sample sample = last_delays(d);
  return sample.at_cap / sample.n;
}

template <std::size_t kRetry>
double mean_delay(const Observation& o) {
  return mean_delay_before(o, kRetry + 1);
}

constexpr Quantity kDecorrelated[] = {
    {"mean_1", "", mean_delay<1>},
    {"mean_2", "", mean_delay<2>},
    {"mean_3", "", mean_delay<3>},
    {"mean_4", "", mean_delay<4>},
    {"mean_5", "", mean_delay<5>},
    {"mean_6", "", mean_delay<6>},
    {"sd_4", "", nullptr, sd_of_last_delay},
    {"sd_6", "", nullptr, sd_of_last_delay},
    {"P_at_cap_4", "", nullptr, share_of_last_delay_at_cap},
    {"P_at_cap_6", "", nullptr, share_of_last_delay_at_cap},
};

constexpr Quantity kBackoffSingle[] = {
    {"mean_expo", "", nullptr, moment_of_one_delay},
    {"sd_expo", "", nullptr, moment_of_one_delay},
    {"mean_full", "", nullptr, moment_of_one_delay},
    {"sd_full", "", nullptr, moment_of_one_delay},
    {"mean_equal", "", nullptr, moment_of_one_delay},
    {"sd_equal", "", nullptr, moment_of_one_delay},
    {"mean_full_inner", "", nullptr, moment_of_one_delay},
    {"sd_full_inner", "", nullptr, moment_of_one_delay},
};

constexpr Family kStrategyFamilies[] = {
    {"quota_chain", quota_chain, kQuotaChain},
    {"quota_critical", nullptr, kQuotaCritical},
    {"quota_total_outage", total_outage, kTotalOutage},
    {"backoff_single", nullptr, kBackoffSingle},
    {"backoff_total", backoff_total, kBackoffTotal},
    {"decorrelated_jitter", decorrelated_jitter, kDecorrelated},
};

}  // namespace

std::span<const Family> strategy_families() { return kStrategyFamilies; }

}  // namespace retrysim::validation
