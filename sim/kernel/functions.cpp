// Elementary functions of + - * / alone. Sums and products that lose bits are carried as pairs of
// doubles ("double-double": Dekker, Numerische Mathematik 18, 1971), so that only the last rounding
// of a result counts. Tables are computed by the compiler, in the same arithmetic.
//
// SPDX-License-Identifier: MIT
#include "kernel/functions.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace retrysim::kernel {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- Pairs of doubles ----------------------------------------------------------------------------

/// hi + lo, where hi is the double nearest to the sum: about 106 bits.
struct Pair {
  double hi = 0, lo = 0;
};

/// a + b without rounding, if |a| >= |b| or a = 0.
constexpr Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b without rounding (Knuth).
constexpr Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// a * b without rounding, if neither is above 2^990 and the product not below 2^-960 (Dekker).
constexpr Pair exact_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_scaled = kSplit * a, b_scaled = kSplit * b;
  const double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  const double error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {product, error};
}

constexpr Pair operator+(Pair a, Pair b) {
  const Pair high = exact_sum(a.hi, b.hi), low = exact_sum(a.lo, b.lo);
  const Pair sum = ordered_sum(high.hi, high.lo + low.hi);
  return ordered_sum(sum.hi, sum.lo + low.lo);
}

constexpr Pair operator-(Pair a) { return {-a.hi, -a.lo}; }

constexpr Pair operator*(Pair a, Pair b) {
  const Pair product = exact_product(a.hi, b.hi);
  return ordered_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

constexpr Pair operator/(Pair a, Pair b) {
  const double first = a.hi / b.hi;
  const Pair rest = a + -(b * Pair{first});
  const double second = rest.hi / b.hi;
  const Pair last = rest + -(b * Pair{second});
  return ordered_sum(first, second) + Pair{last.hi / b.hi};
}

constexpr Pair kLog2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Pair kPi{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr Pair kTwoOverSqrtPi{0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
constexpr Pair kHalfLog2Pi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};

// --- Powers of two -------------------------------------------------------------------------------

/// 2^exponent, for exponents of normal numbers.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// value * 2^exponent, rounded once; `value` is zero or of the order of 1.
double scaled(double value, int exponent) {
  constexpr int kFar = 1000;
  if (std::abs(exponent) <= kFar) [[likely]]
    return value * power_of_two(exponent);
  const int far = exponent < 0 ? -kFar : kFar;
  return value * power_of_two(far) * power_of_two(exponent - far);
}

/// The exponent of the power of two in a positive normal number, whose other factor is from 1 to
/// below 2.
int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023; }

/// The whole number nearest to `x`, if that is below 2^51.
double nearest_whole(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// --- Exponentials --------------------------------------------------------------------------------

/// The powers 2^(j / 64).
constexpr std::size_t kPowers = 64;
constexpr auto kPowerTable = [] {
  std::array<Pair, kPowers> table{};
  for (std::size_t j = 0; j < kPowers; ++j) {
    const Pair x = kLog2 * Pair{static_cast<double>(j) / kPowers};
    Pair sum{1}, term{1};
    for (int n = 1; n < 28; ++n) {
      term = term * x / Pair{static_cast<double>(n)};
      sum = sum + term;
    }
    table[j] = sum;
  }
  return table;
}();

/// (exp(x) - 1 - x - x^2 / 2) / x^3 for |x| up to log(2) / 128.
double exponential_series(double x) {
  return 1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720 + x / 5040)));
}

/// exp(r) - 1 for |r| up to log(2) / 128.
Pair small_exponential(Pair r) {
  const double x = r.hi;
  const Pair square = exact_product(x, x);
  const double tail = x * square.hi * exponential_series(x);
  const Pair sum = ordered_sum(x, 0.5 * square.hi);
  return ordered_sum(sum.hi, sum.lo + (0.5 * square.lo + r.lo + x * r.lo + tail));
}

/// A number as value * 2^exponent.
struct Scaled {
  Pair value;
  int exponent = 0;
};

/// 2^(steps / 64) exp(rest).
Scaled exponential(int steps, Pair rest) {
  const Pair power = kPowerTable[static_cast<std::size_t>(steps) % kPowers];
  const Pair growth = small_exponential(rest);
  const Pair more = exact_product(power.hi, growth.hi);
  const double low = more.lo + (power.hi * growth.lo + power.lo * growth.hi) + power.lo;
  const Pair sum = ordered_sum(power.hi, more.hi);
  return {ordered_sum(sum.hi, sum.lo + low), steps >> 6};
}

struct Reduced {
  int steps = 0;
  Pair rest;
};

