// How a client group fared: the first of these rules that applies gives the answer.
//
// An answer is about before, during and after: it compares the requests made in each of them, with
// regard to how many they are, and its severity is that of the worst of them.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "explain/rules.hpp"
#include "explain/sources.hpp"
#include "flow/rates.hpp"
#include "scenario/text/names.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;
using enum Severity;

constexpr double kWell = 0.99;  ///< success rate of a group that has no trouble
constexpr double kFewest = 5;   ///< requests, so many that it cannot be chance if all fail

constexpr double kNoticeablyFewer = 0.01;  ///< points of the success rate

enum class Change { kNone, kWorse, kUnclear };

/// What chance explains of a difference between success rates: three standard errors of it, with
/// one more failure and one more success. Both must have requests.
double noise_of_success(const Requests& a, const Requests& b) {
  constexpr double kDeviations = 3;
  const double p = (a.made - a.succeeded + b.made - b.succeeded + 1) / (a.made + b.made + 2);
  return kDeviations * std::sqrt(p * (1 - p) * (1 / a.made + 1 / b.made));
}

/// Whether fewer requests succeed than before, by a point and by more than chance explains.
Change success_change(const Requests& before, const Requests& then) {
  if (before.made < kFewest || then.made < kFewest) return Change::kUnclear;
  const double difference = before.success_share() - then.success_share();
  if (difference <= kNoticeablyFewer) return Change::kNone;
  return difference > noise_of_success(before, then) ? Change::kWorse : Change::kUnclear;
}

/// Whether two shares are printed as the same percentage.
bool said_alike(double a, double b) {
  return share(a, number(a)).said().text == share(b, number(b)).said().text;
}

/// Whether a sentence may say that both succeed equally often.
bool succeed_as_often(const Requests& before, const Requests& then) {
  const double difference = std::abs(before.success_share() - then.success_share());
  return before.made == 0 || then.made == 0 || difference <= noise_of_success(before, then) ||
         said_alike(before.success_share(), then.success_share());
}

/// Whether requests take at least half as long again, beyond chance; the standard deviation of a
/// latency is taken to be its mean.
bool is_slower(const Requests& before, const Requests& then) {
  constexpr double kSlower = 1.5, kDeviations = 3;
  if (before.ended == 0 || then.ended == 0) return false;
  const double noise = kDeviations / std::sqrt(before.ended) + kDeviations / std::sqrt(then.ended);
  return then.mean_latency_s() > (kSlower + noise) * before.mean_latency_s();
}

/// The requests with which those of the disturbance are compared: made before it, or if there are
/// too few, since the group is back.
bool is_normal_before(const GroupCase& c) { return c.before_it().made >= kFewest || !c.recovers(); }
Requests normal(const GroupCase& c) { return is_normal_before(c) ? c.before_it() : c.made.after; }

/// Requests made since the last disturbance, without those cut off by the end of the run, which
/// have not failed.
Requests known_since(const GroupCase& c) {
  Requests since = c.made.since();
  since.made = std::max(since.made - c.cut_off, since.succeeded);
  since.as_counted = since.as_counted && c.cut_off == 0;
  return since;
}

bool is_as_before(const GroupCase& c, const Requests& then) {
  return success_change(normal(c), then) == Change::kNone;
}

/// Whether nothing suggests that the group is down after the disturbance: it is back in all
/// replications, or each had too few requests to tell, but all together have enough.
bool seems_up(const GroupCase& c) {
  if (c.recovers()) return true;
  return c.disturbed() && c.recoveries.runs() > 0 && c.recoveries.down() == 0 &&
         is_as_before(c, known_since(c));
}

/// Whether a disturbance is still on when the run ends, so that nothing comes after it.
bool lasts_to_end(const GroupCase& c) { return c.disturbed() && c.recoveries.watched_s <= 0; }

bool back_at_once(const GroupCase& c) { return seems_up(c) && c.recoveries.late_s.empty(); }

