// The chain of a shared server with live attempts and zombies.
//
// SPDX-License-Identifier: MIT
#include <retrysim/markov_chain.hpp>

#include <cmath>
#include <stdexcept>

namespace retrysim {
namespace {

/// States by the number of attempts, then by how many of them are live.
std::size_t zombie_state(int live, int zombies) {
  const auto n = static_cast<std::size_t>(live + zombies);
  return n * (n + 1) / 2 + static_cast<std::size_t>(live);
}

int attempts_in(std::size_t state) {
  auto n = static_cast<int>(std::sqrt(2.0 * static_cast<double>(state)));
  while (zombie_state(0, n) > state) --n;
  while (zombie_state(0, n + 1) <= state) ++n;
  return n;
}

void check(const ZombieService& s) {
  if (!(s.arrival_rate >= 0) || !(s.service_rate > 0) || !(s.patience_rate >= 0) ||
      !std::isfinite(s.arrival_rate + s.service_rate + s.patience_rate)) {
    throw std::invalid_argument("rates must be finite and not negative");
  }
  if (!(s.retry_probability >= 0 && s.retry_probability <= 1) || s.places < 1) {
    throw std::invalid_argument("retry_probability in [0, 1] and places >= 1 are needed");
  }
}

MarkovChain zombie_chain(const ZombieService& s) {
  MarkovChain chain(zombie_state(0, s.places + 1));
  for (int n = 0; n <= s.places; ++n) {
    const double again = n < s.places ? s.retry_probability : 0;
    for (int live = 0; live <= n; ++live) {
      const int zombies = n - live;
      const auto step = [&](int to_live, int to_zombies, double rate) {
        chain.add(zombie_state(live, zombies), zombie_state(to_live, to_zombies), rate);
      };
      if (n < s.places) step(live + 1, zombies, s.arrival_rate);
      if (live > 0) {
        const double gives_up = s.patience_rate * live;
        step(live - 1, zombies, s.service_rate * live / n);
        if (again > 0) step(live, zombies + 1, gives_up * again);
        step(live - 1, zombies + 1, gives_up * (1 - again));
      }
      if (zombies > 0) step(live, zombies - 1, s.service_rate * zombies / n);
    }
  }
  return chain;
}

}  // namespace

ZombieServiceLaw solve(const ZombieService& s, int recovered_at) {
  check(s);
  if (recovered_at < 0 || recovered_at >= s.places) {
    throw std::invalid_argument("recovered_at must be at least 0 and below places");
  }
  const MarkovChain chain = zombie_chain(s);
  const std::vector<double> law = chain.stationary();
  ZombieServiceLaw result;
  for (int n = 0; n <= s.places; ++n) {
    for (int live = 0; live <= n; ++live) {
      const double p = law[zombie_state(live, n - live)];
      if (n > 0) result.goodput += p * s.service_rate * live / n;
      if (n > 0) result.utilization += p;
      if (n == s.places) result.full += p;
      result.live += p * live;
      result.zombies += p * (n - live);
    }
  }
  result.timeout_rate = s.patience_rate * result.live;
  result.fill_time =
      chain.mean_time_to([&](std::size_t i) { return attempts_in(i) == s.places; })[0];
  result.recovery_time = chain.mean_time_to(
      [&](std::size_t i) { return attempts_in(i) <= recovered_at; })[zombie_state(1, s.places - 1)];
  return result;
}

ZombieSaddle zombie_saddle(const ZombieService& s) {
  check(s);
  const double load = s.arrival_rate / s.service_rate;
  if (!(load > 0 && load < 1) || s.retry_probability != 1 || !(s.patience_rate > 0)) {
    throw std::invalid_argument(
        "the saddle is known for 0 < arrival_rate < service_rate and clients who all retry");
  }
  // Stationary: the server gives answers at the rate of new requests, so that a share `load` of
  // what it holds is live; and what it has to spare equals what is given up.
  const double live = s.service_rate * (1 - load) / s.patience_rate;
  return {live, live * (1 - load) / load};
}

}  // namespace retrysim
