// SPDX-License-Identifier: MIT
#include "report/uncertain.hpp"

#include "report/comparison.hpp"
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

// --- Words ----------------------------------------------------------------------------

/// The share of good draws as a metric.
std::string_view name_of_question(UncertainQuestion question) {
  return question == UncertainQuestion::kRecovers ? "recovers" : "keeps_up";
}

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

/// Sources of what is counted among draws: those of a variant, or of the only scenario.
struct DrawSources {
  std::string_view variant;  ///< empty: there are none

  /// Draws with this outcome; all of them, if it is empty.
  Json count(std::string_view outcome = {}) const {
    Json source = of_column("outcome", "count");
    if (!outcome.empty()) source["is"] = outcome;
    return source;
  }
  Json of_column(std::string_view column, std::string_view over) const {
    Json source = {{"file", "uncertain.csv"}, {"column", column}, {"over", over}};
    if (!variant.empty()) source["variant"] = variant;
    return source;
  }
};

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
  Json end_source(const DrawSources& draws) const {
    return within(draws.of_column(path, limit == "at_most" ? "max" : "min"));
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
  /// `variant`: of a comparison; empty: the study stands alone.
  explicit Teller(const UncertainStudy& study, std::string_view variant = {})
      : study_(study), a_(study.answer), draws_{variant} {}

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
      s.part(a_.ill_before, unknown(kIllBefore), a_.good.size(), draws_.count(), "draw")
          << " fewer requests succeed even before anything goes wrong; they count as not "
             "recovered.";
    }
    if (const std::size_t unjudged = a_.good.size() - a_.judged; unjudged > 0 && a_.judged > 0) {
      ToldSentence& s = told.emplace_back();
      s.part(unjudged, draws_.count(words({})), a_.good.size(), draws_.count(), "draw")
          << " ran too short to tell.";
    }
    return told;
  }

  /// "it recovers in 83 % of what the intervals allow (75 % to 89 %)" without its beginning.
  void say_share(ToldSentence& s) const {
    s.say(rounded_percent(*a_.share()), *a_.share(), formula("/", good_source(), judged_source()));
  }
  void say_range(ToldSentence& s) const {
    s << " (";
    range(s);
    s << ")";
  }
  /// "the number of servers (9 or fewer: 15 %; 10 or more: 94 %)"; nothing if no key decides.
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

 private:
  static Json unknown(std::string_view why) { return {{"not_in_files", why}}; }
  std::string_view words(std::optional<bool> good) const {
    return outcome_words(a_.question, good);
  }
  std::string_view does() const { return words(true); }
  Json good_source() const { return draws_.count(words(true)); }
  Json judged_source() const { return formula("+", good_source(), draws_.count(words(false))); }

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
  void below(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split) const {
    bound(s, key, split, "below ", " or fewer", split.below.end, true);
  }
  void above(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split) const {
    bound(s, key, split, "above ", " or more", split.above.end, false);
  }
  void bound(ToldSentence& s, const UncertainKey& key, const UncertainSplit& split,
             std::string_view before, std::string_view behind, double end, bool is_below) const {
    const Json low = SideOf{key.path, "at_most", split.below.end}.end_source(draws_);
    const Json high = SideOf{key.path, "at_least", split.above.end}.end_source(draws_);
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
        formula("/", good, formula("+", good, side.within(draws_.count(words(false)))));
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
    say_share(s);
    s << " of what the intervals allow";
    say_range(s);
    s << (a_.deciding.empty() ? "; no key decides that by itself" : "; it depends on ");
    what_decides(s);
    s << ".";
    return s;
  }

  const UncertainStudy& study_;
  const UncertainAnswer& a_;
  DrawSources draws_;
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
  std::string_view variant = {};

  std::string outcome() const {
    return std::string(outcome_words(study.answer.question, study.answer.good[number]));
  }
  /// Nothing where a variant leaves the key certain.
  std::optional<double> value(std::string_view path) const {
    const auto key = std::ranges::find(study.plan.keys, path, &UncertainKey::path);
    if (key == study.plan.keys.end()) return std::nullopt;
    const auto place = static_cast<std::size_t>(key - study.plan.keys.begin());
    return study.plan.draws[number][place];
  }
};

