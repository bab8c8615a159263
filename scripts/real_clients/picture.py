"""The picture of real runs against their predictions.

SPDX-License-Identifier: MIT
"""

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "retrysim"  # equal figures give equal files

import matplotlib.pyplot as plt

SHOWN = ("attempts", "successes", "failures")  # the requests are the same
AGREES, OUTSIDE, BAND = "#1f4e79", "#c0392b", "#9ecae1"


def draw_panel(axes, case, figures):
    """One metric of one scenario: a figure for each interval."""
    start = [float(f.where) for f in figures]
    width = case.interval_ns / 1e9
    edges = [*start, start[-1] + width]

    def steps(values):
        return [*values, values[-1]]

    axes.fill_between(edges, steps([f.low for f in figures]), steps([f.high for f in figures]),
                      step="post", color=BAND, linewidth=0)
    axes.step(edges, steps([f.mean for f in figures]), where="post", color="white", linewidth=0.8)
    for agrees, colour in ((True, AGREES), (False, OUTSIDE)):
        dots = [(s + width / 2, f.real) for s, f in zip(start, figures) if f.agrees == agrees]
        axes.plot([x for x, _ in dots], [y for _, y in dots], ".", color=colour, markersize=3.5)
    for phase in case.phases[1:]:
        axes.axvline(phase.start_ns / 1e9, color="0.6", linewidth=0.6, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, edges[-1])


def draw(path, results):
    """`results`: [(case, figures by interval)]."""
    figure, grid = plt.subplots(len(SHOWN), len(results), squeeze=False, sharex="col",
                                figsize=(3.3 * len(results) + 0.6, 5.6))
    for column, (case, figures) in zip(zip(*grid), results):
        for axes, metric in zip(column, SHOWN):
            draw_panel(axes, case, [f for f in figures if f.metric == metric])
        column[0].set_title(case.name, fontsize=10)
        column[-1].set_xlabel("time (s)")
    for axes, metric in zip(grid[:, 0], SHOWN):
        axes.set_ylabel(f"{metric} per interval", fontsize=8)
    for axes in grid.flat:
        axes.tick_params(labelsize=7)
    figure.suptitle("Band: 95 % prediction interval of the simulation. Dots: the real run, red "
                    "where outside by more than 2 %.", fontsize=9)
    figure.tight_layout()
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, dpi=100, metadata=metadata)
    plt.close(figure)
