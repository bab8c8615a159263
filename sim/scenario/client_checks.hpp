// What must hold between the keys of a client group, or between them and the rest of the scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/tables.hpp"

#include <string>

namespace retrysim::scenario {

/// Each reports what is wrong with a group, or notes what has no effect.
void note_late_herd(Tables& t, const std::string& path, const ArrivalSpec& arrivals);
void check_quota(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec);
void note_idle_priority(Tables& t, const KeyResolution& keys, const ClientSpec& spec);

}  // namespace retrysim::scenario
