// SPDX-License-Identifier: MIT
#include "model/run/books.hpp"

#include "kernel/stop.hpp"
#include "model/client/clients.hpp"
#include "model/network/network.hpp"

#include <retrysim/error.hpp>

#include "model/run/state.hpp"
#include "model/service/services.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::model {

// Attempts of the cohort that are open at the end of the run.
ByGroup<std::uint64_t> Books::open_attempts() const {
  ByGroup<std::uint64_t> open(clients_.groups().size());
  StopCounter<> stop;
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    stop.count();
    const Request& r = state_.requests[id];
    if (!r.open || !r.in_cohort) continue;
    for (AttemptId a = r.attempt; a.exists(); a = state_.attempts[a].sibling) {
      stop.count();
      ++open[r.group];
    }
  }
  return open;
}

// Attempts that are still there when the run is over stay until the last bin ends.
Instance::TimeSpent Books::time_spent(InstanceId instance, Time end) const {
  const Instance& s = state_.instances[instance];
  Instance::TimeSpent spent = s.time_spent();
  StopCounter<> stop;
  const auto is_served = [&](const Attempt& a) {
    stop.count();
    spent.in_system += (end - a.started).count();
  };
  s.servers().for_each([&](std::uint32_t id) { is_served(state_.attempts[AttemptId(id)]); });
  for (const AttemptId id : state_.holders.at(instance)) is_served(state_.attempts[id]);
  s.queue().for_each([&](const Attempt& a) {
    stop.count();
    spent.queued += (end - a.arrived).count();
    spent.in_system += (end - a.arrived).count();
  });
  return spent;
}

// Checks at the end of every run, in every build: nothing was lost or counted twice, time adds up,
// tokens and effects are no more than the rules allow. They see sums that were kept apart while the
// world ran, so that a mistake in one place shows in the other.

namespace {

/// How far time integrals may be off, relative to their size. They are sums of doubles, to which
/// each event may add a term, with up to four rounding errors; sums of integers are exact.
double rounding_after(std::uint64_t events) { return 1e-9 + static_cast<double>(events) * 0x1p-51; }

template <class Counts>
std::uint64_t total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// What is wrong with the counts of a client group; empty if nothing is.
std::string_view miscount(const ClientResult& c, std::uint64_t open_attempts) {
  if (total(c.outcomes) != c.requests) return "a request was lost or counted twice";
  if (total(c.results) + open_attempts != c.attempts) {
    return "an attempt was lost or counted twice";
  }
  // The last count is of all later attempts together.
  const std::size_t single = std::min<std::size_t>(c.by_attempt.size(), kMaxAttemptNumber - 1);
  for (std::size_t i = 1; i < single; ++i) {
    if (c.by_attempt[i].sent > c.by_attempt[i - 1].sent) {
      return "a retry without the attempt before it";
    }
  }
  if (!c.by_attempt.empty() && c.by_attempt[0].sent > c.requests) {
    return "more first attempts than requests";
  }
  return "";
}

/// Whether no random error is what clients take for a success: programs may ask for any status.
bool errors_are_failures(const std::vector<RandomError>& errors) {
  return std::ranges::none_of(errors, [](const RandomError& e) {
    return e.answer.status >= 200 && e.answer.status < 300 && e.answer.code.empty();
  });
}

bool errors_are_failures(const Scenario& scenario, std::size_t service) {
  return errors_are_failures(scenario.services[service].errors) &&
         std::ranges::all_of(scenario.faults, [&](const FaultSpec& f) {
           return f.service != service || errors_are_failures(f.errors);
         });
}

/// Whether the service, with these faults, refuses attempts only when they arrive.
bool refuses_at_once(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services[service];
  const bool errors_come_later =
      !s.errors_at.on_arrival() || std::ranges::any_of(scenario.faults, [&](const FaultSpec& f) {
        return f.service == service && !f.errors_at.on_arrival();
      });
  return !errors_come_later && s.model == ServiceModelKind::kQueue && !s.queue.sheds() &&
         !s.queue.evicts() && !s.idempotency.remembers();
}

/// What its services did with the attempts of a group, against what became of them.
/// `refused_at_once`: those that refuse attempts do so only when they arrive. `passes`: of an
/// attempt through the service.
std::string_view miscount_at_service(const ClientResult& c, bool refused_at_once,
                                     std::uint64_t passes, bool only_service_succeeds) {
  const std::uint64_t succeeded = c.results[static_cast<std::size_t>(AttemptResult::kSuccess)];
  if (succeeded != c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)]) {
    return "successful requests and successful attempts differ";
  }
  if (only_service_succeeds && succeeded > c.executed + c.replays + c.reconciled) {
    return "more successes than executions";
  }
  if (c.executed > c.arrivals || c.executed > c.admitted) {
    return "more executions than attempts at the service";
  }
  if (c.refused > c.attempts) return "more refusals than attempts";
  if (c.admitted + (refused_at_once ? c.refused : 0) > passes * c.arrivals) {
    return "more attempts admitted or refused than arrived";
  }
  return "";
}

