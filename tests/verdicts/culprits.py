#!/usr/bin/env python3
"""Compares the first line of graphs of services with the law of the case and the raw time series.

Each scenario is drawn at random: three to six services, of which each is healthy with room to
spare, two groups of users, and one trouble at one service. That this service is the culprit follows
from how the scenario is drawn:

  fault     it has fewer servers than it needs, or none; cannot be reached; answers with errors; is
            slow; is far away; does not answer
  overload  it has fewer servers than its own work needs, all the time
  surge     the users come so often that this service, and no other, is out of capacity
  throttle  it lets less pass than it is asked for
  pool      the connections for its calls are too few, all the time
  nothing   no service has any trouble

What users lose is judged from timeseries.csv alone: of each group the share of requests that fail
in the time of trouble, and the time that they take, by Little's law. The first line has to name the
culprit, and of each group whether it loses anything; its percentages have to be right.

Usage: culprits.py --program PROGRAM [--scenarios 60] [--seed 1] [--table] [--loops]
"""
# SPDX-License-Identifier: MIT

import argparse
import csv
import json
import math
import random
import re
import sys
import tempfile

from first_line import BIN_S, simulate

TROUBLES = ("few servers", "no servers", "unreachable", "errors", "slow", "far", "silent",
            "overload", "surge", "throttle", "pool", "nothing")


