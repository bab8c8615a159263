// The tables that say which answers may be retried. Sources: botocore retries/standard.py (standard
// and adaptive modes, together with the AWS SDK reference page); botocore data/_retry.json (its
// legacy mode); RetryUtils.java of the AWS SDK for Java 1.x; DefaultRetryPolicy.cs of the AWS SDK
// for .NET; lib/event_listeners.js and lib/service.js of the AWS SDK for JavaScript v2;
// AwsErrorCode.java and AwsRetryStrategy.java of the AWS SDK for Java 2.x; CoreErrors.cpp and
// HttpResponse.h of the AWS SDK for C++; service-error-classification of smithy-typescript;
// error_inspector.rb of the AWS SDK for Ruby; aws/request/retryer.go of the AWS SDK for Go v1; the
// Smithy reference's retry interface. Rules that look at a body's checksum have no counterpart in a
// simulated answer and are left out.
//
// SPDX-License-Identifier: MIT
#include "retry/error_tables.hpp"

namespace retrysim {
namespace {

// The reference page also names InternalError, but botocore, smithy-rs, aws-sdk-go-v2, aws-sdk-php,
// aws-sdk-kotlin and smithy-typescript know that error by its status 500 only.
constexpr std::string_view kStandardTransientCodes[] = {"RequestTimeout",
                                                        "RequestTimeoutException"};

constexpr std::string_view kJsV3TransientCodes[] = {"TimeoutError", "RequestTimeout",
                                                    "RequestTimeoutException"};

// Ruby also corrects a skewed clock and discovers a new endpoint, and then tries again.
constexpr std::string_view kRubyTransientCodes[] = {
    "RequestTimeout",        "RequestTimeoutException",
    "InternalError",         "IDPCommunicationError",
    "AuthFailure",           "RequestTimeTooSkewed",
    "RequestExpired",        "InvalidSignatureException",
    "SignatureDoesNotMatch", "RequestInTheFuture",
};

// If its credentials can be refreshed, it fetches new ones after these and tries again.
constexpr std::string_view kRubyCredentialCodes[] = {
    "InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId",
    "AuthFailure",          "InvalidIdentityToken",        "ExpiredToken",
    "ExpiredTokenException"};

constexpr ServiceCode kStandardServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
};

// Errors that the models of the services mark as retryable.
constexpr ServiceCode kJsV3ServiceCodes[] = {
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

// Expired credentials are fetched again; the other two are what the SDK calls its own errors.
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

// The clients for S3 make an error code of the status where an answer has none, and know
// RequestTimeout by its name.
constexpr ServiceCode kGoV2ServiceCodes[] = {
    {"sts", 0, "IDPCommunicationError", ResponseClass::kTransient},
    {"s3", 408, "", ResponseClass::kTransient},
};

constexpr int kTransientStatuses[] = {500, 502, 503, 504};
constexpr int k429[] = {429};
constexpr int kGoV1ThrottlingStatuses[] = {429, 502, 503, 504};
constexpr int kGoV1TransientStatuses[] = {500};
constexpr int kEvery5xx = 500;  // and above
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
    // Clock skew: the SDK corrects its clock and signs the request again.
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
  // Organizations has a rule of its own under the name of the one for 429, which it replaces.
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
                                    .codes_with_status = kJsV3ServiceCodes,
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
  }
  return kStandard;
}

}  // namespace retrysim
