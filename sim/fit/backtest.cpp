// SPDX-License-Identifier: MIT
#include "fit/backtest.hpp"

#include "kernel/sorting.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMinCompared = 100;  // lines in either half
constexpr std::size_t kLinesInBin = 1000;  // so that a bin has a 99 % quantile
constexpr std::size_t kMaxStretches = 20;  // most bins of a backtest
constexpr std::size_t kMaxRuns = 20;
constexpr std::size_t kSimulatedLines = 200'000;  // lines of all runs together

using Figures = std::array<std::optional<double>, kBacktestFigures>;

/// Sorts the values.
double duration_quantile(std::vector<std::int64_t>& values, double p) {
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<std::ptrdiff_t>(std::max(0.0, std::ceil(n * p) - 1));
  std::ranges::nth_element(values, values.begin() + rank);
  return static_cast<double>(values[static_cast<std::size_t>(rank)]) * 1e-9;
}

Figures figures_in(std::span<const Observation> rows, double length_s) {
  Figures figures;
  std::vector<std::int64_t> durations;
  durations.reserve(rows.size());
  std::size_t errors = 0, with_status = 0;
  // Of lines without a status beside others that have one, nothing says that they succeeded.
  const bool any_status = std::ranges::any_of(rows, &Observation::has_status);
  for (const Observation& row : rows) {
    const bool succeeded = !row.failed() && (row.has_status() || !any_status);
    if (succeeded && row.has_duration) durations.push_back(row.duration_ns);
    errors += row.failed() && !row.gave_up ? 1 : 0;
    with_status += row.has_status() ? 1 : 0;
  }
  const auto lines = static_cast<double>(rows.size());
  figures[static_cast<std::size_t>(BacktestFigure::kRate)] = lines / length_s;
  if (with_status > 0) {
    figures[static_cast<std::size_t>(BacktestFigure::kErrorShare)] =
        static_cast<double>(errors) / static_cast<double>(with_status);
  }
  if (!durations.empty()) {
    constexpr double kHalf = 0.5, kMost = 0.9, kNearlyAll = 0.99;
    figures[static_cast<std::size_t>(BacktestFigure::kP50)] = duration_quantile(durations, kHalf);
    figures[static_cast<std::size_t>(BacktestFigure::kP90)] = duration_quantile(durations, kMost);
    figures[static_cast<std::size_t>(BacktestFigure::kP99)] =
        duration_quantile(durations, kNearlyAll);
  }
  return figures;
}

Agreement agreement_of(BacktestFigure figure, const ComparedFigure& f) {
  const double difference = std::abs(f.simulated - f.logged);
  const bool close = difference <= kMetWithin * f.logged ||
                     (figure == BacktestFigure::kErrorShare && difference <= kErrorsMetWithin);
  if (close) return Agreement::kMet;
  return f.low <= f.logged && f.logged <= f.high ? Agreement::kByChance : Agreement::kOff;
}

std::string value_words(BacktestFigure figure, double value) {
  switch (figure) {
    case BacktestFigure::kRate:
      return fmt::format("{} per second", scenario::said_number(value, 4));
    case BacktestFigure::kErrorShare:
      return fmt::format("{} %", scenario::said_number(100 * value));
    default:
      return time_words(value);
  }
}

/// "the 99 % quantile is 120 ms, in the log 96 ms"
std::string difference_words(BacktestFigure figure, const ComparedFigure& f) {
  return fmt::format("the {} is {} in the simulation and {} in the log", names_of(figure).in_words,
                     value_words(figure, f.simulated), value_words(figure, f.logged));
}

