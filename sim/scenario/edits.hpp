// Edits of a scenario from the command line (`--set PATH=VALUE`), and the check of names against
// the table of keys, which edits share with the file.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/document.hpp"
#include "scenario/keys.hpp"

#include <string>

namespace retrysim::scenario {

/// Applies one edit to the tree. `source` is the edit's text in `sources`.
void apply_edit(Node& root, const Sources& sources, int source, Problems& problems);

/// Reports every name in the tree that the table of keys does not know, with the nearest one that
/// it does, and every value that stands where a table belongs.
void check_names(const Node& root, Problems& problems);

}  // namespace retrysim::scenario
