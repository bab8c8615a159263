// What a service can serve: its servers, the work that errors save it, and the rate that its
// throttle grants. What profiles and faults leave of it at a moment is in the public interface:
// `capacity_left`, `capacity_changes` and `mean_capacity_left` (scenario.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/service_spec.hpp>

#include <cstddef>
#include <limits>

namespace retrysim::flow {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The number of servers of all instances; infinite: unlimited.
double servers_of(const ServiceSpec& service);
/// How many service times an attempt takes: two for `model = "occ"`, which validates what it has
/// read.
double passes(const ServiceSpec& service);
/// The share of attempts that random errors answer, from 0 to 1.
double error_share(const ServiceSpec& service);
/// The share of server time that random errors save: all of it where they are answered on arrival.
double free_error_share(const ServiceSpec& service);
/// Attempts per second that may pass the throttle of a service, summed over all its clients;
/// infinite if nothing limits them, or single operations or keys have limits.
double granted_rate(const Scenario& scenario, std::size_t service);

}  // namespace retrysim::flow
