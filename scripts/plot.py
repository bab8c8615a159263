#!/usr/bin/python3
"""Draws what a person would look at first in the results of one run.

    plot.py RESULTS_DIR [--format png|svg|pdf] [--out DIR] [--variant NAME]

overview: load against capacity, success rate, amplification, backlog and latency over time, with
faults, surges and retry storms shaded. latency: quantiles of the whole window and what became of
each attempt. Lines are means over replications; bands reach from the 10 % to the 90 % quantile of
the replications, because a storm in some of them is no normal distribution.

Reads only the files of the result folder; the same files give the same picture, byte for byte.
Exit status: 0 done, 2 bad command line, 3 a result file is missing or wrong, 4 cannot write.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from matplotlib.ticker import FuncFormatter, PercentFormatter  # noqa: E402

# Okabe and Ito's colours: told apart by people with any of the common colour blindnesses.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#666666"
GROUP_COLOURS = [BLUE, RED, GREEN, PURPLE, ORANGE, SKY]
GROUP_STYLES = ["-", "--", "-.", ":"]
TEXT_COLUMNS = ["scenario", "variant", "client", "service", "kind", "verdict"]
RATES = ["requests", "attempts", "successes", "failures"]

STYLE = {
    "svg.hashsalt": "retrysim",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.7,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 10,
}


class ResultError(Exception):
    """A result file is missing or does not hold what it should."""


class Results:
    """The files of one result folder, cut down to one variant."""

    def __init__(self, folder, variant):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ResultError(f"{folder}: no such folder; name one that `retrysim run` wrote")
        self.info = self._read_info()
        names = [v["variant"] for v in self.info["variants"]]
        self.variant = variant or names[0]
        if self.variant not in names:
            raise ResultError(f"{folder}: no variant {self.variant}; there are {', '.join(names)}")
        self.details = self.info["variants"][names.index(self.variant)]
        self.interval = float(self.details["interval_s"])
        self.series = self._read("timeseries.csv", ["replication", "client", "time_s", "requests",
                                                    "attempts", "in_flight"])
        self.service = self._read("service.csv", ["replication", "service", "time_s", "queue_mean"])
        self.storms = self._read("storms.csv", ["storm", "onset_s", "end_s"])
        self.latency = self._read("latency.csv", ["client", "kind", "quantile", "latency_s"])
        self.attempts = self._read("attempts.csv", ["client", "attempt", "sent"])
        if self.series.empty:
            raise ResultError(f"{self.folder / 'timeseries.csv'}: holds no rows to draw")

    def _read_info(self):
        path = self.folder / "result.json"
        try:
            info = json.loads(path.read_text(encoding="utf-8"))
            if not info["variants"]:
                raise KeyError("variants")
            info["scenario"], info["summary"]  # noqa: B018  (they must exist)
            return info
        except FileNotFoundError:
            raise ResultError(f"{path}: is missing; is this a result folder?") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: cannot be used: {error!r}") from None

    def _read(self, name, needed):
        path = self.folder / name
        try:
            # Names are text even where they look like numbers or like "NA"; an empty cell of a
            # number means that the value does not exist.
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
            for column in table.columns.difference(TEXT_COLUMNS):
                table[column] = pd.to_numeric(table[column]).astype(float)
        except FileNotFoundError:
            raise ResultError(f"{path}: is missing; run the scenario again") from None
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: cannot be read: {error}") from None
        missing = [c for c in ["variant"] + needed if c not in table.columns]
        if missing:
            raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
        return table[table["variant"] == self.variant]

    def groups(self):
        """The client groups in file order, without "all"; ["all"] if there is only one."""
        names = [c for c in self.series["client"].unique() if c != "all"]
        return names if len(names) > 1 else ["all"]

    def replications(self):
        return self.series["replication"].nunique()

    def last_activity(self):
        """End of the time worth drawing: a herd may be over long before the run is."""
        rows = self.series
        end = float(rows["time_s"].max()) + self.interval
        busy = rows[(rows["requests"] > 0) | (rows["attempts"] > 0) | (rows["in_flight"] > 0)]
        if busy.empty:
            return end
        active = float(busy["time_s"].max()) + self.interval
        return end if active > 0.6 * end else active * 1.1

    def pivot(self, client, column):
        """One column a replication, time as index. A count after a replication's end is zero."""
        rows = self.series[self.series["client"] == client]
        table = rows.pivot(index="time_s", columns="replication", values=column)
        return table.fillna(0) if column in RATES else table

    def service_pivot(self, service, column):
        rows = self.service[self.service["service"] == service]
        return rows.pivot(index="time_s", columns="replication", values=column)

    def summary(self, metric, client="all"):
        for row in self.info["summary"]:
            if (row["variant"], row["client"], row["metric"]) == (self.variant, client, metric):
                return row
        return None


