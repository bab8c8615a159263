// SPDX-License-Identifier: MIT
#include "report/run/tables.hpp"

#include <retrysim/metrics.hpp>

#include "estimate/intervals.hpp"
#include "kernel/stop.hpp"
#include "measure/analyse/burstiness.hpp"
#include "measure/metrics/formulas.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

namespace {

/// The columns with which every table of runs begins, and `others`.
std::vector<ColumnInfo> columns_of_variant(std::initializer_list<ColumnInfo> others) {
  std::vector<ColumnInfo> columns = {text_column("scenario"), text_column("variant")};
  columns.insert(columns.end(), others.begin(), others.end());
  return columns;
}

TableBuilder& begin_row(TableBuilder& table, const Evaluation& e) {
  return table.text(e.scenario().name).text(e.set.variant);
}

}  // namespace

std::vector<ColumnInfo> summary_columns() {
  return columns_of_variant({text_column("client"), text_column("metric"), text_column("unit"),
                             real_column("mean", ""), real_column("ci_low", ""),
                             real_column("ci_high", ""), real_column("stddev", ""),
                             real_column("min", ""), real_column("max", ""),
                             integer_column("replications", "replications")});
}

void add_summary_rows(TableBuilder& table, std::string_view scenario, std::string_view variant,
                      std::span<const SummaryRow> rows) {
  for (const SummaryRow& row : rows) {
    table.text(scenario).text(variant).text(row.client);
    table.text(row.metric->name).text(row.metric->unit);
    table.real(row.estimate.mean).real(row.estimate.ci_low).real(row.estimate.ci_high);
    table.real(row.estimate.stddev).real(row.estimate.min).real(row.estimate.max);
    table.integer(row.estimate.count).end_row();
  }
}

TableSource summary_table(Evaluations evaluations) {
  return {"summary", summary_columns(), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              add_summary_rows(table, e.scenario().name, e.set.variant, e.summary);
            }
          }};
}

std::vector<ColumnInfo> phases_columns() {
  return columns_of_variant({text_column("client"), text_column("phase"), text_column("kind"),
                             real_column("start_s", "s"), real_column("end_s", "s"),
                             text_column("metric"), text_column("unit"), real_column("mean", ""),
                             real_column("ci_low", ""), real_column("ci_high", ""),
                             integer_column("replications", "replications")});
}

void add_phases_rows(TableBuilder& table, std::string_view scenario, std::string_view variant,
                     std::span<const PhaseSummary> phases) {
  for (const PhaseSummary& p : phases) {
    for (const PhaseEstimate& row : p.metrics) {
      table.text(scenario).text(variant).text(p.client).text(p.phase.name).text(name(p.phase.kind));
      table.real(p.start_s).real(p.end_s).text(row.metric->name).text(row.metric->unit);
      table.real(row.estimate.mean).real(row.estimate.ci_low).real(row.estimate.ci_high);
      table.integer(row.estimate.count).end_row();
    }
  }
}

TableSource phases_table(Evaluations evaluations) {
  return {"phases", phases_columns(), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              add_phases_rows(table, e.scenario().name, e.set.variant, e.phases);
            }
          }};
}

std::vector<ColumnInfo> replications_columns() {
  return columns_of_variant({integer_column("replication", "1"), integer_column("seed", "1"),
                             text_column("client"), text_column("metric"),
                             real_column("value", "")});
}

void add_replications_rows(TableBuilder& table, std::string_view scenario_name,
                           std::string_view variant, const Scenario& scenario,
                           const MetricValues& values) {
  const std::span<const MetricInfo> metrics = metric_table();
  for (std::size_t r = 0; r < values.runs(); ++r) {
    for (std::size_t c = 0; c < values.clients(); ++c) {
      const bool all = c == scenario.clients.size();
      const std::string_view client = all ? "all" : std::string_view(scenario.clients[c].name);
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        const std::optional<double> value = values.at(r, c, m);
        if (!value) continue;
        table.text(scenario_name).text(variant).integer(r).integer(scenario.seed);
        table.text(client).text(metrics[m].name).real(*value).end_row();
      }
    }
  }
}

