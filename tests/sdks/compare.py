#!/usr/bin/python3
"""Compares the program's retry decisions with those of the real AWS SDKs, call by call.

Random sequences of answers go through an SDK's own client, whose HTTP layer, clock, sleep and
random numbers are replaced, and through `retrysim strategy`. README.md says more.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

import oracles
import report
import sequences
import strategy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77  # exit status: nothing could be compared

# How far the SDK may be from the program. Delays are in seconds. A wait for send tokens is a
# division of doubles that the clock rounds to a nanosecond or two; what the limiter does next
# depends on the time, with slopes of up to some tens of requests/s per second.
DELAY_S = 1.5e-9
WAIT_S = 1.0e-7
RATE = 1.0e-6  # per second, and relative


class DriverFailed(Exception):
    """A driver broke off; what it said stands on standard error."""


class Driver:
    """A process that plays sequences through an SDK."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=ROOT)
        self.version = self._read()["version"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def play(self, sequence):
        try:
            self.process.stdin.write(json.dumps(sequence) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # reading says what happened
        return self._read()["calls"]

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise DriverFailed(f"{' '.join(self.command)} ended with status {self.process.wait()}")
        return json.loads(line)


def _differs(theirs, ours, tolerance):
    if theirs is None or ours is None:
        return theirs is not ours
    return abs(theirs - ours) > tolerance


def differences(theirs, ours):
    """What differs in one call, in words; empty if nothing does."""
    found = []
    if len(theirs["attempts"]) != len(ours):
        found.append(f"{len(theirs['attempts'])} attempts, not {len(ours)}")
    succeeded = ours[-1]["decision"] == "success"
    if theirs["succeeded"] != succeeded:
        found.append(f"it {'succeeds' if theirs['succeeded'] else 'fails'}, and should not")
    for number, (their, our) in enumerate(zip(theirs["attempts"], ours), 1):
        pairs = [("delay", their["delay"], our["delay_s"], DELAY_S)]
        if "quota" in their:
            pairs.append(("quota", their["quota"], our["quota"], 0))
        if "fill_rate" in their:
            for rate in ("measured_rate", "fill_rate"):
                pairs.append((rate, their[rate], our[rate], RATE * (1 + abs(our[rate] or 0))))
            pairs.append(("wait", their["waited"], our["send_wait_s"], WAIT_S))
        for what, a, b, tolerance in pairs:
            if _differs(a, b, tolerance):
                found.append(f"{what} of attempt {number} is {a}, not {b}")
    return found


class Comparison:
    """The result for one mode of one SDK."""

    def __init__(self, oracle, version):
        self.oracle = oracle
        self.version = version
        self.sequences = self.calls = self.agreements = 0
        self.coverage = collections.Counter()
        self.differences = []  # in words: one for each sequence that differs

    def add(self, sequence, theirs, ours):
        self.sequences += 1
        for number, (their, our) in enumerate(zip(theirs, ours), 1):
            self.calls += 1
            found = differences(their, our)
            if found:
                self.differences.append(report.difference(self.oracle, sequence, number, found,
                                                          theirs, ours))
                return  # the client is in another state from here on
            self.agreements += 1
            self._count(our)

    def _count(self, rows):
        self.coverage["attempts"] += len(rows)
        self.coverage["quota empty"] += rows[-1]["decision"] == "quota_exceeded"
        self.coverage["waits for send tokens"] += sum((r["send_wait_s"] or 0) > 0 for r in rows)
        self.coverage["longest delay"] = max(
            [self.coverage["longest delay"]] + [r["delay_s"] or 0 for r in rows])


def compare(oracle, command, options):
    with Driver(command) as driver:
        result = Comparison(oracle, driver.version)
        seed = options.seed
        while result.calls < options.calls and result.sequences < options.sequences:
            sequence = sequences.make(seed, oracle)
            ours = strategy.play(options.program, oracle, sequence)
            result.add(sequence, driver.play(sequence), ours)
            seed += 1
    return result


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="the program `retrysim`")
    parser.add_argument("--sdk", action="append", metavar="NAME", default=[],
                        help="only this SDK, or one mode of it (see --list); may be repeated")
    parser.add_argument("--calls", type=int, default=10_000, metavar="N",
                        help="calls for each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first sequence")
    parser.add_argument("--sequences", type=int, default=sys.maxsize, metavar="N",
                        help="at most so many sequences; the first difference names its seed")
    parser.add_argument("--differences", type=int, default=1, metavar="N",
                        help="show so many differences of each SDK (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="print the results as Markdown")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "sdks",
                        metavar="DIR", help="where the SDKs are installed (default: build/sdks)")
    return parser.parse_args()


def main():
    options = parse_options()
    chosen = oracles.named(options.sdk)
    if chosen is None:
        sys.exit(f"compare_sdks: error: there is none of {', '.join(options.sdk)}; there are "
                 + ", ".join(o.name for o in oracles.ORACLES))
    if options.list:
        print("\n".join(oracle.name for oracle in chosen))
        return 0
    results, left_out, failed = [], [], False
    for oracle in chosen:
        command, missing = oracles.driver_command(oracle, options.build)
        if missing:
            left_out.append(oracle)
            print(f"{oracle.name}: left out: {missing}", flush=True)
            continue
        try:
            result = compare(oracle, command, options)
        except (DriverFailed, strategy.StrategyFailed) as error:
            print(f"{oracle.name}: error: {error}", flush=True)
            failed = True
            continue
        results.append(result)
        failed = failed or result.agreements < result.calls
        print(report.summary(result, options.differences), flush=True)
    if options.table:
        print(report.table(results))
    if failed:
        return 1
    return SKIPPED if not results else 0


if __name__ == "__main__":
    sys.exit(main())
