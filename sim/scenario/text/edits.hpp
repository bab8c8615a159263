// Changing a scenario's tree before it is resolved: `like`, by which a service or client group
// starts from another one, and edits from the command line (`--set PATH=VALUE`). Names in files and
// edits are checked here as well.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/keys/keys.hpp"
#include "scenario/text/document.hpp"

#include <set>
#include <string>
#include <vector>

namespace retrysim::scenario {

/// Replaces every `like` below `service` and `client` by the table it names: a deep merge in which
/// a table with another value of a deciding key (KeyTraits::decides) is replaced whole. Chains are
/// allowed. Returns the paths ("client.web") of tables that could not be completed, after reporting
/// why.
std::set<std::string> apply_like(Node& root, Problems& problems);

/// Puts the keys of the tree `file` into the scenario `root`, table by table. A table that has a
/// deciding key (KeyTraits::decides; in a distribution, its name) replaces the existing table: a
/// retry policy keeps nothing of another one. Reports a client group that `root` (called
/// `scenario`) does not have, and that is not whole.
void merge_file(Node& root, const Node& file, const std::string& scenario, Problems& problems);

/// Renames keys that are written with a name of an earlier version, and adds them to `renamed`.
void rename_old_keys(Node& root, std::vector<OldKeyName>& renamed);

/// What the user is told about a key of an earlier name.
std::string note_of(const OldKeyName& name);

/// Applies one edit to the tree. `source` is the edit's text in `sources`. Paths may contain names
/// of earlier versions, which are added to `renamed`.
void apply_edit(Node& root, const Sources& sources, int source, Problems& problems,
                std::vector<OldKeyName>& renamed);

/// Reports every name in the tree that the table of keys does not know, with the nearest known one,
/// and every value that stands where a table belongs.
void check_names(const Node& root, Problems& problems);

}  // namespace retrysim::scenario
