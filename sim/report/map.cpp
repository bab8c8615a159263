// SPDX-License-Identifier: MIT
#include "report/map.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

char mark_of(MapState state) {
  switch (state) {
    case MapState::kSafe:
      return '.';
    case MapState::kVulnerable:
      return 'o';
    case MapState::kTipped:
      return 'x';
    case MapState::kOverloaded:
      return '*';
    case MapState::kDead:
      return '#';
  }
  return ' ';
}

std::string picture_of(const PhaseMap& map, std::size_t columns) {
  std::size_t width = map.names[1].size();
  for (std::size_t y = 0; y < map.rows; ++y) width = std::max(width, map.at(0, y).values[1].size());
  constexpr std::size_t kFewest = 10;
  const std::size_t room = std::max(kFewest, columns - std::min(columns, width + 2));
  const std::size_t step = (map.columns + room - 1) / room;
  std::string text = fmt::format("{:>{}}\n", map.names[1], width);
  for (std::size_t y = map.rows; y-- > 0;) {
    text += fmt::format("{:>{}}  ", map.at(0, y).values[1], width);
    for (std::size_t x = 0; x < map.columns; x += step) text += mark_of(map.at(x, y).state);
    text += "\n";
  }
  text += fmt::format("{:>{}}  {}: {} to {}{}\n\n", "", width, map.names[0], map.at(0, 0).values[0],
                      map.at(map.columns - 1, 0).values[0],
                      step > 1 ? fmt::format(", one of {} values", step) : "");
  return text + (map.has_trigger
                     ? ". safe   o vulnerable   x tipped by the scenario's faults and surges\n"
                       "* overloaded   # dead\n"
                     : ". safe   o vulnerable   * overloaded   # dead\n");
}

std::string words_of(MapQuestion question) {
  switch (question) {
    case MapQuestion::kCalm:
      return "calm";
    case MapQuestion::kPushed:
      return "after a long push";
    case MapQuestion::kScenario:
      return "after its faults and surges";
  }
  return "";
}

std::size_t count_of(const MapReport& r, MapVerdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(r.confirmed.begin(), r.confirmed.end(),
                    [&](const MapConfirmation& c) { return c.verdict == verdict; }));
}

std::string confirmations_in_blocks(const MapReport& r, std::size_t columns) {
  Listing listing{{"", "phase", "says", "simulated", "down", "verdict"}, {}};
  for (const MapConfirmation& c : r.confirmed) {
    listing.rows.push_back(
        {fmt::format("{} = {}, {} = {}", r.map.names[0], c.values[0], r.map.names[1], c.values[1]),
         std::string(name(c.state)), c.predicted_down ? "down" : "up",
         std::string(words_of(c.question)), fmt::format("{} of {}", c.down, c.replications),
         std::string(name(c.verdict))});
  }
  return listing_in_blocks(listing, columns);
}

std::string confirmations_text(const MapReport& r, std::size_t columns) {
  std::size_t widths[2] = {r.map.names[0].size(), r.map.names[1].size()};
  for (const MapConfirmation& c : r.confirmed) {
    for (std::size_t i : {0u, 1u}) widths[i] = std::max(widths[i], c.values[i].size());
  }
  // The column of verdicts may be longest.
  const std::size_t longest = widths[0] + widths[1] + 83;
  if (longest > columns) return "\n" + confirmations_in_blocks(r, columns);
  std::string text = fmt::format("\n{:>{}}  {:>{}}  {:<10}  {:<4}  {:<27}  {:<12}  {}\n",
                                 r.map.names[0], widths[0], r.map.names[1], widths[1], "phase",
                                 "says", "simulated", "down", "verdict");
  for (const MapConfirmation& c : r.confirmed) {
    text += fmt::format("{:>{}}  {:>{}}  {:<10}  {:<4}  {:<27}  {:<12}  {}\n", c.values[0],
                        widths[0], c.values[1], widths[1], name(c.state),
                        c.predicted_down ? "down" : "up", words_of(c.question),
                        fmt::format("{} of {}", c.down, c.replications), name(c.verdict));
  }
  return text;
}

/// Sentences on what the simulations near the borders say about the map, and on where the fluid
/// model is not valid.
std::vector<std::string> closing_sentences(const MapReport& r) {
  if (r.asked == 0) return {};
  if (r.confirmed.empty()) {
    return {"There is no border in this plane, and so no point near one to confirm."};
  }
  const std::size_t agree = count_of(r, MapVerdict::kAgree);
  const std::size_t disagree = count_of(r, MapVerdict::kDisagree);
  const std::size_t outside = count_of(r, MapVerdict::kOutsideValidity);
  std::vector<std::string> texts = {fmt::format(
      "Of {} point{} simulated near the borders, {} agree{}, {} disagree{} and {} {} outside the "
      "validity of the fluid.",
      r.confirmed.size(), r.confirmed.size() == 1 ? "" : "s", agree, agree == 1 ? "s" : "",
      disagree, disagree == 1 ? "s" : "", outside, outside == 1 ? "is" : "are")};
  if (r.confirmed.size() < r.asked) {
    texts.push_back(fmt::format("There {} only {} near a border.",
                                r.confirmed.size() == 1 ? "is" : "are",
                                scenario::said_things(r.confirmed.size(), "point")));
  }
  std::vector<std::string> reasons;
  for (const MapConfirmation& c : r.confirmed) {
    const bool known = std::find(reasons.begin(), reasons.end(), c.why) != reasons.end();
    if (!c.why.empty() && !known) reasons.push_back(c.why);
  }
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(kMost, reasons.size()); ++i) {
    texts.push_back(fmt::format("  outside validity: {}", reasons[i]));
  }
  if (reasons.size() > kMost) {
    texts.push_back(fmt::format("  and {} more reasons, in confirm.csv", reasons.size() - kMost));
  }
  return texts;
}

