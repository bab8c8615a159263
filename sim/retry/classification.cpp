// Which answers may be retried, and in which class: the tables of error codes and HTTP statuses of
// each family of SDKs, and the rules that read them.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

/// A code that makes an answer retryable at one service, or at all services ("").
struct ServiceCode {
  std::string_view api;
  int status;  // status of the answer; 0: any
  std::string_view code;
  ResponseClass response_class;
};

/// The codes and statuses that one family of SDKs looks at, in this order: statuses that mean
/// throttling whatever the code, codes, other statuses.
struct ErrorTable {
  std::span<const std::string_view> throttling_codes = {};
  std::span<const std::string_view> transient_codes = {};
  std::span<const ServiceCode> codes_with_status = {};  ///< looked up before all others
  std::span<const int> transient_statuses = {};
  int transient_from_status = 600;  ///< this and all higher statuses are transient
  bool any_name_with_throttl = false;
  std::span<const int> statuses_like_429 = {};
  std::span<const int> throttling_statuses = {};       ///< throttling, whatever the code
  std::span<const int> statuses_with_suggestion = {};  ///< retried if a delay is suggested
  std::string_view api_without_429 = {};               ///< the only service where a 429 is final
  /// Codes that are transient only if new credentials can be fetched; with `any_name_with_expired`
  /// also every code that contains "expired".
  std::span<const std::string_view> credential_codes = {};
  bool any_name_with_expired = false;
  bool connections_are_final = false;  ///< refused and broken connections are final
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

// --- The tables ----------------------------------------------------------------------------------

// Sources: botocore retries/standard.py (standard and adaptive modes, together with the AWS SDK
// reference page); botocore data/_retry.json (its legacy mode); RetryUtils.java of the AWS SDK for
// Java 1.x; DefaultRetryPolicy.cs of the AWS SDK for .NET; lib/event_listeners.js and
// lib/service.js of the AWS SDK for JavaScript v2; AwsErrorCode.java and AwsRetryStrategy.java of
// the AWS SDK for Java 2.x; CoreErrors.cpp and HttpResponse.h of the AWS SDK for C++;
// service-error-classification of smithy-typescript; error_inspector.rb of the AWS SDK for Ruby;
// aws/request/retryer.go of the AWS SDK for Go v1; the Smithy reference's retry interface. Rules
// that look at a body's checksum have no counterpart in a simulated answer and are left out.

namespace {

// The reference page also names InternalError, but botocore, smithy-rs, aws-sdk-go-v2, aws-sdk-php,
// aws-sdk-kotlin and smithy-typescript know that error by its status 500 only.
constexpr std::string_view kStandardTransientCodes[] = {"RequestTimeout",
                                                        "RequestTimeoutException"};

constexpr std::string_view kJsV3TransientCodes[] = {"TimeoutError", "RequestTimeout",
                                                    "RequestTimeoutException"};

// Ruby's SDK also corrects a skewed clock and discovers a new endpoint, and then retries.
constexpr std::string_view kRubyTransientCodes[] = {
    "RequestTimeout",        "RequestTimeoutException",
    "InternalError",         "IDPCommunicationError",
    "AuthFailure",           "RequestTimeTooSkewed",
    "RequestExpired",        "InvalidSignatureException",
    "SignatureDoesNotMatch", "RequestInTheFuture",
};

// If credentials can be refreshed, Ruby's SDK fetches new ones after these codes and retries.
constexpr std::string_view kRubyCredentialCodes[] = {
    "InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId",
    "AuthFailure",          "InvalidIdentityToken",        "ExpiredToken",
    "ExpiredTokenException"};

constexpr ServiceCode kStandardServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

// Errors that the models of the services mark as retryable.
constexpr ServiceCode kModelledCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
    {"dynamodb", 0, "ReplicatedWriteConflictException", ResponseClass::kTransient},
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
    // These codes mean clock skew: the SDK corrects its clock and signs the request again.
    "RequestTimeTooSkewed",
    "RequestExpired",
    "RequestInTheFuture",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
};

// Codes that the AWS SDK for Java 2.x retries in addition under revision 2.1.
constexpr ServiceCode kJavaV2CodesOf2026[] = {
    {"", 0, "LimitExceededException", ResponseClass::kThrottling},
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

// The AWS SDK for C++ knows some of these codes in its core and the others from the models of the
// services; they are taken together here.
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

// Expired credentials are fetched again; the last two codes are the SDK's names for its own errors.
constexpr std::string_view kJsV2TransientCodes[] = {
    "ExpiredToken", "ExpiredTokenException", "RequestExpired", "TimeoutError", "NetworkingError"};

constexpr std::string_view kJsV2ThrottlingCodes[] = {
    "ProvisionedThroughputExceededException",
    "Throttling",
    "ThrottlingException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "TransactionInProgressException",
    "EC2ThrottledException",
};

constexpr ServiceCode kJsV2ServiceCodes[] = {
    {"route53", 400, "PriorRequestNotComplete", ResponseClass::kThrottling},
    {"s3", 0, "RequestTimeout", ResponseClass::kTransient},
};

constexpr std::string_view kGoV1ThrottlingCodes[] = {
    "ProvisionedThroughputExceededException",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "PriorRequestNotComplete",
    "TransactionInProgressException",
    "EC2ThrottledException",
};

constexpr std::string_view kGoV1TransientCodes[] = {"RequestTimeout", "RequestTimeoutException",
                                                    "ExpiredToken", "ExpiredTokenException",
                                                    "RequestExpired"};

constexpr ServiceCode kGoV1ServiceCodes[] = {
    {"kinesis", 0, "LimitExceededException", ResponseClass::kTransient},
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
    {"s3", 408, "", ResponseClass::kTransient},
};

// The clients for S3 make an error code of the status if an answer has none, and know
// RequestTimeout by its name.
constexpr ServiceCode kGoV2ServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
    {"s3", 408, "", ResponseClass::kTransient},
};

// The AWS SDK for Swift retries an InternalError by its name, and a 408 by its status.
constexpr std::string_view kSwiftTransientCodes[] = {"RequestTimeout", "RequestTimeoutException",
                                                     "InternalError"};
constexpr int kSwiftStatuses[] = {408, 500, 502, 503, 504};
constexpr int kSwiftTimeoutStatuses[] = {408, 504};

// The statuses that smithy-python retries if an error has no model, 429 as throttling.
constexpr int kSmithyPythonStatuses[] = {408};

// RETRY_AFTER_STATUS_CODES of urllib3.
constexpr int kUrllib3Statuses[] = {413, 429, 503};

constexpr int kTransientStatuses[] = {500, 502, 503, 504};
constexpr int k429[] = {429};
constexpr int kGoV1ThrottlingStatuses[] = {429, 502, 503, 504};
constexpr int kGoV1TransientStatuses[] = {500};
constexpr int kEvery5xx = 500;  // 500 and above
constexpr int k509IsLike429[] = {509};

constexpr int kLegacyStatuses[] = {500, 502, 503, 504, 509};

// botocore's legacy rules require both the status and the code.
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

// The .NET SDK's legacy rules require one of these codes at status 400 or 503.
constexpr ServiceCode kDotnetLegacyCodes[] = {
    {"", 400, "Throttling", ResponseClass::kThrottling},
    {"", 400, "ThrottlingException", ResponseClass::kThrottling},
    {"", 400, "ProvisionedThroughputExceededException", ResponseClass::kThrottling},
    {"", 400, "RequestTimeout", ResponseClass::kTransient},
    {"", 503, "Throttling", ResponseClass::kThrottling},
    {"", 503, "ThrottlingException", ResponseClass::kThrottling},
    {"", 503, "ProvisionedThroughputExceededException", ResponseClass::kThrottling},
    {"dynamodb", 400, "TransactionInProgressException", ResponseClass::kThrottling},
    {"dynamodb", 503, "TransactionInProgressException", ResponseClass::kThrottling},
    {"dynamodb-streams", 400, "TransactionInProgressException", ResponseClass::kThrottling},
    {"dynamodb-streams", 503, "TransactionInProgressException", ResponseClass::kThrottling},
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
    // These codes mean clock skew: the SDK corrects its clock and signs the request again.
    "RequestTimeTooSkewed",
    "RequestExpired",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
    "RequestInTheFuture",
};

}  // namespace

