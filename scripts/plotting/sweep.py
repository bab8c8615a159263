"""The picture of a sweep: lines with intervals over one varied key, or
one line for each word of a second key; heat maps over two keys of numbers.

Used by plot.py. Reads points.csv and result.json of a result folder that `retrysim sweep` or
`retrysim merge` wrote.

SPDX-License-Identifier: MIT
"""

import copy
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator, NullLocator

from plotting.drawing import GROUP_COLOURS, pale
from plotting.labels import short_labels
from plotting.legend import legend_below
from plotting.looks import key_words, per
from plotting.results import ResultError, label_title, title_of

# What is drawn, and whether its colours are logarithmic. What the metrics are called, their units
# and which direction is better is in result.json.
METRICS = [("goodput", False), ("success_rate", False), ("amplification", False),
           ("latency_p99", True)]
# Only in summary.csv; drawn where something disturbs the service.
RECOVERED = "recovered"
TITLES = {RECOVERED: "P(recovered): share of the replications"}
MOST_SUMMARY_BYTES = 1_000_000_000
MOST_TICKS = 12
MOST_TICK_LETTERS = 45  # of all labels that stand level along an axis
MOST_LINES = 12
MARKERS = "os^Dv*"
# Last parts of the keys that are durations, which the files have in seconds, and rates.
DURATIONS = set("""attempt_timeout base bucket cap connect connect_timeout cooldown deadline delay
    drain_limit duration end hold interval job_time latency off on open quantum refill_interval
    reject_cost replay_cost service_time slow spread start think_time throttle_base timeout warmup
    window""".split())
RATES = {"rate", "total_rate"}


def key_with_unit(key, levels):
    """A key, with its unit if all of its values are bare numbers."""
    last = key.rpartition(".")[2]
    if not all(map(is_number, levels)):
        return key_words(key)
    unit = "s" if last in DURATIONS else "1/s" if last in RATES else ""
    return key_words(key, unit)


class Sweep:
    """The points of a sweep and the keys that tell them apart."""

    def __init__(self, folder):
        try:
            info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.name = title_of(info)
            self.replications = info["replications"]
            keys = info["sweep"]["keys"]
            self.folder, self.summary = folder, None
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
        self.fixed = []
        self.keys = self._choose(keys)
        self.axis_key, self.line_key = self._lines()

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
                self.fixed.append(f"{key} = {self.label(key, first)}")
                self.points = self.points[self.points[key] == first]
        return [k for k in varied if k in drawn] or keys[:1]

    def _follows(self, key, other):
        return (self.points.groupby(other)[key].nunique() == 1).all()

    def _lines(self):
        """The key along the axis and the one with a line for each value, where one of two has
        words; neither for a heat map."""
        if len(self.keys) == 1:
            return self.keys[0], None
        words = [k for k in self.keys if not all(map(is_number, self.levels(k)))]
        words = sorted(words, key=lambda k: self.points[k].nunique())
        if not words or self.points[words[0]].nunique() > MOST_LINES:
            return None, None
        return next(k for k in self.keys if k != words[0]), words[0]

    def with_unit(self, key):
        """A key in full with its unit: files have durations in seconds."""
        return key_with_unit(key, self.levels(key))

    def labels(self, key):
        """What the values of a key are called, in the order of `levels`."""
        return short_labels(self.levels(key))

    def label(self, key, level):
        return dict(zip(self.levels(key), self.labels(key)))[level]

    def title(self, metric):
        """The metric's label with its unit; its name in results that do not describe it."""
        if metric in TITLES:
            return TITLES[metric]
        described = self.described.get(metric, {"label": metric, "unit": "1"})
        unit = "" if described["unit"] == "1" else f", {per(described['unit'])}"
        return label_title(described["label"]) + unit

    def read_summary(self):
        """summary.csv; without rows in a result that has none, or one that is too large to draw
        each client group."""
        if self.summary is None:
            names = "variant client metric unit mean ci_low ci_high".split()
            path = self.folder / "summary.csv"
            try:
                if path.stat().st_size > MOST_SUMMARY_BYTES:
                    raise FileNotFoundError
                self.summary = pd.read_csv(path, usecols=names, keep_default_na=False,
                                           na_values={n: [""] for n in names[4:]})
            except FileNotFoundError:
                self.summary = pd.DataFrame(columns=names)
            except (OSError, ValueError) as error:
                raise ResultError(f"{path}: cannot be used: {error}") from None
        return self.summary

    def clients(self):
        """The client groups, without all together."""
        return [name for name in dict.fromkeys(self.read_summary()["client"]) if name != "all"]

    def of(self, metric, client="all"):
        """The sweep with a metric of a client group as a column; it may exist nowhere."""
        rows = self.read_summary()
        rows = rows[(rows["metric"] == metric) & (rows["client"] == client)]
        ends = {"mean": metric, "ci_low": metric + "_ci_low", "ci_high": metric + "_ci_high"}
        other = copy.copy(self)
        other.points = self.points.drop(columns=list(ends.values()), errors="ignore").merge(
            rows[["variant", *ends]].rename(columns=ends), on="variant", how="left")
        if metric not in other.described and not rows.empty:
            other.described = {**other.described,
                               metric: {"label": metric, "unit": rows["unit"].iloc[0]}}
        return other

    def colours(self, metric):
        """The bright end of the colours is the better one."""
        return "viridis_r" if self.described.get(metric, {}).get("better") == "lower" else "viridis"

    def levels(self, key):
        """The values of a key in the order of their size, or of the file if they are words."""
        values = list(dict.fromkeys(self.points[key]))
        return sorted(values, key=float) if all(map(is_number, values)) else values


