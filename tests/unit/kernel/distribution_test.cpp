// Distributions: samples against exact laws, golden nanoseconds that no compiler may change, and
// the checks of arguments. Statistical tests have fixed seeds; the false-alarm probability of each
// single comparison is 1e-6.
//
// SPDX-License-Identifier: MIT
#include <retrysim/random.hpp>

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernel/ziggurat_tables.hpp"

using retrysim::Distribution;
using retrysim::DrawId;
using retrysim::Draws;
using retrysim::Duration;
using retrysim::Purpose;
using retrysim::RandomKey;

namespace {

using Kind = Distribution::Kind;

constexpr double kNormalQuantile = 4.891638;      // two-sided, 1e-6
constexpr double kKolmogorovQuantile = 2.693407;  // of sqrt(n) D: 2 exp(-2 x^2) = 1e-6

/// Entity i draws from identity i, as requests of a simulation do.
Draws draws_of(std::uint64_t seed, std::uint64_t entity) {
  return Draws(RandomKey(seed, 0), {entity, 1, 0, Purpose::kServiceTime});
}

std::vector<double> sorted_samples(std::size_t n, const std::function<double(Draws&)>& sample,
                                   std::uint64_t seed) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    Draws draws = draws_of(seed, i);
    samples[i] = sample(draws);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

std::vector<double> samples_of(const Distribution& d, std::size_t n, std::uint64_t seed) {
  return sorted_samples(
      n, [&](Draws& draws) { return d.sample(draws).in_seconds(); }, seed);
}

/// sqrt(n) times the largest distance between the empirical and the exact distribution function.
double kolmogorov_distance(const std::vector<double>& sorted,
                           const std::function<double(double)>& cdf) {
  const auto n = static_cast<double>(sorted.size());
  double largest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double f = cdf(sorted[i]);
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, f - rank / n, (rank + 1) / n - f});
  }
  return largest * std::sqrt(n);
}

/// E X^k of a non-negative variable by its distribution function: integral of k x^(k-1) (1 - F).
double raw_moment(int k, const std::function<double(double)>& tail) {
  const auto integrand = [&](double x) { return k * std::pow(x, k - 1) * tail(x); };
  using Quadrature = boost::math::quadrature::gauss_kronrod<double, 61>;
  double sum = 0;  // in pieces, because some laws have a kink and all have a scale of about 1
  double from = 0;
  for (const double to : {0.5, 0.9, 1.0, 1.5, 2.0, 4.0, 8.0, 32.0}) {
    sum += Quadrature::integrate(integrand, from, to, 12, 1e-11);
    from = to;
  }
  return sum +
         Quadrature::integrate(integrand, from, std::numeric_limits<double>::infinity(), 15, 1e-11);
}

/// A continuous distribution with mean 1 s or so, and its exact law in seconds: P(X > x).
struct Law {
  std::string name;
  Distribution distribution;
  std::function<double(double)> tail;
  double sd;  // as asked for, or from the textbook
};

template <class Boost>
std::function<double(double)> tail_of(Boost law) {
  return [law](double x) { return boost::math::cdf(boost::math::complement(law, x)); };
}

std::function<double(double)> folded_normal_tail(double mean, double sd) {
  return [=](double x) {
    const boost::math::normal law(mean, sd);
    return boost::math::cdf(boost::math::complement(law, x)) + boost::math::cdf(law, -x);
  };
}

