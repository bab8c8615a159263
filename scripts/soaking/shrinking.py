"""Makes a failing random scenario small while it keeps failing in the same way.

SPDX-License-Identifier: MIT
"""

import dataclasses

# Enough for some two hundred keys; each takes as long as the scenario.
MOST_TRIALS = 400


def groups_of(keys):
    """Sets of keys that may go together, the largest first: tables, then their parts, then keys."""
    groups = {}
    for path in keys:
        for length in range(1, len(path) + 1):
            groups.setdefault(path[:length], []).append(path)
    return sorted({tuple(members) for members in groups.values()}, key=len, reverse=True)


def simpler_values(value):
    """Values to try instead of a complicated one."""
    if isinstance(value, dict):
        return ["10ms"]
    if isinstance(value, list) and len(value) > 1:
        return [value[:1], value[1:]]
    return []


class Shrinker:
    """`fails(case)` tells whether a smaller case still fails in the same way."""

    def __init__(self, case, fails, most_trials=MOST_TRIALS):
        self.case = case
        self.fails = fails
        self.trials_left = most_trials

    def shrink(self):
        changed = True
        while changed and self.trials_left > 0:
            changed = self.simplify_command()
            changed = self.drop_keys() or changed
            changed = self.simplify_values() or changed
        return self.case

    def take(self, **changes):
        """Takes a smaller case if it fails as well."""
        if self.trials_left <= 0:
            return False
        self.trials_left -= 1
        smaller = dataclasses.replace(self.case, **changes)
        if not self.fails(smaller):
            return False
        used = str(list(smaller.keys.values()))
        smaller.files = {name: text for name, text in smaller.files.items() if name in used}
        smaller.edits = tuple(path for path in smaller.edits if path in smaller.keys)
        self.case = smaller
        return True

    def simplify_command(self):
        changed = bool(self.case.edits) and self.take(edits=())
        changed = bool(self.case.environment) and self.take(environment={}) or changed
        if self.case.command != ("run",):
            changed = self.take(command=("run",)) or changed
        if "--vary" in self.case.command and self.case.command[0] == "tip":
            at = self.case.command.index("--vary")
            command = self.case.command[:at] + self.case.command[at + 2:]
            changed = self.take(command=command) or changed
        for option in self.case.command[1:]:
            if option in ("--twin", "--fingerprint", "--strict"):
                command = tuple(word for word in self.case.command if word != option)
                changed = self.take(command=command) or changed
            if option in ("--junit", "--annotations"):
                at = self.case.command.index(option)
                command = self.case.command[:at] + self.case.command[at + 2:]
                changed = self.take(command=command) or changed
        return changed

    def drop_keys(self):
        changed = False
        for group in groups_of(self.case.keys):
            gone = set(group) & set(self.case.keys)
            if not gone or len(gone) == len(self.case.keys):
                continue
            kept = {path: value for path, value in self.case.keys.items() if path not in gone}
            changed = self.take(keys=kept) or changed
        return changed

    def simplify_values(self):
        changed = False
        for path, value in list(self.case.keys.items()):
            for simple in simpler_values(value):
                if self.take(keys={**self.case.keys, path: simple}):
                    changed = True
                    break
        return changed


def shrink(case, fails, most_trials=MOST_TRIALS):
    """The smallest case found that `fails`; `case` itself is one."""
    return Shrinker(case, fails, most_trials).shrink()
