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
/// What an attempt costs must not depend on which of a group's services it goes to.
void check_prices(Tables& t, const KeyResolution& keys, const ClientSpec& spec);

/// Of all groups together: what those share that name the same retryer, and how much memory states
/// take that are kept apart.
void check_retryers(Tables& t);
/// Keys and operations by which nothing is kept apart, and the other way round.
void note_idle_keys(Tables& t);

}  // namespace retrysim::scenario
