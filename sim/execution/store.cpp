// Stores in memory, and in a folder of files that are only ever appended to.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include "execution/archive.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

namespace fs = std::filesystem;

using execution::put;
using execution::take;

class MemoryStore : public Store {
 public:
  explicit MemoryStore(std::uint64_t most_bytes) : room_(most_bytes) {}

  std::optional<std::string> find(const UnitKey& key) override {
    const auto at = units_.find(key);
    return at == units_.end() ? std::nullopt : std::optional(at->second);
  }

  bool add(const UnitKey& key, std::string_view bytes) override {
    if (units_.count(key) > 0) return true;
    if (bytes.size() > room_) return false;
    room_ -= bytes.size();
    units_.emplace(key, bytes);
    return true;
  }

 private:
  std::map<UnitKey, std::string> units_;
  std::uint64_t room_;
};

// --- A folder ------------------------------------------------------------------------------------

// A file of a store begins with a line that names its format. Records follow: mark (32 bits),
// length of the bytes (32), key (128), CRC-32 of these three, CRC-32 of the bytes, and the bytes. A
// record whose bytes are damaged is passed over; from the first head that is damaged, or cut off,
// the rest of its file is ignored. Nobody appends to a file that another process began.

constexpr std::string_view kMagic = "retrysim units 1\n";
// How files of any version begin.
constexpr std::string_view kAnyMagic = kMagic.substr(0, kMagic.find('1'));
constexpr std::string_view kEnding = ".units";
constexpr std::uint32_t kMark = 0x54494e55;  // "UNIT"
constexpr std::size_t kHead = 32;
constexpr std::size_t kBlock = std::size_t{1} << 18;
// If there are more files than this, small ones are joined into one when a store is opened.
constexpr std::size_t kMaxFiles = 64;
constexpr std::uint64_t kSmallFile = std::uint64_t{1} << 20;
constexpr auto kSyncEvery = std::chrono::seconds(5);

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Owns a file descriptor, which it closes.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  std::uint64_t size() const {
    struct stat status {};
    return fd_ >= 0 && ::fstat(fd_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  /// Reads `size` bytes at `offset`; fewer at the end of the file, or after an error.
  std::string read(std::uint64_t offset, std::size_t size) const {
    std::string bytes(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t n =
          ::pread(fd_, bytes.data() + got, size - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    bytes.resize(got);
    return bytes;
  }
  /// Writes all bytes; false after an error.
  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  int fd_ = -1;
};

struct Head {
  std::uint32_t length = 0;
  UnitKey key;
  std::uint32_t sum = 0;  // CRC-32 of the bytes
};

std::string encode(const Head& head) {
  std::string bytes;
  put(bytes, kMark);
  put(bytes, head.length);
  put(bytes, head.key.high);
  put(bytes, head.key.low);
  put(bytes, checksum(bytes));
  put(bytes, head.sum);
  return bytes;
}

/// The head of a record at the front of `bytes`; empty if it is damaged or cut off.
std::optional<Head> head_of(std::string_view bytes) {
  if (bytes.size() < kHead) return std::nullopt;
  const std::uint32_t expected = checksum(bytes.substr(0, kHead - 8));
  Head head;
  const std::uint32_t mark = *take<std::uint32_t>(bytes);
  head.length = *take<std::uint32_t>(bytes);
  head.key.high = *take<std::uint64_t>(bytes);
  head.key.low = *take<std::uint64_t>(bytes);
  const std::uint32_t sum = *take<std::uint32_t>(bytes);
  head.sum = *take<std::uint32_t>(bytes);
  if (mark != kMark || sum != expected) return std::nullopt;
  return head;
}

/// Calls `visit` with the head of each record and the place of its bytes.
void for_each_record(const File& file, const auto& visit) {
  const std::uint64_t end = file.size();
  std::string block = file.read(0, kBlock);
  std::uint64_t block_at = 0;
  if (!block.starts_with(kMagic)) return;
  for (std::uint64_t at = kMagic.size(); at + kHead <= end;) {
    if (at + kHead > block_at + block.size()) {
      block = file.read(at, kBlock);
      block_at = at;
    }
    const auto head = head_of(std::string_view(block).substr(at - block_at));
    if (!head || at + kHead + head->length > end) return;
    visit(*head, at + kHead);
    at += kHead + head->length;
  }
}

struct EarlierFile {
  fs::path path;
  File file;
  fs::file_time_type time;
  std::uint64_t bytes = 0;
  bool used = false;  ///< a unit in the file was found
};

class FolderStore : public Store {
 public:
  FolderStore(fs::path folder, std::uint64_t most_bytes,
              std::function<void(const std::string&)> note)
      : folder_(std::move(folder)), most_bytes_(most_bytes), note_(std::move(note)) {
    open_all();
    if (files_.size() > kMaxFiles) join_files();
  }

  ~FolderStore() override {
    if (own_.is_open() || !files_.empty()) keep_within_bounds();
  }

  std::optional<std::string> find(const UnitKey& key) override {
    const auto at = places_.find(key);
    if (at == places_.end()) return std::nullopt;
    const Place& place = at->second;
    EarlierFile* const earlier = place.file == kOwn ? nullptr : &files_[place.file];
    const File& file = earlier == nullptr ? own_ : earlier->file;
    std::string bytes = file.read(place.offset, place.length);
    if (bytes.size() == place.length && checksum(bytes) == place.sum) {
      if (earlier != nullptr) earlier->used = true;
      return bytes;
    }
    places_.erase(at);  // the unit is simulated again, and then added
    return std::nullopt;
  }

  bool add(const UnitKey& key, std::string_view bytes) override {
    if (places_.count(key) > 0) return true;
    if (failed_ || bytes.size() > ~std::uint32_t{0} || !begin_own()) return false;
    const Head head{static_cast<std::uint32_t>(bytes.size()), key, checksum(bytes)};
    std::string record = encode(head);
    record += bytes;
    if (!own_.write(record)) {
      const int error = errno;
      // A record that is cut off would end the file for its readers.
      if (::ftruncate(own_.fd(), static_cast<off_t>(own_size_)) != 0) errno = 0;
      fail(error);
      return false;
    }
    places_[key] = {kOwn, own_size_ + kHead, head.length, head.sum};
    own_size_ += record.size();
    return true;
  }

  bool keeps_all() const override {
    const std::vector<std::size_t> many = too_many();
    return own_size_ <= most_bytes_ &&
           std::none_of(many.begin(), many.end(), [this](std::size_t f) { return files_[f].used; });
  }

  void tick() override {
    const auto now = std::chrono::steady_clock::now();
    if (!own_.is_open() || now - last_sync_ < kSyncEvery) return;
    last_sync_ = now;
    ::fdatasync(own_.fd());
  }

 private:
  static constexpr std::size_t kOwn = ~std::size_t{0};
  struct Place {
    std::size_t file = kOwn;
    std::uint64_t offset = 0;
    std::uint32_t length = 0, sum = 0;
  };

  /// Keeps nothing from now on, and says why, once.
  void fail(int error) {
    if (!std::exchange(failed_, true) && note_) note_(std::generic_category().message(error));
  }

  /// Opens all files, the oldest first: of several copies of a unit the latest counts, because an
  /// earlier one was damaged.
  void open_all() {
    struct stat status {};
    if (::lstat(folder_.c_str(), &status) != 0) {
      if (errno != ENOENT) fail(errno);
      return;
    }
    std::error_code error;
    if (!S_ISDIR(status.st_mode) && !fs::is_directory(folder_, error)) return fail(ENOTDIR);
    for (fs::directory_iterator i(folder_, error), end; !error && i != end; i.increment(error)) {
      if (i->path().extension() != kEnding || i->is_symlink(error)) continue;
      EarlierFile earlier{
          i->path(),
          File(::open(i->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)),
          i->last_write_time(error), 0};
      // A file that does not begin as a store's is ignored, whatever its name, so that it is never
      // removed.
      if (!earlier.file.is_open() || earlier.file.read(0, kAnyMagic.size()) != kAnyMagic) continue;
      earlier.bytes = earlier.file.size();
      files_.push_back(std::move(earlier));
    }
    if (error) return fail(error.value());
    std::sort(files_.begin(), files_.end(), [](const EarlierFile& a, const EarlierFile& b) {
      return std::tie(a.time, a.path) < std::tie(b.time, b.path);
    });
    for (std::size_t f = 0; f < files_.size(); ++f) {
      for_each_record(files_[f].file, [&](const Head& head, std::uint64_t offset) {
        places_[head.key] = Place{f, offset, head.length, head.sum};
      });
    }
  }

  /// Makes the file of this process; false if that is impossible.
  bool begin_own() {
    if (own_.is_open()) return true;
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      fail(error.value());
      return false;
    }
    constexpr int kMaxNames = 100'000;
    for (int i = 0; i < kMaxNames && !own_.is_open(); ++i) {
      own_path_ = folder_ / fmt::format("{}-{}{}", ::getpid(), i, kEnding);
      own_ =
          File(::open(own_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
      if (!own_.is_open() && errno != EEXIST) break;
    }
    if (!own_.is_open() || !own_.write(kMagic)) {
      fail(errno);
      return false;
    }
    // The lock tells processes that tidy up that the file is in use; without locks, its age does.
    ::flock(own_.fd(), LOCK_EX | LOCK_NB);
    own_size_ = kMagic.size();
    return true;
  }

  static bool is_old(const EarlierFile& earlier) {
    return earlier.time < fs::file_time_type::clock::now() - std::chrono::hours(1);
  }
  /// Whether no process writes a file any more. On a file system without locks, that is taken to be
  /// so for files an hour old.
  static bool is_free(const EarlierFile& earlier) {
    if (::flock(earlier.file.fd(), LOCK_SH | LOCK_NB) == 0) return true;
    return errno != EWOULDBLOCK && is_old(earlier);
  }

  /// Copies the good records of small finished files into the own file, and removes these files.
  void join_files() {
    std::error_code ignored;
    std::vector<std::size_t> joined;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const EarlierFile& earlier = files_[f];
      if (earlier.bytes < kSmallFile && is_old(earlier) && is_free(earlier)) joined.push_back(f);
    }
    std::vector<UnitKey> keys;
    for (const auto& [key, place] : places_) {
      if (std::binary_search(joined.begin(), joined.end(), place.file)) keys.push_back(key);
    }
    for (const UnitKey& key : keys) {
      auto bytes = find(key);
      if (!bytes) continue;
      const auto before = places_.extract(key);
      if (add(key, *bytes)) continue;
      return;  // the files stay, and what was read of them
    }
    if (own_.is_open()) ::fdatasync(own_.fd());
    for (const std::size_t f : joined) {
      fs::remove(files_[f].path, ignored);
      files_[f].bytes = 0;
    }
  }

  /// The oldest files whose removal keeps the store within its bounds, without those still being
  /// written.
  std::vector<std::size_t> too_many() const {
    std::uint64_t all = own_size_;
    for (const EarlierFile& earlier : files_) all += earlier.bytes;
    std::vector<std::size_t> many;
    for (std::size_t f = 0; f < files_.size() && all > most_bytes_; ++f) {
      if (files_[f].bytes == 0 || !is_free(files_[f])) continue;
      many.push_back(f);
      all -= files_[f].bytes;
    }
    return many;
  }

  void keep_within_bounds() {
    std::error_code ignored;
    for (const std::size_t f : too_many()) fs::remove(files_[f].path, ignored);
    if (own_size_ > most_bytes_) fs::remove(own_path_, ignored);
  }

  fs::path folder_;
  std::uint64_t most_bytes_;
  std::function<void(const std::string&)> note_;
  std::vector<EarlierFile> files_;
  std::map<UnitKey, Place> places_;
  File own_;
  fs::path own_path_;
  std::uint64_t own_size_ = 0;
  bool failed_ = false;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Store> make_store(std::uint64_t most_bytes) {
  return std::make_unique<MemoryStore>(most_bytes);
}

std::unique_ptr<Store> open_store(const fs::path& folder, std::uint64_t most_bytes,
                                  std::function<void(const std::string&)> note) {
  return std::make_unique<FolderStore>(folder, most_bytes, std::move(note));
}

}  // namespace retrysim
