// SPDX-License-Identifier: MIT
#include "measure/analyse/slo.hpp"

#include "measure/analyse/recovery.hpp"

#include <algorithm>
#include <utility>

namespace retrysim::stats {

std::vector<SloEvent> slo_events(const Scenario& scenario) {
  std::vector<SloEvent> events;
  for (const Phase& phase : phases_of(scenario)) {
    if (phase.kind != PhaseKind::kDuring) continue;
    if (!events.empty() && events.back().fault_end == phase.start) {
      events.back().fault_end = phase.end;
    } else {
      events.push_back({"", {}, phase.start, phase.end});
    }
  }
  const std::vector<Disturbance> all = disturbances(scenario);
  for (SloEvent& event : events) {
    for (const Disturbance& d : all) {
      if (d.start >= event.fault_end || d.end <= event.start) continue;
      if (std::ranges::find(event.parts, d.name) != event.parts.end()) continue;
      event.parts.push_back(d.name);
      event.name += (event.name.empty() ? "" : "+") + d.name;
    }
  }
  if (events.empty()) {
    const Time end = Time::zero() + scenario.duration;
    events.push_back({"run", {}, Time::zero() + scenario.warmup, end});
  }
  return events;
}

std::vector<std::size_t> slo_groups(const Scenario& scenario, const SloSpec& slo) {
  std::vector<std::size_t> groups;
  for (std::size_t g = 0; g < scenario.clients.size(); ++g) {
    const ClientSpec& client = scenario.clients[g];
    const bool counts = slo.clients.empty()
                            ? !client.makes_calls()
                            : std::ranges::find(slo.clients, client.name) != slo.clients.end();
    if (counts) groups.push_back(g);
  }
  return groups;
}

namespace {

constexpr double kDaySeconds = 24 * 3600;
constexpr double kYearSeconds = 365 * kDaySeconds;

/// The mean price of the attempts of the groups; 0 without an attempt.
double mean_price(const Scenario& scenario, const RunResult& run,
                  std::span<const std::size_t> groups) {
  double price = 0, attempts = 0;
  for (const std::size_t g : groups) {
    const ClientResult& c = run.clients[g];
    const ServiceSpec& service = scenario.services[scenario.clients[g].service];
    price += service.price * static_cast<double>(c.attempts - c.refused) +
             service.rejection.price * static_cast<double>(c.refused);
    attempts += static_cast<double>(c.attempts);
  }
  return attempts > 0 ? price / attempts : 0;
}

std::optional<double> users_hurt(const RunResult& run, std::span<const std::size_t> groups) {
  double hurt = 0;
  for (const std::size_t g : groups) {
    const ClientResult& c = run.clients[g];
    if (c.ended_per_client.empty()) return std::nullopt;
    for (std::size_t i = 0; i < c.ended_per_client.size(); ++i) {
      hurt += static_cast<double>(c.ended_per_client[i]) > c.successes_per_client[i];
    }
  }
  return hurt;
}

}  // namespace

std::optional<SloFigures> slo_figures(const Scenario& scenario, const RunResult& run,
                                      std::size_t slo, std::size_t event) {
  const SloSpec& spec = scenario.slos[slo];
  const SloCounts& counts = run.slos[slo];
  const SloEventCounts& counted = counts.events[event];
  const double window_s = spec.window.in_seconds();
  const double before_s = counts.before.in_seconds();
  SloFigures f;
  f.requests_per_window = spec.requests_per_window;
  if (f.requests_per_window <= 0 && before_s > 0) {
    f.requests_per_window = static_cast<double>(counts.requests_before) / before_s * window_s;
  }
  if (f.requests_per_window <= 0) return std::nullopt;
  const double may_be_bad = 1 - spec.share;
  f.end_s = counted.end.in_seconds();
  f.budget = may_be_bad * f.requests_per_window;
  f.requests = static_cast<double>(counted.requests);
  f.failed = static_cast<double>(counted.failed);
  f.slow = static_cast<double>(counted.slow);
  f.bad = f.failed + f.slow;
  f.budget_used = f.bad / f.budget;
  f.burn_rate = f.requests > 0 ? f.bad / f.requests / may_be_bad : 0;
  f.outage_s = f.bad / (f.requests_per_window / window_s);
  f.retries = static_cast<double>(counted.retries);
  const std::vector<std::size_t> groups = slo_groups(scenario, spec);
  f.retries_cost = f.retries * mean_price(scenario, run, groups);
  f.users_hurt = users_hurt(run, groups);
  f.over = counted.over ? 1 : 0;
  return f;
}

double year_share(const SloSpec& slo, double budget_used, double per_year) {
  return budget_used * per_year * slo.window.in_seconds() / kYearSeconds;
}

std::optional<double> per_year(const SloSpec& slo, const SloEvent& event) {
  std::optional<double> most;
  for (const SloFrequency& f : slo.events_per_year) {
    if (std::ranges::find(event.parts, f.event) == event.parts.end()) continue;
    most = std::max(most.value_or(0), f.per_year);
  }
  return most;
}

double users_of(const Scenario& scenario, const SloSpec& slo) {
  double users = 0;
  for (const std::size_t g : slo_groups(scenario, slo)) users += scenario.clients[g].count;
  return users;
}

bool has_prices(const Scenario& scenario) {
  return std::ranges::any_of(scenario.services, [](const ServiceSpec& s) {
    return s.price != 1 || s.rejection.price != 1;
  });
}

std::optional<double> error_budget_used(const Scenario& scenario, const RunResult& run) {
  std::optional<double> most;
  for (std::size_t i = 0; i < run.slos.size(); ++i) {
    double used = 0;
    bool known = false;
    for (std::size_t e = 0; e < run.slos[i].events.size(); ++e) {
      const auto figures = slo_figures(scenario, run, i, e);
      if (!figures) continue;
      known = true;
      used += figures->budget_used;
    }
    if (known) most = std::max(most.value_or(0), used);
  }
  return most;
}

// --- Numbers -------------------------------------------------------------------------------------

namespace {

// Numbers per event: the figures, a flag whether they exist, and users hurt.
constexpr std::size_t kEach = kSloNumbers.size() + 2;
constexpr double kMissing = -1;  // stands for a missing number; none is negative

}  // namespace

std::size_t slo_number_count(const Scenario& scenario) {
  if (scenario.slos.empty()) return 0;
  return scenario.slos.size() * slo_events(scenario).size() * kEach;
}

std::vector<double> slo_numbers(const Scenario& scenario, const RunResult& run) {
  std::vector<double> all;
  for (std::size_t i = 0; i < run.slos.size(); ++i) {
    for (std::size_t e = 0; e < run.slos[i].events.size(); ++e) {
      const auto figures = slo_figures(scenario, run, i, e);
      const SloFigures f = figures.value_or(SloFigures{});
      all.push_back(figures ? 1 : 0);
      for (const auto number : kSloNumbers) all.push_back(f.*number);
      all.push_back(f.users_hurt.value_or(kMissing));
    }
  }
  return all;
}

std::vector<std::optional<SloFigures>> from_slo_numbers(std::span<const double> numbers) {
  std::vector<std::optional<SloFigures>> all;
  for (; !numbers.empty(); numbers = numbers.subspan(kEach)) {
    std::optional<SloFigures>& f = all.emplace_back();
    if (numbers[0] == 0) continue;
    f.emplace();
    for (std::size_t n = 0; n < kSloNumbers.size(); ++n) (*f).*kSloNumbers[n] = numbers[n + 1];
    if (numbers[kEach - 1] != kMissing) f->users_hurt = numbers[kEach - 1];
  }
  return all;
}

}  // namespace retrysim::stats
