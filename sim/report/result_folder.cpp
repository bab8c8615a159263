// A result folder that appears, or is replaced, as a whole or not at all.
//
// SPDX-License-Identifier: MIT
#include "report/result_folder.hpp"

#include "report/output_error.hpp"
#include "scenario/whole_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

/// Pictures that scripts/plot.py puts beside the data; they are out of date with it.
constexpr std::array<std::string_view, 11> kPictures = {
    "overview",  "latency",    "compare", "sweep", "sweep_clients", "tip",
    "tip_curve", "hysteresis", "choose",  "map",   "phase_plane"};
/// The page that `retrysim report` puts there.
constexpr std::string_view kReportPage = "report.html";
constexpr std::array<std::string_view, 3> kPictureFormats = {".png", ".svg", ".pdf"};

[[noreturn]] void fail(const fs::path& path, int error) {
  throw OutputError(path, std::generic_category().message(error));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
}

/// Makes renames and new names in a folder durable. Some file systems cannot; that is no reason to
/// give up a result that is complete.
void sync_folder(const fs::path& folder) {
  const Descriptor d(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.get() >= 0) ::fsync(d.get());
}

/// Names of the files of an earlier result; as far as they can be known.
std::vector<std::string> files_of(const nlohmann::ordered_json& json) {
  std::vector<std::string> names;
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return names;
  for (const auto& file : *files) {
    if (file.is_string() && is_plain_name(file.get_ref<const std::string&>()))
      names.push_back(file);
  }
  return names;
}

/// The result.json of a folder, damaged or not; nothing if it is none of ours.
std::optional<nlohmann::ordered_json> read_earlier_result(const fs::path& folder) {
  // Most of the file, and nothing of it says what it is a result of.
  constexpr std::array<std::string_view, 2> kSkip = {"summary", "phases"};
  try {
    auto json = read_json(folder / kResultJson, kSkip);
    const auto program = json.find("program");
    if (program != json.end() && *program == "retrysim") return json;
  } catch (const DamagedResult&) {
  }
  return std::nullopt;
}

/// What changes with a file: one that has the same stamp has the same content. Nothing without a
/// file.
std::optional<FileStamp> stamp_of(const fs::path& file) {
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0) return std::nullopt;
  return FileStamp{static_cast<std::int64_t>(s.st_dev),
                   static_cast<std::int64_t>(s.st_ino),
                   s.st_size,
                   s.st_mtim.tv_sec,
                   s.st_mtim.tv_nsec,
                   s.st_ctim.tv_sec,
                   s.st_ctim.tv_nsec};
}

/// Whether `folder` is a mount point, which cannot be renamed.
bool is_mount_point(const fs::path& folder) {
  struct statx status {};
  return ::statx(AT_FDCWD, folder.c_str(), 0, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// Whether the sticky bit of `parent` forbids us to rename `folder` in it.
bool is_stuck(const fs::path& folder, const fs::path& parent) {
  struct stat own {};
  struct stat above {};
  const uid_t user = ::geteuid();
  return ::stat(folder.c_str(), &own) == 0 && ::stat(parent.c_str(), &above) == 0 &&
         (above.st_mode & S_ISVTX) != 0 && user != 0 && own.st_uid != user && above.st_uid != user;
}

/// Whether this process works in `folder` or below it, as the shell does that has started it.
bool is_current(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error && std::mismatch(folder.begin(), folder.end(), here.begin(), here.end()).first ==
                       folder.end();
}

/// What is under way in a folder with this journal.
struct JournalKind {
  std::string_view name, of;
};
constexpr std::array<JournalKind, 3> kJournals = {{{kSweepJournal, "sweep"},
                                                   {kTipJournal, "search for a tipping point"},
                                                   {kChoiceJournal, "race of policies"}}};

bool is_journal(std::string_view name) {
  return std::any_of(kJournals.begin(), kJournals.end(),
                     [&](const JournalKind& journal) { return journal.name == name; });
}

/// Whether a folder holds anything but what a crashed run may have left, or a sweep works with.
bool holds_something(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(StagingFolder::kMark) && !is_journal(name)) return true;
  }
  if (error) throw OutputError(folder, error.message());
  return false;
}

}  // namespace

