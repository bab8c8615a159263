// Simulated time: integer nanoseconds in two strong types, so that a moment and a length cannot be
// mixed up and a run is exact on every machine. Doubles appear where values are sampled and
// statistics computed, and are rounded to nanoseconds before they become a time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace retrysim {

/// A length of simulated time in nanoseconds. `max()` means "never" and absorbs additions.
class Duration {
 public:
  constexpr Duration() = default;
  /// Exact; the length must fit in 64 bits of nanoseconds (292 years).
  static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  /// Nearest nanosecond to `s` seconds; saturates at zero and at `max()`. `s` is not NaN.
  static constexpr Duration from_seconds(double s) { return from_nanoseconds(s * 1e9); }
  /// Nearest nanosecond to `ns`, halves upwards; saturates at zero and at `max()`. `ns` is not NaN.
  static constexpr Duration from_nanoseconds(double ns) {
    if (ns <= 0) return Duration(0);
    if (ns >= 9.2e18) return max();
    // Adding the largest double below 0.5 and truncating rounds correctly everywhere; adding 0.5
    // itself would be wrong just below 0.5 and for odd numbers above 2^52.
    return Duration(static_cast<std::int64_t>(ns + 0x1.fffffffffffffp-2));
  }
  static constexpr Duration zero() { return Duration(0); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count() const { return ns_; }
  /// The double nearest to the decimal value (up to 2^53 ns), so that 10 ms prints as 0.01.
  constexpr double in_seconds() const { return static_cast<double>(ns_) / 1e9; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  /// Saturates at `max()`: never plus anything is never.
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(saturating_sum(a.ns_, b.ns_));
  }
  /// May be negative; neither operand is `max()` unless the caller means 292 years.
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  /// Saturates at `max()`; `a` and `n` are not negative.
  friend constexpr Duration operator*(Duration a, std::int64_t n) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.ns_, n, &product) ? max() : Duration(product);
  }
  constexpr Duration& operator+=(Duration b) { return *this = *this + b; }

 private:
  // One comparison settles the usual case: a sum below 2^62 ns (146 years) has neither overflowed
  // nor got "never" in it (what is added to "never" is not as negative as that).
  static constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
    const std::uint64_t plain = static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);
    if (plain >> 62 == 0) [[likely]]
      return static_cast<std::int64_t>(plain);
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = 0;
    return a == kNever || b == kNever || __builtin_add_overflow(a, b, &sum) ? kNever : sum;
  }

  explicit constexpr Duration(std::int64_t n) : ns_(n) {}
  std::int64_t ns_ = 0;
};

/// A moment of simulated time: nanoseconds since the start of the run. `max()` means "never".
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_nanoseconds(std::int64_t n) { return Time(n); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time max() { return Time(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count() const { return ns_; }
  /// The double nearest to the decimal value (up to 2^53 ns), so that 10 ms prints as 0.01.
  constexpr double in_seconds() const { return static_cast<double>(ns_) / 1e9; }

  friend constexpr auto operator<=>(Time, Time) = default;
  /// Saturates at `max()`: never plus anything is never.
  friend constexpr Time operator+(Time t, Duration d) {
    return Time((Duration::nanoseconds(t.ns_) + d).count());
  }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration::nanoseconds(a.ns_ - b.ns_);
  }

 private:
  explicit constexpr Time(std::int64_t n) : ns_(n) {}
  std::int64_t ns_ = 0;
};

}  // namespace retrysim
