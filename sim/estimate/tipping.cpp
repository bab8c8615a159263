// Bisection with brackets for every replication, and lifetimes. Sources of the latter: Kaplan and
// Meier 1958; Greenwood's variance; Brookmeyer and Crowley 1982.
//
// SPDX-License-Identifier: MIT
#include "estimate/tipping.hpp"

#include "estimate/intervals.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace retrysim {

std::size_t TippingProbe::count(TippingResponse response) const {
  return static_cast<std::size_t>(std::count(responses.begin(), responses.end(), response));
}

bool TippingPoint::interval_is_bracket() const {
  if (!d50 || !ci_first || !ci_last) return false;
  const auto [low, high] = std::minmax(*ci_first, *ci_last);
  return std::none_of(probes.begin(), probes.end(), [low = low, high = high](const auto& p) {
    return p.value > low && p.value < high;
  });
}

std::size_t TippingPoint::not_monotone() const {
  return static_cast<std::size_t>(std::count_if(
      thresholds.begin(), thresholds.end(), [](const TippingThreshold& t) { return !t.monotone; }));
}

bool TippingPoint::first_end_not_judged() const {
  return rank > 0 && !ci_first && probes.front().tipped() < rank;
}

bool TippingPoint::last_end_not_judged() const {
  const TippingProbe& last = probes.back();
  return rank > 0 && !ci_last &&
         last.tipped() + last.count(TippingResponse::kUnknown) > thresholds.size() - rank;
}

std::size_t TippingPoint::nearest_probe() const {
  const auto share = [&](std::size_t i) {
    return static_cast<double>(probes[i].tipped()) /
           static_cast<double>(std::max<std::size_t>(probes[i].judged(), 1));
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < probes.size(); ++i) {
    const double gain = std::fabs(share(nearest) - 0.5) - std::fabs(share(i) - 0.5);
    const bool as_near = std::fabs(gain) < 1e-9;
    if (as_near ? share(nearest) < 0.5 && share(i) > 0.5 : gain > 0) nearest = i;
  }
  return nearest;
}

