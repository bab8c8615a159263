// SPDX-License-Identifier: MIT
#include "explain/graph_case.hpp"

#include "kernel/stop.hpp"
#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace retrysim::explain {

namespace {

/// The stretches of the scenario's disturbances, without measurements.
std::vector<GraphStretch> planned_stretches(const Scenario& scenario) {
  std::vector<GraphStretch> all;
  for (const Phase& phase : phases_of(scenario)) {
    if (phase.kind == PhaseKind::kNamed) continue;
    all.push_back({phase.kind, phase.name, phase.start.in_seconds(), phase.end.in_seconds()});
  }
  const bool disturbed =
      std::ranges::any_of(all, [](const GraphStretch& s) { return s.kind == PhaseKind::kDuring; });
  if (!disturbed) {
    all = {{PhaseKind::kDuring, "", scenario.warmup.in_seconds(), scenario.duration.in_seconds()}};
  }
  for (GraphStretch& s : all) {
    s.services.resize(scenario.services.size());
    s.groups.resize(scenario.clients.size());
    s.made.resize(scenario.clients.size());
  }
  return all;
}

/// The bins of a run that lie inside each stretch; for a stretch shorter than a bin, the bins that
/// it touches.
class BinsOfStretches {
 public:
  BinsOfStretches(const Scenario& scenario, const RunResult& run, std::size_t stretches) {
    std::vector<std::pair<Time, Time>> spans;
    const std::vector<Phase> phases = phases_of(scenario);
    for (std::size_t p = 0; p < std::min(phases.size(), run.all_phases.size()); ++p) {
      if (phases[p].kind == PhaseKind::kNamed) continue;
      spans.emplace_back(run.all_phases[p].start, run.all_phases[p].end);
    }
    if (spans.size() != stretches) spans = {{run.window_start, run.window_end}};
    spans.resize(stretches);
    for (const auto& [start, end] : spans) bins_.push_back(inside(run, start, end));
  }

  stats::BinRange of(std::size_t stretch) const { return bins_[stretch]; }

 private:
  static stats::BinRange inside(const RunResult& run, Time start, Time end) {
    const std::int64_t width = run.interval.count();
    if (width <= 0 || end <= start) return {};
    const std::int64_t from = (start - Time::zero()).count(), to = (end - Time::zero()).count();
    const auto bin = [](std::int64_t number) { return static_cast<std::size_t>(number); };
    const stats::BinRange whole = {bin((from + width - 1) / width), bin(to / width)};
    return whole.first < whole.last
               ? whole
               : stats::BinRange{bin(from / width), bin((to + width - 1) / width)};
  }

  std::vector<stats::BinRange> bins_;
};

/// The speed of a service's servers from one change to the next.
class Speeds {
 public:
  Speeds(const Scenario& scenario, std::size_t service)
      : scenario_(scenario), service_(service), changes_(capacity_changes(scenario, service)) {}

  /// The speed in the middle of a bin. Bins of a run are asked for in the order of time.
  CapacityLeft at(Time middle) {
    const auto next = std::ranges::upper_bound(changes_, middle) - changes_.begin();
    if (next != known_) left_ = capacity_left(scenario_, service_, middle), known_ = next;
    return left_;
  }

 private:
  const Scenario& scenario_;
  std::size_t service_;
  std::vector<Time> changes_;
  std::ptrdiff_t known_ = -1;
  CapacityLeft left_;
};

double to_real(std::uint64_t count) { return static_cast<double>(count); }

class GraphBuilder {
 public:
  GraphBuilder(GraphCase& graph, std::span<const RunResult> runs) : g_(graph), runs_(runs) {}

  void build() {
    for (const RunResult& run : runs_) {
      stop_point();
      const BinsOfStretches bins(g_.scenario, run, g_.stretches.size());
      for (std::size_t s = 0; s < g_.stretches.size(); ++s) {
        add_groups(run, bins.of(s), g_.stretches[s]);
      }
      add_made(run);
    }
    for (std::size_t service = 0; service < g_.scenario.services.size(); ++service) {
      add_service(service);
    }
  }

 private:
  void add_groups(const RunResult& run, stats::BinRange bins, GraphStretch& stretch) const {
    const std::size_t groups = std::min(stretch.groups.size(), run.clients.size());
    for (std::size_t g = 0; g < groups; ++g) {
      stop_point();
      const std::vector<ClientBin>& own = run.clients[g].bins;
      const std::size_t last = std::min(bins.last, own.size());
      for (std::size_t i = bins.first; i < last; ++i) stretch.groups[g].merge(own[i].flow);
      if (g == 0 && last > bins.first) {
        stretch.seconds += run.interval.in_seconds() * static_cast<double>(last - bins.first);
      }
    }
  }

