// The words that scenario files, result files and messages use for the values of the retry rules.
//
// SPDX-License-Identifier: MIT
#include <retrysim/response.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/retry_strategy.hpp>

namespace retrysim {

// Each switch names every enumerator and has no default, so that the compiler reports one that is
// added and forgotten here. The text after a switch is never reached for a valid value.

std::string_view name(ResponseClass c) {
  switch (c) {
    case ResponseClass::kSuccess:
      return "success";
    case ResponseClass::kThrottling:
      return "throttling";
    case ResponseClass::kTransient:
      return "transient";
    case ResponseClass::kTimeout:
      return "timeout";
    case ResponseClass::kNotRetryable:
      return "not_retryable";
  }
  return "";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
      return "success";
    case Outcome::kRetry:
      return "retry";
    case Outcome::kMaxAttemptsExceeded:
      return "max_attempts_exceeded";
    case Outcome::kQuotaExceeded:
      return "quota_exceeded";
    case Outcome::kNotRetryable:
      return "not_retryable";
    case Outcome::kNoSendToken:
      return "no_send_token";
    case Outcome::kDeadlineExceeded:
      return "deadline_exceeded";
    case Outcome::kUnfinished:
      return "unfinished";
  }
  return "";
}

std::string_view name(RetryMode mode) {
  switch (mode) {
    case RetryMode::kNone:
      return "none";
    case RetryMode::kLegacy:
      return "legacy";
    case RetryMode::kStandard:
      return "standard";
    case RetryMode::kAdaptive:
      return "adaptive";
    case RetryMode::kCustom:
      return "custom";
  }
  return "";
}

std::string_view name(Jitter jitter) {
  switch (jitter) {
    case Jitter::kNone:
      return "none";
    case Jitter::kFull:
      return "full";
    case Jitter::kEqual:
      return "equal";
    case Jitter::kDecorrelated:
      return "decorrelated";
  }
  return "";
}

std::string_view name(Refund refund) {
  switch (refund) {
    case Refund::kLast:
      return "last";
    case Refund::kCost:
      return "cost";
    case Refund::kCredit:
      return "credit";
    case Refund::kNone:
      return "none";
  }
  return "";
}

std::string_view name(QuotaScope scope) {
  switch (scope) {
    case QuotaScope::kClient:
      return "client";
    case QuotaScope::kGroup:
      return "group";
  }
  return "";
}

std::string_view name(OnEmpty on_empty) {
  switch (on_empty) {
    case OnEmpty::kBlock:
      return "block";
    case OnEmpty::kFail:
      return "fail";
  }
  return "";
}

std::string_view name(RetryAfter retry_after) {
  switch (retry_after) {
    case RetryAfter::kIgnore:
      return "ignore";
    case RetryAfter::kMinimum:
      return "minimum";
    case RetryAfter::kClamp:
      return "clamp";
    case RetryAfter::kAdd:
      return "add";
    case RetryAfter::kReplace:
      return "replace";
  }
  return "";
}

}  // namespace retrysim
