// The chain of MetaFor (mpi-sws-rse/metafor, commit 5355c17), the Python tool that asks the same
// questions: its rules, solved by our elimination, must give its figures. Its own example is the
// service with 10 requests a second, a queue of 99, 20 places in orbit, a timeout of 3 s and four
// retries. Its figures were printed with six digits.
//
// SPDX-License-Identifier: MIT

#include "prediction/chain/markov_chain.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

namespace retrysim {
namespace {

constexpr std::size_t kQueue = 100, kOrbit = 20;  // numbers 0 .. 99 and 0 .. 19
constexpr double kRate = 10;                      // of service, per second
constexpr double kSixDigits = 6e-6;

std::size_t at(std::size_t q, std::size_t o) { return q * kOrbit + o; }

/// Where we have the exact tail of an Erlang distribution, it has Chebyshev's bound, which is 1 up
/// to one standard deviation.
double bound_on_timeout(std::size_t q, double timeout) {
  const double found = static_cast<double>(q);
  const double slack = timeout - found / kRate, sigma = std::sqrt(found) / kRate;
  return q == 0 ? 0 : slack > sigma ? std::pow(sigma / slack, 2) : 1;
}

struct Rates {
  double arrivals, timeout, retries;

  double gives_up() const { return 1 / ((retries + 1) * timeout); }
  double tries_again() const { return retries * gives_up(); }
};

MarkovChain chain_of(const Rates& r) {
  // New requests time out with a quarter of the probability, which is its correction for the bound.
  constexpr double kShare = 0.25;
  MarkovChain chain(kQueue * kOrbit);
  for (std::size_t q = 0; q < kQueue; ++q) {
    const double late = bound_on_timeout(q, r.timeout);
    const bool full = q + 1 == kQueue;
    for (std::size_t o = 0; o < kOrbit; ++o) {
      const double waiting = static_cast<double>(o), again = waiting * r.tries_again();
      if (q > 0) chain.add(at(q, o), at(q - 1, o), kRate);
      if (o > 0) chain.add(at(q, o), at(q, o - 1), waiting * r.gives_up() + (full ? again : 0));
      if (full) continue;
      chain.add(at(q, o), at(q + 1, o), r.arrivals + again * late);
      if (q > 0 && o + 1 < kOrbit) {
        chain.add(at(q, o), at(q + 1, o + 1), kShare * r.arrivals * late);
      }
      if (o > 0) chain.add(at(q, o), at(q + 1, o - 1), again * (1 - late));
    }
  }
  return chain;
}

TEST_CASE("MetaFor's chain has MetaFor's stationary figures") {
  struct Case {
    double arrivals, timeout, retries, queue, orbit, throughput, failures, full;
  };
  const Case cases[] = {
      {7, 9, 3, 2.33531, 0.0052125, 7.00101, 0.000144792, 2.30212e-13},
      {8, 9, 3, 4.01076, 0.011304, 8.00219, 0.000314, 6.41043e-08},
      {8.5, 9, 3, 5.72089, 0.0231717, 8.50405, 0.000643659, 1.86423e-05},
      {9, 9, 3, 11.598, 0.57316, 9.03701, 0.0159211, 0.00362024},
      {9.25, 9, 3, 31.5399, 4.32623, 9.43574, 0.120173, 0.0338123},
      {9.5, 9, 3, 73.3496, 13.248, 9.86809, 0.368, 0.119323},
      {9.75, 9, 3, 90.8954, 17.1774, 9.98657, 0.477149, 0.17391},
      {7, 3, 4, 94.0121, 12.5346, 9.99593, 0.83564, 0.168896},
      {8, 3, 4, 95.7442, 11.6268, 10, 0.775118, 0.234449},
      {8.5, 3, 4, 96.2204, 11.2387, 10, 0.749245, 0.264262},
      {9, 3, 4, 96.5811, 10.8922, 10, 0.726144, 0.292302},
      {9.25, 3, 4, 96.7303, 10.7329, 10, 0.715525, 0.305689},
      {9.5, 3, 4, 96.8631, 10.5821, 10, 0.705475, 0.318671},
      {9.75, 3, 4, 96.982, 10.4393, 10, 0.695956, 0.331259},
      {7, 9, 0, 2.3347, 0.00520898, 7.00058, 0.000578775, 3.06785e-14},
      {8, 9, 0, 4.00708, 0.0112612, 8.00125, 0.00125125, 9.87434e-09},
      {8.5, 9, 0, 5.69298, 0.0198079, 8.50218, 0.00220088, 2.67494e-06},
      {9, 9, 0, 9.47917, 0.11708, 9.00893, 0.0130088, 0.000453258},
      {9.25, 9, 0, 15.6451, 0.707546, 9.28543, 0.0786162, 0.00466854},
      {9.5, 9, 0, 36.2855, 3.91319, 9.62208, 0.434799, 0.0329181},
      {9.75, 9, 0, 71.1677, 10.4326, 9.90537, 1.15918, 0.102955},
  };
  for (const Case& c : cases) {
    INFO(c.arrivals << " " << c.timeout << " " << c.retries);
    const Rates rates{c.arrivals, c.timeout, c.retries};
    const std::vector<double> law = chain_of(rates).stationary();
    double queue = 0, orbit = 0, idle = 0, full = 0;
    for (std::size_t q = 0; q < kQueue; ++q) {
      for (std::size_t o = 0; o < kOrbit; ++o) {
        const double p = law[at(q, o)];
        queue += static_cast<double>(q) * p;
        orbit += static_cast<double>(o) * p;
        if (q == 0) idle += p;
        if (q + 1 == kQueue) full += p;
      }
    }
    CHECK(queue == Approx(c.queue).epsilon(kSixDigits));
    CHECK(orbit == Approx(c.orbit).epsilon(kSixDigits));
    CHECK(kRate * (1 - idle) == Approx(c.throughput).epsilon(kSixDigits));
    CHECK(orbit * rates.gives_up() == Approx(c.failures).epsilon(kSixDigits));
    // Its solver subtracts: probabilities below 1e-12 keep hardly a digit.
    if (c.full > 1e-12) CHECK(full == Approx(c.full).epsilon(1e-5));
  }
}

TEST_CASE("MetaFor's chain has MetaFor's hitting times") {
  struct Case {
    double arrivals, timeout, retries, queue, up, down;
  };
  const Case cases[] = {
      {4, 3, 4, 0.667427, 7.22869e+14, 59.3208},  {5, 3, 4, 1.00232, 1.68706e+09, 402.591},
      {5.5, 3, 4, 1.23509, 3.10581e+07, 3205.88}, {6, 3, 4, 3.92444, 1.47031e+06, 41244.1},
      {6.5, 3, 4, 78.1582, 122895, 646370},       {7, 3, 4, 94.0121, 15664.8, 1.14077e+07},
      {8, 3, 4, 95.7442, 708.953, 4.56944e+09},   {8.5, 9, 3, 5.72089, 912305, 234.279},
      {9, 9, 3, 11.598, 21707.4, 713.102},        {9.5, 9, 3, 73.3496, 1295.26, 3861.29},
  };
  for (const Case& c : cases) {
    INFO(c.arrivals << " " << c.timeout << " " << c.retries);
    const MarkovChain chain = chain_of({c.arrivals, c.timeout, c.retries});
    const auto up = chain.mean_time_to([](std::size_t i) { return i / kOrbit >= 90; });
    const auto down = chain.mean_time_to([](std::size_t i) { return i / kOrbit < 10; });
    CHECK(down[at(kQueue - 1, kOrbit - 1)] == Approx(c.down).epsilon(c.down < 1e9 ? 1e-5 : 1e-3));
    // From 1e14 s on its solver has lost the first digit.
    if (c.up < 1e14) {
      CHECK(up[0] == Approx(c.up).epsilon(1e-5));
    } else {
      CHECK(up[0] == Approx(9.10769e14).epsilon(kSixDigits));
    }
  }
}

}  // namespace
}  // namespace retrysim
