"""The picture of a sweep: lines with intervals over one varied key, heat maps over two.

Used by plot.py. Reads points.csv and result.json of a result folder that `retrysim sweep` or
`retrysim merge` wrote.

SPDX-License-Identifier: MIT
"""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator

from plotting.results import ResultError

# What is drawn, and whether its colours are logarithmic. What the metrics are called, their units
# and which direction is better is in result.json.
METRICS = [("goodput", False), ("success_rate", False), ("amplification", False),
           ("latency_p99", True)]
MOST_TICKS = 12


class Sweep:
    """The points of a sweep and the keys that tell them apart."""

    def __init__(self, folder):
        try:
            info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.name, self.replications = info["scenario"], info["replications"]
            keys = info["sweep"]["keys"]
            self.described = info["sweep"].get("metrics", {})
            self.points = pd.read_csv(folder / "points.csv", dtype={k: str for k in keys},
                                      keep_default_na=False, na_values={m: [""] for m in columns()})
            missing = [c for c in [*keys, *columns()] if c not in self.points.columns]
        except FileNotFoundError as error:
            raise ResultError(f"{error.filename}: is missing; run the sweep again") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{folder}: cannot be used: {error!r}") from None
        if missing:
            raise ResultError(f"{folder / 'points.csv'}: lacks the column {', '.join(missing)}")
        if self.points.empty:
            raise ResultError(f"{folder / 'points.csv'}: holds no points to draw")
        self.labels = dict(zip(keys, short_names(keys)))
        self.fixed = []
        self.keys = self._choose(keys)

    def _choose(self, keys):
        """At most two keys: those with the most values. The others keep their first value."""
        varied = []
        for key in keys:
            if self.points[key].nunique() < 2:
                continue
            if any(self._follows(key, other) for other in varied):
                continue  # it moves together with one that is drawn
            varied.append(key)
        drawn = sorted(varied, key=lambda k: -self.points[k].nunique())[:2]
        for key in varied:
            if key not in drawn:
                first = self.points[key].iloc[0]
                self.fixed.append(f"{self.labels[key]} = {first}")
                self.points = self.points[self.points[key] == first]
        return [k for k in varied if k in drawn] or keys[:1]

    def _follows(self, key, other):
        return (self.points.groupby(other)[key].nunique() == 1).all()

    def title(self, metric):
        """The metric's label with its unit; its name in results that do not describe it."""
        described = self.described.get(metric, {"label": metric, "unit": "1"})
        unit = "" if described["unit"] == "1" else f" [{described['unit']}]"
        return described["label"][0].upper() + described["label"][1:] + unit

    def colours(self, metric):
        """The bright end of the colours is the better one."""
        return "viridis_r" if self.described.get(metric, {}).get("better") == "lower" else "viridis"

    def levels(self, key):
        """The values of a key in the order of their size, or of the file if they are words."""
        values = list(dict.fromkeys(self.points[key]))
        return sorted(values, key=float) if all(map(is_number, values)) else values


def columns():
    return [name + end for name, *_ in METRICS for end in ("", "_ci_low", "_ci_high")]


def short_names(keys):
    """The shortest ends of the paths that tell them apart."""
    for length in range(1, max(k.count(".") for k in keys) + 2):
        names = [".".join(k.split(".")[-length:]) for k in keys]
        if len(set(names)) == len(names):
            return names
    return keys


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def is_geometric(values):
    """Whether steps grow, as those of a log-spaced range do."""
    return len(values) > 2 and values[0] > 0 and values[-1] / values[0] > 20 and \
        (values[-1] - values[-2]) > 3 * (values[1] - values[0])


def draw_line(axis, sweep, metric, colour):
    key = sweep.keys[0]
    levels = sweep.levels(key)
    table = sweep.points.drop_duplicates(key).set_index(key).loc[levels]
    numeric = all(map(is_number, levels))
    x = np.array([float(v) for v in levels]) if numeric else np.arange(len(levels))
    mean = table[metric].to_numpy(dtype=float)
    low = table[metric + "_ci_low"].to_numpy(dtype=float)
    high = table[metric + "_ci_high"].to_numpy(dtype=float)
    if numeric and len(levels) > MOST_TICKS:
        axis.plot(x, mean, color=colour)
        axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    else:
        error = np.nan_to_num(np.vstack([mean - low, high - mean]), nan=0.0)
        axis.errorbar(x, mean, yerr=np.clip(error, 0, None), color=colour, marker="o",
                      markersize=5, capsize=3, linestyle="-" if numeric else "none")
    if not numeric:
        axis.set_xticks(x, levels, rotation=30 if len(levels) > 4 else 0)
        axis.margins(x=0.1)
    elif is_geometric(x):
        axis.set_xscale("log")
    axis.set_xlabel(sweep.labels[key])


def ticks(levels):
    """Places and labels of at most a dozen levels."""
    step = -(-len(levels) // MOST_TICKS)
    return range(0, len(levels), step), levels[::step]


def draw_heat_map(axis, sweep, metric, logarithmic):
    x_key, y_key = sweep.keys
    xs, ys = sweep.levels(x_key), sweep.levels(y_key)
    table = sweep.points.drop_duplicates([x_key, y_key]).pivot(index=y_key, columns=x_key,
                                                               values=metric).loc[ys, xs]
    values = np.ma.masked_invalid(table.to_numpy(dtype=float))
    positive = values.count() > 0 and values.min() > 0 and values.max() > 10 * values.min()
    norm = LogNorm(values.min(), values.max()) if logarithmic and positive else None
    axis.set_facecolor("#DDDDDD")  # where the metric does not exist
    image = axis.pcolormesh(values, cmap=sweep.colours(metric), norm=norm)
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis)
    places, names = ticks(xs)
    axis.set_xticks([p + 0.5 for p in places], names, rotation=30 if len(names) > 6 else 0)
    places, names = ticks(ys)
    axis.set_yticks([p + 0.5 for p in places], names)
    axis.set_xlabel(sweep.labels[x_key])
    axis.set_ylabel(sweep.labels[y_key])


def sweep_figure(folder, colour):
    """Four metrics over the varied keys."""
    sweep = Sweep(folder)
    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5), layout="constrained")
    for axis, (metric, logarithmic) in zip(axes.flat, METRICS):
        axis.set_title(sweep.title(metric))
        if sweep.points[metric].isna().all():
            axis.text(0.5, 0.5, "does not exist at these points", ha="center", va="center",
                      transform=axis.transAxes)
            axis.set_axis_off()
        elif len(sweep.keys) == 1:
            draw_line(axis, sweep, metric, colour)
            axis.yaxis.set_major_locator(MaxNLocator(6))
        else:
            draw_heat_map(axis, sweep, metric, logarithmic)
    note = f"{sweep.replications} replications each" if sweep.replications > 1 else \
        "1 replication each: no intervals"
    if len(sweep.keys) == 1 and sweep.replications > 1:
        note += "; 95 % intervals"
    if sweep.fixed:
        note += "; drawn at " + ", ".join(sweep.fixed)
    figure.suptitle(f"{sweep.name}: {len(sweep.points)} points, {note}", fontsize=13)
    return figure
