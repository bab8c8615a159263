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
#include <utility>

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

constexpr std::array<double, 12> kWindows = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50};

/// Lines that ended in one way: how many there are, and how many were followed within each window.
struct Followed {
  double lines = 0;
  std::array<double, kWindows.size()> within{};

  void add(const Followed& other) {
    lines += other.lines;
    for (std::size_t w = 0; w < within.size(); ++w) within[w] += other.within[w];
  }
};

struct FollowedByEnd {
  Followed succeeded, failed;
};

bool is_within(double pause, double window) { return pause >= 0 && pause <= window; }

FollowedByEnd count_followed(const Log& log, const std::vector<Named>& names, std::size_t begin,
                             std::size_t end) {
  FollowedByEnd counts;
  StopCounter<> lines;
  for (std::size_t i = begin; i < end; ++i) {
    lines.count();
    const Observation& row = log.rows[names[i].second];
    Followed& f = row.failed() ? counts.failed : counts.succeeded;
    f.lines += 1;
    if (i + 1 == end) continue;
    const double pause = pause_s(row, log.rows[names[i + 1].second]);
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
      f.within[w] += is_within(pause, kWindows[w]) ? 1 : 0;
    }
  }
  return counts;
}

/// Expected number of failed attempts followed by chance, and the variance of that estimate.
struct ByChance {
  std::array<double, kWindows.size()> mean{}, variance{};
};

ByChance chance_of(const Log& log, const std::vector<Named>& names, const Followed& succeeded) {
  // Weight, in lines, of the share over all keys in that of each key.
  constexpr double kShared = 10;
  ByChance chance;
  StopCounter<1024> keys;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    keys.count();
    const FollowedByEnd own = count_followed(log, names, begin, end);
    if (own.failed.lines == 0) continue;
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
      const double all = (succeeded.within[w] + 1) / (succeeded.lines + 1);
      const double lines = own.succeeded.lines + kShared;
      const double share = std::min(1.0, (own.succeeded.within[w] + kShared * all) / lines);
      chance.mean[w] += own.failed.lines * share;
      chance.variance[w] += own.failed.lines * own.failed.lines * share * (1 - share) / lines;
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
  const std::vector<Named> names = sorted_names(log, true);
  found.attempts = found.requests = names.size();
  FollowedByEnd all;
  StopCounter<1024> keys;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    keys.count();
    const FollowedByEnd own = count_followed(log, names, begin, end);
    all.succeeded.add(own.succeeded);
    all.failed.add(own.failed);
  }
  found.failed = static_cast<std::size_t>(all.failed.lines);
  if (found.failed == 0) return found;
  const ByChance chance = chance_of(log, names, all.succeeded);
  constexpr double kNearlyAll = 0.95;
  double largest = 0;
  for (std::size_t w = 0; w < kWindows.size(); ++w) {
    largest = std::max(largest, all.failed.within[w] - chance.mean[w]);
  }
  std::size_t w = 0;
  while (largest > 0 && all.failed.within[w] - chance.mean[w] < kNearlyAll * largest) ++w;
  const double followed = all.failed.within[w], excess = followed - chance.mean[w];
  const double share = chance.mean[w] / all.failed.lines;
  // A failure that is retried may also be followed by chance.
  const double retries = std::min(followed, excess / std::max(1 - share, 0.01));
  found.window_s = kWindows[w];
  found.followed = static_cast<std::size_t>(followed);
  found.by_chance = chance.mean[w];
  constexpr double kFewest = 10, kErrors = 4;
  const double by_chance_only = std::sqrt(chance.mean[w] * (1 - share) + chance.variance[w]);
  if (excess < std::max(kFewest, kErrors * by_chance_only)) return found;
  const double error = std::sqrt(followed * (1 - followed / all.failed.lines) + chance.variance[w]);
  const double half = quantile(complement(boost::math::normal(), (1 - kCertainty) / 2)) * error;
  found.retries = {retries, std::max(0.0, retries - half), std::min(followed, retries + half)};

  std::vector<double> delays;
  Chains chains;
  double taken = 0;  // expected retries not yet marked as such
  StopCounter<> lines;
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    end = end_of_name(names, begin);
    std::size_t attempt = 1;
    for (std::size_t i = begin; i < end; ++i) {
      lines.count();
      const Observation& row = log.rows[names[i].second];
      const double pause = i + 1 < end ? pause_s(row, log.rows[names[i + 1].second]) : -1;
      const bool follows = row.failed() && is_within(pause, found.window_s);
      if (row.failed()) chains.failed(attempt, follows);
      attempt = follows ? attempt + 1 : 1;
      if (!follows) continue;
      delays.push_back(pause);
      taken += retries / followed;
      if (taken < 1) continue;
      taken -= 1;
      first[names[i + 1].second] = false;
      --found.requests;
    }
  }
  found.median_delay_s = median_delay(delays);
  found.most_attempts = std::max<std::size_t>(2, chains.most_attempts(share));
  return found;
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
  if (!r.any()) {
    return r.failed == 0
               ? "Nothing failed, so nothing had to be sent again, as far as the log tells."
               : fmt::format(
                     "No retries can be told from the clients and paths of the log: {} of {} "
                     "failed lines {} followed by another one of the same client and path within "
                     "{}, {} by chance.",
                     scenario::grouped(r.followed), scenario::grouped(r.failed),
                     r.followed == 1 ? "was" : "were", time_words(r.window_s),
                     scenario::said_whole(r.by_chance));
  }
  return fmt::format(
      "About {} lines are retries (95 % interval from {} to {}): of {} failed lines, "
      "{} were followed by another one of the same client and path within {}, {} of them by "
      "chance. Which ones is not known, nor are retries of what the log has as a success.",
      scenario::said_whole(r.retries.value), scenario::said_whole(r.retries.low),
      scenario::said_whole(r.retries.high), scenario::grouped(r.failed),
      scenario::grouped(r.followed), time_words(r.window_s), scenario::said_whole(r.by_chance));
}

}  // namespace retrysim::fit
