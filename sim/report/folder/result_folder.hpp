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
  /// call it `path`. Returns size and checksum of the written bytes. The system has the file when
  /// this returns, but a power cut may still destroy it. Throws OutputError.
  FileRecord write(const std::filesystem::path& folder, const std::string& name,
                   const std::filesystem::path& path, const std::function<void(Sink&)>& content);
  /// Waits until everything that was written is on disk. Throws OutputError.
  void sync();

 private:
  struct Written {
    Descriptor file;
    std::filesystem::path path;
  };
  std::vector<Written> written_;
  std::string block_;  // block of the file that is being written; kept for its memory
};

/// Holds a lock on a folder as long as the object lives; waits for the lock. On a file system
/// without locks, or if the folder cannot be opened, nothing is locked.
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
/// by one; locked as long as its owner lives, so that other programs can tell it from one that was
/// left behind. The destructor does not remove it.
///
/// It contains `result`, the folder of the new files, and `earlier`, files that have been moved
/// away from around the staging folder to be replaced.
class StagingFolder {
 public:
  /// Prefix of the names of staging folders.
  static constexpr std::string_view kMark = scenario::kStagingMark;

  StagingFolder() = default;
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  /// Makes the folder in `parent`. Throws std::system_error.
  void make(const std::filesystem::path& parent);
  /// Moves the staging folder into `folder`, on the same file system. Throws std::system_error.
  void move_into(const std::filesystem::path& folder);
  std::filesystem::path result() const { return path_ / "result"; }
  std::filesystem::path earlier() const { return path_ / "earlier"; }

  /// Removes the folder with its contents, after undoing a replacement that was not completed;
  /// leaves it if that is impossible.
  void remove();

 private:
  bool lock();

  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes the staging folders in `parent` whose owners are gone: killed, or stopped with the
/// machine. If one was killed while it replaced an earlier result, the moved files are first put
/// back. Folders of running programs, and folders that cannot be removed, stay. To be called with a
/// FolderLock.
void clean_up_after_killed_runs(const std::filesystem::path& parent);

/// Called when an earlier result in the place of a new one has been kept as the folder `kept`;
/// `difference` says how they differ.
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
  /// Adds a copy of an input file under its own file name: as it was when the question was asked,
  /// if the identity has it.
  void copy(const std::filesystem::path& source);
  /// The content of a written file, or its first `most_bytes` bytes.
  std::string content(const std::string& name, std::size_t most_bytes) const;
  /// Makes the result visible once all its files are on disk. If that fails, restores the earlier
  /// state and throws OutputError.
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

  std::filesystem::path target_;  // the path as given by the user
  std::filesystem::path real_;    // the path without symbolic links
  ResultIdentity identity_;
  bool force_;
  EarlierKept kept_;
  bool existed_ = false;
  bool in_place_ = false;
  StagingFolder staging_;
  StagedFiles staged_;
  std::vector<std::filesystem::path> created_parents_;
  std::vector<FileRecord> files_;           // files of the new result, as written
  std::vector<std::string> earlier_files_;  // files that an earlier result says it has
  std::string difference_;                  // difference from an earlier result that is to be kept
  bool committed_ = false;
};

}  // namespace retrysim::report
