// Building delay laws from backoff rules and distributions.
//
// SPDX-License-Identifier: MIT
#include "prediction/facts/delay_law.hpp"

#include <retrysim/random.hpp>

#include "kernel/boost_math.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace retrysim::prediction {

namespace {

constexpr double kRounding = 1e-9;  // 0.3 / 0.1 is 3

/// The law with values above `cap` drawn anew from the upper half of [0, cap].
DelayLaw redrawn(const DelayLaw& law, double cap) {
  DelayLaw result;
  double above = 0;
  for (const DelayPiece& p : limited(law, cap)) {
    if (p.low == cap && p.high == cap) {
      above += p.probability;
    } else {
      result.push_back(p);
    }
  }
  for (const DelayPiece& p : law) {  // the cap itself is not above the cap
    if (p.low == cap && p.high == cap) {
      above -= p.probability;
      add(result, cap, cap, p.probability);
    }
  }
  add(result, cap / 2, cap, above);
  return result;
}

/// The law rounded down to whole quanta: equally likely multiples become a piece with the same
/// mean.
DelayLaw floored(const DelayLaw& law, double quantum) {
  DelayLaw result;
  for (const DelayPiece& p : law) {
    const double first = std::floor(p.low / quantum + kRounding);
    const double last = std::floor(p.high / quantum + kRounding);
    if (p.high == kForever || p.low == p.high || first == last) {
      const double at = p.high == kForever ? kForever : first * quantum;
      add(result, at, at, p.probability);
      continue;
    }
    const double per_quantum = p.probability * quantum / (p.high - p.low);
    const double head = first + 1 - p.low / quantum, tail = p.high / quantum - last;
    add(result, first * quantum, first * quantum, per_quantum * head);
    add(result, (first + 1) * quantum, (last - 1) * quantum, per_quantum * (last - first - 1));
    if (tail > kRounding) add(result, last * quantum, last * quantum, per_quantum * tail);
  }
  return result;
}

/// Equally likely multiples of a quantum, those above `cap` replaced by it.
DelayLaw limited_multiples(const DelayLaw& law, double cap, double quantum) {
  DelayLaw result;
  for (const DelayPiece& p : law) {
    if (p.high <= cap || p.low >= cap) {
      add(result, std::min(p.low, cap), std::min(p.high, cap), p.probability);
      continue;
    }
    const double all = (p.high - p.low) / quantum + 1;
    const double below = std::floor((cap - p.low) / quantum + kRounding) + 1;
    add(result, p.low, p.low + (below - 1) * quantum, p.probability * below / all);
    add(result, cap, cap, p.probability * (1 - below / all));
  }
  return result;
}

/// The law of a random part of v, rounded down to a multiple of a quantum.
DelayLaw multiples_below(double v, double quantum) {
  const double whole = std::floor(v / quantum + kRounding);
  if (v / quantum - whole > kRounding) return floored({{0, v, 1}}, quantum);
  return {{0, std::max(0.0, whole - 1) * quantum, 1}};
}

/// What the base is multiplied by before retry `n` + 1.
double growth_of(const BackoffRules& rules, double n) {
  switch (rules.growth) {
    case Growth::kExponential:
      break;
    case Growth::kLinear:
      return std::max(0.0, 1 + n * (rules.factor - 1));
    case Growth::kFibonacci:
      // Binet's formula, exact to the last digit of a double.
      return n < 0 ? 0
                   : std::round((std::pow((1 + std::sqrt(5.0)) / 2, n + 1) -
                                 std::pow((1 - std::sqrt(5.0)) / 2, n + 1)) /
                                std::sqrt(5.0));
    case Growth::kPolynomial:
      return n < 0 ? 0 : std::pow(n + 1, rules.power);
  }
  return std::pow(rules.factor, n);
}

/// The uniform law on [low, high] with negative values replaced by zero.
DelayLaw not_negative(double low, double high) {
  if (low >= 0) return {{low, high, 1}};
  DelayLaw law;
  add(law, 0, 0, -low / (high - low));
  add(law, 0, high, high / (high - low));
  return law;
}

DelayLaw spread(Jitter jitter, double share, double v) {
  if (v == kForever && jitter != Jitter::kNone) return {{kForever, kForever, 1}};
  switch (jitter) {
    case Jitter::kFull:
      return {{0, v, 1}};
    case Jitter::kEqual:
      return {{v / 2, v, 1}};
    case Jitter::kAdditive:
      return {{v, 2 * v, 1}};
    case Jitter::kProportional:
      return {{v * (1 - share), v * (1 + share), 1}};
    case Jitter::kNone:
    case Jitter::kDecorrelated:
    case Jitter::kDecorrelatedV2:
    case Jitter::kPlusWidth:
    case Jitter::kPlusMinusWidth:
      break;
  }
  return {{v, v, 1}};
}

/// The law of a random whole number of quanta below `quanta`, or up to it.
DelayLaw spread_quanta(Jitter jitter, double share, double quanta, double quantum, bool inclusive) {
  const auto from_to = [&](double first, double last) -> DelayLaw {
    last = std::max(first, last);
    return {{first * quantum, last * quantum, 1}};
  };
  switch (jitter) {
    case Jitter::kFull:
      return from_to(0, quanta - (inclusive ? 0 : 1));
    case Jitter::kEqual:
      return from_to(std::floor(quanta / 2), std::floor(quanta / 2) + std::floor(quanta / 2));
    case Jitter::kAdditive:
      return from_to(quanta, 2 * quanta - (inclusive ? 0 : 1));
    case Jitter::kProportional: {
      const double reach = std::floor(share * quanta);
      return from_to(quanta - reach, quanta + reach - (inclusive || reach == 0 ? 0 : 1));
    }
    case Jitter::kNone:
    case Jitter::kDecorrelated:
    case Jitter::kDecorrelatedV2:
    case Jitter::kPlusWidth:
    case Jitter::kPlusMinusWidth:
      break;
  }
  return from_to(quanta, quanta);
}

}  // namespace

