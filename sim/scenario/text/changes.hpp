// What edits have changed in the system that a scenario file describes, for headings: a result of a
// changed scenario must say that it is not that of the file.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/text/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The changes that `edits`, applied in this order, have made from the tree of a file (`file`) to
/// the tree after them (`edited`). See `LoadedScenario::changes`. Texts that are no edits are left
/// out.
std::vector<ScenarioChange> changes_between(const Node& file, const Node& edited,
                                            const std::vector<std::string>& edits);

/// Adds `later` changes to earlier ones of the same scenario; a later change replaces an earlier
/// one of the same path.
void add_changes(std::vector<ScenarioChange>& changes, const std::vector<ScenarioChange>& later);

/// Whether two paths may name the same key; "*" is any name.
bool may_be_same(std::string_view a, std::string_view b);

/// Whether each key that `path` may name is one that `pattern` names; "*" is any name.
bool covers(std::string_view pattern, std::string_view path);

}  // namespace retrysim::scenario
