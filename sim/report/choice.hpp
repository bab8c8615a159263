// What `retrysim choose` finds: tables, JSON, and the summary that a person reads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/choose.hpp>

#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {

/// A race and what was asked for.
struct ChoiceReport {
  const PolicyChoice& found;
  std::vector<std::string> paths;                ///< the varied keys
  std::vector<std::vector<std::string>> values;  ///< of each policy, one a key
  std::vector<std::string> requests;             ///< as in `ResultIdentity`
  /// The keys that all policies share, and their values as TOML.
  std::vector<std::pair<std::string, std::string>> keys;
  std::uint64_t id = 0;                          ///< of the race (`id_of_choice`)
  std::vector<std::string> scenario_notes = {};  ///< that were printed when the policies were read
};

/// One row a policy: the varied keys, what became of it, its mean and those that have limits.
void write_choose_csv(Sink& sink, const ChoiceReport& report);
/// One row for each stage and policy that was in the race: the mean so far, and who left.
void write_race_csv(Sink& sink, const ChoiceReport& report);
void write_choice_json(Sink& sink, const ChoiceReport& report,
                       const std::vector<FileRecord>& files);
/// The table of who left when and because of whom, and a sentence that says who is the best, in
/// lines of at most `columns`.
void write_choice_text(Sink& sink, const ChoiceReport& report, std::size_t columns);

/// What the choice assumes: the zone in which differences do not matter, the distribution, limits.
std::vector<std::string> choice_terms(const PolicyChoice& choice);
/// Who is the best or why nobody is, and what the race saved.
std::vector<std::string> choice_sentences(const PolicyChoice& choice);

/// The policy whose scenario the result has: the best one, else the one nearest to the limits, else
/// the first.
const ChoicePolicy& shown_policy(const PolicyChoice& choice);

/// Writes choose.csv, race.csv, scenario.toml of `shown_policy` with its inputs and result.json,
/// and commits.
void write_choice_files(ResultFolder& folder, const ChoiceReport& report);

}  // namespace retrysim::report
