// SPDX-License-Identifier: MIT
#include "report/uncertain.hpp"

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

// --- Words for values ----------------------------------------------------------------------------

std::string value_words(const UncertainKey& key, double value, int digits = 4) {
  const DisplayUnit unit = display_unit(value, key.is_duration ? "s" : "1");
  return format_plain(value * unit.scale, digits) + std::string(unit.name);
}

/// The value in the middle between the sides of a split.
double middle_of(const UncertainSplit& split) { return (split.below.end + split.above.end) / 2; }

std::string below_words(const UncertainKey& key, const UncertainSplit& split) {
  return key.is_whole ? fmt::format("{:.0f} or fewer", split.below.end)
                      : "below " + value_words(key, middle_of(split), 3);
}
std::string above_words(const UncertainKey& key, const UncertainSplit& split) {
  return key.is_whole ? fmt::format("{:.0f} or more", split.above.end)
                      : "above " + value_words(key, middle_of(split), 3);
}

std::string rounded_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

double part_of(std::size_t good, std::size_t of) {
  return static_cast<double>(good) / static_cast<double>(of);
}

// --- Sentences -----------------------------------------------------------------------------------

// The sources of figures in sentences, in the form of result.json (sim/explain/README.md).

Json number_source(double value) { return {{"number", value}}; }
Json formula(std::string_view sign, Json a, Json b) {
  return {{"formula", sign}, {"of", Json::array({std::move(a), std::move(b)})}};
}

/// The text of the column "outcome" for a draw.
std::string_view outcome_words(UncertainQuestion question, std::optional<bool> good) {
  if (!good) return "not known";
  if (question == UncertainQuestion::kRecovers) return *good ? "recovers" : "does not recover";
  return *good ? "keeps up" : "does not keep up";
}

/// The source of the number of draws with an outcome; without one, of all draws.
Json draws_source(std::string_view outcome = {}) {
  Json source = {{"file", "uncertain.csv"}, {"column", "outcome"}, {"over", "count"}};
  if (!outcome.empty()) source["is"] = outcome;
  return source;
}

/// A side of a split, for the sources of figures that are counted there.
struct SideOf {
  std::string_view path;
  std::string_view limit;  ///< the kind of limit: "at_most", "at_least"
  double end;

  Json within(Json source) const {
    source["where"] = path;
    source[limit] = end;
    return source;
  }
  /// The source of the value on this side that is nearest to the other side.
  Json end_source() const {
    return within({{"file", "uncertain.csv"},
                   {"column", path},
                   {"over", limit == "at_most" ? "max" : "min"}});
  }
};

constexpr std::string_view kOwnRuns =
    "replications with the scenario's own values, of which there is no file";
constexpr std::string_view kIllBefore = "goodput of the draws before anything goes wrong";

/// A sentence and its figures.
struct ToldSentence {
  std::string text;
  Json figures = Json::array();

  /// Adds words.
  ToldSentence& operator<<(std::string_view words) {
    text += words;
    return *this;
  }
  /// Adds a figure.
  ToldSentence& say(std::string_view said, double value, Json source) {
    text += said;
    figures.push_back({{"said", said}, {"value", value}, {"source", std::move(source)}});
    return *this;
  }
  /// Adds a part of a number of things: "12 of 60 draws".
  ToldSentence& part(std::size_t some, Json source, std::size_t all, Json of_all,
                     std::string_view noun) {
    const std::string things = scenario::said_things(all, noun);
    const std::size_t number = things.find(' ');
    say(fmt::format("{}", some), static_cast<double>(some), std::move(source)) << " of ";
    say(things.substr(0, number), static_cast<double>(all), std::move(of_all));
    return *this << things.substr(number);
  }
};

class Teller {
 public:
  explicit Teller(const UncertainStudy& study) : study_(study), a_(study.answer) {}

