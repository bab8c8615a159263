// SPDX-License-Identifier: MIT
#include "fit/counts.hpp"

#include "fit/service_time.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <tuple>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMaxBuckets = 1'000'000;

/// Calls `visit` with the counts of each series.
template <class Each>
void each_series(std::span<const Count> counts, const Each& visit) {
  for (std::size_t begin = 0, end = 0; begin < counts.size(); begin = end) {
    while (end < counts.size() && counts[end].series == counts[begin].series) ++end;
    visit(counts.subspan(begin, end - begin));
  }
}

[[noreturn]] void refuse_pauses(std::int64_t width_ns) {
  throw BadLog(fmt::format("the counts have pauses: they would be more than {} of {} each",
                           kMaxBuckets, time_words(static_cast<double>(width_ns) * 1e-9)));
}

}  // namespace

bool add_up_same_times(std::vector<Count>& counts) {
  std::ranges::stable_sort(counts, [](const Count& a, const Count& b) {
    return std::tie(a.series, a.time_ns) < std::tie(b.series, b.time_ns);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (kept > 0 && counts[kept - 1].series == counts[i].series &&
        counts[kept - 1].time_ns == counts[i].time_ns) {
      counts[kept - 1].requests += counts[i].requests;
    } else {
      counts[kept++] = counts[i];
    }
  }
  const bool any = kept < counts.size();
  counts.resize(kept);
  return any;
}

std::int64_t usual_distance(std::span<const Count> counts) {
  std::map<std::int64_t, std::size_t> distances;
  each_series(counts, [&](std::span<const Count> own) {
    for (std::size_t i = 1; i < own.size(); ++i) {
      const std::int64_t distance = own[i].time_ns - own[i - 1].time_ns;
      if (distance > 0) ++distances[distance];
    }
  });
  if (distances.empty()) return 0;
  return std::ranges::max_element(distances, {}, [](const auto& d) { return d.second; })->first;
}

bool Steps::only_grow() const {
  constexpr std::size_t kFewest = 10;
  return all >= kFewest && up > 0 && kFewest * down <= all;
}

Steps steps_of(std::span<const Count> counts) {
  Steps steps;
  each_series(counts, [&](std::span<const Count> own) {
    for (std::size_t i = 1; i < own.size(); ++i) {
      const double before = own[i - 1].requests, now = own[i].requests;
      ++steps.all;
      steps.up += now > before ? 1 : 0;
      steps.down += now < before ? 1 : 0;
      steps.resets += 2 * now < before ? 1 : 0;
    }
  });
  return steps;
}

std::vector<Count> differences(std::span<const Count> counts) {
  const std::int64_t width = usual_distance(counts);
  std::vector<Count> all;
  each_series(counts, [&](std::span<const Count> own) {
    for (std::size_t i = 1; i < own.size(); ++i) {
      const Count &before = own[i - 1], &now = own[i];
      const double grown =
          now.requests < before.requests ? now.requests : now.requests - before.requests;
      const auto widths = static_cast<std::size_t>(
          std::max<std::int64_t>(1, (now.time_ns - before.time_ns + width / 2) / width));
      if (widths > kMaxBuckets || all.size() > 10 * kMaxBuckets) refuse_pauses(width);
      for (std::size_t k = 0; k < widths; ++k) {
        all.push_back({before.time_ns + static_cast<std::int64_t>(k) * width,
                       grown / static_cast<double>(widths), now.series});
      }
    }
  });
  return all;
}

Buckets bucketed(std::span<const Count> counts, std::int64_t origin_ns, std::int64_t width_ns,
                 bool are_rates) {
  Buckets all;
  each_series(counts, [&](std::span<const Count> series) {
    // Times may be off by less than half of a bucket.
    const auto bucket_of = [&](const Count& count) {
      const auto at =
          static_cast<std::size_t>((count.time_ns - origin_ns + width_ns / 2) / width_ns);
      if (at >= kMaxBuckets) refuse_pauses(width_ns);
      return at;
    };
    const std::size_t first = bucket_of(series.front());
    std::vector<double> own;
    std::vector<std::size_t> samples;
    for (const Count& count : series) {
      const std::size_t at = bucket_of(count) - first;
      all.missing += at - std::min(at, own.size());
      if (!own.empty()) {
        own.resize(std::max(at, own.size()), own.back());
        samples.resize(own.size(), samples.back());
      }
      if (at < own.size()) {
        own[at] += count.requests;
        samples[at] += are_rates ? 1 : 0;
      } else {
        own.push_back(count.requests);
        samples.push_back(1);
      }
    }
    all.numbers.resize(std::max(all.numbers.size(), first + own.size()), 0);
    for (std::size_t i = 0; i < own.size(); ++i) {
      all.numbers[first + i] += own[i] / static_cast<double>(samples[i]);
    }
  });
  return all;
}

}  // namespace retrysim::fit
