// SPDX-License-Identifier: MIT
#include "closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace retrysim::validation {
namespace {

using Values = std::map<std::string, double, std::less<>>;

/// Erlang's B formula: probability that all of `servers` are busy at an offered load of `load`.
double erlang_b(int servers, double load) {
  double b = 1;
  for (int k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  return b;
}

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

Values all_values(const TheoryCase& theory) {
  const Parameters& p = theory.parameters;
  const std::string& model = theory.model;
  const auto whole = [&](std::string_view name) { return static_cast<int>(p.number(name)); };
  if (model == "mm1") return mm1(p.number("lam"), p.number("mu"));
  if (model == "mmc") return mmc(p.number("lam"), p.number("mu"), whole("c"));
  if (model == "mmck") return mmck(p.number("lam"), p.number("mu"), whole("c"), whole("K"));
  if (model == "mg1_fifo") return mg1_fifo(p.number("lam"), service_moments(p.text("service")));
  if (model == "md1") return md1(p.number("lam"), p.number("D"), p.number("t"));
  if (model == "mgcc_loss") {
    const double blocked = erlang_b(whole("c"), p.number("a"));  // whatever the service law
    return {{"P_block", blocked}, {"carried", p.number("a") * (1 - blocked)}};
  }
  if (model == "token_bucket_throttle") {
    return token_bucket(p.number("lam"), p.number("rate"), whole("burst"));
  }
  if (model == "retry_iid") return retry_iid(p.number("p"), whole("n"));
  return {};
}

}  // namespace

std::optional<double> closed_form(const TheoryCase& theory, std::string_view quantity) {
  const Values values = all_values(theory);
  const auto found = values.find(quantity);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

}  // namespace retrysim::validation
