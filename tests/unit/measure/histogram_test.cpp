// The log-linear histogram against exact order statistics, and its bucket arithmetic over the whole
// 64-bit range.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <retrysim/random.hpp>
#include <vector>

using retrysim::BinHistogram;
using retrysim::Draws;
using retrysim::Histogram;
using retrysim::Purpose;
using retrysim::RandomKey;

namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

/// Random values of every size: a random number of bits, then random bits.
std::vector<std::uint64_t> values_of_all_sizes(std::size_t n, std::uint64_t seed,
                                               int largest_bits = 64) {
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < n; ++i) {
    Draws draws(RandomKey(seed, 0), {i, 0, 0, Purpose::kServiceTime});
    const auto bits = 1 + static_cast<int>(draws.below(static_cast<std::uint32_t>(largest_bits)));
    values.push_back(draws.next() >> (64 - bits));
  }
  return values;
}

template <class H>
H histogram_of(const std::vector<std::uint64_t>& values) {
  H h;
  for (const std::uint64_t v : values) h.add(v);
  return h;
}

const std::vector<double> kShares = {0,    1e-9, 0.001, 0.01, 0.05,  0.1,    0.25, 0.5,
                                     0.75, 0.9,  0.95,  0.99, 0.999, 0.9999, 1};

}  // namespace

TEMPLATE_TEST_CASE("buckets tile the 64-bit range without gap or overlap", "", Histogram,
                   BinHistogram) {
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < TestType::kBucketCount; ++i) {
    const std::uint64_t lower = TestType::lower_bound(i);
    const std::uint64_t last = lower + (TestType::width(i) - 1);
    REQUIRE(lower == next);
    REQUIRE(TestType::index(lower) == i);
    REQUIRE(TestType::index(last) == i);
    REQUIRE(TestType::index(lower + (last - lower) / 2) == i);
    // A bucket is never wider than its share of its smallest value: that bounds the error.
    REQUIRE((TestType::width(i) == 1 || TestType::width(i) <= lower / TestType::kSubBuckets));
    next = last + 1;
  }
  CHECK(next == 0);  // one past 2^64 - 1
  CHECK(TestType::index(kLargest) == TestType::kBucketCount - 1);
}

TEMPLATE_TEST_CASE("index agrees with its bucket for values of every size", "", Histogram,
                   BinHistogram) {
  std::vector<std::uint64_t> values = values_of_all_sizes(20'000, 21);
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    values.insert(values.end(), {power - 1, power, power + 1});
  }
  values.push_back(kLargest);
  for (const std::uint64_t v : values) {
    const std::size_t i = TestType::index(v);
    REQUIRE(TestType::lower_bound(i) <= v);
    REQUIRE(v - TestType::lower_bound(i) < TestType::width(i));
  }
}