const ErrorTable& error_table(Classifier classifier) {
  static constexpr ErrorTable kStandard{kStandardThrottlingCodes, kStandardTransientCodes,
                                        kStandardServiceCodes, kTransientStatuses};
  // Organizations has its own rule under the name of the rule for 429, which it replaces.
  static constexpr ErrorTable kBotocoreLegacy{.codes_with_status = kLegacyCodes,
                                              .transient_statuses = kLegacyStatuses,
                                              .api_without_429 = "organizations"};
  static constexpr ErrorTable kJavaV1{
      kJavaV1ThrottlingCodes, kJavaV1TransientCodes, {}, kTransientStatuses};
  static constexpr ErrorTable kJavaV2{
      kJavaV2ThrottlingCodes, kJavaV2TransientCodes, {}, kTransientStatuses};
  static constexpr ErrorTable kJavaV2Of2026{kJavaV2ThrottlingCodes, kJavaV2TransientCodes,
                                            kJavaV2CodesOf2026, kTransientStatuses};
  static constexpr ErrorTable kJsV2{.throttling_codes = kJsV2ThrottlingCodes,
                                    .transient_codes = kJsV2TransientCodes,
                                    .codes_with_status = kJsV2ServiceCodes,
                                    .transient_from_status = kEvery5xx};
  static constexpr ErrorTable kJsV3{.throttling_codes = kStandardThrottlingCodes,
                                    .transient_codes = kJsV3TransientCodes,
                                    .codes_with_status = kModelledCodes,
                                    .transient_statuses = kTransientStatuses,
                                    .throttling_statuses = k429};
  static constexpr ErrorTable kGoV1{.throttling_codes = kGoV1ThrottlingCodes,
                                    .transient_codes = kGoV1TransientCodes,
                                    .codes_with_status = kGoV1ServiceCodes,
                                    .transient_statuses = kGoV1TransientStatuses,
                                    .throttling_statuses = kGoV1ThrottlingStatuses};
  static constexpr ErrorTable kGoV2{kStandardThrottlingCodes, kStandardTransientCodes,
                                    kGoV2ServiceCodes, kTransientStatuses};
  static constexpr ErrorTable kDotnetLegacy{{}, {}, kDotnetLegacyCodes, kTransientStatuses};
  static constexpr ErrorTable kRuby{.throttling_codes = kStandardThrottlingCodes,
                                    .transient_codes = kRubyTransientCodes,
                                    .transient_from_status = kEvery5xx,
                                    .any_name_with_throttl = true,
                                    .throttling_statuses = k429,
                                    .credential_codes = kRubyCredentialCodes,
                                    .any_name_with_expired = true};
  static constexpr ErrorTable kCpp{kCppThrottlingCodes, kCppTransientCodes, kStandardServiceCodes,
                                   kTimeoutStatuses,    kEvery5xx,          false,
                                   k509IsLike429};
  static constexpr ErrorTable kSmithy{kStandardThrottlingCodes, {}, {}, {}, kEvery5xx};
  static constexpr ErrorTable kUrllib3{.statuses_with_suggestion = kUrllib3Statuses};
  static constexpr ErrorTable kSmithyPython{.codes_with_status = kModelledCodes,
                                            .transient_statuses = kSmithyPythonStatuses,
                                            .connections_are_final = true};
  static constexpr ErrorTable kSwift{kStandardThrottlingCodes, kSwiftTransientCodes,
                                     kStandardServiceCodes, kSwiftStatuses};
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
    case Classifier::kGoV1:
      return kGoV1;
    case Classifier::kGoV2:
      return kGoV2;
    case Classifier::kUrllib3:
      return kUrllib3;
    case Classifier::kRustOf2025:
      return kStandard;
    case Classifier::kSwift:
      return kSwift;
    case Classifier::kSmithyPython:
      return kSmithyPython;
  }
  return kStandard;
}

