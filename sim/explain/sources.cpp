// SPDX-License-Identifier: MIT
#include "explain/sources.hpp"

#include "flow/calls.hpp"
#include "scenario/text/names.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace retrysim::explain {

namespace {

FigureSource cells(std::string_view file, std::string_view column, std::string of) {
  FigureSource source;
  source.kind = FigureSource::Kind::kCells;
  source.file = file;
  source.column = column;
  source.of = std::move(of);
  return source;
}

/// The source of a figure in a window that ends when the group is back. If runs end before the
/// recovery is confirmed, the files do not tell which of them seem to be back, unless all are.
FigureSource until_back(const GroupCase& c, FigureSource source) {
  const bool trouble = source.window == "trouble";
  if (c.recoveries.brief == 0 || (!trouble && source.window != "after")) return source;
  if (c.recoveries.back < c.runs) return not_in_files("which unconfirmed recoveries count");
  source.window = trouble ? "trouble, unconfirmed" : "after, unconfirmed";
  return source;
}

FigureSource of_services(const GroupCase& c, const FigureSource& one) {
  if (one.kind != FigureSource::Kind::kCells) return one;
  FigureSource all;
  for (std::size_t i = 0; i < c.services.size(); ++i) {
    FigureSource its = one;
    its.of = c.services[i]->name;
    all = i == 0 ? std::move(its) : std::move(all) + std::move(its);
  }
  return all;
}

}  // namespace

FigureSource metric(const GroupCase& c, std::string_view name, std::string_view over) {
  FigureSource source = cells("replications.csv", name, c.client.name);
  source.over = over;
  return source;
}

FigureSource weighted(const GroupCase& c, std::string_view name, std::string_view weight) {
  FigureSource source = metric(c, name);
  source.weight = weight;
  return source;
}

FigureSource flow(const GroupCase& c, std::string_view column, std::string_view window) {
  FigureSource source = cells("timeseries.csv", column, c.client.name);
  source.window = window;
  return until_back(c, std::move(source));
}

FigureSource per_second(const GroupCase& c, std::string_view column, std::string_view window) {
  FigureSource bins = flow(c, column, window);
  if (bins.kind != FigureSource::Kind::kCells) return bins;
  bins.over = "count";
  return flow(c, column, window) / (std::move(bins) * key("interval"));
}

FigureSource served(const GroupCase& c, std::string_view column, std::string_view window,
                    std::string_view over) {
  FigureSource source = cells("service.csv", column, "");
  source.over = over;
  source.window = window;
  source.text = c.client.name;  // whose recovery ends the trouble
  return of_services(c, until_back(c, std::move(source)));
}

FigureSource served_by(const std::string& service, std::string_view column, double from_s,
                       double to_s) {
  FigureSource source = cells("service.csv", column, service);
  source.from_s = from_s;
  source.to_s = to_s;
  return source;
}

FigureSource slo_cell(const std::string& slo, const std::string& event, std::string_view column) {
  FigureSource source = cells("slo.csv", column, slo);
  source.text = event;
  source.over = "mean";
  return source;
}

bool has_known_mean(const Distribution& time) {
  using enum Distribution::Kind;
  constexpr Distribution::Kind kKnown[] = {kConstant,  kExponential, kErlang,
                                           kLognormal, kPareto,      kWeibull};
  return std::ranges::find(kKnown, time.kind()) != std::end(kKnown);
}

