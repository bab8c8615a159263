"""Legends below panels: in as many columns as their measured width leaves room for.

SPDX-License-Identifier: MIT
"""

from matplotlib.transforms import ScaledTranslation

MOST_COLUMNS = 6
GAP = 0.06  # inches between the words of an axis and the legend below it
SHORTEST = 12  # letters that no label loses


def fit_text(text, room):
    """Cuts a text that is wider than `room` pixels."""
    renderer = text.figure.canvas.get_renderer()
    while text.get_window_extent(renderer).width > room and len(text.get_text()) >= SHORTEST:
        text.set_text(text.get_text().removesuffix("…")[:-2].rstrip() + "…")


def fitting_legend(make, room, columns, whole=False):
    """The legend that `make` returns for a number of columns: the most, up to `columns`, with which
    it is no wider than `room` pixels. Labels that are too long even for one column are cut; where
    they are to stay `whole`, there is no legend then, but None."""
    for count in range(columns, 0, -1):
        legend = make(count)
        renderer = legend.figure.canvas.get_renderer()
        if legend.get_window_extent(renderer).width <= room:
            return legend
        if count > 1 or whole:
            legend.remove()
    if whole:
        return None
    while legend.get_window_extent(renderer).width > room:
        text = max(legend.get_texts(), key=lambda t: len(t.get_text()))
        if len(text.get_text()) < SHORTEST:
            break
        text.set_text(text.get_text().removesuffix("…")[:-2].rstrip() + "…")
    return legend


def legend_below(figure, handles, labels, title=None, columns=MOST_COLUMNS):
    """Keeps room for the legend below what `constrained` lays out."""
    if not labels:
        return

    def make(count):
        return figure.legend(handles, labels, loc="lower center", frameon=False, title=title,
                             ncol=count)

    legend = fitting_legend(make, 0.97 * figure.bbox.width, min(columns, len(labels)))
    size = legend.get_window_extent(figure.canvas.get_renderer())
    height = (size.height + 0.05 * figure.dpi) / figure.bbox.height
    if height > 0.4:  # many lines: the figure grows, and its panels stay as they are
        inches = figure.get_figheight()
        figure.set_figheight(inches * (1 - 0.25 + height))
        height *= inches / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, height, 1, 1 - height))


def axis_legend_below(axis, handles=None, labels=None, columns=3, **look):
    """The legend below one panel, no wider than it, and below what stands along its axis. To be
    called once ticks and the axis have their texts."""
    if handles is None:
        handles, labels = axis.get_legend_handles_labels()
    if not labels:
        return
    figure = axis.figure
    texts = axis.xaxis.get_tightbbox(figure.canvas.get_renderer())
    inches = max(0, axis.bbox.y0 - texts.y0) / figure.dpi if texts else 0
    place = axis.transAxes + ScaledTranslation(0, -inches - GAP, figure.dpi_scale_trans)

    def make(count):
        return axis.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0),
                           bbox_transform=place, frameon=False, ncol=count, borderaxespad=0, **look)

    fitting_legend(make, axis.get_window_extent().width, min(columns, len(labels)))
