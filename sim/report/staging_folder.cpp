// The lock is flock on the folder itself: the kernel lets it go with the process, however that
// ends. Where a file system has no such locks, nothing is locked and nothing is cleaned up.
//
// SPDX-License-Identifier: MIT
#include "report/staging_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTarget = "target";
constexpr std::string_view kInPlace = ".";

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

bool is_there(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// The names that begin with `mark`. People have many things beside a result.
std::vector<fs::path> names_in(const fs::path& folder, std::string_view mark = "") {
  std::vector<fs::path> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name.starts_with(mark)) names.emplace_back(name);
  }
  return names;
}

bool move_back(const fs::path& from, const fs::path& to) {
  return !is_there(from) || (!is_there(to) && ::rename(from.c_str(), to.c_str()) == 0);
}

/// Undoes a replacement, file by file in `folder`, that did not come to its end: as long as a new
/// file has not moved there, the result is not complete.
bool give_back_files(const fs::path& staging, const fs::path& folder) {
  if (names_in(staging / "result").empty()) return true;
  for (const fs::path& name : names_in(staging / "earlier")) {
    if (::rename((staging / "earlier" / name).c_str(), (folder / name).c_str()) != 0) return false;
  }
  return true;
}

/// Gives back whatever a replacement that did not come to its end has taken from its place. False
/// if something could not be given back.
bool give_back(const fs::path& staging, const fs::path& parent) {
  std::ifstream in(staging / kTarget, std::ios::binary);
  std::string target;
  if (!std::getline(in, target, '\0')) return !is_there(staging / "earlier");
  if (target == kInPlace) return give_back_files(staging, parent);
  const fs::path place = parent / target;
  if (!is_there(place) && !move_back(staging / "earlier", place)) return false;
  for (std::string name; std::getline(in, name, '\0');) {
    if (is_there(place / name)) continue;  // it has arrived
    if (!move_back(staging / "result" / name, place / name)) return false;
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

void StagingFolder::make(const fs::path& parent, const std::string& target) {
  const std::string stem = std::string(kMark) + std::to_string(::getpid()) + "-";
  target_ = target;
  for (int i = 0;; ++i) {
    path_ = parent / (stem + std::to_string(i));
    if (::mkdir(path_.c_str(), 0777) == 0) {
      if (lock()) break;
    } else if (errno != EEXIST) {
      fail();
    }
  }
  write_target({}, false);
  if (::mkdir(result().c_str(), 0777) != 0) fail();
}

void StagingFolder::announce(const std::vector<std::string>& names) const {
  write_target(names, true);
}

void StagingFolder::write_target(const std::vector<std::string>& names, bool durable) const {
  std::string text = target_ + '\0';
  for (const std::string& name : names) text += name + '\0';
  const fs::path file = path_ / kTarget;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail();
  const bool good = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                    (!durable || ::fsync(fd) == 0);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!good) fail();
}

void StagingFolder::remove() {
  if (path_.empty() || !give_back(path_, path_.parent_path())) return;
  std::error_code ignored;  // what cannot be removed does no harm
  fs::remove_all(path_, ignored);
}

/// False if somebody who cleans up took the folder for an abandoned one before it was locked.
bool StagingFolder::lock() {
  lock_ = open_folder(path_);
  if (lock_ < 0) return errno != ENOENT;  // without a lock, if there is no other way
  lock_folder(lock_);
  if (is_still(path_, lock_)) return true;
  ::close(lock_);
  lock_ = -1;
  return false;
}

void clean_up_after_killed_runs(const fs::path& parent) {
  for (const fs::path& name : names_in(parent, StagingFolder::kMark)) {
    const fs::path staging = parent / name;
    const int fd = open_folder(staging);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(staging, fd) &&
        give_back(staging, parent)) {
      std::error_code ignored;  // what cannot be removed does no harm
      fs::remove_all(staging, ignored);
    }
    ::close(fd);
  }
}

}  // namespace retrysim::report
