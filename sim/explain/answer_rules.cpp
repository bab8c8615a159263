// How a client group fared: the first of these rules that applies gives the answer.
//
// An answer is about before, during and after: it compares the requests made in each of them, with
// regard to how many they are, and its severity is that of the worst of them.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "explain/rules.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;
using enum Severity;

constexpr double kWell = 0.99;  ///< success rate of a group that has no trouble
constexpr double kFewest = 5;   ///< requests; all of them failing is no chance

enum class Change { kNone, kWorse, kUnclear };

/// What chance explains of a difference between success rates: three standard errors of it, with
/// one more failure and one more success. Both have requests.
double noise_of_success(const Requests& a, const Requests& b) {
  constexpr double kDeviations = 3;
  const double p = (a.made - a.succeeded + b.made - b.succeeded + 1) / (a.made + b.made + 2);
  return kDeviations * std::sqrt(p * (1 - p) * (1 / a.made + 1 / b.made));
}

/// Whether fewer requests succeed than before, by a point and by more than chance explains.
Change success_change(const Requests& before, const Requests& then) {
  if (before.made < kFewest || then.made < kFewest) return Change::kUnclear;
  constexpr double kNoticeable = 0.01;
  const double difference = before.success_share() - then.success_share();
  if (difference <= kNoticeable) return Change::kNone;
  return difference > noise_of_success(before, then) ? Change::kWorse : Change::kUnclear;
}

/// Whether what is said of them may be that they succeed as often.
bool succeed_as_often(const Requests& before, const Requests& then) {
  const double difference = std::abs(before.success_share() - then.success_share());
  return before.made == 0 || then.made == 0 || difference <= noise_of_success(before, then) ||
         spoken_share(before.success_share()) == spoken_share(then.success_share());
}

/// Whether requests take half as long again, with regard to how many they are: the standard
/// deviation of a latency is about its mean.
bool is_slower(const Requests& before, const Requests& then) {
  constexpr double kSlower = 1.5, kDeviations = 3;
  if (before.ended == 0 || then.ended == 0) return false;
  const double noise = kDeviations / std::sqrt(before.ended) + kDeviations / std::sqrt(then.ended);
  return then.mean_latency_s() > (kSlower + noise) * before.mean_latency_s();
}

/// What the time of the disturbance is compared with: the time before it, or where there is none,
/// the time since the group is back.
bool is_normal_before(const GroupCase& c) { return c.made.before.made >= kFewest || !c.recovers(); }
const Requests& normal(const GroupCase& c) {
  return is_normal_before(c) ? c.made.before : c.made.after;
}

bool is_as_before(const GroupCase& c, const Requests& then) {
  return success_change(normal(c), then) == Change::kNone;
}

/// Whether there is no sign that it is down after the disturbance: it is back in all replications,
/// or there were too few requests in each of them, but not in all together.
bool seems_up(const GroupCase& c) {
  if (c.recovers()) return true;
  return c.disturbed() && c.recoveries.runs() > 0 && c.recoveries.down() == 0 &&
         is_as_before(c, c.made.since());
}

/// The disturbance is still on when the run ends: there is nothing after it.
bool lasts_to_end(const GroupCase& c) { return c.disturbed() && c.recoveries.watched_s <= 0; }

bool back_at_once(const GroupCase& c) { return seems_up(c) && c.recoveries.late_s.empty(); }

