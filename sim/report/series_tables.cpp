// Tables over time: one row for each bin of each client group and of each service.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"
#include "report/result_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace retrysim::report {
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
              "busy_mean", "servers", "in_service_mean"});
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
          csv.real((f.in_system_ns - f.queue_ns) / length_ns).end_row();
        }
      }
    }
  }
}

}  // namespace retrysim::report
