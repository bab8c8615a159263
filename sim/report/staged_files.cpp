// SPDX-License-Identifier: MIT
#include "report/staged_files.hpp"

#include "report/output_error.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

/// More files than this are not kept open: a process may have 1024.
constexpr std::size_t kMostOpenFiles = 64;

[[noreturn]] void fail_to_write(const fs::path& path) {
  throw OutputError(path, std::generic_category().message(errno));
}

/// Passes text on, block by block, and counts and sums up its bytes.
class RecordingSink : public Sink {
 public:
  RecordingSink(Sink& sink, std::string& block) : sink_(sink), block_(block) {}
  void write(std::string_view text) override {
    // Row by row, a checksum costs twice as much.
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    block_ += text;
    if (block_.size() >= kBlock) pass_on();
  }
  /// Passes on what is left.
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
  if (written_.size() >= kMostOpenFiles) sync();
  Descriptor file(::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail_to_write(path);
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
  // commits them. What goes wrong here, fsync tells.
  for (const Written& w : written_) {
    (void)::sync_file_range(w.file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  // The last one first: by the time it has arrived the others have, too, as a rule, and nothing is
  // left to commit for them.
  while (!written_.empty()) {
    Written& last = written_.back();
    if (::fsync(last.file.get()) != 0) fail_to_write(last.path);
    if (::close(last.file.release()) != 0) fail_to_write(last.path);
    written_.pop_back();
  }
}

}  // namespace retrysim::report
