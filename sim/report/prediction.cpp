// SPDX-License-Identifier: MIT
#include "report/prediction.hpp"

#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

/// `value` with ten digits: further digits may depend on the machine's mathematical functions.
std::string in_ten_digits(double value) { return fmt::format("{:.10g}", value); }

double rounded(double value) { return std::stod(in_ten_digits(value)); }

/// A row of prediction.csv: a figure, a doubt, a part that does not apply or a warning.
struct PredictionRow {
  std::string part, subject, name, value, unit, meaning, leaves_out;
  Json number = {};
};

std::vector<PredictionRow> figure_rows(const Prediction& prediction) {
  std::vector<PredictionRow> rows;
  for (const Figure& f : prediction.figures) {
    const bool is_number = f.text.empty();
    rows.push_back({f.part, f.subject, f.name, is_number ? in_ten_digits(f.value) : f.text, f.unit,
                    f.meaning, f.ignores, is_number ? Json(rounded(f.value)) : Json(f.text)});
  }
  return rows;
}

std::vector<PredictionRow> all_rows(const Prediction& prediction) {
  std::vector<PredictionRow> rows = figure_rows(prediction);
  for (const Remark& r : prediction.refusals) {
    rows.push_back({r.part, r.subject, "does_not_apply", "", "", r.text, ""});
  }
  for (const Remark& r : prediction.doubts) {
    rows.push_back({r.part, r.subject, "doubt", "", "", r.text, ""});
  }
  for (const Unmodelled& u : prediction.unmodelled) {
    rows.push_back({"all", fmt::format("{}", fmt::join(u.places, " ")), "not_modelled", u.feature,
                    "", u.no_figure.empty() ? "" : "no figure from " + u.no_figure, u.left_out});
  }
  for (const Warning& w : prediction.warnings) {
    const std::string text = fmt::format("{} {} ({})", w.message, w.remedy, w.keys);
    rows.push_back({"facts", w.subject, "warning", "", "", text, ""});
  }
  return rows;
}

CellTable prediction_table(const std::vector<PredictionRow>& rows) {
  using Row = PredictionRow;
  Columns<Row> t;
  t.files("part", &Row::part);
  t.files("subject", &Row::subject);
  t.files("name", &Row::name);
  t.csv("value", &Row::value);
  t.json("value", &Row::number);
  t.files("unit", &Row::unit);
  t.files("meaning", &Row::meaning);
  t.files("leaves_out", &Row::leaves_out);
  return {t, rows};
}

Json remarks_json(const std::vector<Remark>& remarks) {
  Json json = Json::array();
  for (const Remark& r : remarks) {
    json.push_back({{"part", r.part}, {"subject", r.subject}, {"reason", r.text}});
  }
  return json;
}

Json unmodelled_json(const std::vector<Unmodelled>& features) {
  Json json = Json::array();
  for (const Unmodelled& u : features) {
    json.push_back({{"feature", u.feature},
                    {"places", u.places},
                    {"left_out_by", u.left_out},
                    {"no_figure_from", u.no_figure}});
  }
  return json;
}

Json warnings_json(const std::vector<Warning>& warnings) {
  Json json = Json::array();
  for (const Warning& w : warnings) {
    json.push_back(
        {{"subject", w.subject}, {"keys", w.keys}, {"message", w.message}, {"remedy", w.remedy}});
  }
  return json;
}

std::string value_of(const Figure& f) {
  if (!f.text.empty()) return f.text;
  const std::string number = scenario::said_number(f.value, 5);
  return f.unit.empty() || f.unit == "1" ? number : number + " " + f.unit;
}

/// Shows figures of one part and subject, and what they leave out. Facts leave out different
/// things; for other figures one line says it for several.
void show_figures(Document& d, const std::vector<const Figure*>& figures) {
  std::size_t names = 0, values = 0;
  for (const Figure* f : figures) {
    names = std::max(names, columns_of(f->name));
    values = std::max(values, columns_of(value_of(*f)));
  }
  TextTable table;
  table.columns = {{"", Side::kLeft, names}, {"", Side::kLeft, values}, {"", Side::kLeft}};
  table.indent = 4;
  table.has_heading = false;
  table.room = 24;
  table.alone = 2;
  const bool each = figures.front()->part == "facts";
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& f = *figures[i];
    const bool says_it = each && !f.ignores.empty();
    table.rows.push_back(
        {{f.name, value_of(f), f.meaning + (says_it ? "; leaves out " + f.ignores : "")}});
    if (i + 1 < figures.size() && (each || figures[i + 1]->ignores == f.ignores)) continue;
    d.show(table);
    table.rows.clear();
    if (!each && !f.ignores.empty()) d.say("leaves out: " + f.ignores, "    ", "      ");
  }
}

