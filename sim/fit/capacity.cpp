// SPDX-License-Identifier: MIT
#include "fit/capacity.hpp"

#include "kernel/boost_math.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMaxExamined = 200'000;
constexpr std::size_t kMinWaiting = 30;
constexpr std::size_t kMinWithoutWait = 30;
constexpr double kSure = 0.99;

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
  double z = 0;  ///< by how many standard errors the requests that waited took longer
  std::size_t waited = 0;
  bool tells = false;    ///< enough requests waited, and enough did not
  bool possible = true;  ///< no request ended before its server began
};

/// A part of the log.
struct Part {
  std::span<const Visit> visits;
  std::span<const std::uint32_t> found;
  const std::vector<bool>& evidence;  // evidence flags of the whole log
  std::size_t first = 0;              // index of the part's first visit
};

Trial try_servers(const Part& part, std::size_t servers, double resolution_ns) {
  const std::span<const Visit> visits = part.visits;
  ServerClock clock(servers);
  // Service times of requests that waited, that found most servers free, and of the others; for all
  // requests, and for those that certainly came in this order.
  struct Times {
    Moments waiting, others, few;

    // Requests that found most servers free certainly did not wait.
    const Moments& without() const { return few.n >= kMinWithoutWait ? few : others; }
    bool tell() const { return waiting.n >= kMinWaiting && without().n >= kMinWithoutWait; }
  };
  Times all, in_order;
  Trial trial;
  std::size_t too_early = 0;
  // The ends of two requests are compared, each from a time and a duration.
  const double tolerance = 4 * resolution_ns;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const Visit& v = visits[i];
    const std::int64_t begin = clock.begin_of(v);
    if (!part.evidence[part.first + i]) continue;
    const double time = static_cast<double>(v.end_ns - begin);
    // If the starts of two requests cannot be told apart, either may have come first.
    const auto near = [&](std::size_t other) {
      return std::abs(static_cast<double>(visits[other].start_ns - v.start_ns)) <= resolution_ns;
    };
    const bool tied = (i > 0 && near(i - 1)) || (i + 1 < visits.size() && near(i + 1));
    if (time < -tolerance && !tied) ++too_early;
    const auto add_to = [&](Times& times) {
      if (begin > v.start_ns) {
        times.waiting.add(time);
        return;
      }
      times.others.add(time);
      if (2 * part.found[i] < servers) times.few.add(time);
    };
    add_to(all);
    if (!tied) add_to(in_order);
  }
  // If two requests are taken in the wrong order, one seems to take the time of both, and the other
  // none.
  const Times& times = in_order.tell() ? in_order : all;
  const Moments& waiting = times.waiting;
  const Moments& without = times.without();
  trial.waited = static_cast<std::size_t>(all.waiting.n);
  trial.tells = times.tell();
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

/// The part of the log with the most requests under way, of those that are evidence.
std::pair<std::size_t, std::size_t> busiest_part(std::span<const std::uint32_t> all_found,
                                                 const std::vector<bool>& evidence) {
  if (all_found.size() <= kMaxExamined) return {0, all_found.size()};
  const auto found = [&](std::size_t i) { return evidence[i] ? all_found[i] : 0; };
  double sum = 0;
  for (std::size_t i = 0; i < kMaxExamined; ++i) sum += found(i);
  double best = sum;
  std::size_t begin = 0;
  for (std::size_t i = kMaxExamined; i < all_found.size(); ++i) {
    sum += found(i);
    sum -= found(i - kMaxExamined);
    if (sum > best) best = sum, begin = i + 1 - kMaxExamined;
  }
  return {begin, kMaxExamined};
}

std::vector<DurationAtLoad> durations_at_loads(std::span<const Visit> visits,
                                               std::span<const std::uint32_t> found,
                                               const std::vector<bool>& evidence) {
  std::vector<DurationAtLoad> all;
  const auto class_of = [](std::uint32_t n) {  // 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
    std::uint32_t least = n, step = 1;
    while (n / step >= 4) step *= 2;
    least = n / step * step;
    return std::pair(least, least + step - 1);
  };
  StopCounter<> looked_at;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    looked_at.count();
    if (!evidence[i]) continue;
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

std::vector<bool> evidence_in(std::span<const Visit> visits, std::span<const Stretch> left_out) {
  std::vector<bool> evidence;
  evidence.reserve(visits.size());
  StopCounter<> looked_at;
  for (const Visit& v : visits) {
    looked_at.count();
    evidence.push_back(
        std::ranges::none_of(left_out, [&](const Stretch& s) { return s.overlaps(v); }));
  }
  return evidence;
}

namespace {

/// Returns how many others each visit finds under way; fills in what `count_under_way` says.
std::vector<std::uint32_t> count_found(std::span<const Visit> visits,
                                       const std::vector<bool>& evidence, FittedCapacity& fit) {
  std::vector<std::uint32_t> all_found;
  all_found.reserve(visits.size());
  UnderWay under_way;
  for (const Visit& v : visits) all_found.push_back(under_way.found_by(v));
  fit.most_under_way = *std::ranges::max_element(all_found) + std::size_t{1};
  for (std::size_t i = 0; i < visits.size(); ++i) {
    if (evidence[i]) fit.most_usual = std::max(fit.most_usual, all_found[i] + std::size_t{1});
  }
  fit.durations = durations_at_loads(visits, all_found, evidence);
  double busy_ns = 0;
  std::int64_t last = visits.front().end_ns;
  for (const Visit& v : visits) {
    busy_ns += static_cast<double>(v.end_ns - v.start_ns);
    last = std::max(last, v.end_ns);
  }
  fit.busy = busy_ns / std::max(1.0, static_cast<double>(last - visits.front().start_ns));
  return all_found;
}

}  // namespace

FittedCapacity count_under_way(std::span<const Visit> visits, std::span<const Stretch> left_out) {
  FittedCapacity fit;
  count_found(visits, evidence_in(visits, left_out), fit);
  return fit;
}

FittedCapacity fit_capacity(std::span<const Visit> visits, std::int64_t resolution_ns,
                            std::span<const Stretch> left_out) {
  FittedCapacity fit;
  const std::vector<bool> evidence = evidence_in(visits, left_out);
  const std::vector<std::uint32_t> all_found = count_found(visits, evidence, fit);
  const auto [begin, count] = busiest_part(all_found, evidence);
  const Part part{visits.subspan(begin, count), std::span(all_found).subspan(begin, count),
                  evidence, begin};
  const double limit = quantile(complement(boost::math::normal(), (1 - kSure) / 2));
  const auto resolution = static_cast<double>(resolution_ns);
  const auto too_few = [&](std::size_t servers) {
    const Trial trial = try_servers(part, servers, resolution);
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
  // The largest number that is not too many and still tells something.
  std::size_t high = 0, best = 0;
  double best_z = std::numeric_limits<double>::infinity();
  for (std::size_t servers = least; servers <= fit.most_under_way;
       servers += std::max<std::size_t>(1, servers / 100)) {
    const Trial trial = try_servers(part, servers, resolution);
    if (!trial.tells) break;  // too few would wait: any number is possible
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
