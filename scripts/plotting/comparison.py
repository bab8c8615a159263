"""The picture of a comparison: how each variant differs from the baseline, metric by metric, and
how much success each one has for the work it makes.

SPDX-License-Identifier: MIT
"""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from plotting.drawing import pale, put_texts
from plotting.labels import LONGEST, clipped, variant_labels
from plotting.legend import axis_legend_below
from plotting.results import ResultError, label_title, literal, number_of, title_of

NUMBERS = ["difference", "ci_low", "ci_high", "relative_difference", "relative_ci_low",
           "relative_ci_high"]
MOST_VARIANTS = 24  # besides the baseline; more would make no picture
MOST_COLOURS = 6  # of more variants the baseline has one, and all others together another
NEEDED = ["variant", "baseline", "client", "metric", "unit", "significant"] + NUMBERS


class Comparison:
    """compare.csv for all clients together, and the means of every variant."""

    def __init__(self, folder):
        path = Path(folder) / "compare.csv"
        try:
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
            info = json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: cannot be read: {error}") from None
        missing = [column for column in NEEDED if column not in table.columns]
        if missing:
            raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
        for column in NUMBERS:
            table[column] = pd.to_numeric(table[column], errors="coerce").astype(float)
        self.info = info
        # By metric: label, unit, percentage, better.
        self.described = info.get("comparison", {}).get("metrics", {})
        names = [v["variant"] for v in info["variants"]]
        self.names = names[:MOST_VARIANTS + 1]
        self.left_out = len(names) - len(self.names)
        self.rows = table[(table["client"] == "all") & table["variant"].isin(self.names)]
        self.baseline = self.names[0]

    def metrics(self):
        """Metrics in which any variant differs."""
        return [metric for metric, rows in self.rows.groupby("metric", sort=False)
                if (rows["difference"].fillna(0) != 0).any()]

    def title(self, metric):
        return label_title(self.described.get(metric, {}).get("label", metric))

    def differences(self, metric):
        """(variant, value, low, high, significant) of a metric, and the unit of the numbers."""
        rows = self.rows[self.rows["metric"] == metric]
        unit = rows["unit"].iloc[0]
        share = self.described.get(metric, {}).get("percentage", False)
        # In percent only if every difference has a value in percent: a bar must not vanish.
        relative = (not share and rows["relative_ci_low"].notna().any() and
                    rows.loc[rows["difference"].notna(), "relative_difference"].notna().all())
        prefix, columns = (("relative_", ["relative_difference", "relative_ci_low",
                                          "relative_ci_high"]) if relative
                           else ("", ["difference", "ci_low", "ci_high"]))
        factor, label = (100, "%") if prefix else (100, "points") if share else (1, unit)
        values = [(row["variant"], *(factor * row[c] for c in columns), row["significant"] == "yes")
                  for _, row in rows.iterrows()]
        return values, label

    def mean(self, variant, metric):
        for row in self.info["summary"]:
            if (row["variant"], row["client"], row["metric"]) == (variant, "all", metric):
                return row
        return None


def label_of(value, scale):
    """`scale`: the largest value of the panel; what is nothing beside it is rounding."""
    if abs(value) <= 1e-9 * scale:
        return "0"
    return f"{value:+.0f}" if abs(value) >= 100 else f"{value:+.3g}"


def draw_differences(axis, comparison, metric, looks, labels):
    """`labels` are empty where a panel further to the left has them. Returns what is to be called
    again once the panel has its width."""
    values, unit = comparison.differences(metric)
    places = {variant: place for place, variant in enumerate(comparison.names[1:])}
    far = {-1: 0.0, 1: 0.0}  # how far bars and intervals reach to either side
    texts = {-1: [], 1: []}
    scale = max((abs(x) for _, *ends, _ in values for x in ends if not math.isnan(x)), default=0)
    for variant, value, low, high, significant in values:
        if math.isnan(value):
            continue
        place, side = places[variant], -1 if value < 0 else 1
        axis.barh(place, value, color=looks[variant] if significant else pale(looks[variant], 0.35),
                  height=0.7)
        ends = [x for x in (value, low, high) if not math.isnan(x)]
        if len(ends) == 3:
            axis.plot([low, high], [place, place], color="black", linewidth=1.4,
                      solid_capstyle="butt", marker="|", markersize=6)
        text = axis.annotate(label_of(value, scale), (max(ends, key=lambda x: side * x), place),
                             fontsize=9, xytext=(4 * side, 0), textcoords="offset points",
                             va="center", ha="left" if side > 0 else "right")
        texts[side].append(text)
        far[side] = max([far[side]] + [side * x for x in ends])
        far[-side] = max([far[-side]] + [-side * x for x in ends])
    def leave_room():
        """For the numbers, as wide as they are drawn."""
        renderer, width = axis.figure.canvas.get_renderer(), axis.get_window_extent().width
        share = {side: (max(t.get_window_extent(renderer).width for t in own) + 12) / width if own
                 else 0.04 for side, own in texts.items()}
        whole = (far[-1] + far[1] or 1) / max(0.2, 1 - share[-1] - share[1])
        axis.set_xlim(-far[-1] - share[-1] * whole, far[1] + share[1] * whole)

    axis.axvline(0, color="black", linewidth=0.9)
    axis.set_ylim(len(places) - 0.5, -0.5)
    axis.set_yticks(range(len(places)), [labels.get(v, "") for v in places])
    axis.grid(axis="y", visible=False)
    axis.xaxis.set_major_locator(MaxNLocator(3))
    axis.set_title(comparison.title(metric), fontsize=11)
    axis.set_xlabel(f"difference, {unit}")
    leave_room()
    return leave_room


