// SPDX-License-Identifier: MIT
#include "reference/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace retrysim::reference {
namespace {

/// The rate per second over time, in pieces that are straight lines, and a walk along its integral.
class Rate {
 public:
  Rate(double base, const ArrivalSpec& spec) {
    std::vector<Time> edges{Time::zero()};
    if (spec.profile) {
      edges.insert(edges.end(), spec.profile->times.begin(), spec.profile->times.end());
    }
    std::vector<SurgeSpec> surges = spec.surges;
    std::ranges::stable_sort(surges, {}, &SurgeSpec::name);
    for (const SurgeSpec& s : surges) {
      edges.push_back(s.start);
      edges.push_back(s.start + s.duration);
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const Time t : edges) {
      double factor = base;
      for (const SurgeSpec& s : surges) {
        if (s.start <= t && t < s.start + s.duration) factor *= s.factor;
      }
      Piece piece = profile_from(spec.profile, t);
      piece.rate *= factor;
      piece.slope *= factor;
      const bool goes_on = !pieces_.empty() && piece.slope == 0 && pieces_.back().slope == 0 &&
                           piece.rate == pieces_.back().rate;
      if (!goes_on) pieces_.push_back(piece);
    }
  }

  std::optional<double> constant() const {
    if (pieces_.size() > 1 || pieces_[0].slope != 0) return std::nullopt;
    return pieces_[0].rate;
  }

  /// When the integral has grown by `area` since the last call.
  Time advance(double area) {
    for (;; ++at_, offset_s_ = 0) {
      const Piece& p = pieces_[at_];
      const bool last = at_ + 1 == pieces_.size();
      const double rate = std::max(0.0, p.rate + p.slope * offset_s_);
      double left = last && rate > 0 ? HUGE_VAL : 0;
      if (!last) {
        const double left_s = pieces_[at_ + 1].start_s - p.start_s - offset_s_;
        left = std::max(0.0, (rate + 0.5 * p.slope * left_s) * left_s);
      }
      if (area < left) {
        const double root = std::sqrt(std::max(0.0, rate * rate + 2 * p.slope * area));
        if (area > 0) offset_s_ += 2 * area / (rate + root);
        const double t = p.start_s + offset_s_;
        return t >= 9.2e9 ? Time::max() : Time::zero() + Duration::from_seconds(t);
      }
      if (last) return Time::max();
      area -= left;
    }
  }

 private:
  struct Piece {
    double start_s, rate, slope;
  };
  static Piece profile_from(const std::optional<RateProfile>& profile, Time t) {
    Piece piece{t.in_seconds(), 1, 0};
    if (!profile) return piece;
    std::size_t i = 0;  // rows up to `t`
    while (i < profile->times.size() && profile->times[i] <= t) ++i;
    if (i == 0) return {t.in_seconds(), profile->rates[0], 0};
    piece.rate = profile->rates[i - 1];
    if (!profile->linear || i == profile->times.size()) return piece;
    piece.slope = (profile->rates[i] - profile->rates[i - 1]) /
                  (profile->times[i] - profile->times[i - 1]).in_seconds();
    piece.rate += piece.slope * (t - profile->times[i - 1]).in_seconds();
    return piece;
  }

  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
  double offset_s_ = 0;  // within the piece
};

Draws draws_of(const RandomKey& key, std::uint64_t entity) {
  return Draws(key, {entity, 0, 0, Purpose::kArrival});
}

/// All clients of the group as one stream: each request schedules the next one when it is made.
struct Stream {
  const ClientSpec& spec;
  RandomKey key;
  Time end;
  Calendar& calendar;
  const Submit& submit;
  Rate rate;
  std::uint64_t ordinal = 0;
  Time last = {};
  double rest_ns = 0;  ///< what is less than a nanosecond is carried on to the next request

