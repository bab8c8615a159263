// Variations of a scenario: which keys take which values, and the grid of all their combinations.
// A variant is the scenario with the edits of one combination; `compare` and `sweep` run them all.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// Keys that change together, and the values they take.
struct Variation {
  std::string text;                ///< as given to --vary
  std::vector<std::string> paths;  ///< as written; may hold '*'
  /// [choice][path]: TOML texts or bare words, as --set takes them. No two choices are the same.
  std::vector<std::vector<std::string>> choices;
};

/// Either a variation, or what is wrong with the text.
struct VariationResult {
  std::optional<Variation> variation;
  std::optional<Diagnostic> error;  ///< its file is "--vary", its source line the text
};

/// Reads what one --vary says:
///
///     PATH=V1,V2,...       values, split at commas outside brackets, braces, parentheses, quotes
///     PATH=LO:HI:STEP      LO, LO + STEP, ... up to HI, which is included if a step ends there
///     PATH=LO:HI:*N        N values, equally spaced in their logarithms, from LO to HI
///     A,B=(1,2),(3,4)      keys that move together
///
/// A range may also stand among the values of a list. Its numbers are whole (and stay so), decimal,
/// or durations with units ("10ms:50ms:10ms"); steps are exact in decimal arithmetic, log-spaced
/// values between the ends are rounded to 6 significant digits. Never throws for bad input.
VariationResult parse_variation(std::string_view text);

/// Either every variation, or at least one error.
struct VariationsResult {
  std::vector<Variation> variations;
  std::vector<Diagnostic> errors;
};

/// Reads several texts; a path that occurs in two of them is an error too.
VariationsResult parse_variations(std::span<const std::string> texts);

/// One combination of values.
struct Variant {
  /// Unique within the grid, short and readable: "jitter=full", "rate=0.8 count=100". Of each path
  /// the shortest end that tells the paths apart.
  std::string name;
  std::vector<std::string> edits;  ///< PATH=VALUE texts, to be applied after those of --set
  /// One per path of all variations, in order; text without its quotes where that is not ambiguous.
  std::vector<std::string> values;
};

/// All combinations, the last variation changing fastest; without variations the scenario itself,
/// named "base". Throws std::length_error above 10 million.
std::vector<Variant> grid(std::span<const Variation> variations);

/// About how many bytes `grid` takes. Throws what it throws.
double grid_bytes(std::span<const Variation> variations);

/// The ends of `paths` that name them in variants: "jitter" for "client.*.retry.backoff.jitter".
std::vector<std::string> short_names(std::span<const std::string> paths);

}  // namespace retrysim
