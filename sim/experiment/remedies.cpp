// The usual remedies: what each of them changes in a client group, a call or a service, and where.
//
// SPDX-License-Identifier: MIT
#include <retrysim/compare.hpp>
#include <retrysim/retry_rules.hpp>

#include "flow/demand.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace retrysim {
namespace {

using scenario::to_text;
using Edits = std::vector<std::string>;

/// What a remedy changes at one place: KEY=VALUE texts below the place's path, or the reason why
/// there are none.
struct Treatment {
  RemedyState state;
  std::string reason;
  Edits edits;
};

Treatment edit(Edits edits) { return {RemedyState::kTried, "", std::move(edits)}; }
Treatment in_place(std::string reason) { return {RemedyState::kInPlace, std::move(reason), {}}; }
Treatment not_here(std::string reason) {
  return {RemedyState::kNotApplicable, std::move(reason), {}};
}

/// A client group, or the client of calls between services.
struct GroupPlace {
  const LoadedScenario& loaded;
  const ClientSpec& spec;
  std::string path;  ///< path of the client rules: "client.web", "service.front.calls.back"

  const RetryRules& retry() const { return spec.retry; }
  const BreakerRules& breaker() const { return spec.breaker; }
  /// Whether the group makes a second attempt of anything.
  bool retries() const { return retry().mode != RetryMode::kNone && retry().max_attempts > 1; }
  bool has(std::string_view key) const {
    const std::string full = path + "." + std::string(key);
    return std::any_of(loaded.keys.begin(), loaded.keys.end(),
                       [&](const ResolvedKey& k) { return k.path == full; });
  }
};

struct ServicePlace {
  const Scenario& scenario;
  std::size_t number;

