// SPDX-License-Identifier: MIT
#include "report/sweep.hpp"

#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>

#include "estimate/modes.hpp"
#include "kernel/stop.hpp"
#include "report/document/csv_writer.hpp"
#include "report/document/document.hpp"
#include "report/document/json.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"
#include "report/graph.hpp"
#include "report/pictures/pictures.hpp"
#include "report/run/tables.hpp"
#include "report/run/text.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;
using PointSource = std::function<SweepPoint(std::size_t)>;

constexpr std::string_view kRecovery = "recovery_s";

/// The column "outcome" of points.csv: whether all replications came to their end, or the limit
/// that one of them went over.
std::string_view outcome_of(const SweepPoint& point) {
  if (!point.limit) return "complete";
  switch (*point.limit) {
    case LimitKind::kMemory:
      return "over_memory";
    case LimitKind::kInstant:
      return "endless_instant";
    case LimitKind::kEvents:
    case LimitKind::kTime:
      break;
  }
  return "over_events";
}

/// Estimates of the main metrics of all clients together.
std::vector<std::optional<Estimate>> overview_of(const MetricValues& values) {
  std::vector<std::optional<Estimate>> estimates;
  for (const MetricInfo* metric : overview_metrics()) {
    estimates.push_back(summarize_metric(values, values.clients() - 1, index_of(*metric)));
  }
  return estimates;
}

TableSource summary_of(const SweepPlan& plan, const PointSource& point) {
  return {"summary", summary_columns(), [&plan, point](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              if (p.limit) continue;
              add_summary_rows(table, plan.base.scenario.name, p.name,
                               summarize(*p.scenario, p.values));
            }
          }};
}

TableSource replications_of(const SweepPlan& plan, const PointSource& point) {
  return {"replications", replications_columns(), [&plan, point](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              add_replications_rows(table, plan.base.scenario.name, p.name, *p.scenario, p.values);
            }
          }};
}

/// Whether any point of the whole grid may have phases, so that all shards have the same files.
bool may_have_phases(const SweepPlan& plan) {
  const Scenario& base = plan.base.scenario;
  const auto is_disturbing = [](const std::string& path) {
    return path.starts_with("fault.") || path.starts_with("phase.") ||
           path.find(".surge.") != std::string::npos;
  };
  return !base.faults.empty() || !base.phases.empty() ||
         std::any_of(base.clients.begin(), base.clients.end(),
                     [](const ClientSpec& c) { return !c.arrivals.surges.empty(); }) ||
         std::any_of(plan.paths.begin(), plan.paths.end(), is_disturbing);
}

TableSource phases_of(const SweepPlan& plan, const PointSource& point) {
  return {"phases", phases_columns(), [&plan, point](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              if (p.limit) continue;
              add_phases_rows(table, plan.base.scenario.name, p.name,
                              summarize_phases(*p.scenario, p.phases));
            }
          }};
}

/// A table over time for all points.
template <class AddRows>
TableSource series_of(std::string_view file, std::vector<ColumnInfo> columns, const SweepPlan& plan,
                      const PointSource& point, AddRows add_rows) {
  return {table_name(file), std::move(columns), [&plan, point, add_rows](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              if (p.series) add_rows(table, *plan.scenario(i), p.name, *p.series);
            }
          }};
}

/// The table of verdicts on each point, in sentences, if the sweep kept the figures for them.
TableSource verdicts_of(const SweepPlan& plan, const PointSource& point) {
  std::vector<ColumnInfo> columns;
  for (const char* name :
       {"scenario", "variant", "client", "rule", "severity", "sentence", "fate"}) {
    columns.push_back(text_column(name));
  }
  return {table_name(kVerdicts), std::move(columns), [&plan, point](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              if (p.verdict_figures.empty()) continue;
              for (const Verdict& v : verdicts(*plan.scenario(i), p.verdict_figures)) {
                table.text(plan.base.scenario.name).text(p.name).text(v.client).text(v.rule);
                table.text(name(v.severity)).text(v.sentence).text(v.fate).end_row();
              }
            }
          }};
}

