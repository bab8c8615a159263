// SPDX-License-Identifier: MIT
#include "report/folder/result_folder.hpp"

#include "report/folder/output.hpp"
#include "scenario/text/text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace fs = std::filesystem;

namespace {

/// Most files that are kept open: a process may have 1024.
constexpr std::size_t kMaxOpenFiles = 64;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw OutputError(path, std::generic_category().message(error));
}

/// Passes text on, block by block, and counts and sums up its bytes.
class RecordingSink : public Sink {
 public:
  RecordingSink(Sink& sink, std::string& block) : sink_(sink), block_(block) {}
  void write(std::string_view text) override {
    // The checksum is computed by block: row by row, it costs twice as much.
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    block_ += text;
    if (block_.size() >= kBlock) pass_on();
  }
  /// Passes on the last block.
  void finish() { pass_on(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t checksum() const { return crc_; }

 private:
  void pass_on() {
    bytes_ += block_.size();
    crc_ = crc32(block_, crc_);
    sink_.write(block_);
    block_.clear();
  }

  Sink& sink_;
  std::string& block_;
  std::uint64_t bytes_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::release() { return std::exchange(fd_, -1); }

FileRecord StagedFiles::write(const fs::path& folder, const std::string& name, const fs::path& path,
                              const std::function<void(Sink&)>& content) {
  if (written_.size() >= kMaxOpenFiles) sync();
  Descriptor file(::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail(path, errno);
  DescriptorSink to_file(file.get(), path);
  block_.clear();
  RecordingSink sink(to_file, block_);
  content(sink);
  sink.finish();
  to_file.flush();
  written_.push_back({std::move(file), path});
  return {name, sink.bytes(), sink.checksum()};
}

void StagedFiles::sync() {
  // Starts to write all files, so that they have their places on disk before the first fsync
  // commits them. Errors here are reported by fsync.
  for (const Written& w : written_) {
    (void)::sync_file_range(w.file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  // The last file is committed first: once it is on disk, the others mostly are, too, and nothing
  // is left to commit for them.
  while (!written_.empty()) {
    Written& last = written_.back();
    if (::fsync(last.file.get()) != 0) fail(last.path, errno);
    if (::close(last.file.release()) != 0) fail(last.path, errno);
    written_.pop_back();
  }
}

// The lock is flock on the folder itself: the kernel releases it with the process, however that
// ends. On a file system without such locks, nothing is locked and nothing is cleaned up.

namespace {

int open_folder(const fs::path& path, int more_flags = O_NOFOLLOW) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags);
}

bool lock_folder(int fd) {
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

/// Whether `path` still is the folder that `fd` was opened as.
bool is_still(const fs::path& path, int fd) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// The names in a folder that begin with `mark`, as far as it can be read. People have many things
/// beside a result.
std::vector<std::string> names_in(const fs::path& folder, std::string_view mark = "") {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name.starts_with(mark)) names.emplace_back(name);
  }
  return names;
}

/// Undoes a replacement in the folder that `staging` lies in, if it was not completed: as long as a
/// new file has not moved there, the result is incomplete. False if that failed.
bool restore_earlier(const fs::path& staging) {
  if (names_in(staging / "result").empty()) return true;
  for (const std::string& name : names_in(staging / "earlier")) {
    if (::rename((staging / "earlier" / name).c_str(), (staging.parent_path() / name).c_str()) !=
        0) {
      return false;
    }
  }
  return true;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) : fd_(open_folder(folder, 0)) {
  if (fd_ >= 0) lock_folder(fd_);
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

StagingFolder::~StagingFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void StagingFolder::make(const fs::path& parent) {
  const std::string stem = std::string(kMark) + std::to_string(::getpid()) + "-";
  for (int i = 0;; ++i) {
    path_ = parent / (stem + std::to_string(i));
    if (::mkdir(path_.c_str(), 0777) == 0) {
      if (lock()) break;
    } else if (errno != EEXIST) {
      fail();
    }
  }
  if (::mkdir(result().c_str(), 0777) != 0) fail();
}

void StagingFolder::move_into(const fs::path& folder) {
  const fs::path place = folder / path_.filename();
  if (::rename(path_.c_str(), place.c_str()) != 0) fail();
  path_ = place;
}

void StagingFolder::remove() {
  if (path_.empty() || !restore_earlier(path_)) return;
  std::error_code ignored;  // a file that cannot be removed does no harm
  fs::remove_all(path_, ignored);
}

/// Locks the folder. False if another program took it for an abandoned one, and removed it, before
/// that.
bool StagingFolder::lock() {
  lock_ = open_folder(path_);
  if (lock_ < 0) return errno != ENOENT;  // without a lock if none can be had
  lock_folder(lock_);
  if (is_still(path_, lock_)) return true;
  ::close(lock_);
  lock_ = -1;
  return false;
}

void clean_up_after_killed_runs(const fs::path& parent) {
  for (const std::string& name : names_in(parent, StagingFolder::kMark)) {
    const fs::path staging = parent / name;
    const int fd = open_folder(staging);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(staging, fd) && restore_earlier(staging)) {
      std::error_code ignored;  // a file that cannot be removed does no harm
      fs::remove_all(staging, ignored);
    }
    ::close(fd);
  }
}

namespace {

/// Largest number of a kept earlier result; names with a greater one are not ours.
constexpr std::uint64_t kMaxNumber = 1'000'000'000;

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
}

/// Makes renames and new names in a folder durable. Some file systems cannot; a complete result is
/// not given up for that.
void sync_folder(const fs::path& folder) {
  const Descriptor d(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.get() >= 0) ::fsync(d.get());
}

/// Names of the files of an earlier result, as far as its result.json tells.
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

/// The result.json of a folder, damaged or not; empty if it is not of this program.
std::optional<nlohmann::ordered_json> read_earlier_result(const fs::path& folder) {
  // These members are most of the file, and do not say what it is a result of.
  constexpr std::array<std::string_view, 3> kSkip = {"summary", "phases", "pictures"};
  try {
    auto json = read_json(folder / kResultJson, kSkip);
    const auto program = json.find("program");
    if (program != json.end() && *program == "retrysim") return json;
  } catch (const DamagedResult&) {
  }
  return std::nullopt;
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

/// Whether this process works in `folder` or below it, and so may the shell that has started it.
bool is_current(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error && std::mismatch(folder.begin(), folder.end(), here.begin(), here.end()).first ==
                       folder.end();
}

/// Whether an error of renameat2 means that the system cannot exchange two folders.
bool cannot_exchange(int error) { return error == EINVAL || error == ENOSYS || error == ENOTSUP; }

/// One more than the highest number behind `stem` in the names of a folder, so that the order of
/// numbers is that of age.
std::uint64_t next_number(const fs::path& folder, std::string_view stem) {
  std::uint64_t highest = 0;
  for (const std::string& name : names_in(folder, stem)) {
    std::uint64_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [stop, wrong] = std::from_chars(name.data() + stem.size(), last, number);
    if (wrong == std::errc() && stop == last && number < kMaxNumber) {
      highest = std::max(highest, number);
    }
  }
  return highest + 1;
}

/// Whether a folder holds anything but remains of a crashed run, or a store.
bool holds_something(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(StagingFolder::kMark) && name != scenario::kStoreFolder) return true;
  }
  if (error) throw OutputError(folder, error.message());
  return false;
}

}  // namespace

ResultFolder::ResultFolder(const fs::path& target, ResultIdentity identity, bool force,
                           EarlierKept kept)
    : target_(target.lexically_normal()),
      identity_(std::move(identity)),
      force_(force),
      kept_(std::move(kept)) {
  if (!target_.has_filename()) target_ = target_.parent_path();
  // The path is resolved as the system does: the meaning of ".." depends on symbolic links before
  // it.
  std::error_code error;
  real_ = fs::weakly_canonical(fs::absolute(target), error);
  if (error) real_ = fs::absolute(target_);
  if (!real_.has_filename()) real_ = real_.parent_path();
  const FolderLock lock(parent());
  // A half replaced result gets its own files back before it is examined.
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
  } catch (const std::exception&) {  // a destructor cannot report an error
  }
  for (const fs::path& made : created_parents_) ::rmdir(made.c_str());
}

fs::path ResultFolder::parent() const { return real_.parent_path(); }

void ResultFolder::check_target() {
  std::error_code error;
  const fs::file_status status = fs::status(real_, error);
  existed_ = false;
  earlier_files_.clear();
  difference_.clear();
  if (status.type() == fs::file_type::not_found) {
    if (!fs::is_symlink(fs::symlink_status(real_, error))) return;
    throw OutputError(target_, "is a symbolic link to a folder that does not exist");
  }
  if (status.type() == fs::file_type::none) throw OutputError(target_, error.message());
  if (status.type() != fs::file_type::directory) throw OutputError(target_, "is not a folder");
  existed_ = true;
  check_kinds();  // result.json, which is read next, might be a pipe
  const auto earlier = read_earlier_result(real_);
  if (earlier) {
    earlier_files_ = files_of(*earlier);
    check_kinds();
  }
  if (is_one_of(real_, identity_.reads)) {
    throw OutputError(target_, "the command reads from this folder; use another one");
  }
  const std::string difference = earlier ? difference_from(*earlier) : "";
  if (!difference.empty() && !force_) {
    keep_or_refuse(difference);
    return;
  }
  check_reads(earlier ? &*earlier : nullptr, difference.empty());
  if (!earlier && !force_ && holds_something(real_)) {
    throw OutputError(target_,
                      "it contains files that do not belong to a result; use another folder or "
                      "--force");
  }
}

/// Throws OutputError if something with the name of a result file cannot be replaced.
void ResultFolder::check_kinds() const {
  for (const std::string& name : names_in(real_)) {
    if (!is_ours(name)) continue;
    const std::string kind = irregular_kind(real_ / name);
    if (!kind.empty()) throw OutputError(target_ / name, kind);
  }
}

bool ResultFolder::is_ours(const std::string& name) const {
  return scenario::is_result_file(name) ||
         std::find(earlier_files_.begin(), earlier_files_.end(), name) != earlier_files_.end();
}

/// Throws OutputError if files that the command reads would be replaced. A file that an earlier
/// result of the same question has written, unchanged since, is allowed: it comes back as it is.
void ResultFolder::check_reads(const nlohmann::ordered_json* earlier, bool same_question) {
  std::vector<FileRecord> records;
  try {
    if (earlier != nullptr && same_question) records = file_records(*earlier, real_ / kResultJson);
  } catch (const DamagedResult&) {  // then no file is known to be unchanged
  }
  const auto is_intact = [&](const std::string& name) {
    const auto record = std::find_if(records.begin(), records.end(),
                                     [&](const FileRecord& r) { return r.name == name; });
    return record != records.end() && fault_of(real_, *record).empty();
  };
  for (const std::string& name : names_in(real_)) {
    if (!is_ours(name) || !is_one_of(real_ / name, identity_.reads) || is_intact(name)) continue;
    if (earlier == nullptr || !kept_ || force_ || must_stay_in_place()) {
      check_read(name);
    } else {
      difference_ = fmt::format("{}, which this command reads", name);
      return;
    }
  }
}

void ResultFolder::check_read(std::string_view name) const {
  if (!is_one_of(real_ / name, identity_.reads)) return;
  throw OutputError(target_ / name, "the command reads this file; use another folder");
}

/// The first differences of an earlier result from the new one; empty if the new one may replace
/// it.
std::string ResultFolder::difference_from(const nlohmann::ordered_json& json) const {
  std::string scenario;
  const auto name = json.find("scenario");
  if (name != json.end() && name->is_string()) scenario = *name;
  if (scenario != identity_.scenario) {
    return fmt::format("the scenario (there \"{}\", now \"{}\")", scenario, identity_.scenario);
  }
  try {
    return difference(identity_of(json, real_ / kResultJson), identity_);
  } catch (const DamagedResult&) {  // a damaged result is replaced only with --force
    return kept_ ? "its damaged result.json" : "";
  }
}

void ResultFolder::keep_or_refuse(const std::string& difference) {
  if (kept_ && !must_stay_in_place()) {
    difference_ = difference;
    return;
  }
  throw OutputError(target_, "it contains a result that differs in " + difference +
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
    std::error_code ignored;  // what cannot be looked at cannot be made either
    for (fs::path p = parent(); !p.empty() && !fs::exists(p, ignored); p = p.parent_path()) {
      missing.push_back(p);
    }
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
      if (::mkdir(it->c_str(), 0777) != 0 && errno != EEXIST) fail(*it, errno);
      created_parents_.insert(created_parents_.begin(), *it);  // innermost folder first
    }
  }
  try {
    staging_.make(in_place_ ? real_ : parent());
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
  const auto add = [&](const std::string& content) {
    write(source.filename().string(), [&](Sink& sink) { sink.write(content); });
  };
  if (const auto known = identity_.inputs.find(source); known != identity_.inputs.end()) {
    add(*known->second);
    return;
  }
  std::string error;
  const auto content = scenario::read_whole_file(source, ~std::uintmax_t{0}, error);
  if (!content) {
    throw OutputError(target_ / source.filename(),
                      "a copy of " + source.string() + ", which " + error);
  }
  add(*content);
}

std::string ResultFolder::content(const std::string& name, std::size_t most_bytes) const {
  std::ifstream in(staging_.result() / name, std::ios::binary);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(staging_.result() / name, error);
  std::string text(std::min<std::uintmax_t>(error ? 0 : size, most_bytes), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw OutputError(target_ / name, "cannot be read");
  }
  return text;
}

void ResultFolder::commit() {
  staged_.sync();
  sync_folder(staging_.result());
  const FolderLock lock(parent());
  check_target();  // another program may have been there meanwhile
  if (!existed_) {
    rename_or_throw(staging_.result(), real_);
  } else if (!difference_.empty()) {
    keep_earlier();
  } else {
    const std::vector<std::string> ours = outdated_files();
    if (!exchange(ours)) replace_files(ours);
  }
  committed_ = true;
  sync_folder(parent());
  staging_.remove();
}

std::vector<std::string> ResultFolder::outdated_files() const {
  std::vector<std::string> names{std::string(kResultJson)};
  for (const FileRecord& file : files_) names.push_back(file.name);
  names.insert(names.end(), earlier_files_.begin(), earlier_files_.end());
  if (!earlier_files_.empty()) {
    // Irregular files that somebody has put under these names stay.
    for (const std::string& name : names_in(real_)) {
      if (scenario::is_made_from_result(name) && irregular_kind(real_ / name).empty()) {
        names.push_back(name);
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Whether the folder holds anything that does not belong to the earlier result, such as a folder.
bool ResultFolder::holds_others(const std::vector<std::string>& ours) const {
  std::error_code error;
  for (fs::directory_iterator it(real_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_ours = std::binary_search(ours.begin(), ours.end(), name);
    if (!is_ours || it->symlink_status().type() == fs::file_type::directory) return true;
  }
  if (error) throw OutputError(target_, error.message());
  return false;
}

/// Gives the new folder the permissions of the earlier one, and its files none that the earlier
/// files did not have.
void ResultFolder::take_permissions() const {
  struct stat before {};
  if (::stat(real_.c_str(), &before) == 0) {
    (void)::chmod(staging_.result().c_str(), before.st_mode & 07777);
  }
  // Files keep their permissions, too: those that only their owner may read stay so.
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(staging_.result(), error)) {
    struct stat fresh {};
    if (::lstat((real_ / entry.path().filename()).c_str(), &before) != 0 ||
        ::lstat(entry.path().c_str(), &fresh) != 0 || !S_ISREG(before.st_mode) ||
        !S_ISREG(fresh.st_mode)) {
      continue;
    }
    (void)::chmod(entry.path().c_str(), before.st_mode & fresh.st_mode & 07777);
  }
}

/// Keeps the earlier result under another name. First the new result gets that name, and then both
/// change places: nothing is lost whenever the process dies.
void ResultFolder::keep_earlier() {
  take_permissions();
  const std::string stem = real_.filename().string() + ".";
  std::uint64_t number = next_number(parent(), stem);
  fs::path kept;
  std::error_code ignored;
  do {
    kept = parent() / (stem + std::to_string(number++));
  } while (fs::exists(fs::symlink_status(kept, ignored)));
  rename_or_throw(staging_.result(), kept);
  if (::renameat2(AT_FDCWD, kept.c_str(), AT_FDCWD, real_.c_str(), RENAME_EXCHANGE) != 0) {
    const int error = errno;
    rename_or_throw(kept, staging_.result());
    if (!cannot_exchange(error)) fail(target_, error);
    rename_or_throw(real_, kept);
    if (::rename(staging_.result().c_str(), real_.c_str()) != 0) {
      const int second = errno;
      ::rename(kept.c_str(), real_.c_str());
      fail(target_, second);
    }
  }
  // The kept folder is named as the user names the result, unless that is a symbolic link.
  fs::path shown = target_;
  shown += kept.native().substr(real_.native().size());
  std::error_code error;
  kept_(fs::equivalent(shown, kept, error) ? shown : kept, difference_);
}

/// Exchanges the old and the new folder; false if the old one has to stay where it is.
bool ResultFolder::exchange(const std::vector<std::string>& ours) const {
  if (in_place_ || holds_others(ours)) return false;
  take_permissions();
  if (::renameat2(AT_FDCWD, staging_.result().c_str(), AT_FDCWD, real_.c_str(), RENAME_EXCHANGE) ==
      0) {
    return true;
  }
  if (!cannot_exchange(errno)) fail(target_, errno);
  return false;
}

/// Replaces the files one by one. Meanwhile there is no result.json: a reader finds no result
/// rather than parts of two.
void ResultFolder::replace_files(const std::vector<std::string>& ours) {
  try {
    if (!in_place_) staging_.move_into(real_);
  } catch (const std::system_error& error) {
    fail(target_, error.code().value());
  }
  const fs::path old = staging_.earlier();
  if (::mkdir(old.c_str(), 0777) != 0) fail(target_, errno);
  std::vector<std::pair<fs::path, fs::path>> done;  // renames done, to be undone after an error
  const auto move = [&](const fs::path& from, const fs::path& to) {
    rename_or_throw(from, to);
    done.emplace_back(from, to);
  };
  try {
    const auto put_away = [&](const std::string& name) {
      std::error_code error;
      const fs::file_type type = fs::symlink_status(real_ / name, error).type();
      if (type == fs::file_type::directory) throw OutputError(target_ / name, "is a folder");
      if (type != fs::file_type::not_found) move(real_ / name, old / name);
    };
    put_away(std::string(kResultJson));
    for (const std::string& name : ours) put_away(name);
    // Files move in the order in which they were written: result.json last.
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
