// SPDX-License-Identifier: MIT
#include "scenario/workload_keys.hpp"

#include <cstdint>

namespace retrysim::scenario {
namespace {

constexpr std::string_view kOnOff = "arrivals.process = on-off";
constexpr std::string_view kPoll = "arrivals.process = poll";
constexpr Range kPositive{.min = 0, .above_min = true};
constexpr Range kNotNegative{.min = 0};

const KeyInfo kBurstAndPollKeys[] = {
    {"arrivals.on", ValueRules{ValueKind::kDistribution, {}, {}, {}}, "s", "", true, kOnOff,
     "Length of a burst.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.on = v.distribution;
       s.arrivals->has_on = true;
     }},
    {"arrivals.off", ValueRules{ValueKind::kDistribution, {}, {}, {}}, "s", "", true, kOnOff,
     "Length of the pause after it. rate is the mean over both: during a burst the rate is rate * "
     "(on + off) / on.",
     [](const Slots& s, const Value& v) { s.client->arrivals.off = v.distribution; }},
    {"arrivals.job_time", ValueRules{ValueKind::kDistribution, {}, {}, {}}, "s", "", true, kPoll,
     "How long a job takes. rate counts jobs; each is checked until it is done, or given up at the "
     "first check that ends with anything but success or a throttling error.",
     [](const Slots& s, const Value& v) { s.client->arrivals.job_time = v.distribution; }},
    {"arrivals.base", ValueRules{ValueKind::kDuration, kPositive, {}, {}}, "s", R"("100ms")", false,
     kPoll, "Pause before the first check of a job.",
     [](const Slots& s, const Value& v) { s.client->arrivals.poll.base = v.duration; }},
    {"arrivals.factor", ValueRules{ValueKind::kNumber, {.min = 1, .max = 1e6}, {}, {}}, "", "2.0",
     false, kPoll, "Growth of the pause from check to check.",
     [](const Slots& s, const Value& v) { s.client->arrivals.poll.factor = v.number; }},
    {"arrivals.cap", ValueRules{ValueKind::kDuration, kPositive, {}, "none"}, "s", R"("none")",
     false, kPoll, "Longest pause between checks.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.poll.cap = v.is_else_word ? Duration::max() : v.duration;
     }},
    {"arrivals.jitter", ValueRules{ValueKind::kWord, {}, "none|full|equal|decorrelated", {}}, "",
     R"("none")", false, kPoll, "How the pause is spread at random.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.poll.jitter = static_cast<Jitter>(v.word);
     }},
    {"arrivals.max_checks", ValueRules{ValueKind::kCount, {.min = 1, .max = 1e6}, {}, "unlimited"},
     "", R"("unlimited")", false, kPoll, "Checks after which a job is given up.",
     [](const Slots& s, const Value& v) {
       s.client->arrivals.poll.max_checks =
           v.is_else_word ? PollSpec::kUnlimited : static_cast<std::uint32_t>(v.count);
     }},
};

const KeyInfo kOperationKeys[] = {
    {"share", ValueRules{ValueKind::kNumber, kPositive, {}, {}}, "", "", true, "",
     "How much of the group's requests are of this kind, relative to its other operations.",
     [](const Slots& s, const Value& v) { s.operation->share = v.number; }},
    {"work", ValueRules{ValueKind::kNumber, {.min = 0, .max = 1e6}, {}, {}}, "", "1.0", false, "",
     "Factor on the service time of their attempts.",
     [](const Slots& s, const Value& v) { s.operation->work = v.number; }},
};

const KeyInfo kSurgeKeys[] = {
    {"start", ValueRules{ValueKind::kDuration, kNotNegative, {}, {}}, "s", "", true, "",
     "When the surge begins.",
     [](const Slots& s, const Value& v) { s.surge->start = Time::zero() + v.duration; }},
    {"duration", ValueRules{ValueKind::kDuration, kPositive, {}, {}}, "s", "", true, "",
     "How long it lasts.", [](const Slots& s, const Value& v) { s.surge->duration = v.duration; }},
    {"factor", ValueRules{ValueKind::kNumber, kNotNegative, {}, {}}, "", "", true, "",
     "Factor on the arrival rate.",
     [](const Slots& s, const Value& v) { s.surge->factor = v.number; }},
};

}  // namespace

std::span<const KeyInfo> burst_and_poll_keys() { return kBurstAndPollKeys; }

std::span<const KeyInfo> operation_keys() { return kOperationKeys; }

std::span<const KeyInfo> surge_keys() { return kSurgeKeys; }

}  // namespace retrysim::scenario
