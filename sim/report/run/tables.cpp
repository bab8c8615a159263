// SPDX-License-Identifier: MIT
#include "report/run/tables.hpp"

#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/summary.hpp>

#include "estimate/intervals.hpp"
#include "measure/analyse/burstiness.hpp"
#include "measure/metrics/formulas.hpp"
#include "report/document/csv_writer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

void write_summary_header(CsvWriter& csv) {
  csv.header({"scenario", "variant", "client", "metric", "unit", "mean", "ci_low", "ci_high",
              "stddev", "min", "max", "replications"});
}

void write_summary_rows(CsvWriter& csv, std::string_view scenario, std::string_view variant,
                        std::span<const SummaryRow> rows) {
  const std::string first_cells = csv_cell(scenario) + ',' + csv_cell(variant) + ',';
  std::string client, cells;
  for (const SummaryRow& row : rows) {
    if (cells.empty() || row.client != client) {
      client = row.client;
      cells = first_cells + csv_cell(client);
    }
    // The names of metrics and units need no quotes.
    csv.cells(cells).cells(row.metric->name).cells(row.metric->unit);
    csv.real(row.estimate.mean).real(row.estimate.ci_low).real(row.estimate.ci_high);
    csv.real(row.estimate.stddev).real(row.estimate.min).real(row.estimate.max);
    csv.integer(row.estimate.count).end_row();
  }
}

void write_summary_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  write_summary_header(csv);
  for (const Evaluation& e : evaluations) {
    write_summary_rows(csv, e.scenario().name, e.set.variant, e.summary);
  }
}

void write_phases_header(CsvWriter& csv) {
  csv.header({"scenario", "variant", "client", "phase", "kind", "start_s", "end_s", "metric",
              "unit", "mean", "ci_low", "ci_high", "replications"});
}

void write_phases_rows(CsvWriter& csv, std::string_view scenario, std::string_view variant,
                       std::span<const PhaseSummary> phases) {
  for (const PhaseSummary& p : phases) {
    const std::string cells = csv_cell(scenario) + ',' + csv_cell(variant) + ',' +
                              csv_cell(p.client) + ',' + csv_cell(p.phase.name) + ',' +
                              std::string(name(p.phase.kind)) + ',' + number(p.start_s) + ',' +
                              number(p.end_s);
    for (const PhaseEstimate& row : p.metrics) {
      csv.cells(cells).cells(row.metric->name).cells(row.metric->unit);
      csv.real(row.estimate.mean).real(row.estimate.ci_low).real(row.estimate.ci_high);
      csv.integer(row.estimate.count).end_row();
    }
  }
}

void write_phases_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  write_phases_header(csv);
  for (const Evaluation& e : evaluations) {
    write_phases_rows(csv, e.scenario().name, e.set.variant, e.phases);
  }
}

void write_replications_header(CsvWriter& csv) {
  csv.header({"scenario", "variant", "replication", "seed", "client", "metric", "value"});
}

void write_replications_rows(CsvWriter& csv, std::string_view scenario_name,
                             std::string_view variant, const Scenario& scenario,
                             const MetricValues& values) {
  const std::span<const MetricInfo> table = metric_table();
  const std::string first_cells = csv_cell(scenario_name) + ',' + csv_cell(variant) + ',';
  for (std::size_t r = 0; r < values.runs(); ++r) {
    for (std::size_t c = 0; c < values.clients(); ++c) {
      const bool all = c == scenario.clients.size();
      const std::string_view client = all ? "all" : std::string_view(scenario.clients[c].name);
      const std::string cells = first_cells + std::to_string(r) + ',' +
                                std::to_string(scenario.seed) + ',' + csv_cell(client);
      for (std::size_t m = 0; m < table.size(); ++m) {
        const std::optional<double> value = values.at(r, c, m);
        if (value) csv.cells(cells).cells(table[m].name).real(*value).end_row();
      }
    }
  }
}

void write_replications_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  write_replications_header(csv);
  for (const Evaluation& e : evaluations) {
    write_replications_rows(csv, e.scenario().name, e.set.variant, e.scenario(), e.values);
  }
}