  void schedule() {
    const std::uint64_t entity = ordinal++;
    Draws draws = draws_of(key, entity);
    const bool even = spec.arrivals.process == ArrivalProcess::kTrace && spec.arrivals.even_spacing;
    Time time;
    if (even) {
      time = rate.advance(entity == 0 ? 0.5 : 1);
    } else if (const double gap = unit_exponential(draws);
               !rate.constant() || spec.arrivals.process == ArrivalProcess::kTrace) {
      time = rate.advance(gap);
    } else if (*rate.constant() > 0) {
      const double gap_ns = gap * (1e9 / *rate.constant()) + rest_ns;
      if (gap_ns >= 9e18) return;
      rest_ns = gap_ns - std::trunc(gap_ns);
      time = last + Duration::nanoseconds(static_cast<std::int64_t>(gap_ns));
    } else {
      return;
    }
    if (time >= end) return;
    last = time;
    const std::uint32_t client = draws.below(spec.count);
    calendar.at(time, [this, client, entity] {
      schedule();
      submit(client, entity);
    });
  }
};

/// Every client by itself at a constant interval, or along a rate that all have in common.
struct Metronomes {
  Time end;
  Calendar& calendar;
  const Submit& submit;
  std::vector<std::vector<Time>> times;  ///< by client

  void schedule(std::uint32_t client, std::size_t round) {
    const Time time = times[client][round];
    if (time >= end) return;
    calendar.at(time, [this, client, round] {
      schedule(client, round + 1);
      submit(client, name_of(client, round));
    });
  }
};

std::vector<std::vector<Time>> times_of_metronomes(const ClientSpec& spec, const RandomKey& key,
                                                   Time end) {
  std::vector<std::pair<double, std::uint32_t>> phases;
  for (std::uint32_t i = 0; i < spec.count; ++i) {
    phases.emplace_back(spec.arrivals.aligned ? 0 : draws_of(key, name_of(i, 0)).uniform(), i);
  }
  std::ranges::sort(phases);
  Rate rate(spec.arrivals.rate, spec.arrivals);
  const std::optional<double> constant = rate.constant();
  std::vector<std::vector<Time>> times(spec.count);
  double walked = 0;
  for (std::uint32_t round = 0;; ++round) {
    bool all_over = true;
    for (const auto& [phase, client] : phases) {
      const double position = round + phase;
      Time time = Time::max();
      if (!constant) {
        time = rate.advance(position - std::exchange(walked, position));
      } else if (*constant > 0) {
        time = Time::zero() + Duration::from_nanoseconds(position * (1e9 / *constant));
      }
      times[client].push_back(time);
      all_over = all_over && time >= end;
    }
    if (all_over) return times;
  }
}

void schedule_list(const ClientSpec& spec, const RandomKey& key, Time end, Calendar& calendar,
                   const Submit& submit) {
  const ArrivalSpec& a = spec.arrivals;
  std::vector<std::pair<Time, std::uint32_t>> list;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    list.emplace_back(a.rows[i], draws_of(key, i).below(spec.count));
  }
  for (std::uint32_t i = 0; a.process == ArrivalProcess::kOnce && i < spec.count; ++i) {
    Duration offset;
    if (a.spread > Duration::zero()) {
      offset = Duration::from_nanoseconds(draws_of(key, name_of(i, 0)).uniform() *
                                          static_cast<double>(a.spread.count()));
    }
    list.emplace_back(a.start + offset, i);
  }
  std::ranges::stable_sort(list, {}, &std::pair<Time, std::uint32_t>::first);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto [time, client] = list[i];
    if (time < end) calendar.at(time, [&submit, client, i] { submit(client, i); });
  }
}

}  // namespace

void schedule_arrivals(const ClientSpec& client, const RandomKey& key, Time end, Calendar& calendar,
                       const Submit& submit) {
  const ArrivalSpec& a = client.arrivals;
  if (a.process == ArrivalProcess::kOnce || !a.rows.empty()) {
    return schedule_list(client, key, end, calendar, submit);
  }
  if (a.process == ArrivalProcess::kConstant) {
    const auto metronomes = std::make_shared<Metronomes>(
        Metronomes{end, calendar, submit, times_of_metronomes(client, key, end)});
    for (std::uint32_t i = 0; i < client.count; ++i) metronomes->schedule(i, 0);
    // The events know it by its address.
    calendar.at(Time::max(), [metronomes] {});
    return;
  }
  const double base = a.process == ArrivalProcess::kTrace ? 1 : a.rate * client.count;
  const auto stream =
      std::make_shared<Stream>(Stream{client, key, end, calendar, submit, Rate(base, a)});
  stream->schedule();
  calendar.at(Time::max(), [stream] {});
}

}  // namespace retrysim::reference