/// x = steps log(2) / 64 + rest, for |x| below 1000.
Reduced reduced(Pair x) {
  constexpr double kInverse = 0x1.71547652b82fep+6;  // 64 / log(2)
  // log(2) / 64 in two parts, of which the first times a number of steps is exact.
  constexpr double kStep = 0x1.62e42fee00000p-7, kStepRest = 0x1.a39ef35793c76p-39;
  const double steps = nearest_whole(x.hi * kInverse);
  const Pair rest = exact_sum(x.hi - steps * kStep, -steps * kStepRest);
  return {static_cast<int>(steps), ordered_sum(rest.hi, rest.lo + x.lo)};
}

Scaled exponential(Pair x) {
  const Reduced r = reduced(x);
  return exponential(r.steps, r.rest);
}

double rounded(const Scaled& x) { return scaled(x.value.hi + x.value.lo, x.exponent); }

constexpr double kLargestExponent = 0x1.62e42fefa39efp+9;    // exp is finite up to here
constexpr double kSmallestExponent = -0x1.74910d52d3051p+9;  // exp is not 0 from here on

/// exp(x), even if it is too large or too small for a double.
double exponential_of(Pair x) {
  if (x.hi > kLargestExponent + 1) return kInfinity;
  if (x.hi < kSmallestExponent - 1) return 0;
  return rounded(exponential(x));
}

/// exp(x) - 1 for x from 0 to 100.
Pair exponential_less_one(Pair x) {
  const Reduced r = reduced(x);
  if (r.steps == 0) return small_exponential(r.rest);
  const Scaled whole = exponential(r.steps, r.rest);
  const double scale = power_of_two(whole.exponent);
  return Pair{whole.value.hi * scale, whole.value.lo * scale} + Pair{-1};
}

// --- Logarithms ----------------------------------------------------------------------------------

/// (log(1 + x) - x + x^2 / 2) / x^3 for |x| up to 1 / 170.
double logarithm_series(double x) {
  const double rest = 1.0 / 7 - x * (1.0 / 8 - x * (1.0 / 9 - x / 10));
  return 1.0 / 3 - x * (1.0 / 4 - x * (1.0 / 5 - x * (1.0 / 6 - x * rest)));
}

/// For i / 128, with i from 90 to 181: the rounded reciprocal, and the logarithm of 1 over that.
struct Reciprocal {
  double inverse = 1;
  Pair logarithm;  ///< logarithm of 1 / inverse
};
constexpr std::size_t kFirstReciprocal = 90, kLastReciprocal = 181;
constexpr auto kReciprocals = [] {
  std::array<Reciprocal, kLastReciprocal - kFirstReciprocal + 1> table{};
  for (std::size_t i = kFirstReciprocal; i <= kLastReciprocal; ++i) {
    const double inverse = 128.0 / static_cast<double>(i);
    // log(x) = 2 artanh((x - 1) / (x + 1))
    const Pair s = exact_sum(inverse, -1) / exact_sum(inverse, 1);
    const Pair square = s * s;
    Pair power = s, sum = s;
    for (int n = 3; n < 47; n += 2) {
      power = power * square;
      sum = sum + power / Pair{static_cast<double>(n)};
    }
    table[i - kFirstReciprocal] = {inverse, -(sum + sum)};
  }
  return table;
}();

/// log(1 + r) for |r| up to 1 / 170.
Pair small_logarithm(Pair r) {
  const double x = r.hi;
  const Pair square = exact_product(x, x);
  const Pair sum = ordered_sum(x, -0.5 * square.hi);
  const double low = -0.5 * square.lo + r.lo - x * r.lo + x * square.hi * logarithm_series(x);
  return ordered_sum(sum.hi, sum.lo + low);
}

/// The parts of a number x = 2^exponent / near.inverse (1 + rest).
struct Split {
  int exponent = 0;
  const Reciprocal* near = nullptr;
  Pair rest;
};

/// Splits x, whose x.hi is a normal number above 0.
Split split(Pair x) {
  constexpr double kSqrt2 = 1.4140625;
  Split result;
  result.exponent = exponent_of(x.hi);
  double high = scaled(x.hi, -result.exponent);
  if (high >= kSqrt2) {
    high *= 0.5;
    ++result.exponent;
  }
  const double low = scaled(x.lo, -result.exponent);
  const auto place = static_cast<std::size_t>(static_cast<int>(high * 128 + 0.5));
  result.near = &kReciprocals[place - kFirstReciprocal];
  const Pair product = exact_product(high, result.near->inverse);
  result.rest = ordered_sum(product.hi - 1, product.lo + low * result.near->inverse);
  return result;
}

