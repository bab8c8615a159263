// How the time that an attempt takes grows with the number of others in service.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstdint>

namespace retrysim::model {

/// The factor on a service time that begins while `others` attempts are in service; at most
/// 1e12, unless the curve is linear.
double slowdown_factor(const ServiceSpec& spec, std::int64_t others);

}  // namespace retrysim::model