/// How many expectations of a point fail, and how many are uncertain.
struct Misses {
  std::size_t failed = 0, uncertain = 0;
};

Misses missed_expectations(const SweepPoint& p) {
  Misses misses;
  if (p.scenario->expectations.empty()) return misses;
  for (const ExpectationResult& e :
       judge_expectations(*p.scenario, summarize(*p.scenario, p.values), p.values.runs())) {
    misses.failed += e.fails();
    misses.uncertain += !e.fails() && !e.holds();
  }
  return misses;
}

/// The data of a row of points.csv; a point that is not complete has few.
struct PointRow {
  explicit PointRow(const SweepPoint& p)
      : point(p), is_complete(!p.limit), estimates(overview_metrics().size()) {
    if (!is_complete) return;
    estimates = overview_of(p.values);
    const double window_s = (p.scenario->duration - p.scenario->warmup).in_seconds();
    has_two_modes = stats::goodput_modes(p.values, window_s).has_value();
    misses = missed_expectations(p);
  }

  /// `count`; empty unless the point is complete.
  std::optional<std::size_t> of_complete(std::size_t count) const {
    return is_complete ? std::optional(count) : std::nullopt;
  }

  const SweepPoint& point;
  bool is_complete;
  std::vector<std::optional<Estimate>> estimates;  ///< estimates of `overview_metrics()`
  bool has_two_modes = false;
  Misses misses;
};

void count_point(SweepOverview& overview, const PointRow& row) {
  if (overview.rows.size() < kMaxOverviewRows) {
    overview.rows.push_back({row.point.name, row.estimates});
  }
  ++overview.points;
  overview.points_over_limit += !row.is_complete;
  overview.points_with_two_modes += row.has_two_modes;
  overview.points_that_fail += row.misses.failed > 0;
  overview.points_uncertain += row.misses.uncertain > 0;
}

/// The values of a varied key at the points.
std::vector<std::string> values_of(const SweepPlan& plan, std::size_t key) {
  std::vector<std::string> values;
  for (const Variant& v : *plan.variants) values.push_back(v.values[key]);
  return values;
}

Columns<PointRow> point_columns(const SweepPlan& plan) {
  Columns<PointRow> t;
  t.csv("variant", [](auto& r) { return r.point.name; });
  for (std::size_t i = 0; i < plan.paths.size(); ++i) {
    t.csv_key(key_column(plan.paths[i], values_of(plan, i)),
              [i](auto& r) { return key_cell(r.point.keys[i]); });
  }
  t.csv("replications", [](auto& r) { return r.point.values.runs(); });
  t.csv("outcome", [](auto& r) { return outcome_of(r.point); });
  for (std::size_t m = 0; m < overview_metrics().size(); ++m) {
    const std::string name(overview_metrics()[m]->name);
    t.csv(fmt::format("{0} {0}_ci_low {0}_ci_high", name),
          [m](auto& r) { return ranged(r.estimates[m]); });
    if (name != kRecovery) continue;
    t.csv(name + "_replications",
          [m](auto& r) { return r.of_complete(r.estimates[m] ? r.estimates[m]->count : 0); });
  }
  t.csv("modes", [](auto& r) { return r.of_complete(r.has_two_modes ? 2 : 1); }).unit("1");
  if (!plan.base.scenario.expectations.empty()) {
    t.csv("expectations_failed", [](auto& r) {
       return r.of_complete(r.misses.failed);
     }).unit("expectations");
    t.csv("expectations_uncertain", [](auto& r) {
       return r.of_complete(r.misses.uncertain);
     }).unit("expectations");
  }
  return t;
}