/// The median of at least one value; `values` must be sorted.
double median(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Sentence its_first(const GroupCase& c) {
  return say("the {}{}", c.disturbances.count > 1 ? Words("first ") : Words(""), kind_of(c));
}

/// A share of successes so small that the figure itself says nothing.
constexpr double kHardlyAnySuccess = 1e-4;

/// "only 12 % of the requests made during the fault succeed".
Sentence only_succeed(const GroupCase& c, const Requests& r, const Sentence& when) {
  if (r.succeeded == 0) {
    return say("{} made {} succeeds", claim("no request", made(c, r, "successes") == number(0)),
               when);
  }
  if (r.success_share() < kHardlyAnySuccess) {
    return say("{} made {} succeeds",
               claim("hardly any request", successes_of(c, r) <= number(kHardlyAnySuccess)), when);
  }
  return say("only {} of the requests made {} succeed",
             share(r.success_share(), successes_of(c, r)), when);
}

/// "98 % of the requests made during the fault fail", of a group whose requests have all ended.
Sentence most_fail(const GroupCase& c, const Requests& r) {
  if (r.success_share() < kHardlyAnySuccess) {
    return say("{} requests made during {} fail",
               r.succeeded == 0
                   ? claim("all", made(c, r, "successes") == number(0))
                   : claim("nearly all", successes_of(c, r) <= number(kHardlyAnySuccess)),
               its_name(c));
  }
  return say("{} of the requests made during {} fail",
             share(1 - r.success_share(), number(1) - successes_of(c, r)), its_name(c));
}

Figure success(const GroupCase& c, const Requests& r) {
  return share(r.success_share(), successes_of(c, r));
}

/// "24 s": how long its requests take on average.
Figure mean_latency(const GroupCase& c, const Requests& r) {
  return roughly(r.mean_latency_s(), latency_of(c, r));
}

/// "at its rate, 0.05 requests are due on average": why no request was sent, as far as it is known.
Sentence why_nothing(const GroupCase& c, double due) {
  const ArrivalSpec& a = c.client.arrivals;
  const Time start = Time::zero() + c.scenario.warmup, end = Time::zero() + c.scenario.duration;
  const Figure from = time(start.in_seconds(), key("window_start_s")),
               to = time(end.in_seconds(), key("window_end_s"));
  const FigureSource by_keys = not_in_files(kByScenario);
  if (a.process == ArrivalProcess::kClosed) {
    return std::max(c.backlog.end, c.unanswered.all) > 0
               ? say("its clients were still waiting for the answers to earlier requests")
               : say("{} of its clients began a request between {} and {}",
                     claim("none", metric(c, "requests") == number(0)), from, to);
  }
  if (due >= kFewest) return say("{} was due between {} and {}", claim("none", by_keys), from, to);
  if (due > 0) {
    const Words what = a.process == ArrivalProcess::kPoll ? Words("job") : Words("request");
    const Figure number = count(due, by_keys);
    return say("at its rate, {} {}{} due on average between {} and {}", number, what,
               number.said().text == "1" ? Words(" is") : Words("s are"), from, to);
  }
  if (a.process == ArrivalProcess::kOnce) {
    if (a.start < end) return say("its requests come before the warm-up ends at {}", from);
    return say("its requests start at {}, and the load stops at {}",
               time(a.start.in_seconds(), key(scenario::path_of(c.client) + ".arrivals.start")),
               to);
  }
  if (a.process == ArrivalProcess::kTrace && !a.profile) {
    return say("{} between {} and {}", claim("its trace has no request", by_keys), from, to);
  }
  return say("{} between {} and {}", claim("its rate is zero", by_keys), from, to);
}

/// Why a group of calls between services made none, and whether that is good.
std::pair<Sentence, bool> why_no_call(const GroupCase& c) {
  std::vector<const CallSpec*> own;
  for (const CallSpec& call : c.scenario.calls) {
    if (call.client == c.index) own.push_back(&call);
    if (call.on_failure == CallFailure::kFallback && call.fallback == c.client.name) {
      return {say("it is called only when {} fails", Name{c.scenario.clients[call.client].name}),
              true};
    }
  }
  const bool off = std::ranges::all_of(own, [](const CallSpec* call) {
    return call->share <= 0 || (call->count == 0 && !call->random_count);
  });
  if (off) {
    return {claim("its share or its count is zero", not_in_files(kByScenario)), false};
  }
  return {say("{} at {} led to this call", claim("no attempt", metric(c, "requests") == number(0)),
              Name{c.scenario.services[own.front()->caller].name}),
          false};
}

Found sent_nothing(const GroupCase& c) {
  if (c.total.requests > 0) return std::nullopt;
  const double due = flow::due_in_window(c.scenario, c.client);
  const auto [why, fine] =
      c.client.makes_calls() ? why_no_call(c) : std::pair(why_nothing(c, due), false);
  return Finding{
      say("{}, because {}", claim("sent nothing", metric(c, "requests") == number(0)), why),
      {{"requests", 0}, {"requests_due", due}},
      fine ? std::optional(kGood) : std::nullopt};
}

std::vector<EvidenceFigure> shares(const GroupCase& c) {
  return {{"success_before_share", c.before_it().success_share()},
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

constexpr std::string_view kGoodputOverTime = "successes over time";

/// Whether more requests fail before the disturbance than chance explains.
bool fails_before(const GroupCase& c) {
  constexpr double kFailures = 3;
  const Requests r = c.before_it();
  return c.disturbed() && r.made >= kFewest && r.made - r.succeeded >= kFailures &&
         r.success_share() < kWell;
}

/// The time from which on hardly any request succeeds, s after the start: mean over the
/// replications with such a collapse, empty if there is none.
std::optional<Figure> collapse_time(const GroupCase& c) {
  if (c.collapse.runs == 0) return std::nullopt;
  return roughly(c.collapse.from_s / static_cast<double>(c.collapse.runs),
                 not_in_files(kGoodputOverTime));
}

/// "; from 11 minutes after the start on, hardly any succeeds".
Sentence collapse_note(const GroupCase& c) {
  const auto from = collapse_time(c);
  if (!from) return {};
  const Figure hardly_any = claim("hardly any", not_in_files(kGoodputOverTime));
  if (c.collapse.runs == c.runs) {
    return say("; from {} after the start on, {} succeeds", *from, hardly_any);
  }
  return say("; in {} of {} runs {} succeeds from {} after the start on{}",
             whole(static_cast<double>(c.collapse.runs), not_in_files(kGoodputOverTime)),
             whole(static_cast<double>(c.runs), metric(c, "requests", "count")), hardly_any, *from,
             c.collapse.runs > 1 ? Words(" (mean)") : Words(""));
}

/// Nothing to return to: most requests failed before anything happened.
Found down_before(const GroupCase& c) {
  constexpr double kUp = 0.5;
  if (!fails_before(c) || c.made.before.success_share() >= kUp) return std::nullopt;
  return Finding{say("down before {} begins: {}{}", its_first(c),
                     only_succeed(c, c.made.before, Words("until then")), collapse_note(c)),
                 shares(c)};
}

std::vector<EvidenceFigure> backlog_figures(const GroupCase& c) {
  const Backlog& b = c.backlog;
  const auto n = static_cast<double>(c.runs);
  return {{"backlog_middle", b.middle / n}, {"backlog_end", b.end / n}};
}

/// Requests under way are counted in finer bins than those of the time series.
constexpr std::string_view kCountBins = "requests under way, in the bins in which they are counted";

/// "2890 requests are under way when the fault begins, 1440 halfway there"
Sentence growing_backlog(const GroupCase& c, const Sentence& when) {
  const auto n = static_cast<double>(c.runs);
  return say(
      "{} under way {}, {} halfway there",
      counted(count(c.backlog.end / n, not_in_files(kCountBins)), "request is", "requests are"),
      when, count(c.backlog.middle / n, not_in_files(kCountBins)));
}

/// "only 0.07 requests a second succeed in the 2.7 hours after the fault, 9.7 before it".
Sentence goodput_then(double now_per_s, double before_per_s, const Sentence& when,
                      const Sentence& before) {
  const auto rate = [](double per_s) {
    return count(per_s, not_in_files(kGoodputOverTime), per_s < 100 ? 2 : 3);
  };
  const Sentence how_many =
      now_per_s > 0 ? say("only {}", counted(rate(now_per_s), "request a second succeeds",
                                             "requests a second succeed"))
                    : Sentence(claim("no request succeeds", not_in_files(kGoodputOverTime)));
  return say("{} {}, {} a second {}", how_many, when, rate(before_per_s), before);
}

/// "stalls before the fault begins: no request succeeds in the last quarter of that time, 190 a
/// second in the best one".
Found stalls(const GroupCase& c, const Sentence& when, const Sentence& of_what) {
  const Backlog& b = c.backlog;
  if (b.stalled == 0) return std::nullopt;
  const auto n = static_cast<double>(b.stalled);
  const Sentence in_runs =
      b.stalled < c.runs ? say(" ({} of {} runs)", whole(n, not_in_files(kGoodputOverTime)),
                               whole(static_cast<double>(c.runs), metric(c, "requests", "count")))
                         : Sentence();
  return Finding{
      say("stalls{}: {}{}", when,
          goodput_then(b.last_per_s / n, b.best_per_s / n,
                       say("in the last quarter of {}", of_what), Words("in the best one")),
          in_runs),
      {{"best_per_s", b.best_per_s / n}, {"last_per_s", b.last_per_s / n}, {"stalled", n}}};
}

Found overloaded_before(const GroupCase& c) {
  if (!c.disturbed()) return std::nullopt;
  if (2 * c.backlog.stalled > c.runs) {
    if (auto found = stalls(c, say(" before {} begins", its_first(c)), Words("that time"))) {
      return found;
    }
  }
  if (!c.falls_behind()) return std::nullopt;
  return Finding{say("falls behind before {} begins: {}", its_first(c),
                     growing_backlog(c, Words("when it begins"))),
                 backlog_figures(c)};
}

/// For a group that is not back: how it fared before the disturbance, if not well.
Sentence before_too(const GroupCase& c) {
  return fails_before(c) ? say(" ({} before it)", success(c, c.made.before)) : Sentence();
}

Sentence failed_before_it(const GroupCase& c) {
  return fails_before(c) ? say("; {}", only_succeed(c, c.made.before, Words("before it")))
                         : Sentence();
}

/// Whether goodput is lower after the disturbance, and says more than the success rate.
bool is_lower_in_goodput(const GroupCase& c) {
  constexpr double kLower = 0.9;
  return c.is_told_by_goodput() && c.after.seconds > 0 &&
         c.goodput(c.after) < kLower * c.goodput(c.before);
}

/// A note on a group that was back for the whole hold time and collapsed again, in most of the
/// replications that are back in the end (`back`), or that are down.
Sentence relapse_note(const GroupCase& c, bool back) {
  const Recoveries& r = c.recoveries;
  const std::size_t of_them = back ? r.relapsed_and_back : r.relapsed - r.relapsed_and_back;
  const std::size_t all = back ? r.back : r.down();
  if (of_them == 0 || 2 * of_them < all) return {};
  return say("; goodput was back before, and collapsed again {} after {}",
             roughly(r.relapse_s, not_in_files(kGoodputOverTime)), its_end(c));
}

Found never_recovers(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back > 0 || r.gone == 0 || lasts_to_end(c)) return std::nullopt;
  const Requests since = c.made.since();
  const Figure watched = roughly(r.watched_s, watched_source(c));
  const Sentence when = say("in the {} after {}", watched, its_name(c));
  const bool by_goodput = is_lower_in_goodput(c);
  const Sentence then =
      by_goodput ? goodput_then(c.goodput(c.after), c.goodput(c.before), when, Words("before it"))
                 : only_succeed(c, since, when) + before_too(c);
  Finding f{say("{}: {}{}", claim("never recovers", metric(c, "recovered") == number(0)), then,
                relapse_note(c, false)),
            recovery(c)};
  if (by_goodput) {
    f.evidence.push_back({"goodput_before_per_s", c.goodput(c.before)});
    f.evidence.push_back({"goodput_after_per_s", c.goodput(c.after)});
  } else if (since.success_share() >= kWell) {
    f.sentence =
        say("{}: in the {} after {} requests succeed more and more slowly, after {} on average",
            claim("never catches up", metric(c, "recovered") == number(0)), watched, its_name(c),
            mean_latency(c, since));
  }
  f.evidence.push_back({"watched_s", r.watched_s});
  return f;
}

Found too_short(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back > 0 || r.down() == 0 || lasts_to_end(c)) return std::nullopt;
  Sentence why(Words("run longer to see whether it does"));
  if (2 * r.with_quotas > r.unknown) {
    why = c.quota_dry.in_most_of(c.runs) && !c.client.retry.has_refusers()
              ? Words("run longer to see whether it does now that the retry quotas are empty")
              : Words("run longer to see whether it does when the retry quotas are empty");
  }
  if (c.client.arrivals.process == ArrivalProcess::kOnce) {
    why = say("{}, so that a longer run would not tell more",
              claim("all requests came at once",
                    stated(scenario::path_of(c.client) + ".arrivals.process", "once")));
  }
  const Requests since = c.made.since();
  const Sentence lost = since.made >= kFewest && since.success_share() < kWell
                            ? say(": {}", only_succeed(c, since, Words("since then")))
                            : Sentence();
  Finding f{say("not recovered when the run ends, {} after {}{}; {}{}{}",
                time(std::max(r.watched_s, 0.0), watched_source(c)), its_name(c), lost, why,
                relapse_note(c, false), failed_before_it(c)),
            recovery(c)};
  f.evidence.push_back({"watched_s", r.watched_s});
  return f;
}

/// The claim that goodput is back so soon that the recovery takes no time.
Figure at_once_claim(const GroupCase& c, std::string_view words) {
  return claim(words, recovery_source(c, "max") <= number(at_once_s(c.scenario)));
}

/// The median of the recovery times that are not "at once".
Figure median_late(const GroupCase& c) {
  return roughly(median(c.recoveries.late_s), recovery_source(c, "median", at_once_s(c.scenario)));
}

/// The claim that some of the recoveries take no time.
Figure some_at_once(const GroupCase& c) {
  return claim("at once", recovery_source(c, "min") <= number(at_once_s(c.scenario)));
}

/// "6.1 s after the fault ends (median)", "at once".
Sentence when_back(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.late_s.empty()) return at_once_claim(c, "at once");
  const Sentence when = say("{} after {}{}", median_late(c), its_end(c),
                            r.late_s.size() > 1 ? Words(" (median)") : Words(""));
  if (r.at_once() == 0) return when;
  // The common case first.
  if (r.at_once() > r.late_s.size()) return say("{} or {}", some_at_once(c), when);
  return say("{} or {}", when, some_at_once(c));
}

