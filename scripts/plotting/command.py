"""The command line of plot.py: which pictures a folder has, and where they go.

SPDX-License-Identifier: MIT
"""

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from plotting.advice import advice_figure
from plotting.choose import choose_figures
from plotting.comparison import comparison_figure
from plotting.drawing import BLUE, GROUP_COLOURS, STYLE
from plotting.file import save
from plotting.latency import latency
from plotting.map import map_figure
from plotting.overview import overview
from plotting.phase_plane import phase_plane_figure
from plotting.results import ResultError, Results
from plotting.sweep import sweep_figure
from plotting.sweep_clients import has_groups, sweep_clients_figure
from plotting.tip import tip_figures
from plotting.tip_curve import tip_curve_figure

PROGRAM = Path(sys.argv[0]).name  # retrysim-plot, where it is installed


def sweep_pictures(folder, metrics):
    """All clients together and, where there are several groups, each of them; the metrics that were
    asked for instead."""
    if metrics:
        return [("sweep_clients", lambda: sweep_clients_figure(folder, metrics.split(",")))]
    both = [("sweep", lambda: sweep_figure(folder, BLUE))]
    if has_groups(folder):
        both.append(("sweep_clients", lambda: sweep_clients_figure(folder)))
    return both


def pictures(options):
    """(name, function that draws) of each picture that a folder has data for."""
    folder = Path(options.results)
    figures = tip_figures(options.results) or choose_figures(options.results)
    if (folder / "curve.csv").is_file():
        figures = [("tip_curve", lambda: tip_curve_figure(folder))]
    if (folder / "points.csv").is_file():
        figures = sweep_pictures(folder, options.metrics)
    if (folder / "advice.csv").is_file():
        figures = [("advise", lambda: advice_figure(folder))]
    if (folder / "map.csv").is_file():
        figures = [("map", lambda: map_figure(folder))]
    if (folder / "trajectories.csv").is_file():
        figures = [("phase_plane", lambda: phase_plane_figure(folder))]
    if figures:
        yield from figures
        return
    results = Results(options.results, options.variant)
    yield "overview", lambda: overview(results)
    yield "latency", lambda: latency(results)
    if (results.folder / "compare.csv").is_file():
        yield "compare", lambda: comparison_figure(results.folder, GROUP_COLOURS)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=PROGRAM, allow_abbrev=False,
        description="Draws the results of a run, a comparison, a sweep, a search, a "
                    "choice, advice, a map or a prediction.")
    parser.add_argument("results", metavar="RESULTS_DIR", help="folder that retrysim wrote")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png",
                        help="kind of picture (default: png)")
    parser.add_argument("--out", metavar="DIR",
                        help="folder for the pictures (default: the result folder)")
    parser.add_argument("--variant", metavar="NAME",
                        help="the variant to draw (default: the first)")
    parser.add_argument("--metrics", metavar="METRIC,...",
                        help="of a sweep: these metrics, by client group")
    options = parser.parse_args(arguments)
    if options.metrics and not (Path(options.results) / "points.csv").is_file():
        parser.error("--metrics is for the results of a sweep")
    return options


def main(arguments=None):
    options = parse(arguments)
    out = Path(options.out or options.results)
    try:
        with plt.rc_context(STYLE):
            for name, draw_figure in pictures(options):
                out.mkdir(parents=True, exist_ok=True)
                path = out / f"{name}.{options.format}"
                save(draw_figure(), path)
                print(path)
    except ResultError as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"{PROGRAM}: error: cannot write {out}: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0
