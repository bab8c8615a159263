// Splitting against the exact probabilities of small Markov chains, which are known from linear
// equations: tandem queues, whose second queue fills before it is empty again.
//
// SPDX-License-Identifier: MIT
#include "estimate/splitting.hpp"

#include <retrysim/random.hpp>
#include <retrysim/simulation.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace retrysim::stats {
namespace splitting_test {
namespace {

/// Two queues in a row, each with so many places: what comes to a full first queue is lost, and the
/// first server waits while the second queue is full.
struct Tandem {
  double arrival, first, second;
  int capacity;
};

/// From one in the second queue, and none in the first, until the second is full (the event) or
/// empty.
SplittingPath follow(const Tandem& q, std::uint64_t seed, std::uint32_t root,
                     std::span<const Branch> branches) {
  const RandomKey own(seed, root);
  RandomKey key = own;
  SplittingPath path;
  int a = 0, b = 1;
  NearnessScore highest = 0;
  while (b > 0) {
    const double arrival = a < q.capacity ? q.arrival : 0;
    const double first = a > 0 && b < q.capacity ? q.first : 0;
    const double u = Draws(key, {.entity = path.events}).uniform() * (arrival + first + q.second);
    if (u < arrival) {
      ++a;
    } else if (u < arrival + first) {
      --a, ++b;
    } else {
      --b;
    }
    ++path.events;
    const bool is_full = b == q.capacity;
    const auto score = is_full ? kHappened : static_cast<NearnessScore>(b);
    if (score > highest) {
      path.records.push_back({score, path.events});
      highest = score;
    }
    if (is_full) return path;
    for (const Branch& branch : branches) {
      if (branch.after_event == path.events) key = own.branch(branch.number);
    }
  }
  return path;
}

SplittingRun split_tandem(const Tandem& q, std::uint32_t particles, std::uint64_t seed,
                          const SplittingLimits& limits = {}) {
  return split(
      particles, RandomKey(seed, 0).named("test", "choice"),
      [&](std::uint32_t root, std::span<const Branch> branches) {
        return follow(q, seed, root, branches);
      },
      limits);
}

std::vector<double> probabilities(const Tandem& q, std::uint32_t particles, int repetitions,
                                  std::uint64_t seed) {
  std::vector<double> all;
  for (int i = 0; i < repetitions; ++i) {
    all.push_back(split_tandem(q, particles, seed + static_cast<std::uint64_t>(i)).probability);
  }
  return all;
}

}  // namespace
}  // namespace splitting_test

using namespace splitting_test;

TEST_CASE("the mean of many repetitions is the exact probability", "[estimate][splitting]") {
  // Exact values: linear equations for the chain (uniformisation, GTH). Means of 100 repetitions
  // are within 4.5 standard errors, or a tenth where that is more (few repetitions show the spread
  // only roughly): by chance some of the five is not in about one of 10,000 seeds.
  struct Case {
    Tandem queue;
    double exact;
  };
  const Case cases[] = {{{3, 2, 6, 8}, 5.602364e-6},
                        {{3, 2, 6, 10}, 3.147278e-7},
                        {{3, 2, 6, 12}, 1.860151e-8},
                        {{1, 4, 2, 10}, 4.944845e-4},
                        {{1, 4, 2, 15}, 1.530467e-5}};
  for (const Case& c : cases) {
    const std::vector<double> all = probabilities(c.queue, 30, 100, 1'000);
    double sum = 0, squares = 0;
    for (const double p : all) sum += p, squares += p * p;
    const double mean = sum / 100;
    const double error = std::sqrt((squares / 100 - mean * mean) / 99);
    INFO(c.exact << ": " << mean << " +- " << error);
    CHECK(std::abs(mean - c.exact) < std::max(4.5 * error, 0.1 * c.exact));
    // The spread is not so large that any mean would do.
    CHECK(error < 0.3 * c.exact);
  }
}

TEST_CASE("intervals of positive means hold in the promised share", "[estimate][splitting]") {
  // Of 40 studies with 20 repetitions each, at 95 %: fewer than 32 hold in one of 10^4 seeds if 93
  // % do, and all 40 in one of 8, so there is no upper bound here.
  const Tandem queue{3, 2, 6, 8};
  int holding = 0;
  for (std::uint64_t study = 0; study < 40; ++study) {
    const auto estimate = positive_mean(probabilities(queue, 40, 20, 100'000 + 1'000 * study));
    REQUIRE(estimate);
    CHECK(estimate->low > 0);
    CHECK(estimate->low < estimate->mean);
    CHECK(estimate->mean < estimate->high);
    holding += estimate->low <= 5.602364e-6 && 5.602364e-6 <= estimate->high;
  }
  INFO(holding);
  CHECK(holding >= 32);
}

TEST_CASE("particles share ancestors, arrive or are all given up", "[estimate][splitting]") {
  const SplittingRun run = split_tandem({3, 2, 6, 8}, 50, 7);
  CHECK(run.particles == 50);
  CHECK(run.probability > 0);
  CHECK(run.nearest == kHappened);
  CHECK(run.ancestors >= 1);
  CHECK(run.ancestors <= 50);
  CHECK(run.levels >= 7);  // each of the lengths from 1 to 7
  CHECK(run.paths > 50);
  CHECK(split_tandem({3, 2, 6, 8}, 50, 7) == run);
  // One of those that arrive can be followed again.
  CHECK(run.root < 50);
  const SplittingPath one = follow({3, 2, 6, 8}, 7, run.root, run.branches);
  REQUIRE(!one.records.empty());
  CHECK(one.records.back().score == kHappened);
  // Two particles that do not come near are given up together.
  int extinct = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SplittingRun two = split_tandem({3, 2, 6, 12}, 2, seed);
    if (two.probability > 0) continue;
    ++extinct;
    CHECK(two.ancestors == 0);
    CHECK(two.nearest < kHappened);
  }
  CHECK(extinct > 0);
}

