// Writes and reads results as bytes: little-endian, doubles bit by bit.
//
// SPDX-License-Identifier: MIT
#include "execution/run_bytes.hpp"

#include <retrysim/run.hpp>

#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::execution {

std::string encode(const RunResult& run) { return pack(run); }

RunResult decode_run(std::string_view bytes) {
  RunResult run;
  unpack(bytes, run);
  return run;
}

// --- A replication over time ---------------------------------------------------------------------

// Layout: width of a bin in nanoseconds, bins (64 bits each), groups, services (32 bits each),
// whether it drained (8 bits); then the sums of each group and service: two bits for each sum, and
// the sums that are not zero, as 8, 32 or 64 bits.

namespace {

using stats::RunSeries;

enum class Size : std::uint8_t { kZero, kByte, kWord, kDouble };

bool is_whole_up_to(double value, double most) {
  return value >= 0 && value <= most &&
         static_cast<double>(static_cast<std::uint32_t>(value)) == value;
}

Size size_of(double value) {
  if (std::bit_cast<std::uint64_t>(value) == 0) return Size::kZero;
  if (std::bit_cast<std::uint64_t>(value) >> 63 != 0) return Size::kDouble;
  if (is_whole_up_to(value, 0xFF)) return Size::kByte;
  return is_whole_up_to(value, 0xFFFF'FFFF) ? Size::kWord : Size::kDouble;
}

void put_sums(std::string& bytes, const std::vector<double>& sums) {
  for (std::size_t i = 0; i < sums.size(); i += 4) {
    unsigned sizes = 0;
    for (std::size_t k = 0; k < 4 && i + k < sums.size(); ++k) {
      sizes |= static_cast<unsigned>(size_of(sums[i + k])) << (2 * k);
    }
    put(bytes, static_cast<std::uint8_t>(sizes));
  }
  for (const double value : sums) {
    switch (size_of(value)) {
      case Size::kZero:
        break;
      case Size::kByte:
        put(bytes, static_cast<std::uint8_t>(value));
        break;
      case Size::kWord:
        put(bytes, static_cast<std::uint32_t>(value));
        break;
      case Size::kDouble:
        put(bytes, std::bit_cast<std::uint64_t>(value));
        break;
    }
  }
}

std::optional<double> take_sum(std::string_view& bytes, Size size) {
  switch (size) {
    case Size::kZero:
      return 0.0;
    case Size::kByte:
      return take<std::uint8_t>(bytes);
    case Size::kWord:
      return take<std::uint32_t>(bytes);
    case Size::kDouble:
      break;
  }
  const auto bits = take<std::uint64_t>(bytes);
  return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
}

bool take_sums(std::string_view& bytes, std::vector<double>& sums, std::uint64_t count) {
  const std::uint64_t size_bytes = (count + 3) / 4;
  if (size_bytes > bytes.size()) return false;
  const std::string_view sizes = bytes.substr(0, size_bytes);
  bytes.remove_prefix(sizes.size());
  sums.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned bits = static_cast<unsigned char>(sizes[i / 4]);
    const auto sum = take_sum(bytes, static_cast<Size>(bits >> (2 * (i % 4)) & 3u));
    if (!sum) return false;
    sums.push_back(*sum);
  }
  return true;
}

}  // namespace

void put_series(std::string& bytes, const RunSeries& series) {
  put(bytes, static_cast<std::uint64_t>(series.width.count()));
  put(bytes, static_cast<std::uint64_t>(series.bins));
  put(bytes, static_cast<std::uint32_t>(series.clients.size()));
  put(bytes, static_cast<std::uint32_t>(series.services.size()));
  put(bytes, static_cast<std::uint8_t>(series.drained));
  for (const auto& sums : series.clients) put_sums(bytes, sums);
  for (const auto& sums : series.services) put_sums(bytes, sums);
}