ResultFolder::ResultFolder(const fs::path& target, ResultIdentity identity, bool force,
                           std::string_view own_journal)
    : target_(target.lexically_normal()),
      identity_(std::move(identity)),
      force_(force),
      own_journal_(own_journal) {
  if (!target_.has_filename()) target_ = target_.parent_path();
  std::error_code error;
  real_ = fs::weakly_canonical(fs::absolute(target_), error);
  if (error) real_ = fs::absolute(target_);
  const FolderLock lock(parent());
  // A result that is half replaced gets its own files back before it is looked at.
  clean_up_after_killed_runs(real_);
  clean_up_after_killed_runs(parent());
  check_target();
  try {
    make_staging();
  } catch (...) {
    // The destructor does not run for an object that was never finished.
    staging_.remove();
    for (const fs::path& made : created_parents_) ::rmdir(made.c_str());
    throw;
  }
}

ResultFolder::~ResultFolder() {
  if (committed_) return;
  try {
    staging_.remove();
  } catch (const std::exception&) {  // a destructor has nobody to tell
  }
  for (const fs::path& made : created_parents_) ::rmdir(made.c_str());
}

fs::path ResultFolder::parent() const { return real_.parent_path(); }

void ResultFolder::check_target() {
  std::error_code error;
  const fs::file_status status = fs::status(real_, error);
  existed_ = false;
  const std::optional<FileStamp> stamp = stamp_of(real_ / kResultJson);
  const bool is_known = stamp && stamp == earlier_stamp_;  // nobody has touched it since
  if (!is_known) {
    earlier_files_.clear();
    earlier_stamp_.reset();
  }
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::none) throw OutputError(target_, error.message());
  if (status.type() != fs::file_type::directory) throw OutputError(target_, "is not a folder");
  existed_ = true;
  const auto earlier = is_known ? std::nullopt : read_earlier_result(real_);
  if (earlier) {
    earlier_files_ = files_of(*earlier);
    earlier_stamp_ = stamp;
  }
  if (force_) return;
  for (const auto& [name, of] : kJournals) {
    if (name == own_journal_ || !fs::exists(real_ / name, error)) continue;
    throw OutputError(
        target_, fmt::format("it contains an unfinished {}; use another folder or --force", of));
  }
  if (earlier) {
    check_earlier(*earlier);
  } else if (!is_known && holds_something(real_)) {
    throw OutputError(target_,
                      "it contains files that do not belong to a result; use another folder or "
                      "--force");
  }
}

void ResultFolder::check_earlier(const nlohmann::ordered_json& json) const {
  std::string scenario;
  const auto name = json.find("scenario");
  if (name != json.end() && name->is_string()) scenario = *name;
  if (scenario != identity_.scenario) {
    throw OutputError(target_, "it contains a result of scenario \"" + scenario +
                                   "\"; use another folder or --force");
  }
  std::string changed;
  try {
    changed = difference(identity_of(json, real_ / kResultJson), identity_);
  } catch (const DamagedResult&) {  // which asks to be replaced
  }
  if (changed.empty()) return;
  throw OutputError(target_, "it contains a result that differs in " + changed +
                                 "; replace it with --force, or keep it and choose another folder "
                                 "with --out");
}

bool ResultFolder::must_stay_in_place() const {
  return existed_ && (is_mount_point(real_) || is_current(real_) || is_stuck(real_, parent()) ||
                      ::access(parent().c_str(), W_OK | X_OK) != 0);
}

void ResultFolder::make_staging() {
  in_place_ = must_stay_in_place();
  if (!existed_) {
    std::vector<fs::path> missing;
    for (fs::path p = parent(); !p.empty() && !fs::exists(p); p = p.parent_path()) {
      missing.push_back(p);
    }
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
      if (::mkdir(it->c_str(), 0777) != 0 && errno != EEXIST) fail(*it, errno);
      created_parents_.insert(created_parents_.begin(), *it);  // innermost first
    }
  }
  try {
    if (in_place_) {
      staging_.make(real_, ".");
    } else {
      staging_.make(parent(), real_.filename().string());
    }
  } catch (const std::system_error& error) {
    fail(target_, error.code().value());
  }
}

void ResultFolder::write(const std::string& name, const std::function<void(Sink&)>& content) {
  if (!is_plain_name(name)) {
    throw OutputError(target_ / name, "not a usable file name");
  }
  if (std::any_of(files_.begin(), files_.end(),
                  [&](const FileRecord& file) { return file.name == name; })) {
    throw OutputError(target_ / name, "the result already has a different file of that name");
  }
  files_.push_back(staged_.write(staging_.result(), name, target_ / name, content));
}

