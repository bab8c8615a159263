// SPDX-License-Identifier: MIT

#include "estimate/selection.hpp"
#include "estimate/paired.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>
#include "kernel/functions.hpp"

namespace retrysim {
namespace {

bool is_positive(double value) { return value > 0 && std::isfinite(value); }

void check(const SelectionRules& rules) {
  if (rules.systems < 2) throw std::invalid_argument("a selection needs at least two systems");
  if (rules.indifference != 0 && !is_positive(rules.indifference)) {
    throw std::invalid_argument("the indifference zone of a selection is a number above 0");
  }
  if (!(rules.confidence > 0.5 && rules.confidence < 1)) {
    throw std::invalid_argument("the confidence of a selection is above 0.5 and below 1");
  }
  const auto has_width = [](const std::optional<SelectionRange>& range) {
    return !range || (std::isfinite(range->low) && is_positive(range->width()));
  };
  if (!has_width(rules.range)) throw std::invalid_argument("a range ends above its beginning");
  for (const SelectionLimit& limit : rules.limits) {
    if (!has_width(limit.range)) throw std::invalid_argument("a range ends above its beginning");
    if (!std::isfinite(limit.bound) || !is_positive(limit.tolerance)) {
      throw std::invalid_argument("a limit of a selection has a bound and a tolerance above 0");
    }
  }
}

/// Slopes of the lines, in indifference zones for each observation; and the share of a comparison's
/// error that each line may take.
constexpr double kSlopes[] = {2, 8, 32, 128};
constexpr double kErrorOfLine = 0.05;

/// Bets of a comparison by bounds. The largest has half of the stake; each of the others is half as
/// large as the one before, and they share the rest of the stake equally.
constexpr std::size_t kBets = 13;
constexpr double kStakeOfLargestBet = 0.5;

/// The zone that the first stage sets: a share of the best mean, or a multiple of what `patience`
/// observations can tell apart.
constexpr double kShareOfBest = 0.01;
constexpr double kRoom = 1.5;

struct Capital {
  double most = 1, last = 1;
};

/// The share of the sum of squares up to which the farthest of `observations` values in a normal
/// sample reaches with probability 99.9 % at least (Grubbs 1969); at least `kStillNormal`, up to
/// which a sum counts as normal.
double largest_normal_share(std::size_t observations) {
  constexpr double kError = 0.001, kStillNormal = 0.15;
  if (observations < 3) return 1;
  const auto n = static_cast<double>(observations);
  const double t = stats::student_quantile(observations - 2, kError / n);
  return std::max(kStillNormal, (n - 1) / n * t * t / (n - 2 + t * t));
}

Capital capital_of(std::span<const double> numbers, double claim, double worst) {
  double capitals[kBets], bets[kBets];
  for (std::size_t i = 0; i < kBets; ++i) {
    capitals[i] = i == 0 ? kStakeOfLargestBet : (1 - kStakeOfLargestBet) / (kBets - 1);
    bets[i] = i == 0 ? 1 / worst : bets[i - 1] / 2;
  }
  Capital result;
  for (const double number : numbers) {
    result.last = 0;
    for (std::size_t i = 0; i < kBets; ++i) {
      capitals[i] *= std::max(0.0, 1 + bets[i] * (number - claim));
      result.last += capitals[i];
    }
    result.most = std::max(result.most, result.last);
  }
  return result;
}

/// `value` rounded to two significant digits.
double rounded(double value) {
  const std::string text = fmt::format("{:.2g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

bool is_within(double value, const std::optional<SelectionRange>& range) {
  return std::isfinite(value) && (!range || (value >= range->low && value <= range->high));
}

/// The first whole number above `value`, or the largest that fits.
std::size_t whole_above(double value) {
  constexpr double kMost = 1e15;
  return static_cast<std::size_t>(std::min(std::floor(value), kMost)) + 1;
}

}  // namespace

void Selection::Spread::add(double value) {
  low = count == 0 ? value : std::min(low, value);
  high = count == 0 ? value : std::max(high, value);
  ++count;
  const double distance = value - mean;
  mean += distance / static_cast<double>(count);
  squares += distance * (value - mean);
}

double Selection::Spread::variance(double normal_share) const {
  if (count < 2) return first;
  const double farthest = std::max(high - mean, mean - low);
  if (farthest * farthest > normal_share * squares) return std::max(first, farthest * farthest);
  return std::max(first, squares / static_cast<double>(count - 1));
}

double Selection::most_capital(std::span<const double> numbers, double claim, double worst) {
  return capital_of(numbers, claim, worst).most;
}

double Selection::error_of_each(const SelectionRules& rules) {
  return (1 - rules.confidence) / static_cast<double>(rules.systems - 1 + rules.limits.size());
}

double Selection::h2(double error, std::size_t first_stage) {
  const auto freedom = static_cast<double>(first_stage - 1);
  return freedom * (kernel::pow(2 * error, -2 / freedom) - 1);
}

double Selection::kappa(double error, std::size_t first_stage) {
  const auto freedom = static_cast<double>(first_stage - 1);
  return freedom / 2 * (kernel::pow(error, -2 / freedom) - 1);
}

Selection::Selection(SelectionRules rules) : rules_(std::move(rules)) {
  check(rules_);
  SelectionState state;
  state.limited.resize(rules_.limits.size());
  state.keeps.resize(rules_.limits.size());
  states_.assign(rules_.systems, state);
  history_.assign(rules_.systems, History(1 + rules_.limits.size()));
}

void Selection::add(std::size_t system, double aim, std::span<const double> limited) {
  SelectionState& state = states_.at(system);
  if (state.fate != SelectionFate::kRacing) {
    throw std::invalid_argument("a system that has left the race is not observed any more");
  }
  bool fits = limited.size() == rules_.limits.size() && is_within(aim, rules_.range);
  for (std::size_t i = 0; fits && i < limited.size(); ++i) {
    fits = is_within(limited[i], rules_.limits[i].range);
  }
  if (!fits) {
    throw std::invalid_argument(
        "an observation has a finite number within its range for the aim and each limit");
  }
  ++state.observations;
  state.sum += aim;
  history_[system][0].push_back(aim);
  for (std::size_t i = 0; i < limited.size(); ++i) {
    state.limited[i] += limited[i];
    history_[system][i + 1].push_back(limited[i]);
  }
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
  if (pairs_.empty() && !rules_.range) {
    pairs_.resize(rules_.systems * (rules_.systems - 1) / 2);
  }
  spreads_.resize(rules_.systems, std::vector<Spread>(rules_.limits.size()));
  for (const std::size_t i : judged) {
    for (std::size_t l = 0; l < rules_.limits.size(); ++l) {
      Spread& spread = spreads_[i][l];
      while (spread.count < observations) spread.add(history_[i][l + 1][spread.count]);
    }
    for (const std::size_t other : judged) {
      if (other <= i || rules_.range) continue;
      Spread& spread = pair(i, other).spread;
      while (spread.count < observations) {
        spread.add(history_[i][0][spread.count] - history_[other][0][spread.count]);
      }
    }
  }
  if (first_stage_ == 0) end_first_stage();
  if (rules_.least_observations > 2) normal_share_ = largest_normal_share(observations);
  for (const std::size_t i : judged) judge_limits(i);
  if (rules_.range) {
    judge_by_bounds();
    return;
  }
  if (observations < rules_.least_observations) return;
  const std::vector<std::size_t> left = racing();
  for (std::size_t a = 0; a < left.size(); ++a) {
    for (std::size_t b = a + 1; b < left.size(); ++b) judge_pair(left[a], left[b]);
  }
  remove_losers();
}

void Selection::end_first_stage() {
  first_stage_ = states_[racing().front()].observations;
  const double error = error_of_each(rules_);
  h2_ = h2(error * (1 - kErrorOfLine * static_cast<double>(std::size(kSlopes))), first_stage_);
  kappa_ = kappa(error * kErrorOfLine, first_stage_);
  for (std::vector<Spread>& spreads : spreads_) {
    for (Spread& spread : spreads) spread.first = spread.variance();
  }
  for (Pair& p : pairs_) p.spread.first = p.spread.variance();
  if (rules_.indifference == 0) choose_zone();
}

/// The zone depends on what the first stage showed. Bounds hold for all zones at once; those of KN
/// and the lines hold given the variances, and means are independent of these in normal samples.
void Selection::choose_zone() {
  const std::vector<std::size_t> judged = racing();
  const std::size_t best = *std::max_element(judged.begin(), judged.end(),
                                             [this](auto a, auto b) { return is_worse(a, b); });
  const double error = error_of_each(rules_);
  const auto patience = static_cast<double>(std::max(rules_.patience, first_stage_));
  double zone = kShareOfBest * std::fabs(mean(best));
  if (rules_.range) {
    // The zone within which two equal means are known to be after `patience` observations.
    const double equals = kernel::pow(error * kStakeOfLargestBet, -1 / patience) - 1;
    zone = std::max(zone, kRoom * rules_.range->width() * equals);
  } else {
    const double t = stats::student_quantile(first_stage_ - 1, 2 * error);
    for (const std::size_t other : judged) {
      if (other == best) continue;
      const Spread& spread = pair(std::min(best, other), std::max(best, other)).spread;
      const double noise = std::sqrt(spread.first / static_cast<double>(first_stage_));
      if (std::fabs(spread.mean) > t * noise) continue;  // told apart already
      zone = std::max(zone, std::sqrt(h2_ * spread.first / patience));
    }
  }
  // If nothing is left to tell apart, and all means are 0, any zone will do.
  rules_.indifference = zone > 0 ? rounded(zone) : std::numeric_limits<double>::min();
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

/// Whether a system keeps a limit; empty if not known yet.
std::optional<bool> Selection::keeps_limit(std::size_t system, std::size_t limit) const {
  const SelectionLimit& rule = rules_.limits[limit];
  const SelectionState& state = states_[system];
  const double sign = rule.at_least ? 1 : -1;
  if (!rule.range) {
    const double above =
        state.limited[limit] - rule.bound * static_cast<double>(state.observations);
    const double edge = boundary(spreads_[system][limit].variance(normal_share_), rule.tolerance,
                                 state.observations);
    if (sign * above >= edge) return true;
    return sign * above <= -edge ? std::optional(false) : std::nullopt;
  }
  // Margins are bets on the limit, their opposites bets against it.
  std::vector<double> margins = history_[system][limit + 1];
  for (double& m : margins) m = sign * (m - rule.bound);
  const double ends[] = {sign * (rule.range->low - rule.bound),
                         sign * (rule.range->high - rule.bound)};
  const double least = std::min(ends[0], ends[1]), most = std::max(ends[0], ends[1]);
  const double wanted = 1 / error_of_each(rules_);
  // No possible mean breaks the limit, or none keeps it.
  if (least >= -rule.tolerance) return true;
  if (most <= rule.tolerance) return false;
  if (most_capital(margins, -rule.tolerance, -rule.tolerance - least) >= wanted) return true;
  for (double& m : margins) m = -m;
  if (most_capital(margins, -rule.tolerance, most - rule.tolerance) >= wanted) return false;
  return std::nullopt;
}

void Selection::judge_limits(std::size_t system) {
  SelectionState& state = states_[system];
  for (std::size_t i = 0; i < rules_.limits.size(); ++i) {
    if (state.keeps[i]) continue;
    const std::optional<bool> kept = keeps_limit(system, i);
    if (kept == true) {
      state.keeps[i] = true;
    } else if (kept == false) {
      state.fate = SelectionFate::kBreaksLimit;
      state.by = i;
      return;
    }
  }
}

bool Selection::is_worse(std::size_t system, std::size_t than) const {
  const double a = states_[system].sum, b = states_[than].sum;
  return a == b ? system > than : (a < b) == rules_.maximize;
}

std::vector<double> Selection::leads(std::size_t system, std::size_t other) const {
  const std::vector<double>&a = history_[system][0], &b = history_[other][0];
  std::vector<double> result(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = rules_.maximize ? a[i] - b[i] : b[i] - a[i];
  }
  return result;
}

void Selection::leave(std::size_t loser, std::size_t winner) {
  const auto n = static_cast<double>(states_[loser].observations);
  const bool same = history_[loser][0] == history_[winner][0];
  const bool near = std::fabs(states_[winner].sum - states_[loser].sum) <= rules_.indifference * n;
  states_[loser].fate = same   ? SelectionFate::kSame
                        : near ? SelectionFate::kAsGood
                               : SelectionFate::kBeaten;
  states_[loser].by = winner;
}

std::optional<std::size_t> Selection::leader() const {
  std::optional<std::size_t> best;
  for (const std::size_t i : racing()) {
    if (keeps_limits(i) && (!best || is_worse(*best, i))) best = i;
  }
  return best;
}

void Selection::judge_by_bounds() {
  const std::optional<std::size_t> best = leader();
  if (!best) return;
  const double wanted = 1 / error_of_each(rules_), width = rules_.range->width();
  std::vector<std::size_t> left;
  bool all_as_good = true;
  for (const std::size_t i : racing()) {
    if (i == *best) continue;
    const std::vector<double> lead = leads(*best, i);
    if (most_capital(lead, 0, width) >= wanted) {
      leave(i, *best);
      continue;
    }
    left.push_back(i);
    all_as_good = all_as_good && most_capital(lead, -rules_.indifference, width) >= wanted;
  }
  if (!all_as_good) return;
  for (const std::size_t i : left) leave(i, *best);
}

/// Whether events too rare to be seen may explain the whole difference of two means.
bool Selection::is_hidden(std::size_t first, std::size_t second) const {
  if (!rules_.unseen) return false;
  const double hidden = rules_.unseen(first, second, states_[first].observations);
  return hidden > 0 && std::fabs(mean(first) - mean(second)) <= hidden;
}

void Selection::judge_pair(std::size_t first, std::size_t second) {
  Pair& compared = pair(first, second);
  if (compared.decision != Decision::kOpen || is_hidden(first, second)) return;
  const double difference = states_[first].sum - states_[second].sum;
  const double lead = rules_.maximize ? difference : -difference;
  const double edge = boundary(compared.spread.variance(normal_share_), rules_.indifference,
                               states_[first].observations);
  if (lead > edge || (edge <= 0 && lead >= 0)) {
    compared.decision = Decision::kFirstWins;
  } else if (-lead > edge) {
    compared.decision = Decision::kSecondWins;
  }
}

/// Goes from the worst mean to the best, so that a system that removes others is still in the race
/// itself; with limits, decisions of long ago may form a circle, and one system must remain.
void Selection::remove_losers() {
  std::vector<std::size_t> order = racing();
  std::sort(order.begin(), order.end(), [this](auto a, auto b) { return is_worse(a, b); });
  for (const std::size_t loser : order) {
    // The best of the systems that beat `loser`.
    const auto winner = std::find_if(order.rbegin(), order.rend(), [&](std::size_t other) {
      return other != loser && states_[other].fate == SelectionFate::kRacing &&
             keeps_limits(other) && has_won(other, loser);
    });
    if (winner != order.rend()) leave(loser, *winner);
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

std::optional<std::size_t> Selection::most_observations() const {
  std::size_t most = first_stage_;
  const auto until = [&](double variance, double zone) {
    most = std::max(most, whole_above(h2_ * variance / (zone * zone)));
  };
  const std::vector<std::size_t> left = racing();
  for (const std::size_t i : left) {
    for (std::size_t l = 0; l < rules_.limits.size(); ++l) {
      if (states_[i].keeps[l]) continue;
      if (rules_.limits[l].range) return std::nullopt;
      until(spreads_[i][l].variance(), rules_.limits[l].tolerance);
    }
  }
  if (!rules_.range) {
    for (std::size_t a = 0; a < left.size(); ++a) {
      for (std::size_t b = a + 1; b < left.size(); ++b) {
        const Pair& compared = pair(left[a], left[b]);
        if (compared.decision == Decision::kOpen) {
          if (is_hidden(left[a], left[b])) return std::nullopt;
          until(compared.spread.variance(), rules_.indifference);
        }
      }
    }
    return most;
  }
  const std::optional<std::size_t> best = leader();
  if (!best) return std::nullopt;
  const double wanted = 1 / error_of_each(rules_);
  for (const std::size_t i : left) {
    if (i == *best) continue;
    const std::vector<double> lead = leads(*best, i);
    const Capital capital = capital_of(lead, -rules_.indifference, rules_.range->width());
    if (capital.most >= wanted) continue;
    // The capital is taken to grow as it did on average, from half of the stake.
    const double growth = kernel::log(capital.last / kStakeOfLargestBet);
    if (!(growth > 0)) return std::nullopt;
    const double needed = kernel::log(wanted / kStakeOfLargestBet) / growth;
    most = std::max(most, whole_above(static_cast<double>(lead.size()) * needed));
  }
  return most;
}

double Selection::margin(std::size_t system) const {
  const double error = error_of_each(rules_);
  double margin = 0;
  for (const std::size_t other : racing()) {
    if (other == system) continue;
    const std::vector<double> lead = leads(system, other);
    if (!rules_.range) {
      Spread spread;
      for (const double value : lead) spread.add(value);
      const auto n = static_cast<double>(spread.count);
      const double t = stats::student_quantile(spread.count - 1, 2 * error);
      margin = std::max(margin, t * std::sqrt(spread.variance() / n) - spread.mean);
      continue;
    }
    constexpr int kHalvings = 40;
    const double width = rules_.range->width();
    double low = margin, high = width;
    for (int i = 0; i < kHalvings && high > low; ++i) {
      const double middle = low + (high - low) / 2;
      (most_capital(lead, -middle, width) >= 1 / error ? high : low) = middle;
    }
    margin = std::max(margin, high);
  }
  return margin;
}

std::size_t Selection::equal_allocation() const {
  const auto is_bounded = [](const SelectionLimit& limit) { return limit.range.has_value(); };
  if (rules_.range || std::any_of(rules_.limits.begin(), rules_.limits.end(), is_bounded)) return 0;
  const double t = stats::student_quantile(first_stage_ - 1, 2 * error_of_each(rules_));
  double most = static_cast<double>(first_stage_);
  const auto needs = [&](double variance, double zone) {
    most = std::max(most, std::ceil(t * t * variance / (zone * zone)));
  };
  for (const Pair& compared : pairs_) needs(compared.spread.first, rules_.indifference);
  for (const std::vector<Spread>& spreads : spreads_) {
    for (std::size_t i = 0; i < spreads.size(); ++i) {
      needs(spreads[i].first, rules_.limits[i].tolerance);
    }
  }
  return static_cast<std::size_t>(std::min(most, 1e15));
}

}  // namespace retrysim
