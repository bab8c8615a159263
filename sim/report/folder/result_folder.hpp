// A result folder that appears, or is replaced, as a whole or not at all: its files are collected
// in a staging folder beside the place of the result, made durable, and moved there in one step.
// What a killed program leaves behind is cleaned up by the next one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "scenario/derived/result_names.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
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

using scenario::kChoiceJournal;
using scenario::kSweepJournal;
using scenario::kTipJournal;

/// Device, number, size and times of change of a file.
using FileStamp = std::array<std::int64_t, 7>;

/// Told that an earlier result in the place of a new one, which it differs from in `difference`, is
/// now the folder `kept`.
using EarlierKept =
    std::function<void(const std::filesystem::path& kept, const std::string& difference)>;

/// Collects the files of one result in a staging folder beside the place of the result, and moves
/// them there at `commit`. Without a commit nothing is left behind and an earlier result stays as
/// it was. What a program that was killed leaves behind goes with the next result there.
///
/// A folder that is new or empty is taken; one that holds a result of the same scenario that
/// answers the same question (`difference`) is replaced: its result files go, with pictures of
/// them; other files in it stay. Any other result, or a folder with other things in it, is refused
/// unless `force` is set; even then files that are not ours stay. A folder with a journal belongs
/// to the sweep, search or race under way: others are refused, and with `force` the journal goes.
///
/// With `kept`, another result is not refused but keeps all it has under the next free of the names
/// "NAME.1", "NAME.2", ... beside the new one: whoever looks sees one of them under NAME at any
/// time.
///
/// Only regular files are replaced, and none that the command reads (`ResultIdentity::reads`), be
/// it by another name, unless they are as the earlier result of the same question left them.
///
/// Whoever looks sees the old folder or the new one: they are exchanged in one step (renameat2),
/// under a lock on the folder that both lie in, so that of several writers one comes after the
/// other. Files of the user's are in both, as hard links. Where the system cannot exchange folders,
/// the old one is renamed out of the way first, and for a moment there is none. Where the folder
/// cannot be renamed at all, because it is a mount point or the current folder or the one that it
/// lies in cannot be written, the files are replaced one by one. Not for use by several threads at
/// once.
class ResultFolder {
 public:
  /// `own_journal`: the name of the journal that the result is made with; empty without one. Throws
  /// OutputError if the folder must not or cannot be written.
  ResultFolder(const std::filesystem::path& target, ResultIdentity identity, bool force,
               std::string_view own_journal = {}, EarlierKept kept = {});
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  /// Adds a file; `content` fills it. Throws OutputError, also if the result has a file of that
  /// name already.
  void write(const std::string& name, const std::function<void(Sink&)>& content);
  /// Adds a copy of an input file under its own file name.
  void copy(const std::filesystem::path& source);
  /// Makes the result visible once all its files are on disk. Throws OutputError and restores what
  /// was there if it cannot.
  void commit();

  const std::filesystem::path& path() const { return target_; }
  const std::vector<FileRecord>& files() const { return files_; }

 private:
  void check_target();
  void check_journals() const;
  bool is_ours(const std::string& name) const;
  std::string difference_from(const nlohmann::ordered_json& result) const;
  void check_kinds() const;
  void check_reads(const nlohmann::ordered_json* same_question);
  void check_read(std::string_view name) const;
  void keep_or_refuse(const std::string& difference);
  void take_permissions() const;
  void keep_earlier();
  bool must_stay_in_place() const;
  void make_staging();
  void exchange();
  void announce(const std::vector<std::string>& others) const;
  void swap_with_target(bool announced);
  std::vector<std::string> link_others(const std::vector<std::string>& ours) const;
  void replace_files();
  std::vector<std::string> outdated_files() const;
  std::filesystem::path parent() const;

  std::filesystem::path target_;  // as the user calls it
  std::filesystem::path real_;    // the same without symbolic links
  ResultIdentity identity_;
  bool force_;
  std::string_view own_journal_;
  EarlierKept kept_;
  bool existed_ = false;
  bool in_place_ = false;
  StagingFolder staging_;
  StagedFiles staged_;
  std::vector<std::filesystem::path> created_parents_;
  std::vector<FileRecord> files_;           // of the new result, as written
  std::vector<std::string> earlier_files_;  // that an earlier result says it has
  std::optional<FileStamp> earlier_stamp_;  // of its result.json, when it was read
  std::string difference_;                  // from an earlier result that is to be kept
  bool committed_ = false;
};

}  // namespace retrysim::report
