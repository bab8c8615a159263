// The words in which the table of metrics is written: one function per kind of metric, and the
// functions that add to a row.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include "measure/metrics/formulas.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace retrysim::stats {

using Sum = double (*)(const MetricInput&);
using Formula = std::optional<double> (*)(const MetricInput&);

/// How a metric is shown, piece by piece: `label("goodput").higher_is_better().in(list, place)`.
struct Display : MetricDisplay {
  constexpr Display higher_is_better() const {
    Display d = *this;
    d.better = MetricBetter::kHigher;
    return d;
  }
  constexpr Display lower_is_better() const {
    Display d = *this;
    d.better = MetricBetter::kLower;
    return d;
  }
  constexpr Display in(MetricList list, std::uint8_t place_in_list) const {
    Display d = *this;
    d.places[static_cast<std::size_t>(list)] = place_in_list;
    return d;
  }
  /// A line of a section of the table that `run` prints.
  constexpr Display line(MetricList section, std::uint8_t place_in_section, std::string_view text,
                         MetricHide when = MetricHide::kNever) const {
    Display d = in(section, place_in_section);
    d.line_label = text;
    d.hide = when;
    return d;
  }
  /// The words of sentences about the metric. Without such words, sentences use its name, and only
  /// if the user asks for the metric.
  constexpr Display spoken(std::uint8_t place_in_list, MetricWords says = {}) const {
    Display d = in(MetricList::kSpoken, place_in_list);
    d.words = says;
    return d;
  }
};

constexpr Display label(std::string_view text) {
  Display d;
  d.label = text;
  return d;
}

/// A row of the table of metrics, and its optional parts.
struct MetricRow : MetricInfo {
  constexpr MetricRow shown(Display how) const {
    MetricRow row = *this;
    how.percentage = display.percentage;
    row.display = how;
    return row;
  }
  constexpr MetricRow within(MetricRange limits) const {
    MetricRow row = *this;
    row.range = limits;
    return row;
  }
  constexpr MetricRow in_percent(bool yes = true) const {
    MetricRow row = *this;
    row.display.percentage = yes;
    return row;
  }
  /// Gives the metric a value in each bin, too; `below`: the divisor of a ratio.
  constexpr MetricRow bins(double (*above)(const ClientBin&),
                           double (*below)(const ClientBin&) = nullptr) const {
    MetricRow row = *this;
    row.series = {above, nullptr, below};
    return row;
  }
  /// Gives the metric a value in each phase that does not follow from bins; `below`: the divisor of
  /// a ratio.
  constexpr MetricRow in_phases(double (*above)(const PhaseResult&),
                                double (*below)(const PhaseResult&) = nullptr) const {
    MetricRow row = *this;
    row.phase = {above, below, nullptr};
    return row;
  }
  constexpr MetricRow in_phases(std::optional<double> (*value)(const PhaseResult&)) const {
    MetricRow row = *this;
    row.phase = {nullptr, nullptr, value};
    return row;
  }
  constexpr MetricRow service_bins(double (*above)(const ServiceFlow&)) const {
    MetricRow row = *this;
    row.series = {nullptr, above, nullptr};
    return row;
  }
  constexpr MetricRow of(MetricScope bearer) const {
    MetricRow row = *this;
    row.scope = bearer;
    return row;
  }
  /// Limits the metric to services for which `such` is true.
  constexpr MetricRow only_if(bool (*such)(std::span<const ServiceResult>)) const {
    MetricRow row = *this;
    row.services = such;
    return row;
  }
  constexpr MetricRow summarized_as(MetricSummary how) const {
    MetricRow row = *this;
    row.summary = how;
    return row;
  }
};

/// A metric with a rule of its own.
constexpr MetricRow own(MetricKind kind, std::string_view name, std::string_view unit,
                        std::string_view meaning, Formula formula) {
  MetricRow row;
  row.name = name;
  row.unit = unit;
  row.meaning = meaning;
  row.kind = kind;
  row.formula = formula;
  return row;
}

constexpr MetricRow of_sum(MetricKind kind, std::string_view name, std::string_view unit,
                           std::string_view meaning, Sum sum) {
  MetricRow row = own(kind, name, unit, meaning, nullptr);
  row.sum = sum;
  return row;
}

constexpr MetricRow count(std::string_view name, std::string_view unit, std::string_view meaning,
                          Sum sum) {
  return of_sum(MetricKind::kCount, name, unit, meaning, sum);
}

constexpr MetricRow ratio(std::string_view name, std::string_view meaning, Sum above, Sum below,
                          std::string_view unit = "1") {
  MetricRow row = of_sum(MetricKind::kRatio, name, unit, meaning, above);
  row.per = below;
  return row;
}

/// A mean of durations: their sum in seconds, divided by `below`.
constexpr MetricRow mean(std::string_view name, std::string_view meaning, Sum seconds, Sum below) {
  return ratio(name, meaning, seconds, below, "s");
}

constexpr MetricRow share(std::string_view name, std::string_view meaning, Sum part, Sum whole) {
  MetricRow row = ratio(name, meaning, part, whole);
  row.kind = MetricKind::kShare;
  return row.within(MetricRange::kShare).in_percent();
}

/// Events of client groups per second of the window.
template <auto Member>
constexpr MetricRow rate(std::string_view name, std::string_view meaning) {
  return of_sum(MetricKind::kRate, name, "1/s", meaning, formula::in_window<Member>)
      .bins(formula::in_bin<Member>);
}

constexpr MetricRow service_rate(std::string_view name, std::string_view meaning, Sum events) {
  return of_sum(MetricKind::kRate, name, "1/s", meaning, events).of(MetricScope::kServices);
}

