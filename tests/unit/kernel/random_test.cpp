// Keyed draws: the published answers of the generator, the layout of its counter, that every part
// of an identity matters and order does not, a few statistical checks, and the constants of the
// ziggurats. Statistical tests have fixed seeds; each would fail for about one seed in a million.
//
// SPDX-License-Identifier: MIT
#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <retrysim/random.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel/ziggurat_tables.hpp"

using retrysim::DrawId;
using retrysim::Draws;
using retrysim::Purpose;
using retrysim::RandomKey;

namespace {

constexpr double kFalseAlarm = 1e-6;
constexpr double kTwoSidedQuantile = 4.891638;  // two-sided, for kFalseAlarm

std::uint64_t first_word(const RandomKey& key, DrawId id) { return Draws(key, id).next(); }

/// Whether counts of equally likely cells pass a chi-square test, on both sides: too even is wrong
/// as well.
bool looks_uniform(const std::vector<std::uint64_t>& counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double chi2 = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    chi2 += difference * difference / expected;
  }
  const boost::math::chi_squared law(static_cast<double>(counts.size() - 1));
  return boost::math::cdf(law, chi2) > kFalseAlarm / 2 &&
         boost::math::cdf(boost::math::complement(law, chi2)) > kFalseAlarm / 2;
}

}  // namespace

TEST_CASE("Products of 128 bits are the same where processors have none") {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const std::array<std::uint64_t, 8> ends{0,           1,         2,        0xffffffff,
                                          0x100000000, kAll >> 1, kAll - 1, kAll};
  const auto check = [](std::uint64_t a, std::uint64_t b) {
    const retrysim::WideProduct halves = retrysim::product_of_halves(a, b);
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    REQUIRE(halves.high == static_cast<std::uint64_t>(product >> 64));
    REQUIRE(halves.low == static_cast<std::uint64_t>(product));
  };
  for (const std::uint64_t a : ends) {
    for (const std::uint64_t b : ends) check(a, b);
  }
  Draws draws(RandomKey(7, 0), {});
  for (int i = 0; i < 10'000; ++i) check(draws.next(), draws.next());
}

TEST_CASE("Philox2x64-10 gives the known answers published with Random123") {
  struct Answer {
    r123::Philox2x64::ctr_type counter;
    r123::Philox2x64::key_type key;
    r123::Philox2x64::ctr_type block;
  };
  const std::array<Answer, 3> answers{{
      {{{0, 0}}, {{0}}, {{0xca00a0459843d731, 0x66c24222c9a845b5}}},
      {{{0xffffffffffffffff, 0xffffffffffffffff}},
       {{0xffffffffffffffff}},
       {{0x65b021d60cd8310f, 0x4d02f3222f86df20}}},
      {{{0x243f6a8885a308d3, 0x13198a2e03707344}},
       {{0xa4093822299f31d0}},
       {{0x0a5e742c2997341c, 0xb0f883d38000de5d}}},
  }};
  for (const Answer& answer : answers) {
    CHECK(r123::Philox2x64{}(answer.counter, answer.key) == answer.block);
  }
}

TEST_CASE("names have keys of their own") {
  const RandomKey world(7, 3);
  const auto key = [](const RandomKey& k) { return k.philox_key()[0]; };
  std::set<std::uint64_t> keys{key(world)};
  std::size_t names = 1;
  const auto add = [&](const RandomKey& k) {
    keys.insert(key(k));
    ++names;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "group-" + std::to_string(i);
    add(world.named("client", name));
    add(world.named("service", name));
    add(RandomKey(7, 4).named("client", name));
    add(RandomKey(8, 3).named("client", name));
  }
  // Where a word of eight bytes ends, and where the kind does.
  for (const std::string name : {"", "a", "b", "aa", "1234567", "12345678", "123456789"}) {
    add(world.named("client", name));
    add(world.named("client", name + std::string(1, '\0')));
    add(world.named("client" + name, "x"));
  }
  CHECK(keys.size() == names);
  CHECK(key(world.named("client", "web")) == key(RandomKey(7, 3).named("client", "web")));
}

TEST_CASE("the streams of two names are not correlated") {
  // The mean of 10^5 products of centred uniforms has the standard deviation 1/12/sqrt(1e5); six of
  // them are exceeded by chance once in 5e8.
  const RandomKey world(1, 0);
  const RandomKey a = world.named("client", "a"), b = world.named("client", "b");
  double sum = 0;
  constexpr std::uint32_t n = 100'000;
  for (std::uint64_t i = 0; i < n; ++i) {
    const DrawId id{i, 1, 0, Purpose::kServiceTime};
    sum += (Draws(a, id).uniform() - 0.5) * (Draws(b, id).uniform() - 0.5);
  }
  CHECK(std::abs(sum / n) < 6.0 / 12 / std::sqrt(double{n}));
}

TEST_CASE("words are the Philox blocks of the documented counter") {
  const RandomKey key(7, 3);
  const DrawId id{0x1122334455667788, 0x99aabbcc, 0xddee, Purpose::kBackoff};
  Draws draws(key, id);
  for (std::uint32_t block = 0; block < 1024; ++block) {
    const r123::Philox2x64::ctr_type counter{
        {0x1122334455667788, 0x99aabbccddee0000 | 6u << 10 | block}};
    const auto words = r123::Philox2x64{}(counter, key.philox_key());
    REQUIRE(draws.next() == words[0]);
    REQUIRE(draws.next() == words[1]);
  }
}

TEST_CASE("the key of a seed and replication never changes") {
  // Computed apart from this code, in Python, from the definition of SplitMix64's finaliser.
  CHECK(RandomKey(0, 0).philox_key() == r123::Philox2x64::key_type{{0x48218226ff3cd4bf}});
  CHECK(RandomKey(1, 0).philox_key() == r123::Philox2x64::key_type{{0xdce423fc82c0d5b8}});
  CHECK(RandomKey(1, 1).philox_key() == r123::Philox2x64::key_type{{0xddc1ed05282d1d64}});
}

TEST_CASE("small seeds and replications all have keys of their own") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (std::uint64_t replication = 0; replication < 200; ++replication) {
      keys.insert(RandomKey(seed, replication).philox_key()[0]);
    }
  }
  CHECK(keys.size() == 200 * 200);
}

