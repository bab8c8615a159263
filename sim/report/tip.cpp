// SPDX-License-Identifier: MIT
#include "report/tip.hpp"

#include <retrysim/scenario.hpp>

#include "report/document/json.hpp"
#include "report/sweep.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

/// D50 with its interval in ascending order.
Ranged d50_of(const TipResult& found) {
  const TippingPoint& point = found.point;
  if (!point.d50) return {};
  const bool upwards = found.search.last >= found.search.first;
  return {point.d50->middle(), upwards ? point.ci_first : point.ci_last,
          upwards ? point.ci_last : point.ci_first};
}

/// D50 with its bracket; null if there is none.
Json d50_json(const TipResult& found) {
  const TippingPoint& point = found.point;
  if (!point.d50) return {};
  const Ranged d50 = d50_of(found);
  return {{"value", *d50.value},
          {"bracket", {point.d50->low, point.d50->high}},
          {"ci_low", optional_json(d50.low)},
          {"ci_high", optional_json(d50.high)},
          {"rank", point.rank},
          {"coverage", point.coverage}};
}

Json trigger_json(const Trigger& trigger, const TippingSearch& search) {
  return {{"path", trigger.path},
          {"unit", trigger.unit},
          {"first", search.first},
          {"last", search.last},
          {"tolerance", search.tolerance}};
}

/// A probe of a search, or a threshold of a replication in it, of one or several searches.
template <class T>
struct RowOf {
  const TipPoint& search;
  const T& of;
  std::size_t number = 0;
};

using Probe = RowOf<TippingProbe>;

/// The first columns of tip.csv and thresholds.csv; if there are several searches, with the
/// variant.
template <class Row>
Columns<Row> first_columns(const TipPlan& plan) {
  Columns<Row> t;
  t.csv("scenario", always(plan.base.scenario.name));
  if (!plan.variations.empty()) t.csv("variant", [](auto& row) { return row.search.name; });
  t.csv("trigger", always(plan.trigger.path));
  return t;
}

/// A row for each probe: how many replications do not recover, and how many of these would without
/// retries.
Columns<Probe> probe_columns(const TipPlan& plan) {
  const std::string& unit = plan.trigger.unit;
  auto t = first_columns<Probe>(plan);
  t.files("value", {unit == "1" ? "value" : "value (" + unit + ")", Side::kRight, 12}, [](auto& p) {
     return p.of.value;
   }).unit(unit);
  t.csv("unit", always(unit));
  t.files("replications", [](auto& p) { return p.of.judged(); });
  t.files("tipped", {"do not recover"}, [](auto& p) {
     return Shown{p.of.tipped(),
                  p.of.judged() == 0 ? "too short" : n_of(p.of.tipped(), p.of.judged())};
   }).unit("replications");
  t.json("censored", [](auto& p) { return p.of.count(TippingResponse::kUnknown); });
  t.files("probability ci_low ci_high", [](auto& p) {
     return share(p.of.tipped(), p.of.judged());
   }).unit("1");
  t.files("metastable", {"metastable"}, [](auto& p) {
     return p.of.metastable;
   }).unit("replications");
  t.files("twin_recovered", [](auto& p) { return p.of.twin_recovered; }).unit("replications");
  t.csv("censored", [](auto& p) {
     return p.of.count(TippingResponse::kUnknown);
   }).unit("replications");
  t.files("metastable_probability metastable_ci_low metastable_ci_high",
          {"P(metastable), 95 % interval", Side::kLeft},
          [](auto& p) {
            const Ranged part = share(p.of.metastable, p.of.judged());
            return Shown{part, share_text(part, 13)};
          })
      .unit("1");
  return t;
}

/// The probes or thresholds of all searches.
template <auto Member>
auto all_of(std::span<const TipPoint> points) {
  using T = typename std::decay_t<decltype(points.front().found.point.*Member)>::value_type;
  std::vector<RowOf<T>> rows;
  for (const TipPoint& p : points) {
    std::size_t number = 0;
    for (const T& value : p.found.point.*Member) rows.push_back({p, value, number++});
  }
  return rows;
}

