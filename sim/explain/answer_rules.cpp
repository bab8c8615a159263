// What became of a client group: of these rules the first that applies gives the answer.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "explain/rules.hpp"
#include "explain/spoken.hpp"

namespace retrysim::explain {
namespace {

using Found = std::optional<Finding>;

constexpr double kWell = 0.99;  ///< success rate of a group that has no trouble

bool back_at_once(const GroupCase& c) { return c.recovers() && c.recoveries.late_s.empty(); }

/// Of at least one value; they are in order.
double median(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Whether requests succeed as often during the disturbance as before, to a point.
bool as_many_succeed(const GroupCase& c) {
  return c.during.success_share() >= c.before.success_share() - 0.01;
}

std::string its_first(const GroupCase& c) {
  return fmt::format("the {}{}", c.disturbances.count > 1 ? "first " : "", c.disturbances.kind);
}

std::vector<EvidenceFigure> shares(const GroupCase& c) {
  return {{"success_before_share", c.before.success_share()},
          {"success_during_share", c.during.success_share()}};
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

Found never_recovers(const GroupCase& c) {
  if (!c.disturbed() || c.recoveries.back > 0 || c.recoveries.gone == 0) return std::nullopt;
  const double share = c.after.success_share();
  const std::string succeed =
      share > 0 ? fmt::format("only {} of the requests succeed", spoken_share(share))
                : std::string("no request succeeds");
  Finding f{fmt::format("never recovers: in the {} after {} {}",
                        roughly_spoken_time(c.recoveries.watched_s), its_name(c), succeed),
            recovery(c)};
  f.evidence.push_back({"success_after_share", share});
  f.evidence.push_back({"watched_s", c.recoveries.watched_s});
  return f;
}

/// Nothing to return to: most requests failed before anything happened.
Found down_before(const GroupCase& c) {
  constexpr double kUp = 0.5;
  const double share = c.before.success_share();
  if (!c.disturbed() || c.recoveries.back > 0 || share >= kUp) return std::nullopt;
  return Finding{fmt::format("down before {} begins: {}", its_first(c),
                             share > 0 ? fmt::format("only {} of the requests succeed until then",
                                                     spoken_share(share))
                                       : "no request succeeds until then"),
                 shares(c)};
}

/// Nothing to compare with. (Runs without time series do not tell.)
Found too_few(const GroupCase& c) {
  if (!c.disturbed() || c.recoveries.back > 0 || c.recoveries.gone > 0) return std::nullopt;
  if (c.before.latencies > 0 || c.before.seconds == 0) return std::nullopt;
  return Finding{
      fmt::format("too few requests to tell: none ends before {} begins", its_first(c)),
      {{"ended_before", 0}, {"requests_after", static_cast<double>(c.after.group.requests)}}};
}

Found too_short(const GroupCase& c) {
  if (!c.disturbed() || c.recoveries.back > 0) return std::nullopt;
  Finding f{fmt::format("not back {} after {}, when the run is over; a longer run would tell "
                        "whether it ever is",
                        spoken_time(std::max(c.recoveries.watched_s, 0.0)), its_end(c)),
            recovery(c)};
  f.evidence.push_back({"watched_s", c.recoveries.watched_s});
  return f;
}

Found sometimes(const GroupCase& c) {
  if (!c.disturbed() || c.recovers()) return std::nullopt;
  const Recoveries& r = c.recoveries;
  std::string when = "at once";
  if (r.at_once() == 0) {
    when = fmt::format("{} after {}{}", roughly_spoken_time(median(r.late_s)), its_end(c),
                       r.back > 1 ? " (median)" : "");
  } else if (!r.late_s.empty()) {
    when = fmt::format("{} of them at once", r.at_once());
  }
  return Finding{fmt::format("recovers in only {} of {} replications, {}; in the other {} it {}",
                             r.back, r.runs(), when, r.gone + r.unknown,
                             r.unknown > 0 ? "is still down when the run ends" : "stays down"),
                 recovery(c)};
}

Found unaffected(const GroupCase& c) {
  constexpr double kSlower = 1.5;
  const double before_s = c.before.mean_latency_s(), during_s = c.during.mean_latency_s();
  if (!back_at_once(c) || !as_many_succeed(c)) return std::nullopt;
  if (c.before.latencies > 0 && during_s > kSlower * before_s) return std::nullopt;
  return Finding{fmt::format("unaffected: {} of the requests succeed during {}, as before",
                             spoken_share(c.during.success_share()), its_name(c)),
                 shares(c)};
}

Found only_slower(const GroupCase& c) {
  const double before_s = c.before.mean_latency_s(), during_s = c.during.mean_latency_s();
  if (!back_at_once(c) || !as_many_succeed(c)) return std::nullopt;
  Finding f{fmt::format("only slower: requests succeed as often during {} as before, but take {} "
                        "on average instead of {}",
                        its_name(c), roughly_spoken_time(during_s), roughly_spoken_time(before_s)),
            shares(c)};
  f.evidence.push_back({"latency_before_s", before_s});
  f.evidence.push_back({"latency_during_s", during_s});
  return f;
}

Found degraded(const GroupCase& c) {
  constexpr double kCollapse = 0.5;
  if (!back_at_once(c) || c.during.success_share() < kCollapse * c.before.success_share()) {
    return std::nullopt;
  }
  return Finding{fmt::format("degraded without collapse: {} of the requests succeed during {}, and "
                             "goodput is back at once when {}",
                             spoken_share(c.during.success_share()), its_name(c), its_end(c)),
                 recovery(c)};
}

Found at_once(const GroupCase& c) {
  if (!back_at_once(c)) return std::nullopt;
  const double share = c.during.success_share();
  return Finding{
      fmt::format("back at once: goodput returns as soon as {}; {} until then", its_end(c),
                  share > 0 ? fmt::format("only {} of the requests succeed", spoken_share(share))
                            : "no request succeeds"),
      recovery(c)};
}

/// "6.3 s after the fault ends (5 s to 8 s in 20 replications)".
std::string recovery_time(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  const std::string from = roughly_spoken_time(r.least_s), to = roughly_spoken_time(r.most_s);
  std::string text = fmt::format("{} after {}", roughly_spoken_time(r.mean_s), its_end(c));
  if (r.back > 1 && from != to) {
    text += fmt::format(" ({} to {} in {} replications)", from, to, r.back);
  }
  return text;
}

/// For recoveries at once and later ones, of which a mean would describe neither.
std::string mixed_recovery(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  return fmt::format("back at once in {} of {} replications, {} after {}{} in the other{}",
                     r.at_once(), r.back, roughly_spoken_time(median(r.late_s)), its_end(c),
                     r.late_s.size() > 1 ? " (median)" : "",
                     r.late_s.size() > 1 ? fmt::format(" {}", r.late_s.size()) : "");
}

Found recovers(const GroupCase& c) {
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  if (!c.recovers() || c.recoveries.mean_s > lasted_s) return std::nullopt;
  return Finding{c.recoveries.at_once() > 0 ? mixed_recovery(c) : "back " + recovery_time(c),
                 recovery(c)};
}

Found recovers_late(const GroupCase& c) {
  if (!c.recovers()) return std::nullopt;
  const double lasted_s = c.disturbances.last_end_s - c.disturbances.first_start_s;
  Finding f{c.recoveries.at_once() > 0
                ? mixed_recovery(c)
                : fmt::format("back only {}: {} as long as {} took", recovery_time(c),
                              spoken_times(c.recoveries.mean_s / lasted_s), its_name(c)),
            recovery(c)};
  f.evidence.push_back({"disturbance_s", lasted_s});
  return f;
}

std::vector<EvidenceFigure> steady_figures(const GroupCase& c) {
  return {{"success_share", c.success_share()}, {"attempts_per_request_ratio", c.amplification()}};
}

Found well(const GroupCase& c) {
  if (c.success_share() < kWell) return std::nullopt;
  return Finding{fmt::format("all is well: {} of the requests succeed, with {} each",
                             spoken_share(c.success_share()), spoken_attempts(c.amplification())),
                 steady_figures(c)};
}

Found failing(const GroupCase& c) {
  return Finding{
      fmt::format("{} of the requests fail, with {} each", spoken_share(1 - c.success_share()),
                  spoken_attempts(c.amplification())),
      steady_figures(c)};
}

using enum Severity;
constexpr std::array kAnswers = {
    Rule{{"down-before", kBad, true,
          "fewer than half of the requests succeed before the disturbance, and goodput does not "
          "come "
          "back"},
         down_before},
    Rule{{"never-recovers", kBad, true,
          "goodput does not come back in any replication, although there is time enough"},
         never_recovers},
    Rule{{"too-few-to-tell", kInfo, true,
          "goodput does not come back, but no request ended before the disturbance"},
         too_few},
    Rule{{"too-short-to-tell", kInfo, true,
          "goodput does not come back, and every run ends too early to say that it never will"},
         too_short},
    Rule{{"sometimes-recovers", kBad, true, "some replications recover, others do not"}, sometimes},
    Rule{{"unaffected", kGood, true,
          "requests succeed as often during the disturbance as before, about as fast"},
         unaffected},
    Rule{{"only-slower", kInfo, true,
          "as many succeed as before, but take more than 1.5 times as long"},
         only_slower},
    Rule{{"degraded", kInfo, true,
          "at least half as many succeed during the disturbance, and goodput is back at once"},
         degraded},
    Rule{{"back-at-once", kGood, true,
          "fewer than half as many succeed during the disturbance, and goodput is back at once"},
         at_once},
    Rule{{"recovers", kGood, true, "goodput is back sooner than the disturbance has lasted"},
         recovers},
    Rule{{"recovers-late", kInfo, true, "goodput is back, but takes longer than the disturbance"},
         recovers_late},
    Rule{{"all-well", kGood, true, "no disturbance, and at least 99 % of the requests succeed"},
         well},
    Rule{{"failing", kBad, true, "no disturbance, and fewer than 99 % of the requests succeed"},
         failing},
};

}  // namespace

std::span<const Rule> answer_rules() { return kAnswers; }

std::string its_name(const GroupCase& c) {
  return fmt::format("the {}{}", c.disturbances.kind, c.disturbances.count > 1 ? "s" : "");
}

std::string its_end(const GroupCase& c) {
  return fmt::format("the {}{} ends", c.disturbances.count > 1 ? "last " : "", c.disturbances.kind);
}

}  // namespace retrysim::explain
