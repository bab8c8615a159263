// SPDX-License-Identifier: MIT
#include "model_families.hpp"

#include <retrysim/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>

#include "series_statistics.hpp"

namespace retrysim::validation {
namespace {

// What a scenario file needs to be told, in its own units.

std::string seconds(double units) { return fmt::format("{}", units * kUnitSeconds); }
std::string per_second(double per_unit) { return fmt::format("{}", per_unit / kUnitSeconds); }

struct ServiceLaw {
  std::string toml;
  double scv = 0;  // squared coefficient of variation
};

/// The law that "exp(mean=1)", "constant(mean=1)", "lognormal(mean=1,scv=4)" or
/// "hyperexp(p=0.9,r1=1.8,r2=0.2)" names (r1 and r2 are the rates of the branches).
ServiceLaw service_law(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') {
    throw std::runtime_error("no distribution: '" + text + "'");
  }
  const std::string kind = text.substr(0, open);
  const Parameters p(std::string_view(text).substr(open + 1, text.size() - open - 2), ',');
  if (kind == "exp") {
    return {
        fmt::format(R"({{ distribution = "exponential", mean = {} }})", seconds(p.number("mean"))),
        1};
  }
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
                          const std::string& more = "") {
  return fmt::format("[service.api]\nservers = {}\nservice_time = {}\n{}", servers, service_time,
                     more);
}

/// Requests that come at random (Poisson), `rate` of them in one unit of time.
std::string client_table(double rate, const std::string& retry = R"({ mode = "none" })") {
  return fmt::format(
      "[client.web]\narrivals = {{ process = \"poisson\", total_rate = {} }}\nretry = {}\n",
      per_second(rate), retry);
}

/// Time in which a queue forgets how long it was: the relaxation time of M/M/c (mean service 1),
/// longer for service times of larger variance.
double memory_of_queue(double rho, double servers, double scv) {
  const double gap = 1 - std::sqrt(rho);
  return 1 + (1 + scv) / 2 / (servers * gap * gap);
}

// Measurements for which there is no metric.

double busy_servers(const Observation& o) {
  return o.run.services[0].window.busy_ns /
         static_cast<double>((o.run.window_end - o.run.window_start).count());
}

double share_waiting_at_most_t(const Observation& o) {
  const double t_ns = o.parameters.number("t") * kUnitSeconds * 1e9;
  return o.run.clients[0].queueing_time.share_at_or_below(t_ns);
}

double attempts_per_success(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  const std::uint64_t successes = c.outcomes[static_cast<std::size_t>(Outcome::kSuccess)];
  return static_cast<double>(c.attempts) / static_cast<double>(successes);
}

double retries_per_attempt(const Observation& o) {
  const ClientResult& c = o.run.clients[0];
  return 1 - static_cast<double>(c.requests) / static_cast<double>(c.attempts);
}

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

/// Limit of t times the variance of the time average of N over a time t, by batches of eight bins.
/// A bin is one relaxation time, so batches that are no neighbours are as good as independent
/// (correlation below e^-8).
double asymptotic_variance_of_number(const Observation& o) {
  constexpr std::size_t kBinsPerBatch = 8;
  const double width_ns = static_cast<double>(o.run.interval.count());
  const std::vector<double> number =
      series(o, [&](const ServiceFlow& bin) { return (bin.queue_ns + bin.busy_ns) / width_ns; });
  const double batch_units = width_ns / 1e9 / kUnitSeconds * static_cast<double>(kBinsPerBatch);
  return asymptotic_variance(batch_means(number, kBinsPerBatch)) * batch_units;
}

double dispersion_of_departures(const Observation& o) {
  return index_of_dispersion(
      series(o, [](const ServiceFlow& bin) { return static_cast<double>(bin.completions); }));
}

// The families. Where a parameter mu is given it is 1: the unit of time is the mean service time.

constexpr Quantity kQueue[] = {
    {"util", "utilization"},
    {"L", "in_system_mean"},
    {"Lq", "queue_mean"},
    {"X", "throughput"},
    {"W", "service_latency_mean"},
    {"Wq", "queueing_time_mean"},
    {"sd_Wq", "queueing_time_sd"},
    {"varN", "in_system_variance"},
    {"T_p50", "service_latency_p50"},
    {"T_p99", "service_latency_p99"},
    {"Wq_p99", "queueing_time_p99"},
    {"P_wait", "wait_probability"},
    {"P_block", "rejected_share"},
    // Both means are over the attempts that were served, so the rejected ones are left out already.
    {"W_accepted", "service_latency_mean"},
    {"Wq_accepted", "queueing_time_mean"},
    {"carried", "", busy_servers},
    {"P_Wq_le_t", "", share_waiting_at_most_t},
    {"asymvar_N", "", asymptotic_variance_of_number},
    {"departure_IDC", "", dispersion_of_departures},
};

constexpr Quantity kThrottle[] = {
    {"P_throttle", "throttled_share"},
    {"X", "throughput"},
};

constexpr Quantity kRetries[] = {
    {"amplification", "amplification"},          {"success_rate", "success_rate"},
    {"var_attempts", "attempts_variance"},       {"attempts_per_success", "", attempts_per_success},
    {"retry_fraction", "", retries_per_attempt},
};

System exponential_servers(const Parameters& p, double servers, const std::string& more) {
  const double rate = p.number("lam"), mu = p.number("mu");
  const double load = std::min(rate / (servers * mu), servers * mu / rate);
  const std::string law =
      fmt::format(R"({{ distribution = "exponential", mean = {} }})", seconds(1 / mu));
  return {service_table(fmt::format("{}", servers), law, more) + client_table(rate), rate,
          memory_of_queue(load, servers, 1)};
}

System mm1(const Parameters& p) { return exponential_servers(p, 1, ""); }

System mmc(const Parameters& p) { return exponential_servers(p, p.number("c"), ""); }

/// K counts all places, those in service too; a scenario counts those in the queue only.
System mmck(const Parameters& p) {
  return exponential_servers(p, p.number("c"),
                             fmt::format("queue.capacity = {}\n", p.number("K") - p.number("c")));
}

System mg1_fifo(const Parameters& p) {
  const ServiceLaw law = service_law(p.text("service"));
  const double rate = p.number("lam");
  return {service_table("1", law.toml) + client_table(rate), rate,
          memory_of_queue(rate, 1, law.scv)};
}

System md1(const Parameters& p) {
  const double rate = p.number("lam"), service = p.number("D");
  return {service_table("1", seconds(service)) + client_table(rate), rate,
          memory_of_queue(rate * service, 1, 0)};
}

System mgcc_loss(const Parameters& p) {
  const ServiceLaw law = service_law(p.text("service"));
  const double rate = p.number("a");
  return {service_table(p.text("c"), law.toml, "queue.capacity = 0\n") + client_table(rate), rate,
          1 + law.scv};
}

/// The servers are out of the way: what the throttle lets pass is what they finish.
System token_bucket_throttle(const Parameters& p) {
  const double rate = p.number("lam"), refill = p.number("rate"), burst = p.number("burst");
  const std::string throttle =
      fmt::format("throttle = {{ rate = {}, burst = {} }}\n", per_second(refill), burst);
  return {service_table(R"("unlimited")", seconds(1), throttle) + client_table(rate), rate,
          1 + burst * burst / refill};
}

/// Every attempt fails with probability p, whatever happened before.
System retry_iid(const Parameters& p) {
  constexpr double kRate = 10;
  const std::string errors = fmt::format("errors.internal = {}\n", p.number("p"));
  const std::string retry = fmt::format(
      R"({{ mode = "custom", max_attempts = {}, delays = [{}] }})", p.text("n"), seconds(1));
  return {service_table(R"("unlimited")", seconds(1), errors) + client_table(kRate, retry), kRate,
          2 * p.number("n")};
}

constexpr Family kFamilies[] = {
    {"mm1", mm1, kQueue},
    {"mmc", mmc, kQueue},
    {"mmck", mmck, kQueue},
    {"mg1_fifo", mg1_fifo, kQueue},
    {"md1", md1, kQueue},
    {"mgcc_loss", mgcc_loss, kQueue},
    {"token_bucket_throttle", token_bucket_throttle, kThrottle},
    {"retry_iid", retry_iid, kRetries},
};

/// Theory's units: of time the unit above, of rates events in it.
double in_theory_units(double value, std::string_view unit) {
  if (unit == "s") return value / kUnitSeconds;
  if (unit == "1/s") return value * kUnitSeconds;
  return value;
}

template <class Named>
const Named* find_by(std::span<const Named> all, std::string_view Named::*member,
                     std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& n) { return n.*member == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family& find_family(std::string_view model) {
  if (const Family* found = find_by(families(), &Family::model, model)) return *found;
  throw std::runtime_error("unknown model: '" + std::string(model) + "'");
}

const Quantity& find_quantity(const Family& family, std::string_view name) {
  if (const Quantity* found = find_by(family.quantities, &Quantity::name, name)) return *found;
  throw std::runtime_error("model " + std::string(family.model) + " has no quantity '" +
                           std::string(name) + "'");
}

double measure(const Quantity& quantity, const Observation& observation) {
  if (quantity.formula != nullptr) return quantity.formula(observation);
  const MetricInfo* metric = find_metric(quantity.metric);
  if (metric == nullptr) {
    throw std::runtime_error("unknown metric: '" + std::string(quantity.metric) + "'");
  }
  const std::optional<double> value =
      metric_value(*metric, observation.scenario, observation.run, std::nullopt);
  if (!value) throw std::runtime_error("the run has no " + std::string(metric->name));
  return in_theory_units(*value, metric->unit);
}

}  // namespace retrysim::validation
