// The fields of everything that a run measures, each named once here: what adds results up, writes
// and reads their bytes or fills them in for a test goes through these lists. A field that is
// missing in its list does not compile.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace retrysim::stats {

template <typename T, typename U>
concept Any = std::same_as<std::remove_const_t<T>, U>;

/// Defines `fields(use, of)`: calls `use` with all fields of `of`, in the order of their
/// declaration. The structured binding insists on every one of them.
#define RETRYSIM_FIELDS(Type, ...)                        \
  decltype(auto) fields(auto&& use, Any<Type> auto& of) { \
    auto& [__VA_ARGS__] = of;                             \
    return use(__VA_ARGS__);                              \
  }

RETRYSIM_FIELDS(DurationMoments, count, sum_squares_carry, sum_ns, sum_squares_ns2)

RETRYSIM_FIELDS(AttemptNumberCounts, sent, results, peak_sends_100ms, in_backoff_ns)

RETRYSIM_FIELDS(ClientFlow, requests, attempts, retries, successes, failures, throttled, errors,
                timeouts, quota_denied, arrivals, limiter_waiting_ns, connection_waiting_ns,
                in_backoff_ns, in_flight_ns)

RETRYSIM_FIELDS(ClientBin, flow, latency_count, latency_sum_ns, latency_p50_s, latency_p99_s)

RETRYSIM_FIELDS(RequestCounts, requests, failed, successes, failures, failed_attempts)

RETRYSIM_FIELDS(JobCounts, begun, ends, checks, detection_delay_m)

RETRYSIM_FIELDS(ClientResult, requests, outcomes, ended_within, successes_within, attempts,
                attempts_squared, results, rejected, refused, dropped, lost, gave_up, late,
                arrivals, executed, waited, admitted, mutating, effects, duplicated, ambiguous,
                replays, mismatches, expired_replays, latency, latency_ok, attempt_latency,
                service_latency, queueing_time, latency_m, latency_ok_m, attempt_latency_m,
                service_latency_m, queueing_time_m, latency_intended, latency_intended_m,
                backoff_time_m, send_wait_ns, connection_wait_ns, backoff_total_ns,
                attempt_total_ns, by_attempt, quota_mean, has_quota, jobs, window, bins, counts,
                successes_per_client, ended_per_client)

RETRYSIM_FIELDS(ServiceFlow, arrivals, admitted, rejected, throttled, errors, completions, wasted,
                queue_ns, busy_ns, servers_ns, in_system_ns, in_system_squared_ns, all_busy_ns,
                queue_max)

RETRYSIM_FIELDS(ServiceResult, window, wasted_after_give_up_ns, wasted_full_ns, unused, failed,
                unlimited, nominal_servers, bins, queued)

RETRYSIM_FIELDS(RunResult, seed, replication, window_start, window_end, interval, count_width,
                ended, last_request_end, events, fingerprint, clients, services, all_bins,
                metastable)

#undef RETRYSIM_FIELDS

/// Whether `T` is one of the above.
template <typename T>
concept HasFields = requires(T& of) {
  fields([](auto&...) {}, of);
};

/// Adds the numbers of `from` to those of `into`, field by field, down to the last struct, array
/// and histogram. Vectors, which are series in time or by client, are left as they are. Fields that
/// do not add up (means, maxima) are the caller's to put right afterwards.
template <HasFields T>
void add_fields(T& into, const T& from);

/// One field of `add_fields`.
template <typename T>
void add_field(T& into, const T& from) {
  if constexpr (requires { into.merge(from); }) {
    into.merge(from);
  } else if constexpr (HasFields<T>) {
    add_fields(into, from);
  } else if constexpr (std::same_as<T, bool>) {
    into = into || from;
  } else if constexpr (requires { into += from; }) {
    into += from;
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (std::size_t i = 0; i < into.size(); ++i) add_field(into[i], from[i]);
  } else {
    static_assert(
        requires { into.push_back(from[0]); }, "say how such fields add up");
  }
}

template <HasFields T>
void add_fields(T& into, const T& from) {
  const auto add_all = [&](auto&... sums) {
    fields([&](const auto&... terms) { (add_field(sums, terms), ...); }, from);
  };
  fields(add_all, into);
}

}  // namespace retrysim::stats
