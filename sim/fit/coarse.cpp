// SPDX-License-Identifier: MIT
#include "fit/coarse.hpp"

#include <retrysim/random.hpp>

#include "kernel/sorting.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace retrysim::fit {
namespace {

constexpr double kMaxServers = 100;  // servers per busy server: more than anybody has
constexpr double kMaxUnlike = 16.3;  // chi squared with three degrees of freedom: 99.9 %

double uniform(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A uniform random number, independent for each `use` and each `i`.
double uniform_of(std::uint32_t use, std::uint64_t i) {
  static const RandomKey key(0, 0);
  return uniform(Draws::first_word(key, {i, use, 0, Purpose::kServiceTime}));
}

std::int64_t logged_ns(const Observation& row, bool times_are_starts) {
  return times_are_starts ? row.start_ns : row.end_ns();
}

/// Sums of the correlations of lines that are 1 to 5, 6 to 20, and 21 to 60 apart.
constexpr std::array<std::size_t, 3> kLastLags = {5, 20, 60};
using Likeness = std::array<double, kLastLags.size()>;

/// The correlations are of logarithms, so that a few long durations do not dominate.
Likeness likeness(std::span<const double> durations_s) {
  constexpr double kSmallest = 1e-6;
  const std::size_t n = durations_s.size();
  std::vector<double> x(n);
  std::ranges::transform(durations_s, x.begin(), [](double d) { return std::log(d + kSmallest); });
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (double& value : x) {
    value -= mean;
    squares += value * value;
  }
  Likeness all{};
  if (squares <= 1e-9 * static_cast<double>(n)) return all;
  std::size_t lag = 1;
  for (std::size_t band = 0; band < kLastLags.size(); ++band) {
    double products = 0;
    for (; lag <= kLastLags[band]; ++lag) {
      for (std::size_t i = 0; i + lag < n; ++i) products += x[i] * x[i + lag];
    }
    all[band] = products / squares;
  }
  return all;
}

/// A first-come-first-served queue that has the arrivals of the log.
class Queue {
 public:
  Queue(std::span<const Visit> visits, const Log& log)
      : resolution_s_(static_cast<double>(log.time_resolution_ns) * 1e-9),
        times_are_starts_(log.times_are_starts),
        disordered_(log.is_disordered) {
    std::vector<Visit> in_order(visits.begin(), visits.end());
    kernel::sort(in_order, {}, &Visit::start_ns);
    for (const Visit& v : in_order) {
      starts_s_.push_back(static_cast<double>(v.start_ns - in_order.front().start_ns) * 1e-9);
      service_s_.push_back(static_cast<double>(v.end_ns - v.start_ns) * 1e-9);
    }
  }

  std::size_t lines() const { return starts_s_.size(); }

  /// Makes every service time `service_s`.
  void make_constant(double service_s) { std::ranges::fill(service_s_, service_s); }

  /// Shuffles the service times.
  void shuffle(std::uint32_t use) {
    for (std::size_t i = service_s_.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(uniform_of(use, i) * static_cast<double>(i));
      std::swap(service_s_[i - 1], service_s_[other]);
    }
  }

  /// Simulates the queue with service times multiplied by `factor`; returns the mean duration.
  double mean_duration(std::size_t servers, double factor) {
    durations_s_.clear();
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    double sum = 0;
    StopCounter<> visits;
    for (std::size_t i = 0; i < starts_s_.size(); ++i) {
      visits.count();
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
  Likeness last_likeness() const {
    std::vector<std::size_t> order(starts_s_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto end = [&](std::size_t i) { return starts_s_[i] + durations_s_[i]; };
    const auto step = [&](std::size_t i) {
      return times_are_starts_ ? std::floor(starts_s_[i] / resolution_s_)
             : disordered_     ? std::floor(end(i) / resolution_s_)
                               : 0;
    };
    const auto place = [&](std::size_t i) { return disordered_ ? uniform_of(4, i) : end(i); };
    kernel::sort(order, {}, [&](std::size_t i) { return std::pair(step(i), place(i)); });
    std::vector<double> sorted;
    for (const std::size_t i : order) sorted.push_back(durations_s_[i]);
    return likeness(sorted);
  }

 private:
  double resolution_s_;
  bool times_are_starts_, disordered_;
  std::vector<double> starts_s_, service_s_;
  std::vector<double> durations_s_;  // durations of the last simulation
};

/// How much the simulation with a number of servers differs from the log.
struct Distance {
  double chi_squared = 0;
  double minus_log_likelihood = 0;  // up to a constant
};

struct Candidate {
  PossibleWait wait;
  Distance distance;
};

/// The distance between a log of `lines` lines and the mean of several simulated orders; `orders`
/// is one divided by their number.
Distance distance_of(const Likeness& logged, const Likeness& simulated, std::size_t lines,
                     double orders) {
  // Durations stand for service times; the error grows with the share of waiting.
  constexpr double kOfModel = 0.15;
  double alike = 0;
  for (const double l : simulated) alike += std::max(0.0, l);
  Distance distance;
  std::size_t first = 0;
  for (std::size_t band = 0; band < kLastLags.size(); ++band) {
    const auto lags = static_cast<double>(kLastLags[band] - first);
    const double error = (1 + alike) * std::sqrt(lags / static_cast<double>(lines) * (1 + orders));
    const double model = kOfModel * std::max(0.0, simulated[band]);
    const double off = logged[band] - simulated[band];
    const double squares = error * error + model * model;
    distance.chi_squared += off * off / squares;
    distance.minus_log_likelihood += (off * off / squares + std::log(squares)) / 2;
    first = kLastLags[band];
  }
  return distance;
}

Candidate candidate(Queue& queue, std::size_t servers, double mean_s, const Likeness& logged) {
  constexpr int kHalvings = 14;
  constexpr std::uint32_t kOrders = 3;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (queue.mean_duration(servers, middle) > mean_s ? high : low) = middle;
  }
  const double factor = (low + high) / 2;
  Candidate c{.wait = {.servers = servers, .share = 1 - factor}, .distance = {}};
  constexpr double kStep = 0.98;
  const double here = queue.mean_duration(servers, factor);
  const double slope =
      (here - queue.mean_duration(servers, kStep * factor)) / ((1 - kStep) * factor);
  double squares = 0;
  Likeness simulated{};
  for (std::uint32_t use = 1; use <= kOrders; ++use) {
    queue.shuffle(use);
    const double off = queue.mean_duration(servers, factor) - mean_s;
    squares += off * off;
    const Likeness now = queue.last_likeness();
    for (std::size_t i = 0; i < now.size(); ++i) simulated[i] += now[i] / kOrders;
  }
  const double variance = std::max(0.0, squares / kOrders);
  c.wait.share_error = slope > 0 ? std::sqrt(variance) / slope : 0;
  c.distance = distance_of(logged, simulated, queue.lines(), 1.0 / kOrders);
  return c;
}

/// The time that most lines took, if hardly any took less: the time of at most one step of the
/// durations.
std::optional<double> time_of_most(std::vector<double> durations_s) {
  constexpr double kHardlyAny = 0.005, kMost = 0.5, kNanosecond = 1e-9, kMillisecond = 1e-3;
  const auto is_multiple = [](double of) {
    return [of](double d) { return std::abs(d - of * std::round(d / of)) < kNanosecond / 2; };
  };
  const bool whole = std::ranges::all_of(durations_s, is_multiple(kMillisecond));
  kernel::sort(durations_s);
  const auto n = static_cast<double>(durations_s.size());
  const double least = durations_s[static_cast<std::size_t>(kHardlyAny * n)];
  const auto end =
      std::ranges::upper_bound(durations_s, least + (whole ? kMillisecond : 0) + 2 * kNanosecond);
  const auto begin = std::ranges::lower_bound(durations_s, least);
  const auto count = static_cast<double>(end - begin);
  if (count < kMost * n) return std::nullopt;
  return std::accumulate(begin, end, 0.0) / count;
}

/// The possible waits if every request is served in the time that most lines took.
std::optional<WaitByOrder> constant_service(Queue queue, double service_s, double mean_s,
                                            const Likeness& logged) {
  constexpr double kHardlyAny = 0.002, kAbout = 0.3, kAtLeast = 0.005, kMany = 200;
  const double share = 1 - service_s / mean_s;
  WaitByOrder found;
  found.constant_s = service_s;
  queue.make_constant(service_s);
  std::optional<Candidate> best;
  double best_off = kAbout * share + kAtLeast;
  for (std::size_t servers = 1; static_cast<double>(servers) < kMany;) {
    stop_point();
    const double simulated = 1 - service_s / queue.mean_duration(servers, 1);
    if (const double off = std::abs(simulated - share); off < best_off) {
      best_off = off;
      best = Candidate{
          .wait = {.servers = share < kHardlyAny ? 0 : servers, .share = share, .weight = 1},
          .distance = distance_of(logged, queue.last_likeness(), queue.lines(), 1)};
    }
    if (simulated < std::min(share, kHardlyAny)) break;
    servers += std::max<std::size_t>(1, servers / 10);
  }
  if (!best || (share >= kHardlyAny && best->distance.chi_squared > kMaxUnlike)) {
    return std::nullopt;
  }
  found.possible.push_back(best->wait);
  return found;
}

}  // namespace

double likeness_of_neighbours(std::span<const double> durations_s) {
  return likeness(durations_s).front();
}

bool is_coarse(std::span<const Observation> rows, std::int64_t resolution_ns,
               bool times_are_starts) {
  constexpr double kSteps = 5;
  constexpr std::size_t kMinLines = 20;  // with fewer lines nothing is fitted
  if (rows.size() < kMinLines) return false;
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

bool are_disordered(std::span<const Observation> rows, std::int64_t resolution_ns,
                    bool times_are_starts) {
  constexpr std::size_t kFewest = 3, kStepsForOne = 20;
  std::size_t late = 0, steps = 0;
  std::int64_t latest_ns = 0;
  for (const Observation& row : rows) {
    // The line was written between this time and one step later.
    const std::int64_t written_ns = row.end_ns();
    const std::int64_t least_late = times_are_starts ? resolution_ns + 1 : 1;
    if (written_ns + least_late <= latest_ns) ++late;
    if (written_ns > latest_ns) {
      ++steps;
      latest_ns = written_ns;
    }
  }
  return late >= kFewest && kStepsForOne * late >= std::min(steps, rows.size());
}

void spread_over_steps(std::vector<Observation>& rows, std::int64_t resolution_ns,
                       bool times_are_starts, bool disordered) {
  std::int64_t first = logged_ns(rows.front(), times_are_starts), last = first;
  for (const Observation& row : rows) {
    first = std::min(first, logged_ns(row, times_are_starts));
    last = std::max(last, logged_ns(row, times_are_starts));
  }
  // Counts the lines of the first and the last step, to compare them with whole steps.
  std::size_t at_first = 0, at_last = 0;
  for (const Observation& row : rows) {
    at_first += logged_ns(row, times_are_starts) == first ? 1 : 0;
    at_last += logged_ns(row, times_are_starts) == last ? 1 : 0;
  }
  constexpr std::int64_t kMinBetween = 2;
  const std::int64_t between = (last - first) / resolution_ns - 1;
  double in_step = 0;
  if (between >= kMinBetween) {
    in_step = static_cast<double>(rows.size() - at_first - at_last) / static_cast<double>(between);
  }
  const auto part_of = [&](std::size_t lines) {
    return in_step > 0 ? std::min(1.0, static_cast<double>(lines) / in_step) : 1.0;
  };
  const double of_first = part_of(at_first), of_last = part_of(at_last);
  std::vector<double> places;
  StopCounter<1024> steps;
  for (std::size_t i = 0; i < rows.size();) {
    steps.count();
    const std::int64_t time = logged_ns(rows[i], times_are_starts);
    std::size_t end = i;
    while (end < rows.size() && logged_ns(rows[end], times_are_starts) == time) ++end;
    places.clear();
    for (std::size_t k = i; k < end; ++k) places.push_back(uniform_of(0, k));
    if (!disordered) kernel::sort(places);
    for (std::size_t k = i; k < end; ++k) {
      double place = places[k - i];
      if (time == first) place = 1 - of_first * (1 - place);
      if (time == last) place *= of_last;
      rows[k].start_ns += static_cast<std::int64_t>(place * static_cast<double>(resolution_ns));
    }
    i = end;
  }
}

WaitByOrder wait_by_order(std::vector<Visit> lines, const Log& log) {
  kernel::sort(lines, {}, log.times_are_starts ? &Visit::start_ns : &Visit::end_ns);
  std::vector<double> durations_s;
  for (const Visit& v : lines) {
    durations_s.push_back(static_cast<double>(v.end_ns - v.start_ns) * 1e-9);
  }
  const double mean_s = std::accumulate(durations_s.begin(), durations_s.end(), 0.0) /
                        static_cast<double>(lines.size());
  const Likeness logged = likeness(durations_s);
  Queue queue(lines, log);
  const auto [first, last] = std::ranges::minmax(lines, {}, &Visit::start_ns);
  const double span_s = static_cast<double>(last.start_ns - first.start_ns) * 1e-9;
  const double busy = mean_s * static_cast<double>(lines.size()) / std::max(span_s, 1e-9);

  if (const std::optional<double> service_s = time_of_most(durations_s)) {
    if (const auto found = constant_service(queue, *service_s, mean_s, logged)) return *found;
  }

  // With a fifth of the servers that would be busy without waiting, nearly all is waiting.
  constexpr double kFewest = 0.2, kNoWait = 0.002, kMany = 100;
  std::vector<Candidate> all;
  auto servers = static_cast<std::size_t>(std::max(1.0, std::ceil(kFewest * busy)));
  for (bool is_waiting = true; is_waiting && static_cast<double>(servers) < kMany + 4 * busy;) {
    stop_point();
    // This candidate also stands for the numbers up to the next one.
    const std::size_t step = std::max<std::size_t>(1, servers / 10);
    Candidate c = candidate(queue, servers, mean_s, logged);
    is_waiting = c.wait.share > kNoWait;
    if (!is_waiting) break;
    c.wait.weight = std::log((static_cast<double>(servers + step) - 0.5) /
                             (static_cast<double>(servers) - 0.5));
    all.push_back(c);
    servers += step;
  }
  // The candidate for all numbers that leave no waiting.
  const double most = kMaxServers * std::max(1.0, busy);
  all.push_back({.wait = {.weight = std::log(most / (static_cast<double>(servers) - 0.5))},
                 .distance = distance_of(logged, {}, lines.size(), 0)});
  const auto unlike = [](const Candidate& c) { return c.distance.minus_log_likelihood; };
  const double least = unlike(*std::ranges::min_element(all, {}, unlike));
  WaitByOrder found;
  if (std::ranges::none_of(
          all, [](const Candidate& c) { return c.distance.chi_squared < kMaxUnlike; })) {
    return found;
  }
  double sum = 0;
  for (Candidate& c : all) {
    c.wait.weight *= std::exp(least - unlike(c));
    sum += c.wait.weight;
  }
  for (const Candidate& c : all) {
    found.possible.push_back(c.wait);
    found.possible.back().weight /= sum;
  }
  return found;
}

}  // namespace retrysim::fit
