// Tables of distributions over the requests and attempts of the window: latency quantiles and
// counts by attempt number.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"
#include "report/result_tables.hpp"
#include "stats/metrics_merge.hpp"
#include "stats/pooled_quantile.hpp"

#include <algorithm>
#include <array>

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

void begin_row(CsvWriter& csv, const Evaluation& e, std::size_t client) {
  csv.text(e.scenario().name).text(e.set.variant).text(e.client_name(client));
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
  for (const double p : kQuantiles) {
    const auto quantile = stats::pooled_quantile(replications, pooled, p);
    if (!quantile) continue;
    begin_row(csv, e, client);
    csv.text(kind.name).real(p).real(quantile->value_s);
    csv.real(quantile->ci_low_s).real(quantile->ci_high_s).end_row();
  }
}

/// Sums over the replications for one attempt number.
struct AttemptSums {
  AttemptNumberCounts counts;
  double peaks = 0;
  double in_backoff = 0;  ///< mean number of requests, summed
};

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

AttemptSums sum_attempt(const Evaluation& e, const AttemptCounts& by_run, std::size_t attempt) {
  AttemptSums sums;
  for (std::size_t r = 0; r < by_run.size(); ++r) {
    if (attempt >= by_run[r].size()) continue;
    const AttemptNumberCounts& counts = by_run[r][attempt];
    sums.counts.sent += counts.sent;
    for (std::size_t i = 0; i < counts.results.size(); ++i) {
      sums.counts.results[i] += counts.results[i];
    }
    sums.peaks += static_cast<double>(counts.peak_sends_100ms);
    const RunResult& run = e.set.runs[r];
    const std::int64_t window_ns = (run.window_end - run.window_start).count();
    if (window_ns > 0) sums.in_backoff += counts.in_backoff_ns / static_cast<double>(window_ns);
  }
  return sums;
}

void write_attempts(CsvWriter& csv, const Evaluation& e, std::size_t client) {
  const AttemptCounts by_run = attempts_of(e, client);
  std::size_t attempts = 0;
  for (const auto& counts : by_run) attempts = std::max(attempts, counts.size());
  const double n = static_cast<double>(by_run.size());
  const bool peak_known = !is_all(e, client) || e.scenario().clients.size() == 1;
  for (std::size_t a = 0; a < attempts; ++a) {
    const AttemptSums sums = sum_attempt(e, by_run, a);
    begin_row(csv, e, client);
    csv.integer(a + 1).real(static_cast<double>(sums.counts.sent) / n);
    for (const AttemptResult result : {AttemptResult::kSuccess, AttemptResult::kThrottled,
                                       AttemptResult::kError, AttemptResult::kTimeout}) {
      csv.real(static_cast<double>(sums.counts.results[static_cast<std::size_t>(result)]) / n);
    }
    csv.real(peak_known ? std::optional<double>(sums.peaks / n) : std::nullopt);
    csv.real(sums.in_backoff / n).end_row();
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
  csv.header({"scenario", "variant", "client", "attempt", "sent", "successes", "throttled",
              "errors", "timeouts", "peak_sends_100ms", "in_backoff_mean"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) write_attempts(csv, e, c);
  }
}

}  // namespace retrysim::report
