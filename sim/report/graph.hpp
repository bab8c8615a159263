// What is simulated, for pictures of it: who calls whom, what to write into each box, and what
// disturbs them when. Members of result.json, from which pages draw; no other reader needs to know
// the keys of a scenario.
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
/// `lines` is what a reader wants to know at a glance, in short lines of plain text. `keys` may be
/// empty: then the names of SDKs and of files with arrivals are left out.
nlohmann::ordered_json graph_json(const Scenario& scenario, std::span<const ResolvedKey> keys = {});

}  // namespace retrysim::report