  const ServiceSpec& spec() const { return scenario.services[number]; }
  std::string path() const { return "service." + scenario::render_name(spec().name); }
  /// The shortest mean time, s, that a client of the service waits for an answer; empty if all wait
  /// for ever.
  std::optional<double> patience_s() const {
    std::optional<double> shortest;
    for (const ClientSpec& client : scenario.clients) {
      if (share_of_calls(client, number) <= 0) continue;
      const TimeoutSpec& t = client.timeouts;
      if (t.has_attempt) shortest = std::min(shortest.value_or(1e18), t.attempt.mean_seconds());
      if (t.deadline != Duration::max()) {
        shortest = std::min(shortest.value_or(1e18), t.deadline.in_seconds());
      }
    }
    return shortest;
  }
  bool gives_up_ever() const {
    return patience_s() ||
           std::any_of(scenario.clients.begin(), scenario.clients.end(), [&](const ClientSpec& c) {
             return share_of_calls(c, number) > 0 && c.timeouts.deadline_of_caller;
           });
  }
  bool makes_calls() const {
    return std::any_of(scenario.calls.begin(), scenario.calls.end(),
                       [&](const CallSpec& call) { return call.caller == number; });
  }
};

// --- Queues --------------------------------------------------------------------------------------

/// The reason why attempts never wait in a queue at the service; empty if they do.
std::optional<Treatment> without_queue(const ServiceSpec& s) {
  if (s.model == ServiceModelKind::kIndependent || s.servers == ServiceSpec::kUnlimited) {
    return not_here("no attempt waits");
  }
  if (!has_queue(s.queue.discipline)) return not_here("all attempts are served at once");
  return std::nullopt;
}

Treatment queue_of(const ServiceSpec& s, std::int64_t places) {
  if (s.queue.capacity <= places) {
    return in_place(fmt::format("the queue of {} has {} places", s.name, s.queue.capacity));
  }
  return edit({fmt::format("queue.capacity={}", places)});
}

Treatment bounded_queue(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (auto none = without_queue(s)) return *std::move(none);
  const auto patience = place.patience_s();
  if (!patience) return not_here("no client stops waiting");
  if (place.makes_calls()) {
    return not_here("how long a full queue takes depends on the calls between services");
  }
  const double mean = s.service_time.mean_seconds();
  if (mean <= 0) return not_here("service takes no time");
  constexpr double kMost = 1e9;  // largest value of the key
  const double places = static_cast<double>(s.servers) * *patience / 2 / mean;
  return queue_of(s, static_cast<std::int64_t>(std::clamp(std::floor(places), 1.0, kMost)));
}

Treatment short_queue(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (auto none = without_queue(s)) return *std::move(none);
  return queue_of(s, s.servers);
}

Treatment age_limit(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (auto none = without_queue(s)) return *std::move(none);
  const auto patience = place.patience_s();
  if (!patience) return not_here("no client stops waiting");
  const Duration limit = Duration::from_seconds(*patience / 2);
  if (s.queue.max_age <= limit) {
    return in_place(
        fmt::format("{} turns away what has waited for {}", s.name, to_text(s.queue.max_age)));
  }
  return edit({"queue.max_age=" + to_text(limit)});
}

Treatment drop_abandoned(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (auto none = without_queue(s)) return *std::move(none);
  if (s.abandoned != Abandoned::kServe) {
    return in_place(fmt::format("{} already drops them", s.name));
  }
  if (!place.gives_up_ever()) return not_here("no client stops waiting");
  return edit({"abandoned=drop-at-dequeue"});
}

Treatment adaptive_lifo(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (auto none = without_queue(s)) return *std::move(none);
  if (s.queue.discipline == Discipline::kAdaptiveLifo) {
    return in_place(fmt::format("{} is served that way", s.name));
  }
  if (s.queue.discipline != Discipline::kFifo) {
    return not_here(
        fmt::format("{} has a discipline of its own, {}", s.name, name(s.queue.discipline)));
  }
  return edit({"queue.discipline=adaptive-lifo"});
}

/// The highest of the priorities that come to the service from outside and by calls; empty if all
/// are the same.
std::optional<int> highest_priority(const ServicePlace& place) {
  std::set<int> priorities;
  for (const ClientSpec& c : place.scenario.clients) {
    if (share_of_calls(c, place.number) <= 0) continue;
    priorities.insert(c.priority);
    if (c.retry_priority && c.retry.max_attempts > 1) priorities.insert(*c.retry_priority);
  }
  // Some calls have the priorities of their callers.
  for (const CallSpec& call : place.scenario.calls) {
    if (!call.callers_priority) continue;
    if (share_of_calls(place.scenario.clients[call.client], place.number) <= 0) continue;
    for (const ClientSpec& c : place.scenario.clients) priorities.insert(c.priority);
  }
  if (priorities.size() < 2) return std::nullopt;
  return *priorities.rbegin();
}

/// Sheds the lowest priority: in a queue with a limit it gives way; under a limit on concurrency,
/// the highest priority may use all of it.
Treatment shed_lowest(const ServicePlace& place) {
  const ServiceSpec& s = place.spec();
  if (s.model == ServiceModelKind::kIndependent) return not_here("no attempt waits");
  const ConcurrencySpec& c = s.concurrency;
  const auto highest = highest_priority(place);
  if (s.queue.evicts() || !c.partitions.empty()) {
    return in_place(fmt::format("{} sheds by priority", s.name));
  }
  if (!highest) return not_here("all attempts have the same priority");
  if (has_queue(s.queue.discipline) && s.servers != ServiceSpec::kUnlimited &&
      s.queue.capacity != ServiceSpec::kUnlimited && s.queue.capacity > 0) {
    return edit({"queue.when_full=evict-lowest"});
  }
  if (c.control == ConcurrencyControl::kFixed && c.limit == ServiceSpec::kUnlimited) {
    return not_here("neither queue nor concurrency has a limit");
  }
  return edit({fmt::format("concurrency.partitions.highest.priority={}", *highest),
               "concurrency.partitions.highest.share=1"});
}

// --- Retries -------------------------------------------------------------------------------------

constexpr const char* kNoRetries = "nothing is retried";

Treatment attempts(const GroupPlace& place, std::uint32_t most) {
  if (!place.retries()) return not_here(kNoRetries);
  if (place.retry().max_attempts <= most) {
    return in_place(fmt::format("there are no more than {} attempts", most));
  }
  return edit({place.has("retry.max_retries") ? fmt::format("retry.max_retries={}", most - 1)
                                              : fmt::format("retry.max_attempts={}", most)});
}
Treatment two_attempts(const GroupPlace& place) { return attempts(place, 2); }

/// Allows two attempts where there was one.
Treatment more_attempts(const GroupPlace& place) {
  const RetryRules& r = place.retry();
  if (r.hedging.enabled) return not_here("requests are hedged");
  if (r.mode == RetryMode::kNone) {
    return edit({"retry.mode=custom", "retry.max_attempts=2"});
  }
  if (r.max_attempts == RetryRules::kUnlimited) {
    return in_place("the number of attempts has no limit");
  }
  return edit({place.has("retry.max_retries")
                   ? fmt::format("retry.max_retries={}", r.max_attempts)
                   : fmt::format("retry.max_attempts={}", r.max_attempts + 1)});
}
Treatment no_retries(const GroupPlace& place) { return attempts(place, 1); }

Treatment edge_retries(const GroupPlace& place) {
  if (!place.spec.makes_calls()) return not_here("no service calls another one");
  if (!place.retries()) return not_here("no calls between services are retried");
  if (place.spec.retry_only_at == RetryOnlyAt::kEdge) return in_place("calls are not retried");
  return edit({"retry_only_at=edge"});
}

/// The rules of a preset that always exists.
const RetryRules& preset(std::string_view mode, std::string_view revision, std::string_view sdk) {
  return find_preset(mode, revision, sdk, "default")->rules;
}
const RetryRules& standard() { return preset("standard", "2.0", "botocore"); }
const RetryRules& sre() { return preset("custom", "", "sre"); }

Treatment retry_quota(const GroupPlace& place) {
  if (!place.retries()) return not_here(kNoRetries);
  if (place.retry().quota.enabled) return in_place("there is a retry quota");
  const QuotaRules& q = standard().quota;
  return edit({fmt::format("retry.quota.capacity={}", q.capacity),
               fmt::format("retry.quota.cost={}", q.cost),
               fmt::format("retry.quota.throttle_cost={}", q.throttle_cost),
               fmt::format("retry.quota.timeout_cost={}", q.timeout_cost),
               fmt::format("retry.quota.credit={}", q.credit),
               fmt::format("retry.quota.refund={}", name(q.refund))});
}

Treatment retry_budget(const GroupPlace& place) {
  if (!place.retries()) return not_here(kNoRetries);
  if (place.retry().budget.in_use()) return in_place("there is a retry budget");
  const BudgetRules& b = sre().budget;
  return edit({fmt::format("retry.budget.kind={}", name(b.kind)),
               fmt::format("retry.budget.share={}", b.share),
               fmt::format("retry.budget.minimum={}", b.minimum),
               fmt::format("retry.budget.window={}", to_text(b.window))});
}

Treatment retry_breaker(const GroupPlace& place) {
  if (!place.retries()) return not_here(kNoRetries);
  if (place.retry().retry_breaker.in_use()) return in_place("there is a retry breaker");
  const RetryBreakerRules& b = preset("custom", "", "retry-breaker").retry_breaker;
  return edit({fmt::format("retry.retry_breaker.failure_share={}", b.failure_share),
               fmt::format("retry.retry_breaker.min_attempts={}", b.min_attempts),
               fmt::format("retry.retry_breaker.window={}", to_text(b.window)),
               fmt::format("retry.retry_breaker.open={}", to_text(b.open))});
}

Treatment circuit_breaker(const GroupPlace& place) {
  if (place.breaker().in_use()) return in_place("there is a circuit breaker");
  // With unlimited attempts a refused call would be repeated for ever.
  const bool endless = place.retry().max_attempts == RetryRules::kUnlimited;
  return endless ? edit({"breaker.preset=custom", "breaker.retry_refused=false"})
                 : edit({"breaker.preset=custom"});
}

/// Adds a circuit breaker for each instance.
Treatment breaker_of_hosts(const GroupPlace& place) {
  if (place.breaker().in_use()) {
    return place.breaker().scope == BreakerScope::kHost
               ? in_place("there is a circuit breaker of each host")
               : not_here("there is a circuit breaker of another scope");
  }
  const std::vector<ServiceSpec>& services = place.loaded.scenario.services;
  if (std::ranges::none_of(called_services(place.spec), [&](std::size_t service) {
        return services[service].instances.count > 1;
      })) {
    return not_here("no service that it calls has several instances");
  }
  Treatment t = circuit_breaker(place);
  t.edits.emplace_back("breaker.scope=host");
  return t;
}

constexpr std::string_view kNoBreaker = "there is no circuit breaker";

/// Lets a breaker probe after a quarter of the time, which does not grow if probes fail.
Treatment shorter_open(const GroupPlace& place) {
  constexpr int kTimes = 4;
  const BreakerRules& b = place.breaker();
  if (!b.in_use()) return not_here(std::string(kNoBreaker));
  if (b.open <= Duration::zero()) return in_place("the circuit breaker lets probes pass at once");
  Edits edits = {"breaker.open=" + to_text(Duration::nanoseconds(b.open.count() / kTimes))};
  if (b.open_factor > 1) edits.emplace_back("breaker.open_factor=1");
  return edit(std::move(edits));
}

Treatment no_breaker(const GroupPlace& place) {
  if (!place.breaker().in_use()) return not_here(std::string(kNoBreaker));
  return edit({"breaker={}"});
}

Treatment client_throttle(const GroupPlace& place) {
  if (place.retry().mode == RetryMode::kNone) return not_here("clients of mode none have none");
  if (place.retry().throttle.in_use()) return in_place("there is a client-side throttle");
  const ThrottleRules& t = sre().throttle;
  return edit({fmt::format("retry.client_throttle.k={}", t.k),
               fmt::format("retry.client_throttle.window={}", to_text(t.window))});
}

/// The reason why no formula gives the backoff of retries; empty if one does.
std::optional<Treatment> without_formula(const GroupPlace& place) {
  if (!place.retries()) return not_here(kNoRetries);
  if (!place.retry().backoff.delays.empty()) {
    return not_here("the delays are a list, not a formula");
  }
  if (place.retry().hedging.enabled) return not_here("with hedging, retries have no backoff");
  return std::nullopt;
}

bool has_no_backoff(const BackoffRules& b) {
  return b.base == Duration::zero() && b.throttle_base == Duration::zero();
}

Treatment full_jitter(const GroupPlace& place) {
  if (auto none = without_formula(place)) return *std::move(none);
  const BackoffRules& b = place.retry().backoff;
  if (has_no_backoff(b)) return not_here("retries have no backoff to spread");
  if (b.jitter == Jitter::kFull && b.throttle_jitter == Jitter::kFull) {
    return in_place("the jitter is full");
  }
  return edit({"retry.backoff.jitter=full"});
}

Treatment longer_backoff(const GroupPlace& place) {
  if (auto none = without_formula(place)) return *std::move(none);
  const BackoffRules& b = place.retry().backoff;
  if (has_no_backoff(b)) {
    const BackoffRules& s = standard().backoff;
    return edit({"retry.backoff.base=" + to_text(s.base),
                 "retry.backoff.throttle_base=" + to_text(s.throttle_base),
                 fmt::format("retry.backoff.factor={}", s.factor),
                 "retry.backoff.cap=" + to_text(s.cap),
                 fmt::format("retry.backoff.jitter={}", name(s.jitter))});
  }
  constexpr int kTimes = 4;
  if (std::min(b.base, b.cap) == b.cap && std::min(b.throttle_base, b.cap) == b.cap) {
    return in_place("the backoff is at its cap");
  }
  return edit({"retry.backoff.base=" + to_text(b.base * kTimes),
               "retry.backoff.throttle_base=" + to_text(b.throttle_base * kTimes)});
}

Treatment adaptive_mode(const GroupPlace& place) {
  switch (place.retry().mode) {
    case RetryMode::kNone:
      return not_here(kNoRetries);
    case RetryMode::kCustom:
      return not_here("mode custom has no adaptive counterpart");
    case RetryMode::kAdaptive:
      return in_place("the mode is adaptive");
    case RetryMode::kLegacy:
    case RetryMode::kStandard:
      break;
  }
  return edit({"retry.mode=adaptive"});
}

Treatment no_hedging(const GroupPlace& place) {
  if (!place.retry().hedging.enabled) return not_here("nothing is hedged");
  return edit({"retry.hedging.delay=none"});
}

// --- Waiting -------------------------------------------------------------------------------------

Treatment longer_timeout(const GroupPlace& place) {
  const TimeoutSpec& t = place.spec.timeouts;
  if (!t.has_attempt) return not_here("attempts have no timeout");
  if (!t.attempt.is_constant()) return not_here("the timeout is drawn from a distribution");
  return edit({"attempt_timeout=" + to_text(t.attempt.constant_value() * 2)});
}

Treatment caller_deadline(const GroupPlace& place) {
  if (!place.spec.makes_calls()) return not_here("no service calls another one");
  if (place.spec.timeouts.deadline_of_caller) return in_place("calls have their caller's deadline");
  if (place.spec.timeouts.deadline != Duration::max()) {
    return not_here("calls have a deadline of their own");
  }
  return edit({"deadline=caller"});
}

// --- Connections and instances -------------------------------------------------------------------

/// The first attempts of one client of a group: how many are made per second, and how many are
/// under way at once while none of them waits.
struct FirstAttempts {
  double rate = 0, under_way = 0;
};
FirstAttempts first_attempts(const GroupPlace& place) {
  const Scenario& scenario = place.loaded.scenario;
  const flow::Demand demand = flow::demand_of(scenario, flow::Attempts::kFirst);
  const auto group = static_cast<std::size_t>(&place.spec - scenario.clients.data());
  FirstAttempts first;
  first.rate = demand.groups[group].requests / place.spec.count;
  for (const ServiceShare& called : service_shares(place.spec)) {
    first.under_way += called.share * first.rate *
                       (2 * scenario.network.latency.mean_seconds() +
                        flow::service_seconds_at(scenario, place.spec, called.service) +
                        demand.services[called.service].calls_time);
  }
  return first;
}
constexpr double kMostSet = 1e6;  // largest size that a remedy sets

/// Enlarges pools of connections and bulkheads: four times as large, or twice what first attempts
/// need while none of them waits.
Treatment larger_pool(const GroupPlace& place) {
  constexpr std::uint64_t kTimes = 4;
  const bool pooled = place.spec.max_connections != ClientSpec::kUnlimited;
  const bool walled = place.spec.bulkhead.in_use();
  if (!pooled && !walled) return not_here("clients have any number of connections");
  constexpr double kRoom = 2;
  const double needed = first_attempts(place).under_way;
  const std::uint64_t enough =
      needed < kMostSet ? static_cast<std::uint64_t>(std::ceil(kRoom * needed)) : 0;
  const auto larger = [&](std::uint64_t size) { return std::max(kTimes * size, enough); };
  Edits edits;
  if (pooled) {
    edits.push_back(fmt::format("max_connections={}", larger(place.spec.max_connections)));
  }
  if (walled) {
    edits.push_back(
        fmt::format("bulkhead.max_concurrent={}", larger(place.spec.bulkhead.max_concurrent)));
  }
  return edit(std::move(edits));
}

Treatment wait_for_connection(const GroupPlace& place) {
  if (place.spec.max_connections == ClientSpec::kUnlimited) {
    return not_here("clients have any number of connections");
  }
  const TimeoutSpec& t = place.spec.timeouts;
  const double patience = t.has_attempt                   ? t.attempt.mean_seconds()
                          : t.deadline != Duration::max() ? t.deadline.in_seconds()
                                                          : 0;
  if (patience <= 0) return not_here("no client stops waiting");
  const Duration longest = Duration::from_seconds(patience / 2);
  if (place.spec.connection_wait <= longest) {
    return in_place("no client waits for a connection that long");
  }
  return edit({"connection_wait=" + to_text(longest)});
}

/// Adds a bulkhead with room for nearly all of the time: four standard deviations of a Poisson
/// number above its mean.
Treatment bulkhead(const GroupPlace& place) {
  if (place.spec.bulkhead.in_use()) return in_place("there is a bulkhead");
  const double needed = first_attempts(place).under_way;
  if (!(needed > 0) || needed >= kMostSet) {
    return not_here("how many attempts are under way cannot be told");
  }
  const double places = std::ceil(needed + 4 * std::sqrt(needed) + 1);
  return edit({fmt::format("bulkhead.max_concurrent={:.0f}", places), "bulkhead.longest_wait=0s"});
}

/// Adds a limit on the send rate: a fifth above what first attempts need, and three seconds' worth
/// of them at once.
Treatment send_rate(const GroupPlace& place) {
  constexpr double kRoom = 1.2, kBurst_s = 3, kMost = 1e8;
  if (place.spec.send_rate.in_use()) return in_place("there is a limit on the send rate");
  const double rate = kRoom * first_attempts(place).rate;
  if (!(rate > 0) || rate >= kMost) return not_here("how many requests there are cannot be told");
  return edit({fmt::format("send_rate.rate={:.6g}", rate),
               fmt::format("send_rate.burst={:.0f}", std::max(1.0, std::round(kBurst_s * rate))),
               "send_rate.on_empty=fail"});
}

/// Adds Envoy's outlier detection, which may leave out up to half of the instances: the default of
/// 10 percent would leave out none of fewer than ten.
Treatment outlier_ejection(const ServicePlace& place) {
  const InstancesSpec& i = place.spec().instances;
  if (i.count == 1) return not_here(fmt::format("{} has one instance", place.spec().name));
  if (i.listens()) {
    return in_place(
        fmt::format("{} leaves out instances because of their answers", place.spec().name));
  }
  return edit({"ejection.interval=10s", "ejection.max_ejection_percent=50"});
}

// --- The table -----------------------------------------------------------------------------------

/// A remedy; one of its two functions says what is done at a place.
struct RemedyRow {
  std::string_view name, words;
  Treatment (*at_group)(const GroupPlace&) = nullptr;
  Treatment (*at_service)(const ServicePlace&) = nullptr;
};

RemedyRow at_groups(std::string_view name, std::string_view words,
                    Treatment (*treat)(const GroupPlace&)) {
  return {name, words, treat, nullptr};
}
RemedyRow at_services(std::string_view name, std::string_view words,
                      Treatment (*treat)(const ServicePlace&)) {
  return {name, words, nullptr, treat};
}

const std::vector<RemedyRow>& remedy_table() {
  static const std::vector<RemedyRow> table = {
      at_services("bounded-queue",
                  "bound queues to what the servers work off in half the clients' timeout",
                  bounded_queue),
      at_services("short-queue", "give queues only as many places as there are servers",
                  short_queue),
      at_services("age-limit", "refuse attempts that have waited for half the clients' timeout",
                  age_limit),
      at_services("drop-abandoned", "drop queued attempts whose client has given up",
                  drop_abandoned),
      at_services("adaptive-lifo", "serve the newest attempt first in a long queue (adaptive LIFO)",
                  adaptive_lifo),
      at_services("shed-lowest-first",
                  "turn the lowest priority away first where queue or concurrency has a limit",
                  shed_lowest),
      at_services("outlier-ejection",
                  "send nothing to instances that keep failing (outlier ejection)",
                  outlier_ejection),
      at_groups("more-attempts", "allow one more attempt", more_attempts),
      at_groups("two-attempts", "allow at most two attempts", two_attempts),
      at_groups("no-retries", "do not retry", no_retries),
      at_groups("edge-retries", "retry only at the clients outside, not between services",
                edge_retries),
      at_groups("retry-quota", "limit retries by the quota of standard mode", retry_quota),
      at_groups("retry-budget", "limit retries to 10 % of the requests, as in the SRE book",
                retry_budget),
      at_groups("retry-breaker", "stop retrying while too many attempts fail (retry breaker)",
                retry_breaker),
      at_groups("circuit-breaker",
                "refuse calls for 5 s when half of those of 10 s fail (circuit breaker)",
                circuit_breaker),
      at_groups("breaker-of-hosts",
                "refuse calls to an instance for 5 s when half of those of 10 s fail there",
                breaker_of_hosts),
      at_groups("shorter-open", "let circuit breakers probe again after a quarter of the time",
                shorter_open),
      at_groups("no-breaker", "call without circuit breakers", no_breaker),
      at_groups("bulkhead", "limit each client to the attempts under way that it needs (bulkhead)",
                bulkhead),
      at_groups("send-rate",
                "let each client send at most a fifth more than its requests (send_rate)",
                send_rate),
      at_groups("client-throttle",
                "let clients hold requests back while too few succeed, as in the SRE book",
                client_throttle),
      at_groups("full-jitter", "spread the backoff with full jitter", full_jitter),
      at_groups("longer-backoff",
                "make the backoff four times as long, or that of standard mode if there is none",
                longer_backoff),
      at_groups("adaptive-mode", "use adaptive mode", adaptive_mode),
      at_groups("no-hedging", "do not hedge", no_hedging),
      at_groups("longer-timeout", "double the attempt timeouts", longer_timeout),
      at_groups("larger-pool", "make connection pools and bulkheads at least four times as large",
                larger_pool),
      at_groups("connection-wait", "wait for a connection for half the attempt timeout at most",
                wait_for_connection),
      at_groups("caller-deadline", "end calls when their caller's client gives up",
                caller_deadline)};
  return table;
}

/// A place of the scenario, and what a remedy does there.
struct Treated {
  std::string wildcard;  ///< path of all places of this kind: "client.*"
  std::string path;
  Treatment treatment;
};

/// The edits of all places; if all places of a kind have the same edit, one for all of them.
Edits join_edits(const std::vector<Treated>& places) {
  Edits edits;
  const auto add = [&](std::string text) {
    if (std::find(edits.begin(), edits.end(), text) == edits.end())
      edits.push_back(std::move(text));
  };
  for (const Treated& place : places) {
    std::vector<const Treated*> kind;
    for (const Treated& other : places) {
      if (other.wildcard == place.wildcard) kind.push_back(&other);
    }
    for (const std::string& text : place.treatment.edits) {
      const bool shared = kind.size() > 1 && std::all_of(kind.begin(), kind.end(), [&](auto* k) {
                            const Edits& theirs = k->treatment.edits;
                            return std::find(theirs.begin(), theirs.end(), text) != theirs.end();
                          });
      add((shared ? place.wildcard : place.path) + "." + text);
    }
  }
  return edits;
}

/// The path of a client group, or of the call that it makes; such groups are named CALLER.CALL.
std::string path_of(const Scenario& scenario, const ClientSpec& client) {
  if (!client.makes_calls()) return "client." + scenario::render_name(client.name);
  const auto number = static_cast<std::size_t>(&client - scenario.clients.data());
  const auto call = std::find_if(scenario.calls.begin(), scenario.calls.end(),
                                 [&](const CallSpec& c) { return c.client == number; });
  const std::string& caller = scenario.services[call->caller].name;
  return fmt::format("service.{}.calls.{}", scenario::render_name(caller),
                     scenario::render_name(client.name.substr(caller.size() + 1)));
}

std::vector<Treated> treat(const RemedyRow& row, const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  std::vector<Treated> places;
  if (row.at_service != nullptr) {
    for (std::size_t s = 0; s < scenario.services.size(); ++s) {
      const ServicePlace place{scenario, s};
      places.push_back({"service.*", place.path(), row.at_service(place)});
    }
    return places;
  }
  for (const ClientSpec& client : scenario.clients) {
    const GroupPlace place{loaded, client, path_of(scenario, client)};
    places.push_back(
        {client.makes_calls() ? "service.*.calls.*" : "client.*", place.path, row.at_group(place)});
  }
  return places;
}

/// The remedy for all places: tried if any place can be changed. Otherwise its reason is that of
/// the first place that already has the remedy, or else of the last one: calls between services
/// come after the clients outside.
Remedy fit(const RemedyRow& row, const std::vector<Treated>& places) {
  Remedy remedy{std::string(row.name),       std::string(row.words),
                RemedyState::kNotApplicable, "",
                join_edits(places),          {}};
  if (!remedy.edits.empty()) {
    remedy.state = RemedyState::kTried;
    return remedy;
  }
  for (const Treated& place : places) {
    if (remedy.state == RemedyState::kInPlace) break;
    remedy.state = place.treatment.state;
    remedy.reason = place.treatment.reason;
  }
  return remedy;
}

/// The remedy at each caller alone, to tell which hop matters. Empty if only one can be changed, if
/// no service calls another one, or if there are too many.
std::vector<Remedy> fit_one_by_one(const RemedyRow& row, const Scenario& scenario,
                                   const std::vector<Treated>& places) {
  constexpr std::size_t kMaxPlaces = 8;
  std::vector<Remedy> remedies;
  if (row.at_group == nullptr || scenario.calls.empty()) return remedies;
  for (std::size_t c = 0; c < places.size(); ++c) {
    const Treatment& t = places[c].treatment;
    if (t.state != RemedyState::kTried) continue;
    const std::string& caller = scenario.clients[c].name;
    remedies.push_back({fmt::format("{}@{}", row.name, caller),
                        fmt::format("{}, only at {}", row.words, caller),
                        RemedyState::kTried,
                        "",
                        join_edits({places[c]}),
                        {}});
  }
  if (remedies.size() < 2 || remedies.size() > kMaxPlaces) remedies.clear();
  return remedies;
}

}  // namespace

