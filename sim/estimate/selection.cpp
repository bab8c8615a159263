// SPDX-License-Identifier: MIT
#include <retrysim/selection.hpp>

#include "estimate/paired.hpp"

#include <sleef.h>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace retrysim {
namespace {

bool is_positive(double value) { return value > 0 && std::isfinite(value); }

void check(const SelectionRules& rules) {
  if (rules.systems < 2) throw std::invalid_argument("a selection needs at least two systems");
  if (!is_positive(rules.indifference)) {
    throw std::invalid_argument("the indifference zone of a selection is a number above 0");
  }
  if (!(rules.confidence > 0.5 && rules.confidence < 1)) {
    throw std::invalid_argument("the confidence of a selection is above 0.5 and below 1");
  }
  for (const SelectionLimit& limit : rules.limits) {
    if (!std::isfinite(limit.bound) || !is_positive(limit.tolerance)) {
      throw std::invalid_argument("a limit of a selection has a bound and a tolerance above 0");
    }
  }
}

/// Of the lines, in indifference zones for each observation; and the share of the error of a
/// comparison that each may take.
constexpr double kSlopes[] = {2, 8, 32, 128};
constexpr double kErrorOfLine = 0.05;

/// Sample variance of a - b, element by element; of a alone if there is no b.
double variance(const std::vector<double>& a, const std::vector<double>* b) {
  const auto n = static_cast<double>(a.size());
  const auto value = [&](std::size_t i) { return b == nullptr ? a[i] : a[i] - (*b)[i]; };
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += value(i);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = value(i) - sum / n;
    squares += distance * distance;
  }
  return squares / (n - 1);
}

/// The first whole number above `value`, or the largest that fits.
std::size_t whole_above(double value) {
  constexpr double kMost = 1e15;
  return static_cast<std::size_t>(std::min(std::floor(value), kMost)) + 1;
}

}  // namespace

double Selection::error_of_each(const SelectionRules& rules) {
  return (1 - rules.confidence) / static_cast<double>(rules.systems - 1 + rules.limits.size());
}

double Selection::h2(double error, std::size_t first_stage) {
  const auto freedom = static_cast<double>(first_stage - 1);
  return freedom * (Sleef_cinz_powd1_u10purec(2 * error, -2 / freedom) - 1);
}

double Selection::kappa(double error, std::size_t first_stage) {
  const auto freedom = static_cast<double>(first_stage - 1);
  return freedom / 2 * (Sleef_cinz_powd1_u10purec(error, -2 / freedom) - 1);
}

Selection::Selection(SelectionRules rules) : rules_(std::move(rules)) {
  check(rules_);
  SelectionState state;
  state.limited.resize(rules_.limits.size());
  state.keeps.resize(rules_.limits.size());
  states_.assign(rules_.systems, state);
  first_.assign(rules_.systems, FirstStage(1 + rules_.limits.size()));
}

void Selection::add(std::size_t system, double aim, std::span<const double> limited) {
  SelectionState& state = states_.at(system);
  if (state.fate != SelectionFate::kRacing) {
    throw std::invalid_argument("a system that has left the race is not observed any more");
  }
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (limited.size() != rules_.limits.size() || !std::isfinite(aim) ||
      !std::all_of(limited.begin(), limited.end(), is_finite)) {
    throw std::invalid_argument("an observation has a finite number for the aim and each limit");
  }
  ++state.observations;
  state.sum += aim;
  for (std::size_t i = 0; i < limited.size(); ++i) state.limited[i] += limited[i];
  if (first_stage_ > 0) return;
  first_[system][0].push_back(aim);
  for (std::size_t i = 0; i < limited.size(); ++i) first_[system][i + 1].push_back(limited[i]);
}

void Selection::drop(std::size_t system) { states_.at(system).fate = SelectionFate::kDropped; }

void Selection::judge() {
  const std::vector<std::size_t> judged = racing();
  if (judged.empty()) return;
  const std::size_t observations = states_[judged.front()].observations;
  for (const std::size_t i : judged) {
    if (states_[i].observations != observations || observations < 2) {
      throw std::logic_error("systems are judged after equally many observations, at least 2");
    }
  }
  if (first_stage_ == 0) end_first_stage();
  for (const std::size_t i : judged) judge_limits(i);
  const std::vector<std::size_t> left = racing();
  for (std::size_t a = 0; a < left.size(); ++a) {
    for (std::size_t b = a + 1; b < left.size(); ++b) judge_pair(left[a], left[b]);
  }
  remove_losers();
}

void Selection::end_first_stage() {
  const std::vector<std::size_t> judged = racing();
  first_stage_ = states_[judged.front()].observations;
  const double error = error_of_each(rules_);
  h2_ = h2(error * (1 - kErrorOfLine * static_cast<double>(std::size(kSlopes))), first_stage_);
  kappa_ = kappa(error * kErrorOfLine, first_stage_);
  pairs_.resize(rules_.systems * (rules_.systems - 1) / 2);
  variances_.resize(rules_.systems);
  for (const std::size_t i : judged) {
    for (std::size_t limit = 0; limit < rules_.limits.size(); ++limit) {
      variances_[i].push_back(variance(first_[i][limit + 1], nullptr));
    }
    for (const std::size_t other : judged) {
      if (other > i) pair(i, other).variance = variance(first_[i][0], &first_[other][0]);
    }
  }
  first_ = {};
}

double Selection::boundary(double variance, double zone, std::size_t observations) const {
  const auto r = static_cast<double>(observations);
  double edge = std::max(0.0, h2_ * variance / (2 * zone) - zone * r / 2);
  for (const double slope : kSlopes) {
    edge = std::min(edge, kappa_ * variance / (2 * zone * (1 + slope)) + slope * zone * r);
  }
  return edge;
}

