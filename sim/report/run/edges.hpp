// What goes along the edges of the graph of services: from client groups to the services that they
// call, and from services to those below; before, during and after the first disturbance.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/document/document.hpp"
#include "report/run/evaluation.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::report {

/// What a client group sends in a stretch of time, in the mean of the replications.
struct EdgeFlow {
  std::optional<double> requests_per_s;
  std::optional<double> attempts;  ///< per request
  std::optional<double> success;   ///< share of the requests
};

/// An edge: a client group with arrivals of its own, or one by which a service calls others.
struct Edge {
  std::string client;                      ///< name of the group
  std::string caller;                      ///< of the group, or of the service that it belongs to
  std::vector<std::string> services = {};  ///< that it calls
  std::size_t depth = 0;                   ///< services in between
  EdgeFlow whole = {};                     ///< in the window
  /// Where there is a disturbance: `after` is when the group is back or, if it is never, from the
  /// end of the last disturbance on.
  std::optional<EdgeFlow> before = {}, during = {}, after = {};
  bool is_back = true;
};

/// The edges of each client group, in the order of calls.
std::vector<Edge> edges_of(const Evaluation& evaluation);

/// An array of them.
nlohmann::ordered_json edges_json(const Evaluation& evaluation);

/// A table of them, at most 80 columns wide: a line for each edge. Nothing if no service calls
/// another.
void show_edges(Document& document, const Evaluation& evaluation);

}  // namespace retrysim::report