Found sometimes(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (!c.disturbed() || r.back == 0 || r.down() == 0) return std::nullopt;
  const std::size_t told = r.back + r.down();
  const bool rarely = 2 * r.back < told;
  const auto down = static_cast<double>(r.down());
  const Sentence others =
      r.down() > 1 ? say(" {}", whole(down, told_source(c) - back_source(c))) : Sentence();
  const Words enough = r.few > 0 ? Words(" that have requests enough to tell") : Words("");
  return Finding{
      say("recovers in {}{} of {} runs{}, {}; in the other{} it {}{}{}",
          rarely ? Words("only ") : Words(""), whole(static_cast<double>(r.back), back_source(c)),
          whole(static_cast<double>(told), told_source(c)), enough, when_back(c), others,
          r.unknown > 0 ? Words("is still down when the run ends") : Words("stays down"),
          relapse_note(c, false), failed_before_it(c)),
      recovery(c)};
}

/// The group was down from one disturbance to the next.
Found down_between(const GroupCase& c) {
  const auto gap = std::ranges::find_if(
      c.gaps, [&](const Gap& g) { return 2 * g.down > c.runs && g.watched_s > 0; });
  if (gap == c.gaps.end()) return std::nullopt;
  const double then = gap->successes / gap->watched_s, before = c.goodput(c.before);
  Sentence back;
  if (seems_up(c)) {
    back = back_at_once(c) ? say("; it is back {} when {}", at_once_claim(c, "at once"), its_end(c))
                           : say("; it recovers {}", when_back(c));
  }
  const Sentence in_runs =
      gap->down < c.runs
          ? say(" ({} of {} runs)",
                whole(static_cast<double>(gap->down), not_in_files(kGoodputOverTime)),
                whole(static_cast<double>(c.runs), metric(c, "requests", "count")))
          : Sentence();
  Finding f{say("does not recover from {} until {} begins {} later: {}{}{}", Name{gap->name},
                Name{gap->next}, roughly(gap->end_s - gap->start_s, not_in_files(kByScenario)),
                goodput_then(then, before, Words("in that time"), say("before {}", its_first(c))),
                back, in_runs),
            recovery(c)};
  f.evidence.push_back({"goodput_before_per_s", before});
  f.evidence.push_back({"goodput_between_per_s", then});
  f.evidence.push_back({"between_s", gap->end_s - gap->start_s});
  f.evidence.push_back({"not_recovered_between", static_cast<double>(gap->down)});
  return f;
}

void add_lost_under_way(const GroupCase& c, Finding& f);

Sentence few_of(const GroupCase& c, const Requests& r) {
  return say("{} of {}", whole(r.succeeded, made(c, r, "successes")),
             whole(r.made, made(c, r, "requests")));
}

/// A note that counts are of all runs together, if there are several.
Sentence in_all_runs(const GroupCase& c) {
  return c.runs > 1 ? say(" ({} runs together)",
                          whole(static_cast<double>(c.runs), metric(c, "requests", "count")))
                    : Sentence();
}

/// Whether requests are made only while the disturbance is on, and enough to tell how they fare.
bool is_made_only_during(const GroupCase& c) {
  constexpr double kEnough = 30;
  return c.disturbed() && c.runs > 0 && c.made.before.made == 0 && c.made.since().made == 0 &&
         c.made.during.made >= kEnough;
}

/// Not enough requests for a comparison with the time before.
Found too_few(const GroupCase& c) {
  if (!c.disturbed() && c.requests() < kFewest) {
    return Finding{say("too few requests to tell: {} of {} {}{}",
                       whole(c.requests() * c.success_share(), metric(c, "successes")),
                       whole(c.requests(), metric(c, "requests")),
                       c.requests() == 1 ? Words("succeeds") : Words("succeed"), in_all_runs(c)),
                   {{"requests", c.requests()}}};
  }
  if (!c.disturbed() || c.runs == 0 || is_made_only_during(c)) return std::nullopt;
  const Change during = success_change(normal(c), c.made.during);
  if ((seems_up(c) || lasts_to_end(c)) && during != Change::kUnclear) return std::nullopt;
  // Trouble before the disturbance is reported, however much it varies.
  constexpr double kEnough = 30;
  const double since_made = c.made.since().made;
  if (fails_before(c) && std::min(c.made.during.made, since_made) >= kEnough) {
    return std::nullopt;
  }
  if (c.made.before.made >= kEnough && c.made.during.made + since_made == 0) {
    if (fails_before(c)) return std::nullopt;
    Finding f{
        say("{} of the requests succeed; {} is made during {} or after it",
            success(c, c.made.before),
            claim("no request", made(c, c.made.during, "requests") == number(0)), its_name(c)),
        shares(c), kGood};
    add_lost_under_way(c, f);
    return f;
  }
  if (std::min(c.made.before.made, c.made.during.made) >= kEnough && since_made == 0) {
    return Finding{
        say("{} of the requests made during {} succeed, {} of those before; {} is made after it, "
            "so that it cannot be told whether they would fare as they did before",
            success(c, c.made.during), its_name(c), success(c, c.made.before),
            claim("no request", made(c, c.made.since(), "requests") == number(0))),
        shares(c)};
  }
  // An observed recovery shows that the group was down.
  if (c.recovers() && !c.recoveries.late_s.empty()) return std::nullopt;
  const Requests since = c.made.since();
  Sentence counts;
  if (c.made.before.made > 0) {
    counts =
        say("too few requests to tell: of those made before, during and after {}, {}, {} and {} "
            "succeed{}",
            its_name(c), few_of(c, c.made.before), few_of(c, c.made.during), few_of(c, since),
            in_all_runs(c));
  } else if (since.made > 0) {
    counts = say(
        "nothing to compare with: {} is made before {}; of those made during and after it, {} and "
        "{} succeed{}",
        claim("no request", made(c, c.made.before, "requests") == number(0)), its_first(c),
        few_of(c, c.made.during), few_of(c, since), in_all_runs(c));
  } else {
    counts = say("{} requests succeed{}; they are made {} {}, with nothing to compare them with",
                 few_of(c, c.made.during), in_all_runs(c),
                 claim("only during", made(c, since, "requests") == number(0)), its_name(c));
  }
  Finding f{std::move(counts), shares(c)};
  f.evidence.push_back({"made_before", c.made.before.made});
  f.evidence.push_back({"made_during", c.made.during.made});
  f.evidence.push_back({"made_after", since.made});
  return f;
}

