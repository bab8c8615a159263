// Pictures of searches: sweeps, tipping points, choices, advice, maps, fits, uncertain keys, sizes,
// predictions.
//
// SPDX-License-Identifier: MIT
#include "report/pictures/draft.hpp"

#include "fit/backtest.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <set>

namespace retrysim::report {

namespace {

using Json = PictureJson;
using PictureTexts = std::vector<std::string>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The least and the greatest of the added values.
struct Extent {
  double low = kInfinite, high = -kInfinite;
  void add(const std::optional<double>& value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  bool is_empty() const { return low > high; }
};

std::optional<double> number_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object.at(name).is_number()) return {};
  return object.at(name).get<double>();
}

Json where_all(const PictureTexts& wanted) {
  Json list = Json::array();
  for (const std::string& one : wanted) list.push_back(one);
  return list;
}

std::optional<double> bare_number(const std::string& text) {
  if (text.empty() || (text.back() >= 'a' && text.back() <= 'z')) return std::nullopt;
  return number_in(text);
}

// --- Sweeps --------------------------------------------------------------------------------------

struct SweptMetric {
  const char* name;
  bool is_log = false;
};
constexpr std::array<SweptMetric, 5> kSwept = {
    {{"goodput"}, {"success_rate"}, {"amplification"}, {"latency_p99", true}, {"recovered"}}};
constexpr std::array kByClient = {"success_rate", "recovered", "amplification", "latency_p99"};

class SweepPictures {
 public:
  explicit SweepPictures(const PictureResult& result)
      : result_(result), points_(result.table("points.csv")), sweep_(result.json.at("sweep")) {
    for (std::size_t row = 0; row < points_.size(); ++row) shown_.push_back(row);
    choose_keys();
    for (const Json& graphs : sweep_.value("graphs", Json::array())) {
      for (const char* list : {"clients", "calls"}) {
        for (const Json& group : graphs.value(list, Json::array())) {
          const std::string name = group.at("name");
          if (std::find(groups_.begin(), groups_.end(), name) == groups_.end()) {
            groups_.push_back(name);
          }
        }
      }
    }
  }

