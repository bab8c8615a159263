// SPDX-License-Identifier: MIT
#include "report/page/page.hpp"

#include <retrysim/metrics.hpp>

#include "fit/backtest.hpp"
#include "report/document/json.hpp"
#include "report/folder/result_folder.hpp"
#include "report/page/said.hpp"
#include "report/pictures/draft.hpp"
#include "report/pictures/pictures.hpp"
#include "report/run/answer.hpp"
#include "report/run/tables.hpp"
#include "report/sweep.hpp"
#include "scenario/text/result_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxExact = 9e15;  // whole numbers up to this are exact

double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result + 0.0;  // avoids a negative zero
}

std::string without_markup(std::string text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

void append_compact(std::string& out, double value, int digits) {
  const double number = rounded(value, digits);
  if (std::fabs(number) < kMaxExact && number == std::trunc(number)) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(number));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}

Json compact(double value, int digits) {
  if (!std::isfinite(value)) return {};
  const double number = rounded(value, digits);
  if (std::fabs(number) < kMaxExact && number == std::trunc(number)) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

std::string json_text(std::string_view text) {
  return without_markup(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string json_for_script(const Json& json) {
  return without_markup(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

namespace {

namespace fs = std::filesystem;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// Fewest bins left after joining: fewer would be no picture any more.
constexpr std::size_t kMaxJoined = 32;
constexpr int kDigitsOfMeans = 4, kDigitsOfHalves = 2;

/// Means over `joined` neighbours each, without missing values. For halves of intervals this is an
/// upper bound: half an interval is at most the mean of the halves.
std::vector<double> join(const std::vector<double>& values, std::size_t joined) {
  if (joined == 1) return values;
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); i += joined) {
    double sum = 0;
    int count = 0;
    for (std::size_t k = i; k < std::min(i + joined, values.size()); ++k) {
      if (std::isnan(values[k])) continue;
      sum += values[k];
      ++count;
    }
    result.push_back(count == 0 ? kNone : sum / count);
  }
  return result;
}

void append_numbers(std::string& out, std::span<const double> values, int digits) {
  char separator = '[';
  for (const double value : values) {
    out += separator;
    if (!std::isnan(value)) {
      append_compact(out, value, digits);
    } else {
      out += "null";
    }
    separator = ',';
  }
  out += ']';
}

bool is_zero_or_none(double value) { return std::isnan(value) || value == 0; }

/// A quantity as JSON; empty if it never exists.
std::string quantity_json(const PageSeries& series, std::size_t joined) {
  const std::vector<double>& means = series.means;
  const auto is_none = [](double value) { return std::isnan(value); };
  if (std::all_of(means.begin(), means.end(), is_none)) return {};
  const bool certain = std::all_of(series.halves.begin(), series.halves.end(), is_zero_or_none);
  const bool level = certain && std::all_of(means.begin(), means.end(),
                                            [&](double value) { return value == means.front(); });
  std::string out;
  if (level) {
    append_compact(out, means.front(), kDigitsOfMeans);
    return out;
  }
  out += '[';
  append_numbers(out, join(means, joined), kDigitsOfMeans);
  if (!certain) {
    out += ',';
    append_numbers(out, join(series.halves, joined), kDigitsOfHalves);
  }
  return out + ']';
}

/// The columns for mean, low and high end of a quantity.
struct PageColumns {
  const Column *mean, *low, *high;
};

/// The columns behind the column with the width of the bins.
std::vector<PageColumns> page_columns_of(const ResultTable& table) {
  std::vector<PageColumns> columns;
  const Column* const all = table.columns().data();
  const auto first = static_cast<std::size_t>(&table["width_s"] - all) + 1;
  for (std::size_t i = first; i < table.columns().size(); i += 3) {
    columns.push_back(
        {&all[i], &table[all[i].name() + "_ci_low"], &table[all[i].name() + "_ci_high"]});
  }
  return columns;
}

void add(PageSeries& series, const ResultTable& table, const PageColumns& columns,
         std::size_t row) {
  const auto mean = table.number(*columns.mean, row);
  const auto low = table.number(*columns.low, row), high = table.number(*columns.high, row);
  series.means.push_back(mean.value_or(kNone));
  // An end that is cut off by the quantity's range says nothing about the width of the interval.
  const bool whole = mean && low && high;
  series.halves.push_back(whole ? std::max(*high - *mean, *mean - *low) : kNone);
}

}  // namespace

PageSeriesTable::PageSeriesTable(const ResultTable& clients, const ResultTable& services,
                                 const std::vector<std::string>& variants)
    : variants_(variants.size()) {
  std::map<std::string, std::size_t> numbers;
  for (const std::string& name : variants) numbers.emplace(name, numbers.size());
  read(clients, "client", &Variant::clients, numbers);
  read(services, "service", &Variant::services, numbers);
}

void PageSeriesTable::read(const ResultTable& table, std::string_view bearer,
                           Bearers Variant::*bearers,
                           const std::map<std::string, std::size_t>& numbers) {
  const Column &variants = table["variant"], &names = table[bearer], &widths = table["width_s"];
  const std::vector<PageColumns> columns = page_columns_of(table);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string variant_name = text_at(variants, row), name = text_at(names, row);
    const auto found = numbers.find(variant_name);
    if (found == numbers.end()) {
      throw DamagedResult(table.file(), fmt::format("has an unknown variant '{}'", variant_name));
    }
    Variant& variant = variants_[found->second];
    variant.width_s = table.number(widths, row).value_or(0);
    Bearers& of_variant = variant.*bearers;
    if (of_variant.empty() || of_variant.back().first != name) {
      of_variant.emplace_back(name, Quantities());
      for (const PageColumns& c : columns)
        of_variant.back().second.emplace_back(c.mean->name(), PageSeries());
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      add(of_variant.back().second[i].second, table, columns[i], row);
    }
  }
}

void PageSeriesTable::append(std::string& out, const Bearers& bearers, std::size_t joined) {
  char separator = '{';
  for (const auto& [name, quantities] : bearers) {
    out += separator + json_text(name) + ":{";
    separator = ',';
    bool first = true;
    for (const auto& [quantity, series] : quantities) {
      const std::string text = quantity_json(series, joined);
      if (text.empty()) continue;
      out += (first ? "" : ",") + json_text(quantity) + ":" + text;
      first = false;
    }
    out += '}';
  }
  out += bearers.empty() ? "{}" : "}";
}

std::string PageSeriesTable::json_of(std::size_t joined) const {
  std::string out = "[";
  for (std::size_t v = 0; v < variants_.size(); ++v) {
    if (v > 0) out += ",";
    const Variant& variant = variants_[v];
    if (variant.clients.empty()) {
      out += "null";
      continue;
    }
    out += "{\"dt\":";
    append_compact(out, variant.width_s * static_cast<double>(joined), 15);
    out += ",\"c\":";
    append(out, variant.clients, joined);
    out += ",\"s\":";
    append(out, variant.services, joined);
    out += "}";
  }
  return out + "]";
}

double PageSeriesTable::end_of_action() const {
  constexpr std::array<std::string_view, 3> kAction = {"attempt_rate", "goodput", "in_backoff"};
  double end = 0;
  for (const Variant& variant : variants_) {
    for (const auto& [client, quantities] : variant.clients) {
      for (const auto& [quantity, series] : quantities) {
        if (std::find(kAction.begin(), kAction.end(), quantity) == kAction.end()) continue;
        const auto last = std::find_if(series.means.rbegin(), series.means.rend(),
                                       [](double mean) { return mean > 0; });
        end = std::max(end, variant.width_s * static_cast<double>(series.means.rend() - last));
      }
    }
  }
  return end;
}

std::string PageSeriesTable::json(std::size_t most_bytes) const {
  std::string text = json_of(1);
  for (std::size_t joined = 2; text.size() > most_bytes && joined <= kMaxJoined; joined *= 2) {
    text = json_of(joined);
  }
  return text;
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kScenarioToml = "scenario.toml";

/// A whole result, from a folder or from a document.
struct WholeResult {
  fs::path folder;   ///< folder's name in messages
  std::string name;  ///< name on the page
  Json json;
  std::vector<std::string> names;
  std::string toml;
  std::function<ResultTable(const std::string& file)> read_table;

  bool has(std::string_view file) const {
    return std::find(names.begin(), names.end(), file) != names.end();
  }
  /// A table that the result has. Each table is read once.
  const ResultTable& table(std::string_view file) const {
    const auto known = tables_.find(file);
    if (known != tables_.end()) return known->second;
    const std::string own(file);
    return tables_.emplace(own, read_table(own)).first->second;
  }

 private:
  mutable std::map<std::string, ResultTable, std::less<>> tables_ = {};
};

/// Reads a result folder whose files are as they were written. Throws DamagedResult.
WholeResult checked_result(const fs::path& folder) {
  WholeResult result;
  result.folder = folder;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  result.name = (error ? folder : whole).filename().string();
  result.json = read_sealed(folder);
  result.read_table = [folder](const std::string& file) {
    return read_csv(folder / file, content_of(folder / file));
  };
  const std::vector<FileRecord> records = file_records(result.json, folder / kResultJson);
  if (records.empty()) {
    throw DamagedResult(folder / kResultJson, "has no checksums; compute the result again");
  }
  for (const FileRecord& record : records) {
    const std::string fault = fault_of(folder, record);
    if (!fault.empty()) throw DamagedResult(folder / record.name, fault);
    result.names.push_back(record.name);
  }
  result.toml = content_of(folder / kScenarioToml);
  return result;
}

Json cell_json(const ResultTable& table, const Column& column, std::size_t row, int digits = 6) {
  const auto value = table.number(column, row);
  return value ? compact(*value, digits) : Json();
}

/// The page's facts about a metric.
Json metric_json(const std::string& name, const std::string& unit) {
  Json json;
  const MetricInfo* metric = find_metric(name);
  json["unit"] = unit;
  json["label"] = metric != nullptr ? metric->label() : std::string_view(name);
  if (metric == nullptr) return json;
  json["meaning"] = metric->meaning;
  if (metric->display.percentage) json["percentage"] = true;
  if (metric->range == MetricRange::kShare) json["share"] = true;
  if (metric->display.better == MetricBetter::kHigher) json["better"] = "higher";
  if (metric->display.better == MetricBetter::kLower) json["better"] = "lower";
  return json;
}

/// Names in the order in which they were first added.
class NameList {
 public:
  /// The place of `name`, which is appended if it is new.
  std::size_t place_of(const std::string& name) {
    const auto [at, is_new] = places_.emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return at->second;
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> places_;
};

/// The title of a result; if an older program wrote it, the name of the scenario.
std::string title_of(const Json& result) {
  return result.value("title", result.at("scenario").get<std::string>());
}

/// A number of disturbances in words: "7 faults", "3 surges" or, if there are both, "10 faults and
/// surges".
std::string counted_disturbances(std::size_t count, const std::set<std::string>& kinds) {
  return kinds.size() == 1 ? counted(count, *kinds.begin())
                           : fmt::format("{} faults and surges", count);
}

/// The disturbances as they are drawn over time: disturbances of the same time and effect are one,
/// with all their places. In a legend a few have their names, many only their number.
Json windows_of(const Json& disturbances) {
  struct Window {
    std::string kind, what;
    Json start, end;
    std::vector<std::string> places, names;
  };
  std::vector<Window> windows;
  std::set<std::string> kinds;
  for (const Json& d : disturbances) {
    Window own{
        d.at("kind"), d.value("what", std::string()), d.at("start_s"), d.at("end_s"), {}, {}};
    kinds.insert(own.kind);
    auto known = std::find_if(windows.begin(), windows.end(), [&](const Window& w) {
      return w.kind == own.kind && w.start == own.start && w.end == own.end && w.what == own.what;
    });
    if (known == windows.end()) known = windows.insert(known, std::move(own));
    const std::string name = d.at("name");
    known->places.push_back(d.value(d.contains("service") ? "service" : "client", std::string()));
    if (std::find(known->names.begin(), known->names.end(), name) == known->names.end()) {
      known->names.push_back(name);
    }
  }
  constexpr std::size_t kMaxNames = 2, kMaxInLegend = 3;
  Json all = Json::array();
  for (Window& w : windows) {
    const std::string name = w.names.size() <= kMaxNames
                                 ? fmt::format("{} {}", w.kind, fmt::join(w.names, ", "))
                                 : counted(w.names.size(), w.kind);
    const std::string where =
        w.places.size() <= kMaxNames
            ? fmt::format("{}", fmt::join(w.places, ", "))
            : counted(w.places.size(), w.kind == "fault" ? "service" : "group");
    Json legend;
    if (windows.size() <= kMaxInLegend) {
      legend = name;
    } else if (all.empty()) {
      legend = counted_disturbances(windows.size(), kinds);
    }
    all.push_back({{"kind", w.kind},
                   {"name", name},
                   {"where", where},
                   {"what", std::move(w.what)},
                   {"start", std::move(w.start)},
                   {"end", std::move(w.end)},
                   {"legend", std::move(legend)}});
  }
  return all;
}

/// Collects the parts of the metadata of one result.
class Metadata {
 public:
  explicit Metadata(const WholeResult& result) : result_(result) {
    const Json& json = result.json;
    for (const char* name : {"scenario", "description", "seed", "replications", "version"}) {
      out_[name] = json.at(name);
    }
    out_["title"] = title_of(json);
    const ResultIdentity identity = identity_of(json, result.folder / kResultJson);
    out_["folder"] = result.name;
    out_["command"] = identity.command;
    out_["options"] = identity.options;
    out_["files"] = result.names;
    add_variants();
    if (result_.has("summary.csv")) add_summary();
    if (result_.has("phases.csv")) add_phases();
    add_sections();
    if (result_.has("points.csv")) add_sweep();
    if (result_.has(kVerdicts)) add_verdicts();
    if (result_.has("map.csv")) out_["map"]["points"] = map_points();
    out_["toml"] = result_.toml;
    add_pictures();
    add_headlines();
    add_notes_of_comparison();
    name_phases();
    out_["clients"] = clients_.all();
    out_["metrics"] = std::move(metrics_);
  }

  /// Sets the end of action of a result with figures over time: `end` is the time at which the last
  /// of them are above zero.
  void set_end_of_action(double end) {
    for (const Json& picture : out_["pictures"]) {
      if (picture.at("name") != "overview" || picture.at("panels").empty()) continue;
      if (!out_.contains("sweep")) end = picture["panels"].front().at("x").at("high");
    }
    out_["end_of_action"] = end;
  }

  std::string text() const { return json_for_script(out_); }

  const std::vector<std::string>& variants() const { return names_.all(); }

 private:
  /// Adds the pictures of the whole result with the figures that are not over time, the first
  /// sentences of the page, and the words for keys. If an older program wrote the result, pictures
  /// are concluded now.
  void add_pictures() {
    const PictureTables tables = [&](std::string_view name) {
      return result_.has(name) ? &result_.table(name) : nullptr;
    };
    const Json& json = result_.json;
    Json all = json.contains("pictures") ? json.at("pictures") : pictures_of(json, tables);
    Json& pictures = out_["pictures"] = Json::array();
    for (Json& picture : all) {
      if (!picture.contains("variant") || picture["variant"].is_null()) {
        pictures.push_back(std::move(picture));
      }
    }
    report::add_points(pictures, tables);
    out_["said"] = said_of(json, tables);
    Json& words = out_["words"] = Json::object();
    for (const char* section : {"curve", "map"}) {
      const Json keys = json.value(section, Json::object()).value("keys", Json::array());
      for (const std::string path : keys) words[path] = key_words(path);
    }
  }

  /// Adds the variants of a run or a comparison, from result.json.
  void add_variants() {
    out_["variants"] = Json::array();
    if (result_.json.contains("variants")) {
      for (Json variant : result_.json.at("variants")) {
        names_.place_of(variant.at("variant"));
        Json graph = graph_of(variant);
        for (const auto& [member, value] : graph.items()) variant.erase(member);
        variant.erase("keys");
        variant["graph"] = std::move(graph);
        out_["variants"].push_back(std::move(variant));
      }
      return;
    }
    out_["graph"] = graph_of(result_.json);
  }

  /// The members of `json` that `graph_json` (report/graph.hpp) has put there, null if an older
  /// program wrote the result; and the disturbances as they are drawn. Runs of a load that goes up
  /// and down have none.
  Json graph_of(const Json& json) const {
    Json graph = Json::object();
    for (const char* name :
         {"window_start_s", "window_end_s", "services", "clients", "calls", "disturbances"}) {
      graph[name] = json.value(name, Json());
    }
    if (result_.json.contains("load")) graph["disturbances"] = Json();
    graph["windows"] = windows_of(graph["disturbances"]);
    return graph;
  }

  /// The graph of a variant, or of a point of a sweep; if the sweep has very many points, that of
  /// the varied scenario.
  const Json& graph_at(std::size_t place) const {
    if (out_.contains("sweep") && out_["sweep"].contains("graphs")) {
      const Json& graphs = out_["sweep"]["graphs"];
      if (place < graphs.size() && graphs[place].is_object()) return graphs[place];
    }
    const Json& variants = out_.at("variants");
    return place < variants.size() ? variants[place].at("graph") : out_.at("graph");
  }

  void add_summary() {
    const ResultTable& table = result_.table("summary.csv");
    const Column &variant = table["variant"], &client = table["client"];
    const Column &metric = table["metric"], &unit = table["unit"];
    const Column &mean = table["mean"], &low = table["ci_low"];
    const Column &high = table["ci_high"], &count = table["replications"];
    Json& summary = out_["summary"] = Json::object();
    Json failing = Json::array();  // [variant, group]
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string name = text_at(metric, row);
      note_metric(name, text_at(unit, row));
      summary[name].push_back({names_.place_of(text_at(variant, row)),
                               clients_.place_of(text_at(client, row)), cell_json(table, mean, row),
                               cell_json(table, low, row, 5), cell_json(table, high, row, 5),
                               cell_json(table, count, row)});
      if (name == "success_rate" && table.number(mean, row).value_or(1) < kFails) {
        failing.push_back({summary[name].back().at(0), summary[name].back().at(1)});
      }
    }
    out_["failing"] = std::move(failing);
  }

  /// Adds an object for each phase of a client group in a variant, with its metrics.
  void add_phases() {
    const ResultTable& table = result_.table("phases.csv");
    const std::array named = {&table["variant"], &table["client"], &table["phase"], &table["kind"],
                              &table["start_s"]};
    const Column &end = table["end_s"], &metric = table["metric"], &unit = table["unit"];
    const Column &mean = table["mean"], &low = table["ci_low"];
    const Column &high = table["ci_high"], &count = table["replications"];
    Json& phases = out_["phases"] = Json::array();
    std::array<std::string, named.size()> last;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      std::array<std::string, named.size()> names;
      for (std::size_t i = 0; i < named.size(); ++i) names[i] = text_at(*named[i], row);
      if (phases.empty() || names != last) {
        phases.push_back({{"v", names_.place_of(names[0])},
                          {"c", clients_.place_of(names[1])},
                          {"phase", names[2]},
                          {"kind", names[3]},
                          {"start", cell_json(table, *named[4], row)},
                          {"end", cell_json(table, end, row)},
                          {"m", Json::object()}});
        last = std::move(names);
      }
      const std::string name = text_at(metric, row);
      note_metric(name, text_at(unit, row));
      phases.back()["m"][name] = {cell_json(table, mean, row), cell_json(table, low, row, 5),
                                  cell_json(table, high, row, 5), cell_json(table, count, row)};
    }
  }

  void note_metric(const std::string& name, const std::string& unit) {
    if (!metrics_.contains(name)) metrics_[name] = metric_json(name, unit);
  }

  /// Adds the members that result.json has for one command only.
  void add_sections() {
    const Json& json = result_.json;
    for (const char* name :
         {"verdicts",   "answers", "expectations", "slos",         "comparison", "trigger",
          "outcome",    "d50",     "curve",        "not_monotone", "probes",     "choice",
          "policies",   "advice",  "map",          "sentences",    "notes",      "scenario_notes",
          "prediction", "planes"}) {
      if (json.contains(name)) out_[name] = json.at(name);
    }
    for (const char* name : {"uncertain", "uncertain_variants", "size", "frontier", "risk"}) {
      if (json.contains(name)) out_[name] = json.at(name);
    }
    if (json.contains("verdicts") && !json.contains("answers")) add_answers(json.at("verdicts"));
    if (json.contains("choice")) {
      note_metric(json.at("choice").at("metric"), json.at("choice").at("unit"));
    }
    if (json.at("command") == "fit") {
      for (const char* name : {"log", "figures", "laws", "incidents", "backtest"}) {
        if (json.contains(name)) out_["fitted"][name] = json.at(name);
      }
      if (json.contains("backtest")) name_figures(out_["fitted"]["backtest"]["figures"]);
    }
    if (json.contains("load")) {
      for (const auto& [name, value] : json.items()) {
        const bool figure = value.is_object() && value.contains("mean");
        if (name == "load" || figure) out_["hysteresis"][name] = value;
      }
    }
  }

  /// Adds the words for each figure of a backtest.
  static void name_figures(Json& figures) {
    for (Json& figure : figures) {
      const auto name = figure.at("figure").get<std::string>();
      const auto of = std::ranges::find(fit::kBacktestFigureNames, std::string_view(name),
                                        &fit::BacktestFigureNames::in_files);
      if (of != fit::kBacktestFigureNames.end()) figure["label"] = of->in_words;
    }
  }

  /// Adds the verdicts on the points of a sweep, in the form in which result.json has those of a
  /// run.
  void add_verdicts() {
    const ResultTable& table = result_.table(kVerdicts);
    const Column* const fate = table.find("fate");  // results of version 0.2 have none
    Json& rows = out_["verdicts"] = Json::array();
    for (std::size_t row = 0; row < table.rows(); ++row) {
      Json& verdict = rows.emplace_back();
      for (const char* name : {"variant", "client", "rule", "severity", "sentence"}) {
        verdict[name] = text_at(table[name], row);
      }
      if (fate != nullptr) verdict["fate"] = text_at(*fate, row);
    }
    add_answers(rows);
  }

  /// Adds the answers grouped from single verdicts, for results that have only these: sweeps, and
  /// results of version 0.2.
  void add_answers(const Json& verdicts) {
    // Statements by variant, in order.
    std::vector<std::pair<std::string, std::vector<Statement>>> by_variant;
    for (const Json& row : verdicts) {
      const auto text = [&](const char* name) { return row.at(name).get<std::string>(); };
      if (by_variant.empty() || by_variant.back().first != text("variant")) {
        by_variant.push_back({text("variant"), {}});
      }
      by_variant.back().second.push_back({text("client"), text("severity"), text("sentence")});
    }
    Json answers = Json::array();
    for (const auto& [variant, statements] : by_variant) {
      Json answer = {{"variant", variant}};
      answer.update(json_of(grouped(statements)));
      answers.push_back(std::move(answer));
    }
    out_["answers"] = std::move(answers);
  }

  /// Adds the headline of each variant or point, one sentence, and the services that are named as
  /// the cause. Results of version 0.2 and before name only a single cause.
  void add_headlines() {
    if (!out_.contains("answers")) return;
    std::map<std::string, std::vector<const Json*>> by_variant;
    for (const Json& verdict : out_.at("verdicts")) {
      by_variant[verdict.at("variant").get<std::string>()].push_back(&verdict);
    }
    for (Json& answer : out_["answers"]) {
      const auto variant = answer.at("variant").get<std::string>();
      const std::vector<const Json*>& verdicts = by_variant[variant];
      answer["headline"] = headline_of_run(verdicts, told_apart(names_.place_of(variant)), answer);
      Json& culprits = answer["culprits"] = Json::array();
      for (const Json* verdict : verdicts) {
        Json named = verdict->value("culprits", Json::array());
        if (named.empty() && verdict->contains("culprit")) named.push_back(verdict->at("culprit"));
        for (Json& name : named) {
          if (std::find(culprits.begin(), culprits.end(), name) == culprits.end()) {
            culprits.push_back(std::move(name));
          }
        }
      }
    }
  }

  /// The client groups that send requests of their own; if none of these has results, all groups.
  std::vector<std::string> told_apart(std::size_t place) const {
    std::set<std::string> own;
    for (const Json& client : graph_at(place).at("clients")) own.insert(client.at("name"));
    std::vector<std::string> groups, told;
    for (const std::string& name : clients_.all()) {
      if (name != "all") groups.push_back(name);
      if (name != "all" && own.contains(name)) told.push_back(name);
    }
    if (groups.empty()) groups.emplace_back("all");
    return told.empty() ? groups : told;
  }

  /// Adds the notes of a comparison, which are about all variants, and those notes of single
  /// variants that it lacks, with the variants' names.
  void add_notes_of_comparison() {
    if (!result_.json.contains("comparison")) return;
    const Json& variants = out_.at("variants");
    Json notes = result_.json.at("comparison").value("notes", Json::array());
    // A note, and its variants.
    std::vector<std::pair<std::string, std::vector<std::string>>> of_scenario;
    for (const Json& variant : variants) {
      const std::string name = variant.at("variant");
      for (const std::string note : variant.value("notes", Json::array())) {
        const std::string own = fmt::format("{}: {}", name, note);
        const auto is_there = [&](const std::string& text) {
          return std::find(notes.begin(), notes.end(), text) != notes.end();
        };
        if (!is_there(note) && !is_there(own)) notes.push_back(own);
      }
      for (const std::string note : variant.value("scenario_notes", Json::array())) {
        auto known = std::find_if(of_scenario.begin(), of_scenario.end(),
                                  [&](const auto& one) { return one.first == note; });
        if (known == of_scenario.end()) known = of_scenario.insert(known, {note, {}});
        known->second.push_back(name);
      }
    }
    out_["notes"] = std::move(notes);
    Json& texts = out_["scenario_notes"] = Json::array();
    for (const auto& [note, names] : of_scenario) {
      texts.push_back(names.size() == variants.size()
                          ? note
                          : fmt::format("{}: {}", fmt::join(names, ", "), note));
    }
  }

  /// Names phases after their disturbances, of which there may be many at once, and marks phases in
  /// which success fell by more than a tenth.
  void name_phases() {
    if (!out_.contains("phases")) return;
    constexpr std::size_t kMaxNames = 2;
    const auto success_of = [](const Json& phase) {
      const Json success = phase.at("m").value("success_rate", Json::array({Json()}));
      return success.front().is_number() ? std::optional(success.front().get<double>())
                                         : std::nullopt;
    };
    std::map<std::pair<std::size_t, std::size_t>, double> usual;  // success by variant and group
    for (Json& phase : out_["phases"]) {
      const std::size_t v = phase.at("v"), c = phase.at("c");
      const std::string kind = phase.at("kind"), phase_name = phase.at("phase");
      const std::optional<double> success = success_of(phase);
      if (kind == "before" && success) usual.emplace(std::pair(v, c), *success);
      const auto before = usual.find({v, c});
      if (success && *success < kFails * (before == usual.end() ? 1 : before->second)) {
        phase["fails"] = true;
      }
      const std::vector<std::string> names = split_at(phase_name, '+');
      if (kind != "during" || names.size() <= kMaxNames) {
        phase["name"] = phase_name;
        continue;
      }
      std::set<std::string> kinds;
      for (const Json& d : graph_at(v).at("disturbances")) {
        if (std::find(names.begin(), names.end(), d.at("name").get_ref<const std::string&>()) !=
            names.end()) {
          kinds.insert(d.at("kind"));
        }
      }
      phase["name"] = counted_disturbances(names.size(), kinds);
    }
  }

  /// The points of a map: the value of each varied key and the phase there.
  Json map_points() const {
    const ResultTable& table = result_.table("map.csv");
    std::vector<const Column*> columns;
    for (const std::string name : result_.json.at("map").at("columns")) {
      columns.push_back(&table[name]);
    }
    Json points = Json::array();
    for (std::size_t row = 0; row < table.rows(); ++row) {
      Json point = {{"phase", text_at(table["phase"], row)}, {"at", Json::array()}};
      for (const Column* column : columns) point["at"].push_back(text_at(*column, row));
      points.push_back(std::move(point));
    }
    return points;
  }

  /// Throws DamagedResult if the grid has far more points than points.csv has rows. Only shards,
  /// and a sweep that was broken off, have fewer rows than points. A far larger grid is none that a
  /// sweep has written, and would take the memory of all its names.
  void check_grid(const std::vector<Variation>& variations) const {
    constexpr double kSmall = 100'000, kMost = 10e6, kMaxShards = 1000;
    double points = 1;
    for (const Variation& v : variations) points *= static_cast<double>(v.choices.size());
    const auto rows = static_cast<double>(result_.table("points.csv").rows());
    if (points <= std::max(kSmall, std::min(kMost, rows * kMaxShards))) return;
    throw DamagedResult(
        result_.folder / kResultJson,
        fmt::format("is damaged: sweep.vary has {:.0f} combinations, points.csv {:.0f} points",
                    points, rows));
  }

  static std::string words_of(const std::vector<std::string>& paths) {
    std::vector<std::string> words;
    for (const std::string& path : paths) {
      if (const std::string own = key_words(path);
          std::find(words.begin(), words.end(), own) == words.end()) {
        words.push_back(own);
      }
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

  /// The label of a slider: its keys in words, with the names in them if two sliders would have the
  /// same label.
  static std::string slider_label(const Variation& own, const std::vector<Variation>& all) {
    const std::string words = words_of(own.paths);
    const auto same = std::count_if(all.begin(), all.end(), [&](const Variation& other) {
      return words_of(other.paths) == words;
    });
    if (same < 2) return words;
    std::vector<std::string> names;
    for (const std::string& path : own.paths) {
      const std::size_t dot = path.find('.') + 1;  // 0 if there is no dot
      names.push_back(path.substr(dot, path.find('.', dot) - dot));
    }
    return fmt::format("{} ({})", words, fmt::join(names, ", "));
  }

  /// The labels of a slider's choices: for tables only the members that differ.
  static std::vector<std::string> choice_labels(const Variation& variation) {
    std::vector<std::string> labels(variation.choices.size());
    for (std::size_t path = 0; path < variation.paths.size(); ++path) {
      std::vector<std::string> values;
      for (const auto& choice : variation.choices) values.push_back(without_quotes(choice[path]));
      const std::vector<std::string> own = value_labels(values);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        labels[i] += (path > 0 ? ", " : "") + own[i];
      }
    }
    return labels;
  }

  static std::string without_quotes(const std::string& value) {
    const bool quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
    return quoted ? value.substr(1, value.size() - 2) : value;
  }

  void add_sweep() {
    const Json& sweep = result_.json.at("sweep");
    Json& out = out_["sweep"];
    for (const char* name : {"points_that_fail", "points_uncertain", "points_over_limit", "points",
                             "shard", "graphs"}) {
      if (sweep.contains(name)) out[name] = sweep.at(name);
    }
    if (out.contains("graphs")) {
      for (Json& graph : out["graphs"]) {
        if (graph.is_object()) graph["windows"] = windows_of(graph.value("disturbances", Json()));
      }
    }
    const std::vector<std::string> vary = sweep.at("vary");
    const VariationsResult parsed = parse_variations(vary);
    if (!parsed.errors.empty()) {
      throw DamagedResult(result_.folder / kResultJson, "is damaged: sweep.vary");
    }
    out["sliders"] = Json::array();
    for (const Variation& variation : parsed.variations) {
      out["sliders"].push_back({{"paths", variation.paths},
                                {"short", short_names(variation.paths)},
                                {"choices", variation.choices},
                                {"label", slider_label(variation, parsed.variations)},
                                {"labels", choice_labels(variation)}});
    }
    std::map<std::string, std::size_t> grid_places;
    check_grid(parsed.variations);
    const std::vector<Variant> variants = grid(parsed.variations);
    for (std::size_t i = 0; i < variants.size(); ++i) grid_places.emplace(variants[i].name, i);
    const ResultTable& table = result_.table("points.csv");
    const Column &variant = table["variant"], &outcome = table["outcome"];
    const Column& modes = table["modes"];
    std::size_t with_two_modes = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.number(modes, row) == 2) ++with_two_modes;
      const std::string name = text_at(variant, row);
      const auto at = grid_places.find(name);
      if (at == grid_places.end()) {
        throw DamagedResult(table.file(),
                            fmt::format("has a point that is not in the grid: {}", name));
      }
      out["at"].push_back({at->second, names_.place_of(name), text_at(outcome, row)});
    }
    out["names"] = names_.all();
    add_notes_of_sweep(with_two_modes);
  }

  /// Adds notes on points whose results need care, or that have none.
  void add_notes_of_sweep(std::size_t with_two_modes) {
    const Json& sweep = out_["sweep"];
    const std::string of = "of " + counted(sweep.value("at", Json::array()).size(), "point");
    Json notes = Json::array();
    const auto note = [&](const Json& count, std::string_view words) {
      if (count.is_number() && count > 0) {
        const std::string number = picture_digits(count.get<double>(), 6);
        notes.push_back(fmt::format(fmt::runtime(words), fmt::arg("points", number + " " + of)));
      }
    };
    note(with_two_modes, "Two modes of goodput at {points}: a mean over both describes neither.");
    note(sweep.value("points_over_limit", Json()),
         "{points} exceeded a limit and have no results.");
    note(sweep.value("points_that_fail", Json()), "Expectations fail at {points}.");
    note(sweep.value("points_uncertain", Json()), "Expectations are uncertain at {points}.");
    out_["sweep"]["notes"] = std::move(notes);
  }

  /// Share of the usual successes below which the drawing of a graph says that a service fails.
  static constexpr double kFails = 0.9;

  const WholeResult& result_;
  Json out_;
  Json metrics_ = Json::object();
  NameList names_, clients_;
};

PageResult page_result(const WholeResult& result, std::size_t most_bytes) {
  PageResult page;
  read_members(result.folder / kResultJson, [&] {
    Metadata metadata(result);
    page.title = title_of(result.json);
    page.series = "[]";
    if (result.has(kMeanTimeseries)) {
      const PageSeriesTable series(result.table(kMeanTimeseries), result.table(kMeanService),
                                   metadata.variants());
      metadata.set_end_of_action(series.end_of_action());
      page.series = series.json(most_bytes);
    }
    page.metadata = metadata.text();
  });
  return page;
}

/// The folder that is locked while a result is read: a run that replaces the result waits until all
/// files have been read.
fs::path locked_for(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  return error ? folder : real.parent_path();
}

}  // namespace

