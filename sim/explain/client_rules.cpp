// What the clients' own rules did: quotas, breakers, limiters, deadlines; and whether retries
// helped.
//
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "explain/rules.hpp"
#include "explain/sources.hpp"
#include "flow/calls.hpp"
#include "scenario/text/names.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;

constexpr double kMaxRequests = 0.5;

/// Whether enough requests fail to be worth a sentence.
bool fails_noticeably(const GroupCase& c) { return c.success_share() < 0.999; }

/// A moment of the run, told by the disturbance that it is in or follows.
struct Moment {
  Sentence name;              ///< "9 s into the fault", "the start of the fault"
  bool has_distance = false;  ///< whether `name` says a distance, as "9 s into the fault"
};

Moment moment_of(const GroupCase& c, double at_s) {
  const auto& all = c.disturbed_stretches;
  const FigureSource at = quota_dry_source(c, "from_s");
  const auto since = [&](double from_s) { return roughly(at_s - from_s, at - number(from_s)); };
  if (at_s < c.disturbances.first_start_s || all.empty()) {
    const Sentence before =
        say(", {} before the {}{},",
            roughly(c.disturbances.first_start_s - at_s, disturbances_edge(c, "start_s") - at),
            c.disturbances.count > 1 ? Words("first ") : Words(""), kind_of(c));
    if (at_s <= 0) return {say("the start{}", before)};
    return {say("{} into the run{}", since(0), before), true};
  }
  // The last stretch that has begun.
  const DisturbedStretch* its = &all.front();
  for (const DisturbedStretch& d : all) {
    if (d.start_s <= at_s) its = &d;
  }
  const Sentence name = all.size() > 1 ? Sentence(Name{its->name}) : its_name(c);
  if (at_s <= its->start_s) return {say("the start of {}", name)};
  if (at_s < its->end_s) return {say("{} into {}", since(its->start_s), name), true};
  if (at_s <= its->end_s) return {say("the end of {}", name)};
  return {say("{} after {}", since(its->end_s), name), true};
}

/// What may refuse retries in this group: results do not say which of several did.
Sentence who_denies(const RetryRules& retry) {
  std::vector<Sentence> refusers;
  retry.each_limit([&refusers](const auto& limit) {
    if (limit.in_use() && !limit.kRefuser.empty()) {
      refusers.emplace_back(Name{std::string(limit.kRefuser)});
    }
  });
  if (retry.quota.enabled || refusers.empty()) {
    refusers.emplace_back(Words("the empty retry quota"));
  }
  return joined(refusers, ", ", " or ");
}

/// What was seen of the quota, in most replications.
Sentence quota_refused(const GroupCase& c) {
  const Occurrence& o = c.quota_dry;
  const Moment at = moment_of(c, o.times[(o.times.size() - 1) / 2]);
  const Figure refused = share(o.ratio, quota_dry_source(c, "share"));
  if (c.client.retry.has_refusers()) {
    return say("from {} on {} refused {} of the retries", at.name, who_denies(c.client.retry),
               refused);
  }
  if (o.ratio < 0.5) {
    return say("from {} on the retry quota refused {} of the retries", at.name, refused);
  }
  return say("{}{} the retry quota ran out; from then on it refused {} of the retries",
             at.has_distance ? Words("") : Words("at "), at.name, refused);
}

std::vector<EvidenceFigure> dry_figures(const GroupCase& c) {
  return {{"dry_from_s", c.quota_dry.times[(c.quota_dry.times.size() - 1) / 2]},
          {"refused_share", c.quota_dry.ratio},
          {"replications", static_cast<double>(c.quota_dry.runs)}};
}

Found quota_ran_dry(const GroupCase& c) {
  if (c.recoveries.gone > 0 || !c.quota_dry.in_most_of(c.runs)) return std::nullopt;
  return Finding{quota_refused(c), dry_figures(c)};
}

Found quota_ran_dry_in_vain(const GroupCase& c) {
  if (c.recoveries.gone == 0 || !c.quota_dry.in_most_of(c.runs)) return std::nullopt;
  return Finding{say("{}; that was not enough", quota_refused(c)), dry_figures(c)};
}

Found quota_never_dry(const GroupCase& c) {
  const RetryRules& retry = c.client.retry;
  if (!retry.quota.enabled || retry.max_attempts < 2 || c.recoveries.gone == 0) return std::nullopt;
  if (c.quota_dry.runs > 0) return std::nullopt;
  const bool one = retry.quota.scope == RetryScope::kGroup || c.client.count == 1;
  return Finding{say("the retry quota refused hardly any retries: {} has {}",
                     one ? Words("its bucket") : Words("each client's bucket"),
                     counted(whole(static_cast<double>(retry.quota.capacity),
                                   key(scenario::path_of(c.client) + ".retry.quota.capacity")),
                             "token", "tokens")),
                 {{"capacity_tokens", static_cast<double>(retry.quota.capacity)},
                  {"denied_share", c.share_of_requests(Outcome::kQuotaExceeded)}}};
}

