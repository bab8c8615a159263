"""The command line of plot.py: which pictures a folder has, and where they go.

SPDX-License-Identifier: MIT
"""

import argparse
import copy
import difflib
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from .file import save_all
from .layout import draw_picture
from .results import ResultError, Results
from .sizes import DEFAULT, SIZES

PROGRAM = Path(sys.argv[0]).name  # retrysim-plot, where it is installed


def with_metrics(results, metrics):
    """The picture of a sweep by client group, with these metrics of summary.csv instead."""
    found = [p for p in results.pictures() if p["name"] == "sweep_clients"] or results.pictures()
    picture = copy.deepcopy(found[0])
    known = sorted({row["metric"] for row in results.table("summary.csv")})
    first = picture["panels"][0].get("metric")
    template = [panel for panel in picture["panels"] if panel.get("metric") == first]
    picture["name"], picture["panels"] = "sweep_clients", []
    for metric in metrics:
        if metric not in known:
            near = difflib.get_close_matches(metric, known, 1)
            raise ResultError(f"{results.folder / 'summary.csv'}: has no metric {metric}" +
                              (f"; did you mean {near[0]}?" if near else ""))
        picture["panels"] += [of_metric(copy.deepcopy(panel), metric) for panel in template]
    return picture


def of_metric(panel, metric):
    """Another metric in a panel, which then has the scale of its figures."""
    group, colon, _ = panel["title"].partition(": ")
    panel["title"] = f"{group}: {metric}" if colon else metric
    panel["y"] = {"label": ""} if "names" not in panel["y"] else panel["y"]
    for one in [*panel["series"], *([panel["cells"]] if "cells" in panel else [])]:
        source = one["from"]
        ends = {"low": "ci_low", "high": "ci_high"}
        value = "value" if "value" in source else "y"
        if source["file"] == "points.csv":
            source.update(file="summary.csv", where={"client": "all"},
                          by={"file": "points.csv", "column": "variant", "where": source["where"]})
        source.update({value: "mean", **{end: column for end, column in ends.items()
                                         if value == "y"}})
        source["where"]["metric"] = metric
    if "cells" in panel:
        panel["cells"] = {"from": panel["cells"]["from"]}
    return panel


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=PROGRAM, allow_abbrev=False,
        description="Draws the results of a run, a comparison, a sweep, a search, a "
                    "choice, advice, a map or a prediction.")
    parser.add_argument("results", metavar="RESULTS_DIR", help="folder that retrysim wrote")
    parser.add_argument("--picture", metavar="NAME",
                        help="this picture alone, such as overview (default: all of them)")
    parser.add_argument("--size", choices=SIZES,
                        help="column: for a column of a paper, 3.5 inches wide; slide: for a slide "
                             "of 16:9, 13.33 by 7.5 inches. A picture with many panels goes on in "
                             "NAME-2, NAME-3 ... (default: one picture to read on a screen)")
    parser.add_argument("--no-title", action="store_true",
                        help="leave out titles and the lines below them, as for a caption")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png",
                        help="kind of picture (default: png)")
    parser.add_argument("--out", metavar="DIR",
                        help="folder for the pictures (default: the result folder)")
    parser.add_argument("--variant", metavar="NAME",
                        help="one variant of a comparison alone (default: all of them)")
    parser.add_argument("--metrics", metavar="METRIC,...",
                        help="of a sweep: these metrics, by client group")
    options = parser.parse_args(arguments)
    options.size = SIZES.get(options.size, DEFAULT)
    if options.metrics and options.picture not in (None, "sweep_clients"):
        parser.error(f"--metrics draws sweep_clients, not {options.picture}: leave out --picture")
    if options.metrics and not (Path(options.results) / "points.csv").is_file():
        parser.error("--metrics is for the results of a sweep")
    return options


def drawn(options):
    """The pictures that are to be drawn, and the folder with their figures."""
    results = Results(options.results)
    if options.metrics:
        return results, [with_metrics(results, options.metrics.split(","))]
    return results, results.chosen(options.picture, options.variant)


def main(arguments=None):
    options = parse(arguments)
    out = Path(options.out or options.results)
    try:
        with plt.rc_context(options.size.style()):
            results, pictures = drawn(options)
            for picture in pictures:
                try:
                    figures = draw_picture(picture, results, options.size,
                                           not options.no_title)
                except (KeyError, TypeError, IndexError) as error:
                    raise ResultError(f"{results.folder / 'result.json'}: cannot be used: "
                                      f"{error!r}") from None
                for path in save_all(figures, out, picture["name"], options.format,
                                     options.size.dots_per_inch):
                    print(path)
    except ResultError as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"{PROGRAM}: error: cannot write {out}: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0
