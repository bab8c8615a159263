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

#include "model/world.hpp"

namespace retrysim::model {
namespace {

/// Time integrals are sums of doubles; each event may add to one of them once.
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
std::string_view wrong_bin(const ClientResult& c, double width_ns, bool in_flight_too) {
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
    if (busy > most * (1 + 1e-9) + 1) return "more requests under way than there were";
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

std::vector<stats::GroupLevels> World::group_levels() const {
  std::vector<stats::GroupLevels> levels(groups_.size());
  for (std::uint32_t id = 0; id < requests_.slots(); ++id) {
    const Request& r = requests_[id];
    if (!r.open) continue;
    stats::GroupLevels& l = levels[r.group];
    l.limiter_waiting += r.phase == Request::Phase::kWaitingToSend;
    l.connection_waiting += r.phase == Request::Phase::kWaitingForConnection;
    l.in_backoff += r.phase == Request::Phase::kInBackoff;
    for (std::uint32_t a = r.attempt; a != kNone; a = attempts_[a].sibling) ++l.in_flight;
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const RetryQuota& quota : groups_[i].states.quotas()) levels[i].quota += quota.available;
  }
  return levels;
}

std::string World::wrong_level(const RunResult& result) const {
  const std::vector<stats::GroupLevels> real = group_levels();
  const double rounding = rounding_of(events_);
  const auto width_ns = static_cast<double>(result.interval.count());
  const auto first = [](std::initializer_list<std::string> problems) {
    for (const std::string& problem : problems) {
      if (!problem.empty()) return problem;
    }
    return std::string();
  };
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ClientSpec& spec = scenario_.clients[i];
    const ClientResult& c = result.clients[i];
    const bool quota_fits = !c.has_quota || (c.quota_mean >= -rounding &&
                                             c.quota_mean <= spec.retry.quota.capacity + rounding);
    const std::string wrong =
        first({difference(recorder_.levels_of_group(i), real[i]),
               quota_fits ? "" : "the mean level of the retry quota is out of range",
               std::string(wrong_bin(c, width_ns, !spec.retry.hedging.enabled)),
               std::string(wrong_means(c))});
    if (!wrong.empty()) return "client " + spec.name + ": " + wrong;
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const Service& s = services_[i];
    const stats::StationLevels there{s.busy(), static_cast<std::int64_t>(s.in_system()),
                                     static_cast<std::int64_t>(s.queued()), s.working_servers()};
    std::string wrong = difference(recorder_.levels_of_service(i), there);
    const auto most = static_cast<double>(s.most_servers());
    for (const ServiceFlow& bin : result.services[i].bins) {
      if (wrong.empty()) wrong = wrong_bin(bin, width_ns, most, rounding);
    }
    if (!wrong.empty()) return "service " + scenario_.services[i].name + ": " + wrong;
  }
  return "";
}

}  // namespace retrysim::model
