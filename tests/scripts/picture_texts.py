"""The texts of a picture: as result.json has them, and as Matplotlib draws them.

SPDX-License-Identifier: MIT
"""

import re

from plot_call import ROOT  # noqa: F401  (finds the scripts)

from matplotlib.axis import Axis
from matplotlib.text import Text

from plotting.layout import draw_picture


def plain(text):
    """Without line breaks, which depend on the room."""
    return re.sub(r"\s+", " ", text).strip()


def along_axes(panel):
    """What stands along the axes of a panel: where room is short, not all of it is drawn."""
    found = set()
    for which in "xy":
        axis = panel[which]
        found |= {text for _, text in axis.get("ticks", []) + axis.get("names", [])}
    return {plain(text) for text in found} - {""}


def words_of(panel):
    """Everything else that a panel says."""
    found = {panel["title"], panel["x"].get("label", ""), panel["y"].get("label", ""),
             panel.get("legend", ""), *panel.get("tops", [])}
    for series in panel["series"]:
        if series.get("off"):
            continue
        if not panel.get("quiet"):
            found.add(f"{series['name']}: {series['said']}" if "said" in series else series["name"])
        found |= {series.get("text", ""), series.get("label", "")}
    found |= {mark["name"] for mark in panel.get("marks", []) if "name" in mark}
    found |= {span["legend"] for span in panel.get("spans", []) if "legend" in span}
    found |= set(panel.get("notes", []))
    cells = panel.get("cells", {})
    found |= {text for _, text, _ in cells.get("classes", [])}
    found |= {text for row in cells.get("texts", []) for text in row}
    if "texts" not in cells:
        found |= {text for _, text in cells.get("scale", [])}
    return {plain(text) for text in found} - {""}


def drawn(picture, results):
    """The texts that Matplotlib draws of a picture."""
    figure, = draw_picture(picture, results)
    figure.canvas.draw()
    texts = {plain(text.get_text()) for text in figure.findobj(Text) if text.get_visible()}
    return texts - {""}


def written(figure):
    """The texts that can be seen in a figure that has been drawn."""
    ticks = {True: set(), False: set()}
    for axis in figure.findobj(Axis):
        seen = set(map(id, axis._update_ticks()))
        for tick in axis.get_major_ticks():
            ticks[id(tick) in seen] |= {id(tick.label1), id(tick.label2)}
    return [text for text in figure.findobj(Text)
            if text.get_visible() and text.get_text().strip() and id(text) not in ticks[False]]


def crowded(figure):
    """The texts of a figure that are cut off or lie on another one; slanted ones may do so as far
    as their boxes are concerned."""
    figure.canvas.draw()
    room, found = figure.bbox.padded(1), []
    boxes = [(text.get_text(), text.get_rotation() % 90 != 0, text.get_window_extent().padded(-1))
             for text in written(figure)]
    for i, (text, is_aslant, box) in enumerate(boxes):
        if box.x0 < room.x0 or box.y0 < room.y0 or box.x1 > room.x1 or box.y1 > room.y1:
            found.append(f"{text} is cut off")
        found += [f"{text} meets {other}" for other, is_other_aslant, its in boxes[i + 1:]
                  if not (is_aslant or is_other_aslant) and box.x0 < its.x1 and its.x0 < box.x1
                  and box.y0 < its.y1 and its.y0 < box.y1]
    return found
