// Which mistake the program with mutants makes: the one that RETRYSIM_MUTANT in the environment
// names. Included before each of its sources.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string_view>

namespace retrysim {

inline bool is_mutant(std::string_view name) {
  static const char* const chosen = std::getenv("RETRYSIM_MUTANT");
  return chosen != nullptr && name == chosen;
}

}  // namespace retrysim
