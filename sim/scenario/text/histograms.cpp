// SPDX-License-Identifier: MIT
#include "scenario/text/histograms.hpp"

#include "kernel/functions.hpp"
#include "kernel/quantiles.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace retrysim::scenario {
namespace {

// --- The law -------------------------------------------------------------------------------------

struct Bucket {
  double low = 0, high = 0;  ///< the bounds; the last bucket has no upper one
  double below = 0;          ///< share of requests up to `low`
  double share = 0;
};

/// A function of the share of requests that is linear in the logarithm of their times if these
/// follow a certain law.
using Scale = double (*)(double share);

double lognormal_scale(double share) { return kernel::normal_quantile(share); }
double weibull_scale(double share) { return kernel::log(-kernel::log1p(-share)); }
double pareto_scale(double share) { return -kernel::log1p(-share); }

constexpr int kPieces = 64;  ///< number of values that stand for a bucket

/// The times in each bucket by pieces of one law, which runs on beyond the outermost counts.
class Pieces {
 public:
  Pieces(const std::vector<Bucket>& buckets, Scale scale) : scale_(scale) {
    for (const Bucket& b : buckets) {
      if (b.low > 0 && b.below > 0 && b.below < 1 &&
          (points_.empty() || b.below > points_.back().share)) {
        points_.push_back({kernel::log(b.low), b.below});
      }
    }
  }

  /// Whether there are pieces: a single count says nothing about how times spread.
  bool exist() const { return points_.size() > 1; }

  double value(const Bucket& b, double share) const {
    const double end = b.below + b.share;
    const double at = scale_(share);
    if (!(b.high > 0)) return 0;
    if (b.low > 0 && b.below > 0 && end < 1 && std::isfinite(b.high)) {
      const double first = scale_(b.below), last = scale_(end);
      const double part = (at - first) / (last - first);
      return b.low * kernel::exp(part * kernel::log(b.high / b.low));
    }
    const bool is_first = !(b.low > 0 && b.below > 0);
    const Point& p = is_first ? points_[0] : points_[points_.size() - 2];
    const Point& q = is_first ? points_[1] : points_.back();
    const double slope = (scale_(q.share) - scale_(p.share)) / (q.log_time - p.log_time);
    const Point& from = is_first ? p : q;
    const double time = kernel::exp(from.log_time + (at - scale_(from.share)) / slope);
    if (!std::isfinite(b.high)) return std::max(time, b.low);
    constexpr double kInside = 1e-6;  // a value at `low` counts in the bucket below
    return std::clamp(time, b.low + kInside * (b.high - b.low), b.high);
  }