/// The table points.csv, a row for each point; counts in the overview, which may be null, what the
/// rows say.
TableSource points_of(const SweepPlan& plan, const PointSource& point, SweepOverview* overview) {
  const Columns<PointRow> described = point_columns(plan);
  return {"points", table_columns(described.columns()),
          [&plan, point, overview, described](TableBuilder& table) {
            for (std::size_t i = 0; i < plan.points(); ++i) {
              const SweepPoint p = point(i);
              const PointRow row(p);
              add_row(table, described.columns(), described.cells(row));
              if (overview != nullptr) count_point(*overview, row);
            }
          }};
}

Json sweep_json(const SweepPlan& plan, const SweepOverview& overview) {
  Json sweep;
  sweep["id"] = fmt::format("{:016x}", plan.id);
  sweep["vary"] = plan.varying;
  sweep["keys"] = plan.paths;
  sweep["points"] = plan.grid_points;
  sweep["metrics"] = metrics_json(overview_metrics());
  if (plan.shard) sweep["shard"] = {{"index", plan.shard->index}, {"count", plan.shard->count}};
  sweep["points_that_fail"] = overview.points_that_fail;
  sweep["points_uncertain"] = overview.points_uncertain;
  sweep["points_over_limit"] = overview.points_over_limit;
  if (plan.grid_points <= kMaxPointsWithSeries) {
    sweep["graphs"] = Json::array();  // graph of each point
    for (std::size_t i = 0; i < plan.points(); ++i) {
      sweep["graphs"].push_back(graph_json(*plan.scenario(i)));
    }
  }
  return sweep;
}

}  // namespace

const std::vector<const MetricInfo*>& overview_metrics() {
  static const std::vector<const MetricInfo*> metrics = metrics_of(MetricList::kSwept);
  return metrics;
}

std::vector<TableSource> sweep_tables(const SweepPlan& plan, const PointSource& point,
                                      SweepOverview* overview) {
  std::vector<TableSource> tables = {summary_of(plan, point), replications_of(plan, point)};
  if (may_have_phases(plan)) tables.push_back(phases_of(plan, point));
  tables.push_back(points_of(plan, point, overview));
  if (plan.grid_points <= kMaxPointsWithSeries) {
    tables.push_back(verdicts_of(plan, point));
    tables.push_back(series_of(kMeanTimeseries, mean_timeseries_columns(), plan, point,
                               add_mean_timeseries_rows));
    tables.push_back(
        series_of(kMeanService, mean_service_columns(), plan, point, add_mean_service_rows));
  }
  return tables;
}

SweepOverview write_sweep_files(ResultFolder& folder, const SweepPlan& plan,
                                const PointSource& point) {
  const Scenario& scenario = plan.base.scenario;
  SweepOverview overview;
  Document d;
  d.tables(sweep_tables(plan, point, &overview));
  d.head("", heading_of(plan.base, plan.paths), scenario,
         static_cast<std::size_t>(scenario.replications));
  // This member is written after the points have been counted.
  d.streamed_member("sweep", [&](JsonText& text) { text.json(sweep_json(plan, overview)); });
  d.scenario_members(plan.base).scenario_file(plan.base).write_files(folder);
  return overview;
}

namespace {

using Cells = std::vector<std::string>;

/// The points' values, one for each key, with the keys as headings; if a name has another form,
/// names stay whole.
struct PointNames {
  Cells keys = {"point"};
  std::vector<Cells> values;

  explicit PointNames(const std::vector<SweepOverview::Row>& rows) {
    for (const SweepOverview::Row& row : rows) {
      Cells own_keys, own_values;
      for (const std::string& part : split_at(row.name, ' ')) {
        const std::size_t sign = std::min(part.find('='), part.size());
        own_keys.push_back(part.substr(0, sign));
        own_values.push_back(part.substr(std::min(sign + 1, part.size())));
      }
      if (values.empty()) keys = own_keys;
      if (own_keys != keys) {
        stay_whole(rows);
        return;
      }
      values.push_back(own_values);
    }
  }