std::optional<RunSeries> take_series(std::string_view& bytes) {
  const auto width = take<std::uint64_t>(bytes);
  const auto bins = take<std::uint64_t>(bytes);
  const auto clients = take<std::uint32_t>(bytes);
  const auto services = take<std::uint32_t>(bytes);
  const auto drained = take<std::uint8_t>(bytes);
  // Every sum takes at least two bits, and every group has a sum, so that a damaged size is found
  // before memory is reserved.
  if (!width || !bins || !clients || !services || !drained) return std::nullopt;
  if (*bins == 0 || *bins > bytes.size()) return std::nullopt;
  RunSeries series;
  series.width = Duration::nanoseconds(static_cast<std::int64_t>(*width));
  series.bins = *bins;
  series.drained = *drained != 0;
  for (std::uint32_t c = 0; c < *clients; ++c) {
    if (!take_sums(bytes, series.clients.emplace_back(), *bins * stats::kClientSums)) return {};
  }
  for (std::uint32_t s = 0; s < *services; ++s) {
    if (!take_sums(bytes, series.services.emplace_back(), *bins * stats::kServiceSums)) return {};
  }
  return series;
}

// --- A replication of an experiment --------------------------------------------------------------

// Layout: seed, events (64 bits each), clients, places of a client (32 bits each); without clients
// then which limit was passed (8 bits), and the message. Otherwise phases, places of a phase (32
// bits each); one bit for each value that exists, and those values, first of the run and then of
// the phases. Then a byte that is 1 if the replication does not tell whether all recover, followed
// by the durations that would, as figures are written. If the replication is kept over time there
// follow the number of figures for verdicts (32 bits), these figures, those that are not zero as
// the values above, and the series (run_bytes.hpp).

UnitResult measure(const Scenario& scenario, const RunResult& run, std::size_t most_bins) {
  UnitResult result;
  result.seed = run.seed;
  result.events = run.events;
  result.clients = static_cast<std::uint32_t>(scenario.clients.size() + 1);
  const MetricValues values(scenario, std::span(&run, 1));
  for (std::size_t c = 0; c < values.clients(); ++c) {
    for (std::size_t place = 0; place < MetricValues::places(); ++place) {
      result.values.push_back(values.at(0, c, place));
    }
  }
  std::vector<std::optional<double>> not_before_s;
  const std::size_t censored = index_of(*find_metric("recovery_censored_s"));
  for (std::size_t c = 0; c < values.clients(); ++c) {
    not_before_s.push_back(values.at(0, c, censored));
  }
  result.to_judge_s = stats::durations_to_judge_s(scenario, run, not_before_s);
  const PhaseValues phases(scenario, std::span(&run, 1));
  result.phases = static_cast<std::uint32_t>(phases.phases());
  result.phase_values = phases.all();
  if (most_bins > 0) {
    result.series = stats::run_series(scenario, run, most_bins);
    result.verdict_figures = verdict_figures(scenario, run);
  }
  return result;
}

UnitResult over_limit(const LimitExceeded& error) {
  UnitResult result;
  result.limit = error.kind();
  result.message = error.what();
  return result;
}

namespace {

void put_values(std::string& bytes, std::span<const std::optional<double>> values) {
  for (std::size_t i = 0; i < values.size(); i += 8) {
    unsigned char exist = 0;
    for (std::size_t k = 0; k < 8 && i + k < values.size(); ++k) {
      if (values[i + k]) exist = static_cast<unsigned char>(exist | 1u << k);
    }
    put(bytes, exist);
  }
  for (const std::optional<double>& value : values) {
    if (value) put(bytes, std::bit_cast<std::uint64_t>(*value));
  }
}

/// Takes `count` values from the front of `bytes`; false if there are not as many.
bool take_values(std::string_view& bytes, std::size_t count,
                 std::vector<std::optional<double>>& values) {
  if (count / 8 > bytes.size()) return false;
  const std::string_view exist = bytes.substr(0, (count + 7) / 8);
  if (exist.size() < (count + 7) / 8) return false;
  bytes.remove_prefix(exist.size());
  values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if ((static_cast<unsigned char>(exist[i / 8]) >> (i % 8) & 1u) == 0) continue;
    const auto bits = take<std::uint64_t>(bytes);
    if (!bits) return false;
    values[i] = std::bit_cast<double>(*bits);
  }
  return true;
}

void put_figures(std::string& bytes, const std::vector<double>& figures) {
  std::vector<std::optional<double>> values;
  for (const double x : figures) values.push_back(x == 0 ? std::nullopt : std::optional(x));
  put(bytes, static_cast<std::uint32_t>(values.size()));
  put_values(bytes, values);
}

bool take_figures(std::string_view& bytes, std::vector<double>& figures) {
  const auto count = take<std::uint32_t>(bytes);
  std::vector<std::optional<double>> values;
  if (!count || !take_values(bytes, *count, values)) return false;
  for (const std::optional<double>& x : values) figures.push_back(x.value_or(0));
  return true;
}