 private:
  struct Point {
    double log_time, share;
  };
  Scale scale_;
  std::vector<Point> points_;
};

using Values = std::vector<std::vector<double>>;  // [bucket][piece], rising

template <class Value>
Values values_by(const std::vector<Bucket>& buckets, Value value) {
  Values values;
  for (const Bucket& b : buckets) {
    std::vector<double>& own = values.emplace_back();
    for (int k = 0; k < kPieces; ++k) {
      own.push_back(value(b, b.below + (k + 0.5) / kPieces * b.share));
    }
  }
  return values;
}

double mean_in(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double mean_of(const std::vector<Bucket>& buckets, const Values& values) {
  double mean = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) mean += buckets[i].share * mean_in(values[i]);
  return mean;
}

/// The range in which the mean may lie, s.
struct Span {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void add(double mean) {
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
};

/// How far beyond the last bound times are usual, as a multiple of it.
constexpr double kBeyond = 3;

/// The range of the mean without any assumption, except that times beyond the last bound are usual
/// ones.
Span widest(const std::vector<Bucket>& buckets) {
  Span span{0, 0};
  for (const Bucket& b : buckets) {
    span.low += b.share * b.low;
    span.high += b.share * (std::isfinite(b.high) ? b.high : kBeyond * b.low);
  }
  return span;
}

double density(const Bucket& b) { return b.share / (b.high - b.low); }

/// Adds the means of laws through the counts: by `values`, and with an end bucket filled as densely
/// as its neighbour.
void add_means(Span& span, const std::vector<Bucket>& buckets, const Values& values) {
  constexpr double kNoteworthy = 0.01;
  const double mean = mean_of(buckets, values);
  span.add(mean);
  const std::size_t last = buckets.size() - 1;
  double ends = mean;
  if (last > 0 && buckets[last].share >= kNoteworthy && std::isfinite(buckets[last].high)) {
    const Bucket& b = buckets[last];
    const double width = std::min(b.share / density(buckets[last - 1]), b.high - b.low);
    ends += b.share * (b.low + width / 2 - mean_in(values[last]));
    span.add(ends);
  }
  const Bucket& b = buckets.front();
  if (buckets.size() > 1 && b.share > kNoteworthy && std::isfinite(buckets[1].high)) {
    const double width = std::min(b.share / density(buckets[1]), b.high - b.low);
    const double shift = b.share * (b.high - width / 2 - mean_in(values.front()));
    span.add(mean + shift);
    span.add(ends + shift);
  }
}

/// Whether the counts show no smooth law: nearly all requests are in one bucket, or there are two
/// peaks on the logarithmic axis.
bool is_rough(const std::vector<Bucket>& buckets) {
  constexpr double kNearlyAll = 0.8, kDip = 0.8;
  std::vector<double> heights;
  for (const Bucket& b : buckets) {
    if (b.share > kNearlyAll) return true;
    if (b.low > 0 && std::isfinite(b.high))
      heights.push_back(b.share / kernel::log(b.high / b.low));
  }
  for (std::size_t i = 1; i + 1 < heights.size(); ++i) {
    const auto at = heights.begin() + static_cast<std::ptrdiff_t>(i);
    const double before = *std::max_element(heights.begin(), at);
    const double behind = *std::max_element(at + 1, heights.end());
    if (*at < kDip * std::min(before, behind)) return true;
  }
  return false;
}

/// Shifts the times within their buckets until the mean is `mean_s`. Throws std::invalid_argument
/// if no shift gives that mean.
void give_mean(const std::vector<Bucket>& buckets, Values& values, double mean_s) {
  const auto shifted = [&](double exponent) {
    Values result = values;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const Bucket& b = buckets[i];
      for (double& v : result[i]) {
        if (std::isfinite(b.high)) {
          if (!(b.high > b.low)) continue;
          const double part = std::clamp((v - b.low) / (b.high - b.low), 1e-9, 1.0);
          v = b.low + (b.high - b.low) * kernel::pow(part, exponent);
        } else {  // beyond the last bound there is always room
          v = b.low + (v - b.low) / exponent;
        }
      }
    }
    return result;
  };
  constexpr double kMost = 200;
  double low = 1 / kMost, high = kMost;  // the mean falls with the exponent
  const double least = mean_of(buckets, shifted(high)), most = mean_of(buckets, shifted(low));
  if (mean_s < least || mean_s > most) {
    throw std::invalid_argument(
        fmt::format("a mean of {} s does not fit these buckets, which allow {} s to {} "
                    "s",
                    said_number(mean_s, 4), said_number(least, 4), said_number(most, 4)));
  }
  constexpr int kSteps = 60;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = kernel::exp((kernel::log(low) + kernel::log(high)) / 2);
    (mean_of(buckets, shifted(middle)) > mean_s ? low : high) = middle;
  }
  values = shifted(high);
}

// --- Files ---------------------------------------------------------------------------------------

struct CountRow {
  double le = 0;  ///< upper bound, s; the last one is infinite
  double count = 0;
  Place place;
};

/// One histogram of a file.
struct CountedSeries {
  std::string name;                           ///< metric name without _bucket; empty in CSV
  std::map<std::string, std::string> labels;  ///< labels without `le`
  std::vector<CountRow> rows;
  std::optional<double> sum;
  std::optional<Place> sum_place;
  std::optional<double> count;  ///< as `_count` has it
  double unit_s = 1;

  std::string text() const {
    std::string result;
    for (const auto& [label, value] : labels) {
      result += fmt::format("{}{}=\"{}\"", result.empty() ? "" : ",", label, value);
    }
    return name + (result.empty() ? "" : "{" + result + "}");
  }
  /// As `text`, for a message.
  std::string shown() const {
    const std::string own = text();
    return own.empty() ? "a histogram without a name" : own;
  }
};

