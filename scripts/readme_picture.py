#!/usr/bin/python3
"""The picture of README.md: what four ways of retrying make of the same dip in capacity.

  readme_picture.py --program build/release/retrysim            simulates and rewrites the picture
  readme_picture.py --program build/release/retrysim --check    exit 1 if the picture is out of date

Runs scenarios/capacity-dip.toml and draws scenarios/capacity-dip.svg. The check compares the two
files number by number, so that another processor's last digit does not matter.

SPDX-License-Identifier: MIT
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from plotting.file import save  # noqa: E402
from plotting.looks import colour  # noqa: E402
from plotting.results import Results  # noqa: E402
from plotting.sizes import STYLE  # noqa: E402

BLUE, GREEN, ORANGE, RED = map(colour, ("blue", "green", "orange", "red"))

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "capacity-dip.toml"
PICTURE = ROOT / "scenarios" / "capacity-dip.svg"
# Client group, its name for the reader, colour, and where its label stands. Adaptive mode
# is left out: it does here what standard mode does.
MODES = [("none", "no retries", GREEN, (98.5, 70)),
         ("standard21", "standard 2.1", BLUE, (131, 70)),
         ("standard", "standard 2.0\nand adaptive", ORANGE, (184, 70)),
         ("legacy", "legacy", RED, (195, 8))]
DIP = {"color": "#999999", "alpha": 0.35, "linewidth": 0}
BINS = 2  # one-second bins averaged into one point
SHOWN_S = 270  # nothing changes after that
END_S = 600
NUMBER = re.compile(r"-?\d+\.\d+")
TOLERANCE = 0.02  # in SVG units, of which the picture is 720 wide


def series(results, group, column):
    """Mean rate over the replications, as two columns: time and rate."""
    interval, sums, runs = results.info["variants"][0]["interval_s"], {}, set()
    for row in results.table("timeseries.csv"):
        runs.add(row["replication"])
        if row["client"] == group and float(row["time_s"]) < SHOWN_S:
            point = int(float(row["time_s"]) // (BINS * interval))
            sums[point] = sums.get(point, 0) + float(row[column])
    return ([(point + 0.5) * BINS * interval for point in sorted(sums)],
            [sums[point] / (BINS * interval * len(runs)) for point in sorted(sums)])


def fate(results, group):
    """What became of a mode after the dip, in words."""
    for row in results.info["summary"]:
        if (row["metric"], row["client"]) == ("recovery_s", group):
            return f"back after\n{row['mean']:.0f} s"
    return "still down after 10 min"


def draw_panel(axis, results, column, title):
    for group, _, ink, _ in MODES:
        axis.plot(*series(results, group, column), color=ink)
    details = results.info["variants"][0]
    dip, steps = details["disturbances"][0], details["services"][0]["capacity_steps"]
    axis.axvspan(dip["start_s"], dip["end_s"], **DIP)
    axis.step([start for start, _ in steps] + [END_S], [rate for _, rate in [*steps, steps[-1]]],
              color="black", linestyle=(0, (4, 2)), where="post", linewidth=1.2)
    axis.set_xlim(30, SHOWN_S)
    axis.set_ylim(bottom=0)
    axis.set_title(title)
    axis.set_ylabel("per second")


def figure_of(results):
    figure, (sent, succeeded) = plt.subplots(2, 1, figsize=(10, 6.4), sharex=True)
    draw_panel(sent, results, "attempts", "Attempts that the clients send")
    draw_panel(succeeded, results, "successes", "Requests that succeed")
    succeeded.set_xlabel("time, s")
    sent.text(75, 75, "30 %", ha="center", va="bottom")
    sent.text(SHOWN_S - 1, 214, "capacity", ha="right", va="bottom")
    sent.text(150, 735, "legacy: five attempts for every request", color=RED, fontweight="bold")
    for group, name, ink, place in MODES:
        text = f"{name}: {fate(results, group)}" if group == "legacy" else (
            f"{name}:\n{fate(results, group)}")
        succeeded.text(*place, text, color=ink, fontweight="bold", linespacing=1.3)
    figure.suptitle("A 30 s dip in capacity: legacy retries keep the service down long after it",
                    x=0.075, y=0.975, ha="left", fontsize=14, fontweight="bold")
    figure.subplots_adjust(left=0.075, right=0.98, top=0.87, bottom=0.09, hspace=0.28)
    return figure


def draw(program, folder):
    """Runs the scenario and draws the picture into `folder`."""
    results = pathlib.Path(folder) / "results"
    subprocess.run([program, "run", str(SCENARIO), "--out", str(results), "--quiet"], check=True)
    style = {**STYLE, "svg.fonttype": "none", "savefig.facecolor": "white"}
    picture = pathlib.Path(folder) / PICTURE.name
    with plt.rc_context(style):
        save(figure_of(Results(results)), picture)
    return picture


def without_version(text):
    """Without what depends on the release of Matplotlib: it names clip paths by a checksum, writes
    a font as one property or as several, and goes round a closed path from any of its points."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\bp[0-9a-f]{10}\b", "clip", text)
    text = re.sub(r"font: (?:([a-z0-9]+) )?([0-9.]+px) ('[^']*')",
                  lambda f: (f"font-weight: {f[1]}; " if f[1] else "") +
                  f"font-size: {f[2]}; font-family: {f[3]}", text)
    def points(path):
        found = re.findall(r"(-?[0-9.]+) (-?[0-9.]+)", path[1])
        return f'd="{sorted(found, key=lambda xy: (round(float(xy[0])), round(float(xy[1]))))} z"'
    text = re.sub(r'd="([^"]*)z\s*"', points, text)
    return re.sub(r'style="([^"]*)"', lambda style: 'style="' + "; ".join(
        sorted(part.strip() for part in style[1].split(";") if part.strip())) + '"', text)


def same(one, other):
    """Whether two pictures have the same shapes and words, and numbers equal up to rounding."""
    one, other = without_version(one), without_version(other)
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other))
    return all(abs(float(a) - float(b)) <= TOLERANCE for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="the program whose results are drawn")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="retrysim-picture-") as folder:
        new = draw(options.program, folder).read_text(encoding="utf-8")
    if not options.check:
        PICTURE.write_text(new, encoding="utf-8")
    elif not same(new, PICTURE.read_text(encoding="utf-8")):
        sys.exit(f"{PICTURE.relative_to(ROOT)}: error: the picture is out of date; run "
                 "scripts/readme_picture.py --program build/release/retrysim, look, and commit")


if __name__ == "__main__":
    main()
