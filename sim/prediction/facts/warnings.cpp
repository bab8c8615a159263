// The warnings, one function per subject.
//
// SPDX-License-Identifier: MIT
#include "kernel/stop.hpp"
#include "prediction/facts/service_load.hpp"

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
using scenario::said_things;
using scenario::said_whole;
using scenario::to_copy;

constexpr int kAllDigits = 15;  // of a whole number

std::string time_text(double seconds) {
  constexpr double kShort = 1e-4, kLong = 999.5;
  if (!(seconds >= kShort && seconds < kLong)) return scenario::said_time(seconds);
  return seconds < 1 ? fmt::format("{} ms", scenario::said_number(seconds * 1e3))
                     : fmt::format("{} s", scenario::said_number(seconds));
}

/// The service whose calls a group makes.
std::string caller_name(const ClientSpec& c) { return c.name.substr(0, c.name.find('.')); }

/// The longest time before an attempt that began with its request is given up, s.
double patience_of(const ClientSpec& c) {
  const double timeout = c.timeouts.has_attempt ? c.timeouts.attempt.mean_seconds() : kForever;
  return std::min(timeout, in_seconds(c.timeouts.deadline));
}

/// The group with the shortest patience, of those that have an attempt timeout.
const ClientSpec* least_patient(const Scenario& scenario, const ServiceLoad& load) {
  const ClientSpec* least = nullptr;
  for (const std::size_t i : load.clients) {
    const ClientSpec& c = scenario.clients[i];
    if (!c.timeouts.has_attempt) continue;
    if (least == nullptr || patience_of(c) < patience_of(*least)) least = &c;
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

}  // namespace

void warn_of_overload(const Scenario& scenario, const ServiceLoad& load,
                      std::vector<Warning>& warnings) {
  if (load.capacity == kForever) return;
  const AutoscalingSpec& scaling = load.spec->autoscaling;
  const double most = scaling.target > 0 ? std::max(load.capacity, static_cast<double>(scaling.max))
                                         : load.capacity;
  // If the load of some groups pauses, that of the others may be too much by itself.
  const double first =
      load.varies ? load.steady_work / most : load.utilization * load.capacity / most;
  const double needed = load.varies ? 0 : load.with_errors * load.capacity / most;
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
    // At a load of exactly 1 the queue is unbounded only if chance makes it grow.
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

namespace {

/// Whether the throttle lets too little pass for a queue to grow beyond what its bucket holds, in
/// all faults.
bool throttle_bounds_queue(const Scenario& scenario, const ServiceLoad& load, double patience) {
  constexpr double kBelowCapacity = 0.9;  // below this load chance alone makes no long queue
  if (load.granted == kForever) return false;
  double left = 1;
  for (const FaultSpec& f : scenario.faults) {
    if (&scenario.services[f.service] == load.spec) left *= f.capacity * f.speed;
  }
  if (load.spec->profile) left *= std::ranges::min(load.spec->profile->factors);
  const double served = load.capacity * left / load.service_time;  // per second
  const ThrottleSpec& throttle = load.spec->throttle;
  const double together = throttle.window > Duration::zero()
                              ? throttle.window_limit() * load.granted / throttle.rate
                              : throttle.burst * load.granted / throttle.rate;
  return load.granted < kBelowCapacity * served && together < patience * served;
}

void warn_of_queue(const Scenario& scenario, const ServiceLoad& load,
                   std::vector<Warning>& warnings) {
  const ClientSpec* const client = least_patient(scenario, load);
  if (client == nullptr || load.capacity == kForever || load.service_time == 0) return;
  const std::string path = "service." + load.spec->name, group = path_of(*client);
  const double timeout = patience_of(*client);
  const bool by_deadline = timeout < client->timeouts.attempt.mean_seconds();
  const std::string limit = group + (by_deadline ? ".deadline" : ".attempt_timeout");
  const auto service = static_cast<std::size_t>(load.spec - scenario.services.data());
  const double patience = timeout - 2 * scenario.network.latency.mean_seconds() -
                          flow::service_seconds_at(scenario, *client, service) - load.calls_time;
  if (load.full_queue <= patience || throttle_bounds_queue(scenario, load, patience)) return;
  const std::string keys = path + ".queue.capacity, " + limit;
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
       places < 1
           ? fmt::format("{} well above {}: no queue is short enough for so little patience.",
                         limit, time_text(timeout))
           : fmt::format("With {}.queue.capacity = {} or less{}, a full queue holds no more work "
                         "than can be done in that time.",
                         path, to_copy(places, kAllDigits),
                         instances > 1 ? " (of each instance)" : "")});
}

void warn_of_last_attempts(const Scenario& scenario, const ServiceLoad& load,
                           std::vector<Warning>& warnings) {
  if (load.last_attempt < 1 || load.utilization >= 1 || load.utilization <= 0) return;
  const ClientSpec* const client = least_patient(scenario, load);
  if (client == nullptr) return;
  if (load.full_queue <= patience_of(*client)) return;  // refusals cost nothing
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
  // A bucket is full at first. Its tokens may suffice for all attempts of the run.
  const double window_s = (scenario.duration - scenario.warmup).in_seconds();
  const double in_buckets =
      throttle.window > Duration::zero() ? 0 : throttle.burst * load.granted / throttle.rate;
  const double share = (load.granted + in_buckets / window_s) / load.rate;
  constexpr double kReadsAsAll = 0.9995;
  if (share < kReadsAsAll) {
    // Chance in the number of arrivals may decide.
    constexpr double kDeviations = 2;
    const bool by_chance = std::ranges::any_of(load.clients, [&](std::size_t c) {
      return scenario.clients[c].arrivals.process != ArrivalProcess::kConstant;
    });
    const bool near = by_chance && share * (1 + kDeviations / std::sqrt(load.rate * window_s)) > 1;
    warnings.push_back(
        {path, path + ".throttle.rate" + arrival_keys(scenario, load),
         fmt::format(
             "{}{} requests/s {} a limit of {}/s{}: {}.",
             load.has_closed ? "If no request had to wait, " : "", said_count(load.rate),
             load.has_closed ? "would meet" : "meet", said_count(load.granted),
             in_buckets > 1 ? fmt::format(", and {} more at first", said_whole(in_buckets)) : "",
             load.has_closed
                 ? std::string("some are refused, and a client of a closed loop asks for the next "
                               "thing only when it is done with them")
             : near ? std::string("the longer they come, the more of them are refused")
                    : fmt::format("while they come, at most {} % can succeed",
                                  said_count(100 * share))),
         fmt::format("{}.throttle.rate = {} or more would let them pass, and so would fewer "
                     "requests.",
                     path, to_copy(throttle.rate * load.rate / load.granted, 4))});
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
                     "{} a second where {} pass, so that at least {} % are throttled "
                     "while they have that much to send.",
                     said_things(said_count(floor), "attempt"), said_count(load.granted),
                     said_count(100 * (1 - load.granted / floor))),
         fmt::format("At most {:.0f} % of the clients, each of which sends more.",
                     std::floor(100 * load.granted / floor))});
  }
}