void ResultFolder::copy(const fs::path& source) {
  std::string error;
  const auto content = scenario::read_whole_file(source, ~std::uintmax_t{0}, error);
  if (!content) {
    throw OutputError(target_ / source.filename(),
                      "a copy of " + source.string() + ", which " + error);
  }
  write(source.filename().string(), [&](Sink& sink) { sink.write(*content); });
}

void ResultFolder::commit() {
  staged_.sync();
  sync_folder(staging_.result());
  const FolderLock lock(parent());
  check_target();  // somebody else may have been there meanwhile
  if (!existed_) {
    rename_or_throw(staging_.result(), real_);
  } else if (in_place_) {
    replace_files();
  } else {
    exchange();
  }
  committed_ = true;
  sync_folder(parent());
  staging_.remove();
}

std::vector<std::string> ResultFolder::outdated_files() const {
  std::vector<std::string> names;
  for (const FileRecord& file : files_) names.push_back(file.name);
  for (const JournalKind& journal : kJournals) {
    if (journal.name != own_journal_) names.emplace_back(journal.name);
  }
  names.insert(names.end(), earlier_files_.begin(), earlier_files_.end());
  if (!earlier_files_.empty()) {
    for (const std::string_view picture : kPictures) {
      for (const std::string_view format : kPictureFormats) {
        names.push_back(std::string(picture).append(format));
      }
    }
    names.emplace_back(kReportPage);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Puts what is not ours into the new folder, too. Gives the names of what cannot be in two folders
/// at once, such as folders.
std::vector<std::string> ResultFolder::link_others(const std::vector<std::string>& ours) const {
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(real_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_folder = it->symlink_status().type() == fs::file_type::directory;
    if (std::binary_search(ours.begin(), ours.end(), name)) {
      if (is_folder) throw OutputError(target_ / name, "is a folder");
      continue;
    }
    const fs::path link = staging_.result() / name;
    if (is_folder || ::link(it->path().c_str(), link.c_str()) != 0) others.push_back(name);
  }
  if (error) throw OutputError(target_, error.message());
  return others;
}

void ResultFolder::exchange() {
  const std::vector<std::string> ours = outdated_files();
  const std::vector<std::string> others = link_others(ours);
  struct stat before {};
  if (::stat(real_.c_str(), &before) == 0) {
    (void)::chmod(staging_.result().c_str(), before.st_mode & 07777);
  }
  if (!others.empty()) announce(others);
  // If this fails, or the process dies, `StagingFolder` gives back what was announced.
  for (const std::string& name : others) {
    rename_or_throw(real_ / name, staging_.result() / name);
  }
  swap_with_target(!others.empty());
}

void ResultFolder::announce(const std::vector<std::string>& others) const {
  try {
    staging_.announce(others);
  } catch (const std::system_error& error) {
    fail(target_, error.code().value());
  }
}

void ResultFolder::swap_with_target(bool announced) {
  if (::renameat2(AT_FDCWD, staging_.result().c_str(), AT_FDCWD, real_.c_str(), RENAME_EXCHANGE) ==
      0) {
    return;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) fail(target_, errno);
  if (!announced) announce({});
  rename_or_throw(real_, staging_.earlier());
  if (::rename(staging_.result().c_str(), real_.c_str()) != 0) {
    const int error = errno;
    ::rename(staging_.earlier().c_str(), real_.c_str());
    fail(target_, error);
  }
}

void ResultFolder::replace_files() {
  announce({});
  const fs::path old = staging_.earlier();
  if (::mkdir(old.c_str(), 0777) != 0) fail(target_, errno);
  std::vector<std::pair<fs::path, fs::path>> done;  // renames made, to be undone on failure
  const auto move = [&](const fs::path& from, const fs::path& to) {
    rename_or_throw(from, to);
    done.emplace_back(from, to);
  };
  try {
    for (const std::string& name : outdated_files()) {
      std::error_code error;
      const fs::file_type type = fs::symlink_status(real_ / name, error).type();
      if (type == fs::file_type::not_found) continue;
      if (type == fs::file_type::directory) throw OutputError(target_ / name, "is a folder");
      move(real_ / name, old / name);
    }
    for (const FileRecord& file : files_) {
      move(staging_.result() / file.name, real_ / file.name);
    }
  } catch (...) {
    for (auto it = done.rbegin(); it != done.rend(); ++it) {
      ::rename(it->second.c_str(), it->first.c_str());
    }
    throw;
  }
  sync_folder(real_);
}

}  // namespace retrysim::report
