"""The pictures of `retrysim tip`: probability against the size of the trigger, and goodput against
load going up and coming back.

SPDX-License-Identifier: MIT
"""

import json
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from plotting.legend import axis_legend_below
from plotting.looks import colour, key_words
from plotting.results import ResultError, description_of, title_of

BLUE, RED, GREEN, GREY = map(colour, ("blue", "red", "green", "grey"))
HALF_STYLE = (0, (4, 2))


def tip_figures(folder):
    """(name, function that draws it) of the pictures of a folder that `retrysim tip` wrote; empty
    for other folders."""
    folder = Path(folder)
    for name, figure, columns in FIGURES:
        path = folder / f"{name}.csv"
        if not path.exists():
            continue
        try:
            rows = pd.read_csv(path, keep_default_na=False, na_values=[""])
            info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: cannot be used: {error}") from None
        missing = [column for column in columns.split() if column not in rows.columns]
        if missing:
            raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
        if rows.empty:
            raise ResultError(f"{path}: holds no rows to draw")
        return [(name, lambda figure=figure: figure(rows, info))]
    return []


def in_range(rows, info):
    """The values between which the answer changes, and one more on either side: the ends that were
    searched may lie far away."""
    values, share = sorted(rows["value"]), rows["probability"]
    d50 = info.get("d50") or {}
    inner = [*rows["value"][(share > 0) & (share < 1)],
             *(d50[key] for key in ("ci_low", "ci_high", "value") if d50.get(key) is not None)]
    low, high = min(inner, default=values[0]), max(inner, default=values[-1])
    return (max([v for v in values if v < low], default=values[0]),
            min([v for v in values if v > high], default=values[-1]))


def headline(axis, info, text):
    axis.set_title(f"{title_of(info)}: {text}\n", fontsize=13, wrap=True)
    description = textwrap.shorten(description_of(info), 120, placeholder=" …")
    axis.text(0, 1.02, description, transform=axis.transAxes, color=GREY, fontsize=10)


def tipping_point(rows, info):
    rows = rows[rows["probability"].notna()].sort_values("value")
    unit = info["trigger"]["unit"]
    figure, axis = plt.subplots(figsize=(9.5, 5.6))
    low, high = in_range(rows, info)
    padding = 0.03 * (high - low)
    axis.set_xlim(low - padding, high + padding)
    shown = rows[rows["value"].between(low, high)]
    bars = [shown["probability"] - shown["ci_low"], shown["ci_high"] - shown["probability"]]
    axis.plot(rows["value"], rows["probability"], color=BLUE, linewidth=1, alpha=0.5)
    axis.errorbar(shown["value"], shown["probability"], yerr=bars, fmt="o", color=BLUE, capsize=3,
                  linewidth=1.2, markersize=5,
                  label=f"share of {info['replications']} replications, 95 % interval (Wilson)")
    axis.axhline(0.5, color=GREY, linewidth=1, linestyle=HALF_STYLE)
    d50 = info.get("d50")
    if d50:
        suffix = "" if unit == "1" else f" {unit}"
        ends = [d50["ci_low"], d50["ci_high"]]
        text = f"D50 = {d50['value']:.4g}{suffix}"
        if None not in ends:
            axis.axvspan(*ends, color=RED, alpha=0.12, linewidth=0)
            text += f", 95 % interval {ends[0]:.4g} to {ends[1]:.4g}{suffix}"
        axis.axvline(d50["value"], color=RED, linewidth=1.5, label=text, zorder=1)
    down = shown[shown["tipped"] > 0]
    if not down.empty:
        axis.plot(down["value"], down["metastable"] / down["replications"], "o", markersize=10,
                  markerfacecolor="none", markeredgecolor=GREEN, markeredgewidth=1.6,
                  linestyle="none", label="of these metastable: would recover without retries")
    axis.set_ylim(-0.03, 1.03)
    axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axis.set_xlabel(key_words(info["trigger"]["path"], unit))
    axis.set_ylabel("share that does not recover")
    axis_legend_below(axis, columns=1)
    headline(axis, info, "where does it tip?")
    figure.tight_layout()
    return figure


def hysteresis(rows, info):
    figure, axis = plt.subplots(figsize=(9.5, 5.6))
    up = rows[rows["branch"] == "up"].sort_values("load")
    # The step at the highest load belongs to both branches.
    down = pd.concat([rows[rows["branch"] == "down"], up.tail(1)]).sort_values("load")
    axis.plot(up["load"], up["offered_load"], color=GREY, linewidth=1, linestyle=HALF_STYLE,
              label="offered load")
    for branch, colour, mark, label in ((up, BLUE, "^", "goodput, load going up"),
                                        (down, RED, "v", "goodput, load coming back")):
        axis.plot(branch["load"], branch["goodput"], color=colour, marker=mark, markersize=5,
                  label=label)
        axis.fill_between(branch["load"], branch["ci_low"], branch["ci_high"], color=colour,
                          alpha=0.2, linewidth=0)
    axis.fill_between(up["load"], down["goodput"].to_numpy(), up["goodput"].to_numpy(),
                      color="#F0E442", alpha=0.25, linewidth=0)
    for name, colour, text in (("recover_load", RED, "recovers at"),
                               ("tip_load", BLUE, "tips at")):
        found = info.get(name)
        if found:
            axis.axvline(found["mean"], color=colour, linewidth=1, linestyle=":",
                         label=f"{text} {found['mean']:.4g}")
    axis.set_ylim(bottom=0)
    axis.set_xlabel(key_words(info["load"]["path"], info["load"]["unit"]))
    axis.set_ylabel("requests per second")
    axis_legend_below(axis)
    headline(axis, info, "does it go back the way it came?")
    figure.tight_layout()
    return figure


# Name, function, and the columns that it needs.
FIGURES = (("tip", tipping_point,
            "value replications tipped probability ci_low ci_high metastable"),
           ("hysteresis", hysteresis, "branch load offered_load goodput ci_low ci_high"))