RemediesResult load_remedies(const std::filesystem::path& file,
                             const std::vector<std::string>& edits) {
  LoadResult as_it_stands = load_scenario_file(file, edits);
  RemediesResult result{std::move(as_it_stands.loaded), {}, std::move(as_it_stands.errors)};
  if (!result.scenario) return result;
  const auto add = [&](Remedy remedy) {
    const auto same =
        std::find_if(result.remedies.begin(), result.remedies.end(),
                     [&](const Remedy& r) { return !r.edits.empty() && r.edits == remedy.edits; });
    if (same != result.remedies.end()) {
      remedy.state = RemedyState::kInPlace;
      remedy.reason = fmt::format("it is the same as {}", same->name);
      remedy.edits.clear();
    }
    if (remedy.state == RemedyState::kTried) {
      std::vector<std::string> all = edits;
      all.insert(all.end(), remedy.edits.begin(), remedy.edits.end());
      LoadResult changed = load_scenario_file(file, all);
      if (changed.loaded) {
        remedy.loaded = std::move(changed.loaded);
      } else {
        remedy.state = RemedyState::kRefused;
        remedy.reason = changed.errors.front().message;
        remedy.edits.clear();
      }
    }
    result.remedies.push_back(std::move(remedy));
  };
  for (const RemedyRow& row : remedy_table()) {
    const std::vector<Treated> places = treat(row, *result.scenario);
    add(fit(row, places));
    for (Remedy& alone : fit_one_by_one(row, result.scenario->scenario, places)) {
      add(std::move(alone));
    }
  }
  return result;
}

}  // namespace retrysim
