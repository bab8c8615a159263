// Facts of a scenario in closed form.
//
// SPDX-License-Identifier: MIT
#include <retrysim/facts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "prediction/coverage.hpp"
#include "prediction/delay_law.hpp"
#include "prediction/fluid_system.hpp"
#include "prediction/service_load.hpp"
#include "prediction/warnings.hpp"

namespace retrysim {
namespace prediction {
namespace {

class FactFinder {
 public:
  explicit FactFinder(const Scenario& scenario) : scenario_(scenario), demands_(scenario) {}

  Facts all() {
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) {
      if (is_called(scenario_, s)) service_facts(s);
    }
    for (std::size_t c = 0; c < scenario_.clients.size(); ++c) {
      if (!scenario_.clients[c].caller) client_facts(times_of_client(scenario_, c, demands_));
    }
    return std::move(facts_);
  }

 private:
  void add(const std::string& subject, std::string name, double value, std::string unit,
           std::string meaning, std::string ignores = "") {
    if (!std::isfinite(value)) return;
    facts_.figures.push_back({"facts", subject, std::move(name), value, std::move(unit),
                              std::move(meaning), std::move(ignores)});
  }

  /// What a figure leaves out: one thing and another.
  static std::string also(std::string first, const std::string& second) {
    if (!first.empty() && !second.empty()) first += "; ";
    return first + second;
  }

  /// Of the services that a group calls.
  std::string calls_of_services(const ClientSpec& c) const {
    for (const ClientSpec& other : scenario_.clients) {
      if (other.caller && share_of_calls(c, *other.caller) > 0) {
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

  void service_facts(std::size_t service) {
    const ServiceLoad load = load_of_service(scenario_, service, demands_);
    const std::string subject = "service." + load.spec->name;
    const std::string calls = calls_left_out(scenario_, service);
    const std::string waiting = list_of(left_out(Theory::kLoads, scenario_, service));
    const std::string well = also("retries", list_of(left_out(Theory::kWaits, scenario_, service)));
    const auto no_waits = why_not(Theory::kWaits, scenario_, service);
    const auto no_late = why_not(Theory::kLate, scenario_, service);
    if (load.capacity != kForever) {
      if (no_waits) facts_.refusals.push_back({"waits", subject, *no_waits});
      if (no_late) facts_.refusals.push_back({"warnings", subject, *no_late});
    }
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
          "mean wait of first attempts while all is well (Erlang C; scaled by the spread of "
          "service "
          "times, after Allen and Cunneen)",
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
    const auto retries = static_cast<int>(std::min<std::uint32_t>(c.retry.max_attempts - 1, kMost));
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
    if (!retry.quota.enabled || retry.max_attempts < 2 || !has_plain_quota(*t.spec)) return;
    const struct {
      const char* name;
      const char* of;
      int cost;
    } prices[] = {{"quota_critical_share", "errors", retry.quota.cost},
                  {"quota_critical_share_throttling", "throttling", retry.quota.throttle_cost},
                  {"quota_critical_share_timeouts", "timeouts", retry.quota.timeout_cost}};
    const double attempts = std::min<double>(retry.max_attempts, 1000);
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
