// Closed-form formulas, and the facts of a scenario that follow from them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include "flow/attempt.hpp"
#include "flow/calls.hpp"
#include "kernel/stop.hpp"
#include "prediction/chain/markov_chain.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/facts/service_load.hpp"
#include "prediction/fluid/system.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace retrysim {

namespace {

/// The point at which `rises_above`, false at `low` and true at `high`, changes.
template <class Predicate>
double change(double low, double high, Predicate rises_above) {
  for (int i = 0; i < 100 && low != high; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (rises_above(middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

BackoffMoments backoff_moments(const BackoffRules& rules, bool throttling, int retry) {
  if (retry < 1) throw std::invalid_argument("retries are numbered from 1");
  const prediction::DelayLaw law = prediction::backoff_law(rules, throttling, retry);
  return {prediction::mean_of(law), std::sqrt(prediction::variance_of(law)),
          prediction::least_of(law), prediction::most_of(law)};
}

double attempts_per_request(double failure, double attempts) {
  const double success = 1 - failure;
  if (success <= 0) return attempts;
  return -std::expm1(attempts * std::log1p(-success)) / success;  // accurate for small values, too
}

double quota_critical_share(double attempts, double cost, double credit) {
  if (attempts < 2 || cost <= 0) return 1;
  const auto drains = [&](double p) {
    // p^2 + ... + p^n: the retries without those that succeed, whose cost is refunded.
    return cost * p * (attempts_per_request(p, attempts) - 1) > credit * (1 - p);
  };
  return change(0, 1, drains);
}

QuotaBalance quota_balance(double failure, int attempts, int cost, int capacity, int credit) {
  if (!(failure >= 0 && failure <= 1) || attempts < 1 || cost < 0 || capacity < 0 || credit < 0) {
    throw std::invalid_argument("a share for the failures, and no negative numbers");
  }
  const double p = failure;
  struct Request {  // a request that begins at a level of the bucket
    double retries = 0, denied = 0, success = 0;
  };
  std::vector<Request> requests(static_cast<std::size_t>(capacity) + 1);
  MarkovChain levels(requests.size());
  for (int level = 0; level <= capacity; ++level) {
    Request& request = requests[static_cast<std::size_t>(level)];
    const auto ends_at = [&](int to, double probability) {
      levels.add(static_cast<std::size_t>(level), static_cast<std::size_t>(std::min(capacity, to)),
                 probability);
    };
    ends_at(level + credit, 1 - p);
    request.success = 1 - p;
    double failing = p;
    int tokens = level;
    for (int attempt = 2; attempt <= attempts; ++attempt) {
      if (tokens < cost) {
        request.denied = failing;
        break;
      }
      request.retries += failing;
      request.success += failing * (1 - p);
      ends_at(tokens, failing * (1 - p));  // the last cost is refunded
      tokens -= cost;
      failing *= p;
    }
    ends_at(tokens, failing);
  }
  std::vector<double> law(requests.size());
  if (p == 0 || credit == 0) {
    law.back() = 1;  // nothing is taken; or the level only falls from its start
  } else if (p == 1) {
    law[static_cast<std::size_t>(cost > 0 ? capacity % cost : capacity)] = 1;
  } else {
    law = levels.stationary();
  }
  QuotaBalance result{.success_share = 0};
  for (std::size_t level = 0; level < law.size(); ++level) {
    result.retries_per_request += law[level] * requests[level].retries;
    result.success_share += law[level] * requests[level].success;
    result.denials_per_request += law[level] * requests[level].denied;
    result.mean_level += law[level] * static_cast<double>(level);
  }
  return result;
}

double OverloadBalance::work_per_request(double p) const {
  return (1 - std::pow(p, attempts)) + failure_cost * p * attempts_per_request(p, attempts);
}

OverloadEquilibria equilibria(const OverloadBalance& balance) {
  if (!(balance.load >= 0) || !(balance.attempts >= 1) || !(balance.failure_cost >= 0) ||
      balance.failure_cost > 1e6 || !std::isfinite(balance.load)) {
    throw std::invalid_argument("load >= 0, attempts >= 1 and 0 <= failure_cost <= 1e6 are needed");
  }
  constexpr int kSteps = 2000;
  const auto g = [&](double p) { return balance.work_per_request(p); };
  OverloadEquilibria result;
  result.healthy = balance.load < 1;
  const double dead = balance.attempts * balance.failure_cost;
  result.collapse = balance.load * dead >= 1;
  result.collapse_load = dead > 0 ? 1 / dead : std::numeric_limits<double>::infinity();
  // The peak: g has one maximum at most in the inside; golden section around the best of a grid.
  int best = 0;
  for (int i = 0; i <= kSteps; ++i) {
    if (g(static_cast<double>(i) / kSteps) > g(static_cast<double>(best) / kSteps)) best = i;
  }
  double low = std::max(0.0, (best - 1.0) / kSteps), high = std::min(1.0, (best + 1.0) / kSteps);
  constexpr double kGolden = 0.6180339887498949;
  while (high - low > 1e-12) {
    const double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
    (g(a) < g(b) ? low : high) = g(a) < g(b) ? a : b;
  }
  const double inside = (low + high) / 2;
  // At the end, a peak may be so flat that rounding decides.
  const bool at_end = best == kSteps && g(1) >= g(inside) * (1 - 1e-9);
  result.failure_at_peak = best == 0 && g(0) >= g(inside) ? 0 : at_end ? 1 : inside;
  result.peak = g(result.failure_at_peak);
  result.vulnerable_load = 1 / result.peak;
  if (balance.load == 0) return result;
  // Roots: g rises to its peak and falls from there.
  const double level = 1 / balance.load;
  if (g(0) < level && result.peak > level) {
    result.saturated.push_back(
        {change(0, result.failure_at_peak, [&](double p) { return g(p) > level; }), false});
  }
  if (result.failure_at_peak < 1 && result.peak > level && g(1) < level) {
    result.saturated.push_back(
        {change(result.failure_at_peak, 1, [&](double p) { return g(p) < level; }), true});
  }
  return result;
}

double late_retry_failure(double load, int servers, double attempts) {
  const auto blocked = [&](double offered) {
    double b = 1;
    for (int k = 1; k <= servers; ++k) b = offered * b / (k + offered * b);
    return b;
  };
  return change(0, 1,
                [&](double p) { return blocked(load * attempts_per_request(p, attempts)) < p; });
}

double cubic_window(double rate) { return std::cbrt(rate * (1 - 0.7) / 0.4); }

double cubic_rate(double rate, double seconds) {
  return 0.4 * std::pow(seconds - cubic_window(rate), 3) + rate;
}

// --- Facts of a scenario -------------------------------------------------------------------------

namespace prediction {
namespace {

class FactFinder {
 public:
  explicit FactFinder(const Scenario& scenario) : scenario_(scenario), demands_(scenario) {}

  /// Warnings of what fails while all is well come first: pools, then servers, then timeouts.
  Facts all() {
    std::vector<Warning> overloads, timeouts;
    std::vector<Warning>& warnings = facts_.warnings;
    std::vector<ClientTimes> times;
    for (std::size_t c = 0; c < scenario_.clients.size(); ++c) {
      stop_point();  // services and groups may be many
      times.push_back(times_of_client(scenario_, c, demands_));
      warn_of_pool(times[c], demands_.open[c], warnings);
      warn_of_send_rate(times[c], demands_.open[c], warnings);
      warn_of_short_timeout(scenario_, times[c], timeouts);
    }
    std::vector<ServiceLoad> loads;
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) {
      stop_point();
      if (demands_.callers[s].empty()) continue;
      loads.push_back(load_of_service(scenario_, s, demands_));
      warn_of_overload(scenario_, loads.back(), overloads);
      warn_of_time_limit(loads.back(), timeouts);
    }
    warnings.insert(warnings.end(), overloads.begin(), overloads.end());
    warnings.insert(warnings.end(), timeouts.begin(), timeouts.end());
    for (const ServiceLoad& load : loads) {
      stop_point();
      service_facts(load);
    }
    for (const ClientTimes& t : times) {
      stop_point();
      if (!t.spec->makes_calls()) client_facts(t);
      warn_of_deadline(t, facts_.warnings);
    }
    warn_of_impatience(scenario_, warnings);
    warn_of_hedging(scenario_, warnings);
    warn_of_attraction(scenario_, warnings);
    warn_of_hold(scenario_, warnings);
    return std::move(facts_);
  }

 private:
  void add(const std::string& subject, std::string name, double value, std::string unit,
           std::string meaning, std::string ignores = "") {
    if (!std::isfinite(value)) return;
    facts_.figures.push_back({"facts", subject, std::move(name), value, std::move(unit),
                              std::move(meaning), std::move(ignores)});
  }

  /// Joins two texts about what a figure leaves out.
  static std::string also(std::string first, const std::string& second) {
    if (!first.empty() && !second.empty()) first += "; ";
    return first + second;
  }

  /// What is left out about the calls of the services that a group uses.
  std::string calls_of_services(const ClientSpec& c) const {
    for (const ServiceShare& called : service_shares(c)) {
      if (flow::calls_others(scenario_, called.service)) {
        return "waiting at services that other services call";
      }
    }
    return "";
  }

  static std::string list_of(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text = also(std::move(text), word);
    return text;
  }

  void service_facts(const ServiceLoad& load) {
    const auto service = static_cast<std::size_t>(load.spec - scenario_.services.data());
    const std::string subject = "service." + load.spec->name;
    const std::string calls = calls_left_out(scenario_, service);
    const std::string waiting = list_of(left_out(Theory::kLoads, scenario_, service));
    const std::string well = also("retries", list_of(left_out(Theory::kWaits, scenario_, service)));
    const auto no_waits = refusal(Theory::kWaits, scenario_, service);
    const auto no_late = refusal(Theory::kLate, scenario_, service);
    const auto refuse = [&](const auto& found, const char* part, const char* what,
                            const char* theory) {
      if (!found || load.capacity == kForever) return;
      facts_.refusals.push_back({part, subject, sentence_of(*found, what, theory, subject)});
    };
    refuse(no_waits, "waits", "waiting times", "the formula for queues");
    refuse(no_late, "warnings", "warning of late answers", "the formula for full queues");
    add(subject, "offered_load", load.rate, "1/s", "new requests per second", waiting);
    if (load.capacity != kForever) {
      add(subject, "utilization", load.utilization, "1", "work of the first attempts, per capacity",
          waiting);
      if (load.with_errors > load.utilization * (1 + 1e-9)) {
        add(subject, "utilization_with_errors", load.with_errors, "1",
            "the same with the retries after random errors, lost messages and failed calls",
            waiting);
      }
      add(subject, "utilization_at_last_attempt", load.last_attempt, "1",
          "the same if every request needed its last attempt", also("retry quotas", waiting));
      add(subject, "full_queue_work", load.full_queue, "s", "time to serve a full queue", calls);
      add(subject, "queueing_time", load.wait, "s",
          "mean wait of first attempts while all is well (Erlang C; for the law of service times "
          "after Boxma, Cohen and Huffels)",
          well);
      add(subject, "wait_within_share", load.wait_within, "1",
          "share of first attempts that wait at most wait_within while all is well (Erlang C)",
          well);
    }
    if (load.granted != kForever) {
      add(subject, "load_per_granted_rate", load.rate / load.granted, "1",
          "new requests per rate that the throttle lets pass", waiting);
    }
    warn_of_service(scenario_, load, facts_.warnings);
  }

  void client_facts(const ClientTimes& t) {
    const ClientSpec& c = *t.spec;
    const std::string subject = "client." + c.name;
    const std::string calls = calls_of_services(c);
    add(subject, "attempt_time", t.attempt, "s", "network and service of an attempt, nothing else",
        also("waiting at the service", calls));
    add(subject, "request_time", t.request, "s",
        "mean time of a request while all is well: the first attempt succeeds, after its wait",
        also("retries, faults and surges", calls));
    add(subject, "request_time_worst", t.worst, "s",
        "longest time of a request: every attempt times out, every backoff is at its longest",
        c.retry.rate_limit.enabled ? "waiting for send tokens" : "");
    add(subject, "request_time_if_all_time_out", t.all_time_out, "s",
        "mean time of a request all of whose attempts time out", "the deadline");
    backoff_facts(subject, c);
    quota_facts(subject, t);
    add(subject, "connections", t.connections, "connections",
        "mean number that a client uses while all is well (Little's law)", calls);
    add(subject, "connections_if_all_time_out", t.connections_worst, "connections",
        "the same while every attempt times out", "the retry quota");
    warn_of_client(scenario_, t, facts_.warnings);
  }

  void backoff_facts(const std::string& subject, const ClientSpec& c) {
    constexpr int kMost = 9;
    const auto retries = static_cast<int>(std::min<double>(flow::most_attempts(c) - 1, kMost));
    const BackoffRules& rules = c.retry.backoff;
    const bool differs = throttling_differs(rules);
    BackoffLaws laws(rules, false), throttled(rules, true);
    for (int i = 1; i <= retries; ++i) {
      add(subject, fmt::format("backoff_{}", i), mean_of(laws.next()), "s",
          fmt::format("mean delay before retry {}", i));
      if (!differs) continue;
      add(subject, fmt::format("throttle_backoff_{}", i), mean_of(throttled.next()), "s",
          "the same after a throttling error");
    }
  }

  void quota_facts(const std::string& subject, const ClientTimes& t) {
    const RetryRules& retry = t.spec->retry;
    const double most = flow::most_attempts(*t.spec);
    if (!retry.quota.enabled || most < 2 || !has_plain_quota(*t.spec)) return;
    const struct {
      const char* name;
      const char* of;
      int cost;
    } prices[] = {{"quota_critical_share", "errors", retry.quota.cost},
                  {"quota_critical_share_throttling", "throttling", retry.quota.throttle_cost},
                  {"quota_critical_share_timeouts", "timeouts", retry.quota.timeout_cost}};
    const double attempts = std::min<double>(most, 1000);
    for (const auto& price : prices) {
      if (price.cost <= 0) continue;
      add(subject, price.name, quota_critical_share(attempts, price.cost, retry.quota.credit), "1",
          fmt::format("share of attempts that must fail ({}) before the quota drains", price.of),
          "other ways to fail, and requests beside each other");
    }
    add(subject, "quota_drain_rate", t.drain_rate, "tokens/s",
        "tokens that a client loses per second while every attempt times out");
    add(subject, "quota_time_to_dry", t.time_to_dry, "s",
        "from a full quota, while every attempt times out");
    add(subject, "quota_retries_in_outage", t.outage_retries, "attempts",
        "retries that one client makes of a full quota while every attempt times out");
    add(subject, "quota_retries_in_outage_all_clients", t.outage_retries * t.buckets, "attempts",
        "the same of all clients together");
  }

  const Scenario& scenario_;
  Demands demands_;
  Facts facts_;
};

}  // namespace
}  // namespace prediction

Facts facts_of(const Scenario& scenario) { return prediction::FactFinder(scenario).all(); }

}  // namespace retrysim
