// Experiments of the installed library: for main.cpp to run and check.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace consumer {

/// Amplification of three attempts above that of one, in a service that fails half of all attempts:
/// 1 + 1/2 + 1/4 - 1 in theory.
double extra_attempts_of_retries();

/// The number of attempts, from 1 to 3, that asks least of an overloaded service; 0 if none was
/// found to.
std::size_t attempts_of_the_best_policy();

/// The length in seconds of the outage from which on half of the replications do not recover; 0 if
/// none was found.
double tipping_point_of_outage();

/// How much sooner, in seconds, an outage tips the service at 40 requests/s than at 30; 0 if one of
/// the tipping points was not found.
double tipping_point_moves_by();

/// The number of points of a sweep whose goodput is more than 90 % of the load.
std::size_t points_that_keep_up();

/// The load on the way down at which a queue recovers, over that at which it tipped; 0 if it did
/// neither.
double load_ratio_of_hysteresis();

}  // namespace consumer