void add(DelayLaw& law, double low, double high, double probability) {
  if (probability > 0) law.push_back({low, high, probability});
}

DelayLaw limited(const DelayLaw& law, double cap) {
  DelayLaw result;
  for (const DelayPiece& p : law) {
    if (p.high <= cap) {
      result.push_back(p);
    } else if (p.low >= cap) {
      add(result, cap, cap, p.probability);
    } else {
      const double below = p.high == kForever ? 0 : (cap - p.low) / (p.high - p.low);
      add(result, p.low, cap, p.probability * below);
      add(result, cap, cap, p.probability * (1 - below));
    }
  }
  return result;
}

double mean_of(const DelayLaw& law) {
  double mean = 0;
  for (const DelayPiece& p : law) mean += p.probability * p.mean();
  return mean;
}

double variance_of(const DelayLaw& law) {
  const double mean = mean_of(law);
  if (mean == kForever) return kForever;
  double variance = 0;
  for (const DelayPiece& p : law) {
    const double off = p.mean() - mean, width = p.high - p.low;
    variance += p.probability * (off * off + width * width / 12);
  }
  return variance;
}

double least_of(const DelayLaw& law) {
  double least = kForever;
  for (const DelayPiece& p : law) least = std::min(least, p.low);
  return least;
}

double most_of(const DelayLaw& law) {
  double most = 0;
  for (const DelayPiece& p : law) most = std::max(most, p.high);
  return most;
}

