// Simulated time: integer nanoseconds in two strong types, so that a moment and a length cannot be
// mixed up and a run is exact on every machine. Doubles appear only where a statistic is computed.
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
  static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  /// Nearest nanosecond to `s` seconds; saturates at zero and at `max()`. `s` is not NaN.
  static constexpr Duration from_seconds(double s) { return from_nanoseconds(s * 1e9); }
  /// Nearest nanosecond to `ns`; saturates at zero and at `max()`. `ns` is not NaN.
  static constexpr Duration from_nanoseconds(double ns) {
    if (ns <= 0) return Duration(0);
    if (ns >= 9.2e18) return max();
    return Duration(static_cast<std::int64_t>(ns + 0.5));
  }
  static constexpr Duration zero() { return Duration(0); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count() const { return ns_; }
  constexpr double in_seconds() const { return static_cast<double>(ns_) * 1e-9; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return a == max() || b == max() || a.ns_ > max().ns_ - b.ns_ ? max() : Duration(a.ns_ + b.ns_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ns_ * n); }
  constexpr Duration& operator+=(Duration b) { return *this = *this + b; }

 private:
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
  constexpr double in_seconds() const { return static_cast<double>(ns_) * 1e-9; }

  friend constexpr auto operator<=>(Time, Time) = default;
  /// Saturates at `max()`: never plus anything is never.
  friend constexpr Time operator+(Time t, Duration d) {
    return d.count() > max().ns_ - t.ns_ ? max() : Time(t.ns_ + d.count());
  }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration::nanoseconds(a.ns_ - b.ns_);
  }

 private:
  explicit constexpr Time(std::int64_t n) : ns_(n) {}
  std::int64_t ns_ = 0;
};

}  // namespace retrysim
