// The chain that a scenario stands for, if it stands for one.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/coverage.hpp"
#include "prediction/delay_law.hpp"
#include "prediction/fluid_system.hpp"
#include "prediction/service_load.hpp"

namespace retrysim {
namespace {

constexpr double kMostStates = 40'000;

/// Mean over the retries of a request.
double mean_backoff(const ClientSpec& c) {
  const double most = 32;
  const double retries = std::min<double>(most, static_cast<double>(c.retry.max_attempts) - 1);
  double sum = 0;
  prediction::BackoffLaws laws(c.retry.backoff, false);
  for (int i = 1; i <= retries; ++i) sum += prediction::mean_of(laws.next());
  return retries > 0 ? sum / retries : 0;
}

void find_collapse_time(const RetrialQueue& queue, RetrialQueueLaw& law) {
  const std::optional<double> by_work = collapse_time_by_work(queue);
  law.by_work = by_work.has_value();
  law.collapse_time = by_work ? *by_work : collapse_time(queue);
}

}  // namespace

ChainOrReason chain_of(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services.at(service);
  if (auto why = prediction::why_not(prediction::Theory::kChain, scenario, service)) return *why;
  RetrialQueue queue;
  queue.service_rate = 1 / s.service_time.mean_seconds();
  queue.servers = static_cast<int>(std::min<std::int64_t>(s.servers, 1'000'000));
  queue.orbit = 0;
  const ClientSpec* first = nullptr;     // any group
  const ClientSpec* retrying = nullptr;  // one that retries
  double rate_retrying = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (first != nullptr &&
        c.timeouts.attempt.constant_value() != first->timeouts.attempt.constant_value()) {
      return "client." + c.name + ".attempt_timeout: the chain has one timeout for all";
    }
    first = &c;
    const double rate = scenario::mean_request_rate(scenario, c);
    queue.arrival_rate += rate;
    if (c.retry.max_attempts == 1) continue;
    if (retrying != nullptr) return "client." + c.name + ": the chain has one group that retries";
    retrying = &c;
    rate_retrying = rate;
  }
  if (first == nullptr) return "service." + s.name + ": nobody calls it";
  queue.timeout =
      first->timeouts.attempt.mean_seconds() - 2 * scenario.network.latency.mean_seconds();
  if (queue.timeout <= 0) return "client." + first->name + ".attempt_timeout: below the round trip";
  const double places = static_cast<double>(s.queue.capacity) + queue.servers;
  if (places > kMostStates / 2) {
    return fmt::format("service.{}.queue.capacity: the chain would have more than {:.0f} states",
                       s.name, kMostStates);
  }
  queue.places = static_cast<int>(places);
  queue.retries_rejected = false;
  if (retrying == nullptr) {
    queue.orbit = 1;
    queue.retrying_share = 0;
    return queue;
  }
  queue.retrying_share = queue.arrival_rate > 0 ? rate_retrying / queue.arrival_rate : 1;
  queue.attempts = retrying->retry.max_attempts == RetryRules::kUnlimited
                       ? 1e9
                       : static_cast<double>(retrying->retry.max_attempts);
  queue.retry_probability = retrying->retry.probability;
  queue.backoff = mean_backoff(*retrying);
  if (!std::isfinite(queue.backoff)) return "client." + retrying->name + ".retry.backoff: no bound";
  if (retrying->retry.budget.kind == BudgetKind::kActive) {
    queue.orbit = static_cast<int>(retrying->retry.budget.minimum);
  }
  // A dead service fills the orbit with all it serves in a timeout and a backoff.
  const double orbit = queue.servers * queue.service_rate * (queue.timeout + queue.backoff);
  if (queue.orbit == 0 && (places + 1) * (orbit + 1) > kMostStates) {
    return fmt::format(
        "service.{}.queue.capacity: the chain would have {:.0f} states or more, and at most {:.0f} "
        "are solved",
        s.name, (places + 1) * (orbit + 1), kMostStates);
  }
  return queue;
}

RetrialQueueLaw solve_with_orbit(RetrialQueue& queue) {
  constexpr double kEdge = 1e-10;
  if (queue.orbit > 0) {
    RetrialQueueLaw law = solve(queue, {.collapse_time = false});
    find_collapse_time(queue, law);
    return law;
  }
  const double mean = queue.servers * queue.service_rate * (queue.timeout + queue.backoff);
  const auto most = static_cast<int>(kMostStates / (queue.places + 1.0)) - 1;
  double orbit = mean + 7 * std::sqrt(mean) + 10;
  for (;;) {
    queue.orbit = std::max(1, std::min(most, static_cast<int>(orbit)));
    RetrialQueueLaw law = solve(queue, {.collapse_time = false});
    if (law.at_most_orbit < kEdge || queue.orbit == most) {
      find_collapse_time(queue, law);
      return law;
    }
    orbit *= 1.3;
  }
}

}  // namespace retrysim
