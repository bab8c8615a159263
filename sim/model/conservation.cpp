// Checks at the end of every run, in every build: nothing was lost or counted twice, time adds up,
// tokens and effects are no more than the rules allow. They see sums that were kept apart while the
// world ran, so that a mistake in one place shows in the other.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

#include "model/world.hpp"

namespace retrysim::model {
namespace {

/// Sums of integers are exact; time integrals are sums of doubles.
constexpr double kRounding = 1e-9;

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
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < c.by_attempt.size(); ++i) {
    sent += c.by_attempt[i].sent;
    // The last count is of all later attempts together.
    const bool single = i > 0 && i + 1 < kMaxAttemptNumber;
    if (single && c.by_attempt[i].sent > c.by_attempt[i - 1].sent) {
      return "a retry without the attempt before it";
    }
  }
  if (sent != c.attempts) return "attempts by their number do not add up to all attempts";
  if (!c.by_attempt.empty() && c.by_attempt[0].sent > c.requests) {
    return "more first attempts than requests";
  }
  return "";
}

/// Parts of the latencies against their whole, and (Little's law) against the levels over time.
std::string_view lost_time(const ClientResult& c, bool attempts_overlap, bool cohort_is_all) {
  const bool all_ended = c.outcomes[static_cast<std::size_t>(Outcome::kUnfinished)] == 0;
  const WideNanoseconds parts =
      c.send_wait_ns + c.connection_wait_ns + c.backoff_total_ns + c.attempt_total_ns;
  if (all_ended && !attempts_overlap ? parts != c.latency_m.sum_ns : parts < c.latency_m.sum_ns) {
    return "the parts of the latencies do not add up";
  }
  double in_backoff = 0, in_flight = 0, waiting = 0;
  for (const ClientBin& bin : c.bins) {
    in_backoff += bin.flow.in_backoff_ns;
    in_flight += bin.flow.in_flight_ns;
    waiting += bin.flow.limiter_waiting_ns;
  }
  // Those before the window are in the levels, but not in the cohort.
  const auto differs = [&](double level, WideNanoseconds times) {
    const double sum = static_cast<double>(times);
    const double margin = 1 + std::max(level, sum) * kRounding;
    return level < sum - margin || (cohort_is_all && all_ended && level > sum + margin);
  };
  if (differs(in_flight, c.attempt_total_ns)) return "Little's law: attempts in flight";
  if (differs(in_backoff, c.backoff_total_ns)) return "Little's law: requests in backoff";
  if (differs(waiting, c.send_wait_ns)) return "Little's law: requests waiting for send tokens";
  return "";
}

/// Whether a request to the service can take effect but once.
bool deduplicates(const Scenario& scenario, const ClientSpec& client) {
  const ServiceSpec& service = scenario.services[client.service];
  const Duration longest = scenario.duration + scenario.drain_limit;
  return client.idempotency_token && client.token_reuse == 0 && service.idempotency.remembers() &&
         service.idempotency.window >= longest &&
         service.idempotency.in_progress == InProgress::kError;
}

}  // namespace

void World::check_conservation(const RunResult& result) const {
  const auto check = [&](std::string_view wrong, std::string_view where = "") {
    if (wrong.empty()) return;
    throw InvariantViolated(
        fmt::format("internal check failed: {}{} (seed {}, replication {}, simulated time {} s)",
                    where, wrong, scenario_.seed, replication_, now_.in_seconds()));
  };
  if (submitted_ != ended_) check("requests submitted and ended differ");
  // Jobs are polled for to their end, beyond the window, which calls other services as well.
  const bool polls = std::ranges::any_of(scenario_.clients, [](const ClientSpec& client) {
    return client.arrivals.process == ArrivalProcess::kPoll;
  });
  const bool cohort_is_all = scenario_.warmup == Duration::zero() && !polls;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ClientSpec& spec = scenario_.clients[i];
    const ClientResult& c = result.clients[i];
    const std::string where = "client " + spec.name + ": ";
    check(miscount(c, open_attempts_[i]), where);
    check(lost_time(c, spec.retry.hedging.enabled, cohort_is_all), where);
    if (groups_[i].tokens.refunded > groups_[i].tokens.refundable) {
      check("more retry quota was given back than had been taken", where);
    }
    for (const RetryQuota& quota : groups_[i].states.quotas()) {
      if (quota.available < 0 || quota.available > spec.retry.quota.capacity) {
        check("retry quota out of range", where);
      }
    }
    if (c.duplicated > 0 && deduplicates(scenario_, spec)) {
      check("a request took effect twice although its token was known", where);
    }
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const ServiceResult& s = result.services[i];
    if (s.window.busy_ns > s.window.servers_ns * (1 + kRounding) && faults_->size() == 0 &&
        !some_scale_) {
      check("more busy time than servers", "service " + scenario_.services[i].name + ": ");
    }
  }
}

}  // namespace retrysim::model
