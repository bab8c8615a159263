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
/// program does: it leaves out conditions between keys, ranges of durations written as text, and
/// the required keys of a table that starts from another one by `like`. Ends with a line feed; the
/// same text in every build.
std::string json_schema();

/// The file name under which scenarios refer to the schema, and how such a file begins.
inline constexpr std::string_view kSchemaFile = "scenario.schema.json";
inline constexpr std::string_view kSchemaHead =
    "{\n \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n \"title\": \"retrysim "
    "scenario\"";

}  // namespace retrysim::scenario
