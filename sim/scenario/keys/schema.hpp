// The table of keys as a JSON Schema, by which editors complete, explain and check scenario files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrysim::scenario {

/// A JSON Schema (draft 7, which Taplo and editors with it read) of scenario files: names, types,
/// words, ranges of numbers, and for each key its meaning, unit, range, default and condition as a
/// description. It refuses unknown names and values of a wrong type. It accepts more than the
/// program: it knows no condition between keys, no range of durations written as text, and not
/// which keys a table needs that is like another. Ends with a line feed; the same text in every
/// build.
std::string json_schema();

}  // namespace retrysim::scenario
