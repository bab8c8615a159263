"""A result folder, as far as pictures need it: what is to be drawn, and the rows of its tables.

SPDX-License-Identifier: MIT
"""

import csv
import json
import math
from pathlib import Path


class ResultError(Exception):
    """A result file is missing or does not hold what it should."""


def number(text):
    """Not a number for an empty cell, which is a value that does not exist."""
    try:
        return float(text)
    except ValueError:
        return math.nan


class Results:
    """What the program has concluded of the pictures of a folder, and their figures."""

    def __init__(self, folder):
        self.folder, self.tables = Path(folder), {}
        if not self.folder.is_dir():
            raise ResultError(f"{folder}: no such folder; name one that `retrysim run` wrote")
        path = self.folder / "result.json"
        try:
            self.info = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ResultError(f"{path}: is missing; is this a result folder?") from None
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: cannot be used: {error!r}") from None
        if not isinstance(self.info, dict):
            raise ResultError(f"{path}: cannot be used: it is no object")
        if "pictures" not in self.info:
            version = self.info.get("version", "an unknown version")
            raise ResultError(f"{path}: was written by retrysim {version}, whose results do not "
                              "say what their pictures are; run its command again, or "
                              "make a page of it with retrysim report")

    def pictures(self, variant=None):
        """Those of the whole result, or of one variant."""
        found = self.info["pictures"]
        if variant is None:
            return [picture for picture in found if "variant" not in picture]
        own = [picture for picture in found if picture.get("variant") == variant]
        names = [one["variant"] for one in self.info.get("variants", [])]
        if not own and names == [variant]:
            return self.pictures()
        if not own:
            raise ResultError(f"{self.folder}: no variant {variant}; there are {', '.join(names)}")
        return own

    def chosen(self, name=None, variant=None):
        """Those pictures, or the one of a name."""
        found = self.pictures(variant)
        if not found:
            raise ResultError(f"{self.folder}: has nothing to draw")
        own = [picture for picture in found if name in (None, picture["name"])]
        if not own:
            names = ", ".join(picture["name"] for picture in found)
            raise ResultError(f"{self.folder}: no picture {name}; there are {names}")
        return own

    def table(self, name):
        """The rows of a CSV file as dictionaries of texts."""
        if name not in self.tables:
            path = self.folder / name
            try:
                with path.open(encoding="utf-8", newline="") as file:
                    self.tables[name] = list(csv.DictReader(file, strict=True))
            except FileNotFoundError:
                raise ResultError(f"{path}: is missing; run the command again") from None
            except (OSError, ValueError, csv.Error) as error:
                raise ResultError(f"{path}: cannot be read: {error}") from None
        return self.tables[name]

    def rows(self, source):
        """The rows that a series is drawn from; those of a second table are joined to them."""
        at = source.get("at", {})  # the values of keys that a picture does not go through
        where = source["where"] if "by" in source else {**source["where"], **at}
        rows = [row for row in self.table(source["file"]) if fits(row, where)]
        if "by" in source:
            by = source["by"]
            known = {row[by["column"]]: row for row in self.table(by["file"])
                     if fits(row, {**by["where"], **at})}
            key = by["column"]
            rows = [{**row, **known[row[key]]} for row in rows if row[key] in known]
        wanted = [c for c in (source["x"], source["y"], source.get("low"), source.get("high"))
                  if isinstance(c, str)]
        missing = [column for column in wanted if rows and column not in rows[0]]
        if missing:
            raise ResultError(f"{self.folder / source['file']}: lacks the column "
                              f"{', '.join(missing)}")
        return rows

    def points(self, series, panel):
        """Rows [x, y, low, high, whole] of numbers; the place of a name on an axis of names."""
        if "points" in series:
            return [[math.nan if v is None else v for v in point] for point in series["points"]]
        source = series["from"]
        factor, upright = source.get("factor", 1), "names" not in panel["y"]
        points = []
        for row in self.rows(source):
            x, y = (place(row, source[axis], panel[axis]) for axis in "xy")
            ends = [factor * number(row[source[end]]) if end in source else math.nan
                    for end in ("low", "high")]
            x, y = (x, factor * y) if upright else (factor * x, y)
            points.append([x, y, *ends, number(row[source["of"]]) if "of" in source else math.nan])
        return points


def fits(row, where):
    return all(row.get(column) in (wanted if isinstance(wanted, list) else [wanted])
               for column, wanted in where.items())


def place(row, column, axis):
    """Where a row is along an axis: a constant, a number, the place of a name, or the first of
    several columns without the others."""
    if isinstance(column, (int, float)):
        return column
    if isinstance(column, list):
        first, *others = (number(row[c]) for c in column)
        return first - sum(others)
    if "names" in axis:
        keys = [key for key, _ in axis["names"]]
        return keys.index(row[column]) if row[column] in keys else math.nan
    return number(row[column])