CellTable probes_of(const TipPlan& plan, std::span<const TipPoint> points) {
  return {probe_columns(plan), all_of<&TippingPoint::probes>(points)};
}

/// A row for each replication: the values between which it tips. An empty cell is beyond the tried
/// values.
CellTable thresholds_of(const TipPlan& plan, std::span<const TipPoint> points) {
  using Threshold = RowOf<TippingThreshold>;
  auto t = first_columns<Threshold>(plan);
  t.csv("replication", [](auto& row) { return row.number; });
  t.csv("unit", always(plan.trigger.unit));
  t.csv("recovers_at", [](auto& row) { return row.of.low; }).unit(plan.trigger.unit);
  t.csv("tips_at", [](auto& row) { return row.of.high; }).unit(plan.trigger.unit);
  t.csv("monotone", [](auto& row) { return row.of.monotone; });
  return {t, all_of<&TippingPoint::thresholds>(points)};
}

/// A search with its plan.
struct TipReport {
  const Trigger& trigger;
  const TipResult& found;
};

std::string valued(double value, std::string_view unit, int digits = 5) {
  return scenario::said_number(value, digits) + (unit == "1"     ? ""
                                                 : unit == "1/s" ? " /s"
                                                                 : fmt::format(" {}", unit));
}

std::string with_unit(const TipReport& r, double value) { return valued(value, r.trigger.unit, 6); }

/// A value as --trigger takes it.
std::string as_written(const TipReport& r, double value) {
  return scenario::to_copy(value, 6) + (r.trigger.unit == "s" ? "s" : "");
}

std::string interval_text(const TipReport& r) {
  const TippingPoint& point = r.found.point;
  if (point.rank == 0) return " (no interval: it takes at least six replications)";
  const auto end = [&](const std::optional<double>& value, double outermost, bool not_judged) {
    if (value) return with_unit(r, *value);
    return not_judged ? "an end that could not be determined" : "beyond " + with_unit(r, outermost);
  };
  std::string first = end(point.ci_first, r.found.search.first, point.first_end_not_judged());
  std::string last = end(point.ci_last, r.found.search.last, point.last_end_not_judged());
  if (r.found.search.last < r.found.search.first) std::swap(first, last);
  return fmt::format(", 95 % interval {} to {}", first, last);
}

/// Whether half of the replications may tip, counting those that could not be judged.
bool half_may_tip(const TippingProbe& p) {
  return 2 * (p.tipped() + p.count(TippingResponse::kUnknown)) >= p.responses.size();
}

/// A sentence on the median of the thresholds; for whole numbers, with the first one at which half
/// of the replications do not recover.
std::string d50_text(const TipReport& r) {
  const TippingBracket& d50 = *r.found.point.d50;
  const std::string interval = interval_text(r);
  if (r.found.search.whole_numbers) {
    const auto first =
        std::find_if(r.found.point.probes.begin(), r.found.point.probes.end(), half_may_tip);
    const TippingProbe& before = *std::prev(first);
    const bool neighbours = std::fabs(first->value - before.value) == 1;
    if (neighbours && 2 * first->tipped() >= first->responses.size()) {
      // Whole numbers have nothing between neighbours that an interval could tell.
      return fmt::format(
          "D50 is between {} and {}{}: {} is the first value at which half of the replications do "
          "not recover.",
          with_unit(r, std::min(d50.low, d50.high)), with_unit(r, std::max(d50.low, d50.high)),
          r.found.point.interval_is_bracket() ? "" : interval, with_unit(r, first->value));
    }
  }
  if (const TippingPoint& point = r.found.point; point.interval_is_bracket()) {
    const auto [low, high] = std::minmax(*point.ci_first, *point.ci_last);
    return fmt::format(
        "D50 is between {} and {}, where the search stopped: half of the replications do not "
        "recover. Only a finer --tolerance can give an interval.",
        with_unit(r, low), with_unit(r, high));
  }
  return fmt::format("D50 = {}{}: half of the replications do not recover.",
                     with_unit(r, d50.middle()), interval);
}

