"""Draws one picture as the program has concluded it. Nothing is decided here but how large things
are and where there is room for them.

SPDX-License-Identifier: MIT
"""

import math
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from .looks import colour

STYLE = {
    "svg.hashsalt": "retrysim",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "text.parse_math": False,
}
WIDTH = 16 / 1.5  # inches of a picture
# Opaque, so that what overlaps does not mix into a colour that the legend lacks.
SPANS = {"fault": {"facecolor": "#DCDCDC", "linewidth": 0, "zorder": 0.3},
         "storm": {"facecolor": "#F0E442", "linewidth": 0, "zorder": 0.4},
         "outside": {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "//", "linewidth": 0}}
STORM_BOTTOM = 0.95  # as a share of the height: a strip above the grey of a fault
MARKS = {"dot": "o", "ring": "o", "square": "s", "cross": "X", "diamond": "D", "star": "*",
         "arrow": ">"}
MOST_BANDS = 3  # more would hide each other
LONGEST = 32  # letters of a name that stands aslant below a panel


def pale(name, share=0.22):
    """An opaque tint: so much of the colour on white."""
    return tuple(1 - share * (1 - part) for part in to_rgb(colour(name)))


def look_of(series):
    dash = series.get("dash") or []
    return {"color": colour(series["colour"]),
            "linestyle": (0, tuple(part / 2 for part in dash)) if dash else "-"}


def text_of(series):
    """What a legend says of it."""
    return f"{series['name']}: {series['said']}" if "said" in series else series["name"]


# --- Axes -----------------------------------------------------------------------------------------