// --- The rules -----------------------------------------------------------------------------------

namespace {

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

/// Whether a code contains `part`, which is in lower case, in upper or lower case.
bool has_in_it(std::string_view code, std::string_view part) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(code.begin(), code.end(), part.begin(), part.end(), same) != code.end();
}

/// Whether new credentials may help, and can be fetched.
bool is_refreshable(const ErrorRules& rules, const ErrorTable& table, std::string_view code) {
  return rules.refreshable_credentials &&
         (contains(table.credential_codes, code) ||
          (table.any_name_with_expired && has_in_it(code, "expired")));
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
ResponseClass class_by_code(const ErrorRules& rules, const ErrorTable& table, std::string_view api,
                            const Response& response) {
  const ResponseClass listed = find_code(table.codes_with_status, api, response);
  if (listed != ResponseClass::kNotRetryable) return listed;
  if (contains(table.throttling_codes, response.code)) return ResponseClass::kThrottling;
  if (table.any_name_with_throttl && has_in_it(response.code, "throttl")) {
    return ResponseClass::kThrottling;
  }
  if (contains(table.transient_codes, response.code)) return ResponseClass::kTransient;
  if (is_refreshable(rules, table, response.code)) return ResponseClass::kTransient;
  return ResponseClass::kNotRetryable;
}

/// The class of a status that means the same whatever the code; kNotRetryable for all others.
ResponseClass class_by_status_alone(const ErrorRules& rules, const ErrorTable& table, int status) {
  if (!contains(table.throttling_statuses, status)) return ResponseClass::kNotRetryable;
  return status == 429 ? class_of_429(rules.status_429) : ResponseClass::kThrottling;
}

ResponseClass class_by_table(const ErrorRules& rules, std::string_view api,
                             const Response& response) {
  const ErrorTable& table = error_table(rules.classifier);
  const ResponseClass by_status = class_by_status_alone(rules, table, response.status);
  if (by_status != ResponseClass::kNotRetryable) return by_status;
  const ResponseClass by_code = class_by_code(rules, table, api, response);
  if (by_code != ResponseClass::kNotRetryable) return by_code;
  if (response.retry_after && contains(table.statuses_with_suggestion, response.status)) {
    return response.status == 429 ? ResponseClass::kThrottling : ResponseClass::kTransient;
  }
  if (response.status == 429 || contains(table.statuses_like_429, response.status)) {
    return !api.empty() && api == table.api_without_429 ? ResponseClass::kNotRetryable
                                                        : class_of_429(rules.status_429);
  }
  if (response.status < table.transient_from_status &&
      !contains(table.transient_statuses, response.status)) {
    return ResponseClass::kNotRetryable;
  }
  // botocore's legacy rules treat all retryable answers alike; the class only shows in results that
  // a 503 SlowDown is a service asking for less.
  const bool says_slow_down = rules.classifier == Classifier::kBotocoreLegacy &&
                              contains(kStandardThrottlingCodes, response.code);
  return says_slow_down ? ResponseClass::kThrottling : ResponseClass::kTransient;
}

/// The class by the service's model of the error, or by the side at fault where the model says
/// "maybe"; empty if neither tells. The Smithy example asks the other way round: "maybe" is enough,
/// and so is a server's fault without it.
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
  const bool only_yes = classifier == Classifier::kSmithyPython;
  if (*traits.retry_safety == RetrySafety::kMaybe && !smithy && (only_yes || !server)) {
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
      return transport || is_request_timeout(response) || response.code == "InternalError" ||
             response.code == "IDPCommunicationError";
    case TimeoutClass::kRequestTimeout:
      if (transport) return false;
      if (is_request_timeout(response)) return true;
      return contains(kTimeoutStatuses, response.status) &&
             class_by_code(rules, error_table(rules.classifier), api, response) ==
                 ResponseClass::kNotRetryable;
    case TimeoutClass::kTransient:
      return response_class == ResponseClass::kTransient ||
             response_class == ResponseClass::kTimeout;
    case TimeoutClass::kListed:
      return transport || class_by_table(rules, api, response) == ResponseClass::kTransient;
    case TimeoutClass::kStatuses:
      if (transport) return response_class == ResponseClass::kTimeout;
      if (rules.classifier == Classifier::kSmithyPython && response.traits.retry_safety) {
        return false;
      }
      return contains(kSwiftTimeoutStatuses, response.status) &&
             response_class != ResponseClass::kThrottling;
  }
  return false;
}

