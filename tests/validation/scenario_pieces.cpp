// SPDX-License-Identifier: MIT
#include "scenario_pieces.hpp"

#include <retrysim/scenario.hpp>

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace retrysim::validation {

std::string seconds(double units) { return fmt::format("{}", units * kUnitSeconds); }
std::string per_second(double per_unit) { return fmt::format("{}", per_unit / kUnitSeconds); }

std::string exponential(double mean) {
  return fmt::format(R"({{ distribution = "exponential", mean = {} }})", seconds(mean));
}

ServiceLaw service_law(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') {
    throw std::runtime_error("no distribution: '" + text + "'");
  }
  const std::string kind = text.substr(0, open);
  const Parameters p(std::string_view(text).substr(open + 1, text.size() - open - 2), ',');
  if (kind == "exp") return {exponential(p.number("mean")), 1};
  if (kind == "constant") return {seconds(p.number("mean")), 0};
  if (kind == "lognormal") {
    const double scv = p.number("scv");
    return {fmt::format(R"({{ distribution = "lognormal", mean = {}, cv = {} }})",
                        seconds(p.number("mean")), std::sqrt(scv)),
            scv};
  }
  if (kind == "hyperexp") {
    const double share = p.number("p"), m1 = 1 / p.number("r1"), m2 = 1 / p.number("r2");
    const double mean = share * m1 + (1 - share) * m2;
    const double square = 2 * (share * m1 * m1 + (1 - share) * m2 * m2);
    return {
        fmt::format(R"({{ distribution = "hyperexponential", p = {}, mean1 = {}, mean2 = {} }})",
                    share, seconds(m1), seconds(m2)),
        square / (mean * mean) - 1};
  }
  throw std::runtime_error("unknown distribution: '" + text + "'");
}

std::string service_table(const std::string& servers, const std::string& service_time,
                          const std::string& more) {
  return fmt::format("[service.api]\nservers = {}\nservice_time = {}\n{}", servers, service_time,
                     more);
}

std::string client_table(double rate, const std::string& retry, const std::string& more) {
  return fmt::format(
      "[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\nretry = {}\n{}",
      per_second(rate), retry, more);
}

std::string closed_client_table(double clients, const std::string& think_time,
                                const std::string& retry) {
  return fmt::format(
      "[client.web]\ncount = {}\narrivals = {{ process = \"closed\", think_time = {} }}\n"
      "retry = {}\n",
      clients, think_time, retry);
}

double memory_of_queue(double rho, double servers, double scv) {
  const double gap = 1 - std::sqrt(rho);
  return 1 + (1 + scv) / 2 / (servers * gap * gap);
}

Scenario load_text(const std::string& text) {
  LoadResult result = load_scenario_text(text, "case.toml", ".");
  if (!result.loaded) {
    std::string message;
    for (const Diagnostic& d : result.errors) message += to_string(d) + "\n";
    throw std::runtime_error(message);
  }
  return std::move(result.loaded->scenario);
}

double window_units(const RunResult& run) {
  return (run.window_end - run.window_start).in_seconds() / kUnitSeconds;
}

double retries_per_request(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return static_cast<double>(c.attempts - c.requests) / static_cast<double>(c.requests);
}

double first_attempts_failed(const Observation& o) {
  const AttemptNumberCounts& first = o.run.clients[0].by_attempt.at(0);
  return static_cast<double>(first.results[static_cast<std::size_t>(AttemptResult::kError)]) /
         static_cast<double>(first.sent);
}

double in_backoff_before(const Observation& o, std::size_t number) {
  return o.run.clients[0].by_attempt.at(number - 1).in_backoff_ns / 1e9 / kUnitSeconds /
         window_units(o.run);
}

}  // namespace retrysim::validation
