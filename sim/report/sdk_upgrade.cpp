// SPDX-License-Identifier: MIT
#include "report/sdk_upgrade.hpp"

#include "estimate/told.hpp"
#include "report/comparison.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

// --- The fleet -----------------------------------------------------------------------------------

/// How many runs recover, out of those that have something to recover from and tell it.
struct Recovered {
  std::size_t count = 0, of = 0;
  std::size_t untold = 0;  ///< too short to tell
  double duration_s = 0;   ///< with which all would tell
};

Recovered recovered_of(const Evaluation& e) {
  Recovered result;
  const std::size_t all = e.clients() - 1;
  const stats::ToldRecoveries told(e.scenario(), e.set.runs, e.values);
  for (std::size_t run = 0; run < e.values.runs(); ++run) {
    const std::optional<double> value = told.recovered(e.values, run, all);
    if (!value) continue;
    ++result.of;
    if (*value == 1) ++result.count;
  }
  result.untold = told.untold(all);
  result.duration_s = told.duration_s(all);
  return result;
}

std::optional<Estimate> estimate_of(const Evaluation& e, std::string_view metric) {
  const SummaryRow* row = e.row("all", std::string(metric).c_str());
  if (row == nullptr) return std::nullopt;
  return row->estimate;
}

std::string seconds_text(double seconds) {
  const DisplayUnit unit = display_unit(seconds, "s");
  return format_plain(seconds * unit.scale, 2) + std::string(unit.name);
}

/// The tipping point of a release in a few words: "16 s (12 s to 20 s)".
std::string tip_text(const TipPoint& tip) {
  const TippingPoint& point = tip.found.point;
  switch (point.outcome) {
    case TippingOutcome::kFound: {
      const std::string middle = seconds_text(point.d50->middle());
      if (!point.ci_first || !point.ci_last) return "about " + middle;
      return fmt::format("{} ({} to {})", middle, seconds_text(*point.ci_first),
                         seconds_text(*point.ci_last));
    }
    case TippingOutcome::kTipsAtFirst:
      return fmt::format("below {}", seconds_text(tip.found.search.first));
    case TippingOutcome::kRecoversAtLast:
      return fmt::format("above {}", seconds_text(tip.found.search.last));
    case TippingOutcome::kNotJudged:
      return "runs too short to tell";
    case TippingOutcome::kEndsExchanged:
      break;
  }
  return "not known";
}

std::string in_runs(const Recovered& r) {
  if (r.count < r.of) return scenario::said_part(r.count, r.of, "run");
  return r.of == 1 ? std::string("its only run") : fmt::format("all {} runs", r.of);
}

std::string answer_of(const UpgradeReport& report) {
  const Recovered before = recovered_of(report.evaluations[0]);
  const Recovered after = recovered_of(report.evaluations[1]);
  const std::string from = report.study.upgrade.from.name();
  const std::string to = report.study.upgrade.to.name();
  if (before.untold + after.untold > 0) {
    const std::string needed =
        fmt::format("a duration of {} would be long enough",
                    stats::said_duration(std::max(before.duration_s, after.duration_s)));
    const auto told = [](const Recovered& r) {
      return r.of == 0
                 ? std::string("not known")
                 : fmt::format("in {} of {}{}", r.count, r.of,
                               r.untold == 0 ? " runs"
                                             : fmt::format(" runs that tell ({} {} too short)",
                                                           r.untold, r.untold == 1 ? "is" : "are"));
    };
    if (before.of == 0 && after.of == 0) {
      return fmt::format(
          "Whether the fleet recovers is not known, with {} or with {}: the runs are too short to "
          "tell, {}.",
          to, from, needed);
    }
    return fmt::format(
        "Whether the fleet recovers: with {} {}; with {} {}. Where runs are too "
        "short to tell, {}.",
        to, told(after), from, told(before), needed);
  }
  if (before.of == 0 || after.of == 0) {
    return fmt::format(
        "{} instead of {}: nothing goes wrong in this scenario that the fleet "
        "could fail to recover from.",
        to, from);
  }
  if (before.count == after.count) {
    return before.count == 0 ? fmt::format("The fleet recovers in none of {}, with {} as with {}.",
                                           scenario::said_things(before.of, "run"), to, from)
                             : fmt::format("The fleet recovers in {} with {}, as with {}.",
                                           in_runs(after), to, from);
  }
  return fmt::format("With {} the fleet recovers in {}; with {} in {}.", to, in_runs(after), from,
                     before.count == 0 ? "none" : fmt::format("{}", before.count));
}

}  // namespace