/// A time average over the window, from the integral in nanoseconds.
template <auto Member>
constexpr MetricRow level(std::string_view name, std::string_view unit, std::string_view meaning) {
  return of_sum(MetricKind::kLevel, name, unit, meaning, formula::in_window<Member>)
      .bins(formula::in_bin<Member>);
}

template <auto Member>
constexpr MetricRow service_level(std::string_view name, std::string_view unit,
                                  std::string_view meaning) {
  return of_sum(MetricKind::kLevel, name, unit, meaning, formula::at_services<Member>)
      .of(MetricScope::kServices)
      .service_bins(formula::at_service<Member>);
}

/// Server time, in nanoseconds, per available server time (ServiceResult::capacity_ns). Unlimited
/// services have no such share.
constexpr MetricRow capacity(std::string_view name, std::string_view meaning, Sum server_ns) {
  return of_sum(MetricKind::kCapacity, name, "1", meaning, server_ns)
      .of(MetricScope::kServices)
      .only_if(formula::all_limited);
}

/// An event that happens or not: 0 or 1 in each replication.
constexpr MetricRow probability(std::string_view name, std::string_view meaning, Formula formula) {
  return own(MetricKind::kProbability, name, "1", meaning, formula)
      .within(MetricRange::kShare)
      .summarized_as(MetricSummary::kProportion);
}

/// Text as a template parameter, from which names are composed at compile time.
template <std::size_t n>
struct Literal {
  char text[n]{};
  consteval Literal(const char (&from)[n]) { std::copy_n(from, n, text); }
  constexpr std::string_view view() const { return {text, n - 1}; }
};

/// The concatenation of two literals, with static storage.
template <Literal a, Literal b>
inline constexpr auto kJoined = [] {
  std::array<char, a.view().size() + b.view().size()> chars{};
  std::copy(b.view().begin(), b.view().end(),
            std::copy(a.view().begin(), a.view().end(), chars.begin()));
  return chars;
}();
template <Literal a, Literal b>
inline constexpr std::string_view joined{kJoined<a, b>.data(), kJoined<a, b>.size()};

template <Literal stem, Literal meaning, auto Moments>
constexpr MetricRow duration_mean() {
  return mean(joined<stem, "_mean">, joined<meaning, ": mean">, formula::total_s<Moments>,
              formula::number<Moments>);
}

template <Literal stem, Literal meaning, auto Moments>
constexpr MetricRow duration_deviation() {
  return own(MetricKind::kDeviation, joined<stem, "_sd">, "s",
             joined<meaning, ": standard deviation">, formula::deviation_s<Moments>);
}

/// All metrics of one kind of durations.
struct DurationRows {
  MetricRow mean, sd, p50, p90, p99, p999;

  /// Gives the mean a meaning of its own.
  constexpr DurationRows mean_means(std::string_view meaning) const {
    DurationRows d = *this;
    d.mean.meaning = meaning;
    return d;
  }
  constexpr DurationRows mean_bins(double (*above)(const ClientBin&),
                                   double (*below)(const ClientBin&)) const {
    DurationRows d = *this;
    d.mean = d.mean.bins(above, below);
    return d;
  }
  /// Gives the metrics values in each phase, too, from a member of PhaseResult.
  template <auto Latency>
  constexpr DurationRows in_phases() const {
    DurationRows d = *this;
    d.mean = d.mean.in_phases(formula::phase_seconds<Latency>, formula::phase_number<Latency>);
    d.p50 = d.p50.in_phases(formula::phase_quantile_s<Latency, 0>);
    d.p90 = d.p90.in_phases(formula::phase_quantile_s<Latency, 1>);
    d.p99 = d.p99.in_phases(formula::phase_quantile_s<Latency, 2>);
    d.p999 = d.p999.in_phases(formula::phase_quantile_s<Latency, 3>);
    return d;
  }
  constexpr DurationRows shown(MetricRow DurationRows::*which, Display how) const {
    DurationRows d = *this;
    d.*which = (d.*which).shown(how);
    return d;
  }
  constexpr std::array<MetricInfo, 6> rows() const { return {mean, sd, p50, p90, p99, p999}; }
};

/// Rows STEM_mean, STEM_sd, STEM_p50 and so on of the durations in these members of ClientResult.
template <Literal stem, Literal meaning, auto Moments, auto Quantiles>
constexpr DurationRows durations() {
  using enum MetricKind;
  return {duration_mean<stem, meaning, Moments>(),
          duration_deviation<stem, meaning, Moments>(),
          own(kQuantile, joined<stem, "_p50">, "s", joined<meaning, ": median">,
              formula::quantile_s<Quantiles, 500>),
          own(kQuantile, joined<stem, "_p90">, "s", joined<meaning, ": 90 % quantile">,
              formula::quantile_s<Quantiles, 900>),
          own(kQuantile, joined<stem, "_p99">, "s", joined<meaning, ": 99 % quantile">,
              formula::quantile_s<Quantiles, 990>),
          own(kQuantile, joined<stem, "_p999">, "s", joined<meaning, ": 99.9 % quantile">,
              formula::quantile_s<Quantiles, 999>)};
}

/// Joins several arrays into one.
template <std::size_t... n>
constexpr auto all_of(const std::array<MetricInfo, n>&... parts) {
  std::array<MetricInfo, (n + ...)> all{};
  auto end = all.begin();
  ((end = std::copy(parts.begin(), parts.end(), end)), ...);
  return all;
}

}  // namespace retrysim::stats
