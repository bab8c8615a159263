"""What the simulation predicts for one more run, and whether the real run agrees.

The prediction interval of a figure lies between two order statistics of the replications: of N
values, the k-th smallest and the k-th largest with k = floor((N + 1) / 40). If the real run were
one more replication, it would lie outside with a probability of at most 2 k / (N + 1), at most 5 %,
whatever the distribution.

SPDX-License-Identifier: MIT
"""

import collections
import csv
import dataclasses
import statistics

METRICS = ("requests", "attempts", "successes", "failures")
FEWEST_REPLICATIONS = 39  # for the smallest and the largest value to be a 95 % interval
CLOSE = 0.02  # of the mean: what a real clock may add
GOAL = 0.95  # share of the figures of phases that must agree


@dataclasses.dataclass(frozen=True)
class Figure:
    """A count in a phase or an interval: as measured, and as predicted."""
    where: str
    metric: str
    real: int
    mean: float
    low: float
    high: float

    @property
    def inside(self):
        return self.low <= self.real <= self.high

    @property
    def close(self):
        return abs(self.real - self.mean) <= CLOSE * self.mean

    @property
    def agrees(self):
        return self.inside or self.close


def interval(values):
    """The 95 % prediction interval for one more value."""
    if len(values) < FEWEST_REPLICATIONS:
        raise ValueError(f"a 95 % prediction interval takes {FEWEST_REPLICATIONS} replications")
    ordered = sorted(values)
    k = (len(ordered) + 1) // 40
    return ordered[k - 1], ordered[-k]


def read_replications(path, client, bins):
    """metric -> [[count of each bin] of each replication], from timeseries.csv. Bins beyond the
    duration are the drain, and left out."""
    counts = {metric: collections.defaultdict(lambda: [0] * bins) for metric in METRICS}
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        times = {}
        for row in rows:
            if row["client"] != client:
                continue
            time = row["time_s"]
            index = times.setdefault(time, len(times))
            if index >= bins:
                continue
            for metric in METRICS:
                counts[metric][row["replication"]][index] = int(row[metric])
    return {metric: list(of_metric.values()) for metric, of_metric in counts.items()}


def count_bins(times_ns, interval_ns, bins):
    """How many of these times lie in each bin."""
    counts = [0] * bins
    for time_ns in times_ns:
        if 0 <= time_ns < bins * interval_ns:
            counts[int(time_ns // interval_ns)] += 1
    return counts


def figure(where, metric, real, replications, first, last):
    """Sums over the bins from `first` until `last`."""
    sums = [sum(r[first:last]) for r in replications[metric]]
    low, high = interval(sums)
    return Figure(where, metric, sum(real[metric][first:last]), statistics.fmean(sums), low, high)


def by_phase(case, real, replications):
    """`real`: metric -> count of each bin."""
    return [figure(phase.name, metric, real, replications, phase.start_ns // case.interval_ns,
                   -(-phase.end_ns // case.interval_ns))
            for phase in case.phases for metric in METRICS]


def by_interval(case, real, replications):
    bins = len(real[METRICS[0]])
    return [figure(f"{i * case.interval_ns / 1e9:g}", metric, real, replications, i, i + 1)
            for i in range(bins) for metric in METRICS]


def share(figures, what):
    return sum(getattr(f, what) for f in figures) / len(figures)


def table(case, figures):
    """Markdown: a row for each phase, a column for each metric."""
    lines = [f"| {case.name} | " + " | ".join(METRICS) + " |",
             "|---|" + "---|" * len(METRICS)]
    cells = {(f.where, f.metric): cell(f) for f in figures}
    for phase in case.phases:
        span = f"{phase.start_ns / 1e9:g} to {phase.end_ns / 1e9:g} s"
        lines.append(f"| {phase.name}, {span} | "
                     + " | ".join(cells[phase.name, metric] for metric in METRICS) + " |")
    return "\n".join(lines)


def cell(f):
    verdict = "" if f.inside else " (within 2 %)" if f.close else " **outside**"
    return f"{f.real} in {f.low:g}..{f.high:g}{verdict}"


def write(path, figures):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["scenario", "where", "metric", "real", "predicted_mean", "predicted_low",
                       "predicted_high", "inside", "agrees"])
        for scenario, f in figures:
            rows.writerow([scenario, f.where, f.metric, f.real, f"{f.mean:.6g}", f"{f.low:g}",
                           f"{f.high:g}", int(f.inside), int(f.agrees)])
