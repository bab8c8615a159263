// SPDX-License-Identifier: MIT
#include "scenario/text/percentiles.hpp"

#include "kernel/quantiles.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

namespace retrysim::scenario {
namespace {

using kernel::Quantile;
using kernel::QuantileLaw;

struct Law {
  std::string_view name;
  Distribution::Kind kind;
};

constexpr Law kLaws[] = {{"lognormal", Distribution::Kind::kLognormal},
                         {"weibull", Distribution::Kind::kWeibull},
                         {"gamma", Distribution::Kind::kGamma},
                         {"pareto", Distribution::Kind::kPareto},
                         {"uniform", Distribution::Kind::kUniform},
                         {"normal", Distribution::Kind::kNormal},
                         {"exponential", Distribution::Kind::kExponential}};

std::string_view name_of(Distribution::Kind kind) {
  return std::ranges::find(kLaws, kind, &Law::kind)->name;
}

/// A law that misses a percentile by a larger share is not the right one; about the error of a
/// load.
constexpr double kFarOff = 0.25;
/// Deviations up to this share are not mentioned.
constexpr double kExact = 0.01;

struct Percentile {
  std::string_view name;
  Quantile quantile;
};

/// The percentile that the law misses most: "its p95 is 6 % above the one given".
std::string farthest(const std::vector<Percentile>& given, const QuantileLaw& law) {
  std::size_t worst = 0;
  const auto distance = [&](std::size_t i) { return law.values_s[i] / given[i].quantile.value_s; };
  for (std::size_t i = 1; i < given.size(); ++i) {
    if (std::max(distance(i), 1 / distance(i)) > std::max(distance(worst), 1 / distance(worst)))
      worst = i;
  }
  return fmt::format("its {} is {:.0f} % {} the one given", given[worst].name,
                     100 * std::abs(distance(worst) - 1), distance(worst) > 1 ? "above" : "below");
}

class PercentileReader {
 public:
  PercentileReader(const std::string& path, const Node& table, CsvFiles& files)
      : path_(path), table_(table), files_(files) {}

  std::optional<Distribution> read() {
    auto law = find();
    return law ? std::optional(std::move(law->law)) : std::nullopt;
  }

  /// The law; empty if there are mistakes, which are reported.
  std::optional<QuantileLaw> find() {
    if (!read_members()) return std::nullopt;
    std::ranges::sort(given_, {}, [](const Percentile& p) { return p.quantile.share; });
    std::vector<Quantile> quantiles;
    for (const Percentile& p : given_) quantiles.push_back(p.quantile);
    if (!check_shares()) return std::nullopt;
    try {
      QuantileLaw law = choose(quantiles);
      if (law.off <= kFarOff) return law;
      fail(table_.place,
           fmt::format("{}: {} has these percentiles: {}{}; leave one out, or give all values in "
                       "a file (distribution = \"empirical\")",
                       path_,
                       chosen() ? "no law of lognormal, weibull, gamma and pareto"
                                : fmt::format("no {} law", name_of(kind_)),
                       chosen() ? fmt::format("of the nearest, {}, ", name_of(law.law.kind())) : "",
                       farthest(given_, law)));
    } catch (const std::invalid_argument& e) {
      fail(table_.place, fmt::format("{}: {}: {}", path_, name_of(kind_), e.what()));
    }
    return std::nullopt;
  }

  /// Whether the law was chosen for the user, after `find`.
  bool chosen() const { return !named_ && given_.size() > 2; }
  const std::vector<Percentile>& given() const { return given_; }

 private:
  bool fail(Place place, std::string message) {
    files_.problems().add(place, std::move(message));
    return false;
  }

  bool read_members() {
    bool good = true;
    for (const Member& member : table_.members) good = read_member(member) && good;
    if (!good) return false;
    if (!mean_ && !cv_) return true;
    const std::string_view beside = mean_ ? "mean" : "cv";
    if (mean_ && cv_) {
      return fail(table_.place, fmt::format("{}: mean and cv are a lognormal law already; leave "
                                            "one of them or the percentile out",
                                            path_));
    }
    if (kind_ != Distribution::Kind::kLognormal) {
      return fail(table_.place, fmt::format("{}: {} beside a percentile goes with lognormal only",
                                            path_, beside));
    }
    if (given_.size() > 1) {
      return fail(table_.place, fmt::format("{}: {} goes with one percentile; there are {}", path_,
                                            beside, given_.size()));
    }
    return true;
  }

  bool read_member(const Member& member) {
    const std::string path = path_ + "." + member.name;
    if (member.name == "distribution") return read_law(member.value);
    if (member.name == "mean") return read_length(path, member.value, mean_);
    if (member.name == "cv") return read_number(path, member.value, cv_);
    const auto share = percentile_share(member.name);
    if (!share) {
      return fail(member.place,
                  fmt::format("{}: {} is no percentile; beside percentiles such as p50, p99 and "
                              "p999 (99.9 %) there may be distribution, and mean or cv",
                              path_, in_quotes(member.name)));
    }
    if (member.value.is_table()) {  // p99.9 without quotes makes a table
      return fail(member.place,
                  fmt::format("{}: a percentile's name with a point needs quotes, or no point: "
                              "p999 is 99.9 %",
                              path));
    }
    std::optional<double> value;
    if (!read_length(path, member.value, value)) return false;
    if (*value <= 0) return fail(member.value.place, path + " must be above 0");
    given_.push_back({member.name, {*share, *value}});
    return true;
  }