class Case:
    """A drawn scenario and what follows from it."""

    def __init__(self, rng, loops):
        self.start, self.end, self.stop = 20, 35, 60
        self.trouble = rng.choice(TROUBLES if not loops else
                                  [t for t in TROUBLES if t != "surge"])
        self.disturbed = self.trouble not in ("overload", "throttle", "pool", "nothing")
        self.rates = {"shop": rng.choice([40, 60]), "search": rng.choice([20, 40])}
        # shop calls front, which calls one or two; search has its own front or shares that.
        names = ["front", "api", "db"] + rng.sample(["cache", "side", "ads"], rng.choice([0, 1, 2]))
        self.calls = {name: [] for name in names}
        self.calls["front"], self.calls["api"] = ["api"], ["db"]
        for name in names[3:]:
            self.calls[rng.choice(["front", "api"])].append(name)
        self.entries = {"shop": "front", "search": "front"}
        if rng.random() < 0.6:
            self.entries["search"] = "find"
            self.calls["find"] = rng.choice([[], ["index"], ["db"]])
            for below in self.calls["find"]:
                self.calls.setdefault(below, [])
        if self.trouble == "pool":
            self.culprit = rng.choice([name for name, below in self.calls.items() if below])
        elif self.trouble == "nothing":
            self.culprit = None
        else:
            self.culprit = rng.choice(list(self.calls))
        self.mean_ms = {name: rng.choice([4, 8, 10, 20]) for name in self.calls}
        self.asked = {name: 0.0 for name in self.calls}
        for group, entry in self.entries.items():
            self.ask(entry, self.rates[group])
        self.held_ms = {}
        for name in self.calls:
            self.hold(name)
        # A surge is felt where there is least room.
        self.factor = 4
        self.servers, self.queues = {}, {}
        for name in self.calls:
            need = self.asked[name] * self.held_ms[name] / 1000
            load = rng.choice([0.1, 0.15])
            self.servers[name] = math.ceil(max(need / load, 4))
            if self.trouble in ("surge", "overload") and name == self.culprit:
                # Its own work alone is too much for it, with any other service idle.
                most = need * (self.factor if self.trouble == "surge" else 1)
                self.servers[name] = max(1, math.floor(most / rng.choice([1.5, 2])))
            self.queues[name] = rng.choice(['"unlimited"', 10 * self.servers[name]])
        if self.trouble in ("surge", "overload"):
            own = self.servers[self.culprit]
            self.right = (self.asked[self.culprit] * self.held_ms[self.culprit] / 1000
                          * (self.factor if self.trouble == "surge" else 1) > 1.3 * own)
            if self.trouble == "surge":
                usual = self.asked[self.culprit] * self.held_ms[self.culprit] / 1000
                self.right &= usual < 0.9 * own
        else:
            self.right = True
        self.retry = {name: self.sender(rng) for name in
                      list(self.calls) + list(self.entries)}
        self.seed, self.replications = rng.randrange(1_000_000), rng.choice([1, 3])
        self.loops, self.rng = loops, rng
        self.fault = self.draw_fault(rng)

    def ask(self, name, rate):
        self.asked[name] += rate
        for below in self.calls[name]:
            self.ask(below, rate)

    def hold(self, name):
        if name not in self.held_ms:
            self.held_ms[name] = self.mean_ms[name] + sum(self.hold(b) for b in self.calls[name])
        return self.held_ms[name]

    @staticmethod
    def sender(rng):
        retry = rng.choice(['mode = "none"', 'mode = "none"', 'mode = "standard"',
                            'mode = "custom", max_attempts = 2, backoff = { base = "20ms" }'])
        return f'attempt_timeout = "{rng.choice([1, 2])}s"\nretry = {{ {retry} }}\n'

    def draw_fault(self, rng):
        if not self.disturbed or self.trouble == "surge":
            return ""
        need = self.asked[self.culprit] * self.held_ms[self.culprit] / 1000
        left = max(1, math.floor(need / 2)) / self.servers[self.culprit]
        if self.trouble == "few servers" and left * self.servers[self.culprit] > need / 1.3:
            self.right = False
        slow = min(0.5, need / self.servers[self.culprit] / 2)
        return {"few servers": f"capacity = {left}", "no servers": "capacity = 0",
                "unreachable": "unreachable = true", "silent": "black_hole = true",
                "errors": f"errors = {{ internal = {rng.choice([0.2, 0.6, 1.0])} }}",
                "slow": f"speed = {slow}", "far": 'latency = "400ms"'}[self.trouble]

    def text(self):
        window = f'start = "{self.start}s"\nduration = "{self.end - self.start}s"\n'
        parts = [f'name = "drawn"\nduration = "{self.stop}s"\ninterval = "{BIN_S}s"\n'
                 f"seed = {self.seed}\nreplications = {self.replications}\n"
                 'recovery = { hold = "5s" }\n']
        for name, below in self.calls.items():
            parts.append(f"[service.{name}]\nservers = {self.servers[name]}\n"
                         f'service_time = {{ distribution = "exponential", '
                         f'mean = "{self.mean_ms[name]}ms" }}\n'
                         f"queue = {{ capacity = {self.queues[name]} }}\n")
            if self.trouble == "throttle" and name == self.culprit:
                parts.append(f"throttle = {{ rate = {self.asked[name] / 2:g}, burst = 5 }}\n")
            for callee in below:
                pool = ""
                if self.trouble == "pool" and name == self.culprit and callee == below[0]:
                    busy = self.asked[name] * self.held_ms[callee] / 1000
                    connections = max(1, math.floor(busy / 1.5))
                    self.right &= busy > 1.3 * connections
                    pool = f"max_connections = {connections}\n"
                parts.append(f"[service.{name}.calls.{callee}]\n{self.retry[callee]}{pool}")
        if self.fault:
            parts.append(f'[fault.f]\nservice = "{self.culprit}"\n{window}{self.fault}\n')
        for group, entry in self.entries.items():
            rate = self.rates[group]
            arrivals = f'{{ process = "poisson", total_rate = {rate} }}'
            count = 20
            if self.loops:
                count = 20 * rate
                arrivals = ('{ process = "closed", think_time = { distribution = "exponential", '
                            'mean = "20s" } }')
            parts.append(f'[client.{group}]\ncalls = "{entry}"\ncount = {count}\n'
                         f"{self.retry[group]}arrivals = {arrivals}\n")
            if self.trouble == "surge":
                parts.append(f"[client.{group}.surge.s]\n{window}factor = {self.factor}\n")
        return "".join(parts)


def measured(path, group, begin, end):
    """Of requests of the group in that time: how many are made, the share that fails, the time that
    one takes, how many succeed, and how many fail."""
    made = failed = succeeded = waited = 0.0
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = float(row["time_s"])
            if row["client"] != group or not begin <= at < end:
                continue
            made += int(row["requests"])
            failed += int(row["failures"])
            succeeded += int(row["successes"])
            waited += BIN_S * sum(float(row[name]) for name in (
                "in_flight", "in_backoff", "limiter_waiting"))
    return (made, failed / max(1, failed + succeeded), waited / max(1, made), succeeded, failed)


