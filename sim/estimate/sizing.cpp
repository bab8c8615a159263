// SPDX-License-Identifier: MIT
#include "estimate/sizing.hpp"

#include "estimate/intervals.hpp"
#include "kernel/boost_math.hpp"
#include "kernel/functions.hpp"
#include "kernel/stop.hpp"

#include <boost/math/distributions/chi_squared.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace retrysim {

const SizeProbe* SizeAnswer::find(std::size_t place) const {
  const auto found = std::ranges::find(probes, place, &SizeProbe::place);
  return found == probes.end() ? nullptr : &*found;
}

std::size_t SizeAnswer::runs() const {
  std::size_t all = 0;
  for (const SizeProbe& p : probes) all += p.runs;
  return all;
}

}  // namespace retrysim

namespace retrysim::stats {

std::vector<std::size_t> survey_of(const SizeSearch& search) {
  constexpr std::size_t kMost = 9;
  const std::size_t n = std::min(kMost, search.values);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < n; ++i) places.push_back(i * (search.values - 1) / (n - 1));
  return places;
}

namespace {

void check(const SizeSearch& s) {
  if (s.values < 2) throw std::invalid_argument("a search needs at least two values");
  if (!(s.share > 0 && s.share < 1)) throw std::invalid_argument("a share is between 0 and 1");
  if (!(s.confidence >= 0.5 && s.confidence < 1)) {
    throw std::invalid_argument("a confidence is from 0.5 to less than 1");
  }
  if (s.first_stage < 2 || s.most_runs < s.first_stage) {
    throw std::invalid_argument("the first stage has at least 2 runs, and no more than allowed");
  }
}

/// The widest distance between neighbours of the survey.
std::size_t widest_gap(const std::vector<std::size_t>& survey) {
  std::size_t widest = 1;
  for (std::size_t i = 1; i < survey.size(); ++i) {
    widest = std::max(widest, survey[i] - survey[i - 1]);
  }
  return widest;
}

/// The error probability of each test.
double error_of_each(const SizeSearch& search) {
  const std::size_t halvings = std::bit_width(widest_gap(survey_of(search)));
  return (1 - search.confidence) / static_cast<double>(2 + halvings);
}

/// Bets against "at most this share of runs is good", at fair odds: the capital is a mixture of
/// likelihood ratios, each of a larger share against the claim. It grows by a factor of 1/error
/// with no more than that probability, at any number of runs, if the claim is true (Ville's
/// inequality).
///
/// The larger shares are those that `most` runs can just tell from the claim, half as many, a
/// quarter, and so on, and 1. A share that no allowed number of runs can tell has no stake: it
/// would only delay the others.
class ShareBets {
 public:
  /// `of_one`: the part of the stake that goes on the share 1, which is for runs that are all good.
  ShareBets(double claim, double error, std::size_t most, double of_one) : wanted_(1 / error) {
    constexpr double kMore = 1.4;  // runs that a stake smaller than the whole needs
    constexpr double kLess = 0.7;  // stakes of shares that fewer runs tell: there they cost less
    constexpr double kNearOne = 0.8;
    ratios_.push_back({1 / claim, 0});
    stakes_.push_back(of_one);
    const double of_all_good = -kernel::log(claim);
    double stake = 1, sum = 0;
    for (auto n = static_cast<double>(most); n >= 1; n /= 2, stake *= kLess) {
      const double divergence = kMore * kernel::log(wanted_) / n;
      if (divergence > kNearOne * of_all_good) break;
      const double share = share_at(claim, divergence);
      ratios_.push_back({share / claim, (1 - share) / (1 - claim)});
      stakes_.push_back(stake);
      sum += stake;
    }
    for (std::size_t i = 1; i < stakes_.size(); ++i) stakes_[i] *= (1 - of_one) / sum;
  }

  /// What has become of the stakes.
  struct Capital {
    std::vector<double> parts;
    double most = 0;  ///< that all parts together have been so far
  };
  Capital start() const { return {stakes_, 0}; }

  void add(Capital& capital, bool is_good) const {
    double sum = 0;
    for (std::size_t i = 0; i < ratios_.size(); ++i) {
      capital.parts[i] *= is_good ? ratios_[i].if_good : ratios_[i].if_bad;
      sum += capital.parts[i];
    }
    capital.most = std::max(capital.most, sum);
  }
  bool wins(const Capital& capital) const { return capital.most >= wanted_; }

  /// How many more runs, all of them good, win; `most` if even those do not.
  std::size_t good_ones_to_win(Capital capital, std::size_t most) const {
    for (std::size_t n = 0; n < most; ++n) {
      if (wins(capital)) return n;
      add(capital, true);
    }
    return most;
  }

