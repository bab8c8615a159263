"""Legends below panels: in as many columns as their measured width leaves room for.

SPDX-License-Identifier: MIT
"""

MOST_COLUMNS = 6
SHORTEST = 12  # letters that no label loses


def fitting_legend(make, room, columns):
    """The legend that `make` returns for a number of columns: the most, up to `columns`, with which
    it is no wider than `room` pixels. Labels that are too long even for one column are cut."""
    for count in range(columns, 0, -1):
        legend = make(count)
        renderer = legend.figure.canvas.get_renderer()
        if legend.get_window_extent(renderer).width <= room:
            return legend
        if count > 1:
            legend.remove()
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


def axis_legend_below(axis, handles=None, labels=None, columns=3, below=-0.14):
    """The legend below one panel, no wider than it."""
    if handles is None:
        handles, labels = axis.get_legend_handles_labels()
    if not labels:
        return

    def make(count):
        return axis.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, below),
                           frameon=False, ncol=count)

    fitting_legend(make, axis.get_window_extent().width, min(columns, len(labels)))