/// The limits that may refuse a retry, none of which has.
Sentence limits_on_retries(const RetryRules& retry) {
  std::vector<Sentence> limits;
  if (retry.quota.enabled) limits.emplace_back(Words("the retry quota"));
  if (retry.budget.in_use()) limits.emplace_back(Words("the retry budget"));
  if (retry.retry_breaker.in_use()) limits.emplace_back(Words("the retry breaker"));
  if (retry.guard.in_use()) limits.emplace_back(Words("the retry guard"));
  if (retry.throttle.in_use()) limits.emplace_back(Words("the client's own throttle"));
  return say("{} {} not bound", joined(limits), limits.size() == 1 ? Words("has") : Words("have"));
}

/// Many retries, and a limit on them that never refused one.
Found limit_never_bound(const GroupCase& c) {
  constexpr double kMany = 0.1, kMinRetries = 100;
  const RetryRules& retry = c.client.retry;
  const ClientFlow& f = c.all.group;
  const auto retries = static_cast<double>(f.retries);
  if (!(retry.quota.enabled || retry.has_limits()) || retry.max_attempts < 2) return std::nullopt;
  if (f.quota_denied > 0 || c.share_of_requests(Outcome::kQuotaExceeded) > 0 ||
      (retry.throttle.in_use() && c.share_of_requests(Outcome::kNoSendToken) > 0)) {
    return std::nullopt;
  }
  const auto are_many = [&](const ClientFlow& flow) {
    return static_cast<double>(flow.retries) >= kMany * static_cast<double>(flow.requests);
  };
  // A budget is there for the time in which retries are many.
  const bool many =
      are_many(f) || (retry.has_limits() && c.disturbed() && are_many(c.during.group));
  if (retries < kMinRetries || !many) return std::nullopt;
  if (quota_never_dry(c)) return std::nullopt;
  return Finding{say("{}: {} of {} was denied", limits_on_retries(retry),
                     claim("no retry", flow(c, "quota_denied", "window") == number(0)),
                     whole(retries, flow(c, "retries", "window"))),
                 {{"retries", retries}}};
}

/// The share of failed requests that ended in this way.
FigureSource ended_of_failed(const GroupCase& c, std::string_view metric_name) {
  return weighted(c, metric_name, "requests") / (metric(c, "requests") - metric(c, "successes"));
}

Found denied_by_quota(const GroupCase& c) {
  const double denied = c.share_of_failures(Outcome::kQuotaExceeded);
  if (!fails_noticeably(c) || denied < kMaxRequests) return std::nullopt;
  if (c.quota_dry.in_most_of(c.runs)) return std::nullopt;  // another rule has said so
  return Finding{
      say("{} of the requests that failed were denied a retry by {}",
          share(denied, ended_of_failed(c, "quota_denied_share")), who_denies(c.client.retry)),
      {{"denied_share_of_failures", denied}, {"success_share", c.success_share()}}};
}

Found denied_by_client(const GroupCase& c) {
  const double denied = c.share_of_failures(Outcome::kNoSendToken);
  if (!fails_noticeably(c) || denied < kMaxRequests) return std::nullopt;
  return Finding{say("{} of the requests that failed were stopped by {}, before anything was sent",
                     share(denied, ended_of_failed(c, "no_send_token_share")),
                     c.client.retry.throttle.enabled ? Words("the client's own throttle")
                                                     : Words("the client's send limiter")),
                 {{"denied_share_of_failures", denied}, {"success_share", c.success_share()}}};
}

constexpr std::string_view kOfPreset = "rules of a circuit breaker, which its preset has";

/// The mean share of the window in which one of the group's circuit breakers is open.
double breaker_open_share(const GroupCase& c) {
  const Duration window = c.scenario.duration - c.scenario.warmup;
  const double time_ns =
      static_cast<double>(c.total.breakers) * static_cast<double>(window.count());
  return c.total.window.breaker_open_ns / time_ns;
}

Found breaker_refused(const GroupCase& c) {
  constexpr double kSome = 0.01;
  if (c.total.breakers == 0 || c.total.breaker_refusals == 0) return std::nullopt;
  const double open = breaker_open_share(c);
  const auto n = static_cast<double>(c.runs);
  const double first = static_cast<double>(c.total.breaker_first_refusals) / n;
  if (open < kSome && first < kSome * c.requests() / n) return std::nullopt;
  const bool one = c.total.breakers == c.runs;
  const double later = static_cast<double>(c.total.breaker_refusals) / n - first;
  const FigureSource of_first = metric(c, "breaker_first_refusals", "mean");
  const Sentence whom =
      first > 0 ? counted(count(first, of_first), "first attempt", "first attempts")
                : counted(count(later, metric(c, "breaker_refusals", "mean") - of_first), "retry",
                          "retries");
  const Sentence refused =
      say("{} open for {} of the run and refused {}",
          one ? Words("the circuit breaker was") : Words("its circuit breakers were, on average,"),
          share(open, metric(c, "breaker_open_share", "mean")), whom);
  const std::vector<EvidenceFigure> figures = {{"open_share", open},
                                               {"refused_first_attempts", first}};
  // An instance whose breaker is open has nothing under way.
  constexpr double kAttracted = 1.5;
  const bool attracts = c.client.breaker.scope == BreakerScope::kHost && c.has_one_service() &&
                        prefers_idle(c.service()) && first * n > kAttracted * open * c.requests();
  const Sentence why =
      attracts ? say(": {} prefers an instance whose breaker is open, where nothing is under way",
                     Name{std::string(name(c.service().instances.balancing))})
               : Sentence();
  const double ended = c.share_of_failures(Outcome::kBreakerOpen);
  if (!fails_noticeably(c) || ended <= 0) return Finding{say("{}{}", refused, why), figures};
  return Finding{say("{}{}; {} of the requests that failed ended so", refused, why,
                     share(ended, ended_of_failed(c, "breaker_denied_share"))),
                 figures};
}