  /// Whether `runs` more runs win, of which this share is good, at even distances.
  bool would_win(Capital capital, double share, std::size_t runs) const {
    const double good = std::clamp(share, 0.0, 1.0);
    for (std::size_t i = 0; i < runs && !wins(capital); ++i) {
      const auto made = static_cast<double>(i);
      add(capital, std::floor((made + 1) * good) > std::floor(made * good));
    }
    return wins(capital);
  }

 private:
  struct Ratio {
    double if_good, if_bad;
  };

  /// The share above `claim` whose Kullback-Leibler divergence from it, by which the logarithm of
  /// the capital grows a run, is so much.
  static double share_at(double claim, double divergence) {
    double low = claim, high = 1;
    for (int i = 0; i < 50; ++i) {
      const double p = (low + high) / 2;
      const double here = p * kernel::log(p / claim) + (1 - p) * kernel::log((1 - p) / (1 - claim));
      (here < divergence ? low : high) = p;
    }
    return low;
  }

  double wanted_;
  std::vector<Ratio> ratios_;   // by share
  std::vector<double> stakes_;  // likewise
};

/// Bets that a value is safe, within so many runs; those that it is not count bad runs as good
/// ones.
ShareBets bets_on_safe(const SizeSearch& search, std::size_t most) {
  constexpr double kOfOne = 0.5;  // where a value is safe its runs are often all good
  return {search.share, error_of_each(search), most, kOfOne};
}
ShareBets bets_on_unsafe(const SizeSearch& search) {
  constexpr double kOfOne = 0.1;
  return {1 - search.share, error_of_each(search), search.most_runs, kOfOne};
}

/// The values that were tried, each with its runs.
class Tested {
 public:
  Tested(const SizeSearch& search, const SizeRuns& ask)
      : search_(search),
        ask_(ask),
        on_safe_(bets_on_safe(search, search.most_runs)),
        on_unsafe_(bets_on_unsafe(search)) {}

  /// Tests a place until its verdict is known, or its first stage has only good runs; with
  /// `firmly`, until the verdict is known. Stops anyway where runs up to `most_runs` would hardly
  /// tell.
  const SizeProbe& test(std::size_t place, bool firmly) {
    State& state =
        states_.try_emplace(place, State{{}, on_safe_.start(), on_unsafe_.start()}).first->second;
    SizeProbe& probe = state.probe;
    probe.place = place;
    while (true) {
      if (probe.runs >= search_.first_stage) {
        judge(state);
        const bool is_known =
            probe.verdict == SizeVerdict::kSafe || probe.verdict == SizeVerdict::kUnsafe;
        if (is_known || (probe.verdict == SizeVerdict::kLikely && !firmly)) return probe;
        if (!may_be_decided(state)) {
          probe.verdict = SizeVerdict::kOpen;
          return probe;
        }
      }
      stop_point();
      const std::size_t next = next_stage(state);
      for (const bool is_good : ask_(place, probe.runs, next)) {
        on_safe_.add(state.safe, is_good);
        on_unsafe_.add(state.unsafe, !is_good);
        probe.good += is_good ? 1 : 0;
      }
      probe.runs = next;
    }
  }

  std::vector<SizeProbe> probes() const {
    std::vector<SizeProbe> all;
    for (const auto& [place, state] : states_) {
      all.push_back(state.probe);
      const ProportionInterval interval = exact_interval(state.probe.good, state.probe.runs);
      all.back().low = interval.low;
      all.back().high = interval.high;
    }
    return all;
  }

 private:
  struct State {
    SizeProbe probe;
    ShareBets::Capital safe, unsafe;
  };

  void judge(State& state) const {
    SizeProbe& probe = state.probe;
    if (on_safe_.wins(state.safe)) {
      probe.verdict = SizeVerdict::kSafe;
    } else if (on_unsafe_.wins(state.unsafe)) {
      probe.verdict = SizeVerdict::kUnsafe;
    } else {
      probe.verdict = probe.good == probe.runs && probe.runs < search_.most_runs && probe.good > 0
                          ? SizeVerdict::kLikely
                          : SizeVerdict::kOpen;
    }
  }

  /// Whether the runs that are left would decide if they went on as those so far, give or take a
  /// few standard errors.
  bool may_be_decided(const State& state) const {
    constexpr double kErrors = 2;  // with fewer, values that all runs would tell are given up
    const std::size_t n = state.probe.runs;
    if (n >= search_.most_runs) return false;
    const std::size_t left = search_.most_runs - n;
    const double share = static_cast<double>(state.probe.good) / static_cast<double>(n);
    const double error = kErrors * std::sqrt(share * (1 - share) / static_cast<double>(n));
    return on_safe_.would_win(state.safe, share + error, left) ||
           on_unsafe_.would_win(state.unsafe, 1 - share + error, left);
  }

