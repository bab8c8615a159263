"""The texts of a picture: as result.json has them, and as Matplotlib draws them.

SPDX-License-Identifier: MIT
"""

import re

from plot_call import ROOT  # noqa: F401  (finds the scripts)

from matplotlib.text import Text

from plotting.draw import draw_picture


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
    figure = draw_picture(picture, results)
    figure.canvas.draw()
    texts = {plain(text.get_text()) for text in figure.findobj(Text) if text.get_visible()}
    return texts - {""}