// log(2) in two parts, of which the first times an exponent is exact.
constexpr double kLog2High = 0x1.62e42fefa2000p-1, kLog2Rest = 0x1.9ef35793c7673p-41;

/// log(x) for a normal x.hi above 0, with about 65 bits.
Pair logarithm(Pair x) {
  const Split parts = split(x);
  const double n = parts.exponent;
  const Pair coarse = exact_sum(n * kLog2High, n * kLog2Rest) + parts.near->logarithm;
  const Pair fine = small_logarithm(parts.rest);
  return coarse.hi == 0 ? fine : coarse + fine;
}

/// The logarithm of x, rounded; small terms need no pair.
double rounded_logarithm(Pair x) {
  const Split parts = split(x);
  const double n = parts.exponent, r = parts.rest.hi;
  const Pair coarse = exact_sum(n * kLog2High, parts.near->logarithm.hi);
  const Pair sum = exact_sum(coarse.hi, r);
  const double low = parts.rest.lo + (parts.near->logarithm.lo + n * kLog2Rest) + coarse.lo +
                     (r * r) * (r * logarithm_series(r) - 0.5);
  return sum.hi + (sum.lo + low);
}

constexpr double kSmallestNormal = std::numeric_limits<double>::min();

/// The logarithm of any x above 0.
Pair logarithm_of(double x) {
  if (x >= kSmallestNormal) return logarithm({x});
  return logarithm({x * 0x1p54}) + kLog2 * Pair{-54};
}

// --- Sine and cosine -----------------------------------------------------------------------------

/// The sine of pi f, for |f| up to 1/4.
double small_sine(double f) {
  constexpr double kTiny = 0x1p-500;  // its product could not be split
  if (std::fabs(f) < kTiny) return kPi.hi * f + kPi.lo * f;
  const Pair t = kPi * Pair{f};
  const double x = t.hi * t.hi;
  double series = 0;
  for (int n = 19; n > 1; n -= 2) series = (1 - x * series) / (n * (n - 1));
  // series: 1/3! - x/5! ...
  return t.hi + (t.lo - t.hi * x * series);
}

double small_cosine(double f) {
  const Pair t = kPi * Pair{f};
  const Pair square = exact_product(t.hi, t.hi);
  const double x = square.hi;
  double series = 0;
  for (int n = 20; n > 2; n -= 2) series = (1 - x * series) / (n * (n - 1));
  const Pair sum = ordered_sum(1, -0.5 * x);
  return sum.hi + (sum.lo - 0.5 * square.lo - t.hi * t.lo + 0.5 * x * x * series);
}

/// The parts of x = half_turns / 2 + rest: whole half turns from 0 to 4 (in quarters of a turn) and
/// |rest| up to 1/4, for x from 0 to below 2^53.
struct Turned {
  int quarters = 0;
  double rest = 0;
};

Turned turned(double x) {
  const double part = x - 2 * std::floor(x / 2);
  const double quarters = std::floor(2 * part + 0.5);
  return {static_cast<int>(quarters), part - quarters / 2};
}

constexpr double kAllWhole = 0x1p53;  // every double from here on is an even number

}  // namespace

// --- What is promised ----------------------------------------------------------------------------

double exp(double x) {
  if (std::isnan(x)) return x;
  if (x > kLargestExponent + 1) return kInfinity;
  if (x < kSmallestExponent - 1) return 0;
  // Small terms need no pair.
  const Reduced parts = reduced({x});
  const double r = parts.rest.hi;
  const double growth = r + (parts.rest.lo + r * r * (0.5 + r * exponential_series(r)));
  const Pair power = kPowerTable[static_cast<std::size_t>(parts.steps) % kPowers];
  return scaled(power.hi + (power.lo + power.hi * growth), parts.steps >> 6);
}

double exp2(double x) {
  if (std::isnan(x)) return x;
  if (x >= 1024) return kInfinity;
  if (x < -1075) return 0;
  const double steps = nearest_whole(x * kPowers);
  return rounded(exponential(static_cast<int>(steps), kLog2 * Pair{x - steps / kPowers}));
}

double log(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x <= 0) return x == 0 ? -kInfinity : kNan;
  if (x < kSmallestNormal) {
    const Pair result = logarithm_of(x);
    return result.hi + result.lo;
  }
  return rounded_logarithm({x});
}

