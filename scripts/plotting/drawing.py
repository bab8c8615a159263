"""What the pictures of a run share: colours, lines with their bands, shaded windows, legends.

SPDX-License-Identifier: MIT
"""

import textwrap

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from plotting.legend import axis_legend_below
from plotting.looks import TIME, colour
from plotting.results import (description_of, disturbances, literal, outside, seconds_label,
                              storms, title_of)

BLUE, ORANGE, GREEN, RED = map(colour, ("blue", "orange", "green", "red"))
PURPLE, SKY, YELLOW, GREY = *map(colour, ("purple", "sky")), "#F0E442", colour("grey")
# Then Paul Tol's, for scenarios of many groups.
GROUP_COLOURS = [BLUE, RED, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933",
                 "#7F4F24"]
LIMIT_STYLE = (0, (4, 2))
# Opaque, so that what overlaps does not mix into a colour that the legend lacks. A storm is a strip
# at the top, above the grey of a fault.
FAULT = {"color": "#DCDCDC", "linewidth": 0, "zorder": 0.3}
STORM = {"color": YELLOW, "linewidth": 0, "zorder": 0.4}
STORM_BOTTOM = 0.95  # as a share of the height
# Lines that lie on top of each other show through the gaps of the one above. All have one width.
DASHES = ["-", (0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (1.5, 1.5)), (0, (9, 3, 3, 3))]
OUTSIDE = {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "//", "linewidth": 0}

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
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 10,
}


def pale(colour, share=0.22):
    """An opaque tint for bands: so much of the colour on white."""
    return tuple(1 - share * (1 - part) for part in to_rgb(colour))


def top_of(axis):
    """The highest value that an axis shows, bands included; 0 if it shows none."""
    values = [line.get_ydata() for line in axis.lines]
    values += [path.vertices[:, 1] for band in axis.collections for path in band.get_paths()]
    values = np.concatenate([np.asarray(v, dtype=float) for v in values] or [[]])
    values = values[np.isfinite(values)]
    return float(values.max()) if values.size else 0.0


def draw(axis, table, label, colour, style="-", band=True, width=1.7, step=0.0):
    """Mean over replications with the band between their 10 % and 90 % quantiles."""
    values = table.to_numpy(dtype=float)
    known = ~np.all(np.isnan(values), axis=1)
    if not known.any():
        return
    values = values[known]
    time = table.index.to_numpy(dtype=float)[known] + step / 2  # a bin is drawn at its middle
    axis.plot(time, np.nanmean(values, axis=1), linestyle=style, color=colour, label=label,
              linewidth=width)
    if band and values.shape[1] > 1:
        low, high = np.nanquantile(values, [0.1, 0.9], axis=1)
        axis.fill_between(time, low, high, color=pale(colour), linewidth=0, zorder=1.2)


def ratio(numerator, denominator):
    """Quotient of two tables; undefined where there is nothing to divide by."""
    return numerator / denominator.where(denominator > 0)


def group_styles(results):
    """(name, keyword arguments of draw) of each group, the same in all panels.

    Groups that behave alike lie on top of each other: each has dashes of its own, and the first is
    solid. Bands of more than three groups would hide each other.
    """
    names = results.groups()
    for i, name in enumerate(names):
        yield name, {"colour": GROUP_COLOURS[i % len(GROUP_COLOURS)],
                     "style": DASHES[i if i < len(DASHES) else 1 + i % (len(DASHES) - 1)],
                     "band": len(names) <= 3, "step": results.interval}


def draw_groups(axis, results, table_of):
    for name, style in group_styles(results):
        draw(axis, table_of(name), name, **style)


def shade(axis, results, service=None):
    """Faults and surges in grey, storms in yellow, the time outside the window hatched."""
    last = results.last_activity()
    for low, high, _ in outside(results):
        axis.axvspan(low, high, **OUTSIDE)
    for low, high, _ in disturbances(results, service):
        axis.axvspan(low, min(high, last), **FAULT)
    if len(results.details["services"]) == 1:
        for low, high, _ in storms(results):
            axis.axvspan(low, max(low, high), ymin=STORM_BOTTOM, **STORM)
    shown = results.last_shown()
    axis.set_xlim(0, shown)
    axis.xaxis.set_major_locator(MaxNLocator(5 if shown >= 1000 else 7, steps=[1, 2, 2.5, 5, 10]))
    axis.set_xlabel(TIME)


