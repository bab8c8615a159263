// What a user should know before running a scenario. Each warning names the keys, the figure and
// what would change it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/facts.hpp>

#include <vector>

#include "prediction/service_load.hpp"

namespace retrysim::prediction {

void warn_of_service(const Scenario& scenario, const ServiceLoad& load,
                     std::vector<Warning>& warnings);
void warn_of_client(const Scenario& scenario, const ClientTimes& times,
                    std::vector<Warning>& warnings);

}  // namespace retrysim::prediction
