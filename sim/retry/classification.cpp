// Which answers may be retried, and what they are: tables of error codes and HTTP statuses per
// family of SDKs. Sources: botocore retries/standard.py (standard and adaptive modes, together with
// the AWS SDK reference page); botocore data/_retry.json (its legacy mode); RetryUtils.java of the
// AWS SDK for Java 1.x; DefaultRetryPolicy.cs of the AWS SDK for .NET; lib/event_listeners.js of
// the AWS SDK for JavaScript v2; AwsErrorCode.java and AwsRetryStrategy.java of the AWS SDK for
// Java 2.x; CoreErrors.cpp and HttpResponse.h of the AWS SDK for C++; service-error-classification
// of smithy-typescript; error_inspector.rb of the AWS SDK for Ruby; the Smithy reference's retry
// interface. Rules that look at a body's checksum have no counterpart in a simulated answer and are
// left out.
//
// SPDX-License-Identifier: MIT
#include <retrysim/response.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <span>

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

// The reference page also names InternalError, but botocore, smithy-rs, aws-sdk-go-v2, aws-sdk-php,
// aws-sdk-kotlin and smithy-typescript know that error by its status 500 only.
constexpr std::string_view kStandardTransientCodes[] = {"RequestTimeout",
                                                        "RequestTimeoutException"};

constexpr std::string_view kJsV3TransientCodes[] = {"TimeoutError", "RequestTimeout",
                                                    "RequestTimeoutException"};

// Ruby also fetches new credentials for expired ones, corrects a skewed clock and discovers a new
// endpoint, and then tries again.
constexpr std::string_view kRubyTransientCodes[] = {
    "RequestTimeout",
    "RequestTimeoutException",
    "InternalError",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidAccessKeyId",
    "AuthFailure",
    "InvalidIdentityToken",
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestTimeTooSkewed",
    "RequestExpired",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "RequestInTheFuture",
};

constexpr ServiceCode kStandardServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

constexpr std::string_view kJavaV2ThrottlingCodes[] = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "RequestThrottled",
    "SlowDown",
    "EC2ThrottledException",
};

constexpr std::string_view kJavaV2TransientCodes[] = {
    "PriorRequestNotComplete",
    "RequestTimeout",
    "RequestTimeoutException",
    "InternalError",
    // Clock skew: the SDK corrects its clock and signs the request again.
    "RequestTimeTooSkewed",
    "RequestExpired",
    "RequestInTheFuture",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
};

