// SPDX-License-Identifier: MIT
#include "fit/coarse.hpp"

#include <retrysim/random.hpp>
#include <retrysim/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMostLines = 20'000;
constexpr std::size_t kLags = 5;
constexpr double kStandardErrors = 2.8;  // 99 %, and a little more for several numbers of servers

double uniform(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// Independent of each other for each use and each i.
double uniform_of(std::uint32_t use, std::uint64_t i) {
  static const RandomKey key(0, 0);
  return uniform(Draws::first_word(key, {i, use, 0, Purpose::kServiceTime}));
}

std::int64_t logged_ns(const Observation& row, bool times_are_starts) {
  return times_are_starts ? row.start_ns : row.end_ns();
}

/// The sum of the correlations of neighbours, of logarithms: a few long durations do not decide.
double likeness(std::span<const double> durations_s) {
  constexpr double kSmallest = 1e-6;
  const std::size_t n = durations_s.size();
  std::vector<double> x(n);
  std::ranges::transform(durations_s, x.begin(), [](double d) { return std::log(d + kSmallest); });
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
  double squares = 0, products = 0;
  for (double& value : x) {
    value -= mean;
    squares += value * value;
  }
  for (std::size_t lag = 1; lag <= kLags; ++lag) {
    for (std::size_t i = 0; i + lag < n; ++i) products += x[i] * x[i + lag];
  }
  return squares > 1e-9 * static_cast<double>(n) ? products / squares : 0;
}

/// A first-come-first-served queue that has the arrivals of the log.
class Queue {
 public:
  Queue(std::span<const Visit> visits, std::int64_t resolution_ns, bool times_are_starts)
      : resolution_s_(static_cast<double>(resolution_ns) * 1e-9),
        times_are_starts_(times_are_starts) {
    std::vector<Visit> in_order(visits.begin(), visits.end());
    std::ranges::sort(in_order, {}, &Visit::start_ns);
    for (const Visit& v : in_order) {
      starts_s_.push_back(static_cast<double>(v.start_ns - in_order.front().start_ns) * 1e-9);
      service_s_.push_back(static_cast<double>(v.end_ns - v.start_ns) * 1e-9);
    }
  }

  /// Another order of the service times.
  void shuffle(std::uint32_t use) {
    for (std::size_t i = service_s_.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(uniform_of(use, i) * static_cast<double>(i));
      std::swap(service_s_[i - 1], service_s_[other]);
    }
  }

  /// Mean duration if service times are `factor` times as long.
  double mean_duration(std::size_t servers, double factor) {
    durations_s_.clear();
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    double sum = 0;
    for (std::size_t i = 0; i < starts_s_.size(); ++i) {
      double begin = starts_s_[i];
      if (ends.size() == servers) {
        begin = std::max(begin, ends.top());
        ends.pop();
      }
      const double end = begin + factor * service_s_[i];
      ends.push(end);
      durations_s_.push_back(end - starts_s_[i]);
      sum += durations_s_.back();
    }
    return sum / static_cast<double>(starts_s_.size());
  }

  /// How alike neighbours were in what was simulated last, in the order that a log would have.
  double last_likeness() const {
    std::vector<std::size_t> order(starts_s_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto end = [&](std::size_t i) { return starts_s_[i] + durations_s_[i]; };
    const auto step = [&](std::size_t i) {
      return times_are_starts_ ? std::floor(starts_s_[i] / resolution_s_) : 0;
    };
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(step(i), end(i)); });
    std::vector<double> sorted;
    for (const std::size_t i : order) sorted.push_back(durations_s_[i]);
    return likeness(sorted);
  }

 private:
  double resolution_s_;
  bool times_are_starts_;
  std::vector<double> starts_s_, service_s_;
  std::vector<double> durations_s_;  // of what was simulated last
};

/// What a number of servers makes of the log.
struct Candidate {
  std::size_t servers = 0;
  double share = 0;        // of the mean duration that is waiting
  double share_error = 0;  // standard error of that
  double likeness = 0;
  double tolerance = 0;  // up to which that of the log may differ by chance
};

Candidate candidate(Queue& queue, std::size_t servers, double mean_s, std::size_t lines) {
  constexpr int kHalvings = 14;
  constexpr std::uint32_t kOrders = 3;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (queue.mean_duration(servers, middle) > mean_s ? high : low) = middle;
  }
  const double factor = (low + high) / 2;
  Candidate c{.servers = servers, .share = 1 - factor};
  constexpr double kStep = 0.98;
  const double here = queue.mean_duration(servers, factor);
  const double slope =
      (here - queue.mean_duration(servers, kStep * factor)) / ((1 - kStep) * factor);
  double squares = 0;
  for (std::uint32_t use = 1; use <= kOrders; ++use) {
    queue.shuffle(use);
    const double off = queue.mean_duration(servers, factor) - mean_s;
    squares += off * off;
    c.likeness += queue.last_likeness() / kOrders;
  }
  const double variance = std::max(0.0, squares / kOrders);
  c.share_error = slope > 0 ? std::sqrt(variance) / slope : 0;
  const double alike = std::max(0.0, c.likeness);
  // Durations are taken for service times, which is the worse the more of them is waiting.
  constexpr double kOfModel = 0.15;
  c.tolerance =
      kStandardErrors *
          std::sqrt(static_cast<double>(kLags) / static_cast<double>(lines) * (1 + 1.0 / kOrders)) *
          (1 + alike) +
      kOfModel * alike;
  return c;
}

}  // namespace