std::optional<UnitResult> decode_limit(std::string_view bytes) {
  const auto kind = take<std::uint8_t>(bytes);
  if (!kind || *kind > static_cast<std::uint8_t>(LimitKind::kMemory)) return std::nullopt;
  UnitResult result;
  result.limit = static_cast<LimitKind>(*kind);
  result.message = bytes;
  return result;
}

}  // namespace

std::string encode(const UnitResult& result) {
  std::string bytes;
  bytes.reserve(32 + (result.values.size() + result.phase_values.size()) * 9);
  put(bytes, result.seed);
  put(bytes, result.events);
  put(bytes, result.clients);
  put(bytes, static_cast<std::uint32_t>(MetricValues::places()));
  if (result.limit) {
    put(bytes, static_cast<std::uint8_t>(*result.limit));
    return bytes + result.message;
  }
  put(bytes, result.phases);
  put(bytes, static_cast<std::uint32_t>(PhaseValues::places()));
  put_values(bytes, result.values);
  put_values(bytes, result.phase_values);
  put(bytes, static_cast<std::uint8_t>(!result.to_judge_s.empty()));
  if (!result.to_judge_s.empty()) put_figures(bytes, result.to_judge_s);
  if (result.series) {
    put_figures(bytes, result.verdict_figures);
    put_series(bytes, *result.series);
  }
  return bytes;
}

std::optional<UnitResult> decode(std::string_view bytes) {
  UnitResult result;
  const auto seed = take<std::uint64_t>(bytes);
  const auto events = take<std::uint64_t>(bytes);
  const auto clients = take<std::uint32_t>(bytes);
  const auto places = take<std::uint32_t>(bytes);
  if (!places || *places != MetricValues::places()) return std::nullopt;
  if (*clients == 0) return decode_limit(bytes);
  const auto phases = take<std::uint32_t>(bytes);
  const auto phase_places = take<std::uint32_t>(bytes);
  if (!phase_places || *phase_places != PhaseValues::places()) return std::nullopt;
  result.seed = *seed;
  result.events = *events;
  result.clients = *clients;
  result.phases = *phases;
  const std::size_t values = std::size_t{*clients} * *places;
  if (!take_values(bytes, values, result.values)) return std::nullopt;
  // Each value takes at least one bit, so that a damaged number of phases takes no memory.
  const std::size_t of_phase = std::size_t{*clients} * *phase_places;
  if (*phases > 0 && of_phase > 8 * bytes.size() / *phases) return std::nullopt;
  if (!take_values(bytes, of_phase * *phases, result.phase_values)) return std::nullopt;
  const auto is_untold = take<std::uint8_t>(bytes);
  if (!is_untold || *is_untold > 1) return std::nullopt;
  if (*is_untold == 1 &&
      (!take_figures(bytes, result.to_judge_s) || result.to_judge_s.size() != result.clients)) {
    return std::nullopt;
  }
  if (bytes.empty()) return result;
  if (!take_figures(bytes, result.verdict_figures)) return std::nullopt;
  result.series = take_series(bytes);
  if (!result.series || !bytes.empty()) return std::nullopt;
  return result;
}

bool is_over_limit(std::string_view bytes) {
  take<std::uint64_t>(bytes);  // seed
  take<std::uint64_t>(bytes);  // events
  return take<std::uint32_t>(bytes) == 0u;
}

MetricValues combine(std::span<const UnitResult> replications) {
  std::vector<std::optional<double>> values;
  std::size_t clients = 1;
  for (const UnitResult& r : replications) {
    values.insert(values.end(), r.values.begin(), r.values.end());
    clients = r.clients;
  }
  return MetricValues(replications.size(), clients, std::move(values));
}

PhaseValues combine_phases(std::span<const UnitResult> replications) {
  std::vector<std::optional<double>> values;
  std::size_t clients = 1, phases = 0;
  for (const UnitResult& r : replications) {
    assert(&r == replications.data() || (r.clients == clients && r.phases == phases));
    values.insert(values.end(), r.phase_values.begin(), r.phase_values.end());
    clients = r.clients;
    phases = r.phases;
  }
  return PhaseValues(replications.size(), clients, phases, std::move(values));
}

}  // namespace retrysim::execution
