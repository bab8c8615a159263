// SPDX-License-Identifier: MIT
#include "fit/laws.hpp"

#include "fit/coarse.hpp"
#include "fit/service_time.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace retrysim::fit {
namespace {

std::string mend(const Log& log) {
  return fmt::format("Their unit ({}) or their column ({} duration=NAME) may be another.",
                     log.part("duration_unit"), log.part("columns"));
}

double seconds(double ns) { return ns * 1e-9; }

/// The share of lines that come later in the file than others which were written after them.
double late_share(std::span<const Observation> rows, double factor, double step_ns) {
  std::size_t late = 0;
  double latest = -1e300;
  for (const Observation& row : rows) {
    const double written = static_cast<double>(row.start_ns - rows.front().start_ns) +
                           factor * static_cast<double>(row.duration_ns);
    if (written + step_ns < latest) ++late;
    latest = std::max(latest, written);
  }
  return static_cast<double>(late) / static_cast<double>(rows.size());
}

/// Whether lines that were written one after the other are alike, and those that began one after
/// the other are not. Requests that begin together have similar durations because they meet the
/// same queue or service; durations that are too long hide that.
bool alike_by_ends_only(const Log& log) {
  constexpr std::size_t kMaxLines = 20'000;
  constexpr double kSurelyAlike = 8, kHalf = 0.5;
  const std::size_t count = std::min(log.rows.size(), kMaxLines);
  const std::size_t skipped = (log.rows.size() - count) / 2;
  std::vector<std::pair<std::int64_t, double>> ends;
  std::vector<double> by_start, by_end;
  for (const Observation& row : std::span(log.rows).subspan(skipped, count)) {
    if (!row.has_duration) continue;
    by_start.push_back(seconds(static_cast<double>(row.duration_ns)));
    ends.emplace_back(row.end_ns(), by_start.back());
  }
  std::ranges::stable_sort(ends, {}, &std::pair<std::int64_t, double>::first);
  for (const auto& [end_ns, duration_s] : ends) by_end.push_back(duration_s);
  const double ended = likeness_of_neighbours(by_end), began = likeness_of_neighbours(by_start);
  const double chance = std::sqrt(5.0 / static_cast<double>(by_end.size()));
  return ended > kSurelyAlike * chance && began < kHalf * ended;
}

}  // namespace

double factor_by_order(std::span<const Observation> rows, std::int64_t resolution_ns,
                       bool times_are_starts) {
  constexpr std::size_t kFewest = 100;
  // Share of late lines now, and the part of it that may be left.
  constexpr double kMany = 0.05, kHardlyAny = 0.1;
  if (!times_are_starts || rows.size() < kFewest) return 1;
  // The lines were sorted.
  if (std::ranges::is_sorted(rows, {}, &Observation::start_ns)) return 1;
  // Tolerance: a step of the clock plus a step of durations in milliseconds.
  const double step_ns = static_cast<double>(resolution_ns) + 1e6;
  const double now = late_share(rows, 1, step_ns);
  if (now < kMany) return 1;
  for (const double factor : {1e-3, 1e3, 1e-6, 1e6}) {
    if (late_share(rows, factor, step_ns) < kHardlyAny * now) return factor;
  }
  return 1;
}

std::optional<std::string> broken_law(const Log& log) {
  constexpr std::size_t kFewest = 20;
  std::size_t count = 0, zeros = 0;
  double sum = 0, longest = 0;
  double first = 1e300, last = -1e300;
  for (const Observation& row : log.rows) {
    const auto time = static_cast<double>(log.times_are_starts ? row.start_ns : row.end_ns());
    first = std::min(first, time);
    last = std::max(last, time);
    if (!row.has_duration) continue;
    const auto took = static_cast<double>(row.duration_ns);
    ++count;
    zeros += row.duration_ns == 0 ? 1 : 0;
    sum += took;
    longest = std::max(longest, took);
  }
  if (count < kFewest) return std::nullopt;
  if (sum == 0) {
    return fmt::format(
        "All durations are 0: what is taken for them says nothing. A column or a field that says "
        "how long a request took would ({} duration=NAME).",
        log.part("columns"));
  }
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  if (log.order_factor != 1) {
    return fmt::format(
        "The order of the lines does not go with their durations: a line is written when its "
        "request ends, and these are so only if durations are {} times what was read (their mean "
        "would be {}). Give their unit with {}.",
        log.order_factor, time_words(seconds(mean * log.order_factor)), log.part("duration_unit"));
  }
  constexpr double kShortest = 1e3;
  if (mean < kShortest) {
    return fmt::format("Durations of {} on average are shorter than any answer over a network. {}",
                       time_words(seconds(mean)), mend(log));
  }
  constexpr double kManyZeros = 0.5, kSecond = 1e9;
  const auto whole = [&](const Observation& row) {
    return row.duration_ns % static_cast<std::int64_t>(kSecond) == 0;
  };
  if (static_cast<double>(zeros) > kManyZeros * n && std::ranges::all_of(log.rows, whole)) {
    return "More than half of the durations are 0, and the others whole seconds: they are too "
           "coarse to tell a service time. A finer field would (for Apache %D, for nginx "
           "$request_time).";
  }
  const double span = last - first + static_cast<double>(log.time_resolution_ns);
  constexpr double kFew = 0.01;
  std::size_t longer = 0;
  double beyond = 0;  // the end of the log that is farther away than a request lasts
  for (const Observation& row : log.rows) {
    if (!row.has_duration) continue;
    const auto took = static_cast<double>(row.duration_ns);
    longer += took > span ? 1 : 0;
    const auto begin = static_cast<double>(row.start_ns), end = static_cast<double>(row.end_ns());
    beyond += std::max(0.0, std::min(end, last) - std::max(begin, first));
  }
  if (static_cast<double>(longer) > kFew * n) {
    return fmt::format(
        "{} of {} requests would have taken longer than the whole log, {}: the longest {}. {}",
        scenario::grouped(longer), scenario::grouped(count), time_words(seconds(span)),
        time_words(seconds(longest)), mend(log));
  }
  constexpr double kOff = 0.2;
  const double by_rate = n / span * mean, counted = beyond / span;
  if (counted < (1 - kOff) * by_rate) {
    return fmt::format(
        "Little's law does not hold: {} requests a second that take {} on average would be "
        "{} under way, but while the log lasts there are {}. {} Otherwise the log is too "
        "short for such long requests.",
        scenario::said_number(n / seconds(span)), time_words(seconds(mean)),
        scenario::said_number(by_rate), scenario::said_number(counted), mend(log));
  }
  if (!log.times_are_starts && !log.is_coarse && alike_by_ends_only(log)) {
    return fmt::format(
        "The order of the lines does not go with their durations, {} on average: requests that "
        "ended together took alike, and those that would have begun together did not. {}",
        time_words(seconds(mean)), mend(log));
  }
  return std::nullopt;
}

}  // namespace retrysim::fit
