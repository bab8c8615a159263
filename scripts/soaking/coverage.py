"""Which keys and values random scenarios have used, and which they never did.

SPDX-License-Identifier: MIT
"""

import collections

from soaking import rules
from soaking.vocabulary import base_sdk

COMMANDS = ("run", "compare", "choose", "advise", "sweep", "predict", "tip", "tip --vary",
            "tip --hysteresis", "--twin", "--strict", "--junit", "--annotations", "--set")


class Coverage:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.keys = collections.Counter()  # pattern -> scenarios
        self.values = collections.Counter()  # (pattern, value) -> scenarios
        self.presets = collections.Counter()
        self.releases = collections.Counter()
        self.distributions = collections.Counter()
        self.commands = collections.Counter()

    def add(self, case):
        self.add_keys(case)
        self.commands.update(w for w in case.command if w in COMMANDS and w != "tip")
        if case.command[0] == "tip":
            kinds = [w for w in ("--hysteresis", "--vary") if w in case.command]
            self.commands[" ".join(["tip", *kinds])] += 1
        self.commands["--set"] += bool(case.edits)

    def add_keys(self, case):
        """What the scenario uses, whatever its command."""
        scenario = rules.Scenario(case.keys, self.vocabulary)
        keys, values, presets, releases, forms = set(), set(), set(), set(), set()
        for path, value in case.keys.items():
            key = scenario.key_of(path)
            keys.add(key.pattern)
            if key.kind in ("word", "boolean") or value == key.else_word or \
                    key.also_word and value == key.also_word:
                values.add((key.pattern, str(value).lower()))
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    forms.add((part["distribution"], tuple(k for k in part if k != "distribution")))
            if key.name in ("retry.mode", "retry.sdk"):  # a release has a mode
                presets.add(preset_name(scenario.preset(scenario.split(path)[0])))
            if key.name == "retry.sdk" and value in self.vocabulary.releases:
                releases.add(value)
        self.keys.update(keys)
        self.values.update(values)
        self.presets.update(presets)
        self.releases.update(releases)
        self.distributions.update(forms)

    def uses(self):
        """(what the tables have, by name; its key or None; how many scenarios use it)."""
        for key in self.vocabulary.keys:
            yield key.pattern, key.pattern, self.keys[key.pattern]
            expected = list(key.words) + ([key.else_word] if key.else_word else []) + \
                ([key.also_word] if key.also_word else [])
            if key.kind == "boolean":
                expected += ["true", "false"]
            for word in expected:
                yield f"{key.pattern} = {word}", key.pattern, self.values[key.pattern, word]
        for preset in self.vocabulary.presets:
            name = preset_name(preset)
            yield f"preset {name}", None, self.presets[name]
        for name, parameters in self.vocabulary.distributions:
            yield (f"distribution {name} ({', '.join(parameters)})", None,
                   self.distributions[name, parameters])

    def never(self):
        """What no scenario has used, by name."""
        missing = [name for name, _, count in self.uses() if not count]
        missing += [f"release {name}" for name in self.vocabulary.releases
                    if not self.releases[name]]
        return missing + [f"command {command}" for command in COMMANDS
                          if not self.commands[command]]

    def table(self):
        """Lines: how many scenarios used each key, value, preset, distribution and command."""
        lines = ["Scenarios that used each key, and values of it:"]
        for key in self.vocabulary.keys:
            words = [f"{value} {n}" for (pattern, value), n in sorted(self.values.items())
                     if pattern == key.pattern]
            detail = f"  ({', '.join(words)})" if words else ""
            lines.append(f"  {self.keys[key.pattern]:6} {key.pattern}{detail}")
        for title, counts in (("Presets", self.presets), ("Releases", self.releases),
                              ("Commands", self.commands),
                              ("Distributions", {f"{name} {' '.join(parameters)}": n for
                                                 (name, parameters), n in
                                                 self.distributions.items()})):
            lines.append(f"{title}: " + ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
        return lines


def preset_name(preset):
    if preset is None:
        return "?"
    sdk = base_sdk(preset.sdk)
    return "/".join(part or "-" for part in (preset.mode, preset.revision, sdk, preset.api))