namespace {

/// Whether the number of servers is that of the scenario's keys, and each attempt that asks for a
/// server asks for the service time of the keys.
bool has_known_time(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services[service];
  if (!has_known_mean(s.service_time) || flow::calls_others(scenario, service) ||
      s.autoscaling.target > 0 || s.profile || (!s.errors.empty() && !s.errors_at.on_arrival())) {
    return false;
  }
  return std::ranges::all_of(scenario.clients, [](const ClientSpec& client) {
    return client.operations.empty() && calls_one_service(client);
  });
}

/// Whether `has_known_time` holds for servers that may also wait for calls, whose time at idle
/// services figures.py knows: all calls are plain, and no call fails by itself.
bool has_known_work(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services[service];
  if (!has_known_mean(s.service_time) || s.model != ServiceModelKind::kQueue ||
      leaves_instances_out(s) || s.autoscaling.target > 0 || s.profile ||
      (!s.errors.empty() && !s.errors_at.on_arrival())) {
    return false;
  }
  const bool alike = std::ranges::all_of(scenario.clients, [](const ClientSpec& client) {
    return client.operations.empty() && calls_one_service(client);
  });
  if (!alike || !has_known_mean(scenario.network.latency)) return false;
  return std::ranges::all_of(scenario.calls, [&](const CallSpec& call) {
    const std::size_t below = scenario.clients[call.client].service;
    return call.caller != service ||
           (flow::is_plain(call) && call.stage == 0 && call.one_of.empty() &&
            scenario.services[below].errors.empty() && scenario.network.request_loss == 0 &&
            has_known_work(scenario, below));
  });
}

bool has_known_work(const GroupCase& c) {
  return c.capacity.limited && has_known_work(c.scenario, c.client.service);
}

bool has_known_time(const GroupCase& c) {
  return c.capacity.limited && has_known_time(c.scenario, c.client.service);
}

/// Whether every attempt that is sent reaches the group's only service and asks for its service
/// time.
bool has_plain_work(const GroupCase& c) {
  if (!c.capacity.limited) return false;
  const ServiceSpec& s = c.service();
  if (!has_known_mean(s.service_time) || flow::calls_others(c.scenario, c.client.service) ||
      !s.errors.empty() || s.throttle.rate > 0 || s.throttle.has_limits() ||
      s.autoscaling.target > 0 || c.scenario.network.request_loss > 0) {
    return false;
  }
  const bool all_ask = std::ranges::none_of(c.scenario.faults, [&](const FaultSpec& f) {
    return f.service == c.client.service &&
           (f.unreachable || f.black_hole || f.request_loss > 0 || !f.errors.empty());
  });
  if (!all_ask) return false;
  constexpr int kMaxCallers = 10;  // a longer formula does not help the reader
  int callers = 0;
  for (const ClientSpec& client : c.scenario.clients) {
    if (share_of_calls(client, c.client.service) <= 0) continue;
    if (++callers > kMaxCallers || !client.operations.empty() || !calls_one_service(client)) {
      return false;
    }
  }
  return true;
}

std::string path_of_service(const GroupCase& c) { return "service." + c.service().name; }

FigureSource servers(const GroupCase& c) {
  return key(path_of_service(c) + ".servers") * key(path_of_service(c) + ".instances");
}

/// The work that attempts ask of the group's service, as rows "work", which figures.py computes
/// from timeseries.csv, service.csv and the keys.
FigureSource work_in_bins(const GroupCase& c, LoadOf of, FigureSource window) {
  window.file = "work";
  window.column = of == LoadOf::kFirst ? "first" : of == LoadOf::kRetries ? "retries" : "all";
  window.of = c.service().name;
  return window;
}

FigureSource load_in_bins(const GroupCase& c, LoadOf of, const FigureSource& window) {
  FigureSource bins = window;
  bins.column = "attempts";
  bins.of = c.client.name;
  bins.over = "count";
  return work_in_bins(c, of, window) / (std::move(bins) * key("interval") * servers(c));
}

/// Whether a time is on the border of two bins.
bool is_whole_bins(const GroupCase& c, double at_s) {
  const double bins = at_s / c.bin_s;
  return c.bin_s > 0 && std::abs(bins - std::round(bins)) < 1e-9;
}

}  // namespace

FigureSource load_source(const GroupCase& c, LoadOf of, std::string_view window) {
  if (!has_known_work(c)) return not_in_files(kWork);
  FigureSource source = flow(c, "attempts", window);
  if (source.kind != FigureSource::Kind::kCells) return source;
  source.text = c.client.name;  // whose recovery ends the trouble
  return load_in_bins(c, of, source);
}

FigureSource load_source(const GroupCase& c, const DisturbedStretch& d) {
  // The share that a throttle lets pass is known only for the stretch as a whole.
  const bool throttles = c.service().throttle.rate > 0 || c.service().throttle.has_limits();
  if (!has_known_work(c) || throttles || !is_whole_bins(c, d.start_s) ||
      !is_whole_bins(c, d.end_s)) {
    return not_in_files(kWork);
  }
  FigureSource source = cells("timeseries.csv", "attempts", c.client.name);
  source.from_s = d.start_s;
  source.to_s = d.end_s;
  source = load_in_bins(c, LoadOf::kFirst, source);
  if (d.left == 1) return source;
  const FigureSource left = left_source(c, d);
  if (left.kind == FigureSource::Kind::kUnknown) return not_in_files(kWork);
  return std::move(source) / left;
}

FigureSource planned_work(const GroupCase& c) {
  if (!has_plain_work(c)) return not_in_files(kByScenario);
  FigureSource rate;
  bool first = true;
  for (const ClientSpec& client : c.scenario.clients) {
    if (share_of_calls(client, c.client.service) <= 0) continue;
    const ArrivalSpec& a = client.arrivals;
    const bool steady =
        a.process == ArrivalProcess::kPoisson || a.process == ArrivalProcess::kConstant;
    if (!steady || a.profile) return not_in_files(kByScenario);
    FigureSource its = key(scenario::path_of(client) + ".arrivals.total_rate");
    rate = first ? std::move(its) : std::move(rate) + std::move(its);
    first = false;
  }
  return std::move(rate) * key(path_of_service(c) + ".service_time");
}

