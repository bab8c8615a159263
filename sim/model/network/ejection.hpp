// What a balancer concludes from the answers that it has from its hosts (passive health checks):
// which of them it leaves out for a while. Two rules, which know nothing of each other: Envoy's
// outlier detection, and the failure accrual of Finagle and Linkerd.
//
// Hosts are numbered from 0, as the balancer numbers them. Both rules only say which hosts are out.
// The balancer decides what follows from that, and what to do if too few hosts are left.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retrysim::model {

/// What the end of an attempt says about its host.
enum class Verdict : std::uint8_t {
  kNothing,         ///< its client stopped waiting for another reason than a timeout
  kGood,            ///< any answer below 500
  kFailure,         ///< an answer of 500 or above
  kGatewayFailure,  ///< of these, 502, 503 and 504; also no connection, or no answer in time
};

/// The verdict of an answer, or of what the client's own machine says in its place.
Verdict verdict_of(const Response& answer);

/// Envoy's outlier detection (source/common/upstream/outlier_detection_impl.cc, since 1.31;
/// meaning of the numbers: `EjectionSpec`).
///
///   - A host is ejected as soon as `consecutive_5xx` attempts there have failed in a row. At each
///     look it is ejected if its success rate since the look before is an outlier, or its share of
///     failures too large, among hosts with enough attempts.
///   - It is ejected only if the limit on ejected hosts allows one more.
///   - The k-th ejection lasts k times the base time, up to the largest time, and ends at the first
///     look after that. k falls by one at each look at which the host has been back for at least an
///     interval.
///   - When it comes back, its failures in a row are forgotten.
///
/// As in Envoy's default, errors of the connection count as answers of 503 and timeouts as 504.
/// Unlike Envoy, it hears nothing of attempts whose request has run into its deadline.
class OutlierDetection {
 public:
  OutlierDetection(const EjectionSpec& spec, std::size_t hosts);

  bool is_out(std::size_t host) const { return hosts_[host].ejected; }

  /// An attempt has ended. True if its host is ejected for it.
  bool heard(std::size_t host, Verdict verdict, Time now);
  /// An interval is over. True if a host is ejected, or comes back.
  bool look(Time now);
  /// An active check has been passed by a host that is healthy to such checks, which ends an
  /// ejection (Envoy: successful_active_health_check_uneject_host). True if there was one.
  bool passed_check(std::size_t host, Time now);

  /// The most hosts that were ejected at once.
  std::uint32_t most_out() const { return most_out_; }

  /// The memory that each host takes.
  static std::uint64_t bytes_per_host() { return sizeof(Host); }

 private:
  struct Host {
    std::uint32_t failures = 0, gateway_failures = 0;  // in a row
    std::uint32_t attempts = 0, successes = 0;         // since the last look
    std::uint32_t multiplier = 0;                      // of the base ejection time
    bool ejected = false;
    bool was_back = false;
    Time since;  // ejected, or back
  };

  bool eject(Host& h, Time now);
  void come_back(Host& h, Time now);
  bool eject_by_share(Time now);

  const EjectionSpec* spec_;
  std::vector<Host> hosts_;
  std::uint32_t out_ = 0, most_out_ = 0;
};

/// Failure accrual, as Linkerd's consecutive failures have it (linkerd2-proxy,
/// linkerd/app/outbound/src/http/breaker/consecutive_failures.rs; its jitter is that of
/// linkerd/exp-backoff). Finagle's FailureAccrualFactory with a policy of consecutive failures is
/// the same with 5 failures and the penalties of Backoff.equalJittered(5.seconds, 300.seconds).
/// Meaning of the numbers: `AccrualSpec`.
///
///   - After `max_failures` in a row the host is out for a penalty.
///   - Then it gets one attempt. The next answer from the host decides: a success brings it back; a
///     failure is followed by the next penalty, which is twice as long, up to the longest. What
///     comes during a penalty is not listened to.
class FailureAccrual {
 public:
  FailureAccrual(const AccrualSpec& spec, std::size_t hosts);

  bool is_out(std::size_t host) const {
    return hosts_[host].state == State::kPenalty || hosts_[host].state == State::kTried;
  }

  /// An attempt goes to the host. True if the host is out from now on: it was on probation.
  bool sent(std::size_t host);
  /// An attempt has ended; `alone`: no other is under way there. True if that changes whether the
  /// host is out, or when.
  bool heard(std::size_t host, Verdict verdict, bool alone);
  /// Whether the host is in a penalty, and how long that is; `luck`: the uniform variate of its
  /// jitter.
  bool is_punished(std::size_t host) const { return hosts_[host].state == State::kPenalty; }
  Duration penalty(std::size_t host, double luck) const;
  /// How many penalties the host has had since the run began.
  std::uint32_t penalties(std::size_t host) const { return hosts_[host].penalties; }
  /// Its penalty is over: it is on probation.
  void penalty_over(std::size_t host) { hosts_[host].state = State::kProbation; }

  static std::uint64_t bytes_per_host() { return sizeof(Host); }

 private:
  enum class State : std::uint8_t {
    kIn,
    kPenalty,
    kProbation,  // it may get one attempt
    kTried,      // it has got it
  };
  struct Host {
    std::uint32_t failures = 0;  // in a row
    std::uint32_t in_a_row = 0;  // penalties without a success in between
    std::uint32_t penalties = 0;
    State state = State::kIn;
  };

  const AccrualSpec* spec_;
  std::vector<Host> hosts_;
};

}  // namespace retrysim::model
