// Families of systems that theory has exact values for. A family is one function from parameters to
// the tables of a scenario file, and a table that says how each quantity is measured.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>

#include "theory_cases.hpp"

#include <span>
#include <string>
#include <string_view>

namespace retrysim::validation {

/// Seconds that stand for one unit of theory's time. Long against a nanosecond, so that rounding
/// changes nothing that can be seen.
inline constexpr double kUnitSeconds = 0.01;

/// A system as the simulator gets it. The rest of the scenario file (duration, seed ...) is the
/// same for all: see scenario_text.
struct System {
  std::string tables;            ///< the [service.*] and [client.*] tables, as TOML
  double requests_per_unit = 0;  ///< arrivals of requests in one unit of time
  double memory_units = 0;       ///< how long a disturbance lasts (the relaxation time, or more)
};

/// One replication, from which a quantity is taken.
struct Observation {
  const Parameters& parameters;
  const Scenario& scenario;
  const RunResult& run;
};

/// How a quantity is measured: by a metric of summary.csv, whose unit says how it is converted to
/// theory's units, or where there is no such metric by a formula that gives theory's units.
struct Quantity {
  std::string_view name;
  std::string_view metric;
  double (*formula)(const Observation&) = nullptr;
};

struct Family {
  std::string_view model;
  System (*system)(const Parameters&);
  std::span<const Quantity> quantities;
};

std::span<const Family> families();

/// These throw std::runtime_error if there is none.
const Family& find_family(std::string_view model);
const Quantity& find_quantity(const Family& family, std::string_view name);

/// The quantity in theory's units. Throws std::runtime_error if the run does not have it.
double measure(const Quantity& quantity, const Observation& observation);

}  // namespace retrysim::validation