def draw(axis, table, label, colour, style="-", band=True, step=0.0):
    """Mean over replications with the band between their 10 % and 90 % quantiles."""
    values = table.to_numpy(dtype=float)
    known = ~np.all(np.isnan(values), axis=1)
    if not known.any():
        return
    values = values[known]
    time = table.index.to_numpy(dtype=float)[known] + step / 2  # a bin is drawn at its middle
    axis.plot(time, np.nanmean(values, axis=1), linestyle=style, color=colour, label=label)
    if band and values.shape[1] > 1:
        low, high = np.nanquantile(values, [0.1, 0.9], axis=1)
        axis.fill_between(time, low, high, color=colour, alpha=0.18, linewidth=0)


def ratio(numerator, denominator):
    """Quotient of two tables; undefined where there is nothing to divide by."""
    return numerator / denominator.where(denominator > 0)


def disturbances(results):
    """Windows of faults and surges as (start, end, label); those of equal times are one."""
    windows = {}
    for window in results.details["disturbances"]:
        key = (window["start_s"], window["end_s"], window["kind"])
        windows.setdefault(key, []).append(window["name"])
    for (start, end, kind), names in sorted(windows.items()):
        text = f"{kind} {names[0]}" if len(names) == 1 else f"{len(names)} {kind}s at once"
        yield start, end, text


def shade(axis, results, labels):
    """Faults and surges in grey, storms in yellow, the time outside the window hatched."""
    start, end = results.details["window_start_s"], results.details["window_end_s"]
    last = results.last_activity()
    for low, high, text in ((0, start, "warm-up, not in the summary"),
                            (end, last, "no new requests (drain)")):
        if high - low > 1e-9:
            axis.axvspan(low, high, facecolor="none", edgecolor="#BBBBBB", hatch="//", linewidth=0,
                         label=text if labels else None)
    for low, high, text in disturbances(results):
        axis.axvspan(low, min(high, last), color="#999999", alpha=0.35, linewidth=0,
                     label=text if labels else None)
    runs = results.replications()
    for number, rows in results.storms.groupby(results.storms["storm"].astype(int)):
        onset = rows["onset_s"].median()
        until = rows["end_s"].fillna(end).median()
        text = f"retry storm {number} (median; in {len(rows)} of {runs})"
        axis.axvspan(onset, max(until, onset), color=YELLOW, alpha=0.30, linewidth=0,
                     label=text if labels else None, zorder=0.5)
    axis.set_xlim(0, last)


def group_styles(results):
    for i, name in enumerate(results.groups()):
        colour = GROUP_COLOURS[i % len(GROUP_COLOURS)]
        yield name, colour, GROUP_STYLES[i % len(GROUP_STYLES)]


def capacity_of(results, service):
    """Attempts per second that a service can finish over time; None without a limit."""
    if not service["capacity_per_s"]:
        return None
    servers = results.service_pivot(service["name"], "servers").mean(axis=1)
    capacity = servers / service["mean_service_time_s"]
    for window in results.details["disturbances"]:
        if window.get("service") == service["name"]:
            inside = (capacity.index >= window["start_s"]) & (capacity.index < window["end_s"])
            capacity = capacity.where(~inside, capacity * window.get("speed", 1))
    return capacity