TEST_CASE("a repetition that is given up is an upper bound", "[estimate][splitting]") {
  const Tandem queue{3, 2, 6, 12};
  const SplittingRun whole = split_tandem(queue, 40, 3);
  const SplittingRun rare = split_tandem(queue, 40, 3, {.least_probability = 1e-4});
  CHECK(rare.unfinished);
  CHECK(rare.probability < 1e-4);
  CHECK(rare.probability > whole.probability);
  CHECK(rare.events < whole.events);
  const SplittingRun brief = split_tandem(queue, 40, 3, {.most_events = 2'000});
  CHECK(brief.unfinished);
  CHECK(brief.events >= 2'000);
  CHECK(!split_tandem(queue, 40, 3, {.most_events = whole.events}).unfinished);
}

TEST_CASE("without splitting the share that arrives is what counts", "[estimate][splitting]") {
  const Tandem queue{1, 4, 2, 3};
  const auto path = [&](std::uint32_t root, std::span<const Branch> branches) {
    return follow(queue, 5, root, branches);
  };
  const SplittingRun plain = follow_all(20'000, path);
  // Both estimate the same; each is within 3 % or so of it.
  std::vector<double> all;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    all.push_back(split_tandem(queue, 100, 500 + seed).probability);
  }
  const auto split = positive_mean(all);
  REQUIRE(split);
  const double plain_error = std::sqrt(plain.probability * (1 - plain.probability) / 20'000);
  const double error = std::hypot(plain_error, split->relative_error * split->mean);
  CHECK(std::abs(plain.probability - split->mean) < 4 * error);  // not so by chance: 1 in 16,000
  CHECK(plain.paths == 20'000);
  CHECK(plain.levels == 0);
  CHECK(static_cast<double>(plain.ancestors) == plain.probability * 20'000);
}

TEST_CASE("the jackknife of a ratio's logarithm", "[estimate][splitting]") {
  CHECK(!positive_mean(std::vector<double>{0, 0, 0}));
  CHECK(!positive_mean(std::vector<double>{0, 5, 0}));
  const auto same = positive_mean(std::vector<double>{2, 2, 2, 2});
  REQUIRE(same);
  CHECK(same->mean == Approx(2));
  CHECK(same->low == Approx(2));
  CHECK(same->high == Approx(2));
  // By hand: the means without one of 1, 2, 3 are 2.5, 2, 1.5.
  const auto three = positive_mean(std::vector<double>{1, 2, 3});
  REQUIRE(three);
  const double mean = (std::log(2.5) + std::log(2) + std::log(1.5)) / 3;
  double squares = 0;
  for (const double x : {2.5, 2.0, 1.5}) squares += std::pow(std::log(x) - mean, 2);
  const double error = std::sqrt(squares * 2 / 3);
  CHECK(three->relative_error == Approx(error));
  CHECK(three->high == Approx(2 * std::exp(4.302653 * error)));
  CHECK(three->low == Approx(2 / std::exp(4.302653 * error)));
  const auto ratio = positive_ratio(std::vector<double>{1, 2}, std::vector<double>{10, 10});
  REQUIRE(ratio);
  CHECK(ratio->mean == Approx(0.15));
  // A number that outweighs all others must not make the interval infinite.
  const auto uneven = positive_mean(std::vector<double>{1e-300, 1e10, 0});
  REQUIRE(uneven);
  CHECK(uneven->low >= 0);
  // Nothing in a time of 100: below 3 / 100, as the rule of three says.
  CHECK(bound_without_hits(100) == Approx(0.02995732));
}

}  // namespace retrysim::stats