std::vector<std::string> verdict_of(const Backtest& b) {
  std::vector<std::string> verdict;
  const auto off = [&](BacktestFigure figure) {
    return b.all[figure] && b.all[figure]->agreement == Agreement::kOff;
  };
  const bool typical = !off(BacktestFigure::kP50);
  const bool tail = !off(BacktestFigure::kP90) && !off(BacktestFigure::kP99);
  const bool load = off(BacktestFigure::kRate), errors = off(BacktestFigure::kErrorShare);
  const bool met_all = std::ranges::all_of(
      b.all.figures, [](const auto& f) { return !f || f->agreement == Agreement::kMet; });
  if (!b.all[BacktestFigure::kP50]) {
    verdict.emplace_back(
        "Nothing can be said about durations: in the second half, or in a simulation of it, "
        "nothing "
        "succeeds.");
  } else if (typical && !b.explained) {
    verdict.push_back(fmt::format(
        "Not good enough for questions about timeouts, retries or capacity: the {} of the half "
        "that "
        "was not fitted {} met, but no number of servers explains the durations, so nothing says "
        "what they would be with other requests.",
        tail ? "durations" : "median", tail ? "are" : "is"));
  } else if (met_all) {
    verdict.push_back(
        fmt::format("Good enough for questions about {}: the half that was not fitted is met.",
                    b.servers_known ? "timeouts, retries and capacity"
                                    : "timeouts and retries, not about capacity"));
  } else if (typical && tail && !load && !errors) {
    verdict.emplace_back(
        "No fault is found, but a longer log would tell more: what is not met differs no more than "
        "one run of the simulation does from another.");
  } else if (typical && tail) {
    verdict.push_back(fmt::format(
        "Good enough for questions about durations, not about {}: median, 90 % and 99 % quantile "
        "of the half that was not fitted are met.",
        load && errors ? "load and errors"
        : load         ? "load"
                       : "errors"));
  } else if (typical) {
    verdict.push_back(fmt::format(
        "Good enough for questions about {}typical durations, not about timeouts and hedges: the "
        "median of the half that was not fitted is met, the slowest requests are not.",
        b.servers_known ? "capacity and " : ""));
  } else {
    verdict.emplace_back(
        "Not good enough for questions about durations: the median of the half that was not fitted "
        "is not met.");
  }
  std::string chance;
  for (std::size_t i = 0; i < kBacktestFigures; ++i) {
    const auto figure = static_cast<BacktestFigure>(i);
    const std::optional<ComparedFigure>& f = b.all[figure];
    if (!f || (figure == BacktestFigure::kRate && b.times_repeated)) continue;
    if (f->agreement == Agreement::kOff) {
      std::string words = difference_words(figure, *f) + ".";
      words.front() = 'T';
      verdict.push_back(std::move(words));
    } else if (f->agreement == Agreement::kByChance) {
      chance += chance.empty() ? "" : "; ";
      chance += difference_words(figure, *f);
    }
  }
  if (!chance.empty()) {
    verdict.push_back(
        fmt::format("Not met, but within what the runs differ by chance: {}.", chance));
  }
  std::size_t met = 0;
  for (const BacktestStretch& bin : b.bins) {
    met += std::ranges::all_of(bin.figures,
                               [](const auto& f) { return !f || f->agreement != Agreement::kOff; });
  }
  if (b.bins.size() > 1) {
    verdict.push_back(
        fmt::format("All figures are met in {} of {} equal stretches.", met, b.bins.size()));
  }
  return verdict;
}

}  // namespace

std::optional<std::string> Backtest::refusal(const Fit& whole) const {
  constexpr double kMuchMore = 1.5, kMostlyService = 0.8;
  if (!whole.service_time || !whole.capacity) return std::nullopt;
  double requests = 0, taken_s = 0;
  for (const DurationAtLoad& d : whole.capacity->durations) {
    requests += static_cast<double>(d.requests);
    taken_s += static_cast<double>(d.requests) * d.mean_s;
  }
  if (whole.service_time->mean.value * requests < kMostlyService * taken_s) return std::nullopt;
  const std::optional<ComparedFigure>& median = all[BacktestFigure::kP50];
  if (!median || median->agreement != Agreement::kOff || median->logged <= 0) return std::nullopt;
  const double factor = median->simulated / median->logged;
  if (factor < kMuchMore && factor > 1 / kMuchMore) return std::nullopt;
  return fmt::format(
      "The service time is refused, since the backtest contradicts it: {}. A stretch of the log in "
      "which the service is the same all the time may tell it.",
      difference_words(BacktestFigure::kP50, *median));
}