/// Whether a breaker records a request once, with all of its attempts.
bool records_requests(const BreakerRules& rules) {
  return rules.order == BreakerOrder::kBreakerOutside;
}

/// The mean number of calls in the window by which a breaker of the group judges, as far as sent
/// attempts, or requests that have ended, tell: during the disturbance, if there is one.
double calls_in_window(const GroupCase& c) {
  const BreakerRules& rules = c.client.breaker;
  const Stretch& phase = c.disturbed() ? c.during : c.all;
  const ClientFlow& f = phase.group;
  const double calls =
      static_cast<double>(records_requests(rules) ? f.successes + f.failures : f.attempts) /
      static_cast<double>(c.total.breakers);
  if (rules.window_calls > 0) return std::min(calls, static_cast<double>(rules.window_calls));
  const double seconds = phase.seconds / static_cast<double>(c.runs);
  return seconds > 0 ? calls * std::min(1.0, rules.window.in_seconds() / seconds) : 0;
}

/// Why failures did not open a breaker that stayed closed, by its rules. Which of the errors are
/// failures to it no result tells, so the last reason is all that is left.
Sentence why_closed(const GroupCase& c, double failed) {
  const BreakerRules& rules = c.client.breaker;
  const FigureSource of_rules = not_in_files(kOfPreset);
  if (!rules.has_failures()) return say("its failures are among the errors that it ignores");
  const bool by_share = rules.failure_share > 0;
  if (!by_share && rules.consecutive == 0) return say("only slow calls open it");
  if (!by_share) {
    return say("it opens after {} failures in a row", whole(rules.consecutive, of_rules));
  }
  if (rules.consecutive == 0) {
    if (rules.above && rules.failure_share >= 1) {
      return say("it opens above a share of {} only", share(1, of_rules));
    }
    if (failed < rules.failure_share) {
      return say("it opens {} {}", rules.above ? Words("above") : Words("from"),
                 share(rules.failure_share, of_rules));
    }
    const std::uint32_t least =
        rules.window_calls > 0 ? std::min(rules.min_calls, rules.window_calls) : rules.min_calls;
    if (calls_in_window(c) < static_cast<double>(least)) {
      return say("it judges by {} calls at least, and had fewer", whole(least, of_rules));
    }
  }
  return say("too few of them are failures by its rules");
}

/// Many failures of the kind that a circuit breaker counts, which never opened it.
Found breaker_never_opened(const GroupCase& c) {
  const BreakerRules& rules = c.client.breaker;
  const ClientFlow& f = c.disturbed() ? c.during.group : c.all.group;
  const bool by_request = records_requests(rules);
  const auto failed =
      static_cast<double>(by_request ? f.failures : f.throttled + f.errors + f.timeouts);
  const auto calls = static_cast<double>(by_request ? f.successes + f.failures : f.attempts);
  constexpr double kMany = 0.5, kFew = 20;
  if (c.total.breakers == 0 || c.total.breaker_openings > 0 || !fails_noticeably(c)) {
    return std::nullopt;
  }
  if (calls < kFew || failed < kMany * calls) return std::nullopt;
  const std::string_view window = c.disturbed() ? "during" : "window";
  const FigureSource source = by_request
                                  ? flow(c, "failures", window) /
                                        (flow(c, "failures", window) + flow(c, "successes", window))
                                  : (flow(c, "throttled", window) + flow(c, "errors", window) +
                                     flow(c, "timeouts", window)) /
                                        flow(c, "attempts", window);
  const Sentence closed =
      say("the circuit breaker did not open, although {} of the {} failed{}",
          share(failed / calls, source), by_request ? Words("requests") : Words("attempts"),
          c.disturbed() ? Words(" during the disturbance") : Words(""));
  return Finding{say("{}: {}", closed, why_closed(c, failed / calls)),
                 {{"failed_share", failed / calls},
                  {"min_calls", static_cast<double>(rules.min_calls)},
                  {"calls_in_window", calls_in_window(c)}}};
}

