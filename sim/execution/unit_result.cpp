// Layout: seed, events (64 bits each), clients, places of a client (32 bits each), one bit for each
// value that exists, and those values. Without clients: which limit was passed (8 bits), and the
// message. What is kept of the replication over time follows (series_bytes.hpp).
//
// SPDX-License-Identifier: MIT
#include "execution/unit_result.hpp"

#include "execution/byte_order.hpp"
#include "execution/series_bytes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace retrysim::execution {

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
  if (most_bins > 0) result.series = stats::run_series(scenario, run, most_bins);
  return result;
}

UnitResult over_limit(const LimitExceeded& error) {
  UnitResult result;
  result.limit = error.kind();
  result.message = error.what();
  return result;
}

std::string encode(const UnitResult& result) {
  std::string bytes;
  bytes.reserve(24 + result.values.size() * 9);
  put(bytes, result.seed);
  put(bytes, result.events);
  put(bytes, result.clients);
  put(bytes, static_cast<std::uint32_t>(MetricValues::places()));
  if (result.limit) {
    put(bytes, static_cast<std::uint8_t>(*result.limit));
    return bytes + result.message;
  }
  for (std::size_t i = 0; i < result.values.size(); i += 8) {
    unsigned char exist = 0;
    for (std::size_t k = 0; k < 8 && i + k < result.values.size(); ++k) {
      if (result.values[i + k]) exist = static_cast<unsigned char>(exist | 1u << k);
    }
    put(bytes, exist);
  }
  for (const std::optional<double>& value : result.values) {
    if (value) put(bytes, std::bit_cast<std::uint64_t>(*value));
  }
  if (result.series) put_series(bytes, *result.series);
  return bytes;
}

namespace {

std::optional<UnitResult> decode_limit(std::string_view bytes) {
  const auto kind = take<std::uint8_t>(bytes);
  if (!kind || *kind > static_cast<std::uint8_t>(LimitKind::kMemory)) return std::nullopt;
  UnitResult result;
  result.limit = static_cast<LimitKind>(*kind);
  result.message = bytes;
  return result;
}

}  // namespace

std::optional<UnitResult> decode(std::string_view bytes) {
  UnitResult result;
  const auto seed = take<std::uint64_t>(bytes);
  const auto events = take<std::uint64_t>(bytes);
  const auto clients = take<std::uint32_t>(bytes);
  const auto places = take<std::uint32_t>(bytes);
  if (!places || *places != MetricValues::places()) return std::nullopt;
  if (*clients == 0) return decode_limit(bytes);
  const std::size_t count = std::size_t{*clients} * *places;
  if (count / 8 > bytes.size()) return std::nullopt;
  std::string_view exist = bytes.substr(0, (count + 7) / 8);
  if (exist.size() < (count + 7) / 8) return std::nullopt;
  bytes.remove_prefix(exist.size());
  result.seed = *seed;
  result.events = *events;
  result.clients = *clients;
  result.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if ((static_cast<unsigned char>(exist[i / 8]) >> (i % 8) & 1u) == 0) continue;
    const auto bits = take<std::uint64_t>(bytes);
    if (!bits) return std::nullopt;
    result.values[i] = std::bit_cast<double>(*bits);
  }
  if (bytes.empty()) return result;
  result.series = take_series(bytes);
  if (!result.series || !bytes.empty()) return std::nullopt;
  return result;
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

}  // namespace retrysim::execution