/// The unit of a metric's times in seconds: 1, as in Prometheus, unless the name says otherwise.
double unit_of(std::string_view name) {
  for (const auto& [ending, unit] : {std::pair<std::string_view, double>{"_milliseconds", 1e-3},
                                     {"_millis", 1e-3},
                                     {"_ms", 1e-3},
                                     {"_microseconds", 1e-6},
                                     {"_us", 1e-6},
                                     {"_nanoseconds", 1e-9}}) {
    if (name.ends_with(ending)) return unit;
  }
  return 1;
}

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':' || c == '.';
}

/// A line of the text exposition format up to its value: NAME{LABEL="VALUE",...}. `take_sample`
/// takes it from the front of `rest`; empty if there is none.
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
};
std::optional<Sample> take_sample(std::string_view& rest) {
  const auto skip_blanks = [&] {
    while (rest.starts_with(' ') || rest.starts_with('\t')) rest.remove_prefix(1);
  };
  const auto take_name = [&] {
    std::size_t n = 0;
    while (n < rest.size() && is_name_part(rest[n])) ++n;
    std::string name(rest.substr(0, n));
    rest.remove_prefix(n);
    return name;
  };
  Sample sample{take_name(), {}};
  skip_blanks();
  if (!rest.starts_with('{')) return sample;
  rest.remove_prefix(1);
  while (true) {
    skip_blanks();
    if (rest.starts_with('}')) break;
    const std::string label = take_name();
    skip_blanks();
    if (label.empty() || !rest.starts_with('=')) return std::nullopt;
    rest.remove_prefix(1);
    skip_blanks();
    if (!rest.starts_with('"')) return std::nullopt;
    rest.remove_prefix(1);
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
      value += rest.front();
      rest.remove_prefix(1);
    }
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    sample.labels[label] = value;
    skip_blanks();
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  rest.remove_prefix(1);
  return sample;
}

/// A number as Prometheus writes it; empty if the text is none.
std::optional<double> number_in(std::string_view text) {
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || std::isnan(value)) {
    return std::nullopt;
  }
  return value;
}

constexpr std::string_view kBucket = "_bucket", kSum = "_sum", kCount = "_count";

/// Every histogram of a file of metrics, in the order in which they appear.
class Exposition {
 public:
  Exposition(const CsvFile& file, CsvFiles& files) : file_(file), files_(files) {}

  std::optional<std::vector<CountedSeries>> read() {
    int line_number = 0;
    struct Total {
      std::string key;
      double value = 0;
      int line = 0;
    };
    std::vector<Total> sums, counts;
    for (std::string_view text = files_.sources().text(file_.source); !text.empty();) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      ++line_number;
      line = trimmed(line);
      if (line.empty() || line.front() == '#') continue;
      const std::string_view name = line.substr(0, line.find_first_of("{ \t"));
      const bool is_bucket = name.ends_with(kBucket);
      const bool is_count = name.ends_with(kCount);
      if (!is_bucket && !is_count && !name.ends_with(kSum)) continue;
      const std::string_view whole = line;
      auto sample = take_sample(line);
      line = trimmed(line);
      const std::string_view number = line.substr(0, line.find_first_of(" \t"));
      const auto value = number_in(number);
      if (!is_bucket) {
        if (!sample || !value) continue;
        (is_count ? counts : sums)
            .push_back({key_of(*sample, is_count ? kCount : kSum), *value, line_number});
        continue;
      }
      const auto le =
          sample ? sample->labels.find("le") : std::map<std::string, std::string>::iterator();
      if (!sample || le == sample->labels.end()) {
        fail(line_number, in_quotes(whole) +
                              " is no bucket; expected NAME_bucket{le=\"BOUND\"} "
                              "COUNT");
        continue;
      }
      const auto bound = number_in(le->second);
      if (!bound || !value || *value < 0 || !std::isfinite(*value)) {
        fail(line_number, !bound ? "le = " + in_quotes(le->second) +
                                       " is no bound; expected a "
                                       "number or +Inf"
                                 : in_quotes(number) + " is no count; expected a number from 0");
        continue;
      }
      CountedSeries& series = series_of(*sample);
      series.rows.push_back({*bound * series.unit_s, *value, {file_.source, line_number, 1}});
    }
    if (!good_) return std::nullopt;
    for (const Total& sum : sums) {
      const auto at = index_.find(sum.key);
      if (at == index_.end()) continue;
      CountedSeries& series = series_[at->second];
      series.sum = sum.value * series.unit_s;
      series.sum_place = Place{file_.source, sum.line, 1};
    }
    for (const Total& count : counts) {
      const auto at = index_.find(count.key);
      if (at != index_.end()) series_[at->second].count = count.value;
    }
    return std::move(series_);
  }

 private:
  void fail(int line, std::string message) {
    good_ = false;
    files_.problems().add({file_.source, line, 1}, std::move(message));
  }

  static std::string key_of(const Sample& sample, std::string_view ending) {
    CountedSeries series;
    series.name = sample.name.substr(0, sample.name.size() - ending.size());
    series.labels = sample.labels;
    series.labels.erase("le");
    return series.text();
  }

  CountedSeries& series_of(const Sample& sample) {
    const std::string key = key_of(sample, kBucket);
    const auto [at, is_new] = index_.emplace(key, series_.size());
    if (is_new) {
      CountedSeries& series = series_.emplace_back();
      series.name = sample.name.substr(0, sample.name.size() - kBucket.size());
      series.labels = sample.labels;
      series.labels.erase("le");
      series.unit_s = unit_of(series.name);
    }
    return series_[at->second];
  }

  const CsvFile& file_;
  CsvFiles& files_;
  bool good_ = true;
  std::vector<CountedSeries> series_;
  std::map<std::string, std::size_t> index_;
};

