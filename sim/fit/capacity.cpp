// SPDX-License-Identifier: MIT
#include "fit/capacity.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMostExamined = 200'000;
constexpr std::size_t kFewestWaiting = 30;
constexpr std::size_t kFewestWithoutWait = 30;

struct Moments {
  double n = 0, mean = 0, squares = 0;

  void add(double x) {
    n += 1;
    const double off = x - mean;
    mean += off / n;
    squares += off * (x - mean);
  }
  double variance_of_mean() const { return n < 2 ? 0 : squares / (n - 1) / n; }
};

/// What a number of servers says about the log.
struct Trial {
  double z = 0;  ///< by how many standard errors those that waited took longer
  std::size_t waited = 0;
  bool tells = false;    ///< enough requests waited, and enough did not
  bool possible = true;  ///< no request ended before its server began
};

Trial try_servers(std::span<const Visit> visits, std::span<const std::uint32_t> found,
                  std::size_t servers, double resolution_ns) {
  // The latest ends of those that came before, as many as there are servers: the first of them is
  // when one is free.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
  Moments waiting, others, few;
  Trial trial;
  std::size_t too_early = 0;
  // The ends of two requests are compared, each from a time and a duration.
  const double tolerance = 4 * resolution_ns;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const Visit& v = visits[i];
    std::int64_t begin = v.start_ns;
    if (ends.size() == servers) begin = std::max(begin, ends.top());
    const double time = static_cast<double>(v.end_ns - begin);
    // Of requests whose starts cannot be told apart, either may have come first.
    const auto near = [&](std::size_t other) {
      return std::abs(static_cast<double>(visits[other].start_ns - v.start_ns)) <= resolution_ns;
    };
    const bool tied = (i > 0 && near(i - 1)) || (i + 1 < visits.size() && near(i + 1));
    if (time < -tolerance && !tied) ++too_early;
    if (begin > v.start_ns) {
      waiting.add(time);
    } else {
      others.add(time);
      if (2 * found[i] < servers) few.add(time);
    }
    if (ends.size() < servers) {
      ends.push(v.end_ns);
    } else if (v.end_ns > ends.top()) {
      ends.pop();
      ends.push(v.end_ns);
    }
  }
  // Those that found most servers free certainly did not wait.
  const Moments& without = few.n >= kFewestWithoutWait ? few : others;
  trial.waited = static_cast<std::size_t>(waiting.n);
  trial.tells = waiting.n >= kFewestWaiting && without.n >= kFewestWithoutWait;
  trial.possible = too_early == 0;
  // Rounding may move either mean by half of the resolution.
  const double rounding = resolution_ns / 2;
  const double error =
      std::sqrt(waiting.variance_of_mean() + without.variance_of_mean() + rounding * rounding);
  const double difference = waiting.mean - without.mean;
  // Times are whole nanoseconds, and clocks of servers no better than microseconds.
  constexpr double kSmallest = 1e-3;
  if (trial.tells) trial.z = difference / std::max(error, kSmallest * without.mean + 1);
  return trial;
}

/// The part of the log with the most requests under way.
std::pair<std::size_t, std::size_t> busiest_part(std::span<const std::uint32_t> found) {
  if (found.size() <= kMostExamined) return {0, found.size()};
  double sum = 0;
  for (std::size_t i = 0; i < kMostExamined; ++i) sum += found[i];
  double best = sum;
  std::size_t begin = 0;
  for (std::size_t i = kMostExamined; i < found.size(); ++i) {
    sum += found[i];
    sum -= found[i - kMostExamined];
    if (sum > best) best = sum, begin = i + 1 - kMostExamined;
  }
  return {begin, kMostExamined};
}

std::vector<DurationAtLoad> durations_at_loads(std::span<const Visit> visits,
                                               std::span<const std::uint32_t> found) {
  std::vector<DurationAtLoad> all;
  const auto class_of = [](std::uint32_t n) {  // 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
    std::uint32_t least = n, step = 1;
    while (n / step >= 4) step *= 2;
    least = n / step * step;
    return std::pair(least, least + step - 1);
  };
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const auto [least, most] = class_of(found[i]);
    auto at = std::ranges::lower_bound(all, std::size_t{least}, {}, &DurationAtLoad::least);
    if (at == all.end() || at->least != least) at = all.insert(at, {least, most, 0, 0});
    ++at->requests;
    const double duration = static_cast<double>(visits[i].end_ns - visits[i].start_ns) * 1e-9;
    at->mean_s += (duration - at->mean_s) / static_cast<double>(at->requests);
  }
  return all;
}

}  // namespace

std::vector<std::uint32_t> found_under_way(std::span<const Visit> visits) {
  std::vector<std::uint32_t> found;
  found.reserve(visits.size());
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
  for (const Visit& v : visits) {
    while (!ends.empty() && ends.top() <= v.start_ns) ends.pop();
    found.push_back(static_cast<std::uint32_t>(ends.size()));
    ends.push(v.end_ns);
  }
  return found;
}

FittedCapacity fit_capacity(std::span<const Visit> visits, std::int64_t resolution_ns) {
  FittedCapacity fit;
  const std::vector<std::uint32_t> all_found = found_under_way(visits);
  fit.most_under_way = *std::ranges::max_element(all_found) + std::size_t{1};
  fit.durations = durations_at_loads(visits, all_found);
  double busy_ns = 0;
  std::int64_t last = visits.front().end_ns;
  for (const Visit& v : visits) {
    busy_ns += static_cast<double>(v.end_ns - v.start_ns);
    last = std::max(last, v.end_ns);
  }
  fit.busy = busy_ns / std::max(1.0, static_cast<double>(last - visits.front().start_ns));

  const auto [begin, count] = busiest_part(all_found);
  const auto part = visits.subspan(begin, count);
  const auto found = std::span(all_found).subspan(begin, count);
  const double limit = quantile(complement(boost::math::normal(), (1 - kCertainty) / 2));
  const auto resolution = static_cast<double>(resolution_ns);
  const auto too_few = [&](std::size_t servers) {
    const Trial trial = try_servers(part, found, servers, resolution);
    return !trial.possible || (trial.tells && trial.z < -limit);
  };
  // The least number that is not too few.
  std::size_t least = 1, most = fit.most_under_way;
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (too_few(middle)) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  fit.low = least;
  // The largest one that is not too many, and tells.
  std::size_t high = 0, best = 0;
  double best_z = std::numeric_limits<double>::infinity();
  for (std::size_t servers = least; servers <= fit.most_under_way;
       servers += std::max<std::size_t>(1, servers / 100)) {
    const Trial trial = try_servers(part, found, servers, resolution);
    if (!trial.tells) break;  // those that would wait are too few: any number is possible
    if (trial.z > limit) {
      if (best > 0) fit.high = high;
      fit.contradictory = best == 0;
      break;
    }
    high = servers;
    if (std::abs(trial.z) < best_z) {
      best_z = std::abs(trial.z);
      best = servers;
      fit.waited = trial.waited;
    }
  }
  if (fit.high) fit.servers = best;
  if (!fit.servers) fit.waited = 0;
  return fit;
}

}  // namespace retrysim::fit
