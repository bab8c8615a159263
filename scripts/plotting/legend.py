"""A legend below all panels of a figure.

SPDX-License-Identifier: MIT
"""

LINE_INCHES = 0.23


def legend_below(figure, handles, labels, title=None, columns=3):
    """Keeps room for the legend below what `constrained` lays out."""
    if not labels:
        return
    lines = -(-len(labels) // columns) + (title is not None)
    height = (lines * LINE_INCHES + 0.15) / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, height, 1, 1 - height))
    figure.legend(handles, labels, loc="lower center", frameon=False, title=title, ncol=columns)
