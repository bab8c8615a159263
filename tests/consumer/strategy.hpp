// The retry strategies of include/retrysim/README.md, for main.cpp to run and check.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace consumer {

/// The delays in milliseconds that a client of standard mode 2.1 waits before it gives up on a
/// service that answers 500, with every random draw at its upper end.
std::vector<double> delays_of_standard_mode();

/// The share of requests that succeed when clients run a strategy of their own.
double success_share_of_own_strategy();

}  // namespace consumer
