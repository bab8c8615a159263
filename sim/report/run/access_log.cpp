// SPDX-License-Identifier: MIT
#include "report/run/access_log.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string_view>

namespace retrysim::report {
namespace {

constexpr std::string_view kAccessLogHeader =
    "time,duration,status,service,instance,operation,request\n";

}  // namespace

AccessLogWriter::AccessLogWriter(Sink& sink, const Scenario& scenario)
    : csv_(sink), scenario_(scenario) {
  sink.write(kAccessLogHeader);
  for (const ServiceSpec& s : scenario.services) services_.push_back(csv_cell(s.name));
}

void AccessLogWriter::write(const AccessLogEntry& entry) {
  csv_.real(entry.answered.in_seconds()).real(entry.duration.in_seconds());
  csv_.integer(static_cast<std::uint64_t>(entry.status));
  csv_.cells(services_[entry.service]).integer(entry.instance + 1).text(entry.operation);
  request_.clear();
  fmt::format_to(std::back_inserter(request_), "{}-{:x}", scenario_.clients[entry.client].name,
                 entry.request);
  csv_.text(request_).end_row();
}

bool is_access_log(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(kAccessLogHeader.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && head == kAccessLogHeader;
}

}  // namespace retrysim::report
