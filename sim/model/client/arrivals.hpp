// When clients begin requests, as far as that does not depend on the run: arrival processes, rates
// that change over time, bursts, and the pauses between the checks of a job.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/random.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "kernel/event_queue.hpp"
#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::model {

/// An arrival rate that changes over time (profiles, traces, surges): piecewise linear, constant
/// from the last piece on. Requests come from a walk along its integral, which turns a Poisson
/// process of unit rate into one of varying rate, and evenly spaced points into evenly spaced
/// requests.
class RateFunction {
 public:
  /// `base` (per second) times the profile, if there is one, times the surges.
  RateFunction(double base, const std::optional<RateProfile>& profile,
               const std::vector<SurgeSpec>& surges);

  bool is_constant() const { return pieces_.size() == 1 && pieces_[0].slope == 0; }
  double constant_rate() const { return pieces_[0].rate; }

  /// The rate per second at `t`.
  double at(Time t) const;

  /// The highest rate at any time.
  double highest() const;

  /// The integral from zero to `end`.
  double area(Time end) const;

  /// Moves along the rate's integral.
  class Cursor {
   public:
    explicit Cursor(const RateFunction& function) : function_(&function) {}
    /// The time at which the integral has grown by `area` (requests) since the last call;
    /// `Time::max()` if it never does.
    Time advance(double area);

   private:
    const RateFunction* function_;
    std::size_t piece_ = 0;
    double offset_s_ = 0;  // from the start of the piece
  };

 private:
  struct Piece {
    double start_s;
    double rate;   // at the start, per second
    double slope;  // per second squared
  };
  std::vector<Piece> pieces_;
};

/// Steps that lead to no event: bursts without any request, requests that a varying rate leaves
/// out. A scenario may need any number of them between two events, so they look at the limits
/// themselves.
class IdleSteps {
 public:
  /// More than `limit` steps are a `LimitExceeded`.
  explicit IdleSteps(std::uint64_t limit) : limit_(limit) {}

  /// Throws `Interrupted`, too.
  void count() {
    if (++steps_ >= next_look_) look();
  }

 private:
  void look() {
    stop_point();
    if (steps_ > limit_) {
      throw LimitExceeded(
          "more than " + std::to_string(limit_) +
              " bursts, pauses and rejected arrivals: the client sends far less often than it "
              "alternates between burst and pause; make arrivals.on and arrivals.off longer, or "
              "the rate higher",
          LimitKind::kEvents);
    }
    constexpr std::uint64_t kStepsBetweenLooks = 1 << 16;
    next_look_ = std::min(steps_ + kStepsBetweenLooks, limit_ + (limit_ < ~std::uint64_t{0}));
  }

  std::uint64_t limit_, steps_ = 0, next_look_ = 1;
};

/// Clients that send in bursts: each is on and off by turns, and sends at random while it is on
/// (an interrupted Poisson process). They burst each on their own, or all together.
class Bursts {
 public:
  struct Next {
    std::uint32_t client = 0;
    std::uint64_t entity = 0;
  };

  /// Nothing comes from `end` on; `key` is that of the client group, `sequence` the simulation's
  /// counter of scheduled events. More than `most_steps` bursts, pauses and arrivals that are left
  /// out are a `LimitExceeded`.
  Bursts(const ClientSpec& spec, const RandomKey& key, Time end, std::uint64_t* sequence,
         std::uint64_t most_steps = ~std::uint64_t{0});

  /// The memory that the bursts of these clients take.
  static std::uint64_t bytes(const ClientSpec& spec);

  /// Key of the next request; `EventKey::never()` after the last.
  kernel::EventKey head() const {
    return queue_.empty() ? kernel::EventKey::never() : queue_.front().key;
  }

  /// Takes the next request and schedules its sender's next one.
  Next pop();

  /// Draws from now on with this key. What each sender does until its next request is drawn.
  void branch(const RandomKey& key) { key_ = key; }