 private:
  void stay_whole(const std::vector<SweepOverview::Row>& rows) {
    keys = {"point"};
    values.clear();
    for (const SweepOverview::Row& row : rows) values.push_back({row.name});
  }
};

std::string figure(const std::optional<Estimate>& estimate, const MetricInfo& metric) {
  if (!estimate) return "-";
  return metric.display.percentage ? percent(estimate->mean)
                                   : format_number(estimate->mean, metric.unit);
}

/// The width of each column; headings are broken at their underscores.
std::vector<std::size_t> widths_of(const Cells& headings, const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < headings.size(); ++c) {
    std::size_t& width = widths.emplace_back(0);
    for (const std::string& word : split_at(headings[c], '_')) {
      width = std::max(width, columns_of(word));
    }
    for (const Cells& line : lines) width = std::max(width, columns_of(line[c]));
  }
  return widths;
}

/// How many columns of the table have room; at least the first `left`.
std::size_t fitting(const std::vector<std::size_t>& widths, std::size_t left, std::size_t columns) {
  std::size_t taken = 0, count = 0;
  for (const std::size_t width : widths) {
    taken += width + (count > 0 ? 2 : 0);
    if (taken > columns && count >= left) break;
    ++count;
  }
  return count;
}

/// A table of the first `count` columns, headings above lines; the first `left` columns are aligned
/// to the left.
std::string in_columns(const Cells& headings, const std::vector<Cells>& lines, std::size_t left,
                       std::size_t count) {
  const std::vector<std::size_t> widths = widths_of(headings, lines);
  std::vector<Cells> words;
  std::size_t height = 0;
  for (std::size_t c = 0; c < count; ++c) {
    words.push_back(split_at(headings[c], '_'));
    height = std::max(height, words.back().size());
  }
  std::string text;
  const auto append = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < count; ++c) {
      if (c > 0) line += "  ";
      line += c < left ? pad_right(cell(c), widths[c]) : pad_left(cell(c), widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  for (std::size_t h = 0; h < height; ++h) {
    append([&](std::size_t c) {
      // Words of a heading end on the last line.
      const std::size_t above = height - words[c].size();
      return h < above ? std::string() : words[c][h - above];
    });
  }
  for (const Cells& line : lines) append([&](std::size_t c) { return line[c]; });
  return text;
}

/// The points as a table with as many figures beside the keys as there is room for; in blocks if
/// there is no room.
std::string points_text(const Cells& headings, const std::vector<Cells>& lines, std::size_t keys,
                        std::size_t columns) {
  const std::size_t count = fitting(widths_of(headings, lines), keys, columns);
  if (count <= keys) return listing_in_blocks({headings, lines, keys}, columns);
  std::string text = in_columns(headings, lines, keys, count);
  if (count == headings.size()) return text;
  std::string left_out;
  for (std::size_t c = count; c < headings.size(); ++c) {
    left_out += (left_out.empty() ? "" : ", ") + headings[c];
  }
  return text + fmt::format("In points.csv only: {}\n", left_out);
}

}  // namespace

