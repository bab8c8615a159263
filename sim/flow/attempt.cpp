// What becomes of an attempt, and how many a request makes because of it.
//
// SPDX-License-Identifier: MIT
#include "flow/attempt.hpp"

#include <retrysim/retry_rules.hpp>

#include "flow/capacity.hpp"
#include "retry/backoff.hpp"
#include "retry/decision.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retrysim {

ServiceAnswers answers_of(const ServiceSpec& service) {
  const ServiceAnswer unavailable{{503, "ServiceUnavailable"}};
  const OwnAnswers& own = service.answers;
  ServiceAnswers a;
  a.throttled = own.throttled.value_or(ServiceAnswer{{400, "ThrottlingException"}});
  const Duration suggested = service.throttle.retry_after;
  if (!a.throttled.retry_after && suggested > Duration::zero()) a.throttled.retry_after = suggested;
  switch (service.rejection.overflow) {
    case Overflow::kThrottled:
      a.overflow = a.throttled;
      break;
    case Overflow::kInvalid:
      a.overflow = {{400, "ValidationException"}};
      break;
    case Overflow::kUnavailable:
    case Overflow::kDrop:
      a.overflow = unavailable;
      break;
  }
  a.overflow = own.overflow.value_or(a.overflow);
  a.limit = own.limit.value_or(a.overflow);
  a.shed = own.shed.value_or(a.overflow);
  a.timeout = own.timeout.value_or(ServiceAnswer{{504, "GatewayTimeout"}});
  a.call_failed = own.call_failed.value_or(unavailable);
  a.conflict = own.conflict.value_or(ServiceAnswer{{503, "TransactionConflictException"}});
  return a;
}

}  // namespace retrysim

namespace retrysim::flow {

void AttemptFate::add(double share, const ClientSpec& client, const Response& response) {
  const RetryRules& rules = client.retry;
  const ErrorInfo info = classify(rules.errors, rules.api, response);
  if (info.success()) success += share;
  if (!info.retryable()) return;
  const double retried = share * rules.probability;
  again += retried;
  price += retried * decision::price_of(rules.quota, info);
}

void AttemptFate::add(double share, const ClientSpec& client, const ErrorAnswer& answer) {
  Response response{.status = answer.status, .code = answer.code};
  response.traits = answer.traits;
  add(share, client, response);
}

void AttemptFate::lose(double share, const ClientSpec& client) {
  if (share <= 0 || !client.timeouts.has_attempt) return;
  add(share, client, Response{.status = 0, .transport = TransportError::kTimeout});
}

namespace {

/// The mean number of attempts, at most `most`, if each is followed by another one with probability
/// `again`.
double in_a_row(double again, double most) {
  if (again >= 1) return most;
  return (1 - (most == kNoLimit ? 0 : std::pow(again, most))) / (1 - again);
}

}  // namespace

AttemptsNeeded attempts_needed(const ClientSpec& client, double most, const AttemptFate& fate,
                               const AttemptFate* later) {
  const double again = std::min(fate.again, 1.0);
  double attempts = 1;
  if (later == nullptr) {
    attempts = in_a_row(again, most);
  } else if (most > 1) {
    if (again > 0) attempts += again * in_a_row(std::min(later->again, 1.0), most - 1);
  }
  attempts = client.unrepeatable < 1 ? 1 + (1 - client.unrepeatable) * (attempts - 1) : 1;
  const QuotaRules& quota = client.retry.quota;
  if (quota.enabled && fate.price > 0 && attempts > 1 && quota.refill_rate == 0) {
    // In the long run tokens earned are tokens spent: credits of first-try successes pay for the
    // retries that fail. A refund of any kind counts as the whole price.
    const double credit =
        quota.credit_on == CreditOn::kStart ? quota.credit : quota.credit * fate.success;
    const double price = fate.price / fate.again;
    const double failing = quota.refund != Refund::kNone ? 1 - fate.success : 1;
    if (failing > 0) attempts = std::min(attempts, 1 + credit / (price * failing));
  }
  if (attempts == kNoLimit) return {attempts, 0};
  const double success =
      later == nullptr ? attempts * fate.success : fate.success + (attempts - 1) * later->success;
  return {attempts, std::min(1.0, success)};
}

double most_attempts(const ClientSpec& client) {
  if (client.retry_only_at == RetryOnlyAt::kEdge) return 1;
  return client.retry.max_attempts == RetryRules::kUnlimited ? kNoLimit : client.retry.max_attempts;
}

namespace {

bool turns_attempts_away(const ServiceSpec& service) {
  if (service.concurrency.control != ConcurrencyControl::kFixed ||
      service.concurrency.limit != ServiceSpec::kUnlimited) {
    return true;
  }
  return service.servers != ServiceSpec::kUnlimited &&
         (service.queue.capacity != ServiceSpec::kUnlimited || service.queue.sheds());
}

}  // namespace

std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client) {
  const NetworkSpec& network = scenario.network;
  if (network.request_loss > 0)
    return fmt::format("network.request_loss = {:.6g}", network.request_loss);
  if (network.response_loss > 0) {
    return fmt::format("network.response_loss = {:.6g}", network.response_loss);
  }
  const std::vector<std::size_t> called = called_services(client);
  for (const FaultSpec& f : scenario.faults) {
    if (!f.black_hole && f.request_loss <= 0 && f.response_loss <= 0) continue;
    if (!std::ranges::binary_search(called, f.service)) continue;
    if (f.black_hole) return "fault." + f.name + " answers nothing";
    return "fault." + f.name + " loses messages";
  }
  for (const std::size_t s : called) {
    const ServiceSpec& service = scenario.services[s];
    if (service.rejection.overflow == Overflow::kDrop && turns_attempts_away(service)) {
      return "service." + service.name + ".overflow = \"drop\"";
    }
  }
  return "";
}

namespace {

/// Whether there is a longest delay however often a request is retried.
bool is_capped(const BackoffRules& b) {
  if (b.delays.empty()) return b.cap != Duration::max();
  return b.delays_then != DelaysThen::kGrow || b.delays_cap != Duration::max();
}

}  // namespace

Duration longest_pause(const Scenario& scenario) {
  constexpr std::uint32_t kAttempts = 10;
  constexpr Duration kMaxUncapped = Duration::seconds(300);
  Duration longest;
  for (const ClientSpec& client : scenario.clients) {
    RetryRules rules = client.retry;
    const bool capped = is_capped(rules.backoff);
    if (!capped) rules.max_attempts = std::min(rules.max_attempts, kAttempts);
    Duration pause = backoff::longest_delay(rules);
    if (!capped) pause = std::min(pause, kMaxUncapped);
    if (client.timeouts.has_attempt) {
      pause += Duration::from_seconds(client.timeouts.attempt.mean_seconds());
    }
    longest = std::max(longest, pause);
  }
  return longest;
}

Duration default_hold(const Scenario& scenario) {
  return std::max(RecoverySpec().hold, longest_pause(scenario));
}

}  // namespace retrysim::flow
