// Requests with side effects: which ones have them and with which token, how often each took
// effect, and what services remember of tokens so that a repeated request is not executed twice. A
// ledger: clients and services tell it what happens and ask what they may do; it calls none of
// them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "measure/record/recorder.hpp"
#include "model/run/events.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <vector>

namespace retrysim::model {

struct Group;
struct RunState;
class Instance;

/// Counts what it has taken for others.
class CountedMemory : public std::pmr::memory_resource {
 public:
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    bytes_ += bytes;
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::uint64_t bytes_ = 0;
};

/// What a service remembers of requests with an idempotency token: a session for each token, from
/// the moment it begins to execute a request until a time after the effect. A second attempt with
/// the same token finds it. Where tokens are stored before the effect, the session of an execution
/// that has none looks the same as any other that is done.
class Sessions {
 public:
  enum class Found : std::uint8_t {
    kNothing,
    kNotStoredYet,       ///< an earlier attempt has checked, but not stored it
    kOtherNotStoredYet,  ///< the same, and the token belongs to another request
    kInProgress,
    kDone,         ///< the request has had its effect, as far as the token says
    kOtherIntent,  ///< the token belongs to another request
  };

  /// Takes memory from `memory`.
  Sessions(const IdempotencySpec& rules, std::pmr::memory_resource* memory)
      : memory_(memory),
        window_(rules.window),
        keeps_without_effect_(rules.keeps_without_effect()),
        sessions_(&memory_),
        expiries_(&memory_) {}
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  /// `intent` names what the request is to do.
  Found find(TokenKey key, std::uint64_t intent, Time now) {
    forget_expired(now);
    const auto at = sessions_.find(key);
    if (at == sessions_.end()) return Found::kNothing;
    const bool other = at->second.intent != intent;
    if (now < at->second.stored) return other ? Found::kOtherNotStoredYet : Found::kNotStoredYet;
    if (other) return Found::kOtherIntent;
    return at->second.expires == Time::max() ? Found::kInProgress : Found::kDone;
  }

  /// An execution begins whose token is stored at `stored`.
  void begin(TokenKey key, std::uint64_t intent, Time stored) {
    sessions_[key] = {intent, Time::max(), stored, 1, false};
  }
  /// Another execution of the same request begins, because the token is not stored yet. It will be
  /// stored at the earlier of the two times.
  void join(TokenKey key, Time stored) {
    Session& s = sessions_.find(key)->second;
    s.stored = std::min(s.stored, stored);
    ++s.executions;
  }

  /// The effect is there; recorded together with it.
  void done(TokenKey key, std::uint64_t intent, Time now) {
    Session& s = sessions_[key];
    s.intent = intent;
    s.has_effect = true;
    keep(s, key, now);
  }

  /// An execution has ended without an effect. Others with the same token may already have had
  /// theirs, or may still be running.
  void drop(TokenKey key, Time now) {
    const auto at = sessions_.find(key);
    if (at == sessions_.end() || at->second.expires != Time::max()) return;
    if (--at->second.executions > 0) return;
    if (keeps_without_effect_) return keep(at->second, key, now);
    sessions_.erase(at);
  }

  /// Whether a session that is done has had its effect.
  bool has_effect(TokenKey key) const { return sessions_.find(key)->second.has_effect; }

 private:
  struct Session {
    std::uint64_t intent = 0;
    Time expires;  // max() while in progress
    Time stored;   // before, no attempt finds it
    std::uint32_t executions = 0;
    bool has_effect = false;
  };
  struct Expiry {
    Time time;
    TokenKey key;
  };

  void keep(Session& s, TokenKey key, Time now) {
    s.expires = now + window_;
    expiries_.push_back({s.expires, key});
  }

  // The window is the same for all, so that they expire in the order in which they were done.
  void forget_expired(Time now) {
    StopCounter<> stop;
    for (; !expiries_.empty() && expiries_.front().time <= now; expiries_.pop_front()) {
      stop.count();
      const auto at = sessions_.find(expiries_.front().key);
      if (at != sessions_.end() && at->second.expires <= now) sessions_.erase(at);
    }
  }

  std::pmr::unsynchronized_pool_resource memory_;  // keeps what is given back
  Duration window_;
  bool keeps_without_effect_;
  std::pmr::unordered_map<TokenKey, Session, TokenKeyHash> sessions_;
  std::pmr::deque<Expiry> expiries_;
};

/// The books on requests with side effects: how often each was executed and took effect. An attempt
/// may have an effect after its request has failed, so an account stays open until the request and
/// all of its attempts are gone. Worlds without such requests have no such books.
class SideEffects {
 public:
  struct Account {
    std::uint64_t intent = 0;  ///< what the service takes the request for
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
    stats::RequestEffects& effects = accounts_[by_request_[request]].effects;
    (failed ? effects.failed : effects.succeeded) = true;
    let_go(by_request_[request]);
  }

