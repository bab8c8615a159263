#!/usr/bin/env python3
"""Published incidents and measurements: are the predictions of the page those of the program?

  cases.py --program PROGRAM            runs every scenario here; exit status 1 if a figure of
                                        cases.csv or the table of README.md is another
  cases.py --program PROGRAM --show     prints what each figure is now
  cases.py --table                      prints that table, without running anything

A row of cases.csv is a figure: where it is read, what was predicted, what was reported. `read` is
a result file, a column, conditions on other columns, and what is done with the rows that are left:
nothing (there is one), mean, max or sum; then arithmetic, in order: `slo.csv slow slo=x /600`. A
range of two readings is written with " .. " between them. `before_failure` sums the column up to
the first bin in which a request fails.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import operator
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNTED = ["README.md", "sim/model/limits.md"]  # pages that say how many agree
AGREES, NEAR = 0.1, 0.25  # of what was reported
ARITHMETIC = {"*": operator.mul, "/": operator.truediv, "+": operator.add, "-": operator.sub}
CONDITION = re.compile(r"(\w+)(>=|=)(.+)")
INPUTS = {"assumed": "", "fit": "fitted"}


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def holds(row, name, comparison, wanted):
    if comparison == ">=":
        return float(row[name]) >= float(wanted)
    return row[name] == wanted


def before_failure(rows, column):
    """The mean over replications of the column's sum before the first failure."""
    sums = {}
    failed = set()
    for row in rows:
        run = row["replication"]
        if int(row["failures"]) > 0:
            failed.add(run)
        if run not in failed:
            sums[run] = sums.get(run, 0) + float(row[column])
    return sum(sums.values()) / len(sums)


def reading(folder, words):
    """One figure, as the words of `read` describe it."""
    name, column, *rest = words.split()
    rows = rows_of(folder / name)
    value = None
    for word in rest:
        condition = CONDITION.fullmatch(word)
        if condition:
            rows = [row for row in rows if holds(row, *condition.groups())]
        elif word[0] in ARITHMETIC:
            if value is None:
                (row,) = rows
                value = float(row[column])
            value = ARITHMETIC[word[0]](value, float(word[1:]))
        elif word == "before_failure":
            value = before_failure(rows, column)
        else:
            values = [float(row[column]) for row in rows]
            total = sum(values)
            value = {"mean": total / len(values), "max": max(values), "sum": total}[word]
    if value is None:
        (row,) = rows
        value = float(row[column])
    return value


def written(value, like):
    """With the digits that the page has."""
    digits = len(like.partition(".")[2])
    return f"{value:.{digits}f}"


def bounds(text):
    """What was reported, as the least and the largest value that it may be."""
    text = text.replace(",", "")
    if text.startswith(">="):
        return float(text[2:]), float("inf")
    if text.startswith("<="):
        return float("-inf"), float(text[2:])
    low, _, high = text.partition("..")
    return float(low), float(high or low)


def verdict(row):
    """How far the prediction is from what was reported."""
    if not row["reported"]:
        return ""
    least, most = bounds(row["predicted"])
    low, high = bounds(row["reported"])
    if least <= high and most >= low:
        return "agrees"
    off = low - most if most < low else least - high
    nearest = low if most < low else high
    if off <= AGREES * abs(nearest):
        return "agrees"
    return "near" if off <= NEAR * abs(nearest) else "no"


def people_write(text):
    """4..5 as 4 to 5, >=4 as 4 or more, thousands with commas."""
    text = re.sub(r"\d{4,}", lambda found: f"{int(found[0]):,}", text)
    text = re.sub(r"^>=(.*)", r"\1 or more", text)
    text = re.sub(r"^<=(.*)", r"\1 or less", text)
    return text.replace("..", " to ")


def counts(rows, fitted):
    """How many agree, are near and do not fit, of cases with a fitted input or of the others."""
    found = [verdict(row) for row in rows if (row["inputs"] == "fit") == fitted]
    return [found.count(said) for said in ("agrees", "near", "no")]


def table(rows):
    """The table of the page, and the count above it."""
    lines = ["| case | figure | predicted | reported | |", "|---|---|---|---|---|"]
    last = None
    for row in rows:
        case = f"[{row['case']}]({row['case']}.toml)"
        if INPUTS[row["inputs"]]:
            case += f", {INPUTS[row['inputs']]}"
        lines.append("| " + " | ".join([
            "" if row["case"] == last else case, row["figure"], people_write(row["predicted"]),
            people_write(row["reported"]), verdict(row)]) + " |")
        last = row["case"]

    stated, fitted = counts(rows, False), counts(rows, True)
    half = [one + two / 2 for one, two in zip(stated, fitted)]
    return "\n".join([
        f"Of {sum(stated)} figures without a fitted input {stated[0]} agree, {stated[1]} are near "
        f"and {stated[2]} do not fit; of {sum(fitted)} with one {fitted[0]}, {fitted[1]} and "
        f"{fitted[2]}. If these count half, {half[0]:g} of {sum(half):g} agree.",
        "", *lines]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program")
    parser.add_argument("--show", action="store_true", help="print the figures, as they are now")
    parser.add_argument("--table", action="store_true", help="print the table of README.md")
    arguments = parser.parse_args()
    rows = rows_of(HERE / "cases.csv")
    if arguments.table:
        print(table(rows), end="")
        return
    if not arguments.program:
        parser.error("--program is needed")
    problems = []
    scenarios = {path.stem for path in HERE.glob("*.toml")}
    if scenarios != {row["case"] for row in rows}:
        problems.append("scenarios and the cases of cases.csv differ")
    if table(rows) not in (HERE / "README.md").read_text(encoding="utf-8"):
        problems.append("README.md does not have what cases.py --table prints")
    stated = counts(rows, False)
    for page in COUNTED:
        if f"{stated[0]} of {sum(stated)} " not in (ROOT / page).read_text(encoding="utf-8"):
            problems.append(f"{page} does not say that {stated[0]} of {sum(stated)} agree")
    for case in sorted(scenarios):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([arguments.program, "run", HERE / f"{case}.toml", "--quiet",
                                   "--no-reuse", "--jobs", "1", "--out", folder, "--force"],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                problems.append(f"{case}: {done.stderr}")
                continue
            for row in (row for row in rows if row["case"] == case):
                page = row["predicted"].split("..")
                now = [written(reading(Path(folder), part), page[at])
                       for at, part in enumerate(row["read"].split(" .. "))]
                if arguments.show:
                    print(f"{case}: {row['figure']}: {'..'.join(now)}")
                if now != page:
                    problems.append(f"{case}: {row['figure']}: cases.csv says {row['predicted']}, "
                                    f"the program {'..'.join(now)}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
