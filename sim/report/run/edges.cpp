// SPDX-License-Identifier: MIT
#include "report/run/edges.hpp"

#include "flow/calls.hpp"
#include "kernel/stop.hpp"
#include "report/document/json.hpp"
#include "report/document/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFlowMetrics[] = {"offered_load", "amplification", "success_rate"};

EdgeFlow flow_of(auto&& mean_of) {
  return {mean_of(kFlowMetrics[0]), mean_of(kFlowMetrics[1]), mean_of(kFlowMetrics[2])};
}

EdgeFlow flow_of(const PhaseSummary& phase) {
  return flow_of([&](std::string_view metric) -> std::optional<double> {
    const Estimate* found = phase.find(metric);
    return found ? std::optional(found->mean) : std::nullopt;
  });
}

void add_phases(Edge& edge, const Evaluation& e) {
  const PhaseSummary* after = nullptr;
  for (const PhaseSummary& phase : e.phases) {
    if (phase.client != edge.client) continue;
    const PhaseKind kind = phase.phase.kind;
    if (kind == PhaseKind::kBefore && !edge.before) edge.before = flow_of(phase);
    if (kind == PhaseKind::kDuring && !edge.during) edge.during = flow_of(phase);
    if (kind == PhaseKind::kAfter) after = &phase;
    if (kind == PhaseKind::kRecovering && !after) after = &phase;
  }
  if (after == nullptr) return;
  edge.after = flow_of(*after);
  edge.is_back = after->phase.kind == PhaseKind::kAfter;
}

Json flow_json(const std::optional<EdgeFlow>& flow) {
  if (!flow) return {};
  Json json;
  json["requests_per_s"] = optional_json(flow->requests_per_s);
  json["attempts_per_request"] = optional_json(flow->attempts);
  json["success_share"] = optional_json(flow->success);
  return json;
}

/// A column with a figure of all edges: figures of the same phase stand below each other.
class FlowColumn {
 public:
  FlowColumn(const std::vector<Edge>& edges, std::optional<double> EdgeFlow::*figure,
             double scale) {
    const bool by_phase =
        std::ranges::any_of(edges, [](const Edge& e) { return e.during.has_value(); });
    for (const Edge& edge : edges) {
      std::vector<std::string> cells;
      const auto add = [&](const std::optional<EdgeFlow>& flow) {
        const std::optional<double> value = flow ? (*flow).*figure : std::nullopt;
        cells.push_back(value ? format_plain(*value * scale, 3) : "-");
      };
      if (by_phase) {
        for (const auto* flow : {&edge.before, &edge.during, &edge.after}) add(*flow);
      } else {
        add(edge.whole);
      }
      rows_.push_back(std::move(cells));
    }
    std::vector<std::size_t> widths(rows_.empty() ? 0 : rows_.front().size());
    for (const auto& cells : rows_) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        widths[i] = std::max(widths[i], cells[i].size());
      }
    }
    for (auto& cells : rows_) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        cells[i] = fmt::format("{:>{}}", cells[i], widths[i]);
      }
    }
  }

  std::string text(std::size_t row) const { return fmt::format("{}", fmt::join(rows_[row], "  ")); }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string cut_to(std::string name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

}  // namespace

std::vector<Edge> edges_of(const Evaluation& e) {
  const Scenario& scenario = e.scenario();
  const flow::CallGraph calls(scenario);
  std::vector<Edge> edges;
  for (const Layer& layer : call_order(scenario)) {
    stop_point();
    const ClientSpec& client = scenario.clients[layer.group];
    const std::optional<std::size_t> caller = calls.caller_of(layer.group);
    Edge edge{client.name, caller ? scenario.services[*caller].name : client.name};
    for (const std::size_t s : called_services(client)) {
      edge.services.push_back(scenario.services[s].name);
    }
    edge.depth = layer.depth;
    edge.whole = flow_of([&](std::string_view metric) -> std::optional<double> {
      const SummaryRow* row = e.row(client.name, metric);
      return row ? std::optional(row->estimate.mean) : std::nullopt;
    });
    add_phases(edge, e);
    edges.push_back(std::move(edge));
  }
  return edges;
}

Json edges_json(const Evaluation& e) {
  Json all = Json::array();
  for (const Edge& edge : edges_of(e)) {
    Json json;
    json["client"] = edge.client;
    json["caller"] = edge.caller;
    json["services"] = edge.services;
    json["depth"] = edge.depth;
    json["whole"] = flow_json(edge.whole);
    json["before"] = flow_json(edge.before);
    json["during"] = flow_json(edge.during);
    json["after"] = flow_json(edge.after);
    json["is_back"] = edge.is_back;
    all.push_back(std::move(json));
  }
  return all;
}

void show_edges(Document& d, const Evaluation& e) {
  constexpr std::size_t kColumns = 80, kBetween = 2, kShortest = 12;
  if (e.scenario().calls.empty()) return;
  const std::vector<Edge> edges = edges_of(e);
  const FlowColumn columns[] = {{edges, &EdgeFlow::requests_per_s, 1},
                                {edges, &EdgeFlow::attempts, 1},
                                {edges, &EdgeFlow::success, 100}};
  constexpr std::string_view kHeadings[] = {"requests/s", "attempts", "success %"};
  TextTable table;
  table.columns = {{"Calls", Side::kLeft}};
  std::size_t taken = 0;
  for (std::size_t i = 0; i < std::size(columns); ++i) {
    table.columns.push_back({std::string(kHeadings[i])});
    const std::size_t width = edges.empty() ? 0 : columns[i].text(0).size();
    taken += kBetween + std::max(width, kHeadings[i].size());
  }
  const std::size_t room = std::max(kShortest, kColumns - std::min(taken, kColumns));
  bool all_are_back = true;
  for (std::size_t row = 0; row < edges.size(); ++row) {
    const Edge& edge = edges[row];
    TextRow& line = table.rows.emplace_back();
    line.cells.emplace_back(cut_to(fmt::format("{}{} -> {}", std::string(2 * edge.depth, ' '),
                                               edge.caller, fmt::join(edge.services, ", ")),
                                   room));
    for (const FlowColumn& column : columns) line.cells.emplace_back(column.text(row));
    all_are_back = all_are_back && edge.is_back;
  }
  d.gap().show(std::move(table));
  const bool by_phase =
      std::ranges::any_of(edges, [](const Edge& edge) { return edge.during.has_value(); });
  std::string note = "attempts: per request; success: of requests";
  if (by_phase) note += "; before, during and after the first disturbance";
  if (by_phase && !all_are_back) note += " (after: also where goodput is not back)";
  d.say(note);
}

}  // namespace retrysim::report