void show_figures(Document& d, const std::vector<Figure>& figures) {
  std::vector<const Figure*> block;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& f = figures[i];
    const Figure* const next = i + 1 < figures.size() ? &figures[i + 1] : nullptr;
    if (i == 0 || figures[i - 1].part != f.part) {
      d.lines(fmt::format("{}{}\n", i == 0 ? "" : "\n", f.part));
    }
    if (block.empty()) d.lines(fmt::format("  {}\n", f.subject));
    block.push_back(&f);
    if (next != nullptr && next->part == f.part && next->subject == f.subject) continue;
    show_figures(d, block);
    block.clear();
  }
}

/// The feature that theory cannot model, from the text of a remark: "... cannot model FEATURE
/// (KEY)".
std::string feature_of(const Remark& remark) {
  constexpr std::string_view kBefore = "cannot model ", kCaller = "a service that calls others";
  const std::size_t at = remark.text.find(kBefore);
  if (at == std::string::npos) return "other features";
  std::string feature = remark.text.substr(at + kBefore.size());
  feature.resize(std::min(feature.rfind(" ("), feature.size()));
  return feature == kCaller ? "calls between services" : feature;
}

/// Many refusals as one sentence: a graph has several for each service.
std::string refusals_in_short(const std::vector<Remark>& refusals) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::pair<std::string, std::size_t>> features;
  for (const Remark& r : refusals) {
    const std::string feature = feature_of(r);
    const auto known = std::ranges::find(features, feature, [](auto& f) { return f.first; });
    if (known == features.end()) {
      features.emplace_back(feature, 1);
    } else {
      ++known->second;
    }
  }
  std::stable_sort(features.begin(), features.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(features.size(), kMostNamed); ++i) {
    named.push_back(fmt::format("{} ({})", features[i].first, features[i].second));
  }
  std::string list;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const bool is_last = i + 1 == named.size() && features.size() <= kMostNamed;
    list += (i == 0 ? "" : is_last ? " and " : ", ") + named[i];
  }
  if (features.size() > kMostNamed) list += " and others";
  return fmt::format(
      "{} of the figures that theory has for a service are not given here, since it cannot model "
      "{}; --format csv has the reason for each service.",
      refusals.size(), list);
}

void show_refusals(Document& d, const std::vector<Remark>& refusals) {
  constexpr std::size_t kMostOfOneService = 4;
  if (!refusals.empty()) d.lines("\ndoes not apply\n");
  if (refusals.size() > kMostOfOneService) {
    d.say(refusals_in_short(refusals), "  ", "    ");
    return;
  }
  for (const Remark& r : refusals) d.say(r.text, "  ", "    ");
}

void show_doubts(Document& d, const std::vector<Remark>& doubts) {
  if (!doubts.empty()) d.lines("\noutside the range of validity\n");
  for (const Remark& r : doubts) {
    d.say(fmt::format("{} of {}: {}", r.part, r.subject, r.text), "  ", "    ");
  }
}

/// Shows the features of the scenario that theory does not model, with their places.
void show_unmodelled(Document& d, const std::vector<Unmodelled>& features) {
  if (!features.empty()) d.lines("\nnot modelled\n");
  for (const Unmodelled& u : features) {
    std::string text = fmt::format("{} ({}): ", u.feature, fmt::join(u.places, ", "));
    if (!u.left_out.empty()) text += "left out by " + u.left_out;
    if (!u.left_out.empty() && !u.no_figure.empty()) text += "; ";
    if (!u.no_figure.empty()) text += "no figure from " + u.no_figure;
    d.say(std::move(text), "  ", "    ");
  }
}

/// A point of a trajectory.
struct TrajectoryPoint {
  const std::string& service;
  const PhasePlane& plane;
  const PhaseTrajectory& trajectory;
  const FluidSample& at;
};

