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

namespace {

/// The chain of waiting time and orbit. In a fifo queue an arrival's wait is the work ahead of it,
/// so that whether it comes too late is settled when it arrives, and neighbours fare alike. Levels
/// below `servers` are numbers of busy servers; above, the wait in parts of the mean time between
/// two services.
class WorkChain {
 public:
  WorkChain(const RetrialQueue& queue, int parts)
      : queue_(queue),
        parts_(parts),
        levels_(queue.servers + (queue.places - queue.servers) * parts),
        by_level_(kLongestJump * parts * (queue.orbit + 1) < levels_ + kLongestJump * parts) {}

  /// Steps of the elimination, roughly.
  double cost() const {
    const double width = by_level_ ? kLongestJump * parts_ * (queue_.orbit + 1.0)
                                   : levels_ + 1.0 + kLongestJump * parts_;
    return (levels_ + 1.0) * (queue_.orbit + 1.0) * width * width;
  }

  double collapse_time() const {
    MarkovChain chain((count(levels_) + 1) * (count(queue_.orbit) + 1));
    // The first retry is made for certain, further ones with the probability that makes the mean
    // number of attempts right where all fail.
    const double retried = queue_.attempts >= 2 ? queue_.retry_probability : 0;
    const double again = std::max(0.0, queue_.attempts - 2) / (queue_.attempts - 1) * retried;
    const double pace = 1 / (queue_.timeout + queue_.backoff);
    for (int level = 0; level <= levels_; ++level) {
      stop_point();
      for (int o = 0; o <= queue_.orbit; ++o) {
        const auto step = [&](int to_level, int to_o, double rate) {
          chain.add(index(level, o),
                    index(std::min(to_level, levels_), std::min(to_o, queue_.orbit)), rate);
        };
        const int waiting = level - (queue_.servers - 1);
        if (waiting > 0) {
          step(level - 1, o, parts_ * queue_.servers * queue_.service_rate);
        } else if (level > 0) {
          step(level - 1, o, level * queue_.service_rate);
        }
        if (level == levels_) {  // a full queue
          if (o > 0 && !queue_.retries_rejected) step(level, o - 1, pace * o);
          continue;
        }
        enter(waiting, [&](int jump, double late, double probability) {
          const double comes = queue_.arrival_rate * probability;
          const double returns = late * queue_.retrying_share * retried;
          step(level + jump, o + 1, comes * returns);
          step(level + jump, o, comes * (1 - returns));
          if (o == 0) return;
          step(level + jump, o, pace * o * probability * late * again);
          step(level + jump, o - 1, pace * o * probability * (1 - late * again));
        });
      }
    }
    const double full = (0.9 * queue_.places - queue_.servers) * parts_ + queue_.servers - 1;
    return chain.mean_time_to([&](std::size_t i) { return level_of(i) >= full; })[index(0, 0)];
  }

 private:
  static constexpr int kLongestJump = 8;  // mean services; longer ones are cut off

  /// What an attempt that finds so many parts of waiting adds to them, and whether it comes too
  /// late.
  template <class Found>
  void enter(int waiting, Found found) const {
    const double part = 1 / (queue_.service_rate * queue_.servers * parts_);
    // One server: the attempt's own service is the jump. Several: it is served beside others.
    const double room = queue_.timeout - std::max(waiting, 0) * part;
    const double own_late = room > 0 ? std::exp(-queue_.service_rate * room) : 1;
    if (waiting < 0) return found(1, own_late, 1);
    double left = 1;
    for (int jump = 1; jump <= kLongestJump * parts_; ++jump) {
      const bool last = jump == kLongestJump * parts_;
      const double probability = last ? left : left / parts_;
      left -= probability;
      const double over = (jump * part - room) / part + 0.5;
      found(jump, queue_.servers == 1 ? std::clamp(over, 0.0, 1.0) : own_late, probability);
    }
  }

  std::size_t index(int level, int o) const {
    return by_level_ ? count(level) * (count(queue_.orbit) + 1) + count(o)
                     : count(o) * (count(levels_) + 1) + count(level);
  }
  double level_of(std::size_t state) const {
    return static_cast<double>(by_level_ ? state / (count(queue_.orbit) + 1)
                                         : state % (count(levels_) + 1));
  }

  const RetrialQueue& queue_;
  int parts_, levels_;
  bool by_level_;
};

}  // namespace

std::optional<double> collapse_time_by_work(const RetrialQueue& queue, double most_steps) {
  check(queue);
  if (queue.places <= queue.servers || queue.attempts < 2) return std::nullopt;
  constexpr int kFine = 4, kCoarse = 2;
  for (int parts = kFine; parts >= kCoarse; --parts) {
    const WorkChain chain(queue, parts);
    if (chain.cost() <= most_steps) return chain.collapse_time();
  }
  return std::nullopt;
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
