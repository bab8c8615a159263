// SPDX-License-Identifier: MIT
#include "report/comparison.hpp"

#include "report/comparison_words.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace retrysim::report {
namespace {

/// The index of a client of that name, or nothing.
std::optional<std::size_t> find_client(const Evaluation& e, const std::string& name) {
  for (std::size_t c = 0; c < e.clients(); ++c) {
    if (e.client_name(c) == name) return c;
  }
  return std::nullopt;
}

stats::Series series_of(const Evaluation& e, const std::string& client, std::size_t metric) {
  stats::Series series;
  const auto c = find_client(e, client);
  for (std::size_t r = 0; c && r < e.values.runs(); ++r) {
    series.push_back(e.values.at(r, *c, metric));
  }
  return series;
}

/// A group that is alone is the same as all together.
std::vector<std::string> clients_of(std::span<const Evaluation> evaluations) {
  std::vector<std::string> groups;
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c + 1 < e.clients(); ++c) {
      const std::string name = e.client_name(c);
      if (std::find(groups.begin(), groups.end(), name) == groups.end()) groups.push_back(name);
    }
  }
  if (groups.size() == 1) groups.clear();
  groups.emplace_back("all");
  return groups;
}

bool exists(const stats::PairedDifference& d) {
  return d.pairs + d.only_variant + d.only_baseline > 0;
}

}  // namespace

const ComparisonRow* Comparison::find(std::size_t variant, std::string_view client,
                                      const MetricInfo& metric) const {
  const auto of_variant = std::lower_bound(
      rows.begin(), rows.end(), variant,
      [](const ComparisonRow& row, std::size_t wanted) { return row.variant < wanted; });
  const auto found = std::find_if(of_variant, rows.end(), [&](const ComparisonRow& row) {
    return row.variant != variant || (row.client == client && row.metric == &metric);
  });
  return found == rows.end() || found->variant != variant ? nullptr : &*found;
}

Comparison compare(std::span<const Evaluation> evaluations,
                   std::vector<const MetricInfo*> metrics) {
  Comparison comparison;
  comparison.evaluations = evaluations;
  comparison.clients = clients_of(evaluations);
  comparison.metrics = std::move(metrics);
  std::vector<std::vector<ComparisonRow>> by_variant(evaluations.size());
  for (const std::string& client : comparison.clients) {
    for (const MetricInfo* metric : comparison.metrics) {
      const auto index = index_of(*metric);
      std::vector<stats::Series> variants;
      for (const Evaluation& e : evaluations.subspan(1)) {
        variants.push_back(series_of(e, client, index));
      }
      const auto test =
          is_proportion(*metric) ? stats::PairedTest::kMcNemar : stats::PairedTest::kStudent;
      const auto differences =
          stats::paired_differences(variants, series_of(evaluations.front(), client, index), test);
      for (std::size_t v = 0; v < differences.size(); ++v) {
        if (exists(differences[v])) {
          by_variant[v + 1].push_back({v + 1, client, metric, differences[v]});
        }
      }
    }
  }
  for (auto& rows : by_variant) {
    std::move(rows.begin(), rows.end(), std::back_inserter(comparison.rows));
  }
  return comparison;
}

}  // namespace retrysim::report
