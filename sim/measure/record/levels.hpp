// Time in one replication: the window and the bins that every recorder of a run shares, and levels
// (busy servers, waiting attempts) with their integrals.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::stats {

/// The width of count bins: the smallest of 1, 2 and 5 times a power of ten, in nanoseconds, with
/// at most 10,000 bins in the run. Times in a scenario tend to be multiples of it.
inline Duration count_width(Duration run) {
  constexpr std::int64_t kMaxCountBins = 10'000;
  std::int64_t power = 1;
  for (;; power *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      const std::int64_t width = digit * power;
      if ((run.count() - 1) / width < kMaxCountBins) return Duration::nanoseconds(width);
    }
  }
}

/// The longest latency of a good request for each SLO, ns; empty if no SLO limits the latency.
inline std::vector<std::uint64_t> slow_limits_ns(const Scenario& scenario) {
  std::vector<std::uint64_t> limits;
  const bool some = std::ranges::any_of(
      scenario.slos, [](const SloSpec& slo) { return slo.latency != Duration::max(); });
  if (!some) return limits;
  for (const SloSpec& slo : scenario.slos) {
    limits.push_back(static_cast<std::uint64_t>(slo.latency.count()));
  }
  return limits;
}

/// The number of count bins of a run.
inline std::size_t count_bins(Duration run) {
  const std::int64_t width = count_width(run).count();
  return static_cast<std::size_t>(std::max<std::int64_t>((run.count() - 1) / width + 1, 1));
}

/// Where the window and the bins of a run begin and end.
struct RunSpan {
  explicit RunSpan(const Scenario& scenario)
      : window_start(Time::zero() + scenario.warmup),
        window_end(Time::zero() + scenario.duration),
        interval(scenario.interval),
        count_width(stats::count_width(scenario.duration)),
        count_bins(stats::count_bins(scenario.duration)),
        slow_above_ns(slow_limits_ns(scenario)) {}

  bool in_window(Time t) const { return t >= window_start && t < window_end; }
  /// The part of [from, to) that lies inside the window, in nanoseconds.
  double inside_window_ns(Time from, Time to) const {
    if (window_start <= from && from <= to && to <= window_end)
      return static_cast<double>((to - from).count());
    const Time begin = std::max(from, window_start), end = std::min(to, window_end);
    return end > begin ? static_cast<double>((end - begin).count()) : 0;
  }
  /// The count bin of a time. Times after the end share one more bin, which is not part of the
  /// result.
  std::size_t count_bin_of(Time t) const {
    return std::min(static_cast<std::size_t>(t.count() / count_width.count()), count_bins);
  }

  Time window_start, window_end;
  Duration interval;     ///< bin width of the time series
  Duration count_width;  ///< see RunResult::count_width
  std::size_t count_bins;
  /// The longest latency of a good request for each SLO, ns; empty if no SLO limits the latency.
  std::vector<std::uint64_t> slow_above_ns;
};

/// A sum of nanoseconds in 128 bits, or of differences of them. Two words, since the compiler takes
/// a number of 128 bits through memory: seven instructions for each step instead of three.
class TimeSum {
 public:
  void add(std::uint64_t ns) {
    low_ += ns;
    high_ += low_ < ns;
  }
  void subtract(std::uint64_t ns) {
    high_ -= low_ < ns;
    low_ -= ns;
  }
  WideNanoseconds value() const {
    return static_cast<WideNanoseconds>(static_cast<SquareNanoseconds>(high_) << 64 | low_);
  }

 private:
  std::uint64_t low_ = 0, high_ = 0;
};

/// A level that rises and falls by one. 128 bits hold the integral over thirty years for any number
/// of requests, so that a change costs two additions, and nothing is done while nothing changes.
class Level {
 public:
  void rise(Time now) {
    ++level_;
    shift_.subtract(static_cast<std::uint64_t>(now.count()));
  }
  void fall(Time now) {
    --level_;
    shift_.add(static_cast<std::uint64_t>(now.count()));
  }
  std::int64_t now() const { return level_; }
  /// The integral from the start of the run to `t`, in nanoseconds.
  WideNanoseconds total(Time t) const {
    return WideNanoseconds{level_} * t.count() + shift_.value();
  }
  /// The integral since the last call, or since the start of the run, in nanoseconds.
  double fold(Time end) {
    const WideNanoseconds all = total(end);
    const WideNanoseconds area = all - before_;
    before_ = all;
    return static_cast<double>(area);
  }

 private:
  std::int64_t level_ = 0;
  TimeSum shift_;               // sum of the times of falls, minus those of rises
  WideNanoseconds before_ = 0;  // the integral up to the last fold
};

/// The levels of a service over time: noted as they change and integrated in blocks. Integrals are
/// doubles: sums in the order of the changes, rounded after each.
class StationLog {
 public:
  struct Levels {
    std::int64_t busy = 0;       ///< busy servers
    std::int64_t in_system = 0;  ///< attempts waiting and in service
  };
  /// Time integrals in nanoseconds: of the levels, of the square of `in_system`, and of the
  /// indicator that all servers are busy.
  struct Integrals {
    double busy = 0, in_system = 0, in_system_squared = 0, all_busy = 0;
  };

  /// Notes the levels from `since` on, which must not be earlier than the last noted time.
  void note(Time since, Levels levels) {
    ++last_;
    since_[last_] = since.count();
    busy_[last_] = levels.busy;
    in_system_[last_] = levels.in_system;
    if (last_ == kBlock) integrate();
  }
  Levels now() const { return {busy_[last_], in_system_[last_]}; }

  /// Sets the number of servers that counts as all busy, from the last noted levels on.
  void set_servers(std::int64_t servers) {
    integrate();
    servers_ = static_cast<double>(servers);
  }

  /// Returns the integrals up to `end`; the next segment begins there.
  Integrals fold(Time end);

 private:
  static constexpr std::size_t kBlock = 64;

  /// Integrates up to the levels noted last, which become the first of the next block.
  void integrate();
  /// Integrates two at a time, in any order; false if a sum is so large that the order matters.
  bool integrate_whole_numbers();
  void integrate_in_order();

  std::size_t last_ = 0;  // below kBlock
  double servers_ = 0;
  Integrals sums_;
  // Levels noted up to `last_`; one spare element lets loops take two at a time.
  alignas(16) std::array<std::int64_t, kBlock + 2> since_{};
  alignas(16) std::array<std::int64_t, kBlock + 2> busy_{}, in_system_{};
};

}  // namespace retrysim::stats
