// Families of systems that theory has exact values for. A family is one function from parameters to
// the tables of a scenario file, and a table that says how each quantity is measured.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "theory_cases.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::validation {

/// Seconds that stand for one unit of theory's time. Long against a nanosecond, so that rounding
/// changes nothing that can be seen.
inline constexpr double kUnitSeconds = 0.01;

/// A system as the simulator gets it. The rest of the scenario file (duration, seed ...) is the
/// same for all: see scenario_text.
struct System {
  std::string tables;            ///< the [service.*] and [client.*] tables, as TOML
  double requests_per_unit = 1;  ///< arrivals of requests in one unit of time
  double memory_units = 1;       ///< how long a disturbance lasts (the relaxation time, or more)
  /// Where the run's length is part of what is asked: warm-up and window. Zero: as long as it takes
  /// to be precise.
  double warmup_units = 0, window_units = 0;
};

/// One replication, from which a quantity is taken.
struct Observation {
  const Parameters& parameters;
  const Scenario& scenario;
  const RunResult& run;
};

/// One replication of what no scenario can express: a start in a given state, the time until
/// something happens, a function of the client's own.
struct DirectRun {
  const Parameters& parameters;
  std::string_view quantity;
  std::uint64_t seed;
  std::uint32_t replication;
  double requests;  ///< about how many are to be spent
};

/// How a quantity is measured: by a metric of summary.csv, whose unit says how it is converted to
/// theory's units; where there is no such metric by a formula that gives theory's units; or without
/// a scenario, on the functions that the simulation runs.
struct Quantity {
  std::string_view name;
  std::string_view metric = "";
  double (*formula)(const Observation&) = nullptr;
  double (*direct)(const DirectRun&) = nullptr;
};

struct Family {
  std::string_view model;
  System (*system)(const Parameters&);  ///< null: every quantity is direct
  std::span<const Quantity> quantities;
};

/// All families; by the file that has them below.
const std::vector<Family>& families();

std::span<const Family> queue_families();
std::span<const Family> feedback_families();
std::span<const Family> strategy_families();
std::span<const Family> limiter_families();
std::span<const Family> overload_families();
std::span<const Family> client_throttle_families();
std::span<const Family> contention_families();
std::span<const Family> zombie_families();
std::span<const Family> rejection_families();

/// These throw std::runtime_error if there is none.
const Family& find_family(std::string_view model);
const Quantity& find_quantity(const Family& family, std::string_view name);

/// The quantity of one run in theory's units. Throws std::runtime_error if the run does not have
/// it.
double measure(const Quantity& quantity, const Observation& observation);

}  // namespace retrysim::validation
