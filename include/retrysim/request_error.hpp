// The error of experiments that cannot be carried out whatever the scenario contains.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace retrysim {

/// A request that cannot be carried out: one variant to compare, a trigger that takes no numbers.
/// The message says why, and names the option of the program that asks for it ("--trigger: ...").
/// A mistake in a scenario is a `Diagnostic` instead, with its place.
class RequestError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace retrysim