namespace {

/// The law of the delay before a retry, if it does not depend on the previous delay.
DelayLaw independent_law(const BackoffRules& rules, bool throttling, int retry) {
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  const double quantum = in_seconds(rules.quantum);
  const double cap = in_seconds(rules.cap);
  const double base = in_seconds(throttling ? rules.throttle_base : rules.base);
  const double exponent =
      std::min<double>(static_cast<double>(rules.first_exponent) + retry - 1, rules.max_exponent);
  const double growth = growth_of(rules, exponent);
  double v = base == 0 ? 0 : base * growth;
  if (v > cap && rules.over_cap == OverCap::kFlat) return {{cap, cap, 1}};
  if (!rules.jitter_before_cap && rules.over_cap != OverCap::kRedraw) v = std::min(v, cap);

  if (jitter >= Jitter::kPlusWidth && v < kForever) {
    const double width = in_seconds(rules.jitter_width);
    DelayLaw law = not_negative(jitter == Jitter::kPlusWidth ? v : v - width, v + width);
    if (quantum > 0) law = floored(law, quantum);
    const bool capped = rules.jitter_before_cap || rules.over_cap != OverCap::kLimit;
    return capped ? limited(law, cap) : law;
  }
  DelayLaw law;
  const bool inclusive = rules.rounding == Rounding::kIntegersInclusive;
  const bool draws_quanta = quantum > 0 && (rules.rounding == Rounding::kIntegers || inclusive);
  if (draws_quanta) {
    law = v == kForever ? DelayLaw{{cap, cap, 1}}
                        : spread_quanta(jitter, rules.jitter_share,
                                        std::floor(v / quantum + kRounding), quantum, inclusive);
  } else if (quantum > 0 && rules.rounding == Rounding::kMantissa && jitter == Jitter::kFull) {
    for (const DelayPiece& p : multiples_below(base, quantum)) {
      const auto grown = [&](double drawn) { return drawn == 0 ? 0 : drawn * growth; };
      add(law, grown(p.low), grown(p.high), p.probability);
    }
  } else {
    law = spread(jitter, rules.jitter_share, v);
    if (quantum > 0) law = floored(law, quantum);
  }
  if (rules.over_cap == OverCap::kRedraw) return redrawn(law, cap);
  const bool capped_before = jitter == Jitter::kProportional && !rules.jitter_before_cap;
  if (capped_before) return law;
  return draws_quanta ? limited_multiples(law, cap, quantum) : limited(law, cap);
}

/// The law of decorrelated-v2: the difference of two growths with a uniform variate each, in cells
/// in which both are nearly linear.
DelayLaw decorrelated_v2_law(const BackoffRules& rules, bool throttling, int retry) {
  constexpr int kCells = 24;
  const double quantum = in_seconds(rules.quantum), cap = in_seconds(rules.cap);
  const double scale = in_seconds(throttling ? rules.throttle_base : rules.base) / 1.4;
  if (scale == 0) return {{0, 0, 1}};
  const auto growth = [](double t) { return std::exp2(t) * std::tanh(2 * std::sqrt(t)); };
  if (!std::isfinite(scale * growth(retry))) return {{cap, cap, 1}};
  // In the first octave it begins like a square root.
  const auto variate = [](int octave, int cell) {
    const double share = static_cast<double>(cell) / kCells;
    return octave == 0 ? share * share : share;
  };
  const auto growths = [&](int octave) {
    DelayLaw law;
    for (int i = 0; i < kCells; ++i) {
      const double low = variate(octave, i), high = variate(octave, i + 1);
      add(law, scale * growth(octave + low), scale * growth(octave + high), high - low);
    }
    return law;
  };
  DelayLaw law = growths(retry - 1);
  if (retry > 1) {
    const DelayLaw before = growths(retry - 2);
    for (const DelayPiece& now : std::exchange(law, {})) {
      for (const DelayPiece& then : before) {
        add(law, std::max(0.0, now.low - then.high), now.high - then.low,
            now.probability * then.probability);
      }
    }
  }
  law = limited(law, cap);
  return quantum > 0 ? floored(law, quantum) : law;
}

}  // namespace

bool throttling_differs(const BackoffRules& rules) {
  return rules.delays.empty() &&
         (rules.base != rules.throttle_base || rules.jitter != rules.throttle_jitter);
}

DelayLaw backoff_law(const BackoffRules& rules, bool throttling, int retry) {
  BackoffLaws laws(rules, throttling);
  for (int i = 1; i < retry; ++i) laws.skip();
  return laws.next();
}

