// SPDX-License-Identifier: MIT
#include "fit/lines.hpp"

#include "fit/log.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>

namespace retrysim::fit {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kBuffer = std::size_t{1} << 17;

}  // namespace

/// The bytes of a file, unpacked if it is of gzip. zlib's own reader could not be stopped while it
/// waits for a pipe.
class LineReader::File {
 public:
  struct Failure {
    std::string why;
  };

  explicit File(const std::string& file) : pieces_(open(file)), piece_(kBuffer) {}
  ~File() {
    if (is_packed_) ::inflateEnd(&unpacking_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return pieces_->is_open(); }

  /// Reads the next bytes; returns 0 at the end. Throws Failure, Interrupted.
  std::size_t read(std::span<char> to) {
    if (!begun_) begin();
    if (is_packed_) return unpack(to);
    if (rest_.empty() && !fill()) return 0;
    const std::size_t size = std::min(to.size(), rest_.size());
    std::copy_n(rest_.begin(), size, to.begin());
    rest_ = rest_.subspan(size);
    return size;
  }

 private:
  static std::unique_ptr<scenario::InputFile> open(const std::string& file) {
    return file == "-" ? std::make_unique<scenario::InputFile>(0)
                       : std::make_unique<scenario::InputFile>(std::filesystem::path(file));
  }

  void begin() {
    constexpr char kMagic[] = {'\x1f', '\x8b'};
    begun_ = true;
    std::size_t size = 0;
    while (size < std::size(kMagic)) {
      const std::size_t got = read_piece(std::span(piece_).subspan(size));
      if (got == 0) break;
      size += got;
    }
    rest_ = std::span(piece_).first(size);
    if (size < std::size(kMagic) ||
        !std::equal(std::begin(kMagic), std::end(kMagic), rest_.begin()))
      return;
    constexpr int kLargestWindow = 15, kGzip = 16;
    if (::inflateInit2(&unpacking_, kLargestWindow + kGzip) != Z_OK) throw std::bad_alloc();
    is_packed_ = true;
  }

  std::size_t read_piece(std::span<char> to) const {
    const std::ptrdiff_t got = pieces_->read(to);
    if (got < 0) throw Failure{std::strerror(errno)};
    return static_cast<std::size_t>(got);
  }

  bool fill() {
    rest_ = std::span(piece_).first(read_piece(piece_));
    return !rest_.empty();
  }

  std::size_t unpack(std::span<char> to) {
    while (!at_end_) {
      if (rest_.empty() && !fill()) {
        if (!between_members_) throw Failure{"the packed file ends early"};
        break;
      }
      if (between_members_) {
        if (rest_.front() != '\x1f') break;  // what follows is not gzip data
        if (::inflateReset(&unpacking_) != Z_OK) throw std::bad_alloc();
        between_members_ = false;
      }
      unpacking_.next_in = reinterpret_cast<Bytef*>(rest_.data());
      unpacking_.avail_in = static_cast<uInt>(rest_.size());
      unpacking_.next_out = reinterpret_cast<Bytef*>(to.data());
      unpacking_.avail_out = static_cast<uInt>(to.size());
      const int code = ::inflate(&unpacking_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        throw Failure{unpacking_.msg == nullptr ? "it is damaged" : unpacking_.msg};
      }
      rest_ = rest_.last(unpacking_.avail_in);
      between_members_ = code == Z_STREAM_END;
      if (const std::size_t size = to.size() - unpacking_.avail_out; size > 0) return size;
    }
    at_end_ = true;
    return 0;
  }

  std::unique_ptr<scenario::InputFile> pieces_;
  std::vector<char> piece_;
  std::span<char> rest_;  // rest of the current piece
  z_stream unpacking_ = {};
  bool begun_ = false, is_packed_ = false, between_members_ = false, at_end_ = false;
};

LineReader::LineReader(const std::string& file)
    : name_(file == "-" ? "standard input" : file), file_(std::make_unique<File>(file)) {
  if (!file_->is_open() && errno == ENOMEM) throw std::bad_alloc();
  if (!file_->is_open()) {
    throw BadLog(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
  }
  buffer_.resize(kBuffer);
}

LineReader::~LineReader() = default;

std::optional<std::string_view> LineReader::next() {
  while (true) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const std::size_t length = rest.find('\n');
    if (length != std::string_view::npos || (at_end_ && !rest.empty())) {
      std::string_view line = rest.substr(0, length);
      begin_ += std::min(rest.size(), line.size() + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      ++number_;
      return line;
    }
    if (at_end_) return std::nullopt;
    refill();
  }
}

void LineReader::refill() {
  stop_point();
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestLine) {
      throw BadLog(
          fmt::format("{}:{}: a line has more than {} bytes", name_, number_ + 1, kLongestLine));
    }
    buffer_.resize(2 * buffer_.size());
  }
  std::size_t got = 0;
  try {
    got = file_->read(std::span(buffer_).subspan(end_));
  } catch (const File::Failure& f) {
    throw BadLog(fmt::format("{}:{}: cannot be read: {}", name_, number_ + 1, f.why));
  }
  at_end_ = got == 0;
  end_ += got;
}

}  // namespace retrysim::fit
