// Identities as bytes, and reading, writing and repairing journals.
//
// SPDX-License-Identifier: MIT
#include "execution/journal.hpp"

#include "execution/run_bytes.hpp"
#include "scenario/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <system_error>

namespace retrysim::execution {

// FNV-1a.
std::uint64_t id_of(const Identity& identity) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : pack(identity)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

std::string describe_files(const std::vector<std::filesystem::path>& files) {
  std::string all;
  for (const std::filesystem::path& file : files) {
    std::string ignored;
    const std::string content =
        scenario::read_whole_file(file, ~std::uintmax_t{0}, ignored).value_or("");
    all += fmt::format("{} {:016x} {}\n", file.filename().string(), id_of({{"", content}}),
                       content.size());
  }
  return all;
}

void agree_on(const LoadedScenario& loaded, Executor& executor) {
  if (executor.is_alone()) return;
  const std::string inputs = describe_files(loaded.input_files);
  executor.agree(fmt::format("{:016x}", id_of({{"", to_toml(loaded, false)}, {"", inputs}})));
}

// --- The journal ---------------------------------------------------------------------------------

namespace {

constexpr std::string_view kMagic = "retrysim journal 1\n";
constexpr std::uint64_t kHeadNumber = ~std::uint64_t{0};
constexpr std::size_t kPrefix = 8;  // length and checksum
constexpr std::size_t kNumber = 8;
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;
constexpr std::size_t kBlock = std::size_t{1} << 20;

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string record(std::uint64_t number, std::string_view bytes) {
  std::string body;
  body.reserve(kNumber + bytes.size());
  put(body, number);
  body += bytes;
  std::string result;
  result.reserve(kPrefix + body.size());
  put(result, static_cast<std::uint32_t>(body.size()));
  put(result, checksum(body));
  return result += body;
}

std::optional<Identity> read_identity(std::string_view bytes) {
  Identity identity;
  try {
    unpack(bytes, identity);
  } catch (const ArchiveError&) {
    return std::nullopt;
  }
  return identity;
}

/// What differs, as "the scenario, --vary".
std::string differences(const Identity& mine, const Identity& other) {
  std::string names;
  const auto note = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const auto& [name, text] : mine) {
    const auto same_name = [&, &wanted = name](const auto& o) { return o.first == wanted; };
    const auto found = std::find_if(other.begin(), other.end(), same_name);
    if (found == other.end() || found->second != text) note(name);
  }
  return names.empty() ? "the kind of experiment" : names;
}

std::uint64_t size_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw std::system_error(errno, std::generic_category());
  return static_cast<std::uint64_t>(status.st_size);
}

/// Exactly `size` bytes from `offset`, or fewer at the end of the file. A size that comes from a
/// damaged file is not believed: no more memory is taken than the file has bytes.
std::string read_at(int fd, std::uint64_t offset, std::size_t size) {
  const std::uint64_t end = size_of(fd);
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, offset < end ? end - offset : 0));
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd, bytes.data() + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category());
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

/// The body of the record at the front of `bytes` (number and payload) if it is whole and good.
std::optional<std::string_view> whole_record(std::string_view bytes) {
  std::string_view rest = bytes;
  const auto length = take<std::uint32_t>(rest);
  const auto sum = take<std::uint32_t>(rest);
  if (!sum || *length < kNumber || *length > rest.size()) return std::nullopt;
  rest = rest.substr(0, *length);
  if (checksum(rest) != *sum) return std::nullopt;
  return rest;
}

}  // namespace

Journal::Journal(std::filesystem::path path, std::size_t units)
    : path_(std::move(path)), units_(units) {
  // More tries than writers can spoil: not all file systems have numbers of files that stay.
  constexpr int kMostTries = 1000;
  for (int i = 1; !open_and_lock() && i < kMostTries; ++i) ::close(std::exchange(fd_, -1));
}

// False if the file was removed between its opening and the lock: who held the lock has come to the
// end, and what is there now, if anything, is another file.
bool Journal::open_and_lock() {
  // Only a file of our own is written over: no pipe, no device, nothing that a link leads to.
  struct stat there {};
  if (::lstat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    throw JournalError(path_.string() + " is not a regular file");
  }
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd_ < 0) fail();
  // Where a file system has no locks, nothing is locked.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(std::exchange(fd_, -1));
    throw JournalError(path_.string() + ": another process is using it");
  }
  struct stat locked {};
  return ::fstat(fd_, &locked) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      waiting_(std::move(other.waiting_)),
      units_(other.units_),
      offsets_(std::move(other.offsets_)),
      count_(other.count_),
      dropped_(other.dropped_) {}

Journal::~Journal() {
  if (fd_ < 0) return;
  try {
    flush();
  } catch (const std::system_error&) {  // a destructor cannot report it
  }
  ::close(fd_);
}

void Journal::fail() const {
  throw std::system_error(errno, std::generic_category(), path_.string());
}