/// A number of replications in words, "3 of 20 replications recover", and how many more could not
/// be judged. `does` is the verb for one of them.
std::string replications_text(const TippingProbe& p, std::size_t count, std::string_view does,
                              std::string_view do_it) {
  const std::size_t unknown = p.count(TippingResponse::kUnknown);
  return fmt::format("{}{} {}", scenario::said_part(count, p.judged(), "replication"),
                     unknown == 0 ? "" : fmt::format(" ({} more could not be judged)", unknown),
                     count == 1 ? does : do_it);
}

std::string tipped_text(const TippingProbe& p) {
  return replications_text(p, p.tipped(), "does not recover", "do not recover");
}

/// A sentence on what kept the search from an answer.
std::string not_judged_text(const TipReport& r) {
  const std::vector<TippingProbe>& probes = r.found.point.probes;
  const auto unclear = std::find_if(probes.begin(), probes.end(), half_may_tip);
  std::string text = fmt::format(
      "Cannot tell whether there is a tipping point in this range: at {}, {} {} too short to judge",
      with_unit(r, unclear->value),
      scenario::said_part(unclear->count(TippingResponse::kUnknown), unclear->responses.size(),
                          "replication"),
      unclear->count(TippingResponse::kUnknown) == 1 ? "was" : "were");
  if (unclear != probes.begin()) {
    text += fmt::format("; up to {}, more than half of them recover",
                        with_unit(r, std::prev(unclear)->value));
  }
  return text + ".";
}

/// A sentence on a search at whose last value at least half of the replications recover: whether
/// they do at all values that were tried. Where LO and HI are swapped, the first may be too short.
std::string recovers_at_last_text(const TipReport& r) {
  const std::vector<TippingProbe>& probes = r.found.point.probes;
  const TippingProbe& last = probes.back();
  const std::string recover =
      replications_text(last, last.judged() - last.tipped(), "recovers", "recover");
  const auto share_of_tipped = [](const TippingProbe& p) {
    return p.judged() > 0 ? static_cast<double>(p.tipped()) / static_cast<double>(p.judged()) : 0;
  };
  const auto worst = std::ranges::max_element(probes, {}, share_of_tipped);
  if (share_of_tipped(*worst) >= 0.5 && worst->value != last.value) {
    return fmt::format(
        "No single tipping point in this range: at {}, {}, but at {}, the last "
        "value, {}.",
        with_unit(r, worst->value), tipped_text(*worst), with_unit(r, last.value), recover);
  }
  const auto is_unclear = [](const TippingProbe& p) {
    return half_may_tip(p) && p.count(TippingResponse::kUnknown) > 0;
  };
  if (std::ranges::any_of(probes, is_unclear)) return not_judged_text(r);
  return fmt::format("No tipping point in this range: even at {}, the last value, {}.{}",
                     with_unit(r, last.value), recover,
                     probes.size() == 2 ? " Values between the ends were not tried." : "");
}

std::string answer_of(const TipReport& r) {
  const TippingPoint& point = r.found.point;
  const TippingProbe& first = point.probes.front();
  const TippingProbe& last = point.probes.back();
  switch (point.outcome) {
    case TippingOutcome::kFound:
      return d50_text(r);
    case TippingOutcome::kTipsAtFirst:
      return fmt::format("No tipping point in this range: already at {}, the first value, {}.",
                         with_unit(r, first.value), tipped_text(first));
    case TippingOutcome::kRecoversAtLast:
      return recovers_at_last_text(r);
    case TippingOutcome::kEndsExchanged:
      return fmt::format("LO and HI seem to be swapped: {} at {}, but only {} at {}; try {}={}:{}.",
                         tipped_text(first), with_unit(r, first.value),
                         scenario::said_part(last.tipped(), last.judged(), "replication"),
                         with_unit(r, last.value), r.trigger.path, as_written(r, last.value),
                         as_written(r, first.value));
    case TippingOutcome::kNotJudged:
      break;
  }
  return not_judged_text(r);
}