/// Whether the group fares much worse during the disturbance than before: small losses before do
/// not hide what the disturbance does.
bool is_much_worse_during(const GroupCase& c) {
  constexpr double kNearlyWell = 0.9, kMuchWorse = 0.1;
  const double before = c.made.before.success_share();
  return before >= kNearlyWell && c.made.during.made > 0 &&
         c.made.during.success_share() < before - kMuchWorse;
}

Found failing_before(const GroupCase& c) {
  if (!fails_before(c)) return std::nullopt;
  const Requests since = c.made.since();
  if (is_much_worse_during(c)) {
    const auto failed = [&](const Requests& r) {
      return share(1 - r.success_share(), number(1) - successes_of(c, r));
    };
    return Finding{say("{}; {} of the requests made before it failed already{}",
                       most_fail(c, c.made.during), failed(c.made.before),
                       since.made > 0 ? say(", and {} of those made after it fail", failed(since))
                                      : Sentence()),
                   recovery(c)};
  }
  Sentence then;
  if (c.made.during.made > 0) then += say(", {} during it", success(c, c.made.during));
  if (since.made > 0) {
    then += say("{} {} after it", then.empty() ? Words(",") : Words(" and"), success(c, since));
  }
  return Finding{say("failing before {} already: {} of the requests made before it succeed{}",
                     its_first(c), success(c, c.made.before), then),
                 recovery(c)};
}

/// "99.1 % of the requests made during the fault succeed instead of 100 %".
Sentence succeed_instead_of(const GroupCase& c, const Requests& then, Words when) {
  return say("{} of the requests made {} {} succeed instead of {}", success(c, then), when,
             its_name(c), success(c, normal(c)));
}

/// The claim that the requests in `then` succeed as often as usual, or a point less.
Figure as_usual(const GroupCase& c, const Requests& then, std::string_view words) {
  return claim(words,
               successes_of(c, normal(c)) - successes_of(c, then) <= number(kNoticeablyFewer));
}

/// Something that is wrong although requests succeed.
struct Flaw {
  Sentence text;  ///< "5.9 % of those with side effects take effect more than once"
  EvidenceFigure figure;
  FigureSource condition;  ///< the condition that makes it a flaw
  bool is_bad = false;
};

constexpr std::string_view kEffects = "effects of requests that change something";
constexpr std::string_view kFailedCalls = "failures of calls over time";
constexpr std::string_view kStorms = "retry storms, which are found in the bins of a run";

std::vector<Flaw> flaws(const GroupCase& c) {
  constexpr double kDuplicates = 0.001, kDegraded = 0.01, kWaiting = 0.25, kAttempts = 1.5,
                   kMany = 5;
  // Attempts per request; a group with fewer hardly takes part in a retry storm.
  constexpr double kStormy = 1.05;
  constexpr double kLong_s = 1;
  std::vector<Flaw> all;
  const auto real = [](auto value) { return static_cast<double>(value); };
  if (c.total.mutating > 0) {
    const double twice = real(c.total.duplicated) / real(c.total.mutating);
    if (twice >= kDuplicates) {
      all.push_back({say("{} of those with side effects take effect more than once",
                         share(twice, not_in_files(kEffects))),
                     {"duplicate_share", twice},
                     not_in_files(kEffects),
                     true});
    }
  }
  // A short disturbance in a long run degrades few of all answers.
  const double noticed = c.disturbed() ? c.made.during.made : real(c.total.degradable);
  if (c.total.degraded > 0 && real(c.total.degraded) >= kDegraded * noticed) {
    const double degraded = real(c.total.degraded) / real(c.total.degradable);
    all.push_back({say("{} of the {} are degraded", share(degraded, not_in_files(kFailedCalls)),
                       c.disturbed() ? Words("answers of the run") : Words("answers")),
                   {"degraded_share", degraded},
                   not_in_files(kFailedCalls)});
  }
  // Clients whose limit on the send rate is below their arrival rate.
  if (c.total.latency_m.count > 0 && c.requests() > 0 && !c.disturbed() &&
      c.client.send_rate.in_use()) {
    const double wait_s = c.mean_send_wait_s(), latency_s = c.mean_latency_s();
    const FigureSource waits = wait_source(c, "send_wait_mean");
    if (wait_s > 0 && wait_s >= kWaiting * latency_s) {
      all.push_back({say("wait {} before they are sent, of {} altogether", roughly(wait_s, waits),
                         roughly(latency_s, latency_source(c))),
                     {"send_wait_s", wait_s},
                     waits >= number(kWaiting) * latency_source(c),
                     wait_s >= kLong_s});
    }
  }
  if (c.total.latency_m.count > 0 && c.requests() > 0 && !c.disturbed()) {
    const double wait_s = c.mean_connection_wait_s(), latency_s = c.mean_latency_s();
    const FigureSource waits = wait_source(c, "connection_wait_mean");
    if (wait_s > 0 && wait_s >= kWaiting * latency_s) {
      all.push_back({say("wait {} for {}, of {} altogether", roughly(wait_s, waits),
                         what_is_scarce(c), roughly(latency_s, latency_source(c))),
                     {"connection_wait_s", wait_s},
                     waits >= number(kWaiting) * latency_source(c),
                     wait_s >= kLong_s});
    }
  }
  const bool herd = c.client.arrivals.process == ArrivalProcess::kOnce;  // is spread by retries
  if (!c.disturbed() && !herd && c.amplification() >= kAttempts) {
    all.push_back({say("they take {} each", attempts(c.amplification(), attempts_per_request(c))),
                   {"attempts_per_request_ratio", c.amplification()},
                   attempts_per_request(c) >= number(kAttempts),
                   c.amplification() >= kMany});
  }
  if (!c.disturbed() && !herd && c.lasting_storms > 0 && c.amplification() >= kStormy) {
    const auto runs = static_cast<double>(c.lasting_storms);
    const Sentence in_runs =
        c.runs > 1 ? say(", in {} of {} runs", whole(runs, not_in_files(kStorms)),
                         whole(static_cast<double>(c.runs), metric(c, "requests", "count")))
                   : Sentence();
    all.push_back({say("a retry storm goes on when the load stops{}", in_runs),
                   {"lasting_storms", runs},
                   not_in_files(kStorms),
                   true});
  }
  return all;
}

/// Adds ", but ..." for the flaws, and the severity of the worst. `one_more`: the sentence has a
/// "but" already.
void add_flaws(const std::vector<Flaw>& flaws, Finding& f, bool one_more = false) {
  if (flaws.empty()) return;
  std::vector<Sentence> texts;
  f.severity = kInfo;
  for (const Flaw& flaw : flaws) {
    texts.push_back(flaw.text);
    if (flaw.is_bad) f.severity = kBad;
    const auto known = std::ranges::find(f.evidence, flaw.figure.name, &EvidenceFigure::name);
    if (known == f.evidence.end()) f.evidence.push_back(flaw.figure);
  }
  f.sentence +=
      say(", {} {}", one_more ? Words("and") : Words("but"), joined(texts, " and ", " and "));
}

/// Adds what the disturbance did to requests already under way; nothing if they are a small share
/// of all that it meets.
void add_lost_under_way(const GroupCase& c, Finding& f) {
  constexpr double kMinLost = 3, kNoticeable = 0.01;
  const double lost = c.lost_under_way;
  if (lost < kMinLost || lost < kNoticeable * (c.made.during.made + lost)) return;
  const double each = lost / static_cast<double>(c.runs);
  f.sentence += each < 1.5
                    ? say("; one request under way when {} begins does not succeed", its_first(c))
                    : say("; {} requests under way when {} begins do not succeed",
                          count(std::round(each), not_in_files(kCountBins)), its_first(c));
  f.evidence.push_back({"lost_under_way", each});
  if (!f.severity) f.severity = kInfo;
}