void write_storms_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "replication", "storm", "onset_s", "end_s",
              "peak_attempt_rate", "peak_amplification", "extra_attempts", "trigger_end_s",
              "recovery_s", "verdict", "duration_s", "peak_load_ratio", "predicted_drain_s",
              "recovery_ratio", "offered_work", "twin_recovery_s"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t r = 0; r < e.storms.size(); ++r) {
      for (std::size_t s = 0; s < e.storms[r].size(); ++s) {
        const stats::Storm& storm = e.storms[r][s];
        csv.text(e.scenario().name).text(e.set.variant);
        csv.integer(e.set.runs[r].replication).integer(s + 1);
        csv.real(storm.onset_s).real(storm.end_s);
        csv.real(storm.peak_attempt_rate).real(storm.peak_amplification);
        csv.real(storm.extra_attempts).real(storm.trigger_end_s).real(storm.recovery_s);
        csv.text(name(storm.verdict)).real(storm.duration_s()).real(storm.peak_load_ratio);
        csv.real(storm.predicted_drain_s()).real(storm.recovery_ratio());
        csv.real(storm.aftermath.offered_work).real(storm.twin_recovery_s).end_row();
      }
    }
  }
}

// Tables over time: a row for each bin of each client group, or of each service.

namespace {

/// Start of a bin in seconds. Dividing the whole number of nanoseconds gives the nearest double,
/// which prints as the decimal that a reader expects.
double start_s(const RunResult& run, std::size_t bin) {
  return static_cast<double>(run.interval.count() * static_cast<std::int64_t>(bin)) / 1e9;
}

/// Every bin is recorded over its whole width, the last one too: levels hold after the last event.
double width_ns(const RunResult& run) { return static_cast<double>(run.interval.count()); }

/// The cells that all bins of a client group or a service share.
std::string first_cells_of_bins(const Evaluation& e, const RunResult& run,
                                std::string_view bearer) {
  return csv_cell(e.scenario().name) + ',' + csv_cell(e.set.variant) + ',' +
         std::to_string(run.replication) + ',' + csv_cell(bearer);
}

void write_client_bin(CsvWriter& csv, const ClientBin& bin, double length_ns) {
  const ClientFlow& f = bin.flow;
  for (const std::uint64_t n : {f.requests, f.attempts, f.retries, f.successes, f.failures,
                                f.throttled, f.errors, f.timeouts, f.quota_denied}) {
    csv.integer(n);
  }
  csv.real(f.limiter_waiting_ns / length_ns);
  csv.real(f.in_backoff_ns / length_ns).real(f.in_flight_ns / length_ns);
  if (bin.latency_count > 0) {
    csv.real(bin.latency_p50_s).real(bin.latency_p99_s);
  } else {
    csv.empty().empty();
  }
  csv.end_row();
}

}  // namespace

void write_timeseries_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "replication", "client", "time_s", "requests", "attempts",
              "retries", "successes", "failures", "throttled", "errors", "timeouts", "quota_denied",
              "limiter_waiting", "in_backoff", "in_flight", "latency_p50_s", "latency_p99_s"});
  for (const Evaluation& e : evaluations) {
    for (const RunResult& run : e.set.runs) {
      for (std::size_t c = 0; c < e.clients(); ++c) {
        const auto& bins = c < run.clients.size() ? run.clients[c].bins : run.all_bins;
        const std::string cells = first_cells_of_bins(e, run, e.client_name(c));
        for (std::size_t i = 0; i < bins.size(); ++i) {
          csv.cells(cells).real(start_s(run, i));
          write_client_bin(csv, bins[i], width_ns(run));
        }
      }
    }
  }
}

void write_service_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "replication", "service", "time_s", "arrivals", "admitted",
              "rejected", "throttled", "completions", "wasted", "queue_mean", "queue_max",
              "busy_mean", "servers", "in_service_mean", "errors"});
  for (const Evaluation& e : evaluations) {
    for (const RunResult& run : e.set.runs) {
      for (std::size_t s = 0; s < run.services.size(); ++s) {
        const ServiceResult& service = run.services[s];
        const std::string cells = first_cells_of_bins(e, run, e.scenario().services[s].name);
        for (std::size_t i = 0; i < service.bins.size(); ++i) {
          const ServiceFlow& f = service.bins[i];
          const double length_ns = width_ns(run);
          csv.cells(cells).real(start_s(run, i));
          for (const std::uint64_t n :
               {f.arrivals, f.admitted, f.rejected, f.throttled, f.completions, f.wasted}) {
            csv.integer(n);
          }
          csv.real(f.queue_ns / length_ns).integer(f.queue_max).real(f.busy_ns / length_ns);
          if (service.unlimited) {
            csv.empty();
          } else {
            csv.real(f.servers_ns / length_ns);
          }
          csv.real((f.in_system_ns - f.queue_ns) / length_ns).integer(f.errors).end_row();
        }
      }
    }
  }
}