  bool read_law(const Node& node) {
    named_ = true;
    const std::string name = node.is_text() ? node.text : render(node);
    const auto law = std::ranges::find(kLaws, name, &Law::name);
    if (law == std::end(kLaws)) {
      return fail(node.place, fmt::format("{}: percentiles cannot be given for distribution = {}; "
                                          "{}",
                                          path_, in_quotes(name),
                                          suggestion(name, percentile_laws(), "they can for")));
    }
    kind_ = law->kind;
    return true;
  }

  bool read_length(const std::string& path, const Node& node, std::optional<double>& to) {
    ValueRules rules;
    rules.kind = ValueKind::kDuration;
    const auto value = read_value(rules, path, node, files_);
    if (value) to = value->number;
    return value.has_value();
  }

  bool read_number(const std::string& path, const Node& node, std::optional<double>& to) {
    ValueRules rules;
    rules.kind = ValueKind::kNumber;
    const auto value = read_value(rules, path, node, files_);
    if (value) to = value->number;
    return value.has_value();
  }

  bool check_shares() {
    for (std::size_t i = 1; i < given_.size(); ++i) {
      const Percentile &low = given_[i - 1], &high = given_[i];
      if (low.quantile.share == high.quantile.share) {
        return fail(table_.place, fmt::format("{}: {} and {} are the same percentile", path_,
                                              low.name, high.name));
      }
      if (low.quantile.value_s >= high.quantile.value_s) {
        return fail(table_.place,
                    fmt::format("{}: {} must be longer than {}", path_, high.name, low.name));
      }
    }
    return true;
  }

  QuantileLaw choose(const std::vector<Quantile>& quantiles) const {
    if (cv_) return kernel::lognormal_of_cv(quantiles.front(), *cv_);
    if (mean_) return kernel::lognormal_of_mean(quantiles.front(), *mean_);
    return chosen() ? kernel::nearest_law(quantiles) : kernel::law_of_quantiles(kind_, quantiles);
  }

  const std::string& path_;
  const Node& table_;
  CsvFiles& files_;
  Distribution::Kind kind_ = Distribution::Kind::kLognormal;
  bool named_ = false;
  std::optional<double> mean_, cv_;
  std::vector<Percentile> given_;
};

}  // namespace

std::optional<double> percentile_share(std::string_view name) {
  if (!name.starts_with('p')) return std::nullopt;
  std::string digits(name.substr(1));
  constexpr std::size_t kMaxDigits = 12;
  const bool only_digits = !digits.empty() && digits.size() <= kMaxDigits &&
                           digits.front() != '.' && digits.back() != '.' &&
                           std::ranges::count(digits, '.') <= 1 &&
                           digits.find_first_not_of("0123456789.") == std::string::npos;
  if (!only_digits || digits == "100") return std::nullopt;
  constexpr std::size_t kPerCent = 2;
  if (digits.find('.') == std::string::npos && digits.size() > kPerCent) {
    digits.insert(kPerCent, ".");
  }
  double percent = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  return percent > 0 && percent < 100 ? std::optional(percent / 100) : std::nullopt;
}

std::vector<std::string_view> percentile_laws() {
  std::vector<std::string_view> names;
  for (const Law& law : kLaws) names.push_back(law.name);
  return names;
}

bool has_percentiles(const Node& table) {
  return table.is_table() && std::ranges::any_of(table.members, [](const Member& m) {
           return percentile_share(m.name).has_value();
         });
}

std::optional<Distribution> read_percentiles(const std::string& path, const Node& table,
                                             CsvFiles& files) {
  return PercentileReader(path, table, files).read();
}

std::string percentile_note(const Node& table, CsvFiles& files) {
  if (!has_percentiles(table)) return "";
  const std::string path;
  PercentileReader reader(path, table, files);
  const auto law = reader.find();
  if (!law || !reader.chosen()) return "";
  return fmt::format(
      ": of lognormal, weibull, gamma and pareto, {} is nearest to these "
      "percentiles{}",
      name_of(law->law.kind()), law->off > kExact ? "; " + farthest(reader.given(), *law) : "");
}

std::string median_for_mean_note(const Node& value, std::string_view line) {
  const bool is_mean = value.is_table() ? value.find("mean") != nullptr && !has_percentiles(value)
                                        : value.kind != Node::Kind::kArray;
  const std::size_t comment = line.find('#');
  if (!is_mean || comment == std::string_view::npos) return "";
  constexpr std::size_t kMinName = 3;  // shorter names such as "P1" are priorities
  std::string word;
  for (const char written : std::string(line.substr(comment + 1)) + ' ') {
    const char c = written >= 'A' && written <= 'Z' ? static_cast<char>(written + 32) : written;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
      word += c;
      continue;
    }
    if (word == "median" || (word.size() >= kMinName && percentile_share(word))) {
      return fmt::format(
          " is taken for {}, and its comment says {}, which is no mean; write {{ "
          "p50 = ..., p99 = ... }} with the percentiles that you know",
          value.is_table() ? "a law with that mean" : "the time of all", word);
    }
    word.clear();
  }
  return "";
}

}  // namespace retrysim::scenario