TEST_CASE("one bit of seed or replication changes about half of the bits of the key") {
  // 64 x 64 bit pairs a side, each flipped with probability 1/2: sd of the mean is 32 / 64 / 32.
  const auto bits = [](const RandomKey& key) { return key.philox_key()[0]; };
  int by_seed = 0, by_replication = 0;
  for (int bit = 0; bit < 64; ++bit) {
    by_seed += std::popcount(bits(RandomKey(1, 1)) ^ bits(RandomKey(1 ^ 1ull << bit, 1)));
    by_replication += std::popcount(bits(RandomKey(1, 1)) ^ bits(RandomKey(1, 1 ^ 1ull << bit)));
  }
  CHECK(std::abs(by_seed - 2048) < kTwoSidedQuantile * 32);
  CHECK(std::abs(by_replication - 2048) < kTwoSidedQuantile * 32);
}

TEST_CASE("every part of an identity gives other words") {
  const DrawId id{5, 2, 1, Purpose::kServiceTime};
  std::vector<std::uint64_t> words;
  words.push_back(first_word(RandomKey(1, 0), id));
  words.push_back(first_word(RandomKey(2, 0), id));
  words.push_back(first_word(RandomKey(1, 1), id));
  words.push_back(first_word(RandomKey(1, 0), {6, 2, 1, Purpose::kServiceTime}));
  words.push_back(first_word(RandomKey(1, 0), {5 + (1ull << 32), 2, 1, Purpose::kServiceTime}));
  words.push_back(first_word(RandomKey(1, 0), {5, 3, 1, Purpose::kServiceTime}));
  words.push_back(first_word(RandomKey(1, 0), {5, 2, 2, Purpose::kServiceTime}));
  words.push_back(first_word(RandomKey(1, 0), {5, 2, 65535, Purpose::kServiceTime}));
  for (const Purpose purpose :
       {Purpose::kArrival, Purpose::kNetwork, Purpose::kResponse, Purpose::kLoss,
        Purpose::kServiceError, Purpose::kBackoff, Purpose::kTimeout, Purpose::kThinkTime}) {
    words.push_back(first_word(RandomKey(1, 0), {5, 2, 1, purpose}));
  }
  Draws draws(RandomKey(1, 0), id);
  draws.next();
  for (int i = 1; i < 2048; ++i) words.push_back(draws.next());  // later words of the same identity
  std::sort(words.begin(), words.end());
  CHECK(std::adjacent_find(words.begin(), words.end()) == words.end());
}

TEST_CASE("draws do not depend on the order in which they are made") {
  const RandomKey key(11, 4);
  constexpr std::uint64_t kEntities = 100;
  std::vector<std::uint64_t> forwards, backwards;
  for (std::uint64_t entity = 0; entity < kEntities; ++entity) {
    Draws draws(key, {entity, 1, 0, Purpose::kArrival});
    for (int i = 0; i < 5; ++i) forwards.push_back(draws.next());
  }
  std::vector<Draws> interleaved;
  for (std::uint64_t entity = 0; entity < kEntities; ++entity) {
    interleaved.emplace_back(key, DrawId{entity, 1, 0, Purpose::kArrival});
  }
  backwards.resize(forwards.size());
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t entity = kEntities; entity-- > 0;) {
      backwards[entity * 5 + i] = interleaved[entity].next();
    }
  }
  CHECK(forwards == backwards);
}