TEMPLATE_TEST_CASE("quantiles are within the stated error of the exact order statistic", "",
                   Histogram, BinHistogram) {
  for (const std::size_t n : {1u, 2u, 3u, 10u, 100u, 1000u, 20'000u}) {
    std::vector<std::uint64_t> values = values_of_all_sizes(n, 22 + n);
    const auto h = histogram_of<TestType>(values);
    std::sort(values.begin(), values.end());
    REQUIRE(h.count() == n);
    for (const double p : kShares) {
      const double rank =
          std::clamp(std::ceil(p * static_cast<double>(n)), 1.0, static_cast<double>(n));
      const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
      REQUIRE(std::abs(h.quantile(p) - exact) <= TestType::kRelativeError * exact);
      REQUIRE(h.quantile_bounds(p).low <= exact);
      REQUIRE(h.quantile_bounds(p).high >= exact);
    }
  }
}

TEST_CASE("quantiles of values below twice the number of sub-buckets are exact") {
  std::vector<std::uint64_t> values = values_of_all_sizes(5000, 23, 9);
  const auto h = histogram_of<Histogram>(values);
  std::sort(values.begin(), values.end());
  for (std::size_t rank = 1; rank <= values.size(); ++rank) {
    const double p = static_cast<double>(rank) / static_cast<double>(values.size());
    REQUIRE(h.quantile(p) == static_cast<double>(values[rank - 1]));
  }
}

TEST_CASE("a quantile is the smallest value whose share reaches p") {
  Histogram h;
  for (std::uint64_t v = 1; v <= 100; ++v) h.add(v);
  CHECK(h.quantile(0.5) == 50);
  CHECK(h.quantile(0.501) == 51);
  CHECK(h.quantile(0.99) == 99);
  CHECK(h.quantile(0.991) == 100);
  CHECK(h.quantile(1) == 100);
  CHECK(h.quantile(0) == 1);
  // Products that exceed a whole number by rounding only: 0.07 * 100 > 7 and 0.55 * 100 > 55.
  CHECK(h.quantile(0.07) == 7);
  CHECK(h.quantile(0.55) == 55);
  CHECK(h.quantile(-1) == 1);
  CHECK(h.quantile(2) == 100);
}

TEST_CASE("a quantile is interpolated by rank inside a wide bucket") {
  // 1024 ... 1027 share a bucket of Histogram (2^10 / 2^8 = 4 wide).
  Histogram h;
  h.add(1024);
  h.add(1027);
  CHECK(h.quantile(0.5) == 1024 + 4 * 0.25);
  CHECK(h.quantile(1) == 1024 + 4 * 0.75);
  CHECK(h.quantile_bounds(0.5).low == 1024);
  CHECK(h.quantile_bounds(0.5).high == 1027);
  h.add(3);
  CHECK(h.quantile(0.1) == 3);
  CHECK(h.quantile_bounds(0.1).high == 3);
  CHECK(h.quantile(0.5) == 1024 + 4 * 0.25);
}

TEST_CASE("no quantile lies outside the smallest and the largest value") {
  // A timeout of 800 ms ends many requests: its bucket reaches from 798 to 801 ms.
  constexpr std::uint64_t kTimeout = 800'000'000;
  Histogram h;
  for (int i = 0; i < 1000; ++i) h.add(kTimeout);
  for (const double p : kShares) CHECK(h.quantile(p) == kTimeout);
  CHECK(h.quantile_bounds(0.5).low == kTimeout);
  CHECK(h.quantile_bounds(0.5).high == kTimeout);
  CHECK(h.share_at_or_below(kTimeout - 1) == 0);
  CHECK(h.share_at_or_below(kTimeout) == 1);
  Histogram other;
  other.add(kTimeout + 5);
  other.merge(h);  // the extremes of both
  CHECK(other.quantile(0) == kTimeout);
  CHECK(other.quantile(1) == kTimeout + 5);
  other.clear();
  other.add(kTimeout + 7);
  CHECK(other.quantile(0) == kTimeout + 7);
}

TEST_CASE("the share at or below a value counts exactly where buckets are exact") {
  Histogram h;
  for (const std::uint64_t v : {0u, 1u, 1u, 5u, 511u}) h.add(v);
  CHECK(h.share_at_or_below(-0.5) == 0);
  CHECK(h.share_at_or_below(0) == 0.2);
  CHECK(h.share_at_or_below(0.9) == 0.2);
  CHECK(h.share_at_or_below(1) == 0.6);
  CHECK(h.share_at_or_below(4.999) == 0.6);
  CHECK(h.share_at_or_below(5) == 0.8);
  CHECK(h.share_at_or_below(510) == 0.8);
  CHECK(h.share_at_or_below(511) == 1);
  CHECK(h.share_at_or_below(1e30) == 1);
}

TEST_CASE("the share at or below a value is interpolated inside a wide bucket") {
  Histogram h;
  h.add(1024);
  h.add(1027);
  CHECK(h.share_at_or_below(1023) == 0);
  CHECK(h.share_at_or_below(1024) == 0.25);
  CHECK(h.share_at_or_below(1025) == 0.5);
  CHECK(h.share_at_or_below(1027) == 1);
  CHECK(h.share_at_or_below(1028) == 1);
}

TEMPLATE_TEST_CASE("the share at or below a value is off by one bucket's share at most", "",
                   Histogram, BinHistogram) {
  std::vector<std::uint64_t> values = values_of_all_sizes(5000, 24);
  values.push_back(kLargest);
  const auto h = histogram_of<TestType>(values);
  std::sort(values.begin(), values.end());
  const auto share_below = [&](std::uint64_t v) {  // exact share of values < v
    const auto end = std::lower_bound(values.begin(), values.end(), v);
    return static_cast<double>(end - values.begin()) / static_cast<double>(values.size());
  };
  double previous = 0;
  for (const std::uint64_t v : values) {
    const std::size_t i = TestType::index(v);
    const double share = h.share_at_or_below(static_cast<double>(v));
    REQUIRE(share >= previous);
    previous = share;
    if (v >> 53 != 0) continue;  // the double may lie in the next bucket
    const std::uint64_t end = TestType::lower_bound(i) + TestType::width(i);
    REQUIRE(share >= share_below(TestType::lower_bound(i)));
    REQUIRE(share <= share_below(end) + 1e-12);
  }
  CHECK(previous == 1);
}

TEMPLATE_TEST_CASE("merging equals adding the values together, in any order", "", Histogram,
                   BinHistogram) {
  const auto small = values_of_all_sizes(1000, 25, 12);
  const auto large = values_of_all_sizes(700, 26, 50);
  const auto other = values_of_all_sizes(300, 27, 30);
  std::vector<std::uint64_t> all = small;
  all.insert(all.end(), large.begin(), large.end());
  all.insert(all.end(), other.begin(), other.end());
  const auto together = histogram_of<TestType>(all);

  auto a = histogram_of<TestType>(small);  // the shorter takes the longer one ...
  a.merge(histogram_of<TestType>(large));
  a.merge(histogram_of<TestType>(other));
  auto b = histogram_of<TestType>(large);  // ... and the longer the shorter one
  b.merge(histogram_of<TestType>(other));
  b.merge(histogram_of<TestType>(small));
  CHECK(a == together);
  CHECK(b == together);
  CHECK(a.count() == 2000);
  for (const double p : kShares) CHECK(a.quantile(p) == together.quantile(p));
  TestType empty;
  a.merge(empty);
  CHECK(a == together);
  empty.merge(a);
  CHECK(empty == together);
}

TEMPLATE_TEST_CASE("the order of values and merges does not matter, however far they lie apart", "",
                   Histogram, BinHistogram) {
  // Memory reaches from the smallest to the largest block in use; it grows at either end.
  const std::vector<std::uint64_t> values = {1'000'000, 3, kLargest, 1'000'001, 0};
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto up = histogram_of<TestType>(sorted);
  const auto down = histogram_of<TestType>({sorted.rbegin(), sorted.rend()});
  const auto mixed = histogram_of<TestType>(values);
  CHECK(up == down);
  CHECK(up == mixed);
  const TestType low = histogram_of<TestType>({0, 3});
  const TestType high = histogram_of<TestType>({kLargest, 1'000'000, 1'000'001});
  TestType low_first = low, high_first = high;
  low_first.merge(high);
  high_first.merge(low);
  CHECK(low_first == up);
  CHECK(high_first == up);
  for (const double p : kShares) {
    CHECK(up.quantile(p) == down.quantile(p));
    CHECK(up.quantile(p) == high_first.quantile(p));
  }
  for (const std::uint64_t v : values) {
    const auto value = static_cast<double>(v);
    CHECK(up.share_at_or_below(value) == down.share_at_or_below(value));
  }
  CHECK(high.share_at_or_below(5) == 0);
}

TEST_CASE("equality looks at counts, not at memory") {
  Histogram a, b;
  CHECK(a == b);
  a.add(1'000'000);
  CHECK(a != b);
  CHECK(b != a);
  a.clear();  // keeps its blocks, all zero
  CHECK(a == b);
  CHECK(b == a);
  a.add(3);
  b.add(3);
  CHECK(a == b);
  b.add(4);
  CHECK(a != b);
  a.add(5);  // same number of values in other buckets
  CHECK(a != b);
  b.clear();
  b.add(1'000'000);
  b.add(3);
  CHECK(a != b);
}

TEST_CASE("an empty or cleared histogram has no shares") {
  Histogram h;
  CHECK(h.count() == 0);
  CHECK(h.quantile(0.5) == 0);
  CHECK(h.share_at_or_below(10) == 0);
  h.add(kLargest);
  CHECK(h.count() == 1);
  CHECK(h.quantile(0.5) == Approx(0x1p64).epsilon(Histogram::kRelativeError));
  h.clear();
  CHECK(h.count() == 0);
  CHECK(h.quantile(0.5) == 0);
  CHECK(h.share_at_or_below(1e30) == 0);
}