def close_points(axis, points):
    """(place, names) of points so close that their names would lie on top of each other."""
    axis.autoscale_view()
    groups = []
    for name, work, success in points:
        place = (work["mean"], success["mean"])
        x, y = axis.transData.transform(place)
        for group in groups:
            if abs(x - group[0]) < 60 and abs(y - group[1]) < 18:
                group[3].append(name)
                break
        else:
            groups.append((x, y, place, [name]))
    return [(place, names) for _, _, place, names in groups]


def draw_work(axis, comparison, looks, labels):
    """Success rate against attempts per request, with 95 % intervals."""
    points = []
    for name in comparison.names:
        work, success = (comparison.mean(name, m) for m in ("amplification", "success_rate"))
        if work and success:
            points.append((name, work, in_percent(success)))
    if len(points) > 2 and all(is_number(labels[name]) for name, *_ in points):
        ordered = sorted(points, key=lambda p: number_of(labels[p[0]]))
        axis.plot([w["mean"] for _, w, _ in ordered], [s["mean"] for *_, s in ordered],
                  color="#999999", linewidth=1.2, zorder=1)
    for name, work, success in points:
        colour = looks[name]
        spread = [[[row["mean"] - row["ci_low"]], [row["ci_high"] - row["mean"]]]
                  if row["ci_low"] is not None else None for row in (work, success)]
        axis.errorbar(work["mean"], success["mean"], xerr=spread[0], yerr=spread[1],
                      marker="o", markersize=8, color=colour, linestyle="none", linewidth=1.4,
                      zorder=3 if name == comparison.baseline else 2)
    axis.margins(x=0.18, y=0.2)
    middle = sum(axis.get_xlim()) / 2
    for place, names in close_points(axis, points):
        right = place[0] > middle  # names stay inside
        axis.annotate(clipped(in_short([labels[n] for n in names]), 40), place, fontsize=10,
                      xytext=(-8 if right else 8, 6), textcoords="offset points",
                      ha="right" if right else "left")
    axis.set_title("Success against work: better is higher and to the left")
    axis.set_xlabel("attempts / request")
    axis.set_ylabel("success rate, %")


def in_percent(row):
    return {key: None if row[key] is None else 100 * row[key]
            for key in ("mean", "ci_low", "ci_high")}


def in_short(names):
    """The names of a few points; of many the first and the last."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"


def is_number(text):
    return not math.isnan(number_of(text))


def comparison_figure(folder, palette):
    comparison = Comparison(folder)
    labels, keys = variant_labels(comparison.names)
    few = len(comparison.names) <= MOST_COLOURS
    looks = {name: palette[i if few else min(i, 1)] for i, name in enumerate(comparison.names)}
    longest = max(map(len, labels.values()))
    abreast = 4 if longest <= 14 else 3 if longest <= 22 else 2
    metrics = comparison.metrics()
    rows = -(-len(metrics) // abreast)
    bars = max(1.5, 0.32 * (len(comparison.names) - 1) + 0.9)
    height = 1.7 + rows * (bars + 0.5) + 4.2
    figure = plt.figure(figsize=(16 / 1.5, height))
    grid = figure.add_gridspec(rows + 1, abreast, height_ratios=[bars] * rows + [3.9])
    widen = []
    for i, metric in enumerate(metrics):
        axis = figure.add_subplot(grid[divmod(i, abreast)])
        widen.append(draw_differences(axis, comparison, metric, looks,
                                      {} if i % abreast else labels))
    work = figure.add_subplot(grid[rows, :])
    draw_work(work, comparison, looks, labels)
    entries = [(Line2D([], [], color=looks[n], marker="o", markersize=8, linewidth=0),
                labels[n] + (" (baseline)" if i == 0 else ""))
               for i, n in enumerate(comparison.names[:None if few else 1])]
    if not few:
        entries.append((Line2D([], [], color=palette[1], marker="o", markersize=8, linewidth=0),
                        f"{len(comparison.names) - 1} others"))
    if (comparison.rows["significant"] == "no").any():
        entries.append((Patch(color=pale("#444444", 0.35)), "pale: not significant"))
    axis_legend_below(work, *zip(*entries), columns=MOST_COLOURS, title=", ".join(keys) or None)
    put_title(figure, comparison, height, named(comparison.baseline, labels, keys))
    for leave_room in widen:
        leave_room()
    return figure


def named(name, labels, keys):
    """A variant with its keys; with its label where a value is too long."""
    if len(name) <= LONGEST or not keys:
        return clipped(name, 2 * LONGEST)
    return f"{', '.join(keys)} = {labels[name]}"


def put_title(figure, comparison, height, baseline):
    info = comparison.info
    runs = info["replications"]
    text = f"all clients, {runs} replication{'s' if runs != 1 else ''} on common random numbers"
    if runs > 1:
        text += "; 95 % intervals that hold for all variants of a metric together"
    if comparison.left_out:
        text += f"\n{comparison.left_out} more variants are left out"
    title = f"{title_of(info)}: differences from {literal(baseline)}"
    taken = 0.85 + put_texts(figure, title, info, text)
    figure.tight_layout(rect=(0, 0, 1, 1 - taken / height), h_pad=1.2)
