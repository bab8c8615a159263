// Three uses of the chain: a FIFO queue with requests that will try again, a shared server with
// live attempts and zombies, and the chain of a scenario, if it has one.
//
// SPDX-License-Identifier: MIT
#include <retrysim/prediction.hpp>

#include "flow/rates.hpp"
#include "kernel/boost_math.hpp"
#include "kernel/stop.hpp"
#include "prediction/chain/markov_chain.hpp"
#include "prediction/coverage.hpp"
#include "prediction/facts/delay_law.hpp"
#include "prediction/facts/service_load.hpp"
#include "prediction/fluid/system.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cassert>
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

  /// The approximate number of steps of the elimination.
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

  /// The effect of an attempt that finds `waiting` parts of work queued: the parts that it adds,
  /// and whether it comes too late.
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
  // If states are numbered by the queue first, the first states are the target.
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

// --- Processor sharing with zombies --------------------------------------------------------------

namespace {

/// The number of a state: by the number of attempts, then by how many of them are live.
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

// --- The chain of a scenario ---------------------------------------------------------------------

namespace {

constexpr double kMaxStates = 40'000;

/// The mean backoff over the retries of a request, s.
double mean_backoff(const ClientSpec& c) {
  const double most = 32;
  const double retries = std::min<double>(most, static_cast<double>(c.retry.max_attempts) - 1);
  double sum = 0;
  prediction::BackoffLaws laws(c.retry.backoff, false);
  for (int i = 1; i <= retries; ++i) sum += prediction::mean_of(laws.next());
  return retries > 0 ? sum / retries : 0;
}

void find_collapse_time(const RetrialQueue& queue, RetrialQueueLaw& law) {
  const std::optional<double> by_work = collapse_time_by_work(queue);
  law.by_work = by_work.has_value();
  law.collapse_time = by_work ? *by_work : collapse_time(queue);
}

}  // namespace

ChainOrReason chain_of(const Scenario& scenario, std::size_t service) {
  const ServiceSpec& s = scenario.services.at(service);
  if (auto why = prediction::why_not(prediction::Theory::kChain, scenario, service)) return *why;
  RetrialQueue queue;
  queue.service_rate = 1 / s.service_time.mean_seconds();
  queue.servers = static_cast<int>(std::min<std::int64_t>(s.servers, 1'000'000));
  queue.orbit = 0;
  const ClientSpec* first = nullptr;     // any group
  const ClientSpec* retrying = nullptr;  // a group that retries
  double rate_retrying = 0;
  for (const ClientSpec& c : scenario.clients) {
    if (share_of_calls(c, service) <= 0) continue;
    if (first != nullptr &&
        c.timeouts.attempt.constant_value() != first->timeouts.attempt.constant_value()) {
      return "client." + c.name + ".attempt_timeout: the chain has one timeout for all";
    }
    first = &c;
    const double rate = flow::mean_request_rate(scenario, c);
    queue.arrival_rate += rate;
    if (c.retry.max_attempts == 1) continue;
    if (retrying != nullptr) return "client." + c.name + ": the chain has one group that retries";
    retrying = &c;
    rate_retrying = rate;
  }
  // `why_not` has refused a service that nobody calls, and one that is too late even when idle.
  assert(first != nullptr);
  queue.timeout =
      first->timeouts.attempt.mean_seconds() - 2 * scenario.network.latency.mean_seconds();
  const double places = static_cast<double>(s.queue.capacity) + queue.servers;
  if (places > kMaxStates / 2) {
    return fmt::format("service.{}.queue.capacity: the chain would have more than {:.0f} states",
                       s.name, kMaxStates);
  }
  queue.places = static_cast<int>(places);
  queue.retries_rejected = false;
  if (retrying == nullptr) {
    queue.orbit = 1;
    queue.retrying_share = 0;
    return queue;
  }
  queue.retrying_share = queue.arrival_rate > 0 ? rate_retrying / queue.arrival_rate : 1;
  queue.attempts = retrying->retry.max_attempts == RetryRules::kUnlimited
                       ? 1e9
                       : static_cast<double>(retrying->retry.max_attempts);
  queue.retry_probability = retrying->retry.probability;
  queue.backoff = mean_backoff(*retrying);
  if (!std::isfinite(queue.backoff)) return "client." + retrying->name + ".retry.backoff: no bound";
  if (retrying->retry.budget.kind == BudgetKind::kActive) {
    queue.orbit = static_cast<int>(retrying->retry.budget.minimum);
  }
  // A dead service fills the orbit with all it serves in a timeout and a backoff.
  const double orbit = queue.servers * queue.service_rate * (queue.timeout + queue.backoff);
  if (queue.orbit == 0 && (places + 1) * (orbit + 1) > kMaxStates) {
    return fmt::format(
        "service.{}.queue.capacity: the chain would have {:.0f} states or more, and at most {:.0f} "
        "are solved",
        s.name, (places + 1) * (orbit + 1), kMaxStates);
  }
  return queue;
}

RetrialQueueLaw solve_with_orbit(RetrialQueue& queue) {
  constexpr double kEdge = 1e-10;
  if (queue.orbit > 0) {
    RetrialQueueLaw law = solve(queue, {.collapse_time = false});
    find_collapse_time(queue, law);
    return law;
  }
  const double mean = queue.servers * queue.service_rate * (queue.timeout + queue.backoff);
  const auto most = static_cast<int>(kMaxStates / (queue.places + 1.0)) - 1;
  double orbit = mean + 7 * std::sqrt(mean) + 10;
  for (;;) {
    queue.orbit = std::max(1, std::min(most, static_cast<int>(orbit)));
    RetrialQueueLaw law = solve(queue, {.collapse_time = false});
    if (law.at_most_orbit < kEdge || queue.orbit == most) {
      find_collapse_time(queue, law);
      return law;
    }
    orbit *= 1.3;
  }
}

}  // namespace retrysim
