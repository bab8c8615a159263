// The best of several systems by a fully sequential race: each is observed again and again, and
// leaves as soon as another one is clearly better. Knows nothing of simulations; it is fed numbers.
//
// There are two procedures, for k systems with the error
//     beta = (1 - confidence) / (k - 1 + number of limits)
// for each comparison.
//
// **Bounds** needs no distribution, only the range of the observations. It concludes that one
// system's mean exceeds another's by more than m once a gambler who bets against the opposite at
// fair odds has multiplied the stake by 1 / beta. The gambler divides the stake among fixed bets,
//     capital after r observations = sum over b of w_b prod_{s <= r} (1 + b (d_s - m))
// with d the differences, b = 1/W, 1/(2W), ... and W the width of the range, half of the stake on
// the largest. If the mean of d is at most m, this is a nonnegative supermartingale, which reaches
// 1 / beta at any time with probability at most beta (Ville 1939), for any distribution. The system
// with the best mean of those that are known to keep all limits removes every system that it is
// better than (m = 0); it is selected once no other one is better than it by more than the
// indifference zone (m = -zone). With probability `confidence` the selected system is within the
// zone of the best one that keeps the limits: the best one is lost only if one of the k - 1 others
// wins a bet against it, or a bet against one of its limits is won. That holds for all zones at
// once, so the zone may depend on the observations. The price: it takes about
// log(2 / beta) / p observations to rule out a loss of the whole range that happens in a share p of
// them.
//
// **Normal** is procedure KN. With
//     h2    = ((1.6 beta)^(-2 / (n0 - 1)) - 1) (n0 - 1)        n0 observations: the first stage
//     kappa = ((0.05 beta)^(-2 / (n0 - 1)) - 1) (n0 - 1) / 2
// system i loses to l once the sum of l's r observations exceeds that of i by more than
//     max(0, h2 S^2 / (2 delta) - delta r / 2)
// where delta is the indifference zone and S^2 the sample variance of their differences, in the
// first stage or in all observations so far, whichever is larger: where differences are skewed, a
// first stage often shows too little of them. With `least_observations`, where one observation
// makes up more of it than in any normal sample (Grubbs' test at 0.1 %, and more than 15 %), S^2 is
// its squared distance from the mean. Where no boundary is left, the larger sum wins. This
// is KN with c = 1 and the error 0.8 beta: h2 = 2 eta (n0 - 1), and its eta solves
// (1 + 2 eta)^(-(n0 - 1) / 2) / 2 = 0.8 beta. Because S^2 is the variance of the differences,
// common random numbers make the race shorter.
//
// KN is designed for differences hardly larger than delta. A difference D needs about
// h2 S^2 / (2 delta D) observations to cross its boundary, where S^2 / D^2 would do. Therefore the
// rest of beta goes to four straight lines, of slopes s = 2, 8, 32 and 128 delta: i also loses if
// the sum of l exceeds that of i by more than
//     kappa S^2 / (2 (delta + s)) + s r
// Sums of differences that fall by delta or more each time rise above such a line, ever, with
// probability exp(-kappa S^2 / sigma^2) at most, which is 0.05 beta on average over S^2. With them
// a difference of more than 4 delta takes about 2 to 3 kappa S^2 / D^2 observations.
//
// Any number of observations may lie between two judgements: the bounds hold for processes observed
// at any time.
//
// A limit on the mean of another number is tested in the same ways, with the distance from the
// bound instead of the difference and the limit's tolerance instead of delta. All tests run side by
// side. A comparison of KN is decided when it first leaves its boundary, whatever happens later,
// but only systems that are known to keep all limits remove others by it.
//
// What Normal promises: if the observations are independent and (jointly) normal, no system's mean
// is within delta of the best one's and none is within a tolerance of a limit, the best system that
// keeps the limits is selected with probability `confidence` or more. The best one is lost only if
// it fails one of its limits, or if one of the k - 1 others passes the limit that it breaks or wins
// the comparison that it should lose: k - 1 + limits events of probability beta at most.
//
// Sources: Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting,
// Journal of the Royal Statistical Society B 86, 1-27 (bounds; a race by bounds is Maron and Moore
// 1994, Hoeffding races, NIPS 6). Kim and Nelson 2001, A fully sequential procedure for
// indifference-zone selection in simulation, ACM TOMACS 11, 251-273 (KN). Kim and Nelson 2006, On
// the asymptotic validity of fully sequential selection procedures, Operations Research 54, 475-488
// (variances that are updated). Robbins 1970, Statistical methods related to the law of the
// iterated logarithm, Annals of Mathematical Statistics 41, 1397-1409 (lines). Batur and Kim 2010,
// Finding feasible systems in the presence of constraints on multiple performance measures, ACM
// TOMACS 20, 13 (limits). Andradottir and Kim 2010, Fully sequential procedures for comparing
// constrained systems via simulation, Naval Research Logistics 57, 403-421 (both at once). Healey,
// Andradottir and Kim 2014, ACM TOMACS 24, 14 (several limits, common random numbers).
//
//     Selection race({.systems = 2, .indifference = 1});
//     while (!race.finished()) {
//       for (const std::size_t i : race.racing()) race.add(i, observe(i));
//       if (race.observations(race.racing().front()) >= 20) race.judge();
//     }
//     if (race.best()) ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retrysim {

