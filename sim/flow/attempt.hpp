// What becomes of an attempt, and how many attempts a request makes because of it: long-run means,
// while servers are there for all.
//
// Classes of errors and prices of retries are those of the part retry, which is asked. Its decision
// (retry/decision.hpp) is not: that is about one failure and the tokens that are there at that
// moment, and has no mean to offer. What stands here instead is the balance that a quota keeps in
// the long run, `AttemptsNeeded`, and it leaves out all that depends on the moment: limiters,
// budgets, breakers, hedges and custom strategies.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/service_spec.hpp>

#include <string>

namespace retrysim::flow {

/// How an attempt of a client group ends; the shares of each way of ending are added one after the
/// other.
struct AttemptFate {
  double success = 0;  ///< share that succeeds
  double again = 0;    ///< share that fails in such a way that the client would send another one
  double price = 0;    ///< tokens of the quota that these retries cost, per attempt

  void add(double share, const ClientSpec& client, const ErrorAnswer& answer);
  /// Adds a share without an answer: the attempt timeout ends it, if the client has one.
  void lose(double share, const ClientSpec& client);

 private:
  void add(double share, const ClientSpec& client, const Response& response);
};

/// How many attempts a request makes, and how often it succeeds.
struct AttemptsNeeded {
  double attempts = 1;  ///< attempts per request; may be infinite
  double success = 1;   ///< share of requests that succeed
};

/// The attempts and success of requests that make at most `most` attempts (1 and above; may be
/// infinite). `fate` is that of the first attempt, `later` that of the others, if it differs.
AttemptsNeeded attempts_needed(const ClientSpec& client, double most, const AttemptFate& fate,
                               const AttemptFate* later = nullptr);

/// Attempts that a request of the group may make, if nothing but its rules limits them; infinite:
/// no limit. For calls: if they are not made for a retry (`RetryOnlyAt::kFirstAttempt`).
double most_attempts(const ClientSpec& client);

/// The parts of the scenario that can lose a message of `client` without an answer, as text for an
/// error; empty if nothing can. Its service and the faults must have been resolved.
std::string cause_of_lost_messages(const Scenario& scenario, const ClientSpec& client);

/// How long it may take until a client that got no answer sends its next attempt: the longest
/// attempt timeout plus the longest backoff, of all groups. A backoff without a cap counts as
/// before the 10th attempt, and as five minutes at most. A system whose goodput has been back for
/// less than this may not have met the retries yet.
Duration longest_pause(const Scenario& scenario);

/// The default of `recovery.hold`: the longest pause, but at least 30 s.
Duration default_hold(const Scenario& scenario);

}  // namespace retrysim::flow
