// Detecting retry storms in the bins of one replication.
//
// SPDX-License-Identifier: MIT
#include "measure/analyse/storms.hpp"

#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"
#include "retry/backoff.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retrysim::stats {
namespace {

constexpr std::size_t kOnsetBins = 3;  // bins in a row that stand out
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double start_of_bin(const RunResult& run, std::size_t bin) {
  return static_cast<double>(run.interval.count() * static_cast<std::int64_t>(bin)) / 1e9;
}

/// Rates of attempts and requests over the trailing window, per bin.
struct RollingRates {
  std::vector<double> attempt_rate, request_rate, amplification;

  RollingRates(const RunResult& run, std::span<const ClientBin> bins, std::size_t window) {
    std::uint64_t attempts = 0;
    std::uint64_t requests = 0;
    for (std::size_t i = 0; i < bins.size(); ++i) {
      attempts += bins[i].flow.arrivals;
      requests += bins[i].flow.requests;
      if (i >= window) {
        attempts -= bins[i - window].flow.arrivals;
        requests -= bins[i - window].flow.requests;
      }
      const double length =
          static_cast<double>(std::min(i + 1, window)) * run.interval.in_seconds();
      attempt_rate.push_back(static_cast<double>(attempts) / length);
      request_rate.push_back(static_cast<double>(requests) / length);
      // Attempts without any new request are all retries: infinite amplification.
      amplification.push_back(requests > 0
                                  ? static_cast<double>(attempts) / static_cast<double>(requests)
                              : attempts > 0 ? kInfinity
                                             : 0.0);
    }
  }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Median absolute deviation from `centre`.
double deviation(std::vector<double> values, double centre) {
  for (double& v : values) v = std::fabs(v - centre);
  return median(std::move(values));
}

struct Baseline {
  double amplification = 1, attempt_rate = 0;
  double margin = 0.25;  ///< least rise of amplification at the start of a storm
  double rate_margin = 0;
  std::size_t search_from = 0;  ///< first bin whose rolling values are trusted
};

Baseline find_baseline(const RunResult& run, const RollingRates& rates, BinRange range,
                       std::size_t window, const std::vector<Trigger>& all) {
  // Before bin `window - 1` the trailing window is still filling up.
  std::size_t from = std::max(range.first, window - 1);
  std::size_t to = std::min(from + 20 * window, range.last);
  if (!all.empty()) {
    to = std::min(static_cast<std::size_t>(all.front().start.count() / run.interval.count()),
                  range.last);
    if (to > 20 * window) from = std::max(from, to - 20 * window);
    if (from >= to) from = range.first;  // too little time before the trigger: take what there is
  }
  std::vector<double> amplification;
  std::vector<double> attempt_rate;
  for (std::size_t i = from; i < to; ++i) {
    attempt_rate.push_back(rates.attempt_rate[i]);
    if (std::isfinite(rates.amplification[i]) && rates.request_rate[i] > 0) {
      amplification.push_back(rates.amplification[i]);
    }
  }
  Baseline base;
  base.search_from = std::min(from, range.last);
  if (amplification.empty()) return base;  // no bin with requests: one attempt per request
  base.amplification = median(amplification);
  base.attempt_rate = median(attempt_rate);
  base.margin = std::max(0.25, 5 * deviation(amplification, base.amplification));
  base.rate_margin = 5 * deviation(attempt_rate, base.attempt_rate);
  return base;
}

class Detector {
 public:
  Detector(const Scenario& scenario, const RunResult& run)
      : scenario_(scenario),
        run_(run),
        bins_(run.all_bins),
        window_(amplification_window(scenario, std::nullopt)),
        range_(window_bins(run, bins_)),
        rates_(run, bins_, window_),
        triggers_(triggers(scenario)),
        base_(find_baseline(run, rates_, range_, window_, triggers_)) {}

  std::vector<Storm> detect() const {
    std::vector<Storm> storms;
    std::size_t from = base_.search_from;
    while (const std::optional<std::size_t> onset = find_onset(from)) {
      const End end = find_end(*onset);
      storms.push_back(describe(*onset, end));
      if (!end.bin) break;
      from = *end.bin;
    }
    return storms;
  }

 private:
  struct End {
    std::optional<std::size_t> bin;
    bool confirmed = false;  // the calm is as long as the definition requires
  };

  /// Whether bin `i` stands out; not if no request was new in its whole window.
  bool stands_out(std::size_t i) const {
    return std::isfinite(rates_.amplification[i]) &&
           rates_.amplification[i] >= base_.amplification + base_.margin &&
           rates_.attempt_rate[i] >= base_.attempt_rate + base_.rate_margin;
  }

