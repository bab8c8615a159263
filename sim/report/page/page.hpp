// The page of `retrysim report`: one HTML file with everything in it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "report/document/document.hpp"
#include "report/document/result_table.hpp"
#include "report/folder/manifest.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// The beginning of a page that this program has written.
inline constexpr const char* kPageHead = "<!doctype html><!-- retrysim report -->\n";

/// The page for the results in `folders`, at least one. Throws DamagedResult.
std::string html_page(std::span<const std::filesystem::path> folders);

/// The beginning of a page that scripts/page has written.
inline constexpr const char* kEnginePageHead = "<!doctype html><!-- retrysim page -->\n";

/// The engine in a page that scripts/page has written, encoded as in the page. Throws DamagedResult
/// if the file is no such page, or was made by another version.
std::string engine_of_page(const std::filesystem::path& page);

/// The page for the result of `run` in `folder`, which computes further results with the engine.
/// Throws DamagedResult, also if the result is of another command.
std::string live_page(const std::filesystem::path& folder, std::string_view engine);

// JSON inside a page: short numbers, and texts that no browser takes for markup.

/// Appends `value`, a finite number, rounded to `digits` significant digits.
void append_compact(std::string& out, double value, int digits);

/// `value` rounded to `digits` digits, as a whole number where it is one; null if it is not finite.
nlohmann::ordered_json compact(double value, int digits = 6);

/// A JSON string in quotes; bytes that are not UTF-8 are replaced.
std::string json_text(std::string_view text);

/// `json` for a script element: it contains no `<`, so that no text ends the element.
std::string json_for_script(const nlohmann::ordered_json& json);

// The style and the script of the page, which CMake puts into the program from sim/report/page.

struct PageParts {
  std::string style, script;
  std::string style_sha256, script_sha256;  ///< SHA-256 of each, in hexadecimal digits
};

/// The parts of a report's page; with `live`, of one that has the engine.
const PageParts& page_parts(bool live);

// The mean series of a result as compact JSON for its page.

/// The means of one quantity and half the widths of their intervals; missing values are NaN.
struct PageSeries {
  std::vector<double> means, halves;
};

/// The content of mean_timeseries.csv and mean_service.csv.
class PageSeriesTable {
 public:
  /// Reads both tables. `variants` are the names in the order of their numbers on the page. Throws
  /// DamagedResult if a row has another variant.
  PageSeriesTable(const ResultTable& clients, const ResultTable& services,
                  const std::vector<std::string>& variants);

  /// `[variant, ...]`, each `{"dt":width,"c":{client:{quantity:[means,halves]}},"s":{service:...}}`
  /// or null; in at most about `most_bytes`: if necessary, bins are joined in pairs, and the
  /// intervals are then upper bounds. A list of equal values is written as a single number; a
  /// quantity that never exists is left out.
  std::string json(std::size_t most_bytes) const;
  /// The time, s, until which attempts are sent, or requests succeed or wait for a retry, in any
  /// variant: a herd may be over long before the run is. 0 if that never happens.
  double end_of_action() const;

 private:
  using Quantities = std::vector<std::pair<std::string, PageSeries>>;
  using Bearers = std::vector<std::pair<std::string, Quantities>>;
  struct Variant {
    double width_s = 0;
    Bearers clients, services;
  };

  void read(const ResultTable& table, std::string_view bearer, Bearers Variant::*bearers,
            const std::map<std::string, std::size_t>& numbers);
  std::string json_of(std::size_t joined) const;
  static void append(std::string& out, const Bearers& bearers, std::size_t joined);

  std::vector<Variant> variants_;
};

// Results for the page of `retrysim report`.

/// The data of one result on a page.
struct PageResult {
  std::string title;     ///< see `Heading`
  std::string metadata;  ///< JSON: everything but the figures over time
  std::string series;    ///< JSON, see `PageSeriesTable::json`; "[]" if there is none
};

/// Reads the result in `folder`, of any command. The series take about `most_bytes` at most. Throws
/// DamagedResult if a file is missing, damaged or not as expected.
PageResult read_page_result(const std::filesystem::path& folder, std::size_t most_bytes);

/// The data of a result of `scenario` that has not been written: the same as from a folder with the
/// scenario's name and the files that `document` describes.
PageResult page_result(const Document& document, const LoadedScenario& scenario,
                       const ResultIdentity& answers, std::size_t most_bytes);

}  // namespace retrysim::report