FigureSource servers_source(const GroupCase& c) { return servers(c); }

FigureSource retries_above_source(const GroupCase& c, std::string_view over) {
  return work_above_source(c, LoadOf::kRetries, over);
}

FigureSource work_above_source(const GroupCase& c, LoadOf of, std::string_view over) {
  const bool retries = of == LoadOf::kRetries;
  // Bins with faults of services below are left out.
  const bool calls = flow::calls_others(c.scenario, c.client.service);
  if (!has_known_work(c) || (retries && calls && !c.scenario.faults.empty())) {
    return not_in_files(kWork);
  }
  FigureSource source = flow(c, "attempts", retries || !c.disturbed() ? "window" : "before");
  source.text = c.client.name;
  source = work_in_bins(c, of, std::move(source));
  const double offered_s = c.bin_s * c.capacity.servers;
  const double least_s = retries ? least_work_above_capacity(c.capacity, offered_s)
                                 : sure_work_above_capacity(c.capacity, offered_s);
  source.above = least_s * (1 - 1e-9);
  source.over = over;
  if (over == "mean count") return std::move(source) * key("interval");
  return std::move(source) / (key("interval") * servers(c));
}

FigureSource need_source(const GroupCase& c, std::size_t service, const GraphStretch& s,
                         bool first) {
  const ServiceSpec& spec = c.scenario.services[service];
  const bool ends_as_planned = s.kind == PhaseKind::kDuring || s.kind == PhaseKind::kBefore;
  const double from = std::ceil(s.start_s / c.bin_s - 1e-9),
               to = std::floor(s.end_s / c.bin_s + 1e-9);
  const bool same_speed = std::ranges::all_of(c.scenario.faults, [&](const FaultSpec& f) {
    return f.service != service || (f.speed == 1 || f.instance == FaultSpec::kAllInstances);
  });
  // The files do not tell how many first attempts of each of several groups arrive.
  const auto callers = std::ranges::count_if(c.scenario.clients, [&](const ClientSpec& client) {
    return share_of_calls(client, service) > 0;
  });
  if ((first && callers != 1) || !has_known_work(c.scenario, service) || !ends_as_planned ||
      to <= from || !same_speed || spec.model != ServiceModelKind::kQueue ||
      !is_whole_bins(c, s.start_s) || !is_whole_bins(c, s.end_s)) {
    return not_in_files(kWork);
  }
  FigureSource source = cells("work", first ? "needed at first" : "needed", spec.name);
  source.from_s = s.start_s;
  source.to_s = s.end_s;
  return std::move(source) /
         (served_by(spec.name, "servers", s.start_s, s.end_s) * key("interval"));
}

FigureSource errors_source(const GroupCase& c, std::string_view window) {
  return served(c, "errors", window) / served(c, "arrivals", window);
}

FigureSource errors_source(const GroupCase& c, const DisturbedStretch& d) {
  const std::string& name = c.service().name;
  return served_by(name, "errors", d.start_s, d.end_s) /
         served_by(name, "arrivals", d.start_s, d.end_s);
}

FigureSource quota_dry_source(const GroupCase& c, std::string_view what) {
  const Recoveries& r = c.recoveries;
  if (r.brief > 0 && r.back < c.runs) return not_in_files("which unconfirmed recoveries count");
  FigureSource source = cells("quota", what, c.client.name);
  source.window = r.brief > 0 ? "trouble, unconfirmed" : "trouble";
  source.over = what == "share" ? "mean" : "lower median";
  return source;
}

FigureSource fault_key(const FaultSpec& fault, std::string_view name) {
  if (fault.drawn) return not_in_files("the draw of a fault at random");
  return key("fault." + fault.name + "." + std::string(name));
}

FigureSource least_attempt_source(const GroupCase& c, const DisturbedStretch* d) {
  if (!has_known_time(c) || !has_known_mean(c.scenario.network.latency)) {
    return not_in_files(kByScenario);
  }
  FigureSource service = key(path_of_service(c) + ".service_time");
  FigureSource messages = key("network.latency");
  if (d != nullptr) {
    for (const FaultSpec* f : d->faults) {
      if (f->instance != FaultSpec::kAllInstances) continue;
      service = std::move(service) / fault_key(*f, "speed");
      messages = std::move(messages) + fault_key(*f, "latency");
    }
  }
  return number(2) * std::move(messages) + std::move(service);
}