/// The share of attempts, sent or not, that the clients' own limits stopped.
Found not_sent(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  const auto unconnected = static_cast<double>(c.total.unconnected);
  const auto unpermitted = static_cast<double>(c.total.unpermitted);
  const double all = static_cast<double>(c.total.attempts) + unconnected + unpermitted;
  if (all == 0 || unconnected + unpermitted < kNoticeable * all) return std::nullopt;
  const FigureSource of_pool = weighted(c, "unconnected_per_request", "requests");
  const FigureSource of_rate = weighted(c, "unpermitted_per_request", "requests");
  const FigureSource of_all = metric(c, "attempts") + of_pool + of_rate;
  const std::string path = scenario::path_of(c.client);
  const ClientSpec& client = c.client;
  std::vector<EvidenceFigure> evidence = {{"unconnected_share", unconnected / all},
                                          {"unpermitted_share", unpermitted / all}};
  if (unpermitted > unconnected) {
    return Finding{say("{} of the attempts failed unsent: the clients' own limit on their send "
                       "rate did not permit them",
                       share(unpermitted / all, of_rate / of_all)),
                   std::move(evidence)};
  }
  const Figure lost = share(unconnected / all, of_pool / of_all);
  const Sentence who = who_has_how_many(c);
  const ScarceLimits scarce = scarce_limits(client);
  const bool pool = scarce.connections && (client.connection_wait != Duration::max() ||
                                           client.connection_queue != ClientSpec::kUnlimited);
  if (pool && scarce.places) {
    return Finding{say("{} of the attempts failed unsent: there was no connection for them, or no "
                       "place in the bulkhead; {}",
                       lost, who),
                   std::move(evidence)};
  }
  const Duration longest = pool ? client.connection_wait : client.bulkhead.longest_wait;
  const Words one = pool ? Words("no connection") : Words("no place in the bulkhead");
  const std::uint32_t line = pool ? client.connection_queue : client.bulkhead.queue;
  const bool waits = longest > Duration::zero() && line > 0;
  const Words full =
      waits && line != ClientSpec::kUnlimited ? Words(", or the line was full") : Words("");
  if (!waits || longest == Duration::max()) {
    return Finding{say("{} of the attempts failed unsent: {} was free{}; {}", lost, one, full, who),
                   std::move(evidence)};
  }
  const std::string_view name = pool ? ".connection_wait" : ".bulkhead.longest_wait";
  return Finding{say("{} of the attempts failed unsent: {} became free within {}{}; {}", lost, one,
                     time(longest.in_seconds(), key(path + std::string(name))), full, who),
                 std::move(evidence)};
}

Found past_deadline(const GroupCase& c) {
  const double late = c.share_of_failures(Outcome::kDeadlineExceeded);
  if (!fails_noticeably(c) || late < kMaxRequests) return std::nullopt;
  const Duration deadline = c.client.timeouts.deadline;
  const Figure late_share = share(late, ended_of_failed(c, "deadline_exceeded_share"));
  if (deadline == Duration::max()) {  // the deadline of the attempt that the calls are made for
    return Finding{say("{} of the calls that failed had no time left before the deadline of their "
                       "caller",
                       late_share),
                   {{"deadline_share_of_failures", late}}};
  }
  return Finding{
      say("{} of the requests that failed had no time left before their deadline of {}", late_share,
          time(deadline.in_seconds(), key(scenario::path_of(c.client) + ".deadline"))),
      {{"deadline_share_of_failures", late}, {"deadline_s", deadline.in_seconds()}}};
}

Found not_retryable(const GroupCase& c) {
  const double refused = c.share_of_failures(Outcome::kNotRetryable);
  if (c.client.retry.max_attempts < 2 || !fails_noticeably(c) || refused < kMaxRequests)
    return std::nullopt;
  // The results do not tell which of the two it was.
  const bool unrepeatable = c.client.unrepeatable > 0;
  const bool unsent = c.total.unconnected + c.total.unpermitted + c.total.breaker_refusals > 0;
  return Finding{
      say("{} of the requests that failed {}",
          share(refused, not_in_files("requests by how they ended, of which there is no metric")),
          unrepeatable
              ? (unsent ? Words("could not be sent again, or failed in a way that these clients do "
                                "not retry")
                        : Words("could not be sent again, or got an answer that these clients do "
                                "not retry"))
          : unsent ? Words("failed in a way that these clients do not retry")
                   : Words("got an answer that these clients do not retry")),
      {{"not_retryable_share_of_failures", refused}}};
}

Found limiter_never_woke(const GroupCase& c) {
  constexpr double kTrouble = 0.05, kHardlyAny = 0.001;
  const double throttled = c.share_of_attempts(AttemptResult::kThrottled);
  const double failed =
      c.share_of_attempts(AttemptResult::kError) + c.share_of_attempts(AttemptResult::kTimeout);
  if (!c.client.retry.rate_limit.enabled || throttled > kHardlyAny || failed < kTrouble) {
    return std::nullopt;
  }
  const auto answers_503 = [](const ServiceSpec* s) {
    return s->rejection.overflow == Overflow::kUnavailable && !s->answers.overflow &&
           !s->answers.limit;
  };
  const bool refused = c.total.rejected > 0 && std::ranges::all_of(c.services, answers_503);
  // A service may turn attempts away although its queue is not full.
  const bool by_queue = std::ranges::all_of(c.services, [](const ServiceSpec* s) {
    return s->queue.capacity != ServiceSpec::kUnlimited && !s->queue.sheds() &&
           !s->concurrency.in_use();
  });
  const FigureSource source =
      (weighted(c, "error_share", "attempts") + weighted(c, "timeout_share", "attempts")) /
      metric(c, "attempts");
  const FigureSource throttles = weighted(c, "throttled_share", "attempts") / metric(c, "attempts");
  return Finding{
      refused
          ? say("{}: {} of the attempts failed, but {} {}, which it does not count as throttling",
                claim("adaptive mode never slowed down", throttles <= number(kHardlyAny)),
                share(failed, source),
                by_queue ? Words("a full queue answers")
                         : Words("attempts that the service turns away are answered"),
                Name{"503"})
          : say("{}: {} of the attempts failed, but {} with a throttling error",
                claim("adaptive mode never slowed down", throttles <= number(kHardlyAny)),
                share(failed, source), claim("none", throttles <= number(kHardlyAny))),
      {{"failed_attempts_share", failed}, {"throttled_share", throttled}}};
}

