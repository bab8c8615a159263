// What an attempt ends with, and how a client classifies it. The class decides whether the attempt
// may be retried, what the retry costs and which backoff base applies.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim {

/// The class of one attempt's result, as the client sees it.
enum class ResponseClass : std::uint8_t {
  kSuccess,
  kThrottling,    ///< the service asks for less load
  kTransient,     ///< a server or connection error that may pass
  kTimeout,       ///< no answer in time: transient, but its retry may cost more quota
  kNotRetryable,  ///< retrying cannot help
};

/// How the exchange itself ended; anything but `kNone` means that there is no HTTP response.
enum class TransportError : std::uint8_t { kNone, kTimeout, kConnection };

/// The answer to one attempt: HTTP status with an optional error code, or a transport error.
struct Response {
  int status = 200;
  /// Error code of the service, such as "ThrottlingException"; may be empty.
  std::string code = {};
  TransportError transport = TransportError::kNone;
  /// Server-suggested delay (header x-amz-retry-after, milliseconds), if valid.
  std::optional<Duration> retry_after = {};
};

/// Whose table of retryable errors applies.
enum class Classifier : std::uint8_t { kStandard, kBotocoreLegacy, kJavaV1 };

/// Classifies by error code first, then HTTP status, then transport error. `api` selects the
/// additions of one service ("default" for none). Only a missing answer is `kTimeout`; a refused or
/// broken connection is `kTransient`. A status of 2xx without an error code is a success. The table
/// kBotocoreLegacy wants a code together with its status and ignores codes it does not list.
ResponseClass classify(Classifier classifier, std::string_view api, const Response& response);

/// The delay that an x-amz-retry-after header suggests: a whole number of milliseconds, not
/// negative. Anything else, as clients do, counts as no suggestion.
std::optional<Duration> parse_retry_after(std::string_view header);

std::string_view name(ResponseClass c);  ///< "success", "throttling", "transient", ...

}  // namespace retrysim
