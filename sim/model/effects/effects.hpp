// Requests with side effects: which ones have them, with which token, how often each took effect,
// and what services remember of tokens so that a repeated request is not executed twice.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "measure/record/recorder.hpp"
#include "model/client/group.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace retrysim::model {

struct Parts;
struct RunState;
class Service;
class TokenWaits;

/// A token is unique within a client group.
struct TokenKey {
  std::uint64_t token = 0;
  std::uint16_t group = 0;

  friend bool operator==(const TokenKey&, const TokenKey&) = default;
};

struct TokenKeyHash {
  std::size_t operator()(const TokenKey& key) const {
    const std::uint64_t h = (key.token ^ std::uint64_t{key.group} << 48) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
  }
};

/// What a service remembers of requests with an idempotency token: a session for each token, from
/// the moment it begins to execute a request until a time after the effect. A second attempt with
/// the same token finds it.
class Sessions {
 public:
  enum class Found : std::uint8_t {
    kNothing,
    kNotStoredYet,       ///< who has checked the token before has yet to store it
    kOtherNotStoredYet,  ///< the same, and the token belongs to another request
    kInProgress,
    kDone,         ///< the request has had its effect
    kOtherIntent,  ///< the token belongs to another request
  };

  /// `window`: how long a session outlives the effect.
  explicit Sessions(Duration window) : window_(window), sessions_(&memory_), expiries_(&memory_) {}
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
    sessions_[key] = {intent, Time::max(), stored, 1};
  }
  /// Another execution of the same request does, because that is yet to come.
  void join(TokenKey key, Time stored) {
    Session& s = sessions_.find(key)->second;
    s.stored = std::min(s.stored, stored);
    ++s.executions;
  }

  /// The effect is there; recorded together with it.
  void done(TokenKey key, std::uint64_t intent, Time now) {
    Session& s = sessions_[key];
    s.intent = intent;
    s.expires = now + window_;
    expiries_.push_back({now + window_, key});
  }

  /// An execution has come to nothing. Another one may have been done meanwhile, or go on.
  void drop(TokenKey key) {
    const auto at = sessions_.find(key);
    if (at == sessions_.end() || at->second.expires != Time::max()) return;
    if (--at->second.executions == 0) sessions_.erase(at);
  }

 private:
  struct Session {
    std::uint64_t intent = 0;
    Time expires;  // max() while in progress
    Time stored;   // before, nobody finds it
    std::uint32_t executions = 0;
  };
  struct Expiry {
    Time time;
    TokenKey key;
  };

  // The window is the same for all, so that they expire in the order in which they were done.
  void forget_expired(Time now) {
    for (; !expiries_.empty() && expiries_.front().time <= now; expiries_.pop_front()) {
      const auto at = sessions_.find(expiries_.front().key);
      if (at != sessions_.end() && at->second.expires <= now) sessions_.erase(at);
    }
  }

  Duration window_;
  std::pmr::unsynchronized_pool_resource memory_;  // keeps what is given back
  std::pmr::unordered_map<TokenKey, Session, TokenKeyHash> sessions_;
  std::pmr::deque<Expiry> expiries_;
};

/// Clients that ask before they repeat (SideEffectSpec::reconciles): a retry of a request with side
/// effects begins with a read at the service. If that finds the effect, the attempt has succeeded;
/// otherwise the request itself follows, as the second message of the same attempt.
class Reconciliation {
 public:
  explicit Reconciliation(const std::vector<ClientSpec>& clients) : clients_(&clients) {}

  /// Whether the message of an attempt with side effects that is now under way is such a read.
  bool is_read(const Attempt& a) const {
    return a.number > 1 && !a.is(Attempt::kSecondCall | Attempt::kRejection) &&
           (*clients_)[a.group].side_effects.reconciles;
  }
  /// What a read takes of a server of speed 1, in nanoseconds; `key` is its group's.
  double demand_ns(const Attempt& a, const RandomKey& key) const {
    Draws draws(key, {a.entity, a.number, 0, Purpose::kServiceTime});
    return static_cast<double>(
        (*clients_)[a.group].side_effects.reconcile_read.sample(draws).count());
  }

 private:
  const std::vector<ClientSpec>* clients_;
};

/// No request has this token.
inline constexpr std::uint64_t kNoToken = ~std::uint64_t{0};

/// The books on requests with side effects: how often each was executed and took effect. An attempt
/// may have an effect after its request has failed, so an account stays open until the request and
/// all of its attempts are gone. Worlds without such requests have no such books.
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

/// Attempts that hold a server while they wait for another attempt with the same token
/// (InProgress::kWait). When the session of that token ends, each of them looks at the token again:
/// it is answered, becomes the one that is executed, or waits on.
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
  /// The attempts there that wait.
  std::vector<AttemptId> waiting_at(const Service& s) const;

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
  };
  void wake_later(const Token& token);

  RunState& state_;
  Parts& parts_;
  std::unordered_map<Token, std::vector<AttemptId>, Hash> waiting_;  // in the order of arrival
  ByAttempt<Place> places_;
};

/// What an instance does about idempotency tokens: it looks at that of an attempt when a server
/// begins with it, and remembers it with the effect. Idle unless the service remembers tokens, or
/// some of its clients ask before they repeat.
class TokenDesk {
 public:
  /// The numbers of the answers to attempts whose token is known.
  struct Answers {
    std::uint16_t already_exists = 0, in_progress = 0, mismatch = 0;
  };

  /// From now on it looks at the tokens of attempts with side effects; instances share what they
  /// remember. `waits`: where attempts wait for others with their token; null if they do not.
  void open(const IdempotencySpec& rules, Answers answers, std::shared_ptr<Sessions> sessions,
            TokenWaits* waits) {
    rules_ = &rules;
    answers_ = answers;
    sessions_ = std::move(sessions);
    waits_ = waits;
  }
  void ask_before_retries(const Reconciliation& reads) { reads_ = &reads; }
  /// Where it finds those tokens; may be null if there are none.
  void keep_books(SideEffects* books) { books_ = books; }

  /// Whether the message of this attempt that is under way asks for the effect of earlier ones.
  bool is_read(const Attempt& a) const {
    return reads_ != nullptr && a.is(Attempt::kMutating) && reads_->is_read(a);
  }

  /// A server begins with the attempt, which has side effects. False if that has to wait for
  /// another attempt with its token.
  bool begin(Attempt& a, Time now) {
    return (sessions_ == nullptr && reads_ == nullptr) || begin_mutation(a, now);
  }
  void count_wait(const Attempt& a) { ++books_->of_attempt(a.id).effects.token_waits; }
  /// The attempt, which has side effects, has been served to the end.
  void executed(Attempt& a, bool succeeded, Time now);
  /// What the attempt has begun, if anything, comes to nothing.
  void close_session(Attempt& a) {
    if (a.is(Attempt::kHasSession)) drop_session(a);
  }

 private:
  [[gnu::noinline]] bool begin_mutation(Attempt& a, Time now);
  bool look_at_token(Attempt& a, Time now);
  Time storing_time(const Attempt& a, Time now) const;
  void session_ended(const Attempt& a, const TokenKey& token);
  void drop_session(Attempt& a);

  const IdempotencySpec* rules_ = nullptr;
  Answers answers_;
  std::shared_ptr<Sessions> sessions_;
  SideEffects* books_ = nullptr;
  TokenWaits* waits_ = nullptr;
  const Reconciliation* reads_ = nullptr;
};

/// Requests with side effects: which ones have them, with which token, and what became of them. The
/// books are there only if a group has such requests.
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
