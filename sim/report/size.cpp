// SPDX-License-Identifier: MIT
#include "report/size.hpp"

#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/pictures/pictures.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string said_percentage(double share) {
  return fmt::format("{} %", scenario::said_number(100 * share, 4));
}

std::string limit_text(const SizeLimit& limit) {
  std::string text;
  const auto add = [&](const std::optional<double>& bound, std::string_view sign) {
    if (!bound) return;
    if (!text.empty()) text += " and ";
    text += fmt::format("{} {} {}", limit.metric->name, sign, *bound);
  };
  add(limit.at_least, ">=");
  add(limit.at_most, "<=");
  return limit.client == "all" ? text : fmt::format("{} ({})", text, limit.client);
}

class SizeReport {
 public:
  SizeReport(const SizePlan& plan, const SizeStudy& study)
      : plan_(plan), study_(study), answer_(study.answer) {}

  std::string value(std::size_t place) const { return said(plan_.grid[place]); }

  std::string said(double v) const {
    if (v == 0) return plan_.key.is_duration ? "0 s" : "0";
    const DisplayUnit unit = display_unit(v, plan_.key.unit);
    constexpr int kDigits = 6;
    return format_plain(v * unit.scale, kDigits) + std::string(unit.name);
  }

  /// The key in words: "the number of servers".
  std::string key() const { return said_key(plan_.base.scenario, plan_.key.path); }
  /// The key in words behind an adjective: "number of servers".
  std::string bare_key() const {
    const std::string words = key();
    // No "smallest safe most attempts".
    const bool is_noun = words.starts_with("the ") && !words.starts_with("the most ");
    return is_noun ? words.substr(4) : "value of " + words;
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> all = {first()};
    if (const auto why = reason()) all.push_back(*why);
    all.push_back(meaning());
    all.push_back(what_is_good());
    all.push_back(shape());
    std::erase(all, "");
    return all;
  }

  std::vector<std::string> notes() const {
    std::size_t too_short = 0, not_recovered = 0;
    for (const SizeReasons& r : study_.reasons) {
      too_short += r.too_short;
      not_recovered += r.not_recovered;
    }
    std::vector<std::string> all;
    if (too_short > 0) {
      all.push_back(fmt::format(
          "{} too short to tell whether {}, and {} as not good; set a longer duration",
          too_short == 1 ? "1 run was" : fmt::format("{} runs were", too_short),
          too_short == 1 ? "it recovers" : "they recover", too_short == 1 ? "counts" : "count"));
    }
    if (not_recovered > 0 && plan_.duration_needed_s) {
      all.push_back(fmt::format(
          "the runs are too short to show that it never recovers: what has not when they end "
          "counts as not good; set a duration of {} s or more to tell",
          scenario::said_number(std::ceil(*plan_.duration_needed_s), 4)));
    }
    return all;
  }

  /// The value of the answer, if it is a single number or the safe end of a bracket.
  std::optional<double> found() const {
    const bool has = answer_.outcome == SizeOutcome::kFound ||
                     answer_.outcome == SizeOutcome::kBracket ||
                     answer_.outcome == SizeOutcome::kAllSafe;
    if (!has || !answer_.at) return std::nullopt;
    return plan_.grid[*answer_.at];
  }

  bool is_safe() const { return found().has_value() || answer_.outcome == SizeOutcome::kWindow; }

