// When clients submit requests: the open arrival processes as one stream per client group. N
// identical Poisson clients are one Poisson stream with a random client; clients with a constant
// interval keep the order of their phases for ever. (Closed-loop clients have no stream: each
// thinks, asks and waits on its own timer.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/event_queue.hpp"
#include "model/bursts.hpp"
#include "model/rate_function.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

/// One request about to be submitted.
struct Arrival {
  std::uint32_t client = 0;
  std::uint64_t entity = 0;  ///< names the request's random draws
};

/// Names the `ordinal`-th request of `client`.
inline std::uint64_t client_entity(std::uint32_t client, std::uint32_t ordinal) {
  return std::uint64_t{client} << 32 | ordinal;
}

class ArrivalStream {
 public:
  /// `key` is that of the client group, `sequence` the simulation's counter of scheduled events;
  /// what would come at `end` or later is not asked for. `most_steps`: of those that lead to no
  /// request; `LimitExceeded` beyond.
  ArrivalStream(const ClientSpec& spec, const RandomKey& key, std::uint64_t* sequence,
                Time end = Time::max(), std::uint64_t most_steps = ~std::uint64_t{0});

  /// The memory that the stream of these clients takes.
  static std::uint64_t bytes(const ClientSpec& spec);

  /// Key of the next request; `EventKey::never()` after the last.
  kernel::EventKey head() const { return head_; }

  /// Who makes the next request, where that is known already; otherwise any client.
  std::uint32_t next_client() const { return next_.client; }

  /// Takes the next request and schedules the one after it.
  Arrival pop();

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
  /// What is drawn for a request before its time is known.
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
  void set_head(Time time) {
    head_ =
        time == Time::max() ? kernel::EventKey::never() : kernel::EventKey{time, (*sequence_)++};
  }
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
  // Of the requests from the last multiple of the block's length on: draws that do not wait for
  // each other take the processor half the time.
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

}  // namespace retrysim::model