TableSource replications_table(Evaluations evaluations) {
  return {"replications", replications_columns(), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              add_replications_rows(table, e.scenario().name, e.set.variant, e.scenario(),
                                    e.values);
            }
          }};
}

TableSource slo_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns =
      columns_of_variant({text_column("slo"),
                          text_column("event"),
                          real_column("start_s", "s"),
                          real_column("end_s", "s"),
                          real_column("share", "1"),
                          real_column("latency_s", "s"),
                          real_column("window_s", "s"),
                          real_column("requests_per_window", "requests"),
                          real_column("budget", "requests"),
                          real_column("requests", "requests"),
                          real_column("bad", "requests"),
                          real_column("failed", "requests"),
                          real_column("slow", "requests"),
                          real_column("budget_used", "1"),
                          real_column("budget_used_ci_low", "1"),
                          real_column("budget_used_ci_high", "1"),
                          real_column("burn_rate", "1"),
                          real_column("outage_s", "s"),
                          real_column("users", "clients"),
                          real_column("users_hurt", "clients"),
                          real_column("retries", "attempts"),
                          real_column("retries_cost", "1"),
                          real_column("events_per_year", "1"),
                          real_column("year_budget_used", "1"),
                          integer_column("ended", "replications"),
                          integer_column("replications", "replications")});
  return {"slo", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (const stats::SloSummary& row : e.slos) {
                const stats::SloFigures& m = row.mean;
                const bool any = row.slo->latency == Duration::max();
                begin_row(table, e).text(row.slo->name).text(row.event.name);
                table.real(row.event.start.in_seconds()).real(m.end_s).real(row.slo->share);
                table.real(any ? std::nullopt : std::optional(row.slo->latency.in_seconds()));
                table.real(row.slo->window.in_seconds()).real(m.requests_per_window);
                table.real(m.budget).real(m.requests).real(m.bad).real(m.failed).real(m.slow);
                table.real(row.used.mean).real(row.used.ci_low).real(row.used.ci_high);
                table.real(m.burn_rate).real(m.outage_s).real(row.users).real(m.users_hurt);
                table.real(m.retries).real(m.retries_cost).real(row.per_year);
                table.real(row.year_used()).integer(row.ended).integer(row.runs).end_row();
              }
            }
          }};
}

TableSource storms_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {integer_column("replication", "1"), integer_column("storm", "1"),
       real_column("onset_s", "s"), real_column("end_s", "s"),
       real_column("peak_attempt_rate", "1/s"), real_column("peak_amplification", "1"),
       real_column("extra_attempts", "attempts"), real_column("trigger_end_s", "s"),
       real_column("recovery_s", "s"), text_column("verdict"), real_column("duration_s", "s"),
       real_column("peak_load_ratio", "1"), real_column("predicted_drain_s", "s"),
       real_column("recovery_ratio", "1"), real_column("offered_work", "1"),
       real_column("twin_recovery_s", "s")});
  return {"storms", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (std::size_t r = 0; r < e.storms.size(); ++r) {
                for (std::size_t s = 0; s < e.storms[r].size(); ++s) {
                  const stats::Storm& storm = e.storms[r][s];
                  begin_row(table, e).integer(e.set.runs[r].replication).integer(s + 1);
                  table.real(storm.onset_s).real(storm.end_s);
                  table.real(storm.peak_attempt_rate).real(storm.peak_amplification);
                  table.real(storm.extra_attempts).real(storm.trigger_end_s);
                  table.real(storm.recovery_s).text(name(storm.verdict)).real(storm.duration_s());
                  table.real(storm.peak_load_ratio).real(storm.predicted_drain_s());
                  table.real(storm.recovery_ratio()).real(storm.aftermath.offered_work);
                  table.real(storm.twin_recovery_s).end_row();
                }
              }
            }
          }};
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

