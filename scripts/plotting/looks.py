"""What pictures and pages of `retrysim report` have in common: colours, units, and what keys are
called on an axis. All of it is in looks.json, which CMake puts into the page as well.

SPDX-License-Identifier: MIT
"""

import json
import pathlib
import re

LOOKS = json.loads((pathlib.Path(__file__).parent / "looks.json").read_text(encoding="utf-8"))
TIME = LOOKS["time"]


def colour(name):
    """On white, as all pictures are."""
    return LOOKS["colours"][name]["light"]


def key_words(path, unit=""):
    """What a key is called on an axis, with its unit if the numbers there need one ("s", "1/s"):
    "offered load, requests/s". A key that has no words is called what it is."""
    pattern = re.sub(r"\b(client|fault|service|surge)\.[^.]+", r"\1.*", path)
    name, own = LOOKS["keys"].get(pattern, (path, unit))
    return f"{name}, {own or unit}" if unit not in ("", "1") else name


def per(unit):
    """A unit in words: "per second"."""
    return LOOKS["units"].get(unit, unit)