BackoffLaws::BackoffLaws(const BackoffRules& rules, bool throttling)
    : rules_(rules), throttling_(throttling) {
  const Jitter jitter = throttling ? rules.throttle_jitter : rules.jitter;
  if (rules.delays.empty() && jitter == Jitter::kDecorrelated) {
    decorrelated_ = std::make_unique<DecorrelatedBackoff>(rules, throttling);
  }
}

BackoffLaws::~BackoffLaws() = default;

void BackoffLaws::skip() {
  ++retry_;
  if (decorrelated_) decorrelated_->next();
}

DelayLaw BackoffLaws::next() {
  skip();
  const auto retry = static_cast<std::size_t>(retry_);
  if (!rules_.delays.empty()) {
    if (last_.empty() || retry <= rules_.delays.size()) {
      last_ = law_of(rules_.delays[std::min(retry, rules_.delays.size()) - 1]);
    }
    return last_;
  }
  if (retry_ <= rules_.immediate_retries) return {{0, 0, 1}};
  if ((throttling_ ? rules_.throttle_jitter : rules_.jitter) == Jitter::kDecorrelatedV2) {
    return decorrelated_v2_law(rules_, throttling_, retry_);
  }
  if (!decorrelated_) return independent_law(rules_, throttling_, retry_);
  const double quantum = in_seconds(rules_.quantum);
  const DelayLaw& law = decorrelated_->law();
  return quantum > 0 ? floored(law, quantum) : law;
}

double survival(const Distribution& distribution, double x) {
  using boost::math::gamma_q;
  if (x < 0) return 1;
  const Distribution::Parameters p = distribution.parameters();
  switch (distribution.kind()) {
    case Distribution::Kind::kConstant:
      return in_seconds(distribution.constant_value()) > x ? 1 : 0;
    case Distribution::Kind::kExponential:
      return std::exp(-x / p.a);
    case Distribution::Kind::kUniform:
      return std::clamp((p.a + p.b - x) / p.b, 0.0, 1.0);
    case Distribution::Kind::kErlang:
      return gamma_q(static_cast<double>(p.phases), x / p.a);
    case Distribution::Kind::kHyperexponential:
      return p.a * std::exp(-x / p.b) + (1 - p.a) * std::exp(-x / p.c);
    case Distribution::Kind::kLognormal:
      if (p.b == 0) return p.a > x ? 1 : 0;
      return x <= 0 ? 1 : 0.5 * std::erfc(std::log(x / p.a) / (p.b * std::sqrt(2.0)));
    case Distribution::Kind::kNormal:
      if (p.b == 0) return p.a > x ? 1 : 0;
      return 0.5 * (std::erfc((x - p.a) / (p.b * std::sqrt(2.0))) +
                    std::erfc((x + p.a) / (p.b * std::sqrt(2.0))));
    case Distribution::Kind::kPareto:
      return x <= p.a ? 1 : std::pow(p.a / x, 1 / p.b);
    case Distribution::Kind::kWeibull:
      return std::exp(-std::pow(x / p.a, 1 / p.b));
    case Distribution::Kind::kGamma:
      return gamma_q(p.b, x / p.a);
    case Distribution::Kind::kEmpirical:
      break;
  }
  return distribution.mean_seconds() > x ? 1 : 0;
}

double squared_variation(const Distribution& distribution) {
  const Distribution::Parameters p = distribution.parameters();
  const double mean = distribution.mean_seconds();
  if (mean == 0) return 0;
  double second = 0;  // E[X^2]
  switch (distribution.kind()) {
    case Distribution::Kind::kConstant:
      return 0;
    case Distribution::Kind::kExponential:
      return 1;
    case Distribution::Kind::kUniform:
      return p.b * p.b / 12 / (mean * mean);
    case Distribution::Kind::kErlang:
      return 1.0 / p.phases;
    case Distribution::Kind::kHyperexponential:
      second = 2 * (p.a * p.b * p.b + (1 - p.a) * p.c * p.c);
      break;
    case Distribution::Kind::kLognormal:
      return std::expm1(p.b * p.b);
    case Distribution::Kind::kNormal:
      second = p.a * p.a + p.b * p.b;
      break;
    case Distribution::Kind::kPareto:
      if (p.b >= 0.5) return kForever;
      second = p.a * p.a / (1 - 2 * p.b);
      break;
    case Distribution::Kind::kWeibull:
      second = p.a * p.a * std::tgamma(1 + 2 * p.b);
      break;
    case Distribution::Kind::kGamma:
      return 1 / p.b;
    case Distribution::Kind::kEmpirical:
      return variance_of(law_of(distribution, 1000)) / (mean * mean);
  }
  return std::max(0.0, second / (mean * mean) - 1);
}

