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

// --- Words for keys and values -------------------------------------------------------------------

/// The name in a path such as "service.NAME.servers"; empty if there is only one of its kind.
std::string_view whose(const Scenario& scenario, std::string_view path) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view kind = path.substr(0, dot);
  const bool alone = (kind == "service" && scenario.services.size() < 2) ||
                     (kind == "client" && scenario.clients.size() < 2) ||
                     (kind == "fault" && scenario.faults.size() < 2);
  if (alone || dot == path.size()) return {};
  path.remove_prefix(dot + 1);
  return path.substr(0, path.find('.'));
}

/// "the number of servers"; a key without words is called by its path.
std::string words_of_key(const Scenario& scenario, const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view last = std::string_view(path).substr(dot + 1);
  std::string words = key_words(path);
  if (words == path && last == "mean") words = key_words(path.substr(0, dot));
  if (words == path && last == "factor") {
    words = key_words(path.substr(0, dot));
    if (words == path.substr(0, dot)) words = path;
  }
  if (words == path || words + ".mean" == path) return path;
  constexpr std::string_view kCounted[] = {"servers", "instances", "clients"};
  const bool counted = std::ranges::find(kCounted, words) != std::end(kCounted);
  const std::string_view name = whose(scenario, path);
  return fmt::format("the {}{}{}", counted ? "number of " : "", words,
                     name.empty() ? "" : fmt::format(" of {}", name));
}

std::string value_words(const UncertainKey& key, double value, int digits = 4) {
  const DisplayUnit unit = display_unit(value, key.is_duration ? "s" : "1");
  return format_plain(value * unit.scale, digits) + std::string(unit.name);
}

/// Between the sides of a split.
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

std::string often(const UncertainSide& side) {
  if (side.good == 0) return "never";
  if (side.good == side.of) return "always";
  const double share = static_cast<double>(side.good) / static_cast<double>(side.of);
  constexpr double kRoundedAway = 0.005;
  if (share < kRoundedAway) return "hardly ever";
  if (share > 1 - kRoundedAway) return "nearly always";
  return rounded_percent(share);
}

// --- Sentences -----------------------------------------------------------------------------------

std::string_view what_it_does(const UncertainStudy& study) {
  return study.answer.question == UncertainQuestion::kRecovers ? "recovers" : "keeps up";
}

std::string what_decides(const UncertainStudy& study) {
  std::string text;
  for (const std::size_t place : study.answer.deciding) {
    const UncertainSplit& split = study.answer.splits[place];
    const UncertainKey& key = study.plan.keys[split.key];
    text += fmt::format("{}{} ({}: {}; {}: {})", text.empty() ? "" : " and on ",
                        words_of_key(study.plan.base.scenario, key.path), below_words(key, split),
                        often(split.below), above_words(key, split), often(split.above));
  }
  return text;
}

std::string first_sentence(const UncertainStudy& study) {
  const UncertainAnswer& a = study.answer;
  const std::string_view does_so =
      a.question == UncertainQuestion::kRecovers ? "Recovers" : "Keeps up";
  if (a.judged == 0) return "None of the draws ran long enough to tell whether it recovers.";
  const std::string range =
      fmt::format("{} to {}", rounded_percent(a.low), rounded_percent(a.high));
  if (a.hits == a.judged || a.hits == 0) {
    return fmt::format("{} in {} from the intervals: in {} of what they allow.", does_so,
                       scenario::said_part(a.hits, a.judged, "draw"), range);
  }
  const std::string decides = what_decides(study);
  return fmt::format(
      "{} in {} of what the intervals allow ({}){}.", does_so, rounded_percent(*a.share()), range,
      decides.empty() ? "; no key decides that by itself" : "; it depends on " + decides);
}

}  // namespace

std::vector<std::string> uncertain_sentences(const UncertainStudy& study) {
  const UncertainAnswer& a = study.answer;
  std::vector<std::string> sentences = {first_sentence(study)};
  if (study.own_judged > 0) {
    sentences.push_back(fmt::format("With the scenario's own values it {} in {}.",
                                    what_it_does(study),
                                    scenario::said_part(study.own_hits, study.own_judged, "run")));
  }
  if (a.question == UncertainQuestion::kKeepsUp) {
    sentences.push_back(fmt::format(
        "Nothing goes wrong in this scenario: it keeps up where the success rate is at least "
        "{} of that with its own values.",
        rounded_percent(study.plan.base.scenario.recovery.share)));
  }
  if (a.ill_before > 0) {
    sentences.push_back(fmt::format(
        "In {} fewer requests succeed even before anything goes wrong; they count as not "
        "recovered.",
        scenario::said_part(a.ill_before, a.good.size(), "draw")));
  }
  if (const std::size_t unknown = a.good.size() - a.judged; unknown > 0 && a.judged > 0) {
    sentences.push_back(fmt::format("{} ran too short to tell.",
                                    scenario::said_part(unknown, a.good.size(), "draw")));
  }
  return sentences;
}

namespace {

// --- Keys ----------------------------------------------------------------------------------------

struct UncertainRow {
  const UncertainStudy& study;
  std::size_t number;

  const UncertainKey& key() const { return study.plan.keys[number]; }
  std::string words() const { return words_of_key(study.plan.base.scenario, key().path); }
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

/// The value that a share of them is at most; nothing of nothing.
std::optional<double> quantile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::nullopt;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

struct FigureRow {
  const MetricInfo* metric;
  std::optional<double> own, low, median, high;
  std::size_t draws;  ///< that have it
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
    const auto good = study.answer.good[number];
    if (!good) return "not known";
    if (study.answer.question == UncertainQuestion::kRecovers) {
      return *good ? "recovers" : "does not recover";
    }
    return *good ? "keeps up" : "does not keep up";
  }
};

CellTable draws_table(const UncertainStudy& study) {
  std::vector<DrawRow> rows;
  for (std::size_t i = 0; i < study.plan.draws.size(); ++i) rows.push_back({study, i});
  Columns<DrawRow> t;
  t.csv("replication", [](auto& r) { return r.number; }).unit("1");
  for (std::size_t k = 0; k < study.plan.keys.size(); ++k) {
    const UncertainKey& key = study.plan.keys[k];
    // A path with an answer's name in quotes stays one column.
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
  d.scenario_members(base);
  d.tables(uncertain_tables(study));
  d.scenario_file(base);
  return d;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const UncertainStudy& study) { return Tables(report::uncertain_tables(study)); }

}  // namespace retrysim
