// The warnings, one function per subject.
//
// SPDX-License-Identifier: MIT
#include "prediction/facts/service_load.hpp"

#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "flow/attempt.hpp"
#include "flow/calls.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario/text/text.hpp"

namespace retrysim::prediction {
namespace {

using scenario::said_count;
using scenario::said_whole;

std::string time_text(double seconds) {
  constexpr double kShort = 1e-4, kLong = 999.5;
  if (!(seconds >= kShort && seconds < kLong)) return scenario::said_time(seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

/// The group with the shortest patience, of those that have an attempt timeout.
const ClientSpec* least_patient(const Scenario& scenario, const ServiceLoad& load) {
  const ClientSpec* least = nullptr;
  for (const std::size_t i : load.clients) {
    const ClientSpec& c = scenario.clients[i];
    if (!c.timeouts.has_attempt) continue;
    const double seconds = c.timeouts.attempt.mean_seconds();
    if (least == nullptr || seconds < least->timeouts.attempt.mean_seconds()) least = &c;
  }
  return least;
}

/// The keys of the load that clients, and the calls of other services, bring.
std::string arrival_keys(const Scenario& scenario, const ServiceLoad& load) {
  std::string keys;
  for (const std::size_t i : load.clients) {
    const ClientSpec& c = scenario.clients[i];
    keys += ", " + path_of(c) + (c.makes_calls() ? "" : ".arrivals");
  }
  return keys;
}

void warn_of_overload(const Scenario& scenario, const ServiceLoad& load,
                      std::vector<Warning>& warnings) {
  if (load.capacity == kForever || load.varies) return;
  const AutoscalingSpec& scaling = load.spec->autoscaling;
  const double most = scaling.target > 0 ? std::max(load.capacity, static_cast<double>(scaling.max))
                                         : load.capacity;
  const double first = load.utilization * load.capacity / most;
  const double needed = load.with_errors * load.capacity / most;
  const double asked = first >= 1 ? first : needed;
  if (asked < 1) return;
  const std::string path = "service." + load.spec->name;
  const std::string below = load.from_services ? " Calls of other services are among them." : "";
  std::string message;
  if (load.is_closed) {
    message = fmt::format(
        "If no request had to wait, first attempts would need {} times the capacity: the "
        "requests of the closed loop wait for each other.",
        said_count(asked));
  } else if (first >= 1) {
    // At the limit itself the queue has no bound only where chance makes it grow.
    const auto need = steady_need(scenario, load);
    constexpr double kAtLimit = 1 + 1e-9;
    message = asked > kAtLimit
                  ? fmt::format(
                        "The first attempts alone ask for {} times the capacity, so that the "
                        "service is overloaded without any retry.",
                        said_count(asked))
              : need && need->regular
                  ? "The first attempts alone ask for all of the capacity, which leaves nothing "
                    "for a retry."
                  : "The first attempts alone ask for all of the capacity: the longer the load "
                    "lasts, the longer requests wait.";
  } else {
    message = fmt::format(
        "With the retries after random errors, lost messages and failed calls, attempts ask for "
        "{} times the capacity, so that the service is overloaded.",
        said_count(asked));
  }
  warnings.push_back({path,
                      fmt::format("{0}.{1}, {0}.service_time{2}", path,
                                  scaling.target > 0 ? "autoscaling.max" : "servers",
                                  arrival_keys(scenario, load)),
                      message + below,
                      fmt::format("At least {} servers would carry the load.",
                                  said_whole(servers_that_carry(asked * most)))});
}

void warn_of_queue(const Scenario& scenario, const ServiceLoad& load,
                   std::vector<Warning>& warnings) {
  const ClientSpec* const client = least_patient(scenario, load);
  if (client == nullptr || load.capacity == kForever || load.service_time == 0) return;
  const std::string path = "service." + load.spec->name, group = path_of(*client);
  const double timeout = client->timeouts.attempt.mean_seconds();
  const auto service = static_cast<std::size_t>(load.spec - scenario.services.data());
  const double patience = timeout - 2 * scenario.network.latency.mean_seconds() -
                          flow::service_seconds_at(scenario, *client, service) - load.calls_time;
  if (load.full_queue <= patience) return;
  const std::string keys = path + ".queue.capacity, " + group + ".attempt_timeout";
  const std::string holds =
      load.full_queue == kForever
          ? std::string("The queue has no bound")
          : fmt::format("A full queue holds {} of work", time_text(load.full_queue));
  const double instances = load.spec->instances.count;
  const double places =
      std::floor(std::max(0.0, patience) * load.capacity / load.service_time / instances);
  warnings.push_back(
      {path, keys,
       fmt::format("{}, and {} waits {} for an answer: once the queue is long enough, every answer "
                   "comes too late.",
                   holds, group, time_text(timeout)),
       fmt::format("With {}.queue.capacity = {} or less{}, a full queue holds no more work "
                   "than can be done in that time.",
                   path, said_whole(places), instances > 1 ? " (of each instance)" : "")});
}

void warn_of_last_attempts(const Scenario& scenario, const ServiceLoad& load,
                           std::vector<Warning>& warnings) {
  if (load.last_attempt < 1 || load.utilization >= 1 || load.utilization <= 0) return;
  const ClientSpec* const client = least_patient(scenario, load);
  if (client == nullptr) return;
  const double patience = client->timeouts.attempt.mean_seconds();
  if (load.full_queue <= patience) return;  // what is turned away costs nothing
  bool unlimited = false;
  for (const std::size_t i : load.clients) {
    const RetryRules& retry = scenario.clients[i].retry;
    const bool limited = retry.quota.enabled || retry.has_limits();
    unlimited = unlimited || (flow::most_attempts(scenario.clients[i]) > 1 && !limited);
  }
  if (!unlimited) return;
  const std::string path = "service." + load.spec->name;
  const double most = std::max(1.0, std::ceil(1 / load.utilization) - 1);
  warnings.push_back(
      {path, path_of(*client) + ".retry.max_attempts, " + path + ".queue.capacity",
       (load.last_attempt == kForever
            ? std::string("Requests whose attempts fail are tried again without end, so that the "
                          "load grows without bound: ")
            : fmt::format("If every request needs its last attempt, the load is {} times the "
                          "capacity: ",
                          said_count(load.last_attempt))) +
           "a state in which every answer is late sustains itself when its cause is gone.",
       fmt::format(
           "It recovers by itself with {}, with a retry quota, or with a queue too short for "
           "late answers.",
           most > 1 ? fmt::format("at most {} attempts", said_whole(most)) : "no retries")});
}

void warn_of_throttle(const Scenario& scenario, const ServiceLoad& load,
                      std::vector<Warning>& warnings) {
  const std::string path = "service." + load.spec->name;
  if (load.granted == kForever) return;
  const ThrottleSpec& throttle = load.spec->throttle;
  // A bucket is full at first. What is in it may let all pass that ever come.
  const double window_s = (scenario.duration - scenario.warmup).in_seconds();
  const double in_buckets =
      throttle.window > Duration::zero() ? 0 : throttle.burst * load.granted / throttle.rate;
  const double share = (load.granted + in_buckets / window_s) / load.rate;
  constexpr double kReadsAsAll = 0.9995;
  if (share < kReadsAsAll) {
    warnings.push_back(
        {path, path + ".throttle.rate" + arrival_keys(scenario, load),
         fmt::format(
             "{} requests/s meet a limit of {}/s{}: while they come, at most {} % can "
             "succeed.",
             said_count(load.rate), said_count(load.granted),
             in_buckets > 1 ? fmt::format(", and {} more at first", said_whole(in_buckets)) : "",
             said_count(100 * share)),
         fmt::format("{}.throttle.rate = {} or more would let them pass, and so would fewer "
                     "requests.",
                     path, said_count(throttle.rate * load.rate / load.granted, 4))});
  }
  double floor = 0;
  std::string counts;
  for (const std::size_t i : load.clients) {
    const ClientSpec& c = scenario.clients[i];
    if (!c.retry.rate_limit.enabled) continue;
    floor += c.retry.rate_limit.min_rate * c.count;
    counts += ", client." + c.name + ".count";
  }
  if (floor > load.granted) {
    warnings.push_back(
        {path, path + ".throttle.rate" + counts,
         fmt::format("Even at its lowest rate, adaptive mode lets the clients together send "
                     "{} attempts a second where {} pass, so that at least {} % are throttled "
                     "while they have that much to send.",
                     said_count(floor), said_count(load.granted),
                     said_count(100 * (1 - load.granted / floor))),
         fmt::format("At most {:.0f} % of the clients, each of which sends more.",
                     std::floor(100 * load.granted / floor))});
  }
}

void warn_of_retry_after(const Scenario& scenario, const ClientTimes& t,
                         std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const ServiceSpec& s = scenario.services[c.service];
  const double suggested = s.throttle.retry_after.in_seconds();
  if (suggested <= 0 || s.throttle.rate <= 0 || flow::most_attempts(c) < 2) return;
  const std::string path = "client." + c.name, keys = "service." + s.name +
                                                      ".throttle.retry_after, " + path +
                                                      ".retry.retry_after";
  const double first = backoff_moments(c.retry.backoff, true, 1).mean;
  if (c.retry.retry_after == RetryAfter::kIgnore) {
    warnings.push_back({path, keys,
                        fmt::format("The service suggests {} before a retry; the client ignores "
                                    "it and waits {} on average.",
                                    time_text(suggested), time_text(first)),
                        fmt::format("{}.retry.retry_after = \"minimum\" would respect it.", path)});
  } else if (suggested < first && (c.retry.retry_after == RetryAfter::kMinimum ||
                                   c.retry.retry_after == RetryAfter::kMinimumCapped)) {
    warnings.push_back(
        {path, keys,
         fmt::format("The service suggests {}, less than the mean backoff of {}: the "
                     "suggestion changes little.",
                     time_text(suggested), time_text(first)),
         fmt::format("A suggestion of more than {} would count.", time_text(first))});
  }
}

void warn_of_quota(const ClientTimes& t, std::vector<Warning>& warnings) {
  constexpr double kLong = 60;  // s: much longer than most hiccups
  const RetryRules& retry = t.spec->retry;
  if (!retry.quota.enabled || flow::most_attempts(*t.spec) < 2 || !has_plain_quota(*t.spec)) {
    return;
  }
  if (t.time_to_dry <= kLong) return;
  if (t.time_to_dry == kForever) return;
  const std::string path = "client." + t.spec->name;
  warnings.push_back(
      {path, path + ".retry.quota, " + path + ".count",
       fmt::format("The quota of a client with {} requests a second lasts {} of total failure, {} "
                   "retries of all clients together: until then it protects nothing.",
                   said_count(t.rate), time_text(t.time_to_dry),
                   said_whole(t.outage_retries * t.buckets)),
       fmt::format(
           "{0}.retry.quota.capacity = {1:.0f} would last for {2}; fewer and busier clients "
           "or a higher cost also help.",
           path, std::max(1.0, std::floor(retry.quota.capacity * kLong / t.time_to_dry)),
           time_text(kLong))});
}

}  // namespace

void warn_of_service(const Scenario& scenario, const ServiceLoad& load,
                     std::vector<Warning>& warnings) {
  warn_of_overload(scenario, load, warnings);
  const auto service = static_cast<std::size_t>(load.spec - scenario.services.data());
  if (!why_not(Theory::kLate, scenario, service)) {
    warn_of_queue(scenario, load, warnings);
    warn_of_last_attempts(scenario, load, warnings);
  }
  warn_of_throttle(scenario, load, warnings);
}

void warn_of_client(const Scenario& scenario, const ClientTimes& t,
                    std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const std::string path = "client." + c.name;
  if (t.timeout < t.attempt) {
    warnings.push_back(
        {path, path + ".attempt_timeout",
         fmt::format("An attempt takes {} without any waiting, and the client gives "
                     "up after {}.",
                     time_text(t.attempt), time_text(t.timeout)),
         fmt::format("Use an attempt timeout well above {}.", time_text(t.attempt))});
  }
  const double deadline = c.timeouts.deadline.in_seconds();
  if (c.timeouts.deadline != Duration::max() && c.retry.max_attempts > 1 && deadline < t.timeout) {
    warnings.push_back(
        {path, path + ".deadline, " + path + ".attempt_timeout",
         fmt::format("The deadline of {} ends a request before its first attempt can "
                     "time out: a request whose answer is late is not retried.",
                     time_text(deadline)),
         std::isfinite(t.timeout)
             ? fmt::format("Use an attempt timeout below {} or a deadline above {}.",
                           time_text(deadline), time_text(t.timeout))
             : fmt::format("Use an attempt timeout below {}.", time_text(deadline))});
  }
  const bool bounded = std::isfinite(t.connections_worst);
  if (c.max_connections != ClientSpec::kUnlimited && t.connections_worst > c.max_connections) {
    warnings.push_back(
        {path, path + ".max_connections",
         fmt::format("While every attempt times out a client needs {} connections and has {}: "
                     "further attempts wait for one.",
                     bounded ? said_count(t.connections_worst) : "more and more",
                     c.max_connections),
         bounded ? fmt::format("max_connections = {}, or a shorter attempt timeout.",
                               said_whole(std::ceil(t.connections_worst)))
                 : std::string("A limit on attempts, such as max_attempts, or a deadline.")});
  }
  warn_of_quota(t, warnings);
  warn_of_retry_after(scenario, t, warnings);
}

void warn_of_impatience(const Scenario& scenario, const Demands& demands,
                        std::vector<Warning>& warnings) {
  const flow::CallGraph graph(scenario);
  /// Of an attempt at a service: its own work, and its calls, each for as long as it may last.
  const auto longest_at = [&](std::size_t service) {
    double longest = 2 * scenario.network.latency.mean_seconds() +
                     scenario.services[service].service_time.mean_seconds();
    for (const std::vector<std::size_t>& stage : graph.stages_of(service)) {
      double together = 0;
      for (const std::size_t call : stage) {
        const std::size_t group = scenario.calls[call].client;
        together = std::max(together, times_of_client(scenario, group, demands).worst);
      }
      longest += together;
    }
    return longest;
  };
  for (std::size_t group = 0; group < scenario.clients.size(); ++group) {
    const ClientSpec& c = scenario.clients[group];
    if (!c.timeouts.has_attempt) continue;
    stop_point();
    const double patience = c.timeouts.attempt.mean_seconds();
    for (const std::size_t service : called_services(c)) {
      if (graph.calls_of(service).empty()) continue;
      const double longest = longest_at(service);
      if (!std::isfinite(longest) || longest <= patience) continue;
      const std::string path = path_of(c), name = scenario.services[service].name;
      std::string keys = path + ".attempt_timeout", calls;
      for (const std::size_t g : graph.groups_of(service)) {
        const ClientSpec& below = scenario.clients[g];
        keys += ", " + path_of(below) + ".attempt_timeout";
        calls += fmt::format("{}{} of {} to {}", calls.empty() ? "" : ", ",
                             flow::most_attempts(below) == 1
                                 ? std::string("1 attempt")
                                 : fmt::format("{:.0f} attempts", flow::most_attempts(below)),
                             time_text(below.timeouts.attempt.mean_seconds()),
                             scenario.services[below.service].name);
      }
      warnings.push_back(
          {path, keys,
           fmt::format("An attempt at {} is given up after {}, but may take {} there, with all "
                       "attempts of its calls ({}) and their backoffs: {} goes on with calls that "
                       "nobody waits for.",
                       name, time_text(patience), time_text(longest), calls, name),
           fmt::format("{}.attempt_timeout above {}, or fewer or shorter attempts of the calls.",
                       path, time_text(longest))});
    }
  }
}

void warn_of_hedging(const Scenario& scenario, std::vector<Warning>& warnings) {
  for (const ClientSpec& c : scenario.clients) {
    const RetryRules& retry = c.retry;
    if (!retry.hedging.enabled || retry.hedging.delay > Duration::zero()) continue;
    const double most = flow::most_attempts(c);
    if (most < 2) continue;
    const std::string path = path_of(c);
    warnings.push_back(
        {path, path + ".retry.hedging.delay, " + path + ".retry.max_attempts",
         most > 2 ? fmt::format("Hedging without a delay sends all {:.0f} attempts of a request "
                                "together: {:.0f} times the load.",
                                most, most)
                  : std::string("Hedging without a delay sends each request twice: it doubles the "
                                "load."),
         fmt::format("{}.retry.hedging.delay near the 95th percentile of the latency adds about "
                     "5 %.",
                     path)});
  }
}

void warn_of_attraction(const Scenario& scenario, std::vector<Warning>& warnings) {
  for (const FaultSpec& f : scenario.faults) {
    const ServiceSpec& s = scenario.services[f.service];
    const bool some = f.instance != FaultSpec::kAllInstances && f.instances < s.instances.count;
    const bool prefers_idle = s.instances.balancing == Balancing::kLeastConnections ||
                              s.instances.balancing == Balancing::kTwoChoices;
    double failed = 0;
    for (const RandomError& e : f.errors) failed += e.probability;
    if (!some || !prefers_idle || failed < 0.5 || s.instances.health_check.enabled() ||
        s.instances.ejection.enabled() || s.instances.accrual.enabled()) {
      continue;
    }
    const std::string path = "service." + s.name;
    warnings.push_back(
        {path, "fault." + f.name + ".errors, " + path + ".balancing",
         fmt::format("A sick instance that answers errors quickly has few attempts under way: {} "
                     "sends it more than its share, retries included.",
                     name(s.instances.balancing)),
         fmt::format("{}.balancing = \"round-robin\", health checks, or the ejection of instances "
                     "that fail.",
                     path)});
  }
}

void warn_of_hold(const Scenario& scenario, std::vector<Warning>& warnings) {
  bool disturbed = !scenario.faults.empty();
  for (const ClientSpec& c : scenario.clients) {
    disturbed = disturbed || !c.arrivals.surges.empty();
  }
  const Duration pause = flow::longest_pause(scenario);
  if (!disturbed || scenario.recovery.hold >= pause) return;
  warnings.push_back(
      {"scenario", "recovery.hold",
       fmt::format("Goodput that stays up for {} counts as a recovery, but a client may wait {} "
                   "(attempt timeout and backoff) before it tries again.",
                   time_text(scenario.recovery.hold.in_seconds()), time_text(pause.in_seconds())),
       fmt::format("recovery.hold = \"{}s\" or more, or none: the default is long enough.",
                   said_whole(std::ceil(pause.in_seconds())))});
}

}  // namespace retrysim::prediction
