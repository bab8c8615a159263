// What may be written on the command line where a key is changed or varied: --set, --vary,
// --trigger.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/keys.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

struct KeyCompletion {
  /// The scenario whose services, clients and faults may be named; empty or not valid: none.
  std::string scenario;
  /// What stands before every key without being written, such as "client.*.retry.".
  std::string prefix;
  bool only_numbers = false;  ///< only keys that have an order: numbers, counts and durations

  /// How `word` may go on, each with all of `word` in it: up to the next dot of a path, to its
  /// equals sign, or to the end of a value that is one of a few words.
  std::vector<std::string> candidates(std::string_view word) const;
};

/// The words that the key may have; empty if it is not one of a few words.
std::vector<std::string> values_of(const scenario::KeyInfo& key);

}  // namespace retrysim::cli
