// Jobs of groups whose clients poll for them (polling.hpp): from the first check to the last.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_strategy.hpp>

#include "model/client_group.hpp"

#include <cstdint>

namespace retrysim::model {

struct Parts;
struct RunState;

class Jobs {
 public:
  Jobs(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  [[gnu::noinline]] void begin(ClientGroup& g, ClientId client, std::uint64_t entity);
  [[gnu::noinline]] void check_due(ClientGroup& g, std::uint32_t job);
  [[gnu::noinline]] void check_ended(ClientGroup& g, RequestId request, Outcome outcome);
  bool are_open() const;
  /// At the end of the run.
  void close();

 private:
  void schedule_check(ClientGroup& g, std::uint32_t job);

  RunState& state_;
  Parts& parts_;
};

}  // namespace retrysim::model