/// The member `series`: a name, labels, or both; empty: any.
struct Selector {
  std::string text;
  Sample wanted;

  bool fits(const CountedSeries& series) const {
    return (wanted.name.empty() || wanted.name == series.name) &&
           std::ranges::all_of(wanted.labels, [&](const auto& label) {
             const auto own = series.labels.find(label.first);
             return own != series.labels.end() && own->second == label.second;
           });
  }
};

class HistogramReader {
 public:
  HistogramReader(const std::string& path, const Node& table, CsvFiles& files)
      : path_(path), table_(table), files_(files) {}

  std::optional<HistogramLaw> find() {
    if (!read_members()) return std::nullopt;
    auto counted = counts_in("buckets");
    if (!counted) return std::nullopt;
    for (const CountedSeries& series : *counted) {
      const double all = series.rows.back().count;
      if (!series.count || *series.count == all || !contradiction_.empty()) continue;
      contradiction_ =
          fmt::format("_count is {}, and the bucket +Inf has {}: the buckets are taken",
                      said_number(*series.count, 15), said_number(all, 15));
    }
    if (table_.find("before") != nullptr && !subtract(*counted)) return std::nullopt;
    const auto total = sum_of(*counted);
    if (!total) return std::nullopt;
    std::vector<double> bounds, counts;
    for (const CountRow& row : total->rows) {
      if (std::isfinite(row.le)) bounds.push_back(row.le);
      counts.push_back(row.count);
    }
    if (!mean_ && total->sum && *total->sum > 0) {
      mean_ = *total->sum / counts.back();
      mean_place_ = total->sum_place;
    }
    try {
      return law_of_buckets(bounds, counts, mean_);
    } catch (const std::invalid_argument& e) {
      fail(mean_place_.value_or(table_.place), path_ + ": " + e.what());
      return std::nullopt;
    }
  }

  std::size_t resets() const { return resets_; }
  /// Words about a `_count` that is not that of the buckets; empty if there is none.
  const std::string& contradiction() const { return contradiction_; }
  std::size_t series() const { return count_; }

 private:
  bool fail(Place place, std::string message) {
    files_.problems().add(place, std::move(message));
    return false;
  }

  bool read_members() {
    for (const Member& member : table_.members) {
      const auto known = bucket_member_names();
      if (std::ranges::find(known, member.name) == known.end()) {
        return fail(member.place, fmt::format("{}: {} does not go with buckets; {}", path_,
                                              in_quotes(member.name),
                                              suggestion(member.name, known, "there may be")));
      }
      if (member.name == "mean") {
        ValueRules rules;
        rules.kind = ValueKind::kDuration;
        const auto value = read_value(rules, path_ + ".mean", member.value, files_);
        if (!value) return false;
        mean_ = value->number;
        mean_place_ = member.value.place;
      } else if (!member.value.is_text() || member.value.text.empty()) {
        return fail(member.value.place, fmt::format("{}.{} is {}; expected text in quotes", path_,
                                                    member.name, describe(member.value.kind)));
      }
    }
    const Member* series = table_.find("series");
    if (series == nullptr) return true;
    selector_.text = series->value.text;
    std::string_view rest = selector_.text;
    auto wanted = take_sample(rest);
    if (!wanted || !trimmed(rest).empty()) {
      return fail(
          series->value.place,
          fmt::format("{}.series: {} chooses nothing; expected a name, labels or both, such "
                      "as http_request_duration_seconds{{handler=\"/pay\"}}",
                      path_, in_quotes(selector_.text)));
    }
    if (wanted->name.ends_with(kBucket)) {
      wanted->name.resize(wanted->name.size() - kBucket.size());
    }
    wanted->labels.erase("le");
    selector_.wanted = *std::move(wanted);
    return true;
  }

