// SPDX-License-Identifier: MIT
#include "agreement.hpp"

#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <future>
#include <limits>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

/// Calls `work` for 0 .. count - 1 in `jobs` threads.
template <class Work>
void for_each_index(std::size_t count, int jobs, Work work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> threads;
  for (int i = 0; i < jobs; ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (std::size_t index = next++; index < count; index = next++) work(index);
    }));
  }
  for (std::future<void>& thread : threads) thread.get();
}

/// A replication is measured as soon as it is there and then forgotten: those with long time series
/// would not fit into memory together.
CaseResult simulate_case(const TheoryCase& theory, const RunLimits& limits, double requests) {
  const Family& family = find_family(theory.model);
  const auto replications = static_cast<std::size_t>(limits.replications);
  std::vector<const Quantity*> quantities;
  bool wants_runs = false;
  for (const TheoryRow& row : theory.rows) {
    quantities.push_back(&find_quantity(family, row.quantity));
    wants_runs |= quantities.back()->direct == nullptr;
  }
  std::vector<std::vector<double>> values(quantities.size(), std::vector<double>(replications));
  Scenario scenario;
  if (wants_runs) scenario = load_text(scenario_text(theory, limits, requests));
  for_each_index(replications, limits.jobs, [&](std::size_t i) {
    const auto replication = static_cast<std::uint32_t>(i);
    const RunResult run = wants_runs ? simulate(scenario, replication) : RunResult{};
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      const Quantity& quantity = *quantities[q];
      values[q][i] = quantity.direct == nullptr
                         ? measure(quantity, {theory.parameters, scenario, run})
                         : quantity.direct({theory.parameters, quantity.name,
                                            seed_of_case(theory.id, limits.seed), replication,
                                            requests / limits.replications});
    }
  });
  CaseResult result{theory, requests, {}};
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    RowResult r{theory.rows[q], *estimate(values[q]), Verdict::kInconclusive};
    r.verdict = judge(r.row, r.simulated);
    result.rows.push_back(std::move(r));
  }
  return result;
}

/// What the system of a case needs; nothing in particular if it has none.
System system_of(const TheoryCase& theory) {
  const Family& family = find_family(theory.model);
  return family.system == nullptr ? System{} : family.system(theory.parameters);
}

/// Half-widths mean little before the system has forgotten its past often enough.
double shortest_run(const TheoryCase& theory, const RunLimits& limits) {
  constexpr double kMemories = 100;
  const System system = system_of(theory);
  return kMemories * system.memory_units * system.requests_per_unit * limits.replications;
}

/// Largest half-width of all rows but the rare, in terms of what is aimed at.
double worst_width(const CaseResult& result, const RunLimits& limits) {
  double worst = 0;
  for (const RowResult& r : result.rows) {
    if (!r.row.is_relative()) continue;
    const double aim = r.row.slow ? limits.aim_slow : limits.aim_quick;
    worst = std::max(worst, r.half_width() / (aim * r.row.precision * std::abs(r.row.exact)));
  }
  return worst;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kDisagrees:
      return "DISAGREES";
    case Verdict::kInconclusive:
      return "INCONCLUSIVE";
  }
  return "";
}

Verdict judge(const TheoryRow& row, const Estimate& simulated) {
  constexpr double kRareTolerance = 1e-6, kRounding = 1e-12, kAnalyticTolerance = 1e-9;
  if (!simulated.half_width()) return Verdict::kInconclusive;
  const double h = *simulated.half_width();
  const double size = std::abs(row.exact);
  const double difference = std::abs(simulated.mean - row.exact);
  const auto agrees_if = [](bool close) { return close ? Verdict::kAgrees : Verdict::kDisagrees; };
  switch (row.closeness) {
    case Closeness::kExact:
      return agrees_if(std::max(difference, h) <= kRounding * std::max(size, 1.0));
    case Closeness::kAnalytic:
      return agrees_if(std::max(difference, h) <= kAnalyticTolerance * size);
    case Closeness::kAtLeast:
      return agrees_if(simulated.mean >= row.exact - 3 * h);
    case Closeness::kWithin:
      if (h > row.precision * size) return Verdict::kInconclusive;
      return agrees_if(difference <= row.share * size);
    case Closeness::kReference: {
      if (h > row.precision * size) return Verdict::kInconclusive;
      const double error = *simulated.stddev / std::sqrt(static_cast<double>(simulated.count));
      return agrees_if(difference <= 3 * std::hypot(error, row.reference_error));
    }
    case Closeness::kInterval:
      break;
  }
  if (!row.is_relative()) return agrees_if(difference <= std::max(3 * h, kRareTolerance));
  if (difference > 3 * h) return Verdict::kDisagrees;
  return h <= row.precision * size ? Verdict::kAgrees : Verdict::kInconclusive;
}

