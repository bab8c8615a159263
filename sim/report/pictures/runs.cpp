// Pictures over time, of a run or of the variants of a comparison.
//
// SPDX-License-Identifier: MIT
#include "kernel/stop.hpp"
#include "report/pictures/draft.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace retrysim::report {

namespace {

using Json = PictureJson;

const std::string& clients_file() {
  static const std::string name = "mean_timeseries.csv";
  return name;
}

const std::string& services_file() {
  static const std::string name = "mean_service.csv";
  return name;
}
constexpr std::size_t kMaxAtFirst = 6;    ///< variants shown from the start
constexpr std::size_t kMaxVariants = 24;  ///< most variants; more are left out
constexpr std::size_t kMaxAtGlance = 9;   ///< most groups; of more the sum is drawn
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

/// The bins of one quantity; missing values are NaN.
struct Bins {
  double width = 0;
  std::vector<double> means, halves;

  bool is_nothing() const {
    return std::all_of(means.begin(), means.end(),
                       [](double m) { return std::isnan(m) || m == 0; });
  }
  double end() const { return width * static_cast<double>(means.size()); }
};

/// A line of a chart with its figures.
struct Line {
  Json json;
  Bins bins;
  bool is_limit() const { return json.contains("steps"); }
};

struct Entry {
  std::string variant, client, name;
  Json look;
};

/// The means over time of a result, and the lines that are drawn of them.
class Series {
 public:
  explicit Series(const PictureResult& result) : result_(result) {
    index(clients_file(), "client");
    index(services_file(), "service");
  }

  bool is_empty() const { return rows_.empty(); }

  std::optional<Bins> of(const std::string& file, const std::string& variant,
                         const std::string& bearer, const std::string& column) const {
    stop_point();
    const auto found = rows_.find({file, variant, bearer});
    const PictureRows& table = result_.table(file);
    const Column* const means = table.find(column);
    if (found == rows_.end() || means == nullptr) return std::nullopt;
    const Column* const lows = table.find(column + "_ci_low");
    const Column* const highs = table.find(column + "_ci_high");
    const auto end_at = [](const Column* ends, std::size_t row) {
      return ends == nullptr ? std::nullopt : number_at(*ends, row);
    };
    Bins bins;
    bins.width = table.number(found->second.front(), "width_s").value_or(0);
    bool exists = false;
    for (const std::size_t row : found->second) {
      const auto mean = number_at(*means, row), low = end_at(lows, row), high = end_at(highs, row);
      exists = exists || mean;
      bins.means.push_back(mean.value_or(kNever));
      bins.halves.push_back(mean && low && high ? std::max(*high - *mean, *mean - *low) : kNever);
    }
    return exists ? std::optional(bins) : std::nullopt;
  }

 private:
  void index(const std::string& file, std::string_view bearer) {
    const PictureRows& table = result_.table(file);
    const Column *const variants = table.find("variant"), *const bearers = table.find(bearer);
    if (variants == nullptr || bearers == nullptr) return;
    std::vector<std::size_t>* rows = nullptr;  // rows of the last name
    std::array<std::string, 3> last;
    for (std::size_t row = 0; row < table.size(); ++row) {
      if (row % 1024 == 0) stop_point();
      std::array name = {file, text_at(*variants, row), text_at(*bearers, row)};
      if (rows == nullptr || name != last) rows = &rows_[name];
      rows->push_back(row);
      last = std::move(name);
    }
  }

  const PictureResult& result_;
  std::map<std::array<std::string, 3>, std::vector<std::size_t>> rows_;
};

/// The largest value of lines in a stretch of time. A wide interval may leave the picture; a line
/// may not.
double top_of(const std::vector<Line>& lines, double from = 0,
              double to = std::numeric_limits<double>::infinity()) {
  constexpr double kMaxOfInterval = 1.5;
  double top = 0;
  for (const Line& line : lines) {
    if (line.is_limit()) {
      const Json& steps = line.json.at("steps");
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool over = i + 1 < steps.size() && steps[i + 1][0].get<double>() <= from;
        if (steps[i][0].get<double>() <= to && !over)
          top = std::max(top, steps[i][1].get<double>());
      }
      continue;
    }
    for (std::size_t i = 0; i < line.bins.means.size(); ++i) {
      const double time = (static_cast<double>(i) + 0.5) * line.bins.width;
      const double mean = line.bins.means[i], half = line.bins.halves[i];
      if (time < from || time > to || std::isnan(mean)) continue;
      const double high = std::isnan(half) ? mean : std::min(mean + half, mean * kMaxOfInterval);
      top = std::max({top, mean, high});
    }
  }
  return top;
}

double least_above_zero(const std::vector<Line>& lines) {
  double low = std::numeric_limits<double>::infinity();
  for (const Line& line : lines) {
    for (const double mean : line.bins.means) {
      if (mean > 0) low = std::min(low, mean);
    }
  }
  return std::isfinite(low) ? low : 0;
}

/// Dashes a line that coincides with an earlier one for long, so that the earlier one shows in the
/// gaps.
void dash_coinciding(std::vector<Line>& lines, double top) {
  static const std::array<Json, 3> kCoinciding = {Json{9, 6}, Json{4, 5}, Json{2, 4}};
  constexpr double kNear = 0.012, kLong = 0.15;
  StopCounter<1024> stop;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    if (lines[n].is_limit() || !lines[n].json.value("dash", Json::array()).empty()) continue;
    std::size_t below = 0;
    for (std::size_t m = 0; m < n; ++m) {
      stop.count();
      const Bins &a = lines[n].bins, &b = lines[m].bins;
      if (lines[m].is_limit() || a.width != b.width) continue;
      std::size_t near = 0, all = 0;
      for (std::size_t i = 0; i < std::min(a.means.size(), b.means.size()); ++i) {
        stop.count();
        if (std::isnan(a.means[i]) || std::isnan(b.means[i])) continue;
        ++all;
        near += std::fabs(a.means[i] - b.means[i]) < kNear * top;
      }
      below += static_cast<double>(near) > kLong * static_cast<double>(all);
    }
    if (below > 0) lines[n].json["dash"] = kCoinciding[std::min(below, kCoinciding.size()) - 1];
  }
}

