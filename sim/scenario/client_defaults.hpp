// Timeouts and connections "as the SDK has them".
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/tables.hpp"

namespace retrysim::scenario {

/// Puts the SDK's own defaults where a group, or a service that calls another one, asks for them.
void apply_client_defaults(Tables& t, const KeyResolution& keys, ClientSpec& spec);

}  // namespace retrysim::scenario
