#!/usr/bin/python3
"""Draws two pictures of the study of backoff and jitter from runs of our own.

    study_pictures.py [--program PROGRAM] [--out DIR] [--replications N] [--format png|svg|pdf]

arrivals: how many calls start in each 20 ms while 100 clients contend for one row, one panel for
each kind of jitter. work_and_time: the calls that it takes, and the time, against the number of
clients, one line for each kind of backoff; small circles are the published figures. Both come from
scenarios/study-backoff-and-jitter.toml, the first by `retrysim compare`, the second by
`retrysim sweep`; their results stay in DIR beside the pictures. Exit status: 0 done, 2 bad command
line, 3 the program failed.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from plotting.file import save  # noqa: E402
from plotting.looks import colour as colour_of  # noqa: E402
from plotting.sizes import STYLE  # noqa: E402

SCENARIO = ROOT / "scenarios" / "study-backoff-and-jitter.toml"
PUBLISHED = pathlib.Path(__file__).with_name("published_results.csv")
BACKOFF = "client.writers.retry.backoff."
BIN_S = 0.02
MOST_RUNS = 20  # enough for a mean in each bin; without jitter a run has thousands of them
SHOWN_S = 2.0  # by then nearly all calls have been made
CLIENTS = (10, 20, 50, 100, 200)
BLUE, GREEN, GREY, PURPLE, RED = map(colour_of, ("blue", "green", "grey", "purple", "red"))
# Lines that lie on top of each other show through the gaps of the one above.
DASHES = ["-", (0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (1.5, 1.5)), (0, (9, 3, 3, 3))]
# Word of the jitter, base of the backoff, name for the reader as in published_results.csv, colour.
KINDS = (("none", "0s", "no backoff", GREY), ("none", "5ms", "no jitter", RED),
         ("full", "5ms", "full jitter", BLUE), ("equal", "5ms", "equal jitter", GREEN),
         ("decorrelated", "5ms", "decorrelated jitter", PURPLE))
WORDS = [jitter for jitter, base, *_ in KINDS if base != "0s"]
METRICS = (("attempts", "Calls until all have written", "calls"),
           ("completion_time_s", "Time until all have written", "time"))


def pale(colour):
    """An opaque tint for bands."""
    return tuple(1 - 0.22 * (1 - part) for part in to_rgb(colour))


def seconds_label(value, _position=None):
    for size, scale, unit in ((1, 1, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs"), (0, 1e9, "ns")):
        if value >= size * 0.999999:
            return f"{value * scale:.4g} {unit}"
    return ""


def fail(message, status):
    print(f"study_pictures: error: {message}", file=sys.stderr)
    sys.exit(status)


def run(program, command, out, replications, *arguments):
    line = [str(program), command, str(SCENARIO), *arguments, "--out", str(out), "--quiet",
            "--no-progress", "--force"]
    if replications:
        line += ["--replications", str(replications)]
    # An expectation is for the scenario as it stands: status 1 says that a variant misses it.
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        fail(f"{' '.join(line)}: exit status {done.returncode}: {done.stderr.strip()}", 3)
    return out


def compare_jitter(program, options):
    few = min(options.replications or MOST_RUNS, MOST_RUNS)
    return run(program, "compare", options.out / "jitter", few, "--set",
               f"interval={1000 * BIN_S:g}ms", "--vary", f"{BACKOFF}jitter={','.join(WORDS)}")


def sweep_clients(program, options):
    pairs = ",".join(f"({jitter},{base})" for jitter, base, *_ in KINDS)
    return run(program, "sweep", options.out / "clients", options.replications,
               "--vary", f"{BACKOFF}jitter,{BACKOFF}base={pairs}",
               "--vary", "client.writers.count=" + ",".join(map(str, CLIENTS)))


def arrivals(folder):
    """Kind of jitter -> calls that start in each bin, mean over the replications; the index is
    the start of the bin in seconds."""
    rows = pd.read_csv(folder / "timeseries.csv", usecols=["variant", "replication", "client",
                                                           "time_s", "attempts"])
    rows = rows[rows["client"] == "all"]
    runs = rows["replication"].nunique()
    sums = rows.groupby(["time_s", "variant"])["attempts"].sum().unstack().fillna(0) / runs
    return sums.rename(columns=lambda variant: variant.partition("=")[2])[WORDS]


def work_and_time(folder):
    """(name of the kind, metric) -> table over the number of clients: mean, low, high."""
    summary = pd.read_csv(folder / "summary.csv", dtype=str, keep_default_na=False)
    points = pd.read_csv(folder / "points.csv", dtype=str, keep_default_na=False)
    keys = points.set_index("variant")[[BACKOFF + "jitter", BACKOFF + "base",
                                        "client.writers.count"]]
    found = {}
    for jitter, base, name, _ in KINDS:
        seconds = float(base.rstrip("ms")) * (1e-3 if base.endswith("ms") else 1)
        own = keys[(keys[BACKOFF + "jitter"] == jitter) &
                   (keys[BACKOFF + "base"].astype(float) == seconds)]["client.writers.count"]
        for metric, *_ in METRICS:
            rows = summary[(summary["client"] == "all") & (summary["metric"] == metric) &
                           summary["variant"].isin(own.index)]
            table = rows[["mean", "ci_low", "ci_high"]].apply(pd.to_numeric)
            table.index = [int(own[variant]) for variant in rows["variant"]]
            found[name, metric] = table.sort_index()
    return found


def published():
    """(name of the kind, metric) -> number of clients -> the study's mean."""
    found = {}
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["study"] == "backoff-and-jitter":
                clients, _, name = row["case"].partition(" clients, ")
                found.setdefault((name, row["metric"]), {})[int(clients)] = float(row["value"])
    return found