namespace stats {
namespace {

constexpr double kMissed = 0.05;
/// A bracket this narrow, relative to the sizes searched and the tolerance, is closed however small
/// its ends: relative precision means nothing at zero.
constexpr double kNegligible = 0.01;

/// `value` with 9 significant digits, far finer than any tolerance: 1.1734375 rather than
/// 1.1734375000000001.
double rounded_level(double value) {
  const std::string text = fmt::format("{:.9g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// The search, with every size tried so far in the order from first to last.
class Search {
 public:
  Search(const TippingSearch& search,
         const std::function<std::vector<TippingResponse>(double)>& probe)
      : search_(search), probe_(probe) {
    try_size(search.first);
    try_size(search.last);
  }

  /// Whether `rank` replications tip at a size.
  enum class Answer : std::uint8_t { kNo, kCannotTell, kYes };

  static Answer tips(const TippingProbe& p, std::size_t rank) {
    if (p.tipped() >= rank) return Answer::kYes;
    return p.tipped() + p.count(TippingResponse::kUnknown) >= rank ? Answer::kCannotTell
                                                                   : Answer::kNo;
  }
  Answer tips_at_first(std::size_t rank) const { return tips(probes_.front(), rank); }
  Answer tips_at_last(std::size_t rank) const { return tips(probes_.back(), rank); }

  /// Closes in on the smallest size at which `rank` replications may tip, where those of unknown
  /// response count as tipped. Empty if as many may tip at the first size, or cannot at the last.
  std::optional<TippingBracket> close_in_from_below(std::size_t rank) {
    if (tips_at_first(rank) != Answer::kNo || tips_at_last(rank) == Answer::kNo) return {};
    return close_in([&](const TippingProbe& p) { return tips(p, rank) != Answer::kNo; });
  }

  /// Closes in on the smallest size at which `rank` replications certainly tip. Empty if as many do
  /// at the first size, or at no size that could be found.
  std::optional<TippingBracket> close_in_from_above(std::size_t rank) {
    if (tips_at_first(rank) == Answer::kYes || !has_upper_end(rank)) return {};
    return close_in([&](const TippingProbe& p) { return tips(p, rank) == Answer::kYes; });
  }

  std::vector<TippingProbe>& probes() { return probes_; }

 private:
  /// Whether there is a size at which `rank` replications certainly tip. Great triggers leave runs
  /// the least time to be judged: if the last size cannot be judged, such a size is looked for
  /// between those at which fewer tip and those that cannot be judged.
  bool has_upper_end(std::size_t rank) {
    const auto first_with = [&](Answer answer) {
      return std::find_if(probes_.begin(), probes_.end(),
                          [&](const TippingProbe& p) { return tips(p, rank) == answer; });
    };
    if (tips_at_last(rank) == Answer::kNo) return false;
    for (;;) {
      if (first_with(Answer::kYes) != probes_.end()) return true;
      const auto unclear = first_with(Answer::kCannotTell);
      if (unclear == probes_.begin() || !halve({std::prev(unclear)->value, unclear->value})) {
        return false;
      }
    }
  }

  /// Closes in on the first size with a property that the first size tried lacks and a later one
  /// has.
  template <class Property>
  TippingBracket close_in(Property property) {
    for (;;) {
      const auto high = std::find_if(probes_.begin(), probes_.end(), property);
      const TippingBracket bracket{std::prev(high)->value, high->value};
      if (!halve(bracket)) return bracket;
    }
  }

  /// Tries the middle, unless the bracket is closed.
  bool halve(const TippingBracket& bracket) {
    const double middle = middle_of(bracket);
    if (is_closed(bracket) || middle == bracket.low || middle == bracket.high) return false;
    try_size(middle);
    return true;
  }

  double middle_of(const TippingBracket& b) const {
    return search_.whole_numbers ? std::floor(b.middle()) : rounded_level(b.middle());
  }

  bool is_closed(const TippingBracket& b) const {
    const double width = std::fabs(b.high - b.low);
    if (search_.whole_numbers && width <= 1) return true;
    const double size = std::max(std::fabs(b.low), std::fabs(b.high));
    const double range = std::fabs(search_.last - search_.first);
    return width <= search_.tolerance * std::max(size, kNegligible * range);
  }

  void try_size(double value) {
    const bool upwards = search_.last >= search_.first;
    const auto place = std::find_if(probes_.begin(), probes_.end(), [&](const TippingProbe& p) {
      return upwards ? p.value > value : p.value < value;
    });
    TippingProbe p;
    p.value = value;
    p.responses = probe_(value);
    assert(probes_.empty() || p.responses.size() == probes_.front().responses.size());
    probes_.insert(place, std::move(p));
  }

  const TippingSearch& search_;
  const std::function<std::vector<TippingResponse>(double)>& probe_;
  std::vector<TippingProbe> probes_;
};

TippingThreshold threshold_of(const std::vector<TippingProbe>& probes, std::size_t replication) {
  TippingThreshold t;
  std::optional<std::size_t> first_tip, last_recovery;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const TippingResponse r = probes[i].responses[replication];
    if (r == TippingResponse::kTips && !first_tip) first_tip = i;
    if (r == TippingResponse::kRecovers) last_recovery = i;
  }
  t.monotone = !first_tip || !last_recovery || *last_recovery < *first_tip;
  // If the responses are not monotone, the bracket is from before the first tip to after the last
  // recovery.
  const std::size_t end = first_tip.value_or(probes.size());
  for (std::size_t i = 0; i < end; ++i) {
    if (probes[i].responses[replication] == TippingResponse::kRecovers) t.low = probes[i].value;
  }
  for (std::size_t i = probes.size(); i-- > (last_recovery ? *last_recovery + 1 : 0);) {
    if (probes[i].responses[replication] == TippingResponse::kTips) t.high = probes[i].value;
  }
  return t;
}

}  // namespace

// The number of thresholds below the median is binomial: from the most probable number outwards,
// each weight follows from its neighbour.
MedianRank median_rank(std::size_t n) {
  std::vector<double> weights(n + 1);
  weights[n / 2] = 1;
  for (std::size_t k = n / 2; k > 0; --k) {
    weights[k - 1] = weights[k] * static_cast<double>(k) / static_cast<double>(n - k + 1);
  }
  for (std::size_t k = n / 2; k < n; ++k) {
    weights[k + 1] = weights[k] * static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  double sum = 0;
  for (const double w : weights) sum += w;
  MedianRank result;
  double missed = 0;
  for (std::size_t j = 1; 2 * j <= n + 1; ++j) {
    missed += 2 * weights[j - 1] / sum;  // fewer than j on one side, or on the other
    if (missed > kMissed) break;
    result = {j, 1 - missed};
  }
  return result;
}

TippingPoint bisect(const TippingSearch& search,
                    const std::function<std::vector<TippingResponse>(double)>& probe) {
  using Answer = Search::Answer;
  Search s(search, probe);
  const std::size_t n = s.probes().front().responses.size();
  const std::size_t lower_median = (n + 1) / 2, upper_median = n / 2 + 1;
  TippingPoint result;
  const auto lower = s.close_in_from_below(lower_median);
  const auto upper = s.close_in_from_above(upper_median);
  if (lower && upper) {
    const bool same = lower->low == upper->low && lower->high == upper->high;
    result.d50 = same || lower_median == upper_median
                     ? TippingBracket{lower->low, upper->high}
                     : TippingBracket{lower->middle(), upper->middle()};
    const MedianRank median = median_rank(n);
    result.rank = median.rank;
    result.coverage = median.coverage;
    if (median.rank > 0) {
      const auto first = s.close_in_from_below(median.rank);
      const auto last = s.close_in_from_above(n + 1 - median.rank);
      if (first) result.ci_first = first->low;
      if (last) result.ci_last = last->high;
    }
  } else if (s.tips_at_first(upper_median) == Answer::kYes &&
             s.tips_at_last(lower_median) == Answer::kNo) {
    result.outcome = TippingOutcome::kEndsExchanged;
  } else if (s.tips_at_last(upper_median) == Answer::kNo) {
    result.outcome = TippingOutcome::kRecoversAtLast;
  } else if (s.tips_at_first(lower_median) == Answer::kYes) {
    result.outcome = TippingOutcome::kTipsAtFirst;
  } else {
    result.outcome = TippingOutcome::kNotJudged;
  }
  result.probes = std::move(s.probes());
  for (std::size_t r = 0; r < n; ++r) result.thresholds.push_back(threshold_of(result.probes, r));
  return result;
}

}  // namespace stats

}  // namespace retrysim

namespace retrysim::stats {

// --- Lifetimes -----------------------------------------------------------------------------------

namespace {

constexpr double kHalf = 0.5;
constexpr double kRounding = 1e-9;  // rounding error of a product of quotients that should be 0.5

/// The first step from which `value` is at most one half; infinite if there is none.
template <class Value>
double first_below_half(std::span<const SurvivalStep> steps, Value value) {
  for (const SurvivalStep& s : steps) {
    if (value(s) <= kHalf + kRounding) return s.time;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<SurvivalStep> kaplan_meier(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> sorted(lifetimes.begin(), lifetimes.end());
  std::sort(sorted.begin(), sorted.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.time != b.time ? a.time < b.time : !a.censored && b.censored;
  });
  std::vector<SurvivalStep> steps;
  double survival = 1;
  double variance = 0;  // variance of the logarithm of `survival`
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t at_risk = sorted.size() - i;
    std::size_t events = 0;
    const double time = sorted[i].time;
    for (; i < sorted.size() && sorted[i].time == time; ++i) events += sorted[i].censored ? 0 : 1;
    if (events == 0) continue;
    const double n = static_cast<double>(at_risk), d = static_cast<double>(events);
    survival *= (n - d) / n;
    if (events < at_risk) variance += d / (n * (n - d));
    steps.push_back({time, survival, survival * std::sqrt(variance), at_risk});
  }
  return steps;
}

std::optional<MedianLifetime> median_lifetime(std::span<const Lifetime> lifetimes) {
  if (lifetimes.empty()) return std::nullopt;
  const std::vector<SurvivalStep> steps = kaplan_meier(lifetimes);
  MedianLifetime result;
  for (std::size_t i = 0; i < steps.size() && !result.median; ++i) {
    if (steps[i].survival > kHalf + kRounding) continue;
    const bool exactly = steps[i].survival >= kHalf - kRounding && i + 1 < steps.size();
    result.median = exactly ? (steps[i].time + steps[i + 1].time) / 2 : steps[i].time;
  }
  const auto margin = [](const SurvivalStep& s) { return kNormal95 * s.standard_error; };
  result.low = first_below_half(steps, [&](const auto& s) { return s.survival - margin(s); });
  result.high = first_below_half(steps, [&](const auto& s) { return s.survival + margin(s); });
  return result;
}

}  // namespace retrysim::stats
