"""How large a picture is, and what follows from it: letters, lines and colours.

All lengths of a layout are stated for the default size. Another size multiplies them, so a picture
for a slide is laid out like one that is smaller, and then enlarged.

SPDX-License-Identifier: MIT
"""

from dataclasses import dataclass

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
# Text stays text: it can be searched, and a publisher's program can change its font.
TEXTS = {"svg.fonttype": "none", "pdf.fonttype": 42}
LETTERS = ("font.size", "axes.titlesize", "legend.fontsize")
# Matplotlib's own defaults, in points, which grow and shrink with the rest.
LINES = {"axes.linewidth": 0.8, "hatch.linewidth": 1, "patch.linewidth": 1, "lines.markersize": 6,
         "axes.labelpad": 4, "axes.titlepad": 6,
         **{f"{which}tick.major.{what}": points for which in "xy"
            for what, points in (("width", 0.8), ("size", 3.5), ("pad", 3.5))}}

# The palette of Okabe and Ito, with a darker grey. Its colours differ for people with each kind of
# colour blindness, by at least 16 units of CIELAB. Those of looks.json are the same hues, but all
# as dark as texts on white have to be. What fills areas is darker from class to class, by at least
# 8 units, so that a grey print shows the same order.
OKABE_ITO = {"blue": "#0072b2", "red": "#d55e00", "green": "#009e73", "purple": "#cc79a7",
             "orange": "#e69f00", "sky": "#56b4e9", "grey": "#555555"}
AREAS = {"safe": "#e9f5ef", "vulnerable": "#f5d98a", "tipped": "#e59a66", "overloaded": "#b56f8f",
         "dead": "#7a3128"}
PRINT = {**OKABE_ITO, **AREAS}


@dataclass(frozen=True)
class Size:
    """`width` and `height` are in inches. Without `is_page` a picture is as high as it has to be,
    but for `height`, where it goes on in a further figure; with it, every figure is that high."""

    width: float
    height: float | None = None
    is_page: bool = False
    scale: float = 1  # of a layout
    thickness: float = 1  # of lines and marks
    letters_least: float = 0  # points
    letters_most: float = 100
    abreast: int = 3  # panels beside each other, at most
    chart: float = 2.5  # inches of the default size: the height of a chart over an axis of numbers
    dots_per_inch: int = 150
    is_plain: bool = True  # in the colours of pages, and with lines as they are there

    def letters(self, points):
        """The size of letters that have so many points in the default size."""
        return min(max(points * self.scale, self.letters_least), self.letters_most)

    def share_of(self, points):
        """How large such letters are in the layout, as a share of those of the default size."""
        return self.letters(points) / points / self.scale

    def points(self, points):
        """The width of a line, or the size of a mark, that has so many in the default size."""
        return points * self.thickness

    def colour(self, name):
        return colour(name) if self.is_plain else PRINT.get(name) or colour(name)

    def style(self):
        """What Matplotlib has to be told while a picture is drawn and saved."""
        if self.is_plain:
            return {**STYLE, **TEXTS}
        own = {key: self.points(points) for key, points in LINES.items()}
        own |= {key: self.points(STYLE[key]) for key in ("grid.linewidth", "lines.linewidth")}
        own |= {key: self.letters(STYLE[key]) for key in LETTERS}
        return {**STYLE, **TEXTS, **own}


DEFAULT = Size(width=16 / 1.5)
SIZES = {
    # A column of a paper with two, and the height of its page.
    "column": Size(width=3.5, height=9, scale=7 / 9, thickness=0.6, letters_least=7,
                   letters_most=8, abreast=1, chart=1.8, dots_per_inch=300, is_plain=False),
    # 16:9, as presentation programs have it.
    "slide": Size(width=40 / 3, height=7.5, is_page=True, scale=1.65, thickness=1.65,
                  letters_least=12, letters_most=28, abreast=2, is_plain=False),
}
