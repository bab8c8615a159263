// The answer to an attempt, and how a client classifies it. The class decides whether the attempt
// may be retried, what the retry costs and which backoff base applies.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// The class of one attempt's result, as the client sees it.
enum class ResponseClass : std::uint8_t {
  kSuccess,
  kThrottling,    ///< the service asks for less load
  kTransient,     ///< a server or connection error that may pass
  kTimeout,       ///< no answer in time: transient, but its retry may cost more quota
  kNotRetryable,  ///< retrying cannot help
};
template <>
inline constexpr std::string_view kWords<ResponseClass> =
    "success|throttling|transient|timeout|not_retryable";
static_assert(words_end_with(ResponseClass::kNotRetryable));

/// How the exchange itself ended; anything but `kNone` means that there is no HTTP response.
enum class TransportError : std::uint8_t {
  kNone,
  kTimeout,     ///< no connection, or no whole response, in time
  kConnection,  ///< connection refused or broken
  // The client itself has not sent the attempt.
  kNoConnection,  ///< none of its connections became free in time
  kBulkheadFull,  ///< too many of its attempts were under way
  kNotPermitted,  ///< its limit on the send rate
};

/// Whether an error may be retried, as in the Smithy reference's retry interface.
enum class RetrySafety : std::uint8_t {
  kYes,
  kNo,
  kMaybe,  ///< not known: SDKs go by the side at fault, the Smithy example retries
};

/// Whose fault an error is.
enum class Fault : std::uint8_t { kNone, kClient, kServer };

/// The traits that a service's Smithy model gives one of its errors (`retryable`, with
/// `throttling`, and `error`). They override every rule about codes and statuses; only the Smithy
/// example retries a server's error even if that is not safe.
struct ErrorTraits {
  std::optional<RetrySafety> retry_safety = {};
  bool throttling = false;
  bool timeout = false;
  std::optional<Fault> fault = {};  ///< else that of the server from status 500 on

  bool operator==(const ErrorTraits&) const = default;
};

/// Adds the trait that one word names: `retryable`, `not-retryable`, `maybe-retryable`,
/// `throttling`, `timeout`, `client-fault`, `server-fault`. False if it is none of them.
bool add_trait(std::string_view word, ErrorTraits& traits);

/// The answer to one attempt: HTTP status with an optional error code, or a transport error.
struct Response {
  int status = 200;
  /// Error code of the service, such as "ThrottlingException"; may be empty.
  std::string code = {};
  TransportError transport = TransportError::kNone;
  /// Server-suggested delay (header x-amz-retry-after, milliseconds), if valid.
  std::optional<Duration> retry_after = {};
  ErrorTraits traits = {};
};

/// Whose table of retryable errors applies. See sim/retry/README.md for the tables.
enum class Classifier : std::uint8_t {
  kStandard,        ///< the SDK reference page; botocore's standard and adaptive modes
  kBotocoreLegacy,  ///< requires a code together with its status
  kJavaV1,
  kJavaV2,
  kJsV2,
  kJsV3,
  kDotnetLegacy,
  kRuby,
  kSmithy,        ///< the reference design: retry safety, then the side at fault
  kJavaV2Of2026,  ///< the AWS SDK for Java 2.x under revision 2.1
  kCpp,
  kGoV1,
  kGoV2,        ///< the reference page, with additions by clients of single services
  kUrllib3,     ///< 413, 429 and 503 that suggest a delay, and nothing else
  kRustOf2025,  ///< the reference page; a suggested delay counts only with a known code
  kSwift,
  kSmithyPython,  ///< what the model calls retryable, timeouts, and a 408 or 429 without a model
};
template <>
inline constexpr std::string_view kWords<Classifier> =
    "standard|botocore-legacy|java-v1|java-v2|js-v2|js-v3|dotnet-legacy|ruby|smithy|java-v2-2026|"
    "cpp|go-v1|go-v2|urllib3|rust-2025|swift|smithy-python";
static_assert(words_end_with(Classifier::kSmithyPython));

/// Which errors pay the quota's timeout price.
enum class TimeoutClass : std::uint8_t {
  kNone,
  kNoAnswer,     ///< no connection or no answer in time
  kConnections,  ///< every transport error: the above, refused and broken connections
  /// Every transport error, RequestTimeout(Exception), InternalError, IDPCommunicationError; also
  /// where the status says throttling.
  kNetworking,
  /// Codes RequestTimeout(Exception); where no known code decides, status 408, 419, 440, 504,
  /// 598 or 599.
  kRequestTimeout,
  kTransient,  ///< every transient error, 5xx among them
  kListed,     ///< the same, without errors known only from their traits
  /// No connection or no answer in time, and status 408 or 504 except with a throttling code; for
  /// classifier `kSmithyPython` also except with traits.
  kStatuses,
};
template <>
inline constexpr std::string_view kWords<TimeoutClass> =
    "none|no-answer|connections|networking|request-timeout|transient|listed|statuses";
