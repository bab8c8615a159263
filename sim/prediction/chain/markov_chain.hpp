// Markov chains in continuous time, and the two chains that show how a service with retries
// collapses and recovers by chance alone. Everything is solved by elimination without subtraction
// (Grassmann, Taksar and Heyman 1985; O'Cinneide 1993): each entry of the result is accurate to a
// few units in the last place times the number of states, however small it is, so that no
// probability and no time ever comes out negative. Solvers that subtract lose all digits once slow
// and fast times are 10^15 apart, as they are in metastable systems.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace retrysim {

/// A finite chain. States are numbered from 0; numbers of neighbours should be close together, as
/// the work grows with the number of states times the square of the largest distance of a step.
class MarkovChain {
 public:
  /// Throws std::invalid_argument for no states, or more than can be indexed by an int.
  explicit MarkovChain(std::size_t states);
  ~MarkovChain();
  MarkovChain(MarkovChain&&) noexcept;
  MarkovChain& operator=(MarkovChain&&) noexcept;

  /// Adds `rate` >= 0 to the rate of steps from one state to another; a step from a state to itself
  /// is ignored. Throws std::invalid_argument for a state that does not exist, or a rate that is
  /// negative or not finite.
  void add(std::size_t from, std::size_t to, double rate);

  std::size_t states() const;

  /// Long-run share of time in each state. The chain must be able to reach state 0 from every
  /// state; otherwise std::domain_error. States that cannot be reached have probability 0.
  std::vector<double> stationary() const;

  /// The stationary distribution, and the mean time from each state until the chain is in one of
  /// the first `targets` states, computed together at the cost of one. The chain must be able to
  /// reach state 0 from every state.
  struct LawAndReturn {
    std::vector<double> law, time;
  };
  LawAndReturn law_and_return(std::size_t targets) const;

  /// Mean time from each state until the chain is in a state where `is_target`; 0 there. Infinite
  /// where the target may never be reached, or only after more seconds than a double can say. At
  /// least one state must be a target.
  std::vector<double> mean_time_to(const std::function<bool(std::size_t)>& is_target) const;

  /// Mean and variance of the time until a target is reached.
  struct HittingTime {
    double mean = 0;
    double variance = 0;
  };
  std::vector<HittingTime> time_to(const std::function<bool(std::size_t)>& is_target) const;

  /// Probability, from each state, of entering a state where `wins` before one where `loses`
  /// (the committor): 1 and 0 there. Its level line at one half is the separatrix. Throws
  /// std::domain_error if neither is entered from some state in a time that a double can say.
  std::vector<double> committor(const std::function<bool(std::size_t)>& wins,
                                const std::function<bool(std::size_t)>& loses) const;

  /// Time in which the slowest deviation from the stationary law shrinks by a factor of e: 1 / |Re|
  /// of the second eigenvalue. By inverse iteration; empty if that does not converge in
  /// `most_steps`, for example because the slowest eigenvalues are complex.
  std::optional<double> relaxation_time(int most_steps = 2000) const;

  /// Probability of each state `time` after the chain started with `start`, by uniformization
  /// (Jensen 1953), to within 1e-12 in sum. The cost grows with time times the fastest rate.
  std::vector<double> law_after(double time, std::vector<double> start) const;

 private:
  struct Steps;
  std::unique_ptr<Steps> steps_;
};

// --- Queue and orbit -----------------------------------------------------------------------------

/// A FIFO service with retries as a chain of two numbers: q, the attempts waiting and in service,
/// and o, the requests that will try again. Exact but for two simplifications: whether an attempt
/// times out is decided when it arrives, by the exact law of its time in the service given q; and a
/// request in orbit tries again at a constant rate, with a mean number of attempts instead of a
/// fixed one. Abandoned attempts are served anyway. Given q, the timeouts of neighbouring attempts
/// are independent here but alike in reality, so the chain is optimistic: see
/// `collapse_time_by_work`.
struct RetrialQueue {
  double arrival_rate = 0;  ///< new requests per second
  double service_rate = 1;  ///< completions of one server, per second
  int servers = 1;
  double timeout = 1;   ///< seconds an attempt may take
  double backoff = 0;   ///< mean time from a failure to the next attempt, seconds
  double attempts = 1;  ///< largest number of attempts of a request, >= 1
  /// Probability of a retry within the limit on attempts (share of clients that retry, quota).
  double retry_probability = 1;
  double retrying_share = 1;      ///< share of new requests whose client would try again at all
  bool retries_rejected = false;  ///< attempts that a full queue rejects try again
  int places = 1;                 ///< largest q: K
  int orbit = 1;                  ///< largest o; more are lost
};