/// Whether a delay that the service suggests is ignored.
bool ignores_suggestion(const ErrorRules& rules, std::string_view api, const Response& response) {
  // An error that is retried only because the server is at fault is retried without a look at the
  // rest.
  if (response.traits.retry_safety == RetrySafety::kNo) return true;
  switch (rules.classifier) {
    case Classifier::kGoV1:
      return response.status != 429 && response.status != 503;
    case Classifier::kRustOf2025:
      return class_by_code(rules, error_table(rules.classifier), api, response) ==
             ResponseClass::kNotRetryable;
    default:
      return false;
  }
}

bool has_one(const std::vector<ErrorPattern>& patterns, const Response& response,
             ResponseClass by_table) {
  return std::ranges::any_of(patterns,
                             [&](const ErrorPattern& p) { return matches(p, response, by_table); });
}

/// The class of an error by the user's own lists, from its class by the table.
ResponseClass class_by_lists(const ErrorRules& rules, const Response& response,
                             ResponseClass by_table) {
  if (has_one(rules.not_on, response, by_table)) return ResponseClass::kNotRetryable;
  if (rules.on.empty()) return by_table;
  if (!has_one(rules.on, response, by_table)) return ResponseClass::kNotRetryable;
  if (by_table != ResponseClass::kNotRetryable) return by_table;
  return response.status == 429 ? ResponseClass::kThrottling : ResponseClass::kTransient;
}

