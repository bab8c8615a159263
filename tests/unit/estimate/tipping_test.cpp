// Bisection for a tipping point on responses made up for the purpose.
//
// SPDX-License-Identifier: MIT
#include "estimate/tipping.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

using namespace retrysim;
using namespace retrysim::stats;

namespace {

/// Replication r tips from thresholds[r] on.
std::function<std::vector<TippingResponse>(double)> steps(std::vector<double> thresholds) {
  return [thresholds](double value) {
    std::vector<TippingResponse> responses;
    for (const double t : thresholds) {
      responses.push_back(value >= t ? TippingResponse::kTips : TippingResponse::kRecovers);
    }
    return responses;
  };
}

std::vector<double> one_to(std::size_t n) {
  std::vector<double> thresholds;
  for (std::size_t i = 1; i <= n; ++i) thresholds.push_back(static_cast<double>(i));
  return thresholds;
}

}  // namespace

TEST_CASE("bisection closes in on the median and its interval") {
  const TippingPoint p = bisect({0.1, 30, 0.001, false}, steps(one_to(21)));
  CHECK(p.outcome == TippingOutcome::kFound);
  REQUIRE(p.d50);
  CHECK(p.d50->low < 11);
  CHECK(p.d50->high >= 11);
  CHECK(p.d50->high - p.d50->low <= 0.011);
  // 6th smallest and 6th largest of 21.
  CHECK(p.rank == 6);
  CHECK(*p.ci_first < 6);
  CHECK(*p.ci_first > 5.99);
  CHECK(*p.ci_last >= 16);
  CHECK(*p.ci_last < 16.02);
  CHECK(p.not_monotone() == 0);
  for (std::size_t r = 0; r < 21; ++r) {
    const TippingThreshold& t = p.thresholds[r];
    CHECK(*t.low < static_cast<double>(r + 1));
    CHECK(*t.high >= static_cast<double>(r + 1));
  }
}

TEST_CASE("an even number of replications has the middle of two thresholds as median") {
  const TippingPoint p = bisect({0, 10, 0.001, false}, steps({1, 2, 3, 5, 8, 9}));
  CHECK(p.d50->middle() == Approx(4).epsilon(0.002));
  // Six are just enough for an interval: from the least to the greatest.
  CHECK(p.rank == 1);
  CHECK_FALSE(p.interval_is_bracket());
  CHECK(*p.ci_first == Approx(1).epsilon(0.002));
  CHECK(*p.ci_last == Approx(9).epsilon(0.002));
}

TEST_CASE("each size is tried once, in order, and only as often as bisection takes") {
  std::multiset<double> tried;
  const auto response = steps(std::vector<double>(20, std::sqrt(2.0)));
  const TippingPoint p = bisect({1, 2, 0.01, false}, [&](double value) {
    tried.insert(value);
    return response(value);
  });
  for (const double value : tried) CHECK(tried.count(value) == 1);
  CHECK(tried.size() == 2 + 7);  // all thresholds are one: 1 / 2^7 < 0.01 * 1.41
  CHECK(std::is_sorted(p.probes.begin(), p.probes.end(),
                       [](const auto& a, const auto& b) { return a.value < b.value; }));
  CHECK(p.d50->middle() == Approx(std::sqrt(2.0)).epsilon(0.01));
  // All that is known of the interval is where the search stopped.
  CHECK(p.interval_is_bracket());
}

TEST_CASE("a trigger that grows downwards is searched downwards") {
  // Tips at a capacity of 0.3 and less.
  const TippingPoint p = bisect({1, 0, 0.01, false}, [](double value) {
    return std::vector<TippingResponse>(
        10, value <= 0.3 ? TippingResponse::kTips : TippingResponse::kRecovers);
  });
  CHECK(p.outcome == TippingOutcome::kFound);
  CHECK(p.d50->middle() == Approx(0.3).epsilon(0.01));
  CHECK(p.probes.front().value == 1);
  CHECK(p.thresholds[0].monotone);
}

TEST_CASE("whole numbers are bisected to the last") {
  std::set<double> tried;
  const auto response = steps(std::vector<double>(9, 37.0));
  const TippingPoint p = bisect({1, 1000, 0.01, true}, [&](double value) {
    tried.insert(value);
    return response(value);
  });
  CHECK(p.d50->low == 36);
  CHECK(p.d50->high == 37);
  for (const double value : tried) CHECK(value == std::floor(value));
}