std::optional<double> ComparedFigure::off() const {
  if (logged == 0) return std::nullopt;
  return simulated / logged - 1;
}

std::optional<BacktestPlan> BacktestPlan::of(const Log& log, const Fit& whole,
                                             std::string& why_not) {
  const auto untested = [&](std::string_view why) {
    why_not = fmt::format("The scenario was not tested against the log: {}.", why);
    return std::nullopt;
  };
  if (!log.has_durations) return untested("the log has no durations");
  BacktestPlan plan;
  plan.origin_ns_ = log.rows.front().start_ns;
  plan.to_ns_ = log.rows.back().start_ns;
  plan.from_ns_ = plan.origin_ns_ + (plan.to_ns_ - plan.origin_ns_) / 2;
  const auto middle = std::ranges::lower_bound(log.rows, plan.from_ns_, {}, &Observation::start_ns);
  const auto first = static_cast<std::size_t>(middle - log.rows.begin());
  const std::size_t second = log.rows.size() - first;
  if (first < kMinCompared || second < kMinCompared) {
    return untested(
        fmt::format("the first half of its time has {} lines and the second {}, and {} "
                    "are needed in each",
                    scenario::grouped(first), scenario::grouped(second), kMinCompared));
  }
  try {
    plan.fit_ = fit_log(log.with({log.rows.begin(), middle}), &whole.incidents);
  } catch (const BadLog&) {  // there are enough lines
    return untested("all requests of its first half arrive at once");
  }
  if (!plan.fit_.service_time) {
    return untested("the service time cannot be told from its first half");
  }
  if (!whole.service_time) return untested("its service time is not known");

  if (whole.service_time->rounding == HowRounded::kCut) {
    plan.cut_to_ns_ = std::max<std::int64_t>(1, std::llround(whole.service_time->step_s * 1e9));
  }
  plan.bins_ = std::clamp<std::size_t>(second / kLinesInBin, 1, kMaxStretches);
  plan.runs_ = std::clamp<std::size_t>(kSimulatedLines / second, 1, kMaxRuns);
  // The simulation begins one bin earlier, so that the servers are busy when the second half
  // begins.
  plan.simulated_from_ns_ =
      std::max(plan.origin_ns_, plan.from_ns_ - (plan.to_ns_ - plan.from_ns_) /
                                                    static_cast<std::int64_t>(plan.bins_));
  plan.take_incidents(whole);
  plan.result_.fitted_lines = first;
  plan.result_.compared_lines = second;
  plan.result_.runs = plan.runs_;
  plan.result_.servers_known = whole.capacity && whole.capacity->servers;
  plan.result_.explained = whole.is_explained();
  plan.result_.times_repeated = plan.fit_.arrivals.kind != ArrivalKind::kPoisson;
  FittedArrivals& arrivals = plan.fit_.arrivals;
  arrivals.span_s = static_cast<double>(plan.to_ns_ - plan.simulated_from_ns_) * 1e-9;
  if (plan.result_.times_repeated) {
    arrivals.kind = ArrivalKind::kOther;
    plan.fit_.arrival_times_s.clear();
    for (const std::int64_t t : request_times(log)) {
      if (t < plan.simulated_from_ns_) continue;
      plan.fit_.arrival_times_s.push_back(static_cast<double>(t - plan.simulated_from_ns_) * 1e-9);
    }
  }
  plan.logged_ = plan.figures_of(log.rows);
  return plan;
}