/// Arriving requests per client, as a multiple of what its limit on the send rate lets pass; 0 if
/// requests are not generated at a rate, or do not wait for the limit.
double send_rate_load(const GroupCase& c) {
  using enum ArrivalProcess;
  const SendRateSpec& limit = c.client.send_rate;
  const ArrivalProcess process = c.client.arrivals.process;
  const bool come = process != kClosed && process != kOnce && process != kPoll;
  const bool waits = limit.in_use() && limit.on_empty == SendRateOnEmpty::kWait;
  if (!waits || !come || c.all.seconds <= 0) return 0;
  return static_cast<double>(c.all.group.requests) / (c.all.seconds * c.client.count * limit.rate);
}

/// First attempts alone need more than the clients let themselves send.
Found send_rate_below_demand(const GroupCase& c) {
  constexpr double kDeviations = 2, kTenth = 0.1;
  const double load = send_rate_load(c);
  if (load < 1 + kDeviations / std::sqrt(std::max(1.0, c.requests()))) return std::nullopt;
  const double wait_s = c.mean_send_wait_s(), latency_s = c.mean_latency_s();
  // Where the burst lasts longer than the run nothing waits.
  if (wait_s <= 0 || wait_s < kTenth * latency_s) return std::nullopt;
  const std::string path = scenario::path_of(c.client);
  const FigureSource limit = key(path + ".send_rate.rate");
  const FigureSource clients =
      c.client.makes_calls()
          ? key("service." + c.client.name.substr(0, c.client.name.find('.')) + ".instances")
          : key(path + ".count");
  const FigureSource source = per_second(c, "requests", "window") / (clients * limit);
  const Words each = c.client.makes_calls() ? Words("of each instance")
                     : c.client.count == 1  ? Words("of its client")
                                            : Words("of each client");
  return Finding{
      say("{} need {} the send rate {}, {} a second: they wait {} on average before they "
          "are sent",
          c.client.makes_calls() ? Words("calls") : Words("requests"), times(load, source), each,
          count(c.client.send_rate.rate, limit), roughly(wait_s, wait_source(c, "send_wait_mean"))),
      {{"send_rate_load_ratio", load}, {"send_wait_s", wait_s}}};
}

Found limiter_held_back(const GroupCase& c) {
  constexpr double kMuch = 0.1;
  const bool adaptive = c.client.retry.rate_limit.enabled;
  if ((!adaptive && !c.client.send_rate.in_use()) || c.requests() == 0) return std::nullopt;
  if (send_rate_below_demand(c)) return std::nullopt;  // which says as much
  const double wait_s = c.mean_send_wait_s(), latency_s = c.mean_latency_s();
  if (wait_s <= 0 || wait_s < kMuch * latency_s) return std::nullopt;
  return Finding{
      say("{} slowed the clients down: requests waited {} on average {}",
          adaptive ? Words("adaptive mode") : Words("the clients' own limit on their send rate"),
          roughly(wait_s, wait_source(c, "send_wait_mean")),
          adaptive ? Words("for a send token") : Words("to be sent")),
      {{"send_wait_s", wait_s}, {"latency_s", latency_s}}};
}

/// Whether attempts fail for reasons that have nothing to do with load.
bool has_transient_errors(const GroupCase& c) {
  const NetworkSpec& network = c.scenario.network;
  const auto has_errors = [](const ServiceSpec* s) { return !s->errors.empty(); };
  if (network.request_loss > 0 || network.response_loss > 0 ||
      std::ranges::any_of(c.services, has_errors)) {
    return true;
  }
  return std::any_of(c.scenario.faults.begin(), c.scenario.faults.end(), [&](const FaultSpec& f) {
    return share_of_calls(c.client, f.service) > 0 &&
           (!f.errors.empty() || f.request_loss > 0 || f.response_loss > 0 || f.unreachable);
  });
}

/// Attempts that a service turned away or left waiting for too long, of those that reached it.
struct LostToLoad {
  double lost = 0, arrivals = 0;

  void add(const ServiceFlow& s, double seconds, double runs) {
    // Attempts that are given up before they are served are not counted as such.
    const double in_it = seconds > 0 ? s.in_system_ns / 1e9 / seconds * runs : 0;
    const double unserved =
        static_cast<double>(s.admitted) - static_cast<double>(s.completions) - in_it;
    lost += static_cast<double>(s.rejected + s.throttled + s.wasted) + std::max(0.0, unserved);
    arrivals += static_cast<double>(s.arrivals);
  }
};