// Tables of distributions over the requests and attempts of the window: latency quantiles and
// counts by attempt number.

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
        if (!e.scenario().clients[g].makes_calls()) merged[r].merge(clients[g].*kind.histogram);
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
  for (const char* name : {"scenario", "variant", "client", "attempt"}) csv.text(name);
  for (const std::string_view name : kAttemptColumns) csv.text(name);
  for (const std::string_view name : kAttemptColumns) {
    csv.text(std::string(name) + "_ci_low").text(std::string(name) + "_ci_high");
  }
  csv.end_row();
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) write_attempts(csv, e, c);
  }
}

// burstiness.csv: how attempts arrive, by window width and by lag.

namespace {

constexpr std::size_t kMaxLags = 100;

/// The values of every replication by window width or lag, in seconds.
using ByScale = std::map<double, std::vector<double>>;

void write_rows(CsvWriter& csv, const Evaluation& e, std::size_t client, std::string_view statistic,
                MetricRange range, const ByScale& values) {
  const std::string cells = csv_cell(e.scenario().name) + ',' + csv_cell(e.set.variant) + ',' +
                            csv_cell(e.client_name(client)) + ',' + csv_cell(statistic);
  for (const auto& [scale_s, replications] : values) {
    auto of_all = estimate(replications);
    respect_range(*of_all, range);
    csv.cells(cells)
        .real(scale_s)
        .real(of_all->mean)
        .real(of_all->ci_low)
        .real(of_all->ci_high)
        .end_row();
  }
}

void write_client(CsvWriter& csv, const Evaluation& e, std::size_t client) {
  ByScale dispersion, correlation;
  for (const RunResult& run : e.set.runs) {
    stop_point();
    const bool all = client >= run.clients.size();
    const auto& bins = all ? run.all_bins : run.clients[client].bins;
    const stats::ArrivalCounts every_bin = stats::arrival_counts(run, bins, false);
    for (const auto& [window_s, index] : stats::dispersion_ladder(every_bin)) {
      dispersion[window_s].push_back(index);
    }
    const stats::ArrivalCounts arrivals = stats::arrival_counts(run, bins);
    const auto lags =
        stats::autocorrelations(arrivals.counts, std::min(kMaxLags, arrivals.counts.size() / 4));
    for (std::size_t lag = 1; lag < lags.size(); ++lag) {
      correlation[static_cast<double>(lag) * arrivals.bin_s].push_back(lags[lag]);
    }
  }
  write_rows(csv, e, client, "dispersion_index", MetricRange::kNotNegative, dispersion);
  write_rows(csv, e, client, "autocorrelation", MetricRange::kCorrelation, correlation);
}

}  // namespace

void write_burstiness_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header(
      {"scenario", "variant", "client", "statistic", "scale_s", "mean", "ci_low", "ci_high"});
  for (const Evaluation& e : evaluations) {
    for (std::size_t c = 0; c < e.clients(); ++c) write_client(csv, e, c);
  }
}

// instances.csv: a row for each instance of each service that has several.

namespace {

void write_instance(CsvWriter& csv, const InstanceResult& r, double window_ns) {
  csv.integer(r.attempts);
  for (const std::uint64_t n : r.results) csv.integer(n);
  const auto mean = [&](double integral_ns) { return window_ns > 0 ? integral_ns / window_ns : 0; };
  csv.real(mean(r.busy_ns)).real(mean(r.in_system_ns - r.queue_ns)).real(mean(r.queue_ns));
  csv.integer(r.queue_max).real(mean(r.out_ns)).end_row();
}

}  // namespace