std::vector<std::string> upgrade_sentences(const UpgradeReport& report) {
  std::vector<std::string> result = {answer_of(report)};
  if (report.found.tips.size() == 2) {
    const TipPoint &before = report.found.tips[0], &after = report.found.tips[1];
    const std::string was = tip_text(before), is = tip_text(after);
    result.push_back(
        was == is
            ? fmt::format("The shortest fault from which half of the runs do not recover: {} with "
                          "both.",
                          is)
            : fmt::format("The shortest fault from which half of the runs do not recover: {}; with "
                          "{} {}.",
                          is, report.study.upgrade.from.name(), was));
  }
  return result;
}

namespace {

// --- One client ----------------------------------------------------------------------------------

struct Played {
  std::string_view failure;
  Response response;
};

const std::vector<Played>& played_failures() {
  static const std::vector<Played> kFailures = [] {
    Response throttled, unavailable, timeout;
    throttled.status = 400;
    throttled.code = "ThrottlingException";
    unavailable.status = 503;
    timeout.transport = TransportError::kTimeout;
    timeout.status = 0;
    return std::vector<Played>{
        {"503", unavailable}, {"ThrottlingException", throttled}, {"a timeout", timeout}};
  }();
  return kFailures;
}

std::string time_text(Duration time) {
  const double seconds = time.in_seconds();
  const DisplayUnit unit = display_unit(seconds, "s");
  return format_plain(seconds * unit.scale, 3) + std::string(unit.name);
}

/// The attempts of a client in words: "3 attempts, waits of at most 50 ms, 100 ms".
std::string played_text(const PlayedFailures& played) {
  if (played.delays.empty()) return "1 attempt";
  constexpr std::size_t kShown = 4;
  std::string text =
      fmt::format("{}, waits up to", scenario::said_things(played.attempts(), "attempt"));
  for (std::size_t i = 0; i < std::min(kShown, played.delays.size()); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", time_text(played.delays[i]));
  }
  if (played.delays.size() > kShown) {
    text += fmt::format(", ... {}", time_text(played.delays.back()));
  }
  return text;
}

std::string retries_text(const PlayedFailures& played) {
  return scenario::grouped(played.retries) + (played.retries == 1 ? " retry" : " retries");
}

void add_client(Document& d, const UpgradeReport& report) {
  const SdkUpgrade& upgrade = report.study.upgrade;
  Listing changes{{"in one client", upgrade.from.name(), upgrade.to.name()}, {}, 1};
  std::string same;
  for (const RuleWords& r : report.rules) {
    if (r.from != r.to) {
      changes.rows.push_back({r.rule, r.from, r.to});
    } else {
      same += (same.empty() ? "" : ", ") + r.rule;
    }
  }
  for (const Played& p : played_failures()) {
    const PlayedFailures from = play_failures(upgrade.from.rules, p.response);
    const PlayedFailures to = play_failures(upgrade.to.rules, p.response);
    changes.rows.push_back({fmt::format("a call that meets {} throughout", p.failure),
                            played_text(from), played_text(to)});
    changes.rows.push_back({fmt::format("{} such calls in a row", scenario::grouped(kPlayedCalls)),
                            retries_text(from), retries_text(to)});
  }
  d.gap().lines([changes = std::move(changes)](std::size_t columns) {
    return listing_text(changes, columns);
  });
  if (!same.empty()) d.say(fmt::format("As before: {}.", same), "", "");
  const UpgradeStudy& study = report.study;
  if (!study.with_other_rules.empty()) {
    d.say(fmt::format("These are the rules of {}; the scenario gives others to {}.",
                      study.paths.front(), fmt::join(study.with_other_rules, ", ")),
          "", "");
  }
}

Json client_json(const UpgradeReport& report) {
  const SdkUpgrade& upgrade = report.study.upgrade;
  const auto release = [](const SdkRelease& r) {
    return Json{{"sdk", r.sdk},           {"name", r.name()},       {"mode", r.mode},
                {"revision", r.revision}, {"opted_in", r.opted_in}, {"source", r.source}};
  };
  Json rules = Json::array(), played = Json::array();
  for (const RuleWords& r : report.rules) {
    rules.push_back({{"rule", r.rule}, {"from", r.from}, {"to", r.to}});
  }
  for (const Played& p : played_failures()) {
    const auto side = [&](const SdkRelease& r) {
      const PlayedFailures found = play_failures(r.rules, p.response);
      Json delays = Json::array();
      for (const Duration delay : found.delays) delays.push_back(delay.in_seconds());
      return Json{{"attempts", found.attempts()}, {"delays_s", delays}, {"retries", found.retries}};
    };
    played.push_back({{"failure", p.failure},
                      {"calls", kPlayedCalls},
                      {"from", side(upgrade.from)},
                      {"to", side(upgrade.to)}});
  }
  return {{"from", release(upgrade.from)},
          {"to", release(upgrade.to)},
          {"paths", report.study.paths},
          {"replaced", report.study.replaced},
          {"with_other_rules", report.study.with_other_rules},
          {"rules", rules},
          {"played", played},
          {"choices", upgrade_choices(upgrade)},
          {"sentences", upgrade_sentences(report)}};
}

// --- The table -----------------------------------------------------------------------------------

Ranged tip_range(const UpgradeReport& report, std::size_t side) {
  if (report.found.tips.size() != 2) return {};
  const TippingPoint& point = report.found.tips[side].found.point;
  if (!point.d50) return {};
  return {point.d50->middle(), point.ci_first, point.ci_last};
}

Columns<UpgradeReport> upgrade_columns() {
  Columns<UpgradeReport> t;
  const auto of = [](const UpgradeReport& r, std::size_t side) -> const SdkRelease& {
    return side == 0 ? r.study.upgrade.from : r.study.upgrade.to;
  };
  const auto recovered = [](const UpgradeReport& r, std::size_t side) {
    const Recovered found = recovered_of(r.evaluations[side]);
    return Shown{share(found.count, found.of), found.of == 0 && found.untold > 0
                                                   ? std::string("too short")
                                                   : n_of(found.count, found.of)};
  };
  const auto tip = [](const UpgradeReport& r, std::size_t side) {
    return Shown{tip_range(r, side),
                 r.found.tips.size() == 2 ? tip_text(r.found.tips[side]) : std::string("-")};
  };
  const auto metric = [](const UpgradeReport& r, std::size_t side, std::string_view name) {
    return ranged(estimate_of(r.evaluations[side], name));
  };
  t.csv("sdk", [](auto& r) { return std::string(r.study.upgrade.sdk()); });
  t.csv("from", {"from", Side::kLeft}, [of](auto& r) { return of(r, 0).name(); });
  t.csv("to", {"to", Side::kLeft}, [of](auto& r) {
    return Shown{of(r, 1).name(),
                 std::string(sdk_version(of(r, 1).sdk)) + (of(r, 1).opted_in ? ", opted in" : "")};
  });
  t.csv("from_mode", {"mode", Side::kLeft}, [of](auto& r) {
    return Shown{of(r, 0).mode, of(r, 0).mode == of(r, 1).mode
                                    ? of(r, 0).mode
                                    : of(r, 0).mode + " to " + of(r, 1).mode};
  });
  t.csv("to_mode", [of](auto& r) { return of(r, 1).mode; });
  t.csv("from_revision", [of](auto& r) { return of(r, 0).revision; });
  t.csv("to_revision", [of](auto& r) { return of(r, 1).revision; });
  t.csv("replications", [](auto& r) { return std::uint64_t{r.evaluations[0].values.runs()}; });
  t.csv("from_recovered from_recovered_low from_recovered_high", {"recovered"},
        [recovered](auto& r) { return recovered(r, 0); })
      .unit("1");
  t.csv("to_recovered to_recovered_low to_recovered_high", {"after"}, [recovered](auto& r) {
     return recovered(r, 1);
   }).unit("1");
  for (const std::string_view name :
       {"success_rate", "amplification", "peak_attempt_rate", "latency_ok_p99"}) {
    const MetricInfo* info = find_metric(name);
    if (info == nullptr) continue;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const std::string column = (side == 0 ? "from_" : "to_") + std::string(name);
      t.csv(fmt::format("{0} {0}_low {0}_high", column), [=](auto& r) {
         return metric(r, side, name);
       }).unit(info->unit);
    }
  }
  t.csv("from_tips_at from_tips_at_low from_tips_at_high", {"fault that tips it", Side::kLeft},
        [tip](auto& r) { return tip(r, 0); })
      .unit("s");
  t.csv("to_tips_at to_tips_at_low to_tips_at_high", {"after", Side::kLeft}, [tip](auto& r) {
     return tip(r, 1);
   }).unit("s");
  return t;
}

