// What is noted down and added in blocks, against the same added one by one.
//
// SPDX-License-Identifier: MIT
#include "measure/record/recorder.hpp"
#include "measure/record/totals.hpp"

#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

namespace retrysim::stats {
namespace {

/// Values of every size, small ones and powers of two included; few of them zero.
std::vector<std::uint64_t> values(std::uint64_t seed, std::size_t count, unsigned most_bits) {
  std::vector<std::uint64_t> v;
  for (std::uint64_t i = 0; i < count; ++i) {
    Draws draws(RandomKey(seed, 0), {i, 0, 0, Purpose::kArrival});
    const std::uint64_t bits = 1 + draws.below(most_bits);
    std::uint64_t value = draws.next() >> (64 - bits);
    if (draws.below(4) == 0) value = std::uint64_t{1} << (bits - 1);
    v.push_back(value);
  }
  return v;
}

TEST_CASE("A histogram takes many values at once as it takes them one by one") {
  // 20 bits: linear buckets too; 40: all below 2^53; 63: beyond it.
  const unsigned bits = GENERATE(20u, 40u, 53u, 54u, 63u);
  CAPTURE(bits);
  Histogram all, single;
  BinHistogram all_of_bin, single_of_bin;
  for (std::uint64_t block = 0; block < 40; ++block) {
    const std::vector<std::uint64_t> v = values(bits * 100 + block, 1 + block, bits);
    all.add(v);
    all_of_bin.add(v);
    for (const std::uint64_t value : v) {
      single.add(value);
      single_of_bin.add(value);
    }
    if (block == 20) {
      all_of_bin.clear();
      single_of_bin.clear();
    }
  }
  CHECK(all == single);
  CHECK(all_of_bin == single_of_bin);
}

TEST_CASE("A histogram has a bucket for each value near a power of two, one at a time or many") {
  for (unsigned bit = 9; bit < 63; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    const std::vector<std::uint64_t> v = {power, power - 1, power + 1, power, power - 1};
    Histogram all, single;
    all.add(v);
    for (const std::uint64_t value : v) single.add(value);
    CAPTURE(bit);
    REQUIRE(all == single);
  }
}

TEST_CASE("The same value many times") {
  Histogram many, single;
  many.add(0, 5);
  many.add(7, 0);
  many.add(1'000'000, 3);
  for (int i = 0; i < 5; ++i) single.add(0);
  for (int i = 0; i < 3; ++i) single.add(1'000'000);
  CHECK(many == single);
}

TEST_CASE("A block of durations goes into totals and bin as each of them would") {
  const unsigned bits = GENERATE(20u, 40u, 53u, 54u, 58u, 63u);
  CAPTURE(bits);
  DurationTotals totals, without_bin, single;
  BinTotals bin, bin_alone, single_of_bin;
  for (std::uint64_t block = 0; block < 40; ++block) {
    const std::vector<std::uint64_t> v = values(bits * 100 + block, 1 + 60 * block, bits);
    add_block(v, totals, &bin);
    add_block(v, without_bin, nullptr);
    add_block(v, bin_alone);
    for (const std::uint64_t ns : v) {
      single.histogram.add(ns);
      single.moments.add(Duration::nanoseconds(static_cast<std::int64_t>(ns)));
      single_of_bin.histogram.add(ns);
      single_of_bin.sum_ns += static_cast<WideNanoseconds>(ns);
    }
    for (const DurationTotals& t : {totals, without_bin}) {
      CHECK(t.histogram == single.histogram);
      CHECK(t.moments == single.moments);
    }
    for (const BinTotals& b : {bin, bin_alone}) {
      CHECK(b.histogram == single_of_bin.histogram);
      CHECK(b.sum_ns == single_of_bin.sum_ns);
    }
    if (block % 7 == 6) {
      bin.clear();
      bin_alone.clear();
      single_of_bin.clear();
    }
  }
}

TEST_CASE("A station log integrates every level, across its blocks and its segments") {
  // Up to 2 ms, or up to 70 days, from one level to the next.
  const std::int64_t unit_ns =
      GENERATE(std::int64_t{1'000'000}, std::int64_t{3'000'000'000'000'000});
  StationLog log;
  log.set_servers(3);
  StationLog::Integrals expected;
  Time now;
  std::int64_t busy = 0, in_system = 0;
  std::int64_t servers = 3;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Draws draws(RandomKey(3, 0), {i, 0, 0, Purpose::kArrival});
    const std::int64_t dt = draws.below(3) * unit_ns;
    now = now + Duration::nanoseconds(dt);
    const auto length = static_cast<double>(dt);
    expected.busy += static_cast<double>(busy) * length;
    expected.in_system += static_cast<double>(in_system) * length;
    expected.in_system_squared += static_cast<double>(in_system * in_system) * length;
    expected.all_busy += busy >= servers ? length : 0;
    busy = draws.below(5);
    in_system = busy + draws.below(10);
    log.note(now, {busy, in_system});
    CHECK(log.now().in_system == in_system);
    if (i % 90 == 40) {
      servers = 1 + draws.below(4);
      log.set_servers(servers);
    }
    if (i % 130 == 100 || i == 499) {
      const StationLog::Integrals integrals = log.fold(now);
      CHECK(integrals.busy == expected.busy);
      CHECK(integrals.in_system == expected.in_system);
      CHECK(integrals.in_system_squared == expected.in_system_squared);
      CHECK(integrals.all_busy == expected.all_busy);
      expected = {};
    }
  }
}

}  // namespace
}  // namespace retrysim::stats
