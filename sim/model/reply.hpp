// What a service model replies to an attempt, and what it may know for that.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

struct Reply {
  std::uint16_t answer = 0;  ///< number of the answer; 0: success
  /// The client answers at once with a further message of the same attempt.
  bool goes_on = false;
};

struct ReplyContext {
  const RandomKey& key;  ///< of the client group
  /// Random errors at present: cumulative probability, answer.
  const std::vector<std::pair<double, std::uint16_t>>& errors;
};

}  // namespace retrysim::model
