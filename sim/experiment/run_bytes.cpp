// Little-endian, doubles bit by bit. The fields of each type are named once, for both directions.
//
// SPDX-License-Identifier: MIT
#include "experiment/run_bytes.hpp"

#include "experiment/byte_order.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::experiment {
namespace {

template <typename T, typename U>
concept Any = std::same_as<std::remove_const_t<T>, U>;

void fields(auto& code, Any<DurationMoments> auto& m) {
  code(m.count, m.sum_squares_carry, m.sum_ns, m.sum_squares_ns2);
}

void fields(auto& code, Any<AttemptNumberCounts> auto& c) {
  code(c.sent, c.results, c.peak_sends_100ms, c.in_backoff_ns);
}

void fields(auto& code, Any<ClientFlow> auto& f) {
  code(f.requests, f.attempts, f.retries, f.successes, f.failures);
  code(f.throttled, f.errors, f.timeouts, f.quota_denied, f.arrivals);
  code(f.limiter_waiting_ns, f.connection_waiting_ns, f.in_backoff_ns, f.in_flight_ns);
}

void fields(auto& code, Any<ClientBin> auto& b) {
  code(b.flow, b.latency_count, b.latency_sum_ns, b.latency_p50_s, b.latency_p99_s);
}

void fields(auto& code, Any<RequestCounts> auto& c) {
  code(c.requests, c.failed, c.successes, c.failures, c.failed_attempts);
}

void fields(auto& code, Any<JobCounts> auto& j) {
  code(j.begun, j.ends, j.checks, j.detection_delay_m);
}

void fields(auto& code, Any<ClientResult> auto& c) {
  code(c.requests, c.outcomes, c.ended_within, c.successes_within, c.attempts, c.attempts_squared,
       c.results);
  code(c.rejected, c.refused, c.dropped, c.lost, c.gave_up, c.late, c.arrivals, c.executed,
       c.waited);
  code(c.admitted, c.mutating, c.effects, c.duplicated, c.ambiguous, c.replays, c.mismatches);
  code(c.expired_replays);
  code(c.latency, c.latency_ok, c.attempt_latency, c.service_latency, c.queueing_time);
  code(c.latency_m, c.latency_ok_m, c.attempt_latency_m, c.service_latency_m, c.queueing_time_m);
  code(c.latency_intended, c.latency_intended_m, c.backoff_time_m);
  code(c.send_wait_ns, c.connection_wait_ns, c.backoff_total_ns, c.attempt_total_ns);
  code(c.by_attempt, c.quota_mean, c.has_quota, c.jobs, c.window, c.bins);
  code(c.counts, c.successes_per_client, c.ended_per_client);
}

void fields(auto& code, Any<ServiceFlow> auto& f) {
  code(f.arrivals, f.admitted, f.rejected, f.throttled, f.errors, f.completions, f.wasted);
  code(f.queue_ns, f.busy_ns, f.servers_ns, f.in_system_ns, f.in_system_squared_ns);
  code(f.all_busy_ns, f.queue_max);
}

void fields(auto& code, Any<ServiceResult> auto& s) {
  code(s.window, s.wasted_after_give_up_ns, s.wasted_full_ns, s.unused, s.failed);
  code(s.unlimited, s.nominal_servers, s.bins, s.queued);
}

void fields(auto& code, Any<RunResult> auto& r) {
  code(r.seed, r.replication, r.window_start, r.window_end, r.interval, r.ended);
  code(r.last_request_end, r.events, r.fingerprint, r.clients, r.services, r.all_bins);
  code(r.count_width, r.metastable);
}

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
  requires requires(Writer& w, const T& value) { fields(w, value); }
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
    const auto value = experiment::take<T>(bytes_);
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
  requires requires(Reader& r, T& value) { fields(r, value); }
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

}  // namespace retrysim::experiment
