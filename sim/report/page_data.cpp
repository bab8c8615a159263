// SPDX-License-Identifier: MIT
#include "report/page_data.hpp"

#include "report/json_parts.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/variation.hpp>

#include "report/csv_reader.hpp"
#include "report/mean_series_csv.hpp"
#include "report/page_json.hpp"
#include "report/page_series.hpp"
#include "report/result_identity.hpp"
#include "report/result_manifest.hpp"
#include "report/staging_folder.hpp"
#include "report/sweep_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A result folder whose files are as they were written.
struct CheckedResult {
  explicit CheckedResult(const fs::path& path) : folder(path), json(read_sealed(path)) {
    const std::vector<FileRecord> records = file_records(json, folder / kResultJson);
    if (records.empty()) {
      throw DamagedResult(folder / kResultJson, "has no checksums; compute the result again");
    }
    for (const FileRecord& record : records) {
      const std::string fault = fault_of(folder, record);
      if (!fault.empty()) throw DamagedResult(folder / record.name, fault);
      names.push_back(record.name);
    }
  }

  bool has(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  fs::path folder;
  Json json;
  std::vector<std::string> names;
};

Json cell_json(const CsvReader& csv, std::size_t column, int digits = 6) {
  const auto value = csv.number(column);
  return value ? compact(*value, digits) : Json();
}

/// What the page says of a metric.
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

/// Names in the order in which they came first.
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

/// Collects the parts of the metadata of one result.
class Metadata {
 public:
  explicit Metadata(const CheckedResult& result) : result_(result) {
    const Json& json = result.json;
    for (const char* name : {"scenario", "description", "seed", "replications", "version"}) {
      out_[name] = json.at(name);
    }
    const ResultIdentity identity = identity_of(json, result.folder / kResultJson);
    out_["folder"] = fs::weakly_canonical(result.folder).filename().string();
    out_["command"] = identity.command;
    out_["requests"] = identity.requests;
    out_["files"] = result.names;
  }

  std::string text() {
    add_variants();
    if (result_.has("summary.csv")) add_summary();
    if (result_.has("phases.csv")) add_phases();
    add_sections();
    if (result_.has("points.csv")) add_sweep();
    if (result_.has(kVerdicts)) add_verdicts();
    if (result_.has("hysteresis.csv")) out_["hysteresis"]["rows"] = table("hysteresis.csv");
    if (result_.has("map.csv")) out_["map"]["points"] = map_points();
    out_["toml"] = content_of(result_.folder / "scenario.toml");
    out_["clients"] = clients_.all();
    out_["metrics"] = std::move(metrics_);
    return json_for_script(out_);
  }

  const std::vector<std::string>& variants() const { return names_.all(); }

 private:
  /// Of a run or a comparison from result.json, of a sweep from points.csv.
  void add_variants() {
    out_["variants"] = Json::array();
    if (result_.json.contains("variants")) {
      for (Json variant : result_.json.at("variants")) {
        names_.place_of(variant.at("variant"));
        if (names_.all().size() == 1) {
          out_["keys"] = variant.at("keys");
        } else {
          variant["keys"] = differing_keys(variant.at("keys"));
        }
        if (names_.all().size() == 1) variant.erase("keys");
        out_["variants"].push_back(std::move(variant));
      }
      return;
    }
    out_["keys"] = result_.json.value("keys", Json::object());
    out_["services"] = result_.json.value("services", Json::array());
  }

  Json differing_keys(const Json& keys) const {
    std::map<std::string_view, const Json*> first;
    for (const auto& [key, value] : out_["keys"].items()) first.emplace(key, &value);
    Json differing = Json::object();
    for (const auto& [key, value] : keys.items()) {
      const auto at = first.find(key);
      if (at == first.end() || *at->second != value) append_member(differing, key, value);
    }
    return differing;
  }

  void add_summary() {
    CsvReader csv(result_.folder / "summary.csv");
    const std::size_t variant = csv.column("variant"), client = csv.column("client");
    const std::size_t metric = csv.column("metric"), unit = csv.column("unit");
    const std::size_t mean = csv.column("mean"), low = csv.column("ci_low");
    const std::size_t high = csv.column("ci_high"), count = csv.column("replications");
    Json& summary = out_["summary"] = Json::object();
    while (csv.next()) {
      const std::string& name = csv.text(metric);
      note_metric(name, csv.text(unit));
      summary[name].push_back({names_.place_of(csv.text(variant)),
                               clients_.place_of(csv.text(client)), cell_json(csv, mean),
                               cell_json(csv, low, 5), cell_json(csv, high, 5),
                               cell_json(csv, count)});
    }
  }