std::uint8_t number_of_base(const ErrorRules& rules, const Response& response,
                            ResponseClass by_table) {
  const std::size_t most = std::min(rules.bases.size(), ErrorRules::kMaxBases);
  for (std::size_t i = 0; i < most; ++i) {
    if (matches(rules.bases[i].after, response, by_table)) return static_cast<std::uint8_t>(i + 1);
  }
  return 0;
}

}  // namespace

std::optional<ErrorPattern> parse_error_pattern(std::string_view text) {
  using Of = ErrorPattern::Of;
  struct Named {
    std::string_view word;
    Of of;
    int status = 0;
  };
  constexpr Named kNamed[] = {{"any", Of::kAny},
                              {"throttled", Of::kThrottled},
                              {"timeout", Of::kTimeout},
                              {"connection", Of::kConnection},
                              {"no-connection", Of::kNoConnection},
                              {"bulkhead-full", Of::kBulkheadFull},
                              {"not-permitted", Of::kNotPermitted},
                              {"internal", Of::kStatus, 500},
                              {"unavailable", Of::kStatus, 503},
                              {"4xx", Of::kHundred, 4},
                              {"5xx", Of::kHundred, 5}};
  for (const Named& n : kNamed) {
    if (text == n.word) return ErrorPattern{n.of, n.status};
  }
  ErrorPattern result;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), result.status);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool has_status = wrong == std::errc{};
  result.of = has_status ? Of::kStatus : Of::kCode;
  if (has_status && (result.status < 400 || result.status > 599)) return std::nullopt;
  if (has_status && rest.empty()) return result;
  if (has_status && rest.front() != ':') return std::nullopt;
  const std::string_view code = has_status ? rest.substr(1) : text;
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (code.empty() || code.front() < 'A' || code.front() > 'Z') return std::nullopt;
  if (!std::ranges::all_of(code, is_part)) return std::nullopt;
  result.code = code;
  return result;
}

