// How many requests client groups make, on average: profiles, surges, bursts, traces and polling in
// one number. Closed loops have no rate of their own: what they ask for depends on the services
// (demand.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

namespace retrysim::flow {

/// New requests of an open group per second, on average over the duration; 0 for closed loops and
/// for calls between services. Each check of a polling job is a request.
double mean_request_rate(const Scenario& scenario, const ClientSpec& client, bool surges = false);
/// Jobs of a polling group per second.
double mean_job_rate(const Scenario& scenario, const ClientSpec& client, bool surges = false);

/// What profile and surges make of a group's rate at a time: a factor, or, where the profile has
/// rates, the group's requests per second. 1 without either.
double rate_factor(const ArrivalSpec& arrivals, Time t);
/// At least as much as `rate_factor` at any time.
double most_rate_factor(const ArrivalSpec& arrivals);

/// Requests (of a polling group: jobs) of an open group that are due between `warmup` and
/// `duration`, on average and with surges; 0 for closed loops and for calls between services.
double due_in_window(const Scenario& scenario, const ClientSpec& client);

}  // namespace retrysim::flow
