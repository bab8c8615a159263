// The simulated system, for pictures of it: which parts call each other, the text of each box, and
// the disturbances with their times. They are members of result.json, from which pages draw, so
// that no other reader needs to know the keys of a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <nlohmann/json_fwd.hpp>
#include <span>

namespace retrysim::report {

/// An object with these members:
///
///   window_start_s, window_end_s   the time that is measured
///   services       name, servers (null: no limit), instances and balancing (of several),
///                  mean_service_time_s, capacity_per_s (attempts; null: no limit) and
///                  throttle_per_s (of all clients together; null: no limit), lines;
///                  capacity_steps: both over time, with what profile and faults leave, as
///                  [from_s, attempts per second], each until the next; null: no limit; absent: too
///                  many for a picture. autoscaled: true where the number of servers also follows
///                  the load; the steps are then those of the servers at the start
///   clients        name, calls (services), lines: groups with arrivals of their own
///   calls          name, caller, calls (services), lines: client groups of services
///   disturbances   kind (fault or surge), name, start_s, end_s, service or client, what it does
///                  in words, and what it changes in figures
///
/// `lines` are the most important facts, in short lines of plain text. `keys` may be empty: then
/// the names of SDKs and of files with arrivals are left out.
nlohmann::ordered_json graph_json(const Scenario& scenario, std::span<const ResolvedKey> keys = {});

}  // namespace retrysim::report