  void add_made(const RunResult& run) const {
    const std::vector<Phase> phases = phases_of(g_.scenario);
    const bool disturbed =
        std::ranges::any_of(phases, [](const Phase& p) { return p.kind == PhaseKind::kDuring; });
    for (std::size_t g = 0; g < std::min(g_.scenario.clients.size(), run.clients.size()); ++g) {
      const ClientResult& r = run.clients[g];
      if (!disturbed) {
        add(g_.stretches.front().made[g], r.requests, r.attempts);
        continue;
      }
      std::size_t stretch = 0;
      for (std::size_t p = 0; p < std::min(phases.size(), r.phases.size()); ++p) {
        if (phases[p].kind == PhaseKind::kNamed) continue;
        const PhaseRequests& made = r.phases[p].made;
        add(g_.stretches[stretch++].made[g], made.requests(), made.attempts);
      }
    }
  }
  static void add(GroupVolume& to, std::uint64_t requests, std::uint64_t attempts) {
    to.requests += to_real(requests);
    to.attempts += to_real(attempts);
  }

  /// Own server time of an attempt of each group, at full speed, s; 0 for groups that do not call
  /// the service.
  std::vector<double> own_seconds(std::size_t service) const {
    std::vector<double> seconds(g_.scenario.clients.size());
    for (std::size_t g = 0; g < seconds.size(); ++g) {
      const ClientSpec& c = g_.scenario.clients[g];
      const double share = share_of_calls(c, service);
      if (share > 0) {
        seconds[g] = share * flow::service_seconds_at(g_.scenario, c, service);
      }
    }
    return seconds;
  }

  void add_service(std::size_t service) {
    const std::vector<double> own = own_seconds(service);
    Speeds speeds(g_.scenario, service);
    constexpr std::size_t kGroupsPerLook = 65'536;  // of all bins
    std::size_t looked_at = 0;
    for (const RunResult& run : runs_) {
      stop_point();
      if (service >= run.services.size()) continue;
      const BinsOfStretches bins(g_.scenario, run, g_.stretches.size());
      for (std::size_t s = 0; s < g_.stretches.size(); ++s) {
        const stats::BinRange range = bins.of(s);
        const std::size_t last = std::min(range.last, run.services[service].bins.size());
        for (std::size_t i = range.first; i < last; ++i) {
          looked_at += own.size();
          if (looked_at >= kGroupsPerLook) {
            stop_point();
            looked_at = 0;
          }
          add_bin(run, service, i, own, speeds, g_.stretches[s].services[service]);
        }
      }
    }
  }

  void add_bin(const RunResult& run, std::size_t service, std::size_t bin,
               const std::vector<double>& own, Speeds& speeds, ServicePart& part) const {
    const ServiceFlow& flow = run.services[service].bins[bin];
    part.flow.merge(flow);
    const Time start = Time::zero() + run.interval * static_cast<std::int64_t>(bin);
    const CapacityLeft left = speeds.at(start + Duration::nanoseconds(run.interval.count() / 2));
    if (left.share() <= 0) {
      part.blocked_s += run.interval.in_seconds();
      return;
    }
    // Sums over the groups' attempts that arrived, and the work that they bring.
    double came = 0, first_s = 0, retry_s = 0;
    for (std::size_t g = 0; g < std::min(own.size(), run.clients.size()); ++g) {
      if (own[g] <= 0 && share_of_calls(g_.scenario.clients[g], service) <= 0) continue;
      if (bin >= run.clients[g].bins.size()) continue;
      const ClientFlow& f = run.clients[g].bins[bin].flow;
      if (f.attempts == 0) continue;
      const double retried = to_real(f.retries) / to_real(f.attempts);
      came += share_of_calls(g_.scenario.clients[g], service) * to_real(f.arrivals);
      first_s += own[g] * to_real(f.arrivals) * (1 - retried);
      retry_s += own[g] * to_real(f.arrivals) * retried;
    }
    if (came <= 0) return;
    // Errors on arrival and the throttle take no server.
    const double asked = std::min(to_real(flow.arrivals), to_real(flow.admitted + flow.rejected));
    const double scale = asked / came / left.speed;
    part.first_s += first_s * scale;
    part.retry_s += retry_s * scale;
    const ServiceSpec& spec = g_.scenario.services[service];
    if (has_queue(spec.queue.discipline)) {
      part.idle_calls_s += asked * g_.demand.services[service].calls_time;
    }
    part.done_s += (first_s + retry_s) / came * to_real(flow.completions) / left.speed;
  }

