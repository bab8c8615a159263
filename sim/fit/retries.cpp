// SPDX-License-Identifier: MIT
#include "fit/retries.hpp"

#include "fit/service_time.hpp"
#include "kernel/boost_math.hpp"
#include "kernel/sorting.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::fit {
namespace {

/// A name or key, and the line that has it.
using Named = std::pair<std::uint64_t, std::uint32_t>;

/// Names with their lines, sorted by name, and by time for each name.
std::vector<Named> sorted_names(const Log& log, bool of_keys) {
  std::vector<Named> names;
  names.reserve(log.rows.size());
  for (std::size_t i = 0; i < log.rows.size(); ++i) {
    const std::uint64_t name = log.rows[i].request;
    if (name != 0 && Observation::is_key(name) == of_keys) {
      names.emplace_back(name, static_cast<std::uint32_t>(i));
    }
  }
  kernel::sort(names);
  return names;
}

std::size_t end_of_name(const std::vector<Named>& names, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < names.size() && names[end].first == names[begin].first) ++end;
  return end;
}

double median_delay(std::vector<double>& delays) { return delays.empty() ? 0 : median_of(delays); }

double pause_s(const Observation& before, const Observation& after) {
  return static_cast<double>(after.start_ns - before.end_ns()) * 1e-9;
}

FittedRetries by_names(const Log& log, std::vector<bool>& first) {
  FittedRetries found;
  const std::vector<Named> names = sorted_names(log, false);
  std::vector<double> delays;
  StopCounter<> requests;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    requests.count();
    end = end_of_name(names, begin);
    for (std::size_t i = begin + 1; i < end; ++i) {
      first[names[i].second] = false;
      delays.push_back(pause_s(log.rows[names[i - 1].second], log.rows[names[i].second]));
    }
    ++found.requests;
    found.attempts += end - begin;
    found.most_attempts = std::max(found.most_attempts, end - begin);
  }
  found.median_delay_s = median_delay(delays);
  return found;
}

// --- By client and path.

/// Lengths of windows, ns.
constexpr std::array<std::int64_t, 12> kWindows = {
    10'000'000,    20'000'000,    50'000'000,    100'000'000,    200'000'000,    500'000'000,
    1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000, 20'000'000'000, 50'000'000'000};

/// Which line of the same client and path follows another one, and how soon: the first that begins
/// once the other one has ended. Of a clock with longer steps than the shortest window only lines
/// that begin in later steps follow. Within a step an error that came at once would seem to have
/// ended before all other lines of the step, and a success, which took longer, after them.
class Following {
 public:
  explicit Following(const Log& log)
      : log_(log),
        step_ns_(log.time_resolution_ns > kWindows.front() ? log.time_resolution_ns : 0) {}

  /// The step of the clock, if it is too long to tell who followed within it; otherwise 0.
  std::int64_t step_ns() const { return step_ns_; }
  /// The first window that is not shorter than a step of the clock.
  std::size_t first_window() const {
    return static_cast<std::size_t>(std::ranges::lower_bound(kWindows, step_ns_) -
                                    kWindows.begin());
  }
  /// The line that follows line `i`, of those before `end`; otherwise `end`.
  std::size_t after(const std::vector<Named>& names, std::size_t i, std::size_t end) const {
    const auto at = [&](std::size_t n) { return names.begin() + static_cast<std::ptrdiff_t>(n); };
    const std::int64_t from_ns = earliest_ns(log_.rows[names[i].second]);
    const auto follows = std::ranges::lower_bound(
        at(i + 1), at(end), from_ns, {},
        [&](const Named& line) { return log_.rows[line.second].start_ns; });
    return static_cast<std::size_t>(follows - names.begin());
  }
  bool is_within(const Observation& row, const Observation& next, std::int64_t window_ns) const {
    const std::int64_t later = next.start_ns - earliest_ns(row);
    return step_ns_ > 0 ? later < window_ns : later <= window_ns;
  }

 private:
  /// When a line that follows may begin.
  std::int64_t earliest_ns(const Observation& row) const {
    const std::int64_t end_ns = row.end_ns();
    if (step_ns_ == 0) return end_ns;
    const std::int64_t into_step = (end_ns % step_ns_ + step_ns_) % step_ns_;
    return end_ns - into_step + step_ns_;
  }

  const Log& log_;
  std::int64_t step_ns_;
};

/// Lines that ended in one way: how many there are, and how many were followed within each window.
struct Followed {
  double lines = 0;
  std::array<double, kWindows.size()> within{};
  /// Lines of a key that end within one window mostly share the line that follows. Sums of the
  /// squares of how many do: as many as `lines` if each ends alone.
  std::array<double, kWindows.size()> together{};

  void add(const Followed& other) {
    lines += other.lines;
    for (std::size_t w = 0; w < within.size(); ++w) {
      within[w] += other.within[w];
      together[w] += other.together[w];
    }
  }
  /// By how much the variance of `within` exceeds that of independent lines.
  double excess_variance(std::size_t w) const { return lines > 0 ? together[w] / lines : 1; }
};

