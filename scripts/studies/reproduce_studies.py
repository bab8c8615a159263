#!/usr/bin/python3
"""Runs the scenarios scenarios/study-*.toml as published studies ran theirs, and prints their
results beside ours; exit status 1 if one does not agree.

What was published is in published_results.csv, where stddev and runs are those of the study; a
study that ran once says nothing of its spread, a formula has none. The rule: a study agrees if none
of its figures is significantly different at 5 % after Holm's correction over all of them (Welch's
test where the spread of the study is known; where not, whether its mean lies where another mean of
so many of our runs would; latencies by their logarithms), and if all its claims hold for the far
end of the 95 % interval. Where a study's own figures are approximations, orders of magnitude are
compared: then it is their ratio that is shown. If we are right, chance finds a given study
different with a probability of at most 5 %; as the seeds are fixed, it either does or does not.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
import dataclasses
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import agreement
from agreement import Sample
from published_studies import STUDIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = pathlib.Path(__file__).with_name("published_results.csv")


@dataclasses.dataclass(frozen=True)
class Published:
    """A row of published_results.csv."""
    case: str
    metric: str
    mean: float
    stddev: float | None  # not known
    runs: int


def fail(message, status):
    print(f"reproduce: error: {message}", file=sys.stderr)
    sys.exit(status)


def read_published():
    """study -> its rows."""
    rows = collections.defaultdict(list)
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        for r in csv.DictReader(file):
            stddev = float(r["stddev"]) if r["stddev"] else None
            rows[r["study"]].append(
                Published(r["case"], r["metric"], float(r["value"]), stddev, int(r["runs"])))
    return rows


class Runs:
    """Runs of the program, each made once."""

    def __init__(self, program, folder, jobs):
        self.program, self.folder, self.jobs = program, folder, jobs
        self.values = {}

    def get(self, study, case):
        """(client, metric) -> values by replication."""
        key = (study.scenario, case.edits)
        if key not in self.values:
            self.values[key] = self.make(study, case)
        return self.values[key]

    def make(self, study, case):
        out = self.folder / str(len(self.values))
        command = [str(self.program), "run", str(ROOT / "scenarios" / study.scenario),
                   "--out", str(out), "--quiet", "--no-progress", "--strict"]
        command += [f"--jobs={self.jobs}"] if self.jobs else []
        for edit in case.edits:
            command += ["--set", edit]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        # An expectation is for the scenario as it stands, without edits.
        if done.returncode != 0 and not (done.returncode == 1 and case.edits):
            fail(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}", 3)
        return study.measure(out)


@dataclasses.dataclass
class Row:
    """One published figure beside ours, or between the two of ours that bound it."""
    published: Published
    ours: list
    p_value: float
    differs: bool = False
    ratio: float = None  # ours to theirs, where only that is judged


def p_value(published, ours, logarithmic):
    """How likely a difference like this is if the models are the same."""
    mean, values = published.mean, list(ours)
    if logarithmic:
        mean, values = math.log(mean), [math.log(v) for v in values]
    sample = Sample.of(values)
    if published.stddev is None:
        return agreement.prediction(mean, published.runs, sample)
    return agreement.welch(Sample(mean, published.stddev, published.runs), sample)


def compare(study, published, runs):
    """The study's rows, with what differs marked."""
    rows = []
    for p in published:
        case = study.cases[p.case]
        values = runs.get(study, case)
        ours = [values[client, p.metric] for client in case.clients]
        if study.factor:
            ratio = Sample.of(ours[0]).mean / p.mean
            within = 1 / study.factor < ratio < study.factor
            rows.append(Row(p, [Sample.of(ours[0])], 1.0 if within else 0.0, ratio=ratio))
            continue
        p_values = [p_value(p, o, study.logarithmic) for o in ours]
        means = [Sample.of(o).mean for o in ours]
        # With two of ours the figure may lie anywhere between them.
        between = len(ours) == 2 and min(means) <= p.mean <= max(means)
        rows.append(Row(p, [Sample.of(o) for o in ours], 1.0 if between else max(p_values)))
    for row, differs in zip(rows, agreement.holm([r.p_value for r in rows])):
        row.differs = differs
    return rows


def number(value):
    return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.0f}"


def with_interval(sample):
    return f"{number(sample.mean)} ± {sample.half_width():.2g}"


def theirs(published):
    if published.stddev is None:
        return number(published.mean)
    if published.runs == 1:  # and no spread: a formula
        return number(published.mean) + " exactly"
    return with_interval(Sample(published.mean, published.stddev, published.runs))


def print_rows(rows, only_differing):
    shown = [r for r in rows if r.differs or not only_differing]
    if not shown:
        return
    lines = [("case", "metric", "theirs", "ours", "ratio" if shown[0].ratio else "p", "")]
    for r in shown:
        lines.append((r.published.case, r.published.metric, theirs(r.published),
                      " to ".join(with_interval(o) for o in r.ours),
                      f"x {r.ratio:.2g}" if r.ratio else f"{r.p_value:.3f}",
                      "DIFFERS" if r.differs else "agrees"))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + "  ".join(w.ljust(n) for w, n in zip(line, widths)).rstrip())


def reproduce(study, published, runs, options):
    """Prints one study; whether it agrees."""
    started = time.monotonic()
    print(f"\n{study.name}: {study.title}\n  {study.source}", flush=True)
    rows = compare(study, published, runs)
    print_rows(rows, options.brief)
    good = not any(r.differs for r in rows)
    for claim in study.claims:
        holds, figures = claim.check(study, runs)
        good = good and holds
        print(f"  {'holds' if holds else 'DOES NOT HOLD'}: {claim.text}: {figures}")
    judged = f"factor of {study.factor:g}" if study.factor else (
        f"smallest p {min((r.p_value for r in rows), default=1):.2g}")
    print(f"  {'AGREES' if good else 'DOES NOT AGREE'}: {sum(r.differs for r in rows)} of "
          f"{len(rows)} figures differ ({judged}), "
          f"{len(study.claims)} claims; {time.monotonic() - started:.1f} s", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(
        description="Holds the simulator against published studies: theirs beside ours with half "
        "the 95 % interval; exit status 1 if one does not agree.",
        epilog="Studies: " + ", ".join(s.name for s in STUDIES) + ".")
    parser.add_argument("--program", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "retrysim")
    parser.add_argument("--only", metavar="STUDY", action="append", default=[],
                        help="only this study; may be repeated")
    parser.add_argument("--jobs", type=int, help="simulate on so many processors (default: all)")
    parser.add_argument("--brief", action="store_true", help="print only figures that differ")
    options = parser.parse_args()
    names = [s.name for s in STUDIES]
    for name in options.only:
        if name not in names:
            parser.error(f"--only: '{name}' is none of {', '.join(names)}")
    if not os.access(options.program, os.X_OK):
        fail(f"there is no program {options.program}; build it with scripts/build release", 2)
    published = read_published()
    started = time.monotonic()
    results = {}
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        for study in STUDIES:
            if not options.only or study.name in options.only:
                runs = Runs(options.program, pathlib.Path(folder) / study.name, options.jobs)
                results[study.name] = reproduce(study, published[study.name], runs, options)
    bad = [name for name, good in results.items() if not good]
    print(f"\n{len(results) - len(bad)} of {len(results)} studies agree"
          + (f"; not: {', '.join(bad)}" if bad else "")
          + f" ({time.monotonic() - started:.0f} s)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
