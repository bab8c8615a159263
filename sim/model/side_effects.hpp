// The books on requests with side effects: how often each was executed and took effect. An attempt
// may have an effect after its request has failed, so an account stays open until the request and
// all of its attempts are gone. Worlds without such requests have no such books.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/pool.hpp"
#include "measure/recorder.hpp"
#include "model/idempotency.hpp"

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

  void begin(std::uint32_t request, const Account& account) {
    const std::uint32_t id = accounts_.allocate();
    accounts_[id] = account;
    accounts_[id].holders = 1;
    put(by_request_, request, id);
  }
  void attempt_sent(std::uint32_t request, std::uint32_t attempt) {
    const std::uint32_t id = by_request_[request];
    ++accounts_[id].holders;
    put(by_attempt_, attempt, id);
  }
  Account& of_attempt(std::uint32_t attempt) { return accounts_[by_attempt_[attempt]]; }

  void attempt_gone(std::uint32_t attempt) { let_go(by_attempt_[attempt]); }
  void request_ended(std::uint32_t request, bool failed) {
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
  static void put(std::vector<std::uint32_t>& ids, std::uint32_t slot, std::uint32_t id) {
    if (slot >= ids.size()) ids.resize(2 * std::size_t{slot} + 64);
    ids[slot] = id;
  }
  void let_go(std::uint32_t id) {
    if (--accounts_[id].holders > 0) return;
    enter(accounts_[id]);
    accounts_.release(id);
  }
  void enter(const Account& a) {
    if (a.in_cohort) recorder_->side_effects(a.token.group, a.effects);
  }

  stats::Recorder* recorder_;
  kernel::Pool<Account> accounts_;
  std::vector<std::uint32_t> by_request_, by_attempt_;
};

}  // namespace retrysim::model
