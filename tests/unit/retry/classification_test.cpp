// The rules of classification that botocore's own table does not cover: the other two tables of
// codes, additions of single services, transport errors, and the retry-after header.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_rules.hpp>

#include <catch2/catch.hpp>

#include "unit/retry/short_names.hpp"

using namespace retrysim;
using retrysim::test::kNotRetryable;
using retrysim::test::kThrottling;
using retrysim::test::kTransient;

namespace {

constexpr auto kSuccess = ResponseClass::kSuccess;

ResponseClass standard(int status, const char* code = "", std::string_view api = "default") {
  return classify({}, api, {.status = status, .code = code}).response_class;
}
ResponseClass legacy(int status, const char* code = "", std::string_view api = "default") {
  return classify(find_preset("legacy", "", "botocore", "")->rules.errors, api,
                  {.status = status, .code = code})
      .response_class;
}
ResponseClass by_sdk(const char* mode, const char* sdk, int status, const char* code = "") {
  const Preset* preset = find_preset(mode, "2.0", sdk, "default");
  REQUIRE(preset != nullptr);
  return classify(preset->rules.errors, "default", {.status = status, .code = code}).response_class;
}
ResponseClass java(int status, const char* code = "") {
  return by_sdk("legacy", "java-v1", status, code);
}

}  // namespace

TEST_CASE("a missing answer is a timeout or a transient error in every table") {
  for (const Preset& preset : presets()) {
    const ErrorRules& table = preset.rules.errors;
    Response response;
    response.transport = TransportError::kTimeout;
    CHECK(classify(table, "default", response).response_class == ResponseClass::kTimeout);
    response.transport = TransportError::kConnection;
    const bool final = preset.sdk == "smithy-python";
    CHECK(classify(table, "default", response).response_class ==
          (final ? kNotRetryable : kTransient));
  }
}

