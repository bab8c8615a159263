// Systems whose load depends on themselves: clients that retry, and closed loops of clients that
// wait for their answers.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_families.hpp"
#include "scenario_pieces.hpp"
#include "series_statistics.hpp"

namespace retrysim::validation {
namespace {

// Measurements for which there is no metric.

double attempts_per_success(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  const std::uint64_t successes = c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)];
  return static_cast<double>(c.attempts) / static_cast<double>(successes);
}

double retries_per_attempt(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return 1 - static_cast<double>(c.requests) / static_cast<double>(c.attempts);
}

double backoff_before_attempt_2(const Observation& o) { return in_backoff_before(o, 2); }
double backoff_before_attempt_3(const Observation& o) { return in_backoff_before(o, 3); }

/// Attempts that arrive in each time-series bin.
std::vector<double> arrivals(const Observation& o) {
  return series(o, [](const ServiceFlow& bin) { return static_cast<double>(bin.arrivals); });
}

/// The same in windows of `bins` bins.
std::vector<double> arrivals(const Observation& o, std::size_t bins) {
  std::vector<double> counts = batch_means(arrivals(o), bins);
  for (double& n : counts) n *= static_cast<double>(bins);
  return counts;
}

// Systems in which an attempt fails with probability p, whatever happened before.

constexpr Quantity kRetries[] = {
    {"amplification", "amplification"},          {"success_rate", "success_rate"},
    {"var_attempts", "attempts_variance"},       {"attempts_per_success", "", attempts_per_success},
    {"retry_fraction", "", retries_per_attempt},
};

/// Every attempt fails with probability p, whatever happened before.
System retry_iid(const Parameters& p) {
  constexpr double kRate = 10;
  const std::string errors = fmt::format("errors.internal = {}\n", p.number("p"));
  const std::string retry = fmt::format(
      R"({{ mode = "custom", max_attempts = {}, delays = [{}] }})", p.text("n"), seconds(1));
  return {service_table(R"("unlimited")", seconds(1), errors) + client_table(kRate, retry), kRate,
          2 * p.number("n")};
}

double executions_per_request(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return static_cast<double>(c.executed) / static_cast<double>(c.requests);
}

constexpr Quantity kDuplicates[] = {
    {"executions_per_request", "", executions_per_request},
    {"P_client_success", "success_rate"},
    {"P_exec_ge2", "duplicate_share"},
};

double requests_without_effect(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return 1 - static_cast<double>(c.effects) / static_cast<double>(c.requests);
}

constexpr Quantity kDuplicatesWithToken[] = {
    {"P_exec_0", "", requests_without_effect},
    {"exec_per_request_dedup", "effects_per_request"},
    {"replays_per_request", "replays_per_request"},
    {"P_ambiguous_fail", "ambiguous_share"},
};

/// Messages get lost on either way, and what was answered in vain is done again, unless the
/// service remembers it.
System lossy_network(const Parameters& p, const std::string& service) {
  constexpr double kRate = 10;
  const std::string network = fmt::format("[network]\nrequest_loss = {}\nresponse_loss = {}\n",
                                          p.number("q_request_lost"), p.number("l_response_lost"));
  const std::string retry =
      fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = [0] }})", p.text("n"));
  const std::string client = fmt::format("attempt_timeout = {}\nmutating = 1\n", seconds(1));
  return {
      network + service_table(R"("unlimited")", "0", service) + client_table(kRate, retry, client),
      kRate, p.number("n")};
}

System duplicates(const Parameters& p) { return lossy_network(p, ""); }

System duplicates_with_token(const Parameters& p) {
  return lossy_network(p, "idempotency.window = \"1h\"\n");
}

/// The attempts at the last of `depth` services, each of which calls the next, per request of the
/// clients of the first.
double amplification_at_bottom(const Observation& o) {
  return static_cast<double>(o.run.clients.back().attempts) /
         static_cast<double>(o.run.clients.front().requests);
}

constexpr Quantity kLayers[] = {{"amplification_at_bottom", "", amplification_at_bottom}};

/// A chain of services of which the last always fails; everybody has the same retry policy.
System layers(const Parameters& p) {
  constexpr double kRate = 1;
  const int depth = static_cast<int>(p.number("depth"));
  const std::string retry =
      fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = [0] }})", p.text("n"));
  std::string services;
  for (int i = 1; i <= depth; ++i) {
    services += fmt::format("[service.tier{}]\nservers = \"unlimited\"\nservice_time = 0\n", i);
    if (i < depth) services += fmt::format("calls.tier{} = {{ retry = {} }}\n", i + 1, retry);
  }
  services += "errors.internal = 1\n";
  return {services + client_table(kRate, retry, "calls = \"tier1\"\n"), kRate,
          std::pow(p.number("n"), depth)};
}

/// Bins of a constant delay: more than one, so that a window may be shorter than the delay.
constexpr std::size_t kBinsPerDelay = 2;