/// The steps of a quantity from its bins. At a moment in `own`, where a fault or a profile changes
/// the capacity, the bin around it would blur the step: either side gets the value of the next
/// whole bin there. A step without a whole bin changes the value before it as `own` does.
Json steps_of_bins(const Bins& bins, Json own) {
  Json steps = Json::array();
  if (own.empty() && !bins.means.empty()) own = Json::array({{0, bins.means.front()}});
  const auto count = static_cast<double>(bins.means.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double start = own[i][0], rate = own[i][1];
    const double first = std::ceil(start / bins.width - 1e-9);
    const double last =
        i + 1 < own.size()
            ? std::min(count, std::floor(own[i + 1][0].get<double>() / bins.width + 1e-9))
            : count;
    if (first < last) {
      for (double k = first; k < last; ++k) {
        const double value = bins.means[static_cast<std::size_t>(k)];
        if (!std::isnan(value)) steps.push_back({k == first ? start : k * bins.width, value});
      }
    } else {
      const double before = i > 0 ? own[i - 1][1].get<double>() : 0;
      const double last_value = steps.empty() ? 0 : steps.back()[1].get<double>();
      steps.push_back({start, before > 0 ? last_value * rate / before : rate});
    }
  }
  return steps;
}

/// A panel that is not drawn yet.
struct Draft {
  std::string id, title, unit, group;
  std::vector<Line> lines;
  bool is_share = false, is_optional = false, is_log = false, is_load = false;
  std::string service = "";
};

class RunPictures {
 public:
  /// Makes the pictures of several variants together, or of one. With `is_template`, makes the
  /// template for every point of a sweep, with all panels; those that stay empty at every point are
  /// left out when it is filled in.
  RunPictures(const PictureResult& result, const Series& series, const PictureJson& of_variants,
              std::vector<std::size_t> variants, bool is_template = false)
      : result_(result),
        series_(series),
        of_variants_(of_variants),
        variants_(std::move(variants)),
        compared_(variants_.size() > 1),
        is_template_(is_template),
        first_(of_variants[variants_.front()]),
        replications_(first_.value("replications", std::size_t{1})) {
    const std::string variant = first_.at("variant");
    for (const char* list : {"clients", "calls"}) {
      for (const Json& group : first_.value(list, Json::array())) {
        groups_.push_back(group.at("name"));
        if (list == std::string("clients")) outside_.push_back(groups_.back());
      }
    }
    const auto is_known = [&](const std::string& group) {
      return series_.of(clients_file(), variant, group, "attempt_rate").has_value();
    };
    std::erase_if(groups_, [&](const std::string& group) { return !is_known(group); });
    std::erase_if(outside_, [&](const std::string& group) { return !is_known(group); });
    for (const Json& service : first_.value("services", Json::array())) {
      services_.push_back(service.at("name"));
    }
    end_ = end_of_action();
  }

  void add_to(Json& pictures) const {
    if (!groups_.empty()) pictures.push_back(glance());
    pictures.push_back(overview());
    Json latency_picture = latency();
    if (!latency_picture["panels"].empty()) pictures.push_back(std::move(latency_picture));
  }

 private:
  const Json& variant(std::size_t i) const { return of_variants_[variants_[i]]; }