/// Of at least one value; they are in order.
double median(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string its_first(const GroupCase& c) {
  return fmt::format("the {}{}", c.disturbances.count > 1 ? "first " : "", c.disturbances.kind);
}

/// "only 12 % of the requests made during the fault succeed".
std::string only_succeed(const Requests& r, const std::string& when) {
  constexpr double kHardlyAny = 1e-4;
  if (r.succeeded == 0) return fmt::format("no request made {} succeeds", when);
  if (r.success_share() < kHardlyAny) {
    return fmt::format("hardly any request made {} succeeds", when);
  }
  return fmt::format("only {} of the requests made {} succeed", spoken_share(r.success_share()),
                     when);
}

std::vector<EvidenceFigure> shares(const GroupCase& c) {
  return {{"success_before_share", c.made.before.success_share()},
          {"success_during_share", c.made.during.success_share()},
          {"success_after_share", c.made.since().success_share()}};
}

std::vector<EvidenceFigure> recovery(const GroupCase& c) {
  std::vector<EvidenceFigure> figures = shares(c);
  const auto n = static_cast<double>(c.recoveries.runs());
  figures.push_back({"replications", n});
  figures.push_back({"recovered", static_cast<double>(c.recoveries.back)});
  if (c.recoveries.back > 0) {
    figures.push_back({"recovery_mean_s", c.recoveries.mean_s});
    figures.push_back({"recovery_least_s", c.recoveries.least_s});
    figures.push_back({"recovery_most_s", c.recoveries.most_s});
  }
  return figures;
}

/// Enough requests fail before anything happens that it is no chance.
bool fails_before(const GroupCase& c) {
  constexpr double kFailures = 3;
  const Requests& r = c.made.before;
  return c.disturbed() && r.made >= kFewest && r.made - r.succeeded >= kFailures &&
         r.success_share() < kWell;
}

/// Nothing to return to: most requests failed before anything happened.
Found down_before(const GroupCase& c) {
  constexpr double kUp = 0.5;
  if (!fails_before(c) || c.made.before.success_share() >= kUp) return std::nullopt;
  return Finding{fmt::format("down before {} begins: {}", its_first(c),
                             only_succeed(c.made.before, "until then")),
                 shares(c)};
}

std::vector<EvidenceFigure> backlog_figures(const GroupCase& c) {
  const Backlog& b = c.backlog;
  const auto n = static_cast<double>(c.runs);
  return {{"backlog_middle", b.middle / n}, {"backlog_end", b.end / n}};
}

/// "2890 requests are under way when the fault begins, 1440 halfway there".
std::string growing_backlog(const GroupCase& c, const std::string& when) {
  const auto n = static_cast<double>(c.runs);
  return fmt::format("{} requests are under way {}, {} halfway there",
                     spoken_count(c.backlog.end / n), when, spoken_count(c.backlog.middle / n));
}

Found overloaded_before(const GroupCase& c) {
  if (!c.disturbed() || !c.falls_behind()) return std::nullopt;
  return Finding{fmt::format("falls behind before {} begins: {}", its_first(c),
                             growing_backlog(c, "when it begins")),
                 backlog_figures(c)};
}

/// What is said of a group that is not back, of the time before.
std::string before_too(const GroupCase& c) {
  return fails_before(c)
             ? fmt::format(" ({} before it)", spoken_share(c.made.before.success_share()))
             : "";
}

Found never_recovers(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back > 0 || r.gone == 0 || lasts_to_end(c)) return std::nullopt;
  Finding f{fmt::format("never recovers: {}{}",
                        only_succeed(c.made.since(),
                                     fmt::format("in the {} after {}",
                                                 roughly_spoken_time(r.watched_s), its_name(c))),
                        before_too(c)),
            recovery(c)};
  if (c.made.since().success_share() >= kWell) {
    f.sentence = fmt::format(
        "never catches up: in the {} after {} requests succeed more and more slowly, after {} on "
        "average",
        roughly_spoken_time(r.watched_s), its_name(c),
        roughly_spoken_time(c.made.since().mean_latency_s()));
  }
  f.evidence.push_back({"watched_s", r.watched_s});
  return f;
}

Found too_short(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back > 0 || r.down() == 0 || lasts_to_end(c)) return std::nullopt;
  const bool once = c.client.arrivals.process == ArrivalProcess::kOnce;
  Finding f{fmt::format("not recovered when the run ends, {} after {}; {}{}",
                        spoken_time(std::max(r.watched_s, 0.0)), its_name(c),
                        once ? "all requests came at once, so that no longer run would tell more"
                             : "run longer to see whether it does",
                        fails_before(c) ? "; " + only_succeed(c.made.before, "before it") : ""),
            recovery(c)};
  f.evidence.push_back({"watched_s", r.watched_s});
  return f;
}

/// "6.1 s after the fault ends (median)", "at once".
std::string when_back(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.late_s.empty()) return "at once";
  const std::string when = fmt::format("{} after {}{}", roughly_spoken_time(median(r.late_s)),
                                       its_end(c), r.late_s.size() > 1 ? " (median)" : "");
  if (r.at_once() == 0) return when;
  // The common case first.
  if (r.at_once() > r.late_s.size()) return fmt::format("at once or {}", when);
  return fmt::format("{} or at once", when);
}