static_assert(words_end_with(TimeoutClass::kStatuses));

/// The meaning of a status 429 without a code of the table; for classifier `kCpp` also 509.
enum class Status429 : std::uint8_t { kThrottling, kNotRetryable, kTransient };
template <>
inline constexpr std::string_view kWords<Status429> = "throttling|not-retryable|transient";
static_assert(words_end_with(Status429::kTransient));

/// Some of the errors that an attempt can end with.
struct ErrorPattern {
  enum class Of : std::uint8_t {
    kAny,
    kStatus,      ///< an answer with `status`, and with `code` if that is not empty
    kHundred,     ///< an answer with a status from 100 x `status` on: 5 for 500 to 599
    kCode,        ///< an answer with `code`, whatever its status
    kThrottled,   ///< what the table of the classifier takes for throttling
    kTimeout,     ///< no connection, or no whole answer, in time
    kConnection,  ///< connection refused or broken
    kNoConnection,
    kBulkheadFull,
    kNotPermitted,
  };

  Of of = Of::kAny;
  int status = 0;
  std::string code = {};

  bool operator==(const ErrorPattern&) const = default;
};

/// Reads "any", "503", "5xx", "SlowDown", "503:SlowDown", "throttled", "timeout", "connection",
/// "no-connection", "bulkhead-full" or "not-permitted";
/// "internal" is 500 and "unavailable" 503. Statuses go from 400 to 599. A code is a word of
/// letters, digits and . _ - that begins with a capital letter. Nothing if it is none of these.
std::optional<ErrorPattern> parse_error_pattern(std::string_view text);

/// The base of the backoff after some errors.
struct ErrorBase {
  ErrorPattern after;
  Duration base;

  bool operator==(const ErrorBase&) const = default;
};

/// How the errors of one group of clients are classified.
struct ErrorRules {
  Classifier classifier = Classifier::kStandard;
  TimeoutClass timeout_class = TimeoutClass::kNoAnswer;
  Status429 status_429 = Status429::kNotRetryable;
  /// Whether the client can fetch new credentials: only then does classifier `kRuby` retry errors
  /// that report expired ones.
  bool refreshable_credentials = false;
  /// If not empty, these errors are retried and no others. One that is final by the table becomes
  /// a transient error, or throttling if its status is 429.
  std::vector<ErrorPattern> on = {};
  std::vector<ErrorPattern> not_on = {};  ///< these are final, also where `on` has them
  std::vector<ErrorBase> bases = {};      ///< the first that fits replaces the base of the backoff

  static constexpr std::size_t kMaxBases = 127;
};

/// How a client has classified one answer.
struct ErrorInfo {
  ResponseClass response_class = ResponseClass::kSuccess;
  bool timeout = false;  ///< its retry pays the timeout price
  Fault fault = Fault::kNone;
  bool no_retry_after : 1 = false;  ///< a delay that the service suggests with it is ignored
  /// Which of `ErrorRules::bases` is the base of the backoff after it, counted from 1; 0: none.
  std::uint8_t own_base : 7 = 0;

  bool success() const { return response_class == ResponseClass::kSuccess; }
  bool retryable() const {
    return response_class != ResponseClass::kSuccess &&
           response_class != ResponseClass::kNotRetryable;
  }
};

/// Whether the pattern has this error, which is of this class by the table of the classifier.
bool matches(const ErrorPattern& pattern, const Response& response, ResponseClass by_table);

/// Classifies by the error's modelled traits first, then its code, then HTTP status; a transport
/// error has none of these. The lists of `rules` come last and have the last word. `api` selects
/// the additions of one service ("default" for none). Only a missing answer, or an error modelled
/// as a timeout, is `kTimeout`; a refused or broken connection is `kTransient`, for classifier
/// `kSmithyPython` final. What the client itself has not sent is `kTransient`. A status of 2xx
/// without an error code is a success.
ErrorInfo classify(const ErrorRules& rules, std::string_view api, const Response& response);

/// The delay that an x-amz-retry-after header suggests: a whole number of milliseconds, not
/// negative. Anything else counts as no suggestion, as in the SDKs.
std::optional<Duration> parse_retry_after(std::string_view header);

}  // namespace retrysim
