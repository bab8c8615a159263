// Standard deviation from the exact sums of durations and of their squares.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run_result.hpp>

#include <boost/multiprecision/cpp_int.hpp>

#include <cmath>

namespace retrysim {

double DurationMoments::standard_deviation_ns() const {
  if (count == 0) return 0;
  // Squared distances from the mean rounded down to q = (sum - r) / count are whole numbers:
  // sum (x - q)^2 = sum x^2 - 2 q sum x + count q^2, of which the mean's (r / count)^2 is to be
  // taken off. The difference of the large numbers is exact; what is left cannot cancel.
  using Wide = boost::multiprecision::int512_t;
  const Wide n = count;
  const Wide sum = sum_ns;
  const Wide q = sum / n;
  const Wide squares = (Wide(sum_squares_carry) << 128) + Wide(sum_squares_ns2);
  const Wide distances = squares - 2 * q * sum + n * q * q;
  const double rest = static_cast<double>(sum - q * n) / static_cast<double>(count);
  const double variance = static_cast<double>(distances) / static_cast<double>(count) - rest * rest;
  return variance > 0 ? std::sqrt(variance) : 0;
}

}  // namespace retrysim
