// What a service answers to attempts that it does not serve, or cannot serve to the end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/response.hpp>
#include <retrysim/time.hpp>

#include <optional>
#include <string>

namespace retrysim {

struct ServiceSpec;

/// What a service answers instead of serving an attempt.
struct ErrorAnswer {
  int status = 500;
  std::string code;
  ErrorTraits traits = {};  ///< what the service's model says about it
};

/// An error that a service makes itself, with the delay that it suggests to the client, if any.
struct ServiceAnswer {
  ErrorAnswer error;
  std::optional<Duration> retry_after = {};
};

/// Answers that replace the usual ones.
struct OwnAnswers {
  std::optional<ServiceAnswer> throttled = {};    ///< the throttle refuses an attempt
  std::optional<ServiceAnswer> overflow = {};     ///< the queue is full
  std::optional<ServiceAnswer> limit = {};        ///< the limit on concurrency is reached
  std::optional<ServiceAnswer> shed = {};         ///< controlled delay sheds an attempt
  std::optional<ServiceAnswer> timeout = {};      ///< `ServiceSpec::timeout` has expired
  std::optional<ServiceAnswer> call_failed = {};  ///< a call to another service has failed
  std::optional<ServiceAnswer> conflict = {};     ///< another write came first (model `kOcc`)
};

/// All of them as they are in force.
struct ServiceAnswers {
  ServiceAnswer throttled, overflow, limit, shed, timeout, call_failed, conflict;
};

/// The answers of a service: its own where it has some, else the usual ones. Those are 400
/// ThrottlingException with `ThrottleSpec::retry_after`, what `RejectionSpec::overflow` says (for
/// the limit and for shed attempts: the answer of the full queue), 504 GatewayTimeout, 503
/// ServiceUnavailable, 503 TransactionConflictException.
ServiceAnswers answers_of(const ServiceSpec& service);

}  // namespace retrysim