  /// The reasons why runs of a value are not good: "17 do not recover, 2 break success_rate >=
  /// 0.99".
  std::string reasons_of(std::size_t place) const {
    const auto probe = std::ranges::find(answer_.probes, place, &SizeProbe::place);
    if (probe == answer_.probes.end()) return "";
    const SizeReasons& r = study_.reasons[static_cast<std::size_t>(probe - answer_.probes.begin())];
    std::vector<std::string> parts;
    const auto add = [&](std::size_t count, const char* one, const char* more) {
      if (count > 0) parts.push_back(fmt::format("{} {}", count, count == 1 ? one : more));
    };
    if (plan_.is_disturbed && plan_.duration_needed_s) {
      add(r.not_recovered, "does not recover in time", "do not recover in time");
    } else if (plan_.is_disturbed) {
      add(r.not_recovered, "does not recover", "do not recover");
    } else {
      add(r.not_recovered, "does not keep up", "do not keep up");
    }
    add(r.ill_before, "is ill even before anything goes wrong",
        "are ill even before anything goes wrong");
    for (std::size_t i = 0; i < r.breaks.size(); ++i) {
      const std::string text = limit_text(plan_.limits[i]);
      add(r.breaks[i], ("breaks " + text).c_str(), ("break " + text).c_str());
    }
    add(r.too_short, "is too short to tell", "are too short to tell");
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string what_is_good() const {
    std::vector<std::string> parts;
    if (plan_.is_disturbed) {
      parts.push_back(
          plan_.disturbances.size() > 1
              ? fmt::format("recovers from each of {} disturbances", plan_.disturbances.size())
              : std::string("recovers"));
    }
    for (const SizeLimit& limit : plan_.limits) parts.push_back("keeps " + limit_text(limit));
    std::string text = parts.empty()
                           ? fmt::format("A run is good if at least {} of its requests succeed.",
                                         said_percentage(plan_.base.scenario.recovery.share))
                           : fmt::format("A run is good if it {}.", fmt::join(parts, " and "));
    if (plan_.uncertain.empty()) return text;
    std::vector<std::string> keys;
    for (const UncertainKey& key : plan_.uncertain) {
      keys.push_back(said_key(plan_.base.scenario, key.path));
    }
    return text + fmt::format(" Each draws {} from what is uncertain of {}.",
                              keys.size() == 1 ? "a value" : "values", fmt::join(keys, ", "));
  }

 private:
  const SizeProbe& probe(std::size_t place) const { return *answer_.find(place); }

  std::string part(std::size_t place) const {
    return scenario::said_part(probe(place).good, probe(place).runs, "run");
  }

  std::string good_with(std::size_t place) const {
    return fmt::format("{} {} good with {}", part(place), probe(place).runs == 1 ? "is" : "are",
                       value(place));
  }

  std::string_view extreme() const { return answer_.is_largest ? "largest" : "smallest"; }

  std::string first() const {
    switch (answer_.outcome) {
      case SizeOutcome::kFound:
        return fmt::format(
            "The {} safe {} is {}: {} {} good, but {} with {}.", extreme(), bare_key(),
            value(*answer_.at), part(*answer_.at), probe(*answer_.at).runs == 1 ? "is" : "are",
            n_of(probe(*answer_.beyond).good, probe(*answer_.beyond).runs), value(*answer_.beyond));
      case SizeOutcome::kBracket:
        return bracket();
      case SizeOutcome::kAllSafe:
        return all_safe();
      case SizeOutcome::kNoneSafe:
        return fmt::format("No {} from {} to {} is enough: {}, {} with {}.", bare_key(),
                           value(first_place()), value(last_place()), good_with(last_place()),
                           n_of(probe(first_place()).good, probe(first_place()).runs),
                           value(first_place()));
      case SizeOutcome::kWindow:
        return fmt::format(
            "Only a {} in between is safe: from {} to {}, where {}, and {} with {}; "
            "but {} with {}, and {} with {}.",
            bare_key(), value(*answer_.at), value(*answer_.to), good_with(*answer_.at),
            n_of(probe(*answer_.to).good, probe(*answer_.to).runs), value(*answer_.to),
            n_of(probe(first_place()).good, probe(first_place()).runs), value(first_place()),
            n_of(probe(last_place()).good, probe(last_place()).runs), value(last_place()));
      case SizeOutcome::kNotMonotone:
        return fmt::format(
            "There is no single safe {}: safe values and others take turns; safe {} "
            "{}, not safe {}.",
            bare_key(), safe_places().size() == 1 ? "is" : "are", joined(safe_places()),
            joined(unsafe_places()));
      case SizeOutcome::kOpen:
        break;
    }
    return fmt::format(
        "Too close to tell: no {} from {} to {} is known to be safe, and not all are "
        "known not to be.",
        bare_key(), value(first_place()), value(last_place()));
  }

  std::string bracket() const {
    if (!answer_.beyond) {
      return fmt::format(
          "The {} safe {} is {} or {}: {}; that a {} one is not safe could not be "
          "shown.",
          extreme(), bare_key(), value(*answer_.at), answer_.is_largest ? "more" : "less",
          good_with(*answer_.at), answer_.is_largest ? "larger" : "smaller");
    }
    const std::string low = value(answer_.is_largest ? *answer_.at : *answer_.beyond);
    const std::string high = value(answer_.is_largest ? *answer_.beyond : *answer_.at);
    return fmt::format(
        "The {} safe {} is between {} and {}: with {} it is safe ({} {} good), with {} "
        "it is not ({}).",
        extreme(), bare_key(), low, high, value(*answer_.at), part(*answer_.at),
        probe(*answer_.at).runs == 1 ? "is" : "are", value(*answer_.beyond),
        n_of(probe(*answer_.beyond).good, probe(*answer_.beyond).runs));
  }

  std::string all_safe() const {
    const std::size_t other = answer_.is_largest ? first_place() : last_place();
    const std::string where = fmt::format("{}, and {} with {}", good_with(*answer_.at),
                                          n_of(probe(other).good, probe(other).runs), value(other));
    if (!answer_.is_largest && plan_.grid[*answer_.at] == 0) {
      return fmt::format("None is needed: even with 0 as {} it is safe; {}.", key(), where);
    }
    const bool all_known = std::ranges::all_of(
        answer_.probes, [](const SizeProbe& p) { return p.verdict == SizeVerdict::kSafe; });
    return fmt::format(
        "It does not depend on {}: every value from {} to {} that was tried is {}; "
        "{}.",
        key(), value(first_place()), value(last_place()),
        all_known ? "safe" : "good throughout or known to be safe", where);
  }

  std::optional<std::string> reason() const {
    std::optional<std::size_t> of = answer_.beyond;
    if (answer_.outcome == SizeOutcome::kNoneSafe) of = last_place();
    if (answer_.outcome == SizeOutcome::kWindow) of = first_place();
    if (answer_.outcome == SizeOutcome::kNotMonotone && !unsafe_places().empty()) {
      of = unsafe_places().back();
    }
    if (!of) return std::nullopt;
    const std::string why = reasons_of(*of);
    if (why.empty()) return std::nullopt;
    std::string text = fmt::format("With {}, {}", value(*of), why);
    if (answer_.outcome == SizeOutcome::kWindow) {
      const std::string also = reasons_of(last_place());
      if (!also.empty()) text += fmt::format("; with {}, {}", value(last_place()), also);
    }
    return text + ".";
  }

  std::string meaning() const {
    std::string text = fmt::format(
        "Safe: at least {} of {}, with {} confidence", said_percentage(plan_.search.share),
        plan_.uncertain.empty() ? "runs are good" : "what the intervals allow is good",
        said_percentage(plan_.search.confidence));
    if (answer_.at &&
        (answer_.outcome == SizeOutcome::kFound || answer_.outcome == SizeOutcome::kBracket)) {
      const SizeProbe& p = probe(*answer_.at);
      text += fmt::format("; with {}, between {} and {} are (95 % interval)", value(*answer_.at),
                          percent(p.low), percent(p.high));
    }
    return text + ".";
  }

  /// A sentence on the shape of the curve, beyond the answer; empty if there is nothing to say.
  std::string shape() const {
    if (answer_.outcome == SizeOutcome::kNoneSafe || answer_.outcome == SizeOutcome::kOpen ||
        (answer_.outcome == SizeOutcome::kBracket && answer_.is_flat)) {
      if (!answer_.is_flat) return "";
      return flat();
    }
    if (answer_.outcome != SizeOutcome::kFound && answer_.outcome != SizeOutcome::kBracket) {
      return "";
    }
    std::size_t safe = 0, others = 0;
    for (const SizeProbe& p : answer_.probes) {
      const bool on_safe_side =
          answer_.is_largest ? p.place <= *answer_.at : p.place >= *answer_.at;
      safe += on_safe_side ? 1 : 0;
      others += on_safe_side || p.passes() ? 0 : 1;
    }
    const std::size_t rest = answer_.probes.size() - safe - others;
    std::string text = fmt::format(
        "Of {} tried from {} to {}, {} from {} on {} {} good throughout or known to be safe, and "
        "{} {} it {} not",
        scenario::said_things(answer_.probes.size(), "value"), value(first_place()),
        value(last_place()), safe, value(*answer_.at), answer_.is_largest ? "down" : "up",
        safe == 1 ? "is" : "are", others, answer_.is_largest ? "above" : "below",
        others == 1 ? "is" : "are");
    if (rest > 0)
      text += fmt::format(" ({} more {} safe, but not all up to there)", rest,
                          rest == 1 ? "is" : "are");
    return text + ".";
  }

  /// What a curve is worth whose values differ by no more than chance does: that nothing depends on
  /// the key only where the shares are known well.
  std::string flat() const {
    constexpr double kMuch = 0.2;  // between the least and the largest share that there may be
    double low = 1, high = 0, least = 1, most = 0;
    for (const SizeProbe& p : answer_.probes) {
      const double share = static_cast<double>(p.good) / static_cast<double>(p.runs);
      low = std::min(low, share);
      high = std::max(high, share);
      least = std::min(least, p.low);
      most = std::max(most, p.high);
    }
    if (high == 0) return "";  // the answer says this already
    const std::string shares =
        low == high ? percent(low) : fmt::format("{} to {}", percent(low), percent(high));
    if (most - least <= kMuch) {
      return fmt::format("It hardly depends on {}: {} of runs are good whatever it is.", key(),
                         shares);
    }
    return fmt::format(
        "The runs are too few to tell whether it depends on {}: {} of them are good with the "
        "values tried, which may be chance.",
        key(), shares);
  }

  std::size_t first_place() const { return answer_.probes.front().place; }
  std::size_t last_place() const { return answer_.probes.back().place; }

  std::vector<std::size_t> safe_places() const {
    std::vector<std::size_t> places;
    for (const SizeProbe& p : answer_.probes) {
      if (p.passes()) places.push_back(p.place);
    }
    return places;
  }
  std::vector<std::size_t> unsafe_places() const {
    std::vector<std::size_t> places;
    for (const SizeProbe& p : answer_.probes) {
      if (p.verdict == SizeVerdict::kUnsafe) places.push_back(p.place);
    }
    return places;
  }

  /// Values in words, with neighbours among the tried values as a range: "5 to 8, 30".
  std::string joined(const std::vector<std::size_t>& places) const {
    std::string text;
    std::size_t i = 0;
    const auto number = [&](std::size_t place) {
      return std::ranges::find(answer_.probes, place, &SizeProbe::place) - answer_.probes.begin();
    };
    while (i < places.size()) {
      std::size_t j = i;
      while (j + 1 < places.size() && number(places[j + 1]) == number(places[j]) + 1) ++j;
      if (!text.empty()) text += ", ";
      text += value(places[i]);
      if (j > i) text += " to " + value(places[j]);
      i = j + 1;
    }
    return text;
  }

  const SizePlan& plan_;
  const SizeStudy& study_;
  const SizeAnswer& answer_;
};

// --- Values --------------------------------------------------------------------------------------

struct SizeRow {
  const SizePlan& plan;
  const SizeStudy& study;
  SizeReport report;
  std::size_t number;
  const SizePoint* point = nullptr;  ///< of a frontier

