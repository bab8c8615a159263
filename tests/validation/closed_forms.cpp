// SPDX-License-Identifier: MIT
#include "closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace retrysim::validation {
namespace {

/// FIFO, Poisson arrivals, exponential service; the queue has no limit. Waiting times beyond 0 are
/// exponential with rate c mu - lambda.
Values mmc(double rate, double mu, int servers) {
  const double load = rate / mu, rho = load / servers, b = erlang_b(servers, load);
  const double wait_probability = b / (1 - rho * (1 - b));
  const double spare = servers * mu - rate;
  const double wait = wait_probability / spare;
  return {{"util", rho},
          {"P_wait", wait_probability},
          {"Wq", wait},
          {"W", wait + 1 / mu},
          {"Lq", rate * wait},
          {"L", rate * wait + load},
          {"Wq_p99", std::log(wait_probability / 0.01) / spare}};
}

/// With one server the number in the system is geometric and the time in it exponential. The
/// asymptotic variance solves Poisson's equation; departures are Poisson (Burke 1956).
Values mm1(double rate, double mu) {
  Values values = mmc(rate, mu, 1);
  const double rho = rate / mu;
  values["varN"] = rho / ((1 - rho) * (1 - rho));
  values["T_p50"] = std::log(2.0) / (mu - rate);
  values["T_p99"] = std::log(100.0) / (mu - rate);
  values["asymvar_N"] = 2 * rho * (1 + rho) / (mu * std::pow(1 - rho, 4));
  values["departure_IDC"] = 1;
  return values;
}

/// A birth-death chain on 0 .. places.
Values mmck(double rate, double mu, int servers, int places) {
  std::vector<double> p{1};
  double sum = 1;
  for (int n = 1; n <= places; ++n) {
    p.push_back(p.back() * rate / (mu * std::min(n, servers)));
    sum += p.back();
  }
  double number = 0, waiting = 0;
  for (int n = 0; n <= places; ++n) {
    const double share = p[static_cast<std::size_t>(n)] / sum;
    number += n * share;
    waiting += std::max(0, n - servers) * share;
  }
  const double blocked = p.back() / sum, accepted = rate * (1 - blocked);
  return {{"P_block", blocked},
          {"X", accepted},
          {"L", number},
          {"Lq", waiting},
          {"W_accepted", number / accepted},
          {"Wq_accepted", waiting / accepted},
          {"util", accepted / (servers * mu)}};
}

struct Moments {
  double first, second, third;  // E[S], E[S^2], E[S^3]
};

Moments service_moments(const std::string& text) {
  const std::size_t open = text.find('(');
  const std::string kind = text.substr(0, open);
  const Parameters p(std::string_view(text).substr(open + 1, text.size() - open - 2), ',');
  if (kind == "hyperexp") {
    const double share = p.number("p"), m1 = 1 / p.number("r1"), m2 = 1 / p.number("r2");
    const auto moment = [&](int k, double factorial) {
      return factorial * (share * std::pow(m1, k) + (1 - share) * std::pow(m2, k));
    };
    return {moment(1, 1), moment(2, 2), moment(3, 6)};
  }
  const double mean = p.number("mean");
  if (kind == "exp") return {mean, 2 * mean * mean, 6 * mean * mean * mean};
  const double q =
      1 + (kind == "lognormal" ? p.number("scv") : 0);  // lognormal: E[S^k] ~ q^k(k-1)/2
  return {mean, mean * mean * q, mean * mean * mean * q * q * q};
}

/// Pollaczek and Khinchine, with the second moment (Takacs).
Values mg1_fifo(double rate, const Moments& service) {
  const double rho = rate * service.first;
  const double wait = rate * service.second / (2 * (1 - rho));
  const double square = 2 * wait * wait + rate * service.third / (3 * (1 - rho));
  return {{"util", rho},
          {"Wq", wait},
          {"W", wait + service.first},
          {"L", rate * (wait + service.first)},
          {"sd_Wq", std::sqrt(square - wait * wait)}};
}

/// Another order of service, blind to service times: FIFO's mean, and `factor` times its second
/// moment (Takacs, Kingman).
Values mg1_in_order(double rate, const Moments& service, double factor) {
  Values values = mg1_fifo(rate, service);
  const double wait = values["Wq"], sd = values["sd_Wq"];
  values["sd_Wq"] = std::sqrt(factor * (sd * sd + wait * wait) - wait * wait);
  return values;
}

/// Processor sharing: whatever the law of service.
Values mg1_ps(double rate, double service) {
  const double rho = rate * service;
  return {{"W", service / (1 - rho)}, {"L", rho / (1 - rho)}};
}

/// Non-preemptive priority of two classes with the same law of service (Cobham 1954).
Values mg1_priority(double first, double second, const Moments& service) {
  const double rho1 = first * service.first, rho = rho1 + second * service.first;
  const double residual = (first + second) * service.second / 2;
  return {
      {"util", rho}, {"Wq1", residual / (1 - rho1)}, {"Wq2", residual / ((1 - rho1) * (1 - rho))}};
}

/// Erlang's distribution of the wait (1909). The terms alternate and cancel, but for the few
/// services of time asked for here they stay small.
Values md1(double rate, double service, double t) {
  Values values = mg1_fifo(rate, {service, service * service, service * service * service});
  double sum = 0;
  double factorial = 1;
  for (int k = 0; k * service <= t; ++k) {
    if (k > 0) factorial *= k;
    const double x = rate * (t - k * service);
    sum += std::pow(-x, k) / factorial * std::exp(x);
  }
  values["P_Wq_le_t"] = (1 - rate * service) * sum;
  return values;
}

/// A token bucket is a queue in disguise: missing tokens are customers of M/D/1 with `burst` places
/// and service time 1 / refill. Departures from it form a Markov chain, solved step by step.
Values token_bucket(double rate, double refill, int burst) {
  const double load = rate / refill;
  std::vector<double> arrivals{std::exp(-load)};  // during one service
  for (int k = 1; k <= burst; ++k) arrivals.push_back(arrivals.back() * load / k);
  const auto a = [&](int k) { return arrivals[static_cast<std::size_t>(k)]; };
  std::vector<double> p{1};  // number left behind by a departure, not yet normalised
  double sum = 1;
  for (int n = 0; n + 1 < burst; ++n) {
    double next = p[static_cast<std::size_t>(n)] - p[0] * a(n);
    for (int j = 1; j <= n; ++j) next -= p[static_cast<std::size_t>(j)] * a(n + 1 - j);
    p.push_back(next / a(0));
    sum += p.back();
  }
  const double throttled = 1 - 1 / (1 / sum + load);
  return {{"P_throttle", throttled}, {"X", rate * (1 - throttled)}};
}

/// Every attempt fails with probability p; at most n attempts.
Values retry_iid(double p, int n) {
  double mean = 0, square = 0;
  for (int k = 1; k <= n; ++k) {
    const double probability = std::pow(p, k - 1) * (k < n ? 1 - p : 1);
    mean += k * probability;
    square += k * k * probability;
  }
  const double success = 1 - std::pow(p, n);
  return {{"amplification", mean},
          {"success_rate", success},
          {"var_attempts", square - mean * mean},
          {"attempts_per_success", mean / success},
          {"retry_fraction", 1 - 1 / mean}};
}

/// Erlang's A model: waiting customers leave at rate `theta` each. A birth-death chain, cut off
/// where its terms vanish.
Values erlang_a(double rate, double mu, int servers, double theta) {
  double term = 1, sum = 1, waits = 0, queue = 0, busy = 0;
  for (int n = 1; n < 10'000; ++n) {
    const int waiting = std::max(0, n - servers);
    term *= rate / (mu * std::min(n, servers) + theta * waiting);
    sum += term;
    busy += term * std::min(n, servers);
    queue += term * waiting;
    if (n >= servers) waits += term;
  }
  queue /= sum;
  return {{"P_abandon", theta * queue / rate},
          {"P_wait", waits / sum},
          {"Lq", queue},
          {"Wq_all", queue / rate},
          {"X", mu * busy / sum},
          {"util", busy / sum / servers}};
}

/// Customers who are served if their wait is at most `patience`. With the work in system as the
/// state, its density is exponential between no wait and the limit, and beyond it decays at c mu.
Values mmc_d(double rate, double mu, int servers, double patience) {
  const double load = rate / mu, capacity = servers * mu, drift = rate - capacity;
  double no_wait = 0, term = 1;  // states with a free server, relative to the last of them
  for (int j = servers - 1; j >= 0; --j) {
    no_wait += term;
    term *= j / load;
  }
  const double growth = std::exp(drift * patience);
  const double below = (growth - 1) / drift;  // integral of exp(drift x) up to the limit
  const double beyond = growth / capacity;
  const double sum = no_wait + rate * (below + beyond);
  const double dropped = rate * beyond / sum;
  const double waited = (patience * growth - below) / drift;  // integral of x exp(drift x)
  return {{"P_drop", dropped},
          {"P_wait", rate * (below + beyond) / sum},
          {"EW_all", rate * waited / sum + dropped * patience},
          {"X", rate * (1 - dropped)},
          {"util", rate * (1 - dropped) / capacity}};
}

/// Mean service time, counted only if the stay is longer than `limit`, of those with one server who
/// wait for no longer than that; per customer and probability of an idle server.
double late_service(double rate, double mu, double limit) {
  const double growth = std::exp(rate * limit), all = limit + 1 / mu;
  const double integral = all * (growth - 1) / rate - limit * growth / rate +
                          (growth - 1) / (rate * rate);  // of (limit - x + 1 / mu) exp(rate x)
  return std::exp(-mu * limit) * (all + rate * integral);
}

Values mm1_d_late(double rate, double mu, double limit) {
  Values values = mmc_d(rate, mu, 1, limit);
  const double idle = 1 - values["util"];
  const double late = idle * std::exp((rate - mu) * limit);
  values["P_late"] = late;
  values["goodput"] = rate * (1 - values["P_drop"] - late);
  values["wasted_full_util"] = rate * idle * late_service(rate, mu, limit);
  return values;
}

/// M/M/1 whose clients give up after a time, which the server does not notice.
Values mm1_timeout_zombie(double rate, double mu, double limit) {
  const double rho = rate / mu, beyond = std::exp(-(mu - rate) * limit);
  const double after_a_longer_wait = rho * rho * beyond;
  return {
      {"P_timeout", beyond},
      {"goodput", rate * (1 - beyond)},
      {"wasted_full_util", rate * (1 - rho) * late_service(rate, mu, limit) + after_a_longer_wait},
      {"wasted_after_giveup_util", rho * beyond}};
}

/// A closed loop of clients: a birth-death chain on 0 .. places.
std::vector<double> finite_source(int clients, double think, double service, int servers,
                                  int places) {
  std::vector<double> p{1};
  for (int n = 1; n <= places; ++n) {
    p.push_back(p.back() * (clients - n + 1) / think * service / std::min(n, servers));
  }
  double sum = 0;
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

Values machine_repair(int clients, double think, double service, int servers) {
  const std::vector<double> p = finite_source(clients, think, service, servers, clients);
  double number = 0, busy = 0;
  for (int n = 0; n <= clients; ++n) {
    number += n * p[static_cast<std::size_t>(n)];
    busy += std::min(n, servers) * p[static_cast<std::size_t>(n)];
  }
  const double throughput = busy / service;
  return {{"X", throughput},
          {"R", clients / throughput - think},
          {"L", number},
          {"util", busy / servers}};
}

Values engset(int clients, double think, double service, int servers) {
  const std::vector<double> p = finite_source(clients, think, service, servers, servers);
  double idle = 0, busy = 0;
  for (int n = 0; n <= servers; ++n) {
    idle += (clients - n) * p[static_cast<std::size_t>(n)];
    busy += n * p[static_cast<std::size_t>(n)];
  }
  return {{"time_congestion", p.back()},
          {"call_congestion", (clients - servers) * p.back() / idle},
          {"offered", idle / think},
          {"X", busy / service}};
}

}  // namespace

double erlang_b(int servers, double load) {
  double b = 1;
  for (int k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  return b;
}

Values closed_forms(const TheoryCase& theory) {
  const Parameters& p = theory.parameters;
  const std::string& model = theory.model;
  const auto whole = [&](std::string_view name) { return static_cast<int>(p.number(name)); };
  if (model == "mm1") return mm1(p.number("lam"), p.number("mu"));
  if (model == "mmc") return mmc(p.number("lam"), p.number("mu"), whole("c"));
  if (model == "mmck") return mmck(p.number("lam"), p.number("mu"), whole("c"), whole("K"));
  if (model == "mg1_fifo") return mg1_fifo(p.number("lam"), service_moments(p.text("service")));
  if (model == "mg1_lifo_np" || model == "mg1_siro") {
    const double rate = p.number("lam");
    const Moments service = service_moments(p.text("service"));
    const double rho = rate * service.first;
    return mg1_in_order(rate, service, model == "mg1_siro" ? 2 / (2 - rho) : 1 / (1 - rho));
  }
  if (model == "mg1_ps") return mg1_ps(p.number("lam"), service_moments(p.text("service")).first);
  if (model == "mg1_priority") {
    return mg1_priority(p.number("lam1"), p.number("lam2"), service_moments(p.text("service")));
  }
  if (model == "md1") return md1(p.number("lam"), p.number("D"), p.number("t"));
  if (model == "mgcc_loss") {
    const double blocked = erlang_b(whole("c"), p.number("a"));  // whatever the service law
    return {{"P_block", blocked}, {"carried", p.number("a") * (1 - blocked)}};
  }
  if (model == "token_bucket_throttle") {
    return token_bucket(p.number("lam"), p.number("rate"), whole("burst"));
  }
  if (model == "retry_iid") return retry_iid(p.number("p"), whole("n"));
  if (model == "mmc_M_erlangA") {
    return erlang_a(p.number("lam"), p.number("mu"), whole("c"), p.number("theta"));
  }
  if (model == "mmc_D") {
    return mmc_d(p.number("lam"), p.number("mu"), whole("c"), p.number("D"));
  }
  if (model == "mm1_D_late") return mm1_d_late(p.number("lam"), p.number("mu"), p.number("T"));
  if (model == "mm1_timeout_zombie_noretry") {
    return mm1_timeout_zombie(p.number("lam"), p.number("mu"), p.number("T"));
  }
  if (model == "closed_machine_repair") {
    return machine_repair(whole("N"), p.number("Z"), p.number("S"), whole("c"));
  }
  if (model == "engset") return engset(whole("N"), p.number("Z"), p.number("S"), whole("c"));
  return retry_values(theory);
}

}  // namespace retrysim::validation
