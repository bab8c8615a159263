// The elementary functions against fifty digits, at their borders, and bit by bit: every compiler
// and every build gets the same numbers. RETRYSIM_ARGUMENTS sets how many arguments each function
// is tried at: 2,000 in a build that tests run in, ten million when the functions change.
//
// SPDX-License-Identifier: MIT
#include "kernel/functions.hpp"

#include <bit>
#include <boost/math/special_functions/cbrt.hpp>
#include <boost/math/special_functions/cos_pi.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/math/special_functions/sin_pi.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>

namespace retrysim {
namespace {

using Exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                            boost::multiprecision::et_off>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

std::size_t arguments() {
  const char* const text = std::getenv("RETRYSIM_ARGUMENTS");
  return text == nullptr ? 2'000 : static_cast<std::size_t>(std::atoll(text));
}

/// The distance of neighbouring doubles at `x`.
double unit_in_last_place(double x) {
  const double size = std::fabs(x);
  if (size < std::numeric_limits<double>::min()) return kSmallest;
  return std::ldexp(1.0, std::ilogb(size) - 52);
}

double error_in_units(double result, const Exact& exact) {
  const auto near = static_cast<double>(exact);
  if (std::isinf(near) || std::isinf(result)) return near == result ? 0 : kInfinity;
  return static_cast<double>(abs(Exact(result) - exact) / unit_in_last_place(near));
}

/// Arguments of its own order, the same in every build: no distribution of the library's.
class Arguments {
 public:
  explicit Arguments(std::uint64_t seed) : engine_(seed) {}

