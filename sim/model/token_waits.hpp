// Attempts that hold a server while they wait for another attempt with the same token
// (InProgress::kWait). When the session of that token ends, each of them looks at the token again:
// it is answered, becomes the one that is executed, or waits on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "model/idempotency.hpp"
#include "model/ids.hpp"
#include "model/request.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;
class Service;

class TokenWaits {
 public:
  /// A token at one service.
  struct Token {
    TokenKey key;
    ServiceId service;

    friend bool operator==(const Token&, const Token&) = default;
  };

  TokenWaits(RunState& state, Parts& parts) : state_(state), parts_(parts) {}

  /// The attempt waits until the session of its token ends.
  void wait(AttemptId attempt, const Token& token);
  /// That session has ended: those that wait for it go on when the event is over.
  void session_ended(const Token& token) {
    if (!waiting_.empty()) wake_later(token);
  }
  void go_on(const Token& token);
  /// The attempt does not wait any more. False if it did not wait for a token.
  bool cancel(AttemptId attempt);
  /// The attempts there that wait, and since which event.
  std::vector<HeldAttempt> waiting_at(const Service& s) const;

  std::uint64_t bytes() const { return kernel::bytes_of(places_); }

 private:
  struct Hash {
    std::size_t operator()(const Token& token) const {
      return TokenKeyHash()(token.key) + token.service;
    }
  };
  struct Place {  // of an attempt
    Token token;
    bool waits = false;
    std::uint64_t since = 0;
  };
  void wake_later(const Token& token);

  RunState& state_;
  Parts& parts_;
  std::unordered_map<Token, std::vector<AttemptId>, Hash> waiting_;  // in the order of arrival
  ByAttempt<Place> places_;
};

}  // namespace retrysim::model