FigureSource left_source(const GroupCase& c, const DisturbedStretch& d) {
  FigureSource left = number(1);
  double product = 1;
  for (const FaultSpec* f : d.faults) {
    left = std::move(left) * fault_key(*f, "capacity") * fault_key(*f, "speed");
    product *= f->capacity * f->speed;
  }
  const bool all = std::ranges::all_of(d.faults, [](const FaultSpec* f) {
    return f->instance == FaultSpec::kAllInstances && !f->unreachable && !f->black_hole;
  });
  // With capacity profiles, or when only whole servers are left, the keys do not give the share.
  if (!c.has_one_service() || !all || std::abs(product - d.left) > 1e-9) {
    return not_in_files(kByScenario);
  }
  return left;
}

FigureSource full_queue_source(const GroupCase& c) {
  if (!has_known_time(c)) return not_in_files(kByScenario);
  return key(path_of_service(c) + ".queue.capacity") * key(path_of_service(c) + ".service_time") /
         key(path_of_service(c) + ".servers");
}

FigureSource largest_queue_source(const GroupCase& c) {
  if (!has_known_time(c)) return not_in_files(kQueueWork);
  return served(c, "queue_max", "window", "max") * key(path_of_service(c) + ".service_time") /
         servers(c);
}

FigureSource metric_of(const std::string& client, std::string_view name) {
  return cells("replications.csv", name, client);
}

FigureSource made(const GroupCase& c, const Requests& r, std::string_view name) {
  if (!r.as_counted)
    return not_in_files("requests under way, in the bins in which they are counted");
  return made_by(c, c.client, r, name);
}

FigureSource made_by(const GroupCase& c, const ClientSpec& group, const Requests& r,
                     std::string_view name) {
  FigureSource source = cells("phases.csv", name, group.name);
  source.window = r.phases;
  if (c.phases.empty()) return source;
  // Disturbances elsewhere make phases of their own.
  constexpr std::pair<PhaseKind, std::string_view> kKinds[] = {
      {PhaseKind::kBefore, "before"},
      {PhaseKind::kDuring, "during"},
      {PhaseKind::kBetween, "between"},
      {PhaseKind::kRecovering, "recovering"},
      {PhaseKind::kAfter, "after"}};
  source.window = "phases";
  for (const auto& [kind, its_name] : c.phases) {
    const auto is_it = [&r, its_kind = kind](const auto& known) {
      return known.first == its_kind && r.phases.find(known.second) != r.phases.npos;
    };
    if (std::ranges::none_of(kKinds, is_it)) continue;
    if (!source.text.empty()) source.text += ", ";
    source.text += its_name;
  }
  return source;
}

FigureSource successes_of(const GroupCase& c, const Requests& r) {
  return made(c, r, "successes") / made(c, r, "requests");
}

FigureSource latency_of(const GroupCase& c, const Requests& r) {
  return made(c, r, "latency_total") / made(c, r, "ended");
}

FigureSource first_attempt(const GroupCase& c, std::string_view column) {
  return cells("attempts.csv", column, c.client.name);
}

FigureSource success_source(const GroupCase& c) {
  return metric(c, "successes") / metric(c, "requests");
}

FigureSource attempts_per_request(const GroupCase& c) {
  return metric(c, "attempts") / metric(c, "requests");
}

FigureSource wait_source(const GroupCase& c, std::string_view name) {
  FigureSource waits = weighted(c, name, "requests");
  if (c.total.latency_m.count == c.total.requests) return std::move(waits) / metric(c, "requests");
  return std::move(waits) / (c.has_sent_more_than_ended()
                                 ? metric(c, "attempts") - metric(c, "retries")
                                 : metric(c, "successes") + metric(c, "failures"));
}

FigureSource latency_source(const GroupCase& c) {
  return (weighted(c, "latency_mean", "successes") + weighted(c, "latency_mean", "failures")) /
         (metric(c, "successes") + metric(c, "failures"));
}

FigureSource recovery_source(const GroupCase& c, std::string_view over, double above) {
  const Recoveries& r = c.recoveries;
  // If runs end before a recovery is confirmed, the files do not tell which of them seem to be
  // back; nor, for closed loops, when.
  if (r.back == 0 || (r.brief > 0 && (r.back < c.runs || c.is_told_by_goodput())))
    return not_in_files("which unconfirmed recoveries count");
  FigureSource source =
      metric(c, r.brief > 0 ? "recovery_s|recovery_censored_s" : "recovery_s", over);
  source.above = above;
  return source;
}

FigureSource back_source(const GroupCase& c) { return recovery_source(c, "count"); }

FigureSource told_source(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.runs() != c.runs || r.few > 0)
    return not_in_files("replications in which requests are enough to tell");
  return metric(c, "recovered", "count");
}

FigureSource disturbances_edge(const GroupCase& c, std::string_view edge) {
  FigureSource source = key("disturbances." + std::string(edge));
  source.of = c.client.name;
  return source;
}

FigureSource watched_source(const GroupCase& c) {
  return key("window_end_s") - disturbances_edge(c, "end_s");
}

}  // namespace retrysim::explain
