#!/usr/bin/python3
"""Repeats the comparison with theory with fresh seeds, and keeps every z-score in a table.

    validate_repeatedly.py [--seed N] [--repeats N] [--all] [--program PATH] [--table FILE]

One validation has 20 replications; ten of them, the default, have ten times as many, and see a bias
a quarter as large. Each row of rule "interval" has a z-score a time (difference from theory over
its standard error); their mean is compared with zero. A row that has none must agree more
often than not, because a few are compared with other programs, whose figures are uncertain. The
seeds begin with --seed, or with one of the system's, which is printed. All z-scores are appended to
the table. Exit status: 0 if theory holds, 1 if not.

False alarms: z has Student's distribution with 19 degrees of freedom if the means of replications
are normal. The bound is that at which any of the rows exceeds it in one of a thousand calls
(Bonferroni, with the first correction of the normal distribution for the tails of Student's).

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
import math
import os
import pathlib
import re
import secrets
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FALSE_ALARM = 0.001
DEGREES = 19


def rows_of(text):
    """(case, quantity, z or None, verdict) of each row of a validation's table."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 8 and re.fullmatch(r"P\d+\S*", words[0]):
            z = None if words[-3] == "-" else float(words[-3])
            yield words[0], words[2], z, words[-1]


def exceeded(x, repeats):
    """How often the standardized mean of so many z-scores is further than x from zero."""
    kurtosis = 6 / (DEGREES - 4) / repeats
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return math.erfc(x / math.sqrt(2)) + 2 * density * kurtosis / 24 * (x**3 - 3 * x)


def bound(rows, repeats):
    low, high = 2.0, 20.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle, repeats) > FALSE_ALARM / rows else (
            low, middle)
    return high


def standardized(scores):
    """Their mean in units of its standard deviation."""
    return sum(scores) / math.sqrt(len(scores) * DEGREES / (DEGREES - 2))


def validate(program, cases, seed):
    environment = {**os.environ, "RETRYSIM_VALIDATION_SEED": str(seed)}
    done = subprocess.run([program, cases], env=environment, capture_output=True, text=True)
    rows = list(rows_of(done.stdout))
    if not rows:
        sys.exit(f"{program} {cases}: exit status {done.returncode}, no rows:\n{done.stdout}"
                 f"{done.stderr}")
    return rows


def keep(table, seed, rows):
    is_new = not table.exists()
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(["seed", "case", "quantity", "z", "verdict"])
        writer.writerows([seed, *(value if value is not None else "" for value in row)]
                         for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="the slow rows, too: takes hours")
    parser.add_argument("--program", default=ROOT / "build" / "ci" / "tests" / "test_validation")
    parser.add_argument("--table", type=pathlib.Path,
                        default=ROOT / "build" / "validation-z.csv")
    arguments = parser.parse_args()
    if arguments.repeats < 2:
        parser.error("--repeats: at least 2")
    first = secrets.randbelow(2**40) if arguments.seed is None else arguments.seed
    print(f"seeds {first} to {first + arguments.repeats - 1}", flush=True)
    scores, doubts = collections.defaultdict(list), collections.Counter()
    for seed in range(first, first + arguments.repeats):
        rows = validate(arguments.program, "[slow]~[coverage]" if arguments.all else "[quick]",
                        seed)
        keep(arguments.table, seed, rows)
        for case, quantity, z, verdict in rows:
            if z is not None:
                scores[case, quantity].append(z)
            elif verdict != "agrees":
                doubts[case, quantity] += 1
                print(f"note: {case} {quantity}: {verdict}")
        print(f"seed {seed}: {len(rows)} rows", flush=True)
    means = {row: standardized(each) for row, each in scores.items()}
    most = bound(max(1, len(means)), arguments.repeats)
    faults = [f"{' '.join(row)}: does not agree {count} times of {arguments.repeats}"
              for row, count in doubts.items() if 2 * count >= arguments.repeats]
    faults += [f"{' '.join(row)}: the mean of {len(scores[row])} z-scores is {z:+.2f} standard "
               f"deviations from 0; at most {most:.2f}"
               for row, z in means.items() if abs(z) > most]
    for fault in faults:
        print(f"error: {fault}")
    furthest = max(map(abs, means.values()), default=0)
    print(f"{len(means)} rows with z-scores, the furthest mean {furthest:.2f} standard "
          f"deviations from 0, bound {most:.2f} (false alarm: 1 in "
          f"{1 / FALSE_ALARM:.0f}); in {arguments.table}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