/// A sentence on the twins, without retries, of the replications that tip nearest to the answer;
/// empty if none tips.
std::string twins_text(const TipReport& r) {
  const TippingProbe& p = r.found.point.probes[r.found.point.nearest_probe()];
  if (p.tipped() == 0) return "";
  const bool all = p.metastable == p.tipped();
  if (p.tipped() == 1) {
    return fmt::format("The one that does not recover at {} would {}without retries{}.",
                       with_unit(r, p.value),
                       p.twin_recovered > 0 ? "recover " : "not recover even ",
                       all ? ": a metastable failure" : "");
  }
  return fmt::format(
      "Of the {} that do not recover at {}, {} would recover without retries{}.", p.tipped(),
      with_unit(r, p.value), p.twin_recovered,
      all ? ": metastable failures"
          : fmt::format("; {} {} metastable", p.metastable, p.metastable == 1 ? "is" : "are"));
}

std::string not_monotone_text(std::size_t count, std::size_t all) {
  return fmt::format("{} {}: {} at one trigger but {} from a greater one",
                     scenario::said_part(count, all, "replication"),
                     count == 1 ? "is not monotone" : "are not monotone",
                     count == 1 ? "it fails" : "they fail", count == 1 ? "recovers" : "recover");
}

std::vector<std::string> caveats(const TipReport& r) {
  std::vector<std::string> notes = r.found.notes;
  const std::size_t n = r.found.point.not_monotone();
  if (n > 0 && r.found.point.outcome != TippingOutcome::kEndsExchanged) {
    notes.push_back(not_monotone_text(n, r.found.point.thresholds.size()) +
                    (n == 1 ? ". It has no threshold, so the interval does not cover it"
                            : ". They have no threshold, so the interval does not cover them"));
  }
  return notes;
}

}  // namespace

namespace {

/// The heading of a search: the trigger and the keys of --vary are no changes of the scenario.
Heading heading_of_search(const TipPlan& plan) {
  std::vector<std::string> varied = plan.paths();
  varied.push_back(plan.trigger.path);
  return heading_of(plan.base, varied);
}

}  // namespace

Document tip_document(const TipPlan& plan, const TipPoint& point) {
  const TipReport r{plan.trigger, point.found};
  const TippingPoint& found = point.found.point;
  const Scenario& scenario = plan.base.scenario;
  const std::size_t runs = found.thresholds.size();
  std::vector<std::string> sentences = {answer_of(r)};
  if (const std::string twins = twins_text(r); !twins.empty()) sentences.push_back(twins);
  const CellTable probes = probes_of(plan, {&point, 1});
  TextTable table = shown(probes);
  table.indent = 2;
  table.rows[found.nearest_probe()].mark = '*';

  Document d;
  const Heading heading = heading_of_search(plan);
  d.title(heading, fmt::format("{} from {} to {}, {} replication{} at each value, seed {}",
                               plan.trigger.path, with_unit(r, point.found.search.first),
                               with_unit(r, point.found.search.last), runs, runs == 1 ? "" : "s",
                               scenario.seed));
  d.gap();
  d.answer_first(sentences);
  d.gap().show(std::move(table)).notes(caveats(r));

  d.head("tip", heading, scenario, runs)
      .member("trigger", trigger_json(plan.trigger, point.found.search));
  d.member("search", {{"id", fmt::format("{:016x}", plan.id)}});
  d.member("outcome", name(found.outcome)).member("d50", d50_json(point.found));
  d.member("not_monotone", found.not_monotone()).member("probes", rows_json(probes));
  d.member("sentences", sentences).member("notes", caveats(r)).scenario_members(plan.base);

  return d.tables(tip_tables(plan, {&point, 1})).scenario_file(plan.base);
}

namespace {

/// The number, or the duration in seconds, that a text is; empty if it is neither.
std::optional<double> place_along(const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  const auto duration = scenario::parse_duration(value);
  return duration ? std::optional(duration->duration.in_seconds()) : std::nullopt;
}

/// The unit of a key's values in files, as the table of keys has it; "1" for words as well.
std::string unit_of_key(const std::string& path) {
  const scenario::KeyInfo* key = scenario::find_key(path);
  if (key == nullptr) return "1";
  if (key->rules.kind == scenario::ValueKind::kDuration) return "s";
  return key->rules.unit.empty() ? "1" : std::string(key->rules.unit);
}

}  // namespace

