// SPDX-License-Identifier: MIT
#include "explain/spoken.hpp"

#include <fmt/format.h>

namespace retrysim::explain {

std::string spoken_time(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 0.0995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 99.95) return fmt::format("{:.3g} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) {
    const double minutes = seconds / 60;
    return minutes < 9.95 ? fmt::format("{:.2g} minutes", minutes)
                          : fmt::format("{:.0f} minutes", minutes);
  }
  return fmt::format("{:.3g} hours", seconds / 3600);
}

std::string spoken_share(double share) {
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "less than 0.01 %";
  if (percent >= 100) return "100 %";
  if (percent > 99.99) return "more than 99.99 %";
  if (percent > 99) return fmt::format("{:.4g} %", percent);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string spoken_times(double ratio) {
  return ratio < 9.95 ? fmt::format("{:.2g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

std::string spoken_part(double ratio) {
  return ratio < 1 ? spoken_share(ratio) + " of" : spoken_times(ratio);
}

}  // namespace retrysim::explain
