// The simulated system, for pictures of it: which parts call each other, the text of each box, and
// the disturbances with their times. Members of result.json, from which pages draw; no other reader
// needs to know the keys of a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>

#include <nlohmann/json_fwd.hpp>
#include <span>

namespace retrysim::report {

/// An object with these members:
///
///   window_start_s, window_end_s   the time that is measured
///   services       name, servers (null: no limit), instances and balancing (of several),
///                  mean_service_time_s and capacity_per_s (attempts; null: no limit), lines
///   clients        name, calls (services), lines: groups with arrivals of their own
///   calls          name, caller, calls (services), lines: client groups of services
///   disturbances   kind (fault or surge), name, start_s, end_s, service or client, what it does
///                  in words, and what it changes in figures
///
/// `lines` are the most important facts, in short lines of plain text. `keys` may be empty: then
/// the names of SDKs and of files with arrivals are left out.
nlohmann::ordered_json graph_json(const Scenario& scenario, std::span<const ResolvedKey> keys = {});

}  // namespace retrysim::report