void write_instances_csv(Sink& sink, Evaluations evaluations) {
  CsvWriter csv(sink);
  csv.header({"scenario", "variant", "replication", "service", "instance", "attempts", "successes",
              "throttled", "errors", "timeouts", "abandoned", "busy_mean", "in_service_mean",
              "queue_mean", "queue_max", "out_of_rotation_share"});
  for (const Evaluation& e : evaluations) {
    for (const RunResult& run : e.set.runs) {
      const auto window_ns = static_cast<double>((run.window_end - run.window_start).count());
      for (std::size_t s = 0; s < run.services.size(); ++s) {
        const std::vector<InstanceResult>& instances = run.services[s].instances;
        for (std::size_t i = 0; i < instances.size(); ++i) {
          csv.text(e.scenario().name).text(e.set.variant).integer(run.replication);
          csv.text(e.scenario().services[s].name).integer(i + 1);
          write_instance(csv, instances[i], window_ns);
        }
      }
    }
  }
}

namespace {

using Estimates = std::vector<std::optional<Estimate>>;
using SeriesColumns = std::span<const stats::SeriesColumn>;

void write_header(Sink& sink, std::string_view bearer, SeriesColumns columns) {
  CsvWriter csv(sink);
  csv.text("scenario").text("variant").text(bearer).text("time_s").text("width_s");
  for (const stats::SeriesColumn& column : columns) {
    const std::string name(column.name);
    csv.text(name).text(name + "_ci_low").text(name + "_ci_high");
  }
  csv.end_row();
}

void write_rows(CsvWriter& csv, const std::string& first_cells, const stats::MeanSeries& series,
                const Estimates& estimates, std::size_t columns) {
  for (std::size_t bin = 0; bin < series.bins; ++bin) {
    const Duration start =
        Duration::nanoseconds(series.width.count() * static_cast<std::int64_t>(bin));
    csv.cells(first_cells).real(start.in_seconds()).real(series.width.in_seconds());
    for (std::size_t column = 0; column < columns; ++column) {
      const std::optional<Estimate>& e = estimates[bin * columns + column];
      if (!e) {
        csv.empty().empty().empty();
        continue;
      }
      csv.six_digits(e->mean).six_digits(e->ci_low).six_digits(e->ci_high);
    }
    csv.end_row();
  }
}

std::string first_cells(const Scenario& scenario, std::string_view variant,
                        std::string_view bearer) {
  return csv_cell(scenario.name) + "," + csv_cell(variant) + "," + csv_cell(bearer);
}

stats::MeanSeries series_of(const Evaluation& e) {
  std::vector<stats::RunSeries> runs;
  for (const RunResult& run : e.set.runs) {
    runs.push_back(stats::run_series(e.scenario(), run, kMaxBins));
  }
  return stats::mean_series(std::move(runs));
}

}  // namespace

void write_mean_timeseries_header(Sink& sink) {
  write_header(sink, "client", stats::client_columns());
}

void write_mean_timeseries_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                                const stats::MeanSeries& series) {
  CsvWriter csv(sink);
  for (std::size_t c = 0; c < series.clients.size(); ++c) {
    const std::string client = c < scenario.clients.size() ? scenario.clients[c].name : "all";
    write_rows(csv, first_cells(scenario, variant, client), series, series.clients[c],
               stats::client_columns().size());
  }
}

void write_mean_service_header(Sink& sink) {
  write_header(sink, "service", stats::service_columns());
}

void write_mean_service_rows(Sink& sink, const Scenario& scenario, std::string_view variant,
                             const stats::MeanSeries& series) {
  CsvWriter csv(sink);
  for (std::size_t s = 0; s < series.services.size(); ++s) {
    write_rows(csv, first_cells(scenario, variant, scenario.services[s].name), series,
               series.services[s], stats::service_columns().size());
  }
}

void write_mean_series_csv(Sink& timeseries, Sink& service, Evaluations evaluations) {
  write_mean_timeseries_header(timeseries);
  write_mean_service_header(service);
  for (const Evaluation& e : evaluations) {
    const stats::MeanSeries series = series_of(e);
    write_mean_timeseries_rows(timeseries, e.scenario(), e.set.variant, series);
    write_mean_service_rows(service, e.scenario(), e.set.variant, series);
  }
}

}  // namespace retrysim::report
