// Checks of levels at the end of every run: what the recorder was told against what is there, and
// time averages against the least and the most that the level can have been. They would show a
// change of level that nobody told the recorder of.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/books.hpp"
#include "model/parts.hpp"
#include "model/state.hpp"

namespace retrysim::model {
namespace {

/// How far a time integral may be off, relative to its size: it is a sum of doubles, and each event
/// may add to it once.
double rounding_of(std::uint64_t events) { return 1e-9 + static_cast<double>(events) * 0x1p-51; }

std::string in_words(const stats::GroupLevels& l) {
  return fmt::format(
      "{} waiting to send, {} for a connection, {} in backoff, {} in flight, {} "
      "tokens",
      l.limiter_waiting, l.connection_waiting, l.in_backoff, l.in_flight, l.quota);
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
  ByGroup<stats::GroupLevels> levels(state_.groups.size());
  for (const RequestId id : Ids<RequestId>(state_.requests.slots())) {
    const Request& r = state_.requests[id];
    if (!r.open) continue;
    stats::GroupLevels& l = levels[r.group];
    l.limiter_waiting += r.phase == Request::Phase::kWaitingToSend;
    l.connection_waiting += r.phase == Request::Phase::kWaitingForConnection;
    l.in_backoff += r.phase == Request::Phase::kInBackoff;
    for (AttemptId a = r.attempt; a.exists(); a = state_.attempts[a].sibling) ++l.in_flight;
  }
  for (const ClientGroup& g : state_.groups) {
    for (const RetryQuota& quota : g.states->quotas()) levels[g.index].quota += quota.available;
  }
  return levels;
}

std::string Books::wrong_level(const RunResult& result) const {
  const ByGroup<stats::GroupLevels> real = group_levels();
  for (const GroupId i : Ids<GroupId>(real.size())) {
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
  std::string wrong = difference(state_.recorder.client(group).levels(), real);
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
    const Service& s = state_.instances[i];
    there.busy += s.servers().busy();
    there.in_system += static_cast<std::int64_t>(s.in_system());
    there.queued += static_cast<std::int64_t>(s.queued());
    const bool unlimited = s.spec().servers == ServiceSpec::kUnlimited;
    there.working =
        unlimited ? s.power().working_servers() : there.working + s.power().working_servers();
    most += static_cast<double>(s.power().most_servers());
  }
  std::string wrong = difference(state_.recorder.service(service).levels(), there);
  const auto width_ns = static_cast<double>(result.interval.count());
  for (const ServiceFlow& bin : result.services[service].bins) {
    if (wrong.empty()) wrong = wrong_bin(bin, width_ns, most, rounding_of(result.events));
  }
  return wrong;
}

}  // namespace retrysim::model