PageResult page_result(const Document& document, const LoadedScenario& scenario,
                       const ResultIdentity& answers, std::size_t most_bytes) {
  const fs::path folder = scenario.scenario.name;
  StringSink json;
  document.write_json(json, answers, {});
  WholeResult result;
  result.folder = folder;
  result.name = folder.string();
  result.json = json_in(folder / kResultJson, json.text());
  for (const TableSource& source : document.tables()) result.names.push_back(file_name(source));
  result.toml = to_toml(scenario, false);
  result.read_table = [&](const std::string& file) {
    const auto& all = document.tables();
    const auto source = std::find_if(
        all.begin(), all.end(), [&](const TableSource& one) { return file_name(one) == file; });
    return ResultTable(folder / file, table_of(*source));
  };
  result.names.emplace_back(kScenarioToml);
  for (const fs::path& input : scenario.input_files) {
    result.names.push_back(input.filename().string());
  }
  return page_result(result, most_bytes);
}

PageResult read_page_result(const fs::path& folder, std::size_t most_bytes) {
  const FolderLock lock(locked_for(folder));
  return page_result(checked_result(folder), most_bytes);
}

namespace {

namespace fs = std::filesystem;

/// Most bytes of the series of all results together.
constexpr std::size_t kMaxSeriesBytes = 4'000'000;
/// Most bytes of the series of a result that is no sweep.
constexpr std::size_t kMaxBytesOfRun = 1'800'000;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

unsigned digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// A SHA-256 in Base64, as policies name it, from its hexadecimal digits.
std::string base64_of_sha256(std::string_view hexadecimal) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  // Three digits are two characters; the last of the 64 digits stands alone.
  for (std::size_t i = 0; i < hexadecimal.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      bits = bits << 4 | (k < hexadecimal.size() ? digit(hexadecimal[k]) : 0);
    }
    out += kAlphabet[bits >> 6];
    if (i + 1 < hexadecimal.size()) out += kAlphabet[bits & 63];
  }
  return out + "=";
}