Journal Journal::begin(const std::filesystem::path& path, const Identity& identity,
                       std::size_t units) {
  {
    // What has another name besides is not ours alone: that name keeps the file as it is. First
    // the lock: another process, which uses the journal, gives it such a name for a moment.
    const Journal found(path, units);
    struct stat there {};
    if (::fstat(found.fd_, &there) == 0 && there.st_nlink > 1) ::unlink(path.c_str());
  }
  Journal journal(path, units);
  journal.write_head(identity);
  return journal;
}

Journal Journal::resume(const std::filesystem::path& path, const Identity& identity,
                        std::size_t units) {
  Journal journal(path, units);
  if (journal.read_head(identity)) {
    journal.read_records();
  } else {
    journal.write_head(identity);
  }
  return journal;
}

void Journal::write_head(const Identity& identity) {
  if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) < 0) fail();
  waiting_ = std::string(kMagic) + record(kHeadNumber, pack(identity));
  size_ = waiting_.size();
  sync();
}

// Whether there is a head; where one ends too early, nothing was ever appended behind it.
bool Journal::read_head(const Identity& identity) {
  const std::string magic = read_at(fd_, 0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) {
    throw JournalError(path_.string() + " is not a journal of this version of retrysim");
  }
  std::string bytes = read_at(fd_, kMagic.size(), kPrefix);
  std::string_view view = bytes;
  const auto length = take<std::uint32_t>(view);
  if (magic.size() < kMagic.size() || !length || bytes.size() < kPrefix) return false;
  const std::size_t size = kPrefix + std::size_t{*length};
  bytes = read_at(fd_, kMagic.size(), size);
  if (bytes.size() < size) return false;
  const auto body = whole_record(bytes);
  const auto found = body ? read_identity(body->substr(kNumber)) : std::nullopt;
  if (!found) throw JournalError(path_.string() + " is damaged at its beginning");
  if (*found != identity) {
    throw JournalError(path_.string() + " belongs to a different experiment; they differ in " +
                       differences(identity, *found));
  }
  size_ = kMagic.size() + bytes.size();
  return true;
}

void Journal::read_records() {
  std::string block = read_at(fd_, size_, kBlock);
  std::string_view rest = block;
  while (true) {
    auto body = whole_record(rest);
    if (!body) {  // it may go on behind the block
      std::string_view head = rest;
      const auto length = take<std::uint32_t>(head);
      const std::size_t wanted = std::max(kBlock, kPrefix + std::size_t{length.value_or(0)});
      block = read_at(fd_, size_, wanted);
      rest = block;
      body = whole_record(rest);
      if (!body) break;
    }
    std::string_view view = *body;
    const std::uint64_t unit = *take<std::uint64_t>(view);
    if (unit >= units_) break;
    note_place(unit);
    size_ += kPrefix + body->size();
    rest.remove_prefix(kPrefix + body->size());
  }
  dropped_ = size_of(fd_) - size_;
  if (dropped_ > 0 && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) fail();
  if (::lseek(fd_, static_cast<off_t>(size_), SEEK_SET) < 0) fail();
}

void Journal::note_place(std::size_t unit) {
  if (unit >= offsets_.size()) offsets_.resize(unit + 1);
  count_ += offsets_[unit] == 0;
  offsets_[unit] = size_;
}

void Journal::append(std::size_t unit, std::string_view bytes) {
  if (has(unit)) return;
  const std::string text = record(unit, bytes);
  note_place(unit);
  size_ += text.size();
  waiting_ += text;
  if (waiting_.size() >= kMostWaiting) flush();
}

void Journal::flush() {
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      // What has been written stays; the rest, and so what follows, does not count.
      waiting_.clear();
      fail();
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  waiting_.clear();
}

void Journal::sync() {
  flush();
  if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) fail();
}

// Checksums have been looked at, or made, by this process: it only makes sure that it reads the
// right record.
std::string Journal::read(std::size_t unit) {
  flush();
  const std::string head = read_at(fd_, offsets_[unit], kPrefix + kNumber);
  std::string_view view = head;
  const auto length = take<std::uint32_t>(view);
  const auto sum = take<std::uint32_t>(view);
  const auto number = take<std::uint64_t>(view);
  if (sum && number == unit && *length >= kNumber) {
    const std::size_t size = *length - kNumber;
    std::string bytes = read_at(fd_, offsets_[unit] + kPrefix + kNumber, size);
    if (bytes.size() == size) return bytes;
  }
  throw JournalError(path_.string() + ": its entry for unit " + std::to_string(unit) +
                     " is damaged");
}

// The lock is held until the file has gone: nobody else finds it, or puts another one there.
void Journal::remove() {
  std::error_code ignored;  // what is left does no harm: it can be resumed
  std::filesystem::remove(path_, ignored);
  ::close(std::exchange(fd_, -1));
  waiting_.clear();
}

}  // namespace retrysim::execution