/// Parts of the latencies against their whole, and (Little's law) against the levels over time.
std::string_view lost_time(const ClientResult& c, bool attempts_overlap, bool cohort_is_all,
                           double rounding) {
  const bool all_ended = c.outcomes[static_cast<std::size_t>(Outcome::kUnfinished)] == 0;
  const WideNanoseconds parts =
      c.send_wait_ns + c.connection_wait_ns + c.backoff_total_ns + c.attempt_total_ns;
  if (all_ended && !attempts_overlap ? parts != c.latency_m.sum_ns : parts < c.latency_m.sum_ns) {
    return "the parts of the latencies do not add up";
  }
  double in_backoff = 0, in_flight = 0, waiting = 0, connecting = 0;
  for (const ClientBin& bin : c.bins) {
    in_backoff += bin.flow.in_backoff_ns;
    in_flight += bin.flow.in_flight_ns;
    waiting += bin.flow.limiter_waiting_ns;
    connecting += bin.flow.connection_waiting_ns;
  }
  // Attempts from before the window are in the levels, but not in the cohort.
  const auto differs = [&](double level, WideNanoseconds times) {
    const double sum = static_cast<double>(times);
    const double margin = 1 + std::max(level, sum) * rounding;
    return level < sum - margin || (cohort_is_all && all_ended && level > sum + margin);
  };
  if (differs(in_flight, c.attempt_total_ns)) return "Little's law: attempts in flight";
  if (differs(in_backoff, c.backoff_total_ns)) return "Little's law: requests in backoff";
  if (differs(waiting, c.send_wait_ns)) return "Little's law: requests waiting for send tokens";
  if (differs(connecting, c.connection_wait_ns)) {
    return "Little's law: requests waiting for connections";
  }
  return "";
}

/// Little's law at a service: what attempts spent there, one by one, against the levels over time.
/// `rounding`: how far the levels may be off, relative to that of all attempts there.
std::string_view lost_time(const ServiceResult& s, const Instance::TimeSpent& spent,
                           double rounding) {
  double in_system = 0, queued = 0;
  for (const ServiceFlow& bin : s.bins) {
    in_system += bin.in_system_ns;
    queued += bin.queue_ns;
  }
  const double margin = 1 + in_system * rounding;
  if (std::abs(in_system - static_cast<double>(spent.in_system)) > margin) {
    return "Little's law: attempts at the service";
  }
  if (std::abs(queued - static_cast<double>(spent.queued)) > margin) {
    return "Little's law: attempts in the queue";
  }
  return "";
}

/// What the services of a group do about tokens: some of them, where it says "some".
struct TokenRules {
  bool some_wait = false, some_store_late = false, some_store_before = false;
};

/// What tokens and questions before a retry did, against what the rules allow.
/// `only_service_succeeds`: no success is an error that the client takes for one.
std::string_view miscount_of_effects(const ClientResult& c, const ClientSpec& client,
                                     const TokenRules& rules, bool only_service_succeeds) {
  const std::uint64_t first = c.by_attempt.empty() ? 0 : c.by_attempt[0].sent;
  if (c.reconciled > c.reconciliations) return "more effects found than questions asked";
  if (c.reconciliations > (client.side_effects.reconciles ? c.attempts - first : 0)) {
    return "more questions than retries";
  }
  if (c.reconciled > 0 && c.effects == 0) return "an effect was found that had not happened";
  if (c.token_waits > (rules.some_wait ? c.admitted : 0)) {
    return "an attempt waited for another one with its token against the rules";
  }
  if (c.token_races > (rules.some_store_late ? c.admitted : 0)) {
    return "a token that had been stored was not found";
  }
  if (c.lost_effects > (rules.some_store_before || !only_service_succeeds ? c.mutating : 0)) {
    return "a request succeeded without an effect";
  }
  const bool by_content = client.side_effects.token_from == TokenSource::kContent;
  if (c.swallowed > (by_content ? std::min(c.mutating, c.replays) : 0)) {
    return "a request was answered by the effect of another one";
  }
  return "";
}