/// The share of first attempts that may have failed because of load, to which retries add: without
/// them these might have succeeded.
double may_be_lost_to_load(const GroupCase& c) {
  const auto runs = static_cast<double>(c.runs);
  const bool calls = std::ranges::any_of(
      called_services(c.client), [&](std::size_t s) { return flow::calls_others(c.scenario, s); });
  double lost_share = 0;
  const auto add = [&](const LostToLoad& at) {
    if (at.arrivals > 0) lost_share += at.lost / at.arrivals;
  };
  LostToLoad own;
  if (!calls) {
    own.add(c.all.service, c.all.seconds, runs);
    add(own);
  } else if (!c.graph) {
    return 1;
  } else {
    // A failure anywhere below may be one of load.
    for (std::size_t s = 0; s < c.scenario.services.size(); ++s) {
      LostToLoad there;
      for (const GraphStretch& stretch : c.graph->stretches) {
        there.add(stretch.services[s].flow, stretch.seconds, runs);
      }
      add(there);
    }
  }
  // One that its client gave up need not have failed: another one, or a deadline, came first.
  const AttemptNumberCounts& first = c.total.by_attempt.front();
  const auto given_up = first.results[static_cast<std::size_t>(AttemptResult::kAbandoned)];
  return lost_share + static_cast<double>(given_up) / static_cast<double>(first.sent);
}

/// Whether more succeed than would without retries. The success of first attempts tells that only
/// where hardly any of them failed because of load.
bool helped_for_sure(const GroupCase& c) {
  constexpr double kNoticeable = 0.01, kFew = 0.1;
  if (c.total.by_attempt.empty() || c.total.by_attempt.front().sent == 0) return false;
  const double first = c.first_attempt_success_share(), lost = may_be_lost_to_load(c);
  return lost <= kFew * (1 - first) && c.success_share() >= first + lost + kNoticeable;
}

/// Whether more requests succeed than first attempts, by more than a percentage point.
bool helped(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  return c.client.retry.max_attempts >= 2 &&
         c.success_share() >= c.first_attempt_success_share() + kNoticeable;
}

std::vector<EvidenceFigure> help_figures(const GroupCase& c) {
  return {{"success_share", c.success_share()},
          {"first_attempt_success_share", c.first_attempt_success_share()},
          {"attempts_per_request_ratio", c.amplification()}};
}

Figure first_attempts(const GroupCase& c) {
  return share(c.first_attempt_success_share(),
               first_attempt(c, "successes") / first_attempt(c, "sent"));
}

bool is_spread_by_retries(const GroupCase& c) {
  constexpr double kAll = 0.99;
  return c.client.arrivals.process == ArrivalProcess::kOnce && c.success_share() >= kAll &&
         helped(c) && !c.client.retry.hedging.enabled;
}

Found retries_helped(const GroupCase& c) {
  if (is_spread_by_retries(c)) return std::nullopt;  // which says as much
  if (!has_transient_errors(c) || c.retries_above_capacity.runs > 0 || !helped(c) ||
      !helped_for_sure(c)) {
    return std::nullopt;
  }
  return Finding{
      say("{} helped: {} of the requests succeed instead of the {} of the first "
          "attempts, for {} attempts per request",
          c.client.retry.hedging.enabled ? Words("hedges and retries") : Words("retries"),
          share(c.success_share(), success_source(c)), first_attempts(c),
          count(c.amplification(), attempts_per_request(c))),
      help_figures(c)};
}

Found herd_was_served(const GroupCase& c) {
  if (!is_spread_by_retries(c)) return std::nullopt;
  return Finding{
      say("retries spread the herd: {} of the requests succeed, {} at the first attempt, "
          "for {} attempts per request",
          share(c.success_share(), success_source(c)), first_attempts(c),
          count(c.amplification(), attempts_per_request(c))),
      help_figures(c)};
}

Found retries_idle(const GroupCase& c) {
  constexpr double kFew = 1.01, kGood = 0.99;
  if (c.disturbed() || c.client.retry.max_attempts < 2 || c.requests() == 0) return std::nullopt;
  // An attempt that a breaker, a bulkhead, a pool or the send rate has stopped is tried again as
  // one that was sent, and its successor counts as the first that is sent.
  const auto unsent =
      static_cast<double>(c.total.unconnected + c.total.unpermitted + c.total.breaker_refusals);
  const double tried = (static_cast<double>(c.total.attempts) + unsent) / c.requests();
  if (c.success_share() < kGood || tried >= kFew) return std::nullopt;
  const double retried = 1 - 1 / std::max(1.0, tried);
  if (retried <= 0 && unsent > 0) return std::nullopt;
  const bool hedges = c.client.retry.hedging.enabled;
  // Attempts that fail are tried again; all others that follow the first are hedges.
  const auto results = [&](AttemptResult r) {
    return c.total.results[static_cast<std::size_t>(r)];
  };
  const bool fails = results(AttemptResult::kThrottled) + results(AttemptResult::kError) +
                         results(AttemptResult::kTimeout) >
                     0;
  FigureSource all = metric(c, "attempts");
  if (unsent > 0) {
    all = std::move(all) + weighted(c, "unconnected_per_request", "requests") +
          weighted(c, "unpermitted_per_request", "requests");
    if (c.total.breakers > 0) all = std::move(all) + metric(c, "breaker_refusals");
  }
  const FigureSource source = number(1) - metric(c, "requests") / std::move(all);
  return Finding{
      retried > 0
          ? say("{} cost next to nothing here: {} of the attempts{}",
                !hedges ? Words("retries")
                : fails ? Words("hedges and retries")
                        : Words("hedges"),
                share(retried, source), unsent > 0 ? Words(", sent or not") : Words(""))
          : say("{} cost nothing here: {} was {}", hedges ? Words("hedges") : Words("retries"),
                claim("none", metric(c, "retries") == number(0)),
                hedges ? Words("sent") : Words("needed")),
      {{"attempts_per_request_ratio", c.amplification()}}};
}

