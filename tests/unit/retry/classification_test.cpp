// The rules of classification that botocore's own table does not cover: the other two tables of
// codes, additions of single services, transport errors, and the retry-after header.
//
// SPDX-License-Identifier: MIT
#include <retrysim/response.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;

namespace {

constexpr auto kSuccess = ResponseClass::kSuccess;
constexpr auto kThrottling = ResponseClass::kThrottling;
constexpr auto kTransient = ResponseClass::kTransient;
constexpr auto kNotRetryable = ResponseClass::kNotRetryable;

ResponseClass standard(int status, const char* code = "", std::string_view api = "default") {
  return classify(Classifier::kStandard, api, {.status = status, .code = code});
}
ResponseClass legacy(int status, const char* code = "", std::string_view api = "default") {
  return classify(Classifier::kBotocoreLegacy, api, {.status = status, .code = code});
}
ResponseClass java(int status, const char* code = "") {
  return classify(Classifier::kJavaV1, "default", {.status = status, .code = code});
}

}  // namespace

TEST_CASE("a missing answer is a timeout or a transient error in every table") {
  for (const Classifier table :
       {Classifier::kStandard, Classifier::kBotocoreLegacy, Classifier::kJavaV1}) {
    Response response;
    response.transport = TransportError::kTimeout;
    CHECK(classify(table, "default", response) == ResponseClass::kTimeout);
    response.transport = TransportError::kConnection;
    CHECK(classify(table, "default", response) == kTransient);
  }
}

TEST_CASE("2xx without a code is a success, other statuses below 500 are not retried") {
  for (const auto& table : {standard(200), standard(204), standard(299), legacy(200), java(200)}) {
    CHECK(table == kSuccess);
  }
  for (const int status : {100, 199, 300, 301, 400, 403, 404, 499, 501, 505}) {
    INFO(status);
    CHECK(standard(status) == kNotRetryable);
    CHECK(legacy(status) == kNotRetryable);
    CHECK(java(status) == kNotRetryable);
  }
}

TEST_CASE("a code outweighs the status in standard mode") {
  CHECK(standard(500, "SlowDown") == kThrottling);
  CHECK(standard(200, "SlowDown") == kThrottling);
  CHECK(standard(404, "RequestTimeout") == kTransient);
  CHECK(standard(400, "InternalError") == kTransient);
  CHECK(standard(200, "AccessDenied") == kNotRetryable);
  CHECK(standard(400, "slowdown") == kNotRetryable);  // codes are case-sensitive
}

TEST_CASE("429 and 509 without a code are retried in legacy mode only") {
  CHECK(standard(429) == kNotRetryable);
  CHECK(standard(429, "TooManyRequestsException") == kThrottling);
  CHECK(standard(509) == kNotRetryable);
  CHECK(legacy(429) == kThrottling);
  CHECK(legacy(509) == kTransient);
  CHECK(java(429) == kThrottling);
  CHECK(java(509) == kNotRetryable);
}

TEST_CASE("botocore's legacy mode wants the code together with its status") {
  CHECK(legacy(400, "ThrottlingException") == kThrottling);
  CHECK(legacy(403, "ThrottlingException") == kNotRetryable);
  CHECK(legacy(400, "SlowDown") == kNotRetryable);
  CHECK(legacy(503, "SlowDown") == kThrottling);
  CHECK(legacy(503, "AnythingElse") == kTransient);
}

TEST_CASE("services add codes of their own") {
  struct Addition {
    const char* api;
    int status;
    const char* code;
    ResponseClass expected;
  };
  const Addition additions[] = {
      {"organizations", 400, "TooManyRequestsException", kThrottling},
      {"dynamodb", 409, "ReplicatedWriteConflictException", kTransient},
      {"dynamodb", 400, "TransactionInProgressException", kThrottling},
      {"kinesis", 400, "LimitExceededException", kThrottling},
      {"sqs", 403, "RequestThrottled", kThrottling},
      {"s3", 400, "RequestTimeout", kTransient},
      {"s3", 400, "BadDigest", kTransient},
      {"glacier", 408, "RequestTimeoutException", kTransient},
      {"route53", 400, "PriorRequestNotComplete", kThrottling},
      {"sts", 400, "IDPCommunicationError", kTransient},
  };
  for (const Addition& a : additions) {
    INFO(a.api << ' ' << a.status << ' ' << a.code);
    CHECK(legacy(a.status, a.code, a.api) == a.expected);
    CHECK(legacy(a.status, a.code, "default") == kNotRetryable);
    CHECK(legacy(a.status + 1, a.code, a.api) == kNotRetryable);
  }
  // Whose status is retried for every service, but as throttling.
  CHECK(legacy(503, "RequestLimitExceeded", "ec2") == kThrottling);
  CHECK(legacy(503, "EC2ThrottledException", "ec2") == kThrottling);
  CHECK(legacy(509, "BandwidthLimitExceeded", "cloudsearch") == kThrottling);
  CHECK(standard(400, "IDPCommunicationError", "sts") == kTransient);
  CHECK(standard(400, "IDPCommunicationError") == kNotRetryable);
}

TEST_CASE("the AWS SDK for Java 1.x has lists of its own") {
  CHECK(java(400, "SlowDown") == kThrottling);
  CHECK(java(400, "RequestLimitExceeded") == kThrottling);
  CHECK(java(400, "EC2ThrottledException") == kNotRetryable);
  CHECK(java(400, "LimitExceededException") == kNotRetryable);
  CHECK(java(400, "PriorRequestNotComplete") == kTransient);
  CHECK(java(400, "TransactionInProgressException") == kTransient);
  for (const char* code : {"RequestTimeTooSkewed", "RequestExpired", "InvalidSignatureException",
                           "SignatureDoesNotMatch", "AuthFailure", "RequestInTheFuture"}) {
    CHECK(java(403, code) == kTransient);
    CHECK(standard(403, code) == kNotRetryable);
  }
  for (const int status : {500, 502, 503, 504}) CHECK(java(status) == kTransient);
}

TEST_CASE("a retry-after header is a whole number of milliseconds") {
  CHECK(parse_retry_after("0") == Duration::zero());
  CHECK(parse_retry_after("1500") == Duration::milliseconds(1500));
  CHECK(parse_retry_after("9223372036854") == Duration::milliseconds(9'223'372'036'854));
  for (const char* bad : {"", " ", "-1", "-100", "+1", "1.5", "1e3", "1500ms", "invalid", " 5",
                          "5 ", "9223372036855", "99999999999999999999"}) {
    INFO('"' << bad << '"');
    CHECK(parse_retry_after(bad) == std::nullopt);
  }
}