  /// One object for each phase of a client group in a variant, with its metrics.
  void add_phases() {
    CsvReader csv(result_.folder / "phases.csv");
    const std::size_t variant = csv.column("variant"), client = csv.column("client");
    const std::size_t phase = csv.column("phase"), kind = csv.column("kind");
    const std::size_t start = csv.column("start_s"), end = csv.column("end_s");
    const std::size_t metric = csv.column("metric"), unit = csv.column("unit");
    const std::size_t mean = csv.column("mean"), low = csv.column("ci_low");
    const std::size_t high = csv.column("ci_high"), count = csv.column("replications");
    Json& phases = out_["phases"] = Json::array();
    std::string last;
    while (csv.next()) {
      const std::string place = csv.text(variant) + "\n" + csv.text(client) + "\n" +
                                csv.text(phase) + "\n" + csv.text(kind) + "\n" + csv.text(start);
      if (phases.empty() || place != last) {
        phases.push_back({{"v", names_.place_of(csv.text(variant))},
                          {"c", clients_.place_of(csv.text(client))},
                          {"phase", csv.text(phase)},
                          {"kind", csv.text(kind)},
                          {"start", cell_json(csv, start)},
                          {"end", cell_json(csv, end)},
                          {"m", Json::object()}});
      }
      last = place;
      note_metric(csv.text(metric), csv.text(unit));
      phases.back()["m"][csv.text(metric)] = {cell_json(csv, mean), cell_json(csv, low, 5),
                                              cell_json(csv, high, 5), cell_json(csv, count)};
    }
  }

  void note_metric(const std::string& name, const std::string& unit) {
    if (!metrics_.contains(name)) metrics_[name] = metric_json(name, unit);
  }

  /// What result.json has for one command only.
  void add_sections() {
    const Json& json = result_.json;
    for (const char* name :
         {"verdicts", "expectations", "comparison", "trigger", "outcome", "d50", "curve",
          "not_monotone", "probes", "choice", "policies", "map", "sentences", "notes"}) {
      if (json.contains(name)) out_[name] = json.at(name);
    }
    if (json.contains("choice")) {
      note_metric(json.at("choice").at("metric"), json.at("choice").at("unit"));
    }
    if (json.contains("load")) {
      for (const auto& [name, value] : json.items()) {
        const bool figure = value.is_object() && value.contains("mean");
        if (name == "load" || figure) out_["hysteresis"][name] = value;
      }
    }
  }

  /// Of the points of a sweep, as result.json has those of a run.
  void add_verdicts() {
    CsvReader csv(result_.folder / kVerdicts);
    Json& rows = out_["verdicts"] = Json::array();
    while (csv.next()) {
      Json row;
      for (const char* name : {"variant", "client", "severity", "sentence"}) {
        row[name] = csv.text(csv.column(name));
      }
      rows.push_back(std::move(row));
    }
  }

  /// A whole table as rows of objects.
  Json table(const char* name) const {
    CsvReader csv(result_.folder / name);
    const std::size_t branch = csv.column("branch");
    Json rows = Json::array();
    while (csv.next()) {
      Json row = {{"branch", csv.text(branch)}};
      for (const char* column : {"load", "offered_load", "goodput", "ci_low", "ci_high"}) {
        row[column] = cell_json(csv, csv.column(column));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// The points of a map: the value of each varied key and the phase there.
  Json map_points() const {
    CsvReader csv(result_.folder / "map.csv");
    const std::size_t phase = csv.column("phase");
    std::vector<std::size_t> columns;
    for (const std::string name : result_.json.at("map").at("columns")) {
      columns.push_back(csv.column(name));
    }
    Json points = Json::array();
    while (csv.next()) {
      Json point = {{"phase", csv.text(phase)}, {"at", Json::array()}};
      for (const std::size_t column : columns) point["at"].push_back(csv.text(column));
      points.push_back(std::move(point));
    }
    return points;
  }

  /// The grid: what each slider goes through, and which point is where.
  void add_sweep() {
    const Json& sweep = result_.json.at("sweep");
    Json& out = out_["sweep"];
    for (const char* name : {"points_that_fail", "points_over_limit", "points", "shard"}) {
      if (sweep.contains(name)) out[name] = sweep.at(name);
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
                                {"choices", variation.choices}});
    }
    std::map<std::string, std::size_t> grid_places;
    const std::vector<Variant> variants = grid(parsed.variations);
    for (std::size_t i = 0; i < variants.size(); ++i) grid_places.emplace(variants[i].name, i);
    CsvReader csv(result_.folder / "points.csv");
    const std::size_t name = csv.column("variant"), outcome = csv.column("outcome");
    const std::size_t modes = csv.column("modes");
    std::size_t with_two_modes = 0;
    while (csv.next()) {
      if (csv.text(modes) == "2") ++with_two_modes;
      const auto at = grid_places.find(csv.text(name));
      if (at == grid_places.end()) {
        throw DamagedResult(result_.folder / "points.csv",
                            fmt::format("has a point that is not in the grid: {}", csv.text(name)));
      }
      const std::size_t place = names_.place_of(csv.text(name));
      out["at"].push_back({at->second, place, csv.text(outcome)});
    }
    out["names"] = names_.all();
    out["points_with_two_modes"] = with_two_modes;
  }

  const CheckedResult& result_;
  Json out_;
  Json metrics_ = Json::object();
  NameList names_, clients_;
};

}  // namespace

PageResult read_page_result(const fs::path& folder, std::size_t most_bytes) {
  // A run that replaces the result waits until all its files have been read.
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  const FolderLock lock(error ? folder : real.parent_path());
  const CheckedResult result(folder);
  PageResult page;
  read_members(folder / kResultJson, [&] {
    Metadata metadata(result);
    page.title = result.json.at("scenario");
    page.metadata = metadata.text();
    page.series = "[]";
    if (result.has(kMeanTimeseries)) {
      page.series = PageSeriesTable(folder, metadata.variants()).json(most_bytes);
    }
  });
  return page;
}

}  // namespace retrysim::report