def judge(case, out, group):
    """What a reader of the time series would say: the words that are right."""
    path = out / "timeseries.csv"
    if case.disturbed:
        before = measured(path, group, 2, case.start)
        then = measured(path, group, case.start, case.end)
        after = measured(path, group, case.end, case.stop)
    else:
        before = (0, 0.0, usual_s(case, group), 0, 0)
        then = measured(path, group, 2, case.stop)
        after = then
    right = set()
    loss = max(then[1], after[1]) - before[1]
    longer = max(then[2], after[2]) / max(before[2], 1e-9)
    if loss > 0.007:
        right.add("loses")
    if longer > 1.35 or (case.disturbed and then[3] + after[3] < 0.9 * before[3] *
                         (case.stop - case.start) / (case.start - 2)):
        right.add("waits")
    if loss < 0.013 and longer < 3:
        right.add("well")
    return right, then, after


def usual_s(case, group):
    return case.held_ms[case.entries[group]] / 1000


LOSES = re.compile(r"fails|loses|succeeds less often")
WAITS = re.compile(r"slower|falls behind|stalls|is slow|takes longer|hardly|waits|less often"
                   r"|retries")


def said_of(sentence, group):
    """The part of the first line about a group."""
    parts = sentence.split(": ", 1)[1].split(", ")
    for part in parts:
        if re.match(rf"{group} |.*\b{group} (is|are|and)\b", part):
            return part
    return ""


def problem_of(case, out):
    """What is wrong with the first line; empty: nothing."""
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    lines = [v for v in result["verdicts"] if v["rule"] == "culprit"]
    judged = {group: judge(case, out, group) for group in case.entries}
    if not lines:
        lost = [group for group, (right, _, _) in judged.items() if "well" not in right]
        return (f"{' and '.join(lost)} lose" if lost else ""), "(no line)"
    said = " | ".join(line["sentence"] for line in lines)
    if len(lines) > 1 and len({line.get("culprit") for line in lines}) > 1:
        return "several causes", said
    culprit = lines[0].get("culprit")
    if culprit != case.culprit:
        return f"the culprit is {case.culprit}", said
    if culprit is not None and not lines[0]["sentence"].startswith(culprit + " "):
        return "the sentence names another one", said
    for group, (right, then, after) in judged.items():
        words = next((w for w in (said_of(line["sentence"], group) for line in lines) if w), "")
        if not words:
            return f"{group} is not told", said
        word = ("loses" if LOSES.search(words) else "waits" if WAITS.search(words) else "well")
        if word not in right and not (word == "loses" and "less often" in words and
                                      "waits" in right):
            return f"{group}: {words!r}, where {right} is right", said
        figure = re.search(r"fails.*\(([0-9.]+) % succeed|loses ([0-9.]+) %", words)
        if figure:
            share = float(figure[2] or 0) / 100 if figure[2] else 1 - float(figure[1]) / 100
            low, high = sorted((then[1], after[1]))
            # Those made in the time of trouble may fail when it is over.
            high = max(high, min(1.0, (then[4] + after[4]) / max(1, then[0])))
            if not 0.8 * low - 0.02 <= share <= 1.2 * high + 0.02:
                return f"{group}: {words!r}, where {then[1]:.3f} and {after[1]:.3f} fail", said
    return "", said


def check(program, scenarios, seed, table, loops):
    rng = random.Random(seed)
    wrong = drawn = 0
    with tempfile.TemporaryDirectory() as folder:
        while drawn < scenarios:
            case = Case(rng, loops)
            text = case.text()
            if not case.right:
                continue  # the culprit does not follow
            _, out = simulate(program, text, folder, "drawn")
            problem, said = problem_of(case, out)
            wrong += bool(problem)
            if table or problem:
                print(f"{drawn:3} {case.trouble} at {case.culprit}: {said}\n"
                      f"    {'DISAGREES: ' + problem if problem else ''}")
            if problem:
                print(text)
            drawn += 1
    print(f"{scenarios} {'closed loops' if loops else 'graphs'}, {scenarios - wrong} first lines "
          "agree")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print those that agree, too")
    parser.add_argument("--loops", action="store_true", help="clients that wait for answers")
    arguments = parser.parse_args()
    sys.exit(1 if check(arguments.program, arguments.scenarios, arguments.seed, arguments.table,
                        arguments.loops) else 0)


if __name__ == "__main__":
    main()