  const SizeProbe& probe() const { return study.answer.probes[number]; }
  const SizeReasons& reasons() const { return study.reasons[number]; }
  Ranged share() const {
    const SizeProbe& p = probe();
    return {static_cast<double>(p.good) / static_cast<double>(p.runs), p.low, p.high};
  }
  std::size_t breaks() const {
    std::size_t all = 0;
    for (const std::size_t count : reasons().breaks) all += count;
    return all;
  }
};

std::string verdict_words(SizeVerdict verdict) {
  switch (verdict) {
    case SizeVerdict::kSafe:
      return "safe";
    case SizeVerdict::kLikely:
      return "good so far";
    case SizeVerdict::kUnsafe:
      return "not safe";
    case SizeVerdict::kOpen:
      break;
  }
  return "too close to tell";
}

void add_size_rows(std::vector<SizeRow>& rows, const SizePlan& plan, const SizeStudy& study,
                   const SizePoint* point = nullptr) {
  for (std::size_t i = 0; i < study.answer.probes.size(); ++i) {
    rows.push_back({plan, study, SizeReport(plan, study), i, point});
  }
}

/// Columns behind those of the varied keys.
void add_size_columns(Columns<SizeRow>& t, const Trigger& key) {
  t.files("key", [](auto& r) { return r.plan.key.path; });
  t.files("value", {key.path}, [](auto& r) {
     return Shown{r.plan.grid[r.probe().place], r.report.value(r.probe().place)};
   }).unit(key.unit);
  t.files("unit", [](auto& r) { return r.plan.key.unit; });
  t.files("runs", [](auto& r) { return r.probe().runs; });
  t.files("good", {"good runs"}, [](auto& r) {
    return Shown{r.probe().good, n_of(r.probe().good, r.probe().runs)};
  });
  t.files("share ci_low ci_high", {"share"}, [](auto& r) {
    return Shown{r.share(), share_text(r.share())};
  });
  t.files("verdict", {"", Side::kLeft}, [](auto& r) {
    return Shown{std::string(name(r.probe().verdict)), verdict_words(r.probe().verdict)};
  });
  t.files("not_recovered", [](auto& r) { return r.reasons().not_recovered; });
  t.files("ill_before", [](auto& r) { return r.reasons().ill_before; });
  t.files("too_short", [](auto& r) { return r.reasons().too_short; });
  t.files("breaks_limit", [](auto& r) { return r.breaks(); });
  for (std::size_t f = 0; f < size_figures().size(); ++f) {
    const MetricInfo& metric = *size_figures()[f];
    t.files(metric.name, [f](auto& r) { return r.study.figures[r.number][f]; }).unit(metric.unit);
  }
  t.text({"why not", Side::kLeft}, [](auto& r) { return r.report.reasons_of(r.probe().place); });
}

CellTable size_table(const SizePlan& plan, const SizeStudy& study) {
  std::vector<SizeRow> rows;
  add_size_rows(rows, plan, study);
  Columns<SizeRow> t;
  t.csv("scenario", [](auto& r) { return r.plan.base.scenario.name; });
  add_size_columns(t, plan.key);
  return {t, rows};
}

std::vector<TableSource> size_tables(const SizePlan& plan, const SizeStudy& study) {
  return {source_of("size", size_table(plan, study))};
}

Json size_json(const SizePlan& plan, const SizeStudy& study) {
  const SizeAnswer& a = study.answer;
  const SizeReport report(plan, study);
  const auto at = [&](const std::optional<std::size_t>& place) {
    return place ? Json(plan.grid[*place]) : Json();
  };
  Json limits = Json::array(), disturbances = Json::array(), uncertain = Json::array();
  for (const UncertainKey& key : plan.uncertain) uncertain.push_back(key.path);
  for (const SizeLimit& l : plan.limits) {
    limits.push_back({{"metric", l.metric->name},
                      {"client", l.client},
                      {"at_least", optional_json(l.at_least)},
                      {"at_most", optional_json(l.at_most)}});
  }
  for (const Variant& v : plan.disturbances) {
    if (!v.name.empty()) disturbances.push_back(v.name);
  }
  return {{"path", plan.key.path},
          {"words", report.key()},
          {"unit", plan.key.unit},
          {"low", plan.grid.front()},
          {"high", plan.grid.back()},
          {"outcome", name(a.outcome)},
          {"is_safe", report.is_safe()},
          {"is_largest", a.is_largest},
          {"is_flat", a.is_flat},
          {"value", optional_json(report.found())},
          {"from", at(a.outcome == SizeOutcome::kWindow ? a.at : std::nullopt)},
          {"to", at(a.to)},
          {"beyond", at(a.beyond)},
          {"share", plan.search.share},
          {"confidence", plan.search.confidence},
          {"must_recover", plan.is_disturbed},
          {"limits", std::move(limits)},
          {"disturbances", std::move(disturbances)},
          {"uncertain", std::move(uncertain)},
          {"values", rows_json(size_table(plan, study))}};
}

}  // namespace