TipCurve::TipCurve(const TipPlan& plan) {
  const std::optional<std::size_t> along = plan.axis();
  if (!along) {
    CurveLine& line = lines.emplace_back();
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
      line.points.push_back({i, std::nullopt, plan.cases[i].name});
    }
    return;
  }
  std::vector<Variation> others = plan.variations;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*along));
  axis = plan.variations[*along].paths.front();
  unit = unit_of_key(axis);
  for (Variant& variant : grid(others)) {
    lines.push_back({others.empty() ? "" : std::move(variant.name), {}});
  }
  // The last variation changes fastest, in the cases as in the lines.
  std::size_t column = 0, faster = 1;
  for (std::size_t i = 0; i < *along; ++i) column += plan.variations[i].paths.size();
  for (std::size_t i = *along + 1; i < plan.variations.size(); ++i) {
    faster *= plan.variations[i].choices.size();
  }
  const std::size_t choices = plan.variations[*along].choices.size();
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const std::size_t line = i / (faster * choices) * faster + i % faster;
    const std::string& value = plan.cases[i].keys[column];
    lines[line].points.push_back({i, place_along(value), value});
  }
  for (CurveLine& line : lines) {
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  }
}

namespace {

/// A name with its unit for the head of a table: "total_rate (1/s)".
std::string headed(const std::string& name, const std::string& unit) {
  return unit == "1" ? name : fmt::format("{} ({})", name, unit);
}

/// The points of a line by the outcomes of their searches.
struct Fates {
  std::vector<const CurvePoint*> found, never, always, exchanged, not_judged;
};

/// A point of the curve, and its place there.
struct CurveRow {
  const TipPoint* point = nullptr;
  const CurvePoint* at = nullptr;
  std::size_t line = 0;

  const TippingPoint& found() const { return point->found.point; }
  const TippingProbe& nearest() const { return found().probes[found().nearest_probe()]; }
};

/// Sentences and tables on a curve.
class CurveReport {
 public:
  CurveReport(const TipPlan& plan, std::span<const TipPoint> points)
      : plan_(plan), points_(points), curve_(plan) {}

  const TipCurve& curve() const { return curve_; }

  std::string title() const {
    const std::size_t runs = points_.front().found.point.thresholds.size();
    return fmt::format(
        "tipping point of {} between {} and {}{}, {} replication{} at each value, seed {}",
        plan_.trigger.path, triggered(plan_.search.first), triggered(plan_.search.last),
        curve_.axis.empty() ? "" : " against " + curve_.axis, runs, runs == 1 ? "" : "s",
        plan_.base.scenario.seed);
  }

  /// The sentences, one for each line of the curve.
  std::vector<std::string> sentences() const {
    std::vector<std::string> texts;
    for (const CurveLine& line : curve_.lines) texts.push_back(sentence(line));
    return texts;
  }

  /// The notes of all points, each once, with the points where it holds unless it holds everywhere.
  std::vector<std::string> notes() const {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_note;
    for (const TipPoint& point : points_) {
      std::vector<std::string> own = point.found.notes;
      const std::size_t odd = point.found.point.not_monotone();
      if (odd > 0 && point.found.point.outcome != TippingOutcome::kEndsExchanged) {
        own.push_back(not_monotone_text(odd, point.found.point.thresholds.size()));
      }
      for (const std::string& note : own) {
        auto known = std::find_if(by_note.begin(), by_note.end(),
                                  [&](const auto& entry) { return entry.first == note; });
        if (known == by_note.end()) known = by_note.insert(by_note.end(), {note, {}});
        known->second.push_back(point.name);
      }
    }
    std::vector<std::string> texts;
    for (const auto& [note, names] : by_note) {
      texts.push_back(names.size() == points_.size()
                          ? note
                          : fmt::format("{}: {}", fmt::join(names, ", "), note));
    }
    return texts;
  }

