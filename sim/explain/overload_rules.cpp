// Why it was too much for the service: load, queue and retries against its capacity.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <retrysim/simulation.hpp>

#include "explain/rules.hpp"
#include "scenario/derived/derived.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;

constexpr double kMostAnswers = 0.5, kNearlyAll = 0.95;

/// The time that a cause is looked for in: until the group is back, or all of it.
const Stretch& troubled(const GroupCase& c) { return c.disturbed() ? c.trouble : c.all; }

bool is_herd(const GroupCase& c) { return c.client.arrivals.process == ArrivalProcess::kOnce; }

Found overload_without_retries(const GroupCase& c) {
  constexpr double kDeviations = 2;  // of how many requests come by chance
  const double load = c.load(c.before.first_work_s, c.before.seconds);
  const double made = c.disturbed() ? c.made.before.made : c.requests();
  // Closed loops ask for what they get.
  const bool closed = c.client.arrivals.process == ArrivalProcess::kClosed;
  if (made == 0 || load < 1 + kDeviations / std::sqrt(made)) return std::nullopt;
  if (is_herd(c) || closed) return std::nullopt;
  const double enough = std::floor(load * c.capacity.servers) + 1;
  return Finding{
      fmt::format("first attempts alone need {} the capacity: no retry policy helps; at least "
                  "{:.0f} servers are needed",
                  spoken_times(load), enough),
      {{"new_load_ratio", load}, {"servers", c.capacity.servers}, {"servers_needed", enough}}};
}

/// "the fault"; by its name where there are several.
std::string name_of(const GroupCase& c, const DisturbedStretch& d) {
  return c.disturbed_stretches.size() > 1 ? d.name : its_name(c);
}

/// First attempts against the remaining capacity.
double load_in(const GroupCase& c, const DisturbedStretch& d) {
  return d.left > 0 ? c.load(d.first_work_s, d.seconds) / d.left : 0;
}

/// Where several faults follow each other or overlap, the stretch with the greatest load.
Found overload_by_disturbance(const GroupCase& c) {
  if (!c.disturbed() || !c.capacity.limited || c.disturbed_stretches.empty()) return std::nullopt;
  const auto& all = c.disturbed_stretches;
  const DisturbedStretch& worst = *std::max_element(
      all.begin(), all.end(),
      [&](const auto& a, const auto& b) { return load_in(c, a) < load_in(c, b); });
  const double load = load_in(c, worst);
  if (load <= 1 || c.load(c.before.first_work_s, c.before.seconds) >= 1) return std::nullopt;
  return Finding{
      fmt::format("during {} first attempts alone need {} the {}capacity", name_of(c, worst),
                  spoken_times(load), worst.left < 1 ? "remaining " : ""),
      {{"new_load_ratio", load}, {"capacity_left_share", worst.left}}};
}

Found nothing_served(const GroupCase& c) {
  const auto& all = c.disturbed_stretches;
  const auto none =
      std::find_if(all.begin(), all.end(), [](const DisturbedStretch& d) { return d.left <= 0; });
  if (none == all.end()) return std::nullopt;
  return Finding{
      fmt::format("during {} {} no capacity at all: attempts can only fail or wait",
                  name_of(c, *none), c.has_one_service() ? "the service has" : "its services have"),
      {{"capacity_left_share", 0}}};
}

bool lines_up(const GroupCase& c) {
  return c.capacity.limited && c.capacity.patience_s > 0 &&
         has_queue(c.service().queue.discipline) &&
         c.capacity.timeout_s < std::numeric_limits<double>::infinity();
}

std::string answers_too_late(double share) {
  return share >= kNearlyAll ? "every answer came too late" : "most answers came too late";
}

Found queue_outlasts_timeout(const GroupCase& c) {
  const Capacity& k = c.capacity;
  const double late = troubled(c).too_late_share();
  if (!lines_up(c) || late < kMostAnswers || k.largest_queue_s <= k.patience_s) return std::nullopt;
  const bool bounded = k.full_queue_s < std::numeric_limits<double>::infinity();
  if (bounded && k.full_queue_s <= k.patience_s) return std::nullopt;
  const std::string holds =
      bounded ? fmt::format("the full queue holds {} of work", roughly_spoken_time(k.full_queue_s))
              : fmt::format("the unbounded queue grew to {} of work",
                            roughly_spoken_time(k.largest_queue_s));
  return Finding{fmt::format("{}; clients wait only {}: {}", holds, spoken_time(k.timeout_s),
                             answers_too_late(late)),
                 {{"queue_work_s", bounded ? k.full_queue_s : k.largest_queue_s},
                  {"timeout_s", k.timeout_s},
                  {"too_late_share", late}}};
}