struct FollowedByEnd {
  Followed succeeded, failed;
};

/// The lines of one key and ending in the latest stretch as long as a window.
struct Bunch {
  std::int64_t stretch = -1;
  double lines = 0;
};

FollowedByEnd count_followed(const Log& log, const Following& following,
                             const std::vector<Named>& names, std::size_t begin, std::size_t end) {
  FollowedByEnd counts;
  std::array<Bunch, kWindows.size()> failed, succeeded;
  StopCounter<> lines;
  for (std::size_t i = begin; i < end; ++i) {
    lines.count();
    const Observation& row = log.rows[names[i].second];
    Followed& f = row.failed() ? counts.failed : counts.succeeded;
    f.lines += 1;
    const std::size_t next = following.after(names, i, end);
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
      Bunch& bunch = (row.failed() ? failed : succeeded)[w];
      const std::int64_t stretch = row.end_ns() / kWindows[w];
      if (stretch != bunch.stretch) bunch = {stretch, 0};
      f.together[w] += 2 * bunch.lines + 1;  // the square of one more, less that of these
      bunch.lines += 1;
      if (next < end && following.is_within(row, log.rows[names[next].second], kWindows[w])) {
        f.within[w] += 1;
      }
    }
  }
  return counts;
}

/// Expected number of failed attempts followed by chance, the variance of that estimate, and that
/// of the number itself.
struct ByChance {
  std::array<double, kWindows.size()> mean{}, variance_of_mean{}, variance{};
};

ByChance chance_of(const Log& log, const Following& following, const std::vector<Named>& names,
                   const Followed& succeeded) {
  // Weight, in lines, of the share over all keys in that of each key.
  constexpr double kShared = 10;
  ByChance chance;
  StopCounter<1024> keys;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    keys.count();
    const FollowedByEnd own = count_followed(log, following, names, begin, end);
    if (own.failed.lines == 0) continue;
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
      const double all = (succeeded.within[w] + 1) / (succeeded.lines + 1);
      const double lines = own.succeeded.lines + kShared;
      const double share = std::min(1.0, (own.succeeded.within[w] + kShared * all) / lines);
      const double one = share * (1 - share);
      chance.mean[w] += own.failed.lines * share;
      chance.variance_of_mean[w] +=
          own.failed.lines * own.failed.lines * one / lines * own.succeeded.excess_variance(w);
      chance.variance[w] += one * own.failed.together[w];
    }
  }
  return chance;
}

/// Finds the most attempts of a request: the last attempt number whose failures are followed, above
/// chance, at least half as often as those of first attempts.
class Chains {
 public:
  void failed(std::size_t attempt, bool was_followed) {
    if (attempt > kMost) return;
    failed_[attempt] += 1;
    followed_[attempt] += was_followed ? 1 : 0;
  }
  std::size_t most_attempts(double by_chance) const {
    constexpr double kFewest = 10;
    const double usual = failed_[1] == 0 ? 0 : followed_[1] / failed_[1];
    std::size_t most = 1;
    while (most <= kMost && failed_[most] >= kFewest &&
           followed_[most] / failed_[most] > (usual + by_chance) / 2) {
      ++most;
    }
    return most;
  }

 private:
  static constexpr std::size_t kMost = 20;
  std::array<double, kMost + 1> failed_{}, followed_{};
};

