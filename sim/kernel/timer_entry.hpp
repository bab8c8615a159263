// What the stores of timers hold.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/event_order.hpp"

#include <cstdint>

namespace retrysim::kernel {

/// A timer that belongs to `entity`; `kind` is the owner's business.
struct TimerEntry {
  EventKey key;
  std::uint32_t entity = 0;
  std::uint32_t kind = 0;
};

}  // namespace retrysim::kernel