Document sweep_document(const SweepPlan& plan, const SweepOverview& overview) {
  const std::vector<const MetricInfo*>& metrics = overview_metrics();
  const Scenario& scenario = plan.base.scenario;
  const std::string replications =
      scenario::said_things(static_cast<std::size_t>(scenario.replications), "replication");
  const std::string points =
      plan.shard ? fmt::format("shard {}, {}", plan.shard->text(),
                               scenario::said_part(overview.points, plan.grid_points, "point"))
                 : scenario::said_things(plan.grid_points, "point");
  Document d;
  const Heading heading = heading_of(plan.base, plan.paths);
  const std::string what = fmt::format("{}, {} each, seed {}", points, replications, scenario.seed);
  if (heading.changes.empty()) {
    d.lines(fmt::format("{}: {}\n", heading.title, what));
  } else {
    d.title(heading, what);
  }
  d.lines("Means over replications and all clients\n\n");

  const PointNames points_of(overview.rows);
  Cells headings = points_of.keys;
  for (const MetricInfo* metric : metrics_of(MetricList::kSweptTable)) {
    headings.emplace_back(metric->name);
  }
  std::vector<Cells> lines = points_of.values;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const MetricInfo* metric : metrics_of(MetricList::kSweptTable)) {
      const auto at = std::find(metrics.begin(), metrics.end(), metric) - metrics.begin();
      lines[i].push_back(figure(overview.rows[i].estimates[static_cast<std::size_t>(at)], *metric));
    }
  }
  d.lines([headings = std::move(headings), lines = std::move(lines), keys = points_of.keys.size()](
              std::size_t columns) { return points_text(headings, lines, keys, columns); });

  if (overview.points > overview.rows.size()) {
    d.lines(fmt::format("... and {} more in points.csv\n", overview.points - overview.rows.size()));
  }
  const auto remark = [&](std::size_t count, std::string_view text) {
    const std::string at = scenario::said_part(count, overview.points, "point");
    if (count > 0) d.gap().say(fmt::format(fmt::runtime(text), at), "", "");
  };
  remark(overview.points_with_two_modes,
         "Two modes of goodput at {} (column modes of points.csv): a mean over both "
         "describes neither; retrysim run describes each of them");
  remark(overview.points_over_limit,
         "No results at {}, which exceeded a limit; see column outcome of points.csv");
  remark(overview.points_that_fail, "Expectations fail at {}; see points.csv");
  remark(overview.points_uncertain,
         "Expectations are uncertain at {}, because the interval straddles the bound; "
         "see points.csv");
  return d;
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kResult = kResultJson;
constexpr std::string_view kPoints = "points.csv";
constexpr std::string_view kPhases = "phases.csv";

struct ShardFolder {
  fs::path path;
  std::size_t index = 0, count = 0;  // index counts from 1
  std::size_t points_that_fail = 0, points_uncertain = 0, points_over_limit = 0;
  Json graphs = {};  // graphs of the points, unless there are too many
  Json result;       // result.json without the members that differ between shards
};

[[noreturn]] void fail(const fs::path& folder, std::string_view what) {
  throw MergeError(fmt::format("{}: {}", folder.string(), what));
}

/// Makes sure that every file is as it was written.
void check_files(const fs::path& folder, const Json& json) {
  const std::vector<FileRecord> records = file_records(json, folder / kResult);
  if (records.empty()) fail(folder / kResult, "has no checksums; compute the shard again");
  for (const FileRecord& record : records) {
    const std::string fault = fault_of(folder, record);
    if (!fault.empty()) fail(folder / record.name, fault + "; copy or compute the shard again");
  }
  std::vector<std::string> names = json.at("files");
  std::erase(names, kResult);
  const bool all_known = std::equal(
      names.begin(), names.end(), records.begin(), records.end(),
      [](const std::string& name, const FileRecord& record) { return name == record.name; });
  if (!all_known)
    fail(folder / kResult, "is damaged: the files it has are not those it has checksums for");
}

ShardFolder open_shard(const fs::path& path) {
  ShardFolder shard;
  shard.path = path;
  shard.result = read_sealed(path);
  Json& json = shard.result;
  read_members(path / kResult, [&] {
    if (!json.contains("sweep")) fail(path, "is not the result of a sweep");
    Json& sweep = json.at("sweep");
    if (!sweep.at("points").is_number_unsigned() || !json.at("scenario").is_string() ||
        !json.at("version").is_string()) {
      fail(path / kResult, "is damaged: points, scenario or version");
    }
    if (!sweep.contains("shard")) fail(path, "is a whole sweep, not a shard of one");
    sweep.at("shard").at("index").get_to(shard.index);
    sweep.at("shard").at("count").get_to(shard.count);
    sweep.at("points_that_fail").get_to(shard.points_that_fail);
    sweep.at("points_uncertain").get_to(shard.points_uncertain);
    sweep.at("points_over_limit").get_to(shard.points_over_limit);
    if (shard.index < 1 || shard.index > shard.count) {
      fail(path / kResult, "is damaged: there is no such shard");
    }
    check_files(path, json);
    sweep.erase("shard");
    if (sweep.contains("graphs")) shard.graphs = sweep.at("graphs");
    sweep.erase("graphs");
    sweep["points_that_fail"] = 0;
    sweep["points_uncertain"] = 0;
    sweep["points_over_limit"] = 0;
    json.erase("checksums");
    json.erase("crc32_of_this_file");
    json.erase("pictures");
    auto options = json.at("options").get<std::vector<std::string>>();
    std::erase_if(options, [](const auto& option) { return option.starts_with("--shard "); });
    json["options"] = std::move(options);
  });
  return shard;
}

