// SPDX-License-Identifier: MIT
#include "estimate/sizing.hpp"

#include "estimate/intervals.hpp"
#include "estimate/selection.hpp"
#include "kernel/boost_math.hpp"
#include "kernel/stop.hpp"

#include <boost/math/distributions/chi_squared.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>
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

/// The values that were tried, each with its runs.
class Tested {
 public:
  Tested(const SizeSearch& search, const SizeRuns& ask) : search_(search), ask_(ask) {
    error_ = error_of_each(search);
  }

  /// Tests a place until its verdict is known, or its first stage has only good runs; with
  /// `firmly`, until the verdict is known. Stops anyway where runs up to `most_runs` would hardly
  /// tell.
  const SizeProbe& test(std::size_t place, bool firmly) {
    State& state = states_[place];
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
        state.runs.push_back(is_good ? 1 : 0);
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
    std::vector<double> runs;  // 1: good, 0: bad
  };

  /// Whether bets against "the mean is at most `claim`" have multiplied the stake by `wanted`.
  static bool wins(std::span<const double> numbers, double claim, double wanted) {
    return Selection::most_capital(numbers, claim, claim) >= wanted;
  }

  static std::vector<double> opposite(const std::vector<double>& runs) {
    std::vector<double> bad;
    for (const double r : runs) bad.push_back(1 - r);
    return bad;
  }

  void judge(State& state) const {
    SizeProbe& probe = state.probe;
    if (wins(state.runs, search_.share, 1 / error_)) {
      probe.verdict = SizeVerdict::kSafe;
    } else if (wins(opposite(state.runs), 1 - search_.share, 1 / error_)) {
      probe.verdict = SizeVerdict::kUnsafe;
    } else {
      probe.verdict = probe.good == probe.runs && probe.runs < search_.most_runs && probe.good > 0
                          ? SizeVerdict::kLikely
                          : SizeVerdict::kOpen;
    }
  }

  /// How many more runs, all of them 1, win the bets; `most` if even those do not.
  static std::size_t ones_to_win(std::vector<double> numbers, double claim, double wanted,
                                 std::size_t most) {
    const std::size_t n = numbers.size();
    numbers.resize(n + most, 1);
    std::size_t low = 0, high = most;
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      (wins(std::span(numbers).first(n + middle), claim, wanted) ? high : low) = middle;
    }
    return high;
  }

  /// Whether the runs that are left would decide if they went on as those so far, give or take a
  /// few standard errors.
  bool may_be_decided(const State& state) const {
    constexpr double kErrors = 2.5;  // with fewer, values that all runs would tell are given up
    const std::size_t n = state.probe.runs;
    if (n >= search_.most_runs) return false;
    const double share = static_cast<double>(state.probe.good) / static_cast<double>(n);
    const double error = kErrors * std::sqrt(share * (1 - share) / static_cast<double>(n));
    return wins(continued(state.runs, share + error), search_.share, 1 / error_) ||
           wins(opposite(continued(state.runs, share - error)), 1 - search_.share, 1 / error_);
  }

  /// The runs, and as many more as are allowed, of which a share is good at even distances.
  std::vector<double> continued(std::vector<double> runs, double share) const {
    const double good = std::clamp(share, 0.0, 1.0);
    const std::size_t n = runs.size();
    runs.resize(search_.most_runs);
    for (std::size_t i = n; i < runs.size(); ++i) {
      const auto made = static_cast<double>(i - n);
      runs[i] = std::floor((made + 1) * good) - std::floor(made * good);
    }
    return runs;
  }

  /// Number of runs after the next stage: as many as it takes to decide if all further ones are
  /// good, or all are bad, but at least a tenth more than now.
  std::size_t next_stage(const State& state) const {
    const std::size_t n = state.probe.runs;
    if (n < search_.first_stage) return search_.first_stage;
    const std::size_t most = search_.most_runs - n;
    const std::size_t more =
        std::min(ones_to_win(state.runs, search_.share, 1 / error_, most),
                 ones_to_win(opposite(state.runs), 1 - search_.share, 1 / error_, most));
    return std::min(search_.most_runs, n + std::max(more, n / 10));
  }

  const SizeSearch& search_;
  const SizeRuns& ask_;
  double error_ = 0;
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
  const std::vector<double> good(kMost, 1);
  std::size_t low = 0, high = kMost;
  while (low + 1 < high) {
    const std::size_t n = (low + high) / 2;
    const double capital =
        Selection::most_capital(std::span(good).first(n), search.share, search.share);
    (capital >= 1 / error_of_each(search) ? high : low) = n;
  }
  return high;
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