Found sometimes(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back == 0 || r.down() == 0) return std::nullopt;
  const std::size_t told = r.back + r.down();
  const bool rarely = 2 * r.back < told;
  return Finding{
      fmt::format("recovers in {}{} of {} runs, {}; in the other{} it {}{}", rarely ? "only " : "",
                  r.back, told, when_back(c), r.down() > 1 ? fmt::format(" {}", r.down()) : "",
                  r.unknown > 0 ? "is still down when the run ends" : "stays down",
                  fails_before(c) ? "; " + only_succeed(c.made.before, "before it") : ""),
      recovery(c)};
}

std::string few_of(const Requests& r) {
  return fmt::format("{:.0f} of {:.0f}", r.succeeded, r.made);
}

/// Counts are those of all runs together.
std::string in_all_runs(const GroupCase& c) {
  return c.runs > 1 ? fmt::format(" ({} runs together)", c.runs) : "";
}

/// Not enough requests for a comparison with the time before.
Found too_few(const GroupCase& c) {
  if (!c.disturbed() && c.requests() < kFewest) {
    return Finding{
        fmt::format("too few requests to tell: {} succeed{}",
                    few_of({c.requests(), c.requests() * c.success_share(), 0, 0}), in_all_runs(c)),
        {{"requests", c.requests()}}};
  }
  if (!c.disturbed() || c.runs == 0) return std::nullopt;
  const Change during = success_change(normal(c), c.made.during);
  if ((seems_up(c) || lasts_to_end(c)) && during != Change::kUnclear) return std::nullopt;
  // A recovery that is seen says that it was down.
  if (c.recovers() && !c.recoveries.late_s.empty()) return std::nullopt;
  const Requests since = c.made.since();
  std::string counts;
  if (c.made.before.made > 0) {
    counts = fmt::format(
        "too few requests to tell: of those made before, during and after {}, {}, {} and {} "
        "succeed",
        its_name(c), few_of(c.made.before), few_of(c.made.during), few_of(since));
  } else if (since.made > 0) {
    counts = fmt::format(
        "nothing to compare with: no request is made before {}; of those made during and after "
        "it, {} and {} succeed",
        its_first(c), few_of(c.made.during), few_of(since));
  } else {
    counts = fmt::format(
        "nothing to compare with: requests are made only during {}, of which {} succeed",
        its_name(c), few_of(c.made.during));
  }
  Finding f{counts + in_all_runs(c), shares(c)};
  f.evidence.push_back({"made_before", c.made.before.made});
  f.evidence.push_back({"made_during", c.made.during.made});
  f.evidence.push_back({"made_after", since.made});
  return f;
}

/// It is back, to what was no good state.
Found failing_before(const GroupCase& c) {
  if (!fails_before(c)) return std::nullopt;
  const Requests since = c.made.since();
  return Finding{
      fmt::format("failing before {} already: {} of the requests made before it "
                  "succeed, {} during it and {} after it",
                  its_first(c), spoken_share(c.made.before.success_share()),
                  spoken_share(c.made.during.success_share()), spoken_share(since.success_share())),
      recovery(c)};
}

/// "99.1 % of the requests made during the fault succeed instead of 100 %".
std::string succeed_instead_of(const GroupCase& c, const Requests& then, std::string_view when) {
  return fmt::format("{} of the requests made {} {} succeed instead of {}",
                     spoken_share(then.success_share()), when, its_name(c),
                     spoken_share(normal(c).success_share()));
}