double log1p(double x) {
  constexpr double kTiny = 0x1p-54;  // below this, log(1 + x) is x
  if (std::isnan(x) || x == kInfinity || std::fabs(x) < kTiny) return x;
  if (x <= -1) return x == -1 ? -kInfinity : kNan;
  return rounded_logarithm(exact_sum(1, x));
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y) || x < 0) return kNan;
  if (x == 0) return y > 0 ? 0 : kInfinity;
  if (x == kInfinity) return y > 0 ? kInfinity : 0;
  const Pair of_x = logarithm_of(x);
  const double exponent = y * of_x.hi;
  if (exponent > kLargestExponent + 1) return kInfinity;
  if (exponent < kSmallestExponent - 1) return 0;
  constexpr double kTiny = 0x1p-60;
  if (std::fabs(exponent) < kTiny) return 1;
  return exponential_of(of_x * Pair{y});
}

double cbrt(double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const double size = std::fabs(x);
  const bool subnormal = size < kSmallestNormal;
  const double normal = subnormal ? size * 0x1p54 : size;
  const int exponent = exponent_of(normal);
  const int third = (exponent + 3 * 1024) / 3 - 1024;  // rounded downwards
  const double z = scaled(normal, -3 * third);         // at least 1 and below 8
  double y = 1 + (z - 1) / 7;
  for (int step = 0; step < 3; ++step) {  // Halley's method, which trebles the digits
    const double cube = y * y * y;
    y *= (cube + 2 * z) / (2 * cube + z);
  }
  const Pair cube = exact_product(y, y) * Pair{y};
  y += ((z - cube.hi) - cube.lo) / (3 * y * y);
  return std::copysign(scaled(y, third - (subnormal ? 18 : 0)), x);
}

double tanh(double x) {
  constexpr double kOne = 22, kTiny = 0x1p-28;
  const double size = std::fabs(x);
  if (std::isnan(x) || size < kTiny) return x;
  if (size > kOne) return std::copysign(1, x);
  const Pair e = exponential_less_one({2 * size});
  const Pair result = e / (e + Pair{2});
  return std::copysign(result.hi + result.lo, x);
}

double erf(double x) {
  constexpr double kOne = 6, kTiny = 0x1p-400;
  const double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (size < kTiny) return kTwoOverSqrtPi.hi * x + kTwoOverSqrtPi.lo * x;
  if (size >= kOne) return std::copysign(1, x);
  // 2 / sqrt(pi) exp(-x^2) (x + 2/3 x^3 + 4/15 x^5 + ...), of which every term is positive.
  const Pair square = exact_product(size, size);
  const Pair twice{2 * square.hi, 2 * square.lo};
  Pair term{size}, sum{size};
  for (int n = 1; term.hi > 0x1p-80 * sum.hi; ++n) {
    term = term * twice / Pair{2.0 * n + 1};
    sum = sum + term;
  }
  const Scaled falling = exponential(-square);
  const double scale = power_of_two(falling.exponent);
  const Pair result =
      kTwoOverSqrtPi * Pair{falling.value.hi * scale, falling.value.lo * scale} * sum;
  return std::copysign(result.hi + result.lo, x);
}

double tgamma(double x) {
  constexpr double kTooLarge = 0x1.573fae561f647p+7;  // 171.62...
  constexpr double kTiny = 0x1p-60;                   // below this, the result is 1 / x
  constexpr double kFar = 32;  // from this x on, eight terms of Stirling's series are enough
  if (std::isnan(x) || x < 0) return kNan;
  if (x > kTooLarge) return kInfinity;
  if (x < kTiny) return 1 / x;
  Pair product{1}, z{x};
  while (z.hi < kFar) {
    product = product * z;
    z = z + Pair{1};
  }
  const double inverse = 1 / z.hi, square = inverse * inverse;
  // The terms are Bernoulli's numbers B(2k) / (2k (2k - 1)).
  constexpr double kTerms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  double series = 0;
  for (std::size_t k = std::size(kTerms); k-- > 0;) series = kTerms[k] + square * series;
  const Pair exponent = (z + Pair{-0.5}) * logarithm(z) + -z + kHalfLog2Pi + Pair{inverse * series};
  const Scaled whole = exponential(exponent);
  const Pair result = whole.value / product;
  return scaled(result.hi + result.lo, whole.exponent);
}

double sinpi(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNan;
  const double size = std::fabs(x);
  if (size >= kAllWhole) return std::copysign(0, x);
  const Turned t = turned(size);
  double result = t.quarters % 2 == 0 ? small_sine(t.rest) : small_cosine(t.rest);
  if (t.quarters == 2 || t.quarters == 3) result = -result;
  return x < 0 ? -result : result;
}

double cospi(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNan;
  const double size = std::fabs(x);
  if (size >= kAllWhole) return 1;
  const Turned t = turned(size);
  const double result = t.quarters % 2 == 0 ? small_cosine(t.rest) : small_sine(t.rest);
  return t.quarters == 1 || t.quarters == 2 ? -result : result;
}

}  // namespace retrysim::kernel
