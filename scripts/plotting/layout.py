"""Places the panels of a picture in one or more figures, where there is room for them.

Inches are those of the default size; other sizes multiply them by their scale.

SPDX-License-Identifier: MIT
"""

import math
import textwrap

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

from .draw import SPANS, draw_panel, entries_of, look_of_tops
from .sizes import DEFAULT

LONGEST = 32  # letters of a name that stands aslant below a panel
ASLANT, HEIGHT_ASLANT = 0.0602, 0.0425  # inches that each of its letters takes, in print
LETTER, LETTER_OF_LEGEND = 0.085, 0.075  # inches
BOLD = 0.66  # width of a bold letter, as a share of its size
ORDINARY_NUMBER = 7  # letters along an upright axis; longer ones have more room
CHART_OF_PAGE = 1.8  # inches that a label beside a chart may count on
LOWEST = 1.1  # inches of a chart on a page of its own, or the lines of text above are left out


def broken(text, size, width, letter=0.56):
    """In lines as wide as the figure, of letters so wide for their size."""
    return "\n".join(textwrap.wrap(text, max(8, int(width * 0.96 * 72 / (letter * size))))) or ""


def columns_of(panels, size):
    """How many panels stand abreast: two, or three of short names along their sides."""
    if len(panels) == 1 or size.abreast == 1:
        return 1
    names = [text for panel in panels for _, text in panel["y"].get("names", [])]
    if size.is_page:  # long names need the whole width
        return 1 if max(map(len, names), default=0) > LONGEST else 2
    if panels[0].get("group") == "glance":
        return 1
    beside = all("names" in panel["y"] and "cells" not in panel for panel in panels[:-1])
    return 3 if beside and len(panels) > 4 and max(map(len, names), default=0) < 18 else 2


def inches_of(panel, row, size):
    """The height of a panel without its texts; `row` is that of a name along its side."""
    if "cells" in panel:
        return max(3.0, min(5.5, 0.3 * len(panel["y"]["names"]) + 1))
    if "names" in panel["y"]:
        return max(1.3, row * len(panel["y"]["names"]) + 0.4)
    return size.chart


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


