"""The phase plane of a prediction: the work that waits against the requests that will try again.

Used by plot.py. Reads trajectories.csv, equilibria.csv and result.json of a result folder that
`retrysim predict --out` wrote.

SPDX-License-Identifier: MIT
"""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from plotting.drawing import BLUE, GREY, ORANGE, RED
from plotting.legend import axis_legend_below
from plotting.results import ResultError, title_of

COLUMNS = {"trajectories.csv": ["service", "trigger_s", "outcome", "separatrix", "time_s",
                                "backlog_s", "retrying"],
           "equilibria.csv": ["service", "name", "stable", "backlog_s", "retrying"]}
# Marks of the states: filled where they are stable.
MARKS = {"healthy": ("o", BLUE), "tipping point": ("D", "black"), "overloaded": ("s", ORANGE),
         "dead": ("X", RED)}


class Planes:
    """The planes of all services of a prediction."""

    def __init__(self, folder):
        try:
            info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.name = title_of(info)
            self.planes = info["planes"]
            self.tables = {name: pd.read_csv(folder / name, dtype={"service": str})
                           for name in COLUMNS}
        except FileNotFoundError as error:
            raise ResultError(f"{error.filename}: is missing; run the prediction again") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{folder}: cannot be used: {error!r}") from None
        for name, columns in COLUMNS.items():
            missing = [c for c in columns if c not in self.tables[name].columns]
            if missing:
                raise ResultError(f"{folder / name}: lacks the column {', '.join(missing)}")
        if self.tables["trajectories.csv"].empty:
            raise ResultError(f"{folder / 'trajectories.csv'}: holds no trajectories to draw")

    def rows(self, table, service):
        rows = self.tables[table]
        return rows[rows["service"] == service]


def arrow(axis, x, y, colour):
    """Which way a curve goes, at the middle of its length as it is drawn."""
    size = np.array([max(np.ptp(axis.get_xlim()), 1e-12), max(np.ptp(axis.get_ylim()), 1e-12)])
    steps = np.hypot(np.diff(x) / size[0], np.diff(y) / size[1])
    if steps.sum() < 0.05:
        return
    at = int(np.searchsorted(np.cumsum(steps), 0.4 * steps.sum()))
    ahead = min(len(x) - 1, at + 1)
    while ahead + 1 < len(x) and np.hypot((x[ahead] - x[at]) / size[0],
                                          (y[ahead] - y[at]) / size[1]) < 0.01:
        ahead += 1
    axis.annotate("", xy=(x[ahead], y[ahead]), xytext=(x[at], y[at]),
                  arrowprops={"arrowstyle": "-|>", "color": colour, "mutation_scale": 16})


def limits(rows, states, timeout):
    """Where something happens: dead states that grow for ever leave the picture."""
    starts = rows.groupby("trigger_s")["backlog_s"].first()
    return 1.3 * max(starts.max(), states["backlog_s"].max() if len(states) else 0, 2 * timeout)


def draw_plane(axis, planes, plane):
    service = plane["service"]
    rows = planes.rows("trajectories.csv", service)
    states = planes.rows("equilibria.csv", service)
    finite = states[np.isfinite(states["backlog_s"].to_numpy(dtype=float))]
    right = limits(rows, finite, plane["attempt_timeout_s"])
    shown = rows[rows["backlog_s"] <= right]
    top = 1.12 * max(shown["retrying"].max(), states["retrying"].max() if len(states) else 0, 1e-9)
    axis.set_xlim(-0.03 * right, right)
    axis.set_ylim(-0.03 * top, top)
    labelled = set()
    for (_, outcome), curve in rows.groupby(["trigger_s", "outcome"]):
        near = str(curve["separatrix"].iloc[0]) in ("True", "true")
        colour = "black" if near else RED if outcome == "down" else BLUE
        label = "next to the separatrix" if near else \
            "stays down" if outcome == "down" else "recovers"
        x, y = curve["backlog_s"].to_numpy(dtype=float), curve["retrying"].to_numpy(dtype=float)
        axis.plot(x, y, color=colour, linewidth=1.4,
                  linestyle=(0, (5, 2)) if near else "-", zorder=3 if near else 2,
                  label=None if label in labelled else label)
        labelled.add(label)
        inside = x <= right
        arrow(axis, x[inside], y[inside], colour)
    if plane["attempt_timeout_s"] > 0 and plane["attempt_timeout_s"] < right:
        axis.axvline(plane["attempt_timeout_s"], color=GREY, linewidth=1, linestyle=":",
                     label="attempt timeout")
    for _, state in states.iterrows():
        mark, colour = MARKS[state["name"]]
        stable = str(state["stable"]) in ("True", "true")
        x = state["backlog_s"]
        beyond = not np.isfinite(x) or x > right
        name = f"{state['name']}{'' if stable else ' (unstable)'}"
        if beyond:
            name += ", backlog grows" if not np.isfinite(x) else f", at {x:.3g} s"
        axis.plot(0.985 * right if beyond else x, state["retrying"], mark, color=colour,
                  markersize=10, markeredgecolor=colour, markeredgewidth=1.6, zorder=5,
                  markerfacecolor=colour if stable else "white", linestyle="none", label=name,
                  clip_on=False)
    tipping = plane["tipping_s"]
    tips = f", which tips it from {tipping:.4g} s on" if tipping is not None else ""
    axis.set_title(f"{service}: after {plane['trigger']}{tips}")
    axis.set_xlabel("work that waits, s")
    axis.set_ylabel("requests on their way back")
    axis_legend_below(axis)


def phase_plane_figure(folder):
    planes = Planes(folder)
    count = len(planes.planes)
    columns = 1 if count == 1 else 2
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(9.5 if columns == 1 else 15, 6.2 * rows),
                                layout="constrained", squeeze=False)
    for axis, plane in zip(axes.flat, planes.planes):
        draw_plane(axis, planes, plane)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    figure.suptitle(f"{planes.name}: phase plane of the fluid, from the end of a trigger on",
                    fontsize=13, x=0.02, ha="left")
    return figure