TEST_CASE("the new SDK for Python retries what a model calls retryable, and little else") {
  for (const char* revision : {"2.0", "2.1"}) {
    const ErrorRules rules =
        find_preset("standard", revision, "smithy-python", "default")->rules.errors;
    const auto classified = [&](int status, const char* code, ErrorTraits traits = {}) {
      return classify(rules, "default", {.status = status, .code = code, .traits = traits});
    };
    for (const int status : {500, 502, 503, 504, 400, 404, 409, 509}) {
      INFO(status);
      CHECK(classified(status, "").response_class == kNotRetryable);
      CHECK(classified(status, "ThrottlingException").response_class == kNotRetryable);
      CHECK(classified(status, "", {.retry_safety = RetrySafety::kYes}).response_class ==
            kTransient);
      CHECK(classified(status, "", {.retry_safety = RetrySafety::kYes, .throttling = true})
                .response_class == kThrottling);
      // None is not enough, whoever is at fault.
      CHECK(classified(status, "", {.retry_safety = RetrySafety::kMaybe}).response_class ==
            kNotRetryable);
      CHECK(classified(status, "", {.retry_safety = RetrySafety::kNo}).response_class ==
            kNotRetryable);
    }
    CHECK(classified(429, "").response_class == kThrottling);
    CHECK(classified(429, "SlowDown").response_class == kThrottling);
    CHECK(classified(408, "").response_class == kTransient);
    CHECK(classified(429, "", {.retry_safety = RetrySafety::kMaybe}).response_class ==
          kNotRetryable);
    // Before 2.1 a 408 without a model pays the price of a timeout.
    const bool before = revision == std::string_view("2.0");
    CHECK(classified(408, "").timeout == before);
    CHECK_FALSE(classified(429, "").timeout);
    CHECK_FALSE(classified(408, "", {.retry_safety = RetrySafety::kYes}).timeout);
    CHECK_FALSE(classified(504, "", {.retry_safety = RetrySafety::kYes}).timeout);
    // Errors that the model of the service calls retryable.
    CHECK(classify(rules, "sts", {.status = 400, .code = "IDPCommunicationError"}).response_class ==
          kTransient);
    CHECK(classified(400, "IDPCommunicationError").response_class == kNotRetryable);
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
  CHECK(standard(400, "InternalError") == kNotRetryable);  // known by its status 500 only
  CHECK(standard(500, "InternalError") == kTransient);
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

TEST_CASE("a 429 without a known code is what the rules say") {
  const auto classified = [](Classifier classifier, Status429 meaning, int status,
                             const char* code = "") {
    const ErrorRules rules{.classifier = classifier, .status_429 = meaning};
    return classify(rules, "default", {.status = status, .code = code}).response_class;
  };
  for (const Classifier c : {Classifier::kStandard, Classifier::kJavaV2, Classifier::kCpp}) {
    INFO(name(c));
    CHECK(classified(c, Status429::kThrottling, 429) == kThrottling);
    CHECK(classified(c, Status429::kTransient, 429) == kTransient);
    CHECK(classified(c, Status429::kNotRetryable, 429) == kNotRetryable);
    CHECK(classified(c, Status429::kTransient, 429, "SlowDown") == kThrottling);
  }
  // C++ treats 509 alike, others do not know it.
  CHECK(classified(Classifier::kCpp, Status429::kThrottling, 509) == kThrottling);
  CHECK(classified(Classifier::kCpp, Status429::kTransient, 509) == kTransient);
  CHECK(classified(Classifier::kStandard, Status429::kThrottling, 509) == kNotRetryable);
  // Where the status is looked at before the code, and for Go 1's other throttling statuses.
  for (const Classifier c : {Classifier::kJsV3, Classifier::kRuby, Classifier::kGoV1}) {
    INFO(name(c));
    CHECK(classified(c, Status429::kThrottling, 429) == kThrottling);
    CHECK(classified(c, Status429::kTransient, 429) == kTransient);
    CHECK(classified(c, Status429::kTransient, 429, "SlowDown") == kTransient);
  }
  CHECK(classified(Classifier::kGoV1, Status429::kTransient, 503) == kThrottling);
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

TEST_CASE("SDKs differ in what they retry") {
  struct Row {
    const char *mode, *sdk;
    int status;
    const char* code;
    ResponseClass expected;
  };
  const Row rows[] = {
      // Statuses above the four that everybody knows.
      {"legacy", "js-v2", 501, "", kTransient},
      {"standard", "js-v3", 501, "", kNotRetryable},
      {"legacy", "ruby", 599, "", kTransient},
      {"standard", "botocore", 501, "", kNotRetryable},
      {"legacy", "dotnet", 501, "", kNotRetryable},
      // 429 without a code.
      {"standard", "ruby", 429, "", kThrottling},
      {"standard", "js-v3", 429, "", kThrottling},
      {"legacy", "js-v2", 429, "", kThrottling},
      {"standard", "java-v2", 429, "", kThrottling},
      {"standard", "rust", 429, "", kNotRetryable},
      {"standard", "go-v2", 429, "", kNotRetryable},
      {"legacy", "go-v1", 429, "", kThrottling},
      // Names.
      {"standard", "ruby", 400, "MyThrottlingThing", kThrottling},
      {"standard", "botocore", 400, "MyThrottlingThing", kNotRetryable},
      {"standard", "java-v2", 400, "LimitExceededException", kNotRetryable},
      {"standard", "rust", 400, "LimitExceededException", kThrottling},
      {"standard", "botocore", 400, "InternalError", kNotRetryable},
      {"standard", "rust", 400, "InternalError", kNotRetryable},
      {"standard", "go-v2", 400, "InternalError", kNotRetryable},
      {"standard", "php", 400, "InternalError", kNotRetryable},
      {"standard", "js-v3", 400, "InternalError", kNotRetryable},
      {"standard", "java-v2", 400, "InternalError", kTransient},
      {"standard", "ruby", 400, "InternalError", kTransient},
      // The .NET SDK's legacy rules want 400 or 503.
      {"legacy", "dotnet", 400, "ThrottlingException", kThrottling},
      {"legacy", "dotnet", 503, "ThrottlingException", kThrottling},
      {"legacy", "dotnet", 403, "ThrottlingException", kNotRetryable},
      {"legacy", "dotnet", 400, "SlowDown", kNotRetryable},
      // Ruby corrects its clock; new credentials it can fetch only if it is told so.
      {"standard", "ruby", 403, "ExpiredTokenException", kNotRetryable},
      {"standard", "ruby", 403, "RequestTimeTooSkewed", kTransient},
      {"standard", "botocore", 403, "ExpiredTokenException", kNotRetryable},
  };
  for (const Row& r : rows) {
    INFO(r.mode << ' ' << r.sdk << ' ' << r.status << ' ' << r.code);
    CHECK(by_sdk(r.mode, r.sdk, r.status, r.code) == r.expected);
  }
  const ErrorRules in_2026 = find_preset("standard", "2.1", "java-v2", "")->rules.errors;
  const Response limit{.status = 400, .code = "LimitExceededException"};
  CHECK(classify(in_2026, "default", limit).response_class == kThrottling);
}

TEST_CASE("Ruby retries what tells of expired credentials only where it can fetch new ones") {
  ErrorRules rules = find_preset("standard", "2.0", "ruby", "")->rules.errors;
  const auto class_of = [&](const char* code) {
    return classify(rules, "default", {.status = 403, .code = code}).response_class;
  };
  for (const bool refreshable : {false, true}) {
    rules.refreshable_credentials = refreshable;
    for (const char* code : {"ExpiredToken", "InvalidAccessKeyId", "MySessionHasEXPIRED"}) {
      INFO(code);
      CHECK(class_of(code) == (refreshable ? kTransient : kNotRetryable));
    }
    CHECK(class_of("RequestExpired") == kTransient);  // a skewed clock
    CHECK(class_of("AccessDenied") == kNotRetryable);
    CHECK(class_of("ExpiredThrottle") == kThrottling);
  }
}

TEST_CASE("Kotlin's timeout price is for errors that its own list knows") {
  const ErrorRules rules = find_preset("standard", "2.0", "kotlin", "")->rules.errors;
  const ErrorTraits retryable{.retry_safety = RetrySafety::kYes};
  CHECK(classify(rules, "default", {.status = 503}).timeout);
  CHECK(classify(rules, "default", {.status = 503, .traits = retryable}).timeout);
  CHECK_FALSE(classify(rules, "default", {.status = 409, .traits = retryable}).timeout);
  CHECK(classify(rules, "default", {.transport = TransportError::kConnection}).timeout);
}

TEST_CASE("which errors pay the timeout price depends on the SDK") {
  Response timeout, refused;
  timeout.transport = TransportError::kTimeout;
  refused.transport = TransportError::kConnection;
  const Response internal{.status = 500, .code = "InternalError"}, unavailable{.status = 503},
      request_timeout{.status = 400, .code = "RequestTimeout"},
      slow{.status = 503, .code = "SlowDown"};
  struct Row {
    TimeoutClass timeout_class;
    bool timeout, refused, internal, unavailable, request_timeout;
  };
  const Row rows[] = {
      {TimeoutClass::kNone, false, false, false, false, false},
      {TimeoutClass::kNoAnswer, true, false, false, false, false},
      {TimeoutClass::kConnections, true, true, false, false, false},
      {TimeoutClass::kNetworking, true, true, true, false, true},
      {TimeoutClass::kRequestTimeout, false, false, false, false, true},
      {TimeoutClass::kTransient, true, true, true, true, true},
  };
  for (const Row& r : rows) {
    INFO(name(r.timeout_class));
    const ErrorRules rules{.timeout_class = r.timeout_class};
    CHECK(classify(rules, "default", timeout).timeout == r.timeout);
    CHECK(classify(rules, "default", refused).timeout == r.refused);
    CHECK(classify(rules, "default", internal).timeout == r.internal);
    CHECK(classify(rules, "default", unavailable).timeout == r.unavailable);
    CHECK(classify(rules, "default", request_timeout).timeout == r.request_timeout);
    CHECK_FALSE(classify(rules, "default", slow).timeout);  // throttling has its own price
    CHECK_FALSE(classify(rules, "default", {.status = 404}).timeout);
  }
  // Where no code is known, some statuses are timeouts, too.
  const ErrorRules by_status{.timeout_class = TimeoutClass::kRequestTimeout};
  CHECK(classify(by_status, "default", {.status = 504}).timeout);
  CHECK(classify(by_status, "default", {.status = 504, .code = "Unheard"}).timeout);
  CHECK_FALSE(classify(by_status, "default", {.status = 504, .code = "SlowDown"}).timeout);
  CHECK_FALSE(classify(by_status, "default", {.status = 502}).timeout);
  CHECK_FALSE(classify(by_status, "default", {.status = 408}).timeout);  // not retried here
}

TEST_CASE("what a model says of an error goes before its code and status") {
  const auto classified = [](int status, ErrorTraits traits, const char* code = "") {
    return classify({}, "default", {.status = status, .code = code, .traits = traits})
        .response_class;
  };
  CHECK(classified(500, {.retry_safety = RetrySafety::kNo}) == kNotRetryable);
  CHECK(classified(400, {.retry_safety = RetrySafety::kYes}) == kTransient);
  CHECK(classified(400, {.retry_safety = RetrySafety::kYes, .throttling = true}) == kThrottling);
  CHECK(classified(400, {.retry_safety = RetrySafety::kYes, .timeout = true}) ==
        ResponseClass::kTimeout);
  CHECK(classified(400, {.throttling = true}) == kThrottling);
  CHECK(classified(400, {.retry_safety = RetrySafety::kNo}, "SlowDown") == kNotRetryable);
  // Maybe: the side at fault decides.
  CHECK(classified(500, {.retry_safety = RetrySafety::kMaybe}) == kTransient);
  CHECK(classified(400, {.retry_safety = RetrySafety::kMaybe}) == kNotRetryable);
  CHECK(classify({}, "default", {.status = 404}).fault == Fault::kClient);
  CHECK(classify({}, "default", {.status = 503}).fault == Fault::kServer);
  CHECK(classify({}, "default", {}).fault == Fault::kNone);
}

TEST_CASE("the Smithy example retries what may be safe, and a server's error in any case") {
  const ErrorRules rules = find_preset("standard", "smithy", "", "")->rules.errors;
  const auto classified = [&rules](int status, ErrorTraits traits) {
    return classify(rules, "default", {.status = status, .traits = traits});
  };
  CHECK(classified(400, {.retry_safety = RetrySafety::kYes}).response_class == kTransient);
  CHECK(classified(400, {.retry_safety = RetrySafety::kMaybe}).response_class == kTransient);
  CHECK(classified(500, {.retry_safety = RetrySafety::kMaybe}).response_class == kTransient);
  CHECK(classified(400, {.retry_safety = RetrySafety::kMaybe, .throttling = true}).response_class ==
        kThrottling);
  CHECK(classified(400, {.retry_safety = RetrySafety::kNo}).response_class == kNotRetryable);
  // Not safe, but the server's fault: a plain error, whatever else the model says of it.
  for (const bool throttling : {false, true}) {
    const ErrorInfo unsafe = classified(
        500, {.retry_safety = RetrySafety::kNo, .throttling = throttling, .timeout = !throttling});
    CHECK(unsafe.response_class == kTransient);
    CHECK_FALSE(unsafe.timeout);
    CHECK(unsafe.no_retry_after);
  }
  CHECK_FALSE(classified(500, {.retry_safety = RetrySafety::kMaybe}).no_retry_after);
  CHECK_FALSE(classified(500, {}).no_retry_after);
}

TEST_CASE("words name the traits of an error") {
  const auto traits = [](std::string_view word) {
    ErrorTraits result;
    CHECK(add_trait(word, result));
    return result;
  };
  CHECK(traits("retryable") == ErrorTraits{.retry_safety = RetrySafety::kYes});
  CHECK(traits("not-retryable") == ErrorTraits{.retry_safety = RetrySafety::kNo});
  CHECK(traits("maybe-retryable") == ErrorTraits{.retry_safety = RetrySafety::kMaybe});
  CHECK(traits("throttling") == ErrorTraits{.throttling = true});
  CHECK(traits("timeout") == ErrorTraits{.timeout = true});
  CHECK(traits("client-fault") == ErrorTraits{.fault = Fault::kClient});
  CHECK(traits("server-fault") == ErrorTraits{.fault = Fault::kServer});
  ErrorTraits both{.retry_safety = RetrySafety::kYes};
  CHECK(add_trait("throttling", both));  // what was there stays
  CHECK(both == ErrorTraits{.retry_safety = RetrySafety::kYes, .throttling = true});
  CHECK_FALSE(add_trait("Throttling", both));
  CHECK_FALSE(add_trait("", both));
  CHECK(both == ErrorTraits{.retry_safety = RetrySafety::kYes, .throttling = true});
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
