// A result folder that appears, or is replaced, as a whole or not at all.
//
// SPDX-License-Identifier: MIT
#include "report/result_folder.hpp"

#include "report/output_error.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

/// Pictures that scripts/plot.py puts beside the data; they are out of date with it.
constexpr std::array<std::string_view, 6> kPictures = {"overview", "latency", "compare",
                                                       "sweep",    "tip",     "hysteresis"};
constexpr std::array<std::string_view, 3> kPictureFormats = {".png", ".svg", ".pdf"};

[[noreturn]] void fail(const fs::path& path, int error) {
  throw OutputError(path, std::generic_category().message(error));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
}

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Makes renames and new names in a folder durable. Some file systems cannot; that is no reason to
/// give up a result that is complete.
void sync_folder(const fs::path& folder) {
  const Descriptor d(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.get() >= 0) ::fsync(d.get());
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

struct EarlierResult {
  std::string scenario;
  std::vector<std::string> files;
};

std::optional<EarlierResult> read_earlier_result(const fs::path& folder) {
  std::ifstream in(folder / "result.json", std::ios::binary);
  if (!in) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object() || json.value("program", nlohmann::json()) != "retrysim") {
    return std::nullopt;
  }
  EarlierResult result;
  const auto scenario = json.find("scenario");
  if (scenario != json.end() && scenario->is_string()) result.scenario = *scenario;
  const auto files = json.find("files");
  if (files != json.end() && files->is_array()) {
    for (const auto& file : *files) {
      if (file.is_string() && is_plain_name(file)) result.files.push_back(file);
    }
  }
  return result;
}

/// Whether a folder holds anything but what a crashed run may have left, or a sweep works with.
bool holds_something(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(StagingFolder::kMark) && name != kJournalName) return true;
  }
  if (error) throw OutputError(folder, error.message());
  return false;
}

}  // namespace

ResultFolder::ResultFolder(const fs::path& target, std::string scenario_name, bool force,
                           Journal journal)
    : target_(target.lexically_normal()),
      scenario_name_(std::move(scenario_name)),
      journal_(journal) {
  if (!target_.has_filename()) target_ = target_.parent_path();
  // A result that is half replaced gets its own files back before it is looked at.
  clean_up_after_killed_runs(target_);
  clean_up_after_killed_runs(fs::absolute(target_).parent_path());
  check_target(force);
  try {
    make_staging();
  } catch (...) {
    // The destructor does not run for an object that was never finished.
    for (const fs::path& parent : created_parents_) ::rmdir(parent.c_str());
    throw;
  }
}

ResultFolder::~ResultFolder() {
  if (committed_) return;
  std::error_code ignored;  // a destructor has nobody to tell
  fs::remove_all(staging_.path(), ignored);
  for (const fs::path& parent : created_parents_) ::rmdir(parent.c_str());
}

void ResultFolder::check_target(bool force) {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::none) throw OutputError(target_, error.message());
  if (status.type() != fs::file_type::directory) throw OutputError(target_, "is not a folder");
  existed_ = true;
  const std::optional<EarlierResult> earlier = read_earlier_result(target_);
  if (earlier) earlier_files_ = earlier->files;
  if (force) return;
  if (journal_ == Journal::kOfAnother && fs::exists(target_ / kJournalName, error)) {
    throw OutputError(target_, "it holds an unfinished sweep; use another folder or --force");
  }
  if (earlier && earlier->scenario != scenario_name_) {
    throw OutputError(target_, "it holds a result of scenario \"" + earlier->scenario +
                                   "\"; use another folder or --force");
  }
  if (!earlier && holds_something(target_)) {
    throw OutputError(target_, "it holds files that are no result; use another folder or --force");
  }
}

void ResultFolder::make_staging() {
  const fs::path parent = existed_ ? target_ : fs::absolute(target_).parent_path();
  if (!existed_) {
    std::vector<fs::path> missing;
    for (fs::path p = parent; !p.empty() && !fs::exists(p); p = p.parent_path()) {
      missing.push_back(p);
    }
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
      if (::mkdir(it->c_str(), 0777) != 0 && errno != EEXIST) fail(*it, errno);
      created_parents_.insert(created_parents_.begin(), *it);  // innermost first
    }
  }
  try {
    staging_.make(parent);
  } catch (const std::system_error& error) {
    fail(target_, error.code().value());
  }
}

void ResultFolder::write(const std::string& name, const std::function<void(Sink&)>& content) {
  if (!is_plain_name(name) || name == StagingFolder::kEarlierFiles) {
    throw OutputError(target_ / name, "not a usable file name");
  }
  if (std::find(files_.begin(), files_.end(), name) != files_.end()) {
    throw OutputError(target_ / name, "the result has another file of that name");
  }
  const fs::path final_path = target_ / name;
  Descriptor file(
      ::open((staging_.path() / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail(final_path, errno);
  DescriptorSink sink(file.get(), final_path);
  content(sink);
  sink.flush();
  if (::fsync(file.get()) != 0) fail(final_path, errno);
  if (::close(file.release()) != 0) fail(final_path, errno);
  files_.push_back(name);
}

void ResultFolder::copy(const fs::path& source) {
  std::ifstream in(source, std::ios::binary);
  if (!in) {
    throw OutputError(target_ / source.filename(),
                      "cannot read " + source.string() + " to copy it");
  }
  write(source.filename().string(), [&](Sink& sink) {
    std::array<char, 1 << 16> block;
    while (in.read(block.data(), block.size()), in.gcount() > 0) {
      sink.write({block.data(), static_cast<std::size_t>(in.gcount())});
    }
    if (in.bad()) throw OutputError(source, "read error");
  });
}

void ResultFolder::commit() {
  sync_folder(staging_.path());
  if (existed_) {
    replace_files();
  } else {
    rename_or_throw(staging_.path(), target_);
    sync_folder(fs::absolute(target_).parent_path());
  }
  committed_ = true;
}

std::vector<std::string> ResultFolder::outdated_files() const {
  std::vector<std::string> names = files_;
  if (journal_ == Journal::kOfAnother) names.emplace_back(kJournalName);
  names.insert(names.end(), earlier_files_.begin(), earlier_files_.end());
  if (!earlier_files_.empty()) {
    for (const std::string_view picture : kPictures) {
      for (const std::string_view format : kPictureFormats) {
        names.push_back(std::string(picture).append(format));
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void ResultFolder::replace_files() {
  const fs::path old = staging_.path() / StagingFolder::kEarlierFiles;
  if (::mkdir(old.c_str(), 0777) != 0) fail(target_, errno);
  std::vector<std::pair<fs::path, fs::path>> done;  // renames made, to be undone on failure
  const auto move = [&](const fs::path& from, const fs::path& to) {
    rename_or_throw(from, to);
    done.emplace_back(from, to);
  };
  try {
    for (const std::string& name : outdated_files()) {
      std::error_code error;
      const fs::file_type type = fs::symlink_status(target_ / name, error).type();
      if (type == fs::file_type::not_found) continue;
      if (type == fs::file_type::directory) throw OutputError(target_ / name, "is a folder");
      move(target_ / name, old / name);
    }
    for (const std::string& name : files_) move(staging_.path() / name, target_ / name);
  } catch (...) {
    for (auto it = done.rbegin(); it != done.rend(); ++it) {
      ::rename(it->second.c_str(), it->first.c_str());
    }
    throw;
  }
  sync_folder(target_);
  std::error_code ignored;  // the result is in place; leftovers do no harm
  fs::remove_all(staging_.path(), ignored);
}

}  // namespace retrysim::report