std::vector<Law> laws() {
  namespace bm = boost::math;
  const auto unit_exponential_tail = [](double x) { return std::exp(-x); };
  std::vector<Law> v;
  v.push_back({"exponential", Distribution::exponential(1), unit_exponential_tail, 1});
  v.push_back({"uniform", Distribution::uniform(0.5, 1.5),
               [](double x) { return std::clamp(1.5 - x, 0.0, 1.0); }, std::sqrt(1 / 12.0)});
  v.push_back(
      {"erlang 4", Distribution::erlang(1, 4), tail_of(bm::gamma_distribution(4.0, 0.25)), 0.5});
  v.push_back({"hyperexponential", Distribution::hyperexponential(0.3, 2.0, 0.5),
               [](double x) { return 0.3 * std::exp(-x / 2) + 0.7 * std::exp(-x / 0.5); },
               std::sqrt(2 * (0.3 * 4 + 0.7 * 0.25) - 0.95 * 0.95)});
  const double p = 0.5 * (1 + std::sqrt(3.0 / 5.0));  // balanced means, cv = 2
  v.push_back(
      {"hyperexponential cv 2", Distribution::hyperexponential_cv(1, 2),
       [p](double x) { return p * std::exp(-2 * p * x) + (1 - p) * std::exp(-2 * (1 - p) * x); },
       2});
  v.push_back(
      {"hyperexponential cv 1", Distribution::hyperexponential_cv(1, 1), unit_exponential_tail, 1});
  const double sigma = std::sqrt(std::log(1 + 0.25));
  v.push_back({"lognormal", Distribution::lognormal(1, 0.5),
               tail_of(bm::lognormal(-sigma * sigma / 2, sigma)), 0.5});
  v.push_back({"normal", Distribution::normal(1, 0.15), folded_normal_tail(1, 0.15), 0.15});
  // Folded: E X^2 = 1 + 0.64, and the mean by the C library (mean / sd = 1.25).
  const double folded_mean =
      0.8 * std::sqrt(2 / M_PI) * std::exp(-0.78125) + std::erf(0.8838834764831844);
  v.push_back({"normal folded", Distribution::normal(1, 0.8), folded_normal_tail(1, 0.8),
               std::sqrt(1.64 - folded_mean * folded_mean)});
  v.push_back({"pareto", Distribution::pareto(1, 10), tail_of(bm::pareto(0.9, 10.0)),
               std::sqrt(0.81 * 10 / (81 * 8.0))});
  v.push_back({"weibull 2", Distribution::weibull(1, 2),
               tail_of(bm::weibull(2, 1 / std::tgamma(1.5))),
               std::sqrt(std::tgamma(2.0) / std::pow(std::tgamma(1.5), 2) - 1)});
  v.push_back({"weibull 0.8", Distribution::weibull(1, 0.8),
               tail_of(bm::weibull(0.8, 1 / std::tgamma(2.25))),
               std::sqrt(std::tgamma(3.5) / std::pow(std::tgamma(2.25), 2) - 1)});
  return v;
}

/// Whether counts agree with shares proportional to the weights (chi-square, one-sided).
bool has_shares(const std::vector<double>& counts, const std::vector<double>& weights) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double chi2 = 0, freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (weights[i] == 0) continue;
    const double expected = total * weights[i] / all;
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++freedom;
  }
  const boost::math::chi_squared law(freedom);
  return boost::math::cdf(boost::math::complement(law, chi2)) > 1e-6;
}

/// One distribution of each kind and maker, with golden samples.
struct Golden {
  Kind kind;
  Distribution distribution;
  std::array<std::int64_t, 3> samples;  ///< for u = 0.01: entities 0, 1, 2 of seed 42, in ns
  std::uint64_t hash;                   ///< for u = 10^6: of 20 000 entities of seed 43
};

std::vector<Golden> one_of_each(double u) {
  using D = Distribution;
  using enum Distribution::Kind;
  return {
      {kConstant,
       D::constant(Duration::from_seconds(u)),
       {10000000, 10000000, 10000000},
       0x2faabf1aff8a43a5},
      {kExponential, D::exponential(u), {6373105, 2145453, 10001380}, 0xf86c14dceb5c7ccf},
      {kUniform, D::uniform(0.5 * u, 1.75 * u), {12615581, 7143023, 12831556}, 0x63f38232906bbab8},
      {kErlang, D::erlang(u, 3), {6358268, 4817692, 5508234}, 0x2e1e35a547f3a175},
      {kHyperexponential,
       D::hyperexponential(0.3, 2 * u, 0.5 * u),
       {5269507, 20169466, 919400},
       0xb5230f9531fb67d1},
      {kHyperexponential,
       D::hyperexponential_cv(u, 3),
       {5563166, 5323368, 970637},
       0x134b389af128218f},
      {kLognormal, D::lognormal(u, 2), {1822008, 3375402, 14672973}, 0xfe28f6aa6401600d},
      {kNormal, D::normal(u, 0.7 * u), {5045477, 8447576, 16555849}, 0x5f02eb28774e2a6d},
      {kPareto, D::pareto(u, 1.5), {5097991, 3845882, 6493044}, 0x830dc7be6f3fd787},
      {kWeibull, D::weibull(u, 0.7), {4150767, 876302, 7901553}, 0x834a730c4f9ff7f},
      {kEmpirical,
       D::empirical({u, 2 * u, 3 * u}, {1, 2, 0.5}),
       {20000000, 10000000, 20000000},
       0x93f1b9ae9ddbd339},
  };
}

