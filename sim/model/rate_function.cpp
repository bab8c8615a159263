// SPDX-License-Identifier: MIT
#include "model/rate_function.hpp"

#include <retrysim/simulation.hpp>

#include "model/name_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace retrysim::model {
namespace {

// The rate of a profile just from `t` on, and its slope there.
void evaluate(const RateProfile& profile, Time t, double* rate, double* slope) {
  const auto next = std::upper_bound(profile.times.begin(), profile.times.end(), t);
  const auto i = static_cast<std::size_t>(next - profile.times.begin());
  *slope = 0;
  if (i == 0) {
    *rate = profile.rates.front();
    return;
  }
  *rate = profile.rates[i - 1];
  if (!profile.linear || i == profile.times.size()) return;
  const double length = (profile.times[i] - profile.times[i - 1]).in_seconds();
  *slope = (profile.rates[i] - profile.rates[i - 1]) / length;
  *rate += *slope * (t - profile.times[i - 1]).in_seconds();
}

}  // namespace

RateFunction::RateFunction(double base, const std::optional<RateProfile>& profile,
                           const std::vector<SurgeSpec>& surges) {
  std::vector<Time> edges{Time::zero()};
  if (profile) edges.insert(edges.end(), profile->times.begin(), profile->times.end());
  for (const SurgeSpec& s : surges) {
    edges.push_back(s.start);
    edges.push_back(s.start + s.duration);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  // The surges that are on, by their places in the order of names: factors are always multiplied in
  // that order, which decides the last bit of the product.
  const std::vector<std::size_t> order = name_order(surges);
  std::vector<std::size_t> by_start(order.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return surges[order[i]].start; });
  std::set<std::size_t> on;
  std::size_t begun = 0;
  StopCounter<> stop;
  for (const Time t : edges) {
    double rate = 1, slope = 0;
    if (profile) evaluate(*profile, t, &rate, &slope);
    double factor = base;
    for (; begun < by_start.size() && surges[order[by_start[begun]]].start <= t; ++begun) {
      on.insert(by_start[begun]);
    }
    for (auto at = on.begin(); at != on.end();) {
      stop.count();
      const SurgeSpec& s = surges[order[*at]];
      if (t < s.start + s.duration) {
        factor *= s.factor;
        ++at;
      } else {
        at = on.erase(at);
      }
    }
    const Piece piece{t.in_seconds(), rate * factor, slope * factor};
    const bool same = !pieces_.empty() && piece.slope == 0 && pieces_.back().slope == 0 &&
                      piece.rate == pieces_.back().rate;
    if (!same) pieces_.push_back(piece);
  }
}

double RateFunction::at(Time t) const {
  const double s = t.in_seconds();
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), s,
                                [](double x, const Piece& p) { return x < p.start_s; });
  const Piece& p = *(after - 1);
  return p.rate + p.slope * (s - p.start_s);
}

double RateFunction::highest() const {
  double highest = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& p = pieces_[i];
    highest = std::max(highest, p.rate);
    if (i + 1 < pieces_.size()) {
      highest = std::max(highest, p.rate + p.slope * (pieces_[i + 1].start_s - p.start_s));
    }
  }
  return highest;
}

double RateFunction::area(Time end) const {
  const double end_s = end.in_seconds();
  double area = 0;
  for (std::size_t i = 0; i < pieces_.size() && pieces_[i].start_s < end_s; ++i) {
    const Piece& p = pieces_[i];
    const double until_s = i + 1 < pieces_.size() ? std::min(end_s, pieces_[i + 1].start_s) : end_s;
    const double length_s = until_s - p.start_s;
    area += (p.rate + 0.5 * p.slope * length_s) * length_s;
  }
  return area;
}

Time RateFunction::Cursor::advance(double area) {
  for (;;) {
    const Piece& p = function_->pieces_[piece_];
    const double rate = std::max(0.0, p.rate + p.slope * offset_s_);
    const bool last = piece_ + 1 == function_->pieces_.size();
    const double left_s =
        last ? HUGE_VAL : function_->pieces_[piece_ + 1].start_s - p.start_s - offset_s_;
    const double area_left =
        last ? (rate > 0 ? HUGE_VAL : 0) : std::max(0.0, (rate + 0.5 * p.slope * left_s) * left_s);
    if (area < area_left) {
      // Solve rate x + slope x^2 / 2 = area; this form of the root also holds for slope = 0.
      const double x =
          area == 0
              ? 0
              : 2 * area / (rate + std::sqrt(std::max(0.0, rate * rate + 2 * p.slope * area)));
      offset_s_ += x;
      const double t = p.start_s + offset_s_;
      return t >= 9.2e9 ? Time::max() : Time::zero() + Duration::from_seconds(t);
    }
    if (last) return Time::max();
    area -= area_left;
    ++piece_;
    offset_s_ = 0;
  }
}

}  // namespace retrysim::model
