// The lock is flock on the folder itself: the kernel lets it go with the process, however that
// ends. Where a file system has no such locks, nothing is locked and nothing is cleaned up.
//
// SPDX-License-Identifier: MIT
#include "report/staging_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether `path` still is the folder that `fd` was opened as.
bool is_still(const fs::path& path, int fd) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename());
  }
  return names;
}

/// Undoes a replacement that did not come to its end: as long as a new file has not moved to
/// `parent`, the result there is not complete. False if a file could not be given back.
bool give_back_earlier_files(const fs::path& staging, const fs::path& parent) {
  const fs::path earlier = staging / StagingFolder::kEarlierFiles;
  bool complete = true;
  for (const fs::path& name : names_in(staging)) {
    complete = complete && name == StagingFolder::kEarlierFiles;
  }
  if (complete) return true;
  for (const fs::path& name : names_in(earlier)) {
    if (::rename((earlier / name).c_str(), (parent / name).c_str()) != 0) return false;
  }
  return true;
}

}  // namespace

StagingFolder::~StagingFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void StagingFolder::make(const fs::path& parent) {
  const std::string stem = std::string(kMark) + std::to_string(::getpid()) + "-";
  for (int i = 0;; ++i) {
    path_ = parent / (stem + std::to_string(i));
    if (::mkdir(path_.c_str(), 0777) == 0) {
      if (lock()) return;
    } else if (errno != EEXIST) {
      throw std::system_error(errno, std::generic_category());
    }
  }
}

/// False if somebody who cleans up took the folder for an abandoned one before it was locked.
bool StagingFolder::lock() {
  lock_ = open_folder(path_);
  if (lock_ < 0) return errno != ENOENT;  // without a lock, if there is no other way
  while (::flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
  }
  if (is_still(path_, lock_)) return true;
  ::close(lock_);
  lock_ = -1;
  return false;
}

void clean_up_after_killed_runs(const fs::path& parent) {
  for (const fs::path& name : names_in(parent)) {
    if (!name.string().starts_with(StagingFolder::kMark)) continue;
    const fs::path staging = parent / name;
    const int fd = open_folder(staging);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(staging, fd) &&
        give_back_earlier_files(staging, parent)) {
      std::error_code ignored;  // what cannot be removed does no harm
      fs::remove_all(staging, ignored);
    }
    ::close(fd);
  }
}

}  // namespace retrysim::report