std::string what_is_wrong(const std::function<void()>& make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("continuous kinds follow their exact laws", "[repetitive]") {
  constexpr std::size_t kSamples = 200'000;
  std::uint64_t seed = 100;
  for (const Law& law : laws()) {
    INFO(law.name);
    const double m1 = raw_moment(1, law.tail), m2 = raw_moment(2, law.tail);
    const double m3 = raw_moment(3, law.tail), m4 = raw_moment(4, law.tail);
    const double variance = m2 - m1 * m1;
    const double fourth = m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1 * m1 * m1 * m1;
    // The law of this test has the mean and sd that were asked for ...
    CHECK(law.distribution.mean_seconds() == Approx(m1).epsilon(1e-8));
    CHECK(law.sd == Approx(std::sqrt(variance)).epsilon(1e-7));

    // ... and the samples have the law.
    const auto samples = samples_of(law.distribution, kSamples, ++seed);
    double sum = 0, squares = 0;
    for (const double x : samples) {
      sum += x - m1;
      squares += (x - m1) * (x - m1);
    }
    const auto n = static_cast<double>(kSamples);
    CHECK(std::abs(sum / n) < kNormalQuantile * std::sqrt(variance / n));
    CHECK(std::abs(squares / n - variance) <
          kNormalQuantile * std::sqrt((fourth - variance * variance) / n));
    CHECK(kolmogorov_distance(samples, [&](double x) { return 1 - law.tail(x); }) <
          kKolmogorovQuantile);
  }
}

TEST_CASE("the Kolmogorov test would notice a law that is slightly off") {
  const auto samples = samples_of(Distribution::exponential(1.02), 200'000, 120);
  CHECK(kolmogorov_distance(samples, [](double x) { return 1 - std::exp(-x); }) >
        kKolmogorovQuantile);
}

TEST_CASE("unit variates follow their exact laws", "[repetitive]") {
  constexpr std::size_t kSamples = 1'000'000;
  const auto exponential = sorted_samples(kSamples, retrysim::unit_exponential, 130);
  CHECK(kolmogorov_distance(exponential, [](double x) { return -std::expm1(-x); }) <
        kKolmogorovQuantile);
  const auto normal = sorted_samples(kSamples, retrysim::unit_normal, 131);
  CHECK(kolmogorov_distance(normal, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); }) <
        kKolmogorovQuantile);
}

TEST_CASE("the exponential tail beyond the ziggurat's base is exponential", "[repetitive]") {
  constexpr std::size_t kSamples = 4'000'000;
  const double edge = retrysim::kernel::kExponentialEdge;
  std::vector<double> excess;
  for (std::size_t i = 0; i < kSamples; ++i) {
    Draws draws = draws_of(132, i);
    const double x = retrysim::unit_exponential(draws);
    if (x >= edge) excess.push_back(x - edge);
  }
  const double expected = static_cast<double>(kSamples) * std::exp(-edge);  // about 1817
  CHECK(std::abs(static_cast<double>(excess.size()) - expected) <
        kNormalQuantile * std::sqrt(expected));
  std::sort(excess.begin(), excess.end());
  CHECK(kolmogorov_distance(excess, [](double x) { return -std::expm1(-x); }) <
        kKolmogorovQuantile);
}