TEST_CASE("ends at which there is nothing to find are told apart") {
  const TippingPoint dead = bisect({12, 20, 0.01, false}, steps(one_to(21)));
  CHECK(dead.outcome == TippingOutcome::kTipsAtFirst);
  CHECK(!dead.d50);
  CHECK(dead.probes.size() == 2);
  const TippingPoint safe = bisect({0, 10, 0.01, false}, steps(one_to(21)));
  CHECK(safe.outcome == TippingOutcome::kRecoversAtLast);
  // The median lies inside, an end of its interval does not.
  const TippingPoint cut = bisect({8, 12, 0.01, false}, steps(one_to(21)));
  CHECK(cut.outcome == TippingOutcome::kFound);
  CHECK(!cut.ci_first);
  CHECK(!cut.ci_last);
}

TEST_CASE("ends the wrong way round are noticed") {
  const TippingPoint p = bisect({20, 2, 0.01, false}, steps(one_to(21)));
  CHECK(p.outcome == TippingOutcome::kEndsExchanged);
  CHECK(!p.d50);
  CHECK(p.probes.size() == 2);
  // Half at both ends is no such thing.
  const TippingPoint flat = bisect({1, 2, 0.01, false}, steps({0, 0, 0, 9, 9, 9}));
  CHECK(flat.outcome == TippingOutcome::kRecoversAtLast);
}

TEST_CASE("a threshold at zero does not keep the bisection going for ever") {
  const TippingPoint p = bisect({0, 10, 0.01, false}, steps({1e-9, 1e-9, 1e-9}));
  CHECK(p.d50->high <= 0.001);
  CHECK(p.probes.size() < 20);
}

TEST_CASE("replications that are not monotone are found") {
  // Number 3 tips between 4 and 6 only, and from 9 on.
  auto response = [](double value) {
    auto r = steps({5, 5.2, 5.4, 100, 5.6, 5.8, 6})(value);
    r[3] = (value >= 4 && value < 6) || value >= 9 ? TippingResponse::kTips
                                                   : TippingResponse::kRecovers;
    return r;
  };
  const TippingPoint p = bisect({0, 10, 0.01, false}, response);
  CHECK(p.outcome == TippingOutcome::kFound);
  CHECK(p.not_monotone() == 1);
  CHECK(!p.thresholds[3].monotone);
  CHECK(*p.thresholds[3].low < 4);
  CHECK(*p.thresholds[3].high > 9);
  CHECK(p.thresholds[0].monotone);
}

TEST_CASE("runs that are too short make the interval wider, not narrower") {
  auto with_gap = [](double value) {
    auto r = steps(one_to(21))(value);
    r[10] = TippingResponse::kUnknown;  // the median one
    return r;
  };
  const TippingPoint known = bisect({0, 30, 0.001, false}, steps(one_to(21)));
  const TippingPoint p = bisect({0, 30, 0.001, false}, with_gap);
  CHECK(p.d50->low < 10.1);   // as if it tipped early
  CHECK(p.d50->high > 11.9);  // as if it tipped late
  CHECK(*p.ci_first < *known.ci_first - 0.9);
  CHECK(*p.ci_last > *known.ci_last + 0.9);
  CHECK(p.probes.back().judged() == 20);
  CHECK(!p.thresholds[10].low);
  CHECK(!p.thresholds[10].high);
}

TEST_CASE("where the last size cannot be judged the upper end is looked for below") {
  // From 25 on no run is long enough, from 18 on every third is not.
  const auto censored = [](double value) {
    auto r = steps(one_to(21))(value);
    for (std::size_t i = 0; i < r.size(); ++i) {
      if (value >= 25 || (value >= 18 && i % 3 == 0)) r[i] = TippingResponse::kUnknown;
    }
    return r;
  };
  const TippingPoint p = bisect({0, 100, 0.001, false}, censored);
  CHECK(p.outcome == TippingOutcome::kFound);
  CHECK(p.d50->low < 11);
  CHECK(p.d50->high >= 11);
  CHECK(p.d50->high - p.d50->low <= 0.011);
  CHECK(p.probes.back().judged() == 0);
  // The interval is the one of all that is known.
  const TippingPoint known = bisect({0, 24, 0.001, false}, steps(one_to(21)));
  CHECK(*p.ci_first == Approx(*known.ci_first).epsilon(0.002));
  CHECK(*p.ci_last == Approx(*known.ci_last).epsilon(0.002));
  CHECK_FALSE(p.last_end_not_judged());
}

TEST_CASE("an end of the interval that no size shows for sure is missing") {
  // From 12 on every third replication is unknown: 11 of 21 tip for sure somewhere, 16 nowhere.
  const auto censored = [](double value) {
    auto r = steps(one_to(21))(value);
    for (std::size_t i = 0; i < r.size(); i += 3) {
      if (value >= 12) r[i] = TippingResponse::kUnknown;
    }
    return r;
  };
  const TippingPoint p = bisect({0, 100, 0.001, false}, censored);
  CHECK(p.outcome == TippingOutcome::kFound);
  CHECK(p.d50->high >= 11);
  CHECK(p.ci_first);
  CHECK_FALSE(p.ci_last);
  CHECK(p.last_end_not_judged());
  CHECK_FALSE(p.first_end_not_judged());
  const TippingPoint cut = bisect({0, 12, 0.01, false}, steps(one_to(21)));
  CHECK_FALSE(cut.ci_last);  // it lies beyond, for sure
  CHECK_FALSE(cut.last_end_not_judged());
}