/// Closed loops whose requests the service refuses in no time, so that they ask again at the same
/// moment: simulated time stands still.
void warn_of_loop_without_time(const Scenario& scenario, const ServiceLoad& load,
                               std::vector<Warning>& warnings) {
  const ServiceSpec& s = *load.spec;
  if (scenario.network.latency.mean_seconds() > 0 || s.rejection.cost > Duration::zero()) return;
  double asking = 0;
  const ClientSpec* unending = nullptr;
  for (const std::size_t i : load.clients) {
    const ClientSpec& c = scenario.clients[i];
    if (c.arrivals.process != ArrivalProcess::kClosed) continue;
    asking += static_cast<double>(c.count) * c.arrivals.concurrency;
    const bool waits_to_ask = c.arrivals.think_time.mean_seconds() > 0;
    const bool waits_to_retry =
        flow::most_attempts(c) > 1 && backoff_moments(c.retry.backoff, true, 1).mean > 0;
    if (!waits_to_ask && !waits_to_retry) unending = &c;
  }
  if (unending == nullptr) return;
  const bool is_throttled = load.granted < load.rate;
  const bool is_full =
      load.capacity + static_cast<double>(s.queue.capacity) * s.instances.count < asking;
  if (!is_throttled && !is_full) return;
  const std::string client = path_of(*unending), service = "service." + s.name;
  warnings.push_back(
      {client,
       fmt::format("{}.arrivals.think_time, {}.reject_cost, network.latency", client, service),
       fmt::format("{} refuses at once what {}, and {} asks for the next thing at the same "
                   "moment: once that happens, simulated time stands still, and the run ends with "
                   "an error.",
                   s.name, is_throttled ? "its throttle does not let pass" : "finds its queue full",
                   unending->name),
       fmt::format("{}.arrivals.think_time, {}.reject_cost or network.latency above 0 s.", client,
                   service)});
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
       fmt::format("The quota of a client with {} a second lasts {} of total failure, {} "
                   "retries of all clients together: until then it protects nothing.",
                   said_things(said_count(t.rate), "request"), time_text(t.time_to_dry),
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
  const auto service = static_cast<std::size_t>(load.spec - scenario.services.data());
  if (!why_not(Theory::kLate, scenario, service)) {
    warn_of_queue(scenario, load, warnings);
    warn_of_last_attempts(scenario, load, warnings);
  }
  warn_of_throttle(scenario, load, warnings);
  warn_of_loop_without_time(scenario, load, warnings);
}

namespace {

/// The attempts that a client may have under way: its connections or, where these are not fewer,
/// its bulkhead.
class Places {
 public:
  explicit Places(const ClientSpec& c)
      : of_bulkhead_(c.bulkhead.in_use() && c.bulkhead.max_concurrent <= c.max_connections),
        most_(of_bulkhead_ ? c.bulkhead.max_concurrent : c.max_connections),
        wait_(of_bulkhead_ ? c.bulkhead.longest_wait : c.connection_wait),
        line_(of_bulkhead_ ? c.bulkhead.queue : c.connection_queue) {}

  bool of_bulkhead() const { return of_bulkhead_; }
  std::uint32_t most() const { return most_; }
  bool is_limited() const { return most_ != ClientSpec::kUnlimited; }
  const char* key() const { return of_bulkhead_ ? "bulkhead.max_concurrent" : "max_connections"; }
  /// "5 connections", "5 places in the bulkhead".
  std::string said(std::string number) const {
    return said_things(std::move(number), of_bulkhead_ ? "place" : "connection") +
           (of_bulkhead_ ? " in the bulkhead" : "");
  }
  bool all_may_wait() const { return wait_ == Duration::max() && line_ == ClientSpec::kUnlimited; }
  /// What attempts do that find none.
  std::string others() const {
    if (wait_ == Duration::zero() || line_ == 0) return "fail at once";
    std::string text = "wait for one";
    if (line_ != ClientSpec::kUnlimited) text += fmt::format(", {} at most", line_);
    if (wait_ != Duration::max()) {
      text += fmt::format(", for {} at most", time_text(in_seconds(wait_)));
    }
    return text;
  }

 private:
  bool of_bulkhead_;
  std::uint32_t most_;
  Duration wait_;
  std::uint32_t line_;
};

}  // namespace

void warn_of_pool(const ClientTimes& t, bool open, std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const Places places(c);
  // The places that first attempts keep busy if none of them waits for anything.
  const double needed = t.rate * t.attempt;
  // At the limit itself only chance makes attempts wait.
  constexpr double kAtLimit = 1 + 1e-9;
  const double least =
      places.most() * (c.arrivals.process == ArrivalProcess::kConstant ? kAtLimit : 1 / kAtLimit);
  if (!places.is_limited() || !open || !std::isfinite(needed) || needed < least) return;
  const std::string path = path_of(c);
  const std::string who = c.makes_calls() ? "each instance of " + caller_name(c) : "each client";
  warnings.push_back(
      {path, path + "." + places.key() + (c.makes_calls() ? "" : ", " + path + ".arrivals"),
       fmt::format("First attempts alone keep {} of {} busy, and it has {}: {}.",
                   places.said(said_count(needed)), who, places.most(),
                   places.all_may_wait() ? "attempts wait longer and longer for one"
                                         : "others " + places.others()),
       fmt::format("{}.{} = {} or more.", path, places.key(),
                   to_copy(servers_that_carry(needed), kAllDigits))});
}

void warn_of_send_rate(const ClientTimes& t, bool open, std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const SendRateSpec& limit = c.send_rate;
  // At the limit itself only chance makes requests wait.
  constexpr double kAtLimit = 1 + 1e-9;
  const double least =
      limit.rate * (c.arrivals.process == ArrivalProcess::kConstant ? kAtLimit : 1 / kAtLimit);
  if (!limit.in_use() || !open || !std::isfinite(t.rate) || t.rate < least) return;
  const bool waits =
      limit.on_empty == SendRateOnEmpty::kWait && limit.longest_wait == Duration::max();
  const double unsent = 1 - limit.rate / t.rate;
  if (!waits && unsent < kAtLimit - 1) return;
  const std::string path = path_of(c);
  const std::string who = c.makes_calls() ? "each instance of " + caller_name(c) : "each client";
  const std::string per_s = c.makes_calls() ? "calls a second" : "requests a second";
  warnings.push_back(
      {path, path + ".send_rate.rate" + (c.makes_calls() ? "" : ", " + path + ".arrivals"),
       fmt::format("{} of {} need a permit to be sent, and its send rate permits {}: {}.",
                   fmt::format("{} {}", said_count(t.rate), per_s), who, said_count(limit.rate),
                   waits ? std::string("they wait longer and longer before they are sent")
                         : fmt::format("in the long run {} of them fail unsent",
                                       scenario::said_share(unsent))),
       fmt::format("{}.send_rate.rate above {}.", path, to_copy(t.rate, 3))});
}

void warn_of_short_timeout(const Scenario& scenario, const ClientTimes& t,
                           std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const std::string path = path_of(c);
  const std::string who = c.makes_calls() ? caller_name(c) : std::string("the client");
  const double deadline = in_seconds(c.timeouts.deadline), limit = std::min(t.timeout, deadline);
  const bool by_deadline = deadline < t.timeout;
  const std::string keys =
      path + (by_deadline ? ".deadline" : ".attempt_timeout") +
      (c.makes_calls() ? ", service." + scenario.services[c.service].name + ".service_time" : "");
  const char* const use = by_deadline ? "A deadline" : "An attempt timeout";
  if (limit < t.attempt) {
    warnings.push_back(
        {path, keys,
         fmt::format("An attempt takes {} without any waiting, and {} gives up after {}{}.",
                     time_text(t.attempt), who, time_text(limit),
                     by_deadline ? ", the deadline" : ""),
         fmt::format("Use {} well above {}.", by_deadline ? "a deadline" : "an attempt timeout",
                     time_text(t.attempt))});
    return;
  }
  // For a single service without calls: the share of attempts that are too long by chance.
  constexpr double kMany = 0.05;
  if (!std::isfinite(limit) || !calls_one_service(c) || !c.operations.empty() ||
      flow::calls_others(scenario, c.service)) {
    return;
  }
  const ServiceSpec& service = scenario.services[c.service];
  const double room = limit - 2 * scenario.network.latency.mean_seconds();
  const double longer = survival(service.service_time, room);
  if (service.service_time.is_constant() || longer < kMany) return;
  warnings.push_back(
      {path, keys,
       fmt::format("{} % of the attempts take longer than {} without any waiting, and {} gives "
                   "up then.",
                   scenario::said_number(100 * longer, 2), time_text(limit), who),
       fmt::format("{} of {} is enough for 99 % of them.", use,
                   time_text(quantile_of(service.service_time, 0.99) + limit - room))});
}

void warn_of_time_limit(const ServiceLoad& load, std::vector<Warning>& warnings) {
  const double limit = in_seconds(load.spec->timeout);
  if (load.service_time <= limit || !std::isfinite(load.service_time)) return;
  const std::string path = "service." + load.spec->name;
  warnings.push_back(
      {path, path + ".timeout, " + path + ".service_time",
       fmt::format("An attempt takes {} there without any waiting, and {} itself "
                   "gives up after {}.",
                   time_text(load.service_time), load.spec->name, time_text(limit)),
       fmt::format("{}.timeout well above {}, or \"none\".", path, time_text(load.service_time))});
}

namespace {

/// Attempts that all time out, one after the other.
struct TimedOut {
  double longest = 0;  ///< all of them, with the longest backoffs, s
  double backoff = 0;  ///< the part of `longest` spent in backoffs
  double begun = 0;    ///< how many begin before the deadline, with the shortest backoffs
};
TimedOut all_timed_out(const ClientSpec& c, double timeout, double deadline) {
  TimedOut all = {.begun = 1};
  BackoffLaws laws(c.retry.backoff, false);
  double begins = 0;
  for (double attempt = 2; attempt <= flow::most_attempts(c); ++attempt) {
    const DelayLaw law = laws.next();
    all.backoff += most_of(law);
    begins += timeout + least_of(law);
    if (begins < deadline) all.begun = attempt;
  }
  all.longest = flow::most_attempts(c) * timeout + all.backoff;
  return all;
}

}  // namespace

void warn_of_deadline(const ClientTimes& t, std::vector<Warning>& warnings) {
  constexpr double kMany = 1000;  // a limit on attempts above this leaves the end to the deadline
  const ClientSpec& c = *t.spec;
  const double deadline = in_seconds(c.timeouts.deadline), attempts = flow::most_attempts(c);
  if (deadline == kForever || attempts < 2 || deadline < t.attempt) return;
  const std::string path = path_of(c), keys = path + ".deadline, " + path + ".attempt_timeout";
  const std::string what = c.makes_calls() ? "call" : "request", given = time_text(deadline);
  if (deadline < t.timeout) {
    warnings.push_back(
        {path, keys,
         fmt::format("The deadline of {} ends a {} before its first attempt can time out: a {} "
                     "whose answer is late is not retried.",
                     given, what, what),
         std::isfinite(t.timeout)
             ? fmt::format("Use an attempt timeout below {} or a deadline above {}.", given,
                           time_text(t.timeout))
             : fmt::format("Use an attempt timeout below {}.", given)});
    return;
  }
  if (attempts > kMany || c.retry.hedging.enabled) return;
  const TimedOut all = all_timed_out(c, t.timeout, deadline);
  if (all.longest <= deadline || !std::isfinite(all.longest)) return;
  const std::string takes = time_text(all.longest);
  const bool exact = c.timeouts.attempt.is_constant();
  warnings.push_back(
      {path, keys + ", " + path + ".retry.max_attempts",
       fmt::format(
           "{:.0f} attempts of {}{}{} may take {}, but the deadline ends a {} after {}: if each "
           "of them times out, {}.",
           attempts, time_text(t.timeout), exact ? "" : " on average",
           all.backoff > 0 ? fmt::format(" and up to {} of backoff", time_text(all.backoff)) : "",
           takes == given ? "a little longer" : takes, what, given,
           !exact || all.begun == attempts
               ? std::string("the last one may get less than its timeout, or not be made")
           : all.begun == 1 ? std::string("the first one is the only one that is made")
                            : fmt::format("at most {:.0f} are made", all.begun)),
       fmt::format("{}.deadline above {}, or fewer or shorter attempts.", path, takes)});
}

void warn_of_client(const Scenario& scenario, const ClientTimes& t,
                    std::vector<Warning>& warnings) {
  const ClientSpec& c = *t.spec;
  const std::string path = "client." + c.name;
  const bool bounded = std::isfinite(t.connections_worst), timed = c.timeouts.has_attempt;
  const Places places(c);
  // A bulkhead is there to refuse what would pile up.
  if (places.is_limited() && !places.of_bulkhead() && t.connections_worst > places.most() &&
      t.rate * t.attempt < places.most()) {
    warnings.push_back(
        {path, path + "." + places.key(),
         fmt::format("While {} a client needs {} and has {}: further attempts {}.",
                     timed ? "every attempt times out" : "nothing is answered",
                     places.said(bounded ? said_count(t.connections_worst) : "more and more"),
                     places.most(), places.others()),
         bounded ? fmt::format("{} = {}, or a shorter attempt timeout.", places.key(),
                               to_copy(std::ceil(t.connections_worst), kAllDigits))
         : timed ? std::string("A limit on attempts, such as max_attempts, or a deadline.")
                 : std::string("An attempt timeout.")});
  }
  warn_of_quota(t, warnings);
  warn_of_retry_after(scenario, t, warnings);
}

namespace {

/// Who waits how long for whom, through all layers of services.
class Patience {
 public:
  explicit Patience(const Scenario& scenario)
      : scenario_(scenario), graph_(scenario), longest_(scenario.services.size(), -1) {}

  /// The longest time before an attempt of the group is given up, s; infinite: never.
  double of(std::size_t group) const { return patience_of(scenario_.clients[group]); }

  /// The longest time of an attempt at the service: its own work, and its calls one stage after the
  /// other, s; infinite: calls may be tried without end.
  double longest_at(std::size_t service) {
    if (longest_[service] >= 0) return longest_[service];
    const ServiceSpec& s = scenario_.services[service];
    const bool calls = !graph_.calls_of(service).empty();
    double longest = calls ? s.service_time.mean_seconds() : usual_most(s.service_time);
    for (const std::vector<std::size_t>& stage : graph_.stages_of(service)) {
      double together = 0;
      for (const std::size_t call : stage) together = std::max(together, longest_of_call(call));
      longest += together;
    }
    if (s.timeout != Duration::max()) longest = std::min(longest, s.timeout.in_seconds());
    return longest_[service] = longest;
  }

  /// "db: 3 attempts of 1 s and up to 2 s of backoff, beside cache: ...; then mail: ...".
  std::string calls_text(std::size_t service) {
    constexpr std::size_t kMost = 5;
    std::string text;
    std::size_t said = 0, left_out = 0;
    for (const std::vector<std::size_t>& stage : graph_.stages_of(service)) {
      bool first = true;
      for (const std::size_t call : stage) {
        if (!is_made(call)) continue;
        if (++said > kMost) {
          ++left_out;
          continue;
        }
        if (!text.empty()) {
          text += first ? "; then " : scenario_.calls[call].one_of.empty() ? ", beside " : ", or ";
        }
        text += call_text(call);
        first = false;
      }
    }
    if (left_out > 0) text += fmt::format("; and {} more", left_out);
    return text;
  }

  const flow::CallGraph& graph() const { return graph_; }

 private:
  bool is_made(std::size_t call) const {
    const CallSpec& spec = scenario_.calls[call];
    return spec.share > 0 && (spec.count > 0 || spec.random_count);
  }

  /// The 99 % quantile of a time: nearly all attempts take no longer.
  static double usual_most(const Distribution& d) {
    return d.is_constant() ? d.mean_seconds() : quantile_of(d, 0.99);
  }

  /// The longest time of one attempt of a call, until it is answered or given up, s.
  double attempt_of(const ClientSpec& c) {
    if (c.timeouts.has_attempt) return c.timeouts.attempt.mean_seconds();
    double longest = 0;
    for (const std::size_t s : called_services(c)) longest = std::max(longest, longest_at(s));
    return 2 * scenario_.network.latency.mean_seconds() + longest;
  }

  /// Without a timeout an attempt that takes long is answered, and only errors are tried again.
  bool tries_again_late(const ClientSpec& c) const {
    if (c.timeouts.has_attempt) return true;
    return std::ranges::any_of(called_services(c), [&](std::size_t s) {
      return !scenario_.services[s].errors.empty() || !graph_.calls_of(s).empty();
    });
  }

  double longest_of_group(std::size_t group) {
    const ClientSpec& c = scenario_.clients[group];
    if (c.timeouts.deadline_of_caller) return 0;  // the call ends with its caller
    const double attempt = attempt_of(c);
    return tries_again_late(c) ? request_times(c, attempt).longest : std::min(attempt, of(group));
  }

  double longest_of_call(std::size_t call) {
    if (!is_made(call)) return 0;
    double longest = longest_of_group(scenario_.calls[call].client);
    for (auto next = graph_.fallback_of(call); next; next = graph_.fallback_of(*next)) {
      longest += longest_of_group(scenario_.calls[*next].client);
    }
    return longest;
  }

  std::string call_text(std::size_t call) {
    std::string text = group_text(scenario_.calls[call].client);
    for (auto next = graph_.fallback_of(call); next; next = graph_.fallback_of(*next)) {
      text += ", and if it fails " + group_text(scenario_.calls[*next].client);
    }
    return text;
  }

  std::string group_text(std::size_t group) {
    const ClientSpec& c = scenario_.clients[group];
    std::string text = scenario_.services[c.service].name + ": ";
    if (c.timeouts.deadline_of_caller) return text + "until its caller gives up";
    const double attempt = attempt_of(c);
    if (!c.timeouts.has_attempt) {
      const ServiceSpec& s = scenario_.services[c.service];
      const bool by_chance = !s.service_time.is_constant() && graph_.calls_of(c.service).empty();
      text += by_chance ? fmt::format("no timeout, and one attempt in 100 takes more than {}",
                                      time_text(attempt))
                        : fmt::format("no timeout, and an attempt may take {}", time_text(attempt));
      if (!tries_again_late(c) || flow::most_attempts(c) < 2) return text;
      text += fmt::format(", up to {:.0f} times", flow::most_attempts(c));
    } else {
      const double attempts = flow::most_attempts(c);
      text += fmt::format("{:.0f} attempt{} of {}", attempts, attempts == 1 ? "" : "s",
                          time_text(attempt));
    }
    const RequestTimes times = request_times(c, attempt);
    if (times.backoff > 0 && c.retry.hedging.enabled) {
      text += fmt::format(", the last one sent after {}", time_text(times.backoff));
    } else if (times.backoff > 0) {
      text += fmt::format(" and up to {} of backoff", time_text(times.backoff));
    }
    const double all = (c.retry.hedging.enabled ? 1 : flow::most_attempts(c)) * attempt;
    if (times.longest < all + times.backoff) {
      text += fmt::format(", until the deadline of {}", time_text(times.longest));
    }
    return text;
  }

  const Scenario& scenario_;
  flow::CallGraph graph_;
  std::vector<double> longest_;  // longest time at each service, s; below 0: not computed yet
};

}  // namespace

void warn_of_impatience(const Scenario& scenario, std::vector<Warning>& warnings) {
  Patience patience(scenario);
  const flow::CallGraph& graph = patience.graph();
  // Callees first: this avoids deep recursion in long chains of services.
  std::vector<std::size_t> order = flow::callers_first(scenario);
  for (auto s = order.rbegin(); s != order.rend(); ++s) {
    stop_point();
    patience.longest_at(*s);
  }
  for (std::size_t group = 0; group < scenario.clients.size(); ++group) {
    const ClientSpec& c = scenario.clients[group];
    const double waits = patience.of(group);
    if (!std::isfinite(waits)) continue;
    stop_point();
    for (const std::size_t service : called_services(c)) {
      const ServiceSpec& called = scenario.services[service];
      // If an attempt that is given up is aborted, its calls end with it.
      if (graph.calls_of(service).empty() || called.abandoned == Abandoned::kAbort) continue;
      const double longest =
          2 * scenario.network.latency.mean_seconds() + patience.longest_at(service);
      if (longest <= waits) continue;
      const bool by_timeout = c.timeouts.has_attempt && c.timeouts.attempt.mean_seconds() <= waits;
      const std::string path = path_of(c),
                        own = path + (by_timeout ? ".attempt_timeout" : ".deadline");
      std::string keys = own;
      for (const std::size_t g : graph.groups_of(service)) {
        const ClientSpec& below = scenario.clients[g];
        keys += ", " + path_of(below) + ".attempt_timeout";
      }
      const std::string given_up = time_text(waits), takes = time_text(longest);
      warnings.push_back(
          {path, keys,
           fmt::format("An attempt at {0} is given up after {1}, but may take {2} there with its "
                       "calls ({3}): {0} goes on with calls that nobody waits for.",
                       called.name, given_up,
                       !std::isfinite(longest) ? "any time"
                       : takes == given_up     ? "a little longer"
                                               : takes,
                       patience.calls_text(service)),
           std::isfinite(longest)
               ? fmt::format("{} above {}, fewer or shorter attempts of the calls, or calls with "
                             "deadline = \"caller\".",
                             own, time_text(longest))
               : std::string("Calls with deadline = \"caller\", or fewer attempts of them.")});
    }
  }
}

namespace {

/// Warns of services at which a hedge is as slow as the attempt that it should overtake.
void warn_of_work_that_stays(const Scenario& scenario, const ClientSpec& c,
                             std::vector<Warning>& warnings) {
  constexpr double kMostly = 0.5;  // share of the later attempts
  const std::string path = path_of(c);
  for (const std::size_t service : called_services(c)) {
    const ServiceSpec& s = scenario.services[service];
    if (s.service_time_per != ServiceTimePer::kRequest || s.service_time_repeats < kMostly)
      continue;
    const std::string own = "service." + s.name + ".service_time_per";
    warnings.push_back(
        {path, path + ".retry.hedging.delay, " + own,
         fmt::format(
             "A hedge at {} takes {} service time as the attempt that it is to overtake: it "
             "shortens waits in queues and on the way, and no slow work.",
             s.name, s.service_time_repeats < 1 ? "mostly the same" : "the same"),
         fmt::format("{}.retry.hedging.delay = \"none\"; or {} = \"attempt\", if instances are "
                     "slow and not requests.",
                     path, own)});
  }
}

}  // namespace

void warn_of_hedging(const Scenario& scenario, std::vector<Warning>& warnings) {
  for (const ClientSpec& c : scenario.clients) {
    const RetryRules& retry = c.retry;
    if (!retry.hedging.enabled) continue;
    if (flow::most_attempts(c) >= 2) warn_of_work_that_stays(scenario, c, warnings);
    if (retry.hedging.delay > Duration::zero()) continue;
    const double most = flow::most_attempts(c);
    if (most < 2) continue;
    const std::string path = path_of(c);
    if (c.max_connections < most) {
      warnings.push_back(
          {path, path + ".retry.hedging.delay, " + path + ".max_connections",
           fmt::format("Hedging without a delay sends up to {:.0f} attempts of a request together, "
                       "as far as a client's {} free: other requests wait.",
                       most,
                       c.max_connections == 1
                           ? std::string("only connection is")
                           : fmt::format("{} connections are", c.max_connections)),
           fmt::format("{}.retry.hedging.delay near the 95th percentile of the latency adds about "
                       "5 %.",
                       path)});
      continue;
    }
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
                              s.instances.balancing == Balancing::kTwoChoices ||
                              s.instances.balancing == Balancing::kPeakEwma;
    double failed = f.unreachable ? 1 : 0;
    for (const RandomError& e : f.errors) failed += e.probability;
    // An answer that takes as long as any other attracts nobody.
    const bool soon = f.unreachable || f.errors_at.on_arrival();
    if (!some || !prefers_idle || !soon || f.black_hole || failed < 0.5 ||
        s.instances.health_check.enabled() || s.instances.ejection.enabled() ||
        s.instances.accrual.enabled()) {
      continue;
    }
    const std::string path = "service." + s.name;
    const bool one = f.instances == 1;
    warnings.push_back(
        {path,
         "fault." + f.name + (f.unreachable ? ".unreachable, " : ".errors, ") + path + ".balancing",
         fmt::format("During {}, {} of the {} instances {} at once and so {} few attempts under "
                     "way: {} sends {} more than {} share, retries included.",
                     f.name, one ? "one" : said_whole(f.instances), s.instances.count,
                     f.unreachable ? (one ? "refuses connections" : "refuse connections")
                                   : (one ? "answers with errors" : "answer with errors"),
                     one ? "has" : "have", name(s.instances.balancing), one ? "it" : "them",
                     one ? "its" : "their"),
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
                   to_copy(std::ceil(pause.in_seconds()), kAllDigits))});
}

}  // namespace retrysim::prediction