Found unaffected(const GroupCase& c) {
  const Requests since = known_since(c);
  if (!(seems_up(c) || lasts_to_end(c)) || !is_as_before(c, c.made.during)) return std::nullopt;
  if (is_slower(normal(c), c.made.during) || is_slower(normal(c), since)) return std::nullopt;
  if (success_change(normal(c), since) == Change::kWorse) return std::nullopt;
  Finding f{Sentence(), shares(c)};
  if (!succeed_as_often(normal(c), c.made.during)) {
    f.sentence = say("hardly affected: {}", succeed_instead_of(c, c.made.during, Words("during")));
  } else {
    const std::vector<Flaw> wrong = flaws(c);
    const Sentence succeed =
        say("{} of the requests made during {} succeed, {}", success(c, c.made.during), its_name(c),
            as_usual(c, c.made.during, is_normal_before(c) ? "as before" : "as they do later"));
    f.sentence = wrong.empty() ? say("unaffected: {}", succeed) : succeed;
    if (wrong.empty() && degraded_calls(c)) {  // a cause names them
      f.sentence = say("degraded answers: {}, but {} are whole", succeed, not_all_answers());
      f.severity = kInfo;
    } else {
      add_flaws(wrong, f);
    }
  }
  add_lost_under_way(c, f);
  return f;
}

constexpr std::string_view kLatencyOverTime = "sums of latencies over time";

/// Whether answers take longer and longer while the disturbance is on, so that their mean says
/// little.
bool grows(const GroupCase& c) {
  constexpr double kMuchLonger = 2, kMinAnswers = 20;
  const Growth& g = c.growth;
  if (c.disturbances.count != 1 || std::min(g.first_ended, g.last_ended) < kMinAnswers) {
    return false;
  }
  return g.last_latency_s / g.last_ended > kMuchLonger * g.first_latency_s / g.first_ended;
}

/// Whether next to nothing is answered while the disturbance is on, and most of its requests when
/// it is over, so that their mean latency says too little.
bool is_answered_later(const GroupCase& c) {
  constexpr double kCollapse = 0.5;
  return is_slower(normal(c), c.made.during) && c.made.during.made >= kFewest &&
         static_cast<double>(c.during.group.successes) < kCollapse * c.made.during.succeeded;
}

/// "most of them when it is over"
Sentence most_of_them_later(const GroupCase& c) {
  constexpr double kCollapse = 0.5;
  return say(
      "{} {}",
      claim("most of them", flow(c, "successes", "during") <=
                                number(kCollapse) * made(c, c.made.during, "successes")),
      c.disturbances.count > 1 ? Words("while no fault or surge is on") : Words("when it is over"));
}

/// "; 96 requests a second succeed during the fault, 1260 before it": for clients that wait for
/// answers, and so ask less while these come late.
Sentence fewer_of_loop(const GroupCase& c) {
  constexpr double kMuchLess = 0.5;
  if (c.client.arrivals.process != ArrivalProcess::kClosed) return {};
  if (c.before.seconds <= 0 || c.during.seconds <= 0) return {};
  const double now = c.goodput(c.during), usual = c.goodput(c.before);
  if (now >= kMuchLess * usual) return {};
  return say("; {} during {}, {} before {}",
             counted(count(now, per_second(c, "successes", "during")), "request a second succeeds",
                     "requests a second succeed"),
             its_name(c), count(usual, per_second(c, "successes", "before")),
             c.disturbances.count > 1 ? Words("them") : Words("it"));
}

/// "6.3 s after the fault ends (5 s to 8 s in 20 runs)".
Sentence recovery_time(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  const Figure from = roughly(r.least_s, recovery_source(c, "min")),
               to = roughly(r.most_s, recovery_source(c, "max"));
  Sentence text = say("{} after {}", roughly(r.mean_s, recovery_source(c, "mean")), its_end(c));
  if (r.back > 1 && from.said().text != to.said().text) {
    text +=
        say(" ({} to {} in {} runs)", from, to, whole(static_cast<double>(r.back), back_source(c)));
  }
  return text;
}

Found only_slower(const GroupCase& c) {
  const Requests since = known_since(c);
  if (!(seems_up(c) || lasts_to_end(c)) || !is_as_before(c, c.made.during)) return std::nullopt;
  if (success_change(normal(c), since) == Change::kWorse) return std::nullopt;
  // All succeed in the end, but for longer than the disturbance next to none did.
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  if (c.recovers() && c.recoveries.mean_s > lasted_s && c.is_told_by_goodput()) return std::nullopt;
  const bool slower_during = is_slower(normal(c), c.made.during);
  const Requests& slower = slower_during ? c.made.during : since;
  const Sentence take = slower_during && grows(c)
                            ? say("take longer and longer: {} by the end instead of {}",
                                  roughly(c.growth.last_latency_s / c.growth.last_ended,
                                          not_in_files(kLatencyOverTime)),
                                  mean_latency(c, normal(c)))
                            : say("take {} on average instead of {}", mean_latency(c, slower),
                                  mean_latency(c, normal(c)));
  const Figure as_often =
      as_usual(c, slower, is_normal_before(c) ? "as often as before" : "as often as later");
  Sentence sentence;
  if (!succeed_as_often(normal(c), slower)) {
    sentence =
        say("slower: {}; they {}",
            succeed_instead_of(c, slower, slower_during ? Words("during") : Words("after")), take);
  } else if (is_answered_later(c)) {
    sentence = say("answers come late: requests made during {} succeed {}, but {}; they {}",
                   its_name(c), as_often, most_of_them_later(c), take);
  } else if (slower_during) {
    sentence =
        say("only slower: requests made during {} succeed {}, but {}", its_name(c), as_often, take);
  } else {
    sentence = say("only slower: requests succeed {}, but those made after {} {}", as_often,
                   its_name(c), take);
  }
  if (slower_during && is_slower(normal(c), since)) {
    sentence += say(", and those made after it {}", mean_latency(c, since));
  }
  Finding f{std::move(sentence), shares(c), kInfo};
  add_flaws(flaws(c), f, true);
  if (slower_during) f.sentence += fewer_of_loop(c);
  // What waits for the end of the disturbance may come long after it.
  if (is_answered_later(c) && c.recovers() && c.recoveries.at_once() == 0 &&
      c.recoveries.brief == 0) {
    f.sentence += say("; goodput is back {}", recovery_time(c));
    f.evidence.push_back({"recovery_mean_s", c.recoveries.mean_s});
  }
  add_lost_under_way(c, f);
  f.evidence.push_back({"latency_before_s", normal(c).mean_latency_s()});
  f.evidence.push_back({"latency_during_s", c.made.during.mean_latency_s()});
  f.evidence.push_back({"latency_after_s", since.mean_latency_s()});
  return f;
}

/// The disturbance does harm and outlasts the run: recovery cannot be judged.
Found still_on(const GroupCase& c) {
  if (is_made_only_during(c)) {
    const Requests& during = c.made.during;
    const bool well = during.success_share() >= kWell;
    constexpr double kTimes = 10;
    const bool long_waits = during.mean_latency_s() > kTimes * c.capacity.least_attempt_s;
    const Sentence how =
        well ? say("{} of the requests made during {} succeed{}", success(c, during), its_name(c),
                   long_waits ? say(", after {} on average", mean_latency(c, during)) : Sentence())
             : only_succeed(c, during, say("during {}", its_name(c)));
    return Finding{say("{}; {} is made at another time to compare with", how,
                       claim("no request", made(c, c.made.before, "requests") == number(0))),
                   shares(c), well ? kInfo : kBad};
  }
  if (!lasts_to_end(c)) return std::nullopt;
  const bool several = c.disturbances.count > 1;
  return Finding{say("{} when the run ends: {} ({} before {})",
                     several ? Sentence(Words("the last disturbance is still on"))
                             : say("{} is still on", its_name(c)),
                     only_succeed(c, c.made.during, say("during {}", its_name(c))),
                     success(c, normal(c)), several ? Words("them") : Words("it")),
                 shares(c)};
}

