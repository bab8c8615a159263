// `retrysim complete WORD...`: what the shell may offer for the last of the words, which follow the
// program's name on a command line. scripts/completion.bash asks for it.
//
// One candidate a line. A line that begins with a colon says what else to offer: `:files toml`,
// `:files`, `:folders`; or, with `:open`, that a candidate may go on, so that no blank follows it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/options.hpp"

namespace retrysim::cli {

/// Returns an ExitStatus: kDone, also if there is nothing to offer.
int complete(const Program& program, const Arguments& words);

}  // namespace retrysim::cli