/// The content security policy of a page. Nothing is loaded: only the style and the script of the
/// page are allowed, and the worker that runs the engine, which is a part of the script. Images are
/// those that the script itself makes of drawings, to save them.
std::string policy(const PageParts& parts, bool live) {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'{}; style-src 'sha256-{}'; img-src data:; {}"
      "base-uri 'none'; form-action 'none'",
      base64_of_sha256(parts.script_sha256), live ? " 'wasm-unsafe-eval'" : "",
      base64_of_sha256(parts.style_sha256), live ? "worker-src blob:; " : "");
}

std::string data_element(std::string_view id, std::string_view json) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, json);
}

/// The page of `results`. `more`: further elements, for a page that has the engine.
std::string page_of(std::span<const PageResult> results, std::string_view more = {}) {
  const bool live = !more.empty();
  const PageParts& parts = page_parts(live);
  std::string title;
  for (const PageResult& result : results) title += (title.empty() ? "" : ", ") + result.title;
  std::string page = kPageHead;
  page += "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n",
                      policy(parts, live));
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page += fmt::format("<meta name=\"generator\" content=\"retrysim {}\">\n", RETRYSIM_VERSION);
  page += fmt::format("<title>{} - retrysim</title>\n", escaped(title));
  page += fmt::format("<style>{}</style>\n</head>\n<body>\n", parts.style);
  page += live ? "<main><div id=\"live\"></div><div id=\"page\"></div></main>\n"
               : "<main id=\"page\"></main>\n";
  page +=
      "<noscript>This page draws its contents with JavaScript, "
      "which is switched off.</noscript>\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    page += data_element(fmt::format("result-{}", i), results[i].metadata);
    page += data_element(fmt::format("series-{}", i), results[i].series);
  }
  page += more;
  page += fmt::format("<script>{}</script>\n</body>\n</html>\n", parts.script);
  return page;
}