  /// Enters what is still open at the end of the run.
  void close() {
    StopCounter<> stop;
    for (std::uint32_t id = 0; id < accounts_.slots(); ++id) {
      stop.count();
      if (accounts_[id].holders > 0) enter(accounts_[id]);
    }
  }
  std::uint64_t bytes() const {
    return accounts_.bytes() + by_request_.bytes() + by_attempt_.bytes();
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

/// Attempts that hold a server while they wait for another attempt with the same token
/// (InProgress::kWait).
class TokenWaits {
 public:
  /// Takes memory from `memory`.
  explicit TokenWaits(std::pmr::memory_resource* memory) : waiting_(memory) {}

  /// The attempt waits until the session of its token ends.
  void wait(AttemptId attempt, const Token& token);
  bool waits_for(const Token& token) const { return !waiting_.empty() && waiting_.contains(token); }
  /// The attempts that wait for it, in the order of their arrival, stop waiting.
  std::vector<AttemptId> take(const Token& token);
  /// The attempt does not wait any more. False if it did not wait for a token.
  bool cancel(AttemptId attempt);
  std::uint64_t bytes() const { return places_.bytes(); }

 private:
  struct Hash {
    std::size_t operator()(const Token& token) const {
      return TokenKeyHash()(token.key) + token.service;
    }
  };
  struct Place {  // of an attempt
    Token token;
    bool waits = false;
    AttemptId previous, next;  // that wait for the same token
  };
  struct Ends {
    AttemptId first, last;
  };

  std::pmr::unordered_map<Token, Ends, Hash> waiting_;  // in the order of arrival
  ByAttempt<Place> places_;
};

/// Whether the message of this attempt that is under way asks for the effect of earlier ones: where
/// clients ask before they repeat (SideEffectSpec::reconciles), a retry of a request with side
/// effects begins with a read at the service. If that finds the effect, the attempt has succeeded;
/// otherwise the request itself follows, as the second message of the same attempt.
bool is_read(const Attempt& a);

class Effects {
 public:
  /// The last token of each client of one group, if tokens are reused.
  struct LastTokens {
    ByClient<std::uint64_t> last;

    template <class Take>
    void take_memory(const ClientSpec& client, Take& take) {
      if (client.side_effects.token_reuse > 0) take(last, client.count, kNoToken);
    }
  };

  Effects(RunState& state, Agenda& agenda);

  /// Takes the memory for all groups.
  void prepare();
  /// From now on the service looks at the tokens of attempts with side effects, if it remembers
  /// them; its instances share what it remembers.
  void remember_tokens(ServiceId service);

  // What clients tell.

  /// Whether a new request has side effects, and which token it carries.
  [[gnu::noinline]] void begin(const Group& g, Request& r);
  void attempt_sent(RequestId request, AttemptId attempt) { books_.attempt_sent(request, attempt); }
  void request_ended(RequestId request, bool failed) { books_.request_ended(request, failed); }

  // What services tell and ask, of attempts with side effects.

  /// A server begins with the attempt. False if that has to wait for another attempt with its
  /// token.
  bool may_start(Attempt& a, Time now) { return !looks_at_attempts_ || look_at(a, now); }
  void count_wait(const Attempt& a) { ++books_.of_attempt(a.id).effects.token_waits; }
  /// The attempt has been served to the end.
  [[gnu::noinline]] void executed(Attempt& a, bool succeeded);
  /// A read before a retry has been served: whether it found the effect.
  bool found_effect(AttemptId attempt);
  /// The execution that the attempt began has ended without an effect.
  void drop_session(Attempt& a);
  /// Both sides are done with the attempt: it can have no further effect.
  [[gnu::noinline]] void attempt_gone(Attempt& a);

  // Attempts that wait for another one with their token. When its session has ended, the token is
  // put on the agenda.

  std::vector<AttemptId> take_waiting(const Token& token);
  bool cancel_wait(AttemptId attempt);

  /// At the end of the run.
  void close() { books_.close(); }
  std::uint64_t bytes() const { return waits_.bytes() + books_.bytes() + of_tokens_.bytes(); }

 private:
  static constexpr std::uint64_t kNoToken = ~std::uint64_t{0};  // no request has it
  /// What a service does about tokens; nothing without sessions.
  struct Desk {
    const IdempotencySpec* rules = nullptr;
    std::unique_ptr<Sessions> sessions;
    // The numbers of the answers to attempts whose token is known.
    std::uint16_t already_exists = 0, in_progress = 0, mismatch = 0;
  };
  Desk& desk_of(const Attempt& a);
  [[gnu::noinline]] bool look_at(Attempt& a, Time now);
  bool look_at_token(Desk& desk, Attempt& a, Time now);
  static Time storing_time(const IdempotencySpec& rules, const Attempt& a, Time now);
  void session_ended(const Attempt& a, const TokenKey& key);

  RunState& state_;
  Agenda& agenda_;
  SideEffects books_;
  ByGroup<LastTokens> tokens_;
  CountedMemory of_tokens_;
  ByService<Desk> desks_;
  TokenWaits waits_{&of_tokens_};
  bool looks_at_attempts_ = false;  // some service remembers tokens, or some clients ask first
};

}  // namespace retrysim::model
