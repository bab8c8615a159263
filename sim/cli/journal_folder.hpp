// The folder of a result whose finished replications are kept in a journal, from which an
// interrupted command continues.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/simulation_options.hpp"
#include "execution/journal.hpp"
#include "report/output_error.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// Where the results of the process that leads go. Folders that were made for something that kept
/// nothing are removed again.
class JournalFolder {
 public:
  /// `path`: see `result_path`. What is under way is called `what` in messages ("search"). Throws
  /// OutputError if an unfinished one is there and neither `resume` nor --force is given.
  JournalFolder(const SimulationSettings& settings, bool resume, std::filesystem::path path,
                std::string_view journal, std::string_view what);
  ~JournalFolder();
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool unfinished() const { return unfinished_; }

  /// Makes sure that the result can be written; gives the place of the journal. Throws OutputError.
  std::filesystem::path open(report::ResultIdentity identity);

  /// After `open`.
  report::ResultFolder& result() { return *result_; }

 private:
  std::filesystem::path path_;
  std::string_view journal_;
  report::EarlierKept kept_;
  bool force_, resume_, unfinished_ = false;
  std::vector<std::filesystem::path> made_;  // innermost first
  std::unique_ptr<report::ResultFolder> result_;
};

/// Calls `open`, which opens a journal in `folder`; turns what is wrong with it into an OutputError
/// that says what to do.
template <class Open>
auto open_journal(const std::filesystem::path& folder, const Open& open) {
  try {
    return open();
  } catch (const execution::JournalError& e) {
    throw report::OutputError(
        folder,
        std::string(e.what()) + "; use another folder, or --force without --resume to start again");
  }
}

/// Prints what a resumed journal had, to standard error.
void print_what_was_kept(std::size_t replications, std::uint64_t dropped_bytes);

/// "12 replications are finished; --resume continues the search"
std::string kept_text(std::size_t replications, std::string_view what);

}  // namespace retrysim::cli