  /// The chosen histograms of the file that `member` names, at least one; empty after an error.
  std::optional<std::vector<CountedSeries>> counts_in(const std::string& member) {
    const Node& named = table_.find(member)->value;
    const CsvFile* file = files_.open(named.text, named.place);
    if (file == nullptr) return std::nullopt;
    std::optional<std::vector<CountedSeries>> all;
    if (is_bucket_counts(*file)) {
      const auto rows = read_bucket_counts(*file, files_);
      if (!rows) return std::nullopt;
      CountedSeries& one = all.emplace().emplace_back();
      for (std::size_t i = 0; i < rows->le_s.size(); ++i) {
        one.rows.push_back({rows->le_s[i], rows->counts[i], {file->source, rows->lines[i], 1}});
      }
    } else {
      all = Exposition(*file, files_).read();
      if (!all) return std::nullopt;
    }
    if (all->empty()) {
      fail(named.place, fmt::format("{}: {} has no histogram; expected a CSV file with the columns "
                                    "le,count, or lines such as NAME_bucket{{le=\"0.1\"}} 240",
                                    path_, in_quotes(file->name)));
      return std::nullopt;
    }
    std::vector<CountedSeries> chosen;
    std::vector<std::string> names;
    for (CountedSeries& series : *all) {
      names.push_back(series.shown());
      if (selector_.fits(series)) chosen.push_back(std::move(series));
    }
    if (!check_choice(named.place, *file, chosen, names)) return std::nullopt;
    for (const CountedSeries& series : chosen) {
      if (!check_rows(series, named.place)) return std::nullopt;
    }
    return chosen;
  }

