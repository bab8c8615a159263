"""The picture of `retrysim tip --vary`: how the tipping point moves with another key.

Used by plot.py. Reads curve.csv and result.json.

SPDX-License-Identifier: MIT
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from plotting.drawing import DASHES, GREY, GROUP_COLOURS, pale
from plotting.labels import short_labels
from plotting.legend import legend_below
from plotting.looks import key_words
from plotting.results import ResultError, title_of

COLUMNS = ["variant", "outcome", "d50", "ci_low", "ci_high"]
MARKERS = "os^Dv*"
# Bands of more lines would hide each other.
MOST_BANDS = 3
MOST_LABELS = 5


def line_labels(names):
    """Short names of lines and points; "service_time={...}" is called by what is in its table."""
    parts = [name.partition("={") for name in names]
    if not all(brace for _, brace, _ in parts) or len({key for key, *_ in parts}) > 1:
        return short_labels(names) if all(names) else names
    return short_labels(["{" + table for *_, table in parts])


class Curve:
    """The points of a folder that `retrysim tip --vary` wrote, in their lines."""

    def __init__(self, folder):
        folder = Path(folder)
        path = folder / "curve.csv"
        try:
            rows = pd.read_csv(path, keep_default_na=False,
                               na_values={name: [""] for name in COLUMNS[2:]})
            self.info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.trigger, curve = self.info["trigger"], self.info["curve"]
            self.axis, self.axis_unit, self.lines = (curve[k] for k in
                                                     ("axis", "axis_unit", "lines"))
            places = {p["variant"]: p for p in curve["points"]}
            self.lines = line_labels(self.lines)
            missing = [c for c in COLUMNS if c not in rows.columns]
            if not missing:
                rows["line"] = [places[name]["line"] for name in rows["variant"]]
                rows["x"] = [places[name]["x"] if self.axis else i
                             for i, name in enumerate(rows["variant"])]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: cannot be used: {error!r}") from None
        if missing:
            raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
        if rows.empty:
            raise ResultError(f"{path}: holds no points to draw")
        self.rows = rows

    def of_line(self, line):
        return self.rows[self.rows["line"] == line].sort_values("x", kind="stable")


def is_geometric(values):
    """Whether steps grow, as those of a log-spaced range do."""
    return len(values) > 2 and values[0] > 0 and values[-1] / values[0] > 20 and \
        (values[-1] - values[-2]) > 3 * (values[1] - values[0])


def interval(curve, points):
    """Low and high ends; one that lies beyond the sizes searched is drawn to their end. None where
    there is no interval."""
    ends = sorted((curve.trigger["first"], curve.trigger["last"]))
    low, high = points["ci_low"], points["ci_high"]
    none = low.isna() & high.isna()
    return low.fillna(ends[0]).where(~none), high.fillna(ends[1]).where(~none)


def draw_line(axis, curve, line, name, bands):
    """D50 with its interval; a hollow triangle at the end searched where there is none."""
    points = curve.of_line(line)
    colour = GROUP_COLOURS[line % len(GROUP_COLOURS)]
    look = {"color": colour, "marker": MARKERS[line % len(MARKERS)], "markersize": 6,
            "linestyle": DASHES[line % len(DASHES)] if curve.axis else "none"}
    low, high = interval(curve, points)
    found = points["outcome"] == "found"
    value = points["d50"].where(found)
    if bands and curve.axis:
        axis.fill_between(points["x"], low.where(found), high.where(found), color=pale(colour),
                          linewidth=0, zorder=1.2)
    # A band without neighbours has no width.
    axis.vlines(points["x"][found], low[found], high[found], color=colour, linewidth=1.2)
    axis.plot(points["x"], value, label=name, **look)
    for outcome, end, mark in (("recovers_at_last_value", "last", "^"),
                               ("tips_at_first_value", "first", "v")):
        those = points[points["outcome"] == outcome]
        if those.empty:
            continue
        axis.plot(those["x"], [curve.trigger[end]] * len(those), mark, markersize=9,
                  markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.6,
                  linestyle="none", clip_on=False)


def marks_of(curve):
    """(symbol, what it says) of the outcomes that the rows have."""
    unit = "" if curve.trigger["unit"] == "1" else f" {curve.trigger['unit']}"
    for outcome, mark, end, words in (
            ("recovers_at_last_value", "^", "last", "no tipping point: most recover even at"),
            ("tips_at_first_value", "v", "first", "half or more do not recover already at")):
        if (curve.rows["outcome"] == outcome).any():
            yield mark, f"{words} {curve.trigger[end]:g}{unit}"


def scale(axis, curve):
    places = sorted(set(curve.rows["x"]))
    if not curve.axis:
        names = line_labels(list(curve.rows["variant"]))
        axis.set_xticks(range(len(names)), names, rotation=30 if len(names) > MOST_LABELS else 0,
                        ha="right" if len(names) > MOST_LABELS else "center")
        axis.margins(x=0.1)
    elif is_geometric(places):
        axis.set_xscale("log")
    axis.set_xlabel(key_words(curve.axis, curve.axis_unit) if curve.axis else "")
    axis.set_ylabel("D50: half do not recover" + (
        "" if curve.trigger["unit"] == "1" else f", {curve.trigger['unit']}"))


def tip_curve_figure(folder):
    """D50 against the key along the axis, a line for each combination of the others."""
    curve = Curve(folder)
    figure, axis = plt.subplots(figsize=(9.5, 6), layout="constrained")
    bands = len(curve.lines) <= MOST_BANDS
    for line, name in enumerate(curve.lines):
        draw_line(axis, curve, line, name or "D50", bands)
    scale(axis, curve)
    handles, labels = axis.get_legend_handles_labels()
    for mark, text in marks_of(curve):
        handles.append(Line2D([], [], marker=mark, linestyle="none", markerfacecolor="none",
                              markeredgecolor=GREY, markeredgewidth=1.6, markersize=9))
        labels.append(text)
    unjudged = int(curve.rows["outcome"].isin(["not_judged", "ends_exchanged"]).sum())
    if unjudged:
        handles.append(Line2D([], [], linestyle="none"))
        labels.append("1 point without an answer is left out" if unjudged == 1 else
                      f"{unjudged} points without an answer are left out")
    legend_below(figure, handles, labels, columns=3)
    info = curve.info
    axis.set_title(f"{title_of(info)}: {curve.trigger['path']} that tips it\n", fontsize=13)
    note = f"{info['replications']} replications; "
    note += "95 % intervals" if curve.rows["ci_low"].notna().any() else "too few for intervals"
    axis.text(0, 1.02, note, transform=axis.transAxes, color=GREY, fontsize=10)
    if np.isfinite(axis.get_ylim()).all() and axis.get_ylim()[0] < 0 <= min(
            curve.trigger["first"], curve.trigger["last"]):
        axis.set_ylim(bottom=0)
    return figure