void BacktestPlan::take_incidents(const Fit& whole) {
  const std::vector<Incident>& incidents = whole.incidents.found;
  // The aftermath of an incident may last.
  if (!incidents.empty() && incidents.front().when.begin_ns < simulated_from_ns_) {
    simulated_from_ns_ = origin_ns_;
  }
  fit_.origin_ns = simulated_from_ns_;
  fit_.incidents.found = incidents;
  result_.faults = incidents.size();
  if (incidents.empty()) return;
  for (Incident& i : fit_.incidents.found) {
    if (!i.capacity) continue;
    const auto usual = static_cast<double>(fit_.capacity->played());
    i.capacity = std::min(1.0, static_cast<double>(i.servers_left) / usual);
  }
  if (!fit_.queue_capacity) fit_.queue_capacity = whole.queue_capacity;
  if (!fit_.retries || !fit_.retries->any()) fit_.retries = whole.retries;
}

std::vector<std::pair<std::string, std::string>> BacktestPlan::files() const {
  return scenario_files(fit_, "backtest", "For a backtest.");
}

std::vector<BacktestPlan::Figures> BacktestPlan::figures_of(
    std::span<const Observation> sorted) const {
  const auto from = [&](std::int64_t t) {
    return std::ranges::lower_bound(sorted, t, {}, &Observation::start_ns);
  };
  const std::int64_t length = to_ns_ - from_ns_;
  std::vector<Figures> all;
  auto begin = from(from_ns_);
  const auto first = begin;
  for (std::size_t i = 1; i <= bins_; ++i) {
    const auto end = i == bins_ ? from(to_ns_ + 1)
                                : from(from_ns_ + length / static_cast<std::int64_t>(bins_) *
                                                      static_cast<std::int64_t>(i));
    const double length_s = static_cast<double>(length) * 1e-9 / static_cast<double>(bins_);
    all.push_back(figures_in({begin, end}, length_s));
    begin = end;
  }
  all.push_back(figures_in({first, begin}, static_cast<double>(length) * 1e-9));
  return all;
}

void BacktestPlan::add_run(std::vector<Observation> answers) {
  for (Observation& a : answers) {
    a.start_ns += simulated_from_ns_;
    a.duration_ns = (a.duration_ns - a.duration_ns % cut_to_ns_) & Observation::kLongestNs;
  }
  kernel::sort(answers, {}, &Observation::start_ns);
  simulated_.push_back(figures_of(answers));
}

BacktestStretch BacktestPlan::compare(std::size_t stretch) const {
  BacktestStretch result;
  const double width_s = static_cast<double>(to_ns_ - from_ns_) * 1e-9 / static_cast<double>(bins_);
  const double half_s = static_cast<double>(from_ns_ - origin_ns_) * 1e-9;
  const bool all = stretch == bins_;
  result.begin_s = half_s + (all ? 0 : width_s * static_cast<double>(stretch));
  result.end_s = half_s + width_s * static_cast<double>(all ? bins_ : stretch + 1);
  for (std::size_t i = 0; i < kBacktestFigures; ++i) {
    if (!logged_[stretch][i]) continue;
    ComparedFigure f;
    f.logged = *logged_[stretch][i];
    f.low = std::numeric_limits<double>::infinity();
    bool known = !simulated_.empty();
    for (const std::vector<Figures>& run : simulated_) {
      if (!run[stretch][i]) {
        known = false;
        break;
      }
      const double value = *run[stretch][i];
      f.simulated += value / static_cast<double>(simulated_.size());
      f.low = std::min(f.low, value);
      f.high = std::max(f.high, value);
    }
    if (!known) continue;
    f.agreement = agreement_of(static_cast<BacktestFigure>(i), f);
    result.figures[i] = f;
  }
  return result;
}

Backtest BacktestPlan::result() const {
  Backtest result = result_;
  result.all = compare(bins_);
  for (std::size_t i = 0; i < bins_; ++i) result.bins.push_back(compare(i));
  result.verdict = verdict_of(result);
  return result;
}

}  // namespace retrysim::fit
