// SPDX-License-Identifier: MIT
#include "report/sweep_merge.hpp"

#include <retrysim/stop.hpp>

#include "report/mean_series_csv.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/result_manifest.hpp"
#include "report/sweep_files.hpp"

#include <fmt/format.h>
#include <algorithm>
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

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kResult = kResultJson;
constexpr std::string_view kPoints = "points.csv";
constexpr std::string_view kPhases = "phases.csv";

struct ShardFolder {
  fs::path path;
  std::size_t index = 0, count = 0;  // index from 1
  std::size_t points_that_fail = 0, points_over_limit = 0;
  Json result;  // without what differs between shards
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
  std::error_code error;
  if (fs::exists(path / kSweepJournal, error)) {
    fail(path, "its sweep is not finished; finish it with --resume");
  }
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
    sweep.at("points_over_limit").get_to(shard.points_over_limit);
    if (shard.index < 1 || shard.index > shard.count) {
      fail(path / kResult, "is damaged: there is no such shard");
    }
    check_files(path, json);
    sweep.erase("shard");
    sweep["points_that_fail"] = 0;
    sweep["points_over_limit"] = 0;
    json.erase("checksums");
    json.erase("crc32_of_this_file");
  });
  return shard;
}

/// The shards in their order. What is missing, double or foreign is an error.
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

/// Cell `column` of a row of a CSV file, as it is written; empty if there is none.
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

/// The place of a column in the header line; beyond all columns if it is not there.
std::size_t column_of(std::string_view name, std::string_view header) {
  std::size_t column = 0;
  while (!cell_of(header, column).empty() && cell_of(header, column) != name) ++column;
  return column;
}

/// The rows of a CSV file as they stand there.
class Rows {
 public:
  explicit Rows(const fs::path& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) fail(path_, "cannot be read");
    next();
  }

  bool at_end() const { return row_.empty(); }
  /// The row at hand, with its line feed.
  const std::string& row() const { return row_; }

  /// Cell `column` of the row at hand, as it is written.
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

/// The same file of every shard, at its first row behind the equal header lines.
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

/// A point of the sweep. One that went over a limit has no rows but that in points.csv.
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

/// Tables of any number of rows for each point, whose second column is its name. Points may be
/// without phases or verdicts.
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

MergedSweep join(const std::vector<fs::path>& folders, const fs::path& target, bool force) {
  const std::vector<ShardFolder> shards = open_shards(folders);
  Json result = shards.front().result;
  MergedSweep merged;
  merged.points = result["sweep"]["points"];
  for (const ShardFolder& shard : shards) {
    merged.points_that_fail += shard.points_that_fail;
    merged.points_over_limit += shard.points_over_limit;
  }
  result["sweep"]["points_that_fail"] = merged.points_that_fail;
  result["sweep"]["points_over_limit"] = merged.points_over_limit;
  ResultIdentity identity = identity_of(result, shards.front().path / kResult);
  for (const ShardFolder& shard : shards) {
    identity.reads.push_back(shard.path);
    for (const FileRecord& file : file_records(shard.result, shard.path / kResult)) {
      identity.reads.push_back(shard.path / file.name);
    }
  }
  ResultFolder folder(target, std::move(identity), force);
  // The names of the points come first, but every file has its place in the list.
  StringSink points;
  const std::vector<MergedPoint> of_points = merge_points(points, shards, merged.points);
  for (const std::string& name : result["files"].get<std::vector<std::string>>()) {
    if (name == kPoints) {
      folder.write(name, [&](Sink& sink) { sink.write(points.text()); });
    } else if (is_table_of_points(name)) {
      folder.write(name, [&](Sink& sink) { merge_table(sink, shards, name, of_points); });
    } else if (name == kResult) {
      Json whole = result;
      whole.erase("files");
      folder.write(name, [&](Sink& sink) { sink.write(sealed(whole, folder.files())); });
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
