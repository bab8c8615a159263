// The table of keys as a JSON Schema, by which editors complete, explain and check scenario files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace retrysim::scenario {

/// A JSON Schema (draft 7, which Taplo and editors with it read) of scenario files: names, types,
/// words, ranges of numbers, and for each key its meaning, unit, range, default and condition as a
/// description. It refuses unknown names and values of a wrong type. It accepts more than the
/// program: it knows no condition between keys, no range of durations written as text, and not
/// which keys a table needs that is like another. Ends with a line feed; the same text in every
/// build.
std::string json_schema();

/// The name under which scenarios refer to it, and what such a file begins with.
inline constexpr std::string_view kSchemaFile = "scenario.schema.json";
inline constexpr std::string_view kSchemaHead =
    "{\n \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n \"title\": \"retrysim "
    "scenario\"";

}  // namespace retrysim::scenario
