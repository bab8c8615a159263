// What a service remembers of requests with an idempotency token: a session for each token, from
// the moment it begins to execute a request until a time after the effect. A second attempt with
// the same token finds it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <unordered_map>

namespace retrysim::model {

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

}  // namespace retrysim::model
