// SPDX-License-Identifier: MIT
#include "report/pictures/pictures.hpp"

#include "report/pictures/draft.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

namespace retrysim::report {

namespace {

struct KeyWords {
  std::string_view key, words, unit;
};

/// Words for the keys that are varied most.
constexpr std::array<KeyWords, 25> kKeyWords = {{
    {"client.*.arrivals.total_rate", "offered load", "requests/s"},
    {"client.*.arrivals.rate", "offered load of each client", "requests/s"},
    {"client.*.surge.*.duration", "length of the surge", "s"},
    {"client.*.surge.*.factor", "load of the surge, times the usual", ""},
    {"client.*.count", "clients", ""},
    {"client.*.attempt_timeout", "timeout of an attempt", "s"},
    {"client.*.deadline", "deadline of a request", "s"},
    {"client.*.retry.mode", "retry mode", ""},
    {"client.*.retry.sdk", "SDK", ""},
    {"client.*.retry.max_attempts", "most attempts", ""},
    {"client.*.retry.backoff.base", "base of the backoff", "s"},
    {"client.*.retry.backoff.cap", "longest backoff", "s"},
    {"client.*.retry.backoff.jitter", "jitter", ""},
    {"client.*.retry.quota.capacity", "capacity of the retry quota", ""},
    {"fault.*.duration", "length of the fault", "s"},
    {"fault.*.capacity", "share of the servers in the fault", ""},
    {"fault.*.speed", "speed in the fault, times the usual", ""},
    {"service.*.servers", "servers", ""},
    {"service.*.instances", "instances", ""},
    {"service.*.queue.capacity", "places in the queue", ""},
    {"service.*.queue.discipline", "queue discipline", ""},
    {"service.*.service_time", "mean service time", "s"},
    {"service.*.service_time.mean", "mean service time", "s"},
    {"service.*.throttle.rate", "throttle", "attempts/s"},
    {"service.*.concurrency.limit", "concurrency limit", ""},
}};

/// A path with a star in place of each name.
std::string pattern_of(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNamed = {"client", "fault", "service", "surge"};
  std::string pattern;
  bool is_name = false;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, dot);
    pattern += (pattern.empty() ? "" : ".");
    pattern += is_name ? "*" : std::string(part);
    is_name = !is_name && std::find(kNamed.begin(), kNamed.end(), part) != kNamed.end() &&
              dot < path.size();
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return pattern;
}

}  // namespace

std::string key_words(std::string_view path, std::string_view unit) {
  const std::string pattern = pattern_of(path);
  const auto known = std::find_if(kKeyWords.begin(), kKeyWords.end(),
                                  [&](const KeyWords& one) { return one.key == pattern; });
  const bool is_known = known != kKeyWords.end();
  std::string words(is_known ? known->words : path);
  if (unit.empty() || unit == "1") return words;
  const std::string_view own = is_known && !known->unit.empty() ? known->unit : unit;
  return words + ", " + std::string(own);
}

namespace {

/// The name in a path such as "service.NAME.servers"; empty if nothing else of its kind exists.
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

}  // namespace

std::string said_key(const Scenario& scenario, const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view last = std::string_view(path).substr(dot + 1);
  std::string words = key_words(path);
  if (words == path && last == "mean") words = key_words(path.substr(0, dot));
  if (words == path && last == "factor") {
    words = key_words(path.substr(0, dot));
    if (words == path.substr(0, dot)) words = path;
  }
  if (words == path || words + ".mean" == path) return path;
  constexpr std::array<std::string_view, 4> kCounted = {"clients", "servers", "instances",
                                                        "places in the queue"};
  const bool counted = std::ranges::find(kCounted, words) != kCounted.end();
  const std::string_view name = whose(scenario, path);
  return fmt::format("the {}{}{}", counted ? "number of " : "", words,
                     name.empty() ? "" : fmt::format(" of {}", name));
}

bool is_for_pictures(std::string_view file) {
  constexpr std::array<std::string_view, 25> kTables = {
      "advice.csv",    "attempts.csv", "backtest.csv",     "compare.csv",
      "confirm.csv",   "curve.csv",    "equilibria.csv",   "hysteresis.csv",
      "latency.csv",   "map.csv",      "mean_service.csv", "mean_timeseries.csv",
      "points.csv",    "race.csv",     "risk.csv",         "size.csv",
      "storms.csv",    "summary.csv",  "tip.csv",          "trajectories.csv",
      "uncertain.csv", "frontier.csv", "variants.csv",     "path.csv",
      "levels.csv"};
  return std::find(kTables.begin(), kTables.end(), file) != kTables.end();
}

bool is_over_time(std::string_view file) {
  return file == "mean_service.csv" || file == "mean_timeseries.csv";
}