void add_client_bin(TableBuilder& table, const ClientBin& bin, double length_ns) {
  const ClientFlow& f = bin.flow;
  for (const std::uint64_t n : {f.requests, f.attempts, f.retries, f.successes, f.failures,
                                f.throttled, f.errors, f.timeouts, f.quota_denied}) {
    table.integer(n);
  }
  table.real(f.limiter_waiting_ns / length_ns);
  table.real(f.in_backoff_ns / length_ns).real(f.in_flight_ns / length_ns);
  if (bin.latency_count > 0) {
    table.real(bin.latency_p50_s).real(bin.latency_p99_s);
  } else {
    table.missing().missing();
  }
  table.integer(f.refused).real(f.breaker_open_ns / length_ns).end_row();
}

void add_service_bin(TableBuilder& table, const ServiceFlow& f, bool unlimited, double length_ns) {
  for (const std::uint64_t n :
       {f.arrivals, f.admitted, f.rejected, f.throttled, f.completions, f.wasted}) {
    table.integer(n);
  }
  table.real(f.queue_ns / length_ns).integer(f.queue_max).real(f.busy_ns / length_ns);
  if (unlimited) {
    table.missing();
  } else {
    table.real(f.servers_ns / length_ns);
  }
  table.real((f.in_system_ns - f.queue_ns) / length_ns).integer(f.errors).end_row();
}

}  // namespace

TableSource timeseries_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {integer_column("replication", "1"), text_column("client"), real_column("time_s", "s"),
       integer_column("requests", "requests"), integer_column("attempts", "attempts"),
       integer_column("retries", "attempts"), integer_column("successes", "requests"),
       integer_column("failures", "requests"), integer_column("throttled", "attempts"),
       integer_column("errors", "attempts"), integer_column("timeouts", "attempts"),
       integer_column("quota_denied", "requests"), real_column("limiter_waiting", "requests"),
       real_column("in_backoff", "requests"), real_column("in_flight", "attempts"),
       real_column("latency_p50_s", "s"), real_column("latency_p99_s", "s"),
       integer_column("breaker_refused", "attempts"), real_column("breakers_open", "clients")});
  return {"timeseries", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (const RunResult& run : e.set.runs) {
                for (std::size_t c = 0; c < e.clients(); ++c) {
                  const auto& bins = c < run.clients.size() ? run.clients[c].bins : run.all_bins;
                  const std::string client = e.client_name(c);
                  for (std::size_t i = 0; i < bins.size(); ++i) {
                    begin_row(table, e).integer(run.replication).text(client);
                    table.real(start_s(run, i));
                    add_client_bin(table, bins[i], width_ns(run));
                  }
                }
              }
            }
          }};
}

TableSource service_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {integer_column("replication", "1"), text_column("service"), real_column("time_s", "s"),
       integer_column("arrivals", "attempts"), integer_column("admitted", "attempts"),
       integer_column("rejected", "attempts"), integer_column("throttled", "attempts"),
       integer_column("completions", "attempts"), integer_column("wasted", "attempts"),
       real_column("queue_mean", "attempts"), integer_column("queue_max", "attempts"),
       real_column("busy_mean", "servers"), real_column("servers", "servers"),
       real_column("in_service_mean", "attempts"), integer_column("errors", "attempts")});
  return {"service", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (const RunResult& run : e.set.runs) {
                for (std::size_t s = 0; s < run.services.size(); ++s) {
                  const ServiceResult& service = run.services[s];
                  for (std::size_t i = 0; i < service.bins.size(); ++i) {
                    begin_row(table, e).integer(run.replication);
                    table.text(e.scenario().services[s].name).real(start_s(run, i));
                    add_service_bin(table, service.bins[i], service.unlimited, width_ns(run));
                  }
                }
              }
            }
          }};
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