Found slow_queue_outlasts_timeout(const GroupCase& c) {
  const Capacity& k = c.capacity;
  const double late = c.during.too_late_share();
  if (!c.disturbed() || !lines_up(c) || late < kMostAnswers || k.left <= 0) return std::nullopt;
  const double slow_s = k.full_queue_s / k.left;
  if (k.full_queue_s > k.patience_s || slow_s <= k.patience_s) return std::nullopt;
  if (k.largest_queue_s / k.left <= k.patience_s) return std::nullopt;
  return Finding{
      fmt::format("at {} of the capacity the full queue holds {} of work; clients wait only {}: "
                  "{}; at full capacity it holds {}",
                  spoken_share(k.left), roughly_spoken_time(slow_s), spoken_time(k.timeout_s),
                  answers_too_late(late), roughly_spoken_time(k.full_queue_s)),
      {{"queue_work_s", slow_s},
       {"queue_work_at_full_capacity_s", k.full_queue_s},
       {"timeout_s", k.timeout_s},
       {"capacity_left_share", k.left},
       {"too_late_share", late}}};
}

Found retries_keep_it_down(const GroupCase& c) {
  constexpr double kWeighty = 0.2;
  if (!c.disturbed() || c.recoveries.gone == 0) return std::nullopt;
  const double fresh = c.load(c.after.first_work_s, c.after.seconds);
  const double retried = c.load(c.after.retry_work_s, c.after.seconds);
  if (fresh <= 0 || fresh >= 1 || fresh + retried < 1 || retried < kWeighty) return std::nullopt;
  return Finding{fmt::format("after {} first attempts need {} of the capacity, with retries {} the "
                             "capacity",
                             its_name(c), spoken_share(fresh), spoken_times(fresh + retried)),
                 {{"new_load_ratio", fresh}, {"load_with_retries_ratio", fresh + retried}}};
}

Found retries_above_capacity(const GroupCase& c) {
  const Occurrence& o = c.retries_above_capacity;
  if (c.runs == 0 || !o.in_most_of(c.runs)) return std::nullopt;
  const double bin_s = c.bin_s;
  if (o.seconds < std::max(1.0, 2 * bin_s)) return std::nullopt;
  return Finding{fmt::format("retries alone needed {} the capacity for {}", spoken_times(o.ratio),
                             roughly_spoken_time(o.seconds)),
                 {{"retry_load_ratio", o.ratio},
                  {"retries_above_capacity_s", o.seconds},
                  {"replications", static_cast<double>(o.runs)}}};
}

Found metastable(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.metastable == 0) return std::nullopt;
  return Finding{
      r.metastable == r.gone
          ? fmt::format("without retries {} recovers: a metastable failure",
                        r.gone == 1 ? "the same run" : fmt::format("each of these {} runs", r.gone))
          : fmt::format(
                "of the {} runs that do not recover, {} would without retries: a metastable "
                "failure",
                r.gone, r.metastable),
      {{"not_recovered", static_cast<double>(r.gone)},
       {"would_recover_without_retries", static_cast<double>(r.metastable)}}};
}

Found wasted_work(const GroupCase& c) {
  constexpr double kMuch = 0.3;
  const ServiceFlow& s = troubled(c).service;
  if (s.completions == 0) return std::nullopt;
  const double share = static_cast<double>(s.wasted) / static_cast<double>(s.completions);
  if (share < kMuch || queue_outlasts_timeout(c) || slow_queue_outlasts_timeout(c)) {
    return std::nullopt;
  }
  return Finding{
      fmt::format("{} of what {} finished{} was for clients that had given up", spoken_share(share),
                  c.has_one_service() ? "the service" : "its services",
                  c.disturbed() ? " in that time" : ""),
      {{"wasted_share", share}}};
}

Found throttle_is_bottleneck(const GroupCase& c) {
  constexpr double kNoticeable = 0.05;
  const ServiceFlow& service = c.all.service;
  const auto has_throttle = [](const ServiceSpec* s) { return s->throttle.rate > 0; };
  if (service.throttled == 0 || std::ranges::none_of(c.services, has_throttle)) {
    return std::nullopt;
  }
  const ThrottleSpec& t = c.service().throttle;
  const bool each = t.scope == ThrottleScope::kClient;
  // Random errors and full queues may answer as throttles do, and throttles may treat groups
  // differently: where it is not the same, what is said is of all attempts at the service.
  const double of_group = c.share_of_attempts(AttemptResult::kThrottled);
  const double of_all =
      static_cast<double>(service.throttled) / static_cast<double>(service.arrivals);
  const double throttled = std::min(of_group, of_all);
  if (throttled < kNoticeable) return std::nullopt;
  std::string sentence =
      !c.has_one_service()
          ? fmt::format("throttles refuse {} of the attempts", spoken_share(throttled))
      : t.has_limits()
          ? fmt::format("the throttle refuses {} of the attempts", spoken_share(throttled))
          : fmt::format("the throttle lets {} attempts a second pass{} and refuses {} of them",
                        spoken_count(t.rate, 4), each ? " of each client" : "",
                        spoken_share(throttled));
  std::vector<EvidenceFigure> evidence = {{"throttled_share", throttled}};
  if (c.has_one_service() && !t.has_limits()) {
    evidence.insert(evidence.begin(), {"granted_per_s", t.rate});
  }
  if (c.capacity.limited) {
    const double busy = c.load(c.all.service.busy_ns / 1e9, c.all.seconds);
    if (busy < 1)
      sentence += fmt::format(", while {} of the servers' time is busy", spoken_share(busy));
    evidence.push_back({"busy_share", busy});
  }
  return Finding{std::move(sentence), std::move(evidence)};
}

