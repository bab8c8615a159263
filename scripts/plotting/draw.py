"""Draws the panels of a picture as the program has concluded them. Nothing is decided here but how
large things are.

SPDX-License-Identifier: MIT
"""

import math

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

# Opaque, so that what overlaps does not mix into a colour that the legend lacks.
SPANS = {"fault": {"facecolor": "#DCDCDC", "linewidth": 0, "zorder": 0.3},
         "storm": {"facecolor": "#F0E442", "linewidth": 0, "zorder": 0.4},
         "outside": {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "//", "linewidth": 0}}
STORM_BOTTOM = 0.95  # as a share of the height: a strip above the grey of a fault
MARKS = {"dot": "o", "ring": "o", "square": "s", "cross": "X", "diamond": "D", "star": "*",
         "arrow": ">"}
MARKS_OF_COLOURS = {"blue": "o", "red": "s", "green": "^", "purple": "D", "orange": "v",
                    "sky": "P", "grey": "X"}
HATCHES = [None, "////", "....", "\\\\\\\\", "xxxx", "oooo"]
MARKS_OF_A_LINE = 8  # of a line over time
MOST_BANDS = 3  # more would hide each other


def pale(name, size, share=0.22):
    """An opaque tint: so much of the colour on white."""
    return tuple(1 - share * (1 - part) for part in to_rgb(size.colour(name)))


def look_of(series, size):
    dash = series.get("dash") or []
    return {"color": size.colour(series["colour"]),
            "linestyle": (0, tuple(part / 2 for part in dash)) if dash else "-"}


def dashes_of(series):
    return tuple(series.get("dash") or [])


def marked(panel, size):
    """The series of a panel; in print, lines that differ by nothing but their colour have a mark
    of it as well."""
    if size.is_plain:
        return shown(panel)
    lines = [series for series in shown(panel) if series.get("line")]
    colours = {dashes: {series["colour"] for series in lines if dashes_of(series) == dashes}
               for dashes in map(dashes_of, lines)}
    return [{**series, "own_mark": MARKS_OF_COLOURS[series["colour"]]}
            if series.get("line") and len(colours[dashes_of(series)]) > 1 and
            series["colour"] in MARKS_OF_COLOURS and series.get("mark", "dot") == "dot"
            else series for series in shown(panel)]


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

def draw_line(axis, series, points, panel, bands, size):
    look, upright = look_of(series, size), "names" not in panel["y"]
    x, y, low, high = (np.array([point[i] for point in points], dtype=float) for i in range(4))
    if is_over_time(series) and len(x) > 1:
        x = x + (x[1] - x[0]) / 2  # a bin is drawn at its middle
    known = np.isfinite(low) & np.isfinite(high)
    if series.get("band") and bands and known.any():
        axis.fill_between(x, np.where(known, low, np.nan), np.where(known, high, np.nan),
                          color=pale(series["colour"], size), linewidth=0, zorder=1.2)
    if series.get("whiskers"):
        lines = axis.vlines if upright else axis.hlines
        lines((x if upright else y)[known], low[known], high[known], color=look["color"],
              linewidth=size.points(1.2))
    if series.get("line"):
        order = np.arange(len(x)) if series.get("arrow") else np.argsort(x, kind="stable")
        axis.plot(x[order], y[order], **look, **marks_along(series, len(x), size))
    if "mark" in series:
        draw_marks(axis, series, x, y, size)
    if "end" in series and len(x):
        axis.plot(x[-1], y[-1], marker=MARKS[series["end"]], color=look["color"],
                  linestyle="none", markersize=size.points(13 if series["end"] == "star" else 8),
                  zorder=4)
    if series.get("arrow"):
        draw_arrow(axis, x, y, look["color"], size)


def is_over_time(series):
    return series.get("from", {}).get("x") == "time_s" and "line" in series


