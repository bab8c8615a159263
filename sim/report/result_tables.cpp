// Tables of single numbers: metrics and storms.
//
// SPDX-License-Identifier: MIT
#include "report/result_tables.hpp"

#include <retrysim/metrics.hpp>

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

}  // namespace retrysim::report
