// `like`: a service or client group that starts from another one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/document.hpp"

#include <set>
#include <string>

namespace retrysim::scenario {

/// Replaces every `like` below `service` and `client` by what it stands for: a deep merge in which
/// a table that changes a key that decides (KeyTraits::decides) is replaced whole. Chains are
/// allowed. Returns the paths ("client.web") of those that could not be completed, after reporting
/// why.
std::set<std::string> apply_like(Node& root, Problems& problems);

}  // namespace retrysim::scenario
