// Reading scenario files: TOML text, edits from the command line, defaults, presets and CSV inputs
// in; a complete, validated `Scenario` out, or every mistake with its place.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// One mistake in an input: what is wrong, where, and what would be right.
struct Diagnostic {
  std::string file;         ///< path as given by the user, "--set" or "--vary"
  int line = 0;             ///< from 1; 0: no line
  int column = 0;           ///< from 1; 0: no column
  std::string message;      ///< "what is wrong; what would be right"
  std::string source_line;  ///< the line, if there is one; of a long one the part around the place
  int caret = 0;            ///< where in `source_line` the mistake is, from 1; 0: nowhere
};

/// `file:line:column: error: message`, then the source line and a caret below the place. No newline
/// at the end.
std::string to_string(const Diagnostic& diagnostic);

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

struct LoadedScenario {
  Scenario scenario;
  std::vector<ResolvedKey> keys;                   ///< every key that applies, in table order
  std::vector<std::filesystem::path> input_files;  ///< CSV files read, as resolved
  std::vector<std::string> notes;                  ///< for the user: gaps filled in a trace, ...
  std::filesystem::path file = {};                 ///< that it was read from; empty: from a text
};

/// The notes, each once, in alphabetical order; of very many the first ten, and how many more.
std::vector<std::string> distinct_notes(const LoadedScenario& loaded);

/// Either a scenario, or at least one error (all mistakes of meaning at once, at most 20, by
/// place; a syntax error stops at the first).
struct LoadResult {
  std::optional<LoadedScenario> loaded;
  std::vector<Diagnostic> errors;
};

/// Reads the file `path`. `edits` are `PATH=VALUE` texts as given to --set, applied in order before
/// validation; after them those of a `Variant`, which messages ascribe to --vary.
LoadResult load_scenario_file(const std::filesystem::path& path,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// The same from text. `file` names it in messages; CSV inputs are relative to `directory`.
LoadResult load_scenario_text(std::string_view text, const std::string& file,
                              const std::filesystem::path& directory,
                              const std::vector<std::string>& edits = {},
                              const std::vector<std::string>& variant_edits = {});

/// The resolved scenario as a TOML file that reproduces the run exactly. CSV inputs are named by
/// their file name only, as they lie beside it in a result folder. `with_origins` adds a comment
/// with the origin to each line, or above it where both together would take more than `columns`; a
/// value that the program found has one in any case.
std::string to_toml(const LoadedScenario& loaded, bool with_origins, std::size_t columns = 80);

/// Puts the warm-up that was found for `warmup = "auto"` in its place, so that the resolved
/// scenario reproduces the run without looking for it again. `how` becomes its origin.
void set_found_warmup(LoadedScenario& loaded, Duration warmup, const std::string& how);

}  // namespace retrysim