Found connections_are_bottleneck(const GroupCase& c) {
  constexpr double kMuch = 0.25;
  if (c.total.latency_m.count == 0 || c.requests() == 0) return std::nullopt;
  const double wait_s = static_cast<double>(c.total.connection_wait_ns) / 1e9 / c.requests();
  const double latency_s = static_cast<double>(c.total.latency_m.sum_ns) / 1e9 /
                           static_cast<double>(c.total.latency_m.count);
  if (wait_s <= 0 || wait_s < kMuch * latency_s) return std::nullopt;
  return Finding{
      fmt::format("{} of the latency is waiting for a connection: each client has {}",
                  spoken_share(std::min(1.0, wait_s / latency_s)), c.client.max_connections),
      {{"connection_wait_s", wait_s},
       {"latency_s", latency_s},
       {"max_connections", static_cast<double>(c.client.max_connections)}}};
}

Found timeout_below_service_time(const GroupCase& c) {
  constexpr double kMany = 0.3;
  const double least_s = c.capacity.least_attempt_s;
  const ClientFlow& before = c.before.group;
  if (c.capacity.timeout_s >= least_s || before.attempts == 0) return std::nullopt;
  const double timeouts =
      static_cast<double>(before.timeouts) / static_cast<double>(before.attempts);
  if (timeouts < kMany) return std::nullopt;
  return Finding{
      fmt::format("an attempt takes {} without any waiting, and the client gives up after {}",
                  spoken_time(least_s), spoken_time(c.capacity.timeout_s)),
      {{"attempt_s", least_s}, {"timeout_s", c.capacity.timeout_s}, {"timeout_share", timeouts}}};
}

Found drain_hides_overload(const GroupCase& c) {
  constexpr double kNoteworthy = 0.01;
  if (c.requests() == 0 || is_herd(c)) return std::nullopt;  // a herd is all drain
  const double within = static_cast<double>(c.total.successes_within) / c.requests();
  if (c.success_share() - within <= kNoteworthy) return std::nullopt;
  return Finding{fmt::format("only {} of the requests had succeeded when the load stopped; {} in "
                             "the end, after it",
                             spoken_share(within), spoken_share(c.success_share())),
                 {{"success_within_duration_share", within}, {"success_share", c.success_share()}}};
}

using enum Severity;
constexpr std::array kOverloadRules = {
    Rule{{"overload-without-retries", kBad, false,
          "while nothing is wrong, first attempts ask for more than the capacity, and not by "
          "chance"},
         overload_without_retries},
    Rule{{"timeout-below-service-time", kBad, false,
          "network and service alone take longer than the attempt timeout"},
         timeout_below_service_time},
    Rule{{"no-capacity", kInfo, false, "a fault leaves the service nothing"}, nothing_served},
    Rule{{"overload-by-disturbance", kInfo, false,
          "first attempts ask for more than the capacity that the disturbance leaves"},
         overload_by_disturbance},
    Rule{{"queue-outlasts-timeout", kBad, false,
          "the queue holds more work than a timeout lasts, and most of what is served is late"},
         queue_outlasts_timeout},
    Rule{{"slow-queue-outlasts-timeout", kInfo, false,
          "the same, but only with the capacity that a fault leaves"},
         slow_queue_outlasts_timeout},
    Rule{{"retries-keep-it-down", kBad, false,
          "it does not recover, and only with the retries is the load above capacity"},
         retries_keep_it_down},
    Rule{{"retries-above-capacity", kBad, false,
          "for a second or longer, retries alone ask for more than the capacity"},
         retries_above_capacity},
    Rule{{"metastable", kBad, false, "the twin without retries recovers (--twin)"}, metastable},
    Rule{
        {"throttle-is-bottleneck", kBad, false, "the throttle refuses 5 % of the attempts or more"},
        throttle_is_bottleneck},
    Rule{{"connections-are-bottleneck", kBad, false,
          "a quarter of the latency or more is waiting for a connection"},
         connections_are_bottleneck},
    Rule{{"wasted-work", kInfo, false,
          "30 % or more of the completed work is for requests that were already given up, and no "
          "earlier rule blames the queue"},
         wasted_work},
    Rule{{"drain-hides-overload", kInfo, false,
          "more than one percentage point of the success rate comes from requests that finished "
          "after the load stopped (the drain)"},
         drain_hides_overload},
};

}  // namespace

std::span<const Rule> overload_rules() { return kOverloadRules; }

}  // namespace retrysim::explain
