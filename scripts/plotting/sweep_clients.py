"""The picture of a sweep by client group: a panel for each metric and group, or one for each metric
with a line for each group.

Used by plot.py. Reads points.csv, summary.csv and result.json of a sweep.

SPDX-License-Identifier: MIT
"""

import difflib

import matplotlib.pyplot as plt

from plotting.drawing import BLUE, GROUP_COLOURS
from plotting.legend import legend_below
from plotting.results import ResultError
from plotting.sweep import (MARKERS, RECOVERED, Sweep, describe, draw_curve, draw_panel,
                            finish_axis)

DEFAULT_METRICS = ["success_rate", RECOVERED, "amplification", "latency_p99"]
MOST_CLIENTS = 6


def groups_of(sweep):
    """The client groups and all together; that alone if there is one group."""
    clients = sweep.clients()
    return [*clients, "all"] if len(clients) > 1 else ["all"]


def check(sweep, metrics):
    known = sorted(set(sweep.read_summary()["metric"]))
    for metric in metrics:
        if metric in known:
            continue
        near = difflib.get_close_matches(metric, known, 1)
        raise ResultError(f"{sweep.folder / 'summary.csv'}: has no metric {metric}" +
                          (f"; did you mean {near[0]}?" if near else ""))


def exists(sweep, metric, client):
    return not sweep.of(metric, client).points[metric].isna().all()


def draw_groups(axis, sweep, metric, groups):
    """One panel: a line for each group over the only varied key."""
    axis.set_title(sweep.title(metric))
    for i, client in enumerate(groups):
        if exists(sweep, metric, client):
            of_client = sweep.of(metric, client)
            axis.set_title(of_client.title(metric))
            draw_curve(axis, of_client, of_client.points, metric,
                       color=GROUP_COLOURS[i % len(GROUP_COLOURS)],
                       marker=MARKERS[i % len(MARKERS)],
                       label="all together" if client == "all" else client)
    finish_axis(axis, sweep)
    if metric == RECOVERED:
        axis.set_ylim(-0.03, 1.03)


def lines_by_group(sweep, metrics, groups):
    rows = -(-len(metrics) // 2)
    columns = min(2, len(metrics))
    figure, axes = plt.subplots(rows, columns, figsize=(6 * columns + 0.5, 0.7 + 3.9 * rows),
                                layout="constrained", squeeze=False)
    for axis, metric in zip(axes.flat, metrics):
        draw_groups(axis, sweep, metric, groups)
    for axis in axes.flat[len(metrics):]:
        axis.set_axis_off()
    handles = {}
    for axis in axes.flat:
        handles.update({label: handle for handle, label in zip(*axis.get_legend_handles_labels())})
    if len(groups) > 1:
        legend_below(figure, list(handles.values()), list(handles), "clients", 6)
    return figure


def panels_by_group(sweep, metrics, groups):
    """A row for each metric and a column for each group, of which all have one scale."""
    lines = sweep.axis_key is not None
    figure, axes = plt.subplots(len(metrics), len(groups), squeeze=False, layout="constrained",
                                figsize=(1 + 4.2 * len(groups), 0.9 + 3.5 * len(metrics)),
                                sharey="row" if lines else False)
    for row, metric in zip(axes, metrics):
        values = [sweep.of(metric, client).points[metric] for client in groups]
        low, high = min(v.min() for v in values), max(v.max() for v in values)
        for axis, client in zip(row, groups):
            if not exists(sweep, metric, client):
                axis.set_axis_off()
                continue
            of_client = sweep.of(metric, client)
            draw_panel(axis, of_client, metric, BLUE)
            for image in axis.collections if not lines else ():
                image.set_clim(low, high)
            if len(groups) > 1:
                name = "all together" if client == "all" else client
                axis.set_title(f"{name}\n{of_client.title(metric)}", fontsize=10)
    if sweep.line_key is not None:
        handles, labels = axes[0][0].get_legend_handles_labels()
        legend_below(figure, handles, labels, sweep.line_key, 6)
    return figure


def sweep_clients_figure(folder, metrics=None):
    """`metrics` by client group; without them those that matter most."""
    sweep = Sweep(folder)
    check(sweep, metrics or [])
    groups = groups_of(sweep)[-MOST_CLIENTS:]
    chosen = [m for m in metrics or DEFAULT_METRICS
              if any(exists(sweep, m, client) for client in groups)]
    if not chosen:
        raise ResultError(f"{folder}: these metrics exist at no point")
    one_key = sweep.axis_key is not None and sweep.line_key is None
    figure = (lines_by_group if one_key else panels_by_group)(sweep, chosen, groups)
    figure.suptitle(describe(sweep, len(sweep.points)), fontsize=13, wrap=True)
    return figure


def has_groups(folder):
    """Whether the sweep has several client groups."""
    return (folder / "summary.csv").is_file() and len(groups_of(Sweep(folder))) > 1
