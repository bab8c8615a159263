// SPDX-License-Identifier: MIT
#include "scenario/service_answers.hpp"

#include "scenario/suggestions.hpp"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim {

ServiceAnswers answers_of(const ServiceSpec& service) {
  const ServiceAnswer unavailable{{503, "ServiceUnavailable"}};
  const OwnAnswers& own = service.answers;
  ServiceAnswers a;
  a.throttled = own.throttled.value_or(ServiceAnswer{{400, "ThrottlingException"}});
  const Duration suggested = service.throttle.retry_after;
  if (!a.throttled.retry_after && suggested > Duration::zero()) a.throttled.retry_after = suggested;
  switch (service.rejection.overflow) {
    case Overflow::kThrottled:
      a.overflow = a.throttled;
      break;
    case Overflow::kInvalid:
      a.overflow = {{400, "ValidationException"}};
      break;
    case Overflow::kUnavailable:
    case Overflow::kDrop:
      a.overflow = unavailable;
      break;
  }
  a.overflow = own.overflow.value_or(a.overflow);
  a.limit = own.limit.value_or(a.overflow);
  a.shed = own.shed.value_or(a.overflow);
  a.timeout = own.timeout.value_or(ServiceAnswer{{504, "GatewayTimeout"}});
  a.call_failed = own.call_failed.value_or(unavailable);
  a.conflict = own.conflict.value_or(ServiceAnswer{{503, "TransactionConflictException"}});
  return a;
}

namespace scenario {
namespace {

constexpr std::string_view kRetryAfter = "retry-after=";

struct AnswerKey {
  std::string_view name;
  std::optional<ServiceAnswer> OwnAnswers::*answer;
};
constexpr AnswerKey kAnswers[] = {
    {"answers.throttled", &OwnAnswers::throttled},
    {"answers.overflow", &OwnAnswers::overflow},
    {"answers.limit", &OwnAnswers::limit},
    {"answers.shed", &OwnAnswers::shed},
    {"answers.timeout", &OwnAnswers::timeout},
    {"answers.call_failed", &OwnAnswers::call_failed},
    {"answers.conflict", &OwnAnswers::conflict},
};

// The header has whole milliseconds.
std::string read_retry_after(std::string_view text, ServiceAnswer& answer) {
  const auto written = parse_duration(text);
  if (!written || written->duration.count() % 1'000'000 != 0) {
    return "in " + in_quotes(std::string(kRetryAfter) + std::string(text)) +
           " expected a whole number of milliseconds with a unit, such as 1500ms or 2s";
  }
  answer.retry_after = written->duration;
  return "";
}

std::string read_addition(std::string_view word, ServiceAnswer& answer) {
  if (add_trait(word, answer.error.traits)) return "";
  if (word.starts_with(kRetryAfter)) {
    return read_retry_after(word.substr(kRetryAfter.size()), answer);
  }
  const std::vector<std::string_view> known = {"retryable",    "not-retryable", "maybe-retryable",
                                               "throttling",   "timeout",       "client-fault",
                                               "server-fault", "retry-after=2s"};
  return "unknown addition " + in_quotes(std::string(word)) + "; " +
         suggestion(word, known, "known are");
}

}  // namespace

std::variant<ServiceAnswer, std::string> parse_service_answer(std::string_view text) {
  std::size_t plus = std::min(text.find('+'), text.size());
  const auto error = parse_error_answer(text.substr(0, plus));
  if (!error) {
    return "expected a status from 400 to 599, perhaps with a code and additions, such as 429, "
           "\"503:SlowDown\" or \"400:Busy+retryable+retry-after=2s\"";
  }
  ServiceAnswer answer{*error};
  while (plus < text.size()) {
    const std::size_t begin = plus + 1;
    plus = std::min(text.find('+', begin), text.size());
    std::string wrong = read_addition(text.substr(begin, plus - begin), answer);
    if (!wrong.empty()) return wrong;
  }
  return answer;
}

void read_answers(Tables& t, const KeyResolution& keys, ServiceSpec& spec) {
  for (const AnswerKey& key : kAnswers) {
    if (!keys.has(key.name)) continue;
    const std::string text(keys.text_of(key.name));
    auto read = parse_service_answer(text);
    if (const auto* wrong = std::get_if<std::string>(&read)) {
      t.problems.add(keys.place_of(key.name),
                     keys.full_path(key.name) + " = " + in_quotes(text) + ": " + *wrong);
    } else {
      spec.answers.*key.answer = std::get<ServiceAnswer>(std::move(read));
    }
  }
  const bool suggests_twice = spec.answers.throttled && spec.answers.throttled->retry_after &&
                              spec.throttle.retry_after > Duration::zero();
  if (!suggests_twice) return;
  t.problems.add(keys.place_of("answers.throttled"),
                 keys.full_path("answers.throttled") + " and " +
                     keys.full_path("throttle.retry_after") +
                     " both suggest a delay; expected one of them");
}

}  // namespace scenario
}  // namespace retrysim