  /// Number of runs after the next stage: as many as it takes to decide if all further ones are
  /// good, or all are bad, but at least a twentieth more than now.
  std::size_t next_stage(const State& state) const {
    const std::size_t n = state.probe.runs;
    if (n < search_.first_stage) return search_.first_stage;
    const std::size_t most = search_.most_runs - n;
    const std::size_t more = std::min(on_safe_.good_ones_to_win(state.safe, most),
                                      on_unsafe_.good_ones_to_win(state.unsafe, most));
    return std::min(search_.most_runs, n + std::max(more, n / 20));
  }

  const SizeSearch& search_;
  const SizeRuns& ask_;
  const ShareBets on_safe_, on_unsafe_;
  std::map<std::size_t, State> states_;
};

/// The conclusion from the values that were tried, by place.
class Conclusion {
 public:
  Conclusion(const SizeSearch& search, bool wants_largest, std::vector<SizeProbe> probes)
      : search_(search), probes_(std::move(probes)) {
    answer_.is_largest = wants_largest;
  }

  SizeAnswer conclude() {
    const auto passes = [](const SizeProbe& p) { return p.passes(); };
    const auto passing = std::ranges::count_if(probes_, passes);
    if (passing == 0) {
      const bool none = std::ranges::all_of(
          probes_, [](const SizeProbe& p) { return p.verdict == SizeVerdict::kUnsafe; });
      answer_.outcome = none ? SizeOutcome::kNoneSafe : SizeOutcome::kOpen;
    } else if (takes_turns()) {
      answer_.outcome = SizeOutcome::kNotMonotone;
    } else if (passes(probes_.front()) && passes(probes_.back())) {
      answer_.outcome = SizeOutcome::kAllSafe;
      answer_.at = (answer_.is_largest ? probes_.back() : probes_.front()).place;
    } else if (!passes(probes_.front()) && !passes(probes_.back())) {
      window();
    } else {
      answer_.is_largest = passes(probes_.front());
      edge();
    }
    answer_.is_flat = is_flat();
    answer_.probes = std::move(probes_);
    return std::move(answer_);
  }

 private:
  /// Whether a value that is not safe lies between two that are.
  bool takes_turns() const {
    bool seen = false, left = false;
    for (const SizeProbe& p : probes_) {
      if (p.passes() && left) return true;
      seen |= p.passes();
      left |= seen && p.verdict == SizeVerdict::kUnsafe;
    }
    return false;
  }

  void window() {
    answer_.outcome = SizeOutcome::kWindow;
    for (const SizeProbe& p : probes_) {
      if (!p.passes()) continue;
      if (!answer_.at) answer_.at = p.place;
      answer_.to = p.place;
    }
  }

  /// Finds the edge, going from the safe end inwards.
  void edge() {
    std::vector<const SizeProbe*> inwards;
    for (const SizeProbe& p : probes_) inwards.push_back(&p);
    if (!answer_.is_largest) std::ranges::reverse(inwards);
    auto at = inwards.begin();
    while (at != inwards.end() && (*at)->passes()) ++at;
    const SizeProbe& last = **std::prev(at);
    answer_.at = last.place;
    bool more_safe = false;
    for (auto p = at; p != inwards.end(); ++p) more_safe |= (*p)->passes();
    for (auto p = at; p != inwards.end() && !answer_.beyond; ++p) {
      const bool safe_behind =
          std::any_of(p, inwards.end(), [](const SizeProbe* q) { return q->passes(); });
      if ((*p)->verdict == SizeVerdict::kUnsafe && !safe_behind) answer_.beyond = (*p)->place;
    }
    const bool beside = answer_.beyond && (answer_.is_largest ? *answer_.beyond == *answer_.at + 1
                                                              : *answer_.beyond + 1 == *answer_.at);
    answer_.outcome = beside && !more_safe && last.verdict == SizeVerdict::kSafe
                          ? SizeOutcome::kFound
                          : SizeOutcome::kBracket;
  }