double RowResult::z() const {
  const double difference = simulated.mean - row.exact;
  const double error =
      simulated.stddev.value_or(0) / std::sqrt(static_cast<double>(simulated.count));
  if (error > 0) return difference / error;
  return difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

bool RowResult::would_notice(double share) const {
  TheoryRow wrong = row;
  const auto is_noticed = [&](double factor) {
    wrong.exact = row.exact * factor;
    return judge(wrong, simulated) == Verdict::kDisagrees;
  };
  return is_noticed(1 + share) && is_noticed(1 - share);
}

std::uint64_t seed_of_case(std::string_view id, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ seed;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash >> 16;  // what TOML's signed integers hold, and short enough to be typed
}

std::string scenario_text(const TheoryCase& theory, const RunLimits& limits, double requests) {
  const System system = system_of(theory);
  double window = requests / limits.replications / system.requests_per_unit;
  double warmup = std::max(window / 9, 20 * system.memory_units);
  if (system.window_units > 0) {
    window = system.window_units;
    warmup = system.warmup_units;
  }
  return fmt::format(
      "name = \"theory\"\nduration = {}\nwarmup = {}\nseed = {}\nreplications = {}\n"
      "interval = {}\n{}",
      (warmup + window) * kUnitSeconds, warmup * kUnitSeconds, seed_of_case(theory.id, limits.seed),
      limits.replications, system.memory_units * kUnitSeconds, system.tables);
}

double length_of_run(const TheoryCase& theory, const RunLimits& limits) {
  constexpr double kMaxGrowth = 10, kReserve = 1.5;
  const System system = system_of(theory);
  if (system.window_units > 0) {
    return system.window_units * system.requests_per_unit * limits.replications;
  }
  TheoryCase pilot = theory;
  pilot.id += "/pilot";
  double least = 0;
  for (const TheoryRow& r : theory.rows) least = std::max(least, r.least_requests);
  double requests = std::max(limits.first_requests, shortest_run(theory, limits));
  while (true) {
    const double excess = worst_width(simulate_case(pilot, limits, requests), limits);
    // Widths shrink with the square root of the length.
    const double growth = std::max(1.0, kReserve * excess * excess);
    if (growth <= kMaxGrowth || requests * kMaxGrowth >= limits.most_requests) {
      const double wanted = std::max(requests * growth, least);
      return std::max(requests, std::min(wanted, limits.most_requests));
    }
    requests *= kMaxGrowth;
  }
}

CaseResult validate(const TheoryCase& theory, const RunLimits& limits) {
  double requests = length_of_run(theory, limits);
  while (true) {
    CaseResult result = simulate_case(theory, limits, requests);
    const bool decided =
        std::none_of(result.rows.begin(), result.rows.end(),
                     [](const RowResult& r) { return r.verdict == Verdict::kInconclusive; });
    const bool may_be_longer = system_of(theory).window_units == 0;
    if (decided || !may_be_longer || requests >= limits.most_requests) return result;
    requests = std::min(2 * requests, limits.most_requests);
  }
}

double rms_z(const std::vector<CaseResult>& results) {
  double squares = 0;
  std::size_t cases = 0;
  for (const CaseResult& c : results) {
    std::vector<double> z;
    for (const RowResult& r : c.rows) {
      if (r.row.closeness == Closeness::kInterval && r.row.is_relative()) z.push_back(r.z());
    }
    if (z.empty()) continue;
    const double chosen = z[cases++ % z.size()];
    squares += chosen * chosen;
  }
  return cases == 0 ? 1 : std::sqrt(squares / static_cast<double>(cases));
}

}  // namespace retrysim::validation
