// The keys of [phase.NAME], and resolving it.
//
// SPDX-License-Identifier: MIT
#include "scenario/key_rows.hpp"
#include "scenario/tables.hpp"

#include <utility>

namespace retrysim::scenario {
namespace {

void store_phase_end(const Slots& s, const Value& v) {
  s.to<PhaseEnd>().time = Time::zero() + v.duration;
}

constexpr KeyInfo kPhaseKeys[] = {
    key("start", duration(kNotNegative), into<&PhaseSpec::start>, {.fallback = "0s"},
        "When the phase begins."),
    key("duration", duration(kPositive), into<&PhaseSpec::duration>, {}, "How long it lasts."),
    key("end", duration(kPositive), Access{store_phase_end},
        {.required = true, .when = "duration unset"}, "When it ends."),
};

void resolve_phase(Tables& t, const Member& member, const Node& siblings) {
  PhaseSpec spec;
  spec.name = member.name;
  PhaseEnd end;
  const Slots slots(&spec, &end);
  KeyResolution keys = t.keys_of("phase.*", "phase." + member.name, member, siblings, slots);
  keys.set_missing_message("end", "expected an end or a duration");
  keys.resolve();
  if (end.time) {
    spec.duration = *end.time - spec.start;
    if (spec.duration <= Duration::zero() && keys.has("start")) {
      t.problems.add(keys.place_of("end"),
                     keys.path() + ".end = " + to_text(*end.time - Time::zero()) +
                         " is not after the start of " + to_text(spec.start - Time::zero()));
    }
  }
  t.note_if_late(keys.path(), spec.start, "nothing is measured there");
  t.loaded.scenario.phases.push_back(std::move(spec));
}

}  // namespace

std::span<const KeyInfo> phase_keys() { return kPhaseKeys; }

void resolve_phases(Tables& t) {
  t.for_each("phase", [&](const Member& m, const Node& all) { resolve_phase(t, m, all); });
}

}  // namespace retrysim::scenario
