// SPDX-License-Identifier: MIT
#include "explain/spoken.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retrysim::explain {

namespace {

std::string time_text(double seconds, int digits) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.{}g} µs", seconds * 1e6, digits);
  if (seconds < 0.0995) return fmt::format("{:.{}g} ms", seconds * 1e3, digits);
  if (seconds < 99.5) return fmt::format("{:.{}g} s", seconds, digits);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = seconds / 60;
  if (minutes < 9.95) return fmt::format("{:.2g} minutes", minutes);
  if (minutes < 119.5) return fmt::format("{:.0f} minutes", minutes);
  return fmt::format("{:.3g} hours", minutes / 60);
}

}  // namespace

std::string spoken_time(double seconds) { return time_text(seconds, 3); }

std::string roughly_spoken_time(double seconds) { return time_text(seconds, 2); }

std::string spoken_share(double share) {
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "less than 0.01 %";
  if (percent >= 100) return "100 %";
  if (percent > 99.99) return "more than 99.99 %";
  if (percent > 99) return fmt::format("{:.4g} %", percent);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string spoken_count(double number) {
  if (number < 1000) return fmt::format("{:.3g}", number);
  const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
  return fmt::format("{:.0f}", std::round(number / unit) * unit);
}

std::string spoken_times(double ratio) {
  if (ratio >= 0.95 && ratio < 1.05) return "1.0 times";
  return ratio < 9.95 ? fmt::format("{:.2g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

std::string spoken_attempts(double attempts) {
  return fmt::format("{:.4g} attempt{}", attempts, attempts == 1 ? "" : "s");
}

}  // namespace retrysim::explain