/// An event that was not seen in n replications may still happen: 1 - 0.05^(1/n) is the upper limit
/// of its probability with 95 % confidence (the rule of three).
Found could_have_been_missed(const GroupCase& c) {
  constexpr double kUnseen = 0.05, kLost = 0.05, kLittle = 0.01, kWellBefore = 0.99;
  const auto n = static_cast<double>(c.recoveries.back);
  if (!c.recovers() || c.client.retry.max_attempts < 2) return std::nullopt;
  if (c.client.makes_calls()) return std::nullopt;  // its caller may have given up
  const double before = c.before_it().success_share();
  if (before < kWellBefore || c.made.during.success_share() > before - kLost) return std::nullopt;
  const double unseen = 1 - std::pow(kUnseen, 1 / n);
  if (unseen < kLittle) return std::nullopt;
  const bool some_few = c.recoveries.few > 0;
  return Finding{
      n == 1 ? say("a single run{}: whether it always recovers is not known",
                   some_few ? Words(" has requests enough to tell") : Words(""))
             : say("{} {} runs{}: the chance of a collapse is below {} ({} confidence)",
                   claim("recovers in all", back_source(c) == told_source(c)),
                   whole(n, back_source(c)),
                   some_few ? Words(" that have requests enough to tell") : Words(""),
                   share(unseen, number(1) - power(number(kUnseen), number(1) / back_source(c))),
                   share(1 - kUnseen, number(1 - kUnseen))),
      {{"replications", n}, {"missed_share", unseen}}};
}

/// Why idempotency tokens did not prevent repeated effects, as far as that is known.
Sentence gap_in_tokens(const GroupCase& c) {
  const auto remembers = [](const ServiceSpec* s) { return s->idempotency.remembers(); };
  if (std::ranges::none_of(c.services, remembers)) {
    const FigureSource none =
        c.has_one_service() && c.service().idempotency.window == Duration::zero()
            ? stated("service." + c.service().name + ".idempotency.window", "none")
            : not_in_files("keys of the services");
    const Figure knows = claim("knows no tokens", none), know = claim("know no tokens", none);
    return c.has_one_service() ? say(": the service {}", knows) : say(": its services {}", know);
  }
  if (2 * c.total.token_races < c.total.duplicated) return {};
  return Words(": retries came before the token of the attempt before them had been stored");
}

Found takes_effect_twice(const GroupCase& c) {
  constexpr double kNoticeable = 0.001;
  if (c.total.mutating == 0) return std::nullopt;
  const double twice =
      static_cast<double>(c.total.duplicated) / static_cast<double>(c.total.mutating);
  if (twice < kNoticeable) return std::nullopt;
  return Finding{say("{} of the requests with side effects took effect more than once{}",
                     share(twice, not_in_files("requests with side effects, of which there is no "
                                               "number by replication")),
                     gap_in_tokens(c)),
                 {{"duplicate_share", twice}}};
}

/// Clients of a closed loop, or requests without a limit on attempts, that wait for answers that
/// never come.
Found stuck(const GroupCase& c) {
  constexpr double kNoticeable = 0.01, kTimes = 10;
  const ArrivalSpec& arrivals = c.client.arrivals;
  if (!c.disturbed() || c.runs == 0 || !c.is_told_by_goodput()) return std::nullopt;
  const bool closed = arrivals.process == ArrivalProcess::kClosed;
  const auto runs = static_cast<double>(c.runs);
  const double some = c.unanswered.stuck / runs, usual_s = c.unanswered.usual_s / runs;
  const double all = closed ? static_cast<double>(c.client.count) * arrivals.concurrency
                            : (c.made.during.made + c.made.since().made) / runs;
  if (usual_s <= 0 || some < std::max(1.0, kNoticeable * all)) return std::nullopt;
  constexpr std::string_view kUnderWay =
      "requests under way, in the bins in which they are counted";
  const Figure many = count(std::round(some), not_in_files(kUnderWay));
  // The count may differ between runs: all of them in some and hardly any in others, say.
  const Words mean =
      c.runs > 1 && std::round(some) < std::round(all) ? Words("on average ") : Words("");
  Sentence who = counted(many, "request has", "requests have");
  if (closed && all == 1) {
    who = Words("the only client has");
  } else if (closed) {
    who = say("{} of {} {} {}", many, count(all, not_in_files(kByScenario)),
              arrivals.concurrency == 1 ? Words("clients") : Words("requests"),
              many.said().text == "1" ? Words("has") : Words("have"));
  }
  return Finding{
      say("when the {}, {}{} been without an answer for more than {}, {} the usual time",
          c.scenario.drain ? Words("load stops") : Words("run ends"), mean, who,
          roughly(kTimes * usual_s, not_in_files(kUnderWay)), times(kTimes, number(kTimes))),
      {{"stuck", some}, {"usual_latency_s", usual_s}}};
}