Found unaffected(const GroupCase& c) {
  const Requests since = c.made.since();
  if (!(seems_up(c) || lasts_to_end(c)) || !is_as_before(c, c.made.during)) return std::nullopt;
  if (is_slower(normal(c), c.made.during) || is_slower(normal(c), since)) return std::nullopt;
  if (success_change(normal(c), since) == Change::kWorse) return std::nullopt;
  if (!succeed_as_often(normal(c), c.made.during)) {
    return Finding{"hardly affected: " + succeed_instead_of(c, c.made.during, "during"), shares(c)};
  }
  const std::string succeed = fmt::format("{} of the requests made during {} succeed, as {}",
                                          spoken_share(c.made.during.success_share()), its_name(c),
                                          is_normal_before(c) ? "before" : "they do later");
  if (degraded_calls(c)) {  // a cause says which
    return Finding{fmt::format("degraded answers: {}, but not all answers are whole", succeed),
                   shares(c), kInfo};
  }
  return Finding{"unaffected: " + succeed, shares(c)};
}

Found only_slower(const GroupCase& c) {
  const Requests since = c.made.since();
  if (!(seems_up(c) || lasts_to_end(c)) || !is_as_before(c, c.made.during)) return std::nullopt;
  if (success_change(normal(c), since) == Change::kWorse) return std::nullopt;
  const double before_s = normal(c).mean_latency_s(), during_s = c.made.during.mean_latency_s(),
               since_s = since.mean_latency_s();
  const bool slower_during = is_slower(normal(c), c.made.during);
  const Requests& slower = slower_during ? c.made.during : since;
  const std::string_view when = slower_during ? "during" : "after";
  const std::string take = fmt::format("take {} on average instead of {}",
                                       roughly_spoken_time(slower_during ? during_s : since_s),
                                       roughly_spoken_time(before_s));
  const std::string_view as_often = is_normal_before(c) ? "before" : "later";
  std::string sentence;
  if (!succeed_as_often(normal(c), slower)) {
    sentence = fmt::format("slower: {}; they {}", succeed_instead_of(c, slower, when), take);
  } else if (slower_during) {
    sentence = fmt::format("only slower: requests made during {} succeed as often as {}, but {}",
                           its_name(c), as_often, take);
  } else {
    sentence =
        fmt::format("only slower: requests succeed as often as {}, but those made after {} {}",
                    as_often, its_name(c), take);
  }
  if (slower_during && is_slower(normal(c), since)) {
    sentence += fmt::format(", and those made after it {}", roughly_spoken_time(since_s));
  }
  Finding f{std::move(sentence), shares(c)};
  f.evidence.push_back({"latency_before_s", before_s});
  f.evidence.push_back({"latency_during_s", during_s});
  f.evidence.push_back({"latency_after_s", since_s});
  return f;
}

/// It does harm, and what comes after it is not known.
Found still_on(const GroupCase& c) {
  if (!lasts_to_end(c)) return std::nullopt;
  return Finding{fmt::format("{} when the run ends: {} ({} before {})",
                             c.disturbances.count > 1 ? "the last disturbance is still on"
                                                      : its_name(c) + " is still on",
                             only_succeed(c.made.during, "during " + its_name(c)),
                             spoken_share(normal(c).success_share()),
                             c.disturbances.count > 1 ? "them" : "it"),
                 shares(c)};
}

/// What is left to say of a group that is back: that it is not as before, that it was not watched
/// for long.
Finding with_end_of_run(const GroupCase& c, Finding f) {
  const Recoveries& r = c.recoveries;
  if (success_change(normal(c), c.made.after) == Change::kWorse) {
    f.sentence += fmt::format("; {} of the requests made after that fail",
                              spoken_share(1 - c.made.after.success_share()));
    f.severity = kBad;
  } else if (r.brief == r.back && r.watched_s - r.most_s < c.scenario.recovery.hold.in_seconds()) {
    f.sentence += fmt::format("; watched for only {}",
                              roughly_spoken_time(std::max(0.0, r.watched_s - r.most_s)));
  }
  return f;
}

/// " after 24 s on average instead of 44 ms"; empty where requests take as long as before.
std::string later_than_usual(const GroupCase& c, const Requests& r) {
  if (!is_slower(normal(c), r)) return "";
  return fmt::format(" after {} on average instead of {}", roughly_spoken_time(r.mean_latency_s()),
                     roughly_spoken_time(normal(c).mean_latency_s()));
}

/// What a group whose goodput is back at once has to wait for.
std::string but_slow(const GroupCase& c) {
  const Requests since = c.made.since();
  if (!is_slower(normal(c), since)) return "";
  return fmt::format("; requests made after {} take {} on average instead of {}", its_name(c),
                     roughly_spoken_time(since.mean_latency_s()),
                     roughly_spoken_time(normal(c).mean_latency_s()));
}