/// The shards in their order. Throws MergeError if one is missing, double or foreign.
std::vector<ShardFolder> open_shards(const std::vector<fs::path>& folders) {
  std::map<std::size_t, ShardFolder> shards;
  std::optional<ShardFolder> first;
  for (const fs::path& folder : folders) {
    ShardFolder shard = open_shard(folder);
    if (!first) first = shard;
    if (shard.result["version"] != first->result["version"]) {
      fail(folder, fmt::format("was written by a different version of retrysim than {}",
                               first->path.string()));
    }
    if (shard.result != first->result) {
      fail(folder, fmt::format("is a shard of a different sweep than {}", first->path.string()));
    }
    if (shard.count != first->count) {
      fail(folder, fmt::format("is one of {} shards, but {} is one of {}", shard.count,
                               first->path.string(), first->count));
    }
    const auto [at, added] = shards.emplace(shard.index, shard);
    if (!added) {
      fail(folder, fmt::format("is shard {}/{}, as is {}", shard.index, shard.count,
                               at->second.path.string()));
    }
  }
  std::string missing;
  const std::size_t missing_count = first->count - shards.size();
  for (std::size_t i = 1, named = 0; named < std::min<std::size_t>(missing_count, 20); ++i) {
    if (shards.count(i) > 0) continue;
    ++named;
    missing += fmt::format("{}{}/{}", missing.empty() ? "" : ", ", i, first->count);
  }
  if (missing_count > 0) {
    throw MergeError(fmt::format("{} missing: {}{}",
                                 missing_count == 1 ? "a shard is" : "shards are", missing,
                                 missing_count > 20 ? ", ..." : ""));
  }
  std::vector<ShardFolder> result;
  for (auto& [index, shard] : shards) result.push_back(std::move(shard));
  return result;
}

/// Cell `column` of a row of a CSV file, as written in the file; empty if there is none.
std::string_view cell_of(std::string_view row, std::size_t column) {
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '"') quoted = !quoted;
    if (quoted || (row[i] != ',' && row[i] != '\n')) continue;
    if (column-- == 0) return row.substr(begin, i - begin);
    begin = i + 1;
  }
  return {};
}

/// The index of a column in the header line; beyond all columns if there is no such column.
std::size_t column_of(std::string_view name, std::string_view header) {
  std::size_t column = 0;
  while (!cell_of(header, column).empty() && cell_of(header, column) != name) ++column;
  return column;
}

/// The rows of a CSV file as they are written.
class Rows {
 public:
  explicit Rows(const fs::path& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) fail(path_, "cannot be read");
    next();
  }

  bool at_end() const { return row_.empty(); }
  /// The present row, with its line feed.
  const std::string& row() const { return row_; }

  /// Cell `column` of the present row, as it is written.
  std::string_view cell(std::size_t column) const { return cell_of(row_, column); }

  void next() {
    stop_.count();
    row_.clear();
    std::string line;
    std::size_t quotes = 0;
    do {  // a quoted cell may hold line feeds
      if (!std::getline(in_, line)) break;
      quotes += static_cast<std::size_t>(std::count(line.begin(), line.end(), '"'));
      row_ += line + "\n";
    } while (quotes % 2 == 1);
    if (in_.bad()) fail(path_, "cannot be read");
  }

  [[noreturn]] void damaged() const { fail(path_, "does not have the rows of its points"); }

 private:
  fs::path path_;
  std::ifstream in_;
  std::string row_;
  StopCounter<64> stop_;
};