/// Adds, for a group that is back, that it does not fare as before, or was not watched for long.
Finding with_end_of_run(const GroupCase& c, Finding f) {
  const Recoveries& r = c.recoveries;
  f.sentence += relapse_note(c, true);
  add_lost_under_way(c, f);
  Requests after = c.made.after;  // without requests cut off at the end
  after.made = std::max(after.made - c.cut_off, after.succeeded);
  if (success_change(normal(c), after) == Change::kWorse) {
    // Without a limit on attempts no request fails.
    const bool endless = c.client.retry.max_attempts == RetryRules::kUnlimited;
    after.as_counted = c.cut_off == 0;
    const FigureSource failed = number(1) - successes_of(c, after);
    f.sentence +=
        say("; {} of the requests made after that {}", share(1 - after.success_share(), failed),
            endless ? Words("are without an answer when the run ends") : Words("fail"));
    f.severity = kBad;
  } else if (r.brief == r.back && r.watched_s - r.most_s < c.scenario.recovery.hold.in_seconds()) {
    f.sentence +=
        say("; watched for only {}", roughly(std::max(0.0, r.watched_s - r.most_s),
                                             watched_source(c) - recovery_source(c, "max")));
  }
  return f;
}

/// "; requests take 24 s on average instead of 44 ms"; empty where they take as long as before.
Sentence later_than_usual(const GroupCase& c, const Requests& r) {
  if (!is_slower(normal(c), r)) return {};
  return say("; they take {} on average instead of {}", mean_latency(c, r),
             mean_latency(c, normal(c)));
}

/// How late answers are, for a group whose goodput is back at once.
Sentence but_slow(const GroupCase& c) {
  const Requests since = c.made.since();
  if (!is_slower(normal(c), since)) return {};
  return say("; requests made after {} take {} on average instead of {}", its_name(c),
             mean_latency(c, since), mean_latency(c, normal(c)));
}

/// What was lost and what else was bad, followed by how the group came back.
Sentence loss_and(const GroupCase& c, const Sentence& recovery, const Sentence& slow = {}) {
  const Requests& during = c.made.during;
  if (during.succeeded >= during.made) return recovery;
  return say("{}{}; it {}", most_fail(c, during), slow, recovery);
}

Found degraded(const GroupCase& c) {
  constexpr double kCollapse = 0.5;
  const Requests& during = c.made.during;
  if (!back_at_once(c) || during.success_share() < kCollapse * normal(c).success_share()) {
    return std::nullopt;
  }
  const Sentence late = later_than_usual(c, during);
  if (!is_answered_later(c)) {
    const Sentence slow = late.empty() ? Sentence()
                                       : say(", and requests take {} on average instead of {}",
                                             mean_latency(c, during), mean_latency(c, normal(c)));
    const Sentence back = say("recovers {} when {}", at_once_claim(c, "at once"), its_end(c));
    return with_end_of_run(c, {loss_and(c, back, slow) + but_slow(c), recovery(c)});
  }
  return with_end_of_run(
      c, {say("answers come late: {} of the requests made during {} succeed, {}{}, and goodput is "
              "back {} when {}{}",
              success(c, during), its_name(c), most_of_them_later(c), late,
              at_once_claim(c, "at once"), its_end(c), but_slow(c)),
          recovery(c)});
}

Found at_once(const GroupCase& c) {
  if (!back_at_once(c)) return std::nullopt;
  const Sentence back = say("recovers {} when {}", at_once_claim(c, "at once"), its_end(c));
  return with_end_of_run(c, {loss_and(c, back) + but_slow(c), recovery(c)});
}

/// Recoveries of which some are at once and some later, so that a mean would describe neither.
Sentence mixed_recovery(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  const double soon_s = at_once_s(c.scenario);
  const auto late_runs = static_cast<double>(r.late_s.size());
  const FigureSource later = recovery_source(c, "count", soon_s);
  const Sentence late = say("{} after {}{}", median_late(c), its_end(c),
                            r.late_s.size() > 1 ? Words(" (median)") : Words(""));
  const Figure soon = whole(static_cast<double>(r.at_once()), back_source(c) - later);
  const Figure all = whole(static_cast<double>(r.back), back_source(c));
  if (r.at_once() > r.late_s.size()) {
    return say("recovers {} in {} of {} runs; {} in the other{}", some_at_once(c), soon, all, late,
               r.late_s.size() > 1 ? say(" {}", whole(late_runs, later)) : Sentence());
  }
  return say("recovers {}; {} in {} of {} runs", late, some_at_once(c), soon, all);
}

Found recovers(const GroupCase& c) {
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  if (!c.recovers() || c.recoveries.mean_s > lasted_s) return std::nullopt;
  const Sentence when =
      c.recoveries.at_once() > 0 ? mixed_recovery(c) : say("recovers {}", recovery_time(c));
  return with_end_of_run(c, {loss_and(c, when), recovery(c)});
}

Found recovers_late(const GroupCase& c) {
  if (!c.recovers()) return std::nullopt;
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  const Sentence when =
      c.recoveries.at_once() > 0
          ? mixed_recovery(c)
          : say("recovers {}, {} the length of {}", recovery_time(c),
                times(c.recoveries.mean_s / lasted_s,
                      recovery_source(c, "mean") /
                          (disturbances_edge(c, "end_s") - disturbances_edge(c, "start_s"))),
                its_name(c));
  Finding f = with_end_of_run(c, {loss_and(c, when), recovery(c)});
  f.evidence.push_back({"disturbance_s", lasted_s});
  return f;
}

std::vector<EvidenceFigure> steady_figures(const GroupCase& c) {
  return {{"success_share", c.success_share()}, {"attempts_per_request_ratio", c.amplification()}};
}

/// Requests under way when a run without a drain ends, which have not failed; limited to the number
/// that is usual by Little's law.
double cut_off_at_end(const GroupCase& c) {
  constexpr double kTimes = 3, kFew = 5;
  if (c.disturbed() || c.scenario.drain || c.total.latency_m.count == 0) return 0;
  if (c.client.arrivals.process == ArrivalProcess::kOnce || c.all.seconds <= 0) return 0;
  const double unfinished = c.share_of_requests(Outcome::kUnfinished) * c.requests();
  const double usual = static_cast<double>(c.total.latency_m.sum_ns) / 1e9 / c.all.seconds;
  const double runs = static_cast<double>(c.runs);
  if (unfinished > runs * (kTimes * usual + kFew) || c.falls_behind()) return 0;
  return c.requests() - unfinished >= kFewest ? unfinished : 0;
}

/// The success rate of the requests whose end is known.
double steady_share(const GroupCase& c) {
  const double cut_off = cut_off_at_end(c);
  return cut_off > 0 ? c.success_share() * c.requests() / (c.requests() - cut_off)
                     : c.success_share();
}
FigureSource steady_source(const GroupCase& c) {
  if (cut_off_at_end(c) <= 0) return success_source(c);
  return metric(c, "successes") / (metric(c, "requests") - metric(c, "unfinished"));
}

/// "requests", or "finished requests" if their success rate is noticeably different.
Words those_told(const GroupCase& c) {
  return steady_share(c) - c.success_share() >= kNoticeablyFewer ? Words("finished requests")
                                                                 : Words("requests");
}

/// "fail", unless some only have no answer yet when the run ends.
Words how_they_fail(const GroupCase& c) {
  constexpr double kNoticeable = 0.01;
  const double open = c.share_of_requests(Outcome::kUnfinished);
  if (cut_off_at_end(c) > 0 || open < kNoticeable) return Words("fail");
  const double failed = 1 - c.success_share() - open;
  return failed < kNoticeable ? Words("are unanswered when the run ends")
                              : Words("fail or are unanswered when the run ends");
}

Found failing(const GroupCase& c) {
  // When a closed loop stands still, the few requests that it makes say little.
  if (2 * c.backlog.stalled > c.runs) return std::nullopt;
  if (steady_share(c) >= kWell) return std::nullopt;
  Sentence when;
  if (collapse_time(c)) {
    when = collapse_note(c);
  } else if (c.cluster.runs == c.runs && c.runs > 0) {
    const auto n = static_cast<double>(c.runs);
    when = say("; most of them between {} and {} after the start",
               roughly(c.cluster.from_s / n, not_in_files(kGoodputOverTime)),
               roughly(c.cluster.to_s / n, not_in_files(kGoodputOverTime)));
  }
  return Finding{say("{} of the {} {}, with {} per request{}",
                     share(1 - steady_share(c), number(1) - steady_source(c)), those_told(c),
                     how_they_fail(c), attempts(c.amplification(), attempts_per_request(c)), when),
                 steady_figures(c)};
}