double dispersion_of_bins(const Observation& o) { return index_of_dispersion(arrivals(o)); }

double dispersion_over_20_delays(const Observation& o) {
  return index_of_dispersion(arrivals(o, 20 * kBinsPerDelay));
}

/// A request and its retries lie within a batch, so that only neighbours depend on each other.
double limit_of_dispersion(const Observation& o) {
  constexpr std::size_t kBinsPerBatch = 8;
  const std::vector<double> counts = arrivals(o, kBinsPerBatch);
  double sum = 0;
  for (const double n : counts) sum += n;
  return asymptotic_variance(counts) / (sum / static_cast<double>(counts.size()));
}

template <std::size_t kDelays>
double correlation_at_delay(const Observation& o) {
  return autocorrelation(arrivals(o), kDelays * kBinsPerDelay);
}

constexpr Quantity kBursts[] = {
    {"IDC_infinite_window", "", limit_of_dispersion},
    {"IDC_window_lt_d", "", dispersion_of_bins},
    {"IDC_window_20d", "", dispersion_over_20_delays},
    {"acf_at_lag_d", "", correlation_at_delay<1>},
    {"acf_at_lag_2d", "", correlation_at_delay<2>},
    {"IDC", "", dispersion_of_bins},
};

/// Answers take no time, so that attempts of a request are exactly the delays apart. A bin is one
/// memory long.
System retry_burst(const Parameters& p, const std::string& delays, double bin) {
  constexpr double kRate = 5;
  const std::string retry =
      fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = {} }})", p.text("n"), delays);
  return {
      service_table(R"("unlimited")", "0", fmt::format("errors.internal = {}\n", p.number("p"))) +
          client_table(kRate, retry),
      kRate, bin};
}

System constant_delay(const Parameters& p) {
  return retry_burst(p, fmt::format("[{}]", seconds(kBinsPerDelay)), 1);
}

System uniform_delays(const Parameters& p) {
  const auto uniform = [&](std::string_view name) {
    return fmt::format(R"({{ distribution = "uniform", min = 0, max = {} }})",
                       seconds(p.number(name)));
  };
  return retry_burst(p, fmt::format("[{}, {}]", uniform("u1"), uniform("u2")), p.number("window"));
}

// Systems that turn attempts away, who come back.

constexpr Quantity kFeedback[] = {
    {"amplification", "amplification"},
    {"success_rate", "success_rate"},
    {"attempt_rate", "attempt_rate"},
    {"request_rate", "offered_load"},
    {"offered", "offered_load"},
    {"X", "throughput"},
    {"R", "service_latency_mean"},
    {"L", "in_system_mean"},
    {"util", "utilization"},
    {"orbit_mean", "in_backoff_mean"},
    {"attempt_failure", "error_share"},
    {"call_congestion", "rejected_share"},
    {"time_congestion", "all_busy_share"},
    {"P_block_primary", "", first_attempts_failed},
    {"P_full", "", first_attempts_failed},
    {"orbit1_mean", "", backoff_before_attempt_2},
    {"orbit2_mean", "", backoff_before_attempt_3},
};

struct Backoffs {
  std::string delays;  ///< the list, as TOML
  double sum = 0;      ///< of the means
};

/// Exponential delays with these rates: "0.5|0.25".
Backoffs exponential_backoffs(std::string_view rates) {
  Backoffs all;
  while (!rates.empty()) {
    const std::size_t end = std::min(rates.find('|'), rates.size());
    const double mean = 1 / Parameters("rate=" + std::string(rates.substr(0, end))).number("rate");
    all.delays += (all.delays.empty() ? "" : ", ") + exponential(mean);
    all.sum += mean;
    rates.remove_prefix(std::min(end + 1, rates.size()));
  }
  all.delays = "[" + all.delays + "]";
  return all;
}

std::string persistent(const std::string& attempts, const std::string& delays) {
  return fmt::format(R"({{ mode = "custom", max_attempts = {}, delays = {} }})", attempts, delays);
}

/// M/M/c/K: K counts all places.
std::string bounded_service(double servers, double places) {
  return service_table(fmt::format("{}", servers), exponential(1),
                       fmt::format("queue.capacity = {}\n", places - servers));
}

System retrial(const Parameters& p, double servers) {
  const double rate = p.number("lam"), pause = 1 / p.number("nu");
  return {bounded_service(servers, servers) +
              client_table(rate, persistent(R"("unlimited")", "[" + exponential(pause) + "]")),
          rate, memory_of_queue(rate / servers, servers, 1) + 5 * pause};
}

System retrial_mm11(const Parameters& p) { return retrial(p, 1); }
System retrial_mmcc(const Parameters& p) { return retrial(p, p.number("c")); }