  double uniform(double from, double to) {
    return from + (to - from) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  /// Any double between two positive ones, each bit pattern as likely as another.
  double any(double from, double to) {
    const auto low = std::bit_cast<std::uint64_t>(from), high = std::bit_cast<std::uint64_t>(to);
    return std::bit_cast<double>(low + engine_() % (high - low + 1));
  }

 private:
  std::mt19937_64 engine_;
};

struct Function {
  std::string name;
  double (*own)(double);
  std::function<Exact(const Exact&)> exact;
  std::function<double(Arguments&)> draw;
  std::size_t share = 1;  ///< one in so many of the arguments: fifty digits take long
};

const std::vector<Function>& functions() {
  using A = Arguments;
  static const std::vector<Function> all = {
      {"exp", kernel::exp, [](const Exact& x) { return exp(x); },
       [](A& a) { return a.uniform(-746, 710); }},
      {"exp near 0", kernel::exp, [](const Exact& x) { return exp(x); },
       [](A& a) { return a.uniform(-1, 1) * a.any(1e-20, 4); }},
      {"exp2", kernel::exp2, [](const Exact& x) { return exp(x * log(Exact(2))); },
       [](A& a) { return a.uniform(-1076, 1025); }},
      {"log", kernel::log, [](const Exact& x) { return log(x); },
       [](A& a) { return a.any(kSmallest, kLargest); }},
      {"log near 1", kernel::log, [](const Exact& x) { return log(x); },
       [](A& a) { return a.uniform(0.5, 2); }},
      {"log at 1", kernel::log, [](const Exact& x) { return log(x); },
       [](A& a) { return 1 + a.uniform(-1, 1) * a.any(1e-16, 0.02); }},
      {"log1p", kernel::log1p, [](const Exact& x) { return boost::math::log1p(x); },
       [](A& a) { return a.uniform(-1, 4); }},
      {"log1p of small and large", kernel::log1p,
       [](const Exact& x) { return boost::math::log1p(x); },
       [](A& a) { return a.any(1e-20, kLargest); }},
      {"cbrt", kernel::cbrt, [](const Exact& x) { return boost::math::cbrt(x); },
       [](A& a) { return a.any(kSmallest, kLargest); }},
      {"tanh", kernel::tanh, [](const Exact& x) { return tanh(x); },
       [](A& a) { return a.any(1e-12, 25); }},
      {"erf", kernel::erf, [](const Exact& x) { return boost::math::erf(x); },
       [](A& a) { return a.uniform(-6.2, 6.2); }, 10},
      {"erf near 0", kernel::erf, [](const Exact& x) { return boost::math::erf(x); },
       [](A& a) { return a.any(1e-30, 1); }, 10},
      {"tgamma", kernel::tgamma, [](const Exact& x) { return boost::math::tgamma(x); },
       [](A& a) { return a.uniform(0, 171.7); }, 10},
      {"tgamma near 0", kernel::tgamma, [](const Exact& x) { return boost::math::tgamma(x); },
       [](A& a) { return a.any(1e-30, 4); }, 10},
      {"sinpi", kernel::sinpi, [](const Exact& x) { return boost::math::sin_pi(x); },
       [](A& a) { return a.uniform(-5, 5); }},
      {"cospi", kernel::cospi, [](const Exact& x) { return boost::math::cos_pi(x); },
       [](A& a) { return a.uniform(-5, 5); }},
  };
  return all;
}

/// Arguments at which pow has every size of result, and bases near 1.
std::pair<double, double> base_and_exponent(Arguments& a, std::size_t n) {
  const double base = n % 3 == 0 ? a.uniform(0.9, 1.1) : a.any(kSmallest, kLargest);
  const double exponent = n % 2 == 0 ? a.uniform(-5, 5) : a.uniform(-750, 715) / kernel::log(base);
  return {base, exponent};
}

TEST_CASE("elementary functions are right to a unit in the last place", "[kernel][functions]") {
  for (const Function& f : functions()) {
    INFO(f.name);
    Arguments draws(46);
    double worst = 0, at = 0;
    for (std::size_t n = 0; n < arguments() / f.share; ++n) {
      const double x = f.draw(draws);
      const double error = error_in_units(f.own(x), f.exact(Exact(x)));
      if (error > worst) {
        worst = error;
        at = x;
      }
    }
    INFO("worst at " << std::hexfloat << at);
    CHECK(worst < 1);
  }
  Arguments draws(47);
  double worst = 0;
  for (std::size_t n = 0; n < arguments(); ++n) {
    const auto [base, exponent] = base_and_exponent(draws, n);
    const Exact exact = pow(Exact(base), Exact(exponent));
    worst = std::max(worst, error_in_units(kernel::pow(base, exponent), exact));
  }
  CHECK(worst < 1);
}

TEST_CASE("elementary functions at their borders", "[kernel][functions]") {
  for (const Function& f : functions()) CHECK(std::isnan(f.own(kNan)));
  CHECK(kernel::exp(0) == 1);
  CHECK(kernel::exp(-0.0) == 1);
  CHECK(kernel::exp(kInfinity) == kInfinity);
  CHECK(kernel::exp(-kInfinity) == 0);
  CHECK(kernel::exp(0x1.62e42fefa39efp+9) == 0x1.fffffffffff2ap+1023);
  CHECK(kernel::exp(0x1.62e42fefa39f0p+9) == kInfinity);
  CHECK(kernel::exp(-0x1.74910d52d3051p+9) == kSmallest);
  CHECK(kernel::exp(-0x1.74910d52d3052p+9) == 0);
  CHECK(kernel::exp2(1023) == 0x1p1023);
  CHECK(kernel::exp2(1024) == kInfinity);
  CHECK(kernel::exp2(-1074) == kSmallest);
  CHECK(kernel::exp2(-1076) == 0);
  CHECK(kernel::exp2(-kInfinity) == 0);
  CHECK(kernel::log(1) == 0);
  CHECK(kernel::log(0) == -kInfinity);
  CHECK(kernel::log(kInfinity) == kInfinity);
  CHECK(std::isnan(kernel::log(-1)));
  CHECK(kernel::log1p(0) == 0);
  CHECK(kernel::log1p(kSmallest) == kSmallest);
  CHECK(kernel::log1p(-1) == -kInfinity);
  CHECK(std::isnan(kernel::log1p(-1.5)));
  CHECK(kernel::log1p(kInfinity) == kInfinity);
  CHECK(kernel::pow(0, 0) == 1);
  CHECK(kernel::pow(kNan, 0) == 1);
  CHECK(kernel::pow(1, kInfinity) == 1);
  CHECK(kernel::pow(0, 2) == 0);
  CHECK(kernel::pow(0, -2) == kInfinity);
  CHECK(kernel::pow(kInfinity, 0.5) == kInfinity);
  CHECK(kernel::pow(kInfinity, -0.5) == 0);
  CHECK(kernel::pow(2, kInfinity) == kInfinity);
  CHECK(kernel::pow(0.5, kInfinity) == 0);
  CHECK(kernel::pow(2, -kInfinity) == 0);
  CHECK(kernel::pow(2, 1023) == 0x1p1023);
  CHECK(kernel::pow(2, 1024) == kInfinity);
  CHECK(kernel::pow(2, -1074) == kSmallest);
  CHECK(kernel::pow(2, -1080) == 0);
  CHECK(kernel::pow(kLargest, 1) == kLargest);
  CHECK(kernel::pow(kSmallest, 1) == kSmallest);
  CHECK(kernel::pow(1 + 0x1p-52, 1e300) == kInfinity);
  CHECK(std::isnan(kernel::pow(-1, 2)));
  CHECK(std::isnan(kernel::pow(2, kNan)));
  for (const double x : {1.0, 2.0, 3.0, 1e5, 0x1p-300, kSmallest}) {
    const double cube = x * x * x;
    if (x >= 1 || cube > 0) CHECK(kernel::cbrt(cube) == x);
    CHECK(kernel::cbrt(-cube) == -kernel::cbrt(cube));
  }
  CHECK(kernel::cbrt(-kInfinity) == -kInfinity);
  CHECK(kernel::tanh(kInfinity) == 1);
  CHECK(kernel::tanh(-kInfinity) == -1);
  CHECK(kernel::tanh(-0.5) == -kernel::tanh(0.5));
  CHECK(kernel::tanh(kSmallest) == kSmallest);
  CHECK(kernel::erf(0) == 0);
  CHECK(kernel::erf(kInfinity) == 1);
  CHECK(kernel::erf(-kInfinity) == -1);
  CHECK(kernel::erf(kSmallest) == kSmallest);  // 1.128 of it
  double factorial = 1;
  for (int n = 1; n < 23; ++n) {  // all of them are doubles
    CHECK(kernel::tgamma(n) == factorial);
    factorial *= n;
  }
  CHECK(kernel::tgamma(0) == kInfinity);
  CHECK(std::isnan(kernel::tgamma(-0.5)));
  CHECK(kernel::tgamma(kInfinity) == kInfinity);
  CHECK(kernel::tgamma(0x1.573fae561f648p+7) == kInfinity);
  CHECK(kernel::tgamma(0x1.573fae561f647p+7) > 1.79e308);
  for (const double whole : {0.0, 1.0, -1.0, 2.0, 1e15, -0x1p52, 0x1p53, 1e300}) {
    CHECK(kernel::sinpi(whole) == 0);
    CHECK(std::fabs(kernel::cospi(whole)) == 1);
    if (std::fabs(whole) < 1e15) {
      CHECK(kernel::cospi(whole + 0.5) == 0);
      CHECK(std::fabs(kernel::sinpi(whole + 0.5)) == 1);
    }
  }
  CHECK(kernel::cospi(1) == -1);
  CHECK(kernel::cospi(0x1p52 + 1) == -1);
  CHECK(kernel::sinpi(-0.5) == -1);
  CHECK(kernel::sinpi(1.5) == -1);
  CHECK(std::isnan(kernel::sinpi(kInfinity)));
  CHECK(std::isnan(kernel::cospi(-kInfinity)));
}

// FNV-1a over the bits of the results. These numbers are those of every compiler, processor and
// level of optimisation; they change only with the functions, and then so do results.
TEST_CASE("elementary functions have the same bits everywhere", "[kernel][functions]") {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](double result) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(result)) * 0x100000001b3;
  };
  Arguments draws(48);
  for (const Function& f : functions()) {
    for (int n = 0; n < 20'000; ++n) add(f.own(f.draw(draws)));
  }
  for (std::size_t n = 0; n < 20'000; ++n) {
    const auto [base, exponent] = base_and_exponent(draws, n);
    add(kernel::pow(base, exponent));
  }
  CHECK(hash == 0xc0a5fac4b4fea8b6);
}

}  // namespace
}  // namespace retrysim
