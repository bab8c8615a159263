// Which keys a finished scenario uses: the table of keys read backwards. Code that can treat only
// some scenarios lists the keys that it knows, and finds all others here, including keys added
// later.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/keys/keys.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace retrysim::scenario {

/// A key that a scenario uses (`Access::in_use`), in one of its tables.
struct KeyInUse {
  const KeyScope& scope;  ///< one of `key_scopes()`
  std::size_t index;      ///< index of the key in `scope.keys`

  const KeyInfo& key() const { return scope.keys[index]; }
  /// The whole name of the key, such as "client.web.retry.hedging.delay".
  std::string path() const;
  /// The word that the key holds; empty if its value is no word.
  std::string_view word() const;
  /// What the scenario has, in words: "hedging", or the key's name with its help.
  std::string thing() const;

  // The structs that the keys of its table fill.
  const FilledSlots& slots;
  const std::function<std::string()>& table;  ///< path of the table
};

/// Calls `found` for each key in use that can concern the service: keys of the network, the service
/// with its throttle's limits and its faults, and the client groups that call it, with their surges
/// and operations; in that order, tables in the order of the scenario, keys in that of their table.
/// `found` returns whether to go on. Left out are rules of retries in groups that make one attempt,
/// phases and expectations.
void each_key_in_use(const Scenario& scenario, std::size_t service,
                     const std::function<bool(const KeyInUse&)>& found);

}  // namespace retrysim::scenario