  std::vector<ToldSentence> all() const {
    std::vector<ToldSentence> told = {first()};
    if (study_.own_judged > 0) {
      ToldSentence& s = told.emplace_back();
      s << "With the scenario's own values it " << does() << " in ";
      s.part(study_.own_hits, unknown(kOwnRuns), study_.own_judged, unknown(kOwnRuns), "run")
          << ".";
    }
    if (a_.question == UncertainQuestion::kKeepsUp) {
      ToldSentence& s = told.emplace_back();
      const double share = study_.plan.base.scenario.recovery.share;
      s << "Nothing goes wrong in this scenario: it keeps up where the success rate is at least ";
      s.say(rounded_percent(share), share, {{"key", "recovery.share"}})
          << " of that with its own values.";
    }
    if (a_.ill_before > 0) {
      ToldSentence& s = told.emplace_back();
      s << "In ";
      s.part(a_.ill_before, unknown(kIllBefore), a_.good.size(), draws_source(), "draw")
          << " fewer requests succeed even before anything goes wrong; they count as not "
             "recovered.";
    }
    if (const std::size_t unjudged = a_.good.size() - a_.judged; unjudged > 0 && a_.judged > 0) {
      ToldSentence& s = told.emplace_back();
      s.part(unjudged, draws_source(words({})), a_.good.size(), draws_source(), "draw")
          << " ran too short to tell.";
    }
    return told;
  }

 private:
  static Json unknown(std::string_view why) { return {{"not_in_files", why}}; }
  std::string_view words(std::optional<bool> good) const {
    return outcome_words(a_.question, good);
  }
  std::string_view does() const { return words(true); }
  Json good_source() const { return draws_source(words(true)); }
  Json judged_source() const { return formula("+", good_source(), draws_source(words(false))); }

  /// The source of an end of Wilson's interval: (p + z2 / 2n +- sqrt(z2 (p (1 - p) + z2 / 4n) / n))
  /// / (1 + z2 / n)
  Json wilson_source(std::string_view sign) const {
    constexpr double kZ2 = 1.959963984540054 * 1.959963984540054;
    const Json n = judged_source(), p = formula("/", good_source(), n);
    const Json spread = formula("+", formula("*", p, formula("-", number_source(1), p)),
                                formula("/", number_source(kZ2 / 4), n));
    const Json root =
        formula("^", formula("/", formula("*", number_source(kZ2), spread), n), number_source(0.5));
    const Json middle = formula("+", p, formula("/", number_source(kZ2 / 2), n));
    return formula("/", formula(sign, middle, root),
                   formula("+", number_source(1), formula("/", number_source(kZ2), n)));
  }

  void range(ToldSentence& s) const {
    s.say(rounded_percent(a_.low), a_.low, wilson_source("-")) << " to ";
    s.say(rounded_percent(a_.high), a_.high, wilson_source("+"));
  }

  /// Adds the value between the sides in words: "9 or fewer", "below 51 ms".
  static void below(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split) {
    bound(s, key, split, "below ", " or fewer", split.below.end, true);
  }
  static void above(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split) {
    bound(s, key, split, "above ", " or more", split.above.end, false);
  }
  static void bound(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split,
                    std::string_view before, std::string_view behind, double end, bool is_below) {
    const Json low = SideOf{key.path, "at_most", split.below.end}.end_source();
    const Json high = SideOf{key.path, "at_least", split.above.end}.end_source();
    if (key.is_whole) {
      s.say(fmt::format("{:.0f}", end), end, is_below ? low : high) << behind;
    } else {
      s << before;
      s.say(value_words(key, middle_of(split), 3), middle_of(split),
            formula("/", formula("+", low, high), number_source(2)));
    }
  }

