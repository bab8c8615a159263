"""The command lines that run random scenarios, and the scenario files as text.

SPDX-License-Identifier: MIT
"""

import dataclasses
import re

from soaking import rules

# The guard against endless loops is the program's own.
MOST_EVENTS = 30_000
VARIED_KINDS = ("word", "number", "count", "duration", "boolean")
# A word of a command that stands for the folder of its results.
OUT = "{out}"
JUNIT = "junit.xml"
# What decides about other keys, or about where results go.
NOT_VARIED = ("retry.mode", "arrivals.process", "model")
TRIGGERS = ("fault.*.duration", "fault.*.capacity", "fault.*.speed", "client.*.arrivals.rate",
            "client.*.arrivals.total_rate", "client.*.surge.*.factor",
            "client.*.surge.*.duration", "service.*.servers")


def toml(value):
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return repr(value)


def dotted(path):
    """A path as it is written: service.s0.errors."503:SlowDown"."""
    return ".".join(p if re.fullmatch(r"[\w-]+", p) else toml(p) for p in path)


def table_of(path):
    """The table that a key is written in; what follows it is a dotted key."""
    parts = 4 if len(path) > 4 and path[2] in ("calls", "surge", "operation") else 2
    if path[0] == "network" or path[0] == "recovery" or len(path) < 3:
        return ()
    return path[:parts]


def scenario_text(case):
    """The scenario file: without the keys that are given on the command line."""
    tables = {(): []}
    for path, value in case.keys.items():
        if path not in case.edits:
            table = table_of(path)
            line = f"{dotted(path[len(table):])} = {toml(value)}"
            tables.setdefault(table, []).append(line)
    lines = tables.pop(())
    for table, keys in tables.items():
        lines += ["", f"[{dotted(table)}]", *keys]
    return "\n".join(lines) + "\n"


def arguments(case, scenario, out, jobs):
    """The command line after the program, for a scenario file and a folder of results."""
    words = [word.replace(OUT, str(out)) for word in case.command[1:]]
    result = [case.command[0], str(scenario), *words, "--out", str(out)]
    for path in case.edits:
        if path in case.keys:
            result += ["--set", f"{dotted(path)}={toml(case.keys[path])}"]
    if case.command[0] == "predict":  # which simulates nothing
        return result
    return result + ["--jobs", str(jobs), "--no-progress", "--no-reuse", "--max-events",
                     str(MOST_EVENTS)]


def choose(generator):
    """Gives the case of a generator its command line."""
    draw, case = generator.random, generator.case
    command = draw.choices(["run", "choose", "compare", "sweep", "tip", "predict", "advise"],
                           [69, 4, 8, 7, 7, 3, 2])[0]
    case.command = ("run", "--fingerprint")
    if case.keys.get(("warmup",)) == "auto" and command in ("choose", "sweep", "tip"):
        command = "run"  # those want a warm-up that is given
    if command == "choose" and case.keys.get(("replications",), 20) < 2:
        command = "run"  # one replication says nothing of the variance
    if command == "run":
        if draw.random() < 0.15:
            case.command += ("--twin",)
        for option in (("--strict",), ("--junit", f"{OUT}/{JUNIT}"), ("--annotations", "github")):
            if draw.random() < 0.1:
                case.command += option
    elif command in ("predict", "advise"):
        case.command = (command,)
    elif command == "tip":
        choose_search(generator)
    elif varied := choose_varied(generator, VARIED_KINDS, lambda key: key.scope and
                                 key.name not in NOT_VARIED):
        path, values = varied
        text = ",".join(toml(v) for v in values)
        case.command = (command, "--vary", f"{dotted(path)}={text}")
        if command == "choose":
            case.command += ("--maximize", "goodput", "--indifference", "1000",
                             "--subject-to", "success_rate>=0.5+-0.5", "--max-replications",
                             "4")
        if command == "compare" and draw.random() < 0.3:
            case.command += ("--twin",)
    case.command += ("--format", draw.choice(["table", "csv", "json"]))
    if draw.random() < 0.2:
        paths = [p for p in case.keys if len(p) > 1 and p[-1] != "like"]
        case.edits = tuple(draw.sample(paths, min(len(paths), draw.choice([1, 2, 3]))))


def choose_search(generator):
    """A search for a tipping point, at times at several values of another key, or a loop."""
    draw, case = generator.random, generator.case
    rates = [path for path in case.keys if path[0] == "client" and
             path[-2:] in (("arrivals", "rate"), ("arrivals", "total_rate")) and
             (*path[:2], "like") not in case.keys and
             (*path[:2], "arrivals", "profile") not in case.keys]  # whose rate is the profile's
    if rates and draw.random() < 0.15:
        # Half of a step is measured, in whole bins.
        dwell = rules.seconds(generator.scenario.get((), "interval")) * draw.choice([4, 5.5, 20])
        case.command = ("tip", "--hysteresis", f"{dotted(draw.choice(rates))}=1:4:3",
                        "--dwell", f"{dwell:.9f}")
        return
    found = choose_varied(generator, ("number", "count", "duration"),
                          lambda key: key.pattern in TRIGGERS)
    if not found:
        return
    trigger, (low, high) = found
    case.command = ("tip", "--trigger", f"{dotted(trigger)}={low}:{high}", "--tolerance", "0.5")
    if draw.random() < 0.5:
        return
    at_low, at_high = ({**case.keys, trigger: value} for value in (low, high))
    varied = choose_varied(generator, VARIED_KINDS, lambda key: key.scope and
                           key.name not in NOT_VARIED, [at_low, at_high])
    if varied and varied[0] != trigger:
        path, values = varied
        case.command += ("--vary", f"{dotted(path)}={','.join(toml(v) for v in values)}")


def choose_varied(generator, kinds, is_candidate, others=()):
    """A key that the scenario gives, and two different values that keep it valid; or None. With
    `others`, sets of keys, they keep those valid, too."""
    case, scenario = generator.case, generator.scenario
    candidates = []
    for path in case.keys:
        prefix, _, _ = scenario.split(path)
        key = scenario.key_of(path)
        if key.kind in kinds and is_candidate(key) and (*prefix, "like") not in case.keys:
            candidates.append((path, prefix, key))
    generator.random.shuffle(candidates)
    for path, prefix, key in candidates[:10]:
        values = [generator.draw_of_kind(prefix, key) for _ in range(2)]
        if len({str(v) for v in values}) == 2 and all(keeps_valid(generator, path, v, others)
                                                      for v in values):
            return path, values
    return None


def keeps_valid(generator, path, value, others=()):
    case = generator.case
    return all(rules.is_valid(dataclasses.replace(case, keys={**keys, path: value}),
                              generator.vocabulary) for keys in (case.keys, *others))