  /// A row for each point, in the order of the cases.
  CellTable points() const {
    std::vector<CurveRow> rows(points_.size());
    for (std::size_t line = 0; line < curve_.lines.size(); ++line) {
      for (const CurvePoint& at : curve_.lines[line].points) {
        rows[at.number] = {&points_[at.number], &at, line};
      }
    }
    return {columns(), rows};
  }

 private:
  /// The values of a varied key.
  std::vector<std::string> values_of(std::size_t key) const {
    std::vector<std::string> values;
    for (const TipPoint& p : points_) values.push_back(p.keys[key]);
    return values;
  }
  /// One of the two sizes between which the tipping point lies.
  static std::optional<double> end_of(const CurveRow& row, double TippingBracket::*end) {
    const std::optional<TippingBracket>& d50 = row.found().d50;
    return d50 ? std::optional((*d50).*end) : std::nullopt;
  }

  Columns<CurveRow> columns() const {
    using Row = CurveRow;
    const std::vector<std::string> paths = plan_.paths();
    Columns<Row> t;
    t.csv("scenario", always(plan_.base.scenario.name));
    t.files("variant", [](auto& r) { return r.point->name; });
    for (std::size_t i = 0; i < paths.size(); ++i) {
      t.csv_key(key_column(paths[i], values_of(i)),
                [i](auto& r) { return key_cell(r.point->keys[i]); });
    }
    t.json("keys", [&](auto& r) { return keys(r); });
    t.json("line", [](auto& r) { return r.line; });
    t.json("x", [](auto& r) { return r.at->x; });
    t.csv("trigger", always(plan_.trigger.path));
    t.csv("unit", always(plan_.trigger.unit));
    t.text(
        {curve_.axis.empty() ? "point" : headed(last_part(curve_.axis), curve_.unit), Side::kRight},
        [](auto& r) { return r.at->x ? scenario::said_number(*r.at->x, 5) : r.at->label; });
    t.files("replications", [](auto& r) { return r.found().thresholds.size(); });
    t.files("outcome", [](auto& r) { return name(r.found().outcome); });
    t.json("d50", [](auto& r) { return d50_json(r.point->found); });
    t.csv("d50 ci_low ci_high", {headed("D50", plan_.trigger.unit)}, [](auto& r) {
       const Ranged d50 = d50_of(r.point->found);
       return Shown{d50, d50.value ? scenario::said_number(*d50.value, 5) : "-"};
     }).unit(plan_.trigger.unit);
    t.csv("bracket_low", [](auto& r) {
       return end_of(r, &TippingBracket::low);
     }).unit(plan_.trigger.unit);
    t.csv("bracket_high", [](auto& r) {
       return end_of(r, &TippingBracket::high);
     }).unit(plan_.trigger.unit);
    t.text({"95 % interval", Side::kLeft}, [&](auto& r) { return interval(r); });
    t.files("not_monotone", [](auto& r) { return r.found().not_monotone(); }).unit("replications");
    t.csv("nearest_value", [](auto& r) { return r.nearest().value; }).unit(plan_.trigger.unit);
    t.csv("tipped", [](auto& r) { return r.nearest().tipped(); }).unit("replications");
    t.csv("metastable", [](auto& r) { return r.nearest().metastable; }).unit("replications");
    t.text({"metastable", Side::kLeft}, [](auto& r) {
      const bool tips = r.found().d50 && r.nearest().tipped() > 0;
      return tips ? n_of(r.nearest().metastable, r.nearest().tipped()) : "";
    });
    t.json("nearest", [](auto& r) {
      return Json{{"value", r.nearest().value},
                  {"replications", r.nearest().judged()},
                  {"tipped", r.nearest().tipped()},
                  {"metastable", r.nearest().metastable}};
    });
    return t;
  }

  const TipResult& found_at(const CurvePoint& p) const { return points_[p.number].found; }
  std::string triggered(double value) const { return valued(value, plan_.trigger.unit); }