  std::vector<Entry> entries() const {
    std::vector<Entry> found;
    if (compared_) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < variants_.size(); ++i) names.push_back(variant(i).at("variant"));
      const std::vector<std::string> labels = variant_labels(names).labels;
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        found.push_back({names[i], "all", labels[i], look_of(i)});
        if (i >= kMaxAtFirst) found.back().look["off"] = true;
      }
      return found;
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      found.push_back({first_.at("variant"), groups_[i], groups_[i], look_of(i)});
    }
    if (found.empty()) found.push_back({first_.at("variant"), "all", "all", look_of(0)});
    return found;
  }

  std::optional<Line> line(const std::string& file, const std::string& variant_name,
                           const std::string& bearer, const std::string& column,
                           const std::string& name, const Json& look) const {
    std::optional<Bins> bins = series_.of(file, variant_name, bearer, column);
    if (!bins) return std::nullopt;
    const Json where = {{"variant", variant_name},
                        {file == clients_file() ? "client" : "service", bearer}};
    Json json = series_json(
        name, look,
        from_table(file, where, "time_s", column, column + "_ci_low", column + "_ci_high"));
    json["line"] = true;
    if (replications_ > 1) json["band"] = true;
    return Line{std::move(json), std::move(*bins)};
  }

  static void push(std::vector<Line>& lines, std::optional<Line> line) {
    if (line) lines.push_back(std::move(*line));
  }

  std::vector<Line> of_entries(const std::string& column) const {
    std::vector<Line> lines;
    for (const Entry& e : entries()) {
      push(lines, line(clients_file(), e.variant, e.client, column, e.name, e.look));
    }
    return lines;
  }

  // --- Load ------------------------------------------------------------------------------------

  /// The capacity of a service as a line; empty if nothing limits the service.
  std::optional<Line> capacity(const Json& of_variant, const std::string& service) const {
    const std::string name = of_variant.at("variant");
    std::optional<Bins> bins = series_.of(services_file(), name, service, "capacity");
    if (!bins || bins->is_nothing()) return std::nullopt;
    for (const Json& one : of_variant.at("services")) {
      if (one.at("name") != service) continue;
      const Json own = one.value("capacity_steps", Json());
      Json steps = own.is_array() && !one.value("autoscaled", false)
                       ? own
                       : steps_of_bins(*bins, own.is_array() ? own : Json::array());
      while (steps.size() > 1 && steps.back()[0].get<double>() >= bins->end()) {
        steps.erase(steps.size() - 1);
      }
      if (steps.empty()) return std::nullopt;
      const bool throttled = one.contains("throttle_per_s") && !one["throttle_per_s"].is_null();
      const bool served = one.contains("capacity_per_s") && !one["capacity_per_s"].is_null();
      Json json = series_json(throttled && !served ? "throttle" : "capacity",
                              {{"colour", "ink"}, {"dash", limit_dash()}}, Json());
      json["line"] = true;
      json["service"] = service;
      json["steps"] = std::move(steps);
      json["end"] = bins->end();
      return Line{std::move(json), std::move(*bins)};
    }
    return std::nullopt;
  }

  std::vector<std::string> callers(const std::string& service) const {
    std::vector<std::string> found;
    for (const char* list : {"clients", "calls"}) {
      for (const Json& group : first_.value(list, Json::array())) {
        const Json calls = group.value("calls", Json::array());
        if (std::find(calls.begin(), calls.end(), Json(service)) != calls.end()) {
          found.push_back(group.at("name"));
        }
      }
    }
    return found;
  }

  std::vector<Line> load(const std::string& service) const {
    std::vector<Line> lines;
    const std::string own = first_.at("variant");
    const std::vector<std::string> called_by = callers(service);
    if (compared_) {
      for (const Entry& e : entries()) {
        push(lines, line(services_file(), e.variant, service, "arrival_rate", e.name, e.look));
      }
    } else if (called_by.size() == 1) {
      const auto one = [&](const char* column, const char* name, const char* colour) {
        push(lines, line(clients_file(), own, called_by[0], column, name, {{"colour", colour}}));
      };
      one("offered_load", "requests", "grey");
      one("attempt_rate", "attempts", "red");
      one("goodput", "goodput", "green");
    } else {
      for (const Entry& e : entries()) {
        if (std::find(called_by.begin(), called_by.end(), e.client) == called_by.end()) continue;
        push(lines, line(clients_file(), own, e.client, "attempt_rate", e.name, e.look));
      }
      push(lines, line(services_file(), own, service, "arrival_rate", "all attempts",
                       {{"colour", "ink"}}));
    }
    add_limits(lines, service);
    return lines;
  }

  void add_limits(std::vector<Line>& lines, const std::string& service) const {
    std::vector<Line> limits;
    std::set<std::string> different;
    std::vector<Entry> of;
    const std::vector<Entry> all = entries();
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      std::optional<Line> limit = capacity(variant(i), service);
      if (!limit) continue;
      different.insert(limit->json["steps"].dump());
      limits.push_back(std::move(*limit));
      of.push_back(all[compared_ ? i : 0]);
    }
    if (different.size() == 1) {
      lines.push_back(std::move(limits.front()));
      return;
    }
    for (std::size_t i = 0; i < limits.size(); ++i) {
      limits[i].json["colour"] = of[i].look["colour"];
      if (of[i].look.contains("off")) limits[i].json["off"] = true;
      limits[i].json["name"] = fmt::format("capacity, {}", of[i].name);
      limits[i].json["variant"] = of[i].variant;
      lines.push_back(std::move(limits[i]));
    }
  }

  // --- The panels over time --------------------------------------------------------------------

  std::vector<Draft> drafts() const {
    const bool several = services_.size() > 1;
    std::vector<Draft> found;
    for (const std::string& service : services_) {
      Draft d{"load " + service, "", "1/s", "services", load(service)};
      d.service = service;
      const bool limited =
          std::any_of(d.lines.begin(), d.lines.end(), [](const Line& l) { return l.is_limit(); });
      d.title = several ? "Load of " + service : limited ? "Load against capacity" : "Load";
      d.is_load = true;
      found.push_back(std::move(d));
    }
    const auto add = [&](const char* id, const char* title, const char* unit, const char* group,
                         std::vector<Line> lines, bool is_optional = false) -> Draft& {
      found.push_back({id, title, unit, group, std::move(lines)});
      found.back().is_optional = is_optional;
      return found.back();
    };
    if (compared_ || groups_.size() > 1) {
      add("goodput", "Goodput: requests that succeed", "1/s", "latency", of_entries("goodput"));
    }
    add("success", "Success rate of the requests that end", "1", "latency",
        of_entries("success_rate"))
        .is_share = true;
    const auto exist = [](const Line& line) {
      constexpr std::ptrdiff_t kFew = 4;  // too few to draw a line through
      return std::count_if(line.bins.means.begin(), line.bins.means.end(),
                           [](double m) { return !std::isnan(m); }) > kFew;
    };
    std::vector<Line> amplification = of_entries("amplification");
    if (is_template_ || std::any_of(amplification.begin(), amplification.end(), exist)) {
      add("amplification", "Amplification: attempts per request", "1", "retries",
          std::move(amplification));
    }
    std::vector<Line> latencies;
    for (const Entry& e : entries()) {
      push(latencies,
           line(clients_file(), e.variant, e.client, "latency_p99", e.name + " p99", e.look));
      Json look = e.look;
      look["dash"] = {2, 3};
      std::optional<Line> median =
          line(clients_file(), e.variant, e.client, "latency_p50", e.name + " median", look);
      if (median) {
        median->json.erase("band");
        median->bins.halves.assign(median->bins.halves.size(), kNever);
      }
      push(latencies, std::move(median));
    }
    add("latency", "Latency", "s", "latency", std::move(latencies)).is_log = true;
    add_queues(found);
    add("retries", "Retries", "1/s", "retries", of_entries("retry_rate"), true);
    add("backoff", "Waiting to retry (in backoff)", "requests", "retries", of_entries("in_backoff"),
        true);
    add("limiter", "Waiting for the send-rate limiter", "requests", "retries",
        of_entries("limiter_waiting"), true);
    add("quota", "Retry quota: retries it denied", "1/s", "retries", of_entries("quota_denied"),
        true);
    if (!compared_) {
      std::vector<Line> failures;
      const std::string client = groups_.size() == 1 ? groups_[0] : "all";
      for (const auto& [column, colour] :
           {std::pair("timeouts", "purple"), std::pair("errors", "red"),
            std::pair("throttled", "orange")}) {
        std::optional<Line> one = line(clients_file(), first_.at("variant"), client, column, column,
                                       {{"colour", colour}});
        if (one && (is_template_ || !one->bins.is_nothing())) push(failures, std::move(one));
      }
      add("failures", "Attempts that failed, by reason", "1/s", "retries", std::move(failures),
          true);
    }
    const auto says_something = [&](const Draft& d) {
      if (is_template_ || !d.is_optional) return !d.lines.empty();
      return !std::ranges::all_of(d.lines, [](const Line& l) { return l.bins.is_nothing(); });
    };
    std::vector<Draft> drawn;
    for (Draft& draft : found) {
      stop_point();  // a thousand lines are freed
      Draft one = std::move(draft);
      if (says_something(one)) drawn.push_back(std::move(one));
    }
    return drawn;
  }

  /// Adds panels of queues, without services at which every attempt finds a server.
  void add_queues(std::vector<Draft>& found) const {
    const bool several = services_.size() > 1;
    Draft together{"queue", several ? "Queues" : "Queue", "attempts", "services", {}};
    together.is_optional = true;
    for (std::size_t s = 0; s < services_.size(); ++s) {
      Draft own{"queue " + services_[s],
                several ? "Queue of " + services_[s] : "Queue",
                "attempts",
                "services",
                {}};
      own.is_optional = true;
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        const Json services = variant(i).value("services", Json::array());
        const bool waits = std::any_of(services.begin(), services.end(), [&](const Json& one) {
          return one.at("name") == services_[s] && !one.value("servers", Json()).is_null();
        });
        if (!waits) continue;
        const std::string name = variant(i).at("variant");
        if (compared_) {
          const Entry e = entries()[i];
          push(own.lines, line(services_file(), name, services_[s], "queue_mean", e.name, e.look));
        } else {
          push(together.lines,
               line(services_file(), name, services_[s], "queue_mean", services_[s], look_of(s)));
        }
      }
      if (compared_) found.push_back(std::move(own));
    }
    if (!compared_) found.push_back(std::move(together));
  }

  /// The tops of panels. Those of loads share a scale if their tops are near each other; otherwise
  /// each has its own, so that very different loads can be read.
  static std::vector<double> tops_of(const std::vector<Draft>& drafts) {
    constexpr double kMaxApart = 2;
    std::vector<double> tops, loads;
    for (const Draft& d : drafts) {
      stop_point();
      tops.push_back(top_of(d.lines));
      if (d.is_load) loads.push_back(tops.back());
    }
    std::sort(loads.rbegin(), loads.rend());
    std::map<double, double> shared;  // for the top of each load
    double largest = 0;
    for (const double top : loads) {
      if (largest > kMaxApart * top) largest = 0;
      if (largest == 0) largest = top;
      shared.emplace(top, std::max(largest, top));
    }
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      if (drafts[i].is_load) tops[i] = shared.at(tops[i]);
    }
    return tops;
  }

  Json panel(Draft draft, double from, double to, double top) const {
    stop_point();
    constexpr double kRoom = 1.06, kFew = 40;
    const AxisOf what{unit_words(draft.unit, draft.is_share), draft.unit, draft.is_share};
    std::vector<Line> limits;
    StopCounter<64> stop;
    for (const Line& line : draft.lines) {
      stop.count();
      if (line.is_limit()) limits.push_back(line);
    }
    dash_coinciding(draft.lines, top);
    Json y = upright_axis(what, top, draft.is_load ? top_of(limits, from, to) : 0);
    const double low = least_above_zero(draft.lines);
    if (draft.is_log && low > 0 && top * kRoom / low > kFew) {
      y = log_axis(what, std::pow(10, std::floor(std::log10(low))), top * kRoom);
    }
    Json json = panel_json(draft.id, draft.title, time_axis(from, to), std::move(y));
    json["group"] = draft.group;
    if (draft.is_optional) json["optional"] = true;
    if (draft.is_load) json["together"] = "load";
    if (!draft.service.empty()) json["service"] = draft.service;
    for (Line& line : draft.lines) {
      stop.count();
      json["series"].push_back(std::move(line.json));
    }
    json["spans"] = spans(to);
    return json;
  }

  Json overview() const {
    std::vector<std::string> text = {counted_replications() + "; " + of_lines()};
    if (services_.size() > 1 && !compared_) {
      for (const std::string& storm : storm_texts()) text.push_back(storm);
    }
    if (compared_ && entries().size() > kMaxAtFirst) {
      text.push_back(
          fmt::format("The first {} of {} variants are drawn.", kMaxAtFirst, of_variants_.size()));
    }
    Json picture = picture_json(result_.json, "overview", own_name(), std::move(text));
    std::vector<Draft> all = drafts();
    const std::vector<double> tops = tops_of(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      picture["panels"].push_back(panel(std::move(all[i]), 0, end_, tops[i]));
    }
    return picture;
  }

  // --- At a glance -----------------------------------------------------------------------------

  std::vector<Entry> drawn_at_glance() const {
    if (compared_) return entries();
    std::vector<Entry> own;
    for (const Entry& e : entries()) {
      if (std::find(outside_.begin(), outside_.end(), e.client) != outside_.end()) own.push_back(e);
    }
    for (std::size_t i = 0; i < own.size(); ++i) own[i].look = look_of(i);
    if (own.size() > kMaxAtGlance) {
      const std::string variant = first_.at("variant");
      return {{variant, "all", fmt::format(", {} groups", own.size()), look_of(0)}};
    }
    return own;
  }

  /// The fate of a group; empty if none was concluded.
  std::string fate(const std::string& variant, const std::string& client) const {
    const auto verdicts = result_.json.find("verdicts");
    if (verdicts == result_.json.end()) return "";
    for (const Json& row : *verdicts) {
      if (row.at("variant") == variant && row.at("client") == client) {
        return row.value("fate", std::string());
      }
    }
    return "";
  }

  Json glance() const {
    const std::vector<Entry> who = drawn_at_glance();
    const auto [from, to] = around_disturbance(who);
    Json picture = picture_json(result_.json, "glance", own_name(),
                                {counted_replications() + "; " + of_lines()});
    std::set<std::string> fates;
    for (const Entry& e : who) fates.insert(fate(e.variant, e.client));
    int number = 0;
    for (const auto& [column, title] : {std::pair("attempt_rate", "Attempts that the clients send"),
                                        std::pair("goodput", "Requests that succeed")}) {
      const bool is_load = number++ == 0;
      Draft d{is_load ? "sent" : "succeed", title, "1/s", "glance", {}};
      for (const Entry& e : who) {
        const std::string single = is_load ? "attempts" : "successes";
        const std::string name = who.size() > 1      ? e.name
                                 : e.client == "all" ? single + (groups_.size() > 1 ? e.name : "")
                                                     : single;
        std::optional<Line> own = line(clients_file(), e.variant, e.client, column, name, e.look);
        const std::string said = fate(e.variant, e.client);
        if (own && !is_load && fates.size() > 1 && !said.empty()) own->json["said"] = said;
        push(d.lines, std::move(own));
      }
      if (who.size() == 1 && is_load) {
        push(d.lines, line(clients_file(), who[0].variant, who[0].client, "offered_load",
                           "requests", {{"colour", "grey"}, {"dash", {6, 3}}}));
      }
      double top = top_of(d.lines, from, to);
      add_common_limit(d.lines, top, from, to);
      if (d.lines.empty()) continue;
      d.is_load = true;
      Json own = panel(std::move(d), from, to, std::max(top, 0.0));
      own.erase("together");
      picture["panels"].push_back(std::move(own));
    }
    return picture;
  }

  /// Adds the capacity of the services that clients call as a line, if all have the same and the
  /// lines come near it.
  void add_common_limit(std::vector<Line>& lines, double& top, double from, double to) const {
    constexpr double kNear = 1.6;
    std::set<std::string> called, different;
    for (const Json& group : first_.value("clients", Json::array())) {
      for (const Json& service : group.value("calls", Json::array())) called.insert(service);
    }
    std::optional<Line> limit;
    for (const std::string& service : called) {
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        std::optional<Line> own = capacity(variant(i), service);
        if (!own) continue;
        different.insert(own->json["steps"].dump());
        limit = std::move(own);
      }
    }
    if (different.size() != 1) return;
    const double height = top_of({*limit}, from, to);
    if (height >= kNear * top) return;
    top = std::max(top, height);
    lines.push_back(std::move(*limit));
  }

  std::optional<double> summary(const std::string& variant, const std::string& client,
                                std::string_view metric) const {
    const PictureRows& rows = result_.table("summary.csv");
    for (const std::size_t row :
         rows.having({{"variant", variant}, {"client", client}, {"metric", metric}})) {
      if (const auto mean = rows.number(row, "mean")) return mean;
    }
    return std::nullopt;
  }

  /// The stretch of time around the disturbance; the whole time if the stretch is most of it.
  std::pair<double, double> around_disturbance(const std::vector<Entry>& who) const {
    constexpr double kBefore = 0.3, kAfter = 0.6, kMaxOfAll = 0.75;
    double first = std::numeric_limits<double>::infinity(), last = 0, down = 0;
    for (const Entry& e : who) {
      double start = std::numeric_limits<double>::infinity(), end = 0;
      for (const Json& of_variant : of_variants_) {
        if (of_variant.at("variant") != e.variant) continue;
        for (const Json& window : of_variant.value("disturbances", Json::array())) {
          start = std::min(start, window.at("start_s").get<double>());
          end = std::max(end, window.at("end_s").get<double>());
        }
      }
      if (!(end > start)) continue;
      first = std::min(first, start);
      last = std::max(last, end + summary(e.variant, e.client, "recovery_s").value_or(0));
      if (summary(e.variant, e.client, "recovered").value_or(1) < 1) {
        down = std::max(down, end + 2 * (end - start));
      }
    }
    const double end = std::max(last, std::min(down, end_)), span = end - first;
    if (!(span > 0) || is_template_) return {0, end_};
    const double low = std::max(0.0, first - kBefore * span);
    const double high = std::min(end_, end + kAfter * span);
    return high > low && high - low < kMaxOfAll * end_ ? std::pair(low, high)
                                                       : std::pair(0.0, end_);
  }

  // --- Latency and attempts --------------------------------------------------------------------

  Json latency() const {
    Json picture = picture_json(result_.json, "latency", own_name(), {counted_replications()});
    if (Json quantiles = quantile_panel(); !quantiles.is_null()) {
      picture["panels"].push_back(std::move(quantiles));
    }
    if (Json attempts = attempts_panel(); !attempts.is_null()) {
      picture["panels"].push_back(std::move(attempts));
    }
    return picture;
  }

  Json quantile_panel() const {
    static constexpr std::array<std::array<const char*, 3>, 4> kKinds = {
        {{"request", "whole request", "blue"},
         {"request_ok", "successful requests", "green"},
         {"attempt", "one attempt, as the client sees it", "orange"},
         {"service", "queue and service", "purple"}}};
    static const std::array<Json, 4> kDashes = {Json::array(), Json{6, 3}, Json{9, 3, 2, 3},
                                                Json{2, 3}};
    const PictureRows& table = result_.table("latency.csv");
    Json series = Json::array();
    double low = std::numeric_limits<double>::infinity(), top = 0;
    std::vector<std::string> quantiles, of_requests;
    const auto add = [&](const std::string& variant, const std::string& client,
                         const std::string& kind, const std::string& name, const Json& look) {
      stop_point();
      const Json where = {{"variant", variant}, {"client", client}, {"kind", kind}};
      std::vector<std::string> values;
      for (const std::size_t row : table.having(where)) {
        const double value = table.number(row, "latency_s").value_or(0);
        if (!(value > 0)) continue;
        values.push_back(table.text(row, "latency_s"));
        low = std::min(low, value);
        top = std::max({top, value, table.number(row, "ci_high_s").value_or(0)});
      }
      if (values.empty() || (kind == "request_ok" && values == of_requests)) return;
      if (kind == "request") of_requests = values;
      Json one = series_json(
          name, look,
          from_table("latency.csv", where, "quantile", "latency_s", "ci_low_s", "ci_high_s"));
      one["line"] = true;
      one["band"] = true;
      one["mark"] = "dot";
      series.push_back(std::move(one));
    };
    const std::vector<Entry> all = entries();
    if (all.size() > 1) {
      for (const Entry& e : all) add(e.variant, e.client, "request", e.name, e.look);
    } else {
      for (std::size_t i = 0; i < kKinds.size(); ++i) {
        add(first_.at("variant"), "all", kKinds[i][0], kKinds[i][1],
            {{"colour", kKinds[i][2]}, {"dash", kDashes[i]}});
      }
    }
    if (series.empty()) return {};
    constexpr double kRoom = 1.4;
    Json x = {{"label", "percentile; bands: 95 % intervals"},
              {"scale", "nines"},
              {"low", 0},
              {"high", 0.9995}};
    x["ticks"] = {{0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}};
    Json panel =
        panel_json("quantiles", all.size() > 1 ? "Latency of whole requests" : "Latency quantiles",
                   std::move(x), log_axis({"latency (log scale)", "s"}, low / kRoom, top * kRoom));
    panel["series"] = std::move(series);
    return panel;
  }

  /// A panel on the fates of attempts, as shares with their number above: for a single group by
  /// attempt number, for several by group or variant.
  Json attempts_panel() const {
    stop_point();
    constexpr std::size_t kMaxAttempts = 12;
    static constexpr std::array<std::array<const char*, 3>, 4> kOutcomes = {
        {{"successes", "successes", "green"},
         {"throttled", "throttled", "orange"},
         {"errors", "errors", "red"},
         {"timeouts", "timeouts", "purple"}}};
    const PictureRows& table = result_.table("attempts.csv");
    const std::vector<Entry> all = entries();
    const bool by_number = all.size() == 1;
    const std::string column = by_number ? "attempt" : compared_ ? "variant" : "client";
    std::vector<std::string> keys, texts;
    Json where;
    if (by_number) {
      where = {{"variant", first_.at("variant")}, {"client", "all"}};
    } else if (compared_) {
      where = {{"client", "all"}};
    } else {
      where = {{"variant", first_.at("variant")}};
    }
    std::map<std::string, double> sent;
    std::map<std::string, double> outcomes;
    double all_sent = 0, shown = 0;
    std::set<std::string> wanted;
    for (const Entry& e : all) wanted.insert(compared_ ? e.variant : e.client);
    for (const std::size_t row : table.having(where)) {
      const std::string key = table.text(row, column);
      if (!by_number && !wanted.contains(key)) continue;
      const double number = table.number(row, "sent").value_or(0);
      all_sent += number;
      if (!sent.contains(key)) {
        if (by_number && keys.size() >= kMaxAttempts) continue;
        keys.push_back(key);
      }
      shown += number;
      sent[key] += number;
      double rest = number;
      for (const auto& [name, label, colour] : kOutcomes) {
        const double value = table.number(row, name).value_or(0);
        outcomes[name] += value;
        rest -= value;
      }
      outcomes["rest"] += rest;
    }
    if (keys.empty() || !(all_sent > 0)) return {};
    std::map<std::string, std::string> names;
    for (const Entry& e : all) names[compared_ ? e.variant : e.client] = e.name;
    Json tops = Json::array();
    for (const std::string& key : keys) {
      texts.push_back(by_number ? key : names[key]);
      tops.push_back(picture_digits(sent[key]));
    }
    constexpr double kTop = 1.08, kRare = 1e-4;
    const std::string left_out =
        shown < all_sent ? fmt::format("; later ones, {}, are left out",
                                       picture_quantity(1 - shown / all_sent, "1", true))
                         : "";
    Json panel = panel_json(
        "attempts", by_number ? "What became of each attempt" : "What became of the attempts",
        names_axis(by_number   ? fmt::format("attempt number (1 is the first{})", left_out)
                   : compared_ ? "variant"
                               : "client group",
                   keys, texts),
        linear_axis({"share of the attempts", "1", true}, 0, kTop, 6));
    panel["stacked"] = true;
    panel["notes"] = {"above: attempts per replication"};
    panel["tops"] = std::move(tops);
    const auto add = [&](const Json& y, const char* label, const char* colour, double total) {
      if (total <= kRare * all_sent) return;
      Json from = from_table("attempts.csv", where, column, y);
      from["of"] = "sent";
      panel["series"].push_back(series_json(label, {{"colour", colour}}, std::move(from)));
    };
    for (const auto& [name, label, colour] : kOutcomes) add(name, label, colour, outcomes[name]);
    add({"sent", "successes", "throttled", "errors", "timeouts"},
        "given up at the deadline, or unfinished", "grey", outcomes["rest"]);
    return panel;
  }

  // --- Shaded times, and words -----------------------------------------------------------------

  /// The shaded times of faults and surges; those of the same times are one. In a legend a few have
  /// their times, many only their number.
  Json spans(double end) const {
    struct Window {
      double from, to;
      std::vector<std::string> names;
      std::set<std::string> kinds;
    };
    std::vector<Window> windows;
    std::set<std::string> kinds, names;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      for (const Json& one : variant(i).value("disturbances", Json::array())) {
        const double from = one.at("start_s"), to = one.at("end_s");
        if (from >= end) continue;
        const auto known = std::find_if(windows.begin(), windows.end(), [&](const Window& w) {
          return w.from == from && w.to == to;
        });
        Window& window =
            known != windows.end() ? *known : windows.emplace_back(Window{from, to, {}, {}});
        const std::string name = one.at("name");
        if (std::find(window.names.begin(), window.names.end(), name) == window.names.end()) {
          window.names.push_back(name);
        }
        window.kinds.insert(one.at("kind"));
        kinds.insert(one.at("kind"));
        names.insert(name);
      }
    }
    std::stable_sort(windows.begin(), windows.end(),
                     [](const Window& a, const Window& b) { return a.from < b.from; });
    constexpr std::size_t kFew = 3;
    const auto count = [&](std::size_t number, const std::set<std::string>& of) {
      return of.size() == 1 ? counted(number, *of.begin())
                            : fmt::format("{} faults and surges", number);
    };
    Json all = Json::array();
    for (const Window& w : windows) {
      const std::string name = w.names.size() > kFew ? count(w.names.size(), w.kinds)
                                                     : fmt::format("{}", fmt::join(w.names, ", "));
      Json span = {
          {"role", "fault"}, {"name", name}, {"from", w.from}, {"to", std::min(w.to, end)}};
      if (windows.size() <= kFew) {
        span["legend"] =
            fmt::format("{}, {} to {} s", name, picture_digits(w.from, 6), picture_digits(w.to, 6));
      } else if (all.empty()) {
        span["legend"] = count(names.size(), kinds);
      }
      all.push_back(std::move(span));
    }
    if (compared_) return all;
    for (Json& span : outside()) all.push_back(std::move(span));
    if (services_.size() == 1) {
      for (const auto& [from, to, text] : storms()) {
        all.push_back(
            {{"role", "storm"}, {"name", text}, {"from", from}, {"to", to}, {"legend", text}});
      }
    }
    return all;
  }

  /// The times that the summary leaves out.
  std::vector<Json> outside() const {
    constexpr double kThin = 0.01;  // share of the whole time below which a part cannot be seen
    const double start = first_.value("window_start_s", 0.0);
    const double end = first_.value("window_end_s", end_);
    std::vector<Json> parts;
    std::vector<std::string> names;
    for (const auto& [from, to, name] :
         {std::tuple(0.0, start, "warm-up"), std::tuple(end, end_, "drain (no new requests)")}) {
      if (to - from <= kThin * end_) continue;
      names.emplace_back(name);
      parts.push_back({{"role", "outside"}, {"name", name}, {"from", from}, {"to", to}});
    }
    if (!parts.empty()) {
      parts[0]["legend"] = fmt::format("not in the summary: {}", fmt::join(names, ", "));
    }
    return parts;
  }

  /// The median windows, with words, of the storms that at least half of the replications have.
  std::vector<std::tuple<double, double, std::string>> storms() const {
    const PictureRows& table = result_.table("storms.csv");
    const double end = first_.value("window_end_s", end_);
    std::map<double, std::vector<std::pair<double, double>>> by_number;
    std::map<double, std::size_t> lasting;
    for (std::size_t row = 0; row < table.size(); ++row) {
      if (table.text(row, "variant") != first_.at("variant").get<std::string>()) continue;
      const double number = table.number(row, "storm").value_or(0);
      const auto until = table.number(row, "end_s");
      by_number[number].emplace_back(table.number(row, "onset_s").value_or(0), until.value_or(end));
      lasting[number] += !until;
    }
    const auto median = [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      const std::size_t n = values.size();
      return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    };
    std::vector<std::tuple<double, double, std::string>> found;
    for (const auto& [number, rows] : by_number) {
      if (2 * rows.size() < replications_) continue;
      std::vector<double> from, to;
      for (const auto& [onset, until] : rows) {
        from.push_back(onset);
        to.push_back(until);
      }
      std::string text = replications_ > 1 ? fmt::format("retry storm in {} of {} runs",
                                                         rows.size(), replications_)
                                           : "retry storm";
      if (lasting[number] > 0) {
        text += ", end not seen";
        if (lasting[number] < rows.size()) text += fmt::format(" in {}", lasting[number]);
      }
      found.emplace_back(median(from), std::min(median(to), end_), std::move(text));
    }
    return found;
  }

  std::vector<std::string> storm_texts() const {
    std::vector<std::string> texts;
    const double end = first_.value("window_end_s", end_);
    for (const auto& [from, to, text] : storms()) {
      texts.push_back(
          fmt::format("All services together: {}, {} (median).", text,
                      to < end ? fmt::format("{} to {} s", picture_digits(from), picture_digits(to))
                               : fmt::format("from {} s on", picture_digits(from))));
    }
    return texts;
  }

  /// The time, s, after which nothing happens: a herd may be over long before the run is.
  double end_of_action() const {
    double end = 0;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      std::vector<std::string> clients = groups_;
      clients.emplace_back("all");
      for (const std::string& client : clients) {
        for (const char* column : {"attempt_rate", "goodput", "in_backoff"}) {
          const auto bins = series_.of(clients_file(), variant(i).at("variant"), client, column);
          if (!bins) continue;
          std::size_t last = bins->means.size();
          while (last > 0 && !(bins->means[last - 1] > 0)) --last;
          end = std::max(end, static_cast<double>(last) * bins->width);
        }
      }
    }
    return end > 0 ? end : 1;
  }

  std::string counted_replications() const {
    return fmt::format("{}, seed {}", counted(replications_, "replication"),
                       first_.value("seed", std::uint64_t{0}));
  }
  std::string of_lines() const {
    return replications_ > 1 ? "lines: means; bands: 95 % intervals of the mean"
                             : "one replication: no intervals";
  }
  /// The variant's name; empty if it is the whole result.
  std::string own_name() const {
    const std::string name = first_.at("variant");
    return compared_ || name == "base" ? "" : name;
  }

  const PictureResult& result_;
  const Series& series_;
  const Json& of_variants_;
  std::vector<std::size_t> variants_;
  bool compared_, is_template_;
  const Json& first_;
  std::size_t replications_;
  std::vector<std::string> groups_, outside_, services_;
  double end_ = 1;
};

}  // namespace