TEST_CASE(
    "an exponential variate beyond the base starts again from its edge, any number of times") {
  // Draws whose own first word leads beyond the base (1 in 2200) serve as the second word here.
  const double edge = retrysim::kernel::kExponentialEdge;
  constexpr std::uint64_t kBeyondBase = 0xffffffffffffff00;  // layer 0, largest position
  int twice = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Draws draws = draws_of(138, i), same = draws_of(138, i);
    const double rest = retrysim::unit_exponential(same);
    REQUIRE(retrysim::kernel::unit_exponential_outside(draws, kBeyondBase) == Approx(edge + rest));
    twice += rest >= edge;
  }
  CHECK(twice > 0);
}

TEST_CASE("normal variates have the moments of the normal law", "[repetitive]") {
  // E X^k of a million against 0, 1, 0, 3; the variances of X^k are 1, 2, 15 and 96.
  constexpr std::size_t kSamples = 1'000'000;
  const auto samples = sorted_samples(kSamples, retrysim::unit_normal, 139);
  const std::array<double, 4> exact = {0, 1, 0, 3}, variance = {1, 2, 15, 96};
  for (std::size_t k = 0; k < exact.size(); ++k) {
    INFO("power " << k + 1);
    double sum = 0;
    for (const double x : samples) sum += std::pow(x, static_cast<double>(k + 1)) - exact[k];
    CHECK(std::abs(sum) < kNormalQuantile * std::sqrt(variance[k] * static_cast<double>(kSamples)));
  }
}

TEST_CASE("the normal tail beyond the ziggurat's base follows the normal law", "[repetitive]") {
  constexpr std::size_t kSamples = 4'000'000;
  const double edge = retrysim::kernel::kNormalEdge;
  const double beyond = std::erfc(edge / std::sqrt(2));  // on both sides: 2.6e-4
  std::vector<double> lengths;
  double positive = 0;
  for (std::size_t i = 0; i < kSamples; ++i) {
    Draws draws = draws_of(140, i);
    const double x = retrysim::unit_normal(draws);
    if (std::abs(x) < edge) continue;
    lengths.push_back(std::abs(x));
    positive += x > 0;
  }
  const double expected = static_cast<double>(kSamples) * beyond;  // about 1032
  const auto found = static_cast<double>(lengths.size());
  CHECK(std::abs(found - expected) < kNormalQuantile * std::sqrt(expected));
  CHECK(std::abs(positive - found / 2) < kNormalQuantile * std::sqrt(found / 4));
  std::sort(lengths.begin(), lengths.end());
  CHECK(kolmogorov_distance(lengths, [&](double x) {
          return 1 - std::erfc(x / std::sqrt(2)) / beyond;
        }) < kKolmogorovQuantile);
}

TEST_CASE("normal variates are the same to the last bit with every compiler") {
  const auto variate = [](std::uint64_t first_word) {
    Draws draws = draws_of(141, 0);
    return retrysim::kernel::unit_normal_outside(draws, first_word);
  };
  // By first word: inside its layer, just in its wedge, at the end of its wedge and so drawn again,
  // and beyond the base; with either sign.
  constexpr std::uint64_t kNegative = 256, kFarRight = ~std::uint64_t{0} << 11;
  CHECK(variate(0x4000000000000000 | 100) == 0x1.bb56bdb85256ep-2);
  CHECK(variate(0x4000000000000000 | kNegative | 100) == -0x1.bb56bdb85256ep-2);
  const auto& layer = retrysim::kernel::kNormalLayers[200];
  const double in_wedge = static_cast<double>(layer.inside) * layer.width;
  CHECK(variate(layer.inside << 11 | 200) == in_wedge);
  CHECK(variate(layer.inside << 11 | kNegative | 200) == -in_wedge);
  CHECK(variate(kFarRight | kNegative | 200) == 0x1.a4aa9dde38e82p-1);
  CHECK(variate(kFarRight) == 0x1.df022182c326dp+1);
  CHECK(variate(kFarRight | kNegative) == -0x1.df022182c326dp+1);
}