std::vector<std::string> size_sentences(const SizePlan& plan, const SizeStudy& study) {
  return SizeReport(plan, study).sentences();
}

Document size_document(const SizePlan& plan, const SizeStudy& study) {
  const LoadedScenario& base = plan.base;
  const SizeReport report(plan, study);
  const std::vector<std::string> varied = {plan.key.path};
  const Heading heading = heading_of(base, varied);
  Document d;
  d.title(heading, fmt::format("{} from {} to {}, {} of {}, seed {}", plan.key.path,
                               report.said(plan.grid.front()), report.said(plan.grid.back()),
                               scenario::said_things(study.replications, "run"),
                               scenario::said_things(study.answer.probes.size(), "value"),
                               base.scenario.seed));
  const std::vector<std::string> sentences = report.sentences();
  d.gap().answer_first(sentences);
  d.gap().show(shown(size_table(plan, study)));
  d.notes(report.notes());
  d.head("size", heading, base.scenario, study.replications);
  d.member("size", size_json(plan, study));
  d.member("search", {{"id", fmt::format("{:016x}", plan.id)}});
  d.member("sentences", sentences);
  d.member("notes", report.notes());
  d.scenario_members(base);
  d.tables(size_tables(plan, study));
  d.scenario_file(base);
  return d;
}

