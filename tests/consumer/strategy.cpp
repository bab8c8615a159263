// Retry strategies outside and inside the simulator, as in include/retrysim/README.md.
//
// SPDX-License-Identifier: MIT
#include "strategy.hpp"

#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/simulation.hpp>

#include <memory>
#include <utility>

namespace consumer {

using namespace retrysim;

std::vector<double> delays_of_standard_mode() {
  const Preset* preset = find_preset("standard", "2.1", "botocore", "default");
  RetryStrategy strategy(preset->rules, RandomKey(1, 0));
  strategy.fix_draws(1.0);
  std::vector<double> delays;
  Time now;
  RetryToken token = strategy.acquire_initial_token(now);
  while (token.may_send()) {
    const Response response{.status = 500};  // your request goes here
    const Failure failure = strategy.failure_of(response);
    if (failure.error.success()) {
      strategy.record_success(std::move(token), now);
      break;
    }
    token = strategy.refresh_retry_token(std::move(token), failure, now);
    if (token.may_send()) delays.push_back(token.delay().in_seconds() * 1e3);
    now = now + token.delay();  // your program sleeps
  }
  return delays;
}

// Retries once, after 1 ms, for the first two requests that fail, and never again.
class OnceBitten final : public CustomStrategy {
 public:
  RetryDecision refresh_retry_token(std::uint64_t, std::uint32_t attempts, const Failure& failure,
                                    Time, Draws&) override {
    if (!failure.error.retryable()) return {Outcome::kNotRetryable, {}, 0};
    if (attempts > 1 || ++failures_ > 2) return {Outcome::kMaxAttemptsExceeded, {}, 0};
    return {Outcome::kRetry, Duration::milliseconds(1), 0};
  }

 private:
  int failures_ = 0;
};

double success_share_of_own_strategy() {
  Scenario scenario;
  scenario.name = "own-strategy";
  scenario.duration = Duration::seconds(1000);
  ServiceSpec service;
  service.name = "api";
  service.servers = ServiceSpec::kUnlimited;
  service.errors = {{{503, "ServiceUnavailable"}, 0.5}};
  scenario.services.push_back(service);
  ClientSpec client;
  client.name = "web";
  client.count = 10;
  client.arrivals.rate = 1;
  client.strategy = [](std::uint32_t) { return std::make_unique<OnceBitten>(); };
  scenario.clients.push_back(client);
  const ClientResult result = simulate(scenario, 0).clients.at(0);
  return static_cast<double>(result.outcomes[static_cast<std::size_t>(Outcome::kSuccess)]) /
         static_cast<double>(result.requests);
}

}  // namespace consumer