def draw_capacities(axis, results):
    """One line for each service, or one for all where they are equal; returns the highest value."""
    services = results.details["services"]
    lines = [(s["name"], capacity_of(results, s)) for s in services]
    lines = [(name, line) for name, line in lines if line is not None]
    if not lines:
        return 0
    first = lines[0][1]
    if len(lines) == len(services) and all(np.allclose(line, first) for _, line in lines):
        lines = [("each service", first)] if len(services) > 1 else [("", first)]
    for (name, line), style in zip(lines, [(0, (4, 2)), (0, (1, 1)), (0, (6, 1, 1, 1))] * 10):
        axis.step(line.index, line, color="black", linestyle=style, where="post", linewidth=1.5,
                  label=f"capacity of {name}" if name else "capacity")
    return max(line.max() for _, line in lines)


def draw_load(axis, results):
    width = results.interval
    if len(results.details["services"]) > 1:
        # The sum over services says nothing about the load of any of them.
        for name, colour, style in group_styles(results):
            draw(axis, results.pivot(name, "attempts") / width, f"attempts of {name}", colour,
                 style, step=width)
        axis.set_title("Attempts sent by each client group, against capacity")
    else:
        for column, label, colour in (("attempts", "attempts sent", RED),
                                      ("requests", "requests submitted", BLUE),
                                      ("successes", "goodput (requests that succeed)", GREEN)):
            draw(axis, results.pivot("all", column) / width, label, colour, step=width)
        axis.set_title("Load against capacity")
    top = axis.get_ylim()[1]
    highest = draw_capacities(axis, results)
    axis.set_ylim(0, max(top, min(highest * 1.1, top * 3)))
    axis.set_ylabel("rate [1/s]")


def draw_success(axis, results):
    for name, colour, style in group_styles(results):
        ok, failed = results.pivot(name, "successes"), results.pivot(name, "failures")
        draw(axis, ratio(ok, ok + failed), name, colour, style, step=results.interval)
    axis.set_ylim(-0.03, 1.03)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=""))
    axis.set_title("Success rate of the requests that end")
    axis.set_ylabel("successes [%]")


def draw_amplification(axis, results):
    highest = 1.0
    for name, colour, style in group_styles(results):
        attempts, requests = results.pivot(name, "attempts"), results.pivot(name, "requests")
        # Retries follow their request: sums over 10 bins compare like with like, and where hardly
        # any request was new, as in the drain, the quotient says nothing.
        attempts = attempts.rolling(10, min_periods=1).sum()
        requests = requests.rolling(10, min_periods=1).sum()
        inside = requests.index < results.details["window_end_s"] - 1e-9
        table = ratio(attempts[inside], requests[inside])
        draw(axis, table, name, colour, style, step=results.interval)
        if table.notna().any(axis=None):
            highest = max(highest, float(table.mean(axis=1).max()))
    axis.axhline(1, color="black", linewidth=0.9, linestyle=":")
    axis.set_ylim(0, highest * 1.25)
    axis.set_title("Amplification (sums over 10 bins)")
    axis.set_ylabel("attempts / request")


def draw_backlog(axis, results):
    names = [s["name"] for s in results.details["services"]]
    for i, name in enumerate(names):
        draw(axis, results.service_pivot(name, "queue_mean"),
             "waiting at the service" if len(names) == 1 else f"waiting at {name}",
             GROUP_COLOURS[i % len(GROUP_COLOURS)], step=results.interval)
    draw(axis, results.pivot("all", "in_backoff"), "in backoff at the clients", ORANGE, "--",
         step=results.interval)
    waiting = results.pivot("all", "limiter_waiting")
    if waiting.to_numpy().max(initial=0) > 0:
        draw(axis, waiting, "waiting for a send token", PURPLE, ":", step=results.interval)
    axis.set_ylim(bottom=0)
    axis.set_title("Who waits where")
    axis.set_ylabel("number waiting")