// --- At several values of other keys -------------------------------------------------------------

namespace {

struct FrontierRow {
  const SizePoint& point;
  const SizeStudy& study;
  SizeReport report;

  /// The probe of the answer's value.
  const SizeProbe* probe() const {
    const auto& at = study.answer.at;
    return at && report.found() ? study.answer.find(*at) : nullptr;
  }
  bool is_all_safe() const { return study.answer.outcome == SizeOutcome::kAllSafe; }
  bool is_none_safe() const { return study.answer.outcome == SizeOutcome::kNoneSafe; }
  /// A single safe value, or the safe end of a bracket; where all values are safe there is none.
  std::optional<double> value() const { return is_all_safe() ? std::nullopt : report.found(); }
  std::optional<double> figure(std::size_t f) const {
    const SizeProbe* p = probe();
    if (p == nullptr) return std::nullopt;
    return study.figures[static_cast<std::size_t>(p - study.answer.probes.data())][f];
  }
  Ranged share() const {
    const SizeProbe* p = probe();
    if (p == nullptr) return {};
    return {static_cast<double>(p->good) / static_cast<double>(p->runs), p->low, p->high};
  }
  std::optional<double> beyond() const {
    if (!study.answer.beyond) return std::nullopt;
    return point.plan.grid[*study.answer.beyond];
  }
  std::string words() const {
    switch (study.answer.outcome) {
      case SizeOutcome::kFound:
      case SizeOutcome::kBracket:
        return report.said(*report.found());
      case SizeOutcome::kAllSafe:
        return "all are safe";
      case SizeOutcome::kNoneSafe:
        return "none is safe";
      case SizeOutcome::kWindow:
        return fmt::format("{} to {}", report.value(*study.answer.at),
                           report.value(*study.answer.to));
      case SizeOutcome::kNotMonotone:
        return "no single one";
      case SizeOutcome::kOpen:
        break;
    }
    return "too close to tell";
  }
};

/// Words above each other: "attempts", "per request".
std::string stacked(std::string words) {
  const std::size_t middle = words.find(' ', words.size() / 3);
  if (middle != std::string::npos) words[middle] = '\n';
  return words;
}

class FrontierReport {
 public:
  FrontierReport(const SizeFrontierPlan& plan, const std::vector<SizeStudy>& studies)
      : plan_(plan), studies_(studies) {
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
      rows_.push_back({plan.points[i], studies[i], SizeReport(plan.points[i].plan, studies[i])});
    }
  }