// What the AWS SDK for Java 2.x retries besides under revision 2.1.
constexpr ServiceCode kJavaV2CodesOf2026[] = {
    {"", 0, "LimitExceededException", ResponseClass::kThrottling},
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

// The AWS SDK for C++ knows these in its core and the other throttling codes from the models of the
// services, which are taken together here.
constexpr std::string_view kCppThrottlingCodes[] = {
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
    "SlowDownException",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
};

constexpr std::string_view kCppTransientCodes[] = {
    "RequestTimeout",
    "RequestTimeoutException",
    "InternalFailure",
    "InternalFailureException",
    "InternalError",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableError",
    "ServiceUnavailableException",
    "RequestExpired",
    "RequestExpiredException",
    "RequestTimeTooSkewed",
    "RequestTimeTooSkewedException",
    "ExpiredToken",
    "InvalidToken",
};

constexpr std::string_view kExpiredCredentialCodes[] = {"ExpiredToken", "ExpiredTokenException",
                                                        "RequestExpired"};

constexpr int kTransientStatuses[] = {500, 502, 503, 504};
constexpr int kEvery5xx = 500;  // and above
constexpr int kTimeoutStatuses[] = {408, 419, 440, 504, 598, 599};
constexpr int k509IsLike429[] = {509};

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

// The .NET SDK's legacy rules want one of these at 400 or 503.
constexpr ServiceCode kDotnetLegacyCodes[] = {
    {"", 400, "Throttling", ResponseClass::kThrottling},
    {"", 400, "ThrottlingException", ResponseClass::kThrottling},
    {"", 400, "ProvisionedThroughputExceededException", ResponseClass::kThrottling},
    {"", 400, "RequestTimeout", ResponseClass::kTransient},
    {"", 503, "Throttling", ResponseClass::kThrottling},
    {"", 503, "ThrottlingException", ResponseClass::kThrottling},
    {"", 503, "ProvisionedThroughputExceededException", ResponseClass::kThrottling},
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

/// What one family of SDKs looks at, in this order: codes, statuses.
struct Table {
  std::span<const std::string_view> throttling_codes;
  std::span<const std::string_view> transient_codes;
  std::span<const ServiceCode> codes_with_status;  ///< these go before all others
  std::span<const int> transient_statuses;
  int transient_from_status = 600;  ///< this status and all above are transient
  bool any_name_with_throttl = false;
  std::span<const int> statuses_like_429 = {};
};

const Table& table_of(Classifier classifier) {
  static constexpr Table kStandard{kStandardThrottlingCodes, kStandardTransientCodes,
                                   kStandardServiceCodes, kTransientStatuses};
  static constexpr Table kBotocoreLegacy{{}, {}, kLegacyCodes, kLegacyStatuses};
  static constexpr Table kJavaV1{
      kJavaV1ThrottlingCodes, kJavaV1TransientCodes, {}, kTransientStatuses};
  static constexpr Table kJavaV2{
      kJavaV2ThrottlingCodes, kJavaV2TransientCodes, {}, kTransientStatuses};
  static constexpr Table kJavaV2Of2026{kJavaV2ThrottlingCodes, kJavaV2TransientCodes,
                                       kJavaV2CodesOf2026, kTransientStatuses};
  static constexpr Table kJsV2{
      kStandardThrottlingCodes, kExpiredCredentialCodes, {}, {}, kEvery5xx};
  static constexpr Table kJsV3{kStandardThrottlingCodes, kJsV3TransientCodes, kStandardServiceCodes,
                               kTransientStatuses};
  static constexpr Table kDotnetLegacy{{}, {}, kDotnetLegacyCodes, kTransientStatuses};
  static constexpr Table kRuby{
      kStandardThrottlingCodes, kRubyTransientCodes, kStandardServiceCodes, {}, kEvery5xx, true};
  static constexpr Table kCpp{kCppThrottlingCodes, kCppTransientCodes, kStandardServiceCodes,
                              kTimeoutStatuses,    kEvery5xx,          false,
                              k509IsLike429};
  static constexpr Table kSmithy{kStandardThrottlingCodes, {}, {}, {}, kEvery5xx};
  switch (classifier) {
    case Classifier::kStandard:
      return kStandard;
    case Classifier::kBotocoreLegacy:
      return kBotocoreLegacy;
    case Classifier::kJavaV1:
      return kJavaV1;
    case Classifier::kJavaV2:
      return kJavaV2;
    case Classifier::kJsV2:
      return kJsV2;
    case Classifier::kJsV3:
      return kJsV3;
    case Classifier::kDotnetLegacy:
      return kDotnetLegacy;
    case Classifier::kRuby:
      return kRuby;
    case Classifier::kSmithy:
      return kSmithy;
    case Classifier::kJavaV2Of2026:
      return kJavaV2Of2026;
    case Classifier::kCpp:
      return kCpp;
  }
  return kStandard;
}

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

/// The class of a listed code, or kNotRetryable.
ResponseClass find_code(std::span<const ServiceCode> codes, std::string_view api,
                        const Response& response) {
  for (const ServiceCode& c : codes) {
    if (c.code == response.code && (c.api.empty() || c.api == api) &&
        (c.status == 0 || c.status == response.status)) {
      return c.response_class;
    }
  }
  return ResponseClass::kNotRetryable;
}

bool has_throttl(std::string_view code) {
  constexpr std::string_view kPart = "throttl";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(code.begin(), code.end(), kPart.begin(), kPart.end(), same) != code.end();
}

ResponseClass class_of_429(Status429 meaning) {
  switch (meaning) {
    case Status429::kThrottling:
      return ResponseClass::kThrottling;
    case Status429::kTransient:
      return ResponseClass::kTransient;
    case Status429::kNotRetryable:
      break;
  }
  return ResponseClass::kNotRetryable;
}

/// The class that the error code gives, whatever the status; kNotRetryable for an unknown one.
ResponseClass class_by_code(const Table& table, std::string_view api, const Response& response) {
  const ResponseClass listed = find_code(table.codes_with_status, api, response);
  if (listed != ResponseClass::kNotRetryable) return listed;
  if (contains(table.throttling_codes, response.code)) return ResponseClass::kThrottling;
  if (table.any_name_with_throttl && has_throttl(response.code)) return ResponseClass::kThrottling;
  if (contains(table.transient_codes, response.code)) return ResponseClass::kTransient;
  return ResponseClass::kNotRetryable;
}

ResponseClass class_by_table(const ErrorRules& rules, std::string_view api,
                             const Response& response) {
  const Table& table = table_of(rules.classifier);
  const ResponseClass by_code = class_by_code(table, api, response);
  if (by_code != ResponseClass::kNotRetryable) return by_code;
  if (response.status == 429 || contains(table.statuses_like_429, response.status)) {
    return class_of_429(rules.status_429);
  }
  if (response.status < table.transient_from_status &&
      !contains(table.transient_statuses, response.status)) {
    return ResponseClass::kNotRetryable;
  }
  // botocore's legacy rules treat all retryable answers alike; the class only tells the reader of a
  // result that a 503 SlowDown is a service asking for less.
  const bool says_slow_down = rules.classifier == Classifier::kBotocoreLegacy &&
                              contains(kStandardThrottlingCodes, response.code);
  return says_slow_down ? ResponseClass::kThrottling : ResponseClass::kTransient;
}

/// What the model of the service says, or the side at fault where it says "maybe". The Smithy
/// example asks the other way round: "maybe" is enough, and so is a server's fault without it.
std::optional<ResponseClass> class_by_traits(Classifier classifier, const ErrorTraits& traits,
                                             Fault fault) {
  if (!traits.retry_safety) {
    if (traits.throttling) return ResponseClass::kThrottling;
    if (traits.timeout) return ResponseClass::kTimeout;
    return std::nullopt;
  }
  const bool smithy = classifier == Classifier::kSmithy;
  const bool server = fault == Fault::kServer;
  if (*traits.retry_safety == RetrySafety::kNo) {
    return smithy && server ? ResponseClass::kTransient : ResponseClass::kNotRetryable;
  }
  if (*traits.retry_safety == RetrySafety::kMaybe && !smithy && !server) {
    return ResponseClass::kNotRetryable;
  }
  if (traits.throttling) return ResponseClass::kThrottling;
  return traits.timeout ? ResponseClass::kTimeout : ResponseClass::kTransient;
}

bool is_request_timeout(const Response& response) {
  return response.code == "RequestTimeout" || response.code == "RequestTimeoutException";
}

bool pays_timeout_price(const ErrorRules& rules, std::string_view api, const Response& response,
                        ResponseClass response_class) {
  const bool transport = response.transport != TransportError::kNone;
  switch (rules.timeout_class) {
    case TimeoutClass::kNone:
      return false;
    case TimeoutClass::kNoAnswer:
      return response_class == ResponseClass::kTimeout;
    case TimeoutClass::kConnections:
      return transport;
    case TimeoutClass::kNetworking:
      return transport || is_request_timeout(response) || response.code == "InternalError";
    case TimeoutClass::kRequestTimeout:
      if (transport) return false;
      if (is_request_timeout(response)) return true;
      return contains(kTimeoutStatuses, response.status) &&
             class_by_code(table_of(rules.classifier), api, response) ==
                 ResponseClass::kNotRetryable;
    case TimeoutClass::kTransient:
      return response_class == ResponseClass::kTransient ||
             response_class == ResponseClass::kTimeout;
  }
  return false;
}

}  // namespace

ErrorInfo classify(const ErrorRules& rules, std::string_view api, const Response& response) {
  ErrorInfo info;
  if (response.transport != TransportError::kNone) {
    info.response_class = response.transport == TransportError::kTimeout
                              ? ResponseClass::kTimeout
                              : ResponseClass::kTransient;
    info.fault = Fault::kServer;
  } else if (response.status >= 200 && response.status < 300 && response.code.empty()) {
    return info;
  } else {
    info.fault = response.status >= 500 ? Fault::kServer : Fault::kClient;
    const auto modelled = class_by_traits(rules.classifier, response.traits, info.fault);
    info.response_class = modelled ? *modelled : class_by_table(rules, api, response);
  }
  // What is retried for the server's fault alone is so without a look at the rest.
  info.no_retry_after = response.traits.retry_safety == RetrySafety::kNo;
  info.timeout = info.retryable() && pays_timeout_price(rules, api, response, info.response_class);
  return info;
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
