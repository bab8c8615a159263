"""The map of phases: where a service is safe, vulnerable, tipped, overloaded or dead.

Used by plot.py. Reads map.csv, confirm.csv (if there is one) and result.json of a result folder
that `retrysim map` wrote.

SPDX-License-Identifier: MIT
"""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plotting.drawing import GREEN, RED
from plotting.legend import legend_below
from plotting.results import ResultError, title_of
from plotting.sweep import MOST_TICKS, is_number, key_with_unit

PHASES = ["safe", "vulnerable", "tipped", "overloaded", "dead"]
MEANING = {"safe": "safe: recovers from everything",
           "vulnerable": "vulnerable: healthy, but does not recover once knocked over",
           "tipped": "tipped: the scenario's faults and surges leave it down",
           "overloaded": "overloaded without any trigger, but at least half succeed",
           "dead": "dead: down without any trigger"}
COLOURS = {"safe": "#CFE8DC", "vulnerable": "#FBE6B4", "tipped": "#F0B48C",
           "overloaded": "#C98BA6", "dead": "#9A4A3C"}
# Form and colour both tell the verdicts apart.
VERDICTS = {"agree": ("o", GREEN), "disagree": ("X", RED), "outside validity": ("s", "#BBBBBB")}


class PhaseMap:
    """The points of a map, and what simulations said of some of them."""

    def __init__(self, folder):
        try:
            info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.name = title_of(info)
            self.map = info["map"]
            self.keys = self.map["columns"]
            texts = {key: str for key in self.keys}
            self.points = pd.read_csv(folder / "map.csv", dtype=texts, keep_default_na=False)
            confirmed = folder / "confirm.csv"
            self.confirmed = pd.read_csv(confirmed, dtype=texts, keep_default_na=False) \
                if confirmed.is_file() else pd.DataFrame()
            missing = [c for c in [*self.keys, "phase"] if c not in self.points.columns]
            if len(self.confirmed):
                missing += [c for c in [*self.keys, "verdict", "down", "replications"]
                            if c not in self.confirmed.columns]
        except FileNotFoundError as error:
            raise ResultError(f"{error.filename}: is missing; run the map again") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{folder}: cannot be used: {error!r}") from None
        if missing:
            raise ResultError(f"{folder / 'map.csv'}: lacks the column {', '.join(missing)}")
        unknown = set(self.points["phase"]) - set(PHASES)
        if unknown or self.points.empty:
            raise ResultError(f"{folder / 'map.csv'}: holds no phases to draw")
        self.levels = [list(dict.fromkeys(self.points[key])) for key in self.keys]

    def table(self):
        """Numbers of the phases, rows from the bottom up."""
        numbers = self.points.assign(number=self.points["phase"].map(PHASES.index))
        x, y = self.keys
        return numbers.pivot(index=y, columns=x, values="number").loc[self.levels[1],
                                                                       self.levels[0]].to_numpy()

    def summary(self):
        if self.confirmed.empty:
            return ""
        count = self.confirmed["verdict"].value_counts()
        words = [f"{count[v]} {v}" for v in VERDICTS if v in count.index]
        return f"; of {len(self.confirmed)} points simulated, " + ", ".join(words)


def without_seconds(levels):
    """Times that are all written in seconds, as bare numbers; other values as they are."""
    bare = [re.fullmatch(r"([0-9.]+(?:e[+-]?[0-9]+)?)s", level) for level in levels]
    return [match[1] for match in bare] if all(bare) else levels


def short(level):
    """A value for a tick: numbers of a logarithmic range have more digits than anybody reads."""
    return f"{float(level):.4g}" if is_number(level) else level


def set_ticks(axis, which, key, levels):
    levels = without_seconds(levels)
    step = -(-len(levels) // MOST_TICKS)
    places, names = np.arange(0, len(levels), step) + 0.5, list(map(short, levels[::step]))
    label = key_with_unit(key, levels)
    if which == "x":
        axis.set_xticks(places, names, rotation=30 if sum(map(len, names)) > 60 else 0)
        axis.set_xlabel(label)
    else:
        axis.set_yticks(places, names)
        axis.set_ylabel(label)


def draw_borders(axis, table):
    """A line wherever two phases meet, so that phases can be told apart in grey, too."""
    rows, columns = table.shape
    style = {"color": "#444444", "linewidth": 1}
    for y in range(rows):
        for x in range(columns):
            if x + 1 < columns and table[y, x] != table[y, x + 1]:
                axis.plot([x + 1, x + 1], [y, y + 1], **style)
            if y + 1 < rows and table[y, x] != table[y + 1, x]:
                axis.plot([x, x + 1], [y + 1, y + 1], **style)


def draw_confirmed(axis, phases):
    for _, point in phases.confirmed.iterrows():
        mark, colour = VERDICTS[point["verdict"]]
        x = phases.levels[0].index(point[phases.keys[0]]) + 0.5
        y = phases.levels[1].index(point[phases.keys[1]]) + 0.5
        axis.plot(x, y, mark, color=colour, markersize=10, markeredgecolor="black",
                  markeredgewidth=1.2)


def map_figure(folder):
    phases = PhaseMap(folder)
    table = phases.table()
    figure, axis = plt.subplots(figsize=(10, 7), layout="constrained")
    axis.pcolormesh(table, cmap=ListedColormap([COLOURS[p] for p in PHASES]), vmin=-0.5,
                    vmax=len(PHASES) - 0.5)
    axis.grid(False)
    draw_borders(axis, table)
    for which, key, levels in zip("xy", phases.map["keys"], phases.levels):
        set_ticks(axis, which, key, levels)
    present = [p for p in PHASES if PHASES.index(p) in table]
    entries = [Patch(facecolor=COLOURS[p], edgecolor="#444444", label=MEANING[p]) for p in present]
    if len(phases.confirmed):
        draw_confirmed(axis, phases)
        for verdict, (mark, colour) in VERDICTS.items():
            if (phases.confirmed["verdict"] == verdict).any():
                entries.append(Line2D([], [], marker=mark, color=colour, markersize=9,
                                      markeredgecolor="black", linestyle="none",
                                      label=f"simulated: {verdict}"))
    legend_below(figure, entries, [entry.get_label() for entry in entries], columns=2)
    figure.suptitle(f"{phases.name}: {phases.map['service']} by the fluid{phases.summary()}",
                    fontsize=13, x=0.02, ha="left")
    return figure