def columns():
    return [name + end for name, *_ in METRICS for end in ("", "_ci_low", "_ci_high")]


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def is_geometric(values):
    """Whether steps grow, as those of a log-spaced range do."""
    return len(values) > 2 and values[0] > 0 and values[-1] / values[0] > 20 and \
        (values[-1] - values[-2]) > 3 * (values[1] - values[0])


def draw_curve(axis, sweep, table, metric, **look):
    """A metric over a key, with its intervals: a band where points are many, else error bars."""
    key = sweep.axis_key
    levels = [v for v in sweep.levels(key) if v in set(table[key])]
    table = table.drop_duplicates(key).set_index(key).loc[levels]
    all_levels = sweep.levels(key)
    numeric = all(map(is_number, all_levels))
    x = np.array([float(v) if numeric else all_levels.index(v) for v in levels])
    mean = table[metric].to_numpy(dtype=float)
    low = table[metric + "_ci_low"].to_numpy(dtype=float)
    high = table[metric + "_ci_high"].to_numpy(dtype=float)
    if numeric and len(levels) > MOST_TICKS:
        axis.plot(x, mean, **look)
        axis.fill_between(x, low, high, color=pale(look["color"]), linewidth=0, zorder=1.5)
    else:
        error = np.nan_to_num(np.vstack([mean - low, high - mean]), nan=0.0)
        axis.errorbar(x, mean, yerr=np.clip(error, 0, None), markersize=5, capsize=3,
                      **{"marker": "o", **look, "linestyle": look.get("linestyle", "-")
                         if numeric else "none"})


def tick_levels(levels, which, set_scale):
    """Puts a numeric axis on a log scale if its steps grow, and its ticks at the values swept, as
    far as these are few and apart."""
    values = [float(v) for v in levels]
    if is_geometric(values):
        set_scale("log")
    places = np.log(values) if is_geometric(values) else np.array(values)
    if 1 < len(values) <= MOST_TICKS and np.diff(places).min() > 0.06 * np.ptp(places):
        which.set_ticks(values, [f"{v:g}" for v in values])
        which.set_minor_locator(NullLocator())


def draw_lines(axis, sweep, metric, colour):
    """One curve, or one for each word of the key that has words."""
    if sweep.line_key is None:
        draw_curve(axis, sweep, sweep.points, metric, color=colour)
    else:
        for i, level in enumerate(sweep.levels(sweep.line_key)):
            points = sweep.points[sweep.points[sweep.line_key] == level]
            draw_curve(axis, sweep, points, metric,
                       color=GROUP_COLOURS[i % len(GROUP_COLOURS)],
                       marker=MARKERS[i % len(MARKERS)],
                       linestyle="-" if i < len(GROUP_COLOURS) else "--",
                       label=sweep.label(sweep.line_key, level))
    finish_axis(axis, sweep)