  void add_to(Json& pictures) const {
    Json picture = picture_json(result_.json, "sweep", "", {note()});
    for (const SweptMetric& metric : kSwept) {
      Json own = panel(metric.name, "all", metric.is_log);
      if (!own.is_null()) picture["panels"].push_back(std::move(own));
    }
    if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
    if (groups_.size() < 2) return;
    Json by_client = picture_json(result_.json, "sweep_clients", "by client group", {note()});
    constexpr std::size_t kMaxGroups = 6;
    PictureTexts groups(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               groups_.size(), kMaxGroups - 1)));
    groups.emplace_back("all");
    for (const char* metric : kByClient) {
      if (lines_ && line_key_.empty()) {
        add_panel(by_client, panel_of_groups(metric, groups));
        continue;
      }
      for (const std::string& group : groups) {
        Json own = panel(metric, group, std::string_view(metric) == "latency_p99");
        if (own.is_null()) continue;
        own["title"] = fmt::format("{}: {}", group == "all" ? "all together" : group,
                                   own["title"].get<std::string>());
        add_panel(by_client, std::move(own));
      }
    }
    if (!by_client["panels"].empty()) pictures.push_back(std::move(by_client));
  }

 private:
  static void add_panel(Json& picture, Json panel) {
    if (!panel.is_null()) picture["panels"].push_back(std::move(panel));
  }

  PictureTexts levels(const std::string& key) const {
    PictureTexts found;
    for (const std::size_t row : shown_) {
      const std::string& value = points_.text(row, key);
      if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
    }
    if (is_numeric(found)) {
      std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
        return *bare_number(a) < *bare_number(b);
      });
    }
    return found;
  }

  static bool is_numeric(const PictureTexts& values) {
    return std::all_of(values.begin(), values.end(),
                       [](const std::string& v) { return bare_number(v).has_value(); });
  }

  /// Whether every value of `other` goes with a single value of `key`, so that both move together.
  bool follows(const std::string& key, const std::string& other) const {
    std::map<std::string, std::string> known;
    return std::all_of(shown_.begin(), shown_.end(), [&](std::size_t row) {
      const auto [at, added] = known.emplace(points_.text(row, other), points_.text(row, key));
      return added || at->second == points_.text(row, key);
    });
  }

  /// Chooses the keys that are drawn, at most two: those with the most values. The others keep
  /// their first value.
  void choose_keys() {
    PictureTexts varied, all;
    for (const Json& key : sweep_.at("keys")) {
      const std::string path = key;
      all.push_back(path);
      if (levels(path).size() < 2) continue;
      const bool moves = std::any_of(varied.begin(), varied.end(), [&](const std::string& other) {
        return follows(path, other);
      });
      if (!moves) varied.push_back(path);
    }
    PictureTexts by_size = varied;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](const std::string& a, const std::string& b) {
                       return levels(a).size() > levels(b).size();
                     });
    by_size.resize(std::min<std::size_t>(by_size.size(), 2));
    for (const std::string& key : varied) {
      if (std::find(by_size.begin(), by_size.end(), key) != by_size.end()) {
        keys_.push_back(key);
        continue;
      }
      const PictureTexts of_key = levels(key);
      const std::string first = points_.text(shown_.front(), key);
      const auto place = std::find(of_key.begin(), of_key.end(), first) - of_key.begin();
      fixed_.emplace_back(key_words(key) + " = " +
                          (is_numeric(of_key)
                               ? picture_quantity(*bare_number(first), unit_of(key), false, 5)
                               : value_labels(of_key)[static_cast<std::size_t>(place)]));
      at_[key] = first;
      std::erase_if(shown_, [&](std::size_t row) { return points_.text(row, key) != first; });
    }
    if (keys_.empty() && !all.empty()) keys_.push_back(all.front());
    // A key of a few words has a line for each word; two keys of numbers make a map.
    constexpr std::size_t kMaxWords = 12;
    lines_ = keys_.size() == 1;
    if (keys_.size() != 2) return;
    PictureTexts words;
    for (const std::string& key : keys_) {
      if (!is_numeric(levels(key))) words.push_back(key);
    }
    std::stable_sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
      return levels(a).size() < levels(b).size();
    });
    if (words.empty() || levels(words[0]).size() > kMaxWords) return;
    lines_ = true;
    line_key_ = words[0];
    if (keys_[0] == line_key_) std::swap(keys_[0], keys_[1]);
  }

  std::string unit_of(const std::string& key) const {
    if (!is_numeric(levels(key))) return "1";
    const scenario::KeyInfo* info = scenario::find_key(key);
    if (info == nullptr) return "1";
    using scenario::ValueKind;
    const ValueKind kind = info->rules.kind;
    if (kind == ValueKind::kDuration || kind == ValueKind::kDistribution) return "s";
    return info->rules.unit.empty() ? "1" : std::string(info->rules.unit);
  }

  Json axis_of(const std::string& key) const {
    const PictureTexts values = levels(key);
    if (is_numeric(values)) {
      std::vector<double> numbers;
      for (const std::string& v : values) numbers.push_back(*bare_number(v));
      Json axis = swept_axis({key_words(key, unit_of(key))}, numbers);
      axis["key"] = key;
      return axis;
    }
    Json axis = names_axis(key_words(key), values, value_labels(values));
    axis["key"] = key;
    return axis;
  }

  std::string note() const {
    const std::size_t runs = result_.json.value("replications", std::size_t{1});
    std::string text =
        fmt::format("{}, {} each", counted(points_.size(), "point"), counted(runs, "replication"));
    text += runs == 1 ? ": no intervals" : lines_ ? "; 95 % intervals" : "";
    if (!fixed_.empty()) text += fmt::format("; drawn at {}", fmt::join(fixed_, ", "));
    return text;
  }

  bool is_of_points(const std::string& metric, const std::string& client) const {
    return client == "all" && points_.has(metric);
  }

  /// The place of a metric's figures: points.csv for all clients, the summary for client groups.
  Json from(const std::string& metric, const std::string& client, Json where) const {
    Json own;
    if (is_of_points(metric, client)) {
      own = from_table("points.csv", std::move(where), keys_[0], metric, metric + "_ci_low",
                       metric + "_ci_high");
    } else {
      own = from_table("summary.csv", {{"metric", metric}, {"client", client}}, keys_[0], "mean",
                       "ci_low", "ci_high");
      // The keys of a point are in points.csv, where the point's name is found.
      own["by"] = {{"file", "points.csv"}, {"column", "variant"}, {"where", std::move(where)}};
    }
    if (!at_.empty()) own["at"] = at_;
    return own;
  }

  /// The extent of the means and, for lines, of the ends of intervals that are drawn.
  Extent extent(const std::string& metric, const std::string& client, bool with_ends) const {
    Extent found;
    if (is_of_points(metric, client)) {
      for (std::size_t row = 0; row < points_.size(); ++row) {  // rows outside `shown_`, too
        found.add(points_.number(row, metric));
        if (with_ends) found.add(points_.number(row, metric + "_ci_high"));
      }
      return found;
    }
    const PictureRows& summary = result_.table("summary.csv");
    const Json where = {{"metric", metric}, {"client", client}};
    for (const std::size_t row : summary.having(where)) {
      found.add(summary.number(row, "mean"));
      if (with_ends) found.add(summary.number(row, "ci_high"));
    }
    return found;
  }

  AxisOf value_of(const std::string& metric) const {
    const Json about = sweep_.value("metrics", Json::object()).value(metric, Json::object());
    const bool share = about.value("percentage", metric == "recovered");
    const std::string unit = about.value("unit", std::string("1"));
    return {unit_words(unit, share), unit, share};
  }

  std::string title_of(const std::string& metric) const {
    if (metric == "recovered") return "Share of the replications that recover";
    const Json about = sweep_.value("metrics", Json::object()).value(metric, Json::object());
    return as_title(about.value("label", metric));
  }

  Json panel(const std::string& metric, const std::string& client, bool is_log) const {
    const Extent values = extent(metric, client, lines_);
    if (values.is_empty()) return {};
    if (!lines_ && keys_.size() == 2) return map_of(metric, client, is_log);
    Json own = panel_json(metric, title_of(metric), axis_of(keys_[0]),
                          upright_axis(value_of(metric), values.high));
    own["metric"] = metric;
    if (line_key_.empty()) {
      own["series"].push_back(of_points("all clients, mean and 95 % interval", look_of(0),
                                        from(metric, client, Json::object())));
      return own;
    }
    own["legend"] = key_words(line_key_);
    own["line_key"] = line_key_;
    const PictureTexts values_of_lines = levels(line_key_), labels = value_labels(values_of_lines);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Json where = Json::object();
      where[line_key_] = values_of_lines[i];
      own["series"].push_back(of_points(labels[i], look_of(i), from(metric, client, where)));
    }
    return own;
  }

  Json of_points(const std::string& name, const Json& look, Json from) const {
    Json one = series_json(name, look, std::move(from));
    one["mark"] = "dot";
    one["whiskers"] = true;
    if (is_numeric(levels(keys_[0]))) one["line"] = true;
    return one;
  }

  Json panel_of_groups(const std::string& metric, const PictureTexts& groups) const {
    Extent values;
    Json series = Json::array();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Extent own = extent(metric, groups[i], true);
      if (own.is_empty()) continue;
      values.add(own.low);
      values.add(own.high);
      series.push_back(of_points(groups[i] == "all" ? "all together" : groups[i], look_of(i),
                                 from(metric, groups[i], Json::object())));
    }
    if (values.is_empty()) return {};
    Json own = panel_json(metric, title_of(metric), axis_of(keys_[0]),
                          upright_axis(value_of(metric), values.high));
    own["metric"] = metric;
    own["series"] = std::move(series);
    return own;
  }

  Json map_of(const std::string& metric, const std::string& client, bool is_log) const {
    constexpr double kWide = 20;
    constexpr std::size_t kMaxTexts = 144;
    const AxisOf what = value_of(metric);
    Json own = panel_json(metric, title_of(metric), named_axis(keys_[0]), named_axis(keys_[1]));
    own["metric"] = metric;
    const Extent range = extent(metric, client, false);
    Json from_cells = from(metric, client, Json::object());
    from_cells["value"] = from_cells["y"];
    from_cells["y"] = keys_[1];
    from_cells.erase("low");
    from_cells.erase("high");
    Json cells = {{"from", std::move(from_cells)},
                  {"low", range.low},
                  {"high", range.high},
                  {"log", is_log && range.low > 0 && range.high > kWide * range.low}};
    cells["scale"] = {{range.low, picture_quantity(range.low, what.unit, what.is_share)},
                      {range.high, picture_quantity(range.high, what.unit, what.is_share)}};
    const PictureTexts xs = levels(keys_[0]), ys = levels(keys_[1]);
    if (xs.size() * ys.size() <= kMaxTexts) cells["texts"] = texts_of(metric, client, xs, ys, what);
    own["cells"] = std::move(cells);
    return own;
  }

  /// An axis with the values of a key as names, even if they are numbers: every cell is one value.
  Json named_axis(const std::string& key) const {
    const PictureTexts values = levels(key);
    PictureTexts labels = value_labels(values);
    if (is_numeric(values)) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        labels[i] = picture_digits(*bare_number(values[i]), 4);
      }
    }
    Json axis = names_axis(key_words(key, unit_of(key)), values, labels);
    axis["key"] = key;
    return axis;
  }

  /// The texts in the cells, row by row.
  Json texts_of(const std::string& metric, const std::string& client, const PictureTexts& xs,
                const PictureTexts& ys, const AxisOf& what) const {
    std::map<std::string, std::optional<double>> by_point;
    const bool of_points = is_of_points(metric, client);
    if (!of_points) {
      const PictureRows& summary = result_.table("summary.csv");
      const Json where = {{"metric", metric}, {"client", client}};
      for (const std::size_t row : summary.having(where)) {
        by_point[summary.text(row, "variant")] = summary.number(row, "mean");
      }
    }
    std::map<std::pair<std::string, std::string>, std::string> texts;
    for (const std::size_t row : shown_) {
      const std::optional<double> value =
          of_points ? points_.number(row, metric) : by_point[points_.text(row, "variant")];
      texts.emplace(std::pair(points_.text(row, keys_[0]), points_.text(row, keys_[1])),
                    value ? picture_quantity(*value, what.unit, what.is_share) : "–");
    }
    Json rows = Json::array();
    for (const std::string& y : ys) {
      Json row = Json::array();
      for (const std::string& x : xs) row.push_back(texts.contains({x, y}) ? texts[{x, y}] : "–");
      rows.push_back(std::move(row));
    }
    return rows;
  }

  const PictureResult& result_;
  const PictureRows& points_;
  const Json& sweep_;
  std::vector<std::size_t> shown_;  ///< rows of points.csv
  PictureTexts keys_, fixed_, groups_;
  Json at_ = Json::object();  ///< values of the keys that are not drawn
  bool lines_ = false;        ///< lines along the first key; otherwise a map over both
  std::string line_key_;
};

}  // namespace

void add_sweep_pictures(PictureJson& pictures, const PictureResult& result) {
  const PictureRows& points = result.table("points.csv");
  if (points.size() == 0) return;
  SweepPictures(result).add_to(pictures);
  const Json graphs = result.json.at("sweep").value("graphs", Json::array());
  if (!graphs.empty())
    add_point_pictures(pictures, result, graphs.front(), points.text(0, "variant"));
}

// --- Tipping points ------------------------------------------------------------------------------