  /// A point's place in words: "250 /s", or what the user called the point.
  std::string place(const CurvePoint& p) const { return p.x ? valued(*p.x, curve_.unit) : p.label; }

  std::string places(const std::vector<const CurvePoint*>& points, const CurveLine& line) const {
    if (points.size() == line.points.size() && points.size() > 1) return "every point";
    const auto step = [&](const CurvePoint* p) { return p - line.points.data(); };
    const bool together = step(points.back()) - step(points.front()) ==
                          static_cast<std::ptrdiff_t>(points.size()) - 1;
    if (points.size() > 2 && together && points.front()->x) {
      return place(*points.front()) + " to " + place(*points.back());
    }
    std::string text;
    for (const CurvePoint* p : points) text += (text.empty() ? "" : ", ") + place(*p);
    return text;
  }

  Fates fates_of(const CurveLine& line) const {
    Fates fates;
    for (const CurvePoint& p : line.points) {
      switch (found_at(p).point.outcome) {
        case TippingOutcome::kFound:
          fates.found.push_back(&p);
          break;
        case TippingOutcome::kRecoversAtLast:
          fates.never.push_back(&p);
          break;
        case TippingOutcome::kTipsAtFirst:
          fates.always.push_back(&p);
          break;
        case TippingOutcome::kEndsExchanged:
          fates.exchanged.push_back(&p);
          break;
        case TippingOutcome::kNotJudged:
          fates.not_judged.push_back(&p);
          break;
      }
    }
    return fates;
  }

  double d50_at(const CurvePoint& p) const { return found_at(p).point.d50->middle(); }

  /// The course of a line in words: "D50 falls from 1.35 s at 250 /s to 1.06 s at 400 /s".
  std::string course(const std::vector<const CurvePoint*>& found) const {
    const auto at = [&](const CurvePoint& p) {
      return fmt::format("{} at {}", triggered(d50_at(p)), place(p));
    };
    if (found.size() == 1) return "D50 is " + at(*found.front());
    const auto less = [&](const CurvePoint* a, const CurvePoint* b) {
      return d50_at(*a) < d50_at(*b);
    };
    const auto more = [&](const CurvePoint* a, const CurvePoint* b) { return less(b, a); };
    const bool rises = std::is_sorted(found.begin(), found.end(), less);
    const bool falls = std::is_sorted(found.begin(), found.end(), more);
    if (curve_.axis.empty() || rises == falls) {
      const auto [low, high] = std::minmax_element(found.begin(), found.end(), less);
      return fmt::format("D50 is between {} and {}", at(**low), at(**high));
    }
    return fmt::format("D50 {} from {} to {}", rises ? "rises" : "falls", at(*found.front()),
                       at(*found.back()));
  }

  std::string sentence(const CurveLine& line) const {
    const TippingSearch& search = plan_.search;
    const Fates fates = fates_of(line);
    std::vector<std::string> parts;
    if (!fates.found.empty()) parts.push_back(course(fates.found));
    const auto add = [&](const std::vector<const CurvePoint*>& points, std::string_view what) {
      if (!points.empty()) parts.push_back(fmt::format("{} at {}", what, places(points, line)));
    };
    add(fates.never,
        fmt::format("no tipping point up to {} (most recover)", triggered(search.last)));
    add(fates.always,
        fmt::format("already tips at {} (half or more do not recover)", triggered(search.first)));
    add(fates.not_judged, "runs too short to judge");
    add(fates.exchanged, "LO and HI seem to be swapped");
    std::string text = line.name.empty() ? "" : line.name + ": ";
    text += fmt::format("{}.", fmt::join(parts, "; "));
    if (line.name.empty()) text[0] = text[0] == 'D' ? 'D' : upper(text[0]);
    return text;
  }

  static char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