def marks_along(series, count, size):
    """Marks at some of so many points of a line, at others than those of another colour."""
    if "own_mark" not in series or "mark" in series:
        return {}
    step = max(1, count // MARKS_OF_A_LINE)
    first = list(MARKS_OF_COLOURS).index(series["colour"]) * step // len(MARKS_OF_COLOURS)
    return {"marker": series["own_mark"], "markersize": size.points(6), "markevery": (first, step)}


def is_hollow(series):
    return series.get("mark") == "ring" or series.get("hollow", False)


def draw_marks(axis, series, x, y, size):
    ink = size.colour(series["colour"])
    mark = series.get("own_mark", MARKS[series["mark"]])
    if "line" not in series:  # not clipped, for whole marks at the edge; but nothing beyond it
        low, high = sorted(axis.get_xlim())
        x, y = x[(x >= low) & (x <= high)], y[(x >= low) & (x <= high)]
    axis.plot(x, y, mark, linestyle="none", color=ink, zorder=4, markeredgewidth=size.points(1.6),
              markersize=size.points(10 if series["mark"] != "dot" else 5),
              markerfacecolor="white" if series.get("hollow") else
              "none" if is_hollow(series) else ink,
              markeredgecolor=ink, clip_on="line" in series)


def draw_arrow(axis, x, y, ink, size):
    """Which way a curve goes, at the middle of what is seen of it."""
    inside = x <= axis.get_xlim()[1]
    x, y = x[inside], y[inside]
    if len(x) < 2:
        return
    room = [max(np.ptp(axis.get_xlim()), 1e-12), max(np.ptp(axis.get_ylim()), 1e-12)]
    steps = np.hypot(np.diff(x) / room[0], np.diff(y) / room[1])
    if steps.sum() < 0.05:
        return
    at = min(int(np.searchsorted(np.cumsum(steps), 0.4 * steps.sum())), len(x) - 2)
    ahead = at + 1
    while ahead + 1 < len(x) and np.hypot((x[ahead] - x[at]) / room[0],
                                          (y[ahead] - y[at]) / room[1]) < 0.01:
        ahead += 1
    axis.annotate("", xy=(x[ahead], y[ahead]), xytext=(x[at], y[at]),
                  arrowprops={"arrowstyle": "-|>", "color": ink,
                              "mutation_scale": size.points(16)})


def draw_steps(axis, series, size):
    steps = series["steps"]
    axis.step([at for at, _ in steps] + [series["end"]], [v for _, v in [*steps, steps[-1]]],
              where="post", linewidth=size.points(1.5), **look_of(series, size))


def draw_bars(axis, series, points, size):
    """Differences along the axis, each with its interval and its number."""
    for x, y, low, high, *_ in points:
        if not math.isfinite(x):
            continue
        ink = size.colour(series["colour"])
        if series.get("pale"):
            ink = pale(series["colour"], size, 0.35)
        axis.barh(y, x, height=0.7, color=ink)
        ends = [end for end in (x, low, high) if math.isfinite(end)]
        if len(ends) == 3:
            axis.plot([low, high], [y, y], color="black", linewidth=size.points(1.4), marker="|",
                      markersize=size.points(6))
        side = -1 if x < 0 else 1
        axis.annotate(series["text"], (max(ends, key=lambda end: side * end), y),
                      fontsize=size.letters(9), textcoords="offset points", va="center",
                      xytext=(size.points(4) * side, 0), ha="left" if side > 0 else "right")


def hatch_of(i, size):
    """What tells parts of a stack apart in a grey print."""
    return None if size.is_plain else HATCHES[i % len(HATCHES)]


def look_of_tops(panel, size, inches):
    """Points of the letters above stacks that have so many inches, and degrees: in print they are
    no wider than the stacks are apart, or stand upright."""
    tops = panel["tops"]
    letters = size.letters(7 if len(tops) > 5 else 9)
    if size.is_plain or not tops:
        return letters, 0
    most = 72 * inches / (len(tops) + 0.2) / (0.7 * max(map(len, tops)))
    return (min(letters, most), 0) if most >= size.letters_least else (size.letters_least, 90)


def draw_stacks(axis, panel, all_points, size):
    bottoms = {}
    whole = {}
    for _, points in all_points[:1]:
        for x, _, _, _, of in points:
            whole[x] = whole.get(x, 0) + of
    for i, (series, points) in enumerate(all_points):
        heights = {}
        for x, y, *_ in points:
            heights[x] = heights.get(x, 0) + y
        for x, height in heights.items():
            share = height / whole[x] if whole.get(x) else 0
            axis.bar(x, share, bottom=bottoms.get(x, 0), color=size.colour(series["colour"]),
                     edgecolor="white", linewidth=size.points(0.5), width=0.8,
                     hatch=hatch_of(i, size))
            bottoms[x] = bottoms.get(x, 0) + share
    letters, turn = look_of_tops(panel, size, axis.get_window_extent().width / axis.figure.dpi)
    for x, text in enumerate(panel["tops"]):
        axis.text(x, 1.005 if turn == 0 else 1.03, text, ha="center", va="bottom",
                  fontsize=letters, rotation=turn)
    axis.grid(axis="x", visible=False)


def draw_cells(figure, axis, panel, results, size):
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
        colours = [size.colour(name) for _, _, name in cells["classes"]]
        for i, ink in enumerate(colours):
            axis.pcolormesh(np.ma.masked_where(table != i, np.zeros(table.shape)),
                            cmap=LinearSegmentedColormap.from_list("one", [ink, ink]))
        draw_borders(axis, table, size)
    else:
        ramp = LinearSegmentedColormap.from_list("ramp", [pale("blue", size, 0.06),
                                                           pale("blue", size, 0.75)])
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
            axis.text(x + 0.5, y + 0.5, text, ha="center", va="center",
                      fontsize=size.letters(8))
    for which in "xy":
        names = [text for _, text in panel[which]["names"]]
        step = max(1, -(-len(names) // 12))
        getattr(axis, f"set_{which}ticks")(np.arange(0, len(names), step) + 0.5, names[::step])
        getattr(axis, f"set_{which}label")(panel[which]["label"])
        getattr(axis, f"set_{which}lim")(0, len(names))


def place_of(row, column, axis):
    keys = [key for key, _ in axis["names"]]
    return keys.index(row[column]) if row[column] in keys else None


def draw_borders(axis, table, size):
    """A line wherever two classes meet, so that they can be told apart in grey, too."""
    rows, columns = table.shape
    look = {"color": "#444444", "linewidth": size.points(1)}
    for y in range(rows):
        for x in range(columns):
            if x + 1 < columns and table[y, x] != table[y, x + 1]:
                axis.plot([x + 1, x + 1], [y, y + 1], **look)
            if y + 1 < rows and table[y, x] != table[y + 1, x]:
                axis.plot([x, x + 1], [y + 1, y + 1], **look)


# --- Panels ---------------------------------------------------------------------------------------

def shown(panel):
    return [series for series in panel["series"] if not series.get("off")]


def draw_panel(figure, axis, panel, results, size):
    if "cells" in panel:
        draw_cells(figure, axis, panel, results, size)
    else:
        for which in "xy":
            scale_axis(axis, which, panel[which])
        for span in panel.get("spans", []):
            low = STORM_BOTTOM if span["role"] == "storm" else 0
            axis.axvspan(span["from"], span["to"], ymin=low, **SPANS[span["role"]])
        for mark in panel.get("marks", []):
            if "from" in mark:
                axis.axvspan(mark["from"], mark["to"], alpha=0.12, linewidth=0,
                             color=size.colour(mark["colour"]))
            axis.axvline(mark["at"], linewidth=size.points(1.2), zorder=1, **look_of(mark, size))
    lines = [(series, results.points(series, panel)) for series in marked(panel, size)
             if "steps" not in series]
    offset = 0.5 if "cells" in panel else 0
    bands = sum(bool(series.get("band")) for series, _ in lines) <= MOST_BANDS
    if panel.get("stacked"):
        draw_stacks(axis, panel, lines, size)
        return
    for series, points in lines:
        if series.get("bar"):
            draw_bars(axis, series, points, size)
        elif points:
            draw_line(axis, series, [[p[0] + offset, p[1] + offset, *p[2:4]] for p in points],
                      panel, bands, size)
            if "label" in series:
                draw_cross(axis, series, points, size)
    for series in shown(panel):
        if "steps" in series:
            draw_steps(axis, series, size)


def draw_cross(axis, series, points, size):
    """A point with its intervals both ways, and its name beside it."""
    x, y, low, high, left, right = points[0]
    look = {"color": size.colour(series["colour"]), "linewidth": size.points(1.4)}
    axis.plot([x, x], [low, high], **look)
    axis.plot([left, right], [y, y], **look)
    inside = x <= sum(axis.get_xlim()) / 2
    axis.annotate(series["label"], (x, y), fontsize=size.letters(9),
                  textcoords="offset points",
                  xytext=(size.points(8 if inside else -8), size.points(6)),
                  ha="left" if inside else "right")


def entries_of(panel, size):
    """(handle, text) of a panel's legend, each text once."""
    if panel.get("quiet"):
        return []
    entries = {}
    for i, series in enumerate(marked(panel, size)):
        if panel.get("stacked"):
            handle = Patch(facecolor=size.colour(series["colour"]), hatch=hatch_of(i, size))
            if not size.is_plain:
                handle.set_edgecolor("white")
        else:
            mark = series.get("own_mark") or \
                MARKS.get(series.get("mark") or series.get("end"), "")
            handle = Line2D([], [], marker=mark, **look_of(series, size),
                            markerfacecolor="none" if is_hollow(series) else None)
            if not (series.get("line") or "steps" in series):
                handle.set_linestyle("none")
        entries.setdefault(text_of(series), handle)
    for mark in panel.get("marks", []):
        if "name" in mark:
            entries.setdefault(mark["name"], Line2D([], [], **look_of(mark, size)))
    for span in panel.get("spans", []):
        if "legend" in span:
            entries.setdefault(span["legend"], Patch(**SPANS[span["role"]]))
    for _, text, name in panel.get("cells", {}).get("classes", []):
        entries.setdefault(text, Patch(facecolor=size.colour(name), edgecolor="#444444"))
    for note in panel.get("notes", []):
        entries.setdefault(note, Line2D([], [], linestyle="none"))
    if list(entries) == [panel["title"]]:  # what the title says is not said again
        return []
    return [(handle, text) for text, handle in entries.items()]