  std::size_t runs() const {
    std::size_t all = 0;
    for (const SizeStudy& study : studies_) all += study.replications;
    return all;
  }
  std::string points_text() const { return scenario::said_things(rows_.size(), "point"); }
  const SizePlan& first() const { return plan_.points.front().plan; }
  const SizeReport& first_report() const { return rows_.front().report; }
  bool is_safe() const {
    return std::ranges::any_of(rows_, [](const FrontierRow& r) { return r.report.is_safe(); });
  }

  std::vector<std::string> key_units() const {
    std::vector<std::string> units;
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      units.emplace_back(key_column(plan_.keys[k], values_of(k)).unit);
    }
    return units;
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> all = {answer()};
    std::vector<std::string> safe, none, without;
    for (const FrontierRow& r : rows_) {
      if (r.is_all_safe()) {
        safe.push_back(r.point.name);
      } else if (r.is_none_safe()) {
        none.push_back(r.point.name);
      } else if (!r.report.found()) {
        without.push_back(fmt::format("{} ({})", r.point.name, r.words()));
      }
    }
    add_points(all, "Every value that was tried is safe at", std::move(safe));
    add_points(all, "No value that was tried is safe at", std::move(none));
    add_points(all, "There is no single safe value at", std::move(without));
    all.push_back(fmt::format(
        "Safe: at least {} of {}, with {} confidence at each point.",
        said_percentage(first().search.share),
        first().uncertain.empty() ? "runs are good" : "what the intervals allow is good",
        said_percentage(first().search.confidence)));
    all.push_back(first_report().what_is_good());
    return all;
  }

  CellTable points() const {
    Columns<FrontierRow> t;
    t.csv("scenario", [](auto& r) { return r.point.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)), {last_part(plan_.keys[k])}, [k](auto& r) {
        return Shown{key_cell(r.point.values[k]), r.point.values[k]};
      });
      t.json(plan_.keys[k], [k](auto& r) { return r.point.values[k]; });
    }
    const Trigger& key = first().key;
    t.files("key", [](auto& r) { return r.point.plan.key.path; });
    t.files("value", [](auto& r) { return r.value(); }).unit(key.unit);
    t.text({last_part(key.path)}, [](auto& r) { return r.words(); });
    t.files("unit", [](auto& r) { return r.point.plan.key.unit; });
    t.files("outcome", [](auto& r) { return std::string(name(r.study.answer.outcome)); });
    t.files("beyond", [](auto& r) { return r.beyond(); }).unit(key.unit);
    t.files("share ci_low ci_high", {"good runs"}, [](auto& r) {
      return Shown{r.share(), share_text(r.share())};
    });
    for (std::size_t f = 0; f < size_figures().size(); ++f) {
      const MetricInfo& metric = *size_figures()[f];
      t.files(metric.name, {stacked(std::string(metric.label()))}, [f, &metric](auto& r) {
         const auto value = r.figure(f);
         if (!value) return Shown{value, std::string()};
         if (shown_as_percentage(metric)) return Shown{value, percent(*value)};
         const DisplayUnit unit = display_unit(*value, metric.unit);
         return Shown{value, format_plain(*value * unit.scale) + std::string(unit.name)};
       }).unit(metric.unit);
    }
    t.files("runs", [](auto& r) { return r.study.replications; });
    return {t, rows_};
  }

  CellTable values() const {
    std::vector<SizeRow> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      add_size_rows(rows, plan_.points[i].plan, studies_[i], &plan_.points[i]);
    }
    Columns<SizeRow> t;
    t.csv("scenario", [](auto& r) { return r.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)),
                [k](auto& r) { return key_cell(r.point->values[k]); });
    }
    add_size_columns(t, first().key);
    return {t, rows};
  }

 private:
  /// A sentence about some points, unless there are none, or all, which the answer says then: the
  /// first five by their names.
  void add_points(std::vector<std::string>& sentences, std::string_view begin,
                  std::vector<std::string> points) const {
    constexpr std::size_t kMost = 5;
    if (points.empty() || points.size() == rows_.size()) return;
    const std::size_t more = points.size() > kMost ? points.size() - kMost : 0;
    points.resize(points.size() - more);
    sentences.push_back(fmt::format("{} {}{}.", begin, fmt::join(points, ", "),
                                    more > 0 ? fmt::format(", and at {} more", more) : ""));
  }

  std::string answer() const {
    const FrontierRow *least = nullptr, *most = nullptr;
    std::size_t found = 0, safe = 0, none = 0, largest = 0;
    for (const FrontierRow& r : rows_) {
      safe += r.is_all_safe() ? 1 : 0;
      none += r.is_none_safe() ? 1 : 0;
      const auto value = r.value();
      if (!value) continue;
      ++found;
      largest += r.study.answer.is_largest ? 1 : 0;
      if (least == nullptr || *value < *least->value()) least = &r;
      if (most == nullptr || *value > *most->value()) most = &r;
    }
    if (safe == rows_.size()) {
      return fmt::format("It does not depend on {}: every value that was tried is safe at {}.",
                         first_report().key(), points_text());
    }
    if (none == rows_.size()) {
      return fmt::format("No {} is enough: none that was tried is safe at any of {}.",
                         first_report().bare_key(), points_text());
    }
    if (least == nullptr) {
      return fmt::format("There is no single safe {} at any of {}.", first_report().bare_key(),
                         points_text());
    }
    const std::string_view extreme = largest == found ? "largest "
                                     : largest == 0   ? "smallest "
                                                      : "";
    const std::string begin =
        fmt::format("The {}{} known to be safe", extreme, first_report().bare_key());
    const std::string low = least->report.said(*least->value());
    const std::string high = most->report.said(*most->value());
    if (found == 1) return fmt::format("{} is {} at {}.", begin, low, least->point.name);
    if (low == high) {
      return fmt::format("{} is {} at {}.", begin, low,
                         found == rows_.size() ? "each of " + points_text()
                                               : fmt::format("{} of {}", found, points_text()));
    }
    return fmt::format("{} goes from {} ({}) to {} ({}).", begin, low, least->point.name, high,
                       most->point.name);
  }

  std::vector<std::string> values_of(std::size_t key) const {
    std::vector<std::string> values;
    for (const FrontierRow& r : rows_) values.push_back(r.point.values[key]);
    return values;
  }

  const SizeFrontierPlan& plan_;
  const std::vector<SizeStudy>& studies_;
  std::vector<FrontierRow> rows_;
};