constexpr std::string_view kEngineElement = "<script type=\"text/plain\" id=\"engine\">";
constexpr std::string_view kEndOfScript = "</script>";

}  // namespace

std::string html_page(std::span<const fs::path> folders) {
  const std::size_t share = kMaxSeriesBytes / folders.size();
  std::vector<PageResult> results;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const bool sweep = fs::exists(folder / "points.csv", error);
    results.push_back(read_page_result(folder, sweep ? share : std::min(share, kMaxBytesOfRun)));
  }
  return page_of(results);
}

std::string engine_of_page(const fs::path& page) {
  const std::string text = content_of(page);
  const std::string made_by =
      fmt::format("<meta name=\"generator\" content=\"retrysim {}\">", RETRYSIM_VERSION);
  const std::size_t element = text.find(kEngineElement);
  if (!text.starts_with(kEnginePageHead) || element == std::string::npos) {
    throw DamagedResult(page, "has no engine; scripts/page makes a page that has one");
  }
  if (text.find(made_by) == std::string::npos) {
    throw DamagedResult(page, fmt::format("is of another version than this program, {}; call "
                                          "scripts/page again",
                                          RETRYSIM_VERSION));
  }
  const std::size_t begin = element + kEngineElement.size();
  const std::size_t end = text.find(kEndOfScript, begin);
  const std::string engine = text.substr(begin, end == std::string::npos ? 0 : end - begin);
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  if (engine.empty() || engine.find_first_not_of(kBase64) != std::string::npos) {
    throw DamagedResult(page, "is damaged: its engine is cut off");
  }
  return engine;
}

std::string live_page(const fs::path& folder, std::string_view engine) {
  const FolderLock lock(locked_for(folder));
  const WholeResult result = checked_result(folder);
  if (identity_of(result.json, folder / kResultJson).command != "run") {
    throw DamagedResult(folder, "is not a result of `retrysim run`, which --live needs");
  }
  const std::vector<PageResult> results{page_result(result, kMaxBytesOfRun)};
  // The result's scenario contains the changes, but the description of the unchanged file.
  Json scenario = {{"name", result.json.at("scenario")},
                   {"path", kScenarioToml},
                   {"toml", result.toml},
                   {"changes", result.json.value("changes", Json::array())},
                   {"files", Json::object()}};
  for (const std::string& name : result.names) {
    const bool is_input = name.ends_with(".csv") && !scenario::is_taken_by_results(name);
    if (is_input) scenario["files"][name] = content_of(folder / name);
  }
  std::string more = data_element("scenarios", json_for_script(Json::array({scenario})));
  more += fmt::format("{}{}{}\n", kEngineElement, engine, kEndOfScript);
  return page_of(results, more);
}

}  // namespace retrysim::report