/// `value` with ten digits: further digits may depend on the machine's mathematical functions.
double ten_digits(double value) { return std::stod(fmt::format("{:.10g}", value)); }

/// The values of the horizontal (0) or vertical (1) key at points or confirmations.
template <class Places>
std::vector<std::string> values_of(const Places& places, std::size_t key) {
  std::vector<std::string> values;
  for (const auto& place : places) values.push_back(place.values[key]);
  return values;
}

/// A row for each point: phase, loads, and whether the quota is why the point is safe.
CellTable points_table(const PhaseMap& map) {
  const auto figure = [](double FluidEquilibria::*load) {
    return [load](const MapPoint& p) {
      return p.balance ? std::optional(ten_digits((*p.balance).*load)) : std::nullopt;
    };
  };
  Columns<MapPoint> t;
  for (const std::size_t i : {0u, 1u}) {
    t.csv_key(cell_column(map.names[i], values_of(map.points, i)),
              [i](auto& p) { return p.values[i]; });
  }
  t.csv("phase", [](auto& p) { return name(p.state); });
  t.csv("load", figure(&FluidEquilibria::load)).unit("1");
  t.csv("vulnerable_load", figure(&FluidEquilibria::vulnerable_load)).unit("1");
  t.csv("tipping_load", figure(&FluidEquilibria::tipping_load)).unit("1");
  t.csv("quota_saves",
        [](auto& p) { return p.balance ? std::optional(p.balance->quota_saves) : std::nullopt; });
  return {t, map.points};
}

/// A row for each confirmed point. `share_down` is the share of replications that are down, with
/// Wilson's interval.
CellTable confirmations_table(const PhaseMap& map, const std::vector<MapConfirmation>& confirmed) {
  using Row = MapConfirmation;
  Columns<Row> t;
  for (const std::size_t i : {0u, 1u}) {
    t.csv_key(cell_column(map.names[i], values_of(confirmed, i)), {map.names[i]},
              [i](auto& c) { return c.values[i]; });
  }
  t.csv("phase", {"phase", Side::kLeft, 10}, [](auto& c) { return name(c.state); });
  t.csv("beyond", [](auto& c) { return name(c.beyond); });
  t.text({"says", Side::kLeft}, [](auto& c) { return c.predicted_down ? "down" : "up"; });
  t.csv("question", {"simulated", Side::kLeft, 27}, [](auto& c) {
    return Shown{name(c.question), words_of(c.question)};
  });
  t.csv("predicted", [](auto& c) { return c.predicted_down ? "down" : "up"; });
  t.csv("down", {"down", Side::kLeft, 12}, [](auto& c) {
     return Shown{c.down, n_of(c.down, c.replications)};
   }).unit("replications");
  t.csv("replications", [](auto& c) { return c.replications; });
  t.csv("share_down ci_low ci_high", [](auto& c) {
     return share(c.down, c.replications);
   }).unit("1");
  t.csv("duration_s", [](auto& c) { return ten_digits(c.duration); });
  t.csv("verdict", {"verdict", Side::kLeft}, [](auto& c) { return name(c.verdict); });
  t.csv("why", [](auto& c) { return c.why; });
  return {t, confirmed};
}

}  // namespace

std::vector<TableSource> map_tables(const PhaseMap& map,
                                    const std::vector<MapConfirmation>& confirmed) {
  std::vector<TableSource> tables = {source_of("map", points_table(map))};
  if (!confirmed.empty()) {
    tables.push_back(source_of("confirm", confirmations_table(map, confirmed)));
  }
  return tables;
}

Document map_document(const MapReport& r) {
  const Scenario& scenario = r.scenario.scenario;
  const Heading heading = heading_of(r.scenario, r.map.keys);
  const std::vector<std::string> closing = closing_sentences(r);
  Document d;
  d.lines([r](std::size_t columns) { return picture_of(r.map, columns); });
  d.tables(map_tables(r.map, r.confirmed));
  if (!r.confirmed.empty()) {
    d.lines([r](std::size_t columns) { return confirmations_text(r, columns); });
  }
  if (r.asked > 0) d.gap();
  for (const std::string& sentence : closing) {
    const bool is_indented = sentence.starts_with(' ');
    d.say(sentence.substr(is_indented ? 2 : 0), is_indented ? "  " : "", is_indented ? "    " : "");
  }

  d.head("map", heading, scenario, static_cast<std::size_t>(scenario.replications));
  d.member("map", {{"vary", r.varied},
                   {"service", r.map.service},
                   {"confirm", r.asked},
                   {"keys", r.map.keys},
                   {"columns", r.map.names},
                   {"shape", {r.map.columns, r.map.rows}},
                   {"has_trigger", r.map.has_trigger},
                   {"agree", count_of(r, MapVerdict::kAgree)},
                   {"disagree", count_of(r, MapVerdict::kDisagree)},
                   {"outside_validity", count_of(r, MapVerdict::kOutsideValidity)}});
  return d.member("notes", closing).scenario_members(r.scenario).scenario_file(r.scenario);
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const PhaseMap& map, const std::vector<MapConfirmation>& confirmed) {
  return Tables(report::map_tables(map, confirmed));
}

}  // namespace retrysim
