// "Did you mean": the known name nearest to a misspelt one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The least number of insertions, deletions, replacements and swaps of neighbours that turn `a`
/// into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, the first of equals; empty if none is near enough to be a misspelling.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

/// The same of the first ten of them: "a, b, ... and 99,990 more". For messages, where the user may
/// have written any number of them.
std::string joined_first(const std::vector<std::string_view>& words);

/// "99,990".
std::string grouped(std::size_t number);

/// `did you mean "x"?` if one is near, else `PREFIX: a, b, c`, the first ten of them.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& known,
                       std::string_view prefix);

/// The SDK whose place this one took, and whose legacy mode people may mean; empty if there is
/// none.
std::string_view predecessor(std::string_view sdk);

/// The presets with numbers of their own for an API, or those for "default": "legacy: botocore,
/// java-v1; standard 2.0: dotnet; custom". Empty if there are none.
std::string presets_for(std::string_view api);

/// The words with ", " between them.
std::string joined(const std::vector<std::string_view>& words);

}  // namespace retrysim::scenario
