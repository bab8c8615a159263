// The access log of a simulated service as a CSV file: a row for each answer, in the order in which
// the answers were given, as a real server would log them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "report/document/csv_writer.hpp"
#include "report/folder/output.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace retrysim::report {

/// Writes the header at once, and a row for each entry that it is told of. Scenario and sink must
/// outlive it. Times are in seconds of simulated time. Names of requests are unique over all client
/// groups, and say nothing else.
class AccessLogWriter {
 public:
  AccessLogWriter(Sink& sink, const Scenario& scenario);

  void write(const AccessLogEntry& entry);

 private:
  CsvWriter csv_;
  std::vector<std::string> services_;  // names of services, as cells
  const Scenario& scenario_;
  std::string request_;
};

/// Whether a file begins like such a log.
bool is_access_log(const std::filesystem::path& file);

}  // namespace retrysim::report