TEST_CASE("the Pareto tail is not cut off", "[repetitive]") {
  // P(X > x) = (x_m / x)^1.5 with x_m = 1/3 s; 1.9e-4 of the samples lie beyond 100 s.
  constexpr std::size_t kSamples = 2'000'000;
  const auto samples = samples_of(Distribution::pareto(1, 1.5), kSamples, 134);
  CHECK(samples.front() >= 0.333333333);
  const auto beyond = samples.end() - std::lower_bound(samples.begin(), samples.end(), 100.0);
  const double expected = static_cast<double>(kSamples) * std::pow(1.0 / 300.0, 1.5);  // 385
  CHECK(std::abs(static_cast<double>(beyond) - expected) < kNormalQuantile * std::sqrt(expected));
}

TEST_CASE("an Erlang distribution with the largest shape has enough words", "[repetitive]") {
  const auto samples =
      samples_of(Distribution::erlang(1, Distribution::kMaxErlangShape), 20'000, 135);
  const boost::math::gamma_distribution<> law(1000.0, 0.001);
  CHECK(kolmogorov_distance(samples, [&](double x) { return boost::math::cdf(law, x); }) <
        kKolmogorovQuantile);
}

TEST_CASE("an empirical distribution draws each value with its share", "[repetitive]") {
  const std::vector<double> values = {0.001, 0, 0.5, 0.002, 0.25, 7};
  const std::vector<double> weights = {3, 1, 0, 0.5, 10, 1e-3};
  const Distribution d = Distribution::empirical(values, weights);
  CHECK(d.mean_seconds() == Approx(2.511 / 14.501).epsilon(1e-14));
  std::vector<double> counts(values.size());
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    Draws draws = draws_of(136, i);
    const auto which = std::find(values.begin(), values.end(), d.sample(draws).in_seconds());
    REQUIRE(which != values.end());
    ++counts[static_cast<std::size_t>(which - values.begin())];
  }
  CHECK(counts[2] == 0);  // weight zero
  CHECK(has_shares(counts, weights));
}

TEST_CASE("an empirical distribution of many values keeps every share") {
  std::vector<double> values, weights;
  for (int i = 1; i <= 1000; ++i) {
    values.push_back(i * 1e-3);
    weights.push_back(i);
  }
  const Distribution d = Distribution::empirical(values, weights);
  std::vector<double> counts(values.size());
  for (std::uint64_t i = 0; i < 500'000; ++i) {
    Draws draws = draws_of(137, i);
    ++counts.at(static_cast<std::size_t>(d.sample(draws).count() / 1'000'000 - 1));
  }
  CHECK(has_shares(counts, weights));
}

TEST_CASE("extreme weights of an empirical distribution do not overflow") {
  CHECK(Distribution::empirical({1, 2}, {1e308, 1.5e308}).mean_seconds() == Approx(1.6));
  CHECK(Distribution::empirical({1, 2}, {5e-324, 5e-324}).mean_seconds() == 1.5);
  const Distribution single = Distribution::empirical({0.5}, {3});
  Draws draws = draws_of(1, 1);
  CHECK(single.sample(draws) == Duration::milliseconds(500));
  CHECK(single.kind() == Kind::kEmpirical);
}

TEST_CASE("a sample of an identity is that of its words") {
  // Of so many, some hundred take more than one word.
  constexpr std::uint64_t kSamples = 20'000;
  const RandomKey key(11, 5);
  for (const Distribution& d :
       {Distribution::normal(0.01, 0.002), Distribution::normal(0.001, 0.01),
        Distribution::exponential(0.01), Distribution::uniform(0.001, 0.002),
        Distribution::constant(Duration::milliseconds(3)), Distribution::lognormal(0.01, 2)}) {
    std::uint64_t different = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      const DrawId id{.entity = i, .attempt = 2, .purpose = Purpose::kNetwork};
      Draws draws(key, id);
      different += d.sample(key, id) != d.sample(draws);
    }
    CHECK(different == 0);
  }
}