namespace {

void add_tip(Json& pictures, const PictureResult& result) {
  const Json& info = result.json;
  const Json& trigger = info.at("trigger");
  const PictureRows& table = result.table("tip.csv");
  const std::string unit = trigger.at("unit");
  Extent inner;
  std::vector<double> tried;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto value = table.number(row, "value"), share = table.number(row, "probability");
    if (!value || !share) continue;
    tried.push_back(*value);
    if (*share > 0 && *share < 1) inner.add(value);
  }
  if (tried.empty()) return;
  std::sort(tried.begin(), tried.end());
  const Json d50 = info.value("d50", Json());
  for (const char* end : {"value", "ci_low", "ci_high"}) inner.add(number_of(d50, end));
  // The axis has one more value on either side: the ends that were searched may lie far away.
  double low = tried.front(), high = tried.back();
  if (!inner.is_empty()) {
    for (const double v : tried) {
      if (v < inner.low) low = v;
    }
    for (auto v = tried.rbegin(); v != tried.rend(); ++v) {
      if (*v > inner.high) high = *v;
    }
  }
  const double pad = 0.04 * (high > low ? high - low : 1);
  Json panel = panel_json("tip", "Where does it tip?",
                          linear_axis({key_words(trigger.at("path").get<std::string>(), unit)},
                                      low - pad, high + pad, 7),
                          upright_axis({"share that does not recover", "1", true}, 1));
  Json share = series_json(
      fmt::format("do not recover, of {}",
                  counted(info.value("replications", std::size_t{1}), "replication")),
      {{"colour", "blue"}},
      from_table("tip.csv", Json::object(), "value", "probability", "ci_low", "ci_high"));
  share["mark"] = "dot";
  share["whiskers"] = share["line"] = true;
  panel["series"].push_back(std::move(share));
  PictureTexts tipped;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto count = table.number(row, "tipped");
    if (count && *count > 0) tipped.push_back(table.text(row, "tipped"));
  }
  if (!tipped.empty()) {
    Json metastable = series_json(
        "metastable: would recover without retries", {{"colour", "green"}},
        from_table("tip.csv", {{"tipped", where_all(tipped)}}, "value", "metastable_probability"));
    metastable["mark"] = "ring";
    panel["series"].push_back(std::move(metastable));
  }
  if (const auto value = number_of(d50, "value")) {
    Json mark = {{"at", *value}, {"colour", "red"}};
    std::string text = "half do not recover: " + picture_quantity(*value, unit, false, 4);
    const auto from = number_of(d50, "ci_low"), to = number_of(d50, "ci_high");
    if (from && to) {
      mark["from"] = *from;
      mark["to"] = *to;
      const std::string range = picture_range(*from, *to, unit);
      if (!range.empty()) text += ", 95 % interval " + range;
    }
    mark["name"] = std::move(text);
    panel["marks"] = Json::array();
    panel["marks"].push_back(std::move(mark));
  }
  Json picture = picture_json(info, "tip", "where does it tip?", {});
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

/// Short names of lines and points; "service_time={...}" is named by the members of its table.
PictureTexts line_labels(const PictureTexts& names) {
  return names.size() == 1 && names[0].empty() ? names : variant_labels(names).labels;
}

void add_curve(Json& pictures, const PictureResult& result) {
  const Json& info = result.json;
  const Json &trigger = info.at("trigger"), &curve = info.at("curve");
  const std::string unit = trigger.at("unit");
  const bool numeric = curve.at("axis").is_string();
  PictureTexts lines, names;
  for (const Json& line : curve.at("lines")) lines.push_back(line);
  const PictureTexts labels = line_labels(lines);
  Extent values;
  std::vector<double> places;
  std::size_t unjudged = 0;
  std::vector<std::map<std::string, PictureTexts>> by_outcome(lines.size());
  bool any_interval = false;
  for (const Json& point : curve.at("points")) {
    const std::string name = point.at("variant"), outcome = point.at("outcome");
    names.push_back(name);
    if (const auto x = number_of(point, "x")) places.push_back(*x);
    by_outcome.at(point.at("line").get<std::size_t>())[outcome].push_back(name);
    unjudged += outcome == "not_judged" || outcome == "ends_exchanged";
    const Json d50 = point.value("d50", Json());
    for (const char* end : {"value", "ci_low", "ci_high"}) values.add(number_of(d50, end));
    any_interval = any_interval || number_of(d50, "ci_low");
  }
  const double first = trigger.at("first"), last = trigger.at("last");
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Json series = Json::array();
  const std::string x = numeric ? curve.at("axis").get<std::string>() : "variant";
  struct End {
    const char *outcome, *words;
    double value;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string name = labels[i].empty() ? "half do not recover" : labels[i];
    if (by_outcome[i].contains("found")) {
      Json one =
          series_json(name, look_of(i),
                      from_table("curve.csv", {{"variant", where_all(by_outcome[i]["found"])}}, x,
                                 "d50", "ci_low", "ci_high"));
      one["mark"] = "dot";
      one["whiskers"] = true;
      if (numeric) one["line"] = true;
      series.push_back(std::move(one));
    }
    for (const End& end : {End{"recovers_at_last_value", "recovers even from", last},
                           End{"tips_at_first_value", "tips already at", first}}) {
      if (!by_outcome[i].contains(end.outcome)) continue;
      values.add(end.value);
      Json one =
          series_json(fmt::format("{}{} {}", labels[i].empty() ? "" : labels[i] + ": ", end.words,
                                  picture_quantity(end.value, unit, false, 4)),
                      look_of(i),
                      from_table("curve.csv", {{"variant", where_all(by_outcome[i][end.outcome])}},
                                 x, end.value));
      one["mark"] = "ring";
      series.push_back(std::move(one));
    }
  }
  if (series.empty()) return;
  PictureTexts keys, of_lines;
  for (const Json& key : curve.at("keys")) {
    const auto path = key.get<std::string>();
    keys.push_back(key_words(path));
    if (path != x) of_lines.push_back(keys.back());
  }
  const Json axis =
      numeric ? swept_axis({key_words(x, curve.at("axis_unit").get<std::string>())}, places)
              : names_axis(fmt::format("{}", fmt::join(keys, ", ")), names, line_labels(names));
  Json y = values.low < 0 ? linear_axis({"", unit}, values.low, values.high)
                          : upright_axis({"", unit}, values.high);
  y["label"] = key_words(trigger.at("path").get<std::string>(), unit);
  Json panel = panel_json("curve", "Tipping point: half do not recover", axis, std::move(y));
  panel["series"] = std::move(series);
  if (numeric && lines.size() > 1) panel["legend"] = fmt::format("{}", fmt::join(of_lines, ", "));
  std::string note = counted(info.value("replications", std::size_t{1}), "replication");
  note += any_interval ? "; 95 % intervals" : "; too few for intervals";
  if (unjudged > 0)
    note += fmt::format("; {} without an answer left out", counted(unjudged, "point"));
  Json picture = picture_json(info, "tip_curve", "how does the tipping point move?", {note});
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

void add_hysteresis(Json& pictures, const PictureResult& result) {
  const Json& info = result.json;
  const Json& load = info.at("load");
  const PictureRows& table = result.table("hysteresis.csv");
  const std::string unit = load.at("unit");
  Extent values;
  std::vector<double> loads;
  PictureTexts down;
  std::string top;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (const auto at = table.number(row, "load")) loads.push_back(*at);
    for (const char* column : {"offered_load", "goodput", "ci_high"}) {
      values.add(table.number(row, column));
    }
    // The step at the highest load belongs to both branches.
    if (table.text(row, "branch") == "up") top = table.text(row, "step");
    if (table.text(row, "branch") == "down") down.push_back(table.text(row, "step"));
  }
  if (loads.empty()) return;
  std::sort(loads.begin(), loads.end());
  loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  down.push_back(top);
  Json panel = panel_json("hysteresis", "Does it go back the way it came?",
                          swept_axis({key_words(load.at("path").get<std::string>(), unit)}, loads),
                          upright_axis({"requests per second", "1/s"}, values.high));
  const auto add = [&](const char* name, Json look, Json from, bool marked) {
    Json one = series_json(name, look, std::move(from));
    one["line"] = true;
    if (marked) {
      one["mark"] = "dot";
      one["whiskers"] = true;
    }
    panel["series"].push_back(std::move(one));
  };
  const auto from = [](Json where, const char* column, bool ends) {
    return from_table("hysteresis.csv", std::move(where), "load", column, ends ? "ci_low" : "",
                      ends ? "ci_high" : "");
  };
  add("offered load", {{"colour", "grey"}, {"dash", limit_dash()}},
      from({{"branch", "up"}}, "offered_load", false), false);
  add("goodput, load going up", {{"colour", "blue"}}, from({{"branch", "up"}}, "goodput", true),
      true);
  add("goodput, load coming back", {{"colour", "red"}},
      from({{"step", where_all(down)}}, "goodput", true), true);
  panel["marks"] = Json::array();
  for (const auto& [name, colour, words] : {std::tuple("tip_load", "blue", "tips at"),
                                            std::tuple("recover_load", "red", "recovers at")}) {
    const auto mean = number_of(info.value(name, Json()), "mean");
    if (!mean) continue;
    panel["marks"].push_back(
        {{"at", *mean},
         {"colour", colour},
         {"dash", limit_dash()},
         {"name", fmt::format("{} {}", words, picture_quantity(*mean, unit, false, 4))}});
  }
  Json picture = picture_json(info, "hysteresis", "does it go back the way it came?", {});
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

}  // namespace

