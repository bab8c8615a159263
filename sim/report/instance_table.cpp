// instances.csv: a row for each instance of each service that has several.
//
// SPDX-License-Identifier: MIT
#include "report/csv_writer.hpp"
#include "report/result_tables.hpp"

#include <cstddef>

namespace retrysim::report {
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

}  // namespace retrysim::report