std::vector<TableSource> frontier_tables(const SizeFrontierPlan& plan,
                                         const std::vector<SizeStudy>& studies) {
  const FrontierReport report(plan, studies);
  return {source_of("frontier", report.points()), source_of("size", report.values())};
}

}  // namespace

Document frontier_document(const SizeFrontierPlan& plan, const std::vector<SizeStudy>& studies) {
  const FrontierReport report(plan, studies);
  const SizePlan& first = report.first();
  std::vector<std::string> varied = plan.keys;
  varied.push_back(first.key.path);
  const Heading heading = heading_of(plan.base, varied);
  Document d;
  d.title(heading, fmt::format("{} from {} to {}, {} at {}, seed {}", first.key.path,
                               report.first_report().said(first.grid.front()),
                               report.first_report().said(first.grid.back()),
                               scenario::said_things(report.runs(), "run"), report.points_text(),
                               plan.base.scenario.seed));
  const std::vector<std::string> sentences = report.sentences();
  d.gap().answer_first(sentences);
  TextTable points = shown(report.points());
  points.fixed = plan.keys.size();
  d.gap().show(std::move(points));
  d.head("size", heading, plan.base.scenario, report.runs());
  d.member("frontier", {{"path", first.key.path},
                        {"words", report.first_report().key()},
                        {"unit", first.key.unit},
                        {"keys", plan.keys},
                        {"key_units", report.key_units()},
                        {"vary", plan.varying},
                        {"is_safe", report.is_safe()},
                        {"share", first.search.share},
                        {"confidence", first.search.confidence},
                        {"points", rows_json(report.points())}});
  d.member("sentences", sentences);
  d.scenario_members(plan.base);
  d.tables(frontier_tables(plan, studies));
  d.scenario_file(plan.base);
  return d;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const SizePlan& plan, const SizeStudy& study) {
  return Tables(report::size_tables(plan, study));
}

Tables tables(const SizeFrontierPlan& plan, const std::vector<SizeStudy>& studies) {
  return Tables(report::frontier_tables(plan, studies));
}

}  // namespace retrysim