FittedRetries by_keys(const Log& log, std::vector<bool>& first) {
  FittedRetries found;
  found.by_name = false;
  const Following following(log);
  found.step_s = static_cast<double>(following.step_ns()) * 1e-9;
  const std::vector<Named> names = sorted_names(log, true);
  found.attempts = found.requests = names.size();
  FollowedByEnd all;
  StopCounter<1024> keys;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    keys.count();
    const FollowedByEnd own = count_followed(log, following, names, begin, end);
    all.succeeded.add(own.succeeded);
    all.failed.add(own.failed);
  }
  found.failed = static_cast<std::size_t>(all.failed.lines);
  if (found.failed == 0) return found;
  const ByChance chance = chance_of(log, following, names, all.succeeded);
  const auto least_excess = [&](std::size_t w) {
    constexpr double kFewest = 10, kErrors = 4;
    return std::max(kFewest, kErrors * std::sqrt(chance.variance[w] + chance.variance_of_mean[w]));
  };
  const auto is_excess = [&](std::size_t w) {
    return all.failed.within[w] - chance.mean[w] >= least_excess(w);
  };
  const double width = quantile(complement(boost::math::normal(), (1 - kCertainty) / 2));
  const auto retries_within = [&](std::size_t w) {
    const double followed = all.failed.within[w], excess = followed - chance.mean[w];
    // A failure that is retried may also be followed by chance.
    const double not_by_chance = std::max(1 - chance.mean[w] / all.failed.lines, 0.01);
    const double retries = std::min(followed, std::max(0.0, excess) / not_by_chance);
    const double error =
        std::sqrt(followed * (1 - followed / all.failed.lines) * all.failed.excess_variance(w) +
                  chance.variance_of_mean[w]) /
        not_by_chance;
    return Estimate{retries, std::max(0.0, retries - width * error),
                    std::min(followed, retries + width * error)};
  };
  constexpr double kNearlyAll = 0.95;
  double most = 0;
  found.would_show = false;
  for (std::size_t w = following.first_window(); w < kWindows.size(); ++w) {
    if (is_excess(w)) most = std::max(most, retries_within(w).low);
    found.would_show |= all.failed.lines - chance.mean[w] >= least_excess(w);
  }
  std::size_t w = following.first_window();
  while (most > 0 && (!is_excess(w) || retries_within(w).low < kNearlyAll * most)) ++w;
  const double followed = all.failed.within[w], share = chance.mean[w] / all.failed.lines;
  found.window_s = static_cast<double>(kWindows[w]) * 1e-9;
  found.followed = static_cast<std::size_t>(followed);
  found.by_chance = chance.mean[w];
  if (!is_excess(w)) return found;
  found.retries = retries_within(w);
  const double retries = found.retries.value;

  std::vector<double> delays;
  Chains chains;
  double taken = 0;  // expected retries not yet marked as such
  std::vector<std::uint32_t> attempts(names.size(), 1);
  StopCounter<> lines;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    for (std::size_t i = begin; i < end; ++i) {
      lines.count();
      const Observation& row = log.rows[names[i].second];
      if (!row.failed()) continue;
      const std::size_t next = following.after(names, i, end);
      const bool follows =
          next < end && following.is_within(row, log.rows[names[next].second], kWindows[w]);
      chains.failed(attempts[i], follows);
      if (!follows) continue;
      attempts[next] = attempts[i] + 1;
      delays.push_back(pause_s(row, log.rows[names[next].second]));
      taken += retries / followed;
      // Two failures may have the same line behind them.
      if (taken < 1 || !first[names[next].second]) continue;
      taken -= 1;
      first[names[next].second] = false;
      --found.requests;
    }
  }
  found.median_delay_s = median_delay(delays);
  found.most_attempts = std::max<std::size_t>(2, chains.most_attempts(share));
  return found;
}

/// "within 500 ms", or how many steps of the clock later.
std::string window_words(const FittedRetries& r) {
  if (r.step_s == 0) return "within " + time_words(r.window_s);
  const double steps = std::round(r.window_s / r.step_s);
  return steps == 1 ? std::string("in the next whole second")
                    : fmt::format("in the next {:.0f} whole seconds", steps);
}

}  // namespace

std::vector<bool> first_attempts(const Log& log, std::optional<FittedRetries>& retries) {
  std::vector<bool> first(log.rows.size(), true);
  if (log.has_requests) {
    retries = by_names(log, first);
  } else if (log.has_keys) {
    retries = by_keys(log, first);
  }
  return first;
}

std::string retry_words(const FittedRetries& r) {
  if (r.by_name) {
    if (!r.any()) return "No request of the log was sent again.";
    return fmt::format("{} requests were sent {} times.", scenario::grouped(r.requests),
                       scenario::grouped(r.attempts));
  }
  const std::string_view same_second =
      r.step_s > 0 ? " The log's clock has whole seconds: what was sent again within the same one "
                     "does not show."
                   : "";
  if (r.failed == 0) {
    return "Nothing failed, so nothing had to be sent again, as far as the log tells.";
  }
  if (r.step_s > 0 && !r.would_show) {
    return fmt::format(
        "Whether lines are retries cannot be told: the log's clock has whole seconds, and of {} "
        "failed lines {} would be followed by another one of the same client and path {} by "
        "chance.",
        scenario::grouped(r.failed), scenario::said_whole(r.by_chance), window_words(r));
  }
  if (!r.any()) {
    return fmt::format(
        "No retries can be told from the clients and paths of the log: {} of {} failed lines {} "
        "followed by another one of the same client and path {}, {} by chance.{}",
        scenario::grouped(r.followed), scenario::grouped(r.failed),
        r.followed == 1 ? "was" : "were", window_words(r), scenario::said_whole(r.by_chance),
        same_second);
  }
  return fmt::format(
      "About {} lines are retries (95 % interval from {} to {}): of {} failed lines, {} were "
      "followed by another one of the same client and path {}, {} of them only by chance. Which "
      "ones is not known, nor are retries of what the log has as a success.{}",
      scenario::said_whole(r.retries.value), scenario::said_whole(r.retries.low),
      scenario::said_whole(r.retries.high), scenario::grouped(r.failed),
      scenario::grouped(r.followed), window_words(r),
      scenario::said_whole(static_cast<double>(r.followed) - r.retries.value), same_second);
}

}  // namespace retrysim::fit
