"""The picture of `retrysim choose`: how all policies did in the first stage, and the race of those
that went on.

SPDX-License-Identifier: MIT
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from plotting.drawing import BLUE, GREEN, GREY, GROUP_COLOURS, LIMIT_STYLE, ORANGE, SKY
from plotting.labels import LONGEST, variant_labels
from plotting.legend import axis_legend_below
from plotting.results import ResultError, title_of

COLUMNS = "variant stage replications mean ci_low ci_high outcome"
# What became of a policy in the first stage: word of race.csv, colour, words of the legend.
FATES = (("chosen", GREEN, "the best"), ("racing", BLUE, "goes on"), ("undecided", BLUE, "goes on"),
         ("beaten", GREY, "beaten"), ("as_good", SKY, "as good within the zone"),
         ("same", SKY, "the same as another one"),
         ("breaks_limit", ORANGE, "breaks a limit"), ("no_value", ORANGE, "has no value"))
LONGEST_LIST = 60


def choose_figures(folder):
    """(name, function that draws it) of the picture of a folder that `retrysim choose` wrote; empty
    for other folders."""
    folder = Path(folder)
    path = folder / "race.csv"
    if not path.exists():
        return []
    try:
        rows = pd.read_csv(path, keep_default_na=False, na_values=[""])
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        info["choice"]["label"]  # noqa: B018  (it must exist)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: cannot be used: {error!r}") from None
    missing = [column for column in COLUMNS.split() if column not in rows.columns]
    if missing:
        raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
    if rows.empty:
        raise ResultError(f"{path}: holds no rows to draw")
    return [("choose", lambda: choose_figure(rows, info))]


def in_percent(rows, choice):
    """Both with shares in percent, as the program prints them."""
    if not choice.get("percentage"):
        return rows, choice
    values = ["mean", "ci_low", "ci_high"]
    return (rows.assign(**{name: 100 * rows[name] for name in values}),
            choice | {"unit": "%", "indifference": 100 * choice["indifference"]})


def in_short(rows, choice):
    """Both with policies called by what differs, if their names are long; and the keys that all of
    them then go without."""
    names = list(dict.fromkeys(rows["variant"]))
    if max(map(len, names)) <= LONGEST:
        return rows, choice, ()
    labels, keys = variant_labels(names)
    return (rows.assign(variant=rows["variant"].map(labels)),
            choice | {"best": labels.get(choice["best"], choice["best"])}, keys)


def with_unit(choice):
    unit = choice["unit"]
    label = choice["label"] if unit == "1" else f"{choice['label']} ({unit})"
    return label if choice["client"] == "all" else f"{label} of client {choice['client']}"


def choose_figure(rows, info):
    rows, choice = in_percent(rows, info["choice"])
    rows, choice, keys = in_short(rows, choice)
    first = rows[(rows["stage"] == 1) & rows["mean"].notna()]
    first = first.sort_values("mean", ascending=choice["direction"] == "maximize", kind="stable")
    left_out = max(0, len(first) - LONGEST_LIST)
    first = first.tail(LONGEST_LIST)
    race = rows[rows["variant"].isin(rows[rows["stage"] > 1]["variant"])]
    height = max(5.2, 1.8 + 0.2 * len(first))
    if race.empty:
        figure, axis = plt.subplots(figsize=(10.5, height), layout="constrained")
    else:
        figure, (axis, right) = plt.subplots(1, 2, figsize=(14, height), layout="constrained",
                                             gridspec_kw={"width_ratios": [1, 1.1]})
        draw_race(right, race, choice)
    draw_first_stage(axis, first, choice)
    axis.set_ylabel(", ".join(keys))
    if left_out:
        axis.text(0.99, 0.01, f"{left_out} more, all worse", transform=axis.transAxes, ha="right",
                  color=GREY, fontsize=9)
    figure.suptitle(f"{title_of(info)}: {choice['best'] or 'no policy'} wins", x=0.01, ha="left",
                    fontsize=13, fontweight="bold")
    return figure


def draw_first_stage(axis, first, choice):
    """A line for each policy, the greatest gain at the top, and the zone in which differences from
    the chosen one, or else from the best one that keeps the limits, do not matter."""
    shown = set()
    chosen = first[first["variant"] == choice["best"]]
    keeping = first[first["outcome"] != "breaks_limit"]
    best = next(rows["mean"].iloc[-1] for rows in (chosen, keeping, first) if not rows.empty)
    zone = choice["indifference"] * (-1 if choice["direction"] == "maximize" else 1)
    axis.axvspan(*sorted((best, best + zone)), color=GREY, alpha=0.15, linewidth=0,
                 label="indifference zone")
    for place, row in enumerate(first.itertuples()):
        colour, label = next((c, t) for word, c, t in FATES if word == row.outcome)
        bar = None if pd.isna(row.ci_low) else [[row.mean - row.ci_low], [row.ci_high - row.mean]]
        axis.errorbar(row.mean, place, xerr=bar, fmt="o", color=colour, markersize=4, capsize=2,
                      linewidth=1.2, label=None if label in shown else label)
        shown.add(label)
    axis.set_yticks(range(len(first)), first["variant"], fontsize=8 if len(first) > 25 else 9)
    axis.set_ylim(-0.7, len(first) - 0.3)
    axis.set_xlabel(f"{with_unit(choice)}, mean with 95 % interval")
    axis.set_title(f"after {choice['stages'][0]} replications", fontsize=11)
    axis_legend_below(axis, fontsize=9)


def draw_race(axis, race, choice):
    """Means against replications; a cross where somebody leaves."""
    by_end = race.groupby("variant")["stage"].max()
    order = sorted(by_end.index, key=lambda name: (name != choice["best"], -by_end[name]))
    for place, name in enumerate(order):
        rows = race[race["variant"] == name].sort_values("replications")
        named = place < len(GROUP_COLOURS)
        colour = GROUP_COLOURS[place] if named else "#AAAAAA"
        last = rows.iloc[-1]
        x = rows["replications"]
        axis.plot(x, rows["mean"], color=colour, linewidth=2.2 if place == 0 else 1.3,
                  zorder=3 if named else 2, label=name if named else None)
        axis.fill_between(x, rows["ci_low"], rows["ci_high"], color=colour, linewidth=0,
                          alpha=0.18 if named else 0.08)
        mark = {"chosen": "*", "undecided": ">"}.get(last["outcome"], "X")
        axis.plot(last["replications"], last["mean"], marker=mark, color=colour, linestyle="none",
                  markersize=13 if mark == "*" else 8, zorder=4)
    if len(order) > len(GROUP_COLOURS):
        axis.plot([], [], color="#AAAAAA", label=f"{len(order) - len(GROUP_COLOURS)} others")
    winner = race[race["variant"] == choice["best"]]
    if not winner.empty:
        zone = choice["indifference"] * (-1 if choice["direction"] == "maximize" else 1)
        edge = winner.iloc[-1]["mean"] + zone
        low, high = axis.get_ylim()
        if low - (high - low) < edge < high + (high - low):  # else it would flatten the race
            axis.axhline(edge, color=GREY, linewidth=1, linestyle=LIMIT_STYLE,
                         label="indifference zone of the best")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axis.xaxis.set_major_formatter(ScalarFormatter())
    axis.xaxis.set_minor_locator(plt.NullLocator())
    axis.set_xlabel("replications (log scale)")
    axis.set_ylabel(with_unit(choice))
    axis.set_title("the race of those that go on (star: the best, cross: leaves)", fontsize=11)
    axis_legend_below(axis, fontsize=9)
