// Checks at the end of every run, in every build: nothing was lost or counted twice, time adds up,
// tokens and effects are no more than the rules allow. They see sums that were kept apart while the
// world ran, so that a mistake in one place shows in the other.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "model/books.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {
namespace {

/// Sums of integers are exact; time integrals are sums of doubles, to which each event may add
/// once, with a rounding error or four. How far they may be off, relative to their size.
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

/// Whether the service refuses attempts only when they arrive.
bool refuses_at_once(const ServiceSpec& s) {
  return s.model == ServiceModelKind::kQueue && s.queue.discipline != Discipline::kCodel &&
         !s.idempotency.remembers();
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
  // Those before the window are in the levels, but not in the cohort.
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
std::string_view lost_time(const ServiceResult& s, const Service::TimeSpent& spent,
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

/// What tokens and questions before a retry did, against what the rules allow.
std::string_view miscount_of_effects(const ClientResult& c, const ClientSpec& client,
                                     bool waits_for_tokens, bool stores_late) {
  const std::uint64_t first = c.by_attempt.empty() ? 0 : c.by_attempt[0].sent;
  if (c.reconciled > c.reconciliations) return "more effects found than questions asked";
  if (c.reconciliations > (client.side_effects.reconciles ? c.attempts - first : 0)) {
    return "more questions than retries";
  }
  if (c.reconciled > 0 && c.effects == 0) return "an effect was found that had not happened";
  if (c.token_waits > (waits_for_tokens ? c.admitted : 0)) {
    return "an attempt waited for another one with its token against the rules";
  }
  if (c.token_races > (stores_late ? c.admitted : 0)) {
    return "a token that had been stored was not found";
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
  if (parts_.client_requests.submitted() != parts_.client_requests.ended()) {
    violated("requests submitted and ended differ");
  }
  // Jobs are polled for to their end, beyond the window, which calls other services as well.
  const bool polls = std::ranges::any_of(state_.scenario.clients, [](const ClientSpec& client) {
    return client.arrivals.process == ArrivalProcess::kPoll;
  });
  for (const GroupId i : Ids<GroupId>(state_.groups.size())) {
    stop_point();
    check_group(result, i, polls);
  }
  for (const ServiceId i : Ids<ServiceId>(state_.instances.services())) check_service(result, i);
  // Last: a wrong count has an error that says more.
  if (const std::string wrong = wrong_level(result); !wrong.empty()) violated(wrong);
}

void Books::check_group(const RunResult& result, GroupId group, bool polls) const {
  const Scenario& scenario = state_.scenario;
  const ClientSpec& spec = scenario.clients[group];
  const ClientResult& c = result.clients[group];
  const auto check = [&](std::string_view wrong) {
    if (!wrong.empty()) violated(fmt::format("client {}: {}", spec.name, wrong));
  };
  const bool cohort_is_all = scenario.warmup == Duration::zero() && !polls;
  check(miscount(c, open_attempts_[group]));
  check(lost_time(c, spec.retry.hedging.enabled, cohort_is_all, rounding_after(result.events)));
  bool refused_at_once = true, only_service_succeeds = true, deduplicated = true;
  bool waits_for_tokens = false, stores_late = false, times_all_waits = true;
  std::uint64_t passes = spec.side_effects.reconciles ? 2 : 1;
  for (const std::size_t i : called_services(spec)) {
    refused_at_once &= refuses_at_once(scenario.services[i]);
    only_service_succeeds &= errors_are_failures(scenario, i);
    deduplicated &= deduplicates(scenario, spec, i);
    // Attempts on a row under optimistic concurrency control come twice, and so do retries that
    // begin with a read.
    if (scenario.services[i].model == ServiceModelKind::kOcc) passes = 2;
    const IdempotencySpec& tokens = scenario.services[i].idempotency;
    waits_for_tokens |= tokens.in_progress == InProgress::kWait;
    stores_late |= tokens.has_write_delay();
    times_all_waits &= scenario.services[i].wait_within != Duration::max();
  }
  check(miscount_of_effects(c, spec, waits_for_tokens, stores_late));
  check(miscount_of_waits(c, times_all_waits));
  check(miscount_at_service(c, refused_at_once, passes, only_service_succeeds));
  const RetryDecisions::TokenBooks& tokens = parts_.retry_decisions.tokens(group);
  if (tokens.refunded > tokens.refundable) {
    check("more retry quota was given back than had been taken");
  }
  for (const RetryQuota& quota : state_.groups[group].states->quotas()) {
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
    const Service& there = state_.instances[i];
    most_servers += static_cast<double>(there.power().most_servers());
  }
  if (s.window.busy_ns > most_servers * window_ns * (1 + rounding)) {
    check("more busy time than servers");
  }
  if (s.unused + s.failed > s.window.completions) {
    check("more executions without use than executions");
  }
  const Time end = Time::zero() + result.interval * static_cast<std::int64_t>(s.bins.size());
  Service::TimeSpent spent;
  for (const InstanceId i : state_.instances.of(service)) {
    const Service::TimeSpent there = time_spent(i, end);
    spent.queued += there.queued;
    spent.in_system += there.in_system;
  }
  check(lost_time(s, spent, rounding));
  check(wrong_instances(result, service));
}

}  // namespace retrysim::model
