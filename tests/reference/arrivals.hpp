// When the clients of a group make requests, as far as that does not depend on what becomes of
// them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "reference/calendar.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace retrysim::reference {

/// Called when a client makes a request, with the name of its draws.
using Submit = std::function<void(std::uint32_t client, std::uint64_t entity)>;

/// Enters the requests of an open arrival process before `end` into the calendar. What `client`
/// says, and `submit`, must stay valid.
void schedule_arrivals(const ClientSpec& client, const RandomKey& key, Time end, Calendar& calendar,
                       const Submit& submit);

/// The name of the `ordinal`-th request of `client`, where each counts its own.
inline std::uint64_t name_of(std::uint32_t client, std::uint64_t ordinal) {
  return (std::uint64_t{client} << 32) + ordinal;
}

}  // namespace retrysim::reference
