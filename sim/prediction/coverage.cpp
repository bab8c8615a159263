// What each theory covers: the keys that it models, and the combinations and values of these that
// it does not model. Every other key that a scenario uses is refused.
//
// SPDX-License-Identifier: MIT
#include "prediction/coverage.hpp"

#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "flow/rates.hpp"
#include "kernel/stop.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/facts/service_load.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario/keys/in_use.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::prediction {

using scenario::KeyInUse;

namespace {

constexpr Parts part(Theory theory) { return Parts(1U << static_cast<unsigned>(theory)); }
constexpr Parts kLoads = part(Theory::kLoads), kWaits = part(Theory::kWaits),
                kLate = part(Theory::kLate), kBalance = part(Theory::kBalance),
                kRun = part(Theory::kRun), kChain = part(Theory::kChain),
                kBound = part(Theory::kBound);
constexpr Parts kFacts = kLoads | kWaits | kLate;
constexpr Parts kFluid = kBalance | kRun;
constexpr Parts kAll = kFacts | kFluid | kChain | kBound;
constexpr Parts kButChain = kAll & ~kChain;

// --- The keys that theories model ----------------------------------------------------------------

constexpr std::string_view kFaultKeys =
    "fault.*.service fault.*.start fault.*.duration fault.*.capacity fault.*.speed "
    "fault.*.latency fault.*.request_loss fault.*.response_loss fault.*.cold_restart "
    "fault.*.unreachable fault.*.black_hole fault.*.instance fault.*.instances "
    "fault.*.errors.internal fault.*.errors.unavailable fault.*.errors.throttled "
    "fault.*.errors.invalid fault.*.errors.*";
constexpr std::string_view kQuotaKeys =
    "client.*.retry.quota.capacity client.*.retry.quota.initial client.*.retry.quota.cost "
    "client.*.retry.quota.throttle_cost client.*.retry.quota.timeout_cost "
    "client.*.retry.quota.credit client.*.retry.quota.credit_on client.*.retry.quota.refund "
    "client.*.retry.quota.order client.*.retry.quota.refill_rate "
    "client.*.retry.quota.refill_interval client.*.retry.quota.failure_cost "
    "client.*.retry.quota.threshold";
constexpr std::string_view kLimiterKeys =
    "client.*.retry.rate_limit.on_empty client.*.retry.rate_limit.acquire "
    "client.*.retry.rate_limit.wait client.*.retry.rate_limit.update "
    "client.*.retry.rate_limit.retry_cost client.*.retry.rate_limit.costly_retry_cost "
    "client.*.retry.rate_limit.initial_fill_rate client.*.retry.rate_limit.min_rate "
    "client.*.retry.rate_limit.initial_measured_rate client.*.retry.rate_limit.round_rates";

// A key that has no effect on a theory counts as modelled by it.
constexpr Modelled kModelled[] = {
    // The simulation and what it measures, judges and costs.
    {kAll,
     "name description duration warmup drain drain_limit seed replications precision "
     "precision_metrics max_replications interval recovery.* service.*.wait_within service.*.price "
     "service.*.rejection_price phase.* slo.* expect.* uncertain.* "
     "fault_draw"},
    {kAll, "client.*.like service.*.like"},

    // Servers and queues.
    {kAll,
     "service.*.servers service.*.service_time service.*.queue.capacity service.*.overflow "
     "service.*.concurrency.limit network.latency network.connect"},
    {kLoads, "service.*.model", "occ", "conflicts between writes"},
    {kLoads, "service.*.answers.conflict"},
    {kButChain, "service.*.model", "independent"},
    {kLoads | kBound,
     "service.*.queue.discipline service.*.queue.lifo_above service.*.queue.target "
     "service.*.queue.interval"},
    {kWaits, "service.*.queue.discipline", "lifo|adaptive-lifo|random|priority"},
    {kWaits, "service.*.queue.lifo_above"},
    // Keys without effect on a fifo queue.
    {kAll, "client.*.priority client.*.retry.priority"},
    {kLoads, "service.*.queue.when_full service.*.concurrency.partitions.*"},
    {kLoads | kBalance | kBound, "service.*.queue.max_age"},
    {kRun, "service.*.queue.max_age", "",
     "attempts that a fault keeps waiting until they are too old"},
    {kLoads | kWaits | kFluid | kBound, "service.*.queue.drop_expired"},
    {kLoads | kWaits | kBound, "service.*.abandoned service.*.timeout"},
    {kLoads | kWaits,
     "service.*.concurrency.control service.*.concurrency.initial service.*.concurrency.min "
     "service.*.concurrency.max service.*.concurrency.smoothing service.*.concurrency.headroom "
     "service.*.concurrency.tolerance service.*.concurrency.long_window "
     "service.*.concurrency.backoff_ratio service.*.concurrency.slow "
     "service.*.concurrency.alpha service.*.concurrency.beta "
     "service.*.concurrency.probe_multiplier service.*.concurrency.percentile "
     "service.*.concurrency.interval service.*.concurrency.min_rtt "
     "service.*.concurrency.min_rtt_interval service.*.concurrency.min_rtt_jitter "
     "service.*.concurrency.min_rtt_requests service.*.concurrency.measure_at_min "
     "service.*.concurrency.min_rtt_buffer service.*.concurrency.cpu service.*.concurrency.load "
     "service.*.concurrency.window service.*.concurrency.buckets"},
    {kLoads, "service.*.autoscaling.*", "", "servers that autoscaling adds or takes away"},
    {kLoads | kLate,
     "service.*.instances service.*.balancing service.*.balancing_ties "
     "service.*.balancing_decay service.*.balancing_first_latency service.*.balancing_subset "
     "service.*.balancer service.*.panic_threshold service.*.panic_overprovisioning "
     "service.*.health_check.* service.*.ejection.* service.*.accrual.*"},
    {kLate | kRun, "service.*.profile"},
    {kLoads, "service.*.profile", "", "the capacity profile"},
    {kLoads, "service.*.slowdown service.*.slowdown_table", "", "the slowdown"},
    {kLoads, "service.*.slowdown_curve service.*.slowdown_exponent"},
    {kLate,
     "service.*.slowdown service.*.slowdown_curve service.*.slowdown_exponent "
     "service.*.slowdown_table"},
    {kFluid, "service.*.slowdown"},

    // Throttles, errors and answers.
    {kButChain,
     "service.*.throttle.rate service.*.throttle.burst service.*.throttle.retry_after "
     "service.*.reject_cost service.*.errors.internal service.*.errors.unavailable "
     "service.*.errors.throttled service.*.errors.invalid service.*.errors.*"},
    {kLoads | kWaits | kLate | kBound, "service.*.throttle.window"},
    {kLoads, "service.*.throttle.scope", "operation|key",
     "refusals of single operations or keys by the throttle"},
    {kLoads, "service.*.throttle.operation.* service.*.throttle.key.*", "",
     "refusals of single operations or keys by the throttle"},
    {kWaits | kLate,
     "service.*.throttle.scope service.*.throttle.operation.* service.*.throttle.key.*"},
    {kLoads | kFluid | kBound, "service.*.throttle.scope", "client"},
    {kLoads | kBound, "service.*.errors.at fault.*.errors.at"},
    {kAll,
     "service.*.answers.throttled service.*.answers.overflow service.*.answers.shed "
     "service.*.answers.timeout service.*.answers.call_failed"},
    {kFacts | kChain | kBound, "service.*.answers.limit"},
    {kAll,
     "service.*.idempotency.* client.*.mutating client.*.idempotency_token "
     "client.*.token_reuse client.*.token_from client.*.reconcile_read"},

    // Faults and surges.
    {kLoads | kLate | kRun | kBound, kFaultKeys},
    {kWaits | kBalance | kChain, kFaultKeys, "", "faults"},
    {kAll & ~kRun, "fault.*.crash"},
    {kRun, "fault.*.crash", "", "work that a crash ends"},
    {kLate | kRun | kBound, "client.*.surge.*"},
    {kLoads | kWaits | kBalance | kChain, "client.*.surge.*", "", "surges"},
    {kButChain, "network.request_loss network.response_loss"},

    // How requests come.
    {kAll, "client.*.calls client.*.operation.*.calls client.*.count"},
    {kLoads | kLate | kRun | kBound | kBalance, "client.*.arrivals.process", "constant"},
    {kLoads | kLate | kBound, "client.*.arrivals.process", "on-off"},
    {kFluid, "client.*.arrivals.process", "on-off", "bursts of single clients"},
    {kLate | kRun, "client.*.arrivals.process", "closed"},
    {kLoads, "client.*.arrivals.process", "closed",
     "waiting, which makes a closed loop ask for less"},
    {kRun, "client.*.arrivals.process", "once"},
    {kLoads, "client.*.arrivals.process", "once",
     "the time of arrival: this is the mean over the duration"},
    {kLate | kRun, "client.*.arrivals.process", "trace"},
    {kLoads, "client.*.arrivals.process", "trace",
     "variations of the rate: this is its mean over the duration"},
    {kLoads | kLate, "client.*.arrivals.process", "poll"},
    {kLate | kRun, "client.*.arrivals.profile"},
    {kLoads, "client.*.arrivals.profile", "",
     "variations of the rate: this is its mean over the duration"},
    {kAll,
     "client.*.arrivals.rate client.*.arrivals.total_rate client.*.arrivals.phase "
     "client.*.arrivals.start client.*.arrivals.spread client.*.arrivals.concurrency "
     "client.*.arrivals.think_time client.*.arrivals.think_from client.*.arrivals.file "
     "client.*.arrivals.speed_up client.*.arrivals.scale client.*.arrivals.bucket "
     "client.*.arrivals.spacing client.*.arrivals.interpolate client.*.arrivals.on "
     "client.*.arrivals.off client.*.arrivals.job_time client.*.arrivals.base "
     "client.*.arrivals.factor client.*.arrivals.cap client.*.arrivals.jitter "
     "client.*.arrivals.max_checks client.*.keys.*"},
    {kButChain, "client.*.operation.*.share client.*.operation.*.work"},

    // Calls between services: few theories have figures for services that make or get them (see
    // below).
    {kAll,
     "service.*.parallel_calls client.*.service client.*.stage client.*.share client.*.one_of "
     "client.*.operation client.*.callee_operation client.*.callee_key client.*.need "
     "client.*.on_failure client.*.fallback"},
    {kAll & ~kLoads, "client.*.cache.* client.*.cache_hit"},
    {kLoads, "client.*.cache.* client.*.cache_hit", "", "the time that a cache takes to fill"},
    {kLoads | kWaits | kBound, "client.*.retry_only_at"},

    // How long clients wait.
    {kAll,
     "client.*.attempt_timeout client.*.connect_timeout client.*.max_connections "
     "client.*.long_poll"},
    {kButChain, "client.*.deadline"},

    // Retries.
    {kAll,
     "client.*.retry.from_environment client.*.retry.mode client.*.retry.revision "
     "client.*.retry.sdk client.*.retry.api client.*.retry.defect client.*.retry.retryer "
     "client.*.retry.max_retries client.*.retry.max_attempts client.*.retry.probability "
     "client.*.retry.delays client.*.retry.on client.*.retry.not_on "
     "client.*.retry.classifier client.*.retry.status_429 "
     "client.*.retry.timeout_class client.*.retry.refreshable_credentials client.*.retry.backoff.* "
     "client.*.retry.retry_after client.*.retry.retry_after_max client.*.retry.long_poll "
     "client.*.retry.budget.* client.*.retry.avoid_hosts"},
    {kFacts | kRun | kBound, kQuotaKeys},
    {kBalance, kQuotaKeys, "", "the time until a full retry quota has run dry"},
    {kFluid, "client.*.retry.quota.scope", "group"},
    {kFacts | kBound,
     "client.*.unrepeatable client.*.retry.retry_breaker.* client.*.retry.guard.* "
     "client.*.retry.quota.scope client.*.retry.quota.on_empty client.*.retry.quota.partial "
     "client.*.retry.rate_limit.scope"},
    {kFacts | kBalance | kBound, kLimiterKeys},
    {kRun, kLimiterKeys, "",
     "whole send tokens (clients of adaptive mode are forty representatives)"},
    {kFacts | kRun | kBound, "client.*.retry.client_throttle.*"},
    {kBound, "client.*.retry.hedging.*"},
    {kLoads, "client.*.retry.hedging.*", "", "hedging"},
};

// --- Combinations and quantities: services -------------------------------------------------------

const ServiceSpec& at(const Scenario& s, std::size_t service) { return s.services[service]; }

template <class Test>
constexpr bool any_client(const Scenario& s, std::size_t service, Test test) {
  return std::ranges::any_of(
      s.clients, [&](const ClientSpec& c) { return share_of_calls(c, service) > 0 && test(c); });
}

bool not_exponential(const Scenario& s, std::size_t i) {
  return at(s, i).service_time.kind() != Distribution::Kind::kExponential;
}
/// The third moment is infinite: the mean wait then depends on the few longest services, and no
/// approximation by moments is near it.
bool has_heavy_tail(const Scenario& s, std::size_t i) {
  constexpr double kNoThirdMoment = 1.0 / 3;
  const Distribution& law = at(s, i).service_time;
  return law.kind() == Distribution::Kind::kPareto && law.parameters().b >= kNoThirdMoment;
}
bool has_room_for_all(const Scenario& s, std::size_t i) {
  return at(s, i).queue.capacity == ServiceSpec::kUnlimited;
}
bool serves_all_at_once(const Scenario& s, std::size_t i) {
  return at(s, i).servers == ServiceSpec::kUnlimited;
}
bool slows_down(const Scenario& s, std::size_t i) { return at(s, i).slowdown.enabled(); }
bool limited_slows_down(const Scenario& s, std::size_t i) {
  return slows_down(s, i) && at(s, i).servers != ServiceSpec::kUnlimited;
}
bool drops_expired(const Scenario& s, std::size_t i) { return at(s, i).queue.drop_expired; }
bool drops_expired_by_guess(const Scenario& s, std::size_t i) {
  return drops_expired(s, i) && !s.network.latency.is_constant();
}
bool drops_long_services(const Scenario& s, std::size_t i) {
  return drops_expired(s, i) && !at(s, i).service_time.is_constant();
}
bool is_throttled(const Scenario& s, std::size_t i) { return at(s, i).throttle.rate > 0; }
bool suggests_when_full(const Scenario& s, std::size_t i) {
  const auto& overflow = at(s, i).answers.overflow;
  return overflow && overflow->retry_after;
}
bool has_errors(const Scenario& s, std::size_t i) { return !at(s, i).errors.empty(); }
bool can_be_full(const Scenario& s, std::size_t i) {
  return at(s, i).servers != ServiceSpec::kUnlimited &&
         at(s, i).queue.capacity != ServiceSpec::kUnlimited;
}
bool answers_age_apart(const Scenario& s, std::size_t i) {
  return at(s, i).queue.max_age != Duration::max() && can_be_full(s, i) &&
         at(s, i).answers.shed.has_value();
}
bool refuses_for_work(const Scenario& s, std::size_t i) {
  return at(s, i).rejection.cost > Duration::zero();
}
bool turns_old_away_for_work(const Scenario& s, std::size_t i) {
  return refuses_for_work(s, i) && at(s, i).queue.max_age != Duration::max();
}
bool throttles_for_work_of_all(const Scenario& s, std::size_t i) {
  return refuses_for_work(s, i) && is_throttled(s, i) && slows_down(s, i);
}

/// The demand on a service if each request makes all of its attempts.
struct AllAttempts {
  /// Attempts per second; seconds of one server per second, if all are served.
  double rate = 0, work = 0;
  /// The shortest time that an attempt may wait and still be in time, s.
  double patience = kForever;
};

AllAttempts all_attempts(const Scenario& s, std::size_t i) {
  AllAttempts all;
  for (const ClientSpec& c : s.clients) {
    if (share_of_calls(c, i) <= 0) continue;
    const double attempts = c.retry.max_attempts == RetryRules::kUnlimited
                                ? kForever
                                : static_cast<double>(c.retry.max_attempts);
    const double rate = flow::mean_request_rate(s, c), service = flow::service_seconds_at(s, c, i);
    if (rate <= 0) continue;
    all.rate += rate * attempts;
    all.work += rate * attempts * service;
    all.patience =
        std::min(all.patience, mean_timeout(c) - 2 * s.network.latency.mean_seconds() - service);
  }
  return all;
}

/// Attempts per second that a throttle lets pass.
double throttle_passes(const Scenario& s, std::size_t i) {
  const ThrottleSpec& throttle = at(s, i).throttle;
  if (throttle.scope != ThrottleScope::kClient) return throttle.rate;
  double clients = 0;
  for (const ClientSpec& c : s.clients) {
    if (share_of_calls(c, i) > 0) clients += c.count;
  }
  return throttle.rate * clients;
}

/// Servers that are busy with what a throttle lets pass and what it refuses, if all attempts come.
double busy_at_throttle(const Scenario& s, std::size_t i, const AllAttempts& all) {
  const double passes = throttle_passes(s, i);
  if (all.rate <= passes || all.rate == kForever) return all.work;
  return passes * (all.work / all.rate) +
         (all.rate - passes) * at(s, i).rejection.cost.in_seconds();
}

/// Whether refusals of a full queue, which go before what waits, may take so much of the servers
/// that what waits is late, though a full queue alone is not. With all attempts made, a share y of
/// them is served where y * work + (1 - y) * refusals is what the servers can do.
bool refusals_make_late(const Scenario& s, std::size_t i) {
  const ServiceSpec& spec = at(s, i);
  if (!refuses_for_work(s, i) || !can_be_full(s, i)) return false;
  if (spec.rejection.overflow == Overflow::kDrop) return false;  // dropping costs nothing
  const AllAttempts all = all_attempts(s, i);
  const auto servers = static_cast<double>(spec.servers);
  if (all.work <= servers || (is_throttled(s, i) && busy_at_throttle(s, i, all) < servers)) {
    return false;
  }
  const double wait = full_queue_time(s, i), refusals = all.rate * spec.rejection.cost.in_seconds();
  if (wait > all.patience) return false;  // answers are late even without refusals
  if (refusals >= servers) return true;
  return wait * (all.work - refusals) * servers > all.patience * all.work * (servers - refusals);
}

/// Whether the throttle's refusals and what it lets pass may together be more than the servers can
/// do.
bool throttling_may_fill_servers(const Scenario& s, std::size_t i) {
  const ServiceSpec& spec = at(s, i);
  if (!refuses_for_work(s, i) || !is_throttled(s, i) || spec.servers == ServiceSpec::kUnlimited) {
    return false;
  }
  const AllAttempts all = all_attempts(s, i);
  const auto servers = static_cast<double>(spec.servers);
  return all.rate > throttle_passes(s, i) && busy_at_throttle(s, i, all) >= servers;
}

bool calls_others(const Scenario& s, std::size_t i) { return flow::calls_others(s, i); }
bool retries(const ClientSpec& c) { return c.retry.max_attempts > 1; }
bool knows_tokens(const Scenario& s, std::size_t i) {
  return at(s, i).idempotency.remembers() && any_client(s, i, [](const ClientSpec& c) {
           // Even the only attempt of a request can find its token already used if requests share
           // tokens.
           return c.side_effects.mutating > 0 && c.side_effects.idempotency_token &&
                  (retries(c) || c.side_effects.token_reuse > 0);
         });
}
bool can_throttle(const Scenario& s, std::size_t i) {
  const ServiceSpec& spec = at(s, i);
  return is_throttled(s, i) || has_errors(s, i) ||
         (can_be_full(s, i) && spec.rejection.overflow != Overflow::kDrop &&
          (spec.rejection.overflow == Overflow::kThrottled || spec.answers.overflow)) ||
         std::ranges::any_of(
             s.faults, [&](const FaultSpec& f) { return f.service == i && !f.errors.empty(); });
}

/// Whether a fault adds so much latency that attempts sent before it ends and those sent after it
/// are a wave when they arrive together: on both ways more than a tenth of a timeout.
bool ends_in_wave(const Scenario& s, std::size_t i) {
  constexpr double kSmall = 0.1;
  return std::ranges::any_of(s.faults, [&](const FaultSpec& fault) {
    const double added = 2 * fault.latency.in_seconds();
    return fault.service == i && added > 0 &&
           std::ranges::any_of(s.clients, [&](const ClientSpec& c) {
             return share_of_calls(c, i) > 0 && added > kSmall * mean_timeout(c);
           });
  });
}
bool adds_latency(const Scenario& s, std::size_t i) {
  return std::ranges::any_of(s.faults, [&](const FaultSpec& fault) {
    return fault.service == i && fault.latency > Duration::zero();
  });
}

bool chooses_calls(const Scenario& s, std::size_t i) {
  return std::ranges::any_of(
      s.calls, [&](const CallSpec& c) { return c.caller == i && !flow::is_plain(c); });
}

double round_trip(const Scenario& s) { return 2 * s.network.latency.mean_seconds(); }

// --- Combinations and quantities: clients --------------------------------------------------------

bool is_call(const Scenario&, const ClientSpec& c, std::size_t) { return c.makes_calls(); }
bool has_strategy(const Scenario&, const ClientSpec& c, std::size_t) { return bool{c.strategy}; }
bool calls_several(const Scenario&, const ClientSpec& c, std::size_t) {
  return !calls_one_service(c);
}
template <ArrivalProcess kProcess>
bool arrives_as(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.process == kProcess;
}
bool bursts_together(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.process == ArrivalProcess::kOnOff && c.arrivals.aligned;
}
bool bursts_weightily(const Scenario&, const ClientSpec& c, std::size_t) {
  constexpr double kSmall = 0.05;
  const ArrivalSpec& a = c.arrivals;
  if (a.process != ArrivalProcess::kOnOff) return false;
  const double on = a.on.mean_seconds(), off = a.off.mean_seconds();
  return std::sqrt(off / on / c.count) > kSmall;  // relative standard deviation of the rate
}
bool has_spread_timeout(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.timeouts.has_attempt && !c.timeouts.attempt.is_constant();
}
bool has_wide_timeout(const Scenario&, const ClientSpec& c, std::size_t) {
  constexpr double kNarrow = 0.0025;  // squared: a relative deviation of 5 %
  return c.timeouts.has_attempt && squared_variation(c.timeouts.attempt) > kNarrow;
}

double timeout_of(const ClientSpec& c) { return mean_timeout(c); }

bool has_no_timeout(const Scenario&, const ClientSpec& c, std::size_t) {
  return !c.timeouts.has_attempt;
}
bool waits_unlike_others(const Scenario& s, const ClientSpec& c, std::size_t service) {
  constexpr double kAlike = 1.05;
  const double own = timeout_of(c);
  return any_client(s, service, [&](const ClientSpec& other) {
    const double its = timeout_of(other);
    return own > its * kAlike;
  });
}
/// Whether even an idle service answers many attempts too late.
bool is_impatient(const Scenario& s, const ClientSpec& c, std::size_t service) {
  constexpr double kMany = 0.05;
  const ServiceSpec& spec = at(s, service);
  const double mean = spec.service_time.mean_seconds();
  if (timeout_of(c) == kForever) return false;
  const double room = timeout_of(c) - round_trip(s);
  if (room <= 0 || mean <= 0) return room <= 0;
  const double scale = flow::service_seconds_at(s, c, service) / mean;
  return survival(spec.service_time, room / scale) > kMany;
}
/// Whether the deadline may end a request before its attempts do.
bool has_tight_deadline(const Scenario& s, const ClientSpec& c, std::size_t service) {
  if (c.timeouts.deadline == Duration::max()) return false;
  const double deadline = c.timeouts.deadline.in_seconds();
  if (c.retry.max_attempts == 1) return false;  // the deadline ends the only attempt
  if (c.retry.max_attempts == RetryRules::kUnlimited) return true;
  double pauses = 0;
  BackoffLaws late(c.retry.backoff, false), throttled(c.retry.backoff, true);
  constexpr std::uint32_t kMost = 64;
  const std::uint32_t retries = c.retry.max_attempts - 1;
  for (std::uint32_t i = 0; i < std::min(retries, kMost); ++i) {
    const double times = i + 1 == kMost ? retries - kMost + 1 : 1;
    pauses += times * std::max(most_of(late.next()), most_of(throttled.next()));
  }
  const auto suggested = answers_of(at(s, service)).throttled.retry_after;
  if (suggested && is_throttled(s, service)) pauses += retries * suggested->in_seconds();
  const double room = (deadline - pauses) / c.retry.max_attempts;  // time for each attempt
  if (timeout_of(c) <= room) return false;
  // If the queue is short, or the timeout long, an attempt takes the time of a full queue.
  constexpr double kServices = 20;
  const bool waits = at(s, service).servers != ServiceSpec::kUnlimited;
  return round_trip(s) + kServices * flow::service_seconds_at(s, c, service) +
             (waits ? full_queue_time(s, service) : 0) >
         room;
}
bool has_deadline_of_caller(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.timeouts.deadline_of_caller;
}
bool has_spread_latency(const Scenario& s, const ClientSpec&, std::size_t) {
  return !s.network.latency.is_constant();
}
bool has_wild_latency(const Scenario& s, const ClientSpec& c, std::size_t) {
  constexpr double kSmall = 0.1;
  const double deviation =
      std::sqrt(2 * squared_variation(s.network.latency)) * s.network.latency.mean_seconds();
  return has_spread_latency(s, c, 0) && deviation > kSmall * timeout_of(c);
}
bool connects(const Scenario& s, const ClientSpec&, std::size_t) {
  return s.network.connect.mean_seconds() > 0;
}
bool connects_slowly(const Scenario& s, const ClientSpec& c, std::size_t) {
  constexpr double kSmall = 0.05;
  return s.network.connect.mean_seconds() > kSmall * timeout_of(c) ||
         (connects(s, c, 0) && c.timeouts.connect < Duration::max() &&
          c.timeouts.connect.in_seconds() < 10 * s.network.connect.mean_seconds());
}
/// Whether a client may need more connections than it has.
bool lacks_connections(const Scenario& s, const ClientSpec& c, std::size_t) {
  if (c.max_connections == ClientSpec::kUnlimited) return false;
  if (c.arrivals.process == ArrivalProcess::kClosed) {
    return c.arrivals.concurrency > c.max_connections;
  }
  constexpr double kDeviations = 5;
  const double rate = flow::mean_request_rate(s, c) / c.count;
  const double attempts = c.retry.max_attempts == RetryRules::kUnlimited
                              ? kForever
                              : static_cast<double>(c.retry.max_attempts);
  const double worst = rate * attempts * timeout_of(c);
  return !(worst + kDeviations * std::sqrt(worst) + 1 < c.max_connections);
}
bool reads_before_retries(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.side_effects.reconciles && c.side_effects.mutating > 0;
}
bool waits_without_retry(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.long_poll && c.retry.long_poll != LongPoll::kReturn && c.retry.quota.enabled;
}
bool has_work_that_differs(const Scenario&, const ClientSpec& c, std::size_t) {
  return std::ranges::any_of(
      c.operations, [&](const OperationSpec& o) { return o.work != c.operations.front().work; });
}
bool has_heavy_operations(const Scenario& s, const ClientSpec& c, std::size_t service) {
  constexpr double kSmall = 0.1;
  return has_work_that_differs(s, c, service) &&
         std::ranges::any_of(c.operations, [&](const OperationSpec& o) {
           return o.work * at(s, service).service_time.mean_seconds() > kSmall * timeout_of(c);
         });
}
bool shares_retryer(const Scenario&, const ClientSpec& c, std::size_t) {
  const RetryRules& r = c.retry;
  const bool first_attempts = r.retry_breaker.enabled || r.throttle.enabled || r.rate_limit.enabled;
  return !c.retryer.empty() && r.remembers() && (retries(c) || first_attempts);
}
bool limiter_may_wake(const Scenario& s, const ClientSpec& c, std::size_t service) {
  return c.retry.rate_limit.enabled && can_throttle(s, service);
}
bool is_decorrelated(const Scenario&, const ClientSpec& c, std::size_t) {
  const Jitter jitter = c.retry.backoff.jitter;
  return retries(c) && (jitter == Jitter::kDecorrelated || jitter == Jitter::kDecorrelatedV2);
}
bool has_scarce_budget(const Scenario& s, const ClientSpec& c, std::size_t) {
  constexpr double kAmple = 3;
  const BudgetRules& budget = c.retry.budget;
  if (budget.kind == BudgetKind::kNone || !retries(c)) return false;
  if (c.arrivals.process == ArrivalProcess::kClosed || !c.timeouts.has_attempt) return true;
  if (c.retry.max_attempts == RetryRules::kUnlimited) return true;
  const double rate = flow::mean_request_rate(s, c) / c.count;
  const double often = rate * (static_cast<double>(c.retry.max_attempts) - 1);
  if (budget.kind == BudgetKind::kWindow) return budget.minimum < kAmple * often;
  const double backoff = mean_of(backoff_law(c.retry.backoff, false, 1));
  return budget.minimum < kAmple * often * (timeout_of(c) + backoff);
}
/// Whether there is a budget that the chain cannot treat as a limit on its orbit.
bool has_budget_of_many(const Scenario&, const ClientSpec& c, std::size_t) {
  const BudgetRules& budget = c.retry.budget;
  const bool limits_orbit = budget.kind == BudgetKind::kActive && budget.share == 0 &&
                            c.count == 1 && budget.minimum >= 1;
  return retries(c) && budget.kind != BudgetKind::kNone && !limits_orbit;
}

// --- What they do not model of these keys --------------------------------------------------------

/// A combination for which these theories give no figure.
constexpr Combination none(std::string_view name, std::string_view said, ByService test,
                           Parts parts, std::string_view why) {
  return {name, said, test, nullptr, parts, true, why};
}
constexpr Combination none(std::string_view name, std::string_view said, ByClient test, Parts parts,
                           std::string_view why) {
  return {name, said, nullptr, test, parts, true, why};
}
/// A combination that the figures of these theories leave out.
constexpr Combination without(std::string_view name, std::string_view said, ByService test,
                              Parts parts, std::string_view what) {
  return {name, said, test, nullptr, parts, false, what};
}
constexpr Combination without(std::string_view name, std::string_view said, ByClient test,
                              Parts parts, std::string_view what) {
  return {name, said, nullptr, test, parts, false, what};
}

constexpr Parts kAllOfFluidAndChain = kFluid | kChain;

constexpr Combination kCombinations[] = {
    // Services.
    none("a slowdown of a limited number of servers", "slowdown", limited_slows_down, kFluid,
         "the fluid models it only where servers are unlimited"),
    none(kRefusingMakesLate, "reject_cost", refusals_make_late, kBalance,
         "refusals may keep the servers so busy that what waits behind them is late"),
    none("a throttle whose refusals may fill the servers", "reject_cost",
         throttling_may_fill_servers, kBalance,
         "its refusals and what it lets pass may together be more than the servers can do"),
    none("a throttle that costs, and a slowdown", "reject_cost", throttles_for_work_of_all, kFluid,
         "attempts that the throttle refuses slow down the others"),
    none("refusals of old attempts that cost", "queue.max_age", turns_old_away_for_work, kFluid,
         "refusals of attempts that are too old keep others waiting"),
    none("two answers for attempts that are turned away", "answers.shed", answers_age_apart, kFluid,
         "a full queue answers otherwise than attempts that are too old"),
    none("drops of what would be late where the way back is not known", "queue.drop_expired",
         drops_expired_by_guess, kFluid,
         "the service does not know how long the answer will travel"),
    none("drops of what would be late where service times differ", "queue.drop_expired",
         drops_long_services, kFluid,
         "long services are dropped first, so that more of the short ones are served"),
    none("a delay that a full queue suggests", "answers.overflow", suggests_when_full, kFluid,
         "a delay that a full queue suggests"),
    none("service times that are not exponential", "service_time", not_exponential, kChain,
         "only exponential times have no memory"),
    none("service times with a heavy tail", "service_time", has_heavy_tail, kWaits,
         "the mean wait behind services whose third moment is infinite (Pareto with a shape of 3 "
         "or less) has no good approximation"),
    none("unlimited servers", "servers", serves_all_at_once, kChain, "no attempt ever waits"),
    none("a queue without a bound", "queue.capacity", has_room_for_all, kChain,
         "without a bound there are infinitely many states"),
    without("a queue with a bound", "queue.capacity", can_be_full, kChain,
            "retries of attempts that a full queue rejects"),
    without("idempotency tokens", "idempotency", knows_tokens, kLoads,
            "attempts answered because of idempotency tokens"),
    none("idempotency tokens", "idempotency", knows_tokens, kLate | kAllOfFluidAndChain | kBound,
         "a retry may be answered by its token, for less work, or wait for it"),
    without("a service that calls others", "calls", calls_others, kLoads | kWaits,
            "waiting at the services that it calls"),
    none("a service that calls others", "calls", calls_others, kLate | kAllOfFluidAndChain | kBound,
         "it waits for the services that it calls"),
    without("calls that are not one for every attempt", "calls", chooses_calls, kLoads,
            "choices among calls, but for how many there are on average"),
    none(
        "faults that add much latency", "", ends_in_wave, kRun,
        "attempts sent before a fault that adds latency ends arrive together with those sent after "
        "it"),
    without("faults that add latency", "", adds_latency, kRun,
            "that attempts arrive late while a fault adds latency"),

    // Who calls them.
    none("calls between services", "", is_call, kWaits | kAllOfFluidAndChain,
         "the calls of a service depend on the calls that it gets"),
    none("a custom strategy", "", has_strategy, kAllOfFluidAndChain | kBound,
         "what a custom strategy does is not known"),
    none("requests to several services", "calls", calls_several, kAllOfFluidAndChain | kBound,
         "requests to several services"),
    none("a retryer that groups share", "retry.retryer", shares_retryer, kAllOfFluidAndChain,
         "what groups share"),
    none("retry budgets that may run out", "retry.budget", has_scarce_budget, kFluid,
         "it counts the few requests of one client, which is chance"),
    none("retry budgets other than a fixed number at once", "retry.budget", has_budget_of_many,
         kChain, "the chain can only hold a fixed number of retries at once"),
    none("bursts of all clients together", "arrivals.aligned", bursts_together,
         kAllOfFluidAndChain | kBound, "bursts of all clients together come at random"),
    none("bursts of few clients", "arrivals", bursts_weightily, kAllOfFluidAndChain | kBound,
         "so few clients in bursts are a load that changes by chance"),
    none("attempt timeouts that differ much", "attempt_timeout", has_wide_timeout, kLate | kFluid,
         "some attempts wait longer than others"),
    without("attempt timeouts that differ little", "attempt_timeout", has_spread_timeout, kFluid,
            "the spread of attempt timeouts"),
    none("attempt timeouts that differ", "attempt_timeout", has_spread_timeout, kChain,
         "the chain needs one, the same for all attempts"),
    none("no attempt timeout", "attempt_timeout", has_no_timeout, kChain,
         "the chain needs one, the same for all attempts"),
    none("groups with different attempt timeouts", "attempt_timeout", waits_unlike_others, kBalance,
         "groups with different timeouts have no common balance"),
    none("groups with different attempt timeouts", "attempt_timeout", waits_unlike_others, kChain,
         "the chain has one timeout for all"),
    none("a timeout that an idle service often misses", "attempt_timeout", is_impatient,
         kBalance | kChain,
         "more than a twentieth of the attempts would be late at an idle service"),
    none("a deadline that may come first", "deadline", has_tight_deadline, kLate | kFluid,
         "it may end a request before its attempts do"),
    without("a deadline that comes from the caller", "deadline", has_deadline_of_caller, kLoads,
            "calls that end when the caller's client stops waiting"),
    none("a deadline that comes from the caller", "deadline", has_deadline_of_caller,
         kLate | kFluid, "how much time is left depends on the caller"),
    none("latency that varies much", "attempt_timeout", has_wild_latency, kAllOfFluidAndChain,
         "network.latency varies by more than a tenth of it"),
    without("latency that varies", "", has_spread_latency, kAllOfFluidAndChain,
            "the spread of network latency"),
    none("connections that take long", "attempt_timeout", connects_slowly, kAllOfFluidAndChain,
         "network.connect is not a small part of it"),
    without("connections", "", connects, kWaits | kAllOfFluidAndChain, "time to connect"),
    none("clients that may have too few connections", "max_connections", lacks_connections,
         kAllOfFluidAndChain | kBound, "attempts may wait for a connection"),
    without("reads before retries", "reconcile_read", reads_before_retries, kLoads,
            "reads before retries"),
    none("reads before retries", "reconcile_read", reads_before_retries,
         kLate | kAllOfFluidAndChain | kBound, "reads before retries"),
    without("long polls that wait where no retry is made", "long_poll", waits_without_retry, kRun,
            "the waits of long polls without a retry"),
    none("operations with heavy work", "operation", has_heavy_operations, kAllOfFluidAndChain,
         "one of them takes more than a tenth of the attempt timeout"),
    without("operations that differ in work", "operation", has_work_that_differs, kWaits | kFluid,
            "differences in work between operations"),
    none("adaptive mode at a service that throttles", "retry.rate_limit", limiter_may_wake,
         kBalance | kBound, "the rate of a limiter depends on its history"),
    without("decorrelated jitter", "retry.backoff.jitter", is_decorrelated, kRun,
            "the dependence of a decorrelated delay on the previous one"),
};

// --- The keys of a scenario ----------------------------------------------------------------------

/// Which theories model a key, and how.
struct KeyCoverage {
  std::string pattern;  ///< "client.*.retry.hedging.delay"
  std::vector<const Modelled*> rows;
};

/// The key under which it is known: calls between services have the keys of client groups.
std::string known_as(std::string pattern) {
  constexpr std::string_view kCalls = "service.*.calls.*.";
  return pattern.starts_with(kCalls) ? "client.*." + pattern.substr(kCalls.size()) : pattern;
}

/// The rows of `kModelled` by what they name: a key, or a table of keys ("service.*.ejection.*").
class NamedRows {
 public:
  NamedRows() {
    for (const Modelled& row : kModelled) {
      for (std::string_view keys = row.keys; !keys.empty();) {
        const std::size_t blank = std::min(keys.find(' '), keys.size());
        named_.emplace_back(keys.substr(0, blank), &row);
        keys.remove_prefix(std::min(blank + 1, keys.size()));
      }
    }
    std::ranges::sort(named_);
  }

