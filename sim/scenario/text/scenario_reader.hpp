// A scenario file that is parsed once, and from which many variants are loaded.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/problems.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// The largest scenario file that is read.
inline constexpr std::uintmax_t kMaxScenarioBytes = std::uintmax_t{64} << 20;

/// The text of a scenario file; if it cannot be read, empty, and an entry of `errors` says why. A
/// stop point: throws Interrupted.
std::optional<std::string> read_scenario_text(const std::filesystem::path& path,
                                              std::vector<Diagnostic>& errors);

/// A file whose keys override those of a scenario file.
struct Overlay {
  std::string text, file;           ///< `file` names it in messages
  std::filesystem::path directory;  ///< CSV inputs that it names are relative to this
};

class ScenarioReader {
 public:
  /// Parses `text`, puts the keys of `overlay`, if there is one, into it (`merge_file`), and
  /// applies `edits`, as given to --set. `file` names it in messages; CSV inputs are relative to
  /// `directory`. Mistakes are reported by every `load`.
  ScenarioReader(std::string_view text, const std::string& file, std::filesystem::path directory,
                 const std::vector<std::string>& edits, const Overlay* overlay = nullptr);
  /// As above, with CSV inputs only from `inputs`, which must outlive the object.
  ScenarioReader(std::string_view text, const std::string& file, const InputTexts& inputs,
                 const std::vector<std::string>& edits);

  /// The scenario with the edits of a `Variant`. CSV inputs are read once, by the first variant
  /// that names them. Any number of threads may load at once.
  LoadResult load(const std::vector<std::string>& variant_edits = {}) const& {
    return load(variant_edits, memory_.get());
  }
  /// As above, for a reader that loads only once and keeps nothing for later.
  LoadResult load(const std::vector<std::string>& variant_edits = {}) && {
    return load(variant_edits, nullptr);
  }

 private:
  LoadResult load(const std::vector<std::string>& variant_edits, CsvMemory* memory) const;
  /// Merges the overlay into the file called `scenario`; false, with errors, if that is impossible.
  bool put_over(const Overlay& overlay, const std::string& scenario);

  Sources sources_;
  Problems problems_;
  std::optional<Node> file_;  // the file as it was before edits; empty without edits
  std::vector<std::string> edits_;
  std::vector<OldKeyName> renamed_;  ///< keys written with names of earlier versions
  std::vector<std::string> notes_;   ///< about the overlay
  std::optional<Node> root_;
  std::filesystem::path directory_;
  int overlay_ = -1;  ///< index of the overlay's source; -1: none
  std::filesystem::path overlay_directory_;
  const InputTexts* inputs_ = nullptr;
  std::unique_ptr<CsvMemory> memory_ = std::make_unique<CsvMemory>();
};

/// A reader, and the file that its scenarios are said to come from.
struct FileReader {
  std::unique_ptr<const ScenarioReader> reader;
  std::filesystem::path file;
};

/// The reader behind `load_scenario_file_with`. An empty `variant`: of `path` alone. Without a
/// reader if a file cannot be read: `errors` says why.
FileReader reader_of(const std::filesystem::path& path, const std::filesystem::path& variant,
                     const std::vector<std::string>& edits, std::vector<Diagnostic>& errors);

}  // namespace retrysim::scenario

namespace retrysim {

/// Reads the file `variant` as a variant of the scenario file `path`. With a `name` it is a
/// scenario of its own, and `path` is not read. Otherwise its keys are put into `path`: table by
/// table, but a table with a deciding key (`retry.mode`, `arrivals.process`, the name of a
/// distribution) replaces the existing one. CSV inputs are relative to the file that names them.
/// The edits follow, as for `load_scenario_file`.
LoadResult load_scenario_file_with(const std::filesystem::path& path,
                                   const std::filesystem::path& variant,
                                   const std::vector<std::string>& edits,
                                   const std::vector<std::string>& variant_edits);

}  // namespace retrysim