/// One file in every shard, read up to its first row, behind the equal header lines.
class ShardFiles {
 public:
  ShardFiles(const std::vector<ShardFolder>& shards, std::string_view name) {
    for (const ShardFolder& shard : shards) files_.emplace_back(shard.path / name);
    header_ = files_.front().row();
    for (Rows& rows : files_) {
      if (rows.at_end() || rows.row() != header_) rows.damaged();
      rows.next();
    }
  }

  const std::string& header() const { return header_; }
  Rows& of_point(std::size_t point) { return files_[point % files_.size()]; }
  void check_ends() const {
    for (const Rows& rows : files_) {
      if (!rows.at_end()) rows.damaged();
    }
  }

 private:
  std::deque<Rows> files_;
  std::string header_;
};

/// A point of the sweep. A point that went over a limit has a row only in points.csv.
struct MergedPoint {
  std::string name;
  bool complete = true;
};

std::vector<MergedPoint> merge_points(Sink& sink, const std::vector<ShardFolder>& shards,
                                      std::size_t points) {
  ShardFiles files(shards, kPoints);
  sink.write(files.header());
  const std::size_t outcome = column_of("outcome", files.header());
  std::vector<MergedPoint> merged;
  for (std::size_t point = 0; point < points; ++point) {
    Rows& rows = files.of_point(point);
    if (rows.at_end()) rows.damaged();
    merged.push_back({std::string(rows.cell(0)), rows.cell(outcome) == "complete"});
    sink.write(rows.row());
    rows.next();
  }
  files.check_ends();
  return merged;
}

/// Merges tables with any number of rows for each point, whose second column is the point's name.
/// Points may lack phases or verdicts.
void merge_table(Sink& sink, const std::vector<ShardFolder>& shards, std::string_view table,
                 const std::vector<MergedPoint>& points) {
  const bool may_lack_rows = table == kPhases || table == kVerdicts;
  ShardFiles files(shards, table);
  sink.write(files.header());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& [name, complete] = points[i];
    Rows& rows = files.of_point(i);
    const bool has_rows = !rows.at_end() && rows.cell(1) == name;
    if (has_rows ? !complete : complete && !may_lack_rows) rows.damaged();
    for (; !rows.at_end() && rows.cell(1) == name; rows.next()) sink.write(rows.row());
  }
  files.check_ends();
}

bool is_table_of_points(std::string_view name) {
  return name == "summary.csv" || name == "replications.csv" || name == kPhases ||
         name == kMeanTimeseries || name == kMeanService || name == kVerdicts;
}

/// Joins the graphs of all points, if the shards have them.
void join_graphs(Json& sweep, const std::vector<ShardFolder>& shards) {
  if (shards.front().graphs.is_null()) return;
  Json graphs = Json::array();
  const std::size_t points = sweep.at("points");
  for (std::size_t point = 0; point < points; ++point) {
    const ShardFolder& shard = shards[point % shards.size()];
    const std::size_t place = point / shards.size();
    if (!shard.graphs.is_array() || place >= shard.graphs.size()) {
      fail(shard.path / kResult, "is damaged: it lacks the graphs of its points");
    }
    graphs.push_back(shard.graphs[place]);
  }
  sweep["graphs"] = std::move(graphs);
}

void copy_common(ResultFolder& target, const std::vector<ShardFolder>& shards,
                 const std::string& name) {
  const std::string content = content_of(shards.front().path / name);
  for (const ShardFolder& shard : shards) {
    if (content_of(shard.path / name) != content) {
      fail(shard.path / name, fmt::format("differs from that of {}", shards.front().path.string()));
    }
  }
  target.write(name, [&](Sink& sink) { sink.write(content); });
}

