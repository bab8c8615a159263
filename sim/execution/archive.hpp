// Values as bytes, for records that are stored in a file or sent to another process, and read back:
// doubles bit by bit, the same on every machine. Most numbers of a result are zero or small and
// take one byte: seven bits in each, the lowest first, and the eighth bit if more follow. Plain
// structs are written as they are; other types need a function `archive(visit, value)`, which calls
// `visit` with their parts.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/breaker.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "execution/members.hpp"
#include "measure/record/totals.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::execution {

// Single numbers are little-endian.

template <std::unsigned_integral T>
void put(std::string& bytes, T value) {
  char little[sizeof(T)];
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(little, &value, sizeof(T));
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      little[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
  }
  bytes.append(little, sizeof(T));
}

/// Takes a number from the front of `bytes`; empty if too few bytes are left.
template <std::unsigned_integral T>
std::optional<T> take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, bytes.data(), sizeof(T));
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value =
          static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    }
  }
  bytes.remove_prefix(sizeof(T));
  return value;
}

/// Thrown if bytes differ from those that were written.
class ArchiveError : public std::runtime_error {
 public:
  ArchiveError() : std::runtime_error("a record of results is cut off or damaged") {}
};

/// The parameter of an `archive` function: a struct, constant when it is written.
template <class T, class Struct>
concept Either = std::same_as<std::remove_const_t<T>, Struct>;

template <class T, class Visit>
concept Archived = requires(Visit& visit, T& value) {
  archive(visit, value);
};

template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;

/// A struct that is written as its members, without an `archive` function or a list of fields.
template <class T, class Visit>
concept PlainOnly = Plain<T> && !kIsArray<T> && !Archived<const T, Visit> && !stats::HasFields<T>;

/// The classes that a set of error classes may contain.
inline constexpr std::array kClassesOfErrors = {ResponseClass::kThrottling,
                                                ResponseClass::kTransient, ResponseClass::kTimeout,
                                                ResponseClass::kNotRetryable};

/// Writes values one after the other.
class Writer {
 public:
  void operator()(const auto&... values) { (write(values), ...); }
  std::string take() { return std::move(bytes_); }

