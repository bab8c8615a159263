// Which answers may be retried, and what they are: tables of error codes and HTTP statuses per
// family of SDKs. Sources: botocore retries/standard.py (standard and adaptive modes, together with
// the AWS SDK reference page), botocore data/_retry.json (its legacy mode), and RetryUtils.java of
// the AWS SDK for Java 1.x. Rules that look at a body's checksum or at a model's traits have no
// counterpart in a simulated answer and are left out.
//
// SPDX-License-Identifier: MIT
#include <retrysim/response.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace retrysim {
namespace {

/// One code that makes an answer retryable at one service, or at all ("").
struct ServiceCode {
  std::string_view api;
  int status;  // 0: any
  std::string_view code;
  ResponseClass response_class;
};

constexpr std::string_view kStandardThrottlingCodes[] = {
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

constexpr std::string_view kStandardTransientCodes[] = {
    "RequestTimeout", "RequestTimeoutException",
    "InternalError",  // the reference page and Ruby; botocore knows it by its status 500 only
};

constexpr ServiceCode kStandardServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

constexpr int kTransientStatuses[] = {500, 502, 503, 504};

constexpr int kLegacyStatuses[] = {500, 502, 503, 504, 509};

// botocore's legacy rules want both the status and the code.
constexpr ServiceCode kLegacyCodes[] = {
    {"", 400, "Throttling", ResponseClass::kThrottling},
    {"", 400, "ThrottlingException", ResponseClass::kThrottling},
    {"", 400, "ThrottledException", ResponseClass::kThrottling},
    {"", 400, "RequestThrottledException", ResponseClass::kThrottling},
    {"", 400, "ProvisionedThroughputExceededException", ResponseClass::kThrottling},
    {"organizations", 400, "TooManyRequestsException", ResponseClass::kThrottling},
    {"dynamodb", 409, "ReplicatedWriteConflictException", ResponseClass::kTransient},
    {"dynamodb", 400, "TransactionInProgressException", ResponseClass::kThrottling},
    {"ec2", 503, "RequestLimitExceeded", ResponseClass::kThrottling},
    {"ec2", 503, "EC2ThrottledException", ResponseClass::kThrottling},
    {"cloudsearch", 509, "BandwidthLimitExceeded", ResponseClass::kThrottling},
    {"kinesis", 400, "LimitExceededException", ResponseClass::kThrottling},
    {"sqs", 403, "RequestThrottled", ResponseClass::kThrottling},
    {"s3", 400, "RequestTimeout", ResponseClass::kTransient},
    {"s3", 400, "BadDigest", ResponseClass::kTransient},
    {"glacier", 408, "RequestTimeoutException", ResponseClass::kTransient},
    {"route53", 400, "PriorRequestNotComplete", ResponseClass::kThrottling},
    {"sts", 400, "IDPCommunicationError", ResponseClass::kTransient},
};

constexpr std::string_view kJavaV1ThrottlingCodes[] = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "ProvisionedThroughputExceededException",
    "SlowDown",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
};

constexpr std::string_view kJavaV1TransientCodes[] = {
    "PriorRequestNotComplete",
    "TransactionInProgressException",
    // Clock skew: the SDK corrects its clock and signs the request again.
    "RequestTimeTooSkewed",
    "RequestExpired",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
    "RequestInTheFuture",
};

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

/// The class of a listed code, or kNotRetryable.
template <std::size_t kCount>
ResponseClass find_code(const ServiceCode (&codes)[kCount], std::string_view api,
                        const Response& response) {
  for (const ServiceCode& c : codes) {
    if (c.code == response.code && (c.api.empty() || c.api == api) &&
        (c.status == 0 || c.status == response.status)) {
      return c.response_class;
    }
  }
  return ResponseClass::kNotRetryable;
}

ResponseClass classify_standard(std::string_view api, const Response& response) {
  if (contains(kStandardThrottlingCodes, response.code)) return ResponseClass::kThrottling;
  if (contains(kStandardTransientCodes, response.code)) return ResponseClass::kTransient;
  if (contains(kTransientStatuses, response.status)) return ResponseClass::kTransient;
  return find_code(kStandardServiceCodes, api, response);
}

ResponseClass classify_botocore_legacy(std::string_view api, const Response& response) {
  const ResponseClass listed = find_code(kLegacyCodes, api, response);
  if (listed != ResponseClass::kNotRetryable) return listed;
  if (response.status == 429) return ResponseClass::kThrottling;
  if (!contains(kLegacyStatuses, response.status)) return ResponseClass::kNotRetryable;
  // These rules treat all retryable answers alike; the class only tells the reader of a result that
  // a 503 SlowDown is a service asking for less.
  return contains(kStandardThrottlingCodes, response.code) ? ResponseClass::kThrottling
                                                           : ResponseClass::kTransient;
}

ResponseClass classify_java_v1(const Response& response) {
  if (contains(kJavaV1ThrottlingCodes, response.code)) return ResponseClass::kThrottling;
  if (response.status == 429) return ResponseClass::kThrottling;
  if (contains(kJavaV1TransientCodes, response.code)) return ResponseClass::kTransient;
  if (contains(kTransientStatuses, response.status)) return ResponseClass::kTransient;
  return ResponseClass::kNotRetryable;
}

}  // namespace

ResponseClass classify(Classifier classifier, std::string_view api, const Response& response) {
  if (response.transport == TransportError::kTimeout) return ResponseClass::kTimeout;
  if (response.transport == TransportError::kConnection) return ResponseClass::kTransient;
  if (response.status >= 200 && response.status < 300 && response.code.empty()) {
    return ResponseClass::kSuccess;
  }
  switch (classifier) {
    case Classifier::kStandard:
      return classify_standard(api, response);
    case Classifier::kBotocoreLegacy:
      return classify_botocore_legacy(api, response);
    case Classifier::kJavaV1:
      return classify_java_v1(response);
  }
  return ResponseClass::kNotRetryable;
}

std::optional<Duration> parse_retry_after(std::string_view header) {
  constexpr std::int64_t kLargest = Duration::max().count() / 1'000'000;
  std::int64_t milliseconds = 0;
  const char* end = header.data() + header.size();
  const auto [rest, error] = std::from_chars(header.data(), end, milliseconds);
  if (error != std::errc{} || rest != end) return std::nullopt;
  if (milliseconds < 0 || milliseconds > kLargest) return std::nullopt;
  return Duration::milliseconds(milliseconds);
}

}  // namespace retrysim
