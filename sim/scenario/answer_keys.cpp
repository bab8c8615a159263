// The keys of [service.NAME] that say what it answers to attempts which it does not serve, and how
// much of single operations and keys its throttle lets pass.
//
// SPDX-License-Identifier: MIT
#include "scenario/key_rows.hpp"

namespace retrysim::scenario {
namespace {

constexpr KeyInfo kAnswerKeys[] = {
    key("answers.throttled", text(), kNowhere, {.when = "throttle.rate != unlimited"},
        "What the throttle answers instead of 400:ThrottlingException, written as for retrysim "
        "strategy: a status, perhaps a code, what the service's model says about the error, and a "
        "delay that it suggests, as in \"503:SlowDown+throttling+retry-after=2s\"."),
    key("answers.overflow", text(), kNowhere, {.when = "overflow != drop"},
        "What a full queue answers, written in the same way; it replaces the answer that overflow "
        "names."),
    key("answers.limit", text(), kNowhere,
        {.when = "overflow != drop", .idle_when = "concurrency.limit = unlimited"},
        "What an attempt beyond the limit on concurrency is answered, if not the same as by a full "
        "queue."),
    key("answers.shed", text(), kNowhere,
        {.when = "queue.discipline = codel", .idle_when = "overflow = drop"},
        "What an attempt that codel sheds is answered, if not the same as by a full queue."),
    key("answers.timeout", text(), kNowhere, {.when = "timeout != none"},
        "What is answered when timeout expires, instead of 504:GatewayTimeout."),
    key("answers.call_failed", text(), kNowhere, {},
        "What an attempt is answered for which a call to another service has failed, instead of "
        "503:ServiceUnavailable."),
    key("answers.conflict", text(), kNowhere, {.when = "model = occ"},
        "What a write is answered that another one has overtaken, instead of "
        "503:TransactionConflictException."),
};

constexpr KeyInfo kLimitKeys[] = {
    key("rate", number(kPositive).or_word("unlimited").in("1/s"), into<&ThrottleLimit::rate>,
        {.required = true}, "The rate of this operation or key, instead of throttle.rate."),
    key("burst", number(kAtLeastOne).in("tokens"), into<&ThrottleLimit::burst>,
        {.when = "rate != unlimited"},
        "Capacity of its bucket; if not given, that of throttle.burst."),
    key("window", duration(kPositiveRunLength).or_word("none"),
        Access{[](const Slots& s, const Value& v) {
          s.to<ThrottleLimit>().window = v.is_else_word ? Duration::zero() : v.duration;
        }},
        {.when = "rate != unlimited"},
        "Length of its windows; if not given, that of throttle.window."),
};

}  // namespace

std::span<const KeyInfo> answer_keys() { return kAnswerKeys; }

std::span<const KeyInfo> throttle_limit_keys() { return kLimitKeys; }

}  // namespace retrysim::scenario