void add_tip_pictures(PictureJson& pictures, const PictureResult& result) {
  if (result.json.contains("curve")) {
    add_curve(pictures, result);
  } else if (result.json.contains("trigger")) {
    add_tip(pictures, result);
  } else {
    add_hysteresis(pictures, result);
  }
}

// --- Choices -------------------------------------------------------------------------------------

void add_choice_picture(PictureJson& pictures, const PictureResult& result) {
  struct Fate {
    const char *words, *colour;
    PictureTexts outcomes;
  };
  static const std::array<Fate, 7> kFates = {{{"the best", "green", {"chosen"}},
                                              {"goes on", "blue", {"racing", "undecided"}},
                                              {"beaten", "grey", {"beaten"}},
                                              {"as good within the zone", "sky", {"as_good"}},
                                              {"the same as another one", "purple", {"same"}},
                                              {"breaks a limit", "orange", {"breaks_limit"}},
                                              {"has no value", "red", {"no_value"}}}};
  constexpr std::size_t kMaxList = 60, kMaxRace = 6;
  const Json& info = result.json;
  const Json& choice = info.at("choice");
  const PictureRows& table = result.table("race.csv");
  if (table.size() == 0) return;
  const bool maximize = choice.at("direction") == "maximize";
  const bool share = choice.value("percentage", false);
  const std::string unit = choice.at("unit");
  const std::string best =
      choice.at("best").is_string() ? choice.at("best").get<std::string>() : "";
  const PictureTexts all = table.values("variant");
  const VariantLabels said = variant_labels(all);
  std::map<std::string, std::string> labels;
  for (std::size_t i = 0; i < all.size(); ++i) labels[all[i]] = said.labels[i];

  // The first panel shows the first stage, with the greatest gain at the top.
  std::vector<std::size_t> first;
  std::map<std::string, std::size_t> last_stage;
  std::map<std::string, std::string> fates;  // at the last stage of each
  for (std::size_t row = 0; row < table.size(); ++row) {
    fates[table.text(row, "variant")] = table.text(row, "outcome");
    const auto stage = static_cast<std::size_t>(table.number(row, "stage").value_or(0));
    std::size_t& known = last_stage[table.text(row, "variant")];
    known = std::max(known, stage);
    if (stage == 1 && table.number(row, "mean")) first.push_back(row);
  }
  if (first.empty()) return;
  std::stable_sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
    const double x = *table.number(a, "mean"), y = *table.number(b, "mean");
    return maximize ? x > y : x < y;
  });
  const std::size_t left_out = first.size() - std::min(first.size(), kMaxList);
  first.resize(first.size() - left_out);
  PictureTexts names, texts;
  Extent values;
  std::optional<double> zone_at, keeping, any;
  for (const std::size_t row : first) {
    names.push_back(table.text(row, "variant"));
    texts.push_back(labels[names.back()]);
    for (const char* end : {"mean", "ci_low", "ci_high"}) values.add(table.number(row, end));
    const double mean = *table.number(row, "mean");
    if (!any) any = mean;
    if (!keeping && table.text(row, "outcome") != "breaks_limit") keeping = mean;
    if (names.back() == best) zone_at = mean;
  }
  if (!zone_at) zone_at = keeping ? keeping : any;
  const double zone = choice.at("indifference").get<double>() * (maximize ? -1 : 1);
  values.add(*zone_at + zone);
  std::string label = choice.at("label");
  if (choice.at("client") != "all") {
    label += " of client " + choice.at("client").get<std::string>();
  }
  const double pad = 0.05 * (values.high > values.low ? values.high - values.low : 1);
  const AxisOf what{label, unit, share};
  const std::size_t runs = choice.at("stages")[0];
  Json panel = panel_json("first", fmt::format("After {}", counted(runs, "replication")),
                          linear_axis({label + ", mean with 95 % interval", unit, share},
                                      values.low - pad, values.high + pad),
                          names_axis(fmt::format("{}", fmt::join(said.keys, ", ")), names, texts));
  panel["marks"] = {{{"at", *zone_at},
                     {"from", std::min(*zone_at, *zone_at + zone)},
                     {"to", std::max(*zone_at, *zone_at + zone)},
                     {"colour", "grey"},
                     {"name", "indifference zone"}}};
  for (const Fate& fate : kFates) {
    const bool there = std::any_of(first.begin(), first.end(), [&](std::size_t row) {
      return std::find(fate.outcomes.begin(), fate.outcomes.end(), table.text(row, "outcome")) !=
             fate.outcomes.end();
    });
    if (!there) continue;
    Json one =
        series_json(fate.words, {{"colour", fate.colour}},
                    from_table("race.csv", {{"stage", "1"}, {"outcome", where_all(fate.outcomes)}},
                               "mean", "variant", "ci_low", "ci_high"));
    one["mark"] = "dot";
    one["whiskers"] = true;
    panel["series"].push_back(std::move(one));
  }
  if (left_out > 0) panel["notes"] = {fmt::format("{} more, all worse", left_out)};
  const bool is_same = fates.size() > 1 && std::ranges::all_of(fates, [&](const auto& fate) {
                         return fate.first == best || fate.second == "same";
                       });
  Json picture = picture_json(info, "choose",
                              best.empty() ? "no policy wins"
                              : is_same    ? "nothing to choose"
                                           : fmt::format("{} wins", labels[best]),
                              {});
  picture["panels"].push_back(std::move(panel));

  // The race of the policies that went on, the best first.
  PictureTexts race;
  for (const std::string& name : all) {
    if (last_stage[name] > 1) race.push_back(name);
  }
  std::stable_sort(race.begin(), race.end(), [&](const std::string& a, const std::string& b) {
    if ((a == best) != (b == best)) return a == best;
    return last_stage[a] > last_stage[b];
  });
  if (!race.empty()) {
    Extent heights;
    std::set<double> stages;
    Json series = Json::array();
    for (std::size_t i = 0; i < race.size(); ++i) {
      std::string outcome;
      for (std::size_t row = 0; row < table.size(); ++row) {
        if (table.text(row, "variant") != race[i]) continue;
        for (const char* end : {"mean", "ci_low", "ci_high"}) heights.add(table.number(row, end));
        stages.insert(table.number(row, "replications").value_or(1));
        outcome = table.text(row, "outcome");
      }
      const bool named = i < kMaxRace;
      Json one = series_json(named ? labels[race[i]] : counted(race.size() - kMaxRace, "other"),
                             named ? look_of(i) : Json{{"colour", "grey"}},
                             from_table("race.csv", {{"variant", race[i]}}, "replications", "mean",
                                        "ci_low", "ci_high"));
      one["line"] = one["band"] = true;
      one["end"] = outcome == "chosen" ? "star" : outcome == "undecided" ? "arrow" : "cross";
      series.push_back(std::move(one));
    }
    const double tall = 0.05 * (heights.high > heights.low ? heights.high - heights.low : 1);
    const double below = heights.low - tall, above = heights.high + tall;
    constexpr double kBeside = 1.1;
    Json own = panel_json("race", "The race of those that go on (star: the best, cross: leaves)",
                          log_axis({"replications (log scale)"}, *stages.begin() / kBeside,
                                   *stages.rbegin() * kBeside),
                          linear_axis(what, share ? std::max(0.0, below) : below,
                                      share ? std::min(1.0, above) : above));
    own["series"] = std::move(series);
    picture["panels"].push_back(std::move(own));
  }
  pictures.push_back(std::move(picture));
}