  std::optional<std::size_t> find_onset(std::size_t from) const {
    std::size_t in_a_row = 0;
    for (std::size_t i = from; i < range_.last; ++i) {
      in_a_row = stands_out(i) ? in_a_row + 1 : 0;
      if (in_a_row == kOnsetBins) return i + 1 - kOnsetBins;
    }
    return std::nullopt;
  }

  End find_end(std::size_t onset) const {
    const double calm_s =
        std::max(10 * static_cast<double>(window_) * run_.interval.in_seconds(), 30.0);
    const auto calm_bins = static_cast<std::size_t>(std::ceil(calm_s / run_.interval.in_seconds()));
    std::size_t in_a_row = 0;
    for (std::size_t i = onset + 1; i < range_.last; ++i) {
      const bool calm = rates_.amplification[i] < base_.amplification + base_.margin / 2;
      in_a_row = calm ? in_a_row + 1 : 0;
      if (in_a_row == calm_bins) return {i + 1 - calm_bins, true};
    }
    // Calm that lasts to the end of the run counts if it has as many bins in a row as an onset
    // takes.
    if (in_a_row >= kOnsetBins) return {range_.last - in_a_row, false};
    return {};
  }

  Storm describe(std::size_t onset, End end) const {
    Storm storm;
    storm.onset_s = start_of_bin(run_, onset);
    if (end.bin) storm.end_s = start_of_bin(run_, *end.bin);
    for (std::size_t i = onset; i < end.bin.value_or(range_.last); ++i) {
      storm.peak_attempt_rate =
          std::max(storm.peak_attempt_rate,
                   static_cast<double>(bins_[i].flow.arrivals) / run_.interval.in_seconds());
      if (std::isfinite(rates_.amplification[i])) {
        storm.peak_amplification = std::max(storm.peak_amplification, rates_.amplification[i]);
      }
      if (base_.attempt_rate > 0) {
        storm.peak_load_ratio = std::max(storm.peak_load_ratio.value_or(0),
                                         rates_.attempt_rate[i] / base_.attempt_rate);
      }
      const double extra = rates_.attempt_rate[i] - base_.amplification * rates_.request_rate[i];
      if (extra > 0) storm.extra_attempts += extra * run_.interval.in_seconds();
    }
    judge(storm, onset, end);
    return storm;
  }

  void judge(Storm& storm, std::size_t onset, End end) const {
    const Time storm_end = end.bin
                               ? Time::zero() + run_.interval * static_cast<std::int64_t>(*end.bin)
                               : run_.window_end;
    const Time onset_time = Time::zero() + run_.interval * static_cast<std::int64_t>(onset);
    // Covers the disturbances that count, from the first start to the last end.
    std::optional<Trigger> trigger;
    Time horizon = run_.window_end;
    for (const Trigger& t : triggers_) {
      if (t.start >= storm_end) {
        horizon = std::min(horizon, t.start);
      } else if (!trigger) {
        trigger = t;
      } else {
        // A disturbance that was over before the storm has no part in it.
        const bool merged = t.start <= trigger->end || trigger->end > onset_time;
        trigger = merged ? Trigger{trigger->start, std::max(trigger->end, t.end)} : t;
      }
    }
    storm.window_s = static_cast<double>(window_) * run_.interval.in_seconds();
    const auto after = [&](const Trigger& t) { return aftermath_of(scenario_, run_, t, horizon); };
    if (trigger) {
      storm.aftermath = after(*trigger);
      storm.trigger_end_s = trigger->end.in_seconds();
      storm.recovery_s = storm.aftermath.recovery.seconds;
      storm.verdict = storm.aftermath.verdict();
      // A system that was well again before the onset had this storm from something else.
      const double well_until = *storm.trigger_end_s + scenario_.recovery.hold.in_seconds();
      const auto& relapse = storm.aftermath.recovery.relapse;
      const auto back_s = relapse ? std::optional(relapse->back_s) : storm.recovery_s;
      if (!back_s || *back_s + well_until > storm.onset_s) return;
      storm.trigger_end_s.reset();
      storm.recovery_s.reset();
    }
    storm.aftermath = after({onset_time, onset_time});
    const bool calm_too_short = end.bin && !end.confirmed;
    const double time_left = horizon.in_seconds() - storm.onset_s;
    if (end.confirmed) {
      storm.verdict = StormVerdict::kTransient;
    } else if (!calm_too_short && time_left > 0 && time_left >= storm.aftermath.patience_s) {
      storm.verdict = StormVerdict::kSustained;
    } else {
      storm.verdict = StormVerdict::kCensored;
    }
  }