/// "the last quarter of the answers take 9.8 s on average, the first 1.3 s"
Sentence first_and_last(double first_s, double last_s) {
  return say("the last quarter of the answers take {} on average, the first {}",
             roughly(last_s, not_in_files(kLatencyOverTime)),
             roughly(first_s, not_in_files(kLatencyOverTime)));
}

Found falls_behind(const GroupCase& c) {
  if (auto found = stalls(c, Sentence(), Words("the run"))) return found;
  if (!c.falls_behind()) return std::nullopt;
  const Backlog& b = c.backlog;
  Sentence sentence = say("falls behind: {}", growing_backlog(c, Words("when the load stops")));
  if (b.first_ended > 0 && b.last_ended > 0) {
    const double first_s = b.first_latency_s / b.first_ended;
    const double last_s = b.last_latency_s / b.last_ended;
    // Perhaps none of the requests that starve has had an answer.
    if (last_s > first_s) sentence += say("; {}", first_and_last(first_s, last_s));
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
  const double latency_s = c.mean_latency_s();
  const bool held = c.mean_send_wait_s() > wait_s / 2;
  const bool pooled = c.mean_connection_wait_s() > wait_s / 2;
  const Sentence where = held     ? Sentence(Words("until their client lets them be sent"))
                         : pooled ? say("for {}", what_is_scarce(c))
                                  : Sentence(Words("in the queue"));
  // An average says little about a latency that grows.
  constexpr double kGrows = 1.5;
  const Backlog& b = c.backlog;
  const double first_s = b.first_ended > 0 ? b.first_latency_s / b.first_ended : 0;
  const double last_s = b.last_ended > 0 ? b.last_latency_s / b.last_ended : 0;
  const bool grows = !c.disturbed() && first_s > 0 && last_s > kGrows * first_s;
  const Figure succeed = share(c.success_share(), success_source(c));
  Finding f{grows ? say("slow, and ever slower: {} of the requests succeed, but wait {}; {}",
                        succeed, where, first_and_last(first_s, last_s))
                  : say("slow: {} of the requests succeed, but wait {} on average {}, of {} "
                        "altogether",
                        succeed,
                        roughly(wait_s, not_in_files("waits in the queue beyond the least time "
                                                     "that an attempt takes")),
                        where, roughly(latency_s, latency_source(c))),
            steady_figures(c)};
  if (pooled) f.severity = kBad;  // as the rule not-all-well does
  f.evidence.push_back({"wait_s", wait_s});
  f.evidence.push_back({"latency_s", latency_s});
  return f;
}

Found not_all_well(const GroupCase& c) {
  const std::vector<Flaw> wrong = flaws(c);
  if (wrong.empty()) return std::nullopt;
  Finding f{say("{}: {} of the {} succeed", claim("not all is well", wrong.front().condition),
                share(steady_share(c), steady_source(c)), those_told(c)),
            steady_figures(c)};
  add_flaws(wrong, f);
  return f;
}

Found well(const GroupCase& c) {
  // If a cause is found, its rule says how long this can last.
  const bool for_now =
      (overload_without_retries(c) && !is_served_first(c)) || overload_below(c).has_value();
  const Figure succeed = share(steady_share(c), steady_source(c));
  const Sentence each = attempts(c.amplification(), attempts_per_request(c));
  const Figure is_well = claim("all is well", steady_source(c) >= number(kWell));
  Finding f{say("{}{}: {} of the {} succeed, with {} each", for_now ? Words("so far ") : Words(""),
                is_well, succeed, those_told(c), each),
            steady_figures(c)};
  if (for_now) f.severity = kInfo;
  if (degraded_calls(c)) {  // a cause says which
    f.sentence = say("degraded answers: {} of the {} succeed, with {} each, but {} are whole",
                     succeed, those_told(c), each, not_all_answers());
    f.severity = kInfo;
  }
  return f;
}

constexpr std::array kAnswers = {
    Rule{{"sent-nothing", kInfo, true,
          "the group sent no request after the warm-up; good for a fallback that was not needed"},
         sent_nothing},
    Rule{{"down-before", kBad, true,
          "fewer than half of the requests made before the disturbance succeed"},
         down_before},
    Rule{{"overloaded-before", kBad, true,
          "more and more requests are under way before the disturbance, or a closed loop stalls"},
         overloaded_before},
    Rule{{"never-recovers", kBad, true,
          "goodput does not come back in any replication, although there is time enough"},
         never_recovers},
    Rule{{"too-short-to-tell", kInfo, true,
          "goodput does not come back, and every run ends too early to say that it never will"},
         too_short},
    Rule{{"sometimes-recovers", kBad, true, "some replications recover, others do not"}, sometimes},
    Rule{{"down-between", kBad, true,
          "in most replications goodput does not come back between a disturbance and the next one, "
          "although there is time enough"},
         down_between},
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
          "fewer succeed during the disturbance, which lasts to the end of the run, or 30 requests "
          "or "
          "more are made during it, and none at another time"},
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
          "second half), with the service fully loaded or latencies growing; or a closed loop "
          "succeeds less than half as often in the last quarter of the run as in its best one"},
         falls_behind},
    Rule{{"slow", kInfo, true,
          "no disturbance, and requests wait for more than a second, and ten times as long as an "
          "attempt takes; bad if for a connection"},
         slow},
    Rule{{"not-all-well", kInfo, true,
          "no disturbance, and requests succeed, but one in a thousand takes effect twice (bad), "
          "one "
          "in a hundred answers is degraded, a quarter of the latency is waiting for a connection "
          "or for the clients' own send rate (bad from 1 s on), or they take 1.5 attempts each or "
          "more (bad from 5 on)"},
         not_all_well},
    Rule{{"all-well", kGood, true, "no disturbance, and none of these applies"}, well},
};

// --- What is lost, in few words ------------------------------------------------------------------

/// "fails during the fault (1.2 % succeed)", "loses 12 % of its requests".
Sentence loses(const GroupCase& c, const Requests& r, const Sentence& when) {
  constexpr double kMost = 0.5;
  if (r.succeeded == 0) {
    return say("fails{} ({})", when,
               claim("no request succeeds", made(c, r, "successes") == number(0)));
  }
  if (r.success_share() < kMost) {
    return say("fails{} ({} succeed)", when, share(r.success_share(), successes_of(c, r)));
  }
  return say("loses {} of its requests{}",
             share(1 - r.success_share(), number(1) - successes_of(c, r)), when);
}

/// What the group loses of the requests of the whole run.
Sentence loses_of_all(const GroupCase& c) {
  constexpr double kMost = 0.5;
  const double good = steady_share(c);
  if (good <= 0)
    return say("fails ({})", claim("no request succeeds", metric(c, "successes") == number(0)));
  const Words those = those_told(c);
  if (good < kMost) {
    const auto from = collapse_time(c);
    const Sentence when =
        from && c.collapse.runs == c.runs ? say(" from {} after the start on", *from) : Sentence();
    return those.text() == "requests"
               ? say("fails{} ({} succeed)", when, share(good, steady_source(c)))
               : say("fails{} ({} of the {} succeed)", when, share(good, steady_source(c)), those);
  }
  return say("loses {} of its {}", share(1 - good, number(1) - steady_source(c)), those);
}

/// For requests that wait rather than fail: "hardly succeeds after the fault (0.07 requests a
/// second instead of 9.7)".
Sentence loses_goodput(const GroupCase& c, const Stretch& then, const Sentence& when) {
  const auto rate = [](double per_s) {
    return count(per_s, not_in_files(kGoodputOverTime), per_s < 100 ? 2 : 3);
  };
  return say("succeeds less often{} ({} instead of {})", when,
             counted(rate(c.goodput(then)), "request a second", "requests a second"),
             rate(c.goodput(c.before)));
}

/// The requests made from the first disturbance until the group is back, or to the end.
Requests in_trouble(const GroupCase& c) {
  Requests r = c.made.during;
  r.merge(c.made.between);
  r.merge(c.made.recovering);
  r.phases = "during+between+recovering";
  return r;
}