// --- Advice --------------------------------------------------------------------------------------

void add_advice_picture(PictureJson& pictures, const PictureResult& result) {
  static constexpr std::array<std::array<const char*, 4>, 3> kEffects = {
      {{"better", "better", "green", "dot"},
       {"worse", "worse", "red", "square"},
       {"none", "no difference that is sure", "grey", "dot"}}};
  constexpr std::size_t kMaxPanels = 6, kMaxRemedies = 30;
  const Json& info = result.json;
  const Json& advice = info.at("advice");
  std::vector<const Json*> tried;
  for (const Json& row : advice.at("rows")) {
    if (row.at("state") == "tried") tried.push_back(&row);
  }
  if (tried.empty()) return;
  const auto is_changed = [&](const Json& measure) {
    const std::string effect = measure.at("name").get<std::string>() + "_effect";
    return std::any_of(tried.begin(), tried.end(), [&](const Json* row) {
      return row->at(effect) == "better" || row->at(effect) == "worse";
    });
  };
  std::vector<const Json*> measures;
  for (const Json& measure : advice.at("measures")) {
    if (is_changed(measure)) measures.push_back(&measure);
  }
  if (measures.empty()) {
    for (const Json& measure : advice.at("measures")) {
      if (measure.at("aim") == true) measures.push_back(&measure);
    }
  }
  measures.resize(std::min(measures.size(), kMaxPanels));
  PictureTexts notes = {
      "difference from the scenario as it stands, with 95 % intervals for all "
      "together"};
  const std::size_t all_tried = tried.size();
  if (all_tried > kMaxRemedies) {
    std::vector<const Json*> changing;
    std::ranges::copy_if(tried, std::back_inserter(changing), [&](const Json* row) {
      return std::ranges::any_of(measures, [&](const Json* measure) {
        const Json& effect = row->at(measure->at("name").get<std::string>() + "_effect");
        return effect == "better" || effect == "worse";
      });
    });
    tried.resize(kMaxRemedies);
    if (!changing.empty()) tried = changing;
    notes.push_back(fmt::format("{} of {} remedies: {}", tried.size(), all_tried,
                                changing.empty() ? "none makes a difference that is sure"
                                                 : "the others make no difference that is sure"));
  }
  const auto words_of = [](const Json& row) {
    const std::string words = row.at("words");
    return words.substr(0, words.find(':'));
  };
  PictureTexts keys, texts;
  for (const Json* row : tried) {
    keys.push_back(row->at("remedy"));
    texts.push_back(clipped(words_of(*row), 2 * kMaxLabel));  // clipped to two lines
  }
  Json picture =
      picture_json(info, "advise",
                   advice.at("outcome") == "helps" ? words_of(*tried.front()) + " helps most"
                                                   : "no remedy helps for sure",
                   std::move(notes));
  for (const Json* measure : measures) {
    const std::string name = measure->at("name");
    const bool share = measure->at("percentage");
    const double factor = share ? 100 : 1;
    Extent values;
    values.add(0);
    for (const Json* row : tried) {
      for (const char* end : {"_difference", "_ci_low", "_ci_high"}) {
        const auto value = number_of(*row, (name + end).c_str());
        if (value) values.add(factor * *value);
      }
    }
    const double pad = 0.05 * (values.high > values.low ? values.high - values.low : 1);
    const std::string unit = share ? "points" : unit_words(measure->at("unit").get<std::string>());
    Json panel = panel_json(name, as_title(measure->at("label")),
                            linear_axis({unit.empty() ? "difference" : "difference, " + unit},
                                        values.low - pad, values.high + pad, 4),
                            names_axis("", keys, texts));
    panel["marks"] = {{{"at", 0}, {"colour", "ink"}}};
    for (const auto& [effect, words, colour, mark] : kEffects) {
      const bool there =
          std::any_of(tried.begin(), tried.end(), [&, its = effect](const Json* row) {
            return row->at(name + "_effect") == its &&
                   number_of(*row, (name + "_difference").c_str());
          });
      if (!there) continue;
      Json where = {{"state", "tried"}, {name + "_effect", effect}};
      if (tried.size() < all_tried) where["remedy"] = keys;
      Json from = from_table("advice.csv", std::move(where), name + "_difference", "remedy",
                             name + "_ci_low", name + "_ci_high");
      from["factor"] = factor;
      Json one = series_json(words, {{"colour", colour}}, std::move(from));
      one["mark"] = mark;
      one["whiskers"] = true;
      panel["series"].push_back(std::move(one));
    }
    picture["panels"].push_back(std::move(panel));
  }
  pictures.push_back(std::move(picture));
}

// --- Maps ----------------------------------------------------------------------------------------

