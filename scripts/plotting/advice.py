"""The picture of `retrysim advise`: what each remedy changes, the best one at the top.

Used by plot.py. Reads result.json of a result folder that `retrysim advise` wrote.

SPDX-License-Identifier: MIT
"""

import json

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from plotting.drawing import GREEN, GREY, RED
from plotting.labels import LONGEST, clipped
from plotting.legend import fit_text, legend_below
from plotting.looks import per
from plotting.results import ResultError, label_title, title_of

# What a remedy does to a measure, by its word in advice.csv: colour, mark and words.
EFFECTS = {"better": (GREEN, "o", "better"), "worse": (RED, "s", "worse"),
           "none": (GREY, "o", "no difference that is sure")}
MOST_PANELS = 6
ABREAST = 3


def read(folder):
    path = folder / "result.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        advice = info["advice"]
        tried = [row for row in advice["rows"] if row["state"] == "tried"]
        for measure in advice["measures"]:
            for end in ("difference", "ci_low", "ci_high", "effect"):
                for row in tried:
                    row[f"{measure['name']}_{end}"]  # noqa: B018  (it must exist)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: cannot be used: {error!r}") from None
    return info, advice, tried


def panels(measures, tried):
    """The measures that some remedy changes, or else those that it is about."""
    changed = [m for m in measures
               if any(row[f"{m['name']}_effect"] in ("better", "worse") for row in tried)]
    return (changed or [m for m in measures if m["aim"]])[:MOST_PANELS]


def draw_measure(axis, measure, tried, names):
    name, factor = measure["name"], 100 if measure["percentage"] else 1
    shown = []
    for place, row in enumerate(tried):
        value, *ends = (row[f"{name}_{end}"] for end in ("difference", "ci_low", "ci_high"))
        if value is None:
            continue
        effect = row[f"{name}_effect"] if row[f"{name}_effect"] in EFFECTS else "none"
        colour, mark, _ = EFFECTS[effect]
        shown.append(effect)
        if None not in ends:
            axis.plot([factor * end for end in ends], [place, place], color=colour, linewidth=1.4)
        axis.plot(factor * value, place, marker=mark, color=colour, markersize=6)
    axis.axvline(0, color="black", linewidth=0.9)
    axis.set_ylim(len(tried) - 0.5, -0.5)
    axis.set_yticks(range(len(tried)), names)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_title(label_title(measure["label"]), fontsize=11)
    unit = "points" if measure["percentage"] else per(measure["unit"])
    axis.set_xlabel("difference" if unit in ("", "1") else f"difference, {unit}")
    return shown


def headline(info, advice, tried):
    if not tried:
        return f"{title_of(info)}: no remedy was tried"
    best = tried[0]["words"].partition(":")[0]
    return f"{title_of(info)}: {best} helps most" if advice["outcome"] == "helps" else \
        f"{title_of(info)}: no remedy helps for sure"


def advice_figure(folder):
    info, advice, tried = read(folder)
    measures = panels(advice["measures"], tried)
    names = [clipped(row["words"].partition(":")[0], LONGEST) for row in tried]
    rows = max(1, -(-len(measures) // ABREAST))
    high = max(1.6, 0.3 * len(tried) + 0.9)
    figure, axes = plt.subplots(rows, ABREAST, figsize=(14, 0.9 + rows * high),
                                layout="constrained", squeeze=False)
    shown = set()
    for i, axis in enumerate(axes.flat):
        if i < len(measures) and tried:
            shown.update(draw_measure(axis, measures[i], tried,
                                      names if i % ABREAST == 0 else [""] * len(tried)))
        else:
            axis.set_axis_off()
    entries = [(Line2D([], [], color=colour, marker=mark), words)
               for effect, (colour, mark, words) in EFFECTS.items() if effect in shown]
    handles, labels = zip(*entries) if entries else ((), ())
    legend_below(figure, handles, labels,
                 "difference from the scenario as it stands, with 95 % intervals for all together")
    title = figure.suptitle(headline(info, advice, tried), x=0.01, ha="left", fontsize=13,
                            fontweight="bold")
    fit_text(title, 0.97 * figure.bbox.width)
    return figure