  GraphCase& g_;
  std::span<const RunResult> runs_;
};

/// Calls `use` with every number that comes from the runs.
template <typename Use>
void each_figure(auto& stretches, Use use) {
  const auto each = [&use](auto&... values) { (use(values), ...); };
  for (auto& stretch : stretches) {
    use(stretch.seconds);
    for (auto& part : stretch.services) {
      fields(each, part.flow);
      each(part.first_s, part.retry_s, part.idle_calls_s, part.done_s, part.blocked_s);
    }
    for (auto& flow : stretch.groups) fields(each, flow);
    for (auto& volume : stretch.made) each(volume.requests, volume.attempts);
  }
}

void merge(GraphStretch& to, const GraphStretch& stretch) {
  to.seconds += stretch.seconds;
  for (std::size_t s = 0; s < to.services.size(); ++s) {
    const ServicePart& part = stretch.services[s];
    ServicePart& all = to.services[s];
    all.flow.merge(part.flow);
    all.first_s += part.first_s;
    all.retry_s += part.retry_s;
    all.idle_calls_s += part.idle_calls_s;
    all.done_s += part.done_s;
    all.blocked_s += part.blocked_s;
  }
  for (std::size_t g = 0; g < to.groups.size(); ++g) {
    to.groups[g].merge(stretch.groups[g]);
    to.made[g].requests += stretch.made[g].requests;
    to.made[g].attempts += stretch.made[g].attempts;
  }
}

GraphCase empty_graph(const Scenario& scenario) {
  return {scenario, flow::CallGraph(scenario), flow::demand_of(scenario, flow::Attempts::kFirst),
          planned_stretches(scenario)};
}

}  // namespace

const GraphStretch* GraphCase::before() const {
  const auto found = std::ranges::find(stretches, PhaseKind::kBefore, &GraphStretch::kind);
  return found == stretches.end() || found->seconds <= 0 ? nullptr : &*found;
}

std::vector<const GraphStretch*> GraphCase::trouble() const {
  std::vector<const GraphStretch*> all;
  for (const GraphStretch& s : stretches) {
    if (s.kind == PhaseKind::kBefore || s.kind == PhaseKind::kAfter || s.seconds <= 0) continue;
    all.push_back(&s);
  }
  return all;
}

double GraphCase::held_s(const GraphStretch& stretch, std::size_t service) const {
  double calls_s = 0;
  for (const std::size_t g : calls.groups_of(service)) {
    const ClientFlow& f = stretch.groups[g];
    calls_s +=
        (f.in_flight_ns + f.in_backoff_ns + f.limiter_waiting_ns + f.connection_waiting_ns) / 1e9;
  }
  const ServicePart& part = stretch.services[service];
  return std::clamp(part.flow.busy_ns / 1e9 - part.done_s, 0.0, calls_s);
}

GraphCase graph_case(const Scenario& scenario, std::span<const RunResult> runs) {
  GraphCase graph = empty_graph(scenario);
  GraphBuilder(graph, runs).build();
  return graph;
}

std::vector<double> figures_of(const GraphCase& graph) {
  std::vector<double> figures;
  each_figure(graph.stretches,
              [&](const auto& value) { figures.push_back(static_cast<double>(value)); });
  return figures;
}

GraphCase graph_case(const Scenario& scenario,
                     std::span<const std::span<const double>> figures_by_run) {
  const GraphCase frame = empty_graph(scenario);
  GraphCase graph = frame;
  for (const std::span<const double> figures : figures_by_run) {
    std::vector<GraphStretch> one = frame.stretches;
    std::size_t next = 0;
    each_figure(one, [&]<typename T>(T& value) {
      if (next < figures.size()) value = static_cast<T>(figures[next]);
      ++next;
    });
    if (next != figures.size()) {
      throw std::invalid_argument("these are not the figures of a replication of the scenario");
    }
    for (std::size_t s = 0; s < one.size(); ++s) merge(graph.stretches[s], one[s]);
  }
  return graph;
}

}  // namespace retrysim::explain