  const Scenario& scenario_;
  const RunResult& run_;
  std::span<const ClientBin> bins_;
  std::size_t window_;
  BinRange range_;
  RollingRates rates_;
  std::vector<Trigger> triggers_;
  Baseline base_;
};

}  // namespace

std::optional<double> Storm::duration_s() const {
  if (!end_s) return std::nullopt;
  return *end_s - onset_s;
}

std::optional<double> Storm::predicted_drain_s() const {
  if (!trigger_end_s) return std::nullopt;
  return aftermath.predicted_drain_s;
}

std::optional<double> Storm::recovery_ratio() const {
  if (!recovery_s) return std::nullopt;
  return *recovery_s / std::max(aftermath.predicted_drain_s, window_s);
}

std::vector<Storm> detect_storms(const Scenario& scenario, const RunResult& run) {
  stop_point();
  if (run.interval <= Duration::zero() || run.all_bins.empty()) return {};
  return Detector(scenario, run).detect();
}

namespace {

/// Requests due from closed loops in a quarter of the range, even if their clients are stuck: at
/// least as many as ended in the best quarter.
double most_of_loops(const Course& course, BinRange range, std::size_t quarter) {
  double most = 0, here = 0;
  for (std::size_t i = range.first; i < range.last && !course.loops.empty(); ++i) {
    here += course.loops[i].ended;
    if (i >= range.first + quarter) here -= course.loops[i - quarter].ended;
    most = std::max(most, here);
  }
  constexpr double kSurely = 4.5;  // standard deviations, of the largest of many
  return std::max(most - kSurely * std::sqrt(most), 0.0);
}

}  // namespace

Fate fate_of(const Scenario& scenario, const RunResult& run) {
  if (const auto aftermath = final_aftermath(scenario, run)) {
    return {aftermath->verdict(), aftermath};
  }
  const BinRange range = count_bins(run, run.window_start, run.window_end);
  if (range.last <= range.first) return {};
  const Course course = course_of(scenario, run, std::nullopt);
  const std::size_t length = range.last - range.first;
  const std::size_t quarter = (length + 3) / 4;
  double requests = 0, successes = 0;
  for (std::size_t i = range.last - quarter; i < range.last; ++i) {
    requests += course.counts[i].requests;
    if (!course.loops.empty()) requests -= course.loops[i].requests;
    successes += course.counts[i].successes;
  }
  requests += most_of_loops(course, range, quarter);
  if (successes >= scenario.recovery.share * requests) return {};
  const Time middle =
      Time::zero() + run.count_width * static_cast<std::int64_t>(range.first + length / 2);
  Aftermath aftermath = aftermath_of(scenario, run, {middle, middle}, run.window_end);
  aftermath.before = Before();  // no time is known in which all was well
  aftermath.attempt_success_rate = 1;
  return {StormVerdict::kSustained, aftermath};
}

Duration amplification_span(const Scenario& scenario, std::optional<std::size_t> group) {
  Duration longest;
  for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
    if (group ? *group != c : scenario.clients[c].makes_calls()) continue;
    const ClientSpec& client = scenario.clients[c];
    Duration w = backoff::longest_delay(client.retry);
    if (client.timeouts.has_attempt) {
      w += Duration::from_seconds(client.timeouts.attempt.mean_seconds());
    }
    longest = std::max(longest, w);
  }
  return std::min(longest, Duration::nanoseconds(scenario.duration.count() / 10));
}

std::size_t amplification_window(const Scenario& scenario, std::optional<std::size_t> group) {
  const Duration longest = amplification_span(scenario, group);
  const std::int64_t interval = std::max<std::int64_t>(scenario.interval.count(), 1);
  return static_cast<std::size_t>(
      std::max<std::int64_t>((longest.count() + interval - 1) / interval, 10));
}

std::optional<double> peak_attempt_rate(const RunResult& run, std::span<const ClientBin> bins) {
  const BinRange range = window_bins(run, bins);
  if (range.first == range.last) return std::nullopt;
  std::uint64_t most = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    most = std::max(most, bins[i].flow.arrivals);
  }
  return static_cast<double>(most) / run.interval.in_seconds();
}

std::optional<double> peak_amplification(const RunResult& run, std::span<const ClientBin> bins,
                                         std::size_t window) {
  const BinRange range = window_bins(run, bins);
  const std::size_t n = std::min(window, range.last - range.first);
  if (n == 0) return std::nullopt;
  const RollingRates rates(run, bins.subspan(range.first, range.last - range.first), n);
  std::optional<double> largest;
  for (std::size_t i = n - 1; i < rates.amplification.size(); ++i) {
    if (!std::isfinite(rates.amplification[i]) || rates.request_rate[i] <= 0) continue;
    largest = std::max(largest.value_or(0), rates.amplification[i]);
  }
  return largest;
}

}  // namespace retrysim::stats
