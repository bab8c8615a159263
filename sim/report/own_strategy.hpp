// Client groups that retry as a strategy of the user's own says, which no scenario file can have:
// results name it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <string>
#include <vector>

namespace retrysim::report {

/// Writes into the resolved keys that the group retries as `strategy` says ("Python class Mine"),
/// as the key `client.NAME.retry.strategy`: so results, saved files and comparisons show it, and no
/// saved file seems to repeat the run. Replaces what an earlier call has written.
void name_strategy(LoadedScenario& loaded, const ClientSpec& group, const std::string& strategy);

/// A sentence on each group for which `name_strategy` was called.
std::vector<std::string> notes_on_strategies(const LoadedScenario& loaded);

}  // namespace retrysim::report
