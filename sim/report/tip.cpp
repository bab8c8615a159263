// SPDX-License-Identifier: MIT
#include "report/tip.hpp"

#include <retrysim/scenario_file.hpp>

#include "estimate/intervals.hpp"
#include "report/document/csv_writer.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"
#include "report/sweep.hpp"
#include "scenario/keys/keys.hpp"
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

/// A share of the replications that could be judged, with Wilson's interval.
struct Share {
  double value, low, high;
};

/// Empty if none could be judged.
std::optional<Share> share_of_judged(const TippingProbe& p, std::size_t count) {
  if (p.judged() == 0) return std::nullopt;
  const stats::ProportionInterval interval = stats::wilson_interval(count, p.judged());
  return Share{static_cast<double>(count) / static_cast<double>(p.judged()), interval.low,
               interval.high};
}

}  // namespace

Json d50_json(const TipResult& found) {
  const TippingPoint& point = found.point;
  if (!point.d50) return {};
  const bool upwards = found.search.last >= found.search.first;
  Json d50;
  d50["value"] = point.d50->middle();
  d50["bracket"] = {point.d50->low, point.d50->high};
  d50["ci_low"] = optional_json(upwards ? point.ci_first : point.ci_last);
  d50["ci_high"] = optional_json(upwards ? point.ci_last : point.ci_first);
  d50["rank"] = point.rank;
  d50["coverage"] = point.coverage;
  return d50;
}

Json trigger_json(const Trigger& trigger, const TippingSearch& search) {
  return {{"path", trigger.path},
          {"unit", trigger.unit},
          {"first", search.first},
          {"last", search.last},
          {"tolerance", search.tolerance}};
}