  /// Adds how often draws on a side are good: "15 %", "never".
  void often(ToldSentence& s, const SideOf& side, const UncertainSide& draws) const {
    const Json good = side.within(good_source());
    const Json share =
        formula("/", good, formula("+", good, side.within(draws_source(words(false)))));
    const auto claim = [&](std::string_view what, std::string_view sign, double limit) {
      s.say(what, 1, formula(sign, share, number_source(limit)));
    };
    const double is = part_of(draws.good, draws.of);
    constexpr double kRoundedAway = 0.005;
    if (draws.good == 0) return claim("never", "==", 0);
    if (draws.good == draws.of) return claim("always", "==", 1);
    if (is < kRoundedAway) return claim("hardly ever", "<=", kRoundedAway);
    if (is > 1 - kRoundedAway) return claim("nearly always", ">=", 1 - kRoundedAway);
    s.say(rounded_percent(is), is, share);
  }

  void what_decides(ToldSentence& s) const {
    bool first = true;
    for (const std::size_t place : a_.deciding) {
      const UncertainSplit& split = a_.splits[place];
      const UncertainKey& key = study_.plan.keys[split.key];
      s << (first ? "" : " and on ") << said_key(study_.plan.base.scenario, key.path) << " (";
      below(s, key, split);
      s << ": ";
      often(s, {key.path, "at_most", split.below.end}, split.below);
      s << "; ";
      above(s, key, split);
      s << ": ";
      often(s, {key.path, "at_least", split.above.end}, split.above);
      s << ")";
      first = false;
    }
  }

  ToldSentence first() const {
    ToldSentence s;
    if (a_.judged == 0) {
      s.say("None of the draws", 1, formula("==", judged_source(), number_source(0)))
          << " ran long enough to tell whether it recovers.";
      return s;
    }
    s << (a_.question == UncertainQuestion::kRecovers ? "Recovers" : "Keeps up") << " in ";
    if (a_.hits == a_.judged || a_.hits == 0) {
      s.part(a_.hits, good_source(), a_.judged, judged_source(), "draw")
          << " from the intervals: in ";
      range(s);
      s << " of what they allow.";
      return s;
    }
    s.say(rounded_percent(*a_.share()), *a_.share(), formula("/", good_source(), judged_source()))
        << " of what the intervals allow (";
    range(s);
    s << ")" << (a_.deciding.empty() ? "; no key decides that by itself" : "; it depends on ");
    what_decides(s);
    s << ".";
    return s;
  }

  const UncertainStudy& study_;
  const UncertainAnswer& a_;
};

Json told_json(const std::vector<ToldSentence>& told) {
  Json all = Json::array();
  for (const ToldSentence& s : told) {
    all.push_back({{"sentence", s.text}, {"figures", s.figures}});
  }
  return all;
}

}  // namespace

std::vector<std::string> uncertain_sentences(const UncertainStudy& study) {
  std::vector<std::string> sentences;
  for (ToldSentence& s : Teller(study).all()) sentences.push_back(std::move(s.text));
  return sentences;
}

namespace {

// --- Keys ----------------------------------------------------------------------------------------

struct UncertainRow {
  const UncertainStudy& study;
  std::size_t number;

