// SPDX-License-Identifier: MIT
#include "cli/journal_folder.hpp"

#include "report/terminal.hpp"

#include <fmt/format.h>
#include <system_error>
#include <utility>

namespace retrysim::cli {

namespace fs = std::filesystem;

JournalFolder::JournalFolder(const SimulationSettings& settings, bool resume, fs::path path,
                             std::string_view journal, std::string_view what)
    : path_(std::move(path)),
      journal_(journal),
      kept_(keep_earlier(settings, path_)),
      force_(settings.force),
      resume_(resume) {
  std::error_code error;
  unfinished_ = fs::exists(path_ / journal, error);
  if (!unfinished_ || resume || force_) return;
  throw report::OutputError(
      path_,
      fmt::format("it contains an unfinished {}; --resume continues it, --force starts again",
                  what));
}

JournalFolder::~JournalFolder() {
  if (made_.empty()) return;
  result_.reset();
  std::error_code ignored;
  for (const fs::path& folder : made_) fs::remove(folder, ignored);  // unless it holds something
}

fs::path JournalFolder::open(report::ResultIdentity identity) {
  std::error_code error;
  for (fs::path folder = path_; !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    made_.push_back(folder);
  }
  fs::create_directories(path_, error);
  if (error) throw report::OutputError(path_, error.message());
  // With --out, whoever began what is resumed here has been allowed to replace what there is.
  const bool force = force_ || (unfinished_ && resume_ && !kept_);
  result_ =
      std::make_unique<report::ResultFolder>(path_, std::move(identity), force, journal_, kept_);
  return result_->path() / journal_;
}

void print_what_was_kept(std::size_t replications, std::uint64_t dropped_bytes) {
  if (dropped_bytes > 0) {
    report::print_error(
        "note: {} bytes at the end of the journal were cut off or damaged; their results are "
        "computed again\n",
        dropped_bytes);
  }
  if (replications > 0) {
    report::print_error("note: resuming with {} replication{} finished\n", replications,
                        replications == 1 ? "" : "s");
  }
}

std::string kept_text(std::size_t replications, std::string_view what) {
  return fmt::format("{} replication{} finished; --resume continues the {}", replications,
                     replications == 1 ? " is" : "s are", what);
}

}  // namespace retrysim::cli
