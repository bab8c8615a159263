// Which answers may be retried, and what they are, by the tables of error_tables.cpp.
//
// SPDX-License-Identifier: MIT
#include <retrysim/response.hpp>

#include "retry/error_tables.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <span>

namespace retrysim {
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

/// Whether a code has `part`, which is lower case, in it, in any case.
bool has_in_it(std::string_view code, std::string_view part) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(code.begin(), code.end(), part.begin(), part.end(), same) != code.end();
}

/// Whether new credentials may help, and can be had.
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

/// Of statuses that mean the same whatever the code; kNotRetryable for all others.
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
  if (response.status == 429 || contains(table.statuses_like_429, response.status)) {
    return !api.empty() && api == table.api_without_429 ? ResponseClass::kNotRetryable
                                                        : class_of_429(rules.status_429);
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
    if (response.traits.fault) info.fault = *response.traits.fault;
    const auto modelled = class_by_traits(rules.classifier, response.traits, info.fault);
    info.response_class = modelled ? *modelled : class_by_table(rules, api, response);
  }
  // What is retried for the server's fault alone is so without a look at the rest.
  info.no_retry_after =
      response.traits.retry_safety == RetrySafety::kNo ||
      (rules.classifier == Classifier::kGoV1 && response.status != 429 && response.status != 503);
  info.timeout = info.retryable() && pays_timeout_price(rules, api, response, info.response_class);
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