 private:
  /// One client, or all of them as one.
  struct Sender {
    Time now;                    // of its last request, or where its walk to the next one stands
    Time edge;                   // end of the burst or pause
    double carried_ns = 0;       // fraction of a nanosecond after `now`
    std::uint32_t periods = 0;   // bursts and pauses begun
    std::uint64_t requests = 0;  // drawn, accepted or not
    bool on = false;
  };
  struct Entry {
    kernel::EventKey key;
    std::uint32_t sender = 0;
  };
  static bool later(const Entry& a, const Entry& b) { return b.key < a.key; }

  static std::uint32_t senders(const ClientSpec& spec) {
    return spec.arrivals.aligned ? 1 : spec.count;
  }
  template <class Take>
  static void take_memory(const ClientSpec& spec, std::vector<Sender>& senders_of,
                          std::vector<Entry>& queue, Take& take);
  void begin(std::uint32_t sender);
  void next_period(std::uint32_t sender);
  bool walk(std::uint32_t sender);
  std::uint64_t entity(std::uint32_t sender, std::uint64_t request) const {
    return (std::uint64_t{sender} << 32) + request;
  }
  Draws period_draws(std::uint32_t sender, std::uint32_t period) const;

  const ArrivalSpec* spec_;
  RandomKey key_;
  Time end_;
  std::uint64_t* sequence_;
  IdleSteps idle_;
  std::uint32_t count_;
  double mean_gap_ns_ = 0;            // within a burst, at the highest rate
  std::optional<RateFunction> rate_;  // if it varies: then requests are left out at lower rates
  double highest_rate_ = 0;
  std::vector<Sender> senders_;
  std::vector<Entry> queue_;  // a heap, the next request first
};

/// One request about to be submitted.
struct Arrival {
  std::uint32_t client = 0;
  std::uint64_t entity = 0;  ///< names the request's random draws
};

/// Names the `ordinal`-th request of `client`.
inline std::uint64_t client_entity(std::uint32_t client, std::uint32_t ordinal) {
  return std::uint64_t{client} << 32 | ordinal;
}

/// When clients submit requests: the open arrival processes as one stream per client group. N
/// identical Poisson clients are one Poisson stream with a random client; clients with a constant
/// interval keep the order of their phases for ever. (Closed-loop clients have no stream: each
/// thinks, asks and waits on its own timer.)
class ArrivalStream {
 public:
  /// `key` is that of the client group, `sequence` the simulation's counter of scheduled events;
  /// requests at `end` or later are not made. `most_steps`: of those that lead to no request;
  /// `LimitExceeded` beyond.
  ArrivalStream(const ClientSpec& spec, const RandomKey& key, std::uint64_t* sequence,
                Time end = Time::max(), std::uint64_t most_steps = ~std::uint64_t{0});

  /// The memory that the stream of these clients takes.
  static std::uint64_t bytes(const ClientSpec& spec);

  /// Key of the next request; `EventKey::never()` after the last.
  kernel::EventKey head() const;

  /// The client that makes the next request, where it is known already; otherwise any client.
  std::uint32_t next_client() const { return next_.client; }

  /// Takes the next request and schedules the one after it.
  Arrival pop();

  /// Draws with this key from `now` on. A Poisson process has no memory, so the time until its next
  /// request is drawn anew, too; the next requests of other processes stay as they are.
  void branch(const RandomKey& key, Time now);

 private:
  enum class Kind : std::uint8_t { kPoisson, kVaryingPoisson, kEven, kPhases, kListed, kBursts };
  struct Client {
    double phase = 0;  // in requests, within [0, 1)
    std::uint32_t client = 0;
    std::uint64_t sequence = 0;  // of its next request
  };
  struct Listed {
    Time time;
    std::uint32_t client = 0;
  };
  /// The draws for a request before its time is known.
  struct Drawn {
    double gap = 0;  // from the request before, at rate 1; kEven has none
    std::uint32_t client = 0;
  };