void add_kind(TableBuilder& table, const Evaluation& e, std::size_t client, const Kind& kind) {
  std::vector<Histogram> merged;
  const std::vector<const Histogram*> replications = histograms_of(e, client, kind, merged);
  Histogram pooled;
  for (const Histogram* histogram : replications) pooled.merge(*histogram);
  for (const double p : kQuantiles) {
    const auto quantile = stats::pooled_quantile(replications, pooled, p);
    if (!quantile) continue;
    begin_row(table, e).text(e.client_name(client)).text(kind.name).real(p);
    table.real(quantile->value_s).real(quantile->ci_low_s).real(quantile->ci_high_s).end_row();
  }
}

/// Counts by replication and attempt number.
using AttemptCounts = std::vector<std::vector<AttemptNumberCounts>>;

AttemptCounts attempts_of(const Evaluation& e, std::size_t client) {
  AttemptCounts counts;
  for (const RunResult& run : e.set.runs) {
    counts.push_back(is_all(e, client) ? stats::merge_by_attempt(e.scenario(), run)
                                       : run.clients[client].by_attempt);
  }
  return counts;
}

struct AttemptColumn {
  std::string_view name, unit;
};
constexpr std::array<AttemptColumn, 7> kAttemptColumns = {{{"sent", "attempts"},
                                                           {"successes", "attempts"},
                                                           {"throttled", "attempts"},
                                                           {"errors", "attempts"},
                                                           {"timeouts", "attempts"},
                                                           {"peak_sends_100ms", "attempts"},
                                                           {"in_backoff_mean", "requests"}}};

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

/// The estimate in each column; a replication without the attempt has zeros.
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

void add_attempts(TableBuilder& table, const Evaluation& e, std::size_t client) {
  const AttemptCounts by_run = attempts_of(e, client);
  std::size_t attempts = 0;
  for (const auto& counts : by_run) attempts = std::max(attempts, counts.size());
  const bool peak_known = !is_all(e, client) || e.scenario().clients.size() == 1;
  const auto known = [&](std::size_t column) {
    return peak_known || kAttemptColumns[column].name != "peak_sends_100ms";
  };
  for (std::size_t a = 0; a < attempts; ++a) {
    const auto estimates = estimate_attempt(e, by_run, a);
    begin_row(table, e).text(e.client_name(client)).integer(a + 1);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      table.real(known(i) ? std::optional<double>(estimates[i].mean) : std::nullopt);
    }
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      table.real(known(i) ? estimates[i].ci_low : std::nullopt);
      table.real(known(i) ? estimates[i].ci_high : std::nullopt);
    }
    table.end_row();
  }
}

}  // namespace

TableSource latency_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {text_column("client"), text_column("kind"), real_column("quantile", "1"),
       real_column("latency_s", "s"), real_column("ci_low_s", "s"), real_column("ci_high_s", "s")});
  return {"latency", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (std::size_t c = 0; c < e.clients(); ++c) {
                for (const Kind& kind : kKinds) add_kind(table, e, c, kind);
              }
            }
          }};
}

TableSource attempts_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns =
      columns_of_variant({text_column("client"), integer_column("attempt", "1")});
  for (const AttemptColumn& c : kAttemptColumns) columns.push_back(real_column(c.name, c.unit));
  for (const AttemptColumn& c : kAttemptColumns) {
    columns.push_back(real_column(std::string(c.name) + "_ci_low", c.unit));
    columns.push_back(real_column(std::string(c.name) + "_ci_high", c.unit));
  }
  return {"attempts", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (std::size_t c = 0; c < e.clients(); ++c) add_attempts(table, e, c);
            }
          }};
}

// burstiness.csv: how attempts arrive, by window width and by lag.