void add_run_pictures(PictureJson& pictures, const PictureResult& result) {
  const Series series(result);
  if (series.is_empty()) return;
  const Json& variants = result.json.at("variants");
  const std::size_t count = std::min(variants.size(), kMaxVariants);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);
  RunPictures(result, series, variants, all).add_to(pictures);
  if (count < 2) return;
  // Each variant alone gets pictures, too, for readers who ask for it.
  for (const std::size_t v : all) {
    Json own = Json::array();
    RunPictures(result, series, variants, {v}).add_to(own);
    for (Json& picture : own) {
      picture["variant"] = result.json["variants"][v]["variant"];
      pictures.push_back(std::move(picture));
    }
  }
}

void add_point_pictures(PictureJson& pictures, const PictureResult& result,
                        const PictureJson& graph, const std::string& point) {
  const Series series(result);
  if (series.is_empty()) return;
  Json variant = {{"variant", point},
                  {"seed", result.json.value("seed", Json())},
                  {"replications", result.json.value("replications", Json())}};
  variant.update(graph);
  const Json variants = Json::array({variant});
  Json own = Json::array();
  RunPictures(result, series, variants, {0}, true).add_to(own);
  for (Json& picture : own) {
    if (picture["name"] == "latency") continue;  // sweeps have no tables of latency
    picture["title"] = result.json.value("title", std::string());
    picture["variant"] = nullptr;
    pictures.push_back(std::move(picture));
  }
}

