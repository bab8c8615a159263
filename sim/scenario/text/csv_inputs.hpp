// CSV inputs of a scenario: monitoring exports, arrival profiles, request times and empirical
// distributions. Each has a header line; mistakes are reported with file, line and column.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "scenario/text/problems.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

namespace retrysim::scenario {

/// A CSV file that has been read; its text lies in `Sources`.
struct CsvFile {
  std::string name;                 ///< the file's name in messages
  int source = 0;                   ///< index into Sources
  std::vector<std::string> header;  ///< names of its columns
};

/// Texts and tables of CSV files, read once, so that all variants of a scenario have the same
/// input. Tables with mistakes are not kept: each variant reports them. Safe for any number of
/// threads at once.
class CsvMemory {
 public:
  /// The text of a file, if it is known.
  std::optional<std::string> text(const std::string& file) const;
  void keep_text(const std::string& file, const std::string& text);

  /// The table of type `CsvTable` of a file; null if it is not known.
  template <typename CsvTable>
  std::shared_ptr<const CsvTable> table(const std::string& file) const {
    return std::static_pointer_cast<const CsvTable>(table(file, typeid(CsvTable)));
  }
  template <typename CsvTable>
  void keep_table(const std::string& file, const CsvTable& table) {
    keep_table(file, typeid(CsvTable), std::make_shared<const CsvTable>(table));
  }

 private:
  std::shared_ptr<const void> table(const std::string& file, std::type_index type) const;
  void keep_table(const std::string& file, std::type_index type, std::shared_ptr<const void> table);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  std::map<std::pair<std::string, std::type_index>, std::shared_ptr<const void>> tables_;
};

/// The CSV files that a scenario names: each is read once.
class CsvFiles {
 public:
  /// Relative names start from `directory`. With `inputs`, only those texts are used, and no file
  /// is read. With `memory`, files are taken from there if known, and kept there once read. Both
  /// may be null, and must outlive the object.
  CsvFiles(std::filesystem::path directory, const InputTexts* inputs, CsvMemory* memory,
           Sources& sources, Problems& problems)
      : directory_(std::move(directory)),
        inputs_(inputs),
        memory_(memory),
        sources_(&sources),
        problems_(&problems) {}

  /// Makes names that are written in this source relative to `directory` instead.
  void look_in(int source, std::filesystem::path directory) {
    other_source_ = source;
    other_directory_ = std::move(directory);
  }

  /// The file called `name`; null, with an error at `place` (of the key that names it), if it
  /// cannot be read.
  const CsvFile* open(const std::string& name, Place place);

  CsvMemory* memory() const { return memory_; }
  Sources& sources() const { return *sources_; }
  Problems& problems() const { return *problems_; }
  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  /// The bytes of a file; empty if it cannot be read, and `error` says why.
  std::optional<std::string> text_of(const std::filesystem::path& path, std::string& error) const;

  std::filesystem::path directory_;
  int other_source_ = -1;  // index of the source of `look_in`; -1: none
  std::filesystem::path other_directory_;
  const InputTexts* inputs_;
  CsvMemory* memory_;
  Sources* sources_;
  Problems* problems_;
  std::map<std::filesystem::path, CsvFile> files_;
  std::vector<std::filesystem::path> paths_;  // files in the order in which they were opened
};

/// Columns `timestamp,value`: counts per bucket, as monitoring systems export them.
struct MonitoringExport {
  std::vector<std::int64_t> offsets_ns;  ///< since the first timestamp; strictly increasing
  std::vector<double> counts;            ///< >= 0
  std::vector<int> lines;                ///< line of each row in the file
};

/// Columns `time_s,rate`: strictly increasing times from 0, rates >= 0.
struct TimedRates {
  std::vector<double> times_s;
  std::vector<double> rates;
};

/// Columns `time_s,capacity`: strictly increasing times from 0, factors >= 0.
struct TimedCapacities {
  std::vector<double> times_s;
  std::vector<double> factors;
};

/// Columns `in_service,factor`: strictly increasing numbers from 0, factors >= 0.
struct SlowdownRows {
  std::vector<double> in_service;
  std::vector<double> factors;
};

/// Columns `value_s,weight`: values and weights >= 0, not all weights 0.
struct WeightedValues {
  std::vector<double> values_s;
  std::vector<double> weights;
};

/// Columns `le,count`: the bounds and cumulative counts of a histogram, not checked.
struct BucketCounts {
  std::vector<double> le_s;  ///< the last one may be infinite
  std::vector<double> counts;
  std::vector<int> lines;  ///< line of each row in the file
};

bool is_monitoring_export(const CsvFile& file);
bool is_bucket_counts(const CsvFile& file);
bool is_rate_profile(const CsvFile& file);
bool is_request_times(const CsvFile& file);

/// The readers report every mistake in the file (at most 20); if there are any, they return
/// nothing.
std::optional<MonitoringExport> read_monitoring_export(const CsvFile& file, CsvFiles& files);
std::optional<TimedRates> read_rate_profile(const CsvFile& file, CsvFiles& files);
/// Column `time_s`: one row per request, not decreasing, >= 0, in seconds.
std::optional<std::vector<double>> read_request_times(const CsvFile& file, CsvFiles& files);
/// Reads a capacity profile, and checks its header.
std::optional<TimedCapacities> read_capacity_profile(const CsvFile& file, CsvFiles& files);
std::optional<SlowdownRows> read_slowdown_table(const CsvFile& file, CsvFiles& files);
std::optional<WeightedValues> read_weighted_values(const CsvFile& file, CsvFiles& files);
/// Bounds are seconds, or have a unit ("50ms"), or are +Inf.
std::optional<BucketCounts> read_bucket_counts(const CsvFile& file, CsvFiles& files);

/// The most common distance between neighbouring offsets, the smallest of equally common ones;
/// there must be at least two.
std::int64_t most_common_spacing(const std::vector<std::int64_t>& offsets_ns);

/// Nanoseconds since 1970-01-01T00:00:00Z of `2014-04-10 00:04:00`, with `T` instead of the blank,
/// up to nine decimals of a second, and `Z` or an offset such as `+02:00` (without one: UTC).
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace retrysim::scenario
