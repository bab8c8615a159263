#!/usr/bin/python3
"""The head of a scenario says what its run shows, and its expectations hold.

    scenario_heads.py --program PROGRAM --root FOLDER [SCENARIO...]

Runs scenarios as they are shipped (all of them unless some are named) and compares what their heads
say with the results, row by row of scenario_heads.csv: `says` stands in the head, and the mean of
`metric` of `client` lies from `from` to `to`, which is what the words say, rounded. A metric may be
a ratio (`a/b`) and of a phase (`recovering:a`, or the name that the options give it); `a<0.5` is
the share of the replications in which it is less, and a client `x+y` or `x/y` the sum or the ratio
of groups. `column@10..20` is the mean, over replications and bins from 10 s to 20 s, of a column of
timeseries.csv, or of service.csv if `client` is `service NAME`; `a/b@10..20` the ratio of the means
of two. Rows with `options` are of further runs. Without a row only the expectations are checked.
Exit status: 0 if all of that holds.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().with_name("scenario_heads.csv")
# A figure does not depend on the number of threads: tests run side by side.
RUN = ("--quiet", "--jobs", "1", "--out", "result")


def one_line(text):
    return re.sub(r"\s+", " ", text)


def head_of(scenario):
    """The comment at the beginning of the file, in one line."""
    lines = itertools.takewhile(lambda line: line.startswith("#"),
                                scenario.read_text(encoding="utf-8").splitlines())
    return one_line(" ".join(line[1:] for line in lines))


def figures_of(folder):
    """Means by client and metric; those of a phase have its kind, or the name that the options give
    it, in front. Then the values of the replications, and the rows of the time series."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    found = {(row["client"], row["metric"]): row["mean"] for row in result["summary"]}
    for phase in result["phases"]:
        name = phase["phase"] if phase["kind"] == "named" else phase["kind"]
        for metric, estimate in phase["metrics"].items():
            found[phase["client"], f"{name}:{metric}"] = estimate["mean"]
    replications = collections.defaultdict(list)
    with (folder / "replications.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            replications[row["client"], row["metric"]].append(float(row["value"]))
    series = collections.defaultdict(list)
    for name, prefix, column in (("timeseries.csv", "", "client"),
                                 ("service.csv", "service ", "service")):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                series[prefix + row[column]].append(row)
    return found, replications, series


def mean_in(rows, column, window):
    """Of a column over the bins from A to B, in seconds, of a window "A..B"."""
    begin, end = map(float, window.split(".."))
    values = [float(row[column]) for row in rows if begin <= float(row["time_s"]) < end]
    return sum(values) / len(values)


def value(figures, client, metric):
    """The figure that a row of the table is about."""
    means, replications, series = figures
    if client == "all" and ("all", "requests") not in means:  # there is one group only
        client = next(iter(means))[0]
    above, slash, below = client.partition("/")
    if slash:
        return value(figures, above, metric) / value(figures, below, metric)
    columns, at, window = metric.partition("@")
    if at:
        above, slash, below = columns.partition("/")
        figure = mean_in(series[client], above, window)
        return figure / mean_in(series[client], below, window) if slash else figure
    if "+" in client:
        return sum(value(figures, one, metric) for one in client.split("+"))
    metric, less, bound = metric.partition("<")
    if less:
        values = replications[client, metric]
        return sum(v < float(bound) for v in values) / len(values)
    phase, colon, names = metric.rpartition(":")
    above, _, below = names.partition("/")
    figure = means[client, phase + colon + above]
    return figure / means[client, phase + colon + below] if below else figure


def faults_of(program, scenario, rows):
    """What is wrong with the head of a scenario, and with its expectations."""
    head = head_of(scenario)
    for options in dict.fromkeys(["", *(row["options"] for row in rows)]):
        with tempfile.TemporaryDirectory(prefix="retrysim-head-") as folder:
            # Expectations are about the scenario as it is shipped.
            strict = () if options else ("--strict",)
            done = subprocess.run(
                [program, "run", scenario, *RUN, *strict, *shlex.split(options)], cwd=folder,
                capture_output=True, text=True, check=False)
            if done.returncode not in ((0,) if not options else (0, 1)):
                yield f"exit status {done.returncode}: {done.stderr}"
                continue
            figures = figures_of(pathlib.Path(folder) / "result")
        for row in rows:
            if row["options"] != options:
                continue
            if one_line(row["says"]) not in head:
                yield f"its head does not say '{row['says']}'"
            found = value(figures, row["client"], row["metric"])
            if not float(row["from"]) <= found <= float(row["to"]):
                yield (f"its head says '{row['says']}', but {row['metric']} of {row['client']} is "
                       f"{found:.6g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="such as deploy")
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    folder = options.root.resolve() / "scenarios"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    wrong = 0
    for unknown in {row["scenario"] for row in rows} | set(options.scenarios) - set(names):
        if unknown not in names:
            wrong += 1
            print(f"{TABLE.name}: error: there is no scenario {unknown}")
    for name in names:
        if options.scenarios and name not in options.scenarios:
            continue
        of_it = [row for row in rows if row["scenario"] == name]
        for fault in faults_of(program, folder / f"{name}.toml", of_it):
            wrong += 1
            print(f"scenarios/{name}.toml: error: {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
