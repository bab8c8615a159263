// Little-endian, doubles bit by bit.
//
// SPDX-License-Identifier: MIT
#include "execution/run_bytes.hpp"

#include "execution/byte_order.hpp"
#include "measure/result_fields.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::execution {
namespace {

class Writer {
 public:
  void operator()(const auto&... values) { (write(values), ...); }
  std::string take() { return std::move(bytes_); }

 private:
  void write(bool value) { put(bytes_, static_cast<std::uint8_t>(value)); }
  void write(std::uint32_t value) { put(bytes_, value); }
  void write(std::uint64_t value) { put(bytes_, value); }
  void write(std::int64_t value) { put(bytes_, static_cast<std::uint64_t>(value)); }
  void write(SquareNanoseconds value) {
    put(bytes_, static_cast<std::uint64_t>(value));
    put(bytes_, static_cast<std::uint64_t>(value >> 64));
  }
  void write(WideNanoseconds value) { write(static_cast<SquareNanoseconds>(value)); }
  void write(double value) { put(bytes_, std::bit_cast<std::uint64_t>(value)); }
  void write(Time value) { write(value.count()); }
  void write(Duration value) { write(value.count()); }
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
  template <typename T>
  requires stats::HasFields<T>
  void write(const T& value) { fields(*this, value); }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  void operator()(auto&... values) { (read(values), ...); }
  bool at_end() const { return bytes_.empty(); }

 private:
  template <std::unsigned_integral T>
  T next() {
    const auto value = execution::take<T>(bytes_);
    if (!value) throw std::runtime_error("a replication's results were truncated in transit");
    return *value;
  }
  void read(bool& value) { value = next<std::uint8_t>() != 0; }
  void read(std::uint32_t& value) { value = next<std::uint32_t>(); }
  void read(std::uint64_t& value) { value = next<std::uint64_t>(); }
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
  void read(double& value) { value = std::bit_cast<double>(next<std::uint64_t>()); }
  void read(Time& value) {
    value = Time::from_nanoseconds(static_cast<std::int64_t>(next<std::uint64_t>()));
  }
  void read(Duration& value) {
    value = Duration::nanoseconds(static_cast<std::int64_t>(next<std::uint64_t>()));
  }
  void read(std::optional<bool>& value) {
    bool exists = false, is_true = false;
    (*this)(exists, is_true);
    value = exists ? std::optional(is_true) : std::nullopt;
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
    // Each element has at least four bytes, so a corrupt size is found before memory is reserved.
    if (size > bytes_.size() / 4) throw std::runtime_error("a replication's results are damaged");
    // Elements may be far larger than their bytes: they come one by one, as their bytes do.
    values.clear();
    for (std::uint64_t i = 0; i < size; ++i) read(values.emplace_back());
  }
  template <typename T>
  requires stats::HasFields<T>
  void read(T& value) { fields(*this, value); }

  std::string_view bytes_;
};

}  // namespace

std::string encode(const RunResult& run) {
  Writer writer;
  writer(run);
  return writer.take();
}

RunResult decode_run(std::string_view bytes) {
  RunResult run;
  Reader reader(bytes);
  reader(run);
  if (!reader.at_end()) throw std::runtime_error("a replication's results are damaged");
  return run;
}

}  // namespace retrysim::execution