TEST_CASE("samples are the same nanoseconds with every compiler") {
  // A change here changes the results of all scenarios.
  for (const Golden& golden : one_of_each(0.01)) {
    INFO("kind " << static_cast<int>(golden.kind));
    for (std::uint64_t entity = 0; entity < 3; ++entity) {
      Draws draws = draws_of(42, entity);
      CHECK(golden.distribution.sample(draws).count() == golden.samples[entity]);
      const auto same =
          golden.distribution.sample(RandomKey(42, 0), {entity, 1, 0, Purpose::kServiceTime});
      CHECK(same.count() == golden.samples[entity]);
    }
  }
}

TEST_CASE("the last bits of many samples are the same with every compiler") {
  // With lengths around 10^6 s a nanosecond is the last bit or two of a double, so the hash (FNV-1a
  // over the counts) sees every rounding, in the rare branches of the ziggurat too.
  for (const Golden& golden : one_of_each(1e6)) {
    INFO("kind " << static_cast<int>(golden.kind));
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::uint64_t entity = 0; entity < 20'000; ++entity) {
      Draws draws = draws_of(43, entity);
      const auto count = static_cast<std::uint64_t>(golden.distribution.sample(draws).count());
      for (int byte = 0; byte < 8; ++byte) {
        hash = (hash ^ (count >> (8 * byte) & 255)) * 0x100000001b3;
      }
    }
    CHECK(hash == golden.hash);
  }
}

TEST_CASE("kinds and constants are as made") {
  CHECK(Distribution().is_constant());
  CHECK(Distribution().constant_value() == Duration::zero());
  CHECK(Distribution().mean_seconds() == 0);
  const Distribution never = Distribution::constant(Duration::max());
  Draws draws = draws_of(1, 0), untouched = draws_of(1, 0);
  CHECK(never.sample(draws) == Duration::max());
  CHECK(draws.next() == untouched.next());  // a constant takes no word
  CHECK(Distribution::constant(Duration::milliseconds(10)).mean_seconds() == 0.01);
  for (const Golden& golden : one_of_each(1)) {
    CHECK(golden.distribution.kind() == golden.kind);
    CHECK(golden.distribution.is_constant() == (golden.kind == Kind::kConstant));
  }
}

