// What the families write their scenario files with, and how they read a run: units, tables,
// service laws, time series.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "model_families.hpp"
#include "theory_cases.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retrysim::validation {

// What a scenario file needs to be told, in its own units.

std::string seconds(double units);
std::string per_second(double per_unit);

/// An exponential distribution with this mean, in units.
std::string exponential(double mean);

struct ServiceLaw {
  std::string toml;
  double scv = 0;  ///< squared coefficient of variation
};

/// The law that "exp(mean=1)", "constant(mean=1)", "lognormal(mean=1,scv=4)" or
/// "hyperexp(p=0.9,r1=1.8,r2=0.2)" names (r1 and r2 are the rates of the branches).
ServiceLaw service_law(const std::string& text);

inline constexpr const char* kNoRetries = R"({ mode = "none" })";

std::string service_table(const std::string& servers, const std::string& service_time,
                          const std::string& more = "");

/// Requests that come at random (Poisson), `rate` of them in one unit of time.
std::string client_table(double rate, const std::string& retry = kNoRetries,
                         const std::string& more = "");

/// `clients` that submit a request, wait for its end, think, and so on.
std::string closed_client_table(double clients, const std::string& think_time,
                                const std::string& retry = kNoRetries);

/// Time in which a queue forgets how long it was: the relaxation time of M/M/c (mean service 1),
/// longer for service times of larger variance.
double memory_of_queue(double rho, double servers, double scv);

/// The scenario that a file with this text describes. Throws std::runtime_error with the loader's
/// messages if it describes none.
Scenario load_text(const std::string& text);

/// Length of the window in units of time.
double window_units(const RunResult& run);

/// A value of each time-series bin that lies wholly in the window.
template <class Value>
std::vector<double> series(const Observation& o, Value value) {
  const std::int64_t width = o.run.interval.count();
  std::vector<double> values;
  std::int64_t start = 0;
  for (const ServiceFlow& bin : o.run.services[0].bins) {
    if (start >= o.run.window_start.count() && start + width <= o.run.window_end.count()) {
      values.push_back(value(bin));
    }
    start += width;
  }
  return values;
}

// Quantities that several families share.

double retries_per_request(const Observation& o);

/// Share of the first attempts that were answered with an error. First attempts come at random
/// (Poisson) where requests do, so they see what an observer sees at any time.
double first_attempts_failed(const Observation& o);

/// Mean number of requests that wait to send attempt `number`.
double in_backoff_before(const Observation& o, std::size_t number);

}  // namespace retrysim::validation