bool is_coarse(std::span<const Observation> rows, std::int64_t resolution_ns,
               bool times_are_starts) {
  constexpr double kSteps = 5;
  constexpr std::size_t kFewestLines = 20;  // of fewer nothing is fitted
  if (rows.size() < kFewestLines) return false;
  const std::int64_t first_ns = logged_ns(rows.front(), times_are_starts);
  const auto is_first = [&](const Observation& row) {
    return logged_ns(row, times_are_starts) == first_ns;
  };
  if (std::ranges::all_of(rows, is_first)) return false;
  double sum_ns = 0;
  for (const Observation& row : rows) sum_ns += static_cast<double>(row.duration_ns);
  return sum_ns > 0 &&
         kSteps * static_cast<double>(resolution_ns) * static_cast<double>(rows.size()) > sum_ns;
}

void spread_over_steps(std::vector<Observation>& rows, std::int64_t resolution_ns,
                       bool times_are_starts) {
  std::vector<double> places;
  for (std::size_t i = 0; i < rows.size();) {
    const std::int64_t time = logged_ns(rows[i], times_are_starts);
    std::size_t end = i;
    while (end < rows.size() && logged_ns(rows[end], times_are_starts) == time) ++end;
    places.clear();
    for (std::size_t k = i; k < end; ++k) places.push_back(uniform_of(0, k));
    std::ranges::sort(places);
    for (std::size_t k = i; k < end; ++k) {
      rows[k].start_ns +=
          static_cast<std::int64_t>(places[k - i] * static_cast<double>(resolution_ns));
    }
    i = end;
  }
}

WaitByOrder wait_by_order(std::span<const Visit> visits, std::int64_t resolution_ns,
                          bool times_are_starts) {
  std::vector<Visit> lines(visits.begin(), visits.end());
  std::ranges::sort(lines, {}, times_are_starts ? &Visit::start_ns : &Visit::end_ns);
  if (lines.size() > kMostLines) {  // those in the middle
    const auto skipped = static_cast<std::ptrdiff_t>((lines.size() - kMostLines) / 2);
    lines.erase(lines.begin(), lines.begin() + skipped);
    lines.resize(kMostLines);
  }
  WaitByOrder found;
  std::vector<double> durations_s;
  for (const Visit& v : lines) {
    durations_s.push_back(static_cast<double>(v.end_ns - v.start_ns) * 1e-9);
  }
  const double mean_s = std::accumulate(durations_s.begin(), durations_s.end(), 0.0) /
                        static_cast<double>(lines.size());
  const double logged = likeness(durations_s);
  Queue queue(lines, resolution_ns, times_are_starts);
  const auto [first, last] = std::ranges::minmax(lines, {}, &Visit::start_ns);
  const double span_s = static_cast<double>(last.start_ns - first.start_ns) * 1e-9;
  const double busy = mean_s * static_cast<double>(lines.size()) / std::max(span_s, 1e-9);

  // With a fifth of the servers that would be busy without waiting, nearly all is waiting.
  constexpr double kFewest = 0.2, kNoWait = 0.002, kMany = 100;
  std::vector<Candidate> possible;
  double best = 0;
  const auto consider = [&](const Candidate& c) {
    const double off = std::abs(logged - c.likeness) / c.tolerance;
    if (off > 1) return;
    if (possible.empty() || off < best) {
      best = off;
      found.share = Estimate{c.share, 0, 0};
      found.servers = c.servers;
    }
    possible.push_back(c);
  };
  bool is_waiting = true;
  for (auto servers = static_cast<std::size_t>(std::max(1.0, std::ceil(kFewest * busy)));
       is_waiting && static_cast<double>(servers) < kMany + 4 * busy;
       servers += std::max<std::size_t>(1, servers / 10)) {
    stop_point();
    const Candidate c = candidate(queue, servers, mean_s, lines.size());
    is_waiting = c.share > kNoWait;
    if (is_waiting) consider(c);
  }
  const double chance =
      kStandardErrors * std::sqrt(static_cast<double>(kLags) / static_cast<double>(lines.size()));
  consider({.servers = 0, .tolerance = chance});  // any number that leaves no waiting
  if (possible.empty()) return found;
  Estimate& share = *found.share;
  share.low = share.high = share.value;
  for (const Candidate& c : possible) {
    share.low = std::min(share.low, std::max(0.0, c.share - kStandardErrors * c.share_error));
    share.high = std::max(share.high, c.share + kStandardErrors * c.share_error);
  }
  share.high = std::min(share.high, 1.0);
  found.servers_low = std::max<std::size_t>(1, possible.front().servers);
  if (possible.back().servers == 0) {
    found.servers.reset();
    // Work has to be done by somebody.
    const double working = std::ceil(busy * (1 - share.high));
    found.servers_low = std::max(found.servers_low, static_cast<std::size_t>(working));
  } else {
    found.servers_high = possible.back().servers;
  }
  return found;
}

}  // namespace retrysim::fit
