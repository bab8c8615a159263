// Clients that act at the same instant: a herd before a queue, whose every tie is known, and the
// study "Exponential backoff and jitter" (Brooker, 2015) of a row under optimistic concurrency
// control; and how evenly clients share what there is.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/simulation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model_families.hpp"
#include "scenario_pieces.hpp"

namespace retrysim::validation {
namespace {

std::string clients_at_once(const std::string& count, const std::string& retry,
                            const std::string& more = "") {
  return fmt::format(
      "[client.web]\ncount = {}\narrivals = {{ process = \"once\" }}\nretry = {}\n{}", count, retry,
      more);
}

/// One request a client, all of whose consequences lie in the window.
System all_at_once(const std::string& tables, double clients, double window) {
  System system{tables, clients / window};
  system.memory_units = window;
  system.window_units = window;
  return system;
}

double count_of(const Observation& o, Outcome outcome) {
  return static_cast<double>(o.run.clients[0].outcomes[static_cast<std::size_t>(outcome)]);
}

template <auto kCount>
double client_count(const Observation& o) {
  return static_cast<double>(o.run.clients[0].*kCount);
}

double successes(const Observation& o) { return count_of(o, Outcome::kSuccess); }
double failures(const Observation& o) { return count_of(o, Outcome::kMaxAttemptsExceeded); }

double timeouts(const Observation& o) {
  return static_cast<double>(
      o.run.clients[0].results[static_cast<std::size_t>(AttemptResult::kTimeout)]);
}

constexpr Quantity kHerd[] = {
    {"attempts", "", client_count<&ClientResult::attempts>},
    {"success", "", successes},
    {"failed", "", failures},
    {"executed", "", client_count<&ClientResult::executed>},
    {"dropped", "", client_count<&ClientResult::dropped>},
    {"timeouts", "", timeouts},
    {"wasted_time", "wasted_s"},
};

System herd(const Parameters& p) {
  constexpr double kWindow = 100;
  const std::string& cancel = p.text("cancel");
  const char* abandoned = cancel == "none"      ? "serve"
                          : cancel == "dequeue" ? "drop-at-dequeue"
                                                : "remove";
  const std::string retry =
      fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = [0] }})", p.text("n"));
  return all_at_once(
      service_table(p.text("c"), seconds(p.number("S")),
                    fmt::format("abandoned = \"{}\"\n", abandoned)) +
          clients_at_once(p.text("N"), retry, "attempt_timeout = " + seconds(p.number("T")) + "\n"),
      p.number("N"), kWindow);
}

// Clients that read a row and write it back, and begin again if another was first. The study's unit
// of time is a millisecond of its network.

std::string contended_row(const Parameters& p, const std::string& kind,
                          const std::string& latency) {
  const std::string_view jitter = kind == "full"     ? "full"
                                  : kind == "equal"  ? "equal"
                                  : kind == "decorr" ? "decorrelated"
                                                     : "none";
  const std::string retry = fmt::format(
      "{{ mode = \"custom\", max_attempts = \"unlimited\", backoff = {{ base = {}, factor = 2, "
      "cap = {}, first_exponent = 1, jitter = \"{}\" }} }}",
      seconds(kind == "none" ? 0 : p.number("base")), seconds(p.number("cap")), jitter);
  return fmt::format("drain_limit = 1e6\n[network]\nlatency = {}\n", latency) +
         service_table(R"("unlimited")", "0", "model = \"occ\"\n") +
         clients_at_once(p.text("N"), retry);
}

/// Long against any of these runs.
constexpr double kOccWindow = 1e6;

System occ_lockstep(const Parameters& p) {
  return all_at_once(contended_row(p, p.text("backoff"), seconds(p.number("net"))), p.number("N"),
                     kOccWindow);
}

constexpr Quantity kLockstep[] = {
    {"calls", "", client_count<&ClientResult::attempts>},
    {"end_time", "completion_time_s"},
};

/// Means over so many trials in each replication.
template <class Value>
double mean_of_trials(const DirectRun& d, Value value) {
  constexpr std::uint32_t kTrials = 60;
  const Parameters& p = d.parameters;
  const std::string latency =
      fmt::format(R"({{ distribution = "normal", mean = {}, sd = {} }})",
                  seconds(p.number("net_mean")), seconds(p.number("net_sd")));
  const Scenario scenario = load_text(fmt::format(
      "name = \"occ\"\nseed = {}\nduration = {}\ninterval = {}\n{}", d.seed, seconds(kOccWindow),
      seconds(kOccWindow), contended_row(p, p.text("kind"), latency)));
  double sum = 0;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    sum += value(simulate(scenario, d.replication * kTrials + trial));
  }
  return sum / kTrials;
}

double calls(const DirectRun& d) {
  return mean_of_trials(
      d, [](const RunResult& run) { return static_cast<double>(run.clients[0].attempts); });
}

double end_time(const DirectRun& d) {
  return mean_of_trials(d, [](const RunResult& run) {
    return (run.last_request_end - Time::zero()).in_seconds() / kUnitSeconds;
  });
}

constexpr Quantity kOcc[] = {
    {"calls", "", nullptr, calls},
    {"end_time", "", nullptr, end_time},
};

System trials(const Parameters& p) { return all_at_once("", p.number("N"), 1); }

// Jain's index of goodputs that are given: "1|2|3|4".

double jain(const DirectRun& d) {
  Scenario scenario;
  scenario.clients.resize(1);
  RunResult run;
  run.clients.resize(1);
  std::string_view text = d.parameters.text("x");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    run.clients[0].successes_per_client.push_back(
        Parameters("x=" + std::string(text.substr(0, end))).number("x"));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::optional<double> index =
      metric_value(*find_metric("jain_index"), scenario, run, std::nullopt);
  if (!index) throw std::runtime_error("the run has no jain_index");
  return *index;
}

constexpr Quantity kJain[] = {{"jain", "", nullptr, jain}};

constexpr Family kContentionFamilies[] = {
    {"herd", herd, kHerd},
    {"occ_lockstep", occ_lockstep, kLockstep},
    {"occ_mc", trials, kOcc},
    {"jain", nullptr, kJain},
};

}  // namespace

std::span<const Family> contention_families() { return kContentionFamilies; }

}  // namespace retrysim::validation
