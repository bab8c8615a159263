// SPDX-License-Identifier: MIT
#include "agreement.hpp"

#include <retrysim/replications.hpp>
#include <retrysim/scenario_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include "model_families.hpp"

namespace retrysim::validation {
namespace {

constexpr double kRare = 1e-3;  // smaller exact values are judged absolutely

Scenario load(const std::string& text) {
  LoadResult result = load_scenario_text(text, "case.toml", ".");
  if (!result.loaded) {
    std::string message;
    for (const Diagnostic& d : result.errors) message += to_string(d) + "\n";
    throw std::runtime_error(message);
  }
  return std::move(result.loaded->scenario);
}

CaseResult simulate_case(const TheoryCase& theory, const RunLimits& limits, double requests) {
  const Family& family = find_family(theory.model);
  const Scenario scenario = load(scenario_text(theory, limits, requests));
  ReplicationOptions options;
  options.jobs = limits.jobs;
  const std::vector<RunResult> runs = run_replications(scenario, options);
  CaseResult result{theory, requests, {}};
  for (const TheoryRow& row : theory.rows) {
    const Quantity& quantity = find_quantity(family, row.quantity);
    std::vector<double> values;
    for (const RunResult& run : runs) {
      values.push_back(measure(quantity, {theory.parameters, scenario, run}));
    }
    RowResult r{row, *estimate(values), Verdict::kInconclusive};
    r.verdict = judge(row.exact, row.precision, r.simulated);
    result.rows.push_back(std::move(r));
  }
  return result;
}

/// Half-widths mean little before the system has forgotten its past often enough.
double shortest_run(const TheoryCase& theory, const RunLimits& limits) {
  constexpr double kMemories = 100;
  const System system = find_family(theory.model).system(theory.parameters);
  return kMemories * system.memory_units * system.requests_per_unit * limits.replications;
}

/// Largest half-width of all rows but the rare, in terms of what is aimed at.
double worst_width(const CaseResult& result, const RunLimits& limits) {
  double worst = 0;
  for (const RowResult& r : result.rows) {
    if (std::abs(r.row.exact) < kRare) continue;
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

Verdict judge(double exact, double precision, const Estimate& simulated) {
  constexpr double kRareTolerance = 1e-6;
  if (!simulated.half_width()) return Verdict::kInconclusive;
  const double h = *simulated.half_width();
  const double difference = std::abs(simulated.mean - exact);
  if (std::abs(exact) < kRare) {
    return difference <= std::max(3 * h, kRareTolerance) ? Verdict::kAgrees : Verdict::kDisagrees;
  }
  if (difference > 3 * h) return Verdict::kDisagrees;
  return h <= precision * std::abs(exact) ? Verdict::kAgrees : Verdict::kInconclusive;
}

double RowResult::z() const {
  const double difference = simulated.mean - row.exact;
  const double error =
      simulated.stddev.value_or(0) / std::sqrt(static_cast<double>(simulated.count));
  if (error > 0) return difference / error;
  return difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

bool RowResult::would_notice(double share) const {
  return judge(row.exact * (1 + share), row.precision, simulated) == Verdict::kDisagrees &&
         judge(row.exact * (1 - share), row.precision, simulated) == Verdict::kDisagrees;
}

std::uint64_t seed_of_case(std::string_view id, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ seed;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash >> 16;  // what TOML's signed integers hold, and short enough to be typed
}

std::string scenario_text(const TheoryCase& theory, const RunLimits& limits, double requests) {
  const System system = find_family(theory.model).system(theory.parameters);
  const double window = requests / limits.replications / system.requests_per_unit;
  const double warmup = std::max(window / 9, 20 * system.memory_units);
  return fmt::format(
      "name = \"theory\"\nduration = {}\nwarmup = {}\nseed = {}\nreplications = {}\n"
      "interval = {}\n{}",
      (warmup + window) * kUnitSeconds, warmup * kUnitSeconds, seed_of_case(theory.id, limits.seed),
      limits.replications, system.memory_units * kUnitSeconds, system.tables);
}

double length_of_run(const TheoryCase& theory, const RunLimits& limits) {
  constexpr double kMostGrowth = 10, kReserve = 1.5;
  TheoryCase pilot = theory;
  pilot.id += "/pilot";
  double least = 0;
  for (const TheoryRow& r : theory.rows) least = std::max(least, r.least_requests);
  double requests = std::max(limits.first_requests, shortest_run(theory, limits));
  while (true) {
    const double excess = worst_width(simulate_case(pilot, limits, requests), limits);
    // Widths shrink with the square root of the length.
    const double growth = std::max(1.0, kReserve * excess * excess);
    if (growth <= kMostGrowth || requests * kMostGrowth >= limits.most_requests) {
      const double wanted = std::max(requests * growth, least);
      return std::max(requests, std::min(wanted, limits.most_requests));
    }
    requests *= kMostGrowth;
  }
}

CaseResult validate(const TheoryCase& theory, const RunLimits& limits) {
  double requests = length_of_run(theory, limits);
  while (true) {
    CaseResult result = simulate_case(theory, limits, requests);
    const bool decided =
        std::none_of(result.rows.begin(), result.rows.end(),
                     [](const RowResult& r) { return r.verdict == Verdict::kInconclusive; });
    if (decided || requests >= limits.most_requests) return result;
    requests = std::min(2 * requests, limits.most_requests);
  }
}

double rms_z(const std::vector<CaseResult>& results) {
  double squares = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double z = results[i].rows[i % results[i].rows.size()].z();
    squares += z * z;
  }
  return std::sqrt(squares / static_cast<double>(results.size()));
}

}  // namespace retrysim::validation
