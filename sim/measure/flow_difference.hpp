// What happened between two moments, from what had happened until each of them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

namespace retrysim::stats {

/// The counts; integrals of levels stay zero.
ClientFlow counts_between(const ClientFlow& before, const ClientFlow& after);

/// Counts and integrals; `queue_max`, which is no sum, stays zero. An integral that did not grow by
/// more than the rounding of sums has not grown.
ServiceFlow flow_between(const ServiceFlow& before, const ServiceFlow& after);

}  // namespace retrysim::stats