/// Waits at services that time them; `all`: all of the group's are such services.
std::string_view miscount_of_waits(const ClientResult& c, bool all) {
  const WaitCounts& w = c.waits;
  if (w.within > w.started || w.started > w.arrivals) return "more waits timed than attempts";
  if (all && w.started != c.queueing_time_m.count) return "a wait was not timed";
  return "";
}

/// Whether a request to the service can take effect but once.
bool deduplicates(const Scenario& scenario, const ClientSpec& client, std::size_t called) {
  const ServiceSpec& service = scenario.services[called];
  const Duration longest = scenario.duration + scenario.drain_limit;
  return client.side_effects.idempotency_token && client.side_effects.token_reuse == 0 &&
         service.idempotency.remembers() && service.idempotency.window >= longest &&
         service.idempotency.in_progress != InProgress::kExecute &&
         !service.idempotency.has_write_delay();
}

}  // namespace

void Books::violated(std::string_view what) const {
  throw InvariantViolated(
      fmt::format("internal check failed: {} (seed {}, replication {}, simulated time {} s)", what,
                  state_.scenario.seed, state_.replication, state_.now.in_seconds()));
}

void Books::check(const RunResult& result) const {
  if (clients_.submitted() != clients_.ended()) {
    violated("requests submitted and ended differ");
  }
  // Jobs are polled for to their end, beyond the window, which calls other services as well.
  const bool polls = std::ranges::any_of(state_.scenario.clients, [](const ClientSpec& client) {
    return client.arrivals.process == ArrivalProcess::kPoll;
  });
  const ByGroup<std::uint64_t> open_now = open_attempts();
  for (const GroupId i : Ids<GroupId>(clients_.groups().size())) {
    stop_point();
    check_group(result, i, polls, open_now[i]);
  }
  for (const ServiceId i : Ids<ServiceId>(state_.instances.services())) {
    stop_point();
    check_service(result, i);
  }
  // Last: a wrong count has an error that says more.
  if (const std::string wrong = wrong_level(result); !wrong.empty()) violated(wrong);
}

void Books::check_group(const RunResult& result, GroupId group, bool polls,
                        std::uint64_t open) const {
  const Scenario& scenario = state_.scenario;
  const ClientSpec& spec = scenario.clients[group];
  const ClientResult& c = result.clients[group];
  const auto check = [&](std::string_view wrong) {
    if (!wrong.empty()) violated(fmt::format("client {}: {}", spec.name, wrong));
  };
  const bool cohort_is_all = scenario.warmup == Duration::zero() && !polls;
  check(miscount(c, open));
  check(lost_time(c, spec.retry.hedging.enabled, cohort_is_all, rounding_after(result.events)));
  bool refused_at_once = true, only_service_succeeds = true, deduplicated = true;
  bool times_all_waits = true;
  TokenRules token_rules;
  std::uint64_t passes = spec.side_effects.reconciles ? 2 : 1;
  for (const std::size_t i : called_services(spec)) {
    refused_at_once &= refuses_at_once(scenario, i);
    only_service_succeeds &= errors_are_failures(scenario, i);
    deduplicated &= deduplicates(scenario, spec, i);
    // Attempts on a row under optimistic concurrency control come twice, and so do retries that
    // begin with a read.
    if (scenario.services[i].model == ServiceModelKind::kOcc) passes = 2;
    const IdempotencySpec& tokens = scenario.services[i].idempotency;
    token_rules.some_wait |= tokens.in_progress == InProgress::kWait;
    token_rules.some_store_late |= tokens.has_write_delay();
    token_rules.some_store_before |= tokens.keeps_without_effect();
    times_all_waits &= scenario.services[i].wait_within != Duration::max();
  }
  check(miscount_of_effects(c, spec, token_rules, only_service_succeeds));
  check(miscount_of_waits(c, times_all_waits));
  check(miscount_at_service(c, refused_at_once, passes, only_service_succeeds));
  const RetryDecisions::TokenBooks& tokens = clients_.decisions().tokens(group);
  if (tokens.refunded > tokens.refundable) {
    check("more retry quota was given back than had been taken");
  }
  for (const RetryQuota& quota : clients_.groups()[group].states->quotas()) {
    if (quota.available < 0 || quota.available > spec.retry.quota.capacity) {
      check("retry quota out of range");
    }
  }
  if (c.duplicated > 0 && deduplicated) {
    check("a request took effect twice although its token was known");
  }
}

