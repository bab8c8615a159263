// Streams of long texts with stop points, for libraries that have none.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/stop.hpp"

#include <algorithm>
#include <cstddef>
#include <istream>
#include <streambuf>
#include <string_view>

namespace retrysim::scenario {

/// A buffer that gives a text a little at a time, with a stop point before each portion. The text
/// must outlive it. The position can be read and set, and characters can be put back.
class Portions : public std::streambuf {
 public:
  /// The first portion is ready at once: libraries that read a little while they begin leak memory
  /// if that is interrupted.
  explicit Portions(std::string_view text) : text_(text) {
    stop_point();
    show(0);
  }

 protected:
  int_type underflow() override {
    if (position() == text_.size()) return traits_type::eof();
    stop_point();
    show(position());
    return traits_type::to_int_type(*gptr());
  }
  int_type pbackfail(int_type put) override {
    if (position() == 0) return traits_type::eof();
    show(position() - 1);
    const int_type back = traits_type::to_int_type(*gptr());
    const bool is_it =
        traits_type::eq_int_type(put, traits_type::eof()) || traits_type::eq_int_type(put, back);
    if (!is_it) gbump(1);
    return is_it ? back : traits_type::eof();
  }
  pos_type seekoff(off_type by, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const auto base = static_cast<off_type>(from == std::ios_base::beg   ? 0
                                            : from == std::ios_base::end ? text_.size()
                                                                         : position());
    return seekpos(base + by, std::ios_base::in);
  }
  pos_type seekpos(pos_type to, std::ios_base::openmode) override {
    const auto place = static_cast<off_type>(to);
    if (place < 0 || place > static_cast<off_type>(text_.size())) return off_type(-1);
    show(static_cast<std::size_t>(place));
    return to;
  }

 private:
  std::size_t position() const { return begin_ + static_cast<std::size_t>(gptr() - eback()); }
  /// Shows the portion that begins at `at`. Nobody writes into it: a buffer for reading has no
  /// `const` of its own.
  void show(std::size_t at) {
    constexpr std::size_t kPortion = 4096;
    const std::string_view portion = text_.substr(at, kPortion);
    char* const data = const_cast<char*>(portion.data());
    begin_ = at;
    setg(data, data, data + portion.size());
  }

  std::string_view text_;
  std::size_t begin_ = 0;
};

/// A stream of a long text; `Interrupted` comes out of whatever reads it.
class PortionedStream : public std::istream {
 public:
  explicit PortionedStream(std::string_view text) : std::istream(nullptr), portions_(text) {
    rdbuf(&portions_);
    exceptions(std::ios::badbit);  // otherwise an exception of the buffer is lost
  }

 private:
  Portions portions_;
};

}  // namespace retrysim::scenario
