// Requests with side effects: which ones have them, with which token, and what became of them. The
// books are there only if a group has such requests.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/client_group.hpp"
#include "model/reconciliation.hpp"
#include "model/side_effects.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

struct RunState;

class Mutations {
 public:
  /// Of one group, if tokens are reused: the last one of each client.
  struct Tokens {
    ByClient<std::uint64_t> last;

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.side_effects.token_reuse > 0) take(last, client.count, kNoToken);
    }
  };

  explicit Mutations(RunState& state) : state_(state) {}

  /// Takes the memory for all groups; opens the books if any of them needs them.
  void prepare();

  /// Whether a new request has side effects, and which token it carries.
  [[gnu::noinline]] void decide(ClientGroup& g, Request& r);
  void attempt_sent(RequestId request, AttemptId attempt) {
    books_->attempt_sent(request, attempt);
  }
  /// An attempt with side effects has been served to the end.
  [[gnu::noinline]] void executed(Attempt& a, bool succeeded);
  /// A read before a retry has been served: whether it found the effect.
  bool reconcile(AttemptId attempt);
  /// Nothing more can come of an attempt with side effects.
  void attempt_gone(Attempt& a);
  void request_ended(RequestId request, bool failed) { books_->request_ended(request, failed); }
  /// At the end of the run.
  void close() {
    if (books_) books_->close();
  }

 private:
  RunState& state_;
  ByGroup<Tokens> tokens_;
  std::optional<SideEffects> books_;
  std::optional<Reconciliation> reads_;
};

}  // namespace retrysim::model