namespace {

Json probe_json(const TippingProbe& p) {
  Json json;
  json["value"] = p.value;
  json["replications"] = p.judged();
  json["tipped"] = p.tipped();
  json["censored"] = p.count(TippingResponse::kUnknown);
  const auto add_share = [&](const std::string& prefix, std::size_t count) {
    const auto share = share_of_judged(p, count);
    json[prefix + "probability"] = share ? Json(share->value) : Json();
    json[prefix + "ci_low"] = share ? Json(share->low) : Json();
    json[prefix + "ci_high"] = share ? Json(share->high) : Json();
  };
  add_share("", p.tipped());
  json["metastable"] = p.metastable;
  json["twin_recovered"] = p.twin_recovered;
  add_share("metastable_", p.metastable);
  return json;
}

// --- Text ----------------------------------------------------------------------------------------

std::string with_unit(const TipReport& r, double value) {
  return fmt::format("{:.6g}{}", value,
                     r.trigger.unit == "1"     ? ""
                     : r.trigger.unit == "1/s" ? " /s"
                                               : " " + r.trigger.unit);
}

/// As --trigger takes it.
std::string as_written(const TipReport& r, double value) {
  return fmt::format("{:.6g}{}", value, r.trigger.unit == "s" ? "s" : "");
}

void append_probes(std::string& out, const TipReport& r) {
  const std::string title = r.trigger.unit == "1" ? "value" : "value (" + r.trigger.unit + ")";
  out += fmt::format("  {:>12}  {:>14}  {:>10}  P(metastable), 95 % interval\n", title,
                     "do not recover", "metastable");
  const std::size_t nearest = r.found.point.nearest_probe();
  for (std::size_t i = 0; i < r.found.point.probes.size(); ++i) {
    const TippingProbe& p = r.found.point.probes[i];
    out += fmt::format("{} {:>12}  {:>14}  {:>10}", i == nearest ? "*" : " ",
                       fmt::format("{:.6g}", p.value),
                       fmt::format("{} of {}", p.tipped(), p.judged()), p.metastable);
    if (const auto share = share_of_judged(p, p.metastable)) {
      out += fmt::format("  {:>13} ({} to {})", percent(share->value), percent(share->low),
                         percent(share->high));
    }
    out += "\n";
  }
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

/// Counting those that could not be judged.
bool half_may_tip(const TippingProbe& p) {
  return 2 * (p.tipped() + p.count(TippingResponse::kUnknown)) >= p.responses.size();
}

/// The median of the thresholds, and of whole numbers the first one at which half do not recover.
std::string d50_text(const TipReport& r) {
  const TippingBracket& d50 = *r.found.point.d50;
  const std::string interval = interval_text(r);
  if (r.found.search.whole_numbers) {
    const auto first =
        std::find_if(r.found.point.probes.begin(), r.found.point.probes.end(), half_may_tip);
    const TippingProbe& before = *std::prev(first);
    const bool neighbours = std::fabs(first->value - before.value) == 1;
    if (neighbours && 2 * first->tipped() >= first->responses.size()) {
      return fmt::format(
          "D50 is between {} and {}{}: {} is the first value at which half of the replications do "
          "not recover.",
          with_unit(r, std::min(d50.low, d50.high)), with_unit(r, std::max(d50.low, d50.high)),
          interval, with_unit(r, first->value));
    }
  }
  return fmt::format("D50 = {}{}: half of the replications do not recover.",
                     with_unit(r, d50.middle()), interval);
}

/// "3 of 20 replications", and how many more could not be judged.
std::string replications_text(const TippingProbe& p, std::size_t count) {
  const std::size_t unknown = p.count(TippingResponse::kUnknown);
  return fmt::format("{} of {} replications{}", count, p.judged(),
                     unknown == 0 ? "" : fmt::format(" ({} more could not be judged)", unknown));
}

std::string tipped_text(const TippingProbe& p) { return replications_text(p, p.tipped()); }

/// What kept the search from an answer.
std::string not_judged_text(const TipReport& r) {
  const std::vector<TippingProbe>& probes = r.found.point.probes;
  const auto unclear = std::find_if(probes.begin(), probes.end(), half_may_tip);
  std::string text = fmt::format(
      "Cannot tell whether there is a tipping point in this range: at {}, {} of {} replications "
      "were too short to judge",
      with_unit(r, unclear->value), unclear->count(TippingResponse::kUnknown),
      unclear->responses.size());
  if (unclear != probes.begin()) {
    text += fmt::format("; up to {}, more than half of them recover",
                        with_unit(r, std::prev(unclear)->value));
  }
  return text + ".";
}

std::string answer_of(const TipReport& r) {
  const TippingPoint& point = r.found.point;
  const TippingProbe& first = point.probes.front();
  const TippingProbe& last = point.probes.back();
  switch (point.outcome) {
    case TippingOutcome::kFound:
      return d50_text(r);
    case TippingOutcome::kTipsAtFirst:
      return fmt::format(
          "No tipping point in this range: already at {}, the first value, {} do not recover.",
          with_unit(r, first.value), tipped_text(first));
    case TippingOutcome::kRecoversAtLast:
      return fmt::format("No tipping point in this range: even at {}, the last value, {} recover.",
                         with_unit(r, last.value),
                         replications_text(last, last.judged() - last.tipped()));
    case TippingOutcome::kEndsExchanged:
      return fmt::format(
          "LO and HI seem to be swapped: {} do not recover at {}, but only {} at {}; try {}={}:{}.",
          tipped_text(first), with_unit(r, first.value), tipped_text(last),
          with_unit(r, last.value), r.trigger.path, as_written(r, last.value),
          as_written(r, first.value));
    case TippingOutcome::kNotJudged:
      break;
  }
  return not_judged_text(r);
}

/// What the twins without retries say of the replications that tip nearest to the answer; nothing
/// if none does.
std::string twins_text(const TipReport& r) {
  const TippingProbe& p = r.found.point.probes[r.found.point.nearest_probe()];
  if (p.tipped() == 0) return "";
  const bool all = p.metastable == p.tipped();
  return fmt::format(
      "Of the {} that do not recover at {}, {} would recover without retries{}.", p.tipped(),
      with_unit(r, p.value), p.twin_recovered,
      all ? ": metastable failures" : fmt::format("; {} are metastable", p.metastable));
}

void write_head(CsvWriter& csv, const TipHead& head) {
  csv.text(head.scenario);
  if (head.variant) csv.text(*head.variant);
  csv.text(head.trigger.path);
}

std::vector<std::string> caveats(const TipReport& r) {
  std::vector<std::string> notes = r.found.notes;
  const std::size_t n = r.found.point.not_monotone();
  if (n > 0 && r.found.point.outcome != TippingOutcome::kEndsExchanged) {
    notes.push_back(fmt::format(
        "{} of {} replications are not monotone: they recover from a greater trigger than one that "
        "they do not recover from. They have no threshold, so the interval does not cover them",
        n, r.found.point.thresholds.size()));
  }
  return notes;
}

}  // namespace

void write_probes_header(CsvWriter& csv, bool with_variant) {
  csv.text("scenario");
  if (with_variant) csv.text("variant");
  csv.header({"trigger", "value", "unit", "replications", "tipped", "probability", "ci_low",
              "ci_high", "metastable", "twin_recovered", "censored", "metastable_probability",
              "metastable_ci_low", "metastable_ci_high"});
}

void write_probe_rows(CsvWriter& csv, const TipHead& head, const TipResult& found) {
  const auto share = [&](const std::optional<Share>& s) {
    if (s) {
      csv.real(s->value).real(s->low).real(s->high);
    } else {
      csv.empty().empty().empty();
    }
  };
  for (const TippingProbe& p : found.point.probes) {
    write_head(csv, head);
    csv.real(p.value).text(head.trigger.unit);
    csv.integer(p.judged()).integer(p.tipped());
    share(share_of_judged(p, p.tipped()));
    csv.integer(p.metastable).integer(p.twin_recovered);
    csv.integer(p.count(TippingResponse::kUnknown));
    share(share_of_judged(p, p.metastable));
    csv.end_row();
  }
}

void write_thresholds_header(CsvWriter& csv, bool with_variant) {
  csv.text("scenario");
  if (with_variant) csv.text("variant");
  csv.header({"trigger", "replication", "unit", "recovers_at", "tips_at", "monotone"});
}

void write_threshold_rows(CsvWriter& csv, const TipHead& head, const TipResult& found) {
  for (std::size_t i = 0; i < found.point.thresholds.size(); ++i) {
    const TippingThreshold& t = found.point.thresholds[i];
    write_head(csv, head);
    csv.integer(i).text(head.trigger.unit);
    csv.real(t.low).real(t.high).text(t.monotone ? "true" : "false").end_row();
  }
}

void write_tip_csv(Sink& sink, const TipReport& r) {
  CsvWriter csv(sink);
  write_probes_header(csv, false);
  write_probe_rows(csv, {r.scenario.scenario.name, {}, r.trigger}, r.found);
}

void write_thresholds_csv(Sink& sink, const TipReport& r) {
  CsvWriter csv(sink);
  write_thresholds_header(csv, false);
  write_threshold_rows(csv, {r.scenario.scenario.name, {}, r.trigger}, r.found);
}

void write_tip_json(Sink& sink, const TipReport& r, const std::vector<FileRecord>& files) {
  const Scenario& scenario = r.scenario.scenario;
  Json json = result_head("tip", scenario, r.found.point.thresholds.size());
  json["trigger"] = trigger_json(r.trigger, r.found.search);
  json["search"] = {{"id", fmt::format("{:016x}", r.id)}};
  json["outcome"] = name(r.found.point.outcome);
  json["d50"] = d50_json(r.found);
  json["not_monotone"] = r.found.point.not_monotone();
  json["probes"] = Json::array();
  for (const TippingProbe& p : r.found.point.probes) json["probes"].push_back(probe_json(p));
  json["sentences"] = {answer_of(r)};
  if (const std::string twins = twins_text(r); !twins.empty()) json["sentences"].push_back(twins);
  json["notes"] = caveats(r);
  add_scenario(json, r.scenario);
  sink.write(sealed(json, files));
}

void write_tip_text(Sink& sink, const TipReport& r, std::size_t columns) {
  const Scenario& scenario = r.scenario.scenario;
  const std::size_t runs = r.found.point.thresholds.size();
  std::string out = wrapped(
      fmt::format("{}: {} from {} to {}, {} replication{} at each value, seed {}", scenario.name,
                  r.trigger.path, with_unit(r, r.found.search.first),
                  with_unit(r, r.found.search.last), runs, runs == 1 ? "" : "s", scenario.seed),
      {columns});
  if (!scenario.description.empty()) out += wrapped(scenario.description, {columns, "", ""});
  out += "\n" + wrapped(answer_of(r), {columns});
  if (const std::string twins = twins_text(r); !twins.empty()) out += wrapped(twins, {columns});
  out += "\n";
  append_probes(out, r);
  sink.write(out + notes_text(caveats(r), columns));
}

void write_tip_files(ResultFolder& folder, const TipReport& r) {
  folder.write("tip.csv", [&](Sink& sink) { write_tip_csv(sink, r); });
  folder.write("thresholds.csv", [&](Sink& sink) { write_thresholds_csv(sink, r); });
  write_scenario_files(folder, r.scenario);
  folder.write("result.json", [&](Sink& sink) { write_tip_json(sink, r, folder.files()); });
  folder.commit();
}

namespace {

/// A number, or a duration in seconds.
std::optional<double> place_along(const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  const auto duration = scenario::parse_duration(value);
  return duration ? std::optional(duration->duration.in_seconds()) : std::nullopt;
}

}  // namespace

std::string unit_of_key(const std::string& path) {
  const scenario::KeyInfo* key = scenario::find_key(path);
  if (key == nullptr) return "1";
  if (key->rules.kind == scenario::ValueKind::kDuration) return "s";
  return key->rules.unit.empty() ? "1" : std::string(key->rules.unit);
}

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

using Json = nlohmann::ordered_json;

std::string valued(double value, std::string_view unit) {
  return fmt::format("{:.5g}{}", value,
                     unit == "1"     ? ""
                     : unit == "1/s" ? " /s"
                                     : fmt::format(" {}", unit));
}

/// "total_rate" of a longer path; with its unit for the head of a table.
std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string headed(const std::string& name, const std::string& unit) {
  return unit == "1" ? name : fmt::format("{} ({})", name, unit);
}

/// The points of a line by what became of their searches.
struct Fates {
  std::vector<const CurvePoint*> found, never, always, exchanged, not_judged;
};

class CurveText {
 public:
  CurveText(const TipCurveReport& report, std::size_t columns)
      : report_(report), curve_(report.plan), columns_(columns) {}