  bool check_choice(Place place, const CsvFile& file, const std::vector<CountedSeries>& chosen,
                    const std::vector<std::string>& names) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto list = [&] { return joined_first(views); };
    if (chosen.empty()) {
      if (is_bucket_counts(file)) {
        return fail(place,
                    fmt::format("{}: {} is a CSV file with one histogram, which has no name; leave "
                                "out series",
                                path_, in_quotes(file.name)));
      }
      return fail(place, fmt::format("{}: no histogram of {} is {}; it has {}", path_,
                                     in_quotes(file.name), selector_.text, list()));
    }
    const bool is_one_name = std::ranges::all_of(
        chosen, [&](const CountedSeries& s) { return s.name == chosen.front().name; });
    if (chosen.size() > 1 && (selector_.text.empty() || !is_one_name)) {
      return fail(place,
                  fmt::format("{}: {} has {} histograms; choose one, or several to be added up, by "
                              "series = 'NAME{{LABEL=\"VALUE\"}}': {}",
                              path_, in_quotes(file.name), names.size(), list()));
    }
    return true;
  }

  bool check_rows(const CountedSeries& series, Place place) {
    const std::vector<CountRow>& rows = series.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 ? rows[i].le < 0 : rows[i].le <= rows[i - 1].le) {
        return fail(
            rows[i].place,
            fmt::format("le = {} s is {}; expected bounds that rise", said_number(rows[i].le, 9),
                        i == 0 ? "no length of time" : "not above the bound before"));
      }
      if (i > 0 && rows[i].count < rows[i - 1].count) {
        return fail(
            rows[i].place,
            fmt::format("count {} is below that of the bound before, {}; expected "
                        "cumulative counts: of all requests up to the bound",
                        said_number(rows[i].count, 15), said_number(rows[i - 1].count, 15)));
      }
    }
    if (rows.empty() || std::isfinite(rows.back().le)) {
      return fail(
          rows.empty() ? place : rows.back().place,
          "there is no bucket +Inf, which counts all requests; expected it as the last one");
    }
    return true;
  }

  /// Subtracts the counts of the file `before`; counters that restarted since then are kept whole,
  /// and so are those that it has not, but not all of them. False after an error.
  bool subtract(std::vector<CountedSeries>& counted) {
    const auto before = counts_in("before");
    if (!before) return false;
    std::size_t subtracted = 0;
    for (CountedSeries& series : counted) {
      const auto old = std::ranges::find_if(
          *before, [&](const CountedSeries& s) { return s.text() == series.text(); });
      if (old == before->end()) continue;
      ++subtracted;
      if (!have_same_bounds(*old, series)) {
        return fail(old->rows.front().place, "the two scrapes have different bounds");
      }
      const bool is_reset = std::ranges::any_of(series.rows, [&](const CountRow& row) {
        const auto i = static_cast<std::size_t>(&row - series.rows.data());
        return row.count < old->rows[i].count;
      });
      if (is_reset) {
        ++resets_;
        continue;
      }
      for (std::size_t i = 0; i < series.rows.size(); ++i) {
        series.rows[i].count -= old->rows[i].count;
      }
      series.sum = series.sum && old->sum ? std::optional(*series.sum - *old->sum) : std::nullopt;
      if (!check_rows(series, table_.place)) return false;
    }
    if (subtracted > 0) return true;
    const auto names_of = [](const std::vector<CountedSeries>& all) {
      std::vector<std::string> names;
      for (const CountedSeries& series : all) names.push_back(series.shown());
      return joined_first({names.begin(), names.end()});
    };
    const Node& file = table_.find("before")->value;
    return fail(
        file.place,
        fmt::format("{}.before: {} has nothing to subtract: it has {}, and buckets is of {}", path_,
                    in_quotes(file.text), names_of(*before), names_of(counted)));
  }

  static bool have_same_bounds(const CountedSeries& a, const CountedSeries& b) {
    return std::ranges::equal(a.rows, b.rows, {}, &CountRow::le, &CountRow::le);
  }

  std::optional<CountedSeries> sum_of(const std::vector<CountedSeries>& counted) {
    CountedSeries total = counted.front();
    count_ = counted.size();
    for (std::size_t s = 1; s < counted.size(); ++s) {
      if (!have_same_bounds(total, counted[s])) {
        fail(counted[s].rows.front().place,
             fmt::format("{} has other bounds than {}; choose one of them by series",
                         counted[s].text(), total.text()));
        return std::nullopt;
      }
      for (std::size_t i = 0; i < total.rows.size(); ++i) {
        total.rows[i].count += counted[s].rows[i].count;
      }
      total.sum =
          total.sum && counted[s].sum ? std::optional(*total.sum + *counted[s].sum) : std::nullopt;
    }
    const CountRow& all = total.rows.back();
    const double within = total.rows.size() > 1 ? total.rows[total.rows.size() - 2].count : 0;
    if (!(all.count > 0)) {
      fail(all.place, "no request is counted; expected counts above 0");
      return std::nullopt;
    }
    if (total.rows.size() < 2 || !(total.rows[total.rows.size() - 2].le > 0)) {
      fail(all.place, "there is no bound below +Inf; expected at least one above 0");
      return std::nullopt;
    }
    if (all.count - within > kMaxAboveBounds * all.count) {
      fail(
          all.place,
          fmt::format("{} % of the requests are above the last bound, {} s, and "
                      "nothing says by how much; expected at most {:.0f} %: use larger bounds",
                      said_number(100 * (all.count - within) / all.count, 2),
                      said_number(total.rows[total.rows.size() - 2].le, 4), 100 * kMaxAboveBounds));
      return std::nullopt;
    }
    return total;
  }

  const std::string& path_;
  const Node& table_;
  CsvFiles& files_;
  Selector selector_;
  std::optional<double> mean_;
  std::optional<Place> mean_place_;
  std::string contradiction_;
  std::size_t resets_ = 0, count_ = 0;
};

}  // namespace