 private:
  void write(bool value) { put(bytes_, static_cast<std::uint8_t>(value)); }
  template <std::unsigned_integral T>
  void write(T value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value = static_cast<T>(value >> 7);
    }
    bytes_.push_back(static_cast<char>(value));
  }
  void write(std::int32_t value) { write(static_cast<std::uint32_t>(value)); }
  void write(std::int64_t value) { write(static_cast<std::uint64_t>(value)); }
  void write(SquareNanoseconds value) {
    write(static_cast<std::uint64_t>(value));
    write(static_cast<std::uint64_t>(value >> 64));
  }
  void write(WideNanoseconds value) { write(static_cast<SquareNanoseconds>(value)); }
  // The bytes of doubles are swapped: the last bytes of whole numbers are zero, and take no space
  // if they come first.
  void write(double value) { write(__builtin_bswap64(std::bit_cast<std::uint64_t>(value))); }
  void write(Time value) { write(value.count()); }
  void write(Duration value) { write(value.count()); }
  // A strategy is code of the user's, which is not written.
  void write(const StrategyFactory&) {}
  void write(const Distribution& distribution) { write(distribution.parts()); }
  void write(const ErrorClasses& classes) {
    for (const ResponseClass c : kClassesOfErrors) write(classes.has(c));
  }
  void write(const std::string& text) {
    write(std::uint64_t{text.size()});
    bytes_ += text;
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void write(Enum value) { put(bytes_, static_cast<std::uint8_t>(value)); }
  void write(const std::optional<bool>& value) {
    write(value.has_value());
    write(value.value_or(false));
  }
  void write(const Histogram& histogram) {
    const Histogram::Parts parts = histogram.parts();
    (*this)(std::uint64_t{parts.first}, parts.counts, parts.smallest, parts.largest);
  }
  template <typename T, std::size_t n>
  void write(const std::array<T, n>& values) {
    for (const T& value : values) write(value);
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(std::uint64_t{values.size()});
    for (const T& value : values) write(value);
  }
  template <class T>
  requires Archived<const T, Writer>
  void write(const T& value) { archive(*this, value); }
  template <class T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <class First, class Second>
  void write(const std::pair<First, Second>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <typename T>
  requires stats::HasFields<T>
  void write(const T& value) { fields(*this, value); }
  template <class T>
  requires PlainOnly<T, Writer>
  void write(const T& value) {
    with_members(value, [this](const auto&... members) { (this->write(members), ...); });
  }

  std::string bytes_;
};

/// Reads values in the order in which they were written. Throws ArchiveError.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  void operator()(auto&... values) { (read(values), ...); }
  std::string_view rest() const { return bytes_; }

 private:
  template <std::unsigned_integral T>
  T next() {
    T value = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(byte & 0x7f) << shift));
      if (byte < 0x80) return value;
    }
    throw ArchiveError();
  }
  void read(bool& value) { value = next<std::uint8_t>() != 0; }
  template <std::unsigned_integral T>
  void read(T& value) {
    value = next<T>();
  }
  void read(std::int32_t& value) { value = static_cast<std::int32_t>(next<std::uint32_t>()); }
  void read(std::int64_t& value) { value = static_cast<std::int64_t>(next<std::uint64_t>()); }
  void read(SquareNanoseconds& value) {
    const auto low = next<std::uint64_t>();
    value = static_cast<SquareNanoseconds>(next<std::uint64_t>()) << 64 | low;
  }
  void read(WideNanoseconds& value) {
    SquareNanoseconds bits = 0;
    read(bits);
    value = static_cast<WideNanoseconds>(bits);
  }
  void read(double& value) {
    value = std::bit_cast<double>(__builtin_bswap64(next<std::uint64_t>()));
  }
  void read(Time& value) {
    value = Time::from_nanoseconds(static_cast<std::int64_t>(next<std::uint64_t>()));
  }
  void read(Duration& value) {
    value = Duration::nanoseconds(static_cast<std::int64_t>(next<std::uint64_t>()));
  }
  void read(StrategyFactory&) {}
  void read(Distribution& distribution) {
    Distribution::Parts parts;
    read(parts);
    distribution = Distribution::from_parts(std::move(parts));
  }
  void read(std::string& text) {
    const auto size = next<std::uint64_t>();
    if (size > bytes_.size()) throw ArchiveError();
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read(Enum& value) { value = static_cast<Enum>(next<std::uint8_t>()); }
  void read(std::optional<bool>& value) {
    bool exists = false, is_true = false;
    (*this)(exists, is_true);
    value = exists ? std::optional(is_true) : std::nullopt;
  }
  void read(ErrorClasses& classes) {
    classes = {};
    for (const ResponseClass c : kClassesOfErrors) {
      if (next<std::uint8_t>() != 0) classes.add(c);
    }
  }
  void read(Histogram& histogram) {
    Histogram::Parts parts;
    parts.first = next<std::uint64_t>();
    (*this)(parts.counts, parts.smallest, parts.largest);
    histogram = Histogram::from_parts(std::move(parts));
  }
  template <typename T, std::size_t n>
  void read(std::array<T, n>& values) {
    for (T& value : values) read(value);
  }
  template <typename T>
  void read(std::vector<T>& values) {
    const auto size = next<std::uint64_t>();
    // Each element has at least a byte, so a corrupt size is found before memory is reserved.
    if (size > bytes_.size()) throw ArchiveError();
    // Elements may be far larger than their bytes: they are added one by one, as their bytes are
    // read.
    values.clear();
    for (std::uint64_t i = 0; i < size; ++i) read(values.emplace_back());
  }
  template <class T>
  requires Archived<T, Reader>
  void read(T& value) { archive(*this, value); }
  template <class T>
  void read(std::optional<T>& value) {
    bool exists = false;
    read(exists);
    value.reset();
    if (exists) read(value.emplace());
  }
  template <class First, class Second>
  void read(std::pair<First, Second>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <typename T>
  requires stats::HasFields<T>
  void read(T& value) { fields(*this, value); }
  template <class T>
  requires PlainOnly<T, Reader>
  void read(T& value) {
    with_members(value, [this](auto&... members) { (this->read(members), ...); });
  }

  std::string_view bytes_;
};

/// Writes values as bytes.
std::string pack(const auto&... values) {
  Writer writer;
  writer(values...);
  return writer.take();
}

/// Reads values that were packed at the front of `bytes`, and removes them. Throws ArchiveError.
void unpack_front(std::string_view& bytes, auto&... values) {
  Reader reader(bytes);
  reader(values...);
  bytes = reader.rest();
}

/// Reads values that were packed; `bytes` contains nothing else. Throws ArchiveError.
void unpack(std::string_view bytes, auto&... values) {
  unpack_front(bytes, values...);
  if (!bytes.empty()) throw ArchiveError();
}

}  // namespace retrysim::execution
