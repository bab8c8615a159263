// Queues that are fed from outside, without retries: waiting, loss, impatience.
//
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "model_families.hpp"
#include "scenario_pieces.hpp"
#include "series_statistics.hpp"

namespace retrysim::validation {
namespace {

// Measurements for which there is no metric.

double busy_servers(const Observation& o) {
  return o.run.services[0].window.busy_ns /
         static_cast<double>((o.run.window_end - o.run.window_start).count());
}

double share_waiting_at_most_t(const Observation& o) {
  const double t_ns = o.parameters.number("t") * kUnitSeconds * 1e9;
  return o.run.clients[0].queueing_time.share_at_or_below(t_ns);
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

constexpr Quantity kTokenBucket[] = {
    {"P_throttle", "throttled_share"},
    {"X", "throughput"},
};

System exponential_servers(const Parameters& p, double servers, const std::string& more) {
  const double rate = p.number("lam"), mu = p.number("mu");
  const double load = std::min(rate / (servers * mu), servers * mu / rate);
  return {service_table(fmt::format("{}", servers), exponential(1 / mu), more) + client_table(rate),
          rate, memory_of_queue(load, servers, 1)};
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

// Orders of service. Those that do not look at service times have FIFO's mean, in which a defect of
// the scheduler would not be seen; their standard deviations differ.

System mg1_in_order(const Parameters& p, const std::string& discipline) {
  const ServiceLaw law = service_law(p.text("service"));
  const double rate = p.number("lam");
  const std::string queue = fmt::format("queue.discipline = \"{}\"\n", discipline);
  return {service_table("1", law.toml, queue) + client_table(rate), rate,
          memory_of_queue(rate, 1, law.scv)};
}

System mg1_lifo(const Parameters& p) { return mg1_in_order(p, "lifo"); }
System mg1_random(const Parameters& p) { return mg1_in_order(p, "random"); }
System mg1_ps(const Parameters& p) { return mg1_in_order(p, "processor-sharing"); }

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

/// Two groups of clients, the first of which is served first; no service is interrupted.
System mg1_priority(const Parameters& p) {
  const ServiceLaw law = service_law(p.text("service"));
  const double first = p.number("lam1"), second = p.number("lam2");
  const auto group = [](const char* name, double rate, int priority) {
    return fmt::format(
        "[client.{}]\narrivals = {{ process = \"poisson\", total_rate = {} }}\n"
        "retry = {}\npriority = {}\n",
        name, per_second(rate), kNoRetries, priority);
  };
  return {service_table("1", law.toml, "queue.discipline = \"priority\"\n") +
              group("urgent", first, 1) + group("patient", second, 0),
          first + second, memory_of_queue(first + second, 1, law.scv)};
}

template <std::size_t kGroup>
double wait_of_group(const Observation& o) {
  const DurationMoments& wait = o.run.clients[kGroup].queueing_time_m;
  return static_cast<double>(wait.sum_ns) / static_cast<double>(wait.count) / 1e9 / kUnitSeconds;
}

constexpr Quantity kPriority[] = {
    {"util", "utilization"},
    {"Wq1", "", wait_of_group<0>},
    {"Wq2", "", wait_of_group<1>},
};

/// The servers are out of the way: what the throttle lets pass is what they finish.
System token_bucket_throttle(const Parameters& p) {
  const double rate = p.number("lam"), refill = p.number("rate"), burst = p.number("burst");
  const std::string throttle =
      fmt::format("throttle = {{ rate = {}, burst = {} }}\n", per_second(refill), burst);
  return {service_table(R"("unlimited")", seconds(1), throttle) + client_table(rate), rate,
          1 + burst * burst / refill};
}

// Impatient customers. A client's patience is its attempt timeout; what becomes of its attempt is
// the service's policy.

double metric_of(const Observation& o, std::string_view name) { return measure({name, name}, o); }

/// Waiting before service or loss, of all: a lost one has waited as long as its patience.
double wait_of_served_and_dropped(const Observation& o) {
  const double dropped = metric_of(o, "dropped_share");
  return (1 - dropped) * metric_of(o, "queueing_time_mean") + dropped * o.parameters.number("D");
}

/// By Little's law: the queue holds those who will leave it as well.
double wait_of_all(const Observation& o) {
  return metric_of(o, "queue_mean") / metric_of(o, "offered_load");
}

constexpr Quantity kImpatience[] = {
    {"P_abandon", "dropped_share"},
    {"P_drop", "dropped_share"},
    {"P_late", "late_share"},
    {"P_timeout", "timeout_share"},
    {"P_wait", "wait_probability"},
    {"Lq", "queue_mean"},
    {"X", "throughput"},
    {"util", "utilization"},
    {"goodput", "goodput"},
    {"wasted_full_util", "wasted_share"},
    {"wasted_after_giveup_util", "wasted_after_give_up_share"},
    {"Wq_all", "", wait_of_all},
    {"EW_all", "", wait_of_served_and_dropped},
};

/// The patience bounds the queue, overloaded or not: it forgets within a few patiences.
System impatient_clients(const Parameters& p, double servers, const std::string& patience,
                         double mean_patience, const std::string& abandoned) {
  const double rate = p.number("lam"), mu = p.number("mu");
  return {service_table(fmt::format("{}", servers), exponential(1 / mu),
                        fmt::format("abandoned = \"{}\"\n", abandoned)) +
              client_table(rate, kNoRetries, fmt::format("attempt_timeout = {}\n", patience)),
          rate, 5 + 3 * mean_patience};
}

/// Exponential patience forgets how long it has lasted. So it does no harm that the client's clock
/// runs on while it is served: it could only leave the queue, and an attempt in service stays.
System mmc_m(const Parameters& p) {
  const double patience = 1 / p.number("theta");
  return impatient_clients(p, p.number("c"), exponential(patience), patience, "remove");
}

/// Whether a client is gone when its attempt's turn comes depends on the wait alone.
System mmc_d(const Parameters& p) {
  const double patience = p.number("D");
  return impatient_clients(p, p.number("c"), seconds(patience), patience, "drop-at-dequeue");
}

System mm1_d_late(const Parameters& p) {
  const double patience = p.number("T");
  return impatient_clients(p, 1, seconds(patience), patience, "drop-at-dequeue");
}

/// Nobody leaves: the queue is M/M/1.
System mm1_timeout_zombie(const Parameters& p) {
  const double patience = p.number("T");
  System s = impatient_clients(p, 1, seconds(patience), patience, "serve");
  s.memory_units = memory_of_queue(p.number("lam"), 1, 1);
  return s;
}

constexpr Family kQueueFamilies[] = {
    {"mm1", mm1, kQueue},
    {"mmc", mmc, kQueue},
    {"mmck", mmck, kQueue},
    {"mg1_fifo", mg1_fifo, kQueue},
    {"mg1_lifo_np", mg1_lifo, kQueue},
    {"mg1_siro", mg1_random, kQueue},
    {"mg1_ps", mg1_ps, kQueue},
    {"mg1_priority", mg1_priority, kPriority},
    {"md1", md1, kQueue},
    {"mgcc_loss", mgcc_loss, kQueue},
    {"token_bucket_throttle", token_bucket_throttle, kTokenBucket},
    {"mmc_M_erlangA", mmc_m, kImpatience},
    {"mmc_D", mmc_d, kImpatience},
    {"mm1_D_late", mm1_d_late, kImpatience},
    {"mm1_timeout_zombie_noretry", mm1_timeout_zombie, kImpatience},
};

}  // namespace

std::span<const Family> queue_families() { return kQueueFamilies; }

}  // namespace retrysim::validation
