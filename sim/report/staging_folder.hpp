// The folder in which a result is collected before it moves into place, and what to do with those
// of runs that were killed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>

namespace retrysim::report {

/// A new folder beside or inside the place of the result, locked as long as its owner lives, so
/// that others can tell it from one that was left behind. Not removed by the destructor.
class StagingFolder {
 public:
  /// How the names of staging folders begin.
  static constexpr std::string_view kMark = ".retrysim-new-";
  /// The folder in it that takes the files of an earlier result while new ones move into place.
  static constexpr std::string_view kEarlierFiles = "earlier";

  StagingFolder() = default;
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  /// Makes the folder in `parent`. Throws std::system_error.
  void make(const std::filesystem::path& parent);
  const std::filesystem::path& path() const { return path_; }

 private:
  bool lock();

  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes the staging folders in `parent` whose owners are gone: killed, or the machine stopped.
/// One that was killed while it replaced an earlier result first gives the earlier files back.
/// Folders of running programs, and those that cannot be removed, stay.
void clean_up_after_killed_runs(const std::filesystem::path& parent);

}  // namespace retrysim::report