/// What a group loses that is not back at the end of at least one run.
Sentence loses_for_good(const GroupCase& c) {
  const Sentence from = say(" from {} on", its_first(c));
  const Requests all = in_trouble(c);
  Sentence text;
  if (is_lower_in_goodput(c)) {
    text = loses_goodput(c, c.after, say(" after {}", its_name(c)));
  } else if (success_change(normal(c), all) != Change::kWorse) {
    text = say("takes longer and longer{}", from);
  } else {
    text = loses(c, all, from);
  }
  if (c.recoveries.back > 0) {
    return text +
           say(" and recovers in {} of {} runs",
               whole(static_cast<double>(c.recoveries.back), back_source(c)),
               whole(static_cast<double>(c.recoveries.back + c.recoveries.down()), told_source(c)));
  }
  return text + (c.recoveries.gone > 0 ? Words(" and does not recover")
                                       : Words(" and is not back when the run ends"));
}

/// What a group loses that is back at the end of all runs.
Sentence loses_for_a_while(const GroupCase& c, bool during_is_said) {
  const bool is_late = !c.recoveries.late_s.empty() && c.recoveries.at_once() == 0;
  const Sentence during = during_is_said && !is_late ? Sentence() : say(" during {}", its_name(c));
  const Sentence when = is_late
                            ? during + say(" and for {} after it",
                                           roughly(c.recoveries.mean_s, recovery_source(c, "mean")))
                            : during;
  // If disturbances elsewhere follow, no phase ends with the recovery.
  const bool until_back = is_late && c.phases.empty();
  const Requests& r = until_back ? in_trouble(c) : c.made.during;
  if (success_change(normal(c), r) == Change::kWorse) return loses(c, r, when);
  const Requests since = known_since(c);
  if (success_change(normal(c), since) == Change::kWorse) {
    return loses(c, since, say(" after {}", its_name(c)));
  }
  return loses_goodput(c, c.during, during);
}

/// The flaw of a group whose requests succeed, but not perfectly.
Sentence flaw_of(const GroupCase& c) {
  if (degraded_calls(c)) return Words("gets degraded answers");
  const std::vector<Flaw> wrong = flaws(c);
  if (wrong.empty()) return Words("is hardly affected");
  const std::string& name = wrong.front().figure.name;
  if (name == "duplicate_share") return Words("has requests that take effect more than once");
  if (name == "degraded_share") return Words("gets degraded answers");
  if (name == "send_wait_s") return Words("waits for its own send rate");
  if (name != "connection_wait_s") return Words("needs its retries");
  return say("waits for {}", what_is_scarce(c));
}

Sentence is_slower_by(const GroupCase& c) {
  if (is_answered_later(c) && c.disturbances.count == 1) {
    return say("waits until it is over ({} on average instead of {})",
               mean_latency(c, c.made.during), mean_latency(c, normal(c)));
  }
  const Requests since = known_since(c);
  const Requests& slower = is_slower(normal(c), c.made.during) ? c.made.during : since;
  return say("is slower ({} on average instead of {})", mean_latency(c, slower),
             mean_latency(c, normal(c)));
}

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

bool is_sick_before_it(const GroupCase& c) {
  Severity severity = Severity::kGood;
  const VerdictRule* const answer = answer_of(c, severity);
  return answer != nullptr && (answer->id == "down-before" || answer->id == "overloaded-before" ||
                               (answer->id == "failing-before" && !is_much_worse_during(c)));
}

Sentence loss_of(const GroupCase& c, bool during_is_said) {
  Severity severity = Severity::kGood;
  const VerdictRule* const answer = answer_of(c, severity);
  if (answer == nullptr || severity == Severity::kGood) return Words("is not affected");
  const std::string_view id = answer->id;
  if (id == "failing-before" && is_much_worse_during(c)) {
    return loses(c, c.made.during, during_is_said ? Sentence() : say(" during {}", its_name(c)));
  }
  if (id == "down-before" || id == "failing-before") {
    return loses(c, c.made.before, say(" before {} already", its_first(c)));
  }
  if (id == "overloaded-before") {
    return say("{} before {} already",
               2 * c.backlog.stalled > c.runs ? Words("stalls") : Words("falls behind"),
               its_first(c));
  }
  if (id == "never-recovers" || id == "too-short-to-tell" || id == "sometimes-recovers") {
    return loses_for_good(c);
  }
  if (id == "down-between") {
    Requests r = c.made.during;
    r.merge(c.made.between);
    r.phases = "during+between";
    return loses(c, r, say(" from {} on until the next one", its_first(c)));
  }
  if (id == "too-few-to-tell") {
    const Requests& r = c.made.during;
    // With few requests to compare: some failures are a loss if there were none before.
    constexpr double kSome = 3;
    const bool lost = c.made.before.made == 0 ||
                      (r.made - r.succeeded >= kSome && c.made.before.success_share() >= kWell);
    if (r.made < kFewest || !lost || r.success_share() >= kWell) return {};
    return loses(c, r, during_is_said ? Sentence() : say(" during {}", its_name(c)));
  }
  if (id == "unaffected" || id == "not-all-well") return flaw_of(c);
  if (id == "only-slower") return is_slower_by(c);
  if (id == "still-on") {
    if (c.made.during.success_share() >= kWell) return {};
    return loses(c, c.made.during, during_is_said ? Sentence() : say(" during {}", its_name(c)));
  }
  if (id == "failing") return loses_of_all(c);
  if (id == "falls-behind") {
    return c.backlog.stalled > 0 ? Words("stalls") : Words("falls behind");
  }
  if (id == "slow") return Words("is slow");
  if (id == "all-well") {
    return degraded_calls(c) ? Words("gets degraded answers") : Words("is well so far");
  }
  return loses_for_a_while(c, during_is_said);
}

Finding compared(const GroupCase& with, const GroupCase& without, std::string_view part) {
  constexpr double kSame = 0.01, kAsFast = 1.1;
  const double own = with.success_share(), other = without.success_share();
  const auto mean_s = [](const GroupCase& c) {
    const auto n = static_cast<double>(c.total.latency_m.count);
    return n > 0 ? static_cast<double>(c.total.latency_m.sum_ns) / 1e9 / n : 0;
  };
  const double latency_s = mean_s(with), other_s = mean_s(without);
  const std::size_t back = with.recoveries.back, other_back = without.recoveries.back;
  bool same = std::abs(own - other) < kSame && back == other_back;
  if (!with.disturbed()) {
    same = same && std::max(latency_s, other_s) <= kAsFast * std::min(latency_s, other_s);
  }
  const FigureSource twins = not_in_files("the twins' results");
  Sentence text = say("without {} ", Name{std::string(part)});
  if (same) text += Words("hardly anything changes: ");
  if (with.disturbed()) {
    text += say("{} of {} runs recover (with it {}), and ",
                whole(static_cast<double>(other_back), twins),
                whole(static_cast<double>(without.recoveries.runs()), twins),
                whole(static_cast<double>(back), back_source(with)));
  }
  text += say("{} of the requests succeed (with it {})", share(other, twins),
              share(own, success_source(with)));
  if (!with.disturbed()) {
    text += say(", after {} on average ({})", roughly(other_s, twins),
                roughly(latency_s, latency_source(with)));
  }
  return {std::move(text),
          {{"success_share", own},
           {"success_without_share", other},
           {"recovered", static_cast<double>(back)},
           {"recovered_without", static_cast<double>(other_back)},
           {"latency_s", latency_s},
           {"latency_without_s", other_s}}};
}

Words kind_of(const GroupCase& c) {
  if (c.disturbances.kind == "fault") return "fault";
  return c.disturbances.kind == "surge" ? Words("surge") : Words("disturbance");
}

Sentence its_name(const GroupCase& c) {
  return say("the {}{}", kind_of(c), c.disturbances.count > 1 ? Words("s") : Words(""));
}

Sentence its_end(const GroupCase& c) {
  return say("the {}{} ends", c.disturbances.count > 1 ? Words("last ") : Words(""), kind_of(c));
}

Figure not_all_answers() {
  return claim("not all answers", not_in_files("failures of calls over time"));
}

}  // namespace retrysim::explain
