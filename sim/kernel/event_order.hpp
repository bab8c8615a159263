// The order of events: by time, then by scheduling order. Every event that is scheduled takes the
// next sequence number, so two keys are never equal and a run has exactly one order. (The one
// exception to this order, completions before timeouts, is made by the simulation's main loop.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <compare>
#include <cstdint>

namespace retrysim::kernel {

struct EventKey {
  Time time = Time::max();
  std::uint64_t sequence = ~std::uint64_t{0};

  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
  static constexpr EventKey never() { return {}; }
};

}  // namespace retrysim::kernel