  /// The interval of D50, or the reason why there is no D50.
  std::string interval(const CurveRow& row) const {
    const TippingPoint& point = row.found();
    if (!point.d50) return reason(row.point->found);
    if (point.rank == 0) return "-";
    const auto end = [](const std::optional<double>& value, std::string_view otherwise) {
      return value ? scenario::said_number(*value, 5) : std::string(otherwise);
    };
    std::string low = end(point.ci_first, point.first_end_not_judged() ? "?" : "below LO");
    std::string high = end(point.ci_last, point.last_end_not_judged() ? "?" : "beyond HI");
    const TippingSearch& search = row.point->found.search;
    if (search.last < search.first) std::swap(low, high);
    return low + " to " + high + (point.interval_is_bracket() ? " (bracket)" : "");
  }

  /// The reason why there is no D50.
  std::string reason(const TipResult& found) const {
    const TippingProbe& first = found.point.probes.front();
    const TippingProbe& last = found.point.probes.back();
    switch (found.point.outcome) {
      case TippingOutcome::kRecoversAtLast:
        return fmt::format("never tips: {} of {} recover at {}", last.judged() - last.tipped(),
                           last.judged(), triggered(last.value));
      case TippingOutcome::kTipsAtFirst:
        return fmt::format("always tips: {} of {} do not recover at {}", first.tipped(),
                           first.judged(), triggered(first.value));
      case TippingOutcome::kEndsExchanged:
        return "LO and HI seem to be swapped";
      case TippingOutcome::kNotJudged:
      case TippingOutcome::kFound:
        break;
    }
    return "runs too short to judge";
  }

  Json keys(const CurveRow& row) const {
    Json json = Json::object();
    for (std::size_t i = 0; i < row.point->keys.size(); ++i) {
      json[plan_.paths()[i]] = key_cell(row.point->keys[i]);
    }
    return json;
  }

  const TipPlan& plan_;
  std::span<const TipPoint> points_;
  TipCurve curve_;
};

}  // namespace

Document curve_document(const TipPlan& plan, std::span<const TipPoint> points) {
  const CurveReport report(plan, points);
  const TipCurve& curve = report.curve();
  const CellTable table = report.points();
  Document d;
  const Heading heading = heading_of_search(plan);
  d.title(heading, report.title()).gap();
  d.answer_first(report.sentences());
  for (const CurveLine& line : curve.lines) {
    std::vector<std::size_t> order;
    for (const CurvePoint& p : line.points) order.push_back(p.number);
    TextTable of_line = shown(table, order);
    of_line.indent = 2;
    d.gap().say(line.name).show(std::move(of_line));
  }
  d.notes(report.notes());

  const auto found = std::count_if(points.begin(), points.end(),
                                   [](const TipPoint& p) { return p.found.point.d50.has_value(); });
  Json json;
  json["vary"] = Json::array();
  for (const Variation& variation : plan.variations) json["vary"].push_back(variation.text);
  json["keys"] = plan.paths();
  json["axis"] = curve.axis.empty() ? Json() : Json(curve.axis);
  json["axis_unit"] = curve.unit;
  json["lines"] = Json::array();
  for (const CurveLine& line : curve.lines) json["lines"].push_back(line.name);
  json["found"] = static_cast<std::size_t>(found);
  json["sentences"] = report.sentences();
  json["points"] = rows_json(table);
  d.head("tip", heading, plan.base.scenario,
         static_cast<std::size_t>(plan.base.scenario.replications));
  d.member("trigger", trigger_json(plan.trigger, plan.search));
  d.member("search", {{"id", fmt::format("{:016x}", plan.id)}}).member("curve", std::move(json));
  d.member("notes", report.notes()).scenario_members(plan.base);

  return d.tables(tip_tables(plan, points)).scenario_file(plan.base);
}

std::vector<TableSource> tip_tables(const TipPlan& plan, std::span<const TipPoint> points) {
  std::vector<TableSource> tables;
  if (!plan.variations.empty()) {
    tables.push_back(source_of("curve", CurveReport(plan, points).points()));
  }
  tables.push_back(source_of("tip", probes_of(plan, points)));
  tables.push_back(source_of("thresholds", thresholds_of(plan, points)));
  return tables;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const TipPlan& plan, const std::vector<TipPoint>& points) {
  return Tables(report::tip_tables(plan, points));
}

}  // namespace retrysim
