// Hedges: attempts that a client makes without waiting for the end of the one before.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "model/client_group.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;

class Hedging {
 public:
  Hedging(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// An attempt of the request has been sent: when the next follows it.
  [[gnu::noinline]] void schedule(ClientGroup& g, Request& r);
  /// The request has ended.
  [[gnu::noinline]] void cancel(RequestId request);
  /// The timer with this sequence number has expired.
  [[gnu::noinline]] void due(ClientGroup& g, Request& r, std::uint64_t sequence);

  std::uint64_t bytes() const { return kernel::bytes_of(sequences_); }

 private:
  RunState& state_;
  Parts& parts_;
  // By request: the sequence number of the timer that its next hedge waits for.
  ByRequest<std::uint64_t> sequences_;
};

}  // namespace retrysim::model