System retry_mmck(const Parameters& p) {
  const double rate = p.number("lam");
  const Backoffs backoffs = exponential_backoffs(p.text("backoff_rates"));
  return {bounded_service(p.number("c"), p.number("K")) +
              client_table(rate, persistent(p.text("n"), backoffs.delays)),
          rate, p.number("K") + 2 * backoffs.sum};
}

/// The limit of long backoffs, at 200 mean service times.
System loss_fixed_point(const Parameters& p) {
  constexpr double kBackoff = 200;
  const double rate = p.number("lam"), servers = p.number("c");
  return {bounded_service(servers, servers) +
              client_table(rate, persistent(p.text("n"), "[" + exponential(kBackoff) + "]")),
          rate, 2 * kBackoff};
}

/// A rejection costs nothing: the throttle lets through what the service can do. Long backoffs keep
/// the attempts smooth, as a fluid is.
constexpr double kFluidRate = 10;

System fluid_cheap_reject(const Parameters& p) {
  constexpr double kBackoff = 100;
  const double rate = p.number("rho") * kFluidRate;
  const std::string throttle =
      fmt::format("throttle = {{ rate = {}, burst = 10 }}\n", per_second(kFluidRate));
  return {service_table(R"("unlimited")", "0", throttle) +
              client_table(rate, persistent(p.text("n"), "[" + exponential(kBackoff) + "]")),
          rate, kBackoff};
}

// Backoffs this long outlast a noticeable part of the window. The requests that end after it meet a
// service that new requests no longer burden. So here everything is counted inside the window.

double attempts_per_request_in_window(const Observation& o) {
  const ClientFlow& w = o.run.clients[0].window;
  return static_cast<double>(w.attempts) / static_cast<double>(w.requests);
}

double successes_per_request_in_window(const Observation& o) {
  const ClientFlow& w = o.run.clients[0].window;
  return static_cast<double>(w.successes) / static_cast<double>(w.requests);
}

double failures_per_attempt_in_window(const Observation& o) {
  const ClientFlow& w = o.run.clients[0].window;
  return static_cast<double>(w.throttled + w.errors) / static_cast<double>(w.attempts);
}

double attempts_over_capacity(const Observation& o) {
  return static_cast<double>(o.run.clients[0].window.arrivals) / window_units(o.run) / kFluidRate;
}

constexpr Quantity kFluid[] = {
    {"amplification", "", attempts_per_request_in_window},
    {"success_rate", "", successes_per_request_in_window},
    {"attempt_failure", "", failures_per_attempt_in_window},
    {"attempts_over_mu", "", attempts_over_capacity},
};

// Closed loops.

/// The law of the think time must not matter.
std::string think_time(const Parameters& p) {
  const double mean = p.number("Z");
  if (p.text("think") == "exp") return exponential(mean);
  return fmt::format(R"({{ distribution = "uniform", min = {}, max = {} }})", seconds(0.8 * mean),
                     seconds(1.2 * mean));
}

System machine_repair(const Parameters& p) {
  const double clients = p.number("N"), servers = p.number("c"), service = p.number("S");
  const double think = p.number("Z");
  return {service_table(fmt::format("{}", servers), exponential(service)) +
              closed_client_table(clients, think_time(p)),
          std::min(clients / (think + service), servers / service),
          think + clients * service / servers};
}

System engset(const Parameters& p) {
  const double clients = p.number("N"), servers = p.number("c"), think = p.number("Z");
  return {bounded_service(servers, servers) + closed_client_table(clients, exponential(think)),
          clients / (think + 1), think + 1};
}

System finite_source_retry(const Parameters& p) {
  const double clients = p.number("N"), think = p.number("Z");
  const Backoffs backoffs = exponential_backoffs(p.text("backoff_rates"));
  return {bounded_service(p.number("c"), p.number("K")) +
              closed_client_table(clients, exponential(think),
                                  persistent(p.text("n"), backoffs.delays)),
          clients / (think + backoffs.sum + 1), think + backoffs.sum + p.number("K")};
}

constexpr Family kFeedbackFamilies[] = {
    {"retry_iid", retry_iid, kRetries},
    {"duplicates", duplicates, kDuplicates},
    {"duplicates_with_token", duplicates_with_token, kDuplicatesWithToken},
    {"layered_amplification", layers, kLayers},
    {"retry_burst", constant_delay, kBursts},
    {"retry_burst_fulljitter", uniform_delays, kBursts},
    {"retrial_mm11", retrial_mm11, kFeedback},
    {"retrial_mmcc", retrial_mmcc, kFeedback},
    {"retry_mmcK_n", retry_mmck, kFeedback},
    {"loss_fixed_point", loss_fixed_point, kFluid},
    {"fluid_cheap_reject", fluid_cheap_reject, kFluid},
    {"closed_machine_repair", machine_repair, kFeedback},
    {"engset", engset, kFeedback},
    {"finite_source_retry", finite_source_retry, kFeedback},
};

}  // namespace

std::span<const Family> feedback_families() { return kFeedbackFamilies; }

}  // namespace retrysim::validation
