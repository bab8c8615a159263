// The risk that faults at random times use up an error budget: `find_risks` for such an event.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/risk.hpp>

namespace retrysim {

/// The scenario with all its faults at random times, among them the scripted ones that the SLO says
/// the frequency of. Throws RequestError where no time is like another, so that quiet stretches
/// cannot be skipped, and for a fault that happens once only.
Scenario for_drawn_periods(const Scenario& given, const BudgetEvent& event);

/// Draws periods of `plan.period` until the precision is reached, or the effort used up. Throws
/// what `simulate` throws, and ShardDone.
RiskStudy study_drawn_periods(const RiskPlan& plan, const RiskPoint& point,
                              const ReplicationOptions& run, const RiskProgress& progress);

}  // namespace retrysim