Found degraded(const GroupCase& c) {
  constexpr double kCollapse = 0.5;
  const Requests& during = c.made.during;
  if (!back_at_once(c) || during.success_share() < kCollapse * normal(c).success_share()) {
    return std::nullopt;
  }
  const std::string late = later_than_usual(c, during);
  // Goodput may have been nothing at all while the disturbance was on, if answers come later.
  const bool answered_later =
      !late.empty() && static_cast<double>(c.during.group.successes) < kCollapse * during.succeeded;
  return with_end_of_run(
      c, {fmt::format("{}: {} of the requests made during {} succeed{}{}, and goodput is back at "
                      "once when {}{}",
                      answered_later ? "answers come late" : "degraded without collapse",
                      spoken_share(during.success_share()), its_name(c), late,
                      answered_later ? fmt::format(", most of them when {} is over",
                                                   c.disturbances.count > 1 ? "the last one" : "it")
                                     : "",
                      its_end(c), but_slow(c)),
          recovery(c)});
}

Found at_once(const GroupCase& c) {
  if (!back_at_once(c)) return std::nullopt;
  const std::string when_on = c.disturbances.count > 1 ? "during " + its_name(c) : "during it";
  return with_end_of_run(c, {fmt::format("back at once when {}: {}{}", its_end(c),
                                         only_succeed(c.made.during, when_on), but_slow(c)),
                             recovery(c)});
}

/// "6.3 s after the fault ends (5 s to 8 s in 20 runs)".
std::string recovery_time(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  const std::string from = roughly_spoken_time(r.least_s), to = roughly_spoken_time(r.most_s);
  std::string text = fmt::format("{} after {}", roughly_spoken_time(r.mean_s), its_end(c));
  if (r.back > 1 && from != to) text += fmt::format(" ({} to {} in {} runs)", from, to, r.back);
  return text;
}

/// For recoveries at once and later ones, of which a mean would describe neither.
std::string mixed_recovery(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  const std::string late = fmt::format("{} after {}{}", roughly_spoken_time(median(r.late_s)),
                                       its_end(c), r.late_s.size() > 1 ? " (median)" : "");
  if (r.at_once() > r.late_s.size()) {
    return fmt::format("back at once in {} of {} runs; {} in the other{}", r.at_once(), r.back,
                       late, r.late_s.size() > 1 ? fmt::format(" {}", r.late_s.size()) : "");
  }
  return fmt::format("recovers {}; at once in {} of {} runs", late, r.at_once(), r.back);
}

std::string lost_during(const GroupCase& c) {
  constexpr double kMost = 0.5;
  const Requests& during = c.made.during;
  if (during.success_share() < kMost) return "; " + only_succeed(during, "during " + its_name(c));
  return fmt::format("; {} of the requests made during {} succeed",
                     spoken_share(during.success_share()), its_name(c));
}

Found recovers(const GroupCase& c) {
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  if (!c.recovers() || c.recoveries.mean_s > lasted_s) return std::nullopt;
  const std::string when =
      c.recoveries.at_once() > 0 ? mixed_recovery(c) : "recovers " + recovery_time(c);
  return with_end_of_run(c, {when + lost_during(c), recovery(c)});
}

Found recovers_late(const GroupCase& c) {
  if (!c.recovers()) return std::nullopt;
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  Finding f = with_end_of_run(
      c, {c.recoveries.at_once() > 0
              ? mixed_recovery(c)
              : fmt::format("recovers {}: {} the length of {}", recovery_time(c),
                            spoken_times(c.recoveries.mean_s / lasted_s), its_name(c)),
          recovery(c)});
  f.evidence.push_back({"disturbance_s", lasted_s});
  return f;
}

std::vector<EvidenceFigure> steady_figures(const GroupCase& c) {
  return {{"success_share", c.success_share()}, {"attempts_per_request_ratio", c.amplification()}};
}

Found failing(const GroupCase& c) {
  if (c.success_share() >= kWell) return std::nullopt;
  return Finding{
      fmt::format("{} of the requests fail, with {} per request",
                  spoken_share(1 - c.success_share()), spoken_attempts(c.amplification())),
      steady_figures(c)};
}

