// The mean series of a result as compact JSON for its page.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The means of one quantity and half the widths of their intervals; NaN where there are none.
struct PageSeries {
  std::vector<double> means, halves;
};

/// What mean_timeseries.csv and mean_service.csv hold.
class PageSeriesTable {
 public:
  /// Reads both files. `variants` are the names in the order of their numbers on the page; rows of
  /// others make the file damaged.
  PageSeriesTable(const std::filesystem::path& folder, const std::vector<std::string>& variants);

  /// `[variant, ...]`, each `{"dt":width,"c":{client:{quantity:[means,halves]}},"s":{service:...}}`
  /// or null; in at most about `most_bytes`: if need be with bins joined by twos, whose intervals
  /// are then upper bounds. Where every value is the same, its number stands instead of the list; a
  /// quantity that never exists is left out.
  std::string json(std::size_t most_bytes) const;

 private:
  using Quantities = std::vector<std::pair<std::string, PageSeries>>;
  using Bearers = std::vector<std::pair<std::string, Quantities>>;
  struct Variant {
    double width_s = 0;
    Bearers clients, services;
  };

  void read(const std::filesystem::path& file, std::string_view bearer, Bearers Variant::*bearers,
            const std::map<std::string, std::size_t>& numbers);
  std::string json_of(std::size_t joined) const;
  static void append(std::string& out, const Bearers& bearers, std::size_t joined);

  std::vector<Variant> variants_;
};

}  // namespace retrysim::report