namespace {

/// The sample below which a share `probability` lies.
double quantile(const Distribution& distribution, double probability) {
  double high = std::max(distribution.mean_seconds(), 1e-9);
  while (survival(distribution, high) > 1 - probability && high < 1e12) high *= 2;
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (survival(distribution, middle) > 1 - probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Sampled values of an empirical distribution, which has no other access to its values.
std::vector<double> drawn_values(const Distribution& distribution) {
  constexpr std::uint32_t kDraws = 1 << 14;
  const RandomKey key(1, 0);
  std::vector<double> values;
  values.reserve(kDraws);
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    Draws draws(key, {.entity = i, .purpose = Purpose::kServiceTime});
    values.push_back(distribution.sample(draws).in_seconds());
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

double quantile_of(const Distribution& distribution, double probability) {
  const Distribution::Parameters p = distribution.parameters();
  switch (distribution.kind()) {
    case Distribution::Kind::kConstant:
      return in_seconds(distribution.constant_value());
    case Distribution::Kind::kUniform:
      return p.a + p.b * probability;
    case Distribution::Kind::kEmpirical: {
      const std::vector<double> drawn = drawn_values(distribution);
      return drawn[static_cast<std::size_t>(probability * static_cast<double>(drawn.size() - 1))];
    }
    default:
      return quantile(distribution, probability);
  }
}

DelayLaw law_of(const Distribution& distribution, int pieces) {
  using Kind = Distribution::Kind;
  const Distribution::Parameters p = distribution.parameters();
  const double mean = distribution.mean_seconds();
  if (distribution.kind() == Kind::kConstant) {
    const double at = in_seconds(distribution.constant_value());
    return {{at, at, 1}};
  }
  if (distribution.kind() == Kind::kUniform) return {{p.a, p.a + p.b, 1}};
  std::vector<double> drawn;
  if (distribution.kind() == Kind::kEmpirical) drawn = drawn_values(distribution);
  const auto at = [&](int i) {
    const double share = static_cast<double>(i) / pieces;
    return drawn.empty()
               ? quantile(distribution, share)
               : drawn[static_cast<std::size_t>(share * static_cast<double>(drawn.size() - 1))];
  };
  DelayLaw law;
  double sum = 0, low = at(0);
  for (int i = 1; i < pieces; ++i) {
    const double high = at(i);
    law.push_back({low, high, 1.0 / pieces});
    sum += (low + high) / 2 / pieces;
    low = high;
  }
  // The last piece is placed where the mean becomes exact, however far that is.
  const double last = std::max(low, (mean - sum) * pieces);
  law.push_back({low, 2 * last - low, 1.0 / pieces});
  return law;
}

DelayLaw coarsened(DelayLaw law, int pieces) {
  if (law.size() <= static_cast<std::size_t>(pieces)) return law;
  std::sort(law.begin(), law.end(),
            [](const DelayPiece& a, const DelayPiece& b) { return a.mean() < b.mean(); });
  DelayLaw result;
  DelayPiece group{0, 0, 0};
  double sum = 0;
  const auto close = [&] {
    if (group.probability == 0) return;
    // The bounds move so that the mean stays.
    const double mean = sum / group.probability, half = (group.high - group.low) / 2;
    const double room = std::min(half, mean);
    result.push_back({mean - room, mean + room, group.probability});
    group = {0, 0, 0};
    sum = 0;
  };
  for (const DelayPiece& p : law) {
    if (group.probability == 0) group.low = p.low;
    group.high = std::max(group.high, p.high);
    group.probability += p.probability;
    sum += p.probability * p.mean();
    if (group.probability >= 1.0 / pieces) close();
  }
  close();
  return result;
}

// --- Decorrelated jitter -------------------------------------------------------------------------

void DecorrelatedStep::begin(double low, double high) {
  if (grid_.empty() || low != grid_.front() || high != grid_.back()) make_grid(low, high);
  for (std::vector<double>* sums : {&mass_, &slope_, &shift_}) {
    sums->assign(grid_.size() + 1, 0.0);
  }
  near_low_ = near_high_ = 0;
}

void DecorrelatedStep::add_uniform(double low, double high, double probability) {
  const std::size_t from = index(low, near_low_);
  if (!(high > low)) {
    mass_[from] += probability;
    return;
  }
  const std::size_t to = index(high, near_high_);
  const double density = probability / (high - low);
  slope_[from] += density;
  slope_[to] -= density;
  shift_[from] -= density * low;
  shift_[to] += density * low;
  mass_[to] += probability;
}

DelayLaw DecorrelatedStep::law() const {
  DelayLaw result;
  double mass = 0, slope = 0, shift = 0, before = 0;
  for (std::size_t k = 0; k < grid_.size(); ++k) {
    mass += mass_[k];
    slope += slope_[k];
    shift += shift_[k];
    const double below = mass + slope * grid_[k] + shift;
    if (k > 0) add(result, grid_[k - 1], grid_[k], below - before);
    if (k == 0) add(result, grid_[0], grid_[0], below);
    before = below;
  }
  add(result, grid_.back(), grid_.back(), 1 - before);
  return result;
}

void DecorrelatedStep::make_grid(double low, double high) {
  constexpr int kCells = 4000;
  const double least = low > 0 ? low : high * 1e-4;
  grid_.clear();
  for (int k = 0; k <= kCells; ++k) {
    grid_.push_back(least * std::pow(high / least, static_cast<double>(k) / kCells));
  }
  grid_.front() = low;
  grid_.back() = high;
}

std::size_t DecorrelatedStep::index(double x, std::size_t& near) const {
  if (near > 0 && grid_[near - 1] >= x) near = 0;
  while (near < grid_.size() && grid_[near] < x) ++near;
  return near;
}

DecorrelatedBackoff::DecorrelatedBackoff(const BackoffRules& rules, bool throttling)
    : base_(in_seconds(throttling ? rules.throttle_base : rules.base)),
      cap_(in_seconds(rules.cap)),
      from_full_(rules.decorrelated_from_full) {}

void DecorrelatedBackoff::next() {
  if (base_ == 0) {
    law_ = {{0, 0, 1}};
  } else if (law_.empty()) {
    law_ = from_full_ ? DelayLaw{{0, std::min(base_, cap_), 1}}
                      : limited({{base_, 3 * base_, 1}}, cap_);
  } else {
    advance();
  }
}

void DecorrelatedBackoff::advance() {
  const double low = from_full_ ? 0 : std::min(base_, cap_);
  const double high = std::min(cap_, 3 * most_of(law_));
  if (!(high > low)) {
    law_ = {{low, low, 1}};
    return;
  }
  step_.begin(low, high);
  const auto most_parts = static_cast<int>(std::max<std::size_t>(1, 4000 / law_.size()));
  for (const DelayPiece& p : law_) {
    const int parts = p.high > p.low ? most_parts : 1;
    for (int part = 0; part < parts; ++part) {
      const double s = p.low + (p.high - p.low) * (part + 0.5) / parts;
      const double probability = p.probability / parts;
      if (from_full_) {
        const double x = std::min(cap_, 3 * s);
        step_.add_uniform(std::min(base_, x), std::max(base_, x), probability);
      } else {
        step_.add_uniform(base_, std::max(base_, 3 * s), probability);
      }
    }
  }
  law_ = step_.law();
}

}  // namespace retrysim::prediction
