// Operations and keys of which a throttle lets pass more or less than of the others.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/tables.hpp"

namespace retrysim::scenario {

/// Reads the tables [service.NAME.throttle.operation.*] and [service.NAME.throttle.key.*] of a
/// service whose own keys have been resolved.
void resolve_throttle_limits(Tables& t, const KeyResolution& keys, const Member& service,
                             ServiceSpec& spec);

/// Whether windows of the throttle or limit at `path` let at least one attempt pass each.
void check_window(Tables& t, const std::string& path, Place place, double rate, Duration window);

/// When the clients are known: whether there are such operations and keys.
void check_throttle_limits(Tables& t);

}  // namespace retrysim::scenario