const Selection::Pair& Selection::pair(std::size_t first, std::size_t second) const {
  // Row `first` begins after those before it, each of which is shorter by one than the one above.
  return pairs_[first * (2 * rules_.systems - first - 1) / 2 + (second - first - 1)];
}

Selection::Pair& Selection::pair(std::size_t first, std::size_t second) {
  return const_cast<Pair&>(std::as_const(*this).pair(first, second));
}

bool Selection::has_won(std::size_t system, std::size_t other) const {
  return system < other ? pair(system, other).decision == Decision::kFirstWins
                        : pair(other, system).decision == Decision::kSecondWins;
}

bool Selection::keeps_limits(std::size_t system) const {
  const std::vector<bool>& keeps = states_[system].keeps;
  return std::all_of(keeps.begin(), keeps.end(), [](bool kept) { return kept; });
}

void Selection::judge_limits(std::size_t system) {
  SelectionState& state = states_[system];
  for (std::size_t i = 0; i < rules_.limits.size(); ++i) {
    if (state.keeps[i]) continue;
    const SelectionLimit& limit = rules_.limits[i];
    const double above = state.limited[i] - limit.bound * static_cast<double>(state.observations);
    const double margin = limit.at_least ? above : -above;
    const double edge = boundary(variances_[system][i], limit.tolerance, state.observations);
    if (margin >= edge) {
      state.keeps[i] = true;
    } else if (margin <= -edge) {
      state.fate = SelectionFate::kBreaksLimit;
      state.by = i;
      return;
    }
  }
}

void Selection::judge_pair(std::size_t first, std::size_t second) {
  Pair& compared = pair(first, second);
  if (compared.decision != Decision::kOpen) return;
  const double difference = states_[first].sum - states_[second].sum;
  const double lead = rules_.maximize ? difference : -difference;
  const double edge = boundary(compared.variance, rules_.indifference, states_[first].observations);
  if (lead > edge || (edge <= 0 && lead >= 0)) {
    compared.decision = Decision::kFirstWins;
  } else if (-lead > edge) {
    compared.decision = Decision::kSecondWins;
  }
}

/// From the worst mean to the best, so that who removes others is still in the race itself; with
/// limits, decisions of long ago may form a circle, and somebody must remain.
void Selection::remove_losers() {
  std::vector<std::size_t> order = racing();
  const auto is_worse = [this](std::size_t a, std::size_t b) {
    if (states_[a].sum == states_[b].sum) return a > b;
    return (states_[a].sum < states_[b].sum) == rules_.maximize;
  };
  std::sort(order.begin(), order.end(), is_worse);
  for (const std::size_t loser : order) {
    // The best of those that beat it.
    const auto winner = std::find_if(order.rbegin(), order.rend(), [&](std::size_t other) {
      return other != loser && states_[other].fate == SelectionFate::kRacing &&
             keeps_limits(other) && has_won(other, loser);
    });
    if (winner == order.rend()) continue;
    const Pair& decided = pair(std::min(*winner, loser), std::max(*winner, loser));
    const bool same = decided.variance <= 0 && states_[*winner].sum == states_[loser].sum;
    states_[loser].fate = same ? SelectionFate::kSame : SelectionFate::kBeaten;
    states_[loser].by = *winner;
  }
}

std::vector<std::size_t> Selection::racing() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].fate == SelectionFate::kRacing) result.push_back(i);
  }
  return result;
}

bool Selection::finished() const {
  const std::vector<std::size_t> left = racing();
  return left.empty() || (left.size() == 1 && first_stage_ > 0 && keeps_limits(left.front()));
}

std::optional<std::size_t> Selection::best() const {
  const std::vector<std::size_t> left = racing();
  return finished() && !left.empty() ? std::optional(left.front()) : std::nullopt;
}

double Selection::mean(std::size_t system) const {
  return states_[system].sum / static_cast<double>(states_[system].observations);
}

double Selection::limited_mean(std::size_t system, std::size_t limit) const {
  return states_[system].limited[limit] / static_cast<double>(states_[system].observations);
}

std::size_t Selection::observations() const {
  std::size_t sum = 0;
  for (const SelectionState& state : states_) sum += state.observations;
  return sum;
}

std::size_t Selection::most_observations() const {
  std::size_t most = first_stage_;
  const auto until = [&](double variance, double zone) {
    most = std::max(most, whole_above(h2_ * variance / (zone * zone)));
  };
  const std::vector<std::size_t> left = racing();
  for (std::size_t a = 0; a < left.size(); ++a) {
    for (std::size_t i = 0; i < rules_.limits.size(); ++i) {
      if (!states_[left[a]].keeps[i]) until(variances_[left[a]][i], rules_.limits[i].tolerance);
    }
    for (std::size_t b = a + 1; b < left.size(); ++b) {
      const Pair& compared = pair(left[a], left[b]);
      if (compared.decision == Decision::kOpen) until(compared.variance, rules_.indifference);
    }
  }
  return most;
}

std::size_t Selection::equal_allocation() const {
  const double t = stats::student_quantile(first_stage_ - 1, 2 * error_of_each(rules_));
  double most = static_cast<double>(first_stage_);
  const auto needs = [&](double variance, double zone) {
    most = std::max(most, std::ceil(t * t * variance / (zone * zone)));
  };
  for (const Pair& compared : pairs_) needs(compared.variance, rules_.indifference);
  for (const std::vector<double>& variances : variances_) {
    for (std::size_t i = 0; i < variances.size(); ++i) {
      needs(variances[i], rules_.limits[i].tolerance);
    }
  }
  return static_cast<std::size_t>(std::min(most, 1e15));
}

}  // namespace retrysim