  /// Whether the shares of good runs differ by no more than chance: by a chi-squared test of all,
  /// and by one of each against all others with Bonferroni's correction, since a single one among
  /// many is overlooked otherwise.
  bool is_flat() const {
    double good = 0, all = 0;
    for (const SizeProbe& p : probes_) {
      good += static_cast<double>(p.good);
      all += static_cast<double>(p.runs);
    }
    if (good == 0 || good == all) return true;
    const double share = good / all;
    double sum = 0, most = 0;
    for (const SizeProbe& p : probes_) {
      const auto n = static_cast<double>(p.runs);
      const double off = static_cast<double>(p.good) - n * share;
      const double chi = off * off / (n * share * (1 - share));
      sum += chi;
      most = std::max(most, chi * all / (all - n));
    }
    const auto values = static_cast<double>(probes_.size());
    const boost::math::chi_squared of_all(values - 1), of_one(1);
    return sum <= quantile(of_all, search_.confidence) &&
           most <= quantile(of_one, 1 - (1 - search_.confidence) / values);
  }

  const SizeSearch& search_;
  std::vector<SizeProbe> probes_;
  SizeAnswer answer_;
};

/// The middle between neighbouring tried values of which one is safe and the other not, if there
/// are values between them; the upper edges first.
std::vector<std::size_t> middles(const std::vector<SizeProbe>& probes) {
  constexpr std::size_t kMostEdges = 4;
  std::vector<std::size_t> places;
  std::size_t edges = 0;
  for (std::size_t i = probes.size(); i-- > 1 && edges < kMostEdges;) {
    if (probes[i].passes() == probes[i - 1].passes()) continue;
    ++edges;
    if (probes[i].place - probes[i - 1].place < 2) continue;
    places.push_back((probes[i].place + probes[i - 1].place) / 2);
  }
  return places;
}

/// The values that have to be known for sure, and those at which the curve is looked at again.
struct ToTest {
  std::vector<std::size_t> firmly, look;
};

class NextTests {
 public:
  NextTests(const SizeSearch& search, const SizeAnswer& answer) : search_(search), a_(answer) {}

  ToTest find() {
    switch (a_.outcome) {
      case SizeOutcome::kFound:
      case SizeOutcome::kBracket:
        edge();
        break;
      case SizeOutcome::kAllSafe:
      case SizeOutcome::kWindow:
        firmly(a_.at);
        firmly(a_.to);
        break;
      case SizeOutcome::kNotMonotone:
        for (const SizeProbe& p : a_.probes) firmly(p.place);
        break;
      case SizeOutcome::kNoneSafe:
      case SizeOutcome::kOpen:
        break;
    }
    return std::move(next_);
  }

 private:
  void firmly(std::optional<std::size_t> place) {
    const SizeProbe* p = place ? a_.find(*place) : nullptr;
    if (p != nullptr && p->verdict == SizeVerdict::kLikely) next_.firmly.push_back(*place);
  }

  void edge() {
    const auto at = static_cast<std::ptrdiff_t>(*a_.at);
    const std::ptrdiff_t inwards = a_.is_largest ? -1 : 1;
    const auto place = [&](std::ptrdiff_t steps) -> std::optional<std::size_t> {
      const std::ptrdiff_t p = at + steps * inwards;
      if (p < 0 || p >= static_cast<std::ptrdiff_t>(search_.values)) return std::nullopt;
      return static_cast<std::size_t>(p);
    };
    firmly(a_.at);
    firmly(place(-1));
    if (!a_.beyond) firmly((a_.is_largest ? a_.probes.back() : a_.probes.front()).place);
    for (const int steps : {1, -2}) {
      const auto beside = place(steps);
      if (beside && a_.find(*beside) == nullptr) next_.look.push_back(*beside);
    }
  }

  const SizeSearch& search_;
  const SizeAnswer& a_;
  ToTest next_;
};

}  // namespace

std::size_t least_runs(const SizeSearch& search) {
  constexpr std::size_t kMost = 100'000;
  const ShareBets bets = bets_on_safe(search, 0);  // on the share 1 only: for any `most_runs`
  return bets.good_ones_to_win(bets.start(), kMost);
}

SizeAnswer search_size(const SizeSearch& search, bool wants_largest, const SizeRuns& runs) {
  check(search);
  Tested tested(search, runs);
  for (const std::size_t place : survey_of(search)) tested.test(place, false);
  while (true) {
    const std::vector<std::size_t> between = middles(tested.probes());
    for (const std::size_t place : between) tested.test(place, false);
    if (!between.empty()) continue;
    SizeAnswer answer = Conclusion(search, wants_largest, tested.probes()).conclude();
    const ToTest more = NextTests(search, answer).find();
    if (more.firmly.empty() && more.look.empty()) return answer;
    for (const std::size_t place : more.firmly) tested.test(place, true);
    if (more.firmly.empty()) {
      for (const std::size_t place : more.look) tested.test(place, false);
    }
  }
}

}  // namespace retrysim::stats
