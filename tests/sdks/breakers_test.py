#!/usr/bin/python3
"""Circuit breakers decide as those of opossum and cockatiel do, call by call.

Random options and random calls, in episodes in which many or few of them fail, go through the
library, by js/breakers_driver.js, and through the rules that the keys express, by
breaker_decisions. For each call both must agree whether it is let through, and on the state of the
breaker after that and after its end. Calls overlap with opossum; cockatiel makes calls wait while
a probe is under way, where the rules here refuse them, so there is one at a time. Exit status: 77
if the libraries are not installed.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys

DRIVER = pathlib.Path(__file__).resolve().parent / "js" / "breakers_driver.js"
SKIPPED = 77
BREAKERS, CALLS = 20, 500


def table(keys):
    return "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()) + "}"


def opossum(rng):
    percent, volume = rng.choice([1, 25, 50, 75]), rng.choice([0, 1, 5, 20])
    window, buckets = rng.choice([(1000, 10), (10000, 10), (4000, 1), (6000, 3)])
    reset = rng.choice([4000, 8000, 30000])
    options = {"errorThresholdPercentage": percent, "volumeThreshold": volume,
               "rollingCountTimeout": window, "rollingCountBuckets": buckets,
               "resetTimeout": reset}
    keys = {"preset": "opossum", "failure_share": percent / 100, "min_calls": volume,
            "window": f"{window}ms", "slices": buckets, "open": f"{reset}ms"}
    return options, keys, 3000


def cockatiel(rng):
    after = rng.choice([1000, 4000, 10000])
    keys = {"preset": "cockatiel", "open": f"{after}ms", "counts_late": False}
    options = {"halfOpenAfter": after}
    kind = rng.choice(["consecutive", "count", "sampling"])
    share = rng.choice([0.25, 0.5, 0.75])
    if kind == "consecutive":
        options["consecutive"] = rng.choice([1, 3, 10])
        keys |= {"failure_share": "none", "consecutive": options["consecutive"]}
    elif kind == "count":
        size = rng.choice([4, 10, 40])
        least = rng.choice([1, size // 2, size])
        options["count"] = {"threshold": share, "size": size, "minimumNumberOfCalls": least}
        keys |= {"failure_share": share, "window_calls": size, "min_calls": least}
    else:
        seconds, per_second = rng.choice([5, 10, 30]), rng.choice([1, 2])
        options["sampling"] = {"threshold": share, "duration": seconds * 1000,
                               "minimumRps": per_second}
        keys |= {"failure_share": share, "window": f"{seconds}s", "slices": max(5, seconds),
                 "min_calls": seconds * per_second}
    return options, keys, 0


def calls_of(rng, longest):
    """Calls begin at 1, 5, 9 ... ms, and end at 3, 7, ...: never at the same moment, nor at that of
    a slice of a window."""
    calls, now, bad = [], 1, False
    for _ in range(CALLS):
        if rng.random() < 0.03:
            bad = not bad
        now += 4 * rng.choice([1, 5, 20, 50, 100, 400, 2000])
        length = 2 + 4 * rng.randrange(longest // 4) if longest else 2
        calls.append((now, length, rng.random() < (0.8 if bad else 0.1)))
    return calls


def ours(program, tables):
    text = "".join(f"{keys}\n{len(calls)}\n" +
                   "".join(f"{at} {length} {int(fails)}\n" for at, length, fails in calls)
                   for keys, calls in tables)
    out = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    return [[line.split() for line in part.splitlines()] for part in out.strip().split("\n\n")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True, help="breaker_decisions")
    parser.add_argument("--modules", required=True, help="node_modules with the libraries")
    parser.add_argument("--library", required=True, choices=["opossum", "cockatiel"])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("node") is None or not (pathlib.Path(options.modules) /
                                            options.library).is_dir():
        print(f"{options.library} is not installed; scripts/compare_sdks --install does that")
        return SKIPPED
    rng = random.Random(options.seed)
    breakers = []
    for _ in range(BREAKERS):
        theirs, keys, longest = {"opossum": opossum, "cockatiel": cockatiel}[options.library](rng)
        breakers.append((theirs, table(keys), calls_of(rng, longest)))
    lines = [json.dumps({"library": options.library, "options": theirs, "calls": calls})
             for theirs, _, calls in breakers]
    answer = subprocess.run(
        ["env", f"NODE_PATH={options.modules}", "node", str(DRIVER)], input="\n".join(lines) + "\n",
        capture_output=True, text=True, check=True).stdout.splitlines()
    version = json.loads(answer[0])[options.library]
    played = ours(options.program, [(keys, calls) for _, keys, calls in breakers])
    steps = refused = different = 0
    for (theirs, keys, _), line, own in zip(breakers, answer[1:], played):
        expected = json.loads(line)["steps"]
        steps += len(expected)
        refused += sum(step[0] == "refused" for step in expected)
        if expected == own:
            continue
        different += 1
        at = next(i for i, pair in enumerate(zip(expected, own)) if pair[0] != pair[1])
        print(f"{json.dumps(theirs)} as {keys}: step {at} is {expected[at]} there, {own[at]} here")
    print(f"{options.library} {version}: {BREAKERS * CALLS} calls, {refused} of them refused, "
          f"{steps} steps: {different} of {BREAKERS} breakers differ")
    if refused == 0:
        print("no call was refused: the comparison says nothing")
    return 1 if different or refused == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
