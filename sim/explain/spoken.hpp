// Figures as sentences have them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrysim::explain {

/// A time with three significant digits, or two: "78 ms", "0.125 s", "8.5 minutes". Not negative.
std::string spoken_time(double seconds);
std::string roughly_spoken_time(double seconds);

/// A share as a percentage; one that is not whole is never called 100 %, nor 0 % if it is not zero.
std::string spoken_share(double share);

/// A number of things with three significant digits: "3120", "0.5".
std::string spoken_count(double number);

/// A multiple of something: "1.9 times".
std::string spoken_times(double ratio);

/// "1 attempt", "1.24 attempts".
std::string spoken_attempts(double attempts);

}  // namespace retrysim::explain
