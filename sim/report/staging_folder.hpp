// The folder in which a result is collected before it moves into place, and what to do with those
// of runs that were killed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "scenario/result_names.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A lock on a folder while the object lives; waits for it. Where the file system has no such
/// locks, or the folder cannot be opened, nothing is locked.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// A new folder beside or inside the place of the result, locked as long as its owner lives, so
/// that others can tell it from one that was left behind. Not removed by the destructor.
///
/// It holds `result`, the folder of the new files; `earlier`, what is taken away from the place of
/// the result before the new files get there, if that is not done in one step; and `target`, a
/// text: the name of the result folder, or "." if the staging folder lies in it, and the names of
/// things of the user's that are on their way from there to `result`, each with a zero behind it.
class StagingFolder {
 public:
  /// How the names of staging folders begin.
  static constexpr std::string_view kMark = scenario::kStagingMark;

  StagingFolder() = default;
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  /// Makes the folder in `parent`. `target`: the name of the result folder there, or ".". A power
  /// cut may leave a folder that does not say so, which does no harm while nothing has been moved:
  /// call `announce` before. Throws std::system_error.
  void make(const std::filesystem::path& parent, const std::string& target);
  std::filesystem::path result() const { return path_ / "result"; }
  std::filesystem::path earlier() const { return path_ / "earlier"; }

  /// Says that things are about to be moved, and which of the user's with them; on disk when it
  /// returns. Throws std::system_error.
  void announce(const std::vector<std::string>& names) const;
  /// Removes the folder with what is in it, after the user's things have been given back; leaves it
  /// where that cannot be done.
  void remove();

 private:
  bool lock();
  void write_target(const std::vector<std::string>& names, bool durable) const;

  std::filesystem::path path_;
  std::string target_;
  int lock_ = -1;
};

/// Removes the staging folders in `parent` whose owners are gone: killed, or the machine stopped.
/// One that was killed while it replaced an earlier result first gives back what it had moved.
/// Folders of running programs, and those that cannot be removed, stay. Call it with a FolderLock.
void clean_up_after_killed_runs(const std::filesystem::path& parent);

}  // namespace retrysim::report
