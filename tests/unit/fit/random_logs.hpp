// Logs of random services of which everything is known: law of service times, servers, load,
// errors, and the clock that the log was written by.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numbers>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::fit::random_logs {

/// How the times of a log are written. Lines are in the order of the ends but for the buffered
/// ones, where up to eight workers each write bunches of lines. Durations are milliseconds, rounded
/// to the next, but nanoseconds where times are.
enum class Clock : std::uint8_t {
  kNanoseconds,
  kMillisecondsDown,
  kMillisecondsUp,
  kMillisecondsStart,
  kMillisecondsBuffered,
  kSecondsDown,
  kSecondsUp,
  kSecondsStart,
  kSecondsBuffered,
};
inline constexpr std::array<std::string_view, 9> kClockNames = {
    "ns, end",      "ms, end, down", "ms, end, up", "ms, start",  "ms, buffered",
    "s, end, down", "s, end, up",    "s, start",    "s, buffered"};

enum class Shape : std::uint8_t { kConstant, kExponential, kLognormal, kBimodal, kPareto };

struct Service {
  Shape shape = Shape::kExponential;
  double mean_s = 0.03;
  double parameter = 1;  ///< lognormal: cv; bimodal: share of long ones; Pareto: shape
  std::size_t servers = 1;
  double load = 0.2;
  double error_share = 0;
  std::size_t lines = 4000;

  double rate() const { return load * static_cast<double>(servers) / mean_s; }
};

struct Logged {
  Service service;
  std::string text;       ///< CSV
  double wait_share = 0;  ///< mean wait / mean service time, of this log
};

/// Random numbers of one log.
class Source {
 public:
  explicit Source(std::uint64_t seed, std::uint64_t use)
      : draws_(RandomKey(seed, 0), {use, 7, 0, Purpose::kServiceTime}) {}
  double uniform() { return draws_.uniform(); }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double log_between(double low, double high) { return low * std::pow(high / low, uniform()); }
  std::size_t below(std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(uniform() * static_cast<double>(n)));
  }
  double exponential() { return -std::log1p(-uniform()); }
  double normal() {
    return std::sqrt(2 * exponential()) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  Draws draws_;
};

inline double work_of(const Service& s, Source& source) {
  switch (s.shape) {
    case Shape::kConstant:
      return s.mean_s;
    case Shape::kExponential:
      return s.mean_s * source.exponential();
    case Shape::kLognormal: {
      const double deviation = std::sqrt(std::log1p(s.parameter * s.parameter));
      return s.mean_s * std::exp(deviation * source.normal() - deviation * deviation / 2);
    }
    case Shape::kBimodal: {  // long ones take ten times as long; each by a tenth more or less
      const double usual = s.mean_s / (1 + 9 * s.parameter);
      return (source.uniform() < s.parameter ? 10 : 1) * usual * source.between(0.9, 1.1);
    }
    default:
      return s.mean_s * (s.parameter - 1) / s.parameter *
             std::pow(1 - source.uniform(), -1 / s.parameter);
  }
}

inline Service random_service(Source& source) {
  Service s;
  s.shape = static_cast<Shape>(source.below(5));
  s.mean_s = source.log_between(0.005, 0.5);
  s.parameter = s.shape == Shape::kLognormal ? source.between(0.5, 2)
                : s.shape == Shape::kBimodal ? source.between(0.02, 0.3)
                                             : source.between(2.2, 5);
  s.servers = static_cast<std::size_t>(source.log_between(1, 51));
  s.load = source.uniform() < 0.5 ? source.log_between(0.002, 0.95) : source.between(0.002, 0.95);
  s.error_share = std::max(0.0, source.between(-0.05, 0.1));
  s.lines = static_cast<std::size_t>(source.log_between(4000, 12'000));
  return s;
}

struct Answer {
  double start_s = 0, end_s = 0;
  int status = 200;
};

inline std::string text_of(const std::vector<Answer>& answers, Clock clock) {
  const bool start = clock == Clock::kMillisecondsStart || clock == Clock::kSecondsStart;
  const bool up = clock == Clock::kMillisecondsUp || clock == Clock::kSecondsUp;
  const bool seconds = clock >= Clock::kSecondsDown;
  std::string text = start ? "start_time,duration,status\n" : "time,duration,status\n";
  for (const Answer& a : answers) {
    const double time = 1.7e9 + 0.5 + (start ? a.start_s : a.end_s);
    if (clock == Clock::kNanoseconds) {
      fmt::format_to(std::back_inserter(text), "{:.0f}{:09.0f},{:.9f},{}\n",
                     1.7e9 + std::floor(a.end_s), std::floor((a.end_s - std::floor(a.end_s)) * 1e9),
                     a.end_s - a.start_s, a.status);
      continue;
    }
    const double steps = seconds ? time : time * 1e3;
    const double told = up ? std::ceil(steps) : std::floor(steps);
    fmt::format_to(std::back_inserter(text), "{:.{}f},{:.3f},{}\n", seconds ? told : told / 1e3,
                   seconds ? 0 : 3, a.end_s - a.start_s, a.status);
  }
  return text;
}

/// Each worker has answers of its own, and writes them when its buffer is full.
inline std::vector<Answer> buffered(const std::vector<Answer>& answers, Source& source) {
  const std::size_t workers = 2 + source.below(7), size = 50 + source.below(351);
  std::vector<std::vector<Answer>> buffers(workers);
  std::vector<Answer> written;
  for (const Answer& a : answers) {
    std::vector<Answer>& buffer = buffers[source.below(workers)];
    buffer.push_back(a);
    if (buffer.size() < size) continue;
    written.insert(written.end(), buffer.begin(), buffer.end());
    buffer.clear();
  }
  for (const std::vector<Answer>& b : buffers) written.insert(written.end(), b.begin(), b.end());
  return written;
}

inline Logged log_of(const Service& s, Clock clock, std::uint64_t seed) {
  Source arrivals(seed, 1), work(seed, 2), errors(seed, 3);
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  std::vector<Answer> answers;
  double now_s = 0, waited_s = 0, worked_s = 0;
  for (std::size_t i = 0; i < s.lines; ++i) {
    now_s += arrivals.exponential() / s.rate();
    double begin_s = now_s;
    if (ends.size() == s.servers) {
      begin_s = std::max(now_s, ends.top());
      ends.pop();
    }
    const double took_s = work_of(s, work);
    ends.push(begin_s + took_s);
    waited_s += begin_s - now_s;
    worked_s += took_s;
    answers.push_back({now_s, begin_s + took_s, errors.uniform() < s.error_share ? 503 : 200});
  }
  std::ranges::sort(answers, {}, &Answer::end_s);
  if (clock == Clock::kMillisecondsBuffered || clock == Clock::kSecondsBuffered) {
    Source buffers(seed, 4);
    answers = buffered(answers, buffers);
  }
  return {s, text_of(answers, clock), waited_s / worked_s};
}

inline Logged random_log(Clock clock, std::uint64_t seed) {
  Source source(seed, 5);
  return log_of(random_service(source), clock, seed);
}

}  // namespace retrysim::fit::random_logs
