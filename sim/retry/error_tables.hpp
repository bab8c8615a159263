// The tables of error codes and HTTP statuses of each family of SDKs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/response.hpp>

#include <span>
#include <string_view>

namespace retrysim {

/// One code that makes an answer retryable at one service, or at all ("").
struct ServiceCode {
  std::string_view api;
  int status;  // 0: any
  std::string_view code;
  ResponseClass response_class;
};

/// What one family of SDKs looks at: statuses that mean throttling whatever the code, codes, other
/// statuses.
struct ErrorTable {
  std::span<const std::string_view> throttling_codes = {};
  std::span<const std::string_view> transient_codes = {};
  std::span<const ServiceCode> codes_with_status = {};  ///< these go before all others
  std::span<const int> transient_statuses = {};
  int transient_from_status = 600;  ///< this status and all above are transient
  bool any_name_with_throttl = false;
  std::span<const int> statuses_like_429 = {};
  std::span<const int> throttling_statuses = {};  ///< whatever the code
  std::string_view api_without_429 = {};          ///< the one service where a 429 is final
  /// Transient, but only if new credentials can be fetched; with `any_name_with_expired` also every
  /// code that has the word in it.
  std::span<const std::string_view> credential_codes = {};
  bool any_name_with_expired = false;
};

const ErrorTable& error_table(Classifier classifier);

inline constexpr std::string_view kStandardThrottlingCodes[] = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "RequestThrottled",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
};

inline constexpr int kTimeoutStatuses[] = {408, 419, 440, 504, 598, 599};

}  // namespace retrysim