/// Notes on the sources of both releases' rules.
std::vector<std::string> source_notes(std::span<const UpgradeReport> reports) {
  std::vector<std::string> notes;
  for (const UpgradeReport& r : reports) {
    for (const TurningPoint& p : turning_points(r.study.upgrade.sdk())) {
      const std::string name = fmt::format("{}@{}", p.sdk, p.version);
      if (version_is_before(r.study.upgrade.to.sdk, name) ||
          !version_is_before(r.study.upgrade.from.sdk, name)) {
        continue;
      }
      notes.push_back(fmt::format("{} {}: {} ({})", p.sdk, p.version, p.change, p.source));
    }
  }
  return notes;
}

}  // namespace

Document upgrade_document(const UpgradeReport& report) {
  const SdkUpgrade& upgrade = report.study.upgrade;
  Document d;
  d.say(heading_of({&report.study.from.loaded, &report.study.to.loaded}).text());
  d.say(fmt::format("{} and {} on common random numbers, {}, seed {}.", upgrade.from.name(),
                    upgrade.to.name(),
                    scenario::said_things(report.evaluations[0].values.runs(), "replication"),
                    report.study.from.loaded.scenario.seed));
  for (const std::string& replaced : report.study.replaced) d.say(replaced);
  d.gap().answer_first(upgrade_sentences(report));
  add_client(d, report);
  if (const std::vector<std::string> choices = upgrade_choices(upgrade); !choices.empty()) {
    d.gap();
    for (const std::string& choice : choices) d.say(choice, "- ");
  }
  add_comparison(d, {report.found.comparison, report.evaluations});
  d.notes(source_notes({&report, 1}));
  d.member("upgrade", client_json(report));
  return d.table(source_of("upgrade", CellTable(upgrade_columns(), std::span(&report, 1))));
}