void Books::check_service(const RunResult& result, ServiceId service) const {
  double most_servers = 0;
  const ServiceResult& s = result.services[service];
  const auto check = [&](std::string_view wrong) {
    if (wrong.empty()) return;
    violated(fmt::format("service {}: {}", state_.scenario.services[service].name, wrong));
  };
  const double window_ns = static_cast<double>((result.window_end - result.window_start).count());
  const double rounding = rounding_after(result.events);
  // Servers that are taken away finish what they do: more may be busy than work, but never more
  // than worked at once before.
  for (const InstanceId i : state_.instances.of(service)) {
    const Instance& there = state_.instances[i];
    most_servers += static_cast<double>(there.power().most_servers());
  }
  if (s.window.busy_ns > most_servers * window_ns * (1 + rounding)) {
    check("more busy time than servers");
  }
  if (s.unused + s.failed > s.window.completions) {
    check("more executions without use than executions");
  }
  const Time end = Time::zero() + result.interval * static_cast<std::int64_t>(s.bins.size());
  Instance::TimeSpent spent;
  for (const InstanceId i : state_.instances.of(service)) {
    const Instance::TimeSpent there = time_spent(i, end);
    spent.queued += there.queued;
    spent.in_system += there.in_system;
  }
  check(lost_time(s, spent, rounding));
  check(wrong_instances(result, service));
}

// Checks of levels at the end of every run: what the recorder was told against what is there, and
// time averages against the least and the most that the level can have been. They would show a
// change of level that nobody told the recorder of.

