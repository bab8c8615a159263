// Cost of random draws, of every distribution and of histograms, each beside its counterpart of the
// standard library as a yardstick. The counterparts are not used by the simulator: their results
// differ between libraries.
//
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>
#include <retrysim/random.hpp>
#include <retrysim/simulation.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace {

using retrysim::Distribution;
using retrysim::DrawId;
using retrysim::Draws;
using retrysim::Duration;
using retrysim::Purpose;
using retrysim::RandomKey;

const RandomKey kKey(1, 0);

/// As the simulator draws: a fresh identity for every sample.
Draws draws_of(std::uint64_t entity) { return Draws(kKey, {entity, 1, 0, Purpose::kServiceTime}); }

void draws_first_word(benchmark::State& state) {
  std::uint64_t entity = 0;
  for (auto _ : state) benchmark::DoNotOptimize(draws_of(entity++).next());
}
BENCHMARK(draws_first_word);

/// A stream restarted every 2000 words, so that its block counter stays in its range.
template <class Take>
void from_stream(benchmark::State& state, Take take) {
  std::uint64_t entity = 0;
  while (state.KeepRunningBatch(1000)) {
    Draws draws = draws_of(entity++);
    for (int i = 0; i < 1000; ++i) benchmark::DoNotOptimize(take(draws));
  }
}
BENCHMARK_CAPTURE(from_stream, next, [](Draws& draws) { return draws.next(); });
BENCHMARK_CAPTURE(from_stream, uniform, [](Draws& draws) { return draws.uniform(); });
BENCHMARK_CAPTURE(from_stream, below, [](Draws& draws) { return draws.below(10'000); });
BENCHMARK_CAPTURE(from_stream, unit_exponential,
                  [](Draws& draws) { return retrysim::unit_exponential(draws); });

/// The standard library's generator and one of its distributions.
template <class Law>
void standard(benchmark::State& state, Law law) {
  std::mt19937_64 generator(1);
  for (auto _ : state) benchmark::DoNotOptimize(law(generator));
}
BENCHMARK_CAPTURE(standard, mt19937_64, [](std::mt19937_64& generator) { return generator(); });
BENCHMARK_CAPTURE(standard, uniform, std::uniform_real_distribution<>());
BENCHMARK_CAPTURE(standard, below, std::uniform_int_distribution<std::uint32_t>(0, 9'999));
BENCHMARK_CAPTURE(standard, exponential, std::exponential_distribution<>(1));
BENCHMARK_CAPTURE(standard, erlang_4, std::gamma_distribution<>(4, 0.25));
BENCHMARK_CAPTURE(standard, lognormal, std::lognormal_distribution<>(0, 0.5));
BENCHMARK_CAPTURE(standard, normal, std::normal_distribution<>(1, 0.5));
BENCHMARK_CAPTURE(standard, weibull, std::weibull_distribution<>(2, 1));
BENCHMARK_CAPTURE(standard, empirical_1000,
                  std::discrete_distribution<>(1000, 0, 1, [](double x) { return 1 + x; }));

void sample(benchmark::State& state, const Distribution& distribution) {
  std::uint64_t entity = 0;
  for (auto _ : state) {
    Draws draws = draws_of(entity++);
    benchmark::DoNotOptimize(distribution.sample(draws));
  }
}
BENCHMARK_CAPTURE(sample, constant, Distribution::constant(Duration::milliseconds(10)));
BENCHMARK_CAPTURE(sample, exponential, Distribution::exponential(0.01));
BENCHMARK_CAPTURE(sample, uniform, Distribution::uniform(0.005, 0.015));
BENCHMARK_CAPTURE(sample, erlang_4, Distribution::erlang(0.01, 4));
BENCHMARK_CAPTURE(sample, hyperexponential, Distribution::hyperexponential_cv(0.01, 2));
BENCHMARK_CAPTURE(sample, lognormal, Distribution::lognormal(0.01, 0.5));
BENCHMARK_CAPTURE(sample, normal, Distribution::normal(0.01, 0.005));
BENCHMARK_CAPTURE(sample, pareto, Distribution::pareto(0.01, 2.5));
BENCHMARK_CAPTURE(sample, weibull, Distribution::weibull(0.01, 2));

Distribution empirical_of_1000() {
  std::vector<double> values, weights;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(i * 1e-5);
    weights.push_back(1 + i * 1e-3);
  }
  return Distribution::empirical(values, weights);
}
BENCHMARK_CAPTURE(sample, empirical_1000, empirical_of_1000());

/// Latencies with mean 10 ms and a long tail, in nanoseconds.
std::vector<std::uint64_t> latencies() {
  const Distribution law = Distribution::lognormal(0.01, 1);
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 65'536; ++i) {
    Draws draws = draws_of(i);
    values.push_back(static_cast<std::uint64_t>(law.sample(draws).count()));
  }
  return values;
}

template <class Histogram>
void histogram_add(benchmark::State& state) {
  const auto values = latencies();
  Histogram histogram;
  std::size_t i = 0;
  for (auto _ : state) histogram.add(values[i++ & 65'535]);
  benchmark::DoNotOptimize(histogram.count());
}
BENCHMARK_TEMPLATE(histogram_add, retrysim::Histogram);
BENCHMARK_TEMPLATE(histogram_add, retrysim::BinHistogram);

/// The yardstick: a map from microseconds to counts.
void map_add(benchmark::State& state) {
  const auto values = latencies();
  std::map<std::uint64_t, std::uint64_t> counts;
  std::size_t i = 0;
  for (auto _ : state) ++counts[values[i++ & 65'535] / 1000];
  benchmark::DoNotOptimize(counts.size());
}
BENCHMARK(map_add);

/// What one time-series bin costs at its end: two quantiles and a reset.
void bin_end(benchmark::State& state) {
  retrysim::BinHistogram histogram;
  for (const std::uint64_t v : latencies()) histogram.add(v);
  const retrysim::BinHistogram full = histogram;
  for (auto _ : state) {
    histogram = full;
    benchmark::DoNotOptimize(histogram.quantile(0.5) + histogram.quantile(0.99));
    histogram.clear();
  }
}
BENCHMARK(bin_end);

void histogram_merge(benchmark::State& state) {
  retrysim::Histogram part, sum;
  for (const std::uint64_t v : latencies()) part.add(v);
  for (auto _ : state) {
    sum.merge(part);
    benchmark::DoNotOptimize(sum.count());
  }
}
BENCHMARK(histogram_merge);

}  // namespace