/// Requests refused because they carry the token of an earlier request.
Found reused_tokens(const GroupCase& c) {
  constexpr double kMuch = 0.1;
  const SideEffectSpec& effects = c.client.side_effects;
  const double refused = effects.mutating * effects.token_reuse;
  const bool remembers = std::ranges::any_of(
      c.services, [](const ServiceSpec* s) { return s->idempotency.remembers(); });
  if (refused <= 0 || !remembers || !effects.idempotency_token ||
      effects.token_from != TokenSource::kRequest || !fails_noticeably(c) ||
      refused < kMuch * (1 - c.success_share())) {
    return std::nullopt;
  }
  const std::string path = scenario::path_of(c.client);
  return Finding{say("{} of the requests carry the token of an earlier one, which the service "
                     "refuses",
                     share(refused, key(path + ".mutating") * key(path + ".token_reuse"))),
                 {{"reused_tokens_share", refused}}};
}

using enum Severity;
constexpr std::array kClientRules = {
    Rule{{"stuck", kBad, false,
          "1 % of the clients of a closed loop, or of the requests without a limit on attempts, "
          "have "
          "had no answer for ten times the usual time when the load stops"},
         stuck},
    Rule{{"quota-ran-dry", kInfo, false,
          "from some moment on the retry quota refuses a tenth of the retries or more until the "
          "group is back"},
         quota_ran_dry},
    Rule{{"quota-ran-dry-in-vain", kInfo, false, "the same, and it does not recover"},
         quota_ran_dry_in_vain},
    Rule{{"quota-never-dry", kBad, false,
          "there is a quota, it denies little, and the group does "
          "not recover"},
         quota_never_dry},
    Rule{{"limit-never-bound", kInfo, false,
          "a quota, budget, breaker or guard limits retries, refuses none of 100 retries or more, "
          "and these are a tenth of the requests or more, or for a limit other than the quota of "
          "those "
          "during the disturbance"},
         limit_never_bound},
    Rule{{"limiter-never-woke", kInfo, false,
          "adaptive mode, 5 % of the attempts fail, and none by throttling"},
         limiter_never_woke},
    Rule{{"send-rate-below-demand", kBad, false,
          "more requests come to the clients than their send rate permits, and wait for it for a "
          "tenth of the latency or more"},
         send_rate_below_demand},
    Rule{{"limiter-held-back", kInfo, false,
          "a tenth of the latency or more is waiting for send tokens"},
         limiter_held_back},
    Rule{{"denied-by-quota", kInfo, false,
          "a quota, budget, breaker or guard denied most of the requests that failed a retry, and "
          "no rule "
          "above says that the quota ran dry"},
         denied_by_quota},
    Rule{{"denied-by-client", kInfo, false,
          "the client itself did not send most of the requests that failed"},
         denied_by_client},
    Rule{
        {"breaker-refused", kInfo, false,
         "a circuit breaker was open for 1 % of the time or more, or refused the first attempts of "
         "1 % of the requests or more"},
        breaker_refused},
    Rule{{"breaker-never-opened", kInfo, false,
          "there is a circuit breaker, requests fail, half of the calls that it records or more "
          "fail (attempts, or requests if it is outside of the retries), during the disturbance if "
          "there is one, and it does not open"},
         breaker_never_opened},
    Rule{{"not-sent", kInfo, false,
          "clients did not send one attempt in a hundred or more, for want of a connection or a "
          "place in their bulkhead, or because of their send rate"},
         not_sent},
    Rule{{"past-deadline", kInfo, false, "most of the requests that failed ran out of time"},
         past_deadline},
    Rule{{"not-retryable", kInfo, false,
          "most of the requests that failed got an answer that is not retried"},
         not_retryable},
    Rule{{"reused-tokens", kInfo, false,
          "requests fail, and a tenth of that or more may be because they carry the token of an "
          "earlier one"},
         reused_tokens},
    Rule{
        {"retries-helped", kGood, false,
         "errors come at random, more requests succeed than first attempts, and at most a tenth of "
         "the first attempts that fail may do so because of load, to which retries add"},
        retries_helped},
    Rule{{"herd-served-by-retries", kGood, false,
          "a herd is served, and more requests succeed than first attempts"},
         herd_was_served},
    Rule{{"retries-idle", kGood, false,
          "no disturbance, and retries, those of unsent attempts as well, are under 1 % of the "
          "requests"},
         retries_idle},
    Rule{{"could-have-been-missed", kInfo, false,
          "it recovers in all replications, retries, and loses 5 % of the requests or more during "
          "the disturbance"},
         could_have_been_missed},
    Rule{{"duplicates", kBad, false, "0.1 % of the requests with side effects took effect twice"},
         takes_effect_twice},
};

}  // namespace

std::span<const Rule> client_rules() { return kClientRules; }

}  // namespace retrysim::explain
