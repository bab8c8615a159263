// Variants of a scenario that are files: another scenario, or keys that are put into it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace retrysim::experiment {

/// What makes a variant of a scenario.
struct VariantSource {
  std::string name;
  std::filesystem::path file;       ///< put over the scenario's, or a scenario; empty: neither
  std::vector<std::string> edits;   ///< those of the values that are varied
  std::vector<std::string> values;  ///< as in NamedScenario
};

/// Either all variants, the baseline first, or at least one error.
struct VariantSources {
  std::vector<VariantSource> variants;
  std::vector<std::string> keys;  ///< as in NamedScenario
  std::vector<Diagnostic> errors;
};

/// The variants that `load_variants_and_files` loads. Throws RequestError as it does.
VariantSources variant_sources(const std::vector<std::string>& vary, const std::string& baseline,
                               const std::vector<std::string>& files);

/// The mistakes of variants: each once, and 20 at most.
class VariantMistakes {
 public:
  void add(const VariantSource& variant, std::vector<Diagnostic> errors);
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::set<std::tuple<std::string, int, int, std::string>> seen_;
  std::vector<Diagnostic> all_;
};

/// As `load_variants`; besides, each of `files`, "NAME=FILE", is a variant, as
/// `load_scenario_file_with` reads it. If there are files, the scenario file itself is called
/// "base", and with values to vary the variants are all combinations of files and values, such as
/// "file=base max_attempts=2". Throws RequestError also if a NAME is not fit for a column (up to 40
/// letters, digits, `_`, `-`, `+` and `.`), is "base", or comes twice.
VariantsResult load_variants_and_files(const std::filesystem::path& file,
                                       const std::vector<std::string>& edits,
                                       const std::vector<std::string>& vary,
                                       const std::string& baseline,
                                       const std::vector<std::string>& files);

}  // namespace retrysim::experiment