  template <class Take>
  static void take_memory(const ClientSpec& spec, std::vector<Client>& phases,
                          std::vector<Listed>& list, Take& take);
  void prepare_phases(const ClientSpec& spec);
  void prepare_list(const ClientSpec& spec);
  void schedule_next();
  void set_head(Time time);
  Time time_of_phase(const Client& c);
  [[gnu::noinline]] void draw_ahead();
  Draws draws(std::uint64_t entity) const { return Draws(key_, {entity, 0, 0, Purpose::kArrival}); }

  Kind kind_ = Kind::kPoisson;
  RandomKey key_;
  std::uint64_t* sequence_;
  std::uint32_t count_;
  kernel::EventKey head_ = kernel::EventKey::never();
  Arrival next_;
  std::uint64_t ordinal_ = 0;  // requests scheduled so far
  // The draws of the requests from the last multiple of the block's length on: draws that do not
  // wait for each other take the processor half the time.
  std::array<Drawn, 16> drawn_;
  double mean_gap_ns_ = 0;            // constant rates: between requests of the whole stream
  double carried_ns_ = 0;             // kPoisson: fraction of a nanosecond before the next gap
  double interval_ns_ = 0;            // kPhases at constant rate: between requests of a client
  std::optional<RateFunction> rate_;  // of the group; kPhases: of one client
  std::optional<RateFunction::Cursor> cursor_;
  double walked_ = 0;  // kPhases: where the cursor stands, in requests per client
  std::vector<Client> phases_;
  std::size_t position_ = 0;  // in phases_ or list_
  std::uint32_t round_ = 0;   // kPhases: requests every client has made
  std::vector<Listed> list_;
  std::uint64_t first_sequence_ = 0;  // of the list
  std::optional<Bursts> bursts_;
};

/// Clients that wait for asynchronous jobs: each job is polled again and again, with growing
/// pauses, until it is done (the polling loop of the AWS guidance on retries). Every check is a
/// request like any other, with the client's retry strategy.
struct Job {
  std::uint64_t entity = 0;  ///< names its random draws
  Time done;
  double pause_ns = 0;  ///< before the next check, without jitter; decorrelated: the last pause
  ClientId client{0};
  std::uint32_t checks = 0;  ///< begun
  bool in_cohort = false;
  bool open = false;
};

class Polling {
 public:
  /// `key`: that of the client group. `checks`: of all groups.
  Polling(const ArrivalSpec& spec, const RandomKey& key, ByRequest<JobCheck>* checks)
      : spec_(&spec), key_(key), checks_(checks) {}

  /// Draws from now on with this key.
  void branch(const RandomKey& key) { key_ = key; }

  /// A job of `client` begins; its number.
  std::uint32_t begin(ClientId client, std::uint64_t entity, bool in_cohort, Time now);

  /// The pause before the job's next check.
  Duration next_pause(std::uint32_t job);

  /// The next check of the job begins: its name for random draws.
  std::uint64_t begin_check(std::uint32_t job);
  /// The event is this request.
  void attach(RequestId request);
  /// An attempt of the check has succeeded; the service looked at the job's state at `read`.
  void succeeded(RequestId request, Time read) { check_of(request).read = read; }
  /// An attempt of the check has failed.
  void failed(RequestId request, ResponseClass how) { check_of(request).last_failure = how; }

  std::uint32_t job_of(RequestId request) const { return (*checks_)[request].job; }
  /// What follows from a check that ended with `outcome`; empty: another check.
  std::optional<JobEnd> after_check(RequestId request, Outcome outcome) const;

  void end(std::uint32_t job) {
    jobs_[job].open = false;
    jobs_.release(job);
  }
  const Job& job(std::uint32_t job) const { return jobs_[job]; }
  /// Jobs that have not ended.
  std::size_t live() const { return jobs_.live(); }
  std::uint32_t slots() const { return jobs_.slots(); }

 private:
  JobCheck& check_of(RequestId request) { return (*checks_)[request]; }
  std::uint64_t check_entity(const Job& j) const;

  const ArrivalSpec* spec_;
  RandomKey key_;
  kernel::Pool<Job> jobs_;
  ByRequest<JobCheck>* checks_;
  std::uint32_t checking_ = 0;  // the job whose check is about to be submitted
};

}  // namespace retrysim::model