def step_of_names(panel):
    """Every which name stands below a panel."""
    return max(1, -(-len(panel["x"]["names"]) // (12 if "cells" in panel else 24)))


def clip(text, most):
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def in_lines(name, most, lines=2):
    """A name in so many lines of so many letters; what has no room ends in "…"."""
    parts = textwrap.wrap(name, most) or [""]
    rest = parts[lines - 1:]
    return "\n".join(parts[:lines - 1] + ([clip(" ".join(rest), most)] if rest else []))


class Legend:
    """Entries beside each other, as many as have room; with `is_broken` in lines that have it."""

    def __init__(self, entries, width, most, is_broken):
        self.entries = entries
        if is_broken:
            letters = max(8, int((width - 0.5) / LETTER_OF_LEGEND))
            self.entries = [(handle, "\n".join(textwrap.wrap(text, letters)) or text)
                            for handle, text in entries]
        lines = [text.split("\n") for _, text in self.entries]
        widest = max(len(line) for text in lines for line in text) * LETTER_OF_LEGEND + 0.5
        self.columns = max(1, min(len(entries), most, math.floor(min(width / widest, most))))
        self.width = self.columns * widest
        rows = -(-len(entries) // self.columns)  # filled column by column
        self.lines = sum(max(map(len, lines[row::rows])) for row in range(rows))


class Room:
    """What a panel takes beside its drawing, in inches."""

    def __init__(self, panel, width, said, size, has_title=True):
        """`said` are texts that stand above all panels."""
        self.panel, self.size = panel, size
        entries = [(handle, text) for handle, text in entries_of(panel, size) if text not in said]
        self.place_names(width)
        self.title = broken(panel["title"], 13 * size.share_of(12), width - self.left - 0.1) \
            if has_title else ""
        self.right = 0.25
        if "cells" in panel and "classes" not in panel["cells"] and "texts" not in panel["cells"]:
            self.right = 0.9  # the scale of its colours
        self.wide = width - self.left - self.right
        beyond = self.beyond_edge()
        if beyond > self.right:
            self.right = beyond
            self.wide = width - self.left - self.right
        self.ticks = 0.3
        self.place_names_below()
        self.label = panel["x"].get("label", "")
        if not size.is_plain:
            self.label = broken(self.label, 11, self.wide)
        self.ticks += 0.25 * (self.label.count("\n") + 1) if self.label else 0
        self.legend = Legend(entries, width - 0.2, 4, not size.is_plain) if entries else None
        lines = (self.legend.lines if entries else 0) + (1 if "legend" in panel else 0)
        self.middle = 0.5  # of the legend, as a share of the drawing
        if entries and not size.is_plain:
            half = min(self.left, self.right) + self.wide / 2
            if self.legend.width / 2 > half:
                self.middle = (width / 2 - self.left) / self.wide
        self.tops = 0  # inches of what stands upright above stacks
        if panel.get("stacked") and look_of_tops(panel, size, self.wide * size.scale)[1]:
            self.tops = LETTER * max(map(len, panel["tops"]))
        self.above = 0.2 + self.tops + \
            (0.22 * (self.title.count("\n") + 1) if has_title else 0)
        self.below = self.ticks + 0.2 * lines + (0.15 if lines else 0)

    def beyond_edge(self):
        """Inches that the number at the right end of the axis needs beside the drawing."""
        x = self.panel["x"]
        if not x.get("ticks") or x.get("scale") not in ("linear", "log"):
            return 0
        place = math.log if x["scale"] == "log" else float
        at, text = max(x["ticks"], key=lambda tick: tick[0])
        low, high = place(x["low"]), place(x["high"])
        rest = (high - place(at)) / (high - low) if high > low else 0
        return LETTER * len(text) / 2 + 0.05 - rest * self.wide

    def place_names(self, width):
        """Names along the side in one line or two, and the height of the drawing."""
        names = [text for _, text in self.panel["y"].get("names", [])]
        self.longest = max(8, int(width / 2 * 72 / 7))  # letters of a name beside a panel
        self.is_close = self.size.is_page and len(names) > 6  # there is no room for two lines
        self.points_of_names = min(9, 126 / len(names)) if self.is_close else 9
        if self.is_close:
            self.longest = int(0.6 * width / self.letter_of_names())
        lines = [line for name in names for line in self.written(name).split("\n")]
        self.has_small_names = len(lines) > len(names) or self.is_close
        most = max((self.written(name).count("\n") + 1 for name in names), default=1)
        self.high = inches_of(self.panel, {1: 0.28, 2: 0.32, 3: 0.46}[most], self.size)
        self.least = len(names) * self.points_of_names * 1.3 / 72 if self.is_close else LOWEST
        letters = max(map(len, lines), default=0)
        letter = self.letter_of_names() if self.has_small_names else LETTER
        self.label_beside = self.panel["y"].get("label", "")
        if not self.size.is_plain:
            self.label_beside = broken(self.label_beside, 11,
                                       min(self.high, CHART_OF_PAGE) + 0.4)
        lines = self.label_beside.count("\n")
        widest = max((len(tick[1]) for tick in self.panel["y"].get("ticks", [])), default=0)
        self.left = 0.95 + 0.2 * lines + LETTER * max(0, widest - ORDINARY_NUMBER) if not names \
            else 0.35 + letter * letters + (0.25 + 0.2 * lines if self.label_beside else 0)

    def place_names_below(self):
        """Names below the drawing, in lines between each other or, where they lack room, aslant."""
        names = [text for _, text in self.panel["x"].get("names", [])]
        self.longest_below, self.turn = LONGEST, 30  # letters, degrees
        self.is_turned = sum(map(len, names)) * LETTER > self.wide
        if names and not self.size.is_plain:
            names = names[::step_of_names(self.panel)]
            apart = self.wide / (len(names) + 0.2)
            between = max(1, int(apart / 0.095 - 0.5))
            lines = [textwrap.wrap(name, between) for name in names]
            self.is_turned = any(len(part) > 3 or len(" ".join(part)) != len(name)
                                 for part, name in zip(lines, names))
            most = max(map(len, names))
            if not self.is_turned:
                self.longest_below = between
                self.ticks += 0.19 * (max(map(len, lines)) - 1)
            elif most * ASLANT <= self.left + apart / 2:
                self.ticks += HEIGHT_ASLANT * most
            else:
                self.turn, self.ticks = 90, self.ticks + 0.07 * min(most, LONGEST)
        elif self.is_turned:
            self.ticks += 0.052 * min(LONGEST, max(map(len, names)))

    def letter_of_names(self):
        return 0.07 * self.points_of_names / 9

    def written(self, name):
        """A name along the side, in as many lines as it may have."""
        if self.is_close:
            return clip(name, self.longest)
        return in_lines(name, self.longest, 3 if self.size.abreast == 1 else 2)

    def finish(self, axis):
        """Titles, labels, names along the axes and the legend, as far as there is room."""
        axis.set_title(self.title, pad=self.size.points(6) + 72 * self.size.scale * self.tops
                       if self.tops else None)
        axis.set_xlabel(self.label)
        axis.set_ylabel(self.label_beside)
        if not self.size.is_plain:
            self.thin_ticks(axis)
        if self.is_turned:
            labels = [clip(label.get_text(), self.longest_below)
                      for label in axis.get_xticklabels()]
            axis.set_xticks(axis.get_xticks(), labels, rotation=self.turn,
                            ha="right" if self.turn == 30 else "center",
                            fontsize=self.size.letters(11 if self.size.is_plain else 9))
        elif "names" in self.panel["x"] and not self.size.is_plain:
            labels = ["\n".join(textwrap.wrap(label.get_text(), self.longest_below))
                      for label in axis.get_xticklabels()]
            axis.set_xticks(axis.get_xticks(), labels)
        if self.has_small_names:
            names = [label.get_text() for label in axis.get_yticklabels()]
            axis.set_yticks(axis.get_yticks(), list(map(self.written, names)),
                            fontsize=self.points_of_names * self.size.scale)
        if self.legend:
            axis.legend(*zip(*self.legend.entries), loc="upper center", ncol=self.legend.columns,
                        borderaxespad=0, title=self.panel.get("legend"), columnspacing=1.2,
                        bbox_to_anchor=(self.middle, -(self.ticks + 0.08) / self.high),
                        handlelength=1.8)

    def thin_ticks(self, axis):
        """Every second tick, or third, where the numbers of all would meet."""
        for which, length in (("x", self.wide), ("y", self.high)):
            if "ticks" not in self.panel[which]:
                continue
            ticks = self.panel[which]["ticks"]
            corner = axis.transAxes.inverted()
            at = [corner.transform(axis.transData.transform(
                (place, axis.get_ylim()[0]) if which == "x" else (axis.get_xlim()[0], place)))
                ["xy".index(which)] * length for place, _ in ticks]
            need = [len(text) * LETTER + 0.1 if which == "x" else 0.2 for _, text in ticks]
            step = next(step for step in range(1, len(ticks) + 2) if all(
                abs(at[j] - at[i]) >= (need[i] + need[j]) / 2
                for i, j in zip(range(0, len(ticks), step), range(step, len(ticks), step))))
            getattr(axis, f"set_{which}ticks")([place for place, _ in ticks[::step]],
                                               [text for _, text in ticks[::step]])


def common_spans(panels):
    """{what a legend says: role} of the times that all panels shade."""
    of_panels = [{span["legend"]: span["role"] for span in panel.get("spans", [])
                  if "legend" in span} for panel in panels]
    same = all(own == of_panels[0] for own in of_panels)
    return of_panels[0] if same and len(panels) > 1 else {}


class Head:
    """What stands above all panels of a figure."""

    def __init__(self, picture, common, width, size, has_title):
        self.size, self.width = size, width
        self.line = 0.31 * size.share_of(17)  # inches of one of the title
        self.title = broken(picture["title"], 17 * size.share_of(17), width, BOLD) \
            if has_title else ""
        self.text = "\n".join(broken(line, 11 * size.share_of(11), width)
                              for line in picture["text"]) if has_title else ""
        self.legend = None
        if common:
            handles = [Patch(**SPANS[role]) for role in common.values()]
            room = math.inf if size.is_plain else width - 0.1
            self.legend = Legend(list(zip(handles, common)), room, len(common), not size.is_plain)

    def height(self):
        height = 0.3 + self.line * (self.title.count("\n") + 1) if self.title else 0
        height += 0.2 * (self.text.count("\n") + 1) if self.text else 0
        return height + (0.3 + 0.2 * (self.legend.lines - 1) if self.legend else 0)

    def draw(self, figure, height):
        """Above all else in a figure of a height in inches."""
        letters = self.size.letters
        if self.title:
            figure.text(0.012, 1 - 0.12 / height, self.title, fontsize=letters(17),
                        fontweight="bold", va="top")
        if self.text:
            figure.text(0.012, 1 - (0.2 + self.line * (self.title.count("\n") + 1)) / height,
                        self.text, fontsize=letters(11), color="#444444", va="top")
        if self.legend:
            below = self.height() - 0.3 - 0.2 * (self.legend.lines - 1)
            figure.legend(*zip(*self.legend.entries), loc="upper left", ncol=self.legend.columns,
                          borderaxespad=0, borderpad=0,
                          bbox_to_anchor=(0.012, 1 - max(below, 0.08) / height))


def has_own_title(panels, has_title):
    """A panel that is alone, and whose axis says what it is, needs none below a caption."""
    y = panels[0]["y"]
    return has_title or len(panels) > 1 or not (y.get("label") or "names" in y)


def draw_picture(picture, results, size=DEFAULT, has_title=True):
    """The figures of a picture: one in the default size; in others as many as it needs."""
    panels = picture["panels"]
    width, columns = size.width / size.scale, columns_of(panels, size)
    common = common_spans(panels)
    own = has_own_title(panels, has_title)
    head = Head(picture, common, width, size, has_title)
    rows = rows_of(panels, columns, common, head, own)
    if size.is_page:
        high = fill_page(rows, head)
        if high and columns > 1:  # their legends need the whole width
            head = Head(picture, common, width, size, has_title)
            panels = [{**panel, "wide": True} if panel["id"] in high else panel
                      for panel in panels]
            rows = rows_of(panels, columns, common, head, own)
            fill_page(rows, head)
    return [draw_figure(page, head, results) for page in pages_of(rows, head)]


def rows_of(panels, columns, common, head, has_title):
    """Rows of (room, inches from the left)."""
    places = place_panels(panels, columns)
    width = head.width / columns
    rooms = [Room(panel, width * span, common, head.size, has_title)
             for panel, (_, _, span) in zip(panels, places)]
    return [[(room, width * at) for room, (own, at, _) in zip(rooms, places) if own == row]
            for row in range(1 + max(row for row, _, _ in places))]


def height_of(row):
    """Of a row of panels, whose drawings begin abreast."""
    return max(room.above for room, _ in row) + max(room.high + room.below for room, _ in row)


def pages_of(rows, head):
    """Rows that stand below each other in one figure."""
    size = head.size
    if size.is_page:
        return [[row] for row in rows]
    most = size.height / size.scale - head.height() if size.height else math.inf
    pages = [[]]
    for row in rows:
        if pages[-1] and sum(map(height_of, pages[-1])) + height_of(row) > most:
            pages.append([])
        pages[-1].append(row)
    return pages


def fill_page(rows, head):
    """Makes drawings as high as a page leaves room for, without the lines above if that is too
    low. Returns the names of the panels for which it is so even then."""
    def left(row, room):
        high = head.size.height / head.size.scale - head.height() - 0.08
        return high - max(other.above for other, _ in row) - room.below

    def low():
        return {room.panel["id"] for row in rows for room, _ in row if left(row, room) < room.least}

    if low():
        head.text = ""
    for row in rows:
        for room, _ in row:
            room.high = max(0.5, left(row, room))
    return low()


def draw_figure(rows, head, results):
    """One figure with some rows of panels."""
    size, width = head.size, head.width
    above = [max(room.above for room, _ in row) for row in rows]
    heights = list(map(height_of, rows))
    height = size.height / size.scale if size.is_page else sum(heights) + head.height()
    figure = plt.figure(figsize=(size.width, round(height * size.scale, 2)))
    head.draw(figure, height)
    for i, row in enumerate(rows):
        top = height - head.height() - sum(heights[:i]) - above[i]
        for room, at in row:
            axis = figure.add_axes([(at + room.left) / width, (top - room.high) / height,
                                    room.wide / width, room.high / height])
            draw_panel(figure, axis, room.panel, results, size)
            room.finish(axis)
    return figure