namespace {

/// How far a time integral may be off, relative to its size: it is a sum of doubles, and each event
/// may add to it once.
double rounding_of(std::uint64_t events) { return 1e-9 + static_cast<double>(events) * 0x1p-51; }

std::string in_words(const stats::GroupLevels& l) {
  return fmt::format(
      "{} waiting to send, {} for a connection, {} in backoff, {} in flight, {} "
      "tokens, {} open breakers",
      l.limiter_waiting, l.connection_waiting, l.in_backoff, l.in_flight, l.quota, l.open_breakers);
}

std::string in_words(const stats::StationLevels& l) {
  return fmt::format("{} busy, {} there, {} queued, {} servers", l.busy, l.in_system, l.queued,
                     l.working);
}

template <class Levels>
std::string difference(const Levels& recorded, const Levels& real) {
  if (recorded == real) return "";
  return fmt::format("levels: the recorder has {}; there are {}", in_words(recorded),
                     in_words(real));
}

/// Waiting requests, and attempts in flight, against the requests that can have been open.
/// `in_flight_too`: without hedging a request has one attempt at most, and none while it waits.
std::string_view wrong_bin(const ClientResult& c, double width_ns, bool in_flight_too,
                           double rounding) {
  std::uint64_t open = 0;  // when the bin begins
  for (const ClientBin& bin : c.bins) {
    const ClientFlow& f = bin.flow;
    if (f.limiter_waiting_ns < 0 || f.connection_waiting_ns < 0 || f.in_backoff_ns < 0 ||
        f.in_flight_ns < 0) {
      return "a level is negative";
    }
    const double busy = f.limiter_waiting_ns + f.connection_waiting_ns + f.in_backoff_ns +
                        (in_flight_too ? f.in_flight_ns : 0);
    const double most = static_cast<double>(open + f.requests) * width_ns;
    if (busy > most * (1 + rounding) + 1) return "more requests under way than there were";
    if (open + f.requests < f.successes + f.failures) return "more requests ended than began";
    open += f.requests - f.successes - f.failures;
  }
  return "";
}

/// Mean durations against the shortest and the longest.
std::string_view wrong_mean(const Histogram& all, const DurationMoments& moments) {
  if (all.count() != moments.count) return "durations were counted differently";
  if (moments.count == 0) return "";
  const double mean = static_cast<double>(moments.sum_ns) / static_cast<double>(moments.count);
  const Histogram::Bounds least = all.quantile_bounds(0), most = all.quantile_bounds(1);
  if (mean < least.low * (1 - 1e-9) || mean > most.high * (1 + 1e-9)) {
    return "a mean duration is not between the shortest and the longest";
  }
  return "";
}

std::string_view wrong_means(const ClientResult& c) {
  for (const std::string_view wrong :
       {wrong_mean(c.latency, c.latency_m), wrong_mean(c.latency_ok, c.latency_ok_m),
        wrong_mean(c.latency_intended, c.latency_intended_m),
        wrong_mean(c.attempt_latency, c.attempt_latency_m),
        wrong_mean(c.service_latency, c.service_latency_m),
        wrong_mean(c.queueing_time, c.queueing_time_m)}) {
    if (!wrong.empty()) return wrong;
  }
  return "";
}

/// One bin of a service. `most_servers`: that ever worked at once.
std::string_view wrong_bin(const ServiceFlow& f, double width_ns, double most_servers,
                           double rounding) {
  const double margin = 1 + rounding * std::max(f.in_system_ns, width_ns);
  const double width = width_ns * (1 + rounding);
  if (f.queue_ns < -margin || f.busy_ns < 0 || f.in_system_ns < 0 || f.servers_ns < 0) {
    return "a level is negative";
  }
  if (f.queue_ns > static_cast<double>(f.queue_max) * width + margin) {
    return "the mean of the queue is above its maximum";
  }
  if (f.all_busy_ns > width) return "more time without a free server than there was";
  if (f.busy_ns > most_servers * width || f.servers_ns > most_servers * width) {
    return "more servers than ever worked";
  }
  // The mean of a square is no less than the square of the mean.
  if (f.in_system_ns * f.in_system_ns > f.in_system_squared_ns * width * (1 + rounding)) {
    return "the variance of the attempts at the service is negative";
  }
  return "";
}

}  // namespace

ByGroup<stats::GroupLevels> Books::group_levels() const {
  ByGroup<stats::GroupLevels> levels(clients_.groups().size());
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    const Request& r = state_.requests[id];
    if (!r.open) continue;
    stats::GroupLevels& l = levels[r.group];
    l.limiter_waiting += r.phase == Request::Phase::kWaitingToSend;
    l.connection_waiting += r.phase == Request::Phase::kWaitingForConnection;
    l.in_backoff += r.phase == Request::Phase::kInBackoff;
    for (AttemptId a = r.attempt; a.exists(); a = state_.attempts[a].sibling) ++l.in_flight;
  }
  for (const ClientGroup& g : clients_.groups()) {
    for (const RetryQuota& quota : g.states->quotas()) levels[g.index].quota += quota.available;
    levels[g.index].open_breakers = clients_.breakers().open_now(g.index);
  }
  return levels;
}

std::string Books::wrong_level(const RunResult& result) const {
  const ByGroup<stats::GroupLevels> real = group_levels();
  for (const GroupId i : Ids<GroupId>(real.size())) {
    stop_point();
    const std::string wrong = wrong_level_of_group(result, i, real[i]);
    if (!wrong.empty()) return "client " + state_.scenario.clients[i].name + ": " + wrong;
  }
  for (const ServiceId i : Ids<ServiceId>(state_.instances.services())) {
    const std::string wrong = wrong_level_of_service(result, i);
    if (!wrong.empty()) return "service " + state_.scenario.services[i].name + ": " + wrong;
  }
  return "";
}

std::string Books::wrong_level_of_group(const RunResult& result, GroupId group,
                                        const stats::GroupLevels& real) const {
  const RetryRules& rules = state_.scenario.clients[group].retry;
  const ClientResult& c = result.clients[group];
  std::string wrong = difference(clients_.groups()[group].recorder->levels(), real);
  if (!wrong.empty()) return wrong;
  const double rounding = rounding_of(result.events);
  const double most_tokens = rules.quota.capacity;
  const double margin = rounding * std::max(1.0, most_tokens);
  if (c.has_quota && !(c.quota_mean >= -margin && c.quota_mean <= most_tokens + margin)) {
    return "the mean level of the retry quota is out of range";
  }
  wrong =
      wrong_bin(c, static_cast<double>(result.interval.count()), !rules.hedging.enabled, rounding);
  return wrong.empty() ? std::string(wrong_means(c)) : wrong;
}