void add_rows_of_draws(std::vector<DrawRow>& rows, const UncertainStudy& study,
                       std::string_view variant = {}) {
  for (std::size_t i = 0; i < study.plan.draws.size(); ++i) rows.push_back({study, i, variant});
}

/// The columns behind the number of the draw.
void add_draw_columns(Columns<DrawRow>& t, const std::vector<UncertainKey>& keys) {
  t.csv("replication", [](auto& r) { return r.number; }).unit("1");
  for (const UncertainKey& key : keys) {
    // A path with an answer's name in quotes stays one column.
    t.csv(key.path, [path = key.path](auto& r) {
       return r.value(path);
     }).unit(key.is_duration ? "s" : "1");
  }
  t.csv("outcome", [](auto& r) { return r.outcome(); });
  for (const MetricInfo* metric : figures_of_draws()) {
    t.csv(metric->name, [metric](auto& r) {
       return r.study.drawn.at(r.number, r.study.drawn.clients() - 1, index_of(*metric));
     }).unit(metric->unit);
  }
}

CellTable draws_table(const UncertainStudy& study) {
  std::vector<DrawRow> rows;
  add_rows_of_draws(rows, study);
  Columns<DrawRow> t;
  add_draw_columns(t, study.plan.keys);
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
  d.member("uncertain", {{"question", name_of_question(a.question)},
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

// --- Variants ------------------------------------------------------------------------------------

namespace {

/// What is said of variants over the same draws.
class VariantsTeller {
 public:
  explicit VariantsTeller(const UncertainComparison& c) : c_(c) {
    for (std::size_t v = 0; v < c.names.size(); ++v) {
      tellers_.emplace_back(c.studies[v], c.names[v]);
    }
  }

  std::vector<ToldSentence> all() const {
    constexpr std::size_t kMost = 5;  // variants with sentences of their own
    std::vector<ToldSentence> told = {first()};
    for (std::size_t v = 1; v < std::min(c_.names.size(), kMost + 1); ++v) {
      if (answer(v).share() && answer(0).share()) told.push_back(against_baseline(v));
    }
    for (std::size_t v = 0; v < std::min(c_.names.size(), kMost); ++v) {
      if (answer(v).deciding.empty()) continue;
      ToldSentence& s = told.emplace_back();
      s << "With " << name(v) << " it depends on ";
      tellers_[v].what_decides(s);
      s << ".";
    }
    told.push_back(standard());
    return told;
  }

 private:
  const UncertainAnswer& answer(std::size_t v) const { return c_.studies[v].answer; }
  std::string name(std::size_t v) const { return c_.names[v]; }
  std::string_view does() const { return outcome_words(c_.question, true); }
  const PairedDifference& against(std::size_t v) const { return c_.goods[v - 1]; }
  static double share_of(const UncertainAnswer& a) { return a.share().value_or(-1); }

  /// The variant with the largest share of those that differ significantly in that direction.
  std::optional<std::size_t> extreme(int direction) const {
    std::optional<std::size_t> found;
    for (std::size_t v = 1; v < c_.names.size(); ++v) {
      const PairedDifference& d = against(v);
      if (!d.significant || d.difference * direction <= 0) continue;
      if (!found || share_of(answer(v)) > share_of(answer(*found))) found = v;
    }
    return found;
  }

  /// "with jitter=full in 83 % (75 % to 89 %)"
  void share_with(ToldSentence& s, std::size_t v) const {
    s << "with " << name(v) << (v == 0 ? ", the baseline, in " : " in ");
    if (!answer(v).share()) {
      s << "none that ran long enough to tell";
      return;
    }
    tellers_[v].say_share(s);
    tellers_[v].say_range(s);
  }

  ToldSentence first() const {
    ToldSentence s;
    const auto better = extreme(1), worse = extreme(-1);
    if (better) {
      s << "Of what the intervals allow it " << does() << " ";
      share_with(s, *better);
      s << ", ";
      share_with(s, 0);
    } else if (worse) {
      s << "No variant is better than the baseline, as far as can be told: of what the intervals "
           "allow it "
        << does() << " ";
      share_with(s, 0);
      s << ", ";
      share_with(s, *worse);
    } else {
      s << "No difference can be told from chance: of what the intervals allow it " << does()
        << " ";
      share_with(s, 0);
      constexpr std::size_t kMost = 3;
      for (std::size_t v = 1; v < std::min(c_.names.size(), kMost); ++v) {
        s << ", ";
        share_with(s, v);
      }
    }
    s << ".";
    return s;
  }

  Json draws_in_which(std::size_t good, std::size_t bad) const {
    return {{"file", "uncertain.csv"},
            {"column", "outcome"},
            {"over", "count"},
            {"variant", name(good)},
            {"is", outcome_words(c_.question, true)},
            {"while", {{"variant", name(bad)}, {"is", outcome_words(c_.question, false)}}}};
  }

  ToldSentence against_baseline(std::size_t v) const {
    ToldSentence s;
    const std::size_t it = c_.only_it[v - 1], other = c_.only_baseline[v - 1];
    s << "Only with " << name(v) << " it " << does() << " in ";
    const std::size_t all = answer(v).good.size();
    s.part(it, draws_in_which(v, 0), all, DrawSources{name(v)}.count(), "draw")
        << ", only with " << name(0) << " in ";
    s.say(fmt::format("{}", other), static_cast<double>(other), draws_in_which(0, v));
    if (it + other == 0) {
      s << "; no draw tells them apart.";
      return s;
    }
    s << (against(v).significant ? "; the difference is significant" : "; that may be chance");
    if (const auto p = against(v).p_holm) {
      constexpr double kLeast = 0.001;
      const Json source = {{"file", "compare.csv"},
                           {"column", "p_holm"},
                           {"over", "mean"},
                           {"variant", name(v)},
                           {"metric", name_of_question(c_.question)}};
      s << " (p ";
      if (*p < kLeast) {
        s.say("below 0.001", 1, formula("<=", source, number_source(kLeast)));
      } else {
        s << "= ";
        s.say(scenario::said_number(*p, 2), *p, source);
      }
      s << ")";
    }
    s << ".";
    return s;
  }

  ToldSentence standard() const {
    ToldSentence s;
    const double share = c_.studies.front().plan.base.scenario.recovery.share;
    const auto at_least = [&](std::string_view rest) {
      s.say(rounded_percent(share), share, {{"key", "recovery.share"}}) << rest;
    };
    if (c_.question == UncertainQuestion::kRecovers) {
      s << "A draw counts as recovered only if before anything goes wrong at least ";
      at_least(" as many requests succeed as with the own values of the best variant.");
    } else {
      s << "Nothing goes wrong in this scenario: a draw keeps up where the success rate is at "
           "least ";
      at_least(" of that with the own values of the best variant.");
    }
    return s;
  }

  const UncertainComparison& c_;
  std::vector<Teller> tellers_;
};

struct VariantRow {
  const UncertainComparison& c;
  std::size_t number;

  bool is_baseline() const { return number == 0; }
  const std::string& name() const { return c.names[number]; }
  const UncertainAnswer& answer() const { return c.studies[number].answer; }
  const PairedDifference* difference() const {
    return is_baseline() ? nullptr : &c.goods[number - 1];
  }
  Ranged share() const { return {answer().share(), answer().low, answer().high}; }
};

std::vector<VariantRow> variant_rows(const UncertainComparison& c) {
  std::vector<VariantRow> rows;
  for (std::size_t v = 0; v < c.names.size(); ++v) rows.push_back({c, v});
  return rows;
}

CellTable variants_table(const UncertainComparison& c) {
  using Row = VariantRow;
  const std::string does(outcome_words(c.question, true));
  Columns<Row> t;
  t.text({"variant", Side::kLeft},
         [](auto& r) { return r.name() + (r.is_baseline() ? " (baseline)" : ""); });
  t.text({does + " in"}, [](auto& r) { return n_of(r.answer().hits, r.answer().judged); });
  t.text({"share"}, [](auto& r) { return share_text(r.share()); });
  t.text({"only\nwith it"}, [](auto& r) {
    return r.is_baseline() ? "" : fmt::format("{}", r.c.only_it[r.number - 1]);
  });
  t.text({"only with\nbaseline"}, [](auto& r) {
    return r.is_baseline() ? "" : fmt::format("{}", r.c.only_baseline[r.number - 1]);
  });
  t.text({"difference\nin points"}, [](auto& r) {
    const PairedDifference* d = r.difference();
    if (d == nullptr) return std::string();
    if (d->pairs == 0) return std::string("no pairs");
    constexpr double kInPoints = 100;
    std::string text = fmt::format("{:+.0f}", kInPoints * d->difference);
    if (d->interval) {
      text += fmt::format(" ({:+.0f}..{:+.0f})", kInPoints * d->interval->low,
                          kInPoints * d->interval->high);
    }
    return text + (d->significant ? " *" : "  ");
  });
  t.files("variant", [](auto& r) { return r.name(); });
  t.files("good", [](auto& r) { return r.answer().hits; });
  t.files("judged", [](auto& r) { return r.answer().judged; });
  t.files("share ci_low ci_high", [](auto& r) { return r.share(); });
  t.files("only_it", [](auto& r) {
    return r.is_baseline() ? std::optional<std::size_t>() : r.c.only_it[r.number - 1];
  });
  t.files("only_baseline", [](auto& r) {
    return r.is_baseline() ? std::optional<std::size_t>() : r.c.only_baseline[r.number - 1];
  });
  t.files("ill_before", [](auto& r) { return r.answer().ill_before; });
  t.files("own_good", [](auto& r) { return r.c.studies[r.number].own_hits; });
  t.files("own_judged", [](auto& r) { return r.c.studies[r.number].own_judged; });
  t.json("keys", [](auto& r) { return uncertain_keys_json(r.c.studies[r.number]); });
  t.json("figures", [](auto& r) { return figures_json(r.c.studies[r.number]); });
  return {t, variant_rows(c)};
}

/// The shares of good draws as rows of the metric that the question is, before the metrics.
struct DifferenceRow {
  const UncertainComparison& c;
  std::size_t variant;
  const MetricInfo* metric;  ///< null: the share of good draws
  const PairedDifference* d;

  std::string name() const {
    return std::string(metric != nullptr ? metric->name : name_of_question(c.question));
  }
  std::string unit() const { return metric == nullptr ? "1" : std::string(metric->unit); }
  std::optional<double> of_pairs(double value) const {
    return d->pairs > 0 ? std::optional(value) : std::nullopt;
  }
  Ranged difference() const {
    if (!d->interval) return {of_pairs(d->difference), {}, {}};
    return {of_pairs(d->difference), d->interval->low, d->interval->high};
  }
};

std::vector<DifferenceRow> difference_rows(const UncertainComparison& c) {
  std::vector<DifferenceRow> rows;
  for (std::size_t v = 1; v < c.names.size(); ++v) {
    rows.push_back({c, v, nullptr, &c.goods[v - 1]});
    for (const ComparisonRow& row : c.rows) {
      if (row.variant == v) rows.push_back({c, v, row.metric, &row.difference});
    }
  }
  return rows;
}

/// compare.csv, with the columns of a comparison of runs.
CellTable draw_differences_table(const UncertainComparison& c) {
  Columns<DifferenceRow> t;
  t.csv("scenario", [](auto& r) { return r.c.studies[r.variant].plan.base.scenario.name; });
  t.files("variant", [](auto& r) { return r.c.names[r.variant]; });
  t.csv("baseline", [](auto& r) { return r.c.names.front(); });
  t.files("client", [](auto&) { return std::string("all"); });
  t.files("metric", [](auto& r) { return r.name(); });
  t.files("unit", [](auto& r) { return r.unit(); });
  t.files("mean", [](auto& r) { return r.of_pairs(r.d->mean); });
  t.files("baseline_mean", [](auto& r) { return r.of_pairs(r.d->baseline_mean); });
  t.files("difference ci_low ci_high", [](auto& r) { return r.difference(); });
  t.files("p_value", [](auto& r) { return r.d->p_value; }).unit("1");
  t.files("p_holm", [](auto& r) { return r.d->p_holm; }).unit("1");
  t.csv("significant", [](auto& r) {
    return std::string(!r.d->p_holm ? "" : r.d->significant ? "yes" : "no");
  });
  t.json("significant", [](auto& r) { return r.d->p_holm ? Cell(r.d->significant) : Cell(); });
  t.files("pairs", [](auto& r) { return r.d->pairs; }).unit("replications");
  return {t, difference_rows(c)};
}

/// Each metric as a row: the mean over the draws with the baseline, and how others differ.
CellTable metrics_table(const UncertainComparison& c) {
  Columns<const MetricInfo*> t;
  t.text({"mean over draws", Side::kLeft}, [](auto& m) { return std::string(m->label()); });
  t.text({c.names.front() + "\n(baseline)"}, [&c](auto& m) {
    const auto row = std::ranges::find(c.rows, m, &ComparisonRow::metric);
    const PairedDifference& d = row->difference;
    return d.pairs == 0 ? std::string("-") : figure_words(*m, d.baseline_mean);
  });
  for (std::size_t v = 1; v < c.names.size(); ++v) {
    t.text({c.names[v]}, [&c, v](auto& m) {
      const auto row = std::ranges::find_if(
          c.rows, [&](const ComparisonRow& r) { return r.variant == v && r.metric == m; });
      const std::size_t draws = c.studies[v].plan.draws.size();
      return difference_cell(row == c.rows.end() ? nullptr : &*row, draws);
    });
  }
  std::vector<const MetricInfo*> metrics;
  for (const MetricInfo* m : c.metrics) {
    if (std::ranges::find(c.rows, m, &ComparisonRow::metric) != c.rows.end()) metrics.push_back(m);
  }
  return {t, metrics};
}

/// The uncertain keys of all variants, each once.
std::vector<UncertainKey> keys_of_all(const UncertainComparison& c) {
  std::vector<UncertainKey> keys;
  for (const UncertainStudy& study : c.studies) {
    for (const UncertainKey& key : study.plan.keys) {
      if (std::ranges::find(keys, key.path, &UncertainKey::path) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

std::vector<TableSource> variants_tables(const UncertainComparison& c) {
  std::vector<DrawRow> rows;
  for (std::size_t v = 0; v < c.names.size(); ++v) {
    add_rows_of_draws(rows, c.studies[v], c.names[v]);
  }
  Columns<DrawRow> t;
  t.csv("variant", [](auto& r) { return std::string(r.variant); });
  add_draw_columns(t, keys_of_all(c));
  return {source_of("compare", draw_differences_table(c)), source_of("variants", variants_table(c)),
          source_of("uncertain", CellTable{t, rows})};
}

}  // namespace

Document uncertain_comparison_document(const UncertainComparison& c) {
  const LoadedScenario& base = c.studies.front().plan.base;
  const std::size_t draws = c.studies.front().plan.draws.size();
  const std::size_t keys = keys_of_all(c).size();
  std::vector<const LoadedScenario*> variants_loaded;
  for (const UncertainStudy& study : c.studies) variants_loaded.push_back(&study.plan.base);
  const Heading heading = heading_of(variants_loaded);
  Document d;
  d.title(heading, fmt::format("{} of {} on {}, one run each, seed {}",
                               scenario::said_things(c.names.size(), "variant"),
                               scenario::said_things(keys, "uncertain key"),
                               scenario::said_things(draws, "common draw"), base.scenario.seed));
  const std::vector<ToldSentence> told = VariantsTeller(c).all();
  std::vector<std::string> sentences;
  for (const ToldSentence& s : told) sentences.push_back(s.text);
  d.gap().answer_first(sentences);
  const CellTable variants = variants_table(c), differences = draw_differences_table(c);
  d.gap().show(shown(variants));
  TextTable metrics = shown(metrics_table(c));
  metrics.fixed = 2;
  d.gap().show(std::move(metrics));
  d.say("* significant (p <= 0.05 by Holm's test over the variants); intervals: 95 %, jointly.");
  d.head("compare", heading, base.scenario, draws);
  d.member("uncertain_variants", {{"question", name_of_question(c.question)},
                                  {"baseline", c.names.front()},
                                  {"variants", rows_json(variants)},
                                  {"rows", rows_json(differences)}});
  d.member("sentences", sentences);
  d.member("told", told_json(told));
  d.scenario_members(base);
  d.tables(variants_tables(c));
  for (const UncertainStudy& study : c.studies) d.scenario_file(study.plan.base);
  return d;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const UncertainStudy& study) { return Tables(report::uncertain_tables(study)); }

Tables tables(const UncertainComparison& comparison) {
  return Tables(report::variants_tables(comparison));
}

}  // namespace retrysim
