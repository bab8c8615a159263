"""The picture `latency`: quantiles of the whole window, and what became of the attempts.

SPDX-License-Identifier: MIT
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator

from plotting.drawing import (BLUE, GREEN, ORANGE, PURPLE, RED, entries_below, group_styles,
                              pale, put_headline, scale_latencies, shade)

KINDS = (("request", "whole request"), ("request_ok", "successful requests"),
         ("attempt", "one attempt, as the client sees it"), ("service", "queue and service"))


def same_as_all(results, part):
    """Whether the successful requests are all requests: then one line says it."""
    rows = results.latency
    whole = rows[(rows["client"] == "all") & (rows["kind"] == "request") & (rows["latency_s"] > 0)]
    return list(whole.sort_values("quantile")["latency_s"]) == list(part["latency_s"])


def draw_quantiles(axis, results):
    """The parts of the latency of a single group; of several groups, whole requests only."""
    groups = list(group_styles(results))
    lines = [("all", *kind, colour, style, 1.7) for kind, colour, style in
             zip(KINDS, (BLUE, GREEN, ORANGE, PURPLE), ("-", "--", "-.", ":"))]
    if len(groups) > 1:
        lines = [(name, "request", name, s["colour"], s["style"], 1.7) for name, s in groups]
    for client, kind, label, colour, style, width in lines:
        part = results.latency[(results.latency["client"] == client) &
                               (results.latency["kind"] == kind)].sort_values("quantile")
        part = part[part["latency_s"] > 0]
        if part.empty or (kind == "request_ok" and same_as_all(results, part)):
            continue
        x = -np.log10(1 - part["quantile"])
        axis.plot(x, part["latency_s"], linestyle=style, linewidth=width, marker="o",
                  markersize=2 * width, color=colour, label=label)
        axis.fill_between(x, part["ci_low_s"].clip(lower=part["latency_s"].min() / 10),
                          part["ci_high_s"], color=pale(colour), linewidth=0, zorder=1.2)
    ticks = [0.5, 0.9, 0.99, 0.999]
    axis.set_xticks([-np.log10(1 - q) for q in ticks], [f"{q * 100:g} %" for q in ticks])
    if axis.lines:
        scale_latencies(axis)
    axis.set_title("Latency of whole requests" if len(groups) > 1 else "Latency quantiles")
    axis.set_xlabel("percentile; bands: 95 % intervals")
    axis.set_ylabel("latency (log scale)")
    entries_below(axis, list(zip(*axis.get_legend_handles_labels())))


MOST_ATTEMPTS = 12
SEEN = 50  # bars that differ by more than this factor cannot be seen on one axis

OUTCOMES = (("successes", GREEN, "", 1.0), ("throttled", ORANGE, "//", 0.6),
            ("errors", RED, "\\\\", 0.45), ("timeouts", PURPLE, "..", 0.3))


def outcome_parts(rows):
    """(label, numbers, colour, hatch, shade) of what became of attempts; where there is any."""
    parts = [(column, rows[column], *look) for column, *look in OUTCOMES]
    rest = rows["sent"] - sum(numbers for _, numbers, *_ in parts)
    parts.append(("given up at the deadline, or unfinished", rest, "#BBBBBB", "", 0.15))
    return [part for part in parts if part[1].sum() > 1e-4 * rows["sent"].sum()]


def requests_of(results, client):
    """Also those that never sent an attempt: they are among the requests that did not succeed."""
    row = results.summary("requests", client)
    return row["mean"] if row else 0


def draw_attempts_by_group(axis, results):
    """Attempts per request of each group, by what became of them."""
    groups, rows = results.groups(), results.attempts
    colours = [style["colour"] for _, style in group_styles(results)]
    sums = rows.groupby("client").sum(numeric_only=True).reindex(groups).fillna(0)
    requests = pd.Series({name: requests_of(results, name) for name in groups})
    requests, left, entries = requests.clip(lower=1), np.zeros(len(groups)), []
    for label, numbers, _, hatch, shade in outcome_parts(sums):
        widths = (numbers / requests).to_numpy()
        axis.barh(range(len(groups)), widths, left=left, color=[pale(c, shade) for c in colours],
                  hatch=hatch, edgecolor="white", linewidth=0.5)
        left = left + widths
        entries.append((Patch(facecolor=pale("black", shade), hatch=hatch, edgecolor="white"),
                        label))
    axis.set_yticks(range(len(groups)), groups)
    axis.invert_yaxis()
    axis.axvline(1, color="black", linewidth=0.9, linestyle=":")
    axis.grid(axis="y", visible=False)
    axis.set_title("What became of the attempts")
    axis.set_ylabel("client group")
    axis.set_xlabel("attempts / request")
    entries_below(axis, entries)


def draw_attempts(axis, results):
    """Attempts of a single group, by attempt number."""
    everything = results.attempts[results.attempts["client"] == "all"].sort_values("attempt")
    rows = everything.head(MOST_ATTEMPTS)  # unlimited retries have a long tail of little interest
    left_out = everything["sent"][MOST_ATTEMPTS:].sum() / max(everything["sent"].sum(), 1)
    # Where later attempts are so rare that their bars could not be seen, all are equally high.
    shares = len(rows) and rows["sent"].max() > SEEN * max(rows["sent"].min(), 1)
    whole = rows["sent"].clip(lower=1e-9) / 100 if shares else 1
    bottom = np.zeros(len(rows))
    for label, numbers, colour, hatch, _ in outcome_parts(rows):
        heights = numbers / whole
        axis.bar(rows["attempt"], heights, bottom=bottom, color=colour, hatch=hatch,
                 edgecolor="white", linewidth=0.5, label=label)
        bottom = bottom + heights.to_numpy()
    axis.set_xticks(rows["attempt"])
    axis.grid(axis="x", visible=False)
    if shares:
        axis.set_ylim(0, 108)
        axis.yaxis.set_major_locator(FixedLocator(range(0, 101, 20)))
        for attempt, sent in zip(rows["attempt"], rows["sent"]):
            axis.text(attempt, 101, f"{sent:.3g}" if sent < 1000 else f"{sent:,.0f}", ha="center",
                      va="bottom", fontsize=7 if len(rows) > 5 else 9)
    axis.set_title("What became of each attempt")
    axis.set_xlabel("attempt number (1 is the first" +
                    (f"; later ones, {100 * left_out:.2g} %, are left out)" if left_out else ")"))
    axis.set_ylabel("share of its attempts, %; above: attempts per replication" if shares else
                    "attempts per replication")
    entries_below(axis, list(zip(*axis.get_legend_handles_labels())))


LEGEND_INCHES = 0.75  # of a legend that leaves the panels their height


def latency(results):
    figure, axes = plt.subplots(1, 2, figsize=(16 / 1.5, 7.6 / 1.2))
    draw_quantiles(axes[0], results)
    (draw_attempts if len(results.groups()) == 1 else draw_attempts_by_group)(axes[1], results)
    legends = [axis.get_legend() for axis in axes if axis.get_legend()]
    high = max((legend.get_window_extent().height / figure.dpi for legend in legends), default=0)
    figure.set_figheight(figure.get_figheight() + max(0, high - LEGEND_INCHES))
    figure.tight_layout(rect=(0, 0, 1, put_headline(figure, results, "")), w_pad=2)
    return figure