namespace {

constexpr std::size_t kMaxLags = 100;

/// The values of every replication by window width or lag, in seconds.
using ByScale = std::map<double, std::vector<double>>;

void add_statistic(TableBuilder& table, const Evaluation& e, std::size_t client,
                   std::string_view statistic, MetricRange range, const ByScale& values) {
  for (const auto& [scale_s, replications] : values) {
    auto of_all = estimate(replications);
    respect_range(*of_all, range);
    begin_row(table, e).text(e.client_name(client)).text(statistic).real(scale_s);
    table.real(of_all->mean).real(of_all->ci_low).real(of_all->ci_high).end_row();
  }
}

void add_burstiness(TableBuilder& table, const Evaluation& e, std::size_t client) {
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
  add_statistic(table, e, client, "dispersion_index", MetricRange::kNotNegative, dispersion);
  add_statistic(table, e, client, "autocorrelation", MetricRange::kCorrelation, correlation);
}

}  // namespace

TableSource burstiness_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {text_column("client"), text_column("statistic"), real_column("scale_s", "s"),
       real_column("mean", "1"), real_column("ci_low", "1"), real_column("ci_high", "1")});
  return {"burstiness", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (std::size_t c = 0; c < e.clients(); ++c) add_burstiness(table, e, c);
            }
          }};
}

// instances.csv: a row for each instance of each service that has several.

namespace {

void add_instance(TableBuilder& table, const InstanceResult& r, double window_ns) {
  table.integer(r.attempts);
  for (const std::uint64_t n : r.results) table.integer(n);
  const auto mean = [&](double integral_ns) { return window_ns > 0 ? integral_ns / window_ns : 0; };
  table.real(mean(r.busy_ns)).real(mean(r.in_system_ns - r.queue_ns)).real(mean(r.queue_ns));
  table.integer(r.queue_max).real(mean(r.out_ns)).end_row();
}

}  // namespace

TableSource instances_table(Evaluations evaluations) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {integer_column("replication", "1"), text_column("service"), integer_column("instance", "1"),
       integer_column("attempts", "attempts"), integer_column("successes", "attempts"),
       integer_column("throttled", "attempts"), integer_column("errors", "attempts"),
       integer_column("timeouts", "attempts"), integer_column("abandoned", "attempts"),
       real_column("busy_mean", "servers"), real_column("in_service_mean", "attempts"),
       real_column("queue_mean", "attempts"), integer_column("queue_max", "attempts"),
       real_column("out_of_rotation_share", "1")});
  return {"instances", std::move(columns), [evaluations](TableBuilder& table) {
            for (const Evaluation& e : evaluations) {
              for (const RunResult& run : e.set.runs) {
                const auto window_ns =
                    static_cast<double>((run.window_end - run.window_start).count());
                for (std::size_t s = 0; s < run.services.size(); ++s) {
                  const std::vector<InstanceResult>& instances = run.services[s].instances;
                  for (std::size_t i = 0; i < instances.size(); ++i) {
                    begin_row(table, e).integer(run.replication);
                    table.text(e.scenario().services[s].name).integer(i + 1);
                    add_instance(table, instances[i], window_ns);
                  }
                }
              }
            }
          }};
}

// What happened over time in the mean of the replications.

namespace {

using Estimates = std::vector<std::optional<Estimate>>;

std::vector<ColumnInfo> mean_columns(std::string_view bearer,
                                     std::span<const stats::SeriesColumn> series) {
  std::vector<ColumnInfo> columns = columns_of_variant(
      {text_column(bearer), real_column("time_s", "s"), real_column("width_s", "s")});
  for (const stats::SeriesColumn& column : series) {
    add_with_interval(columns, column.name, column.unit);
  }
  return columns;
}

/// Adds the rows of one client group or service.
void add_mean_rows(TableBuilder& table, const Scenario& scenario, std::string_view variant,
                   std::string_view bearer, const stats::MeanSeries& series,
                   const Estimates& estimates, std::size_t columns) {
  for (std::size_t bin = 0; bin < series.bins; ++bin) {
    const Duration start =
        Duration::nanoseconds(series.width.count() * static_cast<std::int64_t>(bin));
    table.text(scenario.name).text(variant).text(bearer);
    table.real(start.in_seconds()).real(series.width.in_seconds());
    for (std::size_t column = 0; column < columns; ++column) {
      const std::optional<Estimate>& e = estimates[bin * columns + column];
      if (!e) {
        table.missing().missing().missing();
        continue;
      }
      table.six_digits(e->mean).six_digits(e->ci_low).six_digits(e->ci_high);
    }
    table.end_row();
  }
}

stats::MeanSeries series_of(const Evaluation& e) {
  std::vector<stats::RunSeries> runs;
  for (const RunResult& run : e.set.runs) {
    runs.push_back(stats::run_series(e.scenario(), run, kMaxBins));
  }
  return stats::mean_series(std::move(runs));
}

/// Keeps the series of the evaluation that was asked for last: both tables of a run need the same.
class LastSeries {
 public:
  const stats::MeanSeries& of(const Evaluation& e) {
    if (of_ != &e) series_ = series_of(e);
    of_ = &e;
    return series_;
  }