  std::string text() {
    add_head();
    for (const std::string& text : sentences()) out_ += wrapped(text, {columns_});
    for (const CurveLine& line : curve_.lines) add_table(line);
    return out_ + notes_text(notes(), columns_);
  }

  /// One for each line of the curve.
  std::vector<std::string> sentences() const {
    std::vector<std::string> texts;
    for (const CurveLine& line : curve_.lines) texts.push_back(sentence(line));
    return texts;
  }

  /// Those of all points, each once, with where they hold unless that is everywhere.
  std::vector<std::string> notes() const {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_note;
    for (const TipPoint& point : report_.points) {
      std::vector<std::string> own = point.found.notes;
      const std::size_t odd = point.found.point.not_monotone();
      if (odd > 0 && point.found.point.outcome != TippingOutcome::kEndsExchanged) {
        own.push_back(fmt::format(
            "{} of {} replications are not monotone: they recover from a greater trigger than one "
            "that they do not recover from",
            odd, point.found.point.thresholds.size()));
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
      texts.push_back(names.size() == report_.points.size()
                          ? note
                          : fmt::format("{}: {}", fmt::join(names, ", "), note));
    }
    return texts;
  }

 private:
  const TipResult& found_at(const CurvePoint& p) const { return report_.points[p.number].found; }
  std::string triggered(double value) const { return valued(value, report_.plan.trigger.unit); }

  void add_head() {
    const TipPlan& plan = report_.plan;
    const Scenario& scenario = plan.base.scenario;
    const std::size_t runs = report_.points.front().found.point.thresholds.size();
    out_ += wrapped(
        fmt::format("{}: tipping point of {} between {} and {}{}, {} replication{} at each value, "
                    "seed {}",
                    scenario.name, plan.trigger.path, triggered(plan.search.first),
                    triggered(plan.search.last),
                    curve_.axis.empty() ? "" : " against " + curve_.axis, runs,
                    runs == 1 ? "" : "s", scenario.seed),
        {columns_});
    if (!scenario.description.empty()) out_ += wrapped(scenario.description, {columns_, "", ""});
    out_ += "\n";
  }

  /// "250 /s", or what the user called the point.
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

  double d50_of(const CurvePoint& p) const { return found_at(p).point.d50->middle(); }

  /// "D50 falls from 1.35 s at 250 /s to 1.06 s at 400 /s".
  std::string course(const std::vector<const CurvePoint*>& found) const {
    const auto at = [&](const CurvePoint& p) {
      return fmt::format("{} at {}", triggered(d50_of(p)), place(p));
    };
    if (found.size() == 1) return "D50 is " + at(*found.front());
    const auto less = [&](const CurvePoint* a, const CurvePoint* b) {
      return d50_of(*a) < d50_of(*b);
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
    const TippingSearch& search = report_.plan.search;
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

  struct Cells {
    std::string place, d50, interval, metastable;
  };

  Cells cells(const CurvePoint& p) const {
    const TipResult& found = found_at(p);
    const TippingPoint& point = found.point;
    Cells c;
    c.place = p.x ? fmt::format("{:.5g}", *p.x) : p.label;
    if (!point.d50) {
      c.d50 = "-";
      c.interval = reason(found);
      return c;
    }
    c.d50 = fmt::format("{:.5g}", point.d50->middle());
    const auto end = [](const std::optional<double>& value, std::string_view otherwise) {
      return value ? fmt::format("{:.5g}", *value) : std::string(otherwise);
    };
    if (point.rank == 0) {
      c.interval = "-";
    } else {
      std::string low = end(point.ci_first, point.first_end_not_judged() ? "?" : "below LO");
      std::string high = end(point.ci_last, point.last_end_not_judged() ? "?" : "beyond HI");
      if (found.search.last < found.search.first) std::swap(low, high);
      c.interval = low + " to " + high;
    }
    const TippingProbe& nearest = point.probes[point.nearest_probe()];
    if (nearest.tipped() > 0) {
      c.metastable = fmt::format("{} of {}", nearest.metastable, nearest.tipped());
    }
    return c;
  }

  /// Why there is no D50.
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

  void add_table(const CurveLine& line) {
    out_ += line.name.empty() ? "\n" : fmt::format("\n{}\n", line.name);
    std::vector<Cells> rows = {
        {curve_.axis.empty() ? "point" : headed(last_part(curve_.axis), curve_.unit),
         headed("D50", report_.plan.trigger.unit), "95 % interval", "metastable"}};
    for (const CurvePoint& p : line.points) rows.push_back(cells(p));
    std::size_t place = 0, d50 = 0, interval = 0;
    for (const Cells& row : rows) {
      place = std::max(place, columns_of(row.place));
      d50 = std::max(d50, columns_of(row.d50));
      if (row.metastable.empty()) continue;  // a reason may be longer than the column
      interval = std::max(interval, columns_of(row.interval));
    }
    for (const Cells& row : rows) {
      std::string text =
          fmt::format("  {}  {}  {}  {}", pad_left(row.place, place), pad_left(row.d50, d50),
                      pad_right(row.interval, interval), row.metastable);
      text.erase(text.find_last_not_of(' ') + 1);
      out_ += text + "\n";
    }
  }

  const TipCurveReport& report_;
  TipCurve curve_;
  std::size_t columns_;
  std::string out_;
};

Json point_json(const TipPoint& point, const CurvePoint& at, std::size_t line,
                const std::vector<std::string>& paths) {
  Json json;
  json["variant"] = point.name;
  json["keys"] = Json::object();
  for (std::size_t i = 0; i < paths.size(); ++i) json["keys"][paths[i]] = key_cell(point.keys[i]);
  json["line"] = line;
  json["x"] = optional_json(at.x);
  const TippingPoint& found = point.found.point;
  json["replications"] = found.thresholds.size();
  json["outcome"] = name(found.outcome);
  json["d50"] = d50_json(point.found);
  json["not_monotone"] = found.not_monotone();
  const TippingProbe& nearest = found.probes[found.nearest_probe()];
  json["nearest"] = {{"value", nearest.value},
                     {"replications", nearest.judged()},
                     {"tipped", nearest.tipped()},
                     {"metastable", nearest.metastable}};
  return json;
}

}  // namespace

std::size_t TipCurveReport::found() const {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(),
                    [](const TipPoint& p) { return p.found.point.d50.has_value(); }));
}

void write_curve_csv(Sink& sink, const TipCurveReport& r) {
  CsvWriter csv(sink);
  csv.text("scenario").text("variant");
  for (const std::string& path : r.plan.paths()) csv.text(path);
  csv.header({"trigger", "unit", "replications", "outcome", "d50", "ci_low", "ci_high",
              "bracket_low", "bracket_high", "not_monotone", "nearest_value", "tipped",
              "metastable"});
  for (const TipPoint& p : r.points) {
    const TippingPoint& found = p.found.point;
    csv.text(r.plan.base.scenario.name).text(p.name);
    for (const std::string& value : p.keys) csv.text(key_cell(value));
    csv.text(r.plan.trigger.path).text(r.plan.trigger.unit).integer(found.thresholds.size());
    csv.text(name(found.outcome));
    if (found.d50) {
      const bool upwards = p.found.search.last >= p.found.search.first;
      csv.real(found.d50->middle());
      csv.real(upwards ? found.ci_first : found.ci_last);
      csv.real(upwards ? found.ci_last : found.ci_first);
      csv.real(found.d50->low).real(found.d50->high);
    } else {
      for (int i = 0; i < 5; ++i) csv.empty();
    }
    const TippingProbe& nearest = found.probes[found.nearest_probe()];
    csv.integer(found.not_monotone()).real(nearest.value);
    csv.integer(nearest.tipped()).integer(nearest.metastable).end_row();
  }
}

void write_curve_json(Sink& sink, const TipCurveReport& r, const std::vector<FileRecord>& files) {
  const TipPlan& plan = r.plan;
  const TipCurve curve(plan);
  Json json = result_head("tip", plan.base.scenario,
                          static_cast<std::size_t>(plan.base.scenario.replications));
  json["trigger"] = trigger_json(plan.trigger, plan.search);
  json["search"] = {{"id", fmt::format("{:016x}", plan.id)}};
  Json& out = json["curve"];
  out["vary"] = Json::array();
  for (const Variation& variation : plan.variations) out["vary"].push_back(variation.text);
  out["keys"] = plan.paths();
  out["axis"] = curve.axis.empty() ? Json() : Json(curve.axis);
  out["axis_unit"] = curve.unit;
  out["lines"] = Json::array();
  for (const CurveLine& line : curve.lines) out["lines"].push_back(line.name);
  out["found"] = r.found();
  out["sentences"] = CurveText(r, kNarrowColumns).sentences();
  std::vector<Json> points(r.points.size());
  for (std::size_t line = 0; line < curve.lines.size(); ++line) {
    for (const CurvePoint& at : curve.lines[line].points) {
      points[at.number] = point_json(r.points[at.number], at, line, plan.paths());
    }
  }
  out["points"] = points;
  json["notes"] = CurveText(r, kNarrowColumns).notes();
  add_scenario(json, plan.base);
  sink.write(sealed(json, files));
}

void write_curve_text(Sink& sink, const TipCurveReport& result, std::size_t columns) {
  sink.write(CurveText(result, columns).text());
}

void write_curve_files(ResultFolder& folder, const TipCurveReport& r) {
  const auto write_rows = [&](const char* name, const auto& header, const auto& rows) {
    folder.write(name, [&](Sink& sink) {
      CsvWriter csv(sink);
      header(csv, true);
      for (const TipPoint& p : r.points) {
        rows(csv, TipHead{r.plan.base.scenario.name, p.name, r.plan.trigger}, p.found);
      }
    });
  };
  folder.write("curve.csv", [&](Sink& sink) { write_curve_csv(sink, r); });
  write_rows("tip.csv", write_probes_header, write_probe_rows);
  write_rows("thresholds.csv", write_thresholds_header, write_threshold_rows);
  write_scenario_files(folder, r.plan.base);
  folder.write("result.json", [&](Sink& sink) { write_curve_json(sink, r, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report