/// The merged tables from which pictures are concluded, as far as a picture can show them.
class MergedTables {
 public:
  explicit MergedTables(const ResultFolder& folder) : folder_(folder) {}

  const ResultTable* find(std::string_view file) {
    const std::string name(file);
    const std::vector<FileRecord>& files = folder_.files();
    if (std::none_of(files.begin(), files.end(),
                     [&](const FileRecord& one) { return one.name == name; })) {
      return nullptr;
    }
    const auto known = tables_.find(name);
    return known != tables_.end() ? &known->second
                                  : &tables_.emplace(name, read(name)).first->second;
  }

 private:
  ResultTable read(const std::string& name) const {
    constexpr std::size_t kBytesOfCell = 32;  // more bytes than cells have
    const std::size_t cells = is_over_time(name) ? kCellsOfFirstPoint : kMaxCells;
    std::string text = folder_.content(name, kBytesOfCell * cells);
    text.erase(text.rfind('\n') + 1);
    ResultTable table = read_csv(name, text);
    const bool is_too_much = table.rows() * table.columns().size() >= cells && !is_over_time(name);
    return is_too_much ? read_csv(name, text.substr(0, text.find('\n') + 1)) : std::move(table);
  }

  const ResultFolder& folder_;
  std::map<std::string, ResultTable> tables_;
};

MergedSweep join(const std::vector<fs::path>& folders, const fs::path& target, bool force) {
  const std::vector<ShardFolder> shards = open_shards(folders);
  Json result = shards.front().result;
  MergedSweep merged;
  merged.points = result["sweep"]["points"];
  std::size_t points_uncertain = 0;
  for (const ShardFolder& shard : shards) {
    merged.points_that_fail += shard.points_that_fail;
    points_uncertain += shard.points_uncertain;
    merged.points_over_limit += shard.points_over_limit;
  }
  result["sweep"]["points_that_fail"] = merged.points_that_fail;
  result["sweep"]["points_uncertain"] = points_uncertain;
  result["sweep"]["points_over_limit"] = merged.points_over_limit;
  join_graphs(result["sweep"], shards);
  ResultIdentity identity = identity_of(result, shards.front().path / kResult);
  for (const ShardFolder& shard : shards) {
    identity.reads.push_back(shard.path);
    for (const FileRecord& file : file_records(shard.result, shard.path / kResult)) {
      identity.reads.push_back(shard.path / file.name);
    }
  }
  ResultFolder folder(target, std::move(identity), force);
  // The file points.csv is merged first, because it has the names of the points, but it is written
  // in its place in the list.
  StringSink points;
  const std::vector<MergedPoint> of_points = merge_points(points, shards, merged.points);
  for (const std::string& name : result["files"].get<std::vector<std::string>>()) {
    if (name == kPoints) {
      folder.write(name, [&](Sink& sink) { sink.write(points.text()); });
    } else if (is_table_of_points(name)) {
      folder.write(name, [&](Sink& sink) { merge_table(sink, shards, name, of_points); });
    } else if (name == kResult) {
      Json whole = result;
      for (const char* added : {"command", "options", "files"}) whole.erase(added);
      MergedTables tables(folder);
      whole["pictures"] =
          pictures_of(whole, [&](std::string_view file) { return tables.find(file); });
      folder.write(
          name, [&](Sink& sink) { sink.write(sealed(whole, folder.identity(), folder.files())); });
    } else {
      copy_common(folder, shards, name);
    }
  }
  folder.commit();
  return merged;
}

}  // namespace

MergedSweep merge_sweep(const std::vector<fs::path>& folders, const fs::path& target, bool force) {
  try {
    return join(folders, target, force);
  } catch (const DamagedResult& e) {
    throw MergeError(e.what());
  }
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(Sweep& sweep) {
  return Tables(report::sweep_tables(
      sweep.plan(), [&sweep](std::size_t point) { return sweep.point(point); }, nullptr));
}

}  // namespace retrysim