bool matches(const ErrorPattern& pattern, const Response& response, ResponseClass by_table) {
  const bool answered = response.transport == TransportError::kNone;
  switch (pattern.of) {
    case ErrorPattern::Of::kAny:
      return true;
    case ErrorPattern::Of::kStatus:
      return answered && response.status == pattern.status &&
             (pattern.code.empty() || response.code == pattern.code);
    case ErrorPattern::Of::kHundred:
      return answered && response.status / 100 == pattern.status;
    case ErrorPattern::Of::kCode:
      return answered && response.code == pattern.code;
    case ErrorPattern::Of::kThrottled:
      return by_table == ResponseClass::kThrottling;
    case ErrorPattern::Of::kTimeout:
      return response.transport == TransportError::kTimeout;
    case ErrorPattern::Of::kConnection:
      return response.transport == TransportError::kConnection;
    case ErrorPattern::Of::kNoConnection:
      return response.transport == TransportError::kNoConnection;
    case ErrorPattern::Of::kBulkheadFull:
      return response.transport == TransportError::kBulkheadFull;
    case ErrorPattern::Of::kNotPermitted:
      return response.transport == TransportError::kNotPermitted;
  }
  return false;
}

ErrorInfo classify(const ErrorRules& rules, std::string_view api, const Response& response) {
  ErrorInfo info;
  if (response.transport != TransportError::kNone) {
    const bool final = response.transport == TransportError::kConnection &&
                       error_table(rules.classifier).connections_are_final;
    info.response_class = response.transport == TransportError::kTimeout ? ResponseClass::kTimeout
                          : final ? ResponseClass::kNotRetryable
                                  : ResponseClass::kTransient;
    info.fault = Fault::kServer;
  } else if (response.status >= 200 && response.status < 300 && response.code.empty()) {
    return info;
  } else {
    info.fault = response.status >= 500 ? Fault::kServer : Fault::kClient;
    if (response.traits.fault) info.fault = *response.traits.fault;
    const auto modelled = class_by_traits(rules.classifier, response.traits, info.fault);
    info.response_class = modelled ? *modelled : class_by_table(rules, api, response);
  }
  info.no_retry_after = ignores_suggestion(rules, api, response);
  info.timeout = info.retryable() && pays_timeout_price(rules, api, response, info.response_class);
  const ResponseClass by_table = info.response_class;
  info.own_base = number_of_base(rules, response, by_table) & 127;
  info.response_class = class_by_lists(rules, response, by_table);
  if (info.response_class == ResponseClass::kNotRetryable &&
      by_table != ResponseClass::kNotRetryable) {
    info.before_lists = by_table;
  }
  info.timeout = info.timeout && info.retryable();
  return info;
}

bool add_trait(std::string_view word, ErrorTraits& traits) {
  if (word == "retryable") {
    traits.retry_safety = RetrySafety::kYes;
  } else if (word == "not-retryable") {
    traits.retry_safety = RetrySafety::kNo;
  } else if (word == "maybe-retryable") {
    traits.retry_safety = RetrySafety::kMaybe;
  } else if (word == "throttling") {
    traits.throttling = true;
  } else if (word == "timeout") {
    traits.timeout = true;
  } else if (word == "client-fault") {
    traits.fault = Fault::kClient;
  } else if (word == "server-fault") {
    traits.fault = Fault::kServer;
  } else {
    return false;
  }
  return true;
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
