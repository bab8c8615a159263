// SPDX-License-Identifier: MIT
#include "explain/sources.hpp"

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

/// The trouble ends when the group is back. Of runs that end before that is confirmed the files do
/// not tell which seem to be back, unless all are.
FigureSource until_back(const GroupCase& c, FigureSource source) {
  if (c.recoveries.brief == 0 || source.window != "trouble") return source;
  if (c.recoveries.back < c.runs) return not_in_files("which unconfirmed recoveries count");
  source.window = "trouble, unconfirmed";
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

FigureSource metric_of(const std::string& client, std::string_view name) {
  return cells("replications.csv", name, client);
}

FigureSource made(const GroupCase& c, const Requests& r, std::string_view name) {
  FigureSource source = cells("phases.csv", name, c.client.name);
  source.window = r.phases;
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

FigureSource latency_source(const GroupCase& c) {
  return (weighted(c, "latency_mean", "successes") + weighted(c, "latency_mean", "failures")) /
         (metric(c, "successes") + metric(c, "failures"));
}

FigureSource recovery_source(const GroupCase& c, std::string_view over, double above) {
  const Recoveries& r = c.recoveries;
  // Of runs that end before a recovery is confirmed the files do not tell which seem to be back.
  if (r.brief > 0 && r.back < c.runs) return not_in_files("which unconfirmed recoveries count");
  FigureSource source =
      metric(c, r.brief > 0 ? "recovery_s|recovery_censored_s" : "recovery_s", over);
  source.above = above;
  return source;
}

FigureSource back_source(const GroupCase& c) { return recovery_source(c, "count"); }

FigureSource told_source(const GroupCase& c) {
  const Recoveries& r = c.recoveries;
  if (r.runs() != c.runs) return not_in_files("replications in which requests are enough to tell");
  return metric(c, "recovered", "count");
}

FigureSource watched_source(const GroupCase& c) {
  (void)c;
  return key("window_end_s") - key("disturbances.end_s");
}

}  // namespace retrysim::explain
