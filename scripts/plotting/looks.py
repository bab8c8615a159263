"""The colours that pictures and pages of `retrysim report` have in common (looks.json, which CMake
puts into the page as well).

SPDX-License-Identifier: MIT
"""

import json
import pathlib

LOOKS = json.loads((pathlib.Path(__file__).parent / "looks.json").read_text(encoding="utf-8"))


def colour(name):
    """On white, as all pictures are. Ink is what texts are written with."""
    return "#000000" if name == "ink" else LOOKS["colours"][name]["light"]
