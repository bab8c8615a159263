// SPDX-License-Identifier: MIT
#include "result_table.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace retrysim::validation {
namespace {

constexpr const char* kColumns = "{:<18} {:<26} {:<34} {:>12} {:>12} {:>10} {:>7} {:>6} {:>9}  {}";

}  // namespace

std::string table_head() {
  const std::string names =
      fmt::format(fmt::runtime(kColumns), "case", "model", "quantity", "exact", "simulated",
                  "half-width", "%", "z", "requests", "verdict");
  return names + "\n" + std::string(names.size(), '-');
}

std::string table_rows(const CaseResult& result) {
  std::string lines;
  for (const RowResult& r : result.rows) {
    const bool has_z = r.row.closeness == Closeness::kInterval && r.half_width() > 0;
    if (!lines.empty()) lines += '\n';
    lines += fmt::format(
        fmt::runtime(kColumns), result.theory.id, result.theory.model, r.row.quantity,
        fmt::format("{:.7g}", r.row.exact), fmt::format("{:.7g}", r.simulated.mean),
        fmt::format("{:.2g}", r.half_width()),
        r.row.exact == 0 ? "-"
                         : fmt::format("{:.2f}", 100 * r.half_width() / std::abs(r.row.exact)),
        has_z ? fmt::format("{:.2f}", r.z()) : "-", fmt::format("{:.2g}", result.requests),
        to_string(r.verdict));
  }
  return lines;
}

std::string table_foot(const std::vector<CaseResult>& results) {
  std::array<std::size_t, 3> verdicts{};
  for (const CaseResult& c : results) {
    for (const RowResult& r : c.rows) ++verdicts[static_cast<std::size_t>(r.verdict)];
  }
  const auto [agree, disagree, inconclusive] = verdicts;
  return fmt::format(
      "{} rows of {} cases: {} agree, {} disagree, {} are inconclusive; root mean square of z, one "
      "row a case: {:.2f}",
      agree + disagree + inconclusive, results.size(), agree, disagree, inconclusive,
      rms_z(results));
}

}  // namespace retrysim::validation
