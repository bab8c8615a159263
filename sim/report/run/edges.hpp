// The flows along the edges of the graph of services: from client groups to the services that they
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

/// The requests that a client group sends in a stretch of time, as means over the replications.
struct EdgeFlow {
  std::optional<double> requests_per_s;
  std::optional<double> attempts;  ///< attempts per request
  std::optional<double> success;   ///< share of the requests
};

/// An edge: a client group with arrivals of its own, or one by which a service calls others.
struct Edge {
  std::string client;                      ///< name of the client group
  std::string caller;                      ///< name of the group, or of the service it belongs to
  std::vector<std::string> services = {};  ///< services that it calls
  std::size_t depth = 0;                   ///< number of services in between
  EdgeFlow whole = {};                     ///< flow in the window
  /// Flows before, during and after a disturbance, if there is one. `after` begins when the group
  /// is back or, if it never is, at the end of the last disturbance.
  std::optional<EdgeFlow> before = {}, during = {}, after = {};
  bool is_back = true;
};

/// The edges of each client group, in the order of calls.
std::vector<Edge> edges_of(const Evaluation& evaluation);

/// The edges as an array of objects.
nlohmann::ordered_json edges_json(const Evaluation& evaluation);

/// Shows the edges as a table of at most 80 columns, a line for each edge. Nothing if no service
/// calls another.
void show_edges(Document& document, const Evaluation& evaluation);

}  // namespace retrysim::report
