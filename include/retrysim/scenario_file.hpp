// Scenario files: TOML text, edits from the command line, defaults, presets and CSV inputs go in; a
// complete, validated `Scenario` comes out, or every mistake with its place. Also variations, which
// name keys and the values that they take.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// Where the value of a key comes from.
enum class Origin : std::uint8_t {
  kDefault,
  kPreset,
  kEnvironment,
  kScenario,
  kSet,
  kFound,  ///< the scenario left it to the program
};

/// One key of a resolved scenario.
struct ResolvedKey {
  std::string path;  ///< "client.web.retry.max_attempts"
  std::string toml;  ///< its value as TOML
  Origin origin = Origin::kDefault;
  std::string origin_detail;  ///< "dip.toml:12", "standard 2.0 botocore", "AWS_MAX_ATTEMPTS", ""
};

/// What an edit has changed in the system that a scenario file describes.
struct ScenarioChange {
  std::string path;   ///< "fault.deploy.duration", "client.*.retry.mode"
  std::string value;  ///< as people read it, on one line: 90s, { distribution = "constant", ... }

  friend bool operator==(const ScenarioChange&, const ScenarioChange&) = default;
};

struct LoadedScenario {
  Scenario scenario;
  std::vector<ResolvedKey> keys;                   ///< every key that applies, in table order
  std::vector<std::filesystem::path> input_files;  ///< CSV files read, as resolved
  std::vector<std::string> notes;                  ///< for the user: gaps filled in a trace, ...
  /// Where each of `scenario.expectations` stands in the file; 0: an edit has made it.
  std::vector<int> expectation_lines = {};
  std::filesystem::path file = {};  ///< the file it was read from; empty: from text
  /// What the edits have changed, each path once and in the order in which the edits came. Left out
  /// are those that have no effect (the file says the same, or a later edit something else), and
  /// keys that say nothing of the system: see `scenario::describes_system`.
  std::vector<ScenarioChange> changes = {};
};

/// The notes, each once, in alphabetical order; if there are many, the first ten and the number of
/// the others.
std::vector<std::string> distinct_notes(const LoadedScenario& loaded);

/// Either a scenario, or at least one error (all mistakes of meaning at once, at most 20, by
/// place; a syntax error stops at the first).
struct LoadResult {
  std::optional<LoadedScenario> loaded;
  std::vector<Diagnostic> errors;

  /// The scenario; throws an InputError with all mistakes if there is none.
  LoadedScenario value() &&;
};

/// The scenario in the file `path`, with `edits` as `load_scenario_file` takes them. Throws an
/// InputError with all mistakes.
LoadedScenario load(const std::filesystem::path& path, const std::vector<std::string>& edits = {});

/// Reads the file `path`. `edits` are `PATH=VALUE` texts as given to --set, applied in order before
/// validation; `variant_edits`, those of a `Variant`, follow them; their mistakes are reported as
/// mistakes of --vary.
LoadResult load_scenario_file(const std::filesystem::path& path,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// Loads a scenario from text. `file` names it in messages; CSV inputs are relative to `directory`.
LoadResult load_scenario_text(std::string_view text, const std::string& file,
                              const std::filesystem::path& directory,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// CSV inputs by the names that scenarios use for them.
using InputTexts = std::map<std::string, std::string, std::less<>>;

/// Loads a scenario without any file: CSV inputs are among `inputs`.
LoadResult load_scenario_with_inputs(std::string_view text, const std::string& file,
                                     const InputTexts& inputs,
                                     const std::vector<std::string>& edits = {});

/// The resolved scenario as a TOML file that reproduces the run exactly. CSV inputs are named
/// without their folder, because in a result folder they stand beside it. `with_origins` adds a
/// comment with the origin to each line, or above it if the line would become longer than
/// `columns`; a value that the program found always has one.
std::string to_toml(const LoadedScenario& loaded, bool with_origins, std::size_t columns = 80);

/// Puts the warm-up that was found for `warmup = "auto"` in its place, so that the resolved
/// scenario reproduces the run without looking for it again. `how` becomes its origin.
void set_found_warmup(LoadedScenario& loaded, Duration warmup, const std::string& how);

// --- Variations ----------------------------------------------------------------------------------

// A variation names keys and the values they take; a variant is the scenario with the edits of one
// combination. `compare` and `sweep` run all combinations.

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

/// Parses the text of one --vary:
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

/// All variations, or at least one error.
struct VariationsResult {
  std::vector<Variation> variations;
  std::vector<Diagnostic> errors;

  /// The variations; throws an InputError with all mistakes if there are any.
  std::vector<Variation> value() && {
    check(errors);
    return std::move(variations);
  }
};

/// Reads several texts; a path that occurs in two of them is an error too.
VariationsResult parse_variations(std::span<const std::string> texts);

/// One combination of values.
struct Variant {
  /// Unique within the grid, short and readable: "jitter=full", "rate=0.8 count=100". Each path is
  /// cut to the shortest end that tells it from the others.
  std::string name;
  std::vector<std::string> edits;  ///< PATH=VALUE texts, to be applied after those of --set
  /// One per path of all variations, in order; text without its quotes where that is not ambiguous.
  std::vector<std::string> values;
};

/// A grid has more combinations than a list of them may have.
class GridTooLarge : public InputError {
 public:
  using InputError::InputError;
};

/// All combinations, the last variation changing fastest; without variations the scenario itself,
/// named "base". Throws GridTooLarge above 10 million.
std::vector<Variant> grid(std::span<const Variation> variations);

/// About how many bytes `grid` takes. Throws as `grid` does.
double grid_bytes(std::span<const Variation> variations);

/// The ends of `paths` that name them in variants: "jitter" for "client.*.retry.backoff.jitter".
std::vector<std::string> short_names(std::span<const std::string> paths);

}  // namespace retrysim