Found falls_behind(const GroupCase& c) {
  if (!c.falls_behind()) return std::nullopt;
  const Backlog& b = c.backlog;
  std::string sentence = "falls behind: " + growing_backlog(c, "when the load stops");
  if (b.first_ended > 0 && b.last_ended > 0) {
    sentence += fmt::format("; the last quarter of the answers take {} on average, the first {}",
                            roughly_spoken_time(b.last_latency_s / b.last_ended),
                            roughly_spoken_time(b.first_latency_s / b.first_ended));
  }
  return Finding{std::move(sentence), backlog_figures(c)};
}

/// Requests succeed, but spend their time waiting.
Found slow(const GroupCase& c) {
  constexpr double kLongest_s = 1, kTimes = 10;
  const double wait_s = c.mean_wait_s();
  if (c.client.arrivals.process == ArrivalProcess::kOnce || c.total.latency_m.count == 0 ||
      wait_s <= std::max(kLongest_s, kTimes * c.capacity.least_attempt_s)) {
    return std::nullopt;
  }
  const double latency_s = static_cast<double>(c.total.latency_m.sum_ns) / 1e9 /
                           static_cast<double>(c.total.latency_m.count);
  const bool held = static_cast<double>(c.total.send_wait_ns) / 1e9 > wait_s / 2 * c.requests();
  const bool pooled =
      static_cast<double>(c.total.connection_wait_ns) / 1e9 > wait_s / 2 * c.requests();
  const std::string_view where = held     ? "until their client lets them be sent"
                                 : pooled ? "for a connection"
                                          : "in the queue";
  // An average says little of what grows.
  constexpr double kGrows = 1.5;
  const Backlog& b = c.backlog;
  const double first_s = b.first_ended > 0 ? b.first_latency_s / b.first_ended : 0;
  const double last_s = b.last_ended > 0 ? b.last_latency_s / b.last_ended : 0;
  const bool grows = !c.disturbed() && first_s > 0 && last_s > kGrows * first_s;
  Finding f{
      grows
          ? fmt::format("slow, and ever slower: {} of the requests succeed, but wait {}; the "
                        "last quarter of the answers take {} on average, the first {}",
                        spoken_share(c.success_share()), where, roughly_spoken_time(last_s),
                        roughly_spoken_time(first_s))
          : fmt::format("slow: {} of the requests succeed, but wait {} on average {}, of {} in all",
                        spoken_share(c.success_share()), roughly_spoken_time(wait_s), where,
                        roughly_spoken_time(latency_s)),
      steady_figures(c)};
  f.evidence.push_back({"wait_s", wait_s});
  f.evidence.push_back({"latency_s", latency_s});
  return f;
}

Found well(const GroupCase& c) {
  // A cause says that this lasts only as long as the run.
  const bool for_now = overload_without_retries(c) && !is_served_first(c);
  Finding f{fmt::format("{}all is well: {} of the requests succeed, with {} each",
                        for_now ? "so far " : "", spoken_share(c.success_share()),
                        spoken_attempts(c.amplification())),
            steady_figures(c)};
  if (for_now) f.severity = kInfo;
  if (degraded_calls(c)) {  // a cause says which
    f.sentence = fmt::format(
        "degraded answers: {} of the requests succeed, with {} each, but not all answers are whole",
        spoken_share(c.success_share()), spoken_attempts(c.amplification()));
    f.severity = kInfo;
  }
  return f;
}