/// Probability that an attempt takes longer than `timeout` in a FIFO queue with exponential service
/// when it finds `found` attempts there: Erlang's tail, for several servers convolved with its own
/// service.
double timeout_probability(const RetrialQueue& queue, int found);

/// The solution of the chain.
struct RetrialQueueLaw {
  double mean_queue = 0;      ///< attempts waiting and in service
  double mean_orbit = 0;      ///< requests waiting to try again
  double empty = 0;           ///< share of time with empty queue and orbit
  double beyond_timeout = 0;  ///< share of time in which q > servers x service rate x timeout
  double at_most_places = 0;  ///< share of time with a full queue
  double at_most_orbit = 0;   ///< share of time at the edge of the orbit: truncation
  double collapse_time = 0;   ///< mean time from empty until q >= 0.9 K, seconds
  bool by_work = false;       ///< whether `collapse_time` is that of `collapse_time_by_work`
  double recovery_time = 0;   ///< mean time from a full queue and orbit until
                              ///< q <= timeout x service rate x servers / 3, seconds
  std::optional<double> relaxation_time;  ///< seconds; only if asked for
};

struct RetrialQueueOptions {
  bool relaxation = false;  ///< whether to compute the relaxation time
  /// Whether to compute the collapse time, which takes as long as all the rest; 0 if not.
  bool collapse_time = true;
};
/// Throws std::invalid_argument for parameters out of range.
RetrialQueueLaw solve(const RetrialQueue& queue, const RetrialQueueOptions& options = {});
/// Mean time from empty until q >= 0.9 K, s.
double collapse_time(const RetrialQueue& queue);
/// The mean time to collapse from a finer chain, of the waiting work instead of the number of
/// attempts. It decides at arrival whether an attempt will be late, so neighbours share their fate.
/// `collapse_time` gives times that are up to six times longer where collapses are rare. Empty if
/// it would take more than `most_steps` multiplications.
std::optional<double> collapse_time_by_work(const RetrialQueue& queue, double most_steps = 1e9);

/// The Markov chain of a queue and its orbit; state (q, o) has the number `index(q, o)`.
struct RetrialQueueChain {
  explicit RetrialQueueChain(const RetrialQueue& queue);
  std::size_t index(int q, int o) const;
  int queue_of(std::size_t state) const;
  int orbit_of(std::size_t state) const;

  MarkovChain chain;

 private:
  int places_, orbit_;
  bool by_queue_;  // whether the queue is the major part of the index
};

// --- Processor sharing with zombies --------------------------------------------------------------

/// Attempts share one server. A client gives up after an exponential time; its attempt stays as a
/// zombie and is still served, and the client tries again at once with a given probability, if
/// there is room. Nothing is simplified: this system is exactly a chain.
struct ZombieService {
  double arrival_rate = 0;  ///< new requests per second, lost if there is no room
  double service_rate = 1;  ///< completions of the server, shared by all attempts in it, per second
  double patience_rate = 1;  ///< rate at which a waiting client gives up, per second
  double retry_probability = 1;
  int places = 1;  ///< largest number of attempts
};

struct ZombieServiceLaw {
  double goodput = 0;  ///< answers to clients that still wait, per second
  double utilization = 0;
  double live = 0;          ///< mean attempts with a waiting client
  double zombies = 0;       ///< mean attempts whose client has given up
  double full = 0;          ///< share of time without room
  double timeout_rate = 0;  ///< clients that give up, per second
  double fill_time = 0;     ///< mean time from empty to full
  /// Mean time from a full service with one live attempt, the others zombies, until at most
  /// `recovered_at` attempts are left.
  double recovery_time = 0;
};

/// Throws std::invalid_argument for parameters out of range.
ZombieServiceLaw solve(const ZombieService& service, int recovered_at);

/// The saddle between a healthy and a dead service where the number of attempts is large: beyond it
/// more clients give up per second than the server can spare work for. Only for arrival_rate <
/// service_rate and retry_probability 1.
struct ZombieSaddle {
  double live = 0, zombies = 0;
};
ZombieSaddle zombie_saddle(const ZombieService& service);

// --- The chain of a scenario ---------------------------------------------------------------------

/// The parameters of the chain for a service, or why there is none. An orbit of 0 means that its
/// size is still to be found, by `solve_with_orbit`.
using ChainOrReason = std::variant<RetrialQueue, std::string>;
ChainOrReason chain_of(const Scenario& scenario, std::size_t service);

/// Solves the chain with an orbit so large that its edge is occupied for less than 1e-10 of the
/// time, or as large as 40,000 states allow; sets `queue.orbit` to it.
RetrialQueueLaw solve_with_orbit(RetrialQueue& queue);

}  // namespace retrysim