/// The range in which all observations of a number lie.
struct SelectionRange {
  double low = 0, high = 1;
  double width() const { return high - low; }
};

/// A limit on the mean of a number other than the aim.
struct SelectionLimit {
  double bound = 0;
  bool at_least = false;  ///< otherwise at most
  double tolerance = 0;   ///< above 0; a mean this near to the bound may be judged either way
  std::optional<SelectionRange> range = std::nullopt;  ///< if given, this limit is tested by bounds
};

struct SelectionRules {
  std::size_t systems = 0;  ///< number of systems, at least 2
  bool maximize = true;     ///< otherwise the smallest mean is the best
  /// Differences of means smaller than this do not matter. 0: the first judgement sets it to 1 % of
  /// the best mean, or more if `patience` observations of each system would not tell that apart.
  double indifference = 0;
  double confidence = 0.95;  ///< probability of a correct selection, above 1/2 and below 1
  std::vector<SelectionLimit> limits = {};
  /// If given, the procedure is Bounds, otherwise Normal.
  std::optional<SelectionRange> range = std::nullopt;
  std::size_t patience = 1000;
  /// For skewed laws, whose samples look normal until the first of the rare large values comes:
  /// Normal decides nothing before this many observations, and beyond 2 it looks at outliers.
  std::size_t least_observations = 2;
  /// By how much the means of two systems may differ because of what is too rare to be counted in
  /// so many observations of each: Normal decides nothing between two whose means are no farther
  /// apart.
  std::function<double(std::size_t, std::size_t, std::size_t observations)> unseen = {};
};

/// The state of one system.
struct SelectionState {
  SelectionFate fate = SelectionFate::kRacing;
  std::size_t observations = 0;
  double sum = 0;               ///< sum of the aim
  std::vector<double> limited;  ///< sums of the numbers that have limits
  std::vector<bool> keeps;      ///< for each limit, whether the system is known to keep it
  std::size_t by = 0;           ///< the system that beat it, or the limit that it breaks
};

class Selection {
 public:
  /// Throws std::invalid_argument if the rules are not within the ranges above.
  explicit Selection(SelectionRules rules);

  /// One more observation of a system in the race: the aim and, for each limit, its number. The
  /// r-th observations of all systems may, and should, be correlated. Throws std::invalid_argument
  /// if the system is not in the race, or a number is missing, not finite or out of its range.
  void add(std::size_t system, double aim, std::span<const double> limited = {});

  /// Takes a system out of the race that cannot be observed. The promise does not cover this.
  void drop(std::size_t system);

  /// Decides which systems leave. The first call ends the first stage. Throws std::logic_error
  /// unless all systems in the race have the same number of observations, at least 2.
  void judge();

  /// Whether one system is left and keeps all limits, or none is left.
  bool finished() const;
  /// The selected system; exists if `finished` and not all have left.
  std::optional<std::size_t> best() const;
  std::vector<std::size_t> racing() const;
  const SelectionState& state(std::size_t system) const { return states_[system]; }
  std::size_t observations(std::size_t system) const { return states_[system].observations; }
  double mean(std::size_t system) const;
  double limited_mean(std::size_t system, std::size_t limit) const;

