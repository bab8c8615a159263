// `retrysim write-manual DIR`: the manual pages, made from the table of commands, from what each
// command says of itself, and from the tables of keys, distributions and metrics.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/options.hpp"

namespace retrysim::cli {

/// Writes retrysim.1, a page for each command, retrysim-scenario.5 and retrysim-metrics.7 into the
/// folder that is the only argument. Returns an ExitStatus.
int write_manual(const Program& program, const Arguments& arguments);

}  // namespace retrysim::cli
