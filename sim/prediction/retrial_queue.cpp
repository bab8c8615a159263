// The chain of a FIFO queue and the requests that will try again.
//
// SPDX-License-Identifier: MIT
#include <retrysim/markov_chain.hpp>
#include <retrysim/stop.hpp>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <stdexcept>

namespace retrysim {
namespace {

void check(const RetrialQueue& queue) {
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (!(queue.arrival_rate >= 0) || !std::isfinite(queue.arrival_rate) ||
      !positive(queue.service_rate) || !positive(queue.timeout) || !(queue.backoff >= 0) ||
      !std::isfinite(queue.backoff)) {
    throw std::invalid_argument("rates and times must be finite, and not negative or zero");
  }
  if (!(queue.attempts >= 1) || !(queue.retry_probability >= 0 && queue.retry_probability <= 1) ||
      !(queue.retrying_share >= 0 && queue.retrying_share <= 1)) {
    throw std::invalid_argument("attempts must be at least 1, shares and probabilities in [0, 1]");
  }
  if (queue.servers < 1 || queue.places < queue.servers || queue.orbit < 1) {
    throw std::invalid_argument("servers >= 1, places >= servers and orbit >= 1 are needed");
  }
}

std::size_t count(int n) { return static_cast<std::size_t>(n); }

}  // namespace

double timeout_probability(const RetrialQueue& queue, int found) {
  using boost::math::gamma_p;
  using boost::math::gamma_q;
  const double x = queue.service_rate * queue.timeout;
  const int servers = queue.servers, ahead = found - servers + 1;  // services that must end first
  if (servers == 1) return gamma_q(found + 1.0, x);
  if (ahead <= 0) return std::exp(-x);
  // The wait is Erlang with rate c mu, and ends in time with P(wait < t); the attempt's own service
  // then takes longer than what is left with the second term.
  const double all = servers * x, others = (servers - 1) * x;
  const double served =
      std::exp(ahead * std::log(servers / (servers - 1.0)) - x + std::log(gamma_p(ahead, others)));
  return std::min(1.0, gamma_q(ahead, all) + served);
}

RetrialQueueChain::RetrialQueueChain(const RetrialQueue& queue)
    : chain((check(queue), (count(queue.places) + 1) * (count(queue.orbit) + 1))),
      places_(queue.places),
      orbit_(queue.orbit),
      by_queue_(queue.orbit <= queue.places) {
  const double again = (queue.attempts - 1) / queue.attempts * queue.retry_probability;
  const double pace = 1 / (queue.timeout + queue.backoff);
  for (int q = 0; q <= places_; ++q) {
    stop_point();
    const bool full = q == places_;
    const double late = full ? 0 : timeout_probability(queue, q);
    for (int o = 0; o <= orbit_; ++o) {
      const auto step = [&](int to_q, int to_o, double rate) {
        chain.add(index(q, o), index(to_q, std::min(to_o, orbit_)), rate);
      };
      if (q > 0) step(q - 1, o, std::min(q, queue.servers) * queue.service_rate);
      const double retries = pace * o;
      if (o > 0) step(q, o - 1, retries * (1 - again));
      if (!full) {
        const double comes_back = late * queue.retrying_share;
        step(q + 1, o, queue.arrival_rate * (1 - comes_back));
        step(q + 1, o + 1, queue.arrival_rate * comes_back);
        if (o > 0) step(q + 1, o - 1, retries * again * (1 - late));
        step(q + 1, o, retries * again * late);
      } else if (queue.retries_rejected) {
        step(q, o + 1, queue.arrival_rate * queue.retrying_share);
      } else if (o > 0) {
        step(q, o - 1, retries * again);
      }
    }
  }
}

std::size_t RetrialQueueChain::index(int q, int o) const {
  return by_queue_ ? count(q) * (count(orbit_) + 1) + count(o)
                   : count(o) * (count(places_) + 1) + count(q);
}
int RetrialQueueChain::queue_of(std::size_t state) const {
  return static_cast<int>(by_queue_ ? state / (count(orbit_) + 1) : state % (count(places_) + 1));
}
int RetrialQueueChain::orbit_of(std::size_t state) const {
  return static_cast<int>(by_queue_ ? state % (count(orbit_) + 1) : state / (count(places_) + 1));
}

namespace {

double collapse_time(const RetrialQueueChain& c, const RetrialQueue& queue) {
  return c.chain.mean_time_to(
      [&](std::size_t i) { return c.queue_of(i) >= 0.9 * queue.places; })[c.index(0, 0)];
}

}  // namespace

double collapse_time(const RetrialQueue& queue) {
  return collapse_time(RetrialQueueChain(queue), queue);
}

RetrialQueueLaw solve(const RetrialQueue& queue, const RetrialQueueOptions& options) {
  const RetrialQueueChain c(queue);
  const double in_time = queue.servers * queue.service_rate * queue.timeout;
  const auto recovered = [&](std::size_t i) { return c.queue_of(i) <= in_time / 3; };
  std::size_t targets = 0;
  while (targets < c.chain.states() && recovered(targets)) ++targets;
  // Where states are numbered by the queue first, those are all.
  const bool by_queue = queue.orbit <= queue.places;
  MarkovChain::LawAndReturn both;
  if (by_queue) {
    both = c.chain.law_and_return(targets);
  } else {
    both = {c.chain.stationary(), c.chain.mean_time_to(recovered)};
  }
  const std::vector<double>& law = both.law;
  RetrialQueueLaw result;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const int q = c.queue_of(i), o = c.orbit_of(i);
    result.mean_queue += q * law[i];
    result.mean_orbit += o * law[i];
    if (q > in_time) result.beyond_timeout += law[i];
    if (q == queue.places) result.at_most_places += law[i];
    if (o == queue.orbit) result.at_most_orbit += law[i];
  }
  result.empty = law[c.index(0, 0)];
  result.recovery_time = both.time[c.index(queue.places, queue.orbit)];
  if (options.collapse_time) result.collapse_time = collapse_time(c, queue);
  if (options.relaxation) result.relaxation_time = c.chain.relaxation_time();
  return result;
}

}  // namespace retrysim
