// A result folder that appears, or is replaced, as a whole or not at all.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/result_identity.hpp"
#include "report/result_manifest.hpp"
#include "report/sink.hpp"
#include "report/staged_files.hpp"
#include "report/staging_folder.hpp"
#include "scenario/result_names.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

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
