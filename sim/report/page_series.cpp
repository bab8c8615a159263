// SPDX-License-Identifier: MIT
#include "report/page_series.hpp"

#include "report/csv_reader.hpp"
#include "report/mean_series_csv.hpp"
#include "report/page_json.hpp"
#include "report/result_manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// Fewer would be no picture any more.
constexpr std::size_t kMostJoined = 32;
constexpr int kDigitsOfMeans = 4, kDigitsOfHalves = 2;

/// Means of `joined` neighbours each, those that exist; half an interval is at most the mean of
/// the halves.
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

/// Nothing if the quantity never exists.
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

/// Mean, low and high end of a quantity in a row.
struct PageColumns {
  std::string name;
  std::size_t mean, low, high;
};

std::vector<PageColumns> page_columns_of(const CsvReader& csv, std::size_t first) {
  std::vector<PageColumns> columns;
  for (std::size_t i = first; i < csv.header().size(); i += 3) {
    const std::string& name = csv.header()[i];
    columns.push_back({name, i, csv.column(name + "_ci_low"), csv.column(name + "_ci_high")});
  }
  return columns;
}

void add(PageSeries& series, const CsvReader& csv, const PageColumns& columns) {
  const auto mean = csv.number(columns.mean);
  const auto low = csv.number(columns.low), high = csv.number(columns.high);
  series.means.push_back(mean.value_or(kNone));
  // An end that the range of the quantity cuts off says nothing about the width.
  const bool whole = mean && low && high;
  series.halves.push_back(whole ? std::max(*high - *mean, *mean - *low) : kNone);
}

}  // namespace

PageSeriesTable::PageSeriesTable(const fs::path& folder, const std::vector<std::string>& variants)
    : variants_(variants.size()) {
  std::map<std::string, std::size_t> numbers;
  for (const std::string& name : variants) numbers.emplace(name, numbers.size());
  read(folder / kMeanTimeseries, "client", &Variant::clients, numbers);
  read(folder / kMeanService, "service", &Variant::services, numbers);
}

void PageSeriesTable::read(const fs::path& file, std::string_view bearer, Bearers Variant::*bearers,
                           const std::map<std::string, std::size_t>& numbers) {
  CsvReader csv(file);
  const std::size_t variant_at = csv.column("variant"), bearer_at = csv.column(bearer);
  const std::size_t width_at = csv.column("width_s");
  const std::vector<PageColumns> columns = page_columns_of(csv, width_at + 1);
  while (csv.next()) {
    const auto found = numbers.find(csv.text(variant_at));
    if (found == numbers.end()) {
      throw DamagedResult(file, fmt::format("has an unknown variant '{}'", csv.text(variant_at)));
    }
    Variant& variant = variants_[found->second];
    variant.width_s = csv.number(width_at).value_or(0);
    Bearers& of_variant = variant.*bearers;
    if (of_variant.empty() || of_variant.back().first != csv.text(bearer_at)) {
      of_variant.emplace_back(csv.text(bearer_at), Quantities());
      for (const PageColumns& c : columns)
        of_variant.back().second.emplace_back(c.name, PageSeries());
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      add(of_variant.back().second[i].second, csv, columns[i]);
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

std::string PageSeriesTable::json(std::size_t most_bytes) const {
  std::string text = json_of(1);
  for (std::size_t joined = 2; text.size() > most_bytes && joined <= kMostJoined; joined *= 2) {
    text = json_of(joined);
  }
  return text;
}

}  // namespace retrysim::report