TEST_CASE("the first word of an identity can be had alone") {
  const RandomKey key(7, 3);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const DrawId id{i * 0x123456789u, i, static_cast<std::uint16_t>(i % 5), Purpose::kResponse};
    CHECK(Draws::first_word(key, id) == Draws(key, id).next());
  }
}

TEST_CASE("uniform is the upper 53 bits of a word, at least 0 and below 1") {
  const RandomKey key(12, 0);
  double smallest = 1, largest = 0;
  for (std::uint64_t entity = 0; entity < 100'000; ++entity) {
    const DrawId id{entity, 0, 0, Purpose::kLoss};
    const double u = Draws(key, id).uniform();
    REQUIRE(u * 0x1p53 == static_cast<double>(first_word(key, id) >> 11));
    smallest = std::min(smallest, u);
    largest = std::max(largest, u);
  }
  CHECK(smallest >= 0);
  CHECK(largest < 1);
  // The largest of 10^5 misses the top 1.4e-4 with probability 1e-6; likewise the smallest.
  CHECK(smallest < 1.4e-4);
  CHECK(largest > 1 - 1.4e-4);
}

TEST_CASE("below reaches each number below n and no other") {
  const RandomKey key(13, 0);
  CHECK(Draws(key, {}).below(1) == 0);
  std::vector<std::uint64_t> counts(7);
  for (std::uint64_t entity = 0; entity < 70'000; ++entity) {
    const std::uint32_t k = Draws(key, {entity, 0, 0, Purpose::kArrival}).below(7);
    REQUIRE(k < 7);
    ++counts[k];
  }
  CHECK(looks_uniform(counts));
  std::uint32_t largest = 0;
  for (std::uint64_t entity = 0; entity < 1000; ++entity) {
    const DrawId id{entity, 0, 0, Purpose::kArrival};
    const std::uint32_t k = Draws(key, id).below(0xffffffff);
    REQUIRE(k < 0xffffffff);
    largest = std::max(largest, k);
  }
  CHECK(largest > 0xf0000000);  // all 1000 below 15/16: probability 1e-28
}

TEST_CASE("first words of consecutive entities, attempts and replications are uniform",
          "[repetitive]") {
  constexpr std::size_t kCells = 1000;
  constexpr std::uint32_t kSamples = 1'000'000;
  std::vector<std::uint64_t> by_entity(kCells), by_attempt(kCells), by_replication(kCells);
  const auto cell = [](Draws draws) { return static_cast<std::size_t>(draws.uniform() * kCells); };
  const RandomKey key(14, 0);
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    ++by_entity[cell(Draws(key, {i, 1, 0, Purpose::kServiceTime}))];
    ++by_attempt[cell(Draws(key, {1, i, 0, Purpose::kServiceTime}))];
    ++by_replication[cell(Draws(RandomKey(14, i), {1, 1, 0, Purpose::kServiceTime}))];
  }
  CHECK(looks_uniform(by_entity));
  CHECK(looks_uniform(by_attempt));
  CHECK(looks_uniform(by_replication));
}

TEST_CASE("every bit of a word is a fair coin") {
  constexpr int kSamples = 100'000;
  std::array<int, 64> ones{};
  for (std::uint64_t entity = 0; entity < kSamples; ++entity) {
    const std::uint64_t word = first_word(RandomKey(15, 0), {entity, 0, 0, Purpose::kNetwork});
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(word >> bit & 1);
  }
  // 64 bits at 1e-6 / 64 each: 5.65 standard deviations of sqrt(n) / 2.
  for (const int count : ones) CHECK(std::abs(count - kSamples / 2) < 5.65 * 158.1);
}