HistogramLaw law_of_buckets(std::span<const double> bounds_s, std::span<const double> counts,
                            std::optional<double> mean_s) {
  const double all = counts.back();
  std::vector<Bucket> buckets;
  double below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double up_to = i + 1 == counts.size() ? 1 : counts[i] / all;
    const bool has_end = i < bounds_s.size();
    if (up_to > below) {
      buckets.push_back({i == 0 ? 0 : bounds_s[i - 1],
                         has_end ? bounds_s[i] : std::numeric_limits<double>::infinity(), below,
                         up_to - below});
    }
    below = up_to;
  }
  HistogramLaw found;
  found.requests = static_cast<std::size_t>(all);
  const Span any = widest(buckets);
  const Pieces lognormal(buckets, lognormal_scale), weibull(buckets, weibull_scale),
      pareto(buckets, pareto_scale);
  const bool smooth = lognormal.exist();
  Values values;
  Span span;
  if (smooth) {
    values = values_by(buckets, [&](const Bucket& b, double share) {
      return (lognormal.value(b, share) + weibull.value(b, share)) / 2;
    });
    for (const Pieces* pieces : {&lognormal, &weibull, &pareto}) {
      add_means(span, buckets, values_by(buckets, [&](const Bucket& b, double share) {
                  return pieces->value(b, share);
                }));
    }
  } else {
    values = values_by(buckets, [](const Bucket& b, double share) {
      return std::isfinite(b.high) ? b.low + (b.high - b.low) * (share - b.below) / b.share : b.low;
    });
  }
  if (mean_s) {
    give_mean(buckets, values, *mean_s);
    found.mean_s = found.low_s = found.high_s = *mean_s;
    const Bucket& last = buckets.back();
    if (!std::isfinite(last.high) && *mean_s > any.high) {
      found.beyond_s = (*mean_s - any.high) / last.share + kBeyond * last.low;
    }
  } else {
    constexpr double kMargin = 0.005, kNormal = 1.96;
    const double mean = mean_of(buckets, values);
    double squares = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      for (const double v : values[i]) {
        squares += buckets[i].share / kPieces * (v - mean) * (v - mean);
      }
    }
    const double chance = kNormal * std::sqrt(squares / all);
    const double off = std::max(span.high - mean, mean - span.low) + kMargin * mean + chance;
    const bool is_known = smooth && !is_rough(buckets);
    found.mean_s = mean;
    found.low_s = is_known ? std::max(any.low, mean - off) : any.low;
    found.high_s = is_known ? mean + off : any.high;
  }
  constexpr double kMostOff = 0.05;
  found.too_coarse =
      std::max(found.high_s - found.mean_s, found.mean_s - found.low_s) > kMostOff * found.mean_s;
  std::vector<double> times, weights;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (const double v : values[i]) {
      times.push_back(v);
      weights.push_back(buckets[i].share / kPieces);
    }
  }
  found.law = Distribution::empirical(std::move(times), std::move(weights));
  return found;
}

bool has_buckets(const Node& table) { return table.is_table() && table.find("buckets") != nullptr; }

std::vector<std::string_view> bucket_member_names() {
  return {"buckets", "series", "before", "mean"};
}

std::optional<Distribution> read_histogram(const std::string& path, const Node& table,
                                           CsvFiles& files) {
  auto found = HistogramReader(path, table, files).find();
  return found ? std::optional(std::move(found->law)) : std::nullopt;
}

std::string histogram_note(const Node& table, CsvFiles& files) {
  if (!has_buckets(table)) return "";
  const std::string path;
  HistogramReader reader(path, table, files);
  const auto found = reader.find();
  if (!found) return "";
  std::string note;
  if (found->low_s < found->high_s) {
    note = fmt::format(": by its buckets the mean is {} ms, between {} and {} ms",
                       said_number(1000 * found->mean_s), said_number(1000 * found->low_s),
                       said_number(1000 * found->high_s));
    if (found->too_coarse) {
      note += "; too coarse to know the load within 5 %: give mean, the sum divided by the count";
    }
  }
  const auto add = [&](const std::string& words) {
    note += fmt::format("{} {}", note.empty() ? ":" : ";", words);
  };
  if (found->beyond_s) {
    add(
        fmt::format("a mean of {} s is far above what the buckets tell: the few requests above the "
                    "last bound would have to take {} s on average at least; is the mean of these "
                    "requests, and in seconds?",
                    said_number(found->mean_s), said_number(*found->beyond_s)));
  }
  if (!reader.contradiction().empty()) add(reader.contradiction());
  if (reader.resets() > 0) {
    add(fmt::format("{} began anew after the scrape before; all that they count is taken",
                    said_things(reader.resets(), "histogram")));
  }
  return note;
}

}  // namespace retrysim::scenario