def finish_axis(axis, sweep):
    """Ticks, scale and name of the axis of the key along it."""
    levels = sweep.levels(sweep.axis_key)
    if not all(map(is_number, levels)):
        labels = sweep.labels(sweep.axis_key)
        is_long = len(levels) > 4 or sum(map(len, labels)) > MOST_TICK_LETTERS
        axis.set_xticks(range(len(levels)), labels, rotation=30 if is_long else 0,
                        ha="right" if is_long else "center")
        axis.margins(x=0.1)
    else:
        tick_levels(levels, axis.xaxis, axis.set_xscale)
    axis.yaxis.set_major_locator(MaxNLocator(6))
    axis.set_xlabel(sweep.with_unit(sweep.axis_key))


def edges(levels):
    """Where the cells of a heat map end: half-way between numbers, so that distances are true; in
    equal steps between words."""
    if len(levels) < 2 or not all(map(is_number, levels)):
        return np.arange(len(levels) + 1) - 0.5
    values = np.array([float(v) for v in levels])
    geometric = is_geometric(values)
    values = np.log(values) if geometric else values
    middles = (values[1:] + values[:-1]) / 2
    ends = np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])
    return np.exp(ends) if geometric else ends


def scale_axis(which, levels, set_scale):
    """The ticks of an axis of a heat map."""
    if not all(map(is_number, levels)) or len(levels) < 2:
        which.set_ticks(range(len(levels)), short_labels(levels))
    else:
        tick_levels(levels, which, set_scale)


def draw_heat_map(axis, sweep, metric, logarithmic):
    x_key, y_key = sweep.keys
    xs, ys = sweep.levels(x_key), sweep.levels(y_key)
    table = sweep.points.drop_duplicates([x_key, y_key]).pivot(index=y_key, columns=x_key,
                                                               values=metric).loc[ys, xs]
    values = np.ma.masked_invalid(table.to_numpy(dtype=float))
    positive = values.count() > 0 and values.min() > 0 and values.max() > 10 * values.min()
    norm = LogNorm(values.min(), values.max()) if logarithmic and positive else None
    axis.set_facecolor("#DDDDDD")  # where the metric does not exist
    image = axis.pcolormesh(edges(xs), edges(ys), values, cmap=sweep.colours(metric), norm=norm)
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis)
    scale_axis(axis.xaxis, xs, axis.set_xscale)
    scale_axis(axis.yaxis, ys, axis.set_yscale)
    axis.set_xlabel(sweep.with_unit(x_key))
    axis.set_ylabel(sweep.with_unit(y_key))


def draw_panel(axis, sweep, metric, colour, logarithmic=False):
    """One metric over the varied keys: lines, or a heat map."""
    axis.set_title(sweep.title(metric))
    if sweep.axis_key is None:
        draw_heat_map(axis, sweep, metric, logarithmic)
        return
    draw_lines(axis, sweep, metric, colour)
    if metric == RECOVERED:
        axis.set_ylim(-0.03, 1.03)


def describe(sweep, points):
    """What the title of the whole picture says."""
    note = f"{sweep.replications} replications each" if sweep.replications > 1 else \
        "1 replication each: no intervals"
    if sweep.axis_key is not None and sweep.replications > 1:
        note += "; 95 % intervals"
    if sweep.fixed:
        note += "; drawn at " + ", ".join(sweep.fixed)
    return f"{sweep.name}: {points} points, {note}"


def sweep_figure(folder, colour):
    """Metrics over the varied keys, those that exist nowhere left out."""
    sweep = Sweep(folder)
    sweeps = [(sweep, *m) for m in METRICS] + [(sweep.of(RECOVERED), RECOVERED, False)]
    metrics = [m for m in sweeps if not m[0].points[m[1]].isna().all()]
    rows = max(1, -(-len(metrics) // 2))
    figure, axes = plt.subplots(rows, 2, figsize=(12, 0.7 + 3.9 * rows), layout="constrained",
                                squeeze=False)
    for axis, (of_metric, metric, logarithmic) in zip(axes.flat, metrics):
        draw_panel(axis, of_metric, metric, colour, logarithmic)
    for axis in axes.flat[len(metrics):]:
        axis.set_axis_off()
    if metrics and sweep.line_key is not None:
        legend_below(figure, *axes[0][0].get_legend_handles_labels(), title=sweep.line_key)
    figure.suptitle(describe(sweep, len(sweep.points)), fontsize=13, wrap=True,
                     x=0.01, ha="left", fontweight="bold")
    return figure
