"""The command line of plot.py: which pictures a folder has, and where they go.

SPDX-License-Identifier: MIT
"""

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from plotting.choose import choose_figures
from plotting.comparison import comparison_figure
from plotting.drawing import BLUE, GROUP_COLOURS, STYLE
from plotting.file import save
from plotting.latency import latency
from plotting.overview import overview
from plotting.results import ResultError, Results
from plotting.sweep import sweep_figure
from plotting.tip import tip_figures


def pictures(options):
    """(name, function that draws) of each picture that a folder has data for."""
    folder = Path(options.results)
    figures = tip_figures(options.results) or choose_figures(options.results)
    if (folder / "points.csv").is_file():
        figures = [("sweep", lambda: sweep_figure(folder, BLUE))]
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
        prog="plot.py", allow_abbrev=False,
        description="Draws the results of a run, a comparison, a sweep, a search or a choice.")
    parser.add_argument("results", metavar="RESULTS_DIR", help="folder that retrysim wrote")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png",
                        help="kind of picture (default: png)")
    parser.add_argument("--out", metavar="DIR",
                        help="folder for the pictures (default: the result folder)")
    parser.add_argument("--variant", metavar="NAME",
                        help="the variant to draw (default: the first)")
    return parser.parse_args(arguments)


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
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"plot.py: error: cannot write {out}: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0