PictureJson pictures_of(const PictureJson& json, const PictureTables& tables) {
  PictureJson pictures = PictureJson::array();
  const PictureResult result(json, tables);
  if (json.contains("choice")) {
    add_choice_picture(pictures, result);
  } else if (json.contains("advice")) {
    add_advice_picture(pictures, result);
  } else if (json.contains("map")) {
    add_map_picture(pictures, result);
  } else if (json.contains("uncertain")) {
    add_uncertain_picture(pictures, result);
  } else if (json.contains("uncertain_variants")) {
    add_uncertain_variants_picture(pictures, result);
  } else if (json.contains("frontier")) {
    add_frontier_picture(pictures, result);
  } else if (json.contains("size")) {
    add_size_picture(pictures, result);
  } else if (json.contains("risk")) {
    add_risk_picture(pictures, result);
  } else if (json.contains("prediction")) {
    add_prediction_picture(pictures, result);
  } else if (json.contains("trigger") || json.contains("load")) {
    add_tip_pictures(pictures, result);
  } else if (json.contains("sweep")) {
    add_sweep_pictures(pictures, result);
  } else if (json.contains("backtest")) {
    add_fit_picture(pictures, result);
  } else if (json.contains("variants") && !json.at("variants").empty()) {
    add_run_pictures(pictures, result);
    add_comparison_picture(pictures, result);
  }
  return pictures;
}

namespace {

/// Finds the numbers of a series, or of the cells of a panel, in a table.
class Points {
 public:
  Points(const PictureJson& panel, const PictureResult& result) : panel_(panel), result_(result) {}

  /// The points of a series; `names` gets the names of points of a sweep.
  PictureJson of(const PictureJson& from, PictureJson& names) const {
    const PictureRows& table = result_.table(from.at("file"));
    std::map<std::string, std::size_t> by;  // for each name, its row in the other table
    const PictureRows* other = nullptr;
    if (from.contains("by")) {
      other = &result_.table(from["by"].at("file"));
      for (const std::size_t row : other->having(from["by"].at("where"))) {
        by.emplace(other->text(row, from["by"].at("column").get<std::string>()), row);
      }
    }
    PictureJson points = PictureJson::array();
    for (const std::size_t row : table.having(from.at("where"))) {
      std::size_t own = row;
      if (other != nullptr) {
        const auto at = by.find(table.text(row, from["by"].at("column").get<std::string>()));
        if (at == by.end()) continue;
        own = at->second;
      }
      const PictureRows& of_x = other != nullptr ? *other : table;
      PictureJson point = PictureJson::array();
      const bool cells = from.contains("value");
      point.push_back(value(of_x, own, from.at("x"), "x"));
      point.push_back(value(cells ? of_x : table, cells ? own : row, from.at("y"), "y"));
      if (cells) {
        const std::string column = from.at("value");
        const auto number = table.number(row, column);
        point.push_back(number ? PictureJson(*number) : PictureJson(table.text(row, column)));
      } else {
        for (const char* end : {"low", "high"}) {
          point.push_back(from.contains(end) ? value(table, row, from.at(end), "") : PictureJson());
        }
        const double factor = from.value("factor", 1.0);
        const bool along_x = panel_["y"].contains("names");
        for (const std::size_t i :
             {std::size_t{along_x ? 0u : 1u}, std::size_t{2}, std::size_t{3}}) {
          if (point[i].is_number()) point[i] = factor * point[i].get<double>();
        }
        if (from.contains("of")) {
          const double whole = table.number(row, from.at("of").get<std::string>()).value_or(0);
          point.push_back(whole);
        }
      }
      points.push_back(std::move(point));
      if (other != nullptr || from.at("file") == "points.csv") {
        names.push_back(table.text(row, "variant"));
      }
    }
    return points;
  }

 private:
  /// The value of a row along an axis: a constant, a number from a column, the place of a name, or
  /// the first existing one of several columns.
  PictureJson value(const PictureRows& table, std::size_t row, const PictureJson& column,
                    const char* axis) const {
    if (column.is_number()) return column;
    if (column.is_array()) {
      double rest = 0;
      for (std::size_t i = 0; i < column.size(); ++i) {
        const double one = table.number(row, column[i].get<std::string>()).value_or(0);
        rest += i == 0 ? one : -one;
      }
      return rest;
    }
    const std::string name = column;
    if (*axis != 0 && panel_.at(axis).contains("names")) {
      const PictureJson& names = panel_.at(axis).at("names");
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i][0] == table.text(row, name)) return i;
      }
      return {};
    }
    const auto number = table.number(row, name);
    return number ? PictureJson(*number) : PictureJson();
  }

  const PictureJson& panel_;
  const PictureResult& result_;
};

void add_points(PictureJson& to, const Points& points) {
  PictureJson names = PictureJson::array();
  to["points"] = points.of(to["from"], names);
  if (!names.empty()) to["names"] = std::move(names);
}

}  // namespace

void add_points(PictureJson& pictures, const PictureTables& tables) {
  const PictureJson nothing = PictureJson::object();
  const PictureResult result(nothing, tables);
  for (PictureJson& picture : pictures) {
    for (PictureJson& panel : picture["panels"]) {
      const Points points(panel, result);
      for (PictureJson& series : panel["series"]) {
        if (series.contains("from") &&
            !is_over_time(series["from"].at("file").get<std::string>())) {
          add_points(series, points);
        }
      }
      if (panel.contains("cells")) add_points(panel["cells"], points);
    }
  }
}

}  // namespace retrysim::report