  /// The rules, with the indifference zone that the first judgement set, if none was given.
  const SelectionRules& rules() const { return rules_; }
  /// Observations of each system in the first stage; 0 before the first judgement.
  std::size_t first_stage() const { return first_stage_; }
  /// Observations of the whole race.
  std::size_t observations() const;
  /// How many observations of each system still racing end the race: at the latest (Normal, if the
  /// variances stay as they are; empty while `unseen` keeps it open), or probably, if future
  /// observations are like those so far (Bounds; empty if it would never end). Call it after the
  /// first judgement.
  std::optional<std::size_t> most_observations() const;
  /// Among the systems that still race, the one with the best mean of those that are known to keep
  /// all limits.
  std::optional<std::size_t> leader() const;
  /// No system still racing has a mean that is better than `system`'s by more than this, with
  /// probability `confidence` (Bounds: at any time; Normal: Student intervals by Bonferroni, if it
  /// is asked once).
  double margin(std::size_t system) const;
  /// Observations of each system that a two-stage procedure needs for the same promise if it
  /// observes all systems equally often: max(n0, t^2 S^2 / delta^2) with the largest S^2 and
  /// Student's quantile t at 1 - beta, n0 - 1 degrees of freedom (Clark and Yang 1986, A Bonferroni
  /// selection procedure when using common random numbers with unknown variances, Winter Simulation
  /// Conference), and likewise for limits. Call it after the first judgement. 0 if anything is
  /// tested by bounds.
  std::size_t equal_allocation() const;

  /// The error probability beta of each comparison.
  static double error_of_each(const SelectionRules& rules);
  /// h2 of KN and kappa of a line, which are wrong with probability `error`.
  static double h2(double error, std::size_t first_stage);
  static double kappa(double error, std::size_t first_stage);
  /// The largest factor by which the gambler of Bounds has multiplied the stake so far, betting
  /// against "the mean is at most `claim`" with numbers none of which is below `claim` by more than
  /// `worst`.
  static double most_capital(std::span<const double> numbers, double claim, double worst);

 private:
  enum class Decision : std::uint8_t { kOpen, kFirstWins, kSecondWins };
  /// The statistics of two numbers, or of one against a bound, observation by observation.
  struct Spread {
    std::size_t count = 0;
    double mean = 0, squares = 0;  ///< mean of the values; sum of squared distances from it
    double first = 0;              ///< sample variance in the first stage
    double low = 0, high = 0;      ///< least and greatest value
    void add(double value);
    /// The larger of the first stage's variance and that of all values; or the largest squared
    /// distance from the mean, if that is more than `normal_share` of the sum of all.
    double variance(double normal_share = 1) const;
  };
  struct Pair {
    Spread spread;
    Decision decision = Decision::kOpen;
  };
  /// [the aim, then each limit][observation]
  using History = std::vector<std::vector<double>>;

  void end_first_stage();
  void choose_zone();
  double boundary(double variance, double zone, std::size_t observations) const;
  Pair& pair(std::size_t first, std::size_t second);
  const Pair& pair(std::size_t first, std::size_t second) const;
  bool has_won(std::size_t system, std::size_t other) const;
  bool keeps_limits(std::size_t system) const;
  void judge_limits(std::size_t system);
  std::optional<bool> keeps_limit(std::size_t system, std::size_t limit) const;
  bool is_hidden(std::size_t first, std::size_t second) const;
  void judge_pair(std::size_t first, std::size_t second);
  void remove_losers();
  void judge_by_bounds();
  bool is_worse(std::size_t system, std::size_t than) const;
  /// By how much each observation of `system` is better than that of `other`.
  std::vector<double> leads(std::size_t system, std::size_t other) const;
  void leave(std::size_t loser, std::size_t winner);

  SelectionRules rules_;
  std::size_t first_stage_ = 0;
  double h2_ = 0, kappa_ = 0;
  double normal_share_ = 1;  ///< largest share of a sum of squares for one observation
  std::vector<SelectionState> states_;
  std::vector<History> history_;
  std::vector<Pair> pairs_;                   // pairs with second > first, row by row; Normal only
  std::vector<std::vector<Spread>> spreads_;  // [system][limit]
};

}  // namespace retrysim
