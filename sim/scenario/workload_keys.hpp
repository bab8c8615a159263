// Keys of client groups that send in bursts, poll for jobs, or mix operations.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/keys.hpp"

#include <span>

namespace retrysim::scenario {

/// Keys of [client.X.arrivals] for the processes on-off and poll.
std::span<const KeyInfo> burst_and_poll_keys();

/// The keys of [client.X.operation.NAME].
std::span<const KeyInfo> operation_keys();

/// The keys of [client.X.surge.NAME].
std::span<const KeyInfo> surge_keys();

}  // namespace retrysim::scenario