TEST_CASE("limiting parameters") {
  Draws draws = draws_of(2, 0);
  CHECK(Distribution::lognormal(0.02, 0).sample(draws) == Duration::milliseconds(20));
  CHECK(Distribution::normal(0.02, 0).sample(draws) == Duration::milliseconds(20));
  CHECK(Distribution::normal(0.02, 0).mean_seconds() == 0.02);
  CHECK(Distribution::uniform(0, 1e-3).mean_seconds() == 0.5e-3);
  CHECK(Distribution::hyperexponential(0.25, 4, 8).mean_seconds() == 7);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Draws a = draws_of(3, i), b = draws_of(3, i), c = draws_of(3, i);
    a.next();  // the phase
    const Duration phase2 = Distribution::exponential(2).sample(a);
    REQUIRE(Distribution::hyperexponential(0, 1, 2).sample(b) == phase2);
    REQUIRE(Distribution::hyperexponential(1, 2, 1).sample(c) == phase2);
  }
  // What does not fit in 64 bits of nanoseconds is never, not a wrapped number: here all samples
  // above one mean (9.2e18 ns), a share of 1 / e with a standard deviation of 0.00483.
  const Distribution longest = Distribution::exponential(Distribution::kMaxSeconds);
  int never = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    Draws one = draws_of(4, i);
    const Duration x = longest.sample(one);
    REQUIRE(x >= Duration::zero());
    never += x == Duration::max();
  }
  CHECK(std::abs(never / 10'000.0 - std::exp(-1.0)) < kNormalQuantile * 0.00483);
}

TEST_CASE("wrong arguments are refused with a sentence that says why") {
  using D = Distribution;
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> pair = {1, 2};
  const std::vector<std::pair<std::function<void()>, std::string>> mistakes = {
      {[] { D::constant(Duration::nanoseconds(-1)); }, "value must not be negative"},
      {[] { D::exponential(0); }, "mean must be positive"},
      {[] { D::exponential(-1); }, "mean must be positive"},
      {[=] { D::exponential(nan); }, "mean must be a finite number"},
      {[] { D::exponential(1e10); }, "mean must be at most 9.2e9 seconds (292 years)"},
      {[] { D::uniform(-1, 1); }, "min must not be negative"},
      {[] { D::uniform(2, 1); }, "min must be less than max"},
      {[] { D::uniform(1, 1); }, "min must be less than max"},
      {[=] { D::uniform(0, inf); }, "max must be a finite number"},
      {[] { D::erlang(0, 2); }, "mean must be positive"},
      {[] { D::erlang(1, 0); }, "shape must be between 1 and 1000"},
      {[] { D::erlang(1, 1001); }, "shape must be between 1 and 1000"},
      {[] { D::hyperexponential(-0.1, 1, 1); }, "p must be between 0 and 1"},
      {[] { D::hyperexponential(1.1, 1, 1); }, "p must be between 0 and 1"},
      {[=] { D::hyperexponential(nan, 1, 1); }, "p must be a finite number"},
      {[] { D::hyperexponential(0.5, 0, 1); }, "mean1 must be positive"},
      {[] { D::hyperexponential(0.5, 1, -1); }, "mean2 must be positive"},
      {[] { D::hyperexponential_cv(1, 0.9); }, "cv must be between 1 and 1e6"},
      {[] { D::hyperexponential_cv(1, 2e6); }, "cv must be between 1 and 1e6"},
      {[] { D::hyperexponential_cv(0, 2); }, "mean must be positive"},
      {[] { D::hyperexponential_cv(1, 1e6); },
       "cv is too large for this mean: the rare long phase would exceed 292 years"},
      {[] { D::lognormal(0, 1); }, "mean must be positive"},
      {[] { D::lognormal(1, -1); }, "cv must be between 0 and 1e6"},
      {[=] { D::lognormal(1, nan); }, "cv must be a finite number"},
      {[] { D::normal(0, 1); }, "mean must be positive"},
      {[] { D::normal(1, -1); }, "sd must not be negative"},
      {[] { D::pareto(0, 2); }, "mean must be positive"},
      {[] { D::pareto(1, 1); }, "shape must be greater than 1, so that the mean is finite"},
      {[=] { D::pareto(1, inf); }, "shape must be a finite number"},
      {[] { D::weibull(0, 1); }, "mean must be positive"},
      {[] { D::weibull(1, 0); }, "shape must be positive"},
      {[] { D::weibull(1, 0.009); }, "shape must be at least 0.01"},
      {[] { D::gamma(0, 1); }, "mean must be positive"},
      {[=] { D::gamma(1, nan); }, "shape must be a finite number"},
      {[] { D::gamma(1, 0.009); }, "shape must be between 0.01 and 1e6"},
      {[] { D::gamma(1, 2e6); }, "shape must be between 0.01 and 1e6"},
      {[] { D::gamma_scaled(1, 0); }, "scale must be positive"},
      {[=] { D::gamma_scaled(inf, 1); }, "shape must be a finite number"},
      {[] { D::gamma_scaled(0, 1); }, "shape must be between 0.01 and 1e6"},
      {[] { D::gamma_scaled(1e5, 1e5); }, "the mean, shape x scale, must be at most 9.2e9 seconds"},
      {[] { D::empirical({}, {}); }, "an empirical distribution needs at least one value"},
      {[=] { D::empirical(pair, {1}); }, "there must be as many weights as values"},
      {[] { D::empirical({-1}, {1}); }, "value must not be negative"},
      {[=] { D::empirical({nan}, {1}); }, "value must be a finite number"},
      {[] { D::empirical({1}, {-1}); }, "weight must not be negative"},
      {[=] { D::empirical({1}, {inf}); }, "weight must be a finite number"},
      {[=] {
         D::empirical(pair, {0, 0});
       },
       "at least one weight must be positive"},
  };
  for (const auto& [make, sentence] : mistakes) CHECK(what_is_wrong(make) == sentence);
}