TEST_CASE("words that stand near each other are not correlated", "[repetitive]") {
  // With u in [0, 1), mean of (u - 1/2)(v - 1/2) over n independent pairs has sd 1 / (12 sqrt(n)).
  constexpr std::uint32_t kPairs = 200'000;
  constexpr double kLimit = kTwoSidedQuantile / 12;
  const RandomKey key(16, 0);
  double entities = 0, attempts = 0, words = 0, blocks = 0, purposes = 0, replications = 0;
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    Draws draws(key, {i, 1, 0, Purpose::kServiceTime});
    const double u = draws.uniform() - 0.5;
    const double second = draws.uniform() - 0.5;
    const double third = draws.uniform() - 0.5;
    const auto against = [&](const RandomKey& k, DrawId id) {
      return u * (Draws(k, id).uniform() - 0.5);
    };
    entities += against(key, {i + 1, 1, 0, Purpose::kServiceTime});
    attempts += against(key, {i, 2, 0, Purpose::kServiceTime});
    purposes += against(key, {i, 1, 0, Purpose::kNetwork});
    replications += against(RandomKey(16, 1), {i, 1, 0, Purpose::kServiceTime});
    words += u * second;
    blocks += second * third;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(kPairs));
  for (const double sum : {entities, attempts, words, blocks, purposes, replications}) {
    CHECK(std::abs(sum * scale) < kLimit);
  }
}

TEST_CASE("an exponential or normal variate takes one word in about 98 % of the cases") {
  constexpr int kSamples = 1'000'000;
  const RandomKey key(17, 0);
  const bool is_normal = GENERATE(false, true);
  CAPTURE(is_normal);
  const auto& layers =
      is_normal ? retrysim::kernel::kNormalLayers : retrysim::kernel::kExponentialLayers;
  double inside = 0;
  for (const auto& layer : layers) {
    inside += static_cast<double>(layer.inside) * 0x1p-53 / 256;
  }
  CHECK(inside == Approx(is_normal ? 0.9851 : 0.9778).margin(0.0001));
  int one_word = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    Draws used(key, {i, 1, 0, Purpose::kServiceTime}), fresh = used;
    is_normal ? retrysim::unit_normal(used) : retrysim::unit_exponential(used);
    fresh.next();
    one_word += used.next() == fresh.next();
  }
  CHECK(std::abs(one_word / double{kSamples} - inside) <
        kTwoSidedQuantile * std::sqrt(inside * (1 - inside) / kSamples));
}

namespace {

/// A ziggurat as it is stored, and the exact law that it stands for.
struct Ziggurat {
  const retrysim::kernel::ZigguratLayer* layers;
  const double* heights;
  double stored_edge;
  long double edge;
  long double area_beyond;  // of the density, from the edge on
  long double (*density)(long double x);
  long double (*inverse)(long double height);
};

// The script that wrote the constants uses 60 digits; here the same is done with long double, from
// the edge upwards, to one unit in the last place of a double.
void check_recurrence(const Ziggurat& z) {
  const auto close = [](double stored, long double exact) {
    return std::abs(static_cast<long double>(stored) - exact) <= std::abs(exact) * 0x1p-52L;
  };
  CHECK(close(z.stored_edge, z.edge));
  long double f = z.density(z.edge), x = z.edge;
  const long double area = z.edge * f + z.area_beyond;
  CHECK(close(z.layers[0].width * 0x1p53, area / f));
  CHECK(close(static_cast<double>(z.layers[0].inside), z.edge / (area / f) * 0x1p53L));
  CHECK(z.heights[0] == 0);
  for (std::size_t i = 1; i < 256; ++i) {
    INFO("layer " << i);
    CHECK(close(z.layers[i].width * 0x1p53, x));
    CHECK(close(z.heights[i], f));
    f += area / x;
    const long double next = i == 255 ? 0 : z.inverse(f);
    // A ratio of small edges near the top carries more of long double's own rounding.
    CHECK(std::abs(static_cast<long double>(z.layers[i].inside) - next / x * 0x1p53L) < 4);
    x = next;
  }
  CHECK(std::abs(f - 1) < 1e-17L);  // the last layer ends at the top
  CHECK(z.heights[256] == 1);
}

}  // namespace

TEST_CASE("the ziggurats' constants satisfy their recurrence") {
  using namespace retrysim::kernel;
  constexpr long double kExponential = 7.6971174701310497140446280481L;
  check_recurrence({kExponentialLayers, kExponentialHeights, kExponentialEdge, kExponential,
                    std::exp(-kExponential), [](long double x) { return std::exp(-x); },
                    [](long double f) { return -std::log(f); }});
  constexpr long double kNormal = 3.6541528853610087716454297289L;
  constexpr long double kSqrtHalf = 0.70710678118654752440084436210L;
  constexpr long double kSqrtHalfPi = 1.25331413731550025120788264241L;
  check_recurrence({kNormalLayers, kNormalHeights, kNormalEdge, kNormal,
                    kSqrtHalfPi * std::erfc(kNormal * kSqrtHalf),
                    [](long double x) { return std::exp(-x * x / 2); },
                    [](long double f) { return std::sqrt(-2 * std::log(f)); }});
}