def scale_axis(axis, which, about):
    """Range, scale, ticks and label of one axis of a panel."""
    ticks = getattr(axis, f"{which}axis")
    set_scale, set_limits = getattr(axis, f"set_{which}scale"), getattr(axis, f"set_{which}lim")
    getattr(axis, f"set_{which}label")(about.get("label", ""))
    if "names" in about:
        texts = [text for _, text in about["names"]]
        step = max(1, -(-len(texts) // 24))
        ticks.set_ticks(range(0, len(texts), step), texts[::step])
        if which == "x":
            set_limits(-0.6, len(texts) - 0.4)
        else:
            set_limits(len(texts) - 0.4, -0.6)
        return
    if "low" not in about:
        return
    if about["scale"] == "log":
        set_scale("log")
    elif about["scale"] == "stretched":
        knee = about["knee"]
        set_scale("function", functions=(lambda v: above_knee(v, knee), lambda v: back(v, knee)))
    elif about["scale"] == "nines":
        set_scale("function", functions=(lambda v: -np.log10(1 - np.clip(v, -9, 0.9999999)),
                                         lambda v: 1 - 10.0 ** -np.asarray(v)))
    set_limits(about["low"], about["high"])
    ticks.set_major_locator(FixedLocator([at for at, _ in about["ticks"]]))
    ticks.set_ticklabels([text for _, text in about["ticks"]])
    ticks.set_minor_locator(NullLocator())
    ticks.set_minor_formatter(NullFormatter())


def above_knee(values, knee):
    """Linear up to the knee, logarithmic above."""
    values = np.asarray(values, dtype=float)
    return np.where(values <= knee, values / knee,
                    1 + 1.2 * np.log10(np.maximum(values, knee) / knee))


def back(heights, knee):
    heights = np.asarray(heights, dtype=float)
    return np.where(heights <= 1, heights * knee, knee * 10 ** ((np.maximum(heights, 1) - 1) / 1.2))


# --- What is in a panel ---------------------------------------------------------------------------

def draw_line(axis, series, points, panel, bands):
    look, upright = look_of(series), "names" not in panel["y"]
    x, y, low, high = (np.array([point[i] for point in points], dtype=float) for i in range(4))
    if is_over_time(series) and len(x) > 1:
        x = x + (x[1] - x[0]) / 2  # a bin is drawn at its middle
    known = np.isfinite(low) & np.isfinite(high)
    if series.get("band") and bands and known.any():
        axis.fill_between(x, np.where(known, low, np.nan), np.where(known, high, np.nan),
                          color=pale(series["colour"]), linewidth=0, zorder=1.2)
    if series.get("whiskers"):
        lines = axis.vlines if upright else axis.hlines
        lines((x if upright else y)[known], low[known], high[known], color=look["color"],
              linewidth=1.2)
    if series.get("line"):
        order = np.arange(len(x)) if series.get("arrow") else np.argsort(x, kind="stable")
        axis.plot(x[order], y[order], **look)
    if "mark" in series:
        draw_marks(axis, series, x, y)
    if "end" in series and len(x):
        axis.plot(x[-1], y[-1], marker=MARKS[series["end"]], color=look["color"],
                  linestyle="none", markersize=13 if series["end"] == "star" else 8, zorder=4)
    if series.get("arrow"):
        draw_arrow(axis, x, y, look["color"])


def is_over_time(series):
    return series.get("from", {}).get("x") == "time_s" and "line" in series


def draw_marks(axis, series, x, y):
    hollow = series["mark"] == "ring" or series.get("hollow")
    ink = colour(series["colour"])
    axis.plot(x, y, MARKS[series["mark"]], linestyle="none", color=ink, zorder=4,
              markersize=10 if series["mark"] != "dot" else 5, markeredgewidth=1.6,
              markerfacecolor="white" if series.get("hollow") else "none" if hollow else ink,
              markeredgecolor=ink, clip_on="line" in series)


def draw_arrow(axis, x, y, ink):
    """Which way a curve goes, at the middle of what is seen of it."""
    inside = x <= axis.get_xlim()[1]
    x, y = x[inside], y[inside]
    if len(x) < 2:
        return
    size = [max(np.ptp(axis.get_xlim()), 1e-12), max(np.ptp(axis.get_ylim()), 1e-12)]
    steps = np.hypot(np.diff(x) / size[0], np.diff(y) / size[1])
    if steps.sum() < 0.05:
        return
    at = min(int(np.searchsorted(np.cumsum(steps), 0.4 * steps.sum())), len(x) - 2)
    ahead = at + 1
    while ahead + 1 < len(x) and np.hypot((x[ahead] - x[at]) / size[0],
                                          (y[ahead] - y[at]) / size[1]) < 0.01:
        ahead += 1
    axis.annotate("", xy=(x[ahead], y[ahead]), xytext=(x[at], y[at]),
                  arrowprops={"arrowstyle": "-|>", "color": ink, "mutation_scale": 16})


def draw_steps(axis, series):
    steps = series["steps"]
    axis.step([at for at, _ in steps] + [series["end"]], [v for _, v in [*steps, steps[-1]]],
              where="post", linewidth=1.5, **look_of(series))


def draw_bars(axis, series, points):
    """Differences along the axis, each with its interval and its number."""
    for x, y, low, high, *_ in points:
        if not math.isfinite(x):
            continue
        ink = pale(series["colour"], 0.35) if series.get("pale") else colour(series["colour"])
        axis.barh(y, x, height=0.7, color=ink)
        ends = [end for end in (x, low, high) if math.isfinite(end)]
        if len(ends) == 3:
            axis.plot([low, high], [y, y], color="black", linewidth=1.4, marker="|", markersize=6)
        side = -1 if x < 0 else 1
        axis.annotate(series["text"], (max(ends, key=lambda end: side * end), y), fontsize=9,
                      xytext=(4 * side, 0), textcoords="offset points", va="center",
                      ha="left" if side > 0 else "right")


def draw_stacks(axis, panel, all_points):
    bottoms = {}
    whole = {}
    for _, points in all_points[:1]:
        for x, _, _, _, of in points:
            whole[x] = whole.get(x, 0) + of
    for series, points in all_points:
        heights = {}
        for x, y, *_ in points:
            heights[x] = heights.get(x, 0) + y
        for x, height in heights.items():
            share = height / whole[x] if whole.get(x) else 0
            axis.bar(x, share, bottom=bottoms.get(x, 0), color=colour(series["colour"]),
                     edgecolor="white", linewidth=0.5, width=0.8)
            bottoms[x] = bottoms.get(x, 0) + share
    for x, text in enumerate(panel["tops"]):
        axis.text(x, 1.005, text, ha="center", va="bottom",
                  fontsize=7 if len(panel["tops"]) > 5 else 9)
    axis.grid(axis="x", visible=False)


def draw_cells(figure, axis, panel, results):
    """A field of cells: each a class with its colour, or a number on a scale of colours."""
    cells, source = panel["cells"], panel["cells"]["from"]
    table = np.full((len(panel["y"]["names"]), len(panel["x"]["names"])), np.nan)
    classes = [key for key, _, _ in cells.get("classes", [])]
    for row in results.rows(source):
        x, y = (place_of(row, source[a], panel[a]) for a in "xy")
        if x is None or y is None:
            continue
        value = row[source["value"]]
        table[y, x] = classes.index(value) if value in classes else float(value or "nan")
    axis.set_facecolor("#DDDDDD")  # where there is no value
    axis.grid(False)
    if classes:
        colours = [colour(name) for _, _, name in cells["classes"]]
        for i, ink in enumerate(colours):
            axis.pcolormesh(np.ma.masked_where(table != i, np.zeros(table.shape)),
                            cmap=LinearSegmentedColormap.from_list("one", [ink, ink]))
        draw_borders(axis, table)
    else:
        ramp = LinearSegmentedColormap.from_list("ramp", [pale("blue", 0.06), pale("blue", 0.75)])
        norm = None  # of another metric the scale is that of its figures
        if "low" in cells:
            low, high = cells["low"], max(cells["high"], cells["low"] + 1e-12)
            norm = LogNorm(low, high) if cells["log"] else Normalize(low, high)
        image = axis.pcolormesh(np.ma.masked_invalid(table), cmap=ramp, norm=norm)
        if "scale" not in cells:
            figure.colorbar(image, cax=axis.inset_axes([1.02, 0, 0.03, 1]))
        elif "texts" not in cells:
            bar = figure.colorbar(image, cax=axis.inset_axes([1.02, 0, 0.03, 1]))
            bar.set_ticks([at for at, _ in cells["scale"]], minor=False,
                          labels=[text for _, text in cells["scale"]])
            bar.ax.minorticks_off()
    for y, texts in enumerate(cells.get("texts", [])):
        for x, text in enumerate(texts):
            axis.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=8)
    for which in "xy":
        names = [text for _, text in panel[which]["names"]]
        step = max(1, -(-len(names) // 12))
        getattr(axis, f"set_{which}ticks")(np.arange(0, len(names), step) + 0.5, names[::step])
        getattr(axis, f"set_{which}label")(panel[which]["label"])
        getattr(axis, f"set_{which}lim")(0, len(names))


def place_of(row, column, axis):
    keys = [key for key, _ in axis["names"]]
    return keys.index(row[column]) if row[column] in keys else None


def draw_borders(axis, table):
    """A line wherever two classes meet, so that they can be told apart in grey, too."""
    rows, columns = table.shape
    for y in range(rows):
        for x in range(columns):
            if x + 1 < columns and table[y, x] != table[y, x + 1]:
                axis.plot([x + 1, x + 1], [y, y + 1], color="#444444", linewidth=1)
            if y + 1 < rows and table[y, x] != table[y + 1, x]:
                axis.plot([x, x + 1], [y + 1, y + 1], color="#444444", linewidth=1)


# --- Panels ---------------------------------------------------------------------------------------

def shown(panel):
    return [series for series in panel["series"] if not series.get("off")]


def draw_panel(figure, axis, panel, results):
    axis.set_title(panel["title"])
    if "cells" in panel:
        draw_cells(figure, axis, panel, results)
    else:
        for which in "xy":
            scale_axis(axis, which, panel[which])
        for span in panel.get("spans", []):
            low = STORM_BOTTOM if span["role"] == "storm" else 0
            axis.axvspan(span["from"], span["to"], ymin=low, **SPANS[span["role"]])
        for mark in panel.get("marks", []):
            if "from" in mark:
                axis.axvspan(mark["from"], mark["to"], color=colour(mark["colour"]), alpha=0.12,
                             linewidth=0)
            axis.axvline(mark["at"], linewidth=1.2, zorder=1, **look_of(mark))
    lines = [(series, results.points(series, panel)) for series in shown(panel)
             if "steps" not in series]
    offset = 0.5 if "cells" in panel else 0
    bands = sum(bool(series.get("band")) for series, _ in lines) <= MOST_BANDS
    if panel.get("stacked"):
        draw_stacks(axis, panel, lines)
        return
    for series, points in lines:
        if series.get("bar"):
            draw_bars(axis, series, points)
        elif points:
            draw_line(axis, series, [[p[0] + offset, p[1] + offset, *p[2:4]] for p in points],
                      panel, bands)
            if "label" in series:
                draw_cross(axis, series, points)
    for series in shown(panel):
        if "steps" in series:
            draw_steps(axis, series)


def draw_cross(axis, series, points):
    """A point with its intervals both ways, and its name beside it."""
    x, y, low, high, left, right = points[0]
    ink = colour(series["colour"])
    axis.plot([x, x], [low, high], color=ink, linewidth=1.4)
    axis.plot([left, right], [y, y], color=ink, linewidth=1.4)
    inside = x <= sum(axis.get_xlim()) / 2
    axis.annotate(series["label"], (x, y), fontsize=9, textcoords="offset points",
                  xytext=(8 if inside else -8, 6), ha="left" if inside else "right")


def entries_of(panel):
    """(handle, text) of a panel's legend, each text once."""
    if panel.get("quiet"):
        return []
    entries = {}
    for series in shown(panel):
        if panel.get("stacked"):
            handle = Patch(facecolor=colour(series["colour"]))
        else:
            mark = MARKS.get(series.get("mark") or series.get("end"), "")
            handle = Line2D([], [], marker=mark, **look_of(series),
                            markerfacecolor="none" if series.get("mark") == "ring" else None)
            if not (series.get("line") or "steps" in series):
                handle.set_linestyle("none")
        entries.setdefault(text_of(series), handle)
    for mark in panel.get("marks", []):
        if "name" in mark:
            entries.setdefault(mark["name"], Line2D([], [], **look_of(mark)))
    for span in panel.get("spans", []):
        if "legend" in span:
            entries.setdefault(span["legend"], Patch(**SPANS[span["role"]]))
    for _, text, name in panel.get("cells", {}).get("classes", []):
        entries.setdefault(text, Patch(facecolor=colour(name), edgecolor="#444444"))
    for note in panel.get("notes", []):
        entries.setdefault(note, Line2D([], [], linestyle="none"))
    return [(handle, text) for text, handle in entries.items()]


# --- The whole picture ----------------------------------------------------------------------------

def broken(text, size, width):
    """In lines as wide as the figure."""
    return "\n".join(textwrap.wrap(text, int(width * 0.96 * 72 / (0.56 * size)))) or ""


def columns_of(panels):
    """How many panels stand abreast: two, or three of short names along their sides."""
    if len(panels) == 1 or panels[0].get("group") == "glance":
        return 1
    names = [text for panel in panels for _, text in panel["y"].get("names", [])]
    beside = all("names" in panel["y"] and "cells" not in panel for panel in panels[:-1])
    return 3 if beside and len(panels) > 4 and max(map(len, names), default=0) < 18 else 2


def inches_of(panel, row):
    """The height of a panel without its texts; `row` is that of a name along its side."""
    if "cells" in panel:
        return max(3.0, min(5.5, 0.3 * len(panel["y"]["names"]) + 1))
    if "names" in panel["y"]:
        return max(1.3, row * len(panel["y"]["names"]) + 0.4)
    return 2.5


def place_panels(panels, columns):
    """(row, column, width) of each panel; a wide one, and a last one that is alone, fill a row."""
    places, row, column = [], 0, 0
    for i, panel in enumerate(panels):
        wide = panel.get("wide", False)
        if wide and column:
            row, column = row + 1, 0
        last = i + 1 == len(panels) and column == 0
        span = columns if wide or last else 1
        places.append((row, column, span))
        column += span
        if column >= columns:
            row, column = row + 1, 0
    return places


def clip(text, most):
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def in_two_lines(name, most):
    """A name in one line or two of so many letters; what has no room ends in "…"."""
    first, *rest = textwrap.wrap(name, most) or [""]
    return "\n".join([first, clip(" ".join(rest), most)]) if rest else first


def legend_columns(entries, width):
    """As many as have room beside each other."""
    widest = max(len(text) for _, text in entries) * 0.075 + 0.5
    return max(1, min(len(entries), 4, int(width / widest)))


class Room:
    """What a panel takes beside its drawing, in inches."""

    def __init__(self, panel, width, said):
        """`said` are texts that stand above all panels."""
        self.entries = [(handle, text) for handle, text in entries_of(panel) if text not in said]
        names = [text for _, text in panel["y"].get("names", [])]
        self.longest = max(8, int(width / 2 * 72 / 7))  # letters of a name beside a panel
        lines = [line for name in names for line in in_two_lines(name, self.longest).split("\n")]
        self.has_tall_names = len(lines) > len(names)
        self.high = inches_of(panel, 0.32 if self.has_tall_names else 0.28)
        letters = max(map(len, lines), default=0)
        letter = 0.07 if self.has_tall_names else 0.085  # inches
        self.left = 0.95 if not names else 0.35 + letter * letters + \
            (0.25 if panel["y"].get("label") else 0)
        self.title = broken(panel["title"], 13, width - self.left - 0.1)
        self.right = 0.25
        if "cells" in panel and "classes" not in panel["cells"] and "texts" not in panel["cells"]:
            self.right = 0.9  # the scale of its colours
        texts = [text for _, text in panel["x"].get("names", [])]
        self.is_turned = sum(map(len, texts)) * 0.085 > width - self.left - self.right
        self.ticks = 0.3 + (0.052 * min(LONGEST, max(map(len, texts))) if self.is_turned else 0)
        self.ticks += 0.25 if panel["x"].get("label") else 0
        self.columns = legend_columns(self.entries, width - 0.2) if self.entries else 1
        lines = -(-len(self.entries) // self.columns) + (1 if "legend" in panel else 0)
        self.above = 0.2 + 0.22 * (self.title.count("\n") + 1)
        self.below = self.ticks + 0.2 * lines + (0.15 if lines else 0)


def common_spans(panels):
    """{what a legend says: role} of the times that all panels shade."""
    of_panels = [{span["legend"]: span["role"] for span in panel.get("spans", [])
                  if "legend" in span} for panel in panels]
    same = all(own == of_panels[0] for own in of_panels)
    return of_panels[0] if same and len(panels) > 1 else {}


def draw_picture(picture, results):
    """The figure of a picture."""
    panels = picture["panels"]
    columns = columns_of(panels)
    places = place_panels(panels, columns)
    title = broken(picture["title"], 17, WIDTH)
    text = "\n".join(broken(line, 11, WIDTH) for line in picture["text"])
    common = common_spans(panels)
    rooms = [Room(panel, WIDTH * span / columns, common)
             for panel, (_, _, span) in zip(panels, places)]
    rows = [[room for room, (at, _, _) in zip(rooms, places) if at == row]
            for row in range(1 + max(row for row, _, _ in places))]
    above = [max(room.above for room in row) for row in rows]  # so that drawings begin abreast
    heights = [most + max(room.high + room.below for room in row)
               for most, row in zip(above, rows)]
    head = 0.3 + 0.31 * (title.count("\n") + 1) + (0.2 * (text.count("\n") + 1) if text else 0)
    if common:
        head += 0.3
    height = sum(heights) + head
    figure = plt.figure(figsize=(WIDTH, round(height, 2)))
    figure.text(0.012, 1 - 0.12 / height, title, fontsize=17, fontweight="bold", va="top")
    if text:
        figure.text(0.012, 1 - (0.2 + 0.31 * (title.count("\n") + 1)) / height, text, fontsize=11,
                    color="#444444", va="top")
    if common:
        figure.legend([Patch(**SPANS[role]) for role in common.values()], list(common),
                      loc="upper left", ncol=len(common), borderaxespad=0, borderpad=0,
                      bbox_to_anchor=(0.012, 1 - (head - 0.3) / height))
    for panel, (row, column, span), room in zip(panels, places, rooms):
        left, width = WIDTH * column / columns + room.left, WIDTH * span / columns
        top = height - head - sum(heights[:row]) - above[row]
        axis = figure.add_axes([left / WIDTH, (top - room.high) / height,
                                (width - room.left - room.right) / WIDTH, room.high / height])
        draw_panel(figure, axis, panel, results)
        axis.set_title(room.title)
        finish_names(axis, room)
        if room.entries:
            axis.legend(*zip(*room.entries), loc="upper center", ncol=room.columns, borderaxespad=0,
                        bbox_to_anchor=(0.5, -(room.ticks + 0.08) / room.high),
                        title=panel.get("legend"), columnspacing=1.2, handlelength=1.8)
    return figure


def finish_names(axis, room):
    """Names along the axes as far as there is room for them."""
    if room.is_turned:
        labels = [clip(label.get_text(), LONGEST) for label in axis.get_xticklabels()]
        axis.set_xticks(axis.get_xticks(), labels, rotation=30, ha="right")
    if room.has_tall_names:
        names = [label.get_text() for label in axis.get_yticklabels()]
        axis.set_yticks(axis.get_yticks(), [in_two_lines(name, room.longest) for name in names],
                        fontsize=9)