 private:
  const Evaluation* of_ = nullptr;
  stats::MeanSeries series_;
};

}  // namespace

std::vector<ColumnInfo> mean_timeseries_columns() {
  return mean_columns("client", stats::client_columns());
}

void add_mean_timeseries_rows(TableBuilder& table, const Scenario& scenario,
                              std::string_view variant, const stats::MeanSeries& series) {
  for (std::size_t c = 0; c < series.clients.size(); ++c) {
    const std::string client = c < scenario.clients.size() ? scenario.clients[c].name : "all";
    add_mean_rows(table, scenario, variant, client, series, series.clients[c],
                  stats::client_columns().size());
  }
}

std::vector<ColumnInfo> mean_service_columns() {
  return mean_columns("service", stats::service_columns());
}

void add_mean_service_rows(TableBuilder& table, const Scenario& scenario, std::string_view variant,
                           const stats::MeanSeries& series) {
  for (std::size_t s = 0; s < series.services.size(); ++s) {
    add_mean_rows(table, scenario, variant, scenario.services[s].name, series, series.services[s],
                  stats::service_columns().size());
  }
}

namespace {

bool has_phases(const Evaluation& e) { return !e.phases.empty(); }

bool has_several_instances(const Evaluation& e) {
  return std::any_of(e.scenario().services.begin(), e.scenario().services.end(),
                     [](const ServiceSpec& s) { return s.instances.count > 1; });
}

}  // namespace

std::vector<TableSource> run_tables(Evaluations evaluations) {
  std::vector<TableSource> tables = {summary_table(evaluations),    replications_table(evaluations),
                                     timeseries_table(evaluations), service_table(evaluations),
                                     latency_table(evaluations),    attempts_table(evaluations),
                                     burstiness_table(evaluations), storms_table(evaluations)};
  const auto series = std::make_shared<LastSeries>();
  const auto add = [&](std::string_view file, std::vector<ColumnInfo> columns, auto add_rows) {
    tables.push_back({table_name(file), std::move(columns),
                      [evaluations, series, add_rows](TableBuilder& table) {
                        for (const Evaluation& e : evaluations) {
                          add_rows(table, e.scenario(), e.set.variant, series->of(e));
                        }
                      }});
  };
  add(kMeanTimeseries, mean_timeseries_columns(), add_mean_timeseries_rows);
  add(kMeanService, mean_service_columns(), add_mean_service_rows);
  if (std::any_of(evaluations.begin(), evaluations.end(), has_phases)) {
    tables.push_back(phases_table(evaluations));
  }
  const auto has_slos = [](const Evaluation& e) { return !e.slos.empty(); };
  if (std::any_of(evaluations.begin(), evaluations.end(), has_slos)) {
    tables.push_back(slo_table(evaluations));
  }
  if (std::any_of(evaluations.begin(), evaluations.end(), has_several_instances)) {
    tables.push_back(instances_table(evaluations));
  }
  return tables;
}

}  // namespace retrysim::report
