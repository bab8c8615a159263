// Tables of distributions over the requests and attempts of the window: latency quantiles and
// counts by attempt number.
//
// SPDX-License-Identifier: MIT
#include "estimate/pooled_quantile.hpp"
#include "measure/metrics_merge.hpp"
#include "report/csv_writer.hpp"
#include "report/result_tables.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::report {
namespace {

struct Kind {
  std::string_view name;
  Histogram ClientResult::*histogram;
};

constexpr std::array<Kind, 5> kKinds = {{{"request", &ClientResult::latency},
                                         {"request_ok", &ClientResult::latency_ok},
                                         {"request_intended", &ClientResult::latency_intended},
                                         {"attempt", &ClientResult::attempt_latency},
                                         {"service", &ClientResult::service_latency}}};

constexpr std::array<double, 17> kQuantiles = {0.01, 0.02, 0.05, 0.1,  0.2,  0.3,  0.4,   0.5,  0.6,
                                               0.7,  0.8,  0.9,  0.95, 0.98, 0.99, 0.995, 0.999};

/// The cells that all rows of a client group share.
std::string first_cells_of_group(const Evaluation& e, std::size_t client) {
  return csv_cell(e.scenario().name) + ',' + csv_cell(e.set.variant) + ',' +
         csv_cell(e.client_name(client));
}

bool is_all(const Evaluation& e, std::size_t client) {
  return client >= e.scenario().clients.size();
}

/// The histograms of one client group, or (`merged`) of all groups, by replication.
std::vector<const Histogram*> histograms_of(const Evaluation& e, std::size_t client,
                                            const Kind& kind, std::vector<Histogram>& merged) {
  std::vector<const Histogram*> histograms;
  merged.clear();
  if (is_all(e, client)) merged.resize(e.set.runs.size());
  for (std::size_t r = 0; r < e.set.runs.size(); ++r) {
    const std::vector<ClientResult>& clients = e.set.runs[r].clients;
    if (is_all(e, client)) {
      for (std::size_t g = 0; g < clients.size(); ++g) {
        if (!e.scenario().clients[g].caller) merged[r].merge(clients[g].*kind.histogram);
      }
    }
    histograms.push_back(is_all(e, client) ? &merged[r] : &(clients[client].*kind.histogram));
  }
  return histograms;
}

void write_kind(CsvWriter& csv, const Evaluation& e, std::size_t client, const Kind& kind) {
  std::vector<Histogram> merged;
  const std::vector<const Histogram*> replications = histograms_of(e, client, kind, merged);
  Histogram pooled;
  for (const Histogram* histogram : replications) pooled.merge(*histogram);
  const std::string cells = first_cells_of_group(e, client);
  for (const double p : kQuantiles) {
    const auto quantile = stats::pooled_quantile(replications, pooled, p);
    if (!quantile) continue;
    csv.cells(cells).text(kind.name).real(p).real(quantile->value_s);
    csv.real(quantile->ci_low_s).real(quantile->ci_high_s).end_row();
  }
}

/// By replication and attempt number.
using AttemptCounts = std::vector<std::vector<AttemptNumberCounts>>;

AttemptCounts attempts_of(const Evaluation& e, std::size_t client) {
  AttemptCounts counts;
  for (const RunResult& run : e.set.runs) {
    counts.push_back(is_all(e, client) ? stats::merge_by_attempt(e.scenario(), run)
                                       : run.clients[client].by_attempt);
  }
  return counts;
}

constexpr std::array<std::string_view, 7> kAttemptColumns = {
    "sent", "successes", "throttled", "errors", "timeouts", "peak_sends_100ms", "in_backoff_mean"};

/// The numbers of one attempt number in one replication, by column.
std::array<double, kAttemptColumns.size()> attempt_numbers(const RunResult& run,
                                                           const AttemptNumberCounts& counts) {
  const auto of = [&](AttemptResult result) {
    return static_cast<double>(counts.results[static_cast<std::size_t>(result)]);
  };
  const std::int64_t window_ns = (run.window_end - run.window_start).count();
  return {static_cast<double>(counts.sent),
          of(AttemptResult::kSuccess),
          of(AttemptResult::kThrottled),
          of(AttemptResult::kError),
          of(AttemptResult::kTimeout),
          static_cast<double>(counts.peak_sends_100ms),
          window_ns > 0 ? counts.in_backoff_ns / static_cast<double>(window_ns) : 0};
}

/// Of each column; a replication without the attempt has zeros.
std::array<Estimate, kAttemptColumns.size()> estimate_attempt(const Evaluation& e,
                                                              const AttemptCounts& by_run,
                                                              std::size_t attempt) {
  std::array<std::vector<double>, kAttemptColumns.size()> values;
  for (std::size_t r = 0; r < by_run.size(); ++r) {
    const bool made = attempt < by_run[r].size();
    const auto numbers =
        attempt_numbers(e.set.runs[r], made ? by_run[r][attempt] : AttemptNumberCounts());
    for (std::size_t i = 0; i < values.size(); ++i) values[i].push_back(numbers[i]);
  }
  std::array<Estimate, kAttemptColumns.size()> estimates;
  for (std::size_t i = 0; i < values.size(); ++i) {
    estimates[i] = *estimate(values[i]);
    respect_range(estimates[i], MetricRange::kNotNegative);
  }
  return estimates;
}

void write_attempts(CsvWriter& csv, const Evaluation& e, std::size_t client) {
  const AttemptCounts by_run = attempts_of(e, client);
  std::size_t attempts = 0;
  for (const auto& counts : by_run) attempts = std::max(attempts, counts.size());
  const bool peak_known = !is_all(e, client) || e.scenario().clients.size() == 1;
  const auto known = [&](std::size_t column) {
    return peak_known || kAttemptColumns[column] != "peak_sends_100ms";
  };
  const std::string cells = first_cells_of_group(e, client);
  for (std::size_t a = 0; a < attempts; ++a) {
    const auto estimates = estimate_attempt(e, by_run, a);
    csv.cells(cells).integer(a + 1);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      csv.real(known(i) ? std::optional<double>(estimates[i].mean) : std::nullopt);
    }
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      csv.real(known(i) ? estimates[i].ci_low : std::nullopt);
      csv.real(known(i) ? estimates[i].ci_high : std::nullopt);
    }
    csv.end_row();
  }
}

}  // namespace

void write_latency_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header(
      {"scenario", "variant", "client", "kind", "quantile", "latency_s", "ci_low_s", "ci_high_s"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) {
      for (const Kind& kind : kKinds) write_kind(csv, e, c, kind);
    }
  }
}

void write_attempts_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header({"scenario",
              "variant",
              "client",
              "attempt",
              "sent",
              "successes",
              "throttled",
              "errors",
              "timeouts",
              "peak_sends_100ms",
              "in_backoff_mean",
              "sent_ci_low",
              "sent_ci_high",
              "successes_ci_low",
              "successes_ci_high",
              "throttled_ci_low",
              "throttled_ci_high",
              "errors_ci_low",
              "errors_ci_high",
              "timeouts_ci_low",
              "timeouts_ci_high",
              "peak_sends_100ms_ci_low",
              "peak_sends_100ms_ci_high",
              "in_backoff_mean_ci_low",
              "in_backoff_mean_ci_high"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) write_attempts(csv, e, c);
  }
}

}  // namespace retrysim::report