  const UncertainKey& key() const { return study.plan.keys[number]; }
  std::string words() const { return said_key(study.plan.base.scenario, key().path); }
  const UncertainSplit* split() const {
    return study.answer.splits.empty() ? nullptr : &study.answer.splits[number];
  }
  bool is_split() const { return split() != nullptr && split()->above.of > 0; }
};

std::vector<UncertainRow> uncertain_rows(const UncertainStudy& study) {
  std::vector<UncertainRow> rows;
  for (std::size_t k = 0; k < study.plan.keys.size(); ++k) rows.push_back({study, k});
  return rows;
}

std::string_view what_it_does(const UncertainStudy& study) {
  return outcome_words(study.answer.question, true);
}

std::string decides_words(const UncertainRow& row) {
  if (!row.is_split()) return "";
  const UncertainSplit& s = *row.split();
  if (!s.decides) return "";
  return fmt::format("{}: {}; {}: {}", below_words(row.key(), s), n_of(s.below.good, s.below.of),
                     above_words(row.key(), s), n_of(s.above.good, s.above.of));
}

CellTable keys_table(const UncertainStudy& study) {
  Columns<UncertainRow> t;
  t.text({"uncertain", Side::kLeft}, [](auto& r) { return r.key().path; });
  t.text({"own"}, [](auto& r) { return value_words(r.key(), r.key().value); });
  t.text({"low"}, [](auto& r) { return value_words(r.key(), r.key().low); });
  t.text({"high"}, [](auto& r) { return value_words(r.key(), r.key().high); });
  t.text({fmt::format("{} in", what_it_does(study)), Side::kLeft},
         [](auto& r) { return decides_words(r); });
  return {t, uncertain_rows(study)};
}

Json uncertain_keys_json(const UncertainStudy& study) {
  Json keys = Json::array();
  for (const UncertainRow& row : uncertain_rows(study)) {
    const UncertainKey& key = row.key();
    Json one = {
        {"path", key.path},      {"words", row.words()},      {"unit", key.is_duration ? "s" : "1"},
        {"whole", key.is_whole}, {"value", key.value},        {"low", key.low},
        {"high", key.high},      {"certainty", key.certainty}};
    if (row.is_split()) {
      const UncertainSplit& s = *row.split();
      const auto side = [](const UncertainSide& of) {
        return Json{{"end", of.end}, {"good", of.good}, {"of", of.of}};
      };
      one["split"] = {{"at", middle_of(s)},
                      {"below", side(s.below)},
                      {"above", side(s.above)},
                      {"p", s.p},
                      {"decides", s.decides}};
    }
    keys.push_back(std::move(one));
  }
  return keys;
}

// --- Figures -------------------------------------------------------------------------------------

constexpr std::string_view kFiguresOfDraws[] = {
    "success_rate",   "amplification",     "recovery_s", "latency_ok_p50",
    "latency_ok_p99", "peak_attempt_rate", "goodput"};

std::vector<const MetricInfo*> figures_of_draws() {
  std::vector<const MetricInfo*> result;
  for (const std::string_view name : kFiguresOfDraws) {
    if (const MetricInfo* metric = find_metric(name)) result.push_back(metric);
  }
  return result;
}

/// Values of all clients together, in order.
std::vector<double> sorted_values(const MetricValues& values, const MetricInfo& metric) {
  std::vector<double> all;
  for (std::size_t r = 0; r < values.runs(); ++r) {
    if (const auto v = values.at(r, values.clients() - 1, index_of(metric))) all.push_back(*v);
  }
  std::ranges::sort(all);
  return all;
}

/// The quantile at `share` of sorted values; empty if there are none.
std::optional<double> quantile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::nullopt;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

struct FigureRow {
  const MetricInfo* metric;
  std::optional<double> own, low, median, high;
  std::size_t draws;  ///< number of draws that have the figure
};

std::vector<FigureRow> draw_figures(const UncertainStudy& study) {
  constexpr double kLow = 0.05, kHigh = 0.95;
  std::vector<FigureRow> rows;
  for (const MetricInfo* metric : figures_of_draws()) {
    const std::vector<double> drawn = sorted_values(study.drawn, *metric);
    if (drawn.empty()) continue;
    rows.push_back({metric, quantile_of(sorted_values(study.own, *metric), 0.5),
                    quantile_of(drawn, kLow), quantile_of(drawn, 0.5), quantile_of(drawn, kHigh),
                    drawn.size()});
  }
  return rows;
}

std::string figure_words(const MetricInfo& metric, const std::optional<double>& value) {
  if (!value) return "-";
  if (shown_as_percentage(metric)) return percent(*value);
  const DisplayUnit unit = display_unit(*value, metric.unit);
  return format_plain(*value * unit.scale) + std::string(unit.name);
}

CellTable figures_table(const UncertainStudy& study) {
  Columns<FigureRow> t;
  t.text({"of all clients", Side::kLeft}, [](auto& r) { return std::string(r.metric->label()); });
  t.text({"own values"}, [](auto& r) { return figure_words(*r.metric, r.own); });
  t.text({"5 % of draws\nbelow"}, [](auto& r) { return figure_words(*r.metric, r.low); });
  t.text({"median"}, [](auto& r) { return figure_words(*r.metric, r.median); });
  t.text({"5 % of draws\nabove"}, [](auto& r) { return figure_words(*r.metric, r.high); });
  return {t, draw_figures(study)};
}

Json figures_json(const UncertainStudy& study) {
  Json all = Json::array();
  for (const FigureRow& row : draw_figures(study)) {
    all.push_back({{"metric", row.metric->name},
                   {"unit", row.metric->unit},
                   {"own_median", optional_json(row.own)},
                   {"p5", optional_json(row.low)},
                   {"median", optional_json(row.median)},
                   {"p95", optional_json(row.high)},
                   {"draws", row.draws}});
  }
  return all;
}

// --- Draws ---------------------------------------------------------------------------------------

struct DrawRow {
  const UncertainStudy& study;
  std::size_t number;

