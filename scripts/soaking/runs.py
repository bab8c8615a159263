#!/usr/bin/python3
"""Runs random scenarios through a program and looks for what must not happen; see scripts/soak.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import concurrent.futures
import itertools
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from soaking import checks, commands, scenarios, theory  # noqa: E402
from soaking.coverage import Coverage  # noqa: E402
from soaking.shrinking import MOST_TRIALS, shrink  # noqa: E402
from soaking.vocabulary import load as load_vocabulary  # noqa: E402

# Failures of one kind are shrunk so often; more examples seldom tell more.
SHRUNK_PER_KIND = 1
# Hangs are not waited out each time.
SHRINKING_HANG_CPU_S = 3
SHRINKING_HANG_TRIALS = 100
SCENARIOS_PER_LINE = 1000  # of those that tell how far a soak is
# A long soak generates nearly everything; what is missing after a short one says nothing.
NEVER_SHOWN = 30
STATUS_WORDS = {checks.DONE: "done", checks.EXPECTATION_FAILED: "expectation not met",
                checks.BAD_INPUT: "no steady state", checks.LIMIT: "at --max-events"}


def read_options(arguments):
    parser = argparse.ArgumentParser(
        prog="soak", description="Runs random valid scenarios under the sanitizers, each with one "
        "job and with three, and shrinks what fails.")
    parser.add_argument("--minutes", type=float, help="stop after so long (default 10)")
    parser.add_argument("--scenarios", type=int, help="stop after so many")
    parser.add_argument("--seed", type=int, help="the first seed; the others count on from it "
                        "(default: from the clock)")
    parser.add_argument("--seed-only", type=int, metavar="SEED", help="repeat one scenario")
    parser.add_argument("--jobs", type=int, default=2,
                        help="scenarios at the same time (default 2)")
    parser.add_argument("--program", type=Path,
                        help="the program under test (default: built with the preset soak)")
    parser.add_argument("--out", type=Path, default=Path("build/soak/found"), metavar="DIR",
                        help="where shrunk scenarios go (default build/soak/found)")
    parser.add_argument("--show", action="store_true",
                        help="with --seed-only: print the scenario and its command, run nothing")
    parser.add_argument("--brief", action="store_true",
                        help="count what was never generated instead of the table of coverage")
    options = parser.parse_args(arguments)
    if options.show and options.seed_only is None:
        parser.error("--show needs --seed-only")
    if options.minutes is None and options.scenarios is None:
        options.minutes = 10
    if options.seed is None:
        options.seed = int(time.time()) * 100_000
    return options


def command_text(program, case):
    """The command line for people, with the scenario in the current folder."""
    words = [str(program), *commands.arguments(case, "scenario.toml", "out", 1)]
    words = [f"{name}={value}" for name, value in case.environment.items()] + words
    return " ".join(w if all(c.isalnum() or c in "-_./=:" for c in w) else f"'{w}'" for w in words)


def save(program, case, failure, folder):
    """Writes a shrunk scenario with what it shows; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = checks.write(case, folder)
    head = [f"# {failure.kind}", f"# seed {case.seed}", f"# {command_text(program, case)}"]
    detail = failure.detail.strip().splitlines()[:15]
    path.write_text("\n".join(head) + "\n" + commands.scenario_text(case) + "\n" +
                    "".join(f"# {line}".rstrip() + "\n" for line in detail), encoding="utf-8")
    return path