/// A row for each point of a trajectory. `time_s` is counted from the end of the trigger.
CellTable trajectories_table(const Planes& planes) {
  using Row = TrajectoryPoint;
  std::vector<Row> rows;
  for (const auto& [service, plane] : planes) {
    for (const PhaseTrajectory& t : plane.trajectories) {
      for (const FluidSample& at : t.samples) rows.push_back({service, plane, t, at});
    }
  }
  Columns<Row> t;
  t.csv("service", [](auto& r) { return r.service; });
  t.csv("trigger", [](auto& r) { return r.plane.trigger; });
  t.csv("trigger_s", [](auto& r) { return rounded(r.trajectory.trigger); });
  t.csv("outcome", [](auto& r) { return r.trajectory.stays_down ? "down" : "up"; });
  t.csv("separatrix", [](auto& r) { return r.trajectory.separatrix; });
  t.csv("time_s", [](auto& r) { return rounded(r.at.time); });
  t.csv("backlog_s", [](auto& r) { return rounded(r.at.backlog); });
  t.csv("retrying", [](auto& r) { return rounded(r.at.retrying); }).unit("requests");
  t.csv("goodput", [](auto& r) { return rounded(r.at.goodput); });
  return {t, rows};
}

/// A row for each equilibrium; an empty cell for the backlog means that it grows for ever.
CellTable equilibria_table(const Planes& planes) {
  using Row = std::pair<std::string, PhaseEquilibrium>;
  std::vector<Row> rows;
  for (const auto& [service, plane] : planes) {
    for (const PhaseEquilibrium& e : plane.equilibria) rows.emplace_back(service, e);
  }
  Columns<Row> t;
  t.csv("service", [](auto& r) { return r.first; });
  t.csv("name", [](auto& r) { return r.second.name; });
  t.csv("stable", [](auto& r) { return r.second.stable; });
  t.csv("backlog_s", [](auto& r) {
    return r.second.backlog ? std::optional(rounded(*r.second.backlog)) : std::nullopt;
  });
  t.csv("retrying", [](auto& r) { return rounded(r.second.retrying); }).unit("requests");
  return {t, rows};
}

Document text_document(const Prediction& prediction) {
  Document d;
  show_figures(d, prediction.figures);
  show_refusals(d, prediction.refusals);
  show_doubts(d, prediction.doubts);
  show_unmodelled(d, prediction.unmodelled);
  if (!prediction.warnings.empty()) d.lines("\nwarnings\n");
  for (const Warning& w : prediction.warnings) {
    d.say(fmt::format("{}: {} {} ({})", w.subject, w.message, w.remedy, w.keys), "  ", "    ");
  }
  return d;
}

}  // namespace

Document prediction_document(const Prediction& prediction) {
  Document d = text_document(prediction);
  return d.tables(prediction_tables(prediction, {}));
}

Planes planes_of(const Scenario& scenario) {
  Planes planes;
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    if (why_no_fluid(scenario, s)) continue;
    planes.emplace_back(scenario.services[s].name, phase_plane(scenario, s));
  }
  return planes;
}

std::vector<TableSource> prediction_tables(const Prediction& prediction, const Planes& planes) {
  std::vector<TableSource> tables = {
      source_of("prediction", prediction_table(all_rows(prediction)))};
  if (!planes.empty()) {
    tables.push_back(source_of("trajectories", trajectories_table(planes)));
    tables.push_back(source_of("equilibria", equilibria_table(planes)));
  }
  return tables;
}

namespace {

Json parts_json(const Prediction& prediction) {
  return {{"figures", rows_json(prediction_table(figure_rows(prediction)))},
          {"does_not_apply", remarks_json(prediction.refusals)},
          {"doubts", remarks_json(prediction.doubts)},
          {"not_modelled", unmodelled_json(prediction.unmodelled)},
          {"warnings", warnings_json(prediction.warnings)}};
}

}  // namespace

Document prediction_document(const LoadedScenario& loaded, const Prediction& prediction,
                             const Planes& planes) {
  Document d = text_document(prediction);
  d.tables(prediction_tables(prediction, planes));
  Json of_planes = Json::array();
  for (const auto& [service, plane] : planes) {
    of_planes.push_back({{"service", service},
                         {"trigger", plane.trigger},
                         {"tipping_s", plane.tipping ? Json(rounded(*plane.tipping)) : Json()},
                         {"attempt_timeout_s", plane.timeout}});
  }
  d.head("predict", heading_of(loaded), loaded.scenario, 0)
      .member("prediction", parts_json(prediction));
  d.member("planes", std::move(of_planes));
  d.scenario_members(loaded);
  return d.scenario_file(loaded);
}

std::string prediction_json(const LoadedScenario& loaded, const Prediction& prediction) {
  Json all = {{"scenario", loaded.scenario.name}, {"title", heading_of(loaded).title}};
  all.update(parts_json(prediction));
  return all.dump(2) + "\n";
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const Prediction& prediction, const Scenario& scenario) {
  return Tables(report::prediction_tables(prediction, report::planes_of(scenario)));
}

}  // namespace retrysim