  std::string outcome() const {
    return std::string(outcome_words(study.answer.question, study.answer.good[number]));
  }
};

CellTable draws_table(const UncertainStudy& study) {
  std::vector<DrawRow> rows;
  for (std::size_t i = 0; i < study.plan.draws.size(); ++i) rows.push_back({study, i});
  Columns<DrawRow> t;
  t.csv("replication", [](auto& r) { return r.number; }).unit("1");
  for (std::size_t k = 0; k < study.plan.keys.size(); ++k) {
    const UncertainKey& key = study.plan.keys[k];
    // The path stays one column, even with an answer's name in quotes.
    t.csv(key.path, [k](auto& r) {
       return r.study.plan.draws[r.number][k];
     }).unit(key.is_duration ? "s" : "1");
  }
  t.csv("outcome", [](auto& r) { return r.outcome(); });
  for (const MetricInfo* metric : figures_of_draws()) {
    t.csv(metric->name, [metric](auto& r) {
       return r.study.drawn.at(r.number, r.study.drawn.clients() - 1, index_of(*metric));
     }).unit(metric->unit);
  }
  return {t, rows};
}

std::vector<TableSource> uncertain_tables(const UncertainStudy& study) {
  return {source_of("uncertain", draws_table(study))};
}

}  // namespace

Document uncertain_document(const UncertainStudy& study) {
  const LoadedScenario& base = study.plan.base;
  const UncertainAnswer& a = study.answer;
  const std::size_t draws = study.plan.draws.size();
  Document d;
  d.title(heading_of(base),
          fmt::format("{} of {}, one run each, seed {}", scenario::said_things(draws, "draw"),
                      scenario::said_things(study.plan.keys.size(), "uncertain key"),
                      base.scenario.seed));
  const std::vector<std::string> sentences = uncertain_sentences(study);
  d.gap().answer_first(sentences);
  d.gap().show(shown(keys_table(study)));
  d.gap().show(shown(figures_table(study)));
  d.head("run", heading_of(base), base.scenario, draws);
  Json deciding = Json::array();
  for (const std::size_t place : a.deciding) {
    deciding.push_back(study.plan.keys[a.splits[place].key].path);
  }
  d.member("uncertain",
           {{"question", a.question == UncertainQuestion::kRecovers ? "recovers" : "keeps_up"},
            {"share", optional_json(a.share())},
            {"low", a.low},
            {"high", a.high},
            {"good", a.hits},
            {"judged", a.judged},
            {"ill_before", a.ill_before},
            {"own_good", study.own_hits},
            {"own_judged", study.own_judged},
            {"deciding", std::move(deciding)},
            {"keys", uncertain_keys_json(study)},
            {"figures", figures_json(study)}});
  d.member("sentences", sentences);
  d.member("told", told_json(Teller(study).all()));
  d.scenario_members(base);
  d.tables(uncertain_tables(study));
  d.scenario_file(base);
  return d;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const UncertainStudy& study) { return Tables(report::uncertain_tables(study)); }

}  // namespace retrysim