Document upgrades_document(std::span<const UpgradeReport> reports, const std::string& name) {
  Document d;
  const Scenario& scenario = reports[0].study.from.loaded.scenario;
  Heading heading = heading_of({&reports[0].study.from.loaded});
  heading.name = heading.title = name;
  d.say(heading.text());
  d.say(fmt::format("{} on common random numbers, {} of each, seed {}.",
                    scenario::said_things(reports.size(), "upgrade"),
                    scenario::said_things(reports[0].evaluations[0].values.runs(), "replication"),
                    scenario.seed));
  std::size_t better = 0, worse = 0, untold = 0;
  double duration_s = 0;
  for (const UpgradeReport& r : reports) {
    const Recovered before = recovered_of(r.evaluations[0]);
    const Recovered after = recovered_of(r.evaluations[1]);
    if (before.untold + after.untold > 0) {
      ++untold;
      duration_s = std::max({duration_s, before.duration_s, after.duration_s});
      continue;
    }
    better += after.count > before.count;
    worse += after.count < before.count;
  }
  d.gap().answer(fmt::format("After the upgrade more runs recover in {}, and fewer in {}.",
                             scenario::said_part(better, reports.size(), "fleet"), worse));
  if (untold > 0) {
    d.say(fmt::format(
        "Of {} it is not known: runs are too short to tell; a duration of {} would be long enough.",
        scenario::said_things(untold, "fleet"), stats::said_duration(duration_s)));
  }
  const CellTable table(upgrade_columns(), reports);
  d.gap().show(shown(table));
  d.say("The fault that tips it: the shortest one from which half of the runs do not recover.", "",
        "");
  d.head("", heading, scenario, reports[0].evaluations[0].values.runs());
  Json all = Json::array();
  for (const UpgradeReport& r : reports) all.push_back(client_json(r));
  d.member("upgrades", std::move(all));
  d.notes(source_notes(reports));
  return d.table(source_of("upgrade", table));
}

}  // namespace retrysim::report