  /// The rows that name the key, or a table that it is in, in the order of `kModelled`.
  std::vector<const Modelled*> of(std::string_view pattern) const {
    std::vector<const Modelled*> rows;
    append(pattern, rows);
    for (std::size_t dot = pattern.find('.'); dot < pattern.size();
         dot = pattern.find('.', dot + 1)) {
      const std::string table = std::string(pattern.substr(0, dot + 1)) + "*";
      // Names of answers are a key ("service.*.errors.*").
      if (table != pattern && !table.ends_with(".errors.*")) append(table, rows);
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

 private:
  void append(std::string_view name, std::vector<const Modelled*>& rows) const {
    const auto before = [](const auto& named, std::string_view asked) {
      return named.first < asked;
    };
    for (auto it = std::lower_bound(named_.begin(), named_.end(), name, before);
         it != named_.end() && it->first == name; ++it) {
      rows.push_back(it->second);
    }
  }

  std::vector<std::pair<std::string_view, const Modelled*>> named_;
};

/// The coverage of all keys by scope, in the order of the keys.
const std::vector<std::vector<KeyCoverage>>& coverage_of_keys() {
  static const std::vector<std::vector<KeyCoverage>> all = [] {
    const NamedRows named;
    std::vector<std::vector<KeyCoverage>> scopes;
    for (const scenario::KeyScope& scope : scenario::key_scopes()) {
      std::vector<KeyCoverage>& keys = scopes.emplace_back();
      keys.reserve(scope.keys.size());
      for (const scenario::KeyInfo& key : scope.keys) {
        KeyCoverage& its = keys.emplace_back();
        its.pattern = known_as(scenario::key_pattern(scope, key));
        its.rows = named.of(its.pattern);
      }
    }
    return scopes;
  }();
  return all;
}

const KeyCoverage& coverage_of(const scenario::KeyScope& scope, std::size_t index) {
  const auto number = static_cast<std::size_t>(&scope - scenario::key_scopes().data());
  return coverage_of_keys()[number][index];
}
const KeyCoverage& coverage_of(const KeyInUse& used) { return coverage_of(used.scope, used.index); }

/// The theories that model a key, or some words of it.
Parts parts_of(const KeyCoverage& key) {
  Parts parts = 0;
  for (const Modelled* row : key.rows) parts |= row->parts;
  return parts;
}

bool is_word_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    if (words.substr(0, bar) == word) return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

/// Calls `f` with the rows that model a key as it is used.
template <class F>
void each_row(const KeyInUse& used, F f) {
  for (const Modelled* row : coverage_of(used).rows) {
    if (row->words.empty() || is_word_of(row->words, used.word())) f(*row);
  }
}

/// Whether the key is the arrival process of calls of a service, which have no arrivals of their
/// own.
bool is_arrival_of_calls(const KeyInUse& used) {
  return used.key().name == "arrivals.process" && used.word().empty();
}

Parts parts_that_model(const KeyInUse& used) {
  Parts parts = is_arrival_of_calls(used) ? kAll : 0;
  each_row(used, [&](const Modelled& row) { parts |= row.parts; });
  return parts;
}

/// Calls `found` for the combinations in use, with the path of the table, while it returns true.
template <class Found>
void each_combination(Parts parts, bool refused, const Scenario& scenario, std::size_t service,
                      Found found) {
  const std::string service_path = "service." + scenario.services.at(service).name;
  for (const Combination& c : kCombinations) {
    if (c.refused != refused || (c.parts & parts) == 0 || c.by_service == nullptr) continue;
    if (c.by_service(scenario, service) && !found(c, service_path)) return;
  }
  for (const ClientSpec& client : scenario.clients) {
    if (share_of_calls(client, service) <= 0) continue;
    stop_point();  // there may be many combinations
    const std::string path = path_of(client);
    for (const Combination& c : kCombinations) {
      if (c.refused != refused || (c.parts & parts) == 0 || c.by_client == nullptr) continue;
      if (c.by_client(scenario, client, service) && !found(c, path)) return;
    }
  }
}

std::string place_of(const Combination& c, const std::string& path) {
  return c.said.empty() ? path : path + "." + std::string(c.said);
}

void add_once(std::vector<std::string>& texts, std::string_view text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.emplace_back(text);
}

}  // namespace

std::span<const Modelled> modelled() { return kModelled; }
std::span<const Combination> combinations() { return kCombinations; }

std::string names_of(Parts parts) {
  std::string names;
  for (std::size_t i = 0; i < kTheories; ++i) {
    if ((parts & part(static_cast<Theory>(i))) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(kTheoryNames[i]);
  }
  return names;
}

std::optional<Refusal> refusal(Theory theory, const Scenario& scenario, std::size_t service) {
  stop_point();  // there may be many services
  const Parts asked = part(theory);
  std::optional<Refusal> found;
  scenario::each_key_in_use(scenario, service, [&](const KeyInUse& used) {
    if ((parts_that_model(used) & asked) != 0) return true;
    found = {used.thing(), used.path(), "not modelled"};
    return false;
  });
  if (found) return found;
  each_combination(asked, true, scenario, service,
                   [&](const Combination& c, const std::string& path) {
                     found = {std::string(c.name), place_of(c, path), std::string(c.text)};
                     return false;
                   });
  if (!found && !is_called(scenario, service)) {
    found = {"", "service." + scenario.services.at(service).name, "no client calls it"};
  }
  return found;
}

std::optional<std::string> why_not(Theory theory, const Scenario& scenario, std::size_t service) {
  const std::optional<Refusal> found = refusal(theory, scenario, service);
  if (!found) return std::nullopt;
  return found->place + ": " + found->why;
}

std::string sentence_of(const Refusal& refusal, std::string_view what, std::string_view theory,
                        std::string_view subject) {
  if (refusal.feature.empty()) return fmt::format("No {} for {}: {}", what, subject, refusal.why);
  return fmt::format("No {} for {}: {} cannot model {} ({})", what, subject, theory,
                     refusal.feature, refusal.place);
}

std::vector<std::string> left_out(Theory theory, const Scenario& scenario, std::size_t service) {
  std::vector<std::string> found;
  scenario::each_key_in_use(scenario, service, [&](const KeyInUse& used) {
    each_row(used, [&](const Modelled& row) {
      if ((row.parts & part(theory)) != 0 && !row.but_for.empty()) add_once(found, row.but_for);
    });
    return true;
  });
  each_combination(part(theory), false, scenario, service,
                   [&](const Combination& c, const std::string&) {
                     add_once(found, c.text);
                     return true;
                   });
  return found;
}

namespace {

/// "loads, waits: the one; balance: the other"
std::string joined(std::string text, Parts parts, std::string_view what) {
  if (parts == 0) return text;
  if (!text.empty()) text += "; ";
  text += names_of(parts);
  return what.empty() ? text : text + ": " + std::string(what);
}

/// Collects what is not modelled, each thing once.
class UnmodelledOf {
 public:
  explicit UnmodelledOf(const Scenario& scenario) : scenario_(scenario) {}

  std::vector<Unmodelled> all() {
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) {
      scenario::each_key_in_use(scenario_, s, [&](const KeyInUse& used) {
        add(used);
        return true;
      });
      for (const bool refused : {false, true}) {
        each_combination(kAll, refused, scenario_, s,
                         [&](const Combination& c, const std::string& path) {
                           add(std::string(c.name), place_of(c, path), refused ? 0 : c.parts,
                               c.text, refused ? c.parts : 0, c.text);
                           return true;
                         });
      }
    }
    return std::move(all_);
  }

 private:
  /// Whether the key is a parameter of another one that is not modelled either.
  static bool is_parameter(const KeyInUse& used) {
    const scenario::KeyInfo& key = used.key();
    if (!key.thing.empty() || key.when.empty()) return false;
    const std::string_view of = scenario::Condition(key.when).key;
    const auto keys = used.scope.keys;
    const auto at = std::ranges::find(keys, of, &scenario::KeyInfo::name);
    if (at == keys.end()) return false;
    const auto index = static_cast<std::size_t>(at - keys.begin());
    return (parts_of(coverage_of(used.scope, index)) & ~parts_of(coverage_of(used))) == 0;
  }

  void add(const KeyInUse& used) {
    if (is_parameter(used)) return;
    std::vector<std::pair<Parts, std::string_view>> approximated;
    each_row(used, [&](const Modelled& row) {
      if (!row.but_for.empty()) approximated.emplace_back(row.parts, row.but_for);
    });
    const Parts refused = kAll & ~parts_that_model(used);
    if (approximated.empty() && refused == 0) return;
    const std::string thing = used.thing(), path = used.path();
    for (const auto& [parts, what] : approximated) add(thing, path, parts, what, 0, "");
    if (refused != 0) add(thing, path, 0, "", refused, "");
  }

  void add(const std::string& thing, const std::string& place, Parts left_out_by,
           std::string_view what, Parts refused_by, std::string_view why) {
    auto at = std::ranges::find(all_, thing, &Unmodelled::feature);
    if (at == all_.end()) at = all_.insert(all_.end(), Unmodelled{thing, {}, "", ""});
    add_once(at->places, place);
    std::string left = joined("", left_out_by, what), none = joined("", refused_by, why);
    if (at->left_out.find(left) == std::string::npos) at->left_out = with(at->left_out, left);
    if (at->no_figure.find(none) == std::string::npos) at->no_figure = with(at->no_figure, none);
  }
  static std::string with(const std::string& before, const std::string& more) {
    return before.empty() ? more : before + "; " + more;
  }

  const Scenario& scenario_;
  std::vector<Unmodelled> all_;
};

}  // namespace

std::vector<Unmodelled> unmodelled(const Scenario& scenario) {
  return UnmodelledOf(scenario).all();
}

namespace {

/// The words of a key that a theory does not model; for a key without words, "" stands for its
/// value. The first word is the default, which is not refused.
std::vector<std::string_view> words_without(Theory theory, const KeyCoverage& key,
                                            const scenario::KeyInfo& info) {
  std::vector<std::string_view> words = {""};
  if (info.access.word != nullptr) words = scenario::split_words(info.rules.words);
  if (words.size() > 1) words.erase(words.begin());
  std::erase_if(words, [&](std::string_view word) {
    return std::ranges::any_of(key.rows, [&](const Modelled* row) {
      return (row->parts & part(theory)) != 0 &&
             (row->words.empty() || is_word_of(row->words, word));
    });
  });
  return words;
}

CoverageRow row_of(const KeyCoverage& key, const scenario::KeyInfo& info) {
  const std::string things = fmt::format("{}", fmt::join(scenario::split_words(info.thing), ", "));
  CoverageRow row{things, key.pattern, "", "", ""};
  Parts exact = 0;
  for (const Modelled* m : key.rows) {
    if (m->but_for.empty()) {
      exact |= m->parts;
    } else {
      row.left_out = joined(std::move(row.left_out), m->parts, m->but_for);
    }
  }
  row.modelled = names_of(exact);
  std::map<std::vector<std::string_view>, Parts> refused;  // by the refused words
  for (std::size_t i = 0; i < kTheories; ++i) {
    const auto words = words_without(static_cast<Theory>(i), key, info);
    if (!words.empty()) refused[words] |= part(static_cast<Theory>(i));
  }
  for (const auto& [words, parts] : refused) {
    const bool all = (parts & parts_of(key)) == 0;  // whether all of its words are refused
    row.no_figure = joined(std::move(row.no_figure), parts,
                           all ? "" : fmt::format("\"{}\"", fmt::join(words, "|")));
  }
  return row;
}

}  // namespace

std::vector<CoverageRow> coverage_table() {
  std::vector<CoverageRow> rows;
  std::string everywhere;  // keys that every theory models
  const auto scopes = scenario::key_scopes();
  std::vector<std::string> seen;
  for (std::size_t s = 0; s < scopes.size(); ++s) {
    for (std::size_t k = 0; k < scopes[s].keys.size(); ++k) {
      const KeyCoverage& key = coverage_of_keys()[s][k];
      if (std::ranges::find(seen, key.pattern) != seen.end()) continue;
      seen.push_back(key.pattern);
      CoverageRow row = row_of(key, scopes[s].keys[k]);
      if (row.left_out.empty() && row.no_figure.empty() && row.modelled == names_of(kAll)) {
        everywhere += (everywhere.empty() ? "" : " ") + key.pattern;
        continue;
      }
      CoverageRow* last = rows.empty() ? nullptr : &rows.back();
      const bool alike = last != nullptr && last->modelled == row.modelled &&
                         last->left_out == row.left_out && last->no_figure == row.no_figure &&
                         (row.feature.empty() || row.feature == last->feature);
      if (alike) {
        last->keys += " " + row.keys;
      } else {
        rows.push_back(std::move(row));
      }
    }
  }
  rows.push_back({"keys that every part models", everywhere, names_of(kAll), "", ""});
  for (const Combination& c : kCombinations) {
    CoverageRow row{std::string(c.name), "", "", "", ""};
    if (!c.said.empty()) row.keys = place_of(c, c.by_service != nullptr ? "service.*" : "client.*");
    // Successive rows about the same feature become one.
    const bool goes_on = rows.back().feature == row.feature && rows.back().modelled.empty();
    if (!goes_on) rows.push_back(std::move(row));
    std::string& cell = c.refused ? rows.back().no_figure : rows.back().left_out;
    cell = joined(std::move(cell), c.parts, c.text);
  }
  return rows;
}

}  // namespace retrysim::prediction
