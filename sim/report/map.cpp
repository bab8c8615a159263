// SPDX-License-Identifier: MIT
#include "report/map.hpp"

#include "estimate/intervals.hpp"
#include "report/document/csv_writer.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "report/run/files.hpp"

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
                     ? ". safe   o vulnerable   x tipped by the scenario's faults and surges   "
                       "# dead\n"
                     : ". safe   o vulnerable   # dead\n");
}

std::string_view words_of(MapQuestion question) {
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
  // The verdict is what may be longest.
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

/// What the simulations near the borders say of the map, and where the fluid is not valid.
std::vector<std::string> closing_sentences(const MapReport& r) {
  if (r.asked == 0) return {};
  if (r.confirmed.empty()) {
    return {"There is no border in this plane, and so no point near one to confirm."};
  }
  const std::size_t agree = count_of(r, MapVerdict::kAgree);
  const std::size_t disagree = count_of(r, MapVerdict::kDisagree);
  const std::size_t outside = count_of(r, MapVerdict::kOutsideValidity);
  std::vector<std::string> texts = {fmt::format(
      "Of {} point{} simulated near the borders, {} agree{}, {} disagree{} and {} {} outside of "
      "what the fluid is valid for.",
      r.confirmed.size(), r.confirmed.size() == 1 ? "" : "s", agree, agree == 1 ? "s" : "",
      disagree, disagree == 1 ? "s" : "", outside, outside == 1 ? "is" : "are")};
  if (r.confirmed.size() < r.asked) {
    texts.push_back(fmt::format("There are only {} points near a border.", r.confirmed.size()));
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

/// What the machine's mathematical functions may round differently is not written.
double ten_digits(double value) { return std::stod(fmt::format("{:.10g}", value)); }

}  // namespace

void write_map_csv(Sink& sink, const MapReport& r) {
  CsvWriter csv(sink);
  csv.text(r.map.names[0]).text(r.map.names[1]);
  for (const char* name : {"phase", "load", "vulnerable_load", "tipping_load", "quota_saves"}) {
    csv.text(name);
  }
  csv.end_row();
  for (const MapPoint& p : r.map.points) {
    csv.text(p.values[0]).text(p.values[1]).text(name(p.state));
    if (p.balance) {
      csv.real(ten_digits(p.balance->load)).real(ten_digits(p.balance->vulnerable_load));
      csv.real(ten_digits(p.balance->tipping_load)).text(p.balance->quota_saves ? "true" : "false");
    } else {
      csv.empty().empty().empty().empty();
    }
    csv.end_row();
  }
}

void write_confirm_csv(Sink& sink, const MapReport& r) {
  CsvWriter csv(sink);
  csv.text(r.map.names[0]).text(r.map.names[1]);
  for (const char* column : {"phase", "beyond", "question", "predicted", "down", "replications",
                             "share_down", "ci_low", "ci_high", "duration_s", "verdict", "why"}) {
    csv.text(column);
  }
  csv.end_row();
  for (const MapConfirmation& c : r.confirmed) {
    csv.text(c.values[0]).text(c.values[1]).text(name(c.state)).text(name(c.beyond));
    csv.text(name(c.question)).text(c.predicted_down ? "down" : "up");
    csv.integer(c.down).integer(c.replications);
    const stats::ProportionInterval interval = stats::wilson_interval(c.down, c.replications);
    csv.real(static_cast<double>(c.down) / static_cast<double>(c.replications));
    csv.real(interval.low).real(interval.high).real(ten_digits(c.duration));
    csv.text(name(c.verdict)).text(c.why);
    csv.end_row();
  }
}

void write_map_json(Sink& sink, const MapReport& r, const std::vector<FileRecord>& files) {
  const Scenario& scenario = r.scenario.scenario;
  Json json = result_head("map", scenario, static_cast<std::size_t>(scenario.replications));
  Json& map = json["map"];
  map["vary"] = r.varied;
  map["service"] = r.map.service;
  map["confirm"] = r.asked;
  map["keys"] = r.map.keys;
  map["columns"] = r.map.names;
  map["shape"] = {r.map.columns, r.map.rows};
  map["has_trigger"] = r.map.has_trigger;
  map["agree"] = count_of(r, MapVerdict::kAgree);
  map["disagree"] = count_of(r, MapVerdict::kDisagree);
  map["outside_validity"] = count_of(r, MapVerdict::kOutsideValidity);
  json["notes"] = closing_sentences(r);
  add_scenario(json, r.scenario);
  sink.write(sealed(json, files));
}

void write_map_text(Sink& sink, const MapReport& r, std::size_t columns) {
  sink.write(picture_of(r.map, columns));
  if (r.asked == 0) return;
  if (!r.confirmed.empty()) sink.write(confirmations_text(r, columns));
  sink.write("\n");
  for (const std::string& text : closing_sentences(r)) {
    const bool indented = text.starts_with(' ');
    const auto words = std::string_view(text).substr(indented ? 2 : 0);
    sink.write(wrapped(words, {columns, indented ? "  " : "", indented ? "    " : ""}));
  }
}

void write_map_files(ResultFolder& folder, const MapReport& r) {
  folder.write("map.csv", [&](Sink& sink) { write_map_csv(sink, r); });
  if (!r.confirmed.empty()) {
    folder.write("confirm.csv", [&](Sink& sink) { write_confirm_csv(sink, r); });
  }
  write_scenario_files(folder, r.scenario);
  folder.write("result.json", [&](Sink& sink) { write_map_json(sink, r, folder.files()); });
  folder.commit();
}

}  // namespace retrysim::report