std::string Books::wrong_level_of_service(const RunResult& result, ServiceId service) const {
  stats::StationLevels there;
  double most = 0;
  for (const InstanceId i : state_.instances.of(service)) {
    const Instance& s = state_.instances[i];
    there.busy += s.servers().busy();
    there.in_system += static_cast<std::int64_t>(s.in_system());
    there.queued += static_cast<std::int64_t>(s.queued());
    const bool unlimited = s.spec().servers == ServiceSpec::kUnlimited;
    there.working =
        unlimited ? s.power().working_servers() : there.working + s.power().working_servers();
    most += static_cast<double>(s.power().most_servers());
  }
  std::string wrong =
      difference(state_.instances[state_.instances.first(service)].place.recorder->levels(), there);
  const auto width_ns = static_cast<double>(result.interval.count());
  for (const ServiceFlow& bin : result.services[service].bins) {
    if (wrong.empty()) wrong = wrong_bin(bin, width_ns, most, rounding_of(result.events));
  }
  return wrong;
}

// Checks at the end of every run with several instances of a service: what was recorded of the
// instances, one by one, against what was recorded of their service.

namespace {

/// Whether time integrals differ by more than the rounding of their sums. Infinity and NaN differ
/// from everything.
bool differ(double a, double b, double rounding) {
  return !(std::abs(a - b) <= 1 + rounding * std::min(a, b));
}

}  // namespace

std::string_view Books::wrong_instances(const RunResult& result, ServiceId service) const {
  const ServiceResult& s = result.services[service];
  if (s.instances.empty()) return "";
  // Each event may add to an integral once.
  const double rounding = 1e-9 + static_cast<double>(result.events) * 0x1p-51;
  InstanceResult sum;
  const double window_ns = static_cast<double>((result.window_end - result.window_start).count());
  for (const InstanceResult& one : s.instances) {
    sum.attempts += one.attempts;
    sum.busy_ns += one.busy_ns;
    sum.in_system_ns += one.in_system_ns;
    if (one.ejected_ns > one.out_ns * (1 + rounding) + 1) {
      return "an instance was ejected for longer than it was out of rotation";
    }
    if (one.out_ns > window_ns * (1 + rounding))
      return "an instance was out of rotation for longer than the window";
    if (one.queue_ns > static_cast<double>(one.queue_max) * window_ns * (1 + rounding) + 1) {
      return "the mean of an instance's queue is above its maximum";
    }
  }
  // If a group calls other services, too, it is not known how much of its load went here.
  std::uint64_t sent = 0;
  std::int64_t in_flight = 0;
  bool all_known = true;
  for (const ClientGroup& g : clients_.groups()) {
    if (share_of_calls(*g.spec, service) == 0) continue;
    all_known &= !g.calls_several;
    sent += result.clients[g.index].window.attempts;
    in_flight += g.recorder->levels().in_flight;
  }
  if (all_known && sum.attempts != sent)
    return "instances and clients disagree on the attempts that were sent";
  if (all_known &&
      network_.balancer().under_way(service) != static_cast<std::uint64_t>(in_flight)) {
    return "balancer and clients disagree on the attempts under way";
  }
  const Balancer::MostEjected most = network_.balancer().most_ejected(service);
  const EjectionSpec& ejection = state_.scenario.services[service].instances.ejection;
  const double allowed = ejection.max_ejection_percent * most.known / 100 + 1e-6;
  if (most.ejected > allowed && !(most.ejected == 1 && ejection.always_eject_one_host)) {
    return "a balancer has ejected more instances than it may";
  }
  if (differ(sum.busy_ns, s.window.busy_ns, rounding)) return "busy time of the instances";
  if (differ(sum.in_system_ns, s.window.in_system_ns, rounding)) {
    return "attempts at the instances";
  }
  return "";
}

}  // namespace retrysim::model