namespace {

constexpr std::size_t kMaxDrawnVariants = 24;  // most variants in the picture of a comparison

std::string difference_text(double value, double scale) {
  constexpr double kRounding = 1e-9, kWhole = 100;
  if (std::fabs(value) <= kRounding * scale) return "0";
  const double size = std::fabs(value);
  return (value < 0 ? "-" : "+") +
         (size >= kWhole ? scenario::said_whole(size) : scenario::said_number(size));
}

/// Joins the labels of points that lie on each other.
void join_labels(Json& all, double width, double height) {
  constexpr double kNearAcross = 0.02, kNearUp = 0.04;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& own = all[i]["points"][0];
    for (std::size_t k = 0; k < i; ++k) {
      const Json& other = all[k]["points"][0];
      const auto distance = [&](std::size_t end) {
        return std::fabs(own[end].get<double>() - other[end].get<double>());
      };
      if (all[k]["label"] == "" || distance(0) > kNearAcross * width ||
          distance(1) > kNearUp * height) {
        continue;
      }
      all[k]["label"] =
          all[k]["label"].get<std::string>() + ", " + all[i]["label"].get<std::string>();
      all[i]["label"] = "";
      break;
    }
  }
}

}  // namespace

void add_comparison_picture(PictureJson& pictures, const PictureResult& result) {
  const PictureRows& table = result.table("compare.csv");
  const Json& info = result.json;
  if (table.size() == 0 || !info.contains("comparison")) return;
  std::vector<std::string> names;
  for (const Json& variant : info.at("variants")) names.push_back(variant.at("variant"));
  const std::size_t left_out = names.size() - std::min(names.size(), kMaxDrawnVariants + 1);
  names.resize(names.size() - left_out);
  const VariantLabels said = variant_labels(names);
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < names.size(); ++i) place[names[i]] = i;
  const bool few = names.size() <= kMaxAtFirst;
  const auto colour = [&](std::size_t i) {
    return look_of(few ? i : std::min<std::size_t>(i, 1))["colour"];
  };
  const std::size_t runs = info.value("replications", std::size_t{1});
  std::vector<std::string> text = {fmt::format(
      "all clients, {} on common random numbers{}", counted(runs, "replication"),
      runs > 1 ? "; 95 % intervals that hold for all variants of a metric together" : "")};
  if (left_out > 0)
    text.push_back(fmt::format("{} are left out", counted(left_out, "more variant")));
  const std::string baseline =
      said.keys.empty() || names[0].size() <= kMaxLabel
          ? clipped(names[0], 2 * kMaxLabel)
          : fmt::format("{} = {}", fmt::join(said.keys, ", "), said.labels[0]);
  Json picture = picture_json(info, "compare", "differences from " + baseline, std::move(text));
  picture["legend"] = Json::array();
  const std::vector<std::string> others(names.begin() + 1, names.end());
  const std::vector<std::string> labels(said.labels.begin() + 1, said.labels.end());
  const Json described = info.at("comparison").value("metrics", Json::object());
  bool some_pale = false;
  for (const std::string& metric : table.values("metric")) {
    const Json about = described.value(metric, Json::object());
    const bool share = about.value("percentage", false);
    bool relative = !share, any_interval = false, differs = false;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < table.size(); ++row) {
      if (table.text(row, "client") != "all" || table.text(row, "metric") != metric) continue;
      if (!place.contains(table.text(row, "variant"))) continue;
      rows.push_back(row);
      const auto difference = table.number(row, "difference");
      differs = differs || (difference && *difference != 0);
      any_interval = any_interval || table.number(row, "relative_ci_low");
      // Differences are in percent only if every one has a value in percent: a bar must not vanish.
      if (difference && !table.number(row, "relative_difference")) relative = false;
    }
    if (!differs) continue;
    relative = relative && any_interval;
    const std::string prefix = relative ? "relative_" : "", unit = table.text(rows[0], "unit");
    const double factor = relative || share ? 100 : 1;
    const std::string value = prefix + "difference";
    double low = 0, high = 0, scale = 0;
    for (const std::size_t row : rows) {
      for (const std::string& column : {value, prefix + "ci_low", prefix + "ci_high"}) {
        const double x = factor * table.number(row, column).value_or(0);
        low = std::min(low, x);
        high = std::max(high, x);
        scale = std::max(scale, std::fabs(x));
      }
    }
    std::size_t longest = 0;  // length of the longest number beside a bar
    for (const std::size_t row : rows) {
      const double x = factor * table.number(row, value).value_or(0);
      longest = std::max(longest, difference_text(x, scale).size());
    }
    const double room =
        (0.05 + 0.055 * static_cast<double>(longest)) * (high - low > 0 ? high - low : 1);
    Json panel =
        panel_json(metric, as_title(about.value("label", metric)),
                   linear_axis({fmt::format("difference, {}", relative ? "%"
                                                              : share  ? "points"
                                                                       : unit)},
                               low - (low < 0 ? room : 0.05 * room),
                               high + (high > 0 ? room : 0.05 * room), 3),
                   names_axis(fmt::format("{}", fmt::join(said.keys, ", ")), others, labels));
    panel["quiet"] = true;  // the names of the series stand along the axis
    panel["marks"] = {{{"at", 0}, {"colour", "ink"}}};
    for (const std::size_t row : rows) {
      const auto difference = table.number(row, value);
      if (!difference) continue;
      const std::string variant = table.text(row, "variant");
      Json from =
          from_table("compare.csv", {{"client", "all"}, {"metric", metric}, {"variant", variant}},
                     value, "variant", prefix + "ci_low", prefix + "ci_high");
      from["factor"] = factor;
      Json one = series_json(said.labels[place[variant]], {{"colour", colour(place[variant])}},
                             std::move(from));
      one["bar"] = true;
      one["text"] = difference_text(factor * *difference, scale);
      if (table.text(row, "significant") != "yes") one["pale"] = some_pale = true;
      panel["series"].push_back(std::move(one));
    }
    picture["panels"].push_back(std::move(panel));
  }
  // A panel shows success against work.
  std::vector<std::optional<std::array<double, 6>>> points(names.size());
  const PictureRows& summary = result.table("summary.csv");
  for (const char* metric : {"amplification", "success_rate"}) {
    for (const std::size_t row : summary.having({{"client", "all"}, {"metric", metric}})) {
      const auto at = place.find(summary.text(row, "variant"));
      if (at == place.end() || !summary.number(row, "mean")) continue;
      auto& point = points[at->second];
      if (!point) point.emplace().fill(kNever);
      const auto end = [&](const char* name) { return summary.number(row, name).value_or(kNever); };
      const bool work = std::string_view(metric) == "amplification";
      (*point)[work ? 0 : 1] = end("mean");
      (*point)[work ? 4 : 2] = end("ci_low");
      (*point)[work ? 5 : 3] = end("ci_high");
    }
  }
  double left = std::numeric_limits<double>::infinity(), right = -left, low = left, high = -left;
  Json panel = panel_json("work", "Success against work: better is higher and to the left", {}, {});
  panel["wide"] = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!points[i] || std::isnan((*points[i])[0]) || std::isnan((*points[i])[1])) continue;
    const auto& p = *points[i];
    left = std::min(left, p[0]);
    right = std::max(right, p[0]);
    low = std::min({low, p[1], std::isnan(p[2]) ? p[1] : p[2]});
    high = std::max({high, p[1], std::isnan(p[3]) ? p[1] : p[3]});
    Json point = Json::array();
    for (const double x : p) point.push_back(std::isnan(x) ? Json() : Json(x));
    const bool is_other = !few && i > 0;
    Json one = series_json(i == 0     ? said.labels[i] + " (baseline)"
                           : is_other ? counted(names.size() - 1, "other")
                                      : said.labels[i],
                           {{"colour", colour(i)}}, Json());
    one["mark"] = "dot";
    one["label"] = said.labels[i];
    one["points"] = Json::array();
    one["points"].push_back(std::move(point));
    panel["series"].push_back(std::move(one));
  }
  if (!panel["series"].empty()) {
    constexpr double kMaxShare = 1.03;  // the mark at 100 % is drawn whole
    const double pad = 0.18 * (right > left ? right - left : 1);
    const double tall = 0.2 * (high > low ? high - low : 0.1);
    const double bottom = std::max(0.0, low - tall), top = std::min(kMaxShare, high + tall);
    panel["x"] = linear_axis({"attempts / request"}, left - pad, right + pad, 6);
    panel["y"] = linear_axis({"success rate", "1", true}, bottom, top);
    join_labels(panel["series"], right - left + 2 * pad, top - bottom);
    if (some_pale) panel["notes"] = {"pale: not significant"};
    picture["panels"].push_back(std::move(panel));
  }
  picture.erase("legend");
  if (!picture["panels"].empty()) pictures.push_back(std::move(picture));
}

}  // namespace retrysim::report