def scale_latencies(axis):
    """Logarithmic over the lines drawn; an immediate rejection takes no time at all."""
    values = np.concatenate([line.get_ydata() for line in axis.lines] or [[]])
    positive = values[values > 0]
    if not positive.size:
        return
    low, high = np.quantile(positive, 0.002) / 1.4, max(positive.max(), top_of(axis)) * 1.4
    axis.set_yscale("log", nonpositive="clip")
    if high < 200 * low:
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_ylim(low, high)
    axis.yaxis.set_major_formatter(FuncFormatter(seconds_label))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda _value, _position: ""))


def entries_above(axis):
    """The legend beside the title, where no data can be."""
    count = len(axis.get_legend_handles_labels()[0])
    if count == 0:
        return
    axis.legend(loc="lower right", bbox_to_anchor=(1.01, 1.0), ncol=count, borderaxespad=0.1,
                frameon=False, fontsize=9, handlelength=1.4, columnspacing=1.0)


def entries_below(axis, entries):
    """The legend below the axis, where no data can be."""
    if entries:
        axis_legend_below(axis, *zip(*entries), columns=3 if len(entries) > 4 else 2)


def put_headline(figure, results, note, never=""):
    """Name, description and what the lines are; returns the share of the height they leave."""
    name = title_of(results.info)
    if results.variant != "base":
        name = f"{name}: {literal(results.variant)}"
    runs = results.replications()
    text = f"{runs} replication{'s' if runs != 1 else ''}, seed {results.details['seed']}"
    if note and runs > 1:
        text += f"; {note}"
    text += f"; {never}" if never else ""
    shown, last = results.last_shown(), results.last_activity()
    if note and shown < last:
        text += (f"\nthe first {shown:.0f} s of {last:.0f} s; by then all replications have "
                 "recovered")
    if len(results.details["services"]) > 1:
        for onset, until, storm in storms(results) if note else ():
            ended = until < results.details["window_end_s"]
            window = f"{onset:g} to {until:g} s" if ended else f"from {onset:g} s on"
            text += f"\nall services together: {storm}, {window} (median)"
    return 1 - (0.80 + put_texts(figure, name, results.info, text)) / figure.get_figheight()


def put_texts(figure, title, info, text):
    """The title above the description and the text, in lines as wide as the figure; returns how
    many inches they take beyond a line of each."""
    def broken(words, size):
        columns = int(figure.get_figwidth() * 0.96 * 72 / (0.56 * size))
        return "\n".join(textwrap.wrap(words, columns, break_long_words=True))

    title = broken(title, 17)
    if description_of(info):
        text = f"{broken(description_of(info), 11)}\n{text}"
    inch, below = 1 / figure.get_figheight(), 0.29 * title.count("\n")
    figure.text(0.02, 1 - 0.14 * inch, title, fontsize=17, fontweight="bold", va="top")
    figure.text(0.02, 1 - (0.50 + below) * inch, text, fontsize=11, color="#444444", va="top")
    breaks = text.count("\n")
    return below + 0.18 * breaks + 0.04 * max(0, breaks - 1)  # there is some room already


def lay_out(figure, **layout):
    """A tight layout whose titles fit their panels. Those that are still too long for theirs would
    squeeze them to nothing, so that the first layout goes without them."""
    titles = [axis.set_title(axis.get_title(loc="left")) for axis in figure.axes]
    for visible in (False, True):
        for title in titles:
            title.set_visible(visible)
        if visible:
            fit_titles(figure)
        figure.tight_layout(**layout)


def fit_titles(figure):
    """Breaks, and as a last resort cuts, the titles that would leave the width of their panel."""
    renderer = figure.canvas.get_renderer()
    for axis in figure.axes:
        title = axis._left_title if hasattr(axis, "_left_title") else axis.title
        room = axis.get_window_extent(renderer).width
        if not title.get_text() or title.get_window_extent(renderer).width <= room:
            continue
        words, lines = title.get_text().split(" "), [""]
        for word in words:
            longer = f"{lines[-1]} {word}".strip()
            title.set_text(longer)
            if lines[-1] and title.get_window_extent(renderer).width > room:
                lines.append(word)
            else:
                lines[-1] = longer
        lines = lines[:2] if len(lines) < 3 else [lines[0], lines[1] + " …"]
        for i, line in enumerate(lines):
            title.set_text(line)
            while len(line) > 2 and title.get_window_extent(renderer).width > room:
                line = line.removesuffix("…").rstrip()[:-1] + "…"
                title.set_text(line)
            lines[i] = line
        title.set_text("\n".join(lines))