class Soak:
    """Counts of what was run and found."""

    def __init__(self, program, vocabulary, out):
        self.program = program
        self.vocabulary = vocabulary
        self.out = out
        self.coverage = Coverage(vocabulary)
        self.runs = 0
        self.attempts = 0.0
        self.features = collections.Counter()  # that predictions did not model
        self.statuses = collections.Counter()
        self.failures = {}  # kind -> seeds
        self.started = time.monotonic()

    # Scenarios and shrinking run in threads; what they return is then called in the main thread.

    def examine(self, seed):
        case = scenarios.generate(seed, self.vocabulary)
        outcome = checks.examine(self.program, case)
        return lambda: self.add(case, outcome)

    def add(self, case, outcome):
        """Counts a scenario; returns what to do next, if anything, for a thread."""
        self.coverage.add(case)
        self.runs += outcome.runs
        self.attempts += outcome.attempts
        self.features.update(outcome.features)
        if (count := self.count() + 1) % SCENARIOS_PER_LINE == 0:
            print(f"{count} scenarios in {self.seconds():.0f} s", flush=True)
        if outcome.failure is None:
            self.statuses[outcome.status] += 1
            return None
        seeds = self.failures.setdefault(outcome.failure.kind, [])
        seeds.append(case.seed)
        print(f"seed {case.seed}: {outcome.failure.kind}", flush=True)
        if len(seeds) > SHRUNK_PER_KIND:
            return None
        return lambda: self.shrink(case, outcome.failure)

    def shrink(self, case, failure):
        hangs = failure.kind == checks.HANG

        def fails(smaller):
            cpu_s = SHRINKING_HANG_CPU_S if hangs else checks.MOST_CPU_S
            found = checks.examine(self.program, smaller, cpu_s).failure
            return found is not None and found.kind == failure.kind

        trials = SHRINKING_HANG_TRIALS if hangs else MOST_TRIALS
        small = shrink(case, fails, trials)
        shown = checks.examine(self.program, small).failure or failure
        path = save(self.program, small, shown, self.out / f"seed-{case.seed}")
        lines = path.read_text("utf-8").splitlines()[:60]
        text = "".join(f"    {line}".rstrip() + "\n" for line in lines)
        return lambda: print(f"seed {case.seed}: shrunk from {len(case.keys)} to "
                             f"{len(small.keys)} keys: {path}\n{text}", end="", flush=True)

    def count(self):
        return sum(self.statuses.values()) + sum(map(len, self.failures.values()))

    def seconds(self):
        return time.monotonic() - self.started

    def report(self, brief):
        if not brief:
            print("\n".join(self.coverage.table()))
        if never := self.coverage.never():
            few = len(never) <= NEVER_SHOWN
            print(f"Never generated: {'; '.join(never) if few else len(never)}")
        if not brief:
            unmet = theory.listed(str(self.program)).keys() - self.features.keys()
            print(f"{len(self.features)} features that theory does not model were met, "
                  f"{len(unmet)} of its list not")
        ends = ", ".join(f"{STATUS_WORDS.get(status, status)} {n}"
                         for status, n in sorted(self.statuses.items()))
        print(f"{self.count()} scenarios, {self.runs} runs, {self.attempts:.0f} attempts simulated "
              f"in {self.seconds():.0f} s ({ends})")
        for kind, seeds in sorted(self.failures.items(), key=lambda item: -len(item[1])):
            print(f"  {len(seeds)} x {kind}; seeds {', '.join(map(str, seeds[:5]))}")
        print(f"{sum(map(len, self.failures.values()))} failures of {len(self.failures)} kinds")


def soak(options):
    vocabulary = load_vocabulary(options.program)
    if options.show:
        case = scenarios.generate(options.seed_only, vocabulary)
        print(f"# {command_text(options.program, case)}")
        print(commands.scenario_text(case), end="")
        print("".join(f"# --- {name}\n{text}" for name, text in case.files.items()), end="")
        return 0
    seeds = itertools.count(options.seed)
    if options.seed_only is not None:
        seeds = iter([options.seed_only])
    elif options.scenarios is not None:
        seeds = iter(range(options.seed, options.seed + options.scenarios))
    print(f"Seeds from {options.seed if options.seed_only is None else options.seed_only} on; "
          f"--seed-only SEED repeats one", flush=True)
    found = Soak(options.program, vocabulary, options.out)

    def time_is_left():
        return options.minutes is None or found.seconds() < 60 * options.minutes

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = set()
        while True:
            while len(pending) < options.jobs and time_is_left() and \
                    (seed := next(seeds, None)) is not None:
                pending.add(pool.submit(found.examine, seed))
            if not pending:
                break
            done, pending = concurrent.futures.wait(
                pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                if more := future.result()():
                    pending.add(pool.submit(more))
    found.report(options.brief)
    return 1 if found.failures else 0


def main():
    options = read_options(sys.argv[1:])
    if options.program is None:
        print("soak: error: --program is missing; scripts/soak builds one", file=sys.stderr)
        return 2
    return soak(options)


if __name__ == "__main__":
    sys.exit(main())
