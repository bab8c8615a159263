// The books on requests with side effects: how often each was executed and took effect. An attempt
// may have an effect after its request has failed, so an account stays open until the request and
// all of its attempts are gone. Worlds without such requests have no such books.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "measure/record/recorder.hpp"
#include "model/idempotency.hpp"
#include "model/ids.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

/// No request has this token.
inline constexpr std::uint64_t kNoToken = ~std::uint64_t{0};

class SideEffects {
 public:
  struct Account {
    std::uint64_t intent = 0;  ///< the request's own name
    TokenKey token;
    stats::RequestEffects effects;
    std::uint32_t holders = 0;  ///< the request, and its attempts; 0: the slot is free
    bool has_token = false, in_cohort = false;
  };

  explicit SideEffects(stats::Recorder* recorder) : recorder_(recorder) {}

  void begin(RequestId request, const Account& account) {
    const std::uint32_t id = accounts_.allocate();
    accounts_[id] = account;
    accounts_[id].holders = 1;
    by_request_.reach(request);
    by_request_[request] = id;
  }
  void attempt_sent(RequestId request, AttemptId attempt) {
    const std::uint32_t id = by_request_[request];
    ++accounts_[id].holders;
    by_attempt_.reach(attempt);
    by_attempt_[attempt] = id;
  }
  Account& of_attempt(AttemptId attempt) { return accounts_[by_attempt_[attempt]]; }

  void attempt_gone(AttemptId attempt) { let_go(by_attempt_[attempt]); }
  void request_ended(RequestId request, bool failed) {
    accounts_[by_request_[request]].effects.failed = failed;
    let_go(by_request_[request]);
  }

  /// Enters what is still open at the end of the run.
  void close() {
    for (std::uint32_t id = 0; id < accounts_.slots(); ++id) {
      if (accounts_[id].holders > 0) enter(accounts_[id]);
    }
  }

 private:
  void let_go(std::uint32_t id) {
    if (--accounts_[id].holders > 0) return;
    enter(accounts_[id]);
    accounts_.release(id);
  }
  void enter(const Account& a) {
    if (a.in_cohort) recorder_->client(a.token.group).side_effects(a.effects);
  }

  stats::Recorder* recorder_;
  kernel::Pool<Account> accounts_;
  ByRequest<std::uint32_t> by_request_;  // accounts
  ByAttempt<std::uint32_t> by_attempt_;
};

}  // namespace retrysim::model