def seconds_label(value, _position=None):
    for size, scale, unit in ((1, 1, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs"), (0, 1e9, "ns")):
        if value >= size * 0.999999:
            return f"{value * scale:.4g} {unit}"
    return ""


def draw_latency(axis, results):
    groups = list(group_styles(results))
    title = "Latency of the requests that end, failures included (log scale)"
    for name, colour, style in groups:
        p99, step = results.pivot(name, "latency_p99_s"), results.interval
        if len(groups) > 2:  # ten lines would be a tangle
            draw(axis, p99, name, colour, style, step=step)
            title = "99 % quantile of the latency of the requests that end (log scale)"
            continue
        lead = "" if name == "all" else f"{name} "
        draw(axis, results.pivot(name, "latency_p50_s"), f"{lead}median", colour, "-", step=step)
        draw(axis, p99, f"{lead}p99", ORANGE if name == "all" else colour,
             "-" if name == "all" else "--", step=step)
    values = results.series[["latency_p50_s", "latency_p99_s"]].to_numpy()
    positive = values[values > 0]  # an immediate rejection takes no time at all
    if positive.size:
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(np.quantile(positive, 0.001) / 1.5, positive.max() * 1.5)
        axis.yaxis.set_major_formatter(FuncFormatter(seconds_label))
    axis.set_title(title)
    axis.set_ylabel("latency")


def put_headline(figure, results, note):
    """Name, description and what the lines are; returns the share of the height they leave."""
    name = results.info["scenario"]
    if results.variant != "base":
        name = f"{name}: {results.variant}"
    runs = results.replications()
    text = f"{runs} replication{'s' if runs != 1 else ''}, seed {results.details['seed']}"
    if note and runs > 1:
        text += f"; {note}"
    if results.info.get("description"):
        text = f"{results.info['description']}\n{text}"
    inch = 1 / figure.get_figheight()
    figure.text(0.02, 1 - 0.14 * inch, name, fontsize=17, fontweight="bold", va="top")
    figure.text(0.02, 1 - 0.50 * inch, text, fontsize=11, color="#444444", va="top")
    return 1 - (0.80 + 0.18 * text.count("\n")) * inch


def overview(results):
    figure = plt.figure(figsize=(16 / 1.5, 20 / 1.5))
    # The second row holds the legend of the first: up to a dozen entries would hide its lines.
    rows = figure.add_gridspec(6, 1, height_ratios=[1.6, 0.32, 0.9, 1, 1, 1.1])
    first = figure.add_subplot(rows[0])
    axes = [first] + [figure.add_subplot(rows[i], sharex=first) for i in range(2, 6)]
    drawers = (draw_load, draw_success, draw_amplification, draw_backlog, draw_latency)
    for axis, drawer in zip(axes, drawers):
        drawer(axis, results)
        lines = len(axis.get_legend_handles_labels()[0])
        shade(axis, results, labels=axis is first)
        # More than two groups are named once, in the same colours and styles.
        named = drawer in (draw_amplification, draw_latency) and len(results.groups()) > 2
        if axis is not first and not named and (lines > 1 or results.groups() != ["all"]):
            axis.legend(loc="best" if drawer is draw_latency else "upper right",
                        ncol=1 if lines < 4 else 3, fontsize=9)
        if axis is not axes[-1]:
            axis.tick_params(labelbottom=False)
    legend = figure.add_subplot(rows[1])
    legend.axis("off")
    handles, names = first.get_legend_handles_labels()
    legend.legend(handles, names, loc="center", borderaxespad=0, ncol=3 if len(names) <= 12 else 4,
                  fontsize=10 if len(names) <= 9 else 9)
    axes[-1].set_xlabel("simulated time [s]")
    top = put_headline(figure, results, "lines: mean, bands: 10 % to 90 % of the replications")
    figure.tight_layout(rect=(0, 0, 1, top), h_pad=0.6)
    figure.align_ylabels(axes)
    return figure


KINDS = (("request", "whole request"), ("request_ok", "successful requests"),
         ("attempt", "one attempt, as the client sees it"), ("service", "queue and service"))


def draw_quantiles(axis, results):
    rows = results.latency[results.latency["client"] == "all"]
    for (kind, label), colour, style in zip(KINDS, (BLUE, GREEN, ORANGE, PURPLE),
                                            ("-", "--", "-.", ":")):
        part = rows[rows["kind"] == kind].sort_values("quantile")
        part = part[part["latency_s"] > 0]
        if part.empty:
            continue
        x = -np.log10(1 - part["quantile"])
        axis.plot(x, part["latency_s"], style, marker="o", markersize=3.5, color=colour,
                  label=label)
        axis.fill_between(x, part["ci_low_s"].clip(lower=part["latency_s"].min() / 10),
                          part["ci_high_s"], color=colour, alpha=0.18, linewidth=0)
    ticks = [0.5, 0.9, 0.99, 0.999]
    axis.set_xticks([-np.log10(1 - q) for q in ticks], [f"{q * 100:g} %" for q in ticks])
    if axis.lines:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(FuncFormatter(seconds_label))
        axis.legend(loc="best")
    axis.set_title("Latency quantiles (bands: 95 % intervals)")
    axis.set_xlabel("share of values at or below [%]")
    axis.set_ylabel("latency")


def draw_attempts(axis, results):
    rows = results.attempts[results.attempts["client"] == "all"].sort_values("attempt")
    rows = rows.head(12)  # unlimited retries have a long tail of little interest
    bottom = np.zeros(len(rows))
    parts = (("successes", GREEN, ""), ("throttled", ORANGE, "//"), ("errors", RED, "\\\\"),
             ("timeouts", PURPLE, ".."))
    rest = rows["sent"] - sum(rows[c] for c, _, _ in parts)
    for column, colour, hatch in parts:
        if rows[column].sum() > 0:
            axis.bar(rows["attempt"], rows[column], bottom=bottom, color=colour, hatch=hatch,
                     edgecolor="white", linewidth=0.5, label=column)
        bottom = bottom + rows[column].to_numpy()
    if rest.sum() > 0.5:
        axis.bar(rows["attempt"], rest, bottom=bottom, color="#BBBBBB", edgecolor="white",
                 linewidth=0.5, label="given up at the deadline, or unfinished")
    axis.set_xticks(rows["attempt"])
    if len(rows) and rows["sent"].max() > 100 * max(rows["sent"].min(), 1):
        axis.set_yscale("symlog", linthresh=max(rows["sent"].min(), 1))
    if axis.containers:
        axis.margins(y=0.4)  # room for the legend above the bars
        axis.legend(loc="upper right")
    axis.grid(axis="x", visible=False)
    axis.set_title("What became of each attempt")
    axis.set_xlabel("attempt number (1 is the first)")
    axis.set_ylabel("attempts per replication")


def latency(results):
    figure, axes = plt.subplots(1, 2, figsize=(16 / 1.5, 7 / 1.2))
    draw_quantiles(axes[0], results)
    draw_attempts(axes[1], results)
    figure.tight_layout(rect=(0, 0, 1, put_headline(figure, results, "")))
    return figure


def save(figure, path):
    """Writes beside the target and renames, so that a picture is whole or absent."""
    kind = path.suffix[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None},
                "pdf": {"CreationDate": None}}[kind]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(beside, format=kind, dpi=150, metadata=metadata)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
        plt.close(figure)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="plot.py", allow_abbrev=False,
        description="Draws the results of one run: overview and latency pictures.")
    parser.add_argument("results", metavar="RESULTS_DIR", help="folder that `retrysim run` wrote")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png",
                        help="kind of picture (default: png)")
    parser.add_argument("--out", metavar="DIR", help="where to put the pictures (default: "
                        "the result folder)")
    parser.add_argument("--variant", metavar="NAME", help="which variant to draw (default: the "
                        "first)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        results = Results(options.results, options.variant)
    except ResultError as error:
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 3
    out = Path(options.out or options.results)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with plt.rc_context(STYLE):
            for name, draw_figure in (("overview", overview), ("latency", latency)):
                path = out / f"{name}.{options.format}"
                save(draw_figure(results), path)
                print(path)
    except OSError as error:
        print(f"plot.py: error: cannot write {out}: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
