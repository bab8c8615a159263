// A result folder that appears, or is replaced, as a whole or not at all: its files are collected
// in a staging folder beside the place of the result, made durable, and moved there in one step.
// The next program cleans up after one that was killed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "scenario/text/result_names.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

/// Writes files and makes them durable together. Flushing each one by itself would make the file
/// system commit its journal once for every file; here one commit serves them all.
class StagedFiles {
 public:
  /// Makes the file `name` in `folder`, where there must not be one; `content` fills it. Messages
  /// call it `path`. Size and checksum are those of what was written. The system has the file when
  /// this returns, but a power cut may still take it. Throws OutputError.
  FileRecord write(const std::filesystem::path& folder, const std::string& name,
                   const std::filesystem::path& path, const std::function<void(Sink&)>& content);
  /// Returns when everything that was written is on disk. Throws OutputError.
  void sync();

 private:
  struct Written {
    Descriptor file;
    std::filesystem::path path;
  };
  std::vector<Written> written_;
  std::string block_;  // of the file that is being written; kept for its memory
};

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

/// A new folder beside the place of the result, or in it if the files there are to be replaced one
/// by one; locked as long as its owner lives, so that others can tell it from one that was left
/// behind. Not removed by the destructor.
///
/// A folder that holds `result`, the folder of the new files, and `earlier`, the files that have
/// been taken away from around the staging folder to be replaced.
class StagingFolder {
 public:
  /// How the names of staging folders begin.
  static constexpr std::string_view kMark = scenario::kStagingMark;

  StagingFolder() = default;
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  /// Makes the folder in `parent`. Throws std::system_error.
  void make(const std::filesystem::path& parent);
  /// Moves it into `folder`, on the same file system. Throws std::system_error.
  void move_into(const std::filesystem::path& folder);
  std::filesystem::path result() const { return path_ / "result"; }
  std::filesystem::path earlier() const { return path_ / "earlier"; }

  /// Removes the folder with what is in it, after a replacement that did not come to its end has
  /// been undone; leaves it where that cannot be done.
  void remove();

 private:
  bool lock();

  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes the staging folders in `parent` whose owners are gone: killed, or the machine stopped.
/// One that was killed while it replaced an earlier result first gives back what it had moved.
/// Folders of running programs, and those that cannot be removed, stay. Call it with a FolderLock.
void clean_up_after_killed_runs(const std::filesystem::path& parent);

/// Told that an earlier result in the place of a new one, which it differs from in `difference`, is
/// now the folder `kept`.
using EarlierKept =
    std::function<void(const std::filesystem::path& kept, const std::string& difference)>;

/// Collects the files of one result in a staging folder beside the place of the result, and moves
/// them there at `commit`. Without a commit nothing is left behind and an earlier result stays as
/// it was. The next result there removes the remains of a program that was killed.
///
/// A folder that is new or empty is taken; one that holds a result of the same scenario that
/// answers the same question (`difference`) is replaced: its result files go, with pictures of
/// them; other files in it stay. Any other result, or a folder with other things in it, is refused
/// unless `force` is set; even then files that are not ours stay.
///
/// With `kept`, another result is not refused but is kept under the next free of the names
/// "NAME.1", "NAME.2", ... beside the new one: at any time a reader sees one of them under NAME.
///
/// Only regular files are replaced, and none that the command reads (`ResultIdentity::reads`), even
/// under another name, unless they are as the earlier result of the same question left them.
///
/// A folder that holds only a result changes in one step: the old folder and the new one are
/// exchanged (renameat2), and a reader sees one of them. A folder with other things in it stays,
/// and they are not touched: result.json is taken away, the files are replaced one by one, and
/// result.json of the new result comes last. If the program is killed in between, the next result
/// there first restores the earlier one. The same is done where the system cannot exchange folders,
/// or cannot rename this one: it is a mount point, the current folder, or lies in a folder that
/// cannot be written. Both happen under a lock on the folder that the result lies in, so that of
/// several writers one comes after the other. Not for use by several threads at once.
class ResultFolder {
 public:
  /// Throws OutputError if the folder must not or cannot be written.
  ResultFolder(const std::filesystem::path& target, ResultIdentity identity, bool force,
               EarlierKept kept = {});
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  /// Adds a file; `content` fills it. Throws OutputError, also if the result has a file of that
  /// name already.
  void write(const std::string& name, const std::function<void(Sink&)>& content);
  /// Adds a copy of an input file under its own file name.
  void copy(const std::filesystem::path& source);
  /// What has been written to a file, or so many bytes of its beginning.
  std::string content(const std::string& name, std::size_t most_bytes) const;
  /// Makes the result visible once all its files are on disk. Throws OutputError and restores what
  /// was there if it cannot.
  void commit();

  const std::filesystem::path& path() const { return target_; }
  const ResultIdentity& identity() const { return identity_; }
  const std::vector<FileRecord>& files() const { return files_; }

 private:
  void check_target();
  bool is_ours(const std::string& name) const;
  std::string difference_from(const nlohmann::ordered_json& result) const;
  void check_kinds() const;
  void check_reads(const nlohmann::ordered_json* earlier, bool same_question);
  void check_read(std::string_view name) const;
  void keep_or_refuse(const std::string& difference);
  void take_permissions() const;
  void keep_earlier();
  bool must_stay_in_place() const;
  void make_staging();
  bool holds_others(const std::vector<std::string>& ours) const;
  bool exchange(const std::vector<std::string>& ours) const;
  void replace_files(const std::vector<std::string>& ours);
  std::vector<std::string> outdated_files() const;
  std::filesystem::path parent() const;

  std::filesystem::path target_;  // as the user calls it
  std::filesystem::path real_;    // the same without symbolic links
  ResultIdentity identity_;
  bool force_;
  EarlierKept kept_;
  bool existed_ = false;
  bool in_place_ = false;
  StagingFolder staging_;
  StagedFiles staged_;
  std::vector<std::filesystem::path> created_parents_;
  std::vector<FileRecord> files_;           // of the new result, as written
  std::vector<std::string> earlier_files_;  // that an earlier result says it has
  std::string difference_;                  // from an earlier result that is to be kept
  bool committed_ = false;
};

}  // namespace retrysim::report
