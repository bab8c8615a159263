// Is the fit any good? A scenario that is fitted to the first half of a log is simulated, and what
// its servers log is compared with the second half, which the fit has never seen.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/fit.hpp"
#include "fit/log.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::fit {

/// The figures that are compared. Durations are of answers without error. Clients that gave up do
/// not count as errors: a simulated server does not know of them.
enum class BacktestFigure : std::uint8_t { kRate, kP50, kP90, kP99, kErrorShare };
inline constexpr std::size_t kBacktestFigures = 5;

/// What a figure is called in files, and in words.
struct BacktestFigureNames {
  std::string_view in_files, in_words;
};
inline constexpr std::array<BacktestFigureNames, kBacktestFigures> kBacktestFigureNames = {
    {{"rate", "rate"},
     {"p50", "median"},
     {"p90", "90 % quantile"},
     {"p99", "99 % quantile"},
     {"error_share", "share of errors"}}};
constexpr const BacktestFigureNames& names_of(BacktestFigure figure) {
  return kBacktestFigureNames[static_cast<std::size_t>(figure)];
}

/// A figure is met if the simulated one it differs by at most this share of the log's ...
inline constexpr double kMetWithin = 0.1;
/// ... and a share of errors also if it differs by at most this.
inline constexpr double kErrorsMetWithin = 0.001;

enum class Agreement : std::uint8_t {
  kMet,
  kByChance,  ///< not met, but the log lies between the least and the largest of the runs
  kOff,
};

struct ComparedFigure {
  double logged = 0;
  double simulated = 0;      ///< mean of the runs
  double low = 0, high = 0;  ///< least and largest of the runs
  Agreement agreement = Agreement::kMet;

  /// By how much the simulation is above the log, as a share of the log's figure; empty if that is
  /// 0.
  std::optional<double> off() const;
};

/// A stretch of the second half. A figure is missing if the log or a run has no answers for it.
struct BacktestStretch {
  double begin_s = 0, end_s = 0;  ///< s since the first request of the log
  std::array<std::optional<ComparedFigure>, kBacktestFigures> figures;

  const std::optional<ComparedFigure>& operator[](BacktestFigure f) const {
    return figures[static_cast<std::size_t>(f)];
  }
};

struct Backtest {
  std::size_t fitted_lines = 0, compared_lines = 0;
  std::size_t runs = 0;
  /// The simulated requests come when those of the log did, because no process with a constant rate
  /// describes the first half: the rate is given, not predicted.
  bool times_repeated = false;
  /// The log tells the number of servers; otherwise the capacity is unknown.
  bool servers_known = false;
  /// A number of servers explains the durations of the log. Otherwise a scenario that meets them
  /// does not say why they are so long, which any question about it depends on.
  bool explained = true;
  /// Incidents of the whole log. No fit of one half can know those of the other, so all of them are
  /// played as faults, with the bound of the queue and the retries of the whole log if the first
  /// half does not show these.
  std::size_t faults = 0;
  BacktestStretch all;                ///< the whole second half
  std::vector<BacktestStretch> bins;  ///< stretches of equal length
  /// Sentences about what the scenario is good enough for.
  std::vector<std::string> verdict;

  /// A sentence why the service time fitted to the whole log must be wrong; empty if it need not
  /// be: the simulated median is more than half above that of the log, or a third below it, and not
  /// by chance, although hardly a request waits. Where many wait, a little more load makes such
  /// differences.
  std::optional<std::string> refusal(const Fit& whole) const;
};

/// The simulations that a backtest needs.
class BacktestPlan {
 public:
  /// Fits the first half; `whole` is the fit of the whole log. Empty if there is too little to fit
  /// or to compare: `why_not` then says so in a sentence.
  static std::optional<BacktestPlan> of(const Log& log, const Fit& whole, std::string& why_not);

  /// scenario.toml and its CSV files, as `scenario_files` gives them. Time 0 of the simulation is a
  /// little before the second half, so that its servers are as busy as those of the log.
  std::vector<std::pair<std::string, std::string>> files() const;
  std::size_t runs() const { return runs_; }

  /// The answers of one run, with times of the simulation, in any order.
  void add_run(std::vector<Observation> answers);
  /// The comparison; to be called after `runs()` runs have been added.
  Backtest result() const;

 private:
  using Figures = std::array<std::optional<double>, kBacktestFigures>;

  BacktestPlan() = default;
  void take_incidents(const Fit& whole);
  std::vector<Figures> figures_of(std::span<const Observation> sorted) const;
  BacktestStretch compare(std::size_t stretch) const;

  Fit fit_;  // fit of the first half, with the arrivals that are simulated
  std::int64_t origin_ns_ = 0, simulated_from_ns_ = 0, from_ns_ = 0, to_ns_ = 0;
  std::int64_t cut_to_ns_ = 1;  // durations of the log are cut off to multiples of this
  std::size_t bins_ = 1, runs_ = 1;
  Backtest result_;
  std::vector<Figures> logged_;                  // figures of each bin, then of the whole half
  std::vector<std::vector<Figures>> simulated_;  // figures of each run
};

}  // namespace retrysim::fit