void add_map_picture(PictureJson& pictures, const PictureResult& result) {
  static constexpr std::array<std::array<const char*, 3>, 3> kMarksOfVerdicts = {
      {{"agree", "green", "dot"},
       {"disagree", "red", "cross"},
       {"outside validity", "grey", "square"}}};
  const Json& info = result.json;
  const Json& map = info.at("map");
  const PictureRows& points = result.table("map.csv");
  const PictureRows& confirmed = result.table("confirm.csv");
  if (map.at("columns").size() != 2 || points.size() == 0) return;
  std::array<Json, 2> axes;
  PictureTexts columns;
  for (std::size_t i = 0; i < 2; ++i) {
    columns.push_back(map.at("columns")[i]);
    const PictureTexts values = points.values(columns[i]);
    // Times that are all written in seconds become bare numbers; other values stay as they are.
    const bool bare = std::all_of(values.begin(), values.end(),
                                  [](auto& v) { return bare_number(v).has_value(); });
    const auto in_seconds = [](const std::string& v) {
      return v.size() > 1 && v.back() == 's' && bare_number(v.substr(0, v.size() - 1));
    };
    const bool times = !bare && std::all_of(values.begin(), values.end(), in_seconds);
    PictureTexts labels;
    for (const std::string& value : values) {
      labels.push_back(bare || times ? picture_digits(*number_in(value), 4) : value);
    }
    const std::string key = map.at("keys")[i];
    const scenario::KeyInfo* known = scenario::find_key(key);
    const std::string unit = times                      ? "s"
                             : bare && known != nullptr ? std::string(known->rules.unit)
                                                        : "";
    axes[i] = names_axis(key_words(key, unit), values, labels);
  }
  Json panel = panel_json(
      "map",
      fmt::format("What the fluid model predicts for {}", map.at("service").get<std::string>()),
      std::move(axes[0]), std::move(axes[1]));
  Json from = from_table("map.csv", Json::object(), columns[0], columns[1]);
  from["value"] = "phase";
  panel["cells"] = {{"from", std::move(from)}, {"classes", Json::array()}};
  const PictureTexts present = points.values("phase");
  for (const auto& [phase, words] : kPhaseWords) {
    if (std::find(present.begin(), present.end(), phase) == present.end()) continue;
    panel["cells"]["classes"].push_back({phase, fmt::format("{}: {}", phase, words), phase});
  }
  PictureTexts counts;
  for (const auto& [verdict, colour, mark] : kMarksOfVerdicts) {
    std::size_t count = 0;
    for (std::size_t row = 0; row < confirmed.size(); ++row) {
      count += confirmed.text(row, "verdict") == verdict;
    }
    if (count == 0) continue;
    counts.push_back(fmt::format("{} {}", count, verdict));
    Json one =
        series_json(fmt::format("simulated: {}", verdict), {{"colour", colour}},
                    from_table("confirm.csv", {{"verdict", verdict}}, columns[0], columns[1]));
    one["mark"] = mark;
    panel["series"].push_back(std::move(one));
  }
  PictureTexts text;
  if (!counts.empty()) {
    text.push_back(fmt::format("Of {} simulated: {}.", counted(confirmed.size(), "point"),
                               fmt::join(counts, ", ")));
  }
  Json picture = picture_json(info, "map", "where is it safe?", std::move(text));
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

// --- Fits ----------------------------------------------------------------------------------------

void add_fit_picture(PictureJson& pictures, const PictureResult& result) {
  const PictureRows& table = result.table("backtest.csv");
  if (table.size() == 0 || !result.json.contains("backtest")) return;
  Json picture =
      picture_json(result.json, "fit", "the log beside the simulation of its first half", {});
  for (const auto& [figure, words] : fit::kBacktestFigureNames) {
    const Json where = {{"part", "bin"}, {"figure", figure}};
    Extent times, values;
    std::size_t bins = 0;
    std::string unit = "1";
    for (const std::size_t row : table.having(where)) {
      ++bins;
      if (!table.text(row, "unit").empty()) unit = table.text(row, "unit");
      times.add(table.number(row, "begin_s"));
      for (const char* column : {"logged", "simulated", "simulated_most"}) {
        values.add(table.number(row, column));
      }
    }
    if (bins < 2 || !(values.high > 0)) continue;
    const bool share = figure == "error_share";
    const double pad = 0.04 * (times.high - times.low);
    Json panel =
        panel_json(std::string(figure), fmt::format("Backtest: {}", words),
                   linear_axis({"time in the log, s"}, times.low - pad, times.high + pad, 6),
                   upright_axis({unit_words(unit, share), unit, share}, values.high));
    Json simulated = series_json("simulated, least to largest run", look_of(0),
                                 from_table("backtest.csv", where, "begin_s", "simulated",
                                            "simulated_least", "simulated_most"));
    simulated["mark"] = "dot";
    simulated["line"] = simulated["whiskers"] = true;
    Json log =
        series_json("log", look_of(1), from_table("backtest.csv", where, "begin_s", "logged"));
    log["mark"] = "ring";
    panel["series"] = {std::move(simulated), std::move(log)};
    panel["marks"] = Json::array();
    for (const Json& incident : result.json.value("incidents", Json::array())) {
      const auto from = number_of(incident, "begin_s"), to = number_of(incident, "end_s");
      if (!from || !to || *to <= times.low || *from >= times.high) continue;
      panel["marks"].push_back({{"at", std::max(times.low, *from)},
                                {"from", std::max(times.low, *from)},
                                {"to", std::min(times.high, *to)},
                                {"colour", "purple"},
                                {"name", incident.value("incident", std::string("incident"))}});
    }
    picture["panels"].push_back(std::move(panel));
  }
  if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
}

// --- Uncertain keys ------------------------------------------------------------------------------

/// A picture of the draws over the two keys that decide most, by their outcome.
void add_uncertain_picture(PictureJson& pictures, const PictureResult& result) {
  static constexpr std::array<std::array<const char*, 3>, 5> kOutcomes = {
      {{"recovers", "blue", "dot"},
       {"keeps up", "blue", "dot"},
       {"does not recover", "red", "cross"},
       {"does not keep up", "red", "cross"},
       {"not known", "grey", "square"}}};
  const Json& about = result.json.at("uncertain");
  const Json& keys = about.at("keys");
  const PictureRows& table = result.table("uncertain.csv");
  if (table.size() == 0 || keys.empty()) return;
  // Keys that decide come first, the surer one along the bottom, then the others in their order.
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) {
    const Json& deciding = about.at("deciding");
    const auto at = std::find(deciding.begin(), deciding.end(), keys[i].at("path"));
    return at - deciding.begin();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  const auto axis = [&](const Json& key) {
    const std::string path = key.at("path");
    Extent values;
    for (std::size_t row = 0; row < table.size(); ++row) values.add(table.number(row, path));
    const double room = values.high > values.low ? 0.05 * (values.high - values.low) : 1;
    const std::string unit = key.at("unit");
    std::string label = key_words(path, unit);
    return linear_axis({std::move(label)}, values.low - room, values.high + room);
  };
  const Json& across = keys[order.front()];
  const std::string x = across.at("path");
  std::string y = "success_rate";
  Json upright = upright_axis({"success rate", "1", true}, 1);
  if (order.size() > 1) {
    y = keys[order[1]].at("path");
    upright = axis(keys[order[1]]);
  }
  Json panel = panel_json("uncertain", "The draws, and what became of each", axis(across),
                          std::move(upright));
  for (const auto& [outcome, colour, mark] : kOutcomes) {
    std::size_t count = 0;
    for (std::size_t row = 0; row < table.size(); ++row) {
      count += table.text(row, "outcome") == outcome;
    }
    if (count == 0) continue;
    Json one =
        series_json(fmt::format("{}: {}", outcome, counted(count, "draw")), {{"colour", colour}},
                    from_table("uncertain.csv", {{"outcome", outcome}}, x, y));
    one["mark"] = mark;
    panel["series"].push_back(std::move(one));
  }
  panel["marks"] = Json::array();
  if (across.contains("split") && across["split"].at("decides").get<bool>()) {
    panel["marks"].push_back({{"at", across["split"].at("at")},
                              {"colour", "grey"},
                              {"dash", limit_dash()},
                              {"name", "where it is decided"}});
  }
  PictureTexts text;
  const Json said = result.json.value("sentences", Json::array());
  if (!said.empty()) text.push_back(said[0]);
  Json picture = picture_json(result.json, "uncertain", "how sure is it?", std::move(text));
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

/// The share of good draws with each variant.
void add_uncertain_variants_picture(PictureJson& pictures, const PictureResult& result) {
  const Json& about = result.json.at("uncertain_variants");
  const bool recovers = about.at("question") == "recovers";
  PictureTexts names;
  for (const Json& row : about.at("variants")) names.push_back(row.at("variant"));
  const VariantLabels labels = variant_labels(names);
  const std::string share = fmt::format("share of draws that {}", recovers ? "recover" : "keep up");
  Json panel = panel_json(
      "uncertain", "What the intervals allow, by variant", upright_axis({share, "1", true}, 1),
      names_axis(fmt::format("{}", fmt::join(labels.keys, ", ")), names, labels.labels));
  Json one = series_json(
      "95 % intervals", {{"colour", "blue"}},
      from_table("variants.csv", Json::object(), "share", "variant", "ci_low", "ci_high"));
  one["mark"] = "dot";
  one["whiskers"] = true;
  panel["series"].push_back(std::move(one));
  PictureTexts text;
  const Json said = result.json.value("sentences", Json::array());
  if (!said.empty()) text.push_back(said[0]);
  Json picture = picture_json(result.json, "uncertain", "how sure is it?", std::move(text));
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

// --- Sizes ---------------------------------------------------------------------------------------

/// A picture of the share of good runs over the value.
void add_size_picture(PictureJson& pictures, const PictureResult& result) {
  struct MarkOfValues {
    const char *verdict, *colour, *words;  ///< the words are those of the table
    bool hollow = false;
  };
  static constexpr std::array<MarkOfValues, 4> kMarksOfValues = {
      {{"safe", "blue", "safe"},
       {"likely", "blue", "good so far", true},
       {"unsafe", "red", "not safe"},
       {"open", "grey", "too close to tell"}}};
  const Json& about = result.json.at("size");
  const PictureRows& table = result.table("size.csv");
  if (table.size() == 0) return;
  const std::string path = about.at("path"), unit = about.at("unit");
  std::vector<double> values;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (const auto value = table.number(row, "value")) values.push_back(*value);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const AxisOf what{key_words(path, unit)};
  const double pad = 0.04 * (*high > *low ? *high - *low : 1);
  Json axis = *low > 0 && *high > *low ? log_axis(what, *low, *high)
                                       : linear_axis(what, *low - pad, *high + pad, 7);
  Json panel = panel_json("size", "Good runs by value", std::move(axis),
                          upright_axis({"share of good runs", "1", true}, 1));
  Json line = series_json("share of good runs, 95 % intervals", {{"colour", "ink"}},
                          from_table("size.csv", Json::object(), "value", "share"));
  line["line"] = true;
  panel["series"].push_back(std::move(line));
  const std::vector<std::string> verdicts = table.values("verdict");
  for (const MarkOfValues& mark : kMarksOfValues) {
    if (std::find(verdicts.begin(), verdicts.end(), mark.verdict) == verdicts.end()) continue;
    Json one = series_json(
        mark.words, {{"colour", mark.colour}},
        from_table("size.csv", {{"verdict", mark.verdict}}, "value", "share", "ci_low", "ci_high"));
    if (mark.hollow) one["hollow"] = true;
    one["mark"] = "dot";
    one["whiskers"] = true;
    panel["series"].push_back(std::move(one));
  }
  panel["marks"] = Json::array();
  const std::string outcome = about.at("outcome");
  const bool is_bracket = outcome == "bracket", is_largest = about.at("is_largest").get<bool>();
  const auto at = number_of(about, "value");
  if (at && (outcome == "found" || is_bracket)) {
    const char* words = is_bracket ? (is_largest ? "safe up to" : "safe from")
                                   : (is_largest ? "largest safe value:" : "smallest safe value:");
    panel["marks"].push_back(
        {{"at", *at},
         {"colour", "green"},
         {"name", fmt::format("{} {}", words, picture_quantity(*at, unit, false, 4))}});
  }
  PictureTexts text;
  const Json said = result.json.value("sentences", Json::array());
  if (!said.empty()) text.push_back(said[0]);
  Json picture = picture_json(result.json, "size", "how big must it be?", std::move(text));
  picture["panels"].push_back(std::move(panel));
  pictures.push_back(std::move(picture));
}

/// The values of the first of varied keys, and a line for each combination of the others.
struct LinesOverKey {
  std::vector<double> across;  ///< rising; none if not all values are numbers
  PictureTexts kinds;          ///< the values, in the order of their rows, if not all are numbers
  std::vector<Json> where;     ///< by line: the values of the other keys
  PictureTexts names;

  bool is_drawn() const { return across.size() + kinds.size() > 1; }
  Json axis(const std::string& label) const {
    return kinds.empty() ? swept_axis({label}, across)
                         : names_axis(label, kinds, value_labels(kinds));
  }
  /// Joins marks where what lies between two of them is a value, too.
  void join(Json& series) const {
    if (kinds.empty()) series["line"] = true;
  }
};

LinesOverKey lines_over(const PictureRows& table, const std::vector<std::string>& keys) {
  LinesOverKey lines;
  if (keys.empty()) return lines;
  for (const std::string& text : table.values(keys.front())) lines.kinds.push_back(text);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto x = table.number(row, keys.front());
    if (!x) {
      lines.across.clear();
      break;
    }
    if (std::find(lines.across.begin(), lines.across.end(), *x) == lines.across.end()) {
      lines.across.push_back(*x);
    }
  }
  std::sort(lines.across.begin(), lines.across.end());
  if (!lines.across.empty()) lines.kinds.clear();
  // By the first row that has them.
  for (std::size_t row = 0; row < table.size(); ++row) {
    Json where = Json::object();
    std::string name;
    for (std::size_t k = 1; k < keys.size(); ++k) {
      where[keys[k]] = table.text(row, keys[k]);
      name += fmt::format("{}{} {}", name.empty() ? "" : ", ", key_words(keys[k], ""),
                          table.text(row, keys[k]));
    }
    if (std::find(lines.where.begin(), lines.where.end(), where) != lines.where.end()) continue;
    lines.where.push_back(std::move(where));
    lines.names.push_back(clipped(name, 2 * kMaxLabel));
  }
  constexpr std::size_t kMostLines = 8;
  lines.where.resize(std::min(lines.where.size(), kMostLines));
  return lines;
}

/// The safe value, and what it costs, over the first of the other keys: a line for each combination
/// of the rest, or marks beside each other if that key has no numbers.
void add_frontier_picture(PictureJson& pictures, const PictureResult& result) {
  const Json& about = result.json.at("frontier");
  const PictureRows& table = result.table("frontier.csv");
  const std::vector<std::string> keys = about.at("keys");
  const LinesOverKey lines = lines_over(table, keys);
  if (!lines.is_drawn()) return;
  const std::string key_unit = about.at("key_units").at(0);
  PictureTexts text;
  const Json said = result.json.value("sentences", Json::array());
  if (!said.empty()) text.push_back(said[0]);
  Json picture = picture_json(result.json, "size", "how big must it be?", std::move(text));
  const auto add = [&](const std::string& column, const std::string& title, const AxisOf& what) {
    Extent values;
    for (std::size_t row = 0; row < table.size(); ++row) values.add(table.number(row, column));
    if (values.is_empty()) return;
    Json panel = panel_json(column, title, lines.axis(key_words(keys.front(), key_unit)),
                            upright_axis(what, values.high));
    for (std::size_t i = 0; i < lines.where.size(); ++i) {
      Json one = series_json(lines.names[i].empty() ? title : lines.names[i], look_of(i),
                             from_table("frontier.csv", lines.where[i], keys.front(), column));
      one["mark"] = "dot";
      lines.join(one);
      panel["series"].push_back(std::move(one));
    }
    picture["panels"].push_back(std::move(panel));
  };
  const std::string path = about.at("path"), unit = about.at("unit");
  add("value", "Safe value", {key_words(path, unit), unit});
  add("amplification", "Attempts per request with it", {"attempts per request"});
  if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
}

// --- Risks ---------------------------------------------------------------------------------------

/// How likely it is over the first key that is varied, a line for each combination of the others.
/// Where only a bound is known, a mark without a line.
std::optional<Json> risk_panel(const Json& about, const PictureRows& table) {
  const std::vector<std::string> keys = about.at("keys");
  const LinesOverKey lines = lines_over(table, keys);
  if (!lines.is_drawn()) return std::nullopt;
  Extent values;
  bool has_bounds = false;
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (const char* column : {"probability_low", "probability_high"}) {
      values.add(table.number(row, column));
    }
    has_bounds |= !table.number(row, "probability");
  }
  if (values.is_empty() || values.low <= 0) return std::nullopt;
  constexpr double kRoom = 2;
  const std::string period = about.at("period_words");
  Json panel = panel_json(
      "risk", fmt::format("How likely within {}?", period),
      lines.axis(key_words(keys.front(), about.at("key_units").at(0).get<std::string>())),
      log_axis({"probability"}, values.low / kRoom, std::min(1.0, values.high * kRoom)));
  for (std::size_t i = 0; i < lines.where.size(); ++i) {
    const std::string name = lines.names[i].empty() ? "95 % intervals" : lines.names[i];
    Json one = series_json(name, look_of(i),
                           from_table("risk.csv", lines.where[i], keys.front(), "probability",
                                      "probability_low", "probability_high"));
    one["mark"] = "dot";
    one["whiskers"] = true;
    lines.join(one);
    panel["series"].push_back(std::move(one));
    if (!has_bounds) continue;
    Json where = lines.where[i];
    where["probability"] = "";
    Json bound = series_json("less than this", look_of(i),
                             from_table("risk.csv", where, keys.front(), "probability_high"));
    bound["mark"] = "diamond";
    bound["hollow"] = true;
    panel["series"].push_back(std::move(bound));
  }
  return panel;
}

/// What comes before the event; of a result without varied keys.
void add_path_panels(Json& panels, const PictureRows& path) {
  Extent times, rates, attempts;
  for (std::size_t row = 0; row < path.size(); ++row) {
    times.add(path.number(row, "time_s"));
    rates.add(path.number(row, "attempts_per_s"));
    attempts.add(path.number(row, "in_system"));
  }
  if (times.is_empty() || rates.is_empty() || attempts.is_empty()) return;
  const Json axis = linear_axis({"time before it happens, s"}, times.low, 0, 6);
  struct Line {
    const char *column, *name;
  };
  const auto add = [&](const char* id, const char* title, const AxisOf& what, double top,
                       std::initializer_list<Line> lines) {
    Json panel = panel_json(id, title, axis, upright_axis(what, top));
    std::size_t i = 0;
    for (const Line& line : lines) {
      Json one = series_json(line.name, look_of(i++),
                             from_table("path.csv", Json::object(), "time_s", line.column));
      one["line"] = true;
      panel["series"].push_back(std::move(one));
    }
    panels.push_back(std::move(panel));
  };
  add("path", "What comes before it", {"per second", "1/s"}, rates.high,
      {{"requests_per_s", "requests"}, {"attempts_per_s", "attempts"}});
  add("path_backlog", "Attempts at the services", {"attempts"}, attempts.high,
      {{"in_system", "waiting or in service"}});
}

/// How bad a period is once in so many; of a result without varied keys.
void add_level_panel(Json& panels, const Json& about, const PictureRows& levels) {
  Extent used, periods;
  for (std::size_t row = 0; row < levels.size(); ++row) {
    used.add(levels.number(row, "budget_used_low"));
    used.add(levels.number(row, "budget_used_high"));
    periods.add(levels.number(row, "periods"));
  }
  if (levels.size() < 2 || used.is_empty() || used.high <= 0) return;
  constexpr double kFurther = 1.2, kRoom = 1.06;
  const std::string period = about.at("period_words");
  const AxisOf across = {fmt::format("once in so many periods of {}", period)};
  Json panel =
      panel_json("levels", "How bad is it, how often?",
                 log_axis(across, periods.low / kFurther, periods.high * kFurther),
                 linear_axis({"share of the error budget used", "1", true}, 0, used.high * kRoom));
  Json one = series_json("95 % intervals", look_of(0),
                         from_table("levels.csv", Json::object(), "periods", "budget_used",
                                    "budget_used_low", "budget_used_high"));
  one["mark"] = "dot";
  one["line"] = one["whiskers"] = true;
  panel["series"].push_back(std::move(one));
  panels.push_back(std::move(panel));
}

void add_risk_picture(PictureJson& pictures, const PictureResult& result) {
  const Json& about = result.json.at("risk");
  PictureTexts text;
  const Json said = result.json.value("sentences", Json::array());
  if (!said.empty()) text.push_back(said[0]);
  Json picture = picture_json(result.json, "risk", "how likely is it?", std::move(text));
  if (auto panel = risk_panel(about, result.table("risk.csv"))) {
    picture["panels"].push_back(*std::move(panel));
  }
  if (about.at("keys").empty()) {
    add_path_panels(picture["panels"], result.table("path.csv"));
    add_level_panel(picture["panels"], about, result.table("levels.csv"));
  }
  if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
}

// --- Predictions ---------------------------------------------------------------------------------

void add_prediction_picture(PictureJson& pictures, const PictureResult& result) {
  struct Mark {
    const char *state, *mark, *colour;
  };
  static constexpr std::array<Mark, 4> kMarks = {{{"healthy", "dot", "blue"},
                                                  {"tipping point", "diamond", "ink"},
                                                  {"overloaded", "square", "orange"},
                                                  {"dead", "cross", "red"}}};
  const PictureRows& curves = result.table("trajectories.csv");
  const PictureRows& states = result.table("equilibria.csv");
  if (curves.size() == 0) return;
  Json picture = picture_json(result.json, "phase_plane",
                              "phase plane of the fluid, from the end of a trigger on", {});
  for (const Json& plane : result.json.value("planes", Json::array())) {
    const std::string service = plane.at("service");
    const double timeout = plane.at("attempt_timeout_s");
    // The axes show where something happens: dead states that grow for ever leave the picture.
    Extent starts, heights;
    std::set<std::string> triggers;
    for (std::size_t row = 0; row < curves.size(); ++row) {
      if (curves.text(row, "service") != service) continue;
      if (triggers.insert(curves.text(row, "trigger_s")).second) {
        starts.add(curves.number(row, "backlog_s"));
      }
    }
    if (starts.is_empty()) continue;
    starts.add(2 * timeout);
    for (std::size_t row = 0; row < states.size(); ++row) {
      if (states.text(row, "service") == service) starts.add(states.number(row, "backlog_s"));
    }
    const double right = 1.3 * std::max(starts.high, 1e-9);
    for (std::size_t row = 0; row < curves.size(); ++row) {
      if (curves.text(row, "service") != service) continue;
      if (curves.number(row, "backlog_s").value_or(0) <= right) {
        heights.add(curves.number(row, "retrying"));
      }
    }
    for (std::size_t row = 0; row < states.size(); ++row) {
      if (states.text(row, "service") == service) heights.add(states.number(row, "retrying"));
    }
    const double top = 1.12 * std::max(heights.high, 1e-9);
    const auto tipping = number_of(plane, "tipping_s");
    Json panel =
        panel_json(service,
                   fmt::format("{}: after {}{}", service, plane.at("trigger").get<std::string>(),
                               tipping ? fmt::format(", which tips it from {} s on",
                                                     scenario::said_number(*tipping, 4))
                                       : ""),
                   linear_axis({"work that waits, s"}, -0.03 * right, right, 6),
                   linear_axis({"requests on their way back"}, -0.03 * top, top));
    std::set<std::string> drawn;
    for (std::size_t row = 0; row < curves.size(); ++row) {
      if (curves.text(row, "service") != service) continue;
      const std::string trigger = curves.text(row, "trigger_s"),
                        outcome = curves.text(row, "outcome");
      if (!drawn.insert(trigger + " " + outcome).second) continue;
      const bool near =
          curves.text(row, "separatrix") == "true" || curves.text(row, "separatrix") == "yes";
      Json look = near ? Json{{"colour", "ink"}, {"dash", {5, 2}}}
                       : Json{{"colour", outcome == "down" ? "red" : "blue"}};
      Json one = series_json(
          near                ? "next to the separatrix"
          : outcome == "down" ? "stays down"
                              : "recovers",
          look,
          from_table("trajectories.csv",
                     {{"service", service}, {"trigger_s", trigger}, {"outcome", outcome}},
                     "backlog_s", "retrying"));
      one["line"] = one["arrow"] = true;
      panel["series"].push_back(std::move(one));
    }
    if (timeout > 0 && timeout < right) {
      panel["marks"] = {
          {{"at", timeout}, {"colour", "grey"}, {"dash", {2, 3}}, {"name", "attempt timeout"}}};
    }
    for (std::size_t row = 0; row < states.size(); ++row) {
      if (states.text(row, "service") != service) continue;
      const std::string name = states.text(row, "name");
      const auto look = std::find_if(kMarks.begin(), kMarks.end(),
                                     [&](const Mark& m) { return name == m.state; });
      if (look == kMarks.end()) continue;
      const bool stable =
          states.text(row, "stable") == "true" || states.text(row, "stable") == "yes";
      const auto x = states.number(row, "backlog_s");
      const bool beyond = !x || *x > right;
      std::string words = name + (stable ? "" : " (unstable)");
      if (beyond) words += x ? fmt::format(", at {}", picture_seconds(*x)) : ", backlog grows";
      constexpr double kAtTheEdge = 0.985;
      Json one = series_json(
          words, {{"colour", look->colour}},
          from_table("equilibria.csv", {{"service", service}, {"name", name}},
                     beyond ? Json(kAtTheEdge * right) : Json("backlog_s"), "retrying"));
      one["mark"] = look->mark;
      if (!stable) one["hollow"] = true;
      panel["series"].push_back(std::move(one));
    }
    picture["panels"].push_back(std::move(panel));
  }
  if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
}

}  // namespace retrysim::report
