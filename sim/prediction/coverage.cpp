// What theory covers: for every feature of a scenario, whether facts, fluid and chain model it,
// leave it out or refuse. Then whether the fluid applies, and where it may be off.
//
// SPDX-License-Identifier: MIT
#include "prediction/coverage.hpp"

#include <retrysim/fluid.hpp>
#include <retrysim/simulation.hpp>

#include "flow/calls.hpp"
#include "flow/demand.hpp"
#include "flow/rates.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/facts/service_load.hpp"
#include "prediction/fluid/run.hpp"
#include "prediction/fluid/system.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace retrysim::prediction {

namespace {

constexpr Treatment without(std::string_view text) { return {Coverage::kLeftOut, text}; }
constexpr Treatment none(std::string_view why) { return {Coverage::kRefused, why}; }
/// Nothing that the fluid says holds.
constexpr Treatments no_fluid(std::string_view why) {
  return {.balance = none(why), .run = none(why)};
}
constexpr Treatments no_theory(std::string_view why) {
  return {.balance = none(why), .run = none(why), .chain = none(why)};
}
/// Nor does it hold that a request costs at most all of its attempts.
constexpr Treatments no_theory_and_bound(std::string_view why) {
  return {.balance = none(why), .run = none(why), .chain = none(why), .bound = none(why)};
}

// --- Services ------------------------------------------------------------------------------------

const ServiceSpec& at(const Scenario& s, std::size_t service) { return s.services[service]; }

template <class Test>
constexpr bool any_client(const Scenario& s, std::size_t service, Test test) {
  return std::ranges::any_of(
      s.clients, [&](const ClientSpec& c) { return share_of_calls(c, service) > 0 && test(c); });
}

bool is_occ(const Scenario& s, std::size_t i) { return at(s, i).model == ServiceModelKind::kOcc; }
bool is_no_queue(const Scenario& s, std::size_t i) {
  return at(s, i).model == ServiceModelKind::kIndependent;
}
bool shares_servers(const Scenario& s, std::size_t i) {
  return !has_queue(at(s, i).queue.discipline);
}
bool not_fifo(const Scenario& s, std::size_t i) {
  return at(s, i).queue.discipline != Discipline::kFifo;
}
bool sheds(const Scenario& s, std::size_t i) {
  return at(s, i).queue.discipline == Discipline::kCodel;
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
bool scales(const Scenario& s, std::size_t i) { return at(s, i).autoscaling.target > 0; }
bool leaves_out(const Scenario& s, std::size_t i) {
  return at(s, i).instances.count > 1 && at(s, i).instances.listens();
}
bool is_many(const Scenario& s, std::size_t i) { return at(s, i).instances.count > 1; }
bool has_profile(const Scenario& s, std::size_t i) { return at(s, i).profile.has_value(); }
bool is_curved(const Scenario& s, std::size_t i) {
  return at(s, i).slowdown.enabled() && at(s, i).slowdown.curve != SlowdownCurve::kLinear;
}
bool slows_down(const Scenario& s, std::size_t i) { return at(s, i).slowdown.enabled(); }
bool limited_slows_down(const Scenario& s, std::size_t i) {
  return slows_down(s, i) && at(s, i).servers != ServiceSpec::kUnlimited;
}
bool adapts(const Scenario& s, std::size_t i) {
  return at(s, i).concurrency.control != ConcurrencyControl::kFixed;
}
bool gives_up(const Scenario& s, std::size_t i) { return at(s, i).timeout != Duration::max(); }
bool drops_abandoned(const Scenario& s, std::size_t i) {
  return at(s, i).abandoned != Abandoned::kServe;
}
bool bounds_age(const Scenario& s, std::size_t i) {
  return at(s, i).queue.max_age != Duration::max();
}
bool drops_expired(const Scenario& s, std::size_t i) { return at(s, i).queue.drop_expired; }
bool drops_expired_by_guess(const Scenario& s, std::size_t i) {
  return drops_expired(s, i) && !s.network.latency.is_constant();
}
bool drops_long_services(const Scenario& s, std::size_t i) {
  return drops_expired(s, i) && !at(s, i).service_time.is_constant();
}
bool is_throttled(const Scenario& s, std::size_t i) { return at(s, i).throttle.rate > 0; }
bool has_limits(const Scenario& s, std::size_t i) {
  return is_throttled(s, i) && at(s, i).throttle.has_limits();
}
bool throttles_apart(const Scenario& s, std::size_t i) {
  return is_throttled(s, i) && at(s, i).throttle.scope > ThrottleScope::kClient;
}
bool has_window(const Scenario& s, std::size_t i) {
  return is_throttled(s, i) && at(s, i).throttle.window > Duration::zero();
}
bool answers_limit(const Scenario& s, std::size_t i) { return at(s, i).answers.limit.has_value(); }
bool suggests_when_full(const Scenario& s, std::size_t i) {
  const auto& overflow = at(s, i).answers.overflow;
  return overflow && overflow->retry_after;
}
bool has_errors(const Scenario& s, std::size_t i) { return !at(s, i).errors.empty(); }
bool errs_late(const Scenario& s, std::size_t i) {
  const auto is_late = [](const auto& spec) {
    return !spec.errors.empty() && !spec.errors_at.on_arrival();
  };
  return is_late(at(s, i)) || std::ranges::any_of(s.faults, [&](const FaultSpec& f) {
           return f.service == i && is_late(f);
         });
}
bool crashes(const Scenario& s, std::size_t i) {
  return std::ranges::any_of(s.faults,
                             [&](const FaultSpec& f) { return f.service == i && f.crash; });
}
bool rejecting_costs(const Scenario& s, std::size_t i) {
  return at(s, i).rejection.cost > Duration::zero();
}
bool can_be_full(const Scenario& s, std::size_t i) {
  return at(s, i).servers != ServiceSpec::kUnlimited &&
         at(s, i).queue.capacity != ServiceSpec::kUnlimited;
}
bool answers_age_apart(const Scenario& s, std::size_t i) {
  return bounds_age(s, i) && can_be_full(s, i) && at(s, i).answers.shed.has_value();
}
bool calls_others(const Scenario& s, std::size_t i) { return flow::calls_others(s, i); }
bool retries(const ClientSpec& c) { return c.retry.max_attempts > 1; }
bool knows_tokens(const Scenario& s, std::size_t i) {
  return at(s, i).idempotency.remembers() && any_client(s, i, [](const ClientSpec& c) {
           // A request's only attempt finds its token if that is another request's as well.
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
bool has_faults(const Scenario& s, std::size_t i) {
  return std::ranges::any_of(s.faults, [&](const FaultSpec& f) { return f.service == i; });
}

bool chooses_calls(const Scenario& s, std::size_t i) {
  return std::ranges::any_of(
      s.calls, [&](const CallSpec& c) { return c.caller == i && !flow::is_plain(c); });
}

double round_trip(const Scenario& s) { return 2 * s.network.latency.mean_seconds(); }

// --- Clients -------------------------------------------------------------------------------------

bool is_call(const Scenario&, const ClientSpec& c, std::size_t) { return c.makes_calls(); }
bool has_strategy(const Scenario&, const ClientSpec& c, std::size_t) { return bool{c.strategy}; }
bool calls_several(const Scenario&, const ClientSpec& c, std::size_t) {
  return !calls_one_service(c);
}
template <ArrivalProcess kProcess>
bool arrives_as(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.process == kProcess;
}
bool not_poisson(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.process != ArrivalProcess::kPoisson && !c.makes_calls();
}
bool varies(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.profile.has_value();
}
bool has_surges(const Scenario&, const ClientSpec& c, std::size_t) {
  return !c.arrivals.surges.empty();
}
bool bursts_together(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.arrivals.process == ArrivalProcess::kOnOff && c.arrivals.aligned;
}
bool bursts_weightily(const Scenario&, const ClientSpec& c, std::size_t) {
  constexpr double kSmall = 0.05;
  const ArrivalSpec& a = c.arrivals;
  if (a.process != ArrivalProcess::kOnOff) return false;
  const double on = a.on.mean_seconds(), off = a.off.mean_seconds();
  return std::sqrt(off / on / c.count) > kSmall;  // deviation of the rate, as a share of it
}
bool has_spread_timeout(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.timeouts.has_attempt && !c.timeouts.attempt.is_constant();
}
bool has_wide_timeout(const Scenario&, const ClientSpec& c, std::size_t) {
  constexpr double kNarrow = 0.0025;  // a deviation of 5 %
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
/// Even an idle service answers many attempts too late.
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
/// Whether the deadline may end a request that its attempts would not.
bool has_tight_deadline(const Scenario& s, const ClientSpec& c, std::size_t service) {
  if (c.timeouts.deadline == Duration::max()) return false;
  const double deadline = c.timeouts.deadline.in_seconds();
  if (c.retry.max_attempts == 1) return false;  // the only attempt ends with it
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
  const double room = (deadline - pauses) / c.retry.max_attempts;  // for each attempt
  if (timeout_of(c) <= room) return false;
  // Where the queue is short, or the timeout long, an attempt takes what a full queue does.
  constexpr double kServices = 20;
  const bool waits = at(s, service).servers != ServiceSpec::kUnlimited;
  return round_trip(s) + kServices * flow::service_seconds_at(s, c, service) +
             (waits ? full_queue_time(s, service) : 0) >
         room;
}
bool has_deadline(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.timeouts.deadline != Duration::max();
}
bool has_deadline_of_caller(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.timeouts.deadline_of_caller;
}
bool retries_some_calls(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry_only_at != RetryOnlyAt::kAnywhere;
}
bool has_cache(const Scenario& s, const ClientSpec& c, std::size_t) {
  const auto group = static_cast<std::size_t>(&c - s.clients.data());
  return std::ranges::any_of(
      s.calls, [&](const CallSpec& call) { return call.client == group && call.cache.in_use(); });
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
bool loses_messages(const Scenario& s, const ClientSpec&, std::size_t) {
  return s.network.request_loss > 0 || s.network.response_loss > 0;
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
bool is_unrepeatable(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.unrepeatable > 0;
}
bool waits_without_retry(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.long_poll && c.retry.long_poll != LongPoll::kReturn && c.retry.quota.enabled;
}
bool has_operations(const Scenario&, const ClientSpec& c, std::size_t) {
  return !c.operations.empty();
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
  const bool first_attempts = r.breaker.enabled || r.throttle.enabled || r.rate_limit.enabled;
  return !c.retryer.empty() && r.remembers() && (retries(c) || first_attempts);
}
bool has_quota(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.retry.quota.enabled;
}
bool has_quotas_apart(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.retry.quota.enabled && c.retry.quota.scope > RetryScope::kGroup;
}
bool waits_for_quota(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.retry.quota.enabled && c.retry.quota.on_empty == QuotaOnEmpty::kWait;
}
bool takes_partly(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && c.retry.quota.enabled && c.retry.quota.partial;
}
bool has_limiter(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry.rate_limit.enabled;
}
bool has_limiters_apart(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry.rate_limit.enabled && c.retry.rate_limit.scope != RetryScope::kClient;
}
bool limiter_may_wake(const Scenario& s, const ClientSpec& c, std::size_t service) {
  return c.retry.rate_limit.enabled && can_throttle(s, service);
}
bool avoids_hosts(const Scenario& s, const ClientSpec& c, std::size_t i) {
  return c.retry.avoid_hosts > 0 && is_many(s, i);
}
bool has_hedging(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry.hedging.enabled;
}
bool has_breaker(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry.breaker.enabled;
}
bool has_client_throttle(const Scenario&, const ClientSpec& c, std::size_t) {
  return c.retry.throttle.enabled;
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
/// A budget that the chain cannot take for a limit of its orbit.
bool has_budget_of_many(const Scenario&, const ClientSpec& c, std::size_t) {
  const BudgetRules& budget = c.retry.budget;
  const bool limits_orbit = budget.kind == BudgetKind::kActive && budget.share == 0 &&
                            c.count == 1 && budget.minimum >= 1;
  return retries(c) && budget.kind != BudgetKind::kNone && !limits_orbit;
}
bool client_rules(const Scenario&, const ClientSpec& c, std::size_t) {
  return retries(c) && (c.retry.hedging.enabled || c.retry.breaker.enabled ||
                        c.retry.throttle.enabled || c.retry.rate_limit.enabled);
}

// --- The table -----------------------------------------------------------------------------------

constexpr Feature kFeatures[] = {
    {.name = "optimistic concurrency control",
     .keys = "service.*.model service.*.answers.conflict",
     .said = "model",
     .by_service = is_occ,
     .parts = {.loads = without("conflicts between writes"),
               .waits = none("a conflict is served again"),
               .late = none("a conflict is served again"),
               .balance =
                   none("conflicts of optimistic concurrency control are between single attempts"),
               .run =
                   none("conflicts of optimistic concurrency control are between single attempts"),
               .chain = none("the chain is a queue"),
               .bound = none("a conflict is served again")}},
    {.name = "a service without a queue",
     .keys = "service.*.model",
     .said = "model",
     .by_service = is_no_queue,
     .parts = {.chain = none("the chain is a queue")}},
    {.name = "servers that all attempts share",
     .keys = "service.*.queue.discipline",
     .said = "queue.discipline",
     .by_service = shares_servers,
     .parts = {.waits = none("no attempt waits in a queue"),
               .balance = none("the time of an attempt among others depends on those to come"),
               .run = none("the time of an attempt among others depends on those to come"),
               .chain = none("the chain's queue is fifo")}},
    {.name = "a queue other than fifo",
     .keys =
         "service.*.queue.discipline service.*.queue.lifo_above "
         "service.*.queue.target service.*.queue.interval service.*.answers.shed client.*.priority",
     .said = "queue.discipline",
     .by_service = not_fifo,
     .parts = {.late = none("only in a fifo queue does an attempt wait for all that it finds "
                            "there"),
               .balance = none("only fifo lets all attempts of a moment wait equally long"),
               .run = none("only fifo lets all attempts of a moment wait equally long"),
               .chain = none("the chain's queue is fifo")}},
    {.name = "autoscaling",
     .keys = "service.*.autoscaling.target service.*.autoscaling.max service.*.autoscaling.min "
             "service.*.autoscaling.interval service.*.autoscaling.delay "
             "service.*.autoscaling.cooldown service.*.autoscaling.tolerance",
     .said = "autoscaling",
     .by_service = scales,
     .parts = {.loads = without("servers that autoscaling adds or takes away"),
               .waits = none("servers that come and go"),
               .late = none("servers that come and go"),
               .balance = none("servers that come and go"),
               .run = none("servers that come and go"),
               .chain = none("servers that come and go"),
               .bound = none("servers that come and go")}},
    {.name = "several instances",
     .keys = "service.*.instances service.*.balancing service.*.balancing_ties "
             "service.*.balancing_decay service.*.balancing_first_latency "
             "service.*.balancing_subset service.*.balancer "
             "service.*.panic_threshold service.*.panic_overprovisioning "
             "service.*.health_check.interval service.*.health_check.timeout "
             "service.*.health_check.unhealthy_threshold "
             "service.*.health_check.healthy_threshold fault.*.instance fault.*.instances",
     .said = "instances",
     .by_service = is_many,
     .parts = {.waits = none("each instance has a queue of its own"),
               .balance = none("which instance an attempt meets, and what waits there, is chance"),
               .run = none("which instance an attempt meets, and what waits there, is chance"),
               .chain = none("the chain has one queue"),
               .bound = none("each instance has a load of its own")}},
    {.name = "instances that are left out because of their answers",
     .keys = "service.*.ejection.interval service.*.ejection.consecutive_5xx "
             "service.*.ejection.consecutive_gateway_failure "
             "service.*.ejection.base_ejection_time service.*.ejection.max_ejection_time "
             "service.*.ejection.max_ejection_percent service.*.ejection.always_eject_one_host "
             "service.*.ejection.success_rate_stdev_factor "
             "service.*.ejection.success_rate_minimum_hosts "
             "service.*.ejection.success_rate_request_volume "
             "service.*.ejection.failure_percentage_threshold "
             "service.*.ejection.failure_percentage_minimum_hosts "
             "service.*.ejection.failure_percentage_request_volume "
             "service.*.accrual.max_failures service.*.accrual.min_penalty "
             "service.*.accrual.max_penalty service.*.accrual.penalties "
             "service.*.accrual.jitter_ratio",
     .said = "ejection and accrual",
     .by_service = leaves_out,
     .parts = no_theory_and_bound("which instances are left out depends on single answers")},
    {.name = "a capacity profile",
     .keys = "service.*.profile",
     .said = "profile",
     .by_service = has_profile,
     .parts = {.loads = without("the capacity profile"),
               .waits = none("the wait changes with the capacity"),
               .balance = none("the balance changes with the capacity"),
               .chain = none("the law changes with the capacity"),
               .bound = none("the capacity changes")}},
    {.name = "a slowdown that is not linear",
     .keys = "service.*.slowdown_curve service.*.slowdown_exponent service.*.slowdown_table",
     .said = "slowdown_curve",
     .by_service = is_curved,
     .parts = no_fluid("only a linear slowdown is part of the fluid")},
    {.name = "a slowdown of a limited number of servers",
     .keys = "service.*.slowdown",
     .said = "slowdown",
     .by_service = limited_slows_down,
     .parts = no_fluid("the fluid models it only where servers are unlimited")},
    {.name = "a slowdown",
     .keys = "service.*.slowdown",
     .said = "slowdown",
     .by_service = slows_down,
     .parts = {.loads = without("the slowdown"),
               .waits = none("service times that depend on each other"),
               .chain = none("service times that depend on each other"),
               .bound = none("service times that depend on each other")}},
    {.name = "an adaptive concurrency limit",
     .keys = "service.*.concurrency.control service.*.concurrency.initial "
             "service.*.concurrency.min service.*.concurrency.max service.*.concurrency.smoothing "
             "service.*.concurrency.headroom service.*.concurrency.tolerance "
             "service.*.concurrency.long_window service.*.concurrency.backoff_ratio "
             "service.*.concurrency.slow",
     .said = "concurrency",
     .by_service = adapts,
     .parts = {.late = none("a limit that is adapted to single answers"),
               .balance = none("a limit that is adapted to single answers"),
               .run = none("a limit that is adapted to single answers"),
               .chain = none("a limit that is adapted to single answers"),
               .bound = none("a limit that is adapted to single answers")}},
    {.name = "a time limit of the service",
     .keys = "service.*.timeout service.*.answers.timeout",
     .said = "timeout",
     .by_service = gives_up,
     .parts = {.late = none("the service's own limit"),
               .balance = none("the service's own limit"),
               .run = none("the service's own limit"),
               .chain = none("the service's own limit")}},
    {.name = "abandoned attempts that leave",
     .keys = "service.*.abandoned",
     .said = "abandoned",
     .by_service = drops_abandoned,
     .parts = {.late = none("attempts that its clients have given up are not served"),
               .balance = none("the share of the remaining attempts that is served in time is "
                               "not modelled"),
               .run = none("the share of the remaining attempts that is served in time is not "
                           "modelled"),
               .chain = none("the chain serves abandoned attempts")}},
    {.name = "a queue that sheds",
     .keys = "service.*.queue.discipline",
     .said = "queue.discipline",
     .by_service = sheds,
     .parts = {.waits = none("attempts that wait too long are shed")}},
    {.name = "attempts that are turned away when they have waited too long",
     .keys = "service.*.queue.max_age service.*.answers.shed",
     .said = "queue.max_age",
     .by_service = bounds_age,
     .parts = {.waits = none("attempts that wait too long are turned away"),
               .late = none("attempts that wait too long are turned away"),
               .run = without("attempts that a fault keeps waiting until they are too old"),
               .chain = none("the chain rejects attempts only when its queue is full")}},
    {.name = "two answers for attempts that are turned away",
     .keys = "service.*.queue.max_age service.*.queue.capacity service.*.answers.shed",
     .said = "answers.shed",
     .by_service = answers_age_apart,
     .parts = no_fluid("a full queue answers otherwise than attempts that are too old")},
    {.name = "attempts that are dropped when they would be late",
     .keys = "service.*.queue.drop_expired",
     .said = "queue.drop_expired",
     .by_service = drops_expired,
     .parts = {.late = none("attempts that would be late are not served"),
               .chain = none("the chain serves abandoned attempts")}},
    {.name = "drops of what would be late where the way back is not known",
     .keys = "service.*.queue.drop_expired network.latency",
     .said = "queue.drop_expired",
     .by_service = drops_expired_by_guess,
     .parts = no_fluid("the service does not know how long the answer will travel")},
    {.name = "drops of what would be late where service times differ",
     .keys = "service.*.queue.drop_expired service.*.service_time",
     .said = "queue.drop_expired",
     .by_service = drops_long_services,
     .parts =
         no_fluid("long services are dropped first, so that more of the short ones are served")},
    {.name = "limits of single operations or keys",
     .keys = "service.*.throttle.operation.*.rate service.*.throttle.operation.*.burst "
             "service.*.throttle.operation.*.window service.*.throttle.key.*.rate "
             "service.*.throttle.key.*.burst service.*.throttle.key.*.window "
             "client.*.keys.count client.*.keys.popularity client.*.keys.exponent "
             "client.*.keys.hot_share",
     .said = "throttle",
     .by_service = has_limits,
     .parts = {.loads = without("refusals of single operations or keys by the throttle"),
               .balance = none("limits of single operations or keys"),
               .run = none("limits of single operations or keys"),
               .chain = none("limits of single operations or keys"),
               .bound = none("limits of single operations or keys")}},
    {.name = "a throttle that keeps operations or keys apart",
     .keys = "service.*.throttle.scope",
     .said = "throttle.scope",
     .by_service = throttles_apart,
     .parts = {.loads = without("refusals of single operations or keys by the throttle"),
               .balance = none("the allowance left to single operations or keys"),
               .run = none("the allowance left to single operations or keys"),
               .chain = none("the allowance left to single operations or keys"),
               .bound = none("the allowance left to single operations or keys")}},
    {.name = "a throttle with windows",
     .keys = "service.*.throttle.window",
     .said = "throttle.window",
     .by_service = has_window,
     .parts = no_theory("an allowance that comes back all at once")},
    {.name = "a throttle",
     .keys = "service.*.throttle.rate service.*.throttle.burst service.*.throttle.retry_after "
             "service.*.answers.throttled",
     .said = "throttle",
     .by_service = is_throttled,
     .parts = {.chain = none("the chain rejects attempts only when its queue is full")}},
    {.name = "an answer of its own for the concurrency limit",
     .keys = "service.*.answers.limit",
     .said = "answers.limit",
     .by_service = answers_limit,
     .parts = no_fluid("an answer other than that of a full queue")},
    {.name = "a delay that a full queue suggests",
     .keys = "service.*.answers.overflow",
     .said = "answers.overflow",
     .by_service = suggests_when_full,
     .parts = no_fluid("a delay that a full queue suggests")},
    {.name = "service times that are not exponential",
     .keys = "service.*.service_time",
     .said = "service_time",
     .by_service = not_exponential,
     .parts = {.chain = none("only exponential times have no memory")}},
    {.name = "service times with a heavy tail",
     .keys = "service.*.service_time",
     .said = "service_time",
     .by_service = has_heavy_tail,
     .parts = {.waits = none("the mean wait behind services whose third moment is infinite (Pareto "
                             "with a shape of 3 or less) has no good approximation")}},
    {.name = "unlimited servers",
     .keys = "service.*.servers",
     .said = "servers",
     .by_service = serves_all_at_once,
     .parts = {.chain = none("no attempt ever waits")}},
    {.name = "a queue without a bound",
     .keys = "service.*.queue.capacity",
     .said = "queue.capacity",
     .by_service = has_room_for_all,
     .parts = {.chain = none("without a bound there are infinitely many states")}},
    {.name = "random errors",
     .keys = "service.*.errors.internal service.*.errors.unavailable service.*.errors.throttled "
             "service.*.errors.invalid service.*.errors.*",
     .said = "errors",
     .by_service = has_errors,
     .parts = {.chain = none("attempts of the chain fail by timeouts only")}},
    {.name = "random errors after a share of the service time",
     .keys = "service.*.errors.at fault.*.errors.at",
     .said = "errors.at",
     .by_service = errs_late,
     .parts = {.waits = none("an attempt that fails takes less of a server, or fails at its end"),
               .late = none("an attempt that fails takes less of a server, or fails at its end"),
               .balance = none("an attempt that fails takes less of a server, or fails at its end"),
               .run = none("an attempt that fails takes less of a server, or fails at its end"),
               .chain = none("attempts of the chain fail by timeouts only")}},
    {.name = "crashes",
     .keys = "fault.*.crash",
     .by_service = crashes,
     .parts = {.run = without("work that a crash ends")}},
    {.name = "rejections that cost",
     .keys = "service.*.reject_cost",
     .said = "reject_cost",
     .by_service = rejecting_costs,
     .parts = {.chain = none("rejections cost nothing in the chain")}},
    {.name = "a queue with a bound",
     .keys = "service.*.queue.capacity service.*.overflow",
     .said = "queue.capacity",
     .by_service = can_be_full,
     .parts = {.chain = without("attempts that a full queue rejects are not retried")}},
    {.name = "idempotency tokens",
     .keys = "service.*.idempotency.window service.*.idempotency.replay "
             "service.*.idempotency.in_progress service.*.idempotency.replay_cost "
             "service.*.idempotency.write_delay service.*.idempotency.stored client.*.mutating "
             "client.*.idempotency_token client.*.token_reuse client.*.token_from",
     .said = "idempotency",
     .by_service = knows_tokens,
     .parts = {.loads = without("attempts answered because of idempotency tokens"),
               .late = none("a retry may be answered by its token, for less work"),
               .balance = none("a retry may be answered by its token, for less work"),
               .run = none("a retry may be answered by its token, for less work"),
               .chain = none("a retry may be answered by its token, for less work"),
               .bound = none("a retry may wait for the attempt that has its token")}},
    {.name = "faults",
     .keys = "fault.*.service fault.*.start fault.*.duration fault.*.capacity fault.*.speed "
             "fault.*.latency fault.*.request_loss fault.*.response_loss fault.*.cold_restart "
             "fault.*.unreachable fault.*.black_hole fault.*.errors.internal "
             "fault.*.errors.unavailable fault.*.errors.throttled fault.*.errors.invalid "
             "fault.*.errors.*",
     .by_service = has_faults,
     .parts = {.waits = without("faults"),
               .balance = without("faults"),
               .chain = without("faults")}},
    {.name = "a service that calls others",
     .keys = "client.*.calls service.*.parallel_calls service.*.answers.call_failed",
     .said = "calls",
     .by_service = calls_others,
     .parts = {.loads = without("waiting at the services that it calls"),
               .waits = without("waiting at the services that it calls"),
               .late = none("it waits for the services that it calls"),
               .balance = none("it waits for the services that it calls"),
               .run = none("it waits for the services that it calls"),
               .chain = none("it waits for the services that it calls"),
               .bound = none("it waits for the services that it calls")}},
    {.name = "calls that are not one for every attempt",
     .keys = "client.*.service client.*.stage client.*.share client.*.one_of client.*.operation "
             "client.*.callee_operation client.*.callee_key client.*.count client.*.need "
             "client.*.on_failure client.*.fallback",
     .said = "calls",
     .by_service = chooses_calls,
     .parts = {.loads = without("choices among calls, but for how many there are on average")}},
    {.name = "calls between services",
     .keys = "client.*.calls",
     .by_client = is_call,
     .parts = {.waits = none("when calls come depends on the service that makes them"),
               .balance = none("the calls of a service depend on the calls that it gets"),
               .run = none("the calls of a service depend on the calls that it gets"),
               .chain = none("the calls of a service depend on the calls that it gets"),
               .bound = none("the calls of a service depend on the calls that it gets")}},
    {.name = "a custom strategy",
     .keys = "",
     .by_client = has_strategy,
     .parts = no_theory_and_bound("what a custom strategy does is not known")},
    {.name = "requests to several services",
     .keys = "client.*.calls client.*.operation.*.calls",
     .said = "calls",
     .by_client = calls_several,
     .parts = no_theory_and_bound("requests to several services")},
    {.name = "requests that are not retried",
     .keys = "client.*.unrepeatable",
     .said = "unrepeatable",
     .by_client = is_unrepeatable,
     .parts = no_theory("requests that are not retried")},
    {.name = "a retryer that groups share",
     .keys = "client.*.retry.retryer",
     .said = "retry.retryer",
     .by_client = shares_retryer,
     .parts = no_theory("what groups share")},
    {.name = "quotas of single services, operations or keys",
     .keys = "client.*.retry.quota.scope",
     .said = "retry.quota.scope",
     .by_client = has_quotas_apart,
     .parts = no_theory("several quotas of one client")},
    {.name = "limiters that are not one for each client",
     .keys = "client.*.retry.rate_limit.scope",
     .said = "retry.rate_limit.scope",
     .by_client = has_limiters_apart,
     .parts = no_theory("limiters that clients share, or have several of")},
    {.name = "hedging",
     .keys = "client.*.retry.hedging.delay",
     .said = "retry.hedging",
     .by_client = has_hedging,
     .parts = {.loads = without("hedging"),
               .waits = none("concurrent attempts of a request"),
               .late = none("concurrent attempts of a request"),
               .balance = none("concurrent attempts of a request"),
               .run = none("concurrent attempts of a request"),
               .chain = none("concurrent attempts of a request")}},
    {.name = "retries that avoid the instances of earlier attempts",
     .keys = "client.*.retry.avoid_hosts",
     .said = "retry.avoid_hosts",
     .by_client = avoids_hosts,
     .parts = no_theory("where an attempt goes depends on where its request has been")},
    {.name = "circuit breakers",
     .keys = "client.*.retry.breaker.failure_share client.*.retry.breaker.min_attempts "
             "client.*.retry.breaker.window client.*.retry.breaker.open",
     .said = "retry.breaker",
     .by_client = has_breaker,
     .parts = no_theory("it counts the few attempts of one client, which is chance")},
    {.name = "retry guards",
     .keys = "client.*.retry.guard.failure_share client.*.retry.guard.sample "
             "client.*.retry.guard.samples client.*.retry.guard.starts",
     .said = "retry.guard",
     .by_client = [](const Scenario&, const ClientSpec& c,
                     std::size_t) { return retries(c) && c.retry.guard.enabled; },
     .parts = no_theory("it counts the few attempts of one client, which is chance")},
    {.name = "retry budgets that may run out",
     .keys = "client.*.retry.budget.kind client.*.retry.budget.share "
             "client.*.retry.budget.minimum client.*.retry.budget.window client.*.retry.budget.of "
             "client.*.retry.budget.slices",
     .said = "retry.budget",
     .by_client = has_scarce_budget,
     .parts = no_fluid("it counts the few requests of one client, which is chance")},
    {.name = "retry budgets other than a fixed number at once",
     .keys = "client.*.retry.budget.kind",
     .said = "retry.budget",
     .by_client = has_budget_of_many,
     .parts = {.chain = none("the chain can only hold a fixed number of retries at once")}},
    {.name = "a retry quota that makes clients wait",
     .keys = "client.*.retry.quota.on_empty",
     .said = "retry.quota.on_empty",
     .by_client = waits_for_quota,
     .parts = no_fluid("retries that wait for tokens")},
    {.name = "a retry quota that takes the remaining tokens",
     .keys = "client.*.retry.quota.partial",
     .said = "retry.quota.partial",
     .by_client = takes_partly,
     .parts = no_fluid("a retry that pays less than its price")},
    {.name = "a retry quota",
     .keys = "client.*.retry.quota.capacity client.*.retry.quota.initial "
             "client.*.retry.quota.cost client.*.retry.quota.throttle_cost "
             "client.*.retry.quota.timeout_cost client.*.retry.quota.credit "
             "client.*.retry.quota.credit_on client.*.retry.quota.refund "
             "client.*.retry.quota.order client.*.retry.quota.refill_rate "
             "client.*.retry.quota.refill_interval client.*.retry.quota.failure_cost "
             "client.*.retry.quota.threshold",
     .said = "retry.quota",
     .by_client = has_quota,
     .parts = {.balance = without("the time until a full retry quota has run dry"),
               .chain = none("the chain holds no tokens")}},
    {.name = "polling",
     .keys = "client.*.arrivals.process client.*.arrivals.job_time client.*.arrivals.base "
             "client.*.arrivals.factor client.*.arrivals.cap client.*.arrivals.jitter "
             "client.*.arrivals.max_checks",
     .said = "arrivals",
     .by_client = arrives_as<ArrivalProcess::kPoll>,
     .parts = no_theory_and_bound("how often a job is polled depends on when it began")},
    {.name = "bursts of all clients together",
     .keys = "client.*.arrivals.phase",
     .said = "arrivals.aligned",
     .by_client = bursts_together,
     .parts = no_theory_and_bound("bursts of all clients together come at random")},
    {.name = "bursts of few clients",
     .keys = "client.*.arrivals.on client.*.arrivals.off",
     .said = "arrivals",
     .by_client = bursts_weightily,
     .parts = no_theory_and_bound("so few clients in bursts are a load that changes by chance")},
    {.name = "bursts of single clients",
     .keys = "client.*.arrivals.process",
     .said = "arrivals",
     .by_client = arrives_as<ArrivalProcess::kOnOff>,
     .parts = {.balance = without("bursts of single clients"),
               .run = without("bursts of single clients")}},
    {.name = "a closed loop",
     .keys = "client.*.arrivals.process client.*.arrivals.concurrency "
             "client.*.arrivals.think_time client.*.arrivals.think_from",
     .said = "arrivals",
     .by_client = arrives_as<ArrivalProcess::kClosed>,
     .parts = {.loads = without("waiting, which makes a closed loop ask for less"),
               .balance = none("a closed loop has no load of its own"),
               .bound = none("a closed loop has no load of its own")}},
    {.name = "a herd",
     .keys = "client.*.arrivals.process client.*.arrivals.start client.*.arrivals.spread",
     .said = "arrivals",
     .by_client = arrives_as<ArrivalProcess::kOnce>,
     .parts = {.loads = without("the time of arrival: this is the mean over the duration"),
               .late = none("a herd is not a lasting load"),
               .balance = none("a herd is not a lasting load"),
               .bound = none("a herd is not a lasting load")}},
    {.name = "a trace",
     .keys = "client.*.arrivals.process client.*.arrivals.file client.*.arrivals.speed_up "
             "client.*.arrivals.scale client.*.arrivals.bucket client.*.arrivals.spacing",
     .said = "arrivals",
     .by_client = arrives_as<ArrivalProcess::kTrace>,
     .parts = {.loads = without("variations of the rate: this is its mean over the duration"),
               .balance = none("the balance changes with the load"),
               .bound = none("the load changes")}},
    {.name = "a load profile",
     .keys = "client.*.arrivals.profile client.*.arrivals.interpolate",
     .said = "arrivals.profile",
     .by_client = varies,
     .parts = {.loads = without("variations of the rate: this is its mean over the duration"),
               .waits = none("the wait changes with the load"),
               .balance = none("the balance changes with the load"),
               .chain = none("only a constant Poisson stream has no memory"),
               .bound = none("the load changes")}},
    {.name = "arrivals that are not Poisson",
     .keys = "client.*.arrivals.process client.*.arrivals.rate client.*.arrivals.total_rate",
     .said = "arrivals",
     .by_client = not_poisson,
     .parts = {.waits = none("Erlang's formula is for Poisson arrivals"),
               .chain = none("only a constant Poisson stream has no memory")}},
    {.name = "surges",
     .keys = "client.*.surge.*.start client.*.surge.*.duration client.*.surge.*.factor",
     .by_client = has_surges,
     .parts = {.loads = without("surges"),
               .waits = without("surges"),
               .balance = without("surges"),
               .chain = without("surges")}},
    {.name = "attempt timeouts that differ much",
     .keys = "client.*.attempt_timeout",
     .said = "attempt_timeout",
     .by_client = has_wide_timeout,
     .parts = {.late = none("some attempts wait longer than others"),
               .balance = none("some attempts wait longer than others"),
               .run = none("some attempts wait longer than others"),
               .chain = none("the chain needs one, the same for all attempts")}},
    {.name = "attempt timeouts that differ little",
     .keys = "client.*.attempt_timeout",
     .said = "attempt_timeout",
     .by_client = has_spread_timeout,
     .parts = {.balance = without("the spread of attempt timeouts"),
               .run = without("the spread of attempt timeouts"),
               .chain = none("the chain needs one, the same for all attempts")}},
    {.name = "no attempt timeout",
     .keys = "client.*.attempt_timeout",
     .said = "attempt_timeout",
     .by_client = has_no_timeout,
     .parts = {.chain = none("the chain needs one, the same for all attempts")}},
    {.name = "groups with different attempt timeouts",
     .keys = "client.*.attempt_timeout",
     .said = "attempt_timeout",
     .by_client = waits_unlike_others,
     .parts = {.balance = none("groups with different timeouts have no common balance"),
               .chain = none("the chain has one timeout for all")}},
    {.name = "a timeout that an idle service often misses",
     .keys = "client.*.attempt_timeout service.*.service_time",
     .said = "attempt_timeout",
     .by_client = is_impatient,
     .parts = {.balance = none("more than a twentieth of the attempts would be late at an idle "
                               "service"),
               .chain = none("more than a twentieth of the attempts would be late at an idle "
                             "service")}},
    {.name = "a deadline that may come first",
     .keys = "client.*.deadline",
     .said = "deadline",
     .by_client = has_tight_deadline,
     .parts = {.late = none("it may end a request before its attempts do"),
               .balance = none("it may end a request before its attempts do"),
               .run = none("it may end a request before its attempts do")}},
    {.name = "a deadline",
     .keys = "client.*.deadline",
     .said = "deadline",
     .by_client = has_deadline,
     .parts = {.chain = none("the chain does not track the age of requests")}},
    {.name = "a deadline that comes from the caller",
     .keys = "client.*.deadline",
     .said = "deadline",
     .by_client = has_deadline_of_caller,
     .parts = {.loads = without("calls that end when the caller's client stops waiting"),
               .late = none("how much time is left depends on the caller"),
               .balance = none("how much time is left depends on the caller"),
               .run = none("how much time is left depends on the caller"),
               .chain = none("the chain does not track the age of requests")}},
    {.name = "calls of which some are not retried",
     .keys = "client.*.retry_only_at",
     .said = "retry_only_at",
     .by_client = retries_some_calls,
     .parts = {.late = none("not every call is retried"),
               .balance = none("not every call is retried"),
               .run = none("not every call is retried"),
               .chain = none("not every call is retried")}},
    {.name = "calls that a cache saves",
     .keys = "client.*.cache.capacity client.*.cache.policy client.*.cache.ttl client.*.cache_hit",
     .said = "cache",
     .by_client = has_cache,
     .parts = {.loads = without("the time that a cache takes to fill")}},
    {.name = "latency that varies much",
     .keys = "network.latency",
     .said = "attempt_timeout",
     .by_client = has_wild_latency,
     .parts = no_theory("network.latency varies by more than a tenth of it")},
    {.name = "latency that varies",
     .keys = "network.latency",
     .by_client = has_spread_latency,
     .parts = {.balance = without("the spread of network latency"),
               .run = without("the spread of network latency"),
               .chain = without("the spread of network latency")}},
    {.name = "connections that take long",
     .keys = "network.connect client.*.connect_timeout",
     .said = "attempt_timeout",
     .by_client = connects_slowly,
     .parts = no_theory("network.connect is not a small part of it")},
    {.name = "connections",
     .keys = "network.connect",
     .by_client = connects,
     .parts = {.waits = without("time to connect"),
               .balance = without("time to connect"),
               .run = without("time to connect"),
               .chain = without("time to connect")}},
    {.name = "messages that are lost",
     .keys = "network.request_loss network.response_loss",
     .said = "attempt_timeout",
     .by_client = loses_messages,
     .parts = {.chain = none("attempts of the chain time out in the queue only, not because "
                             "network.request_loss or response_loss has lost a message")}},
    {.name = "clients that may have too few connections",
     .keys = "client.*.max_connections",
     .said = "max_connections",
     .by_client = lacks_connections,
     .parts = no_theory_and_bound("attempts may wait for a connection")},
    {.name = "reads before retries",
     .keys = "client.*.reconcile_read client.*.mutating",
     .said = "reconcile_read",
     .by_client = reads_before_retries,
     .parts = {.loads = without("reads before retries"),
               .late = none("reads before retries"),
               .balance = none("reads before retries"),
               .run = none("reads before retries"),
               .chain = none("reads before retries"),
               .bound = none("reads before retries")}},
    {.name = "long polls that wait where no retry is made",
     .keys = "client.*.long_poll client.*.retry.long_poll",
     .said = "long_poll",
     .by_client = waits_without_retry,
     .parts = {.run = without("the waits of long polls without a retry")}},
    {.name = "operations with heavy work",
     .keys = "client.*.operation.*.work",
     .said = "operation",
     .by_client = has_heavy_operations,
     .parts = no_theory("one of them takes more than a tenth of the attempt timeout")},
    {.name = "operations that differ in work",
     .keys = "client.*.operation.*.work",
     .said = "operation",
     .by_client = has_work_that_differs,
     .parts = {.waits = without("differences in work between operations"),
               .balance = without("differences in work between operations"),
               .run = without("differences in work between operations")}},
    {.name = "operations",
     .keys = "client.*.operation.*.share",
     .said = "operation",
     .by_client = has_operations,
     .parts = {.chain = none("all requests of the chain are alike")}},
    {.name = "adaptive mode at a service that throttles",
     .keys = "client.*.retry.rate_limit.on_empty client.*.retry.rate_limit.acquire "
             "client.*.retry.rate_limit.wait client.*.retry.rate_limit.update "
             "client.*.retry.rate_limit.retry_cost client.*.retry.rate_limit.costly_retry_cost "
             "client.*.retry.rate_limit.initial_fill_rate client.*.retry.rate_limit.min_rate "
             "client.*.retry.rate_limit.initial_measured_rate "
             "client.*.retry.rate_limit.round_rates",
     .said = "retry.rate_limit",
     .by_client = limiter_may_wake,
     .parts = {.balance = none("the rate of a limiter depends on its history"),
               .bound = none("the rate of a limiter depends on its history")}},
    {.name = "adaptive mode",
     .keys = "client.*.retry.rate_limit.min_rate",
     .said = "retry",
     .by_client = has_limiter,
     .parts = {.run = without("whole send tokens (clients of adaptive mode are forty "
                              "representatives)")}},
    {.name = "a client-side throttle",
     .keys = "client.*.retry.client_throttle.k client.*.retry.client_throttle.window "
             "client.*.retry.client_throttle.window_calls",
     .said = "retry.client_throttle",
     .by_client = has_client_throttle,
     .parts = {.balance =
                   none("the share that a client-side throttle refuses depends on its history")}},
    {.name = "hedging, breakers, throttles or limiters of clients",
     .keys = "client.*.retry.hedging.delay client.*.retry.breaker.failure_share "
             "client.*.retry.client_throttle.k client.*.retry.rate_limit.min_rate",
     .said = "retry",
     .by_client = client_rules,
     .parts = {.chain = none("the chain does not model hedging, breakers, throttles or limiters of "
                             "clients")}},
    {.name = "decorrelated jitter",
     .keys = "client.*.retry.backoff.jitter client.*.retry.backoff.throttle_jitter "
             "client.*.retry.backoff.decorrelated_from_full",
     .said = "retry.backoff.jitter",
     .by_client = is_decorrelated,
     .parts = {.run = without("the dependence of a decorrelated delay on the previous one")}},
    {.name = "features that every part models",
     .keys = "duration warmup drain drain_limit service.*.servers service.*.service_time "
             "service.*.concurrency.limit client.*.count client.*.retry.max_retries "
             "client.*.retry.max_attempts client.*.retry.probability client.*.retry.delays "
             "client.*.retry.classifier client.*.retry.status_429 client.*.retry.timeout_class "
             "client.*.retry.refreshable_credentials "
             "client.*.retry.backoff.base client.*.retry.backoff.throttle_base "
             "client.*.retry.backoff.factor client.*.retry.backoff.cap "
             "client.*.retry.backoff.first_exponent client.*.retry.backoff.max_exponent "
             "client.*.retry.backoff.jitter_before_cap client.*.retry.backoff.jitter_share "
             "client.*.retry.backoff.over_cap "
             "client.*.retry.backoff.immediate_retries client.*.retry.backoff.quantum "
             "client.*.retry.backoff.rounding client.*.retry.retry_after "
             "client.*.retry.retry_after_max recovery.share "
             "recovery.hold recovery.window"},
    {.name = "choices that only set other keys",
     .keys = "client.*.retry.from_environment client.*.retry.mode client.*.retry.revision "
             "client.*.retry.sdk client.*.retry.api client.*.retry.defect client.*.like "
             "service.*.like"},
    {.name = "settings of the simulation and its measurements",
     .keys = "name description seed replications precision precision_metrics max_replications "
             "interval service.*.wait_within service.*.price service.*.rejection_price "
             "phase.*.start phase.*.duration phase.*.end expect.*.metric expect.*.client "
             "expect.*.at_most expect.*.at_least"},
};

template <class Found>
void each_used(Theory part, const Scenario& scenario, std::size_t service, Coverage how,
               Found found) {
  stop_point();  // there may be many services and groups
  const std::string service_path = "service." + scenario.services.at(service).name;
  for (const Feature& f : kFeatures) {
    const Treatment& treatment = f.parts.of(part);
    if (treatment.how != how || f.by_service == nullptr) continue;
    if (f.by_service(scenario, service) && !found(f, treatment, service_path)) return;
  }
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    const std::string path = path_of(c);
    for (const Feature& f : kFeatures) {
      const Treatment& treatment = f.parts.of(part);
      if (treatment.how != how || f.by_client == nullptr) continue;
      if (f.by_client(scenario, c, service) && !found(f, treatment, path)) return;
    }
  }
}

}  // namespace

const Treatment& Treatments::of(Theory part) const {
  switch (part) {
    case Theory::kLoads:
      return loads;
    case Theory::kWaits:
      return waits;
    case Theory::kLate:
      return late;
    case Theory::kBalance:
      return balance;
    case Theory::kRun:
      return run;
    case Theory::kChain:
      return chain;
    case Theory::kBound:
      break;
  }
  return bound;
}

std::span<const Feature> features() { return kFeatures; }

std::optional<Refusal> refusal(Theory part, const Scenario& scenario, std::size_t service) {
  std::optional<Refusal> found;
  each_used(part, scenario, service, Coverage::kRefused,
            [&](const Feature& f, const Treatment& treatment, const std::string& path) {
              found = {std::string(f.name),
                       path + (f.said.empty() ? "" : ".") + std::string(f.said),
                       std::string(treatment.text)};
              return false;
            });
  if (!found && !is_called(scenario, service)) {
    found = {"", "service." + scenario.services.at(service).name, "no client calls it"};
  }
  return found;
}

std::optional<std::string> why_not(Theory part, const Scenario& scenario, std::size_t service) {
  const std::optional<Refusal> found = refusal(part, scenario, service);
  if (!found) return std::nullopt;
  return found->place + ": " + found->why;
}

std::string sentence_of(const Refusal& refusal, std::string_view what, std::string_view theory,
                        std::string_view subject) {
  if (refusal.feature.empty()) return fmt::format("No {} for {}: {}", what, subject, refusal.why);
  return fmt::format("No {} for {}: {} cannot model {} ({})", what, subject, theory,
                     refusal.feature, refusal.place);
}

std::vector<std::string> left_out(Theory part, const Scenario& scenario, std::size_t service) {
  std::vector<std::string> found;
  each_used(part, scenario, service, Coverage::kLeftOut,
            [&](const Feature&, const Treatment& treatment, const std::string&) {
              if (std::ranges::find(found, treatment.text) == found.end()) {
                found.emplace_back(treatment.text);
              }
              return true;
            });
  return found;
}

std::vector<Unmodelled> unmodelled(const Scenario& scenario) {
  std::vector<Unmodelled> all;
  for (const Feature& f : kFeatures) {
    stop_point();
    Unmodelled found{
        std::string(f.name), {}, words_of(f, Coverage::kLeftOut), words_of(f, Coverage::kRefused)};
    if (found.left_out.empty() && found.no_figure.empty()) continue;
    const auto add = [&](const std::string& path) {
      std::string place = path + (f.said.empty() ? "" : ".") + std::string(f.said);
      if (found.places.empty() || found.places.back() != place) {
        found.places.push_back(std::move(place));
      }
    };
    for (std::size_t s = 0; f.by_service != nullptr && s < scenario.services.size(); ++s) {
      if (!f.by_service(scenario, s)) continue;
      if (!f.keys.starts_with("fault.")) add("service." + scenario.services[s].name);
      for (const FaultSpec& fault : scenario.faults) {
        const bool counts = fault.service == s && (f.by_service != crashes || fault.crash);
        if (f.keys.starts_with("fault.") && counts) add("fault." + fault.name);
      }
    }
    for (const ClientSpec& c : scenario.clients) {
      if (f.by_client == nullptr) break;
      const bool used = std::ranges::any_of(
          called_services(c), [&](std::size_t s) { return f.by_client(scenario, c, s); });
      if (used) add(path_of(c));
    }
    if (!found.places.empty()) all.push_back(std::move(found));
  }
  return all;
}

std::string words_of(const Feature& feature, Coverage how) {
  std::string text;
  std::string_view last;
  for (std::size_t i = 0; i < kTheories; ++i) {
    const Treatment& treatment = feature.parts.of(static_cast<Theory>(i));
    if (treatment.how != how) continue;
    if (!text.empty() && treatment.text != last) text += ": " + std::string(last) + "; ";
    if (!text.empty() && treatment.text == last) text += ", ";
    text += kTheoryNames[i];
    last = treatment.text;
  }
  return text.empty() || last.empty() ? text : text + ": " + std::string(last);
}

}  // namespace retrysim::prediction

namespace retrysim {

// --- Whether the fluid applies -------------------------------------------------------------------

namespace {

using prediction::is_throttled;
using prediction::kForever;

}  // namespace

std::optional<std::string> why_no_fluid(const Scenario& scenario, std::size_t service) {
  if (auto why = prediction::why_not(prediction::Theory::kRun, scenario, service)) return why;
  // A step is no longer than the shortest timeout, and their number is limited.
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  if (system.shortest_timeout * prediction::kMostFluidSteps < system.duration + system.drain) {
    return fmt::format("attempt_timeout: {} is too short for a fluid that runs for {}",
                       scenario::said_time(system.shortest_timeout),
                       scenario::said_time(system.duration + system.drain));
  }
  return std::nullopt;
}

std::optional<std::string> why_no_balance(const Scenario& scenario, std::size_t service) {
  return prediction::why_not(prediction::Theory::kBalance, scenario, service);
}

std::optional<FluidEquilibria> balance_with_any_retries(const Scenario& scenario,
                                                        std::size_t service) {
  const auto has_own_quota = [](const ClientSpec& c) {
    const QuotaRules& quota = c.retry.quota;
    return quota.enabled && (quota.scope > RetryScope::kGroup || !c.retryer.empty() ||
                             quota.on_empty == QuotaOnEmpty::kWait || quota.partial);
  };
  const bool limited = std::ranges::any_of(scenario.clients, [&](const ClientSpec& c) {
    return share_of_calls(c, service) > 0 &&
           (c.unrepeatable > 0 || !c.retryer.empty() || c.retry.budget.in_use() ||
            c.retry.guard.enabled || has_own_quota(c));
  });
  if (!limited) return std::nullopt;
  Scenario with = scenario;
  for (ClientSpec& c : with.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (has_own_quota(c)) c.retry.quota = {};
    c.unrepeatable = 0;
    c.retryer.clear();
    c.retry.budget = {};
    c.retry.guard = {};
  }
  if (why_no_balance(with, service)) return std::nullopt;
  const FluidPhase most = fluid_equilibria(with, service).phase;
  for (ClientSpec& c : with.clients) {
    if (share_of_calls(c, service) > 0) c.retry.max_attempts = 1;
  }
  if (why_no_balance(with, service)) return std::nullopt;
  FluidEquilibria least = fluid_equilibria(with, service);
  if (least.phase != most) return std::nullopt;
  return least;
}

namespace {

/// Share of the attempts that a full queue turns away: of Poisson arrivals with exponential
/// services, by Erlang's recursion.
double turned_away_by_chance(double load, double servers, double places) {
  double full = 1;
  for (double n = 1; n <= servers + places; ++n) {
    const double work = load * servers * full;
    full = work / (std::min(n, servers) + work);
  }
  return full;
}

/// Why a queue with little room is not what the fluid says of it, which turns away only what is
/// beyond its capacity; empty: it is.
std::string doubt_of_short_queue(const Scenario& scenario, std::size_t service,
                                 const prediction::FluidSystem& system) {
  constexpr double kMuch = 0.02, kMostPlaces = 100'000;
  if (system.servers == kForever || system.room == kForever) return "";
  double rate = 0, work = 0;
  for (const prediction::FluidClients& g : system.groups) {
    const double its = flow::mean_request_rate(scenario, scenario.clients[g.client]);
    rate += its, work += its * g.service_time;
  }
  if (rate <= 0 || work <= 0) return "";
  const double load = work / system.servers;
  const double places = std::floor(system.room * system.servers * rate / work);
  if (places > kMostPlaces || system.servers > kMostPlaces) return "";
  const double by_chance = turned_away_by_chance(load, system.servers, places);
  const double by_fluid = std::max(0.0, 1 - 1 / load);
  if (by_chance - by_fluid < kMuch) return "";
  return fmt::format(
      "service.{}.queue has room for {:.0f} attempts, which chance fills: {:.0f} % of the first "
      "attempts are turned away, {:.0f} % in the fluid",
      scenario.services[service].name, places, 100 * by_chance, 100 * by_fluid);
}

}  // namespace

std::optional<WorstLoad> worst_load(const Scenario& scenario, std::size_t service) {
  if (prediction::why_not(prediction::Theory::kBound, scenario, service)) return std::nullopt;
  const ServiceSpec& spec = scenario.services[service];
  WorstLoad load;
  double attempts_of_all = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    const double rate = flow::mean_request_rate(scenario, c);
    if (rate <= 0) continue;
    const double work = flow::service_seconds_at(scenario, c, service);
    const double most = std::max(work, spec.rejection.cost.in_seconds());
    const double attempts = c.retry.max_attempts == RetryRules::kUnlimited
                                ? kForever
                                : static_cast<double>(c.retry.max_attempts);
    load.first += rate * work;
    if (most > 0) load.worst += rate * attempts * most;
    attempts_of_all += rate * attempts;
    // A throttle that may refuse would make more attempts of those that it refuses.
    if (spec.throttle.scope == ThrottleScope::kClient && is_throttled(scenario, service) &&
        rate * attempts >= spec.throttle.rate * c.count) {
      return std::nullopt;
    }
  }
  if (is_throttled(scenario, service) && attempts_of_all >= spec.throttle.rate &&
      spec.throttle.scope != ThrottleScope::kClient) {
    return std::nullopt;
  }
  const auto servers = static_cast<double>(std::min(spec.servers, spec.concurrency.limit));
  if (spec.servers == ServiceSpec::kUnlimited) return std::nullopt;
  load.first /= servers;
  load.worst /= servers;
  return load;
}

std::vector<std::string> ignored_by_fluid(const Scenario& scenario, std::size_t service) {
  std::vector<std::string> ignored = {"chance"};
  for (std::string& what : prediction::left_out(prediction::Theory::kRun, scenario, service)) {
    ignored.push_back(std::move(what));
  }
  return ignored;
}

double fluid_uncertainty(const Scenario& scenario, std::size_t service) {
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  double least = kForever;
  for (const prediction::FluidClients& g : system.groups) {
    double rate = system.servers / g.service_time;  // services per second
    if (system.servers == kForever && system.slowdown > 0) {
      const double room = g.timeout - g.round_trip;
      rate = (1 - g.service_time / room) / (system.slowdown * g.service_time);
    }
    if (g.timeout != kForever && rate > 0) least = std::min(least, rate * g.timeout);
  }
  return 1 / std::sqrt(least);
}

std::vector<std::string> doubts_of_fluid(const Scenario& scenario, std::size_t service) {
  constexpr double kServicesPerTimeout = 200, kClients = 50, kAttemptsPerSecond = 20;
  std::vector<std::string> doubts;
  const double uncertainty = fluid_uncertainty(scenario, service);
  if (uncertainty > 1 / std::sqrt(kServicesPerTimeout) * 1.001) {
    doubts.push_back(
        fmt::format("only {:.0f} services in one attempt timeout ({:.0f} are needed): "
                    "chance moves the backlog by {:.0f} %",
                    1 / (uncertainty * uncertainty), kServicesPerTimeout, 100 * uncertainty));
  }
  std::string short_queue =
      doubt_of_short_queue(scenario, service, prediction::fluid_system(scenario, service));
  if (!short_queue.empty()) doubts.push_back(std::move(short_queue));
  for (const ClientSpec& c : scenario.clients) {
    if (c.service != service) continue;
    const std::string path = "client." + c.name;
    const bool own_state = (c.retry.quota.enabled && c.retry.quota.scope == RetryScope::kClient) ||
                           c.retry.throttle.enabled || c.retry.rate_limit.enabled;
    if (own_state && c.count < kClients) {
      doubts.push_back(
          fmt::format("{}.count: {} clients, each with its own state, are too few ({:.0f} are "
                      "needed)",
                      path, c.count, kClients));
    }
    const double slots = static_cast<double>(c.count) * c.arrivals.concurrency;
    if (c.arrivals.process == ArrivalProcess::kClosed && slots < kClients) {
      doubts.push_back(
          fmt::format("{}: {:.0f} requests at a time wait for each other by chance "
                      "({:.0f} are needed)",
                      path, slots, kClients));
    }
    const double rate = flow::mean_request_rate(scenario, c) / c.count;
    if (c.retry.rate_limit.enabled && rate < kAttemptsPerSecond) {
      doubts.push_back(
          fmt::format("{}: the limiter of adaptive mode measures in half seconds, in "
                      "which a client with {} requests a second has hardly any: its "
                      "rates are a matter of chance",
                      path, scenario::said_count(rate)));
    }
    if (c.retry.throttle.enabled && c.retry.throttle.window_calls == 0) {
      const double calls = rate * c.retry.throttle.window.in_seconds();
      if (calls < kServicesPerTimeout) {
        doubts.push_back(
            fmt::format("{}.retry.throttle.window holds {:.0f} requests of a client, "
                        "too few to tell a share",
                        path, calls));
      }
    }
  }
  return doubts;
}

}  // namespace retrysim
