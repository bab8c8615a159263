#!/usr/bin/python3
"""Draws what a person would look at first in the results of one run.

    plot.py RESULTS_DIR [--format png|svg|pdf] [--out DIR] [--variant NAME]

overview: load against capacity for each service, then goodput, success rate, amplification, latency
and who waits where, over the time in which anything happens; faults, surges and retry storms are
shaded. latency: quantiles of the whole window and what became of the attempts. A client group has
one colour everywhere. Lines are means over replications; bands reach from the 10 % to the 90 %
quantile of the replications, because a storm in some of them is no normal distribution.

Results of `retrysim compare` have a third picture, compare: the differences from the baseline.
Those of `retrysim sweep` have one, sweep: metrics over the varied keys, as lines with their
intervals (one key) or heat maps (two); those of `retrysim tip` tip or hysteresis.

Reads only the files of the result folder; the same files give the same picture, byte for byte.
Exit status: 0 done, 2 bad command line, 3 a result file is missing or wrong, 4 cannot write.

SPDX-License-Identifier: MIT
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
import numpy as np  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, PercentFormatter  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))  # also when loaded from elsewhere
from plot_comparison import comparison_figure  # noqa: E402
from plot_file import save  # noqa: E402
from plot_results import (ResultError, Results, concerns, disturbances, outside,  # noqa: E402
                          seconds_label, storms, verdict)
from plot_sweep import sweep_figure  # noqa: E402
from plot_tip import tip_figures  # noqa: E402

# Okabe and Ito's colours: told apart by people with any of the common colour blindnesses.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#666666"
GROUP_COLOURS = [BLUE, RED, GREEN, PURPLE, ORANGE, SKY]
LIMIT_STYLE = (0, (4, 2))
FAULT = {"color": "#999999", "alpha": 0.35, "linewidth": 0}
STORM = {"color": YELLOW, "alpha": 0.30, "linewidth": 0}
OUTSIDE = {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "//", "linewidth": 0}

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


def draw(axis, table, label, colour, style="-", band=True, width=1.7, step=0.0):
    """Mean over replications with the band between their 10 % and 90 % quantiles."""
    values = table.to_numpy(dtype=float)
    known = ~np.all(np.isnan(values), axis=1)
    if not known.any():
        return
    values = values[known]
    time = table.index.to_numpy(dtype=float)[known] + step / 2  # a bin is drawn at its middle
    axis.plot(time, np.nanmean(values, axis=1), linestyle=style, color=colour, label=label,
              linewidth=width)
    if band and values.shape[1] > 1:
        low, high = np.nanquantile(values, [0.1, 0.9], axis=1)
        axis.fill_between(time, low, high, color=colour, alpha=0.18, linewidth=0)


def ratio(numerator, denominator):
    """Quotient of two tables; undefined where there is nothing to divide by."""
    return numerator / denominator.where(denominator > 0)


def group_styles(results):
    """(name, keyword arguments of draw) of each group, the same in all panels.

    Groups that behave alike lie on top of each other: each line is thinner than the one before, so
    that all can be seen. Bands of more than three groups would hide each other.
    """
    names = results.groups()
    for i, name in enumerate(names):
        width = 1.7 if len(names) == 1 else max(1.0, 2.6 - i * min(0.8, 1.6 / (len(names) - 1)))
        yield name, {"colour": GROUP_COLOURS[i % len(GROUP_COLOURS)], "width": width,
                     "style": "-" if i < len(GROUP_COLOURS) else (0, (5, 1.5)),
                     "band": len(names) <= 3, "step": results.interval}


def draw_groups(axis, results, table_of):
    for name, style in group_styles(results):
        draw(axis, table_of(name), name, **style)


def shade(axis, results, service=None):
    """Faults and surges in grey, storms in yellow, the time outside the window hatched."""
    last = results.last_activity()
    for low, high, _ in outside(results):
        axis.axvspan(low, high, **OUTSIDE)
    for low, high, _ in disturbances(results, service):
        axis.axvspan(low, min(high, last), **FAULT)
    if len(results.details["services"]) == 1:
        for low, high, _ in storms(results):
            axis.axvspan(low, max(low, high), zorder=0.5, **STORM)
    axis.set_xlim(0, last)
    axis.set_xlabel("simulated time [s]")


def limit_of(results, service):
    """What bounds a service, and the attempts per second that it allows over time, if limited."""
    rate = results.key(f"service.{service['name']}.throttle.rate", "unlimited")
    if results.key(f"service.{service['name']}.throttle.scope", "service") != "service":
        rate = "unlimited"
    servers = results.service_pivot(service["name"], "servers").mean(axis=1)
    if not service["capacity_per_s"]:
        return ("throttle rate", servers.fillna(0) * 0 + rate) if rate != "unlimited" else None
    capacity = servers / service["mean_service_time_s"]
    for window in results.details["disturbances"]:
        if window["kind"] == "fault" and concerns(results, window, service["name"]):
            middle = capacity.index + results.interval / 2
            inside = (middle >= window["start_s"]) & (middle < window["end_s"])
            capacity = capacity.where(~inside, capacity * window.get("speed", 1))
    if rate != "unlimited" and rate < service["capacity_per_s"]:
        return "capacity, at most the throttle rate", capacity.clip(upper=rate)
    return "capacity", capacity


def draw_load(axis, results, service):
    """Attempts and requests of the groups that call one service, against what it can serve."""
    names, styles = results.callers(service["name"]), dict(group_styles(results))

    def rate(column, name):
        return results.pivot(name, column) / results.interval

    if names and (len(names) == 1 or len(results.details["services"]) > 1):
        draw(axis, sum(rate("requests", n) for n in names), "requests", GREY, width=1.2, band=False,
             step=results.interval)
    if results.groups() == names and len(names) == 1:
        draw(axis, rate("attempts", names[0]), "attempts", RED, step=results.interval)
        draw(axis, rate("successes", names[0]), "goodput", GREEN, step=results.interval)
    else:
        if len(names) > 1:
            draw(axis, sum(rate("attempts", n) for n in names), "all groups", "black", width=1.2,
                 step=results.interval)
        for name in names:
            draw(axis, rate("attempts", name), name, **{**styles[name], "width": 1.7})
    limit = limit_of(results, service)
    if limit:
        axis.step(limit[1].index, limit[1], color="black", linestyle=LIMIT_STYLE, where="post",
                  linewidth=1.5)
    shade(axis, results, service["name"])
    return 0 if limit is None else float(limit[1].max())


def scale_loads(axes, limits):
    """One scale for all; logarithmic above the limit where a herd would flatten all the rest."""
    top = max([line.get_ydata().max() for a in axes for line in a.lines if len(line.get_ydata())]
              + limits)
    limit = max(limits)
    for axis in axes:
        if limit > 0 and top > 12 * limit:
            axis.set_yscale("symlog", linthresh=limit)
            axis.set_yticks([0, limit] + [10.0 ** n for n in range(1, 10) if
                                          2 * limit < 10.0 ** n <= top * 1.5])
            axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            axis.set_ylabel("rate [1/s] (log)")
        else:
            axis.set_ylabel("rate [1/s]")
        axis.set_ylim(0, max(top, 1e-9) * (1.5 if top > 12 * limit > 0 else 1.08))


def draw_goodput(axis, results):
    draw_groups(axis, results, lambda name: results.pivot(name, "successes") / results.interval)
    axis.set_ylim(bottom=0)
    axis.set_title("Goodput: requests that succeed")
    axis.set_ylabel("rate [1/s]")


def draw_success(axis, results):
    def table(name):
        ok, failed = results.pivot(name, "successes"), results.pivot(name, "failures")
        return ratio(ok, ok + failed)

    draw_groups(axis, results, table)
    axis.set_ylim(-0.03, 1.05)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=""))
    axis.set_title("Success rate of the requests that end")
    axis.set_ylabel("successes [%]")


def draw_amplification(axis, results):
    everyone = results.pivot("all", "requests").mean(axis=1)
    everyone = everyone[everyone.index < results.last_activity()]
    # Retries follow their request: sums over 10 bins compare like with like, and where hardly any
    # request was new, as in the drain, the quotient says nothing. After a herd that is everywhere.
    herd = (everyone > 0).mean() < 0.5
    end = np.inf if herd else results.details["window_end_s"] - 1e-9

    def table(name):
        both = [results.pivot(name, column) for column in ("attempts", "requests")]
        both = [t.cumsum() if herd else t.rolling(10, min_periods=1).sum() for t in both]
        return ratio(*[t[t.index < end] for t in both])

    draw_groups(axis, results, table)
    axis.axhline(1, color="black", linewidth=0.9, linestyle=":")
    top = max((np.nanmax(line.get_ydata()) for line in axis.lines), default=1)
    axis.set_ylim(0, max(top * 1.15, 1.6))
    axis.set_title("Amplification (since the start)" if herd else "Amplification (over 10 bins)")
    axis.set_ylabel("attempts / request")


def draw_queues(axis, results):
    styles = dict(group_styles(results))
    for service in results.details["services"]:
        names = results.callers(service["name"])
        style = styles[names[0]] if len(names) == 1 else {
            "colour": "black", "width": 1.4, "step": results.interval}
        waiting, in_service = results.waiting_at(service["name"])
        draw(axis, waiting, service["name"] + (" (in service)" if in_service else ""), **style)
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title("In the queue of each service")
    axis.set_ylabel("attempts")


def draw_clients(axis, results):
    """Backoff, and waiting for send tokens where there is any."""
    draw_groups(axis, results, lambda name: results.pivot(name, "in_backoff"))
    title = "In backoff at the clients"
    if results.series["limiter_waiting"].max() > 0:
        for name, style in group_styles(results):
            waiting = results.pivot(name, "limiter_waiting")
            if (waiting > 0).any(axis=None):
                draw(axis, waiting, None, **{**style, "style": (0, (2, 1)), "band": False})
        title = "In backoff; dashed: waiting for a send token"
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title(title)
    axis.set_ylabel("requests")


def draw_waiting(axis, results):
    """The view of a single group and service: who waits where."""
    step = results.interval
    waiting, in_service = results.waiting_at(results.details["services"][0]["name"])
    draw(axis, waiting, "in service" if in_service else "in the queue", BLUE, step=step)
    draw(axis, results.pivot("all", "in_backoff"), "in backoff", ORANGE, step=step)
    if results.series["limiter_waiting"].max() > 0:
        draw(axis, results.pivot("all", "limiter_waiting"), "for a send token", PURPLE, step=step)
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title("Waiting")
    axis.set_ylabel("number waiting")
    entries_above(axis)


def entries_above(axis):
    """The legend beside the title, where no data can be."""
    count = len(axis.get_legend_handles_labels()[0])
    if count == 0:
        return
    axis.legend(loc="lower right", bbox_to_anchor=(1.01, 1.0), ncol=count, borderaxespad=0.1,
                frameon=False, fontsize=9, handlelength=1.4, columnspacing=1.0)


def scale_latencies(axis):
    """Logarithmic over the lines drawn; an immediate rejection takes no time at all."""
    values = np.concatenate([line.get_ydata() for line in axis.lines] or [[]])
    positive = values[values > 0]
    if not positive.size:
        return
    low, high = np.quantile(positive, 0.002) / 1.4, positive.max() * 1.4
    axis.set_yscale("log", nonpositive="clip")
    if high < 200 * low:
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_ylim(low, high)
    axis.yaxis.set_major_formatter(FuncFormatter(seconds_label))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda _value, _position: ""))


def draw_latency(axis, results):
    """p99 of each group; of a single one the median as well."""
    if len(results.groups()) > 1:
        draw_groups(axis, results, lambda name: results.pivot(name, "latency_p99_s"))
        axis.set_title("p99 latency of the requests that end")
    else:
        for column, label, colour in (("latency_p50_s", "median", BLUE),
                                      ("latency_p99_s", "p99", ORANGE)):
            draw(axis, results.pivot("all", column), label, colour, step=results.interval)
        axis.set_title("Latency of requests that end")
        entries_above(axis)
    scale_latencies(axis)
    axis.set_ylabel("latency (log scale)")


def put_headline(figure, results, note):
    """Name, description and what the lines are; returns the share of the height they leave."""
    name = results.info["scenario"]
    if results.variant != "base":
        name = f"{name}: {results.variant}"
    runs = results.replications()
    text = f"{runs} replication{'s' if runs != 1 else ''}, seed {results.details['seed']}"
    if note and runs > 1:
        text += f"; {note}"
    if len(results.details["services"]) > 1:
        for onset, until, storm in storms(results) if note else ():
            ended = until < results.details["window_end_s"]
            window = f"{onset:g} to {until:g} s" if ended else f"from {onset:g} s on"
            text += f"\nall services together: {storm}, {window} (median)"
    if results.info.get("description"):
        text = f"{results.info['description']}\n{text}"
    inch = 1 / figure.get_figheight()
    figure.text(0.02, 1 - 0.14 * inch, name, fontsize=17, fontweight="bold", va="top")
    figure.text(0.02, 1 - 0.50 * inch, text, fontsize=11, color="#444444", va="top")
    return 1 - (0.80 + 0.18 * text.count("\n")) * inch


def line_entries(results):
    """What the colours of lines mean: the groups with their fate, or what a lone group does."""
    groups = list(group_styles(results))
    if len(groups) == 1:
        return [(Line2D([], [], color=RED), "attempts sent"),
                (Line2D([], [], color=GREY, linewidth=1.2), "requests submitted"),
                (Line2D([], [], color=GREEN), "goodput: requests that succeed")]
    return [(Line2D([], [], color=style["colour"], linestyle=style["style"], linewidth=3),
             f"{name}: {verdict(results, name)}" if verdict(results, name) else name)
            for name, style in groups]


def common_entries(results):
    """Lines that belong to no group, and shades, each once."""
    services = results.details["services"]
    if len(services) > 1:
        yield Line2D([], [], color=GREY, linewidth=1.2), "requests submitted"
    if any(len(results.callers(s["name"])) > 1 for s in services):
        yield Line2D([], [], color="black", linewidth=1.2), "attempts of all groups together"
    kinds = dict.fromkeys(limit[0] for limit in (limit_of(results, s) for s in services) if limit)
    if kinds:
        text = " or ".join(kinds) + (" of each service" if len(services) > 1 else "")
        yield Line2D([], [], color="black", linestyle=LIMIT_STYLE, linewidth=1.5), text
    windows = list(disturbances(results))
    if len(windows) > 4:
        windows = [(0, 0, f"{len(windows)} faults and surges")]
    for _, _, text in windows:
        yield Patch(**FAULT), text
    storm = list(storms(results)) if len(services) == 1 else []
    if storm:
        yield Patch(**STORM), storm[0][2] if len(storm) == 1 else f"{len(storm)} retry storms"
    for _, _, text in outside(results):
        yield Patch(**OUTSIDE), text


def put_legends(figure, results):
    """Two blocks side by side, or stacked where long names leave no room, outside all panels.

    Returns them as (legend, left edge as a share of the width, inches below the top), to be placed
    once the height of the figure is known, and the inches that they need.
    """
    blocks = [line_entries(results), list(common_entries(results))]
    renderer, placed, left, below, height = figure.canvas.get_renderer(), [], 0.02, 0.0, 0.0
    for entries in filter(None, blocks):
        for columns in (3, 2, 1) if placed or len(entries) > 8 else (1,):
            legend = figure.legend(*zip(*entries), loc="upper left", fontsize=10, ncol=columns,
                                   borderaxespad=0, borderpad=0, columnspacing=1.5)
            size = legend.get_window_extent(renderer)
            wide, high = size.width / figure.bbox.width, size.height / figure.dpi
            if left + wide < 0.99 or (columns == 1 and not placed):
                break
            if columns == 1:
                left, below = 0.02, height + 0.05
                break
            legend.remove()
        placed.append((legend, left, below))
        left, height = left + wide + 0.04, max(height, below + high)
    return placed, height + 0.15


def draw_loads(figure, grid, results, abreast):
    """One panel for each service; all have the same scale."""
    services, axes, limits = results.details["services"], [], []
    for i, service in enumerate(services):
        row, column = divmod(i, abreast)
        span = 6 // abreast
        axis = figure.add_subplot(grid[row, column * span:(column + 1) * span])
        limits.append(draw_load(axis, results, service))
        axes.append(axis)
        callers = results.callers(service["name"])
        if len(services) == 1:
            fate = verdict(results, callers[0]) if len(callers) == 1 else ""
            axis.set_title("Load against capacity" + (f": {fate}" if fate else ""))
        elif callers == [service["name"]]:
            axis.set_title(f"Load of {service['name']}")
        else:
            axis.set_title(f"Load of {service['name']} by {', '.join(callers) or 'nobody'}")
    scale_loads(axes, limits)


def overview(results):
    drawers = [draw_goodput, draw_success, draw_amplification, draw_latency, draw_queues,
               draw_clients]
    if len(results.groups()) == 1 and len(results.details["services"]) == 1:
        drawers = [draw_success, draw_amplification, draw_waiting, draw_latency]
    services = len(results.details["services"])
    abreast = {1: 1, 2: 2, 4: 2}.get(services, 3)
    loads = -(-services // abreast)
    heights = [3.2 if services == 1 else 2.4] * loads + [2.4] * (len(drawers) // 2)
    figure = plt.figure(figsize=(16 / 1.5, 10))
    legends, legend_inches = put_legends(figure, results)
    figure.set_figheight(round(sum(heights) + 1.0 + legend_inches, 2))
    grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
    draw_loads(figure, grid, results, abreast)
    for i, drawer in enumerate(drawers):
        row, column = divmod(i, 2)
        axis = figure.add_subplot(grid[loads + row, column * 3:column * 3 + 3])
        drawer(axis, results)
        shade(axis, results)
    note = "lines: means" + ("" if len(results.groups()) > 3 else
                             ", bands: 10 % to 90 % of the replications")
    top = put_headline(figure, results, note)
    inch = 1 / figure.get_figheight()
    for legend, left, below in legends:
        legend.set_bbox_to_anchor((left, top - below * inch), transform=figure.transFigure)
    figure.tight_layout(rect=(0, 0, 1, top - legend_inches * inch), h_pad=1.0)
    return figure


KINDS = (("request", "whole request"), ("request_ok", "successful requests"),
         ("attempt", "one attempt, as the client sees it"), ("service", "queue and service"))


def draw_quantiles(axis, results):
    """Of a lone group what its latency is made of; of several the whole requests of each."""
    groups = list(group_styles(results))
    lines = [("all", *kind, colour, style, 1.7) for kind, colour, style in
             zip(KINDS, (BLUE, GREEN, ORANGE, PURPLE), ("-", "--", "-.", ":"))]
    if len(groups) > 1:
        lines = [(name, "request", name, s["colour"], s["style"], s["width"]) for name, s in groups]
    for client, kind, label, colour, style, width in lines:
        part = results.latency[(results.latency["client"] == client) &
                               (results.latency["kind"] == kind)].sort_values("quantile")
        part = part[part["latency_s"] > 0]
        if part.empty:
            continue
        x = -np.log10(1 - part["quantile"])
        axis.plot(x, part["latency_s"], linestyle=style, linewidth=width, marker="o",
                  markersize=2 * width, color=colour, label=label)
        axis.fill_between(x, part["ci_low_s"].clip(lower=part["latency_s"].min() / 10),
                          part["ci_high_s"], color=colour, alpha=0.18, linewidth=0)
    ticks = [0.5, 0.9, 0.99, 0.999]
    axis.set_xticks([-np.log10(1 - q) for q in ticks], [f"{q * 100:g} %" for q in ticks])
    if axis.lines:
        scale_latencies(axis)
        entries_below(axis, list(zip(*axis.get_legend_handles_labels())))
    axis.set_title("Latency of whole requests" if len(groups) > 1 else "Latency quantiles")
    axis.set_xlabel("share of values at or below [%]; bands: 95 % intervals")
    axis.set_ylabel("latency (log scale)")


# Of a lone group outcomes are told apart by colour, of several by hatch and shade of their colours.
OUTCOMES = (("successes", GREEN, "", 1.0), ("throttled", ORANGE, "//", 0.6),
            ("errors", RED, "\\\\", 0.45), ("timeouts", PURPLE, "..", 0.3))


def outcome_parts(rows):
    """(label, numbers, colour, hatch, shade) of what became of attempts; where there is any."""
    parts = [(column, rows[column], *look) for column, *look in OUTCOMES]
    rest = rows["sent"] - sum(numbers for _, numbers, *_ in parts)
    parts.append(("given up at the deadline, or unfinished", rest, "#BBBBBB", "", 0.15))
    return [part for part in parts if part[1].sum() > 1e-4 * rows["sent"].sum()]


def draw_attempts_by_group(axis, results):
    """All attempts of each group, for one request."""
    groups, rows = results.groups(), results.attempts
    colours = [style["colour"] for _, style in group_styles(results)]
    sums = rows.groupby("client").sum(numeric_only=True).reindex(groups).fillna(0)
    first = rows[rows["attempt"] == 1].set_index("client")["sent"].reindex(groups)
    first, left, entries = first.fillna(1).clip(lower=1), np.zeros(len(groups)), []
    for label, numbers, _, hatch, shade in outcome_parts(sums):
        widths = (numbers / first).to_numpy()
        axis.barh(range(len(groups)), widths, left=left, color=colours, hatch=hatch, alpha=shade,
                  edgecolor="white", linewidth=0.5)
        left = left + widths
        entries.append((Patch(facecolor="black", alpha=shade, hatch=hatch, edgecolor="white"),
                        label))
    axis.set_yticks(range(len(groups)), groups)
    axis.invert_yaxis()
    axis.axvline(1, color="black", linewidth=0.9, linestyle=":")
    axis.grid(axis="y", visible=False)
    entries_below(axis, entries)
    axis.set_title("What became of the attempts")
    axis.set_ylabel("client group")
    axis.set_xlabel("attempts / request that was sent")


def draw_attempts(axis, results):
    """Attempts of a lone group by their number."""
    rows = results.attempts[results.attempts["client"] == "all"].sort_values("attempt")
    rows = rows.head(12)  # unlimited retries have a long tail of little interest
    bottom = np.zeros(len(rows))
    for label, numbers, colour, hatch, _ in outcome_parts(rows):
        axis.bar(rows["attempt"], numbers, bottom=bottom, color=colour, hatch=hatch,
                 edgecolor="white", linewidth=0.5, label=label)
        bottom = bottom + numbers.to_numpy()
    axis.set_xticks(rows["attempt"])
    if len(rows) and rows["sent"].max() > 100 * max(rows["sent"].min(), 1):
        axis.set_yscale("symlog", linthresh=max(rows["sent"].min(), 1))
    axis.grid(axis="x", visible=False)
    entries_below(axis, list(zip(*axis.get_legend_handles_labels())))
    axis.set_title("What became of each attempt")
    axis.set_xlabel("attempt number (1 is the first)")
    axis.set_ylabel("attempts per replication")


def entries_below(axis, entries):
    """The legend below the axis, where no data can be."""
    if entries:
        axis.legend(*zip(*entries), loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False,
                    ncol=3 if len(entries) > 4 else 2)


def latency(results):
    figure, axes = plt.subplots(1, 2, figsize=(16 / 1.5, 7.6 / 1.2))
    draw_quantiles(axes[0], results)
    (draw_attempts if len(results.groups()) == 1 else draw_attempts_by_group)(axes[1], results)
    figure.tight_layout(rect=(0, 0, 1, put_headline(figure, results, "")), w_pad=2)
    return figure


def pictures(options):
    """(name, function that draws) of all that there is to see in a folder."""
    folder = Path(options.results)
    figures = tip_figures(options.results)
    if (folder / "points.csv").is_file():
        figures = [("sweep", lambda: sweep_figure(folder, BLUE))]
    if figures:
        yield from figures
        return
    results = Results(options.results, options.variant)
    yield "overview", lambda: overview(results)
    yield "latency", lambda: latency(results)
    if (results.folder / "compare.csv").is_file():
        yield "compare", lambda: comparison_figure(results.folder, GROUP_COLOURS)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="plot.py", allow_abbrev=False,
        description="Draws the results of a run, a comparison, a sweep or a search.")
    parser.add_argument("results", metavar="RESULTS_DIR", help="folder that retrysim wrote")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png",
                        help="kind of picture (default: png)")
    parser.add_argument("--out", metavar="DIR",
                        help="for the pictures (default: the result folder)")
    parser.add_argument("--variant", metavar="NAME",
                        help="the variant to draw (default: the first)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    out = Path(options.out or options.results)
    try:
        with plt.rc_context(STYLE):
            for name, draw_figure in pictures(options):
                out.mkdir(parents=True, exist_ok=True)
                path = out / f"{name}.{options.format}"
                save(draw_figure(), path)
                print(path)
    except ResultError as error:
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"plot.py: error: cannot write {out}: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