TEST_CASE("a search in which nothing above the tipping point can be judged denies nothing") {
  const auto censored_from = [](double size) {
    return [size](double value) {
      return value >= size ? std::vector<TippingResponse>(10, TippingResponse::kUnknown)
                           : std::vector<TippingResponse>(10, TippingResponse::kRecovers);
    };
  };
  const TippingPoint last = bisect({0, 10, 0.01, false}, censored_from(3));
  CHECK(last.outcome == TippingOutcome::kNotJudged);
  CHECK(!last.d50);
  const TippingPoint first = bisect({0, 10, 0.01, false}, censored_from(0));
  CHECK(first.outcome == TippingOutcome::kNotJudged);
  CHECK(first.probes.size() == 2);
  // So does one that cannot be judged at the first size, though all tip at the last.
  const TippingPoint begin = bisect({0, 10, 0.01, false}, [](double value) {
    return std::vector<TippingResponse>(
        10, value > 5 ? TippingResponse::kTips : TippingResponse::kUnknown);
  });
  CHECK(begin.outcome == TippingOutcome::kNotJudged);
  // Four of ten that are unknown cannot make half of them tip.
  const TippingPoint few = bisect({0, 10, 0.01, false}, [](double) {
    std::vector<TippingResponse> r(10, TippingResponse::kRecovers);
    std::fill_n(r.begin(), 4, TippingResponse::kUnknown);
    return r;
  });
  CHECK(few.outcome == TippingOutcome::kRecoversAtLast);
}

TEST_CASE("ranks of the interval of a median") {
  // Tables of the sign test, such as Conover's, for 5 % on both sides together.
  struct Row {
    std::size_t n, rank;
    double coverage;
  };
  for (const Row& row : {Row{6, 1, 0.96875}, Row{10, 2, 0.978516}, Row{20, 6, 0.958611},
                         Row{25, 8, 0.956715}, Row{40, 14, 0.961523}, Row{100, 40, 0.964800}}) {
    CAPTURE(row.n);
    CHECK(median_rank(row.n).rank == row.rank);
    CHECK(median_rank(row.n).coverage == Approx(row.coverage).margin(1e-6));
  }
  for (const std::size_t n : {1u, 2u, 5u}) CHECK(median_rank(n).rank == 0);
  const MedianRank many = median_rank(100'000);  // n / 2 - 0.98 sqrt(n)
  CHECK(many.rank == Approx(50'000 - 310).margin(2));
}

TEST_CASE("the interval covers the median of noisy thresholds as often as it says") {
  // 1000 searches with 20 exponential thresholds of median ln 2; the coverage of 0.9586 comes out
  // between 0.935 and 0.975 unless something with a probability below 1e-3 happens. The width of a
  // bracket can only add to it.
  int covered = 0, medians_low = 0;
  for (std::uint64_t search = 0; search < 1000; ++search) {
    std::vector<double> thresholds;
    for (std::uint64_t r = 0; r < 20; ++r) {
      Draws draws(RandomKey(7, static_cast<std::uint32_t>(search)),
                  {r, 0, 0, Purpose::kServiceTime});
      thresholds.push_back(-std::log(draws.uniform()));
    }
    const TippingPoint p = bisect({1e-6, 20, 0.001, false}, steps(thresholds));
    REQUIRE(p.ci_first);
    REQUIRE(p.ci_last);
    covered += *p.ci_first <= std::log(2.0) && std::log(2.0) <= *p.ci_last;
    medians_low += p.d50->middle() < std::log(2.0);
  }
  CHECK(covered >= 935);
  CHECK(covered <= 975);
  // Half of the medians lie on either side: 3.3 standard errors are 52.
  CHECK(medians_low > 448);
  CHECK(medians_low < 552);
}

TEST_CASE("the probe nearest to one half is where twins are worth their time") {
  TippingPoint p;
  for (const std::size_t tipped : {0u, 3u, 7u, 10u}) {
    TippingProbe probe;
    probe.responses.assign(10, TippingResponse::kRecovers);
    std::fill_n(probe.responses.begin(), tipped, TippingResponse::kTips);
    p.probes.push_back(probe);
  }
  CHECK(p.nearest_probe() == 2);  // 7 rather than 3
  p.probes.erase(p.probes.begin() + 1, p.probes.begin() + 3);
  p.probes.push_back(p.probes.back());
  CHECK(p.nearest_probe() == 1);  // the first of those where all tip
}