constexpr std::array kAnswers = {
    Rule{{"down-before", kBad, true,
          "fewer than half of the requests made before the disturbance succeed"},
         down_before},
    Rule{{"overloaded-before", kBad, true,
          "more and more requests are under way before the disturbance"},
         overloaded_before},
    Rule{{"never-recovers", kBad, true,
          "goodput does not come back in any replication, although there is time enough"},
         never_recovers},
    Rule{{"too-short-to-tell", kInfo, true,
          "goodput does not come back, and every run ends too early to say that it never will"},
         too_short},
    Rule{{"sometimes-recovers", kBad, true, "some replications recover, others do not"}, sometimes},
    Rule{{"too-few-to-tell", kInfo, true,
          "nothing is seen to be down after the disturbance, but too few requests are made before "
          "it, during it or after it to tell whether they fare alike"},
         too_few},
    Rule{{"failing-before", kBad, true,
          "goodput comes back, but fewer than 99 % of the requests made before the disturbance "
          "succeed"},
         failing_before},
    Rule{{"unaffected", kGood, true,
          "the success rate during the disturbance and after it is that before it, or less than a "
          "point lower, and requests take about as long"},
         unaffected},
    Rule{{"only-slower", kInfo, true, "the same, but requests take more than 1.5 times as long"},
         only_slower},
    Rule{{"still-on", kBad, true,
          "fewer succeed during the disturbance, which lasts to the end of the run"},
         still_on},
    Rule{{"degraded", kInfo, true,
          "at least half as many succeed during the disturbance, and goodput is back at once"},
         degraded},
    Rule{{"back-at-once", kInfo, true,
          "fewer than half as many succeed during the disturbance, and goodput is back at once"},
         at_once},
    Rule{{"recovers", kInfo, true, "goodput is back sooner than the disturbance has lasted"},
         recovers},
    Rule{{"recovers-late", kInfo, true, "goodput is back, but takes longer than the disturbance"},
         recovers_late},
    Rule{{"failing", kBad, true, "no disturbance, and fewer than 99 % of the requests succeed"},
         failing},
    Rule{{"falls-behind", kBad, true,
          "no disturbance, and more and more requests are under way (by 2 % of those made in the "
          "second half), with the service fully loaded or latencies growing"},
         falls_behind},
    Rule{{"slow", kInfo, true,
          "no disturbance, and requests wait for more than a second, and ten times as long as an "
          "attempt takes"},
         slow},
    Rule{{"all-well", kGood, true, "no disturbance, and none of these applies"}, well},
};

}  // namespace

std::span<const Rule> answer_rules() { return kAnswers; }

const VerdictRule* answer_of(const GroupCase& c, Severity& severity) {
  for (const Rule& rule : answer_rules()) {
    const auto found = rule.find(c);
    if (!found) continue;
    severity = found->severity.value_or(rule.about.severity);
    return &rule.about;
  }
  return nullptr;
}

Finding compared(const GroupCase& with, const GroupCase& without, std::string_view part) {
  constexpr double kSame = 0.01, kAsFast = 1.1;
  const double share = with.success_share(), other = without.success_share();
  const auto mean_s = [](const GroupCase& c) {
    const auto n = static_cast<double>(c.total.latency_m.count);
    return n > 0 ? static_cast<double>(c.total.latency_m.sum_ns) / 1e9 / n : 0;
  };
  const double latency_s = mean_s(with), other_s = mean_s(without);
  const std::size_t back = with.recoveries.back, other_back = without.recoveries.back;
  bool same = std::abs(share - other) < kSame && back == other_back;
  if (!with.disturbed()) {
    same = same && std::max(latency_s, other_s) <= kAsFast * std::min(latency_s, other_s);
  }
  std::string text = fmt::format("without {} ", part);
  if (same) text += "hardly anything changes: ";
  if (with.disturbed()) {
    text += fmt::format("{} of {} runs recover (with it {}), and ", other_back,
                        without.recoveries.runs(), back);
  }
  text += fmt::format("{} of the requests succeed (with it {})", spoken_share(other),
                      spoken_share(share));
  if (!with.disturbed()) {
    text += fmt::format(", after {} on average ({})", roughly_spoken_time(other_s),
                        roughly_spoken_time(latency_s));
  }
  return {std::move(text),
          {{"success_share", share},
           {"success_without_share", other},
           {"recovered", static_cast<double>(back)},
           {"recovered_without", static_cast<double>(other_back)},
           {"latency_s", latency_s},
           {"latency_without_s", other_s}}};
}

std::string its_name(const GroupCase& c) {
  return fmt::format("the {}{}", c.disturbances.kind, c.disturbances.count > 1 ? "s" : "");
}

std::string its_end(const GroupCase& c) {
  return fmt::format("the {}{} ends", c.disturbances.count > 1 ? "last " : "", c.disturbances.kind);
}

}  // namespace retrysim::explain