def headline(figure, title, text):
    inch = 1 / figure.get_figheight()
    figure.text(0.02, 1 - 0.14 * inch, title, fontsize=16, fontweight="bold", va="top")
    figure.text(0.02, 1 - 0.5 * inch, text, fontsize=11, color="#444444", va="top")
    return 1 - 0.85 * inch


def draw_arrivals(table, replications):
    """One panel for each kind, all with one scale."""
    names = {jitter: (name, colour) for jitter, base, name, colour in KINDS if base != "0s"}
    shown = table[table.index < SHOWN_S - BIN_S / 2]
    figure, axes = plt.subplots(len(WORDS), 1, figsize=(10, 9), sharex=True, sharey=True)
    for axis, word in zip(axes, WORDS):
        name, colour = names[word]
        axis.stairs(shown[word], np.append(shown.index, SHOWN_S), color=colour, fill=True)
        later = table[word][table.index >= SHOWN_S - BIN_S / 2].sum()
        axis.set_title(f"{name[0].upper()}{name[1:]}: {table[word].sum():.0f} calls in all, "
                       f"{later:.0f} of them after {SHOWN_S:g} s")
        axis.set_ylabel(f"calls / {1000 * BIN_S:g} ms")
        axis.set_xlim(0, SHOWN_S)
    axes[-1].set_xlabel("time, s")
    top = headline(figure, "100 clients contend for one row: when do they call?",
                   f"means of {replications} replications; one scale for all panels")
    figure.tight_layout(rect=(0, 0, 1, top), h_pad=1.0)
    return figure


def draw_work_and_time(tables, theirs, replications):
    figure, axes = plt.subplots(1, len(METRICS), figsize=(12, 6))
    for axis, (metric, title, label) in zip(axes, METRICS):
        for (_, _, name, colour), dashes in zip(KINDS, DASHES):
            table = tables[name, metric]
            axis.fill_between(table.index, table["ci_low"], table["ci_high"], color=pale(colour),
                              linewidth=0)
            axis.plot(table.index, table["mean"], color=colour, linestyle=dashes)
            points = theirs.get((name, metric), {})
            axis.plot(list(points), list(points.values()), "o", color=colour, markersize=6,
                      markerfacecolor="white", linestyle="none")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(CLIENTS, [str(n) for n in CLIENTS])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_title(title)
        axis.set_xlabel("clients (log scale)")
        axis.set_ylabel(f"{label} (log scale)")
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1].yaxis.set_major_formatter(FuncFormatter(seconds_label))
    entries = [(Line2D([], [], color=colour, linestyle=dashes), name)
               for (*_, name, colour), dashes in zip(KINDS, DASHES)]
    entries.append((Line2D([], [], marker="o", color="black", markerfacecolor="white",
                           linestyle="none"), "published"))
    figure.legend(*zip(*entries), loc="lower center", ncol=len(entries), frameon=False)
    top = headline(figure, "What backoff and jitter cost as more clients contend for one row",
                   f"means of {replications} replications; bands: 95 % intervals")
    figure.tight_layout(rect=(0, 0.06, 1, top), w_pad=2)
    return figure


def replications_of(folder):
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))["replications"]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Draws the study of backoff and jitter: calls over time, and work and time "
                    "against the number of clients.")
    parser.add_argument("--program", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "retrysim")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/study-pictures"),
                        help="folder for results and pictures (default: %(default)s)")
    parser.add_argument("--replications", type=int, help="default: as many as the scenario has")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    options = parser.parse_args(arguments)
    if not os.access(options.program, os.X_OK):
        fail(f"there is no program {options.program}; build it with scripts/build release", 2)
    options.out.mkdir(parents=True, exist_ok=True)
    jitter = compare_jitter(options.program, options)
    clients = sweep_clients(options.program, options)
    with plt.rc_context(STYLE):
        for name, figure in (("arrivals", draw_arrivals(arrivals(jitter),
                                                           replications_of(jitter))),
                             ("work_and_time",
                              draw_work_and_time(work_and_time(clients), published(),
                                                 replications_of(clients)))):
            path = options.out / f"{name}.{options.format}"
            save(figure, path)
            print(path)


if __name__ == "__main__":
    main()
